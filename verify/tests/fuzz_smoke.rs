//! A bounded run of the fuzz targets over their corpus and mutations of it, on any toolchain. The long run is
//! `./x check`'s.

mod common;

use std::{
    fs,
    path::{Path, PathBuf},
};

use common::Random;
use runahead_verify::fuzz;

fn corpus(target: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus").join(target)
}

fn seeds(target: &str) -> Vec<Vec<u8>> {
    let folder = corpus(target);
    let entries = fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut files: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    // The same inputs in the same order everywhere.
    files.sort();
    files.iter().map(|file| fs::read(file).unwrap()).collect()
}

/// One to four changes of the kinds that find most: bits, bytes, interesting words, lengths, pieces of others.
fn mutate(random: &mut Random, input: &mut Vec<u8>, seeds: &[Vec<u8>]) {
    for _ in 0..=random.below(3) {
        let at = random.below(input.len().max(1) as u64) as usize;
        match random.below(6) {
            0 if !input.is_empty() => input[at] ^= 1 << random.below(8),
            1 if !input.is_empty() => input[at] = random.next() as u8,
            2 => {
                let word = [0, 1, 7, 8, 0x7fff_ffff, 0x8000_0000, 0xffff_ffff_u32][random.below(7) as usize];
                for (to, from) in input[at..].iter_mut().zip(word.to_le_bytes()) {
                    *to = from;
                }
            }
            3 => input.truncate(at),
            4 => input.extend((0..random.below(24)).map(|_| 0)),
            _ => {
                let other = &seeds[random.below(seeds.len() as u64) as usize];
                let from = random.below(other.len().max(1) as u64) as usize;
                for (to, from) in input[at..].iter_mut().zip(&other[from..]) {
                    *to = *from;
                }
            }
        }
    }
}

fn smoke(target: &str, body: fn(&[u8]), runs: u64) {
    let seeds = seeds(target);
    assert!(seeds.len() >= 5, "the corpus of {target} has {} inputs", seeds.len());
    for seed in &seeds {
        body(seed);
    }
    let mut random = Random::new(0x5eed);
    for _ in 0..runs {
        let mut input = seeds[random.below(seeds.len() as u64) as usize].clone();
        mutate(&mut random, &mut input, &seeds);
        body(&input);
    }
}

#[test]
fn decoder() {
    smoke("decoder", fuzz::decoder, 2_000_000);
}

#[test]
fn ring_consumer() {
    smoke("ring_consumer", fuzz::ring_consumer, 1_000_000);
}

/// The applier on random inputs, which are the choices that make its records: nothing panics, and the records
/// get far. Every row takes effect somewhere, and there are hundreds of ways to be refused.
#[test]
fn applier() {
    for seed in seeds("applier") {
        fuzz::applier(&seed);
    }
    let mut random = Random::new(0x0a99_11e5);
    let (mut applied, mut faults) = (std::collections::BTreeMap::new(), std::collections::BTreeSet::new());
    for _ in 0..20_000 {
        let input: Vec<u8> = (0..2000 + random.below(6000)).map(|_| random.next() as u8).collect();
        let reached = fuzz::applier(&input);
        for (row, times) in reached.applied {
            *applied.entry(row).or_insert(0) += times;
        }
        faults.extend(reached.faults);
    }
    let untouched: Vec<_> = runahead_wire::pipe::Op::ALL
        .iter()
        .map(|op| op.name())
        .filter(|row| !applied.contains_key(row))
        .collect();
    assert!(untouched.is_empty(), "no record of {untouched:?} took effect");
    assert!(faults.len() >= 200, "only {} ways to be refused were met", faults.len());
}

#[test]
#[should_panic(expected = "found by a mutation")]
fn mutations_reach_what_no_seed_does() {
    // A body with a defect behind one bit of one byte.
    smoke("decoder", |input| assert!(input.first() != Some(&(0x3b ^ 0x10)), "found by a mutation"), 400_000);
}

