//! The client's slot allocators against a plain model, and the classes of mistaken identity by name.

mod common;

use std::collections::{HashMap, HashSet};

use common::heap::Heap;
use proptest::{prelude::*, test_runner::TestCaseError};
use runahead_core::{
    slots::{Band, FreeError, MintError, MintWithError, SlotSpace, Slots},
    storage::Inline,
};
use runahead_wire::{
    Handle,
    handle::{Kind, SHADER_CSO_COMPOSITE_BASE, SHADER_CSO_SLOTS},
};

/// A slot of the model.
#[derive(Clone, Copy, Default)]
struct Slot {
    generation: u32,
    live: bool,
    lifetime: u64,
    stamp: u64,
}

/// What an allocator should do, said plainly.
struct Plain {
    base: u32,
    /// Slots that the band and the memory have.
    room: usize,
    first: u32,
    slots: Vec<Slot>,
    /// The one freed last comes last.
    free: Vec<u32>,
    index: HashMap<u64, Handle>,
}

impl Plain {
    /// The slot of a live handle.
    fn live(&mut self, handle: Handle) -> Option<&mut Slot> {
        let at = handle.slot.checked_sub(self.base)?;
        let slot = self.slots.get_mut(at as usize)?;
        (slot.live && slot.generation == handle.generation).then_some(slot)
    }

    /// What the next mint says.
    fn upcoming(&self, lifetime: u64) -> Result<Handle, MintError> {
        if self.index.contains_key(&lifetime) {
            return Err(MintError::InUse);
        }
        if let Some(&slot) = self.free.last() {
            return Ok(Handle::new(slot, self.slots[(slot - self.base) as usize].generation + 1));
        }
        if self.slots.len() == self.room {
            return Err(MintError::Full);
        }
        Ok(Handle::new(self.base + self.slots.len() as u32, self.first))
    }

    fn mint(&mut self, lifetime: u64) -> Result<Handle, MintError> {
        let handle = self.upcoming(lifetime)?;
        if self.free.pop().is_none() {
            self.slots.push(Slot::default());
        }
        let slot = Slot { generation: handle.generation, live: true, lifetime, stamp: 0 };
        self.slots[(handle.slot - self.base) as usize] = slot;
        if lifetime != 0 {
            self.index.insert(lifetime, handle);
        }
        Ok(handle)
    }

    fn free(&mut self, handle: Handle) -> Result<(), FreeError> {
        if let Some(slot) = self.live(handle) {
            slot.live = false;
            let lifetime = slot.lifetime;
            self.index.remove(&lifetime);
            if handle.generation != u32::MAX {
                self.free.push(handle.slot);
            }
            return Ok(());
        }
        let at = handle.slot.checked_sub(self.base).ok_or(FreeError::Unknown)?;
        let slot = self.slots.get(at as usize).ok_or(FreeError::Unknown)?;
        Err(match handle.generation {
            0 => FreeError::Unknown,
            generation if generation > slot.generation => FreeError::Unknown,
            generation if generation == slot.generation => FreeError::Freed,
            _ => FreeError::Stale,
        })
    }
}

#[derive(Clone, Debug)]
enum Step {
    Mint(u64),
    /// A mint whose first record fails.
    Fail(u64),
    /// Free the n-th handle of all that were minted, dead or alive.
    Free(usize),
    /// Free a handle so far from the n-th one.
    Forge(usize, u32, u32),
    /// Remember a content version for the n-th handle, dead or alive.
    Stamp(usize, u64),
}

const LIFETIMES: u64 = 24;

/// Lifetime ids that share their low bits, or their high ones.
fn lifetime(n: u64) -> u64 {
    match n % 4 {
        0 => n,
        1 => n << 32,
        2 => n << 56,
        _ => u64::MAX - n,
    }
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        6 => (0..LIFETIMES).prop_map(|n| Step::Mint(lifetime(n))),
        2 => (0..LIFETIMES).prop_map(|n| Step::Fail(lifetime(n))),
        6 => any::<usize>().prop_map(Step::Free),
        1 => (any::<usize>(), 0..3_u32, 0..3_u32).prop_map(|(which, slot, generation)| {
            Step::Forge(which, slot.wrapping_sub(1), generation.wrapping_sub(1))
        }),
        2 => (any::<usize>(), any::<u64>()).prop_map(|(which, stamp)| Step::Stamp(which, stamp)),
    ]
}

