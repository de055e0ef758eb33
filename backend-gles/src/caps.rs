//! What the driver can do, in the form of the wire.

use runahead_core::backend::{BackendError, Outcome};
use runahead_wire::{
    caps::{CapsHead, CapsLimits, CapsTexts, CapsView, FormatCaps},
    format::Format,
    limits,
    payload::ResourceDesc,
    values::{BackendKind, CapsBits, FormatFeatures, RefusedReason, ResourceTarget, ShaderDialect},
    zerocopy::transmute,
};

use glow::HasContext;

use crate::{
    bringup::Report,
    formats,
    gl::{FAILED, Gl, gl, raw},
    queries,
};

/// Caps with the memory that they lie in.
#[derive(Debug)]
pub(crate) struct Caps {
    head: CapsHead,
    limits: CapsLimits,
    formats: Vec<FormatCaps>,
    report: Report,
    extensions: String,
    native_version: String,
}

impl Caps {
    /// Asks the driver.
    pub(crate) fn new(gl: &Gl, report: &Report) -> Result<Self, String> {
        let mut bits = CapsBits::BACKEND_OWNS_XFB_CAPTURE
            .with(CapsBits::RUN_AHEAD_APPLY)
            .with(CapsBits::SWAP_INTERVAL)
            .with(CapsBits::OCCLUSION_QUERY)
            .with(CapsBits::XFB_PRIMITIVES_QUERY);
        if queries::has_timer(gl) {
            bits = bits.with(CapsBits::TIMER_QUERY);
        }
        if gl.extended.viewport_array.is_some() {
            bits = bits.with(CapsBits::VIEWPORT_ARRAY);
        }
        let head = CapsHead {
            generation: 1,
            backend: BackendKind::Gles.raw(),
            shader_dialect: ShaderDialect::GlUniforms.raw(),
            bits: bits.raw(),
            gles_version: gl.version,
            min_spirv_version: 0x0001_0000,
            max_spirv_version: 0x0001_0600,
            ..CapsHead::default()
        };
        let mut names: Vec<&str> = gl.api.supported_extensions().iter().map(String::as_str).collect();
        names.sort_unstable();
        let mut extensions = names.join(" ");
        extensions.truncate(extensions.floor_char_boundary(limits::CAPS_TEXT_BYTES as usize));
        let caps = Self {
            head,
            limits: read_limits(gl),
            formats: read_formats(gl),
            report: report.clone(),
            extensions,
            native_version: report.to_string(),
        };
        caps.checked().map(|_| ()).ok_or("the driver's texts are too long for the caps")?;
        Ok(caps)
    }

    fn checked(&self) -> Option<CapsView<'_>> {
        let texts = CapsTexts {
            vendor: &self.report.vendor,
            renderer: &self.report.renderer,
            version: &self.report.version,
            shading_language_version: &self.report.shading_language,
            extensions: &self.extensions,
            native_version: &self.native_version,
        };
        CapsView::new(self.head, &self.limits, &self.formats, &texts)
    }

    /// The caps.
    pub(crate) fn view(&self) -> CapsView<'_> {
        match self.checked() {
            Some(view) => view,
            None => unreachable!("bring-up checks the same parts"),
        }
    }

    /// The client can find what is mapped for it.
    pub(crate) const fn maps(&mut self) {
        self.head.bits |= CapsBits::PERSISTENT_MAP.raw();
    }

    pub(crate) const fn limits(&self) -> &CapsLimits {
        &self.limits
    }

    /// Whether a texture or renderbuffer is no larger than they may be.
    ///
    /// # Errors
    /// It is too large.
    pub(crate) fn hold(&self, desc: &ResourceDesc) -> Outcome {
        let limits = &self.limits;
        let solid = limits.max_3d_texture_size;
        let (largest, deepest) = match desc.target().ok_or(FAILED)? {
            ResourceTarget::Renderbuffer => (limits.max_renderbuffer_size, u32::MAX),
            ResourceTarget::Texture3D => (solid, solid),
            ResourceTarget::CubeMap | ResourceTarget::CubeMapArray => {
                (limits.max_cube_map_texture_size, u32::MAX)
            }
            // Its size is that of its buffer.
            ResourceTarget::Buffer | ResourceTarget::TextureBuffer => return Ok(()),
            _ => (limits.max_texture_size, u32::MAX),
        };
        let fits = desc.width <= largest
            && desc.height <= largest
            && desc.depth <= deepest
            && u32::from(desc.array_layers) <= limits.max_array_texture_layers.max(6);
        if fits { Ok(()) } else { Err(BackendError::Refused(RefusedReason::TooLarge)) }
    }
}

