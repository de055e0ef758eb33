//! The client half: calls in, records out.
//!
//! A [`Recorder`] is the [`Sink`] behind the catalogue's [`Encoder`](runahead_wire::pipe::Encoder): bulk bytes go
//! into the stage, records into the command ring, and a batch at a time becomes visible to the server. It waits
//! for nothing but room, the present credit, and what its caller asks to wait for; whatever it waits for, it
//! drains events meanwhile, so that a server with a full event ring goes on.

use core::fmt::Debug;

use runahead_rings::{
    Answer, CopyOut, Pending, ReplyError, ReserveError, StageError, Watermark,
    client::Rings,
    record::{BATCH, FENCE_EVERY},
};
use runahead_wire::{
    BlobRef, Bulk, NoStage, ReplySpace, Row, Sink,
    catalogue::{Class, RowFlags, Wait},
    event::{self, Events},
    payload,
    pipe::{Op, rows},
    record::FLAG_REPLY,
};

use crate::{
    counters::{Cause, Counters},
    fault::Fault,
    link::{Link, Look, Patience, Rest, Tally},
    mutant::{Mutant, on},
    pace::{Distance, Pace},
    wait::{Facts, WaitState, barriered},
};

/// Why a record was not recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum RecordError {
    /// The session is over: the server is gone, or broke the protocol. Nothing is recorded any more.
    Lost(Fault),
    /// A record or its bulk bytes are larger than the rings ever take.
    TooLarge {
        /// Bytes.
        size: usize,
        /// The most there can be.
        max: usize,
    },
    /// The tails are not as the payload declares them.
    Malformed,
    /// All reply space is held by answers that nobody has taken.
    ReplyFull,
    /// There is no memory for another object of the client's.
    OutOfMemory,
    /// There is no context of this token, or no more.
    NoContext {
        /// The token.
        context: u64,
    },
}

impl core::fmt::Display for RecordError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::Lost(fault) => write!(f, "the session is lost: {fault}"),
            Self::TooLarge { size, max } => {
                write!(f, "{size} bytes are more than the {max} that a ring of this session takes")
            }
            Self::Malformed => f.write_str("the tails are not as the payload declares them"),
            Self::ReplyFull => f.write_str("all reply space is held by answers that nobody has taken"),
            Self::OutOfMemory => f.write_str("there is no memory for another object"),
            Self::NoContext { context } => write!(f, "there is no context {context}"),
        }
    }
}

impl core::error::Error for RecordError {}

impl From<Fault> for RecordError {
    fn from(fault: Fault) -> Self {
        Self::Lost(fault)
    }
}

/// How a client records.
#[derive(Clone, Copy, Debug)]
pub struct Mode {
    /// What decides about waits.
    pub waits: WaitState,
    /// Presents that the client may be ahead of the server, 1 to 8.
    pub credit: u64,
}

/// Whether a present may be recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Credit {
    /// It may, as this frame.
    Frame(u64),
    /// Not before this many presents are acknowledged ([`Watermark::PresentAck`]).
    After(u64),
}

/// What a session asks of whoever owns it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Due {
    /// To take note that it is over.
    Lost(Fault),
    /// To wait until so much is retired ([`Watermark::Retired`]) before more is recorded.
    Retired(u64),
    /// To fetch the server's caps, which have changed.
    Caps,
}

/// What is due and was not taken yet.
#[derive(Debug)]
struct Dues {
    /// Whether there is anything.
    any: bool,
    lost: bool,
    caps: bool,
    retired: Option<u64>,
}

impl Dues {
    const NONE: Self = Self { any: false, lost: false, caps: false, retired: None };
}

/// The client half of a session.
#[derive(Debug)]
pub struct Recorder<'a, L: Link, E: Events<Error = Fault> + Debug> {
    rings: Rings<'a>,
    link: L,
    events: E,
    mode: Mode,
    /// Presents recorded.
    presents: u64,
    /// Bytes published since the peer was told for certain.
    untold: u64,
    /// What the rings do not count by themselves.
    counters: Counters,
    /// Why the session is over.
    lost: Option<Fault>,
    pace: Pace,
    /// Whether waiting for the distance is left to the owner.
    defers: bool,
    dues: Dues,
}

