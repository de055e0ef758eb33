//! Arrays in the application's memory, copied for the draw that reads them.
//!
//! Source: OpenGL ES 2.0.25 section 2.8. A draw carries no address: what it reads goes into a stream of the front's
//! first, or where it stays as it is, once into a buffer of its own. Arrays that lie within each other's steps are one copy; where little of a long span is read, only what is
//! read is copied, in the order of the draw.

use runahead_core::Shared;
use runahead_wire::Handle;

use super::{
    buffer::{MOST_STREAMED, Stream},
    client_memory::Address,
    context::{State, TurnOf},
    error::{Error, Outcome},
    limits::ATTRIBUTES,
    vertex::Attribute,
};

/// Where the indices of a draw are.
#[derive(Clone, Copy)]
pub(crate) enum Indices<'a> {
    Client(&'a [u8]),
    Buffer { handle: Handle, offset: u64 },
}

/// What a draw reads of its arrays.
#[derive(Clone, Copy)]
pub(crate) enum Streamed<'a> {
    Range { first: u32, count: u32 },
    Indices { bytes: &'a [u8], size: u8 },
}

/// What became of it.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Done {
    /// First vertex of the draw.
    pub(crate) first: u32,
    /// Vertices lie in the order of the indices: the draw needs none.
    pub(crate) unrolled: bool,
}

/// Bytes of a stream that may be left empty to keep a draw's first vertex what it is.
const GAP: u64 = 64 << 10;

/// Bytes that a copy may have beyond what is read, before only that is copied.
const SPARE: u64 = 64 << 10;

fn index(bytes: &[u8], size: u8) -> u32 {
    match *bytes {
        [one] if size == 1 => u32::from(one),
        [low, high] => u32::from(u16::from_ne_bytes([low, high])),
        [a, b, c, d] => u32::from_ne_bytes([a, b, c, d]),
        _ => 0,
    }
}

fn each_index(bytes: &[u8], size: u8) -> impl Iterator<Item = u32> {
    bytes.chunks_exact(usize::from(size)).map(move |bytes| index(bytes, size))
}

/// Smallest and largest index.
fn span(bytes: &[u8], size: u8) -> (u32, u32) {
    let widest = |(low, high): (u32, u32), index: u32| (low.min(index), high.max(index));
    match size {
        1 => bytes.iter().map(|index| u32::from(*index)).fold((u32::MAX, 0), widest),
        2 => {
            let indices = bytes.as_chunks::<2>().0.iter();
            indices.map(|index| u32::from(u16::from_ne_bytes(*index))).fold((u32::MAX, 0), widest)
        }
        _ => bytes
            .as_chunks::<4>()
            .0
            .iter()
            .map(|index| u32::from_ne_bytes(*index))
            .fold((u32::MAX, 0), widest),
    }
}

/// An array that is to be copied.
#[derive(Clone, Copy)]
struct Array {
    index: usize,
    pointer: Address,
    bytes: u32,
    step: u32,
}

/// Arrays that one copy serves: they have one step, and lie within it.
#[derive(Clone, Copy)]
struct Group {
    pointer: Address,
    /// Bytes of a vertex, from the first array to the end of the last.
    bytes: u64,
    step: u32,
}

impl Group {
    /// The group with one array more, if it belongs there.
    fn with(self, array: &Array) -> Option<Self> {
        let at = |pointer: Address| pointer.number() as u64;
        let end = (at(self.pointer) + self.bytes).max(at(array.pointer) + u64::from(array.bytes));
        let pointer = if at(array.pointer) < at(self.pointer) { array.pointer } else { self.pointer };
        let bytes = end - at(pointer);
        (self.step == array.step && bytes <= u64::from(self.step)).then_some(Self { pointer, bytes, ..self })
    }
}

