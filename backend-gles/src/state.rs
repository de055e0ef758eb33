//! Render state: each field of it is set only when it moved.

use runahead_core::{backend::Outcome, bind_state::BindState, state::initial_render_state};
use runahead_wire::{
    payload::{BlendState, ColorMask, RenderState},
    values::{
        BlendFactor, BlendOp, ClipDepthMode, ClipOrigin, CompareOp, CullFace, FrontFace, HintMode,
        PolygonMode, StencilOp,
    },
};

use glow::HasContext;

use crate::gl::{FAILED, Gl, UNSUPPORTED, gl};

/// Render state as the native context has it.
#[derive(Debug)]
pub(crate) struct Render {
    /// Serials of the two halves that it is.
    pipeline: u64,
    dynamic: u64,
    /// Nothing was set yet.
    fresh: bool,
    state: RenderState,
    /// It asks for what OpenGL ES does not have, so nothing may be drawn with it.
    unsupported: bool,
    /// The restart that a draw turned on.
    pub(crate) restart: bool,
}

impl Default for Render {
    fn default() -> Self {
        Self {
            pipeline: u64::MAX,
            dynamic: u64::MAX,
            fresh: true,
            state: initial_render_state(),
            unsupported: false,
            restart: false,
        }
    }
}

const fn compare(op: CompareOp) -> u32 {
    glow::NEVER + op as u32
}

const fn stencil(op: StencilOp) -> u32 {
    match op {
        StencilOp::Keep => glow::KEEP,
        StencilOp::Zero => glow::ZERO,
        StencilOp::Replace => glow::REPLACE,
        StencilOp::IncrementClamp => glow::INCR,
        StencilOp::DecrementClamp => glow::DECR,
        StencilOp::Invert => glow::INVERT,
        StencilOp::IncrementWrap => glow::INCR_WRAP,
        StencilOp::DecrementWrap => glow::DECR_WRAP,
    }
}

const fn factor(factor: BlendFactor) -> u32 {
    match factor {
        BlendFactor::Zero => glow::ZERO,
        BlendFactor::One => glow::ONE,
        BlendFactor::SrcColor => glow::SRC_COLOR,
        BlendFactor::OneMinusSrcColor => glow::ONE_MINUS_SRC_COLOR,
        BlendFactor::DstColor => glow::DST_COLOR,
        BlendFactor::OneMinusDstColor => glow::ONE_MINUS_DST_COLOR,
        BlendFactor::SrcAlpha => glow::SRC_ALPHA,
        BlendFactor::OneMinusSrcAlpha => glow::ONE_MINUS_SRC_ALPHA,
        BlendFactor::DstAlpha => glow::DST_ALPHA,
        BlendFactor::OneMinusDstAlpha => glow::ONE_MINUS_DST_ALPHA,
        BlendFactor::ConstantColor => glow::CONSTANT_COLOR,
        BlendFactor::OneMinusConstantColor => glow::ONE_MINUS_CONSTANT_COLOR,
        BlendFactor::ConstantAlpha => glow::CONSTANT_ALPHA,
        BlendFactor::OneMinusConstantAlpha => glow::ONE_MINUS_CONSTANT_ALPHA,
        BlendFactor::SrcAlphaSaturate => glow::SRC_ALPHA_SATURATE,
        BlendFactor::Src1Color => glow::SRC1_COLOR,
        BlendFactor::OneMinusSrc1Color => glow::ONE_MINUS_SRC1_COLOR,
        BlendFactor::Src1Alpha => glow::SRC1_ALPHA,
        BlendFactor::OneMinusSrc1Alpha => glow::ONE_MINUS_SRC1_ALPHA,
    }
}

/// The equation; nothing for an advanced one, which stands for colour and alpha together.
const fn equation(op: BlendOp) -> Option<u32> {
    match op {
        BlendOp::Add => Some(glow::FUNC_ADD),
        BlendOp::Subtract => Some(glow::FUNC_SUBTRACT),
        BlendOp::ReverseSubtract => Some(glow::FUNC_REVERSE_SUBTRACT),
        BlendOp::Min => Some(glow::MIN),
        BlendOp::Max => Some(glow::MAX),
        _ => None,
    }
}

