//! Records in any order, with members made from the tables: an applier that answers each with a fault or a
//! change of state, and never with a panic, a leak or a table that grows past its cap.

use std::collections::{BTreeMap, BTreeSet};

use runahead_core::{Applier, Quota, null::Null};
use runahead_linux::storage::Heap;
use runahead_wire::{
    BlobRef, Bulk, DispatchError, Handle, Stage,
    catalogue::RowInfo,
    payload::{Shape, StructInfo},
    pipe::{self, ROWS},
    values::ValueForm,
    zerocopy::IntoBytes,
};

use super::{Nowhere, likely::Likely};

/// What the records of one input came to.
#[derive(Debug, Default)]
pub struct Reached {
    /// Records that took effect, by row.
    pub applied: BTreeMap<&'static str, u64>,
    /// Faults and refusals, as they print.
    pub faults: BTreeSet<String>,
}

/// What a session of this target may have: little, so that the caps are met.
const QUOTA: Quota = Quota { contexts: 3, records: 1 << 20, storage: 1 << 20 };

/// The choices that an input makes; zeros once it is used up.
struct Choices<'a>(&'a [u8]);

impl Choices<'_> {
    fn next(&mut self) -> u8 {
        match self.0.split_first() {
            Some((first, rest)) => {
                self.0 = rest;
                *first
            }
            None => 0,
        }
    }

    const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Mostly small, sometimes one of the numbers at which things go wrong.
    fn number(&mut self) -> u64 {
        match self.next() {
            choice @ 0..=191 => u64::from(choice & 7),
            192..=223 => u64::from(self.next()),
            224..=239 => u64::from(self.next()) << 4,
            240 => u64::from(u32::MAX),
            241 => u64::MAX,
            242 => i32::MAX as u64,
            243 => 1 << 31,
            244 => 1 << 20,
            _ => 16,
        }
    }
}

/// Bytes of the stage that blobs point into.
struct Bytes([u8; 4096]);

impl Stage for Bytes {
    fn resolve(&self, blob: &BlobRef) -> Option<Bulk<'_>> {
        let start = usize::try_from(blob.offset).ok()?;
        let end = start.checked_add(usize::try_from(blob.size).ok()?)?;
        Some(Bulk::Bytes(self.0.get(start..end)?))
    }
}

fn write(place: &mut [u8], number: u64) {
    for (to, from) in place.iter_mut().zip(number.to_le_bytes().into_iter().chain(std::iter::repeat(0))) {
        *to = from;
    }
}

fn fill(shape: &Shape, place: &mut [u8], choices: &mut Choices<'_>) {
    match shape {
        Shape::Plain { .. } => write(place, choices.number()),
        Shape::Handle => {
            let choice = choices.next();
            let handle = match choice {
                0..=63 => Handle::NULL,
                64..=67 => Handle::DEFAULT_FRAMEBUFFER,
                _ => Handle::new(u32::from(choice & 3) + 1, u32::from(choice >> 2 & 1) + 1),
            };
            place.copy_from_slice(handle.as_bytes());
        }
        Shape::Blob => {
            // Sizes that some row wants: one of each kind of chunk and element, or any.
            const SIZES: [u64; 12] = [4, 16, 20, 24, 40, 100, 264, 272, 396, 772, 168, 12];
            let choice = choices.next();
            let size = SIZES.get(usize::from(choice)).copied().unwrap_or_else(|| choices.number() + 1);
            let blob = if choice > 240 { BlobRef::NONE } else { BlobRef::staged(choices.number(), size) };
            place.copy_from_slice(blob.as_bytes());
        }
        Shape::Value { info, .. } => {
            let choice = choices.next();
            let number = match info.form {
                _ if choice > 252 => choices.number(),
                ValueForm::Mask => u64::from(info.largest() & u32::from(choice)),
                ValueForm::Enum => u64::from(info.numbers[usize::from(choice) % info.numbers.len()].1),
            };
            write(place, number);
        }
        Shape::Array { size, item, .. } => {
            // Long arrays differ in their first items alone.
            for place in place.chunks_exact_mut(*size).take(2) {
                fill(item, place, choices);
            }
        }
        Shape::Struct(info) => fill_struct(info, place, choices),
    }
}

