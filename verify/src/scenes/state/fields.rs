//! Fields one by one.

use super::*;
use runahead_wire::{
    pipe::Op,
    values::{
        ClipDepthMode, ClipOrigin, CullFace, ErrorKind, FrontFace, LogicOp, PointSpriteOrigin, PolygonMode,
        ScalarType, StageMask,
    },
};

use super::super::Reflection;

/// Each field has another value for one draw and its first one again for the next.
pub(in super::super) mod setters {
    use super::*;

    /// Changes, what a quad is like with them, and without them afterwards: whether it is drawn. The depth of the quad
    /// is the second member: those of [`DEPTHS`].
    type Case = (fn(&mut RenderState), u32, bool, bool);

    /// Half way, beyond the far plane, just before the near plane, in front of half way.
    const DEPTHS: [f32; 4] = [0.0, 1.5, -0.75, -0.25];

    const CASES: &[Case] = &[
        (|render| (render.cull_face, render.cull_mode) = (1, CullFace::Front.raw()), 0, false, true),
        (|render| (render.cull_face, render.cull_mode) = (1, CullFace::Back.raw()), 0, true, true),
        (|render| (render.cull_face, render.cull_mode) = (1, CullFace::FrontAndBack.raw()), 0, false, true),
        (|render| (render.cull_face, render.front_face) = (1, FrontFace::Clockwise.raw()), 0, false, true),
        (|render| render.rasterizer_discard = 1, 0, false, true),
        (|render| (render.scissor_enable_mask, render.scissor_boxes[0].width) = (1, 0), 0, false, true),
        (|render| render.scissor_boxes[0].width = 0, 0, true, true),
        (|render| render.viewports[0].x = 640.0, 0, false, true),
        (|render| render.depth_clamp = 1, 1, true, false),
        (|render| render.clip_depth_mode = ClipDepthMode::ZeroToOne.raw(), 2, false, true),
        // Less passes before the far plane alone, which a depth range puts at 0.
        (
            |render| {
                (render.depth_test, render.depth_func) = (1, CompareOp::Less.raw());
                render.depth_ranges[0].near = 1.0;
            },
            0,
            false,
            true,
        ),
        // Offset by more than there is: behind what is there everywhere; and by no more than a limit.
        (
            |render| {
                (render.depth_test, render.depth_func) = (1, CompareOp::Less.raw());
                (render.polygon_offset_fill, render.polygon_offset_units) = (1, 1.0e9);
            },
            0,
            false,
            true,
        ),
        (
            |render| {
                (render.depth_test, render.depth_func) = (1, CompareOp::Less.raw());
                (render.polygon_offset_fill, render.polygon_offset_units) = (1, 1.0e9);
                render.polygon_offset_clamp = 0.125;
            },
            0,
            true,
            true,
        ),
        (|render| render.polygon_offset_units = 1.0e9, 0, true, true),
        (|render| (render.depth_test, render.depth_func) = (1, CompareOp::Greater.raw()), 0, false, true),
        (
            |render| (render.stencil_test, render.stencil_front_func) = (1, CompareOp::Never.raw()),
            0,
            false,
            true,
        ),
        (
            |render| (render.stencil_test, render.stencil_back_func) = (1, CompareOp::Never.raw()),
            0,
            true,
            true,
        ),
        (|render| render.dither = 0, 0, true, true),
        (|render| render.color_masks = Default::default(), 0, false, true),
        // What nothing of OpenGL ES asks for and what changes no filled triangle.
        (|render| (render.line_smooth, render.polygon_offset_line) = (1, 1), 0, true, true),
        (|render| (render.point_size, render.program_point_size) = (9.0, 0), 0, true, true),
        (|render| render.point_sprite_origin = PointSpriteOrigin::LowerLeft.raw(), 0, true, true),
        (|render| (render.color_logic_op, render.logic_op) = (1, LogicOp::Copy.raw()), 0, true, true),
        (|render| (render.sample_alpha_to_one, render.multisample) = (1, 0), 0, true, true),
        // A copy is written as it is, whatever blending says.
        (
            |render| {
                (render.color_logic_op, render.logic_op) = (1, LogicOp::Copy.raw());
                for blend in &mut render.blend {
                    (blend.enabled, blend.src_rgb) = (1, BlendFactor::Zero.raw());
                }
            },
            0,
            true,
            false,
        ),
    ];

    /// Row of the cells where the first draw of a case goes; that of the second is above it.
    const fn place(case: u32, second: u32) -> u32 {
        (case / 8) * 16 + second * 8 + case % 8
    }

    pub(in super::super::super) fn draw<P: Session>(stage: &mut Stage<'_, P>) -> Result<(), StageError> {
        let image = stage.texture(SIDE, SIDE, None)?;
        let depth_stencil = stage.renderbuffer(Format::Depth24Stencil8, SIDE, SIDE, 0)?;
        let depth = Some((depth_stencil, Format::Depth24Stencil8));
        stage.target_images(&[textured(image, Format::Rgba8)], depth, 0);
        let render = stage.tracker().render_state();
        // Three quarters of the way.
        (render.clear_color, render.clear_depth, render.clear_stencil) = (color(BLACK), 0.75, 0);
        let mask = BufferMask::COLOR.raw() | BufferMask::DEPTH.raw() | BufferMask::STENCIL.raw();
        stage.clear_by(&Clear { kind: ClearKind::Whole.raw(), buffer_mask: mask, ..Clear::default() })?;
        cells(stage, DRAWN, &DEPTHS)?;
        for (number, (change, depth, ..)) in (0..).zip(CASES) {
            let before = *stage.tracker().render_state();
            change(stage.tracker().render_state());
            cell(stage, place(number, 0), *depth)?;
            *stage.tracker().render_state() = before;
            // The last case is of blending: it stays on for the second, which is not drawn then.
            if number + 1 == CASES.len() as u32 {
                change(stage.tracker().render_state());
                stage.tracker().render_state().color_logic_op = 0;
            }
            cell(stage, place(number, 1), *depth)?;
            *stage.tracker().render_state() = before;
        }
        // Turned upside down: a quad of the lowest row is in the highest one.
        stage.tracker().render_state().clip_origin = ClipOrigin::UpperLeft.raw();
        cell(stage, 7, 0)?;
        stage.show(image)
    }

