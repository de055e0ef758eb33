//! Resources: buffers, textures and renderbuffers.
//!
//! Source: OpenGL 4.6 chapters 6 (buffer objects) and 8 (textures), section 9.2 (renderbuffers).

use super::payload;
use crate::format::Format;
use crate::handle::{Handle, Kind};
use crate::values::{
    BindMask, BufferUsage, MapAccess, ResourceTarget, StorageFlags, StorageKind, UploadTarget,
};

/// Size that means "up to the end of the buffer, whatever that is when it is used".
pub const WHOLE_SIZE: u64 = u64::MAX;

payload! {
    /// An object and what it is, for rows that say no more.
    pub struct HandleOnly: 16 {
        /// The object.
        handle: Handle,
        /// Its kind.
        kind: u32 as Kind,
        #[doc(hidden)]
        _pad: u32,
    }

    /// A span of bytes.
    pub struct ByteRange: 16 {
        /// First byte.
        offset: u64,
        /// Bytes.
        size: u64,
    }

    /// A box of texels: `z` counts slices, layers or cube faces.
    pub struct TexelBox: 24 {
        /// Smallest x, texels.
        x: i32,
        /// Smallest y, texels.
        y: i32,
        /// Smallest z, slices, layers or faces.
        z: i32,
        /// Texels along x.
        width: u32,
        /// Texels along y.
        height: u32,
        /// Slices, layers or faces.
        depth: u32,
    }

    /// A span of a buffer that is bound to an indexed point.
    pub struct BufferRange: 24 {
        /// The buffer; null unbinds the point.
        resource: Handle,
        /// First byte.
        offset: u64,
        /// Bytes; [`WHOLE_SIZE`] follows the buffer.
        size: u64,
    }

    /// Storage of a resource. Contents never ride along: they follow as uploads.
    pub struct ResourceDesc: 88 {
        /// The resource.
        resource: Handle,
        /// What it is.
        target: u8 as ResourceTarget,
        /// How it is stored.
        storage_kind: u8 as StorageKind,
        /// Purposes it was bound for so far.
        bind_mask: u16 as BindMask,
        /// Format of a texel; undefined for a buffer, and for a texture without storage.
        internal_format: u32 as Format,
        /// Texels along x at level 0; 0 for a buffer.
        width: u32,
        /// Texels along y at level 0; 0 for a buffer.
        height: u32,
        /// Slices at level 0; 0 for a buffer.
        depth: u32,
        /// Layers; 6 a cube.
        array_layers: u16,
        /// Levels.
        levels: u16,
        /// Samples; 0 for a resource that is not multisampled.
        samples: u16,
        /// Whether sample positions are the same for every texel.
        fixed_sample_locations: u8 as bool,
        /// Whether the storage can never be defined again.
        immutable: u8 as bool,
        /// Hint of a buffer's use.
        usage: u32 as BufferUsage,
        /// What an immutable data store allows.
        storage_flags: u32 as StorageFlags,
        /// Whether the application gave contents, which follow as uploads.
        has_defined_content: u8 as bool,
        /// Whether the texture may become a shader image.
        image_bindable_hint: u8 as bool,
        /// Whether `respecified_level` names the one level that this record defines again.
        has_respecified_level: u8 as bool,
        #[doc(hidden)]
        _pad: u8,
        /// GL name, for diagnostics alone.
        gl_name: u32,
        /// Which image of the level is defined again.
        respecified_upload_target: u16 as UploadTarget,
        /// The one level that is defined again.
        respecified_level: u16,
        /// Texture whose storage this one shows; null for a resource with storage of its own.
        view_of: Handle,
        /// Buffer whose bytes are the texels of a texture buffer.
        buffer_for_tex_buffer: Handle,
        /// First byte of that buffer.
        buf_offset: u64,
        /// Bytes of that buffer, [`WHOLE_SIZE`] to follow it; for a buffer itself, bytes of its data store.
        buf_size: u64,
    }

    /// Contents of a part of a resource.
    ///
    /// For a texture, `target`, `upload_target` and `level` name an image; the tail's regions say where the
    /// blob's bytes go, and `union_box` encloses them. For a buffer `target`, `upload_target`, `level` and
    /// `region_count` are 0, and the box's integers are the halves of two numbers: `x` and `y` of the offset,
    /// `width` and `height` of the size, low half first. [`SubData::buffer_range`] reads them.
    pub struct SubData: 88 {
        /// The resource.
        resource: Handle,
        /// What it is.
        target: u8 as ResourceTarget,
        /// Which image of the level.
        upload_target: u8 as UploadTarget,
        /// Level.
        level: u16,
        /// Whether the blob is the whole level as the client holds it.
        source_is_verbatim_level_shadow: u8 as bool,
        /// Whether the client may be writing the bytes through a map.
        has_live_host_writes: u8 as bool,
        #[doc(hidden)]
        _pad0: [u8; 2],
        /// Box that encloses every region; or a buffer's offset and size.
        union_box: TexelBox,
        /// Regions in the tail.
        region_count: u32,
        #[doc(hidden)]
        _pad1: u32,
        /// The bytes.
        blob: crate::BlobRef,
        /// Texels along x of the level.
        level_width: u32,
        /// Texels along y of the level.
        level_height: u32,
        /// Slices or layers of the level.
        level_depth: u32,
        #[doc(hidden)]
        _pad2: u32,
    }

    /// A region of an upload and where its bytes lie in the blob.
    pub struct SubRegion: 40 {
        /// Smallest x, texels.
        x: i32,
        /// Smallest y, texels.
        y: i32,
        /// Smallest z, slices, layers or faces.
        z: i32,
        /// Texels along x.
        width: u32,
        /// Texels along y.
        height: u32,
        /// Slices, layers or faces.
        depth: u32,
        /// First byte in the blob.
        src_offset: u64,
        /// Bytes from row to row (of blocks, where the format has them); 0 for no gap.
        src_row_stride: u32,
        /// Bytes from slice to slice; 0 for no gap.
        src_slice_stride: u32,
    }

    /// A span of a mapped buffer that the application flushed; its bytes came before, as an upload.
    pub struct FlushRange: 32 {
        /// The buffer.
        resource: Handle,
        /// First byte.
        offset: u64,
        /// Bytes.
        size: u64,
        /// How the range was mapped.
        access_flags: u32 as MapAccess,
        #[doc(hidden)]
        _pad: u32,
    }

    /// A span of a buffer whose GPU-written bytes the client wants; they come as events.
    pub struct Readback: 24 {
        /// The buffer.
        resource: Handle,
        /// First byte.
        offset: u64,
        /// Bytes.
        size: u64,
    }

    /// A copy between buffers, or within one where the spans do not overlap.
    pub struct CopyBuffer: 40 {
        /// Source.
        src: Handle,
        /// Destination.
        dst: Handle,
        /// First byte of the source.
        src_offset: u64,
        /// First byte of the destination.
        dst_offset: u64,
        /// Bytes.
        size: u64,
    }

    /// A span of a buffer that is filled with a repeated value.
    pub struct ClearBuffer: 48 {
        /// The buffer.
        resource: Handle,
        /// First byte; a multiple of `value_size`.
        offset: u64,
        /// Bytes; a multiple of `value_size`.
        size: u64,
        /// The value, in the buffer's own representation, in the first `value_size` bytes.
        value: [u8; 16],
        /// Bytes of the value: 1, 2, 4, 8, 12 or 16.
        value_size: u32,
        #[doc(hidden)]
        _pad: u32,
    }
    check |clear| {
        if matches!(clear.value_size, 1 | 2 | 4 | 8 | 12 | 16) { None } else { Some("value_size") }
    }
}

impl SubData {
    /// An upload of `size` bytes at `offset` of a buffer; the blob is yet to be filled in.
    #[must_use]
    pub fn for_buffer(resource: Handle, offset: u64, size: u64) -> Self {
        Self {
            resource,
            union_box: TexelBox {
                x: offset as u32 as i32,
                y: (offset >> 32) as u32 as i32,
                width: size as u32,
                height: (size >> 32) as u32,
                ..TexelBox::default()
            },
            ..Self::default()
        }
    }

    /// Offset and size in bytes, when the resource is a buffer.
    #[must_use]
    pub fn buffer_range(&self) -> Option<ByteRange> {
        if self.target() != Some(ResourceTarget::Buffer) {
            return None;
        }
        let wide = |low: u32, high: u32| u64::from(low) | u64::from(high) << 32;
        Some(ByteRange {
            offset: wide(self.union_box.x as u32, self.union_box.y as u32),
            size: wide(self.union_box.width, self.union_box.height),
        })
    }
}
