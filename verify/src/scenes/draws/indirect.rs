//! Draws whose parameters lie in buffers.

use super::*;

const VERTEX: &str = "
    attribute vec2 position;
    attribute vec2 corner;
    void main() { gl_Position = vec4(position + corner, 0.0, 1.0); }
";

/// Vertices of the first cells, four each, moved by whole cells an instance.
fn set<P: Session>(stage: &mut Stage<'_, P>) -> Result<(), StageError> {
    stage.clear(color(BLACK))?;
    let corners: Vec<f32> = (0..8).flat_map(|cell| grid::whole(cell).concat()).collect();
    let corners = stage.buffer(&bytes(&corners))?;
    // Rows upwards.
    let rows: Vec<f32> = (0..8).flat_map(|row| [0.0, 0.25 * row as f32]).collect();
    let rows = stage.buffer(&bytes(&rows))?;
    stage.program(VERTEX, UNIFORM_COLOR, &[("position", 0), ("corner", 1)], &bytes(&color(DRAWN)))?;
    let attributes =
        [Attribute::new(0, 0, AttribType::Float, 2, 0), Attribute::new(1, 1, AttribType::Float, 2, 0)];
    let feed = |resource: Handle, divisor: u32| VertexBuffer {
        resource,
        stride: 8,
        divisor,
        ..VertexBuffer::default()
    };
    stage.layout(&attributes, &[feed(corners, 0), feed(rows, 1)])
}

fn order<P: Session>(stage: &mut Stage<'_, P>) -> Result<Indexed, StageError> {
    let indices: Vec<u16> = (0..32).collect();
    Ok(Indexed { buffer: stage.buffer(&shorts(&indices))?, size: 2, restart: None })
}

/// With and without indices, one and several, with a stride, with first instances, with what must be read to be drawn.
pub(in super::super) mod indirect_draws {
    use super::*;

    pub(in super::super::super) fn draw<P: Session>(stage: &mut Stage<'_, P>) -> Result<(), StageError> {
        set(stage)?;
        let arrays = Indexed::default().info(Topology::TriangleStrip);
        let indices = order(stage)?;
        let elements = indices.info(Topology::TriangleStrip);
        // Count, instances, first, first instance: column 0 in two rows, column 1 in two rows from row 3 on.
        let parameters = stage.buffer(&words(&[9, 9, 4, 2, 0, 0, 4, 2, 4, 3]))?;
        let both = DrawIndirect { buffer: parameters, offset: 8, draw_count: 2, ..DrawIndirect::default() };
        stage.draw_indirect(&arrays, &both)?;
        // Count, instances, first, bias, first instance, and three words between: columns 2 and 3.
        let spaced = [4, 1, 8, 0, 1, 7, 7, 7, 4, 2, 8, 4, 5];
        let parameters = stage.buffer(&words(&spaced))?;
        let both = DrawIndirect { buffer: parameters, stride: 32, draw_count: 2, ..DrawIndirect::default() };
        stage.draw_indirect(&elements, &both)?;
        // None at all.
        stage.draw_indirect(&elements, &DrawIndirect { draw_count: 0, ..both })?;
        // Restart at an index that is none of the largest: columns 4 and 5, apart from each other.
        let cut = stage.buffer(&shorts(&[16, 17, 18, 19, 31, 20, 21, 22, 23]))?;
        let cut = Indexed { buffer: cut, size: 2, restart: Some(31) };
        let parameters = stage.buffer(&words(&[9, 1, 0, 0, 6]))?;
        let one = DrawIndirect { buffer: parameters, draw_count: 1, ..DrawIndirect::default() };
        stage.draw_indirect(&cut.info(Topology::TriangleStrip), &one)?;
        // Indices that do not begin with their buffer: column 6.
        stage.tracker().index_buffer().offset = 16;
        let parameters = stage.buffer(&words(&[4, 1, 16, 0, 7]))?;
        stage.draw_indirect(&elements, &DrawIndirect { buffer: parameters, ..one })?;
        stage.tracker().index_buffer().offset = 0;
        // A direct draw afterwards begins at the first instance: column 7.
        stage.draw_ranges(&elements, &[DrawRange { start: 28, count: 4, index_bias: 0 }])
    }

    /// Columns and rows that are drawn.
    const DRAWN_CELLS: [(u32, u32); 11] =
        [(0, 0), (0, 1), (1, 3), (1, 4), (2, 1), (3, 5), (3, 6), (4, 6), (5, 6), (6, 7), (7, 0)];

    pub(in super::super::super) fn pixel(x: u32, y: u32) -> [u8; 4] {
        if DRAWN_CELLS.contains(&(x / grid::CELL, y / grid::CELL)) { DRAWN } else { BLACK }
    }
}

/// The number of draws is in a buffer: less than the largest number, none, more, and one that a copy put there.
pub(in super::super) mod indirect_count {
    use super::*;
    use runahead_wire::payload::CopyBuffer;

    pub(in super::super::super) fn draw<P: Session>(stage: &mut Stage<'_, P>) -> Result<(), StageError> {
        set(stage)?;
        let arrays = Indexed::default().info(Topology::TriangleStrip);
        let elements = order(stage)?.info(Topology::TriangleStrip);
        let numbers = stage.buffer(&words(&[2, 0, 1000, 1]))?;
        let column = |column: u32, row: u32| [4, 1, 4 * column, row];
        let four = [column(0, 0), column(1, 1), column(2, 2), column(3, 3)].concat();
        let parameters = stage.buffer(&words(&four))?;
        let draws = DrawIndirect {
            buffer: parameters,
            parameter_buffer: numbers,
            draw_count: 4,
            ..DrawIndirect::default()
        };
        stage.draw_indirect(&arrays, &draws)?;
        stage.draw_indirect(
            &arrays,
            &DrawIndirect { parameter_offset: 4, offset: 32, draw_count: 2, ..draws },
        )?;
        let indexed = [[4, 1, 16, 0, 4], [4, 1, 16, 4, 5], [4, 1, 16, 8, 6]].concat();
        let parameters = stage.buffer(&words(&indexed))?;
        let draws = DrawIndirect { buffer: parameters, draw_count: 2, ..draws };
        stage.draw_indirect(&elements, &DrawIndirect { parameter_offset: 8, ..draws })?;
        // The 1 at the end in place of the 0, which a copy brings.
        let (src, dst) = (numbers, numbers);
        let copy = CopyBuffer { src, dst, src_offset: 12, dst_offset: 4, size: 4 };
        stage.pipe().copy_buffer(&copy)?;
        let third = DrawIndirect { parameter_offset: 4, offset: 40, draw_count: 1, ..draws };
        stage.draw_indirect(&elements, &third)
    }

    const DRAWN_CELLS: [(u32, u32); 5] = [(0, 0), (1, 1), (4, 4), (5, 5), (6, 6)];

    pub(in super::super::super) fn pixel(x: u32, y: u32) -> [u8; 4] {
        if DRAWN_CELLS.contains(&(x / grid::CELL, y / grid::CELL)) { DRAWN } else { BLACK }
    }
}
