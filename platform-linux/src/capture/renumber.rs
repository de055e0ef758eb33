//! Giving the objects of a stream other slots, densely.
//!
//! A server takes the next slot of a band or an old one with a larger generation, so a stream from which objects were
//! left out must be numbered anew. New numbers are minted as a client mints them, by share group and band.

use std::collections::HashMap;

use runahead_core::slots::{Band, SlotSpace};
use runahead_wire::{
    Frame, Handle, Row,
    handle::Kind,
    payload::BindContext,
    pipe::{Op, rows},
};

use super::{CaptureError, damaged, handles, layout, part::Request};
use crate::storage::Heap;

/// The share group of the context at hand.
#[derive(Clone, Debug, Default)]
pub(super) struct Groups {
    of: HashMap<u64, u64>,
    current: u64,
}

/// An object of a stream.
pub(super) type Object = (u64, Band, Handle);

impl Groups {
    /// Takes note of a request.
    pub(super) fn request(&mut self, request: &Request) {
        if let Request::CreateContext { context, share, .. } = request {
            let group = self.of.get(share).copied().unwrap_or(*context);
            self.of.insert(*context, group);
        }
    }

    /// Takes note of a record.
    pub(super) fn record(&mut self, record: &[u8]) {
        if layout::op(record) != Some(Op::BindContext) {
            return;
        }
        let row = Frame::parse(record).and_then(<rows::BindContext<'_> as Row<'_>>::decode);
        if let Ok(rows::BindContext { payload: BindContext { context, .. } }) = row {
            self.current = self.of.get(context).copied().unwrap_or(*context);
        }
    }

    /// The object that a record is about.
    pub(super) fn subject(&self, record: &[u8]) -> Option<Object> {
        handles::subject(record).and_then(|(kind, handle)| self.object(kind, handle))
    }

    /// The object that a handle names here; `None` for what has no slot.
    pub(super) fn object(&self, kind: Kind, handle: Handle) -> Option<Object> {
        Some((self.current, Band::of(kind, handle)?, handle))
    }
}

/// New numbers for old ones.
#[derive(Debug, Default)]
pub(super) struct Renumber {
    pub(super) groups: Groups,
    slots: HashMap<u64, SlotSpace<Heap>>,
    new: HashMap<Object, Handle>,
    /// Whether any number is another one.
    pub(super) changes: bool,
}

impl Renumber {
    /// Gives the handles of a record their new numbers. What ended names nothing.
    ///
    /// # Errors
    /// [`CaptureError::Damaged`] for more objects than a band has slots.
    pub(super) fn record(&mut self, record: &mut [u8], ordinal: u64) -> Result<(), CaptureError> {
        self.groups.record(record);
        let Some(op) = layout::op(record) else { return Ok(()) };
        let subject = self.groups.subject(record);
        if let Some(object @ (group, band, _)) = subject.filter(|_| handles::defines(op))
            && !self.new.contains_key(&object)
        {
            let slots = self.slots.entry(group).or_default();
            let handle = slots.mint(band, 0).map_err(|_| damaged("Record.handle", ordinal))?;
            self.changes |= handle != object.2;
            self.new.insert(object, handle);
        }
        let Self { groups, new, changes, .. } = self;
        handles::replace(record, |kind, handle| match groups.object(kind, handle) {
            Some(object) => new.get(&object).copied().unwrap_or_else(|| {
                *changes = true;
                Handle::NULL
            }),
            None => handle,
        });
        if let Some(object @ (group, band, _)) = subject.filter(|_| handles::ends(op))
            && let Some(handle) = self.new.remove(&object)
            && let Some(slots) = self.slots.get_mut(&group)
        {
            slots.free(band, handle).map_err(|_| damaged("Record.handle", ordinal))?;
        }
        Ok(())
    }
}
