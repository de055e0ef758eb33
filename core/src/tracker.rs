//! The client's tracker: what of a context's state the server does not know yet.
//!
//! A caller changes whole structs through the accessors, which mark a family of state as dirty and do nothing
//! else. At each verb [`Tracker::sync`] looks at the dirty families that the verb needs, compares them with
//! what was sent last and sends what differs. A family that is marked without a change costs a comparison; one
//! that changes without a mark would be lost, so nothing but the accessors changes state: a shutter may
//! over-fire and never under-fires.
//!
//! Comparison is by bytes (a NaN equals itself), and windows compare whole. When a record cannot be sent, its
//! family stays dirty, and what was sent before it counts: the next [`Tracker::sync`] goes on there.
//!
//! Render states are content-addressed, in a cache ([`tracker::CACHED_RENDER_STATES`](CACHED_RENDER_STATES)).
//! Vertex layouts and framebuffers are addressed by the identity that the caller gives, with a version of their
//! content that the slot remembers. Programs and samplers belong to the share group, so they are beside the
//! tracker: [`SamplerCache`], [`Constants`], [`ProgramBindings`].
//!
//! The server keeps working state per context, so a tracker stays right across context switches.

use core::fmt;

use runahead_wire::{Handle, handle::Kind, payload::HandleOnly, pipe::Pipe, values::ShaderBufferClass};

use crate::{
    slots::{MintError, MintWithError, SlotSpace},
    state::{BufferWindow, State},
    storage::Storage,
};

mod family;
mod forget;
mod framebuffer;
mod program;
mod render_state;
mod sampler;
mod send;
mod vertex;

pub use family::{Dirty, Family, Verb};
pub use program::{Constants, ProgramBindings};
pub use render_state::CACHED_RENDER_STATES;
pub use sampler::SamplerCache;

use framebuffer::Framebuffers;
use render_state::RenderStates;
use vertex::Layout;

/// Why something could not be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum SyncError<E> {
    /// There was no handle to be had.
    Mint(MintError),
    /// The pipe's own.
    Pipe(E),
}

impl<E> From<E> for SyncError<E> {
    fn from(error: E) -> Self {
        Self::Pipe(error)
    }
}

impl<E> From<MintWithError<E>> for SyncError<E> {
    fn from(error: MintWithError<E>) -> Self {
        match error {
            MintWithError::Mint(error) => Self::Mint(error),
            MintWithError::Record(error) => Self::Pipe(error),
        }
    }
}

impl<E: fmt::Display> fmt::Display for SyncError<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Mint(error) => error.fmt(f),
            Self::Pipe(error) => error.fmt(f),
        }
    }
}

impl<E: core::error::Error> core::error::Error for SyncError<E> {}

/// Switches for measurements and for telling a defect of the client from one of the server. Images are the same
/// in every position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Knobs {
    /// Whether render states are looked up by content. Otherwise each change makes a new CSO and deletes the
    /// one before.
    pub cso_cache: bool,
    /// Whether a family that is as it was sent last is left out. Otherwise every verb sends all that it needs.
    pub suppressors: bool,
}

impl Default for Knobs {
    fn default() -> Self {
        Self { cso_cache: true, suppressors: true }
    }
}

/// What one context's state should be, what the server was told of it, and how to make the two equal.
///
/// It is some 75 KB, all inline.
#[derive(Debug)]
pub struct Tracker {
    wanted: State,
    sent: State,
    /// Families that may differ.
    dirty: Dirty,
    /// Families that are sent even if they do not differ.
    untold: Dirty,
    knobs: Knobs,
    layout: Layout,
    framebuffers: Framebuffers,
    render_states: RenderStates,
    #[cfg(feature = "compare")]
    blind: Dirty,
}

// Draws leave out nothing, so that whatever the server looks at for one is there.
const _: () = assert!(matches!(Verb::Draw.needs(), Dirty::ALL));

impl Default for Tracker {
    fn default() -> Self {
        Self::new(Knobs::default())
    }
}

