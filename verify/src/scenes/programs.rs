//! Programs: what is bound to them after the link, links that fail, stages beside vertex and fragment.

use runahead_core::{Session, tracker::Verb};
use runahead_wire::{
    Handle,
    format::Format,
    payload::{Blit, CopyFromFramebuffer},
    values::{
        BarrierBits, BlockClass, BufferMask, Filter, FramebufferTarget, ResourceTarget, ScalarType,
        ShaderBufferClass, StageMask, Topology,
    },
};

use super::{
    Reflection, SIDE, Stage, StageError,
    common::{BLACK, bytes, color},
    stage::{CELL, Sight, empty_framebuffer, extent, shape},
};

const VERTEX: &str = "#version 450
    layout(location = 0) in vec2 position;
    void main() { gl_Position = vec4(position, 0.0, 1.0); }
";

/// The whole of a viewport, as a strip.
const WHOLE: [f32; 8] = [-1.0, -1.0, 1.0, -1.0, -1.0, 1.0, 1.0, 1.0];

/// The cell that a pixel lies in.
fn cell(x: u32, y: u32) -> u32 {
    y / CELL * CELL + x / CELL
}

/// A colour for every cell that has one.
fn cells(x: u32, y: u32, colors: &[[u8; 4]]) -> [u8; 4] {
    colors.get(cell(x, y) as usize).copied().unwrap_or(BLACK)
}

fn draw_cell<P: Session>(stage: &mut Stage<'_, P>, at: u32) -> Result<(), StageError> {
    stage.cell(at);
    stage.draw(Topology::TriangleStrip, 0, 4)
}

/// A buffer with colours, each at a multiple of what every driver takes as an offset.
fn palette(colors: &[[u8; 4]]) -> Vec<u8> {
    let mut all = Vec::new();
    for one in colors {
        all.resize(all.len().next_multiple_of(STEP as usize), 0);
        all.extend(bytes(&color(*one)));
    }
    all
}

const STEP: u64 = 256;
const A: [u8; 4] = [255, 51, 0, 255];
const B: [u8; 4] = [0, 102, 204, 153];
const C: [u8; 4] = [51, 255, 102, 204];

const fn mixed(first: [u8; 4], second: [u8; 4]) -> [u8; 4] {
    [first[0], first[1], second[2], second[3]]
}

pub(super) mod uniform_points {
    use super::*;

    const FRAGMENT: &str = "#version 450
        layout(std140, binding = 3) uniform First { vec4 one; };
        layout(std140, binding = 83) uniform Second { vec4 two; };
        layout(location = 0) out vec4 color;
        void main() { color = vec4(one.xy, two.zw); }
    ";
    const ARRAY: &str = "#version 450
        layout(std140, binding = 10) uniform Both { vec4 value; } both[2];
        layout(location = 0) out vec4 color;
        void main() { color = vec4(both[0].value.xy, both[1].value.zw); }
    ";

