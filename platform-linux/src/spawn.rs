//! Starting a server program from inside somebody else's program.
//!
//! # Contract
//!
//! - **The program never meets the server.** Its `waitpid(-1)`, its `SIGCHLD` handler and its process group
//!   know nothing of it, because the server is no child of its: a process in between starts the server and ends
//!   at once, and that one is created with no exit signal, so that only a wait for just such processes sees it.
//!   (A clone without exit signal is not enough for the server itself: `execve` makes the exit signal `SIGCHLD`
//!   again.) Whoever adopts orphans reaps the server. If that is the program itself, as process 1 of a
//!   container or as a subreaper, [`Process`] reaps; such a program's `waitpid(-1)` does meet the server, as it
//!   meets every other orphan.
//! - **It ends with its socket.** The server has one control socket, as descriptor 3, and ends when that hangs
//!   up: also when the program was killed. The parent-death signal is not used: it follows the *thread* that
//!   started the server, and a program's threads come and go.
//! - **It has nothing else of the program's**: descriptors 0 and 1 are `/dev/null`, 2 is the program's standard
//!   error, all above 3 are closed; all signals are unblocked and at their defaults; it has a session of its
//!   own, so that Ctrl-C and Ctrl-Z at a terminal are the program's to handle; its environment is without what
//!   [`environment`] drops. Working directory, limits and processor mask are those of the calling thread.
//! - **It cannot dial.** A server's `argv[0]` is [`NAME`], whatever file it runs from, and [`Server::start`]
//!   refuses to work in a process of that name: no environment variable can undo that.
//! - **Nobody is killed by number.** A [`Process`] is a pidfd.
//!
//! [`Server::start`] may be called from any thread of a program with any threads and handlers. It takes
//! about 0.3 ms, however much memory the program has, in which only the calling thread is halted. It needs
//! Linux 5.9 (`close_range`) and `/proc`.

mod launch;
mod locate;

use std::{
    ffi::{CString, OsString},
    fmt, fs, io,
    os::{
        fd::{AsFd, BorrowedFd, OwnedFd},
        unix::ffi::OsStringExt,
    },
    path::{Path, PathBuf},
    time::Instant,
};

use rustix::{
    event::{PollFd, PollFlags},
    io::{Errno, fcntl_dupfd_cloexec},
    process::{Signal, WaitId, WaitIdOptions, pidfd_send_signal, waitid},
};

pub use launch::Stage;

use crate::{control::channel, environment, poll};

/// What a server is called: its file, and its `argv[0]` whatever its file is called.
pub const NAME: &str = "runahead-server";

/// Descriptor of the control socket in the server.
pub const SOCKET: i32 = 3;

/// Whether this process is a server, and must not dial another.
#[must_use]
pub fn is_server() -> bool {
    let arguments = fs::read("/proc/self/cmdline").unwrap_or_default();
    let first = arguments.split(|byte| *byte == 0).next().unwrap_or_default();
    first.rsplit(|byte| *byte == b'/').next() == Some(NAME.as_bytes())
}

/// Why no server was started.
#[derive(Debug)]
pub enum SpawnError {
    /// This process is a server itself.
    InsideServer,
    /// No program was found.
    NotFound {
        /// The files that it looked for.
        looked: Vec<PathBuf>,
    },
    /// A path or an argument holds a NUL byte.
    Nul,
    /// The kernel gave no socket, descriptor or process.
    Setup {
        /// What it did not give.
        what: &'static str,
        /// Its reason.
        error: io::Error,
    },
    /// The process was there and did not become the server.
    Exec {
        /// The program.
        program: PathBuf,
        /// How far it came.
        stage: Stage,
        /// The kernel's reason.
        error: io::Error,
    },
}

impl fmt::Display for SpawnError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::InsideServer => {
                write!(
                    f,
                    "this process is a {NAME}, and a server starts no server: its driver must be the system's own"
                )
            }
            Self::NotFound { looked } => {
                write!(
                    f,
                    "{NAME} was not found; install it next to the Runahead library or state its path (looked for"
                )?;
                for (index, path) in looked.iter().enumerate() {
                    write!(f, "{} {}", if index == 0 { "" } else { "," }, path.display())?;
                }
                f.write_str(")")
            }
            Self::Nul => f.write_str("the server's path or an argument of its holds a NUL byte"),
            Self::Setup { what, error } => write!(f, "no server could be started: no {what}: {error}"),
            Self::Exec { program, stage, error } => {
                write!(f, "the server {} could not be started: {stage}: {error}", program.display())
            }
        }
    }
}

impl std::error::Error for SpawnError {}

/// A server to start.
#[derive(Clone, Debug, Default)]
pub struct Server {
    program: Option<PathBuf>,
    arguments: Vec<OsString>,
}

/// A server that was started.
#[derive(Debug)]
pub struct Spawned {
    /// Our end of its control socket. The server ends when it is closed.
    pub socket: OwnedFd,
    /// Its process.
    pub process: Process,
}