/// Plays the steps on an allocator with memory for `MOST` slots and on the model.
fn agree<const MOST: u32>(base: u32, limit: u32, first: u32, steps: &[Step]) -> Result<(), TestCaseError> {
    let mut slots = Slots::<Heap<MOST>>::with_first_generation(base, limit, first);
    let room = limit.saturating_sub(base).min(MOST) as usize;
    let (used, free, index) = (Vec::new(), Vec::new(), HashMap::new());
    let mut plain = Plain { base, room, first, slots: used, free, index };
    let mut all: Vec<Handle> = Vec::new();
    for step in steps {
        match *step {
            Step::Mint(lifetime) => {
                let minted = slots.mint(lifetime);
                prop_assert_eq!(minted, plain.mint(lifetime));
                all.extend(minted);
            }
            Step::Fail(lifetime) => {
                let mut told = None;
                let failed = slots.mint_with(lifetime, |handle| {
                    told = Some(handle);
                    Err("no room")
                });
                let upcoming = plain.upcoming(lifetime);
                prop_assert_eq!(told, upcoming.ok());
                prop_assert_eq!(
                    failed,
                    Err(upcoming.map_or_else(MintWithError::Mint, |_| MintWithError::Record("no room")))
                );
            }
            Step::Free(which) if !all.is_empty() => {
                let handle = all[which % all.len()];
                prop_assert_eq!(slots.free(handle), plain.free(handle), "{:?}", handle);
            }
            Step::Forge(which, slot, generation) if !all.is_empty() => {
                let Handle { slot: near, generation: about } = all[which % all.len()];
                let handle = Handle::new(near.wrapping_add(slot), about.wrapping_add(generation));
                prop_assert_eq!(slots.free(handle), plain.free(handle), "{:?}", handle);
            }
            Step::Stamp(which, stamp) if !all.is_empty() => {
                let handle = all[which % all.len()];
                let live = plain.live(handle).map(|slot| slot.stamp = stamp).is_some();
                prop_assert_eq!(slots.set_stamp(handle, stamp), live, "{:?}", handle);
            }
            _ => {}
        }
        for &handle in &all {
            let stamp = plain.live(handle).map(|slot| slot.stamp);
            prop_assert_eq!(slots.stamp(handle), stamp, "{:?}", handle);
            prop_assert_eq!(slots.is_live(handle), stamp.is_some(), "{:?}", handle);
        }
        for n in 0..LIFETIMES {
            let id = lifetime(n);
            prop_assert_eq!(slots.find(id), plain.index.get(&id).copied(), "{}", id);
        }
        prop_assert_eq!(slots.live() as usize, plain.slots.iter().filter(|slot| slot.live).count());
        prop_assert_eq!(slots.high_water(), base - 1 + plain.slots.len() as u32);
    }
    // Each handle once, and no slot left out.
    prop_assert_eq!(all.iter().collect::<HashSet<_>>().len(), all.len());
    let minted: HashSet<u32> = all.iter().map(|handle| handle.slot).collect();
    prop_assert!((base..=slots.high_water()).all(|slot| minted.contains(&slot)));
    prop_assert_eq!(minted.len(), plain.slots.len());
    Ok(())
}

proptest! {
    #![proptest_config(common::config(2000))]

    #[test]
    fn an_allocator_is_its_plain_model(
        base in prop_oneof![Just(1), Just(5), Just(SHADER_CSO_COMPOSITE_BASE), Just(u32::MAX - 9)],
        size in 0_u32..40,
        memory in 0..5,
        first in prop_oneof![Just(1), u32::MAX - 3..=u32::MAX],
        steps in proptest::collection::vec(step(), 1..200),
    ) {
        let limit = base.saturating_add(size);
        match memory {
            0 => agree::<0>(base, limit, first, &steps)?,
            1 => agree::<1>(base, limit, first, &steps)?,
            2 => agree::<7>(base, limit, first, &steps)?,
            _ => agree::<{ u32::MAX }>(base, limit, first, &steps)?,
        }
    }
}

