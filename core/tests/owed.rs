//! Answers that are not there yet: owed, paid between batches, never lost, and never waited for by the apply
//! thread but when too many are owed.
#![cfg(all(feature = "trace", not(runahead_loom)))]

mod common;

use common::direct::{Direct, applier};
use runahead_rings::Status;
use runahead_wire::{
    Handle, ReplySpace, event,
    handle::Kind,
    payload::*,
    pipe::Pipe,
    values::{FenceWaitResult, QueryKind, StorageKind},
    zerocopy::IntoBytes,
};

fn fence(slot: u32) -> HandleOnly {
    HandleOnly { handle: Handle::new(slot, 1), kind: Kind::Fence.raw(), ..HandleOnly::default() }
}

fn space(number: u32, capacity: u32) -> Option<ReplySpace> {
    Some(ReplySpace { offset: number * 64, capacity, tag: 1, ..ReplySpace::default() })
}

fn wait(applier: &mut Direct, slot: u32, timeout_ns: u64, number: u32) {
    let wait = FenceWait { fence: Handle::new(slot, 1), timeout_ns, ..FenceWait::default() };
    applier.fence_wait(&wait, space(number, 8)).expect("a wait");
}

/// Answers so far, as number of the space, status and first byte.
fn answers(applier: &mut Direct) -> Vec<(u32, Status, Option<u8>)> {
    let sent = std::mem::take(&mut applier.outlet_mut().0.0.answers);
    sent.into_iter().map(|(offset, status, bytes)| (offset / 64, status, bytes.first().copied())).collect()
}

/// Events so far: names of the fences signalled, and bytes written back.
fn events(applier: &mut Direct) -> (Vec<u32>, usize) {
    let sent = std::mem::take(&mut applier.outlet_mut().0.0.events);
    let (mut fences, mut bytes) = (Vec::new(), 0);
    for words in sent {
        match event::Record::decode(words.as_bytes()).expect("a whole event") {
            event::Record::FenceSignaled(row) => fences.push(row.payload.fence.slot),
            event::Record::BufferWriteback(row) => bytes += row.bytes.len(),
            other => panic!("{other:?}"),
        }
    }
    (fences, bytes)
}

const OK: Status = Status::Ok;

fn result(result: FenceWaitResult) -> Option<u8> {
    Some(result.raw() as u8)
}

#[test]
fn a_fence_is_waited_for_without_blocking_and_reported_once() {
    let mut applier = applier();
    applier.backend_mut().pending = true;
    applier.fence_create(&fence(1)).expect("a fence");
    wait(&mut applier, 1, u64::MAX, 1);
    wait(&mut applier, 1, 0, 2);
    applier.poll(0).expect("nothing to pay");
    assert_eq!(
        answers(&mut applier),
        [(2, OK, result(FenceWaitResult::TimeoutExpired))],
        "a poll has no patience"
    );
    assert!(applier.owes() && !applier.needs_clock());
    applier.backend_mut().pending = false;
    applier.poll(0).expect("paid");
    assert_eq!(answers(&mut applier), [(1, OK, result(FenceWaitResult::ConditionSatisfied))]);
    assert_eq!(events(&mut applier).0, [1]);
    applier.poll(0).expect("nothing left");
    assert!(!applier.owes() && events(&mut applier).0.is_empty());
    wait(&mut applier, 1, 5, 3);
    assert_eq!(answers(&mut applier), [(3, OK, result(FenceWaitResult::AlreadySignaled))]);
}

#[test]
fn a_timeout_counts_from_the_first_look_at_the_clock() {
    let mut applier = applier();
    applier.backend_mut().pending = true;
    applier.fence_create(&fence(1)).expect("a fence");
    wait(&mut applier, 1, 100, 1);
    assert!(applier.needs_clock());
    for now in [1000, 1050, 1099] {
        applier.poll(now).expect("early");
        assert!(answers(&mut applier).is_empty(), "at {now}");
    }
    applier.poll(1100).expect("late");
    assert_eq!(answers(&mut applier), [(1, OK, result(FenceWaitResult::TimeoutExpired))]);
    assert!(!applier.needs_clock() && applier.owes(), "its signal is still to be reported");
}

#[test]
fn signals_come_in_the_order_of_creation_and_stop_at_the_first_that_waits() {
    let mut applier = applier();
    applier.fence_create(&fence(1)).expect("a fence");
    applier.backend_mut().pending = true;
    applier.fence_create(&fence(2)).expect("a fence");
    applier.fence_create(&fence(3)).expect("a fence");
    applier.backend_mut().pending = false;
    // Asked for by name, the second is known to be signalled; the first is still reported first.
    applier.fence_status(&fence(2), space(1, 8)).expect("an answer");
    applier.poll(0).expect("paid");
    assert_eq!(events(&mut applier).0, [1, 2, 3]);
}

