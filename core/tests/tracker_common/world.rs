//! A client of three contexts, two of them in one share group, as a front keeps it; with two servers. One hears
//! what the trackers send, the other hears everything at every verb.

use std::collections::HashMap;

use proptest::prelude::*;
use runahead_core::{
    Fault,
    compare::{Contents, Coverage, Difference, LayoutContents, ProgramContents, Snapshot, compare},
    slots::{Band, SlotSpace},
    state::{State, Window},
    tracker::{Constants, Dirty, Family, ProgramBindings, SamplerCache, SyncError, Tracker, Verb},
};
use runahead_wire::{
    Bulk, Format, Handle,
    handle::Kind,
    payload::{self, *},
    pipe::{Encoder, Op, Pipe},
    values::{FramebufferTarget, ResourceTarget, ShaderBufferClass, SurfaceKind},
    zerocopy::IntoBytes,
};

use super::{
    arm::{Arm, Feed, feed},
    heap::Heap,
};

/// What a step does. Its numbers choose among what there is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    Switch,
    Reset,
    NewBuffer,
    RespecifyBuffer,
    NewTexture,
    TextureParams,
    NewRenderbuffer,
    NewView,
    NewQuery,
    NewProgram,
    Link,
    FailLink,
    Delete,
    DeleteLayout,
    DeleteFramebuffer,
    DeleteStreamOutput,
    Constants,
    Bindings,
    Values,
    Render,
    PixelPack,
    Patch,
    Attrib,
    Layout,
    ChangeLayout,
    VertexBuffer,
    VertexWindow,
    IndexBuffer,
    Indirect,
    View,
    Sampler,
    Image,
    Buffers,
    Programs,
    Framebuffer,
    Attach,
    DefaultFramebuffer,
    Condition,
    StreamOutput,
    Draw,
    Dispatch,
    Clear,
    Blit,
    ReadPixels,
    CopyFramebuffer,
    ReadTexture,
}

/// How often each is done, of all.
const WEIGHTS: &[(u32, What)] = &[
    (6, What::Switch),
    (1, What::Reset),
    (3, What::NewBuffer),
    (1, What::RespecifyBuffer),
    (3, What::NewTexture),
    (2, What::TextureParams),
    (2, What::NewRenderbuffer),
    (2, What::NewView),
    (1, What::NewQuery),
    (2, What::NewProgram),
    (2, What::Link),
    (1, What::FailLink),
    (6, What::Delete),
    (1, What::DeleteLayout),
    (1, What::DeleteFramebuffer),
    (1, What::DeleteStreamOutput),
    (3, What::Constants),
    (2, What::Bindings),
    (2, What::Values),
    (4, What::Render),
    (1, What::PixelPack),
    (1, What::Patch),
    (2, What::Attrib),
    (3, What::Layout),
    (2, What::ChangeLayout),
    (3, What::VertexBuffer),
    (1, What::VertexWindow),
    (2, What::IndexBuffer),
    (1, What::Indirect),
    (4, What::View),
    (4, What::Sampler),
    (2, What::Image),
    (4, What::Buffers),
    (3, What::Programs),
    (3, What::Framebuffer),
    (3, What::Attach),
    (1, What::DefaultFramebuffer),
    (1, What::Condition),
    (1, What::StreamOutput),
    (12, What::Draw),
    (3, What::Dispatch),
    (3, What::Clear),
    (2, What::Blit),
    (2, What::ReadPixels),
    (2, What::CopyFramebuffer),
    (1, What::ReadTexture),
];

/// One step of a program.
#[derive(Clone, Copy, Debug)]
pub struct Step {
    pub what: What,
    pub a: u16,
    pub b: u16,
    pub c: u16,
}

/// Any program.
pub fn program(steps: std::ops::Range<usize>) -> impl Strategy<Value = Vec<Step>> {
    let what = proptest::strategy::Union::new_weighted(
        WEIGHTS.iter().map(|(weight, what)| (*weight, Just(*what))).collect(),
    );
    let step = (what, any::<[u16; 3]>()).prop_map(|(what, [a, b, c])| Step { what, a, b, c });
    proptest::collection::vec(step, steps)
}

/// A texture.
#[derive(Clone, Copy, Debug)]
struct Texture {
    desc: ResourceDesc,
    params: TextureParams,
}

/// A program.
#[derive(Debug)]
struct Program {
    desc: ProgramDesc,
    image: Vec<u8>,
    blocks: Vec<i32>,
    units: Vec<ProgramSamplerUnit>,
    storage: Vec<ProgramStorageOverride>,
    names: Vec<u8>,
    constants: Constants<Heap>,
    sent: ProgramBindings<Heap>,
}

/// What contexts share.
#[derive(Default)]
struct Group {
    slots: SlotSpace<Heap>,
    samplers: SamplerCache<4>,
    buffers: HashMap<Handle, ResourceDesc>,
    textures: HashMap<Handle, Texture>,
    renderbuffers: HashMap<Handle, ResourceDesc>,
    views: HashMap<Handle, SamplerView>,
    queries: HashMap<Handle, QueryDesc>,
    programs: HashMap<Handle, Program>,
    sampler_parameters: HashMap<Handle, SamplerParameters>,
    /// Slots of the render states that the other arm makes.
    own_render_states: SlotSpace<Heap>,
}

/// The `n`-th handle of a map, in order.
fn nth<T>(map: &HashMap<Handle, T>, n: u16) -> Option<Handle> {
    let mut handles: Vec<_> = map.keys().copied().collect();
    handles.sort_unstable();
    (!handles.is_empty()).then(|| handles[usize::from(n) % handles.len()])
}

/// As [`nth`], but null every now and then.
fn nth_or_null<T>(map: &HashMap<Handle, T>, n: u16) -> Handle {
    if n.is_multiple_of(5) { Handle::NULL } else { nth(map, n / 5).unwrap_or(Handle::NULL) }
}

/// A vertex array object.
#[derive(Clone, Debug)]
struct LayoutObject {
    id: u64,
    version: u64,
    attributes: Vec<VertexAttrib>,
    points: Vec<VertexBindingPoint>,
}

/// A framebuffer object; id 0 is that of the surfaces.
#[derive(Clone, Copy, Debug, Default)]
struct FramebufferObject {
    id: u64,
    version: u64,
    state: FramebufferState,
}

struct Context {
    token: u64,
    group: usize,
    tracker: Box<Tracker>,
    /// As the application set it; layouts and framebuffers are told by the members below.
    state: Box<State>,
    layouts: Vec<LayoutObject>,
    layout: u64,
    framebuffers: Vec<FramebufferObject>,
    draw: u64,
    read: u64,
    /// Transform feedback objects that both servers have heard of.
    stream_outputs: Vec<u64>,
    /// The render state that the other arm has bound.
    own_render_state: Handle,
    is_blinded: bool,
}

impl Context {
    fn framebuffer(&self, id: u64) -> FramebufferObject {
        *self.framebuffers.iter().find(|object| object.id == id).expect("it is there")
    }
}

/// What is left out on purpose, to see it found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Defect {
    None,
    Blind(Family),
    Constants,
    Bindings,
}

