//! The bodies of the fuzz targets: bytes in, nothing out, and never a panic.
//!
//! `verify/fuzz` runs them under cargo-fuzz, `verify/tests/fuzz_smoke.rs` for a bounded number of inputs on any
//! toolchain.

mod applier;
mod likely;
mod nowhere;

use std::convert::Infallible;

use runahead_rings::{ClientPage, Page as _, Region, ServerPage, Start, record, server};
use runahead_wire::{BlobRef, Bulk, Row, Sink, Stage, event, pipe, zerocopy::IntoBytes};

pub use applier::{Reached, applier};
pub use nowhere::Nowhere;

/// Bytes at an 8-byte boundary, as a ring's consumer hands them out; the end is padded with zeros.
fn aligned(data: &[u8]) -> Vec<u64> {
    data.chunks(8)
        .map(|chunk| {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            u64::from_ne_bytes(word)
        })
        .collect()
}

/// Looks at every byte of what a record says.
struct Look;

impl Sink for Look {
    type Error = Infallible;

    fn stage(&mut self, bulk: Bulk<'_>) -> Result<BlobRef, Infallible> {
        if let Bulk::Bytes(bytes) = bulk {
            std::hint::black_box(bytes.iter().fold(0_u8, |sum, byte| sum.wrapping_add(*byte)));
        }
        Ok(BlobRef::NONE)
    }

    fn record<'a, R: Row<'a>>(&mut self, row: &R) -> Result<(), Infallible> {
        // What was decoded encodes again, to the length that it says.
        if let Some(len) = row.encoded_len() {
            let mut bytes = vec![0; len];
            assert!(row.encode(&mut bytes), "{} does not fit the length that it says", R::NAME);
        }
        Ok(())
    }
}

/// A stage of a few bytes.
struct SmallStage([u8; 256]);

impl Stage for SmallStage {
    fn resolve(&self, blob: &BlobRef) -> Option<Bulk<'_>> {
        let start = usize::try_from(blob.offset).ok()?;
        let end = start.checked_add(usize::try_from(blob.size).ok()?)?;
        Some(Bulk::Bytes(self.0.get(start..end)?))
    }
}

/// The decoders and dispatchers of both catalogues on one record. A record that decodes encodes to the same bytes,
/// padding aside.
///
/// # Panics
/// If the encoder and the decoder disagree.
pub fn decoder(data: &[u8]) {
    let words = aligned(data);
    let bytes = &words.as_bytes()[..data.len()];
    let stage = SmallStage([7; 256]);
    let _ = pipe::dispatch(bytes, &stage, &mut pipe::Encoder(Look));
    let _ = event::dispatch(bytes, &stage, &mut event::Encoder(Look));
    if let Ok(record) = pipe::Record::decode(bytes) {
        let len = record.encoded_len();
        assert_eq!(len, Some(bytes.len()), "{:?} says another length than it has", record.op());
        let mut again = vec![0_u64; bytes.len() / 8];
        let again = again.as_mut_slice().as_mut_bytes();
        assert!(record.encode(again), "{:?} does not encode again", record.op());
        let decoded = pipe::Record::decode(again);
        assert_eq!(decoded, Ok(record), "another record after encoding again");
    }
    let _ = event::Record::decode(bytes);
}

/// Bytes of the ring that [`ring_consumer`] looks at.
const RING: usize = 512;

/// A command ring whose bytes, head and tail a client chose: input bytes 0..8 are where the ring begins, 8..16
/// how far behind it the head claims to be, the rest its content.
///
/// # Panics
/// If the consumer goes on for ever, or lends more than the ring has.
pub fn ring_consumer(data: &[u8]) {
    let Some((cursors, content)) = data.split_at_checked(16) else { return };
    let cursors = aligned(cursors);
    let (start, claimed) = (cursors[0] & !7, cursors[1]);
    let mut memory = aligned(content);
    memory.resize(RING / 8, 0);
    let client = ClientPage::new(Start { cursor: start.wrapping_add(claimed), ordinal: 0 });
    let server = ServerPage::new(Start { cursor: start, ordinal: 0 });
    let Ok(region) = Region::from_words(&mut memory) else { unreachable!("a power of two of words") };
    let mut scratch = [0; RING / 16];
    let mut commands = server::commands_copied(&server, &client, region, &mut scratch);
    let mut bytes = 0;
    while let Ok(Some(found)) = commands.next() {
        assert!(found.len() <= record::max_record(RING), "a record of {} bytes", found.len());
        bytes += found.len();
        assert!(bytes <= RING, "more bytes than the ring has");
        decoder(found);
    }
}
