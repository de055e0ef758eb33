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
    pipe::{Op, ROWS, rows},
    values::DebugMarkOp,
};

use super::{
    Capture, CaptureError, Part, Writer, handles, layout,
    part::{Builder, Placed},
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
    let (begin, end) = (capture.parts_of(first)?.start, capture.parts_of(last)?.end);
    let gone = gone(capture, begin)?;
    let mut writer = Writer::new(out, capture.origin())?;
    let (mut new, mut renumber, mut groups) = (Builder::default(), Renumber::default(), Groups::default());
    new.reset(1, 0);
    let mut copy: Vec<u8> = Vec::new();
    let mut past = Following::default();
    let mut part = Part::default();
    for number in 0..end {
        if number < begin {
            past.begin(capture, number)?;
        }
        capture.read(number, &mut part)?;
        let head = part.head();
        let mut requests = part.requests().iter().peekable();
        for (ordinal, record) in (head.first..).zip(part.records()) {
            while let Some(placed) = requests.next_if(|placed| placed.after < ordinal) {
                past.past.request(&placed.request);
                groups.request(&placed.request);
                renumber.request(&placed.request);
                add(&mut writer, &mut new, placed)?;
            }
            let record = record?;
            // What is not one names no handles.
            Frame::parse(record).map_err(|refusal| CaptureError::Record { ordinal, refusal })?;
            let op = layout::header(record).map_or(0, |head| head.op);
            groups.record(record);
            if number < begin && !past.past.matters(record) || is_of(record, &groups, &gone) {
                continue;
            }
            copy.clear();
            copy.extend_from_slice(record);
            renumber.record(&mut copy, ordinal)?;
            if renumber.changes && is_state(record) {
                continue;
            }
            if op == Op::Present.raw() {
                layout::replace_serial(&mut copy, new.frame + 1);
            }
            new.record(&copy, |blob, bulk| match part.resolve(&blob)? {
                Bulk::Bytes(bytes) => {
                    bulk.give(bytes.len()).copy_from_slice(bytes);
                    Some(())
                }
                // A part answers with bytes.
                _ => None,
            })
            .ok_or(super::damaged("Part.bulk", ordinal))?;
            if new.is_full() && !layout::ends_frame(op) {
                pass(&mut writer, &mut new)?;
            }
        }
        for placed in requests {
            past.past.request(&placed.request);
            groups.request(&placed.request);
            renumber.request(&placed.request);
            add(&mut writer, &mut new, placed)?;
        }
        if number >= begin && head.ends_frame {
            (new.ends_frame, new.nanoseconds) = (true, head.nanoseconds);
            pass(&mut writer, &mut new)?;
        }
    }
    let records = new.first - 1;
    writer.finish()?;
    Ok(records)
}

/// Follows the frames before the range.
#[derive(Default)]
struct Following {
    past: Past,
    /// The frame that was looked at, behind its number.
    frame: Option<u64>,
    part: Part,
}

impl Following {
    /// A part is about to be looked at: where it is the first of its frame, so is the frame.
    fn begin<R: Read + Seek>(&mut self, capture: &mut Capture<R>, number: usize) -> Result<(), CaptureError> {
        let frame = capture.frame_of(number);
        if self.frame == Some(frame) {
            return Ok(());
        }
        self.frame = Some(frame);
        let mut copies = false;
        for number in capture.parts_of(frame)? {
            capture.read(number, &mut self.part)?;
            copies |= past::any_copies(self.part.records().flatten());
        }
        self.past.begin(copies);
        Ok(())
    }
}

/// Whether a record is about one of these objects: it makes, changes, ends or binds it.
fn is_of(record: &[u8], groups: &Groups, objects: &HashSet<Object>) -> bool {
    let class = layout::header(record)
        .and_then(|head| ROWS.get(usize::from(head.op).wrapping_sub(1)))
        .map(|row| row.class);
    let owned = matches!(class, Some(Class::Screen | Class::Cso | Class::Object | Class::Query));
    let subject = handles::subject(record).and_then(|(kind, handle)| groups.object(kind, handle));
    owned && subject.is_some_and(|object| objects.contains(&object))
}

