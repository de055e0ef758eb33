//! A server that lies: everything that it owns is damaged while a client runs. Whatever it does ends in a session that
//! goes on, or in the loss of that session with a reason; never in a panic, a hang, a signal or a client that grows.
//!
//! A server that says nothing is slow, however long it takes. So a client may wait while its server lives; the hang-up
//! that follows here ends every wait. `MUTATIONS=N` asks for more.

mod common;

use std::{
    collections::{BTreeMap, VecDeque},
    fs,
    io::IoSlice,
    mem::MaybeUninit,
    os::fd::{AsFd, BorrowedFd, OwnedFd},
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU32, AtomicU64, Ordering},
        mpsc::{RecvTimeoutError, channel as mpsc},
    },
    time::{Duration, Instant},
};

use common::{DEADLINE, Random, SMALL, at, number, resident, within, word};
use runahead_core::{
    Applier, Fault, Quota, RecordError, Server, Session, Silence,
    link::{Link, Look, Patience, Rest},
    null::Null,
    reply_space, upload,
};
use runahead_linux::{
    control::{
        Bytes,
        channel::{self, ServerChannel},
        frame,
        handshake::{CEILING, Identity, ServerTerms, USUAL, judge_first},
        message::{
            CAPS_BYTES, CapsSnapshot, ClientMessage, ContextAnswer, ContextAttributes, Doorbell, FaultCode,
            LogLevel, LogLine, Message, OperationError, OperationFailure, ServerMessage, SessionFault, Sizes,
            SurfaceAnswer, SurfaceOp, SurfaceState, Terms, Welcome,
        },
        refuse::{Refuse, RefuseCode},
    },
    doorbell::FutexDoorbell,
    segment::{Mapping, OwnedSegment, map_peer},
    session::{Client, Config, RequestError, Topology, Wanted},
    storage::Heap,
};
use runahead_rings::{
    ClientPage, Region, Ringer, ServerPage, Start, Watermark, create, open, reached, record::max_record,
    server,
};
use runahead_wire::{
    Handle,
    handle::Kind,
    payload::*,
    pipe::Pipe,
    values::{BackendKind, StorageKind},
};
use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};

/// Resident bytes that this process may gain over all its sessions.
const MEMORY: u64 = 64 << 20;

/// How long one session, of some dozens of mutations, may take altogether.
const SESSION: Duration = Duration::from_secs(20);

/// How long the server waits for its client to do anything before it hangs up: what it damaged has left the client
/// waiting for an answer that will not come.
const STALLED: Duration = Duration::from_millis(4);

/// Words that are wrong in most places.
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

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Target {
    /// A watermark: backwards, beyond what was recorded, anything.
    Watermark,
    /// How much of the command ring is free.
    CommandTail,
    /// How many events there are, and records among them.
    EventHead,
    /// The bytes of events.
    EventBytes,
    /// Status words of answers that came or may come.
    Reply,
    /// The bell rings without a cause.
    BellStorm,
    /// The park word, the state, the head of the page.
    Page,
    /// An answer with another number, of another kind, before its time, or that names events that never come.
    Answer,
    /// Messages that nobody asked for, or that belong elsewhere.
    Message,
    /// Bytes that are no message.
    ControlBytes,
    /// Descriptors where none belong.
    Descriptors,
    /// Every segment at once while the client reads.
    Race,
}

const TARGETS: &[Target] = &[
    Target::Watermark,
    Target::Watermark,
    Target::CommandTail,
    Target::EventHead,
    Target::EventBytes,
    Target::EventBytes,
    Target::Reply,
    Target::Reply,
    Target::BellStorm,
    Target::Page,
    Target::Answer,
    Target::Answer,
    Target::Message,
    Target::ControlBytes,
    Target::Descriptors,
    Target::Race,
];

// ---- The server ------------------------------------------------------------------------------------------------

/// What the server writes: page, replies, events, caps.
fn own_segments(sizes: &Sizes) -> [OwnedSegment; 4] {
    let segment = |name, bytes: u64| OwnedSegment::create(name, bytes as usize).expect("memory");
    let page = segment(c"runahead-server", 4096);
    // SAFETY: a fresh segment that nobody uses yet.
    unsafe { create::<ServerPage>(page.mapping().base(), 4096, Start::default()) }.expect("a page");
    let caps = CAPS_BYTES.next_multiple_of(4096) as u64 + 4096;
    [
        page,
        segment(c"runahead-replies", sizes.replies),
        segment(c"runahead-events", sizes.events),
        segment(c"runahead-caps", caps),
    ]
}

fn duplicates(segments: &[OwnedSegment; 4]) -> Vec<OwnedFd> {
    segments.iter().map(|one| one.descriptor().try_clone_to_owned().expect("a descriptor")).collect()
}

