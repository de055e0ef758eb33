//! What a peer can do to a ring ends in a named fault: no panic, no wrong slice, no endless loop.
#![cfg(not(runahead_loom))]

mod common;

use common::{Pages, STARTS, Segment, header, word};
use proptest::prelude::*;
use runahead_rings::{Fault, ReserveError, StageRef, Start, Watermark, client, server};

const CAPACITY: usize = 256;

/// Both consumers on a ring whose bytes and head the peer chose; what the first call says.
fn consume(start: u64, bytes: &[(usize, u64)], head: u64) -> Result<Option<Vec<u8>>, Fault> {
    let pages = Pages::new(Start { cursor: start, ordinal: 0 });
    let memory = Segment::new(CAPACITY);
    for &(at, value) in bytes {
        memory.poke(at, value);
    }
    pages.poke_client(word::CLIENT_COMMAND_HEAD, head);
    let mut scratch = [0; CAPACITY / 16];
    let mut copy_out = server::commands_copied(pages.server(), pages.client(), memory.region(), &mut scratch);
    let copied = copy_out.next().map(|found| found.map(<[u8]>::to_vec));
    // SAFETY: nobody writes while the slice lives; the bytes are only nonsense.
    let mut in_place = unsafe { server::commands_in_place(pages.server(), pages.client(), memory.region()) };
    let lent = in_place.next().map(|found| found.map(<[u8]>::to_vec));
    assert_eq!(copied, lent, "the two consumers disagree");
    if let Err(fault) = copied {
        assert_eq!(copy_out.next(), Err(fault), "the first fault stays");
        assert_eq!(in_place.next(), Err(fault), "the first fault stays");
    }
    copied
}

fn refused(start: u64, bytes: &[(usize, u64)], head: u64, name: &str) {
    let fault = consume(start, bytes, head).expect_err(name);
    assert_eq!(fault.to_string(), name);
}

#[test]
fn heads_that_cannot_be() {
    for start in STARTS {
        let base = start & !7;
        for (head, what) in [
            (base.wrapping_add(CAPACITY as u64 + 8), "past the capacity"),
            (base.wrapping_sub(8), "backwards"),
            (base.wrapping_add(12), "off the grid"),
            (base.wrapping_add(1 << 63), "far away"),
        ] {
            let fault = consume(base, &[], head).expect_err(what);
            assert_eq!(fault.to_string(), "RingOverrun(\"Cmd.Head\")", "{what}");
        }
        assert_eq!(consume(base, &[], base), Ok(None), "control: an empty ring is no fault");
    }
}

#[test]
fn sizes_that_cannot_be() {
    let name = "ProtocolCorruption(\"Cmd.Size\")";
    for size in [0, 4, 7, 12, 17, 40, 136, CAPACITY as u32, u32::MAX, u32::MAX - 7] {
        refused(0, &[(0, header(1, 0, size))], 32, name);
    }
    // Past the end of the ring, though published and small enough.
    refused(240, &[(240, header(1, 0, 24))], 240 + 64, name);
    let good = consume(0, &[(0, header(1, 0, 32))], 32).unwrap().unwrap();
    assert_eq!(good.len(), 32, "control: the same record with a true size is read");
}

#[test]
fn pads_that_cannot_be() {
    let name = "ProtocolCorruption(\"Cmd.Pad\")";
    refused(0, &[(0, header(0, 0, CAPACITY as u32))], CAPACITY as u64, name);
    refused(0, &[], CAPACITY as u64, name);
    refused(240, &[(240, header(0, 0, 8))], 240 + 64, name);
    refused(240, &[(240, header(0, 0, 16))], 240 + 8, name);
    refused(240, &[(240, header(0, 0, 0))], 240 + 64, name);
    // A pad, and behind it, at offset 0, another.
    refused(240, &[(240, header(0, 0, 16)), (0, header(0, 0, 16))], 240 + 64, name);
    let good = consume(240, &[(240, header(0, 0, 16)), (0, header(9, 0, 16))], 240 + 32).unwrap().unwrap();
    assert_eq!(good[0], 9, "control: a true pad is stepped over");
    assert_eq!(consume(240, &[(240, header(0, 0, 16))], 240 + 16), Ok(None), "a pad alone");
}

#[test]
fn a_record_larger_than_the_scratch_memory() {
    let pages = Pages::new(Start::default());
    let memory = Segment::new(CAPACITY);
    memory.poke(0, header(1, 0, 64));
    pages.poke_client(word::CLIENT_COMMAND_HEAD, 64);
    for (words, refused) in [(0, true), (7, true), (8, false)] {
        let mut scratch = vec![0; words];
        let mut commands =
            server::commands_copied(pages.server(), pages.client(), memory.region(), &mut scratch);
        assert_eq!(commands.next().is_err(), refused);
    }
}

