//! Sampler views: a texture seen as another target or format, or through a window of its levels and layers.
//!
//! A view that shows all of a texture as it is, is that texture. Another one is a texture view of the driver
//! (`EXT_texture_view`, `OES_texture_view`), of storage that stays; where the driver has none, or the storage can be
//! defined again, the view is refused.

use std::ops::Range;

use runahead_core::{backend::Outcome, objects::Texture as Record};
use runahead_wire::{format::Format, payload::SamplerView, values::ResourceTarget};

use glow::HasContext;

use super::{Settled, Texture, target};
use crate::{
    extended::needed,
    formats,
    gl::{FAILED, Gl, Named, UNSUPPORTED, gl},
};

/// Twin of a sampler view.
#[derive(Debug, Default)]
pub struct View {
    /// The driver's view; none for one that is its texture.
    pub(crate) named: Named<glow::NativeTexture>,
    pub(crate) settled: Settled,
    /// Serial of the storage that it shows, which is that of the root.
    storage_seen: u64,
}

/// Whether a view shows all of a texture as it is.
pub(super) fn is_whole(view: &SamplerView, record: &Record) -> bool {
    let desc = &record.desc;
    let (_, _, depth) = super::level_size(desc, 0);
    let same_format = matches!(view.internal_format(), Some(Format::Undefined))
        || view.internal_format == desc.internal_format;
    let layers = if desc.target() == Some(ResourceTarget::Texture3D) { 1 } else { depth };
    view.target == desc.target
        && same_format
        && (view.min_level, view.min_layer) == (0, 0)
        && view.num_levels >= desc.levels.max(1)
        && u32::from(view.num_layers) >= layers
}

/// The levels that a view has.
pub(super) fn levels(view: &SamplerView, record: &Record) -> u16 {
    view.num_levels.min(record.desc.levels.max(1).saturating_sub(view.min_level)).max(1)
}

impl View {
    /// Whether it shows this definition of the root's storage.
    #[inline]
    pub(super) const fn shows(&self, serial: u64) -> bool {
        self.storage_seen == serial
    }

    /// The driver's view, made anew where the root's storage is another one. Answers the one before too, which has to be
    /// forgotten.
    pub(super) fn resolve(
        &mut self,
        gl: &Gl,
        home: u32,
        view: &SamplerView,
        (record, twin): (&Record, &Texture),
        storage: u64,
    ) -> Outcome<(glow::NativeTexture, Option<glow::NativeTexture>)> {
        if let (Some(name), true) = (self.named.name, self.shows(storage)) {
            return Ok((name, None));
        }
        let root = twin.named.name.filter(|_| twin.sealed).ok_or(UNSUPPORTED)?;
        let target = view.target().and_then(target).ok_or(UNSUPPORTED)?;
        let format = match view.internal_format().ok_or(FAILED)? {
            Format::Undefined => record.desc.internal_format().ok_or(FAILED)?,
            format => format,
        };
        let spelling = formats::spelling(format).ok_or(UNSUPPORTED)?;
        let first = u32::from(view.min_level);
        let layer = u32::from(view.min_layer);
        let name = self::view(
            gl,
            root,
            target,
            spelling.internal,
            first..first + u32::from(levels(view, record)),
            layer..layer + u32::from(view.num_layers.max(1)),
        )?;
        let old = self.named.name.replace(name);
        self.named.home = home;
        self.settled = Settled::default();
        self.storage_seen = storage;
        Ok((name, old))
    }
}

/// Makes a texture view of the driver.
pub(super) fn view(
    gl: &Gl,
    root: glow::NativeTexture,
    target: u32,
    internal: u32,
    levels: Range<u32>,
    layers: Range<u32>,
) -> Outcome<glow::NativeTexture> {
    let name = gl!(gl, create_texture()).map_err(|_| FAILED)?;
    gl.clear_errors();
    let (first, count) = (levels.start, levels.len() as u32);
    let (layer, layers) = (layers.start, layers.len() as u32);
    let (made, of) = (name.0.get(), root.0.get());
    let viewed = needed!(gl, texture_view(made, target, of, internal, first, count, layer, layers))
        .and_then(|()| gl.outcome());
    match viewed {
        Ok(()) => Ok(name),
        Err(error) => {
            gl!(gl, delete_texture(name));
            Err(error)
        }
    }
}
