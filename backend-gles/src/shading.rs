//! What shaders see at a verb beside vertices and textures, dispatches, and the order of what they write.

use runahead_core::{
    backend::{Outcome, Scope},
    bind_state::Capture,
    storage::Storage,
};
use runahead_wire::{
    Handle,
    payload::{GridInfo, MemoryBarrier},
    values::BarrierBits,
};

use glow::HasContext;

use crate::{
    Gles, buffers,
    context::Native,
    gl::{FAILED, Gl, UNSUPPORTED, gl},
    programs::Ready,
    queries,
};

/// Each access of a barrier, with the driver's bits. What a server does by another way than an application would is
/// ordered with it: counters are storage buffers here, and texels go and come by framebuffers and pixel buffers.
const BARRIERS: [(BarrierBits, u32); 14] = [
    (BarrierBits::VERTEX_ATTRIB_ARRAY, glow::VERTEX_ATTRIB_ARRAY_BARRIER_BIT),
    (BarrierBits::ELEMENT_ARRAY, glow::ELEMENT_ARRAY_BARRIER_BIT),
    (BarrierBits::UNIFORM, glow::UNIFORM_BARRIER_BIT),
    (BarrierBits::TEXTURE_FETCH, glow::TEXTURE_FETCH_BARRIER_BIT),
    (BarrierBits::SHADER_IMAGE_ACCESS, glow::SHADER_IMAGE_ACCESS_BARRIER_BIT),
    (BarrierBits::COMMAND, glow::COMMAND_BARRIER_BIT | glow::BUFFER_UPDATE_BARRIER_BIT),
    (BarrierBits::PIXEL_BUFFER, glow::PIXEL_BUFFER_BARRIER_BIT | glow::BUFFER_UPDATE_BARRIER_BIT),
    (BarrierBits::TEXTURE_UPDATE, glow::TEXTURE_UPDATE_BARRIER_BIT | glow::FRAMEBUFFER_BARRIER_BIT),
    (BarrierBits::BUFFER_UPDATE, glow::BUFFER_UPDATE_BARRIER_BIT | glow::PIXEL_BUFFER_BARRIER_BIT),
    (BarrierBits::FRAMEBUFFER, glow::FRAMEBUFFER_BARRIER_BIT),
    (BarrierBits::TRANSFORM_FEEDBACK, glow::TRANSFORM_FEEDBACK_BARRIER_BIT),
    (BarrierBits::ATOMIC_COUNTER, glow::ATOMIC_COUNTER_BARRIER_BIT | glow::SHADER_STORAGE_BARRIER_BIT),
    (BarrierBits::SHADER_STORAGE, glow::SHADER_STORAGE_BARRIER_BIT),
    // A map is copied to and from by buffer updates.
    (BarrierBits::CLIENT_MAPPED_BUFFER, glow::BUFFER_UPDATE_BARRIER_BIT),
];

/// Accesses that can be ordered by region (OpenGL ES 3.2 section 7.11.2).
const BY_REGION: u32 = glow::UNIFORM_BARRIER_BIT
    | glow::TEXTURE_FETCH_BARRIER_BIT
    | glow::SHADER_IMAGE_ACCESS_BARRIER_BIT
    | glow::FRAMEBUFFER_BARRIER_BIT
    | glow::ATOMIC_COUNTER_BARRIER_BIT
    | glow::SHADER_STORAGE_BARRIER_BIT;

/// The driver's bits of a barrier.
fn barriers(bits: BarrierBits) -> u32 {
    let meant = BARRIERS.iter().filter(|(bit, _)| bits.contains(*bit));
    meant.fold(0, |all, (_, native)| all | native)
}

/// Orders later accesses after earlier shader writes.
pub(crate) fn memory_barrier(gl: &Gl, barrier: &MemoryBarrier) -> Outcome {
    let bits = barriers(barrier.bits().ok_or(FAILED)?);
    // A driver without 3.1 has no shaders that write.
    if gl.version < 31 || bits == 0 {
        return Ok(());
    }
    if barrier.by_region != 0 && bits & !BY_REGION == 0 {
        gl!(gl, memory_barrier_by_region(bits));
    } else {
        gl!(gl, memory_barrier(bits));
    }
    Ok(())
}

impl Native {
    /// Makes points, image units, patches and capture that of the context. The program is current.
    #[inline]
    pub(crate) fn sync_shading<S: Storage>(
        &mut self,
        gl: &Gl,
        scope: &mut Scope<'_, Gles, S>,
        ready: &Ready,
    ) -> Outcome {
        let (home, serial) = (self.home, ready.uses_serial);
        let uses = &self.uses.2;
        self.points.sync(gl, home, scope, serial, uses)?;
        self.images.sync(gl, home, scope, serial, uses)?;
        if ready.is_tessellated {
            self.sync_patch(gl, scope)?;
        }
        self.captures.sync(gl, scope.context);
        self.programs.held = self.captures.is_running();
        Ok(())
    }

