//! The biased lock on real threads.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, Barrier},
    thread,
    time::Instant,
};

use runahead_linux::bias::{Biased, Kernel};

fn count_up(host: Kernel, threads: u64, each: u64) {
    let lock = Biased::new((0_u64, 0_u64), host);
    let start = Barrier::new(threads as usize);
    thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                start.wait();
                for _ in 0..each {
                    lock.with(|(one, other)| {
                        assert_eq!(one, other, "two threads are inside");
                        *one += 1;
                        std::hint::black_box(&one);
                        *other += 1;
                    });
                }
            });
        }
    });
    assert_eq!(lock.into_inner(), (threads * each, threads * each));
}

#[test]
fn every_thread_counts() {
    for host in [Kernel::default(), Kernel::unbiased()] {
        count_up(host, 2, 300_000);
        count_up(host, 7, 50_000);
    }
}

#[test]
fn a_revocation_at_every_instant() {
    for _ in 0..2_000 {
        count_up(Kernel::default(), 2, 50);
    }
}

#[test]
fn the_first_thread_gets_the_bias_and_whoever_is_alone_gets_it_anew() {
    let lock = Arc::new(Biased::new(0_u32, Kernel::default()));
    lock.with(|_| ());
    assert!(lock.is_biased_to_me(), "this kernel has no membarrier, so this test shows nothing");
    let other = Arc::clone(&lock);
    thread::spawn(move || {
        other.with(|_| ());
        assert!(!other.is_biased_to_me());
    })
    .join()
    .expect("no panic");
    assert!(!lock.is_biased_to_me(), "the bias was revoked");
    for _ in 0..20_000 {
        lock.with(|_| ());
    }
    assert!(lock.is_biased_to_me(), "alone for long");
    let plain = Biased::new(0_u32, Kernel::unbiased());
    for _ in 0..20_000 {
        plain.with(|_| ());
    }
    assert!(!plain.is_biased_to_me());
}

#[test]
fn a_panic_inside_leaves_it_free_and_a_second_entry_is_refused() {
    for host in [Kernel::default(), Kernel::unbiased()] {
        let lock = Biased::new(0_u32, host);
        for _ in 0..2 {
            assert!(catch_unwind(AssertUnwindSafe(|| lock.with(|_| panic!("seeded")))).is_err());
            lock.with(|value| *value += 1);
            let twice = catch_unwind(AssertUnwindSafe(|| lock.with(|_| lock.with(|_| ()))));
            assert!(twice.is_err(), "one thread is inside twice");
        }
        thread::scope(|scope| {
            scope.spawn(|| lock.with(|value| assert_eq!(*value, 2)));
        });
    }
}

#[test]
fn the_owner_is_waited_for() {
    let lock = Biased::new((), Kernel::default());
    lock.with(|()| ());
    let inside = Barrier::new(2);
    thread::scope(|scope| {
        let waiting = scope.spawn(|| {
            inside.wait();
            let start = Instant::now();
            lock.with(|()| start.elapsed())
        });
        lock.with(|()| {
            inside.wait();
            thread::sleep(std::time::Duration::from_millis(50));
        });
        let waited = waiting.join().expect("no panic");
        assert!(waited.as_millis() >= 40, "it came in after {waited:?}");
    });
}
