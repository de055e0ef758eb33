//! The doorbell: no wake is lost, in either direction, in both at once, at the end of a session, and when a
//! peer dies.

use std::sync::Arc;

use runahead_rings::{
    Fault, WaitError, Watermark, client,
    mutant::{Mutant, on},
    reached, server,
};

use crate::bed::{Bed, Bound, model, push, value};

const BOUND: Bound = Bound::Preemptions(3);

/// The client publishes and rings after each record.
fn publish(bed: &Bed, records: u16, close: bool) {
    // SAFETY: the model's only client.
    let mut producer = unsafe { client::commands(&bed.client, &bed.server, bed.commands.region()) };
    let mut ringer = client::ringer(&bed.client, &bed.server);
    for number in 1..=records {
        push(&mut producer, 1, number);
        producer.publish();
        ringer.ring(&bed.doors.of_client());
    }
    if close {
        ringer.close(&bed.doors.of_client());
    }
}

/// The server sleeps for each record; how its wait ended after the last one.
fn consume(bed: &Bed, records: u16, until_the_end: bool) -> Option<WaitError<Fault>> {
    let mut scratch = [0; 2];
    let mut commands = server::commands_copied(&bed.server, &bed.client, bed.commands.region(), &mut scratch);
    let waiter = server::waiter(&bed.server, &bed.client, &bed.alive);
    let mut wait =
        || waiter.wait(&bed.doors.of_server(), 0, || commands.next().map(|found| found.map(value)));
    for number in 1..=records {
        assert_eq!(wait(), Ok(number), "lost or reordered");
    }
    until_the_end.then(|| wait().unwrap_err())
}

fn spawn(bed: &Arc<Bed>, role: impl FnOnce(&Bed) + 'static) -> loom::thread::JoinHandle<()> {
    let bed = bed.clone();
    loom::thread::spawn(move || role(&bed))
}

model!(
    client_wakes_server,
    BOUND,
    catches [
        ParkWithoutFence,
        RingWithoutFence,
        ParkAfterRecheck,
        ParkWithoutRecheck,
        BellSeenAfterPark,
        RungOnceForEver,
    ],
    || {
        let bed = Bed::new(0, 4);
        let publishing = spawn(&bed, |bed| publish(bed, 2, false));
        consume(&bed, 2, false);
        publishing.join().unwrap();
    }
);

/// The client only glances after its first batch; the ring after its last one wakes the server for both.
fn glances() {
    let bed = Bed::new(0, 4);
    let publishing = spawn(&bed, |bed| {
        // SAFETY: the model's only client.
        let mut producer = unsafe { client::commands(&bed.client, &bed.server, bed.commands.region()) };
        let mut ringer = client::ringer(&bed.client, &bed.server);
        let door = bed.doors.of_client();
        push(&mut producer, 1, 1);
        producer.publish();
        ringer.glance(&door);
        push(&mut producer, 1, 2);
        producer.publish();
        if on(Mutant::GlanceWithoutRing) {
            ringer.glance(&door);
        } else {
            ringer.ring(&door);
        }
    });
    consume(&bed, 2, false);
    publishing.join().unwrap();
}

model!(
    glances_between_rings,
    BOUND,
    catches [GlanceWithoutRing, RingWithoutFence, ParkWithoutFence, ParkWithoutRecheck],
    glances
);

/// The server applies two records that are there and rings after each; the client sleeps for each.
fn server_wakes() {
    let bed = Bed::new(0, 4);
    let serving = spawn(&bed, |bed| {
        // SAFETY: the model's only server.
        let mut watermarks = unsafe { server::watermarks(&bed.server) };
        let mut ringer = server::ringer(&bed.server, &bed.client);
        for n in 1..=2 {
            watermarks.publish(Watermark::Applied, bed.ordinal(n));
            ringer.ring(&bed.doors.of_server());
        }
    });
    wait_applied(&bed, 1);
    wait_applied(&bed, 2);
    serving.join().unwrap();
}

