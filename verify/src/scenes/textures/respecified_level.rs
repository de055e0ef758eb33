//! One level is defined again: the other ones stay, whatever was on its way to them.

use runahead_wire::values::UploadTarget;

use super::*;
use crate::scenes::common::{BLACK, color};

use ResourceTarget as T;

const LEVELS: [[u8; 4]; 3] = [[255, 0, 0, 255], [0, 255, 0, 255], [0, 0, 255, 255]];
const AGAIN: [u8; 4] = [255, 204, 51, 255];

pub(in super::super) fn draw<P: Session>(stage: &mut Stage<'_, P>) -> Result<(), StageError> {
    stage.clear(color(BLACK))?;
    quad(stage)?;
    let sampled = "textureLod(image, at, floor(at.x * 4.0))";
    program(stage, "sampler2D", (T::Texture2D, ScalarType::Float), sampled)?;
    let desc = ResourceDesc { levels: 3, ..shape(T::Texture2D, Format::Rgba8, 4, 4) };
    let texture = stage.storage(desc)?;
    let mips = runahead_wire::values::MipFilter::Nearest.raw();
    stage.sampled(
        texture,
        runahead_wire::payload::SamplerParameters { mip_filter: mips, ..crate::scenes::stage::nearest() },
        |_| {},
    )?;
    let fill = |stage: &mut Stage<'_, P>, level: u16, color: [u8; 4]| {
        let side = 4 >> level;
        stage.fill(texture, level, extent(side, side, 1), &color.repeat((side * side) as usize))
    };
    // Uploads before, no verb, a level again, uploads behind it.
    fill(stage, 0, LEVELS[0])?;
    fill(stage, 1, BLACK)?;
    fill(stage, 2, LEVELS[2])?;
    let desc = ResourceDesc { resource: texture, ..desc };
    stage.respecify(ResourceDesc { has_respecified_level: 1, respecified_level: 1, ..desc })?;
    fill(stage, 1, LEVELS[1])?;
    stage.sample(texture)?;
    show(stage, 0)?;
    // The same again behind a draw, with the other levels as they were drawn.
    stage.respecify(ResourceDesc { has_respecified_level: 1, respecified_level: 2, ..desc })?;
    fill(stage, 2, AGAIN)?;
    show(stage, 1)?;
    stage.shows("the first level", &Sight::rgba(texture, 0, extent(4, 4, 1)), &LEVELS[0].repeat(16))?;
    // One face of a cube, of which the other ones stay.
    let cube = stage.image(shape(T::CubeMap, Format::Rgba8, 2, 2))?;
    stage.fill(cube, 0, extent(2, 2, 6), &LEVELS[1].repeat(24))?;
    stage.respecify(ResourceDesc {
        resource: cube,
        has_respecified_level: 1,
        respecified_upload_target: UploadTarget::CubeNegativeX.raw16(),
        ..shape(T::CubeMap, Format::Rgba8, 2, 2)
    })?;
    let face = TexelBox { z: 1, ..extent(2, 2, 1) };
    stage.fill(cube, 0, face, &AGAIN.repeat(4))?;
    let wanted = [LEVELS[1].repeat(4), AGAIN.repeat(4), LEVELS[1].repeat(16)].concat();
    stage.shows("faces", &Sight::rgba(cube, 0, extent(2, 2, 6)), &wanted)?;
    // All of it again, larger and in another format: what is bound shows that.
    let desc = ResourceDesc { resource: texture, ..shape(T::Texture2D, Format::Rgb565, 8, 8) };
    stage.respecify(desc)?;
    stage.fill(texture, 0, extent(8, 8, 1), &[0xFF, 0xFF].repeat(64))?;
    show(stage, 2)
}

pub(in super::super) fn pixel(x: u32, y: u32) -> [u8; 4] {
    let column = (x % 8 / 2) as usize;
    match (cell_of(x, y), column) {
        (0 | 1, 0 | 1) => LEVELS[column],
        (0, _) => LEVELS[2],
        (1, _) => AGAIN,
        (2, _) => [255; 4],
        _ => BLACK,
    }
}
