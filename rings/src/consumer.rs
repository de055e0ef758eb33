//! The reading half of a record ring: in place, or copied out.
//!
//! Both halves read a record's header once, as one word, and check it against what was published before a
//! byte of the record is looked at. [`CopyOut`] then copies the record, that same header word included, into
//! memory of its own: a peer that changes the shared bytes afterwards changes nothing that was checked.
//! [`InPlace`] lends the shared bytes themselves and is for a peer in the same trust domain.

use crate::{
    cursor::advanced,
    fault::Fault,
    memory::Region,
    mutant::{Mutant, on},
    page::{HeadLine, TailLine},
    prefetch,
    record::{HEADER, kind_and_size},
    sync::{Ordering, fence},
};

/// Room is given back in steps of this size, or when the ring is dry, not per record: the tail's line then
/// crosses between the cores once a step.
const RELEASE_STEP: usize = 64 * 1024;

/// A record found, not yet read.
#[derive(Clone, Copy, Debug)]
struct Found {
    at: usize,
    size: usize,
    header: u64,
}

/// Finds records and gives room back: what both ways to consume share.
///
/// Who orders what: see [`Producer`](crate::Producer).
#[derive(Debug)]
struct Tap<'a> {
    region: Region<'a>,
    /// Offset of the next record in the region; the region's length when the lap is read.
    at: usize,
    /// Bytes from `at` on that are published and contiguous, as far as was looked, but at most the largest
    /// record and what may be read before room is given back: one comparison then stands for all of these.
    left: usize,
    max: usize,
    records: u64,
    /// Position of offset 0 in this lap: what is read ends at `lap + at`.
    lap: u64,
    released: u64,
    pads: u64,
    /// The last head seen; the true one is at or past it.
    head: u64,
    step: usize,
    /// The record handed out last, which may be in use until the next call; loom is told when that ends.
    #[cfg(runahead_loom)]
    last: (usize, usize),
    /// Set by each release, cleared by `take_released`.
    has_released: bool,
    /// The first fault; every later call returns it again.
    fault: Option<Fault>,
    line: &'a TailLine,
    peer: &'a HeadLine,
    ring: &'static str,
}

impl<'a> Tap<'a> {
    fn new(
        region: Region<'a>,
        line: &'a TailLine,
        peer: &'a HeadLine,
        ring: &'static str,
        max: usize,
    ) -> Self {
        // Our own page: the value that we (or our creator) stored.
        let tail = line.tail.load(Ordering::Relaxed);
        let at = (tail & (region.len() as u64 - 1)) as usize;
        let step = RELEASE_STEP.min(region.len() / 4);
        Self {
            region,
            at,
            left: 0,
            max,
            records: 0,
            lap: tail.wrapping_sub(at as u64),
            released: tail,
            pads: 0,
            head: tail,
            step,
            #[cfg(runahead_loom)]
            last: (0, 0),
            has_released: false,
            fault: None,
            line,
            peer,
            ring,
        }
    }

    /// End of what is read.
    #[inline(always)]
    const fn tail(&self) -> u64 {
        self.lap.wrapping_add(self.at as u64)
    }

    #[cold]
    #[inline(never)]
    fn fail(&mut self, fault: Fault) -> Fault {
        // Later calls find nothing at hand, nor a ring that was left dry, and then the fault.
        self.left = 0;
        self.released = self.tail().wrapping_sub(1);
        self.fault = Some(fault);
        fault
    }

    /// Gives the room of all records read so far back to the producer. After a fault there is nothing to give:
    /// the session ends, and `released` keeps a value that no dry ring has.
    fn release(&mut self) {
        if self.released == self.tail() || self.fault.is_some() {
            return;
        }
        #[cfg(runahead_loom)]
        self.region.will_read(self.last.0, self.last.1);
        let order = if on(Mutant::RingReleaseRelaxed) { Ordering::Relaxed } else { Ordering::Release };
        // Pairs with the producer's acquire of the tail.
        self.line.tail.store(self.tail(), order);
        self.released = self.tail();
        self.has_released = true;
    }

    /// Bytes from `at` on that are published and contiguous. At most the capacity: the head was checked.
    fn contiguous(&self) -> usize {
        let published = self.head.wrapping_sub(self.tail()) as usize;
        published.min(self.region.len() - self.at)
    }

