//! Events: those of record N are there when applied says N; a full ring parks the server and loses nothing.

use runahead_rings::{
    Watermark, client,
    mutant::{Mutant, on},
    server,
};

use crate::bed::{Bed, Bound, model, try_push, value};

/// Two records, an event each.
fn before_applied() {
    let bed = Bed::new(0, 4);
    let other = bed.clone();
    let serving = loom::thread::spawn(move || {
        // SAFETY: the model's only server.
        let mut events = unsafe { server::events(&other.server, &other.client, other.events.region()) };
        // SAFETY: as above.
        let mut watermarks = unsafe { server::watermarks(&other.server) };
        for n in 1..=2 {
            assert!(try_push(&mut events, 1, n).unwrap());
            if on(Mutant::EventAfterApplied) {
                watermarks.publish(Watermark::Applied, other.ordinal(n.into()));
            }
            events.publish();
            watermarks.publish(Watermark::Applied, other.ordinal(n.into()));
        }
    });
    let mut watermarks = client::watermarks(&bed.server, bed.start);
    let mut scratch = [0; 1];
    let mut events = client::events_copied(&bed.client, &bed.server, bed.events.region(), &mut scratch);
    for n in 1..=2 {
        while !runahead_rings::reached(
            watermarks.read(Watermark::Applied, bed.ordinal(2)).unwrap(),
            bed.ordinal(n.into()),
        ) {
            loom::thread::yield_now();
        }
        let event = events.next().unwrap().expect("the event of an applied record");
        assert_eq!(value(event), n);
    }
    serving.join().unwrap();
}

model!(
    visible_before_applied,
    Bound::Exhaustive,
    catches [EventAfterApplied, AppliedRelaxed],
    before_applied
);

/// Six events through room for four. The server parks at a full ring; the client, which sleeps between them
/// too, drains and rings.
fn full_ring() {
    const EVENTS: u16 = 6;
    let bed = Bed::new(0, 4);
    let other = bed.clone();
    let serving = loom::thread::spawn(move || {
        // SAFETY: the model's only server.
        let mut events = unsafe { server::events(&other.server, &other.client, other.events.region()) };
        let waiter = server::waiter(&other.server, &other.client, &other.alive);
        let mut ringer = server::ringer(&other.server, &other.client);
        let door = other.doors.of_server();
        for n in 1..=EVENTS {
            // The event that found the ring full goes first when there is room again.
            while !try_push(&mut events, 1, n).unwrap() {
                if on(Mutant::EventDroppedWhenFull) {
                    break;
                }
                events.publish();
                ringer.ring(&door);
                waiter.wait(&door, 0, || events.has_room(8).map(|room| room.then_some(()))).unwrap();
            }
            if n == EVENTS {
                events.publish();
                ringer.ring(&door);
            }
        }
    });
    let mut scratch = [0; 1];
    let mut events = client::events_copied(&bed.client, &bed.server, bed.events.region(), &mut scratch);
    let waiter = client::waiter(&bed.client, &bed.server, &bed.alive);
    let mut ringer = client::ringer(&bed.client, &bed.server);
    let door = bed.doors.of_client();
    for n in 1..=EVENTS {
        let number = waiter
            .wait(&door, 0, || {
                let number = events.next()?.map(value);
                if events.take_released() && !on(Mutant::EventDrainWithoutRing) {
                    ringer.ring(&door);
                }
                Ok::<_, runahead_rings::Fault>(number)
            })
            .unwrap();
        assert_eq!(number, n, "lost or reordered");
    }
    serving.join().unwrap();
}

model!(
    full_ring_parks_and_resumes,
    Bound::Preemptions(3),
    catches [EventDroppedWhenFull, EventDrainWithoutRing],
    full_ring
);
