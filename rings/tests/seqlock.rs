//! The seqlock page under a writer that never rests, one that died, and at the wrap of its counter.
#![cfg(not(runahead_loom))]

use std::sync::atomic::{AtomicBool, Ordering};

use runahead_rings::{SeqPage, SeqReader, SeqWriter, Torn};

#[test]
fn reads_are_whole_while_a_writer_never_rests() {
    let page = SeqPage::<8>::new();
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut writer = SeqWriter::new(&page);
            let mut value = 0;
            while !stop.load(Ordering::Relaxed) {
                value += 1;
                writer.write(&[value; 8]);
            }
        });
        let reader = SeqReader::new(&page);
        let mut words = [0; 8];
        let (mut whole, mut last) = (0_u64, 0);
        while whole < 2_000 {
            if let Ok(writes) = reader.read(&mut words, 16) {
                assert_eq!(words, [writes; 8], "torn");
                assert!(writes >= last);
                (last, whole) = (writes, whole + 1);
            }
        }
        stop.store(true, Ordering::Relaxed);
    });
}

#[test]
fn a_writer_that_died_while_writing_leaves_a_stated_answer() {
    let page = SeqPage::<2>::new();
    let sequence = std::ptr::from_ref(&page).cast::<std::sync::atomic::AtomicU64>();
    // SAFETY: the page begins with its sequence number and lives on.
    let sequence = unsafe { &*sequence };
    for odd in [1, u64::MAX] {
        sequence.store(odd, Ordering::Relaxed);
        let mut words = [0; 2];
        assert_eq!(SeqReader::new(&page).read(&mut words, 1000), Err(Torn));
        // Whoever takes over starts from the next even number, 0 after the last.
        SeqWriter::new(&page).write(&[3, 3]);
        assert_eq!(SeqReader::new(&page).read(&mut words, 1), Ok(odd.wrapping_add(3) / 2));
        assert_eq!(words, [3, 3]);
    }
}
