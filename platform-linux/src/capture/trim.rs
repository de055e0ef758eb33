//! A range of frames as a capture of its own.
//!
//! What came before the range becomes part of its first frame, as far as the range can see it (module `past`).
//! An object that had ended before the range began, and that nothing kept depends on, is left out with all that was
//! done to it; the others are numbered anew, so that slots are dense again.
//!
//! A state that a client sent along to be compared names its objects by their old numbers: where these change, it is left
//! out as well, and the new capture compares nothing.

use std::{
    collections::{HashMap, HashSet},
    io::{Read, Seek, Write},
};

use runahead_wire::{
    Bulk, Frame, Handle, Row, Stage,
    catalogue::Class,
    pipe::{Op, rows},
    values::DebugMarkOp,
};

use super::{
    Capture, CaptureError, Part, Writer, handles, layout,
    part::{Builder, Item, Placed},
    past::{self, Past},
    renumber::{Groups, Object, Renumber},
};

/// Writes the frames from `first` to `last` of a capture; the answer is the number of records.
///
/// # Errors
/// [`CaptureError`].
pub fn trim<R: Read + Seek, W: Write>(
    capture: &mut Capture<R>,
    first: u64,
    last: u64,
    out: W,
) -> Result<u64, CaptureError> {
    let range = capture.parts_of(first)?.start..capture.parts_of(last)?.end;
    let gone = gone(capture, first)?;
    let mut trimmed = Trimmed {
        writer: Writer::new(out, capture.origin())?,
        part: Builder::default(),
        renumber: Renumber::default(),
        gone,
        copy: Vec::new(),
    };
    trimmed.part.reset(1, 0);
    each_before(capture, first, |part, item, matters| match item {
        Item::Record(ordinal, record) if matters => trimmed.record(part, ordinal, record),
        Item::Record(..) => Ok(()),
        Item::Request(placed) => trimmed.request(placed),
    })?;
    let mut part = Part::default();
    for number in range {
        capture.read(number, &mut part)?;
        for item in part.items() {
            match item? {
                Item::Record(ordinal, record) => trimmed.record(&part, ordinal, record)?,
                Item::Request(placed) => trimmed.request(placed)?,
            }
        }
        let head = part.head();
        if head.ends_frame {
            (trimmed.part.ends_frame, trimmed.part.nanoseconds) = (true, head.nanoseconds);
            trimmed.writer.part(&mut trimmed.part)?;
        }
    }
    let records = trimmed.part.first - 1;
    trimmed.writer.finish()?;
    Ok(records)
}

/// The new capture.
struct Trimmed<W: Write> {
    writer: Writer<W>,
    part: Builder,
    renumber: Renumber,
    gone: HashSet<Object>,
    /// The record at hand.
    copy: Vec<u8>,
}

impl<W: Write> Trimmed<W> {
    fn request(&mut self, placed: &Placed) -> Result<(), CaptureError> {
        self.renumber.groups.request(&placed.request);
        self.part.request(placed.request.clone());
        if self.part.is_full() {
            self.writer.part(&mut self.part)?;
        }
        Ok(())
    }

    fn record(&mut self, part: &Part, ordinal: u64, record: &[u8]) -> Result<(), CaptureError> {
        // What is not one names no handles.
        Frame::parse(record).map_err(|refusal| CaptureError::Record { ordinal, refusal })?;
        if self.is_gone(record) {
            return Ok(());
        }
        self.copy.clear();
        self.copy.extend_from_slice(record);
        self.renumber.record(&mut self.copy, ordinal)?;
        if self.renumber.changes && is_state(record) {
            return Ok(());
        }
        let presents = layout::op(record) == Some(Op::Present);
        if presents {
            layout::replace_serial(&mut self.copy, self.part.frame + 1);
        }
        let copied = self.part.record(&self.copy, |blob, bulk| match part.resolve(&blob)? {
            Bulk::Bytes(bytes) => {
                bulk.give(bytes.len()).copy_from_slice(bytes);
                Some(())
            }
            // A part answers with bytes.
            _ => None,
        });
        copied.ok_or(super::damaged("Part.bulk", ordinal))?;
        if self.part.is_full() && !presents {
            self.writer.part(&mut self.part)?;
        }
        Ok(())
    }

