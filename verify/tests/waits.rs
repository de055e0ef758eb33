//! The strict lane: which records a client waits for is a list (`waits.txt`), and the list fails both ways.
//!
//! What the catalogue's columns allow is derived anew and must be the list; what a recorder really waits for, over
//! records of every row, must be the list too. So a new wait is red, and an entry that no longer happens is red.

#[path = "../../wire/tests/common/mod.rs"]
mod records;

use std::collections::BTreeSet;

use records::{PatternStage, Random, valid_record};
use runahead_core::{
    Fault, Mode, RecordError, Recorder,
    link::{Link, Look, Patience, Rest},
    wait::WaitState,
};
use runahead_rings::{CopyOut, Memory, Pages, ReplyClient, Start, Watermark, WatermarkWriter, session};
use runahead_verify::fuzz::Nowhere;
use runahead_wire::{
    BlobRef, Bulk, Row, Sink,
    catalogue::{Class, Wait},
    pipe::{self, Encoder, Op},
};

const LIST: &str = include_str!("waits.txt");

/// `mode row`, a line each.
type Waits = BTreeSet<(String, String)>;

fn entry(mode: &str, row: &str) -> (String, String) {
    (mode.to_owned(), row.to_owned())
}

fn listed(text: &str) -> Waits {
    let lines = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines
        .map(|line| line.split_once(' ').map(|(mode, row)| entry(mode, row)).expect("mode and row"))
        .collect()
}

/// What the columns allow: the present's credit, what is waited for until it was applied, and in lockstep every verb.
/// An answer is waited for by who asks, and never by the record.
fn derived() -> Waits {
    let mut waits = Waits::new();
    for op in Op::ALL {
        let (wait, class) = (op.info().wait, op.info().class);
        let always = matches!(wait, Wait::Applied | Wait::Present);
        if always {
            waits.insert(entry("run-ahead", op.name()));
        }
        if always || class == Class::Verb && wait == Wait::None {
            waits.insert(entry("lockstep", op.name()));
        }
    }
    waits
}

/// A server that is no other thread: it takes everything whenever its client waits.
#[derive(Debug)]
struct Serving<'a> {
    commands: CopyOut<'a>,
    marks: WatermarkWriter<'a>,
    applied: u64,
    presents: u64,
    waits: u64,
}

impl Link for Serving<'_> {
    fn published(&mut self, _: Rest) {}

    fn wait<T>(
        &mut self,
        _: Patience,
        mut ready: impl FnMut() -> Result<Look<T>, Fault>,
    ) -> Result<T, Fault> {
        self.waits += 1;
        while let Some(record) = self.commands.next()? {
            self.applied += 1;
            self.presents += u64::from(u16::from_le_bytes([record[0], record[1]]) == Op::Present.raw());
        }
        self.marks.publish(Watermark::Applied, self.applied);
        self.marks.publish(Watermark::Retired, self.applied);
        self.marks.publish(Watermark::CompletedFrame, self.presents);
        self.marks.publish(Watermark::PresentAck, self.presents);
        // Whatever was published is done: a wait that is not over now never is.
        ready()?.found.ok_or(Fault::PeerGone)
    }
}

/// A recorder that is watched: which rows it was given, and in which it waited.
struct Watched<'a> {
    recorder: Recorder<'a, Serving<'a>, Nowhere>,
    given: BTreeSet<&'static str>,
    waited: BTreeSet<&'static str>,
}

impl Sink for Watched<'_> {
    type Error = RecordError;

    fn stage(&mut self, bulk: Bulk<'_>) -> Result<BlobRef, RecordError> {
        self.recorder.stage(bulk)
    }

    fn record<'r, R: Row<'r>>(&mut self, row: &R) -> Result<(), RecordError> {
        let before = self.recorder.link().waits;
        self.recorder.record(row)?;
        self.given.insert(R::NAME);
        if self.recorder.link().waits != before {
            self.waited.insert(R::NAME);
        }
        Ok(())
    }
}

