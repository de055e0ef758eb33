//! The two doorbells: a futex on the bell word itself (the default), and an eventfd for waits that must be
//! combined with other descriptors.

use std::{
    io,
    os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd},
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use runahead_rings::{Bell, Doorbell};
use rustix::{
    event::{EventfdFlags, PollFd, PollFlags, eventfd, poll},
    fs::{OFlags, fcntl_setfl, readlink},
    io::{read, write},
    thread::futex,
    time::Timespec,
};

/// Sleeps on the bell word in shared memory. No descriptor, nothing to hand over.
///
/// The futex is not private: sleeper and ringer are two mappings, mostly in two processes. The sleeper's
/// mapping may be read-only (Linux allows waits on those).
#[derive(Clone, Copy, Debug, Default)]
pub struct FutexDoorbell;

impl FutexDoorbell {
    fn wake_all(bell: Bell<'_>) {
        // A bell always lies in a mapped page, so the only errors of FUTEX_WAKE cannot happen.
        let woken = futex::wake(bell.word(), futex::Flags::empty(), i32::MAX as u32);
        debug_assert!(woken.is_ok(), "FUTEX_WAKE: {woken:?}");
    }
}

impl FutexDoorbell {
    /// As [`Doorbell::sleep`], for so many nanoseconds at most.
    pub fn sleep_for(self, bell: Bell<'_>, seen: u32, nanoseconds: u64) {
        let limit = Duration::from_nanos(nanoseconds);
        if let Ok(limit) = Timespec::try_from(limit) {
            // Timed out, interrupted, or the bell had moved: the caller looks again in any case.
            let _ = futex::wait(bell.word(), futex::Flags::empty(), seen, Some(&limit));
        }
    }
}

impl Doorbell for FutexDoorbell {
    fn sleep(&self, bell: Bell<'_>, seen: u32) {
        // Interrupted by a signal, or the bell had moved: the caller looks again in any case.
        let _ = futex::wait(bell.word(), futex::Flags::empty(), seen, None);
    }

    fn wake(&self, bell: Bell<'_>) {
        Self::wake_all(bell);
    }

    fn interrupt(&self, bell: Bell<'_>) {
        Self::wake_all(bell);
    }
}

/// Sleeps in `poll` on an eventfd, one for each direction.
///
/// An eventfd is drained by whoever reads it, so one thread at a time sleeps in `poll`; others of the same
/// side queue behind it on a mutex of this process and look at the bell themselves when it leaves.
///
/// Both sides hold both descriptors, and what one does to their state the other has too: a hostile peer can make them
/// block, and fill them. A sleep that blocks so ends with the next [`Doorbell::interrupt`], and a ring with
/// [`EventFdDoorbell::peer_is_gone`].
#[derive(Debug)]
pub struct EventFdDoorbell {
    /// Counts the peer's rings.
    ours: OwnedFd,
    /// Counts our rings.
    theirs: OwnedFd,
    polling: Mutex<()>,
}

impl EventFdDoorbell {
    /// A new descriptor: one side's `ours`, the other side's `theirs`.
    ///
    /// # Errors
    /// The kernel's, mostly that the process has too many descriptors.
    pub fn descriptor() -> io::Result<OwnedFd> {
        Ok(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?)
    }

    /// A doorbell that sleeps on `ours` and rings `theirs`. Both are non-blocking eventfds.
    #[must_use]
    pub const fn new(ours: OwnedFd, theirs: OwnedFd) -> Self {
        Self { ours, theirs, polling: Mutex::new(()) }
    }

    /// Takes a descriptor from a peer.
    ///
    /// # Errors
    /// It is no eventfd. What else it could be (a pipe that nobody reads, a socket) would block this process or send it
    /// a signal.
    pub fn adopt(descriptor: OwnedFd) -> io::Result<OwnedFd> {
        let link = format!("/proc/self/fd/{}", descriptor.as_raw_fd());
        if readlink(link, Vec::new())?.to_bytes() != b"anon_inode:[eventfd]" {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "the doorbell is no eventfd"));
        }
        fcntl_setfl(&descriptor, OFlags::NONBLOCK)?;
        Ok(descriptor)
    }

    /// Frees a thread of this side whose ring blocks because the peer made it.
    pub fn peer_is_gone(&self) {
        if Self::has(self.theirs.as_fd(), PollFlags::IN) {
            let _ = read(self.theirs.as_fd(), &mut [0_u8; 8]);
        }
    }

    /// Whether a descriptor can be read or written now.
    fn has(descriptor: BorrowedFd<'_>, what: PollFlags) -> bool {
        let now = Timespec { tv_sec: 0, tv_nsec: 0 };
        let mut descriptors = [PollFd::from_borrowed_fd(descriptor, what)];
        poll(&mut descriptors, Some(&now)).is_ok() && descriptors[0].revents().contains(what)
    }

    /// As [`Doorbell::sleep`], for so many nanoseconds at most, or for good.
    pub fn sleep_for(&self, bell: Bell<'_>, seen: u32, limit: Option<u64>) {
        let _one_at_a_time = self.lock();
        if bell.value() != seen {
            return;
        }
        // A count left by an earlier ring wakes us once without a cause, which a doorbell may. Draining it
        // before `poll` instead could swallow a ring that falls between.
        let mut descriptors = [PollFd::new(&self.ours, PollFlags::IN)];
        let limit = limit.and_then(|limit| Timespec::try_from(Duration::from_nanos(limit)).ok());
        if poll(&mut descriptors, limit.as_ref()) == Ok(1) {
            let _ = read(self.ours.as_fd(), &mut [0_u8; 8]);
        }
    }

    fn lock(&self) -> MutexGuard<'_, ()> {
        // The mutex guards no data, so a poisoned one is as good.
        self.polling.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn count(descriptor: BorrowedFd<'_>) {
        // Full (2^64 - 2 unread rings) is the one error of a valid eventfd, and then it is readable already.
        let _ = write(descriptor, &1_u64.to_ne_bytes());
    }
}

impl Doorbell for EventFdDoorbell {
    fn sleep(&self, bell: Bell<'_>, seen: u32) {
        self.sleep_for(bell, seen, None);
    }

    fn wake(&self, _bell: Bell<'_>) {
        Self::count(self.theirs.as_fd());
    }

    fn interrupt(&self, _bell: Bell<'_>) {
        Self::count(self.ours.as_fd());
    }
}
