//! The client's slot allocators: handles are minted here and never returned by the server.
//!
//! The server takes the next slot of a band, or an old one with a larger generation, and nothing else
//! ([`Records`](crate::objects::Records)). So a slot is minted when its first record is encoded
//! ([`Slots::mint_with`]) and freed after its death record was, both under the record lock: the order of mints
//! and frees is then the order of the records.

use core::{
    convert::Infallible,
    fmt::{self, Debug},
    mem,
};

use runahead_wire::{
    Handle,
    handle::{Kind, SHADER_CSO_COMPOSITE_BASE, SHADER_CSO_SLOTS},
};

use crate::storage::{Storage, Table};

/// Slot 0 is never an object of the client's.
const FIRST_SLOT: u32 = 1;
/// What a link holds that leads nowhere: slot 0, which no entry has.
const NOWHERE: u32 = 0;
/// The lifetime id of objects that nobody looks up: the index holds none of them.
const ANONYMOUS: u64 = 0;

/// Why no handle was minted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum MintError {
    /// The band has no slot left, or there is no memory for another one.
    Full,
    /// The lifetime id has a live slot already.
    InUse,
}

impl fmt::Display for MintError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Full => "the band has no slot left, or there is no memory for another one",
            Self::InUse => "the lifetime id has a live slot already",
        })
    }
}

impl core::error::Error for MintError {}

/// Why no handle was minted together with its first record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum MintWithError<E> {
    /// There was no handle to mint; no record was asked for.
    Mint(MintError),
    /// The first record failed; nothing was minted.
    Record(E),
}

impl<E: fmt::Display> fmt::Display for MintWithError<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Mint(error) => fmt::Display::fmt(error, f),
            Self::Record(error) => write!(f, "the first record failed: {error}"),
        }
    }
}

impl<E: core::error::Error> core::error::Error for MintWithError<E> {}

/// Why a handle was not freed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum FreeError {
    /// The handle was never minted.
    Unknown,
    /// The handle was freed before.
    Freed,
    /// The handle was freed before, and its slot was handed out again since.
    Stale,
}

impl fmt::Display for FreeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Unknown => "the handle was never minted",
            Self::Freed => "the handle was freed before",
            Self::Stale => "the handle was freed before and its slot was handed out again",
        })
    }
}

impl core::error::Error for FreeError {}

/// A slot, and a bucket of the index.
#[derive(Debug, Default)]
struct Entry {
    lifetime: u64,
    stamp: u64,
    /// Of the last mint; 0 before the first.
    generation: u32,
    /// While live and in the index, the next slot of the same bucket; while free, the next free slot.
    next: u32,
    /// First slot of the bucket that has this entry's position. Nothing to do with the slot.
    head: u32,
    live: bool,
}

/// Slots of one kind and one band.
///
/// The index from lifetime ids to slots is a chained hash table that grows by linear hashing: a bucket's head
/// lies in the entry of the same position, so each appended entry brings one bucket and splits one old chain in
/// two. There are never fewer buckets than slots; no look-up or mint pauses to rehash, no entry moves, and
/// appending is the one step that can run out of memory.
pub struct Slots<S: Storage> {
    /// By slot, from `base`. May be one longer than what was handed out: memory for a mint that failed.
    entries: S::Table<Entry>,
    /// Slot of the first entry.
    base: u32,
    /// Slots lie below this.
    limit: u32,
    /// Entries that were ever handed out.
    used: u32,
    live: u32,
    /// The slot freed last.
    free: u32,
    /// Generation of a slot's first mint.
    first: u32,
}

impl<S: Storage> Debug for Slots<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { base, limit, used, live, .. } = self;
        f.debug_struct("Slots")
            .field("base", base)
            .field("limit", limit)
            .field("used", used)
            .field("live", live)
            .finish_non_exhaustive()
    }
}

impl<S: Storage> Slots<S> {
    /// Slots from `base` up to, and without, `limit`. Slot 0 is left out.
    #[must_use]
    pub fn new(base: u32, limit: u32) -> Self {
        Self::with_first_generation(base, limit, 1)
    }

