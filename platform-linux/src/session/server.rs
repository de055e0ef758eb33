//! The server role: a thread that applies, and the caller's thread for everything else.

use std::{
    any::Any,
    collections::VecDeque,
    fmt, io,
    os::fd::{AsFd, OwnedFd},
    panic::{self, AssertUnwindSafe},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use runahead_core::{
    Applier, Fault, Quota, Server,
    applier::ContextError,
    link::{Bells, Patience},
};
use runahead_rings::{Waiter, reached};
use runahead_wire::values::BackendKind;
use rustix::{
    event::{EventfdFlags, PollFd, PollFlags, eventfd},
    io::{read, write},
};

use super::{
    Door, Native, clock, exit,
    live::{self, LiveWriter},
    log::Log,
    memory::{MemoryError, PAGE, ServerHalves, ServerMemory, ServerSegments},
    native::caps_blob,
    spins,
};
use crate::{
    control::{
        Bytes, Corruption,
        channel::{ChannelError, ServerChannel, Until},
        handshake::{CEILING, Identity, ServerTerms, USUAL, judge_first},
        message::{
            CapsSnapshot, ClientMessage, Configs, ContextAnswer, CreateContext, DestroyContext, Doorbell,
            FaultCode, Hello, LogLevel, OperationError, OperationFailure, RequestNumbers, ServerMessage,
            SessionFault, SurfaceAnswer, SurfaceOp, SurfaceRequest, Welcome,
        },
        refuse::{Refuse, RefuseCode},
    },
    doorbell::EventFdDoorbell,
    peer,
    pin::pin,
    poll,
    signals::Blocked,
    storage::Heap,
};

/// Records that are applied before the thread looks at anything else.
const BATCH: u32 = 4096;
/// How long the apply thread sleeps while an answer is owed that only the GPU can give.
const OWED: Duration = Duration::from_millis(1);

/// Requests that wait for their record at most. A client waits for the answer of each, so that more are an attack.
const REQUESTS: usize = 256;

/// Bytes of log lines that may wait for the socket, so that there is always room for answers.
const LOG_OUTBOX: usize = 64 << 10;

/// How long the last words of a server wait for a client to read them.
const LAST_WORDS: Duration = Duration::from_millis(500);

/// Batches after which counters are published though there is no end of the work.
const COUNTED: u32 = 16;

/// How long a request waits until the apply thread is nudged again.
const NUDGE: Duration = Duration::from_millis(1);

/// Why a server served nobody, or not to the end.
#[derive(Debug)]
pub enum ServeError {
    /// The control socket's.
    Channel(ChannelError),
    /// The client's memory.
    Memory(MemoryError),
    /// The handshake was refused; the client was told.
    Refused(Refuse),
    /// The client's state is not what it told, and where.
    Differs(String),
    /// The recording is not whole; what was recorded was told.
    Recording(String),
    /// The session ended by a fault; the client was told.
    Fault(Fault),
    /// The native API could not be brought up; the client was told.
    Backend(String),
    /// The system did not give what a session needs; the client was told.
    Setup(&'static str, String),
    /// The thread that applies panicked, a defect of the backend or of this code; the client was told.
    Panic(String),
}

impl fmt::Display for ServeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Channel(error) => error.fmt(f),
            Self::Memory(error) => error.fmt(f),
            Self::Refused(refuse) => refuse.fmt(f),
            Self::Recording(text) => f.write_str(text),
            Self::Differs(difference) => write!(f, "the states differ: {difference}"),
            Self::Fault(fault) => write!(f, "the session ended by a fault: {fault}"),
            Self::Backend(text) => write!(f, "the native API could not be brought up: {text}"),
            Self::Panic(text) => write!(f, "the server panicked: {text}"),
            Self::Setup(what, error) => write!(f, "the server has no {what} for a session: {error}"),
        }
    }
}

impl std::error::Error for ServeError {}

impl From<ChannelError> for ServeError {
    fn from(error: ChannelError) -> Self {
        Self::Channel(error)
    }
}

impl From<MemoryError> for ServeError {
    fn from(error: MemoryError) -> Self {
        Self::Memory(error)
    }
}

