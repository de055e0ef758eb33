//! Programs and what is bound to them.
//!
//! Source: OpenGL 4.6 chapter 7 (programs, uniforms, uniform and storage blocks).

use super::payload;
use crate::bulk::BlobRef;
use crate::handle::Handle;
use crate::limits;
use crate::values::{SpirvStatus, StageMask};

payload! {
    /// A linked program. It is created again on the same handle at each link; that clears its bindings and
    /// constants.
    pub struct ProgramDesc: 200 {
        /// The shader CSO.
        cso: Handle,
        /// Stages that the program has.
        stage_mask: u32 as StageMask,
        /// Bytes of the default uniform block's image.
        global_ubo_size: u32,
        /// Where that image holds the number of samples, which the server fills in; `u32::MAX` when it does
        /// not.
        reserved_num_samples_offset: u32,
        /// What became of the translation to SPIR-V.
        spirv_status: u8 as SpirvStatus,
        /// Whether the modules use 64-bit floats.
        native_float64: u8 as bool,
        /// Whether writes to the point size were removed.
        point_size_demoted: u8 as bool,
        /// Whether the server should validate the modules; a debugging aid.
        enable_spirv_validation: u8 as bool,
        /// Whether the program linked.
        link_status: u8 as bool,
        #[doc(hidden)]
        _pad: [u8; 7],
        /// SPIR-V of each stage, in the order of [`StageMask`]; none for a stage that the program lacks.
        spirv: [BlobRef; limits::SHADER_STAGES],
        /// Reflection archive.
        reflection: BlobRef,
    }

    /// Bindings of a program that may change after linking. Three tails follow, each possibly empty.
    pub struct ProgramBindings: 48 {
        /// The shader CSO.
        cso: Handle,
        /// Names of storage blocks, one behind the other.
        names: BlobRef,
        /// Uniform block bindings, by block index.
        block_binding_count: u32,
        /// Sampler uniforms with a unit.
        sampler_unit_count: u32,
        /// Storage blocks with another binding than their shader's.
        storage_override_count: u32,
        #[doc(hidden)]
        _pad: u32,
    }

    /// Unit of a sampler or image uniform.
    pub struct ProgramSamplerUnit: 8 {
        /// Location of the uniform.
        location: u32,
        /// Unit.
        unit: i32,
    }

    /// Binding of a storage block that is known by its name.
    pub struct ProgramStorageOverride: 16 {
        /// First byte of the name in the names blob.
        name_offset: u32,
        /// Bytes of the name.
        name_size: u32,
        /// Binding point.
        binding: i32,
        #[doc(hidden)]
        _pad: u32,
    }

    /// A changed span of a program's default uniform block.
    pub struct GlobalConstants: 40 {
        /// The shader CSO.
        shader_cso: Handle,
        /// Byte of the block's image where the blob goes.
        offset: u32,
        #[doc(hidden)]
        _pad: u32,
        /// The bytes.
        blob: BlobRef,
    }
    check |constants| { (constants.offset >= limits::GLOBAL_CONSTANTS_BYTES).then_some("offset") }

    /// Binding of one storage block; superseded by [`ProgramBindings`].
    pub struct StorageBlockBinding: 40 {
        /// The shader CSO.
        shader_cso: Handle,
        /// GL name of the program, for diagnostics alone.
        gl_name: u32,
        /// Binding point.
        binding: u32,
        /// Name of the block, with its terminating NUL.
        name: BlobRef,
    }
}