fn number(gl: &Gl, name: u32) -> u32 {
    u32::try_from(gl!(gl, get_parameter_i32(name))).unwrap_or(0)
}

fn pair(gl: &Gl, name: u32) -> [f32; 2] {
    let mut pair = [0.0; 2];
    gl!(gl, get_parameter_f32_slice(name, &mut pair));
    pair
}

/// Numbers of values that `glow` has no name for (OpenGL ES 3.2 tables 21.40 and following).
const SUBPIXEL_BITS: u32 = 0x0D50;
const MAX_ELEMENT_INDEX: u32 = 0x8D6B;
const MAX_COMBINED_VERTEX_UNIFORM_COMPONENTS: u32 = 0x8A31;
const MAX_COMBINED_FRAGMENT_UNIFORM_COMPONENTS: u32 = 0x8A33;
const MAX_SERVER_WAIT_TIMEOUT: u32 = 0x9111;
const ALIASED_POINT_SIZE_RANGE: u32 = 0x846D;
const MAX_TEXTURE_MAX_ANISOTROPY: u32 = 0x84FF;
const TEXTURE_BUFFER_OFFSET_ALIGNMENT: u32 = 0x919F;

const MAX_COMBINED_COMPUTE_UNIFORM_COMPONENTS: u32 = 0x8266;
const MAX_COMBINED_GEOMETRY_UNIFORM_COMPONENTS: u32 = 0x8A32;
const MAX_COMBINED_TESS_CONTROL_UNIFORM_COMPONENTS: u32 = 0x8E1E;
const MAX_COMBINED_TESS_EVALUATION_UNIFORM_COMPONENTS: u32 = 0x8E1F;
const MAX_COMBINED_SHADER_OUTPUT_RESOURCES: u32 = 0x8F39;
const MAX_COMPUTE_WORK_GROUP_INVOCATIONS: u32 = 0x90EB;
const MAX_COMPUTE_SHARED_MEMORY_SIZE: u32 = 0x8262;
const QUERY_COUNTER_BITS: u32 = 0x8864;

/// Those of `OES_viewport_array`, `EXT_clip_cull_distance` and `EXT_blend_func_extended`.
const MAX_VIEWPORTS: u32 = 0x825B;
const VIEWPORT_SUBPIXEL_BITS: u32 = 0x825C;
const MAX_CLIP_DISTANCES: u32 = 0x0D32;
const MAX_DUAL_SOURCE_DRAW_BUFFERS: u32 = 0x88FC;

/// Positions of the stages in arrays by stage.
const VERTEX: usize = 0;
const TESS_CONTROL: usize = 1;
const TESS_EVALUATION: usize = 2;
const GEOMETRY: usize = 3;
const FRAGMENT: usize = 4;
const COMPUTE: usize = 5;

const fn has_stage(gl: &Gl, stage: usize) -> bool {
    match stage {
        VERTEX | FRAGMENT => true,
        COMPUTE => gl.version >= 31,
        _ => gl.version >= 32,
    }
}

