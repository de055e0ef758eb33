//! Bytes on their way: copies between images, from framebuffers and to buffers, fills, reads.

use runahead_core::Session;
use runahead_wire::{
    Handle,
    format::Format,
    payload::{FramebufferState, ResourceDesc, TexelBox},
    values::{PixelFormat, PixelType, ResourceTarget},
};

use super::{
    Stage, StageError,
    common::color,
    stage::{Sight, empty_framebuffer, extent, shape},
};

pub(super) mod clear_textures;
pub(super) mod copies_from_framebuffer;
pub(super) mod copy_images;
pub(super) mod mipmaps;
pub(super) mod pack_pixels;
pub(super) mod read_images;

/// What every scene of the family leaves: what it is about is bytes that it has checked.
const DONE: [u8; 4] = [0, 255, 0, 255];

fn done<P: Session>(stage: &mut Stage<'_, P>) -> Result<(), StageError> {
    stage.target(Handle::NULL);
    stage.clear(color(DONE))
}

pub(super) const fn all_done(_: u32, _: u32) -> [u8; 4] {
    DONE
}

/// A texel of four bytes that says where it lies.
const fn texel(level: u32, x: u32, y: u32, z: u32) -> [u8; 4] {
    [(x * 16 + 1) as u8, (y * 16 + 2) as u8, (z * 16 + 3) as u8, (level * 64 + 60) as u8]
}

/// The texels of a box.
fn texels(level: u32, at: TexelBox) -> Vec<u8> {
    let (xs, ys, zs) =
        (at.x as u32..at.x as u32 + at.width, at.y as u32..at.y as u32 + at.height, at.z as u32..);
    let mut all = Vec::new();
    for z in zs.take(at.depth as usize) {
        for y in ys.clone() {
            for x in xs.clone() {
                all.extend(texel(level, x, y, z));
            }
        }
    }
    all
}

/// An array of images of four bytes a texel.
fn array(target: ResourceTarget, side: u32, layers: u16, levels: u16) -> ResourceDesc {
    ResourceDesc { array_layers: layers, levels, ..shape(target, Format::Rgba8, side, side) }
}

/// A framebuffer that draws to, and reads, one image.
fn showing<P: Session>(
    stage: &Stage<'_, P>,
    texture: Handle,
    level: u16,
    layer: u32,
) -> Result<FramebufferState, StageError> {
    let mut state = empty_framebuffer();
    state.color[0] = stage.attachment(texture, level, layer)?;
    state.read_surface = state.color[0];
    Ok(state)
}
