//! Capture files as such: what was written is read, and what is damaged is refused by the name of what is wrong.

use std::io::Cursor;

use proptest::prelude::*;
use runahead_core::{NativeConfig, backend::Backend, null::Null};
use runahead_linux::{
    capture::{
        Capture, CaptureError, Origin, Part, Writer, handles, layout,
        part::{Builder, Item, Request},
        trim,
    },
    control::message::{ContextAttributes, SurfaceOp, SurfaceState, Terms},
};
use runahead_wire::{
    Bulk, Handle, Row, Stage,
    handle::Kind,
    payload::{
        BindContext, DrawInfo, FramebufferState, HandleOnly, Present, ResourceDesc, SubData, VertexBuffer,
        VertexBuffers,
    },
    pipe::{Op, rows},
    values::{FramebufferTarget, ResourceTarget, StorageKind},
    zerocopy::IntoBytes,
};

/// The caps of a backend that there is.
fn caps() -> Vec<u8> {
    let backend = Null::default();
    let view = backend.caps();
    let mut bytes = vec![0; view.encoded_len()];
    assert!(view.encode(&mut bytes));
    bytes
}

/// Configs of a window system.
fn configs() -> Vec<NativeConfig> {
    (1..4).map(|id| NativeConfig { id, red: 8, depth: 24, window: true, ..NativeConfig::default() }).collect()
}

fn encoded<'a>(row: &impl Row<'a>) -> Vec<u8> {
    let mut words = vec![0_u64; row.encoded_len().unwrap() / 8];
    assert!(row.encode(words.as_mut_slice().as_mut_bytes()));
    words.as_bytes().to_vec()
}

/// What a part is made of.
#[derive(Clone, Debug)]
enum Step {
    Upload(Vec<u8>),
    Fence(u32),
    Resize(u32),
    Present,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        3 => proptest::collection::vec(any::<u8>(), 1..300).prop_map(Step::Upload),
        // Large enough to be looked for, and often the same.
        2 => (0_u8..3, 1020_usize..1030).prop_map(|(byte, size)| Step::Upload(vec![byte; size])),
        3 => any::<u32>().prop_map(Step::Fence),
        1 => any::<u32>().prop_map(Step::Resize),
        1 => Just(Step::Present),
    ]
}

fn upload(bytes: &[u8]) -> Vec<u8> {
    let blob = runahead_wire::BlobRef::staged(77, bytes.len() as u64);
    encoded(&rows::ResourceSubData { payload: &SubData { blob, ..SubData::default() }, regions: &[] })
}

fn resize(width: u32) -> Request {
    let state = SurfaceState { width, height: 1, format: 0, samples: 0 };
    Request::Surface { surface: 1, op: SurfaceOp::Resize { width, height: 1 }, state }
}

/// Writes steps, a part each `cut` of them.
fn written(steps: &[Step], cut: usize, finish: bool) -> Vec<u8> {
    let mut file = Vec::new();
    let mut writer =
        Writer::new(&mut file, &Origin { terms: Terms::default(), caps: caps(), configs: configs() })
            .unwrap();
    let mut part = Builder::default();
    part.reset(1, 0);
    let mut pass = |part: &mut Builder| writer.part(part).unwrap();
    for (number, step) in steps.iter().enumerate() {
        match step {
            Step::Upload(bytes) => part
                .record(&upload(bytes), |_, bulk| {
                    bulk.give(bytes.len()).copy_from_slice(bytes);
                    Some(())
                })
                .unwrap(),
            Step::Fence(slot) => {
                let payload = HandleOnly { kind: *slot, ..HandleOnly::default() };
                part.record(&encoded(&rows::FenceCreate { payload: &payload }), |_, _| None).unwrap();
            }
            Step::Resize(width) => part.request(resize(*width)),
            Step::Present => {
                let record = encoded(&rows::Present { payload: &Present::default(), damage: &[] });
                part.record(&record, |_, _| None).unwrap();
                part.ends_frame = true;
                pass(&mut part);
            }
        }
        if number % cut == cut - 1 && !part.is_empty() {
            pass(&mut part);
        }
    }
    if !part.is_empty() {
        pass(&mut part);
    }
    if finish {
        writer.finish().unwrap();
    }
    file
}

