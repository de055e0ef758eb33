//! The client role: opening a session, and requests beside records.

use std::{
    ffi::OsString,
    fmt,
    os::fd::{AsFd, OwnedFd},
    path::{Path, PathBuf},
    sync::{Arc, OnceLock},
    thread,
    time::{Duration, Instant},
};

use runahead_core::{
    AnySession, Applier, Counters, Due, Fault, Local, Mode, NativeConfig, Quota, RecordError, Recorder,
    Session,
    bind_state::BindState,
    caps::{CapsSnapshot, UpdateError},
    compare::{Check, Coverage},
    counters::Cause,
    link::{Bells, Patience},
    objects::Objects,
    pace::Distance,
    wait::WaitState,
};
use runahead_rings::{ReplyClient, Waiter, Watermark, client::Peek, split_replies};
use runahead_wire::{
    caps::CapsView,
    pipe::{Either, Encoder},
    values::BackendKind,
};

use rustix::net::{Shutdown, shutdown};

use super::{
    Counting, Door, Hears, LiveError, Native, Sink, Statistics, Topology, clock,
    dial::Line,
    live::LiveReader,
    memory::{ClientKeep, MemoryError},
    native::caps_blob,
    server::{create_context, serve, surface_op},
    spins,
};
use crate::{
    capture::{
        CaptureError,
        part::Request,
        tap::{Summary, Tap, Tapped},
        writer::Origin,
    },
    control::{
        Corruption,
        channel::{self, ChannelError, ClientChannel, Until},
        handshake::USUAL,
        message::{
            Bye, ClientMessage, ContextAttributes, CreateContext, DestroyContext, Hello, LogLevel,
            OperationError, OperationFailure, RequestNumbers, ServerMessage, SurfaceOp, SurfaceRequest,
            SurfaceState, Terms,
        },
        refuse::Refuse,
    },
    peer::Watch,
    pin::pin,
    signals::Blocked,
    spawn::{self, Process, SpawnError},
    storage::Heap,
};

/// How long a client waits for a control message until it takes events in between.
const DRAIN: Duration = Duration::from_millis(1);

/// How long an orderly end waits for a server process to finish what was published.
const FAREWELL: Duration = Duration::from_secs(5);

/// How long a server of a lost session may take to end by itself.
const ABANDONED: Duration = Duration::from_millis(500);

/// Why a child has no session.
const FORKED: &str = "the session belongs to the process that this one was forked from; open another one";

/// What session to open.
#[derive(Clone, Debug, Default)]
pub struct Config {
    /// Where records are applied.
    pub topology: Topology,
    /// What a program's commands are applied on.
    pub backend: Choice,
    /// The file that takes a line for each session of a program.
    pub note: Option<PathBuf>,
    /// The server program; nothing for the one beside this library.
    pub server: Option<PathBuf>,
    /// Arguments of the server program.
    pub arguments: Vec<OsString>,
    /// What is wished of the server; 0 leaves a size or the credit to it.
    pub wanted: Wanted,
    /// How far it may be ahead of the server where it does not present.
    pub distance: Distance,
    /// What is counted and said of the session.
    pub diagnostics: Diagnostics,
    /// The file that what is published is recorded to. A client that applies itself publishes nothing, and is refused.
    pub record: Option<PathBuf>,
    /// Where a server that translates programs keeps them.
    pub programs: Programs,
}

/// Where translated programs are kept from run to run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Programs {
    /// In the user's folder for caches, where there is one that is theirs alone.
    #[default]
    Usual,
    /// Nowhere.
    Nowhere,
    /// In this folder, which is there and which nobody else writes.
    In(PathBuf),
}

/// What is counted and said of a session.
#[derive(Clone, Debug)]
pub struct Diagnostics {
    /// Counters of both roles.
    pub counting: Counting,
    /// Whether the server compares the client's state with what it was told, before each verb.
    pub check: Check,
    /// The least grave lines of the log that are wanted; `None` wants none.
    pub log: Option<LogLevel>,
    /// Who gets them.
    pub sink: Sink,
}

impl Default for Diagnostics {
    fn default() -> Self {
        Self {
            counting: Counting::Off,
            check: Check::Off,
            log: Some(LogLevel::Warning),
            sink: Sink::default(),
        }
    }
}

impl Diagnostics {
    pub(super) const fn counts(&self) -> bool {
        !matches!((&self.counting, self.check), (Counting::Off, Check::Off))
    }

    /// Says something of this side's own.
    pub(super) fn say(&self, level: LogLevel, text: &str) {
        if self.log.is_some_and(|wanted| level <= wanted) {
            self.sink.line(level, text);
        }
    }
}

/// What a program's commands can be applied on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Choice {
    /// OpenGL ES.
    #[default]
    Gles,
}

impl Choice {
    /// Every one.
    pub const ALL: &[Self] = &[Self::Gles];

