//! The server program of Runahead: it applies one session's commands in a process of its own.
//!
//! # Contract
//!
//! - It is started by the client library ([`runahead_linux::spawn`]) with a control socket as descriptor 3, serves that one
//!   client, and ends when the socket hangs up or the client's process ends. Started by hand it says so and ends.
//! - It dials nobody: its `argv[0]` and its environment see to that.
//! - With `--record` it writes what a client publishes to a file instead of applying it.
//! - It reads nothing from its standard input and writes nothing to its standard output but what `--help` and
//!   `--version` ask for.
//!
//! Exit status: 0 after a session or an answer, 1 when there was none, 2 for wrong arguments.

mod inherited;
mod malloc;
mod session;

use std::{
    ffi::OsString,
    io::{self, Write},
    os::fd::OwnedFd,
    path::PathBuf,
    process::ExitCode,
};

use runahead_linux::{capture::scribe, control::message, environment, session::ServeError, spawn::NAME};

use session::Backend;

/// What `--help` says.
const HELP: &str = "\
usage: runahead-server [--backend NAME] [--window-system NAME] [--program-cache FOLDER] [--help | --version]

Applies the GPU commands of one program in a process of its own. The Runahead client library starts it and hands it a
control socket as file descriptor 3; there is no use in starting it by hand.

It ends when that socket is closed or the program ends.

  --backend NAME   what to apply on (default: null)
                     null         draws nothing
                     trace=FILE   draws nothing and writes each call to FILE, a line each
                     busy=NS      draws nothing and takes NS nanoseconds a draw, for measurements
                     chatty=N     draws nothing and logs N lines a draw, for tests
                     gles         OpenGL ES, on the driver of this system
                   (Vulkan is not there yet.)
  --window-system NAME
                   what gles presents to (default: surfaceless)
                     surfaceless  nothing
                     x11:DISPLAY  the windows of an X server
  --program-cache FOLDER
                   where gles keeps translated programs: a folder that is there and that nobody else writes
                   (default: nowhere)
  --driver-log     with gles, put what the driver calls an error into the client's log
  --record FILE --offset BYTES
                   apply nothing: write what the client sends to FILE, which holds the beginning of a recording
  --help           this text
  --version        the version and build; client and server must be of the same
";

/// What the command line asks for.
enum Task {
    Serve(Backend),
    /// Write what a client sends to a file, behind so many bytes.
    Record(PathBuf, u64),
    Help,
    Version,
}

fn parse(mut arguments: impl Iterator<Item = OsString>) -> Result<Task, String> {
    let mut backend = Backend::default();
    let (mut window_system, mut driver_log, mut record, mut offset) = (None, false, None, None);
    let mut programs = None;
    while let Some(argument) = arguments.next() {
        let mut value = |what: &str| arguments.next().ok_or(format!("{what} needs a value"));
        match &*argument.to_string_lossy() {
            "--help" | "-h" => return Ok(Task::Help),
            "--version" => return Ok(Task::Version),
            "--backend" => {
                let name = value("--backend")?.to_string_lossy().into_owned();
                backend = Backend::parse(&name).ok_or(format!("there is no backend {name:?}"))?;
            }
            "--window-system" => {
                window_system = Some(value("--window-system")?.to_string_lossy().parse()?);
            }
            "--program-cache" => programs = Some(PathBuf::from(value("--program-cache")?)),
            "--driver-log" => driver_log = true,
            "--record" => record = Some(PathBuf::from(value("--record")?)),
            "--offset" => {
                let text = value("--offset")?;
                let number = text.to_str().and_then(|text| text.parse().ok());
                offset = Some(number.ok_or(format!("--offset takes a number of bytes, not {text:?}"))?);
            }
            other => return Err(format!("unexpected argument {other:?}")),
        }
    }
    if let Some(window_system) = window_system {
        backend = backend.on(window_system).ok_or("--window-system is for --backend gles alone")?;
    }
    if let Some(folder) = programs {
        backend = backend.keeping(folder).ok_or("--program-cache is for --backend gles alone")?;
    }
    if driver_log {
        backend = backend.logging().ok_or("--driver-log is for --backend gles alone")?;
    }
    match (record, offset) {
        (None, None) => Ok(Task::Serve(backend)),
        (Some(file), Some(offset)) => Ok(Task::Record(file, offset)),
        _ => Err("--record and --offset go together".to_owned()),
    }
}

fn main() -> ExitCode {
    match parse(std::env::args_os().skip(1)) {
        Ok(Task::Serve(backend)) => ended(run(|socket| session::run(socket, backend))),
        Ok(Task::Record(file, offset)) => ended(run(|socket| scribe::write(socket, &file, offset))),
        Ok(Task::Help) => {
            say(&mut io::stdout(), format_args!("{HELP}"));
            ExitCode::SUCCESS
        }
        Ok(Task::Version) => {
            say(&mut io::stdout(), format_args!("{NAME} {}\n", message::BUILD));
            ExitCode::SUCCESS
        }
        Err(error) => {
            say(&mut io::stderr(), format_args!("{NAME}: {error}; try --help\n"));
            ExitCode::from(2)
        }
    }
}

/// Writes: a closed stream is no reason to panic.
fn say(stream: &mut dyn Write, text: std::fmt::Arguments<'_>) {
    let _ = stream.write_fmt(text);
}

fn ended(result: Result<(), Box<dyn std::error::Error>>) -> ExitCode {
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            say(&mut io::stderr(), format_args!("{NAME}: {error}\n"));
            ExitCode::FAILURE
        }
    }
}

fn run(serve: impl FnOnce(OwnedFd) -> Result<(), ServeError>) -> Result<(), Box<dyn std::error::Error>> {
    // First of all, before anything could open a descriptor of that number.
    let socket = inherited::socket()?;
    // SAFETY: no thread was started yet.
    unsafe { environment::clean_this_process() };
    malloc::keep_memory();
    Ok(serve(socket)?)
}
