//! How a capture file lies. All numbers are little-endian.
//!
//! ```text
//! head:   magic 8 | version u32 | bytes of the rest u32 | checksum of the rest u32 | 0 u32 | rest (postcard)
//! chunk:  tag u32 | codec u32 | bytes plain u64 | bytes stored u64 | checksum of the stored bytes u32
//!         | checksum of the 28 bytes before u32 | stored bytes | zero to a multiple of 8
//! file:   head, then chunks: one `CAPS`, one `CNFG`, any number of `PART`, and where the recording ended well, one `INDX`
//!         and the tail
//! tail:   offset of the `INDX` chunk u64 | magic 8
//! ```
//!
//! Checksums are CRC-32 (IEEE): they find damage, and are no defence against anybody. Chunks are LZ4 blocks, or plain
//! where that is not shorter.

use std::io::{self, Read, Write};

use serde::{Deserialize, Serialize};

use super::{CaptureError, damaged};
use crate::control::message::{BUILD, FINGERPRINT, Terms};

/// How a file begins. A transfer that changes line ends or drops the high bit breaks it.
pub const MAGIC: [u8; 8] = *b"\x89RAH\r\n\x1a\n";
/// How a file with an index ends.
pub const TAIL_MAGIC: [u8; 8] = *b"RAHINDEX";
/// Version of the format.
pub const VERSION: u32 = 1;

/// Bytes of the fixed beginning.
const FIXED: usize = 24;
/// Bytes of the rest of the head at most.
const HEAD_BYTES: usize = 4096;
/// Bytes of a chunk's head.
pub const CHUNK_HEAD: usize = 32;
/// Bytes of the tail.
pub const TAIL: usize = 16;
/// Plain bytes of a chunk at most: the largest stage, the largest command ring, and what is about them.
pub const CHUNK_BYTES: u64 = (1 << 30) + (128 << 20);
/// What a stored byte can stand for at most; LZ4's own bound.
const EXPANSION: u64 = 255;

/// What a file says of itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Head {
    /// Layouts of records and control messages.
    pub fingerprint: u64,
    /// Who wrote it.
    pub build: String,
    /// What the recorded session was like.
    pub terms: Terms,
}

impl Head {
    /// This build's.
    #[must_use]
    pub fn own(terms: Terms) -> Self {
        Self { fingerprint: FINGERPRINT, build: BUILD.to_owned(), terms }
    }

    /// Writes the beginning of a file; the answer is its length.
    ///
    /// # Errors
    /// The writer's.
    pub fn write(&self, out: &mut impl Write) -> io::Result<u64> {
        let mut rest = postcard::to_allocvec(self).map_err(io::Error::other)?;
        rest.resize(rest.len().next_multiple_of(8), 0);
        let mut all = Vec::with_capacity(FIXED + rest.len());
        all.extend(MAGIC);
        all.extend(VERSION.to_le_bytes());
        all.extend((rest.len() as u32).to_le_bytes());
        all.extend(crc32fast::hash(&rest).to_le_bytes());
        all.extend([0; 4]);
        all.extend(rest);
        out.write_all(&all)?;
        Ok(all.len() as u64)
    }

    /// Reads the beginning of a file, of which this build can read the rest; and its length.
    ///
    /// # Errors
    /// [`CaptureError`].
    pub fn read(from: &mut impl Read) -> Result<(Self, u64), CaptureError> {
        let mut fixed = [0; FIXED];
        whole(from, &mut fixed)?.then_some(()).ok_or(CaptureError::NotACapture)?;
        if fixed[..8] != MAGIC {
            return Err(CaptureError::NotACapture);
        }
        let version = word32(&fixed, 8);
        if version != VERSION {
            return Err(CaptureError::Version { file: version, ours: VERSION });
        }
        let size = word32(&fixed, 12) as usize;
        if size > HEAD_BYTES || !size.is_multiple_of(8) || word32(&fixed, 20) != 0 {
            return Err(damaged("Head.size", 12));
        }
        let mut rest = vec![0; size];
        whole(from, &mut rest)?.then_some(()).ok_or(damaged("Head.size", 12))?;
        if crc32fast::hash(&rest) != word32(&fixed, 16) {
            return Err(damaged("Head.checksum", 16));
        }
        let (head, left) = postcard::take_from_bytes::<Self>(&rest).map_err(|_| damaged("Head.text", 24))?;
        if left.len() > 7 || left.iter().any(|byte| *byte != 0) {
            return Err(damaged("Head.text", 24));
        }
        if head.fingerprint != FINGERPRINT {
            let Self { fingerprint, build, .. } = head;
            return Err(CaptureError::Fingerprint { file: fingerprint, ours: FINGERPRINT, build });
        }
        Ok((head, (FIXED + size) as u64))
    }
}

