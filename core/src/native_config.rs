//! What a native window system can draw to.

/// What surfaces of one kind are like. Ids are the server's own; requests name them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NativeConfig {
    /// Its id; never 0.
    pub id: u32,
    /// Bits of red.
    pub red: u8,
    /// Bits of green.
    pub green: u8,
    /// Bits of blue.
    pub blue: u8,
    /// Bits of alpha.
    pub alpha: u8,
    /// Bits of depth.
    pub depth: u8,
    /// Bits of stencil.
    pub stencil: u8,
    /// Samples of a pixel; 0 for none.
    pub samples: u8,
    /// What the window system calls the visual of such windows; 0 for none.
    pub native_visual_id: u32,
    /// Class of that visual, as the window system numbers it.
    pub native_visual_type: u32,
    /// Whether windows can be like this.
    pub window: bool,
    /// Whether pbuffers can be like this.
    pub pbuffer: bool,
    /// Whether the driver calls it slow.
    pub slow: bool,
    /// Smallest swap interval.
    pub min_swap_interval: i32,
    /// Largest swap interval.
    pub max_swap_interval: i32,
    /// Pixels of a pbuffer along x at most.
    pub max_pbuffer_width: u32,
    /// Pixels of a pbuffer along y at most.
    pub max_pbuffer_height: u32,
}
