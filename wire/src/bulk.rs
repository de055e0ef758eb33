//! Bulk bytes: what does not fit a record, and how it crosses.
//!
//! A row with blobs carries [`BlobRef`]s, places in the stage segment. In the generated traits the same
//! columns are [`Bulk`] arguments: the encoder hands them to its [`Sink`](crate::Sink), which copies them
//! into the stage once; the dispatcher gets them back from its [`Stage`].

use crate::error::Refusal;
use crate::payload::{Member, MemberInfo, Shape, StructInfo};
use core::fmt;
use core::sync::atomic::{AtomicU64, Ordering};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

/// Number of the stage segment, the only one a blob may lie in.
pub const STAGE_SEGMENT: u32 = 2;

/// A place in the stage; 24 bytes, alignment 8.
///
/// All zero means no bytes, which a row allows only where its column is optional. Otherwise the segment is
/// [`STAGE_SEGMENT`] and the size is not 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct BlobRef {
    /// First byte, as the monotone count of bytes that the writer has staged since the session began.
    pub offset: u64,
    /// Bytes.
    pub size: u64,
    /// [`STAGE_SEGMENT`], or 0 for no bytes.
    pub segment: u32,
    #[doc(hidden)]
    pub _pad: u32,
}

impl BlobRef {
    /// No bytes.
    pub const NONE: Self = Self { offset: 0, size: 0, segment: 0, _pad: 0 };

    /// `size` bytes of the stage at the monotone position `offset`.
    #[inline]
    #[must_use]
    pub const fn staged(offset: u64, size: u64) -> Self {
        Self { offset, size, segment: STAGE_SEGMENT, _pad: 0 }
    }

    /// Whether this names no bytes.
    #[inline]
    #[must_use]
    pub const fn is_none(&self) -> bool {
        self.offset == 0 && self.size == 0 && self.segment == 0
    }

    /// Whether this may stand in a column: bytes in the stage, or nothing where that is allowed.
    #[inline]
    #[must_use]
    pub const fn is_well_formed(&self, optional: bool) -> bool {
        (self.segment == STAGE_SEGMENT && self.size != 0 && self.offset.checked_add(self.size).is_some())
            || (optional && self.is_none())
    }
}

impl Member for BlobRef {
    const NAME: &'static str = "BlobRef";
    const SHAPE: Shape = Shape::Blob;
    const BLOBS: usize = 1;
}

/// Layout of [`BlobRef`], for the fingerprint.
pub(crate) const BLOB_REF: &StructInfo = &StructInfo {
    name: "BlobRef",
    size: size_of::<BlobRef>(),
    align: align_of::<BlobRef>(),
    members: &[
        MemberInfo {
            name: "offset",
            offset: core::mem::offset_of!(BlobRef, offset),
            size: 8,
            shape: <u64 as Member>::SHAPE,
        },
        MemberInfo {
            name: "size",
            offset: core::mem::offset_of!(BlobRef, size),
            size: 8,
            shape: <u64 as Member>::SHAPE,
        },
        MemberInfo {
            name: "segment",
            offset: core::mem::offset_of!(BlobRef, segment),
            size: 4,
            shape: <u32 as Member>::SHAPE,
        },
        MemberInfo {
            name: "_pad",
            offset: core::mem::offset_of!(BlobRef, _pad),
            size: 4,
            shape: <u32 as Member>::SHAPE,
        },
    ],
    check: |_| Ok(()),
};

