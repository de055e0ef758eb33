//! Pixels of one pair from pixels of another one.

use runahead_wire::values::{PixelFormat, PixelType};

use super::{Pair, is_integer};

/// Whether pixels of a pair can be made, and be read.
pub(super) const fn takes((format, kind): Pair) -> bool {
    !matches!(format, PixelFormat::Undefined | PixelFormat::Compressed | PixelFormat::DepthStencil)
        && !matches!(
            kind,
            PixelType::Undefined | PixelType::UnsignedInt248 | PixelType::Float32UnsignedInt248Rev
        )
}

/// Where the components of a pixel come from: red, green, blue, alpha.
const fn order(format: PixelFormat) -> &'static [usize] {
    use PixelFormat as F;
    match format {
        F::Rg | F::RgInteger => &[0, 1],
        F::Rgb | F::RgbInteger => &[0, 1, 2],
        F::Bgr | F::BgrInteger => &[2, 1, 0],
        F::Rgba | F::RgbaInteger => &[0, 1, 2, 3],
        F::Bgra | F::BgraInteger => &[2, 1, 0, 3],
        F::Green | F::GreenInteger => &[1],
        F::Blue | F::BlueInteger => &[2],
        F::Alpha => &[3],
        F::LuminanceAlpha => &[0, 3],
        _ => &[0],
    }
}

/// Bits of the components of a packed pixel, and whether the first one has the lowest.
const fn fields(kind: PixelType) -> Option<(&'static [u32], bool)> {
    use PixelType as T;
    Some(match kind {
        T::UnsignedByte332 => (&[3, 3, 2], false),
        T::UnsignedByte233Rev => (&[3, 3, 2], true),
        T::UnsignedShort565 => (&[5, 6, 5], false),
        T::UnsignedShort565Rev => (&[5, 6, 5], true),
        T::UnsignedShort4444 => (&[4, 4, 4, 4], false),
        T::UnsignedShort4444Rev => (&[4, 4, 4, 4], true),
        T::UnsignedShort5551 => (&[5, 5, 5, 1], false),
        T::UnsignedShort1555Rev => (&[5, 5, 5, 1], true),
        T::UnsignedInt8888 => (&[8, 8, 8, 8], false),
        T::UnsignedInt8888Rev => (&[8, 8, 8, 8], true),
        T::UnsignedInt1010102 => (&[10, 10, 10, 2], false),
        T::UnsignedInt2101010Rev => (&[10, 10, 10, 2], true),
        _ => return None,
    })
}

/// Lowest bit of each field.
fn shifts(fields: &[u32], reversed: bool) -> Vec<u32> {
    let all: u32 = fields.iter().sum();
    let mut at = 0;
    let from_first = fields.iter().map(|bits| {
        at += bits;
        if reversed { at - bits } else { all - at }
    });
    from_first.collect()
}

/// The word that bytes are the first of, lowest first.
fn word(bytes: &[u8]) -> u32 {
    bytes.iter().take(4).rev().fold(0, |word, byte| word << 8 | u32::from(*byte))
}

/// An unsigned float of 5 bits of exponent and as many of mantissa as are given (OpenGL ES 3.2 section 2.3.4).
fn small_float(bits: u32, mantissa: u32) -> f64 {
    let (exponent, fraction) = (bits >> mantissa, f64::from(bits & ((1 << mantissa) - 1)));
    let scale = f64::from(1_u32 << mantissa);
    match exponent {
        0 => fraction / scale * 2_f64.powi(-14),
        31 if fraction == 0.0 => f64::INFINITY,
        31 => f64::NAN,
        _ => (1.0 + fraction / scale) * 2_f64.powi(exponent as i32 - 15),
    }
}

