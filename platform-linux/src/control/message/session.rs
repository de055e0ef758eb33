//! Messages about the session as a whole.

use runahead_wire::{
    limits,
    payload::{CAPS_TEXTS, CapsHead, CapsLimits, FormatCaps},
    values::{BackendKind, Value},
};
use serde::{Deserialize, Serialize};

use super::super::{Bytes, Corruption, Token, check};

/// Bytes of a build stamp at most.
const BUILD_BYTES: usize = 64;

/// Bytes of a fault's text at most.
const FAULT_BYTES: usize = 1024;

/// Bytes of a log line at most.
const LOG_BYTES: usize = 4096;

/// Bytes of one segment at most.
pub const SEGMENT_BYTES: u64 = 4 << 30;

/// Bytes of a caps blob at most: what the wire's limits add up to.
pub const CAPS_BYTES: usize = size_of::<CapsHead>()
    + size_of::<CapsLimits>()
    + limits::CAPS_FORMATS as usize * size_of::<FormatCaps>()
    + CAPS_TEXTS * limits::CAPS_TEXT_BYTES as usize;

/// Bytes of the four rings. In a client's wish, 0 leaves one to the server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sizes {
    /// Command ring.
    pub commands: u64,
    /// Stage ring.
    pub stage: u64,
    /// Reply space.
    pub replies: u64,
    /// Event ring.
    pub events: u64,
}

impl Sizes {
    /// Each with its name, in order.
    #[must_use]
    pub const fn named(&self) -> [(&'static str, u64); 4] {
        [
            ("command ring", self.commands),
            ("stage ring", self.stage),
            ("reply space", self.replies),
            ("event ring", self.events),
        ]
    }
}

/// How the two sides wake each other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Doorbell {
    /// A futex on the bell word. No descriptor.
    #[default]
    Futex,
    /// Two eventfds, made by the server.
    EventFd,
}

/// What a session is like. The client's are wishes; the server's are what holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Terms {
    /// Bytes of the rings.
    pub sizes: Sizes,
    /// Presents that the client may be ahead of the server. In a wish, 0 leaves it to the server.
    pub credit: u32,
    /// Whether the client runs ahead; otherwise it waits for each verb.
    pub run_ahead: bool,
    /// How the two wake each other.
    pub doorbell: Doorbell,
}

/// What a client says of itself and wishes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hello {
    /// Revision of the messages. Always the first member, and a `u32`.
    pub protocol: u32,
    /// The wire fingerprint.
    pub fingerprint: u64,
    /// The build stamp.
    pub build: String,
    /// Its process, for logs; a claim, not a fact.
    pub pid: u32,
    /// What it wishes.
    pub wanted: Terms,
    /// What entitles it; empty where nothing has to.
    pub token: Token,
    /// Whether the server is to count, and to publish its counters.
    pub statistics: bool,
    /// The least grave lines of the server's log that it wants; `None` wants none.
    pub log: Option<LogLevel>,
}

impl Hello {
    pub(super) fn check(&self) -> Result<(), Corruption> {
        check(self.build.len() <= BUILD_BYTES, "Hello", "build")?;
        check(self.token.len() <= Token::MAX, "Hello", "token")
    }
}

/// What holds, as the server states it. Its descriptors: the segments in their order, then with eventfd
/// doorbells what the client sleeps on and what the server sleeps on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Welcome {
    /// Revision of the messages.
    pub protocol: u32,
    /// The wire fingerprint.
    pub fingerprint: u64,
    /// The build stamp.
    pub build: String,
    /// Its process, for logs.
    pub pid: u32,
    /// What it drives, a [`BackendKind`].
    pub backend: u32,
    /// What holds.
    pub terms: Terms,
    /// Bytes of each segment that the server writes: its page, replies, events, the page of caps and statistics.
    pub segments: [u64; 4],
}

impl Welcome {
    pub(super) fn check(&self) -> Result<(), Corruption> {
        check(self.build.len() <= BUILD_BYTES, "Welcome", "build")?;
        check(self.backend_kind().is_some(), "Welcome", "backend")?;
        check(self.segments.iter().all(segment_is_bounded), "Welcome", "segments")
    }

    /// What the server drives.
    #[must_use]
    pub fn backend_kind(&self) -> Option<BackendKind> {
        BackendKind::from_number(self.backend)
    }

    pub(super) const fn descriptors(&self) -> usize {
        let doorbells = match self.terms.doorbell {
            Doorbell::Futex => 0,
            Doorbell::EventFd => 2,
        };
        self.segments.len() + doorbells
    }
}

const fn segment_is_bounded(bytes: &u64) -> bool {
    *bytes > 0 && *bytes <= SEGMENT_BYTES
}

/// What the client writes. Its descriptors: the segments in their order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attach {
    /// Bytes of each segment that the client writes: its page, commands, stage.
    pub segments: [u64; 3],
}

impl Attach {
    pub(super) fn check(&self) -> Result<(), Corruption> {
        check(self.segments.iter().all(segment_is_bounded), "Attach", "segments")
    }
}

/// The end, as the client wants it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bye {
    /// Ordinal of the last record: what comes up to it is still applied.
    pub after: u64,
}

/// What the server can do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CapsSnapshot {
    /// Counts native initialisations; never 0, which is the placeholder's.
    pub generation: u64,
    /// The blob, as [`runahead_wire::caps`] describes it.
    pub bytes: Bytes,
}

impl CapsSnapshot {
    pub(super) const fn check(&self) -> Result<(), Corruption> {
        match check(self.generation != 0, "Caps", "generation") {
            Ok(()) => check(self.bytes.0.len() <= CAPS_BYTES, "Caps", "bytes"),
            refused => refused,
        }
    }
}

/// Kinds of faults that end a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum FaultCode {
    /// The client sent what no record, control frame or ring may hold.
    ProtocolCorruption,
    /// The client asked for more than one session may have.
    OverBudget,
    /// The GPU or its driver is lost.
    DeviceLost,
    /// The server is at fault.
    Internal,
}

/// Why the session ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionFault {
    /// Its kind.
    pub code: FaultCode,
    /// Its name and place, for people.
    pub text: String,
}

impl SessionFault {
    /// A fault; `text` is cut to its bound.
    #[must_use]
    pub fn new(code: FaultCode, text: String) -> Self {
        Self { code, text: super::cut(text, FAULT_BYTES) }
    }

    pub(super) const fn check(&self) -> Result<(), Corruption> {
        check(self.text.len() <= FAULT_BYTES, "Fault", "text")
    }
}

/// How grave a log line is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum LogLevel {
    /// Something failed.
    Error,
    /// Something is odd.
    Warning,
    /// Something happened.
    Info,
    /// Details.
    Debug,
}

/// A line of the server's log. Lines may be dropped; never silently.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogLine {
    /// How grave it is.
    pub level: LogLevel,
    /// The line, without its end.
    pub text: String,
    /// Lines dropped since the one before.
    pub dropped: u64,
}

impl LogLine {
    /// A line; `text` is cut to its bound.
    #[must_use]
    pub fn new(level: LogLevel, text: String, dropped: u64) -> Self {
        Self { level, text: super::cut(text, LOG_BYTES), dropped }
    }

    pub(super) const fn check(&self) -> Result<(), Corruption> {
        check(self.text.len() <= LOG_BYTES, "Log", "text")
    }
}
