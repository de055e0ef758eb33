//! A client's end of a session, whatever lies behind it.

use core::fmt::Debug;

use runahead_rings::{Answer, Pending, Watermark};
use runahead_wire::{
    Handle,
    event::Events,
    handle::Kind,
    payload::{FenceWait, HandleOnly},
    pipe::{Either, Encoder, Pipe},
    values::CapsBits,
};

use crate::{
    applier::Applier,
    backend::Backend,
    fault::Fault,
    link::{Link, Patience},
    local::Local,
    recorder::{Credit, Due, RecordError, Recorder, reply_space},
    slots::{Band, SlotSpace},
    storage::Storage,
    wait::WaitState,
};

/// What a front draws through: the pipe, and how to hear from the server. Nothing above this trait knows whether
/// the server is another process, another thread, or a call.
pub trait Session: Pipe<Error = RecordError> {
    /// Ordinal of the last record.
    fn recorded(&self) -> u64;

    /// Why the session is over, if it is.
    fn lost(&self) -> Option<Fault>;

    /// Makes every record so far visible to the server.
    fn publish(&mut self);

    /// Hands the events that have come to their handler.
    ///
    /// # Errors
    /// [`RecordError::Lost`].
    fn poll_events(&mut self) -> Result<(), RecordError>;

    /// How far the server got.
    ///
    /// # Errors
    /// [`RecordError::Lost`].
    fn watermark(&mut self, mark: Watermark) -> Result<u64, RecordError>;

    /// Waits until the server got so far. Everything recorded so far is published first.
    ///
    /// # Errors
    /// [`RecordError::Lost`].
    fn wait_for(&mut self, mark: Watermark, value: u64, patience: Patience) -> Result<(), RecordError>;

    /// Space for an answer of up to `capacity` bytes, for a record that wants one.
    ///
    /// # Errors
    /// [`RecordError::ReplyFull`], [`RecordError::TooLarge`], [`RecordError::Lost`].
    fn ask(&mut self, capacity: u32) -> Result<Pending, RecordError>;

    /// The answer, if it has come.
    ///
    /// # Errors
    /// [`RecordError::Lost`].
    fn answer(&mut self, pending: &Pending) -> Result<Option<Answer>, RecordError>;

    /// Waits for an answer.
    ///
    /// # Errors
    /// [`RecordError::Lost`], also when the server ended without the answer.
    fn wait_answer(&mut self, pending: &Pending, patience: Patience) -> Result<Answer, RecordError>;

    /// Copies the bytes of an answer that has come, as many as `out` takes.
    fn copy_answer(&self, pending: &Pending, answer: Answer, out: &mut [u8]);

    /// Gives the space of an answer back.
    ///
    /// # Errors
    /// The [`Pending`] itself while the answer has not come.
    fn release(&mut self, pending: Pending) -> Result<(), Pending>;

    /// The largest bulk that one record should have.
    fn max_piece(&self) -> usize;

    /// The largest answer that can be asked for, in bytes.
    fn max_answer(&self) -> u32;

    /// Whether a present may be recorded now, and as which frame.
    ///
    /// # Errors
    /// [`RecordError::Lost`].
    fn credit(&mut self) -> Result<Credit, RecordError>;

    /// Ends the session for this fault, unless it was over before; the first fault comes back.
    fn lose(&mut self, fault: Fault) -> RecordError;

    /// Whether [`Session::take_due`] has something.
    fn is_due(&self) -> bool;

    /// What the owner is to see to.
    fn take_due(&mut self) -> Option<Due>;

    /// Leaves waits for the distance to the owner ([`Due::Retired`]).
    fn defer_distance(&mut self);

    /// Goes on by other caps of the server, from the next record on.
    fn set_caps(&mut self, bits: CapsBits, run_ahead: bool);

    /// Waits until everything recorded so far for the current context's share group is done, by the server and by
    /// its GPU. Being applied or retired does not say so much: a server may be done with a record's bytes long before
    /// its GPU is done with the work.
    ///
    /// # Errors
    /// [`RecordError::Lost`], [`RecordError::ReplyFull`], [`RecordError::OutOfMemory`].
    fn finish<S: Storage>(&mut self, slots: &mut SlotSpace<S>) -> Result<(), RecordError>
    where
        Self: Sized,
    {
        let finish = Finish::ask(self, slots)?;
        let answered = self.wait_answer(&finish.pending, Patience::Sleep).map(drop);
        answered.and(finish.end(self, slots))
    }
}

/// A fence behind everything recorded, and the wait for it.
#[derive(Debug)]
pub(crate) struct Finish {
    fence: Handle,
    pub(crate) pending: Pending,
}