/// Why a program came to an end.
#[derive(Debug)]
pub enum End {
    /// The comparator found this between the client and the server of the trackers.
    Client(Difference),
    /// The comparator found this between the two servers.
    Servers(Difference),
    /// A server faulted.
    Fault(What, Fault),
}

impl From<SyncError<Fault>> for End {
    fn from(error: SyncError<Fault>) -> Self {
        match error {
            SyncError::Pipe(fault) => Self::Fault(What::Draw, fault),
            SyncError::Mint(error) => panic!("{error}"),
        }
    }
}

impl From<Fault> for End {
    fn from(fault: Fault) -> Self {
        Self::Fault(What::Draw, fault)
    }
}

pub struct World {
    tracked: Arm,
    everything: Arm,
    groups: [Group; 2],
    contexts: Vec<Context>,
    current: usize,
    next_id: u64,
    defect: Defect,
    pub coverage: Coverage,
    buffer: Vec<u8>,
}

/// Clears the points of a window that name something.
fn clear<T: Copy + Default + PartialEq + runahead_wire::Member, const N: usize>(
    window: &mut Window<T, N>,
    names: impl Fn(&T) -> bool,
) -> bool {
    let mut found = false;
    for point in window.covered_mut() {
        if names(point) {
            *point = T::default();
            found = true;
        }
    }
    found
}

const CLASSES: [ShaderBufferClass; 3] =
    [ShaderBufferClass::Uniform, ShaderBufferClass::Storage, ShaderBufferClass::Atomic];

impl World {
    pub fn new(defect: Defect) -> Self {
        let mut world = Self {
            tracked: Arm::new(),
            everything: Arm::new(),
            groups: Default::default(),
            contexts: Vec::new(),
            current: 0,
            next_id: 1,
            defect,
            coverage: Coverage::default(),
            buffer: vec![0; 1 << 18],
        };
        for (token, group) in [(1, 0), (2, 0), (3, 1)] {
            for arm in [&mut world.tracked, &mut world.everything] {
                let share = (token == 2).then_some(1);
                arm.applier.create_context(token, share).expect("there is room");
            }
            let mut tracker = Box::new(Tracker::default());
            let default = FramebufferObject { version: 1, ..FramebufferObject::default() };
            tracker.set_framebuffer(FramebufferTarget::Both, 0, 1, &default.state);
            world.contexts.push(Context {
                token,
                group,
                tracker,
                state: Box::default(),
                layouts: Vec::new(),
                layout: 0,
                framebuffers: vec![default],
                draw: 0,
                read: 0,
                stream_outputs: Vec::new(),
                own_render_state: Handle::NULL,
                is_blinded: false,
            });
        }
        world.switch(0).expect("a known context");
        world
    }

    /// Runs a program to its end, if it has one.
    pub fn run(&mut self, program: &[Step]) -> Result<(), End> {
        for step in program {
            self.step(*step).map_err(|end| match end {
                End::Fault(_, fault) => End::Fault(step.what, fault),
                other => other,
            })?;
        }
        Ok(())
    }

    fn switch(&mut self, to: usize) -> Result<(), End> {
        self.current = to;
        let bind = BindContext { context: self.contexts[to].token, ..BindContext::default() };
        Ok(feed([&mut self.tracked, &mut self.everything]).bind_context(&bind)?)
    }

    fn context(&mut self) -> &mut Context {
        &mut self.contexts[self.current]
    }

    fn group(&self) -> &Group {
        &self.groups[self.contexts[self.current].group]
    }

    fn fresh_id(&mut self) -> u64 {
        self.next_id += 1;
        self.next_id
    }

    /// Both servers, with what the current context shares.
    fn shared(&mut self) -> (Encoder<Feed<'_>>, &mut Group) {
        let group = self.contexts[self.current].group;
        (feed([&mut self.tracked, &mut self.everything]), &mut self.groups[group])
    }

    /// The server of the trackers, with the current context and what it shares.
    fn tracked(&mut self) -> (Encoder<Feed<'_>>, &mut Context, &mut SlotSpace<Heap>) {
        let context = &mut self.contexts[self.current];
        let slots = &mut self.groups[context.group].slots;
        (feed([&mut self.tracked]), context, slots)
    }

    fn step(&mut self, Step { what, a, b, c }: Step) -> Result<(), End> {
        match what {
            What::Switch => self.switch(usize::from(a) % 3),
            What::Reset => {
                self.shared().0.applier_reset(&ApplierReset::default())?;
                self.context().tracker.reset();
                Ok(())
            }
            What::NewBuffer => self.new_buffer(a),
            What::RespecifyBuffer => self.respecify_buffer(a, b),
            What::NewTexture => self.new_texture(a),
            What::TextureParams => self.texture_params(a, b),
            What::NewRenderbuffer => self.new_renderbuffer(a),
            What::NewView => self.new_view(a, b),
            What::NewQuery => self.new_query(),
            What::NewProgram => self.new_program(a, b),
            What::Link => self.link(a, b, c),
            What::FailLink => self.fail_link(a),
            What::Delete => self.delete(a, b, c),
            What::DeleteLayout => self.delete_layout(a, b),
            What::DeleteFramebuffer => self.delete_framebuffer(a, b),
            What::DeleteStreamOutput => self.delete_stream_output(a),
            What::Constants => self.constants(a, b, c),
            What::Bindings => self.bindings(a, b, c),
            What::Draw => self.verb(Op::DrawVbo, Verb::Draw, |pipe| {
                let info = DrawInfo { mode: 4, num_draws: 1, instance_count: 1, ..DrawInfo::default() };
                pipe.draw_vbo(&info, &[DrawRange { start: 0, count: 3, index_bias: 0 }], &[])
            }),
            What::Dispatch => self.verb(Op::LaunchGrid, Verb::Dispatch, |pipe| {
                pipe.launch_grid(&GridInfo { grid_x: 1, grid_y: 1, grid_z: 1, ..GridInfo::default() })
            }),
            What::Clear => self.verb(Op::Clear, Verb::Clear, |pipe| {
                pipe.clear(&payload::Clear { buffer_mask: 1, ..payload::Clear::default() })
            }),
            What::Blit => self.verb(Op::Blit, Verb::Blit, |pipe| {
                pipe.blit(&payload::Blit { mask: 1, ..payload::Blit::default() })
            }),
            What::ReadPixels => self.verb(Op::ReadPixels, Verb::ReadPixels, |pipe| {
                pipe.read_pixels(&ReadbackInfo::default(), None)
            }),
            What::CopyFramebuffer => {
                let Some(dst) = nth(&self.group().textures, a) else { return Ok(()) };
                self.verb(Op::CopyFramebufferToTexture, Verb::CopyFramebuffer, |pipe| {
                    let target = ResourceTarget::Texture2D.raw16();
                    let copy = CopyFromFramebuffer { dst, target, width: 1, height: 1, ..Default::default() };
                    pipe.copy_framebuffer_to_texture(&copy)
                })
            }
            What::ReadTexture => {
                let Some(resource) = nth(&self.group().textures, a) else { return Ok(()) };
                self.verb(Op::GetTextureImage, Verb::ReadTexture, |pipe| {
                    let target = ResourceTarget::Texture2D.raw8();
                    pipe.get_texture_image(&ReadbackInfo { resource, target, ..Default::default() }, None)
                })
            }
            _ => {
                self.set(what, a, b, c)?;
                Ok(())
            }
        }
    }

