//! Draws of every kind.

use runahead_core::Session;
use runahead_wire::{
    Handle,
    payload::{DrawIndirect, DrawInfo, DrawRange, VertexBuffer},
    values::{AttribType, Topology},
};

use super::{
    Attribute, Indexed, Stage, StageError,
    common::{BLACK, POSITION, UNIFORM_COLOR, bytes, color},
    grid,
};

mod indirect;
mod instances;
mod restart;

pub(super) use indirect::{indirect_count, indirect_draws};
pub(super) use instances::{base_instance, base_vertex, multi_draw};
pub(super) use restart::{restart_arbitrary, restart_fixed};

/// What is drawn.
const DRAWN: [u8; 4] = [0, 204, 102, 255];

fn words(numbers: &[u32]) -> Vec<u8> {
    numbers.iter().flat_map(|number| number.to_le_bytes()).collect()
}

fn shorts(numbers: &[u16]) -> Vec<u8> {
    numbers.iter().flat_map(|number| number.to_le_bytes()).collect()
}

/// What two float components from the start of binding point 0 on are.
fn position(stage_buffer: Handle, offset: u64) -> ([Attribute; 1], [VertexBuffer; 1]) {
    let buffer = VertexBuffer { resource: stage_buffer, offset, stride: 8, ..VertexBuffer::default() };
    ([Attribute::new(0, 0, AttribType::Float, 2, 0)], [buffer])
}

/// Indices beyond the end of their buffer draw nothing, and an attribute beyond the end of its buffer reads zeros or
/// what is in the buffer, which are zeros here.
pub(super) mod out_of_range {
    use super::*;

    const VERTEX: &str = "
        attribute vec2 position;
        attribute vec3 tint;
        varying vec3 shade;
        void main() { shade = tint; gl_Position = vec4(position, 0.0, 1.0); }
    ";
    const FRAGMENT: &str = "
        precision highp float;
        varying vec3 shade;
        void main() { gl_FragColor = vec4(shade, 1.0); }
    ";
    const CLEARED: [u8; 4] = [255, 255, 255, 255];

    pub(in super::super) fn draw<P: Session>(stage: &mut Stage<'_, P>) -> Result<(), StageError> {
        stage.clear(color(CLEARED))?;
        // The diagonal of the second keeps clear of the centres of pixels.
        let cut = [[0.0, 0.0], [7.5, 0.0], [0.0, 7.5], [8.0, 8.0]].map(|corner| grid::at(2, corner));
        let corners: Vec<f32> = [grid::whole(0), cut, grid::whole(4)].concat().concat();
        let corners = stage.buffer(&bytes(&corners))?;
        // One vertex of colour, for whatever number of them.
        let tint = stage.buffer(&bytes(&[0.0; 3]))?;
        stage.program(VERTEX, FRAGMENT, &[("position", 0), ("tint", 1)], &[])?;
        let attributes =
            [Attribute::new(0, 0, AttribType::Float, 2, 0), Attribute::new(1, 1, AttribType::Float, 3, 0)];
        let feed =
            |resource: Handle, stride: u32| VertexBuffer { resource, stride, ..VertexBuffer::default() };
        stage.layout(&attributes, &[feed(corners, 8), feed(tint, 12)])?;
        stage.draw(Topology::TriangleStrip, 0, 4)?;
        // Three indices of a strip in the buffer, three more beyond it, and then a range that begins beyond it.
        let indices = Indexed { buffer: stage.buffer(&shorts(&[4, 5, 6]))?, size: 2, restart: None };
        let info = indices.info(Topology::TriangleStrip);
        stage.draw_ranges(&info, &[DrawRange { start: 0, count: 6, index_bias: 0 }])?;
        stage.draw_ranges(&info, &[DrawRange { start: 3, count: 4, index_bias: 0 }])?;
        stage.draw_ranges(&info, &[DrawRange { start: u32::MAX, count: u32::MAX, index_bias: 0 }])
    }

    pub(in super::super) fn pixel(x: u32, y: u32) -> [u8; 4] {
        let (cell, x, y) = grid::of(x, y);
        match cell {
            0 => BLACK,
            2 if x + y < 7 => BLACK,
            _ => CLEARED,
        }
    }
}

/// A quad in three draws whose index buffers are bound anew, replaced, or begin within their buffer.
pub(super) mod index_buffers {
    use super::*;

    pub(in super::super) fn draw<P: Session>(stage: &mut Stage<'_, P>) -> Result<(), StageError> {
        stage.clear(color(BLACK))?;
        let corners: Vec<f32> = (0..4).flat_map(|cell| grid::whole(cell).concat()).collect();
        let corners = stage.buffer(&bytes(&corners))?;
        stage.program(POSITION, UNIFORM_COLOR, &[("position", 0)], &bytes(&color(DRAWN)))?;
        stage.vertices(corners, &[(0, 2)])?;
        let four = DrawRange { start: 0, count: 4, index_bias: 0 };
        // Bytes, words, and double words.
        let small = Indexed { buffer: stage.buffer(&[0, 1, 2, 3])?, size: 1, restart: None };
        stage.draw_ranges(&small.info(Topology::TriangleStrip), &[four])?;
        let medium = Indexed { buffer: stage.buffer(&shorts(&[9, 9, 4, 5, 6, 7]))?, size: 2, restart: None };
        stage.draw_ranges(&medium.info(Topology::TriangleStrip), &[DrawRange { start: 2, ..four }])?;
        let large = Indexed { buffer: stage.buffer(&words(&[9, 8, 9, 10, 11]))?, size: 4, restart: None };
        stage.tracker().index_buffer().offset = 4;
        stage.draw_ranges(&large.info(Topology::TriangleStrip), &[four])?;
        stage.tracker().index_buffer().offset = 0;
        // The first buffer once more, with other contents.
        stage.update(small.buffer, 0, &[12, 13, 14, 15])?;
        stage.draw_ranges(&small.info(Topology::TriangleStrip), &[four])
    }

    pub(in super::super) fn pixel(x: u32, y: u32) -> [u8; 4] {
        if grid::of(x, y).0 < 4 { DRAWN } else { BLACK }
    }
}
