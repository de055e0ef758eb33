//! What a tap says to its scribe beside the records that it copies: records of its own, whose kinds no catalogue has.

use runahead_wire::record::{HEADER_SIZE, Header, RECORD_ALIGN};

/// Kind: the next record ends a frame, at so many nanoseconds since the recording began.
pub const FRAME: u16 = 0xff01;
/// Kind: a request (postcard).
pub const REQUEST: u16 = 0xff02;

/// A note as a record: its header, what it says, and zeros up to a whole number of words.
#[must_use]
pub fn encode(kind: u16, text: &[u8]) -> Vec<u8> {
    let size = (HEADER_SIZE + text.len()).next_multiple_of(RECORD_ALIGN);
    let mut record = Vec::with_capacity(size);
    record.extend(Header { op: kind, flags: 0, size: size as u32 }.to_bytes());
    record.extend_from_slice(text);
    record.resize(size, 0);
    record
}

/// The note of a frame's end, of which there is one a frame: it needs no memory.
#[must_use]
pub fn frame(nanoseconds: u64) -> [u8; HEADER_SIZE + size_of::<u64>()] {
    let mut record = [0; HEADER_SIZE + size_of::<u64>()];
    let size = record.len() as u32;
    record[..HEADER_SIZE].copy_from_slice(&Header { op: FRAME, flags: 0, size }.to_bytes());
    record[HEADER_SIZE..].copy_from_slice(&nanoseconds.to_le_bytes());
    record
}

/// What a note says; `None` for a record of the catalogue.
#[must_use]
pub fn text(kind: u16, record: &[u8]) -> Option<&[u8]> {
    matches!(kind, FRAME | REQUEST).then(|| record.get(HEADER_SIZE..).unwrap_or_default())
}