    // Objects.

    fn new_buffer(&mut self, a: u16) -> Result<(), End> {
        let (mut pipe, group) = self.shared();
        if group.buffers.len() < 5 {
            let desc =
                ResourceDesc { storage_kind: 1, buf_size: 64 + u64::from(a % 8), ..Default::default() };
            let made = group.slots.mint_with(Band::Buffer, 0, |resource| {
                pipe.resource_create(&ResourceDesc { resource, ..desc })
            });
            let resource = made.map_err(SyncError::from)?;
            group.buffers.insert(resource, ResourceDesc { resource, ..desc });
        }
        Ok(())
    }

    fn respecify_buffer(&mut self, a: u16, b: u16) -> Result<(), End> {
        let (mut pipe, group) = self.shared();
        if let Some(buffer) = nth(&group.buffers, a) {
            let desc = group.buffers.get_mut(&buffer).expect("it is there");
            desc.buf_size = 64 + u64::from(b % 8);
            pipe.resource_respecify(desc)?;
        }
        Ok(())
    }

    fn new_texture(&mut self, a: u16) -> Result<(), End> {
        let (mut pipe, group) = self.shared();
        if group.textures.len() < 5 {
            let desc = ResourceDesc {
                target: ResourceTarget::Texture2D.raw8(),
                internal_format: Format::Rgba8 as u32,
                width: 8 + u32::from(a % 3),
                height: 8,
                depth: 1,
                array_layers: 1,
                levels: 2,
                ..ResourceDesc::default()
            };
            let made = group.slots.mint_with(Band::Texture, 0, |resource| {
                pipe.resource_create(&ResourceDesc { resource, ..desc })
            });
            let resource = made.map_err(SyncError::from)?;
            let desc = ResourceDesc { resource, ..desc };
            group.textures.insert(resource, Texture { desc, params: TextureParams::default() });
        }
        Ok(())
    }

    fn acquire(&mut self, n: u16) -> Result<Handle, End> {
        let parameters =
            SamplerParameters { lod_bias: f32::from(n % 7), _pad: [n as u8; 3], ..Default::default() };
        let (mut pipe, group) = self.shared();
        let sampler = group.samplers.acquire(&parameters, &mut pipe, &mut group.slots)?;
        group.sampler_parameters.insert(sampler, SamplerParameters { _pad: [0; 3], ..parameters });
        Ok(sampler)
    }

    fn release(&mut self, sampler: Handle) -> Result<(), End> {
        let (mut pipe, group) = self.shared();
        Ok(group.samplers.release(sampler, &mut pipe, &mut group.slots)?)
    }

    fn texture_params(&mut self, a: u16, b: u16) -> Result<(), End> {
        let Some(resource) = nth(&self.group().textures, a) else { return Ok(()) };
        let builtin_sampler = self.acquire(b)?;
        let (mut pipe, group) = self.shared();
        let texture = group.textures.get_mut(&resource).expect("it is there");
        let old = texture.params.builtin_sampler;
        texture.params = TextureParams { resource, builtin_sampler, base_level: b % 2, ..Default::default() };
        pipe.set_texture_params(&texture.params)?;
        self.release(old)
    }

    fn new_renderbuffer(&mut self, a: u16) -> Result<(), End> {
        let (mut pipe, group) = self.shared();
        if group.renderbuffers.len() < 3 {
            let desc = ResourceDesc {
                target: ResourceTarget::Renderbuffer.raw8(),
                internal_format: Format::Rgba8 as u32,
                width: 8 + u32::from(a % 3),
                height: 8,
                ..ResourceDesc::default()
            };
            let made = group.slots.mint_with(Band::Renderbuffer, 0, |resource| {
                pipe.resource_create(&ResourceDesc { resource, ..desc })
            });
            let resource = made.map_err(SyncError::from)?;
            group.renderbuffers.insert(resource, ResourceDesc { resource, ..desc });
        }
        Ok(())
    }

    fn new_view(&mut self, a: u16, b: u16) -> Result<(), End> {
        let (mut pipe, group) = self.shared();
        if let Some(texture) = nth(&group.textures, a).filter(|_| group.views.len() < 4) {
            let view = SamplerView {
                texture,
                internal_format: Format::Rgba8 as u32,
                target: ResourceTarget::Texture2D.raw8(),
                num_levels: 1 + b % 2,
                ..SamplerView::default()
            };
            let made = group.slots.mint_with(Band::SamplerView, 0, |cso| {
                pipe.create_sampler_view(&SamplerView { cso, ..view })
            });
            let cso = made.map_err(SyncError::from)?;
            group.views.insert(cso, SamplerView { cso, ..view });
        }
        Ok(())
    }

    fn new_query(&mut self) -> Result<(), End> {
        let (mut pipe, group) = self.shared();
        if group.queries.len() < 2 {
            let made = group.slots.mint_with(Band::Query, 0, |query| {
                pipe.query_create(&QueryDesc { query, ..QueryDesc::default() })
            });
            let query = made.map_err(SyncError::from)?;
            group.queries.insert(query, QueryDesc { query, ..QueryDesc::default() });
        }
        Ok(())
    }

    fn new_program(&mut self, a: u16, b: u16) -> Result<(), End> {
        let (mut pipe, group) = self.shared();
        if group.programs.len() < 4 {
            let band = if a.is_multiple_of(4) { Band::CompositeShader } else { Band::Shader };
            let made = group.slots.mint_with(band, 0, |cso| create_shader(&mut pipe, &linked(cso, b)));
            let cso = made.map_err(SyncError::from)?;
            let mut program = Program {
                desc: linked(cso, b),
                image: Vec::new(),
                blocks: Vec::new(),
                units: Vec::new(),
                storage: Vec::new(),
                names: Vec::new(),
                constants: Constants::default(),
                sent: ProgramBindings::default(),
            };
            program.linked();
            group.programs.insert(cso, program);
        }
        Ok(())
    }

    fn link(&mut self, a: u16, b: u16, c: u16) -> Result<(), End> {
        let (mut pipe, group) = self.shared();
        if let Some(cso) = nth(&group.programs, a) {
            let program = group.programs.get_mut(&cso).expect("it is there");
            program.desc = linked(cso, b);
            create_shader(&mut pipe, &program.desc)?;
            program.linked();
            if c.is_multiple_of(2) {
                program.blocks.clear();
                program.units.clear();
            }
        }
        Ok(())
    }

    fn fail_link(&mut self, a: u16) -> Result<(), End> {
        let (mut pipe, group) = self.shared();
        if let Some(cso) = nth(&group.programs, a) {
            let program = group.programs.get_mut(&cso).expect("it is there");
            program.desc = ProgramDesc { cso, ..ProgramDesc::default() };
            create_shader(&mut pipe, &program.desc)?;
        }
        Ok(())
    }

    fn constants(&mut self, a: u16, b: u16, c: u16) -> Result<(), End> {
        let (_, group) = self.shared();
        if let Some(program) = nth(&group.programs, a).and_then(|cso| group.programs.get_mut(&cso)) {
            let len = program.image.len();
            if len != 0 {
                let from = usize::from(b) % len;
                let bytes = vec![(c % 3) as u8; 1 + usize::from(c) % (len - from)];
                program.image[from..][..bytes.len()].copy_from_slice(&bytes);
                assert!(program.constants.set(from, &bytes));
            }
        }
        Ok(())
    }

