//! The system's OpenGL ES driver, without a window: it compiles the same source, says what is active, and draws.

use std::sync::{LazyLock, Mutex, MutexGuard};

use glow::HasContext as _;
use khronos_egl as egl;

use crate::common::{Active, Numbers};

/// `EGL_PLATFORM_SURFACELESS_MESA`.
const SURFACELESS: egl::Enum = 0x31dd;
/// Width and height of what is drawn, pixels.
pub(crate) const SIDE: i32 = 32;

type Instance = egl::DynamicInstance<egl::EGL1_5>;

/// A context of the system's driver. One is enough: a test takes it in turn.
pub(crate) struct Driver {
    egl: Instance,
    display: egl::Display,
    context: egl::Context,
    gl: glow::Context,
    pub(crate) name: String,
}

// SAFETY: a context is current on the thread that holds the lock alone.
unsafe impl Send for Driver {}

/// The driver, current on this thread until the guard goes.
pub(crate) struct Current(MutexGuard<'static, Driver>);

impl std::ops::Deref for Current {
    type Target = Driver;
    fn deref(&self) -> &Driver {
        &self.0
    }
}

impl Drop for Current {
    fn drop(&mut self) {
        self.0.egl.make_current(self.0.display, None, None, None).expect("released");
    }
}

/// Takes the driver.
pub(crate) fn take() -> Current {
    static DRIVER: LazyLock<Mutex<Driver>> = LazyLock::new(|| Mutex::new(Driver::new()));
    let driver = DRIVER.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    driver.egl.make_current(driver.display, None, None, Some(driver.context)).expect("current");
    Current(driver)
}

/// A program of the driver's.
pub(crate) struct Program<'d> {
    driver: &'d Driver,
    program: glow::Program,
}

impl Drop for Program<'_> {
    fn drop(&mut self) {
        // SAFETY: the context is current, and the program its own.
        unsafe { self.driver.gl.delete_program(self.program) };
    }
}

impl Driver {
    fn new() -> Self {
        // SAFETY: the system's library is an EGL.
        let egl = unsafe { Instance::load_required() }.expect("libEGL.so.1 of the system");
        // SAFETY: the default display of that platform.
        let display =
            unsafe { egl.get_platform_display(SURFACELESS, egl::DEFAULT_DISPLAY, &[egl::ATTRIB_NONE]) };
        let display = display.expect("a surfaceless display");
        egl.initialize(display).expect("initialised");
        egl.bind_api(egl::OPENGL_ES_API).expect("OpenGL ES");
        let config = egl
            .choose_first_config(display, &[egl::SURFACE_TYPE, egl::PBUFFER_BIT, egl::NONE])
            .expect("configs")
            .expect("a config");
        let attributes = [egl::CONTEXT_MAJOR_VERSION, 3, egl::NONE];
        let context = egl.create_context(display, config, None, &attributes).expect("a context");
        egl.make_current(display, None, None, Some(context)).expect("current");
        let load =
            |name: &str| egl.get_proc_address(name).map_or(std::ptr::null(), |found| found as *const _);
        // SAFETY: the context is current, and the functions are its own.
        let gl = unsafe { glow::Context::from_loader_function(load) };
        // SAFETY: the context is current.
        let name = unsafe { gl.get_parameter_string(glow::RENDERER) };
        Self { egl, display, context, gl, name }
    }

    /// Compiles and links. Attributes get these locations.
    pub(crate) fn program<'d>(
        &'d self,
        vertex: &str,
        fragment: &str,
        attributes: &[(String, u32)],
    ) -> Result<Program<'d>, String> {
        let gl = &self.gl;
        // SAFETY: the context is current.
        let program = Program { driver: self, program: unsafe { gl.create_program() }.expect("a program") };
        for (stage, source) in [(glow::VERTEX_SHADER, vertex), (glow::FRAGMENT_SHADER, fragment)] {
            // SAFETY: the context is current.
            let shader = unsafe { gl.create_shader(stage) }.expect("a shader");
            // SAFETY: as above; the shader is its own.
            unsafe { gl.shader_source(shader, source) };
            // SAFETY: as above.
            unsafe { gl.compile_shader(shader) };
            // SAFETY: as above.
            let compiled = unsafe { gl.get_shader_compile_status(shader) };
            // SAFETY: as above.
            let log = unsafe { gl.get_shader_info_log(shader) };
            // SAFETY: as above.
            unsafe { gl.attach_shader(program.program, shader) };
            // SAFETY: as above; it goes with the program.
            unsafe { gl.delete_shader(shader) };
            if !compiled {
                return Err(log);
            }
        }
        for (name, location) in attributes {
            // SAFETY: as above.
            unsafe { gl.bind_attrib_location(program.program, *location, name) };
        }
        // SAFETY: as above.
        unsafe { gl.link_program(program.program) };
        // SAFETY: as above.
        if unsafe { gl.get_program_link_status(program.program) } {
            Ok(program)
        } else {
            // SAFETY: as above.
            Err(unsafe { gl.get_program_info_log(program.program) })
        }
    }
}

