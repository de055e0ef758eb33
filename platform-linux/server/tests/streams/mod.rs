//! Streams for sessions of every topology, and what listens to them.

#![allow(dead_code, reason = "each test program uses a part of it")]

use std::{
    fs,
    path::PathBuf,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU32, Ordering},
    },
};

use runahead_core::{
    Fault, Session,
    link::Patience,
    null::Null,
    reply_space,
    slots::{Band, SlotSpace},
    trace::{Call, Listener, Trace},
    tracker::{Constants, Tracker, Verb},
    upload,
};
use runahead_linux::{
    control::message::{Doorbell, Sizes, Terms},
    session::{Client, Config, Topology, Wanted},
    storage::Heap,
};
use runahead_rings::Status;
use runahead_wire::{
    Bulk, Handle,
    event::Events,
    handle::Kind,
    payload::*,
    values::{BackendKind, ShaderBufferClass, StorageKind},
};

use crate::common::prepare;
pub use crate::common::{PROGRAM, Random};

/// Counts events.
#[derive(Clone, Debug, Default)]
pub struct Heard(pub Arc<AtomicU32>);

macro_rules! heard {
    ($($name:ident($($arg:ty),*);)+) => {
        impl Events for Heard {
            type Error = Fault;
            $(fn $name(&mut self, $(_: $arg),*) -> Result<(), Fault> {
                self.0.fetch_add(1, Ordering::Relaxed);
                Ok(())
            })+
        }
    };
}
heard! {
    buffer_writeback(&BufferWriteback, &[u8]);
    gpu_written(&GpuWritten, &[ByteRange]);
    surface_changed(&SurfaceChanged);
    gl_error(&GlError, &[u8]);
    fence_signaled(&FenceSignaled);
    refused(&RequestRefused);
    caps_changed(&CapsChanged);
}

/// A file of this test alone.
pub fn scratch(name: &str) -> PathBuf {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}-{}-{number}", std::process::id()))
}

pub fn config(topology: Topology, wanted: Terms, backend: &str) -> Config {
    Config {
        topology,
        server: Some(PROGRAM.into()),
        arguments: vec!["--backend".into(), backend.into()],
        wanted: Wanted(wanted),
        ..Config::default()
    }
}

pub const AHEAD: Terms = Terms {
    sizes: Sizes { commands: 0, stage: 0, replies: 0, events: 0 },
    credit: 0,
    run_ahead: true,
    doorbell: Doorbell::Futex,
};

pub type NullClient = Client<Null, Heard>;

pub fn open(topology: Topology, wanted: Terms) -> NullClient {
    let config = config(topology, wanted, "null");
    Client::open(&config, BackendKind::Null, || Ok(Null::default()), Heard::default()).expect("a session")
}

pub fn draw() -> DrawInfo {
    DrawInfo { mode: 4, instance_count: 1, num_draws: 1, ..DrawInfo::default() }
}

pub const RANGE: [DrawRange; 1] = [DrawRange { start: 0, count: 3, index_bias: 0 }];

