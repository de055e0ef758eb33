//! The two clones. See [`spawn`](super) for why.
//!
//! ```text
//! program ── clone(VM | VFORK | FILES | PIDFD, no signal) ──▶ middle ── clone(VM | VFORK | PIDFD) ──▶ server: execve
//!    ◀────────── the middle ends, which lets the program go on ◀────────── execve lets the middle go on
//! ```
//!
//! Both share the program's memory until `execve`, so nothing of it is copied, and each parent stands still until its
//! child has ended or is another program. What runs there may neither allocate nor lock: another thread may hold
//! any lock at that moment. It calls the kernel and stores into [`Plan`], nothing else. It has stacks of its own, all
//! signals blocked, and the calling thread's `errno`, which nobody else uses meanwhile.
//!
//! The middle shares the program's descriptors, so the server's pidfd arrives in the program.

use std::{
    ffi::{CString, c_char, c_int, c_void},
    fmt, io,
    os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd},
    ptr,
    sync::atomic::{AtomicI32, Ordering},
};

use rustix::{
    io::Errno,
    process::{WaitId, WaitIdOptions, waitid},
};

use super::{Image, Process, SOCKET};
use crate::signals::Blocked;

/// How far a process came that did not become the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum Stage {
    /// The process in between could not start it.
    Clone = 1,
    /// Its descriptors could not be put in place.
    Descriptors,
    /// What it must not have could not be closed.
    Closing,
    /// The program could not be executed.
    Executing,
}

impl fmt::Display for Stage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Clone => "no second process",
            Self::Descriptors => "its descriptors could not be put in place",
            Self::Closing => "the program's descriptors could not be closed (Linux 5.9 or later is needed)",
            Self::Executing => "it cannot be executed",
        })
    }
}

/// Why there is no server.
#[derive(Debug)]
pub enum Failure {
    /// There was no process at all.
    NoProcess(io::Error),
    /// There was one.
    InProcess(Stage, io::Error),
}

/// What becomes the server's descriptors; all above [`SOCKET`].
pub struct Descriptors {
    /// Becomes 0 and 1.
    pub null: OwnedFd,
    /// Becomes 2.
    pub errors: OwnedFd,
    /// Becomes [`SOCKET`].
    pub socket: OwnedFd,
}

/// One process's stack. Little runs on it; the dynamic linker may take some kilobytes to bind a function.
#[repr(align(16))]
struct Stack([u8; 64 << 10]);

impl Stack {
    fn new() -> Box<Self> {
        Box::new(Self([0; 64 << 10]))
    }

    /// Its upper end: it grows down.
    const fn top(&mut self) -> *mut c_void {
        self.0.as_mut_ptr_range().end.cast()
    }
}

/// What both processes read, and what they tell.
struct Plan {
    program: *const c_char,
    arguments: *const *const c_char,
    environment: *const *const c_char,
    null: c_int,
    errors: c_int,
    socket: c_int,
    server_stack: *mut c_void,
    /// Number of the server's process; 0 when there is none.
    server: AtomicI32,
    /// Its pidfd, in the program.
    pidfd: AtomicI32,
    /// Where it failed, a [`Stage`]; 0 when it did not.
    stage: AtomicI32,
    /// Why.
    errno: AtomicI32,
}

impl Plan {
    /// Called in either process right after a call that failed.
    fn failed(&self, stage: Stage) -> c_int {
        self.errno.store(io::Error::last_os_error().raw_os_error().unwrap_or(0), Ordering::Relaxed);
        self.stage.store(stage as i32, Ordering::Relaxed);
        127
    }

    fn failure(&self) -> Option<(Stage, io::Error)> {
        let stage = match self.stage.load(Ordering::Relaxed) {
            0 => return None,
            1 => Stage::Clone,
            2 => Stage::Descriptors,
            3 => Stage::Closing,
            _ => Stage::Executing,
        };
        Some((stage, io::Error::from_raw_os_error(self.errno.load(Ordering::Relaxed))))
    }
}

fn pointers(texts: &[CString]) -> Vec<*const c_char> {
    texts.iter().map(|text| text.as_ptr()).chain([ptr::null()]).collect()
}

