//! Steady state allocates nothing: a million records each way, counted.

use std::{
    alloc::{GlobalAlloc, Layout, System},
    sync::{
        Barrier,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
};

use runahead_rings::{ClientPage, Page, ServerPage, Start, split};
use runahead_wire::{
    BlobRef, Bulk, NoStage, Row, Sink,
    event::{self, Events},
    payload::{DrawInfo, DrawRange, EventOrigin, FenceSignaled},
    pipe::{self, Pipe},
};

struct Counting;

static COUNTED: AtomicBool = AtomicBool::new(false);
static ALLOCATIONS: AtomicU64 = AtomicU64::new(0);

fn count() {
    if COUNTED.load(Ordering::Relaxed) {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
    }
}

// SAFETY: forwards to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: the caller's contract.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller's contract.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count();
        // SAFETY: the caller's contract.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

const RECORDS: u64 = 1_000_000;

/// A recorder that waits for room by spinning.
struct Recorder<'a>(runahead_rings::Producer<'a>);

impl Sink for Recorder<'_> {
    type Error = ();

    fn stage(&mut self, _: Bulk<'_>) -> Result<BlobRef, ()> {
        Err(())
    }

    fn record<'a, R: Row<'a>>(&mut self, row: &R) -> Result<(), ()> {
        let len = row.encoded_len().ok_or(())?;
        while !self.0.has_room(len).map_err(|_| ())? {
            self.0.publish();
            std::hint::spin_loop();
        }
        let mut grant = self.0.reserve(len).map_err(|_| ())?;
        if !row.encode(&mut grant) {
            return Err(());
        }
        grant.commit();
        if self.0.pending() >= runahead_rings::record::BATCH {
            self.0.publish();
        }
        Ok(())
    }
}

/// Counts what arrives; the sum shows that it was looked at.
#[derive(Default)]
struct Arrived {
    records: u64,
    sum: u64,
}

impl Sink for Arrived {
    type Error = ();

    fn stage(&mut self, _: Bulk<'_>) -> Result<BlobRef, ()> {
        Err(())
    }

    fn record<'a, R: Row<'a>>(&mut self, row: &R) -> Result<(), ()> {
        self.records += 1;
        self.sum += row.encoded_len().ok_or(())? as u64;
        Ok(())
    }
}

fn draws(recorder: &mut pipe::Encoder<Recorder<'_>>) {
    let info = DrawInfo { mode: 4, instance_count: 1, num_draws: 1, ..DrawInfo::default() };
    for record in 0..RECORDS {
        let ranges = [DrawRange { start: record as u32, count: 3, index_bias: 0 }];
        recorder.draw_vbo(&info, &ranges, &[]).expect("a draw is recorded");
    }
    recorder.0.0.publish();
}

fn fences(writer: &mut event::Encoder<Recorder<'_>>) {
    for ordinal in 0..RECORDS {
        let event = FenceSignaled { origin: EventOrigin { context: 1, ordinal }, ..FenceSignaled::default() };
        writer.fence_signaled(&event).expect("an event is recorded");
    }
    writer.0.0.publish();
}

/// Runs two threads through a ring; the allocations made between the moment both are ready and the end.
fn transfer(
    produce: impl FnOnce(Recorder<'_>) + Send,
    dispatch: impl Fn(&[u8], &mut Arrived) -> bool + Sync,
) -> (u64, Arrived) {
    let mut memory = vec![0; 1 << 17];
    let (mut client, mut server) = (ClientPage::new(Start::default()), ServerPage::new(Start::default()));
    let (producer, mut consumer) = split(&mut memory, &mut client, &mut server).expect("a ring");
    let ready = Barrier::new(2);
    let mut arrived = Arrived::default();
    std::thread::scope(|scope| {
        let ready = &ready;
        let producing = scope.spawn(move || {
            ready.wait();
            ready.wait();
            produce(Recorder(producer));
            ready.wait();
        });
        ready.wait();
        ALLOCATIONS.store(0, Ordering::Relaxed);
        COUNTED.store(true, Ordering::Relaxed);
        ready.wait();
        while arrived.records < RECORDS {
            while let Some(record) = consumer.next().expect("no fault") {
                assert!(dispatch(record, &mut arrived), "record {} is refused", arrived.records);
            }
            std::hint::spin_loop();
        }
        ready.wait();
        COUNTED.store(false, Ordering::Relaxed);
        producing.join().expect("the producer ends well");
    });
    (ALLOCATIONS.load(Ordering::Relaxed), arrived)
}

/// One test, since the counter belongs to the whole process.
#[test]
fn a_million_records_each_way() {
    let (allocations, arrived) = transfer(
        |recorder| draws(&mut pipe::Encoder(recorder)),
        |record, arrived| pipe::dispatch(record, &NoStage, &mut pipe::Encoder(arrived.by_ref())).is_ok(),
    );
    assert_eq!((arrived.records, arrived.sum), (RECORDS, RECORDS * 80));
    assert_eq!(allocations, 0, "commands allocate");

    let (allocations, arrived) = transfer(
        |recorder| fences(&mut event::Encoder(recorder)),
        |record, arrived| event::dispatch(record, &NoStage, &mut event::Encoder(arrived.by_ref())).is_ok(),
    );
    assert_eq!((arrived.records, arrived.sum), (RECORDS, RECORDS * 32));
    assert_eq!(allocations, 0, "events allocate");

    let (allocations, _) = transfer(
        |recorder| {
            std::hint::black_box(Box::new(1));
            fences(&mut event::Encoder(recorder));
        },
        |record, arrived| event::dispatch(record, &NoStage, &mut event::Encoder(arrived.by_ref())).is_ok(),
    );
    assert_eq!(allocations, 1, "negative control: one allocation is counted");
}

/// A sink by reference.
struct ByRef<'s>(&'s mut Arrived);

impl Arrived {
    const fn by_ref(&mut self) -> ByRef<'_> {
        ByRef(self)
    }
}

impl Sink for ByRef<'_> {
    type Error = ();

    fn stage(&mut self, bulk: Bulk<'_>) -> Result<BlobRef, ()> {
        self.0.stage(bulk)
    }

    fn record<'a, R: Row<'a>>(&mut self, row: &R) -> Result<(), ()> {
        self.0.record(row)
    }
}
