//! Draws, clears and blits.

use runahead_core::{
    backend::{Outcome, Scope},
    storage::Storage,
};
use runahead_wire::{
    Handle,
    payload::{Blit, Clear, DrawIndirect, DrawInfo, DrawRange, FramebufferState},
    values::{BufferMask, ClearKind, DrawFlags, Filter, StageMask, Topology, ValueClass},
};

use glow::HasContext;

use crate::{
    Gles, buffers,
    context::Native,
    extended::Able,
    framebuffers,
    gl::{FAILED, Gl, UNSUPPORTED, gl},
    queries,
};

mod indirect;
mod ranges;
mod restart;

pub(crate) use ranges::Several;
use ranges::{Call, Indices, Restart, count};

/// The driver's name of a topology; none where it does not have it.
const fn mode(topology: Topology, able: &Able) -> Option<u32> {
    Some(match topology {
        Topology::Points => glow::POINTS,
        Topology::Lines => glow::LINES,
        Topology::LineLoop => glow::LINE_LOOP,
        Topology::LineStrip => glow::LINE_STRIP,
        Topology::Triangles => glow::TRIANGLES,
        Topology::TriangleStrip => glow::TRIANGLE_STRIP,
        Topology::TriangleFan => glow::TRIANGLE_FAN,
        Topology::LinesAdjacency if able.adjacency => glow::LINES_ADJACENCY,
        Topology::LineStripAdjacency if able.adjacency => glow::LINE_STRIP_ADJACENCY,
        Topology::TrianglesAdjacency if able.adjacency => glow::TRIANGLES_ADJACENCY,
        Topology::TriangleStripAdjacency if able.adjacency => glow::TRIANGLE_STRIP_ADJACENCY,
        Topology::Patches if able.patches => glow::PATCHES,
        _ => return None,
    })
}

impl Native {
    /// Draws.
    pub(crate) fn draw<S: Storage>(
        &mut self,
        gl: &Gl,
        scope: &mut Scope<'_, Gles, S>,
        info: &DrawInfo,
        ranges: &[DrawRange],
        indirect: Option<&DrawIndirect>,
    ) -> Outcome {
        if !queries::condition(gl, scope)? {
            return Ok(());
        }
        // After a draw there is nothing to bring up to date unless something came in between.
        let steady = Some((scope.context, scope.serial));
        if self.steady != steady || self.vertices.are_moved() {
            if !self.prepare(gl, scope)? {
                return Ok(());
            }
            self.steady = steady.filter(|_| indirect.is_none());
        }
        let topology = info.mode().ok_or(FAILED)?;
        let mode = mode(topology, &gl.extended.able).ok_or(UNSUPPORTED)?;
        self.render.allow_draw(topology, || target(scope, Handle::NULL))?;
        if topology == Topology::Patches {
            self.can_patch(gl, scope, info)?;
        }
        let call = Call { mode, instances: count(info.instance_count)?, first_instance: info.start_instance };
        if info.index_size == 0 {
            return match indirect {
                None => self.draw_arrays(gl, call, ranges),
                Some(draws) => self.draw_indirect(gl, scope, mode, None, draws),
            };
        }
        let indices = self.sync_indices(gl, scope, info)?;
        match indirect {
            None if !must_rewrite(gl, &indices, ranges) => self.draw_elements(gl, call, &indices, ranges),
            None => {
                let source = self.source(gl, scope, info)?;
                self.draw_indexed(gl, call, (source, &indices), ranges)
            }
            Some(draws) => {
                let source = self.source(gl, scope, info)?;
                self.draw_indirect(gl, scope, mode, Some((source, indices)), draws)
            }
        }
    }

    /// Binds the indices of a draw and sees to what ends its primitives.
    #[inline]
    fn sync_indices<S: Storage>(
        &mut self,
        gl: &Gl,
        scope: &mut Scope<'_, Gles, S>,
        info: &DrawInfo,
    ) -> Outcome<Indices> {
        let (kind, largest) = match info.index_size {
            1 => (glow::UNSIGNED_BYTE, 0xFF),
            2 => (glow::UNSIGNED_SHORT, 0xFFFF),
            _ => (glow::UNSIGNED_INT, u32::MAX),
        };
        let restart = if info.flags & DrawFlags::PRIMITIVE_RESTART.raw8() == 0 {
            Restart::Off
        } else {
            match info.restart_index {
                // No index of the type is larger than the largest one.
                index if index > largest => Restart::Off,
                index if index == largest => Restart::Fixed,
                index => Restart::At(index),
            }
        };
        self.render.set_restart(gl, restart != Restart::Off);
        self.vertices.sync_indices(gl, self.home, scope, info.index_resource)?;
        let bytes =
            scope.objects.buffers.get(info.index_resource).map_or(0, |buffer| buffer.record.desc.buf_size);
        let binding = &scope.bind.state.index_buffer;
        let start = if binding.resource == info.index_resource { binding.offset } else { 0 };
        let size = u64::from(info.index_size);
        Ok(Indices { kind, size, start, there: bytes.saturating_sub(start) / size, restart })
    }

