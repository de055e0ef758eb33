//! What the tests of this crate share.

#![allow(dead_code, reason = "each test uses its part")]

#[cfg(all(feature = "trace", not(runahead_loom)))]
pub mod direct;
pub mod heap;

// Where `heap` expects them: it is a module of `runahead_core::storage` too, for the tests inside the crate.
use runahead_core::storage::{Bytes, Storage, Table};

/// How a property test runs: so many cases, or as many as `PROPTEST_CASES` says.
pub fn config(usual: u32) -> proptest::test_runner::Config {
    let cases = std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(usual);
    // A failing case becomes a test of its own, with a name; no file of seeds.
    proptest::test_runner::Config { cases, failure_persistence: None, ..Default::default() }
}
