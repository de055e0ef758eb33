//! Vertex input: formats, bindings, current values, and what no driver of OpenGL ES has.

use runahead_core::Session;
use runahead_wire::{
    Handle,
    payload::{VertexAttrib, VertexBuffer},
    pipe::Op,
    values::{AttribType, ErrorKind, ScalarType, StageMask, Topology, ValueClass},
};

use super::{
    Attribute, Reflection, Stage, StageError,
    common::{BLACK, bytes, color},
    grid,
};

const WHITE: [u8; 4] = [255; 4];

const FRAGMENT: &str = "#version 450
    layout(location = 0) in vec4 shade;
    layout(location = 0) out vec4 color;
    void main() { color = shade; }
";

/// A program that reads a position and a value of a type, and shades with what becomes of it.
fn program<P: Session>(stage: &mut Stage<'_, P>, kind: &str, shade: &str) -> Result<Handle, StageError> {
    let vertex = format!(
        "#version 450
        layout(location = 0) in vec2 position;
        layout(location = 1) in {kind} value;
        layout(location = 0) out vec4 shade;
        void main() {{ shade = {shade}; gl_Position = vec4(position, 0.0, 1.0); }}"
    );
    let scalar = match kind {
        "ivec4" => ScalarType::Int,
        "uvec4" => ScalarType::UnsignedInt,
        _ => ScalarType::Float,
    };
    let reflection =
        Reflection::default().input(0, ScalarType::Float).input(1, scalar).output(0, ScalarType::Float, 0);
    stage.staged(&[(StageMask::VERTEX, &vertex), (StageMask::FRAGMENT, FRAGMENT)], &reflection, &[])
}

fn feed(resource: Handle, offset: u64, stride: u32) -> VertexBuffer {
    VertexBuffer { resource, offset, stride, ..VertexBuffer::default() }
}

/// Formats, one a cell: each reads a value that it has exactly.
pub(super) mod formats {
    use super::*;
    use AttribType::{
        Byte, Fixed, Float, HalfFloat, Int, Int2101010Rev, Short, UnsignedByte, UnsignedInt,
        UnsignedInt2101010Rev, UnsignedShort,
    };

    /// How the shader reads it.
    #[derive(Clone, Copy, PartialEq)]
    enum Read {
        Float,
        Normalized,
        Int,
        Uint,
    }

