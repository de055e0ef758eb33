//! Pixels in memory: their names in the driver, which ones it reads, and what is made of those here.
//!
//! A driver reads few pairs of components and type: one or two for each class, and one that it chooses for each image
//! (OpenGL ES 3.2 section 16.1.2). Every other pair is made of one that it reads.

use runahead_wire::{
    format::{Format, FormatClass},
    values::{PixelFormat, PixelType},
};

use super::{BGRA, HALF_FLOAT, HALF_FLOAT_OES, spelling};
use crate::gl::Gl;

mod convert;

/// Components and type of pixels.
pub(crate) type Pair = (PixelFormat, PixelType);

/// Components, as the driver names them; nothing for those that it has no name for.
const fn components(format: PixelFormat) -> Option<u32> {
    Some(match format {
        PixelFormat::Red => glow::RED,
        PixelFormat::Rg => glow::RG,
        PixelFormat::Rgb => glow::RGB,
        PixelFormat::Rgba => glow::RGBA,
        PixelFormat::Bgra => BGRA,
        PixelFormat::RedInteger => glow::RED_INTEGER,
        PixelFormat::RgInteger => glow::RG_INTEGER,
        PixelFormat::RgbInteger => glow::RGB_INTEGER,
        PixelFormat::RgbaInteger => glow::RGBA_INTEGER,
        PixelFormat::DepthComponent => glow::DEPTH_COMPONENT,
        PixelFormat::StencilIndex => glow::STENCIL_INDEX,
        PixelFormat::DepthStencil => glow::DEPTH_STENCIL,
        PixelFormat::Alpha => glow::ALPHA,
        PixelFormat::Luminance => glow::LUMINANCE,
        PixelFormat::LuminanceAlpha => glow::LUMINANCE_ALPHA,
        _ => return None,
    })
}

/// A type, as the driver names it; nothing for those that it has no name for.
const fn kind(kind: PixelType) -> Option<u32> {
    Some(match kind {
        PixelType::Byte => glow::BYTE,
        PixelType::UnsignedByte => glow::UNSIGNED_BYTE,
        PixelType::Short => glow::SHORT,
        PixelType::UnsignedShort => glow::UNSIGNED_SHORT,
        PixelType::Int => glow::INT,
        PixelType::UnsignedInt => glow::UNSIGNED_INT,
        PixelType::HalfFloat => HALF_FLOAT,
        PixelType::Float => glow::FLOAT,
        PixelType::UnsignedShort565 => glow::UNSIGNED_SHORT_5_6_5,
        PixelType::UnsignedShort4444 => glow::UNSIGNED_SHORT_4_4_4_4,
        PixelType::UnsignedShort5551 => glow::UNSIGNED_SHORT_5_5_5_1,
        PixelType::UnsignedInt2101010Rev => glow::UNSIGNED_INT_2_10_10_10_REV,
        PixelType::UnsignedInt10F11F11FRev => glow::UNSIGNED_INT_10F_11F_11F_REV,
        PixelType::UnsignedInt5999Rev => glow::UNSIGNED_INT_5_9_9_9_REV,
        PixelType::UnsignedInt248 => glow::UNSIGNED_INT_24_8,
        PixelType::Float32UnsignedInt248Rev => glow::FLOAT_32_UNSIGNED_INT_24_8_REV,
        _ => return None,
    })
}

/// Both, as the driver names them.
fn named(pair: Pair) -> Option<(u32, u32)> {
    components(pair.0).zip(kind(pair.1))
}

/// The pair that the driver's names mean.
fn of_names(format: u32, name: u32) -> Option<Pair> {
    let all = (0..).map_while(PixelFormat::from_raw);
    let format = all.into_iter().find(|one| components(*one) == Some(format))?;
    let name = if name == HALF_FLOAT_OES { HALF_FLOAT } else { name };
    let kind = (0..).map_while(PixelType::from_raw).find(|one| kind(*one) == Some(name))?;
    Some((format, kind))
}

/// The pair that a format's texels have in memory; nothing for a format that the driver has no name for. Compressed
/// blocks are a pair of their own.
pub(crate) fn own(format: Format) -> Option<Pair> {
    if format.is_compressed() {
        return Some((PixelFormat::Compressed, PixelType::Undefined));
    }
    let spelling = spelling(format)?;
    of_names(spelling.format, spelling.kind)
}