    fn bindings(&mut self, a: u16, b: u16, c: u16) -> Result<(), End> {
        let (_, group) = self.shared();
        if let Some(program) = nth(&group.programs, a).and_then(|cso| group.programs.get_mut(&cso)) {
            match b % 3 {
                0 => program.blocks = vec![i32::from(c % 3); usize::from(c) % 4],
                1 => program.units = vec![ProgramSamplerUnit { location: 1, unit: i32::from(c % 3) }],
                _ => {
                    program.names =
                        if c.is_multiple_of(2) { b"lights".to_vec() } else { b"shadows".to_vec() };
                    program.storage = vec![ProgramStorageOverride {
                        name_size: program.names.len() as u32,
                        binding: i32::from(c % 3),
                        ..ProgramStorageOverride::default()
                    }];
                }
            }
        }
        Ok(())
    }

    // Ends of objects.

    fn delete(&mut self, a: u16, b: u16, c: u16) -> Result<(), End> {
        let group = self.group();
        let chosen = match a % 6 {
            0 => (Kind::Buffer, nth(&group.buffers, b)),
            1 => (Kind::Texture, nth(&group.textures, b)),
            2 => (Kind::Renderbuffer, nth(&group.renderbuffers, b)),
            3 => (Kind::SamplerViewCso, nth(&group.views, b)),
            4 => (Kind::Query, nth(&group.queries, b)),
            _ => (Kind::ShaderCso, nth(&group.programs, b)),
        };
        let (kind, Some(object)) = chosen else { return Ok(()) };
        if kind == Kind::Texture {
            let views = self.group().views.values();
            let views: Vec<_> = views.filter(|view| view.texture == object).map(|view| view.cso).collect();
            for view in views {
                self.end(Kind::SamplerViewCso, view, c)?;
            }
        }
        self.end(kind, object, c)
    }

    /// Ends an object of the share group that no context is to use any more.
    fn end(&mut self, kind: Kind, object: Handle, c: u16) -> Result<(), End> {
        let group = self.contexts[self.current].group;
        for at in 0..self.contexts.len() {
            if self.contexts[at].group == group {
                let version = self.fresh_id();
                // The application of another context has let go before; that of this one may leave it to us.
                let by_hand = at != self.current || c & 1 == 0;
                self.contexts[at].let_go(kind, object, version, by_hand);
            }
        }
        let (mut pipe, context, slots) = self.tracked();
        context.tracker.forget(kind, object, &mut pipe, slots)?;
        let (mut pipe, group) = self.shared();
        let dead = HandleOnly { handle: object, kind: kind.raw(), ..HandleOnly::default() };
        let mut builtin = Handle::NULL;
        match kind {
            Kind::Buffer => {
                group.buffers.remove(&object);
                pipe.resource_destroy(&dead)?;
            }
            Kind::Texture => {
                builtin = group.textures.remove(&object).expect("it is there").params.builtin_sampler;
                pipe.resource_destroy(&dead)?;
            }
            Kind::Renderbuffer => {
                group.renderbuffers.remove(&object);
                pipe.resource_destroy(&dead)?;
            }
            Kind::SamplerViewCso => {
                group.views.remove(&object);
                pipe.delete_sampler_view(&dead)?;
            }
            Kind::Query => {
                group.queries.remove(&object);
                pipe.query_destroy(&dead)?;
            }
            _ => {
                group.programs.remove(&object);
                pipe.delete_shader_state(&dead)?;
            }
        }
        let band = Band::of(kind, object).expect("it has slots");
        group.slots.free(band, object).expect("it is live");
        self.release(builtin)
    }

    fn delete_layout(&mut self, a: u16, b: u16) -> Result<(), End> {
        let context = self.context();
        if context.layouts.is_empty() {
            return Ok(());
        }
        let at = usize::from(a) % context.layouts.len();
        let id = context.layouts.remove(at).id;
        if context.layout == id {
            context.layout = 0;
            if b.is_multiple_of(2) || self.group().slots.find(Band::VertexElements, id).is_none() {
                assert!(self.context().tracker.set_vertex_elements(0, 0, &[], &[]));
            }
        }
        self.end_own(Kind::VertexElementsCso, Band::VertexElements, id)
    }

    fn delete_framebuffer(&mut self, a: u16, b: u16) -> Result<(), End> {
        let context = self.context();
        if context.framebuffers.len() == 1 {
            return Ok(());
        }
        let at = 1 + usize::from(a) % (context.framebuffers.len() - 1);
        let id = context.framebuffers[at].id;
        let default = context.framebuffer(0);
        let bind = |context: &mut Context| {
            for (target, bound) in
                [(FramebufferTarget::Draw, context.draw), (FramebufferTarget::Read, context.read)]
            {
                if bound == id {
                    context.tracker.set_framebuffer(target, 0, default.version, &default.state);
                }
            }
        };
        // Before, or after; the latter is too late where nobody can tell us.
        let first = b.is_multiple_of(2) || self.group().slots.find(Band::Framebuffer, id).is_none();
        if first {
            bind(self.context());
        }
        self.end_own(Kind::Framebuffer, Band::Framebuffer, id)?;
        if !first {
            bind(self.context());
        }
        let context = self.context();
        context.framebuffers.remove(at);
        for bound in [&mut context.draw, &mut context.read] {
            *bound = if *bound == id { 0 } else { *bound };
        }
        Ok(())
    }

    /// Ends an object of the context that has a handle once a verb has used it.
    fn end_own(&mut self, kind: Kind, band: Band, id: u64) -> Result<(), End> {
        let Some(object) = self.group().slots.find(band, id) else { return Ok(()) };
        let (mut pipe, context, slots) = self.tracked();
        context.tracker.forget(kind, object, &mut pipe, slots)?;
        self.mirror()?;
        let dead = HandleOnly { handle: object, kind: kind.raw(), ..HandleOnly::default() };
        let (mut pipe, group) = self.shared();
        pipe.object_death(&dead)?;
        group.slots.free(band, object).expect("it is live");
        Ok(())
    }

    fn delete_stream_output(&mut self, a: u16) -> Result<(), End> {
        let context = self.context();
        if context.stream_outputs.is_empty() {
            return Ok(());
        }
        let at = usize::from(a) % context.stream_outputs.len();
        let id = context.stream_outputs.remove(at);
        if context.state.stream_output == id {
            context.state.stream_output = 0;
        }
        let (mut pipe, context, slots) = self.tracked();
        context.tracker.forget_stream_output(id, &mut pipe, slots)?;
        let dead = StreamOutputBind { lifetime_id: id, ..StreamOutputBind::default() };
        Ok(self.shared().0.delete_stream_output(&dead)?)
    }

    // State.

