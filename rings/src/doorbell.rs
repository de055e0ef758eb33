//! Sleeping until the peer has news, without losing a wake and without a system call while nobody sleeps.
//!
//! # The words
//!
//! - The *park word* lies in the sleeper's page: how many of its threads sleep, and an epoch that counts
//!   announcements.
//! - The *bell* lies in the ringer's page: it counts rings. The sleeper sleeps "while the bell reads what I
//!   saw"; its mapping of the bell is read-only.
//!
//! # Why no wake is lost
//!
//! The sleeper reads the bell (1), announces itself in the park word with release order (2), fences with
//! sequential consistency (3), tests its condition again (4), and only then sleeps while the bell reads what it
//! read at (1). The publisher publishes (a), fences with sequential consistency (b), reads the park word (c),
//! and if somebody is parked moves the bell and wakes (d).
//!
//! Of the two fences one comes first. If it is the publisher's, the sleeper's test (4) sees what was published
//! at (a), and it does not sleep. If it is the sleeper's, the publisher's look (c) sees the announcement (2), and it rings.
//! The ring cannot fall before the sleep: the bell moves at (d), after the announcement was seen, which comes
//! after the bell was read at (1), so the kernel's comparison finds the bell moved and does not sleep.
//! Release and acquire alone do not suffice, on x86 either: each side stores one word, then loads another.
//!
//! # Looking without the fence
//!
//! The publisher's fence (b) waits until its stores have drained. While it goes on publishing it may leave it out
//! ([`Ringer::glance`]): a sleeper that it misses then has announced itself by the time it looks with the fence,
//! which it does every [`FENCE_EVERY`](crate::record::FENCE_EVERY) bytes and before it rests
//! ([`Ringer::ring`]). Measured with both sides awake: 264-byte records 42 instead of 34 M/s, 4 KiB records 3.1
//! instead of 2.3.
//!
//! # One ring an announcement
//!
//! The publisher cannot clear a park word that it may not write. It remembers the epoch that it rang last
//! instead: the same epoch means that nobody announced anew since, and whoever had is awake or waking.

use crate::{
    mutant::{Mutant, on},
    page::{BellLine, ParkWord},
    sync::{AtomicU32, AtomicU64, Ordering, acquire32, fence, spin_loop},
};

/// A word to sleep on, as a [`Doorbell`] or the [host of a lock](crate::lock::Host) sees it.
#[derive(Clone, Copy, Debug)]
pub struct Bell<'a>(&'a AtomicU32);

impl<'a> Bell<'a> {
    /// A word that a lock of this process sleeps on.
    pub(crate) const fn of(word: &'a AtomicU32) -> Self {
        Self(word)
    }
}

impl Bell<'_> {
    /// The word now.
    #[must_use]
    pub fn value(self) -> u32 {
        self.0.load(Ordering::Relaxed)
    }

    /// The word itself, for the kernel to compare. It may lie in memory that is mapped read-only.
    #[cfg(not(runahead_loom))]
    #[must_use]
    pub const fn word(&self) -> &core::sync::atomic::AtomicU32 {
        self.0
    }
}

/// How threads sleep and are woken; the platform's part of the protocol.
pub trait Doorbell {
    /// Blocks while `bell` reads `seen`, until [`Doorbell::wake`] of the peer or [`Doorbell::interrupt`] of
    /// this side. May return at any time without a cause.
    ///
    /// The comparison and falling asleep are one step with respect to a wake. `bell` may lie in memory that is
    /// mapped read-only.
    fn sleep(&self, bell: Bell<'_>, seen: u32);

    /// Wakes every thread of the peer that sleeps on `bell`, a word of this side's page.
    fn wake(&self, bell: Bell<'_>);

    /// Wakes every thread of this side that sleeps on `bell`, a word of the peer's page that does not move.
    fn interrupt(&self, bell: Bell<'_>);
}

const SLEEPER: u64 = 1;
const EPOCH: u64 = 1 << 32;

const fn sleepers(park: u64) -> u32 {
    park as u32
}

const fn epoch(park: u64) -> u32 {
    (park >> 32) as u32
}

/// Why a wait ended without what it waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaitError<E> {
    /// The peer closed its end, and nothing that it published before satisfies the wait.
    Closed,
    /// The peer died, and nothing that it published before satisfies the wait.
    Dead,
    /// The condition itself failed.
    Failed(E),
}

impl<E: core::fmt::Display> core::fmt::Display for WaitError<E> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::Closed => f.write_str("the peer closed the session"),
            Self::Dead => f.write_str("the peer died"),
            Self::Failed(error) => error.fmt(f),
        }
    }
}

