//! A client that lies: everything that it owns is damaged while the server runs. Whatever it does ends in a session
//! that goes on, or in a named fault of that session; never in a panic, a hang, or a server that grows.
//!
//! `MUTATIONS=N` asks for more. The other direction is in `hostile_servers.rs`.

mod common;

use std::{
    collections::BTreeMap,
    fs,
    io::IoSlice,
    mem::MaybeUninit,
    os::fd::{AsFd, BorrowedFd, OwnedFd},
    path::Path,
    sync::atomic::Ordering,
    thread::JoinHandle,
    time::{Duration, Instant},
};

use common::{
    DEADLINE, Outcome, PROGRAM, Random, Raw, SMALL, at, duplicates, hello, number, resident, segments,
    welcome, within, word,
};
use runahead_core::{null::Null, slots::Band, slots::SlotSpace, upload};
use runahead_linux::{
    control::{
        channel::{self, ClientChannel},
        frame,
        message::{Attach, Bye, ClientMessage, Doorbell, Message, SurfaceOp, SurfaceRequest, Terms},
    },
    segment::OwnedSegment,
    session::{ServeError, serve},
    spawn::{Process, Server, Spawned},
    storage::Heap,
};
use runahead_wire::{
    BlobRef, Bulk, Handle, ReplySpace,
    handle::Kind,
    payload::*,
    pipe::{Encoder, Pipe},
    values::{BackendKind, ShaderBufferClass, StorageKind},
};
use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, Shutdown, sendmsg, shutdown};

/// Resident bytes that a server of rings this small may have, or a process of many such servers may gain. The
/// program itself has about 5 MiB, and what it keeps of one client's records here is far below the rest.
const MEMORY: u64 = 64 << 20;

/// What a server is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum On {
    /// A thread of this process, which is faster.
    Thread,
    /// The real program.
    Program,
    /// The real program, on the system's driver.
    Gles,
}

/// The server of one session.
#[derive(Debug)]
enum Peer {
    /// [`On::Thread`].
    Thread(JoinHandle<Result<(), ServeError>>),
    /// Either of the others.
    Program(Process),
}

impl Peer {
    fn start(on: On) -> (OwnedFd, Self) {
        if on != On::Thread {
            let mut server = Server::new().program(PROGRAM);
            if on == On::Gles {
                server = server.argument("--backend").argument("gles");
            }
            let Spawned { socket, process } = server.start().expect("a server");
            return (socket, Self::Program(process));
        }
        let (ours, theirs) = channel::pair().expect("a socket");
        let body = || serve(theirs, BackendKind::Null, || Ok(Null::default()), drop);
        (ours, Self::Thread(std::thread::spawn(body)))
    }

    fn resident(&self) -> u64 {
        match self {
            Self::Thread(_) => resident("self"),
            Self::Program(process) => resident(&process.number().to_string()),
        }
    }

    /// The client's end is closed by now; the server ends in time, and not by a panic.
    #[track_caller]
    fn ends(self, what: &str) {
        let deadline = Instant::now() + DEADLINE;
        match self {
            Self::Thread(thread) => {
                while !thread.is_finished() {
                    assert!(Instant::now() < deadline, "{what}: the server does not end");
                    std::thread::sleep(Duration::from_micros(50));
                }
                match thread.join() {
                    Ok(Err(ServeError::Panic(text))) => panic!("{what}: the server panicked: {text}"),
                    Ok(_) => {}
                    Err(panic) => {
                        let text = panic.downcast_ref::<String>().cloned();
                        let text =
                            text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()));
                        panic!("{what}: the server panicked: {text:?}");
                    }
                }
            }
            Self::Program(process) => {
                if !process.wait(Some(deadline)).expect("a wait") {
                    let _ = process.kill();
                    panic!("{what}: the server does not end");
                }
            }
        }
    }
}

/// The negative controls of `Peer::ends`.
#[test]
fn a_server_that_panics_or_hangs_is_noticed() {
    let noticed = |body: fn() -> Result<(), ServeError>| {
        let thread = std::thread::spawn(body);
        let watch = std::thread::spawn(move || Peer::Thread(thread).ends("a control"));
        let text = watch.join().expect_err("unnoticed");
        text.downcast_ref::<String>().expect("a message").clone()
    };
    assert!(noticed(|| panic!("on purpose")).contains("on purpose"));
    assert!(noticed(|| Err(ServeError::Panic("caught".to_owned()))).contains("panicked: caught"));
    let hangs = || {
        std::thread::sleep(2 * DEADLINE);
        Ok(())
    };
    assert!(noticed(hangs).contains("does not end"));
    let memory = vec![1_u8; 8 << 20];
    assert!(resident("self") > std::hint::black_box(&memory).len() as u64, "memory is not seen");
}