fn terms() -> ServerTerms {
    ServerTerms {
        identity: Identity::own(true),
        pid: std::process::id(),
        backend: BackendKind::Null as u32,
        usual: USUAL,
        ceiling: CEILING,
        page: 4096,
        caps_page: CAPS_BYTES.next_multiple_of(4096) as u64 + 4096,
        token: None,
    }
}

/// The caps of good faith.
fn caps() -> CapsSnapshot {
    use runahead_core::backend::Backend;
    let null = Null::default();
    let view = null.caps();
    let mut bytes = vec![0; view.encoded_len()];
    assert!(view.encode(&mut bytes));
    CapsSnapshot { generation: view.head().generation, bytes: Bytes(bytes) }
}

/// Reads the `Hello`; the `Welcome` that answers it.
fn hello(channel: &mut ServerChannel) -> Option<Welcome> {
    let first = channel.recv(&within(DEADLINE)).ok()?.message;
    Some(judge_first(&Ok(first), &terms()).expect("a client of good faith"))
}

/// Sends a frame with descriptors, whatever its header says of them.
fn send_with(socket: BorrowedFd<'_>, frame: &[u8], descriptors: &[BorrowedFd<'_>]) {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(16))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    assert!(control.push(SendAncillaryMessage::ScmRights(descriptors)));
    // A client that has ended does not take them.
    let _ = sendmsg(socket, &[IoSlice::new(frame)], &mut control, SendFlags::NOSIGNAL | SendFlags::DONTWAIT);
}

/// What the server tells the test when it ends.
#[derive(Debug, Default)]
struct Done {
    mutations: Vec<Target>,
    /// Whether it hung up because the client did nothing any more.
    stalled: bool,
}

/// What a mutation works on.
struct Evil<'a> {
    channel: &'a mut ServerChannel,
    own: &'a [OwnedSegment; 4],
    /// Number of the last request.
    asked: u32,
}