    /// The name, as variables and command lines have it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Gles => "gles",
        }
    }
}

/// Wishes of a client.
#[derive(Clone, Copy, Debug)]
pub struct Wanted(pub Terms);

impl Default for Wanted {
    fn default() -> Self {
        Self(Terms { run_ahead: USUAL.run_ahead, ..Terms::default() })
    }
}

/// Why no session was opened.
#[derive(Debug)]
pub enum OpenError {
    /// The server process could not be started.
    Spawn(SpawnError),
    /// The control socket's.
    Channel(ChannelError),
    /// Shared memory.
    Memory(MemoryError),
    /// The two do not agree; both values are in it.
    Refused(Refuse),
    /// The server was started and could not serve; its words.
    Server(String),
    /// The native API could not be brought up.
    Backend(String),
    /// The caps are not what they must be.
    Caps(UpdateError),
    /// The recording cannot be written.
    Record(PathBuf, CaptureError),
    /// A client that applies itself has no stream to record.
    RecordDirect,
}

impl fmt::Display for OpenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Spawn(error) => error.fmt(f),
            Self::Channel(error) => write!(f, "no session with the server: {error}"),
            Self::Memory(error) => write!(f, "no session with the server: {error}"),
            Self::Refused(refuse) => refuse.fmt(f),
            Self::Server(text) | Self::Backend(text) => f.write_str(text),
            Self::Caps(error) => error.fmt(f),
            Self::Record(file, error) => write!(f, "{}: nothing can be recorded: {error}", file.display()),
            Self::RecordDirect => f.write_str(
                "the direct topology has no stream to record: record on inproc or spawn, and replay on any",
            ),
        }
    }
}

impl std::error::Error for OpenError {}

impl From<ChannelError> for OpenError {
    fn from(error: ChannelError) -> Self {
        Self::Channel(error)
    }
}

impl From<MemoryError> for OpenError {
    fn from(error: MemoryError) -> Self {
        Self::Memory(error)
    }
}

/// Why a request failed.
#[derive(Debug)]
pub enum RequestError {
    /// The server did not do it; the session goes on.
    Failed(OperationFailure),
    /// The session is over.
    Lost(String),
}

impl fmt::Display for RequestError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Failed(failure) => failure.fmt(f),
            Self::Lost(reason) => write!(f, "the session is lost: {reason}"),
        }
    }
}

impl std::error::Error for RequestError {}

/// The way to a server on the other side of a control socket.
#[derive(Debug)]
pub(super) struct Remote {
    channel: ClientChannel,
    numbers: RequestNumbers,
    /// Where a spawned server is; nothing for a thread.
    process: Option<Process>,
    watch: Watch,
    /// Waits for the server, or wakes whoever does, and looks at what it publishes, whoever has the recorder.
    pub(super) waiter: Waiter<'static>,
    pub(super) door: Door,
    pub(super) peek: Peek<'static>,
    pub(super) live: LiveReader,
    /// Who gets lines of the server's log.
    sink: Sink,
    /// What the recorder and these work on.
    keep: ClientKeep,
}

/// What a client draws through.
pub(super) type ClientPipe<B, E> = AnySession<'static, B, Heap, Wire, E>;

/// A client's session. Dropping it ends it, orderly: what was recorded is still applied.
#[derive(Debug)]
pub struct Client<B: Native, E: Hears> {
    // Before what it works on: fields are dropped in order.
    pub(super) pipe: Option<ClientPipe<B, E>>,
    pub(super) remote: Option<Remote>,
    _replies: Option<Replies>,
    pub(super) caps: CapsSnapshot<Heap>,
    configs: Vec<NativeConfig>,
    topology: Topology,
    pub(super) reason: Option<String>,
    pub(super) diagnostics: Diagnostics,
    /// What was counted at the end.
    counted: Option<Statistics>,
    /// Gets the backend of a server thread back.
    ended: Arc<OnceLock<B>>,
}

/// A client's link.
pub(super) type Wire = Tapped<Door>;

/// Reply space of a client that applies itself.
#[derive(Debug)]
struct Replies {
    words: std::ptr::NonNull<[u64]>,
    bookkeeping: std::ptr::NonNull<[u64]>,
}

// SAFETY: it owns its memory, as boxes do.
unsafe impl Send for Replies {}

impl Replies {
    fn new(bytes: usize) -> Self {
        let words = |count: usize| std::ptr::NonNull::from(Box::leak(vec![0_u64; count].into_boxed_slice()));
        Self { words: words(bytes / 8), bookkeeping: words(ReplyClient::bookkeeping(bytes)) }
    }
}

impl Drop for Replies {
    fn drop(&mut self) {
        for memory in [self.words, self.bookkeeping] {
            // SAFETY: leaked by `new`; the client drops everything that borrowed it before this.
            drop(unsafe { Box::from_raw(memory.as_ptr()) });
        }
    }
}

