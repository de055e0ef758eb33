//! Comparing two runs: captures or listings call by call, folders of images picture by picture.

use std::{
    collections::BTreeMap,
    fs::{self, File},
    io::{BufRead, BufReader, Read, Write},
    path::{Path, PathBuf},
};

use runahead_linux::capture::{Capture, Part, format::MAGIC, part::Item};
use runahead_wire::{Bulk, Stage, pipe::Record};
use serde_json::json;

use crate::replay::list;

mod page;
mod pictures;

/// What is compared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diff {
    /// The two: captures, or folders of images.
    pub sides: [PathBuf; 2],
    /// A page to write, of pictures side by side.
    pub html: Option<PathBuf>,
    /// As JSON.
    pub json: bool,
}

/// Calls or pictures that are shown at most.
const SHOWN: usize = 20;

/// Compares; whether the two are equal.
///
/// # Errors
/// The sentence for the user.
pub fn run(diff: &Diff, out: &mut impl Write) -> Result<bool, String> {
    let [a, b] = &diff.sides;
    match (a.is_dir(), b.is_dir()) {
        (true, true) => images(diff, out),
        (false, false) if diff.html.is_some() => {
            Err("a page shows pictures: give two folders of images (`runahead replay --images`)".to_owned())
        }
        (false, false) if !is_capture(a)? && !is_capture(b)? => lines(diff, out),
        (false, false) => calls(diff, out),
        _ => {
            Err("one is a folder and the other is not: give two captures, or two folders of images"
                .to_owned())
        }
    }
}

/// Whether a file begins as a capture does.
fn is_capture(file: &Path) -> Result<bool, String> {
    let told = |error: std::io::Error| format!("{}: {error}", file.display());
    let mut begin = Vec::new();
    File::open(file).map_err(told)?.take(MAGIC.len() as u64).read_to_end(&mut begin).map_err(told)?;
    Ok(begin == MAGIC)
}

fn output(error: &dyn std::fmt::Display) -> String {
    format!("the output could not be written: {error}")
}

/// The calls of a capture, part by part.
struct Calls<'a> {
    file: &'a Path,
    capture: Capture<BufReader<File>>,
    part: Part,
    number: usize,
    at: usize,
    /// Calls of the part: text, and digest of the bulk bytes.
    calls: Vec<(u64, u64, String)>,
}

impl<'a> Calls<'a> {
    fn open(file: &'a Path) -> Result<Self, String> {
        let capture = Capture::open(file).map_err(|error| format!("{}: {error}", file.display()))?;
        Ok(Self { file, capture, part: Part::default(), number: 0, at: 0, calls: Vec::new() })
    }

    /// The next call: its frame, its record's ordinal and what it says.
    fn next(&mut self) -> Result<Option<(u64, u64, String)>, String> {
        while self.at == self.calls.len() {
            if self.number == self.capture.parts() {
                return Ok(None);
            }
            let told = |error: &dyn std::fmt::Display| format!("{}: {error}", self.file.display());
            self.capture.read(self.number, &mut self.part).map_err(|error| told(&error))?;
            self.number += 1;
            self.at = 0;
            self.calls.clear();
            let frame = self.part.head().frame;
            for item in self.part.items() {
                self.calls.push(match item.map_err(|error| told(&error))? {
                    Item::Record(ordinal, record) => {
                        (frame, ordinal, said(record, &self.part).map_err(|error| told(&error))?)
                    }
                    Item::Request(placed) => (frame, placed.after, format!("{:?}", placed.request)),
                });
            }
        }
        let call = self.calls.get(self.at).cloned();
        self.at += 1;
        Ok(call)
    }
}

/// What a record says: places of bulk bytes become the bytes' number and checksum.
fn said(record: &[u8], part: &Part) -> Result<String, runahead_wire::Refusal> {
    use runahead_linux::capture::layout;
    let mut copy = vec![0_u64; record.len().div_ceil(8)];
    let bytes = runahead_wire::zerocopy::IntoBytes::as_mut_bytes(copy.as_mut_slice());
    bytes.copy_from_slice(record);
    let mut bulks = String::new();
    let known = layout::replace_blobs(bytes, |blob| {
        let Bulk::Bytes(bytes) = part.resolve(&blob)? else { return None };
        bulks.push_str(&format!(" [{} bytes, checksum {:08x}]", bytes.len(), crc32fast::hash(bytes)));
        Some(0)
    });
    if known.is_none() {
        return Err(runahead_wire::Refusal::BlobNotStaged { owner: "Part", field: "bulk" });
    }
    if layout::header(bytes).is_some_and(|head| head.flags != 0) {
        // Where an answer went is the recorded session's affair.
        layout::replace_reply(bytes, runahead_wire::ReplySpace::default());
    }
    Record::decode(bytes).map(|decoded| list::text(&decoded) + &bulks)
}

/// A call: where it is, and what it says.
type Call = (String, String);

