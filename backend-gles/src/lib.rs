//! The OpenGL ES backend of Runahead: it applies the catalogue on an EGL/OpenGL ES driver (ES 3.0 and later) that is
//! loaded at run time.
//!
//! ```text
//!  Applier ──▶ Gles ──▶ Native (one a share group: what the driver has, by serials) ──▶ glow, EGL
//! ```
//!
//! # Contract
//! - **Who brings what.** Whoever makes a [`Gles`] finds the driver's functions and the native display, and keeps both
//!   alive: [`Gles::new`] takes a loader. Nothing here knows a window system but by the platform's number.
//! - **Threads.** One thread at a time. A native context is made current on the thread that calls; another thread can
//!   take over once the first has given it up by [`Gles::leave`].
//! - **Contexts.** One native context a share group. Client contexts of it take turns, and nothing is set again that
//!   the other one left as it must be: gates compare the session's serials, which are never the same for two states.
//! - **Twins** are made at first use, resolved by handle, and deleted in the native context that they are of. A name
//!   that the driver may give again is forgotten everywhere at once.
//! - **Trust.** Archives and modules are copied before they are read. Contents of buffers and images go to the driver
//!   by address, which copies them. SPIRV-Cross and the driver's compiler parse what the client's compiler made: a
//!   defect there ends the server's process, and no other one where the server has its own.
//! - **Refusals.** What is not done yet, or not by this driver, is refused as `Unsupported`, and the client hears which
//!   row and object; nothing is skipped in silence.
//!
//! - **Emulated**, each where the driver lacks it: an index bias and a first instance, by moving the buffers (and
//!   `gl_VertexID` does not see the bias then); several draws, one by one; one value for all vertices or instances; restart
//!   at an index that is not the largest, a number of draws that lies in a buffer, and indirect draws that the driver does
//!   not have as they are meant, all by reading the buffers, which waits for the GPU; fills of buffers, by copies; a
//!   logical operation that copies.
//!
//! What OpenGL ES itself has not, and is refused: advanced blend equations, logical operations other than a copy, programs
//! that sample rectangle textures, a bias of a sampler's level of detail, views of storage that can be defined again,
//! reads of multisample textures, pack buffers of pixels that the driver does not read as they are asked for.

mod bringup;
mod buffers;
mod cache;
mod caps;
mod capture;
mod context;
mod copies;
mod draw;
mod driver_log;
mod egl;
mod essl;
mod extended;
mod formats;
mod framebuffers;
mod gl;
mod images;
mod invalidate;
pub mod maps;
mod marks;
mod module;
mod points;
mod programs;
mod queries;
mod read;
mod renderbuffers;
mod resolves;
mod rows;
mod samplers;
mod shading;
mod state;
mod surface;
mod sync;
mod textures;
mod vertex;

use std::{
    any::Any,
    cell::Cell,
    collections::HashMap,
    ffi::c_void,
    fmt,
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use runahead_core::{
    NativeConfig,
    backend::{BackendError, Outcome},
};

pub use crate::{
    bringup::Report,
    buffers::Buffer,
    capture::StreamOutput,
    egl::{Egl, EglError, Loader},
    framebuffers::Framebuffer,
    programs::Shader,
    queries::Query,
    renderbuffers::Renderbuffer,
    samplers::Sampler,
    surface::{Resized, State as SurfaceState, SurfaceError},
    sync::Fence,
    textures::{Texture, View},
};
use crate::{
    bringup::{Display, Pointer},
    cache::Cache,
    caps::Caps,
    context::Native,
    driver_log::DriverLog,
    gl::{FAILED, Gl},
    read::Reads,
    surface::Surfaces,
};

thread_local! {
    /// Number of what is current on this thread, by whoever of us made it so last.
    static CURRENT: Cell<u64> = const { Cell::new(0) };
}

/// Numbers for [`CURRENT`]; 0 is nobody's.
static NUMBERS: AtomicU64 = AtomicU64::new(1);

/// Where a display comes from.
pub struct Platform {
    /// `EGL_PLATFORM_…`, for `eglGetPlatformDisplay`.
    pub platform: u32,
    /// The native display; null for none.
    pub native: *mut c_void,
    /// What the native display lies in, dropped behind everything that uses it.
    pub keep: Box<dyn Any + Send + Sync>,
}

impl fmt::Debug for Platform {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Platform").field("platform", &self.platform).finish_non_exhaustive()
    }
}

/// What is current, by our own books.
#[derive(Clone, Copy, Debug)]
struct Current {
    /// Position of the native context.
    at: usize,
    draw: u64,
    read: u64,
    /// Number of this binding, which a thread that has it knows.
    number: u64,
}

