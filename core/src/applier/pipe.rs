//! The pipe's methods: each hands its record to the module of its concern.

use runahead_wire::{
    Bulk, Handle, ReplySpace,
    handle::Kind,
    payload::{
        ApplierReset, AttribValue, BindContext, BindRenderState, Blit, BoundView, BufferRange, CapsRequest,
        Clear, ClearBuffer, ClearTexture, ConditionalRender, ContextValues, CopyBuffer, CopyFromFramebuffer,
        CopyRegion, DamageRect, DebugMark, DrawIndirect, DrawInfo, DrawRange, DynamicState, FenceWait, Flush,
        FlushRange, FramebufferState, GlobalConstants, GridInfo, HandleOnly, ImageBind, ImageView,
        IndexBuffer, IndirectBuffers, Invalidate, MemoryBarrier, MipPlan, PatchParameter, PatchState,
        PixelPackState, Present, ProgramBindings, ProgramDesc, ProgramSamplerUnit, ProgramStorageOverride,
        QueryDesc, QueryResultRequest, Readback, ReadbackInfo, ReadbackToBuffer, RenderStateDesc,
        ResourceDesc, SamplerDesc, SamplerStates, SamplerView, SamplerViews, ShaderBuffers, ShaderImages,
        SharedImage, StorageBlockBinding, StreamOutputBegin, StreamOutputBind, StreamOutputControl,
        StreamOutputTargets, SubData, SubRegion, SwapInterval, TextureParams, TimestampRequest,
        VertexAttribDefaults, VertexBuffer, VertexBuffers, VertexElements, XfbAccounting,
    },
    pipe::{Op, Pipe},
};

#[cfg(feature = "compare")]
use runahead_wire::values::DebugMarkOp;

use super::{Applier, Apply, query};
use crate::{
    backend::{Backend, BackendError},
    bind_state::{BindState, Serials},
    fault::Fault,
    outlet::Outlet,
    storage::Storage,
};

impl<B: Backend, S: Storage, O: Outlet> Pipe for Applier<B, S, O> {
    type Error = Fault;

    fn get_caps(&mut self, payload: &CapsRequest, reply: Option<ReplySpace>) -> Result<(), Fault> {
        self.begin();
        query::get_caps(&self.backend, &mut self.outlet, payload, reply)
    }

    fn resource_create(&mut self, payload: &ResourceDesc) -> Result<(), Fault> {
        self.at(Op::ResourceCreate)?.resource_create(payload)
    }

    fn resource_respecify(&mut self, payload: &ResourceDesc) -> Result<(), Fault> {
        self.at(Op::ResourceRespecify)?.resource_respecify(payload)
    }

    fn resource_destroy(&mut self, payload: &HandleOnly) -> Result<(), Fault> {
        self.at(Op::ResourceDestroy)?.resource_destroy(payload)
    }

    fn map_persistent(&mut self, payload: &HandleOnly, reply: Option<ReplySpace>) -> Result<(), Fault> {
        self.at(Op::MapPersistent)?.map_persistent(payload, reply)
    }

    fn unmap_persistent(&mut self, payload: &HandleOnly) -> Result<(), Fault> {
        self.at(Op::UnmapPersistent)?.unmap_persistent(payload)
    }

    fn fence_create(&mut self, payload: &HandleOnly) -> Result<(), Fault> {
        self.at(Op::FenceCreate)?.fence_create(payload)
    }

    fn fence_status(&mut self, payload: &HandleOnly, reply: Option<ReplySpace>) -> Result<(), Fault> {
        self.at(Op::FenceStatus)?.fence_status(payload, reply)
    }

    fn fence_wait(&mut self, payload: &FenceWait, reply: Option<ReplySpace>) -> Result<(), Fault> {
        self.at(Op::FenceWait)?.fence_wait(payload, reply)
    }

    fn fence_destroy(&mut self, payload: &HandleOnly) -> Result<(), Fault> {
        self.at(Op::FenceDestroy)?.end_as(Kind::Fence, payload)
    }

    fn query_create(&mut self, payload: &QueryDesc) -> Result<(), Fault> {
        self.at(Op::QueryCreate)?.query_create(payload)
    }

    fn query_begin(&mut self, payload: &QueryDesc) -> Result<(), Fault> {
        self.at(Op::QueryBegin)?.query_begin(payload)
    }

