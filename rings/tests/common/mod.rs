//! Memory of this process, laid out as a session's shared segments are, with the peer's raw view of it.

#![allow(dead_code, reason = "each test uses its part")]

use std::{
    ptr::NonNull,
    sync::atomic::{AtomicU64, Ordering},
};

use runahead_rings::{ClientPage, Region, ServerPage, Start, create, open};

/// A segment on the heap.
pub struct Segment(Box<[AtomicU64]>);

impl Segment {
    pub fn new(bytes: usize) -> Self {
        Self((0..bytes / 8).map(|_| AtomicU64::new(0)).collect())
    }

    pub fn region(&self) -> Region<'_> {
        let base = NonNull::from(&*self.0).cast();
        // SAFETY: the words live as long as self and may be written through a shared reference.
        unsafe { Region::from_raw(base, self.0.len() * 8) }.unwrap()
    }

    /// What a peer that breaks the rules does to the word at byte `at`.
    pub fn poke(&self, at: usize, value: u64) {
        self.0[at / 8].store(value, Ordering::Relaxed);
    }

    pub fn peek(&self, at: usize) -> u64 {
        self.0[at / 8].load(Ordering::Relaxed)
    }
}

#[repr(C, align(128))]
struct PageMemory([AtomicU64; 96]);

/// Both control pages, as raw memory.
pub struct Pages {
    client: Box<PageMemory>,
    server: Box<PageMemory>,
}

/// Byte offsets of the words that tests write, as `runahead_rings::page` documents its lines.
pub mod word {
    pub const MAGIC: usize = 0;
    pub const VERSION_SIZE: usize = 8;
    pub const CLIENT_COMMAND_HEAD: usize = 128;
    pub const CLIENT_STAGE_HEAD: usize = 128 + 16;
    pub const CLIENT_EVENT_TAIL: usize = 256;
    pub const SERVER_COMMAND_TAIL: usize = 128;
    pub const SERVER_EVENT_HEAD: usize = 256;
    pub const SERVER_WATERMARKS: usize = 5 * 128;
}

impl Pages {
    pub fn new(start: Start) -> Self {
        let fresh = || Box::new(PageMemory(std::array::from_fn(|_| AtomicU64::new(0))));
        let pages = Self { client: fresh(), server: fresh() };
        // SAFETY: fresh memory that lives in self.
        unsafe { create::<ClientPage>(base(&pages.client), size_of::<PageMemory>(), start) }.unwrap();
        // SAFETY: as above.
        unsafe { create::<ServerPage>(base(&pages.server), size_of::<PageMemory>(), start) }.unwrap();
        pages
    }

    pub fn client(&self) -> &ClientPage {
        // SAFETY: the memory lives in self.
        unsafe { open(base(&self.client), size_of::<PageMemory>()) }.unwrap()
    }

    pub fn server(&self) -> &ServerPage {
        // SAFETY: the memory lives in self.
        unsafe { open(base(&self.server), size_of::<PageMemory>()) }.unwrap()
    }

    pub fn poke_client(&self, at: usize, value: u64) {
        self.client.0[at / 8].store(value, Ordering::Release);
    }

    pub fn poke_server(&self, at: usize, value: u64) {
        self.server.0[at / 8].store(value, Ordering::Release);
    }

    pub fn peek_client(&self, at: usize) -> u64 {
        self.client.0[at / 8].load(Ordering::Acquire)
    }

    pub fn peek_server(&self, at: usize) -> u64 {
        self.server.0[at / 8].load(Ordering::Acquire)
    }

    /// Opens the client page as a peer would, with a length of the test's.
    pub fn open_client(&self, len: usize) -> Result<&ClientPage, runahead_rings::Fault> {
        // SAFETY: the memory lives in self; shorter lengths only shorten it.
        unsafe { open(base(&self.client), len) }
    }
}

fn base(page: &PageMemory) -> NonNull<u8> {
    NonNull::from(page).cast()
}

/// A header word.
pub fn header(kind: u16, flags: u16, size: u32) -> u64 {
    u64::from(kind) | u64::from(flags) << 16 | u64::from(size) << 32
}

/// Positions next to 0, 2^32 and 2^64.
pub const STARTS: [u64; 4] = [0, (1 << 32) - 64, 0_u64.wrapping_sub(8), 0_u64.wrapping_sub(4096)];

/// How a property test runs: so many cases, or as many as `PROPTEST_CASES` says.
pub fn config(usual: u32) -> proptest::test_runner::Config {
    let cases = std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(usual);
    // A failing case becomes a test of its own, with a name; no file of seeds.
    proptest::test_runner::Config { cases, failure_persistence: None, ..Default::default() }
}
