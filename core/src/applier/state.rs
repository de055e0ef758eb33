//! State of the current context: windows, values, framebuffers.

use runahead_wire::{
    Bulk, Handle,
    handle::Kind,
    limits,
    payload::{
        AttribValue, BoundView, BufferRange, ConditionalRender, ContextValues, DynamicState,
        FramebufferState, ImageBind, ImageView, IndexBuffer, IndirectBuffers, PatchState, PixelPackState,
        SamplerStates, SamplerViews, ShaderBuffers, ShaderImages, Surface, VertexAttribDefaults,
        VertexBuffer, VertexBuffers,
    },
    values::{FramebufferTarget, SurfaceKind},
};

use super::{Apply, bytes};
use crate::{
    backend::{Backend, Twin},
    bind_state::Trouble,
    chunks::Half,
    fault::Fault,
    objects::Define,
    outlet::Outlet,
    storage::Storage,
};

impl<B: Backend, S: Storage, O: Outlet> Apply<'_, B, S, O> {
    pub(super) fn set_dynamic_state(&mut self, head: &DynamicState, blob: Bulk<'_>) -> Result<(), Fault> {
        let mut render = self.bind.state.render;
        if !bytes::apply_chunks(Half::Dynamic, head.chunk_mask, &blob, &mut render)? {
            return Err(self.corrupt("blob"));
        }
        self.bind.state.render = render;
        self.bind.serials.dynamic_state = self.next_serial();
        Ok(())
    }

    pub(super) fn set_framebuffer_state(&mut self, state: &FramebufferState) -> Result<(), Fault> {
        let is_default = state.fbo == Handle::DEFAULT_FRAMEBUFFER;
        self.must(state.is_default() == Some(is_default), "is_default")?;
        let surfaces = state.color.iter().chain([&state.depth, &state.stencil, &state.read_surface]);
        for surface in surfaces {
            self.attachable(surface)?;
        }
        let serial = self.next_serial();
        if is_default {
            self.bind.state.default_framebuffer = *state;
        } else {
            let old = match self.objects.framebuffers.define(state.fbo, Define::Again, self.records) {
                Ok((object, old)) => {
                    object.serial = serial;
                    object.record = *state;
                    old
                }
                Err(error) => return Err(self.undefined(error)),
            };
            if let Some(old) = old {
                self.objects.epoch += 1;
                self.release(Twin::Framebuffer(old));
            }
        }
        let target = state.target().ok_or(self.corrupt("target"))?;
        let (draw, read) = match target {
            FramebufferTarget::Draw => (true, false),
            FramebufferTarget::Read => (false, true),
            FramebufferTarget::Both => (true, true),
            FramebufferTarget::Named => (false, false),
        };
        // A framebuffer that is bound and changes counts as bound anew: one serial to look at for a verb.
        if draw || self.bind.state.draw_framebuffer == state.fbo {
            self.bind.state.draw_framebuffer = state.fbo;
            self.bind.serials.draw_framebuffer = serial;
        }
        if read || self.bind.state.read_framebuffer == state.fbo {
            self.bind.state.read_framebuffer = state.fbo;
            self.bind.serials.read_framebuffer = serial;
        }
        self.bind.trouble.set(Trouble::UNCHECKED, true);
        Ok(())
    }

    fn attachable(&self, surface: &Surface) -> Result<(), Fault> {
        match surface.kind() {
            Some(SurfaceKind::None) => Ok(()),
            Some(SurfaceKind::Texture) => self.known(Kind::Texture, surface.resource, "surface"),
            Some(SurfaceKind::Renderbuffer) => self.known(Kind::Renderbuffer, surface.resource, "surface"),
            None => Err(self.corrupt("surface")),
        }
    }

    pub(super) fn set_vertex_buffers(
        &mut self,
        head: &VertexBuffers,
        buffers: &[VertexBuffer],
    ) -> Result<(), Fault> {
        // A draw is looked at again only if one of these, or of those before, was refused.
        let mut refused = self.bind.trouble.any(Trouble::DRAW_REFUSED);
        for (buffer, index) in buffers.iter().zip(head.start..) {
            self.must(buffer.binding_index == index, "binding_index")?;
            if !buffer.resource.is_null() {
                let known = self.objects.buffers.known(buffer.resource);
                refused |= known.ok_or(self.unnamed("resource"))?.is_refused();
            }
        }
        let set = self.bind.state.vertex_buffers.set(head.start, buffers);
        self.must(set, "count")?;
        self.bind.serials.vertex_buffers = self.next_serial();
        if refused {
            self.bind.trouble.set(Trouble::UNCHECKED, true);
        }
        Ok(())
    }

    pub(super) fn set_index_buffer(&mut self, index: &IndexBuffer) -> Result<(), Fault> {
        self.null_or_known(Kind::Buffer, index.resource, "resource")?;
        self.bind.state.index_buffer = *index;
        self.bind.serials.index_buffer = self.next_serial();
        Ok(())
    }

    pub(super) fn set_indirect_buffers(&mut self, buffers: &IndirectBuffers) -> Result<(), Fault> {
        self.null_or_known(Kind::Buffer, buffers.draw_indirect, "draw_indirect")?;
        self.null_or_known(Kind::Buffer, buffers.parameter, "parameter")?;
        self.bind.state.indirect_buffers = *buffers;
        self.bind.serials.indirect_buffers = self.next_serial();
        Ok(())
    }

    pub(super) fn set_sampler_views(
        &mut self,
        head: &SamplerViews,
        views: &[BoundView],
    ) -> Result<(), Fault> {
        for (bound, unit) in views.iter().zip(head.start..) {
            self.must(bound.unit == unit, "unit")?;
            self.null_or_known(Kind::Texture, bound.texture, "texture")?;
            if !bound.view.is_null() {
                let view = self.objects.sampler_views.known(bound.view).ok_or(self.unnamed("view"))?;
                self.must(view.record.texture == bound.texture, "view")?;
            }
        }
        let set = self.bind.state.sampler_views.set(head.start, views);
        self.must(set, "count")?;
        self.bind.serials.sampler_views = self.next_serial();
        self.windows_moved();
        Ok(())
    }

    pub(super) fn bind_sampler_states(
        &mut self,
        head: &SamplerStates,
        samplers: &[Handle],
    ) -> Result<(), Fault> {
        for sampler in samplers {
            self.null_or_known(Kind::SamplerCso, *sampler, "samplers")?;
        }
        let set = self.bind.state.sampler_states.set(head.start, samplers);
        self.must(set, "count")?;
        self.bind.serials.sampler_states = self.next_serial();
        self.windows_moved();
        Ok(())
    }

    pub(super) fn set_shader_images(
        &mut self,
        head: &ShaderImages,
        images: &[ImageView],
    ) -> Result<(), Fault> {
        for (image, unit) in images.iter().zip(head.start..) {
            self.must(image.unit == unit, "unit")?;
            self.null_or_known(Kind::Texture, image.resource, "resource")?;
        }
        let set = self.bind.state.shader_images.set(head.start, images);
        self.must(set, "count")?;
        self.bind.serials.shader_images = self.next_serial();
        Ok(())
    }

    pub(super) fn bind_shader_image(&mut self, bind: &ImageBind) -> Result<(), Fault> {
        self.null_or_known(Kind::Texture, bind.resource, "resource")?;
        let image = ImageView {
            resource: bind.resource,
            unit: bind.unit,
            internal_format: bind.format,
            layer: u32::try_from(bind.layer).map_err(|_| self.corrupt("layer"))?,
            level: u16::try_from(bind.level).map_err(|_| self.corrupt("level"))?,
            layered: bind.layered,
            access: bind.access as u8,
        };
        // Points between the window and a new one say which they are, as a set of the whole would.
        let images = &mut self.bind.state.shader_images;
        let set = images.set_one(bind.unit, image);
        let start = images.start();
        for (image, unit) in images.covered_mut().iter_mut().zip(start..) {
            image.unit = unit;
        }
        self.must(set, "unit")?;
        self.bind.serials.shader_images = self.next_serial();
        Ok(())
    }

    pub(super) fn set_shader_buffers(
        &mut self,
        head: &ShaderBuffers,
        buffers: &[BufferRange],
    ) -> Result<(), Fault> {
        for buffer in buffers {
            self.null_or_known(Kind::Buffer, buffer.resource, "resource")?;
        }
        let class = head.class().ok_or(self.corrupt("class"))?;
        let serial = self.next_serial();
        let window = self.bind.state.buffers_mut(class);
        let set = window.buffers.set(head.start, buffers);
        window.writable = head.writable_mask;
        if let Some(moved) = self.bind.serials.shader_buffers.get_mut(class as usize) {
            *moved = serial;
        }
        self.must(set, "count")
    }

    pub(super) fn set_vertex_attrib_defaults(
        &mut self,
        head: &VertexAttribDefaults,
        values: &[AttribValue],
    ) -> Result<(), Fault> {
        let mut mask = head.mask;
        for value in values {
            // Each value is that of the lowest attribute left in the mask.
            self.must(mask != 0 && value.location == mask.trailing_zeros(), "mask")?;
            mask &= mask - 1;
            if let Some(place) = self.bind.state.attrib_defaults.get_mut(value.location as usize) {
                *place = *value;
            }
        }
        self.must(mask == 0, "mask")?;
        self.bind.serials.attrib_defaults = self.next_serial();
        Ok(())
    }

    pub(super) fn set_pixel_pack_state(&mut self, pack: &PixelPackState) -> Result<(), Fault> {
        self.bind.state.pixel_pack = *pack;
        self.bind.serials.pixel_pack = self.next_serial();
        Ok(())
    }

    pub(super) fn set_patch_state(&mut self, patch: &PatchState) -> Result<(), Fault> {
        self.bind.state.patch = *patch;
        self.bind.serials.patch = self.next_serial();
        Ok(())
    }

    pub(super) fn patch_parameter(&mut self, vertices: u32) -> Result<(), Fault> {
        self.bind.state.patch.vertices = vertices;
        self.bind.serials.patch = self.next_serial();
        Ok(())
    }

    pub(super) fn set_context_values(&mut self, values: &ContextValues) -> Result<(), Fault> {
        self.must(values.max_touched_texture_unit < limits::TEXTURE_UNITS, "max_touched_texture_unit")?;
        let counts = values.touched_buffer_binding_point_count;
        self.must(
            counts.iter().all(|count| *count <= limits::BUFFER_BINDINGS),
            "touched_buffer_binding_point_count",
        )?;
        self.bind.state.values = *values;
        self.bind.trouble.set(Trouble::NO_VALUES, false);
        self.bind.serials.values = self.next_serial();
        self.windows_moved();
        Ok(())
    }

    pub(super) fn set_conditional_render(&mut self, condition: &ConditionalRender) -> Result<(), Fault> {
        self.null_or_known(Kind::Query, condition.query, "query")?;
        self.bind.state.conditional_render = *condition;
        self.bind.serials.conditional_render = self.next_serial();
        Ok(())
    }

    /// Whether the windows of views and samplers still cover every unit that was touched.
    fn windows_moved(&mut self) {
        let state = &self.bind.state;
        let touched = state.values.max_touched_texture_unit + 1;
        let covered = state.sampler_views.count() >= touched && state.sampler_states.count() >= touched;
        self.bind.trouble.set(Trouble::UNCOVERED, !covered);
    }
}