    fn query_end(&mut self, payload: &QueryDesc) -> Result<(), Fault> {
        self.at(Op::QueryEnd)?.query_end(payload)
    }

    fn query_available(&mut self, payload: &HandleOnly, reply: Option<ReplySpace>) -> Result<(), Fault> {
        self.at(Op::QueryAvailable)?.query_available(payload, reply)
    }

    fn query_result(&mut self, payload: &QueryResultRequest, reply: Option<ReplySpace>) -> Result<(), Fault> {
        self.at(Op::QueryResult)?.query_result(payload, reply)
    }

    fn query_destroy(&mut self, payload: &HandleOnly) -> Result<(), Fault> {
        self.at(Op::QueryDestroy)?.end_as(Kind::Query, payload)
    }

    fn create_render_state(&mut self, payload: &RenderStateDesc, blob: Bulk<'_>) -> Result<(), Fault> {
        self.at(Op::CreateRenderState)?.create_render_state(payload, blob)
    }

    fn bind_render_state(&mut self, payload: &BindRenderState) -> Result<(), Fault> {
        self.at(Op::BindRenderState)?.bind_render_state(payload)
    }

    fn delete_render_state(&mut self, payload: &HandleOnly) -> Result<(), Fault> {
        self.at(Op::DeleteRenderState)?.end_as(Kind::RenderStateCso, payload)
    }

    fn create_vertex_elements(&mut self, payload: &VertexElements, blob: Bulk<'_>) -> Result<(), Fault> {
        self.at(Op::CreateVertexElements)?.create_vertex_elements(payload, blob)
    }

    fn bind_vertex_elements(&mut self, payload: &HandleOnly) -> Result<(), Fault> {
        self.at(Op::BindVertexElements)?.bind_vertex_elements(payload)
    }

    fn delete_vertex_elements(&mut self, payload: &HandleOnly) -> Result<(), Fault> {
        self.at(Op::DeleteVertexElements)?.end_as(Kind::VertexElementsCso, payload)
    }

    fn create_sampler_state(&mut self, payload: &SamplerDesc, parameters: Bulk<'_>) -> Result<(), Fault> {
        self.at(Op::CreateSamplerState)?.create_sampler_state(payload, parameters)
    }

    fn delete_sampler_state(&mut self, payload: &HandleOnly) -> Result<(), Fault> {
        self.at(Op::DeleteSamplerState)?.end_as(Kind::SamplerCso, payload)
    }

    fn create_sampler_view(&mut self, payload: &SamplerView) -> Result<(), Fault> {
        self.at(Op::CreateSamplerView)?.create_sampler_view(payload)
    }

    fn delete_sampler_view(&mut self, payload: &HandleOnly) -> Result<(), Fault> {
        self.at(Op::DeleteSamplerView)?.end_as(Kind::SamplerViewCso, payload)
    }

