//! Seeded defects that the loom models must catch.
//!
//! Each variant is one way to get a protocol of this crate wrong. Outside the loom build the question whether one
//! is in force is the constant `false`, and the defect is not in the program at all; inside it a test chooses a
//! variant, runs the model and requires loom to fail. A model that passes with its mutant proves nothing.

/// One seeded defect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(not(runahead_loom), allow(missing_docs))]
#[cfg_attr(runahead_loom, allow(missing_docs, reason = "each name says what it breaks"))]
pub enum Mutant {
    // Record ring.
    RingPublishRelaxed,
    RingPublishBeforeWrite,
    RingConsumeWithoutAcquire,
    RingReleaseBeforeRead,
    RingReleaseRelaxed,
    RingReserveWithoutAcquire,
    RingReserveIgnoresTail,
    RingTailCachedForever,
    RingPadNotWritten,
    RingDryWithoutRelease,
    // Stage ring.
    StageReclaimedOnApplied,
    StageRetiredBeforeRead,
    StageRetiredRelaxed,
    StageHeadAfterRecord,
    // Reply space.
    ReplyStatusRelaxed,
    ReplyStatusBeforeBytes,
    ReplyPollWithoutAcquire,
    ReplyTagKept,
    ReplyFreedUnread,
    // Events and watermarks.
    EventAfterApplied,
    AppliedRelaxed,
    EventDroppedWhenFull,
    EventDrainWithoutRing,
    // Doorbell.
    ParkWithoutFence,
    RingWithoutFence,
    ParkAfterRecheck,
    ParkWithoutRecheck,
    BellSeenAfterPark,
    RungOnceForEver,
    GlanceWithoutRing,
    CloseWithoutRing,
    DeathWakesOnce,
    DeathNotChecked,
    // Seqlock.
    SeqNoOddMark,
    SeqWriteWithoutFence,
    SeqEvenRelaxed,
    SeqReadWithoutFence,
    SeqNoSecondLook,
    // Lock.
    BiasWithoutOwnersFence,
    BiasRevokedWithoutFence,
    BiasLookedAtBeforeEntering,
    BiasRevokerDoesNotWait,
    BiasLeftUnrung,
    BiasOwnersShareAWord,
    MutexLeftUnrung,
}

#[cfg(not(runahead_loom))]
#[inline(always)]
pub(crate) const fn on(_mutant: Mutant) -> bool {
    false
}

#[cfg(runahead_loom)]
mod chosen {
    use std::cell::Cell;

    use super::Mutant;

    std::thread_local! {
        // Loom runs all threads of a model on the thread that called it, so this choice reaches them all
        // and tests that run side by side do not disturb each other.
        static CHOSEN: Cell<Option<Mutant>> = const { Cell::new(None) };
    }

    /// Chooses the defect that is in force on this thread, for the models run on it.
    pub fn choose(mutant: Option<Mutant>) {
        CHOSEN.set(mutant);
    }

    /// Whether this defect is in force. Models ask for the steps that are theirs.
    pub fn on(mutant: Mutant) -> bool {
        CHOSEN.get() == Some(mutant)
    }
}

#[cfg(runahead_loom)]
pub use chosen::{choose, on};
