//! Framebuffers: attachments, clears and blits.
//!
//! Source: OpenGL 4.6 chapter 9 (framebuffers), sections 17.4 (clears, invalidation) and 18.3.1 (blits).

use super::payload;
use super::resource::TexelBox;
use crate::format::Format;
use crate::handle::Handle;
use crate::limits;
use crate::values::{
    AttachmentMask, BufferMask, ClearKind, Filter, FramebufferTarget, InvalidateTarget, ResourceTarget,
    SurfaceKind, UploadTarget, ValueClass,
};

payload! {
    /// One attachment. With kind `None` the other members mean nothing and are 0.
    pub struct Surface: 24 {
        /// The texture or renderbuffer.
        resource: Handle,
        /// Its format.
        internal_format: u32 as Format,
        /// What it is.
        kind: u8 as SurfaceKind,
        /// Whether every layer is attached.
        layered: u8 as bool,
        /// Level.
        level: u16,
        /// Layer, where one alone is attached.
        layer: u32,
        /// Which image of the level.
        upload_target: u16 as UploadTarget,
        /// What the texture is; for a renderbuffer, `Renderbuffer`.
        texture_target: u16 as ResourceTarget,
    }

    /// State of one framebuffer object.
    pub struct FramebufferState: 296 {
        /// The framebuffer.
        fbo: Handle,
        /// Colour attachments.
        color: [Surface; limits::COLOR_ATTACHMENTS],
        /// Depth attachment.
        depth: Surface,
        /// Stencil attachment.
        stencil: Surface,
        /// What reads of colour see.
        read_surface: Surface,
        /// Colour attachment that each fragment output goes to; -1 for none.
        draw_buffers: [i8; limits::COLOR_ATTACHMENTS],
        /// Pixels along x.
        width: u16,
        /// Pixels along y.
        height: u16,
        /// Layers.
        layers: u16,
        /// Samples.
        samples: u16,
        /// Whether sample positions are the same for every pixel.
        fixed_sample_locations: u8 as bool,
        /// Whether this is the framebuffer of the current surface.
        is_default: u8 as bool,
        /// Whether it is complete.
        complete: u8 as bool,
        /// Which binding it is the state of.
        target: u8 as FramebufferTarget,
        #[doc(hidden)]
        _pad: u32,
    }
    check |state| {
        let attachments = -1..limits::COLOR_ATTACHMENTS as i8;
        (!state.draw_buffers.iter().all(|buffer| attachments.contains(buffer))).then_some("draw_buffers")
    }

    /// A clear of a framebuffer.
    pub struct Clear: 48 {
        /// The framebuffer; null for the bound draw framebuffer.
        fbo: Handle,
        /// Which part, and with which values.
        kind: u32 as ClearKind,
        /// Draw buffer of a colour clear.
        draw_buffer_index: i32,
        /// Buffers of a whole clear.
        buffer_mask: u32 as BufferMask,
        /// How `color_value` is to be read.
        value_class: u32 as ValueClass,
        /// Colour, as the bits of four numbers.
        color_value: [u32; 4],
        /// Depth.
        depth_value: f32,
        /// Stencil.
        stencil_value: i32,
    }
    check |clear| {
        let buffers = 0..limits::COLOR_ATTACHMENTS as i32;
        let color = clear.kind == ClearKind::Color.raw();
        (color && !buffers.contains(&clear.draw_buffer_index)).then_some("draw_buffer_index")
    }

    /// A copy of a rectangle between framebuffers, with scaling. Corners in pixels; a rectangle may be
    /// mirrored.
    pub struct Blit: 56 {
        /// Source; null for the bound read framebuffer.
        read_fbo: Handle,
        /// Destination; null for the bound draw framebuffer.
        draw_fbo: Handle,
        /// x of the source's first corner.
        src_x0: i32,
        /// y of the source's first corner.
        src_y0: i32,
        /// x of the source's second corner.
        src_x1: i32,
        /// y of the source's second corner.
        src_y1: i32,
        /// x of the destination's first corner.
        dst_x0: i32,
        /// y of the destination's first corner.
        dst_y0: i32,
        /// x of the destination's second corner.
        dst_x1: i32,
        /// y of the destination's second corner.
        dst_y1: i32,
        /// Which buffers.
        mask: u32 as BufferMask,
        /// Filter of the colour.
        filter: u32 as Filter,
    }

    /// Contents that are not needed any more. Which members count depends on `what`: a buffer uses `offset`
    /// and `size`, a texture `region` and `level`, a framebuffer `attachments` and, where it is not the
    /// whole, `region`.
    pub struct Invalidate: 64 {
        /// The object.
        resource: Handle,
        /// What it is.
        what: u32 as InvalidateTarget,
        /// Attachments of a framebuffer.
        attachments: u32 as AttachmentMask,
        /// First byte of a buffer.
        offset: u64,
        /// Bytes of a buffer.
        size: u64,
        /// Region of a texture or framebuffer; of no size for all of it.
        region: TexelBox,
        /// Level of a texture.
        level: u32,
        #[doc(hidden)]
        _pad: u32,
    }
}
