//! The stage: a FIFO ring of bulk bytes, reclaimed by the retired watermark.
//!
//! The client writes bulk bytes (uploads, uniform blocks, shader archives) into the stage and names them in
//! records by position and size. Positions are monotone byte counts, like every cursor here, so a reference
//! says not only where its bytes lie but which lap they belong to. The server gives no room back itself: the
//! client remembers which record used what, and room returns when the retired watermark passes that record.
//!
//! Bytes never wrap: where the run up to the end is too short it is skipped.

use core::sync::atomic::AtomicU64 as WordInMemory;

use crate::{
    copy,
    cursor::{advanced, reached, round_up},
    fault::Fault,
    memory::Region,
    page::HeadLine,
    sync::Ordering,
};

/// Alignment of every allocation, in bytes.
pub const STAGE_ALIGN: usize = 16;

/// Marks kept at once. When they run out, marks merge: room then returns later, never earlier.
const MARKS: usize = 64;

/// Content larger than this is cut into several records, so that the stage keeps moving.
#[must_use]
pub const fn max_piece(capacity: usize) -> usize {
    capacity / 4
}

/// Bytes in the stage, as a record names them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StageRef {
    /// Monotone position of the first byte.
    pub position: u64,
    /// Size in bytes.
    pub size: u64,
}

/// Why no stage memory could be reserved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StageError {
    /// No room now. Publish, wait for the retired watermark, [`StageWriter::reclaim`], try again.
    Full,
    /// Larger than the stage. Waiting does not help.
    TooLarge {
        /// The largest allocation, in bytes.
        max: usize,
    },
}

impl core::fmt::Display for StageError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::Full => f.write_str("the stage is full"),
            Self::TooLarge { max } => write!(f, "the bytes are larger than the stage of {max} bytes"),
        }
    }
}

impl core::error::Error for StageError {}

/// Everything before `position` is free once `ordinal` is retired.
#[derive(Clone, Copy, Debug, Default)]
struct Mark {
    ordinal: u64,
    position: u64,
}

/// The writing half of the stage.
#[derive(Debug)]
pub struct StageWriter<'a> {
    region: Region<'a>,
    line: &'a HeadLine,
    mask: u64,
    /// End of what is allocated.
    head: u64,
    /// End of what is free again.
    tail: u64,
    /// A ring of marks, oldest at `first`.
    marks: [Mark; MARKS],
    first: usize,
    count: usize,
}

impl<'a> StageWriter<'a> {
    /// # Safety
    /// It is the only writer of `region` and of the line's stage word for `'a`.
    pub(crate) unsafe fn new(region: Region<'a>, line: &'a HeadLine) -> Self {
        // Our own page: the value that we (or our creator) stored.
        let head = line.stage.load(Ordering::Relaxed);
        Self {
            region,
            line,
            mask: region.len() as u64 - 1,
            head,
            tail: head,
            marks: [Mark::default(); MARKS],
            first: 0,
            count: 0,
        }
    }

    /// Size of the stage in bytes: the largest single allocation.
    #[must_use]
    pub const fn capacity(&self) -> usize {
        self.region.len()
    }

    /// Position behind what is allocated: its bytes since the stage began, skipped runs included.
    #[must_use]
    pub const fn position(&self) -> u64 {
        self.head
    }

    /// Bytes not free, skipped runs included.
    #[must_use]
    pub const fn in_use(&self) -> u64 {
        self.head.wrapping_sub(self.tail)
    }

    /// Room for `size` bytes, contiguous, aligned to [`STAGE_ALIGN`].
    ///
    /// Dropping the grant gives the room back.
    ///
    /// # Errors
    /// [`StageError`].
    #[inline]
    pub fn reserve(&mut self, size: usize) -> Result<StageGrant<'_, 'a>, StageError> {
        let capacity = self.region.len();
        let room = match round_up(size, STAGE_ALIGN) {
            Some(room) if room <= capacity => room as u64,
            _ => return Err(StageError::TooLarge { max: capacity }),
        };
        let to_end = capacity as u64 - (self.head & self.mask);
        if room > to_end && self.head == self.tail {
            // Nothing is in use, so skipping to the start costs nothing and any size fits.
            self.head = self.head.wrapping_add(to_end);
            self.tail = self.head;
        }
        let to_end = capacity as u64 - (self.head & self.mask);
        let skip = if room > to_end { to_end } else { 0 };
        if self.in_use() + skip + room > capacity as u64 {
            return Err(StageError::Full);
        }
        let position = self.head.wrapping_add(skip);
        let at = (position & self.mask) as usize;
        // SAFETY: inside the region and between head and tail: retired, so the server is done with it, and
        // handed out to this grant alone, which borrows the only writer.
        let bytes = unsafe { self.region.slice_mut(at, size) };
        Ok(StageGrant { bytes, position, room, at, writer: self })
    }

    /// Says that everything allocated since the last call is used by record `ordinal` or earlier ones.
    ///
    /// Ordinals do not decrease.
    #[inline]
    pub fn used_by(&mut self, ordinal: u64) {
        let mark = Mark { ordinal, position: self.head };
        let newest = (self.first + self.count + MARKS - 1) % MARKS;
        let marked = if self.count == 0 { self.tail } else { self.marks[newest].position };
        if mark.position == marked {
            return;
        }
        let begin = match self.count {
            0 => None,
            1 => Some(self.tail),
            _ => Some(self.marks[(newest + MARKS - 1) % MARKS].position),
        };
        // Small uses share a mark, which waits for the latest of them: late is allowed.
        let grain = self.region.len() as u64 / MARKS as u64;
        if begin.is_some_and(|begin| self.count == MARKS || mark.position.wrapping_sub(begin) <= grain) {
            self.marks[newest] = mark;
            return;
        }
        self.marks[(self.first + self.count) % MARKS] = mark;
        self.count += 1;
    }

