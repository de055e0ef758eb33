//! A session's command and event rings over sealed shared segments, as either process sees them.

#![allow(dead_code, reason = "each test uses its part")]

use std::os::fd::{AsFd, BorrowedFd};

use runahead_linux::segment::{Mapping, OwnedSegment, map_peer};
use runahead_rings::{Page, Region, Start, create, open};

pub const PAGE: usize = 4096;

/// What one role writes.
pub struct Owned {
    page: OwnedSegment,
    ring: OwnedSegment,
}

/// One role's read-only view of what the other writes.
pub struct Seen {
    page: Mapping,
    ring: Mapping,
}

impl Owned {
    pub fn new<P: Page>(ring: usize) -> Self {
        let page = OwnedSegment::create(c"runahead-page", PAGE).unwrap();
        let ring = OwnedSegment::create(c"runahead-ring", ring).unwrap();
        // SAFETY: a fresh segment of one page.
        unsafe { create::<P>(page.mapping().base(), PAGE, Start::default()) }.unwrap();
        Self { page, ring }
    }

    /// The descriptors to hand out: page, ring.
    pub fn descriptors(&self) -> [BorrowedFd<'_>; 2] {
        [self.page.descriptor(), self.ring.descriptor()]
    }

    pub fn seen(&self) -> Seen {
        Seen::new(self.page.descriptor(), self.ring.descriptor(), self.ring.mapping().len())
    }

    pub fn page<P: Page>(&self) -> &P {
        opened(self.page.mapping())
    }

    pub fn region(&self) -> Region<'_> {
        region(self.ring.mapping())
    }
}

impl Seen {
    pub fn new(page: impl AsFd, ring: impl AsFd, len: usize) -> Self {
        Self { page: map_peer(page.as_fd(), PAGE).unwrap(), ring: map_peer(ring.as_fd(), len).unwrap() }
    }

    pub fn page<P: Page>(&self) -> &P {
        opened(&self.page)
    }

    pub fn region(&self) -> Region<'_> {
        region(&self.ring)
    }
}

fn opened<P: Page>(mapping: &Mapping) -> &P {
    // SAFETY: the mapping is borrowed, and its length is the kernel's.
    unsafe { open(mapping.base(), mapping.len()) }.unwrap()
}

fn region(mapping: &Mapping) -> Region<'_> {
    // SAFETY: the mapping is borrowed; its bytes are reached through regions only.
    unsafe { Region::from_raw(mapping.base(), mapping.len()) }.unwrap()
}

/// Pseudo-random numbers (xorshift64*), the same in both processes.
pub struct Random(u64);

impl Random {
    pub const fn new(seed: u64) -> Self {
        Self(seed | 1)
    }

    pub const fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    pub const fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }
}
