//! The event catalogue: what the server tells the client without being asked.
//!
//! Events are lossless and ordered; those of a record are published before the applied watermark reaches it.
//! Each names the context and the record it comes from.

use crate::catalogue::catalogue;
use crate::limits;
use crate::payload::{self, ByteRange};

catalogue! {
    /// Events of a server, in their order. The client implements this trait; a server sends through
    /// an `Encoder`.
    pub trait Events, "events", revision 1;

    /// A slice of a buffer's GPU-written bytes, asked for by `ResourceReadback`.
    1 BufferWriteback = buffer_writeback(payload::BufferWriteback) Event None [VAR_TAIL]
        tails { bytes: u8 = size <= limits::WRITEBACK_BYTES };
    /// Narrows the spans that the client marked as written by the GPU.
    2 GpuWritten = gpu_written(payload::GpuWritten) Event None [VAR_TAIL]
        tails { ranges: ByteRange = count <= limits::GPU_WRITTEN_RANGES };
    /// A surface has another size or format.
    3 SurfaceChanged = surface_changed(payload::SurfaceChanged) Event None [];
    /// An error that only the server could know.
    4 GlError = gl_error(payload::GlError) Event None [VAR_TAIL]
        tails { text: u8 = text_size <= limits::MESSAGE_BYTES };
    /// A fence is signalled.
    5 FenceSignaled = fence_signaled(payload::FenceSignaled) Event None [];
    /// A valid record could not be done.
    6 Refused = refused(payload::RequestRefused) Event None [];
    /// The caps have a new generation, to be fetched by `GetCaps` or from the page where the server keeps
    /// them.
    7 CapsChanged = caps_changed(payload::CapsChanged) Event None [];
}