impl<E: core::error::Error> core::error::Error for WaitError<E> {}

/// Whether the peer lives, as this process knows it from the kernel. Private memory; one for each session.
#[derive(Debug)]
pub struct Liveness(AtomicU32);

impl Liveness {
    /// A living peer.
    #[must_use]
    #[allow(clippy::new_without_default, reason = "a state, not a default")]
    pub fn new() -> Self {
        Self(AtomicU32::new(0))
    }

    /// Whether the peer is known to be dead.
    #[must_use]
    pub fn is_dead(&self) -> bool {
        self.0.load(Ordering::Acquire) != 0
    }
}

/// Waits for the peer. Any number of threads of a role may wait at once, each with a copy.
#[derive(Clone, Copy, Debug)]
pub struct Waiter<'a> {
    park: &'a AtomicU64,
    peer: &'a BellLine,
    alive: &'a Liveness,
}

impl<'a> Waiter<'a> {
    pub(crate) const fn new(own: &'a ParkWord, peer: &'a BellLine, alive: &'a Liveness) -> Self {
        Self { park: &own.0, peer, alive }
    }

    /// Waits until `ready` gives something.
    ///
    /// Tests, spins `spins` times (each a test and one spin hint; no clock is read, the platform calibrates
    /// the number), then parks. `ready` must drain whatever the peer needs drained in order to go on, and must
    /// not block.
    ///
    /// # Errors
    /// [`WaitError`]. What the peer published before it closed or died is seen first.
    #[inline]
    pub fn wait<T, E>(
        &self,
        door: &impl Doorbell,
        spins: u32,
        mut ready: impl FnMut() -> Result<Option<T>, E>,
    ) -> Result<T, WaitError<E>> {
        let mut spin = 0;
        loop {
            if let Some(ended) = self.test(&mut ready) {
                return ended;
            }
            if spin == spins {
                return self.park(door, &mut ready);
            }
            spin += 1;
            spin_loop();
        }
    }

    /// Looks once. What the peer published before it ended is seen before its end is.
    #[inline(always)]
    fn test<T, E>(
        &self,
        ready: &mut impl FnMut() -> Result<Option<T>, E>,
    ) -> Option<Result<T, WaitError<E>>> {
        let dead = self.alive.is_dead() && !on(Mutant::DeathNotChecked);
        let closed = acquire32(&self.peer.state) == BellLine::CLOSED;
        match ready() {
            Ok(Some(value)) => Some(Ok(value)),
            Err(error) => Some(Err(WaitError::Failed(error))),
            Ok(None) if dead => Some(Err(WaitError::Dead)),
            Ok(None) if closed => Some(Err(WaitError::Closed)),
            Ok(None) => None,
        }
    }

    #[cold]
    #[inline(never)]
    fn park<T, E>(
        &self,
        door: &impl Doorbell,
        ready: &mut impl FnMut() -> Result<Option<T>, E>,
    ) -> Result<T, WaitError<E>> {
        loop {
            let mut seen = acquire32(&self.peer.bell);
            if !on(Mutant::ParkAfterRecheck) {
                self.park.fetch_add(EPOCH + SLEEPER, Ordering::Release);
            }
            if !on(Mutant::ParkWithoutFence) {
                // Pairs with the fence in `Ringer::ring`.
                fence(Ordering::SeqCst);
            }
            let mut ended = None;
            if !on(Mutant::ParkWithoutRecheck) {
                ended = self.test(ready);
            }
            if on(Mutant::ParkAfterRecheck) {
                self.park.fetch_add(EPOCH + SLEEPER, Ordering::Release);
            }
            if on(Mutant::BellSeenAfterPark) {
                seen = acquire32(&self.peer.bell);
            }
            if ended.is_none() {
                door.sleep(Bell(&self.peer.bell), seen);
            }
            self.park.fetch_sub(SLEEPER, Ordering::Release);
            if let Some(ended) = ended.or_else(|| self.test(ready)) {
                return ended;
            }
        }
    }

