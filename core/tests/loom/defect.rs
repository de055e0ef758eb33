//! Seeded defects of how a client uses locks and slots. They lie in the models themselves, since the crate has no
//! lock of its own to get wrong; those of recorder and server lie where they would be made.

use std::cell::Cell;

use crate::bed::Defect;

/// One seeded defect; each name says what it breaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mutant {
    /// The lock lets everybody in.
    LockDoesNotLock,
    /// The first record is appended under a second acquisition of the lock.
    RecordedAfterMint,
    /// A handle is freed, and the lock released, before its death record is appended.
    FreedBeforeDeath,
}

std::thread_local! {
    // As in `runahead_rings::mutant`: loom runs all threads of a model on the thread that called it.
    static CHOSEN: Cell<Option<Mutant>> = const { Cell::new(None) };
}

impl Defect for runahead_core::mutant::Mutant {
    fn choose(self) {
        runahead_core::mutant::choose(Some(self));
    }
}

impl Defect for Mutant {
    fn choose(self) {
        CHOSEN.set(Some(self));
    }
}

/// Whether this defect is in force.
pub fn on(mutant: Mutant) -> bool {
    CHOSEN.get() == Some(mutant)
}
