//! A session that several threads of a program use.

use core::{fmt::Debug, mem};

use runahead_rings::{Answer, Pending, Watermark};
use runahead_wire::payload::{BindContext, DamageRect};

use crate::{
    fault::Fault,
    link::Patience,
    recorder::RecordError,
    session::{Finish, Session},
    slots::SlotSpace,
    storage::{Storage, Table},
};

/// What a thread that has the record path to itself works with.
#[derive(Debug)]
pub struct Turn<'a, P, S: Storage> {
    /// The pipe.
    pub pipe: &'a mut P,
    /// Handles of the share group that the context belongs to. With context 0 it is the group of whoever came before.
    pub slots: &'a mut SlotSpace<S>,
}

/// A session that several threads use: records of one turn follow each other without another thread's in between.
///
/// Each context names itself at the start of a turn ([`Shared::with`]); `BindContext` is recorded where the last turn
/// was another context's, so a thread never draws into the context of another.
///
/// Nobody waits for the server while it has the turn, but for room in a ring (and, where the client does not run
/// ahead, for each verb): whoever needs an answer, a watermark or the present credit asks within a turn, ends it, and
/// waits with the methods here. So a wait on one thread never delays what another one submits.
///
/// Once the session is lost every method answers [`RecordError::Lost`] at once, also those that wait already. A thread
/// that panics in its turn loses it for all.
pub trait Shared: Debug {
    /// The pipe.
    type Session: Session;
    /// Where tables of the client lie.
    type Storage: Storage;

    /// Takes the turn for a context and its surfaces, records `BindContext` if the last turn was not for the same, and
    /// calls `turn`. With context 0, for records that need no context, nothing is bound.
    ///
    /// `turn` must not wait, and must not call this again: that panics. Behind the turn this waits where the client is
    /// too far ahead of what the server has retired ([`Distance`](crate::pace::Distance)).
    ///
    /// # Errors
    /// [`RecordError::Lost`], [`RecordError::NoContext`]; `turn` was not called.
    fn with<R>(
        &self,
        context: &BindContext,
        turn: impl FnOnce(&mut Turn<'_, Self::Session, Self::Storage>) -> R,
    ) -> Result<R, RecordError>;

    /// The calling thread lets go of its context: where it applies records itself, the native context is current on
    /// it no more, and another thread can go on with the share group.
    ///
    /// # Errors
    /// [`RecordError::Lost`].
    fn leave(&self) -> Result<(), RecordError>;

    /// Whether the server is to compare states.
    #[cfg(feature = "compare")]
    fn check(&self) -> crate::compare::Check {
        crate::compare::Check::Off
    }

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

    /// Presents the draw surface of a context: waits for the credit first, without the turn. Frames are numbered
    /// through the whole session.
    ///
    /// # Errors
    /// [`RecordError::Lost`], [`RecordError::NoContext`].
    fn present(&self, context: &BindContext, damage: &[DamageRect]) -> Result<(), RecordError>;

    /// Waits until everything that was recorded for the share group of a context is done, by the server and by its
    /// GPU ([`Session::finish`]), without the turn.
    ///
    /// # Errors
    /// [`RecordError::Lost`], [`RecordError::NoContext`], [`RecordError::ReplyFull`], [`RecordError::OutOfMemory`].
    fn finish(&self, context: &BindContext) -> Result<(), RecordError> {
        let finish = self.with(context, |turn| Finish::ask(turn.pipe, turn.slots))??;
        let answered = self.wait_answer(&finish.pending, Patience::Sleep).map(drop);
        answered.and(self.with(context, |turn| finish.end(turn.pipe, turn.slots))?)
    }
}

/// A context of the client.
#[derive(Debug, Default)]
struct Member {
    /// 0 for a free place.
    token: u64,
    group: u32,
}

/// A share group of the client.
#[derive(Debug)]
struct Group<S: Storage> {
    contexts: u32,
    /// Its handles, but for those of the group at hand.
    slots: SlotSpace<S>,
}

impl<S: Storage> Default for Group<S> {
    fn default() -> Self {
        Self { contexts: 0, slots: SlotSpace::default() }
    }
}

/// In place of a context's token while somebody records, and for good once nobody may.
const CLOSED: u64 = u64::MAX;

/// What the lock of a [`Shared`] session guards: the pipe, and what its turns need to know of each other.
#[derive(Debug)]
pub struct RecordPath<P, S: Storage> {
    pipe: P,
    /// Handles of the group at hand.
    slots: SlotSpace<S>,
    /// What the server was told last. Its token is [`CLOSED`] while a turn is on; one that finds it so comes after a
    /// panic.
    bound: BindContext,
    /// Position of the group at hand.
    group: u32,
    contexts: S::Table<Member>,
    groups: S::Table<Group<S>>,
    lost: Option<Fault>,
}

impl<P: Session, S: Storage> RecordPath<P, S> {
    /// A path without contexts; the pipe may have records already.
    pub fn new(mut pipe: P) -> Self {
        pipe.defer_distance();
        let lost = pipe.lost();
        let mut path = Self {
            pipe,
            slots: SlotSpace::default(),
            bound: BindContext::default(),
            group: u32::MAX,
            contexts: S::Table::default(),
            groups: S::Table::default(),
            lost: None,
        };
        if let Some(fault) = lost {
            let _ = path.lose(fault);
        }
        path
    }

