//! Copies between images, and images that are filled.

use std::ffi::c_void;

use runahead_core::{
    backend::{BackendError, Outcome, Scope},
    storage::Storage,
};
use runahead_wire::{
    Handle,
    format::{Format, FormatClass},
    payload::{ClearTexture, CopyFromFramebuffer, CopyRegion, TexelBox},
    values::{RefusedReason, ResourceTarget, UploadTarget},
};

use glow::HasContext;

use crate::{
    Gles,
    context::Native,
    extended::needed,
    formats, framebuffers,
    gl::{FAILED, Gl, UNSUPPORTED, gl},
    textures::{self, Destination},
};

impl Native {
    /// Copies between textures or renderbuffers, bit by bit.
    pub(crate) fn copy_region<S: Storage>(
        &mut self,
        gl: &Gl,
        scope: &mut Scope<'_, Gles, S>,
        copy: &CopyRegion,
    ) -> Outcome {
        let (from, to) = (copy.src_target(), copy.dst_target());
        let src = self.copy_end(gl, scope, copy.src, from)?;
        let dst = self.copy_end(gl, scope, copy.dst, to)?;
        let read = copy.src_box;
        gl.clear_errors();
        needed!(
            gl,
            copy_image(
                src.0,
                src.1,
                i32::from(copy.src_level),
                read.x,
                read.y,
                read.z,
                dst.0,
                dst.1,
                i32::from(copy.dst_level),
                copy.dst_x,
                copy.dst_y,
                copy.dst_z,
                textures::texels(read.width),
                textures::texels(read.height),
                textures::texels(read.depth)
            )
        )?;
        gl.outcome()
    }

    /// Name and target of one end of a copy, with its parameters settled: a copy wants complete textures, and what is
    /// complete depends on them.
    pub(crate) fn copy_end<S: Storage>(
        &mut self,
        gl: &Gl,
        scope: &mut Scope<'_, Gles, S>,
        image: Handle,
        target: Option<ResourceTarget>,
    ) -> Outcome<(u32, u32)> {
        if target == Some(ResourceTarget::Renderbuffer) {
            let object = scope.objects.renderbuffers.get_mut(image).ok_or(FAILED)?;
            return Ok((object.twin.name(gl, self.home)?.0.get(), glow::RENDERBUFFER));
        }
        let object = scope.objects.textures.get_mut(image).ok_or(FAILED)?;
        let target = target.and_then(textures::target).ok_or(UNSUPPORTED)?;
        let name = object.twin.name(gl, self.home)?;
        let levels = object.record.desc.levels;
        if !object.twin.settled.is(&object.record, levels) {
            self.units.work(gl, target, name)?;
            object.twin.settled.settle(gl, target, &object.record, levels);
        }
        Ok((name.0.get(), target))
    }

    /// Copies from the read framebuffer into a texture.
    pub(crate) fn copy_to_texture<S: Storage>(
        &mut self,
        gl: &Gl,
        scope: &mut Scope<'_, Gles, S>,
        copy: &CopyFromFramebuffer,
    ) -> Outcome {
        // A copy that defines its level comes behind the record that does, so every copy replaces a part.
        let home = self.home;
        self.framebuffers.sync_read(gl, (home, &mut self.units), scope)?;
        let object = scope.objects.textures.get_mut(copy.dst).ok_or(FAILED)?;
        let desc = object.record.desc;
        let target = desc.target().and_then(textures::target).ok_or(UNSUPPORTED)?;
        let class = desc.internal_format().map_or(FormatClass::Undefined, Format::class);
        if matches!(class, FormatClass::Depth | FormatClass::Stencil | FormatClass::DepthStencil) {
            return self.copy_depth(gl, scope, copy, class);
        }
        let name = object.twin.name(gl, home)?;
        self.units.work(gl, target, name)?;
        let (level, width, height) = (copy.level as i32, copy.width as i32, copy.height as i32);
        let (x, y, z) = (copy.x_offset, copy.y_offset, i32::from(copy.z_offset));
        gl.clear_errors();
        if textures::is_layered(target) {
            gl!(gl, copy_tex_sub_image_3d(target, level, x, y, z, copy.x, copy.y, width, height));
        } else {
            let image = match copy.upload_target().ok_or(FAILED)? {
                UploadTarget::Whole if target == glow::TEXTURE_CUBE_MAP => {
                    glow::TEXTURE_CUBE_MAP_POSITIVE_X + u32::from(copy.z_offset)
                }
                upload => textures::image(target, upload),
            };
            gl!(gl, copy_tex_sub_image_2d(image, level, x, y, copy.x, copy.y, width, height));
        }
        gl.outcome()
    }