/// Listings of a backend's calls, line by line.
fn lines(diff: &Diff, out: &mut impl Write) -> Result<bool, String> {
    let open = |file: &Path| {
        let told = |error: std::io::Error| format!("{}: {error}", file.display());
        let mut lines = (1_u64..).zip(BufReader::new(File::open(file).map_err(told)?).lines());
        let name = file.display().to_string();
        Ok::<_, String>(move || match lines.next() {
            Some((number, Ok(line))) => Ok(Some((format!("line {number}"), line))),
            Some((_, Err(error))) => Err(format!("{name}: {error}")),
            None => Ok(None),
        })
    };
    let [a, b] = &diff.sides;
    pairs(diff, out, open(a)?, open(b)?)
}

/// The records of captures, in turn.
fn calls(diff: &Diff, out: &mut impl Write) -> Result<bool, String> {
    let [a, b] = &diff.sides;
    let (mut a, mut b) = (Calls::open(a)?, Calls::open(b)?);
    let call = |(frame, record, text)| (format!("frame {frame} record {record}"), text);
    pairs(diff, out, || Ok(a.next()?.map(call)), || Ok(b.next()?.map(call)))
}

/// Compares calls in turn, as far as there are any on one side.
fn pairs(
    diff: &Diff,
    out: &mut impl Write,
    mut a: impl FnMut() -> Result<Option<Call>, String>,
    mut b: impl FnMut() -> Result<Option<Call>, String>,
) -> Result<bool, String> {
    let (mut compared, mut differ) = (0_u64, 0_u64);
    loop {
        let (one, other) = (a()?, b()?);
        if one.is_none() && other.is_none() {
            break;
        }
        compared += 1;
        if one.as_ref().map(|(_, text)| text) == other.as_ref().map(|(_, text)| text) {
            continue;
        }
        differ += 1;
        if differ as usize > SHOWN {
            continue;
        }
        let side = |call: &Option<Call>| match call {
            Some((place, text)) => format!("{place} {text}"),
            None => "(ended)".to_owned(),
        };
        let line = if diff.json {
            json!({ "a": side(&one), "b": side(&other) }).to_string()
        } else {
            format!("- {}\n+ {}", side(&one), side(&other))
        };
        writeln!(out, "{line}").map_err(|error| output(&error))?;
    }
    if compared == 0 {
        return Err("neither holds a call: nothing was compared".to_owned());
    }
    summary(diff, out, "calls", compared, differ)
}

fn summary(
    diff: &Diff,
    out: &mut impl Write,
    what: &str,
    compared: u64,
    differ: u64,
) -> Result<bool, String> {
    let line = if diff.json {
        json!({ "compared": compared, "differ": differ, "what": what }).to_string()
    } else {
        format!("{compared} {what} compared, {differ} differ")
    };
    writeln!(out, "{line}").map_err(|error| output(&error))?;
    Ok(differ == 0)
}

/// The images of a folder, by name.
fn folder(path: &Path) -> Result<BTreeMap<String, PathBuf>, String> {
    let told = |error: std::io::Error| format!("{}: {error}", path.display());
    let mut images = BTreeMap::new();
    for entry in fs::read_dir(path).map_err(told)? {
        let file = entry.map_err(told)?.path();
        if file.extension().is_some_and(|extension| extension == "png") {
            let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
            images.insert(name, file);
        }
    }
    Ok(images)
}

fn images(diff: &Diff, out: &mut impl Write) -> Result<bool, String> {
    let [a, b] = [folder(&diff.sides[0])?, folder(&diff.sides[1])?];
    let names: std::collections::BTreeSet<&String> = a.keys().chain(b.keys()).collect();
    if names.is_empty() {
        return Err("there is no image in either folder: nothing was compared".to_owned());
    }
    let (mut differ, mut rows) = (0, Vec::new());
    for name in &names {
        let verdict = match (a.get(*name), b.get(*name)) {
            (Some(a), Some(b)) => pictures::compare(&pictures::read(a)?, &pictures::read(b)?),
            (Some(_), None) => pictures::Verdict::Missing("b"),
            _ => pictures::Verdict::Missing("a"),
        };
        if !verdict.is_equal() {
            differ += 1;
            let line = if diff.json {
                json!({ "image": name, "differ": verdict.to_string(), "ssim": verdict.ssim() }).to_string()
            } else {
                format!("{name}: {verdict}")
            };
            if diff.json || differ as usize <= SHOWN {
                writeln!(out, "{line}").map_err(|error| output(&error))?;
            }
        }
        rows.push(page::Row { name, verdict, sides: [a.get(*name), b.get(*name)] });
    }
    if let Some(html) = &diff.html {
        fs::write(html, page::page(&rows)?).map_err(|error| format!("{}: {error}", html.display()))?;
    }
    summary(diff, out, "images", names.len() as u64, differ)
}
