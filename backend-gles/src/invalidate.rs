//! Contents that nobody needs any more.

use runahead_core::{
    backend::{Outcome, Scope},
    storage::Storage,
};
use runahead_wire::{
    Handle,
    payload::Invalidate,
    values::{AttachmentMask, InvalidateTarget},
};

use glow::HasContext;

use crate::{
    Gles,
    context::Native,
    gl::{FAILED, Gl, gl},
};

/// Points of a framebuffer object, and of the surface, by bit of the mask.
fn points(mask: AttachmentMask, of_surface: bool) -> Vec<u32> {
    let depth = AttachmentMask::DEPTH.raw().trailing_zeros();
    let point = |bit: u32| match (bit == depth, bit < depth, of_surface) {
        (true, _, true) => glow::DEPTH,
        (true, _, false) => glow::DEPTH_ATTACHMENT,
        (_, true, true) => glow::COLOR,
        (_, true, false) => glow::COLOR_ATTACHMENT0 + bit,
        (_, false, true) => glow::STENCIL,
        (_, false, false) => glow::STENCIL_ATTACHMENT,
    };
    (0..u32::BITS).filter(|bit| mask.raw() >> bit & 1 != 0).map(point).collect()
}

impl Native {
    /// Drops contents, where that is worth a call.
    pub(crate) fn invalidate<S: Storage>(
        &mut self,
        gl: &Gl,
        scope: &mut Scope<'_, Gles, S>,
        what: &Invalidate,
    ) -> Outcome {
        match what.what().ok_or(FAILED)? {
            InvalidateTarget::Framebuffer => {
                let home = self.home;
                let fbo =
                    if what.resource.is_null() { scope.bind.state.draw_framebuffer } else { what.resource };
                self.framebuffers.draw(gl, (home, &mut self.units), scope, fbo)?;
                let of_surface = fbo.is_null() || fbo == Handle::DEFAULT_FRAMEBUFFER;
                if of_surface && scope.draw_surface == 0 {
                    return Ok(());
                }
                let attachments = points(what.attachments().ok_or(FAILED)?, of_surface);
                let region = &what.region;
                if region.width == 0 && region.height == 0 {
                    gl!(gl, invalidate_framebuffer(glow::DRAW_FRAMEBUFFER, &attachments));
                } else {
                    let side = |pixels: u32| i32::try_from(pixels).unwrap_or(i32::MAX);
                    let (width, height) = (side(region.width), side(region.height));
                    gl!(
                        gl,
                        invalidate_sub_framebuffer(
                            glow::DRAW_FRAMEBUFFER,
                            &attachments,
                            region.x,
                            region.y,
                            width,
                            height
                        )
                    );
                }
            }
            InvalidateTarget::Buffer => {
                let buffers = &mut scope.objects.buffers;
                let size = buffers.get(what.resource).map_or(0, |object| object.record.desc.buf_size);
                let whole = what.offset == 0 && what.size == size;
                self.bound.drop_contents(buffers, what.resource, whole);
            }
            // OpenGL ES has no call for it.
            InvalidateTarget::Texture => {}
        }
        Ok(())
    }
}
