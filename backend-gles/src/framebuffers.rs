//! Framebuffers: which one is bound for what, and what is in them.

use runahead_core::{
    backend::{Outcome, Scope},
    objects::Objects,
    storage::Storage,
};
use runahead_wire::{
    Handle,
    payload::{FramebufferState, Surface},
};

use glow::HasContext;

use crate::{
    Gles,
    gl::{FAILED, Gl, Named, gl},
    textures::Units,
};

mod attachments;

pub(crate) use attachments::{image, surface};

/// Twin of a framebuffer.
#[derive(Debug, Default)]
pub struct Framebuffer {
    pub(crate) named: Named<glow::NativeFramebuffer>,
    /// Serial of the state that the driver has, and the images' epoch.
    seen: (u64, u64),
}

/// The framebuffer bindings of a native context.
#[derive(Debug)]
pub(crate) struct Framebuffers {
    draw: Option<glow::NativeFramebuffer>,
    read: Option<glow::NativeFramebuffer>,
    /// Serial of the bindings that these came from.
    draw_seen: u64,
    read_seen: u64,
    /// Whether the surface's colour is drawn to; a new surface begins anew.
    surface_drawn: Option<bool>,
    /// For copies and reads of single images.
    scratch: Option<glow::NativeFramebuffer>,
    /// Moves when an image that may be attached got another name in the driver.
    epoch: u64,
}

impl Default for Framebuffers {
    fn default() -> Self {
        Self {
            draw: None,
            read: None,
            draw_seen: u64::MAX,
            read_seen: u64::MAX,
            surface_drawn: None,
            scratch: None,
            epoch: 0,
        }
    }
}

impl Framebuffers {
    /// Another surface is current.
    pub(crate) const fn surface_moved(&mut self) {
        self.surface_drawn = None;
        self.draw_seen = u64::MAX;
        self.read_seen = u64::MAX;
    }

    fn bind_draw(&mut self, gl: &Gl, framebuffer: Option<glow::NativeFramebuffer>) {
        if self.draw != framebuffer {
            gl!(gl, bind_framebuffer(glow::DRAW_FRAMEBUFFER, framebuffer));
            self.draw = framebuffer;
        }
    }

    fn bind_read(&mut self, gl: &Gl, framebuffer: Option<glow::NativeFramebuffer>) {
        if self.read != framebuffer {
            gl!(gl, bind_framebuffer(glow::READ_FRAMEBUFFER, framebuffer));
            self.read = framebuffer;
        }
    }

    /// Makes the framebuffer of draws that of the context.
    #[inline]
    pub(crate) fn sync_draw<S: Storage>(
        &mut self,
        gl: &Gl,
        (home, units): (u32, &mut Units),
        scope: &mut Scope<'_, Gles, S>,
    ) -> Outcome {
        let serial = scope.bind.serials.draw_framebuffer;
        if serial == self.draw_seen {
            return Ok(());
        }
        self.draw(gl, (home, units), scope, scope.bind.state.draw_framebuffer)?;
        self.draw_seen = serial;
        Ok(())
    }

    /// Binds a framebuffer for draws.
    #[inline(never)]
    pub(crate) fn draw<S: Storage>(
        &mut self,
        gl: &Gl,
        (home, units): (u32, &mut Units),
        scope: &mut Scope<'_, Gles, S>,
        fbo: Handle,
    ) -> Outcome {
        self.draw_seen = u64::MAX;
        if fbo.is_null() || fbo == Handle::DEFAULT_FRAMEBUFFER {
            self.bind_draw(gl, None);
            let state = &scope.bind.state.default_framebuffer;
            let drawn = fbo.is_null() || state.draw_buffers[0] == 0;
            if scope.draw_surface != 0 && self.surface_drawn != Some(drawn) {
                gl!(gl, draw_buffers(&[if drawn { glow::BACK } else { glow::NONE }]));
                self.surface_drawn = Some(drawn);
            }
            return Ok(());
        }
        let name = self.content(gl, (home, units), scope.objects, fbo)?;
        self.bind_draw(gl, Some(name));
        Ok(())
    }

    /// Makes the framebuffer of reads that of the context.
    #[inline]
    pub(crate) fn sync_read<S: Storage>(
        &mut self,
        gl: &Gl,
        (home, units): (u32, &mut Units),
        scope: &mut Scope<'_, Gles, S>,
    ) -> Outcome {
        let serial = scope.bind.serials.read_framebuffer;
        if serial == self.read_seen {
            return Ok(());
        }
        self.read(gl, (home, units), scope, scope.bind.state.read_framebuffer)?;
        self.read_seen = serial;
        Ok(())
    }

    /// Binds a framebuffer for reads.
    #[inline(never)]
    pub(crate) fn read<S: Storage>(
        &mut self,
        gl: &Gl,
        (home, units): (u32, &mut Units),
        scope: &mut Scope<'_, Gles, S>,
        fbo: Handle,
    ) -> Outcome {
        self.read_seen = u64::MAX;
        if fbo.is_null() || fbo == Handle::DEFAULT_FRAMEBUFFER {
            self.bind_read(gl, None);
            return Ok(());
        }
        let name = self.content(gl, (home, units), scope.objects, fbo)?;
        self.bind_read(gl, Some(name));
        Ok(())
    }

