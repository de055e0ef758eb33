//! Render state: matrices of it in grids of cells.

use runahead_core::Session;
use runahead_wire::{
    Handle,
    format::Format,
    payload::{BlendState, Clear, RenderState, VertexBuffer},
    values::{AttribType, BlendFactor, BlendOp, BufferMask, ClearKind, CompareOp, StencilOp, Topology},
};

use super::{
    Attribute, SIDE, Stage, StageError,
    common::{BLACK, POSITION, UNIFORM_COLOR, bytes, color},
    grid, rendered, textured,
};

mod blending;
mod clearing;
mod fields;
mod samples;
mod testing;

pub(super) use blending::{blend_equations, blend_factors, draw_buffers, dual_source};
pub(super) use clearing::clears;
pub(super) use fields::{clip_distances, setters, state_refused};
pub(super) use samples::sample_masks;
pub(super) use testing::{depth_stencil, stencil_ops};

/// What is drawn.
const DRAWN: [u8; 4] = [0, 204, 102, 255];

/// A position of three components, so that depth is part of it.
const DEEP: &str = "
    attribute vec3 position;
    void main() { gl_Position = vec4(position, 1.0); }
";

/// The corners of every cell, four each as a strip, at one depth.
fn corners(depth: f32) -> Vec<f32> {
    let corner = |[x, y]: [f32; 2]| [x, y, depth];
    (0..grid::CELLS * grid::CELLS).flat_map(|cell| grid::whole(cell).map(corner)).flatten().collect()
}

/// A program in one colour over cells, the corners of which are at some depths: those of depth `d` begin at vertex
/// `256 * d`.
fn cells<P: Session>(stage: &mut Stage<'_, P>, shade: [u8; 4], depths: &[f32]) -> Result<(), StageError> {
    let all: Vec<f32> = depths.iter().flat_map(|depth| corners(*depth)).collect();
    let buffer = stage.buffer(&bytes(&all))?;
    stage.program(DEEP, UNIFORM_COLOR, &[("position", 0)], &bytes(&color(shade)))?;
    stage.vertices(buffer, &[(0, 3)])
}

/// Draws a cell at one of the depths.
fn cell<P: Session>(stage: &mut Stage<'_, P>, cell: u32, depth: u32) -> Result<(), StageError> {
    stage.draw(Topology::TriangleStrip, 256 * depth + 4 * cell, 4)
}
