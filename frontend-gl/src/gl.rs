//! The semantics of OpenGL ES 2.0, without a platform.
//!
//! Source: OpenGL ES 2.0.25; section numbers are of that document.
//!
//! | module | holds |
//! |---|---|
//! | `context` | a context, its share group, ends of objects |
//! | `abi` | the C entry points, and how they find a context |
//! | `client_memory` | memory of the application that a command reads or writes |
//! | `table` | objects by name |
//! | `buffer`, `vertex`, `arrays` | buffer objects, vertex arrays, arrays in the application's memory |
//! | `texture`, `framebuffer`, `pixels` | images and what they are attached to |
//! | `program` | shaders, programs, uniforms |
//! | `render`, `get`, `limits` | state, its queries, what the server allows |
//! | `draw`, `read` | verbs |
//! | `mail`, `error` | what the server says unasked, and errors |
//!
//! # Contract
//! - **Who calls what.** One thread at a time has a [`Context`]; contexts of one [`ShareGroup`] may be on different
//!   threads. What a platform calls is public here; an application comes through [`proc_address`].
//! - **Who waits.** `glFinish`, `glReadPixels`, and the first draw with indices in a buffer beside arrays in the
//!   application's memory. Everything else is answered from what is here.
//! - **Memory of the application** is read within the call that it is given to, or, arrays, within each draw.
//! - **Errors** that can be known here are raised at once; what only the server knows comes by [`Mail`].
//! - **Loss.** Once the session is over commands do nothing.

mod abi;
mod arrays;
mod buffer;
mod client_memory;
mod compare;
mod context;
mod draw;
mod enums;
mod error;
mod framebuffer;
mod get;
mod layouts;
mod limits;
mod mail;
mod pixels;
mod program;
mod read;
mod render;
mod resident;
mod table;
#[cfg(test)]
mod tests;
mod texture;
mod vertex;

pub use abi::{Current, names, proc_address};
pub use context::{Attributes, Context, DrawSurface, ShareGroup};
pub use mail::{Inbox, Mail};