/// Limits of what shaders write: storage buffers, counters, which are storage buffers too, and images.
fn read_written(gl: &Gl, caps: &mut CapsLimits) {
    if gl.version < 31 {
        return;
    }
    let get = |name| number(gl, name);
    for (stage, blocks, counters, counter_buffers, images) in [
        (
            VERTEX,
            glow::MAX_VERTEX_SHADER_STORAGE_BLOCKS,
            glow::MAX_VERTEX_ATOMIC_COUNTERS,
            glow::MAX_VERTEX_ATOMIC_COUNTER_BUFFERS,
            glow::MAX_VERTEX_IMAGE_UNIFORMS,
        ),
        (
            FRAGMENT,
            glow::MAX_FRAGMENT_SHADER_STORAGE_BLOCKS,
            glow::MAX_FRAGMENT_ATOMIC_COUNTERS,
            glow::MAX_FRAGMENT_ATOMIC_COUNTER_BUFFERS,
            glow::MAX_FRAGMENT_IMAGE_UNIFORMS,
        ),
        (
            COMPUTE,
            glow::MAX_COMPUTE_SHADER_STORAGE_BLOCKS,
            glow::MAX_COMPUTE_ATOMIC_COUNTERS,
            glow::MAX_COMPUTE_ATOMIC_COUNTER_BUFFERS,
            glow::MAX_COMPUTE_IMAGE_UNIFORMS,
        ),
        (
            GEOMETRY,
            glow::MAX_GEOMETRY_SHADER_STORAGE_BLOCKS,
            glow::MAX_GEOMETRY_ATOMIC_COUNTERS,
            glow::MAX_GEOMETRY_ATOMIC_COUNTER_BUFFERS,
            glow::MAX_GEOMETRY_IMAGE_UNIFORMS,
        ),
        (
            TESS_CONTROL,
            glow::MAX_TESS_CONTROL_SHADER_STORAGE_BLOCKS,
            glow::MAX_TESS_CONTROL_ATOMIC_COUNTERS,
            glow::MAX_TESS_CONTROL_ATOMIC_COUNTER_BUFFERS,
            glow::MAX_TESS_CONTROL_IMAGE_UNIFORMS,
        ),
        (
            TESS_EVALUATION,
            glow::MAX_TESS_EVALUATION_SHADER_STORAGE_BLOCKS,
            glow::MAX_TESS_EVALUATION_ATOMIC_COUNTERS,
            glow::MAX_TESS_EVALUATION_ATOMIC_COUNTER_BUFFERS,
            glow::MAX_TESS_EVALUATION_IMAGE_UNIFORMS,
        ),
    ] {
        if has_stage(gl, stage) {
            caps.max_shader_storage_blocks[stage] = get(blocks);
            // What backs a counter is a block.
            caps.max_atomic_counter_buffers[stage] = get(counter_buffers).min(get(blocks));
            caps.max_atomic_counters[stage] = if get(blocks) == 0 { 0 } else { get(counters) };
            caps.max_image_uniforms[stage] = get(images);
        }
    }
    let points = get(glow::MAX_SHADER_STORAGE_BUFFER_BINDINGS);
    // The client's points are mapped to those that a program uses.
    caps.max_shader_storage_buffer_bindings = points.min(limits::BUFFER_BINDINGS);
    caps.max_shader_storage_block_size =
        gl!(gl, get_parameter_i64(glow::MAX_SHADER_STORAGE_BLOCK_SIZE)).max(0) as u64;
    caps.shader_storage_buffer_offset_alignment = get(glow::SHADER_STORAGE_BUFFER_OFFSET_ALIGNMENT);
    caps.max_combined_shader_storage_blocks = get(glow::MAX_COMBINED_SHADER_STORAGE_BLOCKS);
    caps.max_atomic_counter_buffer_bindings =
        get(glow::MAX_ATOMIC_COUNTER_BUFFER_BINDINGS).min(limits::BUFFER_BINDINGS);
    caps.max_atomic_counter_buffer_size = get(glow::MAX_ATOMIC_COUNTER_BUFFER_SIZE);
    caps.max_combined_atomic_counters = get(glow::MAX_COMBINED_ATOMIC_COUNTERS);
    caps.max_combined_atomic_counter_buffers =
        get(glow::MAX_COMBINED_ATOMIC_COUNTER_BUFFERS).min(caps.max_combined_shader_storage_blocks);
    caps.max_image_units = get(glow::MAX_IMAGE_UNITS).min(limits::IMAGE_UNITS);
    caps.max_combined_image_uniforms = get(glow::MAX_COMBINED_IMAGE_UNIFORMS);
    caps.max_combined_shader_output_resources = get(MAX_COMBINED_SHADER_OUTPUT_RESOURCES);
}