impl Evil<'_> {
    fn page(&self, place: usize) -> &AtomicU64 {
        word(self.own[0].mapping(), place)
    }

    /// Wakes the client.
    fn ring(&self) {
        let bell = self.own[0].mapping().base().as_ptr().wrapping_add(at::BELL).cast();
        // SAFETY: mapped while the borrow lasts, aligned, and shared through atomics alone.
        let bell = unsafe { AtomicU32::from_ptr(bell) };
        bell.fetch_add(1, Ordering::SeqCst);
        let _ = rustix::thread::futex::wake(bell, rustix::thread::futex::Flags::empty(), u32::MAX >> 1);
    }

    fn post(&mut self, message: &ServerMessage) {
        // One that the library would not send is no loss; a client that is gone takes nothing.
        let _ = self.channel.post(message, Vec::new()).and_then(|()| self.channel.flush());
    }

    fn mutate(&mut self, target: Target, random: &mut Random) {
        match target {
            Target::Watermark => {
                let mark = self.page(at::APPLIED + 8 * random.below(4) as usize);
                mark.store(near(random, mark.load(Ordering::Relaxed)), Ordering::Release);
            }
            Target::CommandTail => {
                let tail = self.page(at::COMMAND_TAIL);
                tail.store(near(random, tail.load(Ordering::Relaxed)), Ordering::Release);
            }
            Target::EventHead => {
                let head = self.page(at::EVENT_HEAD + 8 * random.below(2) as usize);
                head.store(near(random, head.load(Ordering::Relaxed)), Ordering::Release);
            }
            Target::EventBytes => {
                let events = self.own[2].mapping();
                let (head, len) = (self.page(at::EVENT_HEAD).load(Ordering::Relaxed), events.len() as u64);
                let bytes = 8 * (1 + random.below(12));
                for place in (0..bytes).step_by(8) {
                    let value = match (place, random.below(4)) {
                        // A header of a kind and size that there may be.
                        (0, 0..=2) => random.below(9) | bytes << 32,
                        (0, _) => near(random, bytes << 32),
                        _ => near(random, 0),
                    };
                    // The head may be a damaged one.
                    word(events, ((head & !7).wrapping_add(place) % len) as usize)
                        .store(value, Ordering::Relaxed);
                }
                let records = self.page(at::EVENT_HEAD + 8);
                records.store(records.load(Ordering::Relaxed).wrapping_add(1), Ordering::Relaxed);
                self.page(at::EVENT_HEAD).store(head.wrapping_add(bytes), Ordering::Release);
            }
            Target::Reply => {
                let replies = self.own[1].mapping();
                for place in (0..replies.len()).step_by(64) {
                    let status = word(replies, place);
                    let tag = (status.load(Ordering::Relaxed) >> 32).wrapping_add(random.below(2));
                    let size = random.of(&[0, 1, 8, 4096, 4097, (1 << 30) - 1, random.0 & 0xfff]);
                    status.store(tag << 32 | random.below(4) << 30 | size, Ordering::Release);
                }
            }
            Target::BellStorm => {
                for _ in 0..random.below(2000) {
                    self.ring();
                }
            }
            Target::Page => {
                let place = random.of(&[0, 8, 384, 512, 520, 768, 2048]);
                let word = self.page(place);
                word.store(near(random, word.load(Ordering::Relaxed)), Ordering::Release);
            }
            Target::Answer => {
                let events = random.of(&[0, 0, 1 << 20, u64::MAX]);
                let asked = self.asked;
                let request = random.of(&[asked, asked.wrapping_add(1), asked.wrapping_sub(1), u32::MAX, 1]);
                let state = SurfaceState { width: 1, height: 1, format: random.next() as u32, samples: 9 };
                self.post(&match random.below(2) {
                    0 => ServerMessage::Context(ContextAnswer { request, events, result: Ok(()) }),
                    _ => ServerMessage::Surface(SurfaceAnswer { request, events, result: Ok(state) }),
                });
            }
            Target::Message => {
                let text = || "x".repeat(900);
                match random.below(6) {
                    0 => self.post(&ServerMessage::Fault(SessionFault::new(FaultCode::Internal, text()))),
                    1 => {
                        let refuse = Refuse::new(RefuseCode::BUSY, "a", "b", "c");
                        self.post(&ServerMessage::Refuse(refuse));
                    }
                    2 => {
                        for _ in 0..200 {
                            self.post(&ServerMessage::Log(LogLine::new(LogLevel::Error, text(), 7)));
                        }
                    }
                    3 => {
                        let mut snapshot = caps();
                        snapshot.generation = random.next();
                        for byte in snapshot.bytes.0.iter_mut().take(64) {
                            *byte = random.next() as u8;
                        }
                        self.post(&ServerMessage::Caps(snapshot));
                    }
                    4 => {
                        let welcome = judge_first(&Ok(ClientMessage::Hello(common::hello(SMALL))), &terms());
                        let payload = ServerMessage::Welcome(welcome.expect("a wish")).encode();
                        let frame = frame::encode(&payload.expect("a message"), 4).expect("a frame");
                        let four = [0, 1, 2, 3].map(|one: usize| self.own[one].descriptor());
                        send_with(self.channel.as_fd(), &frame, &four);
                    }
                    _ => self.post(&ServerMessage::Caps(caps())),
                }
            }
            Target::ControlBytes => {
                let answer = ContextAnswer { request: self.asked, events: 0, result: Ok(()) };
                let payload = ServerMessage::Context(answer).encode();
                let mut frame = match random.below(3) {
                    0 => (0..1 + random.below(60)).map(|_| random.next() as u8).collect(),
                    1 => frame::encode(&[random.next() as u8 & 15; 40], 0).expect("a frame"),
                    _ => frame::encode(&payload.unwrap_or_else(|_| vec![1]), 0).expect("a frame"),
                };
                let place = random.below(frame.len() as u64) as usize;
                frame[place] = random.next() as u8;
                let flags = SendFlags::NOSIGNAL | SendFlags::DONTWAIT;
                let _ = rustix::net::send(self.channel.as_fd(), &frame, flags);
            }
            Target::Descriptors => {
                let log = ServerMessage::Log(LogLine::new(LogLevel::Info, "a line".to_owned(), 0));
                let stated = random.below(5) as usize;
                let frame = frame::encode(&log.encode().expect("a message"), stated).expect("a frame");
                let one = self.own[1].descriptor();
                send_with(self.channel.as_fd(), &frame, &[one, one, one][..1 + random.below(3) as usize]);
            }
            Target::Race => {
                for _ in 0..random.below(400) {
                    let segment = self.own[random.below(4) as usize].mapping();
                    let place = 8 * random.below(segment.len() as u64 / 8) as usize;
                    word(segment, place).store(near(random, 0), Ordering::Relaxed);
                }
            }
        }
        self.ring();
    }
}

/// A whole region of a mapping.
fn region(mapping: &Mapping) -> Region<'_> {
    // SAFETY: mapped while the borrow lasts; its bytes are reached through regions and atomics alone.
    unsafe { Region::from_raw(mapping.base(), mapping.len()) }.expect("a region")
}

