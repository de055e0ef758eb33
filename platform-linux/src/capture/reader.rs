//! A capture file, read.

use std::{
    collections::VecDeque,
    fs::File,
    io::{BufReader, Read, Seek, SeekFrom},
    ops::Range,
    path::Path,
};

use runahead_wire::caps::CapsView;

use super::{
    CaptureError, Part, damaged,
    format::{CHUNK_BYTES, ChunkHead, Head, TAIL, TAIL_MAGIC, Tag, Words, word64},
    writer::{IndexEntry, Origin},
};
use crate::control::{
    Bytes,
    message::{CAPS_BYTES, CONFIGS_BYTES, Configs},
};

/// Bytes of parts that are kept because others link to them; one is kept whatever its size.
const LINKED: u64 = 256 << 20;

/// Parts of a capture at most, so that an index that lies costs no memory.
const PARTS: usize = 1 << 24;

/// A capture that is open for reading.
#[derive(Debug)]
pub struct Capture<R = BufReader<File>> {
    from: R,
    head: Head,
    origin: Origin,
    /// Where each part is.
    parts: Vec<IndexEntry>,
    /// For each whole frame, the first part behind it.
    frames: Vec<usize>,
    /// Why the file was read without an index, if it was.
    torn: Option<CaptureError>,
    stored: Vec<u8>,
    /// Parts that others link to, the latest last.
    linked: VecDeque<(usize, Part)>,
}

impl Capture {
    /// Opens a file.
    ///
    /// # Errors
    /// [`CaptureError`].
    pub fn open(path: &Path) -> Result<Self, CaptureError> {
        Self::new(BufReader::new(File::open(path)?))
    }

    /// As [`Capture::open`], once nobody writes the file any more: whoever does may be at work a little longer than the
    /// recorded program.
    ///
    /// # Errors
    /// [`CaptureError`].
    pub fn open_whole(path: &Path) -> Result<Self, CaptureError> {
        let file = File::open(path)?;
        file.lock_shared()?;
        Self::new(BufReader::new(file))
    }
}

impl<R: Read + Seek> Capture<R> {
    /// Reads the beginning and the index of a capture; one without an index is walked through up to what is damaged.
    ///
    /// # Errors
    /// [`CaptureError`]. Damage behind the caps is none: the capture ends before it ([`Capture::torn`]).
    pub fn new(mut from: R) -> Result<Self, CaptureError> {
        let len = from.seek(SeekFrom::End(0))?;
        from.seek(SeekFrom::Start(0))?;
        let (head, at) = Head::read(&mut from)?;
        let (mut stored, mut words, mut begin) = (Vec::new(), Words::default(), at);
        let mut chunk = |tag, wrong, size| {
            from.seek(SeekFrom::Start(begin))?;
            let chunk = ChunkHead::read(&mut from, begin, len)?;
            if chunk.tag != tag || chunk.plain > size {
                return Err(damaged(wrong, begin));
            }
            chunk.read_body(&mut from, begin, &mut stored, &mut words)?;
            begin += chunk.span();
            Ok(words.bytes().to_vec())
        };
        let caps = chunk(Tag::Caps, "Caps.tag", CAPS_BYTES as u64)?;
        let configs = chunk(Tag::Configs, "Configs.tag", CONFIGS_BYTES as u64)?;
        let mut aligned = Words::default();
        aligned.resize(caps.len()).copy_from_slice(&caps);
        CapsView::parse(aligned.bytes()).map_err(|_| damaged("Caps.content", at))?;
        let configs = Configs { bytes: Bytes(configs) };
        configs.check().map_err(|_| damaged("Configs.content", at))?;
        let origin = Origin { terms: head.terms, caps, configs: configs.configs() };
        let mut capture = Self {
            from,
            head,
            origin,
            parts: Vec::new(),
            frames: Vec::new(),
            torn: None,
            stored,
            linked: VecDeque::new(),
        };
        match capture.index(begin, len) {
            Ok(parts) => capture.parts = parts,
            Err(CaptureError::Io(error)) => return Err(error.into()),
            Err(why) => {
                capture.parts = capture.walk(begin, len)?;
                capture.torn = Some(why);
            }
        }
        let ends = capture.parts.iter().enumerate().filter(|(_, entry)| entry.ends_frame);
        capture.frames = ends.map(|(part, _)| part + 1).collect();
        Ok(capture)
    }

