//! What must hold of a context at a verb.
//!
//! A set checks the handles that it names when it arrives. What may have happened since is that an object died
//! or was refused; so the windows are looked through again only when the share group's count of deaths or
//! refusals moved, and a steady draw looks at a few words.

use runahead_wire::{
    Handle,
    handle::Kind,
    payload::{FramebufferState, Surface},
    pipe::Op,
    values::SurfaceKind,
};

use super::Apply;
use crate::{
    backend::Backend, bind_state::Trouble, fault::Fault, objects::Objects, outlet::Outlet, storage::Storage,
};

impl<B: Backend, S: Storage, O: Outlet> Apply<'_, B, S, O> {
    /// What every verb needs: its windows, its values, and no handle of an object that has ended.
    #[inline]
    pub(super) fn ready(&mut self) -> Result<(), Fault> {
        let moved = self.bind.trouble.any(Trouble::UNCHECKED) || self.bind.epoch_seen != self.objects.epoch;
        if moved { self.look_through() } else { Ok(()) }
    }

    /// What a draw or dispatch needs besides.
    #[inline]
    pub(super) fn covered(&self) -> Result<(), Fault> {
        let uncovered = Trouble::NO_VALUES.and(Trouble::UNCOVERED);
        if self.bind.trouble.any(uncovered) { Err(self.uncovered()) } else { Ok(()) }
    }

    #[cold]
    fn uncovered(&self) -> Fault {
        if self.bind.trouble.any(Trouble::NO_VALUES) {
            return Fault::Corrupt { row: self.op, field: "context_values" };
        }
        let touched = self.bind.state.values.max_touched_texture_unit + 1;
        let row = if self.bind.state.sampler_views.count() < touched {
            Op::SetSamplerViews
        } else {
            Op::BindSamplerStates
        };
        Fault::Corrupt { row, field: "count" }
    }

    /// Looks through every window: a handle of an object that has ended is a fault of the row that set it.
    #[cold]
    #[inline(never)]
    fn look_through(&mut self) -> Result<(), Fault> {
        let (objects, state) = (&*self.objects, &self.bind.state);
        let known = |kind: Kind, handle: Handle, row: Op, field: &'static str| {
            let fine = handle.is_null() || objects.knows(kind, handle);
            if fine { Ok(()) } else { Err(Fault::UnnamedIdentity { row, field }) }
        };
        for bound in state.sampler_views.covered() {
            known(Kind::Texture, bound.texture, Op::SetSamplerViews, "texture")?;
            known(Kind::SamplerViewCso, bound.view, Op::SetSamplerViews, "view")?;
        }
        for sampler in state.sampler_states.covered() {
            known(Kind::SamplerCso, *sampler, Op::BindSamplerStates, "samplers")?;
        }
        for image in state.shader_images.covered() {
            known(Kind::Texture, image.resource, Op::SetShaderImages, "resource")?;
        }
        for class in &state.shader_buffers {
            for buffer in class.buffers.covered() {
                known(Kind::Buffer, buffer.resource, Op::SetShaderBuffers, "resource")?;
            }
        }
        for buffer in state.vertex_buffers.covered() {
            known(Kind::Buffer, buffer.resource, Op::SetVertexBuffers, "resource")?;
        }
        known(Kind::Buffer, state.index_buffer.resource, Op::SetIndexBuffer, "resource")?;
        known(Kind::Buffer, state.indirect_buffers.draw_indirect, Op::SetIndirectBuffers, "draw_indirect")?;
        known(Kind::Buffer, state.indirect_buffers.parameter, Op::SetIndirectBuffers, "parameter")?;
        known(Kind::VertexElementsCso, state.vertex_elements, Op::BindVertexElements, "handle")?;
        known(Kind::RenderStateCso, self.bind.render_state, Op::BindRenderState, "cso")?;
        known(Kind::ShaderCso, state.shader, Op::BindShaderState, "handle")?;
        known(Kind::ShaderCso, state.draw_program, Op::SetDrawProgram, "handle")?;
        known(Kind::ShaderCso, state.dispatch_program, Op::SetDispatchProgram, "handle")?;
        known(Kind::Query, state.conditional_render.query, Op::SetConditionalRender, "query")?;
        let draw_framebuffer = framebuffer_refused(objects, self.bound(state.draw_framebuffer)?)?;
        let read_framebuffer = framebuffer_refused(objects, self.bound(state.read_framebuffer)?)?;

        let program_refused =
            |program: Handle| objects.shaders.known(program).is_some_and(|shader| shader.is_refused());
        let buffers = state.vertex_buffers.covered().iter();
        let mut fetched = buffers.filter_map(|buffer| objects.buffers.known(buffer.resource));
        let draw = program_refused(state.draw_program) || fetched.any(|buffer| buffer.is_refused());
        let dispatch = program_refused(state.dispatch_program);
        let bind = &mut *self.bind;
        bind.trouble.set(Trouble::DRAW_REFUSED, draw);
        bind.trouble.set(Trouble::DISPATCH_REFUSED, dispatch);
        bind.trouble.set(Trouble::DRAW_FRAMEBUFFER_REFUSED, draw_framebuffer);
        bind.trouble.set(Trouble::READ_FRAMEBUFFER_REFUSED, read_framebuffer);
        bind.trouble.set(Trouble::UNCHECKED, false);
        bind.epoch_seen = self.objects.epoch;
        bind.indices_seen = None;
        Ok(())
    }

    /// State of a framebuffer that is bound; nothing for none.
    fn bound(&self, fbo: Handle) -> Result<Option<&FramebufferState>, Fault> {
        if fbo.is_null() {
            return Ok(None);
        }
        if fbo == Handle::DEFAULT_FRAMEBUFFER {
            return Ok(Some(&self.bind.state.default_framebuffer));
        }
        let object = self.objects.framebuffers.known(fbo);
        let object = object.ok_or(Fault::UnnamedIdentity { row: Op::SetFramebufferState, field: "fbo" })?;
        Ok(Some(&object.record))
    }

    /// Whether a framebuffer that a verb names can be used: null is the bound one.
    pub(super) fn framebuffer(&self, fbo: Handle, field: &'static str) -> Result<(), Fault> {
        if fbo == Handle::DEFAULT_FRAMEBUFFER {
            return Ok(());
        }
        self.null_or_known(Kind::Framebuffer, fbo, field)
    }

    /// Whether a framebuffer that a verb names directly shows a refused object.
    pub(super) fn named_framebuffer_refused(&self, fbo: Handle) -> Result<bool, Fault> {
        framebuffer_refused(self.objects, self.bound(fbo)?)
    }

    /// Drops a draw: the first refused object that it needs is told of.
    #[cold]
    pub(super) fn drop_draw(&mut self) -> Result<(), Fault> {
        let (program, framebuffer) = (self.bind.state.draw_program, self.bind.state.draw_framebuffer);
        if self.objects.shaders.known(program).is_some_and(|shader| shader.is_refused()) {
            return self.drop_for_program(program);
        }
        let buffers = self.bind.state.vertex_buffers.covered().iter();
        let is_refused =
            |buffer: &Handle| self.objects.buffers.known(*buffer).is_some_and(|buffer| buffer.is_refused());
        match buffers.map(|buffer| buffer.resource).find(is_refused) {
            Some(buffer) => self.drop_for_buffer(buffer),
            None => self.drop_for_framebuffer(framebuffer),
        }
    }

    /// Drops a verb for the sake of a refused program.
    #[cold]
    pub(super) fn drop_for_program(&mut self, program: Handle) -> Result<(), Fault> {
        self.drop_verb(|objects| objects.shaders.known_mut(program).map(|object| &mut object.told))
    }

    /// Drops a verb for the sake of a framebuffer with a refused attachment.
    #[cold]
    pub(super) fn drop_for_framebuffer(&mut self, fbo: Handle) -> Result<(), Fault> {
        let refused = match self.bound(fbo)? {
            Some(state) => surfaces(state).find(|surface| surface_refused(self.objects, surface)).copied(),
            None => None,
        };
        self.drop_verb(|objects| {
            let surface = refused?;
            match surface.kind()? {
                SurfaceKind::Texture => {
                    objects.textures.known_mut(surface.resource).map(|object| &mut object.told)
                }
                SurfaceKind::Renderbuffer => {
                    objects.renderbuffers.known_mut(surface.resource).map(|object| &mut object.told)
                }
                SurfaceKind::None => None,
            }
        })
    }
}

