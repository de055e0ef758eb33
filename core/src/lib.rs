//! The allocation-free core of Runahead: both halves of the pipe, on [`runahead_wire`] and [`runahead_rings`].
//!
//! ```text
//!  front ──▶ Tracker ──▶ Encoder<Recorder> ──▶ rings ──▶ Server ──▶ Applier ──▶ Backend
//!            what changed     records          Link                 checks      native API
//! ```
//!
//! The **client half** keeps what a server has to be told small: a [`tracker::Tracker`] a context sends at each
//! verb what changed since the last, [`slots::SlotSpace`] mints handles without asking anybody, and a
//! [`Recorder`] turns calls into records and runs ahead. The **server half** takes nothing for granted: an
//! [`Applier`] checks each record against what the session said before, keeps it, and calls a
//! [`backend::Backend`] where there is work. Both implement [`Pipe`](runahead_wire::pipe::Pipe), so a client may
//! also hold an applier itself.
//!
//! # Contract
//!
//! - **Memory.** Neither `std` nor `alloc`, and no unsafe code. Tables grow in [`storage::Storage`] that the host
//!   of the role gives, within a [`storage::Budget`]; steady state takes none.
//! - **Who may call what.** A half belongs to one thread at a time. Threads of one program share the record path
//!   under a [`lock::Lock`]; a handle is minted under it together with its first record
//!   ([`slots::SlotSpace::mint_with`]), so that the server can insist on the next slot.
//! - **Who waits.** A recorder waits for room, for the present credit, and for what its caller asks to wait for,
//!   and drains events whenever it waits. An applier never waits for the GPU: what is not ready is owed
//!   ([`Applier::poll`]). [`wait::barriered`] says for both roles which records are waited for.
//! - **Lifetimes.** A death record follows once no context's windows name the object any more
//!   ([`tracker::Tracker::forget`]); only then is the slot free. Twins go back to the backend exactly once.
//! - **Trust.** The applier answers whatever a client sends with a change of state, a refusal or a fault, and
//!   never with a panic or a table that the client did not fill. In its own process a client that holds the
//!   applier is trusted to pass payloads that [`Member::check`](runahead_wire::Member::check) takes.
//! - **Errors.** A [`Fault`] is the client's breach of the rules, or the loss of peer or device: it ends the
//!   session. A refusal is the event `Refused`: valid, and not possible. A [`RecordError`] is what a recorder's
//!   caller gets.
//!
//! # Features
//! `null` and `trace` bring backends that draw nothing; `compare` the comparator of the client's state with the
//! server's; `defmt` formats faults and errors.
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
pub mod counters;
mod extent;
mod fault;
pub mod link;
mod local;
pub mod lock;
#[cfg(not(runahead_loom))]
#[allow(dead_code, reason = "named where a protocol could go wrong")]
mod mutant;
#[cfg(runahead_loom)]
pub mod mutant;
mod native_config;
#[cfg(feature = "null")]
pub mod null;
pub mod objects;
mod outlet;
pub mod pace;
mod recorder;
mod server;
mod session;
mod shared;
mod silence;
pub mod slots;
pub mod state;
pub mod storage;
#[cfg(feature = "trace")]
pub mod trace;
pub mod tracker;
pub mod upload;
pub mod wait;

pub use applier::{Applier, Quota};
pub use counters::Counters;
pub use fault::{Fault, FaultCode};
pub use local::Local;
pub use native_config::NativeConfig;
pub use outlet::Outlet;
pub use recorder::{Credit, Due, Mode, RecordError, Recorder, reply_space};
pub use runahead_rings::{Answer, Pending, Status, Watermark};
pub use server::{Outbox, RingOutlet, Server};
pub use session::{AnySession, Session};
pub use shared::{RecordPath, Shared, Turn};
pub use silence::Silence;
