//! Primitive restart: each topology in indices of each size.

use super::*;

/// Local pixels of a cell that a point or the end of a line is in the middle of.
const fn middle(x: u32, y: u32) -> [f32; 2] {
    [x as f32 + 0.5, y as f32 + 0.5]
}

/// A topology, its vertices in pixels of a cell, and indices of which `None` ends a primitive.
struct Shape {
    mode: Topology,
    vertices: &'static [[f32; 2]],
    order: &'static [Option<u32>],
    /// What of a cell it covers.
    covers: fn(u32, u32) -> bool,
}

const R: Option<u32> = None;
const fn i(number: u32) -> Option<u32> {
    Some(number)
}

/// Two lines: each covers its pixels but the last (the rule of diamonds, OpenGL ES 3.2 section 13.6.1).
const TWO_LINES: &[[f32; 2]] = &[middle(1, 1), middle(6, 1), middle(1, 5), middle(6, 5)];
/// The same between neighbours that count for nothing without a geometry stage.
const TWO_LINES_BETWEEN: &[[f32; 2]] =
    &[middle(1, 1), middle(6, 1), middle(1, 5), middle(6, 5), [40.0, 40.0]];
/// Two bars, as strips.
const BARS: &[[f32; 2]] =
    &[[0.0, 0.0], [3.0, 0.0], [0.0, 8.0], [3.0, 8.0], [5.0, 0.0], [8.0, 0.0], [5.0, 8.0], [8.0, 8.0]];
/// Two bars, as fans.
const FANS: &[[f32; 2]] =
    &[[0.0, 0.0], [3.0, 0.0], [3.0, 8.0], [0.0, 8.0], [5.0, 0.0], [8.0, 0.0], [8.0, 8.0], [5.0, 8.0]];
/// A square around another one.
const SQUARES: &[[f32; 2]] = &[
    middle(0, 0),
    middle(7, 0),
    middle(7, 7),
    middle(0, 7),
    middle(2, 2),
    middle(5, 2),
    middle(5, 5),
    middle(2, 5),
];

fn on_lines(x: u32, y: u32) -> bool {
    (y == 1 || y == 5) && (1..6).contains(&x)
}

fn on_bars(x: u32, _: u32) -> bool {
    !(3..5).contains(&x)
}

