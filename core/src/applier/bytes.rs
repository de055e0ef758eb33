//! Reading bulk bytes that are to be parsed or kept: once, out of the peer's reach.

use runahead_wire::{
    Bulk, Refusal,
    payload::{Member, RenderState},
    zerocopy::IntoBytes,
};

use crate::chunks::{CHUNKS, COUNT, Chunk, Half, PIPELINE_BYTES};

/// Copies `out.len()` bytes from position `at` of bulk bytes. `false` when they are not all there.
#[must_use]
pub(super) fn copy(bulk: &Bulk<'_>, at: usize, out: &mut [u8]) -> bool {
    match bulk {
        Bulk::Bytes(bytes) => match at.checked_add(out.len()).and_then(|end| bytes.get(at..end)) {
            Some(from) => {
                out.copy_from_slice(from);
                true
            }
            None => false,
        },
        Bulk::Shared(shared) => shared.copy_to(at, out),
        // A stage reference is resolved before it comes here.
        Bulk::Staged(_) => false,
    }
}

/// Reads `out.len()` elements from position `at`, each checked. The refusal names the bad member.
pub(super) fn elements<T: Member>(bulk: &Bulk<'_>, at: usize, out: &mut [T]) -> Result<bool, Refusal> {
    if !copy(bulk, at, out.as_mut_bytes()) {
        return Ok(false);
    }
    match out.iter().find_map(|element| element.check().err()) {
        None => Ok(true),
        Some(field) => Err(Refusal::Corrupt { owner: T::NAME, field }),
    }
}

/// Bytes of the chunks of a mask.
pub(super) fn chunk_bytes(half: Half, mask: u32) -> usize {
    let chosen = half.chunks(&CHUNKS).filter(|(bit, _)| mask & 1 << bit != 0);
    chosen.map(|(_, chunk)| chunk.end - chunk.start).sum()
}

/// Writes the chunks of a mask, which lie one behind the other in `bulk`, into a render state, and checks the
/// whole. `Ok(false)` when the bytes are not exactly as many.
pub(super) fn apply_chunks(
    half: Half,
    mask: u32,
    bulk: &Bulk<'_>,
    state: &mut RenderState,
) -> Result<bool, Refusal> {
    if bulk.len() != chunk_bytes(half, mask) as u64 {
        return Ok(false);
    }
    let mut at = 0;
    for (_, chunk) in half.chunks(&CHUNKS).filter(|(bit, _)| mask & 1 << bit != 0) {
        let Some(place) = state.as_mut_bytes().get_mut(chunk.start..chunk.end) else { return Ok(false) };
        if !copy(bulk, at, place) {
            return Ok(false);
        }
        at += place.len();
    }
    match state.check() {
        Ok(()) => Ok(true),
        Err(field) => Err(Refusal::Corrupt { owner: RenderState::NAME, field }),
    }
}

/// The pipeline chunks with their places in a [`PipelineHalf`](crate::objects::PipelineHalf).
const PIPELINE: [(Chunk, usize); COUNT / 2] = {
    let mut pipeline = [(CHUNKS[1], 0); COUNT / 2];
    let mut at = 0;
    let mut place = 0;
    while at < COUNT / 2 {
        let chunk = CHUNKS[2 * at + 1];
        assert!(matches!(chunk.half, Half::Pipeline));
        pipeline[at] = (chunk, place);
        place += chunk.end - chunk.start;
        at += 1;
    }
    assert!(place == PIPELINE_BYTES);
    pipeline
};

/// Writes a pipeline half into a render state.
pub(super) fn scatter(half: &[u8; PIPELINE_BYTES], state: &mut RenderState) {
    let bytes = state.as_mut_bytes();
    for (chunk, place) in PIPELINE {
        let len = chunk.end - chunk.start;
        if let (Some(to), Some(from)) = (bytes.get_mut(chunk.start..chunk.end), half.get(place..place + len))
        {
            to.copy_from_slice(from);
        }
    }
}

/// Reads the pipeline half of a render state.
pub(super) fn gather(state: &RenderState, half: &mut [u8; PIPELINE_BYTES]) {
    let bytes = state.as_bytes();
    for (chunk, place) in PIPELINE {
        let len = chunk.end - chunk.start;
        if let (Some(to), Some(from)) = (half.get_mut(place..place + len), bytes.get(chunk.start..chunk.end))
        {
            to.copy_from_slice(from);
        }
    }
}