    pub(in super::super) fn draw<P: Session>(stage: &mut Stage<'_, P>) -> Result<(), StageError> {
        use ShaderBufferClass::Uniform;
        stage.clear(color(BLACK))?;
        let corners = stage.buffer(&bytes(&WHOLE))?;
        let colors = stage.buffer(&palette(&[A, B]))?;
        let other = stage.buffer(&palette(&[C]))?;
        let reflection =
            Reflection::default().block(BlockClass::Uniform, 3, 16).block(BlockClass::Uniform, 83, 16);
        let stages = [(StageMask::VERTEX, VERTEX), (StageMask::FRAGMENT, FRAGMENT)];
        let program = stage.staged(&stages, &reflection, &[])?;
        stage.vertices(corners, &[(0, 2)])?;
        // Ranges, and then the other way round.
        stage.point(Uniform, 3, colors, Some((0, 16)))?;
        stage.point(Uniform, 83, colors, Some((STEP, 16)))?;
        draw_cell(stage, 0)?;
        stage.point(Uniform, 3, colors, Some((STEP, 16)))?;
        stage.point(Uniform, 83, colors, Some((0, 16)))?;
        draw_cell(stage, 1)?;
        // The blocks at other points: at each other's, and both at one.
        stage.bindings(program, &[83, 3], &[], &[])?;
        draw_cell(stage, 2)?;
        stage.bindings(program, &[3, 3], &[], &[])?;
        draw_cell(stage, 3)?;
        // A point that nothing was at before, and the whole of a buffer.
        stage.point(Uniform, 60, other, None)?;
        stage.bindings(program, &[60, 83], &[], &[])?;
        draw_cell(stage, 4)?;
        // Other contents, and then another store, under points that stay as they are.
        stage.write(other, 0, &palette(&[B]))?;
        draw_cell(stage, 5)?;
        stage.redefine(other, &palette(&[A, C]))?;
        draw_cell(stage, 6)?;
        // An array of blocks is at one point after the other.
        let reflection =
            Reflection::default().block(BlockClass::Uniform, 10, 16).block(BlockClass::Uniform, 11, 16);
        let stages = [(StageMask::VERTEX, VERTEX), (StageMask::FRAGMENT, ARRAY)];
        let program = stage.staged(&stages, &reflection, &[])?;
        stage.point(Uniform, 10, colors, Some((0, 16)))?;
        stage.point(Uniform, 11, other, Some((STEP, 16)))?;
        draw_cell(stage, 7)?;
        stage.bindings(program, &[11, 10], &[], &[])?;
        draw_cell(stage, 8)
    }

    pub(in super::super) fn pixel(x: u32, y: u32) -> [u8; 4] {
        let colors =
            [mixed(A, B), mixed(B, A), mixed(A, B), B, mixed(C, A), mixed(B, A), A, mixed(A, C), mixed(C, A)];
        cells(x, y, &colors)
    }
}

pub(super) mod failed_relink {
    use super::*;

    const FIRST: &str = "#version 450
        layout(location = 0) out vec4 color;
        void main() { color = vec4(1.0, 0.2, 0.0, 1.0); }
    ";
    const SECOND: &str = "#version 450
        layout(location = 0) out vec4 color;
        void main() { color = vec4(0.2, 1.0, 0.4, 0.8); }
    ";

    pub(in super::super) fn draw<P: Session>(stage: &mut Stage<'_, P>) -> Result<(), StageError> {
        stage.clear(color(BLACK))?;
        let corners = stage.buffer(&bytes(&WHOLE))?;
        let stages = |fragment| [(StageMask::VERTEX, VERTEX), (StageMask::FRAGMENT, fragment)];
        let program = stage.staged(&stages(FIRST), &Reflection::default(), &[])?;
        stage.vertices(corners, &[(0, 2)])?;
        draw_cell(stage, 0)?;
        // The executable stays in use for as long as nobody binds the program.
        stage.failed_link(program)?;
        draw_cell(stage, 1)?;
        // An unlinked program draws nothing, and that is no error.
        stage.bind_again(program)?;
        draw_cell(stage, 2)?;
        // Another content on the same handle is another program.
        stage.relink(program, &stages(SECOND), &Reflection::default())?;
        draw_cell(stage, 3)?;
        stage.relink(program, &stages(FIRST), &Reflection::default())?;
        draw_cell(stage, 4)?;
        // No program at all.
        stage.use_program(Handle::NULL);
        draw_cell(stage, 5)
    }

    pub(in super::super) fn pixel(x: u32, y: u32) -> [u8; 4] {
        cells(x, y, &[A, A, BLACK, C, A, BLACK])
    }
}

pub(super) mod two_contexts {
    use super::*;

    const FRAGMENT: &str = "#version 450
        layout(location = 2) uniform vec4 tint;
        layout(std140, binding = 0) uniform Shade { vec4 shade; };
        layout(location = 0) out vec4 color;
        void main() { color = vec4(shade.xy, tint.zw); }
    ";