    /// The driver's buffer of the indices.
    fn source<S: Storage>(
        &self,
        gl: &Gl,
        scope: &mut Scope<'_, Gles, S>,
        info: &DrawInfo,
    ) -> Outcome<glow::NativeBuffer> {
        buffers::resolve(gl, self.home, &mut scope.objects.buffers, info.index_resource)?.ok_or(FAILED)
    }

    /// Draws ranges of indices, rewritten where they must be.
    fn draw_indexed(
        &mut self,
        gl: &Gl,
        call: Call,
        (source, indices): (glow::NativeBuffer, &Indices),
        ranges: &[DrawRange],
    ) -> Outcome {
        if must_rewrite(gl, indices, ranges) {
            self.draw_rewritten(gl, call, (source, indices), ranges)
        } else {
            // A range of before may have been rewritten.
            self.vertices.bind_indices(gl, source);
            self.draw_elements(gl, call, indices, ranges)
        }
    }

    /// Whether patches can be drawn: a program that takes them, and indices that the driver can restart.
    #[cold]
    fn can_patch<S: Storage>(&self, gl: &Gl, scope: &Scope<'_, Gles, S>, info: &DrawInfo) -> Outcome {
        let program = scope.objects.shaders.get(scope.bind.state.draw_program);
        let stages = program.and_then(|program| program.record.desc.stage_mask());
        let takes = stages.is_some_and(|stages| stages.contains(StageMask::TESS_EVALUATION));
        let restarts = info.index_size != 0 && info.flags & DrawFlags::PRIMITIVE_RESTART.raw8() != 0;
        if takes && (!restarts || gl.extended.able.patch_restart) { Ok(()) } else { Err(UNSUPPORTED) }
    }

    /// Brings everything that a draw looks at up to date; `false` when there is no program to draw with.
    #[inline]
    fn prepare<S: Storage>(&mut self, gl: &Gl, scope: &mut Scope<'_, Gles, S>) -> Outcome<bool> {
        let home = self.home;
        self.bound.settle(gl, home, &mut scope.objects.buffers)?;
        let program = scope.bind.state.draw_program;
        let Some(ready) = self.programs.sync(gl, home, scope, program)? else { return Ok(false) };
        self.framebuffers.sync_draw(gl, (home, &mut self.units), scope)?;
        if ready.is_compute || ready.broadcasts && self.draws_to_several(scope) {
            return Err(UNSUPPORTED);
        }
        self.render.sync(gl, scope.bind)?;
        self.vertices.sync(gl, home, scope)?;
        self.vertices.sync_values(gl, scope, ready.inputs);
        self.sync_units(gl, scope, program, ready.uses_serial)?;
        self.sync_shading(gl, scope, &ready)?;
        Ok(true)
    }

    /// The units of the program.
    #[inline]
    pub(crate) fn sync_units<S: Storage>(
        &mut self,
        gl: &Gl,
        scope: &mut Scope<'_, Gles, S>,
        program: Handle,
        serial: u64,
    ) -> Outcome {
        self.take_uses(scope, program, serial)?;
        self.units.sync(gl, self.home, scope, program, serial, &self.uses.2.textures)
    }

    fn draws_to_several<S: Storage>(&self, scope: &Scope<'_, Gles, S>) -> bool {
        let fbo = scope.bind.state.draw_framebuffer;
        scope.objects.framebuffers.get(fbo).is_some_and(|object| framebuffers::drawn(&object.record) > 1)
    }