/// A client with no records yet: its pipe, and how to make the first one.
impl<B: Native + Send + Sync + 'static, E: Hears> Client<B, E> {
    /// Opens a session. `make` brings the native API up, for a server in this process; a server process has its own.
    /// `events` gets what the server has to tell.
    ///
    /// # Errors
    /// [`OpenError`]; nothing is left behind.
    pub fn open(
        config: &Config,
        kind: BackendKind,
        make: impl FnOnce() -> Result<B, String> + Send + 'static,
        events: E,
    ) -> Result<Self, OpenError> {
        pin();
        match config.topology {
            Topology::Direct => Self::direct(config, make, events),
            Topology::Inproc => {
                let ended = Arc::new(OnceLock::new());
                let (ours, theirs) = channel::pair().map_err(ChannelError::Io)?;
                let give = Arc::clone(&ended);
                let done = move |backend| {
                    let _ = give.set(backend);
                };
                let body = move || match serve(theirs, kind, make, done) {
                    // The client was told; there is nobody else here to tell.
                    Ok(()) | Err(_) => {}
                };
                let _blocked = Blocked::new().map_err(ChannelError::Io)?;
                let started = thread::Builder::new().name("runahead-server".into()).spawn(body);
                started.map_err(ChannelError::Io)?;
                Self::dial(config, ours, None, events, ended)
            }
            Topology::Spawn => {
                let mut server = spawn::Server::new();
                if let Some(program) = &config.server {
                    server = server.program(program);
                }
                for argument in &config.arguments {
                    server = server.argument(argument);
                }
                let spawned = server.start().map_err(OpenError::Spawn)?;
                Self::dial(config, spawned.socket, Some(spawned.process), events, Arc::default())
            }
        }
    }

    /// Opens a session with a server that somebody else started: over its control socket, and with its process where it
    /// has one. Of `config` only the wishes count.
    ///
    /// # Errors
    /// [`OpenError`]; the socket is closed then.
    pub fn over(
        config: &Config,
        socket: OwnedFd,
        process: Option<Process>,
        events: E,
    ) -> Result<Self, OpenError> {
        pin();
        Self::dial(config, socket, process, events, Arc::default())
    }

    fn direct(
        config: &Config,
        make: impl FnOnce() -> Result<B, String>,
        events: E,
    ) -> Result<Self, OpenError> {
        if config.record.is_some() {
            return Err(OpenError::RecordDirect);
        }
        let backend = make().map_err(OpenError::Backend)?;
        let mut caps = CapsSnapshot::new(config.wanted.0.run_ahead);
        own_caps(&backend, &mut caps).map_err(OpenError::Caps)?;
        let configs = backend.configs();
        let bytes = match config.wanted.0.sizes.replies {
            0 => USUAL.sizes.replies,
            wanted => wanted,
        };
        let mut replies = Replies::new(bytes as usize);
        // SAFETY: owned by `replies`, which the client drops after its pipe; lent here alone.
        let words: &'static mut [u64] = unsafe { replies.words.as_mut() };
        // SAFETY: as above.
        let bookkeeping: &'static mut [u64] = unsafe { replies.bookkeeping.as_mut() };
        let (client, server) = split_replies(words, bookkeeping).map_err(MemoryError::Fault)?;
        let local = Local::new(server, client, events, clock);
        let applier = Applier::new(backend, local, Quota::default(), 0);
        Ok(Self {
            pipe: Some(Either::First(applier)),
            remote: None,
            _replies: Some(replies),
            caps,
            configs,
            topology: Topology::Direct,
            reason: None,
            diagnostics: config.diagnostics.clone(),
            counted: None,
            ended: Arc::default(),
        })
    }

    fn dial(
        config: &Config,
        socket: OwnedFd,
        process: Option<Process>,
        events: E,
        ended: Arc<OnceLock<B>>,
    ) -> Result<Self, OpenError> {
        let wishes = Hello {
            wanted: config.wanted.0,
            statistics: config.diagnostics.counts(),
            log: config.diagnostics.log,
            ..Hello::default()
        };
        let mut line = Line::open(socket, process.as_ref(), wishes)?;
        let until = Until { process: process.as_ref().map(AsFd::as_fd), ..Until::default() };
        // The server's first real caps: bring-up may wait.
        let terms = line.welcome.terms;
        let mut caps = CapsSnapshot::new(terms.run_ahead);
        let mut configs = Vec::new();
        loop {
            match line.channel.recv(&until)?.message {
                ServerMessage::Caps(snapshot) => {
                    caps.update(&snapshot.bytes.0).map_err(OpenError::Caps)?;
                    break;
                }
                ServerMessage::Fault(fault) => return Err(OpenError::Server(fault.text)),
                ServerMessage::Configs(stated) => configs = stated.configs(),
                ServerMessage::Log(line) => config.diagnostics.sink.server_line(&line),
                other => return Err(unexpected(&other).into()),
            }
        }
        let watch = line.watch(process.as_ref())?;
        let Line { mut halves, channel, door, .. } = line;
        let (Some(rings), Some(ringer)) = (halves.rings.take(), halves.ringer.take()) else {
            return Err(OpenError::Server("the session's memory was used before".to_owned()));
        };
        let (waiter, peek) = (halves.waiter, halves.peek);
        let waits = WaitState::new(caps.bits(), caps.runs_ahead());
        let mode = Mode { waits, credit: u64::from(terms.credit) };
        let bells = Bells::new(ringer, waiter, door.clone(), spins())
            .timed(config.diagnostics.counts().then_some(clock));
        let mut link = Tapped::new(bells);
        if let Some(file) = &config.record {
            let reading = halves.keep.reading()?;
            let mut blob = vec![0; caps.view().encoded_len()];
            let encoded = caps.view().encode(&mut blob);
            debug_assert!(encoded, "a buffer of the stated size");
            let origin = Origin { terms, caps: blob, configs: configs.clone() };
            let tap = Tap::new(file, config.server.as_deref(), &origin, reading);
            link.tap = Some(Box::new(tap.map_err(|error| OpenError::Record(file.clone(), error))?));
        }
        let mut recorder = Recorder::new(rings, link, events, mode);
        recorder.set_distance(config.distance);
        let remote = Remote {
            channel,
            numbers: RequestNumbers::new(),
            process,
            watch,
            waiter,
            door,
            peek,
            live: halves.live,
            sink: config.diagnostics.sink.clone(),
            keep: halves.keep,
        };
        Ok(Self {
            pipe: Some(Either::Second(Encoder(recorder))),
            remote: Some(remote),
            _replies: None,
            caps,
            configs,
            topology: config.topology,
            reason: None,
            diagnostics: config.diagnostics.clone(),
            counted: None,
            ended,
        })
    }
}

