//! Signals and threads of our own inside a foreign program.

use std::{io, mem::MaybeUninit};

/// Blocks every signal on this thread until dropped.
///
/// A thread started meanwhile inherits that: the program's handlers never run on it. A process cloned meanwhile
/// inherits it too: no handler runs in it before it has put the handlers away.
pub struct Blocked {
    before: libc::sigset_t,
}

impl Blocked {
    pub fn new() -> io::Result<Self> {
        let mut all = MaybeUninit::uninit();
        // SAFETY: it fills the set that it is given.
        unsafe { libc::sigfillset(all.as_mut_ptr()) };
        // SAFETY: filled above.
        let all = unsafe { all.assume_init() };
        let mut before = MaybeUninit::uninit();
        // SAFETY: a valid set to read and one to write.
        let error = unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &raw const all, before.as_mut_ptr()) };
        if error != 0 {
            return Err(io::Error::from_raw_os_error(error));
        }
        // SAFETY: the call succeeded, so it wrote the mask.
        Ok(Self { before: unsafe { before.assume_init() } })
    }
}

impl Drop for Blocked {
    fn drop(&mut self) {
        // SAFETY: a mask that this thread had.
        unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &raw const self.before, std::ptr::null_mut()) };
    }
}
