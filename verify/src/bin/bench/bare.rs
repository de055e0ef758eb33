//! The physical limit: bytes handed from core to core with two counters and nothing else. No header, no
//! wrap logic, constant sizes.

use std::{
    hint::spin_loop,
    sync::atomic::{AtomicU64, Ordering},
};

use runahead_linux::segment::{Mapping, OwnedSegment, map_peer};

use crate::work::{Template, Transport, Trial, race};

#[repr(align(128))]
struct Counter(AtomicU64);

/// Moves records of `STRIDE` bytes through shared memory; published each 4 KiB. The first `PAYLOAD` bytes are
/// the payload. With `ahead` not 0, both sides prefetch so many bytes ahead.
pub struct HandOver<const STRIDE: usize, const PAYLOAD: usize> {
    segment: OwnedSegment,
    reader: Mapping,
    ahead: usize,
}

impl<const STRIDE: usize, const PAYLOAD: usize> HandOver<STRIDE, PAYLOAD> {
    pub fn new(capacity: usize, ahead: usize) -> Self {
        let segment = OwnedSegment::create(c"bare", capacity).expect("a segment");
        let reader = map_peer(segment.descriptor(), capacity).expect("a second mapping");
        Self { segment, reader, ahead }
    }
}

impl<const STRIDE: usize, const PAYLOAD: usize> Transport for HandOver<STRIDE, PAYLOAD> {
    fn run(&mut self, records: u64) -> Trial {
        let Self { segment, reader, ahead } = &*self;
        let (capacity, ahead) = (reader.len(), *ahead);
        let slots = (capacity / STRIDE) as u64;
        let (head, tail) = (Counter(AtomicU64::new(0)), Counter(AtomicU64::new(0)));
        let batch = (4096 / STRIDE).max(1) as u64;
        let template = Template::new(PAYLOAD);
        race(
            || {
                let base = segment.mapping().base();
                let (mut seen, mut slot) = (0, 0);
                for sequence in 0..records {
                    while sequence - seen == slots {
                        head.0.store(sequence, Ordering::Release);
                        seen = tail.0.load(Ordering::Acquire);
                        spin_loop();
                    }
                    // SAFETY: a slot inside the segment.
                    let at = unsafe { base.add(slot * STRIDE) };
                    if ahead != 0 {
                        prefetch::for_write(at.as_ptr().wrapping_add(ahead));
                        if STRIDE > 64 {
                            prefetch::for_write(at.as_ptr().wrapping_add(ahead + 64));
                        }
                    }
                    // SAFETY: the consumer is done with the slot: `tail` says so.
                    let bytes = unsafe { core::slice::from_raw_parts_mut(at.as_ptr(), PAYLOAD) };
                    template.write(bytes, sequence);
                    slot = if slot as u64 + 1 == slots { 0 } else { slot + 1 };
                    if (sequence + 1).is_multiple_of(batch) {
                        head.0.store(sequence + 1, Ordering::Release);
                    }
                }
                head.0.store(records, Ordering::Release);
            },
            || {
                let base = reader.base();
                let (mut seen, mut slot) = (0, 0);
                for sequence in 0..records {
                    while sequence == seen {
                        tail.0.store(sequence, Ordering::Release);
                        seen = head.0.load(Ordering::Acquire);
                        spin_loop();
                    }
                    // SAFETY: a slot inside the segment.
                    let at = unsafe { base.add(slot * STRIDE) };
                    if ahead != 0 {
                        prefetch::for_read(at.as_ptr().wrapping_add(ahead));
                        if STRIDE > 64 {
                            prefetch::for_read(at.as_ptr().wrapping_add(ahead + 64));
                        }
                    }
                    // SAFETY: the producer is done with the slot: `head` says so.
                    let bytes = unsafe { core::slice::from_raw_parts(at.as_ptr(), PAYLOAD) };
                    template.check(bytes, sequence);
                    slot = if slot as u64 + 1 == slots { 0 } else { slot + 1 };
                    if (sequence + 1).is_multiple_of(batch) {
                        tail.0.store(sequence + 1, Ordering::Release);
                    }
                }
                tail.0.store(records, Ordering::Release);
            },
        )
    }
}

/// The same hints that the rings give.
mod prefetch {
    #[inline(always)]
    pub fn for_write(line: *mut u8) {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: a prefetch has no architectural effect.
        unsafe {
            core::arch::asm!("prefetchw [{}]", in(reg) line, options(nostack, preserves_flags, readonly));
        }
        let _ = line;
    }

    #[inline(always)]
    pub fn for_read(line: *mut u8) {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: a prefetch has no architectural effect.
        unsafe {
            core::arch::asm!("prefetcht0 [{}]", in(reg) line, options(nostack, preserves_flags, readonly));
        }
        let _ = line;
    }
}

/// Two lines, one each way: the round trip that no protocol can beat.
pub fn ping_pong(rounds: u64) -> Trial {
    let (there, back) = (Counter(AtomicU64::new(0)), Counter(AtomicU64::new(0)));
    race(
        || {
            for round in 1..=rounds {
                there.0.store(round, Ordering::Release);
                while back.0.load(Ordering::Acquire) != round {
                    spin_loop();
                }
            }
        },
        || {
            for round in 1..=rounds {
                while there.0.load(Ordering::Acquire) != round {
                    spin_loop();
                }
                back.0.store(round, Ordering::Release);
            }
        },
    )
}
