//! The real program, and what it must not have of this test's environment.

#![allow(dead_code, reason = "each test program uses a part of it")]

use std::{
    path::{Path, PathBuf},
    process::{Command, Output},
    sync::OnceLock,
};

use runahead_verify::built;

pub const PROGRAM: &str = env!("CARGO_BIN_EXE_runahead");

/// `program` with these arguments and settings, and no other settings.
pub fn command(program: &Path, arguments: &[&str], settings: &[(&str, &str)]) -> Command {
    let mut command = Command::new(program);
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("RUNAHEAD_") {
            command.env_remove(name);
        }
    }
    command.args(arguments).envs(settings.iter().copied());
    command
}

/// What `runahead` says and how it ends.
pub fn runahead(arguments: &[&str], settings: &[(&str, &str)]) -> Output {
    command(PROGRAM.as_ref(), arguments, settings).output().expect("the program starts")
}

/// What it printed, if it ended with `status` and printed to standard output alone (0), or else one line to standard
/// error alone that begins with its name.
pub fn said(output: &Output, status: i32) -> Result<String, String> {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).map_err(|error| error.to_string());
    let (out, err) = (text(&output.stdout)?, text(&output.stderr)?);
    let context =
        format!("status {:?}, standard output {out:?}, standard error {err:?}", output.status.code());
    if output.status.code() != Some(status) {
        return Err(format!("not status {status}: {context}"));
    }
    let (used, unused) = if status == 0 { (out, err) } else { (err, out) };
    if !unused.is_empty() || !used.ends_with('\n') {
        return Err(format!("not on one stream, or an open line: {context}"));
    }
    if status == 0 {
        return Ok(used);
    }
    match used.trim_end().strip_prefix("runahead: ") {
        Some(sentence) if !sentence.contains('\n') => Ok(sentence.to_owned()),
        _ => Err(format!("not one line of ours: {context}")),
    }
}

/// The server program, built into the folder that `runahead` is in: with one package's tests cargo does not build
/// another's program.
pub fn server() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| build("runahead-server", "runahead-server"))
}

/// The vendor library, likewise.
pub fn library() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| build("runahead-egl", "libEGL_runahead.so"))
}

fn build(package: &str, file: &str) -> PathBuf {
    let path = built(&[package]).join(file);
    assert!(path.is_file(), "no {}", path.display());
    path
}
