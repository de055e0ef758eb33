//! A backend that draws nothing and hands every call it gets to a listener.
//!
//! It stands where a native API would: what arrives here is what one would have been asked for, in order. Fences
//! are signalled at once, queries count 0, reads give zeros; or all of these keep one waiting, for tests.

use core::fmt::{self, Debug};

use runahead_wire::{
    BlobRef, Bulk, Handle,
    caps::{CapsTexts, CapsView},
    handle::Kind,
    limits as wire,
    payload::{
        BindContext, Blit, CapsHead, CapsLimits, Clear, ClearBuffer, ClearTexture, CopyBuffer,
        CopyFromFramebuffer, CopyRegion, DamageRect, DebugMark, DrawIndirect, DrawInfo, DrawRange,
        FlushRange, GridInfo, Invalidate, MemoryBarrier, MipPlan, Present, QueryDesc, QueryResultAnswer,
        ReadbackToBuffer, SharedImage, SharedImageAnswer, SubData, SubRegion, XfbAccounting,
    },
    values::{BackendKind, CapsBits, RefusedReason},
    zerocopy::IntoBytes,
};

use crate::{
    backend::{Backend, BackendError, Outcome, Presented, Progress, Read, Scope, Ticket, Twin},
    bind_state::Capture,
    storage::Storage,
};

/// Methods of a backend that are calls of a client's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "each is the backend's method of that name")]
pub enum Method {
    CreateShader,
    DefineStorage,
    BindContext,
    UploadBuffer,
    UploadTexture,
    FlushRange,
    MapPersistent,
    UnmapPersistent,
    CopyBuffer,
    CopyRegion,
    CopyFramebufferToTexture,
    GenerateMipmap,
    ClearTexture,
    ClearBuffer,
    Invalidate,
    Blit,
    Clear,
    Draw,
    Dispatch,
    MemoryBarrier,
    BeginStreamOutput,
    EndStreamOutput,
    PauseStreamOutput,
    BeginRead,
    ReadToBuffer,
    CreateFence,
    WaitFence,
    BeginQuery,
    EndQuery,
    QueryCounter,
    Present,
    SetSwapInterval,
    SharedImage,
    DebugMark,
    Flush,
    Release,
}

impl Method {
    /// Every method.
    pub const ALL: &[Self] = &[
        Self::CreateShader,
        Self::DefineStorage,
        Self::BindContext,
        Self::UploadBuffer,
        Self::UploadTexture,
        Self::FlushRange,
        Self::MapPersistent,
        Self::UnmapPersistent,
        Self::CopyBuffer,
        Self::CopyRegion,
        Self::CopyFramebufferToTexture,
        Self::GenerateMipmap,
        Self::ClearTexture,
        Self::ClearBuffer,
        Self::Invalidate,
        Self::Blit,
        Self::Clear,
        Self::Draw,
        Self::Dispatch,
        Self::MemoryBarrier,
        Self::BeginStreamOutput,
        Self::EndStreamOutput,
        Self::PauseStreamOutput,
        Self::BeginRead,
        Self::ReadToBuffer,
        Self::CreateFence,
        Self::WaitFence,
        Self::BeginQuery,
        Self::EndQuery,
        Self::QueryCounter,
        Self::Present,
        Self::SetSwapInterval,
        Self::SharedImage,
        Self::DebugMark,
        Self::Flush,
        Self::Release,
    ];

