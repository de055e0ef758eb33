//! Depth and stencil.

use super::*;

const FORMAT: Format = Format::Depth24Stencil8;

/// A colour image with depth and stencil beside it, cleared.
fn deep<P: Session>(stage: &mut Stage<'_, P>) -> Result<Handle, StageError> {
    let image = stage.texture(SIDE, SIDE, None)?;
    let depth_stencil = stage.renderbuffer(FORMAT, SIDE, SIDE, 0)?;
    stage.target_images(&[textured(image, Format::Rgba8)], Some((depth_stencil, FORMAT)), 0);
    let render = stage.tracker().render_state();
    (render.clear_color, render.clear_depth, render.clear_stencil) = (color(BLACK), 1.0, 4);
    stage.clear_by(&Clear {
        kind: ClearKind::Whole.raw(),
        buffer_mask: BufferMask::COLOR.raw() | BufferMask::DEPTH.raw() | BufferMask::STENCIL.raw(),
        ..Clear::default()
    })?;
    Ok(image)
}

fn both_stencils(render: &mut RenderState, func: CompareOp, reference: i32) {
    (render.stencil_front_func, render.stencil_back_func) = (func.raw(), func.raw());
    (render.stencil_front_ref, render.stencil_back_ref) = (reference, reference);
}

fn func(number: u32) -> CompareOp {
    CompareOp::from_raw(number).unwrap_or(CompareOp::Never)
}

/// Whether a comparison of `new` with `old` passes.
fn passes(op: CompareOp, new: i32, old: i32) -> bool {
    match op {
        CompareOp::Never => false,
        CompareOp::Less => new < old,
        CompareOp::Equal => new == old,
        CompareOp::LessEqual => new <= old,
        CompareOp::Greater => new > old,
        CompareOp::NotEqual => new != old,
        CompareOp::GreaterEqual => new >= old,
        CompareOp::Always => true,
    }
}

pub(in super::super) mod depth_stencil {
    use super::*;

    /// Columns: depth before, there and behind; stencil the same; then masks.
    const DEPTHS: [f32; 3] = [-0.5, 0.0, 0.5];

    pub(in super::super::super) fn draw<P: Session>(stage: &mut Stage<'_, P>) -> Result<(), StageError> {
        let image = deep(stage)?;
        cells(stage, DRAWN, &DEPTHS)?;
        // Something is everywhere, half way, which shows in no colour.
        let render = stage.tracker().render_state();
        (render.depth_test, render.depth_func) = (1, CompareOp::Always.raw());
        for mask in &mut render.color_masks {
            (mask.red, mask.green, mask.blue, mask.alpha) = (0, 0, 0, 0);
        }
        stage.draw(Topology::TriangleStrip, 256, 256)?;
        let render = stage.tracker().render_state();
        render.color_masks = runahead_core::state::initial_render_state().color_masks;
        for row in 0..8 {
            for column in 0..3_u32 {
                let render = stage.tracker().render_state();
                (render.depth_test, render.stencil_test) = (1, 0);
                render.depth_func = row;
                cell(stage, 8 * row + column, column)?;
                let render = stage.tracker().render_state();
                (render.depth_test, render.stencil_test) = (0, 1);
                // The high bits do not count.
                (render.stencil_front_value_mask, render.stencil_back_value_mask) = (0x0F, 0x0F);
                both_stencils(render, func(row), 0x50 | (3 + column as i32));
                cell(stage, 8 * row + column + 3, 1)?;
            }
        }
        // Drawn in front without a depth mask, and once more there: both pass. With one, the second does not.
        for (row, mask) in [(0, 0), (1, 1)] {
            let render = stage.tracker().render_state();
            (render.depth_test, render.stencil_test) = (1, 0);
            (render.depth_func, render.depth_mask) = (CompareOp::Less.raw(), mask);
            for shade in &mut render.color_masks {
                (shade.red, shade.green, shade.blue, shade.alpha) = (0, 0, 0, 0);
            }
            cell(stage, 8 * row + 6, 0)?;
            let render = stage.tracker().render_state();
            render.color_masks = runahead_core::state::initial_render_state().color_masks;
            render.depth_mask = 1;
            cell(stage, 8 * row + 6, 0)?;
        }
        stage.show(image)
    }

