//! The end of an object: the context lets go of it before its death is recorded.

use runahead_wire::{Handle, handle::Kind, pipe::Pipe, values::SurfaceKind};

use super::{Dirty, Family, SyncError, Tracker};
use crate::{slots::SlotSpace, state::State, storage::Storage};

impl Tracker {
    /// Lets go of an object that is about to die: the wanted state names it no more, and what the server has
    /// of this context that names it is sent again now. The record of the death may follow.
    ///
    /// Points that named it are empty from now on. A draw or read framebuffer becomes that of the surfaces, as
    /// in GL. Contexts that are not current need nothing: what they want may not name the object any more, and
    /// they send that before a verb.
    ///
    /// # Errors
    /// [`SyncError`]. The death must not be recorded; the call can be made again.
    pub fn forget<P: Pipe, S: Storage>(
        &mut self,
        kind: Kind,
        object: Handle,
        pipe: &mut P,
        slots: &mut SlotSpace<S>,
    ) -> Result<(), SyncError<P::Error>> {
        if object.is_null() {
            return Ok(());
        }
        let wanted = naming(&mut self.wanted, kind, object, Points::Clear);
        self.mark(wanted);
        let mut told = naming(&mut self.sent, kind, object, Points::Keep);
        match kind {
            Kind::VertexElementsCso => self.forget_layout(object, slots),
            Kind::Framebuffer => self.forget_framebuffer(object, slots),
            Kind::Texture => self.detach(SurfaceKind::Texture, object),
            Kind::Renderbuffer => self.detach(SurfaceKind::Renderbuffer, object),
            _ => {}
        }
        if matches!(kind, Kind::Texture | Kind::Renderbuffer) {
            // What the server has attached is not kept here. A framebuffer that is not dirty is known, and was
            // looked through; one that is may have named the object when it was sent.
            told |= Dirty::of(Family::Framebuffers);
        }
        self.send(told, pipe, slots)
    }

    /// As [`Tracker::forget`], for a transform feedback object, which has an identity and no handle. The
    /// default object becomes the bound one.
    ///
    /// # Errors
    /// [`SyncError`].
    pub fn forget_stream_output<P: Pipe, S: Storage>(
        &mut self,
        lifetime_id: u64,
        pipe: &mut P,
        slots: &mut SlotSpace<S>,
    ) -> Result<(), SyncError<P::Error>> {
        if self.wanted.stream_output == lifetime_id {
            self.set_stream_output(0);
        }
        let told = Dirty::when(Family::StreamOutput, self.sent.stream_output == lifetime_id);
        self.send(told, pipe, slots)
    }
}

/// What becomes of the points that are found.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Points {
    Keep,
    Clear,
}

/// The families of a state that name an object. The vertex layout and the framebuffers are only looked at: they
/// are changed by their identities.
fn naming(state: &mut State, kind: Kind, object: Handle, points: Points) -> Dirty {
    use Family::{
        AtomicBuffers, ConditionalRender, Framebuffers, IndexBuffer, IndirectBuffers, Programs,
        SamplerStates, SamplerViews, ShaderImages, StorageBuffers, UniformBuffers, VertexBuffers,
        VertexElements,
    };
    let mut found = Dirty::NONE;
    match kind {
        Kind::Buffer => {
            let vertex = state.vertex_buffers.covered_mut();
            found |= Dirty::when(VertexBuffers, any(vertex, points, |point| point.resource == object));
            let index = core::slice::from_mut(&mut state.index_buffer);
            found |= Dirty::when(IndexBuffer, any(index, points, |index| index.resource == object));
            let indirect = &mut state.indirect_buffers;
            let mut indirect = [&mut indirect.draw_indirect, &mut indirect.parameter];
            found |= Dirty::when(IndirectBuffers, any_handle(&mut indirect, points, object));
            for (window, family) in
                state.shader_buffers.iter_mut().zip([UniformBuffers, StorageBuffers, AtomicBuffers])
            {
                let buffers = window.buffers.covered_mut();
                found |= Dirty::when(family, any(buffers, points, |point| point.resource == object));
            }
        }
        Kind::Texture => {
            let views = state.sampler_views.covered_mut();
            found |= Dirty::when(SamplerViews, any(views, points, |bound| bound.texture == object));
            let images = state.shader_images.covered_mut();
            found |= Dirty::when(ShaderImages, any(images, points, |image| image.resource == object));
        }
        Kind::SamplerViewCso => {
            let views = state.sampler_views.covered_mut();
            found |= Dirty::when(SamplerViews, any(views, points, |bound| bound.view == object));
        }
        Kind::SamplerCso => {
            let samplers = state.sampler_states.covered_mut();
            found |= Dirty::when(SamplerStates, any(samplers, points, |sampler| *sampler == object));
        }
        Kind::ShaderCso => {
            let mut programs = [&mut state.shader, &mut state.draw_program, &mut state.dispatch_program];
            found |= Dirty::when(Programs, any_handle(&mut programs, points, object));
        }
        Kind::Query => {
            let condition = core::slice::from_mut(&mut state.conditional_render);
            found |= Dirty::when(ConditionalRender, any(condition, points, |on| on.query == object));
        }
        Kind::VertexElementsCso => found |= Dirty::when(VertexElements, state.vertex_elements == object),
        Kind::Framebuffer => {
            let bound = state.draw_framebuffer == object || state.read_framebuffer == object;
            found |= Dirty::when(Framebuffers, bound);
        }
        // Attached to framebuffers at most; named by nothing in the state, or by identities.
        Kind::Renderbuffer
        | Kind::RenderStateCso
        | Kind::Fence
        | Kind::None
        | Kind::TransformFeedback
        | Kind::Context => {}
    }
    found
}

/// Whether a point is found.
fn any<T: Default>(all: &mut [T], points: Points, is_found: impl Fn(&T) -> bool) -> bool {
    let mut found = false;
    for point in all.iter_mut().filter(|point| is_found(point)) {
        found = true;
        if points == Points::Clear {
            *point = T::default();
        }
    }
    found
}

/// Whether one of several handles is the object's.
fn any_handle(all: &mut [&mut Handle], points: Points, object: Handle) -> bool {
    let mut found = false;
    for handle in all.iter_mut().filter(|handle| ***handle == object) {
        found = true;
        if points == Points::Clear {
            **handle = Handle::NULL;
        }
    }
    found
}
