//! A part: records with their bulk bytes, and the requests between them.
//!
//! ```text
//! first ordinal u64 | records u32 | flags u32 | frame u64 | nanoseconds u64
//! | bytes of the records u64 | bytes of the bulk u64 | bytes of the requests u64 | bytes of the links u64
//! | records | bulk | requests (postcard) | links
//! ```
//!
//! In a part the place of bulk bytes that a record names is their offset in the part's bulk. A record and its bulk are
//! in one part; a part holds records of one frame. Bulk bytes that an earlier part holds already are a link to them:
//!
//! ```text
//! place in the records u64 | number of the part u64 | offset in its bulk u64 | bytes u64
//! ```

use std::collections::{HashMap, hash_map::Entry};

use runahead_wire::{
    BlobRef, Bulk, Stage,
    record::{HEADER_SIZE, RECORD_ALIGN},
};
use serde::{Deserialize, Serialize};
use twox_hash::XxHash3_128;

use super::{
    CaptureError, damaged,
    format::{Words, word32, word64},
    layout,
};
use crate::control::message::{ContextAttributes, SurfaceOp, SurfaceState};

/// Bytes before the records.
const HEAD: usize = 64;
/// Requests of a part at most.
const REQUESTS: usize = 4096;
/// Bytes of a part that is passed on though its frame goes on.
const FULL: usize = 1 << 20;
/// The last record of the part ends its frame.
const ENDS_FRAME: u32 = 1;
/// Bytes of a link.
const LINK: usize = 32;
/// Bytes that are looked for in earlier parts: a link and a search cost more than fewer do.
const LINKED: usize = 1024;
/// Bytes that are remembered at once.
const REMEMBERED: usize = 1 << 16;

/// Bulk bytes that an earlier part holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Link {
    /// Where in the records their place is named.
    place: usize,
    /// Number of the part.
    pub part: u64,
    /// Offset in its bulk.
    pub offset: usize,
    /// Bytes.
    pub size: usize,
}

impl Link {
    fn to_bytes(self) -> [u8; LINK] {
        let mut bytes = [0; LINK];
        let words = [self.place as u64, self.part, self.offset as u64, self.size as u64];
        for (place, word) in bytes.chunks_exact_mut(8).zip(words) {
            place.copy_from_slice(&word.to_le_bytes());
        }
        bytes
    }

    /// `None` for numbers that no memory has.
    fn parse(bytes: &[u8]) -> Option<Self> {
        let size = |at| usize::try_from(word64(bytes, at)).ok();
        Some(Self { place: size(0)?, part: word64(bytes, 8), offset: size(16)?, size: size(24)? })
    }
}

/// Where bulk bytes are that were written already.
#[derive(Debug, Default)]
pub(super) struct Remembered(HashMap<(u128, usize), (u64, usize)>);

impl Remembered {
    /// Where the same bytes are, or that they are now there.
    fn find(&mut self, bytes: &[u8], here: (u64, usize)) -> Option<(u64, usize)> {
        if self.0.len() >= REMEMBERED {
            self.0.clear();
        }
        match self.0.entry((XxHash3_128::oneshot(bytes), bytes.len())) {
            Entry::Occupied(known) => Some(*known.get()),
            Entry::Vacant(new) => {
                new.insert(here);
                None
            }
        }
    }
}

/// Bulk bytes of a part that is being filled.
#[derive(Clone, Copy, Debug)]
struct Blob {
    /// Where in the records their place is named.
    place: usize,
    offset: usize,
    size: usize,
}

/// What happened beside records.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Request {
    /// A context was made.
    CreateContext {
        /// Its token.
        context: u64,
        /// The context whose objects it shares; 0 for none.
        share: u64,
        /// How it is.
        attributes: ContextAttributes,
    },
    /// A context ended.
    DestroyContext {
        /// Its token.
        context: u64,
    },
    /// Something was done to a surface.
    Surface {
        /// Its token.
        surface: u64,
        /// What.
        op: SurfaceOp,
        /// How it was then.
        state: SurfaceState,
    },
}

/// A request and the ordinal of the record that it follows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Placed {
    /// The record; 0 is before the first.
    pub after: u64,
    /// What happened.
    pub request: Request,
}

/// Room for the bulk bytes of a part. It stays as large as it once was, so that it is cleared once and not for each
/// part.
#[derive(Clone, Debug, Default)]
pub struct Room {
    bytes: Vec<u8>,
    used: usize,
}

