//! Samplers. Every texture unit has one: the application's, or the one that is built into the texture.

use runahead_core::{backend::Outcome, objects::Records, storage::Storage};
use runahead_wire::{
    Handle,
    payload::SamplerParameters,
    values::{BorderColorForm, CompareMode, Filter, MipFilter, Wrap},
};

use glow::HasContext;

use crate::{
    extended::needed,
    gl::{FAILED, Gl, Named, UNSUPPORTED, gl},
};

/// Twin of a sampler.
#[derive(Debug, Default)]
pub struct Sampler {
    pub(crate) named: Named<glow::NativeSampler>,
}

/// Records of samplers.
pub(crate) type Samplers<S> = Records<SamplerParameters, Sampler, S>;

const fn wrap(wrap: Wrap) -> u32 {
    match wrap {
        Wrap::Repeat => glow::REPEAT,
        Wrap::MirroredRepeat => glow::MIRRORED_REPEAT,
        Wrap::ClampToEdge => glow::CLAMP_TO_EDGE,
        Wrap::ClampToBorder => glow::CLAMP_TO_BORDER,
        Wrap::MirrorClampToEdge => glow::MIRROR_CLAMP_TO_EDGE,
    }
}

const fn min_filter(filter: Filter, mip: MipFilter) -> u32 {
    match (filter, mip) {
        (Filter::Nearest, MipFilter::None) => glow::NEAREST,
        (Filter::Linear, MipFilter::None) => glow::LINEAR,
        (Filter::Nearest, MipFilter::Nearest) => glow::NEAREST_MIPMAP_NEAREST,
        (Filter::Linear, MipFilter::Nearest) => glow::LINEAR_MIPMAP_NEAREST,
        (Filter::Nearest, MipFilter::Linear) => glow::NEAREST_MIPMAP_LINEAR,
        (Filter::Linear, MipFilter::Linear) => glow::LINEAR_MIPMAP_LINEAR,
    }
}

/// The driver's name of a sampler, made at first use; none for a null handle.
pub(crate) fn resolve<S: Storage>(
    gl: &Gl,
    home: u32,
    samplers: &mut Samplers<S>,
    sampler: Handle,
) -> Outcome<Option<glow::NativeSampler>> {
    let Some(object) = samplers.get_mut(sampler) else { return Ok(None) };
    if let Some(name) = object.twin.named.name {
        return Ok(Some(name));
    }
    let parameters = object.record;
    check(gl, &parameters)?;
    let name = gl!(gl, create_sampler()).map_err(|_| FAILED)?;
    object.twin.named = Named { name: Some(name), home };
    set(gl, name, &parameters)?;
    Ok(Some(name))
}

/// Refuses what the driver lacks and an image would show.
fn check(gl: &Gl, parameters: &SamplerParameters) -> Outcome {
    let wraps = [parameters.wrap_s(), parameters.wrap_t(), parameters.wrap_r()];
    let has = |which: Wrap| wraps.contains(&Some(which));
    let border =
        gl.version >= 32 || gl.has("GL_EXT_texture_border_clamp") || gl.has("GL_OES_texture_border_clamp");
    let mirror = gl.has("GL_EXT_texture_mirror_clamp_to_edge");
    let lacks = has(Wrap::ClampToBorder) && !border
        || has(Wrap::MirrorClampToEdge) && !mirror
        // OpenGL ES has no bias of a sampler.
        || parameters.lod_bias != 0.0;
    if lacks { Err(UNSUPPORTED) } else { Ok(()) }
}

fn set(gl: &Gl, name: glow::NativeSampler, parameters: &SamplerParameters) -> Outcome {
    let p = parameters;
    let integer = |parameter: u32, value: u32| gl!(gl, sampler_parameter_i32(name, parameter, value as i32));
    let float = |parameter: u32, value: f32| gl!(gl, sampler_parameter_f32(name, parameter, value));
    integer(glow::TEXTURE_WRAP_S, wrap(p.wrap_s().ok_or(FAILED)?));
    integer(glow::TEXTURE_WRAP_T, wrap(p.wrap_t().ok_or(FAILED)?));
    integer(glow::TEXTURE_WRAP_R, wrap(p.wrap_r().ok_or(FAILED)?));
    let (min, mag) = (p.min_filter().ok_or(FAILED)?, p.mag_filter().ok_or(FAILED)?);
    integer(glow::TEXTURE_MIN_FILTER, min_filter(min, p.mip_filter().ok_or(FAILED)?));
    integer(glow::TEXTURE_MAG_FILTER, min_filter(mag, MipFilter::None));
    float(glow::TEXTURE_MIN_LOD, p.min_lod);
    float(glow::TEXTURE_MAX_LOD, p.max_lod);
    if p.max_anisotropy > 1.0 && gl.has("GL_EXT_texture_filter_anisotropic") {
        float(glow::TEXTURE_MAX_ANISOTROPY_EXT, p.max_anisotropy);
    }
    integer(glow::TEXTURE_COMPARE_FUNC, glow::NEVER + p.compare_func().ok_or(FAILED)? as u32);
    let mode = match p.compare_mode().ok_or(FAILED)? {
        CompareMode::None => glow::NONE,
        CompareMode::RefToTexture => glow::COMPARE_REF_TO_TEXTURE,
    };
    integer(glow::TEXTURE_COMPARE_MODE, mode);
    let border = Some(Wrap::ClampToBorder);
    if [p.wrap_s(), p.wrap_t(), p.wrap_r()].contains(&border) {
        let name_of = name.0.get();
        match p.border_color_form().ok_or(FAILED)? {
            BorderColorForm::Float => {
                let color = &p.border_color_float;
                gl!(gl, sampler_parameter_f32_slice(name, glow::TEXTURE_BORDER_COLOR, color));
            }
            // For textures of integers, whose border is one too.
            BorderColorForm::Int => {
                let color = p.border_color_int.as_ptr();
                needed!(gl, sampler_parameter_i(name_of, glow::TEXTURE_BORDER_COLOR, color))?;
            }
            BorderColorForm::Uint => {
                let color = p.border_color_uint.as_ptr();
                needed!(gl, sampler_parameter_u(name_of, glow::TEXTURE_BORDER_COLOR, color))?;
            }
        }
    }
    Ok(())
}