impl State {
    /// Arrays that a program reads from the application's memory.
    fn client_arrays(&self, reads: u32) -> impl Iterator<Item = Array> {
        let each = self.current_arrays().attributes.iter().enumerate();
        each.filter(move |(index, _)| reads & 1 << index != 0).filter_map(
            |(index, array): (usize, &Attribute)| {
                Some(Array {
                    index,
                    pointer: array.client_pointer()?,
                    bytes: array.bytes(),
                    step: array.step(),
                })
            },
        )
    }

    /// Whether a program reads any array from the application's memory.
    pub(crate) fn has_client_arrays(&self, reads: u32) -> bool {
        self.client_arrays(reads).next().is_some()
    }

    /// Whether a program reads any array from a buffer.
    fn has_buffer_arrays(&self, reads: u32) -> bool {
        let each = self.current_arrays().attributes.iter().enumerate();
        each.into_iter()
            .any(|(index, array)| reads & 1 << index != 0 && array.enabled && array.buffer.is_some())
    }

    /// Copies what a draw reads of the application's arrays, and points the tracker to the copies.
    #[inline]
    pub(crate) fn stream_arrays<P: Shared>(
        &mut self,
        turn: &mut TurnOf<'_, P>,
        reads: u32,
        what: Streamed<'_>,
    ) -> Outcome<Done> {
        let mut arrays = [None; ATTRIBUTES];
        let mut count = 0;
        for (place, array) in arrays.iter_mut().zip(self.client_arrays(reads)) {
            *place = Some(array);
            count += 1;
        }
        match arrays.get(..count) {
            Some([]) | None => Ok(match what {
                Streamed::Range { first, .. } => Done { first, unrolled: false },
                Streamed::Indices { .. } => Done::default(),
            }),
            Some(arrays) => self.stream::<P>(turn, reads, arrays, what),
        }
    }

