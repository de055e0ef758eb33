//! Control pages: one per writer, mapped read-only by the other side.
//!
//! Each page holds every word that its owner writes and the peer reads: cursors, watermarks, the park word,
//! the bell and the state. Nothing has two writers. Each group that is contended on its own lies on its own
//! [`Line`]; what the peer reads together lies together.
//!
//! ```text
//!              ClientPage (client writes)          ServerPage (server writes)
//! line 0       magic, version, size                magic, version, size
//! line 1       command head, records, stage head   command tail
//! line 2       event tail                          event head, records
//! line 3       park word                           park word
//! line 4       bell, state                         bell, state
//! line 5                                           applied, retired, frame, present ack
//! ```

use core::ptr::NonNull;

use crate::{
    fault::Fault,
    sync::{AtomicU32, AtomicU64, Ordering, acquire64},
};

/// One contended group of words. 128 bytes: two x86 lines (the adjacent-line prefetcher pairs them) and one
/// line of large aarch64 cores.
#[repr(C, align(128))]
#[derive(Debug)]
pub(crate) struct Line<T>(pub(crate) T);

/// First words of a page. `magic` is stored last, with release, and checked first.
#[repr(C)]
#[derive(Debug)]
struct Head {
    magic: AtomicU64,
    version: AtomicU32,
    size: AtomicU32,
}

/// What the producer of a record ring publishes.
#[repr(C)]
#[derive(Debug)]
pub struct HeadLine {
    /// Bytes published. The release store to this word publishes everything written before it.
    pub(crate) head: AtomicU64,
    /// Records published: the submitted watermark.
    pub(crate) records: AtomicU64,
    /// Bytes of the stage ring published; only the client's command line uses it.
    pub(crate) stage: AtomicU64,
}

/// What the consumer of a record ring publishes.
#[repr(C)]
#[derive(Debug)]
pub struct TailLine {
    /// Bytes consumed and free for the producer.
    pub(crate) tail: AtomicU64,
}

/// Where a role announces that it sleeps: the number of sleepers in the low half, a count of announcements
/// (the epoch) in the high half.
#[repr(C)]
#[derive(Debug)]
pub struct ParkWord(pub(crate) AtomicU64);

/// What a role rings, and its state.
#[repr(C)]
#[derive(Debug)]
pub struct BellLine {
    /// Counts rings. Sleepers of the peer sleep on this word.
    pub(crate) bell: AtomicU32,
    /// [`BellLine::OPEN`] or [`BellLine::CLOSED`].
    pub(crate) state: AtomicU32,
}

impl BellLine {
    pub(crate) const OPEN: u32 = 0;
    pub(crate) const CLOSED: u32 = 1;
}

/// How far the server got. Late is allowed, early never.
#[repr(C)]
#[derive(Debug)]
pub struct WatermarkLine {
    pub(crate) marks: [AtomicU64; 4],
}

/// Where the monotone counters begin. Zero, except in tests of the wrap.
#[derive(Clone, Copy, Debug, Default)]
pub struct Start {
    /// First byte position of every ring; a multiple of 8.
    pub cursor: u64,
    /// Ordinal before the first record, and first value of every watermark.
    pub ordinal: u64,
}

/// The words that the client writes.
#[repr(C)]
#[derive(Debug)]
pub struct ClientPage {
    head: Line<Head>,
    pub(crate) command: Line<HeadLine>,
    pub(crate) event: Line<TailLine>,
    pub(crate) park: Line<ParkWord>,
    pub(crate) bell: Line<BellLine>,
}

/// The words that the server writes.
#[repr(C)]
#[derive(Debug)]
pub struct ServerPage {
    head: Line<Head>,
    pub(crate) command: Line<TailLine>,
    pub(crate) event: Line<HeadLine>,
    pub(crate) park: Line<ParkWord>,
    pub(crate) bell: Line<BellLine>,
    pub(crate) watermarks: Line<WatermarkLine>,
}

/// A control page: what [`create`] writes and [`open`] checks.
///
/// # Safety
/// The type is `repr(C)`, begins with the page head and consists of atomics alone, so that a reference to it
/// may exist over memory that another process writes.
pub unsafe trait Page: Sized {
    /// Tells the two pages (and revisions of their layout) apart.
    const MAGIC: u64;
    /// Revision of the layout.
    const VERSION: u32 = 1;
    /// Name in faults.
    const PLACE: &'static str;

    /// A page whose counters begin at `start`, without its magic: complete for use within one process.
    fn new(start: Start) -> Self;
}

impl HeadLine {
    fn new(start: Start) -> Self {
        Self {
            head: AtomicU64::new(start.cursor),
            records: AtomicU64::new(start.ordinal),
            stage: AtomicU64::new(start.cursor),
        }
    }
}

