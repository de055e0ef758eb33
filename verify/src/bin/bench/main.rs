//! Benches: `bench rings`, `bench codec`, `bench core`, `bench sessions`, `bench gles`, `bench apps`; with `--json` one object a line.
//!
//! Every figure stands beside what it is measured against, taken in the same interleaved rounds; absolute
//! figures move with the neighbours on a shared machine, ratios far less.

mod apps;
mod bare;
mod codec;
mod gles;
mod halves;
mod instructions;
mod latency;
mod ours;
mod peers;
mod report;
mod rings;
mod sessions;
mod work;

use std::process::ExitCode;

use report::Report;

const USAGE: &str = "\
usage: bench (rings | codec | core | sessions | gles | apps) [--only TEXT] [--json] [--rounds N] [--gate]
  rings      throughput, latency and wake-ups of the rings, beside bare memory and other rings
  codec      instructions and time to encode, decode and dispatch records
  core       instructions of a tracked draw and of applying it; frames through both halves
  sessions   the same frames in one call, two threads and two processes; wake-ups, system calls, answers
  gles       applying on OpenGL ES: a draw without its driver; frames and updates by topology
  apps       frames a second of programs off the shelf, on the system's driver and on Runahead
  --only     the tables whose titles contain TEXT
  --json     one JSON object a line instead of a table
  --rounds   interleaved rounds, medians of which are printed (default 15)
  --gate     exit with an error if a goal is missed";

struct Options {
    suite: String,
    only: String,
    json: bool,
    gate: bool,
    rounds: usize,
}

fn parse(mut arguments: impl Iterator<Item = String>) -> Result<Options, String> {
    let suite = arguments.next().ok_or("no bench named")?;
    let mut options = Options { suite, only: String::new(), json: false, gate: false, rounds: 15 };
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--json" => options.json = true,
            "--gate" => options.gate = true,
            "--only" => options.only = arguments.next().ok_or("--only needs a text")?,
            "--rounds" => {
                let rounds = arguments.next().and_then(|rounds| rounds.parse().ok());
                options.rounds =
                    rounds.filter(|&rounds| rounds > 0).ok_or("--rounds needs a number of at least 1")?;
            }
            other => return Err(format!("unknown argument `{other}`")),
        }
    }
    Ok(options)
}

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1).peekable();
    if arguments.peek().is_some_and(|first| first == instructions::WORKER) {
        return instructions::worker(arguments.skip(1));
    }
    if arguments.peek().is_some_and(|first| first == sessions::WORKER) {
        return sessions::worker(arguments.skip(1));
    }
    let outcome = parse(arguments).and_then(|options| {
        let mut report = Report::new(options.json, options.only);
        match options.suite.as_str() {
            "rings" => rings::run(&mut report, options.rounds),
            "codec" => codec::run(&mut report, options.rounds)?,
            "core" => halves::run(&mut report, options.rounds)?,
            "sessions" => sessions::run(&mut report, options.rounds)?,
            "gles" => gles::run(&mut report, options.rounds)?,
            "apps" => apps::run(&mut report, options.rounds)?,
            other => return Err(format!("unknown bench `{other}`")),
        }
        Ok((report.finish(), options.gate))
    });
    match outcome {
        Ok((all_met, gate)) if all_met || !gate => ExitCode::SUCCESS,
        Ok(_) => ExitCode::FAILURE,
        Err(error) => {
            report::complain(&format!("bench: {error}\n{USAGE}"));
            ExitCode::from(2)
        }
    }
}
