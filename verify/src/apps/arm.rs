//! On what a program draws.

use std::{
    io,
    os::unix::process::CommandExt,
    path::{Path, PathBuf},
    process::{Child, Command, Output, Stdio},
    time::{Duration, Instant},
};

use runahead_linux::session::Topology;
use rustix::process::{Pid, Signal, kill_process_group};

use super::Screen;

/// What a program draws on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arm {
    /// The system's driver.
    System,
    /// Runahead, in this topology.
    Runahead(Topology),
}

impl Arm {
    /// Every one, the system's first.
    #[must_use]
    pub fn all() -> Vec<Self> {
        let ours = Topology::ALL.iter().map(|topology| Self::Runahead(*topology));
        std::iter::once(Self::System).chain(ours).collect()
    }

    /// Its name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::System => "system",
            Self::Runahead(topology) => topology.name(),
        }
    }

    /// A program of this machine on it, with nothing else in its environment that would select a driver.
    #[must_use]
    pub fn command(self, installation: &Path, screen: &Screen, program: &str) -> Command {
        let mut command = match self {
            Self::System => Command::new(program),
            Self::Runahead(topology) => {
                let mut command = Command::new(installation.join("runahead"));
                command.args(["run", "--topology", topology.name(), "--", program]);
                command
            }
        };
        for (name, _) in std::env::vars_os() {
            let text = name.to_string_lossy();
            if text.starts_with("RUNAHEAD_") || text.starts_with("__EGL_") || text.starts_with("EGL_") {
                command.env_remove(name);
            }
        }
        command.env("DISPLAY", screen.display()).env_remove("WAYLAND_DISPLAY");
        // Nothing of a run before this one, and nothing left in the user's folder.
        command.env("RUNAHEAD_CACHE", "0");
        command
    }
}

/// The folder with `runahead`, the server and the vendor library: that of the running program, or the one above it
/// for a test.
///
/// # Errors
/// One of them is not built.
pub fn installation() -> Result<PathBuf, String> {
    let own = std::env::current_exe().map_err(|error| format!("own path: {error}"))?;
    let mut folder = own.parent().map(Path::to_owned).ok_or("no folder")?;
    if folder.file_name().is_some_and(|name| name == "deps") {
        folder.pop();
    }
    for file in ["runahead", "runahead-server", "libEGL_runahead.so"] {
        if !folder.join(file).is_file() {
            return Err(format!("{} is not built", folder.join(file).display()));
        }
    }
    Ok(folder)
}

/// A program that runs, with whatever it has started. It ends with this.
#[derive(Debug)]
pub struct Running {
    child: Option<Child>,
    group: Pid,
}

impl Running {
    /// Starts it in a process group of its own; its output is collected.
    ///
    /// # Errors
    /// It cannot be started.
    pub fn start(command: &mut Command) -> io::Result<Self> {
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
        let child = command.spawn()?;
        Ok(Self { group: Pid::from_child(&child), child: Some(child) })
    }

    /// Its number.
    #[must_use]
    pub fn process(&self) -> u32 {
        self.group.as_raw_nonzero().get().cast_unsigned()
    }

    /// Sends a signal to it and what it has started.
    pub fn signal(&self, signal: Signal) {
        // All of them may have ended.
        let _ = kill_process_group(self.group, signal);
    }

    /// Whether it has ended.
    ///
    /// # Errors
    /// It cannot be asked for.
    pub fn has_ended(&mut self) -> io::Result<bool> {
        self.child.as_mut().map_or(Ok(true), |child| Ok(child.try_wait()?.is_some()))
    }

    /// Waits for its end; one that has not ended by then is killed, which shows in its status.
    ///
    /// # Errors
    /// Its output cannot be read.
    pub fn finish(mut self, within: Duration) -> io::Result<Output> {
        let Some(child) = self.child.take() else { return Err(io::ErrorKind::NotFound.into()) };
        let group = self.group;
        let (done, ended) = std::sync::mpsc::channel::<()>();
        let guard = std::thread::spawn(move || {
            let until = Instant::now() + within;
            // Either the end, or that the other side is gone.
            if ended.recv_timeout(until.saturating_duration_since(Instant::now()))
                == Err(std::sync::mpsc::RecvTimeoutError::Timeout)
            {
                let _ = kill_process_group(group, Signal::KILL);
            }
        });
        let output = child.wait_with_output();
        drop(done);
        let _ = guard.join();
        output
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(mut child) = self.child.take() {
            self.signal(Signal::KILL);
            let _ = child.wait();
        }
    }
}