    /// As [`Slots::new`], but slots begin at a generation of their own, at least 1: so that a test reaches the
    /// last one.
    #[doc(hidden)]
    #[must_use]
    pub fn with_first_generation(base: u32, limit: u32, first: u32) -> Self {
        Self {
            entries: S::Table::default(),
            base: base.max(FIRST_SLOT),
            limit,
            used: 0,
            live: 0,
            free: NOWHERE,
            first: first.max(1),
        }
    }

    /// A new handle: the slot freed last with the next generation, else the next slot.
    ///
    /// The generation alone tells the objects of a slot apart, and a slot that has had the last one is never
    /// handed out again, so keeping freed slots at a distance would gain nothing; the one freed last is still
    /// in the caches of both sides.
    ///
    /// `lifetime` is what [`Slots::find`] looks the handle up by; 0 for a handle that is not looked up.
    ///
    /// # Errors
    /// [`MintError`]; nothing has changed.
    pub fn mint(&mut self, lifetime: u64) -> Result<Handle, MintError> {
        self.mint_with(lifetime, |_| Ok::<(), Infallible>(())).map_err(|error| match error {
            MintWithError::Mint(error) => error,
            MintWithError::Record(never) => match never {},
        })
    }

    /// As [`Slots::mint`], together with the first record of the handle, which `record` encodes. When that
    /// fails, the server never hears of the handle, so it was not minted: the next mint hands it out again.
    ///
    /// # Errors
    /// [`MintWithError`]; nothing has changed.
    pub fn mint_with<E>(
        &mut self,
        lifetime: u64,
        record: impl FnOnce(Handle) -> Result<(), E>,
    ) -> Result<Handle, MintWithError<E>> {
        let handle = self.upcoming(lifetime).map_err(MintWithError::Mint)?;
        record(handle).map_err(MintWithError::Record)?;
        self.take(handle, lifetime);
        Ok(handle)
    }

    /// The handle that the next mint hands out. Its entry is there.
    fn upcoming(&mut self, lifetime: u64) -> Result<Handle, MintError> {
        if self.find(lifetime).is_some() {
            return Err(MintError::InUse);
        }
        if let Some(entry) = self.entry(self.free) {
            // A slot of the last generation is not among the free ones.
            let generation = entry.generation.checked_add(1).ok_or(MintError::Full)?;
            return Ok(Handle::new(self.free, generation));
        }
        let slot =
            self.base.checked_add(self.used).filter(|&slot| slot < self.limit).ok_or(MintError::Full)?;
        if self.used == self.entries.len() && !self.grow() {
            return Err(MintError::Full);
        }
        Ok(Handle::new(slot, self.first))
    }

    /// Makes the handle that [`Slots::upcoming`] named a live one.
    fn take(&mut self, handle: Handle, lifetime: u64) {
        let reused = handle.slot == self.free;
        let Some(entry) = self.entry_mut(handle.slot) else { return };
        let next = entry.next;
        entry.lifetime = lifetime;
        entry.stamp = 0;
        entry.generation = handle.generation;
        entry.live = true;
        if reused {
            self.free = next;
        } else {
            self.used += 1;
        }
        self.live += 1;
        if lifetime != ANONYMOUS {
            self.link(handle.slot, lifetime);
        }
    }

    /// Ends a handle. Its slot may be handed out again, with another generation.
    ///
    /// # Errors
    /// [`FreeError`]; nothing has changed.
    pub fn free(&mut self, handle: Handle) -> Result<(), FreeError> {
        let freed = self.free;
        let entry = self.entry_mut(handle.slot).ok_or(FreeError::Unknown)?;
        if handle.generation == 0 || handle.generation > entry.generation {
            return Err(FreeError::Unknown);
        }
        if handle.generation < entry.generation {
            return Err(FreeError::Stale);
        }
        if !entry.live {
            return Err(FreeError::Freed);
        }
        entry.live = false;
        let (lifetime, next) = (entry.lifetime, entry.next);
        // After the last generation never again, rather than one that was there before.
        if handle.generation != u32::MAX {
            entry.next = freed;
            self.free = handle.slot;
        }
        self.live -= 1;
        if lifetime != ANONYMOUS {
            self.unlink(handle.slot, next, lifetime);
        }
        Ok(())
    }