    /// Whether a ring that was dry at the last look still is, in line: a consumer that polls comes by each time, and
    /// each call on that path was seen to cost the round trip of a record and an event 100 to 300 ns.
    #[inline(always)]
    fn is_still_dry(&self) -> bool {
        let tail = self.tail();
        self.released == tail && self.peer.head.load(Ordering::Relaxed) == tail
    }

    /// Looks further once `left` is used up: whether anything more is published. Gives room back in steps, and
    /// all of it if nothing more is there, so that a producer that waits for some sees it before we sleep.
    #[cold]
    #[inline(never)]
    fn advance(&mut self) -> Result<bool, Fault> {
        if let Some(fault) = self.fault {
            return Err(fault);
        }
        let capacity = self.region.len();
        if self.at == capacity {
            self.lap = self.lap.wrapping_add(capacity as u64);
            self.at = 0;
        }
        if self.tail().wrapping_sub(self.released) >= self.step as u64 {
            self.release();
        }
        if self.head == self.tail() {
            let head = self.peer.head.load(Ordering::Relaxed);
            if !on(Mutant::RingConsumeWithoutAcquire) {
                fence(Ordering::Acquire);
            }
            if !advanced(self.tail(), head, self.released.wrapping_add(capacity as u64)) {
                return Err(self.fail(Fault::Overrun { ring: self.ring, cursor: "Head" }));
            }
            if head == self.tail() {
                if !on(Mutant::RingDryWithoutRelease) {
                    self.release();
                }
                return Ok(false);
            }
            self.head = head;
        }
        self.left = self.contiguous().min(self.max).min(self.step);
        Ok(true)
    }

    /// Whether a record of `size` bytes is there although `left` says less: `left` ends in the middle of records.
    #[cold]
    #[inline(never)]
    fn stretch(&mut self, size: usize) -> bool {
        self.left = self.contiguous().min(self.max);
        size <= self.left
    }

    /// The next record, checked against what is published; a pad is stepped over.
    #[inline(always)]
    fn next(&mut self) -> Result<Option<Found>, Fault> {
        loop {
            if self.left == 0 && (self.is_still_dry() || !self.advance()?) {
                return Ok(None);
            }
            let header = self.region.word(self.at);
            let (kind, size) = kind_and_size(header);
            if kind == 0 {
                // Ends: behind a pad comes offset 0, where a pad is refused.
                self.skip_pad(size)?;
                continue;
            }
            // Sizes are 8 and more: 0 wraps to the top, the rest up to 7 is off the grid.
            let aligned = size.is_multiple_of(HEADER);
            if !aligned || size.wrapping_sub(1) >= self.left && (size == 0 || !self.stretch(size)) {
                return Err(self.fail(Fault::Corrupt { place: self.ring, field: "Size" }));
            }
            let found = Found { at: self.at, size, header };
            // Also past what is published. A consumer that has caught up pays for it (its producer fetches the
            // lines back), but one that lags, as it does under load, reads a quarter faster.
            prefetch::for_read(self.region.at(self.at).as_ptr());
            #[cfg(runahead_loom)]
            {
                self.last = (self.at, size);
            }
            self.at += size;
            self.left -= size;
            self.records = self.records.wrapping_add(1);
            if on(Mutant::RingReleaseBeforeRead) {
                self.line.tail.store(self.tail(), Ordering::Release);
            }
            return Ok(Some(found));
        }
    }

    /// Steps over the pad of `size` bytes at `at`.
    #[cold]
    #[inline(never)]
    fn skip_pad(&mut self, size: usize) -> Result<(), Fault> {
        // A pad fills the run up to the wrap exactly, and so is never at offset 0.
        if self.at == 0 || size != self.region.len() - self.at || size > self.contiguous() {
            return Err(self.fail(Fault::Corrupt { place: self.ring, field: "Pad" }));
        }
        self.at += size;
        self.left = 0;
        self.pads += 1;
        Ok(())
    }
}