pub(super) fn unexpected(message: &ServerMessage) -> ChannelError {
    use crate::control::message::Message;
    ChannelError::Corrupt(Corruption { owner: message.name(), field: "order" })
}

impl<B: Native, E: Hears> Client<B, E> {
    /// Ends the session, orderly, and waits until everything recorded was applied; the backend comes back where it
    /// was in this process.
    ///
    /// # Errors
    /// Why the session had ended before, or that the server did not finish in time and was ended.
    pub fn close(self) -> Result<Option<B>, String> {
        self.close_counting().0
    }

    /// As [`Client::close`], with what both sides have counted at the very end. There is nothing of it where the session was
    /// the parent's of this process.
    pub fn close_counting(mut self) -> (Result<Option<B>, String>, Option<Statistics>) {
        self.end();
        let counts = self.counted.take();
        if let Some(reason) = self.reason.take() {
            return (Err(reason), counts);
        }
        let ended = std::mem::take(&mut self.ended);
        // A server thread sets it before it lets go of its half.
        (Ok(Arc::into_inner(ended).and_then(OnceLock::into_inner)), counts)
    }

    /// What to draw through. Caps that changed since the last call are taken first.
    ///
    /// # Panics
    /// Never: the pipe is there until the client is closed, which consumes it.
    pub fn pipe(&mut self) -> &mut (impl Session + use<B, E>) {
        match &mut self.pipe {
            Some(pipe) => {
                if pipe.is_due() {
                    see_to(pipe, &mut self.caps, self.remote.as_ref().map(|remote| remote.live));
                }
                pipe
            }
            None => unreachable!("closing consumes the client"),
        }
    }

    /// What a client that applies itself holds for its current context.
    #[must_use]
    pub fn applied(&self) -> Option<(&BindState, &Objects<B, Heap>)> {
        match &self.pipe {
            Some(Either::First(applier)) => applier.current(),
            _ => None,
        }
    }

