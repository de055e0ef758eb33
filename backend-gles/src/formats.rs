//! Formats, as OpenGL ES spells them (OpenGL ES 3.2 tables 8.2 and 8.10).

use runahead_wire::{
    format::{Format, FormatClass},
    values::{FormatFeatures, PixelFormat, PixelType},
};

use crate::gl::Gl;

/// How the driver is asked for a format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Spelling {
    /// Internal format of a texture.
    pub(crate) internal: u32,
    /// Components of texels in memory; 0 for compressed ones.
    pub(crate) format: u32,
    /// Type of the components.
    pub(crate) kind: u32,
    /// Internal format of a renderbuffer; 0 where there is none.
    pub(crate) renderbuffer: u32,
}

const BGRA: u32 = 0x80E1;
/// `HALF_FLOAT` of OpenGL ES 3.0.
const HALF_FLOAT: u32 = glow::HALF_FLOAT;

const fn texels(internal: u32, format: u32, kind: u32) -> Option<Spelling> {
    Some(Spelling { internal, format, kind, renderbuffer: internal })
}

/// A format that is no renderbuffer's.
const fn sampled(internal: u32, format: u32, kind: u32) -> Option<Spelling> {
    Some(Spelling { internal, format, kind, renderbuffer: 0 })
}

const fn blocks(internal: u32) -> Option<Spelling> {
    Some(Spelling { internal, format: 0, kind: 0, renderbuffer: 0 })
}