    /// Takes back the room of every record up to `retired`.
    #[inline]
    pub fn reclaim(&mut self, retired: u64) {
        while self.count != 0 {
            let oldest = self.marks[self.first];
            if !reached(retired, oldest.ordinal) {
                return;
            }
            self.tail = oldest.position;
            self.first = (self.first + 1) % MARKS;
            self.count -= 1;
        }
    }

    /// The ordinal to wait for in the retired watermark so that [`StageWriter::reclaim`] gives back at least
    /// one mark's room; `None` if nothing marked is in use.
    #[must_use]
    pub fn oldest_user(&self) -> Option<u64> {
        (self.count != 0).then(|| self.marks[self.first].ordinal)
    }

    /// Makes the allocations known to the server. Goes before the [`publish`](crate::Producer::publish) of the
    /// records that name them, whose release store also publishes the bytes.
    #[inline]
    pub fn publish(&self) {
        self.line.stage.store(self.head, Ordering::Relaxed);
    }
}

/// Stage memory, exclusively ours until committed.
#[must_use = "a grant that is not committed is given back"]
#[derive(Debug)]
pub struct StageGrant<'w, 'a> {
    bytes: &'w mut [u8],
    position: u64,
    room: u64,
    at: usize,
    writer: &'w mut StageWriter<'a>,
}

impl StageGrant<'_, '_> {
    /// Takes the bytes; the result goes into a record.
    #[inline]
    pub fn commit(self) -> StageRef {
        let size = self.bytes.len();
        self.writer.region.will_write(self.at, size);
        self.writer.head = self.position.wrapping_add(self.room);
        StageRef { position: self.position, size: size as u64 }
    }
}

impl core::ops::Deref for StageGrant<'_, '_> {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        self.bytes
    }
}

impl core::ops::DerefMut for StageGrant<'_, '_> {
    fn deref_mut(&mut self) -> &mut [u8] {
        self.bytes
    }
}

/// The reading half of the stage.
#[derive(Debug)]
pub struct StageReader<'a> {
    region: Region<'a>,
    peer: &'a HeadLine,
    mask: u64,
    /// The last head seen.
    head: u64,
}

impl<'a> StageReader<'a> {
    pub(crate) fn new(region: Region<'a>, peer: &'a HeadLine, head: u64) -> Self {
        Self { region, peer, mask: region.len() as u64 - 1, head }
    }

    /// Position that the client had written up to, when this half last looked.
    #[must_use]
    pub const fn position(&self) -> u64 {
        self.head
    }

    /// Reads how far the client wrote. Once per batch, after a record of it was seen.
    ///
    /// # Errors
    /// [`Fault::Overrun`] if the head moved backwards, or by more than the stage holds.
    pub fn refresh(&mut self) -> Result<(), Fault> {
        // Ordered by the acquire of the command head that published the record at hand.
        let head = self.peer.stage.load(Ordering::Relaxed);
        // Between two looks the client may have gone round more than once, so any step forward is good.
        if !advanced(self.head, head, self.head.wrapping_add(i64::MAX as u64)) {
            return Err(Fault::Overrun { ring: "Stage", cursor: "Head" });
        }
        self.head = head;
        Ok(())
    }

    /// The bytes that a record names.
    ///
    /// # Errors
    /// [`Fault::Corrupt`] (`Stage.Position`, `Stage.Size`) unless the reference is not empty, lies within the
    /// last lap that was published, and does not wrap.
    pub fn get(&self, reference: StageRef) -> Result<StageBytes<'a>, Fault> {
        let corrupt = |field| Err(Fault::Corrupt { place: "Stage", field });
        let capacity = self.region.len() as u64;
        let behind = self.head.wrapping_sub(reference.position);
        if behind > capacity || !reference.position.is_multiple_of(STAGE_ALIGN as u64) {
            return corrupt("Position");
        }
        let at = reference.position & self.mask;
        if reference.size == 0 || reference.size > behind || reference.size > capacity - at {
            return corrupt("Size");
        }
        Ok(StageBytes { region: self.region, at: at as usize, len: reference.size as usize })
    }
}

/// Bytes in the stage that the client may, if it breaks the rules, change at any time.
#[derive(Clone, Copy, Debug)]
pub struct StageBytes<'a> {
    region: Region<'a>,
    at: usize,
    len: usize,
}

impl<'a> StageBytes<'a> {
    /// Size in bytes; never 0.
    #[must_use]
    #[allow(clippy::len_without_is_empty, reason = "a stage reference is never empty")]
    pub const fn len(&self) -> usize {
        self.len
    }

    /// The words that hold the bytes, the last one padded. Reading them is sound whatever the client does.
    #[must_use]
    pub fn words(&self) -> &'a [WordInMemory] {
        self.region.will_read(self.at, self.len);
        self.region.in_memory(self.at, self.len)
    }

    /// Copies the bytes out, each word read once. Copies as many as `out` takes.
    pub fn copy_to(&self, out: &mut [u8]) {
        let len = self.len.min(out.len());
        copy::bytes(self.words(), &mut out[..len]);
    }
}