/// Reads steps back.
fn read(file: &[u8]) -> Result<Vec<Step>, CaptureError> {
    let mut capture = Capture::new(Cursor::new(file))?;
    let (mut part, mut steps) = (Part::default(), Vec::new());
    for number in 0..capture.parts() {
        capture.read(number, &mut part)?;
        let width = |request: &Request| match request {
            Request::Surface { state, .. } => Step::Resize(state.width),
            other => panic!("{other:?}"),
        };
        for item in part.items() {
            let mut record = match item? {
                Item::Record(_, record) => record.to_vec(),
                Item::Request(placed) => {
                    steps.push(width(&placed.request));
                    continue;
                }
            };
            let op = layout::header(&record).unwrap().op;
            steps.push(if op == Op::ResourceSubData.raw() {
                let mut bytes = None;
                let found = layout::replace_blobs(&mut record, |blob| {
                    let Bulk::Bytes(bulk) = part.resolve(&blob)? else { return None };
                    bytes = Some(bulk.to_vec());
                    Some(0)
                });
                assert!(found.is_some());
                Step::Upload(bytes.unwrap())
            } else if op == Op::FenceCreate.raw() {
                Step::Fence(u32::from_le_bytes(record[16..20].try_into().unwrap()))
            } else {
                assert_eq!(op, Op::Present.raw());
                Step::Present
            });
        }
    }
    Ok(steps)
}

fn text(steps: &[Step]) -> Vec<String> {
    steps.iter().map(|step| format!("{step:?}")).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_was_written_is_read(
        steps in proptest::collection::vec(step(), 0..60), cut in 1_usize..20, finish in any::<bool>()
    ) {
        let file = written(&steps, cut, finish);
        let capture = Capture::new(Cursor::new(&file)).unwrap();
        prop_assert_eq!(&capture.origin().configs, &configs());
        prop_assert_eq!(capture.torn().is_none(), finish);
        let presents = steps.iter().filter(|step| matches!(step, Step::Present)).count();
        prop_assert_eq!(capture.frames(), presents as u64);
        prop_assert_eq!(text(&read(&file).unwrap()), text(&steps));
    }

    /// Wherever a file ends, what is read of it is how it began.
    #[test]
    fn a_file_that_ends_early_is_read_up_to_there(
        steps in proptest::collection::vec(step(), 1..40), cut in 1_usize..6, at in 0.0..1.0_f64
    ) {
        let file = written(&steps, cut, true);
        let short = &file[..(file.len() as f64 * at) as usize];
        match read(short) {
            Ok(some) => prop_assert_eq!(&text(&steps)[..some.len()], &text(&some)[..]),
            Err(CaptureError::NotACapture | CaptureError::Damaged { .. }) => prop_assert!(short.len() < 1000),
            Err(error) => prop_assert!(false, "{}", error),
        }
    }
}

/// Bytes that were written once are not written again, and read as often as they were.
#[test]
fn the_same_bytes_are_written_once() {
    let noise = |seed: u32| -> Vec<u8> {
        let mut state = seed;
        let mut next = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 24) as u8
        };
        (0..100_000).map(|_| next()).collect()
    };
    let frames = |different: bool| -> Vec<Step> {
        let seed = |frame: u32| if different { frame } else { 7 };
        (0..20).flat_map(|frame| [Step::Upload(noise(seed(frame))), Step::Present]).collect()
    };
    let (same, other) = (written(&frames(false), 100, true), written(&frames(true), 100, true));
    assert!(same.len() < 130_000 && other.len() > 1_000_000, "{} {}", same.len(), other.len());
    assert_eq!(text(&read(&same).unwrap()), text(&frames(false)));
    assert_eq!(text(&read(&other).unwrap()), text(&frames(true)));
}

