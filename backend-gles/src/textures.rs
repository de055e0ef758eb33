//! Textures: twins, targets, and what of a texture the driver has.
//!
//! OpenGL ES lacks two shapes. A one-dimensional texture is a two-dimensional one of height 1, and an array of them an
//! array of such; programs read them there at a second coordinate of 0, which wraps into the one row but for a border. A
//! program that asks for the size of an array of them is refused: its translation does not compile. Mipmaps of an array
//! are made where its storage stays, and refused otherwise.
//!
//! A rectangle texture is a two-dimensional one for attachments, copies and reads; no program can sample it, since its
//! coordinates are others: the translation refuses such a program.

use runahead_core::backend::Outcome;
use runahead_wire::{
    format::Format,
    payload::ResourceDesc,
    values::{ResourceTarget, UploadTarget},
};

use glow::HasContext;

use crate::{
    formats::{self, Spelling},
    gl::{FAILED, Gl, Named, UNSUPPORTED, gl},
};

mod mipmaps;
mod parameters;
mod storage;
mod units;
mod upload;
mod views;

pub(crate) use parameters::Settled;
pub(crate) use units::Units;
pub(crate) use upload::{Destination, Unpack};
pub use views::View;

/// Twin of a texture.
#[derive(Debug, Default)]
pub struct Texture {
    pub(crate) named: Named<glow::NativeTexture>,
    pub(crate) settled: Settled,
    /// The driver's storage stays as it is: another one needs another name.
    pub(crate) sealed: bool,
    /// It was attached to a framebuffer.
    pub(crate) attached: bool,
    /// Serial of the storage of the buffer that its texels are.
    buffer_seen: u64,
}

/// The driver's target of a texture; nothing for what is none.
pub(crate) const fn target(target: ResourceTarget) -> Option<u32> {
    match target {
        ResourceTarget::Texture1D | ResourceTarget::Texture2D | ResourceTarget::TextureRectangle => {
            Some(glow::TEXTURE_2D)
        }
        ResourceTarget::CubeMap => Some(glow::TEXTURE_CUBE_MAP),
        ResourceTarget::Texture3D => Some(glow::TEXTURE_3D),
        ResourceTarget::Texture1DArray | ResourceTarget::Texture2DArray => Some(glow::TEXTURE_2D_ARRAY),
        ResourceTarget::CubeMapArray => Some(glow::TEXTURE_CUBE_MAP_ARRAY),
        ResourceTarget::Texture2DMultisample => Some(glow::TEXTURE_2D_MULTISAMPLE),
        ResourceTarget::Texture2DMultisampleArray => Some(glow::TEXTURE_2D_MULTISAMPLE_ARRAY),
        ResourceTarget::TextureBuffer => Some(glow::TEXTURE_BUFFER),
        ResourceTarget::Buffer | ResourceTarget::Renderbuffer => None,
    }
}

/// Whether images of a target have a third coordinate in the driver.
pub(crate) const fn is_layered(target: u32) -> bool {
    matches!(target, glow::TEXTURE_3D | glow::TEXTURE_2D_ARRAY | glow::TEXTURE_CUBE_MAP_ARRAY)
}

/// Whether texels of a target are samples.
pub(crate) const fn is_multisample(target: u32) -> bool {
    matches!(target, glow::TEXTURE_2D_MULTISAMPLE | glow::TEXTURE_2D_MULTISAMPLE_ARRAY)
}

/// The driver's target of one image.
pub(crate) const fn image(of: u32, upload: UploadTarget) -> u32 {
    match upload {
        UploadTarget::Whole => of,
        face => glow::TEXTURE_CUBE_MAP_POSITIVE_X + face as u32 - 1,
    }
}

/// The face of a cube as a slice, where an image names one.
pub(crate) const fn face(upload: UploadTarget) -> i32 {
    match upload {
        UploadTarget::Whole => 0,
        face => face as i32 - 1,
    }
}

/// What a description asks the driver for.
pub(crate) fn spelled(gl: &Gl, desc: &ResourceDesc) -> Outcome<(Format, Spelling)> {
    let format = desc.internal_format().ok_or(FAILED)?;
    let spelling = formats::spelling(format).ok_or(UNSUPPORTED)?;
    if formats::features(gl, format).is_empty() {
        return Err(UNSUPPORTED);
    }
    Ok((format, spelling))
}

/// A size in texels, as the driver takes it.
pub(crate) fn texels(size: u32) -> i32 {
    i32::try_from(size).unwrap_or(i32::MAX)
}

/// Size of a level: slices, layers and faces are counted along the third coordinate.
pub(crate) fn level_size(desc: &ResourceDesc, level: u32) -> (u32, u32, u32) {
    let half = |size: u32| size.checked_shr(level).unwrap_or(0).max(size.min(1));
    let layers = u32::from(desc.array_layers);
    match desc.target() {
        Some(ResourceTarget::Texture1D) => (half(desc.width), 1, 1),
        Some(ResourceTarget::Texture1DArray) => (half(desc.width), 1, layers),
        Some(ResourceTarget::Texture3D) => (half(desc.width), half(desc.height), half(desc.depth)),
        Some(ResourceTarget::CubeMap) => (half(desc.width), half(desc.height), 6),
        Some(
            ResourceTarget::Texture2DArray
            | ResourceTarget::CubeMapArray
            | ResourceTarget::Texture2DMultisampleArray,
        ) => (half(desc.width), half(desc.height), layers),
        _ => (half(desc.width), half(desc.height), 1),
    }
}

impl Texture {
    /// The driver's name of it, made at first use.
    pub(crate) fn name(&mut self, gl: &Gl, home: u32) -> Outcome<glow::NativeTexture> {
        if let Some(name) = self.named.name {
            return Ok(name);
        }
        let name = gl!(gl, create_texture()).map_err(|_| FAILED)?;
        self.named = Named { name: Some(name), home };
        self.settled = Settled::default();
        Ok(name)
    }
}
