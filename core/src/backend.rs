//! What a server drives: one implementation a native API.

use core::fmt::Debug;

use runahead_wire::{
    Bulk, Handle,
    caps::CapsView,
    handle::Kind,
    payload::{
        BindContext, Blit, Clear, ClearBuffer, ClearTexture, CopyBuffer, CopyFromFramebuffer, CopyRegion,
        DamageRect, DebugMark, DrawIndirect, DrawInfo, DrawRange, FlushRange, GridInfo, Invalidate,
        MemoryBarrier, MipPlan, Present, QueryDesc, QueryResultAnswer, Readback, ReadbackInfo,
        ReadbackToBuffer, SharedImage, SharedImageAnswer, SubData, SubRegion, SurfaceChanged, XfbAccounting,
    },
    values::RefusedReason,
};

use crate::{
    bind_state::{BindState, Capture},
    objects::Objects,
    storage::Storage,
};

/// What a backend works on: the objects of the current share group, and the state of the current context.
///
/// Handles in `bind` and in the arguments name live objects of the right kind, or are null, or were refused;
/// [`Records::get`](crate::objects::Records::get) answers nothing for the last two.
#[derive(Debug)]
pub struct Scope<'a, B: Backend, S: Storage> {
    /// The objects.
    pub objects: &'a mut Objects<B, S>,
    /// The state.
    pub bind: &'a BindState,
    /// Token of the context.
    pub context: u64,
    /// Token of the share group: that of its first context.
    pub group: u64,
    /// Token of the draw surface; 0 for none.
    pub draw_surface: u64,
    /// Token of the read surface; 0 for none.
    pub read_surface: u64,
    /// Ordinal of the record.
    pub ordinal: u64,
    /// The last serial that anything of the session was given. While it stays, no state and no object has changed, but
    /// for contents and ends.
    pub serial: u64,
}

/// A twin whose object has ended.
#[derive(Debug)]
#[allow(missing_docs, reason = "each is the twin of its kind")]
pub enum Twin<B: Backend> {
    Buffer(B::Buffer),
    Texture(B::Texture),
    Renderbuffer(B::Renderbuffer),
    Framebuffer(B::Framebuffer),
    RenderState(B::RenderState),
    VertexElements(B::VertexElements),
    Sampler(B::Sampler),
    SamplerView(B::SamplerView),
    Shader(B::Shader),
    Fence(B::Fence),
    Query(B::Query),
    StreamOutput(B::StreamOutput),
}

/// Why a backend did not do what a valid record asked for. Nothing of the record took effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BackendError {
    /// It cannot; the client hears of it, and the session goes on.
    Refused(RefusedReason),
    /// The device is lost, and with it the session.
    DeviceLost,
}

/// What a backend method answers.
pub type Outcome<T = ()> = Result<T, BackendError>;

/// Bytes on their way from the GPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Ticket(pub u64);

/// Bytes that are to be read.
#[derive(Clone, Copy, Debug)]
pub enum Read<'a> {
    /// Pixels of the read framebuffer, without gaps.
    Pixels(&'a ReadbackInfo),
    /// An image of a texture, without gaps.
    Texture(&'a ReadbackInfo),
    /// A span of a buffer.
    Buffer(&'a Readback),
}

/// What a present did.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Presented {
    /// Set when the surface has another size or format than the client was told. The origin is filled in by
    /// the caller.
    pub surface_changed: Option<SurfaceChanged>,
}

/// How far the GPU got. Late is allowed, early never.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Every record up to this one is done with the stage bytes that it names.
    pub retired: u64,
    /// Frames completed.
    pub completed_frame: u64,
    /// Presents whose credit returns.
    pub presented: u64,
}