    #[inline(never)]
    fn stream<P: Shared>(
        &mut self,
        turn: &mut TurnOf<'_, P>,
        reads: u32,
        arrays: &[Option<Array>],
        what: Streamed<'_>,
    ) -> Outcome<Done> {
        let mixed = self.has_buffer_arrays(reads);
        let (low, high, drawn) = match what {
            Streamed::Range { first, count } => {
                (first, first.checked_add(count - 1).ok_or(Error::OutOfMemory)?, count)
            }
            Streamed::Indices { bytes, size } => {
                let (low, high) = span(bytes, size);
                (low, high, (bytes.len() / usize::from(size)) as u32)
            }
        };
        let vertices = u64::from(high - low) + 1;
        let indexed = matches!(what, Streamed::Indices { .. });
        let widest = arrays.iter().flatten().map(|array| u64::from(array.step)).max().unwrap_or(0);
        // Copies for a draw by indices begin where index 0 would be; so do those beside a buffer.
        let lead = if indexed || mixed { u64::from(low) } else { 0 };
        let spread = arrays.iter().flatten().map(|array| vertices * u64::from(array.step)).sum::<u64>();
        let tight = arrays.iter().flatten().map(|array| u64::from(array.bytes)).sum::<u64>();
        let wasteful = spread > u64::from(drawn) * tight * 8 + SPARE || lead * widest > GAP;
        let gathers = wasteful && !mixed;
        let start = |lead: u64| Done {
            first: match what {
                Streamed::Range { first, .. } if lead != 0 => first,
                _ => 0,
            },
            unrolled: gathers && indexed,
        };
        if gathers {
            let copies =
                arrays.iter().flatten().map(|array| Stream::taken(u64::from(drawn) * u64::from(array.bytes)));
            self.vertex_stream.make_room(turn, copies.sum())?;
            for array in arrays.iter().flatten() {
                self.gather::<P>(turn, array, what)?;
            }
            return Ok(start(0));
        }
        let mut left = [false; ATTRIBUTES];
        for array in arrays.iter().flatten() {
            left[array.index] = true;
        }
        let mut groups = [None; ATTRIBUTES];
        let mut all = 0_u64;
        for (place, array) in groups.iter_mut().zip(arrays.iter().flatten()) {
            if !left[array.index] {
                continue;
            }
            let mut group = Group { pointer: array.pointer, bytes: u64::from(array.bytes), step: array.step };
            let mut members = [false; ATTRIBUTES];
            for other in arrays.iter().flatten().filter(|other| left[other.index]) {
                if let Some(wider) = group.with(other) {
                    group = wider;
                    members[other.index] = true;
                }
            }
            // The one that it began with is always within.
            members[array.index] = true;
            for member in arrays.iter().flatten().filter(|member| members[member.index]) {
                left[member.index] = false;
            }
            let step = u64::from(group.step);
            let skipped = u64::from(low).checked_mul(step).ok_or(Error::OutOfMemory)?;
            let size = (vertices - 1).checked_mul(step).and_then(|size| size.checked_add(group.bytes));
            let size = size.filter(|size| *size <= MOST_STREAMED).ok_or(Error::OutOfMemory)?;
            let gap = lead.checked_mul(step).ok_or(Error::OutOfMemory)?;
            all = gap
                .checked_add(size)
                .and_then(|copy| all.checked_add(Stream::taken(copy)))
                .filter(|all| *all <= MOST_STREAMED)
                .ok_or(Error::OutOfMemory)?;
            *place = Some((group, members, skipped, size, gap));
        }
        let mut found = [Handle::NULL; ATTRIBUTES];
        for (found, copy) in found.iter_mut().zip(groups.iter().flatten()) {
            let (group, _, skipped, size, gap) = copy;
            let bytes = group.pointer.source().span(*skipped, *size).ok_or(Error::OutOfMemory)?;
            if let Some(buffer) = self.resident.find(turn, *gap, bytes, &mut self.dead)? {
                *found = buffer;
                all -= Stream::taken(gap + size);
            }
        }
        self.vertex_stream.make_room(turn, all)?;
        for (found, (group, members, skipped, size, gap)) in found.iter().zip(groups.into_iter().flatten()) {
            let (buffer, at) = if found.is_null() {
                let bytes = group.pointer.source().span(skipped, size).ok_or(Error::OutOfMemory)?;
                let at = self.vertex_stream.write(turn, gap, bytes)?;
                (self.vertex_stream.handle(), at)
            } else {
                (*found, 0)
            };
            for member in arrays.iter().flatten().filter(|member| members[member.index]) {
                let offset = at + (member.pointer.number() - group.pointer.number()) as u64;
                self.point_to(buffer, member, offset, member.step);
            }
        }
        Ok(start(lead))
    }

    /// Copies one array vertex by vertex, without gaps, in the order of the draw.
    fn gather<P: Shared>(&mut self, turn: &mut TurnOf<'_, P>, array: &Array, what: Streamed<'_>) -> Outcome {
        let mut scratch = std::mem::take(&mut self.scratch);
        scratch.clear();
        let source = array.pointer.source();
        let mut copy = |vertex: u32| {
            let bytes = source.span(u64::from(vertex) * u64::from(array.step), u64::from(array.bytes));
            bytes.map(|bytes| scratch.extend_from_slice(bytes)).ok_or(Error::OutOfMemory)
        };
        let copied = match what {
            Streamed::Range { first, count } => (first..=first + (count - 1)).try_for_each(&mut copy),
            Streamed::Indices { bytes, size } => each_index(bytes, size).try_for_each(&mut copy),
        };
        let written = copied.and_then(|()| self.vertex_stream.write(turn, 0, &scratch));
        self.scratch = scratch;
        self.point_to(self.vertex_stream.handle(), array, written?, array.bytes);
        Ok(())
    }

    fn point_to(&mut self, resource: Handle, array: &Array, offset: u64, stride: u32) {
        if let Some(buffer) = self.tracker.vertex_buffers().covered_mut().get_mut(array.index) {
            (buffer.resource, buffer.offset, buffer.stride) = (resource, offset, stride);
        }
    }
}
