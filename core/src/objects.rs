//! The server's records of a share group's objects, by handle.
//!
//! A record holds what the client said about an object, a serial that the server moves whenever that changes,
//! and the backend's twin, which the backend makes at first use. Tables are dense: a client may define the next
//! slot, or an old one again with a larger generation, and nothing else; so it cannot make a table larger than
//! the number of objects that it really created.

use core::fmt::Debug;

use runahead_wire::{
    Handle,
    handle::{Kind, SHADER_CSO_COMPOSITE_BASE, SHADER_CSO_SLOTS},
    limits,
    payload::{
        FramebufferState, ProgramDesc, ProgramSamplerUnit, ProgramStorageOverride, QueryDesc, ResourceDesc,
        SamplerParameters, SamplerView, TextureParams, VertexAttrib, VertexBindingPoint, VertexElements,
    },
};

use crate::{
    backend::{Backend, Twin},
    chunks::PIPELINE_BYTES,
    storage::{Budget, Bytes, Storage, Table},
};

/// What became of a slot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Life {
    /// No object: the handle of this generation has ended, or there never was one.
    #[default]
    Ended,
    /// An object.
    Live,
    /// The client created an object and the server refused it. Sets take it as null; a verb that needs it is
    /// dropped.
    Refused,
}

/// One slot of a table.
#[derive(Debug)]
pub struct Object<R, T> {
    generation: u32,
    life: Life,
    /// Whether the out-of-memory error of verbs dropped because of this refused object was sent.
    pub(crate) told: bool,
    /// Moves with every change of the record. Never 0 for an object, and never the same for two states of any
    /// two objects of the session.
    pub serial: u64,
    /// What the client said.
    pub record: R,
    /// What the backend made of it.
    pub twin: T,
}

impl<R: Default, T: Default> Default for Object<R, T> {
    fn default() -> Self {
        Self {
            generation: 0,
            life: Life::Ended,
            told: false,
            serial: 0,
            record: R::default(),
            twin: T::default(),
        }
    }
}

impl<R, T> Object<R, T> {
    /// Whether the server has refused the object.
    #[must_use]
    pub const fn is_refused(&self) -> bool {
        matches!(self.life, Life::Refused)
    }

    /// Takes a refused object as live again. Says whether it was refused.
    pub(crate) const fn revive(&mut self) -> bool {
        let refused = self.is_refused();
        self.life = Life::Live;
        self.told = false;
        refused
    }
}

/// Why a slot cannot be defined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DefineError {
    /// Neither the next slot nor one that was there.
    Slot,
    /// Not a larger generation than the slot had.
    Generation,
    /// No memory for another record.
    OutOfMemory,
}

/// How a slot is to be defined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Define {
    /// As a new object: a live one of the same generation is a mistake.
    New,
    /// As a new object, or the live one of the same handle again.
    Again,
}

/// Records of one kind, by slot.
#[derive(Debug)]
pub struct Records<R: Default + Debug, T: Default + Debug, S: Storage> {
    slots: S::Table<Object<R, T>>,
    /// Slot of the first entry.
    base: u32,
    /// Slots lie below this.
    limit: u32,
}

/// A first slot 0 is never an object.
const FIRST_SLOT: u32 = 1;

impl<R: Default + Debug, T: Default + Debug, S: Storage> Default for Records<R, T, S> {
    fn default() -> Self {
        Self::band(FIRST_SLOT, u32::MAX)
    }
}

impl<R: Default + Debug, T: Default + Debug, S: Storage> Records<R, T, S> {
    /// Records of the slots from `base` up to, and without, `limit`.
    fn band(base: u32, limit: u32) -> Self {
        Self { slots: S::Table::<Object<R, T>>::default(), base, limit }
    }

    /// Slots that were ever defined.
    #[must_use]
    pub fn len(&self) -> u32 {
        self.slots.len()
    }

    /// Whether no slot was ever defined.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    /// The object of a handle, refused or not; nothing when there is no such object (any more).
    #[inline]
    #[must_use]
    pub fn known(&self, handle: Handle) -> Option<&Object<R, T>> {
        let object = self.slots.get(handle.slot.wrapping_sub(self.base))?;
        (object.generation == handle.generation && object.life != Life::Ended).then_some(object)
    }

    /// As [`Records::known`], to be changed.
    #[inline]
    #[must_use]
    pub fn known_mut(&mut self, handle: Handle) -> Option<&mut Object<R, T>> {
        let object = self.slots.get_mut(handle.slot.wrapping_sub(self.base))?;
        (object.generation == handle.generation && object.life != Life::Ended).then_some(object)
    }

