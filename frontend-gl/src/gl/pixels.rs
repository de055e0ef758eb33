//! Pixels in the application's memory.
//!
//! Source: OpenGL ES 2.0.25 sections 3.6 and 4.3.1.

use runahead_wire::format::Format;

use super::{
    enums,
    error::{Error, Outcome},
    limits::Limits,
};

/// What pixels of a format and type are on the wire (table 3.4): texels of a format with the same bytes, so none is
/// converted.
pub(crate) fn texel(limits: &Limits, format: u32, kind: u32) -> Outcome<Format> {
    use enums::{
        ALPHA, BGRA_EXT, LUMINANCE, LUMINANCE_ALPHA, RGB, RGBA, UNSIGNED_BYTE, UNSIGNED_SHORT_4_4_4_4,
        UNSIGNED_SHORT_5_5_5_1, UNSIGNED_SHORT_5_6_5,
    };
    let known = is_color(limits, format);
    let packed = matches!(kind, UNSIGNED_SHORT_5_6_5 | UNSIGNED_SHORT_4_4_4_4 | UNSIGNED_SHORT_5_5_5_1);
    Ok(match (format, kind) {
        _ if !known || !(packed || kind == UNSIGNED_BYTE) => return Err(Error::InvalidEnum),
        (RGBA, UNSIGNED_BYTE) => Format::Rgba8,
        (RGBA, UNSIGNED_SHORT_4_4_4_4) => Format::Rgba4,
        (RGBA, UNSIGNED_SHORT_5_5_5_1) => Format::Rgb5A1,
        (RGB, UNSIGNED_BYTE) => Format::Rgb8,
        (RGB, UNSIGNED_SHORT_5_6_5) => Format::Rgb565,
        (LUMINANCE_ALPHA, UNSIGNED_BYTE) => Format::Luminance8Alpha8,
        (LUMINANCE, UNSIGNED_BYTE) => Format::Luminance8,
        (ALPHA, UNSIGNED_BYTE) => Format::Alpha8,
        (BGRA_EXT, UNSIGNED_BYTE) => Format::Bgra8,
        _ => return Err(Error::InvalidOperation),
    })
}

/// Whether a number is a format of colours.
pub(crate) fn is_color(limits: &Limits, format: u32) -> bool {
    use enums::{ALPHA, BGRA_EXT, LUMINANCE, LUMINANCE_ALPHA, RGB, RGBA};
    matches!(format, ALPHA | RGB | RGBA | LUMINANCE | LUMINANCE_ALPHA)
        || (format == BGRA_EXT && limits.has("GL_EXT_texture_format_BGRA8888"))
}

/// How rows of pixels lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Rows {
    /// Bytes of a row's pixels.
    pub(crate) row: u64,
    /// Bytes from row to row.
    pub(crate) stride: u64,
    /// Bytes from the first to behind the last.
    pub(crate) all: u64,
}

impl Rows {
    /// Rows of pixels of so many bytes, each row at a multiple of `alignment` (equation 3.14).
    pub(crate) const fn new(width: u32, height: u32, bytes: u32, alignment: u32) -> Self {
        let row = width as u64 * bytes as u64;
        let stride = row.next_multiple_of(alignment as u64);
        let all = if row == 0 || height == 0 { 0 } else { stride * (height as u64 - 1) + row };
        Self { row, stride, all }
    }
}

/// Components that a format has: red, green, blue, alpha, luminance; for what may be copied into what (table 3.9).
pub(crate) const fn has_components(of: Format, needs: u32) -> bool {
    use enums::{ALPHA, LUMINANCE, LUMINANCE_ALPHA, RGB};
    let alpha = matches!(
        of,
        Format::Rgba8
            | Format::Rgba4
            | Format::Rgb5A1
            | Format::Bgra8
            | Format::Alpha8
            | Format::Luminance8Alpha8
            | Format::Srgb8Alpha8
            | Format::Rgb10A2
            | Format::Rgba16F
    );
    let color = !matches!(of, Format::Alpha8 | Format::Undefined);
    match needs {
        ALPHA => alpha,
        RGB | LUMINANCE => color,
        LUMINANCE_ALPHA => color && alpha,
        _ => color && alpha,
    }
}

