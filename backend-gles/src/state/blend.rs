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
    let (wanted, before) = (effective(new), old.map(effective));
    if before != Some(wanted) {
        if !is_uneven(&wanted, most) {
            // What the buffers have is known by the first one's where they were alike.
            let before = before.as_ref().filter(|before| !is_uneven(&before[..], most));
            set(gl, &wanted[0], before.map(|before| &before[0]), None)?;
        } else if able.indexed_draw_buffers {
            for (at, blend) in wanted.iter().enumerate().take(most) {
                let before = before.as_ref().and_then(|before| before.get(at));
                set(gl, blend, before, Some(at as u32))?;
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

/// Sets what moved of one buffer's blending, or of all buffers'.
fn set(gl: &Gl, blend: &BlendState, old: Option<&BlendState>, buffer: Option<u32>) -> Outcome {
    let factors = |blend: &BlendState| [blend.src_rgb, blend.dst_rgb, blend.src_alpha, blend.dst_alpha];
    let equations = |blend: &BlendState| [blend.op_rgb, blend.op_alpha];
    let on = blend.enabled != 0;
    if old.is_none_or(|old| (old.enabled != 0) != on) {
        match buffer {
            None => gl.switch(glow::BLEND, on),
            Some(buffer) if on => gl!(gl, enable_draw_buffer(glow::BLEND, buffer)),
            Some(buffer) => gl!(gl, disable_draw_buffer(glow::BLEND, buffer)),
        }
    }
    // What the driver lacks is not set; a draw with it is refused.
    let has = gl.extended.able.dual_source || !is_dual(blend);
    if has && old.is_none_or(|old| factors(old) != factors(blend)) {
        let (src_rgb, dst_rgb) = (factor(valid(blend.src_rgb())?), factor(valid(blend.dst_rgb())?));
        let (src_alpha, dst_alpha) = (factor(valid(blend.src_alpha())?), factor(valid(blend.dst_alpha())?));
        match buffer {
            None => gl!(gl, blend_func_separate(src_rgb, dst_rgb, src_alpha, dst_alpha)),
            Some(buffer) => {
                gl!(gl, blend_func_separate_draw_buffer(buffer, src_rgb, dst_rgb, src_alpha, dst_alpha));
            }
        }
    }
    if old.is_none_or(|old| equations(old) != equations(blend))
        && let (Some(rgb), Some(alpha)) =
            (equation(valid(blend.op_rgb())?), equation(valid(blend.op_alpha())?))
    {
        match buffer {
            None => gl!(gl, blend_equation_separate(rgb, alpha)),
            Some(buffer) => gl!(gl, blend_equation_separate_draw_buffer(buffer, rgb, alpha)),
        }
    }
    Ok(())
}