    /// The live handle of a lifetime id; none for 0.
    #[inline]
    #[must_use]
    pub fn find(&self, lifetime: u64) -> Option<Handle> {
        let bucket = bucket_of(lifetime, self.entries.len());
        let mut slot = self.entries.get(bucket)?.head;
        while let Some(entry) = self.entry(slot) {
            if entry.lifetime == lifetime {
                return Some(Handle::new(slot, entry.generation));
            }
            slot = entry.next;
        }
        None
    }

    /// Whether a handle was minted and not freed since.
    #[inline]
    #[must_use]
    pub fn is_live(&self, handle: Handle) -> bool {
        self.stamp(handle).is_some()
    }

    /// The content version that was last remembered for a live handle; 0 after its mint.
    #[inline]
    #[must_use]
    pub fn stamp(&self, handle: Handle) -> Option<u64> {
        let entry = self.entry(handle.slot)?;
        (entry.live && entry.generation == handle.generation).then_some(entry.stamp)
    }

    /// Remembers the content version of a live handle. `false`, and nothing changed, when it is not live.
    #[inline]
    pub fn set_stamp(&mut self, handle: Handle, stamp: u64) -> bool {
        match self.entry_mut(handle.slot) {
            Some(entry) if entry.live && entry.generation == handle.generation => {
                entry.stamp = stamp;
                true
            }
            _ => false,
        }
    }

    /// Live handles.
    #[must_use]
    pub const fn live(&self) -> u32 {
        self.live
    }

    /// The largest slot that was ever handed out; the one before the band when none was.
    #[must_use]
    pub const fn high_water(&self) -> u32 {
        // The base is at least 1, and what was handed out lies below the limit.
        self.base - 1 + self.used
    }

    fn entry(&self, slot: u32) -> Option<&Entry> {
        self.entries.get(slot.checked_sub(self.base)?)
    }

    fn entry_mut(&mut self, slot: u32) -> Option<&mut Entry> {
        self.entries.get_mut(slot.checked_sub(self.base)?)
    }

    /// Appends an entry, and splits the chain that the new bucket takes its share from. `false`, and nothing
    /// changed, when there is no memory for it.
    fn grow(&mut self) -> bool {
        let bucket = self.entries.len();
        if !self.entries.push() {
            return false;
        }
        let Some(highest) = bucket.checked_ilog2() else { return true };
        // Where `bucket_of` sent what it now sends to the new bucket.
        let old = bucket ^ 1 << highest;
        let Some(entry) = self.entries.get_mut(old) else { return true };
        let mut slot = mem::replace(&mut entry.head, NOWHERE);
        while let Some(entry) = self.entry(slot) {
            let (lifetime, next) = (entry.lifetime, entry.next);
            self.link(slot, lifetime);
            slot = next;
        }
        true
    }

    /// Puts a slot in front of its bucket's chain.
    fn link(&mut self, slot: u32, lifetime: u64) {
        let bucket = bucket_of(lifetime, self.entries.len());
        let Some(entry) = self.entries.get_mut(bucket) else { return };
        let next = mem::replace(&mut entry.head, slot);
        if let Some(entry) = self.entry_mut(slot) {
            entry.next = next;
        }
    }

    /// Takes a slot, which `next` follows, out of its bucket's chain.
    fn unlink(&mut self, slot: u32, next: u32, lifetime: u64) {
        let bucket = bucket_of(lifetime, self.entries.len());
        let Some(entry) = self.entries.get_mut(bucket) else { return };
        if entry.head == slot {
            entry.head = next;
            return;
        }
        let mut before = entry.head;
        while let Some(entry) = self.entry_mut(before) {
            if entry.next == slot {
                entry.next = next;
                return;
            }
            before = entry.next;
        }
    }
}

