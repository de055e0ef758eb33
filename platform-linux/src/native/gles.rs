//! The OpenGL ES backend on this system's driver and window system.

use std::{
    ffi::{CStr, c_void},
    fmt,
    path::{Path, PathBuf},
    str::FromStr,
    sync::Arc,
};

use runahead_backend_gles::{EglError, Gles, Platform, Resized, SurfaceError};
use runahead_core::NativeConfig;
use runahead_wire::values::BackendKind;

use super::{library::Library, vendor::Vendor, x11::Connection};
use crate::{
    control::message::{ContextAttributes, OperationError, OperationFailure, SurfaceOp, SurfaceState},
    session::{Native, Programs},
};

/// What is presented to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum WindowSystem {
    /// Nothing: pbuffers and surfaces without images are all there is.
    #[default]
    Surfaceless,
    /// An X server.
    X11 {
        /// Name of the display, as in `DISPLAY`.
        display: String,
    },
}

impl fmt::Display for WindowSystem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Surfaceless => f.write_str("surfaceless"),
            Self::X11 { display } => write!(f, "x11:{display}"),
        }
    }
}

impl FromStr for WindowSystem {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once(':') {
            None if text == "surfaceless" => Ok(Self::Surfaceless),
            Some(("x11", display)) if !display.is_empty() && !display.contains('\0') => {
                Ok(Self::X11 { display: display.to_owned() })
            }
            _ => Err(format!("there is no window system {text:?}; known are surfaceless and x11:DISPLAY")),
        }
    }
}

/// How the system's driver is reached.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Driver {
    /// By `libEGL.so.1`, which dispatches to it.
    #[default]
    System,
    /// By its own vendor library, past a `libEGL` that dispatches to Runahead.
    Vendor,
}

/// `EGL_PLATFORM_SURFACELESS_MESA` and `EGL_PLATFORM_XCB_EXT`.
const SURFACELESS: u32 = 0x31DD;
const XCB: u32 = 0x31DC;

/// The functions of the system's `libEGL`.
fn dispatched() -> Result<impl FnMut(&CStr) -> *const c_void, String> {
    // SAFETY: the system's own library, which every EGL program loads.
    let library = unsafe { Library::open(Path::new("libEGL.so.1")) }
        .map_err(|error| format!("no EGL driver is installed: {error}"))?;
    let by_name = library.symbol(c"eglGetProcAddress");
    if by_name.is_null() {
        return Err("libEGL.so.1 has no eglGetProcAddress".to_owned());
    }
    type GetProcAddress = unsafe extern "C" fn(*const std::ffi::c_char) -> *const c_void;
    // SAFETY: not null; the name is that of the function of this type.
    let by_name = unsafe { std::mem::transmute::<*const c_void, GetProcAddress>(by_name) };
    Ok(move |name: &CStr| {
        let symbol = library.symbol(name);
        if symbol.is_null() {
            // SAFETY: the name is NUL-terminated.
            unsafe { by_name(name.as_ptr()) }
        } else {
            symbol
        }
    })
}

/// The folder where translated programs are kept, if there is one.
#[must_use]
pub fn program_folder(programs: &Programs) -> Option<PathBuf> {
    match programs {
        Programs::Usual => usual_folder(),
        Programs::Nowhere => None,
        Programs::In(folder) => Some(folder.clone()),
    }
}

/// `runahead/programs` in this user's folder for caches (XDG Base Directory Specification 0.8), made if it was not
/// there. Nothing where there is none that is this user's alone.
fn usual_folder() -> Option<PathBuf> {
    use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
    let variable = |name| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let caches = variable("XDG_CACHE_HOME").or_else(|| Some(variable("HOME")?.join(".cache")))?;
    let folder = caches.join("runahead").join("programs");
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(&folder).ok()?;
    // What others may write is no cache.
    let about = std::fs::symlink_metadata(&folder).ok()?;
    let own =
        about.is_dir() && about.uid() == rustix::process::getuid().as_raw() && about.mode() & 0o022 == 0;
    own.then_some(folder)
}

/// Brings the backend up.
///
/// # Errors
/// What is missing or failed, for the user.
pub fn open(window_system: &WindowSystem, driver: Driver) -> Result<Gles, String> {
    // SAFETY: the functions are the driver's own.
    unsafe { open_with(window_system, driver, &mut |_, function| function) }
}

