//! `replay` and `diff` over a small recording, each also where it says no.

mod common;

use std::{
    fs,
    path::{Path, PathBuf},
};

use common::{runahead, said, server};
use runahead_core::{Session, Silence, null::Null, reply_space};
use runahead_linux::{
    control::message::{ContextAttributes, SurfaceOp},
    session::{Client, Config, Topology},
};
use runahead_wire::{
    Handle,
    payload::*,
    pipe::Pipe,
    values::{BackendKind, StorageKind},
};

/// A path in a folder that is gone with its test.
struct Scratch(PathBuf, #[expect(dead_code, reason = "kept for its drop")] runahead_verify::Scratch);

impl Scratch {
    fn new(name: &str) -> Self {
        let folder = runahead_verify::Scratch::new(env!("CARGO_TARGET_TMPDIR"));
        Self(folder.path(name), folder)
    }

    fn text(&self) -> &str {
        self.0.to_str().expect("a path of text")
    }
}

/// Records ten frames of three draws each; the byte of one upload can be another.
fn record(file: &Path, byte: u8) {
    let config = Config {
        topology: Topology::Inproc,
        server: Some(server().to_owned()),
        record: Some(file.to_owned()),
        ..Config::default()
    };
    let mut client =
        Client::open(&config, BackendKind::Null, || Ok(Null::default()), Silence).expect("a session");
    client.create_context(1, None, ContextAttributes::gles(3, 2)).expect("a context");
    client.surface(1, SurfaceOp::CreatePbuffer { config: 0, width: 64, height: 32 }).expect("a surface");
    let pipe = client.pipe();
    pipe.bind_context(&BindContext { context: 1, draw_surface: 1, read_surface: 1 }).expect("recorded");
    pipe.set_context_values(&ContextValues::default()).expect("recorded");
    pipe.set_sampler_views(&SamplerViews { start: 0, count: 1 }, &[BoundView::default()]).expect("recorded");
    pipe.bind_sampler_states(&SamplerStates { start: 0, count: 1 }, &[Handle::NULL]).expect("recorded");
    let buffer = Handle::new(1, 1);
    let storage_kind = StorageKind::Buffer.raw() as u8;
    let desc = ResourceDesc { resource: buffer, storage_kind, buf_size: 64, ..ResourceDesc::default() };
    pipe.resource_create(&desc).expect("recorded");
    for frame in 1..=10 {
        runahead_core::upload::buffer(pipe, buffer, 0, &[if frame == 7 { byte } else { 3 }; 32], 4096)
            .expect("recorded");
        for _ in 0..3 {
            let draw = DrawInfo { mode: 4, instance_count: 1, num_draws: 1, ..DrawInfo::default() };
            pipe.draw_vbo(&draw, &[DrawRange { start: 0, count: 3, index_bias: 0 }], &[]).expect("recorded");
        }
        if frame == 5 {
            let asked = pipe.ask(4096).expect("space");
            pipe.get_caps(&CapsRequest::default(), Some(reply_space(&asked))).expect("recorded");
        }
        pipe.present(&Present { frame_serial: frame, ..Present::default() }, &[]).expect("recorded");
    }
    client.close().expect("an orderly end");
}

fn recording(byte: u8) -> Scratch {
    let file = Scratch::new("a.rah");
    record(&file.0, byte);
    file
}

#[test]
fn a_recording_is_played_listed_and_dumped() {
    let file = recording(3);
    for topology in ["direct", "inproc"] {
        let text = said(&runahead(&["replay", file.text(), "--topology", topology], &[]), 0).unwrap();
        assert!(
            text.starts_with("10 frames in ") && text.ends_with(&format!(" on null, {topology}\n")),
            "{text}"
        );
    }
    let list = said(&runahead(&["replay", file.text(), "--list"], &[]), 0).unwrap();
    let count = |what: &str| list.matches(what).count();
    assert_eq!(
        (count(" DrawVbo {"), count(" Present { payload"), count(" GetCaps {"), count("CreatePbuffer {")),
        (30, 10, 1, 1),
        "{list}"
    );
    let list =
        said(&runahead(&["replay", file.text(), "--list", "--frames", "2..4", "--json"], &[]), 0).unwrap();
    let objects: Vec<serde_json::Value> =
        list.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(objects.len(), 10, "{list}");
    assert!(objects.iter().all(|object| object["frame"] == 2 || object["frame"] == 3));
    let dump = said(&runahead(&["replay", file.text(), "--dump", "3"], &[]), 0).unwrap();
    assert!(
        dump.starts_with("state behind frame 3\n") && dump.contains("sampler_views.count = 1\n"),
        "{dump}"
    );
    let dump = said(&runahead(&["replay", file.text(), "--dump", "3", "--json"], &[]), 0).unwrap();
    let object: serde_json::Value = serde_json::from_str(&dump).unwrap();
    assert_eq!(object["state"]["sampler_views.count"], "1", "{dump}");
}

#[test]
fn a_bench_prints_every_frame() {
    let file = recording(3);
    let arguments = ["replay", file.text(), "--bench", "--rounds", "3", "--json", "--topology", "inproc"];
    let text = said(&runahead(&arguments, &[]), 0).unwrap();
    let objects: Vec<serde_json::Value> =
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(objects.len(), 4, "{text}");
    for round in &objects[..3] {
        let frames = round["frames"].as_array().unwrap();
        assert_eq!(frames.len(), 10);
        assert!(frames[1..].contains(&round["p50"]) && frames[1..].contains(&round["p99"]), "{round}");
        assert_eq!(round["first"], frames[0]);
        assert!(
            round["cpu"]["client"].as_f64().unwrap() > 0.0
                && round["peak_kb"]["client"].as_u64().unwrap() > 100
        );
    }
    assert_eq!(objects[3]["rounds"], 3);
    assert!(objects[3]["scatter"].as_f64().unwrap() >= 1.0);
}

#[test]
fn a_trimmed_range_stands_alone() {
    let (file, part, calls) = (recording(3), Scratch::new("b.rah"), Scratch::new("calls"));
    let text =
        said(&runahead(&["replay", file.text(), "--frames", "6..9", "--trim", part.text()], &[]), 0).unwrap();
    assert!(text.starts_with("3 frames, "), "{text}");
    let list = said(&runahead(&["replay", part.text(), "--list"], &[]), 0).unwrap();
    assert_eq!(
        (list.matches(" Present { payload").count(), list.matches(" GetCaps {").count()),
        (3, 0),
        "{list}"
    );
    let trace = format!("trace={}", calls.text());
    let arguments = ["replay", part.text(), "--backend", &trace, "--topology", "inproc"];
    said(&runahead(&arguments, &[]), 0).unwrap();
    let trimmed = fs::read_to_string(&calls.0).unwrap();
    let arguments = ["replay", file.text(), "--frames", "0..9", "--backend", &trace, "--topology", "direct"];
    said(&runahead(&arguments, &[]), 0).unwrap();
    let whole = fs::read_to_string(&calls.0).unwrap();
    let draws = |text: &str| text.lines().filter(|line| line.starts_with("draw ")).count();
    assert_eq!((draws(&trimmed), draws(&whole)), (27, 27));
    // The file is there now, and is not written over.
    let again =
        said(&runahead(&["replay", file.text(), "--frames", "6", "--trim", part.text()], &[]), 1).unwrap();
    assert!(again.ends_with("File exists (os error 17)"), "{again}");
}

#[test]
fn frames_are_played_again_and_again() {
    let (file, calls) = (recording(3), Scratch::new("calls"));
    let trace = format!("trace={}", calls.text());
    let arguments = ["--backend", &trace, "--topology", "direct", "--frames", "2..5"];
    let arguments = [&["replay", file.text(), "--loop", "50"][..], &arguments].concat();
    let text = said(&runahead(&arguments, &[]), 0).unwrap();
    assert!(text.starts_with("150 frames in "), "{text}");
    let draws =
        fs::read_to_string(&calls.0).unwrap().lines().filter(|line| line.starts_with("draw ")).count();
    assert_eq!(draws, 3 * (2 + 150), "two frames before, and three fifty times");
}

#[test]
fn images_are_read_back_at_the_presents_of_the_frames() {
    let (file, images) = (recording(3), Scratch::new("images"));
    for topology in ["direct", "inproc"] {
        let arguments =
            ["replay", file.text(), "--images", images.text(), "--frames", "2..5", "--topology", topology];
        let output = runahead(&arguments, &[]);
        assert!(output.status.success(), "{output:?}");
        // Whoever takes them for the program's is told.
        assert!(String::from_utf8(output.stderr).unwrap().contains("this backend draws nothing"));
        let mut names: Vec<_> = fs::read_dir(&images.0)
            .unwrap()
            .map(|file| file.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        assert_eq!(names, ["000002.png", "000003.png", "000004.png"]);
        let image = fs::File::open(images.0.join("000003.png")).unwrap();
        let reader = png::Decoder::new(std::io::BufReader::new(image)).read_info().unwrap();
        assert_eq!(reader.info().size(), (64, 32));
    }
}

#[test]
fn two_recordings_are_compared_call_by_call() {
    let (a, same, other) = (recording(3), recording(3), recording(4));
    let text = said(&runahead(&["diff", a.text(), same.text()], &[]), 0).unwrap();
    assert!(text.ends_with(" calls compared, 0 differ\n"), "{text}");
    let output = runahead(&["diff", a.text(), other.text()], &[]);
    assert_eq!(output.status.code(), Some(1));
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("\n+ frame 6 ") && text.ends_with(", 1 differ\n"), "{text}");
    // What a backend was called for, in turn.
    let listing = |file: &Scratch, topology: &str| {
        let calls = Scratch::new("calls");
        let trace = format!("trace={}", calls.text());
        let arguments = ["replay", file.text(), "--backend", &trace, "--topology", topology];
        said(&runahead(&arguments, &[("RUNAHEAD_SERVER", server().to_str().unwrap())]), 0).unwrap();
        calls
    };
    let (direct, spawned, changed) = (listing(&a, "direct"), listing(&a, "spawn"), listing(&other, "direct"));
    let text = said(&runahead(&["diff", direct.text(), spawned.text()], &[]), 0).unwrap();
    assert!(text.ends_with(" calls compared, 0 differ\n"), "{text}");
    let output = runahead(&["diff", direct.text(), changed.text()], &[]);
    assert_eq!(output.status.code(), Some(1));
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("- line ") && text.ends_with(", 1 differ\n"), "{text}");
}

