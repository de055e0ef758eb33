//! Runahead on Linux: what the rings need of the operating system.
//!
//! Here today: [`segment`], sealed shared memory that its creator alone can write, and [`doorbell`], the two
//! ways for threads of two processes to sleep and be woken. Sessions (links, control plane, both roles, the
//! capture writer) are not here yet.
//!
//! Nothing here may depend on the GL front.

pub mod doorbell;
pub mod segment;
