//! The GL front of Runahead. **Nothing is here yet.**
//!
//! This crate will hold the GL and GLES semantics: contexts, objects, validation, the shader front and the
//! EGL front. It will call the catalogue's `Pipe` trait and nothing else.
