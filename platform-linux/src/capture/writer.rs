//! A capture file, written.

use std::{
    fs::File,
    io::{self, Write},
    path::{Path, PathBuf},
};

use runahead_core::NativeConfig;
use serde::{Deserialize, Serialize};

use super::{
    format::{Head, TAIL, TAIL_MAGIC, Tag, write_chunk},
    part::{Builder, Remembered},
};
use crate::control::message::{Configs, Terms};

/// What a capture says of the recorded session.
#[derive(Clone, Debug, Default)]
pub struct Origin {
    /// What it was like.
    pub terms: Terms,
    /// The caps that its client saw, encoded.
    pub caps: Vec<u8>,
    /// What its surfaces could be like.
    pub configs: Vec<NativeConfig>,
}

/// Where a part is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct IndexEntry {
    /// Offset of its chunk in the file.
    pub at: u64,
    /// Ordinal of its first record.
    pub first: u64,
    /// Its records.
    pub records: u32,
    /// Its frame.
    pub frame: u64,
    /// Whether it ends the frame.
    pub ends_frame: bool,
}

/// Writes a capture. What it wrote is in the file when a call returns.
#[derive(Debug)]
pub struct Writer<W: Write = File> {
    out: W,
    at: u64,
    index: Vec<IndexEntry>,
    plain: Vec<u8>,
    scratch: Vec<u8>,
    remembered: Remembered,
}

/// Files of one name at most.
const SAME_NAME: u32 = 10_000;

/// Creates a file for a capture; the file and its name. Where there is one, it stays, and the name gets a number: `a.rah`,
/// `a.1.rah`, `a.2.rah`. A program that starts others hands them its environment, and each has a recording of its own then.
///
/// # Errors
/// The system's.
pub fn create_new(path: &Path) -> io::Result<(File, PathBuf)> {
    if path.metadata().is_ok_and(|there| !there.is_file()) {
        // A device or pipe is there to be written to.
        return Ok((File::options().write(true).open(path)?, path.to_owned()));
    }
    let mut name = path.to_owned();
    for number in 1..SAME_NAME {
        match File::create_new(&name) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            created => return Ok((created?, name)),
        }
        let mut file = path.file_stem().unwrap_or_default().to_owned();
        file.push(format!(".{number}"));
        if let Some(extension) = path.extension() {
            file.push(".");
            file.push(extension);
        }
        name.set_file_name(file);
    }
    Err(io::ErrorKind::AlreadyExists.into())
}

impl<W: Write> Writer<W> {
    /// Begins a capture of a session.
    ///
    /// # Errors
    /// The writer's.
    pub fn new(mut out: W, origin: &Origin) -> io::Result<Self> {
        let at = Head::own(origin.terms).write(&mut out)?;
        let mut writer = Self::resume(out, at);
        let configs = Configs::new(origin.configs.clone()).bytes.0;
        for (tag, bytes) in [(Tag::Caps, &origin.caps), (Tag::Configs, &configs)] {
            writer.at += write_chunk(&mut writer.out, tag, bytes, &mut writer.scratch)?;
        }
        Ok(writer)
    }

    /// Goes on behind the beginning of a capture, of which so many bytes were written.
    pub fn resume(out: W, at: u64) -> Self {
        let (plain, scratch, remembered) = (Vec::new(), Vec::new(), Remembered::default());
        Self { out, at, index: Vec::new(), plain, scratch, remembered }
    }

    /// Writes a part, which is empty then for what follows.
    ///
    /// # Errors
    /// The writer's; the file then holds what was written before.
    pub fn part(&mut self, part: &mut Builder) -> io::Result<()> {
        part.encode(self.index.len() as u64, &mut self.remembered, &mut self.plain);
        let span = write_chunk(&mut self.out, Tag::Part, &self.plain, &mut self.scratch)?;
        let Builder { first, frame, ends_frame, .. } = *part;
        self.index.push(IndexEntry { at: self.at, first, records: part.records(), frame, ends_frame });
        self.at += span;
        part.advance();
        Ok(())
    }

    /// Frames that are whole.
    #[must_use]
    pub fn frames(&self) -> u64 {
        self.index.iter().filter(|entry| entry.ends_frame).count() as u64
    }

    /// Bytes written.
    #[must_use]
    pub const fn bytes(&self) -> u64 {
        self.at
    }

    /// Writes the index and the tail.
    ///
    /// # Errors
    /// The writer's; the file can be read without them.
    pub fn finish(mut self) -> io::Result<W> {
        let index = postcard::to_allocvec(&self.index).map_err(io::Error::other)?;
        write_chunk(&mut self.out, Tag::Index, &index, &mut self.scratch)?;
        let mut tail = [0; TAIL];
        tail[..8].copy_from_slice(&self.at.to_le_bytes());
        tail[8..].copy_from_slice(&TAIL_MAGIC);
        self.out.write_all(&tail)?;
        self.out.flush()?;
        Ok(self.out)
    }
}