    /// The live object of a handle; nothing when it is refused or there is none.
    #[inline]
    #[must_use]
    pub fn get(&self, handle: Handle) -> Option<&Object<R, T>> {
        self.known(handle).filter(|object| object.life == Life::Live)
    }

    /// As [`Records::get`], to be changed.
    #[inline]
    #[must_use]
    pub fn get_mut(&mut self, handle: Handle) -> Option<&mut Object<R, T>> {
        self.known_mut(handle).filter(|object| object.life == Life::Live)
    }

    /// Makes a handle live. The caller fills record and serial; before, they are those that the slot had. The
    /// twin of an older generation comes back, to be released; one of the same handle stays.
    pub(crate) fn define(
        &mut self,
        handle: Handle,
        how: Define,
        budget: &mut Budget,
    ) -> Result<(&mut Object<R, T>, Option<T>), DefineError> {
        let at = handle.slot.wrapping_sub(self.base);
        if handle.slot < self.base || handle.slot >= self.limit || at > self.slots.len() {
            return Err(DefineError::Slot);
        }
        if handle.generation == 0 {
            return Err(DefineError::Generation);
        }
        if at == self.slots.len() {
            let size = size_of::<Object<R, T>>() as u64;
            if !budget.take(size) {
                return Err(DefineError::OutOfMemory);
            }
            if !self.slots.push() {
                budget.give_back(size);
                return Err(DefineError::OutOfMemory);
            }
        }
        let object = self.slots.get_mut(at).ok_or(DefineError::Slot)?;
        let again =
            how == Define::Again && object.generation == handle.generation && object.life != Life::Ended;
        if object.generation >= handle.generation && !again {
            return Err(DefineError::Generation);
        }
        let old = (!again && object.life != Life::Ended).then(|| core::mem::take(&mut object.twin));
        object.generation = handle.generation;
        object.life = Life::Live;
        object.told = false;
        Ok((object, old))
    }

    /// Takes the object of a handle as refused from now on.
    pub(crate) fn refuse(&mut self, handle: Handle) {
        if let Some(object) = self.known_mut(handle) {
            object.life = Life::Refused;
        }
    }

    /// Ends the object of a handle; its twin comes back, to be released. Nothing when there is none.
    pub(crate) fn end(&mut self, handle: Handle) -> Option<T> {
        let object = self.known_mut(handle)?;
        object.life = Life::Ended;
        object.record = R::default();
        Some(core::mem::take(&mut object.twin))
    }

    /// Bytes of records taken by the slots.
    fn spent(&self) -> u64 {
        u64::from(self.slots.len()) * size_of::<Object<R, T>>() as u64
    }

    /// Every slot, ended ones included: those have a default record.
    fn iter(&self) -> impl Iterator<Item = &Object<R, T>> {
        (0..self.slots.len()).filter_map(|at| self.slots.get(at))
    }

    /// Ends every object.
    fn drain(&mut self, mut release: impl FnMut(T)) {
        for at in 0..self.slots.len() {
            if let Some(object) = self.slots.get_mut(at).filter(|object| object.life != Life::Ended) {
                object.life = Life::Ended;
                release(core::mem::take(&mut object.twin));
            }
        }
    }
}

/// A buffer.
#[derive(Debug, Default)]
pub struct Buffer {
    /// Its storage.
    pub desc: ResourceDesc,
    /// Bytes of native storage that the description adds up to, as the session's quota counts them.
    pub(crate) footprint: u64,
    /// Moves when the storage is defined again.
    pub storage_serial: u64,
}

/// A texture.
#[derive(Debug, Default)]
pub struct Texture {
    /// Its storage.
    pub desc: ResourceDesc,
    /// Bytes of native storage that the description adds up to, as the session's quota counts them.
    pub(crate) footprint: u64,
    /// Its parameters; of no sampler before the first set.
    pub params: TextureParams,
    /// Moves when the storage, or a level of it, is defined again.
    pub storage_serial: u64,
    /// Moves when the parameters change.
    pub params_serial: u64,
}

/// A renderbuffer.
#[derive(Debug, Default)]
pub struct Renderbuffer {
    /// Its storage.
    pub desc: ResourceDesc,
    /// Bytes of native storage that the description adds up to, as the session's quota counts them.
    pub(crate) footprint: u64,
}

/// The pipeline half of a render state, chunk after chunk.
#[derive(Debug)]
pub struct PipelineHalf(pub [u8; PIPELINE_BYTES]);

impl Default for PipelineHalf {
    fn default() -> Self {
        Self([0; PIPELINE_BYTES])
    }
}