fn fill_struct(info: &StructInfo, image: &mut [u8], choices: &mut Choices<'_>) {
    for member in info.members.iter().filter(|member| !member.name.starts_with('_')) {
        fill(&member.shape, &mut image[member.offset..][..member.size], choices);
    }
}

/// A record of a row, in whole words; `settle` may change its payload.
fn record(row: &RowInfo, choices: &mut Choices<'_>, settle: impl FnOnce(&mut [u8], u8)) -> Vec<u64> {
    let mut bytes = vec![0; 8];
    let replies = row.answer.is_some() && choices.next() & 1 == 0;
    if replies {
        let offset = u32::from(choices.next() & 15) * 64;
        bytes.extend(offset.to_le_bytes());
        bytes.extend(64u32.to_le_bytes());
        bytes.extend([1, 0, 0, 0, 0, 0, 0, 0]);
    }
    if let Some(info) = row.payload {
        let mut payload = vec![0; info.size];
        fill_struct(info, &mut payload, choices);
        for tail in row.tails {
            if let Some(member) = info.members.iter().find(|member| member.name == tail.count)
                && tail.count != "flags"
            {
                write(&mut payload[member.offset..][..member.size], u64::from(choices.next() & 3));
            }
        }
        // A window that begins where it must, more often than not.
        if let Some(start) = info.members.iter().find(|member| member.name == "start")
            && choices.next() < 200
        {
            payload[start.offset..][..start.size].fill(0);
        }
        let choice = choices.next();
        if choice < 240 {
            settle(&mut payload, choice);
        }
        bytes.extend(&payload);
        for tail in row.tails {
            bytes.resize(bytes.len().next_multiple_of(tail.align), 0);
            let count = (tail.declared)(&payload).unwrap_or_default().min(8);
            for index in 0..count {
                let mut element = vec![0; tail.size];
                // An empty element, as often as not: one bad handle among many refuses the whole window.
                if choices.next() & 1 == 0 {
                    fill(&tail.element, &mut element, choices);
                }
                if let Shape::Struct(info) = tail.element {
                    // Elements of windows say where they are.
                    for name in ["unit", "binding_index", "location"] {
                        if let Some(member) = info.members.iter().find(|member| member.name == name)
                            && choices.next() < 220
                        {
                            write(&mut element[member.offset..][..member.size], u64::from(index));
                        }
                    }
                }
                bytes.extend(element);
            }
        }
    }
    bytes.resize(bytes.len().next_multiple_of(8), 0);
    let size = bytes.len() as u32;
    bytes[..2].copy_from_slice(&row.op.to_le_bytes());
    bytes[2] = u8::from(replies);
    bytes[4..8].copy_from_slice(&size.to_le_bytes());
    super::aligned(&bytes)
}

/// The rows in the order in which a client would use them, so that a short input gets somewhere: contexts, then
/// creations, then the rest.
fn row(choice: u8, applied: u64) -> &'static RowInfo {
    const FIRST: [u16; 12] = [84, 2, 2, 79, 35, 36, 17, 23, 20, 31, 27, 25];
    match usize::try_from(applied).ok().and_then(|at| FIRST.get(at)) {
        Some(op) if choice < 160 => &ROWS[usize::from(*op) - 1],
        // What every draw needs, more often than its share.
        _ if choice >= 236 => &ROWS[usize::from(FIRST[3 + usize::from(choice) % 3]) - 1],
        _ => &ROWS[usize::from(choice) % ROWS.len()],
    }
}

