//! Storage on the heap, for tests.

use std::{fmt::Debug, vec, vec::Vec};

use runahead_wire::zerocopy::IntoBytes;

use super::{Bytes, Storage, Table};

/// Tables that grow by chunks, so that an entry never moves; with room for `MOST` entries each, so that tests
/// run out of memory when they want to.
#[derive(Clone, Copy, Debug, Default)]
pub struct Heap<const MOST: u32 = { u32::MAX }>;

impl<const MOST: u32> Storage for Heap<MOST> {
    type Table<T: Default + Debug> = HeapTable<T, MOST>;
    type Bytes = HeapBytes;
}

/// Entries in a chunk.
const CHUNK: usize = 64;

#[derive(Debug)]
pub struct HeapTable<T, const MOST: u32> {
    /// All full but the last, none ever larger than it was made.
    chunks: Vec<Vec<T>>,
    len: u32,
}

impl<T, const MOST: u32> Default for HeapTable<T, MOST> {
    fn default() -> Self {
        Self { chunks: Vec::new(), len: 0 }
    }
}

impl<T: Default + Debug, const MOST: u32> Table<T> for HeapTable<T, MOST> {
    fn len(&self) -> u32 {
        self.len
    }

    fn get(&self, at: u32) -> Option<&T> {
        self.chunks.get(at as usize / CHUNK)?.get(at as usize % CHUNK)
    }

    fn get_mut(&mut self, at: u32) -> Option<&mut T> {
        self.chunks.get_mut(at as usize / CHUNK)?.get_mut(at as usize % CHUNK)
    }

    fn push(&mut self) -> bool {
        if self.len == MOST {
            return false;
        }
        if (self.len as usize).is_multiple_of(CHUNK) {
            self.chunks.push(Vec::with_capacity(CHUNK));
        }
        self.chunks.last_mut().expect("a chunk with room").push(T::default());
        self.len += 1;
        true
    }
}

/// Bytes in whole words, so that they begin at a multiple of 8.
#[derive(Debug, Default)]
pub struct HeapBytes {
    words: Vec<u64>,
    len: usize,
}

impl AsRef<[u8]> for HeapBytes {
    fn as_ref(&self) -> &[u8] {
        &self.words.as_bytes()[..self.len]
    }
}

impl AsMut<[u8]> for HeapBytes {
    fn as_mut(&mut self) -> &mut [u8] {
        &mut self.words.as_mut_bytes()[..self.len]
    }
}

impl Bytes for HeapBytes {
    fn reset(&mut self, len: usize) -> bool {
        self.words = vec![0; len.div_ceil(8)];
        self.len = len;
        true
    }
}
