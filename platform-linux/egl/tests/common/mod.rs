//! The library, the server and `runahead`, built into the folder that the tests are in.

#![allow(dead_code, reason = "each test program uses a part of it")]

use std::{
    path::{Path, PathBuf},
    process::{Command, Output},
    sync::OnceLock,
};

use runahead_verify::built;

/// The folder.
pub fn installation() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| built(&["runahead-egl", "runahead-server", "runahead-cli"]))
}

/// The vendor library.
pub fn library() -> PathBuf {
    installation().join("libEGL_runahead.so")
}

/// Runs a test of this test program, which is ignored when it is not asked for, under `runahead run`.
pub fn run(topology: &str, test: &str) -> Output {
    command(topology, test).output().expect("runahead starts")
}

/// What does so.
pub fn command(topology: &str, test: &str) -> Command {
    let mut command = Command::new(installation().join("runahead"));
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("RUNAHEAD_") {
            command.env_remove(name);
        }
    }
    command.env("RUNAHEAD_CACHE", "0");
    command.args(["run", "--topology", topology, "--"]).arg(std::env::current_exe().expect("a path"));
    command.args([test, "--exact", "--ignored", "--nocapture"]);
    command
}

/// Whether exactly that one test ran and passed.
pub fn passed(output: &Output) -> Result<(), String> {
    let text = String::from_utf8_lossy(&output.stdout);
    if output.status.success() && text.contains("1 passed; 0 failed") {
        return Ok(());
    }
    Err(format!("{:?}\n{text}\n{}", output.status, String::from_utf8_lossy(&output.stderr)))
}
