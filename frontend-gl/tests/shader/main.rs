//! The shader front against the system's OpenGL ES driver, `spirv-val`, and source that means harm.

mod common;
mod driver;
mod errors;
mod glmark;
mod hostile;
mod image;
mod random;
mod table;
mod translate;
mod validity;
