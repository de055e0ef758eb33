//! The caps snapshot and the wait classes.
#![cfg(not(runahead_loom))]

mod common;

use common::heap::Heap;
use runahead_core::{
    caps::{CapsSnapshot, Update, UpdateError},
    storage::Inline,
    wait::{Facts, WaitState, barriered},
};
use runahead_wire::{
    caps::{CapsHead, CapsLimits, CapsTexts, CapsView},
    catalogue::{Class, Wait},
    pipe::Op,
    record::FLAG_REPLY,
    values::{BackendKind, CapsBits},
};

fn blob(generation: u64, bits: CapsBits) -> Vec<u8> {
    let head =
        CapsHead { generation, bits: bits.raw(), backend: BackendKind::Gles.raw(), ..CapsHead::default() };
    let limits = CapsLimits { max_texture_size: generation as u32 * 1000, ..CapsLimits::default() };
    let texts = CapsTexts { renderer: "test", ..CapsTexts::default() };
    let caps = CapsView::new(head, &limits, &[], &texts).expect("within limits");
    let mut blob = vec![0; caps.encoded_len()];
    assert!(caps.encode(&mut blob));
    blob
}

const AHEAD: CapsBits = CapsBits::RUN_AHEAD_APPLY;

#[test]
fn the_placeholder_answers_and_decides_nothing() {
    let caps: CapsSnapshot<Heap> = CapsSnapshot::new(true);
    assert_eq!((caps.generation(), caps.runs_ahead()), (0, false));
    let view = caps.view();
    assert_eq!(view.head().backend(), Some(BackendKind::Unknown));
    assert_eq!((view.limits().max_texture_size, view.limits().max_vertex_attribs), (64, 8));
}

#[test]
fn running_ahead_is_decided_by_the_first_real_blob_and_only_taken_back() {
    let mut caps: CapsSnapshot<Heap> = CapsSnapshot::new(true);
    assert_eq!(caps.update(&blob(1, AHEAD)), Ok(Update::First));
    assert!(caps.runs_ahead());
    assert_eq!(
        caps.update(&blob(1, CapsBits::EMPTY)),
        Ok(Update::Unchanged),
        "the same generation says nothing new"
    );
    assert!(caps.runs_ahead());
    assert_eq!(caps.update(&blob(2, CapsBits::EMPTY)), Ok(Update::Replaced { demoted: true }));
    assert_eq!(caps.update(&blob(3, AHEAD)), Ok(Update::Replaced { demoted: false }));
    assert!(!caps.runs_ahead(), "once taken back it does not return");
    assert_eq!((caps.generation(), caps.view().limits().max_texture_size), (3, 3000));
}

#[test]
fn a_client_that_does_not_wish_to_run_ahead_never_does() {
    let mut caps: CapsSnapshot<Heap> = CapsSnapshot::new(false);
    caps.update(&blob(1, AHEAD)).expect("a blob");
    assert!(!caps.runs_ahead());
    let mut caps: CapsSnapshot<Heap> = CapsSnapshot::new(true);
    caps.demote();
    caps.update(&blob(1, AHEAD)).expect("a blob");
    assert!(!caps.runs_ahead());
}

#[test]
fn what_is_no_newer_blob_leaves_the_caps_as_they_are() {
    let mut caps: CapsSnapshot<Heap> = CapsSnapshot::new(true);
    caps.update(&blob(5, AHEAD)).expect("a blob");
    let text = |outcome: Result<Update, UpdateError>| outcome.expect_err("refused").to_string();
    assert_eq!(text(caps.update(&blob(4, AHEAD))), "ProtocolCorruption(\"CapsHead.Generation\")");
    let whole = blob(6, AHEAD);
    let cut = text(caps.update(&whole[..whole.len() - 1]));
    assert_eq!(cut, "ProtocolCorruption(\"CapsHead.Size\")");
    assert_eq!((caps.generation(), caps.view().texts().renderer), (5, "test"));
    let mut small: CapsSnapshot<Inline<1, 64>> = CapsSnapshot::new(true);
    assert_eq!(small.update(&blob(1, AHEAD)), Err(UpdateError::OutOfMemory));
    assert_eq!(small.generation(), 0);
}

#[test]
fn only_asked_answers_wait_where_the_client_runs_ahead() {
    let ahead = WaitState::new(AHEAD | CapsBits::BACKEND_OWNS_XFB_CAPTURE, true);
    let now = Facts { asks_now: true, ..Facts::default() };
    for op in Op::ALL {
        assert!(!barriered(*op, 0, Facts::default(), ahead), "{op:?} waits");
        let asked = barriered(*op, FLAG_REPLY, now, ahead);
        assert_eq!(asked, op.info().wait == Wait::Reply, "{op:?}");
        assert!(
            !barriered(*op, FLAG_REPLY, Facts::default(), ahead),
            "{op:?}: an answer that may come later"
        );
        assert!(!barriered(*op, 0, now, ahead), "{op:?}: no reply space, no answer to wait for");
    }
}

#[test]
fn lockstep_waits_for_verbs_and_a_present_for_its_credit_alone() {
    let lockstep = WaitState::new(AHEAD, false);
    for op in Op::ALL {
        let verb = op.info().class == Class::Verb && op.info().wait == Wait::None;
        assert_eq!(barriered(*op, 0, Facts::default(), lockstep), verb, "{op:?}");
    }
    assert!(!barriered(Op::Present, 0, Facts::default(), lockstep));
}

#[test]
fn an_open_capture_waits_unless_the_server_owns_it() {
    let open = |bits| WaitState { capture_open: true, ..WaitState::new(bits, true) };
    assert!(barriered(Op::DrawVbo, 0, Facts::default(), open(AHEAD)));
    assert!(!barriered(Op::SetPatchState, 0, Facts::default(), open(AHEAD)), "no verb");
    assert!(!barriered(Op::DrawVbo, 0, Facts::default(), open(AHEAD | CapsBits::BACKEND_OWNS_XFB_CAPTURE)));
}

#[test]
fn client_arrays_wait_where_a_server_reads_client_memory() {
    let arrays = Facts { client_arrays: true, ..Facts::default() };
    let ours = WaitState::new(AHEAD, true);
    assert!(!barriered(Op::DrawVbo, 0, arrays, ours), "ours never does");
    let reads = WaitState { server_reads_client_memory: true, ..ours };
    assert!(barriered(Op::DrawVbo, 0, arrays, reads));
    assert!(!barriered(Op::DrawVbo, 0, Facts::default(), reads));
}
