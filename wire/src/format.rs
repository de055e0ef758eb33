//! Texel formats.
//!
//! One table gives each format its number, its block and its class. Formats are the sized internal formats of
//! OpenGL 4.6 and OpenGL ES 3.2, the luminance and alpha formats of OpenGL ES 2.0, and the compressed formats
//! of `KHR_texture_compression_astc_ldr`, `EXT_texture_compression_s3tc`, `EXT_texture_compression_s3tc_srgb`
//! and `OES_compressed_ETC1_RGB8_texture`. Names follow the GL constants.

use crate::values::{Value, ValueForm, ValueInfo};

/// What a format's components mean to a shader.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FormatClass {
    /// No format.
    Undefined,
    /// Unsigned, mapped to [0, 1].
    Unorm,
    /// Signed, mapped to [-1, 1].
    Snorm,
    /// Unsigned, sRGB-encoded colour; alpha is linear.
    Srgb,
    /// Floating point.
    Float,
    /// Signed integers.
    Int,
    /// Unsigned integers.
    Uint,
    /// Depth.
    Depth,
    /// Stencil.
    Stencil,
    /// Depth and stencil.
    DepthStencil,
}

/// The unit in which a format is stored: a texel, or a compressed block of texels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Block {
    /// Texels along x.
    pub width: u8,
    /// Texels along y.
    pub height: u8,
    /// Bytes; 0 for no format.
    pub bytes: u8,
}

impl Block {
    /// Bytes of `width` x `height` x `depth` texels without gaps, whole blocks counted. `None` when the
    /// number does not fit 64 bits.
    #[must_use]
    pub const fn level_bytes(self, width: u32, height: u32, depth: u32) -> Option<u64> {
        let columns = width.div_ceil(self.width as u32) as u64;
        let rows = height.div_ceil(self.height as u32) as u64;
        match columns.checked_mul(self.bytes as u64) {
            Some(row) => match row.checked_mul(rows) {
                Some(slice) => slice.checked_mul(depth as u64),
                None => None,
            },
            None => None,
        }
    }
}

