//! What a platform has to do.

use std::{ffi::CStr, fmt::Debug, sync::Arc};

use runahead_core::Shared;
use runahead_wire::{Format, caps::CapsView};

use super::{
    Egl, Thread,
    attributes::ContextRequest,
    config::Config,
    error::{Error, Outcome},
};
use crate::gl::Mail;

/// A platform.
pub trait Platform: Debug + Sized + Send + Sync + 'static {
    /// What names a display.
    type Name: Debug + PartialEq + Send + Sync + 'static;
    /// A display that is initialised.
    type Connection: Connection;

    /// Client extensions (section 3.3), separated by spaces.
    const CLIENT_EXTENSIONS: &'static CStr;

    /// The display that an application names (section 3.2); none where the platform is another's. `platform` is
    /// `EGL_NONE` for the default one. Connects to nothing.
    ///
    /// # Errors
    /// [`Error::BadAttribute`], [`Error::BadParameter`].
    fn name(platform: i32, native: usize, list: &[(isize, isize)]) -> Outcome<Option<Self::Name>>;

    /// Initialises a display. `mail` gets what its server has to tell.
    ///
    /// # Errors
    /// Why not, for people.
    fn connect(name: &Self::Name, mail: &Arc<Mail>) -> Result<Self::Connection, String>;

    /// Tells the user what no return value of EGL can.
    fn complain(text: &str);
}

/// The session of an initialised display. Tokens are the caller's, and never used twice.
pub trait Connection: Debug + Send + Sync + 'static {
    /// What is drawn through.
    type Session: Shared + Send + Sync + 'static;

    /// What is drawn through.
    fn session(&self) -> &Arc<Self::Session>;

    /// Whether it is lost. The user has been told why.
    fn is_lost(&self) -> bool;

    /// The server's configs.
    fn configs(&self) -> &[Config];

    /// What the server can do.
    ///
    /// # Errors
    /// [`Failure::Lost`].
    fn caps<R>(&self, look: impl FnOnce(&CapsView<'_>) -> R) -> Result<R, Failure>;

    /// Makes a context; `config` is 0 for none.
    ///
    /// # Errors
    /// [`Failure`].
    fn create_context(
        &self,
        context: u64,
        share: Option<u64>,
        config: i32,
        request: &ContextRequest,
    ) -> Result<(), Failure>;

    /// Ends a context.
    fn destroy_context(&self, context: u64);

    /// Makes a pbuffer.
    ///
    /// # Errors
    /// [`Failure`].
    fn create_pbuffer(
        &self,
        surface: u64,
        config: i32,
        width: u32,
        height: u32,
    ) -> Result<SurfaceState, Failure>;

    /// Makes a surface that presents to a native window.
    ///
    /// # Errors
    /// [`Failure`].
    fn create_window(&self, surface: u64, config: i32, window: usize) -> Result<SurfaceState, Failure>;

    /// Ends a surface.
    fn destroy_surface(&self, surface: u64);

    /// Sends what the application has asked of the window system, as applications expect of a present.
    fn flush_native(&self);

    /// Waits until the window system has done what the application asked of it (`eglWaitNative`).
    fn wait_native(&self);
}

/// A surface, as a server made it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SurfaceState {
    /// Pixels along x.
    pub width: u32,
    /// Pixels along y.
    pub height: u32,
    /// Format of its colour buffer.
    pub format: Format,
    /// Samples of a pixel.
    pub samples: u8,
}

/// Why a platform did not do something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// Out of resources.
    Memory,
    /// No such config for this use.
    Config,
    /// No such window, or none to draw to.
    Window,
    /// The arguments do not fit each other, or the server cannot do it.
    Match,
    /// The session is lost.
    Lost,
}

impl From<Failure> for Error {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Memory => Self::BadAlloc,
            Failure::Config => Self::BadConfig,
            Failure::Window => Self::BadNativeWindow,
            Failure::Match => Self::BadMatch,
            Failure::Lost => Self::ContextLost,
        }
    }
}

/// The library that the entry points are in.
pub trait Host: 'static {
    /// Its platform.
    type Platform: Platform;

    /// Its displays.
    fn egl() -> &'static Egl<Self::Platform>;

    /// What the calling thread has; none while the thread ends. What is current may change in `call`.
    fn thread<R>(call: impl FnOnce(&mut Thread<Self::Platform>) -> R) -> Option<R>;

    /// A function of the client API.
    fn client_function(name: &str) -> Option<*const std::ffi::c_void>;
}
