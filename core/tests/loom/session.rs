//! Recorder and server over the real rings.

use std::sync::Arc;

use runahead_core::{
    Applier, Fault, Mode, Quota, Recorder, Server,
    link::{Bells, Patience},
    null::Null,
    reply_space,
    wait::WaitState,
};
use runahead_rings::{
    ClientPage, Liveness, Page, ServerPage, Start, Status, Watermark, client, mutant, server,
};
use runahead_wire::{
    Handle,
    event::Events,
    payload::*,
    pipe::{Encoder, Pipe},
    values::{CapsBits, StorageKind},
};

use crate::{
    bed::{Bound, Door, Doors, Memory, model},
    common::heap::Heap,
};

/// Everything that both roles share.
struct Session {
    client: ClientPage,
    server: ServerPage,
    commands: Memory,
    stage: Memory,
    replies: Memory,
    events: Memory,
    alive: Liveness,
    doors: Doors,
}

const START: Start = Start { cursor: 0, ordinal: u64::MAX - 1 };

impl Session {
    fn new() -> Arc<Self> {
        Arc::new(Self {
            client: ClientPage::new(START),
            server: ServerPage::new(START),
            commands: Memory::new(32),
            stage: Memory::new(4),
            replies: Memory::new(16),
            events: Memory::new(32),
            alive: Liveness::new(),
            doors: Doors::new(),
        })
    }
}

/// Counts refusals, and bytes written back.
#[derive(Debug, Default)]
struct Heard {
    refused: u32,
    bytes: usize,
}

impl Events for Heard {
    type Error = Fault;
    fn buffer_writeback(&mut self, _: &BufferWriteback, bytes: &[u8]) -> Result<(), Fault> {
        self.bytes += bytes.len();
        Ok(())
    }
    fn gpu_written(&mut self, _: &GpuWritten, _: &[ByteRange]) -> Result<(), Fault> {
        unreachable!()
    }
    fn surface_changed(&mut self, _: &SurfaceChanged) -> Result<(), Fault> {
        unreachable!()
    }
    fn gl_error(&mut self, _: &GlError, _: &[u8]) -> Result<(), Fault> {
        unreachable!()
    }
    fn fence_signaled(&mut self, _: &FenceSignaled) -> Result<(), Fault> {
        unreachable!()
    }
    fn refused(&mut self, event: &RequestRefused) -> Result<(), Fault> {
        assert_eq!(event.origin.ordinal, START.ordinal.wrapping_add(2), "an event of another record");
        self.refused += 1;
        Ok(())
    }
    fn caps_changed(&mut self, _: &CapsChanged) -> Result<(), Fault> {
        unreachable!()
    }
}

/// Applies records, of a session that may have so many bytes of storage.
fn serve(session: &Session, records: u32, storage: u64) {
    let (own, peer) = (&session.server, &session.client);
    let mut record = [0; 16];
    let rings = server::Rings {
        commands: server::commands_copied(own, peer, session.commands.region(), &mut record),
        stage: server::stage(peer, session.stage.region(), START),
        // SAFETY: the only writer of the segment.
        replies: unsafe { server::replies(session.replies.region()) },
        // SAFETY: the only producer of events.
        events: unsafe { server::events(own, peer, session.events.region()) },
        // SAFETY: the only writer of the watermarks.
        marks: unsafe { server::watermarks(own) },
    };
    let waiter = server::waiter(own, peer, &session.alive);
    let link = Bells::new(server::ringer(own, peer), waiter, session.doors.of_server(), 0);
    let quota = Quota { storage, ..Quota::default() };
    let mut server: Server<'_, _, Null, Heap> = Server::new(rings, link, |outlet| {
        let mut applier = Applier::new(Null::default(), outlet, quota, START.ordinal);
        applier.create_context(1, None).unwrap();
        applier
    });
    let mut applied = 0;
    while applied < records {
        match server.run(records, || 0).unwrap() {
            0 => server.wait(Patience::Sleep, || false).unwrap(),
            records => applied += records,
        }
    }
}

type Client<'a> = Encoder<Recorder<'a, Bells<'a, Door<'a>>, Heard>>;

