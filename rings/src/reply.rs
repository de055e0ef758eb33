//! Reply space: where answers go.
//!
//! The client owns the space of the reply segment and the server owns its bytes. A record that wants an answer
//! names a piece of the space; the server writes the answer there, then publishes it by the status word in
//! front of it. So any number of answers can be outstanding, they may come in any order and long after the
//! record was applied, none is overwritten unread, and an answer that nobody wants costs nothing.
//!
//! ```text
//! offset      + 0   status word: tag (high 32 bits), status (2 bits), size in bytes (30 bits)
//!             + 8   the answer's bytes
//! ```
//!
//! The client maps the segment read-only, so it cannot clear a status word before it uses the space again.
//! Instead each use has a tag: the client reads what the word holds, picks another tag, and sends it with the
//! record. Until the server writes the word with that tag, it reads as "not yet", whatever an earlier answer
//! left there.

use crate::{
    copy,
    fault::Fault,
    memory::Region,
    mutant::{Mutant, on},
    sync::{Ordering, fence},
};

/// Space is handed out in pieces of this size.
const GRAIN: usize = 64;
/// Bytes of the status word.
const STATUS: usize = 8;

/// The largest answer in bytes; what the size bits of a status word hold.
pub const MAX_ANSWER: u32 = (1 << 30) - 1;

/// Space for one answer, as it travels with a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReplySpace {
    /// Byte offset of the status word in the reply segment.
    pub offset: u32,
    /// Bytes that the answer may have.
    pub capacity: u32,
    /// The tag that the status word must carry.
    pub tag: u32,
}

/// How an answer came out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// The bytes are the answer.
    Ok = 1,
    /// A real answer without bytes; each command says what it means.
    Declined = 2,
    /// The server failed to find an answer.
    Error = 3,
}

/// An answer that arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answer {
    /// How it came out.
    pub status: Status,
    /// Its size in bytes, at most the capacity asked for.
    pub size: u32,
}

const fn status_word(tag: u32, status: Status, size: u32) -> u64 {
    (tag as u64) << 32 | (status as u64) << 30 | size as u64
}

/// Why no reply space could be reserved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReplyError {
    /// No contiguous room now. Take answers and release them, then try again.
    Full,
    /// Larger than the segment or than [`MAX_ANSWER`]. Ask in parts.
    TooLarge,
}

impl core::fmt::Display for ReplyError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(match self {
            Self::Full => "the reply space is full of outstanding answers",
            Self::TooLarge => "the answer would be larger than the reply space",
        })
    }
}

impl core::error::Error for ReplyError {}

/// The client's half: hands space out and takes answers.
#[derive(Debug)]
pub struct ReplyClient<'a> {
    region: Region<'a>,
    /// A bit a grain, set while it is handed out.
    used: &'a mut [u64],
    /// Grains to manage: those of the segment, or as many as `used` has bits for.
    grains: usize,
    /// Where the next search begins.
    next: usize,
}

impl<'a> ReplyClient<'a> {
    /// Words of bookkeeping for a reply segment of `len` bytes.
    #[must_use]
    pub const fn bookkeeping(len: usize) -> usize {
        (len / GRAIN).div_ceil(64)
    }

    pub(crate) fn new(region: Region<'a>, used: &'a mut [u64]) -> Self {
        used.fill(0);
        let grains = (region.len() / GRAIN).min(used.len() * 64);
        Self { region, used, grains, next: 0 }
    }

    /// The largest answer that this segment takes, in bytes.
    #[must_use]
    pub fn max_answer(&self) -> u32 {
        let room = (self.grains * GRAIN).saturating_sub(STATUS);
        u32::try_from(room).unwrap_or(u32::MAX).min(MAX_ANSWER)
    }

