//! The server half: records in, backend calls out.
//!
//! An [`Applier`] implements [`Pipe`](runahead_wire::pipe::Pipe) by executing. What the decoder cannot know it
//! checks here against the session's own records: that handles name live objects of the right kind, that
//! ranges lie inside their objects, that windows cover what they must. Then it keeps what the record said, and
//! calls the backend where there is work.
//!
//! # What a client sees
//! - A breach of the rules is a [`Fault`]: sticky, the end of the session.
//! - What is valid and cannot be done is a refusal: the event `Refused` names object, row and reason. A later
//!   set takes a refused handle as null, and a verb that cannot do without it is dropped with one
//!   out-of-memory error a refused object.
//! - An answer comes when it is there. Fences, queries and readbacks that are not ready are owed, and
//!   [`Applier::poll`] pays between batches.

use core::fmt::Debug;

use runahead_rings::Status;
use runahead_wire::{
    Handle, ReplySpace,
    handle::Kind,
    payload::{BindContext, DrawIndirect, DrawInfo, DrawRange, EventOrigin, GlError, RequestRefused},
    pipe::Op,
    values::{ErrorKind, RefusedReason},
    zerocopy::IntoBytes,
};

use crate::{
    backend::{Backend, BackendError, Progress, Scope, Twin},
    bind_state::{BindState, Trouble},
    fault::Fault,
    objects::{DefineError, Objects},
    outlet::Outlet,
    storage::{Budget, Storage, Table},
};

mod bytes;
#[cfg(feature = "compare")]
mod comparing;
mod cso;
mod owed;
mod pipe;
mod query;
mod resource;
mod state;
mod transfer;
mod verb;
mod windows;

use owed::Debts;

/// What one session may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quota {
    /// Contexts, and surfaces.
    pub contexts: u32,
    /// Bytes of records: what the server keeps of what the client said.
    pub records: u64,
    /// Bytes of native storage, as the descriptions of resources add up.
    pub storage: u64,
}

impl Default for Quota {
    fn default() -> Self {
        Self { contexts: 64, records: 256 << 20, storage: 16 << 30 }
    }
}

/// One client context.
#[derive(Debug, Default)]
struct Context {
    /// 0 for a free place.
    token: u64,
    /// Position of the share group.
    group: u32,
    bind: BindState,
}

/// One share group.
#[derive(Debug)]
struct Group<B: Backend, S: Storage> {
    /// Contexts in it; none for a free place.
    contexts: u32,
    /// Token of its first context.
    token: u64,
    objects: Objects<B, S>,
}

impl<B: Backend, S: Storage> Default for Group<B, S> {
    fn default() -> Self {
        Self { contexts: 0, token: 0, objects: Objects::default() }
    }
}

/// Which context records belong to.
#[derive(Clone, Copy, Debug)]
struct Current {
    context: u32,
    group: u32,
    token: u64,
    draw_surface: u64,
    read_surface: u64,
}

/// Why a context or surface cannot be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum ContextError {
    /// The token is 0, or taken.
    Token,
    /// The context to share with is unknown.
    Share,
    /// The session has as many as it may have.
    OutOfMemory,
}

impl core::fmt::Display for ContextError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(match self {
            Self::Token => "the token is 0 or already taken",
            Self::Share => "the context to share with does not exist",
            Self::OutOfMemory => "the session has as many contexts or surfaces as it may have",
        })
    }
}

impl core::error::Error for ContextError {}

/// The server half of a session.
#[derive(Debug)]
pub struct Applier<B: Backend, S: Storage, O: Outlet> {
    backend: B,
    outlet: O,
    contexts: S::Table<Context>,
    groups: S::Table<Group<B, S>>,
    /// Tokens of surfaces; 0 for a free place.
    surfaces: S::Table<u64>,
    current: Option<Current>,
    quota: Quota,
    records: Budget,
    storage: Budget,
    /// Ordinal of the record being applied, or of the last one.
    ordinal: u64,
    /// Serial given last.
    serial: u64,
    /// Frame presented last.
    frame: u64,
    debts: Debts,
    #[cfg(feature = "compare")]
    comparing: comparing::Comparing<S>,
}