    /// What the server can do.
    #[must_use]
    pub fn caps(&self) -> CapsView<'_> {
        self.caps.view()
    }

    /// What the server's surfaces can be like.
    #[must_use]
    pub fn configs(&self) -> &[NativeConfig] {
        &self.configs
    }

    /// Where records are applied.
    #[must_use]
    pub const fn topology(&self) -> Topology {
        self.topology
    }

    /// The server process, where there is one.
    #[must_use]
    pub const fn process(&self) -> Option<&Process> {
        match &self.remote {
            Some(remote) => remote.process.as_ref(),
            None => None,
        }
    }

    /// Whether it runs ahead of the server. It was decided by the first caps; later ones only take it away.
    #[must_use]
    pub const fn runs_ahead(&self) -> bool {
        self.caps.runs_ahead()
    }

    /// What this side has counted. Where the caller applies itself that is its records.
    #[must_use]
    pub fn counters(&self) -> Counters {
        self.pipe.as_ref().map(counters).unwrap_or_default()
    }

    /// What the server has counted, as it last published it: when it last ran out of work, or a few batches ago. It is
    /// read from shared memory; the server does not notice.
    ///
    /// # Errors
    /// [`LiveError`]: among them that the session was opened with [`Counting::Off`].
    pub fn server_counters(&self) -> Result<Counters, LiveError> {
        self.remote.as_ref().ok_or(LiveError::NoServer)?.live.counters()
    }

    /// What both sides have counted.
    #[must_use]
    pub fn statistics(&self) -> Statistics {
        Statistics { topology: self.topology, client: self.counters(), server: self.server_counters() }
    }

    /// Takes what the server has said over the control socket, without waiting: lines of its log go to the
    /// [`Sink`]. One system call; for now and then, such as once a frame.
    pub fn attend(&mut self) {
        if let Some(remote) = &mut self.remote {
            remote.attend();
        }
    }

    /// Makes a context; `share` names one whose objects it shares.
    ///
    /// # Errors
    /// [`RequestError`].
    pub fn create_context(
        &mut self,
        context: u64,
        share: Option<u64>,
        attributes: ContextAttributes,
    ) -> Result<(), RequestError> {
        let mut request =
            CreateContext { request: 0, after: 0, context, share: share.unwrap_or(0), attributes };
        if let Some(Either::First(applier)) = &mut self.pipe {
            let created = create_context(applier, &request, share).map_err(RequestError::Failed);
            let caps = own_caps(applier.backend(), &mut self.caps);
            return created.and(caps.map_err(|error| self.lose(&error)));
        }
        match self.request(|number, after| {
            (request.request, request.after) = (number, after);
            ClientMessage::CreateContext(request)
        })? {
            ServerMessage::Context(answer) => {
                answer.result.map_err(RequestError::Failed)?;
                self.note(|| Request::CreateContext { context, share: share.unwrap_or(0), attributes });
                Ok(())
            }
            other => Err(self.lose(&unexpected(&other))),
        }
    }

    /// Ends a context.
    ///
    /// # Errors
    /// [`RequestError`].
    pub fn destroy_context(&mut self, context: u64) -> Result<(), RequestError> {
        if let Some(Either::First(applier)) = &mut self.pipe {
            let known = applier.destroy_context(context);
            applier.backend_mut().destroy_context(context);
            let unknown = || {
                OperationFailure::new(OperationError::NoSuchObject, format!("there is no context {context}"))
            };
            return if known { Ok(()) } else { Err(RequestError::Failed(unknown())) };
        }
        match self.request(|request, after| {
            ClientMessage::DestroyContext(DestroyContext { request, after, context })
        })? {
            ServerMessage::Context(answer) => {
                answer.result.map_err(RequestError::Failed)?;
                self.note(|| Request::DestroyContext { context });
                Ok(())
            }
            other => Err(self.lose(&unexpected(&other))),
        }
    }

    /// Does something to a surface; the answer is how it is then.
    ///
    /// # Errors
    /// [`RequestError`].
    pub fn surface(&mut self, surface: u64, op: SurfaceOp) -> Result<SurfaceState, RequestError> {
        if let Some(Either::First(applier)) = &mut self.pipe {
            return surface_op(applier, surface, &op).map_err(RequestError::Failed);
        }
        let asked = op.clone();
        match self.request(|request, after| {
            ClientMessage::Surface(SurfaceRequest { request, after, surface, op: asked })
        })? {
            ServerMessage::Surface(answer) => {
                let state = answer.result.map_err(RequestError::Failed)?;
                self.note(|| Request::Surface { surface, op, state });
                Ok(state)
            }
            other => Err(self.lose(&unexpected(&other))),
        }
    }

    /// Sends a request behind the last record and waits for its answer; the events before the answer are taken first.
    fn request(
        &mut self,
        message: impl FnOnce(u32, u64) -> ClientMessage,
    ) -> Result<ServerMessage, RequestError> {
        if let Some(reason) = self.known() {
            return Err(RequestError::Lost(reason));
        }
        let (Some(remote), Some(Either::Second(Encoder(recorder)))) = (&mut self.remote, &mut self.pipe)
        else {
            return Err(RequestError::Lost("there is no server".to_owned()));
        };
        recorder.publish();
        let number = remote.numbers.mint();
        let message = message(number, recorder.recorded());
        let start = self.diagnostics.counts().then(clock);
        let asked = remote.ask(number, &message, || _ = recorder.poll_events());
        recorder.count_wait(Cause::Control, start.map(|start| (clock() - start) / 1000));
        match asked {
            Ok((answer, events)) => {
                if recorder.poll_events().is_err() {
                    return Err(RequestError::Lost(self.reason().unwrap_or_default()));
                }
                if recorder.events_taken() < events {
                    return Err(self.lose(&Corruption { owner: "Control", field: "events" }));
                }
                Ok(answer)
            }
            Err(error) => Err(self.lose(&error)),
        }
    }

    /// Shows a recording what was done beside records.
    fn note(&mut self, request: impl FnOnce() -> Request) {
        if let Some(Either::Second(Encoder(recorder))) = &mut self.pipe
            && let Some(tap) = &mut recorder.link().tap
        {
            tap.request(&request());
        }
    }

    /// The file that it is recorded to, while it is: the one asked for, or where that was there, one with a number.
    pub fn recording(&mut self) -> Option<&Path> {
        match &mut self.pipe {
            Some(Either::Second(Encoder(recorder))) => recorder.link().tap.as_ref().map(|tap| tap.path()),
            _ => None,
        }
    }

    /// Ends the recording; the session goes on. Nothing where none is under way.
    ///
    /// # Errors
    /// Why not all of it is in the file.
    pub fn finish_recording(&mut self) -> Result<Option<Summary>, CaptureError> {
        let Some(Either::Second(Encoder(recorder))) = &mut self.pipe else { return Ok(None) };
        recorder.publish();
        recorder.link().tap.take().map(|tap| tap.finish()).transpose()
    }

    fn lose(&mut self, error: &dyn fmt::Display) -> RequestError {
        let reason = error.to_string();
        let reason = self.end_for(reason);
        if let Some(remote) = &self.remote {
            // Nothing of this server's is waited for any more.
            remote.waiter.announce_death(&remote.door);
        }
        RequestError::Lost(reason)
    }

    /// Takes the reason for the session's end, if it is the first, and says it.
    fn end_for(&mut self, reason: String) -> String {
        if self.reason.is_none() {
            self.diagnostics.say(LogLevel::Error, &format!("the session is lost: {reason}"));
        }
        self.reason.get_or_insert(reason).clone()
    }

    /// Why the session is over, as far as this side knows without asking the server.
    fn known(&mut self) -> Option<String> {
        if self.remote.as_ref().is_some_and(Remote::is_in_child) {
            self.reason.get_or_insert_with(|| FORKED.to_owned());
        }
        self.reason.clone()
    }

    /// Why the session is over, if it is: what the server said of it, or how it went.
    pub fn reason(&mut self) -> Option<String> {
        if self.known().is_none()
            && let Some(pipe) = &self.pipe
            && let Some(fault) = pipe.lost()
        {
            let why = words(pipe, fault).unwrap_or_else(|| Remote::why(self.remote.as_mut(), fault));
            self.end_for(why);
        }
        self.reason.clone()
    }

    /// Ends it: what was recorded is published, the server sees the end behind it.
    fn end(&mut self) {
        let reason = self.reason();
        if let Some(Either::Second(Encoder(recorder))) = &mut self.pipe {
            recorder.publish();
            recorder.link().close();
            if let Some(tap) = recorder.link().tap.take() {
                // A recording that failed has said so.
                let _ = tap.finish();
            }
        }
        if let Some(mut remote) = self.remote.take() {
            let recorded = self.pipe.as_ref().map_or(0, Session::recorded);
            if remote.is_in_child() {
                // The server and what it hears are the parent's.
                self.pipe = None;
                return;
            }
            if reason.is_some() {
                self.deliver(remote.live.counters());
                // The halves go before the memory that they work on.
                self.pipe = None;
                return remote.abandon();
            }
            let farewell = remote.farewell(recorded, || {
                if let Some(pipe) = &mut self.pipe {
                    // A session that is lost has no events that anybody waits for.
                    let _ = pipe.poll_events();
                }
            });
            if let Err(text) = farewell {
                self.end_for(text);
            }
            self.deliver(remote.live.counters());
            // The halves go before the memory that they work on.
            self.pipe = None;
            drop(remote);
        } else if matches!(self.pipe, Some(Either::First(_))) {
            self.deliver(Err(LiveError::NoServer));
            let Some(Either::First(applier)) = self.pipe.take() else { return };
            match applier.end() {
                (Ok(backend), _) => _ = self.ended.set(backend),
                (Err(fault), _) => self.reason = Some(fault.to_string()),
            }
        }
    }

    /// Gives the counters to whom they are for, at the end.
    fn deliver(&mut self, server: Result<Counters, LiveError>) {
        let counts = Statistics { topology: self.topology, client: self.counters(), server };
        let (verbs_compared, verbs) = counts.verbs();
        let (sink, compared) =
            (&self.diagnostics.sink, format!("compared {verbs_compared} of {verbs} verbs"));
        match (self.diagnostics.check, verbs_compared, &self.reason) {
            (Check::Off, ..) => {}
            (_, 0, _) => sink.line(LogLevel::Error, &format!("verify: compared none of {verbs} verbs")),
            (_, _, None) => sink.line(LogLevel::Info, &format!("verify: {compared}: no difference")),
            (_, _, Some(_)) => {
                sink.line(LogLevel::Error, &format!("verify: {compared}; the session is lost"))
            }
        }
        if let Err(error) = counts.deliver(&self.diagnostics.counting) {
            self.diagnostics.say(LogLevel::Error, &format!("the statistics are not written: {error}"));
        }
        self.counted = Some(counts);
    }
}

