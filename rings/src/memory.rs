//! Byte memory that two roles share: one writes, the other reads.
//!
//! A [`Region`] is a view of memory that the caller gives: a slice of this process, one mapping of a shared
//! segment, or the array of tracked words that a loom model gives. The rings do all their byte accesses
//! through it, so the same code runs over each of the three.
//!
//! No reference to memory that a peer may write ever exists here. Bytes of a hostile peer are copied out by
//! relaxed loads of whole words ([`Region::copy_out`]), which the memory model allows whatever the peer does;
//! a reference is formed only over memory that this side owns for writing, or, for consumers in the same
//! trust domain, over records that the protocol keeps still.

use core::{
    marker::PhantomData, ptr::NonNull, sync::atomic::AtomicU64 as WordInMemory, sync::atomic::Ordering,
};

#[cfg(not(runahead_loom))]
use crate::sync::AtomicU64;
use crate::{copy, fault::Fault};

/// The tracked twin of one 8-byte word in a loom model: loom sees races on `cell` and models `atomic` where
/// the word is a status word.
#[cfg(runahead_loom)]
#[derive(Debug)]
pub struct TrackedWord {
    cell: loom::cell::UnsafeCell<()>,
    atomic: loom::sync::atomic::AtomicU64,
}

#[cfg(runahead_loom)]
impl TrackedWord {
    /// A word that nobody has touched, its status word zero.
    #[allow(clippy::new_without_default, reason = "loom objects are built inside a model only")]
    pub fn new() -> Self {
        Self { cell: loom::cell::UnsafeCell::new(()), atomic: loom::sync::atomic::AtomicU64::new(0) }
    }
}

/// A view of shared byte memory: a power of two of bytes, at least [`Region::MIN`], aligned to 8.
///
/// It is `Copy` because both halves of a ring look at the same memory; who may write where is the rings'
/// business, and constructing two halves of the same role is what their constructors' contracts forbid.
#[derive(Clone, Copy, Debug)]
pub struct Region<'a> {
    base: NonNull<u8>,
    len: usize,
    #[cfg(runahead_loom)]
    words: &'a [TrackedWord],
    memory: PhantomData<&'a [WordInMemory]>,
}

// SAFETY: a region is an address and a length; every access through it is governed by the ring protocols,
// which order the writer's and the reader's accesses across threads.
unsafe impl Send for Region<'_> {}
// SAFETY: as above; a shared region offers no access by itself outside this crate.
unsafe impl Sync for Region<'_> {}

impl<'a> Region<'a> {
    /// The smallest region: two record headers.
    pub const MIN: usize = 16;

    /// Views `len` bytes at `base`.
    ///
    /// # Errors
    /// [`Fault::Mismatch`] if the length is not a power of two of at least [`Region::MIN`], if it exceeds
    /// 2^32 (record sizes and reply offsets are 32 bits), or if the base is not aligned to 8.
    ///
    /// # Safety
    /// The bytes stay mapped for `'a`, readable, and writable too if a writing half is made of this region.
    /// For `'a`, this process accesses them through this crate alone.
    #[cfg(not(runahead_loom))]
    pub unsafe fn from_raw(base: NonNull<u8>, len: usize) -> Result<Self, Fault> {
        Self::check(base, len)?;
        Ok(Self { base, len, memory: PhantomData })
    }

    /// Views memory of this process.
    ///
    /// # Errors
    /// As [`Region::from_raw`].
    #[cfg(not(runahead_loom))]
    pub fn from_words(words: &'a mut [u64]) -> Result<Self, Fault> {
        let len = size_of_val(words);
        let base = NonNull::from(words).cast::<u8>();
        // SAFETY: the exclusive borrow lasts for `'a`, so the memory is valid, writable and reached only
        // through the region.
        unsafe { Self::from_raw(base, len) }
    }

    /// Views memory of a loom model: the bytes of `words`, tracked word by word.
    ///
    /// # Errors
    /// As [`Region::from_raw`].
    ///
    /// # Safety
    /// `base` points to `8 * words.len()` bytes that live for `'a` and are reached only through regions.
    #[cfg(runahead_loom)]
    pub unsafe fn tracked(base: NonNull<u8>, words: &'a [TrackedWord]) -> Result<Self, Fault> {
        let len = words.len() * 8;
        Self::check(base, len)?;
        Ok(Self { base, len, words, memory: PhantomData })
    }

