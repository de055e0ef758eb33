//! Steady state allocates nothing: a million draws from the tracker to the backend, with uploads, presents,
//! answers and events, counted on both sides.

use std::{
    alloc::{GlobalAlloc, Layout, System},
    sync::{
        Barrier,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
};

use runahead_core::{
    Applier, Mode, Quota, Recorder, Server,
    link::{Bells, Patience},
    null::Null,
    reply_space,
    slots::SlotSpace,
    trace::Method,
    tracker::{Constants, Tracker, Verb},
    wait::WaitState,
};
use runahead_linux::{doorbell::FutexDoorbell, storage::Heap};
use runahead_rings::{Memory, Pages, ReplyClient, Start, Status, Watermark, session};
use runahead_verify::fuzz::Nowhere;
use runahead_wire::{
    Bulk, Handle,
    payload::*,
    pipe::{Encoder, Pipe},
    values::{CapsBits, StorageKind},
};

struct Counting;

static COUNTED: AtomicBool = AtomicBool::new(false);
static ALLOCATIONS: AtomicU64 = AtomicU64::new(0);

fn count() {
    if COUNTED.load(Ordering::Relaxed) {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
    }
}

// SAFETY: forwards to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: the caller's contract.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller's contract.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count();
        // SAFETY: the caller's contract.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

const DRAWS: u64 = 1_000_000;

type Client<'a> = Encoder<Recorder<'a, Bells<'a, FutexDoorbell>, Nowhere>>;

/// A renderer with a program, a few buffers, and state that changes from draw to draw.
struct Renderer {
    tracker: Tracker,
    slots: SlotSpace<Heap>,
    constants: Constants<Heap>,
    frame: u64,
}

impl Renderer {
    fn new(pipe: &mut Client<'_>) -> Self {
        let bind = BindContext { context: 1, draw_surface: 1, read_surface: 1 };
        pipe.bind_context(&bind).expect("recorded");
        for slot in 1..=8 {
            pipe.resource_create(&ResourceDesc {
                resource: Handle::new(slot, 1),
                storage_kind: StorageKind::Buffer.raw() as u8,
                buf_size: 4096,
                ..ResourceDesc::default()
            })
            .expect("recorded");
        }
        let program = Handle::new(1, 1);
        let mut modules = [Bulk::EMPTY; 6];
        modules[0] = Bulk::Bytes(&[0; 16]);
        let desc = ProgramDesc {
            cso: program,
            stage_mask: 1,
            global_ubo_size: 256,
            link_status: 1,
            ..ProgramDesc::default()
        };
        pipe.create_shader_state(&desc, modules, Bulk::Bytes(&[0; 16])).expect("recorded");
        let mut tracker = Tracker::default();
        tracker.set_programs(program, program, program);
        let mut constants = Constants::default();
        assert!(constants.relinked(256), "memory for an image");
        Self { tracker, slots: SlotSpace::default(), constants, frame: 0 }
    }

    /// Draws, each time with something else changed; a frame has a hundred draws, an upload, a readback whose
    /// bytes come as events before its answer, and a present.
    fn draw(&mut self, pipe: &mut Client<'_>, number: u64) {
        let buffer = |at: u64| Handle::new((at % 8) as u32 + 1, 1);
        match number % 4 {
            0 => {
                let vertices = VertexBuffer { resource: buffer(number), ..VertexBuffer::default() };
                assert!(self.tracker.vertex_buffers().set(0, &[vertices]), "a window of one");
            }
            // More render states than the cache holds, so that some are evicted.
            1 => self.tracker.render_state().min_sample_shading = (number % 400) as f32,
            2 => self.tracker.render_state().viewports[0].x = number as f32,
            _ => assert!(self.constants.set(16, &number.to_le_bytes()), "within the image"),
        }
        self.tracker.sync(Verb::Draw, pipe, &mut self.slots).expect("recorded");
        self.constants.emit(pipe, Handle::new(1, 1)).expect("recorded");
        let info = DrawInfo { mode: 4, instance_count: 1, num_draws: 1, ..DrawInfo::default() };
        let range = [DrawRange { start: 0, count: 3, index_bias: 0 }];
        pipe.draw_vbo(&info, &range, &[]).expect("recorded");
        if number % 100 == 99 {
            self.frame += 1;
            let data = SubData::for_buffer(buffer(number), 0, 1024);
            pipe.resource_sub_data(&data, &[], Bulk::Bytes(&[7; 1024])).expect("recorded");
            let done = pipe.0.ask(0).expect("space");
            let read = Readback { resource: buffer(number), offset: 0, size: 300 };
            pipe.resource_readback(&read, Some(reply_space(&done))).expect("recorded");
            let answer = pipe.0.wait_answer(&done, Patience::Spin).expect("answered");
            assert_eq!((answer.status, pipe.0.release(done)), (Status::Ok, Ok(())));
            let present = Present { frame_serial: self.frame, ..Present::default() };
            pipe.present(&present, &[]).expect("recorded");
        }
    }
}

/// Runs both halves on two threads; the allocations of both while `DRAWS` draws go through, after a warm-up, and
/// the draws that arrived.
fn run(extra: impl Fn() + Send) -> (u64, u64) {
    let [mut commands, mut stage, mut replies, mut events] =
        [1 << 17, 1 << 17, 1 << 10, 1 << 12].map(|words| vec![0u64; words]);
    let mut bookkeeping = vec![0; ReplyClient::bookkeeping(replies.len() * 8)];
    let (mut record, mut event) = (vec![0; 1 << 16], vec![0; 1 << 10]);
    let mut pages = Pages::new(Start::default());
    let memory = Memory {
        commands: &mut commands,
        stage: &mut stage,
        replies: &mut replies,
        events: &mut events,
        record: &mut record,
        event: &mut event,
        bookkeeping: &mut bookkeeping,
    };
    let ((client_rings, client_ends), (server_rings, server_ends)) =
        session(memory, &mut pages).expect("powers of two");
    let counted = Barrier::new(2);
    std::thread::scope(|scope| {
        let counted = &counted;
        let serving = scope.spawn(move || {
            let link = Bells::new(server_ends.1, server_ends.0, FutexDoorbell, 100);
            let mut server: Server<'_, _, Null, Heap> = Server::new(server_rings, link, |outlet| {
                let mut applier = Applier::new(Null::default(), outlet, Quota::default(), 0);
                applier.create_context(1, None).expect("a context");
                applier.create_surface(1).expect("a surface");
                applier
            });
            loop {
                match server.run(u32::MAX, || 0) {
                    Ok(0) if server.wait(Patience::Sleep, || false).is_err() => break,
                    Ok(_) => {}
                    Err(fault) => panic!("{fault}"),
                }
            }
            counted.wait();
            server.finish().expect("nothing owed").listener.of(Method::Draw)
        });
        let link = Bells::new(client_ends.1, client_ends.0, FutexDoorbell, 100);
        let caps = CapsBits::RUN_AHEAD_APPLY | CapsBits::BACKEND_OWNS_XFB_CAPTURE;
        let mode = Mode { waits: WaitState::new(caps, true), credit: 1 };
        let mut pipe = Encoder(Recorder::new(client_rings, link, Nowhere::default(), mode));
        let mut renderer = Renderer::new(&mut pipe);
        for number in 0..10_000 {
            renderer.draw(&mut pipe, number);
        }
        let warm = pipe.0.recorded();
        pipe.0.wait_for(Watermark::Applied, warm, Patience::Sleep).expect("applied");
        ALLOCATIONS.store(0, Ordering::Relaxed);
        COUNTED.store(true, Ordering::Relaxed);
        for number in 0..DRAWS {
            renderer.draw(&mut pipe, number);
        }
        extra();
        let last = pipe.0.recorded();
        pipe.0.wait_for(Watermark::Applied, last, Patience::Sleep).expect("applied");
        COUNTED.store(false, Ordering::Relaxed);
        let allocations = ALLOCATIONS.load(Ordering::Relaxed);
        assert_eq!(pipe.0.events().events, renderer.frame, "an event a frame");
        pipe.0.link().close();
        counted.wait();
        (allocations, serving.join().expect("the server ends well"))
    })
}

/// One test, since the counter belongs to the whole process.
#[test]
fn a_million_draws() {
    let (allocations, draws) = run(|| ());
    assert_eq!((allocations, draws), (0, DRAWS + 10_000));
    let (allocations, _) = run(|| drop(std::hint::black_box(Box::new(1))));
    assert_eq!(allocations, 1, "negative control: one allocation is counted");
}