/// Limits of the stages beside vertex and fragment.
fn read_stages(gl: &Gl, caps: &mut CapsLimits) {
    let get = |name| number(gl, name);
    if gl.version >= 31 {
        let indexed = |name, at| u32::try_from(gl!(gl, get_parameter_indexed_i32(name, at))).unwrap_or(0);
        caps.max_compute_work_group_count =
            [0, 1, 2].map(|at| indexed(glow::MAX_COMPUTE_WORK_GROUP_COUNT, at));
        caps.max_compute_work_group_size = [0, 1, 2].map(|at| indexed(glow::MAX_COMPUTE_WORK_GROUP_SIZE, at));
        caps.max_compute_work_group_invocations = get(MAX_COMPUTE_WORK_GROUP_INVOCATIONS);
        caps.max_compute_shared_memory_size = get(MAX_COMPUTE_SHARED_MEMORY_SIZE);
    }
    if gl.version >= 32 {
        caps.max_patch_vertices = get(glow::MAX_PATCH_VERTICES);
        caps.max_tess_gen_level = get(glow::MAX_TESS_GEN_LEVEL);
        caps.max_tess_patch_components = get(glow::MAX_TESS_PATCH_COMPONENTS);
        caps.max_tess_control_total_output_components = get(glow::MAX_TESS_CONTROL_TOTAL_OUTPUT_COMPONENTS);
        caps.max_input_components[TESS_CONTROL] = get(glow::MAX_TESS_CONTROL_INPUT_COMPONENTS);
        caps.max_output_components[TESS_CONTROL] = get(glow::MAX_TESS_CONTROL_OUTPUT_COMPONENTS);
        caps.max_input_components[TESS_EVALUATION] = get(glow::MAX_TESS_EVALUATION_INPUT_COMPONENTS);
        caps.max_output_components[TESS_EVALUATION] = get(glow::MAX_TESS_EVALUATION_OUTPUT_COMPONENTS);
        caps.max_geometry_output_vertices = get(glow::MAX_GEOMETRY_OUTPUT_VERTICES);
        caps.max_geometry_total_output_components = get(glow::MAX_GEOMETRY_TOTAL_OUTPUT_COMPONENTS);
        caps.max_geometry_shader_invocations = get(glow::MAX_GEOMETRY_SHADER_INVOCATIONS);
        caps.max_input_components[GEOMETRY] = get(glow::MAX_GEOMETRY_INPUT_COMPONENTS);
        caps.max_output_components[GEOMETRY] = get(glow::MAX_GEOMETRY_OUTPUT_COMPONENTS);
        caps.max_vertex_streams = 1;
    }
}