/// Serves in good faith but for `most` mutations, then hangs up.
fn serve(mut channel: ServerChannel, targets: &[Target], seed: u64, most: u64) -> Done {
    let (mut random, mut done) = (Random(seed), Done::default());
    let Some(welcome) = hello(&mut channel) else { return done };
    let sizes = welcome.terms.sizes;
    let own = own_segments(&sizes);
    if channel.send(&ServerMessage::Welcome(welcome), duplicates(&own), &within(DEADLINE)).is_err() {
        return done;
    }
    channel.established();
    let Ok(attached) = channel.recv(&within(DEADLINE)) else { return done };
    let ClientMessage::Attach(attach) = attached.message else { panic!("{:?}", attached.message) };
    let peer: Vec<Mapping> = attach
        .segments
        .iter()
        .zip(&attached.descriptors)
        .map(|(size, descriptor)| map_peer(descriptor.as_fd(), *size as usize).expect("a segment"))
        .collect();
    drop(attached.descriptors);
    // SAFETY: sealed, and mapped until the end of this function.
    let client_page: &ClientPage = unsafe { open(peer[0].base(), peer[0].len()) }.expect("a page");
    let own_page = own[0].mapping();
    // SAFETY: as above; made by `own_segments`.
    let server_page: &ServerPage = unsafe { open(own_page.base(), own_page.len()) }.expect("a page");
    let mut record = vec![0; max_record(peer[1].len()) / 8];
    let rings = server::Rings {
        commands: server::commands_copied(server_page, client_page, region(&peer[1]), &mut record),
        stage: server::stage(client_page, region(&peer[2]), Start::default()),
        // SAFETY: this side writes in good faith through the halves, and else with atomics, which cannot break memory.
        replies: unsafe { server::replies(region(own[1].mapping())) },
        // SAFETY: as above.
        events: unsafe { server::events(server_page, client_page, region(own[2].mapping())) },
        // SAFETY: as above.
        marks: unsafe { server::watermarks(server_page) },
    };
    let link = Impatient(server::ringer(server_page, client_page));
    let mut server: Server<'_, _, Null, Heap> =
        Server::new(rings, link, |outlet| Applier::new(Null::default(), outlet, Quota::default(), 0));
    if channel.send(&ServerMessage::Caps(caps()), Vec::new(), &within(DEADLINE)).is_err() {
        return done;
    }
    let mut queue = VecDeque::new();
    let (mut asked, mut heard, mut applied) = (0, Instant::now(), 0);
    loop {
        match channel.try_recv() {
            Ok(Some(received)) => {
                heard = Instant::now();
                match received.message {
                    ClientMessage::Bye(_) => return done,
                    request => queue.push_back(request),
                }
            }
            Ok(None) => {}
            Err(_) => return done,
        }
        match server.run(64, || 0) {
            Ok(0) => {}
            Ok(records) => (heard, applied) = (Instant::now(), applied + records),
            // What this side damaged is its own to stumble over; and a client does not empty the event ring for ever.
            Err(_) => return done,
        }
        while let Some(front) = queue.front() {
            let (number, after) = number_and_record(front);
            asked = number;
            if !reached(server.applier().ordinal(), after) {
                break;
            }
            let answer = answer(&mut server, front);
            queue.pop_front();
            // Now and then the answer is what is damaged.
            if targets.contains(&Target::Answer)
                && random.below(12) == 0
                && (done.mutations.len() as u64) < most
            {
                done.mutations.push(Target::Answer);
                Evil { channel: &mut channel, own: &own, asked }.mutate(Target::Answer, &mut random);
            } else if channel.post(&answer, Vec::new()).and_then(|()| channel.flush()).is_err() {
                return done;
            }
        }
        if applied >= 3 && random.below(4) == 0 {
            if done.mutations.len() as u64 == most {
                return done;
            }
            applied = 0;
            let target = random.of(targets);
            done.mutations.push(target);
            Evil { channel: &mut channel, own: &own, asked }.mutate(target, &mut random);
        }
        if heard.elapsed() > STALLED {
            done.stalled = true;
            return done;
        }
        std::thread::sleep(Duration::from_micros(20));
    }
}

type Applying<'a> = Server<'a, Impatient<'a>, Null, Heap>;

fn number_and_record(request: &ClientMessage) -> (u32, u64) {
    match request {
        ClientMessage::CreateContext(request) => (request.request, request.after),
        ClientMessage::DestroyContext(request) => (request.request, request.after),
        ClientMessage::Surface(request) => (request.request, request.after),
        other => panic!("{other:?}"),
    }
}

/// The answer of good faith.
fn answer(server: &mut Applying<'_>, request: &ClientMessage) -> ServerMessage {
    let events = server.events_sent();
    let applier = server.applier();
    match request {
        ClientMessage::CreateContext(create) => {
            let _ = applier.create_context(create.context, None);
            ServerMessage::Context(ContextAnswer { request: create.request, events, result: Ok(()) })
        }
        ClientMessage::DestroyContext(destroy) => {
            applier.destroy_context(destroy.context);
            ServerMessage::Context(ContextAnswer { request: destroy.request, events, result: Ok(()) })
        }
        ClientMessage::Surface(surface) => {
            let _ = applier.create_surface(surface.surface);
            let state = SurfaceState { width: 64, height: 64, format: 0, samples: 0 };
            ServerMessage::Surface(SurfaceAnswer { request: surface.request, events, result: Ok(state) })
        }
        other => panic!("{other:?}"),
    }
}

/// A link that waits for its client no longer than this server does.
#[derive(Debug)]
struct Impatient<'a>(Ringer<'a>);