/// The backend.
pub struct Gles {
    caps: Caps,
    report: Report,
    gl: Gl,
    surfaces: Surfaces,
    natives: Vec<Native>,
    /// Client contexts, with the number of their native one.
    contexts: HashMap<u64, u32>,
    homes: u32,
    current: Option<Current>,
    reads: Reads,
    frames: Frames,
    cache: Option<Arc<Cache>>,
    /// A context without surfaces that is there from the start: GL was loaded with it.
    first: Pointer,
    // Behind what uses them, in this order.
    display: Display,
    driver_log: Option<DriverLog>,
    /// Whether the client lives in this process.
    shares_process: bool,
    keep: Box<dyn Any + Send + Sync>,
}

impl fmt::Debug for Gles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Gles")
            .field("report", &self.report)
            .field("current", &self.current)
            .finish_non_exhaustive()
    }
}

/// Presents, and how far the GPU got with them.
#[derive(Debug, Default)]
struct Frames {
    presented: u64,
    completed: u64,
    /// The frame whose end is looked for, the native context, and its fence.
    pending: Option<(u64, u32, sync::Point)>,
}

impl Gles {
    /// Brings a driver up: a display, a context, its functions and caps.
    ///
    /// # Safety
    /// What `load` finds under the name of an EGL or GL function is that function, and stays as long as the process;
    /// the native display is one of the platform's, or null.
    ///
    /// # Errors
    /// What the driver lacks or said, for the user.
    pub unsafe fn new(load: &mut Loader<'_>, platform: Platform) -> Result<Self, String> {
        // SAFETY: the caller's promise.
        let egl = unsafe { Egl::load(load) }.map_err(|error| error.to_string())?;
        let Platform { platform, native, keep } = platform;
        let display = Display::new(egl, platform, native).map_err(|error| error.to_string())?;
        let first = display.create_context().map_err(|error| error.to_string())?;
        let loaded = display
            .make_current(Pointer::NONE, Pointer::NONE, first)
            .map_err(|error| error.to_string())
            // SAFETY: the caller's promise; the context was made current just now.
            .and_then(|()| unsafe { display.load_gl(load) })
            .and_then(|(gl, report)| Caps::new(&gl, &report).map(|caps| (gl, report, caps)));
        let released = display.make_current(Pointer::NONE, Pointer::NONE, Pointer::NONE);
        CURRENT.set(0);
        let (gl, report, caps) =
            match loaded.and_then(|loaded| released.map(|()| loaded).map_err(|error| error.to_string())) {
                Ok(loaded) => loaded,
                Err(error) => {
                    display.destroy_context(first);
                    return Err(error);
                }
            };
        Ok(Self {
            caps,
            report,
            gl,
            surfaces: Surfaces::default(),
            natives: Vec::new(),
            contexts: HashMap::new(),
            homes: 0,
            current: None,
            reads: Reads::default(),
            frames: Frames::default(),
            cache: None,
            first,
            display,
            driver_log: None,
            shares_process: false,
            keep,
        })
    }

    /// What driver it is.
    #[must_use]
    pub const fn report(&self) -> &Report {
        &self.report
    }

    /// Has the driver's errors told, of every context that is made from now on: from inside the call that is at fault, on
    /// the thread that applies. A driver that has no debug messages tells nothing.
    pub fn hear_driver(&mut self, hear: impl Fn(&str) + Send + Sync + 'static) {
        // Another one may be in use by contexts that are there.
        if self.natives.is_empty() {
            self.driver_log = Some(DriverLog::new(hear));
        }
    }

    /// Says that the client lives in this process, so that it finds in [`maps`] what is mapped for it.
    pub fn share_process(&mut self) {
        self.shares_process = true;
        if self.gl.extended.buffer_storage.is_some() {
            self.caps.maps();
        }
    }

    /// Leaves out what draws and vertex input can do without, of every context that is made from now on: what an OpenGL ES
    /// 3.0 driver lacks is emulated, as it would be there.
    pub fn use_least(&mut self) {
        self.gl.extended = self.gl.extended.least();
    }

    /// What the native display lies in.
    #[must_use]
    pub fn keep(&self) -> &(dyn Any + Send + Sync) {
        &*self.keep
    }

    /// Keeps translated programs in a folder, which is there and which nobody else writes, for the contexts that are made
    /// from now on.
    pub fn keep_programs(&mut self, folder: PathBuf) {
        self.cache = Some(Arc::new(Cache::new(folder, &self.report)));
    }