    pub(in super::super::super) fn pixel(x: u32, y: u32) -> [u8; 4] {
        let (at, ..) = grid::of(x, y);
        let (column, row) = (at % 8, at / 8);
        let passed = match column {
            0..3 => passes(func(row), column as i32, 1),
            // The reference is what is compared with the value there.
            3..6 => passes(func(row), column as i32, 4),
            6 => row == 0,
            _ => false,
        };
        if passed { DRAWN } else { BLACK }
    }
}

pub(in super::super) mod stencil_ops {
    use super::*;

    const OPS: [StencilOp; 8] = [
        StencilOp::Keep,
        StencilOp::Zero,
        StencilOp::Replace,
        StencilOp::IncrementClamp,
        StencilOp::DecrementClamp,
        StencilOp::Invert,
        StencilOp::IncrementWrap,
        StencilOp::DecrementWrap,
    ];
    /// Values that the operations begin from.
    const VALUES: [u8; 3] = [0, 4, 255];
    const REFERENCE: u8 = 9;

    const fn becomes(op: StencilOp, value: u8) -> u8 {
        match op {
            StencilOp::Keep => value,
            StencilOp::Zero => 0,
            StencilOp::Replace => REFERENCE,
            StencilOp::IncrementClamp => value.saturating_add(1),
            StencilOp::DecrementClamp => value.saturating_sub(1),
            StencilOp::Invert => !value,
            StencilOp::IncrementWrap => value.wrapping_add(1),
            StencilOp::DecrementWrap => value.wrapping_sub(1),
        }
    }

    /// How the operation comes about: the stencil test fails, the depth test fails, both pass; the other face's fields
    /// are others. And the value that is there with the operation.
    pub(in super::super::super) fn draw<P: Session>(stage: &mut Stage<'_, P>) -> Result<(), StageError> {
        let image = deep(stage)?;
        cells(stage, DRAWN, &[0.0])?;
        for (row, op) in (0..).zip(OPS) {
            for column in 0..6 {
                let (value, way) = (VALUES[column as usize % 3], column / 3);
                // The value there, through a scissor box that is the cell.
                let render = stage.tracker().render_state();
                let at = 8 * row + column;
                render.scissor_enable_mask = 1;
                render.stencil_front_write_mask = 0xFF;
                let [x, y] = [at % 8, at / 8].map(|side| (side * grid::CELL) as i32);
                let scissor = &mut render.scissor_boxes[0];
                (scissor.x, scissor.y, scissor.width, scissor.height) = (x, y, 8, 8);
                stage.clear_by(&Clear {
                    kind: ClearKind::Stencil.raw(),
                    stencil_value: i32::from(value),
                    ..Clear::default()
                })?;
                let render = stage.tracker().render_state();
                render.stencil_test = 1;
                let fail = if way == 0 { CompareOp::Never } else { CompareOp::Always };
                both_stencils(render, fail, i32::from(REFERENCE));
                let (keep, op) = (StencilOp::Keep.raw(), op.raw());
                // Another thing for the back faces, of which there is none.
                render.stencil_back_fail = StencilOp::Invert.raw();
                render.stencil_back_pass = StencilOp::Invert.raw();
                if way == 0 {
                    (render.stencil_front_fail, render.stencil_front_pass) = (op, StencilOp::Invert.raw());
                } else {
                    // Half of them fail the depth test.
                    let fails = row % 2 == 0;
                    (render.depth_test, render.depth_func) =
                        (1, if fails { CompareOp::Never } else { CompareOp::Always }.raw());
                    render.stencil_front_depth_fail = if fails { op } else { keep };
                    render.stencil_front_pass = if fails { keep } else { op };
                    render.stencil_front_fail = StencilOp::Invert.raw();
                }
                for mask in &mut render.color_masks {
                    (mask.red, mask.green, mask.blue, mask.alpha) = (0, 0, 0, 0);
                }
                cell(stage, at, 0)?;
                // It is drawn where the value is the one that it must have become.
                let render = stage.tracker().render_state();
                render.color_masks = runahead_core::state::initial_render_state().color_masks;
                render.depth_test = 0;
                (render.stencil_front_write_mask, render.stencil_back_write_mask) = (0, 0);
                let wanted = becomes(OPS[row as usize], value);
                both_stencils(render, CompareOp::Equal, i32::from(wanted));
                cell(stage, at, 0)?;
            }
        }
        stage.show(image)
    }

    pub(in super::super::super) fn pixel(x: u32, y: u32) -> [u8; 4] {
        if grid::of(x, y).0 % 8 < 6 { DRAWN } else { BLACK }
    }
}
