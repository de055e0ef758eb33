//! The way back to a client that holds the applier itself: a call.

use core::fmt::Debug;

use runahead_rings::{Answer, Pending, ReplyClient, ReplyError, ReplyServer, Status};
use runahead_wire::{
    ReplySpace,
    event::Events,
    payload::{
        BufferWriteback, ByteRange, CapsChanged, FenceSignaled, GlError, GpuWritten, RequestRefused,
        SurfaceChanged,
    },
};

use crate::{
    fault::Fault,
    outlet::Outlet,
    recorder::RecordError,
    server::{answer, answer_with, place},
};

/// Bytes that one event writes back; there is no ring to fill.
const WRITEBACK: usize = runahead_wire::limits::WRITEBACK_BYTES as usize;

/// Events go straight to their handler, answers into reply space of this process.
#[derive(Debug)]
pub struct Local<'a, E> {
    answers: ReplyServer<'a>,
    replies: ReplyClient<'a>,
    events: E,
    clock: fn() -> u64,
}

impl<'a, E: Events<Error = Fault> + Debug> Local<'a, E> {
    /// An outlet over both halves of one reply space. `clock` counts nanoseconds.
    pub const fn new(
        answers: ReplyServer<'a>,
        replies: ReplyClient<'a>,
        events: E,
        clock: fn() -> u64,
    ) -> Self {
        Self { answers, replies, events, clock }
    }

    /// Who gets the events.
    pub const fn events(&mut self) -> &mut E {
        &mut self.events
    }

    pub(crate) fn now(&self) -> u64 {
        (self.clock)()
    }

    pub(crate) fn ask(&mut self, capacity: u32) -> Result<Pending, RecordError> {
        let max = self.replies.max_answer() as usize;
        self.replies.reserve(capacity).map_err(|error| match error {
            ReplyError::Full => RecordError::ReplyFull,
            ReplyError::TooLarge => RecordError::TooLarge { size: capacity as usize, max },
        })
    }

    pub(crate) fn answer_of(&self, pending: &Pending) -> Result<Option<Answer>, RecordError> {
        Ok(self.replies.poll(pending).map_err(Fault::Ring)?)
    }

    pub(crate) fn copy_answer(&self, pending: &Pending, answer: Answer, out: &mut [u8]) {
        self.replies.copy_to(pending, answer, out);
    }

    pub(crate) fn release(&mut self, pending: Pending) -> Result<(), Pending> {
        self.replies.release(pending)
    }

    pub(crate) fn max_answer(&self) -> u32 {
        self.replies.max_answer()
    }
}

impl<E: Events<Error = Fault> + Debug> Events for Local<'_, E> {
    type Error = Fault;

    fn buffer_writeback(&mut self, event: &BufferWriteback, bytes: &[u8]) -> Result<(), Fault> {
        self.events.buffer_writeback(event, bytes)
    }

    fn gpu_written(&mut self, event: &GpuWritten, ranges: &[ByteRange]) -> Result<(), Fault> {
        self.events.gpu_written(event, ranges)
    }

    fn surface_changed(&mut self, event: &SurfaceChanged) -> Result<(), Fault> {
        self.events.surface_changed(event)
    }

    fn gl_error(&mut self, event: &GlError, text: &[u8]) -> Result<(), Fault> {
        self.events.gl_error(event, text)
    }

    fn fence_signaled(&mut self, event: &FenceSignaled) -> Result<(), Fault> {
        self.events.fence_signaled(event)
    }

    fn refused(&mut self, event: &RequestRefused) -> Result<(), Fault> {
        self.events.refused(event)
    }

    fn caps_changed(&mut self, event: &CapsChanged) -> Result<(), Fault> {
        self.events.caps_changed(event)
    }
}

impl<E: Events<Error = Fault> + Debug> Outlet for Local<'_, E> {
    fn check(&self, space: ReplySpace) -> Result<(), Fault> {
        Ok(self.answers.check(place(space))?)
    }

    fn answer_with(
        &mut self,
        space: ReplySpace,
        size: usize,
        fill: impl FnOnce(&mut [u8]) -> bool,
    ) -> Result<(), Fault> {
        answer_with(&mut self.answers, space, size, fill)
    }

    fn answer(&mut self, space: ReplySpace, status: Status, bytes: &[u8]) -> Result<(), Fault> {
        answer(&mut self.answers, space, status, bytes)
    }

    fn writeback_bytes(&self) -> usize {
        WRITEBACK
    }
}
