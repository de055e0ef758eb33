//! The EGL vendor library of Runahead, `libEGL_runahead.so.0`: what libglvnd dispatches an application's EGL and
//! OpenGL ES calls to.
//!
//! # Contract
//!
//! - It exports `__egl_Main`, which libglvnd calls, and nothing else (`glvnd`). It is never unloaded.
//! - Loading it starts nothing; neither does naming a display. `eglInitialize` opens a session, one for each display,
//!   as the `RUNAHEAD_*` variables say ([`runahead_linux::settings`]); a server process is `runahead-server` beside
//!   this library.
//! - Platforms are X11 and surfaceless (`platform`). The server opens windows itself, by display and XID; the
//!   application's own connection is only flushed, and waited for before the server hears of a window (`x11`).
//! - What no return value can tell is one line on standard error, once.
#![cfg_attr(not(test), expect(non_snake_case, reason = "the crate's name is the library's"))]

mod connection;
mod glvnd;
mod host;
mod platform;
mod report;
mod x11;
