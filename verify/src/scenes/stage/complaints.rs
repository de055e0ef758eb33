//! What a server refused, and what its driver called an error.

use std::sync::{
    Arc, Mutex, PoisonError,
    atomic::{AtomicU64, Ordering},
};

use runahead_core::{Session, link::Patience, reply_space};
use runahead_rings::Status;
use runahead_wire::{
    Handle,
    handle::Kind,
    payload::{GlError, RequestRefused, TimestampRequest},
    pipe::Op,
    values::{ErrorKind, RefusedReason},
};

use super::{Stage, StageError};

/// A complaint.
#[derive(Clone, Debug, PartialEq)]
pub enum Complaint {
    /// A request about an object was refused.
    Refused(RequestRefused),
    /// A verb was: an error of the context, with the row's name.
    Error(GlError, String),
    /// The driver called something an error.
    Driver(String),
}

/// The complaints of a session.
#[derive(Clone, Debug, Default)]
pub struct Complaints {
    all: Arc<Mutex<Vec<Complaint>>>,
    /// Verbs that were dropped.
    dropped: Arc<AtomicU64>,
}

impl Complaints {
    /// Adds one.
    pub fn add(&self, complaint: Complaint) {
        self.all.lock().unwrap_or_else(PoisonError::into_inner).push(complaint);
    }

    /// Verbs that a scene says were dropped for the sake of refused objects: their state was not compared.
    #[must_use]
    pub fn dropped(&self) -> u64 {
        self.dropped.load(Ordering::Relaxed)
    }

    /// Those since the last call.
    #[must_use]
    pub fn take(&self) -> Vec<Complaint> {
        std::mem::take(&mut self.all.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl<P: Session> Stage<'_, P> {
    /// Everything so far was applied, and its events are here.
    ///
    /// # Errors
    /// [`StageError`].
    pub fn settle(&mut self) -> Result<(), StageError> {
        let pending = self.pipe.ask(8)?;
        self.pipe.query_timestamp(&TimestampRequest::default(), Some(reply_space(&pending)))?;
        let answer = self.pipe.wait_answer(&pending, Patience::Sleep)?;
        let released = self.pipe.release(pending);
        debug_assert!(released.is_ok(), "it was answered");
        self.pipe.poll_events()?;
        match answer.status {
            // It may have no clock.
            Status::Ok | Status::Declined => Ok(()),
            status => Err(StageError::Read(status)),
        }
    }

    /// As many verbs were dropped for the sake of refused objects.
    pub fn dropped(&self, verbs: u64) {
        self.written.complaints().dropped.fetch_add(verbs, Ordering::Relaxed);
    }

    /// Takes the one complaint that there is.
    fn complaint(&mut self) -> Result<Complaint, StageError> {
        self.settle()?;
        let mut all = self.written.complaints().take();
        match (all.pop(), all.is_empty()) {
            (Some(one), true) => Ok(one),
            (None, _) => Err(StageError::Wrong("nothing was refused".to_owned())),
            (last, _) => Err(StageError::Wrong(format!("not one complaint: {all:?}, {last:?}"))),
        }
    }

    /// The last request about an object was refused, by name.
    ///
    /// # Errors
    /// [`StageError::Wrong`].
    pub fn refused(
        &mut self,
        kind: Kind,
        object: Handle,
        op: Op,
        reason: RefusedReason,
    ) -> Result<(), StageError> {
        match self.complaint()? {
            Complaint::Refused(refused)
                if (refused.object, refused.kind, refused.op, refused.reason)
                    == (object, kind.raw(), u32::from(op.raw()), reason.raw()) =>
            {
                Ok(())
            }
            other => Err(StageError::Wrong(format!("not a refusal of {object:?} by {op:?}: {other:?}"))),
        }
    }

    /// The last verb came to an error, which names its row.
    ///
    /// # Errors
    /// [`StageError::Wrong`].
    pub fn failed(&mut self, op: Op, kind: ErrorKind) -> Result<(), StageError> {
        match self.complaint()? {
            Complaint::Error(error, row)
                if (error.kind, row.trim_end_matches('\0')) == (kind.raw(), op.name()) =>
            {
                Ok(())
            }
            other => Err(StageError::Wrong(format!("not an error of {}: {other:?}", op.name()))),
        }
    }
}
