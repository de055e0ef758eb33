//! Sessions: a client and a server, in one call, two threads or two processes.
//!
//! | topology | the client holds | applied by |
//! |---|---|---|
//! | [`Topology::Direct`] | the applier itself | the caller, at each call |
//! | [`Topology::Inproc`] | a recorder | a thread of this process |
//! | [`Topology::Spawn`] | a recorder | a process of its own |
//!
//! # Contract
//!
//! - Every topology has the same [`Client`], and the same records reach the same backend calls. The two with rings
//!   differ in where [`serve`] runs, and in nothing else: segments are mapped by both roles, also in one process.
//! - **Loss.** The death of the peer comes from the kernel and ends every wait ([`peer`](crate::peer)); an orderly end
//!   lets the other see all that was published before. A client learns why from [`Client::reason`].
//! - **Control.** A request waits for its answer; it names the record that it follows and is carried out exactly
//!   behind that one.
//! - **Threads.** One thread at a time uses a [`Client`]; a [`SharedClient`] is for any number of threads.
//! - **Caps.** The first real ones decide whether a client runs ahead. Later ones are fetched when an event tells of
//!   them, and only take away.

mod client;
mod memory;
mod native;
mod server;
mod shared;

use runahead_rings::{Bell, Doorbell};

pub use client::{Client, Config, OpenError, RequestError, Wanted};
pub use native::{Busy, Native};
pub use server::{ServeError, serve};
pub use shared::SharedClient;

use crate::doorbell::FutexDoorbell;

/// Where records are applied.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Topology {
    /// By the caller: no ring and no codec. What the others are measured against.
    Direct,
    /// By a thread of this process.
    Inproc,
    /// By a process that this one spawns.
    #[default]
    Spawn,
}

impl Topology {
    /// Every topology.
    pub const ALL: &[Self] = &[Self::Direct, Self::Inproc, Self::Spawn];

    /// The name, as variables and command lines have it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Direct => "direct",
            Self::Inproc => "inproc",
            Self::Spawn => "spawn",
        }
    }
}

/// The doorbell of a session.
#[derive(Clone, Copy, Debug)]
pub struct Door {
    futex: FutexDoorbell,
    /// Nanoseconds that one sleep lasts at most; 0 for no limit. A sleep may end at any time without a cause, so
    /// whoever needs to look at something else in between sets this.
    limit: u64,
}

impl Door {
    const fn new() -> Self {
        Self { futex: FutexDoorbell, limit: 0 }
    }
}

impl Doorbell for Door {
    fn sleep(&self, bell: Bell<'_>, seen: u32) {
        if self.limit == 0 {
            self.futex.sleep(bell, seen);
        } else {
            self.futex.sleep_for(bell, seen, self.limit);
        }
    }

    fn wake(&self, bell: Bell<'_>) {
        self.futex.wake(bell);
    }

    fn interrupt(&self, bell: Bell<'_>) {
        self.futex.interrupt(bell);
    }
}

/// Looks before a sleep, where the peer answers within microseconds. None on a single processor: the peer would
/// wait for ours.
fn spins() -> u32 {
    let alone = std::thread::available_parallelism().is_ok_and(|processors| processors.get() == 1);
    if alone { 0 } else { 2000 }
}