impl<B: Backend, S: Storage, O: Outlet> Applier<B, S, O> {
    /// An applier whose first record is number `start` plus 1.
    #[must_use]
    pub fn new(backend: B, outlet: O, quota: Quota, start: u64) -> Self {
        Self {
            backend,
            outlet,
            contexts: S::Table::default(),
            groups: S::Table::default(),
            surfaces: S::Table::default(),
            current: None,
            quota,
            records: Budget::new(quota.records),
            storage: Budget::new(quota.storage),
            ordinal: start,
            serial: 0,
            frame: 0,
            debts: Debts::default(),
            #[cfg(feature = "compare")]
            comparing: comparing::Comparing::default(),
        }
    }

    /// The backend.
    #[must_use]
    pub const fn backend(&self) -> &B {
        &self.backend
    }

    /// The backend, for what is not a record: native surfaces, contexts, statistics.
    pub const fn backend_mut(&mut self) -> &mut B {
        &mut self.backend
    }

    /// The way back to the client.
    #[must_use]
    pub const fn outlet(&self) -> &O {
        &self.outlet
    }

    /// The way back to the client, to be used.
    pub const fn outlet_mut(&mut self) -> &mut O {
        &mut self.outlet
    }

    /// Ordinal of the last record.
    #[must_use]
    pub const fn ordinal(&self) -> u64 {
        self.ordinal
    }

    /// Number of the frame presented last.
    #[must_use]
    pub const fn frame(&self) -> u64 {
        self.frame
    }

    /// Makes a context, in the share group of another one or in one of its own. It is named by `token` from
    /// now on.
    ///
    /// # Errors
    /// [`ContextError`].
    pub fn create_context(&mut self, token: u64, share: Option<u64>) -> Result<(), ContextError> {
        if token == 0 || self.position(token).is_some() {
            return Err(ContextError::Token);
        }
        let shared = match share {
            None => None,
            Some(with) => {
                let at = self.position(with).ok_or(ContextError::Share)?;
                Some(self.contexts.get(at).ok_or(ContextError::Share)?.group)
            }
        };
        let (contexts, quota) = (&mut self.contexts, self.quota.contexts);
        let at =
            free_place(contexts, quota, |context| context.token == 0).ok_or(ContextError::OutOfMemory)?;
        let group = match shared {
            Some(group) => group,
            None => free_place(&mut self.groups, quota, |group| group.contexts == 0)
                .ok_or(ContextError::OutOfMemory)?,
        };
        let in_group = self.groups.get_mut(group).ok_or(ContextError::OutOfMemory)?;
        if in_group.contexts == 0 {
            in_group.token = token;
        }
        in_group.contexts += 1;
        let context = self.contexts.get_mut(at).ok_or(ContextError::OutOfMemory)?;
        *context = Context { token, group, bind: BindState::default() };
        Ok(())
    }

    /// Ends a context, and with the last one of a share group its objects. `false` for an unknown token.
    pub fn destroy_context(&mut self, token: u64) -> bool {
        let Some(at) = self.position(token) else { return false };
        let Some(context) = self.contexts.get_mut(at) else { return false };
        let group = context.group;
        *context = Context::default();
        if self.current.is_some_and(|current| current.context == at) {
            self.current = None;
        }
        if let Some(in_group) = self.groups.get_mut(group) {
            in_group.contexts -= 1;
            if in_group.contexts == 0 {
                end_group(in_group, &mut self.backend, &mut self.records, &mut self.storage);
                // The client is gone if this fails, and the session ends at its next answer.
                let _ = self.debts.forget_group(group, &mut self.outlet, &mut self.backend);
            }
        }
        true
    }