    fn check(base: NonNull<u8>, len: usize) -> Result<(), Fault> {
        let mismatch = |field| Err(Fault::Mismatch { place: "Segment", field });
        if !len.is_power_of_two() || len < Self::MIN || len as u64 > 1 << 32 {
            return mismatch("Size");
        }
        if !base.addr().get().is_multiple_of(8) {
            return mismatch("Alignment");
        }
        Ok(())
    }

    /// The length in bytes.
    #[must_use]
    #[allow(clippy::len_without_is_empty, reason = "a region is never empty")]
    pub const fn len(&self) -> usize {
        self.len
    }

    /// The address of byte `at`.
    #[inline(always)]
    pub(crate) fn at(&self, at: usize) -> NonNull<u8> {
        debug_assert!(at <= self.len);
        // SAFETY: callers pass offsets within the region, so the result stays inside its allocation.
        unsafe { self.base.add(at) }
    }

    /// One word, read once.
    #[inline(always)]
    pub(crate) fn word(&self, at: usize) -> u64 {
        self.will_read(at, 8);
        self.in_memory(at, 8)[0].load(Ordering::Relaxed)
    }

    /// The words that hold `at..at + len`, rounded up to whole words. `at` is a multiple of 8.
    #[inline(always)]
    pub(crate) fn in_memory(&self, at: usize, len: usize) -> &'a [WordInMemory] {
        debug_assert!(at.is_multiple_of(8));
        debug_assert!(len <= self.len && at <= self.len - len);
        let first = self.at(at).cast::<WordInMemory>();
        // SAFETY: the words lie inside the region, which is mapped for `'a` and aligned to 8, and atomics
        // may be observed while anybody writes them. The region's length is a multiple of 8, so rounding up
        // stays inside.
        unsafe { core::slice::from_raw_parts(first.as_ptr(), len.div_ceil(8)) }
    }

    /// Copies `words` words out, each read once.
    ///
    /// # Safety
    /// `out` points to so many words, which the caller owns.
    #[inline(always)]
    pub(crate) unsafe fn copy_out(&self, at: usize, out: *mut u64, words: usize) {
        self.will_read(at, words * 8);
        let from = self.in_memory(at, words * 8).as_ptr();
        // SAFETY: `from` lies in the region; `out` by this function's contract.
        unsafe { copy::words(from, out.cast(), words) };
    }

    /// Memory that this side writes and nobody else does.
    ///
    /// # Safety
    /// This side owns `at..at + len` for writing and no other reference to it exists in this process while
    /// the result lives.
    #[inline(always)]
    pub(crate) unsafe fn slice_mut(&self, at: usize, len: usize) -> &'a mut [u8] {
        debug_assert!(len <= self.len && at <= self.len - len);
        self.will_write(at, len);
        // SAFETY: inside the region; exclusive by this function's contract.
        unsafe { core::slice::from_raw_parts_mut(self.at(at).as_ptr(), len) }
    }

    /// Memory that nobody writes while the result lives.
    ///
    /// # Safety
    /// The writer is in this trust domain and leaves `at..at + len` alone for as long as the result lives.
    #[inline(always)]
    pub(crate) unsafe fn slice(&self, at: usize, len: usize) -> &'a [u8] {
        debug_assert!(len <= self.len && at <= self.len - len);
        self.will_read(at, len);
        // SAFETY: inside the region; not written by this function's contract.
        unsafe { core::slice::from_raw_parts(self.at(at).as_ptr(), len) }
    }

    /// The word at `at` as a word that both sides synchronise on.
    #[cfg(not(runahead_loom))]
    #[inline(always)]
    pub(crate) fn status(&self, at: usize) -> &'a AtomicU64 {
        &self.in_memory(at, 8)[0]
    }

    /// The word at `at` as a word that both sides synchronise on.
    #[cfg(runahead_loom)]
    pub(crate) fn status(&self, at: usize) -> &'a loom::sync::atomic::AtomicU64 {
        &self.words[at / 8].atomic
    }

    /// Tells loom that the bytes are read here.
    #[inline(always)]
    pub(crate) fn will_read(&self, _at: usize, _len: usize) {
        #[cfg(runahead_loom)]
        for word in &self.words[_at / 8..(_at + _len).div_ceil(8)] {
            word.cell.with(|_| ());
        }
    }

    /// Tells loom that the bytes are written here.
    #[inline(always)]
    pub(crate) fn will_write(&self, _at: usize, _len: usize) {
        #[cfg(runahead_loom)]
        for word in &self.words[_at / 8..(_at + _len).div_ceil(8)] {
            word.cell.with_mut(|_| ());
        }
    }
}
