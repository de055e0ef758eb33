//! The exit of a program whose driver is at work on a thread of ours.
//!
//! `exit` calls the handlers of libraries while threads go on, and a native driver takes itself down in one of its own.
//! A thread that is in the driver then, or comes there later, meets freed memory. So a handler of ours, registered once
//! the driver is loaded and therefore called before the driver's, keeps every apply thread from the driver from then
//! on: at the end of its batch it tells its client and sleeps until the process is gone. Nothing is joined.

use std::{
    cell::Cell,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU32, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

/// How long an exit waits for what the driver is doing at most.
const PATIENCE: Duration = Duration::from_secs(1);

static LEAVING: AtomicBool = AtomicBool::new(false);

/// Threads that are in a driver.
static INSIDE: AtomicU32 = AtomicU32::new(0);

thread_local! {
    /// Whether this one is: a driver may call `exit` itself.
    static HERE: Cell<bool> = const { Cell::new(false) };
}

/// Leave to be in the driver, until dropped.
#[derive(Debug)]
pub struct Inside(());

/// Enters the driver. `None` when the program is at its exit: the driver is not to be touched any more.
pub fn enter() -> Option<Inside> {
    // Either the handler sees this, or this sees the handler's flag.
    INSIDE.fetch_add(1, Ordering::SeqCst);
    HERE.set(true);
    let inside = Inside(());
    (!LEAVING.load(Ordering::SeqCst)).then_some(inside)
}

impl Drop for Inside {
    fn drop(&mut self) {
        HERE.set(false);
        INSIDE.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Where an apply thread stays when its program is at its exit. It does not end either: a driver has destructors of
/// threads.
pub fn rest() -> ! {
    loop {
        thread::park();
    }
}

/// Called when a driver was brought up. One handler stands before all that was loaded by then, so there is another one
/// only when more was loaded since.
pub fn driver_is_loaded() {
    static LAST: Mutex<Option<u64>> = Mutex::new(None);
    let loads = loads();
    let mut last = LAST.lock().unwrap_or_else(PoisonError::into_inner);
    if *last != Some(loads) {
        *last = Some(loads);
        // SAFETY: a function of this library, which stays loaded. Without memory for it the exit is as it would be.
        unsafe { libc::atexit(keep_out) };
    }
}

/// Objects that were ever loaded into this process.
fn loads() -> u64 {
    extern "C" fn note(info: *mut libc::dl_phdr_info, _: usize, out: *mut libc::c_void) -> i32 {
        // SAFETY: the first argument is valid in this call.
        let adds = unsafe { (*info).dlpi_adds };
        // SAFETY: `loads` passes its own number, which nothing else uses meanwhile.
        unsafe { *out.cast::<u64>() = adds };
        1
    }
    let mut adds = 0_u64;
    // SAFETY: `note` keeps nothing, and writes into a number of this frame.
    unsafe { libc::dl_iterate_phdr(Some(note), (&raw mut adds).cast()) };
    adds
}

extern "C" fn keep_out() {
    LEAVING.store(true, Ordering::SeqCst);
    let (mine, deadline) = (u32::from(HERE.get()), Instant::now() + PATIENCE);
    while INSIDE.load(Ordering::SeqCst) > mine && Instant::now() < deadline {
        thread::sleep(Duration::from_micros(50));
    }
}
