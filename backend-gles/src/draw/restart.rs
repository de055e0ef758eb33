//! Indices that are read, which waits for the GPU, and drawn from a buffer of our own: for primitive restart at an index
//! that is not the largest one, which OpenGL ES has not and which the largest index stands for then, and for an index
//! bias that is negative where the driver has none, since a buffer cannot be moved before its beginning.

use runahead_core::backend::{BackendError, Outcome};
use runahead_wire::{payload::DrawRange, values::RefusedReason};

use super::ranges::{Call, Indices, Restart};
use crate::{
    context::Native,
    gl::{Gl, UNSUPPORTED},
};

/// Indices of one range that are rewritten at most.
const MOST: u64 = 1 << 24;

/// Indices with the largest one in place of `restart` and `bias` added to the others, and their type. One that becomes the
/// largest and does not restart asks for wider ones.
fn rewrite(bytes: &[u8], size: u64, restart: Option<u32>, bias: i32) -> (Vec<u8>, u32) {
    // None where a primitive ends.
    let indices = || {
        let number =
            |index: &[u8]| index.iter().rev().fold(0_u32, |number, byte| number << 8 | u32::from(*byte));
        bytes.chunks_exact(size as usize).map(move |index| {
            let index = number(index);
            (Some(index) != restart).then(|| index.wrapping_add_signed(bias))
        })
    };
    if indices().flatten().all(|index| index < u32::from(u16::MAX)) {
        let narrow = indices().flat_map(|index| index.map_or(u16::MAX, |index| index as u16).to_le_bytes());
        return (narrow.collect(), glow::UNSIGNED_SHORT);
    }
    // No buffer has a vertex of the largest number, nor of the one before.
    let wide =
        indices().flat_map(|index| index.map_or(u32::MAX, |index| index.min(u32::MAX - 1)).to_le_bytes());
    (wide.collect(), glow::UNSIGNED_INT)
}

impl Native {
    /// Draws ranges of `source`.
    #[cold]
    pub(super) fn draw_rewritten(
        &mut self,
        gl: &Gl,
        call: Call,
        (source, indices): (glow::NativeBuffer, &Indices),
        ranges: &[DrawRange],
    ) -> Outcome {
        let restart = match indices.restart {
            Restart::Off => None,
            Restart::At(index) => Some(index),
            // All bits of the type.
            Restart::Fixed => Some(u32::MAX >> (32 - 8 * indices.size)),
        };
        let biased = gl.extended.draw_elements_base_vertex.is_some();
        for range in ranges {
            let (offset, there) = indices.within(range);
            if there > MOST {
                return Err(BackendError::Refused(RefusedReason::TooLarge));
            }
            if there == 0 {
                continue;
            }
            let number = i32::try_from(there).map_err(|_| UNSUPPORTED)?;
            let bytes = self.bound.fetch(gl, source, offset, there * indices.size)?;
            let (own, added) = if biased { (range.index_bias, 0) } else { (0, range.index_bias) };
            let (bytes, kind) = rewrite(&bytes, indices.size, restart, added);
            let name = self.bound.scratch(gl, &bytes)?;
            self.vertices.bind_indices(gl, name);
            self.draw_indices(gl, call, kind, 0, number, own)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_index_stands_for_the_one_that_restarts() {
        let words = |words: &[u16]| words.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<_>>();
        let long = |words: &[u32]| words.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<_>>();
        let short = glow::UNSIGNED_SHORT;
        assert_eq!(rewrite(&[1, 7, 0], 1, Some(7), 0), (words(&[1, 0xFFFF, 0]), short));
        // The largest byte is a vertex here.
        assert_eq!(rewrite(&[0xFF, 7], 1, Some(7), 0), (words(&[0xFF, 0xFFFF]), short));
        assert_eq!(rewrite(&words(&[0x102, 7]), 2, Some(0x102), 0), (words(&[0xFFFF, 7]), short));
        let wide = (long(&[u32::MAX, 0xFFFF]), glow::UNSIGNED_INT);
        assert_eq!(rewrite(&words(&[0x102, 0xFFFF]), 2, Some(0x102), 0), wide);
        let all = (long(&[u32::MAX, u32::MAX - 1, 0x0102_0304]), glow::UNSIGNED_INT);
        assert_eq!(rewrite(&long(&[9, u32::MAX, 0x0102_0304]), 4, Some(9), 0), all);
        // What restarts is compared before the bias is added (OpenGL 4.6 section 10.3.6).
        assert_eq!(rewrite(&[1, 7, 8], 1, Some(7), -1), (words(&[0, 0xFFFF, 7]), short));
        assert_eq!(rewrite(&[0xFF], 1, None, 0xFF00), (long(&[0xFFFF]), glow::UNSIGNED_INT));
    }
}
