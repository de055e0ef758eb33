//! `Refuse`: why there is no session.
//!
//! This message never changes (see [`message`](super::message)): whatever two peers disagree on, the one that is
//! turned away can read why. Its `Display` is one sentence for the user that says what to do.

use core::fmt;

use serde::{Deserialize, Serialize};

use super::{Corruption, check, message::cut};

/// Bytes of each of the two values at most.
const VALUE_BYTES: usize = 256;

/// Bytes of the detail at most.
const DETAIL_BYTES: usize = 1024;

/// What the two disagree on. A number, not an enum: a peer may know fewer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct RefuseCode(pub u32);

impl RefuseCode {
    /// The revision of the messages.
    pub const PROTOCOL: Self = Self(1);
    /// The wire fingerprint.
    pub const FINGERPRINT: Self = Self(2);
    /// The build stamp, where one build is required.
    pub const BUILD: Self = Self(3);
    /// The token.
    pub const AUTHENTICATION: Self = Self(4);
    /// A term of the session; `detail` names it.
    pub const TERMS: Self = Self(5);
    /// The server serves as many sessions as it can.
    pub const BUSY: Self = Self(6);
    /// The first frame is no `Hello`.
    pub const MALFORMED: Self = Self(7);
    /// The server cannot serve at all; `detail` says why.
    pub const UNAVAILABLE: Self = Self(8);
}

/// Why there is no session, with both values.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refuse {
    /// What they disagree on.
    pub code: RefuseCode,
    /// The server's value, or what it would take.
    pub expected: String,
    /// The client's value, or what came.
    pub actual: String,
    /// More words, where the code needs them.
    pub detail: String,
}

impl Refuse {
    /// A refusal; the texts are cut to their bounds.
    #[must_use]
    pub fn new(
        code: RefuseCode,
        expected: impl fmt::Display,
        actual: impl fmt::Display,
        detail: &str,
    ) -> Self {
        Self {
            code,
            expected: cut(expected.to_string(), VALUE_BYTES),
            actual: cut(actual.to_string(), VALUE_BYTES),
            detail: cut(detail.to_owned(), DETAIL_BYTES),
        }
    }

    pub(super) fn check(&self) -> Result<(), Corruption> {
        check(self.expected.len() <= VALUE_BYTES, "Refuse", "expected")?;
        check(self.actual.len() <= VALUE_BYTES, "Refuse", "actual")?;
        check(self.detail.len() <= DETAIL_BYTES, "Refuse", "detail")
    }
}

impl fmt::Display for Refuse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const INSTALL: &str = "install the Runahead client library and runahead-server of one version";
        // A peer's text: nothing in it may break the line or steer a terminal.
        let clean = |text: &str| text.replace(|letter: char| letter.is_control(), "?");
        let (expected, actual, detail) = (clean(&self.expected), clean(&self.actual), clean(&self.detail));
        match self.code {
            RefuseCode::PROTOCOL => write!(
                f,
                "the server speaks revision {expected} of the control protocol and the client revision {actual}; \
                 {INSTALL}"
            ),
            RefuseCode::FINGERPRINT => write!(
                f,
                "server and client lay out their commands differently (wire fingerprint {expected} in the server, \
                 {actual} in the client); {INSTALL}"
            ),
            RefuseCode::BUILD => write!(
                f,
                "server and client were built from different sources (build {expected} in the server, {actual} in \
                 the client); {INSTALL}"
            ),
            RefuseCode::AUTHENTICATION => write!(
                f,
                "the server asks for {expected} and the client gave {actual}; give the client the token that the \
                 server was started with"
            ),
            RefuseCode::TERMS => write!(
                f,
                "client and server do not agree on the {detail} (possible: {expected}; stated: {actual}); change \
                 that setting"
            ),
            RefuseCode::BUSY => write!(
                f,
                "the server already serves {actual} of {expected} sessions; end one of them or start another server"
            ),
            RefuseCode::MALFORMED => write!(
                f,
                "the server did not understand the client's first message (expected {expected}, got {actual}); \
                 check that a Runahead client of the server's version is calling"
            ),
            RefuseCode::UNAVAILABLE => {
                write!(f, "the server cannot serve this session: {detail}")
            }
            RefuseCode(code) => write!(
                f,
                "the server refused the session for reason {code}, which this client does not know (expected \
                 {expected}, got {actual}: {detail}); {INSTALL}"
            ),
        }
    }
}

impl std::error::Error for Refuse {}