/// Limits of transform feedback and queries.
fn read_capture(gl: &Gl, caps: &mut CapsLimits) {
    let get = |name| number(gl, name);
    let separate = get(glow::MAX_TRANSFORM_FEEDBACK_SEPARATE_ATTRIBS);
    // Each buffer has one output, or one buffer has all.
    caps.max_transform_feedback_buffers = separate.min(limits::STREAM_OUTPUT_TARGETS as u32);
    caps.max_transform_feedback_separate_attribs = caps.max_transform_feedback_buffers;
    caps.max_transform_feedback_interleaved_components =
        get(glow::MAX_TRANSFORM_FEEDBACK_INTERLEAVED_COMPONENTS);
    caps.max_transform_feedback_separate_components = get(glow::MAX_TRANSFORM_FEEDBACK_SEPARATE_COMPONENTS);
    // Results are read as 32-bit numbers, but for times. Samples are not counted.
    caps.samples_passed_bits = 0;
    caps.primitives_bits = 32;
    if queries::has_timer(gl) {
        let bits = |target| {
            let mut bits: i32 = 0;
            raw!(gl, get_queryiv(target, QUERY_COUNTER_BITS, (&raw mut bits).cast()));
            u32::try_from(bits).unwrap_or(0)
        };
        caps.time_elapsed_bits = bits(queries::TIME_ELAPSED);
        caps.timestamp_bits = bits(queries::TIMESTAMP);
    }
}

