//! What belongs to a program and changes after linking: loose uniforms and bindings. Programs belong to the
//! share group, so each has one of these beside it, whatever context uses it.

use core::ops::Range;

use runahead_wire::{
    Bulk, Handle,
    payload::{self, GlobalConstants, ProgramSamplerUnit, ProgramStorageOverride},
    pipe::Pipe,
};

use crate::{
    objects::Bindings,
    storage::{Bytes, Storage},
};

/// Image of a program's default uniform block, and what of it the server does not have.
#[derive(Debug)]
pub struct Constants<S: Storage> {
    image: S::Bytes,
    /// Bytes that may differ from the server's.
    dirty: Range<usize>,
}

impl<S: Storage> Default for Constants<S> {
    fn default() -> Self {
        Self { image: S::Bytes::default(), dirty: 0..0 }
    }
}

impl<S: Storage> Constants<S> {
    /// The program was linked again, and its block has so many bytes. They become zero here and go to the
    /// server whole: the link cleared its image. Not for a failed link, which leaves the image as it is.
    ///
    /// `false` when there is no memory for the image; there is none then.
    #[must_use]
    pub fn relinked(&mut self, size: usize) -> bool {
        let made = self.image.reset(size);
        if !made {
            let _ = self.image.reset(0);
        }
        self.dirty = 0..self.image.as_ref().len();
        made
    }

    /// The image.
    #[inline]
    #[must_use]
    pub fn image(&self) -> &[u8] {
        self.image.as_ref()
    }

    /// Changes bytes of the image. `false`, and nothing changed, when they are not all inside.
    #[must_use]
    pub fn set(&mut self, offset: usize, bytes: &[u8]) -> bool {
        let place = offset.checked_add(bytes.len()).and_then(|end| self.image.as_mut().get_mut(offset..end));
        let Some(place) = place else { return false };
        let differs = |(new, old): (&u8, &u8)| new != old;
        if let Some(first) = bytes.iter().zip(place.iter()).position(differs) {
            let last = bytes.iter().zip(place.iter()).rposition(differs).unwrap_or(first);
            place.copy_from_slice(bytes);
            let changed = offset + first..offset + last + 1;
            self.dirty = if self.dirty.is_empty() {
                changed
            } else {
                self.dirty.start.min(changed.start)..self.dirty.end.max(changed.end)
            };
        }
        true
    }

    /// Sends the span that changed, if any. Before a verb of the program.
    ///
    /// # Errors
    /// The pipe's own. What could not be sent stays to be sent.
    #[inline]
    pub fn emit<P: Pipe>(&mut self, pipe: &mut P, program: Handle) -> Result<(), P::Error> {
        if self.dirty.is_empty() { Ok(()) } else { self.emit_span(pipe, program) }
    }

    fn emit_span<P: Pipe>(&mut self, pipe: &mut P, program: Handle) -> Result<(), P::Error> {
        let span = self.image.as_ref().get(self.dirty.clone()).unwrap_or_default();
        let offset = self.dirty.start as u32;
        let head = GlobalConstants { shader_cso: program, offset, ..GlobalConstants::default() };
        pipe.set_global_constants(&head, Bulk::Bytes(span))?;
        self.dirty = 0..0;
        Ok(())
    }
}

/// The bindings of a program that the server has.
#[derive(Debug)]
pub struct ProgramBindings<S: Storage> {
    sent: Bindings<S>,
    /// Whether the server's are these.
    known: bool,
}

impl<S: Storage> Default for ProgramBindings<S> {
    fn default() -> Self {
        Self { sent: Bindings::default(), known: true }
    }
}

impl<S: Storage> ProgramBindings<S> {
    /// The program was linked again, which cleared its bindings on the server. Not for a failed link, which
    /// leaves them as they are.
    pub fn relinked(&mut self) {
        *self = Self::default();
    }

    /// Sends the bindings unless the server has them. Before a verb of the program.
    ///
    /// `names` are the bytes that the storage overrides point into.
    ///
    /// # Errors
    /// The pipe's own; the next call sends them.
    pub fn emit<P: Pipe>(
        &mut self,
        pipe: &mut P,
        program: Handle,
        blocks: &[i32],
        sampler_units: &[ProgramSamplerUnit],
        storage: &[ProgramStorageOverride],
        names: &[u8],
    ) -> Result<(), P::Error> {
        let sent = &self.sent;
        let same = sent.blocks.as_slice() == blocks
            && sent.sampler_units.as_slice() == sampler_units
            && sent.storage.as_slice() == storage
            && sent.names.as_ref() == names;
        if self.known && same {
            return Ok(());
        }
        let head = payload::ProgramBindings {
            cso: program,
            block_binding_count: blocks.len() as u32,
            sampler_unit_count: sampler_units.len() as u32,
            storage_override_count: storage.len() as u32,
            ..payload::ProgramBindings::default()
        };
        pipe.set_program_bindings(&head, blocks, sampler_units, storage, Bulk::Bytes(names))?;
        // What cannot be remembered is sent every time.
        self.known = self.remember(blocks, sampler_units, storage, names);
        Ok(())
    }

    fn remember(
        &mut self,
        blocks: &[i32],
        sampler_units: &[ProgramSamplerUnit],
        storage: &[ProgramStorageOverride],
        names: &[u8],
    ) -> bool {
        let sent = &mut self.sent;
        sent.blocks.clear();
        sent.sampler_units.clear();
        sent.storage.clear();
        let fits = sent.blocks.extend_from_slice(blocks).is_ok()
            && sent.sampler_units.extend_from_slice(sampler_units).is_ok()
            && sent.storage.extend_from_slice(storage).is_ok()
            && sent.names.reset(names.len());
        if fits {
            sent.names.as_mut().copy_from_slice(names);
        }
        fits
    }
}