/// Sources that only `EXT_blend_func_extended` has.
fn dual_source(blend: &BlendState) -> bool {
    let dual = |factor: u32| factor >= BlendFactor::Src1Color as u32;
    dual(blend.src_rgb) || dual(blend.dst_rgb) || dual(blend.src_alpha) || dual(blend.dst_alpha)
}

/// Whether a state asks for what this backend does not do. Fields that OpenGL ES lacks are looked at where they
/// would change an image.
fn is_unsupported(gl: &Gl, state: &RenderState) -> bool {
    let indexed = gl.version >= 32;
    let blends = state.blend.iter().any(|blend| {
        blend.enabled != 0
            && (dual_source(blend)
                || blend.op_rgb > BlendOp::Max as u32
                || blend.op_alpha > BlendOp::Max as u32)
    });
    state.color_logic_op != 0
        || state.polygon_mode_front != PolygonMode::Fill as u32
        || state.polygon_mode_back != PolygonMode::Fill as u32
        || state.clip_origin != ClipOrigin::LowerLeft as u32
        || state.clip_depth_mode != ClipDepthMode::NegativeOneToOne as u32
        || state.depth_clamp != 0
        || state.framebuffer_srgb != 0
        || state.clip_distance_mask != 0
        || state.sample_alpha_to_one != 0
        || state.line_smooth != 0
        || state.polygon_smooth != 0
        || state.polygon_offset_line != 0
        || state.polygon_offset_point != 0
        || state.polygon_offset_clamp != 0.0
        || state.scissor_enable_mask > 1
        || state.sample_mask != 0
        || state.sample_shading != 0
        || blends
        || !indexed && (uneven(&state.blend) || uneven(&state.color_masks))
}

fn uneven<T: PartialEq>(values: &[T]) -> bool {
    values.windows(2).any(|pair| pair[0] != pair[1])
}

/// The value of a checked member. The applier has checked the whole state.
fn valid<T>(value: Option<T>) -> Outcome<T> {
    value.ok_or(FAILED)
}

impl Render {
    /// Makes the native context's state that of the client's context.
    ///
    /// # Errors
    /// The state asks for what OpenGL ES does not have.
    #[inline]
    pub(crate) fn sync(&mut self, gl: &Gl, bind: &BindState) -> Outcome {
        let serials = &bind.serials;
        if serials.pipeline_state != self.pipeline || serials.dynamic_state != self.dynamic {
            self.apply(gl, &bind.state.render)?;
            self.pipeline = serials.pipeline_state;
            self.dynamic = serials.dynamic_state;
        }
        if self.unsupported { Err(UNSUPPORTED) } else { Ok(()) }
    }

