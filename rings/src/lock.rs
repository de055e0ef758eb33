//! A lock that costs its usual owner no locked instruction and no fence.
//!
//! # Biased, and not
//!
//! Most programs record on one thread, some on several, and which it will be is not known when a session begins.
//! The first thread that takes the lock gets the *bias*: it enters by a plain store and a plain load. Another
//! thread that comes *revokes* the bias: it makes the owner's fast path fail from now on, and waits until the
//! owner has left. From then on everybody uses an ordinary mutex (three states of one word, with a kernel that
//! compares and sleeps), until one thread has had it to itself for long and gets the bias anew.
//!
//! # Why nobody meets the owner inside
//!
//! The owner says that it is inside (1) and then looks whether it has the bias (2). The revoker takes the bias
//! (a) and then looks whether the owner is inside (b). If each step (1) were visible before (2) was done, and (a)
//! before (b), one of the two would see the other: the owner then turns back, or the revoker waits. That takes a
//! full fence on both sides, since each stores one word and loads another.
//!
//! The owner has none. It only keeps the compiler from swapping (1) and (2). The revoker brings the fence along
//! ([`Host::heavy_fence`], `membarrier` on Linux): before it returns, every thread of the process has executed
//! a full fence *somewhere* in its program. If that place lies behind (1), the revoker's look (b) sees the owner
//! inside. If it lies before (1), then (2) comes behind it, and (a) came before it: the owner sees that the bias is gone. So
//! the owner's compiler fence together with the revoker's heavy one orders what two full fences would, and that is
//! how the models have it: a sequentially consistent fence at either place.
//!
//! Leaving is the same the other way round: the owner says that it is outside (3), then looks whether somebody
//! waits for that (4), who sleeps only while it reads "inside" behind its fence.
//!
//! # Who may be inside twice
//!
//! Nobody: a thread that takes the lock within the lock panics.

use core::fmt;

use crate::{
    doorbell::Bell,
    mutant::{Mutant, on},
    sync::{AtomicU32, AtomicU64, Guarded, Ordering, light_fence, spin_loop},
};

/// What the lock needs of its platform.
pub trait Host {
    /// A number of the calling thread: a multiple of [`OWNERS`], not 0, and never that of another thread of this
    /// process, dead ones included.
    fn thread(&self) -> u64;

    /// Whether [`Host::heavy_fence`] is there. Asked when a lock is made: without it there is no bias.
    fn has_heavy_fence(&self) -> bool;

    /// Has every running thread of this process execute a full fence before it returns.
    fn heavy_fence(&self);

    /// Blocks while `word` reads `seen`, until [`Host::wake`]. May return at any time without a cause. The
    /// comparison and falling asleep are one step with respect to a wake.
    fn sleep(&self, word: Bell<'_>, seen: u32);

    /// Wakes one thread that sleeps on `word`.
    fn wake(&self, word: Bell<'_>);
}

/// Threads that can have the bias in the life of a lock, each after the other. A program that hands its drawing from
/// thread to thread more often has a mutex.
pub const OWNERS: u64 = 4;

/// Nobody has the bias, and the next thread that comes may have it.
const NOBODY: u64 = 0;
/// The bias was revoked.
const REVOKED: u64 = u64::MAX;

const FREE: u32 = 0;
const HELD: u32 = 1;
/// Held, and somebody may sleep.
const CONTENDED: u32 = 2;

/// Looks at a held mutex before sleeping.
const SPINS: u32 = if cfg!(runahead_loom) { 0 } else { 100 };

/// How often in a row one thread takes the mutex until it gets the bias: then a later revocation, some
/// microseconds, is small against what was saved, some nanoseconds each time.
const ALONE: u32 = if cfg!(runahead_loom) { 2 } else { 10_000 };

/// A lock with a biased owner around a value.
#[repr(C, align(128))]
pub struct BiasedLock<T, H> {
    /// Who has the bias: a thread's number plus its place among the owners. It is stored by that thread alone, and
    /// only while it holds the mutex; so is [`REVOKED`].
    bias: AtomicU64,
    /// By place: 1 while that owner is inside by its bias, or is about to find that it has lost it. A word has one
    /// writer for ever: one that was shared could be cleared by the last owner, which is late, after the next one
    /// has set it.
    inside: [AtomicU32; OWNERS as usize],
    /// The mutex.
    mutex: AtomicU32,
    /// Who holds the mutex. It tells a thread about itself alone.
    holder: AtomicU64,
    /// Of the holder of the mutex.
    history: Guarded<History>,
    host: H,
    value: Guarded<T>,
}

/// Who took the mutex.
#[derive(Debug)]
struct History {
    /// Who took it last.
    thread: u64,
    /// How often in a row.
    times: u32,
    /// Times after which a thread gets the bias.
    enough: u32,
    /// Who had the bias, by place.
    owners: [u64; OWNERS as usize],
}

impl History {
    /// The place of a thread among the owners, if it can be one.
    fn place(&mut self, thread: u64) -> Option<u64> {
        let at = self.owners.iter().position(|owner| *owner == thread || *owner == NOBODY)?;
        *self.owners.get_mut(at)? = thread;
        Some(if on(Mutant::BiasOwnersShareAWord) { 0 } else { at as u64 })
    }
}

// SAFETY: the value is reached by one thread at a time, by the protocol above.
unsafe impl<T: Send, H: Sync> Sync for BiasedLock<T, H> {}

impl<T, H> fmt::Debug for BiasedLock<T, H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let biased = !matches!(self.bias.load(Ordering::Relaxed), NOBODY | REVOKED);
        f.debug_struct("BiasedLock").field("biased", &biased).finish_non_exhaustive()
    }
}

