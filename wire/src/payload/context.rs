//! Contexts, surfaces, presents and debugging.
//!
//! Source: EGL 1.5 sections 3.7 (contexts) and 3.10 (presents), OpenGL 4.6 chapter 20 (debug groups, messages and
//! labels).

use super::payload;
use crate::handle::{Handle, Kind};
use crate::limits;
use crate::values::DebugMarkOp;

/// Buffer binding targets that [`ContextValues`] counts.
pub const BUFFER_TARGETS: usize = 15;

payload! {
    /// A request for the caps.
    pub struct CapsRequest: 8 {
        /// Generation that the client has; 0 for none.
        generation: u64,
    }

    /// Which context later records belong to. Tokens are minted by the client; 0 is none.
    pub struct BindContext: 24 {
        /// The context.
        context: u64,
        /// Its draw surface.
        draw_surface: u64,
        /// Its read surface.
        read_surface: u64,
    }

    /// Clears the working state of the current context.
    pub struct ApplierReset: 8 {
        /// Serial of the context, counted by the client; for diagnostics alone.
        context_serial: u64,
    }

    /// Values of a context that no other row carries. They come before the verb that needs them.
    pub struct ContextValues: 96 {
        /// The active texture unit.
        active_texture_unit: u32,
        /// Highest texture unit ever touched.
        max_touched_texture_unit: u32,
        /// Binding points ever touched, by buffer target.
        touched_buffer_binding_point_count: [u32; BUFFER_TARGETS],
        /// Whether a span of capture is open.
        xfb_active: u8 as bool,
        /// Whether it is paused.
        xfb_paused: u8 as bool,
        #[doc(hidden)]
        _pad: [u8; 2],
        /// How often capture was begun.
        xfb_generation: u64,
        /// Identity of the bound transform feedback object.
        bound_xfb_lifetime_id: u64,
        /// Vertices that the client counted.
        xfb_captured_vertices: u64,
    }
    check |values| {
        (values.max_touched_texture_unit >= limits::TEXTURE_UNITS).then_some("max_touched_texture_unit")
    }

    /// A present of the draw surface. The damage, in pixels with the origin at the bottom left, is the tail;
    /// none means everything.
    pub struct Present: 16 {
        /// Number of the frame, counted by the client from 1.
        frame_serial: u64,
        /// Rectangles of the tail.
        damage_count: u32,
        #[doc(hidden)]
        _pad: u32,
    }
    check |present| { (present.frame_serial == 0).then_some("frame_serial") }

    /// A rectangle of damage.
    pub struct DamageRect: 16 {
        /// Smallest x, pixels.
        x: i32,
        /// Smallest y, pixels.
        y: i32,
        /// Pixels along x.
        width: i32,
        /// Pixels along y.
        height: i32,
    }
    check |rect| {
        if rect.width < 0 {
            Some("width")
        } else if rect.height < 0 {
            Some("height")
        } else {
            None
        }
    }

    /// How many display refreshes a present waits for.
    pub struct SwapInterval: 8 {
        /// Refreshes; negative for adaptive.
        interval: i32,
        #[doc(hidden)]
        _pad: u32,
    }

    /// A mark for debuggers; the text, without a terminating NUL, is the tail.
    pub struct DebugMark: 24 {
        /// The named object, with `Label`.
        object: Handle,
        /// What the mark does.
        op: u32 as DebugMarkOp,
        /// What the named object is.
        object_kind: u32 as Kind,
        /// Number that the application gave.
        id: u32,
        /// Bytes of text.
        text_size: u32,
    }
}
