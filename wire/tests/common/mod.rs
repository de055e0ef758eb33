//! Generates valid records of any row from the tables that the macros make, so that a new row is covered
//! without a change here; and a sink and a stage that remember.

#![allow(dead_code, reason = "each test program uses its own part")]

use runahead_wire::catalogue::{RowFlags, RowInfo, TailInfo};
use runahead_wire::payload::{Shape, StructInfo};
use runahead_wire::record::{FLAG_REPLY, HEADER_SIZE};
use runahead_wire::values::{ValueForm, ValueInfo};
use runahead_wire::zerocopy::{FromBytes, IntoBytes};
use runahead_wire::{BlobRef, Bulk, Header, ReplySpace, Row, SharedBytes, Sink, Stage};
use std::sync::atomic::AtomicU64;

/// How a property test runs: so many cases, or as many as `PROPTEST_CASES` says.
pub fn config(usual: u32) -> proptest::test_runner::Config {
    let cases = std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(usual);
    // A failing case becomes a test of its own, with a name; no file of seeds.
    proptest::test_runner::Config { cases, failure_persistence: None, ..Default::default() }
}

/// SplitMix64: small, seedable, good enough to fill records.
#[derive(Debug, Clone)]
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    pub fn below(&mut self, end: usize) -> usize {
        (self.next() % end as u64) as usize
    }

    pub fn fill(&mut self, bytes: &mut [u8]) {
        for byte in bytes {
            *byte = self.next() as u8;
        }
    }
}

/// Bytes that begin at a multiple of 8.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Aligned {
    words: Vec<u64>,
    len: usize,
}

impl Aligned {
    pub fn new(bytes: &[u8]) -> Self {
        let mut aligned = Self { words: vec![0; bytes.len().div_ceil(8)], len: bytes.len() };
        aligned.as_mut().copy_from_slice(bytes);
        aligned
    }

    /// `len` bytes that are not zero, so that a byte which an encoder leaves out is seen.
    pub fn dirty(len: usize) -> Self {
        Self { words: vec![0xA5A5_A5A5_A5A5_A5A5; len.div_ceil(8)], len }
    }
}

impl AsRef<[u8]> for Aligned {
    fn as_ref(&self) -> &[u8] {
        &self.words.as_bytes()[..self.len]
    }
}

impl AsMut<[u8]> for Aligned {
    fn as_mut(&mut self) -> &mut [u8] {
        &mut self.words.as_mut_bytes()[..self.len]
    }
}

fn write_number(place: &mut [u8], number: u64) {
    match place.len() {
        1 => place.copy_from_slice(&(number as u8).to_ne_bytes()),
        2 => place.copy_from_slice(&(number as u16).to_ne_bytes()),
        4 => place.copy_from_slice(&(number as u32).to_ne_bytes()),
        8 => place.copy_from_slice(&number.to_ne_bytes()),
        _ => place.fill(number as u8),
    }
}

fn valid_number(info: &ValueInfo, random: &mut Random) -> u32 {
    match info.form {
        ValueForm::Enum => info.numbers[random.below(info.numbers.len())].1,
        ValueForm::Mask => info.largest() & random.next() as u32,
    }
}

/// Makes what `place` holds valid for its shape.
fn repair(shape: &Shape, place: &mut [u8], random: &mut Random) {
    match shape {
        Shape::Plain { .. } | Shape::Handle => {}
        Shape::Blob => write_blob(place, &BlobRef::staged(random.next() % 1000, 1 + random.next() % 200)),
        Shape::Value { info, .. } => write_number(place, u64::from(valid_number(info, random))),
        Shape::Array { size, item, .. } => {
            for place in place.chunks_exact_mut(*size) {
                repair(item, place, random);
            }
        }
        Shape::Struct(info) => {
            place.copy_from_slice(
                &valid_struct(info, random, |_| None).expect("a struct has some valid image"),
            );
        }
    }
}

fn write_blob(place: &mut [u8], blob: &BlobRef) {
    place.copy_from_slice(blob.as_bytes());
}

/// A random image of a struct that passes the struct's own check, and `fault`, which names a member that it
/// wants changed. The search knows no rule: it changes the member that was named, or clears some other one.
/// It may find nothing, where `fault` wants what the struct's check forbids.
pub fn valid_struct(
    info: &StructInfo,
    random: &mut Random,
    fault: impl Fn(&[u8]) -> Option<&'static str>,
) -> Option<Vec<u8>> {
    let mut image = vec![0; info.size];
    random.fill(&mut image);
    for member in info.members {
        repair(&member.shape, &mut image[member.offset..][..member.size], random);
    }
    for _ in 0..5_000 {
        let Some(name) = (info.check)(&image).err().or_else(|| fault(&image)) else {
            return Some(image);
        };
        let named = info.members.iter().find(|member| member.name == name);
        let named = named.unwrap_or_else(|| panic!("{}: check names {name}, which is no member", info.name));
        let other = &info.members[random.below(info.members.len())];
        let (member, number) =
            if random.below(2) == 0 { (named, random.next() % 40) } else { (other, random.next() % 2) };
        let place = &mut image[member.offset..][..member.size];
        write_number(place, number);
        repair(&member.shape, place, random);
    }
    None
}

