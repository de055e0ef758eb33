//! Blending and colour masks. Components are nothing or everything, so that products are exact.

use super::*;
use runahead_wire::values::{ScalarType, StageMask};

use super::super::Reflection;

/// Operands, as components of 0 or 1.
type Color = [i32; 4];

const SOURCE: Color = [1, 0, 1, 0];
const DESTINATION: Color = [1, 1, 0, 1];
const CONSTANT: Color = [0, 1, 1, 0];

fn steps(color: Color) -> [u8; 4] {
    color.map(|component| (component.clamp(0, 1) * 255) as u8)
}

/// Value of a factor for a component (OpenGL ES 3.2 table 15.2).
fn weight(factor: BlendFactor, at: usize, source: Color, destination: Color) -> i32 {
    match factor {
        BlendFactor::Zero => 0,
        BlendFactor::One => 1,
        BlendFactor::SrcColor => source[at],
        BlendFactor::OneMinusSrcColor => 1 - source[at],
        BlendFactor::DstColor => destination[at],
        BlendFactor::OneMinusDstColor => 1 - destination[at],
        BlendFactor::SrcAlpha => source[3],
        BlendFactor::OneMinusSrcAlpha => 1 - source[3],
        BlendFactor::DstAlpha => destination[3],
        BlendFactor::OneMinusDstAlpha => 1 - destination[3],
        BlendFactor::ConstantColor => CONSTANT[at],
        BlendFactor::OneMinusConstantColor => 1 - CONSTANT[at],
        BlendFactor::ConstantAlpha => CONSTANT[3],
        BlendFactor::OneMinusConstantAlpha => 1 - CONSTANT[3],
        BlendFactor::SrcAlphaSaturate if at == 3 => 1,
        BlendFactor::SrcAlphaSaturate => source[3].min(1 - destination[3]),
        _ => 0,
    }
}

/// What is there after blending (OpenGL ES 3.2 table 15.1).
fn blended(op: BlendOp, source: i32, from: i32, destination: i32, to: i32) -> i32 {
    match op {
        BlendOp::Subtract => source * from - destination * to,
        BlendOp::ReverseSubtract => destination * to - source * from,
        BlendOp::Min => source.min(destination),
        BlendOp::Max => source.max(destination),
        _ => source * from + destination * to,
    }
}

/// All draw buffers alike.
fn blend(render: &mut RenderState, blend: BlendState) {
    render.blend = [blend; 8];
}

pub(in super::super) mod blend_factors {
    use super::*;

    /// Factors that need no second source.
    const FACTORS: u32 = 15;
    /// Pixels along each side of a cell here.
    const SMALL: u32 = 4;

    fn factor(number: u32) -> BlendFactor {
        BlendFactor::from_raw(number).unwrap_or(BlendFactor::Zero)
    }

    pub(in super::super::super) fn draw<P: Session>(stage: &mut Stage<'_, P>) -> Result<(), StageError> {
        stage.clear(color(steps(DESTINATION)))?;
        let square = |x: u32, y: u32| {
            let side = |pixel: u32| grid::clip(pixel as f32);
            let (left, bottom, right, top) =
                (side(x * SMALL), side(y * SMALL), side((x + 1) * SMALL), side((y + 1) * SMALL));
            [left, bottom, right, bottom, left, top, right, top]
        };
        let squares: Vec<f32> =
            (0..FACTORS * FACTORS).flat_map(|at| square(at % FACTORS, at / FACTORS)).collect();
        let squares = stage.buffer(&bytes(&squares))?;
        stage.program(POSITION, UNIFORM_COLOR, &[("position", 0)], &bytes(&color(steps(SOURCE))))?;
        stage.vertices(squares, &[(0, 2)])?;
        stage.tracker().render_state().blend_color = color(steps(CONSTANT));
        for at in 0..FACTORS * FACTORS {
            let (from, to) = (at % FACTORS, at / FACTORS);
            // Alpha has the factors the other way round.
            let (src_rgb, dst_rgb, src_alpha, dst_alpha) = (from, to, to, from);
            let state =
                BlendState { enabled: 1, src_rgb, dst_rgb, src_alpha, dst_alpha, ..BlendState::default() };
            blend(stage.tracker().render_state(), state);
            stage.draw(Topology::TriangleStrip, 4 * at, 4)?;
        }
        Ok(())
    }

    pub(in super::super::super) fn pixel(x: u32, y: u32) -> [u8; 4] {
        let (column, row) = (x / SMALL, y / SMALL);
        if column >= FACTORS || row >= FACTORS {
            return steps(DESTINATION);
        }
        let (from, to) = (factor(column), factor(row));
        let component = |at: usize| {
            let (from, to) = if at == 3 { (to, from) } else { (from, to) };
            let weigh = |factor| weight(factor, at, SOURCE, DESTINATION);
            blended(BlendOp::Add, SOURCE[at], weigh(from), DESTINATION[at], weigh(to))
        };
        steps([component(0), component(1), component(2), component(3)])
    }
}

