//! Captures: what a client recorded, in a file that can be played again.
//!
//! | module | holds |
//! |---|---|
//! | [`mod@format`] | how a `.rah` file lies |
//! | [`part`] | records with their bulk bytes and requests: what a chunk holds |
//! | [`layout`], [`handles`] | where the blobs and handles of a record lie, from the catalogue |
//! | `past`, `renumber` | what of earlier frames matters to a later one, and slots for what is kept |
//! | [`writer`], [`reader`] | the file, out and in |
//! | [`replay`] | a capture, played into a session |
//! | [`trim`] | a range of frames as a capture of its own |
//! | [`tap`] | how a running client's records get out of it |
//! | [`note`] | what else a tap says |
//! | [`scribe`] | the process that writes them |
//!
//! A program that opens its own session records with [`Config::record`](crate::session::Config::record), and ends it
//! with the session or by [`Client::finish_recording`](crate::session::Client::finish_recording). To play, open a
//! session with the sizes that [`Player::terms`] says, and call [`Player::frame`] or [`Player::rest`].
//!
//! # Contract
//!
//! - **What is in it**: every record that a client published, the bulk bytes that it names, the contexts and surfaces
//!   that were made between records, the caps that the client saw, and where frames end. Answers and events are not.
//! - **Crash.** The records leave the program as they are published, and a process of its own writes them. However the
//!   program ends, the file holds all that it published, and has its index; a frame that was not whole by then is behind
//!   the last whole one. Only the end of that process leaves a file without its end, which is read up to its last whole
//!   part.
//! - **Trust.** A file is hostile input. Each length is checked before it is used, memory follows what the file really
//!   holds, each chunk has a checksum, and records are decoded by the checks that a server makes. A refusal says what
//!   and where ([`CaptureError`]).

use std::{fmt, io};

use runahead_rings::{StageBytes, StageReader, StageRef};
use runahead_wire::BlobRef;

pub mod format;
pub mod handles;
pub mod layout;
pub mod note;
pub mod part;
mod past;
pub mod reader;
mod renumber;
pub mod replay;
pub mod scribe;
pub mod tap;
pub mod trim;
pub mod writer;

pub use part::Part;
pub use reader::Capture;
pub use replay::{Player, ReplayError};
pub use writer::{Origin, Writer};

/// Why a capture cannot be written, or read.
#[derive(Debug)]
pub enum CaptureError {
    /// The system's.
    Io(io::Error),
    /// The file does not begin as a capture does.
    NotACapture,
    /// The file has another version of the format.
    Version {
        /// The file's.
        file: u32,
        /// What this build reads.
        ours: u32,
    },
    /// The file's records have other layouts.
    Fingerprint {
        /// The file's.
        file: u64,
        /// This build's.
        ours: u64,
        /// The build that wrote the file.
        build: String,
    },
    /// Bytes that are not what they must be.
    Damaged {
        /// What is wrong, as `Owner.field`.
        what: &'static str,
        /// Where in the file, or in the part.
        at: u64,
    },
    /// A record of the file is not one.
    Record {
        /// Its ordinal.
        ordinal: u64,
        /// What is wrong.
        refusal: runahead_wire::Refusal,
    },
    /// The process that writes could not be started, or says why it stopped.
    Scribe(String),
    /// What came from the recorded program is not what a program sends.
    Fault(runahead_rings::Fault),
    /// There is no such frame.
    NoFrame {
        /// The frame asked for.
        frame: u64,
        /// Frames that there are.
        frames: u64,
    },
}

impl fmt::Display for CaptureError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io(error) => error.fmt(f),
            Self::NotACapture => f.write_str("this is no capture: it does not begin as one"),
            Self::Version { file, ours } => {
                write!(f, "the capture has version {file} of the format, and this build reads version {ours}")
            }
            Self::Fingerprint { file, ours, build } => write!(
                f,
                "the capture's commands are laid out as {file:#018x} (written by {build:?}), this build's as \
                 {ours:#018x}; play it with the build that wrote it"
            ),
            Self::Damaged { what, at } => write!(f, "the capture is damaged: {what} at byte {at}"),
            Self::Record { ordinal, refusal } => {
                write!(f, "the capture's record {ordinal} is refused: {refusal}")
            }
            Self::Scribe(text) => f.write_str(text),
            Self::Fault(fault) => fault.fmt(f),
            Self::NoFrame { frame, frames: 0 } => {
                write!(f, "there is no frame {frame}: the capture has no whole frame")
            }
            Self::NoFrame { frame, frames } => {
                write!(f, "there is no frame {frame}: the capture has frames 0 to {}", frames - 1)
            }
        }
    }
}

impl std::error::Error for CaptureError {}

impl From<io::Error> for CaptureError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

/// Bulk bytes in a stage, also those that were published since the last look at it.
pub(crate) fn staged<'a>(stage: &mut StageReader<'a>, blob: BlobRef) -> Option<StageBytes<'a>> {
    let place = StageRef { position: blob.offset, size: blob.size };
    stage.get(place).or_else(|_| stage.refresh().and_then(|()| stage.get(place))).ok()
}

/// Something that is not what it must be.
pub(crate) const fn damaged(what: &'static str, at: u64) -> CaptureError {
    CaptureError::Damaged { what, at }
}
