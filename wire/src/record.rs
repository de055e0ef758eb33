//! Records: the header, the reply space, and how the parts of a record lie.
//!
//! ```text
//! [header 8] [reply space 16, if REPLY is set] [payload] [tail 0] [tail 1] ... [zero to a multiple of 8]
//! ```
//!
//! One rule places every part: it begins at the next multiple of its own alignment, which is at most 8. Tails
//! are positional and all of a row's tails are always declared, with a count that may be 0. The decoder
//! computes the whole length again from the declared counts and requires it to equal the header's.

use crate::catalogue::Row;
use crate::error::Refusal;
use crate::payload::Member;
pub use crate::payload::ReplySpace;
use zerocopy::{FromBytes, IntoBytes};

/// Bytes of a record header.
pub const HEADER_SIZE: usize = 8;

/// The header's layout in words, for the fingerprint.
pub(crate) const HEADER_LAYOUT: &str = "op u16, flags u16, size u32";

/// Records begin at, and are, a multiple of this many bytes.
pub const RECORD_ALIGN: usize = 8;

/// Header flag: reply space follows the header. Every other bit is refused.
pub const FLAG_REPLY: u16 = 1;

/// First 8 bytes of a record.
///
/// Sequence numbers do not travel: a record's number is its ordinal, counted by both sides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// Row of the catalogue. 0 is the ring's filler to the wrap and never a record.
    pub op: u16,
    /// [`FLAG_REPLY`] or 0.
    pub flags: u16,
    /// Bytes of the record with header and padding; a multiple of 8.
    pub size: u32,
}

impl Header {
    /// The header as it lies in memory.
    #[inline]
    #[must_use]
    pub const fn to_bytes(self) -> [u8; HEADER_SIZE] {
        let word = if cfg!(target_endian = "little") {
            self.op as u64 | (self.flags as u64) << 16 | (self.size as u64) << 32
        } else {
            (self.op as u64) << 48 | (self.flags as u64) << 32 | self.size as u64
        };
        word.to_ne_bytes()
    }

    /// The header that lies in these bytes.
    #[inline]
    #[must_use]
    pub const fn from_bytes(bytes: [u8; HEADER_SIZE]) -> Self {
        let word = u64::from_ne_bytes(bytes);
        if cfg!(target_endian = "little") {
            Self { op: word as u16, flags: (word >> 16) as u16, size: (word >> 32) as u32 }
        } else {
            Self { op: (word >> 48) as u16, flags: (word >> 32) as u16, size: word as u32 }
        }
    }
}

/// A record whose header was checked.
#[derive(Clone, Copy, Debug)]
pub struct Frame<'a> {
    bytes: &'a [u8],
    /// Kept apart, because a whole header is moved through memory where these stay in registers.
    op: u16,
    has_reply: bool,
}

impl<'a> Frame<'a> {
    /// Checks the frame of a record. `bytes` is the whole record in memory that no peer can write.
    ///
    /// # Errors
    /// `Record.Alignment` when `bytes` does not begin at a multiple of 8; `Record.Size` when it is shorter
    /// than a header, or not of the header's size, or not a multiple of 8, or too short for the reply space
    /// that the header announces; `Record.Flags` when an unassigned flag is set.
    #[inline(always)]
    pub fn parse(bytes: &'a [u8]) -> Result<Self, Refusal> {
        let Some(first) = bytes.first_chunk::<HEADER_SIZE>() else {
            return Err(Refusal::Corrupt { owner: "Record", field: "size" });
        };
        if !bytes.as_ptr().addr().is_multiple_of(RECORD_ALIGN) {
            return Err(Refusal::Corrupt { owner: "Record", field: "alignment" });
        }
        let header = Header::from_bytes(*first);
        if header.size as usize != bytes.len() || !bytes.len().is_multiple_of(RECORD_ALIGN) {
            return Err(Refusal::Corrupt { owner: "Record", field: "size" });
        }
        if header.flags != 0 {
            if header.flags != FLAG_REPLY {
                return Err(Refusal::Corrupt { owner: "Record", field: "flags" });
            }
            if bytes.len() < HEADER_SIZE + size_of::<ReplySpace>() {
                return Err(Refusal::Corrupt { owner: "Record", field: "size" });
            }
        }
        Ok(Self { bytes, op: header.op, has_reply: header.flags != 0 })
    }

    /// Number of the row.
    #[inline]
    #[must_use]
    pub const fn op(&self) -> u16 {
        self.op
    }

