//! Bring-up: the display's configs, the native contexts, and what driver it is.

use std::{ffi::c_void, fmt, ptr};

use glow::HasContext;
use khronos_egl as egl;
use runahead_core::NativeConfig;

use crate::{
    egl::{Egl, EglError, Loader, ask},
    gl::{Gl, gl},
};

/// `EGL_OPENGL_ES3_BIT` (EGL 1.5 section 3.4.1.2).
const ES3_BIT: egl::Int = 0x0040;

/// What driver was found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// `GL_VENDOR`.
    pub vendor: String,
    /// `GL_RENDERER`.
    pub renderer: String,
    /// `GL_VERSION`.
    pub version: String,
    /// `GL_SHADING_LANGUAGE_VERSION`.
    pub shading_language: String,
    /// `EGL_VENDOR` and `EGL_VERSION`.
    pub egl: String,
    /// Whether contexts have robust buffer access.
    pub robust: bool,
    /// The process that it lives in.
    pub process: u32,
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let robust = if self.robust { "robust" } else { "not robust" };
        write!(
            f,
            "{}, {} ({}; EGL {}; {robust}) in process {}",
            self.renderer, self.version, self.vendor, self.egl, self.process
        )
    }
}

/// A pointer that EGL gave, which any thread may hand back to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Pointer(pub(crate) *mut c_void);

// SAFETY: EGL's handles are valid in the whole process (EGL 1.5 section 2.3); nothing is read through them here.
unsafe impl Send for Pointer {}
// SAFETY: as above.
unsafe impl Sync for Pointer {}

impl Pointer {
    pub(crate) const NONE: Self = Self(ptr::null_mut());
}

/// An initialised display.
#[derive(Debug)]
pub(crate) struct Display {
    pub(crate) egl: Egl,
    pub(crate) handle: Pointer,
    /// Whether it is ours alone, so that it ends with us. Displays without a native one are the whole process's.
    own: bool,
    pub(crate) configs: Vec<(NativeConfig, Pointer)>,
    robust: bool,
}

impl Display {
    /// Initialises a display.
    pub(crate) fn new(egl: Egl, platform: egl::Enum, native: *mut c_void) -> Result<Self, EglError> {
        let handle = ask!(egl, get_platform_display(platform, native, ptr::null()));
        if handle.is_null() {
            return Err(egl.error("eglGetPlatformDisplay"));
        }
        let (mut major, mut minor) = (0, 0);
        egl.check("eglInitialize", ask!(egl, initialize(handle, &raw mut major, &raw mut minor)))?;
        let mut display =
            Self { egl, handle: Pointer(handle), own: !native.is_null(), configs: Vec::new(), robust: false };
        let extensions = egl.string(handle, egl::EXTENSIONS);
        let has = |name: &str| extensions.split_ascii_whitespace().any(|extension| extension == name);
        if (major, minor) < (1, 5) {
            return Err(EglError::Lacks(format!("the driver has EGL {major}.{minor}; Runahead needs 1.5")));
        }
        for needed in ["EGL_KHR_no_config_context", "EGL_KHR_surfaceless_context"] {
            if !has(needed) {
                return Err(EglError::Lacks(format!("the EGL driver has no {needed}, which Runahead needs")));
            }
        }
        display.robust = has("EGL_EXT_create_context_robustness");
        display.configs = display.read_configs()?;
        Ok(display)
    }

    fn read_configs(&self) -> Result<Vec<(NativeConfig, Pointer)>, EglError> {
        /// `EGL_COLOR_COMPONENT_TYPE_EXT` and its `EGL_COLOR_COMPONENT_TYPE_FLOAT_EXT`: what nobody gets who does not ask
        /// for it (EGL_EXT_pixel_format_float).
        const COMPONENT_TYPE: egl::Int = 0x3339;
        const FLOAT: egl::Int = 0x333B;
        let (egl, display) = (&self.egl, self.handle.0);
        let mut count = 0;
        egl.check("eglGetConfigs", ask!(egl, get_configs(display, ptr::null_mut(), 0, &raw mut count)))?;
        let mut handles = vec![ptr::null_mut(); usize::try_from(count).unwrap_or(0)];
        let room = count;
        egl.check(
            "eglGetConfigs",
            ask!(egl, get_configs(display, handles.as_mut_ptr(), room, &raw mut count)),
        )?;
        handles.truncate(usize::try_from(count).unwrap_or(0));
        let mut configs = Vec::new();
        for handle in handles {
            let get = |name: egl::Int| {
                let mut value = 0;
                let done = ask!(egl, get_config_attrib(display, handle, name, &raw mut value));
                if done == egl::TRUE { value } else { 0 }
            };
            let (surfaces, renderable) = (get(egl::SURFACE_TYPE), get(egl::RENDERABLE_TYPE));
            if renderable & (egl::OPENGL_ES2_BIT | ES3_BIT) == 0
                || get(egl::COLOR_BUFFER_TYPE) != egl::RGB_BUFFER
                || get(COMPONENT_TYPE) == FLOAT
            {
                continue;
            }
            let bits = |name| u8::try_from(get(name)).unwrap_or(0);
            let number = |name| u32::try_from(get(name)).unwrap_or(0);
            let config = NativeConfig {
                id: number(egl::CONFIG_ID),
                red: bits(egl::RED_SIZE),
                green: bits(egl::GREEN_SIZE),
                blue: bits(egl::BLUE_SIZE),
                alpha: bits(egl::ALPHA_SIZE),
                depth: bits(egl::DEPTH_SIZE),
                stencil: bits(egl::STENCIL_SIZE),
                samples: bits(egl::SAMPLES),
                native_visual_id: number(egl::NATIVE_VISUAL_ID),
                native_visual_type: number(egl::NATIVE_VISUAL_TYPE),
                window: surfaces & egl::WINDOW_BIT != 0,
                pbuffer: surfaces & egl::PBUFFER_BIT != 0,
                slow: get(egl::CONFIG_CAVEAT) == egl::SLOW_CONFIG,
                min_swap_interval: get(egl::MIN_SWAP_INTERVAL),
                max_swap_interval: get(egl::MAX_SWAP_INTERVAL),
                max_pbuffer_width: number(egl::MAX_PBUFFER_WIDTH),
                max_pbuffer_height: number(egl::MAX_PBUFFER_HEIGHT),
            };
            if config.id != 0 && (config.window || config.pbuffer) {
                configs.push((config, Pointer(handle)));
            }
        }
        Ok(configs)
    }

