//! The messages of the control plane.
//!
//! # Numbers are append-only
//!
//! A message is encoded with postcard: an enum as the position of its variant, a struct as its members in order.
//! So positions are wire. A variant or member is added at the end of its enum or struct; one that is no longer used
//! keeps its place; either kind of change raises [`PROTOCOL`], which enters the wire fingerprint, so that peers
//! of two revisions never read each other's messages. Three things never change, so that such peers can
//! still tell each other why they part: the frame's header, the number of [`ClientMessage::Hello`] with its first
//! member, and [`ServerMessage::Refuse`] with its members.
//!
//! # Bounds
//!
//! Every text and byte run has a bound, checked before sending and after reading. Texts for people are cut to it
//! ([`cut`]); one that names something is refused instead.

mod config;
mod request;
mod session;

use serde::{Serialize, de::DeserializeOwned};

pub(crate) use config::CONFIGS_BYTES;
pub use config::{CONFIGS, Configs};
pub use request::{
    Api, ContextAnswer, ContextAttributes, CreateContext, DestroyContext, OperationError, OperationFailure,
    Priority, RequestNumbers, ResetStrategy, SurfaceAnswer, SurfaceOp, SurfaceRequest, SurfaceState,
};
pub use session::{
    Attach, Bye, CAPS_BYTES, CapsSnapshot, Doorbell, FaultCode, Hello, LogLevel, LogLine, SEGMENT_BYTES,
    SessionFault, Sizes, Terms, Welcome,
};

use super::{Corruption, check, refuse::Refuse};

/// Revision of the control plane's messages.
pub const PROTOCOL: u32 = 2;

/// What two peers must agree on before they exchange a record: both catalogues, the layouts in blobs, and
/// [`PROTOCOL`].
pub const FINGERPRINT: u64 = runahead_wire::fingerprint::session(PROTOCOL);

/// The build that this code is of: the version and a digest of the sources.
pub const BUILD: &str = env!("RUNAHEAD_BUILD_STAMP");

/// What a client sends.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum ClientMessage {
    /// First, and once.
    Hello(Hello),
    /// What the client writes, after `Welcome`; owns three descriptors.
    Attach(Attach),
    /// Something is to happen to a surface.
    Surface(SurfaceRequest),
    /// A context is to be created.
    CreateContext(CreateContext),
    /// A context is to be destroyed.
    DestroyContext(DestroyContext),
    /// The session is over, and orderly so.
    Bye(Bye),
}

/// What a server sends.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum ServerMessage {
    /// The terms, with what the server writes; owns four descriptors, six with eventfd doorbells.
    Welcome(Welcome),
    /// No session, and why.
    Refuse(Refuse),
    /// What the server can do; a later snapshot replaces an earlier one.
    Caps(CapsSnapshot),
    /// Answers `Surface`.
    Surface(SurfaceAnswer),
    /// Answers `CreateContext` and `DestroyContext`.
    Context(ContextAnswer),
    /// The session has ended by a fault; nothing follows.
    Fault(SessionFault),
    /// A line for the log.
    Log(LogLine),
    /// What surfaces can be like.
    Configs(Configs),
}

/// A message of either direction.
pub trait Message: Serialize + DeserializeOwned {
    /// Names of the messages, by number.
    const NAMES: &'static [&'static str];

    /// What names this message in errors; one of [`Message::NAMES`].
    fn name(&self) -> &'static str;

    /// Whether every member holds what it may hold.
    ///
    /// # Errors
    /// The first member that does not.
    fn check(&self) -> Result<(), Corruption>;

    /// How many descriptors travel with it.
    fn descriptors(&self) -> usize;

    /// The message as a frame's payload.
    ///
    /// # Errors
    /// A member holds what no receiver would take.
    fn encode(&self) -> Result<Vec<u8>, Corruption> {
        self.check()?;
        postcard::to_allocvec(self).map_err(|_| Corruption { owner: self.name(), field: "encoding" })
    }

    /// Reads a message from the whole of a frame's payload.
    ///
    /// # Errors
    /// It is no message, more follows it, or a member holds what it may not.
    fn decode(payload: &[u8]) -> Result<Self, Corruption> {
        decode(payload)
    }
}

