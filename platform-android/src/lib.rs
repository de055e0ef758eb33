//! Runahead on Android. **Nothing is here yet.**
//!
//! This crate will hold what the Linux platform crate holds, on ASharedMemory, AHardwareBuffer and
//! ANativeWindow.
