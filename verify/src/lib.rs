//! Everything that proves Runahead: scenes, replay and diff, the differential harness, fuzz targets, benches.
//!
//! Here today: [`scenes`], small programs against the pipe with exact pixels; [`apps`], programs off the shelf on each
//! driver; [`fuzz`], the bodies of the fuzz targets, which a bounded smoke test runs as well; the benches (the program
//! `bench`), with the loads that `runahead bench` runs too ([`steady`], [`sessions`]); and tests of the crate graph, the
//! freestanding build, allocations, and transfers between threads and processes. The differential harness is not here yet.
#![forbid(unsafe_code)]

pub mod apps;
mod built;
pub mod fuzz;
pub mod recordings;
pub mod scenes;
mod scratch;
pub mod sessions;
pub mod steady;

pub use built::built;
pub use scratch::Scratch;
