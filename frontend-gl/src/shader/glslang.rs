//! The binding of glslang: source text in, SPIR-V of one stage or an info log out. The one module of the shader
//! front that opens `unsafe`.
//!
//! A source is parsed in the version that it declares: target "none", no messages, linked on its own without
//! messages. With a SPIR-V target glslang takes ES 3.10 and desktop 3.30 at the least. What comes out needs SPIR-V 1.0
//! and bears version 0, which the caller sets right.
#![allow(unsafe_code)]

use std::{
    ffi::{CStr, CString, c_char, c_int, c_void},
    ptr::{self, NonNull},
    sync::LazyLock,
};

use glslang_sys as sys;

use super::{Environment, Stage};

/// Whether glslang's process-wide tables are there. They are never torn down: programs compile until they exit.
static READY: LazyLock<bool> = LazyLock::new(|| {
    // SAFETY: no argument; the call counts its users and locks what it sets up.
    unsafe { sys::glslang_initialize_process() != 0 }
});

/// What a source became.
#[derive(Debug)]
pub(super) struct Output {
    /// The module, or what is wrong with the stage as a whole: no `main`, a function without a body, recursion.
    pub(super) module: Result<Vec<u32>, String>,
    /// Warnings.
    pub(super) log: String,
}

/// A shader object of glslang and what it points to.
struct Shader {
    raw: NonNull<sys::glslang_shader_t>,
    input: sys::glslang_input_t,
    /// Where `input` points.
    _resources: Box<sys::glslang_resource_t>,
    _code: CString,
    _preamble: CString,
}

/// Refuses every file: a shader reads none.
unsafe extern "C" fn no_include(
    _context: *mut c_void,
    _header: *const c_char,
    _includer: *const c_char,
    _depth: usize,
) -> *mut sys::glsl_include_result_t {
    ptr::null_mut()
}

impl Shader {
    fn new(stage: Stage, code: CString, preamble: CString, environment: &Environment) -> Option<Self> {
        let desktop = environment.glsl > 0;
        if !*READY {
            return None;
        }
        let resources = Box::new(resources(&environment.limits));
        let input = sys::glslang_input_t {
            language: sys::glslang_source_t::GLSL,
            stage: raw_stage(stage),
            client: sys::glslang_client_t::None,
            client_version: sys::glslang_target_client_version_t::OpenGL450,
            target_language: sys::glslang_target_language_t::None,
            target_language_version: sys::glslang_target_language_version_t::SPIRV1_0,
            code: code.as_ptr(),
            // Source without a `#version` is GLSL 1.10 on the desktop and ES 1.00 elsewhere.
            default_version: if desktop { 110 } else { 100 },
            default_profile: if desktop { sys::glslang_profile_t::None } else { sys::glslang_profile_t::ES },
            force_default_version_and_profile: 0,
            forward_compatible: 0,
            messages: sys::glslang_messages_t::DEFAULT,
            resource: &raw const *resources,
            callbacks: sys::glsl_include_callbacks_t {
                include_system: Some(no_include),
                include_local: Some(no_include),
                free_include_result: None,
            },
            callbacks_ctx: ptr::null_mut(),
        };
        // SAFETY: `input` is complete; its code ends with a NUL and lives as long as the shader.
        let raw = NonNull::new(unsafe { sys::glslang_shader_create(&raw const input) })?;
        // SAFETY: the shader was just made; the preamble ends with a NUL and lives as long as it.
        unsafe { sys::glslang_shader_set_preamble(raw.as_ptr(), preamble.as_ptr()) };
        Some(Self { raw, input, _resources: resources, _code: code, _preamble: preamble })
    }

    fn preprocess(&mut self) -> bool {
        // SAFETY: the shader lives, and `input` points to what lives beside it.
        unsafe { sys::glslang_shader_preprocess(self.raw.as_ptr(), &raw const self.input) != 0 }
    }