/// A request on its way to the apply thread.
#[derive(Debug)]
enum Request {
    Create(CreateContext),
    Destroy(DestroyContext),
    Surface(SurfaceRequest),
}

impl Request {
    const fn after(&self) -> u64 {
        match self {
            Self::Create(request) => request.after,
            Self::Destroy(request) => request.after,
            Self::Surface(request) => request.after,
        }
    }
}

/// What the two threads of a server hand each other.
#[derive(Debug)]
struct Desk {
    requests: Mutex<VecDeque<Request>>,
    /// Set with every change of `requests` and by `stop`; the apply thread looks at it in its waits.
    knock: AtomicBool,
    messages: Mutex<VecDeque<ServerMessage>>,
    /// Readable when there are messages or lines, or the apply thread has ended.
    bell: Arc<OwnedFd>,
    log: Log,
    ended: AtomicBool,
    /// The client is gone without a goodbye: what it published and was not applied yet is nobody's any more.
    gone: AtomicBool,
}

impl Desk {
    fn say(&self, message: ServerMessage) {
        lock(&self.messages).push_back(message);
        self.ring();
    }

    fn ring(&self) {
        // An eventfd takes this write unless it was rung 2^64 times.
        let _ = write(&*self.bell, &1_u64.to_ne_bytes());
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    // What these guard is whole after every step.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn terms(kind: BackendKind, same_build: bool) -> ServerTerms {
    ServerTerms {
        identity: Identity::own(same_build),
        pid: std::process::id(),
        backend: kind as u32,
        usual: USUAL,
        ceiling: CEILING,
        page: PAGE as u64,
        caps_page: live::SIZE.next_multiple_of(PAGE) as u64,
        token: None,
    }
}

/// The doorbell of the terms, and the descriptors of it that the client gets: what it sleeps on and what it rings.
fn doorbell(welcome: &Welcome) -> std::io::Result<(Door, Vec<OwnedFd>)> {
    match welcome.terms.doorbell {
        Doorbell::Futex => Ok((Door::new(), Vec::new())),
        Doorbell::EventFd => {
            let (clients, ours) = (EventFdDoorbell::descriptor()?, EventFdDoorbell::descriptor()?);
            let copies = vec![clients.try_clone()?, ours.try_clone()?];
            Ok((Door::by_eventfds(ours, clients), copies))
        }
    }
}

/// Serves one client over a control socket, until it ends the session or is gone. `make` brings the native API up, on
/// the thread that applies; `done` gets the backend back when the session ends well or by the client's doing.
///
/// A client that goes, whenever it goes, is no error.
///
/// # Errors
/// [`ServeError`]; the client was told where it can be.
pub fn serve<B: Native>(
    socket: OwnedFd,
    kind: BackendKind,
    make: impl FnOnce() -> Result<B, String> + Send + 'static,
    done: impl FnOnce(B) + Send + 'static,
) -> Result<(), ServeError> {
    serve_logging(socket, kind, |_| make(), done)
}

/// As [`serve`], for a native API that has something to say: `make` gets where.
///
/// # Errors
/// As [`serve`].
pub fn serve_logging<B: Native>(
    socket: OwnedFd,
    kind: BackendKind,
    make: impl FnOnce(&Log) -> Result<B, String> + Send + 'static,
    done: impl FnOnce(B) + Send + 'static,
) -> Result<(), ServeError> {
    match session(socket, kind, make, done) {
        Err(ServeError::Channel(ChannelError::Gone(_)) | ServeError::Fault(Fault::PeerGone)) => Ok(()),
        ended => ended,
    }
}

fn session<B: Native>(
    socket: OwnedFd,
    kind: BackendKind,
    make: impl FnOnce(&Log) -> Result<B, String> + Send + 'static,
    done: impl FnOnce(B) + Send + 'static,
) -> Result<(), ServeError> {
    let Accepted { mut channel, client, counts, log, halves, door } = accept(socket, kind)?;
    let until = Until { process: client.as_ref().map(AsFd::as_fd), ..Until::default() };
    let started = start(halves, door, counts, log, make, done);
    let Started { desk, waiter, door, memory, applying } =
        started.inspect_err(|error| explain(&mut channel, error))?;
    let mut farewell = false;
    let talked = talk(&mut channel, &desk, (waiter, &door), client.as_ref(), &mut farewell);
    if talked.is_err() {
        // The apply thread ends after the batch at hand, or behind a goodbye when everything is applied.
        desk.gone.store(!farewell, Ordering::Release);
        door.peer_is_gone();
        waiter.announce_death(&door);
    }
    let applied = applying.join().unwrap_or_else(|panic| Err(panicked(&*panic)));
    // The apply thread was told no more than that there is no client.
    if let (Err(error), Ok(()) | Err(ServeError::Fault(Fault::PeerGone))) = (&talked, &applied) {
        explain(&mut channel, error);
    }
    // What it said last, for a client that is still there.
    for message in lock(&desk.messages).drain(..) {
        if channel.post(&message, Vec::new()).is_err() {
            break;
        }
    }
    while let Some(line) = desk.log.next().or_else(|| desk.log.last()) {
        if channel.post(&ServerMessage::Log(line), Vec::new()).is_err() {
            break;
        }
    }
    // One that does not read them is not waited for.
    let until = Until { deadline: Some(Instant::now() + LAST_WORDS), ..until };
    let _ = channel.finish(&until);
    drop(memory);
    applied.and(talked)
}

/// A client with which this side agrees.
#[derive(Debug)]
pub(crate) struct Accepted {
    pub(crate) halves: ServerHalves,
    pub(crate) channel: ServerChannel,
    /// Its process, where it is in sight.
    pub(crate) client: Option<OwnedFd>,
    pub(crate) door: Door,
    /// Whether it wishes counters.
    counts: bool,
    /// The lines that it wishes.
    log: Option<LogLevel>,
}

/// Agrees with the client at the other end of a socket.
///
/// # Errors
/// [`ServeError`]; the client was told where it can be.
pub(crate) fn accept(socket: OwnedFd, kind: BackendKind) -> Result<Accepted, ServeError> {
    pin();
    // Without it, when the client is in another PID namespace or gone already, the hang-up still tells. A client of
    // this very process ends with us.
    let client = peer::process_of(&socket).ok();
    let until = Until { process: client.as_ref().map(AsFd::as_fd), ..Until::default() };
    let mut channel = ServerChannel::new(socket);
    let first = match channel.recv(&until) {
        Ok(received) => Ok(received.message),
        Err(ChannelError::Corrupt(corruption)) => Err(corruption),
        Err(error) => return Err(error.into()),
    };
    let terms = terms(kind, true);
    let welcome = match judge_first(&first, &terms) {
        Ok(welcome) => welcome,
        Err(refuse) => {
            channel.send(&ServerMessage::Refuse(refuse.clone()), Vec::new(), &until)?;
            return Err(ServeError::Refused(refuse));
        }
    };
    let (counts, log) = wishes(&first);
    let attached = attach(&mut channel, &until, welcome, &terms);
    let (halves, door) = attached.inspect_err(|error| explain(&mut channel, error))?;
    Ok(Accepted { halves, channel, client, door, counts, log })
}

/// Hands out what this side writes and takes what the client writes.
fn attach(
    channel: &mut ServerChannel,
    until: &Until<'_>,
    welcome: Welcome,
    terms: &ServerTerms,
) -> Result<(ServerHalves, Door), ServeError> {
    let sizes = welcome.terms.sizes;
    let setup = |what| move |error: io::Error| ServeError::Setup(what, error.to_string());
    let segments = ServerSegments::create(&sizes, terms.caps_page)
        .map_err(|error| ServeError::Setup("shared memory", error.to_string()))?;
    let (door, bells) = doorbell(&welcome).map_err(setup("doorbell"))?;
    let mut descriptors =
        segments.hand_out().map_err(|error| ServeError::Setup("descriptor", error.to_string()))?;
    descriptors.extend(bells);
    channel.send(&ServerMessage::Welcome(welcome), descriptors, until)?;
    channel.established();
    let attached = channel.recv(until)?;
    let ClientMessage::Attach(attach) = attached.message else {
        return Err(ServeError::Refused(Refuse::new(RefuseCode::MALFORMED, "Attach", "another message", "")));
    };
    // Larger ones would have this side keep more than its terms say: a record's copy is as large as half the ring.
    let stated = [terms.page, sizes.commands, sizes.stage];
    require(attach.segments == stated, "Attach", "segments")?;
    Ok((ServerHalves::new(segments, &stated, &attached.descriptors)?, door))
}

/// A session that is applied.
struct Started {
    desk: Arc<Desk>,
    waiter: Waiter<'static>,
    door: Door,
    /// What the waiter lies in.
    memory: Arc<ServerMemory>,
    applying: thread::JoinHandle<Result<(), ServeError>>,
}

/// Starts the thread that applies.
fn start<B: Native>(
    halves: ServerHalves,
    door: Door,
    counts: bool,
    wanted: Option<LogLevel>,
    make: impl FnOnce(&Log) -> Result<B, String> + Send + 'static,
    done: impl FnOnce(B) + Send + 'static,
) -> Result<Started, ServeError> {
    let (waiter, memory) = (halves.waiter, halves.memory());
    let setup = |what| move |error: io::Error| ServeError::Setup(what, error.to_string());
    let bell = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK).map_err(io::Error::from);
    let bell = Arc::new(bell.map_err(setup("descriptor"))?);
    let desk = Arc::new(Desk {
        requests: Mutex::default(),
        knock: AtomicBool::new(false),
        messages: Mutex::default(),
        log: Log::new(Arc::clone(&bell), wanted),
        bell,
        ended: AtomicBool::new(false),
        gone: AtomicBool::new(false),
    });
    let (theirs, their_door) = (Arc::clone(&desk), door.clone());
    let body = move || {
        // Whatever a driver does, the client is told and nobody waits for ever.
        let applied = panic::catch_unwind(AssertUnwindSafe(|| {
            apply(halves, (their_door, counts), &theirs, make, done)
        }));
        let ended = applied.unwrap_or_else(|panic| Err(panicked(&*panic)));
        if let Err(error) = &ended {
            theirs.say(ServerMessage::Fault(fault_message(error)));
        }
        theirs.ended.store(true, Ordering::Release);
        theirs.ring();
        ended
    };
    let _blocked = Blocked::new().map_err(setup("thread"))?;
    let applying = thread::Builder::new().name("runahead-apply".into()).spawn(body);
    Ok(Started { desk, waiter, door, memory, applying: applying.map_err(setup("thread"))? })
}