/// The bucket of a lifetime id among so many: as many low bits of its hash as there are buckets for, one bit
/// less where that bucket is not there yet.
#[inline]
fn bucket_of(lifetime: u64, buckets: u32) -> u32 {
    // Fibonacci hashing: ids are counters, perhaps strided or with a context's number above, and every bit of
    // them reaches the top ones of the product. Those become the low ones.
    let hash = lifetime.wrapping_mul(0x9E37_79B9_7F4A_7C15).swap_bytes() as u32;
    let mask = u32::MAX.checked_shr(buckets.saturating_sub(1).leading_zeros()).unwrap_or(0);
    let bucket = hash & mask;
    if bucket < buckets { bucket } else { bucket & mask >> 1 }
}

/// What has slots of its own: each kind that handles name, and programs in two parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Band {
    /// Buffers.
    Buffer,
    /// Textures.
    Texture,
    /// Renderbuffers.
    Renderbuffer,
    /// Framebuffers, but for those of surfaces.
    Framebuffer,
    /// Render-state CSOs.
    RenderState,
    /// Vertex layouts.
    VertexElements,
    /// Samplers.
    Sampler,
    /// Sampler views.
    SamplerView,
    /// Linked programs.
    Shader,
    /// Composites of separable programs: the last sixteenth of the shader slots.
    CompositeShader,
    /// Fences.
    Fence,
    /// Queries.
    Query,
}

impl Band {
    /// Every band, in the order of their numbers.
    pub const ALL: [Self; 12] = [
        Self::Buffer,
        Self::Texture,
        Self::Renderbuffer,
        Self::Framebuffer,
        Self::RenderState,
        Self::VertexElements,
        Self::Sampler,
        Self::SamplerView,
        Self::Shader,
        Self::CompositeShader,
        Self::Fence,
        Self::Query,
    ];

    /// The kind of its handles on the wire.
    #[must_use]
    pub const fn kind(self) -> Kind {
        match self {
            Self::Buffer => Kind::Buffer,
            Self::Texture => Kind::Texture,
            Self::Renderbuffer => Kind::Renderbuffer,
            Self::Framebuffer => Kind::Framebuffer,
            Self::RenderState => Kind::RenderStateCso,
            Self::VertexElements => Kind::VertexElementsCso,
            Self::Sampler => Kind::SamplerCso,
            Self::SamplerView => Kind::SamplerViewCso,
            Self::Shader | Self::CompositeShader => Kind::ShaderCso,
            Self::Fence => Kind::Fence,
            Self::Query => Kind::Query,
        }
    }

    /// The band that a handle of a kind lies in; none for kinds without slots.
    #[must_use]
    pub const fn of(kind: Kind, handle: Handle) -> Option<Self> {
        Some(match kind {
            Kind::Buffer => Self::Buffer,
            Kind::Texture => Self::Texture,
            Kind::Renderbuffer => Self::Renderbuffer,
            Kind::Framebuffer => Self::Framebuffer,
            Kind::RenderStateCso => Self::RenderState,
            Kind::VertexElementsCso => Self::VertexElements,
            Kind::SamplerCso => Self::Sampler,
            Kind::SamplerViewCso => Self::SamplerView,
            Kind::ShaderCso if handle.slot < SHADER_CSO_COMPOSITE_BASE => Self::Shader,
            Kind::ShaderCso => Self::CompositeShader,
            Kind::Fence => Self::Fence,
            Kind::Query => Self::Query,
            // Named by an identity and by a token, never by a handle.
            Kind::None | Kind::TransformFeedback | Kind::Context => return None,
        })
    }

    /// The first slot, and the one after the last.
    const fn span(self) -> (u32, u32) {
        match self {
            Self::Shader => (FIRST_SLOT, SHADER_CSO_COMPOSITE_BASE),
            Self::CompositeShader => (SHADER_CSO_COMPOSITE_BASE, SHADER_CSO_SLOTS),
            _ => (FIRST_SLOT, u32::MAX),
        }
    }
}

/// The slots of all kinds of one share group.
///
/// Where a handle is given, either shader band stands for both: the slot tells which one it lies in.
#[derive(Debug)]
pub struct SlotSpace<S: Storage> {
    /// By number of the band.
    bands: [Slots<S>; Band::ALL.len()],
}

impl<S: Storage> Default for SlotSpace<S> {
    fn default() -> Self {
        let bands = Band::ALL.map(|band| {
            let (base, limit) = band.span();
            Slots::new(base, limit)
        });
        Self { bands }
    }
}

