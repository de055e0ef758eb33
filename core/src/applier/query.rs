//! Caps, fences, queries, time.

use runahead_rings::Status;
use runahead_wire::{
    Handle, ReplySpace,
    handle::Kind,
    payload::{
        CapsRequest, FenceStatusAnswer, FenceWait, FenceWaitAnswer, HandleOnly, QueryAvailableAnswer,
        QueryDesc, QueryResultAnswer, QueryResultRequest, TimestampAnswer,
    },
    values::{FenceWaitResult, QueryKind},
};

use super::{
    Apply,
    owed::{self, Debt, What},
};
use crate::{
    backend::{Backend, Outcome, Read, Twin},
    fault::Fault,
    objects::{Define, Query},
    outlet::Outlet,
    storage::Storage,
};

impl<B: Backend, S: Storage, O: Outlet> Apply<'_, B, S, O> {
    pub(super) fn fence_create(&mut self, object: &HandleOnly) -> Result<(), Fault> {
        self.must(object.kind() == Some(Kind::Fence), "kind")?;
        let serial = self.next_serial();
        let old = match self.objects.fences.define(object.handle, Define::New, self.records) {
            Ok((fence, old)) => {
                fence.serial = serial;
                fence.record = Default::default();
                old
            }
            Err(error) => return Err(self.undefined(error)),
        };
        if let Some(old) = old {
            self.debts.forget_fence(self.current.group, object.handle, self.outlet)?;
            self.release(Twin::Fence(old));
        }
        let (backend, mut scope) = self.scope();
        match backend.create_fence(&mut scope, object.handle) {
            Ok(()) => {
                self.debts.report_fence(self.current.group, self.origin(), object.handle);
                Ok(())
            }
            Err(error) => {
                self.objects.fences.refuse(object.handle);
                self.refused(Kind::Fence, object.handle, error)
            }
        }
    }

    /// Whether a fence is signalled; a refused one counts as signalled, and that is what its client is told.
    fn signaled(&mut self, handle: Handle) -> Result<bool, Fault> {
        let unnamed = self.unnamed("fence");
        let fence = self.objects.fences.known_mut(handle).ok_or(unnamed)?;
        if fence.is_refused() || fence.record.signaled {
            return Ok(true);
        }
        let polled = self.backend.poll_fence(&mut fence.twin, false);
        let signaled = match polled {
            Ok(signaled) => signaled,
            Err(error) => {
                self.verb(Err(error))?;
                true
            }
        };
        if let Some(fence) = self.objects.fences.known_mut(handle) {
            fence.record.signaled = signaled;
        }
        Ok(signaled)
    }

    pub(super) fn fence_status(
        &mut self,
        object: &HandleOnly,
        reply: Option<ReplySpace>,
    ) -> Result<(), Fault> {
        self.must(object.kind() == Some(Kind::Fence), "kind")?;
        self.known(Kind::Fence, object.handle, "handle")?;
        let Some(space) = self.wants(reply)? else { return Ok(()) };
        let signaled = u32::from(self.signaled(object.handle)?);
        self.answer(space, &FenceStatusAnswer { signaled, ..FenceStatusAnswer::default() })
    }

    pub(super) fn fence_wait(&mut self, wait: &FenceWait, reply: Option<ReplySpace>) -> Result<(), Fault> {
        self.known(Kind::Fence, wait.fence, "fence")?;
        let Some(space) = self.wants(reply)? else { return Ok(()) };
        let result = if self.signaled(wait.fence)? {
            FenceWaitResult::AlreadySignaled
        } else if wait.timeout_ns == 0 {
            FenceWaitResult::TimeoutExpired
        } else {
            let what = What::Fence { fence: wait.fence, timeout: wait.timeout_ns, deadline: None };
            return self.owe(space, what);
        };
        self.answer(space, &FenceWaitAnswer { result: result.raw(), ..FenceWaitAnswer::default() })
    }

    pub(super) fn fence_wait_server(&mut self, wait: &FenceWait) -> Result<(), Fault> {
        let fence = self.objects.fences.known(wait.fence).ok_or(self.unnamed("fence"))?;
        if fence.is_refused() {
            return Ok(());
        }
        self.call(|backend, scope| backend.wait_fence(scope, wait.fence))
    }

    /// Owes an answer. When as many are owed as can be remembered, this one is waited for.
    fn owe(&mut self, space: ReplySpace, what: What) -> Result<(), Fault> {
        let debt = Debt { space, group: self.current.group, origin: self.origin(), what };
        match self.debts.owe(debt) {
            Ok(()) => Ok(()),
            Err(debt) => {
                if matches!(debt.what, What::Buffer { .. }) {
                    self.debts.pay_buffers(self.objects, self.backend, self.outlet)?;
                }
                owed::pay(&debt, self.objects, self.backend, self.outlet, true).map(drop)
            }
        }
    }

    /// Starts a read whose bytes are the answer, or come as events before it.
    pub(super) fn begin_read(&mut self, space: ReplySpace, read: Read<'_>) -> Result<(), Fault> {
        let (backend, mut scope) = self.scope();
        let outcome = backend.begin_read(&mut scope, read);
        let Some(ticket) = self.answerable(outcome)? else { return self.decline(space) };
        let what = match read {
            Read::Buffer(read) => What::Buffer { ticket, buffer: read.resource, offset: read.offset },
            Read::Pixels(_) | Read::Texture(_) => What::Bytes { ticket },
        };
        self.owe(space, what)
    }

    pub(super) fn query_create(&mut self, desc: &QueryDesc) -> Result<(), Fault> {
        let serial = self.next_serial();
        let old = match self.objects.queries.define(desc.query, Define::New, self.records) {
            Ok((query, old)) => {
                query.serial = serial;
                query.record = Default::default();
                query.record.desc = *desc;
                old
            }
            Err(error) => return Err(self.undefined(error)),
        };
        if let Some(old) = old {
            self.debts.forget_query(self.current.group, desc.query, self.outlet)?;
            self.objects.epoch += 1;
            self.release(Twin::Query(old));
        }
        Ok(())
    }

    /// A query that a record begins, ends or writes; it must measure what it was made for.
    fn query(&mut self, desc: &QueryDesc, active: Option<bool>) -> Result<Option<&mut Query>, Fault> {
        let (unnamed, kind, state) = (self.unnamed("query"), self.corrupt("kind"), self.corrupt("query"));
        let query = self.objects.queries.known_mut(desc.query).ok_or(unnamed)?;
        if query.record.desc.kind != desc.kind || query.record.desc.stream != desc.stream {
            return Err(kind);
        }
        // One that was refused neither begins nor ends, whatever it was when that became known.
        if query.is_refused() {
            return Ok(None);
        }
        if active.is_some_and(|active| query.record.active != active) {
            return Err(state);
        }
        Ok(Some(&mut query.record))
    }

    pub(super) fn query_begin(&mut self, desc: &QueryDesc) -> Result<(), Fault> {
        self.must(desc.kind() != Some(QueryKind::Timestamp), "kind")?;
        let Some(query) = self.query(desc, Some(false))? else { return Ok(()) };
        query.active = true;
        query.produced = false;
        let (backend, mut scope) = self.scope();
        let outcome = backend.begin_query(&mut scope, desc);
        self.query_outcome(desc.query, outcome)
    }

    pub(super) fn query_end(&mut self, desc: &QueryDesc) -> Result<(), Fault> {
        let Some(query) = self.query(desc, Some(true))? else { return Ok(()) };
        query.active = false;
        query.produced = true;
        let (backend, mut scope) = self.scope();
        let outcome = backend.end_query(&mut scope, desc);
        self.query_outcome(desc.query, outcome)
    }

    pub(super) fn query_counter(&mut self, desc: &QueryDesc) -> Result<(), Fault> {
        self.must(desc.kind() == Some(QueryKind::Timestamp), "kind")?;
        let Some(query) = self.query(desc, Some(false))? else { return Ok(()) };
        query.produced = true;
        let (backend, mut scope) = self.scope();
        let outcome = backend.query_counter(&mut scope, desc);
        self.query_outcome(desc.query, outcome)
    }

    /// A query that the backend cannot run is refused: its result reads as never produced.
    fn query_outcome(&mut self, query: Handle, outcome: Outcome) -> Result<(), Fault> {
        match outcome {
            Ok(()) => Ok(()),
            Err(error) => {
                self.objects.queries.refuse(query);
                self.refused(Kind::Query, query, error)
            }
        }
    }

    /// The result of a query, if it is there: of one that never ran at once, of an active one never.
    fn result(&mut self, handle: Handle) -> Result<Option<QueryResultAnswer>, Fault> {
        let unnamed = self.unnamed("query");
        let query = self.objects.queries.known_mut(handle).ok_or(unnamed)?;
        if query.is_refused() {
            return Ok(Some(QueryResultAnswer::default()));
        }
        if query.record.active {
            return Ok(None);
        }
        if !query.record.produced {
            return Ok(Some(QueryResultAnswer::default()));
        }
        let desc = query.record.desc;
        let outcome = self.backend.poll_query(&desc, &mut query.twin, false);
        Ok(self.answerable(outcome)?.unwrap_or(Some(QueryResultAnswer::default())))
    }

    pub(super) fn query_available(
        &mut self,
        object: &HandleOnly,
        reply: Option<ReplySpace>,
    ) -> Result<(), Fault> {
        self.must(object.kind() == Some(Kind::Query), "kind")?;
        self.known(Kind::Query, object.handle, "handle")?;
        let Some(space) = self.wants(reply)? else { return Ok(()) };
        let available = u32::from(self.result(object.handle)?.is_some());
        self.answer(space, &QueryAvailableAnswer { available, ..QueryAvailableAnswer::default() })
    }

    pub(super) fn query_result(
        &mut self,
        request: &QueryResultRequest,
        reply: Option<ReplySpace>,
    ) -> Result<(), Fault> {
        let query = self.objects.queries.known(request.query).ok_or(self.unnamed("query"))?;
        let active = query.record.active;
        let Some(space) = self.wants(reply)? else { return Ok(()) };
        match self.result(request.query)? {
            Some(answer) => self.answer(space, &answer),
            // Nothing that could be waited for ends an active query but a later record.
            None if request.wait() == Some(true) && !active => {
                self.owe(space, What::Query { query: request.query })
            }
            None => self.decline(space),
        }
    }

    pub(super) fn query_timestamp(&mut self, reply: Option<ReplySpace>) -> Result<(), Fault> {
        let Some(space) = self.wants(reply)? else { return Ok(()) };
        let outcome = self.backend.timestamp();
        match self.answerable(outcome)?.flatten() {
            Some(nanoseconds) => self.answer(space, &TimestampAnswer { nanoseconds }),
            None => self.decline(space),
        }
    }
}

/// Answers the caps; they belong to no context.
pub(super) fn get_caps<B: Backend, O: Outlet>(
    backend: &B,
    outlet: &mut O,
    request: &CapsRequest,
    reply: Option<ReplySpace>,
) -> Result<(), Fault> {
    let Some(space) = reply else { return Ok(()) };
    outlet.check(space)?;
    let caps = backend.caps();
    if caps.head().generation == request.generation {
        return outlet.answer(space, Status::Declined, &[]);
    }
    outlet.answer_with(space, caps.encoded_len(), |out| caps.encode(out))
}
