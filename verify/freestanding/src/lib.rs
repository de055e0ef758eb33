//! A static library that links `runahead-wire`, `runahead-rings` and `runahead-core` for a machine without an
//! operating system.
//!
//! `verify/tests/freestanding.rs` builds it and looks through its symbols: nothing of std, nothing of alloc, no
//! allocator. The functions are entry points that reach what those crates offer, so that none of it is dropped
//! before it is looked at.
#![cfg_attr(not(feature = "uses-std"), no_std)]

use core::convert::Infallible;

use runahead_core::{
    Applier, Quota, RecordError, Recorder as Client, RingOutlet, Server, Silence,
    link::Bells,
    null::Null,
    slots::SlotSpace,
    storage::Inline,
    tracker::{Tracker, Verb},
};

use runahead_rings::{
    ClientPage, CopyOut, Producer, ReplyClient, ReplyServer, ServerPage, StageReader, StageWriter, Start,
    client, server,
};
use runahead_wire::payload::{DrawInfo, DrawRange};
use runahead_wire::pipe::Pipe;
use runahead_wire::{BlobRef, Bulk, NoStage, Row, Sink, event, pipe};

#[cfg(not(feature = "uses-std"))]
#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    loop {
        core::hint::spin_loop();
    }
}

/// Encodes into a ring.
struct Recorder<'r, 'a>(&'r mut Producer<'a>);

impl Sink for Recorder<'_, '_> {
    type Error = Infallible;

    fn stage(&mut self, _: Bulk<'_>) -> Result<BlobRef, Infallible> {
        Ok(BlobRef::NONE)
    }

    fn record<'a, R: Row<'a>>(&mut self, row: &R) -> Result<(), Infallible> {
        let room = row.encoded_len().and_then(|len| self.0.reserve(len).ok());
        if let Some(mut grant) = room
            && row.encode(&mut grant)
        {
            grant.commit();
        }
        self.0.publish();
        Ok(())
    }
}

/// Forwards every record of a ring into another: decoder, dispatcher and encoder of all rows.
#[unsafe(no_mangle)]
pub extern "Rust" fn forward_commands(from: &mut CopyOut<'_>, to: &mut Producer<'_>) -> bool {
    let mut pipe = pipe::Encoder(Recorder(to));
    while let Ok(Some(record)) = from.next() {
        if pipe::dispatch(record, &NoStage, &mut pipe).is_err() {
            return false;
        }
    }
    true
}

/// The same for events.
#[unsafe(no_mangle)]
pub extern "Rust" fn forward_events(from: &mut CopyOut<'_>, to: &mut Producer<'_>) -> bool {
    let mut events = event::Encoder(Recorder(to));
    while let Ok(Some(record)) = from.next() {
        if event::dispatch(record, &NoStage, &mut events).is_err() {
            return false;
        }
    }
    true
}

/// Moves bulk bytes and answers.
#[unsafe(no_mangle)]
pub extern "Rust" fn move_bytes(
    writer: &mut StageWriter<'_>,
    reader: &mut StageReader<'_>,
    replies: &mut ReplyClient<'_>,
    answers: &mut ReplyServer<'_>,
    bytes: &mut [u8],
) -> bool {
    let Ok(mut grant) = writer.reserve(bytes.len()) else { return false };
    grant.copy_from_slice(bytes);
    let reference = grant.commit();
    writer.used_by(1);
    writer.publish();
    let (Ok(()), Ok(staged)) = (reader.refresh(), reader.get(reference)) else { return false };
    staged.copy_to(bytes);
    writer.reclaim(1);
    let Ok(pending) = replies.reserve(64) else { return false };
    let answered = answers.answer(pending.space(), runahead_rings::Status::Ok, bytes).is_ok();
    let arrived = matches!(replies.poll(&pending), Ok(Some(_)));
    answered && arrived && replies.release(pending).is_ok()
}

/// Makes the pages and their halves.
#[unsafe(no_mangle)]
pub extern "Rust" fn watermarks(page: &ServerPage, start: Start) -> u64 {
    let reader = client::watermarks(page, start);
    reader.last(runahead_rings::Watermark::Applied)
}

/// A ringer with nobody to ring.
#[unsafe(no_mangle)]
pub extern "Rust" fn ringer<'a>(own: &'a ServerPage, peer: &'a ClientPage) -> runahead_rings::Ringer<'a> {
    server::ringer(own, peer)
}

/// A doorbell that spins.
#[derive(Debug)]
pub struct Spin;

impl runahead_rings::Doorbell for Spin {
    fn sleep(&self, _: runahead_rings::Bell<'_>, _: u32) {
        core::hint::spin_loop();
    }
    fn wake(&self, _: runahead_rings::Bell<'_>) {}
    fn interrupt(&self, _: runahead_rings::Bell<'_>) {}
}

/// The tables of a machine without a heap.
pub type Tables = Inline<64, 1024>;

/// The client half: tracker, slots and recorder.
#[unsafe(no_mangle)]
pub extern "Rust" fn record_a_draw(
    tracker: &mut Tracker,
    slots: &mut SlotSpace<Tables>,
    pipe: &mut pipe::Encoder<Client<'_, Bells<'_, Spin>, Silence>>,
    info: &DrawInfo,
    ranges: &[DrawRange],
) -> bool {
    let synced: Result<(), runahead_core::tracker::SyncError<RecordError>> =
        tracker.sync(Verb::Draw, pipe, slots);
    synced.is_ok() && pipe.draw_vbo(info, ranges, &[]).is_ok()
}

/// The server half.
#[unsafe(no_mangle)]
pub extern "Rust" fn apply_records(server: &mut Server<'_, Bells<'_, Spin>, Null, Tables>) -> bool {
    server.run(64, || 0).is_ok()
}

/// An applier of its own.
#[unsafe(no_mangle)]
pub extern "Rust" fn make_a_context(
    applier: &mut Applier<Null, Tables, RingOutlet<'_, Bells<'_, Spin>>>,
    token: u64,
) -> bool {
    applier.create_context(token, None).is_ok() && Quota::default().contexts != 0
}

/// Something of std, for the negative control.
#[cfg(feature = "uses-std")]
#[unsafe(no_mangle)]
pub extern "Rust" fn allocate(count: usize) -> std::string::String {
    std::format!("{count} bytes on {:?}", std::thread::current().id())
}
