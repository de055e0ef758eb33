//! The reference's busiest steady load, and what a renderer has set up before it.

use runahead_core::{
    RecordError,
    slots::SlotSpace,
    tracker::{Constants, Tracker, Verb},
};
use runahead_linux::storage::Heap;
use runahead_wire::{
    Bulk, Handle,
    payload::{
        BindContext, BufferRange, DrawInfo, DrawRange, IndexBuffer, Present, ProgramDesc, ResourceDesc,
        SubData, VertexBuffer,
    },
    pipe::Pipe,
    values::{ShaderBufferClass, StorageKind},
};

/// What a scene is recorded through.
pub trait Recording: Pipe<Error = RecordError> {}

impl<P: Pipe<Error = RecordError>> Recording for P {}

/// A draw as a renderer's inner loop makes it: one range of indexed triangles.
#[must_use]
pub fn draw() -> (DrawInfo, [DrawRange; 1]) {
    let info = DrawInfo { mode: 4, index_size: 2, instance_count: 1, num_draws: 1, ..DrawInfo::default() };
    (info, [DrawRange { start: 0, count: 36, index_bias: 0 }])
}

/// Buffers that draws take turns with.
const BUFFERS: u32 = 16;

/// What a renderer has set up before its frames.
#[derive(Debug)]
pub struct Scene {
    /// Its state.
    pub tracker: Tracker,
    /// Its handles.
    pub slots: SlotSpace<Heap>,
    /// The uniforms of its program.
    pub constants: Constants<Heap>,
    /// Its program.
    pub program: Handle,
    /// Its draw.
    pub info: DrawInfo,
    /// The ranges of it.
    pub ranges: [DrawRange; 1],
}

impl Scene {
    /// Sets up buffers and a program, and draws once.
    ///
    /// # Panics
    /// The session is lost: what measures has nothing to measure then. So for the frames.
    pub fn new(pipe: &mut impl Recording) -> Self {
        pipe.bind_context(&BindContext { context: 1, draw_surface: 1, read_surface: 1 }).expect("recorded");
        for slot in 1..=BUFFERS {
            pipe.resource_create(&ResourceDesc {
                resource: Handle::new(slot, 1),
                storage_kind: StorageKind::Buffer.raw() as u8,
                buf_size: 1 << 20,
                ..ResourceDesc::default()
            })
            .expect("recorded");
        }
        let program = Handle::new(1, 1);
        let mut modules = [Bulk::EMPTY; 6];
        modules[0] = Bulk::Bytes(&[0; 64]);
        let desc = ProgramDesc {
            cso: program,
            stage_mask: 1,
            global_ubo_size: 1024,
            link_status: 1,
            ..ProgramDesc::default()
        };
        pipe.create_shader_state(&desc, modules, Bulk::Bytes(&[0; 64])).expect("recorded");
        let mut tracker = Tracker::default();
        tracker.set_programs(program, program, program);
        let mut constants = Constants::default();
        assert!(constants.relinked(1024), "memory for an image");
        let (mut info, ranges) = draw();
        info.index_resource = Handle::new(1, 1);
        let mut scene = Self { tracker, slots: SlotSpace::default(), constants, program, info, ranges };
        scene.bind(0);
        scene.draw(pipe);
        scene
    }

    /// Buffers of another object.
    fn bind(&mut self, object: u32) {
        let buffer = |at: u32| Handle::new(at % BUFFERS + 1, 1);
        let vertices = VertexBuffer { resource: buffer(object), stride: 32, ..VertexBuffer::default() };
        assert!(self.tracker.vertex_buffers().set(0, &[vertices]), "within the window");
        *self.tracker.index_buffer() =
            IndexBuffer { resource: buffer(object + 1), index_size: 2, ..IndexBuffer::default() };
        let offset = u64::from(object) * 256;
        let range = BufferRange { resource: buffer(object + 2), offset, size: 256 };
        let uniforms = self.tracker.shader_buffers(ShaderBufferClass::Uniform);
        assert!(uniforms.buffers.set(0, &[range]), "within the window");
    }

    fn draw(&mut self, pipe: &mut impl Recording) {
        let outcome = self.tracker.sync(Verb::Draw, pipe, &mut self.slots);
        assert!(outcome.is_ok(), "{outcome:?}");
        self.constants.emit(pipe, self.program).expect("recorded");
        pipe.draw_vbo(&self.info, &self.ranges, &[]).expect("recorded");
    }
}

/// Draws of a frame, each with its own buffers and uniforms: the reference's busiest steady load.
pub const DRAWS: u32 = 1_471;
/// Uploads of a frame.
const UPLOADS: u32 = 144;
/// Bytes of uniforms a draw, and of an upload.
const UNIFORM_BYTES: usize = 512;
const UPLOAD_BYTES: usize = 436;

impl Scene {
    /// Records one frame: buffers, uniforms and a draw, 1,471 times, and 144 uploads between them.
    ///
    /// # Panics
    /// The session is lost.
    pub fn frame(&mut self, pipe: &mut impl Recording, serial: u64) {
        let mut uniforms = [0; UNIFORM_BYTES];
        for object in 0..DRAWS {
            self.bind(object);
            uniforms.fill((object as u8).wrapping_add(serial as u8));
            assert!(self.constants.set(0, &uniforms), "within the image");
            if object % (DRAWS / UPLOADS) == 0 && object / (DRAWS / UPLOADS) < UPLOADS {
                let offset = u64::from(object) * 16;
                let data = SubData::for_buffer(Handle::new(3, 1), offset, UPLOAD_BYTES as u64);
                pipe.resource_sub_data(&data, &[], Bulk::Bytes(&[7; UPLOAD_BYTES])).expect("recorded");
            }
            self.draw(pipe);
        }
        let present = Present { frame_serial: serial, ..Present::default() };
        pipe.present(&present, &[]).expect("recorded");
    }
}