/// Bytes beside a record, by who may still write them.
#[derive(Clone, Copy, Debug)]
pub enum Bulk<'a> {
    /// Memory of the caller's, which nobody changes during the call.
    Bytes(&'a [u8]),
    /// Bytes that the caller has already written into a reservation of the stage that it will publish.
    Staged(BlobRef),
    /// Memory that the peer may still write.
    Shared(SharedBytes<'a>),
}

impl Bulk<'_> {
    /// No bytes.
    pub const EMPTY: Self = Bulk::Bytes(&[]);

    /// Number of bytes.
    #[inline]
    #[must_use]
    pub fn len(&self) -> u64 {
        match self {
            Bulk::Bytes(bytes) => bytes.len() as u64,
            Bulk::Staged(blob) => blob.size,
            Bulk::Shared(shared) => shared.len() as u64,
        }
    }

    /// Whether there are no bytes.
    #[inline]
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl<'a> From<&'a [u8]> for Bulk<'a> {
    #[inline]
    fn from(bytes: &'a [u8]) -> Self {
        Bulk::Bytes(bytes)
    }
}

/// Bytes in memory that a peer may write at any time.
///
/// They are read by relaxed loads of whole words, so a concurrent write is no data race: it changes what is
/// read and nothing else. Whatever is to be parsed or checked is copied out first and read from the copy
/// alone.
#[derive(Clone, Copy)]
pub struct SharedBytes<'a> {
    words: &'a [AtomicU64],
    len: usize,
}

impl fmt::Debug for SharedBytes<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SharedBytes").field("len", &self.len).finish_non_exhaustive()
    }
}

impl<'a> SharedBytes<'a> {
    /// The first `len` bytes of `words`, or nothing when there are not so many.
    #[inline]
    #[must_use]
    pub fn new(words: &'a [AtomicU64], len: usize) -> Option<Self> {
        (len <= size_of_val(words)).then_some(Self { words, len })
    }

    /// Number of bytes.
    #[inline]
    #[must_use]
    pub const fn len(&self) -> usize {
        self.len
    }

    /// Whether there are no bytes.
    #[inline]
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Address of the first byte; a multiple of 8.
    ///
    /// For a driver that copies the bytes itself. Only where a concurrent change cannot break memory safety:
    /// pixels and buffer contents may go this way, anything that is parsed (SPIR-V, archives, scanned
    /// indices) may not.
    #[inline]
    #[must_use]
    pub const fn as_ptr(&self) -> *const u8 {
        self.words.as_ptr().cast()
    }

    /// Copies `out.len()` bytes from position `at` on. `false`, with `out` untouched, when they are not all
    /// there.
    #[must_use]
    pub fn copy_to(&self, at: usize, out: &mut [u8]) -> bool {
        if at.checked_add(out.len()).is_none_or(|end| end > self.len) {
            return false;
        }
        let Some(words) = self.words.get(at / 8..) else {
            return out.is_empty();
        };
        if at.is_multiple_of(8) {
            copy_aligned(words, out)
        } else {
            copy_shifted(words, (at % 8) as u32 * 8, out)
        }
        true
    }
}

/// A word as memory holds it, read as a little-endian number, so that shifts move bytes the same way
/// everywhere.
#[inline]
fn load(word: &AtomicU64) -> u64 {
    u64::from_le_bytes(word.load(Ordering::Relaxed).to_ne_bytes())
}

/// Copies from the first byte of `words`, whole words first; the compiler unrolls the loop.
#[inline]
fn copy_aligned(words: &[AtomicU64], out: &mut [u8]) {
    let (places, tail) = out.as_chunks_mut::<8>();
    let rest = words.get(places.len()..).unwrap_or_default();
    for (place, word) in places.iter_mut().zip(words) {
        *place = load(word).to_le_bytes();
    }
    for (to, from) in tail.iter_mut().zip(rest.first().map_or(0, load).to_le_bytes()) {
        *to = from;
    }
}

/// Copies from bit `shift` of `words` on, a multiple of 8 that is not 0.
#[inline]
fn copy_shifted(words: &[AtomicU64], shift: u32, out: &mut [u8]) {
    let mut low = words.first().map_or(0, load);
    let mut next = words.get(1..).unwrap_or_default().iter();
    let mut shifted = || {
        // The last bytes may lie in the last word alone.
        let high = next.next().map_or(0, load);
        let both = low >> shift | high << (64 - shift);
        low = high;
        both.to_le_bytes()
    };
    let (places, tail) = out.as_chunks_mut::<8>();
    for place in places {
        *place = shifted();
    }
    for (to, from) in tail.iter_mut().zip(shifted()) {
        *to = from;
    }
}