/// Bytes of a pixel; nothing for what is no pair of pixels, and for compressed blocks.
pub(crate) const fn size((format, kind): Pair) -> Option<usize> {
    let unit = match kind {
        PixelType::Byte | PixelType::UnsignedByte => 1,
        PixelType::Short | PixelType::UnsignedShort | PixelType::HalfFloat => 2,
        PixelType::Int | PixelType::UnsignedInt | PixelType::Float => 4,
        PixelType::UnsignedByte332 | PixelType::UnsignedByte233Rev => return Some(1),
        PixelType::UnsignedShort565
        | PixelType::UnsignedShort565Rev
        | PixelType::UnsignedShort4444
        | PixelType::UnsignedShort4444Rev
        | PixelType::UnsignedShort5551
        | PixelType::UnsignedShort1555Rev => return Some(2),
        PixelType::UnsignedInt8888
        | PixelType::UnsignedInt8888Rev
        | PixelType::UnsignedInt1010102
        | PixelType::UnsignedInt2101010Rev
        | PixelType::UnsignedInt248
        | PixelType::UnsignedInt10F11F11FRev
        | PixelType::UnsignedInt5999Rev => return Some(4),
        PixelType::Float32UnsignedInt248Rev => return Some(8),
        PixelType::Undefined => return None,
    };
    let count = match format {
        PixelFormat::Rg | PixelFormat::RgInteger | PixelFormat::LuminanceAlpha => 2,
        PixelFormat::Rgb | PixelFormat::Bgr | PixelFormat::RgbInteger | PixelFormat::BgrInteger => 3,
        PixelFormat::Rgba | PixelFormat::Bgra | PixelFormat::RgbaInteger | PixelFormat::BgraInteger => 4,
        PixelFormat::Undefined | PixelFormat::Compressed | PixelFormat::DepthStencil => return None,
        _ => 1,
    };
    Some(unit * count)
}

/// What is read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Source {
    /// Format of the image that the driver reads.
    pub(crate) read: Format,
    /// Format whose bytes these are: another one where an image has been copied to a format that is read.
    pub(crate) meant: Format,
    /// Names of the pair that the driver chose for the image.
    pub(crate) chosen: (u32, u32),
}

/// How pixels are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Plan {
    /// Names of the pair that the driver is asked for.
    pub(crate) names: (u32, u32),
    /// Bytes of a pixel of it.
    pub(crate) pixel: usize,
    /// What is then made of them; nothing where they are what was asked for.
    pub(crate) convert: Option<Convert>,
}

/// What is made of pixels that were read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Convert {
    /// What the first bytes of each pixel are.
    from: Pair,
    /// Bytes from pixel to pixel.
    step: usize,
    to: Pair,
    /// Bytes of a pixel, or of a compressed block.
    pub(crate) size: usize,
}

impl Convert {
    /// The pixels that were asked for.
    pub(crate) fn apply(&self, bytes: &[u8]) -> Vec<u8> {
        let mut made = Vec::with_capacity(bytes.len() / self.step * self.size);
        for pixel in bytes.chunks_exact(self.step) {
            if self.from == self.to {
                made.extend_from_slice(&pixel[..self.size]);
            } else {
                convert::encode(self.to, convert::decode(self.from, pixel), &mut made);
            }
        }
        made
    }
}

/// Pairs that the driver reads images of a format as, beside the one that it chooses.
fn sure(gl: &Gl, format: Format) -> Vec<Pair> {
    use {PixelFormat as F, PixelType as T};
    let wide = matches!(format, Format::R16 | Format::Rg16 | Format::Rgba16);
    match format.class() {
        FormatClass::Unorm | FormatClass::Srgb => {
            let mut all = vec![(F::Rgba, T::UnsignedByte)];
            if format == Format::Rgb10A2 {
                all.insert(0, (F::Rgba, T::UnsignedInt2101010Rev));
            }
            if wide {
                all.insert(0, (F::Rgba, T::UnsignedShort));
            }
            if gl.has("GL_EXT_read_format_bgra") {
                all.push((F::Bgra, T::UnsignedByte));
            }
            all
        }
        FormatClass::Snorm if format.block().bytes == 1 || format == Format::Rg8Snorm => {
            vec![(F::Rgba, T::Byte)]
        }
        FormatClass::Snorm if format == Format::Rgba8Snorm => vec![(F::Rgba, T::Byte)],
        FormatClass::Snorm => vec![(F::Rgba, T::Short)],
        FormatClass::Float => vec![(F::Rgba, T::Float)],
        FormatClass::Int => vec![(F::RgbaInteger, T::Int)],
        FormatClass::Uint => vec![(F::RgbaInteger, T::UnsignedInt)],
        FormatClass::Depth | FormatClass::DepthStencil | FormatClass::Stencil => {
            let mut all = Vec::new();
            let float = matches!(format, Format::DepthComponent32F | Format::Depth32FStencil8);
            if gl.has("GL_NV_read_depth") && format.class() != FormatClass::Stencil {
                all.push((F::DepthComponent, if float { T::Float } else { T::UnsignedInt }));
            }
            if gl.has("GL_NV_read_stencil") && format.class() != FormatClass::Depth {
                all.push((F::StencilIndex, T::UnsignedByte));
            }
            if gl.has("GL_NV_read_depth_stencil") && format.class() == FormatClass::DepthStencil {
                let packed = if float { T::Float32UnsignedInt248Rev } else { T::UnsignedInt248 };
                all.push((F::DepthStencil, packed));
            }
            all
        }
        FormatClass::Undefined => Vec::new(),
    }
}