macro_rules! shared_methods {
    () => {
        /// Ordinal of the record returned last, counted from this half's creation.
        #[inline(always)]
        #[must_use]
        pub const fn records(&self) -> u64 {
            self.tap.records
        }

        /// Position behind the record returned last: its bytes since the ring began, pads included.
        #[must_use]
        pub const fn position(&self) -> u64 {
            self.tap.tail()
        }

        /// Bytes of the ring.
        #[must_use]
        pub const fn capacity(&self) -> usize {
            self.tap.region.len()
        }

        /// Pads that this half stepped over.
        #[must_use]
        pub const fn pads(&self) -> u64 {
            self.tap.pads
        }

        /// Whether a record may be there: the condition to wait for after [`Self::next`] found none. (A pad
        /// alone also counts; then `next` finds none again.)
        ///
        /// # Errors
        /// The [`Fault`] of the producer; the same one ever after.
        #[inline]
        pub fn poll(&mut self) -> Result<bool, Fault> {
            Ok(self.tap.left != 0 || self.tap.advance()?)
        }

        /// Gives the room of everything read so far back at once. [`Self::next`] does so by itself in steps
        /// and when it finds the ring dry.
        #[inline(always)]
        pub fn release(&mut self) {
            self.tap.release();
        }

        /// Whether room was given back since the last call: if so, ring the producer's doorbell.
        #[inline(always)]
        pub fn take_released(&mut self) -> bool {
            // Almost always false: then nothing is written.
            self.tap.has_released && core::mem::take(&mut self.tap.has_released)
        }
    };
}

/// Consumes records where they lie. For a producer in the same trust domain.
#[derive(Debug)]
pub struct InPlace<'a> {
    tap: Tap<'a>,
}

impl<'a> InPlace<'a> {
    /// # Safety
    /// It is the only consumer of this ring for `'a`. The producer is in this trust domain: it does not write
    /// what it has published until its room is given back.
    pub(crate) unsafe fn new(
        region: Region<'a>,
        line: &'a TailLine,
        peer: &'a HeadLine,
        ring: &'static str,
        max: usize,
    ) -> Self {
        Self { tap: Tap::new(region, line, peer, ring, max) }
    }

    shared_methods!();

    /// The next record, or `None` while nothing more is published.
    ///
    /// # Errors
    /// The [`Fault`] of the producer; the same one ever after.
    #[inline(always)]
    #[allow(clippy::should_implement_trait, reason = "it lends from self, which Iterator cannot")]
    pub fn next(&mut self) -> Result<Option<&[u8]>, Fault> {
        let Some(found) = self.tap.next()? else { return Ok(None) };
        // SAFETY: the producer leaves published bytes alone until the tail passes them, which takes another
        // call on this half, and that needs the borrow that the result holds.
        Ok(Some(unsafe { self.tap.region.slice(found.at, found.size) }))
    }
}

/// Consumes copies of records. For a producer that may be hostile.
#[derive(Debug)]
pub struct CopyOut<'a> {
    tap: Tap<'a>,
    scratch: &'a mut [u64],
}

impl<'a> CopyOut<'a> {
    pub(crate) fn new(
        region: Region<'a>,
        line: &'a TailLine,
        peer: &'a HeadLine,
        ring: &'static str,
        max: usize,
        scratch: &'a mut [u64],
    ) -> Self {
        Self { tap: Tap::new(region, line, peer, ring, max.min(size_of_val(scratch))), scratch }
    }

    shared_methods!();

    /// A copy of the next record, or `None` while nothing more is published. Aligned to 8.
    ///
    /// # Errors
    /// The [`Fault`] of the producer; the same one ever after. A record larger than the scratch memory given
    /// is one (`Size`).
    #[inline(always)]
    #[allow(clippy::should_implement_trait, reason = "it lends from self, which Iterator cannot")]
    pub fn next(&mut self) -> Result<Option<&[u8]>, Fault> {
        let Some(found) = self.tap.next()? else { return Ok(None) };
        let copy = self.scratch.as_mut_ptr();
        // Copied from the first byte behind the header on, so that a reader's 16-byte loads meet 16-byte stores.
        let (at, words) = (found.at + HEADER, found.size / HEADER - 1);
        // SAFETY: the largest record is no larger than the scratch memory, so the words fit behind the first.
        unsafe { self.tap.region.copy_out(at, copy.wrapping_add(1), words) };
        // What was checked is what the reader gets: the header is not read again.
        // SAFETY: the record is a header at least, so there is a first word.
        unsafe { copy.write(found.header) };
        let copy = copy.cast::<u8>();
        // SAFETY: the words of the scratch memory, viewed as bytes; initialised and borrowed from self.
        Ok(Some(unsafe { core::slice::from_raw_parts(copy, found.size) }))
    }
}
