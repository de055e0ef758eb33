//! Storage of textures: level by level, or all at once where it stays.

use runahead_core::{
    backend::{BackendError, Outcome, Scope},
    storage::Storage,
};
use runahead_wire::{
    Handle,
    format::Format,
    payload::{ResourceDesc, WHOLE_SIZE},
    values::{FormatFeatures, RefusedReason, UploadTarget},
};

use glow::HasContext;

use super::{Settled, Texture, image, is_layered, is_multisample, level_size, spelled, target, texels};
use crate::{
    Gles, buffers,
    context::Native,
    extended::needed,
    formats::{self, Spelling},
    gl::{FAILED, Gl, Named, UNSUPPORTED, gl, raw},
};

const FACES: [UploadTarget; 6] = [
    UploadTarget::CubePositiveX,
    UploadTarget::CubeNegativeX,
    UploadTarget::CubePositiveY,
    UploadTarget::CubeNegativeY,
    UploadTarget::CubePositiveZ,
    UploadTarget::CubeNegativeZ,
];

impl Native {
    /// Defines the storage of a texture: every level, or the one that the description names.
    pub(crate) fn define_texture<S: Storage>(
        &mut self,
        gl: &Gl,
        scope: &mut Scope<'_, Gles, S>,
        texture: Handle,
    ) -> Outcome {
        let home = self.home;
        let Some(object) = scope.objects.textures.get_mut(texture) else { return Err(FAILED) };
        let desc = object.record.desc;
        let target = desc.target().and_then(target).ok_or(UNSUPPORTED)?;
        if object.twin.sealed {
            // Its storage stays as it is; another one has another name.
            let old = std::mem::take(&mut object.twin);
            if let Some(name) = old.named.name {
                self.forget_texture(gl, name, old.attached);
            }
        }
        if !desc.view_of.is_null() {
            return self.define_view(gl, scope, texture, &desc, target);
        }
        let object = scope.objects.textures.get_mut(texture).ok_or(FAILED)?;
        if target == glow::TEXTURE_BUFFER {
            object.twin.buffer_seen = 0;
            return self.sync_texture_buffer(gl, scope, texture);
        }
        if target == glow::TEXTURE_CUBE_MAP_ARRAY && gl.version < 32 && !has_cube_arrays(gl) {
            return Err(UNSUPPORTED);
        }
        let name = object.twin.name(gl, home)?;
        if desc.internal_format() == Some(Format::Undefined) {
            // No storage yet: the texture is incomplete, as its images are empty.
            return self.units.work(gl, target, name);
        }
        let (format, spelling) = spelled(gl, &desc)?;
        let features = formats::features(gl, format);
        self.units.work(gl, target, name)?;
        gl.clear_errors();
        if is_multisample(target) {
            if !features.contains(FormatFeatures::RENDERABLE) {
                return Err(UNSUPPORTED);
            }
            define_samples(gl, target, &desc, spelling)?;
            object.twin.sealed = true;
            return gl.outcome();
        }
        if desc.samples > 1 || !features.contains(FormatFeatures::SAMPLED) {
            return Err(UNSUPPORTED);
        }
        let one = (desc.has_respecified_level != 0).then_some(desc.respecified_level);
        if desc.immutable != 0 && spelling.is_sized() && one.is_none() {
            let levels = i32::from(desc.levels.max(1));
            let (width, height, depth) = level_size(&desc, 0);
            let (width, height, depth) = (texels(width), texels(height), texels(depth));
            if is_layered(target) {
                gl!(gl, tex_storage_3d(target, levels, spelling.internal, width, height, depth));
            } else {
                gl!(gl, tex_storage_2d(target, levels, spelling.internal, width, height));
            }
            object.twin.sealed = true;
            return gl.outcome();
        }
        for level in 0..desc.levels.max(1) {
            if one.is_some_and(|one| one != level) {
                continue;
            }
            let face =
                desc.respecified_upload_target().filter(|face| *face != UploadTarget::Whole && one.is_some());
            define_level(gl, target, &desc, (format, spelling), level, face)?;
        }
        gl.outcome()
    }