/// Slots without a limit that matters.
fn slots() -> Slots<Heap> {
    Slots::new(1, u32::MAX)
}

#[test]
fn aba_on_a_recycled_slot_is_told_apart_by_generation() {
    let mut slots = slots();
    let old = slots.mint(7).unwrap();
    assert!(slots.set_stamp(old, 70));
    slots.free(old).unwrap();
    let new = slots.mint(7).unwrap();
    assert_eq!(new.slot, old.slot, "control: the slot is used again");
    assert_eq!(new.generation, old.generation + 1);
    assert!(slots.is_live(new) && !slots.is_live(old));
    assert_eq!((slots.stamp(new), slots.stamp(old)), (Some(0), None), "what was known of the old object");
    assert!(!slots.set_stamp(old, 71));
    assert_eq!(slots.stamp(new), Some(0));
    assert_eq!(slots.free(old), Err(FreeError::Stale));
    assert_eq!(slots.find(7), Some(new), "the new object outlives the old handle");
}

#[test]
fn a_slot_of_the_last_generation_is_retired() {
    let mut slots = Slots::<Heap>::with_first_generation(1, 3, u32::MAX - 1);
    let before_last = slots.mint(1).unwrap();
    slots.free(before_last).unwrap();
    let last = slots.mint(1).unwrap();
    assert_eq!(last, Handle::new(1, u32::MAX));
    slots.free(last).unwrap();
    assert_eq!(slots.mint(1), Ok(Handle::new(2, u32::MAX - 1)), "the next slot, though one is free");
    assert_eq!(slots.mint(2), Err(MintError::Full), "no slot is handed out under a generation that it had");
    assert_eq!(slots.free(last), Err(FreeError::Freed));
}

#[test]
fn a_dead_handle_is_not_found() {
    let mut slots = slots();
    let handles: Vec<_> = (1..=100).map(|lifetime| slots.mint(lifetime).unwrap()).collect();
    for (lifetime, &handle) in (1..).zip(&handles) {
        assert_eq!(slots.find(lifetime), Some(handle));
        slots.free(handle).unwrap();
        assert_eq!(slots.find(lifetime), None);
        assert_eq!(slots.stamp(handle), None);
        assert!(!slots.is_live(handle));
    }
    assert_eq!(slots.live(), 0);
    // The id of a dead object may live again, under another handle.
    let again = slots.mint(1).unwrap();
    assert!(!handles.contains(&again));
    assert_eq!(slots.find(1), Some(again));
}

#[test]
fn a_double_free_is_refused() {
    let mut slots = slots();
    let (first, second) = (slots.mint(1).unwrap(), slots.mint(2).unwrap());
    assert_eq!(slots.free(first), Ok(()));
    assert_eq!(slots.free(first), Err(FreeError::Freed));
    // Freed twice, a slot would be handed out twice.
    let (third, fourth) = (slots.mint(3).unwrap(), slots.mint(4).unwrap());
    assert_ne!(third.slot, fourth.slot);
    assert_eq!(slots.live(), 3);
    assert!(slots.is_live(second));
}

#[test]
fn handles_that_never_were_are_refused() {
    let mut slots = Slots::<Heap>::new(5, 10);
    let handle = slots.mint(1).unwrap();
    for never in [
        Handle::NULL,
        Handle::DEFAULT_FRAMEBUFFER,
        Handle::new(handle.slot, 0),
        Handle::new(handle.slot, handle.generation + 1),
        Handle::new(handle.slot, u32::MAX),
        Handle::new(handle.slot - 1, 1),
        Handle::new(handle.slot + 1, 1),
        Handle::new(u32::MAX, 1),
    ] {
        assert_eq!(slots.free(never), Err(FreeError::Unknown), "{never:?}");
        assert!(!slots.is_live(never), "{never:?}");
        assert_eq!(slots.stamp(never), None, "{never:?}");
        assert!(!slots.set_stamp(never, 1), "{never:?}");
    }
    assert_eq!(slots.free(handle), Ok(()), "control");
}