fn read_limits(gl: &Gl) -> CapsLimits {
    let mut caps: CapsLimits = transmute!([0_u8; size_of::<CapsLimits>()]);
    let get = |name| number(gl, name);
    let units = get(glow::MAX_COMBINED_TEXTURE_IMAGE_UNITS).min(limits::TEXTURE_UNITS);
    caps.max_element_index = gl!(gl, get_parameter_i64(MAX_ELEMENT_INDEX)).max(0) as u64;
    caps.max_server_wait_timeout = gl!(gl, get_parameter_i64(MAX_SERVER_WAIT_TIMEOUT)).max(0) as u64;
    // Offsets and sizes that the driver takes as 32-bit numbers are the narrowest.
    caps.max_buffer_size = i32::MAX as u64;
    caps.aliased_line_width_range = pair(gl, glow::ALIASED_LINE_WIDTH_RANGE);
    caps.smooth_line_width_range = [1.0, 1.0];
    caps.point_size_range = pair(gl, ALIASED_POINT_SIZE_RANGE);
    let dims = {
        let mut dims = [0; 2];
        gl!(gl, get_parameter_i32_slice(glow::MAX_VIEWPORT_DIMS, &mut dims));
        dims.map(|side: i32| u32::try_from(side).unwrap_or(0))
    };
    caps.viewport_bounds_range = [-(dims[0] as f32) * 2.0, dims[0] as f32 * 2.0 - 1.0];
    caps.max_texture_lod_bias = gl!(gl, get_parameter_f32(glow::MAX_TEXTURE_LOD_BIAS));
    caps.max_texture_max_anisotropy = if gl.has("GL_EXT_texture_filter_anisotropic") {
        gl!(gl, get_parameter_f32(MAX_TEXTURE_MAX_ANISOTROPY))
    } else {
        1.0
    };
    caps.min_program_texel_offset = gl!(gl, get_parameter_i32(glow::MIN_PROGRAM_TEXEL_OFFSET));
    caps.max_program_texel_offset = gl!(gl, get_parameter_i32(glow::MAX_PROGRAM_TEXEL_OFFSET));
    caps.max_viewports = 1;
    let (extended, able) = (&gl.extended, &gl.extended.able);
    if extended.viewport_array.is_some() {
        caps.max_viewports = get(MAX_VIEWPORTS).min(limits::VIEWPORTS as u32);
        caps.viewport_subpixel_bits = get(VIEWPORT_SUBPIXEL_BITS);
    }
    if able.clip_distances {
        caps.max_clip_distances = get(MAX_CLIP_DISTANCES).min(8);
    }
    if able.dual_source {
        caps.max_dual_source_draw_buffers = get(MAX_DUAL_SOURCE_DRAW_BUFFERS);
    }
    // One word is all that the state has.
    caps.max_sample_mask_words = u32::from(extended.sample_mask.is_some());
    caps.max_viewport_dims = dims;
    caps.subpixel_bits = get(SUBPIXEL_BITS);
    caps.max_texture_size = get(glow::MAX_TEXTURE_SIZE);
    caps.max_3d_texture_size = get(glow::MAX_3D_TEXTURE_SIZE);
    caps.max_cube_map_texture_size = get(glow::MAX_CUBE_MAP_TEXTURE_SIZE);
    caps.max_array_texture_layers = get(glow::MAX_ARRAY_TEXTURE_LAYERS);
    if gl.extended.tex_buffer.is_some() {
        caps.max_texture_buffer_size = get(glow::MAX_TEXTURE_BUFFER_SIZE);
        caps.texture_buffer_offset_alignment = get(TEXTURE_BUFFER_OFFSET_ALIGNMENT);
    }
    if gl.version >= 31 {
        caps.max_color_texture_samples = get(glow::MAX_COLOR_TEXTURE_SAMPLES);
        caps.max_depth_texture_samples = get(glow::MAX_DEPTH_TEXTURE_SAMPLES);
        caps.max_integer_samples = get(glow::MAX_INTEGER_SAMPLES);
    }
    caps.max_renderbuffer_size = get(glow::MAX_RENDERBUFFER_SIZE);
    caps.max_samples = get(glow::MAX_SAMPLES);
    // A framebuffer is no larger than what can be attached to it.
    caps.max_framebuffer_width = caps.max_renderbuffer_size;
    caps.max_framebuffer_height = caps.max_renderbuffer_size;
    caps.max_framebuffer_layers = caps.max_array_texture_layers;
    caps.max_framebuffer_samples = caps.max_samples;
    caps.max_color_attachments = get(glow::MAX_COLOR_ATTACHMENTS).min(limits::COLOR_ATTACHMENTS as u32);
    caps.max_draw_buffers = get(glow::MAX_DRAW_BUFFERS).min(limits::COLOR_ATTACHMENTS as u32);
    caps.max_vertex_attribs = get(glow::MAX_VERTEX_ATTRIBS).min(limits::VERTEX_ATTRIBS);
    caps.max_vertex_attrib_bindings = caps.max_vertex_attribs;
    caps.max_vertex_attrib_stride = 2048;
    caps.max_vertex_attrib_relative_offset = 2047;
    caps.max_elements_indices = get(glow::MAX_ELEMENTS_INDICES);
    caps.max_elements_vertices = get(glow::MAX_ELEMENTS_VERTICES);
    let stages = [
        (
            VERTEX,
            glow::MAX_VERTEX_UNIFORM_COMPONENTS,
            MAX_COMBINED_VERTEX_UNIFORM_COMPONENTS,
            glow::MAX_VERTEX_UNIFORM_BLOCKS,
            glow::MAX_VERTEX_TEXTURE_IMAGE_UNITS,
        ),
        (
            FRAGMENT,
            glow::MAX_FRAGMENT_UNIFORM_COMPONENTS,
            MAX_COMBINED_FRAGMENT_UNIFORM_COMPONENTS,
            glow::MAX_FRAGMENT_UNIFORM_BLOCKS,
            glow::MAX_TEXTURE_IMAGE_UNITS,
        ),
        (
            COMPUTE,
            glow::MAX_COMPUTE_UNIFORM_COMPONENTS,
            MAX_COMBINED_COMPUTE_UNIFORM_COMPONENTS,
            glow::MAX_COMPUTE_UNIFORM_BLOCKS,
            glow::MAX_COMPUTE_TEXTURE_IMAGE_UNITS,
        ),
        (
            GEOMETRY,
            glow::MAX_GEOMETRY_UNIFORM_COMPONENTS,
            MAX_COMBINED_GEOMETRY_UNIFORM_COMPONENTS,
            glow::MAX_GEOMETRY_UNIFORM_BLOCKS,
            glow::MAX_GEOMETRY_TEXTURE_IMAGE_UNITS,
        ),
        (
            TESS_CONTROL,
            glow::MAX_TESS_CONTROL_UNIFORM_COMPONENTS,
            MAX_COMBINED_TESS_CONTROL_UNIFORM_COMPONENTS,
            glow::MAX_TESS_CONTROL_UNIFORM_BLOCKS,
            glow::MAX_TESS_CONTROL_TEXTURE_IMAGE_UNITS,
        ),
        (
            TESS_EVALUATION,
            glow::MAX_TESS_EVALUATION_UNIFORM_COMPONENTS,
            MAX_COMBINED_TESS_EVALUATION_UNIFORM_COMPONENTS,
            glow::MAX_TESS_EVALUATION_UNIFORM_BLOCKS,
            glow::MAX_TESS_EVALUATION_TEXTURE_IMAGE_UNITS,
        ),
    ];
    for (stage, components, combined, blocks, images) in stages {
        if !has_stage(gl, stage) {
            continue;
        }
        caps.max_uniform_components[stage] = get(components);
        caps.max_combined_uniform_components[stage] = get(combined);
        caps.max_uniform_blocks[stage] = get(blocks);
        caps.max_texture_image_units[stage] = get(images).min(units);
    }
    caps.max_output_components[VERTEX] = get(glow::MAX_VERTEX_OUTPUT_COMPONENTS);
    caps.max_input_components[FRAGMENT] = get(glow::MAX_FRAGMENT_INPUT_COMPONENTS);
    read_written(gl, &mut caps);
    read_stages(gl, &mut caps);
    read_capture(gl, &mut caps);
    caps.max_uniform_buffer_bindings = get(glow::MAX_UNIFORM_BUFFER_BINDINGS).min(limits::BUFFER_BINDINGS);
    caps.max_uniform_block_size = get(glow::MAX_UNIFORM_BLOCK_SIZE);
    caps.uniform_buffer_offset_alignment = get(glow::UNIFORM_BUFFER_OFFSET_ALIGNMENT);
    caps.max_combined_uniform_blocks = get(glow::MAX_COMBINED_UNIFORM_BLOCKS);
    caps.max_combined_texture_image_units = units;
    // Locations of loose uniforms are the client's own.
    caps.max_uniform_locations = limits::PROGRAM_UNIFORMS;
    caps.max_varying_components = get(glow::MAX_VARYING_COMPONENTS);
    gl.clear_errors();
    caps
}