    pub(in super::super) fn draw<P: Session>(stage: &mut Stage<'_, P>) -> Result<(), StageError> {
        use ShaderBufferClass::Uniform;
        stage.clear(color(BLACK))?;
        let corners = stage.buffer(&bytes(&WHOLE))?;
        let colors = stage.buffer(&palette(&[A, B]))?;
        let reflection =
            Reflection::default().value(2, ScalarType::Float, 4).block(BlockClass::Uniform, 0, 16);
        let stages = [(StageMask::VERTEX, VERTEX), (StageMask::FRAGMENT, FRAGMENT)];
        let program = stage.staged(&stages, &reflection, &bytes(&color(C)))?;
        stage.vertices(corners, &[(0, 2)])?;
        stage.point(Uniform, 0, colors, Some((0, 16)))?;
        draw_cell(stage, 0)?;
        // The other context has the objects, and none of the state.
        stage.switch(2)?;
        stage.use_program(program);
        stage.vertices(corners, &[(0, 2)])?;
        stage.point(Uniform, 0, colors, Some((STEP, 16)))?;
        draw_cell(stage, 1)?;
        // Back: everything is as this context left it.
        stage.switch(1)?;
        draw_cell(stage, 2)?;
        stage.switch(2)?;
        draw_cell(stage, 3)?;
        // What one writes the other sees.
        stage.write(colors, 0, &palette(&[C]))?;
        stage.switch(1)?;
        draw_cell(stage, 4)
    }

    pub(in super::super) fn pixel(x: u32, y: u32) -> [u8; 4] {
        cells(x, y, &[mixed(A, C), mixed(B, C), mixed(A, C), mixed(B, C), C])
    }
}

pub(super) mod geometry_stage {
    use super::*;

    const POINTS: &str = "#version 450
        layout(location = 0) in vec2 position;
        layout(location = 1) in vec4 tint;
        layout(location = 0) out vec4 shade;
        layout(location = 4) out Between { vec4 more; vec4 rest; } between;
        void main() {
            shade = tint;
            between.more = tint.wzyx;
            between.rest = vec4(0.0);
            gl_Position = vec4(position, 0.0, 1.0);
        }
    ";
    /// A square of eight pixels around each point.
    const SQUARES: &str = "#version 450
        layout(points) in;
        layout(triangle_strip, max_vertices = 4) out;
        layout(location = 0) in vec4 shade[];
        layout(location = 4) in Handed { vec4 first; vec4 second; } between[];
        layout(location = 1) out vec4 mixture;
        void main() {
            for (int corner = 0; corner < 4; ++corner) {
                vec2 away = vec2(float(corner & 1), float(corner >> 1)) * 0.25 - 0.125;
                mixture = vec4(shade[0].xy, between[0].first.yx) + between[0].second;
                gl_Position = gl_in[0].gl_Position + vec4(away, 0.0, 0.0);
                EmitVertex();
            }
            EndPrimitive();
        }
    ";
    const FRAGMENT: &str = "#version 450
        layout(location = 1) in vec4 mixture;
        layout(location = 0) out vec4 color;
        void main() { color = mixture; }
    ";
    /// Cells with a point, and its colour.
    const SQUARE: [(u32, [u8; 4]); 3] = [(0, A), (9, B), (37, C)];

    pub(in super::super) fn draw<P: Session>(stage: &mut Stage<'_, P>) -> Result<(), StageError> {
        stage.clear(color(BLACK))?;
        let at = |cell: u32| (cell * CELL + CELL / 2) as f32 / 32.0 - 1.0;
        let vertices =
            SQUARE.map(|(cell, tint)| [&[at(cell % CELL), at(cell / CELL)][..], &color(tint)].concat());
        let points = stage.buffer(&bytes(&vertices.concat()))?;
        let stages =
            [(StageMask::VERTEX, POINTS), (StageMask::GEOMETRY, SQUARES), (StageMask::FRAGMENT, FRAGMENT)];
        stage.staged(&stages, &Reflection::default(), &[])?;
        stage.vertices(points, &[(0, 2), (1, 4)])?;
        stage.draw(Topology::Points, 0, 3)
    }

