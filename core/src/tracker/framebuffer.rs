//! The framebuffers: content-versioned, addressed by the identity of their framebuffer objects. One record
//! carries content and binding.

use core::fmt;

use runahead_wire::{
    Handle,
    payload::{FramebufferState, Surface},
    pipe::Pipe,
    values::{FramebufferTarget, SurfaceKind},
};

use super::{Dirty, Family, SyncError, Tracker};
use crate::{
    slots::{Band, SlotSpace},
    storage::Storage,
};

/// The framebuffer of the current surfaces.
const DEFAULT: u64 = 0;

/// A framebuffer that is to be bound.
#[derive(Clone, Copy)]
struct Content {
    id: u64,
    version: u64,
    state: FramebufferState,
}

/// The framebuffers that verbs are to have.
pub(super) struct Framebuffers {
    /// None before the first set.
    draw: Option<Content>,
    read: Option<Content>,
    /// Version of the default framebuffer that the server has, which is the context's. Those of the others
    /// belong to the share group, so their slots remember them.
    default_sent: Option<u64>,
    /// Versions of the tracker's own making count down from the top, where no caller's count gets.
    own_version: u64,
}

impl Default for Framebuffers {
    fn default() -> Self {
        Self { draw: None, read: None, default_sent: None, own_version: u64::MAX }
    }
}

impl fmt::Debug for Framebuffers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let named = |bound: &Option<Content>| bound.map(|content| (content.id, content.version));
        f.debug_struct("Framebuffers")
            .field("draw", &named(&self.draw))
            .field("read", &named(&self.read))
            .field("default_sent", &self.default_sent)
            .finish_non_exhaustive()
    }
}

impl Framebuffers {
    /// The server has no content of the default framebuffer any more.
    pub(super) const fn forget_default(&mut self) {
        self.default_sent = None;
    }

    /// A version that no content has had.
    const fn new_version(&mut self) -> u64 {
        self.own_version -= 1;
        self.own_version
    }

    fn bound_mut(&mut self) -> impl Iterator<Item = &mut Content> {
        [&mut self.draw, &mut self.read].into_iter().flatten()
    }

    /// Whether the server has bound this content, as `bound`.
    fn is_sent<S: Storage>(&self, content: &Content, bound: Handle, slots: &SlotSpace<S>) -> bool {
        handle(content.id, slots) == Some(bound) && self.has(content, slots)
    }

    /// Whether the server has this content.
    fn has<S: Storage>(&self, content: &Content, slots: &SlotSpace<S>) -> bool {
        let version = match content.id {
            DEFAULT => self.default_sent,
            id => handle(id, slots).and_then(|fbo| slots.stamp(Band::Framebuffer, fbo)),
        };
        version == Some(content.version)
    }
}

/// The handle of a framebuffer, if it has one yet.
fn handle<S: Storage>(id: u64, slots: &SlotSpace<S>) -> Option<Handle> {
    if id == DEFAULT { Some(Handle::DEFAULT_FRAMEBUFFER) } else { slots.find(Band::Framebuffer, id) }
}

impl Tracker {
    /// Sets the framebuffer object of lifetime `id`, with its content of this version, for draws, for reads or
    /// for both; with `Named`, the content alone, in case it is bound. Two calls with the same id and version
    /// have the same content, so the second one copies nothing. Id 0 is the framebuffer of the current
    /// surfaces. `fbo`, `is_default` and `target` of the state are filled in when it is sent.
    pub fn set_framebuffer(
        &mut self,
        target: FramebufferTarget,
        id: u64,
        version: u64,
        state: &FramebufferState,
    ) {
        use FramebufferTarget::{Both, Draw, Read};
        let Framebuffers { draw, read, .. } = &mut self.framebuffers;
        let mut changed = false;
        for (bound, named) in [(draw, matches!(target, Draw | Both)), (read, matches!(target, Read | Both))] {
            // What is bound to the other target shows the same content.
            let same = bound.is_some_and(|content| content.id == id);
            let known = same && bound.is_some_and(|content| content.version == version);
            if (named || same) && !known {
                *bound = Some(Content { id, version, state: *state });
                changed = true;
            }
        }
        self.mark(Dirty::when(Family::Framebuffers, changed));
    }