    /// Name of the method.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::CreateShader => "create_shader",
            Self::DefineStorage => "define_storage",
            Self::BindContext => "bind_context",
            Self::UploadBuffer => "upload_buffer",
            Self::UploadTexture => "upload_texture",
            Self::FlushRange => "flush_range",
            Self::MapPersistent => "map_persistent",
            Self::UnmapPersistent => "unmap_persistent",
            Self::CopyBuffer => "copy_buffer",
            Self::CopyRegion => "copy_region",
            Self::CopyFramebufferToTexture => "copy_framebuffer_to_texture",
            Self::GenerateMipmap => "generate_mipmap",
            Self::ClearTexture => "clear_texture",
            Self::ClearBuffer => "clear_buffer",
            Self::Invalidate => "invalidate",
            Self::Blit => "blit",
            Self::Clear => "clear",
            Self::Draw => "draw",
            Self::Dispatch => "dispatch",
            Self::MemoryBarrier => "memory_barrier",
            Self::BeginStreamOutput => "begin_stream_output",
            Self::EndStreamOutput => "end_stream_output",
            Self::PauseStreamOutput => "pause_stream_output",
            Self::BeginRead => "begin_read",
            Self::ReadToBuffer => "read_to_buffer",
            Self::CreateFence => "create_fence",
            Self::WaitFence => "wait_fence",
            Self::BeginQuery => "begin_query",
            Self::EndQuery => "end_query",
            Self::QueryCounter => "query_counter",
            Self::Present => "present",
            Self::SetSwapInterval => "set_swap_interval",
            Self::SharedImage => "shared_image",
            Self::DebugMark => "debug_mark",
            Self::Flush => "flush",
            Self::Release => "release",
        }
    }
}

/// One call.
#[derive(Clone, Copy, Debug)]
pub struct Call<'a> {
    /// Which method.
    pub method: Method,
    /// Token of the current context.
    pub context: u64,
    /// Ordinal of the record; 0 where none caused the call.
    pub ordinal: u64,
    /// The payload; where bulk bytes lay in the stage is left out, since it depends on the link.
    pub payload: &'a [u8],
    /// Ranges, regions, rectangles, text.
    pub tail: &'a [u8],
    /// Bulk bytes.
    pub bulk: Bulk<'a>,
}

/// What is told of every call.
pub trait Listener: Debug {
    /// A call, before it is answered.
    fn call(&mut self, call: &Call<'_>);

    /// Whether clients are not to run ahead any more: the caps are of generation 2 then, without that bit.
    fn forbids_run_ahead(&self) -> bool {
        false
    }
}

/// A backend that draws nothing and hands every call it gets to its listener.
#[derive(Debug, Default)]
pub struct Trace<L> {
    /// Who listens.
    pub listener: L,
    /// Whether fences, queries and reads are not ready yet. Whoever waits for one gets it.
    pub pending: bool,
    /// The frame presented last.
    frame: u64,
}

impl<L> Trace<L> {
    /// A backend with a listener.
    #[must_use]
    pub const fn new(listener: L) -> Self {
        Self { listener, pending: false, frame: 0 }
    }

    const fn is_ready(&self, wait: bool) -> bool {
        wait || !self.pending
    }
}

/// Zeros that reads give; a larger read is refused.
static ZEROS: [u8; 1 << 20] = [0; 1 << 20];

/// Limits of a backend that draws nothing: what OpenGL 4.6 asks for at least, or what the wire can carry.
static LIMITS: CapsLimits = limits();

fn ticket(read: &Read<'_>) -> Outcome<Ticket> {
    let size = match read {
        Read::Pixels(read) | Read::Texture(read) => read.dst_size,
        Read::Buffer(read) => read.size,
    };
    if size > ZEROS.len() as u64 {
        return Err(BackendError::Refused(RefusedReason::TooLarge));
    }
    Ok(Ticket(size))
}

fn read_bytes<'a>(read: &Read<'a>) -> &'a [u8] {
    match read {
        Read::Pixels(read) | Read::Texture(read) => read.as_bytes(),
        Read::Buffer(read) => read.as_bytes(),
    }
}

const fn without_blob(data: &SubData) -> SubData {
    SubData { blob: BlobRef::NONE, ..*data }
}

impl<L: Listener> Backend for Trace<L> {
    type Buffer = ();
    type Texture = ();
    type Renderbuffer = ();
    type Framebuffer = ();
    type RenderState = ();
    type VertexElements = ();
    type Sampler = ();
    type SamplerView = ();
    type Shader = ();
    type Fence = ();
    type Query = ();
    type StreamOutput = ();

