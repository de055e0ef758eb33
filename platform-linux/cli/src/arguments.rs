//! What the command line asks for.

use std::{ffi::OsString, ops::RangeInclusive, path::PathBuf};

use runahead_linux::session::Topology;

use crate::{
    diff::Diff,
    replay::{Backend, Replay, Wanted},
    run::{self, Run},
};

/// A verb that is not there yet.
#[derive(Debug)]
pub struct Missing {
    /// The verb.
    pub name: &'static str,
    /// What it will do.
    pub what: &'static str,
    /// What can be used until then.
    pub instead: &'static str,
}

/// Every verb that is not there yet.
pub const MISSING: [Missing; 1] = [Missing {
    name: "serve",
    what: "serve clients that connect",
    instead: "RUNAHEAD_TOPOLOGY=spawn starts one server for each session",
}];

/// A range of frames that becomes a file of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trim {
    /// The capture.
    pub file: PathBuf,
    /// Its frames.
    pub frames: RangeInclusive<u64>,
    /// The new file.
    pub to: PathBuf,
}

/// What there is to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Task {
    /// Say what the program does.
    Help,
    /// Say what `info` does.
    HelpInfo,
    /// Say what `bench` does.
    HelpBench,
    /// Say what `run` does.
    HelpRun,
    /// Say what `record` does.
    HelpRecord,
    /// Say what `replay` does.
    HelpReplay,
    /// Say what `diff` does.
    HelpDiff,
    /// Start a program.
    Run(Run),
    /// Play a capture.
    Replay(Replay),
    /// Write a range of a capture's frames to another file.
    Trim(Trim),
    /// Compare two runs.
    Diff(Diff),
    /// Say which build this is.
    Version,
    /// Open a session and say what it is like.
    Info {
        /// As JSON.
        json: bool,
        /// With what both sides counted.
        stats: bool,
    },
    /// Measure sessions.
    Bench {
        /// As JSON.
        json: bool,
        /// Rounds, of which the median is printed.
        rounds: usize,
    },
}

/// Rounds of `bench`, unless others are asked for.
pub const ROUNDS: usize = 5;
/// The most that can be asked for.
pub const MOST_ROUNDS: usize = 1000;

/// Reads the arguments behind the program's name.
///
/// # Errors
/// The sentence for the user.
pub fn parse(mut arguments: impl Iterator<Item = OsString>) -> Result<Task, String> {
    let Some(verb) = arguments.next() else {
        return Err("no verb was given; `runahead help` lists them".to_owned());
    };
    if verb == "run" {
        return Ok(run::parse(arguments)?.map_or(Task::HelpRun, Task::Run));
    }
    if verb == "record" {
        return Ok(run::parse_record(arguments)?.map_or(Task::HelpRecord, Task::Run));
    }
    let mut arguments = arguments.map(|argument| argument.to_string_lossy().into_owned());
    match &*verb.to_string_lossy() {
        "info" => info(arguments),
        "bench" => bench(arguments),
        "replay" => replay(arguments),
        "diff" => diff(arguments),
        "help" => match arguments.next().as_deref() {
            None | Some("help") => end("help", arguments, Task::Help),
            Some("info") => end("help", arguments, Task::HelpInfo),
            Some("bench") => end("help", arguments, Task::HelpBench),
            Some("run") => end("help", arguments, Task::HelpRun),
            Some("record") => end("help", arguments, Task::HelpRecord),
            Some("replay") => end("help", arguments, Task::HelpReplay),
            Some("diff") => end("help", arguments, Task::HelpDiff),
            Some(other) => Err(unavailable(other)),
        },
        "--help" | "-h" => end("--help", arguments, Task::Help),
        "--version" | "-V" => end("--version", arguments, Task::Version),
        other => Err(unavailable(other)),
    }
}

fn info(arguments: impl Iterator<Item = String>) -> Result<Task, String> {
    let (mut json, mut stats) = (false, false);
    for argument in arguments {
        match argument.as_str() {
            "--json" => json = true,
            "--stats" => stats = true,
            "--help" | "-h" => return Ok(Task::HelpInfo),
            other => return Err(untaken("info", other)),
        }
    }
    Ok(Task::Info { json, stats })
}

fn bench(mut arguments: impl Iterator<Item = String>) -> Result<Task, String> {
    let (mut json, mut rounds) = (false, ROUNDS);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--json" => json = true,
            "--rounds" => {
                let number = arguments.next().unwrap_or_default();
                rounds =
                    number.parse().ok().filter(|rounds| (1..=MOST_ROUNDS).contains(rounds)).ok_or(
                        format!("--rounds takes a number from 1 to {MOST_ROUNDS} and not {number:?}"),
                    )?;
            }
            "--help" | "-h" => return Ok(Task::HelpBench),
            other => return Err(untaken("bench", other)),
        }
    }
    Ok(Task::Bench { json, rounds })
}

fn untaken(verb: &str, argument: &str) -> String {
    format!("{verb} does not take {argument:?}; `runahead help {verb}` says what it takes")
}

/// `A..B` is from A up to and with B - 1, as Rust has it; one number is one frame.
fn frames(text: &str) -> Result<RangeInclusive<u64>, String> {
    let wrong =
        || format!("--frames takes a number or A..B with A below B (B is the first left out), not {text:?}");
    let number = |text: &str| text.parse::<u64>().map_err(|_| wrong());
    match text.split_once("..") {
        None => number(text).map(|frame| frame..=frame),
        Some((first, behind)) => {
            let (first, behind) = (number(first)?, number(behind)?);
            if first < behind { Ok(first..=behind - 1) } else { Err(wrong()) }
        }
    }
}