    /// Wakes every waiter of this side because the peer died. Called by whoever learns it from the kernel,
    /// once; returns when nobody of this side is parked any more.
    ///
    /// The peer's bell does not move any more and this side may not move it, so a waiter that had looked just
    /// before falls asleep just after a wake; hence the repetition, which ends because every waiter that looks again leaves.
    pub fn announce_death(&self, door: &impl Doorbell) {
        self.alive.0.store(1, Ordering::Release);
        // Pairs with the fence in `park`: a waiter that this loop does not see parked sees the flag.
        fence(Ordering::SeqCst);
        while sleepers(self.park.load(Ordering::Relaxed)) != 0 {
            door.interrupt(Bell(&self.peer.bell));
            if on(Mutant::DeathWakesOnce) {
                return;
            }
            spin_loop();
        }
    }

    /// Wakes the waiters of this side once, so that they look again at what their own process has changed. One that
    /// falls asleep just now may miss it: call this again, now and then, until the change was seen.
    pub fn nudge(&self, door: &impl Doorbell) {
        if sleepers(self.park.load(Ordering::Relaxed)) != 0 {
            door.interrupt(Bell(&self.peer.bell));
        }
    }
}

/// Rings the peer. Each publishing thread has its own.
#[derive(Debug)]
pub struct Ringer<'a> {
    own: &'a BellLine,
    peer: &'a AtomicU64,
    /// The epoch that was rung last.
    rung: u32,
}

impl<'a> Ringer<'a> {
    pub(crate) const fn new(own: &'a BellLine, peer: &'a ParkWord) -> Self {
        Self { own, peer: &peer.0, rung: 0 }
    }

    /// Wakes the peer if it sleeps. Called once after a batch was published; costs a fence and a load when
    /// nobody sleeps. Says whether it rang.
    #[inline]
    pub fn ring(&mut self, door: &impl Doorbell) -> bool {
        if !on(Mutant::RingWithoutFence) {
            // Pairs with the fence in `Waiter::park`.
            fence(Ordering::SeqCst);
        }
        let park = self.peer.load(Ordering::Relaxed);
        if sleepers(park) == 0 {
            return false;
        }
        self.wake(door, park)
    }

    /// Wakes the peer if it is *seen* to sleep, without the fence of [`Ringer::ring`]: a look that may miss a peer
    /// that falls asleep just now. For the batches in between, where the fence would wait for their stores to
    /// drain; [`Ringer::ring`] must follow before this thread stops publishing, whatever makes it stop (a wait, a
    /// flush, its own idleness). Says whether it rang.
    #[inline]
    pub fn glance(&mut self, door: &impl Doorbell) -> bool {
        let park = self.peer.load(Ordering::Relaxed);
        sleepers(park) != 0 && self.wake(door, park)
    }

    #[cold]
    #[inline(never)]
    fn wake(&mut self, door: &impl Doorbell, park: u64) -> bool {
        if epoch(park) == self.rung || on(Mutant::RungOnceForEver) && self.rung != 0 {
            return false;
        }
        // Acquires the announcement: the bell moves after the sleeper read it.
        fence(Ordering::Acquire);
        self.rung = epoch(park);
        self.own.bell.fetch_add(1, Ordering::Release);
        door.wake(Bell(&self.own.bell));
        true
    }

    /// Closes this end: the peer's waits end, after it has seen everything published before.
    pub fn close(&mut self, door: &impl Doorbell) {
        self.own.state.store(BellLine::CLOSED, Ordering::Release);
        if !on(Mutant::CloseWithoutRing) {
            self.ring(door);
        }
    }
}