    /// The same for depth and stencil, which OpenGL ES copies by blits alone.
    fn copy_depth<S: Storage>(
        &mut self,
        gl: &Gl,
        scope: &mut Scope<'_, Gles, S>,
        copy: &CopyFromFramebuffer,
        class: FormatClass,
    ) -> Outcome {
        let object = scope.objects.textures.get(copy.dst).ok_or(FAILED)?;
        let desc = object.record.desc;
        let face = textures::face(copy.upload_target().ok_or(FAILED)?) as u32;
        let level = u16::try_from(copy.level).map_err(|_| FAILED)?;
        let surface = framebuffers::surface(&desc, copy.dst, level, u32::from(copy.z_offset) + face);
        let (point, mask) = match class {
            FormatClass::Depth => (glow::DEPTH_ATTACHMENT, glow::DEPTH_BUFFER_BIT),
            FormatClass::Stencil => (glow::STENCIL_ATTACHMENT, glow::STENCIL_BUFFER_BIT),
            _ => (glow::DEPTH_STENCIL_ATTACHMENT, glow::DEPTH_BUFFER_BIT | glow::STENCIL_BUFFER_BIT),
        };
        let (state, target) = ((self.home, &mut self.units), glow::DRAW_FRAMEBUFFER);
        self.framebuffers.bind_image(gl, state, scope.objects, target, &surface, point)?;
        let (width, height) = (copy.width as i32, copy.height as i32);
        let (x, y) = (copy.x_offset, copy.y_offset);
        let src = [copy.x, copy.y, copy.x + width, copy.y + height];
        gl.clear_errors();
        self.render.uncut(gl, || gl.blit(src, [x, y, x + width, y + height], mask, glow::NEAREST));
        let copied = gl.outcome();
        self.framebuffers.let_go(gl);
        copied
    }

    /// Fills a region of a texture.
    pub(crate) fn clear_texture<S: Storage>(
        &mut self,
        gl: &Gl,
        scope: &mut Scope<'_, Gles, S>,
        clear: &ClearTexture,
    ) -> Outcome {
        let object = scope.objects.textures.get_mut(clear.resource).ok_or(FAILED)?;
        let desc = object.record.desc;
        let target = desc.target().and_then(textures::target).ok_or(UNSUPPORTED)?;
        let format = desc.internal_format().ok_or(FAILED)?;
        let spelling = formats::spelling(format).ok_or(UNSUPPORTED)?;
        let block = format.block();
        let texel = clear.value.get(..usize::from(block.bytes)).ok_or(UNSUPPORTED)?;
        if clear.value_size != 0 && clear.value_size as usize != texel.len() {
            return Err(UNSUPPORTED);
        }
        let zeros = [0; 16];
        let texel = if clear.value_size == 0 { &zeros[..texel.len()] } else { texel };
        let region = clear.region;
        if region.width == 0 || region.height == 0 || region.depth == 0 {
            return Ok(());
        }
        let name = object.twin.name(gl, self.home)?;
        gl.clear_errors();
        if gl.extended.clear_texture.is_some() && spelling.is_sized() && !format.is_compressed() {
            let TexelBox { x, y, z, .. } = region;
            let size = [region.width, region.height, region.depth].map(textures::texels);
            let [width, height, depth] = size;
            let (level, at) = (clear.level as i32, texel.as_ptr().cast::<c_void>());
            let (components, kind) = (spelling.format, spelling.kind);
            needed!(
                gl,
                clear_texture(name.0.get(), level, x, y, z, width, height, depth, components, kind, at)
            )?;
            return gl.outcome();
        }
        if textures::is_multisample(target) {
            return Err(UNSUPPORTED);
        }
        // One slice of it, as often as there are slices.
        let count = block.level_bytes(region.width, region.height, 1);
        let count = count.and_then(|bytes| usize::try_from(bytes).ok()).ok_or(FAILED)?;
        let mut slice = Vec::new();
        slice.try_reserve_exact(count).map_err(|_| BackendError::Refused(RefusedReason::OutOfMemory))?;
        slice.extend(texel.iter().copied().cycle().take(count));
        self.units.work(gl, target, name)?;
        let level = u16::try_from(clear.level).map_err(|_| FAILED)?;
        let to = Destination { target, upload: UploadTarget::Whole, level, format, spelling };
        for at in 0..region.depth {
            let part = TexelBox { z: region.z + at as i32, depth: 1, ..region };
            self.write(gl, &to, &part, (0, 0), slice.as_ptr().cast())?;
        }
        gl.outcome()
    }
}