    /// The pipe, for what is not a turn: it must not record what belongs to a context.
    pub const fn pipe(&mut self) -> &mut P {
        &mut self.pipe
    }

    /// The pipe back.
    pub fn into_pipe(self) -> P {
        self.pipe
    }

    /// Position of the share group at hand.
    #[must_use]
    pub const fn group(&self) -> u32 {
        self.group
    }

    /// See [`Shared::with`].
    ///
    /// # Errors
    /// [`RecordError::Lost`], [`RecordError::NoContext`]; `turn` was not called.
    #[inline(always)]
    pub fn turn<R>(
        &mut self,
        context: &BindContext,
        turn: impl FnOnce(&mut Turn<'_, P, S>) -> R,
    ) -> Result<R, RecordError> {
        if *context != self.bound {
            self.bind(context)?;
        }
        let bound = mem::replace(&mut self.bound.context, CLOSED);
        let value = turn(&mut Turn { pipe: &mut self.pipe, slots: &mut self.slots });
        self.bound.context = bound;
        Ok(value)
    }

    /// Why nothing can be recorded, if so.
    ///
    /// # Errors
    /// [`RecordError::Lost`].
    pub fn alive(&mut self) -> Result<(), RecordError> {
        match self.lost.or(self.pipe.lost()) {
            Some(fault) => Err(self.lose(fault)),
            None if self.bound.context == CLOSED => Err(self.lose(Fault::Panicked)),
            None => Ok(()),
        }
    }

    /// Ends the session for this fault, unless it was over before; the first fault comes back.
    #[cold]
    pub fn lose(&mut self, fault: Fault) -> RecordError {
        let first = *self.lost.get_or_insert(fault);
        self.bound.context = CLOSED;
        let _ = self.pipe.lose(first);
        RecordError::Lost(first)
    }

    /// Makes a context current that was not.
    #[cold]
    #[inline(never)]
    fn bind(&mut self, context: &BindContext) -> Result<(), RecordError> {
        self.alive()?;
        if context.context == 0 {
            return Ok(());
        }
        let unknown = RecordError::NoContext { context: context.context };
        let group = self.group_of(context.context).ok_or(unknown)?;
        self.pipe.bind_context(context)?;
        self.bound = *context;
        self.take_group(group);
        Ok(())
    }

    /// Has the handles of a group at hand.
    fn take_group(&mut self, group: u32) {
        if group == self.group {
            return;
        }
        let slots = self.groups.get_mut(group).map(|group| mem::take(&mut group.slots));
        let before = mem::replace(&mut self.slots, slots.unwrap_or_default());
        if let Some(last) = self.groups.get_mut(self.group) {
            last.slots = before;
        }
        self.group = group;
    }

    fn position(&self, token: u64) -> Option<u32> {
        (0..self.contexts.len())
            .find(|at| token != 0 && self.contexts.get(*at).is_some_and(|member| member.token == token))
    }

    fn group_of(&self, token: u64) -> Option<u32> {
        Some(self.contexts.get(self.position(token)?)?.group)
    }

    /// Takes note of a context that the server has made; `share` names one whose objects it shares.
    ///
    /// # Errors
    /// [`RecordError::NoContext`] for a token that is 0, taken or not allowed, or nobody to share with;
    /// [`RecordError::OutOfMemory`].
    pub fn add_context(&mut self, token: u64, share: Option<u64>) -> Result<(), RecordError> {
        if token == 0 || token == CLOSED || self.position(token).is_some() {
            return Err(RecordError::NoContext { context: token });
        }
        let group = match share {
            Some(with) => self.group_of(with).ok_or(RecordError::NoContext { context: with })?,
            None => place(&mut self.groups, |group| group.contexts == 0)?,
        };
        let at = place(&mut self.contexts, |member| member.token == 0)?;
        let (Some(member), Some(in_group)) = (self.contexts.get_mut(at), self.groups.get_mut(group)) else {
            return Err(RecordError::OutOfMemory);
        };
        *member = Member { token, group };
        in_group.contexts += 1;
        Ok(())
    }

    /// Takes note that the server has ended a context. With the last one of a share group its handles end.
    pub fn remove_context(&mut self, token: u64) {
        let Some(member) = self.position(token).and_then(|at| self.contexts.get_mut(at)) else { return };
        let Member { group, .. } = mem::take(member);
        if self.bound.context == token {
            self.bound = BindContext::default();
        }
        let Some(in_group) = self.groups.get_mut(group) else { return };
        in_group.contexts -= 1;
        if in_group.contexts == 0 {
            *in_group = Group::default();
            if group == self.group {
                self.slots = SlotSpace::default();
            }
        }
    }
}

/// A free place of a table, or a new one.
fn place<T>(table: &mut impl Table<T>, is_free: impl Fn(&T) -> bool) -> Result<u32, RecordError> {
    if let Some(at) = (0..table.len()).find(|at| table.get(*at).is_some_and(&is_free)) {
        return Ok(at);
    }
    if !table.push() {
        return Err(RecordError::OutOfMemory);
    }
    Ok(table.len() - 1)
}
