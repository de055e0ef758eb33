//! Copies and readbacks.
//!
//! Source: OpenGL 4.6 chapter 18 (reading and copying pixels), section 8.6 (copies into textures).

use super::payload;
use super::resource::TexelBox;
use crate::format::Format;
use crate::handle::Handle;
use crate::values::{PixelFormat, PixelType, ResourceTarget, UploadTarget};

payload! {
    /// A copy between textures or renderbuffers, without conversion.
    pub struct CopyRegion: 72 {
        /// Source.
        src: Handle,
        /// Destination.
        dst: Handle,
        /// Region of the source.
        src_box: TexelBox,
        /// Smallest x of the destination, texels.
        dst_x: i32,
        /// Smallest y of the destination, texels.
        dst_y: i32,
        /// Smallest z of the destination, slices, layers or faces.
        dst_z: i32,
        /// What the source is.
        src_target: u16 as ResourceTarget,
        /// What the destination is.
        dst_target: u16 as ResourceTarget,
        /// Level of the source.
        src_level: u16,
        /// Level of the destination.
        dst_level: u16,
        /// GL name of the source, for diagnostics alone.
        src_gl_name: u32,
        /// GL name of the destination, for diagnostics alone.
        dst_gl_name: u32,
        #[doc(hidden)]
        _pad: u32,
    }

    /// A read of pixels. The answer has no gaps; the client scatters it by its own pack state.
    pub struct ReadbackInfo: 64 {
        /// The texture; null for the bound read surface.
        resource: Handle,
        /// Region.
        region: TexelBox,
        /// Components of a pixel.
        format: u32 as PixelFormat,
        /// Type of the components.
        pixel_type: u32 as PixelType,
        /// What the texture is.
        target: u8 as ResourceTarget,
        /// Which image of the level.
        upload_target: u8 as UploadTarget,
        /// Level.
        level: u16,
        #[doc(hidden)]
        _pad: u32,
        /// First byte of the answer within the whole read, where it is split by rows.
        dst_offset: u64,
        /// Bytes of the answer.
        dst_size: u64,
    }

    /// A read of pixels into a buffer. Nothing is answered.
    pub struct ReadbackToBuffer: 104 {
        /// What is read; `dst_offset` is 0 and `dst_size` the size without gaps.
        src: ReadbackInfo,
        /// The buffer.
        dst: Handle,
        /// Byte of the buffer where the first pixel goes.
        dst_base: u64,
        /// Bytes from row to row.
        row_stride: u64,
        /// Bytes from image to image.
        image_stride: u64,
        /// Bytes that are reversed as a group: 0 for none, 2, 4 or 8.
        swap_group: u32,
        #[doc(hidden)]
        _pad: u32,
    }
    check |read| { (!matches!(read.swap_group, 0 | 2 | 4 | 8)).then_some("swap_group") }

    /// A copy from the read framebuffer into a texture.
    pub struct CopyFromFramebuffer: 48 {
        /// The texture.
        dst: Handle,
        /// What it is.
        target: u16 as ResourceTarget,
        /// Which image of the level.
        upload_target: u16 as UploadTarget,
        /// Level.
        level: u32,
        /// Format of the level, where the copy defines it.
        internal_format: u32 as Format,
        /// Smallest x of the source, pixels.
        x: i32,
        /// Smallest y of the source, pixels.
        y: i32,
        /// Pixels along x.
        width: u32,
        /// Pixels along y.
        height: u32,
        /// Smallest x of the destination, texels.
        x_offset: i32,
        /// Smallest y of the destination, texels.
        y_offset: i32,
        /// Whether the level exists and a part of it is replaced.
        sub_image: u8 as bool,
        #[doc(hidden)]
        _pad: u8,
        /// Slice or layer of the destination.
        z_offset: u16,
    }
}