    /// Type, components, how they are read, their bytes, and what a float input of four components has then (integers
    /// count in 255ths).
    type Case = (AttribType, u8, Read, &'static [u8], [u8; 4]);

    const CASES: &[Case] = &[
        (
            Float,
            4,
            Read::Float,
            &[0, 0, 128, 63, 0, 0, 0, 0, 0, 0, 128, 63, 0, 0, 128, 63],
            [255, 0, 255, 255],
        ),
        (Float, 2, Read::Float, &[0, 0, 128, 63, 0, 0, 128, 63], [255, 255, 0, 255]),
        (Float, 1, Read::Float, &[0, 0, 128, 63], [255, 0, 0, 255]),
        (HalfFloat, 4, Read::Float, &[0, 60, 0, 0, 0, 60, 0, 0], [255, 0, 255, 0]),
        (HalfFloat, 3, Read::Float, &[0, 0, 0, 60, 0, 60], [0, 255, 255, 255]),
        (Fixed, 4, Read::Float, &[0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 1, 0], [255, 0, 255, 255]),
        (Fixed, 2, Read::Float, &[0, 0, 0, 0, 0, 0, 1, 0], [0, 255, 0, 255]),
        // A negative one is clamped when it becomes a colour.
        (Byte, 4, Read::Normalized, &[127, 129, 0, 127], [255, 0, 0, 255]),
        (Byte, 4, Read::Float, &[1, 0xFF, 0, 1], [255, 0, 0, 255]),
        (UnsignedByte, 4, Read::Normalized, &[51, 102, 153, 204], [51, 102, 153, 204]),
        (UnsignedByte, 3, Read::Normalized, &[10, 20, 30], [10, 20, 30, 255]),
        (UnsignedByte, 4, Read::Float, &[1, 0, 1, 0], [255, 0, 255, 0]),
        (Short, 4, Read::Normalized, &[0xFF, 0x7F, 0, 0, 1, 0x80, 0xFF, 0x7F], [255, 0, 0, 255]),
        (Short, 2, Read::Float, &[1, 0, 0, 0], [255, 0, 0, 255]),
        (UnsignedShort, 4, Read::Normalized, &[51, 51, 0, 0, 102, 102, 255, 255], [51, 0, 102, 255]),
        (UnsignedShort, 1, Read::Float, &[1, 0], [255, 0, 0, 255]),
        (Int, 2, Read::Float, &[1, 0, 0, 0, 0xFF, 0xFF, 0xFF, 0xFF], [255, 0, 0, 255]),
        (Int, 2, Read::Normalized, &[0xFF, 0xFF, 0xFF, 0x7F, 0, 0, 0, 0], [255, 0, 0, 255]),
        (UnsignedInt, 3, Read::Float, &[0, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0], [0, 255, 255, 255]),
        (UnsignedInt, 2, Read::Normalized, &[0xFF, 0xFF, 0xFF, 0xFF, 0, 0, 0, 0], [255, 0, 0, 255]),
        // Ten bits from the lowest: 1023 is one; the two highest are the last component.
        (
            UnsignedInt2101010Rev,
            4,
            Read::Normalized,
            &(1023_u32 | 1023 << 20 | 3 << 30).to_le_bytes(),
            [255, 0, 255, 255],
        ),
        (UnsignedInt2101010Rev, 4, Read::Float, &(1_u32 << 10 | 1 << 30).to_le_bytes(), [0, 255, 0, 255]),
        (
            Int2101010Rev,
            4,
            Read::Normalized,
            &(511_u32 << 10 | 0x201 << 20 | 1 << 30).to_le_bytes(),
            [0, 255, 0, 255],
        ),
        (Int2101010Rev, 4, Read::Float, &(1_u32 | 1 << 20 | 1 << 30).to_le_bytes(), [255, 0, 255, 255]),
        (Byte, 4, Read::Int, &[100, 0xFF, 50, 127], [100, 0, 50, 127]),
        (Byte, 1, Read::Int, &[100], [100, 0, 0, 1]),
        (Short, 3, Read::Int, &[200, 0, 0xFF, 0xFF, 7, 0], [200, 0, 7, 1]),
        (Int, 4, Read::Int, &[1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0, 4, 0, 0, 0], [1, 2, 3, 4]),
        (Int, 2, Read::Int, &[250, 0, 0, 0, 0, 0, 0, 0x80], [250, 0, 0, 1]),
        (UnsignedByte, 4, Read::Uint, &[255, 1, 128, 9], [255, 1, 128, 9]),
        (UnsignedByte, 2, Read::Uint, &[255, 1], [255, 1, 0, 1]),
        (UnsignedShort, 4, Read::Uint, &[200, 0, 100, 0, 50, 0, 25, 0], [200, 100, 50, 25]),
        (UnsignedInt, 4, Read::Uint, &[9, 0, 0, 0, 8, 0, 0, 0, 7, 0, 0, 0, 6, 0, 0, 0], [9, 8, 7, 6]),
        (UnsignedInt, 1, Read::Uint, &[0xC8, 0, 0, 0], [200, 0, 0, 1]),
    ];

    pub(in super::super) fn draw<P: Session>(stage: &mut Stage<'_, P>) -> Result<(), StageError> {
        stage.clear(color(BLACK))?;
        let ways = [
            (Read::Float, "vec4", "value"),
            (Read::Int, "ivec4", "vec4(value) / 255.0"),
            (Read::Uint, "uvec4", "vec4(value) / 255.0"),
        ];
        for (way, kind, shade) in ways {
            program(stage, kind, shade)?;
            for (cell, (component, size, read, value, _)) in (0..).zip(CASES) {
                let float = matches!(read, Read::Float | Read::Normalized);
                if *read != way && !(float && way == Read::Float) {
                    continue;
                }
                let corners = stage.buffer(&bytes(&grid::whole(cell).concat()))?;
                // Four of them behind a few bytes, each of a whole number of words.
                let stride = value.len().next_multiple_of(4);
                let mut values = vec![0xAA; 12];
                for _ in 0..4 {
                    values.extend_from_slice(value);
                    values.resize(values.len().next_multiple_of(4), 0xAA);
                }
                let values = stage.buffer(&values)?;
                let attribute = Attribute::new(1, 1, *component, *size, 0);
                let attribute = match read {
                    Read::Float => attribute,
                    Read::Normalized => attribute.normalized(),
                    Read::Int | Read::Uint => attribute.integer(),
                };
                let position = Attribute::new(0, 0, AttribType::Float, 2, 0);
                stage.layout(
                    &[position, attribute],
                    &[feed(corners, 0, 8), feed(values, 12, stride as u32)],
                )?;
                stage.draw(Topology::TriangleStrip, 0, 4)?;
            }
        }
        Ok(())
    }

    pub(in super::super) fn pixel(x: u32, y: u32) -> [u8; 4] {
        CASES.get(grid::of(x, y).0 as usize).map_or(BLACK, |case| case.4)
    }
}

/// Attributes whose numbers are others than those of their points, several of one point, far from the start of a vertex,
/// and one value for all.
pub(super) mod bindings {
    use super::*;

