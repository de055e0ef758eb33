//! Both halves over the real rings, on two threads.
#![cfg(all(feature = "null", not(runahead_loom)))]

mod common;

use std::{cell::Cell, sync::atomic::AtomicBool, thread};

use common::heap::Heap;
use runahead_core::{
    Applier, Fault, Mode, Quota, Recorder, Server,
    link::{Bells, Patience},
    null::Null,
    reply_space,
    trace::Method,
    wait::WaitState,
};
use runahead_rings::{Bell, Doorbell, Memory, Pages, ReplyClient, Start, Status, Watermark, session};
use runahead_wire::{
    Bulk, Handle, event,
    handle::Kind,
    payload::*,
    pipe::{Encoder, Pipe},
    values::{CapsBits, StorageKind},
    zerocopy::IntoBytes,
};

/// A doorbell that yields instead of sleeping.
#[derive(Debug)]
struct Yield;

impl Doorbell for Yield {
    fn sleep(&self, bell: Bell<'_>, seen: u32) {
        if bell.value() == seen {
            thread::yield_now();
        }
    }
    fn wake(&self, _: Bell<'_>) {}
    fn interrupt(&self, _: Bell<'_>) {}
}

/// A handler that counts events by kind.
#[derive(Debug, Default)]
struct Counted {
    refused: u32,
    errors: u32,
    written_back: Vec<u8>,
}

impl event::Events for Counted {
    type Error = Fault;
    fn buffer_writeback(&mut self, _: &BufferWriteback, bytes: &[u8]) -> Result<(), Fault> {
        self.written_back.extend_from_slice(bytes);
        Ok(())
    }
    fn gpu_written(&mut self, _: &GpuWritten, _: &[ByteRange]) -> Result<(), Fault> {
        Ok(())
    }
    fn surface_changed(&mut self, _: &SurfaceChanged) -> Result<(), Fault> {
        Ok(())
    }
    fn gl_error(&mut self, _: &GlError, _: &[u8]) -> Result<(), Fault> {
        self.errors += 1;
        Ok(())
    }
    fn fence_signaled(&mut self, _: &FenceSignaled) -> Result<(), Fault> {
        Ok(())
    }
    fn refused(&mut self, _: &RequestRefused) -> Result<(), Fault> {
        self.refused += 1;
        Ok(())
    }
    fn caps_changed(&mut self, _: &CapsChanged) -> Result<(), Fault> {
        Ok(())
    }
}

type Client<'a> = Encoder<Recorder<'a, Bells<'a, Yield>, Counted>>;

/// Sizes of the segments in bytes.
#[derive(Clone, Copy)]
struct Sizes {
    commands: usize,
    stage: usize,
    replies: usize,
    events: usize,
}

const USUAL: Sizes = Sizes { commands: 1 << 16, stage: 1 << 18, replies: 1 << 20, events: 1 << 16 };

/// Runs a client against a server with context 1 and surface 7, and gives the backend and what ended the
/// server.
fn run(sizes: Sizes, mode: Mode, storage: u64, client: impl FnOnce(&mut Client<'_>) + Send) -> (Null, Fault) {
    let mut commands = vec![0u64; sizes.commands / 8];
    let mut stage = vec![0u64; sizes.stage / 8];
    let mut replies = vec![0u64; sizes.replies / 8];
    let mut events = vec![0u64; sizes.events / 8];
    let mut record = vec![0u64; sizes.commands / 16];
    let mut event = vec![0u64; sizes.events / 32];
    let mut bookkeeping = vec![0u64; ReplyClient::bookkeeping(sizes.replies)];
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
        session(memory, &mut pages).expect("sizes are powers of two");
    let quota = Quota { storage, ..Quota::default() };
    thread::scope(|scope| {
        let serving = scope.spawn(move || {
            let link = Bells::new(server_ends.1, server_ends.0, Yield, 100);
            let mut server: Server<'_, _, Null, Heap> = Server::new(server_rings, link, |outlet| {
                let mut applier = Applier::new(Null::default(), outlet, quota, 0);
                applier.create_context(1, None).expect("a context");
                applier.create_surface(7).expect("a surface");
                applier
            });
            let fault = loop {
                match server.run(1000, || 0) {
                    Ok(0) => match server.wait(Patience::Sleep, || false) {
                        Ok(()) => {}
                        Err(fault) => break fault,
                    },
                    Ok(_) => {}
                    Err(fault) => break fault,
                }
            };
            server.link().close();
            (server.finish().expect("answers can be written"), fault)
        });
        let link = Bells::new(client_ends.1, client_ends.0, Yield, 100);
        let mut encoder = Encoder(Recorder::new(client_rings, link, Counted::default(), mode));
        encoder
            .bind_context(&BindContext { context: 1, draw_surface: 7, read_surface: 7 })
            .expect("recorded");
        client(&mut encoder);
        encoder.0.publish();
        encoder.0.link().close();
        serving.join().expect("the server ends well")
    })
}

const fn ahead(credit: u64) -> Mode {
    Mode {
        waits: WaitState {
            run_ahead: true,
            capture_open: false,
            server_owns_capture: true,
            server_reads_client_memory: false,
        },
        credit,
    }
}

fn draw() -> DrawInfo {
    DrawInfo { mode: 4, instance_count: 1, num_draws: 1, ..DrawInfo::default() }
}

const RANGE: [DrawRange; 1] = [DrawRange { start: 0, count: 3, index_bias: 0 }];

/// What a draw needs at least.
fn prepare(pipe: &mut Client<'_>) {
    pipe.set_context_values(&ContextValues::default()).expect("recorded");
    let views = [BoundView::default()];
    pipe.set_sampler_views(&SamplerViews { start: 0, count: 1 }, &views).expect("recorded");
    pipe.bind_sampler_states(&SamplerStates { start: 0, count: 1 }, &[Handle::NULL]).expect("recorded");
}

fn buffer(handle: Handle, size: u64) -> ResourceDesc {
    ResourceDesc {
        resource: handle,
        storage_kind: StorageKind::Buffer.raw() as u8,
        buf_size: size,
        ..ResourceDesc::default()
    }
}

#[test]
fn draws_arrive_and_frames_are_credited() {
    let (backend, fault) = run(USUAL, ahead(1), 1 << 30, |pipe| {
        prepare(pipe);
        for frame in 1..=100 {
            for _ in 0..50 {
                pipe.draw_vbo(&draw(), &RANGE, &[]).expect("recorded");
            }
            let present = Present { frame_serial: frame, ..Present::default() };
            pipe.present(&present, &[]).expect("recorded");
        }
        let last = pipe.0.recorded();
        pipe.0.wait_for(Watermark::Applied, last, Patience::Spin).expect("applied");
    });
    assert_eq!(fault, Fault::PeerGone);
    assert_eq!(backend.listener.of(Method::Draw), 5000);
    assert_eq!(backend.listener.of(Method::Present), 100);
}

#[test]
fn uploads_larger_than_the_stage_in_all_wait_for_room() {
    let buffer_1 = Handle::new(1, 1);
    let (backend, fault) = run(USUAL, ahead(1), 1 << 30, |pipe| {
        pipe.resource_create(&buffer(buffer_1, 1 << 20)).expect("recorded");
        let piece = vec![7u8; 60_000];
        for at in 0..200 {
            let data = SubData::for_buffer(buffer_1, at * 100, piece.len() as u64);
            pipe.resource_sub_data(&data, &[], Bulk::Bytes(&piece)).expect("recorded");
        }
    });
    assert_eq!(fault, Fault::PeerGone);
    assert_eq!(backend.listener.of(Method::UploadBuffer), 200);
}

#[test]
fn answers_come_and_declines_too() {
    let (_, fault) = run(USUAL, ahead(1), 1 << 30, |pipe| {
        let caps = pipe.0.ask(4096).expect("space");
        pipe.get_caps(&CapsRequest::default(), Some(reply_space(&caps))).expect("recorded");
        let again = pipe.0.ask(4096).expect("space");
        pipe.get_caps(&CapsRequest { generation: 1 }, Some(reply_space(&again))).expect("recorded");
        let answer = pipe.0.wait_answer(&caps, Patience::Spin).expect("answered");
        assert_eq!(answer.status, Status::Ok);
        let mut words = vec![0u64; answer.size.div_ceil(8) as usize];
        pipe.0.copy_answer(&caps, answer, words.as_mut_bytes());
        let view = runahead_wire::caps::CapsView::parse(&words.as_bytes()[..answer.size as usize]);
        assert_eq!(view.expect("a caps blob").texts().renderer, "null");
        assert_eq!(pipe.0.wait_answer(&again, Patience::Spin).expect("answered").status, Status::Declined);
        pipe.0.release(caps).expect("it came");
        pipe.0.release(again).expect("it came");

        let fence =
            HandleOnly { handle: Handle::new(1, 1), kind: Kind::Fence.raw(), ..HandleOnly::default() };
        pipe.fence_create(&fence).expect("recorded");
        let waited = pipe.0.ask(8).expect("space");
        let wait = FenceWait { fence: fence.handle, timeout_ns: u64::MAX, ..FenceWait::default() };
        pipe.fence_wait(&wait, Some(reply_space(&waited))).expect("recorded");
        assert_eq!(pipe.0.wait_answer(&waited, Patience::Spin).expect("answered").status, Status::Ok);
    });
    assert_eq!(fault, Fault::PeerGone);
}

#[test]
fn ordering_buffer_bytes_come_as_events_before_their_answer() {
    let (_, fault) = run(USUAL, ahead(1), 1 << 30, |pipe| {
        pipe.resource_create(&buffer(Handle::new(1, 1), 1 << 20)).expect("recorded");
        let done = pipe.0.ask(0).expect("space");
        let read = Readback { resource: Handle::new(1, 1), offset: 5, size: 100_000 };
        pipe.resource_readback(&read, Some(reply_space(&done))).expect("recorded");
        assert_eq!(pipe.0.wait_answer(&done, Patience::Spin).expect("answered").status, Status::Ok);
        assert_eq!(pipe.0.events().written_back.len(), 100_000);
    });
    assert_eq!(fault, Fault::PeerGone);
}

#[test]
fn a_refusal_is_an_event_and_the_session_goes_on() {
    let (backend, fault) = run(USUAL, ahead(1), 1000, |pipe| {
        prepare(pipe);
        let large = Handle::new(1, 1);
        pipe.resource_create(&buffer(large, 5000)).expect("recorded");
        let bound = VertexBuffer { resource: large, ..VertexBuffer::default() };
        pipe.set_vertex_buffers(&VertexBuffers { start: 0, count: 1, ..VertexBuffers::default() }, &[bound])
            .expect("recorded");
        for _ in 0..10 {
            pipe.draw_vbo(&draw(), &RANGE, &[]).expect("recorded");
        }
        pipe.resource_respecify(&buffer(large, 500)).expect("recorded");
        pipe.draw_vbo(&draw(), &RANGE, &[]).expect("recorded");
        let last = pipe.0.recorded();
        pipe.0.wait_for(Watermark::Applied, last, Patience::Spin).expect("applied");
        let events = pipe.0.events();
        assert_eq!((events.refused, events.errors), (1, 1), "one refusal, and one error for ten draws");
    });
    assert_eq!(fault, Fault::PeerGone);
    assert_eq!(backend.listener.of(Method::Draw), 1);
}

#[test]
fn the_first_fault_ends_the_session_and_the_client_hears_of_it() {
    let ended = AtomicBool::new(false);
    let (backend, fault) = run(USUAL, ahead(1), 1 << 30, |pipe| {
        let reached = Cell::new(0u32);
        for _ in 0..100_000 {
            if pipe.draw_vbo(&draw(), &RANGE, &[]).is_err() {
                break;
            }
            reached.set(reached.get() + 1);
        }
        let last = pipe.0.recorded();
        assert!(pipe.0.wait_for(Watermark::Applied, last, Patience::Spin).is_err());
        assert_eq!(pipe.0.lost(), Some(Fault::PeerGone));
        ended.store(true, std::sync::atomic::Ordering::Relaxed);
    });
    assert!(ended.into_inner());
    assert_eq!(fault.to_string(), "ProtocolCorruption(\"DrawVbo.ContextValues\")");
    assert_eq!(backend.listener.of(Method::Draw), 0);
}

#[test]
fn lockstep_waits_for_every_verb_and_the_stream_is_the_same() {
    let lockstep = Mode { waits: WaitState::new(CapsBits::RUN_AHEAD_APPLY, false), credit: 1 };
    let (backend, fault) = run(USUAL, lockstep, 1 << 30, |pipe| {
        prepare(pipe);
        for _ in 0..100 {
            pipe.draw_vbo(&draw(), &RANGE, &[]).expect("recorded");
            let recorded = pipe.0.recorded();
            assert_eq!(pipe.0.watermark(Watermark::Applied).expect("no fault"), recorded);
        }
    });
    assert_eq!(fault, Fault::PeerGone);
    assert_eq!(backend.listener.of(Method::Draw), 100);
}

#[test]
fn capacity_a_full_event_ring_waits_for_the_client_and_loses_nothing() {
    // 4 KiB hold 85 refusals; the reference's server died of the next one.
    let sizes = Sizes { events: 4096, ..USUAL };
    let (_, fault) = run(sizes, ahead(1), 0, |pipe| {
        for slot in 1..=2000 {
            pipe.resource_create(&buffer(Handle::new(slot, 1), 1)).expect("recorded");
        }
        let last = pipe.0.recorded();
        pipe.0.wait_for(Watermark::Applied, last, Patience::Spin).expect("applied");
        assert_eq!(pipe.0.events().refused, 2000);
    });
    assert_eq!(fault, Fault::PeerGone);
}
