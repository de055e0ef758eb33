//! Renderbuffers.

use runahead_core::{backend::Outcome, objects::Records, storage::Storage};
use runahead_wire::{Handle, format::Format, values::FormatFeatures};

use glow::HasContext;

use crate::{
    formats,
    gl::{FAILED, Gl, Named, UNSUPPORTED, gl},
    textures::{spelled, texels},
};

/// Twin of a renderbuffer.
#[derive(Debug, Default)]
pub struct Renderbuffer {
    pub(crate) named: Named<glow::NativeRenderbuffer>,
}

/// Records of renderbuffers.
pub(crate) type Renderbuffers<S> = Records<runahead_core::objects::Renderbuffer, Renderbuffer, S>;

impl Renderbuffer {
    /// The driver's name of it, made at first use.
    pub(crate) fn name(&mut self, gl: &Gl, home: u32) -> Outcome<glow::NativeRenderbuffer> {
        if let Some(name) = self.named.name {
            return Ok(name);
        }
        let name = gl!(gl, create_renderbuffer()).map_err(|_| FAILED)?;
        self.named = Named { name: Some(name), home };
        Ok(name)
    }
}

/// Defines the storage of a renderbuffer.
pub(crate) fn define<S: Storage>(
    gl: &Gl,
    home: u32,
    renderbuffers: &mut Renderbuffers<S>,
    renderbuffer: Handle,
) -> Outcome {
    let Some(object) = renderbuffers.get_mut(renderbuffer) else { return Err(FAILED) };
    let desc = object.record.desc;
    let name = object.twin.name(gl, home)?;
    gl!(gl, bind_renderbuffer(glow::RENDERBUFFER, Some(name)));
    if desc.internal_format() == Some(Format::Undefined) {
        return Ok(());
    }
    let (format, spelling) = spelled(gl, &desc)?;
    if spelling.renderbuffer == 0 || !formats::features(gl, format).contains(FormatFeatures::RENDERABLE) {
        return Err(UNSUPPORTED);
    }
    let (width, height) = (texels(desc.width), texels(desc.height));
    gl.clear_errors();
    if desc.samples > 0 {
        let samples = i32::from(desc.samples);
        gl!(
            gl,
            renderbuffer_storage_multisample(
                glow::RENDERBUFFER,
                samples,
                spelling.renderbuffer,
                width,
                height
            )
        );
    } else {
        gl!(gl, renderbuffer_storage(glow::RENDERBUFFER, spelling.renderbuffer, width, height));
    }
    gl.outcome()
}
