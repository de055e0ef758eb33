//! `bench codec`: what a record costs to encode, and to copy out, decode and dispatch.

use std::{convert::Infallible, hint::black_box, time::Instant};

use runahead_verify::steady::draw;
use runahead_wire::{BlobRef, Bulk, Row, Sink, pipe};

use crate::{
    instructions::{Counted, dispatch_draws, encode_draw},
    ours::Session,
    report::{Case, Goal, Report},
    work::{median, pin},
};

/// A pipe that does nothing.
pub type Empty = pipe::Encoder<Nothing>;

/// The sink behind [`Empty`].
#[derive(Clone, Copy, Debug, Default)]
pub struct Nothing;

impl Sink for Nothing {
    type Error = Infallible;

    #[inline(always)]
    fn stage(&mut self, bulk: Bulk<'_>) -> Result<BlobRef, Infallible> {
        black_box(bulk.len());
        Ok(BlobRef::NONE)
    }

    #[inline(always)]
    fn record<'a, R: Row<'a>>(&mut self, _row: &R) -> Result<(), Infallible> {
        Ok(())
    }
}

const INSTRUCTIONS: &str = "codec: instructions";
const TIME: &str = "codec: time";

pub fn run(report: &mut Report, rounds: usize) -> Result<(), String> {
    if report.wants(INSTRUCTIONS) {
        instructions(report)?;
    }
    if report.wants(TIME) {
        time(report, rounds);
    }
    Ok(())
}

fn instructions(report: &mut Report) -> Result<(), String> {
    let case = Case {
        bench: INSTRUCTIONS,
        case: "",
        value: 0.0,
        unit: "instr",
        against: "",
        ratio: 0.0,
        goal: Goal::None,
    };
    for (name, function, goal) in [
        ("DrawVbo, encode and commit", Counted::EncodeDraw, Goal::AtMost(60.0)),
        ("DrawVbo, copy out, decode, dispatch", Counted::DispatchDraws, Goal::AtMost(120.0)),
        ("80-byte record, push", Counted::PushRecord, Goal::None),
        ("80-byte record, take in place", Counted::TakeInPlace, Goal::None),
        ("80-byte record, take a copy", Counted::TakeCopies, Goal::None),
    ] {
        report.add(&Case { case: name, value: function.count()?, goal, ..case });
    }
    Ok(())
}

/// One thread, a ring that stays in the cache: the code alone.
fn time(report: &mut Report, rounds: usize) {
    const DRAWS: u64 = 10_000;
    const LAPS: u64 = 20;
    pin(0);
    let session = Session::new(1 << 20);
    let (info, ranges) = draw();
    let mut producer = session.commands();
    let mut scratch = vec![0; 1 << 16];
    let mut consumer = session.commands_copied(&mut scratch);
    let (mut encoding, mut dispatching) = (Vec::new(), Vec::new());
    for _ in 0..rounds {
        let (mut encode, mut dispatch) = (0.0, 0.0);
        for _ in 0..LAPS {
            let start = Instant::now();
            for _ in 0..DRAWS {
                encode_draw(&mut producer, black_box(&info), black_box(&ranges));
            }
            producer.publish();
            encode += start.elapsed().as_secs_f64();
            let (start, before) = (Instant::now(), consumer.records());
            dispatch_draws(&mut consumer, &mut Empty::default());
            dispatch += start.elapsed().as_secs_f64();
            let arrived = consumer.records() - before;
            assert!(arrived == DRAWS, "{arrived} of {DRAWS} draws arrived");
        }
        encoding.push(encode * 1e9 / (DRAWS * LAPS) as f64);
        dispatching.push(dispatch * 1e9 / (DRAWS * LAPS) as f64);
    }
    for (name, values) in [
        ("DrawVbo, encode and commit", &mut encoding),
        ("DrawVbo, copy out, decode, dispatch", &mut dispatching),
    ] {
        report.add(&Case {
            bench: TIME,
            case: name,
            value: median(values),
            unit: "ns",
            against: "",
            ratio: 0.0,
            goal: Goal::None,
        });
    }
}
