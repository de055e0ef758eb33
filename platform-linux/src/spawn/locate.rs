//! Where the server program is.

use std::{
    fs,
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
};

use super::{NAME, SpawnError};

/// The program: `explicit`, or the one next to this code.
pub fn program(explicit: Option<&Path>) -> Result<PathBuf, SpawnError> {
    let candidates = explicit.map_or_else(|| beside(&homes()), |path| vec![path.to_owned()]);
    first_file(candidates)
}

fn first_file(candidates: Vec<PathBuf>) -> Result<PathBuf, SpawnError> {
    match candidates.iter().find(|path| path.is_file()) {
        Some(found) => Ok(found.clone()),
        None => Err(SpawnError::NotFound { looked: candidates }),
    }
}

/// The files that this code is in, nearest first: the library, if it is in one, and the executable.
fn homes() -> Vec<PathBuf> {
    let maps = fs::read("/proc/self/maps").unwrap_or_default();
    mapped_file(&maps, homes as fn() -> Vec<PathBuf> as usize as u64)
        .into_iter()
        .chain(std::env::current_exe().ok())
        .collect()
}

/// [`NAME`] in the folders of `files`, each once.
fn beside(files: &[PathBuf]) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = files.iter().map(|file| file.with_file_name(NAME)).collect();
    found.dedup();
    found
}

/// The file that `address` is mapped from, by the lines of `/proc/PID/maps`: `begin-end rights offset device
/// inode file`.
fn mapped_file(maps: &[u8], address: u64) -> Option<PathBuf> {
    maps.split(|byte| *byte == b'\n').find_map(|line| {
        let text = String::from_utf8_lossy(line);
        let (begin, end) = text.split(' ').next()?.split_once('-')?;
        let range = u64::from_str_radix(begin, 16).ok()?..u64::from_str_radix(end, 16).ok()?;
        // The columns before the path hold no slash.
        let path = line.iter().position(|byte| *byte == b'/')?;
        range.contains(&address).then(|| PathBuf::from(std::ffi::OsStr::from_bytes(&line[path..])))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_of_an_address_is_found() {
        let maps = b"55d0-55e0 r--p 0 08:01 1 /usr/bin/app\n\
            7f00-7f10 r-xp 0 08:01 2 /usr/lib/with space/libEGL_runahead.so.0\n\
            7f20-7f30 rw-p 0 00:00 0\n";
        assert_eq!(mapped_file(maps, 0x55d0), Some("/usr/bin/app".into()));
        assert_eq!(mapped_file(maps, 0x7f0f), Some("/usr/lib/with space/libEGL_runahead.so.0".into()));
        assert_eq!(mapped_file(maps, 0x7f10), None);
        assert_eq!(mapped_file(maps, 0x7f20), None);
        assert_eq!(mapped_file(b"no maps at all", 1), None);
    }

    #[test]
    fn this_code_is_in_the_test_program() {
        assert_eq!(homes(), vec![std::env::current_exe().unwrap(); 2]);
    }

    #[test]
    fn a_folder_is_looked_into_once() {
        let looked = beside(&["/a/libEGL_runahead.so.0".into(), "/b/app".into(), "/b/other".into()]);
        assert_eq!(looked, [PathBuf::from("/a/runahead-server"), "/b/runahead-server".into()]);
    }

    #[test]
    fn what_is_not_found_is_said_with_every_place() {
        let error = first_file(vec!["/nowhere/a".into(), "/nowhere/b".into()]).unwrap_err();
        assert_eq!(
            error.to_string(),
            "runahead-server was not found; install it next to the Runahead library or state its path (looked for \
             /nowhere/a, /nowhere/b)"
        );
    }
}