    pub(in super::super) fn pixel(x: u32, y: u32) -> [u8; 4] {
        SQUARE.iter().find(|(at, _)| *at == cell(x, y)).map_or(BLACK, |(_, tint)| *tint)
    }
}

pub(super) mod tessellation {
    use super::*;

    const CONTROL: &str = "#version 450
        layout(vertices = 4) out;
        layout(location = 3) patch out vec4 tint;
        void main() {
            gl_out[gl_InvocationID].gl_Position = gl_in[gl_InvocationID % gl_PatchVerticesIn].gl_Position;
            if (gl_InvocationID == 0) {
                tint = vec4(float(gl_PatchVerticesIn) / 5.0, 0.2, 0.4, 1.0);
                gl_TessLevelOuter[0] = 4.0;
                gl_TessLevelOuter[1] = 3.0;
                gl_TessLevelOuter[2] = 2.0;
                gl_TessLevelOuter[3] = 1.0;
                gl_TessLevelInner[0] = 3.0;
                gl_TessLevelInner[1] = 2.0;
            }
        }
    ";
    const EVALUATION: &str = "#version 450
        layout(quads, equal_spacing, ccw) in;
        layout(location = 3) patch in vec4 tint;
        layout(location = 0) out vec4 shade;
        void main() {
            vec4 low = mix(gl_in[0].gl_Position, gl_in[1].gl_Position, gl_TessCoord.x);
            vec4 high = mix(gl_in[2].gl_Position, gl_in[3].gl_Position, gl_TessCoord.x);
            gl_Position = mix(low, high, gl_TessCoord.y);
            shade = tint;
        }
    ";
    const FRAGMENT: &str = "#version 450
        layout(location = 0) in vec4 shade;
        layout(location = 0) out vec4 color;
        void main() { color = shade; }
    ";

    pub(in super::super) fn draw<P: Session>(stage: &mut Stage<'_, P>) -> Result<(), StageError> {
        stage.clear(color(BLACK))?;
        // Four corners, and a fifth vertex that patches of five have.
        let corners = stage.buffer(&bytes(&[&WHOLE[..], &[9.0, 9.0]].concat()))?;
        let stages = [
            (StageMask::VERTEX, VERTEX),
            (StageMask::TESS_CONTROL, CONTROL),
            (StageMask::TESS_EVALUATION, EVALUATION),
            (StageMask::FRAGMENT, FRAGMENT),
        ];
        stage.staged(&stages, &Reflection::default(), &[])?;
        stage.vertices(corners, &[(0, 2)])?;
        for (at, vertices) in [(0, 4), (1, 5), (2, 4)] {
            stage.tracker().patch().vertices = vertices;
            stage.cell(at);
            stage.draw(Topology::Patches, 0, vertices)?;
        }
        Ok(())
    }

    pub(in super::super) fn pixel(x: u32, y: u32) -> [u8; 4] {
        let (four, five) = ([204, 51, 102, 255], [255, 51, 102, 255]);
        cells(x, y, &[four, five, four])
    }
}

pub(super) mod sample_count {
    use super::*;

    /// `gl_NumSamples`, as a client hands it on: a uniform that the server fills in.
    const FRAGMENT: &str = "#version 450
        layout(location = 0) uniform vec4 tint;
        layout(location = 1) uniform int samples;
        layout(location = 0) out vec4 color;
        void main() { color = vec4(tint.xyz, float(samples) / 5.0); }
    ";

    /// Counts invocations, and adds up the numbers of their samples and what the number of samples is.
    const EACH: &str = "#version 450
        layout(location = 0) uniform vec4 tint;
        layout(location = 1) uniform int samples;
        layout(std430, binding = 0) buffer Counted { uint count; uint ids; uint sizes; };
        layout(location = 0) out vec4 color;
        void main() {
            atomicAdd(count, 1u);
            atomicAdd(ids, uint(gl_SampleID));
            atomicAdd(sizes, uint(samples));
            color = vec4(tint.xyz, float(samples) / 5.0);
        }
    ";

