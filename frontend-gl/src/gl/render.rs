//! State of rasterisation and of fragments.
//!
//! Source: OpenGL ES 2.0.25 sections 2.12, 3.3 to 3.5, 4.1 and 4.2. It is kept where the tracker has it; a command
//! that changes nothing marks nothing.

use runahead_wire::{
    payload::{ColorMask, DepthRange, RenderState},
    values::{BlendFactor, BlendOp, CompareOp, CullFace, FrontFace, StencilOp},
};

use super::{
    context::State,
    enums,
    error::{Error, Outcome},
    texture::size,
};

/// Changes a value of the render state where it is another one.
macro_rules! set {
    ($state:ident, $member:ident $([$at:literal])? $(.$part:ident)?, $value:expr) => {{
        let value = $value;
        if $state.render().$member $([$at])? $(.$part)? != value {
            $state.tracker.render_state().$member $([$at])? $(.$part)? = value;
        }
    }};
}

/// The comparison of a number.
const fn compare(number: u32) -> Outcome<CompareOp> {
    Ok(match number {
        enums::NEVER => CompareOp::Never,
        enums::LESS => CompareOp::Less,
        enums::EQUAL => CompareOp::Equal,
        enums::LEQUAL => CompareOp::LessEqual,
        enums::GREATER => CompareOp::Greater,
        enums::NOTEQUAL => CompareOp::NotEqual,
        enums::GEQUAL => CompareOp::GreaterEqual,
        enums::ALWAYS => CompareOp::Always,
        _ => return Err(Error::InvalidEnum),
    })
}

/// Numbers of [`CompareOp`], by its own.
pub(crate) const COMPARE: [u32; 8] = [
    enums::NEVER,
    enums::LESS,
    enums::EQUAL,
    enums::LEQUAL,
    enums::GREATER,
    enums::NOTEQUAL,
    enums::GEQUAL,
    enums::ALWAYS,
];

const fn stencil_op(number: u32) -> Outcome<StencilOp> {
    Ok(match number {
        enums::KEEP => StencilOp::Keep,
        enums::ZERO => StencilOp::Zero,
        enums::REPLACE => StencilOp::Replace,
        enums::INCR => StencilOp::IncrementClamp,
        enums::DECR => StencilOp::DecrementClamp,
        enums::INVERT => StencilOp::Invert,
        enums::INCR_WRAP => StencilOp::IncrementWrap,
        enums::DECR_WRAP => StencilOp::DecrementWrap,
        _ => return Err(Error::InvalidEnum),
    })
}

/// Numbers of [`StencilOp`], by its own.
pub(crate) const STENCIL_OPS: [u32; 8] = [
    enums::KEEP,
    enums::ZERO,
    enums::REPLACE,
    enums::INCR,
    enums::DECR,
    enums::INVERT,
    enums::INCR_WRAP,
    enums::DECR_WRAP,
];

/// Numbers of [`BlendFactor`], by its own.
pub(crate) const FACTORS: [u32; 15] = [
    enums::ZERO,
    enums::ONE,
    enums::SRC_COLOR,
    enums::ONE_MINUS_SRC_COLOR,
    enums::DST_COLOR,
    enums::ONE_MINUS_DST_COLOR,
    enums::SRC_ALPHA,
    enums::ONE_MINUS_SRC_ALPHA,
    enums::DST_ALPHA,
    enums::ONE_MINUS_DST_ALPHA,
    enums::CONSTANT_COLOR,
    enums::ONE_MINUS_CONSTANT_COLOR,
    enums::CONSTANT_ALPHA,
    enums::ONE_MINUS_CONSTANT_ALPHA,
    enums::SRC_ALPHA_SATURATE,
];

/// The factor of a number. The saturated one is for sources alone (table 4.2).
fn factor(number: u32, source: bool) -> Outcome<BlendFactor> {
    let at = FACTORS.iter().position(|factor| *factor == number).ok_or(Error::InvalidEnum)?;
    let factor = BlendFactor::from_raw(at as u32).ok_or(Error::InvalidEnum)?;
    if factor == BlendFactor::SrcAlphaSaturate && !source { Err(Error::InvalidEnum) } else { Ok(factor) }
}