impl Program<'_> {
    /// Active uniforms and attributes, sorted, built-in ones left out, names without a last `[0]`.
    pub(crate) fn active(&self) -> (Vec<Active>, Vec<Active>) {
        let gl = &self.driver.gl;
        let active = |name: String, size, ty| {
            let name = name.strip_suffix("[0]").unwrap_or(&name).to_owned();
            Active { name, size, ty }
        };
        // SAFETY: the context is current, and the program its own.
        let count = unsafe { gl.get_active_uniforms(self.program) };
        let mut uniforms: Vec<_> = (0..count)
            // SAFETY: as above; the index is below the count.
            .filter_map(|index| unsafe { gl.get_active_uniform(self.program, index) })
            .map(|one| active(one.name, one.size, one.utype))
            .filter(|one| !one.name.starts_with("gl_"))
            .collect();
        // SAFETY: as above.
        let count = unsafe { gl.get_active_attributes(self.program) };
        let mut attributes: Vec<_> = (0..count)
            // SAFETY: as above; the index is below the count.
            .filter_map(|index| unsafe { gl.get_active_attribute(self.program, index) })
            .map(|one| active(one.name, one.size, one.atype))
            .collect();
        uniforms.sort();
        attributes.sort();
        (uniforms, attributes)
    }

    /// Offset, stride of elements and stride of columns of a member of a block; none if there is no such member.
    pub(crate) fn place(&self, name: &str) -> Option<[i32; 3]> {
        let gl = &self.driver.gl;
        // SAFETY: the context is current, and the program its own.
        let index = unsafe { gl.get_uniform_indices(self.program, &[name]) }[0]?;
        Some([glow::UNIFORM_OFFSET, glow::UNIFORM_ARRAY_STRIDE, glow::UNIFORM_MATRIX_STRIDE].map(|what| {
            // SAFETY: as above; the index is the driver's.
            let answer = unsafe { gl.get_active_uniforms_parameter(self.program, &[index], what) };
            answer[0]
        }))
    }

    /// Draws 8 random triangles; the answer is the pixels, RGBA. `uniforms` are (name here, what it is called, elements,
    /// type): values follow from the second, so that two programs with other names get the same.
    pub(crate) fn draw(&self, uniforms: &[(String, String, i32, u32)], attribute_slots: u32) -> Vec<u8> {
        let gl = &self.driver.gl;
        // SAFETY: the context is current throughout, objects are its own, and pointers outlive the calls.
        #[allow(clippy::multiple_unsafe_ops_per_block, reason = "one sequence of calls on one context")]
        unsafe {
            let color = gl.create_texture().expect("a texture");
            gl.bind_texture(glow::TEXTURE_2D, Some(color));
            gl.tex_storage_2d(glow::TEXTURE_2D, 1, glow::RGBA8, SIDE, SIDE);
            let target = gl.create_framebuffer().expect("a framebuffer");
            gl.bind_framebuffer(glow::FRAMEBUFFER, Some(target));
            gl.framebuffer_texture_2d(
                glow::FRAMEBUFFER,
                glow::COLOR_ATTACHMENT0,
                glow::TEXTURE_2D,
                Some(color),
                0,
            );
            assert_eq!(gl.check_framebuffer_status(glow::FRAMEBUFFER), glow::FRAMEBUFFER_COMPLETE);
            gl.viewport(0, 0, SIDE, SIDE);
            gl.clear_color(0.2, 0.3, 0.4, 0.5);
            gl.clear(glow::COLOR_BUFFER_BIT);
            gl.use_program(Some(self.program));
            let textures = self.textures();
            for (name, called, size, ty) in uniforms {
                let Some(location) = gl.get_uniform_location(self.program, name) else { continue };
                let seed = called.bytes().fold(7, |seed: u64, byte| seed.wrapping_mul(31) + u64::from(byte));
                let mut numbers = Numbers(seed);
                let mut floats = |count: i32| -> Vec<f32> {
                    (0..count * size).map(|_| numbers.below(1000) as f32 / 500.0 - 1.0).collect()
                };
                let at = Some(&location);
                if called.starts_with("gl_DepthRange.") {
                    // The front's to set; the original has the driver's, which are these as nobody changed them.
                    gl.uniform_1_f32(at, if called.ends_with("near") { 0.0 } else { 1.0 });
                    continue;
                }
                match *ty {
                    glow::FLOAT => gl.uniform_1_f32_slice(at, &floats(1)),
                    glow::FLOAT_VEC2 => gl.uniform_2_f32_slice(at, &floats(2)),
                    glow::FLOAT_VEC3 => gl.uniform_3_f32_slice(at, &floats(3)),
                    glow::FLOAT_VEC4 => gl.uniform_4_f32_slice(at, &floats(4)),
                    glow::FLOAT_MAT2 => gl.uniform_matrix_2_f32_slice(at, false, &floats(4)),
                    glow::FLOAT_MAT3 => gl.uniform_matrix_3_f32_slice(at, false, &floats(9)),
                    glow::FLOAT_MAT4 => gl.uniform_matrix_4_f32_slice(at, false, &floats(16)),
                    glow::SAMPLER_2D => gl.uniform_1_i32_slice(at, &vec![0; *size as usize]),
                    glow::SAMPLER_CUBE => gl.uniform_1_i32_slice(at, &vec![1; *size as usize]),
                    ty => {
                        let ints: Vec<i32> = floats(4).iter().map(|one| (one * 5.0) as i32).collect();
                        let all = |count: usize| &ints[..count * *size as usize];
                        match ty {
                            glow::INT | glow::BOOL => gl.uniform_1_i32_slice(at, all(1)),
                            glow::INT_VEC2 | glow::BOOL_VEC2 => gl.uniform_2_i32_slice(at, all(2)),
                            glow::INT_VEC3 | glow::BOOL_VEC3 => gl.uniform_3_i32_slice(at, all(3)),
                            _ => gl.uniform_4_i32_slice(at, all(4)),
                        }
                    }
                }
            }
            let mut numbers = Numbers(99);
            let data: Vec<u8> = (0..24 * 16 * 4)
                .flat_map(|_| (numbers.below(1000) as f32 / 400.0 - 1.25).to_ne_bytes())
                .collect();
            let buffer = gl.create_buffer().expect("a buffer");
            gl.bind_buffer(glow::ARRAY_BUFFER, Some(buffer));
            gl.buffer_data_u8_slice(glow::ARRAY_BUFFER, &data, glow::STATIC_DRAW);
            for slot in 0..attribute_slots {
                gl.enable_vertex_attrib_array(slot);
                gl.vertex_attrib_pointer_f32(slot, 4, glow::FLOAT, false, 16 * 16, slot as i32 * 16);
            }
            gl.draw_arrays(glow::TRIANGLES, 0, 24);
            let mut pixels = vec![0; (SIDE * SIDE * 4) as usize];
            let into = glow::PixelPackData::Slice(Some(&mut pixels));
            gl.read_pixels(0, 0, SIDE, SIDE, glow::RGBA, glow::UNSIGNED_BYTE, into);
            for slot in 0..attribute_slots {
                gl.disable_vertex_attrib_array(slot);
            }
            assert_eq!(gl.get_error(), glow::NO_ERROR, "drawing");
            gl.delete_buffer(buffer);
            gl.delete_framebuffer(target);
            for texture in textures.into_iter().chain([color]) {
                gl.delete_texture(texture);
            }
            pixels
        }
    }

    /// A texture of random texels on unit 0, a cube map on unit 1.
    fn textures(&self) -> [glow::Texture; 2] {
        let gl = &self.driver.gl;
        let mut numbers = Numbers(5);
        let mut texels = || -> Vec<u8> { (0..8 * 8 * 4).map(|_| numbers.below(256) as u8).collect() };
        // SAFETY: as in `draw`.
        #[allow(clippy::multiple_unsafe_ops_per_block, reason = "one sequence of calls on one context")]
        unsafe {
            [(glow::TEXTURE_2D, 0, 1), (glow::TEXTURE_CUBE_MAP, 1, 6)].map(|(target, unit, faces)| {
                let texture = gl.create_texture().expect("a texture");
                gl.active_texture(glow::TEXTURE0 + unit);
                gl.bind_texture(target, Some(texture));
                gl.tex_parameter_i32(target, glow::TEXTURE_MIN_FILTER, glow::LINEAR as i32);
                let first = if faces == 1 { target } else { glow::TEXTURE_CUBE_MAP_POSITIVE_X };
                for face in 0..faces {
                    let from = texels();
                    let data = glow::PixelUnpackData::Slice(Some(&from));
                    let at = first + face;
                    gl.tex_image_2d(
                        at,
                        0,
                        glow::RGBA8 as i32,
                        8,
                        8,
                        0,
                        glow::RGBA,
                        glow::UNSIGNED_BYTE,
                        data,
                    );
                }
                texture
            })
        }
    }
}
