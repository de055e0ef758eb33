//! Loom models of every protocol in this crate, and of the defects that they must catch.
//!
//! Run by `./x test` as `cargo test --test loom` under `--cfg runahead_loom`, in a target folder of its own.
//! Bounds: rings of 4 words (16 where a step of release needs them); rings alone, stage, replies, events and
//! seqlock exhaustively; everything with a doorbell at a preemption bound of 3.
#![cfg(runahead_loom)]

mod bed;
mod doorbell;
mod event;
mod lock;
mod reply;
mod ring;
mod seqlock;
mod stage;
