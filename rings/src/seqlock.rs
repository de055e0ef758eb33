//! A page of words that one side rewrites and the other reads at any time, without a lock and without
//! stopping the writer: caps, limits, live statistics.
//!
//! The words are atomics copied with relaxed loads between two looks at a sequence number (odd while a write
//! is under way), so there is no data race, on a read-only mapping too. Fences order the words against the
//! sequence number (H.-J. Boehm, "Can Seqlocks Get Along With Programming Language Memory Models?", 2012):
//! the writer's release fence, after the odd mark, pairs with the reader's acquire fence, before its second
//! look; the writer's release store of the even mark pairs with the reader's first look.

use crate::{
    mutant::{Mutant, on},
    sync::{AtomicU64, Ordering, acquire64, fence, spin_loop},
};

/// The page, or the part of a page, that a seqlock guards: `N` words behind their sequence number.
#[repr(C)]
#[derive(Debug)]
pub struct SeqPage<const N: usize> {
    sequence: AtomicU64,
    words: [AtomicU64; N],
}

impl<const N: usize> SeqPage<N> {
    /// A page of zeros.
    #[must_use]
    #[allow(clippy::new_without_default, reason = "made in place, in shared memory, by one side")]
    pub fn new() -> Self {
        Self { sequence: AtomicU64::new(0), words: core::array::from_fn(|_| AtomicU64::new(0)) }
    }
}

/// No consistent copy was to be had: the writer was writing at each try, or died while it did.
///
/// The caller keeps what it last read, and asks again later or looks whether the peer lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Torn;

impl core::fmt::Display for Torn {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("the page was being rewritten at each try")
    }
}

impl core::error::Error for Torn {}

/// The writing half.
#[derive(Debug)]
pub struct SeqWriter<'a, const N: usize> {
    page: &'a SeqPage<N>,
    sequence: u64,
}

impl<'a, const N: usize> SeqWriter<'a, N> {
    /// The one writer of `page`. A second one would make readers accept torn copies, but breaks no memory
    /// safety.
    #[must_use]
    pub fn new(page: &'a SeqPage<N>) -> Self {
        // Even: a writer that replaces one that died while writing leaves its odd mark behind.
        let sequence = page.sequence.load(Ordering::Relaxed).wrapping_add(1) & !1;
        Self { page, sequence }
    }

    /// Replaces all words.
    pub fn write(&mut self, words: &[u64; N]) {
        self.write_first(words);
    }

    /// Replaces the first words, as many as there are and the page takes; the rest stay.
    pub fn write_first(&mut self, words: &[u64]) {
        if !on(Mutant::SeqNoOddMark) {
            self.page.sequence.store(self.sequence.wrapping_add(1), Ordering::Relaxed);
        }
        if !on(Mutant::SeqWriteWithoutFence) {
            // Pairs with the reader's fence: who sees one of the words below sees the odd mark too.
            fence(Ordering::Release);
        }
        for (to, from) in self.page.words.iter().zip(words) {
            to.store(*from, Ordering::Relaxed);
        }
        self.sequence = self.sequence.wrapping_add(2);
        let order = if on(Mutant::SeqEvenRelaxed) { Ordering::Relaxed } else { Ordering::Release };
        self.page.sequence.store(self.sequence, order);
    }
}

/// The reading half.
#[derive(Clone, Copy, Debug)]
pub struct SeqReader<'a, const N: usize> {
    page: &'a SeqPage<N>,
}

impl<'a, const N: usize> SeqReader<'a, N> {
    /// A reader; there may be many.
    #[must_use]
    pub const fn new(page: &'a SeqPage<N>) -> Self {
        Self { page }
    }

    /// A consistent copy of all words, and the number of writes that made it. Tries at most `tries` times.
    ///
    /// # Errors
    /// [`Torn`] after that many tries; `out` then holds nothing of use.
    pub fn read(&self, out: &mut [u64; N], tries: u32) -> Result<u64, Torn> {
        self.read_first(out, tries)
    }

    /// The same of the first words, as many as `out` takes.
    ///
    /// # Errors
    /// As [`SeqReader::read`].
    pub fn read_first(&self, out: &mut [u64], tries: u32) -> Result<u64, Torn> {
        for _ in 0..tries {
            let before = acquire64(&self.page.sequence);
            if before.is_multiple_of(2) {
                for (to, from) in out.iter_mut().zip(&self.page.words) {
                    *to = from.load(Ordering::Relaxed);
                }
                if !on(Mutant::SeqReadWithoutFence) {
                    fence(Ordering::Acquire);
                }
                let after = self.page.sequence.load(Ordering::Relaxed);
                if before == after || on(Mutant::SeqNoSecondLook) {
                    return Ok(before / 2);
                }
            }
            spin_loop();
        }
        Err(Torn)
    }
}