// ---- What a client of good faith records -----------------------------------------------------------------------

/// A session with a context, objects and everything that a draw needs.
struct Stage {
    pipe: Encoder<Raw>,
    slots: SlotSpace<Heap>,
    buffers: Vec<Handle>,
    fences: Vec<Handle>,
    frame: u64,
    tag: u32,
}

const MADE: &str = "a record that can be encoded";

impl Stage {
    fn open(socket: OwnedFd) -> Self {
        let mut raw = Raw::open(socket, SMALL);
        let context = raw.create_context(1, 0);
        raw.channel.send(&context, vec![], &within(DEADLINE)).expect("it reads");
        assert_eq!(raw.listen(true), Outcome::Alive, "no context");
        raw.request = raw.request.wrapping_add(1);
        let op = SurfaceOp::CreateSurfaceless;
        let surface = SurfaceRequest { request: raw.request, after: 0, surface: 1, op };
        raw.channel.send(&ClientMessage::Surface(surface), vec![], &within(DEADLINE)).expect("it reads");
        assert_eq!(raw.listen(true), Outcome::Alive, "no surface");
        let (slots, buffers, fences) = (SlotSpace::default(), Vec::new(), Vec::new());
        let mut stage = Self { pipe: Encoder(raw), slots, buffers, fences, frame: 0, tag: 0 };
        let pipe = &mut stage.pipe;
        pipe.bind_context(&BindContext { context: 1, draw_surface: 1, read_surface: 1 }).expect(MADE);
        pipe.set_context_values(&ContextValues::default()).expect(MADE);
        pipe.set_sampler_views(&SamplerViews { start: 0, count: 1 }, &[BoundView::default()]).expect(MADE);
        pipe.bind_sampler_states(&SamplerStates { start: 0, count: 1 }, &[Handle::NULL]).expect(MADE);
        let program = stage.slots.mint(Band::Shader, 1).expect("a slot");
        let mut modules = [Bulk::EMPTY; 6];
        modules[0] = Bulk::Bytes(&[3; 64]);
        let desc = ProgramDesc {
            cso: program,
            stage_mask: 1,
            global_ubo_size: 512,
            link_status: 1,
            ..ProgramDesc::default()
        };
        pipe.create_shader_state(&desc, modules, Bulk::Bytes(&[5; 32])).expect(MADE);
        stage.buffer();
        assert!(stage.raw().put_made());
        stage.raw().publish();
        assert_eq!(stage.raw().settle(), Outcome::Alive, "the records of good faith are refused");
        stage
    }

    const fn raw(&mut self) -> &mut Raw {
        &mut self.pipe.0
    }

    fn buffer(&mut self) {
        let handle = self.slots.mint(Band::Buffer, 0).expect("a slot");
        let desc = ResourceDesc {
            resource: handle,
            storage_kind: StorageKind::Buffer.raw() as u8,
            buf_size: 1 << 12,
            ..ResourceDesc::default()
        };
        self.pipe.resource_create(&desc).expect(MADE);
        self.buffers.push(handle);
    }

