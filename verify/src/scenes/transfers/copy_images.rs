//! Copies of regions between textures and renderbuffers: layers, faces, slices, blocks.

use runahead_wire::payload::SubRegion;
use runahead_wire::values::{FramebufferTarget, UploadTarget};

use super::*;

use ResourceTarget as T;

pub(in super::super) fn draw<P: Session>(stage: &mut Stage<'_, P>) -> Result<(), StageError> {
    let array = stage.image(array(T::Texture2DArray, 4, 3, 2))?;
    stage.fill(array, 0, extent(4, 4, 3), &texels(0, extent(4, 4, 3)))?;
    stage.fill(array, 1, extent(2, 2, 3), &texels(1, extent(2, 2, 3)))?;

    // Two layers of a level, to slices of a texture of three dimensions.
    let solid = stage.image(ResourceDesc { depth: 4, ..shape(T::Texture3D, Format::Rgba8, 4, 4) })?;
    stage.fill(solid, 0, extent(4, 4, 4), &[0; 256])?;
    let from = TexelBox { x: 1, y: 2, z: 1, width: 3, height: 2, depth: 2 };
    stage.copy_images((array, T::Texture2DArray, 0), (solid, T::Texture3D, 0), from, [0, 1, 2])?;
    let moved = TexelBox { x: 0, y: 1, z: 2, ..from };
    stage.shows("layers to slices", &Sight::rgba(solid, 0, moved), &texels(0, from))?;
    let before = TexelBox { x: 0, y: 1, z: 1, width: 3, height: 2, depth: 1 };
    stage.shows("the slice before", &Sight::rgba(solid, 0, before), &[0; 24])?;

    // A layer to a face, from another level.
    let cube = stage.image(shape(T::CubeMap, Format::Rgba8, 4, 4))?;
    let layer = TexelBox { z: 2, ..extent(2, 2, 1) };
    stage.copy_images((array, T::Texture2DArray, 1), (cube, T::CubeMap, 0), layer, [1, 1, 4])?;
    let face = TexelBox { x: 1, y: 1, z: 4, width: 2, height: 2, depth: 1 };
    stage.shows("layer to face", &Sight::rgba(cube, 0, face), &texels(1, layer))?;

    // Through a renderbuffer.
    let buffer = stage.renderbuffer(Format::Rgba8, 4, 4, 0)?;
    let flat = stage.image(shape(T::Texture2D, Format::Rgba8, 4, 4))?;
    stage.copy_images(
        (array, T::Texture2DArray, 0),
        (buffer, T::Renderbuffer, 0),
        extent(4, 4, 1),
        [0, 0, 0],
    )?;
    stage.copy_images((buffer, T::Renderbuffer, 0), (flat, T::Texture2D, 0), extent(4, 4, 1), [0, 0, 0])?;
    stage.shows("renderbuffer", &Sight::rgba(flat, 0, extent(4, 4, 1)), &texels(0, extent(4, 4, 1)))?;

    // Layers of one dimension.
    let rows =
        stage.image(ResourceDesc { array_layers: 4, ..shape(T::Texture1DArray, Format::Rgba8, 4, 1) })?;
    let more =
        stage.image(ResourceDesc { array_layers: 4, ..shape(T::Texture1DArray, Format::Rgba8, 4, 1) })?;
    stage.fill(rows, 0, extent(4, 1, 4), &texels(0, extent(4, 1, 4)))?;
    let from = TexelBox { x: 1, z: 1, ..extent(3, 1, 2) };
    stage.copy_images((rows, T::Texture1DArray, 0), (more, T::Texture1DArray, 0), from, [0, 0, 2])?;
    let moved = TexelBox { z: 2, ..extent(3, 1, 2) };
    stage.shows("layers of one dimension", &Sight::rgba(more, 0, moved), &texels(0, from))?;

    // A block stands for a texel of as many bytes, and comes back.
    let blocks = stage.image(shape(T::Texture2D, Format::Rgba8Etc2Eac, 8, 8))?;
    let words: Vec<u8> = (0..64).map(|byte| byte * 3 + 1).collect();
    let region = SubRegion { width: 8, height: 8, depth: 1, ..SubRegion::default() };
    stage.upload(blocks, 0, UploadTarget::Whole, &[region], &words)?;
    let wide = stage.image(shape(T::Texture2D, Format::Rgba32Ui, 2, 2))?;
    stage.copy_images((blocks, T::Texture2D, 0), (wide, T::Texture2D, 0), extent(8, 8, 1), [0, 0, 0])?;
    let (format, kind) = (PixelFormat::RgbaInteger, PixelType::UnsignedInt);
    stage.shows("blocks", &Sight { format, kind, ..Sight::rgba(wide, 0, extent(2, 2, 1)) }, &words)?;
    let again = stage.image(shape(T::Texture2D, Format::Rgba8Etc2Eac, 8, 8))?;
    stage.copy_images((wide, T::Texture2D, 0), (again, T::Texture2D, 0), extent(2, 1, 1), [0, 4, 0])?;
    let (format, kind) = (PixelFormat::Compressed, PixelType::Undefined);
    let upper = TexelBox { y: 4, ..extent(8, 4, 1) };
    stage.shows("blocks again", &Sight { format, kind, ..Sight::rgba(again, 0, upper) }, &words[..32])?;

    // The end of a copy is drawn to behind it, and read.
    let state = showing(stage, flat, 0, 0)?;
    stage.bind(FramebufferTarget::Both, &state);
    stage.clear(color([51, 102, 153, 204]))?;
    stage.shows("drawn", &Sight::rgba(Handle::NULL, 0, extent(2, 1, 1)), &[51, 102, 153, 204].repeat(2))?;
    done(stage)
}

pub(in super::super) use super::all_done as pixel;
