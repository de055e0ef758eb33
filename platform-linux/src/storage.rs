//! The core's tables on the heap.

use std::fmt::Debug;

use runahead_core::storage::{Bytes, Storage, Table};
use runahead_wire::zerocopy::IntoBytes;

/// Tables that grow by chunks, each twice as long as the one before, so that an entry never moves and finding
/// one takes no search. What a session may have is the core's to count.
#[derive(Clone, Copy, Debug, Default)]
pub struct Heap;

impl Storage for Heap {
    type Table<T: Default + Debug> = Chunked<T>;
    type Bytes = Words;
}

/// Entries of the first chunk.
const FIRST: usize = 8;

/// A table of chunks.
#[derive(Debug)]
pub struct Chunked<T> {
    /// Chunk `n` has room for `FIRST << n` entries; all are full but the last.
    chunks: Vec<Vec<T>>,
    len: u32,
}

impl<T> Default for Chunked<T> {
    fn default() -> Self {
        Self { chunks: Vec::new(), len: 0 }
    }
}

/// Chunk of an entry, and its place there.
#[inline]
const fn place(at: u32) -> (usize, usize) {
    let shifted = at as usize + FIRST;
    let chunk = shifted.ilog2() - FIRST.ilog2();
    (chunk as usize, shifted - (FIRST << chunk))
}

impl<T: Default + Debug> Table<T> for Chunked<T> {
    #[inline]
    fn len(&self) -> u32 {
        self.len
    }

    #[inline]
    fn get(&self, at: u32) -> Option<&T> {
        // The first objects are looked up most: contexts, share groups, what a program made first.
        if (at as usize) < FIRST {
            return self.chunks.first()?.get(at as usize);
        }
        let (chunk, place) = place(at);
        self.chunks.get(chunk)?.get(place)
    }

    #[inline]
    fn get_mut(&mut self, at: u32) -> Option<&mut T> {
        if (at as usize) < FIRST {
            return self.chunks.first_mut()?.get_mut(at as usize);
        }
        let (chunk, place) = place(at);
        self.chunks.get_mut(chunk)?.get_mut(place)
    }

    fn push(&mut self) -> bool {
        let (chunk, _) = place(self.len);
        let Some(len) = self.len.checked_add(1) else { return false };
        if chunk == self.chunks.len() {
            let mut entries = Vec::new();
            if self.chunks.try_reserve(1).is_err() || entries.try_reserve_exact(FIRST << chunk).is_err() {
                return false;
            }
            self.chunks.push(entries);
        }
        let Some(entries) = self.chunks.get_mut(chunk) else { return false };
        // Within what was reserved: an entry never moves.
        entries.push(T::default());
        self.len = len;
        true
    }
}

/// Bytes in whole words, so that they begin at a multiple of 8.
#[derive(Debug, Default)]
pub struct Words {
    words: Vec<u64>,
    len: usize,
}

impl AsRef<[u8]> for Words {
    fn as_ref(&self) -> &[u8] {
        self.words.as_bytes().get(..self.len).unwrap_or_default()
    }
}

impl AsMut<[u8]> for Words {
    fn as_mut(&mut self) -> &mut [u8] {
        self.words.as_mut_bytes().get_mut(..self.len).unwrap_or_default()
    }
}

impl Bytes for Words {
    fn reset(&mut self, len: usize) -> bool {
        let mut words = Vec::new();
        let count = len.div_ceil(8);
        if words.try_reserve_exact(count).is_err() {
            return false;
        }
        words.resize(count, 0);
        *self = Self { words, len };
        true
    }
}