    /// Deletes a texture of the driver, and forgets its name.
    pub(crate) fn forget_texture(&mut self, gl: &Gl, name: glow::NativeTexture, attached: bool) {
        self.units.forget(name);
        self.images.forget(name);
        if attached {
            self.framebuffers.image_moved();
        }
        gl!(gl, delete_texture(name));
    }

    /// Makes a texture that shows the storage of another one, from its first level and layer on.
    fn define_view<S: Storage>(
        &mut self,
        gl: &Gl,
        scope: &mut Scope<'_, Gles, S>,
        texture: Handle,
        desc: &ResourceDesc,
        target: u32,
    ) -> Outcome {
        let (_, spelling) = spelled(gl, desc)?;
        let root = scope.objects.textures.get(desc.view_of).ok_or(FAILED)?;
        // The driver shows storage that stays, and no other.
        let root = root.twin.named.name.filter(|_| root.twin.sealed).ok_or(UNSUPPORTED)?;
        let layers = match target {
            glow::TEXTURE_CUBE_MAP => 6,
            _ if is_layered(target) && target != glow::TEXTURE_3D => u32::from(desc.array_layers),
            glow::TEXTURE_2D_MULTISAMPLE_ARRAY => u32::from(desc.array_layers),
            _ => 1,
        };
        let levels = u32::from(desc.levels.max(1));
        let name = super::views::view(gl, root, target, spelling.internal, 0..levels, 0..layers)?;
        let twin = &mut scope.objects.textures.get_mut(texture).ok_or(FAILED)?.twin;
        let (old, attached) = (twin.named.name, twin.attached);
        *twin = Texture {
            named: Named { name: Some(name), home: self.home },
            settled: Settled::default(),
            sealed: true,
            attached: false,
            buffer_seen: 0,
        };
        if let Some(name) = old {
            self.forget_texture(gl, name, attached);
        }
        Ok(())
    }

    /// Has a texture buffer show its buffer's bytes as they now lie.
    pub(super) fn sync_texture_buffer<S: Storage>(
        &mut self,
        gl: &Gl,
        scope: &mut Scope<'_, Gles, S>,
        texture: Handle,
    ) -> Outcome {
        let home = self.home;
        self.bound.settle(gl, home, &mut scope.objects.buffers)?;
        sync_texture_buffer(gl, home, &mut self.units, scope, texture)
    }
}

/// The same, where every store of a buffer has been told to the driver.
pub(super) fn sync_texture_buffer<S: Storage>(
    gl: &Gl,
    home: u32,
    units: &mut super::Units,
    scope: &mut Scope<'_, Gles, S>,
    texture: Handle,
) -> Outcome {
    let objects = &mut *scope.objects;
    let Some(object) = objects.textures.get_mut(texture) else { return Err(FAILED) };
    let desc = object.record.desc;
    let (format, spelling) = spelled(gl, &desc)?;
    if !formats::features(gl, format).contains(FormatFeatures::TEXTURE_BUFFER) {
        return Err(UNSUPPORTED);
    }
    // A buffer that has ended stays with the texture, as it was.
    let Some(serial) =
        objects.buffers.get(desc.buffer_for_tex_buffer).map(|buffer| buffer.record.storage_serial)
    else {
        return Ok(());
    };
    let buffer = buffers::resolve(gl, home, &mut objects.buffers, desc.buffer_for_tex_buffer)?;
    let buffer = buffer.map_or(0, |buffer| buffer.0.get());
    let name = object.twin.name(gl, home)?;
    units.work(gl, glow::TEXTURE_BUFFER, name)?;
    gl.clear_errors();
    if desc.buf_offset == 0 && desc.buf_size == WHOLE_SIZE {
        needed!(gl, tex_buffer(glow::TEXTURE_BUFFER, spelling.internal, buffer))?;
    } else {
        let all =
            objects.buffers.get(desc.buffer_for_tex_buffer).map_or(0, |buffer| buffer.record.desc.buf_size);
        let rest = all.saturating_sub(desc.buf_offset);
        let size =
            |bytes: u64| isize::try_from(bytes).map_err(|_| BackendError::Refused(RefusedReason::TooLarge));
        let (offset, count) = (size(desc.buf_offset)?, size(desc.buf_size.min(rest))?);
        if count > 0 {
            let target = glow::TEXTURE_BUFFER;
            needed!(gl, tex_buffer_range(target, spelling.internal, buffer, offset, count))?;
        }
    }
    object.twin.buffer_seen = serial;
    gl.outcome()
}

