//! Layers, slices, faces, levels, renderbuffers: alone, several, and all layers at once.

use runahead_wire::payload::Clear;
use runahead_wire::values::ClearKind;

use super::*;

use ResourceTarget as T;

const fn shade(number: u32) -> [u8; 4] {
    [(number * 20 + 5) as u8, (255 - number * 20) as u8, 102, 204]
}

pub(in super::super) fn draw<P: Session>(stage: &mut Stage<'_, P>) -> Result<(), StageError> {
    // One image of each kind: the other ones of the texture stay.
    let kinds = [
        ("slice", ResourceDesc { depth: 4, levels: 2, ..shape(T::Texture3D, Format::Rgba8, 8, 8) }, 1, 1, 2),
        (
            "layer",
            ResourceDesc { array_layers: 3, levels: 2, ..shape(T::Texture2DArray, Format::Rgba8, 8, 8) },
            1,
            2,
            3,
        ),
        ("face", ResourceDesc { levels: 2, ..shape(T::CubeMap, Format::Rgba8, 8, 8) }, 1, 4, 6),
        (
            "layer of cubes",
            ResourceDesc { array_layers: 12, levels: 2, ..shape(T::CubeMapArray, Format::Rgba8, 8, 8) },
            1,
            8,
            12,
        ),
        ("level", ResourceDesc { levels: 2, ..flat(8) }, 1, 0, 1),
        ("rectangle", shape(T::TextureRectangle, Format::Rgba8, 4, 4), 0, 0, 1),
    ];
    for (name, desc, level, layer, layers) in kinds {
        let texture = stage.image(desc)?;
        let whole = extent(4, 4, layers);
        stage.fill(texture, level, whole, &vec![9; 64 * layers as usize])?;
        let state = to(&[stage.attachment(texture, level, layer)?], 4);
        stage.bind(FramebufferTarget::Both, &state);
        stage.clear(color(shade(3)))?;
        let mut wanted = vec![9; 64 * layers as usize];
        wanted[64 * layer as usize..][..64].copy_from_slice(&shade(3).repeat(16));
        stage.shows(name, &Sight::rgba(texture, level, whole), &wanted)?;
    }
    // Every layer at once.
    let layered = [
        ("layers", ResourceDesc { array_layers: 3, ..shape(T::Texture2DArray, Format::Rgba8, 4, 4) }, 3),
        ("slices", ResourceDesc { depth: 4, ..shape(T::Texture3D, Format::Rgba8, 4, 4) }, 4),
        ("faces", shape(T::CubeMap, Format::Rgba8, 4, 4), 6),
        (
            "layers of cubes",
            ResourceDesc { array_layers: 12, ..shape(T::CubeMapArray, Format::Rgba8, 4, 4) },
            12,
        ),
    ];
    for (name, desc, layers) in layered {
        let texture = stage.image(desc)?;
        let surface = Surface { layered: 1, upload_target: 0, ..stage.attachment(texture, 0, 0)? };
        let state = FramebufferState { layers: layers as u16, ..to(&[surface], 4) };
        stage.bind(FramebufferTarget::Both, &state);
        stage.clear(color(shade(5)))?;
        let whole = extent(4, 4, layers);
        stage.shows(name, &Sight::rgba(texture, 0, whole), &shade(5).repeat(16 * layers as usize))?;
    }
    // Eight of all kinds, with depth and stencil in one image.
    let (one, other) = (stage.image(flat(4))?, stage.renderbuffer(Format::Rgba8, 4, 4, 0)?);
    let array =
        stage.image(ResourceDesc { array_layers: 4, ..shape(T::Texture2DArray, Format::Rgba8, 4, 4) })?;
    let cube = stage.image(shape(T::CubeMap, Format::Rgba8, 4, 4))?;
    let third = stage.renderbuffer(Format::Rgba8, 4, 4, 0)?;
    let packed = stage.renderbuffer(Format::Depth24Stencil8, 4, 4, 0)?;
    let eight = [
        stage.attachment(one, 0, 0)?,
        renderbuffer(other, Format::Rgba8),
        stage.attachment(array, 0, 3)?,
        stage.attachment(cube, 0, 5)?,
        stage.attachment(array, 0, 1)?,
        renderbuffer(third, Format::Rgba8),
        stage.attachment(cube, 0, 0)?,
        stage.attachment(array, 0, 0)?,
    ];
    let mut state = to(&eight, 4);
    state.depth = renderbuffer(packed, Format::Depth24Stencil8);
    state.stencil = state.depth;
    let colors: Vec<_> = (0..8).map(shade).collect();
    outputs(stage, &colors)?;
    stage.bind(FramebufferTarget::Both, &state);
    stage.clear_by(&Clear {
        kind: ClearKind::DepthStencil.raw(),
        depth_value: 1.0,
        stencil_value: 0x2A,
        ..Clear::default()
    })?;
    draw_all(stage, 4)?;
    for (number, surface) in (0..).zip(eight) {
        // What is read is another one each time, and nothing else.
        stage.bind(FramebufferTarget::Read, &FramebufferState { read_surface: surface, ..state });
        let name = format!("attachment {number}");
        stage.shows(&name, &Sight::rgba(Handle::NULL, 0, extent(4, 4, 1)), &shade(number).repeat(16))?;
    }
    let seen = Sight { format: PixelFormat::StencilIndex, ..Sight::rgba(Handle::NULL, 0, extent(4, 4, 1)) };
    stage.shows("stencil", &seen, &[0x2A; 16])?;
    // None at all: the size is the framebuffer's own, and a draw to it is taken.
    let empty = FramebufferState { samples: 4, layers: 3, ..to(&[], 4) };
    stage.bind(FramebufferTarget::Both, &empty);
    draw_all(stage, 4)?;
    done(stage)
}

pub(in super::super) use super::all_done as pixel;