pub(in super::super) mod blend_equations {
    use super::*;

    const OPS: [BlendOp; 5] =
        [BlendOp::Add, BlendOp::Subtract, BlendOp::ReverseSubtract, BlendOp::Min, BlendOp::Max];
    /// Cells of the pairs of equations; those of the masks follow.
    const PAIRS: u32 = 25;
    const MASKS: u32 = 16;

    pub(in super::super::super) fn draw<P: Session>(stage: &mut Stage<'_, P>) -> Result<(), StageError> {
        stage.clear(color(steps(DESTINATION)))?;
        cells(stage, steps(SOURCE), &[0.0])?;
        let one = BlendFactor::One.raw();
        let plain = BlendState {
            src_rgb: one,
            dst_rgb: one,
            src_alpha: one,
            dst_alpha: one,
            ..BlendState::default()
        };
        for at in 0..PAIRS {
            let (rgb, alpha) = (OPS[(at % 5) as usize], OPS[(at / 5) as usize]);
            let state = BlendState { enabled: 1, op_rgb: rgb.raw(), op_alpha: alpha.raw(), ..plain };
            blend(stage.tracker().render_state(), state);
            cell(stage, at, 0)?;
        }
        blend(stage.tracker().render_state(), plain);
        for mask in 0..MASKS {
            let on = |bit: u32| (mask >> bit & 1) as u8;
            let render = stage.tracker().render_state();
            for of_buffer in &mut render.color_masks {
                (of_buffer.red, of_buffer.green, of_buffer.blue, of_buffer.alpha) =
                    (on(0), on(1), on(2), on(3));
            }
            cell(stage, PAIRS + mask, 0)?;
        }
        Ok(())
    }

    pub(in super::super::super) fn pixel(x: u32, y: u32) -> [u8; 4] {
        let at = grid::of(x, y).0;
        if at < PAIRS {
            let (rgb, alpha) = (OPS[(at % 5) as usize], OPS[(at / 5) as usize]);
            let component =
                |at: usize| blended(if at == 3 { alpha } else { rgb }, SOURCE[at], 1, DESTINATION[at], 1);
            return steps([component(0), component(1), component(2), component(3)]);
        }
        let mask = at - PAIRS;
        let component = |at: usize| if mask >> at & 1 != 0 { SOURCE[at] } else { DESTINATION[at] };
        if mask < MASKS {
            steps([component(0), component(1), component(2), component(3)])
        } else {
            steps(DESTINATION)
        }
    }
}

const POSITIONS: &str = "#version 450
    layout(location = 0) in vec3 position;
    void main() { gl_Position = vec4(position, 1.0); }
";

/// Cells with a program in the shading language of OpenGL.
fn staged_cells<P: Session>(
    stage: &mut Stage<'_, P>,
    fragment: &str,
    outputs: &[(u32, u32)],
) -> Result<(), StageError> {
    let buffer = stage.buffer(&bytes(&corners(0.0)))?;
    let reflection = outputs
        .iter()
        .fold(Reflection::default().input(0, ScalarType::Float), |reflection, (location, index)| {
            reflection.output(*location, ScalarType::Float, *index)
        });
    stage.staged(&[(StageMask::VERTEX, POSITIONS), (StageMask::FRAGMENT, fragment)], &reflection, &[])?;
    stage.vertices(buffer, &[(0, 3)])
}

pub(in super::super) mod dual_source {
    use super::*;

    const FRAGMENT: &str = "#version 450
        layout(location = 0, index = 0) out vec4 first;
        layout(location = 0, index = 1) out vec4 second;
        void main() { first = vec4(1.0, 1.0, 0.0, 1.0); second = vec4(0.0, 1.0, 1.0, 0.0); }
    ";
    const FIRST: Color = [1, 1, 0, 1];
    const SECOND: Color = [0, 1, 1, 0];
    const BEFORE: Color = [1, 0, 1, 1];
    /// A factor of each source, by pairs.
    const FACTORS: [BlendFactor; 4] = [
        BlendFactor::Src1Color,
        BlendFactor::OneMinusSrc1Color,
        BlendFactor::Src1Alpha,
        BlendFactor::OneMinusSrc1Alpha,
    ];

    pub(in super::super::super) fn draw<P: Session>(stage: &mut Stage<'_, P>) -> Result<(), StageError> {
        stage.clear(color(steps(BEFORE)))?;
        staged_cells(stage, FRAGMENT, &[(0, 0), (0, 1)])?;
        for at in 0..16_u32 {
            let (from, to) = (FACTORS[(at % 4) as usize].raw(), FACTORS[(at / 4) as usize].raw());
            let state = BlendState {
                enabled: 1,
                src_rgb: from,
                dst_rgb: to,
                src_alpha: from,
                dst_alpha: to,
                ..BlendState::default()
            };
            blend(stage.tracker().render_state(), state);
            cell(stage, at, 0)?;
        }
        // And without blending: the first is what is written.
        blend(stage.tracker().render_state(), BlendState::default());
        cell(stage, 16, 0)
    }