/// The colour of a texel, each component as 8 bits.
fn decode(format: Format, bytes: &[u8]) -> [u8; 4] {
    let byte = |at: usize| bytes.get(at).copied().unwrap_or(0);
    let word = u16::from_ne_bytes([byte(0), byte(1)]);
    // The largest value of a component stands for 1.
    let part = |shift: u32, bits: u32| {
        let most = (1 << bits) - 1;
        let value = u32::from(word >> shift) & most;
        ((value * 255 + most / 2) / most) as u8
    };
    match format {
        Format::Rgba8 => [byte(0), byte(1), byte(2), byte(3)],
        Format::Bgra8 => [byte(2), byte(1), byte(0), byte(3)],
        Format::Rgb8 => [byte(0), byte(1), byte(2), 255],
        Format::Rgb565 => [part(11, 5), part(5, 6), part(0, 5), 255],
        Format::Rgba4 => [part(12, 4), part(8, 4), part(4, 4), part(0, 4)],
        Format::Rgb5A1 => [part(11, 5), part(6, 5), part(1, 5), part(0, 1)],
        Format::Luminance8Alpha8 => [byte(0), byte(0), byte(0), byte(1)],
        Format::Luminance8 => [byte(0), byte(0), byte(0), 255],
        _ => [0, 0, 0, byte(0)],
    }
}

/// Appends a texel of a colour.
fn encode(format: Format, [red, green, blue, alpha]: [u8; 4], out: &mut Vec<u8>) {
    let part = |value: u8, bits: u32| (u32::from(value) * ((1 << bits) - 1) + 127) / 255;
    let mut word = |word: u32| out.extend_from_slice(&(word as u16).to_ne_bytes());
    match format {
        Format::Rgba8 => out.extend_from_slice(&[red, green, blue, alpha]),
        Format::Bgra8 => out.extend_from_slice(&[blue, green, red, alpha]),
        Format::Rgb8 => out.extend_from_slice(&[red, green, blue]),
        Format::Rgb565 => word(part(red, 5) << 11 | part(green, 6) << 5 | part(blue, 5)),
        Format::Rgba4 => {
            word(part(red, 4) << 12 | part(green, 4) << 8 | part(blue, 4) << 4 | part(alpha, 4));
        }
        Format::Rgb5A1 => {
            word(part(red, 5) << 11 | part(green, 5) << 6 | part(blue, 5) << 1 | part(alpha, 1));
        }
        Format::Luminance8Alpha8 => out.extend_from_slice(&[red, alpha]),
        Format::Luminance8 => out.push(red),
        _ => out.push(alpha),
    }
}

/// Appends texels, without gaps, as another format has them.
pub(crate) fn convert(
    bytes: &[u8],
    rows: Rows,
    (from, to): (Format, Format),
    (width, height): (u32, u32),
    out: &mut Vec<u8>,
) {
    let size = usize::from(from.block().bytes).max(1);
    for row in 0..u64::from(height) {
        let start = (row * rows.stride) as usize;
        let texels = bytes.get(start..start + rows.row as usize).unwrap_or_default();
        for texel in texels.chunks_exact(size).take(width as usize) {
            encode(to, decode(from, texel), out);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_begin_at_multiples_and_the_last_ends_with_its_pixels() {
        let rows = |width, height, bytes, alignment| {
            let rows = Rows::new(width, height, bytes, alignment);
            (rows.row, rows.stride, rows.all)
        };
        assert_eq!(rows(3, 2, 3, 4), (9, 12, 21));
        assert_eq!(rows(3, 2, 3, 1), (9, 9, 18));
        assert_eq!(rows(3, 2, 2, 8), (6, 8, 14));
        assert_eq!(rows(0, 2, 4, 4), (0, 0, 0));
        assert_eq!(rows(1, 0, 4, 4).2, 0);
    }

    #[test]
    fn texels_survive_a_format_that_holds_them() {
        let formats = [
            Format::Rgba8,
            Format::Bgra8,
            Format::Rgb8,
            Format::Rgb565,
            Format::Rgba4,
            Format::Rgb5A1,
            Format::Luminance8Alpha8,
            Format::Luminance8,
            Format::Alpha8,
        ];
        for format in formats {
            let size = usize::from(format.block().bytes);
            for seed in 0..=255_u8 {
                let texel: Vec<u8> =
                    (0..size).map(|at| seed.wrapping_mul(31).wrapping_add(at as u8 * 77)).collect();
                let mut out = Vec::new();
                encode(format, decode(format, &texel), &mut out);
                assert_eq!(out, texel, "{format:?}");
            }
        }
    }
}
