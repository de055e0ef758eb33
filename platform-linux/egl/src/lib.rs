//! The EGL vendor library of Runahead. **Nothing is here yet**, and nothing is exported.
//!
//! This package will build `libEGL_runahead.so.0`, the library that libglvnd dispatches to.