fn surfaces(state: &FramebufferState) -> impl Iterator<Item = &Surface> {
    state.color.iter().chain([&state.depth, &state.stencil, &state.read_surface])
}

fn surface_refused<B: Backend, S: Storage>(objects: &Objects<B, S>, surface: &Surface) -> bool {
    match surface.kind() {
        Some(SurfaceKind::Texture) => {
            objects.textures.known(surface.resource).is_some_and(|object| object.is_refused())
        }
        Some(SurfaceKind::Renderbuffer) => {
            objects.renderbuffers.known(surface.resource).is_some_and(|object| object.is_refused())
        }
        Some(SurfaceKind::None) | None => false,
    }
}

/// Whether an attachment was refused; one that has ended is a fault.
fn framebuffer_refused<B: Backend, S: Storage>(
    objects: &Objects<B, S>,
    state: Option<&FramebufferState>,
) -> Result<bool, Fault> {
    let Some(state) = state else { return Ok(false) };
    let mut refused = false;
    for surface in surfaces(state) {
        let known = match surface.kind() {
            Some(SurfaceKind::Texture) => objects.textures.known(surface.resource).is_some(),
            Some(SurfaceKind::Renderbuffer) => objects.renderbuffers.known(surface.resource).is_some(),
            Some(SurfaceKind::None) | None => true,
        };
        if !known {
            return Err(Fault::UnnamedIdentity { row: Op::SetFramebufferState, field: "surface" });
        }
        refused |= surface_refused(objects, surface);
    }
    Ok(refused)
}
