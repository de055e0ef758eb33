//! Comparing, before each verb, the state that the client says it means with the one that it told.
//!
//! A client that wants it sends its state ahead of a verb, as pieces of a [`Snapshot`] in debug marks. It costs nothing
//! until the first piece has come, but a look at that.

use runahead_wire::{payload::DebugMark, pipe::Op};

use super::Applier;
use crate::{
    backend::Backend,
    bind_state::Trouble,
    compare::{Coverage, Difference, Snapshot, compare},
    fault::Fault,
    outlet::Outlet,
    storage::{Bytes as _, Storage, Table as _},
};

/// Bytes of a snapshot at most.
const MOST: usize = 1 << 20;

/// What there is of the next verb's snapshot, and what was compared so far.
#[derive(Debug, Default)]
pub(super) struct Comparing<S: Storage> {
    bytes: S::Bytes,
    /// Bytes that have come, of those of the whole.
    len: usize,
    /// Whether there was ever a piece.
    pub(super) is_on: bool,
    coverage: Coverage,
    difference: Option<Difference>,
}

impl<S: Storage> Comparing<S> {
    /// Takes a piece; the mark's number is the size of the whole.
    fn take(&mut self, size: usize, piece: &[u8]) -> Result<(), Fault> {
        let corrupt = Fault::Corrupt { row: Op::DebugMark, field: "id" };
        if self.len == 0 && (size > MOST || !self.bytes.reset(size)) {
            return Err(Fault::OverLimit { row: Op::DebugMark, field: "id" });
        }
        let end = self.len + piece.len();
        if self.bytes.as_ref().len() != size {
            return Err(corrupt);
        }
        self.bytes.as_mut().get_mut(self.len..end).ok_or(corrupt)?.copy_from_slice(piece);
        self.len = end;
        self.is_on = true;
        Ok(())
    }
}

impl<B: Backend, S: Storage, O: Outlet> Applier<B, S, O> {
    /// Takes a piece of the state of the verb that comes next.
    pub(super) fn take_state(&mut self, mark: &DebugMark, piece: &[u8]) -> Result<(), Fault> {
        self.begin();
        if let Some(current) = self.current
            && let Some(context) = self.contexts.get_mut(current.context)
        {
            context.bind.trouble.set(Trouble::COMPARED, true);
        }
        self.comparing.take(mark.id as usize, piece)
    }

    /// Compares the verb at hand, if its state has come whole. What the server refused the client does not know yet, so
    /// that a verb which meets something refused is seen and not compared.
    #[cold]
    #[inline(never)]
    pub(super) fn compare(&mut self, op: Op) -> Result<(), Fault> {
        let whole = self.comparing.len == self.comparing.bytes.as_ref().len() && self.comparing.len != 0;
        self.comparing.len = 0;
        let Some((bind, objects)) = self.current() else { return Ok(()) };
        let compared = if whole && !bind.trouble.any(Trouble::REFUSED) {
            let snapshot = Snapshot::from_bytes(self.comparing.bytes.as_ref());
            compare(snapshot, &bind.state, objects, op, self.ordinal)
        } else {
            Ok(0)
        };
        match compared {
            Ok(members) => {
                self.comparing.coverage.count(members);
                Ok(())
            }
            Err(difference) => {
                self.comparing.difference = Some(difference);
                Err(Fault::StateDiffers { row: op })
            }
        }
    }

    /// How many verbs were compared, of how many.
    #[must_use]
    pub const fn coverage(&self) -> Coverage {
        self.comparing.coverage
    }

    /// What ended the session, if it was [`Fault::StateDiffers`].
    #[must_use]
    pub const fn difference(&self) -> Option<&Difference> {
        self.comparing.difference.as_ref()
    }
}
