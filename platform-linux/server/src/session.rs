//! One client, from its first word to its end, on the backend that the command line names.

use std::{os::fd::OwnedFd, path::PathBuf};

use runahead_core::{
    null::Null,
    trace::{Call, Listener, Method, Trace},
};
use runahead_linux::{
    control::message::LogLevel,
    listing::Listing,
    native::gles::{self, Driver, WindowSystem},
    session::{Busy, Log, ServeError, serve, serve_logging},
};
use runahead_wire::values::BackendKind;

/// What to apply on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Backend {
    /// Nothing is drawn.
    #[default]
    Null,
    /// Nothing is drawn, and every call is written to a file, a line each.
    Trace(PathBuf),
    /// Nothing is drawn, and each draw takes so many nanoseconds of this thread: for measurements.
    Busy(u64),
    /// OpenGL ES, with the folder where translated programs are kept, and with the driver's errors in the client's log or
    /// not.
    Gles(WindowSystem, Option<PathBuf>, bool),
    /// Nothing is drawn, and each draw writes so many lines to the client's log: for tests.
    Chatty(u32),
}

impl Backend {
    /// The backend of a name, as the command line has it.
    pub fn parse(name: &str) -> Option<Self> {
        match name.split_once('=') {
            None if name == "null" => Some(Self::Null),
            None if name == "gles" => Some(Self::Gles(WindowSystem::default(), None, false)),
            Some(("trace", file)) if !file.is_empty() => Some(Self::Trace(file.into())),
            Some(("busy", time)) => time.parse().ok().map(Self::Busy),
            Some(("chatty", lines)) => lines.parse().ok().map(Self::Chatty),
            _ => None,
        }
    }

    /// The same on a window system, if it presents to any.
    pub fn on(self, window_system: WindowSystem) -> Option<Self> {
        match self {
            Self::Gles(_, programs, log) => Some(Self::Gles(window_system, programs, log)),
            _ => None,
        }
    }

    /// The same with a folder for translated programs, if it translates any.
    pub fn keeping(self, folder: PathBuf) -> Option<Self> {
        match self {
            Self::Gles(window_system, _, log) => Some(Self::Gles(window_system, Some(folder), log)),
            _ => None,
        }
    }

    /// The same with the driver's errors in the client's log, if it has a driver.
    pub fn logging(self) -> Option<Self> {
        match self {
            Self::Gles(window_system, programs, _) => Some(Self::Gles(window_system, programs, true)),
            _ => None,
        }
    }
}

/// Has something to say of each draw.
#[derive(Debug)]
struct Chatter {
    log: Log,
    lines: u32,
    said: u64,
}

impl Listener for Chatter {
    fn call(&mut self, call: &Call<'_>) {
        if call.method == Method::Draw {
            for _ in 0..self.lines {
                self.said += 1;
                self.log.line(LogLevel::Info, || format!("line {}", self.said));
            }
        }
    }
}

/// Serves a client.
pub fn run(socket: OwnedFd, backend: Backend) -> Result<(), ServeError> {
    match backend {
        Backend::Null => serve(socket, BackendKind::Null, || Ok(Null::default()), drop),
        Backend::Busy(nanoseconds) => {
            serve(socket, BackendKind::Null, move || Ok(Trace::new(Busy::new(nanoseconds))), drop)
        }
        Backend::Gles(window_system, programs, log) => {
            let make = move |to: &Log| {
                let mut gles = gles::open(&window_system, Driver::System)?;
                programs.into_iter().for_each(|folder| gles.keep_programs(folder));
                if log {
                    let to = to.clone();
                    gles.hear_driver(move |text| to.line(LogLevel::Error, || text.to_owned()));
                }
                Ok(gles)
            };
            serve_logging(socket, BackendKind::Gles, make, drop)
        }
        Backend::Chatty(lines) => {
            let make = move |log: &Log| Ok(Trace::new(Chatter { log: log.clone(), lines, said: 0 }));
            serve_logging(socket, BackendKind::Null, make, drop)
        }
        Backend::Trace(file) => {
            let make = move || Listing::create(&file).map(Trace::new);
            serve(socket, BackendKind::Null, make, |trace| {
                if let Err(error) = trace.listener.finish() {
                    let name = runahead_linux::spawn::NAME;
                    crate::say(&mut std::io::stderr(), format_args!("{name}: {error}\n"));
                }
            })
        }
    }
}
