//! EGL semantics, without a platform.
//!
//! Source: EGL 1.5; section numbers are of that document. What is there answers as version 1.4.
//!
//! | module | holds |
//! |---|---|
//! | [`platform`] | what a platform has to do |
//! | [`config`] | configs: queries, matching and sorting (section 3.4) |
//! | [`attributes`] | attribute lists of contexts and surfaces |
//! | [`display`] | displays and what lives in them |
//! | [`thread`] | what each thread has: its last error and what is current |
//! | [`abi`] | the C entry points |
//! | [`names`] | the numbers of `egl.h` |
//!
//! # Contract
//!
//! - **Nothing starts before it is used.** A display is a name until `eglInitialize`; only that connects.
//! - **Handles are numbers.** Each is looked up; one that was never given out, or has ended, is the specification's
//!   error. None is ever given out again.
//! - **Lifetimes.** What is current lives on when it is destroyed or its display is terminated, until it is current no
//!   more. A display that is initialised again is connected anew.
//! - **Loss.** Once a display's session is lost, a swap and a make-current answer `EGL_CONTEXT_LOST`, and drawing does
//!   nothing. The next context or surface that is made in that display connects again.
//! - **Threads.** Any function on any thread. A context is handed from thread to thread with what it is; no lock is
//!   taken while it draws.

pub mod abi;
pub mod attributes;
pub mod config;
pub mod display;
pub mod error;
pub mod names;
pub mod platform;
pub mod thread;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

pub use config::Config;
pub use display::Display;
pub use error::{Error, Outcome};
pub use platform::{Connection, Failure, Host, Platform, SurfaceState};
pub use thread::Thread;

/// Every display of a process.
#[derive(Debug)]
pub struct Egl<P: Platform> {
    /// They stay for good: a display that was named once has the same handle for ever (section 3.2).
    displays: Mutex<Vec<Arc<Display<P>>>>,
}

impl<P: Platform> Egl<P> {
    /// None yet.
    #[must_use]
    pub const fn new() -> Self {
        Self { displays: Mutex::new(Vec::new()) }
    }

    /// The display of a name (section 3.2).
    pub fn named(&self, name: P::Name) -> Arc<Display<P>> {
        let mut displays = lock(&self.displays);
        if let Some(display) = displays.iter().find(|display| *display.name() == name) {
            return Arc::clone(display);
        }
        let display = Arc::new(Display::new(name));
        displays.push(Arc::clone(&display));
        display
    }

    /// The display of a handle.
    ///
    /// # Errors
    /// [`Error::BadDisplay`].
    pub fn display(&self, handle: usize) -> Outcome<Arc<Display<P>>> {
        let displays = lock(&self.displays);
        displays.iter().find(|display| display.handle() == handle).cloned().ok_or(Error::BadDisplay)
    }

    /// Every display so far.
    pub fn displays(&self) -> Vec<Arc<Display<P>>> {
        lock(&self.displays).clone()
    }
}

impl<P: Platform> Default for Egl<P> {
    fn default() -> Self {
        Self::new()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // What these guard is whole after every step.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
