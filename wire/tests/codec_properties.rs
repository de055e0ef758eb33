//! Properties of the codec, over every live row of both catalogues and of a third one with the shapes that
//! they lack.

mod common;

use common::{Aligned, PatternStage, Random, Recording, staged_elsewhere, valid_record, valid_struct};
use proptest::prelude::*;
use runahead_wire::catalogue::{RowInfo, Standing, TailInfo};
use runahead_wire::record::HEADER_SIZE;
use runahead_wire::{DispatchError, Header, Refusal};
use std::collections::HashSet;

fn live(rows: &'static [RowInfo]) -> impl Iterator<Item = &'static RowInfo> {
    rows.iter().filter(|row| !matches!(row.standing, Standing::Retired { .. }))
}

/// The same checks for each catalogue; the generated names are the same, their types are not.
macro_rules! properties {
    ($module:ident: $catalogue:path) => {
        mod $module {
            use super::*;
            use $catalogue::{Encoder, Op, ROWS, Record, dispatch};

            /// Decodes through the enum and encodes; then dispatches to an encoder, which is an
            /// implementation of every method of the trait, with the bulk bytes on the way.
            fn round_trip(row: &RowInfo, bytes: &Aligned) {
                let record = Record::decode(bytes.as_ref())
                    .unwrap_or_else(|refusal| panic!("{}: {refusal}", row.name));
                assert_eq!(record.op().raw(), row.op);
                assert_eq!(record.check(), Ok(()));
                assert_eq!(record.encoded_len(), Some(bytes.as_ref().len()), "{}", row.name);
                let mut again = Aligned::dirty(bytes.as_ref().len());
                assert!(record.encode(again.as_mut()));
                assert_eq!(again.as_ref(), bytes.as_ref(), "{}", row.name);
                assert_eq!(Record::decode(again.as_ref()), Ok(record));

                let stage = PatternStage::new();
                let (from, to, moved) = staged_elsewhere(row, bytes);
                let mut pipe = Encoder(Recording { places: to.into(), ..Recording::default() });
                assert_eq!(dispatch(bytes.as_ref(), &stage, &mut pipe), Ok(record.op()), "{}", row.name);
                assert_eq!(pipe.0.records.len(), 1);
                assert_eq!(pipe.0.records[0].as_ref(), moved.as_ref(), "{}", row.name);
                let expected: Vec<Vec<u8>> = from.iter().map(|blob| stage.bytes(blob).to_vec()).collect();
                assert_eq!(pipe.0.bulks, expected, "{}", row.name);
            }

            /// Refused by name, or decoded to a record that passes its own check. Both decoders agree.
            fn survives(bytes: &[u8]) -> bool {
                let decoded = Record::decode(bytes);
                let stage = PatternStage::new();
                let mut pipe = Encoder(Recording::default());
                pipe.0.places.extend([runahead_wire::BlobRef::staged(0, 1); 8]);
                match (decoded, dispatch(bytes, &stage, &mut pipe)) {
                    (Ok(record), Ok(op)) => {
                        assert_eq!(record.op(), op);
                        assert_eq!(record.check(), Ok(()));
                        assert_eq!(record.encoded_len(), Some(bytes.len()));
                        true
                    }
                    // The form was right, the stage does not hold the bytes.
                    (Ok(record), Err(DispatchError::Refused(Refusal::BlobNotStaged { owner, .. }))) => {
                        assert_eq!(record.op().name(), owner);
                        true
                    }
                    (Err(refusal), Err(DispatchError::Refused(other))) => {
                        assert_eq!(refusal, other);
                        assert!(!refusal.to_string().is_empty());
                        false
                    }
                    (decoded, dispatched) => panic!("{decoded:?} but {dispatched:?}"),
                }
            }

            #[test]
            fn every_live_row_has_an_op() {
                let numbers: Vec<u16> = Op::ALL.iter().map(|op| op.raw()).collect();
                assert_eq!(numbers, live(ROWS).map(|row| row.op).collect::<Vec<_>>());
                for (at, row) in ROWS.iter().enumerate() {
                    assert_eq!(usize::from(row.op), at + 1);
                }
            }

            proptest! {
                #![proptest_config(common::config(64))]

                #[test]
                fn encode_then_decode_is_the_identity(seed: u64) {
                    for row in live(ROWS) {
                        let mut random = Random(seed ^ u64::from(row.op));
                        for longest in [0, 1, 2, 40] {
                            round_trip(row, &valid_record(row, longest, &mut random));
                        }
                    }
                }

                #[test]
                fn any_bytes_are_refused_or_valid(
                    mut bytes in proptest::collection::vec(any::<u8>(), 0..400),
                    op in 0_u16..100,
                    frame: bool,
                ) {
                    if frame && bytes.len() >= HEADER_SIZE {
                        // Get past the frame, so that the rows' own checks see the rest.
                        bytes.truncate(bytes.len() / 8 * 8);
                        let header = Header { op, flags: u16::from(bytes[4] & 1), size: bytes.len() as u32 };
                        bytes[..HEADER_SIZE].copy_from_slice(&header.to_bytes());
                    }
                    survives(Aligned::new(&bytes).as_ref());
                }
            }

            /// Counts at the limit and one past it, on every row whose one tail has a plain count.
            #[test]
            fn the_longest_tails_decode() {
                let mut reached = 0;
                for row in live(ROWS) {
                    let ([tail], Some(info)) = (row.tails, row.payload) else { continue };
                    let member =
                        info.members.iter().find(|member| member.name == tail.count).expect("member");
                    for count in [tail.max, tail.max + 1] {
                        let short = valid_record(row, 0, &mut Random(u64::from(row.op)));
                        let start = HEADER_SIZE + if short.as_ref()[2] == 0 { 0 } else { 16 };
                        let mut long = short.as_ref()[..start + info.size].to_vec();
                        long[start + member.offset..][..4].copy_from_slice(&count.to_ne_bytes());
                        if (info.check)(&long[start..]).is_err() {
                            // A window has its own rule, which the table of refusals tests.
                            continue;
                        }
                        long.resize(long.len().next_multiple_of(tail.align) + count as usize * tail.size, 0);
                        long.resize(long.len().next_multiple_of(8), 0);
                        let size = (long.len() as u32).to_ne_bytes();
                        long[4..8].copy_from_slice(&size);
                        let long = Aligned::new(&long);
                        if count == tail.max {
                            round_trip(row, &long);
                        } else {
                            let refusal = Refusal::Corrupt { owner: row.name, field: tail.count };
                            assert_eq!(Record::decode(long.as_ref()), Err(refusal));
                        }
                        reached += 1;
                    }
                }
                assert!(reached >= 4, "{reached}");
            }

            #[test]
            fn a_flipped_bit_is_refused_by_name_or_decodes() {
                let (mut valid, mut refused) = (0, 0);
                for seed in 0..4 {
                    for row in live(ROWS) {
                        let mut bytes = valid_record(row, 3, &mut Random(seed << 8 | u64::from(row.op)));
                        for bit in 0..bytes.as_ref().len() * 8 {
                            bytes.as_mut()[bit / 8] ^= 1 << (bit % 8);
                            *(if survives(bytes.as_ref()) { &mut valid } else { &mut refused }) += 1;
                            bytes.as_mut()[bit / 8] ^= 1 << (bit % 8);
                        }
                        assert!(survives(bytes.as_ref()), "{}", row.name);
                    }
                }
                assert!(valid > 0 && refused > 0, "{valid} valid, {refused} refused");
            }

            #[test]
            fn a_truncated_record_is_refused() {
                for row in live(ROWS) {
                    let whole = valid_record(row, 3, &mut Random(u64::from(row.op)));
                    for len in 0..whole.as_ref().len() {
                        let mut cut = Aligned::new(&whole.as_ref()[..len]);
                        assert!(!survives(cut.as_ref()), "{} cut to {len}", row.name);
                        // The same with a header that agrees: now the row's own lengths must refuse.
                        if len >= HEADER_SIZE && len % 8 == 0 {
                            cut.as_mut()[4..8].copy_from_slice(&(len as u32).to_ne_bytes());
                            assert!(!survives(cut.as_ref()), "{} cut to {len} with its header", row.name);
                        }
                    }
                    let mut longer = Aligned::new(&[whole.as_ref(), &[0; 8]].concat());
                    let size = longer.as_ref().len() as u32;
                    longer.as_mut()[4..8].copy_from_slice(&size.to_ne_bytes());
                    assert!(!survives(longer.as_ref()), "{} with 8 bytes more", row.name);
                }
            }

            #[test]
            fn a_misaligned_record_is_refused() {
                for row in live(ROWS) {
                    let bytes = valid_record(row, 3, &mut Random(u64::from(row.op)));
                    let shifted = Aligned::new(&[&[0; 4], bytes.as_ref()].concat());
                    assert_eq!(
                        Record::decode(&shifted.as_ref()[4..]),
                        Err(Refusal::Corrupt { owner: "Record", field: "alignment" }),
                    );
                }
            }

            #[test]
            fn encode_refuses_a_slice_of_another_length() {
                for row in live(ROWS) {
                    let bytes = valid_record(row, 3, &mut Random(u64::from(row.op)));
                    let record = Record::decode(bytes.as_ref()).expect("valid");
                    for len in [0, 8, bytes.as_ref().len() - 8, bytes.as_ref().len() + 8] {
                        assert!(!record.encode(Aligned::dirty(len).as_mut()), "{}", row.name);
                    }
                }
            }

            /// The identity test can fail: one byte of the payload, changed behind the encoder's back, is
            /// seen.
            #[test]
            fn negative_control_a_changed_byte_is_not_the_identity() {
                for row in live(ROWS) {
                    let bytes = valid_record(row, 3, &mut Random(u64::from(row.op)));
                    let record = Record::decode(bytes.as_ref()).expect("valid");
                    let mut again = Aligned::dirty(bytes.as_ref().len());
                    assert!(record.encode(again.as_mut()));
                    let at = again.as_ref().len() - 8;
                    again.as_mut()[at] ^= 1;
                    assert_ne!(again.as_ref(), bytes.as_ref());
                    assert_ne!(Record::decode(again.as_ref()), Ok(record), "{}", row.name);
                }
            }

            /// The generator reaches every tail with none, one and several elements.
            #[test]
            fn the_generator_reaches_every_tail_shape() {
                let mut seen = HashSet::new();
                for row in live(ROWS) {
                    let mut random = Random(u64::from(row.op));
                    for longest in [0, 1, 2, 40].repeat(50) {
                        let bytes = valid_record(row, longest, &mut random);
                        let record = Record::decode(bytes.as_ref()).expect("valid");
                        for tail in row.tails {
                            let count = (tail.declared)(record.payload_bytes()).expect("size");
                            seen.insert((row.op, tail.name, count.min(2)));
                        }
                    }
                    for tail in row.tails {
                        for count in 0..=tail.max.min(2) {
                            let exempt = count == 0 && is_never_empty(row, tail);
                            assert!(
                                seen.contains(&(row.op, tail.name, count)) || exempt,
                                "{}.{} never had {count}",
                                row.name,
                                tail.name,
                            );
                        }
                    }
                }
            }
        }
    };
}

/// Whether a row's own rules forbid that a tail is empty.
fn is_never_empty(row: &RowInfo, tail: &TailInfo) -> bool {
    let info = row.payload.expect("payload");
    let member = info.members.iter().find(|member| member.name == tail.count).expect("a count is a member");
    let mut image = valid_struct(info, &mut Random(1), |_| None).expect("valid");
    image[member.offset..][..member.size].fill(0);
    (info.check)(&image) == Err(tail.count)
}

/// Shapes that the catalogues of the crate do not have: payloads that are no multiple of 8, tails of bytes
/// before tails of wider elements, several such gaps, and one row with reply space, tails and blobs together.
mod odd_shapes {
    runahead_wire::payload! {
        /// Three counts.
        pub struct Counts: 12 {
            /// Elements of the first tail.
            first: u32,
            /// Elements of the second tail.
            second: u32,
            /// Elements of the third tail.
            third: u32,
        }

        /// A count, a value and blobs.
        pub struct Everything: 80 {
            /// One blob.
            one: runahead_wire::BlobRef,
            /// Two blobs.
            two: [runahead_wire::BlobRef; 2],
            /// Elements of the tail.
            count: u32,
            /// A truth.
            truth: u32 as bool,
        }

        /// An element with a rule.
        pub struct Even: 4 {
            /// An even number.
            number: u32,
        }
        check |even| { (even.number & 1 == 1).then_some("number") }
    }

    /// The catalogue.
    pub mod odd {
        use super::{Counts, Even, Everything};
        use runahead_wire::payload::HandleOnly;

        runahead_wire::catalogue! {
            /// Odd shapes.
            pub trait Odd, "odd", revision 1;

            retired { 4 Gone Verb "to leave a hole"; 5 GoneToo Verb "to leave two"; }

            /// Bytes before words of 8.
            1 Gaps = gaps(Counts) Verb None [VAR_TAIL]
                tails { bytes: u8 = first <= 9, wide: u64 = second <= 3, narrow: u16 = third <= 5 };
            /// Tails whose alignment falls, then rises.
            2 Falls = falls(Counts) Verb Applied [VAR_TAIL]
                tails { wide: u64 = first <= 2, even: Even = second <= 3, again: u64 = third <= 2 };
            /// All that a row can have.
            3 All = all(Everything) Query Reply [REPLY BLOB VAR_TAIL OPTIONAL] -> HandleOnly
                tails { bytes: u8 = count <= 30 }
                blobs { one: BlobRef, two: [BlobRef; 2] optional };
            /// A row behind the hole.
            6 Behind = behind(Counts) State None [VAR_TAIL] tails { shorts: i16 = third <= 7 };
        }
    }
}

properties!(pipe: runahead_wire::pipe);
properties!(event: runahead_wire::event);
properties!(odd: crate::odd_shapes::odd);

/// One record of odd shape byte by byte: where parts begin, also behind an empty one, and that gaps are zero.
#[test]
fn gaps_are_where_the_rule_puts_them_and_zero() {
    use odd_shapes::{Counts, odd::rows};
    use runahead_wire::Row;
    let encode = |first: &[u8], second: &[u64], third: &[u16]| {
        let lens = [first.len(), second.len(), third.len()].map(|len| len as u32);
        let payload = Counts { first: lens[0], second: lens[1], third: lens[2] };
        let row = rows::Gaps { payload: &payload, bytes: first, wide: second, narrow: third };
        let mut out = Aligned::dirty(row.encoded_len().expect("consistent"));
        assert!(row.encode(out.as_mut()));
        out.as_ref()[20..].to_vec()
    };
    let wide = u64::from_ne_bytes([2; 8]);
    let narrow = u16::from_ne_bytes([3; 2]);
    assert_eq!(
        encode(&[1], &[wide], &[narrow]),
        [&[1, 0, 0, 0][..], &[2; 8], &[3, 3, 0, 0, 0, 0, 0, 0]].concat()
    );
    // The payload ends at 20, so an empty tail of alignment 8 still moves what follows to 24.
    assert_eq!(encode(&[], &[], &[narrow]), [0, 0, 0, 0, 3, 3, 0, 0, 0, 0, 0, 0]);
    assert_eq!(encode(&[1; 5], &[], &[narrow; 2]), [&[1; 5][..], &[0; 7], &[3; 4], &[0; 4]].concat());
    assert_eq!(encode(&[1; 9], &[wide; 2], &[]), [&[1; 9][..], &[0; 3], &[2; 16]].concat());
    assert_eq!(encode(&[], &[], &[]), [0; 4]);
}
