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
//! - **Caps.** The first real ones decide whether a client runs ahead. Later ones are taken from the server's page when
//!   an event tells of them, and only take away.
//! - **Diagnostics.** Lines of the server's log reach the client's [`Sink`] whenever the client reads its control socket:
//!   with a request, at its end, and when [`Client::attend`] is called. Counters of both roles are the client's to ask
//!   for at any time, the server's through a page in shared memory ([`Client::statistics`]).
//! - **`fork`.** The parent's sessions go on; a child has none. Its copies of a client are lost ones, and their drop tells
//!   the server nothing. (With [`Topology::Direct`] there is no session but the native API's own, and its rules hold.)
//! - **`exit`.** It waits for no thread. One that applies is kept from the native API before that goes down, and its
//!   client is told.
//! - **`dlclose`.** The library that this code is in stays loaded once a session was opened.

mod client;
pub(crate) mod dial;
mod exit;
mod fork;
mod live;
mod log;
pub(crate) mod memory;
mod native;
pub(crate) mod server;
mod shared;
mod statistics;

use std::{
    fmt, io,
    os::fd::{AsFd, OwnedFd},
    sync::{Arc, OnceLock},
    time::Instant,
};

use runahead_core::Fault;
use runahead_rings::{Bell, Doorbell};
use runahead_wire::event::Events;

pub use client::{Choice, Client, Config, Diagnostics, OpenError, Programs, RequestError, Wanted};
pub use live::LiveError;
pub use log::{Log, Sink};
pub use native::{Busy, Native};
pub use server::{ServeError, serve, serve_logging};
pub use shared::SharedClient;
pub use statistics::{Counting, Statistics};

use crate::doorbell::{EventFdDoorbell, FutexDoorbell};

/// What hears the events of a client's session.
pub trait Hears: Events<Error = Fault> + fmt::Debug + 'static {}

impl<E: Events<Error = Fault> + fmt::Debug + 'static> Hears for E {}

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

/// The doorbell of a session, as one side has it. Copies sleep and ring by the same.
#[derive(Clone, Debug)]
pub struct Door {
    way: Way,
    /// Nanoseconds that one sleep lasts at most; 0 for no limit. A sleep may end at any time without a cause, so
    /// whoever needs to look at something else in between sets this.
    limit: u64,
}

#[derive(Clone, Debug)]
enum Way {
    Futex(FutexDoorbell),
    EventFd(Arc<EventFdDoorbell>),
}

impl Door {
    /// By the bell word itself.
    const fn new() -> Self {
        Self { way: Way::Futex(FutexDoorbell), limit: 0 }
    }

    /// By two eventfds: what this side sleeps on and what it rings.
    fn by_eventfds(ours: OwnedFd, theirs: OwnedFd) -> Self {
        Self { way: Way::EventFd(Arc::new(EventFdDoorbell::new(ours, theirs))), limit: 0 }
    }

    /// As the server's terms and its descriptors behind those of the segments say.
    fn of_client(descriptors: &[OwnedFd]) -> io::Result<Self> {
        let own = |one: &OwnedFd| EventFdDoorbell::adopt(one.as_fd().try_clone_to_owned()?);
        match descriptors {
            [ours, theirs, ..] => Ok(Self::by_eventfds(own(ours)?, own(theirs)?)),
            _ => Ok(Self::new()),
        }
    }

    /// Frees a thread of this side whose ring the peer made block. Nothing else of a peer that is gone can hold one up.
    fn peer_is_gone(&self) {
        match &self.way {
            Way::Futex(_) => {}
            Way::EventFd(door) => door.peer_is_gone(),
        }
    }
}

impl Doorbell for Door {
    fn sleep(&self, bell: Bell<'_>, seen: u32) {
        match (&self.way, self.limit) {
            (Way::Futex(door), 0) => door.sleep(bell, seen),
            (Way::Futex(door), limit) => door.sleep_for(bell, seen, limit),
            (Way::EventFd(door), limit) => door.sleep_for(bell, seen, (limit != 0).then_some(limit)),
        }
    }

    fn wake(&self, bell: Bell<'_>) {
        match &self.way {
            Way::Futex(door) => door.wake(bell),
            Way::EventFd(door) => door.wake(bell),
        }
    }

    fn interrupt(&self, bell: Bell<'_>) {
        match &self.way {
            Way::Futex(door) => door.interrupt(bell),
            Way::EventFd(door) => door.interrupt(bell),
        }
    }
}

/// Nanoseconds since some instant.
fn clock() -> u64 {
    static START: OnceLock<Instant> = OnceLock::new();
    u64::try_from(START.get_or_init(Instant::now).elapsed().as_nanos()).unwrap_or(u64::MAX)
}

/// Looks before a sleep, where the peer answers within microseconds. None on a single processor: the peer would
/// wait for ours.
fn spins() -> u32 {
    let alone = std::thread::available_parallelism().is_ok_and(|processors| processors.get() == 1);
    if alone { 0 } else { 2000 }
}