    /// Makes a surface known by its token.
    ///
    /// # Errors
    /// [`ContextError`].
    pub fn create_surface(&mut self, token: u64) -> Result<(), ContextError> {
        if token == 0 || self.has_surface(token) {
            return Err(ContextError::Token);
        }
        let at = free_place(&mut self.surfaces, self.quota.contexts, |surface| *surface == 0)
            .ok_or(ContextError::OutOfMemory)?;
        *self.surfaces.get_mut(at).ok_or(ContextError::OutOfMemory)? = token;
        Ok(())
    }

    /// Forgets a surface. It stays in use by whoever has it current, as EGL has it. `false` for an unknown
    /// token.
    pub fn destroy_surface(&mut self, token: u64) -> bool {
        let place = (0..self.surfaces.len()).find(|at| token != 0 && self.surfaces.get(*at) == Some(&token));
        match place.and_then(|at| self.surfaces.get_mut(at)) {
            Some(surface) => {
                *surface = 0;
                true
            }
            None => false,
        }
    }

    /// Whether a surface is known.
    #[must_use]
    pub fn has_surface(&self, token: u64) -> bool {
        (0..self.surfaces.len()).any(|at| self.surfaces.get(at) == Some(&token))
    }

    fn position(&self, token: u64) -> Option<u32> {
        (0..self.contexts.len())
            .find(|at| token != 0 && self.contexts.get(*at).is_some_and(|context| context.token == token))
    }

    /// State and objects of a context, as the records so far made them.
    #[must_use]
    pub fn context(&self, token: u64) -> Option<(&BindState, &Objects<B, S>)> {
        let context = self.contexts.get(self.position(token)?)?;
        Some((&context.bind, &self.groups.get(context.group)?.objects))
    }

    /// State and objects of the current context.
    #[must_use]
    pub fn current(&self) -> Option<(&BindState, &Objects<B, S>)> {
        let current = self.current?;
        Some((&self.contexts.get(current.context)?.bind, &self.groups.get(current.group)?.objects))
    }

    /// Bytes of records and of native storage that the session may still have.
    #[must_use]
    pub const fn left(&self) -> (Budget, Budget) {
        (self.records, self.storage)
    }

    /// How far the backend got.
    ///
    /// # Errors
    /// [`Fault::DeviceLost`].
    pub fn progress(&mut self) -> Result<Progress, Fault> {
        self.backend.progress(self.ordinal).map_err(|_| Fault::DeviceLost)
    }

    /// Pays what is owed and can be paid now: answers of fences, queries and readbacks, and the events of
    /// signalled fences. Called between batches. `now` is a clock in nanoseconds, read only while a wait with
    /// a timeout is owed; see [`Applier::needs_clock`].
    ///
    /// # Errors
    /// The client's fault, or the backend's.
    pub fn poll(&mut self, now: u64) -> Result<(), Fault> {
        owed::poll(self, now)
    }

    /// Whether something is owed, so that [`Applier::poll`] must be called again soon.
    #[must_use]
    pub fn owes(&self) -> bool {
        !self.debts.is_empty()
    }

    /// Whether [`Applier::poll`] looks at the clock.
    #[must_use]
    pub fn needs_clock(&self) -> bool {
        self.debts.has_timeout()
    }

    /// Ends the session: what is owed is answered with an error, and every twin is released. Backend and outlet
    /// come back; the backend's place holds the client's fault when an answer could not be written, and then
    /// too every twin is released.
    pub fn end(mut self) -> (Result<B, Fault>, O) {
        let answered = self.debts.abandon(&mut self.outlet, &mut self.backend);
        for at in 0..self.groups.len() {
            if let Some(group) = self.groups.get_mut(at) {
                end_group(group, &mut self.backend, &mut self.records, &mut self.storage);
            }
        }
        (answered.map(|()| self.backend), self.outlet)
    }

