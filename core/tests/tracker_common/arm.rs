//! An applier that is fed by records, as over a link, but at once.

use std::fmt::Debug;

use runahead_core::{Applier, Fault, Quota, null::Null};
use runahead_wire::{
    BlobRef, Bulk, DispatchError, Row, Sink, Stage,
    pipe::{Encoder, dispatch},
    zerocopy::IntoBytes,
};

use super::{direct::Out, heap::Heap};

/// A server of one arm.
#[derive(Debug)]
pub struct Arm {
    pub applier: Box<Applier<Null, Heap, Out>>,
}

impl Arm {
    pub fn new() -> Self {
        Self { applier: Box::new(Applier::new(Null::default(), Out::default(), Quota::default(), 0)) }
    }
}

/// A sink whose records reach the appliers of some arms.
#[derive(Debug)]
pub struct Feed<'a> {
    arms: Vec<&'a mut Arm>,
    /// Bulk bytes of the record at hand.
    stage: Vec<u8>,
    words: Vec<u64>,
}

/// A pipe into some arms.
pub fn feed<'a>(arms: impl IntoIterator<Item = &'a mut Arm>) -> Encoder<Feed<'a>> {
    Encoder(Feed { arms: arms.into_iter().collect(), stage: Vec::new(), words: Vec::new() })
}

struct Staged<'a>(&'a [u8]);

impl Stage for Staged<'_> {
    fn resolve(&self, blob: &BlobRef) -> Option<Bulk<'_>> {
        self.0.get(blob.offset as usize..(blob.offset + blob.size) as usize).map(Bulk::Bytes)
    }
}

impl Sink for Feed<'_> {
    type Error = Fault;

    fn stage(&mut self, bulk: Bulk<'_>) -> Result<BlobRef, Fault> {
        let Bulk::Bytes(bytes) = bulk else { panic!("the client has memory of its own") };
        let at = self.stage.len();
        self.stage.extend_from_slice(bytes);
        Ok(BlobRef::staged(at as u64, bytes.len() as u64))
    }

    fn record<'r, R: Row<'r>>(&mut self, row: &R) -> Result<(), Fault> {
        self.words.clear();
        self.words.resize(row.encoded_len().expect("tails are as declared") / 8, 0);
        assert!(row.encode(self.words.as_mut_bytes()));
        for arm in &mut self.arms {
            let applied = dispatch(self.words.as_bytes(), &Staged(&self.stage), &mut *arm.applier);
            applied.map_err(|error| match error {
                DispatchError::Pipe(fault) => fault,
                DispatchError::Refused(refusal) => refusal.into(),
            })?;
        }
        self.stage.clear();
        Ok(())
    }
}
