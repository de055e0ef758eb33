//! EGL, as a table of functions that a loader finds.
//!
//! `khronos-egl` gives the types and the numbers. Its own tables come from the symbols of a library, and a vendor
//! library of libglvnd has none: it hands its functions out by name. So the few that are used are loaded here.

use std::{
    ffi::{CStr, c_char, c_void},
    fmt,
};

use khronos_egl as egl;

/// Finds a function by name; null when there is none.
pub type Loader<'a> = dyn FnMut(&CStr) -> *const c_void + 'a;

macro_rules! functions {
    ($( $(#[$meta:meta])* $field:ident = $symbol:literal: fn($($argument:ty),*) $(-> $answer:ty)?; )+) => {
        /// The functions of one EGL implementation. They may be called from any thread.
        #[derive(Clone, Copy)]
        pub struct Egl {
            $( $(#[$meta])* pub(crate) $field: unsafe extern "system" fn($($argument),*) $(-> $answer)?, )+
        }

        impl Egl {
            /// Finds the functions. The error names the first one that is not there.
            ///
            /// # Safety
            /// What `load` finds under a name of EGL's is that function, and stays.
            ///
            /// # Errors
            /// [`EglError::Missing`].
            pub unsafe fn load(load: &mut Loader<'_>) -> Result<Self, EglError> {
                Ok(Self {
                    $( $field: {
                        let found = load($symbol);
                        if found.is_null() {
                            return Err(EglError::Missing($symbol));
                        }
                        type Function = unsafe extern "system" fn($($argument),*) $(-> $answer)?;
                        // SAFETY: not null, and the caller says that it is the function of that name.
                        unsafe { std::mem::transmute::<*const c_void, Function>(found) }
                    }, )+
                })
            }
        }
    };
}

functions! {
    get_error = c"eglGetError": fn() -> egl::Int;
    get_platform_display = c"eglGetPlatformDisplay": fn(egl::Enum, *mut c_void, *const egl::Attrib) -> egl::EGLDisplay;
    initialize = c"eglInitialize": fn(egl::EGLDisplay, *mut egl::Int, *mut egl::Int) -> egl::Boolean;
    terminate = c"eglTerminate": fn(egl::EGLDisplay) -> egl::Boolean;
    query_string = c"eglQueryString": fn(egl::EGLDisplay, egl::Int) -> *const c_char;
    get_configs = c"eglGetConfigs": fn(egl::EGLDisplay, *mut egl::EGLConfig, egl::Int, *mut egl::Int) -> egl::Boolean;
    get_config_attrib = c"eglGetConfigAttrib":
        fn(egl::EGLDisplay, egl::EGLConfig, egl::Int, *mut egl::Int) -> egl::Boolean;
    bind_api = c"eglBindAPI": fn(egl::Enum) -> egl::Boolean;
    create_context = c"eglCreateContext":
        fn(egl::EGLDisplay, egl::EGLConfig, egl::EGLContext, *const egl::Int) -> egl::EGLContext;
    destroy_context = c"eglDestroyContext": fn(egl::EGLDisplay, egl::EGLContext) -> egl::Boolean;
    make_current = c"eglMakeCurrent":
        fn(egl::EGLDisplay, egl::EGLSurface, egl::EGLSurface, egl::EGLContext) -> egl::Boolean;
    create_pbuffer_surface = c"eglCreatePbufferSurface":
        fn(egl::EGLDisplay, egl::EGLConfig, *const egl::Int) -> egl::EGLSurface;
    create_platform_window_surface = c"eglCreatePlatformWindowSurface":
        fn(egl::EGLDisplay, egl::EGLConfig, *mut c_void, *const egl::Attrib) -> egl::EGLSurface;
    destroy_surface = c"eglDestroySurface": fn(egl::EGLDisplay, egl::EGLSurface) -> egl::Boolean;
    query_surface = c"eglQuerySurface":
        fn(egl::EGLDisplay, egl::EGLSurface, egl::Int, *mut egl::Int) -> egl::Boolean;
    swap_buffers = c"eglSwapBuffers": fn(egl::EGLDisplay, egl::EGLSurface) -> egl::Boolean;
    swap_interval = c"eglSwapInterval": fn(egl::EGLDisplay, egl::Int) -> egl::Boolean;
}

impl fmt::Debug for Egl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Egl").finish_non_exhaustive()
    }
}

/// Calls a function of [`Egl`] that takes handles and numbers alone.
macro_rules! ask {
    ($egl:expr, $name:ident($($argument:expr),* $(,)?)) => {
        // SAFETY: handles are those that this display gave, or none; pointers name what lives during the call.
        unsafe { ($egl.$name)($($argument),*) }
    };
}
pub(crate) use ask;

impl Egl {
    /// What went wrong last on this thread.
    pub(crate) fn error(&self, call: &'static str) -> EglError {
        EglError::Failed { call, error: ask!(self, get_error()) }
    }

    /// The answer of a call, or what went wrong.
    pub(crate) fn check(&self, call: &'static str, done: egl::Boolean) -> Result<(), EglError> {
        if done == egl::TRUE { Ok(()) } else { Err(self.error(call)) }
    }

    /// A string of a display, or of the implementation itself where there is none.
    pub(crate) fn string(&self, display: egl::EGLDisplay, name: egl::Int) -> String {
        let text = ask!(self, query_string(display, name));
        if text.is_null() {
            return String::new();
        }
        // SAFETY: EGL gives strings with a terminating NUL that stay as long as the display.
        unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
    }
}

/// Why EGL did not do something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EglError {
    /// It has no such function.
    Missing(&'static CStr),
    /// A call failed.
    Failed {
        /// The call.
        call: &'static str,
        /// What `eglGetError` said.
        error: egl::Int,
    },
    /// It lacks something that is needed.
    Lacks(String),
}

impl fmt::Display for EglError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing(name) => write!(f, "the EGL driver has no {}", name.to_string_lossy()),
            Self::Failed { call, error } => write!(f, "{call} failed: {} ({error:#06x})", name_of(*error)),
            Self::Lacks(what) => f.write_str(what),
        }
    }
}

impl std::error::Error for EglError {}

/// Name of an EGL error (EGL 1.5 section 3.1).
const fn name_of(error: egl::Int) -> &'static str {
    match error {
        egl::SUCCESS => "EGL_SUCCESS",
        egl::NOT_INITIALIZED => "EGL_NOT_INITIALIZED",
        egl::BAD_ACCESS => "EGL_BAD_ACCESS",
        egl::BAD_ALLOC => "EGL_BAD_ALLOC",
        egl::BAD_ATTRIBUTE => "EGL_BAD_ATTRIBUTE",
        egl::BAD_CONTEXT => "EGL_BAD_CONTEXT",
        egl::BAD_CONFIG => "EGL_BAD_CONFIG",
        egl::BAD_CURRENT_SURFACE => "EGL_BAD_CURRENT_SURFACE",
        egl::BAD_DISPLAY => "EGL_BAD_DISPLAY",
        egl::BAD_SURFACE => "EGL_BAD_SURFACE",
        egl::BAD_MATCH => "EGL_BAD_MATCH",
        egl::BAD_PARAMETER => "EGL_BAD_PARAMETER",
        egl::BAD_NATIVE_PIXMAP => "EGL_BAD_NATIVE_PIXMAP",
        egl::BAD_NATIVE_WINDOW => "EGL_BAD_NATIVE_WINDOW",
        egl::CONTEXT_LOST => "EGL_CONTEXT_LOST",
        _ => "an unknown error",
    }
}
