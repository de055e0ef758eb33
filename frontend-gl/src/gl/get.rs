//! Queries of state, answered here.
//!
//! Source: OpenGL ES 2.0.25 chapter 6. Every value has one form; what it is asked as decides the conversion (section
//! 6.1.2).

use super::{
    context::{Objects, State},
    enums,
    error::{Error, Outcome},
    render::{COMPARE, EQUATIONS, FACTORS, STENCIL_OPS},
    texture::Target,
};

/// Values of one name, in the form that they are kept in.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Values {
    Truths(Vec<bool>),
    Integers(Vec<i64>),
    Floats(Vec<f32>),
    /// Colours and depths: as integers they cover the whole range (section 6.1.2).
    Normalized(Vec<f32>),
}

/// To the nearest integer that there is.
fn round(value: f32) -> i32 {
    value.round() as i32
}

impl Values {
    /// As `glGetIntegerv` answers.
    pub(crate) fn integers(&self) -> Vec<u32> {
        match self {
            Self::Truths(truths) => truths.iter().map(|truth| u32::from(*truth)).collect(),
            Self::Integers(integers) => integers.iter().map(|integer| *integer as u32).collect(),
            Self::Floats(floats) => floats.iter().map(|float| round(*float) as u32).collect(),
            Self::Normalized(floats) => {
                let whole = |float: &f32| (f64::from(*float) * f64::from(i32::MAX)).round() as i32;
                floats.iter().map(|float| whole(float) as u32).collect()
            }
        }
    }

    /// As `glGetFloatv` answers.
    pub(crate) fn floats(&self) -> Vec<f32> {
        match self {
            Self::Truths(truths) => truths.iter().map(|truth| f32::from(u8::from(*truth))).collect(),
            Self::Integers(integers) => integers.iter().map(|integer| *integer as f32).collect(),
            Self::Floats(floats) | Self::Normalized(floats) => floats.clone(),
        }
    }

    /// As `glGetBooleanv` answers.
    pub(crate) fn truths(&self) -> Vec<u8> {
        match self {
            Self::Truths(truths) => truths.iter().map(|truth| u8::from(*truth)).collect(),
            Self::Integers(integers) => integers.iter().map(|integer| u8::from(*integer != 0)).collect(),
            Self::Floats(floats) | Self::Normalized(floats) => {
                floats.iter().map(|float| u8::from(*float != 0.0)).collect()
            }
        }
    }
}

fn number(value: u32) -> Values {
    Values::Integers(vec![i64::from(value)])
}

fn signed(value: i32) -> Values {
    Values::Integers(vec![i64::from(value)])
}

fn of(table: &[u32], at: u32) -> Values {
    number(table.get(at as usize).copied().unwrap_or(0))
}