/// Rows after which the server is to see everything.
const fn ends_batch(op: u16) -> bool {
    op == Op::Present.raw() || op == Op::Flush.raw() || op == Op::BindContext.raw()
}

impl<'a, L: Link, E: Events<Error = Fault> + Debug> Recorder<'a, L, E> {
    /// A recorder over the rings of a new session.
    pub fn new(rings: Rings<'a>, link: L, events: E, mode: Mode) -> Self {
        let pace = Pace::new(Distance::USUAL, rings.commands.records());
        Self {
            rings,
            link,
            events,
            mode,
            presents: 0,
            untold: 0,
            counters: Counters::default(),
            lost: None,
            pace,
            defers: false,
            dues: Dues::NONE,
        }
    }

    /// Sets how far the client may be ahead where it does not present; counted from here.
    pub const fn set_distance(&mut self, distance: Distance) {
        self.pace = Pace::new(distance, self.rings.commands.records());
    }

    /// From now on [`Due::Retired`] says what the distance asks to wait for; without, the record that reaches it waits.
    pub const fn defer_distance(&mut self) {
        self.defers = true;
    }

    /// Whether [`Recorder::take_due`] has something.
    #[inline(always)]
    #[must_use]
    pub const fn is_due(&self) -> bool {
        self.dues.any
    }

    /// What the owner is to see to, outside of any lock that another thread may need meanwhile.
    pub const fn take_due(&mut self) -> Option<Due> {
        if self.dues.lost
            && let Some(fault) = self.lost
        {
            self.dues.lost = false;
            return Some(Due::Lost(fault));
        }
        if let Some(ordinal) = self.dues.retired.take() {
            return Some(Due::Retired(ordinal));
        }
        if self.dues.caps {
            self.dues.caps = false;
            return Some(Due::Caps);
        }
        self.dues.any = false;
        None
    }

    /// What was counted since the session began.
    #[must_use]
    pub fn counters(&self) -> Counters {
        let (tally, commands, events) = (self.link.tally(), &self.rings.commands, &self.rings.events);
        Counters {
            records: commands.records(),
            command_bytes: commands.position(),
            command_laps: commands.position() / commands.capacity() as u64,
            command_pads: commands.pads(),
            stage_bytes: self.rings.stage.position(),
            events: events.records(),
            event_bytes: events.position(),
            presents: self.presents,
            sleeps: self.counters.sleeps + tally.sleeps,
            wakeups: tally.wakes,
            ..self.counters
        }
    }

    /// Counts a wait that was not this recorder's own, with the microseconds that it slept if it did.
    pub fn count_wait(&mut self, cause: Cause, slept: Option<u64>) {
        self.counters.count(cause, slept);
    }

    /// Counts a wait for the server that a thread did without this recorder: how often it looked, and its sleeping.
    pub fn count_waited(&mut self, cause: Cause, looks: u64, tally: Tally) {
        self.counters.waited(cause, looks, Tally::default(), tally);
        self.counters.sleeps += tally.sleeps;
    }

    /// How it records.
    #[must_use]
    pub const fn mode(&self) -> Mode {
        self.mode
    }

    /// Changes how it records, from the next record on.
    pub const fn set_mode(&mut self, mode: Mode) {
        self.mode = mode;
    }

    /// Who gets the events.
    pub const fn events(&mut self) -> &mut E {
        &mut self.events
    }

    /// The link.
    pub const fn link(&mut self) -> &mut L {
        &mut self.link
    }

    /// Why the session is over, if it is.
    #[must_use]
    pub const fn lost(&self) -> Option<Fault> {
        self.lost
    }

    /// Ordinal of the last record.
    #[must_use]
    pub const fn recorded(&self) -> u64 {
        self.rings.commands.records()
    }