    pub(in super::super) fn draw<P: Session>(stage: &mut Stage<'_, P>) -> Result<(), StageError> {
        stage.clear(color(BLACK))?;
        let corners = stage.buffer(&bytes(&WHOLE))?;
        let reflection = Reflection::default().value(0, ScalarType::Float, 4).value(1, ScalarType::Int, 1);
        let stages = [(StageMask::VERTEX, VERTEX), (StageMask::FRAGMENT, FRAGMENT)];
        stage.staged_counting(&stages, &reflection, &bytes(&color(A)), 16)?;
        stage.vertices(corners, &[(0, 2)])?;
        // Onto a surface without samples, and onto four of them, one invocation each.
        draw_cell(stage, 0)?;
        let reflection = reflection.block(BlockClass::Storage, 0, 12);
        let stages = [(StageMask::VERTEX, VERTEX), (StageMask::FRAGMENT, EACH)];
        stage.staged_counting(&stages, &reflection, &bytes(&color(A)), 16)?;
        let counted = stage.buffer(&[0; 12])?;
        stage.point(ShaderBufferClass::Storage, 0, counted, None)?;
        stage.target_samples(4)?;
        draw_cell(stage, 1)?;
        stage.barrier(BarrierBits::BUFFER_UPDATE)?;
        let pixels = CELL * CELL;
        let sums = [pixels * 4, pixels * (1 + 2 + 3), pixels * 4 * 4];
        stage.expect(counted, 0, &sums.map(u32::to_le_bytes).concat())?;
        // And back.
        stage.target(Handle::NULL);
        draw_cell(stage, 2)?;
        stage.barrier(BarrierBits::BUFFER_UPDATE)?;
        let sums = [pixels * 5, sums[1], sums[2] + pixels];
        stage.expect(counted, 0, &sums.map(u32::to_le_bytes).concat())
    }

    pub(in super::super) fn pixel(x: u32, y: u32) -> [u8; 4] {
        let [red, green, blue, _] = A;
        let one = [red, green, blue, 51];
        cells(x, y, &[one, BLACK, one])
    }
}

pub(super) mod viewport_arrays {
    use super::*;

    const POINT: &str = "#version 450
        void main() { gl_Position = vec4(0.0); }
    ";
    /// A square over all of a viewport, by the number of the primitive.
    const SQUARE: &str = "#version 450
        layout(points) in;
        layout(triangle_strip, max_vertices = 4) out;
        layout(location = 0) out vec4 shade;
        void main() {
            for (int corner = 0; corner < 4; ++corner) {
                gl_ViewportIndex = gl_PrimitiveIDIn;
                shade = vec4(gl_PrimitiveIDIn == 0 || gl_PrimitiveIDIn == 3, gl_PrimitiveIDIn == 1, 1.0, 1.0);
                gl_Position = vec4(vec2(float(corner & 1), float(corner >> 1)) * 2.0 - 1.0, 0.0, 1.0);
                EmitVertex();
            }
            EndPrimitive();
        }
    ";
    const FRAGMENT: &str = "#version 450
        layout(location = 0) in vec4 shade;
        layout(location = 0) out vec4 color;
        void main() { color = shade; }
    ";
    /// Lower left corner and size of each viewport; the last is cut by its own scissor box.
    const VIEWPORTS: [[u32; 4]; 4] = [[0, 0, 16, 16], [32, 0, 32, 8], [8, 24, 40, 8], [0, 40, 64, 24]];
    const BOX: [u32; 4] = [4, 44, 20, 10];