    /// The whole record.
    #[inline]
    #[must_use]
    pub const fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// Whether the record carries reply space.
    #[inline]
    #[must_use]
    pub const fn has_reply(&self) -> bool {
        self.has_reply
    }

    /// The reply space, if the record carries one.
    #[inline(always)]
    #[must_use]
    pub fn reply(&self) -> Option<ReplySpace> {
        if !self.has_reply {
            return None;
        }
        let behind = self.bytes.get(HEADER_SIZE..)?;
        ReplySpace::read_from_prefix(behind).ok().map(|(space, _)| space)
    }

    /// A reader of the parts behind the reply space. Used by generated decoders.
    #[doc(hidden)]
    #[inline(always)]
    pub fn parts<F: Fault>(self, row: &'static str, may_reply: bool) -> Result<Parts<'a>, F> {
        if self.has_reply && !may_reply {
            return Err(F::corrupt(row, "reply"));
        }
        Ok(Parts { bytes: self.bytes, at: head_len(may_reply && self.has_reply), row })
    }
}

/// Bytes of a record before its payload.
#[doc(hidden)]
#[inline]
#[must_use]
pub const fn head_len(reply: bool) -> usize {
    if reply { HEADER_SIZE + size_of::<ReplySpace>() } else { HEADER_SIZE }
}

/// Checks a payload on behalf of a row.
#[doc(hidden)]
#[inline(always)]
pub fn check_payload<P: Member, F: Fault>(payload: &P, row: &'static str) -> Result<(), F> {
    match payload.check() {
        Ok(()) => Ok(()),
        Err(field) => Err(F::corrupt(row, field)),
    }
}

/// Checks the elements of a tail; a refusal names the element's type.
#[doc(hidden)]
#[inline(always)]
pub fn check_elements<T: Member, F: Fault>(tail: &[T]) -> Result<(), F> {
    if T::CHECKED {
        for element in tail {
            if let Err(field) = element.check() {
                return Err(F::corrupt(T::NAME, field));
            }
        }
    }
    Ok(())
}

/// `at`, raised to the next multiple of `align`, a power of two.
///
/// No overflow: a decoder's `at` is at most the length of a slice, and an encoder's within
/// [`limits::RECORD_BYTES`](crate::limits::RECORD_BYTES), which the catalogue macro proves of every row.
#[doc(hidden)]
#[inline]
#[must_use]
pub const fn align_up(at: usize, align: usize) -> usize {
    (at + (align - 1)) & !(align - 1)
}

/// End of a part of `count` elements of type `T` that follows a part which ends at `at`; see [`align_up`].
#[doc(hidden)]
#[inline]
#[must_use]
pub const fn part_end<T>(at: usize, count: usize) -> usize {
    align_up(at, align_of::<T>()) + count * size_of::<T>()
}

/// What a decoder says about a bad record: everything ([`Refusal`]), or nothing.
///
/// Generated decoders are compiled for both. A dispatcher runs the one that says nothing, which leaves no
/// trace of names and messages on its path; only a record that fails is decoded once more for the
/// explanation.
#[doc(hidden)]
pub trait Fault {
    /// See [`Refusal::Corrupt`].
    fn corrupt(owner: &'static str, field: &'static str) -> Self;

    /// See [`Refusal::BlobNotStaged`].
    fn not_staged(owner: &'static str, field: &'static str) -> Self;
}

impl Fault for () {
    #[inline(always)]
    fn corrupt(_: &'static str, _: &'static str) {}

    #[inline(always)]
    fn not_staged(_: &'static str, _: &'static str) {}
}

impl Fault for Refusal {
    #[cold]
    fn corrupt(owner: &'static str, field: &'static str) -> Self {
        Self::Corrupt { owner, field }
    }

    #[cold]
    fn not_staged(owner: &'static str, field: &'static str) -> Self {
        Self::BlobNotStaged { owner, field }
    }
}

/// Decodes a record that was found to be bad once more, for its refusal.
#[doc(hidden)]
#[cold]
#[inline(never)]
#[must_use]
pub fn explain<'a, R: Row<'a>>(bytes: &'a [u8]) -> Refusal {
    match Frame::parse(bytes).and_then(R::decode_as::<Refusal>) {
        Err(refusal) => refusal,
        // Both decoders are the same code over the same bytes; this is never reached.
        Ok(_) => Refusal::Corrupt { owner: R::NAME, field: "size" },
    }
}

/// Reader of a record's parts, in order. Used by generated decoders.
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub struct Parts<'a> {
    bytes: &'a [u8],
    at: usize,
    row: &'static str,
}

