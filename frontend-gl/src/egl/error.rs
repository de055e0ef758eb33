//! Errors (section 3.1).

/// Why a call failed, as `eglGetError` numbers it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum Error {
    /// The display is not initialised, or could not be.
    NotInitialized = 0x3001,
    /// What is asked for is in use by another thread.
    BadAccess = 0x3002,
    /// Out of resources.
    BadAlloc = 0x3003,
    /// An attribute or its value is not known.
    BadAttribute = 0x3004,
    /// No such config, or it does not support the client API.
    BadConfig = 0x3005,
    /// No such context.
    BadContext = 0x3006,
    /// The current surface is no more.
    BadCurrentSurface = 0x3007,
    /// No such display.
    BadDisplay = 0x3008,
    /// The arguments do not fit each other.
    BadMatch = 0x3009,
    /// No such pixmap.
    BadNativePixmap = 0x300A,
    /// No such window.
    BadNativeWindow = 0x300B,
    /// A parameter is not valid.
    BadParameter = 0x300C,
    /// No such surface.
    BadSurface = 0x300D,
    /// The context is lost.
    ContextLost = 0x300E,
}

/// What `eglGetError` answers when nothing failed.
pub const SUCCESS: i32 = 0x3000;

/// What a call answers.
pub type Outcome<T = ()> = Result<T, Error>;