/// What a chunk is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Tag {
    /// The caps that the client saw.
    Caps = u32::from_le_bytes(*b"CAPS"),
    /// The configs that the client saw.
    Configs = u32::from_le_bytes(*b"CNFG"),
    /// A [`Part`](super::Part).
    Part = u32::from_le_bytes(*b"PART"),
    /// Where the parts are.
    Index = u32::from_le_bytes(*b"INDX"),
}

impl Tag {
    const fn of(number: u32) -> Option<Self> {
        Some(match number {
            n if n == Self::Caps as u32 => Self::Caps,
            n if n == Self::Configs as u32 => Self::Configs,
            n if n == Self::Part as u32 => Self::Part,
            n if n == Self::Index as u32 => Self::Index,
            _ => return None,
        })
    }
}

/// A chunk's head.
#[derive(Clone, Copy, Debug)]
pub struct ChunkHead {
    /// What it is.
    pub tag: Tag,
    lz4: bool,
    /// Plain bytes.
    pub plain: u64,
    /// Bytes in the file, without head and padding.
    pub stored: u64,
    checksum: u32,
}

impl ChunkHead {
    /// Bytes that the chunk takes in the file.
    #[must_use]
    pub const fn span(&self) -> u64 {
        CHUNK_HEAD as u64 + self.stored.next_multiple_of(8)
    }

    fn to_bytes(self) -> [u8; CHUNK_HEAD] {
        let mut bytes = [0; CHUNK_HEAD];
        bytes[..4].copy_from_slice(&(self.tag as u32).to_le_bytes());
        bytes[4..8].copy_from_slice(&u32::from(self.lz4).to_le_bytes());
        bytes[8..16].copy_from_slice(&self.plain.to_le_bytes());
        bytes[16..24].copy_from_slice(&self.stored.to_le_bytes());
        bytes[24..28].copy_from_slice(&self.checksum.to_le_bytes());
        let own = crc32fast::hash(&bytes[..28]);
        bytes[28..].copy_from_slice(&own.to_le_bytes());
        bytes
    }

    /// Reads the head at `at` in a file of `len` bytes.
    fn parse(bytes: &[u8; CHUNK_HEAD], at: u64, len: u64) -> Result<Self, CaptureError> {
        if crc32fast::hash(&bytes[..28]) != word32(bytes, 28) {
            return Err(damaged("Chunk.head", at));
        }
        let tag = Tag::of(word32(bytes, 0)).ok_or(damaged("Chunk.tag", at))?;
        let lz4 = match word32(bytes, 4) {
            0 => false,
            1 => true,
            _ => return Err(damaged("Chunk.codec", at)),
        };
        let (plain, stored) = (word64(bytes, 8), word64(bytes, 16));
        let head = Self { tag, lz4, plain, stored, checksum: word32(bytes, 24) };
        // In that order: what is added below is small by then.
        if stored > len || at + head.span() > len {
            return Err(damaged("Chunk.stored", at));
        }
        let bound = if lz4 { stored * EXPANSION } else { stored };
        if plain > CHUNK_BYTES || plain > bound || (!lz4 && plain != stored) {
            return Err(damaged("Chunk.plain", at));
        }
        Ok(head)
    }

    /// Reads the head of the chunk at which `from` stands, `at` in a file of `len` bytes.
    ///
    /// # Errors
    /// [`CaptureError::Damaged`], also where the file ends before; [`CaptureError::Io`].
    pub fn read(from: &mut impl Read, at: u64, len: u64) -> Result<Self, CaptureError> {
        let mut bytes = [0; CHUNK_HEAD];
        whole(from, &mut bytes)?.then_some(()).ok_or(damaged("Chunk.head", at))?;
        Self::parse(&bytes, at, len)
    }

