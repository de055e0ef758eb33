//! Reply space: what is outstanding is never handed out again, and stale bytes never read as an answer.
#![cfg(not(runahead_loom))]

mod common;

use common::Segment;
use proptest::prelude::*;
use runahead_rings::{Answer, Fault, Pending, ReplyClient, ReplyError, ReplySpace, Status, client, server};

const LEN: usize = 4096;

struct Outstanding {
    pending: Pending,
    content: Vec<u8>,
    answered: bool,
}

#[derive(Clone, Debug)]
enum Step {
    Reserve(u32),
    /// Answer the n-th outstanding one with so many bytes less than it may have.
    Answer(usize, u32),
    /// Take the n-th outstanding one, arrived or not.
    Take(usize),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (0_u32..200).prop_map(Step::Reserve),
        1 => (0_u32..5000).prop_map(Step::Reserve),
        4 => (any::<usize>(), 0_u32..50).prop_map(|(which, less)| Step::Answer(which, less)),
        4 => any::<usize>().prop_map(Step::Take),
    ]
}

proptest! {
    #![proptest_config(common::config(1000))]

    #[test]
    fn answers_keep_apart(steps in proptest::collection::vec(step(), 1..300), noise: u64) {
        let memory = Segment::new(LEN);
        // Whatever an earlier use left behind.
        for at in (0..LEN).step_by(8) {
            memory.poke(at, noise.rotate_left(at as u32));
        }
        let mut used = vec![0; ReplyClient::bookkeeping(LEN)];
        let mut replies = client::replies(memory.region(), &mut used);
        // SAFETY: the only server.
        let mut answers = unsafe { server::replies(memory.region()) };
        let mut outstanding: Vec<Outstanding> = Vec::new();
        let mut number = 0_u8;
        for step in steps {
            match step {
                Step::Reserve(capacity) => match replies.reserve(capacity) {
                    Ok(pending) => {
                        prop_assert_eq!(answers.check(pending.space()), Ok(()));
                        outstanding.push(Outstanding { pending, content: Vec::new(), answered: false });
                    }
                    Err(ReplyError::TooLarge) => prop_assert!(capacity > replies.max_answer()),
                    Err(ReplyError::Full) => prop_assert!(!outstanding.is_empty()),
                },
                Step::Answer(which, less) if !outstanding.is_empty() => {
                    let index = which % outstanding.len();
                    let one = &mut outstanding[index];
                    if !one.answered {
                        number = number.wrapping_add(1);
                        let space = one.pending.space();
                        one.content = vec![number; space.capacity.saturating_sub(less) as usize];
                        one.answered = true;
                        answers.answer(space, Status::Ok, &one.content).unwrap();
                    }
                }
                Step::Take(which) if !outstanding.is_empty() => {
                    let one = outstanding.swap_remove(which % outstanding.len());
                    match replies.release(one.pending) {
                        Ok(()) => prop_assert!(one.answered),
                        Err(pending) => {
                            prop_assert!(!one.answered);
                            outstanding.push(Outstanding { pending, ..one });
                        }
                    }
                }
                _ => {}
            }
            for one in &outstanding {
                let answer = replies.poll(&one.pending).unwrap();
                if !one.answered {
                    prop_assert_eq!(answer, None, "stale bytes read as an answer");
                    continue;
                }
                let size = one.content.len() as u32;
                let answer = answer.expect("an answer that was given");
                prop_assert_eq!(answer, Answer { status: Status::Ok, size });
                let mut copy = vec![0; one.content.len()];
                replies.copy_to(&one.pending, answer, &mut copy);
                prop_assert_eq!(&copy, &one.content, "overwritten unread");
            }
        }
        for one in outstanding {
            answers.answer(one.pending.space(), Status::Declined, &[]).unwrap();
            replies.release(one.pending).unwrap();
        }
        prop_assert_eq!(replies.in_use(), 0);
        prop_assert!(replies.reserve(replies.max_answer()).is_ok(), "room was lost");
    }
}

#[test]
fn spaces_and_answers_that_cannot_be() {
    let memory = Segment::new(LEN);
    // SAFETY: the only server.
    let mut answers = unsafe { server::replies(memory.region()) };
    let len = LEN as u32;
    for (offset, capacity, field) in [
        (len, 0, "Offset"),
        (u32::MAX, 0, "Offset"),
        (8, 8, "Offset"),
        (len - 64, 57, "Capacity"),
        (0, len - 7, "Capacity"),
        (64, u32::MAX, "Capacity"),
    ] {
        let space = ReplySpace { offset, capacity, tag: 1 };
        let fault = Fault::Corrupt { place: "Reply", field };
        assert_eq!(answers.check(space), Err(fault));
        assert_eq!(answers.answer(space, Status::Ok, &[]), Err(fault));
    }
    let whole = ReplySpace { offset: 0, capacity: len - 8, tag: 1 };
    assert_eq!(answers.answer(whole, Status::Ok, &vec![1; LEN - 8]), Ok(()), "control");
    let fault = Fault::Corrupt { place: "Reply", field: "Capacity" };
    assert_eq!(answers.answer(whole, Status::Ok, &vec![1; LEN - 7]), Err(fault));

    let mut used = vec![0; ReplyClient::bookkeeping(LEN)];
    let mut replies = client::replies(memory.region(), &mut used);
    let pending = replies.reserve(16).unwrap();
    let space = pending.space();
    let word = |status: u64, size: u64| u64::from(space.tag) << 32 | status << 30 | size;
    for (value, field) in [(word(0, 0), "Status"), (word(1, 17), "Size"), (word(3, (1 << 30) - 1), "Size")] {
        memory.poke(space.offset as usize, value);
        assert_eq!(replies.poll(&pending), Err(Fault::Corrupt { place: "Reply", field }));
    }
    memory.poke(space.offset as usize, word(2, 0));
    assert_eq!(replies.poll(&pending), Ok(Some(Answer { status: Status::Declined, size: 0 })), "control");
}

#[test]
fn bookkeeping_shorter_than_the_segment() {
    let memory = Segment::new(1 << 16);
    let mut used = [0; 1];
    let mut replies = client::replies(memory.region(), &mut used);
    assert_eq!(replies.max_answer(), 64 * 64 - 8);
    let all: Vec<_> = (0..64).map(|_| replies.reserve(8).unwrap()).collect();
    assert_eq!(replies.reserve(8), Err(ReplyError::Full));
    assert_eq!(all.len() as u32, replies.in_use());
}