/// What a fault is in words, where the caller applies itself.
pub(super) fn words<B: Native, E: Hears>(pipe: &ClientPipe<B, E>, fault: Fault) -> Option<String> {
    match pipe {
        Either::First(applier) if matches!(fault, Fault::StateDiffers { .. }) => {
            applier.difference().map(|difference| format!("the states differ: {difference}"))
        }
        _ => None,
    }
}

/// What a client's pipe has counted.
pub(super) fn counters<B: Native, E: Hears>(pipe: &ClientPipe<B, E>) -> Counters {
    match pipe {
        Either::Second(Encoder(recorder)) => recorder.counters(),
        Either::First(applier) => {
            let Coverage { seen: verbs, compared: verbs_compared, .. } = applier.coverage();
            Counters { records: applier.ordinal(), verbs, verbs_compared, ..Counters::default() }
        }
    }
}

/// Takes the caps of a backend in this client, which may have changed.
pub(super) fn own_caps<B: Native>(backend: &B, caps: &mut CapsSnapshot<Heap>) -> Result<(), UpdateError> {
    if backend.caps().head().generation == caps.generation() {
        return Ok(());
    }
    caps.update(&caps_blob(backend)).map(drop)
}

/// Sees to what a session asks of its only owner.
#[cold]
fn see_to(pipe: &mut impl Session, caps: &mut CapsSnapshot<Heap>, live: Option<LiveReader>) {
    while let Some(due) = pipe.take_due() {
        match due {
            // Whoever draws hears of it from the next call.
            Due::Lost(_) => {}
            Due::Retired(ordinal) => _ = pipe.wait_for(Watermark::Retired, ordinal, Patience::Sleep),
            Due::Caps => {
                if let Some(live) = live {
                    // A failure is the session's loss.
                    let _ = take_caps(pipe, caps, live);
                }
            }
        }
    }
}