impl Room {
    /// So many bytes, to be written.
    pub fn give(&mut self, size: usize) -> &mut [u8] {
        let at = self.used;
        self.used = at + size;
        if self.bytes.len() < self.used {
            self.bytes.resize(self.used, 0);
        }
        // As long, by the line above.
        self.bytes.get_mut(at..self.used).unwrap_or_default()
    }

    /// Where the next bytes go: at a multiple of 8.
    fn next(&mut self) -> u64 {
        let gap = self.used.next_multiple_of(8) - self.used;
        self.give(gap).fill(0);
        self.used as u64
    }

    fn bytes(&self) -> &[u8] {
        self.bytes.get(..self.used).unwrap_or_default()
    }
}

/// A part that is being filled.
#[derive(Clone, Debug, Default)]
pub struct Builder {
    /// Ordinal of the first record.
    pub first: u64,
    /// Number of the frame.
    pub frame: u64,
    /// When the frame's end was recorded, in nanoseconds since the recording began.
    pub nanoseconds: u64,
    /// Whether the last record ends the frame.
    pub ends_frame: bool,
    records: u32,
    bytes: Vec<u8>,
    bulk: Room,
    blobs: Vec<Blob>,
    requests: Vec<Placed>,
}

impl Builder {
    /// An empty part that keeps the memory of this one.
    pub fn reset(&mut self, first: u64, frame: u64) {
        let Self { mut bytes, mut bulk, mut blobs, mut requests, .. } = std::mem::take(self);
        bytes.clear();
        blobs.clear();
        bulk.used = 0;
        requests.clear();
        *self = Self { first, frame, bytes, bulk, blobs, requests, ..Self::default() };
    }

    /// Empties it for what follows what is in it.
    pub(super) fn advance(&mut self) {
        self.reset(self.first + u64::from(self.records), self.frame + u64::from(self.ends_frame));
    }

    /// Bytes so far.
    #[must_use]
    pub fn len(&self) -> usize {
        self.bytes.len() + self.bulk.used
    }

    /// Whether there is nothing in it.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.records == 0 && self.requests.is_empty()
    }

    /// Records so far.
    #[must_use]
    pub const fn records(&self) -> u32 {
        self.records
    }

    /// Whether it is to be written before more is added, though its frame goes on.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.len() >= FULL || self.requests.len() >= REQUESTS
    }

    /// Adds a record; `resolve` takes room for the bytes that it names, and fills it. `None` where it cannot, and then
    /// the part is as it was.
    #[inline]
    pub fn record(
        &mut self,
        record: &[u8],
        mut resolve: impl FnMut(BlobRef, &mut Room) -> Option<()>,
    ) -> Option<()> {
        let at = self.bytes.len();
        self.bytes.extend_from_slice(record);
        let named = layout::header(record).is_some_and(|head| layout::has_blobs(head.op));
        if named {
            let before = (self.bulk.used, self.blobs.len());
            let Self { bulk, bytes, blobs, .. } = &mut *self;
            let copy = bytes.get_mut(at..).unwrap_or_default();
            let replaced = layout::replace_blobs_at(copy, |place, blob| {
                let offset = bulk.next();
                resolve(blob, bulk)?;
                let (place, begin) = (at + place, offset as usize);
                blobs.push(Blob { place, offset: begin, size: bulk.used - begin });
                Some(offset)
            });
            if replaced.is_none() {
                self.bytes.truncate(at);
                self.bulk.used = before.0;
                self.blobs.truncate(before.1);
                return None;
            }
        }
        self.records += 1;
        Some(())
    }

    /// Adds a request that follows all records so far.
    pub fn request(&mut self, request: Request) {
        let after = self.first + u64::from(self.records) - 1;
        self.requests.push(Placed { after, request });
    }

    /// Writes it down, as the part of a number. Bytes that earlier parts hold are not written again.
    pub(super) fn encode(&self, number: u64, remembered: &mut Remembered, out: &mut Vec<u8>) {
        // There is nothing in a request that cannot be written down.
        let requests = if self.requests.is_empty() {
            Vec::new()
        } else {
            postcard::to_allocvec(&self.requests).unwrap_or_default()
        };
        out.clear();
        out.extend(self.first.to_le_bytes());
        out.extend(self.records.to_le_bytes());
        out.extend(if self.ends_frame { ENDS_FRAME } else { 0 }.to_le_bytes());
        out.extend(self.frame.to_le_bytes());
        out.extend(self.nanoseconds.to_le_bytes());
        out.resize(HEAD, 0);
        out.extend_from_slice(&self.bytes);
        let (begin, mut links) = (out.len(), Vec::new());
        for blob in &self.blobs {
            let bytes = self.bulk.bytes().get(blob.offset..blob.offset + blob.size).unwrap_or_default();
            let mut here = (out.len() - begin).next_multiple_of(8);
            let known = match bytes.len() >= LINKED {
                true => remembered.find(bytes, (number, here)),
                false => None,
            };
            match known {
                Some((part, offset)) if part == number => here = offset,
                Some((part, offset)) => {
                    links.push(Link { place: blob.place, part, offset, size: blob.size });
                    here = 0;
                }
                None => {
                    out.resize(begin + here, 0);
                    out.extend_from_slice(bytes);
                }
            }
            put(out, HEAD + blob.place, here as u64);
        }
        let bulk = out.len() - begin;
        out.extend(&requests);
        out.extend(links.iter().flat_map(|link| link.to_bytes()));
        let sections = [self.bytes.len(), bulk, requests.len(), links.len() * LINK];
        for (at, section) in (32..).step_by(8).zip(sections) {
            put(out, at, section as u64);
        }
    }
}

