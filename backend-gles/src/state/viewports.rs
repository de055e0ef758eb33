//! Viewports, scissor boxes and depth ranges: all sixteen where the driver has so many, otherwise the first, which is
//! then the only one that a shader can select.

use runahead_wire::{limits, payload::RenderState};

use glow::HasContext;

use crate::{
    extended::call,
    gl::{Gl, gl},
};

/// How many of the first ones hold all that moved.
fn moved<T: PartialEq>(new: &[T], old: Option<&[T]>) -> i32 {
    let last = match old {
        None => Some(new.len() - 1),
        Some(old) => new.iter().zip(old).rposition(|(new, old)| new != old),
    };
    last.map_or(0, |last| last as i32 + 1)
}

/// Sets what moved.
pub(super) fn apply(gl: &Gl, new: &RenderState, old: Option<&RenderState>) {
    let extended = &gl.extended;
    let viewports = moved(&new.viewports, old.map(|old| &old.viewports[..]));
    let boxes = moved(&new.scissor_boxes, old.map(|old| &old.scissor_boxes[..]));
    let ranges = moved(&new.depth_ranges, old.map(|old| &old.depth_ranges[..]));
    let switched = old.map_or(u32::MAX, |old| old.scissor_enable_mask ^ new.scissor_enable_mask);
    if let (Some(set), Some(set_boxes), Some(set_ranges), Some(enable), Some(disable)) = (
        extended.viewport_array,
        extended.scissor_array,
        extended.depth_range_array,
        extended.enable_viewport,
        extended.disable_viewport,
    ) {
        if viewports != 0 {
            call!(set, 0, viewports, new.viewports.as_ptr().cast());
        }
        if boxes != 0 {
            call!(set_boxes, 0, boxes, new.scissor_boxes.as_ptr().cast());
        }
        if ranges != 0 {
            call!(set_ranges, 0, ranges, new.depth_ranges.as_ptr().cast());
        }
        for at in (0..limits::VIEWPORTS as u32).filter(|at| switched >> at & 1 != 0) {
            let switch = if new.scissor_enable_mask >> at & 1 != 0 { enable } else { disable };
            call!(switch, glow::SCISSOR_TEST, at);
        }
        return;
    }
    if viewports != 0 {
        let [x, y, width, height] = {
            let first = new.viewports[0];
            [first.x, first.y, first.width, first.height].map(|side| side as i32)
        };
        gl!(gl, viewport(x, y, width, height));
    }
    if boxes != 0 {
        let first = new.scissor_boxes[0];
        gl!(gl, scissor(first.x, first.y, first.width, first.height));
    }
    if ranges != 0 {
        gl!(gl, depth_range_f32(new.depth_ranges[0].near, new.depth_ranges[0].far));
    }
    if switched & 1 != 0 {
        gl.switch(glow::SCISSOR_TEST, new.scissor_enable_mask & 1 != 0);
    }
}

/// Turns the scissor test of blits on or off, which is the first viewport's, and no other one.
pub(super) fn switch_first(gl: &Gl, on: bool) {
    match (gl.extended.enable_viewport, gl.extended.disable_viewport) {
        (Some(enable), Some(disable)) => {
            let switch = if on { enable } else { disable };
            call!(switch, glow::SCISSOR_TEST, 0);
        }
        _ => gl.switch(glow::SCISSOR_TEST, on),
    }
}
