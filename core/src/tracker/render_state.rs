//! Render states: the pipeline half by content, in a cache of CSOs; the dynamic half as the chunks that changed.

use core::fmt;

use runahead_wire::{
    Bulk, Handle,
    handle::Kind,
    payload::{BindRenderState, DynamicState, RenderState, RenderStateDesc},
    pipe::Pipe,
};

use super::{SyncError, Tracker, handle_only};
use crate::{
    chunks::{CHUNKS, DYNAMIC_BYTES, Half, PIPELINE_BYTES},
    slots::{Band, SlotSpace},
    storage::Storage,
};

/// Render-state CSOs that a context keeps.
pub const CACHED_RENDER_STATES: usize = 64;

const _: () = assert!(CACHED_RENDER_STATES > 1, "the bound one stays, so there is one more to make room");

/// One cached CSO.
struct Entry {
    /// Null where there is none.
    cso: Handle,
    /// When it was bound last.
    used: u64,
    half: [u8; PIPELINE_BYTES],
}

/// The CSOs of a context by their content.
pub(super) struct RenderStates {
    entries: [Entry; CACHED_RENDER_STATES],
    /// Of the entries' halves, beside each other because a look-up reads all of them.
    hashes: [u64; CACHED_RENDER_STATES],
    /// The CSO that the server has bound.
    bound: Handle,
    clock: u64,
    /// How often anything changed, and the pipeline half: diagnostics.
    version: u32,
    pipeline_version: u32,
}

impl fmt::Debug for RenderStates {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let cached = self.entries.iter().filter(|entry| !entry.cso.is_null()).count();
        f.debug_struct("RenderStates")
            .field("cached", &cached)
            .field("bound", &self.bound)
            .finish_non_exhaustive()
    }
}

impl Default for RenderStates {
    fn default() -> Self {
        Self {
            entries: [const { Entry { cso: Handle::NULL, used: 0, half: [0; PIPELINE_BYTES] } };
                CACHED_RENDER_STATES],
            hashes: [0; CACHED_RENDER_STATES],
            bound: Handle::NULL,
            clock: 0,
            version: 0,
            pipeline_version: 0,
        }
    }
}

impl RenderStates {
    /// The server has none bound any more.
    pub(super) const fn unbind(&mut self) {
        self.bound = Handle::NULL;
    }

    /// The CSO of a render state, made if need be. `changed` are the chunks in which it differs from the bound
    /// one.
    fn get<P: Pipe, S: Storage>(
        &mut self,
        state: &RenderState,
        changed: u32,
        look_up: bool,
        pipe: &mut P,
        slots: &mut SlotSpace<S>,
    ) -> Result<Handle, SyncError<P::Error>> {
        let mut half = [0; PIPELINE_BYTES];
        let _ = Half::Pipeline.gather(Half::Pipeline.all(), state, &mut half);
        let hash = hash(&half);
        self.clock += 1;
        if look_up {
            let same = self.hashes.iter().zip(&mut self.entries).find_map(|(&of, entry)| {
                // The hash is of 64 bits and anybody can make two states that share one, so it only says where
                // to look.
                (of == hash && !entry.cso.is_null() && entry.half == half).then_some(entry)
            });
            if let Some(entry) = same {
                entry.used = self.clock;
                return Ok(entry.cso);
            }
        }
        let at = self.make_room(pipe, slots)?;
        let (base_cso, chunk_mask) = if self.bound.is_null() || changed == 0 {
            (Handle::NULL, Half::Pipeline.all())
        } else {
            (self.bound, changed)
        };
        let mut blob = [0; PIPELINE_BYTES];
        let blob = Half::Pipeline.gather(chunk_mask, state, &mut blob);
        let cso = slots.mint_with(Band::RenderState, 0, |cso| {
            let desc = RenderStateDesc { cso, base_cso, chunk_mask, ..RenderStateDesc::default() };
            pipe.create_render_state(&desc, Bulk::Bytes(blob))
        })?;
        if let (Some(entry), Some(of)) = (self.entries.get_mut(at), self.hashes.get_mut(at)) {
            *entry = Entry { cso, used: self.clock, half };
            *of = hash;
        }
        Ok(cso)
    }

    /// A free place; the one whose CSO was bound longest ago if there is none. Never that of the bound one: a
    /// state may be made from it, and the server draws with it.
    fn make_room<P: Pipe, S: Storage>(
        &mut self,
        pipe: &mut P,
        slots: &mut SlotSpace<S>,
    ) -> Result<usize, SyncError<P::Error>> {
        let others = self.entries.iter().enumerate().filter(|(_, entry)| entry.cso != self.bound);
        // A free place was used at time 0.
        let at = others.min_by_key(|(_, entry)| entry.used).map_or(0, |(at, _)| at);
        self.delete(at, pipe, slots)?;
        Ok(at)
    }

    /// Empties a place.
    fn delete<P: Pipe, S: Storage>(
        &mut self,
        at: usize,
        pipe: &mut P,
        slots: &mut SlotSpace<S>,
    ) -> Result<(), SyncError<P::Error>> {
        let Some(entry) = self.entries.get_mut(at).filter(|entry| !entry.cso.is_null()) else {
            return Ok(());
        };
        pipe.delete_render_state(&handle_only(Kind::RenderStateCso, entry.cso))?;
        let freed = slots.free(Band::RenderState, entry.cso);
        debug_assert_eq!(freed, Ok(()), "the cache owns its CSOs");
        entry.cso = Handle::NULL;
        entry.used = 0;
        Ok(())
    }

