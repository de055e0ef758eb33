//! The control socket that this process was started with.

use std::{
    fmt,
    os::fd::{BorrowedFd, FromRawFd, OwnedFd},
};

use runahead_linux::spawn::{NAME, SOCKET};
use rustix::{
    io::{FdFlags, fcntl_setfd},
    net::{
        AddressFamily, SocketType,
        sockopt::{socket_domain, socket_type},
    },
};

/// Descriptor 3 is no control socket.
#[derive(Debug)]
pub struct NoSocket;

impl fmt::Display for NoSocket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "file descriptor {SOCKET} is no control socket; {NAME} is started by the Runahead client library, not by \
             hand (--help says more)"
        )
    }
}

impl std::error::Error for NoSocket {}

/// Takes descriptor 3, once.
pub fn socket() -> Result<OwnedFd, NoSocket> {
    // SAFETY: it is borrowed to ask what it is, if it is open at all; nothing else of this process uses it.
    let inherited = unsafe { BorrowedFd::borrow_raw(SOCKET) };
    let is_socket = socket_domain(inherited) == Ok(AddressFamily::UNIX)
        && socket_type(inherited) == Ok(SocketType::STREAM)
        // No program that a driver starts may hold it open.
        && fcntl_setfd(inherited, FdFlags::CLOEXEC).is_ok();
    if !is_socket {
        return Err(NoSocket);
    }
    // SAFETY: it is open, was given to this process to own, and is taken once, by `main`.
    Ok(unsafe { OwnedFd::from_raw_fd(SOCKET) })
}
