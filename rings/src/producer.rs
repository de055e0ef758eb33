//! The writing half of a record ring.

use core::ops::{Deref, DerefMut};

use crate::{
    cursor::advanced,
    fault::Fault,
    memory::Region,
    mutant::{Mutant, on},
    page::{HeadLine, TailLine},
    prefetch,
    record::{HEADER, pad},
    sync::{Ordering, fence},
};

/// Why no record could be reserved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReserveError {
    /// No room now. Publish, wait until [`Producer::has_room`], try again.
    Full,
    /// Larger than this ring ever takes. Waiting does not help.
    TooLarge {
        /// The largest record, in bytes.
        max: usize,
    },
    /// The consumer broke the protocol.
    Fault(Fault),
}

impl core::fmt::Display for ReserveError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::Full => f.write_str("the ring is full"),
            Self::TooLarge { max } => {
                write!(f, "the record is larger than the {max} bytes that this ring takes")
            }
            Self::Fault(fault) => fault.fmt(f),
        }
    }
}

impl core::error::Error for ReserveError {}

/// The writing half of a record ring.
///
/// Reserve, fill, commit, and once a batch publish: one release store of the head makes everything committed
/// before it visible. The tail, which the consumer writes, is read only when the ring seems full.
///
/// Who orders what:
/// - the release store of `head` in [`Producer::publish`] pairs with the consumer's acquire of `head`: record
///   bytes before it, reads after it;
/// - the acquire of `tail` here pairs with the consumer's release of `tail`: its reads before it, our
///   overwriting after it.
#[derive(Debug)]
pub struct Producer<'a> {
    region: Region<'a>,
    /// Offset of the next record in the region; the region's length when the lap is full.
    at: usize,
    /// Bytes from `at` on that are free and contiguous, as far as was looked, but at most `max`: one
    /// comparison then refuses what does not fit and what is too large.
    left: usize,
    max: usize,
    records: u64,
    /// Position of offset 0 in this lap: what is committed ends at `lap + at`.
    lap: u64,
    published: u64,
    pads: u64,
    /// The last tail seen; the true one is at or past it.
    tail: u64,
    line: &'a HeadLine,
    peer: &'a TailLine,
    ring: &'static str,
}

impl<'a> Producer<'a> {
    /// The writing half over `region`, records of up to `max` bytes.
    ///
    /// # Safety
    /// It is the only producer of this ring for `'a`: no other code of this process writes the region's bytes
    /// or `line`. `peer` is the tail line of the one consumer of the same region.
    pub(crate) unsafe fn new(
        region: Region<'a>,
        line: &'a HeadLine,
        peer: &'a TailLine,
        ring: &'static str,
        max: usize,
    ) -> Self {
        // Our own page: the value that we (or our creator) stored.
        let head = line.head.load(Ordering::Relaxed);
        let records = line.records.load(Ordering::Relaxed);
        let at = (head & (region.len() as u64 - 1)) as usize;
        Self {
            region,
            at,
            // The first record looks for the tail.
            left: 0,
            max,
            records,
            lap: head.wrapping_sub(at as u64),
            published: head,
            pads: 0,
            tail: head,
            line,
            peer,
            ring,
        }
    }

    /// The largest record in bytes, header included.
    #[must_use]
    pub const fn max_record(&self) -> usize {
        self.max
    }

    /// Ordinal of the last record committed. The record now reserved gets the next one.
    #[inline(always)]
    #[must_use]
    pub const fn records(&self) -> u64 {
        self.records
    }

    /// End of what is committed.
    #[inline(always)]
    const fn head(&self) -> u64 {
        self.lap.wrapping_add(self.at as u64)
    }

    /// Position behind what is committed: its bytes since the ring began, pads included.
    #[must_use]
    pub const fn position(&self) -> u64 {
        self.head()
    }

    /// Bytes of the ring.
    #[must_use]
    pub const fn capacity(&self) -> usize {
        self.region.len()
    }

    /// Pads written by this half.
    #[must_use]
    pub const fn pads(&self) -> u64 {
        self.pads
    }

    /// Bytes committed and not yet published, pads included.
    #[inline(always)]
    #[must_use]
    pub const fn pending(&self) -> u64 {
        self.head().wrapping_sub(self.published)
    }

    /// Where a record of `size` bytes would go as far as the tail is known.
    fn place(&self, size: usize) -> Option<Place> {
        let capacity = self.region.len();
        // At most the capacity: what is committed was free.
        let free = match on(Mutant::RingReserveIgnoresTail) {
            false => capacity - self.head().wrapping_sub(self.tail) as usize,
            true => 2 * capacity,
        };
        let to_end = capacity - self.at;
        if size <= to_end {
            return (size <= free).then_some(Place::Here { left: free.min(to_end) });
        }
        // The run up to the end is too short: a pad takes it.
        let free = free.checked_sub(to_end)?;
        (size <= free).then_some(Place::AtStart { pad: to_end, left: free.min(capacity) })
    }

    /// Reads the consumer's tail.
    fn refresh(&mut self) -> Result<(), Fault> {
        if on(Mutant::RingTailCachedForever) {
            return Ok(());
        }
        let tail = self.peer.tail.load(Ordering::Relaxed);
        if !on(Mutant::RingReserveWithoutAcquire) {
            fence(Ordering::Acquire);
        }
        if !advanced(self.tail, tail, self.published) {
            return Err(Fault::Overrun { ring: self.ring, cursor: "Tail" });
        }
        self.tail = tail;
        Ok(())
    }

