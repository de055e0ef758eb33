//! Queries, fences, and what depends on them.

use runahead_core::{Session, link::Patience, reply_space, slots::Band};
use runahead_rings::Status;
use runahead_wire::{
    Handle,
    handle::Kind,
    payload::{
        ConditionalRender, FenceWait, FenceWaitAnswer, HandleOnly, QueryDesc, QueryResultAnswer,
        QueryResultRequest, TimestampAnswer, TimestampRequest,
    },
    values::{ConditionalRenderMode, FenceWaitResult, QueryKind},
    zerocopy::{FromZeros, IntoBytes},
};

use super::{Stage, StageError};

impl<P: Session> Stage<'_, P> {
    /// A query.
    ///
    /// # Errors
    /// [`StageError`].
    pub fn query(&mut self, kind: QueryKind) -> Result<QueryDesc, StageError> {
        let query = self.mint(Band::Query)?;
        let desc = QueryDesc { query, kind: kind.raw(), ..QueryDesc::default() };
        self.pipe.query_create(&desc)?;
        self.known.queries.push(desc);
        Ok(desc)
    }

    /// Begins a query.
    ///
    /// # Errors
    /// [`StageError`].
    pub fn begin_query(&mut self, query: &QueryDesc) -> Result<(), StageError> {
        Ok(self.pipe.query_begin(query)?)
    }

    /// Ends a query.
    ///
    /// # Errors
    /// [`StageError`].
    pub fn end_query(&mut self, query: &QueryDesc) -> Result<(), StageError> {
        Ok(self.pipe.query_end(query)?)
    }

    /// Has the GPU's time written into a query.
    ///
    /// # Errors
    /// [`StageError`].
    pub fn count(&mut self, query: &QueryDesc) -> Result<(), StageError> {
        Ok(self.pipe.query_counter(query)?)
    }

    /// The result of a query, waited for; nothing for one that never ran.
    ///
    /// # Errors
    /// [`StageError`].
    pub fn result(&mut self, query: &QueryDesc) -> Result<Option<u64>, StageError> {
        let mut answer = QueryResultAnswer::new_zeroed();
        let request = QueryResultRequest { query: query.query, wait: 1, ..QueryResultRequest::default() };
        self.asked(answer.as_mut_bytes(), |pipe, space| pipe.query_result(&request, space))?;
        Ok((answer.produced != 0).then_some(answer.value))
    }

    /// The GPU's time.
    ///
    /// # Errors
    /// [`StageError`].
    pub fn timestamp(&mut self) -> Result<i64, StageError> {
        let mut answer = TimestampAnswer::new_zeroed();
        self.asked(answer.as_mut_bytes(), |pipe, space| {
            pipe.query_timestamp(&TimestampRequest::default(), space)
        })?;
        Ok(answer.nanoseconds)
    }

    /// A fence behind everything so far.
    ///
    /// # Errors
    /// [`StageError`].
    pub fn fence(&mut self) -> Result<Handle, StageError> {
        let fence = self.mint(Band::Fence)?;
        let named = HandleOnly { handle: fence, kind: Kind::Fence.raw(), ..HandleOnly::default() };
        self.pipe.fence_create(&named)?;
        Ok(fence)
    }

    /// Waits for a fence, so many nanoseconds; says whether it was signalled.
    ///
    /// # Errors
    /// [`StageError`].
    pub fn wait_fence(&mut self, fence: Handle, timeout_ns: u64) -> Result<bool, StageError> {
        let mut answer = FenceWaitAnswer::new_zeroed();
        let wait = FenceWait { fence, timeout_ns, ..FenceWait::default() };
        self.asked(answer.as_mut_bytes(), |pipe, space| pipe.fence_wait(&wait, space))?;
        let result = FenceWaitResult::from_raw(answer.result);
        Ok(matches!(result, Some(FenceWaitResult::AlreadySignaled | FenceWaitResult::ConditionSatisfied)))
    }

    /// An answer, waited for.
    fn asked(
        &mut self,
        answer: &mut [u8],
        ask: impl FnOnce(&mut P, Option<runahead_wire::ReplySpace>) -> Result<(), runahead_core::RecordError>,
    ) -> Result<(), StageError> {
        let pending = self.pipe.ask(answer.len() as u32)?;
        ask(self.pipe, Some(reply_space(&pending)))?;
        let came = self.pipe.wait_answer(&pending, Patience::Sleep)?;
        self.pipe.copy_answer(&pending, came, answer);
        let released = self.pipe.release(pending);
        debug_assert!(released.is_ok(), "it was answered");
        if came.status == Status::Ok { Ok(()) } else { Err(StageError::Read(came.status)) }
    }

    /// Verbs depend on a query from now on, or on none.
    pub fn condition(&mut self, query: Option<&QueryDesc>, mode: ConditionalRenderMode) {
        *self.tracker.conditional_render() = ConditionalRender {
            query: query.map_or(Handle::NULL, |query| query.query),
            mode: mode.raw(),
            ..ConditionalRender::default()
        };
    }
}
