//! A session that several threads of a program use.
//!
//! The record path lies under a [biased lock](crate::bias): the thread that draws enters by a store and a load, and
//! another one that comes makes it a mutex. Waits look past the lock ([`Peek`]) and take it
//! where there is something to take, so a thread that waits costs the one that draws nothing.
//!
//! # Threads where the caller applies
//!
//! With [`Topology::Direct`] a turn calls the native API on the thread whose turn it is, and a native context is
//! current on one thread at a time. There is one for each share group, so threads with contexts of different groups
//! do not meet. Once two threads have used one group, every turn of that group ends with
//! [`Native::release_current`], so that the other one can go on. What no lock can do is to take the native context
//! from a thread that is elsewhere: the first turn of the second thread needs that the first thread has let go
//! ([`Shared::leave`], as `eglMakeCurrent` without a context does), or has taken a turn since the second came. Until
//! then the native API refuses the second thread, and says so in its own way.

use std::{
    fmt,
    mem::ManuallyDrop,
    sync::{Mutex, MutexGuard, OnceLock, PoisonError},
    thread,
    time::Duration,
};

use runahead_core::{
    Credit, Due, Fault, RecordError, RecordPath, Recorder, Session, Shared, Turn,
    compare::Check,
    counters::Cause,
    link::{Counted, Patience},
};
use runahead_rings::{Answer, Pending, WaitError, Waiter, Watermark, client::Peek, lock::Host as _};
use runahead_wire::{
    caps::CapsView,
    payload::{BindContext, DamageRect, Present},
    pipe::{Either, Encoder, Pipe as _},
};

use super::{
    Client, Door, Hears, Native, RequestError, Statistics, Topology,
    client::{ClientPipe, Diagnostics, Remote, Wire, counters, own_caps, take_caps, unexpected, words},
    clock,
    live::{LiveError, LiveReader},
    server::{create_context, surface_op},
    spins,
};
use crate::{
    bias::{Biased, Kernel},
    capture::{CaptureError, part::Request, tap::Summary},
    control::{
        Corruption,
        message::{
            ClientMessage, ContextAttributes, CreateContext, DestroyContext, LogLevel, OperationError,
            OperationFailure, ServerMessage, SurfaceOp, SurfaceRequest, SurfaceState,
        },
    },
    storage::Heap,
};

/// How often a thread that waits for what it applies itself looks at once, and how long it sleeps between later looks.
const LOOKS: u32 = 1000;
const NAP: Duration = Duration::from_micros(50);

/// What the lock guards.
#[derive(Debug)]
struct Inside<B: Native, E: Hears> {
    path: RecordPath<ClientPipe<B, E>, Heap>,
    /// By share group, where the caller applies: which thread used it last.
    users: Vec<User>,
}

/// What a thread waits for the server with.
#[derive(Debug)]
struct Far {
    waiter: Waiter<'static>,
    peek: Peek<'static>,
    live: LiveReader,
    door: Door,
}

/// Who uses a share group.
#[derive(Clone, Copy, Debug, Default)]
struct User {
    /// 0 for nobody who still has it.
    thread: u64,
    /// Whether two threads have used it.
    several: bool,
}

/// A client's session for any number of threads. Dropping it ends it, orderly.
///
/// Its methods that answer with a [`RequestError`] ask the server beside the records: one thread at a time, without
/// the record path, so that others go on drawing.
pub struct SharedClient<B: Native, E: Hears> {
    inside: ManuallyDrop<Biased<Inside<B, E>>>,
    /// Waits for the server; nothing where the caller applies.
    far: Option<Far>,
    spins: u32,
    /// The control socket; one request at a time.
    remote: Mutex<Option<Remote>>,
    /// What is left of the client.
    rest: Mutex<Option<Client<B, E>>>,
    topology: Topology,
    diagnostics: Diagnostics,
    reason: OnceLock<String>,
}