    const VERTEX: &str = "#version 450
        layout(location = 3) in vec2 position;
        layout(location = 0) in float red;
        layout(location = 6) in float green;
        layout(location = 5) in float blue;
        layout(location = 0) out vec4 shade;
        void main() { shade = vec4(red, green, blue, 1.0); gl_Position = vec4(position, 0.0, 1.0); }
    ";
    /// Far beyond what drivers take as an offset within a vertex.
    const FAR: u64 = 5000;
    const SHADES: [[u8; 4]; 5] = [
        [51, 102, 153, 255],
        [51, 204, 153, 255],
        [255, 102, 0, 255],
        [102, 102, 102, 255],
        [51, 102, 153, 255],
    ];

    fn value(step: u8) -> [u8; 4] {
        super::super::common::step(step).to_le_bytes()
    }

    pub(in super::super) fn draw<P: Session>(stage: &mut Stage<'_, P>) -> Result<(), StageError> {
        stage.clear(color(BLACK))?;
        let reflection = [3, 0, 6, 5]
            .into_iter()
            .fold(Reflection::default(), |reflection, location| reflection.input(location, ScalarType::Float))
            .output(0, ScalarType::Float, 0);
        stage.staged(&[(StageMask::VERTEX, VERTEX), (StageMask::FRAGMENT, FRAGMENT)], &reflection, &[])?;
        // Vertices of positions and two components, interleaved; then the third far behind.
        let mut data = Vec::new();
        for [x, y] in grid::whole(0) {
            data.extend([x.to_le_bytes(), y.to_le_bytes(), value(51), value(102)].concat());
        }
        data.resize(FAR as usize, 0);
        for _ in 0..4 {
            data.extend(value(153));
        }
        let interleaved = stage.buffer(&data)?;
        let float =
            |location, point, size, offset| Attribute::new(location, point, AttribType::Float, size, offset);
        let attributes = [float(3, 2, 2, 0), float(0, 2, 1, 8), float(6, 2, 1, 12), float(5, 1, 1, FAR)];
        let none = VertexBuffer::default();
        stage.layout(&attributes, &[none, feed(interleaved, 0, 4), feed(interleaved, 0, 16)])?;
        stage.draw(Topology::TriangleStrip, 0, 4)?;
        // Another buffer at one of the points, and the layout stays: green is of point 4 now, and that another one.
        let other = |cell: u32, steps: [u8; 2]| {
            let vertex = |[x, y]: [f32; 2]| {
                [x.to_le_bytes(), y.to_le_bytes(), value(steps[0]), value(steps[1])].concat()
            };
            grid::whole(cell).map(vertex).concat()
        };
        let second = stage.buffer(&other(1, [51, 204]))?;
        let points = stage.tracker().vertex_buffers();
        if !points.set_one(2, feed(second, 0, 16)) {
            return Err(StageError::Scene("there is such a point"));
        }
        stage.draw(Topology::TriangleStrip, 0, 4)?;
        // One value for all of them: a stride of 0, for the vertices of a draw that begins beyond it.
        let third = stage.buffer(&[vec![0; 64], other(2, [255, 102])].concat())?;
        let one = stage.buffer(&value(0))?;
        stage.layout(&attributes, &[none, feed(one, 0, 0), feed(third, 0, 16)])?;
        let attributes_near = [float(3, 2, 2, 0), float(0, 2, 1, 8), float(6, 2, 1, 12), float(5, 1, 1, 0)];
        stage.layout(&attributes_near, &[none, feed(one, 0, 0), feed(third, 0, 16)])?;
        stage.draw(Topology::TriangleStrip, 4, 4)?;
        // All of one attribute's worth, from the same bytes.
        let fourth = stage.buffer(&other(3, [102, 102]))?;
        let same = [float(3, 0, 2, 0), float(0, 0, 1, 8), float(6, 0, 1, 8), float(5, 0, 1, 12)];
        stage.layout(&same, &[feed(fourth, 0, 16)])?;
        stage.draw(Topology::TriangleStrip, 0, 4)?;
        // As the first, with offsets in the bindings in place of the layout.
        let mut last = other(8, [51, 102]);
        last.extend(value(153).repeat(4));
        let last = stage.buffer(&last)?;
        let attributes = [float(3, 0, 2, 0), float(0, 1, 1, 0), float(6, 1, 1, 4), float(5, 2, 1, 0)];
        stage.layout(&attributes, &[feed(last, 0, 16), feed(last, 8, 16), feed(last, 64, 4)])?;
        stage.draw(Topology::TriangleStrip, 0, 4)
    }

