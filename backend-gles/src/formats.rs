//! Formats, as OpenGL ES spells them (OpenGL ES 3.2 tables 8.2 and 8.10).

use runahead_wire::{
    format::{Format, FormatClass},
    values::FormatFeatures,
};

use crate::gl::Gl;

pub(crate) mod pixels;

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

impl Spelling {
    /// Whether the driver knows the format by its size, so that storage that stays can have it. The other ones are
    /// defined level by level, whatever the client promised of them.
    pub(crate) const fn is_sized(&self) -> bool {
        !matches!(self.internal, BGRA | glow::ALPHA | glow::LUMINANCE | glow::LUMINANCE_ALPHA)
    }
}

const BGRA: u32 = 0x80E1;
/// `HALF_FLOAT` of OpenGL ES 3.0.
const HALF_FLOAT: u32 = glow::HALF_FLOAT;
/// That of `OES_texture_half_float`, which is another number.
const HALF_FLOAT_OES: u32 = 0x8D61;

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
        Format::Sr8 => sampled(0x8FBD, RED, UNSIGNED_BYTE),
        Format::Srg8 => sampled(0x8FBE, RG, UNSIGNED_BYTE),
        Format::R8Snorm => texels(glow::R8_SNORM, RED, BYTE),
        Format::Rg8Snorm => texels(glow::RG8_SNORM, RG, BYTE),
        Format::Rgb8Snorm => sampled(glow::RGB8_SNORM, RGB, BYTE),
        Format::Rgba8Snorm => texels(glow::RGBA8_SNORM, RGBA, BYTE),
        Format::R16 => texels(glow::R16, RED, UNSIGNED_SHORT),
        Format::Rg16 => texels(glow::RG16, RG, UNSIGNED_SHORT),
        Format::Rgb16 => sampled(glow::RGB16, RGB, UNSIGNED_SHORT),
        Format::Rgba16 => texels(glow::RGBA16, RGBA, UNSIGNED_SHORT),
        Format::R16Snorm => texels(glow::R16_SNORM, RED, SHORT),
        Format::Rg16Snorm => texels(glow::RG16_SNORM, RG, SHORT),
        Format::Rgb16Snorm => sampled(glow::RGB16_SNORM, RGB, SHORT),
        Format::Rgba16Snorm => texels(glow::RGBA16_SNORM, RGBA, SHORT),
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
        Format::Alpha16F => sampled(glow::ALPHA, glow::ALPHA, HALF_FLOAT_OES),
        Format::Luminance16F => sampled(glow::LUMINANCE, glow::LUMINANCE, HALF_FLOAT_OES),
        Format::LuminanceAlpha16F => sampled(glow::LUMINANCE_ALPHA, glow::LUMINANCE_ALPHA, HALF_FLOAT_OES),
        Format::Alpha32F => sampled(glow::ALPHA, glow::ALPHA, FLOAT),
        Format::Luminance32F => sampled(glow::LUMINANCE, glow::LUMINANCE, FLOAT),
        Format::LuminanceAlpha32F => sampled(glow::LUMINANCE_ALPHA, glow::LUMINANCE_ALPHA, FLOAT),
        Format::DepthComponent16 => texels(glow::DEPTH_COMPONENT16, glow::DEPTH_COMPONENT, UNSIGNED_SHORT),
        // OpenGL ES has no unsigned depth of 32 bits: its upper 24 are kept.
        Format::DepthComponent24 | Format::DepthComponent32 => {
            texels(glow::DEPTH_COMPONENT24, glow::DEPTH_COMPONENT, UNSIGNED_INT)
        }
        Format::DepthComponent32F => texels(glow::DEPTH_COMPONENT32F, glow::DEPTH_COMPONENT, FLOAT),
        Format::Depth24Stencil8 => {
            texels(glow::DEPTH24_STENCIL8, glow::DEPTH_STENCIL, glow::UNSIGNED_INT_24_8)
        }
        Format::Depth32FStencil8 => {
            texels(glow::DEPTH32F_STENCIL8, glow::DEPTH_STENCIL, glow::FLOAT_32_UNSIGNED_INT_24_8_REV)
        }
        Format::StencilIndex8 => texels(glow::STENCIL_INDEX8, glow::STENCIL_INDEX, UNSIGNED_BYTE),
        // Every block of ETC1 is one of ETC2, with the same texels (Khronos Data Format 1.3 section 21).
        Format::Etc1Rgb8 | Format::Rgb8Etc2 => blocks(0x9274),
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
        Format::SrgbS3tcDxt1 => blocks(0x8C4C),
        Format::SrgbAlphaS3tcDxt1 => blocks(0x8C4D),
        Format::SrgbAlphaS3tcDxt3 => blocks(0x8C4E),
        Format::SrgbAlphaS3tcDxt5 => blocks(0x8C4F),
        Format::RedRgtc1 => blocks(0x8DBB),
        Format::SignedRedRgtc1 => blocks(0x8DBC),
        Format::RgRgtc2 => blocks(0x8DBD),
        Format::SignedRgRgtc2 => blocks(0x8DBE),
        Format::RgbaBptcUnorm => blocks(0x8E8C),
        Format::SrgbAlphaBptcUnorm => blocks(0x8E8D),
        Format::RgbBptcSignedFloat => blocks(0x8E8E),
        Format::RgbBptcUnsignedFloat => blocks(0x8E8F),
        // The numbers of the wire and of KHR_texture_compression_astc_ldr run side by side.
        _ => match format.raw() {
            number @ 192..=205 => blocks(0x93B0 + number - 192),
            number @ 208..=221 => blocks(0x93D0 + number - 208),
            _ => None,
        },
    }
}

