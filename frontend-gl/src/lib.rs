//! The GL front of Runahead: the semantics of GL and EGL, recorded through the catalogue's `Pipe`.
//!
//! | module | holds |
//! |---|---|
//! | [`egl`] | displays, configs, contexts, surfaces, threads, and the C entry points of EGL |
//! | [`gl`] | contexts, objects, validation, and the C entry points of OpenGL ES |
//! | [`shader`] | GLSL in, SPIR-V and a reflection archive out |
#![deny(unsafe_code)]

pub mod egl;
pub mod gl;
pub mod shader;
