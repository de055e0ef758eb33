//! The biased lock: the owner, a thread that revokes, and one that gets the bias anew.

use std::{
    hash::{DefaultHasher, Hash, Hasher},
    sync::Arc,
};

use loom::sync::{
    Condvar, Mutex,
    atomic::{Ordering, fence},
};
use runahead_rings::{
    Bell,
    lock::{BiasedLock, Host, OWNERS},
};

use crate::bed::{Bound, model};

/// The kernel: one queue for all words. A wake wakes all of them, which it may; whoever was not meant sleeps again.
struct Kernel {
    lock: Mutex<()>,
    sleepers: Condvar,
    fences: bool,
}

impl Host for Kernel {
    fn thread(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        loom::thread::current().id().hash(&mut hasher);
        hasher.finish() / OWNERS * OWNERS
    }

    fn has_heavy_fence(&self) -> bool {
        self.fences
    }

    fn heavy_fence(&self) {
        fence(Ordering::SeqCst);
    }

    fn sleep(&self, word: Bell<'_>, seen: u32) {
        let guard = self.lock.lock().unwrap();
        if word.value() == seen {
            drop(self.sleepers.wait(guard).unwrap());
        }
    }

    fn wake(&self, _word: Bell<'_>) {
        let _guard = self.lock.lock().unwrap();
        self.sleepers.notify_all();
    }
}

type Counter = Arc<BiasedLock<u32, Kernel>>;

fn counter(fences: bool) -> Counter {
    let kernel = Kernel { lock: Mutex::new(()), sleepers: Condvar::new(), fences };
    Arc::new(BiasedLock::new(0, kernel))
}

fn add(counter: &Counter, times: u32) {
    for _ in 0..times {
        counter.with(|count| *count += 1);
    }
}

const BOUND: Bound = Bound::Preemptions(3);

/// The owner comes and goes while another thread comes; loom watches the value.
fn revoked() {
    let counter = counter(true);
    // Gets the bias, and enters by it from the next time on.
    add(&counter, 1);
    assert!(counter.is_biased_to_me());
    let other = counter.clone();
    let other = loom::thread::spawn(move || add(&other, 1));
    add(&counter, 2);
    other.join().unwrap();
    assert_eq!(counter.with(|count| *count), 4);
}

model!(
    a_bias_is_revoked,
    BOUND,
    catches [
        BiasWithoutOwnersFence,
        BiasRevokedWithoutFence,
        BiasLookedAtBeforeEntering,
        BiasRevokerDoesNotWait,
        BiasLeftUnrung,
    ],
    revoked
);

/// After its revocation the bias goes to the thread that has the lock to itself, and is revoked again.
fn anew() {
    let counter = counter(true);
    add(&counter, 1);
    let other = counter.clone();
    let other = loom::thread::spawn(move || {
        // The second time in a row is enough in models.
        add(&other, 3);
    });
    add(&counter, 1);
    other.join().unwrap();
    assert_eq!(counter.with(|count| *count), 5);
}

model!(
    a_bias_is_given_anew,
    Bound::Preemptions(2),
    catches [BiasOwnersShareAWord, BiasRevokerDoesNotWait, BiasRevokedWithoutFence, BiasWithoutOwnersFence],
    anew
);

/// Two threads without a bias.
fn unbiased() {
    let counter = counter(false);
    let other = counter.clone();
    let other = loom::thread::spawn(move || add(&other, 2));
    add(&counter, 2);
    assert!(!counter.is_biased_to_me());
    other.join().unwrap();
    assert_eq!(counter.with(|count| *count), 4);
}

model!(without_a_bias_it_is_a_mutex, BOUND, catches[MutexLeftUnrung], unbiased);