/// Runs a client.
fn record(session: &Session, client: fn(&mut Client<'_>)) {
    let (own, peer) = (&session.client, &session.server);
    let (mut event, mut used) = ([0; 8], [0; 1]);
    let rings = client::Rings {
        // SAFETY: the only producer of commands.
        commands: unsafe { client::commands(own, peer, session.commands.region()) },
        // SAFETY: the only writer of the stage.
        stage: unsafe { client::stage(own, session.stage.region()) },
        replies: client::replies(session.replies.region(), &mut used),
        events: client::events_copied(own, peer, session.events.region(), &mut event),
        marks: client::watermarks(peer, START),
    };
    let waiter = client::waiter(own, peer, &session.alive);
    let link = Bells::new(client::ringer(own, peer), waiter, session.doors.of_client(), 0);
    let mode = Mode { waits: WaitState::new(CapsBits::RUN_AHEAD_APPLY, true), credit: 1 };
    let mut pipe = Encoder(Recorder::new(rings, link, Heard::default(), mode));
    pipe.bind_context(&BindContext { context: 1, ..BindContext::default() }).unwrap();
    client(&mut pipe);
}

fn buffer(size: u64) -> ResourceDesc {
    ResourceDesc {
        resource: Handle::new(1, 1),
        storage_kind: StorageKind::Buffer.raw() as u8,
        buf_size: size,
        ..ResourceDesc::default()
    }
}

/// Words of a thread's stack: an applier's state passes over it while it is made.
const STACK: usize = 1 << 17;

/// Runs both roles, each on a thread with room for what passes over its stack.
fn roles(server: fn(&Session), client: fn(&Session)) {
    let session = Session::new();
    let role = |role: fn(&Session)| {
        let session = session.clone();
        loom::thread::Builder::new().stack_size(STACK).spawn(move || role(&session)).unwrap()
    };
    for role in [role(server), role(client)] {
        role.join().unwrap();
    }
}

/// A bind and a create that is refused: a client that waits has heard of it then.
fn two_records() {
    roles(
        |session| serve(session, 2, 0),
        |session| {
            record(session, |pipe| {
                pipe.resource_create(&buffer(1)).unwrap();
                let last = pipe.0.recorded();
                pipe.0.wait_for(Watermark::Applied, last, Patience::Sleep).unwrap();
                assert_eq!(pipe.0.events().refused, 1, "the record is applied, and its event is not there");
            });
        },
    );
}

/// A readback in six events, of which the ring holds four: the server waits until the client, which waits for the
/// answer behind them, has drained some.
fn a_full_event_ring() {
    roles(
        |session| serve(session, 3, 96),
        |session| {
            record(session, |pipe| {
                pipe.resource_create(&buffer(96)).unwrap();
                let done = pipe.0.ask(0).unwrap();
                let read = Readback { resource: Handle::new(1, 1), offset: 0, size: 96 };
                pipe.resource_readback(&read, Some(reply_space(&done))).unwrap();
                assert_eq!(pipe.0.wait_answer(&done, Patience::Sleep).unwrap().status, Status::Ok);
                assert_eq!(pipe.0.events().bytes, 96, "the answer is there, and not all events before it");
            });
        },
    );
}

model!(
    recorder_and_server,
    Bound::Preemptions(3),
    catches [
        runahead_core::mutant::Mutant::AppliedBeforeEvents,
        runahead_core::mutant::Mutant::EventsBeforeLook,
        runahead_core::mutant::Mutant::WaitUnpublished,
        runahead_core::mutant::Mutant::PublishUnrung,
        runahead_core::mutant::Mutant::AppliedUnrung,
        mutant::Mutant::RingPublishRelaxed,
        mutant::Mutant::AppliedRelaxed,
        mutant::Mutant::ParkWithoutFence,
    ],
    two_records
);

model!(
    a_full_event_ring_is_drained,
    Bound::Preemptions(2),
    catches [
        runahead_core::mutant::Mutant::DrainUnrung,
        runahead_core::mutant::Mutant::AnswerBeforeEvents,
        runahead_core::mutant::Mutant::AppliedUnrung,
    ],
    a_full_event_ring
);