/// Extensions of which each gives a format beyond OpenGL ES 3.0; none for those of OpenGL ES 3.0 itself.
const fn extensions(format: Format) -> &'static [&'static str] {
    use Format as F;
    match format {
        F::Bgra8 => &["GL_EXT_texture_format_BGRA8888"],
        F::Sr8 => &["GL_EXT_texture_sRGB_R8"],
        F::Srg8 => &["GL_EXT_texture_sRGB_RG8"],
        F::R16
        | F::Rg16
        | F::Rgb16
        | F::Rgba16
        | F::R16Snorm
        | F::Rg16Snorm
        | F::Rgb16Snorm
        | F::Rgba16Snorm => &["GL_EXT_texture_norm16"],
        F::Alpha16F | F::Luminance16F | F::LuminanceAlpha16F => &["GL_OES_texture_half_float"],
        F::Alpha32F | F::Luminance32F | F::LuminanceAlpha32F => &["GL_OES_texture_float"],
        F::RgbS3tcDxt1 | F::RgbaS3tcDxt1 => {
            &["GL_EXT_texture_compression_s3tc", "GL_EXT_texture_compression_dxt1"]
        }
        F::RgbaS3tcDxt3 | F::RgbaS3tcDxt5 => &["GL_EXT_texture_compression_s3tc"],
        F::SrgbS3tcDxt1 | F::SrgbAlphaS3tcDxt1 | F::SrgbAlphaS3tcDxt3 | F::SrgbAlphaS3tcDxt5 => {
            &["GL_EXT_texture_compression_s3tc_srgb"]
        }
        F::RedRgtc1 | F::SignedRedRgtc1 | F::RgRgtc2 | F::SignedRgRgtc2 => {
            &["GL_EXT_texture_compression_rgtc"]
        }
        F::RgbaBptcUnorm | F::SrgbAlphaBptcUnorm | F::RgbBptcSignedFloat | F::RgbBptcUnsignedFloat => {
            &["GL_EXT_texture_compression_bptc"]
        }
        _ => match format.raw() {
            // ASTC, which OpenGL ES 3.2 has.
            192..=221 => &["GL_KHR_texture_compression_astc_ldr"],
            _ => &[],
        },
    }
}

