//! Parameters of textures, as the driver has them.

use runahead_core::objects::Texture as Record;
use runahead_wire::{
    payload::TextureParams,
    values::{DepthStencilMode, Swizzle},
};

use glow::HasContext;

use super::is_multisample;
use crate::gl::{Gl, gl};

/// Parameters of a texture of the driver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Parameters {
    base_level: u16,
    max_level: u16,
    swizzle: [u8; 4],
    stencil: bool,
}

impl Default for Parameters {
    /// Those of a new texture (OpenGL ES 3.2 table 21.10).
    fn default() -> Self {
        Self { base_level: 0, max_level: 1000, swizzle: [0, 1, 2, 3], stencil: false }
    }
}

/// What the driver has, and what of the record it came from.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Settled {
    parameters: Parameters,
    /// Serial of the record's parameters that these are, and the levels that they were cut to.
    seen: Option<(u64, u16)>,
}

impl Settled {
    /// Whether the driver has the parameters of the record, for a texture of so many levels.
    #[inline]
    pub(crate) fn is(&self, record: &Record, levels: u16) -> bool {
        self.seen == Some((record.params_serial, levels))
    }

    /// Sets the parameters that moved. The texture is bound to the active unit.
    pub(crate) fn settle(&mut self, gl: &Gl, target: u32, record: &Record, levels: u16) {
        let last = levels.max(1) - 1;
        let params: &TextureParams = &record.params;
        // No parameters were set yet: those of a new texture.
        let wanted = if params.builtin_sampler.is_null() {
            Parameters { max_level: last, ..Parameters::default() }
        } else {
            Parameters {
                base_level: params.base_level.min(last),
                max_level: params.max_level.min(last),
                swizzle: params.swizzle,
                stencil: params.depth_stencil_mode() == Some(DepthStencilMode::Stencil),
            }
        };
        self.set(gl, target, wanted);
        self.seen = Some((record.params_serial, levels));
    }

    /// Sets another window of levels for a while.
    pub(super) fn unsettle(&mut self, gl: &Gl, target: u32, base_level: u16, max_level: u16) {
        let wanted = Parameters { base_level, max_level, ..self.parameters };
        self.set(gl, target, wanted);
        self.seen = None;
    }

    fn set(&mut self, gl: &Gl, target: u32, wanted: Parameters) {
        let integer =
            |parameter: u32, value: u32| gl!(gl, tex_parameter_i32(target, parameter, value as i32));
        let old = std::mem::replace(&mut self.parameters, wanted);
        // Texture buffers have no parameters, and those that are multisampled no levels.
        if target == glow::TEXTURE_BUFFER {
            return;
        }
        if !is_multisample(target) {
            if old.base_level != wanted.base_level {
                integer(glow::TEXTURE_BASE_LEVEL, u32::from(wanted.base_level));
            }
            if old.max_level != wanted.max_level {
                integer(glow::TEXTURE_MAX_LEVEL, u32::from(wanted.max_level));
            }
        }
        for (at, (old, new)) in (0..).zip(old.swizzle.iter().zip(wanted.swizzle)) {
            if *old != new {
                integer(glow::TEXTURE_SWIZZLE_R + at, swizzle(Swizzle::from_raw(u32::from(new))));
            }
        }
        if old.stencil != wanted.stencil && gl.version >= 31 {
            let half = if wanted.stencil { glow::STENCIL_INDEX } else { glow::DEPTH_COMPONENT };
            integer(glow::DEPTH_STENCIL_TEXTURE_MODE, half);
        }
    }
}

const fn swizzle(swizzle: Option<Swizzle>) -> u32 {
    match swizzle {
        Some(Swizzle::Red) | None => glow::RED,
        Some(Swizzle::Green) => glow::GREEN,
        Some(Swizzle::Blue) => glow::BLUE,
        Some(Swizzle::Alpha) => glow::ALPHA,
        Some(Swizzle::Zero) => glow::ZERO,
        Some(Swizzle::One) => glow::ONE,
    }
}