    /// The handle of a framebuffer object that a verb names without binding it, once the server has its
    /// content.
    ///
    /// # Errors
    /// [`SyncError`].
    pub fn named_framebuffer<P: Pipe, S: Storage>(
        &mut self,
        id: u64,
        version: u64,
        state: &FramebufferState,
        pipe: &mut P,
        slots: &mut SlotSpace<S>,
    ) -> Result<Handle, SyncError<P::Error>> {
        self.set_framebuffer(FramebufferTarget::Named, id, version, state);
        let content = Content { id, version, state: *state };
        match handle(id, slots) {
            Some(fbo) if self.framebuffers.has(&content, slots) => Ok(fbo),
            _ => self.tell_framebuffer(&content, FramebufferTarget::Named, pipe, slots),
        }
    }

    pub(super) fn send_framebuffers<P: Pipe, S: Storage>(
        &mut self,
        untold: bool,
        pipe: &mut P,
        slots: &mut SlotSpace<S>,
    ) -> Result<(), SyncError<P::Error>> {
        use FramebufferTarget::{Both, Draw, Read};
        let Self { framebuffers, sent, .. } = self;
        let due = |bound: Option<Content>, sent: Handle| {
            bound.filter(|content| untold || !framebuffers.is_sent(content, sent, slots))
        };
        let draw = due(framebuffers.draw, sent.draw_framebuffer);
        let read = due(framebuffers.read, sent.read_framebuffer);
        match (draw, read) {
            (Some(draw), Some(read)) if draw.id == read.id => {
                self.tell_framebuffer(&draw, Both, pipe, slots)?;
            }
            (draw, read) => {
                for (content, target) in [(draw, Draw), (read, Read)] {
                    if let Some(content) = content {
                        self.tell_framebuffer(&content, target, pipe, slots)?;
                    }
                }
            }
        }
        Ok(())
    }

    /// Sends content and binding. Answers the handle.
    fn tell_framebuffer<P: Pipe, S: Storage>(
        &mut self,
        content: &Content,
        target: FramebufferTarget,
        pipe: &mut P,
        slots: &mut SlotSpace<S>,
    ) -> Result<Handle, SyncError<P::Error>> {
        use FramebufferTarget::{Both, Draw, Read};
        let is_default = u8::from(content.id == DEFAULT);
        let mut state = FramebufferState { is_default, target: target.raw8(), ..content.state };
        let mut record = |fbo| {
            state.fbo = fbo;
            pipe.set_framebuffer_state(&state)
        };
        let fbo = match handle(content.id, slots) {
            Some(fbo) => record(fbo).map(|()| fbo)?,
            None => slots.mint_with(Band::Framebuffer, content.id, record)?,
        };
        if content.id == DEFAULT {
            self.framebuffers.default_sent = Some(content.version);
            self.sent.default_framebuffer = state;
            self.wanted.default_framebuffer = state;
        } else {
            slots.set_stamp(Band::Framebuffer, fbo, content.version);
        }
        for state in [&mut self.wanted, &mut self.sent] {
            if matches!(target, Draw | Both) {
                state.draw_framebuffer = fbo;
            }
            if matches!(target, Read | Both) {
                state.read_framebuffer = fbo;
            }
        }
        Ok(fbo)
    }

    /// Detaches an object from the framebuffers that are to be bound.
    pub(super) fn detach(&mut self, kind: SurfaceKind, object: Handle) {
        let version = self.framebuffers.new_version();
        let mut found = false;
        for content in self.framebuffers.bound_mut() {
            let state = &mut content.state;
            let others = [&mut state.depth, &mut state.stencil, &mut state.read_surface];
            for surface in state.color.iter_mut().chain(others) {
                if surface.kind() == Some(kind) && surface.resource == object {
                    *surface = Surface::default();
                    content.version = version;
                    found = true;
                }
            }
        }
        self.mark(Dirty::when(Family::Framebuffers, found));
    }

    /// Sets the framebuffer of the surfaces where this one is to be bound.
    pub(super) fn forget_framebuffer<S: Storage>(&mut self, fbo: Handle, slots: &SlotSpace<S>) {
        let own_version = self.framebuffers.new_version();
        let default = Content {
            id: DEFAULT,
            // Without a default framebuffer yet: one that is not complete, so that nobody draws to it.
            version: self.framebuffers.default_sent.unwrap_or(own_version),
            state: self.wanted.default_framebuffer,
        };
        let mut found = false;
        for bound in self.framebuffers.bound_mut().filter(|bound| handle(bound.id, slots) == Some(fbo)) {
            *bound = default;
            found = true;
        }
        self.mark(Dirty::when(Family::Framebuffers, found));
    }
}