    /// Whether a record of `size` bytes could be reserved now: the condition to wait for after
    /// [`ReserveError::Full`].
    ///
    /// # Errors
    /// A [`Fault`] if the consumer's tail is impossible.
    pub fn has_room(&mut self, size: usize) -> Result<bool, Fault> {
        let size = whole(size);
        if self.place(size).is_some() {
            return Ok(true);
        }
        self.refresh()?;
        Ok(self.place(size).is_some())
    }

    /// Finds room for `size` bytes at `at`, wrapping and looking for the tail as needed.
    #[cold]
    #[inline(never)]
    fn make_room(&mut self, size: usize) -> Result<(), ReserveError> {
        if size > self.max {
            return Err(ReserveError::TooLarge { max: self.max });
        }
        let place = match self.place(size) {
            Some(place) => place,
            None => {
                self.refresh().map_err(ReserveError::Fault)?;
                self.place(size).ok_or(ReserveError::Full)?
            }
        };
        match place {
            Place::Here { left } => self.left = left.min(self.max),
            Place::AtStart { pad, left } => {
                if pad != 0 {
                    self.pads += 1;
                    self.write_pad(pad);
                }
                self.lap = self.lap.wrapping_add(self.region.len() as u64);
                self.at = 0;
                self.left = left.min(self.max);
            }
        }
        Ok(())
    }

    fn write_pad(&mut self, size: usize) {
        if on(Mutant::RingPadNotWritten) {
            return;
        }
        // SAFETY: the run up to the end is free, so it is ours alone, and at least one header long.
        let bytes = unsafe { self.region.slice_mut(self.at, HEADER) };
        bytes.copy_from_slice(&pad(size as u64).to_ne_bytes());
    }

    /// Room for one record of `size` bytes, header included; rounded up to a multiple of 8.
    ///
    /// Dropping the grant gives the room back; nothing of it is ever published.
    ///
    /// # Errors
    /// [`ReserveError`].
    #[inline(always)]
    pub fn reserve(&mut self, size: usize) -> Result<Grant<'_, 'a>, ReserveError> {
        let size = whole(size);
        if size > self.left {
            self.make_room(size)?;
        }
        Ok(self.grant(size))
    }

    /// [`Producer::reserve`], if the room is at hand: without a look at the consumer's cursor, a wrap or an
    /// error, and without a call. `None` says to take the long way.
    #[inline(always)]
    pub fn reserve_at_hand(&mut self, size: usize) -> Option<Grant<'_, 'a>> {
        let size = whole(size);
        (size <= self.left).then(|| self.grant(size))
    }

    /// `size` is at most `left`.
    #[inline(always)]
    fn grant(&mut self, size: usize) -> Grant<'_, 'a> {
        if on(Mutant::RingPublishBeforeWrite) {
            self.line.head.store(self.head().wrapping_add(size as u64), Ordering::Release);
        }
        // SAFETY: `size` bytes at `at` are free: inside the region, between head and the consumer's tail, so
        // they are ours alone, and the grant borrows this only producer.
        let bytes = unsafe { self.region.slice_mut(self.at, size) };
        Grant { bytes, producer: self }
    }

    /// Makes everything committed visible to the consumer. Ring its doorbell afterwards, once.
    #[inline(always)]
    pub fn publish(&mut self) {
        let head = self.head();
        if head == self.published {
            return;
        }
        let order = if on(Mutant::RingPublishRelaxed) { Ordering::Relaxed } else { Ordering::Release };
        self.line.records.store(self.records, Ordering::Relaxed);
        // Pairs with the consumer's acquire of the head.
        self.line.head.store(head, order);
        self.published = head;
    }
}

/// The size of a record that takes `size` bytes. Saturates where rounding would overflow, and is then refused as
/// too large.
#[inline(always)]
const fn whole(size: usize) -> usize {
    let size = if size < HEADER { HEADER } else { size };
    size.saturating_add(HEADER - 1) & !(HEADER - 1)
}

/// Where a record goes, and how much is free from there on.
enum Place {
    Here { left: usize },
    AtStart { pad: usize, left: usize },
}

/// Room for one record, exclusively ours until committed.
#[must_use = "a grant that is not committed is given back"]
#[derive(Debug)]
pub struct Grant<'p, 'a> {
    bytes: &'p mut [u8],
    producer: &'p mut Producer<'a>,
}

impl Grant<'_, '_> {
    /// Takes the bytes as the next record. Their first 8 are the header, whose size is the length of this
    /// grant.
    #[inline(always)]
    pub fn commit(self) {
        debug_assert_eq!(
            u32::from_le_bytes([self.bytes[4], self.bytes[5], self.bytes[6], self.bytes[7]]) as usize,
            self.bytes.len(),
            "the header states another size than was reserved"
        );
        let size = self.bytes.len();
        let producer = self.producer;
        producer.region.will_write(producer.at, size);
        prefetch::for_write(self.bytes.as_ptr());
        producer.at += size;
        producer.left -= size;
        producer.records = producer.records.wrapping_add(1);
    }
}

impl Deref for Grant<'_, '_> {
    type Target = [u8];

    #[inline(always)]
    fn deref(&self) -> &[u8] {
        self.bytes
    }
}

impl DerefMut for Grant<'_, '_> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut [u8] {
        self.bytes
    }
}
