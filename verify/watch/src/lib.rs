//! A loader of GL functions that lists the calls a driver gets, or keeps them from it.
//!
//! Every function that the loader hands out is a trampoline of this crate. It passes its arguments on as they are, whatever
//! the function takes, so the list has every call that crosses into the driver, by the names that the driver knows.
//!
//! # Contract
//! - [`open`] brings the GLES backend up on the system's driver, watched.
//! - [`listed`] says what a closure called, on its own thread. Threads do not see each other's calls.
//! - [`skipping`] has every watched call of the process return 0 at once while a closure runs: what is left is the cost of the caller.
//!   Nothing that needs an answer may be called then.
//! - It is there for x86-64 and AArch64, elsewhere [`open`] says that it is not.

mod trampoline;

use std::{
    cell::RefCell,
    ffi::{CStr, c_void},
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicPtr, AtomicU8, AtomicUsize, Ordering},
    },
};

use runahead_backend_gles::Gles;
use runahead_linux::native::gles::{self, Driver, WindowSystem};

/// Functions that there is room for. GL has fewer than half as many.
const ROOM: usize = 4000;

/// What trampolines do: pass on, list and pass on, or return 0.
static MODE: AtomicU8 = AtomicU8::new(PASS);
const PASS: u8 = 0;
const LIST: u8 = 1;
const SKIP: u8 = 2;

/// The driver's function behind each trampoline.
static TARGETS: [AtomicPtr<c_void>; ROOM] = [const { AtomicPtr::new(std::ptr::null_mut()) }; ROOM];
/// Names of those that were given out, in order.
static NAMES: Mutex<Vec<String>> = Mutex::new(Vec::new());
/// Threads that list.
static LISTING: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    /// Calls of this thread, while it lists.
    static CALLS: RefCell<Option<Vec<usize>>> = const { RefCell::new(None) };
}

/// Brings the backend up, each of its functions watched.
///
/// # Errors
/// As [`gles::open`], and on a processor that there are no trampolines for.
pub fn open(window_system: &WindowSystem, driver: Driver) -> Result<Gles, String> {
    if !trampoline::there() {
        return Err("calls cannot be watched on this processor".to_owned());
    }
    // SAFETY: a trampoline does what the function does that it stands for, or nothing where the caller asked for that.
    unsafe { gles::open_with(window_system, driver, &mut watched) }
}

/// The trampoline of a function: the same one whenever it is the same name of the same function.
fn watched(name: &CStr, function: *const c_void) -> *const c_void {
    let name = name.to_string_lossy();
    if function.is_null() {
        return function;
    }
    let mut names = NAMES.lock().unwrap_or_else(PoisonError::into_inner);
    let of = |at: usize| TARGETS.get(at).map(|target| target.load(Ordering::Relaxed).cast_const());
    let known = (0..names.len())
        .find(|at| names.get(*at).is_some_and(|known| *known == name) && of(*at) == Some(function));
    let at = known.unwrap_or(names.len());
    let (Some(target), Some(trampoline)) = (TARGETS.get(at), trampoline::at(at)) else { return function };
    if known.is_none() {
        target.store(function.cast_mut(), Ordering::Relaxed);
        names.push(name.into_owned());
    }
    trampoline
}

/// What a trampoline asks, unless it is to do nothing: the function that it goes on to.
extern "C" fn target(at: usize) -> *const c_void {
    if MODE.load(Ordering::Relaxed) == LIST {
        CALLS.with_borrow_mut(|calls| {
            if let Some(calls) = calls {
                calls.push(at);
            }
        });
    }
    TARGETS.get(at).map_or(std::ptr::null(), |target| target.load(Ordering::Relaxed).cast_const())
}

/// What `run` answers, and the names of the functions that it called on this thread, in order.
pub fn listed<T>(run: impl FnOnce() -> T) -> (T, Vec<String>) {
    CALLS.set(Some(Vec::new()));
    LISTING.fetch_add(1, Ordering::Relaxed);
    MODE.store(LIST, Ordering::Relaxed);
    let answer = run();
    if LISTING.fetch_sub(1, Ordering::Relaxed) == 1 {
        MODE.store(PASS, Ordering::Relaxed);
    }
    let calls = CALLS.take().unwrap_or_default();
    let names = NAMES.lock().unwrap_or_else(PoisonError::into_inner);
    (answer, calls.into_iter().filter_map(|at| names.get(at).cloned()).collect())
}

/// What `run` answers when no watched function does anything. For one thread at a time.
pub fn skipping<T>(run: impl FnOnce() -> T) -> T {
    let before = MODE.swap(SKIP, Ordering::Relaxed);
    let answer = run();
    MODE.store(before, Ordering::Relaxed);
    answer
}
