//! What a child has of its parent's sessions after `fork`: nothing.
//!
//! It has copies of the parent's objects and, but for this, the parent's shared memory: one draw or one drop in the
//! child would write into the parent's rings, or end the parent's session. So the memory of each session is enrolled
//! here. In a child, before `fork` returns, private memory lies in the place of all of it, and the server counts as
//! dead. What the child does with its copy then ends as after any other loss. Descriptors stay open in the child, and
//! nothing is sent over them.
//!
//! A clone of a process without `fork`'s handlers (`vfork`, `posix_spawn`) must execute a program and nothing else, as
//! ever.

use std::{
    cell::RefCell,
    io,
    sync::{
        Mutex, MutexGuard, OnceLock, PoisonError,
        atomic::{AtomicU32, AtomicU64, Ordering},
    },
};

use runahead_rings::Waiter;
use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous};

use crate::{doorbell::FutexDoorbell, segment::Mapping};

/// Forks between the first process and this one, since there were sessions.
static FORKS: AtomicU32 = AtomicU32::new(0);

static SESSIONS: Mutex<Vec<Session>> = Mutex::new(Vec::new());

thread_local! {
    /// Held over a `fork` by the thread that forks, so that the child finds the list whole.
    static HELD: RefCell<Option<MutexGuard<'static, Vec<Session>>>> = const { RefCell::new(None) };
}

fn sessions() -> MutexGuard<'static, Vec<Session>> {
    // The list is whole after every step.
    SESSIONS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A range of shared memory. Its mapping leaves the list before it is unmapped.
#[derive(Clone, Copy, Debug)]
struct Range {
    base: usize,
    len: usize,
    rights: ProtFlags,
}

impl Range {
    /// Puts private memory, all zero, in its place.
    fn sever(&self) {
        let put = |rights| {
            let flags = MapFlags::PRIVATE | MapFlags::FIXED | MapFlags::NORESERVE;
            // SAFETY: replaces a mapping of ours that lives, in a process of one thread, which is here and reads none of it.
            unsafe { mmap_anonymous(self.base as *mut _, self.len, rights, flags) }
        };
        // Without memory for it nothing lies there: a use ends the child and harms nobody else.
        let _ = put(self.rights).or_else(|_| put(ProtFlags::empty()));
    }
}

#[derive(Debug)]
struct Session {
    key: u64,
    ranges: Vec<Range>,
    waiter: Waiter<'static>,
}

/// A session's place in the list, until dropped.
#[derive(Debug)]
pub struct Enrolled {
    key: u64,
    forks: u32,
}

impl Enrolled {
    /// Enrols a session: what it writes, what it reads, and its waiter, which lies in these.
    ///
    /// # Errors
    /// The system's, when it takes no handlers of `fork`.
    ///
    /// # Safety
    /// The mappings, and all that the waiter works on, outlive the result.
    pub unsafe fn new<'m>(
        own: impl IntoIterator<Item = &'m Mapping>,
        peer: impl IntoIterator<Item = &'m Mapping>,
        waiter: Waiter<'static>,
    ) -> io::Result<Self> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        watch_forks()?;
        let range = |mapping: &Mapping, rights| Range {
            base: mapping.base().as_ptr().addr(),
            len: mapping.len(),
            rights,
        };
        let own = own.into_iter().map(|mapping| range(mapping, ProtFlags::READ | ProtFlags::WRITE));
        let peer = peer.into_iter().map(|mapping| range(mapping, ProtFlags::READ));
        let ranges = own.chain(peer).collect();
        let key = NEXT.fetch_add(1, Ordering::Relaxed);
        sessions().push(Session { key, ranges, waiter });
        Ok(Self { key, forks: FORKS.load(Ordering::Relaxed) })
    }

    /// Whether this is a child's copy.
    pub fn is_in_child(&self) -> bool {
        FORKS.load(Ordering::Relaxed) != self.forks
    }
}

impl Drop for Enrolled {
    fn drop(&mut self) {
        sessions().retain(|session| session.key != self.key);
    }
}

/// Has the handlers called from now on.
fn watch_forks() -> io::Result<()> {
    static REGISTERED: OnceLock<i32> = OnceLock::new();
    // SAFETY: three functions of this library, which stays loaded while it has sessions.
    let register = || unsafe { libc::pthread_atfork(Some(before), Some(in_parent), Some(in_child)) };
    match *REGISTERED.get_or_init(register) {
        0 => Ok(()),
        error => Err(io::Error::from_raw_os_error(error)),
    }
}

unsafe extern "C" fn before() {
    // A thread that forks in its last moments has no such place any more; then nobody else may hold the list for long.
    let _ = HELD.try_with(|held| *held.borrow_mut() = Some(sessions()));
}

unsafe extern "C" fn in_parent() {
    let _ = HELD.try_with(|held| held.borrow_mut().take());
}

unsafe extern "C" fn in_child() {
    FORKS.fetch_add(1, Ordering::Relaxed);
    let held = HELD.try_with(|held| held.borrow_mut().take()).ok().flatten();
    let Some(sessions) = held.or_else(|| SESSIONS.try_lock().ok()) else { return };
    for session in &*sessions {
        for range in &session.ranges {
            range.sever();
        }
        // Nobody sleeps in this process, and its own page says so by now.
        session.waiter.announce_death(&FutexDoorbell);
    }
}