    fn set(&mut self, what: What, a: u16, b: u16, c: u16) -> Result<(), End> {
        let id = self.fresh_id();
        if what == What::Sampler {
            return self.set_sampler(a, b, c);
        }
        let context = &mut self.contexts[self.current];
        let group = &mut self.groups[context.group];
        let Context { tracker, state, stream_outputs, framebuffers, .. } = &mut *context;
        match what {
            What::Values => {
                let touched = state.values.max_touched_texture_unit.max(u32::from(a % 7));
                state.values.max_touched_texture_unit = touched;
                state.values.xfb_generation = u64::from(b % 4);
                *tracker.values() = state.values;
            }
            What::Render => {
                change_render(&mut state.render, a, b);
                change_render(tracker.render_state(), a, b);
            }
            What::PixelPack => {
                state.pixel_pack.alignment = 1 << (a % 4);
                state.pixel_pack.skip_rows = i32::from(b % 3);
                *tracker.pixel_pack() = state.pixel_pack;
            }
            What::Patch => {
                state.patch.vertices = u32::from(a % 4);
                state.patch.inner[1] = if b.is_multiple_of(3) { f32::NAN } else { f32::from(b % 2) };
                *tracker.patch() = state.patch;
            }
            What::Attrib => {
                let at = usize::from(a % 32);
                state.attrib_defaults[at].int_view[usize::from(b % 4)] = u32::from(c % 3);
                tracker.attrib_defaults()[at] = state.attrib_defaults[at];
            }
            What::VertexBuffer => {
                let buffer = vertex_buffer(nth_or_null(&group.buffers, b), c);
                let point = u32::from(a % 6);
                assert!(state.vertex_buffers.set_one(point, buffer));
                assert!(tracker.vertex_buffers().set_one(point, buffer));
            }
            What::VertexWindow => {
                let buffers = [vertex_buffer(nth_or_null(&group.buffers, b), c); 4];
                let buffers = &buffers[..usize::from(c % 5)];
                assert!(state.vertex_buffers.set(u32::from(a % 28), buffers));
                assert!(tracker.vertex_buffers().set(u32::from(a % 28), buffers));
            }
            What::IndexBuffer => {
                let resource = nth_or_null(&group.buffers, a);
                state.index_buffer =
                    IndexBuffer { resource, offset: u64::from(b % 3), index_size: 2, ..Default::default() };
                *tracker.index_buffer() = state.index_buffer;
            }
            What::Indirect => {
                let [draw_indirect, parameter] = [a, b].map(|n| nth_or_null(&group.buffers, n));
                state.indirect_buffers = IndirectBuffers { draw_indirect, parameter };
                *tracker.indirect_buffers() = state.indirect_buffers;
            }
            What::View => {
                let texture = nth_or_null(&group.textures, b);
                let view = nth_or_null(&group.views, c);
                let fits = group.views.get(&view).is_some_and(|view| view.texture == texture);
                let view = if fits { view } else { Handle::NULL };
                let bound = BoundView { view, texture, ..BoundView::default() };
                for views in [&mut state.sampler_views, tracker.sampler_views()] {
                    let set = match a % 7 {
                        6 => views.set(u32::from(b % 3), &[bound; 2]),
                        unit => views.set_one(u32::from(unit), bound),
                    };
                    assert!(set);
                }
            }
            What::Image => {
                let resource = nth_or_null(&group.textures, b);
                let image =
                    ImageView { resource, level: c % 2, access: (c % 3) as u8, ..ImageView::default() };
                assert!(state.shader_images.set_one(u32::from(a % 6), image));
                assert!(tracker.shader_images().set_one(u32::from(a % 6), image));
            }
            What::Buffers => {
                let class = CLASSES[usize::from(c % 3)];
                let resource = nth_or_null(&group.buffers, b);
                let range = BufferRange { resource, offset: u64::from(c % 4) * 4, size: 16 };
                let point = if a.is_multiple_of(9) { 83 } else { u32::from(a % 6) };
                for window in [state.buffers_mut(class), tracker.shader_buffers(class)] {
                    assert!(window.buffers.set_one(point, range));
                    window.writable[0] ^= u32::from(c & 8);
                }
            }
            What::Programs => {
                let [shader, draw, dispatch] = [a, b, c].map(|n| nth_or_null(&group.programs, n));
                (state.shader, state.draw_program, state.dispatch_program) = (shader, draw, dispatch);
                tracker.set_programs(shader, draw, dispatch);
            }
            What::Condition => {
                let query = nth_or_null(&group.queries, a);
                state.conditional_render =
                    ConditionalRender { query, mode: u32::from(b % 4), ..Default::default() };
                *tracker.conditional_render() = state.conditional_render;
            }
            What::StreamOutput => {
                let known = &*stream_outputs;
                state.stream_output = match a % 4 {
                    0 => 0,
                    1 => id,
                    _ if known.is_empty() => 0,
                    _ => known[usize::from(b) % known.len()],
                };
                tracker.set_stream_output(state.stream_output);
            }
            What::Layout => context.bind_layout(id, a, b),
            What::ChangeLayout => context.change_layout(id, a, b),
            What::Framebuffer => context.bind_framebuffer(id, a, b),
            What::Attach => {
                let surface = match b % 4 {
                    0 => Surface::default(),
                    1 => surface(SurfaceKind::Renderbuffer, nth(&group.renderbuffers, c)),
                    _ => surface(SurfaceKind::Texture, nth(&group.textures, c)),
                };
                return self.attach(id, a, surface, b);
            }
            What::DefaultFramebuffer => {
                let default = &mut framebuffers[0];
                default.version = id;
                default.state.width = a % 3;
                let default = *default;
                tracker.set_framebuffer(FramebufferTarget::Named, 0, id, &default.state);
            }
            other => panic!("{other:?} sets no state"),
        }
        Ok(())
    }

    fn set_sampler(&mut self, a: u16, b: u16, c: u16) -> Result<(), End> {
        let unit = u32::from(a % 6);
        let new = if b.is_multiple_of(5) { Handle::NULL } else { self.acquire(b)? };
        let Context { tracker, state, .. } = self.context();
        let old = state.sampler_states.get(unit);
        assert!(state.sampler_states.set_one(unit, new));
        assert!(tracker.sampler_states().set_one(unit, new));
        if c.is_multiple_of(2) {
            // Not needed for a sampler that may stay cached, and no harm.
            let still = state.sampler_states.covered().contains(&old);
            let (mut pipe, context, slots) = self.tracked();
            if !still {
                context.tracker.forget(Kind::SamplerCso, old, &mut pipe, slots)?;
            }
        }
        self.release(old)
    }

    fn attach(&mut self, version: u64, a: u16, surface: Surface, b: u16) -> Result<(), End> {
        let context = self.context();
        if context.framebuffers.len() == 1 {
            return Ok(());
        }
        let at = 1 + usize::from(a) % (context.framebuffers.len() - 1);
        let object = &mut context.framebuffers[at];
        object.version = version;
        match b % 3 {
            0 => object.state.depth = surface,
            1 => object.state.color[0] = surface,
            _ => object.state.color[7] = surface,
        }
        let FramebufferObject { id, state, .. } = *object;
        let (mut pipe, context, slots) = self.tracked();
        if b.is_multiple_of(7) {
            context.tracker.named_framebuffer(id, version, &state, &mut pipe, slots)?;
        } else {
            context.tracker.set_framebuffer(FramebufferTarget::Named, id, version, &state);
        }
        Ok(())
    }

    // Verbs.