fn replay(mut arguments: impl Iterator<Item = String>) -> Result<Task, String> {
    let (mut file, mut backend, mut topology) = (None, None, None);
    let (mut range, mut wanted, mut json, mut trim, mut rounds) = (None, None, false, None, None);
    let (mut loops, mut verify) = (None, false);
    while let Some(argument) = arguments.next() {
        let mut value =
            |what: &str| arguments.next().ok_or_else(|| format!("{argument} needs {what} behind it"));
        let want = match argument.as_str() {
            "--help" | "-h" => return Ok(Task::HelpReplay),
            "--json" => {
                json = true;
                None
            }
            "--backend" => {
                backend = Some(Backend::parse(&value("gles, null or trace=FILE")?)?);
                None
            }
            "--topology" => {
                let name = value("direct, inproc or spawn")?;
                let known = Topology::ALL.iter().find(|topology| topology.name() == name);
                topology = Some(*known.ok_or_else(|| {
                    format!("there is no topology {name:?}; allowed: direct, inproc or spawn")
                })?);
                None
            }
            "--frames" => {
                range = Some(frames(&value("frames")?)?);
                None
            }
            "--verify" => {
                verify = true;
                None
            }
            "--loop" => {
                let text = value("a number")?;
                let number = text.parse::<u32>().ok().filter(|times| (1..=1_000_000).contains(times));
                loops = Some(number.ok_or_else(|| format!("--loop takes 1 to 1000000, not {text:?}"))?);
                None
            }
            "--rounds" => {
                let text = value("a number")?;
                let number = text.parse::<u32>().ok().filter(|rounds| (1..=1000).contains(rounds));
                rounds = Some(number.ok_or_else(|| format!("--rounds takes 1 to 1000, not {text:?}"))?);
                None
            }
            "--list" => Some(Wanted::List),
            "--bench" => Some(Wanted::Bench(5)),
            "--images" => Some(Wanted::Images(value("a folder")?.into())),
            "--dump" => {
                let text = value("a frame")?;
                Some(Wanted::Dump(text.parse().map_err(|_| format!("--dump takes a frame, not {text:?}"))?))
            }
            "--trim" => {
                trim = Some(PathBuf::from(value("a file to write")?));
                None
            }
            other if other.starts_with('-') || file.is_some() => {
                return Err(format!(
                    "replay does not take {other:?}; `runahead help replay` says what it takes"
                ));
            }
            other => {
                file = Some(PathBuf::from(other));
                None
            }
        };
        if want.is_some() && std::mem::replace(&mut wanted, want).is_some() {
            return Err("only one of --list, --dump, --bench and --images can be wanted at a time".to_owned());
        }
    }
    let file = file.ok_or("replay needs a file; `runahead help replay` says what it takes")?;
    if let Some(to) = trim {
        if wanted.is_some() {
            return Err("--trim writes a file and plays nothing: leave the others away".to_owned());
        }
        let frames = range.ok_or("--trim needs --frames A..B: the frames that the new file gets")?;
        return Ok(Task::Trim(Trim { file, frames, to }));
    }
    let mut wanted = wanted.unwrap_or(Wanted::Played);
    match (&mut wanted, rounds) {
        (Wanted::Bench(number), Some(rounds)) => *number = rounds,
        (_, Some(_)) => return Err("--rounds counts the runs of --bench, which is not there".to_owned()),
        (Wanted::Dump(_), None) if range.is_some() => {
            return Err("--dump names its frame itself: leave --frames away".to_owned());
        }
        _ => {}
    }
    if wanted != Wanted::Played && loops.is_some() {
        return Err(
            "--loop plays frames again and again: leave --list, --dump, --bench and --images away".to_owned()
        );
    }
    if loops.is_some() && range.is_none() {
        return Err("--loop needs --frames A..B: those that are played again and again".to_owned());
    }
    let loops = loops.unwrap_or(1);
    Ok(Task::Replay(Replay { file, backend, topology, frames: range, wanted, loops, verify, json }))
}

fn diff(mut arguments: impl Iterator<Item = String>) -> Result<Task, String> {
    let (mut sides, mut html, mut json) = (Vec::new(), None, false);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--help" | "-h" => return Ok(Task::HelpDiff),
            "--json" => json = true,
            "--html" => {
                html = Some(arguments.next().ok_or("--html needs a file behind it")?.into());
            }
            other if other.starts_with('-') => {
                return Err(format!("diff does not take {other:?}; `runahead help diff` says what it takes"));
            }
            other => sides.push(PathBuf::from(other)),
        }
    }
    let sides = <[PathBuf; 2]>::try_from(sides).map_err(|sides| {
        format!("diff compares two, and {} were given; `runahead help diff` says what", sides.len())
    })?;
    Ok(Task::Diff(Diff { sides, html, json }))
}

fn end(before: &str, mut arguments: impl Iterator<Item = String>, task: Task) -> Result<Task, String> {
    match arguments.next() {
        None => Ok(task),
        Some(extra) => Err(format!("nothing may follow {before} but {extra:?} does; try `runahead help`")),
    }
}

fn unavailable(verb: &str) -> String {
    match MISSING.iter().find(|missing| missing.name == verb) {
        Some(Missing { name, what, instead }) => {
            format!("`{name}`, which will {what}, is not there yet; {instead}")
        }
        None => format!("there is no verb {verb:?}; `runahead help` lists them"),
    }
}
