//! The command line of Runahead.
//!
//! # Contract
//!
//! - Data goes to standard output, and nothing else does; with `--json` it is an object a line.
//! - What went wrong is one sentence on standard error.
//! - Exit status: 0 when it was done, 1 when it was not, or when what was compared differs, 2 for a command line that
//!   makes no sense or asks for a verb that is not there yet; of `run` it is the program's.
//! - What kind of session is opened is said by the environment ([`runahead_linux::settings`]) and, for `run`, by its
//!   options, which are the same in other words.

mod arguments;
mod bench;
mod diff;
mod help;
mod info;
mod replay;
mod report;
mod run;

use std::{
    io::{self, Write},
    process::ExitCode,
};

use arguments::{Task, Trim, parse};
use runahead_linux::{control::message, settings};

fn main() -> ExitCode {
    let done = match parse(std::env::args_os().skip(1)) {
        Ok(Task::Run(task)) => return run_program(&task),
        Ok(task) => perform(task),
        Err(error) => {
            complain(&error);
            return ExitCode::from(2);
        }
    };
    match done {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            complain(&error);
            ExitCode::FAILURE
        }
    }
}

fn perform(task: Task) -> Result<bool, String> {
    let config = || settings::from_environment().map_err(|error| error.to_string());
    let mut out = io::BufWriter::new(io::stdout().lock());
    let text = match task {
        Task::Help => help::program(),
        Task::HelpInfo => help::INFO.to_owned(),
        Task::HelpBench => help::bench(),
        Task::HelpRun => help::RUN.to_owned(),
        Task::HelpRecord => help::RECORD.to_owned(),
        Task::HelpReplay => help::REPLAY.to_owned(),
        Task::HelpDiff => help::DIFF.to_owned(),
        Task::Run(_) => return Ok(true),
        Task::Replay(wanted) => {
            replay::run(&wanted, config()?, &mut out)?;
            String::new()
        }
        Task::Trim(Trim { file, frames, to }) => replay::trim(&file, frames, &to)?,
        Task::Diff(wanted) => {
            let equal = diff::run(&wanted, &mut out)?;
            return flushed(out.flush()).map(|()| equal);
        }
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
    flushed(out.write_all(text.as_bytes()).and_then(|()| out.flush())).map(|()| true)
}

fn flushed(done: io::Result<()>) -> Result<(), String> {
    done.map_err(|error| format!("the output could not be written: {error}"))
}

fn run_program(task: &run::Run) -> ExitCode {
    let (status, said) = match run::run(task) {
        Ok((status, said)) => (status, said),
        Err((status, sentence)) => (status, vec![sentence]),
    };
    for sentence in &said {
        complain(sentence);
    }
    ExitCode::from(status)
}

fn complain(sentence: &str) {
    // With standard error closed there is nobody left to tell.
    let _ = writeln!(io::stderr(), "runahead: {sentence}");
}
