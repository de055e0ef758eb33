//! The records of a capture, a line each.

use std::{
    fs::File,
    io::{BufReader, Write},
    ops::RangeInclusive,
};

use runahead_linux::capture::{
    Capture, CaptureError, Part,
    part::{Item, Placed},
};
use runahead_wire::pipe::Record;

/// Writes the records of some frames, or of all and what follows them.
pub fn list(
    mut capture: Capture<BufReader<File>>,
    frames: Option<RangeInclusive<u64>>,
    json: bool,
    out: &mut impl Write,
) -> Result<(), CaptureError> {
    let parts = match frames {
        Some(frames) => capture.parts_of(*frames.start())?.start..capture.parts_of(*frames.end())?.end,
        None => 0..capture.parts(),
    };
    let mut part = Part::default();
    for number in parts {
        capture.read(number, &mut part)?;
        let head = part.head();
        for item in part.items() {
            let (ordinal, record) = match item? {
                Item::Record(ordinal, record) => (ordinal, record),
                Item::Request(placed) => {
                    request(head.frame, placed, json, out)?;
                    continue;
                }
            };
            let decoded =
                Record::decode(record).map_err(|refusal| CaptureError::Record { ordinal, refusal })?;
            let name = decoded.op().name();
            if json {
                let arguments = text(&decoded);
                let object = serde_json::json!({
                    "frame": head.frame, "record": ordinal, "op": name, "bytes": record.len(), "arguments": arguments,
                });
                writeln!(out, "{object}")?;
            } else {
                writeln!(out, "frame {} record {ordinal} {}", head.frame, text(&decoded))?;
            }
        }
    }
    out.flush()?;
    Ok(())
}

/// A record in words: its row with payload and tails.
pub fn text(record: &Record<'_>) -> String {
    let text = format!("{record:?}");
    // The variant and the row in it have one name.
    let row = text.split_once('(').and_then(|(_, row)| row.strip_suffix(')')).map(str::to_owned);
    row.unwrap_or(text)
}

fn request(frame: u64, placed: &Placed, json: bool, out: &mut impl Write) -> Result<(), CaptureError> {
    let (after, request) = (placed.after, &placed.request);
    if json {
        let object = serde_json::json!({ "frame": frame, "after": after, "request": format!("{request:?}") });
        writeln!(out, "{object}")?;
    } else {
        writeln!(out, "frame {frame} behind record {after} {request:?}")?;
    }
    Ok(())
}
