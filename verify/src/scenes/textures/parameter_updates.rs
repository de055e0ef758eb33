//! 64 textures, each with four sets of its parameters, of which the last counts.

use super::*;
use crate::scenes::{
    common::{BLACK, color},
    stage::nearest,
};

const TEXEL: [u8; 4] = [51, 102, 153, 204];
const ORDERS: [[u8; 4]; 4] = [[0, 1, 2, 3], [3, 2, 1, 0], [5, 0, 4, 5], [1, 1, 2, 5]];

pub(in super::super) fn draw<P: Session>(stage: &mut Stage<'_, P>) -> Result<(), StageError> {
    stage.clear(color(BLACK))?;
    quad(stage)?;
    let target = (ResourceTarget::Texture2D, ScalarType::Float);
    program(stage, "sampler2D", target, "texture(image, at)")?;
    let mut textures = Vec::new();
    for number in 0..CELLS * CELLS {
        let texture = stage.image(shape(ResourceTarget::Texture2D, Format::Rgba8, 1, 1))?;
        stage.fill(texture, 0, extent(1, 1, 1), &TEXEL)?;
        for set in 1..=3 {
            let order = ORDERS[(number as usize + set) % ORDERS.len()];
            stage.sampled(texture, nearest(), |params| params.swizzle = order)?;
        }
        textures.push(texture);
    }
    for (number, texture) in (0..).zip(textures) {
        stage.sample(texture)?;
        show(stage, number)?;
    }
    Ok(())
}

pub(in super::super) fn pixel(x: u32, y: u32) -> [u8; 4] {
    let order = ORDERS[(cell_of(x, y) as usize + 3) % ORDERS.len()];
    order.map(|from| match from {
        4 => 0,
        5 => 255,
        component => TEXEL[component as usize],
    })
}
