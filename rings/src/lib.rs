//! What crosses between Runahead's client and server lies in the memory that this crate governs.
//!
//! Rings of records, a stage for bulk bytes, space for answers, watermarks, a seqlock page and the doorbell
//! protocol, over memory that the caller gives. Neither `std` nor `alloc`; no system call. The records' content
//! is none of its business, but for the 8-byte header described in [`mod@record`].
//!
//! # Contract
//!
//! - **Who writes what.** Each segment and each control page has one writer, its creator. The other side can
//!   map it read-only, and everything here works over such mappings. [`client`] and [`server`] list the halves
//!   of each role.
//! - **Who may call what.** A half belongs to one thread at a time: its methods take `&mut self`. [`Waiter`]s
//!   are copied, one for each waiting thread, and each publishing thread has a [`Ringer`].
//! - **Who guarantees which lifetime.** `'a` on every half is the lifetime of the mapping. Grants borrow their
//!   half; what [`InPlace`] lends ends with the next call on it.
//! - **Trust.** A [`CopyOut`] consumer, [`StageReader`], [`ReplyClient`] and [`WatermarkReader`] are sound and
//!   terminate whatever the peer writes, at any time. [`InPlace`] trusts its producer.
//! - **Errors.** "Full" errors are back-pressure: wait, then try again. "Too large" errors are the caller's
//!   and final. A [`Fault`] is the peer's, and ends the session.
//!
//! # Order of publication
//!
//! | written by | in this order |
//! |---|---|
//! | client | stage bytes, [`StageWriter::publish`], record bytes, [`Producer::publish`] (release), [`Ringer::ring`] (between batches: [`Ringer::glance`]) |
//! | server | events of record N, their [`Producer::publish`] (release), applied N (release), [`Ringer::ring`] |
//! | server | the answer's bytes, its status word (release), [`Ringer::ring`] |
//! | server | last use of stage bytes up to N, retired N (release), [`Ringer::ring`] |
//!
//! Every protocol here has a model in `tests/loom`, and seeded defects (the `mutant` module) that the model is shown
//! to catch.
#![no_std]

#[cfg(runahead_loom)]
extern crate std;

pub mod client;
mod consumer;
mod copy;
mod cursor;
mod doorbell;
mod fault;
pub mod lock;
mod memory;
#[cfg(not(runahead_loom))]
#[allow(dead_code, reason = "named where a protocol could go wrong")]
mod mutant;
#[cfg(runahead_loom)]
pub mod mutant;
mod page;
mod prefetch;
mod producer;
pub mod record;
mod reply;
mod seqlock;
pub mod server;
#[cfg(not(runahead_loom))]
mod split;
mod stage;
mod sync;
mod watermark;

#[cfg(not(target_has_atomic = "64"))]
compile_error!("the rings need 64-bit atomics");

pub use consumer::{CopyOut, InPlace};
pub use cursor::reached;
pub use doorbell::{Bell, Doorbell, Liveness, Ringer, WaitError, Waiter};
pub use fault::Fault;
pub use memory::Region;
#[cfg(runahead_loom)]
pub use memory::TrackedWord;
pub use page::{ClientPage, Page, ServerPage, Start, create, open};
pub use producer::{Grant, Producer, ReserveError};
pub use reply::{
    Answer, MAX_ANSWER, Pending, ReplyClient, ReplyError, ReplyGrant, ReplyServer, ReplySpace, Status,
};
pub use seqlock::{SeqPage, SeqReader, SeqWriter, Torn};
#[cfg(not(runahead_loom))]
pub use split::{Ends, Memory, Pages, session, split, split_replies};
pub use stage::{
    STAGE_ALIGN, StageBytes, StageError, StageGrant, StageReader, StageRef, StageWriter, max_piece,
};
pub use watermark::{Watermark, WatermarkReader, WatermarkWriter};
