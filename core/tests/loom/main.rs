//! Loom models of what several threads of a client share, and of the defects that they must catch.
//!
//! Run as `cargo test -p runahead-core --release --test loom` under `--cfg runahead_loom`, in a target folder of
//! its own. Bounds: slots exhaustively; recorder and server at a preemption bound of 3.
#![cfg(runahead_loom)]

#[allow(dead_code, unused_imports, reason = "shared with runahead-rings; each crate uses its part")]
#[path = "../../../rings/tests/loom/bed.rs"]
mod bed;
#[path = "../common/mod.rs"]
mod common;
mod defect;
mod lock;
#[cfg(feature = "null")]
mod session;
mod slots;