    pub(in super::super) fn pixel(x: u32, y: u32) -> [u8; 4] {
        match grid::of(x, y).0 {
            8 => SHADES[4],
            cell => SHADES[..4].get(cell as usize).copied().unwrap_or(BLACK),
        }
    }
}

/// Attributes without an array have current values, each as its input reads it.
pub(super) mod defaults {
    use super::*;

    pub(in super::super) fn draw<P: Session>(stage: &mut Stage<'_, P>) -> Result<(), StageError> {
        stage.clear(color(WHITE))?;
        let mut cell = 0;
        for (kind, shade) in
            [("vec4", "value"), ("ivec4", "vec4(value) / 255.0"), ("uvec4", "vec4(value) / 255.0")]
        {
            program(stage, kind, shade)?;
            for class in [None, Some(ValueClass::Float), Some(ValueClass::Int), Some(ValueClass::Uint)] {
                let corners = stage.buffer(&bytes(&grid::whole(cell).concat()))?;
                let value = &mut stage.tracker().attrib_defaults()[1];
                match class {
                    None => {
                        value.value_class = ValueClass::Float.raw() as u8;
                        value.float_view = [0, 0, 0, 1.0_f32.to_bits()];
                        value.int_view = [0, 0, 0, 1];
                        value.uint_view = [0, 0, 0, 1];
                    }
                    Some(class) => {
                        // What each class makes of the value in the other views is the client's.
                        value.value_class = class.raw() as u8;
                        let shift = 10 * class.raw();
                        value.float_view = color([200 + shift as u8, 0, 100, 255]).map(f32::to_bits);
                        value.int_view = [(-5_i32) as u32, 20 + shift, 30, 40];
                        value.uint_view = [60 + shift, 50, 40, 30];
                    }
                }
                // The array of before goes with the layout.
                stage.vertices(corners, &[(0, 2)])?;
                stage.draw(Topology::TriangleStrip, 0, 4)?;
                cell += 1;
            }
        }
        Ok(())
    }

    pub(in super::super) fn pixel(x: u32, y: u32) -> [u8; 4] {
        let cell = grid::of(x, y).0;
        let (input, class) = (cell / 4, cell % 4);
        let shift = 10 * (class.wrapping_sub(1).min(2) as u8);
        match (input, class) {
            (0, 0) => BLACK,
            (1 | 2, 0) => [0, 0, 0, 1],
            (0, _) => [200 + shift, 0, 100, 255],
            (1, _) => [0, 20 + shift, 30, 40],
            (2, _) => [60 + shift, 50, 40, 30],
            _ => WHITE,
        }
    }
}

/// What no driver of OpenGL ES has is refused by its row, and draws go on behind it.
pub(super) mod vertex_refused {
    use super::*;

    pub(in super::super) fn draw<P: Session>(stage: &mut Stage<'_, P>) -> Result<(), StageError> {
        stage.clear(color(WHITE))?;
        program(stage, "vec4", "vec4(0.0, 0.0, 0.0, 1.0) * value.a")?;
        let corners = stage.buffer(&bytes(&grid::whole(0).concat()))?;
        let zeros = stage.buffer(&[0; 4 * 32])?;
        let position = Attribute::new(0, 0, AttribType::Float, 2, 0);
        let usual = Attribute::new(1, 1, AttribType::UnsignedByte, 4, 0).normalized();
        let with = |change: fn(&mut VertexAttrib)| {
            let mut attribute = usual;
            change(&mut attribute.format);
            attribute
        };
        let refused = [
            Attribute::new(1, 1, AttribType::Double, 4, 0),
            Attribute::new(1, 1, AttribType::UnsignedInt10F11F11FRev, 3, 0),
            Attribute::new(1, 1, AttribType::UnsignedInt2101010Rev, 3, 0),
            Attribute::new(1, 1, AttribType::Float, 4, 0).integer(),
            with(|format| format.is_bgra = 1),
            with(|format| format.is_long = 1),
            // More than there are.
            Attribute::new(31, 1, AttribType::Float, 4, 0),
        ];
        for attribute in refused {
            stage.layout(&[position, attribute], &[feed(corners, 0, 8), feed(zeros, 0, 32)])?;
            stage.draw(Topology::TriangleStrip, 0, 4)?;
            stage.failed(Op::DrawVbo, ErrorKind::InvalidOperation)?;
        }
        let ones = stage.buffer(&[255; 16])?;
        stage.layout(&[position, usual], &[feed(corners, 0, 8), feed(ones, 0, 4)])?;
        stage.draw(Topology::TriangleStrip, 0, 4)
    }

    pub(in super::super) fn pixel(x: u32, y: u32) -> [u8; 4] {
        if grid::of(x, y).0 == 0 { BLACK } else { WHITE }
    }
}