/// Numbers of [`BlendOp`], by its own.
pub(crate) const EQUATIONS: [u32; 5] =
    [enums::FUNC_ADD, enums::FUNC_SUBTRACT, enums::FUNC_REVERSE_SUBTRACT, enums::MIN_EXT, enums::MAX_EXT];

/// Faces that a command is about.
#[derive(Clone, Copy)]
struct Faces {
    front: bool,
    back: bool,
}

const fn faces(number: u32) -> Outcome<Faces> {
    match number {
        enums::FRONT => Ok(Faces { front: true, back: false }),
        enums::BACK => Ok(Faces { front: false, back: true }),
        enums::FRONT_AND_BACK => Ok(Faces { front: true, back: true }),
        _ => Err(Error::InvalidEnum),
    }
}

/// Clamped to [0, 1]; what is no number becomes 0.
#[allow(clippy::manual_clamp, reason = "a clamp keeps what is no number")]
pub(crate) fn unit(value: f32) -> f32 {
    value.max(0.0).min(1.0)
}

/// A capability of `glEnable`.
#[derive(Clone, Copy)]
pub(crate) enum Capability {
    Blend,
    CullFace,
    DepthTest,
    Dither,
    PolygonOffsetFill,
    SampleAlphaToCoverage,
    SampleCoverage,
    ScissorTest,
    StencilTest,
}

/// The capability of a number.
pub(crate) const fn capability(number: u32) -> Outcome<Capability> {
    Ok(match number {
        enums::BLEND => Capability::Blend,
        enums::CULL_FACE => Capability::CullFace,
        enums::DEPTH_TEST => Capability::DepthTest,
        enums::DITHER => Capability::Dither,
        enums::POLYGON_OFFSET_FILL => Capability::PolygonOffsetFill,
        enums::SAMPLE_ALPHA_TO_COVERAGE => Capability::SampleAlphaToCoverage,
        enums::SAMPLE_COVERAGE => Capability::SampleCoverage,
        enums::SCISSOR_TEST => Capability::ScissorTest,
        enums::STENCIL_TEST => Capability::StencilTest,
        _ => return Err(Error::InvalidEnum),
    })
}

impl State {
    /// The render state.
    pub(crate) fn render(&self) -> &RenderState {
        &self.tracker.wanted().render
    }

    /// `glEnable` and `glDisable`.
    pub(crate) fn enable(&mut self, number: u32, on: bool) -> Outcome {
        let on = u8::from(on);
        match capability(number)? {
            Capability::Blend => set!(self, blend[0].enabled, u32::from(on)),
            Capability::CullFace => set!(self, cull_face, u32::from(on)),
            Capability::DepthTest => set!(self, depth_test, on),
            Capability::Dither => set!(self, dither, on),
            Capability::PolygonOffsetFill => set!(self, polygon_offset_fill, on),
            Capability::SampleAlphaToCoverage => set!(self, sample_alpha_to_coverage, on),
            Capability::SampleCoverage => set!(self, sample_coverage, on),
            Capability::ScissorTest => set!(self, scissor_enable_mask, u32::from(on)),
            Capability::StencilTest => set!(self, stencil_test, on),
        }
        Ok(())
    }

    /// `glIsEnabled`.
    pub(crate) fn is_enabled(&self, number: u32) -> Outcome<bool> {
        let render = self.render();
        Ok(match capability(number)? {
            Capability::Blend => render.blend[0].enabled != 0,
            Capability::CullFace => render.cull_face != 0,
            Capability::DepthTest => render.depth_test != 0,
            Capability::Dither => render.dither != 0,
            Capability::PolygonOffsetFill => render.polygon_offset_fill != 0,
            Capability::SampleAlphaToCoverage => render.sample_alpha_to_coverage != 0,
            Capability::SampleCoverage => render.sample_coverage != 0,
            Capability::ScissorTest => render.scissor_enable_mask & 1 != 0,
            Capability::StencilTest => render.stencil_test != 0,
        })
    }

    /// `glBlendColor`.
    pub(crate) fn blend_color(&mut self, color: [f32; 4]) -> Outcome {
        set!(self, blend_color, color.map(unit));
        Ok(())
    }