#[test]
fn two_contexts_never_share_a_handle() {
    let mut slots = slots();
    let (one, other) = (slots.mint(1).unwrap(), slots.mint(2).unwrap());
    assert_ne!(one, other);
    assert_eq!((slots.find(1), slots.find(2)), (Some(one), Some(other)));
    assert_eq!(slots.mint(1), Err(MintError::InUse), "one object, one handle");
    slots.free(one).unwrap();
    assert_eq!((slots.find(1), slots.find(2)), (None, Some(other)));
}

#[test]
fn a_null_lifetime_is_never_a_hit() {
    let mut slots = slots();
    assert_eq!(slots.find(0), None);
    let (one, other) = (slots.mint(0).unwrap(), slots.mint(0).unwrap());
    assert_ne!(one, other);
    assert_eq!(slots.find(0), None);
    slots.free(one).unwrap();
    slots.free(other).unwrap();
    assert_eq!(slots.find(0), None);
}

#[test]
fn a_failed_first_record_leaves_no_hole() {
    let mut slots = slots();
    let fail = |slots: &mut Slots<Heap>, expected| {
        let failed = slots.mint_with(1, |handle| {
            assert_eq!(handle, expected);
            Err("the ring is gone")
        });
        assert_eq!(failed, Err(MintWithError::Record("the ring is gone")));
        assert_eq!(slots.find(1), None);
        assert!(!slots.is_live(expected));
    };
    // The next slot.
    fail(&mut slots, Handle::new(1, 1));
    fail(&mut slots, Handle::new(1, 1));
    assert_eq!((slots.live(), slots.high_water()), (0, 0));
    assert_eq!(slots.free(Handle::new(1, 1)), Err(FreeError::Unknown));
    let handle = slots.mint_with(1, |_| Ok::<_, ()>(())).unwrap();
    assert_eq!(handle, Handle::new(1, 1));
    // A slot used again.
    slots.free(handle).unwrap();
    fail(&mut slots, Handle::new(1, 2));
    assert_eq!((slots.live(), slots.high_water()), (0, 1));
    assert_eq!(slots.free(handle), Err(FreeError::Freed), "it was not handed out again");
    assert_eq!(slots.mint(1), Ok(Handle::new(1, 2)));
}

#[test]
fn a_first_record_is_asked_for_only_with_a_handle() {
    let mut slots = Slots::<Heap>::new(1, 2);
    slots.mint(1).unwrap();
    for (lifetime, error) in [(1, MintError::InUse), (2, MintError::Full)] {
        let refused = slots.mint_with(lifetime, Err);
        assert_eq!(refused, Err(MintWithError::Mint(error)));
    }
}

#[test]
fn slot_0_is_never_handed_out() {
    assert_eq!(Slots::<Heap>::new(0, 2).mint(1), Ok(Handle::new(1, 1)));
    assert_eq!(Slots::<Heap>::new(0, 1).mint(1), Err(MintError::Full));
    assert_eq!(Slots::<Heap>::new(0, 0).high_water(), 0);
}

#[test]
fn storage_without_a_heap() {
    let mut slots = Slots::<Inline<3, 0>>::new(1, u32::MAX);
    let handles: Vec<_> = (1..=3).map(|lifetime| slots.mint(lifetime).unwrap()).collect();
    assert_eq!(slots.mint(4), Err(MintError::Full));
    slots.free(handles[1]).unwrap();
    assert_eq!(slots.mint(4), Ok(Handle::new(handles[1].slot, 2)), "a free slot needs no memory");
    assert_eq!(slots.find(3), Some(handles[2]));
}

#[test]
fn composites_never_collide_with_linked_programs() {
    let mut space = SlotSpace::<Heap>::default();
    assert_eq!(space.high_water(Band::CompositeShader), SHADER_CSO_COMPOSITE_BASE - 1);
    // Each band to its last slot.
    for slot in 1..SHADER_CSO_COMPOSITE_BASE {
        assert_eq!(space.mint(Band::Shader, slot.into()), Ok(Handle::new(slot, 1)));
    }
    assert_eq!(space.mint(Band::Shader, 0), Err(MintError::Full));
    for slot in SHADER_CSO_COMPOSITE_BASE..SHADER_CSO_SLOTS {
        assert_eq!(space.mint(Band::CompositeShader, 0), Ok(Handle::new(slot, 1)));
    }
    assert_eq!(space.mint(Band::CompositeShader, 0), Err(MintError::Full));
    assert_eq!(space.live(Band::Shader) + space.live(Band::CompositeShader), SHADER_CSO_SLOTS - 1);
}

