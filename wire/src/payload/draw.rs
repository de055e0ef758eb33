//! Draws and dispatches.
//!
//! Source: OpenGL 4.6 section 10.4 (drawing commands) and chapter 19 (compute).

use super::payload;
use crate::handle::Handle;
use crate::values::{DrawFlags, Topology};

payload! {
    /// A draw. Its ranges are the first tail; an indirect draw has none and one [`DrawIndirect`] instead.
    pub struct DrawInfo: 56 {
        /// How vertices form primitives.
        mode: u32 as Topology,
        /// Bytes of an index: 1, 2 or 4, or 0 for a draw without indices.
        index_size: u8,
        /// Properties.
        flags: u8 as DrawFlags,
        #[doc(hidden)]
        _pad0: [u8; 2],
        /// Instances.
        instance_count: u32,
        /// First instance.
        start_instance: u32,
        /// Index that ends a primitive, with `PRIMITIVE_RESTART`.
        restart_index: u32,
        /// Number of the first range, as the shader sees it, where a draw was cut into several records.
        draw_id_offset: u32,
        /// The index buffer.
        index_resource: Handle,
        /// Smallest index used, with `HAS_INDEX_RANGE`.
        min_index: u32,
        /// Largest index used, with `HAS_INDEX_RANGE`; `u32::MAX` for unknown.
        max_index: u32,
        /// Vertices that an open transform feedback will capture, with `HAS_XFB_COUNT`.
        xfb_cpu_captured_vertices: u64,
        /// Ranges.
        num_draws: u32,
        #[doc(hidden)]
        _pad1: u32,
    }
    check |draw| {
        if !matches!(draw.index_size, 0 | 1 | 2 | 4) {
            Some("index_size")
        } else if draw.num_draws != 0 && draw.indirect_count() != 0 {
            Some("num_draws")
        } else {
            None
        }
    }

    /// One range of a draw.
    pub struct DrawRange: 12 {
        /// First vertex, or first index, counted in indices from the start of the index buffer's binding.
        start: u32,
        /// Vertices or indices.
        count: u32,
        /// Added to each index.
        index_bias: i32,
    }

    /// Where the parameters of an indirect draw lie.
    pub struct DrawIndirect: 40 {
        /// Buffer of the parameters.
        buffer: Handle,
        /// Buffer of the number of draws; null when `draw_count` is the number.
        parameter_buffer: Handle,
        /// First byte of the parameters.
        offset: u64,
        /// Byte of the number of draws.
        parameter_offset: u64,
        /// Bytes from one draw's parameters to the next.
        stride: u32,
        /// Draws, or the largest number of them.
        draw_count: u32,
    }

    /// A dispatch.
    pub struct GridInfo: 48 {
        /// Work groups along x.
        grid_x: u32,
        /// Work groups along y.
        grid_y: u32,
        /// Work groups along z.
        grid_z: u32,
        /// Invocations of a group along x, where the program leaves them open; otherwise 0.
        block_x: u32,
        /// Invocations of a group along y.
        block_y: u32,
        /// Invocations of a group along z.
        block_z: u32,
        /// Buffer of the group counts.
        indirect_buffer: Handle,
        /// First byte of the group counts.
        indirect_offset: u64,
        /// Whether the group counts lie in the buffer.
        is_indirect: u8 as bool,
        #[doc(hidden)]
        _pad: [u8; 7],
    }
}

impl DrawInfo {
    /// Elements of the tail [`DrawIndirect`]: one with `IS_INDIRECT`.
    #[inline]
    #[must_use]
    pub const fn indirect_count(&self) -> u32 {
        (self.flags & DrawFlags::IS_INDIRECT.raw8() != 0) as u32
    }
}