impl Link for Impatient<'_> {
    fn published(&mut self, _: Rest) {
        self.0.ring(&FutexDoorbell);
    }

    fn wait<T>(
        &mut self,
        _: Patience,
        mut ready: impl FnMut() -> Result<Look<T>, Fault>,
    ) -> Result<T, Fault> {
        let begin = Instant::now();
        loop {
            if let Some(found) = ready()?.found {
                return Ok(found);
            }
            if begin.elapsed() > STALLED {
                return Err(Fault::PeerGone);
            }
            std::thread::sleep(Duration::from_micros(20));
        }
    }
}

// ---- The client ------------------------------------------------------------------------------------------------

type Program = Client<Null, Silence>;

fn config(random: &mut Random) -> Config {
    let wanted =
        Terms { sizes: SMALL, credit: 0, run_ahead: random.below(4) != 0, doorbell: Doorbell::Futex };
    Config { topology: Topology::Spawn, wanted: Wanted(wanted), ..Config::default() }
}

/// Whether a session goes on.
fn goes_on<T>(result: Result<T, RecordError>) -> bool {
    match result {
        Ok(_) | Err(RecordError::ReplyFull) => true,
        Err(RecordError::Lost(_)) => false,
        Err(error) => panic!("{error}"),
    }
}

/// Whether a session goes on.
fn answered<T>(result: Result<T, RequestError>) -> bool {
    match result {
        Ok(_) | Err(RequestError::Failed(_)) => true,
        Err(RequestError::Lost(reason)) => {
            assert!(!reason.is_empty(), "a loss without a reason");
            false
        }
    }
}

const BUFFER: Handle = Handle::new(1, 1);

fn prepare(client: &mut Program) -> bool {
    if !answered(client.create_context(1, None, ContextAttributes::gles(3, 2)))
        || !answered(client.surface(1, SurfaceOp::CreatePbuffer { config: 0, width: 64, height: 64 }))
    {
        return false;
    }
    let pipe = client.pipe();
    let desc = ResourceDesc {
        resource: BUFFER,
        storage_kind: StorageKind::Buffer.raw() as u8,
        buf_size: 1 << 12,
        ..ResourceDesc::default()
    };
    let bound = BindContext { context: 1, draw_surface: 1, read_surface: 1 };
    goes_on(pipe.bind_context(&bound))
        && goes_on(pipe.set_context_values(&ContextValues::default()))
        && goes_on(pipe.set_sampler_views(&SamplerViews { start: 0, count: 1 }, &[BoundView::default()]))
        && goes_on(pipe.bind_sampler_states(&SamplerStates { start: 0, count: 1 }, &[Handle::NULL]))
        && goes_on(pipe.resource_create(&desc))
}

/// Every kind of work and of wait, until the session is lost.
fn work(client: &mut Program, random: &mut Random) {
    if !prepare(client) {
        return;
    }
    let (mut frame, mut fence) = (0, 0);
    loop {
        let pipe = client.pipe();
        let alive = match random.below(12) {
            0..=3 => {
                let info = DrawInfo { mode: 4, instance_count: 1, num_draws: 1, ..DrawInfo::default() };
                // Now and then more than the ring holds.
                let draws = random.of(&[1, 1, 1, 1, 1, 1, 1, 300]);
                (0..draws).all(|_| {
                    goes_on(pipe.draw_vbo(&info, &[DrawRange { start: 0, count: 3, index_bias: 0 }], &[]))
                })
            }
            4 => {
                frame += 1;
                goes_on(pipe.present(&Present { frame_serial: frame, ..Present::default() }, &[]))
            }
            5 | 6 => match pipe.ask(4096) {
                Ok(asked) => {
                    let mut out = [0_u8; 5000];
                    goes_on(pipe.get_caps(&CapsRequest::default(), Some(reply_space(&asked)))) && {
                        let answer = pipe.wait_answer(&asked, Patience::Sleep);
                        if let Ok(answer) = answer {
                            assert!(answer.size <= 4096);
                            pipe.copy_answer(&asked, answer, &mut out);
                        }
                        let _ = pipe.release(asked);
                        goes_on(answer)
                    }
                }
                Err(error) => goes_on::<()>(Err(error)),
            },
            7 => match pipe.ask(0) {
                Ok(asked) => {
                    let read = Readback { resource: BUFFER, offset: 0, size: 1 + random.below(3000) };
                    let recorded = pipe.resource_readback(&read, Some(reply_space(&asked)));
                    let waited = pipe.wait_answer(&asked, Patience::Sleep);
                    let _ = pipe.release(asked);
                    goes_on(recorded) && goes_on(waited)
                }
                Err(error) => goes_on::<()>(Err(error)),
            },
            8 => {
                let bytes = vec![random.next() as u8; 1 + random.below(2000) as usize];
                goes_on(upload::buffer(pipe, BUFFER, random.below(1000), &bytes, 1000))
            }
            9 => match random.below(3) {
                0 => goes_on(pipe.poll_events()),
                1 => {
                    let recorded = pipe.recorded();
                    goes_on(pipe.wait_for(Watermark::Applied, recorded, Patience::Spin))
                }
                _ => {
                    [Watermark::Applied, Watermark::Retired, Watermark::CompletedFrame, Watermark::PresentAck]
                        .into_iter()
                        .all(|mark| goes_on(pipe.watermark(mark)))
                }
            },
            10 => {
                fence += 1;
                let handle = Handle::new(fence, 1);
                let object = HandleOnly { handle, kind: Kind::Fence.raw(), ..HandleOnly::default() };
                goes_on(pipe.fence_create(&object))
            }
            _ => match random.below(2) {
                0 => {
                    answered(client.create_context(2, None, ContextAttributes::gles(3, 2)))
                        && answered(client.destroy_context(2))
                }
                _ => answered(client.surface(1, SurfaceOp::Resize { width: 64, height: 64 })),
            },
        };
        if !alive {
            return;
        }
    }
}

