//! The stage against a model that remembers every allocation until its record retires.
#![cfg(not(runahead_loom))]

mod common;

use std::collections::VecDeque;

use common::{Pages, STARTS, Segment};
use proptest::prelude::*;
use runahead_rings::{STAGE_ALIGN, StageError, StageRef, Start, client, server};

#[derive(Clone, Debug)]
enum Step {
    /// Allocate so many bytes for the next record; commit, or drop the grant.
    Reserve(usize, bool),
    /// Retire so many of the oldest records.
    Retire(usize),
}

fn steps(capacity: usize) -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        5 => (0..64_usize, proptest::bool::weighted(0.9)).prop_map(|(size, commit)| Step::Reserve(size, commit)),
        1 => (0..capacity + 32, Just(true)).prop_map(|(size, commit)| Step::Reserve(size, commit)),
        2 => (0_usize..8).prop_map(Step::Retire),
        1 => Just(Step::Retire(usize::MAX)),
    ];
    proptest::collection::vec(step, 1..400)
}

fn run(capacity: usize, start: u64, steps: &[Step]) {
    let start = Start { cursor: start & !15, ordinal: start };
    let pages = Pages::new(start);
    let memory = Segment::new(capacity);
    // SAFETY: the only writer.
    let mut writer = unsafe { client::stage(pages.client(), memory.region()) };
    let mut reader = server::stage(pages.client(), memory.region(), start);

    let mut live: VecDeque<(u64, u8, StageRef)> = VecDeque::new();
    let mut ordinal = start.ordinal;
    let mut retired = start.ordinal;
    for step in steps {
        match *step {
            Step::Reserve(size, commit) => match writer.reserve(size) {
                Ok(mut grant) => {
                    assert_eq!(grant.len(), size);
                    let number = ordinal as u8 ^ 0x5a;
                    grant.fill(number);
                    if commit {
                        let reference = grant.commit();
                        assert!(reference.position.is_multiple_of(STAGE_ALIGN as u64));
                        ordinal = ordinal.wrapping_add(1);
                        writer.used_by(ordinal);
                        if size != 0 {
                            live.push_back((ordinal, number, reference));
                        }
                    }
                }
                Err(StageError::TooLarge { max }) => {
                    assert_eq!(max, capacity);
                    assert!(size > capacity - STAGE_ALIGN);
                }
                Err(StageError::Full) => {
                    assert!(writer.in_use() > 0, "an empty stage refused {size} bytes");
                    assert!(writer.oldest_user().is_some(), "nothing to wait for");
                }
            },
            Step::Retire(records) => {
                let outstanding = ordinal.wrapping_sub(retired);
                retired = retired.wrapping_add(outstanding.min(records as u64));
                live.retain(|&(user, _, _)| !runahead_rings::reached(retired, user));
                writer.reclaim(retired);
            }
        }
        writer.publish();
        reader.refresh().unwrap();
        for &(user, number, reference) in &live {
            let bytes = reader.get(reference).unwrap();
            let mut copy = vec![!number; bytes.len()];
            bytes.copy_to(&mut copy);
            assert!(copy.iter().all(|&byte| byte == number), "record {user}'s bytes were reused");
        }
    }
    writer.reclaim(ordinal);
    assert_eq!(writer.in_use(), 0, "room was lost");
    assert!(writer.reserve(capacity).is_ok(), "an empty stage takes an allocation of its own size");
}

proptest! {
    #![proptest_config(common::config(1000))]

    #[test]
    fn reuses_nothing_before_it_retires(
        (capacity, steps) in (6_u32..13).prop_flat_map(|log| (Just(1_usize << log), steps(1 << log))),
        start in proptest::sample::select(&STARTS),
    ) {
        run(capacity, start, &steps);
    }
}

#[test]
#[should_panic(expected = "were reused")]
fn the_model_can_fail() {
    // Reclaim by a watermark that is ahead of the truth: the bytes of a live record are overwritten.
    let pages = Pages::new(Start::default());
    let memory = Segment::new(64);
    // SAFETY: the only writer.
    let mut writer = unsafe { client::stage(pages.client(), memory.region()) };
    let mut reader = server::stage(pages.client(), memory.region(), Start::default());
    let mut upload = |ordinal, byte| {
        let mut grant = writer.reserve(64).unwrap();
        grant.fill(byte);
        let reference = grant.commit();
        writer.used_by(ordinal);
        writer.publish();
        writer.reclaim(ordinal);
        reference
    };
    upload(1, 1);
    let second = upload(2, 2);
    reader.refresh().unwrap();
    let mut copy = [0; 64];
    reader.get(StageRef { position: second.position, size: 64 }).unwrap().copy_to(&mut copy);
    assert!(copy.iter().all(|&byte| byte == 1), "record 1's bytes were reused");
}

#[test]
fn copies_of_any_length() {
    let pages = Pages::new(Start::default());
    let memory = Segment::new(256);
    // SAFETY: the only writer.
    let mut writer = unsafe { client::stage(pages.client(), memory.region()) };
    let mut reader = server::stage(pages.client(), memory.region(), Start::default());
    for len in 1..=64_usize {
        let content: Vec<u8> = (0..len as u8).collect();
        let mut grant = writer.reserve(len).unwrap();
        grant.copy_from_slice(&content);
        let reference = grant.commit();
        writer.used_by(len as u64);
        writer.publish();
        reader.refresh().unwrap();
        let bytes = reader.get(reference).unwrap();
        assert_eq!(bytes.words().len(), len.div_ceil(8));
        for wanted in [0, len / 2, len, len + 9] {
            let mut copy = vec![0xee; wanted];
            bytes.copy_to(&mut copy);
            let copied = wanted.min(len);
            assert_eq!(copy[..copied], content[..copied]);
            assert!(copy[copied..].iter().all(|&byte| byte == 0xee));
        }
        writer.reclaim(len as u64);
    }
}

#[test]
fn an_empty_allocation_leaves_no_mark_behind() {
    // It would stand before the run that the next allocation skips, and reclaiming it would move the tail back.
    run(
        64,
        0,
        &[
            Step::Reserve(48, true),
            Step::Retire(1),
            Step::Reserve(0, true),
            Step::Reserve(32, false),
            Step::Retire(1),
            Step::Reserve(64, true),
        ],
    );
}