impl TailLine {
    fn new(start: Start) -> Self {
        Self { tail: AtomicU64::new(start.cursor) }
    }
}

impl BellLine {
    fn new() -> Self {
        Self { bell: AtomicU32::new(0), state: AtomicU32::new(Self::OPEN) }
    }
}

impl Head {
    fn new<P: Page>() -> Self {
        Self {
            magic: AtomicU64::new(0),
            version: AtomicU32::new(P::VERSION),
            size: AtomicU32::new(size_of::<P>() as u32),
        }
    }
}

// SAFETY: `repr(C)`, head first, atomics alone.
unsafe impl Page for ClientPage {
    const MAGIC: u64 = u64::from_le_bytes(*b"RAHclnt1");
    const PLACE: &'static str = "ClientPage";

    fn new(start: Start) -> Self {
        Self {
            head: Line(Head::new::<Self>()),
            command: Line(HeadLine::new(start)),
            event: Line(TailLine::new(start)),
            park: Line(ParkWord(AtomicU64::new(0))),
            bell: Line(BellLine::new()),
        }
    }
}

// SAFETY: `repr(C)`, head first, atomics alone.
unsafe impl Page for ServerPage {
    const MAGIC: u64 = u64::from_le_bytes(*b"RAHserv1");
    const PLACE: &'static str = "ServerPage";

    fn new(start: Start) -> Self {
        let mark = || AtomicU64::new(start.ordinal);
        Self {
            head: Line(Head::new::<Self>()),
            command: Line(TailLine::new(start)),
            event: Line(HeadLine::new(start)),
            park: Line(ParkWord(AtomicU64::new(0))),
            bell: Line(BellLine::new()),
            watermarks: Line(WatermarkLine { marks: [mark(), mark(), mark(), mark()] }),
        }
    }
}

/// Writes a fresh page into memory that this side owns; the magic goes last.
///
/// # Errors
/// [`Fault::Mismatch`] if `len` bytes at `base` cannot hold the page or are not aligned to 128.
///
/// # Safety
/// The memory is writable, stays mapped for `'a`, and nobody uses it yet.
pub unsafe fn create<'a, P: Page>(base: NonNull<u8>, len: usize, start: Start) -> Result<&'a P, Fault> {
    fits::<P>(base, len)?;
    let page = base.cast::<P>();
    // SAFETY: large enough, aligned and unused by this function's contract.
    unsafe { page.write(P::new(start)) };
    // SAFETY: just written; it stays mapped for `'a`.
    let page = unsafe { page.as_ref() };
    head(page).magic.store(P::MAGIC, Ordering::Release);
    Ok(page)
}

/// Checks a page that the peer created.
///
/// # Errors
/// [`Fault::Mismatch`] naming what is wrong: size or alignment of the mapping, magic (also while the peer has
/// not finished creating it), version, or stated size.
///
/// # Safety
/// The `len` bytes at `base` are readable and stay mapped for `'a`. `len` was taken from the kernel, not from
/// the peer.
pub unsafe fn open<'a, P: Page>(base: NonNull<u8>, len: usize) -> Result<&'a P, Fault> {
    fits::<P>(base, len)?;
    // SAFETY: large enough, aligned, mapped for `'a`; a page consists of atomics, so any bytes are valid and
    // the peer may write them at any time.
    let page = unsafe { base.cast::<P>().as_ref() };
    let mismatch = |field| Err(Fault::Mismatch { place: P::PLACE, field });
    let head = head(page);
    if acquire64(&head.magic) != P::MAGIC {
        return mismatch("Magic");
    }
    if head.version.load(Ordering::Relaxed) != P::VERSION {
        return mismatch("Version");
    }
    if head.size.load(Ordering::Relaxed) as usize != size_of::<P>() {
        return mismatch("StatedSize");
    }
    Ok(page)
}

fn fits<P: Page>(base: NonNull<u8>, len: usize) -> Result<(), Fault> {
    let mismatch = |field| Err(Fault::Mismatch { place: P::PLACE, field });
    if len < size_of::<P>() {
        return mismatch("Size");
    }
    if !base.addr().get().is_multiple_of(align_of::<P>()) {
        return mismatch("Alignment");
    }
    Ok(())
}

fn head<P: Page>(page: &P) -> &Head {
    let head = NonNull::from(page).cast::<Head>();
    // SAFETY: a page begins with its head (`Page`'s contract).
    unsafe { head.as_ref() }
}

#[cfg(not(runahead_loom))]
const _: () = {
    assert!(size_of::<ClientPage>() == 5 * 128);
    assert!(size_of::<ServerPage>() == 6 * 128);
};