impl<T, H: Host> BiasedLock<T, H> {
    /// A lock around `value`. The first thread that takes it gets the bias, where the host can revoke it.
    pub fn new(value: T, host: H) -> Self {
        let enough = if host.has_heavy_fence() { 1 } else { u32::MAX };
        Self {
            bias: AtomicU64::new(NOBODY),
            inside: [(); OWNERS as usize].map(|()| AtomicU32::new(0)),
            mutex: AtomicU32::new(FREE),
            holder: AtomicU64::new(NOBODY),
            history: Guarded::new(History { thread: NOBODY, times: 0, enough, owners: [NOBODY; _] }),
            host,
            value: Guarded::new(value),
        }
    }

    /// The value back.
    pub fn into_inner(self) -> T {
        self.value.into_inner()
    }

    /// Whether the calling thread has the bias.
    #[must_use]
    pub fn is_biased_to_me(&self) -> bool {
        self.place(self.bias.load(Ordering::Relaxed), self.host.thread()).is_some()
    }

    /// The word of the calling thread, if it has the bias.
    #[inline(always)]
    fn place(&self, bias: u64, me: u64) -> Option<&AtomicU32> {
        self.inside.get(usize::try_from(bias.wrapping_sub(me)).unwrap_or(usize::MAX))
    }

    /// Calls `with` on the value, alone. A panic in it leaves the lock free; what it makes of the value is the
    /// caller's affair.
    ///
    /// # Panics
    /// When the calling thread is inside already.
    #[inline]
    pub fn with<R>(&self, with: impl FnOnce(&mut T) -> R) -> R {
        let me = self.host.thread();
        let bias = self.bias.load(Ordering::Relaxed);
        if let Some(inside) = self.place(bias, me)
            && self.enter_by_bias(bias, inside)
        {
            let _leave = LeaveByBias { lock: self, bias, inside };
            return self.value.with_mut(|value| {
                // SAFETY: this thread is inside by the bias, and nobody else is.
                with(unsafe { &mut *value })
            });
        }
        self.with_mutex(me, with)
    }

    /// Enters if this thread still has the bias, and is not inside.
    #[inline(always)]
    fn enter_by_bias(&self, bias: u64, inside: &AtomicU32) -> bool {
        if inside.load(Ordering::Relaxed) != 0 {
            return false;
        }
        if on(Mutant::BiasLookedAtBeforeEntering) && self.bias.load(Ordering::Relaxed) == bias {
            inside.store(1, Ordering::Relaxed);
            return true;
        }
        inside.store(1, Ordering::Relaxed);
        if !on(Mutant::BiasWithoutOwnersFence) {
            light_fence();
        }
        if self.bias.load(Ordering::Relaxed) == bias {
            return true;
        }
        self.turn_back(inside);
        false
    }