/// Brings the backend up on what `wrap` makes of each function of the driver; null is one that the driver lacks.
///
/// # Safety
/// What `wrap` answers for a function can be called in its place, as long as the process lives.
///
/// # Errors
/// As [`open`].
pub unsafe fn open_with(
    window_system: &WindowSystem,
    driver: Driver,
    wrap: &mut dyn FnMut(&CStr, *const c_void) -> *const c_void,
) -> Result<Gles, String> {
    let platform = match window_system {
        WindowSystem::Surfaceless => {
            Platform { platform: SURFACELESS, native: std::ptr::null_mut(), keep: Box::new(()) }
        }
        WindowSystem::X11 { display } => {
            let connection = Arc::new(Connection::open(display)?);
            Platform { platform: XCB, native: connection.pointer(), keep: Box::new(connection) }
        }
    };
    match driver {
        Driver::System => {
            let mut load = dispatched()?;
            // SAFETY: functions of the system's libraries, which stay, or what stands for them; the connection is
            // one, and is kept.
            unsafe { Gles::new(&mut |name| wrap(name, load(name)), platform) }
        }
        Driver::Vendor => {
            let vendor = Vendor::system()?;
            // SAFETY: as above.
            unsafe { Gles::new(&mut |name| wrap(name, vendor.function(name)), platform) }
        }
    }
}

fn failure(error: SurfaceError) -> OperationFailure {
    let (kind, text) = match error {
        SurfaceError::Config(text) => (OperationError::BadConfig, text),
        SurfaceError::Window(text) => (OperationError::BadWindow, text),
        SurfaceError::Unknown => (OperationError::NoSuchObject, "there is no such surface".to_owned()),
        SurfaceError::Egl(error) => (egl_failure(&error), error.to_string()),
    };
    OperationFailure::new(kind, text)
}

const fn egl_failure(error: &EglError) -> OperationError {
    /// `EGL_BAD_ALLOC`.
    const BAD_ALLOC: i32 = 0x3003;
    match error {
        EglError::Failed { error: BAD_ALLOC, .. } => OperationError::OutOfMemory,
        EglError::Failed { .. } => OperationError::DriverFailed,
        EglError::Missing(_) | EglError::Lacks(_) => OperationError::Unsupported,
    }
}

fn state(state: runahead_backend_gles::SurfaceState) -> SurfaceState {
    SurfaceState {
        width: state.width,
        height: state.height,
        format: state.format.raw(),
        samples: state.samples,
    }
}

impl Native for Gles {
    fn kind(&self) -> BackendKind {
        BackendKind::Gles
    }

    fn configs(&self) -> Vec<NativeConfig> {
        Gles::configs(self).copied().collect()
    }

    fn create_context(
        &mut self,
        context: u64,
        share: Option<u64>,
        _: &ContextAttributes,
    ) -> Result<(), OperationFailure> {
        // Attributes are the client context's. The native one is always the newest that the driver has.
        Gles::create_context(self, context, share)
            .map_err(|error| OperationFailure::new(egl_failure(&error), error.to_string()))
    }

    fn destroy_context(&mut self, context: u64) {
        Gles::destroy_context(self, context);
    }

    fn surface(&mut self, surface: u64, op: &SurfaceOp) -> Result<SurfaceState, OperationFailure> {
        let done = match op {
            SurfaceOp::CreatePbuffer { config, width, height } => {
                self.create_pbuffer(surface, *config, *width, *height)
            }
            SurfaceOp::CreateWindow { config, display, window } => {
                let watch = self.watched_window(display, *window)?;
                let mut window = *window;
                // SAFETY: this platform takes the address of an XID, which it reads during the call.
                unsafe { self.create_window(surface, *config, (&raw mut window).cast(), Some(watch)) }
            }
            SurfaceOp::CreateSurfaceless => Ok(self.create_surfaceless(surface)),
            SurfaceOp::Resize { width, height } => self.resize(surface, *width, *height),
            SurfaceOp::SetInterval { frames } => {
                self.set_interval(surface, i32::try_from(*frames).unwrap_or(i32::MAX))
            }
            SurfaceOp::ReleaseWindow => self.release_surface(surface, false),
            SurfaceOp::Destroy => self.release_surface(surface, true),
        };
        done.map(state).map_err(failure)
    }
}

/// Windows, before EGL sees them.
trait Windows {
    /// Checks that the display is the one that the server is connected to and has such a window, and watches its size.
    fn watched_window(&self, display: &str, window: u32) -> Result<Resized, OperationFailure>;
}

impl Windows for Gles {
    fn watched_window(&self, display: &str, window: u32) -> Result<Resized, OperationFailure> {
        let no = |error, text| Err(OperationFailure::new(error, text));
        let Some(connection) = self.keep().downcast_ref::<Arc<Connection>>() else {
            return no(
                OperationError::Unsupported,
                "the server presents to no windows: it was started without --window-system x11:DISPLAY"
                    .to_owned(),
            );
        };
        if connection.name() != display {
            return no(
                OperationError::Mismatch,
                format!("the window is on X display {display:?} and the server on {:?}", connection.name()),
            );
        }
        // Before its size is asked for, so that no change of it is missed.
        let watch = connection.watch(window);
        match connection.has_window(window).and_then(|there| Ok((there, watch?))) {
            Ok((true, watch)) => Ok(Resized::new(watch)),
            Ok((false, _)) => {
                no(OperationError::BadWindow, format!("XID {window:#x} is no window of {display:?}"))
            }
            Err(error) => no(OperationError::Unsupported, error),
        }
    }
}
