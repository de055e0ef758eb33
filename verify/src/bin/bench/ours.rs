//! The record ring as a session uses it: sealed segments mapped twice, doorbells, every header checked.

use std::ptr::NonNull;

use runahead_linux::{
    doorbell::FutexDoorbell,
    segment::{Mapping, OwnedSegment, map_peer},
};
use runahead_rings::{
    ClientPage, CopyOut, InPlace, Liveness, Producer, Region, ReserveError, ServerPage, Start, client,
    create, open, record, server,
};

use crate::work::{Template, Transport, Trial, race};

const PAGE: usize = 4096;

/// One role's segments: what it writes, and the other side's read-only view of it.
pub struct Side {
    page: OwnedSegment,
    page_seen: Mapping,
    ring: OwnedSegment,
    ring_seen: Mapping,
}

impl Side {
    fn new(capacity: usize) -> Self {
        let page = OwnedSegment::create(c"page", PAGE).expect("a segment");
        let page_seen = map_peer(page.descriptor(), PAGE).expect("a second mapping");
        let ring = OwnedSegment::create(c"ring", capacity).expect("a segment");
        let ring_seen = map_peer(ring.descriptor(), capacity).expect("a second mapping");
        Self { page, page_seen, ring, ring_seen }
    }

    fn own_page<P: runahead_rings::Page>(&self) -> &P {
        opened(self.page.mapping().base())
    }

    fn seen_page<P: runahead_rings::Page>(&self) -> &P {
        opened(self.page_seen.base())
    }

    fn own_ring(&self) -> Region<'_> {
        region(self.ring.mapping())
    }

    fn seen_ring(&self) -> Region<'_> {
        region(&self.ring_seen)
    }
}

fn opened<'a, P: runahead_rings::Page>(base: NonNull<u8>) -> &'a P {
    // SAFETY: a mapping of one page, which outlives the bench that asks.
    unsafe { open(base, PAGE) }.expect("a page")
}

fn region(mapping: &Mapping) -> Region<'_> {
    // SAFETY: the mapping is borrowed; its bytes are reached through regions only.
    unsafe { Region::from_raw(mapping.base(), mapping.len()) }.expect("a region")
}

/// A client's command ring and a server's event ring.
pub struct Session {
    client: Side,
    server: Side,
    pub alive: Liveness,
}

impl Session {
    pub fn new(capacity: usize) -> Self {
        let (client, server) = (Side::new(capacity), Side::new(capacity));
        // SAFETY: fresh segments of one page.
        unsafe { create::<ClientPage>(client.page.mapping().base(), PAGE, Start::default()) }
            .expect("a page");
        // SAFETY: fresh segments of one page.
        unsafe { create::<ServerPage>(server.page.mapping().base(), PAGE, Start::default()) }
            .expect("a page");
        Self { client, server, alive: Liveness::new() }
    }

    pub fn commands(&self) -> Producer<'_> {
        // SAFETY: each bench makes one producer of a session.
        unsafe { client::commands(self.client.own_page(), self.server.seen_page(), self.client.own_ring()) }
    }

    pub fn commands_in_place(&self) -> InPlace<'_> {
        let (page, peer) = (self.server.own_page(), self.client.seen_page());
        // SAFETY: each bench makes one consumer of a session, and the producer is ours.
        unsafe { server::commands_in_place(page, peer, self.client.seen_ring()) }
    }

    pub fn commands_copied<'a>(&'a self, scratch: &'a mut [u64]) -> CopyOut<'a> {
        let (page, peer) = (self.server.own_page(), self.client.seen_page());
        server::commands_copied(page, peer, self.client.seen_ring(), scratch)
    }

    pub fn events(&self) -> Producer<'_> {
        // SAFETY: each bench makes one producer of a session.
        unsafe { server::events(self.server.own_page(), self.client.seen_page(), self.server.own_ring()) }
    }

    pub fn events_in_place(&self) -> InPlace<'_> {
        let (page, peer) = (self.client.own_page(), self.server.seen_page());
        // SAFETY: each bench makes one consumer of a session, and the producer is ours.
        unsafe { client::events_in_place(page, peer, self.server.seen_ring()) }
    }

    pub fn client_waiter(&self) -> runahead_rings::Waiter<'_> {
        client::waiter(self.client.own_page(), self.server.seen_page(), &self.alive)
    }

    pub fn server_waiter(&self) -> runahead_rings::Waiter<'_> {
        server::waiter(self.server.own_page(), self.client.seen_page(), &self.alive)
    }

    pub fn client_ringer(&self) -> runahead_rings::Ringer<'_> {
        client::ringer(self.client.own_page(), self.server.seen_page())
    }

    pub fn server_ringer(&self) -> runahead_rings::Ringer<'_> {
        server::ringer(self.server.own_page(), self.client.seen_page())
    }
}

