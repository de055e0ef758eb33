//! The command line of Runahead.
//!
//! # Contract
//!
//! - Data goes to standard output, and nothing else does; with `--json` it is an object a line.
//! - What went wrong is one sentence on standard error.
//! - Exit status: 0 when it was done, 1 when it was not, 2 for a command line that makes no sense or asks for a verb
//!   that is not there yet.
//! - What kind of session is opened is said by the environment alone ([`runahead_linux::settings`]).

mod arguments;
mod bench;
mod help;
mod info;
mod report;

use std::{
    io::{self, Write},
    process::ExitCode,
};

use arguments::{Task, parse};
use runahead_linux::{control::message, settings};

fn main() -> ExitCode {
    let arguments = std::env::args_os().skip(1).map(|argument| argument.to_string_lossy().into_owned());
    let done = match parse(arguments) {
        Ok(task) => perform(task),
        Err(error) => {
            complain(&error);
            return ExitCode::from(2);
        }
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            complain(&error);
            ExitCode::FAILURE
        }
    }
}

fn perform(task: Task) -> Result<(), String> {
    let config = || settings::from_environment().map_err(|error| error.to_string());
    let text = match task {
        Task::Help => help::program(),
        Task::HelpInfo => help::INFO.to_owned(),
        Task::HelpBench => help::bench(),
        Task::Version => format!("runahead {}\n", message::BUILD),
        Task::Info { json, stats } => {
            let report = info::look(config()?, stats)?;
            if json { report.json() } else { report.text() }
        }
        Task::Bench { json, rounds } => {
            let figures = bench::measure(&config()?, rounds)?;
            if json { bench::json(&figures) } else { bench::text(&figures) }
        }
    };
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())
        .and_then(|()| out.flush())
        .map_err(|error| format!("the output could not be written: {error}"))
}

fn complain(sentence: &str) {
    // With standard error closed there is nobody left to tell.
    let _ = writeln!(io::stderr(), "runahead: {sentence}");
}