    /// Leaves for somebody who may wait for that.
    #[cold]
    #[inline(never)]
    fn turn_back(&self, inside: &AtomicU32) {
        inside.store(0, Ordering::Release);
        self.host.wake(Bell::of(inside));
    }

    #[cold]
    #[inline(never)]
    fn with_mutex<R>(&self, me: u64, with: impl FnOnce(&mut T) -> R) -> R {
        // Outside the lock only the owner itself is inside of its word.
        let own = self.place(self.bias.load(Ordering::Relaxed), me);
        let twice = self.holder.load(Ordering::Relaxed) == me
            || own.is_some_and(|inside| inside.load(Ordering::Relaxed) != 0);
        assert!(!twice, "a thread takes a lock that it is inside of");
        self.lock_mutex();
        self.holder.store(me, Ordering::Relaxed);
        let _leave = Unlock(self);
        self.history.with_mut(|history| {
            // SAFETY: this thread holds the mutex, which guards it.
            self.count(me, unsafe { &mut *history });
        });
        self.value.with_mut(|value| {
            // SAFETY: this thread holds the mutex, and nobody is inside by a bias: it was revoked, or this thread
            // got it just now.
            with(unsafe { &mut *value })
        })
    }

    /// Settles who has the bias; called by the holder of the mutex.
    fn count(&self, me: u64, history: &mut History) {
        let bias = self.bias.load(Ordering::Relaxed);
        if bias != NOBODY && bias != REVOKED && self.place(bias, me).is_none() {
            self.revoke(bias);
            (history.thread, history.times, history.enough) = (me, 0, ALONE);
        } else if history.thread != me {
            (history.thread, history.times) = (me, 0);
        }
        history.times = history.times.saturating_add(1);
        if history.enough != u32::MAX
            && history.times >= history.enough
            && let Some(place) = history.place(me)
        {
            // From the next time on; this time it holds the mutex, so nobody revokes meanwhile.
            self.bias.store(me + place, Ordering::Relaxed);
        }
    }

    /// Takes the bias away and waits until its owner is outside.
    fn revoke(&self, bias: u64) {
        self.bias.store(REVOKED, Ordering::Relaxed);
        if !on(Mutant::BiasRevokedWithoutFence) {
            self.host.heavy_fence();
        }
        let Some(inside) = self.inside.get((bias % OWNERS) as usize) else { return };
        // Acquires what the owner did inside.
        while inside.load(Ordering::Acquire) != 0 && !on(Mutant::BiasRevokerDoesNotWait) {
            self.host.sleep(Bell::of(inside), 1);
        }
    }

    fn lock_mutex(&self) {
        let take =
            |free| self.mutex.compare_exchange(FREE, free, Ordering::Acquire, Ordering::Relaxed).is_ok();
        if take(HELD) {
            return;
        }
        let mut spins = 0;
        while spins < SPINS && self.mutex.load(Ordering::Relaxed) == HELD {
            spins += 1;
            spin_loop();
        }
        if take(HELD) {
            return;
        }
        while self.mutex.swap(CONTENDED, Ordering::Acquire) != FREE {
            self.host.sleep(Bell::of(&self.mutex), CONTENDED);
        }
    }
}

/// Leaves what was entered by the bias, by a return or a panic.
struct LeaveByBias<'a, T, H: Host> {
    lock: &'a BiasedLock<T, H>,
    bias: u64,
    inside: &'a AtomicU32,
}

impl<T, H: Host> Drop for LeaveByBias<'_, T, H> {
    #[inline(always)]
    fn drop(&mut self) {
        self.inside.store(0, Ordering::Release);
        light_fence();
        if self.lock.bias.load(Ordering::Relaxed) != self.bias && !on(Mutant::BiasLeftUnrung) {
            self.lock.turn_back(self.inside);
        }
    }
}

/// Gives the mutex back, by a return or a panic.
struct Unlock<'a, T, H: Host>(&'a BiasedLock<T, H>);

impl<T, H: Host> Drop for Unlock<'_, T, H> {
    fn drop(&mut self) {
        self.0.holder.store(NOBODY, Ordering::Relaxed);
        if self.0.mutex.swap(FREE, Ordering::Release) == CONTENDED && !on(Mutant::MutexLeftUnrung) {
            self.0.host.wake(Bell::of(&self.0.mutex));
        }
    }
}
