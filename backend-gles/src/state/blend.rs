//! Blending and colour masks: for all draw buffers at once where they are alike.

use runahead_core::backend::Outcome;
use runahead_wire::{
    limits,
    payload::{BlendState, ColorMask, RenderState},
    values::{BlendFactor, BlendOp},
};

use glow::HasContext;

use super::valid;
use crate::gl::{Gl, gl};

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

/// Whether a factor is of a second source.
pub(super) fn is_dual(blend: &BlendState) -> bool {
    let dual = |factor: u32| factor >= BlendFactor::Src1Color as u32;
    dual(blend.src_rgb) || dual(blend.dst_rgb) || dual(blend.src_alpha) || dual(blend.dst_alpha)
}

/// Whether some of the first `count` are not alike.
pub(super) fn is_uneven<T: PartialEq>(values: &[T], count: usize) -> bool {
    values.get(..count).unwrap_or(values).windows(2).any(|pair| pair[0] != pair[1])
}

/// Blending as it is done: none with a logical operation (OpenGL 4.6 section 17.3.9), of which a copy is the one that
/// needs no more than that.
pub(super) fn effective(state: &RenderState) -> [BlendState; limits::COLOR_ATTACHMENTS] {
    let off = state.color_logic_op != 0;
    state.blend.map(|blend| if off { BlendState { enabled: 0, ..blend } } else { blend })
}

/// Sets what moved.
pub(super) fn apply(gl: &Gl, new: &RenderState, old: Option<&RenderState>) -> Outcome {
    let able = &gl.extended.able;
    let most = able.draw_buffers as usize;
    let wanted = effective(new);
    if old.is_none_or(|old| effective(old) != wanted) {
        if !is_uneven(&wanted, most) {
            set(gl, &wanted[0], None)?;
        } else if able.indexed_draw_buffers {
            for (buffer, blend) in (0..).zip(&wanted).take(most) {
                set(gl, blend, Some(buffer))?;
            }
        }
    }
    if old.is_none_or(|old| old.color_masks != new.color_masks) {
        let on = |mask: &ColorMask| [mask.red != 0, mask.green != 0, mask.blue != 0, mask.alpha != 0];
        if !is_uneven(&new.color_masks, most) {
            let [red, green, blue, alpha] = on(&new.color_masks[0]);
            gl!(gl, color_mask(red, green, blue, alpha));
        } else if able.indexed_draw_buffers {
            for (buffer, mask) in (0..).zip(&new.color_masks).take(most) {
                let [red, green, blue, alpha] = on(mask);
                gl!(gl, color_mask_draw_buffer(buffer, red, green, blue, alpha));
            }
        }
    }
    Ok(())
}

fn set(gl: &Gl, blend: &BlendState, buffer: Option<u32>) -> Outcome {
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
    let has = gl.extended.able.dual_source || !is_dual(blend);
    match buffer {
        None => {
            gl.switch(glow::BLEND, on);
            if has {
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
            if has {
                gl!(gl, blend_func_separate_draw_buffer(buffer, src_rgb, dst_rgb, src_alpha, dst_alpha));
            }
            if let (Some(rgb), Some(alpha)) = equations {
                gl!(gl, blend_equation_separate_draw_buffer(buffer, rgb, alpha));
            }
        }
    }
    Ok(())
}
