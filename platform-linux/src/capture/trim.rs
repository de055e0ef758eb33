//! A range of frames as a capture of its own.
//!
//! What came before the range becomes part of its first frame, less what leaves no state behind: presents, flushes,
//! debug marks, and every record that only asks for an answer. Records that draw are kept: what they drew into may be
//! read later. No record that makes an object is left out, so slots stay as dense as they were.

use std::io::{Read, Seek, Write};

use runahead_wire::{
    Bulk, Stage,
    catalogue::RowFlags,
    payload::Present,
    pipe::{Op, ROWS},
    record::HEADER_SIZE,
};

use super::{
    Capture, CaptureError, Part, Writer, layout,
    part::{Builder, Placed},
};

/// Whether a record before the range is kept.
fn leaves_state(op: u16) -> bool {
    let asks =
        ROWS.get(usize::from(op).wrapping_sub(1)).is_some_and(|row| row.flags.contains(RowFlags::REPLY));
    // The server's own readback works on the buffer that it names; everything else that answers looks alone.
    let looks = asks && op != Op::MapPersistent.raw() && op != Op::SharedImage.raw();
    !looks && ![Op::Present.raw(), Op::Flush.raw(), Op::DebugMark.raw()].contains(&op)
}

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
    let mut writer = Writer::new(out, capture.origin())?;
    let (mut part, mut new) = (Part::default(), Builder::default());
    new.reset(1, 0);
    let mut copy: Vec<u8> = Vec::new();
    for number in 0..end {
        capture.read(number, &mut part)?;
        let head = part.head();
        let mut requests = part.requests().iter().peekable();
        for (ordinal, record) in (head.first..).zip(part.records()) {
            while let Some(placed) = requests.next_if(|placed| placed.after < ordinal) {
                add(&mut writer, &mut new, placed)?;
            }
            let record = record?;
            let op = layout::header(record).map_or(0, |head| head.op);
            if number < begin && !leaves_state(op) {
                continue;
            }
            copy.clear();
            copy.extend_from_slice(record);
            if op == Op::Present.raw() {
                renumber(&mut copy, new.frame + 1);
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

/// Presents count from 1.
fn renumber(record: &mut [u8], serial: u64) {
    let at = HEADER_SIZE + std::mem::offset_of!(Present, frame_serial);
    if let Some(place) = record.get_mut(at..at + size_of::<u64>()) {
        place.copy_from_slice(&serial.to_le_bytes());
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