/// A vertex layout.
#[derive(Debug, Default)]
pub struct Elements {
    /// Counts of what follows; the blob of the record is not kept.
    pub head: VertexElements,
    /// Attributes.
    pub attributes: [VertexAttrib; limits::VERTEX_ATTRIBS as usize],
    /// Binding points.
    pub points: [VertexBindingPoint; limits::VERTEX_BINDINGS as usize],
}

/// A program.
#[derive(Debug)]
pub struct Shader<S: Storage> {
    /// What the last link made; the blobs of the record are not kept.
    pub desc: ProgramDesc,
    /// Whether some executable is there: the last link's, or, after a failed link, the one before for as long
    /// as it is bound.
    pub executable: bool,
    /// Moves when a link installs another executable, or a bind drops one.
    pub executable_serial: u64,
    /// Image of the default uniform block.
    pub constants: S::Bytes,
    /// Moves when the constants change.
    pub constants_serial: u64,
    /// Bindings that may change after linking.
    pub bindings: Bindings<S>,
    /// Moves when the bindings change.
    pub bindings_serial: u64,
}

impl<S: Storage> Default for Shader<S> {
    fn default() -> Self {
        Self {
            desc: ProgramDesc::default(),
            executable: false,
            executable_serial: 0,
            constants: S::Bytes::default(),
            constants_serial: 0,
            bindings: Bindings::default(),
            bindings_serial: 0,
        }
    }
}

impl<S: Storage> Shader<S> {
    /// Bytes of records beyond the slot.
    pub(crate) fn bytes(&self) -> u64 {
        (self.constants.as_ref().len() + self.bindings.names.as_ref().len()) as u64
    }
}

/// Bindings of a program that may change after linking.
#[derive(Debug)]
pub struct Bindings<S: Storage> {
    /// Binding of each uniform block, by block index.
    pub blocks: heapless::Vec<i32, { limits::PROGRAM_BLOCK_BINDINGS as usize }>,
    /// Units of sampler and image uniforms.
    pub sampler_units: heapless::Vec<ProgramSamplerUnit, { limits::PROGRAM_SAMPLER_UNITS as usize }>,
    /// Storage blocks with another binding than their shader's.
    pub storage: heapless::Vec<ProgramStorageOverride, { limits::PROGRAM_STORAGE_OVERRIDES as usize }>,
    /// Names of those blocks.
    pub names: S::Bytes,
}

impl<S: Storage> Default for Bindings<S> {
    fn default() -> Self {
        Self {
            blocks: heapless::Vec::new(),
            sampler_units: heapless::Vec::new(),
            storage: heapless::Vec::new(),
            names: S::Bytes::default(),
        }
    }
}

/// A fence.
#[derive(Debug, Default)]
pub struct Fence {
    /// Whether it was reported as signalled.
    pub signaled: bool,
}

/// A query.
#[derive(Debug, Default)]
pub struct Query {
    /// What it measures.
    pub desc: QueryDesc,
    /// Whether it is between begin and end.
    pub active: bool,
    /// Whether it ever ran.
    pub produced: bool,
}

/// A transform feedback object, by an identity that is never used again.
#[derive(Debug, Default)]
pub struct StreamOutput<T> {
    /// Its identity; 0 for a free place.
    pub lifetime_id: u64,
    /// What the backend made of it.
    pub twin: T,
}

/// Views between a texture and its storage.
const VIEWS: usize = 8;

/// The objects of one share group.
#[derive(Debug)]
pub struct Objects<B: Backend, S: Storage> {
    /// Buffers.
    pub buffers: Records<Buffer, B::Buffer, S>,
    /// Textures.
    pub textures: Records<Texture, B::Texture, S>,
    /// Renderbuffers.
    pub renderbuffers: Records<Renderbuffer, B::Renderbuffer, S>,
    /// Framebuffers, but for those of surfaces.
    pub framebuffers: Records<FramebufferState, B::Framebuffer, S>,
    /// Render-state CSOs.
    pub render_states: Records<PipelineHalf, B::RenderState, S>,
    /// Vertex layouts.
    pub vertex_elements: Records<Elements, B::VertexElements, S>,
    /// Samplers.
    pub samplers: Records<SamplerParameters, B::Sampler, S>,
    /// Sampler views.
    pub sampler_views: Records<SamplerView, B::SamplerView, S>,
    /// Programs; the composite ones have a band of their own.
    pub shaders: Shaders<B, S>,
    /// Fences.
    pub fences: Records<Fence, B::Fence, S>,
    /// Queries.
    pub queries: Records<Query, B::Query, S>,
    /// Transform feedback objects.
    pub stream_outputs: S::Table<StreamOutput<B::StreamOutput>>,
    /// Moves with every death and every refusal, so that a context knows when its windows must be looked through
    /// again.
    pub epoch: u64,
}

