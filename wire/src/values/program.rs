//! Values of programs' interfaces.

use super::{masks, values};

values! {
    /// What a uniform variable outside any block is.
    pub enum UniformClass {
        /// A value, in the image of the default block.
        Value = 0,
        /// A combined image sampler, by texture unit.
        Sampler = 1,
        /// A storage image, by image unit.
        Image = 2,
    }

    /// Type of the components of a variable, or of the texels that a sampler reads.
    pub enum ScalarType {
        /// `f32`.
        Float = 0,
        /// `i32`.
        Int = 1,
        /// `u32`.
        UnsignedInt = 2,
        /// A truth value, 32 bits: 0 is false.
        Bool = 3,
        /// `f64`.
        Double = 4,
    }

    /// Which side of a program an interface variable is on.
    pub enum InterfaceSide {
        /// An input of the first stage: with a vertex stage, an attribute.
        Input = 0,
        /// An output of the last stage: with a fragment stage, a colour.
        Output = 1,
    }

    /// What backs an interface block.
    pub enum BlockClass {
        /// A uniform buffer.
        Uniform = 0,
        /// A storage buffer.
        Storage = 1,
        /// An atomic counter buffer.
        Atomic = 2,
    }
}

masks! {
    /// Properties of a program that its modules alone do not show.
    pub struct ProgramFlags {
        /// The one fragment output goes to every draw buffer (`gl_FragColor`).
        BROADCASTS_COLOR = 0,
    }
}