    /// Clears.
    pub(crate) fn clear<S: Storage>(
        &mut self,
        gl: &Gl,
        scope: &mut Scope<'_, Gles, S>,
        clear: &Clear,
    ) -> Outcome {
        if !queries::condition(gl, scope)? {
            return Ok(());
        }
        let home = self.home;
        if clear.fbo.is_null() {
            self.framebuffers.sync_draw(gl, (home, &mut self.units), scope)?;
        } else {
            self.framebuffers.draw(gl, (home, &mut self.units), scope, clear.fbo)?;
        }
        self.render.sync(gl, scope.bind)?;
        self.render.allow_write(|| target(scope, clear.fbo))?;
        let buffer = u32::try_from(clear.draw_buffer_index).unwrap_or(0);
        match clear.kind().ok_or(FAILED)? {
            ClearKind::Whole => {
                let mask = mask(clear.buffer_mask().ok_or(FAILED)?);
                gl!(gl, clear(mask));
            }
            ClearKind::Color => match clear.value_class().ok_or(FAILED)? {
                ValueClass::Float => {
                    let value = clear.color_value.map(f32::from_bits);
                    gl!(gl, clear_buffer_f32_slice(glow::COLOR, buffer, &value));
                }
                ValueClass::Int => {
                    let value = clear.color_value.map(|bits| bits as i32);
                    gl!(gl, clear_buffer_i32_slice(glow::COLOR, buffer, &value));
                }
                ValueClass::Uint => {
                    gl!(gl, clear_buffer_u32_slice(glow::COLOR, buffer, &clear.color_value));
                }
            },
            ClearKind::Depth => gl!(gl, clear_buffer_f32_slice(glow::DEPTH, 0, &[clear.depth_value])),
            ClearKind::Stencil => gl!(gl, clear_buffer_i32_slice(glow::STENCIL, 0, &[clear.stencil_value])),
            ClearKind::DepthStencil => {
                let (depth, stencil) = (clear.depth_value, clear.stencil_value);
                gl!(gl, clear_buffer_depth_stencil(glow::DEPTH_STENCIL, 0, depth, stencil));
            }
        }
        Ok(())
    }

    /// Blits.
    pub(crate) fn blit<S: Storage>(
        &mut self,
        gl: &Gl,
        scope: &mut Scope<'_, Gles, S>,
        blit: &Blit,
    ) -> Outcome {
        if !queries::condition(gl, scope)? {
            return Ok(());
        }
        let home = self.home;
        if blit.draw_fbo.is_null() {
            self.framebuffers.sync_draw(gl, (home, &mut self.units), scope)?;
        } else {
            self.framebuffers.draw(gl, (home, &mut self.units), scope, blit.draw_fbo)?;
        }
        if blit.read_fbo.is_null() {
            self.framebuffers.sync_read(gl, (home, &mut self.units), scope)?;
        } else {
            self.framebuffers.read(gl, (home, &mut self.units), scope, blit.read_fbo)?;
        }
        // The scissor box counts for blits (OpenGL ES 3.2 section 16.2.1).
        self.render.sync(gl, scope.bind)?;
        self.render.allow_write(|| target(scope, blit.draw_fbo))?;
        let filter = match blit.filter().ok_or(FAILED)? {
            Filter::Nearest => glow::NEAREST,
            Filter::Linear => glow::LINEAR,
        };
        let mask = mask(blit.mask().ok_or(FAILED)?);
        gl.clear_errors();
        let corners = (
            [blit.src_x0, blit.src_y0, blit.src_x1, blit.src_y1],
            [blit.dst_x0, blit.dst_y0, blit.dst_x1, blit.dst_y1],
        );
        if self.resolve_apart(gl, scope, blit, corners, mask)? {
            return gl.outcome();
        }
        gl.blit(corners.0, corners.1, mask, filter);
        gl.outcome()
    }
}

/// Whether a draw is not one of the driver's, nor one for which buffers can be moved.
#[inline]
fn must_rewrite(gl: &Gl, indices: &Indices, ranges: &[DrawRange]) -> bool {
    matches!(indices.restart, Restart::At(_))
        || gl.extended.draw_elements_base_vertex.is_none() && ranges.iter().any(|range| range.index_bias < 0)
}

/// State of a framebuffer; with a null handle, of the one that is bound for draws.
fn target<'a, S: Storage>(scope: &'a Scope<'_, Gles, S>, fbo: Handle) -> &'a FramebufferState {
    let state = &scope.bind.state;
    let fbo = if fbo.is_null() { state.draw_framebuffer } else { fbo };
    scope.objects.framebuffers.get(fbo).map_or(&state.default_framebuffer, |object| &object.record)
}

/// Buffers of a clear or a blit.
const fn mask(mask: BufferMask) -> u32 {
    let mut bits = 0;
    if mask.contains(BufferMask::COLOR) {
        bits |= glow::COLOR_BUFFER_BIT;
    }
    if mask.contains(BufferMask::DEPTH) {
        bits |= glow::DEPTH_BUFFER_BIT;
    }
    if mask.contains(BufferMask::STENCIL) {
        bits |= glow::STENCIL_BUFFER_BIT;
    }
    bits
}