    /// Events taken since the session began.
    #[must_use]
    pub const fn events_taken(&self) -> u64 {
        self.rings.events.records()
    }

    /// Presents recorded.
    #[must_use]
    pub const fn presents(&self) -> u64 {
        self.presents
    }

    /// The largest bulk that one record should have; more is cut into several records, so that the stage keeps
    /// moving.
    #[must_use]
    pub const fn max_piece(&self) -> usize {
        runahead_rings::max_piece(self.rings.stage.capacity())
    }

    /// The largest answer that can be asked for, in bytes.
    #[must_use]
    pub fn max_answer(&self) -> u32 {
        self.rings.replies.max_answer()
    }

    /// Takes the first fault as the end of the session.
    #[cold]
    pub fn lose(&mut self, fault: Fault) -> RecordError {
        if self.lost.is_none() {
            self.lost = Some(fault);
            (self.dues.lost, self.dues.any) = (true, true);
        }
        RecordError::Lost(self.lost.unwrap_or(fault))
    }

    fn alive(&self) -> Result<(), RecordError> {
        match self.lost {
            None => Ok(()),
            Some(fault) => Err(RecordError::Lost(fault)),
        }
    }

    /// Makes every record so far visible to the server, and wakes it if it sleeps.
    pub fn publish(&mut self) {
        self.publish_batch(Rest::AtRest);
    }

    /// Publishes what was recorded. While more is to come the server is only glanced at, and told for certain
    /// every few KiB.
    #[cold]
    #[inline(never)]
    fn publish_batch(&mut self, rest: Rest) {
        let pending = self.rings.commands.pending();
        self.untold += pending;
        if pending != 0 {
            self.rings.stage.publish();
            self.rings.commands.publish();
        }
        if self.untold == 0 {
            return;
        }
        let rest = if self.untold >= FENCE_EVERY { Rest::AtRest } else { rest };
        if rest == Rest::AtRest {
            self.untold = 0;
        }
        if !on(Mutant::PublishUnrung) {
            self.link.published(rest);
        }
    }