    /// The configs of the display.
    pub fn configs(&self) -> impl Iterator<Item = &NativeConfig> {
        self.display.configs.iter().map(|(config, _)| config)
    }

    /// Makes a client context: the native one of its share group, or a new one.
    ///
    /// # Errors
    /// What EGL said.
    pub fn create_context(&mut self, context: u64, share: Option<u64>) -> Result<(), EglError> {
        let home = match share.and_then(|share| self.contexts.get(&share)) {
            Some(home) => *home,
            None => self.create_native(context)?,
        };
        if let Some(native) = self.natives.iter_mut().find(|native| native.home == home) {
            native.contexts += 1;
        }
        self.contexts.insert(context, home);
        Ok(())
    }

    fn create_native(&mut self, group: u64) -> Result<u32, EglError> {
        let handle = self.display.create_context()?;
        self.homes += 1;
        let limits = self.caps.limits();
        let (attributes, units) = (limits.max_vertex_attribs, limits.max_combined_texture_image_units);
        self.natives.push(Native::new(self.homes, group, handle, attributes, units));
        let at = self.natives.len() - 1;
        self.natives[at].programs.cache = self.cache.clone();
        let begun =
            self.bind(at, 0, 0).map_err(|_| self.display.egl.error("eglMakeCurrent")).and_then(|()| {
                if let Some(log) = &self.driver_log {
                    log.listen(&self.gl);
                }
                Native::start(&self.gl).map_err(EglError::Lacks)
            });
        if let Err(error) = begun {
            self.end_native(at);
            return Err(error);
        }
        Ok(self.homes)
    }

    /// Ends a client context, and with the last of a share group the native one. Its twins were released.
    pub fn destroy_context(&mut self, context: u64) {
        let Some(home) = self.contexts.remove(&context) else { return };
        let Some(at) = self.natives.iter().position(|native| native.home == home) else { return };
        self.natives[at].contexts -= 1;
        if self.natives[at].contexts == 0 {
            self.end_native(at);
        } else if self.enter_home(home).is_ok()
            && let Some(native) = self.natives.get_mut(at)
        {
            native.captures.forget_context(&self.gl, context);
            native.queries.forget_context(&self.gl, context);
            native.programs.held = native.captures.is_running();
        }
    }

    fn end_native(&mut self, at: usize) {
        self.leave();
        let native = self.natives.remove(at);
        self.reads.forget_home(native.home);
        if self.frames.pending.is_some_and(|(_, home, _)| home == native.home) {
            // Its fence ends with it, and everything before that.
            self.frames.completed = self.frames.presented;
            self.frames.pending = None;
        }
        self.display.destroy_context(native.handle);
    }

    /// Gives the native context up, so that another thread can have it.
    pub fn leave(&mut self) {
        if let Some(current) = self.current.take()
            && CURRENT.get() == current.number
        {
            // It stays current if this fails, and then ends with the thread.
            let _ = self.display.make_current(Pointer::NONE, Pointer::NONE, Pointer::NONE);
            CURRENT.set(0);
        }
        self.surfaces.bury(&self.display);
    }

    /// Makes a native context current with surfaces.
    fn bind(&mut self, at: usize, draw: u64, read: u64) -> Outcome {
        let Some(native) = self.natives.get_mut(at) else { return Err(FAILED) };
        let (drawn, seen) = (self.surfaces.handle(draw), self.surfaces.handle(read));
        // EGL takes both surfaces or none.
        let (drawn, seen) = match (drawn.0.is_null(), seen.0.is_null()) {
            (false, true) => (drawn, drawn),
            (true, false) => (seen, seen),
            _ => (drawn, seen),
        };
        self.display.make_current(drawn, seen, native.handle).map_err(|_| FAILED)?;
        native.framebuffers.surface_moved();
        native.steady = None;
        let number = NUMBERS.fetch_add(1, Ordering::Relaxed);
        CURRENT.set(number);
        self.current = Some(Current { at, draw, read, number });
        self.surfaces.bury(&self.display);
        Ok(())
    }

    /// Sees to it that the native context of a share group is current on this thread. One that a record bound is; what
    /// another session did on this thread, or a death in another share group, may have changed that.
    #[inline]
    fn enter(&mut self, group: u64) -> Outcome<(&Gl, &mut Native)> {
        let (gl, native) = self.enter_to_draw(group)?;
        native.steady = None;
        Ok((gl, native))
    }

