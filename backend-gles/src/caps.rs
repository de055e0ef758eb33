//! What the driver can do, in the form of the wire.

use runahead_wire::{
    caps::{CapsHead, CapsLimits, CapsTexts, CapsView, FormatCaps},
    format::Format,
    limits,
    values::{BackendKind, CapsBits, FormatFeatures, ShaderDialect},
    zerocopy::transmute,
};

use glow::HasContext;

use crate::{
    bringup::Report,
    formats,
    gl::{Gl, gl},
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
        let mut bits =
            CapsBits::BACKEND_OWNS_XFB_CAPTURE.with(CapsBits::RUN_AHEAD_APPLY).with(CapsBits::SWAP_INTERVAL);
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

/// Those of `OES_viewport_array`, `EXT_clip_cull_distance` and `EXT_blend_func_extended`.
const MAX_VIEWPORTS: u32 = 0x825B;
const VIEWPORT_SUBPIXEL_BITS: u32 = 0x825C;
const MAX_CLIP_DISTANCES: u32 = 0x0D32;
const MAX_DUAL_SOURCE_DRAW_BUFFERS: u32 = 0x88FC;

/// Positions of the stages in arrays by stage.
const VERTEX: usize = 0;
const FRAGMENT: usize = 4;

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
    ];
    for (stage, components, combined, blocks, images) in stages {
        caps.max_uniform_components[stage] = get(components);
        caps.max_combined_uniform_components[stage] = get(combined);
        caps.max_uniform_blocks[stage] = get(blocks);
        caps.max_texture_image_units[stage] = get(images).min(units);
    }
    caps.max_output_components[VERTEX] = get(glow::MAX_VERTEX_OUTPUT_COMPONENTS);
    caps.max_input_components[FRAGMENT] = get(glow::MAX_FRAGMENT_INPUT_COMPONENTS);
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
        let mut attachment_samples = 0;
        if features.contains(FormatFeatures::RENDERABLE)
            && let Some(spelling) = formats::spelling(*format)
        {
            attachment_samples = samples(gl, spelling.renderbuffer);
        }
        table.push(FormatCaps {
            format: format.raw(),
            features: features.raw(),
            attachment_samples,
            texture_samples: 0,
        });
    }
    gl.clear_errors();
    table
}

/// Sample counts of renderbuffers of a format, bit `n` for `n` samples.
fn samples(gl: &Gl, internal: u32) -> u32 {
    let mut count = [0];
    gl.clear_errors();
    gl!(gl, get_internal_format_i32_slice(glow::RENDERBUFFER, internal, glow::NUM_SAMPLE_COUNTS, &mut count));
    let mut counts = vec![0; usize::try_from(count[0]).unwrap_or(0).min(32)];
    if counts.is_empty() {
        return 0;
    }
    gl!(gl, get_internal_format_i32_slice(glow::RENDERBUFFER, internal, glow::SAMPLES, &mut counts));
    counts.iter().filter(|count| (1..32).contains(*count)).fold(0, |mask, count| mask | 1 << *count)
}