/// A picture of one colour.
fn picture(file: &Path, value: u8) {
    let mut encoder = png::Encoder::new(fs::File::create(file).unwrap(), 16, 8);
    encoder.set_color(png::ColorType::Rgba);
    encoder.set_depth(png::BitDepth::Eight);
    encoder.write_header().unwrap().write_image_data(&[value; 16 * 8 * 4]).unwrap();
}

#[test]
fn folders_of_images_are_compared_on_a_page() {
    let (a, b, page) = (Scratch::new("a"), Scratch::new("b"), Scratch::new("page.html"));
    for folder in [&a, &b] {
        fs::create_dir(&folder.0).unwrap();
        picture(&folder.0.join("000000.png"), 10);
    }
    let text = said(&runahead(&["diff", a.text(), b.text()], &[]), 0).unwrap();
    assert_eq!(text, "1 images compared, 0 differ\n");
    picture(&a.0.join("000001.png"), 10);
    picture(&b.0.join("000001.png"), 12);
    picture(&b.0.join("000002.png"), 12);
    let output = runahead(&["diff", a.text(), b.text(), "--html", page.text()], &[]);
    assert_eq!(output.status.code(), Some(1));
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("000001.png: 128 pixels differ, by 2 at most; similarity 0.9"), "{text}");
    assert!(text.contains("000002.png: a has no such image"), "{text}");
    assert!(text.ends_with("3 images compared, 2 differ\n"), "{text}");
    let page = fs::read_to_string(&page.0).unwrap();
    assert!(page.contains("2 of 3 images differ") && page.matches("<img ").count() == 5, "{page}");
}

