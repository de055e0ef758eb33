//! The control plane: everything between client and server that is no record.
//!
//! A session's control socket carries **frames** ([`frame`]), each with one **message** ([`message`]) and the
//! descriptors that the message owns ([`channel`]). [`handshake`] decides whether the two may talk at all.
//!
//! # Contract
//!
//! - **Order.** The client sends [`Hello`](message::Hello) first and nothing else until it has the answer:
//!   [`Welcome`](message::Welcome), with the descriptors of what the server writes, or
//!   [`Refuse`](refuse::Refuse), after which the server closes. The client then hands over what it writes with
//!   [`Attach`](message::Attach). Requests and answers follow in any number.
//! - **Two roads, one order.** Control frames and records travel apart. So a request names the record ordinal
//!   that it follows (`after`): the server applies that record first. An answer names the event position
//!   (`events`) that the client drains first.
//! - **Trust.** Both sides take the other for hostile. Decoding ends in a message whose every bound holds or in
//!   a [`Corruption`] that names the member; it never panics, and it holds memory in proportion to the bytes
//!   that arrived, not to a length that they state.
//! - **Errors.** A [`Corruption`] ends the session. A [`Refuse`](refuse::Refuse) is the answer to a handshake
//!   and prints as one sentence for the user. [`ChannelError::Gone`](channel::ChannelError::Gone) is the
//!   kernel's word that the peer is no more.
//! - **Threads.** A channel belongs to one thread at a time, on the server always the I/O thread.

mod bytes;
pub mod channel;
pub mod frame;
pub mod handshake;
pub mod message;
pub mod refuse;

use core::fmt;

use runahead_wire::CamelCase;

pub use bytes::{Bytes, Token};

/// A control frame or message holds what it may not hold. Prints like `ControlCorruption("Frame.Magic")`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Corruption {
    /// The message, or `Frame`.
    pub owner: &'static str,
    /// The member, in `snake_case`. `encoding`: it could not be read; `trailing`: bytes follow it;
    /// `descriptors`: not the number that it owns.
    pub field: &'static str,
}

impl fmt::Display for Corruption {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ControlCorruption(\"{}.{}\")", self.owner, CamelCase(self.field))
    }
}

impl std::error::Error for Corruption {}

/// Refuses a member unless `valid`.
const fn check(valid: bool, owner: &'static str, field: &'static str) -> Result<(), Corruption> {
    if valid { Ok(()) } else { Err(Corruption { owner, field }) }
}