    /// Counts the next record. Every method of the pipe is one.
    #[inline(always)]
    const fn begin(&mut self) {
        self.ordinal = self.ordinal.wrapping_add(1);
    }

    /// The next record, with what it works on.
    #[inline(always)]
    fn at(&mut self, op: Op) -> Result<Apply<'_, B, S, O>, Fault> {
        self.begin();
        self.before(op)?;
        self.again(op)
    }

    /// What comes before a verb: nothing, where no states are compared.
    #[inline(always)]
    fn before(&mut self, op: Op) -> Result<(), Fault> {
        #[cfg(feature = "compare")]
        if self.comparing.is_on && crate::tracker::Verb::of(op).is_some() {
            return self.compare(op);
        }
        let _ = op;
        Ok(())
    }

    /// The record at hand once more.
    #[inline(always)]
    fn again(&mut self, op: Op) -> Result<Apply<'_, B, S, O>, Fault> {
        let current = self.current.ok_or(Fault::Corrupt { row: op, field: "context" })?;
        let (Some(context), Some(group)) =
            (self.contexts.get_mut(current.context), self.groups.get_mut(current.group))
        else {
            return Err(Fault::Corrupt { row: op, field: "context" });
        };
        Ok(Apply {
            op,
            current,
            ordinal: self.ordinal,
            group_token: group.token,
            backend: &mut self.backend,
            outlet: &mut self.outlet,
            objects: &mut group.objects,
            bind: &mut context.bind,
            records: &mut self.records,
            storage: &mut self.storage,
            serial: &mut self.serial,
            frame: &mut self.frame,
            debts: &mut self.debts,
        })
    }
}

/// One steady draw: nothing stands in its way, and nothing that its context names has ended or was refused since the
/// last one. Everything else about draws is [`Apply::draw`]'s.
impl<B: Backend, S: Storage, O: Outlet> Applier<B, S, O> {
    #[inline]
    fn draw(
        &mut self,
        info: &DrawInfo,
        ranges: &[DrawRange],
        indirect: &[DrawIndirect],
    ) -> Result<(), Fault> {
        self.begin();
        if indirect.is_empty()
            && let Some(current) = &self.current
            && let Some(context) = self.contexts.get_mut(current.context)
            && let Some(group) = self.groups.get_mut(current.group)
            && !context.bind.trouble.any(Trouble::UNSTEADY)
            && context.bind.epoch_seen == group.objects.epoch
            && (info.index_size == 0
                || context.bind.indices_seen == Some(info.index_resource)
                || group.objects.buffers.get(info.index_resource).is_some())
        {
            let mut scope = Scope {
                objects: &mut group.objects,
                bind: &context.bind,
                context: current.token,
                group: group.token,
                draw_surface: current.draw_surface,
                read_surface: current.read_surface,
                ordinal: self.ordinal,
                serial: self.serial,
            };
            match self.backend.draw(&mut scope, info, ranges, None) {
                Ok(()) => Ok(()),
                Err(error) => self.draw_failed(error),
            }
        } else {
            self.draw_any(info, ranges, indirect)
        }
    }

    // Apart, so that a steady draw saves no registers for them.
    #[cold]
    #[inline(never)]
    fn draw_any(
        &mut self,
        info: &DrawInfo,
        ranges: &[DrawRange],
        indirect: &[DrawIndirect],
    ) -> Result<(), Fault> {
        self.before(Op::DrawVbo)?;
        self.again(Op::DrawVbo)?.draw(info, ranges, indirect)
    }

    #[cold]
    #[inline(never)]
    fn draw_failed(&mut self, error: BackendError) -> Result<(), Fault> {
        self.again(Op::DrawVbo)?.verb_failed(error)
    }
}

fn end_group<B: Backend, S: Storage>(
    group: &mut Group<B, S>,
    backend: &mut B,
    records: &mut Budget,
    storage: &mut Budget,
) {
    let (spent_records, spent_storage) = group.objects.spent();
    group.objects.drain(|twin| backend.release(twin));
    group.objects = Objects::default();
    records.give_back(spent_records);
    storage.give_back(spent_storage);
}

