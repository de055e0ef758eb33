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
    values::SurfaceKind,
};

use glow::HasContext;

use crate::{
    Gles,
    context::Native,
    formats,
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
        mask: u32,
    ) -> Outcome<bool> {
        let (src, dst) = (
            [blit.src_x0, blit.src_y0, blit.src_x1, blit.src_y1],
            [blit.dst_x0, blit.dst_y0, blit.dst_x1, blit.dst_y1],
        );
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
            self.framebuffers.draw_texture(gl, between)?;
            let scissor = gl!(gl, is_enabled(glow::SCISSOR_TEST));
            gl.switch(glow::SCISSOR_TEST, false);
            let [x0, y0, x1, y1] = src;
            gl!(gl, blit_framebuffer(x0, y0, x1, y1, x0, y0, x1, y1, mask, glow::NEAREST));
            gl.switch(glow::SCISSOR_TEST, scissor);
            self.framebuffers.read_texture(gl, between)?;
            let state = (self.home, &mut self.units);
            self.framebuffers.draw(gl, state, scope, draw)?;
            let [to_x0, to_y0, to_x1, to_y1] = dst;
            gl!(gl, blit_framebuffer(x0, y0, x1, y1, to_x0, to_y0, to_x1, to_y1, mask, glow::NEAREST));
            Ok(())
        };
        let resolved = resolve();
        self.framebuffers.let_go(gl);
        self.units.forget(between);
        gl!(gl, delete_texture(between));
        resolved.map(|()| true)
    }
}

fn image<S: Storage>(
    scope: &Scope<'_, Gles, S>,
    kind: Option<SurfaceKind>,
    resource: Handle,
) -> Option<ResourceDesc> {
    match kind? {
        SurfaceKind::Texture => scope.objects.textures.get(resource).map(|object| object.record.desc),
        SurfaceKind::Renderbuffer => {
            scope.objects.renderbuffers.get(resource).map(|object| object.record.desc)
        }
        SurfaceKind::None => None,
    }
}

/// The image that reads of a framebuffer see.
fn seen<S: Storage>(scope: &Scope<'_, Gles, S>, fbo: Handle) -> Option<ResourceDesc> {
    let surface = &scope.objects.framebuffers.get(fbo)?.record.read_surface;
    image(scope, surface.kind(), surface.resource)
}

/// The first image that is drawn to.
fn drawn<S: Storage>(scope: &Scope<'_, Gles, S>, fbo: Handle) -> Option<ResourceDesc> {
    let state = &scope.objects.framebuffers.get(fbo)?.record;
    let first = state.draw_buffers.iter().find_map(|buffer| usize::try_from(*buffer).ok())?;
    let surface = state.color.get(first)?;
    image(scope, surface.kind(), surface.resource)
}
