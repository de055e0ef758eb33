//! The server's halves: what each is made of.
//!
//! The server consumes records and stage bytes, produces events and answers, and publishes watermarks. Each
//! constructor takes the server's own page, the client's, and the region that the half works on.

use crate::{
    consumer::{CopyOut, InPlace},
    doorbell::{Liveness, Ringer, Waiter},
    memory::Region,
    page::{ClientPage, ServerPage, Start},
    producer::Producer,
    record::{max_event, max_record},
    reply::ReplyServer,
    stage::StageReader,
    watermark::WatermarkWriter,
};

/// The halves of a whole session, but for its doorbell.
#[derive(Debug)]
pub struct Rings<'a> {
    /// Records.
    pub commands: CopyOut<'a>,
    /// Bulk bytes.
    pub stage: StageReader<'a>,
    /// Answers.
    pub replies: ReplyServer<'a>,
    /// Events.
    pub events: Producer<'a>,
    /// How far this server got.
    pub marks: WatermarkWriter<'a>,
}

/// The consumer of commands, for a client in the same trust domain.
///
/// # Safety
/// For `'a` it is the only consumer of these commands, and the client leaves what it has published alone.
#[must_use]
pub unsafe fn commands_in_place<'a>(
    own: &'a ServerPage,
    client: &'a ClientPage,
    region: Region<'a>,
) -> InPlace<'a> {
    // SAFETY: this function's contract.
    unsafe { InPlace::new(region, &own.command.0, &client.command.0, "Cmd", max_record(region.len())) }
}

/// The consumer of commands, for a client that may be hostile. `scratch` holds one record: half the ring, or
/// less, and then larger records are refused.
#[must_use]
pub fn commands_copied<'a>(
    own: &'a ServerPage,
    client: &'a ClientPage,
    region: Region<'a>,
    scratch: &'a mut [u64],
) -> CopyOut<'a> {
    CopyOut::new(region, &own.command.0, &client.command.0, "Cmd", max_record(region.len()), scratch)
}

/// The reader of the stage.
#[must_use]
pub fn stage<'a>(client: &'a ClientPage, region: Region<'a>, start: Start) -> StageReader<'a> {
    StageReader::new(region, &client.command.0, start.cursor)
}

/// The producer of events.
///
/// # Safety
/// For `'a` it is the only one on `region` and on `own`, no other code of this process writes the region, and
/// every reading half over it is made of these same pages.
#[must_use]
pub unsafe fn events<'a>(own: &'a ServerPage, client: &'a ClientPage, region: Region<'a>) -> Producer<'a> {
    // SAFETY: this function's contract.
    unsafe { Producer::new(region, &own.event.0, &client.event.0, "Event", max_event(region.len())) }
}

/// The writer of answers.
///
/// # Safety
/// For `'a` it is the only one on `region`, and no other code of this process writes the region.
#[must_use]
pub const unsafe fn replies(region: Region<'_>) -> ReplyServer<'_> {
    // SAFETY: this function's contract.
    unsafe { ReplyServer::new(region) }
}

/// The watermarks.
///
/// # Safety
/// For `'a` it is the only writer of this page's watermarks.
#[must_use]
pub unsafe fn watermarks(own: &ServerPage) -> WatermarkWriter<'_> {
    // SAFETY: this function's contract.
    unsafe { WatermarkWriter::new(&own.watermarks.0) }
}

/// Waits for the client.
#[must_use]
pub const fn waiter<'a>(own: &'a ServerPage, client: &'a ClientPage, alive: &'a Liveness) -> Waiter<'a> {
    Waiter::new(&own.park.0, &client.bell.0, alive)
}

/// Rings the client.
#[must_use]
pub const fn ringer<'a>(own: &'a ServerPage, client: &'a ClientPage) -> Ringer<'a> {
    Ringer::new(&own.bell.0, &client.park.0)
}