/// A valid record of a live row, with tails of at most `longest` elements (or one, on a row that has no empty
/// tail) and, on a reply row, reply space by chance.
pub fn valid_record(row: &RowInfo, longest: u32, random: &mut Random) -> Aligned {
    let info = row.payload.expect("a live row has a payload");
    let image = |longest: u32, random: &mut Random| {
        let fault = |image: &[u8]| {
            let declared = |tail: &TailInfo| (tail.declared)(image).expect("size");
            row.tails.iter().find(|tail| declared(tail) > tail.max.min(longest)).map(|tail| tail.count)
        };
        valid_struct(info, random, fault)
    };
    let mut image = image(longest, random)
        .or_else(|| image(longest.max(1), random))
        .unwrap_or_else(|| panic!("{}: no valid payload found", row.name));
    for blob in row.blobs.iter().filter(|blob| blob.optional) {
        let member = info.members.iter().find(|member| member.name == blob.name).expect("a blob is a member");
        for place in image[member.offset..][..member.size].chunks_exact_mut(size_of::<BlobRef>()) {
            if random.below(2) == 0 {
                write_blob(place, &BlobRef::NONE);
            }
        }
    }
    let reply = row.flags.contains(RowFlags::REPLY) && random.below(2) == 0;
    let mut record = vec![0; HEADER_SIZE];
    if reply {
        let mut space = [0; 16];
        random.fill(&mut space);
        record.extend(space);
    }
    record.extend(&image);
    for tail in row.tails {
        record.resize(record.len().next_multiple_of(tail.align), 0);
        for _ in 0..(tail.declared)(&image).expect("size") {
            let mut element = vec![0; tail.size];
            random.fill(&mut element);
            repair(&tail.element, &mut element, random);
            record.extend(element);
        }
    }
    record.resize(record.len().next_multiple_of(8), 0);
    let flags = if reply { FLAG_REPLY } else { 0 };
    let header = Header { op: row.op, flags, size: record.len() as u32 };
    record[..HEADER_SIZE].copy_from_slice(&header.to_bytes());
    Aligned::new(&record)
}

/// The blobs of a record in order of the columns, those of no bytes left out; and the same record with each
/// of them moved, as it looks once the bytes were staged again elsewhere.
pub fn staged_elsewhere(row: &RowInfo, record: &Aligned) -> (Vec<BlobRef>, Vec<BlobRef>, Aligned) {
    let info = row.payload.expect("a live row has a payload");
    let flags = Header::from_bytes(*record.as_ref().first_chunk().expect("header")).flags;
    let payload = HEADER_SIZE + if flags == FLAG_REPLY { size_of::<ReplySpace>() } else { 0 };
    let (mut from, mut to, mut moved) = (Vec::new(), Vec::new(), record.clone());
    for blob in row.blobs {
        let member = info.members.iter().find(|member| member.name == blob.name).expect("a blob is a member");
        let places = &mut moved.as_mut()[payload + member.offset..][..member.size];
        for place in places.chunks_exact_mut(size_of::<BlobRef>()) {
            let old = BlobRef::read_from_bytes(place).expect("size");
            if !old.is_none() {
                let new = BlobRef { offset: old.offset + 4096, ..old };
                write_blob(place, &new);
                from.push(old);
                to.push(new);
            }
        }
    }
    (from, to, moved)
}

/// A stage whose byte at position `n` is a function of `n`; every second blob is shared memory.
#[derive(Debug)]
pub struct PatternStage {
    bytes: Vec<u8>,
    words: Vec<AtomicU64>,
}

impl PatternStage {
    pub fn new() -> Self {
        let bytes: Vec<u8> = (0..2048_u32).map(|at| (at * 167 + (at >> 8) * 13) as u8).collect();
        let words =
            bytes.chunks_exact(8).map(|word| AtomicU64::new(u64::from_ne_bytes(word.try_into().expect("8"))));
        Self { words: words.collect(), bytes }
    }

    pub fn bytes(&self, blob: &BlobRef) -> &[u8] {
        &self.bytes[blob.offset as usize..][..blob.size as usize]
    }
}

impl Stage for PatternStage {
    fn resolve(&self, blob: &BlobRef) -> Option<Bulk<'_>> {
        let (start, size) = (usize::try_from(blob.offset).ok()?, usize::try_from(blob.size).ok()?);
        if start.is_multiple_of(8) {
            SharedBytes::new(self.words.get(start / 8..)?, size).map(Bulk::Shared)
        } else {
            self.bytes.get(start..start.checked_add(size)?).map(Bulk::Bytes)
        }
    }
}

/// Keeps records and bulk bytes. A bulk gets the next of `places`, so that a record that is encoded again can
/// equal the one it came from.
#[derive(Debug, Default)]
pub struct Recording {
    pub records: Vec<Aligned>,
    pub bulks: Vec<Vec<u8>>,
    pub places: std::collections::VecDeque<BlobRef>,
}

impl Sink for Recording {
    type Error = String;

    fn stage(&mut self, bulk: Bulk<'_>) -> Result<BlobRef, String> {
        let bytes = match bulk {
            Bulk::Bytes(bytes) => bytes.to_vec(),
            Bulk::Shared(shared) => {
                let mut bytes = vec![0; shared.len()];
                assert!(shared.copy_to(0, &mut bytes));
                bytes
            }
            Bulk::Staged(_) => return Err("a dispatcher hands out no reservation".into()),
        };
        self.bulks.push(bytes);
        self.places.pop_front().ok_or_else(|| "more bulks than blobs".into())
    }

    fn record<'a, R: Row<'a>>(&mut self, row: &R) -> Result<(), String> {
        let mut out = Aligned::dirty(row.encoded_len().ok_or("the tails disagree with the payload")?);
        if !row.encode(out.as_mut()) {
            return Err("not encoded".into());
        }
        self.records.push(out);
        Ok(())
    }
}