    /// Reads what follows the head into `plain`, of which the chunk's bytes are the first.
    ///
    /// # Errors
    /// [`CaptureError::Damaged`], [`CaptureError::Io`].
    pub fn read_body(
        &self,
        from: &mut impl Read,
        at: u64,
        stored: &mut Vec<u8>,
        plain: &mut Words,
    ) -> Result<(), CaptureError> {
        let size = usize::try_from(self.stored).map_err(|_| damaged("Chunk.stored", at))?;
        stored.clear();
        stored.resize(size, 0);
        whole(from, stored)?.then_some(()).ok_or(damaged("Chunk.stored", at))?;
        if crc32fast::hash(stored) != self.checksum {
            return Err(damaged("Chunk.checksum", at));
        }
        let out = plain.resize(self.plain as usize);
        if !self.lz4 {
            out.copy_from_slice(stored);
        } else if lz4_flex::block::decompress_into(stored, out).ok() != Some(out.len()) {
            return Err(damaged("Chunk.codec", at));
        }
        Ok(())
    }
}

/// Writes a chunk; the answer is the bytes that it takes. `scratch` is reused from chunk to chunk.
///
/// # Errors
/// The writer's, and [`io::ErrorKind::FileTooLarge`] for more bytes than a chunk can hold.
pub fn write_chunk(out: &mut impl Write, tag: Tag, plain: &[u8], scratch: &mut Vec<u8>) -> io::Result<u64> {
    if plain.len() as u64 > CHUNK_BYTES {
        return Err(io::ErrorKind::FileTooLarge.into());
    }
    let most = CHUNK_HEAD + lz4_flex::block::get_maximum_output_size(plain.len()) + 8;
    if scratch.len() < most {
        // It is cleared once, and not for each chunk.
        scratch.resize(most, 0);
    }
    let packed =
        lz4_flex::block::compress_into(plain, &mut scratch[CHUNK_HEAD..]).map_err(io::Error::other)?;
    let lz4 = packed < plain.len();
    let stored = if lz4 { packed } else { plain.len() };
    if !lz4 {
        scratch[CHUNK_HEAD..CHUNK_HEAD + stored].copy_from_slice(plain);
    }
    let body = &scratch[CHUNK_HEAD..CHUNK_HEAD + stored];
    let checksum = crc32fast::hash(body);
    let head = ChunkHead { tag, lz4, plain: plain.len() as u64, stored: stored as u64, checksum };
    scratch[..CHUNK_HEAD].copy_from_slice(&head.to_bytes());
    let span = head.span() as usize;
    scratch[CHUNK_HEAD + stored..span].fill(0);
    // One run: a crash leaves all of it, or a piece that its head or checksum gives away.
    out.write_all(&scratch[..span])?;
    Ok(span as u64)
}

/// Reads exactly as many bytes; `false` where the file ends before.
fn whole(from: &mut impl Read, out: &mut [u8]) -> Result<bool, CaptureError> {
    match from.read_exact(out) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// The number at a place that the caller knows to be there; 0 where it is not.
pub(super) fn word32(bytes: &[u8], at: usize) -> u32 {
    bytes.get(at..).and_then(<[u8]>::first_chunk).map_or(0, |word| u32::from_le_bytes(*word))
}

/// As [`word32`].
pub(super) fn word64(bytes: &[u8], at: usize) -> u64 {
    bytes.get(at..).and_then(<[u8]>::first_chunk).map_or(0, |word| u64::from_le_bytes(*word))
}

/// Bytes that begin at a multiple of 8, as records must.
#[derive(Clone, Debug, Default)]
pub struct Words {
    words: Vec<u64>,
    len: usize,
}

impl Words {
    /// Makes it `len` bytes long. What it held is of no use then.
    pub fn resize(&mut self, len: usize) -> &mut [u8] {
        self.words.clear();
        self.words.resize(len.div_ceil(8), 0);
        self.len = len;
        let bytes = zerocopy_bytes(&mut self.words);
        // As long, by the line above.
        bytes.get_mut(..len).unwrap_or_default()
    }

    /// The bytes, to be changed.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        let len = self.len;
        zerocopy_bytes(&mut self.words).get_mut(..len).unwrap_or_default()
    }

    /// The bytes.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        use runahead_wire::zerocopy::IntoBytes;
        self.words.as_slice().as_bytes().get(..self.len).unwrap_or_default()
    }
}

fn zerocopy_bytes(words: &mut Vec<u64>) -> &mut [u8] {
    use runahead_wire::zerocopy::IntoBytes;
    words.as_mut_slice().as_mut_bytes()
}