/// A native API that executes records.
///
/// The applier has checked every argument against the session's records when it calls: handles name objects
/// of the right kind, ranges lie inside buffers, counts agree with sizes. What depends on contents (texels of
/// a format, modules, indices) is the backend's to check.
///
/// Twins are values of the associated types, kept in the objects' records; [`Default`] is "none yet". A
/// backend makes one at first use, from the record, and gets each back exactly once by
/// [`Backend::release`]. A verb resolves handles through [`Scope::objects`] and skips what its gates find
/// unchanged, by the serials of the records and of [`BindState::serials`].
///
/// Bulk bytes may be [`Bulk::Shared`]: memory that the client can change at any time. They may be handed to
/// a driver that copies them; whatever is parsed or scanned is copied first.
///
/// No method waits for the GPU, but where a parameter says so.
pub trait Backend: Debug + Sized {
    /// Twin of a buffer.
    type Buffer: Default + Debug;
    /// Twin of a texture.
    type Texture: Default + Debug;
    /// Twin of a renderbuffer.
    type Renderbuffer: Default + Debug;
    /// Twin of a framebuffer.
    type Framebuffer: Default + Debug;
    /// Twin of a render state.
    type RenderState: Default + Debug;
    /// Twin of a vertex layout.
    type VertexElements: Default + Debug;
    /// Twin of a sampler.
    type Sampler: Default + Debug;
    /// Twin of a sampler view.
    type SamplerView: Default + Debug;
    /// Twin of a program.
    type Shader: Default + Debug;
    /// Twin of a fence.
    type Fence: Default + Debug;
    /// Twin of a query.
    type Query: Default + Debug;
    /// Twin of a transform feedback object.
    type StreamOutput: Default + Debug;

    /// What this server can do, now.
    fn caps(&self) -> CapsView<'_>;

    /// Frees a twin whose object has ended. Its share group was current last.
    fn release(&mut self, twin: Twin<Self>);

    /// Takes note that the storage of a resource was defined, whole or one level of it, as its record now
    /// says. The storage itself may be made later; a refusal here reaches the client before it uses the
    /// resource.
    ///
    /// # Errors
    /// [`BackendError`].
    fn define_storage<S: Storage>(
        &mut self,
        scope: &mut Scope<'_, Self, S>,
        kind: Kind,
        resource: Handle,
    ) -> Outcome;