    fn caps(&self) -> CapsView<'_> {
        caps(self.listener.forbids_run_ahead())
    }

    fn release(&mut self, twin: Twin<Self>) {
        let kind = match twin {
            Twin::Buffer(()) => Kind::Buffer,
            Twin::Texture(()) => Kind::Texture,
            Twin::Renderbuffer(()) => Kind::Renderbuffer,
            Twin::Framebuffer(()) => Kind::Framebuffer,
            Twin::RenderState(()) => Kind::RenderStateCso,
            Twin::VertexElements(()) => Kind::VertexElementsCso,
            Twin::Sampler(()) => Kind::SamplerCso,
            Twin::SamplerView(()) => Kind::SamplerViewCso,
            Twin::Shader(()) => Kind::ShaderCso,
            Twin::Fence(()) => Kind::Fence,
            Twin::Query(()) => Kind::Query,
            Twin::StreamOutput(()) => Kind::TransformFeedback,
        };
        self.listener.call(&Call {
            method: Method::Release,
            context: 0,
            ordinal: 0,
            payload: kind.raw().as_bytes(),
            tail: &[],
            bulk: Bulk::EMPTY,
        });
    }

    fn create_shader<S: Storage>(
        &mut self,
        scope: &mut Scope<'_, Self, S>,
        shader: Handle,
        modules: [Bulk<'_>; 6],
        reflection: Bulk<'_>,
    ) -> Outcome {
        let _ = modules;
        self.listener.call(&Call {
            method: Method::CreateShader,
            context: scope.context,
            ordinal: scope.ordinal,
            payload: shader.as_bytes(),
            tail: &[],
            bulk: reflection,
        });
        Ok(())
    }

    fn define_storage<S: Storage>(
        &mut self,
        scope: &mut Scope<'_, Self, S>,
        kind: Kind,
        resource: Handle,
    ) -> Outcome {
        self.listener.call(&Call {
            method: Method::DefineStorage,
            context: scope.context,
            ordinal: scope.ordinal,
            payload: resource.as_bytes(),
            tail: kind.raw().as_bytes(),
            bulk: Bulk::EMPTY,
        });
        Ok(())
    }

    fn bind_context<S: Storage>(&mut self, scope: &mut Scope<'_, Self, S>, bind: &BindContext) -> Outcome {
        self.listener.call(&Call {
            method: Method::BindContext,
            context: scope.context,
            ordinal: scope.ordinal,
            payload: bind.as_bytes(),
            tail: &[],
            bulk: Bulk::EMPTY,
        });
        Ok(())
    }

    fn upload_buffer<S: Storage>(
        &mut self,
        scope: &mut Scope<'_, Self, S>,
        data: &SubData,
        bytes: Bulk<'_>,
        resident: bool,
    ) -> Outcome {
        self.listener.call(&Call {
            method: Method::UploadBuffer,
            context: scope.context,
            ordinal: scope.ordinal,
            payload: without_blob(data).as_bytes(),
            tail: &[u8::from(resident)],
            bulk: bytes,
        });
        Ok(())
    }

    fn upload_texture<S: Storage>(
        &mut self,
        scope: &mut Scope<'_, Self, S>,
        data: &SubData,
        regions: &[SubRegion],
        bytes: Bulk<'_>,
    ) -> Outcome {
        self.listener.call(&Call {
            method: Method::UploadTexture,
            context: scope.context,
            ordinal: scope.ordinal,
            payload: without_blob(data).as_bytes(),
            tail: regions.as_bytes(),
            bulk: bytes,
        });
        Ok(())
    }

    fn flush_range<S: Storage>(&mut self, scope: &mut Scope<'_, Self, S>, range: &FlushRange) -> Outcome {
        self.listener.call(&Call {
            method: Method::FlushRange,
            context: scope.context,
            ordinal: scope.ordinal,
            payload: range.as_bytes(),
            tail: &[],
            bulk: Bulk::EMPTY,
        });
        Ok(())
    }

    fn map_persistent<S: Storage>(
        &mut self,
        scope: &mut Scope<'_, Self, S>,
        buffer: Handle,
    ) -> Outcome<Option<u64>> {
        self.listener.call(&Call {
            method: Method::MapPersistent,
            context: scope.context,
            ordinal: scope.ordinal,
            payload: buffer.as_bytes(),
            tail: &[],
            bulk: Bulk::EMPTY,
        });
        Ok(None)
    }

    fn unmap_persistent<S: Storage>(&mut self, scope: &mut Scope<'_, Self, S>, buffer: Handle) -> Outcome {
        self.listener.call(&Call {
            method: Method::UnmapPersistent,
            context: scope.context,
            ordinal: scope.ordinal,
            payload: buffer.as_bytes(),
            tail: &[],
            bulk: Bulk::EMPTY,
        });
        Ok(())
    }

    fn copy_buffer<S: Storage>(&mut self, scope: &mut Scope<'_, Self, S>, copy: &CopyBuffer) -> Outcome {
        self.listener.call(&Call {
            method: Method::CopyBuffer,
            context: scope.context,
            ordinal: scope.ordinal,
            payload: copy.as_bytes(),
            tail: &[],
            bulk: Bulk::EMPTY,
        });
        Ok(())
    }

    fn copy_region<S: Storage>(&mut self, scope: &mut Scope<'_, Self, S>, copy: &CopyRegion) -> Outcome {
        self.listener.call(&Call {
            method: Method::CopyRegion,
            context: scope.context,
            ordinal: scope.ordinal,
            payload: copy.as_bytes(),
            tail: &[],
            bulk: Bulk::EMPTY,
        });
        Ok(())
    }

    fn copy_framebuffer_to_texture<S: Storage>(
        &mut self,
        scope: &mut Scope<'_, Self, S>,
        copy: &CopyFromFramebuffer,
    ) -> Outcome {
        self.listener.call(&Call {
            method: Method::CopyFramebufferToTexture,
            context: scope.context,
            ordinal: scope.ordinal,
            payload: copy.as_bytes(),
            tail: &[],
            bulk: Bulk::EMPTY,
        });
        Ok(())
    }

    fn generate_mipmap<S: Storage>(&mut self, scope: &mut Scope<'_, Self, S>, plan: &MipPlan) -> Outcome {
        self.listener.call(&Call {
            method: Method::GenerateMipmap,
            context: scope.context,
            ordinal: scope.ordinal,
            payload: plan.as_bytes(),
            tail: &[],
            bulk: Bulk::EMPTY,
        });
        Ok(())
    }

    fn clear_texture<S: Storage>(&mut self, scope: &mut Scope<'_, Self, S>, clear: &ClearTexture) -> Outcome {
        self.listener.call(&Call {
            method: Method::ClearTexture,
            context: scope.context,
            ordinal: scope.ordinal,
            payload: clear.as_bytes(),
            tail: &[],
            bulk: Bulk::EMPTY,
        });
        Ok(())
    }

    fn clear_buffer<S: Storage>(&mut self, scope: &mut Scope<'_, Self, S>, clear: &ClearBuffer) -> Outcome {
        self.listener.call(&Call {
            method: Method::ClearBuffer,
            context: scope.context,
            ordinal: scope.ordinal,
            payload: clear.as_bytes(),
            tail: &[],
            bulk: Bulk::EMPTY,
        });
        Ok(())
    }

    fn invalidate<S: Storage>(&mut self, scope: &mut Scope<'_, Self, S>, what: &Invalidate) -> Outcome {
        self.listener.call(&Call {
            method: Method::Invalidate,
            context: scope.context,
            ordinal: scope.ordinal,
            payload: what.as_bytes(),
            tail: &[],
            bulk: Bulk::EMPTY,
        });
        Ok(())
    }

    fn blit<S: Storage>(&mut self, scope: &mut Scope<'_, Self, S>, blit: &Blit) -> Outcome {
        self.listener.call(&Call {
            method: Method::Blit,
            context: scope.context,
            ordinal: scope.ordinal,
            payload: blit.as_bytes(),
            tail: &[],
            bulk: Bulk::EMPTY,
        });
        Ok(())
    }

    fn clear<S: Storage>(&mut self, scope: &mut Scope<'_, Self, S>, clear: &Clear) -> Outcome {
        self.listener.call(&Call {
            method: Method::Clear,
            context: scope.context,
            ordinal: scope.ordinal,
            payload: clear.as_bytes(),
            tail: &[],
            bulk: Bulk::EMPTY,
        });
        Ok(())
    }

    #[inline]
    fn draw<S: Storage>(
        &mut self,
        scope: &mut Scope<'_, Self, S>,
        draw: &DrawInfo,
        ranges: &[DrawRange],
        indirect: Option<&DrawIndirect>,
    ) -> Outcome {
        self.listener.call(&Call {
            method: Method::Draw,
            context: scope.context,
            ordinal: scope.ordinal,
            payload: draw.as_bytes(),
            tail: indirect.map_or(ranges.as_bytes(), IntoBytes::as_bytes),
            bulk: Bulk::EMPTY,
        });
        Ok(())
    }

    fn dispatch<S: Storage>(&mut self, scope: &mut Scope<'_, Self, S>, grid: &GridInfo) -> Outcome {
        self.listener.call(&Call {
            method: Method::Dispatch,
            context: scope.context,
            ordinal: scope.ordinal,
            payload: grid.as_bytes(),
            tail: &[],
            bulk: Bulk::EMPTY,
        });
        Ok(())
    }

    fn memory_barrier<S: Storage>(
        &mut self,
        scope: &mut Scope<'_, Self, S>,
        barrier: &MemoryBarrier,
    ) -> Outcome {
        self.listener.call(&Call {
            method: Method::MemoryBarrier,
            context: scope.context,
            ordinal: scope.ordinal,
            payload: barrier.as_bytes(),
            tail: &[],
            bulk: Bulk::EMPTY,
        });
        Ok(())
    }

    fn begin_stream_output<S: Storage>(
        &mut self,
        scope: &mut Scope<'_, Self, S>,
        capture: &Capture,
    ) -> Outcome {
        self.listener.call(&Call {
            method: Method::BeginStreamOutput,
            context: scope.context,
            ordinal: scope.ordinal,
            payload: capture.begin.as_bytes(),
            tail: &[],
            bulk: Bulk::EMPTY,
        });
        Ok(())
    }

    fn end_stream_output<S: Storage>(
        &mut self,
        scope: &mut Scope<'_, Self, S>,
        counted: &XfbAccounting,
    ) -> Outcome {
        self.listener.call(&Call {
            method: Method::EndStreamOutput,
            context: scope.context,
            ordinal: scope.ordinal,
            payload: counted.as_bytes(),
            tail: &[],
            bulk: Bulk::EMPTY,
        });
        Ok(())
    }

    fn pause_stream_output<S: Storage>(&mut self, scope: &mut Scope<'_, Self, S>, paused: bool) -> Outcome {
        self.listener.call(&Call {
            method: Method::PauseStreamOutput,
            context: scope.context,
            ordinal: scope.ordinal,
            payload: &[u8::from(paused)],
            tail: &[],
            bulk: Bulk::EMPTY,
        });
        Ok(())
    }

    fn begin_read<S: Storage>(&mut self, scope: &mut Scope<'_, Self, S>, read: Read<'_>) -> Outcome<Ticket> {
        self.listener.call(&Call {
            method: Method::BeginRead,
            context: scope.context,
            ordinal: scope.ordinal,
            payload: read_bytes(&read),
            tail: &[],
            bulk: Bulk::EMPTY,
        });
        ticket(&read)
    }

    fn read_to_buffer<S: Storage>(
        &mut self,
        scope: &mut Scope<'_, Self, S>,
        read: &ReadbackToBuffer,
    ) -> Outcome {
        self.listener.call(&Call {
            method: Method::ReadToBuffer,
            context: scope.context,
            ordinal: scope.ordinal,
            payload: read.as_bytes(),
            tail: &[],
            bulk: Bulk::EMPTY,
        });
        Ok(())
    }

    fn create_fence<S: Storage>(&mut self, scope: &mut Scope<'_, Self, S>, fence: Handle) -> Outcome {
        self.listener.call(&Call {
            method: Method::CreateFence,
            context: scope.context,
            ordinal: scope.ordinal,
            payload: fence.as_bytes(),
            tail: &[],
            bulk: Bulk::EMPTY,
        });
        Ok(())
    }

    fn wait_fence<S: Storage>(&mut self, scope: &mut Scope<'_, Self, S>, fence: Handle) -> Outcome {
        self.listener.call(&Call {
            method: Method::WaitFence,
            context: scope.context,
            ordinal: scope.ordinal,
            payload: fence.as_bytes(),
            tail: &[],
            bulk: Bulk::EMPTY,
        });
        Ok(())
    }

    fn begin_query<S: Storage>(&mut self, scope: &mut Scope<'_, Self, S>, query: &QueryDesc) -> Outcome {
        self.listener.call(&Call {
            method: Method::BeginQuery,
            context: scope.context,
            ordinal: scope.ordinal,
            payload: query.as_bytes(),
            tail: &[],
            bulk: Bulk::EMPTY,
        });
        Ok(())
    }

    fn end_query<S: Storage>(&mut self, scope: &mut Scope<'_, Self, S>, query: &QueryDesc) -> Outcome {
        self.listener.call(&Call {
            method: Method::EndQuery,
            context: scope.context,
            ordinal: scope.ordinal,
            payload: query.as_bytes(),
            tail: &[],
            bulk: Bulk::EMPTY,
        });
        Ok(())
    }

    fn query_counter<S: Storage>(&mut self, scope: &mut Scope<'_, Self, S>, query: &QueryDesc) -> Outcome {
        self.listener.call(&Call {
            method: Method::QueryCounter,
            context: scope.context,
            ordinal: scope.ordinal,
            payload: query.as_bytes(),
            tail: &[],
            bulk: Bulk::EMPTY,
        });
        Ok(())
    }

    fn present<S: Storage>(
        &mut self,
        scope: &mut Scope<'_, Self, S>,
        present: &Present,
        damage: &[DamageRect],
    ) -> Outcome<Presented> {
        self.listener.call(&Call {
            method: Method::Present,
            context: scope.context,
            ordinal: scope.ordinal,
            payload: present.as_bytes(),
            tail: damage.as_bytes(),
            bulk: Bulk::EMPTY,
        });
        {
            self.frame = present.frame_serial;
            Ok(Presented::default())
        }
    }

    fn set_swap_interval<S: Storage>(&mut self, scope: &mut Scope<'_, Self, S>, interval: i32) -> Outcome {
        self.listener.call(&Call {
            method: Method::SetSwapInterval,
            context: scope.context,
            ordinal: scope.ordinal,
            payload: interval.as_bytes(),
            tail: &[],
            bulk: Bulk::EMPTY,
        });
        Ok(())
    }

    fn shared_image<S: Storage>(
        &mut self,
        scope: &mut Scope<'_, Self, S>,
        image: &SharedImage,
        damage: &[DamageRect],
    ) -> Outcome<Option<SharedImageAnswer>> {
        self.listener.call(&Call {
            method: Method::SharedImage,
            context: scope.context,
            ordinal: scope.ordinal,
            payload: image.as_bytes(),
            tail: damage.as_bytes(),
            bulk: Bulk::EMPTY,
        });
        Ok(None)
    }

    fn debug_mark<S: Storage>(
        &mut self,
        scope: &mut Scope<'_, Self, S>,
        mark: &DebugMark,
        text: &[u8],
    ) -> Outcome {
        self.listener.call(&Call {
            method: Method::DebugMark,
            context: scope.context,
            ordinal: scope.ordinal,
            payload: mark.as_bytes(),
            tail: text,
            bulk: Bulk::EMPTY,
        });
        Ok(())
    }

    fn poll_read(&mut self, ticket: Ticket, wait: bool) -> Outcome<Option<&[u8]>> {
        Ok(if self.is_ready(wait) { ZEROS.get(..ticket.0 as usize) } else { None })
    }

    fn end_read(&mut self, _: Ticket) {}

    fn poll_fence(&mut self, (): &mut (), wait: bool) -> Outcome<bool> {
        Ok(self.is_ready(wait))
    }

    fn poll_query(&mut self, _: &QueryDesc, (): &mut (), wait: bool) -> Outcome<Option<QueryResultAnswer>> {
        let answer = QueryResultAnswer { produced: 1, ..QueryResultAnswer::default() };
        Ok(self.is_ready(wait).then_some(answer))
    }

    fn timestamp(&mut self) -> Outcome<Option<i64>> {
        Ok(None)
    }

    fn flush(&mut self) -> Outcome {
        self.listener.call(&Call {
            method: Method::Flush,
            context: 0,
            ordinal: 0,
            payload: &[],
            tail: &[],
            bulk: Bulk::EMPTY,
        });
        Ok(())
    }

    fn progress(&mut self, applied: u64) -> Outcome<Progress> {
        Ok(Progress { retired: applied, completed_frame: self.frame, presented: self.frame })
    }
}