    pub(in super::super) fn draw<P: Session>(stage: &mut Stage<'_, P>) -> Result<(), StageError> {
        let stages =
            [(StageMask::VERTEX, POINT), (StageMask::GEOMETRY, SQUARE), (StageMask::FRAGMENT, FRAGMENT)];
        stage.staged(&stages, &Reflection::default(), &[])?;
        let render = stage.tracker().render_state();
        for (viewport, place) in render.viewports.iter_mut().zip(VIEWPORTS) {
            let [x, y, width, height] = place.map(|side| side as f32);
            (viewport.x, viewport.y, viewport.width, viewport.height) = (x, y, width, height);
        }
        let scissor = &mut render.scissor_boxes[3];
        let [x, y, width, height] = BOX.map(|side| side as i32);
        (scissor.x, scissor.y, scissor.width, scissor.height) = (x, y, width, height);
        // What goes by a blit that no box may cut leaves each box as it was, the first one off or on.
        for first in [0, 1] {
            stage.tracker().render_state().scissor_enable_mask = 1 << 3 | first;
            check(stage, "drawn")?;
            resolve(stage)?;
            check(stage, &format!("after a resolve, {first}"))?;
            copy_depth(stage)?;
            check(stage, &format!("after a copy, {first}"))?;
        }
        Ok(())
    }

    /// Draws everything to the surface.
    fn check<P: Session>(stage: &mut Stage<'_, P>, when: &str) -> Result<(), StageError> {
        stage.target(Handle::NULL);
        stage.clear(color(BLACK))?;
        stage.draw(Topology::Points, 0, 4)?;
        let wanted: Vec<u8> = (0..SIDE).flat_map(|y| (0..SIDE).flat_map(move |x| pixel(x, y))).collect();
        stage.shows(when, &Sight::rgba(Handle::NULL, 0, extent(SIDE, SIDE, 1)), &wanted)
    }

    /// Samples to another place, which OpenGL ES does not do in one blit.
    fn resolve<P: Session>(stage: &mut Stage<'_, P>) -> Result<(), StageError> {
        let texture = stage.image(shape(ResourceTarget::Texture2D, Format::Rgba8, SIDE, SIDE))?;
        let mut state = empty_framebuffer();
        state.color[0] = stage.attachment(texture, 0, 0)?;
        state.read_surface = state.color[0];
        let draw_fbo = stage.named(&state)?;
        stage.target_samples(4)?;
        stage.clear(color(A))?;
        stage.blit(&Blit {
            draw_fbo,
            src_x1: 4,
            src_y1: 4,
            dst_x0: 4,
            dst_x1: 8,
            dst_y1: 4,
            mask: BufferMask::COLOR.raw(),
            filter: Filter::Nearest.raw(),
            ..Blit::default()
        })
    }

    /// Depth, which OpenGL ES copies by blits alone.
    fn copy_depth<P: Session>(stage: &mut Stage<'_, P>) -> Result<(), StageError> {
        let depth = shape(ResourceTarget::Texture2D, Format::DepthComponent24, SIDE, SIDE);
        let (from, dst) = (stage.image(depth)?, stage.image(depth)?);
        let mut state = empty_framebuffer();
        state.depth = stage.attachment(from, 0, 0)?;
        state.draw_buffers[0] = -1;
        stage.bind(FramebufferTarget::Both, &state);
        stage.synced(Verb::CopyFramebuffer)?;
        Ok(stage.pipe().copy_framebuffer_to_texture(&CopyFromFramebuffer {
            dst,
            target: u16::from(depth.target),
            internal_format: depth.internal_format,
            width: 4,
            height: 4,
            sub_image: 1,
            ..CopyFromFramebuffer::default()
        })?)
    }

    pub(in super::super) fn pixel(x: u32, y: u32) -> [u8; 4] {
        let inside = |[left, bottom, width, height]: [u32; 4]| {
            (left..left + width).contains(&x) && (bottom..bottom + height).contains(&y)
        };
        match VIEWPORTS.iter().position(|place| inside(*place)) {
            Some(0) => [255, 0, 255, 255],
            Some(1) => [0, 255, 255, 255],
            Some(2) => [0, 0, 255, 255],
            Some(_) if inside(BOX) => [255, 0, 255, 255],
            _ => BLACK,
        }
    }
}