/// Spins of a thread that is not meant to sleep: a throughput run parks only if its peer was put off its core.
const SPINS: u32 = 20_000;

/// The header of a record of `size` bytes.
#[inline(always)]
pub fn header(size: usize) -> [u8; 8] {
    (1 | (size as u64) << 32).to_le_bytes()
}

/// Reserves, waiting where the ring is full, and commits one record with this payload.
#[inline(always)]
pub fn push(
    producer: &mut Producer<'_>,
    template: &Template,
    len: usize,
    sequence: u64,
    mut full: impl FnMut(&mut Producer<'_>),
) {
    loop {
        match producer.reserve(record::HEADER + len) {
            Ok(mut grant) => {
                let size = grant.len();
                grant[..8].copy_from_slice(&header(size));
                template.write(&mut grant[8..8 + len], sequence);
                grant.commit();
                return;
            }
            Err(ReserveError::Full) => full(producer),
            Err(error) => panic!("{error}"),
        }
    }
}

/// How records are published and consumed.
#[derive(Clone, Copy)]
pub struct Mode {
    /// Publish after each record; the doorbell is looked at once a batch all the same.
    pub each: bool,
    /// Consume copies.
    pub copied: bool,
}

/// Moves records of `payload` bytes through a command ring.
pub struct Transfer {
    session: Session,
    payload: usize,
    mode: Mode,
    scratch: Vec<u64>,
}

impl Transfer {
    pub fn new(payload: usize, capacity: usize, mode: Mode) -> Self {
        let scratch = vec![0; record::max_record(capacity) / 8];
        Self { session: Session::new(capacity), payload, mode, scratch }
    }
}

impl Transport for Transfer {
    fn run(&mut self, records: u64) -> Trial {
        let Self { session, payload, mode, scratch } = self;
        let (session, template) = (&*session, Template::new(*payload));
        race(
            || {
                let mut producer = session.commands();
                let mut ringer = session.client_ringer();
                let waiter = session.client_waiter();
                let door = FutexDoorbell;
                let len = template.len();
                let mut unrung = 0;
                for sequence in 0..records {
                    push(&mut producer, &template, len, sequence, |producer| {
                        producer.publish();
                        ringer.ring(&door);
                        let ready = || producer.has_room(record::HEADER + len).map(|room| room.then_some(()));
                        waiter.wait(&door, SPINS, ready).expect("a living consumer");
                    });
                    let pending = producer.pending();
                    if mode.each || pending >= record::BATCH {
                        producer.publish();
                        // A glance each batch, a fence each few.
                        unrung += pending;
                        if unrung >= record::FENCE_EVERY {
                            unrung = 0;
                            ringer.ring(&door);
                        } else if !mode.each {
                            ringer.glance(&door);
                        }
                    }
                }
                producer.publish();
                ringer.ring(&door);
            },
            || {
                let mut ringer = session.server_ringer();
                let waiter = session.server_waiter();
                let door = FutexDoorbell;
                let len = template.len();
                let mut sequence = 0;
                macro_rules! consume {
                    ($consumer:expr) => {{
                        let mut consumer = $consumer;
                        while sequence < records {
                            while let Some(record) = consumer.next().expect("no fault") {
                                template.check(&record[8..8 + len], sequence);
                                sequence += 1;
                                if consumer.take_released() {
                                    ringer.ring(&door);
                                }
                            }
                            if consumer.take_released() {
                                ringer.ring(&door);
                            }
                            if sequence < records {
                                let ready = || consumer.poll().map(|ready| ready.then_some(()));
                                waiter.wait(&door, SPINS, ready).expect("a living producer");
                            }
                        }
                    }};
                }
                if mode.copied {
                    consume!(session.commands_copied(scratch));
                } else {
                    consume!(session.commands_in_place());
                }
            },
        )
    }
}