impl Server {
    /// The program [`NAME`] next to the library or the executable that this code is in.
    #[must_use]
    pub const fn new() -> Self {
        Self { program: None, arguments: Vec::new() }
    }

    /// Starts the program of this path instead.
    #[must_use]
    pub fn program(mut self, path: impl Into<PathBuf>) -> Self {
        self.program = Some(path.into());
        self
    }

    /// Adds an argument.
    #[must_use]
    pub fn argument(mut self, argument: impl Into<OsString>) -> Self {
        self.arguments.push(argument.into());
        self
    }

    /// Starts it.
    ///
    /// # Errors
    /// [`SpawnError`]; no process and no descriptor is left behind then.
    pub fn start(&self) -> Result<Spawned, SpawnError> {
        if is_server() {
            return Err(SpawnError::InsideServer);
        }
        let program = locate::program(self.program.as_deref())?;
        let setup = |what| move |error: io::Error| SpawnError::Setup { what, error };
        // Above everything that the server is to have, so that putting one in place overwrites no other.
        let away =
            |descriptor: BorrowedFd<'_>| fcntl_dupfd_cloexec(descriptor, SOCKET + 1).map_err(io::Error::from);
        // Before anything else is opened: where the program closed its standard error, the number is free.
        let errors = away(io::stderr().as_fd());
        let (ours, theirs) = channel::pair().map_err(setup("control socket"))?;
        let null =
            fs::OpenOptions::new().read(true).write(true).open("/dev/null").map_err(setup("/dev/null"))?;
        let descriptors = launch::Descriptors {
            null: away(null.as_fd()).map_err(setup("descriptor"))?,
            errors: errors.or_else(|_| away(null.as_fd())).map_err(setup("descriptor"))?,
            socket: away(theirs.as_fd()).map_err(setup("descriptor"))?,
        };
        let image = Image::new(&program, &self.arguments)?;
        let process = launch::launch(&image, &descriptors).map_err(|failure| match failure {
            launch::Failure::NoProcess(error) => SpawnError::Setup { what: "process", error },
            launch::Failure::InProcess(stage, error) => SpawnError::Exec { program, stage, error },
        })?;
        Ok(Spawned { socket: ours, process })
    }
}

/// What `execve` takes, made before there is a process that may not allocate.
struct Image {
    program: CString,
    arguments: Vec<CString>,
    environment: Vec<CString>,
}

impl Image {
    fn new(program: &Path, arguments: &[OsString]) -> Result<Self, SpawnError> {
        let c_string = |text: OsString| CString::new(text.into_vec()).map_err(|_| SpawnError::Nul);
        let named = std::iter::once(OsString::from(NAME)).chain(arguments.iter().cloned());
        let environment = std::env::vars_os().filter_map(|(mut name, value)| {
            let value = environment::for_server(&name, &value)?;
            name.push("=");
            name.push(value);
            Some(name)
        });
        Ok(Self {
            program: c_string(program.into())?,
            arguments: named.map(c_string).collect::<Result<_, _>>()?,
            environment: environment.map(c_string).collect::<Result<_, _>>()?,
        })
    }
}

/// A process, by its pidfd.
#[derive(Debug)]
pub struct Process {
    pidfd: OwnedFd,
    number: u32,
}

impl Process {
    /// Its number, for logs: by the time that it is read it may name somebody else.
    #[must_use]
    pub const fn number(&self) -> u32 {
        self.number
    }

    /// Ends it by `SIGKILL`; no error if it ended before.
    ///
    /// # Errors
    /// The kernel's: it is another user's by now.
    pub fn kill(&self) -> io::Result<()> {
        self.signal(Signal::KILL)
    }

    /// Sends it a signal; no error if it ended before.
    ///
    /// # Errors
    /// The kernel's: it is another user's by now.
    pub fn signal(&self, signal: Signal) -> io::Result<()> {
        match pidfd_send_signal(&self.pidfd, signal) {
            Ok(()) | Err(Errno::SRCH) => Ok(()),
            Err(errno) => Err(errno.into()),
        }
    }

    /// Waits until it ended; `false` when `deadline` came first.
    ///
    /// # Errors
    /// The kernel's: out of memory.
    pub fn wait(&self, deadline: Option<Instant>) -> io::Result<bool> {
        let ended = poll::wait(&mut [PollFd::new(&self.pidfd, PollFlags::IN)], deadline)?;
        if ended {
            self.reap();
        }
        Ok(ended)
    }

    /// Reaps it if it ended and this process has adopted it. Else it is somebody else's, or none at all any more.
    fn reap(&self) {
        let all = WaitIdOptions::from_bits_retain(libc::__WALL as u32);
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | all;
        let _ = waitid(WaitId::PidFd(self.pidfd.as_fd()), options);
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.reap();
    }
}

impl AsFd for Process {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.pidfd.as_fd()
    }
}