/// Gives a recorder records of the rows that `wanted` takes, more presents than its credit among them.
fn observed(mode: &str, run_ahead: bool, wanted: impl Fn(Op) -> bool) -> (BTreeSet<&'static str>, Waits) {
    // Large enough that nothing waits for room.
    let (commands, stage, replies, events) = (8 << 20, 4 << 20, 1 << 16, 1 << 16);
    let words = |bytes: usize| vec![0_u64; bytes / 8];
    let (mut own_commands, mut own_stage) = (words(commands), words(stage));
    let (mut own_replies, mut own_events) = (words(replies), words(events));
    let (mut record, mut event) = (words(commands / 2), words(events / 4));
    let mut bookkeeping = vec![0; ReplyClient::bookkeeping(replies)];
    let mut pages = Pages::new(Start::default());
    let memory = Memory {
        commands: &mut own_commands,
        stage: &mut own_stage,
        replies: &mut own_replies,
        events: &mut own_events,
        record: &mut record,
        event: &mut event,
        bookkeeping: &mut bookkeeping,
    };
    let ((client, _), (server, _)) = session(memory, &mut pages).expect("powers of two");
    let link = Serving { commands: server.commands, marks: server.marks, applied: 0, presents: 0, waits: 0 };
    let waits = WaitState {
        run_ahead,
        capture_open: false,
        server_owns_capture: true,
        server_reads_client_memory: false,
    };
    let recorder = Recorder::new(client, link, Nowhere::default(), Mode { waits, credit: 2 });
    let mut pipe = Encoder(Watched { recorder, given: BTreeSet::new(), waited: BTreeSet::new() });
    let (mut random, bulk) = (Random(7), PatternStage::new());
    for _ in 0..4 {
        for op in Op::ALL.iter().filter(|op| wanted(**op)) {
            let record = valid_record(op.info(), 3, &mut random);
            pipe::dispatch(record.as_ref(), &bulk, &mut pipe)
                .unwrap_or_else(|error| panic!("{}: {error:?}", op.name()));
        }
    }
    let waits = pipe.0.waited.iter().map(|row| entry(mode, row)).collect();
    (pipe.0.given, waits)
}

/// What is wrong with an observation, if anything is.
fn judge(list: &Waits, given: &BTreeSet<&'static str>, waits: &Waits) -> Result<(), String> {
    if let Some((mode, row)) = waits.difference(list).next() {
        return Err(format!("{mode}: a wait that is not on the list: {row}"));
    }
    if let Some((mode, row)) = list.difference(waits).next() {
        return Err(format!("{mode}: on the list, and never waited for: {row}"));
    }
    if let Some(op) = Op::ALL.iter().find(|op| !given.contains(op.name())) {
        return Err(format!("never given: {}", op.name()));
    }
    Ok(())
}

fn of(list: &Waits, mode: &str) -> Waits {
    list.iter().filter(|(listed, _)| listed == mode).cloned().collect()
}

#[test]
fn the_list_is_what_the_catalogue_allows() {
    assert_eq!(listed(LIST), derived());
}

#[test]
fn the_list_is_what_happens() {
    let list = listed(LIST);
    for (mode, run_ahead) in [("run-ahead", true), ("lockstep", false)] {
        let (given, waits) = observed(mode, run_ahead, |_| true);
        judge(&of(&list, mode), &given, &waits).unwrap();
    }
    assert_eq!(of(&list, "run-ahead"), [entry("run-ahead", "Present")].into(), "the credit and nothing else");
}

#[test]
fn the_lane_goes_red_both_ways() {
    let list = listed(LIST);
    let lockstep = of(&list, "lockstep");
    let (given, waits) = observed("lockstep", false, |_| true);
    let mut less = lockstep.clone();
    assert!(less.remove(&entry("lockstep", "Blit")));
    let new = judge(&less, &given, &waits).expect_err("negative control");
    assert_eq!(new, "lockstep: a wait that is not on the list: Blit");
    let mut more = lockstep.clone();
    more.insert(entry("lockstep", "ResourceCreate"));
    let stale = judge(&more, &given, &waits).expect_err("negative control");
    assert_eq!(stale, "lockstep: on the list, and never waited for: ResourceCreate");
    let (given, waits) = observed("run-ahead", true, |op| op != Op::Clear);
    let unseen = judge(&of(&list, "run-ahead"), &given, &waits).expect_err("negative control");
    assert_eq!(unseen, "never given: Clear");
    // The control arm's waits are none of the usual mode's.
    let (given, waits) = observed("run-ahead", false, |_| true);
    judge(&of(&list, "run-ahead"), &given, &waits).expect_err("negative control");
}
