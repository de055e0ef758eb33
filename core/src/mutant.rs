//! Places where the two halves could go wrong, by name.
//!
//! Outside of models [`on`] is the constant `false`. Under `--cfg runahead_loom` a model chooses one defect, and
//! must then find it: a model that nothing can make fail shows nothing.

/// One seeded defect; each name says what it breaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mutant {
    /// The server publishes how far it got before the events of those records.
    AppliedBeforeEvents,
    /// The client looks for events first and for what it waits for afterwards.
    EventsBeforeLook,
    /// The client waits without having published what it waits for.
    WaitUnpublished,
    /// The client publishes and rings nobody.
    PublishUnrung,
    /// The server publishes and rings nobody.
    AppliedUnrung,
    /// The server writes an answer before it publishes the events that come before it.
    AnswerBeforeEvents,
    /// The client drains a full event ring and rings nobody.
    DrainUnrung,
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
        // As in `runahead_rings::mutant`: loom runs all threads of a model on the thread that called it.
        static CHOSEN: Cell<Option<Mutant>> = const { Cell::new(None) };
    }

    /// Chooses the defect that is in force on this thread, for the models run on it.
    pub fn choose(mutant: Option<Mutant>) {
        CHOSEN.set(mutant);
    }

    /// Whether this defect is in force.
    pub fn on(mutant: Mutant) -> bool {
        CHOSEN.get() == Some(mutant)
    }
}

#[cfg(runahead_loom)]
pub use chosen::{choose, on};