    #[cold]
    #[inline(never)]
    fn apply(&mut self, gl: &Gl, new: &RenderState) -> Outcome {
        let fresh = std::mem::take(&mut self.fresh);
        let old = std::mem::replace(&mut self.state, *new);
        macro_rules! moved {
            ($($field:ident),+) => { fresh $(|| new.$field != old.$field)+ };
        }
        macro_rules! switch {
            ($field:ident, $capability:expr) => {
                if moved!($field) {
                    gl.switch($capability, new.$field != 0);
                }
            };
        }
        self.unsupported = is_unsupported(gl, new);

        if fresh || new.viewports[0] != old.viewports[0] {
            let viewport = new.viewports[0];
            gl!(
                gl,
                viewport(viewport.x as i32, viewport.y as i32, viewport.width as i32, viewport.height as i32)
            );
        }
        if fresh || new.scissor_boxes[0] != old.scissor_boxes[0] {
            let scissor = new.scissor_boxes[0];
            gl!(gl, scissor(scissor.x, scissor.y, scissor.width, scissor.height));
        }
        switch!(scissor_enable_mask, glow::SCISSOR_TEST);
        if fresh || new.depth_ranges[0] != old.depth_ranges[0] {
            gl!(gl, depth_range_f32(new.depth_ranges[0].near, new.depth_ranges[0].far));
        }
        if moved!(line_width) {
            gl!(gl, line_width(new.line_width));
        }
        if moved!(polygon_offset_factor, polygon_offset_units) {
            gl!(gl, polygon_offset(new.polygon_offset_factor, new.polygon_offset_units));
        }
        switch!(polygon_offset_fill, glow::POLYGON_OFFSET_FILL);

        self.blend(gl, new, (!fresh).then_some(&old))?;
        if moved!(blend_color) {
            let [red, green, blue, alpha] = new.blend_color;
            gl!(gl, blend_color(red, green, blue, alpha));
        }

        switch!(depth_test, glow::DEPTH_TEST);
        if moved!(depth_func) {
            gl!(gl, depth_func(compare(valid(new.depth_func())?)));
        }
        if moved!(depth_mask) {
            gl!(gl, depth_mask(new.depth_mask != 0));
        }
        if moved!(clear_color) {
            let [red, green, blue, alpha] = new.clear_color;
            gl!(gl, clear_color(red, green, blue, alpha));
        }
        if moved!(clear_depth) {
            gl!(gl, clear_depth_f32(new.clear_depth));
        }
        if moved!(clear_stencil) {
            gl!(gl, clear_stencil(new.clear_stencil));
        }

        switch!(stencil_test, glow::STENCIL_TEST);
        if moved!(stencil_front_func, stencil_front_ref, stencil_front_value_mask) {
            let function = compare(valid(new.stencil_front_func())?);
            gl!(
                gl,
                stencil_func_separate(
                    glow::FRONT,
                    function,
                    new.stencil_front_ref,
                    new.stencil_front_value_mask
                )
            );
        }
        if moved!(stencil_back_func, stencil_back_ref, stencil_back_value_mask) {
            let function = compare(valid(new.stencil_back_func())?);
            gl!(
                gl,
                stencil_func_separate(
                    glow::BACK,
                    function,
                    new.stencil_back_ref,
                    new.stencil_back_value_mask
                )
            );
        }
        if moved!(stencil_front_write_mask) {
            gl!(gl, stencil_mask_separate(glow::FRONT, new.stencil_front_write_mask));
        }
        if moved!(stencil_back_write_mask) {
            gl!(gl, stencil_mask_separate(glow::BACK, new.stencil_back_write_mask));
        }
        if moved!(stencil_front_fail, stencil_front_depth_fail, stencil_front_pass) {
            let (fail, depth_fail, pass) = (
                stencil(valid(new.stencil_front_fail())?),
                stencil(valid(new.stencil_front_depth_fail())?),
                stencil(valid(new.stencil_front_pass())?),
            );
            gl!(gl, stencil_op_separate(glow::FRONT, fail, depth_fail, pass));
        }
        if moved!(stencil_back_fail, stencil_back_depth_fail, stencil_back_pass) {
            let (fail, depth_fail, pass) = (
                stencil(valid(new.stencil_back_fail())?),
                stencil(valid(new.stencil_back_depth_fail())?),
                stencil(valid(new.stencil_back_pass())?),
            );
            gl!(gl, stencil_op_separate(glow::BACK, fail, depth_fail, pass));
        }

        switch!(cull_face, glow::CULL_FACE);
        if moved!(cull_mode) {
            let faces = match valid(new.cull_mode())? {
                CullFace::Front => glow::FRONT,
                CullFace::Back => glow::BACK,
                CullFace::FrontAndBack => glow::FRONT_AND_BACK,
            };
            gl!(gl, cull_face(faces));
        }
        if moved!(front_face) {
            let winding = match valid(new.front_face())? {
                FrontFace::CounterClockwise => glow::CCW,
                FrontFace::Clockwise => glow::CW,
            };
            gl!(gl, front_face(winding));
        }

        switch!(sample_alpha_to_coverage, glow::SAMPLE_ALPHA_TO_COVERAGE);
        switch!(sample_coverage, glow::SAMPLE_COVERAGE);
        if moved!(sample_coverage_value, sample_coverage_invert) {
            gl!(gl, sample_coverage(new.sample_coverage_value, new.sample_coverage_invert != 0));
        }
        switch!(rasterizer_discard, glow::RASTERIZER_DISCARD);
        switch!(dither, glow::DITHER);
        if moved!(hint_fragment_shader_derivative) {
            let mode = match valid(new.hint_fragment_shader_derivative())? {
                HintMode::DontCare => glow::DONT_CARE,
                HintMode::Fastest => glow::FASTEST,
                HintMode::Nicest => glow::NICEST,
            };
            gl!(gl, hint(glow::FRAGMENT_SHADER_DERIVATIVE_HINT, mode));
        }
        Ok(())
    }