impl State {
    /// `glGet*`.
    pub(crate) fn get(&mut self, objects: &Objects, name: u32) -> Outcome<Values> {
        use Values::{Floats, Integers, Normalized, Truths};
        if let Ok(on) = self.is_enabled(name) {
            return Ok(Truths(vec![on]));
        }
        let bits = self.framebuffer_bits(objects);
        let render = &self.tracker.wanted().render;
        let (limits, caps) = (&self.limits, &self.limits.caps);
        let blend = &render.blend[0];
        let texture = |target: Target| {
            let unit = self.units.get(self.active_unit);
            let bound = unit.and_then(|unit| unit.bound.get(target as usize).copied().flatten());
            number(bound.map_or(0, |id| objects.textures.name(id)))
        };
        Ok(match name {
            enums::ACTIVE_TEXTURE => number(enums::TEXTURE0 + self.active_unit as u32),
            enums::ALIASED_LINE_WIDTH_RANGE => Floats(caps.aliased_line_width_range.to_vec()),
            enums::ALIASED_POINT_SIZE_RANGE => Floats(caps.point_size_range.to_vec()),
            enums::RED_BITS => signed(bits[0]),
            enums::GREEN_BITS => signed(bits[1]),
            enums::BLUE_BITS => signed(bits[2]),
            enums::ALPHA_BITS => signed(bits[3]),
            enums::DEPTH_BITS => signed(bits[4]),
            enums::STENCIL_BITS => signed(bits[5]),
            enums::ARRAY_BUFFER_BINDING => number(self.array_buffer.map_or(0, |id| objects.buffers.name(id))),
            enums::ELEMENT_ARRAY_BUFFER_BINDING => {
                let bound = self.current_arrays().element_buffer;
                number(bound.map_or(0, |id| objects.buffers.name(id)))
            }
            enums::VERTEX_ARRAY_BINDING_OES => {
                number(self.vertex_array.map_or(0, |id| self.vertex_arrays.name(id)))
            }
            enums::BLEND_COLOR => Normalized(render.blend_color.to_vec()),
            enums::BLEND_SRC_RGB => of(&FACTORS, blend.src_rgb),
            enums::BLEND_DST_RGB => of(&FACTORS, blend.dst_rgb),
            enums::BLEND_SRC_ALPHA => of(&FACTORS, blend.src_alpha),
            enums::BLEND_DST_ALPHA => of(&FACTORS, blend.dst_alpha),
            enums::BLEND_EQUATION_RGB => of(&EQUATIONS, blend.op_rgb),
            enums::BLEND_EQUATION_ALPHA => of(&EQUATIONS, blend.op_alpha),
            enums::COLOR_CLEAR_VALUE => Normalized(render.clear_color.to_vec()),
            enums::COLOR_WRITEMASK => {
                let mask = render.color_masks[0];
                Truths([mask.red, mask.green, mask.blue, mask.alpha].map(|on| on != 0).to_vec())
            }
            enums::COMPRESSED_TEXTURE_FORMATS => {
                Integers(limits.compressed().map(|(number, _)| i64::from(number)).collect())
            }
            enums::NUM_COMPRESSED_TEXTURE_FORMATS => number(limits.compressed().count() as u32),
            enums::CULL_FACE_MODE => {
                of(&[enums::FRONT, enums::BACK, enums::FRONT_AND_BACK], render.cull_mode)
            }
            enums::CURRENT_PROGRAM => number(self.program.map_or(0, |id| objects.code.name(id))),
            enums::DEPTH_CLEAR_VALUE => Normalized(vec![render.clear_depth]),
            enums::DEPTH_FUNC => of(&COMPARE, render.depth_func),
            enums::DEPTH_RANGE => {
                let range = render.depth_ranges[0];
                Normalized(vec![range.near, range.far])
            }
            enums::DEPTH_WRITEMASK => Truths(vec![render.depth_mask != 0]),
            enums::FRAMEBUFFER_BINDING => number(self.framebuffer.map_or(0, |id| self.framebuffers.name(id))),
            enums::FRONT_FACE => of(&[enums::CCW, enums::CW], render.front_face),
            enums::GENERATE_MIPMAP_HINT => number(self.generate_mipmap_hint),
            enums::FRAGMENT_SHADER_DERIVATIVE_HINT_OES if limits.has("GL_OES_standard_derivatives") => {
                number(self.derivative_hint)
            }
            enums::IMPLEMENTATION_COLOR_READ_FORMAT => number(enums::RGBA),
            enums::IMPLEMENTATION_COLOR_READ_TYPE => number(enums::UNSIGNED_BYTE),
            enums::LINE_WIDTH => Floats(vec![render.line_width]),
            enums::MAX_COMBINED_TEXTURE_IMAGE_UNITS => number(limits.units),
            enums::MAX_CUBE_MAP_TEXTURE_SIZE => number(limits.cube_size),
            enums::MAX_FRAGMENT_UNIFORM_VECTORS => number(limits.fragment_uniform_vectors),
            enums::MAX_RENDERBUFFER_SIZE => number(limits.renderbuffer_size),
            enums::MAX_TEXTURE_IMAGE_UNITS => number(limits.fragment_units),
            enums::MAX_TEXTURE_SIZE => number(limits.texture_size),
            enums::MAX_TEXTURE_MAX_ANISOTROPY_EXT if limits.has("GL_EXT_texture_filter_anisotropic") => {
                Floats(vec![caps.max_texture_max_anisotropy])
            }
            enums::MAX_VARYING_VECTORS => number(limits.varying_vectors),
            enums::MAX_VERTEX_ATTRIBS => number(limits.attributes),
            enums::MAX_VERTEX_TEXTURE_IMAGE_UNITS => number(limits.vertex_units),
            enums::MAX_VERTEX_UNIFORM_VECTORS => number(limits.vertex_uniform_vectors),
            enums::MAX_VIEWPORT_DIMS => {
                Integers(caps.max_viewport_dims.map(|size| i64::from(size.min(i32::MAX as u32))).to_vec())
            }
            enums::NUM_SHADER_BINARY_FORMATS => number(0),
            enums::SHADER_BINARY_FORMATS => Integers(Vec::new()),
            enums::SHADER_COMPILER => Truths(vec![true]),
            enums::PACK_ALIGNMENT => number(self.pixels.pack_alignment),
            enums::UNPACK_ALIGNMENT => number(self.pixels.unpack_alignment),
            enums::POLYGON_OFFSET_FACTOR => Floats(vec![render.polygon_offset_factor]),
            enums::POLYGON_OFFSET_UNITS => Floats(vec![render.polygon_offset_units]),
            enums::RENDERBUFFER_BINDING => {
                number(self.renderbuffer.map_or(0, |id| objects.renderbuffers.name(id)))
            }
            enums::SAMPLE_BUFFERS => signed(i32::from(self.samples(objects) > 1)),
            enums::SAMPLES => {
                let samples = self.samples(objects);
                signed(if samples > 1 { i32::from(samples) } else { 0 })
            }
            enums::SAMPLE_COVERAGE_INVERT => Truths(vec![render.sample_coverage_invert != 0]),
            enums::SAMPLE_COVERAGE_VALUE => Floats(vec![render.sample_coverage_value]),
            enums::SCISSOR_BOX => {
                let scissor = render.scissor_boxes[0];
                Integers([scissor.x, scissor.y, scissor.width, scissor.height].map(i64::from).to_vec())
            }
            enums::STENCIL_CLEAR_VALUE => signed(render.clear_stencil),
            enums::STENCIL_FUNC => of(&COMPARE, render.stencil_front_func),
            enums::STENCIL_BACK_FUNC => of(&COMPARE, render.stencil_back_func),
            enums::STENCIL_REF => signed(self.reference(bits[5], render.stencil_front_ref)),
            enums::STENCIL_BACK_REF => signed(self.reference(bits[5], render.stencil_back_ref)),
            enums::STENCIL_VALUE_MASK => number(render.stencil_front_value_mask),
            enums::STENCIL_BACK_VALUE_MASK => number(render.stencil_back_value_mask),
            enums::STENCIL_WRITEMASK => number(render.stencil_front_write_mask),
            enums::STENCIL_BACK_WRITEMASK => number(render.stencil_back_write_mask),
            enums::STENCIL_FAIL => of(&STENCIL_OPS, render.stencil_front_fail),
            enums::STENCIL_BACK_FAIL => of(&STENCIL_OPS, render.stencil_back_fail),
            enums::STENCIL_PASS_DEPTH_FAIL => of(&STENCIL_OPS, render.stencil_front_depth_fail),
            enums::STENCIL_BACK_PASS_DEPTH_FAIL => of(&STENCIL_OPS, render.stencil_back_depth_fail),
            enums::STENCIL_PASS_DEPTH_PASS => of(&STENCIL_OPS, render.stencil_front_pass),
            enums::STENCIL_BACK_PASS_DEPTH_PASS => of(&STENCIL_OPS, render.stencil_back_pass),
            enums::SUBPIXEL_BITS => number(caps.subpixel_bits),
            enums::TEXTURE_BINDING_2D => texture(Target::Texture2D),
            enums::TEXTURE_BINDING_CUBE_MAP => texture(Target::CubeMap),
            enums::VIEWPORT => {
                let viewport = render.viewports[0];
                let sides = [viewport.x, viewport.y, viewport.width, viewport.height];
                Integers(sides.map(|side| side as i64).to_vec())
            }
            _ => return Err(Error::InvalidEnum),
        })
    }

