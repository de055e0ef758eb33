//! A state written down.

use core::fmt;

use runahead_wire::{limits::MESSAGE_BYTES, payload::DebugMark, pipe::Pipe, values::DebugMarkOp};

use super::{Contents, Field, Name, visit};
use crate::{
    state::State,
    tracker::{Family, Verb},
};

/// What a snapshot says before the bytes of a field.
const HEAD: usize = 12;
/// The field has no index.
const NO_INDEX: u32 = u32::MAX;

/// A state with the contents that it names, written down.
#[derive(Clone, Copy, Debug)]
pub struct Snapshot<'a>(&'a [u8]);

/// A buffer is too small for a snapshot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooSmall {
    /// Bytes that the snapshot has.
    pub needed: usize,
}

impl fmt::Display for TooSmall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the snapshot of the state has {} bytes", self.needed)
    }
}

impl core::error::Error for TooSmall {}

/// A field as a snapshot has it.
#[derive(Clone, Copy)]
pub(super) struct Entry<'a> {
    pub(super) family: Family,
    pub(super) name: Name,
    pub(super) index: Option<u32>,
    pub(super) bytes: &'a [u8],
}

impl Entry<'_> {
    /// Whether it is the same field of the same object or point.
    pub(super) fn is(&self, field: &Field<'_>) -> bool {
        (self.family, self.name, self.index) == (field.family, field.name, field.index)
    }
}

impl<'a> Snapshot<'a> {
    /// Writes down what a verb of this class needs.
    ///
    /// # Errors
    /// [`TooSmall`] says how many bytes it takes.
    pub fn take<C: Contents>(
        buffer: &'a mut [u8],
        state: &State,
        contents: &C,
        verb: Verb,
    ) -> Result<Self, TooSmall> {
        let mut len = 0;
        let Ok(()) = visit(state, contents, verb, &mut |field| {
            let end = len + HEAD + field.bytes.len();
            if let Some((head, bytes)) =
                buffer.get_mut(len..end).and_then(|all| all.split_at_mut_checked(HEAD))
            {
                let [family, name] = [field.family as u8, field.name as u8];
                let index = field.index.unwrap_or(NO_INDEX).to_le_bytes();
                let size = (field.bytes.len() as u32).to_le_bytes();
                let written = [family, name, 0, 0].into_iter().chain(index).chain(size);
                head.iter_mut().zip(written).for_each(|(place, byte)| *place = byte);
                bytes.copy_from_slice(field.bytes);
            }
            len = end;
            Ok::<(), core::convert::Infallible>(())
        });
        buffer.get(..len).map(Self).ok_or(TooSmall { needed: len })
    }

    /// A snapshot that was taken elsewhere.
    #[must_use]
    pub const fn from_bytes(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    /// Sends it ahead of the verb that it is of.
    ///
    /// # Errors
    /// The pipe's.
    pub fn send<P: Pipe>(&self, pipe: &mut P) -> Result<(), P::Error> {
        for piece in self.0.chunks(MESSAGE_BYTES as usize) {
            let mark = DebugMark {
                op: DebugMarkOp::State.raw(),
                id: self.0.len() as u32,
                text_size: piece.len() as u32,
                ..DebugMark::default()
            };
            pipe.debug_mark(&mark, piece)?;
        }
        Ok(())
    }

    /// Its bytes.
    #[must_use]
    pub const fn as_bytes(&self) -> &'a [u8] {
        self.0
    }

    /// Takes the next field off the front. What cannot be read is one last field, named so.
    pub(super) fn next(&mut self) -> Option<Entry<'a>> {
        if self.0.is_empty() {
            return None;
        }
        let entry = self.read();
        if entry.is_none() {
            let bytes = core::mem::take(&mut self.0);
            return Some(Entry { family: Family::Values, name: Name::Snapshot, index: None, bytes });
        }
        entry
    }

    /// Fields that are left.
    pub(super) fn count(mut self) -> usize {
        core::iter::from_fn(|| self.next()).count()
    }

    fn read(&mut self) -> Option<Entry<'a>> {
        let (head, rest) = self.0.split_first_chunk::<HEAD>()?;
        let &[family, name, _, _, i0, i1, i2, i3, s0, s1, s2, s3] = head;
        let index = Some(u32::from_le_bytes([i0, i1, i2, i3])).filter(|index| *index != NO_INDEX);
        let size = u32::from_le_bytes([s0, s1, s2, s3]);
        let family = *Family::ALL.get(usize::from(family))?;
        let name = *Name::ALL.get(usize::from(name))?;
        let (bytes, rest) = rest.split_at_checked(size as usize)?;
        self.0 = rest;
        Some(Entry { family, name, index, bytes })
    }
}
