//! Requests about surfaces and contexts, and their answers.
//!
//! Contexts and surfaces are named by tokens that the client mints, as in the record `BindContext`; 0 is none. Making
//! a context current is that record, and no request.

use core::fmt;

use serde::{Deserialize, Serialize};

use super::super::{Corruption, check};

/// Bytes of an X display's name at most.
const DISPLAY_BYTES: usize = 256;

/// Bytes of a failure's text at most.
const TEXT_BYTES: usize = 1024;

/// Pixels of a surface along one side at most.
const SURFACE_PIXELS: u32 = 1 << 16;

/// Numbers of requests: 1, 2, 3 and so on, in the order in which they are sent. The client mints them, the server
/// insists on them; after the largest comes 1.
#[derive(Clone, Debug, Default)]
pub struct RequestNumbers {
    last: u32,
}

impl RequestNumbers {
    /// Nothing was requested yet.
    #[must_use]
    pub const fn new() -> Self {
        Self { last: 0 }
    }

    const fn following(&self) -> u32 {
        match self.last.checked_add(1) {
            Some(next) => next,
            None => 1,
        }
    }

    /// The client's next number.
    #[must_use = "a minted number that is not sent leaves a gap, which the server refuses"]
    pub const fn mint(&mut self) -> u32 {
        self.last = self.following();
        self.last
    }

    /// Takes the number of the request that came next.
    ///
    /// # Errors
    /// It is not the one that follows.
    pub const fn accept(&mut self, number: u32) -> Result<(), Corruption> {
        if number != self.following() {
            return Err(Corruption { owner: "Control", field: "request" });
        }
        self.last = number;
        Ok(())
    }
}

/// What is to happen to a surface.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum SurfaceOp {
    /// A surface without a window.
    CreatePbuffer {
        /// Which of the server's configs.
        config: u32,
        /// Pixels along x; 0 is a surface that nothing can be drawn to.
        width: u32,
        /// Pixels along y; 0 likewise.
        height: u32,
    },
    /// A surface that presents to an X window. A server honours it from a client that it was spawned by, or that
    /// came by a private socket, and from nobody else.
    CreateWindow {
        /// Which of the server's configs.
        config: u32,
        /// Name of the X display, as in `DISPLAY`.
        display: String,
        /// XID of the window.
        window: u32,
    },
    /// A surface that has no images: contexts can be current on it, nothing is presented.
    CreateSurfaceless,
    /// The surface has another size.
    Resize {
        /// Pixels along x.
        width: u32,
        /// Pixels along y.
        height: u32,
    },
    /// Frames of the display that pass between two presents at least.
    SetInterval {
        /// How many; 0 presents at once.
        frames: u32,
    },
    /// The window will be gone: the server lets go of it. The surface stays, and presents to nothing.
    ReleaseWindow,
    /// The surface ends.
    Destroy,
}

/// Something is to happen to a surface.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SurfaceRequest {
    /// Number of the request.
    pub request: u32,
    /// Ordinal of the record that it follows; 0 is before the first.
    pub after: u64,
    /// Token of the surface.
    pub surface: u64,
    /// What.
    pub op: SurfaceOp,
}

impl SurfaceRequest {
    pub(super) fn check(&self) -> Result<(), Corruption> {
        check(self.request != 0, "Surface", "request")?;
        check(self.surface != 0, "Surface", "surface")?;
        match &self.op {
            SurfaceOp::CreatePbuffer { width, height, .. } | SurfaceOp::Resize { width, height } => {
                check(*width <= SURFACE_PIXELS, "Surface", "width")?;
                check(*height <= SURFACE_PIXELS, "Surface", "height")
            }
            SurfaceOp::CreateWindow { display, window, .. } => {
                check(display.len() <= DISPLAY_BYTES && !display.contains('\0'), "Surface", "display")?;
                check(*window != 0, "Surface", "window")
            }
            SurfaceOp::CreateSurfaceless
            | SurfaceOp::SetInterval { .. }
            | SurfaceOp::ReleaseWindow
            | SurfaceOp::Destroy => Ok(()),
        }
    }
}

/// Client API of a context.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Api {
    /// OpenGL ES.
    Gles,
    /// OpenGL, core profile.
    GlCore,
    /// OpenGL, compatibility profile.
    GlCompatibility,
}

/// What a context learns of a reset (EGL 1.5 section 3.7.1.5).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ResetStrategy {
    /// Nothing.
    NoNotification,
    /// The context is lost, and says so.
    LoseContextOnReset,
}

/// How urgent a context's work is (`EGL_IMG_context_priority`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Priority {
    /// Less than others.
    Low,
    /// As others.
    Medium,
    /// More than others.
    High,
}