fn decode<M: Message>(payload: &[u8]) -> Result<M, Corruption> {
    let number = postcard::take_from_bytes::<u32>(payload).ok().map(|(number, _)| number as usize);
    let name = number.and_then(|number| M::NAMES.get(number));
    let owner = *name.ok_or(Corruption { owner: "Message", field: "number" })?;
    let (message, rest) =
        postcard::take_from_bytes::<M>(payload).map_err(|_| Corruption { owner, field: "encoding" })?;
    check(rest.is_empty(), owner, "trailing")?;
    message.check()?;
    Ok(message)
}

impl Message for ClientMessage {
    const NAMES: &'static [&'static str] =
        &["Hello", "Attach", "Surface", "CreateContext", "DestroyContext", "Bye"];

    fn name(&self) -> &'static str {
        match self {
            Self::Hello(_) => "Hello",
            Self::Attach(_) => "Attach",
            Self::Surface(_) => "Surface",
            Self::CreateContext(_) => "CreateContext",
            Self::DestroyContext(_) => "DestroyContext",
            Self::Bye(_) => "Bye",
        }
    }

    fn check(&self) -> Result<(), Corruption> {
        match self {
            Self::Hello(hello) => hello.check(),
            Self::Attach(attach) => attach.check(),
            Self::Surface(request) => request.check(),
            Self::CreateContext(request) => request.check(),
            Self::DestroyContext(request) => request.check(),
            Self::Bye(_) => Ok(()),
        }
    }

    fn descriptors(&self) -> usize {
        match self {
            Self::Attach(attach) => attach.segments.len(),
            _ => 0,
        }
    }

    /// Reads a message. A `Hello` of another [`PROTOCOL`] is read up to its protocol number, which is enough to
    /// refuse it by name; its other members are empty.
    fn decode(payload: &[u8]) -> Result<Self, Corruption> {
        if let Ok(((0, protocol), _)) = postcard::take_from_bytes::<(u32, u32)>(payload)
            && protocol != PROTOCOL
        {
            return Ok(Self::Hello(Hello { protocol, ..Hello::default() }));
        }
        decode(payload)
    }
}

impl Message for ServerMessage {
    const NAMES: &'static [&'static str] =
        &["Welcome", "Refuse", "Caps", "Surface", "Context", "Fault", "Log", "Configs"];

    fn name(&self) -> &'static str {
        match self {
            Self::Welcome(_) => "Welcome",
            Self::Refuse(_) => "Refuse",
            Self::Caps(_) => "Caps",
            Self::Surface(_) => "Surface",
            Self::Context(_) => "Context",
            Self::Fault(_) => "Fault",
            Self::Log(_) => "Log",
            Self::Configs(_) => "Configs",
        }
    }

    fn check(&self) -> Result<(), Corruption> {
        match self {
            Self::Welcome(welcome) => welcome.check(),
            Self::Refuse(refuse) => refuse.check(),
            Self::Caps(caps) => caps.check(),
            Self::Surface(answer) => answer.check(),
            Self::Context(answer) => answer.check(),
            Self::Fault(fault) => fault.check(),
            Self::Log(line) => line.check(),
            Self::Configs(configs) => configs.check(),
        }
    }

    fn descriptors(&self) -> usize {
        match self {
            Self::Welcome(welcome) => welcome.descriptors(),
            _ => 0,
        }
    }
}

/// `text`, cut to at most `limit` bytes between two characters.
#[must_use]
pub fn cut(mut text: String, limit: usize) -> String {
    text.truncate(text.floor_char_boundary(limit));
    text
}