impl Finish {
    /// Records both.
    pub(crate) fn ask<P: Session, S: Storage>(
        pipe: &mut P,
        slots: &mut SlotSpace<S>,
    ) -> Result<Self, RecordError> {
        let pending = pipe.ask(size_of::<runahead_wire::payload::FenceWaitAnswer>() as u32)?;
        let fence = slots.mint(Band::Fence, 0).map_err(|_| RecordError::OutOfMemory)?;
        pipe.fence_create(&object(fence))?;
        let wait = FenceWait { fence, timeout_ns: u64::MAX, ..FenceWait::default() };
        pipe.fence_wait(&wait, Some(reply_space(&pending)))?;
        Ok(Self { fence, pending })
    }

    /// Ends the fence, once the answer has come.
    pub(crate) fn end<P: Session, S: Storage>(
        self,
        pipe: &mut P,
        slots: &mut SlotSpace<S>,
    ) -> Result<(), RecordError> {
        // It came, or the session is lost.
        let _ = pipe.release(self.pending);
        pipe.fence_destroy(&object(self.fence))?;
        // Minted by `ask`.
        let freed = slots.free(Band::Fence, self.fence);
        debug_assert!(freed.is_ok(), "{freed:?}");
        Ok(())
    }
}

fn object(fence: Handle) -> HandleOnly {
    HandleOnly { handle: fence, kind: Kind::Fence.raw(), ..HandleOnly::default() }
}

impl<L: Link, E: Events<Error = Fault> + Debug> Session for Encoder<Recorder<'_, L, E>> {
    fn recorded(&self) -> u64 {
        self.0.recorded()
    }

    fn lost(&self) -> Option<Fault> {
        self.0.lost()
    }

    fn publish(&mut self) {
        self.0.publish();
    }

    fn poll_events(&mut self) -> Result<(), RecordError> {
        self.0.poll_events()
    }

    fn watermark(&mut self, mark: Watermark) -> Result<u64, RecordError> {
        self.0.watermark(mark)
    }

    fn wait_for(&mut self, mark: Watermark, value: u64, patience: Patience) -> Result<(), RecordError> {
        self.0.wait_for(mark, value, patience)
    }

    fn ask(&mut self, capacity: u32) -> Result<Pending, RecordError> {
        self.0.ask(capacity)
    }

    fn answer(&mut self, pending: &Pending) -> Result<Option<Answer>, RecordError> {
        self.0.answer(pending)
    }

    fn wait_answer(&mut self, pending: &Pending, patience: Patience) -> Result<Answer, RecordError> {
        self.0.wait_answer(pending, patience)
    }

    fn copy_answer(&self, pending: &Pending, answer: Answer, out: &mut [u8]) {
        self.0.copy_answer(pending, answer, out);
    }

    fn release(&mut self, pending: Pending) -> Result<(), Pending> {
        self.0.release(pending)
    }

    fn max_piece(&self) -> usize {
        self.0.max_piece()
    }

    fn max_answer(&self) -> u32 {
        self.0.max_answer()
    }

    fn credit(&mut self) -> Result<Credit, RecordError> {
        self.0.credit()
    }

    fn lose(&mut self, fault: Fault) -> RecordError {
        self.0.lose(fault)
    }

    #[inline(always)]
    fn is_due(&self) -> bool {
        self.0.is_due()
    }

    fn take_due(&mut self) -> Option<Due> {
        self.0.take_due()
    }

    fn defer_distance(&mut self) {
        self.0.defer_distance();
    }

    fn set_caps(&mut self, bits: CapsBits, run_ahead: bool) {
        let mut mode = self.0.mode();
        mode.waits = WaitState { capture_open: mode.waits.capture_open, ..WaitState::new(bits, run_ahead) };
        self.0.set_mode(mode);
    }
}

/// A client that may hold the applier itself.
pub type AnySession<'a, B, S, L, E> = Either<Applier<B, S, Local<'a, E>>, Encoder<Recorder<'a, L, E>>>;

