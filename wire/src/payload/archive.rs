//! Layouts of the reflection archive; [`archive`](crate::archive) says how they lie in it.

use super::payload;
use crate::limits;
use crate::values::{
    BlockClass, InterfaceSide, ProgramFlags, ResourceTarget, ScalarType, StageMask, UniformClass,
};

payload! {
    /// A span of the archive's texts.
    pub struct TextSpan: 8 {
        /// First byte.
        offset: u32,
        /// Bytes.
        size: u32,
    }

    /// Head of the archive.
    pub struct ArchiveHead: 32 {
        /// Properties of the program.
        flags: u32 as ProgramFlags,
        /// Uniform variables outside blocks.
        uniform_count: u32,
        /// Inputs of the first stage and outputs of the last.
        interface_count: u32,
        /// Interface blocks.
        block_count: u32,
        /// Bytes of text, UTF-8.
        text_size: u32,
        #[doc(hidden)]
        _pad: [u32; 3],
    }
    check |head| {
        if head.uniform_count > limits::PROGRAM_UNIFORMS {
            Some("uniform_count")
        } else if head.interface_count > limits::PROGRAM_INTERFACES {
            Some("interface_count")
        } else if head.block_count > limits::PROGRAM_BLOCKS {
            Some("block_count")
        } else if head.text_size > limits::PROGRAM_TEXT_BYTES {
            Some("text_size")
        } else {
            None
        }
    }

    /// One uniform without parts: a variable outside any block, or a leaf of one that is a struct.
    ///
    /// In a module the variable is found by its `Location` decoration, which is the same in every stage. A leaf's
    /// path from there is `path`: `.mN` for member `N` of a struct, `[N]` for element `N` of an array of structs,
    /// and nothing for a variable that is its own leaf.
    pub struct ArchiveUniform: 52 {
        /// Name by which an application asks for it, without a last `[0]`.
        name: TextSpan,
        /// Path from the variable to the leaf.
        path: TextSpan,
        /// `Location` of the variable.
        variable: u32,
        /// GL location of the leaf, of its first element if it is an array. What
        /// [`ProgramSamplerUnit`](super::ProgramSamplerUnit) names.
        location: u32,
        /// Byte of the default block's image where a value lies.
        offset: u32,
        /// Elements; 1 for what is no array.
        array_size: u32,
        /// Bytes of the image from element to element; 0 for what is no array, and no value.
        array_stride: u32,
        /// Bytes of the image from column to column; 0 for what is no matrix.
        matrix_stride: u32,
        /// Stages that use it.
        stages: u32 as StageMask,
        /// What it is.
        class: u8 as UniformClass,
        /// Components of a value, or of the texels of a sampler or image.
        scalar: u8 as ScalarType,
        /// Columns of a value: 1 for scalars and vectors.
        columns: u8,
        /// Components of a column.
        rows: u8,
        /// What a sampler or image shows; meaningless for a value.
        target: u16 as ResourceTarget,
        /// Whether a sampler compares.
        shadow: u8 as bool,
        #[doc(hidden)]
        _pad: u8,
    }
    check |uniform| {
        if uniform.array_size == 0 {
            Some("array_size")
        } else if uniform.columns == 0 || uniform.columns > 4 {
            Some("columns")
        } else if uniform.rows == 0 || uniform.rows > 4 {
            Some("rows")
        } else {
            None
        }
    }

    /// An input of the first stage or an output of the last. In a module it is found by its `Location`.
    pub struct ArchiveInterface: 24 {
        /// Name.
        name: TextSpan,
        /// Location.
        location: u32,
        /// Elements; 1 for what is no array. Each takes `columns` locations.
        array_size: u32,
        /// Which side.
        side: u8 as InterfaceSide,
        /// Components.
        scalar: u8 as ScalarType,
        /// Columns: 1 for scalars and vectors.
        columns: u8,
        /// Components of a column.
        rows: u8,
        /// Index of an output (dual-source blending).
        index: u32,
    }
    check |interface| {
        if interface.array_size == 0 {
            Some("array_size")
        } else if interface.columns == 0 || interface.columns > 4 {
            Some("columns")
        } else if interface.rows == 0 || interface.rows > 4 {
            Some("rows")
        } else {
            None
        }
    }

    /// An interface block. Its place in the archive, among those of its class, is its block index.
    pub struct ArchiveBlock: 24 {
        /// Name, with `[N]` for an element of an array of blocks.
        name: TextSpan,
        /// Binding point in the module, of the class's descriptor set.
        binding: u32,
        /// Bytes.
        size: u32,
        /// Stages that use it.
        stages: u32 as StageMask,
        /// What backs it.
        class: u32 as BlockClass,
    }
}