fn is_state(record: &[u8]) -> bool {
    let mark = Frame::parse(record).and_then(<rows::DebugMark<'_> as Row<'_>>::decode);
    mark.is_ok_and(|row| row.payload.op() == Some(DebugMarkOp::State))
}

/// What is known of an object of the frames before the range.
#[derive(Default)]
struct Lifetime {
    born: u64,
    died: Option<u64>,
    /// Objects that it was made of.
    needs: HashSet<Object>,
}

/// Objects that ended before a part and that nothing which is kept depends on.
fn gone<R: Read + Seek>(capture: &mut Capture<R>, begin: usize) -> Result<HashSet<Object>, CaptureError> {
    let (mut groups, mut past, mut part) = (Groups::default(), Following::default(), Part::default());
    let mut objects: HashMap<Object, Lifetime> = HashMap::new();
    // Records that are kept and may look at any object that was there.
    let mut looks: Vec<u64> = Vec::new();
    for number in 0..begin {
        past.begin(capture, number)?;
        capture.read(number, &mut part)?;
        let mut requests = part.requests().iter().peekable();
        for (ordinal, record) in (part.head().first..).zip(part.records()) {
            while let Some(placed) = requests.next_if(|placed| placed.after < ordinal) {
                past.past.request(&placed.request);
                groups.request(&placed.request);
            }
            let record = record?;
            Frame::parse(record).map_err(|refusal| CaptureError::Record { ordinal, refusal })?;
            groups.record(record);
            if !past.past.matters(record) {
                continue;
            }
            let Some(head) = layout::header(record) else { continue };
            let Some(row) = ROWS.get(usize::from(head.op).wrapping_sub(1)) else { continue };
            let moves = [Op::ResourceCopyRegion, Op::CopyBuffer, Op::GetTextureImageToBuffer];
            if row.class == Class::Verb || moves.iter().any(|op| op.raw() == head.op) {
                looks.push(ordinal);
            }
            let subject = handles::subject(record).and_then(|(kind, handle)| groups.object(kind, handle));
            let Some(subject) = subject else { continue };
            if handles::ends(head.op) {
                if let Some(object) = objects.get_mut(&subject) {
                    object.died = Some(ordinal);
                }
                continue;
            }
            let defines = handles::makes(head.op) || head.op == Op::SetFramebufferState.raw();
            if defines && !objects.contains_key(&subject) {
                objects.insert(subject, Lifetime { born: ordinal, ..Lifetime::default() });
            }
            // A bind makes nothing of what it names.
            if matches!(row.class, Class::State) && head.op != Op::SetFramebufferState.raw() {
                continue;
            }
            let mut named = HashSet::new();
            let mut copy = record.to_vec();
            handles::replace(&mut copy, |kind, handle: Handle| {
                named.extend(groups.object(kind, handle).filter(|object| *object != subject));
                handle
            });
            if let Some(object) = objects.get_mut(&subject) {
                object.needs.extend(named);
            }
        }
        for placed in requests {
            past.past.request(&placed.request);
            groups.request(&placed.request);
        }
    }
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

fn add<W: Write>(writer: &mut Writer<W>, part: &mut Builder, placed: &Placed) -> Result<(), CaptureError> {
    part.request(placed.request.clone());
    if part.is_full() { pass(writer, part) } else { Ok(()) }
}

fn pass<W: Write>(writer: &mut Writer<W>, part: &mut Builder) -> Result<(), CaptureError> {
    writer.part(part)?;
    let (next, frame) = (part.first + u64::from(part.records()), part.frame + u64::from(part.ends_frame));
    part.reset(next, frame);
    Ok(())
}
