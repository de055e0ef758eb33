//! The record ring alone, explored to the end: wrap and pad, batches, cached cursors, lazy release.

use runahead_rings::{client, server};

use crate::bed::{Bed, Bound, model, push, value};

/// Just before 2^64, and 8 bytes into a ring of 32: the second record of 16 needs a pad, and the cursors wrap.
const PADS: u64 = 0_u64.wrapping_sub(24);

/// The producer thread pushes `records` (words, number), publishing after each `batch`; the main thread
/// consumes them, copied out or in place.
fn transfer(bed: std::sync::Arc<Bed>, records: &'static [(usize, u16)], batch: usize, copied: bool) {
    let other = bed.clone();
    let producing = loom::thread::spawn(move || {
        // SAFETY: the model's only producer.
        let mut producer = unsafe { client::commands(&other.client, &other.server, other.commands.region()) };
        for (index, &(words, number)) in records.iter().enumerate() {
            push(&mut producer, words, number);
            if (index + 1) % batch == 0 || index + 1 == records.len() {
                producer.publish();
            }
        }
    });
    let region = bed.commands.region();
    let mut scratch = [0; 16];
    let mut copy_out = server::commands_copied(&bed.server, &bed.client, region, &mut scratch);
    // SAFETY: one of the two consumers is used.
    let mut in_place = unsafe { server::commands_in_place(&bed.server, &bed.client, region) };
    for &(words, number) in records {
        loop {
            let record = if copied { copy_out.next() } else { in_place.next() };
            if let Some(record) = record.unwrap() {
                assert_eq!(record.len(), words * 8);
                assert_eq!(value(record), number, "lost, repeated or reordered");
                break;
            }
            loom::thread::yield_now();
        }
    }
    // As a consumer does before it sleeps.
    let rest = if copied { copy_out.next() } else { in_place.next() };
    assert!(rest.unwrap().is_none());
    producing.join().unwrap();
}

model!(
    wrap_and_pad_in_place,
    Bound::Exhaustive,
    catches [
        RingPublishRelaxed,
        RingPublishBeforeWrite,
        RingConsumeWithoutAcquire,
        RingReleaseBeforeRead,
        RingReleaseRelaxed,
        RingPadNotWritten,
    ],
    || transfer(Bed::new(PADS, 4), &[(2, 1), (2, 2), (2, 3)], 1, false)
);

model!(
    wrap_and_pad_copied_out,
    Bound::Exhaustive,
    catches [
        RingPublishRelaxed,
        RingPublishBeforeWrite,
        RingConsumeWithoutAcquire,
        RingReleaseBeforeRead,
        RingReleaseRelaxed,
        RingPadNotWritten,
    ],
    || transfer(Bed::new(PADS, 4), &[(2, 1), (2, 2), (2, 3)], 1, true)
);

model!(
    batched_publish,
    Bound::Exhaustive,
    catches [RingPublishRelaxed, RingPublishBeforeWrite, RingConsumeWithoutAcquire],
    || transfer(Bed::new(0, 4), &[(1, 1), (2, 2), (1, 3), (2, 4)], 2, false)
);

model!(
    cached_cursors,
    Bound::Exhaustive,
    catches [RingReserveIgnoresTail, RingTailCachedForever, RingReserveWithoutAcquire, RingReleaseRelaxed],
    || transfer(Bed::new(0, 4), &[(2, 1), (2, 2), (1, 3), (1, 4)], 1, false)
);

model!(
    // 16 words, so that a release step of 4 words leaves 3 unreleased: the large record behind them, with its
    // pad of 7, waits for exactly those.
    lazy_release,
    Bound::Exhaustive,
    catches[RingDryWithoutRelease],
    || transfer(Bed::new(48, 16), &[(1, 1), (1, 2), (1, 3), (8, 4)], 1, false)
);
