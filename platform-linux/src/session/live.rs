//! The page that a server keeps for its client to read at any time, without a round trip: its counters and its caps,
//! each behind a sequence lock ([`SeqPage`]).

use std::fmt;

use runahead_core::{Counters, counters};
use runahead_rings::{Fault, SeqPage, SeqReader, SeqWriter, Torn};

use super::memory::MemoryError;
use crate::{control::message::CAPS_BYTES, segment::Mapping};

/// The caps blob in words, behind its size in bytes.
const CAPS_WORDS: usize = 1 + CAPS_BYTES.div_ceil(8);

/// Tries of one read. A writer is done within a microsecond, so a page torn that often is one whose writer has died or
/// never rests.
const TRIES: u32 = 1000;

/// The page. Fresh memory, which is zero, is one that nobody has written to yet.
#[repr(C)]
#[derive(Debug)]
pub struct LivePage {
    counters: SeqPage<{ counters::WORDS }>,
    caps: SeqPage<CAPS_WORDS>,
}

/// Bytes of the page.
pub const SIZE: usize = size_of::<LivePage>();

/// Why the page gave nothing. What was read from it before stays as it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LiveError {
    /// There is no page: the caller applies itself.
    NoServer,
    /// The server has written nothing: it was not asked to count.
    Nothing,
    /// It was being written at each of many tries. Ask again later, or look whether the server lives.
    Torn,
    /// It holds what it may not.
    Corrupt,
}

impl fmt::Display for LiveError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NoServer => "there is no server",
            Self::Nothing => "the server was not asked for it",
            Self::Torn => "the server's page was being rewritten at each try",
            Self::Corrupt => "the server's page holds what it may not",
        })
    }
}

impl std::error::Error for LiveError {}

impl From<Torn> for LiveError {
    fn from(Torn: Torn) -> Self {
        Self::Torn
    }
}

/// The page in a mapping.
///
/// # Safety
/// The mapping outlives every use of the page.
unsafe fn page(mapping: &Mapping) -> Result<&'static LivePage, MemoryError> {
    let (base, size) = (mapping.base().cast::<LivePage>(), mapping.len());
    if size < SIZE || !base.is_aligned() {
        return Err(Fault::Mismatch { place: "LivePage", field: "Size" }.into());
    }
    // SAFETY: large enough, aligned, mapped by this function's contract; it consists of atomics, so any bytes are valid
    // and the owner may write them at any time.
    Ok(unsafe { base.as_ref() })
}

/// The server's half.
#[derive(Debug)]
pub struct LiveWriter {
    counters: SeqWriter<'static, { counters::WORDS }>,
    caps: SeqWriter<'static, CAPS_WORDS>,
}

impl LiveWriter {
    /// The one writer of a page.
    ///
    /// # Safety
    /// The mapping outlives it, and is writable.
    pub unsafe fn new(mapping: &Mapping) -> Result<Self, MemoryError> {
        // SAFETY: this function's contract.
        let page = unsafe { page(mapping) }?;
        Ok(Self { counters: SeqWriter::new(&page.counters), caps: SeqWriter::new(&page.caps) })
    }

    /// Replaces the counters.
    pub fn counters(&mut self, counters: &Counters) {
        self.counters.write(&counters.to_words());
    }

    /// Replaces the caps by a blob of [`CAPS_BYTES`] at most.
    pub fn caps(&mut self, blob: &[u8]) {
        let mut words = vec![blob.len() as u64];
        words.extend(blob.chunks(8).map(|bytes| {
            let mut word = [0; 8];
            word[..bytes.len()].copy_from_slice(bytes);
            u64::from_le_bytes(word)
        }));
        self.caps.write_first(&words);
    }
}