const SHAPES: &[Shape] = &[
    Shape {
        mode: Topology::Points,
        vertices: &[middle(1, 1), middle(6, 6)],
        order: &[i(0), R, R, i(1)],
        covers: |x, y| (x, y) == (1, 1) || (x, y) == (6, 6),
    },
    Shape {
        mode: Topology::Lines,
        vertices: TWO_LINES,
        // One that is cut short is no line.
        order: &[i(0), R, i(0), i(1), R, i(3), R, i(2), i(3)],
        covers: on_lines,
    },
    Shape {
        mode: Topology::LineStrip,
        vertices: TWO_LINES,
        order: &[i(0), i(1), R, i(2), i(3)],
        covers: on_lines,
    },
    Shape {
        mode: Topology::LineLoop,
        vertices: SQUARES,
        order: &[i(0), i(1), i(2), i(3), R, i(4), i(5), i(6), i(7)],
        covers: |x, y| {
            let ring = |low: u32, high: u32| {
                let within = |side| (low..=high).contains(&side);
                within(x) && within(y) && (x == low || x == high || y == low || y == high)
            };
            ring(0, 7) || ring(2, 5)
        },
    },
    Shape {
        mode: Topology::Triangles,
        vertices: BARS,
        order: &[
            i(7),
            i(6),
            R,
            i(0),
            i(1),
            i(2),
            i(2),
            i(1),
            i(3),
            R,
            i(7),
            R,
            i(4),
            i(5),
            i(6),
            i(6),
            i(5),
            i(7),
        ],
        covers: on_bars,
    },
    Shape {
        mode: Topology::TriangleStrip,
        vertices: BARS,
        order: &[R, i(0), i(1), i(2), i(3), R, i(4), i(5), i(6), i(7), R],
        covers: on_bars,
    },
    Shape {
        mode: Topology::TriangleFan,
        vertices: FANS,
        order: &[i(0), i(1), i(2), i(3), R, i(4), i(5), i(6), i(7)],
        covers: on_bars,
    },
    Shape {
        mode: Topology::LinesAdjacency,
        vertices: TWO_LINES_BETWEEN,
        order: &[i(4), i(4), R, i(4), i(0), i(1), i(4), R, i(4), i(2), i(3), i(4)],
        covers: on_lines,
    },
    Shape {
        mode: Topology::LineStripAdjacency,
        vertices: TWO_LINES_BETWEEN,
        order: &[i(4), i(0), i(1), i(4), R, i(4), i(2), i(3), i(4)],
        covers: on_lines,
    },
    Shape {
        mode: Topology::TrianglesAdjacency,
        vertices: BARS,
        order: &[
            i(7),
            R,
            i(0),
            i(7),
            i(1),
            i(7),
            i(2),
            i(7),
            R,
            i(2),
            i(7),
            i(1),
            i(7),
            i(3),
            i(7),
            R,
            i(4),
            i(0),
            i(5),
            i(0),
            i(6),
            i(0),
            i(6),
            i(0),
            i(5),
            i(0),
            i(7),
            i(0),
        ],
        covers: on_bars,
    },
    Shape {
        mode: Topology::TriangleStripAdjacency,
        vertices: BARS,
        order: &[
            i(0),
            i(7),
            i(1),
            i(7),
            i(2),
            i(7),
            i(3),
            i(7),
            R,
            i(4),
            i(0),
            i(5),
            i(0),
            i(6),
            i(0),
            i(7),
            i(0),
        ],
        covers: on_bars,
    },
];

/// Cell of a shape in indices of a size: three columns for the first eight shapes, three more for the others.
const fn cell(shape: usize, size: usize) -> u32 {
    ((shape % 8) * 8 + (shape / 8) * 4 + size) as u32
}

/// Indices of `size` bytes.
fn encode(order: impl Iterator<Item = u32>, size: u8) -> Vec<u8> {
    order.flat_map(|index| index.to_le_bytes().into_iter().take(usize::from(size))).collect()
}

const POINT: &str = "
    attribute vec2 position;
    void main() { gl_PointSize = 1.0; gl_Position = vec4(position, 0.0, 1.0); }
";

/// Draws every shape in indices of every size, with the restart index of each size.
fn draw_shapes<P: Session>(stage: &mut Stage<'_, P>, restart: [u32; 3]) -> Result<(), StageError> {
    stage.clear(color(BLACK))?;
    stage.program(POINT, UNIFORM_COLOR, &[("position", 0)], &bytes(&color(DRAWN)))?;
    stage.tracker().render_state().program_point_size = 1;
    for (number, shape) in SHAPES.iter().enumerate() {
        for (column, (size, restart)) in [1_u8, 2, 4].into_iter().zip(restart).enumerate() {
            let place = |vertex: &[f32; 2]| grid::at(cell(number, column), *vertex);
            let vertices: Vec<f32> = shape.vertices.iter().flat_map(place).collect();
            let corners = stage.buffer(&bytes(&vertices))?;
            let (attributes, buffers) = position(corners, 0);
            stage.layout(&attributes, &buffers)?;
            let order = encode(shape.order.iter().map(|index| index.unwrap_or(restart)), size);
            let indices = Indexed { buffer: stage.buffer(&order)?, size, restart: Some(restart) };
            let count = shape.order.len() as u32;
            stage.draw_ranges(&indices.info(shape.mode), &[DrawRange { start: 0, count, index_bias: 0 }])?;
        }
    }
    Ok(())
}