    fn create_shader_state(
        &mut self,
        payload: &ProgramDesc,
        spirv: [Bulk<'_>; 6],
        reflection: Bulk<'_>,
    ) -> Result<(), Fault> {
        self.at(Op::CreateShaderState)?.create_shader_state(payload, spirv, reflection)
    }

    fn bind_shader_state(&mut self, payload: &HandleOnly) -> Result<(), Fault> {
        self.at(Op::BindShaderState)?.bind_shader_state(payload)
    }

    fn delete_shader_state(&mut self, payload: &HandleOnly) -> Result<(), Fault> {
        self.at(Op::DeleteShaderState)?.end_as(Kind::ShaderCso, payload)
    }

    fn set_dynamic_state(&mut self, payload: &DynamicState, blob: Bulk<'_>) -> Result<(), Fault> {
        self.at(Op::SetDynamicState)?.set_dynamic_state(payload, blob)
    }

    fn set_framebuffer_state(&mut self, payload: &FramebufferState) -> Result<(), Fault> {
        self.at(Op::SetFramebufferState)?.set_framebuffer_state(payload)
    }

    fn set_vertex_buffers(&mut self, payload: &VertexBuffers, buffers: &[VertexBuffer]) -> Result<(), Fault> {
        self.at(Op::SetVertexBuffers)?.set_vertex_buffers(payload, buffers)
    }

    fn set_index_buffer(&mut self, payload: &IndexBuffer) -> Result<(), Fault> {
        self.at(Op::SetIndexBuffer)?.set_index_buffer(payload)
    }

    fn set_indirect_buffers(&mut self, payload: &IndirectBuffers) -> Result<(), Fault> {
        self.at(Op::SetIndirectBuffers)?.set_indirect_buffers(payload)
    }

    fn set_sampler_views(&mut self, payload: &SamplerViews, views: &[BoundView]) -> Result<(), Fault> {
        self.at(Op::SetSamplerViews)?.set_sampler_views(payload, views)
    }

    fn bind_sampler_states(&mut self, payload: &SamplerStates, samplers: &[Handle]) -> Result<(), Fault> {
        self.at(Op::BindSamplerStates)?.bind_sampler_states(payload, samplers)
    }

    fn set_shader_images(&mut self, payload: &ShaderImages, images: &[ImageView]) -> Result<(), Fault> {
        self.at(Op::SetShaderImages)?.set_shader_images(payload, images)
    }

    fn set_shader_buffers(&mut self, payload: &ShaderBuffers, buffers: &[BufferRange]) -> Result<(), Fault> {
        self.at(Op::SetShaderBuffers)?.set_shader_buffers(payload, buffers)
    }

    fn set_stream_output_targets(
        &mut self,
        _: &StreamOutputTargets,
        targets: &[BufferRange],
        _: &[u32],
    ) -> Result<(), Fault> {
        self.at(Op::SetStreamOutputTargets)?.set_stream_output_targets(targets)
    }

    fn set_global_constants(&mut self, payload: &GlobalConstants, blob: Bulk<'_>) -> Result<(), Fault> {
        self.at(Op::SetGlobalConstants)?.set_global_constants(payload, blob)
    }

    fn set_vertex_attrib_defaults(
        &mut self,
        payload: &VertexAttribDefaults,
        values: &[AttribValue],
    ) -> Result<(), Fault> {
        self.at(Op::SetVertexAttribDefaults)?.set_vertex_attrib_defaults(payload, values)
    }

    fn set_pixel_pack_state(&mut self, payload: &PixelPackState) -> Result<(), Fault> {
        self.at(Op::SetPixelPackState)?.set_pixel_pack_state(payload)
    }

    fn set_patch_state(&mut self, payload: &PatchState) -> Result<(), Fault> {
        self.at(Op::SetPatchState)?.set_patch_state(payload)
    }

    fn set_draw_program(&mut self, payload: &HandleOnly) -> Result<(), Fault> {
        self.at(Op::SetDrawProgram)?.set_program(payload, |state| &mut state.draw_program)
    }

    fn set_dispatch_program(&mut self, payload: &HandleOnly) -> Result<(), Fault> {
        self.at(Op::SetDispatchProgram)?.set_program(payload, |state| &mut state.dispatch_program)
    }

    fn set_texture_params(&mut self, payload: &TextureParams) -> Result<(), Fault> {
        self.at(Op::SetTextureParams)?.set_texture_params(payload)
    }

    fn resource_sub_data(
        &mut self,
        payload: &SubData,
        regions: &[SubRegion],
        blob: Bulk<'_>,
    ) -> Result<(), Fault> {
        self.at(Op::ResourceSubData)?.resource_sub_data(payload, regions, blob)
    }

    fn buffer_sub_data_resident(&mut self, payload: &SubData, blob: Bulk<'_>) -> Result<(), Fault> {
        self.at(Op::BufferSubDataResident)?.upload_buffer(payload, 0, blob, true)
    }

    fn resource_flush_range(&mut self, payload: &FlushRange) -> Result<(), Fault> {
        self.at(Op::ResourceFlushRange)?.flush_range(payload)
    }

    fn resource_readback(&mut self, payload: &Readback, reply: Option<ReplySpace>) -> Result<(), Fault> {
        self.at(Op::ResourceReadback)?.resource_readback(payload, reply)
    }

    fn resource_copy_region(&mut self, payload: &CopyRegion) -> Result<(), Fault> {
        self.at(Op::ResourceCopyRegion)?.copy_region(payload)
    }

    fn generate_mipmap(&mut self, payload: &MipPlan) -> Result<(), Fault> {
        self.at(Op::GenerateMipmap)?.generate_mipmap(payload)
    }

    fn get_texture_image(&mut self, payload: &ReadbackInfo, reply: Option<ReplySpace>) -> Result<(), Fault> {
        self.at(Op::GetTextureImage)?.get_texture_image(payload, reply)
    }

    fn blit(&mut self, payload: &Blit) -> Result<(), Fault> {
        self.at(Op::Blit)?.blit(payload)
    }

    fn clear(&mut self, payload: &Clear) -> Result<(), Fault> {
        self.at(Op::Clear)?.clear(payload)
    }

    fn read_pixels(&mut self, payload: &ReadbackInfo, reply: Option<ReplySpace>) -> Result<(), Fault> {
        self.at(Op::ReadPixels)?.read_pixels(payload, reply)
    }

    #[inline]
    fn draw_vbo(
        &mut self,
        payload: &DrawInfo,
        ranges: &[DrawRange],
        indirect: &[DrawIndirect],
    ) -> Result<(), Fault> {
        self.draw(payload, ranges, indirect)
    }

    fn launch_grid(&mut self, payload: &GridInfo) -> Result<(), Fault> {
        self.at(Op::LaunchGrid)?.launch_grid(payload)
    }

    fn memory_barrier(&mut self, payload: &MemoryBarrier) -> Result<(), Fault> {
        self.at(Op::MemoryBarrier)?.memory_barrier(payload)
    }

    fn begin_stream_output(&mut self, payload: &StreamOutputBegin) -> Result<(), Fault> {
        self.at(Op::BeginStreamOutput)?.begin_stream_output(payload)
    }

    fn end_stream_output(&mut self, payload: &XfbAccounting) -> Result<(), Fault> {
        self.at(Op::EndStreamOutput)?.end_stream_output(payload)
    }

    fn pause_stream_output(&mut self, _: &StreamOutputControl) -> Result<(), Fault> {
        self.at(Op::PauseStreamOutput)?.pause_stream_output(true)
    }

    fn resume_stream_output(&mut self, _: &StreamOutputControl) -> Result<(), Fault> {
        self.at(Op::ResumeStreamOutput)?.pause_stream_output(false)
    }

    fn flush(&mut self, _: &Flush) -> Result<(), Fault> {
        self.begin();
        // Of no context: a client may flush when it has just let go of one.
        match self.backend.flush() {
            Err(BackendError::DeviceLost) => Err(Fault::DeviceLost),
            Ok(()) | Err(BackendError::Refused(_)) => Ok(()),
        }
    }

    fn present(&mut self, payload: &Present, damage: &[DamageRect]) -> Result<(), Fault> {
        self.at(Op::Present)?.present(payload, damage)
    }

    fn set_swap_interval(&mut self, payload: &SwapInterval) -> Result<(), Fault> {
        self.at(Op::SetSwapInterval)?.set_swap_interval(payload)
    }

    fn query_timestamp(&mut self, _: &TimestampRequest, reply: Option<ReplySpace>) -> Result<(), Fault> {
        self.at(Op::QueryTimestamp)?.query_timestamp(reply)
    }

    fn query_counter(&mut self, payload: &QueryDesc) -> Result<(), Fault> {
        self.at(Op::QueryCounter)?.query_counter(payload)
    }

    fn fence_wait_server(&mut self, payload: &FenceWait) -> Result<(), Fault> {
        self.at(Op::FenceWaitServer)?.fence_wait_server(payload)
    }

    fn bind_shader_image(&mut self, payload: &ImageBind) -> Result<(), Fault> {
        self.at(Op::BindShaderImage)?.bind_shader_image(payload)
    }

    fn patch_parameter(&mut self, payload: &PatchParameter) -> Result<(), Fault> {
        self.at(Op::PatchParameter)?.patch_parameter(payload.vertices)
    }

    fn bind_stream_output(&mut self, payload: &StreamOutputBind) -> Result<(), Fault> {
        self.at(Op::BindStreamOutput)?.bind_stream_output(payload)
    }

    fn set_storage_block_binding(
        &mut self,
        payload: &StorageBlockBinding,
        name: Bulk<'_>,
    ) -> Result<(), Fault> {
        self.at(Op::SetStorageBlockBinding)?.set_storage_block_binding(payload, name)
    }

    fn copy_framebuffer_to_texture(&mut self, payload: &CopyFromFramebuffer) -> Result<(), Fault> {
        self.at(Op::CopyFramebufferToTexture)?.copy_framebuffer_to_texture(payload)
    }

    fn applier_reset(&mut self, _: &ApplierReset) -> Result<(), Fault> {
        self.at(Op::ApplierReset)?.reset()
    }

    fn object_death(&mut self, payload: &HandleOnly) -> Result<(), Fault> {
        self.at(Op::ObjectDeath)?.object_death(payload)
    }

    fn set_context_values(&mut self, payload: &ContextValues) -> Result<(), Fault> {
        self.at(Op::SetContextValues)?.set_context_values(payload)
    }

    fn set_program_bindings(
        &mut self,
        payload: &ProgramBindings,
        block_bindings: &[i32],
        sampler_units: &[ProgramSamplerUnit],
        storage_overrides: &[ProgramStorageOverride],
        names: Bulk<'_>,
    ) -> Result<(), Fault> {
        self.at(Op::SetProgramBindings)?.set_program_bindings(
            payload,
            block_bindings,
            sampler_units,
            storage_overrides,
            names,
        )
    }

    fn delete_stream_output(&mut self, payload: &StreamOutputBind) -> Result<(), Fault> {
        self.at(Op::DeleteStreamOutput)?.delete_stream_output(payload)
    }

    fn read_pixels_to_buffer(&mut self, payload: &ReadbackToBuffer) -> Result<(), Fault> {
        self.at(Op::ReadPixelsToBuffer)?.read_to_buffer(payload, false)
    }

    fn get_texture_image_to_buffer(&mut self, payload: &ReadbackToBuffer) -> Result<(), Fault> {
        self.at(Op::GetTextureImageToBuffer)?.read_to_buffer(payload, true)
    }

    fn bind_context(&mut self, payload: &BindContext) -> Result<(), Fault> {
        self.make_current(payload)
    }

    fn shared_image(
        &mut self,
        payload: &SharedImage,
        damage: &[DamageRect],
        reply: Option<ReplySpace>,
    ) -> Result<(), Fault> {
        self.at(Op::SharedImage)?.shared_image(payload, damage, reply)
    }

    fn copy_buffer(&mut self, payload: &CopyBuffer) -> Result<(), Fault> {
        self.at(Op::CopyBuffer)?.copy_buffer(payload)
    }

    fn set_conditional_render(&mut self, payload: &ConditionalRender) -> Result<(), Fault> {
        self.at(Op::SetConditionalRender)?.set_conditional_render(payload)
    }

    fn clear_texture(&mut self, payload: &ClearTexture) -> Result<(), Fault> {
        self.at(Op::ClearTexture)?.clear_texture(payload)
    }

    fn clear_buffer(&mut self, payload: &ClearBuffer) -> Result<(), Fault> {
        self.at(Op::ClearBuffer)?.clear_buffer(payload)
    }

    fn invalidate(&mut self, payload: &Invalidate) -> Result<(), Fault> {
        self.at(Op::Invalidate)?.invalidate(payload)
    }

    fn debug_mark(&mut self, payload: &DebugMark, text: &[u8]) -> Result<(), Fault> {
        #[cfg(feature = "compare")]
        if payload.op() == Some(DebugMarkOp::State) {
            return self.take_state(payload, text);
        }
        self.at(Op::DebugMark)?.debug_mark(payload, text)
    }
}

impl<B: Backend, S: Storage, O: Outlet> Apply<'_, B, S, O> {
    /// Starts the working state of the context over.
    fn reset(&mut self) -> Result<(), Fault> {
        self.must(self.bind.capture.is_none(), "capture")?;
        // New serials, so that no gate takes the new state for one that it has seen.
        let serials = Serials::all(self.next_serial());
        *self.bind = BindState { serials, ..BindState::default() };
        Ok(())
    }

    /// Ends an object of any kind with a table.
    fn object_death(&mut self, object: &HandleOnly) -> Result<(), Fault> {
        let kind = object.kind().ok_or(self.corrupt("kind"))?;
        self.must(!object.handle.is_null(), "handle")?;
        self.end(kind, object.handle)
    }
}