    /// Space for an answer of up to `capacity` bytes.
    ///
    /// # Errors
    /// [`ReplyError`].
    pub fn reserve(&mut self, capacity: u32) -> Result<Pending, ReplyError> {
        if capacity > self.max_answer() {
            return Err(ReplyError::TooLarge);
        }
        let count = grains_of(capacity);
        let first = self.find(self.next, self.grains, count).or_else(|| self.find(0, self.grains, count));
        let first = first.ok_or(ReplyError::Full)?;
        self.mark(first, count, true);
        self.next = first + count;
        let offset = first * GRAIN;
        // Nobody writes this word now: the server owes nothing here, or the space would be in use.
        let stale = (self.region.status(offset).load(Ordering::Relaxed) >> 32) as u32;
        let tag = if on(Mutant::ReplyTagKept) { stale } else { stale.wrapping_add(1) };
        // Fits: regions are at most 2^32 bytes, so offsets are below that.
        Ok(Pending { space: ReplySpace { offset: offset as u32, capacity, tag } })
    }

    /// The first run of `count` free grains in `from..to`.
    fn find(&self, from: usize, to: usize, count: usize) -> Option<usize> {
        let mut start = from;
        let mut grain = from;
        while grain < to {
            let word = self.used[grain / 64];
            if word == u64::MAX && grain.is_multiple_of(64) {
                grain += 64;
                start = grain;
                continue;
            }
            if word & (1 << (grain % 64)) != 0 {
                start = grain + 1;
            }
            grain += 1;
            if grain - start == count {
                return Some(start);
            }
        }
        None
    }

    fn mark(&mut self, first: usize, count: usize, used: bool) {
        for grain in first..first + count {
            let bit = 1 << (grain % 64);
            let word = &mut self.used[grain / 64];
            debug_assert_eq!(*word & bit != 0, !used);
            if used { *word |= bit } else { *word &= !bit }
        }
    }

    /// The answer, or `None` while it has not come.
    ///
    /// # Errors
    /// [`Fault::Corrupt`] (`Reply.Status`, `Reply.Size`) if the server published nonsense.
    #[inline]
    pub fn poll(&self, pending: &Pending) -> Result<Option<Answer>, Fault> {
        let word = self.region.status(pending.space.offset as usize).load(Ordering::Relaxed);
        if !on(Mutant::ReplyPollWithoutAcquire) {
            // Pairs with the release store in `ReplyGrant::finish`.
            fence(Ordering::Acquire);
        }
        if (word >> 32) as u32 != pending.space.tag {
            return Ok(None);
        }
        let corrupt = |field| Err(Fault::Corrupt { place: "Reply", field });
        let status = match word >> 30 & 3 {
            1 => Status::Ok,
            2 => Status::Declined,
            3 => Status::Error,
            _ => return corrupt("Status"),
        };
        let size = word as u32 & MAX_ANSWER;
        if size > pending.space.capacity {
            return corrupt("Size");
        }
        Ok(Some(Answer { status, size }))
    }

    /// Copies the answer's bytes out, each word read once; as many as `out` takes.
    pub fn copy_to(&self, pending: &Pending, answer: Answer, out: &mut [u8]) {
        let len = answer.size.min(pending.space.capacity) as usize;
        let len = len.min(out.len());
        let at = pending.space.offset as usize + STATUS;
        self.region.will_read(at, len);
        copy::bytes(self.region.in_memory(at, len), &mut out[..len]);
    }

    /// Gives the space of an answer that arrived back.
    ///
    /// # Errors
    /// The [`Pending`] itself if the answer has not arrived: the server may still write it, so the space stays
    /// in use. Keep it and try again, whether the answer is still wanted or not.
    pub fn release(&mut self, pending: Pending) -> Result<(), Pending> {
        let arrived = matches!(self.poll(&pending), Ok(Some(_)));
        if !arrived && !on(Mutant::ReplyFreedUnread) {
            return Err(pending);
        }
        let first = pending.space.offset as usize / GRAIN;
        self.mark(first, grains_of(pending.space.capacity), false);
        Ok(())
    }

    /// Answers outstanding, or arrived and not released: grains in use.
    #[must_use]
    pub fn in_use(&self) -> u32 {
        self.used.iter().map(|word| word.count_ones()).sum()
    }
}

const fn grains_of(capacity: u32) -> usize {
    (STATUS + capacity as usize).div_ceil(GRAIN)
}

/// An answer asked for. Poll it, then [`ReplyClient::release`] it; dropping it loses its space for the rest of
/// the session.
#[must_use = "dropping it loses its reply space for the rest of the session"]
#[derive(Debug, PartialEq, Eq)]
pub struct Pending {
    space: ReplySpace,
}

