//! Instruction counts by callgrind: repeatable where time is not.
//!
//! The bench starts itself under valgrind as a worker that repeats a task; callgrind counts inside one function
//! alone, whatever that calls included.

use std::{
    hint::black_box,
    process::{Command, ExitCode},
    time::Duration,
};

use runahead_linux::doorbell::FutexDoorbell;
use runahead_rings::{CopyOut, InPlace, Producer, record};
use runahead_verify::steady::draw;
use runahead_wire::{
    NoStage, Row,
    payload::{DrawInfo, DrawRange},
    pipe::{self, rows},
};

use crate::{
    codec::Empty,
    gles, halves,
    ours::{Session, push},
    report::complain,
    work::Template,
};

/// First argument of a worker.
pub const WORKER: &str = "instruction-worker";

const RING: usize = 1 << 20;
/// More than fits the ring at once, so that wraps and looks at the other side are counted too.
const LAPS: usize = 4;
const RECORDS: u64 = 5_000;
const SCRATCH: usize = 1 << 13;

/// A function whose instructions are counted, each call inclusive.
#[derive(Clone, Copy, Debug)]
pub enum Counted {
    /// Encodes a draw into the command ring and commits it.
    EncodeDraw,
    /// Takes copies of all draws, decodes them with all checks and dispatches them to an empty pipe.
    DispatchDraws,
    /// Pushes a record of 80 bytes.
    PushRecord,
    /// Consumes all records in place without looking at their content.
    TakeInPlace,
    /// Consumes copies of all records without looking at their content.
    TakeCopies,
    /// Draws through the tracker with nothing changed.
    TrackAndDraw,
    /// Rebinds a uniform buffer and draws through the tracker.
    RebindAndDraw,
    /// Sets uniforms and draws through the tracker.
    SetUniformsAndDraw,
    /// Copies, decodes and applies all draws to the null backend.
    ApplyDraws,
    /// Applies a draw on OpenGL ES, over functions that return at once.
    ApplyToGles,
}

impl Counted {
    const ALL: [Self; 10] = [
        Self::EncodeDraw,
        Self::DispatchDraws,
        Self::PushRecord,
        Self::TakeInPlace,
        Self::TakeCopies,
        Self::TrackAndDraw,
        Self::RebindAndDraw,
        Self::SetUniformsAndDraw,
        Self::ApplyDraws,
        Self::ApplyToGles,
    ];

    /// Path of the function within this program.
    const fn path(self) -> &'static str {
        match self {
            Self::EncodeDraw => "instructions::encode_draw",
            Self::DispatchDraws => "instructions::dispatch_draws",
            Self::PushRecord => "instructions::push_record",
            Self::TakeInPlace => "instructions::take_in_place",
            Self::TakeCopies => "instructions::take_copies",
            Self::TrackAndDraw => "halves::tracked_draw",
            Self::RebindAndDraw => "halves::rebound_draw",
            Self::SetUniformsAndDraw => "halves::uniform_draw",
            Self::ApplyDraws => "halves::apply_all",
            Self::ApplyToGles => "gles::steady_draw",
        }
    }

    /// Instructions of one call.
    ///
    /// # Errors
    /// What is wrong with valgrind, or with its answer.
    pub fn count(self) -> Result<f64, String> {
        let program = std::env::current_exe().map_err(|error| format!("own path: {error}"))?;
        let output = Command::new("valgrind")
            .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
            .arg(format!("--toggle-collect=bench::{}", self.path()))
            .arg(program)
            .args([WORKER, self.path()])
            .output()
            .map_err(|error| format!("valgrind counts the instructions and cannot be started: {error}"))?;
        let text = String::from_utf8_lossy(&output.stderr);
        if !output.status.success() {
            return Err(format!("valgrind failed: {text}"));
        }
        let total: u64 = text
            .lines()
            .find_map(|line| line.split("Collected :").nth(1)?.trim().parse().ok())
            .ok_or_else(|| format!("valgrind printed no count: {text}"))?;
        let calls = RECORDS * LAPS as u64;
        if total < calls {
            return Err(format!(
                "callgrind counted {total} instructions in {calls} calls of {}",
                self.path()
            ));
        }
        Ok(total as f64 / calls as f64)
    }
}