    /// Publishes, then waits until `ready` gives something. Events are drained before each look, and once more
    /// after what ended the wait was published, so that what came with it is seen.
    fn wait<T>(
        &mut self,
        cause: Cause,
        patience: Patience,
        mut ready: impl FnMut(&mut Rings<'a>) -> Result<Option<T>, Fault>,
    ) -> Result<T, RecordError> {
        self.alive()?;
        if !on(Mutant::WaitUnpublished) {
            self.publish_batch(Rest::AtRest);
        }
        let Self { rings, link, events, dues, counters, .. } = self;
        let (before, mut looks) = (link.tally(), 0);
        let waited = link.wait(patience, || {
            looks += 1;
            if on(Mutant::EventsBeforeLook) {
                let released = drain(&mut rings.events, events, dues)?;
                return Ok(Look { found: ready(rings)?, released });
            }
            let found = ready(rings)?;
            Ok(Look { found, released: drain(&mut rings.events, events, dues)? })
        });
        counters.waited(cause, looks, before, link.tally());
        waited.map_err(|fault| self.lose(fault))
    }

    /// Takes the events that have come.
    ///
    /// # Errors
    /// [`RecordError::Lost`].
    pub fn poll_events(&mut self) -> Result<(), RecordError> {
        self.alive()?;
        match drain(&mut self.rings.events, &mut self.events, &mut self.dues) {
            Ok(released) => {
                if released {
                    self.link.published(Rest::AtRest);
                }
                Ok(())
            }
            Err(fault) => Err(self.lose(fault)),
        }
    }

    /// How far the server got.
    ///
    /// # Errors
    /// [`RecordError::Lost`].
    pub fn watermark(&mut self, mark: Watermark) -> Result<u64, RecordError> {
        self.alive()?;
        let most = self.most(mark);
        self.rings.marks.read(mark, most).map_err(|fault| self.lose(fault.into()))
    }

    /// The furthest that a watermark can be.
    const fn most(&self, mark: Watermark) -> u64 {
        match mark {
            Watermark::Applied | Watermark::Retired => self.rings.commands.records(),
            Watermark::CompletedFrame | Watermark::PresentAck => self.presents,
        }
    }

    /// Waits until a watermark reached a value. Everything recorded so far is published first.
    ///
    /// # Errors
    /// [`RecordError::Lost`].
    pub fn wait_for(&mut self, mark: Watermark, value: u64, patience: Patience) -> Result<(), RecordError> {
        self.reach(Cause::Watermark, mark, value, patience)
    }

    fn reach(
        &mut self,
        cause: Cause,
        mark: Watermark,
        value: u64,
        patience: Patience,
    ) -> Result<(), RecordError> {
        let most = self.most(mark);
        self.wait(cause, patience, |rings| {
            let now = rings.marks.read(mark, most)?;
            Ok(runahead_rings::reached(now, value).then_some(()))
        })
    }

    /// Space for an answer of up to `capacity` bytes, for a record that wants one.
    ///
    /// # Errors
    /// [`RecordError::ReplyFull`] when answers must be taken first, [`RecordError::TooLarge`],
    /// [`RecordError::Lost`].
    pub fn ask(&mut self, capacity: u32) -> Result<Pending, RecordError> {
        self.alive()?;
        let max = self.rings.replies.max_answer() as usize;
        self.rings.replies.reserve(capacity).map_err(|error| match error {
            ReplyError::Full => RecordError::ReplyFull,
            ReplyError::TooLarge => RecordError::TooLarge { size: capacity as usize, max },
        })
    }

    /// The answer, if it has come.
    ///
    /// # Errors
    /// [`RecordError::Lost`].
    pub fn answer(&mut self, pending: &Pending) -> Result<Option<Answer>, RecordError> {
        self.alive()?;
        self.rings.replies.poll(pending).map_err(|fault| self.lose(fault.into()))
    }

    /// Waits for an answer.
    ///
    /// # Errors
    /// [`RecordError::Lost`], also when the server ended without the answer.
    pub fn wait_answer(&mut self, pending: &Pending, patience: Patience) -> Result<Answer, RecordError> {
        self.wait(Cause::Answer, patience, |rings| Ok(rings.replies.poll(pending)?))
    }

    /// Copies the bytes of an answer that has come, as many as `out` takes.
    pub fn copy_answer(&self, pending: &Pending, answer: Answer, out: &mut [u8]) {
        self.rings.replies.copy_to(pending, answer, out);
    }

    /// Gives the space of an answer back.
    ///
    /// # Errors
    /// The [`Pending`] itself while the answer has not come: keep it and try again, wanted or not.
    pub fn release(&mut self, pending: Pending) -> Result<(), Pending> {
        let size = match self.rings.replies.poll(&pending) {
            Ok(Some(answer)) => u64::from(answer.size),
            _ => 0,
        };
        self.rings.replies.release(pending)?;
        self.counters.answers += 1;
        self.counters.reply_bytes += size;
        Ok(())
    }

    /// Stage memory of `size` bytes, written by `fill`, to be named by the next record.
    ///
    /// # Errors
    /// [`RecordError::TooLarge`], [`RecordError::Lost`].
    pub fn stage_with(&mut self, size: usize, fill: impl FnOnce(&mut [u8])) -> Result<BlobRef, RecordError> {
        if self.rings.stage.reserve(size).is_err() {
            self.make_stage_room(size)?;
        }
        let max = self.rings.stage.capacity();
        let mut grant = self.rings.stage.reserve(size).map_err(|_| RecordError::TooLarge { size, max })?;
        fill(&mut grant);
        let staged = grant.commit();
        Ok(BlobRef::staged(staged.position, staged.size))
    }

    /// Waits until the server has retired enough that `size` bytes of stage are free.
    #[cold]
    fn make_stage_room(&mut self, size: usize) -> Result<(), RecordError> {
        self.alive()?;
        let max = self.rings.stage.capacity();
        loop {
            match self.rings.stage.reserve(size) {
                Ok(_) => return Ok(()),
                Err(StageError::TooLarge { max }) => return Err(RecordError::TooLarge { size, max }),
                Err(StageError::Full) => {}
            }
            // What no record uses yet will not be retired: the record at hand is larger than the stage.
            let Some(oldest) = self.rings.stage.oldest_user() else {
                return Err(RecordError::TooLarge { size, max });
            };
            if !runahead_rings::reached(self.watermark(Watermark::Retired)?, oldest) {
                // A server that holds work back retires nothing.
                self.record(&rows::Flush { payload: &payload::Flush::default() })?;
                self.reach(Cause::StageRoom, Watermark::Retired, oldest, Patience::Sleep)?;
            }
            let retired = self.rings.marks.last(Watermark::Retired);
            self.rings.stage.reclaim(retired);
        }
    }

    /// Waits until a record of `size` bytes has room.
    #[cold]
    #[inline(never)]
    fn make_room(&mut self, size: usize) -> Result<(), RecordError> {
        self.alive()?;
        let max = self.rings.commands.max_record();
        match self.rings.commands.reserve(size).map(drop) {
            Ok(()) => Ok(()),
            Err(ReserveError::TooLarge { max }) => Err(RecordError::TooLarge { size, max }),
            Err(ReserveError::Fault(fault)) => Err(self.lose(fault.into())),
            Err(ReserveError::Full) => {
                let has_room = |rings: &mut Rings<'a>| Ok(rings.commands.has_room(size)?.then_some(()));
                self.wait(Cause::RingRoom, Patience::Spin, has_room)?;
                match self.rings.commands.reserve(size).map(drop) {
                    Ok(()) => Ok(()),
                    Err(ReserveError::Fault(fault)) => Err(self.lose(fault.into())),
                    Err(_) => Err(RecordError::TooLarge { size, max }),
                }
            }
        }
    }

    /// Whether a present may be recorded now, without waiting.
    ///
    /// # Errors
    /// [`RecordError::Lost`].
    pub fn credit(&mut self) -> Result<Credit, RecordError> {
        let acknowledged = self.watermark(Watermark::PresentAck)?;
        let serial = self.presents + 1;
        let needed = serial.saturating_sub(self.mode.credit.max(1));
        Ok(if acknowledged >= needed { Credit::Frame(serial) } else { Credit::After(needed) })
    }

    /// Waits until the present at hand is within the credit.
    #[cold]
    fn take_credit(&mut self) -> Result<(), RecordError> {
        self.alive()?;
        let credit = self.mode.credit.max(1);
        let serial = self.presents + 1;
        if serial > credit {
            self.reach(Cause::Credit, Watermark::PresentAck, serial - credit, Patience::Sleep)?;
        }
        self.presents = serial;
        Ok(())
    }

    /// Flushes and sets a mark; waits for the one before, or has the owner wait.
    #[cold]
    #[inline(never)]
    fn keep_distance(&mut self) -> Result<(), RecordError> {
        // The flush is the next record: a server that holds work back retires nothing.
        let before = self.pace.mark(self.recorded().wrapping_add(1));
        self.record(&rows::Flush { payload: &payload::Flush::default() })?;
        let Some(mark) = before else { return Ok(()) };
        if runahead_rings::reached(self.watermark(Watermark::Retired)?, mark) {
            return Ok(());
        }
        if self.defers {
            (self.dues.retired, self.dues.any) = (Some(mark), true);
            return Ok(());
        }
        self.wait_for(Watermark::Retired, mark, Patience::Sleep)
    }

    /// Writes a record that is longer than the room at hand, or has long tails.
    #[inline(never)]
    fn record_slowly<'r, R: Row<'r>>(&mut self, row: &R, size: usize) -> Result<(), RecordError> {
        self.make_room(size)?;
        let max = self.rings.commands.max_record();
        let mut grant = self.rings.commands.reserve(size).map_err(|_| RecordError::TooLarge { size, max })?;
        if !row.encode(&mut grant) {
            return Err(RecordError::Malformed);
        }
        grant.commit();
        Ok(())
    }

    /// What follows a record, where something does: the server sees it, or is waited for.
    #[cold]
    #[inline(never)]
    fn after(&mut self, op: u16, flags: u16) -> Result<(), RecordError> {
        let rest = if ends_batch(op) { Rest::AtRest } else { Rest::Busy };
        self.publish_batch(rest);
        let barriers =
            Op::from_raw(op).is_some_and(|op| barriered(op, flags, Facts::default(), self.mode.waits));
        if barriers {
            self.wait_for(Watermark::Applied, self.recorded(), Patience::Spin)?;
        }
        if op == Op::Present.raw() {
            self.pace.presented(self.recorded());
        } else if op == Op::Flush.raw() {
            self.pace.flushed();
        }
        if self.pace.wants_mark(self.recorded()) { self.keep_distance() } else { Ok(()) }
    }
}

/// Hands the events that have come to their handler. Says whether room was given back: a server with a full ring
/// waits for it, and must be told.
fn drain<E: Events<Error = Fault>>(
    events: &mut CopyOut<'_>,
    handler: &mut E,
    dues: &mut Dues,
) -> Result<bool, Fault> {
    while let Some(bytes) = events.next()? {
        // The number of the row is what a header begins with.
        if bytes.first_chunk() == Some(&event::Op::CapsChanged.raw().to_le_bytes()) {
            (dues.caps, dues.any) = (true, true);
        }
        event::dispatch(bytes, &NoStage, handler).map_err(|error| match error {
            runahead_wire::DispatchError::Refused(refusal) => Fault::Record(refusal),
            runahead_wire::DispatchError::Pipe(fault) => fault,
        })?;
    }
    Ok(events.take_released() && !on(Mutant::DrainUnrung))
}

impl<L: Link, E: Events<Error = Fault> + Debug> Sink for Recorder<'_, L, E> {
    type Error = RecordError;