/// A link is a place, a part, an offset and a size, at the end of its part.
#[test]
fn each_link_that_lies_has_a_name() {
    let noise: Vec<u8> = (0..2000_u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
    let steps = [Step::Upload(noise.clone()), Step::Present, Step::Upload(noise), Step::Present];
    let good = written(&steps, 100, true);
    assert_eq!(read(&good).unwrap().len(), 4);
    let second = chunks(&good)[3];
    let size = |at: usize| u64::from_le_bytes(good[at..at + 8].try_into().unwrap()) as usize;
    let (plain, stored) = (size(second + 8), size(second + 16));
    let mut part = good[second + 32..second + 32 + stored].to_vec();
    if good[second + 4] == 1 {
        part = lz4_flex::block::decompress(&part, plain).unwrap();
    }
    let field = |number: usize| part.len() - 32 + number * 8;
    // As it is but for one number, and without its index, which would lie elsewhere.
    let with = |number: usize, value: u64| {
        let mut part = part.clone();
        part[field(number)..field(number) + 8].copy_from_slice(&value.to_le_bytes());
        let mut file = good[..second + 32].to_vec();
        file[second + 4..second + 8].fill(0);
        for at in [8, 16] {
            file[second + at..second + at + 8].copy_from_slice(&(part.len() as u64).to_le_bytes());
        }
        file.extend(&part);
        file.resize(file.len().next_multiple_of(8), 0);
        mend(&mut file, second);
        file
    };
    let is = |number: usize| u64::from_le_bytes(part[field(number)..field(number) + 8].try_into().unwrap());
    assert_eq!((is(1), is(2), is(3)), (0, 0, 2000));
    assert_eq!(read(&with(3, 2000)).unwrap().len(), 4);
    refused(&with(1, 1), "Link.part");
    refused(&with(1, u64::MAX), "Link.part");
    refused(&with(2, 1), "Link.offset");
    refused(&with(3, 2001), "Link.offset");
    refused(&with(3, u64::MAX), "Link.size");
    refused(&with(0, 4), "Link.place");
    refused(&with(0, 1 << 20), "Link.place");
    refused(&with(0, u64::MAX - 7), "Link.place");
    // The header of the record.
    refused(&with(0, 0), "Record.size");
}

/// A stream with a window: in each frame a buffer is made, drawn with and ended.
struct Frames<'a> {
    writer: Writer<&'a mut Vec<u8>>,
    part: Builder,
    generation: u32,
}

const WINDOW: u64 = 7;

impl<'a> Frames<'a> {
    fn new(file: &'a mut Vec<u8>, surface: SurfaceOp) -> Self {
        let origin = Origin { terms: Terms::default(), caps: caps(), configs: configs() };
        let mut part = Builder::default();
        part.reset(1, 0);
        part.request(Request::CreateContext {
            context: 1,
            share: 0,
            attributes: ContextAttributes::gles(2, 0),
        });
        let state = SurfaceState { width: 8, height: 8, format: 0, samples: 0 };
        part.request(Request::Surface { surface: WINDOW, op: surface, state });
        let bind = BindContext { context: 1, draw_surface: WINDOW, read_surface: WINDOW };
        part.record(&encoded(&rows::BindContext { payload: &bind }), |_, _| None).unwrap();
        let surface = FramebufferState {
            is_default: 1,
            target: FramebufferTarget::Both.raw() as u8,
            draw_buffers: [-1; 8],
            ..FramebufferState::default()
        };
        part.record(&encoded(&rows::SetFramebufferState { payload: &surface }), |_, _| None).unwrap();
        Self { writer: Writer::new(file, &origin).unwrap(), part, generation: 0 }
    }

    fn record<'r>(&mut self, row: &impl Row<'r>) {
        self.part.record(&encoded(row), |_, _| None).unwrap();
    }

    fn make(&mut self, target: ResourceTarget, resource: Handle, view_of: Handle) {
        let kind = if target == ResourceTarget::Buffer { StorageKind::Buffer } else { StorageKind::Mipmap };
        let (target, storage_kind) = (target.raw() as u8, kind.raw() as u8);
        let desc = ResourceDesc { resource, target, storage_kind, view_of, ..ResourceDesc::default() };
        self.record(&rows::ResourceCreate { payload: &desc });
    }

    fn end(&mut self, kind: Kind, handle: Handle) {
        self.record(&rows::ObjectDeath {
            payload: &HandleOnly { handle, kind: kind.raw(), ..HandleOnly::default() },
        });
    }

    fn draw(&mut self) {
        let info = DrawInfo { mode: 4, instance_count: 1, ..DrawInfo::default() };
        self.record(&rows::DrawVbo { payload: &info, ranges: &[], indirect: &[] });
    }

    /// A frame with a buffer of its own, in the slot that the last one had.
    fn frame(&mut self) {
        self.generation += 1;
        let buffer = Handle::new(1, self.generation);
        self.make(ResourceTarget::Buffer, buffer, Handle::NULL);
        let bound = [VertexBuffer { resource: buffer, ..VertexBuffer::default() }];
        let window = VertexBuffers { count: 1, ..VertexBuffers::default() };
        self.record(&rows::SetVertexBuffers { payload: &window, buffers: &bound });
        self.draw();
        self.end(Kind::Buffer, buffer);
        self.record(&rows::Present {
            payload: &Present { frame_serial: self.generation.into(), ..Present::default() },
            damage: &[],
        });
        self.part.ends_frame = true;
        self.writer.part(&mut self.part).unwrap();
    }
}

