//! The allocation-free core of Runahead. **Nothing is here yet.**
//!
//! This crate will hold both halves of the pipe on top of `runahead-wire` and `runahead-rings`:
//! for the client the slot allocators, the wait-class predicate, the caps snapshot, the `Recorder` and the
//! state tracker; for the server the `Applier` with its object records; and the `Link` and `Backend` traits
//! between them. It will use neither `std` nor `alloc`.
#![no_std]