macro_rules! formats {
    ($( $(#[$meta:meta])* $name:ident = $number:literal, $class:ident, $width:literal x $height:literal, $bytes:literal; )+) => {
        /// A texel format. Numbers are fixed; families leave room to grow.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(u32)]
        pub enum Format {
            $(
                $(#[$meta])*
                #[doc = concat!(
                    stringify!($class), ", ", stringify!($bytes), " bytes a block of ",
                    stringify!($width), " x ", stringify!($height), ".",
                )]
                $name = $number,
            )+
        }

        impl Format {
            /// Name of the type.
            pub const NAME: &'static str = "Format";

            /// Every format, in order of the numbers.
            pub const ALL: &'static [Self] = &[ $( Self::$name, )+ ];

            /// The format of this number, or nothing when the number is unassigned.
            #[inline]
            #[must_use]
            pub const fn from_raw(number: u32) -> Option<Self> {
                match number {
                    $( $number => Some(Self::$name), )+
                    _ => None,
                }
            }

            /// The number on the wire.
            #[inline]
            #[must_use]
            pub const fn raw(self) -> u32 {
                self as u32
            }

            /// The unit of storage.
            #[must_use]
            pub const fn block(self) -> Block {
                match self {
                    $( Self::$name => Block { width: $width, height: $height, bytes: $bytes }, )+
                }
            }

            /// What the components mean.
            #[must_use]
            pub const fn class(self) -> FormatClass {
                match self {
                    $( Self::$name => FormatClass::$class, )+
                }
            }

            /// Whether texels are stored in compressed blocks.
            #[must_use]
            pub const fn is_compressed(self) -> bool {
                self.block().width > 1
            }

            /// Bytes of `width` x `height` x `depth` texels without gaps; see [`Block::level_bytes`].
            #[must_use]
            pub const fn level_bytes(self, width: u32, height: u32, depth: u32) -> Option<u64> {
                self.block().level_bytes(width, height, depth)
            }
        }

        impl Value for Format {
            // The digest of a number's name covers its meaning; blocks are facts of the format and not stated
            // twice.
            const INFO: ValueInfo = ValueInfo {
                name: "Format",
                form: ValueForm::Enum,
                numbers: &[ $( (stringify!($name), $number), )+ ],
            };
            const ANY: Self = Self::Undefined;

            #[inline]
            fn from_number(number: u32) -> Option<Self> {
                Self::from_raw(number)
            }
        }
    };
}

formats! {
    /// No format: a buffer, or a texture without storage.
    #[default]
    Undefined = 0, Undefined, 1 x 1, 0;

    R8 = 1, Unorm, 1 x 1, 1;
    Rg8 = 2, Unorm, 1 x 1, 2;
    Rgb8 = 3, Unorm, 1 x 1, 3;
    Rgba8 = 4, Unorm, 1 x 1, 4;
    /// Blue first.
    Bgra8 = 5, Unorm, 1 x 1, 4;
    Srgb8 = 6, Srgb, 1 x 1, 3;
    Srgb8Alpha8 = 7, Srgb, 1 x 1, 4;
    Sr8 = 8, Srgb, 1 x 1, 1;
    Srg8 = 9, Srgb, 1 x 1, 2;
    R8Snorm = 16, Snorm, 1 x 1, 1;
    Rg8Snorm = 17, Snorm, 1 x 1, 2;
    Rgb8Snorm = 18, Snorm, 1 x 1, 3;
    Rgba8Snorm = 19, Snorm, 1 x 1, 4;
    R8I = 20, Int, 1 x 1, 1;
    Rg8I = 21, Int, 1 x 1, 2;
    Rgb8I = 22, Int, 1 x 1, 3;
    Rgba8I = 23, Int, 1 x 1, 4;
    R8Ui = 24, Uint, 1 x 1, 1;
    Rg8Ui = 25, Uint, 1 x 1, 2;
    Rgb8Ui = 26, Uint, 1 x 1, 3;
    Rgba8Ui = 27, Uint, 1 x 1, 4;

    R16 = 32, Unorm, 1 x 1, 2;
    Rg16 = 33, Unorm, 1 x 1, 4;
    Rgb16 = 34, Unorm, 1 x 1, 6;
    Rgba16 = 35, Unorm, 1 x 1, 8;
    R16Snorm = 36, Snorm, 1 x 1, 2;
    Rg16Snorm = 37, Snorm, 1 x 1, 4;
    Rgb16Snorm = 38, Snorm, 1 x 1, 6;
    Rgba16Snorm = 39, Snorm, 1 x 1, 8;
    R16F = 40, Float, 1 x 1, 2;
    Rg16F = 41, Float, 1 x 1, 4;
    Rgb16F = 42, Float, 1 x 1, 6;
    Rgba16F = 43, Float, 1 x 1, 8;
    R16I = 44, Int, 1 x 1, 2;
    Rg16I = 45, Int, 1 x 1, 4;
    Rgb16I = 46, Int, 1 x 1, 6;
    Rgba16I = 47, Int, 1 x 1, 8;
    R16Ui = 48, Uint, 1 x 1, 2;
    Rg16Ui = 49, Uint, 1 x 1, 4;
    Rgb16Ui = 50, Uint, 1 x 1, 6;
    Rgba16Ui = 51, Uint, 1 x 1, 8;

    R32F = 64, Float, 1 x 1, 4;
    Rg32F = 65, Float, 1 x 1, 8;
    Rgb32F = 66, Float, 1 x 1, 12;
    Rgba32F = 67, Float, 1 x 1, 16;
    R32I = 68, Int, 1 x 1, 4;
    Rg32I = 69, Int, 1 x 1, 8;
    Rgb32I = 70, Int, 1 x 1, 12;
    Rgba32I = 71, Int, 1 x 1, 16;
    R32Ui = 72, Uint, 1 x 1, 4;
    Rg32Ui = 73, Uint, 1 x 1, 8;
    Rgb32Ui = 74, Uint, 1 x 1, 12;
    Rgba32Ui = 75, Uint, 1 x 1, 16;

    Rgb565 = 96, Unorm, 1 x 1, 2;
    Rgba4 = 97, Unorm, 1 x 1, 2;
    Rgb5A1 = 98, Unorm, 1 x 1, 2;
    Rgb10A2 = 99, Unorm, 1 x 1, 4;
    Rgb10A2Ui = 100, Uint, 1 x 1, 4;
    R11fG11fB10f = 101, Float, 1 x 1, 4;
    Rgb9E5 = 102, Float, 1 x 1, 4;

    Alpha8 = 112, Unorm, 1 x 1, 1;
    Luminance8 = 113, Unorm, 1 x 1, 1;
    Luminance8Alpha8 = 114, Unorm, 1 x 1, 2;
    Alpha16F = 115, Float, 1 x 1, 2;
    Luminance16F = 116, Float, 1 x 1, 2;
    LuminanceAlpha16F = 117, Float, 1 x 1, 4;
    Alpha32F = 118, Float, 1 x 1, 4;
    Luminance32F = 119, Float, 1 x 1, 4;
    LuminanceAlpha32F = 120, Float, 1 x 1, 8;

    DepthComponent16 = 128, Depth, 1 x 1, 2;
    /// In four bytes.
    DepthComponent24 = 129, Depth, 1 x 1, 4;
    DepthComponent32 = 130, Depth, 1 x 1, 4;
    DepthComponent32F = 131, Depth, 1 x 1, 4;
    Depth24Stencil8 = 132, DepthStencil, 1 x 1, 4;
    /// In eight bytes.
    Depth32FStencil8 = 133, DepthStencil, 1 x 1, 8;
    StencilIndex8 = 134, Stencil, 1 x 1, 1;

    Etc1Rgb8 = 160, Unorm, 4 x 4, 8;
    Rgb8Etc2 = 161, Unorm, 4 x 4, 8;
    Srgb8Etc2 = 162, Srgb, 4 x 4, 8;
    Rgb8PunchthroughAlpha1Etc2 = 163, Unorm, 4 x 4, 8;
    Srgb8PunchthroughAlpha1Etc2 = 164, Srgb, 4 x 4, 8;
    Rgba8Etc2Eac = 165, Unorm, 4 x 4, 16;
    Srgb8Alpha8Etc2Eac = 166, Srgb, 4 x 4, 16;
    R11Eac = 167, Unorm, 4 x 4, 8;
    SignedR11Eac = 168, Snorm, 4 x 4, 8;
    Rg11Eac = 169, Unorm, 4 x 4, 16;
    SignedRg11Eac = 170, Snorm, 4 x 4, 16;

    RgbS3tcDxt1 = 176, Unorm, 4 x 4, 8;
    RgbaS3tcDxt1 = 177, Unorm, 4 x 4, 8;
    RgbaS3tcDxt3 = 178, Unorm, 4 x 4, 16;
    RgbaS3tcDxt5 = 179, Unorm, 4 x 4, 16;
    SrgbS3tcDxt1 = 180, Srgb, 4 x 4, 8;
    SrgbAlphaS3tcDxt1 = 181, Srgb, 4 x 4, 8;
    SrgbAlphaS3tcDxt3 = 182, Srgb, 4 x 4, 16;
    SrgbAlphaS3tcDxt5 = 183, Srgb, 4 x 4, 16;
    RedRgtc1 = 184, Unorm, 4 x 4, 8;
    SignedRedRgtc1 = 185, Snorm, 4 x 4, 8;
    RgRgtc2 = 186, Unorm, 4 x 4, 16;
    SignedRgRgtc2 = 187, Snorm, 4 x 4, 16;
    RgbaBptcUnorm = 188, Unorm, 4 x 4, 16;
    SrgbAlphaBptcUnorm = 189, Srgb, 4 x 4, 16;
    RgbBptcSignedFloat = 190, Float, 4 x 4, 16;
    RgbBptcUnsignedFloat = 191, Float, 4 x 4, 16;

    RgbaAstc4x4 = 192, Unorm, 4 x 4, 16;
    RgbaAstc5x4 = 193, Unorm, 5 x 4, 16;
    RgbaAstc5x5 = 194, Unorm, 5 x 5, 16;
    RgbaAstc6x5 = 195, Unorm, 6 x 5, 16;
    RgbaAstc6x6 = 196, Unorm, 6 x 6, 16;
    RgbaAstc8x5 = 197, Unorm, 8 x 5, 16;
    RgbaAstc8x6 = 198, Unorm, 8 x 6, 16;
    RgbaAstc8x8 = 199, Unorm, 8 x 8, 16;
    RgbaAstc10x5 = 200, Unorm, 10 x 5, 16;
    RgbaAstc10x6 = 201, Unorm, 10 x 6, 16;
    RgbaAstc10x8 = 202, Unorm, 10 x 8, 16;
    RgbaAstc10x10 = 203, Unorm, 10 x 10, 16;
    RgbaAstc12x10 = 204, Unorm, 12 x 10, 16;
    RgbaAstc12x12 = 205, Unorm, 12 x 12, 16;
    Srgb8Alpha8Astc4x4 = 208, Srgb, 4 x 4, 16;
    Srgb8Alpha8Astc5x4 = 209, Srgb, 5 x 4, 16;
    Srgb8Alpha8Astc5x5 = 210, Srgb, 5 x 5, 16;
    Srgb8Alpha8Astc6x5 = 211, Srgb, 6 x 5, 16;
    Srgb8Alpha8Astc6x6 = 212, Srgb, 6 x 6, 16;
    Srgb8Alpha8Astc8x5 = 213, Srgb, 8 x 5, 16;
    Srgb8Alpha8Astc8x6 = 214, Srgb, 8 x 6, 16;
    Srgb8Alpha8Astc8x8 = 215, Srgb, 8 x 8, 16;
    Srgb8Alpha8Astc10x5 = 216, Srgb, 10 x 5, 16;
    Srgb8Alpha8Astc10x6 = 217, Srgb, 10 x 6, 16;
    Srgb8Alpha8Astc10x8 = 218, Srgb, 10 x 8, 16;
    Srgb8Alpha8Astc10x10 = 219, Srgb, 10 x 10, 16;
    Srgb8Alpha8Astc12x10 = 220, Srgb, 12 x 10, 16;
    Srgb8Alpha8Astc12x12 = 221, Srgb, 12 x 12, 16;
}
