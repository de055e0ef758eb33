//! Every format: its texels are uploaded, sampled, read, and drawn where it can be.
//!
//! A texel is chosen so that each component is a whole step of eight bits, or 0 or 1 where steps of the format are none.

use runahead_wire::{
    format::FormatClass,
    values::{FramebufferTarget, ValueClass},
};

use super::*;
use crate::scenes::{common::color, stage::empty_framebuffer};

use Format as F;
use PixelFormat as P;
use PixelType as K;

/// What the surface has where no format is shown.
const REST: [u8; 4] = [0, 0, 255, 0];
/// Cells along each side.
const SIDES: u32 = 16;

/// How a format is looked at beside being sampled.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Use {
    /// Drawn to, and read.
    Drawn,
    /// Read.
    Read,
    /// Neither.
    Sampled,
}
use Use::{Drawn, Read, Sampled};

type Case = (Format, P, K, &'static [u8], [u8; 4], Use);

const HALVES: [u8; 8] = [0x66, 0x32, 0x66, 0x36, 0xCD, 0x38, 0x66, 0x3A];
/// 1, 0, 1, 1: what is cleared to other ones may be rounded either way.
const WHOLE_HALVES: [u8; 8] = [0, 0x3C, 0, 0, 0, 0x3C, 0, 0x3C];
const FLOATS: [u8; 16] =
    [0xCD, 0xCC, 0x4C, 0x3E, 0xCD, 0xCC, 0xCC, 0x3E, 0x9A, 0x99, 0x19, 0x3F, 0xCD, 0xCC, 0x4C, 0x3F];
const SHORTS: [u8; 8] = [0x33, 0x33, 0x66, 0x66, 0x99, 0x99, 0xCC, 0xCC];
const NUMBERS: [u8; 16] = [51, 0, 0, 0, 102, 0, 0, 0, 153, 0, 0, 0, 204, 0, 0, 0];
const NARROW: [u8; 8] = [51, 0, 102, 0, 153, 0, 204, 0];
const STEPS: [u8; 4] = [51, 102, 153, 204];
const SIGNED: [u8; 4] = [127, 0, 127, 127];
const WIDE_SIGNED: [u8; 8] = [0xFF, 0x7F, 0, 0, 0xFF, 0x7F, 0xFF, 0x7F];

/// Components of a texel: as many as there are, and 0 and 1 for the others.
const fn of(count: usize, values: [u8; 4], one: u8) -> [u8; 4] {
    let mut all = [0, 0, 0, one];
    let mut at = 0;
    while at < count {
        all[at] = values[at];
        at += 1;
    }
    all
}

const ONES: [u8; 4] = [255, 0, 255, 255];
const RED: [u8; 4] = [255, 0, 0, 255];
/// A block of one colour: red of five bits, indices that choose it.
const BC1: [u8; 8] = [0x00, 0xF8, 0, 0, 0, 0, 0, 0];
const BC2: [u8; 16] = [255, 255, 255, 255, 255, 255, 255, 255, 0x00, 0xF8, 0, 0, 0, 0, 0, 0];
const BC3: [u8; 16] = [255, 0, 0, 0, 0, 0, 0, 0, 0x00, 0xF8, 0, 0, 0, 0, 0, 0];
/// Red of five bits, less 2; or red and 2 more, of which nothing is left of the others when they are linear.
const ETC: [u8; 8] = [0xF8, 0, 0, 0x02, 0xFF, 0xFF, 0, 0];
const ETC_MORE: [u8; 8] = [0xF8, 0, 0, 0x02, 0, 0, 0, 0];
const ETC_EAC: [u8; 16] = [204, 0, 0, 0, 0, 0, 0, 0, 0xF8, 0, 0, 0x02, 0xFF, 0xFF, 0, 0];
const ETC_EAC_MORE: [u8; 16] = [204, 0, 0, 0, 0, 0, 0, 0, 0xF8, 0, 0, 0x02, 0, 0, 0, 0];
const EAC: [u8; 16] = [255, 0, 255, 255, 255, 255, 255, 255, 255, 0, 255, 255, 255, 255, 255, 255];
const SIGNED_EAC: [u8; 16] = [127, 0, 255, 255, 255, 255, 255, 255, 127, 0, 255, 255, 255, 255, 255, 255];
const BC45: [u8; 16] = [51, 0, 0, 0, 0, 0, 0, 0, 102, 0, 0, 0, 0, 0, 0, 0];
const SIGNED_BC45: [u8; 16] = [127, 0, 0, 0, 0, 0, 0, 0, 127, 0, 0, 0, 0, 0, 0, 0];
/// Mode 6 with all ones.
const BC7: [u8; 16] = [0xC0, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255];
const BC6: [u8; 16] = [0; 16];
/// A block of one colour, of 16 bits a component.
const ASTC: [u8; 16] =
    [0xFC, 0xFD, 255, 255, 255, 255, 255, 255, 0x33, 0x33, 0x66, 0x66, 0x99, 0x99, 0xCC, 0xCC];
const ASTC_ONES: [u8; 16] = [0xFC, 0xFD, 255, 255, 255, 255, 255, 255, 255, 255, 0, 0, 255, 255, 255, 255];

const fn blocks(format: Format, block: &'static [u8], shown: [u8; 4]) -> Case {
    (format, P::Compressed, K::Undefined, block, shown, Read)
}

const CASES: &[Case] = &[
    (F::R8, P::Red, K::UnsignedByte, &[51], of(1, STEPS, 255), Drawn),
    (F::Rg8, P::Rg, K::UnsignedByte, &[51, 102], of(2, STEPS, 255), Drawn),
    (F::Rgb8, P::Rgb, K::UnsignedByte, &[51, 102, 153], of(3, STEPS, 255), Drawn),
    (F::Rgba8, P::Rgba, K::UnsignedByte, &STEPS, STEPS, Drawn),
    (F::Bgra8, P::Bgra, K::UnsignedByte, &[153, 102, 51, 204], STEPS, Drawn),
    (F::Srgb8, P::Rgb, K::UnsignedByte, &[255, 0, 255], ONES, Read),
    (F::Srgb8Alpha8, P::Rgba, K::UnsignedByte, &[255, 0, 255, 204], [255, 0, 255, 204], Drawn),
    (F::Sr8, P::Red, K::UnsignedByte, &[255], RED, Read),
    (F::Srg8, P::Rg, K::UnsignedByte, &[0, 255], [0, 255, 0, 255], Read),
    (F::R8Snorm, P::Red, K::Byte, &[127], RED, Drawn),
    (F::Rg8Snorm, P::Rg, K::Byte, &[0, 127], [0, 255, 0, 255], Drawn),
    (F::Rgb8Snorm, P::Rgb, K::Byte, &[127, 0, 127], ONES, Read),
    (F::Rgba8Snorm, P::Rgba, K::Byte, &SIGNED, ONES, Drawn),
    (F::R8I, P::RedInteger, K::Byte, &[51], of(1, STEPS, 1), Drawn),
    (F::Rg8I, P::RgInteger, K::Byte, &[51, 102], of(2, STEPS, 1), Drawn),
    (F::Rgb8I, P::RgbInteger, K::Byte, &[51, 102, 27], [51, 102, 27, 1], Read),
    (F::Rgba8I, P::RgbaInteger, K::Byte, &[51, 102, 27, 77], [51, 102, 27, 77], Drawn),
    (F::R8Ui, P::RedInteger, K::UnsignedByte, &[51], of(1, STEPS, 1), Drawn),
    (F::Rg8Ui, P::RgInteger, K::UnsignedByte, &[51, 102], of(2, STEPS, 1), Drawn),
    (F::Rgb8Ui, P::RgbInteger, K::UnsignedByte, &[51, 102, 153], of(3, STEPS, 1), Read),
    (F::Rgba8Ui, P::RgbaInteger, K::UnsignedByte, &STEPS, STEPS, Drawn),
    (F::R16, P::Red, K::UnsignedShort, SHORTS.first_chunk::<2>().unwrap(), of(1, STEPS, 255), Drawn),
    (F::Rg16, P::Rg, K::UnsignedShort, SHORTS.first_chunk::<4>().unwrap(), of(2, STEPS, 255), Drawn),
    (F::Rgb16, P::Rgb, K::UnsignedShort, SHORTS.first_chunk::<6>().unwrap(), of(3, STEPS, 255), Sampled),
    (F::Rgba16, P::Rgba, K::UnsignedShort, &SHORTS, STEPS, Drawn),
    (F::R16Snorm, P::Red, K::Short, WIDE_SIGNED.first_chunk::<2>().unwrap(), RED, Drawn),
    (F::Rg16Snorm, P::Rg, K::Short, WIDE_SIGNED.first_chunk::<4>().unwrap(), RED, Drawn),
    (F::Rgb16Snorm, P::Rgb, K::Short, WIDE_SIGNED.first_chunk::<6>().unwrap(), ONES, Sampled),
    (F::Rgba16Snorm, P::Rgba, K::Short, &WIDE_SIGNED, ONES, Drawn),
    (F::R16F, P::Red, K::HalfFloat, WHOLE_HALVES.first_chunk::<2>().unwrap(), RED, Drawn),
    (F::Rg16F, P::Rg, K::HalfFloat, WHOLE_HALVES.first_chunk::<4>().unwrap(), RED, Drawn),
    (F::Rgb16F, P::Rgb, K::HalfFloat, HALVES.first_chunk::<6>().unwrap(), of(3, STEPS, 255), Sampled),
    (F::Rgba16F, P::Rgba, K::HalfFloat, &WHOLE_HALVES, ONES, Drawn),
    (F::R16I, P::RedInteger, K::Short, NARROW.first_chunk::<2>().unwrap(), of(1, STEPS, 1), Drawn),
    (F::Rg16I, P::RgInteger, K::Short, NARROW.first_chunk::<4>().unwrap(), of(2, STEPS, 1), Drawn),
    (F::Rgb16I, P::RgbInteger, K::Short, NARROW.first_chunk::<6>().unwrap(), of(3, STEPS, 1), Sampled),
    (F::Rgba16I, P::RgbaInteger, K::Short, &NARROW, STEPS, Drawn),
    (F::R16Ui, P::RedInteger, K::UnsignedShort, NARROW.first_chunk::<2>().unwrap(), of(1, STEPS, 1), Drawn),
    (F::Rg16Ui, P::RgInteger, K::UnsignedShort, NARROW.first_chunk::<4>().unwrap(), of(2, STEPS, 1), Drawn),
    (
        F::Rgb16Ui,
        P::RgbInteger,
        K::UnsignedShort,
        NARROW.first_chunk::<6>().unwrap(),
        of(3, STEPS, 1),
        Sampled,
    ),
    (F::Rgba16Ui, P::RgbaInteger, K::UnsignedShort, &NARROW, STEPS, Drawn),
    (F::R32F, P::Red, K::Float, FLOATS.first_chunk::<4>().unwrap(), of(1, STEPS, 255), Drawn),
    (F::Rg32F, P::Rg, K::Float, FLOATS.first_chunk::<8>().unwrap(), of(2, STEPS, 255), Drawn),
    (F::Rgb32F, P::Rgb, K::Float, FLOATS.first_chunk::<12>().unwrap(), of(3, STEPS, 255), Sampled),
    (F::Rgba32F, P::Rgba, K::Float, &FLOATS, STEPS, Drawn),
    (F::R32I, P::RedInteger, K::Int, NUMBERS.first_chunk::<4>().unwrap(), of(1, STEPS, 1), Drawn),
    (F::Rg32I, P::RgInteger, K::Int, NUMBERS.first_chunk::<8>().unwrap(), of(2, STEPS, 1), Drawn),
    (F::Rgb32I, P::RgbInteger, K::Int, NUMBERS.first_chunk::<12>().unwrap(), of(3, STEPS, 1), Sampled),
    (F::Rgba32I, P::RgbaInteger, K::Int, &NUMBERS, STEPS, Drawn),
    (F::R32Ui, P::RedInteger, K::UnsignedInt, NUMBERS.first_chunk::<4>().unwrap(), of(1, STEPS, 1), Drawn),
    (F::Rg32Ui, P::RgInteger, K::UnsignedInt, NUMBERS.first_chunk::<8>().unwrap(), of(2, STEPS, 1), Drawn),
    (
        F::Rgb32Ui,
        P::RgbInteger,
        K::UnsignedInt,
        NUMBERS.first_chunk::<12>().unwrap(),
        of(3, STEPS, 1),
        Sampled,
    ),
    (F::Rgba32Ui, P::RgbaInteger, K::UnsignedInt, &NUMBERS, STEPS, Drawn),
    (F::Rgb565, P::Rgb, K::UnsignedShort565, &[0x1F, 0xF8], ONES, Drawn),
    (F::Rgba4, P::Rgba, K::UnsignedShort4444, &[0x9C, 0x36], STEPS, Drawn),
    (F::Rgb5A1, P::Rgba, K::UnsignedShort5551, &[0x3F, 0xF8], ONES, Drawn),
    (F::Rgb10A2, P::Rgba, K::UnsignedInt2101010Rev, &[0xFF, 0x03, 0xF0, 0x7F], [255, 0, 255, 85], Drawn),
    (
        F::Rgb10A2Ui,
        P::RgbaInteger,
        K::UnsignedInt2101010Rev,
        &[0x33, 0x98, 0x91, 0x81],
        [51, 102, 25, 2],
        Drawn,
    ),
    (F::R11fG11fB10f, P::Rgb, K::UnsignedInt10F11F11FRev, &[0xC0, 0x03, 0x00, 0x78], ONES, Drawn),
    (F::Rgb9E5, P::Rgb, K::UnsignedInt5999Rev, &[0x00, 0x01, 0x00, 0x84], ONES, Read),
    (F::Alpha8, P::Alpha, K::UnsignedByte, &[51], [0, 0, 0, 51], Sampled),
    (F::Luminance8, P::Luminance, K::UnsignedByte, &[51], [51, 51, 51, 255], Sampled),
    (F::Luminance8Alpha8, P::LuminanceAlpha, K::UnsignedByte, &[51, 102], [51, 51, 51, 102], Sampled),
    (F::Alpha16F, P::Alpha, K::HalfFloat, HALVES.first_chunk::<2>().unwrap(), [0, 0, 0, 51], Sampled),
    (
        F::Luminance16F,
        P::Luminance,
        K::HalfFloat,
        HALVES.first_chunk::<2>().unwrap(),
        [51, 51, 51, 255],
        Sampled,
    ),
    (
        F::LuminanceAlpha16F,
        P::LuminanceAlpha,
        K::HalfFloat,
        HALVES.first_chunk::<4>().unwrap(),
        [51, 51, 51, 102],
        Sampled,
    ),
    (F::Alpha32F, P::Alpha, K::Float, FLOATS.first_chunk::<4>().unwrap(), [0, 0, 0, 51], Sampled),
    (F::Luminance32F, P::Luminance, K::Float, FLOATS.first_chunk::<4>().unwrap(), [51, 51, 51, 255], Sampled),
    (
        F::LuminanceAlpha32F,
        P::LuminanceAlpha,
        K::Float,
        FLOATS.first_chunk::<8>().unwrap(),
        [51, 51, 51, 102],
        Sampled,
    ),
    (F::DepthComponent16, P::DepthComponent, K::UnsignedShort, &[0xFF, 0xFF], RED, Read),
    (F::DepthComponent24, P::DepthComponent, K::UnsignedInt, &[0xFF; 4], RED, Read),
    (F::DepthComponent32, P::DepthComponent, K::UnsignedInt, &[0xFF; 4], RED, Read),
    (
        F::DepthComponent32F,
        P::DepthComponent,
        K::Float,
        FLOATS.last_chunk::<4>().unwrap(),
        [204, 0, 0, 255],
        Read,
    ),
    (F::Depth24Stencil8, P::DepthStencil, K::UnsignedInt248, &[0x51, 0xFF, 0xFF, 0xFF], RED, Read),
    (
        F::Depth32FStencil8,
        P::DepthStencil,
        K::Float32UnsignedInt248Rev,
        &[0xCD, 0xCC, 0x4C, 0x3F, 0x51, 0, 0, 0],
        [204, 0, 0, 255],
        Read,
    ),
    (F::StencilIndex8, P::StencilIndex, K::UnsignedByte, &[51], [51, 0, 0, 1], Read),
    blocks(F::Etc1Rgb8, &ETC, [253, 0, 0, 255]),
    blocks(F::Rgb8Etc2, &ETC, [253, 0, 0, 255]),
    blocks(F::Srgb8Etc2, &ETC_MORE, RED),
    blocks(F::Rgb8PunchthroughAlpha1Etc2, &ETC, [253, 0, 0, 255]),
    blocks(F::Srgb8PunchthroughAlpha1Etc2, &ETC_MORE, RED),
    blocks(F::Rgba8Etc2Eac, &ETC_EAC, [253, 0, 0, 204]),
    blocks(F::Srgb8Alpha8Etc2Eac, &ETC_EAC_MORE, [255, 0, 0, 204]),
    blocks(F::R11Eac, EAC.first_chunk::<8>().unwrap(), RED),
    blocks(F::SignedR11Eac, SIGNED_EAC.first_chunk::<8>().unwrap(), RED),
    blocks(F::Rg11Eac, &EAC, [255, 255, 0, 255]),
    blocks(F::SignedRg11Eac, &SIGNED_EAC, [255, 255, 0, 255]),
    blocks(F::RgbS3tcDxt1, &BC1, RED),
    blocks(F::RgbaS3tcDxt1, &BC1, RED),
    blocks(F::RgbaS3tcDxt3, &BC2, RED),
    blocks(F::RgbaS3tcDxt5, &BC3, RED),
    blocks(F::SrgbS3tcDxt1, &BC1, RED),
    blocks(F::SrgbAlphaS3tcDxt1, &BC1, RED),
    blocks(F::SrgbAlphaS3tcDxt3, &BC2, RED),
    blocks(F::SrgbAlphaS3tcDxt5, &BC3, RED),
    blocks(F::RedRgtc1, BC45.first_chunk::<8>().unwrap(), [51, 0, 0, 255]),
    blocks(F::SignedRedRgtc1, SIGNED_BC45.first_chunk::<8>().unwrap(), RED),
    blocks(F::RgRgtc2, &BC45, [51, 102, 0, 255]),
    blocks(F::SignedRgRgtc2, &SIGNED_BC45, [255, 255, 0, 255]),
    blocks(F::RgbaBptcUnorm, &BC7, [255; 4]),
    blocks(F::SrgbAlphaBptcUnorm, &BC7, [255; 4]),
    blocks(F::RgbBptcSignedFloat, &BC6, [0, 0, 0, 255]),
    blocks(F::RgbBptcUnsignedFloat, &BC6, [0, 0, 0, 255]),
    blocks(F::RgbaAstc4x4, &ASTC, STEPS),
    blocks(F::RgbaAstc5x4, &ASTC, STEPS),
    blocks(F::RgbaAstc5x5, &ASTC, STEPS),
    blocks(F::RgbaAstc6x5, &ASTC, STEPS),
    blocks(F::RgbaAstc6x6, &ASTC, STEPS),
    blocks(F::RgbaAstc8x5, &ASTC, STEPS),
    blocks(F::RgbaAstc8x6, &ASTC, STEPS),
    blocks(F::RgbaAstc8x8, &ASTC, STEPS),
    blocks(F::RgbaAstc10x5, &ASTC, STEPS),
    blocks(F::RgbaAstc10x6, &ASTC, STEPS),
    blocks(F::RgbaAstc10x8, &ASTC, STEPS),
    blocks(F::RgbaAstc10x10, &ASTC, STEPS),
    blocks(F::RgbaAstc12x10, &ASTC, STEPS),
    blocks(F::RgbaAstc12x12, &ASTC, STEPS),
    blocks(F::Srgb8Alpha8Astc4x4, &ASTC_ONES, ONES),
    blocks(F::Srgb8Alpha8Astc5x4, &ASTC_ONES, ONES),
    blocks(F::Srgb8Alpha8Astc5x5, &ASTC_ONES, ONES),
    blocks(F::Srgb8Alpha8Astc6x5, &ASTC_ONES, ONES),
    blocks(F::Srgb8Alpha8Astc6x6, &ASTC_ONES, ONES),
    blocks(F::Srgb8Alpha8Astc8x5, &ASTC_ONES, ONES),
    blocks(F::Srgb8Alpha8Astc8x6, &ASTC_ONES, ONES),
    blocks(F::Srgb8Alpha8Astc8x8, &ASTC_ONES, ONES),
    blocks(F::Srgb8Alpha8Astc10x5, &ASTC_ONES, ONES),
    blocks(F::Srgb8Alpha8Astc10x6, &ASTC_ONES, ONES),
    blocks(F::Srgb8Alpha8Astc10x8, &ASTC_ONES, ONES),
    blocks(F::Srgb8Alpha8Astc10x10, &ASTC_ONES, ONES),
    blocks(F::Srgb8Alpha8Astc12x10, &ASTC_ONES, ONES),
    blocks(F::Srgb8Alpha8Astc12x12, &ASTC_ONES, ONES),
];

/// Every format but for none has its line.
const _: () = assert!(CASES.len() + 1 == Format::ALL.len());

/// What a program reads a format as.
const fn class(format: Format) -> ScalarType {
    match format.class() {
        FormatClass::Int => ScalarType::Int,
        FormatClass::Uint | FormatClass::Stencil => ScalarType::UnsignedInt,
        _ => ScalarType::Float,
    }
}

pub(in super::super) fn draw<S: Session>(stage: &mut Stage<'_, S>) -> Result<(), StageError> {
    stage.clear(color(REST))?;
    let mut textures = Vec::new();
    for (format, components, kind, texel, shown, used) in CASES {
        let block = format.block();
        let (width, height) = match format.is_compressed() {
            true => (u32::from(block.width), u32::from(block.height)),
            false => (2, 2),
        };
        let texture = stage.image(shape(ResourceTarget::Texture2D, *format, width, height))?;
        let whole = extent(width, height, 1);
        let count = if format.is_compressed() { 1 } else { 4 };
        stage.fill(texture, 0, whole, &texel.repeat(count))?;
        textures.push(texture);
        let sight = Sight { texture, level: 0, region: whole, format: *components, kind: *kind };
        let name = format!("{format:?}");
        let wanted = match *format {
            // The lower bits are not kept.
            F::DepthComponent24 | F::DepthComponent32 => vec![0xFF; 16],
            _ => texel.repeat(count),
        };
        if *used != Sampled {
            stage.shows(&name, &sight, &wanted)?;
        }
        if *used == Drawn {
            let drawn = stage.image(shape(ResourceTarget::Texture2D, *format, 2, 2))?;
            let mut state = empty_framebuffer();
            state.color[0] = stage.attachment(drawn, 0, 0)?;
            state.read_surface = state.color[0];
            (state.width, state.height) = (2, 2);
            stage.bind(FramebufferTarget::Both, &state);
            let (class, value) = match class(*format) {
                ScalarType::Int => (ValueClass::Int, shown.map(u32::from)),
                ScalarType::UnsignedInt => (ValueClass::Uint, shown.map(u32::from)),
                _ => (ValueClass::Float, color(*shown).map(f32::to_bits)),
            };
            stage.clear_color(0, class, value)?;
            let name = format!("{format:?} drawn");
            stage.shows(&name, &Sight { texture: drawn, ..sight }, &wanted)?;
            stage.shows(&name, &Sight { texture: Handle::NULL, ..sight }, &wanted)?;
            stage.target(Handle::NULL);
        }
    }
    quad(stage)?;
    for (scalar, sampler, read) in [
        (ScalarType::Float, "sampler2D", "texture(image, at)"),
        (ScalarType::Int, "isampler2D", "vec4(texture(image, at)) / 255.0"),
        (ScalarType::UnsignedInt, "usampler2D", "vec4(texture(image, at)) / 255.0"),
    ] {
        program(stage, sampler, (ResourceTarget::Texture2D, scalar), read)?;
        for (number, (case, texture)) in (0..).zip(CASES.iter().zip(&textures)) {
            if class(case.0) != scalar {
                continue;
            }
            stage.sample(*texture)?;
            let side = SIDE / SIDES;
            let viewport = &mut stage.tracker().render_state().viewports[0];
            (viewport.x, viewport.y) = ((number % SIDES * side) as f32, (number / SIDES * side) as f32);
            (viewport.width, viewport.height) = (side as f32, side as f32);
            stage.draw(Topology::TriangleStrip, 0, 4)?;
        }
    }
    Ok(())
}

pub(in super::super) fn pixel(x: u32, y: u32) -> [u8; 4] {
    let side = SIDE / SIDES;
    let number = y / side * SIDES + x / side;
    CASES.get(number as usize).map_or(REST, |case| case.4)
}
