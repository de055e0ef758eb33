//! What the command line asks for.

use std::ffi::OsString;

use crate::run::{self, Run};

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
pub const MISSING: [Missing; 4] = [
    Missing {
        name: "record",
        what: "write what a program draws to a file",
        instead: "a program that opens a session itself, with `--backend trace=FILE` as the server's arguments, has its \
                  calls listed in that file",
    },
    Missing {
        name: "replay",
        what: "draw a recorded file again",
        instead: "there are no recorded files so far, but `./x test` in the source tree runs streams on every topology",
    },
    Missing {
        name: "diff",
        what: "compare two recorded files",
        instead: "the listings of a server with `--backend trace=FILE` are lines of text, which diff(1) compares",
    },
    Missing {
        name: "serve",
        what: "serve clients that connect",
        instead: "RUNAHEAD_TOPOLOGY=spawn starts one server for each session",
    },
];

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
    /// Start a program.
    Run(Run),
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
    let mut arguments = arguments.map(|argument| argument.to_string_lossy().into_owned());
    match &*verb.to_string_lossy() {
        "info" => info(arguments),
        "bench" => bench(arguments),
        "help" => match arguments.next().as_deref() {
            None | Some("help") => end("help", arguments, Task::Help),
            Some("info") => end("help", arguments, Task::HelpInfo),
            Some("bench") => end("help", arguments, Task::HelpBench),
            Some("run") => end("help", arguments, Task::HelpRun),
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
