//! What a scene works with: a context on a surface, and objects made in a line each.

use std::fmt;

use runahead_core::{
    RecordError, Session,
    compare::{Check, Snapshot},
    link::Patience,
    reply_space,
    slots::{Band, SlotSpace},
    tracker::{SamplerCache, SyncError, Tracker, Verb},
    upload,
};
use runahead_linux::storage::Heap;
use runahead_rings::Status;
use runahead_wire::{
    Handle,
    format::Format,
    handle::Kind,
    payload::{
        BindContext, BoundView, Clear, DrawInfo, DrawRange, FramebufferState, HandleOnly, ReadbackInfo,
        ResourceDesc, SamplerParameters, SubData, SubRegion, Surface, TexelBox, TextureParams, VertexAttrib,
        VertexBindingPoint, VertexBuffer,
    },
    values::{
        AttribType, BufferMask, ClearKind, Filter, FramebufferTarget, MipFilter, PixelFormat, PixelType,
        ResourceTarget, StorageKind, SurfaceKind, Topology, Wrap,
    },
};

use super::{Compiler, Image, SIDE, known::Known};

mod buffers;
mod complaints;
mod draws;
mod images;
mod layouts;
mod maps;
mod programs;
mod queries;
mod shading;
mod targets;

pub use buffers::Written;
pub use complaints::{Complaint, Complaints};
pub use draws::Indexed;
pub use images::{Sight, empty_framebuffer, extent, nearest, shape};
pub use layouts::Attribute;
pub use maps::{Mapped, Maps};
pub use programs::Linked;
pub(super) use shading::CELL;
pub use targets::{rendered, textured};

/// Why a scene could not be drawn.
#[derive(Debug)]
pub enum StageError {
    /// The pipe's.
    Record(RecordError),
    /// A handle could not be had.
    Handle(String),
    /// A program could not be made.
    Program(String),
    /// A read was not answered.
    Read(Status),
    /// Something other than pixels came out wrong.
    Wrong(String),
    /// The scene is at fault.
    Scene(&'static str),
}

impl fmt::Display for StageError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Record(error) => error.fmt(f),
            Self::Handle(text) | Self::Program(text) | Self::Wrong(text) => f.write_str(text),
            Self::Read(status) => write!(f, "the server answered a read with {status:?}"),
            Self::Scene(text) => f.write_str(text),
        }
    }
}

impl std::error::Error for StageError {}

impl From<RecordError> for StageError {
    fn from(error: RecordError) -> Self {
        Self::Record(error)
    }
}

impl From<SyncError<RecordError>> for StageError {
    fn from(error: SyncError<RecordError>) -> Self {
        match error {
            SyncError::Pipe(error) => Self::Record(error),
            SyncError::Mint(error) => Self::Handle(error.to_string()),
        }
    }
}

impl<E: Into<SyncError<RecordError>>> From<Minted<E>> for StageError {
    fn from(error: Minted<E>) -> Self {
        error.0.into().into()
    }
}

/// An error of a mint.
struct Minted<E>(E);

/// A context on a surface, with what it drew.
pub struct Stage<'a, P: Session> {
    pipe: &'a mut P,
    shaders: &'a Compiler,
    /// The server's maps, where it lives in this process.
    maps: Option<&'a dyn Maps>,
    /// Where the server's events put the bytes of buffers.
    written: Written,
    tracker: Box<Tracker>,
    /// The context that is current.
    context: u64,
    /// Trackers of the other contexts of the share group.
    others: Vec<(u64, Box<Tracker>)>,
    slots: SlotSpace<Heap>,
    samplers: SamplerCache<16>,
    /// Numbers of lifetimes and versions.
    number: u64,
    known: Known,
    /// How the server is asked to compare the state with its own, before each verb.
    check: Check,
}

impl<P: Session> fmt::Debug for Stage<'_, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stage").field("recorded", &self.pipe.recorded()).finish_non_exhaustive()
    }
}

impl<'a, P: Session> Stage<'a, P> {
    /// Makes a context current on a surface that is as wide as a scene.
    ///
    /// # Errors
    /// [`StageError`].
    pub fn new(
        pipe: &'a mut P,
        shaders: &'a Compiler,
        written: Written,
        (context, surface): (u64, u64),
    ) -> Result<Self, StageError> {
        pipe.bind_context(&BindContext { context, draw_surface: surface, read_surface: surface })?;
        let mut stage = Self {
            pipe,
            shaders,
            maps: None,
            written,
            tracker: Box::default(),
            context,
            others: Vec::new(),
            slots: SlotSpace::default(),
            samplers: SamplerCache::default(),
            number: 0,
            known: Known::default(),
            check: Check::Off,
        };
        stage.begin()?;
        Ok(stage)
    }

