//! Round trips, wake-ups, and what the doorbell costs when nobody sleeps.

use std::{
    cell::Cell,
    hint::{black_box, spin_loop},
    sync::atomic::{AtomicU32, AtomicU64, Ordering, fence},
    time::{Duration, Instant},
};

use runahead_linux::doorbell::FutexDoorbell;
use runahead_rings::{Bell, Doorbell, Fault};
use rustix::thread::futex;

use crate::{
    bare,
    ours::{Session, header, push},
    report::{Case, Goal, Report},
    work::{Template, Trial, median, race},
};

const RING: usize = 1 << 20;
const BENCH: &str = "rings: latency";

pub fn run(report: &mut Report, rounds: usize) {
    if !report.wants(BENCH) {
        return;
    }
    round_trips(report, rounds);
    ringing_nobody(report, rounds);
    wakes(report, rounds);
}

/// Interleaved rounds of two measurements; medians of both and of their ratio.
fn compare(rounds: usize, mut ours: impl FnMut() -> f64, mut theirs: impl FnMut() -> f64) -> (f64, f64, f64) {
    let (mut left, mut right, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..rounds {
        let other = theirs();
        let own = ours();
        left.push(own);
        right.push(other);
        ratios.push(own / other);
    }
    (median(&mut left), median(&mut right), median(&mut ratios))
}

/// An 80-byte record there, an 80-byte event back, both sides spinning.
fn round_trip(trips: u64) -> Trial {
    let session = Session::new(RING);
    let template = Template::new(68);
    race(
        || {
            let (mut commands, mut events) = (session.commands(), session.events_in_place());
            let (mut ringer, door, len) = (session.client_ringer(), FutexDoorbell, template.len());
            for sequence in 0..trips {
                push(&mut commands, &template, len, sequence, |_| spin_loop());
                commands.publish();
                ringer.ring(&door);
                while events.next().expect("no fault").is_none_or(|event| {
                    template.check(&event[8..8 + len], sequence);
                    false
                }) {
                    spin_loop();
                }
            }
        },
        || {
            let (mut commands, mut events) = (session.commands_in_place(), session.events());
            let (mut ringer, door, len) = (session.server_ringer(), FutexDoorbell, template.len());
            for sequence in 0..trips {
                while commands.next().expect("no fault").is_none_or(|record| {
                    template.check(&record[8..8 + len], sequence);
                    false
                }) {
                    spin_loop();
                }
                push(&mut events, &template, len, sequence, |_| spin_loop());
                events.publish();
                ringer.ring(&door);
            }
        },
    )
}

fn round_trips(report: &mut Report, rounds: usize) {
    const TRIPS: u64 = 50_000;
    let nanoseconds = |trial: Trial| trial.time.as_secs_f64() * 1e9 / TRIPS as f64;
    let (ours, bare, ratio) =
        compare(rounds, || nanoseconds(round_trip(TRIPS)), || nanoseconds(bare::ping_pong(TRIPS)));
    let case = Case {
        bench: BENCH,
        case: "two lines, round trip",
        value: bare,
        unit: "ns",
        against: "",
        ratio: 0.0,
        goal: Goal::None,
    };
    report.add(&case);
    report.add(&Case {
        case: "record and event, round trip, both spin",
        value: ours,
        against: "two lines",
        ratio,
        goal: Goal::AtMost(1.6),
        ..case
    });
}

fn ringing_nobody(report: &mut Report, rounds: usize) {
    const RINGS: u32 = 1_000_000;
    let session = Session::new(RING);
    let mut ringer = session.client_ringer();
    let word = AtomicU64::new(0);
    let per_ring = |start: Instant| start.elapsed().as_secs_f64() * 1e9 / f64::from(RINGS);
    let (ours, bare, ratio) = compare(
        rounds,
        || {
            let start = Instant::now();
            for _ in 0..RINGS {
                black_box(ringer.ring(&FutexDoorbell));
            }
            per_ring(start)
        },
        || {
            let start = Instant::now();
            for _ in 0..RINGS {
                fence(Ordering::SeqCst);
                black_box(black_box(&word).load(Ordering::Relaxed));
            }
            per_ring(start)
        },
    );
    let case = Case {
        bench: BENCH,
        case: "fence and load",
        value: bare,
        unit: "ns",
        against: "",
        ratio: 0.0,
        goal: Goal::None,
    };
    report.add(&case);
    report.add(&Case {
        case: "ringing nobody",
        value: ours,
        against: "fence and load",
        ratio,
        goal: Goal::AtMost(1.25),
        ..case
    });
}

/// A futex doorbell that counts its system calls.
#[derive(Default)]
struct Counting {
    calls: Cell<u64>,
}

impl Doorbell for Counting {
    fn sleep(&self, bell: Bell<'_>, seen: u32) {
        self.calls.set(self.calls.get() + 1);
        FutexDoorbell.sleep(bell, seen);
    }

    fn wake(&self, bell: Bell<'_>) {
        self.calls.set(self.calls.get() + 1);
        FutexDoorbell.wake(bell);
    }

    fn interrupt(&self, bell: Bell<'_>) {
        self.calls.set(self.calls.get() + 1);
        FutexDoorbell.interrupt(bell);
    }
}

const WAKES: u64 = 2000;
/// How long the sleeper is left asleep.
const ASLEEP: Duration = Duration::from_micros(30);

/// The time of each wake, from publishing to holding the record, in microseconds; and system calls made.
struct Wakes {
    median: f64,
    calls: u64,
}

/// The clock both threads read; its zero does not matter.
fn now(since: Instant) -> u64 {
    since.elapsed().as_nanos() as u64
}

fn nap() {
    let until = Instant::now() + ASLEEP;
    while Instant::now() < until {
        spin_loop();
    }
}

/// A sleeper of a session and its ringer.
fn our_wakes() -> Wakes {
    let session = Session::new(RING);
    let template = Template::new(68);
    let zero = Instant::now();
    let (sent, taken) = (AtomicU64::new(0), AtomicU64::new(0));
    let (mut times, mut calls) = (Vec::new(), [0; 2]);
    let [ring_calls, sleep_calls] = &mut calls;
    race(
        || {
            let (mut commands, mut ringer) = (session.commands(), session.client_ringer());
            let (door, len) = (Counting::default(), template.len());
            for sequence in 0..WAKES {
                while taken.load(Ordering::Acquire) != sequence {
                    spin_loop();
                }
                nap();
                sent.store(now(zero), Ordering::Release);
                push(&mut commands, &template, len, sequence, |_| spin_loop());
                commands.publish();
                ringer.ring(&door);
            }
            *ring_calls = door.calls.get();
        },
        || {
            let (mut commands, waiter) = (session.commands_in_place(), session.server_waiter());
            let (door, len) = (Counting::default(), template.len());
            for sequence in 0..WAKES {
                taken.store(sequence, Ordering::Release);
                let ready = || {
                    Ok::<_, Fault>(
                        commands.next()?.map(|record| template.check(&record[8..8 + len], sequence)),
                    )
                };
                waiter.wait(&door, 0, ready).expect("a living producer");
                times.push((now(zero) - sent.load(Ordering::Acquire)) as f64 / 1e3);
            }
            *sleep_calls = door.calls.get();
        },
    );
    Wakes { median: median(&mut times), calls: calls.iter().sum() }
}

/// The same with a bare futex: one word that says there is a record, in shared memory, and the kernel.
fn bare_wakes() -> Wakes {
    let template = Template::new(68);
    let zero = Instant::now();
    let (sent, taken) = (AtomicU64::new(0), AtomicU64::new(0));
    let word = AtomicU32::new(0);
    let record = std::sync::Mutex::new([0_u8; 80]);
    let (mut times, mut calls) = (Vec::new(), [0; 2]);
    let [ring_calls, sleep_calls] = &mut calls;
    race(
        || {
            for sequence in 0..WAKES {
                while taken.load(Ordering::Acquire) != sequence {
                    spin_loop();
                }
                nap();
                sent.store(now(zero), Ordering::Release);
                if let Ok(mut record) = record.lock() {
                    record[..8].copy_from_slice(&header(80));
                    template.write(&mut record[8..76], sequence);
                }
                word.store(sequence as u32 + 1, Ordering::Release);
                let _ = futex::wake(&word, futex::Flags::empty(), 1);
                *ring_calls += 1;
            }
        },
        || {
            for sequence in 0..WAKES {
                taken.store(sequence, Ordering::Release);
                while word.load(Ordering::Acquire) == sequence as u32 {
                    let _ = futex::wait(&word, futex::Flags::empty(), sequence as u32, None);
                    *sleep_calls += 1;
                }
                if let Ok(record) = record.lock() {
                    template.check(&record[8..76], sequence);
                }
                times.push((now(zero) - sent.load(Ordering::Acquire)) as f64 / 1e3);
            }
        },
    );
    Wakes { median: median(&mut times), calls: calls.iter().sum() }
}

fn wakes(report: &mut Report, rounds: usize) {
    let (mut our_calls, mut bare_calls) = (0, 0);
    let (ours, bare, ratio) = compare(
        rounds,
        || {
            let wakes = our_wakes();
            our_calls += wakes.calls;
            wakes.median
        },
        || {
            let wakes = bare_wakes();
            bare_calls += wakes.calls;
            wakes.median
        },
    );
    let case = Case {
        bench: BENCH,
        case: "bare futex, wake of a sleeper",
        value: bare,
        unit: "us",
        against: "",
        ratio: 0.0,
        goal: Goal::None,
    };
    report.add(&case);
    report.add(&Case {
        case: "wake of a sleeper",
        value: ours,
        against: "bare futex",
        ratio,
        goal: Goal::AtMost(1.15),
        ..case
    });
    let per_wake = |calls: u64| calls as f64 / (WAKES * rounds as u64) as f64;
    report.add(&Case {
        case: "system calls a wake",
        value: per_wake(our_calls),
        unit: "",
        against: "bare futex",
        ratio: per_wake(our_calls) / per_wake(bare_calls),
        goal: Goal::AtMost(1.02),
        ..case
    });
}
