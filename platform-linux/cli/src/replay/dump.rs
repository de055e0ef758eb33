//! The state of a context, field by field, by what the payloads say about themselves.

use std::{
    convert::Infallible,
    fmt::Write as _,
    io::{self, Write},
};

use runahead_core::{Silence, compare::visit, tracker::Verb};
use runahead_linux::session::{Client, Native};
use runahead_wire::payload::Shape;

/// Writes what a draw would see, zeros left out: the state of the current context, and the objects that it names.
pub fn dump<B: Native + 'static>(
    client: &Client<B, Silence>,
    frame: u64,
    json: bool,
    out: &mut impl Write,
) -> io::Result<()> {
    let mut lines: Vec<(String, String)> = Vec::new();
    if let Some((bind, objects)) = client.applied() {
        let Ok(()) = visit(&bind.state, objects, Verb::Draw, &mut |field| {
            let mut name = field.name.text().to_owned();
            if let Some(index) = field.index {
                // A string takes what is written to it.
                let _ = write!(name, "[{index}]");
            }
            let size = field.item.size().max(1);
            for (number, item) in field.bytes.chunks(size).enumerate() {
                let name = if field.is_run { format!("{name}[{number}]") } else { name.clone() };
                walk(&name, field.item, item, &mut lines);
            }
            Ok::<(), Infallible>(())
        });
    }
    if json {
        let fields: serde_json::Map<_, _> =
            lines.into_iter().map(|(name, value)| (name, value.into())).collect();
        return writeln!(out, "{}", serde_json::json!({ "frame": frame, "state": fields }));
    }
    writeln!(out, "state behind frame {frame}")?;
    for (name, value) in lines {
        writeln!(out, "{name} = {value}")?;
    }
    Ok(())
}

/// The members of an item that are not zero.
fn walk(name: &str, shape: &Shape, bytes: &[u8], lines: &mut Vec<(String, String)>) {
    if bytes.iter().all(|byte| *byte == 0) {
        return;
    }
    match shape {
        Shape::Struct(info) => {
            for member in info.members.iter().filter(|member| !member.name.starts_with('_')) {
                if let Some(bytes) = bytes.get(member.offset..member.offset + member.size) {
                    walk(&format!("{name}.{}", member.name), &member.shape, bytes, lines);
                }
            }
        }
        Shape::Array { size, item, .. } => {
            for (number, bytes) in bytes.chunks((*size).max(1)).enumerate() {
                walk(&format!("{name}[{number}]"), item, bytes, lines);
            }
        }
        // Where bytes lie is nobody's state.
        Shape::Blob => {}
        Shape::Handle => {
            let [slot, generation] = [0, 4].map(|at| number(bytes.get(at..at + 4).unwrap_or_default()));
            lines.push((name.to_owned(), format!("{slot}.{generation}")));
        }
        Shape::Value { info, .. } => {
            let raw = number(bytes);
            let known = info.numbers.iter().find(|(_, number)| u64::from(*number) == raw);
            lines.push((
                name.to_owned(),
                known.map_or_else(|| format!("{raw:#x}"), |(name, _)| (*name).to_owned()),
            ));
        }
        Shape::Plain { name: "f32" } => {
            let value = bytes.first_chunk().map_or(0.0, |bytes| f32::from_le_bytes(*bytes));
            lines.push((name.to_owned(), value.to_string()));
        }
        Shape::Plain { name: kind } => {
            let raw = number(bytes);
            let value = match *kind {
                "i8" => (raw as i8).to_string(),
                "i16" => (raw as i16).to_string(),
                "i32" => (raw as i32).to_string(),
                "i64" => (raw as i64).to_string(),
                _ => raw.to_string(),
            };
            lines.push((name.to_owned(), value));
        }
    }
}

fn number(bytes: &[u8]) -> u64 {
    bytes.iter().take(8).rev().fold(0, |sum, byte| sum << 8 | u64::from(*byte))
}
