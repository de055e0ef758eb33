//! The pipe catalogue: every command that a client can record.
//!
//! Numbers are positions and only ever appended. One row a purpose: a superseded row is decoded and applied,
//! but a client of ours records the row that its line names.

use crate::caps::Caps;
use crate::catalogue::{Bytes, Completion, catalogue};
use crate::handle::Handle;
use crate::limits;
use crate::payload::{
    self, AttribValue, BoundView, BufferRange, DamageRect, DrawIndirect, DrawRange, FenceStatusAnswer,
    FenceWaitAnswer, ImageView, MapPersistentAnswer, ProgramSamplerUnit, ProgramStorageOverride,
    QueryAvailableAnswer, QueryResultAnswer, SharedImageAnswer, SubRegion, TimestampAnswer, VertexBuffer,
};

catalogue! {
    /// Commands of a client, in the order in which they take effect.
    ///
    /// A recorder implements this trait by encoding (see [`Encoder`]), a server by executing ([`dispatch`]
    /// calls it). Handles are minted by the caller; nothing is answered but by the rows that take reply
    /// space.
    pub trait Pipe, "pipe", revision 1;

    retired {
        46 SetResidualValueState State "every value has a row of its own";
        50 ResourceSubDataComplete Object "the server never asks for texture contents";
    }

    /// Asks for the caps. Declined: they are still of the request's generation.
    1 GetCaps = get_caps(payload::CapsRequest) Screen Reply [REPLY] -> Caps;
    /// Defines a buffer, texture or renderbuffer. Owns no answer: it is accepted, or refused by an event.
    2 ResourceCreate = resource_create(payload::ResourceDesc) Screen None [];
    /// Defines the storage of a resource again, or its metadata alone where the storage is the same.
    3 ResourceRespecify = resource_respecify(payload::ResourceDesc) Screen None [];
    /// Ends a resource; its slot is free.
    4 ResourceDestroy = resource_destroy(payload::HandleOnly) Screen None [];
    /// Asks for a mapping of a buffer's real storage. Declined: push what the application writes.
    5 MapPersistent = map_persistent(payload::HandleOnly) Screen Reply [REPLY OPTIONAL]
        -> MapPersistentAnswer;
    /// Gives such a mapping up.
    6 UnmapPersistent = unmap_persistent(payload::HandleOnly) Screen None [OPTIONAL];
    /// Creates a fence that is signalled once the GPU has done all that came before.
    7 FenceCreate = fence_create(payload::HandleOnly) Screen None [];
    /// Asks for the state of a fence. Declined: take it as signalled.
    8 FenceStatus = fence_status(payload::HandleOnly) Screen Reply [REPLY] -> FenceStatusAnswer;
    /// Waits for a fence on the client's side. Declined: take it as signalled already.
    9 FenceWait = fence_wait(payload::FenceWait) Screen Reply [REPLY] -> FenceWaitAnswer;
    /// Ends a fence.
    10 FenceDestroy = fence_destroy(payload::HandleOnly) Screen None [];
    /// Creates a query.
    11 QueryCreate = query_create(payload::QueryDesc) Query None [];
    /// Begins a query.
    12 QueryBegin = query_begin(payload::QueryDesc) Query None [];
    /// Ends a query.
    13 QueryEnd = query_end(payload::QueryDesc) Query None [];
    /// Asks whether a query's result is there. Declined: not yet.
    14 QueryAvailable = query_available(payload::HandleOnly) Query Reply [REPLY] -> QueryAvailableAnswer;
    /// Asks for a query's result. Declined: not yet.
    15 QueryResult = query_result(payload::QueryResultRequest) Query Reply [REPLY] -> QueryResultAnswer;
    /// Ends a query object.
    16 QueryDestroy = query_destroy(payload::HandleOnly) Query None [];
    /// Creates a render-state CSO from the pipeline chunks of the blob.
    17 CreateRenderState = create_render_state(payload::RenderStateDesc) Cso None [BLOB]
        blobs { blob: BlobRef };
    /// Makes a render-state CSO current.
    18 BindRenderState = bind_render_state(payload::BindRenderState) Cso None [];
    /// Deletes a render-state CSO.
    19 DeleteRenderState = delete_render_state(payload::HandleOnly) Cso None [];
    /// Creates the layout of a vertex array object, again on the same handle when it changes.
    20 CreateVertexElements = create_vertex_elements(payload::VertexElements) Cso None [BLOB]
        blobs { blob: BlobRef optional };
    /// Makes a vertex layout current.
    21 BindVertexElements = bind_vertex_elements(payload::HandleOnly) Cso None [];
    /// Deletes a vertex layout.
    22 DeleteVertexElements = delete_vertex_elements(payload::HandleOnly) Cso None [];
    /// Creates a sampler.
    23 CreateSamplerState = create_sampler_state(payload::SamplerDesc) Cso None [BLOB]
        blobs { parameters: BlobRef };
    /// Deletes a sampler.
    24 DeleteSamplerState = delete_sampler_state(payload::HandleOnly) Cso None [];
    /// Creates a sampler view.
    25 CreateSamplerView = create_sampler_view(payload::SamplerView) Cso None [];
    /// Deletes a sampler view.
    26 DeleteSamplerView = delete_sampler_view(payload::HandleOnly) Cso None [];
    /// Creates a program, again on the same handle at each link; that clears its bindings and constants.
    27 CreateShaderState = create_shader_state(payload::ProgramDesc) Cso None [BLOB]
        blobs { spirv: [BlobRef; 6] optional, reflection: BlobRef };
    /// Binds a program as the context's current one.
    28 BindShaderState = bind_shader_state(payload::HandleOnly) Cso None [];
    /// Deletes a program.
    29 DeleteShaderState = delete_shader_state(payload::HandleOnly) Cso None [];
    /// Sets chunks of the dynamic half of the render state.
    30 SetDynamicState = set_dynamic_state(payload::DynamicState) State None [BLOB] blobs { blob: BlobRef };
    /// Sets the state of one framebuffer object.
    31 SetFramebufferState = set_framebuffer_state(payload::FramebufferState) State None [];
    /// Sets the window of vertex buffers; what it does not cover is empty.
    32 SetVertexBuffers = set_vertex_buffers(payload::VertexBuffers) State None [VAR_TAIL]
        tails { buffers: VertexBuffer = count <= limits::VERTEX_BINDINGS };
    /// Sets the index buffer.
    33 SetIndexBuffer = set_index_buffer(payload::IndexBuffer) State None [];
    /// Sets the buffers of indirect commands.
    34 SetIndirectBuffers = set_indirect_buffers(payload::IndirectBuffers) State None [];
    /// Sets what the texture units see, from unit 0 on; units behind are empty.
    35 SetSamplerViews = set_sampler_views(payload::SamplerViews) State None [VAR_TAIL]
        tails { views: BoundView = count <= limits::TEXTURE_UNITS };
    /// Sets the samplers of the texture units, from unit 0 on; units behind have none.
    36 BindSamplerStates = bind_sampler_states(payload::SamplerStates) State None [VAR_TAIL]
        tails { samplers: Handle = count <= limits::TEXTURE_UNITS };
    /// Sets the window of image units; what it does not cover is empty.
    37 SetShaderImages = set_shader_images(payload::ShaderImages) State None [VAR_TAIL]
        tails { images: ImageView = count <= limits::IMAGE_UNITS };
    /// Sets the window of indexed buffers of one class; what it does not cover is empty.
    38 SetShaderBuffers = set_shader_buffers(payload::ShaderBuffers) State None [VAR_TAIL]
        tails { buffers: BufferRange = count <= limits::BUFFER_BINDINGS };
    /// Sets the buffers of transform feedback.
    39 SetStreamOutputTargets = set_stream_output_targets(payload::StreamOutputTargets) State None [VAR_TAIL]
        tails {
            targets: BufferRange = count <= limits::STREAM_OUTPUT_TARGETS as u32,
            offsets: u32 = count <= limits::STREAM_OUTPUT_TARGETS as u32,
        }
        superseded "BeginStreamOutput";
    /// Sets a span of a program's default uniform block.
    40 SetGlobalConstants = set_global_constants(payload::GlobalConstants) State None [BLOB]
        blobs { blob: BlobRef };
    /// Sets the current values of vertex attributes.
    41 SetVertexAttribDefaults = set_vertex_attrib_defaults(payload::VertexAttribDefaults) State None [VAR_TAIL]
        tails { values: AttribValue = count <= limits::VERTEX_ATTRIBS };
    /// Sets how readbacks into a pack buffer lie.
    42 SetPixelPackState = set_pixel_pack_state(payload::PixelPackState) State None [];
    /// Sets the patch size and the default tessellation levels.
    43 SetPatchState = set_patch_state(payload::PatchState) State None [];
    /// Names the program of later draws.
    44 SetDrawProgram = set_draw_program(payload::HandleOnly) State None [];
    /// Names the program of later dispatches.
    45 SetDispatchProgram = set_dispatch_program(payload::HandleOnly) State None [];
    /// Sets the parameters of a texture object.
    47 SetTextureParams = set_texture_params(payload::TextureParams) Object None [];
    /// Uploads into regions of a texture's level, or into a span of a buffer.
    48 ResourceSubData = resource_sub_data(payload::SubData) Object None [BLOB VAR_TAIL]
        tails { regions: SubRegion = region_count <= limits::UPLOAD_REGIONS }
        blobs { blob: BlobRef };
    /// Uploads into a span of a buffer that the server keeps resident, in order with the GPU's work.
    49 BufferSubDataResident = buffer_sub_data_resident(payload::SubData) Object None [BLOB OPTIONAL]
        blobs { blob: BlobRef };
    /// Says that a mapped span was flushed; its bytes came before as an upload.
    51 ResourceFlushRange = resource_flush_range(payload::FlushRange) Object None [];
    /// Asks for GPU-written bytes of a buffer, which come as events before the answer. Declined: there are
    /// none.
    52 ResourceReadback = resource_readback(payload::Readback) Object Reply [REPLY] -> Completion;
    /// Copies between textures or renderbuffers.
    53 ResourceCopyRegion = resource_copy_region(payload::CopyRegion) Object None [];
    /// Generates mipmaps.
    54 GenerateMipmap = generate_mipmap(payload::MipPlan) Object None [];
    /// Reads an image of a texture. Declined: it cannot be read; the client's memory stays as it is.
    55 GetTextureImage = get_texture_image(payload::ReadbackInfo) Object Reply [REPLY] -> Bytes;
    /// Copies a rectangle between framebuffers.
    56 Blit = blit(payload::Blit) Verb None [];
    /// Clears buffers of a framebuffer.
    57 Clear = clear(payload::Clear) Verb None [];
    /// Reads pixels of a framebuffer. Declined: they cannot be read; the client's memory stays as it is.
    58 ReadPixels = read_pixels(payload::ReadbackInfo) Verb Reply [REPLY] -> Bytes;
    /// Draws.
    59 DrawVbo = draw_vbo(payload::DrawInfo) Verb None [VAR_TAIL]
        tails {
            ranges: DrawRange = num_draws <= limits::DRAW_RANGES,
            indirect: DrawIndirect = flags via indirect_count <= 1,
        };
    /// Dispatches.
    60 LaunchGrid = launch_grid(payload::GridInfo) Verb None [];
    /// Orders later accesses after earlier shader writes.
    61 MemoryBarrier = memory_barrier(payload::MemoryBarrier) Verb None [];
    /// Begins capture with all that it depends on.
    62 BeginStreamOutput = begin_stream_output(payload::StreamOutputBegin) Verb None [];
    /// Ends capture.
    63 EndStreamOutput = end_stream_output(payload::XfbAccounting) Verb None [];
    /// Pauses capture.
    64 PauseStreamOutput = pause_stream_output(payload::StreamOutputControl) Verb None [];
    /// Resumes capture.
    65 ResumeStreamOutput = resume_stream_output(payload::StreamOutputControl) Verb None [];
    /// Submits what the server holds.
    66 Flush = flush(payload::Flush) Verb None [];
    /// Presents the draw surface.
    67 Present = present(payload::Present) Verb Present [VAR_TAIL]
        tails { damage: DamageRect = damage_count <= limits::DAMAGE_RECTS };
    /// Sets how many refreshes a present waits for.
    68 SetSwapInterval = set_swap_interval(payload::SwapInterval) Verb None [OPTIONAL];
    /// Asks for the GPU's time. Declined: 0.
    69 QueryTimestamp = query_timestamp(payload::TimestampRequest) Query Reply [REPLY] -> TimestampAnswer;
    /// Writes the GPU's time into a query once all that came before is done.
    70 QueryCounter = query_counter(payload::QueryDesc) Query None [];
    /// Waits for a fence on the server's side.
    71 FenceWaitServer = fence_wait_server(payload::FenceWait) Screen None [];
    /// Binds one image unit.
    72 BindShaderImage = bind_shader_image(payload::ImageBind) Verb None [] superseded "SetShaderImages";
    /// Sets the patch size.
    73 PatchParameter = patch_parameter(payload::PatchParameter) Verb None [] superseded "SetPatchState";
    /// Binds a transform feedback object.
    74 BindStreamOutput = bind_stream_output(payload::StreamOutputBind) Verb None [];
    /// Sets the binding of one storage block.
    75 SetStorageBlockBinding = set_storage_block_binding(payload::StorageBlockBinding) Verb None [BLOB]
        blobs { name: BlobRef }
        superseded "SetProgramBindings";
    /// Copies from the read framebuffer into a texture.
    76 CopyFramebufferToTexture = copy_framebuffer_to_texture(payload::CopyFromFramebuffer) Verb None [];
    /// Clears the working state of the current context. `BindContext` orders it, so nothing waits.
    77 ApplierReset = applier_reset(payload::ApplierReset) Screen None [];
    /// Says that an object is gone in every context, after the windows that named it were set again.
    78 ObjectDeath = object_death(payload::HandleOnly) Object None [];
    /// Sets values of the context that no other row carries.
    79 SetContextValues = set_context_values(payload::ContextValues) State None [];
    /// Sets the bindings of a program that may change after linking.
    80 SetProgramBindings = set_program_bindings(payload::ProgramBindings) State None [BLOB VAR_TAIL]
        tails {
            block_bindings: i32 = block_binding_count <= limits::PROGRAM_BLOCK_BINDINGS,
            sampler_units: ProgramSamplerUnit = sampler_unit_count <= limits::PROGRAM_SAMPLER_UNITS,
            storage_overrides: ProgramStorageOverride = storage_override_count <= limits::PROGRAM_STORAGE_OVERRIDES,
        }
        blobs { names: BlobRef optional };
    /// Deletes a transform feedback object.
    81 DeleteStreamOutput = delete_stream_output(payload::StreamOutputBind) Verb None [];
    /// Reads pixels of a framebuffer into a buffer.
    82 ReadPixelsToBuffer = read_pixels_to_buffer(payload::ReadbackToBuffer) Verb None [];
    /// Reads an image of a texture into a buffer.
    83 GetTextureImageToBuffer = get_texture_image_to_buffer(payload::ReadbackToBuffer) Object None [];
    /// Makes a context current for the records that follow, with its surfaces.
    84 BindContext = bind_context(payload::BindContext) Screen None [];
    /// Works on an image that other processes may hold. Declined: images are not shared.
    85 SharedImage = shared_image(payload::SharedImage) Screen Reply [REPLY VAR_TAIL] -> SharedImageAnswer
        tails { damage: DamageRect = damage_count <= limits::DAMAGE_RECTS };
    /// Copies between buffers.
    86 CopyBuffer = copy_buffer(payload::CopyBuffer) Object None [];
    /// Makes verbs depend on a query's result.
    87 SetConditionalRender = set_conditional_render(payload::ConditionalRender) State None [];
    /// Fills a region of a texture.
    88 ClearTexture = clear_texture(payload::ClearTexture) Object None [];
    /// Fills a span of a buffer.
    89 ClearBuffer = clear_buffer(payload::ClearBuffer) Object None [];
    /// Says that contents of a buffer, texture or framebuffer are not needed any more.
    90 Invalidate = invalidate(payload::Invalidate) Object None [];
    /// Marks the stream for debuggers.
    91 DebugMark = debug_mark(payload::DebugMark) Verb None [VAR_TAIL]
        tails { text: u8 = text_size <= limits::MESSAGE_BYTES };
}
