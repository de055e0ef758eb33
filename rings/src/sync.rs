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