    /// A reference value, clamped to what the stencil buffer holds (section 4.1.4).
    fn reference(&self, bits: i32, reference: i32) -> i32 {
        let most = 1_i32.checked_shl(bits.unsigned_abs()).map_or(i32::MAX, |values| values - 1);
        reference.clamp(0, most)
    }

    fn samples(&self, _: &Objects) -> u8 {
        match self.framebuffer {
            None => self.draw_surface.as_ref().map_or(0, |surface| surface.samples),
            Some(_) => 0,
        }
    }

    /// `glGetShaderPrecisionFormat`: smallest and largest exponent, and bits of precision (section 6.1.8).
    pub(crate) fn precision(&self, shader: u32, precision: u32) -> Outcome<([i32; 2], i32)> {
        if !matches!(shader, enums::VERTEX_SHADER | enums::FRAGMENT_SHADER) {
            return Err(Error::InvalidEnum);
        }
        // Single floats and 32-bit integers, whatever a shader asks for: a server may have no less.
        Ok(match precision {
            enums::LOW_FLOAT | enums::MEDIUM_FLOAT | enums::HIGH_FLOAT => ([127, 127], 23),
            enums::LOW_INT | enums::MEDIUM_INT | enums::HIGH_INT => ([31, 30], 0),
            _ => return Err(Error::InvalidEnum),
        })
    }
}
