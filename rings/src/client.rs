//! The client's halves: what each is made of.
//!
//! The client produces records and stage bytes, consumes events and answers, and reads watermarks. Each
//! constructor takes the client's own page, the server's, and the region that the half works on.

use crate::{
    consumer::{CopyOut, InPlace},
    cursor::reached,
    doorbell::{Liveness, Ringer, Waiter},
    memory::Region,
    page::{ClientPage, ServerPage, Start},
    producer::Producer,
    record::{max_event, max_record},
    reply::{Pending, ReplyClient},
    stage::StageWriter,
    sync::Ordering,
    watermark::{Watermark, WatermarkReader},
};

/// The halves of a whole session, but for its doorbell.
#[derive(Debug)]
pub struct Rings<'a> {
    /// Records.
    pub commands: Producer<'a>,
    /// Bulk bytes.
    pub stage: StageWriter<'a>,
    /// Space for answers.
    pub replies: ReplyClient<'a>,
    /// Events.
    pub events: CopyOut<'a>,
    /// How far the server got.
    pub marks: WatermarkReader<'a>,
}

/// The producer of the command ring.
///
/// # Safety
/// For `'a` it is the only one on `region` and on `own`, no other code of this process writes the region, and
/// every reading half over it is made of these same pages.
#[must_use]
pub unsafe fn commands<'a>(own: &'a ClientPage, server: &'a ServerPage, region: Region<'a>) -> Producer<'a> {
    // SAFETY: this function's contract.
    unsafe { Producer::new(region, &own.command.0, &server.command.0, "Cmd", max_record(region.len())) }
}

/// The writer of the stage.
///
/// # Safety
/// For `'a` it is the only one on `region` and on `own`, no other code of this process writes the region, and
/// every reading half over it is made of these same pages.
#[must_use]
pub unsafe fn stage<'a>(own: &'a ClientPage, region: Region<'a>) -> StageWriter<'a> {
    // SAFETY: this function's contract.
    unsafe { StageWriter::new(region, &own.command.0) }
}

/// The consumer of events, for a server in the same trust domain.
///
/// # Safety
/// For `'a` it is the only consumer of these events, and the server leaves what it has published alone.
#[must_use]
pub unsafe fn events_in_place<'a>(
    own: &'a ClientPage,
    server: &'a ServerPage,
    region: Region<'a>,
) -> InPlace<'a> {
    // SAFETY: this function's contract.
    unsafe { InPlace::new(region, &own.event.0, &server.event.0, "Event", max_event(region.len())) }
}

/// The consumer of events, for a server that may be hostile. `scratch` holds one event: a quarter of the ring,
/// or less, and then larger events are refused.
#[must_use]
pub fn events_copied<'a>(
    own: &'a ClientPage,
    server: &'a ServerPage,
    region: Region<'a>,
    scratch: &'a mut [u64],
) -> CopyOut<'a> {
    CopyOut::new(region, &own.event.0, &server.event.0, "Event", max_event(region.len()), scratch)
}

/// The reply space. `used` is its bookkeeping, [`ReplyClient::bookkeeping`] words.
#[must_use]
pub fn replies<'a>(region: Region<'a>, used: &'a mut [u64]) -> ReplyClient<'a> {
    ReplyClient::new(region, used)
}

/// The watermarks.
#[must_use]
pub const fn watermarks(server: &ServerPage, start: Start) -> WatermarkReader<'_> {
    WatermarkReader::new(&server.watermarks.0, start.ordinal)
}

/// Looks at what the server publishes without the halves, which one thread at a time has: for threads that wait and
/// would otherwise take them at every look. What it says is a hint, neither checked nor ordered with anything: where
/// it says yes, the halves say whether it is so; where it says no, the server had not got there yet.
#[derive(Clone, Copy, Debug)]
pub struct Peek<'a> {
    own: &'a ClientPage,
    server: &'a ServerPage,
    replies: Region<'a>,
}

impl Peek<'_> {
    /// Whether a watermark reached a value.
    #[must_use]
    pub fn has_reached(&self, mark: Watermark, value: u64) -> bool {
        let marks = &self.server.watermarks.0.marks;
        marks.get(mark as usize).is_some_and(|now| reached(now.load(Ordering::Relaxed), value))
    }

    /// Whether an answer has come.
    #[must_use]
    pub fn has_answer(&self, pending: &Pending) -> bool {
        let space = pending.space();
        (self.replies.status(space.offset as usize).load(Ordering::Relaxed) >> 32) as u32 == space.tag
    }

    /// Whether there are events that were not taken.
    #[must_use]
    pub fn has_events(&self) -> bool {
        self.server.event.0.head.load(Ordering::Relaxed) != self.own.event.0.tail.load(Ordering::Relaxed)
    }
}

/// A look past the halves; `replies` is the region of [`replies`].
#[must_use]
pub const fn peek<'a>(own: &'a ClientPage, server: &'a ServerPage, replies: Region<'a>) -> Peek<'a> {
    Peek { own, server, replies }
}

/// Waits for the server.
#[must_use]
pub const fn waiter<'a>(own: &'a ClientPage, server: &'a ServerPage, alive: &'a Liveness) -> Waiter<'a> {
    Waiter::new(&own.park.0, &server.bell.0, alive)
}

/// Rings the server.
#[must_use]
pub const fn ringer<'a>(own: &'a ClientPage, server: &'a ServerPage) -> Ringer<'a> {
    Ringer::new(&own.bell.0, &server.park.0)
}
