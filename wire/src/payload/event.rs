//! Payloads of the event catalogue.

use super::payload;
use crate::format::Format;
use crate::handle::{Handle, Kind};
use crate::values::{ErrorKind, RefusedReason};

payload! {
    /// Where an event comes from.
    pub struct EventOrigin: 16 {
        /// Token of the context; 0 for none.
        context: u64,
        /// Ordinal of the record, from 1; 0 for an event that no record caused.
        ordinal: u64,
    }

    /// Bytes of a buffer that the GPU wrote, on their way to the client's copy; they are the tail.
    pub struct BufferWriteback: 40 {
        /// Where it comes from.
        origin: EventOrigin,
        /// The buffer.
        resource: Handle,
        /// First byte of this slice.
        offset: u64,
        /// Bytes of this slice, not 0.
        size: u32,
        #[doc(hidden)]
        _pad: u32,
    }
    check |slice| { (slice.size == 0).then_some("size") }

    /// Spans of a buffer that the GPU wrote; they are the tail.
    pub struct GpuWritten: 32 {
        /// Where it comes from.
        origin: EventOrigin,
        /// The buffer.
        resource: Handle,
        /// Spans of the tail; none means that nothing was written.
        count: u32,
        #[doc(hidden)]
        _pad: u32,
    }

    /// A surface has another size or format. Width and height 0 publish the format alone.
    pub struct SurfaceChanged: 48 {
        /// Where it comes from.
        origin: EventOrigin,
        /// Token of the surface.
        surface: u64,
        /// Pixels along x.
        width: u32,
        /// Pixels along y.
        height: u32,
        /// Format.
        internal_format: u32 as Format,
        /// Samples.
        samples: u16,
        /// Layers.
        layers: u16,
        /// Whether it is the framebuffer of the current surface.
        is_default: u8 as bool,
        #[doc(hidden)]
        _pad: [u8; 7],
    }

    /// An error that only the server could know; the text, with its terminating NUL, is the tail.
    pub struct GlError: 24 {
        /// Where it comes from.
        origin: EventOrigin,
        /// The error.
        kind: u32 as ErrorKind,
        /// Bytes of text with the terminating NUL: 1 to 1024.
        text_size: u32,
    }
    check |error| { (error.text_size == 0).then_some("text_size") }

    /// A fence is signalled. At most one event a fence, in order of creation.
    pub struct FenceSignaled: 24 {
        /// Where it comes from.
        origin: EventOrigin,
        /// The fence.
        fence: Handle,
    }

    /// A record was valid and could not be done. A later set takes the refused handle as null.
    pub struct RequestRefused: 40 {
        /// Where it comes from.
        origin: EventOrigin,
        /// The object.
        object: Handle,
        /// What the object is.
        kind: u32 as Kind,
        /// Why.
        reason: u32 as RefusedReason,
        /// Number of the refused record's row.
        op: u32,
        #[doc(hidden)]
        _pad: u32,
    }

    /// The server's caps changed.
    pub struct CapsChanged: 24 {
        /// Where it comes from.
        origin: EventOrigin,
        /// Generation of the new caps.
        generation: u64,
    }
}
