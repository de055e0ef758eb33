//! The walk through a state that both roles take.

use runahead_wire::{Handle, Member, payload::Shape, values::SurfaceKind, zerocopy::IntoBytes};

use super::Contents;
use crate::{
    state::{State, Window},
    tracker::{Family, Verb},
};

macro_rules! names {
    ($( $name:ident = $text:literal, )+) => {
        /// Names of fields. They are numbers in a snapshot.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[repr(u8)]
        #[allow(missing_docs, reason = "each is what it is called")]
        pub enum Name { $( $name, )+ }

        impl Name {
            /// Every name, by its number.
            pub(super) const ALL: &'static [Self] = &[ $( Self::$name, )+ ];

            /// The name in full.
            #[must_use]
            pub const fn text(self) -> &'static str {
                match self { $( Self::$name => $text, )+ }
            }
        }
    };
}

names! {
    // A snapshot that cannot be read on.
    Snapshot = "snapshot",
    Values = "values",
    Render = "render",
    PixelPack = "pixel_pack",
    Patch = "patch",
    AttribDefaults = "attrib_defaults",
    VertexElements = "vertex_elements",
    VertexElementsAttributes = "vertex_elements.attributes",
    VertexElementsPoints = "vertex_elements.points",
    VertexBuffersStart = "vertex_buffers.start",
    VertexBuffersCount = "vertex_buffers.count",
    VertexBuffers = "vertex_buffers",
    IndexBuffer = "index_buffer",
    IndirectBuffers = "indirect_buffers",
    SamplerViewsStart = "sampler_views.start",
    SamplerViewsCount = "sampler_views.count",
    SamplerViews = "sampler_views",
    SamplerStatesStart = "sampler_states.start",
    SamplerStatesCount = "sampler_states.count",
    SamplerStates = "sampler_states",
    ShaderImagesStart = "shader_images.start",
    ShaderImagesCount = "shader_images.count",
    ShaderImages = "shader_images",
    UniformBuffersStart = "uniform_buffers.start",
    UniformBuffersCount = "uniform_buffers.count",
    UniformBuffers = "uniform_buffers",
    UniformBuffersWritable = "uniform_buffers.writable",
    StorageBuffersStart = "storage_buffers.start",
    StorageBuffersCount = "storage_buffers.count",
    StorageBuffers = "storage_buffers",
    StorageBuffersWritable = "storage_buffers.writable",
    AtomicBuffersStart = "atomic_buffers.start",
    AtomicBuffersCount = "atomic_buffers.count",
    AtomicBuffers = "atomic_buffers",
    AtomicBuffersWritable = "atomic_buffers.writable",
    BoundProgram = "programs.bound",
    DrawProgram = "programs.draw",
    DispatchProgram = "programs.dispatch",
    DrawFramebuffer = "draw_framebuffer",
    ReadFramebuffer = "read_framebuffer",
    ConditionalRender = "conditional_render",
    StreamOutput = "stream_output",
    BufferDesc = "buffer.desc",
    TextureDesc = "texture.desc",
    TextureParams = "texture.params",
    RenderbufferDesc = "renderbuffer.desc",
    FramebufferState = "framebuffer.state",
    SamplerParameters = "sampler.parameters",
    SamplerView = "sampler_view.view",
    ProgramDesc = "program.desc",
    ProgramConstants = "program.constants",
    ProgramBlocks = "program.bindings.blocks",
    ProgramSamplerUnits = "program.bindings.sampler_units",
    ProgramStorage = "program.bindings.storage",
    ProgramNames = "program.bindings.names",
    QueryDesc = "query.desc",
}

/// One field of a state: an item, or several without gaps.
#[derive(Clone, Copy, Debug)]
pub struct Field<'a> {
    /// Family that it is part of, or that names the object it is of.
    pub family: Family,
    /// Its name.
    pub name: Name,
    /// Point of a window, attribute, or slot of an object.
    pub index: Option<u32>,
    /// What an item is made of.
    pub item: &'static Shape,
    /// Whether there may be several.
    pub is_run: bool,
    /// The items.
    pub bytes: &'a [u8],
}

/// Shape of a type, where a static one is needed.
pub(super) struct ShapeOf<T>(T);

impl<T: Member> ShapeOf<T> {
    pub(super) const SHAPE: &'static Shape = &T::SHAPE;
}

/// A walk through one family.
struct Walk<'w, C, V> {
    family: Family,
    contents: &'w C,
    visitor: &'w mut V,
}

