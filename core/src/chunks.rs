//! The render state in chunks: which bytes are of the pipeline half, which of the dynamic one.
//!
//! A byte is of the *pipeline* half exactly if a change of it asks for another render-state CSO (another
//! native pipeline, on drivers that have them). The *dynamic* half travels as it is. Both halves lie in
//! [`RenderState`] as alternating spans, so each is a list of spans in one table, [`CHUNKS`]. That the table
//! covers every byte exactly once is checked at compile time; that it puts every member into the right half is
//! tested per setter.

use core::mem::offset_of;
use runahead_wire::{limits, payload::RenderState, zerocopy::IntoBytes};

/// Which half a chunk is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Half {
    /// Content-addressed: travels with render-state CSOs.
    Pipeline,
    /// Travels with `SetDynamicState`.
    Dynamic,
}

/// A span of [`RenderState`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chunk {
    /// Its half.
    pub half: Half,
    /// First byte.
    pub start: usize,
    /// Byte behind the last.
    pub end: usize,
}

/// Number of chunks of both halves.
pub const COUNT: usize = (limits::PIPELINE_CHUNKS + limits::DYNAMIC_CHUNKS) as usize;

/// Bytes of the pipeline half.
pub const PIPELINE_BYTES: usize = bytes_of(&CHUNKS, Half::Pipeline);

/// Bytes of the dynamic half.
pub const DYNAMIC_BYTES: usize = bytes_of(&CHUNKS, Half::Dynamic);

/// The chunks, in order of their bytes. Bit `n` of a chunk mask is the `n`-th chunk of its half.
pub const CHUNKS: [Chunk; COUNT] = {
    // First members of the chunks, dynamic and pipeline by turns.
    let starts = [
        offset_of!(RenderState, viewports),
        offset_of!(RenderState, patch_vertices),
        offset_of!(RenderState, polygon_offset_factor),
        offset_of!(RenderState, blend),
        offset_of!(RenderState, clear_color),
        offset_of!(RenderState, sample_coverage_value),
        offset_of!(RenderState, stencil_front_ref),
        offset_of!(RenderState, stencil_front_fail),
        offset_of!(RenderState, stencil_back_ref),
        offset_of!(RenderState, stencil_back_fail),
        offset_of!(RenderState, hint_line_smooth),
        offset_of!(RenderState, polygon_mode_front),
        offset_of!(RenderState, primitive_restart_index),
        offset_of!(RenderState, dither),
        offset_of!(RenderState, scissor_boxes),
        size_of::<RenderState>(),
    ];
    let mut chunks = [Chunk { half: Half::Dynamic, start: 0, end: 0 }; COUNT];
    let mut at = 0;
    while at < COUNT {
        let half = if at % 2 == 0 { Half::Dynamic } else { Half::Pipeline };
        chunks[at] = Chunk { half, start: starts[at], end: starts[at + 1] };
        at += 1;
    }
    chunks
};

const fn bytes_of(chunks: &[Chunk; COUNT], half: Half) -> usize {
    let mut bytes = 0;
    let mut at = 0;
    while at < COUNT {
        if chunks[at].half as u8 == half as u8 {
            bytes += chunks[at].end - chunks[at].start;
        }
        at += 1;
    }
    bytes
}

// Every byte is of exactly one chunk, and chunks are whole words.
const _: () = {
    let mut at = 0;
    let mut end = 0;
    while at < COUNT {
        assert!(CHUNKS[at].start == end, "the chunks of the render state leave a gap or overlap");
        assert!(CHUNKS[at].end > end, "a chunk of the render state is empty");
        assert!(CHUNKS[at].end.is_multiple_of(4), "a chunk of the render state ends within a word");
        end = CHUNKS[at].end;
        at += 1;
    }
    assert!(end == size_of::<RenderState>(), "the chunks do not cover the render state");
    assert!(
        PIPELINE_BYTES == 396 && DYNAMIC_BYTES == 772,
        "the halves have other sizes than the reference's"
    );
};

impl Chunk {
    /// Its bytes.
    #[must_use]
    pub fn of(self, state: &RenderState) -> &[u8] {
        state.as_bytes().get(self.start..self.end).unwrap_or_default()
    }
}

impl Half {
    /// The chunks of this half of a table, in the order of their bits.
    pub fn chunks(self, table: &[Chunk]) -> impl Iterator<Item = (u32, Chunk)> {
        table.iter().filter(move |chunk| chunk.half == self).zip(0..).map(|(chunk, bit)| (bit, *chunk))
    }

    /// Mask of the chunks of this half in which two states differ. Bytes count, so a NaN equals itself.
    #[must_use]
    pub fn changed(self, table: &[Chunk], one: &RenderState, other: &RenderState) -> u32 {
        let differ = |chunk: &Chunk| chunk.of(one) != chunk.of(other);
        self.chunks(table).fold(0, |mask, (bit, chunk)| mask | u32::from(differ(&chunk)) << bit)
    }

    /// Copies the chunks of a mask one behind the other, as blobs have them. Answers their bytes.
    #[must_use]
    pub fn gather<'a>(self, mask: u32, state: &RenderState, out: &'a mut [u8]) -> &'a [u8] {
        let mut at = 0;
        for (_, chunk) in self.chunks(&CHUNKS).filter(|(bit, _)| mask & 1 << bit != 0) {
            let from = chunk.of(state);
            if let Some(to) = out.get_mut(at..at + from.len()) {
                to.copy_from_slice(from);
                at += from.len();
            }
        }
        out.get(..at).unwrap_or_default()
    }

    /// Copies the chunks of a mask into another state.
    pub fn copy(self, mask: u32, from: &RenderState, to: &mut RenderState) {
        for (_, chunk) in self.chunks(&CHUNKS).filter(|(bit, _)| mask & 1 << bit != 0) {
            if let Some(place) = to.as_mut_bytes().get_mut(chunk.start..chunk.end) {
                place.copy_from_slice(chunk.of(from));
            }
        }
    }

    /// Mask of all chunks of this half.
    #[must_use]
    pub const fn all(self) -> u32 {
        match self {
            Self::Pipeline => (1 << limits::PIPELINE_CHUNKS) - 1,
            Self::Dynamic => (1 << limits::DYNAMIC_CHUNKS) - 1,
        }
    }
}