fn panicked(panic: &(dyn Any + Send)) -> ServeError {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
    ServeError::Panic(text.unwrap_or("no message").to_owned())
}

/// Whether a client wishes counters, and the lines that it wishes.
const fn wishes(first: &Result<ClientMessage, Corruption>) -> (bool, Option<LogLevel>) {
    match first {
        Ok(ClientMessage::Hello(Hello { statistics, log, .. })) => (*statistics, *log),
        _ => (false, None),
    }
}

/// Refuses what a client sent unless `valid`.
fn require(valid: bool, owner: &'static str, field: &'static str) -> Result<(), ServeError> {
    if valid { Ok(()) } else { Err(ChannelError::Corrupt(Corruption { owner, field }).into()) }
}

/// Tells a client why there is no session any more. One that is gone hears nothing.
pub(crate) fn explain(channel: &mut ServerChannel, error: &ServeError) {
    let message = match error {
        ServeError::Channel(ChannelError::Gone(_)) => return,
        ServeError::Refused(refuse) => ServerMessage::Refuse(refuse.clone()),
        error => ServerMessage::Fault(fault_message(error)),
    };
    // It may not read, which is its own affair.
    let _ = channel.post(&message, Vec::new()).and_then(|()| channel.flush());
}

fn fault_message(error: &ServeError) -> SessionFault {
    let code = match error {
        ServeError::Fault(Fault::DeviceLost) => FaultCode::DeviceLost,
        ServeError::Fault(Fault::OverLimit { .. }) => FaultCode::OverBudget,
        // The client's segments are at fault, unless it is the system that did not map them.
        ServeError::Memory(MemoryError::Io(error)) if error.kind() != io::ErrorKind::InvalidData => {
            FaultCode::Internal
        }
        ServeError::Differs(_)
        | ServeError::Fault(_)
        | ServeError::Memory(_)
        | ServeError::Channel(ChannelError::Corrupt(_)) => FaultCode::ProtocolCorruption,
        _ => FaultCode::Internal,
    };
    SessionFault::new(code, error.to_string())
}