/// The client's half.
#[derive(Clone, Copy, Debug)]
pub struct LiveReader(&'static LivePage);

impl LiveReader {
    /// A reader.
    ///
    /// # Safety
    /// The mapping outlives it.
    pub unsafe fn new(mapping: &Mapping) -> Result<Self, MemoryError> {
        // SAFETY: this function's contract.
        Ok(Self(unsafe { page(mapping) }?))
    }

    /// The counters.
    pub fn counters(self) -> Result<Counters, LiveError> {
        let mut words = [0; counters::WORDS];
        match SeqReader::new(&self.0.counters).read(&mut words, TRIES)? {
            0 => Err(LiveError::Nothing),
            _ => Ok(Counters::from_words(&words)),
        }
    }

    /// The caps blob, as nobody has checked it yet.
    pub fn caps(self) -> Result<Vec<u8>, LiveError> {
        let reader = SeqReader::new(&self.0.caps);
        // Its size first; a later one of another size is looked at again, and not for ever.
        for _ in 0..TRIES {
            let mut size = [0];
            if reader.read_first(&mut size, TRIES)? == 0 {
                return Err(LiveError::Nothing);
            }
            let size = usize::try_from(size[0]).ok().filter(|size| *size <= CAPS_BYTES);
            let size = size.ok_or(LiveError::Corrupt)?;
            let mut words = vec![0; 1 + size.div_ceil(8)];
            reader.read_first(&mut words, TRIES)?;
            if words[0] == size as u64 {
                let mut blob: Vec<u8> = words[1..].iter().flat_map(|word| word.to_le_bytes()).collect();
                blob.truncate(size);
                return Ok(blob);
            }
        }
        Err(LiveError::Torn)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::*;
    use crate::segment::{OwnedSegment, map_peer};
    use std::os::fd::AsFd;

    fn both() -> (OwnedSegment, Mapping) {
        let bytes = SIZE.next_multiple_of(4096);
        let own = OwnedSegment::create(c"runahead-live", bytes).unwrap();
        let peer = map_peer(own.descriptor().as_fd(), bytes).unwrap();
        (own, peer)
    }

    /// A word of the page, as a hostile server has it.
    fn word(own: &OwnedSegment, at: usize) -> &AtomicU64 {
        assert!(at.is_multiple_of(8) && at < own.mapping().len());
        // SAFETY: mapped while the borrow lasts, aligned, and reached through atomics alone.
        unsafe { AtomicU64::from_ptr(own.mapping().base().as_ptr().wrapping_add(at).cast()) }
    }

    #[test]
    fn what_is_written_is_read() {
        let (own, peer) = both();
        // SAFETY: the mappings live until the end of the test.
        let mut writer = unsafe { LiveWriter::new(own.mapping()) }.unwrap();
        // SAFETY: as above.
        let reader = unsafe { LiveReader::new(&peer) }.unwrap();
        assert_eq!(reader.counters(), Err(LiveError::Nothing));
        assert_eq!(reader.caps(), Err(LiveError::Nothing));
        let counters = Counters { records: 5, ..Counters::default() };
        writer.counters(&counters);
        assert_eq!(reader.counters(), Ok(counters));
        for size in [0, 1, 8, 4095, CAPS_BYTES, 3] {
            let blob: Vec<u8> = (0..size).map(|byte| byte as u8).collect();
            writer.caps(&blob);
            assert_eq!(reader.caps(), Ok(blob));
        }
    }

    #[test]
    fn a_torn_or_senseless_page_has_a_stated_answer() {
        let (own, peer) = both();
        // SAFETY: the mappings live until the end of the test.
        let reader = unsafe { LiveReader::new(&peer) }.unwrap();
        let caps = size_of::<SeqPage<{ counters::WORDS }>>();
        word(&own, 0).store(1, Ordering::Relaxed);
        word(&own, caps).store(u64::MAX, Ordering::Relaxed);
        assert_eq!(reader.counters(), Err(LiveError::Torn));
        assert_eq!(reader.caps(), Err(LiveError::Torn));
        word(&own, 0).store(2, Ordering::Relaxed);
        word(&own, caps).store(2, Ordering::Relaxed);
        for size in [CAPS_BYTES as u64 + 1, u64::MAX] {
            word(&own, caps + 8).store(size, Ordering::Relaxed);
            assert_eq!(reader.caps(), Err(LiveError::Corrupt));
        }
        for at in (8..caps).step_by(8) {
            word(&own, at).store(u64::MAX, Ordering::Relaxed);
        }
        // Numbers are shown as they are, and summed without overflow.
        assert_eq!(reader.counters().unwrap().round_trips(), u64::MAX);
    }

    #[test]
    fn a_page_that_is_too_small_is_refused() {
        let own = OwnedSegment::create(c"runahead-live", 4096).unwrap();
        // SAFETY: the mapping lives until the end of the test.
        let error = unsafe { LiveReader::new(own.mapping()) }.unwrap_err();
        assert!(error.to_string().contains("LivePage.Size"), "{error}");
    }
}