/// The worker's own main.
pub fn worker(mut arguments: impl Iterator<Item = String>) -> ExitCode {
    let name = arguments.next().unwrap_or_default();
    let Some(function) = Counted::ALL.into_iter().find(|function| function.path() == name) else {
        return ExitCode::from(2);
    };
    if function.path().starts_with("gles::") {
        return match gles::apply_draws(RECORDS * LAPS as u64, || Duration::ZERO) {
            Ok(_) => ExitCode::SUCCESS,
            Err(error) => {
                complain(&error);
                ExitCode::FAILURE
            }
        };
    }
    if function.path().starts_with("halves::") {
        halves::work(function, LAPS, RECORDS);
        return ExitCode::SUCCESS;
    }
    let session = Session::new(RING);
    let mut scratch = vec![0; SCRATCH];
    let mut producer = session.commands();
    let mut in_place = session.commands_in_place();
    let mut copied = session.commands_copied(&mut scratch);
    let (mut info, ranges) = draw();
    let template = Template::new(68);
    let (mut ringer, mut pipe) = (session.client_ringer(), Empty::default());
    for lap in 0..LAPS {
        for sequence in 0..RECORDS {
            info.start_instance = sequence as u32;
            match function {
                Counted::EncodeDraw | Counted::DispatchDraws => {
                    encode_draw(&mut producer, black_box(&info), black_box(&ranges));
                }
                _ => push_record(&mut producer, &template, template.len(), sequence),
            }
            if producer.pending() >= record::BATCH {
                producer.publish();
                ringer.ring(&FutexDoorbell);
            }
        }
        producer.publish();
        let mut taken = 0;
        match function {
            Counted::DispatchDraws => dispatch_draws(&mut copied, &mut pipe),
            Counted::TakeCopies => take_copies(&mut copied),
            _ => take_in_place(&mut in_place),
        }
        taken += copied.records().max(in_place.records());
        assert!(taken == RECORDS * (lap as u64 + 1), "{taken} records arrived in {} laps", lap + 1);
    }
    ExitCode::SUCCESS
}

#[inline(never)]
pub fn encode_draw(producer: &mut Producer<'_>, info: &DrawInfo, ranges: &[DrawRange]) {
    let row = rows::DrawVbo { payload: info, ranges, indirect: &[] };
    if row.is_short()
        && let Some(mut room) = row.encoded_len().and_then(|len| producer.reserve_at_hand(len))
        && row.encode(&mut room)
    {
        return room.commit();
    }
    encode_draw_the_long_way(producer, info, ranges);
}

#[cold]
#[inline(never)]
fn encode_draw_the_long_way(producer: &mut Producer<'_>, info: &DrawInfo, ranges: &[DrawRange]) {
    let row = rows::DrawVbo { payload: info, ranges, indirect: &[] };
    let Some(len) = row.encoded_len() else { panic!("a draw that cannot be encoded") };
    match producer.reserve(len) {
        Ok(mut grant) => {
            assert!(row.encode(&mut grant), "a draw that does not fit its own length");
            grant.commit();
        }
        Err(error) => panic!("{error}"),
    }
}

/// A server's inner loop: everything that is published.
#[inline(never)]
pub fn dispatch_draws(consumer: &mut CopyOut<'_>, pipe: &mut Empty) {
    while let Some(bytes) = consumer.next().expect("no fault") {
        if let Err(error) = pipe::dispatch(bytes, &NoStage, pipe) {
            panic!("{error}");
        }
    }
}

#[inline(never)]
fn push_record(producer: &mut Producer<'_>, template: &Template, len: usize, sequence: u64) {
    push(producer, template, len, sequence, |_| unreachable!("the ring takes a lap"));
}

#[inline(never)]
fn take_in_place(consumer: &mut InPlace<'_>) {
    while let Some(bytes) = consumer.next().expect("no fault") {
        black_box(bytes.as_ptr());
    }
}

#[inline(never)]
fn take_copies(consumer: &mut CopyOut<'_>) {
    while let Some(bytes) = consumer.next().expect("no fault") {
        black_box(bytes.as_ptr());
    }
}
