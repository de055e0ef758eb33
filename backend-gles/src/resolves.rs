//! Resolves that OpenGL ES does not do in one blit: to another place, or to another format.
//!
//! It takes samples to the same rectangle of an image of the same format alone (OpenGL ES 3.2 section 16.2.1), so they
//! go through an image in between.

use runahead_core::{
    backend::{Outcome, Scope},
    storage::Storage,
};
use runahead_wire::{
    Handle,
    payload::{Blit, ResourceDesc},
};

use glow::HasContext;

use crate::{
    Gles,
    context::Native,
    formats, framebuffers,
    gl::{FAILED, Gl, UNSUPPORTED, gl},
};

impl Native {
    /// Blits colour by way of an image in between, where a blit needs that; `false` where it does not. Both framebuffers
    /// are bound.
    pub(crate) fn resolve_apart<S: Storage>(
        &mut self,
        gl: &Gl,
        scope: &mut Scope<'_, Gles, S>,
        blit: &Blit,
        (src, dst): ([i32; 4], [i32; 4]),
        mask: u32,
    ) -> Outcome<bool> {
        let read = if blit.read_fbo.is_null() { scope.bind.state.read_framebuffer } else { blit.read_fbo };
        let Some(seen) = seen(scope, read).filter(|seen| seen.samples > 0) else { return Ok(false) };
        let draw = if blit.draw_fbo.is_null() { scope.bind.state.draw_framebuffer } else { blit.draw_fbo };
        let same = drawn(scope, draw).is_none_or(|desc| desc.internal_format == seen.internal_format);
        if src == dst && same {
            return Ok(false);
        }
        if mask != glow::COLOR_BUFFER_BIT {
            return Err(UNSUPPORTED);
        }
        let format = seen.internal_format().ok_or(FAILED)?;
        let spelling = formats::spelling(format).ok_or(UNSUPPORTED)?;
        let (width, height) = (src[0].max(src[2]).max(1), src[1].max(src[3]).max(1));
        let between = gl!(gl, create_texture()).map_err(|_| FAILED)?;
        let mut resolve = || {
            self.units.work(gl, glow::TEXTURE_2D, between)?;
            gl!(gl, tex_storage_2d(glow::TEXTURE_2D, 1, spelling.internal, width, height));
            gl.outcome()?;
            self.framebuffers.bind_texture(gl, glow::DRAW_FRAMEBUFFER, between)?;
            self.render.uncut(gl, || gl.blit(src, src, mask, glow::NEAREST));
            self.framebuffers.bind_texture(gl, glow::READ_FRAMEBUFFER, between)?;
            let state = (self.home, &mut self.units);
            self.framebuffers.draw(gl, state, scope, draw)?;
            gl.blit(src, dst, mask, glow::NEAREST);
            Ok(())
        };
        let resolved = resolve();
        self.framebuffers.let_go(gl);
        self.units.forget(between);
        gl!(gl, delete_texture(between));
        resolved.map(|()| true)
    }
}

/// The image that reads of a framebuffer see.
fn seen<S: Storage>(scope: &Scope<'_, Gles, S>, fbo: Handle) -> Option<ResourceDesc> {
    let surface = &scope.objects.framebuffers.get(fbo)?.record.read_surface;
    framebuffers::image(scope.objects, surface)
}

/// The first image that is drawn to.
fn drawn<S: Storage>(scope: &Scope<'_, Gles, S>, fbo: Handle) -> Option<ResourceDesc> {
    let state = &scope.objects.framebuffers.get(fbo)?.record;
    let first = state.draw_buffers.iter().find_map(|buffer| usize::try_from(*buffer).ok())?;
    let surface = state.color.get(first)?;
    framebuffers::image(scope.objects, surface)
}
