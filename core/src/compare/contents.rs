//! What a role knows of its objects.

use runahead_wire::{
    Handle,
    payload::{
        FramebufferState, ProgramDesc, ProgramSamplerUnit, ProgramStorageOverride, QueryDesc, ResourceDesc,
        SamplerParameters, SamplerView, TextureParams, VertexAttrib, VertexBindingPoint,
    },
};

use crate::{backend::Backend, objects::Objects, storage::Storage};

/// Contents of a program.
#[derive(Clone, Copy, Debug)]
pub struct ProgramContents<'a> {
    /// What the last link made; its blobs are not looked at.
    pub desc: ProgramDesc,
    /// Image of the default uniform block.
    pub constants: &'a [u8],
    /// Binding of each uniform block, by block index.
    pub blocks: &'a [i32],
    /// Units of sampler and image uniforms.
    pub sampler_units: &'a [ProgramSamplerUnit],
    /// Storage blocks with another binding than their shader's.
    pub storage: &'a [ProgramStorageOverride],
    /// Names of those blocks.
    pub names: &'a [u8],
}

/// Contents of a vertex layout.
#[derive(Clone, Copy, Debug)]
pub struct LayoutContents<'a> {
    /// Attributes.
    pub attributes: &'a [VertexAttrib],
    /// Binding points.
    pub points: &'a [VertexBindingPoint],
}

/// A role's knowledge of its objects' contents, by handle; nothing for handles that name none.
pub trait Contents {
    /// Storage of a buffer.
    fn buffer(&self, buffer: Handle) -> Option<ResourceDesc>;
    /// Storage and parameters of a texture; parameters of zeros before the first set.
    fn texture(&self, texture: Handle) -> Option<(ResourceDesc, TextureParams)>;
    /// Storage of a renderbuffer.
    fn renderbuffer(&self, renderbuffer: Handle) -> Option<ResourceDesc>;
    /// A framebuffer, but for that of the surfaces. Which binding it is the state of is not looked at.
    fn framebuffer(&self, framebuffer: Handle) -> Option<FramebufferState>;
    /// A vertex layout.
    fn vertex_elements(&self, layout: Handle) -> Option<LayoutContents<'_>>;
    /// A sampler.
    fn sampler(&self, sampler: Handle) -> Option<SamplerParameters>;
    /// A sampler view.
    fn sampler_view(&self, view: Handle) -> Option<SamplerView>;
    /// A program.
    fn program(&self, program: Handle) -> Option<ProgramContents<'_>>;
    /// A query.
    fn query(&self, query: Handle) -> Option<QueryDesc>;
}

impl<B: Backend, S: Storage> Contents for Objects<B, S> {
    fn buffer(&self, buffer: Handle) -> Option<ResourceDesc> {
        self.buffers.known(buffer).map(|object| object.record.desc)
    }

    fn texture(&self, texture: Handle) -> Option<(ResourceDesc, TextureParams)> {
        self.textures.known(texture).map(|object| (object.record.desc, object.record.params))
    }

    fn renderbuffer(&self, renderbuffer: Handle) -> Option<ResourceDesc> {
        self.renderbuffers.known(renderbuffer).map(|object| object.record.desc)
    }

    fn framebuffer(&self, framebuffer: Handle) -> Option<FramebufferState> {
        self.framebuffers.known(framebuffer).map(|object| object.record)
    }

    fn vertex_elements(&self, layout: Handle) -> Option<LayoutContents<'_>> {
        let elements = &self.vertex_elements.known(layout)?.record;
        Some(LayoutContents {
            attributes: elements.attributes.get(..elements.head.attribute_count as usize)?,
            points: elements.points.get(..elements.head.binding_point_count as usize)?,
        })
    }

    fn sampler(&self, sampler: Handle) -> Option<SamplerParameters> {
        self.samplers.known(sampler).map(|object| object.record)
    }

    fn sampler_view(&self, view: Handle) -> Option<SamplerView> {
        self.sampler_views.known(view).map(|object| object.record)
    }

    fn program(&self, program: Handle) -> Option<ProgramContents<'_>> {
        let shader = &self.shaders.known(program)?.record;
        Some(ProgramContents {
            desc: shader.desc,
            constants: shader.constants.as_ref(),
            blocks: &shader.bindings.blocks,
            sampler_units: &shader.bindings.sampler_units,
            storage: &shader.bindings.storage,
            names: shader.bindings.names.as_ref(),
        })
    }

    fn query(&self, query: Handle) -> Option<QueryDesc> {
        self.queries.known(query).map(|object| object.record.desc)
    }
}