    /// A record that is right, in `made`.
    fn make(&mut self, random: &mut Random) {
        let buffer = random.of(&self.buffers);
        self.tag += 1;
        let space = ReplySpace { offset: 0, capacity: 1024, tag: self.tag, ..ReplySpace::default() };
        let pipe = &mut self.pipe;
        match random.below(11) {
            0 => self.buffer(),
            1 => {
                let fence = self.slots.mint(Band::Fence, 0).expect("a slot");
                let object = HandleOnly { handle: fence, kind: Kind::Fence.raw(), ..HandleOnly::default() };
                self.fences.push(fence);
                pipe.fence_create(&object).expect(MADE);
            }
            2 => {
                let window = VertexBuffers { start: 0, count: 1, ..Default::default() };
                let one = VertexBuffer { resource: buffer, ..Default::default() };
                pipe.set_vertex_buffers(&window, &[one]).expect(MADE);
            }
            3 => {
                let class = ShaderBufferClass::Uniform.raw();
                let window = ShaderBuffers { class, start: 0, count: 1, ..Default::default() };
                let one = BufferRange { resource: buffer, offset: 0, size: 256 };
                pipe.set_shader_buffers(&window, &[one]).expect(MADE);
            }
            4 | 5 => {
                let bytes = vec![random.next() as u8; 1 + random.below(900) as usize];
                upload::buffer(pipe, buffer, random.below(1000), &bytes, 1000).expect(MADE);
            }
            6 => {
                self.frame += 1;
                let present = Present { frame_serial: self.frame, ..Present::default() };
                pipe.present(&present, &[]).expect(MADE);
            }
            7 => {
                let read = Readback { resource: buffer, offset: 0, size: 1 + random.below(4000) };
                pipe.resource_readback(&read, Some(space)).expect(MADE);
            }
            8 => pipe.get_caps(&CapsRequest::default(), Some(space)).expect(MADE),
            9 => pipe.flush(&Flush::default()).expect(MADE),
            _ => {
                let info = DrawInfo { mode: 4, instance_count: 1, num_draws: 1, ..DrawInfo::default() };
                let range = DrawRange { start: 0, count: 3, index_bias: 0 };
                pipe.draw_vbo(&info, &[range], &[]).expect(MADE);
            }
        }
    }
}

/// A record of every row, right in itself and out of place.
fn rows() -> Vec<Vec<u64>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../verify/fuzz/corpus/decoder");
    let mut files: Vec<_> =
        fs::read_dir(folder).expect("the corpus").map(|entry| entry.expect("an entry").path()).collect();
    files.sort();
    let words = |bytes: Vec<u8>| {
        let word = |chunk: &[u8]| u64::from_le_bytes(std::array::from_fn(|at| *chunk.get(at).unwrap_or(&0)));
        bytes.chunks(8).map(word).collect::<Vec<_>>()
    };
    let rows = files.iter().map(|file| words(fs::read(file).expect("an input")));
    rows.filter(|row| !row.is_empty() && row.len() <= 1000).collect()
}

// ---- Damage ----------------------------------------------------------------------------------------------------

const WORDS: &[u64] =
    &[0, 1, 4, 7, 8, 16, 64, 4095, 4096, 16384, 16392, 1 << 31, 1 << 32, 1 << 63, u64::MAX, u64::MAX - 7];

fn near(random: &mut Random, value: u64) -> u64 {
    match random.below(5) {
        0 => random.of(WORDS),
        1 => value.wrapping_add(random.of(WORDS)),
        2 => value.wrapping_sub(random.of(WORDS)),
        3 => value ^ 1 << random.below(64),
        _ => random.next(),
    }
}

fn damage(random: &mut Random, record: &mut [u64]) {
    for _ in 0..=random.below(2) {
        let at = random.below(record.len() as u64) as usize;
        record[at] = match random.below(4) {
            0 => near(random, record[at]),
            // One member of 32 bits, which most are.
            1 => record[at] & !0xffff_ffff | u64::from(near(random, record[at] & 0xffff_ffff) as u32),
            2 => record[at] & 0xffff_ffff | near(random, record[at] >> 32) << 32,
            _ => record[at] ^ 0xff << (8 * random.below(8)),
        };
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Target {
    ControlPage,
    Record,
    EveryRow,
    Header,
    StageReference,
    Handle,
    Race,
    ControlBytes,
    ControlOrder,
    Descriptors,
}

const TARGETS: &[Target] = &[
    Target::ControlPage,
    Target::ControlPage,
    Target::Record,
    Target::Record,
    Target::Record,
    Target::EveryRow,
    Target::EveryRow,
    Target::Header,
    Target::StageReference,
    Target::StageReference,
    Target::Handle,
    Target::Handle,
    Target::Race,
    Target::ControlBytes,
    Target::ControlOrder,
    Target::Descriptors,
];

/// Sends a frame with descriptors, whatever its header says of them.
fn send_with(socket: BorrowedFd<'_>, frame: &[u8], descriptors: &[BorrowedFd<'_>]) {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(16))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    assert!(control.push(SendAncillaryMessage::ScmRights(descriptors)));
    // A server that has ended does not take them.
    let _ = sendmsg(socket, &[IoSlice::new(frame)], &mut control, SendFlags::NOSIGNAL);
}