    fn stage(&mut self, bulk: Bulk<'_>) -> Result<BlobRef, RecordError> {
        match bulk {
            Bulk::Bytes(bytes) => self.stage_with(bytes.len(), |place| place.copy_from_slice(bytes)),
            Bulk::Staged(blob) => Ok(blob),
            Bulk::Shared(shared) => self.stage_with(shared.len(), |place| {
                // As long as the place, so all of it is there.
                let _ = shared.copy_to(0, place);
            }),
        }
    }

    #[inline(always)]
    fn record<'r, R: Row<'r>>(&mut self, row: &R) -> Result<(), RecordError> {
        if const { matches!(R::WAIT, Wait::Present) } {
            self.take_credit()?;
        }
        let Some(size) = row.encoded_len() else { return Err(RecordError::Malformed) };
        match self.rings.commands.reserve_at_hand(size) {
            Some(mut grant) if row.is_short() => {
                if !row.encode(&mut grant) {
                    return Err(RecordError::Malformed);
                }
                grant.commit();
            }
            _ => self.record_slowly(row, size)?,
        }
        if const { R::INFO.flags.contains(RowFlags::BLOB) } {
            self.rings.stage.used_by(self.rings.commands.records());
        }
        let waits = self.mode.waits;
        // Lockstep, or an open span that a server without capture of its own makes the client wait for.
        let strict = const { matches!(R::CLASS, Class::Verb) } && (!waits.run_ahead || waits.capture_open);
        if const { ends_batch(R::OP) || matches!(R::WAIT, Wait::Applied) }
            || strict
            || self.rings.commands.pending() >= BATCH
        {
            let flags = if row.reply().is_some() { FLAG_REPLY } else { 0 };
            return self.after(R::OP, flags);
        }
        Ok(())
    }
}

/// Reply space as it travels.
#[must_use]
pub const fn reply_space(pending: &Pending) -> ReplySpace {
    let space = pending.space();
    ReplySpace { offset: space.offset, capacity: space.capacity, tag: space.tag, _pad: 0 }
}