    fn verb(
        &mut self,
        op: Op,
        verb: Verb,
        record: impl Fn(&mut Encoder<Feed<'_>>) -> Result<(), Fault>,
    ) -> Result<(), End> {
        let defect = self.defect;
        let group = self.contexts[self.current].group;
        let context = &mut self.contexts[self.current];
        let Group { slots, programs, .. } = &mut self.groups[group];
        let mut pipe = feed([&mut self.tracked]);
        if let Defect::Blind(family) = defect
            && !context.is_blinded
        {
            // Not from the start, where a verb without values would be a fault.
            context.tracker.sync(Verb::Draw, &mut pipe, slots)?;
            context.tracker.blind(Dirty::of(family));
            context.is_blinded = true;
        }
        let program = match verb {
            Verb::Draw => context.state.draw_program,
            Verb::Dispatch => context.state.dispatch_program,
            _ => Handle::NULL,
        };
        if let Some(program) = programs.get_mut(&program) {
            let Program { desc, blocks, units, storage, names, constants, sent, .. } = program;
            if defect != Defect::Bindings {
                sent.emit(&mut pipe, desc.cso, blocks, units, storage, names)?;
            }
            if defect != Defect::Constants {
                constants.emit(&mut pipe, desc.cso)?;
            }
        }
        context.tracker.sync(verb, &mut pipe, slots)?;
        drop(pipe);

        let expected = self.expected();
        self.send_everything(&expected)?;
        self.compare(&expected, op, verb)?;
        record(&mut feed([&mut self.tracked, &mut self.everything]))?;
        if verb == Verb::Draw {
            let context = self.context();
            let bound = context.state.stream_output;
            if bound != 0 && !context.stream_outputs.contains(&bound) {
                context.stream_outputs.push(bound);
            }
        }
        Ok(())
    }

    /// The state of the current context, derived afresh.
    fn expected(&self) -> Box<State> {
        let context = &self.contexts[self.current];
        let slots = &self.groups[context.group].slots;
        let mut state = context.state.clone();
        let units = state.values.max_touched_texture_unit + 1;
        state.sampler_views.cover(units);
        state.sampler_states.cover(units);
        let start = state.sampler_views.start();
        state.sampler_views.covered_mut().iter_mut().zip(start..).for_each(|(view, unit)| view.unit = unit);
        let start = state.shader_images.start();
        state.shader_images.covered_mut().iter_mut().zip(start..).for_each(|(image, unit)| image.unit = unit);
        let start = state.vertex_buffers.start();
        let points = state.vertex_buffers.covered_mut().iter_mut().zip(start..);
        points.for_each(|(buffer, point)| buffer.binding_index = point);
        let fbo = |id| match id {
            0 => Handle::DEFAULT_FRAMEBUFFER,
            id => slots.find(Band::Framebuffer, id).unwrap_or(Handle::NULL),
        };
        state.vertex_elements = slots.find(Band::VertexElements, context.layout).unwrap_or(Handle::NULL);
        (state.draw_framebuffer, state.read_framebuffer) = (fbo(context.draw), fbo(context.read));
        state.default_framebuffer = FramebufferState {
            fbo: Handle::DEFAULT_FRAMEBUFFER,
            is_default: 1,
            ..context.framebuffer(0).state
        };
        state
    }

    fn known(&self) -> Known<'_> {
        let group = self.contexts[self.current].group;
        Known { group: &self.groups[group], number: group, contexts: &self.contexts }
    }

    /// Holds the server of the trackers against the client, and against the server that was told everything.
    fn compare(&mut self, expected: &State, op: Op, verb: Verb) -> Result<(), End> {
        let mut buffer = std::mem::take(&mut self.buffer);
        let (bind, objects) = self.tracked.applier.current().expect("a context is current");
        let record = self.tracked.applier.ordinal() + 1;
        let client = Snapshot::take(&mut buffer, expected, &self.known(), verb).expect("it fits");
        let members = compare(client, &bind.state, objects, op, record).map_err(End::Client)?;
        let (told, told_objects) = self.everything.applier.current().expect("a context is current");
        let everything = Snapshot::take(&mut buffer, &told.state, told_objects, verb).expect("it fits");
        let again = compare(everything, &bind.state, objects, op, record).map_err(End::Servers)?;
        assert_eq!(members, again, "as much was compared both times");
        self.buffer = buffer;
        self.coverage.count(members);
        Ok(())
    }

    /// Tells the other server the contents of the objects that the trackers told on the way: slots are dense, so
    /// it hears of all that have a handle, in their order.
    fn mirror(&mut self) -> Result<(), End> {
        let number = self.contexts[self.current].group;
        let slots = &self.groups[number].slots;
        let contexts: Vec<_> = self.contexts.iter().filter(|context| context.group == number).collect();
        let mut pipe = feed([&mut self.everything]);

        let mut layouts: Vec<_> = contexts.iter().flat_map(|context| &context.layouts).collect();
        layouts.retain(|layout| slots.find(Band::VertexElements, layout.id).is_some());
        layouts.sort_by_key(|layout| slots.find(Band::VertexElements, layout.id));
        for layout in layouts {
            let elements = VertexElements {
                cso: slots.find(Band::VertexElements, layout.id).expect("it has a handle"),
                attribute_count: layout.attributes.len() as u32,
                binding_point_count: layout.points.len() as u32,
                ..VertexElements::default()
            };
            let blob = [layout.attributes.as_bytes(), layout.points.as_bytes()].concat();
            pipe.create_vertex_elements(&elements, Bulk::Bytes(&blob))?;
        }

        let mut framebuffers: Vec<_> = contexts.iter().flat_map(|context| &context.framebuffers).collect();
        framebuffers.retain(|object| slots.find(Band::Framebuffer, object.id).is_some());
        framebuffers.sort_by_key(|object| slots.find(Band::Framebuffer, object.id));
        for object in framebuffers {
            let fbo = slots.find(Band::Framebuffer, object.id).expect("it has a handle");
            let target = FramebufferTarget::Named.raw8();
            pipe.set_framebuffer_state(&FramebufferState { fbo, target, ..object.state })?;
        }
        Ok(())
    }

