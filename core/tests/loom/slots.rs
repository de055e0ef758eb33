//! Slots under the record lock: in whatever order threads come, the server takes the records.

use std::{collections::HashSet, convert::Infallible, sync::Arc};

use runahead_core::{lock::Lock, slots::Slots, storage::Inline};
use runahead_wire::Handle;

use crate::{
    bed::{Bound, model},
    defect::{Mutant, on},
    lock::Sleeping,
};

#[derive(Clone, Copy, Debug)]
enum Record {
    Define(Handle),
    Death(Handle),
}

/// What the client's threads share.
struct Client {
    slots: Slots<Inline<4, 0>>,
    records: Vec<Record>,
}

type Shared = Sleeping<Client>;

/// Mints a handle and appends its first record.
fn create(client: &Shared, lifetime: u64) -> Handle {
    if on(Mutant::RecordedAfterMint) {
        let handle = client.with(|client| client.slots.mint(lifetime)).unwrap();
        client.with(|client| client.records.push(Record::Define(handle)));
        return handle;
    }
    client
        .with(|Client { slots, records }| {
            slots.mint_with(lifetime, |handle| {
                records.push(Record::Define(handle));
                Ok::<_, Infallible>(())
            })
        })
        .unwrap()
}

/// Appends the death record of a handle and frees it.
fn destroy(client: &Shared, handle: Handle) {
    if on(Mutant::FreedBeforeDeath) {
        client.with(|client| client.slots.free(handle)).unwrap();
        client.with(|client| client.records.push(Record::Death(handle)));
        return;
    }
    client.with(|Client { slots, records }| {
        records.push(Record::Death(handle));
        slots.free(handle).unwrap();
    });
}

/// The server's rule, as `runahead_core::objects::Records` has it: the next slot or an old one with a larger
/// generation; a death of what lives.
fn apply(records: &[Record]) {
    // Generation and life by slot; slot 0 is nobody's.
    let mut slots = vec![(0, false)];
    for (n, &record) in records.iter().enumerate() {
        match record {
            Record::Define(Handle { slot, generation }) => {
                let slot = slot as usize;
                assert!((1..=slots.len()).contains(&slot), "record {n} skips a slot in {records:?}");
                if slot == slots.len() {
                    slots.push((0, false));
                }
                assert!(generation > slots[slot].0, "record {n} has an old generation in {records:?}");
                slots[slot] = (generation, true);
            }
            Record::Death(Handle { slot, generation }) => {
                let known = slots.get_mut(slot as usize).filter(|slot| **slot == (generation, true));
                known.unwrap_or_else(|| panic!("record {n} ends no live object in {records:?}")).1 = false;
            }
        }
    }
}

/// Each of two threads creates an object, destroys it and creates another.
fn two_threads() {
    let client = Arc::new(Shared::new(Client { slots: Slots::new(1, u32::MAX), records: Vec::new() }));
    let run = |client: Arc<Shared>, lifetime| {
        let first = create(&client, lifetime);
        destroy(&client, first);
        [first, create(&client, lifetime)]
    };
    let other = client.clone();
    let thread = loom::thread::spawn(move || run(other, 1));
    let mut handles = run(client.clone(), 2).to_vec();
    handles.extend(thread.join().unwrap());
    client.with(|Client { slots, records }| {
        apply(records);
        assert_eq!(handles.iter().collect::<HashSet<_>>().len(), 4, "a handle twice in {handles:?}");
        assert_eq!((slots.live(), records.len()), (2, 6));
        assert_eq!([2, 1].map(|lifetime| slots.find(lifetime)), [handles[1], handles[3]].map(Some));
    });
}

model!(
    two_threads_of_a_client,
    Bound::Exhaustive,
    catches [Mutant::LockDoesNotLock, Mutant::RecordedAfterMint, Mutant::FreedBeforeDeath],
    two_threads
);