fn shape_pixel(x: u32, y: u32) -> Option<[u8; 4]> {
    let (at, x, y) = grid::of(x, y);
    for (number, shape) in SHAPES.iter().enumerate() {
        if (0..3).any(|size| cell(number, size) == at) {
            return Some(if (shape.covers)(x, y) { DRAWN } else { BLACK });
        }
    }
    None
}

pub(in super::super) mod restart_fixed {
    use super::*;

    pub(in super::super::super) fn draw<P: Session>(stage: &mut Stage<'_, P>) -> Result<(), StageError> {
        draw_shapes(stage, [0xFF, 0xFFFF, u32::MAX])?;
        // Off again: the largest byte is a vertex like others.
        let mut vertices = vec![[-2.0; 2]; 256];
        let [first, second, third, fourth] = grid::whole(63);
        (vertices[0], vertices[1], vertices[2], vertices[255]) = (first, second, third, fourth);
        let corners = stage.buffer(&bytes(&vertices.concat()))?;
        let (attributes, buffers) = position(corners, 0);
        stage.layout(&attributes, &buffers)?;
        let indices = Indexed { buffer: stage.buffer(&[0, 1, 2, 255])?, size: 1, restart: None };
        let four = DrawRange { start: 0, count: 4, index_bias: 0 };
        stage.draw_ranges(&indices.info(Topology::TriangleStrip), &[four])
    }

    pub(in super::super::super) fn pixel(x: u32, y: u32) -> [u8; 4] {
        let last = if grid::of(x, y).0 == 63 { DRAWN } else { BLACK };
        shape_pixel(x, y).unwrap_or(last)
    }
}

pub(in super::super) mod restart_arbitrary {
    use super::*;

    pub(in super::super::super) fn draw<P: Session>(stage: &mut Stage<'_, P>) -> Result<(), StageError> {
        // No shape has as many vertices.
        draw_shapes(stage, [8, 300, 70_000])?;
        let four = DrawRange { start: 0, count: 4, index_bias: 0 };
        // The largest index is a vertex where another one restarts, and where one restarts that the type has not.
        for (cell, size, largest, restart) in
            [(60, 1, 0xFF, 7), (61, 1, 0xFF, 0x1FF), (62, 2, 0xFFFF, 7), (63, 2, 0xFFFF, 0x1_FFFF)]
        {
            let mut vertices = vec![[-2.0; 2]; largest + 1];
            let [first, second, third, fourth] = grid::whole(cell);
            (vertices[0], vertices[1], vertices[2], vertices[largest]) = (first, second, third, fourth);
            let corners = stage.buffer(&bytes(&vertices.concat()))?;
            let (attributes, buffers) = position(corners, 0);
            stage.layout(&attributes, &buffers)?;
            let order = encode([0, 1, 2, largest as u32].into_iter(), size);
            let indices = Indexed { buffer: stage.buffer(&order)?, size, restart: Some(restart) };
            stage.draw_ranges(&indices.info(Topology::TriangleStrip), &[four])?;
        }
        // An index buffer whose contents change, with a bias and instances beyond the first.
        let corners = stage.buffer(&bytes(&grid::whole(55).concat()))?;
        let (attributes, buffers) = position(corners, 0);
        stage.layout(&attributes, &buffers)?;
        let indices = Indexed { buffer: stage.buffer(&[9, 9, 9, 9, 9, 9])?, size: 1, restart: Some(9) };
        stage.update(indices.buffer, 1, &[9, 10, 11, 12, 13])?;
        let info = DrawInfo { instance_count: 2, ..indices.info(Topology::TriangleStrip) };
        stage.draw_ranges(&info, &[DrawRange { start: 1, count: 5, index_bias: -10 }])
    }

    pub(in super::super::super) fn pixel(x: u32, y: u32) -> [u8; 4] {
        let others = if matches!(grid::of(x, y).0, 55 | 60..=63) { DRAWN } else { BLACK };
        shape_pixel(x, y).unwrap_or(others)
    }
}
