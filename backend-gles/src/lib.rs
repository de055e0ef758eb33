//! The OpenGL ES backend of Runahead. **Nothing is here yet.**
//!
//! This crate will hold the `Backend` that applies the catalogue on an EGL/OpenGL ES driver (ES 3.0 and
//! later), loaded at run time. It may depend on the core and wire crates, never on the front.