/// The control socket's side: requests in, messages out, until the client is gone or the apply thread has ended.
/// `farewell` becomes true when the client says goodbye.
fn talk(
    channel: &mut ServerChannel,
    desk: &Desk,
    (waiter, door): (Waiter<'_>, &Door),
    client: Option<&OwnedFd>,
    farewell: &mut bool,
) -> Result<(), ServeError> {
    let mut numbers = RequestNumbers::new();
    loop {
        let outgoing: Vec<ServerMessage> = lock(&desk.messages).drain(..).collect();
        for message in outgoing {
            channel.post(&message, Vec::new())?;
        }
        // A client that does not read has lines dropped, and counted, in their queue.
        while channel.queued() < LOG_OUTBOX
            && let Some(line) = desk.log.next()
        {
            channel.post(&ServerMessage::Log(line), Vec::new())?;
        }
        channel.flush()?;
        if desk.ended.load(Ordering::Acquire) {
            return Ok(());
        }
        while let Some(received) = channel.try_recv()? {
            let request = match received.message {
                ClientMessage::CreateContext(request) => Some((request.request, Request::Create(request))),
                ClientMessage::DestroyContext(request) => Some((request.request, Request::Destroy(request))),
                ClientMessage::Surface(request) => Some((request.request, Request::Surface(request))),
                // The rings say the rest: the client has closed its end.
                ClientMessage::Bye(_) => {
                    *farewell = true;
                    None
                }
                ClientMessage::Hello(_) | ClientMessage::Attach(_) => {
                    return require(false, "Control", "order");
                }
            };
            if let Some((number, request)) = request {
                numbers.accept(number).map_err(ChannelError::Corrupt)?;
                let mut requests = lock(&desk.requests);
                require(requests.len() < REQUESTS, "Control", "requests")?;
                requests.push_back(request);
                drop(requests);
                desk.knock.store(true, Ordering::Release);
            }
        }
        let mut descriptors = vec![
            PollFd::new(&*desk.bell, PollFlags::IN),
            PollFd::from_borrowed_fd(channel.as_fd(), channel.interest() | PollFlags::RDHUP),
        ];
        descriptors.extend(client.map(|client| PollFd::new(client, PollFlags::IN)));
        // A thread that falls asleep just now misses a nudge; it is given again until it was seen.
        let knocking = desk.knock.load(Ordering::Acquire);
        if knocking {
            waiter.nudge(door);
        }
        let deadline = knocking.then(|| Instant::now() + NUDGE);
        poll::wait(&mut descriptors, deadline).map_err(ChannelError::Io)?;
        let died = descriptors.get(2).is_some_and(|client| !client.revents().is_empty());
        let rung = descriptors.first().is_some_and(|bell| !bell.revents().is_empty());
        if rung {
            let _ = read(&*desk.bell, &mut [0_u8; 8]);
        }
        if died {
            // It may have said goodbye since the last look.
            while let Ok(Some(received)) = channel.try_recv() {
                *farewell |= matches!(received.message, ClientMessage::Bye(_));
            }
            return Err(ChannelError::Gone(peer::Death::Exited).into());
        }
    }
}

type Session<B> = Server<'static, Bells<'static, Door>, B, Heap>;

/// The thread that applies. It owns the native API for life.
fn apply<B: Native>(
    mut halves: ServerHalves,
    (door, counts): (Door, bool),
    desk: &Desk,
    make: impl FnOnce(&Log) -> Result<B, String>,
    done: impl FnOnce(B),
) -> Result<(), ServeError> {
    let taken = (halves.rings.take(), halves.ringer.take(), halves.live.take());
    let (Some(rings), Some(ringer), Some(mut live)) = taken else {
        return Err(ServeError::Fault(Fault::PeerGone));
    };
    let Some(starting) = exit::enter() else { return Err(leaving()) };
    let backend = make(&desk.log).map_err(ServeError::Backend)?;
    exit::driver_is_loaded();
    drop(starting);
    desk.say(ServerMessage::Configs(Configs::new(backend.configs())));
    let snapshot = caps(&backend);
    live.caps(&snapshot.bytes.0);
    let generation = snapshot.generation;
    desk.log.line(LogLevel::Info, || {
        let texts = backend.caps().texts();
        format!("applies on {} ({})", texts.renderer, texts.vendor)
    });
    // The client's handshake ends with them, and has what was said before.
    desk.say(ServerMessage::Caps(snapshot));
    let link = Bells::new(ringer, halves.waiter, door, spins()).timed(counts.then_some(clock));
    let mut server: Session<B> =
        Server::new(rings, link, |outlet| Applier::new(backend, outlet, Quota::default(), 0));
    let mut board = Board { live, generation, counts, batches: 0 };
    let ended = run(&mut server, desk, &mut board);
    board.count(&server);
    server.link().close();
    let _inside = inside(&mut server, desk);
    let finished = server.finish();
    // Before the memory that they worked on goes.
    drop(halves);
    if let Ok(backend) = finished {
        done(backend);
    }
    ended
}

fn caps<B: Native>(backend: &B) -> CapsSnapshot {
    CapsSnapshot { generation: backend.caps().head().generation, bytes: Bytes(caps_blob(backend)) }
}

/// What the apply thread keeps for the client to read at any time.
struct Board {
    live: LiveWriter,
    /// Of the caps that the client was told of.
    generation: u64,
    /// Whether the client wants counters.
    counts: bool,
    /// Since counters were published.
    batches: u32,
}

impl Board {
    /// Publishes the counters, if the client wants them.
    fn count<B: Native>(&mut self, server: &Session<B>) {
        if self.counts {
            self.live.counters(&server.counters());
            self.batches = 0;
        }
    }

    /// Publishes the caps if they have a new generation, and says so.
    fn look_at_caps<B: Native>(&mut self, server: &mut Session<B>, desk: &Desk) -> Result<(), Fault> {
        if server.applier().backend_mut().caps().head().generation == self.generation {
            return Ok(());
        }
        let snapshot = caps(server.applier().backend_mut());
        self.generation = snapshot.generation;
        self.live.caps(&snapshot.bytes.0);
        desk.log.line(LogLevel::Info, || format!("the caps have generation {}", self.generation));
        desk.say(ServerMessage::Caps(snapshot));
        server.caps_changed(self.generation)
    }
}

fn run<B: Native>(server: &mut Session<B>, desk: &Desk, board: &mut Board) -> Result<(), ServeError> {
    let start = Instant::now();
    loop {
        if desk.gone.load(Ordering::Acquire) {
            return Ok(());
        }
        let inside = inside(server, desk);
        let due = requests(server, desk, board).map_err(ServeError::Fault)?;
        // Up to the record that the next request follows, and no further.
        let most = due.map_or(BATCH, |after| {
            u32::try_from(after.wrapping_sub(server.applier().ordinal()))
                .map_or(BATCH, |left| left.min(BATCH))
        });
        let now = || u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX);
        let ran =
            server.run(most.max(1), now).map_err(|fault| match (fault, server.applier().difference()) {
                (Fault::StateDiffers { .. }, Some(difference)) => ServeError::Differs(difference.to_string()),
                (fault, _) => ServeError::Fault(fault),
            })?;
        if ran != 0 {
            if board.counts {
                board.batches += 1;
                if board.batches >= COUNTED {
                    board.count(server);
                }
            }
            continue;
        }
        // There is nothing else to do.
        drop(inside);
        board.count(server);
        let owes = server.applier().owes();
        server.link().door().limit = if owes { OWED.as_nanos() as u64 } else { 0 };
        let slept = Instant::now();
        let over = || desk.knock.load(Ordering::Acquire) || owes && slept.elapsed() >= OWED;
        match server.wait(if owes { Patience::Sleep } else { Patience::Spin }, over) {
            Ok(()) => {}
            // The client ended or is gone, and everything that it published was applied.
            Err(Fault::PeerGone) => return Ok(()),
            Err(fault) => return Err(ServeError::Fault(fault)),
        }
    }
}

