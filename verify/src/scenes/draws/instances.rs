//! An index bias, instances, a first instance, several ranges.

use super::*;

/// A quad of indices whose vertices are those of some other cells, by the bias.
pub(in super::super) mod base_vertex {
    use super::*;

    /// Cells that have vertices, four each; their places among them are what the ranges move to.
    const CELLS: [u32; 6] = [0, 9, 18, 27, 36, 45];

    pub(in super::super::super) fn draw<P: Session>(stage: &mut Stage<'_, P>) -> Result<(), StageError> {
        stage.clear(color(BLACK))?;
        let corners: Vec<f32> = CELLS.iter().flat_map(|cell| grid::whole(*cell).concat()).collect();
        let corners = stage.buffer(&bytes(&corners))?;
        stage.program(POSITION, UNIFORM_COLOR, &[("position", 0)], &bytes(&color(DRAWN)))?;
        // The buffer begins within itself, so that there is room before it.
        let (attributes, buffers) = position(corners, 4 * 8);
        stage.layout(&attributes, &buffers)?;
        let indices = stage.buffer(&[4_u8, 5, 6, 7, 0, 1, 2, 3])?;
        let info = Indexed { buffer: indices, size: 1, restart: None }.info(Topology::TriangleStrip);
        // Cells by their places: 1 + indices / 4 + bias / 4.
        stage.draw_ranges(&info, &[DrawRange { start: 4, count: 4, index_bias: 12 }])?;
        // Without one again, and then several at once.
        stage.draw_ranges(&info, &[DrawRange { start: 4, count: 4, index_bias: 0 }])?;
        let two = [(4, 8), (4, 4)].map(|(start, index_bias)| DrawRange { start, count: 4, index_bias });
        stage.draw_ranges(&info, &two)?;
        // With instances.
        let info = DrawInfo { instance_count: 3, ..info };
        stage.draw_ranges(&info, &[DrawRange { start: 0, count: 4, index_bias: 12 }])
    }

    pub(in super::super::super) fn pixel(x: u32, y: u32) -> [u8; 4] {
        // The first is before where the buffer begins.
        if CELLS[1..].contains(&grid::of(x, y).0) { DRAWN } else { BLACK }
    }
}

/// Instances whose cell, column of colour and brightness come from arrays of different divisors, from a first instance.
pub(in super::super) mod base_instance {
    use super::*;

    const VERTEX: &str = "
        attribute vec2 position;
        attribute vec2 corner;
        attribute float green;
        attribute float blue;
        varying vec2 shade;
        void main() { shade = vec2(green, blue); gl_Position = vec4(position + corner, 0.0, 1.0); }
    ";
    const FRAGMENT: &str = "
        precision highp float;
        varying vec2 shade;
        void main() { gl_FragColor = vec4(0.0, shade, 1.0); }
    ";
    /// Elements of each instanced array.
    const ELEMENTS: u32 = 64;

    /// Component of an element: a step of its own.
    const fn step(element: u32) -> u8 {
        (element * 3) as u8
    }

    /// Draws: first instance and how many. No two cells are the same.
    const DRAWS: [(u32, u32); 4] = [(5, 6), (0, 3), (20, 7), (40, 1)];

