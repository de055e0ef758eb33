//! The stage: room returns when the server has retired the records that used it, not before.

use runahead_rings::{
    StageError, Watermark, client,
    mutant::{Mutant, on},
    server,
};

use crate::bed::{Bed, Bound, fill, model};

/// Three uploads of half the stage each. The server applies each record at once and reads its bytes later, as
/// a GPU does; only then are they retired.
fn reclaim() {
    let bed = Bed::new(0, 8);
    let other = bed.clone();
    let serving = loom::thread::spawn(move || {
        let mut scratch = [0; 8];
        let mut commands =
            server::commands_copied(&other.server, &other.client, other.commands.region(), &mut scratch);
        let mut stage = server::stage(&other.client, other.stage.region(), other.start);
        // SAFETY: the model's only server.
        let mut watermarks = unsafe { server::watermarks(&other.server) };
        for n in 1..=3 {
            let record = loop {
                if let Some(record) = commands.next().unwrap() {
                    break record;
                }
                loom::thread::yield_now();
            };
            let position = u64::from_le_bytes(record[8..16].try_into().unwrap());
            watermarks.publish(Watermark::Applied, other.ordinal(n));
            if on(Mutant::StageRetiredBeforeRead) {
                watermarks.publish(Watermark::Retired, other.ordinal(n));
            }
            stage.refresh().unwrap();
            let bytes = stage.get(runahead_rings::StageRef { position, size: 12 }).unwrap();
            let mut copy = [0; 12];
            bytes.copy_to(&mut copy);
            assert_eq!(copy, [n as u8; 12], "the stage bytes of record {n} changed before it retired");
            watermarks.publish(Watermark::Retired, other.ordinal(n));
        }
    });

    // SAFETY: the model's only client.
    let mut producer = unsafe { client::commands(&bed.client, &bed.server, bed.commands.region()) };
    // SAFETY: as above.
    let mut stage = unsafe { client::stage(&bed.client, bed.stage.region()) };
    let mut watermarks = client::watermarks(&bed.server, bed.start);
    let mark = if on(Mutant::StageReclaimedOnApplied) { Watermark::Applied } else { Watermark::Retired };
    for n in 1..=3_u16 {
        let reference = loop {
            match stage.reserve(12) {
                Ok(mut grant) => {
                    grant.fill(n as u8);
                    break grant.commit();
                }
                Err(StageError::Full) => {
                    stage.reclaim(watermarks.read(mark, producer.records()).unwrap());
                    loom::thread::yield_now();
                }
                Err(error) => panic!("{error}"),
            }
        };
        if !on(Mutant::StageHeadAfterRecord) {
            stage.publish();
        }
        let mut record = producer.reserve(16).unwrap();
        fill(&mut record, n);
        record[8..16].copy_from_slice(&reference.position.to_le_bytes());
        record.commit();
        stage.used_by(producer.records());
        producer.publish();
        if on(Mutant::StageHeadAfterRecord) {
            stage.publish();
        }
    }
    serving.join().unwrap();
}

model!(
    reclaimed_when_retired,
    Bound::Exhaustive,
    catches [StageReclaimedOnApplied, StageRetiredBeforeRead, StageRetiredRelaxed, StageHeadAfterRecord, RingPublishRelaxed],
    reclaim
);