/// How a context is to be (EGL 1.5 section 3.7.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContextAttributes {
    /// Client API and profile.
    pub api: Api,
    /// Version, major number.
    pub major: u32,
    /// Version, minor number.
    pub minor: u32,
    /// Which of the server's configs; 0 for none.
    pub config: u32,
    /// A debug context.
    pub debug: bool,
    /// A forward-compatible context.
    pub forward_compatible: bool,
    /// Robust buffer access.
    pub robust: bool,
    /// No errors are raised.
    pub no_error: bool,
    /// What it learns of a reset.
    pub reset: ResetStrategy,
    /// How urgent its work is.
    pub priority: Priority,
}

impl ContextAttributes {
    /// A plain context of OpenGL ES: no config, nothing asked for.
    #[must_use]
    pub const fn gles(major: u32, minor: u32) -> Self {
        Self {
            api: Api::Gles,
            major,
            minor,
            config: 0,
            debug: false,
            forward_compatible: false,
            robust: false,
            no_error: false,
            reset: ResetStrategy::NoNotification,
            priority: Priority::Medium,
        }
    }
}

/// A context is to be created.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CreateContext {
    /// Number of the request.
    pub request: u32,
    /// Ordinal of the record that it follows; 0 is before the first.
    pub after: u64,
    /// Token of the context.
    pub context: u64,
    /// Token of a context whose objects it shares; 0 for none.
    pub share: u64,
    /// How it is to be.
    pub attributes: ContextAttributes,
}

impl CreateContext {
    pub(super) fn check(&self) -> Result<(), Corruption> {
        check(self.request != 0, "CreateContext", "request")?;
        check(self.context != 0, "CreateContext", "context")?;
        check(self.share != self.context, "CreateContext", "share")
    }
}

/// A context is to be destroyed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DestroyContext {
    /// Number of the request.
    pub request: u32,
    /// Ordinal of the record that it follows.
    pub after: u64,
    /// Token of the context.
    pub context: u64,
}

impl DestroyContext {
    pub(super) fn check(&self) -> Result<(), Corruption> {
        check(self.request != 0, "DestroyContext", "request")?;
        check(self.context != 0, "DestroyContext", "context")
    }
}

/// Why a request was not carried out. The session goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum OperationError {
    /// Out of memory, or over what the session may have.
    OutOfMemory,
    /// A token that names nothing, or something else.
    NoSuchObject,
    /// No such config.
    BadConfig,
    /// The window is none, or none that this client may use.
    BadWindow,
    /// The parts do not fit each other.
    Mismatch,
    /// The server cannot do that.
    Unsupported,
    /// The driver failed.
    DriverFailed,
}

/// Why a request was not carried out, with the words for people.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OperationFailure {
    /// The kind.
    pub error: OperationError,
    /// The words.
    pub text: String,
}

impl OperationFailure {
    /// A failure; `text` is cut to its bound.
    #[must_use]
    pub fn new(error: OperationError, text: String) -> Self {
        Self { error, text: super::cut(text, TEXT_BYTES) }
    }
}

impl fmt::Display for OperationFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}: {}", self.error, self.text)
    }
}

impl std::error::Error for OperationFailure {}

/// A surface as it now is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SurfaceState {
    /// Pixels along x.
    pub width: u32,
    /// Pixels along y.
    pub height: u32,
    /// Its colour format, a [`Format`](runahead_wire::Format); 0 for a surface without images.
    pub format: u32,
    /// Samples of a pixel.
    pub samples: u32,
}

/// Answers a surface request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SurfaceAnswer {
    /// Number of the request.
    pub request: u32,
    /// Position of the event ring that the client drains before it goes on.
    pub events: u64,
    /// The surface as it now is.
    pub result: Result<SurfaceState, OperationFailure>,
}

impl SurfaceAnswer {
    pub(super) fn check(&self) -> Result<(), Corruption> {
        check(self.request != 0, "Surface", "request")?;
        match &self.result {
            Ok(state) => {
                check(state.width <= SURFACE_PIXELS, "Surface", "width")?;
                check(state.height <= SURFACE_PIXELS, "Surface", "height")
            }
            Err(failure) => check(failure.text.len() <= TEXT_BYTES, "Surface", "text"),
        }
    }
}

/// Answers the creation or the destruction of a context.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContextAnswer {
    /// Number of the request.
    pub request: u32,
    /// Position of the event ring that the client drains before it goes on.
    pub events: u64,
    /// Whether it was done.
    pub result: Result<(), OperationFailure>,
}

impl ContextAnswer {
    pub(super) fn check(&self) -> Result<(), Corruption> {
        check(self.request != 0, "Context", "request")?;
        match &self.result {
            Ok(()) => Ok(()),
            Err(failure) => check(failure.text.len() <= TEXT_BYTES, "Context", "text"),
        }
    }
}