// ---- The tests -------------------------------------------------------------------------------------------------

/// Does it on a thread, which must end in time and not by a panic.
fn watched<T: Send + 'static>(what: &str, body: impl FnOnce() -> T + Send + 'static) -> T {
    let (tell, told) = mpsc();
    let thread = std::thread::spawn(move || {
        let result = body();
        let _ = tell.send(());
        result
    });
    if told.recv_timeout(SESSION) == Err(RecvTimeoutError::Timeout) {
        panic!("{what}: the client hangs");
    }
    thread.join().unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().cloned();
        let text = text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()));
        panic!("{what}: the client panicked: {text:?}")
    })
}

/// One session, and why it was lost.
fn session(targets: &'static [Target], seed: u64, most: u64) -> (Done, String) {
    let what = format!("session of seed {seed:#x}");
    watched(&what, move || {
        let (ours, theirs) = channel::pair().expect("a socket");
        let server = std::thread::spawn(move || serve(ServerChannel::new(theirs), targets, seed, most));
        let mut random = Random(!seed);
        let reason = match Program::over(&config(&mut random), ours, None, Silence) {
            Ok(mut client) => {
                work(&mut client, &mut random);
                let reason = client.reason().expect("a lost session has a reason");
                // It is the end, and stays the same one.
                assert!(!answered(client.create_context(3, None, ContextAttributes::gles(3, 2))));
                assert!(client.pipe().lost().is_none() || client.pipe().poll_events().is_err());
                assert!(client.pipe().wait_for(Watermark::Applied, u64::MAX >> 1, Patience::Sleep).is_err());
                assert_eq!(client.reason().as_ref(), Some(&reason), "the first reason is sticky");
                reason
            }
            Err(error) => error.to_string(),
        };
        (server.join().expect("the server of this test"), reason)
    })
}

/// Holds off the other test that reads the memory of this process.
fn alone() -> MutexGuard<'static, ()> {
    static ONE: Mutex<()> = Mutex::new(());
    ONE.lock().unwrap_or_else(PoisonError::into_inner)
}

#[test]
fn whatever_a_server_damages_is_survived_or_named() {
    let _alone = alone();
    let mut random = Random(0x5e7e);
    let (count, mut done) = (number("MUTATIONS", 5000), 0);
    let (mut ended, mut names, mut survived) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
    let base = resident("self");
    while done < count {
        let (result, reason) = session(TARGETS, random.next(), 40);
        done += result.mutations.len() as u64;
        let (last, before) =
            result.mutations.split_last().map_or((None, &[][..]), |(last, rest)| (Some(*last), rest));
        for target in before {
            *survived.entry(*target).or_insert(0_u64) += 1;
        }
        *ended.entry(last).or_insert(0_u64) += 1;
        *names.entry(reason.chars().take(60).collect::<String>()).or_insert(0_u64) += 1;
        let now = resident("self");
        assert!(now < base + MEMORY, "{now} bytes of memory, {base} at first, after {done} mutations");
    }
    let told = format!("{ended:#?}\n{survived:#?}\n{names:#?}");
    // Damage that is never seen, or never survived, would show nothing.
    assert_eq!(unseen(&names, CHECKS), Vec::<&str>::new(), "{told}");
    for target in TARGETS {
        assert!(survived.contains_key(target), "no {target:?} was survived: {told}");
    }
}

/// What a client checks of a running server: each is to be the reason of a loss here.
const CHECKS: &[&str] = &[
    "Control.Request",
    "Control.Events",
    "Context.Order",
    "Surface.Order",
    "Welcome.Order",
    "Frame.Magic",
    "Frame.Descriptors",
    "Log.Descriptors",
    "Message.Number",
    "Reply.Size",
    "Reply.Status",
    "Watermark.Applied",
    "Watermark.PresentAck",
    "RingOverrun(\"Event.Head",
    "RingOverrun(\"Cmd.Tail",
    "Event.Size",
    "BufferWriteback.Size",
    "GpuWritten.Count",
];

/// The names that are no reason of any loss.
fn unseen<'a>(reasons: &BTreeMap<String, u64>, names: &[&'a str]) -> Vec<&'a str> {
    names.iter().filter(|name| !reasons.keys().any(|reason| reason.contains(**name))).copied().collect()
}

