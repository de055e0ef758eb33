//! The apply loop: records out of the ring, into the applier, watermarks back.

use core::fmt::Debug;

use runahead_rings::{
    CopyOut, Producer, ReplyServer, ReserveError, StageReader, StageRef, Status, Watermark, WatermarkWriter,
    server::Rings,
};
use runahead_wire::{
    BlobRef, Bulk, DispatchError, Refusal, ReplySpace, Row, SharedBytes, Sink, Stage,
    event::{self, Events},
    payload::CapsChanged,
    pipe,
};

use crate::{
    applier::Applier,
    backend::Backend,
    counters::{Cause, Counters},
    fault::Fault,
    link::{Link, Look, Patience, Rest},
    mutant::{Mutant, on},
    outlet::Outlet,
    storage::Storage,
};

/// Records after which applied is published though nothing asks for it, so that a client sees the server move.
const BATCH: u32 = 64;

/// Events and answers over rings. It is the sink behind the event catalogue's encoder.
#[derive(Debug)]
pub struct Outbox<'a, L: Link> {
    events: Producer<'a>,
    replies: ReplyServer<'a>,
    link: L,
    /// Whether something was written that the client may be waiting for.
    news: bool,
    /// What the rings do not count by themselves.
    counters: Counters,
}

/// The way back to a client over rings.
pub type RingOutlet<'a, L> = event::Encoder<Outbox<'a, L>>;

impl<L: Link> Outbox<'_, L> {
    /// Whoever sees an answer finds the events that came before it.
    fn before_answer(&mut self) {
        if !on(Mutant::AnswerBeforeEvents) {
            self.events.publish();
        }
        self.news = true;
    }

    /// Waits until the client has made room in the event ring.
    #[cold]
    #[inline(never)]
    fn make_room(&mut self, size: usize) -> Result<(), Fault> {
        self.events.publish();
        self.link.published(Rest::AtRest);
        let Self { events, link, counters, .. } = self;
        counted(link, counters, Cause::EventRoom, Patience::Sleep, || {
            Ok(Look::of(events.has_room(size)?.then_some(())))
        })
    }

    fn count_answer(&mut self, size: usize) {
        self.counters.answers += 1;
        self.counters.reply_bytes += size as u64;
    }
}

/// Waits, and counts it.
fn counted<L: Link, T>(
    link: &mut L,
    counters: &mut Counters,
    cause: Cause,
    patience: Patience,
    mut ready: impl FnMut() -> Result<Look<T>, Fault>,
) -> Result<T, Fault> {
    let (before, mut looks) = (link.tally(), 0);
    let ended = link.wait(patience, || {
        looks += 1;
        ready()
    });
    counters.waited(cause, looks, before, link.tally());
    ended
}

impl<L: Link> Sink for Outbox<'_, L> {
    type Error = Fault;

    fn stage(&mut self, _: Bulk<'_>) -> Result<BlobRef, Fault> {
        // No event has bulk bytes.
        Err(Fault::Record(Refusal::BlobNotStaged { owner: "Event", field: "blob" }))
    }

    fn record<'r, R: Row<'r>>(&mut self, row: &R) -> Result<(), Fault> {
        let malformed = Fault::Record(Refusal::Corrupt { owner: R::NAME, field: "size" });
        let size = row.encoded_len().ok_or(malformed)?;
        if matches!(self.events.reserve(size).map(drop), Err(ReserveError::Full)) {
            self.make_room(size)?;
        }
        let mut grant = self.events.reserve(size).map_err(|error| match error {
            ReserveError::Fault(fault) => Fault::Ring(fault),
            ReserveError::TooLarge { .. } | ReserveError::Full => malformed,
        })?;
        if !row.encode(&mut grant) {
            return Err(malformed);
        }
        grant.commit();
        self.news = true;
        Ok(())
    }
}

pub(crate) const fn place(space: ReplySpace) -> runahead_rings::ReplySpace {
    runahead_rings::ReplySpace { offset: space.offset, capacity: space.capacity, tag: space.tag }
}

/// See [`Outlet::answer_with`].
pub(crate) fn answer_with(
    replies: &mut ReplyServer<'_>,
    space: ReplySpace,
    size: usize,
    fill: impl FnOnce(&mut [u8]) -> bool,
) -> Result<(), Fault> {
    let mut grant = replies.grant(place(space))?;
    let no_room = runahead_rings::Fault::Corrupt { place: "Reply", field: "Capacity" };
    let out = grant.get_mut(..size).ok_or(no_room)?;
    let (status, size) = if fill(out) { (Status::Ok, size as u32) } else { (Status::Error, 0) };
    grant.finish(status, size);
    Ok(())
}

