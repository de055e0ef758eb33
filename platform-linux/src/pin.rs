//! Keeping this code loaded.
//!
//! A library that has threads and handlers in a process must not be unloaded under them, and the program that loaded
//! it knows nothing of them. So the first session keeps the library for as long as the process lives: `dlclose` gives
//! the program's reference back and unloads nothing.

use std::{mem::MaybeUninit, sync::Once};

/// Keeps the library that this code is in, if it is in one.
pub fn pin() {
    static PINNED: Once = Once::new();
    PINNED.call_once(|| {
        let mut info = MaybeUninit::<libc::Dl_info>::uninit();
        let here = pin as fn() as *const libc::c_void;
        // SAFETY: any address may be asked for; the result has room.
        if unsafe { libc::dladdr(here, info.as_mut_ptr()) } == 0 {
            return;
        }
        // SAFETY: `dladdr` found the object and has filled it in.
        let info = unsafe { info.assume_init() };
        let flags = libc::RTLD_LAZY | libc::RTLD_NOLOAD | libc::RTLD_NODELETE;
        // SAFETY: the name of a loaded object, NUL-terminated; nothing is loaded. An executable has none that is found,
        // and is not unloaded either.
        unsafe { libc::dlopen(info.dli_fname, flags) };
    });
}
