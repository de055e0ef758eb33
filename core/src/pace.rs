//! How far a client may be ahead of its server where it does not present.
//!
//! The present credit bounds a program that presents. One that renders to images, computes, or is in the middle of
//! loading is bounded in bytes by ring and stage alone, and small records can hold much work. So every half of a
//! [`Distance`] the client flushes and sets a mark, and goes on once the mark before that one is retired: no clock,
//! and nothing to do a record, since it is looked at where a batch is published.
//!
//! It bounds what the server retires late. A backend that retires what it has applied (because it copies stage bytes
//! at once) bounds its GPU's queue itself, by the driver that blocks it.

/// Most that is recorded and not retired. A present begins anew: its credit bounds what came before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Distance {
    /// Records.
    pub records: u64,
    /// Flushes, each of which may become a submission.
    pub flushes: u64,
}

impl Distance {
    /// Far beyond a frame of programs that present, and some dozens of submissions, as drivers have them.
    pub const USUAL: Self = Self { records: 1 << 17, flushes: 128 };
}

impl Default for Distance {
    fn default() -> Self {
        Self::USUAL
    }
}

/// Where the client is within its distance.
#[derive(Debug)]
pub(crate) struct Pace {
    distance: Distance,
    /// Ordinal of the last mark or present.
    since: u64,
    /// Flushes since then.
    flushes: u64,
    /// Ordinal of the last mark, if no present came since.
    mark: Option<u64>,
}

impl Pace {
    pub(crate) const fn new(distance: Distance, recorded: u64) -> Self {
        Self { distance, since: recorded, flushes: 0, mark: None }
    }

    pub(crate) const fn presented(&mut self, recorded: u64) {
        *self = Self::new(self.distance, recorded);
    }

    pub(crate) const fn flushed(&mut self) {
        self.flushes += 1;
    }

    /// Whether half the distance was recorded since the last mark.
    pub(crate) const fn wants_mark(&self, recorded: u64) -> bool {
        recorded.wrapping_sub(self.since) >= self.distance.records / 2
            || self.flushes >= self.distance.flushes.div_ceil(2)
    }

    /// Sets a mark; the one before, which must be retired now.
    pub(crate) const fn mark(&mut self, ordinal: u64) -> Option<u64> {
        self.since = ordinal;
        self.flushes = 0;
        self.mark.replace(ordinal)
    }
}