/// The spelling of a format; nothing where OpenGL ES has none.
pub(crate) const fn spelling(format: Format) -> Option<Spelling> {
    use glow::{
        BYTE, FLOAT, INT, RED, RED_INTEGER, RG, RG_INTEGER, RGB, RGB_INTEGER, RGBA, RGBA_INTEGER, SHORT,
        UNSIGNED_BYTE, UNSIGNED_INT, UNSIGNED_SHORT,
    };
    match format {
        Format::R8 => texels(glow::R8, RED, UNSIGNED_BYTE),
        Format::Rg8 => texels(glow::RG8, RG, UNSIGNED_BYTE),
        Format::Rgb8 => texels(glow::RGB8, RGB, UNSIGNED_BYTE),
        Format::Rgba8 => texels(glow::RGBA8, RGBA, UNSIGNED_BYTE),
        Format::Bgra8 => {
            Some(Spelling { internal: BGRA, format: BGRA, kind: UNSIGNED_BYTE, renderbuffer: 0x93A1 })
        }
        Format::Srgb8 => sampled(glow::SRGB8, RGB, UNSIGNED_BYTE),
        Format::Srgb8Alpha8 => texels(glow::SRGB8_ALPHA8, RGBA, UNSIGNED_BYTE),
        Format::R8Snorm => sampled(glow::R8_SNORM, RED, BYTE),
        Format::Rg8Snorm => sampled(glow::RG8_SNORM, RG, BYTE),
        Format::Rgb8Snorm => sampled(glow::RGB8_SNORM, RGB, BYTE),
        Format::Rgba8Snorm => sampled(glow::RGBA8_SNORM, RGBA, BYTE),
        Format::R8I => texels(glow::R8I, RED_INTEGER, BYTE),
        Format::Rg8I => texels(glow::RG8I, RG_INTEGER, BYTE),
        Format::Rgb8I => sampled(glow::RGB8I, RGB_INTEGER, BYTE),
        Format::Rgba8I => texels(glow::RGBA8I, RGBA_INTEGER, BYTE),
        Format::R8Ui => texels(glow::R8UI, RED_INTEGER, UNSIGNED_BYTE),
        Format::Rg8Ui => texels(glow::RG8UI, RG_INTEGER, UNSIGNED_BYTE),
        Format::Rgb8Ui => sampled(glow::RGB8UI, RGB_INTEGER, UNSIGNED_BYTE),
        Format::Rgba8Ui => texels(glow::RGBA8UI, RGBA_INTEGER, UNSIGNED_BYTE),
        Format::R16F => texels(glow::R16F, RED, HALF_FLOAT),
        Format::Rg16F => texels(glow::RG16F, RG, HALF_FLOAT),
        Format::Rgb16F => sampled(glow::RGB16F, RGB, HALF_FLOAT),
        Format::Rgba16F => texels(glow::RGBA16F, RGBA, HALF_FLOAT),
        Format::R16I => texels(glow::R16I, RED_INTEGER, SHORT),
        Format::Rg16I => texels(glow::RG16I, RG_INTEGER, SHORT),
        Format::Rgb16I => sampled(glow::RGB16I, RGB_INTEGER, SHORT),
        Format::Rgba16I => texels(glow::RGBA16I, RGBA_INTEGER, SHORT),
        Format::R16Ui => texels(glow::R16UI, RED_INTEGER, UNSIGNED_SHORT),
        Format::Rg16Ui => texels(glow::RG16UI, RG_INTEGER, UNSIGNED_SHORT),
        Format::Rgb16Ui => sampled(glow::RGB16UI, RGB_INTEGER, UNSIGNED_SHORT),
        Format::Rgba16Ui => texels(glow::RGBA16UI, RGBA_INTEGER, UNSIGNED_SHORT),
        Format::R32F => texels(glow::R32F, RED, FLOAT),
        Format::Rg32F => texels(glow::RG32F, RG, FLOAT),
        Format::Rgb32F => sampled(glow::RGB32F, RGB, FLOAT),
        Format::Rgba32F => texels(glow::RGBA32F, RGBA, FLOAT),
        Format::R32I => texels(glow::R32I, RED_INTEGER, INT),
        Format::Rg32I => texels(glow::RG32I, RG_INTEGER, INT),
        Format::Rgb32I => sampled(glow::RGB32I, RGB_INTEGER, INT),
        Format::Rgba32I => texels(glow::RGBA32I, RGBA_INTEGER, INT),
        Format::R32Ui => texels(glow::R32UI, RED_INTEGER, UNSIGNED_INT),
        Format::Rg32Ui => texels(glow::RG32UI, RG_INTEGER, UNSIGNED_INT),
        Format::Rgb32Ui => sampled(glow::RGB32UI, RGB_INTEGER, UNSIGNED_INT),
        Format::Rgba32Ui => texels(glow::RGBA32UI, RGBA_INTEGER, UNSIGNED_INT),
        Format::Rgb565 => texels(glow::RGB565, RGB, glow::UNSIGNED_SHORT_5_6_5),
        Format::Rgba4 => texels(glow::RGBA4, RGBA, glow::UNSIGNED_SHORT_4_4_4_4),
        Format::Rgb5A1 => texels(glow::RGB5_A1, RGBA, glow::UNSIGNED_SHORT_5_5_5_1),
        Format::Rgb10A2 => texels(glow::RGB10_A2, RGBA, glow::UNSIGNED_INT_2_10_10_10_REV),
        Format::Rgb10A2Ui => texels(glow::RGB10_A2UI, RGBA_INTEGER, glow::UNSIGNED_INT_2_10_10_10_REV),
        Format::R11fG11fB10f => texels(glow::R11F_G11F_B10F, RGB, glow::UNSIGNED_INT_10F_11F_11F_REV),
        Format::Rgb9E5 => sampled(glow::RGB9_E5, RGB, glow::UNSIGNED_INT_5_9_9_9_REV),
        // Unsized: OpenGL ES has no sized ones without an extension (OpenGL ES 3.2 table 8.3).
        Format::Alpha8 => sampled(glow::ALPHA, glow::ALPHA, UNSIGNED_BYTE),
        Format::Luminance8 => sampled(glow::LUMINANCE, glow::LUMINANCE, UNSIGNED_BYTE),
        Format::Luminance8Alpha8 => sampled(glow::LUMINANCE_ALPHA, glow::LUMINANCE_ALPHA, UNSIGNED_BYTE),
        Format::DepthComponent16 => texels(glow::DEPTH_COMPONENT16, glow::DEPTH_COMPONENT, UNSIGNED_SHORT),
        Format::DepthComponent24 => texels(glow::DEPTH_COMPONENT24, glow::DEPTH_COMPONENT, UNSIGNED_INT),
        Format::DepthComponent32F => texels(glow::DEPTH_COMPONENT32F, glow::DEPTH_COMPONENT, FLOAT),
        Format::Depth24Stencil8 => {
            texels(glow::DEPTH24_STENCIL8, glow::DEPTH_STENCIL, glow::UNSIGNED_INT_24_8)
        }
        Format::Depth32FStencil8 => {
            texels(glow::DEPTH32F_STENCIL8, glow::DEPTH_STENCIL, glow::FLOAT_32_UNSIGNED_INT_24_8_REV)
        }
        Format::StencilIndex8 => texels(glow::STENCIL_INDEX8, glow::STENCIL_INDEX, UNSIGNED_BYTE),
        Format::Etc1Rgb8 => blocks(0x8D64),
        Format::Rgb8Etc2 => blocks(0x9274),
        Format::Srgb8Etc2 => blocks(0x9275),
        Format::Rgb8PunchthroughAlpha1Etc2 => blocks(0x9276),
        Format::Srgb8PunchthroughAlpha1Etc2 => blocks(0x9277),
        Format::Rgba8Etc2Eac => blocks(0x9278),
        Format::Srgb8Alpha8Etc2Eac => blocks(0x9279),
        Format::R11Eac => blocks(0x9270),
        Format::SignedR11Eac => blocks(0x9271),
        Format::Rg11Eac => blocks(0x9272),
        Format::SignedRg11Eac => blocks(0x9273),
        Format::RgbS3tcDxt1 => blocks(0x83F0),
        Format::RgbaS3tcDxt1 => blocks(0x83F1),
        Format::RgbaS3tcDxt3 => blocks(0x83F2),
        Format::RgbaS3tcDxt5 => blocks(0x83F3),
        _ => None,
    }
}

