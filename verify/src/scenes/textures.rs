//! Textures: storage, contents, parameters, views, formats, as programs see them.

use runahead_core::Session;
use runahead_wire::{
    Handle,
    format::Format,
    payload::{ResourceDesc, TexelBox},
    values::{PixelFormat, PixelType, ResourceTarget, ScalarType, StageMask, Topology},
};

use super::{
    Reflection, SIDE, Stage, StageError,
    common::{QUAD, bytes},
    stage::{Sight, extent, shape},
};

pub(super) mod all_formats;
pub(super) mod parameter_updates;
pub(super) mod respecified_level;
pub(super) mod texture_parameters;
pub(super) mod texture_targets;
pub(super) mod texture_views;
pub(super) mod upload_shapes;

/// Cells along each side of the surface: each shows one case.
const CELLS: u32 = 8;

/// Draws go to one cell from now on.
fn cell<P: Session>(stage: &mut Stage<'_, P>, number: u32) {
    let side = SIDE / CELLS;
    let render = stage.tracker().render_state();
    let viewport = &mut render.viewports[0];
    (viewport.x, viewport.y) = ((number % CELLS * side) as f32, (number / CELLS * side) as f32);
    (viewport.width, viewport.height) = (side as f32, side as f32);
}

/// The number of the cell that a pixel lies in.
const fn cell_of(x: u32, y: u32) -> u32 {
    let side = SIDE / CELLS;
    y / side * CELLS + x / side
}

const VERTEX: &str = "#version 450
    layout(location = 0) in vec2 position;
    layout(location = 1) in vec2 coordinate;
    layout(location = 0) out vec2 at;
    void main() { at = coordinate; gl_Position = vec4(position, 0.0, 1.0); }
";

/// A program that shows what one sampler reads: its type, the target and scalar of that, and the colour, of `image` and
/// `at`.
fn program<P: Session>(
    stage: &mut Stage<'_, P>,
    sampler: &str,
    (target, scalar): (ResourceTarget, ScalarType),
    color: &str,
) -> Result<Handle, StageError> {
    let fragment = format!(
        "#version 450
        layout(location = 0) in vec2 at;
        layout(location = 4, binding = 0) uniform {sampler} image;
        layout(location = 0) out vec4 color;
        void main() {{ color = {color}; }}"
    );
    let stages = [(StageMask::VERTEX, VERTEX), (StageMask::FRAGMENT, fragment.as_str())];
    stage.staged(&stages, &Reflection::default().sampler(4, target, scalar, 1), &[])
}

/// The quad that fills a cell, for draws from now on.
fn quad<P: Session>(stage: &mut Stage<'_, P>) -> Result<(), StageError> {
    let quad = stage.buffer(&bytes(&QUAD))?;
    stage.vertices(quad, &[(0, 2), (1, 2)])
}

/// Draws the quad.
fn show<P: Session>(stage: &mut Stage<'_, P>, number: u32) -> Result<(), StageError> {
    cell(stage, number);
    stage.draw(Topology::TriangleStrip, 0, 4)
}