/// The server's view of the peer's stage.
pub trait Stage {
    /// The bytes of a blob whose form was checked, or nothing when the peer has not staged them. The answer
    /// is [`Bulk::Bytes`] or [`Bulk::Shared`].
    fn resolve(&self, blob: &BlobRef) -> Option<Bulk<'_>>;
}

/// The stage of a catalogue without blobs.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoStage;

impl Stage for NoStage {
    #[inline]
    fn resolve(&self, _: &BlobRef) -> Option<Bulk<'_>> {
        None
    }
}

/// A blob column of a row: one [`BlobRef`], or an array of them. Used by generated code.
pub trait BlobColumn: Member {
    /// Number of blobs.
    const COUNT: usize;
    /// The argument that stands for the column in the generated traits.
    type Bulk<'a>;

    /// Whether every blob is well formed.
    fn is_well_formed(&self, optional: bool) -> bool;

    /// The bytes of a column that is well formed.
    ///
    /// # Errors
    /// [`Refusal::BlobNotStaged`] when the stage does not hold them.
    fn resolve<'s, S: Stage + ?Sized>(
        &self,
        stage: &'s S,
        row: &'static str,
        field: &'static str,
    ) -> Result<Self::Bulk<'s>, Refusal>;

    /// Stages the bytes; an empty bulk becomes [`BlobRef::NONE`] without a call.
    ///
    /// # Errors
    /// The sink's own.
    fn stage<S: crate::Sink + ?Sized>(bulk: Self::Bulk<'_>, sink: &mut S) -> Result<Self, S::Error>;
}

impl BlobColumn for BlobRef {
    const COUNT: usize = 1;
    type Bulk<'a> = Bulk<'a>;

    #[inline]
    fn is_well_formed(&self, optional: bool) -> bool {
        self.is_well_formed(optional)
    }

    #[inline]
    fn resolve<'s, S: Stage + ?Sized>(
        &self,
        stage: &'s S,
        row: &'static str,
        field: &'static str,
    ) -> Result<Bulk<'s>, Refusal> {
        if self.is_none() {
            return Ok(Bulk::EMPTY);
        }
        stage.resolve(self).ok_or(Refusal::BlobNotStaged { owner: row, field })
    }

    #[inline]
    fn stage<S: crate::Sink + ?Sized>(bulk: Bulk<'_>, sink: &mut S) -> Result<Self, S::Error> {
        if bulk.is_empty() { Ok(Self::NONE) } else { sink.stage(bulk) }
    }
}

impl<const N: usize> BlobColumn for [BlobRef; N] {
    const COUNT: usize = N;
    type Bulk<'a> = [Bulk<'a>; N];

    #[inline]
    fn is_well_formed(&self, optional: bool) -> bool {
        self.iter().all(|blob| blob.is_well_formed(optional))
    }

    #[inline]
    fn resolve<'s, S: Stage + ?Sized>(
        &self,
        stage: &'s S,
        row: &'static str,
        field: &'static str,
    ) -> Result<[Bulk<'s>; N], Refusal> {
        let mut bulks = [Bulk::EMPTY; N];
        for (bulk, blob) in bulks.iter_mut().zip(self) {
            *bulk = BlobColumn::resolve(blob, stage, row, field)?;
        }
        Ok(bulks)
    }

    #[inline]
    fn stage<S: crate::Sink + ?Sized>(bulks: [Bulk<'_>; N], sink: &mut S) -> Result<Self, S::Error> {
        let mut blobs = [BlobRef::NONE; N];
        for (blob, bulk) in blobs.iter_mut().zip(bulks) {
            *blob = <BlobRef as BlobColumn>::stage(bulk, sink)?;
        }
        Ok(blobs)
    }
}
