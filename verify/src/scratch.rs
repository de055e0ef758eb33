//! Folders for what tests write.

use std::{
    fs,
    path::{Path, PathBuf},
    process,
    sync::atomic::{AtomicU32, Ordering},
};

/// A folder that is gone with its test.
#[derive(Debug)]
pub struct Scratch(PathBuf);

impl Scratch {
    /// A new folder in one that is there, such as `CARGO_TARGET_TMPDIR`.
    ///
    /// # Panics
    /// There is no room for it.
    #[must_use]
    pub fn new(within: impl AsRef<Path>) -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let name = format!("scratch-{}-{}", process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let folder = within.as_ref().join(name);
        fs::create_dir(&folder).expect("room for a folder");
        Self(folder)
    }

    /// A path in it, where nothing is yet.
    #[must_use]
    pub fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}
