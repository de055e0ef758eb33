//! Errors, and how a context remembers them.
//!
//! Source: OpenGL ES 2.0.25 section 2.5.

use runahead_core::{
    RecordError,
    slots::{MintError, MintWithError},
    tracker::SyncError,
    upload::UploadError,
};
use runahead_wire::values::ErrorKind;

use super::enums;

/// Why a command had no effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Error {
    /// `INVALID_ENUM`.
    InvalidEnum,
    /// `INVALID_VALUE`.
    InvalidValue,
    /// `INVALID_OPERATION`.
    InvalidOperation,
    /// `INVALID_FRAMEBUFFER_OPERATION`.
    InvalidFramebufferOperation,
    /// `OUT_OF_MEMORY`.
    OutOfMemory,
    /// The session is over. Commands have no effect from then on, and no error.
    Lost,
}

/// What a command answers.
pub type Outcome<T = ()> = Result<T, Error>;

impl From<RecordError> for Error {
    fn from(error: RecordError) -> Self {
        match error {
            RecordError::Lost(_) => Self::Lost,
            RecordError::TooLarge { .. } | RecordError::ReplyFull | RecordError::OutOfMemory => {
                Self::OutOfMemory
            }
            RecordError::Malformed | RecordError::NoContext { .. } => Self::InvalidOperation,
        }
    }
}

impl From<MintError> for Error {
    fn from(_: MintError) -> Self {
        Self::OutOfMemory
    }
}

impl<E: Into<Self>> From<MintWithError<E>> for Error {
    fn from(error: MintWithError<E>) -> Self {
        match error {
            MintWithError::Mint(error) => error.into(),
            MintWithError::Record(error) => error.into(),
        }
    }
}

impl<E: Into<Self>> From<SyncError<E>> for Error {
    fn from(error: SyncError<E>) -> Self {
        match error {
            SyncError::Mint(error) => error.into(),
            SyncError::Pipe(error) => error.into(),
        }
    }
}

impl<E: Into<Self>> From<UploadError<E>> for Error {
    fn from(error: UploadError<E>) -> Self {
        match error {
            UploadError::Region => Self::InvalidOperation,
            UploadError::Pipe(error) => error.into(),
        }
    }
}

/// The error flags of a context: each error is remembered once, until it is asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Flags(u8);

/// Numbers of the flags, in the order in which they are answered.
const NUMBERS: [u32; 6] = [
    enums::INVALID_ENUM,
    enums::INVALID_VALUE,
    enums::INVALID_OPERATION,
    enums::INVALID_FRAMEBUFFER_OPERATION,
    enums::OUT_OF_MEMORY,
    enums::CONTEXT_LOST,
];

impl Flags {
    /// Remembers an error.
    #[cold]
    pub(crate) fn raise(&mut self, error: Error) {
        self.0 |= match error {
            Error::InvalidEnum => 1,
            Error::InvalidValue => 2,
            Error::InvalidOperation => 4,
            Error::InvalidFramebufferOperation => 8,
            Error::OutOfMemory => 16,
            Error::Lost => 0,
        };
    }

    /// Remembers an error that the server found.
    pub(crate) fn raise_kind(&mut self, kind: ErrorKind) {
        self.0 |= match kind {
            ErrorKind::InvalidEnum => 1,
            ErrorKind::InvalidValue => 2,
            ErrorKind::InvalidOperation => 4,
            ErrorKind::InvalidFramebufferOperation => 8,
            ErrorKind::OutOfMemory | ErrorKind::StackOverflow | ErrorKind::StackUnderflow => 16,
            ErrorKind::ContextLost => 32,
        };
    }

    /// The flags of both.
    pub(crate) const fn merge(&mut self, other: Self) {
        self.0 |= other.0;
    }

    /// Answers one error and forgets it; `NO_ERROR` when there is none.
    pub(crate) fn take(&mut self) -> u32 {
        let number = NUMBERS.get(self.0.trailing_zeros() as usize).copied();
        self.0 &= self.0.wrapping_sub(1);
        number.unwrap_or(enums::NO_ERROR)
    }
}
