//! Reads into a buffer: where rows and slices go, and what lies between them.

use runahead_wire::values::{BufferUsage, FramebufferTarget};

use super::*;

use ResourceTarget as T;

/// What the buffer has before.
const BETWEEN: u8 = 0xEE;

/// The bytes of a buffer into which an image of `rows` rows and as many slices as there are was packed.
fn packed(size: usize, [base, row, image]: [u64; 3], rows: usize, width: usize, tight: &[u8]) -> Vec<u8> {
    let mut all = vec![BETWEEN; size];
    for (at, bytes) in tight.chunks(width).enumerate() {
        let place = base as usize + at / rows * image as usize + at % rows * row as usize;
        all[place..place + width].copy_from_slice(bytes);
    }
    all
}

pub(in super::super) fn draw<P: Session>(stage: &mut Stage<'_, P>) -> Result<(), StageError> {
    const SIZE: usize = 1024;
    let whole = extent(4, 4, 3);
    let texture = stage.image(array(T::Texture2DArray, 4, 3, 1))?;
    stage.fill(texture, 0, whole, &texels(0, whole))?;
    let state = showing(stage, texture, 0, 1)?;
    stage.bind(FramebufferTarget::Both, &state);
    // Base, row and image: no gaps, rows with gaps of whole pixels, rows at odd places, images with gaps.
    let places = [[0, 16, 64], [20, 16, 64], [0, 32, 128], [4, 24, 100], [3, 19, 80], [0, 16, 80]];
    for place in places {
        let buffer = stage.buffer_of(SIZE as u64, BufferUsage::StreamRead)?;
        let blank = vec![BETWEEN; SIZE];
        let other = stage.buffer(&blank)?;
        stage.pipe().copy_buffer(&runahead_wire::payload::CopyBuffer {
            src: other,
            dst: buffer,
            size: SIZE as u64,
            ..Default::default()
        })?;
        stage.pack(&Sight::rgba(texture, 0, whole), buffer, place, 192)?;
        stage.expect(buffer, 0, &packed(SIZE, place, 4, 16, &texels(0, whole)))?;
        // Of the framebuffer, which is the second layer.
        let part = TexelBox { x: 1, y: 1, ..extent(3, 2, 1) };
        stage.pack(&Sight::rgba(Handle::NULL, 0, part), other, place, 24)?;
        let seen = texels(0, TexelBox { z: 1, ..part });
        stage.expect(other, 0, &packed(SIZE, place, 2, 12, &seen))?;
    }
    // What was packed is uploaded again at once: nothing waited for it.
    let buffer = stage.buffer_of(64, BufferUsage::StreamRead)?;
    let layer = TexelBox { z: 2, ..extent(4, 4, 1) };
    stage.pack(&Sight::rgba(texture, 0, layer), buffer, [0, 16, 64], 64)?;
    stage.clear(color([255, 0, 255, 0]))?;
    stage.expect(buffer, 0, &texels(0, layer))?;
    // Blue first.
    let swapped: Vec<u8> = texels(0, layer)
        .as_chunks::<4>()
        .0
        .iter()
        .flat_map(|texel| [texel[2], texel[1], texel[0], texel[3]])
        .collect();
    stage.pack(
        &Sight { format: PixelFormat::Bgra, ..Sight::rgba(texture, 0, layer) },
        buffer,
        [0, 16, 64],
        64,
    )?;
    stage.expect(buffer, 0, &swapped)?;
    done(stage)
}

pub(in super::super) use super::all_done as pixel;