    fn preprocessed(&self) -> String {
        // SAFETY: the shader lives.
        let text = unsafe { sys::glslang_shader_get_preprocessed_code(self.raw.as_ptr()) };
        // SAFETY: glslang's texts end with a NUL and stay until the next call on this shader.
        unsafe { text_of(text) }
    }

    /// Replaces the text that `parse` reads, which holds what is left of the preamble.
    fn set_preprocessed(&mut self, code: &CStr) {
        // SAFETY: the shader lives and copies the text, which ends with a NUL.
        unsafe { sys::glslang_shader_set_preprocessed_code(self.raw.as_ptr(), code.as_ptr()) };
        // SAFETY: the shader lives; the text is static and ends with a NUL.
        unsafe { sys::glslang_shader_set_preamble(self.raw.as_ptr(), c"".as_ptr()) };
    }

    fn parse(&mut self) -> bool {
        // SAFETY: the shader lives, and `input` points to what lives beside it.
        unsafe { sys::glslang_shader_parse(self.raw.as_ptr(), &raw const self.input) != 0 }
    }

    fn log(&self) -> String {
        // SAFETY: the shader lives.
        let text = unsafe { sys::glslang_shader_get_info_log(self.raw.as_ptr()) };
        // SAFETY: glslang's texts end with a NUL and stay until the next call on this shader.
        unsafe { text_of(text) }
    }
}

impl Drop for Shader {
    fn drop(&mut self) {
        // SAFETY: made by `new`, deleted once; no program refers to it any more, as programs are dropped first.
        unsafe { sys::glslang_shader_delete(self.raw.as_ptr()) };
    }
}

/// A program of one shader, which it borrows.
struct Program<'a> {
    raw: NonNull<sys::glslang_program_t>,
    shader: &'a Shader,
}

impl<'a> Program<'a> {
    fn new(shader: &'a Shader) -> Option<Self> {
        // SAFETY: no argument.
        let raw = NonNull::new(unsafe { sys::glslang_program_create() })?;
        // SAFETY: both live, and the shader outlives the program by the borrow.
        unsafe { sys::glslang_program_add_shader(raw.as_ptr(), shader.raw.as_ptr()) };
        Some(Self { raw, shader })
    }

    fn link(&mut self) -> bool {
        // SAFETY: the program lives, and so does its shader.
        unsafe { sys::glslang_program_link(self.raw.as_ptr(), 0 as c_int) != 0 }
    }

    fn log(&self) -> String {
        // SAFETY: the program lives.
        let text = unsafe { sys::glslang_program_get_info_log(self.raw.as_ptr()) };
        // SAFETY: glslang's texts end with a NUL and stay until the next call on this program.
        unsafe { text_of(text) }
    }

    fn generate(&mut self) -> Vec<u32> {
        let stage = self.shader.input.stage;
        let mut options = sys::glslang_spv_options_t {
            generate_debug_info: false,
            strip_debug_info: false,
            disable_optimizer: true,
            optimize_size: false,
            optimize_performance: false,
            disassemble: false,
            validate: false,
            emit_nonsemantic_shader_debug_info: false,
            emit_nonsemantic_shader_debug_source: false,
            compile_only: false,
            optimize_allow_expanded_id_bound: false,
            compiler_signature: ptr::null(),
            command_line_arguments: ptr::null(),
            current_working_directory: ptr::null(),
        };
        // SAFETY: the program is linked with a shader of that stage; the options are read during the call.
        unsafe {
            sys::glslang_program_SPIRV_generate_with_options(self.raw.as_ptr(), stage, &raw mut options);
        }
        // SAFETY: the program lives.
        let len = unsafe { sys::glslang_program_SPIRV_get_size(self.raw.as_ptr()) };
        let mut words = vec![0; len];
        // SAFETY: the call writes exactly the words counted before.
        unsafe { sys::glslang_program_SPIRV_get(self.raw.as_ptr(), words.as_mut_ptr()) };
        words
    }
}

impl Drop for Program<'_> {
    fn drop(&mut self) {
        // SAFETY: made by `new`, deleted once.
        unsafe { sys::glslang_program_delete(self.raw.as_ptr()) };
    }
}