/// Names of the records of a capture, with the handle that each is about.
fn listed(file: &[u8]) -> Vec<(Op, Option<(Kind, Handle)>)> {
    let mut capture = Capture::new(Cursor::new(file)).unwrap();
    let (mut part, mut all) = (Part::default(), Vec::new());
    for number in 0..capture.parts() {
        capture.read(number, &mut part).unwrap();
        for record in part.records() {
            let record = record.unwrap();
            let op = Op::from_raw(layout::header(record).unwrap().op).unwrap();
            all.push((op, handles::subject(record)));
        }
    }
    all
}

fn trimmed(file: &[u8], first: u64, last: u64) -> Vec<u8> {
    let mut out = Vec::new();
    trim::trim(&mut Capture::new(Cursor::new(file)).unwrap(), first, last, &mut out).unwrap();
    out
}

/// What had ended is not in it, what something kept depends on is, and slots begin anew.
#[test]
fn a_trimmed_capture_is_dense() {
    let mut file = Vec::new();
    let window = SurfaceOp::CreateWindow { config: 1, display: ":0".into(), window: 1 };
    let mut frames = Frames::new(&mut file, window);
    let (lasting, root, view) = (Handle::new(2, 1), Handle::new(1, 1), Handle::new(2, 1));
    for number in 0..10 {
        match number {
            2 => frames.make(ResourceTarget::Texture2D, root, Handle::NULL),
            3 => frames.make(ResourceTarget::Texture2D, view, root),
            4 => frames.end(Kind::Texture, root),
            5 => frames.make(ResourceTarget::Buffer, lasting, Handle::NULL),
            _ => {}
        }
        frames.frame();
    }
    frames.writer.finish().unwrap();
    assert_eq!(listed(&file).iter().filter(|(op, _)| *op == Op::ResourceCreate).count(), 13);
    let part = listed(&trimmed(&file, 8, 8));
    let made: Vec<_> =
        part.iter().filter(|(op, _)| *op == Op::ResourceCreate).map(|(_, object)| *object).collect();
    let texture = |slot| Some((Kind::Texture, Handle::new(slot, 1)));
    let buffer = |slot| Some((Kind::Buffer, Handle::new(slot, 1)));
    assert_eq!(made, [texture(1), texture(2), buffer(1), buffer(2)]);
    let count = |wanted: Op| part.iter().filter(|(op, _)| *op == wanted).count();
    assert_eq!((count(Op::DrawVbo), count(Op::Present), count(Op::ObjectDeath)), (1, 1, 2));
    // Where nothing is before them, the frames are as they were, but for the numbers.
    let ops = |file: &[u8]| listed(file).into_iter().map(|(op, _)| op).collect::<Vec<_>>();
    assert_eq!(ops(&trimmed(&file, 0, 9)), ops(&file));
}

/// What was drawn to a surface that keeps it is kept, and so is what it was drawn with.
#[test]
fn a_trimmed_capture_keeps_what_may_be_seen() {
    let mut file = Vec::new();
    let mut frames = Frames::new(&mut file, SurfaceOp::CreatePbuffer { config: 1, width: 8, height: 8 });
    (0..10).for_each(|_| frames.frame());
    frames.writer.finish().unwrap();
    let part = listed(&trimmed(&file, 8, 8));
    let count = |wanted: Op| part.iter().filter(|(op, _)| *op == wanted).count();
    assert_eq!((count(Op::DrawVbo), count(Op::Present), count(Op::ResourceCreate)), (9, 1, 9));
}

fn small() -> Vec<u8> {
    written(
        &[
            Step::Upload(vec![1; 50]),
            Step::Resize(3),
            Step::Present,
            Step::Upload(vec![2; 50]),
            Step::Present,
        ],
        100,
        true,
    )
}

/// Offsets of the chunks.
fn chunks(file: &[u8]) -> Vec<usize> {
    let mut at = 24 + u32::from_le_bytes(file[12..16].try_into().unwrap()) as usize;
    let mut all = Vec::new();
    while at + 32 <= file.len() {
        all.push(at);
        let stored = u64::from_le_bytes(file[at + 16..at + 24].try_into().unwrap()) as usize;
        at += 32 + stored.next_multiple_of(8);
    }
    all
}