#[test]
fn a_fault_stays_though_room_is_given_back() {
    let pages = Pages::new(Start::default());
    let memory = Segment::new(CAPACITY);
    memory.poke(0, header(1, 0, 16));
    memory.poke(16, header(1, 0, 4));
    pages.poke_client(word::CLIENT_COMMAND_HEAD, 32);
    let mut scratch = [0; CAPACITY / 16];
    let mut commands = server::commands_copied(pages.server(), pages.client(), memory.region(), &mut scratch);
    assert!(commands.next().unwrap().is_some(), "control: the record before it is read");
    let fault = commands.next().expect_err("a size off the grid");
    // The client now claims that nothing follows the record that was read.
    pages.poke_client(word::CLIENT_COMMAND_HEAD, 16);
    commands.release();
    assert_eq!(commands.next(), Err(fault));
    assert_eq!(commands.poll(), Err(fault));
}

#[test]
fn what_was_checked_is_not_read_again() {
    let pages = Pages::new(Start::default());
    let memory = Segment::new(CAPACITY);
    memory.poke(0, header(1, 0, 32));
    memory.poke(8, 0x1111);
    pages.poke_client(word::CLIENT_COMMAND_HEAD, 32);
    let mut scratch = [0; CAPACITY / 16];
    let mut commands = server::commands_copied(pages.server(), pages.client(), memory.region(), &mut scratch);
    let record = commands.next().unwrap().unwrap();
    memory.poke(0, u64::MAX);
    memory.poke(8, u64::MAX);
    assert_eq!(record.len(), 32);
    assert_eq!(record[..8], header(1, 0, 32).to_le_bytes());
    assert_eq!(record[8..16], 0x1111_u64.to_le_bytes());
}

#[test]
fn tails_that_cannot_be() {
    for start in STARTS {
        let start = start & !7;
        let pages = Pages::new(Start { cursor: start, ordinal: 0 });
        let memory = Segment::new(32);
        // SAFETY: the only producer.
        let mut producer = unsafe { client::commands(pages.client(), pages.server(), memory.region()) };
        let mut push = || {
            producer.reserve(16).map(|mut grant| {
                grant[..8].copy_from_slice(&header(1, 0, 16).to_le_bytes());
                grant.commit();
            })?;
            producer.publish();
            Ok::<_, ReserveError>(())
        };
        let mut full = false;
        while !full {
            full = push() == Err(ReserveError::Full);
        }
        let fault = Err(ReserveError::Fault(Fault::Overrun { ring: "Cmd", cursor: "Tail" }));
        for tail in [start.wrapping_add(40), start.wrapping_sub(8), start.wrapping_add(4)] {
            pages.poke_server(word::SERVER_COMMAND_TAIL, tail);
            assert_eq!(push(), fault, "tail {tail:#x} from {start:#x}");
        }
        pages.poke_server(word::SERVER_COMMAND_TAIL, start.wrapping_add(16));
        assert_eq!(push(), Ok(()), "control: a true tail gives room");
    }
}

#[test]
fn watermarks_that_cannot_be() {
    for start in [0, u64::from(u32::MAX), u64::MAX - 1] {
        let start = Start { cursor: 0, ordinal: start };
        let pages = Pages::new(start);
        let at = |offset: u64| start.ordinal.wrapping_add(offset);
        for (index, mark) in Watermark::ALL.into_iter().enumerate() {
            let word = word::SERVER_WATERMARKS + index * 8;
            let mut watermarks = client::watermarks(pages.server(), start);
            assert_eq!(watermarks.read(mark, at(5)), Ok(at(0)));
            pages.poke_server(word, at(4));
            assert_eq!(watermarks.read(mark, at(5)), Ok(at(4)));
            pages.poke_server(word, at(6));
            let early = watermarks.read(mark, at(5)).expect_err("past what was submitted");
            pages.poke_server(word, at(3));
            let backwards = watermarks.read(mark, at(5)).expect_err("backwards");
            for fault in [early, backwards] {
                assert_eq!(fault.to_string(), format!("ProtocolCorruption(\"Watermark.{}\")", mark.name()));
            }
            pages.poke_server(word, at(0));
        }
    }
}