    /// Whether a record is about an object that is left out: it makes, changes, ends or binds it.
    fn is_gone(&self, record: &[u8]) -> bool {
        let class = layout::op(record).map(|op| op.info().class);
        let owned = matches!(class, Some(Class::Screen | Class::Cso | Class::Object | Class::Query));
        owned && self.renumber.groups.subject(record).is_some_and(|object| self.gone.contains(&object))
    }
}

fn is_state(record: &[u8]) -> bool {
    let mark = Frame::parse(record).and_then(<rows::DebugMark<'_> as Row<'_>>::decode);
    mark.is_ok_and(|row| row.payload.op() == Some(DebugMarkOp::State))
}

/// Gives what is in the frames before one to `each`, in order, and whether that one needs it.
fn each_before<R: Read + Seek>(
    capture: &mut Capture<R>,
    frame: u64,
    mut each: impl FnMut(&Part, Item<'_>, bool) -> Result<(), CaptureError>,
) -> Result<(), CaptureError> {
    let mut past = Past::default();
    let mut parts: Vec<Part> = Vec::new();
    for earlier in 0..frame {
        let numbers = capture.parts_of(earlier)?;
        parts.resize_with(numbers.len(), Part::default);
        for (number, part) in numbers.zip(&mut parts) {
            capture.read(number, part)?;
        }
        past.begin(past::any_copies(parts.iter().flat_map(Part::records).flatten()));
        for part in &parts {
            for item in part.items() {
                let item = item?;
                let matters = match item {
                    Item::Record(_, record) => past.matters(record),
                    Item::Request(placed) => {
                        past.request(&placed.request);
                        true
                    }
                };
                each(part, item, matters)?;
            }
        }
    }
    Ok(())
}

/// What is known of an object of the frames before the range.
#[derive(Default)]
struct Lifetime {
    born: u64,
    died: Option<u64>,
    /// Objects that it was made of.
    needs: HashSet<Object>,
}

/// Objects that ended before a frame and that nothing which is kept depends on.
fn gone<R: Read + Seek>(capture: &mut Capture<R>, frame: u64) -> Result<HashSet<Object>, CaptureError> {
    let mut groups = Groups::default();
    let mut objects: HashMap<Object, Lifetime> = HashMap::new();
    // Records that are kept and may look at any object that was there.
    let mut looks: Vec<u64> = Vec::new();
    each_before(capture, frame, |_, item, matters| {
        let (ordinal, record) = match item {
            Item::Record(ordinal, record) => (ordinal, record),
            Item::Request(placed) => {
                groups.request(&placed.request);
                return Ok(());
            }
        };
        Frame::parse(record).map_err(|refusal| CaptureError::Record { ordinal, refusal })?;
        groups.record(record);
        let Some(op) = layout::op(record).filter(|_| matters) else { return Ok(()) };
        let class = op.info().class;
        let moves = matches!(op, Op::ResourceCopyRegion | Op::CopyBuffer | Op::GetTextureImageToBuffer);
        if class == Class::Verb || moves {
            looks.push(ordinal);
        }
        let Some(subject) = groups.subject(record) else { return Ok(()) };
        if handles::ends(op) {
            if let Some(object) = objects.get_mut(&subject) {
                object.died = Some(ordinal);
            }
            return Ok(());
        }
        if handles::defines(op) {
            objects.entry(subject).or_insert(Lifetime { born: ordinal, ..Lifetime::default() });
        }
        // A bind makes nothing of what it names.
        if class == Class::State && op != Op::SetFramebufferState {
            return Ok(());
        }
        if let Some(object) = objects.get_mut(&subject) {
            handles::replace(&mut record.to_vec(), |kind, handle: Handle| {
                object.needs.extend(groups.object(kind, handle).filter(|object| *object != subject));
                handle
            });
        }
        Ok(())
    })?;
    let unseen = |object: &Lifetime| {
        let Some(died) = object.died else { return false };
        let next = looks.partition_point(|look| *look < object.born);
        looks.get(next).is_none_or(|look| *look > died)
    };
    let mut gone: HashSet<Object> =
        objects.iter().filter(|(_, object)| unseen(object)).map(|(object, _)| *object).collect();
    loop {
        let kept = objects.iter().filter(|(object, _)| !gone.contains(*object));
        let needed: Vec<Object> = kept
            .flat_map(|(_, object)| &object.needs)
            .filter(|object| gone.contains(*object))
            .copied()
            .collect();
        if needed.is_empty() {
            return Ok(gone);
        }
        for object in needed {
            gone.remove(&object);
        }
    }
}