    /// Vertices of a patch. Levels are the control stage's, without which no program is taken.
    #[inline]
    fn sync_patch<S: Storage>(&mut self, gl: &Gl, scope: &Scope<'_, Gles, S>) -> Outcome {
        let vertices = scope.bind.state.patch.vertices;
        if self.patch != vertices {
            let most = gl.extended.able.patch_vertices;
            let count = i32::try_from(vertices).ok().filter(|count| (1..=most).contains(count));
            gl!(gl, patch_parameter_i32(glow::PATCH_VERTICES, count.ok_or(UNSUPPORTED)?));
            self.patch = vertices;
        }
        Ok(())
    }

    /// Takes note of what a program reads: its record is part of what the syncs look at.
    #[inline]
    pub(crate) fn take_uses<S: Storage>(
        &mut self,
        scope: &Scope<'_, Gles, S>,
        program: Handle,
        serial: u64,
    ) -> Outcome {
        let (of, at, uses) = &mut self.uses;
        if (*of, *at) != (program, serial) {
            let Some(object) = scope.objects.shaders.get(program) else { return Err(FAILED) };
            uses.copy(object.twin.uses());
            (*of, *at) = (program, serial);
        }
        Ok(())
    }

    /// Dispatches. `most` are the work groups that the driver takes.
    pub(crate) fn dispatch<S: Storage>(
        &mut self,
        gl: &Gl,
        scope: &mut Scope<'_, Gles, S>,
        grid: &GridInfo,
        most: [u32; 3],
    ) -> Outcome {
        // Groups whose size a dispatch gives are no part of OpenGL ES.
        if gl.version < 31 || [grid.block_x, grid.block_y, grid.block_z] != [0; 3] {
            return Err(UNSUPPORTED);
        }
        if !queries::condition(gl, scope)? {
            return Ok(());
        }
        let home = self.home;
        self.bound.settle(gl, home, &mut scope.objects.buffers)?;
        let program = scope.bind.state.dispatch_program;
        // A span of capture would hold its program.
        self.captures.suspend(gl);
        self.programs.held = false;
        let Some(ready) = self.programs.sync(gl, home, scope, program)? else { return Ok(()) };
        if !ready.is_compute {
            return Err(UNSUPPORTED);
        }
        self.sync_units(gl, scope, program, ready.uses_serial)?;
        let (serial, uses) = (ready.uses_serial, &self.uses.2);
        self.points.sync(gl, home, scope, serial, uses)?;
        self.images.sync(gl, home, scope, serial, uses)?;
        if grid.is_indirect == 0 {
            let groups = [grid.grid_x, grid.grid_y, grid.grid_z];
            if groups.iter().zip(most).any(|(groups, most)| *groups > most) {
                return Err(UNSUPPORTED);
            }
            let [x, y, z] = groups;
            gl!(gl, dispatch_compute(x, y, z));
            return Ok(());
        }
        let offset = i32::try_from(grid.indirect_offset).map_err(|_| UNSUPPORTED)?;
        let buffer = buffers::resolve(gl, home, &mut scope.objects.buffers, grid.indirect_buffer)?;
        gl!(gl, bind_buffer(glow::DISPATCH_INDIRECT_BUFFER, Some(buffer.ok_or(FAILED)?)));
        gl!(gl, dispatch_compute_indirect(offset));
        gl!(gl, bind_buffer(glow::DISPATCH_INDIRECT_BUFFER, None));
        Ok(())
    }

    /// Begins a span of capture.
    pub(crate) fn begin_capture<S: Storage>(
        &mut self,
        gl: &Gl,
        scope: &mut Scope<'_, Gles, S>,
        capture: &Capture,
    ) -> Outcome {
        let home = self.home;
        self.bound.settle(gl, home, &mut scope.objects.buffers)?;
        self.captures.suspend(gl);
        self.programs.held = false;
        let program = capture.begin.capture_program;
        let ready = self.programs.sync(gl, home, scope, program)?.ok_or(UNSUPPORTED)?;
        self.captures.begin(gl, home, scope, capture, ready.captured)?;
        self.programs.held = true;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_access_of_a_barrier_is_ordered() {
        for (bit, native) in BARRIERS {
            assert_ne!(native, 0, "{bit:?}");
            assert_eq!(barriers(bit), native);
        }
        let all = barriers(BarrierBits::ALL);
        assert_eq!(all, BARRIERS.iter().fold(0, |all, (_, native)| all | native));
        // Query buffers are read by nobody.
        assert_eq!(barriers(BarrierBits::QUERY_BUFFER), 0);
    }
}
