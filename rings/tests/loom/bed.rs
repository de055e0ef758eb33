//! What the models stand on: tracked memory, pages, a doorbell of loom's own locks, and the runner. The models of
//! `runahead-core` stand on it too.

use std::{
    cell::{Cell, UnsafeCell},
    fmt::Debug,
    panic,
    ptr::NonNull,
    sync::{
        Arc, Once,
        atomic::{AtomicUsize, Ordering},
    },
};

use loom::sync::{Condvar, Mutex};
use runahead_rings::{
    Bell, ClientPage, Doorbell, Fault, Liveness, Page, Producer, Region, ServerPage, Start, TrackedWord,
    mutant::{self, Mutant},
};

/// How far a model is explored.
#[derive(Clone, Copy, Debug)]
pub enum Bound {
    /// Every interleaving.
    Exhaustive,
    /// Every interleaving with at most this many preemptions.
    Preemptions(usize),
}

/// One way to get a protocol wrong, which models are run with.
pub trait Defect: Copy + Debug + Send + 'static {
    /// Puts the defect in force on this thread, for the models run on it.
    fn choose(self);
}

impl Defect for Mutant {
    fn choose(self) {
        mutant::choose(Some(self));
    }
}

/// Runs a model as it should be: it must hold.
pub fn holds(name: &str, bound: Bound, model: fn()) {
    let executions = explore(bound, model);
    println!("{name}: {executions} executions, {bound:?}");
    assert!(executions > 1, "{name} explored a single execution: it models nothing");
}

/// Runs a model with one defect: loom must find it.
pub fn catches(name: &str, bound: Bound, defect: impl Defect, model: fn()) {
    quiet_panics();
    // A thread of its own: what a failed model leaves behind in thread-locals ends with it.
    let outcome = std::thread::spawn(move || {
        QUIET.set(true);
        defect.choose();
        explore(bound, model)
    })
    .join();
    match outcome {
        Err(found) => {
            let text = found.downcast_ref::<String>().map(String::as_str);
            let found = text.or_else(|| found.downcast_ref::<&str>().copied()).unwrap_or_default();
            println!("{name}: {defect:?} caught: {}", found.lines().next().unwrap_or_default());
        }
        Ok(executions) => panic!("{name}: {defect:?} survived {executions} executions"),
    }
}

fn explore(bound: Bound, model: fn()) -> usize {
    let mut builder = loom::model::Builder::new();
    builder.max_branches = 10_000;
    builder.preemption_bound = match bound {
        Bound::Exhaustive => None,
        Bound::Preemptions(most) => Some(most),
    };
    let executions = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&executions);
    builder.check(move || {
        counted.fetch_add(1, Ordering::Relaxed);
        model();
    });
    executions.load(Ordering::Relaxed)
}

std::thread_local! {
    static QUIET: Cell<bool> = const { Cell::new(false) };
}

/// Panics of models that are meant to fail are not printed.
fn quiet_panics() {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let usual = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            if !QUIET.get() {
                usual(info);
            }
        }));
    });
}

/// One model: a test that it holds, and a test that it catches each of its defects: those of `runahead_rings` by
/// their bare names, others by a path.
macro_rules! model {
    ($name:ident, $bound:expr, catches [$($defect:path),+ $(,)?], $body:expr) => {
        mod $name {
            #[allow(unused_imports, reason = "models differ in what they use")]
            use super::*;

            #[test]
            fn holds() {
                crate::bed::holds(stringify!($name), $bound, $body);
            }

            #[test]
            fn catches_its_defects() {
                #[allow(unused_imports, reason = "a model may have none of them")]
                use runahead_rings::mutant::Mutant::*;
                $(crate::bed::catches(
                    stringify!($name),
                    $bound,
                    $defect,
                    $body,
                );)+
            }
        }
    };
}
pub(crate) use model;

/// Bytes, and a tracked twin for each word of them.
pub struct Memory {
    bytes: Box<[UnsafeCell<u64>]>,
    words: Vec<TrackedWord>,
}

// SAFETY: reached through regions only, whose accesses loom checks.
unsafe impl Sync for Memory {}

impl Memory {
    pub fn new(words: usize) -> Self {
        Self {
            bytes: (0..words).map(|_| UnsafeCell::new(0)).collect(),
            words: (0..words).map(|_| TrackedWord::new()).collect(),
        }
    }

    pub fn region(&self) -> Region<'_> {
        let base = NonNull::new(self.bytes.as_ptr().cast_mut().cast()).unwrap();
        // SAFETY: the bytes live as long as self and are reached through regions only.
        unsafe { Region::tracked(base, &self.words) }.unwrap()
    }
}

