//! What a client records is what the server applied: played again, on every topology, it makes the same calls.

mod common;
mod streams;

use std::{
    fs::{self, File},
    io::{Cursor, Read, Seek},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use common::prepare;
use runahead_core::{Session, trace::Trace};
use runahead_linux::{
    capture::{
        Capture, CaptureError, Part, Player, ReplayError,
        replay::{Nobody, Target, Watcher},
        tap::Summary,
    },
    control::message::{ContextAttributes, Sizes, SurfaceOp, Terms},
    session::{Client, Config, OpenError, Topology, Wanted},
};
use runahead_wire::{
    Handle,
    payload::*,
    pipe::Op,
    values::{BackendKind, StorageKind},
};
use streams::*;

/// A file that is gone with its test.
struct Scratch(PathBuf);

impl Scratch {
    fn new() -> Self {
        Self(scratch("capture.rah"))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

/// Runs a client that is recorded; the calls that its server made.
fn recorded(topology: Topology, wanted: Terms, frames: u64, file: &Path) -> String {
    let (lines, listing) = (Lines::default(), Scratch(scratch("calls")));
    let trace = format!("trace={}", listing.0.display());
    let config = Config { record: Some(file.to_owned()), ..config(topology, wanted, &trace) };
    let listener = lines.clone();
    let make = move || Ok(Trace::new(listener));
    let mut client = Client::open(&config, BackendKind::Null, make, Heard::default()).expect("a session");
    prepare(&mut client);
    stream(client.pipe(), frames, 16_000);
    client.close().expect("an orderly end");
    match topology {
        Topology::Spawn => fs::read_to_string(&listing.0).expect("the server's listing"),
        _ => std::mem::take(&mut *lines.0.lock().expect("no panic")),
    }
}

/// Plays a capture; the calls that the server made.
fn played(topology: Topology, file: &Path) -> Result<String, ReplayError> {
    let (lines, listing) = (Lines::default(), Scratch(scratch("calls")));
    let mut player = Player::new(Capture::open(file)?);
    let mut config = config(topology, AHEAD, &format!("trace={}", listing.0.display()));
    config.wanted = Wanted(player.terms(AHEAD));
    let listener = lines.clone();
    let make = move || Ok(Trace::new(listener));
    let mut client = Client::open(&config, BackendKind::Null, make, Heard::default()).expect("a session");
    player.rest(&mut client, &mut Nobody)?;
    client.close().expect("an orderly end");
    Ok(match topology {
        Topology::Spawn => fs::read_to_string(&listing.0).expect("the server's listing"),
        _ => std::mem::take(&mut *lines.0.lock().expect("no panic")),
    })
}

#[test]
fn a_recording_makes_the_same_calls_on_all_topologies() {
    for recorder in [Topology::Inproc, Topology::Spawn] {
        let file = Scratch::new();
        let calls = recorded(recorder, AHEAD, 1_000, &file.0);
        assert!(calls.lines().count() > 5_000, "only {} calls", calls.lines().count());
        let capture = Capture::open(&file.0).expect("a capture");
        assert!(capture.torn().is_none(), "{:?}", capture.torn());
        assert_eq!(capture.frames(), 1_000);
        for topology in Topology::ALL {
            same(&calls, &played(*topology, &file.0).expect("played"));
        }
    }
}

#[test]
fn small_rings_that_wrap_all_the_time_are_recorded_whole() {
    let file = Scratch::new();
    let sizes = Sizes { commands: 64 << 10, stage: 256 << 10, replies: 64 << 10, events: 16 << 10 };
    let calls = recorded(Topology::Inproc, Terms { sizes, ..AHEAD }, 1_000, &file.0);
    same(&calls, &played(Topology::Direct, &file.0).expect("played"));
    let lockstep = Scratch::new();
    let calls = recorded(Topology::Inproc, Terms { run_ahead: false, ..AHEAD }, 200, &lockstep.0);
    same(&calls, &played(Topology::Spawn, &lockstep.0).expect("played"));
}

/// The comparison above would find one record that is missing, and one bulk byte that is another.
#[test]
fn a_recording_that_differs_is_found() {
    struct Dropped(Vec<u8>);
    let file = Scratch::new();
    let calls = recorded(Topology::Inproc, AHEAD, 50, &file.0);
    let (mut capture, mut part) = (Capture::open(&file.0).expect("a capture"), Part::default());
    capture.read(3, &mut part).expect("a part");
    let mut writer = runahead_linux::capture::Writer::new(Dropped(vec![]), capture.origin()).expect("memory");
    impl std::io::Write for Dropped {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.extend(bytes);
            Ok(bytes.len())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let mut copy = runahead_linux::capture::part::Builder::default();
    copy.reset(1, 0);
    let mut dropped = false;
    for number in 0..capture.parts() {
        capture.read(number, &mut part).expect("a part");
        copy.ends_frame = part.head().ends_frame;
        for placed in part.requests() {
            assert!(placed.after < part.head().first, "requests come first in this stream");
            copy.request(placed.request.clone());
        }
        for record in part.records() {
            let record = record.expect("a record");
            let op = u16::from_le_bytes([record[0], record[1]]);
            if number == 30 && op == Op::DrawVbo.raw() && !dropped {
                dropped = true;
                continue;
            }
            let stage: &dyn runahead_wire::Stage = &part;
            copy.record(record, |blob, bulk| {
                let runahead_wire::Bulk::Bytes(bytes) = stage.resolve(&blob)? else { return None };
                bulk.give(bytes.len()).copy_from_slice(bytes);
                Some(())
            })
            .expect("its bulk");
        }
        writer.part(&mut copy).expect("memory");
    }
    assert!(dropped, "no draw to drop");
    let bytes = writer.finish().expect("memory").0;
    fs::write(&file.0, bytes).expect("room");
    let less = played(Topology::Direct, &file.0).expect("played");
    assert_eq!(less.lines().count() + 1, calls.lines().count());
    std::panic::catch_unwind(|| same(&calls, &less)).expect_err("negative control");
}

#[test]
fn any_frame_of_a_thousand_is_reached_within_a_second() {
    struct Seen(Vec<(u64, Target)>);
    impl<S: ?Sized> Watcher<S> for Seen {
        fn presenting(
            &mut self,
            frame: u64,
            target: Target,
            _: &mut S,
        ) -> Result<(), runahead_core::RecordError> {
            self.0.push((frame, target));
            Ok(())
        }
    }
    let file = Scratch::new();
    recorded(Topology::Inproc, AHEAD, 1_000, &file.0);
    for frame in [0, 1, 500, 999] {
        let mut player = Player::new(Capture::open(&file.0).expect("a capture"));
        let make = || Ok(runahead_core::null::Null::default());
        let mut client =
            Client::open(&config(Topology::Direct, AHEAD, "null"), BackendKind::Null, make, Heard::default())
                .expect("a session");
        let (start, mut seen) = (Instant::now(), Seen(vec![]));
        player.frame(&mut client, frame, &mut seen).expect("played");
        assert!(start.elapsed() < Duration::from_secs(1), "frame {frame} after {:?}", start.elapsed());
        let target = Target { context: 1, surface: 1, width: 64, height: 64 };
        assert_eq!(seen.0.last(), Some(&(frame, target)));
        assert_eq!(seen.0.len() as u64, frame + 1);
        let again = player.frame(&mut client, frame, &mut seen);
        assert!(matches!(again, Err(ReplayError::Backwards { .. })), "{again:?}");
    }
    let mut player = Player::new(Capture::open(&file.0).expect("a capture"));
    let mut client = Client::open(
        &config(Topology::Direct, AHEAD, "null"),
        BackendKind::Null,
        || Ok(runahead_core::null::Null::default()),
        Heard::default(),
    )
    .expect("a session");
    let none = player.frame(&mut client, 1_000, &mut Nobody).expect_err("there is none");
    assert_eq!(none.to_string(), "there is no frame 1000: the capture has frames 0 to 999");
}

#[test]
fn windows_become_surfaces_without_one() {
    // The null backend presents to no window, so the request is written by hand.
    use runahead_linux::{
        capture::{
            Origin, Writer,
            part::{Builder, Request},
        },
        control::message::SurfaceState,
    };
    let file = Scratch::new();
    let client = Client::open(
        &config(Topology::Direct, AHEAD, "null"),
        BackendKind::Null,
        || Ok(runahead_core::null::Null::default()),
        Heard::default(),
    )
    .expect("a session");
    let mut caps = vec![0; client.caps().encoded_len()];
    assert!(client.caps().encode(&mut caps));
    let origin = Origin { terms: AHEAD, caps, configs: vec![] };
    let mut writer = Writer::new(File::create_new(&file.0).expect("room"), &origin).expect("room");
    let mut part = Builder::default();
    part.reset(1, 0);
    part.request(Request::CreateContext { context: 1, share: 0, attributes: ContextAttributes::gles(3, 2) });
    let op = SurfaceOp::CreateWindow { config: 0, display: ":0".into(), window: 77 };
    let state = SurfaceState { width: 30, height: 40, format: 0, samples: 0 };
    part.request(Request::Surface { surface: 1, op, state });
    part.request(Request::Surface { surface: 1, op: SurfaceOp::ReleaseWindow, state });
    writer.part(&mut part).expect("room");
    writer.finish().expect("room");
    played(Topology::Inproc, &file.0).expect("played");
}

#[test]
fn a_client_that_applies_itself_has_nothing_to_record() {
    let file = Scratch::new();
    let config = Config { record: Some(file.0.clone()), ..config(Topology::Direct, AHEAD, "null") };
    let make = || Ok(runahead_core::null::Null::default());
    let error = Client::open(&config, BackendKind::Null, make, Heard::default()).expect_err("refused");
    assert!(matches!(error, OpenError::RecordDirect), "{error}");
    assert!(!file.0.exists());
}

#[test]
fn a_file_that_cannot_be_written_is_said() {
    let open = |file: &str| {
        let config = Config { record: Some(file.into()), ..config(Topology::Inproc, AHEAD, "null") };
        let make = || Ok(runahead_core::null::Null::default());
        Client::open(&config, BackendKind::Null, make, Heard::default())
    };
    let error = open("/nowhere/at/all.rah").expect_err("refused").to_string();
    assert_eq!(error, "/nowhere/at/all.rah: nothing can be recorded: No such file or directory (os error 2)");
    let file = Scratch::new();
    let config = Config {
        record: Some(file.0.clone()),
        server: Some("/nowhere/at/all".into()),
        ..config(Topology::Inproc, AHEAD, "null")
    };
    let make = || Ok(runahead_core::null::Null::default());
    let error =
        Client::open(&config, BackendKind::Null, make, Heard::default()).expect_err("refused").to_string();
    assert!(error.contains("nothing can be recorded: runahead-server was not found"), "{error}");
    assert!(!file.0.exists(), "a file without a recording is left");
    let error = open("/dev/full").expect_err("refused").to_string();
    assert!(error.contains("No space left on device"), "{error}");
}

/// The program that is killed below.
#[test]
#[ignore = "run by a_killed_program_leaves_its_whole_frames in a process of its own"]
fn alone_recording_for_ever() {
    let file = PathBuf::from(std::env::var_os("CAPTURE_FILE").expect("a file"));
    let config = Config { record: Some(file), ..config(Topology::Inproc, AHEAD, "null") };
    let make = || Ok(runahead_core::null::Null::default());
    let mut client = Client::open(&config, BackendKind::Null, make, Heard::default()).expect("a session");
    prepare(&mut client);
    stream(client.pipe(), u64::MAX - 1, 16_000);
}

#[test]
fn a_killed_program_leaves_its_whole_frames() {
    let whole = Scratch::new();
    recorded(Topology::Inproc, AHEAD, 3_000, &whole.0);
    let mut expected = Capture::open(&whole.0).expect("a capture");
    let mut random = Random(0x1111);
    for _ in 0..8 {
        let file = Scratch::new();
        let mut child = Command::new(std::env::current_exe().expect("this program"))
            .args(["--exact", "alone_recording_for_ever", "--ignored"])
            .env("CAPTURE_FILE", &file.0)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("it runs");
        let deadline = Instant::now() + Duration::from_secs(20);
        // Until something is there, and then at any instant.
        while fs::metadata(&file.0).map_or(0, |file| file.len()) < 100_000 && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(1));
        }
        std::thread::sleep(Duration::from_micros(random.below(40_000)));
        child.kill().expect("a child of ours");
        child.wait().expect("it ended");
        let mut capture = Capture::open_whole(&file.0).expect("a capture");
        assert!(capture.torn().is_none(), "{:?}", capture.torn());
        assert!(capture.frames() > 5, "{} frames", capture.frames());
        // Every byte of them is what an undisturbed recording has.
        let (mut one, mut other) = (Part::default(), Part::default());
        for frame in 0..capture.frames().min(expected.frames()) {
            let (ours, theirs) = (capture.parts_of(frame).unwrap(), expected.parts_of(frame).unwrap());
            assert_eq!(ours, theirs, "frame {frame}");
            for number in ours {
                capture.read(number, &mut one).expect("a part");
                expected.read(number, &mut other).expect("a part");
                assert_eq!(one.bulk(), other.bulk());
                let records = |part: &Part| {
                    part.records().map(|record| record.expect("a record").to_vec()).collect::<Vec<_>>()
                };
                assert_eq!(records(&one), records(&other), "frame {frame}");
            }
        }
        played(Topology::Direct, &file.0).expect("played");
    }
}

/// Plays bytes that somebody changed. The end is a refusal by name, or a session like another.
fn hostile(bytes: Vec<u8>) -> Result<(), String> {
    fn run<R: Read + Seek>(capture: Result<Capture<R>, CaptureError>) -> Result<(), String> {
        let mut player = Player::new(capture.map_err(|error| error.to_string())?);
        let make = || Ok(runahead_core::null::Null::default());
        let mut client =
            Client::open(&config(Topology::Direct, AHEAD, "null"), BackendKind::Null, make, Heard::default())
                .map_err(|error| error.to_string())?;
        player.rest(&mut client, &mut Nobody).map_err(|error| error.to_string())
    }
    run(Capture::new(Cursor::new(bytes)))
}

/// Puts the checksums of a chunk right again, so that what is behind them is reached.
fn mend(bytes: &mut [u8]) {
    let mut at = 24 + u32::from_le_bytes(bytes[12..16].try_into().unwrap()) as usize;
    while at + 32 <= bytes.len() {
        let stored = u64::from_le_bytes(bytes[at + 16..at + 24].try_into().unwrap());
        let Some(end) = usize::try_from(stored).ok().and_then(|stored| (at + 32).checked_add(stored)) else {
            return;
        };
        let Some(body) = bytes.get(at + 32..end) else { return };
        let sum = crc32fast::hash(body).to_le_bytes();
        bytes[at + 24..at + 28].copy_from_slice(&sum);
        let sum = crc32fast::hash(&bytes[at..at + 28]).to_le_bytes();
        bytes[at + 28..at + 32].copy_from_slice(&sum);
        at = end.next_multiple_of(8);
    }
}

#[test]
fn hostile_files_are_refused_by_name() {
    let file = Scratch::new();
    recorded(Topology::Inproc, AHEAD, 12, &file.0);
    let mut good = Vec::new();
    File::open(&file.0).unwrap().read_to_end(&mut good).unwrap();
    hostile(good.clone()).expect("the unchanged file");
    let mut random = Random(0xbad);
    let cases =
        std::env::var("RUNAHEAD_TEST_MUTATIONS").ok().and_then(|text| text.parse().ok()).unwrap_or(3_000);
    let (mut refused, mut fine) = (0, 0);
    let mut names = std::collections::BTreeSet::new();
    for case in 0..cases {
        let mut bytes = good.clone();
        for _ in 0..=random.below(3) {
            let at = random.below(bytes.len() as u64) as usize;
            match random.below(6) {
                0 => bytes[at] ^= 1 << random.below(8),
                1 => bytes[at] = random.next() as u8,
                2 => {
                    let word = [0, 1, u64::MAX, 1 << 31, 1 << 40, random.next()][random.below(6) as usize];
                    let at = at & !7;
                    let end = (at + 8).min(bytes.len());
                    bytes[at..end].copy_from_slice(&word.to_le_bytes()[..end - at]);
                }
                3 => bytes.truncate(at.max(24)),
                4 => {
                    let from = random.below(bytes.len() as u64) as usize;
                    let len = (random.below(64) as usize).min(bytes.len() - at.max(from));
                    bytes.copy_within(from..from + len, at);
                }
                // Near the beginning, where lengths are.
                _ => {
                    let at = random.below(600.min(bytes.len() as u64)) as usize;
                    bytes[at] = random.next() as u8;
                }
            }
        }
        if case % 2 == 0 && bytes.len() > 24 {
            mend(&mut bytes);
        }
        match hostile(bytes) {
            Ok(()) => fine += 1,
            Err(text) => {
                refused += 1;
                names.insert(text.split(|c: char| c.is_ascii_digit()).next().unwrap_or_default().to_owned());
            }
        }
    }
    // Most damage behind the caps ends the capture early, which is no error; with the sums mended it is seen later.
    assert!(refused > cases / 20 && fine > 0, "{refused} refused, {fine} fine");
    assert!(names.len() > 5, "{names:?}");
}

/// A frame of a draw, and of bytes that fill the rings between client and writer soon.
fn frame(pipe: &mut impl Session, serial: u64) {
    let buffer = Handle::new(1, 1);
    if serial == 1 {
        let storage_kind = StorageKind::Buffer.raw() as u8;
        let desc =
            ResourceDesc { resource: buffer, storage_kind, buf_size: 1 << 16, ..ResourceDesc::default() };
        pipe.resource_create(&desc).expect("recorded");
    }
    runahead_core::upload::buffer(pipe, buffer, 0, &[serial as u8; 1 << 16], 1 << 16).expect("recorded");
    pipe.present(&Present { frame_serial: serial, ..Present::default() }, &[]).expect("recorded");
}

/// Draws more than the rings hold behind `stop`; what the recording became.
fn stopped(file: &Path, stop: impl FnOnce()) -> Result<Option<Summary>, CaptureError> {
    let config = Config { record: Some(file.to_owned()), ..config(Topology::Inproc, AHEAD, "null") };
    let make = || Ok(runahead_core::null::Null::default());
    let mut client = Client::open(&config, BackendKind::Null, make, Heard::default()).expect("a session");
    prepare(&mut client);
    for serial in 1..=10 {
        frame(client.pipe(), serial);
    }
    stop();
    for serial in 11..=2_000 {
        frame(client.pipe(), serial);
    }
    let summary = client.finish_recording();
    // The session is as good as before.
    frame(client.pipe(), 2_001);
    client.close().expect("an orderly end");
    summary
}

#[test]
fn a_file_that_takes_no_more_stops_the_recording_and_not_the_program() {
    let file = Scratch::new();
    let made = Command::new("mkfifo").arg(&file.0).status().expect("it runs");
    assert!(made.success());
    let (path, (go, told)) = (file.0.clone(), std::sync::mpsc::channel());
    let reader = std::thread::spawn(move || {
        let mut pipe = File::open(path).expect("the pipe");
        std::io::copy(&mut Read::by_ref(&mut pipe).take(1_000), &mut std::io::sink()).expect("its beginning");
        told.recv().expect("a word");
    });
    let error = stopped(&file.0, || {
        go.send(()).expect("a reader");
        reader.join().expect("no panic");
    });
    let error = error.expect_err("nobody reads").to_string();
    assert!(error.contains("the recording stopped: Broken pipe"), "{error}");
}

#[test]
fn a_killed_writer_stops_the_recording_and_not_the_program() {
    let file = Scratch::new();
    let path = file.0.clone();
    let summary = stopped(&file.0, || {
        let inode =
            format!(":{}", std::os::unix::fs::MetadataExt::ino(&fs::metadata(&path).expect("a file")));
        let locks = fs::read_to_string("/proc/locks").expect("the kernel's list");
        let lock = locks.lines().find(|line| line.split_whitespace().any(|word| word.ends_with(&inode)));
        let process = lock.expect("the writer's lock").split_whitespace().nth(4).expect("its process");
        let pid = rustix::process::Pid::from_raw(process.parse().expect("a number")).expect("a process");
        rustix::process::kill_process(pid, rustix::process::Signal::KILL).expect("a process of ours");
    });
    assert!(matches!(summary, Err(CaptureError::Scribe(_))), "{summary:?}");
    let capture = Capture::open(&file.0).expect("its beginning");
    assert!(matches!(capture.torn(), Some(CaptureError::Damaged { .. })), "{:?}", capture.torn());
    assert!(capture.frames() <= 10, "{}", capture.frames());
}
