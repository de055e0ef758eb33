//! Uploads cut to the stage: content that is larger than a piece becomes several records, so that the stage keeps
//! moving and nothing is refused that could go in parts.

use runahead_wire::{
    Bulk, Handle,
    format::Format,
    payload::{SubData, SubRegion},
    pipe::Pipe,
};

use crate::extent;

/// Writes bytes into a buffer at an offset, in records of at most `piece` bytes each.
///
/// # Errors
/// The pipe's own. What was recorded before it stays recorded.
pub fn buffer<P: Pipe>(
    pipe: &mut P,
    buffer: Handle,
    offset: u64,
    bytes: &[u8],
    piece: usize,
) -> Result<(), P::Error> {
    let mut at = offset;
    for part in bytes.chunks(piece.max(1)) {
        let size = part.len() as u64;
        pipe.resource_sub_data(&SubData::for_buffer(buffer, at, size), &[], Bulk::Bytes(part))?;
        at += size;
    }
    Ok(())
}

/// Why an upload was not recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UploadError<E> {
    /// A region reads bytes that are not there, is empty, or its strides are smaller than its rows.
    Region,
    /// The pipe's own.
    Pipe(E),
}

/// Writes regions of an image of a texture. `data` names texture, image and level; its box, count and blob are
/// filled in. All regions go in one record where their bytes are at most `piece`; otherwise each goes on its
/// own, cut by slices and rows of blocks.
///
/// # Errors
/// [`UploadError`]. What was recorded before it stays recorded.
pub fn texture<P: Pipe>(
    pipe: &mut P,
    data: &SubData,
    regions: &[SubRegion],
    format: Format,
    bytes: &[u8],
    piece: usize,
) -> Result<(), UploadError<P::Error>> {
    let mut union: Option<runahead_wire::payload::TexelBox> = None;
    for region in regions {
        let end = extent::source_end(region, format).ok_or(UploadError::Region)?;
        if end > bytes.len() as u64 {
            return Err(UploadError::Region);
        }
        let texels = extent::of_region(region);
        union = Some(union.map_or(texels, |union| extent::union(&union, &texels)));
    }
    let Some(union_box) = union else { return Ok(()) };
    if bytes.len() <= piece {
        let data = SubData { union_box, region_count: regions.len() as u32, ..*data };
        return pipe.resource_sub_data(&data, regions, Bulk::Bytes(bytes)).map_err(UploadError::Pipe);
    }
    regions.iter().try_for_each(|region| cut(pipe, data, region, format, bytes, piece))
}

/// Writes one region in pieces of whole rows of blocks.
fn cut<P: Pipe>(
    pipe: &mut P,
    data: &SubData,
    region: &SubRegion,
    format: Format,
    bytes: &[u8],
    piece: usize,
) -> Result<(), UploadError<P::Error>> {
    let block = format.block();
    let (block_height, columns) = (u32::from(block.height), region.width.div_ceil(u32::from(block.width)));
    let row = columns as usize * usize::from(block.bytes);
    let rows = region.height.div_ceil(block_height);
    let row_stride = if region.src_row_stride == 0 { row } else { region.src_row_stride as usize };
    let slice_stride = match region.src_slice_stride {
        0 => row_stride * rows as usize,
        stride => stride as usize,
    };
    // At least one row: what does not fit then is the recorder's to refuse.
    let at_once = (piece.saturating_sub(row) / row_stride.max(1) + 1) as u32;
    for slice in 0..region.depth {
        let mut first = 0;
        while first < rows {
            let count = at_once.min(rows - first);
            let start =
                region.src_offset as usize + slice as usize * slice_stride + first as usize * row_stride;
            let end = start + (count as usize - 1) * row_stride + row;
            let part = bytes.get(start..end).ok_or(UploadError::Region)?;
            let above = first * block_height;
            let part_of_it = SubRegion {
                y: region.y + above as i32,
                z: region.z + slice as i32,
                height: (count * block_height).min(region.height - above),
                depth: 1,
                src_offset: 0,
                src_slice_stride: 0,
                ..*region
            };
            let data = SubData {
                union_box: extent::of_region(&part_of_it),
                region_count: 1,
                source_is_verbatim_level_shadow: 0,
                ..*data
            };
            pipe.resource_sub_data(&data, &[part_of_it], Bulk::Bytes(part)).map_err(UploadError::Pipe)?;
            first += count;
        }
    }
    Ok(())
}