    /// Tells the other server everything.
    fn send_everything(&mut self, state: &State) -> Result<(), End> {
        self.mirror()?;
        let context = &mut self.contexts[self.current];
        let group = &mut self.groups[context.group];
        let mut pipe = feed([&mut self.everything]);
        let of = |handle, kind: Kind| HandleOnly { handle, kind: kind.raw(), ..HandleOnly::default() };

        pipe.set_context_values(&state.values)?;
        // A CSO of its own at every verb.
        let (pipeline, dynamic) = halves(&state.render);
        let cso = group.own_render_states.mint_with(Band::RenderState, 0, |cso| {
            let desc = RenderStateDesc { cso, chunk_mask: 0x7F, ..RenderStateDesc::default() };
            pipe.create_render_state(&desc, Bulk::Bytes(&pipeline))
        });
        let cso = cso.map_err(SyncError::from)?;
        pipe.bind_render_state(&BindRenderState { cso, ..BindRenderState::default() })?;
        let old = std::mem::replace(&mut context.own_render_state, cso);
        if !old.is_null() {
            pipe.delete_render_state(&of(old, Kind::RenderStateCso))?;
            group.own_render_states.free(Band::RenderState, old).expect("it is live");
        }
        let head = DynamicState { chunk_mask: 0xFF, ..DynamicState::default() };
        pipe.set_dynamic_state(&head, Bulk::Bytes(&dynamic))?;

        pipe.set_pixel_pack_state(&state.pixel_pack)?;
        pipe.set_patch_state(&state.patch)?;
        let head = VertexAttribDefaults { mask: u32::MAX, count: 32 };
        pipe.set_vertex_attrib_defaults(&head, &state.attrib_defaults)?;
        pipe.bind_vertex_elements(&of(state.vertex_elements, Kind::VertexElementsCso))?;
        let (start, points) = (state.vertex_buffers.start(), state.vertex_buffers.covered());
        let head = VertexBuffers { start, count: points.len() as u32, ..VertexBuffers::default() };
        pipe.set_vertex_buffers(&head, points)?;
        pipe.set_index_buffer(&state.index_buffer)?;
        pipe.set_indirect_buffers(&state.indirect_buffers)?;
        let views = state.sampler_views.covered();
        pipe.set_sampler_views(&SamplerViews { start: 0, count: views.len() as u32 }, views)?;
        let samplers = state.sampler_states.covered();
        pipe.bind_sampler_states(&SamplerStates { start: 0, count: samplers.len() as u32 }, samplers)?;
        let (start, images) = (state.shader_images.start(), state.shader_images.covered());
        pipe.set_shader_images(&ShaderImages { start, count: images.len() as u32 }, images)?;
        for class in CLASSES {
            let window = state.buffers(class);
            let head = ShaderBuffers {
                class: class.raw(),
                start: window.buffers.start(),
                count: window.buffers.count(),
                writable_mask: window.writable,
            };
            pipe.set_shader_buffers(&head, window.buffers.covered())?;
        }
        pipe.bind_shader_state(&of(state.shader, Kind::ShaderCso))?;
        pipe.set_draw_program(&of(state.draw_program, Kind::ShaderCso))?;
        pipe.set_dispatch_program(&of(state.dispatch_program, Kind::ShaderCso))?;
        for program in group.programs.values() {
            let head = payload::ProgramBindings {
                cso: program.desc.cso,
                block_binding_count: program.blocks.len() as u32,
                sampler_unit_count: program.units.len() as u32,
                storage_override_count: program.storage.len() as u32,
                ..payload::ProgramBindings::default()
            };
            let Program { blocks, units, storage, names, image, .. } = program;
            pipe.set_program_bindings(&head, blocks, units, storage, Bulk::Bytes(names))?;
            if !image.is_empty() {
                let head = GlobalConstants { shader_cso: program.desc.cso, ..GlobalConstants::default() };
                pipe.set_global_constants(&head, Bulk::Bytes(image))?;
            }
        }
        for (id, fbo, target) in [
            (context.draw, state.draw_framebuffer, FramebufferTarget::Draw),
            (context.read, state.read_framebuffer, FramebufferTarget::Read),
        ] {
            // One without a handle was never told of by the tracker, and no verb has needed it.
            if !fbo.is_null() {
                let (is_default, target) = (u8::from(id == 0), target.raw8());
                let content = context.framebuffer(id).state;
                pipe.set_framebuffer_state(&FramebufferState { fbo, is_default, target, ..content })?;
            }
        }
        pipe.set_conditional_render(&state.conditional_render)?;
        let bind = StreamOutputBind { lifetime_id: state.stream_output, ..StreamOutputBind::default() };
        Ok(pipe.bind_stream_output(&bind)?)
    }
}

impl Program {
    /// What a link does to what is bound to the program.
    fn linked(&mut self) {
        let size = self.desc.global_ubo_size as usize;
        self.image = vec![0; size];
        assert!(self.constants.relinked(size));
        self.sent.relinked();
    }
}

impl Context {
    /// The application lets go of an object; its tracker hears of it by the usual ways, or not.
    fn let_go(&mut self, kind: Kind, object: Handle, version: u64, by_hand: bool) {
        let Self { state, tracker, .. } = &mut *self;
        macro_rules! points {
            ($($window:ident: $member:ident),+) => {{ $(
                let found = clear(&mut state.$window, |point| point.$member == object);
                if found && by_hand {
                    clear(tracker.$window(), |point| point.$member == object);
                }
            )+ }};
        }
        macro_rules! values {
            ($($value:ident: $member:ident),+) => { $(
                if state.$value.$member == object {
                    state.$value.$member = Handle::NULL;
                    if by_hand {
                        tracker.$value().$member = Handle::NULL;
                    }
                }
            )+ };
        }
        match kind {
            Kind::Buffer => {
                points!(vertex_buffers: resource);
                if state.index_buffer.resource == object {
                    state.index_buffer = IndexBuffer::default();
                    if by_hand {
                        *tracker.index_buffer() = IndexBuffer::default();
                    }
                }
                values!(indirect_buffers: draw_indirect, indirect_buffers: parameter);
                for class in CLASSES {
                    let named = |range: &BufferRange| range.resource == object;
                    if clear(&mut state.buffers_mut(class).buffers, named) && by_hand {
                        clear(&mut tracker.shader_buffers(class).buffers, named);
                    }
                }
            }
            Kind::Texture => {
                points!(sampler_views: texture, shader_images: resource);
                self.detach(SurfaceKind::Texture, object, version, by_hand);
            }
            Kind::Renderbuffer => self.detach(SurfaceKind::Renderbuffer, object, version, by_hand),
            Kind::SamplerViewCso => points!(sampler_views: view),
            Kind::Query => {
                if state.conditional_render.query == object {
                    state.conditional_render = ConditionalRender::default();
                    if by_hand {
                        *tracker.conditional_render() = ConditionalRender::default();
                    }
                }
            }
            Kind::ShaderCso => {
                for program in [&mut state.shader, &mut state.draw_program, &mut state.dispatch_program] {
                    *program = if *program == object { Handle::NULL } else { *program };
                }
                if by_hand {
                    tracker.set_programs(state.shader, state.draw_program, state.dispatch_program);
                }
            }
            other => panic!("{other:?} is no object of the share group"),
        }
    }

    fn detach(&mut self, kind: SurfaceKind, object: Handle, version: u64, by_hand: bool) {
        for framebuffer in &mut self.framebuffers {
            let state = &mut framebuffer.state;
            let mut found = false;
            for surface in state.color.iter_mut().chain([&mut state.depth]) {
                if surface.kind() == Some(kind) && surface.resource == object {
                    *surface = Surface::default();
                    found = true;
                }
            }
            if found {
                framebuffer.version = version;
                if by_hand {
                    let FramebufferObject { id, version, state } = *framebuffer;
                    self.tracker.set_framebuffer(FramebufferTarget::Named, id, version, &state);
                }
            }
        }
    }

    fn tell_layout(&mut self) {
        let Self { layouts, layout, tracker, .. } = self;
        let told = match layouts.iter().find(|object| object.id == *layout) {
            Some(LayoutObject { id, version, attributes, points }) => {
                tracker.set_vertex_elements(*id, *version, attributes, points)
            }
            None => tracker.set_vertex_elements(0, 0, &[], &[]),
        };
        assert!(told);
    }

