//! The work that every transport does, and how it is timed.
//!
//! A record's payload begins with its sequence number; the rest is a template. The producer copies the
//! template, the consumer reads every byte: it checks the sequence number and the sum of all 32-bit words.

use std::{
    hint::black_box,
    sync::Barrier,
    time::{Duration, Instant},
};

pub use runahead_verify::sessions::median;
use rustix::{
    thread::{CpuSet, sched_getaffinity, sched_setaffinity},
    time::{ClockId, clock_gettime},
};

/// Payload bytes of a record, its sequence number included.
pub const LARGEST: usize = 4096;

/// What payloads are made of.
pub struct Template {
    bytes: [u8; LARGEST],
    sum: u32,
    len: usize,
}

fn sum(bytes: &[u8]) -> u32 {
    let (words, rest) = bytes.as_chunks::<4>();
    debug_assert!(rest.is_empty());
    words.iter().fold(0_u32, |sum, word| sum.wrapping_add(u32::from_ne_bytes(*word)))
}

impl Template {
    pub fn new(len: usize) -> Self {
        let mut bytes = [0; LARGEST];
        for (index, byte) in bytes.iter_mut().enumerate().skip(8) {
            *byte = (index * 7 + 3) as u8;
        }
        Self { sum: sum(&bytes[..len]), bytes, len }
    }

    /// The length, known at run time only.
    pub fn len(&self) -> usize {
        black_box(self.len)
    }

    #[inline(always)]
    pub fn write(&self, to: &mut [u8], sequence: u64) {
        to.copy_from_slice(&self.bytes[..to.len()]);
        to[..8].copy_from_slice(&sequence.to_ne_bytes());
    }

    #[inline(always)]
    pub fn check(&self, from: &[u8], sequence: u64) {
        let low = sequence as u32;
        let high = (sequence >> 32) as u32;
        // As one load: byte by byte it would stall on its own stores.
        let Some(first) = from.first_chunk::<8>() else { panic!("record {sequence} is too short") };
        let found = u64::from_ne_bytes(*first);
        assert!(found == sequence, "record {sequence} is lost or reordered: found {found}");
        let expected = self.sum.wrapping_add(low).wrapping_add(high);
        assert!(sum(from) == expected, "record {sequence} is torn");
    }
}

/// Puts the calling thread on the n-th processor that this process may use.
pub fn pin(n: usize) {
    let Ok(allowed) = sched_getaffinity(None) else { return };
    let cpus: Vec<usize> = (0..CpuSet::MAX_CPU).filter(|&cpu| allowed.is_set(cpu)).collect();
    if cpus.len() < 2 {
        return;
    }
    let mut one = CpuSet::new();
    one.set(cpus[n % cpus.len()]);
    // Without it the figures are noisier, no more.
    let _ = sched_setaffinity(None, &one);
}

/// How one trial went.
#[derive(Clone, Copy)]
pub struct Trial {
    pub time: Duration,
    /// Both threads were on their processor for all but 1.5 % of the trial.
    pub undisturbed: bool,
}

/// Processor time of the calling thread.
pub fn on_processor() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// Runs two roles on two processors, from a common start until both are done.
pub fn race(produce: impl FnOnce() + Send, consume: impl FnOnce() + Send) -> Trial {
    let barrier = Barrier::new(2);
    let role = |processor: usize, work: Box<dyn FnOnce() + Send + '_>| {
        pin(processor);
        barrier.wait();
        let (start, before) = (Instant::now(), on_processor());
        work();
        let time = start.elapsed();
        (start, time, on_processor() - before)
    };
    std::thread::scope(|scope| {
        let consuming = scope.spawn(|| role(1, Box::new(consume)));
        let producing = scope.spawn(|| role(0, Box::new(produce)));
        let (consumed, produced) = (consuming.join(), producing.join());
        match (consumed, produced) {
            (Ok(consumed), Ok(produced)) => {
                let end = (consumed.0 + consumed.1).max(produced.0 + produced.1);
                let whole = |(_, time, used): (_, Duration, Duration)| {
                    used.as_secs_f64() >= 0.985 * time.as_secs_f64()
                };
                Trial {
                    time: end - consumed.0.min(produced.0),
                    undisturbed: whole(consumed) && whole(produced),
                }
            }
            (Err(panic), _) | (_, Err(panic)) => std::panic::resume_unwind(panic),
        }
    })
}

/// A way to move records from one thread to another. Its memory stays from trial to trial, so that only the
/// first one meets it cold.
pub trait Transport {
    /// Moves so many records.
    fn run(&mut self, records: u64) -> Trial;
}