/// Goes on by the caps in the server's page, which it tells of behind having written them. One that has none there
/// then ends the session.
pub(super) fn take_caps(
    pipe: &mut impl Session,
    caps: &mut CapsSnapshot<Heap>,
    live: LiveReader,
) -> Result<(), RecordError> {
    let nothing = Fault::Ring(runahead_rings::Fault::Mismatch { place: "LivePage", field: "Caps" });
    let blob = live.caps().map_err(|_| pipe.lose(nothing))?;
    match caps.update(&blob) {
        Ok(_) => {
            pipe.set_caps(caps.bits(), caps.runs_ahead());
            Ok(())
        }
        Err(UpdateError::Refused(refusal)) => Err(pipe.lose(Fault::Record(refusal))),
        Err(UpdateError::OutOfMemory) => Err(RecordError::OutOfMemory),
    }
}

impl<B: Native, E: Hears> Drop for Client<B, E> {
    fn drop(&mut self) {
        self.end();
    }
}

/// Takes what a server says unasked. Caps are read from its page instead, when the event comes that says so.
fn hear(sink: &Sink, message: &ServerMessage) {
    if let ServerMessage::Log(line) = message {
        sink.server_line(line);
    }
}

impl Remote {
    /// Sends a request; its answer, and how many events came before it. `drain` takes events meanwhile: a server with
    /// a full ring would not come to the request.
    ///
    /// # Errors
    /// Why there is no answer, and no session any more.
    pub(super) fn ask(
        &mut self,
        number: u32,
        message: &ClientMessage,
        mut drain: impl FnMut(),
    ) -> Result<(ServerMessage, u64), String> {
        if self.is_in_child() {
            return Err(FORKED.to_owned());
        }
        let Self { channel, process, sink, .. } = self;
        let until = Until { process: process.as_ref().map(AsFd::as_fd), ..Until::default() };
        channel.send(message, Vec::new(), &until).map_err(|error| error.to_string())?;
        loop {
            // Also while other messages keep coming.
            drain();
            let answer = match channel.recv(&Until { deadline: Some(Instant::now() + DRAIN), ..until }) {
                Ok(received) => received.message,
                Err(ChannelError::TimedOut) => continue,
                Err(error) => return Err(error.to_string()),
            };
            let (answered, events) = match &answer {
                ServerMessage::Context(answer) => (answer.request, answer.events),
                ServerMessage::Surface(answer) => (answer.request, answer.events),
                ServerMessage::Log(_) | ServerMessage::Caps(_) => {
                    hear(sink, &answer);
                    continue;
                }
                ServerMessage::Fault(fault) => return Err(fault.text.clone()),
                other => return Err(unexpected(other).to_string()),
            };
            if answered != number {
                return Err(Corruption { owner: "Control", field: "request" }.to_string());
            }
            return Ok((answer, events));
        }
    }

