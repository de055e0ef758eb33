//! What of a program's environment a server must not have.
//!
//! A server draws with the system's own driver. What selects Runahead's vendor library in the program would select it
//! in the server too, which would then dial itself; and no knob of the client's is one of the server's.

use std::{
    ffi::{OsStr, OsString},
    os::unix::ffi::{OsStrExt, OsStringExt},
};

/// How the names of our own variables begin.
const OURS: &[u8] = b"RUNAHEAD_";

/// Variables by which libglvnd selects a vendor.
const VENDOR: [&str; 3] =
    ["__EGL_VENDOR_LIBRARY_FILENAMES", "__EGL_VENDOR_LIBRARY_DIRS", "__GLX_VENDOR_LIBRARY_NAME"];

/// The same for one GLX screen each, followed by its number.
const VENDOR_OF_SCREEN: &[u8] = b"__GLX_FORCE_VENDOR_LIBRARY_";

/// Lists of libraries, in which only ours are left out.
const PRELOADS: [&str; 2] = ["LD_PRELOAD", "LD_AUDIT"];

/// How the file names of our libraries begin.
const OUR_LIBRARIES: [&[u8]; 2] = [b"libEGL_runahead", b"librunahead"];

/// The value that a server gets for a variable; `None` drops it.
#[must_use]
pub fn for_server(name: &OsStr, value: &OsStr) -> Option<OsString> {
    let bytes = name.as_bytes();
    if bytes.starts_with(OURS) || bytes.starts_with(VENDOR_OF_SCREEN) || VENDOR.iter().any(|one| name == *one)
    {
        return None;
    }
    if PRELOADS.iter().all(|one| name != *one) {
        return Some(value.to_owned());
    }
    // The dynamic linker takes spaces and colons for separators.
    let kept: Vec<&[u8]> = value
        .as_bytes()
        .split(|byte| matches!(byte, b' ' | b':'))
        .filter(|library| !library.is_empty() && !is_ours(library))
        .collect();
    (!kept.is_empty()).then(|| OsString::from_vec(kept.join(&b':')))
}

fn is_ours(library: &[u8]) -> bool {
    let name = library.rsplit(|byte| *byte == b'/').next().unwrap_or(library);
    is_our_library(OsStr::from_bytes(name))
}

/// Whether a file of this name is one of our libraries.
pub(crate) fn is_our_library(name: &OsStr) -> bool {
    OUR_LIBRARIES.iter().any(|ours| name.as_bytes().starts_with(ours))
}

/// Drops from this process's environment what a server must not have, for a server that somebody else started.
///
/// # Safety
/// No other thread of the process runs.
pub unsafe fn clean_this_process() {
    for (name, value) in std::env::vars_os() {
        match for_server(&name, &value) {
            Some(kept) if kept == value => {}
            // SAFETY: no other thread runs, so none reads the environment.
            Some(kept) => unsafe { std::env::set_var(&name, kept) },
            // SAFETY: as above.
            None => unsafe { std::env::remove_var(&name) },
        }
    }
}
