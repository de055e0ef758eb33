//! Samples: which of them are written. A cell is all or nothing, so that it does not matter how they are resolved.

use super::*;
use runahead_wire::{
    payload::Blit,
    pipe::Op,
    values::{ErrorKind, Filter},
};

pub(in super::super) mod sample_masks {
    use super::*;

    const SAMPLES: u16 = 4;
    const CLEAR: [u8; 4] = [0; 4];
    /// Opaque, and transparent.
    const SHADES: [[u8; 4]; 2] = [[0, 204, 102, 255], [0, 204, 102, 0]];
    /// Cells that are drawn whole.
    const WHOLE: [u32; 7] = [0, 1, 3, 4, 9, 12, 13];

    pub(in super::super::super) fn draw<P: Session>(stage: &mut Stage<'_, P>) -> Result<(), StageError> {
        stage.clear(color(CLEAR))?;
        let image = stage.renderbuffer(Format::Rgba8, SIDE, SIDE, SAMPLES)?;
        stage.target_images(&[rendered(image, Format::Rgba8)], None, SAMPLES);
        stage.clear(color(CLEAR))?;
        cells(stage, SHADES[0], &[0.0])?;
        // 0: no mask, though its value is none. 1: all. 2: none. 3: each half in turn.
        stage.tracker().render_state().sample_mask_value = 0;
        cell(stage, 0, 0)?;
        stage.tracker().render_state().sample_mask = 1;
        cell(stage, 2, 0)?;
        stage.tracker().render_state().sample_mask_value = u32::MAX;
        cell(stage, 1, 0)?;
        for half in [0b0101, !0b0101] {
            stage.tracker().render_state().sample_mask_value = half;
            cell(stage, 3, 0)?;
        }
        stage.tracker().render_state().sample_mask = 0;
        // 4 to 7: coverage of all, of all inverted, of none, of none inverted. In this order: 1, !1, 0, !0.
        stage.tracker().render_state().sample_coverage = 1;
        for (at, value, invert) in [(4, 1.0, 0), (5, 1.0, 1), (6, 0.0, 0), (9, 0.0, 1)] {
            let render = stage.tracker().render_state();
            (render.sample_coverage_value, render.sample_coverage_invert) = (value, invert);
            cell(stage, at, 0)?;
        }
        let render = stage.tracker().render_state();
        (render.sample_coverage, render.sample_coverage_value) = (0, 1.0);
        // Samples shaded on their own make no difference to a colour that is the same for all.
        let render = stage.tracker().render_state();
        (render.sample_shading, render.min_sample_shading) = (1, 1.0);
        cell(stage, 13, 0)?;
        stage.tracker().render_state().sample_shading = 0;
        // Alpha gives coverage: of everything, and of nothing.
        stage.tracker().render_state().sample_alpha_to_coverage = 1;
        cell(stage, 12, 0)?;
        cells(stage, SHADES[1], &[0.0])?;
        cell(stage, 14, 0)?;
        stage.tracker().render_state().sample_alpha_to_coverage = 0;
        // What needs an extension that is not there on this driver is refused where there are samples: either way
        // nothing is seen of it here.
        stage.tracker().render_state().color_masks = Default::default();
        stage.tracker().render_state().sample_alpha_to_one = 1;
        cell(stage, 15, 0)?;
        stage.failed(Op::DrawVbo, ErrorKind::InvalidOperation)?;
        let render = stage.tracker().render_state();
        (render.sample_alpha_to_one, render.multisample) = (0, 0);
        cell(stage, 15, 0)?;
        stage.failed(Op::DrawVbo, ErrorKind::InvalidOperation)?;
        let read_fbo = stage.tracker().wanted().draw_framebuffer;
        stage.target(Handle::NULL);
        stage.usual_render_state();
        let side = SIDE as i32;
        stage.blit(&Blit {
            read_fbo,
            src_x1: side,
            src_y1: side,
            dst_x1: side,
            dst_y1: side,
            mask: BufferMask::COLOR.raw(),
            filter: Filter::Nearest.raw(),
            ..Blit::default()
        })
    }

    pub(in super::super::super) fn pixel(x: u32, y: u32) -> [u8; 4] {
        if WHOLE.contains(&grid::of(x, y).0) { SHADES[0] } else { CLEAR }
    }
}
