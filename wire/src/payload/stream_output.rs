//! Transform feedback.
//!
//! Source: OpenGL 4.6 section 13.3 (transform feedback).

use super::payload;
use super::resource::BufferRange;
use crate::handle::Handle;
use crate::limits;
use crate::values::Topology;

payload! {
    /// Head of the buffers of transform feedback; superseded by [`StreamOutputBegin`]. Two tails follow: the
    /// ranges, and the byte of each where capture starts.
    pub struct StreamOutputTargets: 8 {
        /// Elements of each tail.
        count: u32,
        #[doc(hidden)]
        _pad: u32,
    }

    /// Start of a span of capture, with all that it depends on: later changes of the bindings do not reach
    /// it.
    pub struct StreamOutputBegin: 120 {
        /// Points, lines or triangles.
        primitive_mode: u32 as Topology,
        #[doc(hidden)]
        _pad: u32,
        /// Program whose outputs are captured.
        capture_program: Handle,
        /// Identity of the transform feedback object, never used again for another one; 0 for the default
        /// object.
        lifetime_id: u64,
        /// The buffers; null where none is bound.
        targets: [BufferRange; limits::STREAM_OUTPUT_TARGETS],
    }
    check |begin| {
        (!matches!(begin.primitive_mode(), Some(Topology::Points | Topology::Lines | Topology::Triangles)))
            .then_some("primitive_mode")
    }

    /// End of a span of capture, with what the client counted.
    pub struct XfbAccounting: 24 {
        /// Vertices captured.
        captured_vertices: u64,
        /// Primitives written.
        primitives_written: u64,
        /// Points, lines or triangles.
        primitive_mode: u32 as Topology,
        #[doc(hidden)]
        _pad: u32,
    }

    /// A pause of capture, or its end.
    pub struct StreamOutputControl: 8 {
        #[doc(hidden)]
        _reserved: [u32; 2],
    }

    /// A transform feedback object.
    pub struct StreamOutputBind: 16 {
        /// GL name, for diagnostics alone.
        gl_name: u32,
        #[doc(hidden)]
        _pad: u32,
        /// Identity of the object, never used again for another one; 0 for the default object.
        lifetime_id: u64,
    }
}
