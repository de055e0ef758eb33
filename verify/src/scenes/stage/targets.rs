//! What is drawn to: framebuffers of several attachments, of renderbuffers, of samples; clears and blits of every kind.

use runahead_core::{Session, state::initial_render_state, tracker::Verb};
use runahead_wire::{
    Handle,
    format::Format,
    payload::{Blit, Clear, FramebufferState, Surface},
    values::{FramebufferTarget, ResourceTarget, SurfaceKind, Topology},
};

use super::{Stage, StageError};
use crate::scenes::{
    SIDE,
    common::{QUAD, SAMPLED, TEXTURED, TEXTURED_ATTRIBUTES, bytes},
};

impl<P: Session> Stage<'_, P> {
    /// Draws and reads see these colours, and this renderbuffer's depth and stencil.
    pub fn target_images(
        &mut self,
        colors: &[Surface],
        depth_stencil: Option<(Handle, Format)>,
        samples: u16,
    ) {
        let mut state = FramebufferState {
            draw_buffers: [-1; 8],
            width: SIDE as u16,
            height: SIDE as u16,
            samples,
            complete: 1,
            ..FramebufferState::default()
        };
        for (at, color) in colors.iter().enumerate() {
            if let (Some(place), Some(buffer)) = (state.color.get_mut(at), state.draw_buffers.get_mut(at)) {
                (*place, *buffer) = (*color, at as i8);
            }
        }
        state.read_surface = state.color[0];
        if let Some((renderbuffer, format)) = depth_stencil {
            let surface = rendered(renderbuffer, format);
            (state.depth, state.stencil) = (surface, surface);
        }
        let number = self.next();
        self.known.framebuffer = state;
        self.tracker.set_framebuffer(FramebufferTarget::Both, number, number, &state);
    }

    /// A clear of any kind.
    ///
    /// # Errors
    /// [`StageError`].
    pub fn clear_by(&mut self, clear: &Clear) -> Result<(), StageError> {
        self.synced(Verb::Clear)?;
        Ok(self.pipe.clear(clear)?)
    }

    /// A blit.
    ///
    /// # Errors
    /// [`StageError`].
    pub fn blit(&mut self, blit: &Blit) -> Result<(), StageError> {
        self.synced(Verb::Blit)?;
        Ok(self.pipe.blit(blit)?)
    }

    /// The render state of a new context, on the whole of the surface.
    pub fn usual_render_state(&mut self) {
        let render = self.tracker.render_state();
        *render = initial_render_state();
        (render.viewports[0].width, render.viewports[0].height) = (SIDE as f32, SIDE as f32);
        (render.scissor_boxes[0].width, render.scissor_boxes[0].height) = (SIDE as i32, SIDE as i32);
    }

    /// Draws a texture to the whole surface, with the usual render state, which it leaves.
    ///
    /// # Errors
    /// [`StageError`].
    pub fn show(&mut self, texture: Handle) -> Result<(), StageError> {
        self.target(Handle::NULL);
        self.usual_render_state();
        let quad = self.buffer(&bytes(&QUAD))?;
        self.program(TEXTURED, SAMPLED, TEXTURED_ATTRIBUTES, &[])?;
        self.vertices(quad, &[(0, 2), (1, 2)])?;
        self.sample(texture)?;
        self.draw(Topology::TriangleStrip, 0, 4)
    }
}

/// A texture as an attachment.
#[must_use]
pub fn textured(texture: Handle, format: Format) -> Surface {
    Surface {
        resource: texture,
        internal_format: format.raw(),
        kind: SurfaceKind::Texture.raw() as u8,
        texture_target: ResourceTarget::Texture2D.raw() as u16,
        ..Surface::default()
    }
}

/// A renderbuffer as an attachment.
#[must_use]
pub fn rendered(renderbuffer: Handle, format: Format) -> Surface {
    Surface {
        resource: renderbuffer,
        internal_format: format.raw(),
        kind: SurfaceKind::Renderbuffer.raw() as u8,
        texture_target: ResourceTarget::Renderbuffer.raw() as u16,
        ..Surface::default()
    }
}