#[test]
fn each_says_no() {
    let file = recording(3);
    let refused = |arguments: &[&str], status, part: &str| {
        let text = said(&runahead(arguments, &[]), status).unwrap();
        assert!(text.contains(part), "{arguments:?}: {text}");
    };
    let name = file.text();
    refused(&["replay"], 2, "replay needs a file");
    refused(&["replay", name, "--backend", "x"], 2, "there is no backend \"x\"");
    refused(&["replay", name, "--topology", "tcp"], 2, "there is no topology \"tcp\"");
    refused(&["replay", name, "--frames", "3..3"], 2, "not \"3..3\"");
    refused(&["replay", name, "--list", "--bench"], 2, "only one of");
    refused(&["replay", name, "--rounds", "2"], 2, "--rounds counts the runs of --bench");
    refused(&["replay", name, "--trim", "x"], 2, "--trim needs --frames");
    refused(&["replay", name, "--bench", "--rounds", "0"], 2, "--rounds takes 1 to 1000");
    refused(&["replay", name, "--frames", "10"], 1, "there is no frame 10: the capture has frames 0 to 9");
    refused(&["replay", name, "--dump", "99"], 1, "there is no frame 99");
    refused(&["replay", name, "--loop", "2"], 2, "--loop needs --frames");
    refused(&["replay", name, "--frames", "1", "--loop", "0"], 2, "--loop takes 1 to");
    refused(&["replay", name, "--list", "--frames", "1", "--loop", "2"], 2, "--loop plays frames");
    let begin = ["replay", name, "--frames", "0..2", "--loop", "2"];
    refused(&begin, 1, "the frames cannot be repeated: record ");
    refused(&["replay", name, "--verify"], 1, "compared none of ");
    refused(&["replay", "/nowhere.rah"], 1, "No such file");
    refused(&["replay", "/proc/self/exe", "--list"], 1, "this is no capture");
    let images = Scratch::new("images");
    fs::create_dir(&images.0).unwrap();
    refused(&["diff", name], 2, "diff compares two, and 1 were given");
    refused(&["diff", name, images.text()], 1, "one is a folder");
    refused(&["diff", images.text(), images.text()], 1, "nothing was compared");
    refused(&["diff", name, name, "--html", "x"], 1, "a page shows pictures");
    // A damaged file is played as far as it is whole, and says so; damage at its beginning refuses it.
    let mut bytes = fs::read(&file.0).unwrap();
    let last = bytes.len() - 1;
    bytes[last] ^= 1;
    fs::write(&file.0, &bytes).unwrap();
    let output = runahead(&["replay", name, "--topology", "direct"], &[]);
    assert!(output.status.success());
    let said_so = String::from_utf8(output.stderr).unwrap();
    assert!(said_so.contains("has no end") && said_so.contains("the 10 frames"), "{said_so}");
    bytes[30] ^= 1;
    fs::write(&file.0, &bytes).unwrap();
    refused(&["replay", name], 1, "Head.checksum");
}
