//! Blits between framebuffers that are named, or bound: mirrored, scaled, resolved, of depth and stencil.

use runahead_wire::{
    payload::{Blit, Clear},
    values::{BufferMask, ClearKind, Filter},
};

use super::*;

use ResourceTarget as T;

const COLOR: [u8; 4] = [255, 102, 0, 204];

fn texel(x: u32, y: u32) -> [u8; 4] {
    [(x * 50) as u8, (y * 50) as u8, 7, 255]
}

/// Corners from and to; `mask` is of colour, depth and stencil.
pub(super) fn blit<P: Session>(
    stage: &mut Stage<'_, P>,
    (read, draw): (Handle, Handle),
    src: [i32; 4],
    dst: [i32; 4],
    mask: u32,
) -> Result<(), StageError> {
    stage.synced(Verb::Blit)?;
    let [src_x0, src_y0, src_x1, src_y1] = src;
    let [dst_x0, dst_y0, dst_x1, dst_y1] = dst;
    Ok(stage.pipe().blit(&Blit {
        read_fbo: read,
        draw_fbo: draw,
        src_x0,
        src_y0,
        src_x1,
        src_y1,
        dst_x0,
        dst_y0,
        dst_x1,
        dst_y1,
        mask,
        filter: Filter::Nearest.raw(),
    })?)
}

pub(in super::super) fn draw<P: Session>(stage: &mut Stage<'_, P>) -> Result<(), StageError> {
    let source = stage.image(flat(4))?;
    let all: Vec<u8> = (0..4).flat_map(|y| (0..4).flat_map(move |x| texel(x, y))).collect();
    stage.fill(source, 0, extent(4, 4, 1), &all)?;
    let drawn = stage.image(flat(8))?;
    stage.fill(drawn, 0, extent(8, 8, 1), &[0; 256])?;
    let (from, into) = (to(&[stage.attachment(source, 0, 0)?], 4), to(&[stage.attachment(drawn, 0, 0)?], 8));
    let (from, into) = (stage.named(&from)?, stage.named(&into)?);
    // Both named, while the surface is bound: twice as large and mirrored along x.
    stage.target(Handle::NULL);
    blit(stage, (from, into), [0, 0, 4, 4], [8, 0, 0, 8], BufferMask::COLOR.raw())?;
    let wanted: Vec<u8> = (0..8).flat_map(|y| (0..8).flat_map(move |x| texel((7 - x) / 2, y / 2))).collect();
    stage.shows("mirrored", &Sight::rgba(drawn, 0, extent(8, 8, 1)), &wanted)?;
    // From what is named to what is bound, and back.
    stage.clear(color([0, 0, 0, 255]))?;
    blit(stage, (from, Handle::NULL), [1, 1, 3, 3], [10, 20, 12, 22], BufferMask::COLOR.raw())?;
    let two: Vec<u8> = [texel(1, 1), texel(2, 1), texel(1, 2), texel(2, 2)].concat();
    let place = TexelBox { x: 10, y: 20, ..extent(2, 2, 1) };
    stage.shows("to the surface", &Sight::rgba(Handle::NULL, 0, place), &two)?;
    blit(stage, (Handle::NULL, into), [10, 20, 12, 22], [0, 0, 2, 2], BufferMask::COLOR.raw())?;
    stage.shows("from the surface", &Sight::rgba(drawn, 0, extent(2, 2, 1)), &two)?;

    // Samples, of a renderbuffer and of a texture and one of its layers.
    let samples = |target, layers| ResourceDesc {
        samples: 4,
        fixed_sample_locations: 1,
        array_layers: layers,
        ..shape(target, Format::Rgba8, 4, 4)
    };
    let buffer = stage.renderbuffer(Format::Rgba8, 4, 4, 4)?;
    let (one, several) = (
        stage.image(samples(T::Texture2DMultisample, 1))?,
        stage.image(samples(T::Texture2DMultisampleArray, 3))?,
    );
    let sources =
        [renderbuffer(buffer, Format::Rgba8), stage.attachment(one, 0, 0)?, stage.attachment(several, 0, 2)?];
    for (number, surface) in sources.into_iter().enumerate() {
        let shade = [COLOR[0] - number as u8 * 51, COLOR[1], COLOR[2], COLOR[3]];
        let state = FramebufferState { samples: 4, ..to(&[surface], 4) };
        stage.bind(FramebufferTarget::Both, &state);
        stage.clear(color(shade))?;
        blit(stage, (Handle::NULL, into), [0, 0, 4, 4], [4, 4, 8, 8], BufferMask::COLOR.raw())?;
        let place = TexelBox { x: 4, y: 4, ..extent(4, 4, 1) };
        stage.shows(&format!("resolved {number}"), &Sight::rgba(drawn, 0, place), &shade.repeat(16))?;
    }

    // Depth and stencil, together and alone.
    let (first, second) = (
        stage.image(shape(T::Texture2D, Format::Depth24Stencil8, 4, 4))?,
        stage.renderbuffer(Format::Depth24Stencil8, 4, 4, 0)?,
    );
    let packed = |surface: Surface| FramebufferState {
        draw_buffers: [-1; 8],
        depth: surface,
        stencil: surface,
        width: 4,
        height: 4,
        ..empty_framebuffer()
    };
    let (near, far) =
        (packed(stage.attachment(first, 0, 0)?), packed(renderbuffer(second, Format::Depth24Stencil8)));
    let clear = |stage: &mut Stage<'_, P>, depth_value, stencil_value| {
        stage.clear_by(&Clear {
            kind: ClearKind::DepthStencil.raw(),
            depth_value,
            stencil_value,
            ..Clear::default()
        })
    };
    stage.bind(FramebufferTarget::Both, &far);
    clear(stage, 1.0, 0x11)?;
    stage.bind(FramebufferTarget::Both, &near);
    clear(stage, 0.0, 0x22)?;
    stage.bind(FramebufferTarget::Draw, &far);
    let (depth, stencil) = (BufferMask::DEPTH.raw(), BufferMask::STENCIL.raw());
    blit(stage, (Handle::NULL, Handle::NULL), [0, 0, 4, 2], [0, 0, 4, 2], depth)?;
    blit(stage, (Handle::NULL, Handle::NULL), [0, 0, 4, 1], [0, 1, 4, 2], stencil)?;
    blit(stage, (Handle::NULL, Handle::NULL), [0, 0, 4, 1], [0, 3, 4, 4], depth | stencil)?;
    stage.bind(FramebufferTarget::Read, &far);
    let row = |stencil: u8, depth: u32| (depth << 8 | u32::from(stencil)).to_le_bytes().repeat(4);
    let wanted = [row(0x11, 0), row(0x22, 0), row(0x11, 0xFF_FFFF), row(0x22, 0)].concat();
    let seen = Sight {
        format: PixelFormat::DepthStencil,
        kind: PixelType::UnsignedInt248,
        ..Sight::rgba(Handle::NULL, 0, extent(4, 4, 1))
    };
    stage.shows("depth and stencil", &seen, &wanted)?;
    done(stage)
}

pub(in super::super) use super::all_done as pixel;