    pub(in super::super::super) fn draw<P: Session>(stage: &mut Stage<'_, P>) -> Result<(), StageError> {
        stage.clear(color(BLACK))?;
        let origin = grid::at(0, [0.0; 2]);
        let shape = grid::whole(0).map(|corner| [corner[0] - origin[0], corner[1] - origin[1]]);
        let shape = stage.buffer(&bytes(&shape.concat()))?;
        let corners: Vec<f32> = (0..ELEMENTS).flat_map(|cell| grid::at(cell, [0.0; 2])).collect();
        let corners = stage.buffer(&bytes(&corners))?;
        let steps: Vec<f32> = (0..ELEMENTS).map(|at| super::super::super::common::step(step(at))).collect();
        let steps = stage.buffer(&bytes(&steps))?;
        let names = [("position", 0), ("corner", 1), ("green", 2), ("blue", 3)];
        stage.program(VERTEX, FRAGMENT, &names, &[])?;
        let attribute = |location, size| Attribute::new(location, location, AttribType::Float, size, 0);
        let attributes = [attribute(0, 2), attribute(1, 2), attribute(2, 1), attribute(3, 1)];
        let feed = |resource: Handle, stride: u32, divisor: u32| VertexBuffer {
            resource,
            stride,
            divisor,
            ..VertexBuffer::default()
        };
        let buffers = [feed(shape, 8, 0), feed(corners, 8, 1), feed(steps, 4, 2), feed(steps, 4, 3)];
        stage.layout(&attributes, &buffers)?;
        let indices = Indexed { buffer: stage.buffer(&[1, 2, 3, 4])?, size: 1, restart: None };
        for (number, (start_instance, instance_count)) in DRAWS.into_iter().enumerate() {
            // By indices with a bias, and without indices.
            if number % 2 == 0 {
                let info = indices.info(Topology::TriangleStrip);
                let info = DrawInfo { start_instance, instance_count, ..info };
                stage.draw_ranges(&info, &[DrawRange { start: 0, count: 4, index_bias: -1 }])?;
            } else {
                let info = Indexed::default().info(Topology::TriangleStrip);
                let info = DrawInfo { start_instance, instance_count, ..info };
                stage.draw_ranges(&info, &[DrawRange { start: 0, count: 4, index_bias: 0 }])?;
            }
        }
        Ok(())
    }

    pub(in super::super::super) fn pixel(x: u32, y: u32) -> [u8; 4] {
        let cell = grid::of(x, y).0;
        for (first, count) in DRAWS {
            if (first..first + count).contains(&cell) {
                // An array of divisor d is at element first + floor(instance / d) (OpenGL 4.6 section 10.4).
                let instance = cell - first;
                return [0, step(first + instance / 2), step(first + instance / 3), 255];
            }
        }
        BLACK
    }
}

/// Several ranges in one record: of vertices, of indices, with biases, empty ones between, in instances.
pub(in super::super) mod multi_draw {
    use super::*;

    pub(in super::super::super) fn draw<P: Session>(stage: &mut Stage<'_, P>) -> Result<(), StageError> {
        stage.clear(color(BLACK))?;
        // Every second cell has vertices.
        let corners: Vec<f32> = (0..32).flat_map(|cell| grid::whole(2 * cell).concat()).collect();
        let corners = stage.buffer(&bytes(&corners))?;
        stage.program(POSITION, UNIFORM_COLOR, &[("position", 0)], &bytes(&color(DRAWN)))?;
        stage.vertices(corners, &[(0, 2)])?;
        let arrays = Indexed::default().info(Topology::TriangleStrip);
        let range = |start, count, index_bias| DrawRange { start, count, index_bias };
        stage.draw_ranges(&arrays, &[range(0, 4, 0), range(8, 0, 0), range(8, 4, 0), range(16, 4, 0)])?;
        stage.draw_ranges(&arrays, &[])?;
        let instanced = DrawInfo { instance_count: 2, ..arrays };
        stage.draw_ranges(&instanced, &[range(24, 4, 0), range(32, 4, 0)])?;
        let none = DrawInfo { instance_count: 0, ..arrays };
        stage.draw_ranges(&none, &[range(40, 4, 0), range(48, 4, 0)])?;
        let order: Vec<u16> = (0..128).collect();
        let indices = Indexed { buffer: stage.buffer(&shorts(&order))?, size: 2, restart: None };
        let info = indices.info(Topology::TriangleStrip);
        stage.draw_ranges(&info, &[range(64, 4, 0), range(0, 0, 0), range(72, 4, 0)])?;
        stage.draw_ranges(&info, &[range(80, 4, 0), range(80, 4, 8), range(120, 4, -24)])?;
        let instanced = DrawInfo { instance_count: 2, ..info };
        stage.draw_ranges(&instanced, &[range(112, 4, 0), range(112, 4, 8)])
    }

    pub(in super::super::super) fn pixel(x: u32, y: u32) -> [u8; 4] {
        // Cells by the vertex that their ranges begin at: four a cell, of every second one.
        let drawn = [0, 8, 16, 24, 32, 64, 72, 80, 88, 96, 112, 120].map(|vertex| vertex / 4 * 2);
        if drawn.contains(&grid::of(x, y).0) { DRAWN } else { BLACK }
    }
}