/// Puts a number at a place that is there.
fn put(bytes: &mut [u8], at: usize, word: u64) {
    if let Some(place) = bytes.get_mut(at..at + 8) {
        place.copy_from_slice(&word.to_le_bytes());
    }
}

/// What a part says of itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PartHead {
    /// Ordinal of the first record.
    pub first: u64,
    /// Records.
    pub records: u32,
    /// Number of the frame.
    pub frame: u64,
    /// When it ended, in nanoseconds since the recording began.
    pub nanoseconds: u64,
    /// Whether the last record ends the frame.
    pub ends_frame: bool,
}

/// What a part holds.
#[derive(Clone, Copy, Debug)]
pub enum Item<'a> {
    /// A record, behind its ordinal.
    Record(u64, &'a [u8]),
    /// What happened between records.
    Request(&'a Placed),
}

/// A part that was read.
#[derive(Debug, Default)]
pub struct Part {
    head: Option<PartHead>,
    words: Words,
    records: usize,
    bulk: usize,
    requests: Vec<Placed>,
    links: Vec<Link>,
    /// Bytes that the links name.
    linked: Vec<u8>,
}

impl Part {
    /// Memory to read a part into.
    pub(super) const fn memory(&mut self) -> &mut Words {
        &mut self.words
    }

    /// Checks what was read into the memory.
    ///
    /// # Errors
    /// [`CaptureError::Damaged`]; what a record holds is not looked at here.
    pub(super) fn parse(&mut self) -> Result<PartHead, CaptureError> {
        self.head = None;
        let bytes = self.words.bytes();
        if bytes.len() < HEAD {
            return Err(damaged("Part.size", 0));
        }
        let flags = word32(bytes, 12);
        let [records, bulk, requests, links] = [32, 40, 48, 56].map(|at| word64(bytes, at));
        let head = PartHead {
            first: word64(bytes, 0),
            records: word32(bytes, 8),
            frame: word64(bytes, 16),
            nanoseconds: word64(bytes, 24),
            ends_frame: flags & ENDS_FRAME != 0,
        };
        if flags & !ENDS_FRAME != 0 {
            return Err(damaged("Part.flags", 12));
        }
        let sum = [records, bulk, requests, links].into_iter().try_fold(HEAD as u64, u64::checked_add);
        if sum != Some(bytes.len() as u64) {
            return Err(damaged("Part.size", 32));
        }
        let last = head.first.checked_add(head.records.into());
        if head.first == 0 || last.is_none() {
            return Err(damaged("Part.first", 0));
        }
        self.records = records as usize;
        self.bulk = bulk as usize;
        let rest = bytes.get(HEAD + self.records + self.bulk..).unwrap_or_default();
        // All of it is there, by the sum.
        let (requests, links) = rest.split_at_checked(requests as usize).unwrap_or_default();
        self.requests = match requests {
            [] => Vec::new(),
            bytes => match postcard::take_from_bytes::<Vec<Placed>>(bytes) {
                Ok((requests, [])) if requests.len() <= REQUESTS => requests,
                _ => return Err(damaged("Part.requests", 48)),
            },
        };
        self.linked.clear();
        let (links, odd) = links.as_chunks::<LINK>();
        let parsed: Option<_> = links.iter().map(|link| Link::parse(link)).collect();
        self.links = parsed.filter(|_| odd.is_empty()).ok_or(damaged("Part.links", 56))?;
        let mut before = head.first - 1;
        for placed in &self.requests {
            if placed.after < before || Some(placed.after) >= last {
                return Err(damaged("Part.after", 48));
            }
            before = placed.after;
        }
        self.head = Some(head);
        self.walk(head).inspect_err(|_| self.head = None)?;
        Ok(head)
    }

    /// Checks that the records are as many as stated, and that the frame's end is where it is stated.
    fn walk(&self, head: PartHead) -> Result<(), CaptureError> {
        let (mut seen, mut last) = (0, 0);
        for record in self.records() {
            last = layout::header(record?).map_or(0, |head| head.op);
            seen += 1;
        }
        if seen != head.records || head.ends_frame != (seen != 0 && layout::ends_frame(last)) {
            return Err(damaged("Part.records", 8));
        }
        Ok(())
    }

    /// Fetches what the links name: `fetch` appends it.
    ///
    /// # Errors
    /// What `fetch` says, and [`CaptureError::Damaged`].
    pub(super) fn link(
        &mut self,
        mut fetch: impl FnMut(Link, &mut Vec<u8>) -> Result<(), CaptureError>,
    ) -> Result<(), CaptureError> {
        if self.links.is_empty() {
            return Ok(());
        }
        let head = self.head();
        // Until all is well.
        self.head = None;
        for link in std::mem::take(&mut self.links) {
            self.linked.resize(self.linked.len().next_multiple_of(8), 0);
            let here = self.bulk + self.linked.len();
            fetch(link, &mut self.linked)?;
            if !link.place.is_multiple_of(8) || link.place.saturating_add(8) > self.records {
                return Err(damaged("Link.place", link.place as u64));
            }
            put(self.words.bytes_mut(), HEAD + link.place, here as u64);
        }
        self.head = Some(head);
        self.walk(head).inspect_err(|_| self.head = None)
    }

    /// What it says of itself; of a part that was not read, that it is empty.
    #[must_use]
    pub fn head(&self) -> PartHead {
        self.head.unwrap_or(PartHead { first: 1, records: 0, frame: 0, nanoseconds: 0, ends_frame: false })
    }

    fn section(&self, from: usize, len: usize) -> &[u8] {
        if self.head.is_none() {
            return &[];
        }
        self.words.bytes().get(from..).and_then(|bytes| bytes.get(..len)).unwrap_or_default()
    }

    /// The records, whole and at a multiple of 8; what each holds is for the decoder to check.
    pub fn records(&self) -> impl Iterator<Item = Result<&[u8], CaptureError>> {
        let mut left = self.section(HEAD, self.records);
        let mut at = HEAD as u64;
        std::iter::from_fn(move || {
            if left.is_empty() {
                return None;
            }
            let size = layout::header(left).map_or(0, |head| head.size as usize);
            let whole = size >= HEADER_SIZE && size.is_multiple_of(RECORD_ALIGN);
            let Some((record, rest)) = left.split_at_checked(size).filter(|_| whole) else {
                left = &[];
                return Some(Err(damaged("Record.size", at)));
            };
            at += size as u64;
            left = rest;
            Some(Ok(record))
        })
    }

    /// Records and requests in the order in which they happened. Nothing that counts follows an error.
    pub fn items(&self) -> impl Iterator<Item = Result<Item<'_>, CaptureError>> {
        let mut records = (self.head().first..).zip(self.records()).peekable();
        let mut requests = self.requests.iter().peekable();
        std::iter::from_fn(move || {
            let next = records.peek().map(|(ordinal, _)| *ordinal);
            if let Some(placed) = requests.next_if(|placed| next.is_none_or(|next| placed.after < next)) {
                return Some(Ok(Item::Request(placed)));
            }
            let (ordinal, record) = records.next()?;
            Some(record.map(|record| Item::Record(ordinal, record)))
        })
    }

    /// The requests, in order.
    #[must_use]
    pub fn requests(&self) -> &[Placed] {
        &self.requests
    }

    /// Bytes that it takes.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        (self.words.bytes().len() + self.linked.len()) as u64
    }

    /// The bulk bytes that the part itself holds.
    #[must_use]
    pub fn bulk(&self) -> &[u8] {
        self.section(HEAD + self.records, self.bulk)
    }
}

/// The bulk of a part, as the dispatcher asks for it.
impl Stage for Part {
    fn resolve(&self, blob: &BlobRef) -> Option<Bulk<'_>> {
        let from = usize::try_from(blob.offset).ok()?;
        let size = usize::try_from(blob.size).ok()?;
        let bytes = match from.checked_sub(self.bulk) {
            Some(from) => self.linked.get(from..)?,
            None => self.bulk().get(from..)?,
        };
        bytes.get(..size).map(Bulk::Bytes)
    }
}
