//! Tests, benches and fuzz targets that span crates.
//!
//! Here today: [`fuzz`], the bodies of the fuzz targets, which a bounded smoke test runs as well; the benches (the
//! program `bench`), with the loads that `runahead bench` runs too ([`steady`], [`sessions`]); and tests of the crate
//! graph, the freestanding build, allocations, and transfers between threads and processes. Scenes, replay and the
//! differential harness are not here yet.
#![forbid(unsafe_code)]

pub mod fuzz;
pub mod sessions;
pub mod steady;
