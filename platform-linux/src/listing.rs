//! What a backend was called for, in a file, a line a call.

use std::{
    fs::File,
    io::{self, BufWriter, Write},
    path::Path,
};

use runahead_core::trace::{Call, Listener};

/// Writes calls. An error shows at the end: a listing that is not whole is worse than none.
#[derive(Debug)]
pub struct Listing {
    out: BufWriter<File>,
    failed: Option<io::Error>,
}

impl Listing {
    /// Creates the file.
    ///
    /// # Errors
    /// The sentence for the user.
    pub fn create(file: &Path) -> Result<Self, String> {
        let out = File::create(file).map_err(|error| format!("{}: {error}", file.display()))?;
        Ok(Self { out: BufWriter::new(out), failed: None })
    }

    /// Ends it.
    ///
    /// # Errors
    /// The sentence for the user: why it is not whole.
    pub fn finish(mut self) -> Result<(), String> {
        let flushed = self.out.flush();
        let failed = self.failed.or(flushed.err());
        failed.map_or(Ok(()), |error| Err(format!("the listing is not whole: {error}")))
    }
}

impl Listener for Listing {
    fn call(&mut self, call: &Call<'_>) {
        if self.failed.is_none() {
            self.failed = writeln!(self.out, "{call}").err();
        }
    }
}