impl<S: Storage> SlotSpace<S> {
    /// See [`Slots::mint`].
    ///
    /// # Errors
    /// [`MintError`]; nothing has changed.
    pub fn mint(&mut self, band: Band, lifetime: u64) -> Result<Handle, MintError> {
        self.slots_mut(band).mint(lifetime)
    }

    /// See [`Slots::mint_with`].
    ///
    /// # Errors
    /// [`MintWithError`]; nothing has changed.
    pub fn mint_with<E>(
        &mut self,
        band: Band,
        lifetime: u64,
        record: impl FnOnce(Handle) -> Result<(), E>,
    ) -> Result<Handle, MintWithError<E>> {
        self.slots_mut(band).mint_with(lifetime, record)
    }

    /// See [`Slots::free`].
    ///
    /// # Errors
    /// [`FreeError`]; nothing has changed.
    pub fn free(&mut self, band: Band, handle: Handle) -> Result<(), FreeError> {
        self.slots_mut(holding(band, handle)).free(handle)
    }

    /// See [`Slots::find`].
    #[inline]
    #[must_use]
    pub fn find(&self, band: Band, lifetime: u64) -> Option<Handle> {
        self.slots(band).find(lifetime)
    }

    /// See [`Slots::is_live`].
    #[inline]
    #[must_use]
    pub fn is_live(&self, band: Band, handle: Handle) -> bool {
        self.slots(holding(band, handle)).is_live(handle)
    }

    /// See [`Slots::stamp`].
    #[inline]
    #[must_use]
    pub fn stamp(&self, band: Band, handle: Handle) -> Option<u64> {
        self.slots(holding(band, handle)).stamp(handle)
    }

    /// See [`Slots::set_stamp`].
    #[inline]
    pub fn set_stamp(&mut self, band: Band, handle: Handle, stamp: u64) -> bool {
        self.slots_mut(holding(band, handle)).set_stamp(handle, stamp)
    }

    /// See [`Slots::live`].
    #[must_use]
    pub const fn live(&self, band: Band) -> u32 {
        self.slots(band).live()
    }

    /// See [`Slots::high_water`].
    #[must_use]
    pub const fn high_water(&self, band: Band) -> u32 {
        self.slots(band).high_water()
    }

    const fn slots(&self, band: Band) -> &Slots<S> {
        &self.bands[band as usize]
    }

    const fn slots_mut(&mut self, band: Band) -> &mut Slots<S> {
        &mut self.bands[band as usize]
    }
}

/// The band that a handle lies in, where the caller may not know which of a kind's bands it is.
#[inline]
fn holding(band: Band, handle: Handle) -> Band {
    Band::of(band.kind(), handle).unwrap_or(band)
}

#[cfg(test)]
mod tests {
    use std::vec::Vec;

    use proptest::{prelude::*, test_runner::Config};

    use super::*;
    use crate::{
        objects::{Define, DefineError, Records},
        storage::{Budget, heap::Heap},
    };

    type Server = Records<u8, (), Heap>;

    /// As many cases as `PROPTEST_CASES` says, or the usual 256; no file of seeds.
    fn config() -> Config {
        Config { failure_persistence: None, ..Config::default() }
    }

    #[derive(Clone, Debug)]
    enum Step {
        Mint(u64),
        /// A mint whose first record fails.
        Fail(u64),
        /// Free the n-th live handle.
        Free(usize),
        /// Have the server refuse what contradicts the rule, made from the n-th handle of all.
        Corrupt(usize),
    }

    fn step() -> impl Strategy<Value = Step> {
        prop_oneof![
            4 => (0_u64..40).prop_map(Step::Mint),
            1 => (0_u64..40).prop_map(Step::Fail),
            3 => any::<usize>().prop_map(Step::Free),
            1 => any::<usize>().prop_map(Step::Corrupt),
        ]
    }

    /// What the server says of a new object.
    fn define(server: &mut Server, handle: Handle) -> Result<(), DefineError> {
        server.define(handle, Define::New, &mut Budget::new(u64::MAX)).map(drop)
    }

