//! Draws, clears and blits.

use runahead_core::{
    backend::{Outcome, Scope},
    storage::Storage,
};
use runahead_wire::{
    Handle,
    payload::{Blit, Clear, DrawInfo, DrawRange},
    values::{BufferMask, ClearKind, DrawFlags, Filter, Topology, ValueClass},
};

use glow::HasContext;

use crate::{
    Gles,
    context::Native,
    framebuffers,
    gl::{FAILED, Gl, UNSUPPORTED, gl, raw},
    queries,
};

const fn mode(topology: Topology, version: u32) -> Option<u32> {
    Some(match topology {
        Topology::Points => glow::POINTS,
        Topology::Lines => glow::LINES,
        Topology::LineLoop => glow::LINE_LOOP,
        Topology::LineStrip => glow::LINE_STRIP,
        Topology::Triangles => glow::TRIANGLES,
        Topology::TriangleStrip => glow::TRIANGLE_STRIP,
        Topology::TriangleFan => glow::TRIANGLE_FAN,
        Topology::Patches if version >= 32 => glow::PATCHES,
        Topology::LinesAdjacency if version >= 32 => glow::LINES_ADJACENCY,
        Topology::LineStripAdjacency if version >= 32 => glow::LINE_STRIP_ADJACENCY,
        Topology::TrianglesAdjacency if version >= 32 => glow::TRIANGLES_ADJACENCY,
        Topology::TriangleStripAdjacency if version >= 32 => glow::TRIANGLE_STRIP_ADJACENCY,
        _ => return None,
    })
}

/// A count or a first vertex, as the driver takes it.
fn count(number: u32) -> Outcome<i32> {
    i32::try_from(number).map_err(|_| UNSUPPORTED)
}

impl Native {
    /// Draws.
    pub(crate) fn draw<S: Storage>(
        &mut self,
        gl: &Gl,
        scope: &mut Scope<'_, Gles, S>,
        info: &DrawInfo,
        ranges: &[DrawRange],
    ) -> Outcome {
        if !queries::condition(gl, scope)? || !self.prepare(gl, scope)? {
            return Ok(());
        }
        let mode = info.mode().and_then(|topology| mode(topology, gl.version)).ok_or(UNSUPPORTED)?;
        // A first instance would need offsets of every instanced attribute to move with it.
        if info.start_instance != 0 {
            return Err(UNSUPPORTED);
        }
        let restart = info.flags & DrawFlags::PRIMITIVE_RESTART.raw8() != 0;
        let instances = count(info.instance_count)?;
        if info.index_size == 0 {
            self.render.set_restart(gl, false);
            for range in ranges {
                let (first, vertices) = (count(range.start)?, count(range.count)?);
                if instances == 1 {
                    gl!(gl, draw_arrays(mode, first, vertices));
                } else {
                    gl!(gl, draw_arrays_instanced(mode, first, vertices, instances));
                }
            }
            return Ok(());
        }
        let (kind, largest) = match info.index_size {
            1 => (glow::UNSIGNED_BYTE, 0xFF),
            2 => (glow::UNSIGNED_SHORT, 0xFFFF),
            _ => (glow::UNSIGNED_INT, u32::MAX),
        };
        if restart && info.restart_index != largest {
            return Err(UNSUPPORTED);
        }
        self.render.set_restart(gl, restart);
        let home = self.home;
        self.vertices.sync_indices(gl, home, scope, info.index_resource)?;
        let binding = &scope.bind.state.index_buffer;
        let start = if binding.resource == info.index_resource { binding.offset } else { 0 };
        for range in ranges {
            if range.index_bias != 0 {
                return Err(UNSUPPORTED);
            }
            let indices = count(range.count)?;
            let offset = u64::from(range.start) * u64::from(info.index_size) + start;
            let at = std::ptr::without_provenance(usize::try_from(offset).map_err(|_| UNSUPPORTED)?);
            if instances == 1 {
                raw!(gl, draw_elements(mode, indices, kind, at));
            } else {
                raw!(gl, draw_elements_instanced(mode, indices, kind, at, instances));
            }
        }
        Ok(())
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
        let filter = match blit.filter().ok_or(FAILED)? {
            Filter::Nearest => glow::NEAREST,
            Filter::Linear => glow::LINEAR,
        };
        let mask = mask(blit.mask().ok_or(FAILED)?);
        gl.clear_errors();
        if self.resolve_apart(gl, scope, blit, mask)? {
            return gl.outcome();
        }
        gl!(
            gl,
            blit_framebuffer(
                blit.src_x0,
                blit.src_y0,
                blit.src_x1,
                blit.src_y1,
                blit.dst_x0,
                blit.dst_y0,
                blit.dst_x1,
                blit.dst_y1,
                mask,
                filter
            )
        );
        gl.outcome()
    }
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
