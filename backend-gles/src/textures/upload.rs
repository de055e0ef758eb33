//! Contents of textures.

use std::ffi::c_void;

use runahead_core::{
    backend::{Outcome, Scope},
    storage::Storage,
};
use runahead_wire::{
    Bulk,
    format::Format,
    payload::{SubData, SubRegion, TexelBox},
    values::UploadTarget,
};

use glow::HasContext;

use super::{image, is_layered, target, texels};
use crate::{
    Gles,
    context::Native,
    formats::{self, Spelling},
    gl::{FAILED, Gl, UNSUPPORTED, address, gl, raw},
};

/// How the driver was told that rows lie in memory.
#[derive(Debug, Default)]
pub(crate) struct Unpack {
    row_length: i32,
    image_height: i32,
    /// Alignment is 1 from the first upload on.
    aligned: bool,
}

impl Unpack {
    fn set(&mut self, gl: &Gl, row_length: i32, image_height: i32) {
        if !self.aligned {
            gl!(gl, pixel_store_i32(glow::UNPACK_ALIGNMENT, 1));
            self.aligned = true;
        }
        if self.row_length != row_length {
            gl!(gl, pixel_store_i32(glow::UNPACK_ROW_LENGTH, row_length));
            self.row_length = row_length;
        }
        if self.image_height != image_height {
            gl!(gl, pixel_store_i32(glow::UNPACK_IMAGE_HEIGHT, image_height));
            self.image_height = image_height;
        }
    }
}

/// Where texels go, and what they are.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Destination {
    /// The driver's target of the texture, which is bound.
    pub(crate) target: u32,
    pub(crate) upload: UploadTarget,
    pub(crate) level: u16,
    pub(crate) format: Format,
    pub(crate) spelling: Spelling,
}

impl Native {
    /// Writes regions of an image.
    pub(crate) fn upload_texture<S: Storage>(
        &mut self,
        gl: &Gl,
        scope: &mut Scope<'_, Gles, S>,
        data: &SubData,
        regions: &[SubRegion],
        bytes: &Bulk<'_>,
    ) -> Outcome {
        let from = address(bytes)?;
        let Some(object) = scope.objects.textures.get_mut(data.resource) else { return Err(FAILED) };
        let desc = object.record.desc;
        let target = desc.target().and_then(target).ok_or(UNSUPPORTED)?;
        let format = desc.internal_format().ok_or(FAILED)?;
        let spelling = formats::spelling(format).ok_or(UNSUPPORTED)?;
        let name = object.twin.name(gl, self.home)?;
        self.units.work(gl, target, name)?;
        let upload = data.upload_target().ok_or(FAILED)?;
        let to = Destination { target, upload, level: data.level, format, spelling };
        for region in regions {
            let SubRegion { x, y, z, width, height, depth, .. } = *region;
            let texels = TexelBox { x, y, z, width, height, depth };
            let start = from.wrapping_byte_add(region.src_offset as usize);
            let strides = (u64::from(region.src_row_stride), u64::from(region.src_slice_stride));
            self.write(gl, &to, &texels, strides, start)?;
        }
        Ok(())
    }

    /// Writes a region from rows and slices that lie so many bytes apart; 0 for no gap.
    pub(crate) fn write(
        &mut self,
        gl: &Gl,
        to: &Destination,
        region: &TexelBox,
        (row_stride, slice_stride): (u64, u64),
        start: *const c_void,
    ) -> Outcome {
        let Destination { target, upload, level, format, spelling } = *to;
        let block = format.block();
        let row = u64::from(region.width.div_ceil(u32::from(block.width))) * u64::from(block.bytes);
        let rows = u64::from(region.height.div_ceil(u32::from(block.height)));
        let row_stride = if row_stride == 0 { row } else { row_stride };
        let slice_stride = if slice_stride == 0 { row_stride * rows } else { slice_stride };
        let pixel = u64::from(block.bytes);
        let regular = !format.is_compressed()
            && row_stride.is_multiple_of(pixel)
            && slice_stride.is_multiple_of(row_stride)
            && row_stride / pixel <= i32::MAX as u64
            && slice_stride / row_stride.max(1) <= i32::MAX as u64;
        let layered = is_layered(target);
        let faces = target == glow::TEXTURE_CUBE_MAP && upload == UploadTarget::Whole;
        if regular && !faces {
            let tight = row_stride == row && (region.depth <= 1 || slice_stride == row * rows);
            let lengths = match tight {
                true => (0, 0),
                false => ((row_stride / pixel) as i32, (slice_stride / row_stride.max(1)) as i32),
            };
            self.unpack.set(gl, lengths.0, if layered { lengths.1 } else { 0 });
            write_part(gl, image(target, upload), layered, level, spelling, region, 0, start);
            return Ok(());
        }
        // Row by row, or slice by slice where rows have no gaps.
        self.unpack.set(gl, 0, 0);
        for slice in 0..region.depth {
            let z = region.z + slice as i32;
            let image = match faces {
                true => glow::TEXTURE_CUBE_MAP_POSITIVE_X + z as u32,
                false => image(target, upload),
            };
            let at = start.wrapping_byte_add((u64::from(slice) * slice_stride) as usize);
            let (step, count) = if row_stride == row { (rows, 1) } else { (1, rows) };
            for part in 0..count {
                let above = (part * step) as u32 * u32::from(block.height);
                let height = ((step as u32) * u32::from(block.height)).min(region.height - above);
                let part_of_it = TexelBox { y: region.y + above as i32, z, height, depth: 1, ..*region };
                let bytes = i32::try_from(row * step).map_err(|_| FAILED)?;
                let at = at.wrapping_byte_add((part * row_stride) as usize);
                write_part(gl, image, layered, level, spelling, &part_of_it, bytes, at);
            }
        }
        Ok(())
    }
}

/// Writes a region whose rows lie as the driver was told; of compressed ones, so many bytes.
#[expect(clippy::too_many_arguments, reason = "as many as the driver's function has")]
fn write_part(
    gl: &Gl,
    image: u32,
    layered: bool,
    level: u16,
    spelling: Spelling,
    region: &TexelBox,
    bytes: i32,
    from: *const c_void,
) {
    let Spelling { internal, format, kind, .. } = spelling;
    let (level, width, height, depth) =
        (i32::from(level), texels(region.width), texels(region.height), texels(region.depth));
    let TexelBox { x, y, z, .. } = *region;
    match (format == 0, layered) {
        (false, false) => raw!(gl, tex_sub_image_2d(image, level, x, y, width, height, format, kind, from)),
        (false, true) => {
            raw!(gl, tex_sub_image_3d(image, level, x, y, z, width, height, depth, format, kind, from));
        }
        (true, false) => {
            raw!(gl, compressed_tex_sub_image_2d(image, level, x, y, width, height, internal, bytes, from));
        }
        (true, true) => {
            raw!(
                gl,
                compressed_tex_sub_image_3d(
                    image, level, x, y, z, width, height, depth, internal, bytes, from
                )
            );
        }
    }
}