    /// The state that a context begins with.
    fn begin(&mut self) -> Result<(), StageError> {
        let render = self.tracker.render_state();
        render.viewports[0].width = SIDE as f32;
        render.viewports[0].height = SIDE as f32;
        render.scissor_boxes[0].width = SIDE as i32;
        render.scissor_boxes[0].height = SIDE as i32;
        self.units(1)?;
        self.target(Handle::NULL);
        Ok(())
    }

    /// Has the server compare, before each verb, the state that the scene means with the one that it was told. The control
    /// [`Check::Corrupt`] means something else once.
    pub const fn compare(&mut self, check: Check) {
        self.check = check;
    }

    /// The server lives in this process, and gives its own memory where it maps.
    pub const fn reach(&mut self, maps: &'a dyn Maps) {
        self.maps = Some(maps);
    }

    /// Sends the state of the verb that comes next.
    fn declare(&mut self, verb: Verb) -> Result<(), StageError> {
        if self.check == Check::Off {
            return Ok(());
        }
        let mut state = self.tracker.wanted().clone();
        // Where they stand, which the tracker writes when it sends them.
        for (view, unit) in state.sampler_views.covered_mut().iter_mut().zip(0..) {
            view.unit = unit;
        }
        for (buffer, point) in state.vertex_buffers.covered_mut().iter_mut().zip(0..) {
            buffer.binding_index = point;
        }
        let first = state.shader_images.start();
        for (image, unit) in state.shader_images.covered_mut().iter_mut().zip(first..) {
            image.unit = unit;
        }
        let known = &mut self.known;
        known.layout = state.vertex_elements;
        known.read_framebuffer.fbo = state.read_framebuffer;
        known.framebuffer.fbo = state.draw_framebuffer;
        known.framebuffer.is_default = u8::from(state.draw_framebuffer == Handle::DEFAULT_FRAMEBUFFER);
        if known.framebuffer.is_default != 0 {
            state.default_framebuffer = known.framebuffer;
        }
        if self.check == Check::Corrupt {
            self.check = Check::On;
            state.values.active_texture_unit ^= 1;
        }
        let needed = match Snapshot::take(&mut [], &state, known, verb) {
            Ok(_) => return Ok(()),
            Err(small) => small.needed,
        };
        let mut bytes = vec![0; needed];
        let taken = Snapshot::take(&mut bytes, &state, known, verb);
        let snapshot = taken.map_err(|_| StageError::Scene("a state of two sizes"))?;
        Ok(snapshot.send(self.pipe)?)
    }

    /// The tracker, for what has no line of its own here.
    pub fn tracker(&mut self) -> &mut Tracker {
        &mut self.tracker
    }

    /// The pipe itself.
    pub fn pipe(&mut self) -> &mut P {
        self.pipe
    }

    fn next(&mut self) -> u64 {
        self.number += 1;
        self.number
    }

    fn units(&mut self, count: u32) -> Result<(), StageError> {
        self.tracker.values().max_touched_texture_unit = count - 1;
        let views = (0..count).map(|unit| BoundView { unit, ..BoundView::default() });
        let set = self.tracker.sampler_views().set(0, &views.collect::<Vec<_>>())
            && self.tracker.sampler_states().set(0, &vec![Handle::NULL; count as usize]);
        if set { Ok(()) } else { Err(StageError::Scene("there are not so many units")) }
    }

    fn create(&mut self, band: Band, desc: ResourceDesc) -> Result<Handle, StageError> {
        let lifetime = self.next();
        let (pipe, slots) = (&mut *self.pipe, &mut self.slots);
        slots
            .mint_with(band, lifetime, |resource| pipe.resource_create(&ResourceDesc { resource, ..desc }))
            .map_err(|error| Minted(error).into())
    }

