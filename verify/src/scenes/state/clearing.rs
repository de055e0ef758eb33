//! Clears.

use super::*;
use runahead_wire::values::ValueClass;

/// Clears of each kind: of what is bound and of what is named, with masks and scissor boxes, of one draw buffer, of
/// depth and stencil by themselves and together.
pub(in super::super) mod clears {
    use super::*;

    const FORMAT: Format = Format::Depth24Stencil8;
    const FIRST: [u8; 4] = [51, 102, 153, 204];
    const SECOND: [u8; 4] = [255, 0, 204, 255];

    fn of_color(buffer: i32, shade: [u8; 4]) -> Clear {
        Clear {
            kind: ClearKind::Color.raw(),
            draw_buffer_index: buffer,
            value_class: ValueClass::Float.raw(),
            color_value: color(shade).map(f32::to_bits),
            ..Clear::default()
        }
    }

    /// The scissor box is a cell from now on.
    fn within<P: Session>(stage: &mut Stage<'_, P>, cell: u32) {
        let render = stage.tracker().render_state();
        render.scissor_enable_mask = 1;
        let [x, y] = [cell % 8, cell / 8].map(|side| (side * grid::CELL) as i32);
        let scissor = &mut render.scissor_boxes[0];
        (scissor.x, scissor.y, scissor.width, scissor.height) = (x, y, 8, 8);
    }

    pub(in super::super::super) fn draw<P: Session>(stage: &mut Stage<'_, P>) -> Result<(), StageError> {
        let images = [stage.texture(SIDE, SIDE, None)?, stage.texture(SIDE, SIDE, None)?];
        let depth_stencil = stage.renderbuffer(FORMAT, SIDE, SIDE, 0)?;
        let colors = images.map(|image| textured(image, Format::Rgba8));
        stage.target_images(&colors, Some((depth_stencil, FORMAT)), 0);
        // Both colours, and depth and stencil.
        let render = stage.tracker().render_state();
        (render.clear_color, render.clear_depth, render.clear_stencil) = (color(BLACK), 0.25, 3);
        let whole = BufferMask::COLOR.raw() | BufferMask::DEPTH.raw() | BufferMask::STENCIL.raw();
        let whole = Clear { kind: ClearKind::Whole.raw(), buffer_mask: whole, ..Clear::default() };
        stage.clear_by(&whole)?;
        // 0: the first alone. 1: the second alone, which is not shown. 2: masked. 3: both.
        within(stage, 0);
        stage.clear_by(&of_color(0, FIRST))?;
        within(stage, 1);
        stage.clear_by(&of_color(1, FIRST))?;
        within(stage, 2);
        for mask in &mut stage.tracker().render_state().color_masks {
            (mask.red, mask.alpha) = (0, 0);
        }
        stage.clear_by(&of_color(0, FIRST))?;
        stage.tracker().render_state().color_masks = runahead_core::state::initial_render_state().color_masks;
        within(stage, 3);
        stage.tracker().render_state().clear_color = color(SECOND);
        let of_colors = Clear { buffer_mask: BufferMask::COLOR.raw(), ..whole };
        stage.clear_by(&of_colors)?;
        // 4: nothing, since primitives are dropped (OpenGL ES 3.2 section 14.1). 5: named, while the surface is bound.
        within(stage, 4);
        stage.tracker().render_state().rasterizer_discard = 1;
        stage.clear_by(&of_colors)?;
        stage.tracker().render_state().rasterizer_discard = 0;
        within(stage, 5);
        let fbo = stage.tracker().wanted().draw_framebuffer;
        stage.target(Handle::NULL);
        stage.clear_by(&Clear { fbo, ..of_color(0, FIRST) })?;
        stage.target_images(&colors, Some((depth_stencil, FORMAT)), 0);
        // Depth and stencil, seen by what passes. Row 1: depth by itself, row 2: stencil by itself, row 3: both; in each
        // the cell before is as it was.
        let by = |kind: ClearKind| Clear {
            kind: kind.raw(),
            depth_value: 0.75,
            stencil_value: 5,
            ..Clear::default()
        };
        for (cell, kind) in [(9, ClearKind::Depth), (17, ClearKind::Stencil), (25, ClearKind::DepthStencil)] {
            within(stage, cell);
            stage.clear_by(&by(kind))?;
        }
        // Row 4: masks keep depth and stencil.
        within(stage, 33);
        stage.tracker().render_state().depth_mask = 0;
        stage.tracker().render_state().stencil_front_write_mask = 2;
        stage.clear_by(&by(ClearKind::DepthStencil))?;
        stage.usual_render_state();
        stage.target_images(&colors[..1], Some((depth_stencil, FORMAT)), 0);
        // At window depth 0.5.
        cells(stage, DRAWN, &[0.0])?;
        let render = stage.tracker().render_state();
        (render.depth_test, render.depth_func, render.depth_mask) = (1, CompareOp::Less.raw(), 0);
        for at in [8, 9, 24, 25, 32, 33] {
            cell(stage, at, 0)?;
        }
        let render = stage.tracker().render_state();
        (render.depth_test, render.stencil_test) = (0, 1);
        for func in [&mut render.stencil_front_func, &mut render.stencil_back_func] {
            *func = CompareOp::Equal.raw();
        }
        for at in [(16, 5), (17, 5), (26, 5), (34, 3)] {
            let render = stage.tracker().render_state();
            (render.stencil_front_ref, render.stencil_back_ref) = (at.1, at.1);
            cell(stage, at.0, 0)?;
        }
        // What 25 and 33 have as stencil shows in their upper halves of rows 5 and 6: 5 and (5 & 2 | 3 & !2) = 1.
        for (at, reference) in [(25, 5), (33, 1)] {
            let render = stage.tracker().render_state();
            (render.stencil_front_ref, render.stencil_back_ref) = (reference, reference);
            render.color_masks = Default::default();
            for mask in &mut render.color_masks {
                mask.red = 1;
            }
            cells(stage, [255, 0, 0, 255], &[0.0])?;
            cell(stage, at, 0)?;
        }
        stage.show(images[0])
    }

    pub(in super::super::super) fn pixel(x: u32, y: u32) -> [u8; 4] {
        let [_, green, blue, _] = FIRST;
        match grid::of(x, y).0 {
            0 | 5 => FIRST,
            2 => [0, green, blue, 255],
            3 => SECOND,
            // In front of 0.75, and not of 0.25; a stencil of 5 and of 3.
            9 | 17 | 34 => DRAWN,
            25 => [255, DRAWN[1], DRAWN[2], 255],
            33 => [255, 0, 0, 255],
            _ => BLACK,
        }
    }
}
