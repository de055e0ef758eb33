//! Values of samplers, textures and image units.

use super::values;

values! {
    /// How coordinates outside the image are taken.
    pub enum Wrap {
        /// The image repeats.
        Repeat = 0,
        /// The image repeats, every second time mirrored.
        MirroredRepeat = 1,
        /// The edge texel.
        ClampToEdge = 2,
        /// The border colour.
        ClampToBorder = 3,
        /// Mirrored once, then the edge texel.
        MirrorClampToEdge = 4,
    }

    /// Filter within a level.
    pub enum Filter {
        /// The nearest texel.
        Nearest = 0,
        /// A weighted average.
        Linear = 1,
    }

    /// Filter between levels.
    pub enum MipFilter {
        /// The base level alone.
        None = 0,
        /// The nearest level.
        Nearest = 1,
        /// A weighted average of two levels.
        Linear = 2,
    }

    /// Whether a sampler compares.
    pub enum CompareMode {
        /// It returns what it reads.
        None = 0,
        /// It compares the reference with what it reads.
        RefToTexture = 1,
    }

    /// Which of the three views of a border colour counts.
    pub enum BorderColorForm {
        /// The floats.
        Float = 0,
        /// The signed integers.
        Int = 1,
        /// The unsigned integers.
        Uint = 2,
    }

    /// Source of one component of a texture's result.
    pub enum Swizzle {
        /// Red.
        Red = 0,
        /// Green.
        Green = 1,
        /// Blue.
        Blue = 2,
        /// Alpha.
        Alpha = 3,
        /// 0.
        Zero = 4,
        /// 1.
        One = 5,
    }

    /// Which half of a depth-stencil texture is sampled.
    pub enum DepthStencilMode {
        /// Depth.
        Depth = 0,
        /// Stencil.
        Stencil = 1,
    }

    /// How a shader may use an image unit.
    pub enum ImageAccess {
        /// Loads.
        ReadOnly = 0,
        /// Stores.
        WriteOnly = 1,
        /// Both.
        ReadWrite = 2,
    }
}