    /// A texture of one level, in eight bits a component, sampled without filtering; `texels` are its rows from the
    /// bottom, or nothing.
    ///
    /// # Errors
    /// [`StageError`].
    pub fn texture(&mut self, width: u32, height: u32, texels: Option<&[u8]>) -> Result<Handle, StageError> {
        let desc = ResourceDesc {
            target: ResourceTarget::Texture2D.raw() as u8,
            storage_kind: StorageKind::Mipmap.raw() as u8,
            internal_format: Format::Rgba8.raw(),
            width,
            height,
            depth: 1,
            levels: 1,
            array_layers: 1,
            ..ResourceDesc::default()
        };
        let texture = self.texture_of(desc)?;
        if let Some(texels) = texels {
            let data = SubData {
                resource: texture,
                target: desc.target,
                level_width: width,
                level_height: height,
                level_depth: 1,
                ..SubData::default()
            };
            let region = SubRegion { width, height, depth: 1, ..SubRegion::default() };
            let piece = self.pipe.max_piece();
            upload::texture(self.pipe, &data, &[region], Format::Rgba8, texels, piece).map_err(|error| {
                match error {
                    upload::UploadError::Pipe(error) => StageError::Record(error),
                    upload::UploadError::Region => StageError::Scene("there are fewer texels than that"),
                }
            })?;
        }
        Ok(texture)
    }

    /// A texture, sampled without filtering.
    fn texture_of(&mut self, desc: ResourceDesc) -> Result<Handle, StageError> {
        let texture = self.create(Band::Texture, desc)?;
        let parameters = SamplerParameters {
            wrap_s: Wrap::ClampToEdge.raw(),
            wrap_t: Wrap::ClampToEdge.raw(),
            wrap_r: Wrap::ClampToEdge.raw(),
            min_filter: Filter::Nearest.raw(),
            mag_filter: Filter::Nearest.raw(),
            mip_filter: MipFilter::None.raw(),
            min_lod: -1000.0,
            max_lod: 1000.0,
            max_anisotropy: 1.0,
            ..SamplerParameters::default()
        };
        let sampler = self.samplers.acquire(&parameters, self.pipe, &mut self.slots)?;
        let params = TextureParams {
            resource: texture,
            builtin_sampler: sampler,
            max_level: 1000,
            swizzle: [0, 1, 2, 3],
            min_lod: -1000.0,
            max_lod: 1000.0,
            ..TextureParams::default()
        };
        self.pipe.set_texture_params(&params)?;
        self.known.samplers.push((sampler, parameters));
        self.known.textures.push((texture, ResourceDesc { resource: texture, ..desc }, params));
        Ok(texture)
    }

    /// Ends a buffer or a texture: it is bound no more.
    ///
    /// # Errors
    /// [`StageError`].
    pub fn destroy(&mut self, kind: Kind, band: Band, handle: Handle) -> Result<(), StageError> {
        self.tracker.forget(kind, handle, self.pipe, &mut self.slots)?;
        self.pipe.resource_destroy(&HandleOnly { handle, kind: kind.raw(), ..HandleOnly::default() })?;
        self.slots.free(band, handle).map_err(|_| StageError::Scene("it has ended before"))
    }

    /// Vertices are floats from now on: each attribute has a location and as many components, one behind the other.
    ///
    /// # Errors
    /// [`StageError`].
    pub fn vertices(&mut self, buffer: Handle, attributes: &[(u8, u8)]) -> Result<(), StageError> {
        let stride = attributes.iter().map(|(_, components)| u32::from(*components) * 4).sum();
        let count = attributes.iter().map(|(location, _)| usize::from(*location) + 1).max().unwrap_or(0);
        let unused =
            VertexAttrib { size: 4, component_type: AttribType::Float.raw(), ..VertexAttrib::default() };
        let mut layout = vec![unused; count];
        let mut offset = 0;
        for (location, components) in attributes {
            if let Some(attribute) = layout.get_mut(usize::from(*location)) {
                *attribute =
                    VertexAttrib { offset, stride: stride as i32, size: *components, enabled: 1, ..unused };
            }
            offset += u64::from(*components) * 4;
        }
        let number = self.next();
        let point = VertexBindingPoint { stride: stride as i32, ..VertexBindingPoint::default() };
        let set = self.tracker.set_vertex_elements(number, number, &layout, &[point]);
        (self.known.attributes, self.known.points) = (layout, vec![point]);
        let bound = VertexBuffer { resource: buffer, stride, ..VertexBuffer::default() };
        if set && self.tracker.vertex_buffers().set(0, &[bound]) {
            Ok(())
        } else {
            Err(StageError::Scene("there are not so many attributes"))
        }
    }

    /// The texture of unit 0.
    ///
    /// # Errors
    /// [`StageError`].
    pub fn sample(&mut self, texture: Handle) -> Result<(), StageError> {
        let view = BoundView { texture, ..BoundView::default() };
        if self.tracker.sampler_views().set_one(0, view) {
            Ok(())
        } else {
            Err(StageError::Scene("there is no unit 0"))
        }
    }

