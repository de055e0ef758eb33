//! Values of the render state.

use super::{masks, values};

values! {
    /// Comparison of a new value with a stored one.
    pub enum CompareOp {
        /// Never passes.
        Never = 0,
        /// Passes when less.
        Less = 1,
        /// Passes when equal.
        Equal = 2,
        /// Passes when less or equal.
        LessEqual = 3,
        /// Passes when greater.
        Greater = 4,
        /// Passes when not equal.
        NotEqual = 5,
        /// Passes when greater or equal.
        GreaterEqual = 6,
        /// Always passes.
        Always = 7,
    }

    /// What happens to a stencil value.
    pub enum StencilOp {
        /// It stays.
        Keep = 0,
        /// It becomes 0.
        Zero = 1,
        /// It becomes the reference value.
        Replace = 2,
        /// It grows by one, up to the largest value.
        IncrementClamp = 3,
        /// It shrinks by one, down to 0.
        DecrementClamp = 4,
        /// Its bits are inverted.
        Invert = 5,
        /// It grows by one and wraps around.
        IncrementWrap = 6,
        /// It shrinks by one and wraps around.
        DecrementWrap = 7,
    }

    /// Factor of a blend operand.
    pub enum BlendFactor {
        /// 0.
        Zero = 0,
        /// 1.
        One = 1,
        /// Source colour.
        SrcColor = 2,
        /// 1 - source colour.
        OneMinusSrcColor = 3,
        /// Destination colour.
        DstColor = 4,
        /// 1 - destination colour.
        OneMinusDstColor = 5,
        /// Source alpha.
        SrcAlpha = 6,
        /// 1 - source alpha.
        OneMinusSrcAlpha = 7,
        /// Destination alpha.
        DstAlpha = 8,
        /// 1 - destination alpha.
        OneMinusDstAlpha = 9,
        /// Constant colour.
        ConstantColor = 10,
        /// 1 - constant colour.
        OneMinusConstantColor = 11,
        /// Constant alpha.
        ConstantAlpha = 12,
        /// 1 - constant alpha.
        OneMinusConstantAlpha = 13,
        /// The smaller of source alpha and 1 - destination alpha.
        SrcAlphaSaturate = 14,
        /// Second source colour.
        Src1Color = 15,
        /// 1 - second source colour.
        OneMinusSrc1Color = 16,
        /// Second source alpha.
        Src1Alpha = 17,
        /// 1 - second source alpha.
        OneMinusSrc1Alpha = 18,
    }

    /// How blend operands are combined. From 5 on, the advanced equations of `KHR_blend_equation_advanced`.
    pub enum BlendOp {
        /// Source + destination.
        Add = 0,
        /// Source - destination.
        Subtract = 1,
        /// Destination - source.
        ReverseSubtract = 2,
        /// The smaller one.
        Min = 3,
        /// The larger one.
        Max = 4,
        /// Multiply.
        Multiply = 5,
        /// Screen.
        Screen = 6,
        /// Overlay.
        Overlay = 7,
        /// Darken.
        Darken = 8,
        /// Lighten.
        Lighten = 9,
        /// Colour dodge.
        ColorDodge = 10,
        /// Colour burn.
        ColorBurn = 11,
        /// Hard light.
        HardLight = 12,
        /// Soft light.
        SoftLight = 13,
        /// Difference.
        Difference = 14,
        /// Exclusion.
        Exclusion = 15,
        /// Hue of HSL.
        HslHue = 16,
        /// Saturation of HSL.
        HslSaturation = 17,
        /// Colour of HSL.
        HslColor = 18,
        /// Luminosity of HSL.
        HslLuminosity = 19,
    }

    /// Logical operation on source `s` and destination `d`.
    pub enum LogicOp {
        /// 0.
        Clear = 0,
        /// s & d.
        And = 1,
        /// s & !d.
        AndReverse = 2,
        /// s.
        Copy = 3,
        /// !s & d.
        AndInverted = 4,
        /// d.
        Noop = 5,
        /// s ^ d.
        Xor = 6,
        /// s | d.
        Or = 7,
        /// !(s | d).
        Nor = 8,
        /// !(s ^ d).
        Equiv = 9,
        /// !d.
        Invert = 10,
        /// s | !d.
        OrReverse = 11,
        /// !s.
        CopyInverted = 12,
        /// !s | d.
        OrInverted = 13,
        /// !(s & d).
        Nand = 14,
        /// 1.
        Set = 15,
    }

    /// Which faces are culled.
    pub enum CullFace {
        /// Front faces.
        Front = 0,
        /// Back faces.
        Back = 1,
        /// Both.
        FrontAndBack = 2,
    }

    /// Winding of front faces, seen in window coordinates with the origin at the bottom left.
    pub enum FrontFace {
        /// Anticlockwise.
        CounterClockwise = 0,
        /// Clockwise.
        Clockwise = 1,
    }

    /// Which vertex gives flat attributes their value.
    pub enum ProvokingVertex {
        /// The first.
        First = 0,
        /// The last.
        Last = 1,
    }

    /// How polygons are rasterised.
    pub enum PolygonMode {
        /// Filled.
        Fill = 0,
        /// As lines.
        Line = 1,
        /// As points.
        Point = 2,
    }

    /// Where window y 0 is in clip space.
    pub enum ClipOrigin {
        /// Below.
        LowerLeft = 0,
        /// Above.
        UpperLeft = 1,
    }

    /// Range of depth in clip space.
    pub enum ClipDepthMode {
        /// -1 to 1.
        NegativeOneToOne = 0,
        /// 0 to 1.
        ZeroToOne = 1,
    }

    /// Trade between quality and speed.
    pub enum HintMode {
        /// No preference.
        DontCare = 0,
        /// The fastest.
        Fastest = 1,
        /// The best.
        Nicest = 2,
    }

    /// Where the point coordinate is 0.
    pub enum PointSpriteOrigin {
        /// At the top.
        UpperLeft = 0,
        /// At the bottom.
        LowerLeft = 1,
    }

    /// Whether colours are clamped when they are read.
    pub enum ClampReadColor {
        /// Never.
        Off = 0,
        /// Always.
        On = 1,
        /// For fixed-point formats alone.
        FixedOnly = 2,
    }
}

