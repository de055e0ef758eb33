//! Knowing from the kernel that a peer is gone.
//!
//! Two sources, and each sees what the other cannot. The control **socket** hangs up when the last copy of the
//! peer's end is closed: that also tells an orderly close, but a child that the peer forked can hold a copy.
//! The **pidfd** becomes readable when the process ends, whoever holds what, but there is none for a peer on
//! another machine.
//!
//! # Contract
//!
//! - A peer is dead when one of its sources says so and never because time passed. A stopped (`SIGSTOP`) or
//!   busy peer is slow, not dead.
//! - Nothing is read from the socket: what the peer said last is still there for whoever receives.
//! - [`look`] is the primitive, for a thread that polls anyway. [`Watch`] is a thread around it, which sleeps
//!   without a timeout. Its `on_death` is where a session calls
//!   [`Waiter::announce_death`](runahead_rings::Waiter::announce_death).
//! - Nobody has to join the thread: stopping a watch makes sure that `on_death` does not begin afterwards, and
//!   returns at once. So a watch can be stopped from `on_death` itself, from an exit handler, and in a child
//!   after `fork`, where its thread is not; the parent's watch goes on.

use std::{
    fmt, io,
    os::fd::{AsFd, BorrowedFd, OwnedFd},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use rustix::{
    event::{EventfdFlags, PollFd, PollFlags, eventfd},
    io::{read, write},
    net::sockopt::socket_peercred,
    process::{PidfdFlags, pidfd_open},
};

use crate::{poll, signals::Blocked};

/// How a peer went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Death {
    /// Its end of the control socket is closed.
    HungUp,
    /// Its process ended.
    Exited,
}

impl fmt::Display for Death {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::HungUp => "the peer closed the control socket",
            Self::Exited => "the peer's process ended",
        })
    }
}

/// Where to learn of a death. With neither, none is learned of.
#[derive(Debug, Default)]
pub struct Sources<F> {
    /// The control socket.
    pub socket: Option<F>,
    /// The peer's pidfd.
    pub process: Option<F>,
}

/// What a look saw first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Seen {
    /// The peer is gone.
    Dead(Death),
    /// `stop` became readable.
    Stopped,
    /// The deadline passed.
    Nothing,
}

/// Waits until the peer is gone, `stop` becomes readable, or `deadline` passes.
///
/// # Errors
/// The kernel's: out of memory.
pub fn look<F: AsFd>(
    sources: &Sources<F>,
    stop: Option<BorrowedFd<'_>>,
    deadline: Option<Instant>,
) -> io::Result<Seen> {
    // Readable is no news here: RDHUP is, and a hang-up is reported unasked.
    let socket = sources.socket.as_ref().map(|socket| (PollFd::new(socket, PollFlags::RDHUP), Death::HungUp));
    let process =
        sources.process.as_ref().map(|process| (PollFd::new(process, PollFlags::IN), Death::Exited));
    let (mut descriptors, deaths): (Vec<_>, Vec<_>) = process.into_iter().chain(socket).unzip();
    descriptors.extend(stop.as_ref().map(|stop| PollFd::new(stop, PollFlags::IN)));
    if !poll::wait(&mut descriptors, deadline)? {
        return Ok(Seen::Nothing);
    }
    let mut seen = descriptors.iter().map(|one| !one.revents().is_empty());
    let death = deaths.into_iter().find(|_| seen.next() == Some(true));
    Ok(death.map_or(Seen::Stopped, Seen::Dead))
}

/// The pidfd of the process at `socket`'s other end: who connected or listens, or who made both ends.
///
/// # Errors
/// The kernel's: the process ended, or is not in sight of this one (another PID namespace).
pub fn process_of(socket: impl AsFd) -> io::Result<OwnedFd> {
    let process = pidfd_open(socket_peercred(&socket)?.pid, PidfdFlags::empty())?;
    // Between the two calls it could have ended and its number be given away. Then the socket tells.
    let sources = Sources { socket: Some(socket.as_fd()), process: None };
    match look(&sources, None, Some(Instant::now()))? {
        Seen::Dead(_) => Err(io::ErrorKind::NotConnected.into()),
        Seen::Stopped | Seen::Nothing => Ok(process),
    }
}

/// A thread that waits for a peer's death. Dropping it stops it.
#[must_use = "a dropped watch watches no more"]
#[derive(Debug)]
pub struct Watch {
    stop: Arc<OwnedFd>,
    /// Set once, by whoever comes first: the thread that found the peer dead, or the owner who stops it.
    over: Arc<AtomicBool>,
}

impl Watch {
    /// Calls `on_death` on a thread of its own once the peer is gone.
    ///
    /// # Errors
    /// The kernel's: no thread, no descriptor, no memory.
    pub fn spawn(
        sources: Sources<OwnedFd>,
        on_death: impl FnOnce(Death) + Send + 'static,
    ) -> io::Result<Self> {
        let stop = Arc::new(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?);
        let over = Arc::new(AtomicBool::new(false));
        let watch = Self { stop: Arc::clone(&stop), over: Arc::clone(&over) };
        let _blocked = Blocked::new()?;
        thread::Builder::new().name("runahead-peer".into()).stack_size(128 << 10).spawn(move || {
            let death = loop {
                match look(&sources, Some(stop.as_fd()), None) {
                    Ok(Seen::Dead(death)) => break death,
                    Ok(Seen::Stopped) => {
                        let _ = read(&*stop, &mut [0_u8; 8]);
                        // Else a forked child stopped its copy, through the descriptor that it shares with us.
                        if over.load(Ordering::Acquire) {
                            return;
                        }
                    }
                    Ok(Seen::Nothing) => {}
                    // Out of memory: the one error there is, and it may pass.
                    Err(_) => thread::sleep(Duration::from_millis(10)),
                }
            };
            // What it holds of the peer's is of no use to the callback, which may take long.
            drop(sources);
            if !over.swap(true, Ordering::AcqRel) {
                on_death(death);
            }
        })?;
        Ok(watch)
    }

    /// Stops it without waiting for its thread. `true`: `on_death` is not called, now or later. `false`: it has
    /// begun, and may still run.
    pub fn stop(&self) -> bool {
        let first = !self.over.swap(true, Ordering::AcqRel);
        // An eventfd takes this write unless it was stopped 2^64 times.
        let _ = write(&*self.stop, &1_u64.to_ne_bytes());
        first
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.stop();
    }
}
