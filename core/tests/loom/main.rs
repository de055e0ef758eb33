//! Loom models of what several threads of a client share, and of the defects that they must catch.
//!
//! Run as `cargo test -p runahead-core --release --test loom` under `--cfg runahead_loom`, in a target folder of
//! its own. Bounds: slots exhaustively.
#![cfg(runahead_loom)]

#[allow(dead_code, unused_imports, reason = "shared with runahead-rings; each crate uses its part")]
#[path = "../../../rings/tests/loom/bed.rs"]
mod bed;
mod defect;
mod lock;
mod slots;