fn leaving() -> ServeError {
    ServeError::Backend("the program is at its exit".to_owned())
}

/// Enters the native API. At the program's exit this does not return: the client is told, and waits for nothing.
fn inside<B: Native>(server: &mut Session<B>, desk: &Desk) -> exit::Inside {
    exit::enter().unwrap_or_else(|| {
        desk.say(ServerMessage::Fault(fault_message(&leaving())));
        server.link().close();
        exit::rest()
    })
}

/// Carries out the requests whose record was applied; the ordinal that the next one waits for.
///
/// # Errors
/// The client is gone.
fn requests<B: Native>(
    server: &mut Session<B>,
    desk: &Desk,
    board: &mut Board,
) -> Result<Option<u64>, Fault> {
    desk.knock.store(false, Ordering::Release);
    loop {
        let mut queue = lock(&desk.requests);
        let Some(after) = queue.front().map(Request::after) else { return Ok(None) };
        if !reached(server.applier().ordinal(), after) {
            return Ok(Some(after));
        }
        let Some(request) = queue.pop_front() else { return Ok(None) };
        drop(queue);
        desk.log.line(LogLevel::Debug, || format!("behind record {after}: {request:?}"));
        let message = carry_out(server, request);
        // Work on contexts and surfaces is what initialises the native API anew.
        board.look_at_caps(server, desk)?;
        desk.say(message);
    }
}