#[test]
fn stage_references_that_cannot_be() {
    for start in STARTS {
        let start = start & !15;
        let pages = Pages::new(Start { cursor: start, ordinal: 0 });
        let memory = Segment::new(CAPACITY);
        let head = start.wrapping_add(1024);
        pages.poke_client(word::CLIENT_STAGE_HEAD, head);
        let mut stage = server::stage(pages.client(), memory.region(), Start { cursor: start, ordinal: 0 });
        stage.refresh().unwrap();
        let get = |back: u64, size: u64| {
            stage.get(StageRef { position: head.wrapping_sub(back), size }).map(|bytes| bytes.len())
        };
        for (back, size, field) in [
            (272, 16, "Position"),
            (8, 8, "Position"),
            (0_u64.wrapping_sub(16), 16, "Position"),
            (16, 0, "Size"),
            (16, 17, "Size"),
            (16, u64::MAX, "Size"),
            (0, 1, "Size"),
        ] {
            let fault = get(back, size).expect_err(field);
            assert_eq!(fault, Fault::Corrupt { place: "Stage", field }, "{back} {size}");
        }
        assert_eq!(get(16, 16), Ok(16), "control");
        assert_eq!(get(256, 16), Ok(16), "control: the oldest byte");
        pages.poke_client(word::CLIENT_STAGE_HEAD, head.wrapping_sub(16));
        assert_eq!(stage.refresh(), Err(Fault::Overrun { ring: "Stage", cursor: "Head" }));
    }
    // Across the wrap, with everything else in order.
    let pages = Pages::new(Start::default());
    let memory = Segment::new(CAPACITY);
    pages.poke_client(word::CLIENT_STAGE_HEAD, 512 + 64);
    let mut stage = server::stage(pages.client(), memory.region(), Start::default());
    stage.refresh().unwrap();
    let wrapped = stage.get(StageRef { position: 512 - 16, size: 32 }).map(|bytes| bytes.len());
    assert_eq!(wrapped, Err(Fault::Corrupt { place: "Stage", field: "Size" }));
}

#[test]
fn pages_that_are_not_ours() {
    let pages = Pages::new(Start::default());
    let open = |len| pages.open_client(len).map(|_| ()).map_err(|fault| fault.to_string());
    let mismatch = |field| Err(format!("SegmentMismatch(\"ClientPage.{field}\")"));
    assert_eq!(open(5 * 128), Ok(()), "control");
    assert_eq!(open(5 * 128 - 8), mismatch("Size"));
    let stamp = pages.peek_client(word::VERSION_SIZE);
    pages.poke_client(word::VERSION_SIZE, stamp + 1);
    assert_eq!(open(5 * 128), mismatch("Version"));
    pages.poke_client(word::VERSION_SIZE, stamp + (8 << 32));
    assert_eq!(open(5 * 128), mismatch("StatedSize"));
    pages.poke_client(word::VERSION_SIZE, stamp);
    let magic = pages.peek_client(word::MAGIC);
    pages.poke_client(word::MAGIC, pages.peek_server(word::MAGIC));
    assert_eq!(open(5 * 128), mismatch("Magic"));
    pages.poke_client(word::MAGIC, magic);
    assert_eq!(open(5 * 128), Ok(()), "control");
}

proptest! {
    #![proptest_config(common::config(5000))]

    /// Any bytes, any head, any start: each call ends, and what it lends lies inside the ring.
    #[test]
    fn arbitrary_bytes_and_cursors(
        words in proptest::collection::vec(
            prop_oneof![any::<u64>(), (0_u16..3, 0_u32..80).prop_map(|(kind, size)| header(kind, 0, size))],
            CAPACITY / 8,
        ),
        start in any::<u64>().prop_map(|start| start & !7),
        heads in proptest::collection::vec(prop_oneof![0_u64..600, any::<u64>()], 1..6),
    ) {
        let pages = Pages::new(Start { cursor: start, ordinal: 0 });
        let memory = Segment::new(CAPACITY);
        for (index, word) in words.iter().enumerate() {
            memory.poke(index * 8, *word);
        }
        let mut scratch = [0; CAPACITY / 16];
        let mut commands = server::commands_copied(pages.server(), pages.client(), memory.region(), &mut scratch);
        let mut calls = 0;
        for head in heads {
            pages.poke_client(word::CLIENT_COMMAND_HEAD, start.wrapping_add(head));
            while let Ok(Some(record)) = commands.next() {
                prop_assert!(record.len() >= 8 && record.len() <= CAPACITY / 2);
                calls += 1;
                prop_assert!(calls < 1000, "more records than bytes were published");
            }
        }
    }
}