/// Visits every field of a state that a verb of this class needs, with the contents of the objects that it
/// names.
///
/// # Errors
/// The visitor's own, which ends the walk.
pub fn visit<C: Contents, E>(
    state: &State,
    contents: &C,
    verb: Verb,
    visitor: &mut impl FnMut(&Field<'_>) -> Result<(), E>,
) -> Result<(), E> {
    for family in verb.needs().families() {
        Walk { family, contents, visitor }.family(state, verb)?;
    }
    Ok(())
}

impl<C: Contents, E, V: FnMut(&Field<'_>) -> Result<(), E>> Walk<'_, C, V> {
    fn family(&mut self, state: &State, verb: Verb) -> Result<(), E> {
        match self.family {
            Family::Values => self.one(Name::Values, None, &state.values),
            Family::Render => self.one(Name::Render, None, &state.render),
            Family::PixelPack => self.one(Name::PixelPack, None, &state.pixel_pack),
            Family::Patch => self.one(Name::Patch, None, &state.patch),
            Family::AttribDefaults => {
                for value in &state.attrib_defaults {
                    self.one(Name::AttribDefaults, Some(value.location), value)?;
                }
                Ok(())
            }
            Family::VertexElements => {
                let layout = state.vertex_elements;
                self.one(Name::VertexElements, None, &layout)?;
                if let Some(contents) = self.contents.vertex_elements(layout) {
                    self.items(Name::VertexElementsAttributes, Some(layout.slot), contents.attributes)?;
                    self.items(Name::VertexElementsPoints, Some(layout.slot), contents.points)?;
                }
                Ok(())
            }
            Family::VertexBuffers => {
                let names = [Name::VertexBuffersStart, Name::VertexBuffersCount, Name::VertexBuffers];
                self.window(names, &state.vertex_buffers, |walk, bound| walk.buffer(bound.resource))
            }
            Family::IndexBuffer => {
                self.one(Name::IndexBuffer, None, &state.index_buffer)?;
                self.buffer(state.index_buffer.resource)
            }
            Family::IndirectBuffers => {
                self.one(Name::IndirectBuffers, None, &state.indirect_buffers)?;
                self.buffer(state.indirect_buffers.draw_indirect)?;
                self.buffer(state.indirect_buffers.parameter)
            }
            Family::SamplerViews => {
                let names = [Name::SamplerViewsStart, Name::SamplerViewsCount, Name::SamplerViews];
                self.window(names, &state.sampler_views, |walk, bound| {
                    walk.texture(bound.texture)?;
                    match walk.contents.sampler_view(bound.view) {
                        Some(view) => walk.one(Name::SamplerView, Some(bound.view.slot), &view),
                        None => Ok(()),
                    }
                })
            }
            Family::SamplerStates => {
                let names = [Name::SamplerStatesStart, Name::SamplerStatesCount, Name::SamplerStates];
                self.window(names, &state.sampler_states, |walk, sampler| walk.sampler(*sampler))
            }
            Family::ShaderImages => {
                let names = [Name::ShaderImagesStart, Name::ShaderImagesCount, Name::ShaderImages];
                self.window(names, &state.shader_images, |walk, image| walk.texture(image.resource))
            }
            Family::UniformBuffers | Family::StorageBuffers | Family::AtomicBuffers => self.buffers(state),
            Family::Programs => {
                self.one(Name::BoundProgram, None, &state.shader)?;
                self.one(Name::DrawProgram, None, &state.draw_program)?;
                self.one(Name::DispatchProgram, None, &state.dispatch_program)?;
                // Contents of a program are sent before a verb that uses it, and not before.
                match verb {
                    Verb::Draw => self.program(state.draw_program),
                    Verb::Dispatch => self.program(state.dispatch_program),
                    _ => Ok(()),
                }
            }
            Family::Framebuffers => {
                self.one(Name::DrawFramebuffer, None, &state.draw_framebuffer)?;
                self.framebuffer(state, state.draw_framebuffer)?;
                self.one(Name::ReadFramebuffer, None, &state.read_framebuffer)?;
                self.framebuffer(state, state.read_framebuffer)
            }
            Family::ConditionalRender => {
                let condition = &state.conditional_render;
                self.one(Name::ConditionalRender, None, condition)?;
                match self.contents.query(condition.query) {
                    Some(query) => self.one(Name::QueryDesc, Some(condition.query.slot), &query),
                    None => Ok(()),
                }
            }
            Family::StreamOutput => self.one(Name::StreamOutput, None, &state.stream_output),
        }
    }

    fn buffers(&mut self, state: &State) -> Result<(), E> {
        let [uniform, storage, atomic] = &state.shader_buffers;
        let (names, writable, window) = match self.family {
            Family::StorageBuffers => (
                [Name::StorageBuffersStart, Name::StorageBuffersCount, Name::StorageBuffers],
                Name::StorageBuffersWritable,
                storage,
            ),
            Family::AtomicBuffers => (
                [Name::AtomicBuffersStart, Name::AtomicBuffersCount, Name::AtomicBuffers],
                Name::AtomicBuffersWritable,
                atomic,
            ),
            _ => (
                [Name::UniformBuffersStart, Name::UniformBuffersCount, Name::UniformBuffers],
                Name::UniformBuffersWritable,
                uniform,
            ),
        };
        self.window(names, &window.buffers, |walk, range| walk.buffer(range.resource))?;
        self.one(writable, None, &window.writable)
    }

    /// Start and count of a window, and each point with what it names.
    fn window<T: Member + Default, const N: usize>(
        &mut self,
        [start, count, point]: [Name; 3],
        window: &Window<T, N>,
        mut named: impl FnMut(&mut Self, &T) -> Result<(), E>,
    ) -> Result<(), E> {
        self.one(start, None, &window.start())?;
        self.one(count, None, &window.count())?;
        for (item, at) in window.covered().iter().zip(window.start()..) {
            self.one(point, Some(at), item)?;
            named(self, item)?;
        }
        Ok(())
    }

    fn buffer(&mut self, buffer: Handle) -> Result<(), E> {
        match self.contents.buffer(buffer) {
            Some(desc) => self.one(Name::BufferDesc, Some(buffer.slot), &desc),
            None => Ok(()),
        }
    }

    fn texture(&mut self, texture: Handle) -> Result<(), E> {
        let Some((mut desc, params)) = self.contents.texture(texture) else { return Ok(()) };
        // Of the record that came last, not of the object.
        (desc.has_respecified_level, desc.respecified_level, desc.respecified_upload_target) = (0, 0, 0);
        self.one(Name::TextureDesc, Some(texture.slot), &desc)?;
        self.one(Name::TextureParams, Some(texture.slot), &params)?;
        self.sampler(params.builtin_sampler)?;
        self.buffer(desc.buffer_for_tex_buffer)
    }

    fn sampler(&mut self, sampler: Handle) -> Result<(), E> {
        match self.contents.sampler(sampler) {
            Some(parameters) => self.one(Name::SamplerParameters, Some(sampler.slot), &parameters),
            None => Ok(()),
        }
    }

    fn framebuffer(&mut self, state: &State, fbo: Handle) -> Result<(), E> {
        let content = if fbo == Handle::DEFAULT_FRAMEBUFFER {
            Some(state.default_framebuffer)
        } else {
            self.contents.framebuffer(fbo)
        };
        let Some(mut content) = content else { return Ok(()) };
        // Of the record that came last, not of the object.
        content.target = 0;
        self.one(Name::FramebufferState, Some(fbo.slot), &content)?;
        let others = [&content.depth, &content.stencil, &content.read_surface];
        for surface in content.color.iter().chain(others) {
            match surface.kind() {
                Some(SurfaceKind::Texture) => self.texture(surface.resource)?,
                Some(SurfaceKind::Renderbuffer) => {
                    if let Some(desc) = self.contents.renderbuffer(surface.resource) {
                        self.one(Name::RenderbufferDesc, Some(surface.resource.slot), &desc)?;
                    }
                }
                Some(SurfaceKind::None) | None => {}
            }
        }
        Ok(())
    }

    fn program(&mut self, program: Handle) -> Result<(), E> {
        let Some(contents) = self.contents.program(program) else { return Ok(()) };
        let slot = Some(program.slot);
        self.one(Name::ProgramDesc, slot, &contents.desc)?;
        self.items(Name::ProgramConstants, slot, contents.constants)?;
        self.items(Name::ProgramBlocks, slot, contents.blocks)?;
        self.items(Name::ProgramSamplerUnits, slot, contents.sampler_units)?;
        self.items(Name::ProgramStorage, slot, contents.storage)?;
        self.items(Name::ProgramNames, slot, contents.names)
    }

    fn one<T: Member>(&mut self, name: Name, index: Option<u32>, value: &T) -> Result<(), E> {
        self.field(name, index, core::slice::from_ref(value), false)
    }

    fn items<T: Member>(&mut self, name: Name, index: Option<u32>, items: &[T]) -> Result<(), E> {
        self.field(name, index, items, true)
    }

    fn field<T: Member>(
        &mut self,
        name: Name,
        index: Option<u32>,
        items: &[T],
        is_run: bool,
    ) -> Result<(), E> {
        let (family, item) = (self.family, ShapeOf::<T>::SHAPE);
        (self.visitor)(&Field { family, name, index, item, is_run, bytes: items.as_bytes() })
    }
}