/// The negative control of `unseen`: a client that lacked a check would lack its name.
#[test]
fn a_check_that_never_bites_is_noticed() {
    let all = |names: &[&str]| names.iter().map(|name| ((*name).to_owned(), 1)).collect::<BTreeMap<_, _>>();
    assert_eq!(unseen(&all(CHECKS), CHECKS), Vec::<&str>::new());
    assert_eq!(unseen(&all(&CHECKS[1..]), CHECKS), ["Control.Request"]);
}

/// The negative controls of `watched`.
#[test]
fn a_client_that_panics_is_noticed() {
    let noticed = std::panic::catch_unwind(|| watched("a control", || panic!("on purpose")));
    let text = noticed.expect_err("unnoticed");
    assert!(text.downcast_ref::<String>().expect("a message").contains("on purpose"));
}

// ---- The handshake ---------------------------------------------------------------------------------------------

/// What a damaged handshake may come to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fair {
    /// The client must not take it.
    Refused,
    /// It may be no damage at all.
    Either,
}

/// Answers a client with something that is wrong, then hangs up.
fn handshake(socket: OwnedFd, seed: u64) -> Fair {
    let mut random = Random(seed);
    let mut channel = ServerChannel::new(socket);
    let case = random.below(16);
    let Some(mut welcome) = hello(&mut channel) else { return Fair::Either };
    let sizes = welcome.terms.sizes;
    let own = own_segments(&sizes);
    let mut descriptors = duplicates(&own);
    let one = random.below(4) as usize;
    let send = |channel: &mut ServerChannel, message: ServerMessage, descriptors: Vec<OwnedFd>| {
        let _ = channel.send(&message, descriptors, &within(DEADLINE));
    };
    let mut fair = Fair::Refused;
    match case {
        // A byte of the frame.
        0 => {
            let payload = ServerMessage::Welcome(welcome).encode().expect("a message");
            let mut frame = frame::encode(&payload, 4).expect("a frame");
            let place = random.below(frame.len() as u64) as usize;
            frame[place] ^= 1 << random.below(8);
            let four = [0, 1, 2, 3].map(|one: usize| own[one].descriptor());
            send_with(channel.as_fd(), &frame, &four);
            // It may be its process number, or a length whose rest never comes: then the hang-up ends it.
            return Fair::Either;
        }
        1 => match random.below(3) {
            0 => welcome.protocol = welcome.protocol.wrapping_add(1 + random.next() as u32 / 2),
            1 => welcome.fingerprint ^= 1 << random.below(64),
            _ => welcome.build = "another".to_owned(),
        },
        2 => match random.below(5) {
            0 => welcome.terms.credit = random.of(&[0, 9, 1000, u32::MAX]),
            1 => welcome.terms.sizes.commands = random.of(&[0, 1, 4095, 12288, 1 << 40, u64::MAX]),
            2 => welcome.terms.sizes.stage = random.of(&[0, 1, 4095, 12288, 1 << 40, u64::MAX]),
            3 => welcome.terms.sizes.events *= 2,
            _ => {
                welcome.terms.doorbell = Doorbell::EventFd;
                descriptors.extend(duplicates(&own).into_iter().take(2));
            }
        },
        // Terms as large as there can be, which are not there.
        3 => {
            welcome.terms.sizes.events = 4 << 30;
            welcome.segments[2] = 4 << 30;
        }
        4 => {
            let stated = welcome.segments[one];
            welcome.segments[one] = near(&mut random, stated).clamp(1, 4 << 30);
            if welcome.segments[one] == stated {
                welcome.segments[one] += 8;
            }
        }
        // Not sealed: its owner could cut it off under the client.
        5 => {
            let flags = rustix::fs::MemfdFlags::CLOEXEC | rustix::fs::MemfdFlags::ALLOW_SEALING;
            let open = rustix::fs::memfd_create(c"runahead-open", flags).expect("memory");
            rustix::fs::ftruncate(&open, welcome.segments[one]).expect("memory");
            descriptors[one] = open;
        }
        // Sealed, and of another size than stated.
        6 => {
            let bytes = random.of(&[8, 4096 + 8, 8192, 32 << 10, 64 << 20]);
            let other = OwnedSegment::create(c"runahead-other", bytes).expect("memory");
            descriptors[one] = other.descriptor().try_clone_to_owned().expect("a descriptor");
            if bytes as u64 == welcome.segments[one] {
                welcome.segments[one] += 8;
            }
        }
        // No memory at all.
        7 => {
            descriptors[one] = match random.below(4) {
                0 => fs::File::open("/dev/null").expect("it is there").into(),
                1 => fs::File::open(std::env::current_exe().expect("this program"))
                    .expect("it is there")
                    .into(),
                2 => channel::pair().expect("a socket").0,
                _ => channel.as_fd().try_clone_to_owned().expect("a descriptor"),
            };
        }
        8 => {
            descriptors.rotate_left(1);
            if random.below(2) == 0 {
                welcome.segments.rotate_left(1);
            }
        }
        9 => {
            let place = random.of(&[at::MAGIC, at::VERSION]);
            let word = word(own[0].mapping(), place);
            word.store(word.load(Ordering::Relaxed) ^ 1 << random.below(64), Ordering::Relaxed);
        }
        // Too few, too many.
        10 => {
            let payload = ServerMessage::Welcome(welcome).encode().expect("a message");
            let frame = frame::encode(&payload, random.of(&[0, 1, 3, 5, 16])).expect("a frame");
            let count = random.of(&[1, 2, 3, 5, 8]);
            let some: Vec<_> = (0..count).map(|one| own[one % 4].descriptor()).collect();
            send_with(channel.as_fd(), &frame, &some);
            return Fair::Refused;
        }
        // Another message.
        11 => {
            let state = Err(OperationFailure::new(OperationError::Unsupported, "no".to_owned()));
            let message = match random.below(5) {
                0 => ServerMessage::Caps(caps()),
                1 => ServerMessage::Surface(SurfaceAnswer { request: 1, events: 0, result: state }),
                2 => ServerMessage::Log(LogLine::new(LogLevel::Info, "x".to_owned(), 0)),
                3 => ServerMessage::Refuse(Refuse::new(RefuseCode(random.next() as u32), "a", "b", "c")),
                _ => ServerMessage::Fault(SessionFault::new(FaultCode::OverBudget, "no room".to_owned())),
            };
            send(&mut channel, message, vec![]);
            return Fair::Refused;
        }
        // The rest is about what follows a right one.
        _ => {
            send(&mut channel, ServerMessage::Welcome(welcome), descriptors);
            channel.established();
            let _ = channel.recv(&within(DEADLINE));
            let mut snapshot = caps();
            match case {
                12 => {
                    let place = random.below(snapshot.bytes.0.len() as u64) as usize;
                    snapshot.bytes.0[place] ^= 1 << random.below(8);
                    fair = Fair::Either;
                }
                13 => match random.below(4) {
                    0 => snapshot.bytes.0.truncate(random.below(64) as usize),
                    1 => snapshot.bytes.0 = vec![0xff; CAPS_BYTES],
                    2 => snapshot.bytes.0.clear(),
                    _ => snapshot.bytes.0.extend([0; 8]),
                },
                14 => {
                    for _ in 0..random.below(500) {
                        let line = LogLine::new(LogLevel::Error, "x".repeat(4000), 0);
                        send(&mut channel, ServerMessage::Log(line), vec![]);
                    }
                    if random.below(2) == 0 {
                        return Fair::Refused;
                    }
                    fair = Fair::Either;
                }
                _ => {
                    let answer = ContextAnswer { request: 1, events: 0, result: Ok(()) };
                    send(&mut channel, ServerMessage::Context(answer), vec![]);
                    return Fair::Refused;
                }
            }
            send(&mut channel, ServerMessage::Caps(snapshot), vec![]);
            return fair;
        }
    }
    send(&mut channel, ServerMessage::Welcome(welcome), descriptors);
    // So that its reason is what it found, and not the hang-up.
    let _ = channel.recv(&within(DEADLINE));
    let _ = channel.send(&ServerMessage::Caps(caps()), vec![], &within(DEADLINE));
    fair
}

