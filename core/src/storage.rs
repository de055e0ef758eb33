//! Memory of tables, supplied by the host of a role: the core allocates nothing.

use core::fmt::Debug;

/// Where a role's tables lie.
///
/// A host with a heap grows by chunks, so that an entry never moves; a host without one has arrays
/// ([`Inline`]). Either counts against the session's [`Budget`].
pub trait Storage: Debug + Default {
    /// A table of records or slots.
    type Table<T: Default + Debug>: Table<T>;
    /// A run of bytes.
    type Bytes: Bytes;
}

/// Entries in order, appended one by one and never removed.
pub trait Table<T>: Default + Debug {
    /// Entries.
    fn len(&self) -> u32;

    /// Whether there is no entry.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The entry at a position.
    fn get(&self, at: u32) -> Option<&T>;

    /// The entry at a position, to be changed.
    fn get_mut(&mut self, at: u32) -> Option<&mut T>;

    /// Appends a default entry. `false`, and nothing changed, when there is no memory for it.
    #[must_use]
    fn push(&mut self) -> bool;
}

/// A run of bytes whose length may change. It begins at a multiple of 8, so that structs can be read in place.
pub trait Bytes: Default + Debug + AsRef<[u8]> + AsMut<[u8]> {
    /// Changes the length; every byte becomes zero. `false`, and nothing changed, when there is no memory for
    /// it.
    #[must_use]
    fn reset(&mut self, len: usize) -> bool;
}

/// Storage without a heap: a table has room for `N` entries, a run of bytes for `B` bytes.
#[derive(Clone, Copy, Debug, Default)]
pub struct Inline<const N: usize, const B: usize>;

impl<const N: usize, const B: usize> Storage for Inline<N, B> {
    type Table<T: Default + Debug> = InlineTable<T, N>;
    type Bytes = InlineBytes<B>;
}

/// A table in an array.
#[derive(Debug)]
pub struct InlineTable<T, const N: usize>(heapless::Vec<T, N>);

impl<T, const N: usize> Default for InlineTable<T, N> {
    fn default() -> Self {
        Self(heapless::Vec::new())
    }
}

impl<T: Default + Debug, const N: usize> Table<T> for InlineTable<T, N> {
    #[inline]
    fn len(&self) -> u32 {
        self.0.len() as u32
    }

    #[inline]
    fn get(&self, at: u32) -> Option<&T> {
        self.0.get(at as usize)
    }

    #[inline]
    fn get_mut(&mut self, at: u32) -> Option<&mut T> {
        self.0.get_mut(at as usize)
    }

    fn push(&mut self) -> bool {
        self.0.push(T::default()).is_ok()
    }
}

/// A run of bytes in an array.
#[derive(Debug)]
#[repr(C, align(8))]
pub struct InlineBytes<const B: usize> {
    bytes: [u8; B],
    len: usize,
}

impl<const B: usize> Default for InlineBytes<B> {
    fn default() -> Self {
        Self { bytes: [0; B], len: 0 }
    }
}

impl<const B: usize> AsRef<[u8]> for InlineBytes<B> {
    fn as_ref(&self) -> &[u8] {
        self.bytes.get(..self.len).unwrap_or_default()
    }
}

impl<const B: usize> AsMut<[u8]> for InlineBytes<B> {
    fn as_mut(&mut self) -> &mut [u8] {
        self.bytes.get_mut(..self.len).unwrap_or_default()
    }
}

impl<const B: usize> Bytes for InlineBytes<B> {
    fn reset(&mut self, len: usize) -> bool {
        let Some(bytes) = self.bytes.get_mut(..len) else { return false };
        bytes.fill(0);
        self.len = len;
        true
    }
}

/// Bytes of memory that one session may still have. What it buys is bought for good but for what is
/// [returned](Budget::give_back).
#[derive(Clone, Copy, Debug)]
pub struct Budget {
    left: u64,
}

impl Budget {
    /// A budget of so many bytes.
    #[must_use]
    pub const fn new(bytes: u64) -> Self {
        Self { left: bytes }
    }

    /// Bytes left.
    #[must_use]
    pub const fn left(&self) -> u64 {
        self.left
    }

    /// Takes bytes. `false`, and nothing taken, when there are not so many.
    #[must_use]
    pub const fn take(&mut self, bytes: u64) -> bool {
        match self.left.checked_sub(bytes) {
            Some(left) => {
                self.left = left;
                true
            }
            None => false,
        }
    }

    /// Gives bytes back.
    pub const fn give_back(&mut self, bytes: u64) {
        self.left = self.left.saturating_add(bytes);
    }
}

#[cfg(test)]
#[path = "../tests/common/heap.rs"]
pub(crate) mod heap;