/// An applier on the records that an input makes. After a fault it goes on, which no session does: what follows
/// must still not panic.
///
/// # Panics
/// If a table outgrows the records that made it, memory is not accounted for, or a verb was let through with a
/// handle of nothing in its windows.
pub fn applier(data: &[u8]) -> Reached {
    let mut choices = Choices(data);
    let mut stage = Bytes([0; 4096]);
    for (at, byte) in stage.0.iter_mut().enumerate() {
        // Small numbers, so that enums in blobs are mostly valid.
        *byte = if at % 4 == 0 { choices.next() & 1 } else { 0 };
    }
    let mut applier: Applier<Null, Heap, Nowhere> =
        Applier::new(Null::default(), Nowhere::default(), QUOTA, 0);
    for context in 1..=2 {
        let share = (context == 2 && choices.next() & 1 == 0).then_some(1);
        assert_eq!(applier.create_context(context, share), Ok(()));
    }
    assert_eq!(applier.create_surface(1), Ok(()));
    let mut reached = Reached::default();
    let (mut records, mut frame) = (0, 0);
    while !choices.is_empty() {
        let row = row(choices.next(), records);
        let words = record(row, &mut choices, |payload, choice| {
            let Some((_, objects)) = applier.current().or(applier.context(1)) else { return };
            let likely = Likely { objects, frame: frame + 1, choice };
            likely.settle(row.op, payload);
        });
        records += 1;
        match pipe::dispatch(words.as_bytes(), &stage, &mut applier) {
            Ok(op) => {
                *reached.applied.entry(op.name()).or_default() += 1;
                frame += u64::from(op == pipe::Op::Present);
                if matches!(op, pipe::Op::DrawVbo | pipe::Op::LaunchGrid) {
                    check_windows(&applier);
                }
            }
            Err(DispatchError::Refused(refusal)) => _ = reached.faults.insert(refusal.to_string()),
            Err(DispatchError::Pipe(fault)) => _ = reached.faults.insert(fault.to_string()),
        }
        if records.is_multiple_of(16) {
            assert_eq!(applier.poll(records), Ok(()));
        }
    }
    check_growth(&applier, records);
    for context in 1..=2 {
        assert!(applier.destroy_context(context));
    }
    let (records_left, storage_left) = applier.left();
    assert_eq!(records_left.left(), QUOTA.records, "memory of records is not accounted for");
    assert_eq!(storage_left.left(), QUOTA.storage, "native storage is not accounted for");
    assert!(applier.end().0.is_ok());
    reached
}

/// A table has no more slots than records defined any.
fn check_growth(applier: &Applier<Null, Heap, Nowhere>, records: u64) {
    for context in 1..=2 {
        let Some((_, objects)) = applier.context(context) else { panic!("context {context} is gone") };
        let slots = u64::from(objects.buffers.len())
            + u64::from(objects.textures.len())
            + u64::from(objects.renderbuffers.len())
            + u64::from(objects.framebuffers.len())
            + u64::from(objects.render_states.len())
            + u64::from(objects.vertex_elements.len())
            + u64::from(objects.samplers.len())
            + u64::from(objects.sampler_views.len())
            + u64::from(objects.shaders.len())
            + u64::from(objects.fences.len())
            + u64::from(objects.queries.len());
        assert!(slots <= records, "{slots} slots from {records} records");
    }
}

/// What a verb was let through with names objects.
fn check_windows(applier: &Applier<Null, Heap, Nowhere>) {
    use runahead_wire::handle::Kind;
    let Some((bind, objects)) = applier.current() else { panic!("a verb without a context") };
    let state = &bind.state;
    let fine = |kind: Kind, handle: Handle| handle.is_null() || objects.knows(kind, handle);
    assert!(state.sampler_views.covered().iter().all(|bound| fine(Kind::Texture, bound.texture)));
    assert!(state.sampler_states.covered().iter().all(|sampler| fine(Kind::SamplerCso, *sampler)));
    assert!(state.vertex_buffers.covered().iter().all(|buffer| fine(Kind::Buffer, buffer.resource)));
    for class in &state.shader_buffers {
        assert!(class.buffers.covered().iter().all(|buffer| fine(Kind::Buffer, buffer.resource)));
    }
    assert!(fine(Kind::ShaderCso, state.draw_program));
    assert!(fine(Kind::VertexElementsCso, state.vertex_elements));
    let touched = state.values.max_touched_texture_unit;
    assert!(state.sampler_views.count() > touched && state.sampler_states.count() > touched);
}