impl<B: Backend, S: Storage> Default for Objects<B, S> {
    fn default() -> Self {
        Self {
            buffers: Records::default(),
            textures: Records::default(),
            renderbuffers: Records::default(),
            framebuffers: Records::default(),
            render_states: Records::default(),
            vertex_elements: Records::default(),
            samplers: Records::default(),
            sampler_views: Records::default(),
            shaders: Shaders::default(),
            fences: Records::default(),
            queries: Records::default(),
            stream_outputs: S::Table::default(),
            epoch: 0,
        }
    }
}

impl<B: Backend, S: Storage> Objects<B, S> {
    /// Ends every object and hands the twins to `release`.
    pub(crate) fn drain(&mut self, mut release: impl FnMut(Twin<B>)) {
        self.sampler_views.drain(|twin| release(Twin::SamplerView(twin)));
        self.framebuffers.drain(|twin| release(Twin::Framebuffer(twin)));
        self.vertex_elements.drain(|twin| release(Twin::VertexElements(twin)));
        self.render_states.drain(|twin| release(Twin::RenderState(twin)));
        self.shaders.linked.drain(|twin| release(Twin::Shader(twin)));
        self.shaders.composite.drain(|twin| release(Twin::Shader(twin)));
        self.samplers.drain(|twin| release(Twin::Sampler(twin)));
        self.fences.drain(|twin| release(Twin::Fence(twin)));
        self.queries.drain(|twin| release(Twin::Query(twin)));
        for at in 0..self.stream_outputs.len() {
            if let Some(object) = self.stream_outputs.get_mut(at).filter(|object| object.lifetime_id != 0) {
                object.lifetime_id = 0;
                release(Twin::StreamOutput(core::mem::take(&mut object.twin)));
            }
        }
        self.renderbuffers.drain(|twin| release(Twin::Renderbuffer(twin)));
        self.textures.drain(|twin| release(Twin::Texture(twin)));
        self.buffers.drain(|twin| release(Twin::Buffer(twin)));
    }

    /// The texture whose storage a texture shows: itself, or the root of the view that it is. A gate on a view
    /// looks at the root's storage serial, since the view's own does not move when the root is defined again.
    #[must_use]
    pub fn storage_of(&self, texture: Handle) -> Option<&Object<Texture, B::Texture>> {
        let mut object = self.textures.get(texture)?;
        // Views of views are few; a client that makes a ring of them gets nothing.
        for _ in 0..VIEWS {
            if object.record.desc.view_of.is_null() {
                return Some(object);
            }
            object = self.textures.get(object.record.desc.view_of)?;
        }
        None
    }

    /// Bytes that these objects have taken from the budgets: of records, and of native storage.
    pub(crate) fn spent(&self) -> (u64, u64) {
        let slots = self.buffers.spent()
            + self.textures.spent()
            + self.renderbuffers.spent()
            + self.framebuffers.spent()
            + self.render_states.spent()
            + self.vertex_elements.spent()
            + self.samplers.spent()
            + self.sampler_views.spent()
            + self.shaders.linked.spent()
            + self.shaders.composite.spent()
            + self.fences.spent()
            + self.queries.spent()
            + u64::from(self.stream_outputs.len()) * size_of::<StreamOutput<B::StreamOutput>>() as u64;
        let shaders = self.shaders.linked.iter().chain(self.shaders.composite.iter());
        let bytes: u64 = shaders.map(|shader| shader.record.bytes()).sum();
        let storage = self.buffers.iter().map(|buffer| buffer.record.footprint).sum::<u64>()
            + self.textures.iter().map(|texture| texture.record.footprint).sum::<u64>()
            + self.renderbuffers.iter().map(|renderbuffer| renderbuffer.record.footprint).sum::<u64>();
        (slots + bytes, storage)
    }

    /// Whether a handle of a kind names an object, refused or not.
    #[must_use]
    pub fn knows(&self, kind: Kind, handle: Handle) -> bool {
        match kind {
            Kind::Buffer => self.buffers.known(handle).is_some(),
            Kind::Texture => self.textures.known(handle).is_some(),
            Kind::Renderbuffer => self.renderbuffers.known(handle).is_some(),
            Kind::Framebuffer => self.framebuffers.known(handle).is_some(),
            Kind::RenderStateCso => self.render_states.known(handle).is_some(),
            Kind::VertexElementsCso => self.vertex_elements.known(handle).is_some(),
            Kind::SamplerCso => self.samplers.known(handle).is_some(),
            Kind::SamplerViewCso => self.sampler_views.known(handle).is_some(),
            Kind::ShaderCso => self.shaders.known(handle).is_some(),
            Kind::Fence => self.fences.known(handle).is_some(),
            Kind::Query => self.queries.known(handle).is_some(),
            // Named by an identity and by a token, never by a handle.
            Kind::None | Kind::TransformFeedback | Kind::Context => false,
        }
    }
}