#[test]
fn the_end_of_a_fence_or_query_declines_what_is_owed_for_it() {
    let mut applier = applier();
    applier.backend_mut().pending = true;
    applier.fence_create(&fence(1)).expect("a fence");
    wait(&mut applier, 1, u64::MAX, 1);
    applier.fence_destroy(&fence(1)).expect("its end");
    assert_eq!(answers(&mut applier), [(1, Status::Declined, None)]);

    let desc = QueryDesc { query: Handle::new(1, 1), kind: QueryKind::SamplesPassed.raw(), stream: 0 };
    applier.query_create(&desc).expect("a query");
    applier.query_begin(&desc).expect("begun");
    applier.query_end(&desc).expect("ended");
    let ask = |wait| QueryResultRequest { query: desc.query, wait, ..QueryResultRequest::default() };
    applier.query_result(&ask(0), space(2, 16)).expect("an answer");
    assert_eq!(answers(&mut applier), [(2, Status::Declined, None)], "not yet");
    applier.query_result(&ask(1), space(3, 16)).expect("owed");
    assert!(answers(&mut applier).is_empty());
    let query = HandleOnly { handle: desc.query, kind: Kind::Query.raw(), ..HandleOnly::default() };
    applier.query_destroy(&query).expect("its end");
    assert_eq!(answers(&mut applier), [(3, Status::Declined, None)]);
    applier.poll(0).expect("nothing left");
    assert!(!applier.owes());
}

#[test]
fn bytes_come_when_they_are_there_and_events_before_their_answer() {
    let mut applier = applier();
    applier
        .resource_create(&ResourceDesc {
            resource: Handle::new(1, 1),
            storage_kind: StorageKind::Buffer.raw() as u8,
            buf_size: 10_000,
            ..ResourceDesc::default()
        })
        .expect("a buffer");
    applier.backend_mut().pending = true;
    let read = Readback { resource: Handle::new(1, 1), offset: 0, size: 10_000 };
    applier.resource_readback(&read, space(1, 0)).expect("owed");
    let region = TexelBox { width: 2, height: 2, depth: 1, ..TexelBox::default() };
    let pixels = ReadbackInfo { region, dst_size: 16, ..ReadbackInfo::default() };
    applier.read_pixels(&pixels, space(2, 16)).expect("owed");
    applier.poll(0).expect("not yet");
    assert_eq!((answers(&mut applier), events(&mut applier).1), (vec![], 0));
    applier.backend_mut().pending = false;
    applier.poll(0).expect("paid");
    assert_eq!(events(&mut applier).1, 10_000);
    let mut paid = answers(&mut applier);
    paid.sort_by_key(|(number, ..)| *number);
    assert_eq!(paid, [(1, OK, None), (2, OK, Some(0))]);
}

#[test]
fn a_debt_too_many_is_waited_for_and_none_is_lost() {
    let mut applier = applier();
    applier.backend_mut().pending = true;
    applier.fence_create(&fence(1)).expect("a fence");
    for number in 0..200 {
        wait(&mut applier, 1, u64::MAX, number);
    }
    let at_once = answers(&mut applier);
    assert!(!at_once.is_empty() && at_once.len() < 200, "{} of 200 at once", at_once.len());
    applier.poll(0).expect("paid, since somebody waited for the fence");
    applier.backend_mut().pending = false;
    applier.poll(0).expect("paid");
    assert_eq!(at_once.len() + answers(&mut applier).len(), 200);
}

#[test]
fn what_is_owed_when_the_session_ends_becomes_an_error() {
    let mut applier = applier();
    applier.backend_mut().pending = true;
    applier.fence_create(&fence(1)).expect("a fence");
    wait(&mut applier, 1, u64::MAX, 1);
    let read = ReadbackInfo { dst_size: 4, ..ReadbackInfo::default() };
    applier.read_pixels(&read, space(2, 4)).expect("owed");
    let (backend, outlet) = applier.end();
    assert!(backend.is_ok());
    let statuses: Vec<_> = outlet.0.0.answers.iter().map(|(_, status, _)| *status).collect();
    assert_eq!(statuses, [Status::Error, Status::Error]);
}

#[test]
fn the_end_of_a_share_group_declines_its_debts_alone() {
    let mut applier = applier();
    applier.create_context(2, None).expect("another group");
    applier.backend_mut().pending = true;
    applier.fence_create(&fence(1)).expect("a fence");
    wait(&mut applier, 1, u64::MAX, 1);
    applier.bind_context(&BindContext { context: 2, ..BindContext::default() }).expect("current");
    applier.fence_create(&fence(1)).expect("the other group's");
    wait(&mut applier, 1, u64::MAX, 2);
    assert!(applier.destroy_context(2));
    assert_eq!(answers(&mut applier), [(2, Status::Declined, None)]);
    applier.backend_mut().pending = false;
    applier.poll(0).expect("paid");
    assert_eq!(answers(&mut applier), [(1, OK, result(FenceWaitResult::ConditionSatisfied))]);
}
