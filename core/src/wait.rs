//! Which records their sender waits for.

use runahead_wire::{
    catalogue::{Class, Wait},
    pipe::Op,
    record::FLAG_REPLY,
    values::CapsBits,
};

/// What a session knows that decides about waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WaitState {
    /// Whether the client runs ahead of the server. Without, it waits for every verb: the control arm.
    pub run_ahead: bool,
    /// Whether a span of transform feedback is open.
    pub capture_open: bool,
    /// Whether the server owns capture, so that nothing on the client depends on an open span.
    pub server_owns_capture: bool,
    /// Whether the server reads memory of the client's while it applies. No server of this catalogue does: the
    /// bits that said so are burned, and with them the flags of draws that made it.
    pub server_reads_client_memory: bool,
}

impl WaitState {
    /// The state of a session whose server has these caps.
    #[must_use]
    pub const fn new(caps: CapsBits, run_ahead: bool) -> Self {
        Self {
            run_ahead,
            capture_open: false,
            server_owns_capture: caps.contains(CapsBits::BACKEND_OWNS_XFB_CAPTURE),
            server_reads_client_memory: false,
        }
    }
}

/// What a record itself says about waits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Facts {
    /// Whether the caller wants the answer now. It does not travel: a server takes every answer for wanted now.
    pub asks_now: bool,
    /// Whether a draw names memory of the client's.
    pub client_arrays: bool,
}

/// Whether the sender of a record waits until it was applied (or, for an answer, until that came) before it goes
/// on. Both roles use it: the client to wait, the server to publish at once what a client may be waiting for.
///
/// A present is not barriered: its credit is taken before it is encoded.
#[inline(always)]
#[must_use]
pub const fn barriered(op: Op, flags: u16, facts: Facts, state: WaitState) -> bool {
    let info = op.info();
    match info.wait {
        Wait::Applied => true,
        Wait::Present => false,
        Wait::Reply => flags & FLAG_REPLY != 0 && facts.asks_now,
        Wait::None => {
            let verb = matches!(info.class, Class::Verb);
            let capture = state.capture_open && !state.server_owns_capture;
            let arrays = facts.client_arrays && state.server_reads_client_memory;
            verb && (!state.run_ahead || capture || arrays)
        }
    }
}
