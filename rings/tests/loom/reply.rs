//! Reply space: several answers outstanding, out of order, after applied has passed their records.

use runahead_rings::{
    Pending, ReplyClient, ReplySpace, Status, Watermark, client,
    mutant::{Mutant, on},
    server,
};

use crate::bed::{Bed, Bound, fill, model};

fn encode(space: ReplySpace) -> [u8; 8] {
    // Offsets are below 2^16 and every capacity is 8 in these models.
    (u64::from(space.offset) | u64::from(space.tag) << 32).to_le_bytes()
}

fn decode(record: &[u8]) -> ReplySpace {
    let word = u64::from_le_bytes(record[8..16].try_into().unwrap());
    ReplySpace { offset: word as u32, capacity: 8, tag: (word >> 32) as u32 }
}

fn arrived(replies: &ReplyClient<'_>, pending: &Pending, expected: u64) -> bool {
    let Some(answer) = replies.poll(pending).unwrap() else { return false };
    assert_eq!((answer.status, answer.size), (Status::Ok, 8));
    let mut bytes = [0; 8];
    replies.copy_to(pending, answer, &mut bytes);
    assert_eq!(u64::from_le_bytes(bytes), expected, "another record's answer");
    true
}

/// Records 1 and 2 ask, the server applies both, then answers 2; record 3 asks in the space that 2 gave back; the
/// server answers it, and 1 last of all. The client gave up on 1, but its space stays taken until it came.
fn out_of_order() {
    let bed = Bed::new(0, 8);
    let other = bed.clone();
    let serving = loom::thread::spawn(move || {
        let mut scratch = [0; 8];
        let mut commands =
            server::commands_copied(&other.server, &other.client, other.commands.region(), &mut scratch);
        // SAFETY: the model's only server.
        let mut watermarks = unsafe { server::watermarks(&other.server) };
        // SAFETY: as above.
        let mut replies = unsafe { server::replies(other.replies.region()) };
        let mut spaces = [ReplySpace { offset: 0, capacity: 0, tag: 0 }; 3];
        let mut next = |n: u64, spaces: &mut [ReplySpace; 3]| {
            let record = loop {
                if let Some(record) = commands.next().unwrap() {
                    break record;
                }
                loom::thread::yield_now();
            };
            spaces[n as usize - 1] = decode(record);
            watermarks.publish(Watermark::Applied, other.ordinal(n));
        };
        next(1, &mut spaces);
        next(2, &mut spaces);
        replies.answer(spaces[1], Status::Ok, &2_u64.to_le_bytes()).unwrap();
        next(3, &mut spaces);
        replies.answer(spaces[2], Status::Ok, &3_u64.to_le_bytes()).unwrap();
        replies.answer(spaces[0], Status::Ok, &1_u64.to_le_bytes()).unwrap();
    });

    // SAFETY: the model's only client.
    let mut producer = unsafe { client::commands(&bed.client, &bed.server, bed.commands.region()) };
    let mut used = [0; 1];
    let mut replies = client::replies(bed.replies.region(), &mut used);
    let mut ask = |replies: &mut ReplyClient<'_>, n| {
        let pending = replies.reserve(8).unwrap();
        let mut record = producer.reserve(16).unwrap();
        fill(&mut record, n);
        record[8..16].copy_from_slice(&encode(pending.space()));
        record.commit();
        producer.publish();
        pending
    };
    let first = ask(&mut replies, 1);
    let second = ask(&mut replies, 2);
    // Given up. The space is not free: the server still owes it an answer.
    let first = replies.release(first).err();
    while !arrived(&replies, &second, 2) {
        loom::thread::yield_now();
    }
    replies.release(second).unwrap();
    let third = ask(&mut replies, 3);
    while !arrived(&replies, &third, 3) {
        loom::thread::yield_now();
    }
    if let Some(first) = first {
        while !arrived(&replies, &first, 1) {
            loom::thread::yield_now();
        }
        replies.release(first).unwrap();
    } else {
        assert!(on(Mutant::ReplyFreedUnread));
        // Whoever freed the space reads its own answer as long as it likes.
        for _ in 0..2 {
            assert!(arrived(&replies, &third, 3));
            loom::thread::yield_now();
        }
    }
    replies.release(third).unwrap();
    serving.join().unwrap();
}

model!(
    answers_out_of_order,
    Bound::Exhaustive,
    catches [ReplyStatusRelaxed, ReplyStatusBeforeBytes, ReplyPollWithoutAcquire, ReplyTagKept, ReplyFreedUnread],
    out_of_order
);
