//! A client's end of a session, whatever lies behind it.

use core::fmt::Debug;

use runahead_rings::{Answer, Pending, Watermark};
use runahead_wire::{
    event::Events,
    pipe::{Either, Encoder, Pipe},
};

use crate::{
    applier::Applier,
    backend::Backend,
    fault::Fault,
    link::{Link, Patience},
    local::Local,
    recorder::{RecordError, Recorder},
    storage::Storage,
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
            // The caller saw the fault as the error of a call.
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