/// Compiles one stage. `review` sees the text without macros and comments, may change its directives, and may refuse
/// it with an info log.
///
/// # Errors
/// The info log of a source that does not compile.
pub(super) fn compile(
    stage: Stage,
    source: &str,
    preamble: &str,
    environment: &Environment,
    review: impl FnOnce(&str) -> Result<(String, String), String>,
) -> Result<Output, String> {
    let text = |text: String| CString::new(text).map_err(|_| String::from("0:0: a NUL character"));
    let mut shader = Shader::new(stage, text(source.into())?, text(preamble.into())?, environment)
        .ok_or("the shader compiler cannot be set up")?;
    if !shader.preprocess() {
        return Err(shader.log());
    }
    let (code, mut log) = review(&shader.preprocessed())?;
    shader.set_preprocessed(&text(code)?);
    let parsed = shader.parse();
    log.push_str(&shader.log());
    if !parsed {
        return Err(log);
    }
    let mut program = Program::new(&shader).ok_or("the shader compiler cannot be set up")?;
    let module = if program.link() { Ok(program.generate()) } else { Err(program.log()) };
    Ok(Output { module, log })
}

/// Copies a text.
///
/// # Safety
/// `text` is null, or ends with a NUL and nobody changes it during the call.
unsafe fn text_of(text: *const c_char) -> String {
    if text.is_null() {
        return String::new();
    }
    // SAFETY: not null; the rest by the contract.
    unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
}

const fn raw_stage(stage: Stage) -> sys::glslang_stage_t {
    match stage {
        Stage::Vertex => sys::glslang_stage_t::Vertex,
        Stage::Fragment => sys::glslang_stage_t::Fragment,
    }
}

fn resources(limits: &super::Limits) -> sys::glslang_resource_t {
    let int = |value: u32| c_int::try_from(value).unwrap_or(c_int::MAX);
    // SAFETY: a plain structure of numbers, truth values and a union of two numbers, for which zero is a value.
    let zero: sys::glslang_resource_t = unsafe { std::mem::zeroed() };
    sys::glslang_resource_t {
        max_lights: 8,
        max_clip_planes: 6,
        max_texture_units: int(limits.fragment_texture_units),
        max_texture_coords: 8,
        max_vertex_attribs: int(limits.vertex_attribs),
        max_vertex_uniform_components: int(limits.vertex_uniform_vectors.saturating_mul(4)),
        max_vertex_uniform_vectors: int(limits.vertex_uniform_vectors),
        max_fragment_uniform_components: int(limits.fragment_uniform_vectors.saturating_mul(4)),
        max_fragment_uniform_vectors: int(limits.fragment_uniform_vectors),
        max_varying_floats: int(limits.varying_vectors.saturating_mul(4)),
        max_varying_components: int(limits.varying_vectors.saturating_mul(4)),
        max_varying_vectors: int(limits.varying_vectors),
        max_vertex_output_components: int(limits.varying_vectors.saturating_mul(4)),
        max_vertex_output_vectors: int(limits.varying_vectors),
        max_fragment_input_components: int(limits.varying_vectors.saturating_mul(4)),
        max_fragment_input_vectors: int(limits.varying_vectors),
        max_vertex_texture_image_units: int(limits.vertex_texture_units),
        max_texture_image_units: int(limits.fragment_texture_units),
        max_combined_texture_image_units: int(limits.combined_texture_units),
        max_draw_buffers: int(limits.draw_buffers.max(1)),
        min_program_texel_offset: limits.min_texel_offset,
        max_program_texel_offset: limits.max_texel_offset,
        max_clip_distances: 8,
        max_cull_distances: 8,
        max_combined_clip_and_cull_distances: 8,
        max_viewports: 16,
        max_samples: 4,
        // The compiler's own declarations make an array of it, so zero is no value.
        __bindgen_anon_1: sys::glslang_resource_s__bindgen_ty_1 { max_dual_source_draw_buffers_ext: 1 },
        limits: sys::glslang_limits_t::default(),
        ..zero
    }
}
