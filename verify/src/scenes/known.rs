//! What a scene knows of its objects, for a server that compares it with what it was told.

use runahead_core::compare::{Contents, LayoutContents, ProgramContents};
use runahead_wire::{
    Handle,
    payload::{
        FramebufferState, ProgramDesc, QueryDesc, ResourceDesc, SamplerParameters, SamplerView,
        TextureParams, VertexAttrib, VertexBindingPoint,
    },
};

/// Objects, by what was said of them when they were made.
#[derive(Debug, Default)]
pub(super) struct Known {
    pub buffers: Vec<(Handle, ResourceDesc)>,
    pub textures: Vec<(Handle, ResourceDesc, TextureParams)>,
    pub renderbuffers: Vec<(Handle, ResourceDesc)>,
    pub samplers: Vec<(Handle, SamplerParameters)>,
    pub programs: Vec<(Handle, ProgramDesc, Vec<u8>)>,
    pub attributes: Vec<VertexAttrib>,
    pub points: Vec<VertexBindingPoint>,
    /// The layout of those.
    pub layout: Handle,
    pub framebuffer: FramebufferState,
}

/// The last of that handle: a slot that was taken again is another object.
fn last<T>(all: &[T], handle: Handle, of: impl Fn(&T) -> Handle) -> Option<&T> {
    all.iter().rev().find(|one| of(one) == handle && !handle.is_null())
}

impl Contents for Known {
    fn buffer(&self, buffer: Handle) -> Option<ResourceDesc> {
        last(&self.buffers, buffer, |one| one.0).map(|one| one.1)
    }

    fn texture(&self, texture: Handle) -> Option<(ResourceDesc, TextureParams)> {
        last(&self.textures, texture, |one| one.0).map(|one| (one.1, one.2))
    }

    fn renderbuffer(&self, renderbuffer: Handle) -> Option<ResourceDesc> {
        last(&self.renderbuffers, renderbuffer, |one| one.0).map(|one| one.1)
    }

    fn framebuffer(&self, framebuffer: Handle) -> Option<FramebufferState> {
        (self.framebuffer.fbo == framebuffer && !framebuffer.is_null()).then_some(self.framebuffer)
    }

    fn vertex_elements(&self, layout: Handle) -> Option<LayoutContents<'_>> {
        let Self { attributes, points, .. } = self;
        (self.layout == layout && !layout.is_null()).then_some(LayoutContents { attributes, points })
    }

    fn sampler(&self, sampler: Handle) -> Option<SamplerParameters> {
        last(&self.samplers, sampler, |one| one.0).map(|one| one.1)
    }

    fn sampler_view(&self, _: Handle) -> Option<SamplerView> {
        None
    }

    fn program(&self, program: Handle) -> Option<ProgramContents<'_>> {
        let (_, desc, constants) = last(&self.programs, program, |one| one.0)?;
        Some(ProgramContents {
            desc: *desc,
            constants,
            blocks: &[],
            sampler_units: &[],
            storage: &[],
            names: &[],
        })
    }

    fn query(&self, _: Handle) -> Option<QueryDesc> {
        None
    }
}
