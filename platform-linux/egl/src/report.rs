//! Telling `runahead run` that a program came here.

use std::{fs::File, io::Write, path::Path};

use runahead_linux::settings::{NOTE, RECORDING};

/// The library was loaded by a dispatcher: the program uses EGL. Nothing is told where nobody asked.
pub fn loaded() {
    if let Some(file) = std::env::var_os(NOTE) {
        line(file.as_ref(), "loaded");
    }
}

/// A session was opened, which is recorded to `recording`.
pub fn opened(file: Option<&Path>, topology: &str, backend: &str, recording: Option<&Path>) {
    if let Some(file) = file {
        line(file, &format!("session {topology} {backend}"));
        if let Some(recording) = recording {
            line(file, &format!("{RECORDING}{}", recording.display()));
        }
    }
}

/// A line at the end of a file. One that cannot be written to has nobody who reads it.
fn line(file: &Path, text: &str) {
    if let Ok(mut file) = File::options().append(true).open(file) {
        let _ = file.write_all(format!("{text}\n").as_bytes());
    }
}
