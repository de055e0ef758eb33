//! A session that several threads of a program use.

use core::fmt::Debug;

use runahead_rings::{Answer, Pending, Watermark};
use runahead_wire::payload::{BindContext, DamageRect};

use crate::{link::Patience, recorder::RecordError, session::Session, slots::SlotSpace, storage::Storage};

/// What a thread that has the record path to itself works with.
#[derive(Debug)]
pub struct Turn<'a, P, S: Storage> {
    /// The pipe.
    pub pipe: &'a mut P,
    /// Handles of the share group that `bound` belongs to.
    pub slots: &'a mut SlotSpace<S>,
}

/// A session that several threads use: records of one turn follow each other without another thread's in between.
///
/// Each context names itself at the start of a turn ([`Shared::with`]); `BindContext` is recorded where the last turn
/// was another context's, so a thread never draws into the context of another.
///
/// Nobody waits for the server while it has the turn, but for room in a ring: whoever needs an answer, a watermark or
/// the present credit asks within a turn, ends it, and waits with the methods here. So a wait on one thread never
/// delays what another one submits.
pub trait Shared: Debug {
    /// The pipe.
    type Session: Session;
    /// Where tables of the client lie.
    type Storage: Storage;

    /// Takes the turn for a context and its surfaces, records `BindContext` if the last turn was not for the same, and
    /// calls `turn`. With context 0, for records that need no context, nothing is bound.
    ///
    /// `turn` must not wait, and must not call this again.
    ///
    /// # Errors
    /// [`RecordError::Lost`]; `turn` was not called.
    fn with<R>(
        &self,
        context: &BindContext,
        turn: impl FnOnce(&mut Turn<'_, Self::Session, Self::Storage>) -> R,
    ) -> Result<R, RecordError>;

    /// Waits until the server got so far. Everything recorded so far is published first.
    ///
    /// # Errors
    /// [`RecordError::Lost`].
    fn wait_for(&self, mark: Watermark, value: u64, patience: Patience) -> Result<(), RecordError>;

    /// Waits for an answer that was asked for within a turn.
    ///
    /// # Errors
    /// [`RecordError::Lost`], also when the server ended without the answer.
    fn wait_answer(&self, pending: &Pending, patience: Patience) -> Result<Answer, RecordError>;

    /// Presents the draw surface of a context: waits for the credit first, without the turn.
    ///
    /// # Errors
    /// [`RecordError::Lost`].
    fn present(&self, context: &BindContext, damage: &[DamageRect]) -> Result<(), RecordError>;
}