/// The nearest such float.
fn to_small_float(value: f64, mantissa: u32) -> u32 {
    if value.is_nan() {
        return 31 << mantissa | 1;
    }
    let all = 31 << mantissa;
    if value <= 0.0 {
        return 0;
    }
    // Positive floats are in the order of their bits: the last that is not greater, or the one behind it.
    let (mut low, mut high) = (0, all);
    while low + 1 < high {
        let middle = u32::midpoint(low, high);
        if small_float(middle, mantissa) <= value { low = middle } else { high = middle }
    }
    let (under, over) = (small_float(low, mantissa), small_float(high, mantissa));
    if high == all {
        // No finite one is greater.
        return if value.is_infinite() { all } else { low };
    }
    if value - under < over - value || value - under == over - value && low % 2 == 0 { low } else { high }
}

/// A float of one sign bit, 5 bits of exponent and 10 of mantissa.
fn to_half(value: f64) -> u16 {
    let sign = if value.is_sign_negative() { 0x8000 } else { 0 };
    let magnitude = value.abs();
    // Halfway behind the largest begins infinity.
    let bits = if magnitude >= 65520.0 { 0x7C00 } else { to_small_float(magnitude, 10) as u16 };
    sign | bits
}

fn from_half(bits: u16) -> f64 {
    let magnitude = small_float(u32::from(bits & 0x7FFF), 10);
    if bits & 0x8000 == 0 { magnitude } else { -magnitude }
}

/// Red, green, blue and alpha of a pixel: numbers of integer formats as they are, others as what they stand for.
pub(super) fn decode((format, kind): Pair, bytes: &[u8]) -> [f64; 4] {
    let mut values = [0.0; 4];
    let integer = is_integer(format) || format == PixelFormat::StencilIndex;
    match kind {
        PixelType::UnsignedInt10F11F11FRev => {
            let word = word(bytes);
            values = [
                small_float(word & 0x7FF, 6),
                small_float(word >> 11 & 0x7FF, 6),
                small_float(word >> 22, 5),
                0.0,
            ];
        }
        PixelType::UnsignedInt5999Rev => {
            let word = word(bytes);
            let scale = 2_f64.powi((word >> 27) as i32 - 24);
            for (at, value) in values.iter_mut().take(3).enumerate() {
                *value = f64::from(word >> (9 * at) & 0x1FF) * scale;
            }
        }
        _ => match fields(kind) {
            Some((fields, reversed)) => {
                let word = word(bytes);
                for ((value, bits), shift) in values.iter_mut().zip(fields).zip(shifts(fields, reversed)) {
                    let largest = (1_u64 << bits) - 1;
                    let field = f64::from(word >> shift & largest as u32);
                    *value = if integer { field } else { field / largest as f64 };
                }
            }
            None => {
                let unit = super::size((PixelFormat::Red, kind)).unwrap_or(1);
                for (value, bytes) in values.iter_mut().zip(bytes.chunks_exact(unit)) {
                    *value = one(kind, integer, word(bytes));
                }
            }
        },
    }
    let mut color = [0.0, 0.0, 0.0, 1.0];
    let count = if kind == PixelType::UnsignedInt10F11F11FRev { 3 } else { 4 };
    for (from, to) in order(format).iter().enumerate().take(count) {
        color[*to] = values[from];
    }
    if matches!(format, PixelFormat::Luminance | PixelFormat::LuminanceAlpha) {
        (color[1], color[2]) = (color[0], color[0]);
    }
    color
}

/// A component.
fn one(kind: PixelType, integer: bool, word: u32) -> f64 {
    let signed = |value: i32, largest: i32| {
        let value = f64::from(value);
        if integer { value } else { (value / f64::from(largest)).max(-1.0) }
    };
    let unsigned = |largest: u32| {
        let value = f64::from(word & largest);
        if integer { value } else { value / f64::from(largest) }
    };
    match kind {
        PixelType::Byte => signed(i32::from(word as u8 as i8), 0x7F),
        PixelType::Short => signed(i32::from(word as u16 as i16), 0x7FFF),
        PixelType::Int => signed(word as i32, i32::MAX),
        PixelType::UnsignedByte => unsigned(0xFF),
        PixelType::UnsignedShort => unsigned(0xFFFF),
        PixelType::HalfFloat => from_half(word as u16),
        PixelType::Float => f64::from(f32::from_bits(word)),
        _ => unsigned(u32::MAX),
    }
}