    /// `glBlendEquationSeparate`.
    pub(crate) fn blend_equation(&mut self, rgb: u32, alpha: u32) -> Outcome {
        let minmax = self.limits.has("GL_EXT_blend_minmax");
        let equation = |number: u32| {
            let at = EQUATIONS.iter().position(|equation| *equation == number);
            at.filter(|at| *at < 3 || minmax)
                .and_then(|at| BlendOp::from_raw(at as u32))
                .ok_or(Error::InvalidEnum)
        };
        let (rgb, alpha) = (equation(rgb)?.raw(), equation(alpha)?.raw());
        set!(self, blend[0].op_rgb, rgb);
        set!(self, blend[0].op_alpha, alpha);
        Ok(())
    }

    /// `glBlendFuncSeparate`.
    pub(crate) fn blend_func(
        &mut self,
        src_rgb: u32,
        dst_rgb: u32,
        src_alpha: u32,
        dst_alpha: u32,
    ) -> Outcome {
        let (src_rgb, dst_rgb) = (factor(src_rgb, true)?.raw(), factor(dst_rgb, false)?.raw());
        let (src_alpha, dst_alpha) = (factor(src_alpha, true)?.raw(), factor(dst_alpha, false)?.raw());
        set!(self, blend[0].src_rgb, src_rgb);
        set!(self, blend[0].dst_rgb, dst_rgb);
        set!(self, blend[0].src_alpha, src_alpha);
        set!(self, blend[0].dst_alpha, dst_alpha);
        Ok(())
    }

    /// `glClearColor`.
    pub(crate) fn clear_color(&mut self, color: [f32; 4]) -> Outcome {
        set!(self, clear_color, color.map(unit));
        Ok(())
    }

    /// `glClearDepthf`.
    pub(crate) fn clear_depth(&mut self, depth: f32) -> Outcome {
        set!(self, clear_depth, unit(depth));
        Ok(())
    }

    /// `glClearStencil`.
    pub(crate) fn clear_stencil(&mut self, stencil: i32) -> Outcome {
        set!(self, clear_stencil, stencil);
        Ok(())
    }

    /// `glColorMask`.
    pub(crate) fn color_mask(&mut self, [red, green, blue, alpha]: [bool; 4]) -> Outcome {
        let mask = ColorMask {
            red: u8::from(red),
            green: u8::from(green),
            blue: u8::from(blue),
            alpha: u8::from(alpha),
        };
        set!(self, color_masks[0], mask);
        Ok(())
    }

    /// `glCullFace`.
    pub(crate) fn cull_face(&mut self, mode: u32) -> Outcome {
        let mode = match mode {
            enums::FRONT => CullFace::Front,
            enums::BACK => CullFace::Back,
            enums::FRONT_AND_BACK => CullFace::FrontAndBack,
            _ => return Err(Error::InvalidEnum),
        };
        set!(self, cull_mode, mode.raw());
        Ok(())
    }

    /// `glDepthFunc`.
    pub(crate) fn depth_func(&mut self, func: u32) -> Outcome {
        let func = compare(func)?.raw();
        set!(self, depth_func, func);
        Ok(())
    }

    /// `glDepthMask`.
    pub(crate) fn depth_mask(&mut self, on: bool) -> Outcome {
        set!(self, depth_mask, u8::from(on));
        Ok(())
    }

    /// `glDepthRangef`.
    pub(crate) fn depth_range(&mut self, near: f32, far: f32) -> Outcome {
        set!(self, depth_ranges[0], DepthRange { near: unit(near), far: unit(far) });
        Ok(())
    }

    /// `glFrontFace`.
    pub(crate) fn front_face(&mut self, mode: u32) -> Outcome {
        let mode = match mode {
            enums::CW => FrontFace::Clockwise,
            enums::CCW => FrontFace::CounterClockwise,
            _ => return Err(Error::InvalidEnum),
        };
        set!(self, front_face, mode.raw());
        Ok(())
    }

    /// `glHint`.
    pub(crate) fn hint(&mut self, target: u32, mode: u32) -> Outcome {
        let place = match target {
            enums::GENERATE_MIPMAP_HINT => &mut self.generate_mipmap_hint,
            enums::FRAGMENT_SHADER_DERIVATIVE_HINT_OES if self.limits.has("GL_OES_standard_derivatives") => {
                &mut self.derivative_hint
            }
            _ => return Err(Error::InvalidEnum),
        };
        if !matches!(mode, enums::FASTEST | enums::NICEST | enums::DONT_CARE) {
            return Err(Error::InvalidEnum);
        }
        *place = mode;
        Ok(())
    }

