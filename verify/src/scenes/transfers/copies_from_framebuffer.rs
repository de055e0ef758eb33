//! Copies from the framebuffer into textures of each target.

use runahead_core::tracker::Verb;
use runahead_wire::{
    payload::{Clear, CopyFromFramebuffer},
    values::{ClearKind, FramebufferTarget, UploadTarget},
};

use super::*;

use ResourceTarget as T;

/// A copy of two rows of three pixels.
fn copy<P: Session>(
    stage: &mut Stage<'_, P>,
    dst: Handle,
    change: impl FnOnce(&mut CopyFromFramebuffer),
) -> Result<(), StageError> {
    let desc = stage.described(dst)?;
    let mut copy = CopyFromFramebuffer {
        dst,
        target: u16::from(desc.target),
        internal_format: desc.internal_format,
        x: 2,
        y: 1,
        width: 3,
        height: 2,
        sub_image: 1,
        ..CopyFromFramebuffer::default()
    };
    change(&mut copy);
    stage.synced(Verb::CopyFramebuffer)?;
    Ok(stage.pipe().copy_framebuffer_to_texture(&copy)?)
}

pub(in super::super) fn draw<P: Session>(stage: &mut Stage<'_, P>) -> Result<(), StageError> {
    let source = stage.image(shape(T::Texture2D, Format::Rgba8, 8, 8))?;
    stage.fill(source, 0, extent(8, 8, 1), &texels(0, extent(8, 8, 1)))?;
    let state = showing(stage, source, 0, 0)?;
    stage.bind(FramebufferTarget::Both, &state);
    let wanted = texels(0, TexelBox { x: 2, y: 1, ..extent(3, 2, 1) });
    let to = |x, y, z| TexelBox { x, y, z, width: 3, height: 2, depth: 1 };

    let flat = stage.image(shape(T::Texture2D, Format::Rgba8, 8, 8))?;
    copy(stage, flat, |copy| (copy.x_offset, copy.y_offset) = (4, 5))?;
    stage.shows("2D", &Sight::rgba(flat, 0, to(4, 5, 0)), &wanted)?;

    let layers = stage.image(array(T::Texture2DArray, 8, 3, 1))?;
    copy(stage, layers, |copy| copy.z_offset = 2)?;
    stage.shows("array", &Sight::rgba(layers, 0, to(0, 0, 2)), &wanted)?;

    let solid =
        stage.image(ResourceDesc { depth: 4, levels: 2, ..shape(T::Texture3D, Format::Rgba8, 8, 8) })?;
    copy(stage, solid, |copy| (copy.level, copy.z_offset, copy.y_offset) = (1, 1, 2))?;
    stage.shows("3D", &Sight::rgba(solid, 1, to(0, 2, 1)), &wanted)?;

    let cube = stage.image(shape(T::CubeMap, Format::Rgba8, 8, 8))?;
    copy(stage, cube, |copy| copy.upload_target = UploadTarget::CubeNegativeY.raw16())?;
    stage.shows("cube", &Sight::rgba(cube, 0, to(0, 0, 3)), &wanted)?;

    let cubes = stage.image(array(T::CubeMapArray, 8, 12, 1))?;
    copy(stage, cubes, |copy| copy.z_offset = 7)?;
    stage.shows("cube array", &Sight::rgba(cubes, 0, to(0, 0, 7)), &wanted)?;

    let line = stage.image(shape(T::Texture1D, Format::Rgba8, 8, 1))?;
    copy(stage, line, |copy| (copy.height, copy.x_offset) = (1, 1))?;
    let row = TexelBox { x: 1, ..extent(3, 1, 1) };
    stage.shows("1D", &Sight::rgba(line, 0, row), &wanted[..12])?;

    let lines =
        stage.image(ResourceDesc { array_layers: 4, ..shape(T::Texture1DArray, Format::Rgba8, 8, 1) })?;
    copy(stage, lines, |copy| (copy.height, copy.z_offset) = (1, 2))?;
    stage.shows("1D array", &Sight::rgba(lines, 0, TexelBox { z: 2, ..extent(3, 1, 1) }), &wanted[..12])?;

    // A copy that defines its level comes behind the record that does.
    let desc = stage.described(flat)?;
    stage.respecify(ResourceDesc { width: 3, height: 2, has_respecified_level: 1, ..desc })?;
    copy(stage, flat, |copy| copy.sub_image = 0)?;
    stage.shows("defined", &Sight::rgba(flat, 0, extent(3, 2, 1)), &wanted)?;

    // Depth, which OpenGL ES copies by blits alone.
    let depths = stage.image(shape(T::Texture2D, Format::DepthComponent32F, 8, 8))?;
    let copied = stage.image(shape(T::Texture2D, Format::DepthComponent32F, 8, 8))?;
    let mut state = empty_framebuffer();
    state.depth = stage.attachment(depths, 0, 0)?;
    state.draw_buffers[0] = -1;
    stage.bind(FramebufferTarget::Both, &state);
    stage.clear_by(&Clear { kind: ClearKind::Depth.raw(), depth_value: 0.25, ..Clear::default() })?;
    copy(stage, copied, |copy| (copy.x_offset, copy.y_offset) = (1, 1))?;
    let (format, kind) = (PixelFormat::DepthComponent, PixelType::Float);
    let seen = Sight { format, kind, ..Sight::rgba(copied, 0, to(1, 1, 0)) };
    stage.shows("depth", &seen, &0.25_f32.to_le_bytes().repeat(6))?;
    done(stage)
}

pub(in super::super) use super::all_done as pixel;