/// Whether the driver reads a format as it lies in memory.
pub(super) fn is_read(gl: &Gl, format: Format, drawn: bool) -> bool {
    drawn && own(format).is_some_and(|own| sure(gl, format).contains(&own))
}

const fn is_depth(format: PixelFormat) -> bool {
    matches!(format, PixelFormat::DepthComponent)
}

const fn is_integer(format: PixelFormat) -> bool {
    use PixelFormat as F;
    matches!(
        format,
        F::RedInteger
            | F::GreenInteger
            | F::BlueInteger
            | F::RgInteger
            | F::RgbInteger
            | F::BgrInteger
            | F::RgbaInteger
            | F::BgraInteger
    )
}

/// How pixels of an image are read as a pair; nothing where there is no way.
pub(crate) fn plan(gl: &Gl, source: &Source, wanted: Pair) -> Option<Plan> {
    let sure = sure(gl, source.read);
    if source.read != source.meant {
        return plan_of_copy(source, &sure, wanted);
    }
    let asked = named(wanted).filter(|names| sure.contains(&wanted) || *names == source.chosen);
    if let Some(names) = asked {
        return Some(Plan { names, pixel: size_of(wanted)?, convert: None });
    }
    let fits = |held: &&Pair| {
        let (from, to) = (held.0, wanted.0);
        is_integer(from) == is_integer(to)
            && is_depth(from) == is_depth(to)
            && (from == PixelFormat::StencilIndex) == (to == PixelFormat::StencilIndex)
            && from != PixelFormat::DepthStencil
    };
    let from = *sure.iter().find(fits)?;
    let to = convert::takes(wanted).then_some(wanted)?;
    let (step, size) = (size_of(from)?, size_of(to)?);
    Some(Plan { names: named(from)?, pixel: step, convert: Some(Convert { from, step, to, size }) })
}

/// The same for an image whose bits were copied to a format that is read.
fn plan_of_copy(source: &Source, sure: &[Pair], wanted: Pair) -> Option<Plan> {
    let own = own(source.meant)?;
    let bytes = usize::from(source.meant.block().bytes);
    let copy = self::own(source.read)?;
    let chosen = named(copy).filter(|names| *names == source.chosen || sure.contains(&copy));
    let (names, pixel) = match chosen {
        Some(names) => (names, bytes),
        None => {
            let read = *sure.first()?;
            (named(read)?, size_of(read)?)
        }
    };
    // The bits lie in the first bytes of a pixel, however wide its components were made.
    if own == wanted {
        let convert = (pixel != bytes).then_some(Convert { from: own, step: pixel, to: own, size: bytes });
        return Some(Plan { names, pixel, convert });
    }
    let takes = convert::takes(wanted) && convert::takes(own) && is_integer(own.0) == is_integer(wanted.0);
    let to = takes.then_some(wanted)?;
    let convert = Convert { from: own, step: pixel, to, size: size_of(to)? };
    Some(Plan { names, pixel, convert: Some(convert) })
}

/// As [`size`], for pairs of depth and stencil too.
const fn size_of(pair: Pair) -> Option<usize> {
    match pair {
        (PixelFormat::DepthStencil, PixelType::UnsignedInt248) => Some(4),
        (PixelFormat::DepthStencil, PixelType::Float32UnsignedInt248Rev) => Some(8),
        _ => size(pair),
    }
}

/// A format that is drawn to, so that it is read, and whose texels are as many bytes: images are copied to it bit by bit
/// (OpenGL ES 3.2 table 16.3).
pub(crate) const fn bits(format: Format) -> Option<Format> {
    match format.block().bytes {
        1 => Some(Format::R8Ui),
        2 => Some(Format::R16Ui),
        3 => Some(Format::Rgb8),
        4 => Some(Format::R32Ui),
        8 => Some(Format::Rg32Ui),
        16 => Some(Format::Rgba32Ui),
        _ => None,
    }
}