masks! {
    /// Viewports whose scissor test is on, or whose scissor box was ever set; bit `n` for viewport `n`.
    pub struct ViewportMask {
        /// Viewport 0.
        V0 = 0,
        /// Viewport 1.
        V1 = 1,
        /// Viewport 2.
        V2 = 2,
        /// Viewport 3.
        V3 = 3,
        /// Viewport 4.
        V4 = 4,
        /// Viewport 5.
        V5 = 5,
        /// Viewport 6.
        V6 = 6,
        /// Viewport 7.
        V7 = 7,
        /// Viewport 8.
        V8 = 8,
        /// Viewport 9.
        V9 = 9,
        /// Viewport 10.
        V10 = 10,
        /// Viewport 11.
        V11 = 11,
        /// Viewport 12.
        V12 = 12,
        /// Viewport 13.
        V13 = 13,
        /// Viewport 14.
        V14 = 14,
        /// Viewport 15.
        V15 = 15,
    }

    /// Clip distances that are on; bit `n` for distance `n`.
    pub struct ClipDistances {
        /// Distance 0.
        D0 = 0,
        /// Distance 1.
        D1 = 1,
        /// Distance 2.
        D2 = 2,
        /// Distance 3.
        D3 = 3,
        /// Distance 4.
        D4 = 4,
        /// Distance 5.
        D5 = 5,
        /// Distance 6.
        D6 = 6,
        /// Distance 7.
        D7 = 7,
    }
}