/// See [`Outlet::answer`].
pub(crate) fn answer(
    replies: &mut ReplyServer<'_>,
    space: ReplySpace,
    status: Status,
    bytes: &[u8],
) -> Result<(), Fault> {
    Ok(replies.answer(place(space), status, bytes)?)
}

impl<L: Link> Outlet for RingOutlet<'_, L> {
    fn check(&self, space: ReplySpace) -> Result<(), Fault> {
        Ok(self.0.replies.check(place(space))?)
    }

    fn answer_with(
        &mut self,
        space: ReplySpace,
        size: usize,
        fill: impl FnOnce(&mut [u8]) -> bool,
    ) -> Result<(), Fault> {
        self.0.before_answer();
        self.0.count_answer(size);
        answer_with(&mut self.0.replies, space, size, fill)
    }

    fn answer(&mut self, space: ReplySpace, status: Status, bytes: &[u8]) -> Result<(), Fault> {
        self.0.before_answer();
        self.0.count_answer(bytes.len());
        answer(&mut self.0.replies, space, status, bytes)
    }

    fn writeback_bytes(&self) -> usize {
        let head = runahead_wire::record::HEADER_SIZE + size_of::<runahead_wire::payload::BufferWriteback>();
        let most = runahead_wire::limits::WRITEBACK_BYTES as usize;
        self.0.events.max_record().saturating_sub(head).min(most)
    }
}

/// The stage, as the dispatcher asks for it.
#[derive(Debug)]
struct StageView<'a>(StageReader<'a>);

impl Stage for StageView<'_> {
    #[inline]
    fn resolve(&self, blob: &BlobRef) -> Option<Bulk<'_>> {
        let bytes = self.0.get(StageRef { position: blob.offset, size: blob.size }).ok()?;
        SharedBytes::new(bytes.words(), bytes.len()).map(Bulk::Shared)
    }
}

/// The server half of a session over rings.
#[derive(Debug)]
pub struct Server<'a, L: Link, B: Backend, S: Storage> {
    commands: CopyOut<'a>,
    stage: StageView<'a>,
    marks: WatermarkWriter<'a>,
    applier: Applier<B, S, RingOutlet<'a, L>>,
    /// Presents whose credit was returned.
    presented: u64,
}

impl<'a, L: Link, B: Backend, S: Storage> Server<'a, L, B, S> {
    /// A server over the rings of a new session. `applier` makes the applier, given the way back to the
    /// client.
    pub fn new(
        rings: Rings<'a>,
        link: L,
        applier: impl FnOnce(RingOutlet<'a, L>) -> Applier<B, S, RingOutlet<'a, L>>,
    ) -> Self {
        let (events, replies, counters) = (rings.events, rings.replies, Counters::default());
        let outbox = Outbox { events, replies, link, news: false, counters };
        Self {
            commands: rings.commands,
            stage: StageView(rings.stage),
            marks: rings.marks,
            applier: applier(event::Encoder(outbox)),
            presented: 0,
        }
    }

    /// The applier.
    pub const fn applier(&mut self) -> &mut Applier<B, S, RingOutlet<'a, L>> {
        &mut self.applier
    }

    /// Events sent since the session began.
    #[must_use]
    pub const fn events_sent(&self) -> u64 {
        self.applier.outlet().0.events.records()
    }

    /// What was counted since the session began.
    #[must_use]
    pub fn counters(&self) -> Counters {
        let outbox = &self.applier.outlet().0;
        let (tally, commands) = (outbox.link.tally(), &self.commands);
        Counters {
            records: self.applier.ordinal(),
            command_bytes: commands.position(),
            command_laps: commands.position() / commands.capacity() as u64,
            command_pads: commands.pads(),
            stage_bytes: self.stage.0.position(),
            events: outbox.events.records(),
            event_bytes: outbox.events.position(),
            presents: self.presented,
            sleeps: tally.sleeps,
            wakeups: tally.wakes,
            #[cfg(feature = "compare")]
            verbs: self.applier.coverage().seen,
            #[cfg(feature = "compare")]
            verbs_compared: self.applier.coverage().compared,
            ..outbox.counters
        }
    }

    /// Tells the client that the caps have a new generation, which it can fetch from here on.
    ///
    /// # Errors
    /// [`Fault::PeerGone`].
    pub fn caps_changed(&mut self, generation: u64) -> Result<(), Fault> {
        // No record caused it.
        let event = CapsChanged { generation, ..CapsChanged::default() };
        self.applier.outlet_mut().caps_changed(&event)?;
        self.publish(Rest::AtRest)
    }

