//! The only place that names atomics: the core's own, or loom's when the models run.

#[cfg(not(runahead_loom))]
pub(crate) use core::{
    hint::spin_loop,
    sync::atomic::{AtomicU32, AtomicU64, Ordering, fence},
};

#[cfg(runahead_loom)]
pub(crate) use loom::{
    hint::spin_loop,
    sync::atomic::{AtomicU32, AtomicU64, Ordering, fence},
};

/// An acquire load that is also allowed on a read-only mapping.
///
/// On memory that this process may only read, the standard library allows nothing but relaxed loads
/// (`core::sync::atomic`, "Atomic accesses to read-only memory"); the fence makes it an acquire.
#[inline(always)]
pub(crate) fn acquire64(word: &AtomicU64) -> u64 {
    let value = word.load(Ordering::Relaxed);
    fence(Ordering::Acquire);
    value
}

/// [`acquire64`] for a 32-bit word.
#[inline(always)]
pub(crate) fn acquire32(word: &AtomicU32) -> u32 {
    let value = word.load(Ordering::Relaxed);
    fence(Ordering::Acquire);
    value
}

/// Keeps the compiler from moving an access across it. What makes the processor do so too is brought along by the
/// other side ([`Host::heavy_fence`](crate::lock::Host::heavy_fence)); for the models it is the fence that the two
/// amount to.
#[inline(always)]
pub(crate) fn light_fence() {
    #[cfg(not(runahead_loom))]
    core::sync::atomic::compiler_fence(Ordering::SeqCst);
    #[cfg(runahead_loom)]
    fence(Ordering::SeqCst);
}

/// A value that a lock guards. Loom watches it: two threads at it at once are found, lock or no lock.
#[cfg(runahead_loom)]
pub(crate) type Guarded<T> = loom::cell::UnsafeCell<T>;

/// A value that a lock guards.
#[cfg(not(runahead_loom))]
pub(crate) struct Guarded<T>(core::cell::UnsafeCell<T>);

#[cfg(not(runahead_loom))]
impl<T> Guarded<T> {
    pub(crate) const fn new(value: T) -> Self {
        Self(core::cell::UnsafeCell::new(value))
    }

    #[inline(always)]
    pub(crate) fn with_mut<R>(&self, with: impl FnOnce(*mut T) -> R) -> R {
        with(self.0.get())
    }

    pub(crate) fn into_inner(self) -> T {
        self.0.into_inner()
    }
}
