//! Framebuffers: attachments, draw buffers, and which one is bound for what.

use runahead_core::{
    backend::{Outcome, Scope},
    objects::Objects,
    storage::Storage,
};
use runahead_wire::{
    Handle,
    payload::{FramebufferState, Surface},
    values::{ResourceTarget, SurfaceKind},
};

use glow::HasContext;

use crate::{
    Gles,
    gl::{FAILED, Gl, Named, UNSUPPORTED, gl},
    textures,
};

/// Twin of a framebuffer.
#[derive(Debug, Default)]
pub struct Framebuffer {
    pub(crate) named: Named<glow::NativeFramebuffer>,
    /// Serial of the state that the driver has.
    seen: u64,
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
    /// For copies and clears of single images.
    scratch: Option<glow::NativeFramebuffer>,
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
        home: u32,
        scope: &mut Scope<'_, Gles, S>,
    ) -> Outcome {
        let serial = scope.bind.serials.draw_framebuffer;
        if serial == self.draw_seen {
            return Ok(());
        }
        self.draw(gl, home, scope, scope.bind.state.draw_framebuffer)?;
        self.draw_seen = serial;
        Ok(())
    }

    /// Binds a framebuffer for draws.
    #[inline(never)]
    pub(crate) fn draw<S: Storage>(
        &mut self,
        gl: &Gl,
        home: u32,
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
        let name = self.content(gl, home, scope.objects, fbo)?;
        self.bind_draw(gl, Some(name));
        Ok(())
    }

    /// Makes the framebuffer of reads that of the context.
    #[inline]
    pub(crate) fn sync_read<S: Storage>(
        &mut self,
        gl: &Gl,
        home: u32,
        scope: &mut Scope<'_, Gles, S>,
    ) -> Outcome {
        let serial = scope.bind.serials.read_framebuffer;
        if serial == self.read_seen {
            return Ok(());
        }
        self.read(gl, home, scope, scope.bind.state.read_framebuffer)?;
        self.read_seen = serial;
        Ok(())
    }

    /// Binds a framebuffer for reads.
    #[inline(never)]
    pub(crate) fn read<S: Storage>(
        &mut self,
        gl: &Gl,
        home: u32,
        scope: &mut Scope<'_, Gles, S>,
        fbo: Handle,
    ) -> Outcome {
        self.read_seen = u64::MAX;
        if fbo.is_null() || fbo == Handle::DEFAULT_FRAMEBUFFER {
            self.bind_read(gl, None);
            return Ok(());
        }
        let name = self.content(gl, home, scope.objects, fbo)?;
        self.bind_read(gl, Some(name));
        Ok(())
    }

    /// The driver's framebuffer, with the content of its record.
    fn content<S: Storage>(
        &mut self,
        gl: &Gl,
        home: u32,
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
        if object.twin.seen == serial {
            return Ok(name);
        }
        // What is only bound for reads must not become what is drawn to.
        let before = self.draw;
        self.bind_draw(gl, Some(name));
        let attached = attach(gl, home, objects, &state);
        if attached.is_ok() {
            set_buffers(gl, &state);
            let read = self.read;
            self.bind_read(gl, Some(name));
            gl!(gl, read_buffer(read_buffer(&state)));
            self.bind_read(gl, read);
        }
        self.bind_draw(gl, before);
        attached?;
        if let Some(object) = objects.framebuffers.get_mut(fbo) {
            object.twin.seen = serial;
        }
        Ok(name)
    }

    /// Binds one image for reads, through a framebuffer of our own.
    pub(crate) fn read_image<S: Storage>(
        &mut self,
        gl: &Gl,
        home: u32,
        objects: &mut Objects<Gles, S>,
        surface: &Surface,
    ) -> Outcome {
        let name = match self.scratch {
            Some(name) => name,
            None => {
                let name = gl!(gl, create_framebuffer()).map_err(|_| FAILED)?;
                self.scratch = Some(name);
                name
            }
        };
        self.read_seen = u64::MAX;
        self.bind_read(gl, Some(name));
        attach_one(gl, home, objects, glow::READ_FRAMEBUFFER, glow::COLOR_ATTACHMENT0, surface)?;
        if gl!(gl, check_framebuffer_status(glow::READ_FRAMEBUFFER)) == glow::FRAMEBUFFER_COMPLETE {
            Ok(())
        } else {
            Err(UNSUPPORTED)
        }
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

fn attach<S: Storage>(
    gl: &Gl,
    home: u32,
    objects: &mut Objects<Gles, S>,
    state: &FramebufferState,
) -> Outcome {
    for (at, surface) in (0..).zip(&state.color) {
        // Beyond what the driver has, nothing can be attached, and nothing was.
        if surface.kind() == Some(SurfaceKind::None) && at >= 4 {
            continue;
        }
        attach_one(gl, home, objects, glow::DRAW_FRAMEBUFFER, glow::COLOR_ATTACHMENT0 + at, surface)?;
    }
    attach_one(gl, home, objects, glow::DRAW_FRAMEBUFFER, glow::DEPTH_ATTACHMENT, &state.depth)?;
    attach_one(gl, home, objects, glow::DRAW_FRAMEBUFFER, glow::STENCIL_ATTACHMENT, &state.stencil)
}

fn attach_one<S: Storage>(
    gl: &Gl,
    home: u32,
    objects: &mut Objects<Gles, S>,
    target: u32,
    attachment: u32,
    surface: &Surface,
) -> Outcome {
    match surface.kind().ok_or(FAILED)? {
        SurfaceKind::None => {
            gl!(gl, framebuffer_renderbuffer(target, attachment, glow::RENDERBUFFER, None));
        }
        SurfaceKind::Renderbuffer => {
            let Some(object) = objects.renderbuffers.get_mut(surface.resource) else { return Err(FAILED) };
            let name = object.twin.name(gl, home)?;
            gl!(gl, framebuffer_renderbuffer(target, attachment, glow::RENDERBUFFER, Some(name)));
        }
        SurfaceKind::Texture => {
            let Some(object) = objects.textures.get_mut(surface.resource) else { return Err(FAILED) };
            let name = object.twin.name(gl, home)?;
            let level = i32::from(surface.level);
            match object.record.desc.target().ok_or(FAILED)? {
                kind @ (ResourceTarget::Texture2D | ResourceTarget::CubeMap) if surface.layered == 0 => {
                    let kind = textures::target(kind).ok_or(UNSUPPORTED)?;
                    let image = textures::image(kind, surface.upload_target().ok_or(FAILED)?);
                    gl!(gl, framebuffer_texture_2d(target, attachment, image, Some(name), level));
                }
                ResourceTarget::Texture3D | ResourceTarget::Texture2DArray if surface.layered == 0 => {
                    let layer = i32::try_from(surface.layer).map_err(|_| UNSUPPORTED)?;
                    gl!(gl, framebuffer_texture_layer(target, attachment, Some(name), level, layer));
                }
                _ => return Err(UNSUPPORTED),
            }
        }
    }
    Ok(())
}

fn set_buffers(gl: &Gl, state: &FramebufferState) {
    // OpenGL ES asks of a framebuffer object that output `n` goes to attachment `n` or to none; a front of
    // another API may ask for more, and then finds nothing drawn.
    let last = state.draw_buffers.iter().rposition(|buffer| *buffer >= 0).map_or(1, |at| at + 1);
    let mut buffers = [glow::NONE; 8];
    for (place, (at, buffer)) in buffers.iter_mut().zip((0..).zip(state.draw_buffers)) {
        if buffer == at {
            *place = glow::COLOR_ATTACHMENT0 + at as u32;
        }
    }
    gl!(gl, draw_buffers(buffers.get(..last).unwrap_or_default()));
}

/// The attachment that reads see.
fn read_buffer(state: &FramebufferState) -> u32 {
    let seen = &state.read_surface;
    if seen.kind() == Some(SurfaceKind::None) {
        return glow::NONE;
    }
    let at = state.color.iter().position(|color| color == seen);
    at.map_or(glow::NONE, |at| glow::COLOR_ATTACHMENT0 + at as u32)
}

/// Draw buffers that are not none.
pub(crate) fn drawn(state: &FramebufferState) -> usize {
    state.draw_buffers.iter().filter(|buffer| **buffer >= 0).count()
}
