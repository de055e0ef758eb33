//! Reads: slices in one answer, rows in bands, and pixels as pairs that no driver reads.

use runahead_wire::values::FramebufferTarget;

use super::*;

use ResourceTarget as T;

pub(in super::super) fn draw<P: Session>(stage: &mut Stage<'_, P>) -> Result<(), StageError> {
    let targets = [
        (array(T::Texture2DArray, 4, 3, 2), extent(4, 4, 3)),
        (ResourceDesc { depth: 4, ..array(T::Texture3D, 4, 1, 1) }, extent(4, 4, 4)),
        (array(T::CubeMap, 4, 6, 1), extent(4, 4, 6)),
        (array(T::CubeMapArray, 4, 12, 1), extent(4, 4, 12)),
        (ResourceDesc { height: 1, ..array(T::Texture1DArray, 4, 4, 1) }, extent(4, 1, 4)),
        (shape(T::TextureRectangle, Format::Rgba8, 4, 4), extent(4, 4, 1)),
    ];
    for (desc, whole) in targets {
        let texture = stage.image(desc)?;
        stage.fill(texture, 0, whole, &texels(0, whole))?;
        let name = format!("{:?}", desc.target());
        stage.shows(&name, &Sight::rgba(texture, 0, whole), &texels(0, whole))?;
        let (y, height) = (whole.height as i32 / 4, whole.height.min(3));
        let (z, depth) = (whole.depth as i32 / 2, whole.depth.div_ceil(3));
        let part = TexelBox { x: 1, y, z, width: 2, height, depth };
        stage.shows(&name, &Sight::rgba(texture, 0, part), &texels(0, part))?;
        // Bands, of which none begins or ends where a slice does, and some within a row.
        let all = texels(0, whole);
        for band in [16, 48, 20, 100] {
            let mut got = Vec::new();
            for at in (0..all.len()).step_by(band) {
                let size = band.min(all.len() - at);
                got.extend(stage.bytes_of(&Sight::rgba(texture, 0, whole), at as u64, size)?);
            }
            if got != all {
                return Err(StageError::Wrong(format!("{name} in bands of {band} bytes")));
            }
        }
    }
    let flat = stage.image(shape(T::Texture2D, Format::Rgba8, 4, 4))?;
    stage.fill(flat, 0, extent(4, 4, 1), &texels(0, extent(4, 4, 1)))?;
    let state = showing(stage, flat, 0, 0)?;
    stage.bind(FramebufferTarget::Both, &state);
    // One row of the framebuffer, each time as another pair.
    let at = TexelBox { y: 2, ..extent(2, 1, 1) };
    let [red, green, blue, alpha] = texel(0, 1, 2, 0);
    let first = texel(0, 0, 2, 0);
    let float = |value: u8| (f32::from(value) / 255.0).to_le_bytes();
    let two = |one: &[u8], other: &[u8]| [one, other].concat();
    type Expected = (PixelFormat, PixelType, Vec<u8>);
    let cases: [Expected; 7] = [
        (PixelFormat::Rgba, PixelType::UnsignedByte, two(&first, &[red, green, blue, alpha])),
        (
            PixelFormat::Bgra,
            PixelType::UnsignedByte,
            two(&[first[2], first[1], first[0], first[3]], &[blue, green, red, alpha]),
        ),
        (PixelFormat::Rgb, PixelType::UnsignedByte, two(&first[..3], &[red, green, blue])),
        (
            PixelFormat::Bgr,
            PixelType::UnsignedByte,
            two(&[first[2], first[1], first[0]], &[blue, green, red]),
        ),
        (PixelFormat::Alpha, PixelType::UnsignedByte, two(&first[3..], &[alpha])),
        (
            PixelFormat::Rg,
            PixelType::Float,
            [float(first[0]), float(first[1]), float(red), float(green)].concat(),
        ),
        (
            PixelFormat::Rgba,
            PixelType::UnsignedInt8888,
            two(&[first[3], first[2], first[1], first[0]], &[alpha, blue, green, red]),
        ),
    ];
    for (format, kind, wanted) in cases {
        for texture in [Handle::NULL, flat] {
            let seen = Sight { format, kind, ..Sight::rgba(texture, 0, at) };
            stage.shows(&format!("{format:?} {kind:?}"), &seen, &wanted)?;
        }
    }
    done(stage)
}

pub(in super::super) use super::all_done as pixel;