/// Writes a call as one line, for listings: method, context, payload and tail in hexadecimal, a digest of the
/// bulk bytes.
impl fmt::Display for Call<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} context {}", self.method.name(), self.context)?;
        for part in [self.payload, self.tail] {
            f.write_str(" ")?;
            for byte in part {
                write!(f, "{byte:02x}")?;
            }
        }
        if !self.bulk.is_empty() {
            write!(f, " {} bytes {:016x}", self.bulk.len(), digest(&self.bulk))?;
        }
        Ok(())
    }
}

/// FNV-1a of bulk bytes, for listings.
#[must_use]
pub fn digest(bulk: &Bulk<'_>) -> u64 {
    let mut digest = 0xcbf2_9ce4_8422_2325;
    let mut eat = |bytes: &[u8]| {
        for byte in bytes {
            digest = (digest ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
    };
    match bulk {
        Bulk::Bytes(bytes) => eat(bytes),
        Bulk::Shared(shared) => {
            let mut piece = [0; 256];
            let mut at = 0;
            while at < shared.len() {
                let len = piece.len().min(shared.len() - at);
                let Some(out) = piece.get_mut(..len) else { break };
                if !shared.copy_to(at, out) {
                    break;
                }
                eat(out);
                at += len;
            }
        }
        Bulk::Staged(_) => {}
    }
    digest
}

/// The caps of a backend that draws nothing.
fn caps(lockstep: bool) -> CapsView<'static> {
    let bits = CapsBits::BACKEND_OWNS_XFB_CAPTURE | CapsBits::VIEWPORT_ARRAY;
    let head = CapsHead {
        generation: if lockstep { 2 } else { 1 },
        backend: BackendKind::Null.raw(),
        bits: if lockstep { bits } else { bits | CapsBits::RUN_AHEAD_APPLY }.raw(),
        gl_version: 46,
        gles_version: 32,
        min_spirv_version: 0x1_0000,
        max_spirv_version: 0x1_0600,
        ..CapsHead::default()
    };
    let texts = CapsTexts { vendor: "Runahead", renderer: "null", ..CapsTexts::default() };
    match CapsView::new(head, &LIMITS, &[], &texts) {
        Some(caps) => caps,
        // The parts are constants within their limits; a test asks for them.
        None => unreachable!(),
    }
}

const fn limits() -> CapsLimits {
    let mut caps: CapsLimits = runahead_wire::zerocopy::transmute!([0u8; size_of::<CapsLimits>()]);
    caps.max_element_index = u32::MAX as u64;
    caps.max_shader_storage_block_size = 1 << 27;
    caps.max_server_wait_timeout = u64::MAX;
    caps.max_buffer_size = 1 << 40;
    caps.aliased_line_width_range = [1.0, 1.0];
    caps.smooth_line_width_range = [1.0, 1.0];
    caps.point_size_range = [1.0, 1024.0];
    caps.viewport_bounds_range = [-32768.0, 32767.0];
    caps.max_texture_lod_bias = 16.0;
    caps.max_texture_max_anisotropy = 1.0;
    caps.max_viewports = wire::VIEWPORTS as u32;
    caps.max_viewport_dims = [16384, 16384];
    caps.max_clip_distances = 8;
    caps.max_cull_distances = 8;
    caps.max_combined_clip_and_cull_distances = 8;
    caps.max_texture_size = 16384;
    caps.max_3d_texture_size = 2048;
    caps.max_cube_map_texture_size = 16384;
    caps.max_rectangle_texture_size = 16384;
    caps.max_array_texture_layers = 2048;
    caps.max_texture_buffer_size = 1 << 27;
    caps.texture_buffer_offset_alignment = 16;
    caps.max_renderbuffer_size = 16384;
    caps.max_samples = 8;
    caps.max_color_texture_samples = 8;
    caps.max_depth_texture_samples = 8;
    caps.max_integer_samples = 8;
    caps.max_sample_mask_words = 1;
    caps.max_framebuffer_width = 16384;
    caps.max_framebuffer_height = 16384;
    caps.max_framebuffer_layers = 2048;
    caps.max_framebuffer_samples = 8;
    caps.max_color_attachments = wire::COLOR_ATTACHMENTS as u32;
    caps.max_draw_buffers = wire::COLOR_ATTACHMENTS as u32;
    caps.max_dual_source_draw_buffers = 1;
    caps.max_vertex_attribs = wire::VERTEX_ATTRIBS;
    caps.max_vertex_attrib_bindings = wire::VERTEX_BINDINGS;
    caps.max_vertex_attrib_stride = 2048;
    caps.max_vertex_attrib_relative_offset = 2047;
    caps.max_elements_indices = u32::MAX;
    caps.max_elements_vertices = u32::MAX;
    caps.max_uniform_buffer_bindings = wire::BUFFER_BINDINGS;
    caps.max_uniform_block_size = 65536;
    caps.uniform_buffer_offset_alignment = 16;
    caps.max_combined_uniform_blocks = wire::BUFFER_BINDINGS;
    caps.max_shader_storage_buffer_bindings = wire::BUFFER_BINDINGS;
    caps.shader_storage_buffer_offset_alignment = 16;
    caps.max_combined_texture_image_units = wire::TEXTURE_UNITS;
    caps.max_image_units = wire::IMAGE_UNITS;
    caps.max_uniform_locations = 4096;
    caps.max_patch_vertices = 32;
    caps.max_tess_gen_level = 64;
    caps.max_transform_feedback_buffers = wire::STREAM_OUTPUT_TARGETS as u32;
    caps.max_compute_work_group_count = [65535; 3];
    caps.max_compute_work_group_size = [1024, 1024, 64];
    caps.max_compute_work_group_invocations = 1024;
    caps.max_compute_shared_memory_size = 32768;
    caps.min_map_buffer_alignment = 64;
    caps.max_label_length = wire::MESSAGE_BYTES;
    caps
}
