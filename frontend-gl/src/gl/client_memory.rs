//! Memory of the application that a command reads or writes.
//!
//! The one place that follows an address of the application's. A [`Source`] or [`Target`] is made in [`abi`](super::abi)
//! from the argument of a command, under that command's contract: the application lets the command read or write what
//! the specification says that it reads or writes, for the time of the call. How much that is, the command works out
//! before it asks.
#![allow(unsafe_code)]

use std::{marker::PhantomData, slice};

/// Memory that a command reads.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Source<'a> {
    at: *const u8,
    call: PhantomData<&'a u8>,
}

impl<'a> Source<'a> {
    /// The argument of a command.
    ///
    /// # Safety
    /// Null, or readable wherever the specification lets the command read, for `'a`; nobody writes there meanwhile.
    pub(crate) const unsafe fn new<T>(at: *const T) -> Self {
        Self { at: at.cast(), call: PhantomData }
    }

    /// Whether there is none.
    pub(crate) const fn is_null(self) -> bool {
        self.at.is_null()
    }

    /// The first `len` bytes; none where the application gave no memory, or more than there can be.
    pub(crate) fn bytes(self, len: u64) -> Option<&'a [u8]> {
        self.span(0, len)
    }

    /// `len` bytes from `offset` on; none where the application gave no memory, or more than there can be.
    pub(crate) fn span(self, offset: u64, len: u64) -> Option<&'a [u8]> {
        if len == 0 {
            return Some(&[]);
        }
        let end = offset.checked_add(len).and_then(|end| isize::try_from(end).ok())?;
        if self.at.is_null() || (self.at as usize).checked_add(end as usize).is_none() {
            return None;
        }
        let at = self.at.wrapping_add(offset as usize);
        // SAFETY: the contract of `new`: whoever asks has worked out that the command reads this.
        Some(unsafe { slice::from_raw_parts(at, len as usize) })
    }

    /// Numbers of 32 bits, at any alignment.
    pub(crate) fn words(self, count: usize) -> Option<impl ExactSizeIterator<Item = u32> + 'a> {
        let bytes = self.bytes(count as u64 * 4)?;
        Some(bytes.as_chunks::<4>().0.iter().map(|word| u32::from_ne_bytes(*word)))
    }

    /// The bytes before the first NUL.
    pub(crate) fn text(self) -> Option<&'a [u8]> {
        if self.at.is_null() {
            return None;
        }
        // SAFETY: the contract of `new`: a command that takes a text reads it up to its NUL.
        Some(unsafe { std::ffi::CStr::from_ptr(self.at.cast()) }.to_bytes())
    }
}

/// Where an array lies that later draws read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Address(usize);

impl Address {
    /// The argument of a command.
    ///
    /// # Safety
    /// An offset into a buffer; or null, or readable wherever the specification lets draws read, until the array is
    /// given another address.
    pub(crate) unsafe fn new<T>(at: *const T) -> Self {
        Self(at.expose_provenance())
    }

    /// As a number: an offset, where the array lies in a buffer.
    pub(crate) const fn number(self) -> usize {
        self.0
    }

    /// The memory, for a draw that reads it.
    pub(crate) fn source<'a>(self) -> Source<'a> {
        let at = std::ptr::with_exposed_provenance::<u8>(self.0);
        // SAFETY: the contract of `new`.
        unsafe { Source::new(at) }
    }
}

/// Memory that a command writes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Target<'a> {
    at: *mut u8,
    call: PhantomData<&'a mut u8>,
}

impl Target<'_> {
    /// The argument of a command.
    ///
    /// # Safety
    /// Null, or writable wherever the specification lets the command write, for the lifetime; nobody else reads or
    /// writes there meanwhile.
    pub(crate) const unsafe fn new<T>(at: *mut T) -> Self {
        Self { at: at.cast(), call: PhantomData }
    }

    /// Whether there is none.
    pub(crate) const fn is_null(self) -> bool {
        self.at.is_null()
    }

    /// Writes bytes at an offset. Nothing happens where the application gave no memory.
    pub(crate) fn write(self, offset: usize, bytes: &[u8]) {
        if !self.at.is_null() {
            let at = self.at.wrapping_add(offset);
            // SAFETY: the contract of `new`: whoever calls has worked out that the command writes this.
            unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), at, bytes.len()) };
        }
    }

    /// Writes numbers of 32 bits, at any alignment.
    pub(crate) fn write_words(self, words: impl IntoIterator<Item = u32>) {
        for (at, word) in words.into_iter().enumerate() {
            self.write(at * 4, &word.to_ne_bytes());
        }
    }

    /// Writes a text with its NUL into `room` bytes, cut where it must be; answers its length.
    pub(crate) fn write_text(self, text: &[u8], room: usize) -> u32 {
        let Some(most) = room.checked_sub(1) else { return 0 };
        let text = text.get(..most).unwrap_or(text);
        if !self.is_null() {
            self.write(0, text);
            self.write(text.len(), &[0]);
        }
        text.len() as u32
    }
}