    /// The driver's framebuffer, with the content of its record.
    fn content<S: Storage>(
        &mut self,
        gl: &Gl,
        (home, units): (u32, &mut Units),
        objects: &mut Objects<Gles, S>,
        fbo: Handle,
    ) -> Outcome<glow::NativeFramebuffer> {
        let object = objects.framebuffers.get_mut(fbo).ok_or(FAILED)?;
        let (serial, state) = (object.serial, object.record);
        let name = match object.twin.named.name {
            Some(name) => name,
            None => {
                let name = gl!(gl, create_framebuffer()).map_err(|_| FAILED)?;
                object.twin.named = Named { name: Some(name), home };
                name
            }
        };
        let seen = (serial, self.epoch);
        if object.twin.seen == seen {
            return Ok(name);
        }
        // What is only bound for reads must not become what is drawn to.
        let before = self.draw;
        self.bind_draw(gl, Some(name));
        let attached = attachments::attach(gl, (home, units), objects, &state);
        if let Ok(seen) = attached {
            let read = self.read;
            self.bind_read(gl, Some(name));
            gl!(gl, read_buffer(seen));
            self.bind_read(gl, read);
        }
        // The driver drops what is drawn to an incomplete one, and nobody would hear of it.
        let complete = if state.complete == 0 || attached.is_err() {
            Ok(())
        } else {
            attachments::is_complete(gl, glow::DRAW_FRAMEBUFFER)
        };
        self.bind_draw(gl, before);
        attached.and(complete)?;
        if let Some(object) = objects.framebuffers.get_mut(fbo) {
            object.twin.seen = seen;
        }
        Ok(name)
    }

    /// Binds one image for draws or for reads, through a framebuffer of our own.
    pub(crate) fn bind_image<S: Storage>(
        &mut self,
        gl: &Gl,
        (home, units): (u32, &mut Units),
        objects: &mut Objects<Gles, S>,
        target: u32,
        surface: &Surface,
        attachment: u32,
    ) -> Outcome {
        self.bind_scratch(gl, target)?;
        let packed = attachment == glow::DEPTH_STENCIL_ATTACHMENT;
        let points: &[u32] =
            if packed { &[glow::DEPTH_ATTACHMENT, glow::STENCIL_ATTACHMENT] } else { &[attachment] };
        for point in points {
            attachments::attach_one(gl, (home, units), objects, target, *point, surface)?;
        }
        attachments::is_complete(gl, target)
    }

    /// Binds a texture of ours, in the same way.
    pub(crate) fn bind_texture(&mut self, gl: &Gl, target: u32, texture: glow::NativeTexture) -> Outcome {
        self.bind_scratch(gl, target)?;
        let attachment = glow::COLOR_ATTACHMENT0;
        gl!(gl, framebuffer_texture_2d(target, attachment, glow::TEXTURE_2D, Some(texture), 0));
        attachments::is_complete(gl, target)
    }

    fn bind_scratch(&mut self, gl: &Gl, target: u32) -> Outcome {
        let name = match self.scratch {
            Some(name) => name,
            None => {
                let name = gl!(gl, create_framebuffer()).map_err(|_| FAILED)?;
                self.scratch = Some(name);
                name
            }
        };
        if target == glow::DRAW_FRAMEBUFFER {
            self.draw_seen = u64::MAX;
            self.bind_draw(gl, Some(name));
        } else {
            self.read_seen = u64::MAX;
            self.bind_read(gl, Some(name));
        }
        Ok(())
    }

    /// Lets go of the image that was bound alone: attached, it would outlive its end.
    pub(crate) fn let_go(&mut self, gl: &Gl) {
        let Some(scratch) = self.scratch else { return };
        let target = if self.draw == Some(scratch) { glow::DRAW_FRAMEBUFFER } else { glow::READ_FRAMEBUFFER };
        if target == glow::READ_FRAMEBUFFER {
            self.read_seen = u64::MAX;
            self.bind_read(gl, Some(scratch));
        }
        for attachment in [glow::COLOR_ATTACHMENT0, glow::DEPTH_ATTACHMENT, glow::STENCIL_ATTACHMENT] {
            gl!(gl, framebuffer_renderbuffer(target, attachment, glow::RENDERBUFFER, None));
        }
    }

    /// An image that was attached has another name in the driver from now on, or none.
    pub(crate) const fn image_moved(&mut self) {
        self.epoch += 1;
        self.draw_seen = u64::MAX;
        self.read_seen = u64::MAX;
    }

    /// Forgets a name that the driver may give again. The driver has unbound it.
    pub(crate) fn forget(&mut self, framebuffer: glow::NativeFramebuffer) {
        if self.draw == Some(framebuffer) {
            self.draw = None;
        }
        if self.read == Some(framebuffer) {
            self.read = None;
        }
        self.draw_seen = u64::MAX;
        self.read_seen = u64::MAX;
    }
}

/// Draw buffers that are not none.
pub(crate) fn drawn(state: &FramebufferState) -> usize {
    state.draw_buffers.iter().filter(|buffer| **buffer >= 0).count()
}
