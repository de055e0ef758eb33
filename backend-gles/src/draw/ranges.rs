//! Ranges of vertices and of indices, by the draws that the driver has.
//!
//! An index bias and a first instance are the driver's own where it has them; elsewhere the buffers are moved
//! ([`Shift`]). Several ranges are one call where the driver has one, and otherwise a call each.

use std::ffi::c_void;

use runahead_core::backend::Outcome;
use runahead_wire::payload::DrawRange;

use glow::HasContext;

use crate::{
    context::Native,
    extended::call,
    gl::{FAILED, Gl, UNSUPPORTED, gl, raw},
    vertex::Shift,
};

/// What is the same for every range of a draw.
#[derive(Clone, Copy, Debug)]
pub(super) struct Call {
    pub(super) mode: u32,
    pub(super) instances: i32,
    pub(super) first_instance: u32,
}

/// The indices of a draw.
#[derive(Clone, Copy, Debug)]
pub(super) struct Indices {
    /// Their type, as the driver calls it.
    pub(super) kind: u32,
    /// Bytes of each.
    pub(super) size: u64,
    /// Where the first one is in its buffer, and how many there are.
    pub(super) start: u64,
    pub(super) there: u64,
    /// What ends a primitive.
    pub(super) restart: Restart,
}

/// What ends a primitive within a draw.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Restart {
    /// No index.
    Off,
    /// The largest index of the type.
    Fixed,
    /// Another index.
    At(u32),
}

/// Room for the ranges of one call.
#[derive(Debug, Default)]
pub(crate) struct Several {
    firsts: Vec<i32>,
    counts: Vec<i32>,
    /// Addresses of indices, as offsets.
    offsets: Vec<usize>,
}

/// A count or a first vertex, as the driver takes it.
pub(super) fn count(number: u32) -> Outcome<i32> {
    i32::try_from(number).map_err(|_| UNSUPPORTED)
}

impl Indices {
    /// A range of them, without what lies beyond the end of the buffer: offset of the first, and count.
    pub(super) fn within(&self, range: &DrawRange) -> (u64, u64) {
        let left = self.there.saturating_sub(u64::from(range.start));
        (self.start + u64::from(range.start) * self.size, u64::from(range.count).min(left))
    }
}

/// An offset, as the driver takes it.
const fn address(offset: u64) -> *const c_void {
    std::ptr::without_provenance(offset as usize)
}

impl Native {
    /// Draws ranges of vertices.
    #[inline]
    pub(super) fn draw_arrays(&mut self, gl: &Gl, call: Call, ranges: &[DrawRange]) -> Outcome {
        if let [range] = ranges {
            let (first, vertices) = (count(range.start)?, count(range.count)?);
            return self.draw_vertices(gl, call, first, vertices);
        }
        self.several.firsts.clear();
        self.several.counts.clear();
        for range in ranges {
            self.several.firsts.push(count(range.start)?);
            self.several.counts.push(count(range.count)?);
        }
        let plain = call.instances == 1 && call.first_instance == 0;
        if let Some(draw) = gl.extended.multi_draw_arrays.filter(|_| plain && !ranges.is_empty()) {
            let (firsts, counts) = (self.several.firsts.as_ptr(), self.several.counts.as_ptr());
            call!(draw, call.mode, firsts, counts, ranges.len() as i32);
            return Ok(());
        }
        for range in ranges {
            self.draw_vertices(gl, call, range.start as i32, range.count as i32)?;
        }
        Ok(())
    }

    #[inline]
    fn draw_vertices(&mut self, gl: &Gl, call: Call, first: i32, vertices: i32) -> Outcome {
        let Call { mode, instances, first_instance } = call;
        if first_instance != 0
            && let Some(draw) = gl.extended.draw_arrays_instanced_base_instance
            && own_instances(gl)
        {
            call!(draw, mode, first, vertices, instances, first_instance);
            return Ok(());
        }
        self.vertices.move_by(gl, Shift { vertices: 0, instances: first_instance })?;
        if instances == 1 {
            gl!(gl, draw_arrays(mode, first, vertices));
        } else {
            gl!(gl, draw_arrays_instanced(mode, first, vertices, instances));
        }
        Ok(())
    }

    /// Draws ranges of indices. The index buffer is bound.
    #[inline]
    pub(super) fn draw_elements(
        &mut self,
        gl: &Gl,
        call: Call,
        indices: &Indices,
        ranges: &[DrawRange],
    ) -> Outcome {
        if let [range] = ranges {
            let (offset, there) = indices.within(range);
            let number = i32::try_from(there).map_err(|_| UNSUPPORTED)?;
            return self.draw_indices(gl, call, indices.kind, offset, number, range.index_bias);
        }
        self.several.counts.clear();
        self.several.offsets.clear();
        for range in ranges {
            let (offset, there) = indices.within(range);
            self.several.counts.push(i32::try_from(there).map_err(|_| UNSUPPORTED)?);
            self.several.offsets.push(usize::try_from(offset).map_err(|_| UNSUPPORTED)?);
        }
        let plain = call.instances == 1
            && call.first_instance == 0
            && ranges.iter().all(|range| range.index_bias == 0);
        if let Some(draw) = gl.extended.multi_draw_elements.filter(|_| plain && !ranges.is_empty()) {
            let (counts, offsets) = (self.several.counts.as_ptr(), self.several.offsets.as_ptr());
            call!(draw, call.mode, counts, indices.kind, offsets.cast(), ranges.len() as i32);
            return Ok(());
        }
        for (at, range) in ranges.iter().enumerate() {
            let (Some(number), Some(offset)) = (self.several.counts.get(at), self.several.offsets.get(at))
            else {
                return Err(FAILED);
            };
            self.draw_indices(gl, call, indices.kind, *offset as u64, *number, range.index_bias)?;
        }
        Ok(())
    }

    #[inline]
    pub(super) fn draw_indices(
        &mut self,
        gl: &Gl,
        call: Call,
        kind: u32,
        offset: u64,
        number: i32,
        bias: i32,
    ) -> Outcome {
        let Call { mode, instances, first_instance } = call;
        let (extended, at) = (&gl.extended, address(offset));
        if number == 0 {
            return Ok(());
        }
        if first_instance != 0
            && let Some(draw) = extended.draw_elements_instanced_base_vertex_base_instance
            && own_instances(gl)
        {
            call!(draw, mode, number, kind, at, instances, bias, first_instance);
            return Ok(());
        }
        if bias != 0
            && let (Some(draw), Some(draw_instanced)) =
                (extended.draw_elements_base_vertex, extended.draw_elements_instanced_base_vertex)
        {
            self.vertices.move_by(gl, Shift { vertices: 0, instances: first_instance })?;
            if instances == 1 {
                call!(draw, mode, number, kind, at, bias);
            } else {
                call!(draw_instanced, mode, number, kind, at, instances, bias);
            }
            return Ok(());
        }
        self.vertices.move_by(gl, Shift { vertices: bias, instances: first_instance })?;
        if instances == 1 {
            raw!(gl, draw_elements(mode, number, kind, at));
        } else {
            raw!(gl, draw_elements_instanced(mode, number, kind, at, instances));
        }
        Ok(())
    }
}

/// Whether the driver's own first instance does: one value for all instances may be an array whose elements it would
/// count.
fn own_instances(gl: &Gl) -> bool {
    gl.extended.bind_vertex_buffer.is_some()
}