    /// Blending and colour masks: for all draw buffers at once where they are alike.
    fn blend(&self, gl: &Gl, new: &RenderState, old: Option<&RenderState>) -> Outcome {
        if old.is_none_or(|old| old.blend != new.blend) {
            if !uneven(&new.blend) {
                set_blend(gl, &new.blend[0], None)?;
            } else if gl.version >= 32 {
                for (buffer, blend) in (0..).zip(&new.blend) {
                    set_blend(gl, blend, Some(buffer))?;
                }
            }
        }
        if old.is_none_or(|old| old.color_masks != new.color_masks) {
            let on = |mask: &ColorMask| [mask.red != 0, mask.green != 0, mask.blue != 0, mask.alpha != 0];
            if !uneven(&new.color_masks) {
                let [red, green, blue, alpha] = on(&new.color_masks[0]);
                gl!(gl, color_mask(red, green, blue, alpha));
            } else if gl.version >= 32 {
                for (buffer, mask) in (0..).zip(&new.color_masks) {
                    let [red, green, blue, alpha] = on(mask);
                    gl!(gl, color_mask_draw_buffer(buffer, red, green, blue, alpha));
                }
            }
        }
        Ok(())
    }

    /// Turns primitive restart at the largest index on or off.
    #[inline]
    pub(crate) fn set_restart(&mut self, gl: &Gl, on: bool) {
        if self.restart != on {
            gl.switch(glow::PRIMITIVE_RESTART_FIXED_INDEX, on);
            self.restart = on;
        }
    }
}

fn set_blend(gl: &Gl, blend: &BlendState, buffer: Option<u32>) -> Outcome {
    let on = blend.enabled != 0;
    let factors = [
        factor(valid(blend.src_rgb())?),
        factor(valid(blend.dst_rgb())?),
        factor(valid(blend.src_alpha())?),
        factor(valid(blend.dst_alpha())?),
    ];
    let equations = (equation(valid(blend.op_rgb())?), equation(valid(blend.op_alpha())?));
    let [src_rgb, dst_rgb, src_alpha, dst_alpha] = factors;
    // What the driver lacks is not set; a draw with it is refused.
    let plain = !dual_source(blend);
    match buffer {
        None => {
            gl.switch(glow::BLEND, on);
            if plain {
                gl!(gl, blend_func_separate(src_rgb, dst_rgb, src_alpha, dst_alpha));
            }
            if let (Some(rgb), Some(alpha)) = equations {
                gl!(gl, blend_equation_separate(rgb, alpha));
            }
        }
        Some(buffer) => {
            if on {
                gl!(gl, enable_draw_buffer(glow::BLEND, buffer));
            } else {
                gl!(gl, disable_draw_buffer(glow::BLEND, buffer));
            }
            if plain {
                gl!(gl, blend_func_separate_draw_buffer(buffer, src_rgb, dst_rgb, src_alpha, dst_alpha));
            }
            if let (Some(rgb), Some(alpha)) = equations {
                gl!(gl, blend_equation_separate_draw_buffer(buffer, rgb, alpha));
            }
        }
    }
    Ok(())
}
