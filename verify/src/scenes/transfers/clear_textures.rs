//! Regions of textures that are filled with one texel.

use runahead_wire::payload::ClearTexture;

use super::*;

use ResourceTarget as T;

fn clear<P: Session>(
    stage: &mut Stage<'_, P>,
    resource: Handle,
    level: u32,
    region: TexelBox,
    texel: &[u8],
) -> Result<(), StageError> {
    let mut value = [0; 16];
    value[..texel.len()].copy_from_slice(texel);
    let value_size = texel.len() as u32;
    Ok(stage.pipe().clear_texture(&ClearTexture { resource, region, level, value_size, value })?)
}

pub(in super::super) fn draw<P: Session>(stage: &mut Stage<'_, P>) -> Result<(), StageError> {
    let texel = [11, 22, 33, 44];
    let targets = [
        (shape(T::Texture2D, Format::Rgba8, 4, 4), extent(4, 4, 1)),
        (ResourceDesc { depth: 4, ..shape(T::Texture3D, Format::Rgba8, 4, 4) }, extent(4, 4, 4)),
        (array(T::Texture2DArray, 4, 3, 1), extent(4, 4, 3)),
        (array(T::CubeMap, 4, 6, 1), extent(4, 4, 6)),
        (array(T::CubeMapArray, 4, 12, 1), extent(4, 4, 12)),
        (ResourceDesc { height: 1, ..array(T::Texture1DArray, 4, 4, 1) }, extent(4, 1, 4)),
    ];
    for (desc, whole) in targets {
        let texture = stage.image(desc)?;
        stage.fill(texture, 0, whole, &texels(0, whole))?;
        let (deep, high) = (whole.depth.min(2), whole.height.min(2));
        let (y, z) = ((whole.height - high) as i32, (whole.depth - deep) as i32);
        let part = TexelBox { x: 1, y, z, width: 2, height: high, depth: deep };
        clear(stage, texture, 0, part, &texel)?;
        let mut wanted = texels(0, whole);
        let rows = (z as u32..whole.depth).flat_map(|z| (y as u32..whole.height).map(move |y| (z, y)));
        for (z, y) in rows {
            let at = (((z * whole.height + y) * whole.width + 1) * 4) as usize;
            wanted[at..at + 8].copy_from_slice(&texel.repeat(2));
        }
        stage.shows(&format!("{:?}", desc.target()), &Sight::rgba(texture, 0, whole), &wanted)?;
        // No value fills with zeros.
        clear(stage, texture, 0, whole, &[])?;
        stage.shows("zeros", &Sight::rgba(texture, 0, whole), &vec![0; wanted.len()])?;
    }
    // Formats that are not drawn to, or not by their size.
    let formats: [(Format, &[u8]); 6] = [
        (Format::Rgba32Ui, &[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16]),
        (Format::Rgba8Snorm, &[0x81, 0x7F, 0x00, 0x40]),
        (Format::Rgb9E5, &[1, 2, 3, 0x84]),
        (Format::DepthComponent32F, &[0, 0, 0, 0x3F]),
        (Format::Bgra8, &[9, 8, 7, 6]),
        (Format::Rgba8Etc2Eac, &[7, 6, 5, 4, 3, 2, 1, 0, 0, 1, 2, 3, 4, 5, 6, 7]),
    ];
    for (format, texel) in formats {
        let texture = stage.image(shape(T::Texture2D, format, 8, 8))?;
        clear(stage, texture, 0, extent(8, 8, 1), texel)?;
        let (format, kind) = match format {
            Format::Rgba32Ui => (PixelFormat::RgbaInteger, PixelType::UnsignedInt),
            Format::Rgba8Snorm => (PixelFormat::Rgba, PixelType::Byte),
            Format::Rgb9E5 => (PixelFormat::Rgb, PixelType::UnsignedInt5999Rev),
            Format::DepthComponent32F => (PixelFormat::DepthComponent, PixelType::Float),
            Format::Bgra8 => (PixelFormat::Bgra, PixelType::UnsignedByte),
            _ => (PixelFormat::Compressed, PixelType::Undefined),
        };
        let count = if format == PixelFormat::Compressed { 4 } else { 64 };
        let seen = Sight { format, kind, ..Sight::rgba(texture, 0, extent(8, 8, 1)) };
        stage.shows(&format!("{format:?}"), &seen, &texel.repeat(count))?;
    }
    done(stage)
}

pub(in super::super) use super::all_done as pixel;
