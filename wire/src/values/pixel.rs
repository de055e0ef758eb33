//! Values of pixel data in client memory or in a pack buffer.

use super::values;

values! {
    /// Components of a pixel.
    pub enum PixelFormat {
        /// None: the request has no pixels of its own.
        Undefined = 0,
        /// Red.
        Red = 1,
        /// Red, green.
        Rg = 2,
        /// Red, green, blue.
        Rgb = 3,
        /// Blue, green, red.
        Bgr = 4,
        /// Red, green, blue, alpha.
        Rgba = 5,
        /// Blue, green, red, alpha.
        Bgra = 6,
        /// Red, unconverted integer.
        RedInteger = 7,
        /// Red, green, unconverted integers.
        RgInteger = 8,
        /// Red, green, blue, unconverted integers.
        RgbInteger = 9,
        /// Blue, green, red, unconverted integers.
        BgrInteger = 10,
        /// Red, green, blue, alpha, unconverted integers.
        RgbaInteger = 11,
        /// Blue, green, red, alpha, unconverted integers.
        BgraInteger = 12,
        /// Depth.
        DepthComponent = 13,
        /// Stencil.
        StencilIndex = 14,
        /// Depth and stencil.
        DepthStencil = 15,
        /// Green.
        Green = 16,
        /// Blue.
        Blue = 17,
        /// Alpha.
        Alpha = 18,
        /// Green, unconverted integer.
        GreenInteger = 19,
        /// Blue, unconverted integer.
        BlueInteger = 20,
        /// Luminance.
        Luminance = 21,
        /// Luminance, alpha.
        LuminanceAlpha = 22,
        /// The texture's own compressed blocks.
        Compressed = 23,
    }

    /// Type of a pixel's components, or of the whole pixel where they are packed.
    pub enum PixelType {
        /// None: the request has no pixels of its own, or compressed ones.
        Undefined = 0,
        /// `i8`.
        Byte = 1,
        /// `u8`.
        UnsignedByte = 2,
        /// `i16`.
        Short = 3,
        /// `u16`.
        UnsignedShort = 4,
        /// `i32`.
        Int = 5,
        /// `u32`.
        UnsignedInt = 6,
        /// IEEE binary16.
        HalfFloat = 7,
        /// `f32`.
        Float = 8,
        /// 3-3-2 in a byte.
        UnsignedByte332 = 9,
        /// 3-3-2 in a byte, reversed.
        UnsignedByte233Rev = 10,
        /// 5-6-5.
        UnsignedShort565 = 11,
        /// 5-6-5, reversed.
        UnsignedShort565Rev = 12,
        /// 4-4-4-4.
        UnsignedShort4444 = 13,
        /// 4-4-4-4, reversed.
        UnsignedShort4444Rev = 14,
        /// 5-5-5-1.
        UnsignedShort5551 = 15,
        /// 1-5-5-5, reversed.
        UnsignedShort1555Rev = 16,
        /// 8-8-8-8 in a word.
        UnsignedInt8888 = 17,
        /// 8-8-8-8 in a word, reversed.
        UnsignedInt8888Rev = 18,
        /// 10-10-10-2.
        UnsignedInt1010102 = 19,
        /// 2-10-10-10, reversed.
        UnsignedInt2101010Rev = 20,
        /// 24-bit depth, 8-bit stencil.
        UnsignedInt248 = 21,
        /// Floats of 10, 11 and 11 bits, reversed.
        UnsignedInt10F11F11FRev = 22,
        /// Three 9-bit mantissas with one exponent, reversed.
        UnsignedInt5999Rev = 23,
        /// `f32` depth, 24 unused bits, 8-bit stencil.
        Float32UnsignedInt248Rev = 24,
    }
}