impl Pending {
    /// What goes into the record.
    #[must_use]
    pub const fn space(&self) -> ReplySpace {
        self.space
    }
}

/// The server's half: writes answers.
#[derive(Debug)]
pub struct ReplyServer<'a> {
    region: Region<'a>,
}

impl<'a> ReplyServer<'a> {
    /// # Safety
    /// It is the only writer of `region` for `'a`.
    pub(crate) const unsafe fn new(region: Region<'a>) -> Self {
        Self { region }
    }

    /// Whether a space that a record names lies in the segment. Checked when the record is decoded, so that an
    /// answer that comes later cannot fail.
    ///
    /// # Errors
    /// [`Fault::Corrupt`] (`Reply.Offset`, `Reply.Capacity`).
    pub fn check(&self, space: ReplySpace) -> Result<(), Fault> {
        let corrupt = |field| Err(Fault::Corrupt { place: "Reply", field });
        let len = self.region.len() as u64;
        if !space.offset.is_multiple_of(GRAIN as u32) || u64::from(space.offset) >= len {
            return corrupt("Offset");
        }
        let end = u64::from(space.offset) + STATUS as u64 + u64::from(space.capacity);
        if space.capacity > MAX_ANSWER || end > len {
            return corrupt("Capacity");
        }
        Ok(())
    }

    /// The bytes of an answer, to be written in place.
    ///
    /// # Errors
    /// As [`ReplyServer::check`].
    pub fn grant(&mut self, space: ReplySpace) -> Result<ReplyGrant<'_>, Fault> {
        self.check(space)?;
        let at = space.offset as usize + STATUS;
        // SAFETY: inside the segment, which this only writer owns; a client that names the same space twice
        // gets one of the two answers, but no two grants live at once, since each borrows self.
        let bytes = unsafe { self.region.slice_mut(at, space.capacity as usize) };
        Ok(ReplyGrant { region: self.region, space, bytes })
    }

    /// Writes a whole answer.
    ///
    /// # Errors
    /// As [`ReplyServer::check`]; and [`Fault::Corrupt`] (`Reply.Capacity`) if the client left too little
    /// room for these bytes.
    pub fn answer(&mut self, space: ReplySpace, status: Status, bytes: &[u8]) -> Result<(), Fault> {
        let mut grant = self.grant(space)?;
        let Some(to) = grant.get_mut(..bytes.len()) else {
            return Err(Fault::Corrupt { place: "Reply", field: "Capacity" });
        };
        if !on(Mutant::ReplyStatusBeforeBytes) {
            to.copy_from_slice(bytes);
            // Fits: no longer than the capacity, which is 32 bits.
            grant.finish(status, bytes.len() as u32);
        } else {
            let region = grant.region;
            grant.finish(status, bytes.len() as u32);
            region.will_write(space.offset as usize + STATUS, bytes.len());
        }
        Ok(())
    }
}

/// The bytes of one answer, ours until finished. Ring the client's doorbell afterwards.
#[must_use = "an answer that is not finished never arrives"]
#[derive(Debug)]
pub struct ReplyGrant<'s> {
    region: Region<'s>,
    space: ReplySpace,
    bytes: &'s mut [u8],
}

impl ReplyGrant<'_> {
    /// Publishes the first `size` bytes as the answer.
    pub fn finish(self, status: Status, size: u32) {
        debug_assert!(size <= self.space.capacity);
        let size = size.min(self.space.capacity);
        self.region.will_write(self.space.offset as usize + STATUS, size as usize);
        let order = if on(Mutant::ReplyStatusRelaxed) { Ordering::Relaxed } else { Ordering::Release };
        let word = status_word(self.space.tag, status, size);
        // Pairs with the fence in `ReplyClient::poll`.
        self.region.status(self.space.offset as usize).store(word, order);
    }
}

impl core::ops::Deref for ReplyGrant<'_> {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        self.bytes
    }
}

impl core::ops::DerefMut for ReplyGrant<'_> {
    fn deref_mut(&mut self) -> &mut [u8] {
        self.bytes
    }
}