impl<B: Native, E: Hears> fmt::Debug for SharedClient<B, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SharedClient")
            .field("topology", &self.topology)
            .field("lock", &*self.inside)
            .finish_non_exhaustive()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // What these guard is whole after every step.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<B: Native, E: Hears> SharedClient<B, E> {
    /// Shares a client that has no contexts yet.
    ///
    /// # Panics
    /// Never: a client has its pipe until it is closed, which consumes it.
    #[must_use]
    pub fn new(mut client: Client<B, E>) -> Self {
        let Some(pipe) = client.pipe.take() else { unreachable!("closing consumes the client") };
        let remote = client.remote.take();
        let far = remote.as_ref().map(|remote| Far {
            waiter: remote.waiter,
            peek: remote.peek,
            live: remote.live,
            door: remote.door.clone(),
        });
        // Where the caller applies, each turn is a call of the native API; its own lock is the least of it.
        let host = if far.is_some() { Kernel::default() } else { Kernel::unbiased() };
        let inside = Inside { path: RecordPath::new(pipe), users: Vec::new() };
        Self {
            inside: ManuallyDrop::new(Biased::new(inside, host)),
            far,
            spins: spins(),
            remote: Mutex::new(remote),
            topology: client.topology(),
            diagnostics: client.diagnostics.clone(),
            rest: Mutex::new(Some(client)),
            reason: OnceLock::new(),
        }
    }

    /// Ends the session, orderly, and waits until everything recorded was applied; the backend comes back where it
    /// was in this process.
    ///
    /// # Errors
    /// Why the session had ended before, or that the server did not finish in time and was ended.
    pub fn close(mut self) -> Result<Option<B>, String> {
        match self.dissolve() {
            Some(client) => client.close(),
            None => Ok(None),
        }
    }

    /// The client as it was, once.
    fn dissolve(&mut self) -> Option<Client<B, E>> {
        let mut client = lock(&self.rest).take()?;
        // A word of the server's that explains the end is there now, and not any more later.
        let reason = self.reason();
        // SAFETY: whoever takes the rest of the client is the first and the last, and nothing uses the path after it:
        // `close` consumes this, and a drop ends it.
        let inside = unsafe { ManuallyDrop::take(&mut self.inside) };
        client.pipe = Some(inside.into_inner().path.into_pipe());
        client.remote = lock(&self.remote).take();
        client.reason = reason;
        Some(client)
    }

    /// Where records are applied.
    #[must_use]
    pub const fn topology(&self) -> Topology {
        self.topology
    }

    /// Number of the server's process, where there is one.
    #[must_use]
    pub fn process(&self) -> Option<u32> {
        lock(&self.remote).as_ref()?.process().map(crate::spawn::Process::number)
    }

    /// What the server can do. Caps that are replaced meanwhile wait until `look` returns.
    pub fn caps<R>(&self, look: impl FnOnce(&CapsView<'_>) -> R) -> Option<R> {
        lock(&self.rest).as_ref().map(|client| look(&client.caps()))
    }

    /// Whether the client runs ahead of the server.
    #[must_use]
    pub fn runs_ahead(&self) -> bool {
        lock(&self.rest).as_ref().is_some_and(|client| client.caps.runs_ahead())
    }

    /// Why the session is over, if it is: what the server said of it, or how it went.
    pub fn reason(&self) -> Option<String> {
        let lost = self.inside.with(|inside| inside.path.alive()).err()?;
        let words = |fault| self.inside.with(|inside| words(inside.path.pipe(), fault));
        if self.reason.get().is_none() {
            let said = match lost {
                RecordError::Lost(fault) => {
                    words(fault).unwrap_or_else(|| Remote::why(lock(&self.remote).as_mut(), fault))
                }
                error => error.to_string(),
            };
            self.end_for(said);
        }
        self.reason.get().cloned()
    }

    /// Takes the reason for the session's end, if it is the first, and says it.
    fn end_for(&self, reason: String) {
        let line = format!("the session is lost: {reason}");
        // Another thread may have been told first.
        if self.reason.set(reason).is_ok() {
            self.diagnostics.say(LogLevel::Error, &line);
        }
    }

    /// What both sides have counted.
    #[must_use]
    pub fn statistics(&self) -> Statistics {
        let client = self.inside.with(|inside| counters(inside.path.pipe()));
        let server = self.far.as_ref().map_or(Err(LiveError::NoServer), |far| far.live.counters());
        Statistics { topology: self.topology, client, server }
    }

    /// Takes what the server has said over the control socket, as [`Client::attend`] does. Nothing is taken while another
    /// thread has a request at work, which takes it itself.
    pub fn attend(&self) {
        if let Ok(mut remote) = self.remote.try_lock()
            && let Some(remote) = remote.as_mut()
        {
            remote.attend();
        }
    }

    /// Ends the session for this fault, unless it was over before, and every wait with it.
    #[cold]
    fn lose(&self, fault: Fault) -> RecordError {
        let error = self.inside.with(|inside| inside.path.lose(fault));
        if let Some(far) = &self.far {
            // Waiters leave as if the server were dead, and hear the first fault.
            far.waiter.announce_death(&far.door);
        }
        error
    }

    /// Sees to what the session asks of its owner, without the lock.
    #[cold]
    #[inline(never)]
    fn see_to(&self) {
        while let Some(due) = self.inside.with(|inside| inside.path.pipe().take_due()) {
            match due {
                Due::Lost(fault) => _ = self.lose(fault),
                // A failure is the session's loss, which the next call hears of.
                Due::Retired(ordinal) => {
                    _ = self.reach(Cause::Watermark, Watermark::Retired, ordinal, Patience::Sleep);
                }
                Due::Caps => _ = self.take_caps(),
            }
        }
    }

    /// Goes on by the server's new caps.
    fn take_caps(&self) -> Result<(), RecordError> {
        let mut rest = lock(&self.rest);
        match (rest.as_mut(), &self.far) {
            (Some(client), Some(far)) => self.inside.with(|inside| {
                inside.path.alive()?;
                take_caps(inside.path.pipe(), &mut client.caps, far.live)
            }),
            _ => Ok(()),
        }
    }

    /// Counts something.
    fn count(&self, count: impl FnOnce(&mut Recorder<'static, Wire, E>)) {
        self.inside.with(|inside| {
            if let Either::Second(Encoder(recorder)) = inside.path.pipe() {
                count(recorder);
            }
        });
    }

    /// Publishes, then waits until `look` gives something. It has the lock, and is asked once `peek` says that there
    /// may be something; events are taken whenever there are any.
    fn wait<T>(
        &self,
        cause: Cause,
        patience: Patience,
        peek: impl Fn(&Peek<'static>) -> bool,
        mut look: impl FnMut(&mut ClientPipe<B, E>) -> Result<Option<T>, RecordError>,
    ) -> Result<T, RecordError> {
        let mut locked = || {
            self.inside.with(|inside| {
                inside.path.alive()?;
                let found = look(inside.path.pipe())?;
                // After what ended the wait was published, so that what came with it is seen.
                inside.path.pipe().poll_events()?;
                Ok(found)
            })
        };
        let Some(Far { waiter, peek: far, door, .. }) = &self.far else {
            for looks in 0_u32.. {
                if let Some(found) = locked()? {
                    return Ok(found);
                }
                if looks >= LOOKS {
                    thread::sleep(NAP);
                }
            }
            unreachable!("it looks for ever")
        };
        self.inside.with(|inside| {
            inside.path.alive()?;
            inside.path.pipe().publish();
            Ok::<_, RecordError>(())
        })?;
        let spins = match patience {
            Patience::Spin => self.spins,
            Patience::Sleep => 0,
        };
        let door = Counted::new(door.clone(), self.diagnostics.counts().then_some(clock));
        let mut looks = 0;
        let waited = waiter.wait(&door, spins, || {
            looks += 1;
            if peek(far) || far.has_events() { locked() } else { Ok(None) }
        });
        if looks > 1 {
            self.count(|recorder| recorder.count_waited(cause, looks, door.tally()));
        }
        match waited {
            Ok(found) => Ok(found),
            Err(WaitError::Closed | WaitError::Dead) => Err(self.lose(Fault::PeerGone)),
            Err(WaitError::Failed(error)) => {
                self.see_to();
                Err(error)
            }
        }
    }

    fn reach(
        &self,
        cause: Cause,
        mark: Watermark,
        value: u64,
        patience: Patience,
    ) -> Result<(), RecordError> {
        self.wait(
            cause,
            patience,
            |peek| peek.has_reached(mark, value),
            |pipe| Ok(runahead_rings::reached(pipe.watermark(mark)?, value).then_some(())),
        )
    }

    /// Notes, where the caller applies, who has a share group, and lets go of it where another thread may want it.
    #[cold]
    #[inline(never)]
    fn applied(inside: &mut Inside<B, E>) {
        let Ok(group) = usize::try_from(inside.path.group()) else { return };
        if inside.path.group() == u32::MAX {
            return;
        }
        let me = Kernel::unbiased().thread();
        if inside.users.len() <= group {
            inside.users.resize(group + 1, User::default());
        }
        let Some(user) = inside.users.get_mut(group) else { return };
        user.several |= user.thread != 0 && user.thread != me;
        user.thread = me;
        if user.several
            && let Either::First(applier) = inside.path.pipe()
        {
            applier.backend_mut().release_current();
        }
    }

    /// Makes a context; `share` names one whose objects it shares.
    ///
    /// # Errors
    /// [`RequestError`].
    pub fn create_context(
        &self,
        context: u64,
        share: Option<u64>,
        attributes: ContextAttributes,
    ) -> Result<(), RequestError> {
        let mut request =
            CreateContext { request: 0, after: 0, context, share: share.unwrap_or(0), attributes };
        if self.far.is_none() {
            let mut rest = lock(&self.rest);
            return self.applying(|inside| {
                let Either::First(applier) = inside.path.pipe() else { return Ok(()) };
                create_context(applier, &request, share).map_err(RequestError::Failed)?;
                if let Some(client) = rest.as_mut() {
                    let caps = own_caps(applier.backend(), &mut client.caps);
                    caps.map_err(|error| RequestError::Lost(error.to_string()))?;
                }
                Self::known(inside.path.add_context(context, share))
            });
        }
        let answer = self.request(|number, after| {
            (request.request, request.after) = (number, after);
            ClientMessage::CreateContext(request)
        })?;
        match answer {
            ServerMessage::Context(answer) => answer.result.map_err(RequestError::Failed)?,
            other => return Err(self.broken(&unexpected(&other))),
        }
        // Behind what other threads have recorded meanwhile, none of which can be for it.
        Self::known(self.inside.with(|inside| {
            Self::note(inside, || Request::CreateContext { context, share: request.share, attributes });
            inside.path.add_context(context, share)
        }))
    }

    /// Shows a recording what was done beside records.
    fn note(inside: &mut Inside<B, E>, request: impl FnOnce() -> Request) {
        if let Either::Second(Encoder(recorder)) = inside.path.pipe()
            && let Some(tap) = &mut recorder.link().tap
        {
            tap.request(&request());
        }
    }

    /// Ends the recording; the session goes on. Nothing where none is under way.
    ///
    /// # Errors
    /// Why not all of it is in the file.
    pub fn finish_recording(&self) -> Result<Option<Summary>, CaptureError> {
        let tap = self.inside.with(|inside| {
            inside.path.pipe().publish();
            match inside.path.pipe() {
                Either::Second(Encoder(recorder)) => recorder.link().tap.take(),
                Either::First(_) => None,
            }
        });
        tap.map(|tap| tap.finish()).transpose()
    }

    /// What the client's own books say of a context that the server has made.
    fn known(added: Result<(), RecordError>) -> Result<(), RequestError> {
        added.map_err(|error| {
            let kind = match error {
                RecordError::OutOfMemory => OperationError::OutOfMemory,
                _ => OperationError::NoSuchObject,
            };
            RequestError::Failed(OperationFailure::new(kind, error.to_string()))
        })
    }

    /// Ends a context. No thread may be in a turn for it, or come with one later.
    ///
    /// # Errors
    /// [`RequestError`].
    pub fn destroy_context(&self, context: u64) -> Result<(), RequestError> {
        if self.far.is_none() {
            return self.applying(|inside| {
                let Either::First(applier) = inside.path.pipe() else { return Ok(()) };
                if !applier.destroy_context(context) {
                    let text = format!("there is no context {context}");
                    return Err(RequestError::Failed(OperationFailure::new(
                        OperationError::NoSuchObject,
                        text,
                    )));
                }
                applier.backend_mut().destroy_context(context);
                inside.path.remove_context(context);
                Ok(())
            });
        }
        let answer = self.request(|request, after| {
            ClientMessage::DestroyContext(DestroyContext { request, after, context })
        })?;
        match answer {
            ServerMessage::Context(answer) => answer.result.map_err(RequestError::Failed)?,
            other => return Err(self.broken(&unexpected(&other))),
        }
        self.inside.with(|inside| {
            Self::note(inside, || Request::DestroyContext { context });
            inside.path.remove_context(context);
        });
        Ok(())
    }

    /// Does something to a surface; the answer is how it is then.
    ///
    /// # Errors
    /// [`RequestError`].
    pub fn surface(&self, surface: u64, op: SurfaceOp) -> Result<SurfaceState, RequestError> {
        if self.far.is_none() {
            return self.applying(|inside| match inside.path.pipe() {
                Either::First(applier) => surface_op(applier, surface, &op).map_err(RequestError::Failed),
                Either::Second(_) => Err(RequestError::Lost("there is no server".to_owned())),
            });
        }
        let answer = self.request(|request, after| {
            ClientMessage::Surface(SurfaceRequest { request, after, surface, op: op.clone() })
        })?;
        match answer {
            ServerMessage::Surface(answer) => {
                let state = answer.result.map_err(RequestError::Failed)?;
                self.inside.with(|inside| Self::note(inside, || Request::Surface { surface, op, state }));
                Ok(state)
            }
            other => Err(self.broken(&unexpected(&other))),
        }
    }

    /// A request that this client carries out itself.
    fn applying<R>(
        &self,
        request: impl FnOnce(&mut Inside<B, E>) -> Result<R, RequestError>,
    ) -> Result<R, RequestError> {
        self.inside.with(|inside| match inside.path.alive() {
            Ok(()) => request(inside),
            Err(error) => Err(RequestError::Lost(error.to_string())),
        })
    }

    /// Sends a request behind the last record and waits for its answer, without the record path; the events before the
    /// answer are taken first.
    fn request(
        &self,
        message: impl FnOnce(u32, u64) -> ClientMessage,
    ) -> Result<ServerMessage, RequestError> {
        let mut remote = lock(&self.remote);
        let Some(far) = remote.as_mut() else {
            return Err(RequestError::Lost("there is no server".to_owned()));
        };
        // Numbers and ordinals go up together: both are taken while this thread has the socket.
        let after = self.inside.with(|inside| {
            inside.path.alive()?;
            inside.path.pipe().publish();
            Ok::<_, RecordError>(inside.path.pipe().recorded())
        });
        let asked = match after {
            Ok(after) => {
                let number = far.number();
                let start = self.diagnostics.counts().then(clock);
                let asked = far.ask(number, &message(number, after), || {
                    self.inside.with(|inside| _ = inside.path.pipe().poll_events());
                });
                let slept = start.map(|start| (clock() - start) / 1000);
                self.count(|recorder| recorder.count_wait(Cause::Control, slept));
                asked
            }
            Err(_) => {
                drop(remote);
                return Err(RequestError::Lost(self.reason().unwrap_or_default()));
            }
        };
        drop(remote);
        let (answer, events) = asked.map_err(|error| self.broken(&error))?;
        let taken = self.inside.with(|inside| {
            inside.path.alive()?;
            let Either::Second(Encoder(recorder)) = inside.path.pipe() else { return Ok(u64::MAX) };
            recorder.poll_events()?;
            Ok::<_, RecordError>(recorder.events_taken())
        });
        match taken {
            Ok(taken) if taken >= events => {}
            Ok(_) => {
                return Err(self.broken(&Corruption { owner: "Control", field: "events" }));
            }
            Err(_) => {
                self.see_to();
                return Err(RequestError::Lost(self.reason().unwrap_or_default()));
            }
        }
        if self.inside.with(|inside| inside.path.pipe().is_due()) {
            self.see_to();
        }
        Ok(answer)
    }

    /// The control plane is of no use any more, and so the session.
    fn broken(&self, error: &dyn fmt::Display) -> RequestError {
        self.end_for(error.to_string());
        self.lose(Fault::PeerGone);
        RequestError::Lost(self.reason().unwrap_or_default())
    }
}

/// Tells waiters of a panic in a turn, after the lock was left.
struct Alarm<'a, B: Native, E: Hears>(&'a SharedClient<B, E>);

impl<B: Native, E: Hears> Drop for Alarm<'_, B, E> {
    fn drop(&mut self) {
        self.0.lose(Fault::Panicked);
    }
}

