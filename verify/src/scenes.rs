//! Scenes: small programs against the pipe, each with the exact image that it must leave.
//!
//! A scene knows neither backend nor topology. What it draws is small enough that its image follows from its numbers
//! alone: edges keep clear of the centres of pixels, and colours are whole steps of eight bits.

mod basic;
mod buffers;
mod capture;
mod common;
mod compute;
mod draws;
mod framebuffers;
mod grid;
mod image;
mod known;
mod list;
mod programs;
mod queries;
mod reflection;
mod shaders;
mod stage;
mod state;
mod textures;
mod transfers;
mod vertex;

pub use image::Image;
pub use list::Scene;
pub use reflection::Reflection;
pub use shaders::Compiler;
pub use stage::{
    Attribute, Complaint, Complaints, Indexed, Linked, Mapped, Maps, Stage, StageError, Written, rendered,
    shape, textured,
};

/// Pixels along each side of a scene's surface.
pub const SIDE: u32 = 64;