/// Appends a pixel.
pub(super) fn encode((format, kind): Pair, color: [f64; 4], to: &mut Vec<u8>) {
    let integer = is_integer(format) || format == PixelFormat::StencilIndex;
    let values = order(format).iter().map(|at| color[*at]);
    let ranged = |value: f64, low: f64, largest: f64| {
        let value = if integer { value } else { value * largest };
        // Halves go up, as GL rounds to the nearest without saying which.
        value.clamp(low, largest).round()
    };
    match kind {
        PixelType::UnsignedInt10F11F11FRev => {
            let [red, green, blue, _] = color;
            let word =
                to_small_float(red, 6) | to_small_float(green, 6) << 11 | to_small_float(blue, 5) << 22;
            to.extend_from_slice(&word.to_le_bytes());
        }
        PixelType::UnsignedInt5999Rev => to.extend_from_slice(&shared_exponent(color).to_le_bytes()),
        _ => match fields(kind) {
            Some((fields, reversed)) => {
                let mut word = 0_u32;
                for ((value, bits), shift) in values.zip(fields).zip(shifts(fields, reversed)) {
                    let largest = ((1_u64 << bits) - 1) as f64;
                    word |= (ranged(value, 0.0, largest) as u32) << shift;
                }
                let size = super::size((format, kind)).unwrap_or(0);
                to.extend_from_slice(&word.to_le_bytes()[..size]);
            }
            None => {
                for value in values {
                    match kind {
                        PixelType::Byte => {
                            to.push(ranged(value, if integer { -128.0 } else { -127.0 }, 127.0) as i8 as u8);
                        }
                        PixelType::Short => {
                            let low = if integer { -32768.0 } else { -32767.0 };
                            to.extend_from_slice(&(ranged(value, low, 32767.0) as i16).to_le_bytes());
                        }
                        PixelType::Int => {
                            let largest = f64::from(i32::MAX);
                            let low = if integer { f64::from(i32::MIN) } else { -largest };
                            to.extend_from_slice(&(ranged(value, low, largest) as i32).to_le_bytes());
                        }
                        PixelType::UnsignedByte => to.push(ranged(value, 0.0, 255.0) as u8),
                        PixelType::UnsignedShort => {
                            to.extend_from_slice(&(ranged(value, 0.0, 65535.0) as u16).to_le_bytes());
                        }
                        PixelType::HalfFloat => to.extend_from_slice(&to_half(value).to_le_bytes()),
                        PixelType::Float => to.extend_from_slice(&(value as f32).to_le_bytes()),
                        _ => {
                            let largest = f64::from(u32::MAX);
                            to.extend_from_slice(&(ranged(value, 0.0, largest) as u32).to_le_bytes());
                        }
                    }
                }
            }
        },
    }
}