/// Does one thing that no client of good faith does. Where the session is then, and whether its end must be named: it
/// need not be where the client itself has hung up.
fn mutate(stage: &mut Stage, target: Target, rows: &[Vec<u64>], random: &mut Random) -> (Outcome, bool) {
    match target {
        Target::ControlPage => {
            let place = random.of(&[
                at::MAGIC,
                at::VERSION,
                at::HEAD,
                at::HEAD,
                at::RECORDS,
                at::STAGE,
                at::STAGE,
                at::EVENT_TAIL,
                at::PARK,
                at::BELL,
            ]);
            // Something to apply behind it, so that the server looks at the stage and the events too.
            stage.make(random);
            let raw = stage.raw();
            if !raw.put_made() {
                return (Outcome::Hung, true);
            }
            raw.publish();
            let word = word(raw.page(), place);
            word.store(near(random, word.load(Ordering::Relaxed)), Ordering::Release);
            raw.ring();
            return (raw.settle(), true);
        }
        Target::Record | Target::Header => {
            stage.make(random);
            for record in &mut stage.raw().made {
                let words = if target == Target::Header { 1 } else { record.len() };
                damage(random, &mut record[..words]);
            }
        }
        Target::EveryRow => {
            let mut row = rows[random.below(rows.len() as u64) as usize].clone();
            if random.below(2) == 0 {
                damage(random, &mut row);
            }
            stage.raw().made.push(row);
        }
        Target::StageReference => {
            let staged = stage.raw().staged;
            let offsets = [near(random, staged), staged.wrapping_sub(random.below(2000)) & !15, staged - 16];
            let offset = random.of(&offsets);
            let size = near(random, 256);
            let segment = if random.below(8) == 0 { random.next() as u32 } else { 1 };
            let mut lie = BlobRef::staged(offset, size);
            if segment != 1 {
                lie.segment = segment;
            }
            stage.raw().lie = Some(lie);
            let data = SubData { resource: stage.buffers[0], ..SubData::default() };
            let _ = stage.pipe.buffer_sub_data_resident(&data, Bulk::Bytes(&[1; 64]));
            let _ = upload::buffer(&mut stage.pipe, stage.buffers[0], 0, &[1; 64], 1000);
            stage.raw().lie = None;
        }
        Target::Handle => {
            let known = random.of(&stage.buffers);
            let handle = Handle::new(
                random.of(&[0, 1, 2, 1000, 0xffff, u32::MAX, known.slot]),
                random.of(&[0, 1, 2, u32::MAX, known.generation]),
            );
            let kinds = [Kind::Buffer.raw(), Kind::Fence.raw(), 0, random.next() as _];
            let kind = random.of(&kinds);
            let object = HandleOnly { handle, kind, ..HandleOnly::default() };
            let pipe = &mut stage.pipe;
            let done = match random.below(9) {
                0 => pipe.resource_destroy(&object),
                1 => pipe.fence_destroy(&object),
                2 => pipe.bind_shader_state(&object),
                3 => pipe.set_draw_program(&object),
                4 => pipe.delete_sampler_state(&object),
                5 => pipe.delete_shader_state(&object),
                6 => pipe.resource_create(&ResourceDesc { resource: handle, ..ResourceDesc::default() }),
                7 => pipe.fence_create(&object),
                _ => upload::buffer(pipe, handle, 0, &[1; 64], 1000),
            };
            done.expect(MADE);
        }
        Target::Race => {
            for _ in 0..30 {
                stage.make(random);
            }
            let raw = stage.raw();
            if !raw.put_made() {
                return (Outcome::Hung, true);
            }
            raw.publish();
            // While it reads them.
            for _ in 0..random.below(300) {
                let segment = raw.own[1 + random.below(2) as usize].mapping();
                let place = 8 * random.below(segment.len() as u64 / 8) as usize;
                word(segment, place).store(near(random, 0), Ordering::Relaxed);
            }
            return (raw.settle(), true);
        }
        Target::ControlBytes => {
            let raw = stage.raw();
            let mut frame = match random.below(3) {
                0 => (0..1 + random.below(60)).map(|_| random.next() as u8).collect(),
                1 => {
                    let payload: Vec<u8> =
                        (0..1 + random.below(60)).map(|_| random.next() as u8 & 15).collect();
                    frame::encode(&payload, 0).expect("a frame")
                }
                _ => {
                    let message = raw.create_context(9, 0).encode().expect("a message");
                    frame::encode(&message, 0).expect("a frame")
                }
            };
            for _ in 0..=random.below(2) {
                let place = random.below(frame.len() as u64) as usize;
                frame[place] = random.next() as u8;
            }
            raw.bytes(&frame);
            // What is no whole frame waits for its rest, for ever and rightly.
            let _ = shutdown(raw.channel.as_fd(), Shutdown::Write);
            let outcome = match raw.listen(true) {
                // An answer to what was still a request; the end comes behind it.
                Outcome::Alive => raw.listen(true),
                ended => ended,
            };
            return (outcome, false);
        }
        Target::ControlOrder => {
            let raw = stage.raw();
            let (message, descriptors) = match random.below(3) {
                0 => {
                    raw.request = near(random, u64::from(raw.request)) as u32;
                    (raw.create_context(9, 0), vec![])
                }
                1 => (ClientMessage::Hello(hello(SMALL)), vec![]),
                _ => (ClientMessage::Attach(Attach { segments: [4096; 3] }), duplicates(&raw.own)),
            };
            // Request 0 is no message, and is not sent.
            let _ = raw.channel.send(&message, descriptors, &within(DEADLINE));
        }
        Target::Descriptors => {
            let raw = stage.raw();
            let payload = raw.create_context(9, 0).encode().expect("a message");
            let stated = random.below(5) as usize;
            let frame = frame::encode(&payload, stated).expect("a frame");
            let one = raw.own[1].descriptor();
            send_with(raw.channel.as_fd(), &frame, &[one, one, one][..1 + random.below(3) as usize]);
        }
    }
    let raw = stage.raw();
    if !raw.put_made() {
        return (Outcome::Hung, true);
    }
    raw.publish();
    (raw.settle(), true)
}