impl<'a> Parts<'a> {
    /// The payload, checked.
    #[inline(always)]
    pub fn payload<P: Member, F: Fault>(&mut self) -> Result<&'a P, F> {
        let Some((payload, _)) = self.bytes.get(self.at..).and_then(|rest| P::ref_from_prefix(rest).ok())
        else {
            return Err(F::corrupt(self.row, "size"));
        };
        self.at += size_of::<P>();
        check_payload(payload, self.row)?;
        Ok(payload)
    }

    /// A tail of `count` elements, each checked. `field` is the member that declares the count.
    #[inline(always)]
    pub fn tail<T: Member, F: Fault>(
        &mut self,
        count: u32,
        max: u32,
        field: &'static str,
    ) -> Result<&'a [T], F> {
        let start = align_up(self.at, align_of::<T>());
        let tail = match self.bytes.get(start..) {
            Some(rest) if count <= max => <[T]>::ref_from_prefix_with_elems(rest, count as usize).ok(),
            _ => None,
        };
        let Some((tail, _)) = tail else {
            return Err(F::corrupt(self.row, field));
        };
        self.at = start + size_of_val(tail);
        check_elements(tail)?;
        Ok(tail)
    }

    /// Ends the record: nothing but the padding to a multiple of 8 may follow the last part.
    #[inline(always)]
    pub fn end<F: Fault>(self) -> Result<(), F> {
        if align_up(self.at, RECORD_ALIGN) == self.bytes.len() {
            Ok(())
        } else {
            Err(F::corrupt(self.row, "size"))
        }
    }
}

/// Writer of a record's parts, in order. Used by generated encoders; every method answers `None` when a part
/// does not fit, which cannot happen once the length was computed.
#[doc(hidden)]
#[derive(Debug)]
pub struct PartsMut<'a> {
    out: &'a mut [u8],
    /// End of the last part that has bytes; what lies between it and the next such part becomes zero.
    written: usize,
    /// End of the last part, which may be empty and still be aligned.
    at: usize,
}

impl<'a> PartsMut<'a> {
    /// Writes what precedes the tails. `out` is the whole record.
    #[inline(always)]
    pub fn new<P: Member>(
        op: u16,
        reply: Option<ReplySpace>,
        payload: &P,
        out: &'a mut [u8],
    ) -> Option<Self> {
        // Exact: no row is longer than `limits::RECORD_BYTES`.
        let size = out.len() as u32;
        // The last part that has bytes ends in the record's last word, so clearing that word first clears the
        // final padding.
        *out.last_chunk_mut::<RECORD_ALIGN>()? = [0; RECORD_ALIGN];
        let flags = if reply.is_some() { FLAG_REPLY } else { 0 };
        let at = head_len(reply.is_some()) + size_of::<P>();
        let (header, head) = out.get_mut(..at)?.split_first_chunk_mut::<HEADER_SIZE>()?;
        *header = Header { op, flags, size }.to_bytes();
        let place = match reply {
            None => head,
            Some(reply) => {
                let (space, place) = head.split_first_chunk_mut::<{ size_of::<ReplySpace>() }>()?;
                space.copy_from_slice(reply.as_bytes());
                place
            }
        };
        payload.write_to(place).ok()?;
        Some(Self { out, written: at, at })
    }

    /// Writes a tail, and zeros before it up to its alignment. With `SHORT` it has at most one element.
    #[inline(always)]
    pub fn tail<T: Member, const SHORT: bool>(&mut self, tail: &[T]) -> Option<()> {
        let start = align_up(self.at, align_of::<T>());
        self.at = start + size_of_val(tail);
        if tail.is_empty() {
            return Some(());
        }
        zero_gap(self.out.get_mut(self.written..start)?)?;
        if SHORT {
            // A copy of a constant size is a few moves.
            tail.first()?.write_to(self.out.get_mut(start..start + size_of::<T>())?).ok()?;
        } else {
            self.out.get_mut(start..self.at)?.copy_from_slice(tail.as_bytes());
        }
        self.written = self.at;
        Some(())
    }
}

/// Zeros up to 7 bytes by stores alone: a call of `memset` would make every encoder save registers.
#[inline(always)]
fn zero_gap(gap: &mut [u8]) -> Option<()> {
    let len = gap.len();
    if len & 4 != 0 {
        *gap.first_chunk_mut()? = [0; 4];
    }
    if len & 2 != 0 {
        *gap.get_mut(len & 4..)?.first_chunk_mut()? = [0; 2];
    }
    if len & 1 != 0 {
        *gap.last_mut()? = 0;
    }
    Some(())
}