    /// The config of an id.
    pub(crate) fn config(&self, id: u32) -> Option<&(NativeConfig, Pointer)> {
        self.configs.iter().find(|(config, _)| config.id == id)
    }

    /// Makes a context of the newest OpenGL ES that the driver has, with robust buffer access where it can.
    pub(crate) fn create_context(&self) -> Result<Pointer, EglError> {
        /// `EGL_CONTEXT_OPENGL_ROBUST_ACCESS_EXT`, which unlike the core attribute is for OpenGL ES.
        const ROBUST_ACCESS: egl::Int = 0x30BF;
        let egl = &self.egl;
        egl.check("eglBindAPI", ask!(egl, bind_api(egl::OPENGL_ES_API)))?;
        let mut error = EglError::Lacks("no context was tried".to_owned());
        for (major, minor) in [(3, 2), (3, 1), (3, 0)] {
            let mut attributes = vec![egl::CONTEXT_MAJOR_VERSION, major, egl::CONTEXT_MINOR_VERSION, minor];
            if self.robust {
                attributes.extend([ROBUST_ACCESS, egl::TRUE as egl::Int]);
            }
            attributes.push(egl::NONE);
            // No config: surfaces of any config can be current with it.
            let context = ask!(
                egl,
                create_context(self.handle.0, ptr::null_mut(), egl::NO_CONTEXT, attributes.as_ptr())
            );
            if !context.is_null() {
                return Ok(Pointer(context));
            }
            error = egl.error("eglCreateContext");
        }
        Err(error)
    }

    /// Makes a context current with surfaces.
    pub(crate) fn make_current(
        &self,
        draw: Pointer,
        read: Pointer,
        context: Pointer,
    ) -> Result<(), EglError> {
        let egl = &self.egl;
        egl.check("eglMakeCurrent", ask!(egl, make_current(self.handle.0, draw.0, read.0, context.0)))
    }

    pub(crate) fn destroy_context(&self, context: Pointer) {
        // What cannot be destroyed ends with the display.
        let _ = ask!(self.egl, destroy_context(self.handle.0, context.0));
    }

    pub(crate) fn destroy_surface(&self, surface: Pointer) {
        let _ = ask!(self.egl, destroy_surface(self.handle.0, surface.0));
    }

    /// Loads GL and asks the driver who it is. `context` is current.
    ///
    /// # Safety
    /// As [`Egl::load`].
    pub(crate) unsafe fn load_gl(&self, load: &mut Loader<'_>) -> Result<(Gl, Report), String> {
        // SAFETY: the caller's promise.
        let gl = unsafe { Gl::load(load) }?;
        let report = Report {
            vendor: gl!(gl, get_parameter_string(glow::VENDOR)),
            renderer: gl!(gl, get_parameter_string(glow::RENDERER)),
            version: gl!(gl, get_parameter_string(glow::VERSION)),
            shading_language: gl!(gl, get_parameter_string(glow::SHADING_LANGUAGE_VERSION)),
            egl: format!(
                "{} {}",
                self.egl.string(self.handle.0, egl::VENDOR),
                self.egl.string(self.handle.0, egl::VERSION)
            ),
            robust: self.robust,
            process: std::process::id(),
        };
        Ok((gl, report))
    }
}

impl Drop for Display {
    fn drop(&mut self) {
        if self.own {
            let _ = ask!(self.egl, terminate(self.handle.0));
        }
    }
}