impl<B, S, L, E> Session for AnySession<'_, B, S, L, E>
where
    B: Backend,
    S: Storage,
    L: Link,
    E: Events<Error = Fault> + Debug,
{
    fn recorded(&self) -> u64 {
        match self {
            Self::First(applier) => applier.ordinal(),
            Self::Second(recorder) => recorder.recorded(),
        }
    }

    fn lost(&self) -> Option<Fault> {
        match self {
            // The caller saw any other fault as the error of a call.
            #[cfg(feature = "compare")]
            Self::First(applier) => {
                applier.difference().map(|difference| Fault::StateDiffers { row: difference.verb })
            }
            #[cfg(not(feature = "compare"))]
            Self::First(_) => None,
            Self::Second(recorder) => recorder.lost(),
        }
    }

    fn publish(&mut self) {
        match self {
            Self::First(_) => {}
            Self::Second(recorder) => Session::publish(recorder),
        }
    }

    fn poll_events(&mut self) -> Result<(), RecordError> {
        match self {
            Self::First(applier) => Ok(applier.pay()?),
            Self::Second(recorder) => recorder.poll_events(),
        }
    }

    fn watermark(&mut self, mark: Watermark) -> Result<u64, RecordError> {
        match self {
            Self::First(applier) => {
                let progress = applier.progress()?;
                Ok(match mark {
                    Watermark::Applied => applier.ordinal(),
                    Watermark::Retired => progress.retired,
                    Watermark::CompletedFrame => progress.completed_frame,
                    Watermark::PresentAck => progress.presented,
                })
            }
            Self::Second(recorder) => recorder.watermark(mark),
        }
    }

    fn wait_for(&mut self, mark: Watermark, value: u64, patience: Patience) -> Result<(), RecordError> {
        if let Self::Second(recorder) = self {
            return recorder.wait_for(mark, value, patience);
        }
        while !runahead_rings::reached(self.watermark(mark)?, value) {
            core::hint::spin_loop();
        }
        Ok(())
    }

    fn ask(&mut self, capacity: u32) -> Result<Pending, RecordError> {
        match self {
            Self::First(applier) => applier.outlet_mut().ask(capacity),
            Self::Second(recorder) => recorder.ask(capacity),
        }
    }

    fn answer(&mut self, pending: &Pending) -> Result<Option<Answer>, RecordError> {
        match self {
            Self::First(applier) => {
                applier.pay()?;
                applier.outlet().answer_of(pending)
            }
            Self::Second(recorder) => recorder.answer(pending),
        }
    }

    fn wait_answer(&mut self, pending: &Pending, patience: Patience) -> Result<Answer, RecordError> {
        if let Self::Second(recorder) = self {
            return recorder.wait_answer(pending, patience);
        }
        loop {
            if let Some(answer) = self.answer(pending)? {
                return Ok(answer);
            }
            core::hint::spin_loop();
        }
    }

    fn copy_answer(&self, pending: &Pending, answer: Answer, out: &mut [u8]) {
        match self {
            Self::First(applier) => applier.outlet().copy_answer(pending, answer, out),
            Self::Second(recorder) => recorder.copy_answer(pending, answer, out),
        }
    }

    fn release(&mut self, pending: Pending) -> Result<(), Pending> {
        match self {
            Self::First(applier) => applier.outlet_mut().release(pending),
            Self::Second(recorder) => recorder.release(pending),
        }
    }

    fn max_piece(&self) -> usize {
        match self {
            // Bytes go to the backend as they are.
            Self::First(_) => usize::MAX,
            Self::Second(recorder) => recorder.max_piece(),
        }
    }

    fn max_answer(&self) -> u32 {
        match self {
            Self::First(applier) => applier.outlet().max_answer(),
            Self::Second(recorder) => recorder.max_answer(),
        }
    }

    fn credit(&mut self) -> Result<Credit, RecordError> {
        match self {
            // It is presented when the call returns.
            Self::First(applier) => Ok(Credit::Frame(applier.frame() + 1)),
            Self::Second(recorder) => recorder.credit(),
        }
    }

    fn lose(&mut self, fault: Fault) -> RecordError {
        match self {
            Self::First(_) => RecordError::Lost(fault),
            Self::Second(recorder) => recorder.lose(fault),
        }
    }

    #[inline(always)]
    fn is_due(&self) -> bool {
        match self {
            Self::First(_) => false,
            Self::Second(recorder) => recorder.is_due(),
        }
    }

    fn take_due(&mut self) -> Option<Due> {
        match self {
            Self::First(_) => None,
            Self::Second(recorder) => recorder.take_due(),
        }
    }

    fn defer_distance(&mut self) {
        if let Self::Second(recorder) = self {
            recorder.defer_distance();
        }
    }

    fn set_caps(&mut self, bits: CapsBits, run_ahead: bool) {
        if let Self::Second(recorder) = self {
            recorder.set_caps(bits, run_ahead);
        }
    }
}

impl<B: Backend, S: Storage, E: Events<Error = Fault> + Debug> Applier<B, S, Local<'_, E>> {
    /// Pays what is owed and can be paid now.
    fn pay(&mut self) -> Result<(), Fault> {
        if !self.owes() {
            return Ok(());
        }
        let now = if self.needs_clock() { self.outlet().now() } else { 0 };
        self.poll(now)
    }
}
