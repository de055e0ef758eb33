//! Samplers, by their content.

use runahead_wire::{
    Bulk, Handle,
    handle::Kind,
    payload::{SamplerDesc, SamplerParameters},
    pipe::Pipe,
    zerocopy::IntoBytes,
};

use super::{SyncError, handle_only};
use crate::{
    slots::{Band, SlotSpace},
    storage::Storage,
};

/// One cached sampler.
#[derive(Clone, Copy, Debug, Default)]
struct Entry {
    /// Null where there is none.
    cso: Handle,
    references: u32,
    /// When it was acquired last.
    used: u64,
    parameters: SamplerParameters,
}

/// The samplers of a share group: `N` are kept by content, so that equal ones are one. A sampler that nobody
/// refers to any more stays until its place is needed. When every place is referred to, further samplers are
/// made and deleted one by one.
#[derive(Debug)]
pub struct SamplerCache<const N: usize> {
    entries: [Entry; N],
    clock: u64,
}

impl<const N: usize> Default for SamplerCache<N> {
    fn default() -> Self {
        Self { entries: [Entry::default(); N], clock: 0 }
    }
}

impl<const N: usize> SamplerCache<N> {
    /// A sampler of these parameters, to be [released](Self::release) once for each time it was acquired.
    ///
    /// # Errors
    /// [`SyncError`]; nothing was acquired.
    pub fn acquire<P: Pipe, S: Storage>(
        &mut self,
        parameters: &SamplerParameters,
        pipe: &mut P,
        slots: &mut SlotSpace<S>,
    ) -> Result<Handle, SyncError<P::Error>> {
        // Contents compare by their bytes, and padding is none.
        let parameters = SamplerParameters { _pad: Default::default(), ..*parameters };
        self.clock += 1;
        let mut known = self.entries.iter_mut().filter(|entry| !entry.cso.is_null());
        if let Some(entry) = known.find(|entry| entry.parameters == parameters) {
            entry.references += 1;
            entry.used = self.clock;
            return Ok(entry.cso);
        }
        // A free place was used at time 0.
        let unused = self.entries.iter_mut().filter(|entry| entry.references == 0);
        let place = unused.min_by_key(|entry| entry.used);
        if let Some(entry) = &place
            && !entry.cso.is_null()
        {
            delete(entry.cso, pipe, slots)?;
        }
        let place = place.map(|entry| {
            *entry = Entry::default();
            entry
        });
        let cso = slots.mint_with(Band::Sampler, 0, |cso| {
            let desc = SamplerDesc { cso, ..SamplerDesc::default() };
            pipe.create_sampler_state(&desc, Bulk::Bytes(parameters.as_bytes()))
        })?;
        if let Some(entry) = place {
            *entry = Entry { cso, references: 1, used: self.clock, parameters };
        }
        Ok(cso)
    }

    /// Gives a sampler back. No window of any context names it for this reference any more.
    ///
    /// # Errors
    /// [`SyncError`]; the sampler was not given back.
    pub fn release<P: Pipe, S: Storage>(
        &mut self,
        sampler: Handle,
        pipe: &mut P,
        slots: &mut SlotSpace<S>,
    ) -> Result<(), SyncError<P::Error>> {
        match self.entries.iter_mut().find(|entry| entry.cso == sampler && !sampler.is_null()) {
            Some(entry) => {
                debug_assert_ne!(entry.references, 0, "a sampler is released as often as it was acquired");
                entry.references = entry.references.saturating_sub(1);
                Ok(())
            }
            None => delete(sampler, pipe, slots),
        }
    }
}

fn delete<P: Pipe, S: Storage>(
    sampler: Handle,
    pipe: &mut P,
    slots: &mut SlotSpace<S>,
) -> Result<(), SyncError<P::Error>> {
    if slots.is_live(Band::Sampler, sampler) {
        pipe.delete_sampler_state(&handle_only(Kind::SamplerCso, sampler))?;
        let freed = slots.free(Band::Sampler, sampler);
        debug_assert_eq!(freed, Ok(()), "it is live");
    }
    Ok(())
}