/// Carries out a request; its answer.
fn carry_out<B: Native>(server: &mut Session<B>, request: Request) -> ServerMessage {
    let events = server.events_sent();
    let applier = server.applier();
    match request {
        Request::Create(create) => {
            let share = (create.share != 0).then_some(create.share);
            let result = create_context(applier, &create, share);
            ServerMessage::Context(ContextAnswer { request: create.request, events, result })
        }
        Request::Destroy(destroy) => {
            let result = if applier.destroy_context(destroy.context) {
                applier.backend_mut().destroy_context(destroy.context);
                Ok(())
            } else {
                Err(unknown("context", destroy.context))
            };
            ServerMessage::Context(ContextAnswer { request: destroy.request, events, result })
        }
        Request::Surface(SurfaceRequest { request, surface, op, .. }) => {
            let result = surface_op(applier, surface, &op);
            ServerMessage::Surface(SurfaceAnswer { request, events, result })
        }
    }
}

pub(super) fn create_context<B: Native, O: runahead_core::Outlet>(
    applier: &mut Applier<B, Heap, O>,
    create: &CreateContext,
    share: Option<u64>,
) -> Result<(), OperationFailure> {
    applier.create_context(create.context, share).map_err(failure)?;
    let native = applier.backend_mut().create_context(create.context, share, &create.attributes);
    if native.is_err() {
        applier.destroy_context(create.context);
    }
    native
}

pub(super) fn surface_op<B: Native, O: runahead_core::Outlet>(
    applier: &mut Applier<B, Heap, O>,
    surface: u64,
    op: &SurfaceOp,
) -> Result<crate::control::message::SurfaceState, OperationFailure> {
    let creates = matches!(
        op,
        SurfaceOp::CreatePbuffer { .. } | SurfaceOp::CreateWindow { .. } | SurfaceOp::CreateSurfaceless
    );
    if creates {
        applier.create_surface(surface).map_err(failure)?;
    } else if !applier.has_surface(surface) {
        return Err(unknown("surface", surface));
    }
    let done = applier.backend_mut().surface(surface, op);
    if creates && done.is_err() || matches!(op, SurfaceOp::Destroy) {
        applier.destroy_surface(surface);
    }
    done
}

fn unknown(what: &str, token: u64) -> OperationFailure {
    OperationFailure::new(OperationError::NoSuchObject, format!("there is no {what} {token}"))
}

fn failure(error: ContextError) -> OperationFailure {
    let kind = match error {
        ContextError::Token | ContextError::Share => OperationError::NoSuchObject,
        ContextError::OutOfMemory => OperationError::OutOfMemory,
    };
    OperationFailure::new(kind, error.to_string())
}
