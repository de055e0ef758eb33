//! Native APIs, as sessions need them: a backend, the driver that it loads, and the window system it presents to.

pub mod gles;
mod library;
mod vendor;
mod x11;
