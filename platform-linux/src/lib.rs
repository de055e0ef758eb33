//! Runahead on Linux: what rings and sessions need of the operating system.
//!
//! | module | holds |
//! |---|---|
//! | [`capture`] | what a client recorded, in a file: written, read, played |
//! | [`segment`] | sealed shared memory that its creator alone can write |
//! | [`bias`] | the lock under which threads share a record path |
//! | [`doorbell`] | the two ways for threads of two processes to sleep and be woken |
//! | [`control`] | messages, frames, the socket with its descriptors, the handshake |
//! | [`peer`] | knowing from the kernel that a peer is gone |
//! | [`spawn`] | starting a server from inside somebody else's program |
//! | [`session`] | clients and servers, in one call, two threads or two processes |
//! | [`listing`] | what a backend was called for, in a file |
//! | [`native`] | the backends on this system's drivers and window systems |
//! | [`storage`] | the core's tables on the heap |
//! | [`settings`] | the environment variables of a client |
//! | [`environment`] | what of a program's environment a server must not have |
//!
//! Nothing here may depend on the GL front.

pub mod bias;
pub mod capture;
pub mod control;
pub mod doorbell;
pub mod environment;
pub mod listing;
pub mod native;
pub mod peer;
mod pin;
mod poll;
pub mod segment;
pub mod session;
pub mod settings;
mod signals;
pub mod spawn;
pub mod storage;