/// What an extension gives a format beyond OpenGL ES 3.0, and the format itself.
const fn extension(format: Format) -> Option<&'static str> {
    match format {
        Format::Bgra8 => Some("GL_EXT_texture_format_BGRA8888"),
        Format::Etc1Rgb8 => Some("GL_OES_compressed_ETC1_RGB8_texture"),
        Format::RgbS3tcDxt1 | Format::RgbaS3tcDxt1 => Some("GL_EXT_texture_compression_dxt1"),
        Format::RgbaS3tcDxt3 | Format::RgbaS3tcDxt5 => Some("GL_EXT_texture_compression_s3tc"),
        _ => None,
    }
}

/// Uses of a format on this driver; empty for one that it lacks (OpenGL ES 3.2 tables 8.10 and 8.13).
pub(crate) fn features(gl: &Gl, format: Format) -> FormatFeatures {
    use FormatFeatures as F;
    let mut uses = F::EMPTY;
    let Some(spelling) = spelling(format) else { return uses };
    if extension(format).is_some_and(|extension| !gl.has(extension)) {
        return uses;
    }
    let class = format.class();
    let texture = format != Format::StencilIndex8 || gl.version >= 32 || gl.has("GL_OES_texture_stencil8");
    if texture {
        uses = uses.with(F::SAMPLED);
    }
    let float32 = matches!(format, Format::R32F | Format::Rg32F | Format::Rgb32F | Format::Rgba32F);
    let filtered = match class {
        FormatClass::Unorm | FormatClass::Snorm | FormatClass::Srgb => true,
        FormatClass::Float => !float32 || gl.has("GL_OES_texture_float_linear"),
        _ => false,
    };
    if filtered {
        uses = uses.with(F::FILTERED);
    }
    let float16 = matches!(format, Format::R16F | Format::Rg16F | Format::Rgba16F);
    let drawn = spelling.renderbuffer != 0
        && match class {
            FormatClass::Float if float16 => {
                gl.version >= 32
                    || gl.has("GL_EXT_color_buffer_float")
                    || gl.has("GL_EXT_color_buffer_half_float")
            }
            FormatClass::Float => gl.version >= 32 || gl.has("GL_EXT_color_buffer_float"),
            _ => true,
        };
    if drawn {
        uses = uses.with(F::RENDERABLE).with(F::BLIT_SRC).with(F::BLIT_DST);
        let blends = match class {
            FormatClass::Unorm | FormatClass::Srgb => true,
            FormatClass::Float => float16 || format == Format::R11fG11fB10f || gl.has("GL_EXT_float_blend"),
            _ => false,
        };
        if blends {
            uses = uses.with(F::BLENDABLE);
        }
        if filtered && class != FormatClass::Snorm {
            uses = uses.with(F::GENERATE_MIPMAP);
        }
    }
    if matches!(format, Format::Alpha8 | Format::Luminance8 | Format::Luminance8Alpha8) {
        uses = uses.with(F::GENERATE_MIPMAP);
    }
    if format == Format::Rgba8 {
        uses = uses.with(F::READ_PIXELS);
    }
    if matches!(class, FormatClass::Depth | FormatClass::DepthStencil) {
        uses = uses.with(F::SHADOW);
    }
    uses
}

