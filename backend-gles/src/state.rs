//! Render state: each field of it is set only when it moved.

use runahead_core::{backend::Outcome, bind_state::BindState, state::initial_render_state};
use runahead_wire::{
    payload::{FramebufferState, RenderState},
    values::{
        ClipDepthMode, ClipOrigin, CompareOp, CullFace, FrontFace, HintMode, PolygonMode, StencilOp, Topology,
    },
};

use glow::HasContext;

use crate::{
    extended::call,
    gl::{FAILED, Gl, gl},
};

mod blend;
mod lacks;
mod viewports;

use lacks::Lacks;

/// Numbers of extensions that `glow` has no name for: `GL_UPPER_LEFT`, `GL_NEGATIVE_ONE_TO_ONE` (EXT_clip_control) and
/// `GL_POLYGON_OFFSET_POINT_NV` (NV_polygon_mode).
const UPPER_LEFT: u32 = 0x8CA2;
const NEGATIVE_ONE_TO_ONE: u32 = 0x935E;
const POLYGON_OFFSET_POINT: u32 = 0x2A01;
/// Clip distances that there are at most.
const CLIP_DISTANCES: u32 = 8;

/// Render state as the native context has it.
#[derive(Debug)]
pub(crate) struct Render {
    /// Serials of the two halves that it is.
    pipeline: u64,
    dynamic: u64,
    /// Nothing was set yet.
    fresh: bool,
    state: RenderState,
    /// What it asks for and the driver does not have.
    lacks: Lacks,
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
            lacks: Lacks::default(),
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

/// The value of a checked member. The applier has checked the whole state.
fn valid<T>(value: Option<T>) -> Outcome<T> {
    value.ok_or(FAILED)
}

impl Render {
    /// Makes the native context's state that of the client's context.
    ///
    /// # Errors
    /// None that a checked state has.
    #[inline]
    pub(crate) fn sync(&mut self, gl: &Gl, bind: &BindState) -> Outcome {
        let serials = &bind.serials;
        if serials.pipeline_state != self.pipeline || serials.dynamic_state != self.dynamic {
            self.apply(gl, &bind.state.render)?;
            self.pipeline = serials.pipeline_state;
            self.dynamic = serials.dynamic_state;
        }
        Ok(())
    }

    /// Whether primitives of a kind can be drawn with this state to a framebuffer.
    ///
    /// # Errors
    /// The state asks for what this driver does not have.
    #[inline]
    pub(crate) fn allow_draw<'a>(
        &self,
        topology: Topology,
        target: impl FnOnce() -> &'a FramebufferState,
    ) -> Outcome {
        if self.lacks.nothing() { Ok(()) } else { self.lacks.allow_draw(topology, target()) }
    }

    /// Whether a framebuffer can be cleared, or written to by a blit, with this state.
    ///
    /// # Errors
    /// As [`Render::allow_draw`].
    pub(crate) fn allow_write<'a>(&self, target: impl FnOnce() -> &'a FramebufferState) -> Outcome {
        if self.lacks.nothing() { Ok(()) } else { self.lacks.allow_write(target()) }
    }

    /// Does what no scissor box may cut.
    pub(crate) fn uncut<T>(&self, gl: &Gl, whole: impl FnOnce() -> T) -> T {
        let cuts = self.state.scissor_enable_mask & 1 != 0;
        if cuts {
            viewports::switch_first(gl, false);
        }
        let done = whole();
        if cuts {
            viewports::switch_first(gl, true);
        }
        done
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
        self.lacks = Lacks::new(gl, new);
        let (extended, able) = (&gl.extended, &gl.extended.able);

        viewports::apply(gl, new, (!fresh).then_some(&old));
        if moved!(line_width) {
            gl!(gl, line_width(new.line_width));
        }
        if moved!(polygon_offset_factor, polygon_offset_units, polygon_offset_clamp) {
            let (factor, units, limit) =
                (new.polygon_offset_factor, new.polygon_offset_units, new.polygon_offset_clamp);
            match extended.polygon_offset_clamp {
                Some(set) => call!(set, factor, units, limit),
                None => gl!(gl, polygon_offset(factor, units)),
            }
        }
        switch!(polygon_offset_fill, glow::POLYGON_OFFSET_FILL);
        if let Some(set) = extended.polygon_mode {
            if moved!(polygon_mode_front) {
                let mode = match valid(new.polygon_mode_front())? {
                    PolygonMode::Fill => glow::FILL,
                    PolygonMode::Line => glow::LINE,
                    PolygonMode::Point => glow::POINT,
                };
                call!(set, glow::FRONT_AND_BACK, mode);
            }
            switch!(polygon_offset_line, glow::POLYGON_OFFSET_LINE);
            switch!(polygon_offset_point, POLYGON_OFFSET_POINT);
        }
        if moved!(clip_origin, clip_depth_mode)
            && let Some(set) = extended.clip_control
        {
            let origin = match valid(new.clip_origin())? {
                ClipOrigin::LowerLeft => glow::LOWER_LEFT,
                ClipOrigin::UpperLeft => UPPER_LEFT,
            };
            let depth = match valid(new.clip_depth_mode())? {
                ClipDepthMode::NegativeOneToOne => NEGATIVE_ONE_TO_ONE,
                ClipDepthMode::ZeroToOne => glow::ZERO_TO_ONE,
            };
            call!(set, origin, depth);
        }
        if able.depth_clamp {
            switch!(depth_clamp, glow::DEPTH_CLAMP);
        }
        if able.srgb_control {
            // On at first in OpenGL ES, and off in the state of a new context here.
            switch!(framebuffer_srgb, glow::FRAMEBUFFER_SRGB);
        }
        if able.clip_distances && moved!(clip_distance_mask) {
            let old = if fresh { !new.clip_distance_mask } else { old.clip_distance_mask };
            for distance in (0..CLIP_DISTANCES).filter(|at| (old ^ new.clip_distance_mask) >> at & 1 != 0) {
                gl.switch(glow::CLIP_DISTANCE0 + distance, new.clip_distance_mask >> distance & 1 != 0);
            }
        }

        blend::apply(gl, new, (!fresh).then_some(&old))?;
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
        if let Some(set) = extended.sample_mask {
            switch!(sample_mask, glow::SAMPLE_MASK);
            if moved!(sample_mask_value) {
                call!(set, 0, new.sample_mask_value);
            }
        }
        if let Some(set) = extended.min_sample_shading {
            switch!(sample_shading, glow::SAMPLE_SHADING);
            if moved!(min_sample_shading) {
                call!(set, new.min_sample_shading);
            }
        }
        if able.multisample_control {
            switch!(sample_alpha_to_one, glow::SAMPLE_ALPHA_TO_ONE);
            switch!(multisample, glow::MULTISAMPLE);
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

    /// Turns primitive restart at the largest index on or off.
    #[inline]
    pub(crate) fn set_restart(&mut self, gl: &Gl, on: bool) {
        if self.restart != on {
            gl.switch(glow::PRIMITIVE_RESTART_FIXED_INDEX, on);
            self.restart = on;
        }
    }
}