/// Starts the program of `image`.
pub fn launch(image: &Image, descriptors: &Descriptors) -> Result<Process, Failure> {
    let (arguments, environment) = (pointers(&image.arguments), pointers(&image.environment));
    let (mut middle_stack, mut server_stack) = (Stack::new(), Stack::new());
    let plan = Plan {
        program: image.program.as_ptr(),
        arguments: arguments.as_ptr(),
        environment: environment.as_ptr(),
        null: descriptors.null.as_raw_fd(),
        errors: descriptors.errors.as_raw_fd(),
        socket: descriptors.socket.as_raw_fd(),
        server_stack: server_stack.top(),
        server: AtomicI32::new(0),
        pidfd: AtomicI32::new(-1),
        stage: AtomicI32::new(0),
        errno: AtomicI32::new(0),
    };
    let mut middle_pidfd: c_int = -1;
    let cloned = {
        let _blocked = Blocked::new().map_err(Failure::NoProcess)?;
        let flags = libc::CLONE_VM | libc::CLONE_VFORK | libc::CLONE_FILES | libc::CLONE_PIDFD;
        let argument = (&raw const plan).cast_mut().cast();
        // SAFETY: `middle` runs on a stack of its own and keeps to what a process in shared memory may do (see the
        // module); this thread stands still until it has ended, so everything that it borrows outlives it.
        match unsafe { libc::clone(middle, middle_stack.top(), flags, argument, &raw mut middle_pidfd) } {
            -1 => Err(io::Error::last_os_error()),
            _ => Ok(()),
        }
    };
    cloned.map_err(Failure::NoProcess)?;
    // SAFETY: the clone succeeded, so the kernel made this descriptor for us, and nobody else owns it.
    reap(unsafe { OwnedFd::from_raw_fd(middle_pidfd) });
    let number = plan.server.load(Ordering::Relaxed);
    let process = (number > 0).then(|| Process {
        // SAFETY: as above, by the clone that gave the number.
        pidfd: unsafe { OwnedFd::from_raw_fd(plan.pidfd.load(Ordering::Relaxed)) },
        number: number as u32,
    });
    match (plan.failure(), process) {
        (Some((stage, error)), _) => Err(Failure::InProcess(stage, error)),
        (None, Some(process)) => Ok(process),
        (None, None) => Err(Failure::NoProcess(io::Error::other("the process in between was killed"))),
    }
}

/// Waits for the middle, which ends just now. Only a wait for all kinds of children could have met it before.
fn reap(middle: OwnedFd) {
    let all = WaitIdOptions::from_bits_retain(libc::__WALL as u32);
    while let Err(Errno::INTR) = waitid(WaitId::PidFd(middle.as_fd()), WaitIdOptions::EXITED | all) {}
}

extern "C" fn middle(plan: *mut c_void) -> c_int {
    // SAFETY: `launch` passes a plan that outlives this process; everything in it that changes is atomic.
    let plan = unsafe { &*plan.cast::<Plan>() };
    let flags = libc::CLONE_VM | libc::CLONE_VFORK | libc::CLONE_PIDFD | libc::SIGCHLD;
    let argument = ptr::from_ref(plan).cast_mut().cast();
    // SAFETY: as in `launch`, with a stack that no other process uses.
    let number = unsafe { libc::clone(server, plan.server_stack, flags, argument, plan.pidfd.as_ptr()) };
    if number == -1 {
        return plan.failed(Stage::Clone);
    }
    plan.server.store(number, Ordering::Relaxed);
    if plan.stage.load(Ordering::Relaxed) != 0 {
        // It ended; whoever adopts orphans need not hear of it.
        // SAFETY: a plain call into the kernel.
        unsafe { libc::waitpid(number, ptr::null_mut(), libc::__WALL) };
    }
    0
}

extern "C" fn server(plan: *mut c_void) -> c_int {
    // SAFETY: as in `middle`.
    let plan = unsafe { &*plan.cast::<Plan>() };
    // Away from the program's terminal and process group. It fails for leaders of a group alone, which this is not.
    // SAFETY: a plain call into the kernel.
    unsafe { libc::setsid() };
    for (from, to) in [(plan.null, 0), (plan.null, 1), (plan.errors, 2), (plan.socket, SOCKET)] {
        // SAFETY: the descriptors of this process are its own copy.
        if unsafe { libc::dup2(from, to) } == -1 {
            return plan.failed(Stage::Descriptors);
        }
    }
    // SAFETY: as above; nothing above the socket is used any more.
    if unsafe { libc::syscall(libc::SYS_close_range, SOCKET + 1, c_int::MAX, 0) } == -1 {
        return plan.failed(Stage::Closing);
    }
    default_signals();
    // SAFETY: three pointers to NUL-terminated texts and NULL-terminated lists of those, alive as the plan is.
    unsafe { libc::execve(plan.program, plan.arguments, plan.environment) };
    plan.failed(Stage::Executing)
}

/// Puts away the program's handlers (this process has a copy of the table) and what the terminal sent while this
/// process was in the program's group, then lets signals in.
fn default_signals() {
    // SAFETY: all zeroes is a valid action: SIG_DFL, no flags, an empty mask.
    let default: libc::sigaction = unsafe { std::mem::zeroed() };
    let mut ignore = default;
    ignore.sa_sigaction = libc::SIG_IGN;
    for signal in 1..=64 {
        // Ignoring discards what is pending. Some cannot be changed, and those have no handler.
        for action in [&ignore, &default] {
            // SAFETY: a valid action; the old one is not asked for.
            unsafe { libc::sigaction(signal, action, ptr::null_mut()) };
        }
    }
    // SAFETY: the action's mask is an empty set.
    unsafe { libc::sigprocmask(libc::SIG_SETMASK, &raw const default.sa_mask, ptr::null_mut()) };
}
