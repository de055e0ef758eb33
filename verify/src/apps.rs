//! Programs off the shelf, on the system's driver and on Runahead: how they are started, and what they show.
//!
//! Used by `bench apps`, the program `demo`, and the tests of whole programs. Everything runs under an X server of its
//! own without a screen ([`Screen`]); what a program shows is read from that server's memory ([`Image`]).

mod arm;
mod image;
mod program;
mod screen;

pub use arm::{Arm, Running, installation};
pub use image::Image;
pub use program::{Glmark2, Scene, es2gears_fps};
pub use screen::Screen;