    /// `glLineWidth`.
    pub(crate) fn line_width(&mut self, width: f32) -> Outcome {
        if width.is_nan() || width <= 0.0 {
            return Err(Error::InvalidValue);
        }
        set!(self, line_width, width);
        Ok(())
    }

    /// `glPolygonOffset`.
    pub(crate) fn polygon_offset(&mut self, factor: f32, units: f32) -> Outcome {
        set!(self, polygon_offset_factor, factor);
        set!(self, polygon_offset_units, units);
        Ok(())
    }

    /// `glSampleCoverage`.
    pub(crate) fn sample_coverage(&mut self, value: f32, invert: bool) -> Outcome {
        set!(self, sample_coverage_value, unit(value));
        set!(self, sample_coverage_invert, u8::from(invert));
        Ok(())
    }

    /// `glScissor`.
    pub(crate) fn scissor(&mut self, x: i32, y: i32, width: i32, height: i32) -> Outcome {
        size(width)?;
        size(height)?;
        let scissor = runahead_wire::payload::ScissorBox { x, y, width, height };
        set!(self, scissor_boxes[0], scissor);
        set!(self, scissor_written_mask, 1);
        Ok(())
    }

    /// `glViewport`. The size is clamped to what there can be (section 2.12.1).
    pub(crate) fn viewport(&mut self, x: i32, y: i32, width: i32, height: i32) -> Outcome {
        let [most_x, most_y] = self.limits.caps.max_viewport_dims;
        let (width, height) = (size(width)?.min(most_x), size(height)?.min(most_y));
        let viewport = runahead_wire::payload::Viewport {
            x: x as f32,
            y: y as f32,
            width: width as f32,
            height: height as f32,
        };
        set!(self, viewports[0], viewport);
        Ok(())
    }

    /// `glStencilFuncSeparate`.
    pub(crate) fn stencil_func(&mut self, face: u32, func: u32, reference: i32, mask: u32) -> Outcome {
        let faces = faces(face)?;
        let func = compare(func)?.raw();
        if faces.front {
            set!(self, stencil_front_func, func);
            set!(self, stencil_front_ref, reference);
            set!(self, stencil_front_value_mask, mask);
        }
        if faces.back {
            set!(self, stencil_back_func, func);
            set!(self, stencil_back_ref, reference);
            set!(self, stencil_back_value_mask, mask);
        }
        Ok(())
    }

    /// `glStencilMaskSeparate`.
    pub(crate) fn stencil_mask(&mut self, face: u32, mask: u32) -> Outcome {
        let faces = faces(face)?;
        if faces.front {
            set!(self, stencil_front_write_mask, mask);
        }
        if faces.back {
            set!(self, stencil_back_write_mask, mask);
        }
        Ok(())
    }

    /// `glStencilOpSeparate`.
    pub(crate) fn stencil_ops(&mut self, face: u32, fail: u32, depth_fail: u32, pass: u32) -> Outcome {
        let faces = faces(face)?;
        let (fail, depth_fail) = (stencil_op(fail)?.raw(), stencil_op(depth_fail)?.raw());
        let pass = stencil_op(pass)?.raw();
        if faces.front {
            set!(self, stencil_front_fail, fail);
            set!(self, stencil_front_depth_fail, depth_fail);
            set!(self, stencil_front_pass, pass);
        }
        if faces.back {
            set!(self, stencil_back_fail, fail);
            set!(self, stencil_back_depth_fail, depth_fail);
            set!(self, stencil_back_pass, pass);
        }
        Ok(())
    }

    /// `glPixelStorei`.
    pub(crate) fn pixel_store(&mut self, name: u32, value: i32) -> Outcome {
        let place = match name {
            enums::PACK_ALIGNMENT => &mut self.pixels.pack_alignment,
            enums::UNPACK_ALIGNMENT => &mut self.pixels.unpack_alignment,
            _ => return Err(Error::InvalidEnum),
        };
        if !matches!(value, 1 | 2 | 4 | 8) {
            return Err(Error::InvalidValue);
        }
        *place = value as u32;
        Ok(())
    }
}