/// Three mantissas of 9 bits with one exponent (OpenGL ES 3.2 section 8.5.2).
fn shared_exponent(color: [f64; 4]) -> u32 {
    /// The largest number that it has.
    const LARGEST: f64 = 65408.0;
    let [red, green, blue, _] = color.map(|value| if value > 0.0 { value.min(LARGEST) } else { 0.0 });
    let most = red.max(green).max(blue);
    let mut exponent = if most > 0.0 { (most.log2().floor() as i32).max(-16) + 16 } else { 0 };
    if (most / 2_f64.powi(exponent - 24) + 0.5).floor() >= 512.0 {
        exponent += 1;
    }
    let scale = 2_f64.powi(exponent - 24);
    let part = |value: f64| ((value / scale + 0.5).floor() as u32).min(0x1FF);
    (exponent as u32) << 27 | part(blue) << 18 | part(green) << 9 | part(red)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made(from: Pair, to: Pair, bytes: &[u8]) -> Vec<u8> {
        let mut made = Vec::new();
        encode(to, decode(from, bytes), &mut made);
        made
    }

    const RGBA8: Pair = (PixelFormat::Rgba, PixelType::UnsignedByte);

    #[test]
    fn components_go_to_their_places() {
        let pixel = [10, 20, 30, 40];
        let to = |format| made(RGBA8, (format, PixelType::UnsignedByte), &pixel);
        assert_eq!(to(PixelFormat::Bgra), [30, 20, 10, 40]);
        assert_eq!(to(PixelFormat::Rgb), [10, 20, 30]);
        assert_eq!(to(PixelFormat::Bgr), [30, 20, 10]);
        assert_eq!(to(PixelFormat::Alpha), [40]);
        assert_eq!(to(PixelFormat::Green), [20]);
        assert_eq!(to(PixelFormat::LuminanceAlpha), [10, 40]);
    }

    #[test]
    fn packed_pixels_have_their_first_component_where_it_belongs() {
        let red = [255, 0, 0, 0];
        let to = |kind| made(RGBA8, (PixelFormat::Rgba, kind), &red);
        assert_eq!(to(PixelType::UnsignedShort4444), 0xF000_u16.to_le_bytes());
        assert_eq!(to(PixelType::UnsignedShort4444Rev), 0x000F_u16.to_le_bytes());
        assert_eq!(to(PixelType::UnsignedShort5551), 0xF800_u16.to_le_bytes());
        assert_eq!(to(PixelType::UnsignedShort1555Rev), 0x001F_u16.to_le_bytes());
        assert_eq!(to(PixelType::UnsignedInt1010102), 0xFFC0_0000_u32.to_le_bytes());
        assert_eq!(to(PixelType::UnsignedInt8888), 0xFF00_0000_u32.to_le_bytes());
        let packed = (PixelFormat::Rgb, PixelType::UnsignedByte332);
        assert_eq!(made(RGBA8, packed, &red), [0xE0]);
        assert_eq!(
            made((PixelFormat::Rgba, PixelType::UnsignedShort5551), RGBA8, &[0x01, 0x00]),
            [0, 0, 0, 255]
        );
    }

    #[test]
    fn floats_of_few_bits_come_back() {
        for bits in (0..0x7C00_u16).step_by(37).chain([1, 0x3FF, 0x400, 0x7BFF]) {
            for signed in [bits, bits | 0x8000] {
                assert_eq!(to_half(from_half(signed)), signed, "{signed:#x}");
            }
        }
        assert_eq!(from_half(0x3C00), 1.0);
        assert_eq!(to_half(65519.0), 0x7BFF);
        assert_eq!(to_half(65520.0), 0x7C00);
        let float = (PixelFormat::Rgb, PixelType::Float);
        let floats: Vec<u8> = [1.0_f32, 0.5, 2.0].iter().flat_map(|value| value.to_le_bytes()).collect();
        for kind in [PixelType::UnsignedInt10F11F11FRev, PixelType::UnsignedInt5999Rev] {
            let packed = made(float, (PixelFormat::Rgb, kind), &floats);
            assert_eq!(made((PixelFormat::Rgb, kind), float, &packed), floats, "{kind:?}");
        }
    }

    #[test]
    fn signed_and_wide_components_keep_their_range() {
        let snorm = (PixelFormat::Red, PixelType::Byte);
        let float = (PixelFormat::Red, PixelType::Float);
        assert_eq!(made(snorm, float, &[0x80]), (-1.0_f32).to_le_bytes());
        assert_eq!(made(snorm, float, &[0x7F]), 1.0_f32.to_le_bytes());
        assert_eq!(made(float, snorm, &(-1.0_f32).to_le_bytes()), [0x81]);
        let (wide, narrow) = (
            (PixelFormat::RedInteger, PixelType::UnsignedInt),
            (PixelFormat::RedInteger, PixelType::UnsignedByte),
        );
        assert_eq!(made(wide, narrow, &300_u32.to_le_bytes()), [255]);
        assert_eq!(made(wide, wide, &u32::MAX.to_le_bytes()), u32::MAX.to_le_bytes());
    }
}
