//! What comes in which order, and who waits for whom: beyond what one image shows.

use runahead_backend_gles::Gles;
use runahead_core::{Credit, Session, counters::Cause, link::Patience, reply_space};
use runahead_linux::{
    control::message::{ContextAttributes, SurfaceOp, Terms},
    native::gles::WindowSystem,
    session::{Client, Topology, Wanted},
};
use runahead_rings::{Status, Watermark};
use runahead_verify::scenes::{Compiler, SIDE, Stage, Written};
use runahead_wire::{
    payload::{Present, Readback, ReadbackInfo, TexelBox},
    pipe::Pipe,
    values::{PixelFormat, PixelType, ResourceTarget},
};

use crate::{
    TOPOLOGIES,
    run::{Arm, Told, open},
};

/// The pixels of the surface, each of eight bits a component.
fn pixels(pipe: &mut impl Session, width: u32, height: u32) -> Vec<u8> {
    let size = width * height * 4;
    let pending = pipe.ask(size).expect("reply space");
    let read = ReadbackInfo {
        region: TexelBox { width, height, depth: 1, ..TexelBox::default() },
        format: PixelFormat::Rgba.raw(),
        pixel_type: PixelType::UnsignedByte.raw(),
        target: ResourceTarget::Texture2D.raw() as u8,
        dst_size: u64::from(size),
        ..ReadbackInfo::default()
    };
    pipe.read_pixels(&read, Some(reply_space(&pending))).expect("recorded");
    let answer = pipe.wait_answer(&pending, Patience::Sleep).expect("an answer");
    assert_eq!(answer.status, Status::Ok);
    let mut bytes = vec![0; size as usize];
    pipe.copy_answer(&pending, answer, &mut bytes);
    pipe.release(pending).expect("it was answered");
    bytes
}

/// A session with a context and a pbuffer of a scene's size.
fn session(arm: Arm) -> (Client<Gles, Told>, Told) {
    let (mut client, told) = open(arm, &WindowSystem::Surfaceless);
    client.create_context(1, None, ContextAttributes::gles(2, 0)).expect("a context");
    let suits = |config: &&runahead_core::NativeConfig| config.pbuffer && config.alpha == 8;
    let config = client.configs().iter().find(suits).expect("a config").id;
    client.surface(1, SurfaceOp::CreatePbuffer { config, width: SIDE, height: SIDE }).expect("a surface");
    (client, told)
}

#[test]
fn a_surface_with_another_size_is_drawn_to_its_edges() {
    for (name, topology) in TOPOLOGIES {
        let (mut client, told) = session(Arm::on(*topology));
        let compiler = Compiler::new(&client.caps());
        for (context, (width, height, of_255)) in
            (2..).zip([(SIDE, SIDE, 51_u8), (100, 40, 102), (8, 90, 204)])
        {
            client.create_context(context, None, ContextAttributes::gles(2, 0)).expect("a context");
            client.surface(1, SurfaceOp::Resize { width, height }).expect("another size");
            let mut stage =
                Stage::new(client.pipe(), &compiler, Written::default(), (context, 1)).expect("a stage");
            stage.clear([f32::from(of_255) / 255.0; 4]).expect("recorded");
            let seen = pixels(stage.pipe(), width, height);
            assert!(seen.iter().all(|byte| *byte == of_255), "{name}: {width} by {height}");
        }
        client.close().expect("an orderly end");
        assert_eq!(told.complaints(), Vec::new());
    }
}

/// More events than their ring takes, of records that nobody waits for: each comes, in order, and before the answer of
/// its record is looked at.
#[test]
fn events_behind_an_unwaited_run_come_in_order() {
    const SLICE: u64 = 3 << 10;
    // More than a server remembers at once.
    const SLICES: u64 = 100;
    for (name, topology) in TOPOLOGIES {
        let (mut client, told) = session(Arm::on(*topology));
        let compiler = Compiler::new(&client.caps());
        let written = told.written();
        let mut stage = Stage::new(client.pipe(), &compiler, written.clone(), (1, 1)).expect("a stage");
        let content: Vec<u8> = (0..SLICE * SLICES).map(|at| (at / 256) as u8 ^ at as u8).collect();
        let buffer = stage.buffer(&content).expect("a buffer");
        let pipe = stage.pipe();
        let asked: Vec<_> = (0..SLICES)
            .map(|slice| {
                let pending = pipe.ask(0).expect("reply space");
                let read = Readback { resource: buffer, offset: slice * SLICE, size: SLICE };
                pipe.resource_readback(&read, Some(reply_space(&pending))).expect("recorded");
                pending
            })
            .collect();
        // Work behind them, which nobody waits for either.
        stage.clear([0.0; 4]).expect("recorded");
        let pipe = stage.pipe();
        for pending in asked {
            assert_eq!(pipe.wait_answer(&pending, Patience::Sleep).expect("an answer").status, Status::Ok);
            pipe.release(pending).expect("it was answered");
        }
        pipe.poll_events().expect("no fault");
        let (mut next, mut seen) = (0, Vec::new());
        for (of, at, bytes) in written.take() {
            assert_eq!((of, at), (buffer, next), "{name}");
            next += bytes.len() as u64;
            seen.extend(bytes);
        }
        assert!(seen == content, "{name}: {} of {} bytes", seen.len(), content.len());
        client.close().expect("an orderly end");
        assert_eq!(told.complaints(), Vec::new());
    }
}

/// With a credit of two, two presents go ahead of a server that is busy, and the third parks until the first is done.
#[test]
fn a_third_present_parks_behind_a_busy_server() {
    for topology in [Topology::Inproc, Topology::Spawn] {
        let wanted = Wanted(Terms { credit: 2, ..Wanted::default().0 });
        let (mut client, told) = session(Arm { wanted, ..Arm::on(topology) });
        let compiler = Compiler::new(&client.caps());
        let mut stage = Stage::new(client.pipe(), &compiler, Written::default(), (1, 1)).expect("a stage");
        let texture = stage.texture(2048, 2048, None).expect("a texture");
        stage.target(texture);
        let mut found = Vec::new();
        for serial in 1..=3 {
            // Clears of a large target keep the driver busy for some milliseconds a frame.
            for _ in 0..20 {
                stage.clear([0.5; 4]).expect("recorded");
            }
            found.push(stage.pipe().credit().expect("a session"));
            let present = Present { frame_serial: serial, ..Present::default() };
            stage.pipe().present(&present, &[]).expect("recorded");
        }
        assert_eq!(found, [Credit::Frame(1), Credit::Frame(2), Credit::After(1)], "{topology:?}");
        stage.pipe().wait_for(Watermark::PresentAck, 3, Patience::Sleep).expect("acknowledged");
        assert_eq!(stage.pipe().credit().expect("a session"), Credit::Frame(4), "negative control");
        assert_eq!(client.counters().of(Cause::Credit).0, 1, "{topology:?}");
        client.close().expect("an orderly end");
        assert_eq!(told.complaints(), Vec::new());
    }
}