    /// Keeps modules and archive of a program that was linked; `modules` are in the order of the stages, and
    /// empty where there is none. The twin of the executable before, if any, stays until this succeeds.
    ///
    /// # Errors
    /// [`BackendError`].
    fn create_shader<S: Storage>(
        &mut self,
        scope: &mut Scope<'_, Self, S>,
        shader: Handle,
        modules: [Bulk<'_>; 6],
        reflection: Bulk<'_>,
    ) -> Outcome;

    /// Makes a context current, with its surfaces.
    ///
    /// # Errors
    /// [`BackendError`].
    fn bind_context<S: Storage>(&mut self, scope: &mut Scope<'_, Self, S>, bind: &BindContext) -> Outcome;

    /// Writes into a buffer. With `resident` the write is ordered with the GPU's work on the same storage.
    ///
    /// # Errors
    /// [`BackendError`].
    fn upload_buffer<S: Storage>(
        &mut self,
        scope: &mut Scope<'_, Self, S>,
        data: &SubData,
        bytes: Bulk<'_>,
        resident: bool,
    ) -> Outcome;

    /// Writes regions of an image of a texture.
    ///
    /// # Errors
    /// [`BackendError`].
    fn upload_texture<S: Storage>(
        &mut self,
        scope: &mut Scope<'_, Self, S>,
        data: &SubData,
        regions: &[SubRegion],
        bytes: Bulk<'_>,
    ) -> Outcome;

    /// Makes a flushed span of a mapped buffer visible.
    ///
    /// # Errors
    /// [`BackendError`].
    fn flush_range<S: Storage>(&mut self, scope: &mut Scope<'_, Self, S>, range: &FlushRange) -> Outcome;

    /// Maps a buffer's real storage for the client, as a token that the link can hand over; nothing when it
    /// cannot.
    ///
    /// # Errors
    /// [`BackendError`].
    fn map_persistent<S: Storage>(
        &mut self,
        scope: &mut Scope<'_, Self, S>,
        buffer: Handle,
    ) -> Outcome<Option<u64>>;

    /// Gives such a mapping up.
    ///
    /// # Errors
    /// [`BackendError`].
    fn unmap_persistent<S: Storage>(&mut self, scope: &mut Scope<'_, Self, S>, buffer: Handle) -> Outcome;

    /// Copies between buffers.
    ///
    /// # Errors
    /// [`BackendError`].
    fn copy_buffer<S: Storage>(&mut self, scope: &mut Scope<'_, Self, S>, copy: &CopyBuffer) -> Outcome;

    /// Copies between textures or renderbuffers.
    ///
    /// # Errors
    /// [`BackendError`].
    fn copy_region<S: Storage>(&mut self, scope: &mut Scope<'_, Self, S>, copy: &CopyRegion) -> Outcome;

    /// Copies from the read framebuffer into a texture.
    ///
    /// # Errors
    /// [`BackendError`].
    fn copy_framebuffer_to_texture<S: Storage>(
        &mut self,
        scope: &mut Scope<'_, Self, S>,
        copy: &CopyFromFramebuffer,
    ) -> Outcome;

    /// Generates mipmaps.
    ///
    /// # Errors
    /// [`BackendError`].
    fn generate_mipmap<S: Storage>(&mut self, scope: &mut Scope<'_, Self, S>, plan: &MipPlan) -> Outcome;

    /// Fills a region of a texture.
    ///
    /// # Errors
    /// [`BackendError`].
    fn clear_texture<S: Storage>(&mut self, scope: &mut Scope<'_, Self, S>, clear: &ClearTexture) -> Outcome;

    /// Fills a span of a buffer.
    ///
    /// # Errors
    /// [`BackendError`].
    fn clear_buffer<S: Storage>(&mut self, scope: &mut Scope<'_, Self, S>, clear: &ClearBuffer) -> Outcome;

    /// Drops contents.
    ///
    /// # Errors
    /// [`BackendError`].
    fn invalidate<S: Storage>(&mut self, scope: &mut Scope<'_, Self, S>, what: &Invalidate) -> Outcome;

    /// Copies a rectangle between framebuffers. Null handles are the bound ones.
    ///
    /// # Errors
    /// [`BackendError`].
    fn blit<S: Storage>(&mut self, scope: &mut Scope<'_, Self, S>, blit: &Blit) -> Outcome;

    /// Clears buffers of a framebuffer. A null handle is the bound one.
    ///
    /// # Errors
    /// [`BackendError`].
    fn clear<S: Storage>(&mut self, scope: &mut Scope<'_, Self, S>, clear: &Clear) -> Outcome;

    /// Draws.
    ///
    /// # Errors
    /// [`BackendError`].
    fn draw<S: Storage>(
        &mut self,
        scope: &mut Scope<'_, Self, S>,
        draw: &DrawInfo,
        ranges: &[DrawRange],
        indirect: Option<&DrawIndirect>,
    ) -> Outcome;

    /// Dispatches.
    ///
    /// # Errors
    /// [`BackendError`].
    fn dispatch<S: Storage>(&mut self, scope: &mut Scope<'_, Self, S>, grid: &GridInfo) -> Outcome;

    /// Orders later accesses after earlier shader writes.
    ///
    /// # Errors
    /// [`BackendError`].
    fn memory_barrier<S: Storage>(
        &mut self,
        scope: &mut Scope<'_, Self, S>,
        barrier: &MemoryBarrier,
    ) -> Outcome;

    /// Begins a span of capture, which is [`BindState::capture`].
    ///
    /// # Errors
    /// [`BackendError`].
    fn begin_stream_output<S: Storage>(
        &mut self,
        scope: &mut Scope<'_, Self, S>,
        capture: &Capture,
    ) -> Outcome;

    /// Ends it.
    ///
    /// # Errors
    /// [`BackendError`].
    fn end_stream_output<S: Storage>(
        &mut self,
        scope: &mut Scope<'_, Self, S>,
        counted: &XfbAccounting,
    ) -> Outcome;

    /// Pauses it, or resumes it.
    ///
    /// # Errors
    /// [`BackendError`].
    fn pause_stream_output<S: Storage>(&mut self, scope: &mut Scope<'_, Self, S>, paused: bool) -> Outcome;

    /// Starts to read bytes. The read is ordered with the verbs before and after it; its bytes come later.
    ///
    /// # Errors
    /// [`BackendError`].
    fn begin_read<S: Storage>(&mut self, scope: &mut Scope<'_, Self, S>, read: Read<'_>) -> Outcome<Ticket>;

    /// The bytes of a read, once they are there; with `wait`, waits for them.
    ///
    /// # Errors
    /// [`BackendError`].
    fn poll_read(&mut self, ticket: Ticket, wait: bool) -> Outcome<Option<&[u8]>>;

    /// Forgets a read.
    fn end_read(&mut self, ticket: Ticket);

    /// Reads pixels of the read framebuffer, or an image of a texture where the source names one, into a
    /// buffer.
    ///
    /// # Errors
    /// [`BackendError`].
    fn read_to_buffer<S: Storage>(
        &mut self,
        scope: &mut Scope<'_, Self, S>,
        read: &ReadbackToBuffer,
    ) -> Outcome;

    /// Inserts a fence behind everything before.
    ///
    /// # Errors
    /// [`BackendError`].
    fn create_fence<S: Storage>(&mut self, scope: &mut Scope<'_, Self, S>, fence: Handle) -> Outcome;

    /// Whether a fence is signalled; with `wait`, waits until it is. Submits what the fence stands behind.
    ///
    /// # Errors
    /// [`BackendError`].
    fn poll_fence(&mut self, fence: &mut Self::Fence, wait: bool) -> Outcome<bool>;

    /// Makes the GPU wait for a fence.
    ///
    /// # Errors
    /// [`BackendError`].
    fn wait_fence<S: Storage>(&mut self, scope: &mut Scope<'_, Self, S>, fence: Handle) -> Outcome;

    /// Begins a query.
    ///
    /// # Errors
    /// [`BackendError`].
    fn begin_query<S: Storage>(&mut self, scope: &mut Scope<'_, Self, S>, query: &QueryDesc) -> Outcome;

    /// Ends a query.
    ///
    /// # Errors
    /// [`BackendError`].
    fn end_query<S: Storage>(&mut self, scope: &mut Scope<'_, Self, S>, query: &QueryDesc) -> Outcome;

    /// Writes the GPU's time into a query.
    ///
    /// # Errors
    /// [`BackendError`].
    fn query_counter<S: Storage>(&mut self, scope: &mut Scope<'_, Self, S>, query: &QueryDesc) -> Outcome;

    /// A query's result, once it is there; with `wait`, waits for it.
    ///
    /// # Errors
    /// [`BackendError`].
    fn poll_query(
        &mut self,
        desc: &QueryDesc,
        query: &mut Self::Query,
        wait: bool,
    ) -> Outcome<Option<QueryResultAnswer>>;

    /// The GPU's time in nanoseconds; nothing when it has no clock.
    ///
    /// # Errors
    /// [`BackendError`].
    fn timestamp(&mut self) -> Outcome<Option<i64>>;

    /// Submits what is held.
    ///
    /// # Errors
    /// [`BackendError`].
    fn flush(&mut self) -> Outcome;

    /// Presents the draw surface.
    ///
    /// # Errors
    /// [`BackendError`].
    fn present<S: Storage>(
        &mut self,
        scope: &mut Scope<'_, Self, S>,
        present: &Present,
        damage: &[DamageRect],
    ) -> Outcome<Presented>;

    /// Sets how many refreshes a present waits for.
    ///
    /// # Errors
    /// [`BackendError`].
    fn set_swap_interval<S: Storage>(&mut self, scope: &mut Scope<'_, Self, S>, interval: i32) -> Outcome;

    /// Works on an image that other processes may hold; nothing when images are not shared.
    ///
    /// # Errors
    /// [`BackendError`].
    fn shared_image<S: Storage>(
        &mut self,
        scope: &mut Scope<'_, Self, S>,
        image: &SharedImage,
        damage: &[DamageRect],
    ) -> Outcome<Option<SharedImageAnswer>>;

    /// Marks the native stream for debuggers.
    ///
    /// # Errors
    /// [`BackendError`].
    fn debug_mark<S: Storage>(
        &mut self,
        scope: &mut Scope<'_, Self, S>,
        mark: &DebugMark,
        text: &[u8],
    ) -> Outcome;

    /// How far the GPU got, `applied` being the last record that was applied. Called once a batch; must be
    /// cheap. A backend that copies stage bytes while it applies has retired what was applied.
    ///
    /// # Errors
    /// [`BackendError`].
    fn progress(&mut self, applied: u64) -> Outcome<Progress>;
}