    /// What is drawn to and read from: a texture, or with a null handle the surface.
    pub fn target(&mut self, texture: Handle) {
        let mut state = FramebufferState {
            draw_buffers: [0, -1, -1, -1, -1, -1, -1, -1],
            width: SIDE as u16,
            height: SIDE as u16,
            complete: 1,
            ..FramebufferState::default()
        };
        let number = self.next();
        if texture.is_null() {
            (self.known.framebuffer, self.known.read_framebuffer) = (state, state);
            self.tracker.set_framebuffer(FramebufferTarget::Both, 0, number, &state);
            return;
        }
        let surface = Surface {
            resource: texture,
            internal_format: Format::Rgba8.raw(),
            kind: SurfaceKind::Texture.raw() as u8,
            texture_target: ResourceTarget::Texture2D.raw() as u16,
            ..Surface::default()
        };
        state.color[0] = surface;
        state.read_surface = surface;
        (self.known.framebuffer, self.known.read_framebuffer) = (state, state);
        self.tracker.set_framebuffer(FramebufferTarget::Both, number, number, &state);
    }

    /// Clears the colour, inside the scissor box where that is on.
    ///
    /// # Errors
    /// [`StageError`].
    pub fn clear(&mut self, color: [f32; 4]) -> Result<(), StageError> {
        self.tracker.render_state().clear_color = color;
        self.tracker.sync(Verb::Clear, self.pipe, &mut self.slots)?;
        self.declare(Verb::Clear)?;
        Ok(self.pipe.clear(&Clear {
            kind: ClearKind::Whole.raw(),
            buffer_mask: BufferMask::COLOR.raw(),
            ..Clear::default()
        })?)
    }

    /// Draws `count` vertices from `start` on.
    ///
    /// # Errors
    /// [`StageError`].
    pub fn draw(&mut self, mode: Topology, start: u32, count: u32) -> Result<(), StageError> {
        self.tracker.sync(Verb::Draw, self.pipe, &mut self.slots)?;
        self.declare(Verb::Draw)?;
        let info = DrawInfo { mode: mode.raw(), instance_count: 1, num_draws: 1, ..DrawInfo::default() };
        Ok(self.pipe.draw_vbo(&info, &[DrawRange { start, count, index_bias: 0 }], &[])?)
    }

    /// Draws `count` indices of two bytes each.
    ///
    /// # Errors
    /// [`StageError`].
    pub fn draw_indexed(&mut self, mode: Topology, indices: Handle, count: u32) -> Result<(), StageError> {
        let index = self.tracker.index_buffer();
        index.resource = indices;
        index.index_size = 2;
        self.tracker.sync(Verb::Draw, self.pipe, &mut self.slots)?;
        self.declare(Verb::Draw)?;
        let info = DrawInfo {
            mode: mode.raw(),
            index_size: 2,
            index_resource: indices,
            instance_count: 1,
            num_draws: 1,
            ..DrawInfo::default()
        };
        Ok(self.pipe.draw_vbo(&info, &[DrawRange { start: 0, count, index_bias: 0 }], &[])?)
    }

    /// Reads what was drawn.
    ///
    /// # Errors
    /// [`StageError`].
    pub fn read(&mut self) -> Result<Image, StageError> {
        self.tracker.sync(Verb::ReadPixels, self.pipe, &mut self.slots)?;
        self.declare(Verb::ReadPixels)?;
        let size = SIDE * SIDE * 4;
        let pending = self.pipe.ask(size)?;
        let info = ReadbackInfo {
            region: TexelBox { width: SIDE, height: SIDE, depth: 1, ..TexelBox::default() },
            format: PixelFormat::Rgba.raw(),
            pixel_type: PixelType::UnsignedByte.raw(),
            target: ResourceTarget::Texture2D.raw() as u8,
            dst_size: u64::from(size),
            ..ReadbackInfo::default()
        };
        self.pipe.read_pixels(&info, Some(reply_space(&pending)))?;
        let answer = self.pipe.wait_answer(&pending, Patience::Sleep)?;
        let mut bytes = vec![0; size as usize];
        self.pipe.copy_answer(&pending, answer, &mut bytes);
        let released = self.pipe.release(pending);
        debug_assert!(released.is_ok(), "it was answered");
        match answer.status {
            Status::Ok => Image::new(SIDE, SIDE, bytes).ok_or(StageError::Scene("as many bytes as pixels")),
            status => Err(StageError::Read(status)),
        }
    }
}