fn wait_applied(bed: &Bed, n: u64) {
    let mut watermarks = client::watermarks(&bed.server, bed.start);
    let waiter = client::waiter(&bed.client, &bed.server, &bed.alive);
    waiter
        .wait(&bed.doors.of_client(), 0, || {
            let applied = watermarks.read(Watermark::Applied, bed.ordinal(2))?;
            Ok::<_, Fault>(reached(applied, bed.ordinal(n)).then_some(()))
        })
        .unwrap();
}

model!(
    server_wakes_client,
    BOUND,
    catches [
        ParkWithoutFence,
        RingWithoutFence,
        ParkAfterRecheck,
        ParkWithoutRecheck,
        BellSeenAfterPark,
        RungOnceForEver,
    ],
    server_wakes
);

/// Both sides sleep and both ring: a record there, its applied mark back, twice.
fn both_directions() {
    let bed = Bed::new(0, 4);
    let serving = spawn(&bed, |bed| {
        let mut scratch = [0; 2];
        let mut commands =
            server::commands_copied(&bed.server, &bed.client, bed.commands.region(), &mut scratch);
        let waiter = server::waiter(&bed.server, &bed.client, &bed.alive);
        // SAFETY: the model's only server.
        let mut watermarks = unsafe { server::watermarks(&bed.server) };
        let mut ringer = server::ringer(&bed.server, &bed.client);
        for n in 1..=2 {
            let number = waiter
                .wait(&bed.doors.of_server(), 0, || commands.next().map(|found| found.map(value)))
                .unwrap();
            assert_eq!(u64::from(number), n);
            watermarks.publish(Watermark::Applied, bed.ordinal(n));
            ringer.ring(&bed.doors.of_server());
        }
    });
    // SAFETY: the model's only client.
    let mut producer = unsafe { client::commands(&bed.client, &bed.server, bed.commands.region()) };
    let mut ringer = client::ringer(&bed.client, &bed.server);
    for number in 1..=2 {
        push(&mut producer, 1, number);
        producer.publish();
        ringer.ring(&bed.doors.of_client());
        wait_applied(&bed, number.into());
    }
    serving.join().unwrap();
}

model!(
    both_directions_at_once,
    BOUND,
    catches [ParkWithoutFence, RingWithoutFence, ParkAfterRecheck, ParkWithoutRecheck, BellSeenAfterPark],
    both_directions
);

/// Two threads of the client sleep for different marks; one ring must reach both.
fn two_sleepers() {
    let bed = Bed::new(0, 4);
    let second = spawn(&bed, |bed| wait_applied(bed, 2));
    let serving = spawn(&bed, |bed| {
        // SAFETY: the model's only server.
        let mut watermarks = unsafe { server::watermarks(&bed.server) };
        let mut ringer = server::ringer(&bed.server, &bed.client);
        for n in 1..=2 {
            watermarks.publish(Watermark::Applied, bed.ordinal(n));
            ringer.ring(&bed.doors.of_server());
        }
    });
    wait_applied(&bed, 1);
    serving.join().unwrap();
    second.join().unwrap();
}

model!(
    two_sleepers_of_one_side,
    BOUND,
    catches [ParkWithoutFence, RingWithoutFence, ParkAfterRecheck, RungOnceForEver],
    two_sleepers
);

model!(
    shutdown_while_the_peer_parks,
    BOUND,
    catches [CloseWithoutRing, ParkWithoutFence],
    || {
        let bed = Bed::new(0, 4);
        let publishing = spawn(&bed, |bed| publish(bed, 1, true));
        assert_eq!(consume(&bed, 1, true), Some(WaitError::Closed));
        publishing.join().unwrap();
    }
);

model!(
    death_while_parked,
    BOUND,
    catches [DeathWakesOnce, DeathNotChecked],
    || {
        let bed = Bed::new(0, 4);
        // The thread that watches the client for the server, after the client's last words.
        let watching = spawn(&bed, |bed| {
            // SAFETY: the model's only client, which is dead.
            let mut producer = unsafe { client::commands(&bed.client, &bed.server, bed.commands.region()) };
            push(&mut producer, 1, 1);
            producer.publish();
            server::waiter(&bed.server, &bed.client, &bed.alive).announce_death(&bed.doors.of_server());
        });
        assert_eq!(consume(&bed, 1, true), Some(WaitError::Dead));
        watching.join().unwrap();
    }
);
