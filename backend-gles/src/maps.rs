//! Native pointers of buffers that a client in the same process may use, by token.
//!
//! A token crosses the link; the pointer does not. A client looks it up in its own process, where it finds something only
//! if the server lives there too. An entry is there from the map to the unmap: [`write()`] and [`read()`] hold the table
//! while they copy, so that nothing is unmapped under them.

use std::{
    collections::BTreeMap,
    ptr::NonNull,
    sync::{Mutex, MutexGuard, PoisonError},
};

/// A mapped store.
#[derive(Clone, Copy, Debug)]
struct Mapped {
    at: NonNull<u8>,
    size: usize,
}

// SAFETY: memory that the driver mapped for whoever has the address, from any thread (EXT_buffer_storage).
unsafe impl Send for Mapped {}

#[derive(Debug)]
struct Table {
    last: u64,
    maps: BTreeMap<u64, Mapped>,
}

static TABLE: Mutex<Table> = Mutex::new(Table { last: 0, maps: BTreeMap::new() });

fn table() -> MutexGuard<'static, Table> {
    // It is whole after every step.
    TABLE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A store in the table. Dropped, its token is out, and nobody copies to or from the store any more.
#[derive(Debug)]
pub(crate) struct Entry(u64);

impl Entry {
    /// Enters a store under a token of its own.
    pub(crate) fn new(at: NonNull<u8>, size: usize) -> Self {
        let mut table = table();
        table.last += 1;
        let token = table.last;
        table.maps.insert(token, Mapped { at, size });
        Self(token)
    }

    pub(crate) const fn token(&self) -> u64 {
        self.0
    }
}

impl Drop for Entry {
    fn drop(&mut self) {
        table().maps.remove(&self.0);
    }
}

/// Where a store is mapped, and its bytes; nothing where the token is no (more) one of this process.
///
/// The address is valid until the buffer's map is given up or the buffer ends, both of which the client's own records
/// cause: who holds on to it beyond that reads and writes memory that is no longer the store's.
#[must_use]
pub fn address(token: u64) -> Option<(NonNull<u8>, usize)> {
    table().maps.get(&token).map(|mapped| (mapped.at, mapped.size))
}

/// The place of a span of a store.
fn place(table: &Table, token: u64, offset: usize, count: usize) -> Option<NonNull<u8>> {
    let mapped = table.maps.get(&token)?;
    let end = offset.checked_add(count)?;
    // SAFETY: within the store.
    (end <= mapped.size).then(|| unsafe { mapped.at.add(offset) })
}

/// Writes into a mapped store. `false`, and nothing written, where the token is none of this process or the span lies
/// outside.
#[must_use]
pub fn write(token: u64, offset: usize, bytes: &[u8]) -> bool {
    let table = table();
    let Some(to) = place(&table, token, offset, bytes.len()) else { return false };
    // SAFETY: mapped for writing, as many bytes from there on, while the table is held.
    unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), to.as_ptr(), bytes.len()) };
    true
}

/// Reads from a mapped store. `false`, and nothing read, as for [`write()`].
#[must_use]
pub fn read(token: u64, offset: usize, bytes: &mut [u8]) -> bool {
    let table = table();
    let Some(from) = place(&table, token, offset, bytes.len()) else { return false };
    // SAFETY: mapped for reading, as many bytes from there on, while the table is held.
    unsafe { std::ptr::copy_nonoverlapping(from.as_ptr(), bytes.as_mut_ptr(), bytes.len()) };
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_reaches_its_store_and_no_further() {
        let mut store = [1_u8; 8];
        let entry = Entry::new(NonNull::from(&mut store).cast(), 8);
        let token = entry.token();
        let mut read_back = [0; 2];
        assert!(write(token, 6, &[2, 3]) && read(token, 6, &mut read_back));
        assert_eq!(read_back, [2, 3]);
        assert!(!write(token, 7, &[0, 0]) && !write(token, usize::MAX, &[0, 0]));
        assert!(!read(token + 1, 0, &mut read_back));
        assert_eq!(address(token).map(|(_, size)| size), Some(8));
        drop(entry);
        assert!(!write(token, 0, &[0]) && address(token).is_none());
    }
}