#[test]
fn whatever_is_wrong_with_a_handshake_is_named() {
    let _alone = alone();
    let (mut random, mut names) = (Random(0x4e110), BTreeMap::new());
    let base = resident("self");
    for case in 0..number("MUTATIONS", 5000) / 5 {
        let seed = random.next();
        let what = format!("handshake {case} of seed {seed:#x}");
        let (fair, error) = watched(&what, move || {
            let (ours, theirs) = channel::pair().expect("a socket");
            let server = std::thread::spawn(move || handshake(theirs, seed));
            let opened = Program::over(&config(&mut Random(seed | 3)), ours, None, Silence);
            let error = opened.err().map(|error| error.to_string());
            (server.join().expect("the server of this test"), error)
        });
        assert!(fair == Fair::Either || error.is_some(), "{what}: the client took it");
        *names.entry(error.unwrap_or_default()).or_insert(0_u64) += 1;
        let now = resident("self");
        assert!(now < base + MEMORY, "{what}: {now} bytes of memory, {base} at first");
    }
    let reasons = [
        "fingerprint",
        "different sources",
        "present credit",
        "command ring",
        "stage ring",
        "event ring",
        "doorbell",
        "has the seals",
        "announced were",
        "ServerPage.Magic",
        "ServerPage.Version",
        "Frame.Descriptors",
        "Welcome.Descriptors",
        "Caps.Order",
        "no room",
        "Context.Order",
        "CapsHead",
    ];
    assert_eq!(unseen(&names, &reasons), Vec::<&str>::new(), "{names:#?}");
}
