//! The client's lock, of loom's own parts.

use loom::{cell::UnsafeCell, sync::Mutex};
use runahead_core::lock::Lock;

use crate::defect::{Mutant, on};

/// A lock that sleeps, and whose value loom watches: two threads inside at once are found, lock or no lock.
pub struct Sleeping<T> {
    lock: Mutex<()>,
    value: UnsafeCell<T>,
}

// SAFETY: the value is reached by whoever holds the lock; where a defect takes the lock away, loom ends the
// execution at the second access.
unsafe impl<T: Send> Sync for Sleeping<T> {}

impl<T> Lock<T> for Sleeping<T> {
    fn new(value: T) -> Self {
        Self { lock: Mutex::new(()), value: UnsafeCell::new(value) }
    }

    fn with<R>(&self, with: impl FnOnce(&mut T) -> R) -> R {
        let _guard = (!on(Mutant::LockDoesNotLock)).then(|| self.lock.lock().unwrap());
        self.value.with_mut(|value| {
            // SAFETY: as above.
            with(unsafe { &mut *value })
        })
    }
}
