//! What this library has of a process and of each thread.

use std::{
    cell::{Cell, RefCell},
    ffi::c_void,
    ptr,
};

use runahead_frontend_gl::{
    egl::{Egl, Host, Thread, display::GlContext},
    gl,
};

use crate::{connection::Client, platform::Linux};

/// This library.
#[derive(Debug)]
pub struct Vendor;

static EGL: Egl<Linux> = Egl::new();

thread_local! {
    static THREAD: RefCell<Thread<Linux>> = const { RefCell::new(Thread::new()) };
    /// The context that is current, for the entry points of the client API; it lies in `THREAD`. Of its own, because
    /// a cell without a destructor is the cheapest thing there is of a thread's.
    static CURRENT: Cell<*mut GlContext<Linux>> = const { Cell::new(ptr::null_mut()) };
}

impl Host for Vendor {
    type Platform = Linux;

    fn egl() -> &'static Egl<Linux> {
        &EGL
    }

    fn thread<R>(call: impl FnOnce(&mut Thread<Linux>) -> R) -> Option<R> {
        // Until the call has ended nobody is to use what may go meanwhile.
        CURRENT.set(ptr::null_mut());
        THREAD
            .try_with(|thread| {
                // Taken already where an application's callback calls EGL from within a call of EGL; none is called.
                let mut thread = thread.try_borrow_mut().ok()?;
                let answer = call(&mut thread);
                CURRENT.set(thread.gl().map_or(ptr::null_mut(), ptr::from_mut));
                Some(answer)
            })
            .ok()
            .flatten()
    }

    fn client_function(name: &str) -> Option<*const c_void> {
        gl::proc_address::<Self>(name)
    }
}

impl gl::Current for Vendor {
    type Session = Client;

    #[inline(always)]
    fn with<R>(call: impl FnOnce(&mut gl::Context<Client>) -> R) -> Option<R> {
        // Taken for the time of the call: a debug callback that calls the client API finds none.
        let context = CURRENT.replace(ptr::null_mut());
        if context.is_null() {
            return None;
        }
        // SAFETY: it lies in this thread's state, which changes only in `Host::thread`; that empties the cell first
        // and sets it anew. Nobody else has it meanwhile: the cell was emptied.
        let answer = call(unsafe { &mut *context });
        CURRENT.set(context);
        Some(answer)
    }
}
