//! The allocation-free core of Runahead: both halves of the pipe. (Contract page to be written.)
#![no_std]
#![deny(unsafe_code)]

#[cfg(any(test, runahead_loom))]
extern crate std;

pub mod applier;
pub mod backend;
pub mod bind_state;
pub mod caps;
pub mod chunks;
#[cfg(feature = "compare")]
pub mod compare;
mod extent;
mod fault;
pub mod link;
pub mod lock;
#[cfg(not(runahead_loom))]
#[allow(dead_code, reason = "named where a protocol could go wrong")]
mod mutant;
#[cfg(runahead_loom)]
pub mod mutant;
#[cfg(feature = "null")]
pub mod null;
pub mod objects;
mod outlet;
mod recorder;
mod server;
pub mod slots;
pub mod state;
pub mod storage;
#[cfg(feature = "trace")]
pub mod trace;
pub mod tracker;
pub mod upload;
pub mod wait;

pub use applier::{Applier, Quota};
pub use fault::{Fault, FaultCode};
pub use outlet::Outlet;
pub use recorder::{Mode, RecordError, Recorder, reply_space};
pub use server::{Outbox, RingOutlet, Server};
