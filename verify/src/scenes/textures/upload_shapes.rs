//! Shapes of uploads: regions with gaps between their rows and slices, faces, layers, blocks; several in one record, and
//! 64 records to one level.

use runahead_wire::{payload::SubRegion, values::UploadTarget};

use super::*;
use crate::scenes::common::color;

use ResourceTarget as T;

const DONE: [u8; 4] = [0, 255, 0, 255];

/// A level as it must be: the bytes that uploads put there.
struct Level {
    size: TexelBox,
    bytes: Vec<u8>,
}

impl Level {
    fn new(size: TexelBox) -> Self {
        Self { size, bytes: vec![0; (size.width * size.height * size.depth * 4) as usize] }
    }

    /// Writes a region from the blob that its upload has.
    fn take(&mut self, region: &SubRegion, blob: &[u8]) {
        let row = region.width * 4;
        let row_stride = if region.src_row_stride == 0 { row } else { region.src_row_stride };
        let slice =
            if region.src_slice_stride == 0 { row_stride * region.height } else { region.src_slice_stride };
        for (z, y) in (0..region.depth).flat_map(|z| (0..region.height).map(move |y| (z, y))) {
            let from = region.src_offset as usize + (z * slice + y * row_stride) as usize;
            let (width, height) = (self.size.width, self.size.height);
            let at = (region.z as u32 + z) * height * width + (region.y as u32 + y) * width + region.x as u32;
            let (at, row) = (at as usize * 4, row as usize);
            self.bytes[at..at + row].copy_from_slice(&blob[from..from + row]);
        }
    }
}

/// A box, where its bytes begin, and what lies between rows and slices.
fn region([x, y, z]: [i32; 3], [width, height, depth]: [u32; 3], [at, row, slice]: [u32; 3]) -> SubRegion {
    SubRegion {
        x,
        y,
        z,
        width,
        height,
        depth,
        src_offset: u64::from(at),
        src_row_stride: row,
        src_slice_stride: slice,
    }
}

pub(in super::super) fn draw<P: Session>(stage: &mut Stage<'_, P>) -> Result<(), StageError> {
    let blob: Vec<u8> = (0..1024_u32).map(|at| (at * 7 + at / 256) as u8).collect();
    let regions = [
        // Without gaps; rows with gaps of whole texels; rows at odd places; slices with gaps; overlapping, in order.
        region([0, 0, 0], [4, 4, 1], [0, 0, 0]),
        region([1, 2, 1], [3, 2, 2], [4, 20, 0]),
        region([4, 1, 0], [2, 3, 3], [3, 13, 0]),
        region([5, 5, 1], [3, 3, 2], [64, 16, 80]),
        region([0, 6, 0], [2, 2, 3], [100, 9, 31]),
        region([1, 1, 0], [2, 2, 1], [512, 0, 0]),
    ];
    let layered = ResourceDesc { array_layers: 3, ..shape(T::Texture2DArray, Format::Rgba8, 8, 8) };
    for desc in [layered, ResourceDesc { depth: 3, ..shape(T::Texture3D, Format::Rgba8, 8, 8) }] {
        for immutable in [0, 1] {
            let texture = stage.image(ResourceDesc { immutable, ..desc })?;
            let mut level = Level::new(extent(8, 8, 3));
            stage.fill(texture, 0, level.size, &level.bytes.clone())?;
            stage.upload(texture, 0, UploadTarget::Whole, &regions, &blob)?;
            regions.iter().for_each(|region| level.take(region, &blob));
            let name = format!("{:?}", desc.target());
            stage.shows(&name, &Sight::rgba(texture, 0, level.size), &level.bytes)?;
        }
    }
    // Faces: each by its name, and several as slices.
    let cube = stage.image(shape(T::CubeMap, Format::Rgba8, 8, 8))?;
    let mut level = Level::new(extent(8, 8, 6));
    stage.fill(cube, 0, level.size, &level.bytes.clone())?;
    let (one, several) =
        (region([2, 1, 0], [4, 4, 1], [5, 18, 0]), region([0, 5, 1], [3, 2, 4], [7, 12, 30]));
    stage.upload(cube, 0, UploadTarget::CubePositiveZ, &[one], &blob)?;
    stage.upload(cube, 0, UploadTarget::Whole, &[several], &blob)?;
    level.take(&SubRegion { z: 4, ..one }, &blob);
    level.take(&several, &blob);
    stage.shows("faces", &Sight::rgba(cube, 0, level.size), &level.bytes)?;
    // Layers of cubes.
    let cubes = ResourceDesc { array_layers: 12, ..shape(T::CubeMapArray, Format::Rgba8, 8, 8) };
    let cubes = stage.image(cubes)?;
    let mut level = Level::new(extent(8, 8, 12));
    stage.fill(cubes, 0, level.size, &level.bytes.clone())?;
    stage.upload(cubes, 0, UploadTarget::Whole, &[SubRegion { z: 7, ..several }], &blob)?;
    level.take(&SubRegion { z: 7, ..several }, &blob);
    stage.shows("layers of cubes", &Sight::rgba(cubes, 0, level.size), &level.bytes)?;
    // Rows of one dimension, with gaps between them.
    let lines = ResourceDesc { array_layers: 4, ..shape(T::Texture1DArray, Format::Rgba8, 8, 1) };
    let lines = stage.image(lines)?;
    let mut level = Level::new(extent(8, 1, 4));
    stage.fill(lines, 0, level.size, &level.bytes.clone())?;
    for rows in [region([1, 0, 1], [5, 1, 2], [9, 0, 24]), region([0, 0, 2], [3, 1, 2], [40, 13, 17])] {
        stage.upload(lines, 0, UploadTarget::Whole, &[rows], &blob)?;
        level.take(&rows, &blob);
    }
    stage.shows("rows", &Sight::rgba(lines, 0, level.size), &level.bytes)?;
    // Blocks, of which the last of a row and of a column are cut off.
    let blocks = stage.image(shape(T::Texture2D, Format::Rgb8Etc2, 10, 6))?;
    let words: Vec<u8> = (0..64).collect();
    let all = region([0, 0, 0], [10, 6, 1], [0, 32, 0]);
    stage.upload(blocks, 0, UploadTarget::Whole, &[all], &words)?;
    let (format, kind) = (PixelFormat::Compressed, PixelType::Undefined);
    let seen = Sight { format, kind, ..Sight::rgba(blocks, 0, extent(10, 6, 1)) };
    let wanted = [&words[..24], &words[32..56]].concat();
    stage.shows("blocks", &seen, &wanted)?;
    let part = region([4, 0, 0], [6, 4, 1], [40, 0, 0]);
    stage.upload(blocks, 0, UploadTarget::Whole, &[part], &words)?;
    stage.shows("some blocks", &seen, &[&words[..8], &words[40..56], &words[32..56]].concat())?;
    // One texel a record.
    let many = stage.image(shape(T::Texture2D, Format::Rgba8, 8, 8))?;
    let mut level = Level::new(extent(8, 8, 1));
    for at in (0..64).rev() {
        let texel = region([at % 8, at / 8, 0], [1, 1, 1], [at as u32 * 4, 0, 0]);
        stage.upload(many, 0, UploadTarget::Whole, &[texel], &blob)?;
        level.take(&texel, &blob);
    }
    stage.shows("64 records", &Sight::rgba(many, 0, level.size), &level.bytes)?;
    stage.clear(color(DONE))
}

pub(in super::super) fn pixel(_: u32, _: u32) -> [u8; 4] {
    DONE
}