    /// As [`Gles::enter`], for a draw, which leaves everything as the next one wants it.
    #[inline]
    fn enter_to_draw(&mut self, group: u64) -> Outcome<(&Gl, &mut Native)> {
        let there = self.current.is_some_and(|current| {
            current.number == CURRENT.get()
                && self.natives.get(current.at).is_some_and(|native| native.group == group)
        });
        if !there {
            self.enter_again(|native| native.group == group)?;
        }
        let at = self.current.map_or(usize::MAX, |current| current.at);
        match self.natives.get_mut(at) {
            Some(native) => Ok((&self.gl, native)),
            None => Err(FAILED),
        }
    }

    /// As [`Gles::enter`], for a native context that is named by its number.
    fn enter_home(&mut self, home: u32) -> Outcome {
        let there = self.current.is_some_and(|current| {
            current.number == CURRENT.get()
                && self.natives.get(current.at).is_some_and(|native| native.home == home)
        });
        if !there {
            self.enter_again(|native| native.home == home)?;
        }
        if let Some(native) = self.current.and_then(|current| self.natives.get_mut(current.at)) {
            native.steady = None;
        }
        Ok(())
    }

    #[cold]
    #[inline(never)]
    fn enter_again(&mut self, is_meant: impl Fn(&Native) -> bool) -> Outcome {
        let at = self.natives.iter().position(is_meant).ok_or(FAILED)?;
        let (draw, read) = self
            .current
            .filter(|current| current.at == at)
            .map_or((0, 0), |current| (current.draw, current.read));
        self.bind(at, draw, read)
    }

    /// Makes a pbuffer.
    ///
    /// # Errors
    /// [`SurfaceError`].
    pub fn create_pbuffer(
        &mut self,
        surface: u64,
        config: u32,
        width: u32,
        height: u32,
    ) -> Result<SurfaceState, SurfaceError> {
        self.surfaces.create_pbuffer(&self.display, surface, config, width, height)
    }

    /// Makes a surface that presents to a window.
    ///
    /// # Safety
    /// `window` is what `eglCreatePlatformWindowSurface` takes on this platform.
    ///
    /// # Errors
    /// [`SurfaceError`].
    pub unsafe fn create_window(
        &mut self,
        surface: u64,
        config: u32,
        window: *mut c_void,
        resized: Option<Resized>,
    ) -> Result<SurfaceState, SurfaceError> {
        self.surfaces.create_window(&self.display, surface, config, window, resized)
    }

    /// Makes a surface without images.
    pub fn create_surfaceless(&mut self, surface: u64) -> SurfaceState {
        self.surfaces.create_surfaceless(surface)
    }

    fn is_current(&self, surface: u64) -> bool {
        self.current.is_some_and(|current| current.draw == surface || current.read == surface)
    }

    /// Gives a pbuffer another size; the answer for a window is the size that it has.
    ///
    /// # Errors
    /// [`SurfaceError`].
    pub fn resize(&mut self, surface: u64, width: u32, height: u32) -> Result<SurfaceState, SurfaceError> {
        let current = self.is_current(surface);
        let state = self.surfaces.resize(&self.display, surface, width, height, current)?;
        self.bind_again(current)?;
        Ok(state)
    }

    /// Binds what is current once more: a surface of it has other images.
    fn bind_again(&mut self, current: bool) -> Result<(), SurfaceError> {
        match self.current.filter(|_| current) {
            Some(Current { at, draw, read, .. }) => self
                .bind(at, draw, read)
                .map_err(|_| SurfaceError::Egl(self.display.egl.error("eglMakeCurrent"))),
            None => Ok(()),
        }
    }

    /// Sets how many refreshes a present of the surface waits for.
    ///
    /// # Errors
    /// [`SurfaceError`].
    pub fn set_interval(&mut self, surface: u64, frames: i32) -> Result<SurfaceState, SurfaceError> {
        self.surfaces.set_interval(surface, frames)
    }

    /// Lets go of a surface's window, or with `whole` of the surface.
    ///
    /// # Errors
    /// [`SurfaceError`].
    pub fn release_surface(&mut self, surface: u64, whole: bool) -> Result<SurfaceState, SurfaceError> {
        let current = self.is_current(surface);
        let state = self.surfaces.release(&self.display, surface, current, whole)?;
        self.bind_again(current)?;
        Ok(state)
    }

    /// Whether the device is lost, after a call that failed.
    fn lost(&self, error: BackendError) -> BackendError {
        match self.gl.outcome() {
            Err(BackendError::DeviceLost) => BackendError::DeviceLost,
            _ => error,
        }
    }
}

impl Drop for Gles {
    fn drop(&mut self) {
        self.leave();
        self.surfaces.end(&self.display);
        for native in self.natives.drain(..) {
            self.display.destroy_context(native.handle);
        }
        self.display.destroy_context(self.first);
    }
}