    /// The index at the file's end.
    fn index(&mut self, begin: u64, len: u64) -> Result<Vec<IndexEntry>, CaptureError> {
        let tail_at = len.checked_sub(TAIL as u64).filter(|at| *at >= begin);
        let tail_at = tail_at.ok_or(damaged("Tail.magic", len))?;
        let mut tail = [0; TAIL];
        self.from.seek(SeekFrom::Start(tail_at))?;
        self.from.read_exact(&mut tail)?;
        if tail[8..] != TAIL_MAGIC {
            return Err(damaged("Tail.magic", tail_at));
        }
        let at = word64(&tail, 0);
        if !(begin..tail_at).contains(&at) {
            return Err(damaged("Tail.index", tail_at));
        }
        self.from.seek(SeekFrom::Start(at))?;
        let chunk = ChunkHead::read(&mut self.from, at, tail_at)?;
        if chunk.tag != Tag::Index || at + chunk.span() != tail_at {
            return Err(damaged("Index.tag", at));
        }
        let mut words = Words::default();
        chunk.read_body(&mut self.from, at, &mut self.stored, &mut words)?;
        let parts = match postcard::take_from_bytes::<Vec<IndexEntry>>(words.bytes()) {
            Ok((parts, [])) if parts.len() <= PARTS => parts,
            _ => return Err(damaged("Index.content", at)),
        };
        let mut expected = Expected::default();
        let mut least = begin;
        for entry in &parts {
            if entry.at < least || entry.at >= at {
                return Err(damaged("Index.at", at));
            }
            least = entry.at + 1;
            if !expected.follows(entry) {
                return Err(damaged("Index.order", at));
            }
        }
        Ok(parts)
    }

    /// Every part up to the end, the index, or what is damaged.
    fn walk(&mut self, begin: u64, len: u64) -> Result<Vec<IndexEntry>, CaptureError> {
        let (mut parts, mut at, mut part) = (Vec::new(), begin, Part::default());
        let mut expected = Expected::default();
        while at < len && parts.len() < PARTS {
            let entry = match self.part_at(at, len, &mut part) {
                Ok((entry, span)) if expected.follows(&entry) => {
                    at += span;
                    entry
                }
                Ok(_) | Err(CaptureError::Damaged { .. }) => break,
                Err(error) => return Err(error),
            };
            parts.push(entry);
        }
        Ok(parts)
    }

    /// Reads the part at an offset, and the bytes that it takes in the file.
    fn part_at(&mut self, at: u64, len: u64, part: &mut Part) -> Result<(IndexEntry, u64), CaptureError> {
        self.from.seek(SeekFrom::Start(at))?;
        let chunk = ChunkHead::read(&mut self.from, at, len)?;
        if chunk.tag != Tag::Part {
            return Err(damaged("Part.tag", at));
        }
        chunk.read_body(&mut self.from, at, &mut self.stored, part.memory())?;
        let head = part.parse()?;
        let entry = IndexEntry {
            at,
            first: head.first,
            records: head.records,
            frame: head.frame,
            ends_frame: head.ends_frame,
        };
        Ok((entry, chunk.span()))
    }

    /// What the file says of itself.
    #[must_use]
    pub const fn head(&self) -> &Head {
        &self.head
    }

    /// What it says of the recorded session.
    #[must_use]
    pub const fn origin(&self) -> &Origin {
        &self.origin
    }

    /// Whole frames.
    #[must_use]
    pub fn frames(&self) -> u64 {
        self.frames.len() as u64
    }