/// How often each thing ended how.
type Tally = BTreeMap<(Target, &'static str), u64>;

/// So many mutations, some on the real program; names of the faults.
fn mutations(count: u64, on: On, seed: u64, tally: &mut Tally) -> BTreeMap<String, u64> {
    let (mut random, rows, mut names) = (Random(seed), rows(), BTreeMap::new());
    let (mut done, mut base) = (0, 0);
    while done < count {
        let (socket, peer) = Peer::start(on);
        let mut stage = Stage::open(socket);
        // A thread's process keeps something of each server; a program begins anew.
        if on != On::Thread || base == 0 {
            base = peer.resident();
        }
        let mut what = String::new();
        // Many on a session that takes them, then a fresh one: its state has become strange.
        for _ in 0..60 {
            let target = random.of(TARGETS);
            what = format!("mutation {done} (seed {seed}) of {target:?}");
            let (outcome, must_be_named) = mutate(&mut stage, target, &rows, &mut random);
            // A client whose state says CLOSED has ended the session itself, now or some mutations ago.
            let closed = word(stage.raw().page(), at::BELL).load(Ordering::Relaxed) >> 32 == 1;
            done += 1;
            let resident = peer.resident();
            assert!(resident < base + MEMORY, "{what}: {resident} bytes of memory, {base} at first");
            let ended = match outcome {
                Outcome::Alive => "alive",
                Outcome::Named(text) => {
                    let name = text.split("fault: ").last().unwrap_or_default();
                    *names.entry(name.chars().take(60).collect::<String>()).or_insert(0) += 1;
                    "named"
                }
                Outcome::Silent if closed || !must_be_named => "silent",
                outcome => panic!("{what}: {outcome:?}"),
            };
            *tally.entry((target, ended)).or_insert(0) += 1;
            if ended != "alive" || done == count {
                break;
            }
        }
        drop(stage);
        peer.ends(&what);
    }
    names
}

#[test]
fn whatever_a_client_damages_is_survived_or_named() {
    let mut tally = Tally::new();
    let names = mutations(number("MUTATIONS", 5000), On::Thread, 0x5eed, &mut tally);
    // Damage that is never seen, or never survived, would show nothing.
    for target in TARGETS {
        assert!(tally.contains_key(&(*target, "named")), "no {target:?} ended in a named fault: {tally:?}");
    }
    for target in [Target::ControlPage, Target::Record, Target::StageReference, Target::Handle] {
        assert!(tally.contains_key(&(target, "alive")), "no {target:?} was survived: {tally:?}");
    }
    assert!(names.len() >= 60, "only {} faults: {names:#?}", names.len());
}

#[test]
#[ignore = "run by the_program_survives_it_too, which reads its standard error"]
fn alone_the_driver() {
    let mut tally = Tally::new();
    mutations(number("MUTATIONS", 5000) / 20, On::Gles, 0xd1e, &mut tally);
}

#[test]
#[ignore = "run by the_program_survives_it_too, which reads its standard error"]
fn alone_the_program() {
    let mut tally = Tally::new();
    mutations(number("MUTATIONS", 5000) / 20, On::Program, 0xbad, &mut tally);
}

/// The real program, on nothing and on a driver: what it writes to its standard error is no panic.
#[test]
fn the_program_survives_it_too() {
    for alone in ["alone_the_program", "alone_the_driver"] {
        let test = std::process::Command::new(std::env::current_exe().expect("this program"))
            .args(["--exact", alone, "--ignored", "--test-threads=1", "--nocapture"])
            .output()
            .expect("it runs");
        let (out, errors) = (String::from_utf8_lossy(&test.stdout), String::from_utf8_lossy(&test.stderr));
        assert!(test.status.success() && out.contains("1 passed"), "{alone}: {out}{errors}");
        assert!(!errors.contains("panicked"), "{alone}: {errors}");
        // The servers' words do come here.
        assert!(errors.contains("ProtocolCorruption"), "{alone}: {errors}");
    }
}

// ---- The handshake ---------------------------------------------------------------------------------------------

/// One damaged handshake; how it ended, and whether silence is fair.
fn handshake(socket: OwnedFd, random: &mut Random) -> (Outcome, bool) {
    let mut channel = ClientChannel::new(socket);
    let case = random.below(13);
    if case < 4 {
        let mut hello = hello(SMALL);
        match case {
            0 => match random.below(7) {
                0 => hello.protocol = random.next() as u32,
                1 => hello.fingerprint = random.next(),
                2 => hello.build = "another".to_owned(),
                // One that this server has not.
                6 => hello.wanted.doorbell = Doorbell::EventFd,
                3 => hello.wanted.sizes.commands = near(random, 4096),
                4 => hello.wanted.sizes.events = near(random, 4096),
                _ => hello.wanted = Terms { credit: random.next() as u32, ..hello.wanted },
            },
            1 | 2 => {
                let payload = ClientMessage::Hello(hello).encode().expect("a message");
                let mut frame = frame::encode(&payload, 0).expect("a frame");
                let place = random.below(frame.len() as u64) as usize;
                frame[place] = random.next() as u8;
                send_with(channel.as_fd(), &frame, &[]);
                // It may be a part of a frame, and there is no more.
                let _ = shutdown(channel.as_fd(), Shutdown::Write);
                return (listen(&mut channel), true);
            }
            _ => {
                let bye = ClientMessage::Bye(Bye { after: random.next() });
                channel.send(&bye, vec![], &within(DEADLINE)).expect("it reads");
                return (listen(&mut channel), false);
            }
        }
        // The wish may be one that it grants; then there is no more to see.
        channel.send(&ClientMessage::Hello(hello), vec![], &within(DEADLINE)).expect("it reads");
        return (listen(&mut channel), false);
    }
    let (welcome, _descriptors) = welcome(&mut channel, hello(SMALL));
    let own = segments(&welcome.terms.sizes);
    let mut sizes = [0, 1, 2].map(|one| own[one].mapping().len() as u64);
    let mut descriptors = duplicates(&own);
    match case {
        4 => {
            let one = random.below(3) as usize;
            sizes[one] = near(random, sizes[one]).clamp(1, 4 << 30);
            if sizes[one] == own[one].mapping().len() as u64 {
                sizes[one] += 1;
            }
        }
        // Larger, smaller or of no power of two, and honestly so.
        5 | 6 => {
            let one = random.below(3) as usize;
            let bytes = random.of(&[8, 4096 + 8, 8192, 12288, 32 << 10, 64 << 20]);
            let other = OwnedSegment::create(c"runahead-other", bytes).expect("memory");
            sizes[one] = bytes as u64;
            if one == 0 && bytes >= 4096 {
                let from = word(own[0].mapping(), 0).load(Ordering::Relaxed);
                word(other.mapping(), 8)
                    .store(word(own[0].mapping(), 8).load(Ordering::Relaxed), Ordering::Relaxed);
                word(other.mapping(), 0).store(from, Ordering::Release);
            }
            descriptors[one] = other.descriptor().try_clone_to_owned().expect("a descriptor");
        }
        7 => {
            // Nothing keeps its owner from cutting it off under the server.
            let one = random.below(3) as usize;
            let open = rustix::fs::memfd_create(c"runahead-open", rustix::fs::MemfdFlags::CLOEXEC);
            let open = open.expect("memory");
            rustix::fs::ftruncate(&open, sizes[one]).expect("memory");
            descriptors[one] = open;
        }
        8 => {
            descriptors.rotate_left(1);
            sizes.rotate_left(1);
        }
        9 => {
            let one = random.below(3) as usize;
            descriptors[one] = match random.below(2) {
                0 => fs::File::open("/dev/null").expect("it is there").into(),
                _ => channel.as_fd().try_clone_to_owned().expect("a descriptor"),
            };
        }
        10 => {
            let place = random.of(&[at::MAGIC, at::VERSION]);
            let word = word(own[0].mapping(), place);
            word.store(word.load(Ordering::Relaxed) ^ 1 << random.below(64), Ordering::Relaxed);
        }
        11 => {
            let payload = ClientMessage::Attach(Attach { segments: sizes }).encode().expect("a message");
            let frame = frame::encode(&payload, random.below(4) as usize).expect("a frame");
            let some: Vec<_> = descriptors.iter().take(random.below(3) as usize).map(AsFd::as_fd).collect();
            send_with(channel.as_fd(), &frame, &some);
            return (listen(&mut channel), false);
        }
        _ => {
            let bye = ClientMessage::Bye(Bye { after: 0 });
            channel.send(&bye, vec![], &within(DEADLINE)).expect("it reads");
            return (listen(&mut channel), false);
        }
    }
    let attach = ClientMessage::Attach(Attach { segments: sizes });
    channel.send(&attach, descriptors, &within(DEADLINE)).expect("it reads");
    match listen(&mut channel) {
        // Every one of these is to be refused.
        Outcome::Alive => (Outcome::Hung, false),
        outcome => (outcome, false),
    }
}

fn listen(channel: &mut ClientChannel) -> Outcome {
    use runahead_linux::control::{channel::ChannelError, message::ServerMessage};
    match channel.recv(&within(DEADLINE)).map(|received| received.message) {
        Ok(ServerMessage::Fault(fault)) => Outcome::Named(fault.text),
        Ok(ServerMessage::Refuse(refuse)) => Outcome::Named(refuse.to_string()),
        Ok(_) => Outcome::Alive,
        Err(ChannelError::TimedOut) => Outcome::Hung,
        Err(_) => Outcome::Silent,
    }
}

#[test]
fn whatever_is_wrong_with_a_handshake_is_named() {
    let (mut random, mut names) = (Random(0xa77ac4), BTreeMap::new());
    for case in 0..number("MUTATIONS", 5000) / 5 {
        let (socket, peer) = Peer::start(if case % 20 == 0 { On::Program } else { On::Thread });
        let what = format!("handshake {case}");
        let (outcome, fair) = handshake(socket, &mut random);
        match outcome {
            Outcome::Named(text) => *names.entry(text.chars().take(60).collect::<String>()).or_insert(0) += 1,
            Outcome::Alive => {}
            Outcome::Silent if fair => {}
            outcome => panic!("{what}: {outcome:?}"),
        }
        peer.ends(&what);
    }
    assert!(names.len() >= 15, "only {} reasons: {names:#?}", names.len());
}

// ---- Floods ----------------------------------------------------------------------------------------------------

/// Requests that follow a record which never comes are kept, and there is an end to that.
#[test]
fn requests_that_never_come_due_end_the_session() {
    let (socket, peer) = Peer::start(On::Program);
    let mut stage = Stage::open(socket);
    let raw = stage.raw();
    let before = peer.resident();
    let mut refused = false;
    for _ in 0..200_000 {
        raw.request = raw.request.wrapping_add(1);
        let op = SurfaceOp::CreateWindow { config: 0, display: "x".repeat(250), window: 1 };
        let surface = SurfaceRequest { request: raw.request, after: 1 << 40, surface: 2, op };
        if raw.channel.send(&ClientMessage::Surface(surface), vec![], &within(DEADLINE)).is_err() {
            refused = true;
            break;
        }
    }
    let grown = peer.resident().saturating_sub(before);
    assert!(grown < 16 << 20, "{grown} bytes of requests");
    assert!(refused, "it takes any number of them");
    assert!(matches!(raw.listen(true), Outcome::Named(_)), "it does not say why");
    drop(stage);
    peer.ends("a flood of requests");
}