/// Both pages and all segments of a session.
pub struct Bed {
    pub start: Start,
    pub client: ClientPage,
    pub server: ServerPage,
    pub commands: Memory,
    pub stage: Memory,
    pub replies: Memory,
    pub events: Memory,
    pub alive: Liveness,
    pub doors: Doors,
}

impl Bed {
    /// A session whose cursors begin at `cursor` and whose ordinals begin just before 2^64.
    pub fn new(cursor: u64, command_words: usize) -> Arc<Self> {
        let start = Start { cursor, ordinal: u64::MAX - 1 };
        Arc::new(Self {
            start,
            client: ClientPage::new(start),
            server: ServerPage::new(start),
            commands: Memory::new(command_words),
            stage: Memory::new(4),
            replies: Memory::new(16),
            events: Memory::new(4),
            alive: Liveness::new(),
            doors: Doors::new(),
        })
    }

    /// The ordinal of the n-th record, 1-based.
    pub fn ordinal(&self, n: u64) -> u64 {
        self.start.ordinal.wrapping_add(n)
    }
}

/// Where the threads of one side sleep: the kernel's queue behind a futex word.
#[derive(Debug)]
struct Queue {
    lock: Mutex<()>,
    sleepers: Condvar,
}

impl Queue {
    fn new() -> Self {
        Self { lock: Mutex::new(()), sleepers: Condvar::new() }
    }

    /// FUTEX_WAIT: compare and sleep under the queue's lock. Returns after one wake, like the real one.
    fn sleep(&self, bell: Bell<'_>, seen: u32) {
        let guard = self.lock.lock().unwrap();
        if bell.value() == seen {
            drop(self.sleepers.wait(guard).unwrap());
        }
    }

    /// FUTEX_WAKE.
    fn wake(&self) {
        let _guard = self.lock.lock().unwrap();
        self.sleepers.notify_all();
    }
}

/// A queue for each side.
pub struct Doors {
    client: Queue,
    server: Queue,
}

impl Doors {
    pub fn new() -> Self {
        Self { client: Queue::new(), server: Queue::new() }
    }

    pub fn of_client(&self) -> Door<'_> {
        Door { ours: &self.client, theirs: &self.server }
    }

    pub fn of_server(&self) -> Door<'_> {
        Door { ours: &self.server, theirs: &self.client }
    }
}

/// One side's doorbell.
#[derive(Clone, Copy, Debug)]
pub struct Door<'a> {
    ours: &'a Queue,
    theirs: &'a Queue,
}

impl Doorbell for Door<'_> {
    fn sleep(&self, bell: Bell<'_>, seen: u32) {
        self.ours.sleep(bell, seen);
    }

    fn wake(&self, _bell: Bell<'_>) {
        self.theirs.wake();
    }

    fn interrupt(&self, _bell: Bell<'_>) {
        self.ours.wake();
    }
}

/// A record of `words` words: a header with `value` in its flags, and `value` in every further word.
pub fn fill(record: &mut [u8], value: u16) {
    let size = record.len() as u64;
    let header = 1 | u64::from(value) << 16 | size << 32;
    let (words, _) = record.as_chunks_mut::<8>();
    words[0] = header.to_le_bytes();
    for word in &mut words[1..] {
        *word = u64::from(value).to_le_bytes();
    }
}

/// The value of a record that [`fill`] made; checks that all of it is there.
pub fn value(record: &[u8]) -> u16 {
    let (words, _) = record.as_chunks::<8>();
    let header = u64::from_le_bytes(words[0]);
    assert_eq!(header >> 32, record.len() as u64, "torn header");
    let value = (header >> 16) as u16;
    for word in &words[1..] {
        assert_eq!(u64::from_le_bytes(*word), u64::from(value), "torn record");
    }
    value
}

/// Commits a record if there is room.
pub fn try_push(producer: &mut Producer<'_>, words: usize, number: u16) -> Result<bool, Fault> {
    match producer.reserve(words * 8) {
        Ok(mut grant) => {
            fill(&mut grant, number);
            grant.commit();
            Ok(true)
        }
        Err(runahead_rings::ReserveError::Full) => Ok(false),
        Err(runahead_rings::ReserveError::Fault(fault)) => Err(fault),
        Err(error) => panic!("{error}"),
    }
}

/// Commits a record, spinning for room.
pub fn push(producer: &mut Producer<'_>, words: usize, number: u16) {
    while !try_push(producer, words, number).unwrap() {
        loom::thread::yield_now();
    }
}