    fn bind_layout(&mut self, id: u64, a: u16, b: u16) {
        self.layout = match a % 5 {
            0 => 0,
            1 | 2 if self.layouts.len() < 4 => {
                let (attributes, points) = layout_content(b);
                self.layouts.push(LayoutObject { id, version: id, attributes, points });
                id
            }
            _ if self.layouts.is_empty() => 0,
            _ => self.layouts[usize::from(b) % self.layouts.len()].id,
        };
        self.tell_layout();
    }

    fn change_layout(&mut self, version: u64, a: u16, b: u16) {
        if !self.layouts.is_empty() {
            let at = usize::from(a) % self.layouts.len();
            let object = &mut self.layouts[at];
            object.version = version;
            (object.attributes, object.points) = layout_content(b);
            if object.id == self.layout {
                self.tell_layout();
            }
        }
    }

    fn bind_framebuffer(&mut self, id: u64, a: u16, b: u16) {
        let bound = match a % 5 {
            0 => 0,
            1 | 2 if self.framebuffers.len() < 4 => {
                self.framebuffers.push(FramebufferObject { id, version: id, ..FramebufferObject::default() });
                id
            }
            _ => self.framebuffers[usize::from(a / 5) % self.framebuffers.len()].id,
        };
        let target = match b % 3 {
            0 => FramebufferTarget::Draw,
            1 => FramebufferTarget::Read,
            _ => FramebufferTarget::Both,
        };
        if target != FramebufferTarget::Read {
            self.draw = bound;
        }
        if target != FramebufferTarget::Draw {
            self.read = bound;
        }
        let FramebufferObject { version, state, .. } = self.framebuffer(bound);
        self.tracker.set_framebuffer(target, bound, version, &state);
    }
}

/// Contents of a layout.
fn layout_content(n: u16) -> (Vec<VertexAttrib>, Vec<VertexBindingPoint>) {
    let points = 1 + n % 3;
    let attribute = |at: u16| VertexAttrib {
        offset: u64::from(n % 4),
        size: 4,
        enabled: 1,
        binding_index: (at % points) as u8,
        ..VertexAttrib::default()
    };
    let point = VertexBindingPoint { offset: u64::from(n % 2), stride: 16, divisor: 0 };
    ((0..n % 4).map(attribute).collect(), vec![point; usize::from(points)])
}

fn vertex_buffer(resource: Handle, n: u16) -> VertexBuffer {
    VertexBuffer { resource, offset: u64::from(n % 3), stride: 16, ..VertexBuffer::default() }
}

fn surface(kind: SurfaceKind, resource: Option<Handle>) -> Surface {
    match resource {
        Some(resource) => Surface { resource, kind: kind.raw8(), ..Surface::default() },
        None => Surface::default(),
    }
}

/// One of some changes, to one of some values.
fn change_render(render: &mut RenderState, a: u16, b: u16) {
    let (byte, word) = ((b % 2) as u8, u32::from(b % 4));
    match a % 12 {
        0 => render.depth_func = word,
        1 => render.depth_test = byte,
        2 => render.color_masks[usize::from(b % 8)].green ^= 1,
        3 => render.blend[usize::from(b % 3)].enabled = u32::from(byte),
        4 => render.sample_mask_value = u32::from(b),
        5 => render.polygon_mode_back = u32::from(byte),
        6 => render.viewports[usize::from(b % 16)].width = f32::from(b % 5),
        7 => render.line_width = if b % 4 == 3 { f32::NAN } else { f32::from(b % 4) },
        8 => render.stencil_front_ref = i32::from(b % 4),
        9 => render.clear_color[0] = f32::from(b % 4),
        10 => render.scissor_boxes[1].x = i32::from(b % 4),
        _ => render.primitive_restart_index = word,
    }
}

/// Both halves of a render state as blobs, cut by the offsets that the payload's documentation gives.
fn halves(render: &RenderState) -> (Vec<u8>, Vec<u8>) {
    let starts = [0, 264, 292, 312, 584, 752, 772, 784, 800, 812, 840, 868, 876, 880, 904, 1168];
    let mut halves = [Vec::new(), Vec::new()];
    for (number, bounds) in starts.windows(2).enumerate() {
        halves[number % 2].extend_from_slice(&render.as_bytes()[bounds[0]..bounds[1]]);
    }
    let [dynamic, pipeline] = halves;
    (pipeline, dynamic)
}

fn linked(cso: Handle, n: u16) -> ProgramDesc {
    let global_ubo_size = [0, 16, 32, 48][usize::from(n % 4)];
    ProgramDesc {
        cso,
        stage_mask: 1 | 1 << 4,
        global_ubo_size,
        spirv_status: 1,
        link_status: 1,
        ..ProgramDesc::default()
    }
}

fn create_shader(pipe: &mut Encoder<Feed<'_>>, desc: &ProgramDesc) -> Result<(), Fault> {
    let module = |stage: u32| {
        if desc.stage_mask >> stage & 1 == 1 { Bulk::Bytes(&[3, 2, 35, 7]) } else { Bulk::EMPTY }
    };
    let modules = [0, 1, 2, 3, 4, 5].map(module);
    pipe.create_shader_state(desc, modules, Bulk::Bytes(b"archive"))
}

/// What the client knows of its objects.
struct Known<'a> {
    group: &'a Group,
    number: usize,
    contexts: &'a [Context],
}

impl Known<'_> {
    fn contexts(&self) -> impl Iterator<Item = &Context> {
        self.contexts.iter().filter(|context| context.group == self.number)
    }
}

impl Contents for Known<'_> {
    fn buffer(&self, buffer: Handle) -> Option<ResourceDesc> {
        self.group.buffers.get(&buffer).copied()
    }

    fn texture(&self, texture: Handle) -> Option<(ResourceDesc, TextureParams)> {
        self.group.textures.get(&texture).map(|texture| (texture.desc, texture.params))
    }

    fn renderbuffer(&self, renderbuffer: Handle) -> Option<ResourceDesc> {
        self.group.renderbuffers.get(&renderbuffer).copied()
    }

    fn framebuffer(&self, fbo: Handle) -> Option<FramebufferState> {
        let mut all = self.contexts().flat_map(|context| &context.framebuffers);
        let object = all.find(|object| self.group.slots.find(Band::Framebuffer, object.id) == Some(fbo))?;
        Some(FramebufferState { fbo, ..object.state })
    }

    fn vertex_elements(&self, layout: Handle) -> Option<LayoutContents<'_>> {
        let mut all = self.contexts().flat_map(|context| &context.layouts);
        let object =
            all.find(|object| self.group.slots.find(Band::VertexElements, object.id) == Some(layout))?;
        Some(LayoutContents { attributes: &object.attributes, points: &object.points })
    }

    fn sampler(&self, sampler: Handle) -> Option<SamplerParameters> {
        self.group.sampler_parameters.get(&sampler).copied()
    }

    fn sampler_view(&self, view: Handle) -> Option<SamplerView> {
        self.group.views.get(&view).copied()
    }

    fn program(&self, program: Handle) -> Option<ProgramContents<'_>> {
        let program = self.group.programs.get(&program)?;
        Some(ProgramContents {
            desc: program.desc,
            constants: &program.image,
            blocks: &program.blocks,
            sampler_units: &program.units,
            storage: &program.storage,
            names: &program.names,
        })
    }

    fn query(&self, query: Handle) -> Option<QueryDesc> {
        self.group.queries.get(&query).copied()
    }
}