    pub(in super::super::super) fn pixel(x: u32, y: u32) -> [u8; 4] {
        let at = grid::of(x, y).0;
        if at == 63 {
            return DRAWN;
        }
        for (number, (.., first, second)) in (0..).zip(CASES) {
            let drawn = [(place(number, 0), *first), (place(number, 1), *second)];
            for (cell, drawn) in drawn {
                if cell == at {
                    return if drawn { DRAWN } else { BLACK };
                }
            }
        }
        BLACK
    }
}

/// A quad whose distances from two planes decide what is left of it.
pub(in super::super) mod clip_distances {
    use super::*;

    const VERTEX: &str = "#version 450
        layout(location = 0) in vec3 position;
        layout(location = 1) in vec2 distances;
        out gl_PerVertex { vec4 gl_Position; float gl_ClipDistance[2]; };
        void main() {
            gl_Position = vec4(position, 1.0);
            gl_ClipDistance[0] = distances.x;
            gl_ClipDistance[1] = distances.y;
        }
    ";
    const FRAGMENT: &str = "#version 450
        layout(location = 0) out vec4 color;
        void main() { color = vec4(0.0, 0.8, 0.4, 1.0); }
    ";

    pub(in super::super::super) fn draw<P: Session>(stage: &mut Stage<'_, P>) -> Result<(), StageError> {
        stage.clear(color(BLACK))?;
        // From the left to the right, and from below upwards: 0 in the middle.
        let mut vertices = Vec::new();
        for at in 0..4 {
            for ([x, y], distances) in
                grid::whole(at).into_iter().zip([[-1.0, -1.0], [1.0, -1.0], [-1.0, 1.0], [1.0, 1.0]])
            {
                vertices.extend([[x, y, 0.0].as_slice(), &distances].concat());
            }
        }
        let vertices = stage.buffer(&bytes(&vertices))?;
        let reflection = Reflection::default()
            .input(0, ScalarType::Float)
            .input(1, ScalarType::Float)
            .output(0, ScalarType::Float, 0);
        stage.staged(&[(StageMask::VERTEX, VERTEX), (StageMask::FRAGMENT, FRAGMENT)], &reflection, &[])?;
        let feed = VertexBuffer { resource: vertices, stride: 20, ..VertexBuffer::default() };
        let attributes =
            [Attribute::new(0, 0, AttribType::Float, 3, 0), Attribute::new(1, 0, AttribType::Float, 2, 12)];
        stage.layout(&attributes, &[feed])?;
        // No distance at all is left out: llvmpipe (seen in Mesa 22.3) then takes every one that the program writes.
        for (cell, mask) in [(1, 1), (2, 2), (3, 3)] {
            stage.tracker().render_state().clip_distance_mask = mask;
            stage.draw(Topology::TriangleStrip, 4 * cell, 4)?;
        }
        Ok(())
    }

    pub(in super::super::super) fn pixel(x: u32, y: u32) -> [u8; 4] {
        let (cell, x, y) = grid::of(x, y);
        let half = grid::CELL / 2;
        let left = |plane: u32, side: u32| cell >> plane & 1 == 0 || side >= half;
        if (1..4).contains(&cell) && left(0, x) && left(1, y) { DRAWN } else { BLACK }
    }
}

/// What the driver does not have is refused by the row that would change an image, and only there.
pub(in super::super) mod state_refused {
    use super::*;

    pub(in super::super::super) fn draw<P: Session>(stage: &mut Stage<'_, P>) -> Result<(), StageError> {
        stage.clear(color(BLACK))?;
        cells(stage, DRAWN, &[0.0])?;
        type Case = (fn(&mut RenderState), Topology);
        let refused: [Case; 6] = [
            (
                |render| (render.color_logic_op, render.logic_op) = (1, LogicOp::Xor.raw()),
                Topology::TriangleStrip,
            ),
            (
                |render| {
                    for blend in &mut render.blend {
                        (blend.enabled, blend.op_rgb, blend.op_alpha) =
                            (1, BlendOp::Multiply.raw(), BlendOp::Multiply.raw());
                    }
                },
                Topology::TriangleStrip,
            ),
            (|render| render.line_smooth = 1, Topology::LineStrip),
            (|render| render.polygon_smooth = 1, Topology::TriangleFan),
            (|render| render.polygon_mode_front = PolygonMode::Line.raw(), Topology::Triangles),
            (|render| render.point_size = 2.0, Topology::Points),
        ];
        for (change, mode) in refused {
            let before = *stage.tracker().render_state();
            change(stage.tracker().render_state());
            stage.draw(mode, 0, 4)?;
            stage.failed(Op::DrawVbo, ErrorKind::InvalidOperation)?;
            // A clear is none of its business.
            stage.clear(color(BLACK))?;
            *stage.tracker().render_state() = before;
        }
        stage.tracker().render_state().clear_color = color(BLACK);
        cell(stage, 0, 0)
    }

    pub(in super::super::super) fn pixel(x: u32, y: u32) -> [u8; 4] {
        if grid::of(x, y).0 == 0 { DRAWN } else { BLACK }
    }
}
