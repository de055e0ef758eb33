//! Measuring sessions, each topology in turn.

use std::{fmt::Write, time::Duration};

use runahead_linux::session::{Config, Topology};
use runahead_verify::sessions::{Before, answers, busy_rate, median, steady};
use serde_json::json;

/// Frames of a round, of 7,500 commands and of 3,550 busy draws.
const FRAMES: u64 = 100;
const BUSY_FRAMES: u64 = 5;
/// Questions of a round, to a server that is awake and to one that sleeps.
const QUESTIONS: usize = 3_000;
const FEW_QUESTIONS: usize = 200;
/// How long the client sleeps before a question that should find the server asleep.
const REST: Duration = Duration::from_micros(500);

/// A figure, and what it is compared with.
#[derive(Clone, Copy, Debug)]
pub struct Figure {
    bench: &'static str,
    case: &'static str,
    value: f64,
    unit: &'static str,
    against: Option<(&'static str, f64)>,
}

/// One case: what it is called, and how a round of it goes.
struct Case {
    bench: &'static str,
    case: &'static str,
    unit: &'static str,
    against: Option<&'static str>,
    topology: Topology,
    round: fn(&Config) -> Result<f64, String>,
}

fn frame(config: &Config) -> Result<f64, String> {
    steady(config, FRAMES).map(|steady| steady.frame_ms)
}

fn overlap(config: &Config) -> Result<f64, String> {
    busy_rate(config, BUSY_FRAMES)
}

fn awake(config: &Config) -> Result<f64, String> {
    answers(config, Before::Nothing, QUESTIONS).map(|answers| answers.microseconds)
}

fn asleep(config: &Config) -> Result<f64, String> {
    answers(config, Before::Sleep(REST), FEW_QUESTIONS).map(|answers| answers.microseconds)
}

fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for (bench, unit, round) in
        [("frame", "ms", frame as fn(&Config) -> Result<f64, String>), ("overlap", "fps", overlap)]
    {
        for topology in Topology::ALL {
            let against = (*topology != Topology::Direct).then_some(Topology::Direct.name());
            cases.push(Case { bench, case: topology.name(), unit, against, topology: *topology, round });
        }
    }
    for (case, topology, round) in [
        ("inproc", Topology::Inproc, awake as fn(&Config) -> Result<f64, String>),
        ("spawn", Topology::Spawn, awake),
        ("inproc, asleep", Topology::Inproc, asleep),
        ("spawn, asleep", Topology::Spawn, asleep),
    ] {
        cases.push(Case { bench: "answer", case, unit: "us", against: None, topology, round });
    }
    cases
}

/// Measures every case in so many rounds.
///
/// # Errors
/// The sentence for the user.
pub fn measure(config: &Config, rounds: usize) -> Result<Vec<Figure>, String> {
    let cases = cases();
    let mut values = vec![Vec::new(); cases.len()];
    for _ in 0..rounds {
        for (case, values) in cases.iter().zip(&mut values) {
            values.push((case.round)(&Config { topology: case.topology, ..config.clone() })?);
        }
    }
    let medians: Vec<f64> = values.iter_mut().map(|values| median(values)).collect();
    let of = |bench: &str, name: &'static str| {
        let at = cases.iter().position(|case| case.bench == bench && case.case == name)?;
        Some((name, medians[at]))
    };
    let figure = |(case, value): (&Case, &f64)| Figure {
        bench: case.bench,
        case: case.case,
        value: *value,
        unit: case.unit,
        against: case.against.and_then(|name| of(case.bench, name)),
    };
    Ok(cases.iter().zip(&medians).map(figure).collect())
}

/// An object a line.
pub fn json(figures: &[Figure]) -> String {
    let line = |figure: &Figure| {
        let object = json!({
            "bench": figure.bench,
            "case": figure.case,
            "value": figure.value,
            "unit": figure.unit,
            "against": figure.against.map(|(name, _)| name),
            "ratio": figure.against.map(|(_, value)| figure.value / value),
            "goal": null,
            "ok": true,
        });
        format!("{object}\n")
    };
    figures.iter().map(line).collect()
}

/// A table.
pub fn text(figures: &[Figure]) -> String {
    let mut out = format!("{:<9} {:<16} {:>10} {:<4} {:>7}\n", "bench", "case", "value", "unit", "ratio");
    for Figure { bench, case, value, unit, against } in figures {
        let ratio =
            against.map_or(String::new(), |(name, other)| format!("{:>7.2} of {name}", value / other));
        let line = format!("{bench:<9} {case:<16} {value:>10.2} {unit:<4} {ratio}");
        // A string takes what is written to it.
        let _ = writeln!(out, "{}", line.trim_end());
    }
    out
}
