//! What the [biased lock](runahead_rings::lock) needs of Linux: `membarrier`, futexes, and numbers of threads.

use std::{
    cell::Cell,
    sync::{
        OnceLock,
        atomic::{AtomicU64, Ordering},
    },
    thread,
    time::Duration,
};

use runahead_rings::{
    Bell,
    lock::{BiasedLock, Host, OWNERS},
};
use rustix::thread::{MembarrierCommand, futex, membarrier};

/// The lock of a client's record path.
pub type Biased<T> = BiasedLock<T, Kernel>;

/// The kernel as the host of a lock.
#[derive(Clone, Copy, Debug)]
pub struct Kernel {
    /// Whether a bias can be revoked.
    fences: bool,
}

impl Default for Kernel {
    /// With a bias where the kernel has `membarrier` (4.14, and no filter in the way), else without.
    fn default() -> Self {
        static REGISTERED: OnceLock<bool> = OnceLock::new();
        let register = || membarrier(MembarrierCommand::RegisterPrivateExpedited).is_ok();
        Self { fences: *REGISTERED.get_or_init(register) }
    }
}

impl Kernel {
    /// A host without a bias: its locks are mutexes from the start.
    #[must_use]
    pub const fn unbiased() -> Self {
        Self { fences: false }
    }
}

/// How long stores of another processor may stay unseen where the kernel refuses to say. It is no bound that a manual
/// gives; it is some thousand times what any processor takes.
const DRAINED: Duration = Duration::from_millis(10);

#[cold]
fn new_number() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(OWNERS);
    // Not given twice, and not used up: a thread a nanosecond lasts for a hundred years.
    let number = NEXT.fetch_add(OWNERS, Ordering::Relaxed);
    NUMBER.set(number);
    number
}

thread_local! {
    static NUMBER: Cell<u64> = const { Cell::new(0) };
}

impl Host for Kernel {
    #[inline(always)]
    fn thread(&self) -> u64 {
        let number = NUMBER.get();
        if number != 0 { number } else { new_number() }
    }

    fn has_heavy_fence(&self) -> bool {
        self.fences
    }

    fn heavy_fence(&self) {
        // It fails only where a filter of system calls came after the registration.
        if membarrier(MembarrierCommand::PrivateExpedited).is_err() {
            thread::sleep(DRAINED);
        }
    }

    fn sleep(&self, word: Bell<'_>, seen: u32) {
        // Interrupted by a signal, or the word had changed: the caller looks again in any case.
        let _ = futex::wait(word.word(), futex::Flags::PRIVATE, seen, None);
    }

    fn wake(&self, word: Bell<'_>) {
        let woken = futex::wake(word.word(), futex::Flags::PRIVATE, 1);
        debug_assert!(woken.is_ok(), "FUTEX_WAKE: {woken:?}");
    }
}