impl Tracker {
    /// The tracker of a new context.
    #[must_use]
    pub fn new(knobs: Knobs) -> Self {
        let mut tracker = Self {
            wanted: State::default(),
            sent: State::default(),
            dirty: Dirty::NONE,
            untold: Dirty::NONE,
            knobs,
            layout: Layout::default(),
            framebuffers: Framebuffers::default(),
            render_states: RenderStates::default(),
            #[cfg(feature = "compare")]
            blind: Dirty::NONE,
        };
        tracker.reset();
        tracker
    }

    /// The server's working state of the context was cleared, or is new: it holds the defaults. Objects, and
    /// with them the cached render states, are still there.
    pub fn reset(&mut self) {
        self.sent = State::default();
        self.render_states.unbind();
        self.framebuffers.forget_default();
        // A verb before the values is a fault, even if they are the default ones.
        self.untold = if self.knobs.suppressors { Dirty::of(Family::Values) } else { Dirty::ALL };
        self.mark(Dirty::ALL);
    }

    /// The state as the application has it. Handles of the vertex layout and of the framebuffers are those of
    /// the last [`Tracker::sync`] that needed them.
    #[inline]
    #[must_use]
    pub const fn wanted(&self) -> &State {
        &self.wanted
    }

    /// The state as the server was told.
    #[inline]
    #[must_use]
    pub const fn sent(&self) -> &State {
        &self.sent
    }

    /// Families that will be looked at by verbs that need them.
    #[must_use]
    pub const fn dirty(&self) -> Dirty {
        self.dirty
    }

    /// Sends what a verb of this class needs and the server does not know. The verb's record comes next.
    ///
    /// # Errors
    /// [`SyncError`]. What could not be sent stays to be sent.
    #[inline]
    pub fn sync<P: Pipe, S: Storage>(
        &mut self,
        verb: Verb,
        pipe: &mut P,
        slots: &mut SlotSpace<S>,
    ) -> Result<(), SyncError<P::Error>> {
        if (self.dirty & verb.needs()).is_empty() { Ok(()) } else { self.send(verb.needs(), pipe, slots) }
    }

    /// Marks families as dirty.
    #[inline]
    fn mark(&mut self, families: Dirty) {
        self.dirty |= families;
        #[cfg(feature = "compare")]
        {
            self.dirty -= self.blind;
        }
    }

    /// Blinds shutters from now on: these families are never dirty. It is how a test finds out that a change
    /// which is not sent would be seen.
    #[cfg(feature = "compare")]
    pub fn blind(&mut self, families: Dirty) {
        self.blind = families;
        self.dirty -= families;
    }

    /// Takes which families are dirty, and puts others in their place: whoever derives the state afresh to compare it
    /// leaves no trace.
    #[cfg(feature = "compare")]
    pub const fn swap_dirty(&mut self, families: Dirty) -> Dirty {
        core::mem::replace(&mut self.dirty, families)
    }

    /// The indexed buffers of one class, to be changed.
    #[inline]
    pub fn shader_buffers(&mut self, class: ShaderBufferClass) -> &mut BufferWindow {
        self.mark(Dirty::of(match class {
            ShaderBufferClass::Uniform => Family::UniformBuffers,
            ShaderBufferClass::Storage => Family::StorageBuffers,
            ShaderBufferClass::Atomic => Family::AtomicBuffers,
        }));
        self.wanted.buffers_mut(class)
    }

    /// Sets the programs: the one that the application bound, the one of draws and the one of dispatches.
    #[inline]
    pub fn set_programs(&mut self, bound: Handle, draw: Handle, dispatch: Handle) {
        self.mark(Dirty::of(Family::Programs));
        self.wanted.shader = bound;
        self.wanted.draw_program = draw;
        self.wanted.dispatch_program = dispatch;
    }

    /// Sets the transform feedback object, by its identity; 0 for the default object.
    #[inline]
    pub fn set_stream_output(&mut self, lifetime_id: u64) {
        self.mark(Dirty::of(Family::StreamOutput));
        self.wanted.stream_output = lifetime_id;
    }
}

/// A handle and its kind.
fn handle_only(kind: Kind, handle: Handle) -> HandleOnly {
    HandleOnly { handle, kind: kind.raw(), ..HandleOnly::default() }
}
