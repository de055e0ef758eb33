//! Shared bytes and blob references.

use runahead_wire::{BlobRef, Bulk, SharedBytes};
use std::sync::atomic::{AtomicU64, Ordering};

fn shared(len: usize) -> (Vec<AtomicU64>, Vec<u8>) {
    let bytes: Vec<u8> = (0..len.next_multiple_of(8)).map(|at| (at * 73 + 1) as u8).collect();
    let words = bytes
        .chunks_exact(8)
        .map(|word| AtomicU64::new(u64::from_ne_bytes(word.try_into().expect("8"))))
        .collect();
    (words, bytes[..len].to_vec())
}

#[test]
fn every_start_and_length_copies_the_same_bytes() {
    for total in [0, 1, 7, 8, 9, 31, 40, 67] {
        let (words, bytes) = shared(total);
        let view = SharedBytes::new(&words, total).expect("in the words");
        assert_eq!((view.len(), view.is_empty()), (total, total == 0));
        for at in 0..=total + 2 {
            for len in 0..=total + 2 {
                let mut out = vec![0xEE; len];
                let copied = view.copy_to(at, &mut out);
                assert_eq!(copied, at + len <= total, "{len} at {at} of {total}");
                let expected = if copied { bytes[at..at + len].to_vec() } else { vec![0xEE; len] };
                assert_eq!(out, expected, "{len} at {at} of {total}");
            }
        }
        assert!(!view.copy_to(usize::MAX, &mut [0; 2]));
    }
}

#[test]
fn a_view_sees_what_the_peer_writes_and_nothing_beyond_the_words() {
    let (words, _) = shared(16);
    let view = SharedBytes::new(&words, 16).expect("in the words");
    words[1].store(u64::from_ne_bytes([9; 8]), Ordering::Relaxed);
    let mut out = [0; 4];
    assert!(view.copy_to(8, &mut out));
    assert_eq!(out, [9; 4]);
    assert!(SharedBytes::new(&words, 17).is_none());
    assert_eq!(view.as_ptr().addr() % 8, 0);
}

#[test]
fn blob_forms() {
    let staged = BlobRef::staged(5, 6);
    let cases = [
        (BlobRef::NONE, false, true),
        (staged, true, true),
        (BlobRef::staged(5, 0), false, false),
        (BlobRef { segment: 1, ..staged }, false, false),
        (BlobRef { segment: 0, ..staged }, false, false),
        (BlobRef { offset: 1, ..BlobRef::NONE }, false, false),
        (BlobRef::staged(u64::MAX, 2), false, false),
        (BlobRef::staged(u64::MAX - 2, 2), true, true),
    ];
    for (blob, required, optional) in cases {
        assert_eq!((blob.is_well_formed(false), blob.is_well_formed(true)), (required, optional), "{blob:?}");
    }
}

#[test]
fn bulk_lengths() {
    let (words, _) = shared(12);
    assert_eq!(Bulk::from(&[1, 2][..]).len(), 2);
    assert_eq!(Bulk::Staged(BlobRef::staged(0, 7)).len(), 7);
    assert_eq!(Bulk::Shared(SharedBytes::new(&words, 12).expect("in the words")).len(), 12);
    assert!(Bulk::EMPTY.is_empty());
}
