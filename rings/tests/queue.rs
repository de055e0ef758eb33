//! The record ring against a plain queue.
#![cfg(not(runahead_loom))]

mod common;

use std::collections::VecDeque;

use common::{Pages, STARTS, Segment, header};
use proptest::prelude::*;
use runahead_rings::{ReserveError, Start, client, record, server};

#[derive(Clone, Debug)]
enum Step {
    /// Reserve so many bytes; commit, or drop the grant.
    Push(usize, bool),
    Publish,
    Pop,
    Release,
}

fn steps(capacity: usize) -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        6 => (0..capacity / 2 + 32, proptest::bool::weighted(0.9)).prop_map(|(size, commit)| Step::Push(size, commit)),
        3 => Just(Step::Publish),
        6 => Just(Step::Pop),
        1 => Just(Step::Release),
    ];
    proptest::collection::vec(step, 1..200)
}

/// What was pushed: number and size.
type Model = VecDeque<(u16, usize)>;

fn run(capacity: usize, start: u64, copied: bool, steps: &[Step]) {
    let start = Start { cursor: start, ordinal: start };
    let pages = Pages::new(start);
    let memory = Segment::new(capacity);
    // SAFETY: the only producer.
    let mut producer = unsafe { client::commands(pages.client(), pages.server(), memory.region()) };
    let mut scratch = vec![0; capacity / 16];
    let mut copy_out = server::commands_copied(pages.server(), pages.client(), memory.region(), &mut scratch);
    // SAFETY: one of the two consumers is used.
    let mut in_place = unsafe { server::commands_in_place(pages.server(), pages.client(), memory.region()) };

    let (mut committed, mut published) = (Model::new(), Model::new());
    let mut number = 0_u16;
    let mut popped = 0;
    for step in steps {
        match *step {
            Step::Push(size, commit) => {
                let rounded = size.max(8).next_multiple_of(8);
                match producer.reserve(size) {
                    Ok(mut grant) => {
                        assert!(size <= record::max_record(capacity));
                        assert_eq!(grant.len(), rounded);
                        grant.fill(number as u8);
                        grant[..8].copy_from_slice(&header(1, number, rounded as u32).to_le_bytes());
                        if commit {
                            grant.commit();
                            committed.push_back((number, rounded));
                            number = number.wrapping_add(1);
                        }
                    }
                    Err(ReserveError::TooLarge { max }) => {
                        assert_eq!(max, record::max_record(capacity));
                        assert!(size > max);
                    }
                    Err(ReserveError::Full) => {
                        assert!(!producer.has_room(size).unwrap());
                        // Room for any record is never far: an empty ring has it.
                        let held: usize = committed.iter().chain(&published).map(|(_, size)| size).sum();
                        assert!(held + popped > 0, "an empty ring refused {size} bytes");
                    }
                    Err(ReserveError::Fault(fault)) => panic!("{fault}"),
                }
            }
            Step::Publish => {
                producer.publish();
                assert_eq!(producer.pending(), 0);
                published.append(&mut committed);
            }
            Step::Pop => {
                let found = if copied { copy_out.next() } else { in_place.next() };
                let found = found.unwrap().map(|record| {
                    let word = u64::from_le_bytes(record[..8].try_into().unwrap());
                    let number = (word >> 16) as u16;
                    assert_eq!(word >> 32, record.len() as u64);
                    assert!(record[8..].iter().all(|&byte| byte == number as u8), "torn");
                    assert!(record.as_ptr().addr().is_multiple_of(8));
                    (number, record.len())
                });
                let expected = published.pop_front();
                assert_eq!(found, expected);
                popped = expected.map_or(0, |(_, size)| popped + size);
            }
            Step::Release => {
                if copied {
                    copy_out.release()
                } else {
                    in_place.release()
                }
                popped = 0;
            }
        }
    }
    // What is left comes out in order, and then an empty ring takes its largest record, wherever it stands.
    producer.publish();
    published.append(&mut committed);
    while let Some(expected) = published.pop_front() {
        let found = if copied { copy_out.next() } else { in_place.next() };
        let found = found.unwrap().expect("a published record");
        assert_eq!(found.len(), expected.1);
    }
    let found = if copied { copy_out.next() } else { in_place.next() };
    assert!(found.unwrap().is_none());
    assert!(producer.reserve(record::max_record(capacity)).is_ok());
}

proptest! {
    #![proptest_config(common::config(2000))]

    #[test]
    fn behaves_like_a_queue(
        (capacity, steps) in (4_u32..13).prop_flat_map(|log| (Just(1_usize << log), steps(1 << log))),
        start in proptest::sample::select(&STARTS),
        copied: bool,
    ) {
        run(capacity, start, copied, &steps);
    }
}

#[test]
#[should_panic(expected = "torn")]
fn the_comparison_can_fail() {
    let pages = Pages::new(Start::default());
    let memory = Segment::new(64);
    // SAFETY: the only producer.
    let mut producer = unsafe { client::commands(pages.client(), pages.server(), memory.region()) };
    // SAFETY: the only consumer.
    let mut consumer = unsafe { server::commands_in_place(pages.server(), pages.client(), memory.region()) };
    let mut grant = producer.reserve(16).unwrap();
    grant[..8].copy_from_slice(&header(1, 7, 16).to_le_bytes());
    grant.commit();
    producer.publish();
    let record = consumer.next().unwrap().unwrap();
    assert!(record[8..].iter().all(|&byte| byte == 7), "torn");
}

#[test]
fn ordinals_count_records_and_no_pads() {
    let start = Start { cursor: 0_u64.wrapping_sub(24), ordinal: u64::MAX - 1 };
    let pages = Pages::new(start);
    let memory = Segment::new(32);
    // SAFETY: the only producer.
    let mut producer = unsafe { client::commands(pages.client(), pages.server(), memory.region()) };
    // SAFETY: the only consumer.
    let mut consumer = unsafe { server::commands_in_place(pages.server(), pages.client(), memory.region()) };
    for n in 1..=3_u16 {
        let mut grant = producer.reserve(16).unwrap();
        grant[..8].copy_from_slice(&header(1, n, 16).to_le_bytes());
        grant.commit();
        producer.publish();
        assert_eq!(producer.records(), start.ordinal.wrapping_add(n.into()));
        assert!(consumer.next().unwrap().is_some());
        assert_eq!(consumer.records(), n.into());
        assert!(consumer.next().unwrap().is_none());
    }
}
