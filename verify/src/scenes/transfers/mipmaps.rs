//! Generation of mipmaps, by class of format and by target.

use runahead_wire::payload::MipPlan;

use super::*;

use ResourceTarget as T;

fn generate<P: Session>(
    stage: &mut Stage<'_, P>,
    texture: Handle,
    from: u16,
    count: u16,
) -> Result<(), StageError> {
    let target = u16::from(stage.described(texture)?.target);
    let plan =
        MipPlan { resource: texture, target, base_level: from, level_count: count, ..MipPlan::default() };
    Ok(stage.pipe().generate_mipmap(&plan)?)
}

/// Two texels after each other, in each row and each slice: the mean of all is that of the two.
fn pairs(one: &[u8], other: &[u8], count: usize) -> Vec<u8> {
    [one, other].concat().repeat(count / 2)
}

pub(in super::super) fn draw<P: Session>(stage: &mut Stage<'_, P>) -> Result<(), StageError> {
    let floats = |values: &[f32]| values.iter().flat_map(|value| value.to_le_bytes()).collect::<Vec<u8>>();
    let (half, one) = ([0x00, 0x38], [0x00, 0x3C]);
    let (rgba, byte) = (PixelFormat::Rgba, PixelType::UnsignedByte);
    let cases = [
        (
            "unorm",
            Format::Rgba8,
            rgba,
            byte,
            vec![10, 20, 30, 40],
            vec![30, 40, 50, 60],
            vec![20, 30, 40, 50],
        ),
        ("two", Format::Rg8, PixelFormat::Rg, byte, vec![100, 0], vec![200, 50], vec![150, 25]),
        (
            "packed",
            Format::Rgb565,
            PixelFormat::Rgb,
            PixelType::UnsignedShort565,
            vec![0x00, 0x00],
            0x1082_u16.to_le_bytes().to_vec(),
            0x0841_u16.to_le_bytes().to_vec(),
        ),
        (
            "half",
            Format::R16F,
            PixelFormat::Red,
            PixelType::HalfFloat,
            vec![0, 0],
            one.to_vec(),
            half.to_vec(),
        ),
        (
            "float",
            Format::Rgba32F,
            rgba,
            PixelType::Float,
            floats(&[1.0, 2.0, 4.0, -8.0]),
            floats(&[3.0, 2.0, 0.0, 8.0]),
            floats(&[2.0, 2.0, 2.0, 0.0]),
        ),
        // Equal texels: a mean is taken of linear values, and comes back.
        (
            "sRGB",
            Format::Srgb8Alpha8,
            rgba,
            byte,
            vec![90, 60, 30, 255],
            vec![90, 60, 30, 255],
            vec![90, 60, 30, 255],
        ),
    ];
    for (name, format, components, kind, one, other, mean) in cases {
        let desc = ResourceDesc { levels: 3, ..shape(T::Texture2D, format, 4, 4) };
        let texture = stage.image(desc)?;
        stage.fill(texture, 0, extent(4, 4, 1), &pairs(&one, &other, 16))?;
        generate(stage, texture, 0, 2)?;
        for (level, side) in [(1, 2), (2, 1)] {
            let seen =
                Sight { format: components, kind, ..Sight::rgba(texture, level, extent(side, side, 1)) };
            stage.shows(name, &seen, &mean.repeat((side * side) as usize))?;
        }
    }
    let (one, other, mean) = ([10, 20, 30, 40], [30, 40, 50, 60], [20, 30, 40, 50]);
    let targets = [
        (array(T::Texture2DArray, 4, 3, 2), extent(4, 4, 3), extent(2, 2, 3)),
        (ResourceDesc { depth: 4, ..array(T::Texture3D, 4, 1, 2) }, extent(4, 4, 4), extent(2, 2, 2)),
        (array(T::CubeMap, 4, 6, 2), extent(4, 4, 6), extent(2, 2, 6)),
        (array(T::CubeMapArray, 4, 12, 2), extent(4, 4, 12), extent(2, 2, 12)),
        (ResourceDesc { height: 1, ..array(T::Texture1D, 4, 1, 2) }, extent(4, 1, 1), extent(2, 1, 1)),
        (
            ResourceDesc { height: 1, immutable: 1, ..array(T::Texture1DArray, 4, 3, 2) },
            extent(4, 1, 3),
            extent(2, 1, 3),
        ),
    ];
    for (desc, base, next) in targets {
        let texture = stage.image(desc)?;
        let count = |texels: TexelBox| (texels.width * texels.height * texels.depth) as usize;
        stage.fill(texture, 0, base, &pairs(&one, &other, count(base)))?;
        generate(stage, texture, 0, 1)?;
        let name = format!("{:?}", desc.target());
        stage.shows(&name, &Sight::rgba(texture, 1, next), &mean.repeat(count(next)))?;
    }
    // From a level in between: the one before stays, and so does the one behind.
    let texture = stage.image(ResourceDesc { levels: 4, ..shape(T::Texture2D, Format::Rgba8, 8, 8) })?;
    for (level, side) in [(0, 8_u32), (1, 4), (2, 2), (3, 1)] {
        let filled = if level == 1 {
            pairs(&one, &other, 16)
        } else {
            [level as u8; 4].repeat((side * side) as usize)
        };
        stage.fill(texture, level, extent(side, side, 1), &filled)?;
    }
    generate(stage, texture, 1, 1)?;
    stage.shows("before", &Sight::rgba(texture, 0, extent(8, 8, 1)), &[0; 256])?;
    stage.shows("made", &Sight::rgba(texture, 2, extent(2, 2, 1)), &mean.repeat(4))?;
    stage.shows("behind", &Sight::rgba(texture, 3, extent(1, 1, 1)), &[3; 4])?;
    done(stage)
}

pub(in super::super) use super::all_done as pixel;