/// A free place of a table of at most `most` entries, appended if need be.
fn free_place<T>(table: &mut impl Table<T>, most: u32, is_free: impl Fn(&T) -> bool) -> Option<u32> {
    let free = (0..table.len()).find(|at| table.get(*at).is_some_and(&is_free));
    free.or_else(|| (table.len() < most && table.push()).then(|| table.len() - 1))
}

/// One record being applied.
struct Apply<'a, B: Backend, S: Storage, O: Outlet> {
    op: Op,
    current: Current,
    ordinal: u64,
    group_token: u64,
    backend: &'a mut B,
    outlet: &'a mut O,
    objects: &'a mut Objects<B, S>,
    bind: &'a mut BindState,
    records: &'a mut Budget,
    storage: &'a mut Budget,
    serial: &'a mut u64,
    frame: &'a mut u64,
    debts: &'a mut Debts,
}

/// What a record that names an object of its own finds.
enum Named<T> {
    /// The object.
    Live(T),
    /// An object that the server has refused: the record is dropped.
    Refused,
}

impl<B: Backend, S: Storage, O: Outlet> Apply<'_, B, S, O> {
    const fn corrupt(&self, field: &'static str) -> Fault {
        Fault::Corrupt { row: self.op, field }
    }

    const fn unnamed(&self, field: &'static str) -> Fault {
        Fault::UnnamedIdentity { row: self.op, field }
    }

    fn must(&self, holds: bool, field: &'static str) -> Result<(), Fault> {
        if holds { Ok(()) } else { Err(self.corrupt(field)) }
    }

    /// A serial that no record had before.
    const fn next_serial(&mut self) -> u64 {
        *self.serial += 1;
        *self.serial
    }

    const fn origin(&self) -> EventOrigin {
        EventOrigin { context: self.current.token, ordinal: self.ordinal }
    }

    fn scope(&mut self) -> (&mut B, Scope<'_, B, S>) {
        let scope = Scope {
            objects: self.objects,
            bind: self.bind,
            context: self.current.token,
            group: self.group_token,
            draw_surface: self.current.draw_surface,
            read_surface: self.current.read_surface,
            ordinal: self.ordinal,
            serial: *self.serial,
        };
        (self.backend, scope)
    }

    /// Why a slot cannot be defined, as a fault. Lack of memory is one too: the limit is the session's, and a
    /// client without the record that it just made cannot go on.
    fn undefined(&self, error: DefineError) -> Fault {
        match error {
            DefineError::Slot => self.corrupt("slot"),
            DefineError::Generation => self.corrupt("generation"),
            DefineError::OutOfMemory => Fault::OverLimit { row: self.op, field: "objects" },
        }
    }

    /// Whether a handle is null or names an object.
    fn null_or_known(&self, kind: Kind, handle: Handle, field: &'static str) -> Result<(), Fault> {
        if handle.is_null() || self.objects.knows(kind, handle) { Ok(()) } else { Err(self.unnamed(field)) }
    }

    /// Whether a handle names an object.
    fn known(&self, kind: Kind, handle: Handle, field: &'static str) -> Result<(), Fault> {
        if self.objects.knows(kind, handle) { Ok(()) } else { Err(self.unnamed(field)) }
    }

    /// Tells the client that what a valid record asked for was not done. Loss of the device is the end.
    fn refused(&mut self, kind: Kind, object: Handle, error: BackendError) -> Result<(), Fault> {
        let reason = match error {
            BackendError::Refused(reason) => reason,
            BackendError::DeviceLost => return Err(Fault::DeviceLost),
        };
        self.objects.epoch += 1;
        self.outlet.refused(&RequestRefused {
            origin: self.origin(),
            object,
            kind: kind.raw(),
            reason: reason.raw(),
            op: u32::from(self.op.raw()),
            ..RequestRefused::default()
        })
    }

    /// What became of a verb: a refusal is one error of the context.
    #[inline]
    fn verb(&mut self, outcome: Result<(), BackendError>) -> Result<(), Fault> {
        match outcome {
            Ok(()) => Ok(()),
            Err(error) => self.verb_failed(error),
        }
    }

    #[cold]
    fn verb_failed(&mut self, error: BackendError) -> Result<(), Fault> {
        match error {
            BackendError::DeviceLost => Err(Fault::DeviceLost),
            BackendError::Refused(RefusedReason::OutOfMemory) => self.error(ErrorKind::OutOfMemory),
            BackendError::Refused(RefusedReason::TooLarge) => self.error(ErrorKind::InvalidValue),
            BackendError::Refused(RefusedReason::Unsupported | RefusedReason::NativeFailure) => {
                self.error(ErrorKind::InvalidOperation)
            }
        }
    }

    /// Sends an error of the context, whose text is the row that caused it.
    fn error(&mut self, kind: ErrorKind) -> Result<(), Fault> {
        let mut text = [0; 64];
        let name = self.op.name().as_bytes();
        // One more for the terminating NUL.
        let len = name.len().min(text.len() - 1);
        if let (Some(to), Some(from)) = (text.get_mut(..len), name.get(..len)) {
            to.copy_from_slice(from);
        }
        let error = GlError { origin: self.origin(), kind: kind.raw(), text_size: len as u32 + 1 };
        self.outlet.gl_error(&error, text.get(..=len).unwrap_or_default())
    }

    /// Drops a verb because of a refused object: one out-of-memory error an object, however often it is used.
    #[cold]
    fn drop_verb(&mut self, told: impl FnOnce(&mut Objects<B, S>) -> Option<&mut bool>) -> Result<(), Fault> {
        let told = told(self.objects).map(|told| core::mem::replace(told, true));
        if told == Some(true) { Ok(()) } else { self.error(ErrorKind::OutOfMemory) }
    }

    /// Whether the record wants an answer; its place is checked, so that the answer cannot fail later.
    fn wants(&self, reply: Option<ReplySpace>) -> Result<Option<ReplySpace>, Fault> {
        match reply {
            Some(space) => self.outlet.check(space).map(|()| reply),
            None => Ok(None),
        }
    }

    fn answer<T: IntoBytes + runahead_wire::zerocopy::Immutable>(
        &mut self,
        space: ReplySpace,
        answer: &T,
    ) -> Result<(), Fault> {
        self.outlet.answer(space, Status::Ok, answer.as_bytes())
    }

    fn decline(&mut self, space: ReplySpace) -> Result<(), Fault> {
        self.outlet.answer(space, Status::Declined, &[])
    }

    fn release(&mut self, twin: Twin<B>) {
        self.backend.release(twin);
    }
}

impl<B: Backend, S: Storage, O: Outlet> Applier<B, S, O> {
    /// Makes a context current for the records that follow; none with token 0.
    fn make_current(&mut self, bind: &BindContext) -> Result<(), Fault> {
        let op = Op::BindContext;
        self.begin();
        if bind.context == 0 {
            self.current = None;
            return Ok(());
        }
        let unnamed = |field| Fault::UnnamedIdentity { row: op, field };
        let at = self.position(bind.context).ok_or(unnamed("context"))?;
        for (surface, field) in [(bind.draw_surface, "draw_surface"), (bind.read_surface, "read_surface")] {
            if surface != 0 && !self.has_surface(surface) {
                return Err(unnamed(field));
            }
        }
        let group = self.contexts.get(at).ok_or(unnamed("context"))?.group;
        self.current = Some(Current {
            context: at,
            group,
            token: bind.context,
            draw_surface: bind.draw_surface,
            read_surface: bind.read_surface,
        });
        let mut apply = self.again(op)?;
        apply.call(|backend, scope| backend.bind_context(scope, bind))
    }
}