    proptest! {
        #![proptest_config(config())]

        #[test]
        fn the_server_takes_every_sequence_and_no_corrupted_one(
            first in prop_oneof![Just(1), u32::MAX - 2..=u32::MAX],
            steps in proptest::collection::vec(step(), 1..300),
        ) {
            let mut slots = Slots::<Heap>::with_first_generation(1, u32::MAX, first);
            let mut server = Server::default();
            let (mut live, mut all) = (Vec::<Handle>::new(), Vec::<Handle>::new());
            for step in steps {
                match step {
                    Step::Mint(lifetime) => {
                        let Ok(handle) = slots.mint(lifetime) else { continue };
                        prop_assert_eq!(define(&mut server, handle), Ok(()), "{:?}", handle);
                        live.push(handle);
                        all.push(handle);
                    }
                    Step::Fail(lifetime) => {
                        prop_assert!(slots.mint_with(lifetime, |_| Err(())).is_err());
                    }
                    Step::Free(which) if !live.is_empty() => {
                        let handle = live.swap_remove(which % live.len());
                        prop_assert_eq!(server.end(handle), Some(()), "{:?}", handle);
                        prop_assert_eq!(slots.free(handle), Ok(()));
                    }
                    Step::Corrupt(which) if !all.is_empty() => {
                        let handle = all[which % all.len()];
                        let Handle { slot, generation } = handle;
                        let skipped = Handle::new(slots.high_water() + 2, 1);
                        prop_assert_eq!(define(&mut server, skipped), Err(DefineError::Slot));
                        prop_assert_eq!(define(&mut server, Handle::new(0, 1)), Err(DefineError::Slot));
                        for old in [generation, generation - 1, 1, 0] {
                            let refused = define(&mut server, Handle::new(slot, old));
                            prop_assert_eq!(refused, Err(DefineError::Generation), "{} of {}", old, slot);
                        }
                        if !live.contains(&handle) {
                            prop_assert_eq!(server.end(handle), None, "a second death of {:?}", handle);
                        }
                    }
                    _ => {}
                }
            }
            prop_assert_eq!(server.len(), slots.high_water());
            for handle in all {
                prop_assert_eq!(server.get(handle).is_some(), live.contains(&handle), "{:?}", handle);
                prop_assert_eq!(slots.is_live(handle), live.contains(&handle), "{:?}", handle);
            }
        }
    }

    #[test]
    fn bands_are_those_of_their_number() {
        for (number, band) in Band::ALL.into_iter().enumerate() {
            assert_eq!(band as usize, number, "{band:?}");
        }
    }

    /// The longest chain of the index.
    fn longest(slots: &Slots<Heap>) -> u32 {
        let length = |bucket| {
            let mut slot = slots.entries.get(bucket).unwrap().head;
            let mut length = 0;
            while let Some(entry) = slots.entry(slot) {
                assert_eq!(bucket_of(entry.lifetime, slots.entries.len()), bucket, "in a wrong bucket");
                slot = entry.next;
                length += 1;
            }
            length
        };
        (0..slots.entries.len()).map(length).max().unwrap_or(0)
    }

    #[test]
    fn chains_stay_short_for_ids_of_every_pattern() {
        type Pattern = fn(u64) -> u64;
        let patterns: [(&str, Pattern); 7] = [
            ("counted", |n| n),
            ("strided", |n| n << 10),
            ("in the high half", |n| n << 32),
            ("in the high bits", |n| n << 47),
            ("in both halves", |n| n << 32 | n),
            ("by context", |n| ((n % 7) << 56) | (n / 7)),
            ("down from the top", |n| u64::MAX - n),
        ];
        for (name, pattern) in patterns {
            let mut slots = Slots::<Heap>::new(1, u32::MAX);
            let mut worst = 0;
            for n in 1..=70_000 {
                slots.mint(pattern(n)).unwrap();
                if n.is_power_of_two() || n % 10_000 == 0 {
                    worst = longest(&slots).max(worst);
                }
            }
            assert!((1..=8).contains(&worst), "{name}: a chain of {worst}");
        }
    }
}