    /// The link.
    pub const fn link(&mut self) -> &mut L {
        &mut self.applier.outlet_mut().0.link
    }

    /// Applies what is published, at most `most` records, pays what is owed, and publishes how far it got. The
    /// answer is the number of records; 0 says that there is nothing to do but to [wait](Server::wait).
    ///
    /// `now` is a clock in nanoseconds, read only while a wait with a timeout is owed.
    ///
    /// # Errors
    /// The first [`Fault`], which ends the session: the record that caused it does not count as applied.
    pub fn run(&mut self, most: u32, now: impl FnOnce() -> u64) -> Result<u32, Fault> {
        let mut applied = 0;
        while applied < most {
            let Some(record) = self.commands.next()? else { break };
            if let Err(error) = pipe::dispatch(record, &self.stage, &mut self.applier) {
                dispatch_again(error, record, &mut self.stage, &mut self.applier)?;
            }
            applied += 1;
            if self.applier.outlet_mut().0.news || applied.is_multiple_of(BATCH) {
                self.publish(Rest::Busy)?;
            }
        }
        if self.applier.owes() {
            let now = if self.applier.needs_clock() { now() } else { 0 };
            self.applier.poll(now)?;
        }
        self.publish(Rest::AtRest)?;
        Ok(applied)
    }

    /// Publishes events, then how far this server got: in that order, so that a client which sees a record
    /// applied finds its events.
    ///
    /// Within a batch a client that sleeps is woken only for what it can go on with: an answer, an event, a
    /// credit. One that waits for room or for a record is woken at the end of the batch, not every few records.
    fn publish(&mut self, rest: Rest) -> Result<(), Fault> {
        let progress = self.applier.progress()?;
        let applied = self.applier.ordinal();
        let outbox = &mut self.applier.outlet_mut().0;
        if on(Mutant::AppliedBeforeEvents) {
            self.marks.publish(Watermark::Applied, applied);
        }
        outbox.events.publish();
        self.marks.publish(Watermark::Applied, applied);
        self.marks.publish(Watermark::Retired, progress.retired);
        self.marks.publish(Watermark::CompletedFrame, progress.completed_frame);
        self.marks.publish(Watermark::PresentAck, progress.presented);
        let credit = core::mem::replace(&mut self.presented, progress.presented) != progress.presented;
        let awaited = core::mem::take(&mut outbox.news) || credit || rest == Rest::AtRest;
        if awaited && !on(Mutant::AppliedUnrung) {
            outbox.link.published(Rest::AtRest);
        }
        Ok(())
    }

    /// Waits until something was published, or `else_if` says to stop: it is asked at each look, and whoever
    /// makes it true wakes this side ([`Waiter::nudge`](runahead_rings::Waiter::nudge)).
    ///
    /// # Errors
    /// [`Fault::PeerGone`] once everything that the client published was applied.
    pub fn wait(&mut self, patience: Patience, mut else_if: impl FnMut() -> bool) -> Result<(), Fault> {
        let commands = &mut self.commands;
        let Outbox { link, counters, .. } = &mut self.applier.outlet_mut().0;
        counted(link, counters, Cause::Work, patience, || {
            Ok(Look::of((commands.poll()? || else_if()).then_some(())))
        })
    }

    /// Ends the session: owed answers become errors, twins are released, and the backend comes back.
    ///
    /// # Errors
    /// The client's fault, if an answer cannot be written.
    pub fn finish(self) -> Result<B, Fault> {
        self.applier.end().0
    }
}

/// A record may name bytes that were staged after the last look at the stage. Anything else stays refused.
#[cold]
#[inline(never)]
fn dispatch_again<L: Link, B: Backend, S: Storage>(
    error: DispatchError<Fault>,
    record: &[u8],
    stage: &mut StageView<'_>,
    applier: &mut Applier<B, S, RingOutlet<'_, L>>,
) -> Result<(), Fault> {
    let fault = |error| match error {
        DispatchError::Refused(refusal) => Fault::Record(refusal),
        DispatchError::Pipe(fault) => fault,
    };
    match error {
        DispatchError::Refused(Refusal::BlobNotStaged { .. }) => {
            stage.0.refresh()?;
            pipe::dispatch(record, stage, applier).map(drop).map_err(fault)
        }
        error => Err(fault(error)),
    }
}