/// Programs: linked ones, and composites of separable ones in a band of slots of their own.
#[derive(Debug)]
pub struct Shaders<B: Backend, S: Storage> {
    linked: Records<Shader<S>, B::Shader, S>,
    composite: Records<Shader<S>, B::Shader, S>,
}

impl<B: Backend, S: Storage> Default for Shaders<B, S> {
    fn default() -> Self {
        Self {
            linked: Records::band(FIRST_SLOT, SHADER_CSO_COMPOSITE_BASE),
            composite: Records::band(SHADER_CSO_COMPOSITE_BASE, SHADER_CSO_SLOTS),
        }
    }
}

impl<B: Backend, S: Storage> Shaders<B, S> {
    const fn of(&self, handle: Handle) -> &Records<Shader<S>, B::Shader, S> {
        if handle.slot < SHADER_CSO_COMPOSITE_BASE { &self.linked } else { &self.composite }
    }

    const fn of_mut(&mut self, handle: Handle) -> &mut Records<Shader<S>, B::Shader, S> {
        if handle.slot < SHADER_CSO_COMPOSITE_BASE { &mut self.linked } else { &mut self.composite }
    }

    /// See [`Records::known`].
    #[must_use]
    pub fn known(&self, handle: Handle) -> Option<&Object<Shader<S>, B::Shader>> {
        self.of(handle).known(handle)
    }

    /// See [`Records::known_mut`].
    #[must_use]
    pub fn known_mut(&mut self, handle: Handle) -> Option<&mut Object<Shader<S>, B::Shader>> {
        self.of_mut(handle).known_mut(handle)
    }

    /// See [`Records::get`].
    #[must_use]
    pub fn get(&self, handle: Handle) -> Option<&Object<Shader<S>, B::Shader>> {
        self.of(handle).get(handle)
    }

    /// See [`Records::get_mut`].
    #[must_use]
    pub fn get_mut(&mut self, handle: Handle) -> Option<&mut Object<Shader<S>, B::Shader>> {
        self.of_mut(handle).get_mut(handle)
    }

    /// Slots that were ever defined, of both bands.
    #[must_use]
    pub fn len(&self) -> u32 {
        self.linked.len() + self.composite.len()
    }

    /// Whether no slot was ever defined.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    #[allow(clippy::type_complexity, reason = "as `Records::define`")]
    pub(crate) fn define(
        &mut self,
        handle: Handle,
        budget: &mut Budget,
    ) -> Result<(&mut Object<Shader<S>, B::Shader>, Option<B::Shader>), DefineError> {
        self.of_mut(handle).define(handle, Define::Again, budget)
    }

    pub(crate) fn refuse(&mut self, handle: Handle) {
        self.of_mut(handle).refuse(handle);
    }

    pub(crate) fn end(&mut self, handle: Handle) -> Option<B::Shader> {
        self.of_mut(handle).end(handle)
    }
}

/// Fills a run of bytes from a blob, within the budget. `false` when there is no memory for it.
pub(crate) fn refill<Y: Bytes>(bytes: &mut Y, len: usize, budget: &mut Budget) -> bool {
    let old = bytes.as_ref().len() as u64;
    budget.give_back(old);
    if budget.take(len as u64) {
        if bytes.reset(len) {
            return true;
        }
        budget.give_back(len as u64);
    }
    let _ = bytes.reset(0);
    false
}

/// Lengthens a short run of bytes, within the budget. `false`, and nothing changed, when there is no memory.
pub(crate) fn append<Y: Bytes>(bytes: &mut Y, more: &[u8], budget: &mut Budget) -> bool {
    let mut all = [0; NAMES];
    let old = bytes.as_ref().len();
    let len = old + more.len();
    let Some(place) = all.get_mut(..len) else { return false };
    let (head, tail) = place.split_at_mut(old);
    head.copy_from_slice(bytes.as_ref());
    tail.copy_from_slice(more);
    refill(bytes, len, budget) && {
        bytes.as_mut().copy_from_slice(&all[..len]);
        true
    }
}

/// Bytes of names that the superseded way to set bindings one by one may add up to.
const NAMES: usize = 4096;