/// Uses of a format on this driver; empty for one that it lacks (OpenGL ES 3.2 tables 8.10 and 8.13).
pub(crate) fn features(gl: &Gl, format: Format) -> FormatFeatures {
    use FormatFeatures as F;
    let mut uses = F::EMPTY;
    let Some(spelling) = spelling(format) else { return uses };
    let extensions = extensions(format);
    let astc = matches!(format.raw(), 192..=221) && gl.version >= 32;
    if !extensions.is_empty() && !astc && !extensions.iter().any(|extension| gl.has(extension)) {
        return uses;
    }
    let class = format.class();
    if format != Format::StencilIndex8 || gl.version >= 32 || gl.has("GL_OES_texture_stencil8") {
        uses = uses.with(F::SAMPLED);
    }
    let filtered = match class {
        FormatClass::Unorm | FormatClass::Snorm | FormatClass::Srgb => true,
        FormatClass::Float => match format {
            Format::R32F | Format::Rg32F | Format::Rgb32F | Format::Rgba32F => {
                gl.has("GL_OES_texture_float_linear")
            }
            Format::Alpha32F | Format::Luminance32F | Format::LuminanceAlpha32F => {
                gl.has("GL_OES_texture_float_linear")
            }
            Format::Alpha16F | Format::Luminance16F | Format::LuminanceAlpha16F => {
                gl.has("GL_OES_texture_half_float_linear")
            }
            _ => true,
        },
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
            FormatClass::Snorm => gl.has("GL_EXT_render_snorm"),
            _ => true,
        };
    if drawn {
        uses = uses.with(F::RENDERABLE).with(F::BLIT_SRC).with(F::BLIT_DST);
        let blends = match class {
            FormatClass::Unorm | FormatClass::Srgb | FormatClass::Snorm => true,
            FormatClass::Float => float16 || format == Format::R11fG11fB10f || gl.has("GL_EXT_float_blend"),
            _ => false,
        };
        if blends {
            uses = uses.with(F::BLENDABLE);
        }
    }
    // OpenGL ES 3.2 section 8.14.4: what is both drawn to and filtered, and the formats without a size.
    if drawn && filtered && class != FormatClass::Snorm || !spelling.is_sized() && class == FormatClass::Unorm
    {
        uses = uses.with(F::GENERATE_MIPMAP);
    }
    if pixels::is_read(gl, format, drawn) {
        uses = uses.with(F::READ_PIXELS);
    }
    if is_texel_of_buffers(gl, format) {
        uses = uses.with(F::TEXTURE_BUFFER);
    }
    if matches!(class, FormatClass::Depth | FormatClass::DepthStencil) {
        uses = uses.with(F::SHADOW);
    }
    uses
}

/// Whether a texture buffer can have the format (OpenGL ES 3.2 table 8.20).
fn is_texel_of_buffers(gl: &Gl, format: Format) -> bool {
    use Format as F;
    gl.extended.tex_buffer.is_some()
        && matches!(
            format,
            F::R8
                | F::R16F
                | F::R32F
                | F::R8I
                | F::R16I
                | F::R32I
                | F::R8Ui
                | F::R16Ui
                | F::R32Ui
                | F::Rg8
                | F::Rg16F
                | F::Rg32F
                | F::Rg8I
                | F::Rg16I
                | F::Rg32I
                | F::Rg8Ui
                | F::Rg16Ui
                | F::Rg32Ui
                | F::Rgb32F
                | F::Rgb32I
                | F::Rgb32Ui
                | F::Rgba8
                | F::Rgba16F
                | F::Rgba32F
                | F::Rgba8I
                | F::Rgba16I
                | F::Rgba32I
                | F::Rgba8Ui
                | F::Rgba16Ui
                | F::Rgba32Ui
        )
}