    /// Records.
    #[must_use]
    pub fn records(&self) -> u64 {
        self.parts.iter().map(|entry| u64::from(entry.records)).sum()
    }

    /// Why the file has no index, where it has none: the recording did not end, or the file was damaged. What is read
    /// then are the parts before the damage.
    #[must_use]
    pub const fn torn(&self) -> Option<&CaptureError> {
        self.torn.as_ref()
    }

    /// Number of parts.
    #[must_use]
    pub fn parts(&self) -> usize {
        self.parts.len()
    }

    /// The parts of a frame.
    ///
    /// # Errors
    /// [`CaptureError::NoFrame`].
    pub fn parts_of(&self, frame: u64) -> Result<Range<usize>, CaptureError> {
        let none = CaptureError::NoFrame { frame, frames: self.frames() };
        let Ok(at) = usize::try_from(frame) else { return Err(none) };
        let Some(end) = self.frames.get(at) else { return Err(none) };
        let begin = at.checked_sub(1).and_then(|before| self.frames.get(before)).copied().unwrap_or(0);
        Ok(begin..*end)
    }

    /// The parts behind the last whole frame.
    #[must_use]
    pub fn rest(&self) -> Range<usize> {
        self.frames.last().copied().unwrap_or(0)..self.parts.len()
    }

    /// Reads a part.
    ///
    /// # Errors
    /// [`CaptureError::Damaged`], also where the index says something else of it, or has no such part.
    pub fn read(&mut self, number: usize, part: &mut Part) -> Result<(), CaptureError> {
        let entry = *self.parts.get(number).ok_or(damaged("Index.part", number as u64))?;
        let len = self.from.seek(SeekFrom::End(0))?;
        if self.part_at(entry.at, len, part)?.0 != entry {
            return Err(damaged("Index.content", entry.at));
        }
        let mut room = CHUNK_BYTES as usize;
        part.link(|link, out| {
            let earlier = usize::try_from(link.part).ok().filter(|earlier| *earlier < number);
            let earlier = earlier.ok_or(damaged("Link.part", entry.at))?;
            // What is read for the links of one part is no more than a part itself can hold.
            room = room.checked_sub(link.size).ok_or(damaged("Link.size", entry.at))?;
            let bytes = self.linked(earlier, len)?.bulk().get(link.offset..);
            let bytes = bytes.and_then(|bytes| bytes.get(..link.size));
            out.extend_from_slice(bytes.ok_or(damaged("Link.offset", entry.at))?);
            Ok(())
        })
    }

    /// A part that another links to; its own links do not matter.
    fn linked(&mut self, number: usize, len: u64) -> Result<&Part, CaptureError> {
        if !self.linked.iter().any(|(known, _)| *known == number) {
            let mut part = Part::default();
            let entry = *self.parts.get(number).ok_or(damaged("Index.part", number as u64))?;
            self.part_at(entry.at, len, &mut part)?;
            let held =
                |linked: &VecDeque<(usize, Part)>| linked.iter().map(|(_, part)| part.bytes()).sum::<u64>();
            while held(&self.linked) + part.bytes() > LINKED && self.linked.pop_front().is_some() {}
            self.linked.push_back((number, part));
        }
        let found = self.linked.iter().find(|(known, _)| *known == number);
        found.map(|(_, part)| part).ok_or(damaged("Index.part", number as u64))
    }
}

/// What the next part begins with.
#[derive(Debug)]
struct Expected {
    first: u64,
    frame: u64,
}

impl Default for Expected {
    fn default() -> Self {
        Self { first: 1, frame: 0 }
    }
}

impl Expected {
    fn follows(&mut self, entry: &IndexEntry) -> bool {
        if (entry.first, entry.frame) != (self.first, self.frame) {
            return false;
        }
        self.first = self.first.saturating_add(entry.records.into());
        self.frame += u64::from(entry.ends_frame);
        true
    }
}