    pub(in super::super::super) fn pixel(x: u32, y: u32) -> [u8; 4] {
        let cell = grid::of(x, y).0;
        if cell > 15 {
            return steps(if cell == 16 { FIRST } else { BEFORE });
        }
        let component = |at: usize| {
            let weigh = |factor: BlendFactor| match factor {
                BlendFactor::Src1Color => SECOND[at],
                BlendFactor::OneMinusSrc1Color => 1 - SECOND[at],
                BlendFactor::Src1Alpha => SECOND[3],
                _ => 1 - SECOND[3],
            };
            let (from, to) = (FACTORS[(cell % 4) as usize], FACTORS[(cell / 4) as usize]);
            FIRST[at] * weigh(from) + BEFORE[at] * weigh(to)
        };
        steps([component(0), component(1), component(2), component(3)])
    }
}

/// Two draw buffers with blending, equations and masks of their own.
pub(in super::super) mod draw_buffers {
    use super::*;

    const FRAGMENT: &str = "#version 450
        layout(location = 0) out vec4 first;
        layout(location = 1) out vec4 second;
        void main() { first = vec4(1.0, 0.0, 1.0, 1.0); second = vec4(0.0, 1.0, 1.0, 1.0); }
    ";

    pub(in super::super::super) fn draw<P: Session>(stage: &mut Stage<'_, P>) -> Result<(), StageError> {
        let images = [stage.texture(SIDE, SIDE, None)?, stage.texture(SIDE, SIDE, None)?];
        stage.target_images(&images.map(|image| textured(image, Format::Rgba8)), None, 0);
        stage.clear(color([0, 255, 0, 255]))?;
        staged_cells(stage, FRAGMENT, &[(0, 0), (1, 0)])?;
        let one = BlendFactor::One.raw();
        let add = BlendState {
            enabled: 1,
            src_rgb: one,
            dst_rgb: one,
            src_alpha: one,
            dst_alpha: one,
            ..BlendState::default()
        };
        // Cell 0: the first adds, the second is replaced. Cell 1: the other way round, by another equation.
        let render = stage.tracker().render_state();
        render.blend[0] = add;
        cell(stage, 0, 0)?;
        let render = stage.tracker().render_state();
        render.blend[0].enabled = 0;
        render.blend[1] = BlendState { op_rgb: BlendOp::ReverseSubtract.raw(), ..add };
        cell(stage, 1, 0)?;
        // Cell 2: neither, with masks. Cell 3: the same masks for both.
        let render = stage.tracker().render_state();
        render.blend[1].enabled = 0;
        (render.color_masks[0].red, render.color_masks[1].blue) = (0, 0);
        cell(stage, 2, 0)?;
        let render = stage.tracker().render_state();
        for mask in &mut render.color_masks {
            (mask.red, mask.green, mask.blue) = (1, 0, 1);
        }
        cell(stage, 3, 0)?;
        // The first on the left of the surface, the second on the right of it, each as it lies.
        stage.show(images[1])?;
        let render = stage.tracker().render_state();
        render.scissor_enable_mask = 1;
        render.scissor_boxes[0].height = SIDE as i32 / 2;
        // Cells are in the lowest row: the second is shown half the surface higher.
        render.scissor_boxes[0].y = SIDE as i32 / 2;
        render.viewports[0].y = SIDE as f32 / 2.0;
        stage.draw(Topology::TriangleStrip, 0, 4)?;
        let render = stage.tracker().render_state();
        render.scissor_boxes[0].y = 0;
        render.viewports[0].y = 0.0;
        stage.sample(images[0])?;
        stage.draw(Topology::TriangleStrip, 0, 4)
    }

    pub(in super::super::super) fn pixel(x: u32, y: u32) -> [u8; 4] {
        let second = y >= SIDE / 2;
        let (cell, ..) = grid::of(x, if second { y - SIDE / 2 } else { y });
        match (cell, second) {
            (0, false) => [255, 255, 255, 255],
            (0, true) => [0, 255, 255, 255],
            (1, false) => [255, 0, 255, 255],
            // Destination less source; alpha is added.
            (1, true) => [0, 0, 0, 255],
            (2, false) => [0, 0, 255, 255],
            (2, true) => [0, 255, 0, 255],
            (3, false) => [255, 255, 255, 255],
            (3, true) => [0, 255, 255, 255],
            _ => [0, 255, 0, 255],
        }
    }
}
