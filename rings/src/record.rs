//! Framing: how records lie in a record ring.
//!
//! A record is one contiguous run of bytes that begins with an 8-byte header, little-endian:
//!
//! | bytes | meaning |
//! |---|---|
//! | 0..2 | kind; 0 is the pad that fills the run up to the wrap, everything else is the payload's business |
//! | 2..4 | flags, the payload's business |
//! | 4..8 | size in bytes, header and padding included, a multiple of 8 |
//!
//! The size alone matters here. A record never wraps: where the run up to the end is too short, a pad takes it
//! and the record begins at offset 0. Pads count as no record.

/// Bytes of the header; also the grid of sizes and positions.
pub const HEADER: usize = 8;

/// Bytes after which a producer publishes. A fence and a look at the park word cost as much as several
/// records; once per KiB they cost nothing.
pub const BATCH: u64 = 1024;

/// Bytes after which a publisher fences and looks whether its peer sleeps, if it has not come to rest before;
/// in between it glances. The fence waits until all stores have drained, which costs most where records are large.
pub const FENCE_EVERY: u64 = 16 * 1024;

/// The largest record of a ring of `capacity` bytes. With half, pad and record together always fit an empty
/// ring, wherever its cursor stands.
#[must_use]
pub const fn max_record(capacity: usize) -> usize {
    capacity / 2
}

/// The largest event of an event ring of `capacity` bytes: a quarter, so that a client that drains has room
/// to give before the ring is empty.
#[must_use]
pub const fn max_event(capacity: usize) -> usize {
    capacity / 4
}

/// The header word of a pad of `size` bytes.
#[inline(always)]
pub(crate) const fn pad(size: u64) -> u64 {
    (size << 32).to_le()
}

/// Kind and size of a header word.
#[inline(always)]
pub(crate) const fn kind_and_size(header: u64) -> (u16, usize) {
    let header = u64::from_le(header);
    (header as u16, (header >> 32) as usize)
}
