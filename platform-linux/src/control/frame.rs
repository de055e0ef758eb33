//! Frames: how messages lie in a stream of bytes.
//!
//! ```text
//! offset 0   u32  magic, "RACP"
//!        4   u16  version of the framing
//!        6   u16  descriptors that the message owns
//!        8   u32  bytes of the payload, at least 1
//!       12        the payload, one message
//! ```
//!
//! Integers are little-endian. The framing knows nothing of messages, and never changes: a peer of any other
//! revision can read the frame that refuses it.
//!
//! A [`Decoder`] takes bytes as they arrive, in pieces of any size. It holds what arrived and did not leave
//! yet, and room for as much again at most: a stated length reserves nothing.

use super::{Corruption, check};

/// First bytes of every frame.
pub const MAGIC: u32 = u32::from_le_bytes(*b"RACP");

/// Version of the framing.
pub const VERSION: u16 = 1;

/// Bytes before the payload.
pub const HEADER: usize = 12;

/// Bytes of a payload at most until the handshake is done.
pub const FIRST_PAYLOAD: usize = 1 << 20;

/// Bytes of a payload at most.
pub const MAX_PAYLOAD: usize = 64 << 20;

/// Descriptors of a frame at most. Even, so that the room for them in ancillary data has no padding that the kernel
/// would fill with one more.
pub const MAX_DESCRIPTORS: usize = 16;

/// A frame to send.
///
/// # Errors
/// Payload or descriptors are more than a frame can have, or the payload is empty.
pub fn encode(payload: &[u8], descriptors: usize) -> Result<Vec<u8>, Corruption> {
    check(!payload.is_empty() && payload.len() <= MAX_PAYLOAD, "Frame", "length")?;
    check(descriptors <= MAX_DESCRIPTORS, "Frame", "descriptors")?;
    let mut frame = Vec::with_capacity(HEADER + payload.len());
    frame.extend(MAGIC.to_le_bytes());
    frame.extend(VERSION.to_le_bytes());
    frame.extend((descriptors as u16).to_le_bytes());
    frame.extend((payload.len() as u32).to_le_bytes());
    frame.extend(payload);
    Ok(frame)
}

/// A frame that arrived whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// Descriptors that travel with it.
    pub descriptors: usize,
    /// Its message.
    pub payload: Vec<u8>,
}

/// Cuts a stream of bytes into frames.
#[derive(Debug)]
pub struct Decoder {
    bytes: Vec<u8>,
    max_payload: usize,
}

impl Default for Decoder {
    fn default() -> Self {
        Self::new()
    }
}

impl Decoder {
    /// Nothing arrived yet; payloads are bounded by [`FIRST_PAYLOAD`].
    #[must_use]
    pub const fn new() -> Self {
        Self { bytes: Vec::new(), max_payload: FIRST_PAYLOAD }
    }

    /// The handshake is done: payloads are bounded by [`MAX_PAYLOAD`].
    pub const fn established(&mut self) {
        self.max_payload = MAX_PAYLOAD;
    }

    /// Bytes that arrived and did not leave yet.
    #[must_use]
    pub const fn held(&self) -> usize {
        self.bytes.len()
    }

    /// Bytes of memory that it holds.
    #[must_use]
    pub const fn capacity(&self) -> usize {
        self.bytes.capacity()
    }

    /// Adds bytes that arrived.
    pub fn push(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// The next frame, if all of it arrived.
    ///
    /// # Errors
    /// The stream is corrupt, and stays so: `Frame.Magic`, `Frame.Version`, `Frame.Descriptors` or `Frame.Length`.
    /// Each is found as soon as its bytes are there.
    #[allow(clippy::should_implement_trait, reason = "not an iterator: it goes on after None")]
    pub fn next(&mut self) -> Result<Option<Frame>, Corruption> {
        let Some(header) = self.header()? else { return Ok(None) };
        let end = HEADER + header.length;
        if self.bytes.len() < end {
            return Ok(None);
        }
        let payload = self.bytes[HEADER..end].to_vec();
        self.bytes.drain(..end);
        // What a large frame needed is not kept for the small ones that follow.
        self.bytes.shrink_to(2 * self.bytes.len());
        Ok(Some(Frame { descriptors: header.descriptors, payload }))
    }

    fn header(&self) -> Result<Option<Header>, Corruption> {
        let Some(magic) = self.field(0) else { return Ok(None) };
        check(u32::from_le_bytes(magic) == MAGIC, "Frame", "magic")?;
        let Some(version) = self.field(4) else { return Ok(None) };
        check(u16::from_le_bytes(version) == VERSION, "Frame", "version")?;
        let Some(descriptors) = self.field(6) else { return Ok(None) };
        let descriptors = usize::from(u16::from_le_bytes(descriptors));
        check(descriptors <= MAX_DESCRIPTORS, "Frame", "descriptors")?;
        let Some(length) = self.field(8) else { return Ok(None) };
        let length = u32::from_le_bytes(length) as usize;
        check(length != 0 && length <= self.max_payload, "Frame", "length")?;
        Ok(Some(Header { descriptors, length }))
    }

    fn field<const N: usize>(&self, offset: usize) -> Option<[u8; N]> {
        self.bytes.get(offset..offset + N).and_then(|bytes| bytes.try_into().ok())
    }
}

struct Header {
    descriptors: usize,
    length: usize,
}
