//! How large things are: levels of textures, regions within them, bytes of regions.

use runahead_wire::{
    format::Format,
    payload::{ResourceDesc, SubRegion, TexelBox},
    values::{ResourceTarget, UploadTarget},
};

/// Texels of a level along x and y, and slices, layers or faces along z.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Extent {
    pub(crate) width: u32,
    pub(crate) height: u32,
    pub(crate) depth: u32,
}

/// The extent of a level (OpenGL 4.6 section 8.14.3: each level halves, rounded down, to no less than 1); nothing
/// for a level that the resource does not have.
pub(crate) fn level(desc: &ResourceDesc, level: u32) -> Option<Extent> {
    if level >= u32::from(desc.levels.max(1)) || level >= u32::BITS {
        return None;
    }
    let half = |size: u32| (size >> level).max(size.min(1));
    let layers = u32::from(desc.array_layers);
    let (height, depth) = match desc.target()? {
        ResourceTarget::Buffer | ResourceTarget::TextureBuffer => return None,
        ResourceTarget::Texture1D => (1, 1),
        ResourceTarget::Texture1DArray => (1, layers),
        ResourceTarget::Texture3D => (half(desc.height), half(desc.depth)),
        ResourceTarget::CubeMap => (half(desc.height), 6),
        ResourceTarget::Texture2DArray
        | ResourceTarget::CubeMapArray
        | ResourceTarget::Texture2DMultisampleArray => (half(desc.height), layers),
        ResourceTarget::Texture2D
        | ResourceTarget::Texture2DMultisample
        | ResourceTarget::TextureRectangle
        | ResourceTarget::Renderbuffer => (half(desc.height), 1),
    };
    Some(Extent { width: half(desc.width), height, depth })
}

/// Whether a box lies inside an extent. An empty box lies anywhere.
pub(crate) fn holds(extent: Extent, region: &TexelBox) -> bool {
    let inside = |at: i32, size: u32, of: u32| {
        u32::try_from(at).ok().and_then(|at| at.checked_add(size)).is_some_and(|end| end <= of)
    };
    inside(region.x, region.width, extent.width)
        && inside(region.y, region.height, extent.height)
        && inside(region.z, region.depth, extent.depth)
}

/// Whether a box means this image of a level: a single face stands for its own layer 0.
pub(crate) fn is_image(target: ResourceTarget, upload: UploadTarget, region: &TexelBox) -> bool {
    upload == UploadTarget::Whole || target == ResourceTarget::CubeMap && region.z == 0 && region.depth <= 1
}

/// The box of a region.
pub(crate) const fn of_region(region: &SubRegion) -> TexelBox {
    TexelBox {
        x: region.x,
        y: region.y,
        z: region.z,
        width: region.width,
        height: region.height,
        depth: region.depth,
    }
}

/// Whether one box lies within another.
pub(crate) fn encloses(outer: &TexelBox, inner: &TexelBox) -> bool {
    let within = |at: i32, size: u32, outer_at: i32, outer_size: u32| {
        let (at, outer_at) = (i64::from(at), i64::from(outer_at));
        at >= outer_at && at + i64::from(size) <= outer_at + i64::from(outer_size)
    };
    within(inner.x, inner.width, outer.x, outer.width)
        && within(inner.y, inner.height, outer.y, outer.height)
        && within(inner.z, inner.depth, outer.z, outer.depth)
}

/// Byte behind the last that an upload's region reads from its blob; nothing when the numbers overflow, or
/// a stride is smaller than what it strides over.
pub(crate) fn source_end(region: &SubRegion, format: Format) -> Option<u64> {
    let block = format.block();
    if block.bytes == 0 || region.width == 0 || region.height == 0 || region.depth == 0 {
        return None;
    }
    let row = u64::from(region.width.div_ceil(u32::from(block.width))) * u64::from(block.bytes);
    let rows = u64::from(region.height.div_ceil(u32::from(block.height)));
    let row_stride = match u64::from(region.src_row_stride) {
        0 => row,
        stride if stride < row => return None,
        stride => stride,
    };
    let slice = row_stride.checked_mul(rows - 1)?.checked_add(row)?;
    let slice_stride = match u64::from(region.src_slice_stride) {
        0 => row_stride.checked_mul(rows)?,
        stride if stride < slice => return None,
        stride => stride,
    };
    slice_stride.checked_mul(u64::from(region.depth) - 1)?.checked_add(slice)?.checked_add(region.src_offset)
}

/// Bytes of native storage that a description adds up to. Saturates.
pub(crate) fn footprint(desc: &ResourceDesc) -> u64 {
    if desc.target() == Some(ResourceTarget::Buffer) {
        return desc.buf_size;
    }
    if !desc.view_of.is_null() || desc.target() == Some(ResourceTarget::TextureBuffer) {
        return 0;
    }
    let Some(format) = desc.internal_format() else { return 0 };
    let mut bytes = 0u64;
    for at in 0..u32::from(desc.levels.max(1)).min(u32::BITS) {
        let Some(extent) = level(desc, at) else { break };
        let texels = format.block().level_bytes(extent.width, extent.height, extent.depth);
        bytes = bytes.saturating_add(texels.unwrap_or(u64::MAX));
    }
    bytes.saturating_mul(u64::from(desc.samples.max(1)))
}

/// Whether `offset..offset + size` lies within `len` bytes.
pub(crate) fn in_bytes(offset: u64, size: u64, len: u64) -> bool {
    offset.checked_add(size).is_some_and(|end| end <= len)
}

/// The smallest box around two boxes.
pub(crate) fn union(one: &TexelBox, other: &TexelBox) -> TexelBox {
    let span = |at: i32, size: u32, other_at: i32, other_size: u32| {
        let low = at.min(other_at);
        let end = (i64::from(at) + i64::from(size)).max(i64::from(other_at) + i64::from(other_size));
        (low, u32::try_from(end - i64::from(low)).unwrap_or(u32::MAX))
    };
    let (x, width) = span(one.x, one.width, other.x, other.width);
    let (y, height) = span(one.y, one.height, other.y, other.height);
    let (z, depth) = span(one.z, one.depth, other.z, other.depth);
    TexelBox { x, y, z, width, height, depth }
}