/// Components of pixels that are read.
pub(crate) const fn pixel_format(format: PixelFormat) -> Option<u32> {
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

/// Components of a pixel.
pub(crate) const fn components(format: PixelFormat) -> u64 {
    match format {
        PixelFormat::Rg | PixelFormat::RgInteger | PixelFormat::LuminanceAlpha => 2,
        PixelFormat::Rgb | PixelFormat::RgbInteger => 3,
        PixelFormat::Rgba | PixelFormat::Bgra | PixelFormat::RgbaInteger => 4,
        _ => 1,
    }
}

/// Type of the components of pixels that are read, and the bytes of one, or of the whole pixel where it is packed.
pub(crate) const fn pixel_type(kind: PixelType) -> Option<(u32, u64, bool)> {
    Some(match kind {
        PixelType::Byte => (glow::BYTE, 1, false),
        PixelType::UnsignedByte => (glow::UNSIGNED_BYTE, 1, false),
        PixelType::Short => (glow::SHORT, 2, false),
        PixelType::UnsignedShort => (glow::UNSIGNED_SHORT, 2, false),
        PixelType::Int => (glow::INT, 4, false),
        PixelType::UnsignedInt => (glow::UNSIGNED_INT, 4, false),
        PixelType::HalfFloat => (HALF_FLOAT, 2, false),
        PixelType::Float => (glow::FLOAT, 4, false),
        PixelType::UnsignedShort565 => (glow::UNSIGNED_SHORT_5_6_5, 2, true),
        PixelType::UnsignedShort4444 => (glow::UNSIGNED_SHORT_4_4_4_4, 2, true),
        PixelType::UnsignedShort5551 => (glow::UNSIGNED_SHORT_5_5_5_1, 2, true),
        PixelType::UnsignedInt2101010Rev => (glow::UNSIGNED_INT_2_10_10_10_REV, 4, true),
        PixelType::UnsignedInt10F11F11FRev => (glow::UNSIGNED_INT_10F_11F_11F_REV, 4, true),
        PixelType::UnsignedInt5999Rev => (glow::UNSIGNED_INT_5_9_9_9_REV, 4, true),
        PixelType::UnsignedInt248 => (glow::UNSIGNED_INT_24_8, 4, true),
        PixelType::Float32UnsignedInt248Rev => (glow::FLOAT_32_UNSIGNED_INT_24_8_REV, 8, true),
        _ => return None,
    })
}