/// Frames of draws, state, uploads, objects that come and go, fences, queries and readbacks.
pub fn stream(pipe: &mut impl Session, frames: u64, piece: usize) {
    let mut random = Random(0x5eed);
    let mut tracker = Tracker::default();
    let mut slots: SlotSpace<Heap> = SlotSpace::default();
    let mut constants: Constants<Heap> = Constants::default();
    assert!(constants.relinked(512), "memory for an image");
    let program = slots.mint(Band::Shader, 1).expect("a slot");
    let mut modules = [Bulk::EMPTY; 6];
    modules[0] = Bulk::Bytes(&[3; 64]);
    let desc = ProgramDesc {
        cso: program,
        stage_mask: 1,
        global_ubo_size: 512,
        link_status: 1,
        ..ProgramDesc::default()
    };
    pipe.create_shader_state(&desc, modules, Bulk::Bytes(&[5; 32])).expect("recorded");
    tracker.set_programs(program, program, program);
    let mut buffers: Vec<Handle> = Vec::new();
    for frame in 1..=frames {
        if buffers.len() < 20 || random.below(8) == 0 {
            let create = |handle| {
                let desc = ResourceDesc {
                    resource: handle,
                    storage_kind: StorageKind::Buffer.raw() as u8,
                    buf_size: 1 << 17,
                    ..ResourceDesc::default()
                };
                pipe.resource_create(&desc)
            };
            buffers.push(slots.mint_with(Band::Buffer, 0, create).expect("a buffer"));
        }
        for _ in 0..random.below(8) {
            let buffer = buffers[random.below(buffers.len() as u64) as usize];
            match random.below(6) {
                0 => {
                    let vertices =
                        VertexBuffer { resource: buffer, offset: random.below(64), ..Default::default() };
                    assert!(tracker.vertex_buffers().set(0, &[vertices]));
                }
                1 => {
                    let range = BufferRange { resource: buffer, offset: 0, size: 256 };
                    let window = tracker.shader_buffers(ShaderBufferClass::Uniform);
                    assert!(window.buffers.set(0, &[range]));
                }
                2 => tracker.render_state().depth_test = random.below(2) as u8,
                3 => tracker.render_state().viewports[0].width = random.below(100) as f32,
                4 => assert!(constants.set(random.below(500) as usize, &[random.next() as u8; 8])),
                _ => {
                    let size = 1 + random.below(100_000) as usize;
                    let bytes = vec![random.next() as u8; size];
                    upload::buffer(pipe, buffer, random.below(1000), &bytes, piece).expect("recorded");
                }
            }
            tracker.sync(Verb::Draw, pipe, &mut slots).expect("recorded");
            constants.emit(pipe, program).expect("recorded");
            pipe.draw_vbo(&draw(), &RANGE, &[]).expect("recorded");
        }
        if buffers.len() > 10 && random.below(10) == 0 {
            let at = random.below(buffers.len() as u64) as usize;
            let dead = buffers.swap_remove(at);
            tracker.forget(Kind::Buffer, dead, pipe, &mut slots).expect("recorded");
            let object = HandleOnly { handle: dead, kind: Kind::Buffer.raw(), ..HandleOnly::default() };
            pipe.resource_destroy(&object).expect("recorded");
            slots.free(Band::Buffer, dead).expect("a live slot");
        }
        if random.below(50) == 0 {
            let done = pipe.ask(0).expect("space");
            let read = Readback { resource: buffers[0], offset: 0, size: 1 + random.below(100_000) };
            pipe.resource_readback(&read, Some(reply_space(&done))).expect("recorded");
            assert_eq!(pipe.wait_answer(&done, Patience::Spin).expect("answered").status, Status::Ok);
            pipe.release(done).expect("it came");
        }
        if random.below(20) == 0 {
            let fence = slots.mint(Band::Fence, 0).expect("a slot");
            let object = HandleOnly { handle: fence, kind: Kind::Fence.raw(), ..HandleOnly::default() };
            pipe.fence_create(&object).expect("recorded");
            let waited = pipe.ask(8).expect("space");
            let wait = FenceWait { fence, timeout_ns: u64::MAX, ..FenceWait::default() };
            pipe.fence_wait(&wait, Some(reply_space(&waited))).expect("recorded");
            pipe.wait_answer(&waited, Patience::Spin).expect("answered");
            pipe.release(waited).expect("it came");
            pipe.fence_destroy(&object).expect("recorded");
            slots.free(Band::Fence, fence).expect("a live slot");
        }
        let present = Present { frame_serial: frame, ..Present::default() };
        pipe.present(&present, &[]).expect("recorded");
    }
}

/// Keeps calls as lines.
#[derive(Clone, Debug, Default)]
pub struct Lines(pub Arc<Mutex<String>>);

impl Listener for Lines {
    fn call(&mut self, call: &Call<'_>) {
        use std::fmt::Write;
        let _ = writeln!(self.0.lock().expect("no panic"), "{call}");
    }
}

/// What a stream asked the backend for.
pub fn calls(topology: Topology, wanted: Terms, frames: u64) -> String {
    let (lines, file) = (Lines::default(), scratch("calls"));
    let config = config(topology, wanted, &format!("trace={}", file.display()));
    let listener = lines.clone();
    let make = move || Ok(Trace::new(listener));
    let mut client = Client::open(&config, BackendKind::Null, make, Heard::default()).expect("a session");
    assert_eq!(client.process().is_some(), topology == Topology::Spawn, "another topology than asked for");
    prepare(&mut client);
    stream(client.pipe(), frames, 16_000);
    client.close().expect("an orderly end");
    if topology == Topology::Spawn {
        let listing = fs::read_to_string(&file).expect("the server's listing");
        fs::remove_file(&file).expect("it is there");
        assert!(lines.0.lock().expect("no panic").is_empty(), "the client's process applied something");
        listing
    } else {
        std::mem::take(&mut *lines.0.lock().expect("no panic"))
    }
}

#[track_caller]
pub fn same(one: &str, other: &str) {
    if one != other {
        let at = one.lines().zip(other.lines()).position(|(one, other)| one != other);
        let line = |text: &str| text.lines().nth(at.unwrap_or(0)).unwrap_or_default().to_owned();
        panic!(
            "{} and {} lines; the first that differs is {at:?}:\n{}\n{}",
            one.lines().count(),
            other.lines().count(),
            line(one),
            line(other)
        );
    }
}
