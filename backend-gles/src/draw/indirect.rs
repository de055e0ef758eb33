//! Draws whose parameters lie in buffers.
//!
//! The driver reads them where it can. They are read here, which waits for the GPU, where it cannot: where it has no
//! such draws, where it would ignore a first instance that moves arrays, and where indices are to be rewritten or do not
//! begin with their buffer. A number of draws that lies in a buffer is always read here: OpenGL ES has no such draws.

use runahead_core::{
    backend::{Outcome, Scope},
    storage::Storage,
};
use runahead_wire::payload::{DrawIndirect, DrawRange};

use super::ranges::{Call, Indices, Restart, count};
use crate::{
    Gles, buffers,
    context::Native,
    extended::call,
    gl::{FAILED, Gl, UNSUPPORTED},
};

/// Words of one draw's parameters without indices, and with (OpenGL ES 3.2 section 10.5).
const WORDS: u64 = 4;
const INDEXED_WORDS: u64 = 5;

impl Native {
    /// Draws what the parameters say.
    #[cold]
    pub(super) fn draw_indirect<S: Storage>(
        &mut self,
        gl: &Gl,
        scope: &mut Scope<'_, Gles, S>,
        mode: u32,
        indexed: Option<(glow::NativeBuffer, Indices)>,
        draws: &DrawIndirect,
    ) -> Outcome {
        let home = self.home;
        let buffers = &mut scope.objects.buffers;
        let parameters = buffers::resolve(gl, home, buffers, draws.buffer)?.ok_or(FAILED)?;
        let mut number = draws.draw_count;
        if let Some(buffer) = buffers::resolve(gl, home, buffers, draws.parameter_buffer)? {
            let bytes = self.bound.fetch(gl, buffer, draws.parameter_offset, 4)?;
            let (words, _) = bytes.as_chunks::<4>();
            number = words.first().map_or(0, |word| u32::from_le_bytes(*word)).min(number);
        }
        if number == 0 {
            return Ok(());
        }
        let size = 4 * if indexed.is_some() { INDEXED_WORDS } else { WORDS };
        let stride = if draws.stride == 0 { size } else { u64::from(draws.stride) };
        let first_instances = gl.extended.draw_arrays_instanced_base_instance.is_some();
        let own = (first_instances || !self.vertices.is_instanced())
            && indexed
                .is_none_or(|(_, indices)| indices.start == 0 && !matches!(indices.restart, Restart::At(_)));
        let indices = indexed.map(|(_, indices)| indices.kind);
        if own && self.draw_from_buffer(gl, mode, indices, parameters, (draws.offset, stride, number))? {
            return Ok(());
        }
        let bytes = self.bound.fetch(gl, parameters, draws.offset, stride * u64::from(number - 1) + size)?;
        for one in bytes.chunks(stride as usize) {
            let (words, _) = one.as_chunks::<4>();
            let word = |at: usize| words.get(at).map_or(0, |word| u32::from_le_bytes(*word));
            let bias = if indexed.is_some() { word(3) as i32 } else { 0 };
            let range = DrawRange { start: word(2), count: word(0), index_bias: bias };
            let first_instance = word(if indexed.is_some() { 4 } else { 3 });
            let call = Call { mode, instances: count(word(1))?, first_instance };
            match &indexed {
                None => self.draw_arrays(gl, call, &[range])?,
                Some((source, indices)) => self.draw_indexed(gl, call, (*source, indices), &[range])?,
            }
        }
        Ok(())
    }

    /// Has the driver read the parameters; `false` where it has no such draws.
    fn draw_from_buffer(
        &mut self,
        gl: &Gl,
        mode: u32,
        indices: Option<u32>,
        parameters: glow::NativeBuffer,
        (offset, stride, number): (u64, u64, u32),
    ) -> Outcome<bool> {
        let extended = &gl.extended;
        let at = |draw: u64| {
            let offset = usize::try_from(offset + draw * stride).map_err(|_| UNSUPPORTED);
            offset.map(std::ptr::without_provenance)
        };
        let (draws, apart) = (count(number)?, count(stride as u32)?);
        match (indices, extended.draw_arrays_indirect, extended.draw_elements_indirect) {
            (None, Some(draw), _) => {
                self.bound.indirect(gl, parameters);
                match extended.multi_draw_arrays_indirect {
                    Some(draw) if number > 1 => call!(draw, mode, at(0)?, draws, apart),
                    _ => {
                        for number in 0..u64::from(number) {
                            call!(draw, mode, at(number)?);
                        }
                    }
                }
                Ok(true)
            }
            (Some(kind), _, Some(draw)) => {
                self.bound.indirect(gl, parameters);
                match extended.multi_draw_elements_indirect {
                    Some(draw) if number > 1 => call!(draw, mode, kind, at(0)?, draws, apart),
                    _ => {
                        for number in 0..u64::from(number) {
                            call!(draw, mode, kind, at(number)?);
                        }
                    }
                }
                Ok(true)
            }
            _ => Ok(false),
        }
    }
}
