//! The state of a context derived afresh from its objects, for a server that compares it with what it was told.
//!
//! What the front usually does is to look at what has moved since the last verb. Here everything counts as moved, and
//! descriptions of objects are made anew from what the application's calls left in them. Whatever a marker forgot, a
//! cache kept too long or a suppressor left out is a difference then.

use runahead_core::{
    Shared,
    compare::{Check, Contents, LayoutContents, ProgramContents, Snapshot},
    tracker::{Dirty, Verb},
};
use runahead_wire::{
    Handle,
    payload::{
        ContextValues, FramebufferState, QueryDesc, ResourceDesc, SamplerParameters, SamplerView,
        TextureParams, VertexAttrib, VertexBindingPoint,
    },
    pipe::Pipe,
    values::BufferUsage,
};

use super::{
    buffer::{Stream, desc},
    context::{Objects, Seen, Stale, State, TurnOf},
    error::{Error, Outcome},
    program::Code,
    resident::Resident,
};

/// Verbs until a control breaks something: what comes first is set up by then.
const SOUND: u64 = 10;

/// How a context has its state compared.
#[derive(Debug)]
pub(crate) struct Checking {
    how: Check,
    /// Verbs so far.
    verbs: u64,
    bytes: Vec<u8>,
    /// Whether the control has done its part.
    broken: bool,
}

impl Checking {
    /// None where nothing is compared.
    pub(crate) fn new(how: Check) -> Option<Box<Self>> {
        let new = || Box::new(Self { how, verbs: 0, bytes: Vec::new(), broken: false });
        (how != Check::Off).then(new)
    }

    /// Whether it is time for a control, once.
    fn breaks(&mut self, control: Check) -> bool {
        let now = self.how == control && self.verbs >= SOUND && !self.broken;
        self.broken |= now;
        now
    }
}

/// What a context knows of the contents of objects.
struct Known<'a> {
    objects: &'a Objects,
    /// Buffers of the context's own: their handles and sizes.
    streams: [&'a Stream; 2],
    resident: &'a Resident,
    layout: (Handle, &'a [VertexAttrib], &'a [VertexBindingPoint]),
    framebuffer: (Handle, FramebufferState),
}

impl Contents for Known<'_> {
    fn buffer(&self, buffer: Handle) -> Option<ResourceDesc> {
        if buffer.is_null() {
            return None;
        }
        let mut streams = self.streams.iter().flat_map(|stream| stream.buffers());
        if let Some((handle, size)) = streams.find(|(handle, _)| *handle == buffer) {
            return Some(desc(handle, size, BufferUsage::StreamDraw));
        }
        if let Some((handle, size)) = self.resident.buffers().find(|(handle, _)| *handle == buffer) {
            return Some(desc(handle, size, BufferUsage::StaticDraw));
        }
        self.objects.buffers.iter().find(|one| one.handle == buffer)?.described()
    }

    fn texture(&self, texture: Handle) -> Option<(ResourceDesc, TextureParams)> {
        self.objects.textures.iter().find(|one| one.handle == texture && !texture.is_null())?.described()
    }

    fn renderbuffer(&self, renderbuffer: Handle) -> Option<ResourceDesc> {
        self.objects.renderbuffers.iter().find(|one| one.handle == renderbuffer)?.described()
    }

    fn framebuffer(&self, framebuffer: Handle) -> Option<FramebufferState> {
        (self.framebuffer.0 == framebuffer).then_some(self.framebuffer.1)
    }

    fn vertex_elements(&self, layout: Handle) -> Option<LayoutContents<'_>> {
        let (handle, attributes, points) = self.layout;
        (handle == layout).then_some(LayoutContents { attributes, points })
    }

    fn sampler(&self, sampler: Handle) -> Option<SamplerParameters> {
        self.objects.textures.iter().find_map(|one| one.sampler_of(sampler))
    }

    fn sampler_view(&self, _: Handle) -> Option<SamplerView> {
        None
    }

    fn program(&self, program: Handle) -> Option<ProgramContents<'_>> {
        self.objects.code.iter().find_map(|code| match code {
            Code::Program(one) if one.handle == program && !program.is_null() => Some(one.described()),
            _ => None,
        })
    }

    fn query(&self, _: Handle) -> Option<QueryDesc> {
        None
    }
}