/// The corpus has a record of every row, so that no decoder goes untouched. `BLESS=1` writes what is missing.
#[test]
fn corpus_covers_every_row() {
    let mut missing = Vec::new();
    let mut want = |target: &str, name: &str, bytes: &[u8]| {
        let file = corpus(target).join(name);
        if fs::read(&file).ok().as_deref() != Some(bytes) {
            if std::env::var_os("BLESS").is_none() {
                return missing.push(file);
            }
            fs::create_dir_all(corpus(target)).unwrap();
            fs::write(&file, bytes).unwrap();
        }
    };
    for (name, bytes) in records::all() {
        want("decoder", &name, &bytes);
    }
    for seed in 1..=8 {
        let mut random = Random::new(seed);
        let bytes: Vec<u8> = (0..4000).map(|_| random.next() as u8).collect();
        want("applier", &format!("random-{seed}"), &bytes);
    }
    for (name, bytes) in records::rings() {
        want("ring_consumer", &name, &bytes);
    }
    assert!(missing.is_empty(), "not in the corpus as it should be: {missing:?}; BLESS=1 writes it");
}

/// Inputs made from the tables.
mod records {
    use runahead_wire::{catalogue::RowInfo, event, pipe};

    /// A record of every live row: a zeroed payload where that is valid, and one element in each tail.
    pub fn all() -> Vec<(String, Vec<u8>)> {
        let tables = [("pipe", pipe::ROWS), ("event", event::ROWS)];
        let rows = tables.iter().flat_map(|(table, rows)| rows.iter().map(move |row| (table, row)));
        rows.filter_map(|(table, row)| Some((format!("{table}-{:02}-{}", row.op, row.name), record(row)?)))
            .collect()
    }

    fn record(row: &RowInfo) -> Option<Vec<u8>> {
        let payload = row.payload?;
        let mut bytes = vec![0; 8 + payload.size];
        for tail in row.tails {
            let count = payload.members.iter().find(|member| member.name == tail.count)?;
            bytes[8 + count.offset] = 1;
            bytes.resize(bytes.len().next_multiple_of(tail.align) + tail.size, 0);
        }
        bytes.resize(bytes.len().next_multiple_of(8), 0);
        let size = bytes.len() as u32;
        bytes[..2].copy_from_slice(&row.op.to_le_bytes());
        bytes[4..8].copy_from_slice(&size.to_le_bytes());
        Some(bytes)
    }

    /// Rings: empty, a few records, a pad and a wrap, a head that lies, a size that lies.
    pub fn rings() -> Vec<(String, Vec<u8>)> {
        let header = |kind: u16, size: u32| {
            let mut header = kind.to_le_bytes().to_vec();
            header.extend([0, 0]);
            header.extend(size.to_le_bytes());
            header
        };
        let ring = |start: u64, claimed: u64, content: &[(usize, Vec<u8>)]| {
            let mut bytes = start.to_le_bytes().to_vec();
            bytes.extend(claimed.to_le_bytes());
            bytes.resize(16 + 512, 0);
            for (at, piece) in content {
                bytes[16 + at..16 + at + piece.len()].copy_from_slice(piece);
            }
            bytes
        };
        let flush = 66;
        let wrap = vec![(496, header(0, 16)), (0, header(flush, 16))];
        let records = vec![(0, header(flush, 16)), (16, header(flush, 16)), (32, header(1, 16))];
        vec![
            ("empty".into(), ring(0, 0, &[])),
            ("records".into(), ring(0, 48, &records)),
            ("wrap".into(), ring(496, 32, &wrap)),
            ("wrap-of-the-cursor".into(), ring(u64::MAX - 15, 32, &wrap)),
            ("head-lies".into(), ring(0, 4096, &records)),
            ("size-lies".into(), ring(0, 16, &[(0, header(flush, 1 << 20))])),
        ]
    }
}