fn read_formats(gl: &Gl) -> Vec<FormatCaps> {
    let mut table = Vec::new();
    for format in Format::ALL {
        let features = formats::features(gl, *format);
        if features.is_empty() {
            continue;
        }
        let (mut attachment_samples, mut texture_samples) = (0, 0);
        if features.contains(FormatFeatures::RENDERABLE)
            && let Some(spelling) = formats::spelling(*format)
        {
            attachment_samples = samples(gl, glow::RENDERBUFFER, spelling.renderbuffer);
            if gl.extended.tex_storage_2d_multisample.is_some() {
                texture_samples = samples(gl, glow::TEXTURE_2D_MULTISAMPLE, spelling.internal);
            }
        }
        table.push(FormatCaps {
            format: format.raw(),
            features: features.raw(),
            attachment_samples,
            texture_samples,
        });
    }
    gl.clear_errors();
    table
}

/// Sample counts of images of a target and format, bit `n` for `n` samples.
fn samples(gl: &Gl, target: u32, internal: u32) -> u32 {
    let mut count = [0];
    gl.clear_errors();
    gl!(gl, get_internal_format_i32_slice(target, internal, glow::NUM_SAMPLE_COUNTS, &mut count));
    let mut counts = vec![0; usize::try_from(count[0]).unwrap_or(0).min(32)];
    if counts.is_empty() {
        return 0;
    }
    gl!(gl, get_internal_format_i32_slice(target, internal, glow::SAMPLES, &mut counts));
    counts.iter().filter(|count| (1..32).contains(*count)).fold(0, |mask, count| mask | 1 << *count)
}
