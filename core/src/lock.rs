//! The lock that several threads of a client share the record path with.

use core::fmt;

use runahead_rings::lock::{BiasedLock, Host};

/// A mutual exclusion lock around a value.
///
/// Without std it spins ([`SpinLock`]); a platform that can put threads to sleep is the host of a [`BiasedLock`], and
/// models have one of loom's parts.
/// Nobody holds it across a wait for the peer that another thread's progress depends on.
pub trait Lock<T>: Sized {
    /// A lock around `value`.
    fn new(value: T) -> Self;

    /// Calls `with` on the value, alone.
    fn with<R>(&self, with: impl FnOnce(&mut T) -> R) -> R;
}

impl<T, H: Host + Default> Lock<T> for BiasedLock<T, H> {
    fn new(value: T) -> Self {
        Self::new(value, H::default())
    }

    #[inline]
    fn with<R>(&self, with: impl FnOnce(&mut T) -> R) -> R {
        Self::with(self, with)
    }
}

/// A lock that spins: for machines where the holder cannot be preempted by whoever waits, and for tests.
pub struct SpinLock<T>(spin::mutex::SpinMutex<T>);

impl<T> fmt::Debug for SpinLock<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SpinLock").field("locked", &self.0.is_locked()).finish_non_exhaustive()
    }
}

impl<T> Lock<T> for SpinLock<T> {
    fn new(value: T) -> Self {
        Self(spin::mutex::SpinMutex::new(value))
    }

    fn with<R>(&self, with: impl FnOnce(&mut T) -> R) -> R {
        with(&mut self.0.lock())
    }
}