    /// Deletes every CSO but one.
    fn keep<P: Pipe, S: Storage>(
        &mut self,
        kept: Handle,
        pipe: &mut P,
        slots: &mut SlotSpace<S>,
    ) -> Result<(), SyncError<P::Error>> {
        for at in 0..CACHED_RENDER_STATES {
            if self.entries.get(at).is_some_and(|entry| entry.cso != kept) {
                self.delete(at, pipe, slots)?;
            }
        }
        Ok(())
    }
}

impl Tracker {
    pub(super) fn send_render<P: Pipe, S: Storage>(
        &mut self,
        untold: bool,
        pipe: &mut P,
        slots: &mut SlotSpace<S>,
    ) -> Result<(), SyncError<P::Error>> {
        let (wanted, sent) = (&self.wanted.render, &mut self.sent.render);
        let states = &mut self.render_states;
        let pipeline = Half::Pipeline.changed(&CHUNKS, wanted, sent);
        let dynamic = if untold { Half::Dynamic.all() } else { Half::Dynamic.changed(&CHUNKS, wanted, sent) };
        states.version = states.version.wrapping_add(u32::from(pipeline | dynamic != 0));
        // A new context has the default state and no CSO of it.
        if pipeline != 0 || untold || states.bound.is_null() {
            states.pipeline_version = states.pipeline_version.wrapping_add(u32::from(pipeline != 0));
            let cso = states.get(wanted, pipeline, self.knobs.cso_cache, pipe, slots)?;
            let (version, pipeline_version) = (states.version, states.pipeline_version);
            pipe.bind_render_state(&BindRenderState { cso, version, pipeline_version })?;
            states.bound = cso;
            Half::Pipeline.copy(pipeline, wanted, sent);
        }
        if !self.knobs.cso_cache {
            states.keep(states.bound, pipe, slots)?;
        }
        if dynamic != 0 {
            let mut blob = [0; DYNAMIC_BYTES];
            let blob = Half::Dynamic.gather(dynamic, wanted, &mut blob);
            let head =
                DynamicState { chunk_mask: dynamic, version: states.version, ..DynamicState::default() };
            pipe.set_dynamic_state(&head, Bulk::Bytes(blob))?;
            Half::Dynamic.copy(dynamic, wanted, sent);
        }
        Ok(())
    }

    /// Deletes the cached render states: the context is about to end, and no verb of it follows.
    ///
    /// # Errors
    /// [`SyncError`]. What is left can be deleted by another call.
    pub fn end<P: Pipe, S: Storage>(
        &mut self,
        pipe: &mut P,
        slots: &mut SlotSpace<S>,
    ) -> Result<(), SyncError<P::Error>> {
        self.reset();
        self.render_states.keep(Handle::NULL, pipe, slots)
    }
}

/// Hash of a pipeline half: words multiplied into a sum that is rotated so that every bit meets every
/// multiplier bit. Quick and simple, and no more than a hint: contents are compared.
fn hash(half: &[u8; PIPELINE_BYTES]) -> u64 {
    const FACTOR: u64 = 0x9E37_79B9_7F4A_7C15;
    let (words, rest) = half.as_chunks::<8>();
    let (last, _) = rest.as_chunks::<4>();
    let words = words.iter().map(|word| u64::from_ne_bytes(*word));
    let last = last.iter().map(|word| u64::from(u32::from_ne_bytes(*word)));
    words.chain(last).fold(FACTOR, |sum, word| (sum ^ word).wrapping_mul(FACTOR).rotate_left(29))
}

// A chunk is whole words of 4 bytes, so the hash leaves out nothing.
const _: () = assert!(PIPELINE_BYTES.is_multiple_of(4));

#[cfg(test)]
mod tests {
    use std::boxed::Box;

    use runahead_wire::{BlobRef, Row, Sink, pipe::Encoder};

    use super::*;
    use crate::{state::initial_render_state, storage::heap::Heap};

    /// A sink that keeps nothing.
    struct Nowhere;

    impl Sink for Nowhere {
        type Error = ();

        fn stage(&mut self, bulk: Bulk<'_>) -> Result<BlobRef, ()> {
            Ok(BlobRef::staged(0, bulk.len()))
        }

        fn record<'a, R: Row<'a>>(&mut self, _: &R) -> Result<(), ()> {
            Ok(())
        }
    }

    fn half(state: &RenderState) -> [u8; PIPELINE_BYTES] {
        let mut half = [0; PIPELINE_BYTES];
        let _ = Half::Pipeline.gather(Half::Pipeline.all(), state, &mut half);
        half
    }

    #[test]
    fn states_that_share_their_hash_are_told_apart() {
        let (mut states, mut slots) = (Box::<RenderStates>::default(), SlotSpace::<Heap>::default());
        let mut pipe = Encoder(Nowhere);
        let one = initial_render_state();
        let other = RenderState { depth_test: 1, ..one };
        let first = states.get(&one, 0, true, &mut pipe, &mut slots).unwrap();
        // As if the hashes of both were the same number.
        let at = states.entries.iter().position(|entry| entry.cso == first).unwrap();
        states.hashes[at] = hash(&half(&other));
        let second = states.get(&other, 0, true, &mut pipe, &mut slots).unwrap();
        assert_ne!(first, second);
        assert_eq!(states.get(&other, 0, true, &mut pipe, &mut slots), Ok(second));
    }

    #[test]
    fn the_hash_sees_every_byte() {
        let same = half(&initial_render_state());
        for at in 0..PIPELINE_BYTES {
            let mut other = same;
            other[at] ^= 1;
            assert_ne!(hash(&same), hash(&other), "byte {at}");
        }
    }
}
