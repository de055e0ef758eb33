//! Arrays of the application's memory that stay as they are: they cross once, into buffers of their own.
//!
//! Nothing tells that memory was not written, so what a draw reads of it is looked at each time. A digest costs a fraction
//! of two copies, one into the stage and one out of it. What changes is looked at ever more seldom.

use std::collections::HashMap;

use runahead_core::{Session, Turn, storage::Storage, upload};
use runahead_wire::{Handle, values::BufferUsage};
use twox_hash::XxHash3_128;

use super::{
    buffer::define,
    context::Dead,
    error::{Error, Outcome},
};

/// Bytes of an array that is worth it.
const LEAST: usize = 4096;
/// Bytes of all buffers, and of one.
const MOST: u64 = 64 << 20;
const MOST_OF_ONE: u64 = MOST / 4;
/// Arrays that are known at once.
const KNOWN: usize = 256;
/// How often an array is found the same before it gets a buffer.
const PROVEN: u32 = 2;
/// How seldom an array that always changes is looked at: once in so many draws, as a power of two.
const SELDOM: u32 = 8;

/// Where an array lies: its address, and the bytes that are left out before it.
type Place = (usize, usize, u64);

/// An array.
#[derive(Clone, Copy, Debug, Default)]
struct Array {
    digest: u128,
    /// How often it was the same since it changed.
    same: u32,
    /// How often it changed, as far as that matters.
    changes: u32,
    /// Draws until it is looked at again.
    rest: u32,
    /// Null without a buffer.
    handle: Handle,
    size: u64,
}

/// The arrays of a context.
#[derive(Debug, Default)]
pub(crate) struct Resident {
    arrays: HashMap<Place, Array>,
    /// Bytes of the buffers.
    bytes: u64,
}

impl Resident {
    /// All buffers that there are, with their sizes.
    pub(crate) fn buffers(&self) -> impl Iterator<Item = (Handle, u64)> {
        self.arrays.values().filter(|array| !array.handle.is_null()).map(|array| (array.handle, array.size))
    }

    /// The buffer that has these bytes of the application's behind `lead` others, where there is one. What has no buffer
    /// any more goes to `dead`.
    pub(crate) fn find<P: Session, S: Storage>(
        &mut self,
        turn: &mut Turn<'_, P, S>,
        lead: u64,
        bytes: &[u8],
        dead: &mut Vec<Dead>,
    ) -> Outcome<Option<Handle>>
    where
        Error: From<P::Error>,
    {
        let size = lead + bytes.len() as u64;
        if bytes.len() < LEAST || size > MOST_OF_ONE {
            return Ok(None);
        }
        let place = (bytes.as_ptr().addr(), bytes.len(), lead);
        if self.arrays.len() >= KNOWN && !self.arrays.contains_key(&place) {
            dead.extend(self.buffers().map(|(buffer, _)| Dead::Buffer(buffer)));
            *self = Self::default();
        }
        let array = self.arrays.entry(place).or_default();
        if let Some(rest) = array.rest.checked_sub(1) {
            array.rest = rest;
            return Ok(None);
        }
        let digest = XxHash3_128::oneshot(bytes);
        if array.digest != digest {
            array.digest = digest;
            array.same = 0;
            array.rest = (1 << array.changes) - 1;
            array.changes = (array.changes + 1).min(SELDOM);
            if !array.handle.is_null() {
                dead.push(Dead::Buffer(std::mem::take(&mut array.handle)));
                self.bytes -= std::mem::take(&mut array.size);
            }
            return Ok(None);
        }
        if array.handle.is_null() {
            array.same += 1;
            if array.same < PROVEN || self.bytes + size > MOST {
                return Ok(None);
            }
            define(turn, &mut array.handle, size, BufferUsage::StaticDraw)?;
            array.size = size;
            self.bytes += size;
            let piece = turn.pipe.max_piece();
            upload::buffer(turn.pipe, array.handle, lead, bytes, piece)?;
        }
        array.changes = 0;
        Ok(Some(array.handle))
    }
}