#[test]
fn a_shader_handle_says_which_band_it_is_of() {
    let mut space = SlotSpace::<Heap>::default();
    // The same lifetime id in both bands names two objects.
    let linked = space.mint(Band::Shader, 1).unwrap();
    let composite = space.mint(Band::CompositeShader, 1).unwrap();
    assert_eq!((linked.slot, composite.slot), (1, SHADER_CSO_COMPOSITE_BASE));
    assert_eq!(Band::of(Kind::ShaderCso, linked), Some(Band::Shader));
    assert_eq!(Band::of(Kind::ShaderCso, composite), Some(Band::CompositeShader));
    for (handle, own, other, stamp) in [
        (linked, Band::Shader, Band::CompositeShader, 2),
        (composite, Band::CompositeShader, Band::Shader, 3),
    ] {
        assert_eq!(space.find(own, 1), Some(handle));
        assert!(space.is_live(other, handle));
        assert!(space.set_stamp(other, handle, stamp));
        assert_eq!(space.stamp(own, handle), Some(stamp));
    }
    space.free(Band::Shader, composite).unwrap();
    assert_eq!((space.find(Band::CompositeShader, 1), space.find(Band::Shader, 1)), (None, Some(linked)));
    space.free(Band::CompositeShader, linked).unwrap();
    assert_eq!((space.live(Band::Shader), space.live(Band::CompositeShader)), (0, 0));
}

#[test]
fn bands_are_independent_and_cover_the_kinds() {
    let mut space = SlotSpace::<Heap>::default();
    for band in Band::ALL {
        let base = if band == Band::CompositeShader { SHADER_CSO_COMPOSITE_BASE } else { 1 };
        let handle = space.mint_with(band, 9, |_| Ok::<_, ()>(())).unwrap();
        assert_eq!(handle, Handle::new(base, 1), "{band:?}");
        assert_eq!(Band::of(band.kind(), handle), Some(band));
        assert!(space.is_live(band, handle) && space.set_stamp(band, handle, 1 + base as u64), "{band:?}");
    }
    for band in Band::ALL {
        let handle = space.find(band, 9).unwrap();
        assert_eq!(space.stamp(band, handle), Some(1 + handle.slot as u64), "{band:?}");
        assert_eq!((space.live(band), space.high_water(band)), (1, handle.slot), "{band:?}");
        assert_eq!(space.free(band, handle), Ok(()), "{band:?}");
        assert_eq!(space.live(band), 0, "{band:?}");
    }
    for kind in [Kind::None, Kind::TransformFeedback, Kind::Context] {
        assert_eq!(Band::of(kind, Handle::new(1, 1)), None, "{kind:?}");
    }
    let kinds: HashSet<_> = Band::ALL.into_iter().map(Band::kind).collect();
    assert_eq!(kinds.len(), 11, "each kind with handles, shaders twice");
}

#[test]
fn errors_are_small_and_say_what_happened() {
    fn sentence(error: impl Copy + core::error::Error) -> String {
        assert!(size_of_val(&error) <= 4);
        error.to_string()
    }
    let full = "the band has no slot left, or there is no memory for another one";
    assert_eq!(sentence(MintError::Full), full);
    assert_eq!(sentence(MintError::InUse), "the lifetime id has a live slot already");
    assert_eq!(sentence(FreeError::Unknown), "the handle was never minted");
    assert_eq!(sentence(FreeError::Freed), "the handle was freed before");
    assert_eq!(sentence(FreeError::Stale), "the handle was freed before and its slot was handed out again");
    assert_eq!(sentence(MintWithError::<MintError>::Mint(MintError::Full)), full);
    assert_eq!(
        sentence(MintWithError::Record(FreeError::Unknown)),
        "the first record failed: the handle was never minted"
    );
}