/// Puts a chunk's sums right.
fn mend(file: &mut [u8], at: usize) {
    let stored = u64::from_le_bytes(file[at + 16..at + 24].try_into().unwrap()) as usize;
    let sum = crc32fast::hash(&file[at + 32..at + 32 + stored]);
    file[at + 24..at + 28].copy_from_slice(&sum.to_le_bytes());
    let sum = crc32fast::hash(&file[at..at + 28]);
    file[at + 28..at + 32].copy_from_slice(&sum.to_le_bytes());
}

#[track_caller]
fn refused(file: &[u8], expected: &str) {
    let error = read(file).expect_err(expected).to_string();
    assert!(error.contains(expected), "{error:?} does not name {expected:?}");
}

#[test]
fn each_damage_has_a_name() {
    let good = small();
    assert_eq!(read(&good).unwrap().len(), 5);
    let [caps, configs, first, second, index] = chunks(&good)[..5] else { panic!("{:?}", chunks(&good)) };
    let with = |change: &dyn Fn(&mut Vec<u8>)| {
        let mut file = good.clone();
        change(&mut file);
        file
    };
    refused(&[], "this is no capture");
    refused(&with(&|file| file[3] = b'X'), "this is no capture");
    refused(&with(&|file| file[8] = 9), "version 9 of the format, and this build reads version 1");
    refused(&with(&|file| file[15] = 1), "Head.size");
    refused(&with(&|file| file[30] ^= 1), "Head.checksum");
    let other = with(&|file| {
        // The fingerprint is the first number of the head; postcard spreads it over bytes of seven bits.
        file[24] ^= 2;
        let size = u32::from_le_bytes(file[12..16].try_into().unwrap()) as usize;
        let sum = crc32fast::hash(&file[24..24 + size]);
        file[16..20].copy_from_slice(&sum.to_le_bytes());
    });
    refused(&other, "play it with the build that wrote it");
    refused(&with(&|file| file[caps + 28] ^= 1), "Chunk.head");
    refused(&with(&|file| file[caps + 33] ^= 1), "Chunk.checksum");
    refused(
        &with(&|file| {
            file[caps..caps + 4].copy_from_slice(b"PART");
            mend(file, caps);
        }),
        "Caps.tag",
    );
    refused(
        &with(&|file| {
            file[configs..configs + 4].copy_from_slice(b"CAPS");
            mend(file, configs);
        }),
        "Configs.tag",
    );
    for (field, value, name) in
        [(8, u64::MAX, "Chunk.plain"), (8, 1 << 29, "Chunk.plain"), (16, u64::MAX, "Chunk.stored")]
    {
        let file = with(&|file| {
            file[caps + field..caps + field + 8].copy_from_slice(&u64::to_le_bytes(value));
            let sum = crc32fast::hash(&file[caps..caps + 28]);
            file[caps + 28..caps + 32].copy_from_slice(&sum.to_le_bytes());
        });
        refused(&file, name);
    }
    refused(
        &with(&|file| {
            file[caps + 4] = 7;
            mend(file, caps);
        }),
        "Chunk.codec",
    );
    // With an index that says where it is, a part is missed at once; without one the capture ends before it.
    let broken = with(&|file| file[second + 40] ^= 1);
    refused(&broken, "Chunk.checksum");
    let cut = &broken[..index];
    assert_eq!(read(cut).unwrap().len(), 3);
    let lied = with(&|file| {
        let tail = file.len() - 16;
        file[tail..tail + 8].copy_from_slice(&(first as u64).to_le_bytes());
    });
    let capture = Capture::new(Cursor::new(&lied)).unwrap();
    assert!(
        matches!(capture.torn(), Some(CaptureError::Damaged { what: "Index.tag", .. })),
        "{:?}",
        capture.torn()
    );
    assert_eq!(read(&lied).unwrap().len(), 5);
}

#[test]
fn a_lie_about_sizes_costs_no_memory() {
    let resident = || {
        let status = std::fs::read_to_string("/proc/self/status").unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap().trim().to_owned();
        line.trim_end_matches(" kB").parse::<u64>().unwrap()
    };
    let mut file = small();
    let first = chunks(&file)[2];
    let stored = u64::from_le_bytes(file[first + 16..first + 24].try_into().unwrap());
    file[first + 4..first + 8].copy_from_slice(&1_u32.to_le_bytes());
    file[first + 8..first + 16].copy_from_slice(&(stored * 255).to_le_bytes());
    mend(&mut file, first);
    let before = resident();
    refused(&file, "Chunk.codec");
    assert!(resident() - before < 4 << 10, "{} KiB more", resident() - before);
}
