//! Image units: what the driver has bound there, and what the current program reads and writes.
//!
//! As with storage buffers, the driver's units are the program's own: OpenGL ES fixes an image's unit in the source.
//! A texture whose storage can be defined again is no image in OpenGL ES (section 8.22), and the verb is refused.

use runahead_core::{
    backend::{Outcome, Scope},
    storage::Storage,
};
use runahead_wire::{format::Format, payload::ImageView, values::ImageAccess};

use glow::HasContext;

use crate::{
    Gles,
    gl::{Gl, UNSUPPORTED, gl},
    programs::Uses,
};

/// What one unit of the driver has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Unit {
    texture: Option<glow::NativeTexture>,
    level: u16,
    /// Layer, where one alone is bound.
    layer: Option<i32>,
    access: u32,
    format: u32,
}

impl Default for Unit {
    fn default() -> Self {
        Self { texture: None, level: 0, layer: Some(0), access: glow::READ_ONLY, format: glow::R32UI }
    }
}

/// The image units of a native context.
#[derive(Debug, Default)]
pub(crate) struct Images {
    units: Vec<Unit>,
    /// Serials of the program's uses and of the window that all this came from.
    seen: Option<(u64, u64)>,
}

/// The formats that images have (OpenGL ES 3.2 table 8.27).
pub(crate) const fn format(format: Format) -> Option<u32> {
    Some(match format {
        Format::Rgba32F => glow::RGBA32F,
        Format::Rgba16F => glow::RGBA16F,
        Format::R32F => glow::R32F,
        Format::Rgba32Ui => glow::RGBA32UI,
        Format::Rgba16Ui => glow::RGBA16UI,
        Format::Rgba8Ui => glow::RGBA8UI,
        Format::R32Ui => glow::R32UI,
        Format::Rgba32I => glow::RGBA32I,
        Format::Rgba16I => glow::RGBA16I,
        Format::Rgba8I => glow::RGBA8I,
        Format::R32I => glow::R32I,
        Format::Rgba8 => glow::RGBA8,
        Format::Rgba8Snorm => glow::RGBA8_SNORM,
        _ => return None,
    })
}

impl Images {
    /// Looks at everything anew at the next verb: some texture has another storage.
    pub(crate) const fn stale(&mut self) {
        self.seen = None;
    }

    /// Forgets a name that the driver may give again. The driver has unbound it.
    pub(crate) fn forget(&mut self, texture: glow::NativeTexture) {
        for unit in &mut self.units {
            if unit.texture == Some(texture) {
                *unit = Unit::default();
            }
        }
        self.seen = None;
    }

    /// Makes the units of the program that of the context. `serial` moves when `uses` does.
    #[inline]
    pub(crate) fn sync<S: Storage>(
        &mut self,
        gl: &Gl,
        home: u32,
        scope: &mut Scope<'_, Gles, S>,
        serial: u64,
        uses: &Uses,
    ) -> Outcome {
        let seen = Some((serial, scope.bind.serials.shader_images));
        if self.seen == seen {
            return Ok(());
        }
        self.seen = None;
        for (at, unit) in uses.images.iter().enumerate() {
            let Some(unit) = *unit else { continue };
            let view = scope.bind.state.shader_images.get(unit);
            self.show(gl, home, scope, at, &view)?;
        }
        self.seen = seen;
        Ok(())
    }

    /// Shows what a unit of the context has at a unit of the driver.
    #[inline(never)]
    fn show<S: Storage>(
        &mut self,
        gl: &Gl,
        home: u32,
        scope: &mut Scope<'_, Gles, S>,
        at: usize,
        view: &ImageView,
    ) -> Outcome {
        let wanted = match scope.objects.textures.get_mut(view.resource) {
            // OpenGL ES 3.2 section 8.22: a texture that can be defined again is no image.
            Some(object) if !object.twin.sealed => return Err(UNSUPPORTED),
            Some(object) => Unit {
                texture: Some(object.twin.name(gl, home)?),
                level: view.level,
                layer: (view.layered == 0)
                    .then(|| i32::try_from(view.layer).map_err(|_| UNSUPPORTED))
                    .transpose()?,
                access: match view.access().ok_or(UNSUPPORTED)? {
                    ImageAccess::ReadOnly => glow::READ_ONLY,
                    ImageAccess::WriteOnly => glow::WRITE_ONLY,
                    ImageAccess::ReadWrite => glow::READ_WRITE,
                },
                format: view.internal_format().and_then(format).ok_or(UNSUPPORTED)?,
            },
            None => Unit::default(),
        };
        if self.units.len() <= at {
            self.units.resize(at + 1, Unit::default());
        }
        let Some(place) = self.units.get_mut(at) else { return Err(UNSUPPORTED) };
        if *place == wanted {
            return Ok(());
        }
        let Unit { texture, level, layer, access, format } = wanted;
        gl.clear_errors();
        gl!(
            gl,
            bind_image_texture(
                at as u32,
                texture,
                i32::from(level),
                layer.is_none(),
                layer.unwrap_or(0),
                access,
                format
            )
        );
        gl.outcome()?;
        *place = wanted;
        Ok(())
    }
}