impl<B: Native, E: Hears> Shared for SharedClient<B, E> {
    type Session = ClientPipe<B, E>;
    type Storage = Heap;

    #[inline]
    fn with<R>(
        &self,
        context: &BindContext,
        turn: impl FnOnce(&mut Turn<'_, Self::Session, Heap>) -> R,
    ) -> Result<R, RecordError> {
        let alarm = Alarm(self);
        let turned = self.inside.with(|inside| {
            let value = inside.path.turn(context, turn)?;
            let due = match inside.path.pipe() {
                Either::Second(Encoder(recorder)) => recorder.is_due(),
                Either::First(_) => {
                    Self::applied(inside);
                    false
                }
            };
            Ok::<_, RecordError>((value, due))
        });
        std::mem::forget(alarm);
        let (value, due) = turned?;
        if due {
            self.see_to();
        }
        Ok(value)
    }

    fn check(&self) -> Check {
        self.diagnostics.check
    }

    fn leave(&self) -> Result<(), RecordError> {
        if self.far.is_some() {
            return self.inside.with(|inside| inside.path.alive());
        }
        self.inside.with(|inside| {
            inside.path.alive()?;
            let me = Kernel::unbiased().thread();
            for user in inside.users.iter_mut().filter(|user| user.thread == me) {
                user.thread = 0;
            }
            if let Either::First(applier) = inside.path.pipe() {
                applier.backend_mut().release_current();
            }
            Ok(())
        })
    }

    fn wait_for(&self, mark: Watermark, value: u64, patience: Patience) -> Result<(), RecordError> {
        self.reach(Cause::Watermark, mark, value, patience)
    }

    fn wait_answer(&self, pending: &Pending, patience: Patience) -> Result<Answer, RecordError> {
        self.wait(Cause::Answer, patience, |peek| peek.has_answer(pending), |pipe| pipe.answer(pending))
    }

    fn present(&self, context: &BindContext, damage: &[DamageRect]) -> Result<(), RecordError> {
        loop {
            let needed = self.with(context, |turn| match turn.pipe.credit()? {
                Credit::Frame(frame_serial) => {
                    let present = Present { frame_serial, ..Present::default() };
                    turn.pipe.present(&present, damage).map(|()| None)
                }
                Credit::After(acknowledged) => Ok(Some(acknowledged)),
            })??;
            match needed {
                None => return Ok(()),
                Some(acknowledged) => {
                    self.reach(Cause::Credit, Watermark::PresentAck, acknowledged, Patience::Sleep)?;
                }
            }
        }
    }
}

impl<B: Native, E: Hears> Drop for SharedClient<B, E> {
    fn drop(&mut self) {
        drop(self.dissolve());
    }
}