impl State {
    /// Whether a record is to be left out: the control that drops one.
    pub(crate) fn drops(&mut self) -> bool {
        self.checking.as_mut().is_some_and(|checking| checking.breaks(Check::Drop))
    }

    /// Sends the state of the verb that comes next, everything that goes before it having been sent.
    #[cold]
    pub(crate) fn declare<P: Shared>(
        &mut self,
        objects: &mut Objects,
        turn: &mut TurnOf<'_, P>,
        verb: Verb,
    ) -> Outcome {
        let Some(mut checking) = self.checking.take() else { return Ok(()) };
        let declared = self.derive::<P>(&mut checking, objects, turn, verb);
        self.checking = Some(checking);
        declared
    }

    fn derive<P: Shared>(
        &mut self,
        checking: &mut Checking,
        objects: &mut Objects,
        turn: &mut TurnOf<'_, P>,
        verb: Verb,
    ) -> Outcome {
        checking.verbs += 1;
        if checking.breaks(Check::Corrupt) {
            let values = self.tracker.wanted().values;
            let wrong = values.active_texture_unit ^ 1;
            turn.pipe.set_context_values(&ContextValues { active_texture_unit: wrong, ..values })?;
        }
        let streamed = self.tracker.wanted().vertex_buffers.clone();
        let (stale, seen, dirty) = (self.stale, self.seen, self.tracker.swap_dirty(Dirty::NONE));
        self.stale = Stale { textures: true, arrays: true, program: true, framebuffer: true };
        self.seen = Seen::default();
        let refreshed = self.refresh::<P>(objects, turn);
        let mut state = self.tracker.wanted().clone();
        (self.stale, self.seen) = (stale, seen);
        *self.tracker.vertex_buffers() = streamed.clone();
        self.tracker.swap_dirty(dirty);
        refreshed?;

        // What this draw copied from the application's memory lies where the copy went, which nothing else tells.
        for (buffer, was) in state.vertex_buffers.covered_mut().iter_mut().zip(streamed.covered()) {
            let own = self.vertex_stream.buffers().chain(self.resident.buffers());
            let copied = own.map(|(buffer, _)| buffer).any(|buffer| buffer == was.resource);
            if buffer.resource.is_null() && copied {
                *buffer = *was;
            }
        }
        // Where they stand, which the tracker writes when it sends them.
        for (view, unit) in state.sampler_views.covered_mut().iter_mut().zip(0..) {
            view.unit = unit;
        }
        for (buffer, point) in state.vertex_buffers.covered_mut().iter_mut().zip(0..) {
            buffer.binding_index = point;
        }
        let bound = self.framebuffer.and_then(|id| self.framebuffers.get(id));
        let mut framebuffer = match bound {
            Some(one) => one.described(&self.limits, objects),
            None => self.default_framebuffer.1,
        };
        framebuffer.fbo = state.draw_framebuffer;
        framebuffer.is_default = u8::from(bound.is_none());
        if bound.is_none() {
            state.default_framebuffer = framebuffer;
        }
        let (attributes, points) = self.current_arrays().layout();
        let count = self.limits.attributes as usize;
        let known = Known {
            objects,
            streams: [&self.vertex_stream, &self.index_stream],
            resident: &self.resident,
            layout: (
                state.vertex_elements,
                attributes.get(..count).unwrap_or_default(),
                points.get(..count).unwrap_or_default(),
            ),
            framebuffer: (state.draw_framebuffer, framebuffer),
        };
        let bytes = &mut checking.bytes;
        let taken =
            |bytes: &mut [u8]| Snapshot::take(bytes, &state, &known, verb).map(|one| one.as_bytes().len());
        let size = taken(bytes).or_else(|small| {
            bytes.try_reserve(small.needed).map_err(|_| Error::OutOfMemory)?;
            bytes.resize(small.needed, 0);
            taken(bytes).map_err(|_| Error::OutOfMemory)
        })?;
        Snapshot::from_bytes(bytes.get(..size).unwrap_or_default()).send(turn.pipe)?;
        Ok(())
    }
}
