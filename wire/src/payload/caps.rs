//! Layouts of the caps blob; [`caps`](crate::caps) says how they lie in it.

use super::payload;
use crate::format::Format;
use crate::limits;
use crate::values::{BackendKind, CapsBits, FormatFeatures, ShaderDialect};

/// Stages, for limits that each stage has.
const STAGES: usize = limits::SHADER_STAGES;

/// Number of texts in the caps blob.
pub const CAPS_TEXTS: usize = 6;

payload! {
    /// Head of the blob.
    pub struct CapsHead: 64 {
        /// Counts native initialisations of the server; 0 for the placeholder.
        generation: u64,
        /// What the server drives.
        backend: u32 as BackendKind,
        /// How it takes loose uniforms.
        shader_dialect: u32 as ShaderDialect,
        /// What it can do.
        bits: u32 as CapsBits,
        /// Entries of the format table.
        format_count: u32,
        /// Bytes of each text, in the order vendor, renderer, version, shading language version, extensions,
        /// version of the native API. UTF-8 without terminating NUL.
        text_sizes: [u32; CAPS_TEXTS],
        /// Version of the GL that the server can back: major times 10 plus minor.
        gl_version: u32,
        /// The same for OpenGL ES.
        gles_version: u32,
        /// Oldest SPIR-V version that it takes as the second word of a module has it.
        min_spirv_version: u32,
        /// Newest SPIR-V version that it takes.
        max_spirv_version: u32,
    }
    check |head| {
        if head.format_count > limits::CAPS_FORMATS {
            Some("format_count")
        } else if head.text_sizes.iter().any(|size| *size > limits::CAPS_TEXT_BYTES) {
            Some("text_sizes")
        } else {
            None
        }
    }

    /// Limits, by GL's names.
    pub struct CapsLimits: 664 {
        /// `MAX_ELEMENT_INDEX`.
        max_element_index: u64,
        /// `MAX_SHADER_STORAGE_BLOCK_SIZE`, bytes.
        max_shader_storage_block_size: u64,
        /// `MAX_SERVER_WAIT_TIMEOUT`, nanoseconds.
        max_server_wait_timeout: u64,
        /// Largest data store, bytes.
        max_buffer_size: u64,

        /// `ALIASED_LINE_WIDTH_RANGE`, pixels.
        aliased_line_width_range: [f32; 2],
        /// `SMOOTH_LINE_WIDTH_RANGE`, pixels.
        smooth_line_width_range: [f32; 2],
        /// `SMOOTH_LINE_WIDTH_GRANULARITY`, pixels.
        smooth_line_width_granularity: f32,
        /// `POINT_SIZE_RANGE`, pixels.
        point_size_range: [f32; 2],
        /// `POINT_SIZE_GRANULARITY`, pixels.
        point_size_granularity: f32,
        /// `VIEWPORT_BOUNDS_RANGE`, pixels.
        viewport_bounds_range: [f32; 2],
        /// `MAX_TEXTURE_LOD_BIAS`.
        max_texture_lod_bias: f32,
        /// `MAX_TEXTURE_MAX_ANISOTROPY`; 1 for none.
        max_texture_max_anisotropy: f32,
        /// `MIN_FRAGMENT_INTERPOLATION_OFFSET`, pixels.
        min_fragment_interpolation_offset: f32,
        /// `MAX_FRAGMENT_INTERPOLATION_OFFSET`, pixels.
        max_fragment_interpolation_offset: f32,
        /// `FRAGMENT_INTERPOLATION_OFFSET_BITS`.
        fragment_interpolation_offset_bits: u32,
        /// `MIN_PROGRAM_TEXEL_OFFSET`, texels.
        min_program_texel_offset: i32,
        /// `MAX_PROGRAM_TEXEL_OFFSET`, texels.
        max_program_texel_offset: i32,
        /// `MIN_PROGRAM_TEXTURE_GATHER_OFFSET`, texels.
        min_program_texture_gather_offset: i32,
        /// `MAX_PROGRAM_TEXTURE_GATHER_OFFSET`, texels.
        max_program_texture_gather_offset: i32,

        /// `MAX_VIEWPORTS`.
        max_viewports: u32,
        /// `MAX_VIEWPORT_DIMS`, pixels.
        max_viewport_dims: [u32; 2],
        /// `VIEWPORT_SUBPIXEL_BITS`.
        viewport_subpixel_bits: u32,
        /// `SUBPIXEL_BITS`.
        subpixel_bits: u32,
        /// `MAX_CLIP_DISTANCES`.
        max_clip_distances: u32,
        /// `MAX_CULL_DISTANCES`.
        max_cull_distances: u32,
        /// `MAX_COMBINED_CLIP_AND_CULL_DISTANCES`.
        max_combined_clip_and_cull_distances: u32,

        /// `MAX_TEXTURE_SIZE`, texels.
        max_texture_size: u32,
        /// `MAX_3D_TEXTURE_SIZE`, texels.
        max_3d_texture_size: u32,
        /// `MAX_CUBE_MAP_TEXTURE_SIZE`, texels.
        max_cube_map_texture_size: u32,
        /// `MAX_RECTANGLE_TEXTURE_SIZE`, texels.
        max_rectangle_texture_size: u32,
        /// `MAX_ARRAY_TEXTURE_LAYERS`.
        max_array_texture_layers: u32,
        /// `MAX_TEXTURE_BUFFER_SIZE`, texels.
        max_texture_buffer_size: u32,
        /// `TEXTURE_BUFFER_OFFSET_ALIGNMENT`, bytes.
        texture_buffer_offset_alignment: u32,
        /// `MAX_RENDERBUFFER_SIZE`, pixels.
        max_renderbuffer_size: u32,

        /// `MAX_SAMPLES`.
        max_samples: u32,
        /// `MAX_COLOR_TEXTURE_SAMPLES`.
        max_color_texture_samples: u32,
        /// `MAX_DEPTH_TEXTURE_SAMPLES`.
        max_depth_texture_samples: u32,
        /// `MAX_INTEGER_SAMPLES`.
        max_integer_samples: u32,
        /// `MAX_SAMPLE_MASK_WORDS`.
        max_sample_mask_words: u32,

        /// `MAX_FRAMEBUFFER_WIDTH`, pixels.
        max_framebuffer_width: u32,
        /// `MAX_FRAMEBUFFER_HEIGHT`, pixels.
        max_framebuffer_height: u32,
        /// `MAX_FRAMEBUFFER_LAYERS`.
        max_framebuffer_layers: u32,
        /// `MAX_FRAMEBUFFER_SAMPLES`.
        max_framebuffer_samples: u32,
        /// `MAX_COLOR_ATTACHMENTS`.
        max_color_attachments: u32,
        /// `MAX_DRAW_BUFFERS`.
        max_draw_buffers: u32,
        /// `MAX_DUAL_SOURCE_DRAW_BUFFERS`.
        max_dual_source_draw_buffers: u32,

        /// `MAX_VERTEX_ATTRIBS`.
        max_vertex_attribs: u32,
        /// `MAX_VERTEX_ATTRIB_BINDINGS`.
        max_vertex_attrib_bindings: u32,
        /// `MAX_VERTEX_ATTRIB_STRIDE`, bytes.
        max_vertex_attrib_stride: u32,
        /// `MAX_VERTEX_ATTRIB_RELATIVE_OFFSET`, bytes.
        max_vertex_attrib_relative_offset: u32,
        /// `MAX_ELEMENTS_INDICES`.
        max_elements_indices: u32,
        /// `MAX_ELEMENTS_VERTICES`.
        max_elements_vertices: u32,

        /// `MAX_*_UNIFORM_COMPONENTS`.
        max_uniform_components: [u32; STAGES],
        /// `MAX_COMBINED_*_UNIFORM_COMPONENTS`.
        max_combined_uniform_components: [u32; STAGES],
        /// `MAX_*_UNIFORM_BLOCKS`.
        max_uniform_blocks: [u32; STAGES],
        /// `MAX_*_TEXTURE_IMAGE_UNITS`.
        max_texture_image_units: [u32; STAGES],
        /// `MAX_*_IMAGE_UNIFORMS`.
        max_image_uniforms: [u32; STAGES],
        /// `MAX_*_SHADER_STORAGE_BLOCKS`.
        max_shader_storage_blocks: [u32; STAGES],
        /// `MAX_*_ATOMIC_COUNTERS`.
        max_atomic_counters: [u32; STAGES],
        /// `MAX_*_ATOMIC_COUNTER_BUFFERS`.
        max_atomic_counter_buffers: [u32; STAGES],
        /// `MAX_*_INPUT_COMPONENTS`; 0 for the vertex and the compute stage.
        max_input_components: [u32; STAGES],
        /// `MAX_*_OUTPUT_COMPONENTS`; 0 for the fragment and the compute stage.
        max_output_components: [u32; STAGES],

        /// `MAX_UNIFORM_BUFFER_BINDINGS`.
        max_uniform_buffer_bindings: u32,
        /// `MAX_UNIFORM_BLOCK_SIZE`, bytes.
        max_uniform_block_size: u32,
        /// `UNIFORM_BUFFER_OFFSET_ALIGNMENT`, bytes.
        uniform_buffer_offset_alignment: u32,
        /// `MAX_COMBINED_UNIFORM_BLOCKS`.
        max_combined_uniform_blocks: u32,
        /// `MAX_SHADER_STORAGE_BUFFER_BINDINGS`.
        max_shader_storage_buffer_bindings: u32,
        /// `SHADER_STORAGE_BUFFER_OFFSET_ALIGNMENT`, bytes.
        shader_storage_buffer_offset_alignment: u32,
        /// `MAX_COMBINED_SHADER_STORAGE_BLOCKS`.
        max_combined_shader_storage_blocks: u32,
        /// `MAX_ATOMIC_COUNTER_BUFFER_BINDINGS`.
        max_atomic_counter_buffer_bindings: u32,
        /// `MAX_ATOMIC_COUNTER_BUFFER_SIZE`, bytes.
        max_atomic_counter_buffer_size: u32,
        /// `MAX_COMBINED_ATOMIC_COUNTERS`.
        max_combined_atomic_counters: u32,
        /// `MAX_COMBINED_ATOMIC_COUNTER_BUFFERS`.
        max_combined_atomic_counter_buffers: u32,
        /// `MAX_COMBINED_TEXTURE_IMAGE_UNITS`.
        max_combined_texture_image_units: u32,
        /// `MAX_IMAGE_UNITS`.
        max_image_units: u32,
        /// `MAX_IMAGE_SAMPLES`.
        max_image_samples: u32,
        /// `MAX_COMBINED_IMAGE_UNIFORMS`.
        max_combined_image_uniforms: u32,
        /// `MAX_COMBINED_SHADER_OUTPUT_RESOURCES`.
        max_combined_shader_output_resources: u32,
        /// `MAX_UNIFORM_LOCATIONS`.
        max_uniform_locations: u32,
        /// `MAX_VARYING_COMPONENTS`.
        max_varying_components: u32,

        /// `MAX_PATCH_VERTICES`.
        max_patch_vertices: u32,
        /// `MAX_TESS_GEN_LEVEL`.
        max_tess_gen_level: u32,
        /// `MAX_TESS_PATCH_COMPONENTS`.
        max_tess_patch_components: u32,
        /// `MAX_TESS_CONTROL_TOTAL_OUTPUT_COMPONENTS`.
        max_tess_control_total_output_components: u32,
        /// `MAX_GEOMETRY_OUTPUT_VERTICES`.
        max_geometry_output_vertices: u32,
        /// `MAX_GEOMETRY_TOTAL_OUTPUT_COMPONENTS`.
        max_geometry_total_output_components: u32,
        /// `MAX_GEOMETRY_SHADER_INVOCATIONS`.
        max_geometry_shader_invocations: u32,
        /// `MAX_VERTEX_STREAMS`.
        max_vertex_streams: u32,

        /// `MAX_TRANSFORM_FEEDBACK_BUFFERS`.
        max_transform_feedback_buffers: u32,
        /// `MAX_TRANSFORM_FEEDBACK_INTERLEAVED_COMPONENTS`.
        max_transform_feedback_interleaved_components: u32,
        /// `MAX_TRANSFORM_FEEDBACK_SEPARATE_ATTRIBS`.
        max_transform_feedback_separate_attribs: u32,
        /// `MAX_TRANSFORM_FEEDBACK_SEPARATE_COMPONENTS`.
        max_transform_feedback_separate_components: u32,

        /// `MAX_COMPUTE_WORK_GROUP_COUNT`.
        max_compute_work_group_count: [u32; 3],
        /// `MAX_COMPUTE_WORK_GROUP_SIZE`, invocations.
        max_compute_work_group_size: [u32; 3],
        /// `MAX_COMPUTE_WORK_GROUP_INVOCATIONS`.
        max_compute_work_group_invocations: u32,
        /// `MAX_COMPUTE_SHARED_MEMORY_SIZE`, bytes.
        max_compute_shared_memory_size: u32,

        /// `MIN_MAP_BUFFER_ALIGNMENT`, bytes.
        min_map_buffer_alignment: u32,
        /// `QUERY_COUNTER_BITS` of occlusion queries.
        samples_passed_bits: u32,
        /// `QUERY_COUNTER_BITS` of elapsed time.
        time_elapsed_bits: u32,
        /// `QUERY_COUNTER_BITS` of timestamps.
        timestamp_bits: u32,
        /// `QUERY_COUNTER_BITS` of primitive counts.
        primitives_bits: u32,
        /// `MAX_LABEL_LENGTH`, bytes.
        max_label_length: u32,
        #[doc(hidden)]
        _pad: u32,
    }

    /// What the server can do with one format.
    pub struct FormatCaps: 16 {
        /// The format.
        format: u32 as Format,
        /// Uses.
        features: u32 as FormatFeatures,
        /// Sample counts of attachments: bit `n` for `n` samples, 1 to 31.
        attachment_samples: u32,
        /// Sample counts of sampled multisample textures.
        texture_samples: u32,
    }
}