    /// Whether the session, and with it the socket, is that of the process from which this one was forked.
    fn is_in_child(&self) -> bool {
        self.keep.is_in_child()
    }

    /// Number of the next request.
    pub(super) const fn number(&mut self) -> u32 {
        self.numbers.mint()
    }

    /// The server's process.
    pub(super) const fn process(&self) -> Option<&Process> {
        self.process.as_ref()
    }

    /// Takes what the server has said, without waiting.
    pub(super) fn attend(&mut self) {
        if self.is_in_child() {
            return;
        }
        while let Ok(Some(received)) = self.channel.try_recv() {
            hear(&self.sink, &received.message);
        }
    }

    /// Why a session ended for this fault. A server that ended may have said why; what this side found wrong is the
    /// reason itself.
    pub(super) fn why(remote: Option<&mut Self>, fault: Fault) -> String {
        if remote.as_ref().is_some_and(|remote| remote.is_in_child()) {
            return FORKED.to_owned();
        }
        if fault != Fault::PeerGone {
            return fault.to_string();
        }
        let gone = "the server is gone: its process ended, or closed the session without a word";
        remote.and_then(Self::last_words).unwrap_or_else(|| gone.to_owned())
    }

    /// What the server said last: the fault that ended the session.
    fn last_words(&mut self) -> Option<String> {
        let until = Until { deadline: Some(Instant::now() + Duration::from_millis(200)), ..Until::default() };
        while let Ok(received) = self.channel.recv(&until) {
            if let ServerMessage::Fault(fault) = received.message {
                return Some(fault.text);
            }
            hear(&self.sink, &received.message);
        }
        None
    }

    /// Lets go of a server whose session is lost. A process that does not end by its hang-up is ended; a thread is waited
    /// for, since a program may be about to exit, and its driver goes down then.
    fn abandon(self) {
        self.watch.stop();
        let Self { mut channel, process, keep: _keep, .. } = self;
        if process.is_none() {
            // It sees the end of what comes, and this side the end of what it says, behind its last word to the driver.
            let _ = shutdown(&channel, Shutdown::Write);
            let until = Until { deadline: Some(Instant::now() + ABANDONED), ..Until::default() };
            while channel.recv(&until).is_ok() {}
        }
        drop(channel);
        if let Some(process) = process
            && !process.wait(Some(Instant::now() + ABANDONED)).unwrap_or(false)
        {
            let _ = process.kill();
            let _ = process.wait(Some(Instant::now() + ABANDONED));
        }
    }

    /// Says goodbye and waits until the server is done with what was published.
    fn farewell(&mut self, recorded: u64, mut drain: impl FnMut()) -> Result<(), String> {
        self.watch.stop();
        let until = Until {
            process: self.process.as_ref().map(AsFd::as_fd),
            deadline: Some(Instant::now() + FAREWELL),
            ..Until::default()
        };
        let said = match self.channel.send(&ClientMessage::Bye(Bye { after: recorded }), Vec::new(), &until) {
            // The end of the ring told it already; what it said before it went is still to be read.
            Err(ChannelError::Gone(_)) => Ok(()),
            said => said,
        };
        // The server closes its end once everything is applied; until then it may still talk.
        let ended = said.and_then(|()| {
            let mut fault = None;
            loop {
                drain();
                let soon = Instant::now() + DRAIN;
                match self
                    .channel
                    .recv(&Until { deadline: until.deadline.map(|last| last.min(soon)), ..until })
                {
                    Err(ChannelError::TimedOut) if until.deadline.is_some_and(|last| soon < last) => {}
                    Ok(received) => match received.message {
                        // Its thread is still at work: it lets go of the driver, and then of the socket.
                        ServerMessage::Fault(said) => fault = Some(said.text),
                        other => hear(&self.sink, &other),
                    },
                    Err(ChannelError::Gone(_)) => return Ok(fault),
                    Err(error) => return Err(error),
                }
            }
        });
        match ended {
            Ok(None) | Err(ChannelError::Gone(_)) => Ok(()),
            Ok(Some(fault)) => Err(fault),
            Err(error) => {
                if let Some(process) = &self.process {
                    let _ = process.kill();
                }
                Err(format!("the server did not finish: {error}"))
            }
        }
        .inspect(|()| {
            if let Some(process) = &self.process {
                let _ = process.wait(Some(Instant::now() + FAREWELL));
            }
        })
    }
}