impl Texture {
    /// Whether a texture buffer shows this definition of its buffer's store.
    pub(super) const fn shows(&self, serial: u64) -> bool {
        self.buffer_seen == serial
    }
}

fn has_cube_arrays(gl: &Gl) -> bool {
    gl.has("GL_EXT_texture_cube_map_array") || gl.has("GL_OES_texture_cube_map_array")
}

fn define_samples(gl: &Gl, target: u32, desc: &ResourceDesc, spelling: Spelling) -> Outcome {
    let (width, height, depth) = level_size(desc, 0);
    let (width, height, depth) = (texels(width), texels(height), texels(depth));
    let samples = i32::from(desc.samples.max(1));
    let fixed = desc.fixed_sample_locations;
    if target == glow::TEXTURE_2D_MULTISAMPLE {
        needed!(gl, tex_storage_2d_multisample(target, samples, spelling.internal, width, height, fixed))
    } else {
        needed!(
            gl,
            tex_storage_3d_multisample(target, samples, spelling.internal, width, height, depth, fixed)
        )
    }
}

fn define_level(
    gl: &Gl,
    target: u32,
    desc: &ResourceDesc,
    (format, spelling): (Format, Spelling),
    level: u16,
    face: Option<UploadTarget>,
) -> Outcome {
    let (width, height, depth) = level_size(desc, u32::from(level));
    let layered = is_layered(target);
    let slices = if layered { depth } else { 1 };
    let bytes = format.level_bytes(width, height, slices).and_then(|bytes| i32::try_from(bytes).ok());
    let too_large = BackendError::Refused(RefusedReason::TooLarge);
    let (width, height, depth, level) = (texels(width), texels(height), texels(depth), i32::from(level));
    let Spelling { internal, format: components, kind, .. } = spelling;
    let compressed = format.is_compressed();
    if layered {
        if compressed {
            let zeros = zeros(bytes.ok_or(too_large)?)?;
            let (size, at) = (zeros.len() as i32, zeros.as_ptr().cast());
            raw!(gl, compressed_tex_image_3d(target, level, internal, width, height, depth, 0, size, at));
        } else {
            let none = glow::PixelUnpackData::Slice(None);
            gl!(
                gl,
                tex_image_3d(target, level, internal as i32, width, height, depth, 0, components, kind, none)
            );
        }
        return Ok(());
    }
    let one = [face.unwrap_or(UploadTarget::Whole)];
    let images: &[UploadTarget] =
        if target == glow::TEXTURE_CUBE_MAP && face.is_none() { &FACES } else { &one };
    for face in images {
        let image = image(target, *face);
        if compressed {
            let zeros = zeros(bytes.ok_or(too_large)?)?;
            let (size, at) = (zeros.len() as i32, zeros.as_ptr().cast());
            raw!(gl, compressed_tex_image_2d(image, level, internal, width, height, 0, size, at));
        } else {
            let none = glow::PixelUnpackData::Slice(None);
            gl!(gl, tex_image_2d(image, level, internal as i32, width, height, 0, components, kind, none));
        }
    }
    Ok(())
}

/// Bytes of a compressed level without contents: OpenGL ES lets none of them be defined without any.
fn zeros(bytes: i32) -> Outcome<Vec<u8>> {
    let mut zeros = Vec::new();
    let count = usize::try_from(bytes).map_err(|_| FAILED)?;
    zeros.try_reserve_exact(count).map_err(|_| BackendError::Refused(RefusedReason::OutOfMemory))?;
    zeros.resize(count, 0);
    Ok(zeros)
}
