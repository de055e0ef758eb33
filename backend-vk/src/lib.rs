//! The Vulkan backend of Runahead. **Nothing is here yet.**
//!
//! This crate will hold the `Backend` that applies the catalogue on Vulkan 1.1 and later. Its files will
//! carry the names of the OpenGL ES backend's for the same concern.
