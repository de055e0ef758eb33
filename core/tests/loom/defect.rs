//! Seeded defects of how a client uses what this crate offers. They lie in the models themselves: the crate has
//! no lock and no atomic of its own to get wrong.

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

impl Defect for Mutant {
    fn choose(self) {
        CHOSEN.set(Some(self));
    }
}

/// Whether this defect is in force.
pub fn on(mutant: Mutant) -> bool {
    CHOSEN.get() == Some(mutant)
}
