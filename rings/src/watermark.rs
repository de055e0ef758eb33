//! Watermarks: how far the server got, as the client may rely on it.

use crate::{
    cursor::reached,
    fault::Fault,
    mutant::{Mutant, on},
    page::WatermarkLine,
    sync::{Ordering, acquire64},
};

/// One of the server's progress marks. Each counts what it names, from the session's start; late is allowed,
/// early never.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Watermark {
    /// Records applied: decoded and executed as far as the server's CPU goes.
    Applied = 0,
    /// Records retired: nothing that they name in the stage is read any more, by CPU or GPU.
    Retired = 1,
    /// Frames completed by the GPU.
    CompletedFrame = 2,
    /// Presents whose credit is returned.
    PresentAck = 3,
}

impl Watermark {
    /// All of them, in the order of their words.
    pub const ALL: [Self; 4] = [Self::Applied, Self::Retired, Self::CompletedFrame, Self::PresentAck];

    /// The name, as faults print it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Applied => "Applied",
            Self::Retired => "Retired",
            Self::CompletedFrame => "CompletedFrame",
            Self::PresentAck => "PresentAck",
        }
    }
}

/// The server's half.
#[derive(Debug)]
pub struct WatermarkWriter<'a> {
    line: &'a WatermarkLine,
    last: [u64; 4],
}

impl<'a> WatermarkWriter<'a> {
    /// # Safety
    /// It is the only writer of `line` for `'a`. (Nothing here is unsafe by itself; what the client does on
    /// seeing a watermark is.)
    pub(crate) unsafe fn new(line: &'a WatermarkLine) -> Self {
        let last = core::array::from_fn(|mark| line.marks[mark].load(Ordering::Relaxed));
        Self { line, last }
    }

    /// Moves a watermark forward. A value that is not ahead changes nothing.
    ///
    /// What the server did before, for all records up to `value`, is visible to a client that sees it: the
    /// release store pairs with the acquire in [`WatermarkReader::read`].
    #[inline]
    pub fn publish(&mut self, mark: Watermark, value: u64) {
        let last = &mut self.last[mark as usize];
        debug_assert!(reached(value, *last), "watermark {} would move backwards", mark.name());
        if *last == value || !reached(value, *last) {
            return;
        }
        *last = value;
        let relaxed = on(Mutant::AppliedRelaxed) && matches!(mark, Watermark::Applied)
            || on(Mutant::StageRetiredRelaxed) && matches!(mark, Watermark::Retired);
        let order = if relaxed { Ordering::Relaxed } else { Ordering::Release };
        self.line.marks[mark as usize].store(value, order);
    }
}

/// The client's half.
#[derive(Debug)]
pub struct WatermarkReader<'a> {
    peer: &'a WatermarkLine,
    last: [u64; 4],
}

impl<'a> WatermarkReader<'a> {
    pub(crate) const fn new(peer: &'a WatermarkLine, start: u64) -> Self {
        Self { peer, last: [start; 4] }
    }

    /// The watermark now. `submitted` is the last value that it may have: the records, frames or presents
    /// that this client has published.
    ///
    /// # Errors
    /// [`Fault::Watermark`] if it moved backwards or passed `submitted`.
    #[inline]
    pub fn read(&mut self, mark: Watermark, submitted: u64) -> Result<u64, Fault> {
        let value = acquire64(&self.peer.marks[mark as usize]);
        let last = &mut self.last[mark as usize];
        if value.wrapping_sub(*last) > submitted.wrapping_sub(*last) {
            return Err(Fault::Watermark { name: mark.name() });
        }
        *last = value;
        Ok(value)
    }

    /// The value seen last.
    #[inline]
    #[must_use]
    pub const fn last(&self, mark: Watermark) -> u64 {
        self.last[mark as usize]
    }
}
