//! Programs that are recorded: what a recording shows is what the program showed, soon, and what it says when the two
//! sides did not agree.

use std::process::Output;

use runahead_linux::capture::Capture;
use runahead_verify::Scratch;

use super::*;

fn scratch() -> Scratch {
    Scratch::new(env!("CARGO_TARGET_TMPDIR"))
}

/// The command that records a program.
fn recording(screen: &Screen, file: &Path, program: &[&str]) -> Command {
    let mut command = Arm::System.command(install(), screen, install().join("runahead").to_str().unwrap());
    command.args(["record", "--topology", "spawn", "-o"]).arg(file).arg("--").args(program);
    command
}

fn replay(file: &Path, arguments: &[&str]) -> Output {
    Command::new(install().join("runahead")).arg("replay").arg(file).args(arguments).output().unwrap()
}

#[track_caller]
fn played(file: &Path, arguments: &[&str]) {
    let output = replay(file, arguments);
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
}

/// Frames of a recording, once it is whole.
fn frames(file: &Path) -> u64 {
    let capture = Capture::open_whole(file).unwrap();
    assert!(capture.torn().is_none(), "{:?}", capture.torn());
    capture.frames()
}

/// The last frame, played again, is the picture that stood on the screen, and the program was killed.
#[test]
fn a_recording_shows_what_the_program_showed() {
    let scratch = scratch();
    for (number, program) in
        [&["es2gears_x11"][..], &["glmark2-es2", "-b", "shading:duration=1000"]].into_iter().enumerate()
    {
        let (file, name) = (scratch.path(&format!("{number}.rah")), program[0]);
        let size = if number == 0 { (300, 300) } else { (800, 600) };
        let to = file.clone();
        let shown = Shown {
            name: "recorded",
            size,
            rounded: 0,
            command: Box::new(move |_, screen| recording(screen, &to, program)),
        };
        let picture = picture(&shown, Arm::System, true).unwrap();
        let last = frames(&file) - 1;
        for topology in Topology::ALL {
            let images = scratch.path(&format!("{number}-{}", topology.name()));
            let arguments = ["--topology", topology.name(), "--frames", &last.to_string()];
            played(&file, &[&arguments[..], &["--images", images.to_str().unwrap()]].concat());
            let again = Image::load(&images.join(format!("{last:06}.png"))).unwrap();
            assert_eq!(again.differing(&picture), 0, "{name} on {}", topology.name());
        }
    }
}

/// Each frame of a thousand is shown within a second of asking for it, driver and all, and is the one that it is when
/// all before it are played.
#[test]
fn any_frame_of_a_thousand_is_reached_within_a_second() {
    let (scratch, screen) = (scratch(), Screen::start().unwrap());
    let file = scratch.path("a.rah");
    let program = ["glmark2-es2", "-s", "128x128", "-b", "shading:duration=6"];
    let output = Running::start(&mut recording(&screen, &file, &program)).unwrap().finish(PATIENCE).unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let count = frames(&file);
    assert!(count >= 1000, "only {count} frames in six seconds");
    let whole = scratch.path("whole");
    played(&file, &["--images", whole.to_str().unwrap(), "--frames", "0..1000"]);
    for frame in [0, 1, 500, 999] {
        let images = scratch.path(&format!("{frame}"));
        let arguments = ["--frames", &frame.to_string(), "--images", images.to_str().unwrap()];
        // The machine has other work: the shortest of some.
        let times = (0..4).map(|_| {
            let start = Instant::now();
            played(&file, &arguments);
            start.elapsed()
        });
        let time = times.min().unwrap();
        assert!(time < Duration::from_secs(1), "frame {frame} of 1000 took {time:?}");
        let name = format!("{frame:06}.png");
        let [one, other] = [&images, &whole].map(|folder| Image::load(&folder.join(&name)).unwrap());
        assert_eq!(one, other, "frame {frame}");
    }
}

/// What the comparator said to the program it says of the recording, on every topology: field, verb, values, record.
#[test]
fn a_recording_of_sides_that_differ_says_where() {
    let (scratch, screen) = (scratch(), Screen::start().unwrap());
    for (check, field) in
        [("corrupt", "values.active_texture_unit@Clear (record "), ("drop", "program.constants")]
    {
        let file = scratch.path(&format!("{check}.rah"));
        let program = ["glmark2-es2", "-s", "64x64", "-b", "build:duration=0.3"];
        let mut command = recording(&screen, &file, &program);
        let live = Running::start(command.env("RUNAHEAD_VERIFY", check)).unwrap().finish(PATIENCE).unwrap();
        let difference = |output: &Output| {
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            let found = said.lines().find_map(|line| line.split_once("the states differ: "));
            found.map(|(_, difference)| difference.to_owned()).unwrap_or_else(|| panic!("{check}: {said}"))
        };
        let expected = difference(&live);
        assert!(expected.starts_with(field) && expected.contains(": client "), "{check}: {expected}");
        for topology in Topology::ALL {
            let output = replay(&file, &["--topology", topology.name(), "--verify"]);
            assert_eq!(output.status.code(), Some(1), "{check} on {}", topology.name());
            assert_eq!(difference(&output), expected, "{check} on {}", topology.name());
        }
    }
}

/// A program without EGL leaves no recording, and that is said; a file that is there stays.
#[test]
fn a_recording_that_is_none_is_said() {
    let (scratch, screen) = (scratch(), Screen::start().unwrap());
    let file = scratch.path("a.rah");
    let output = recording(&screen, &file, &["true"]).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("true never used EGL") && !file.exists(), "{said}");
    fs::write(&file, "mine").unwrap();
    let output = recording(&screen, &file, &["true"]).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("is there already"), "{said}");
    assert_eq!(fs::read_to_string(&file).unwrap(), "mine");
    let mut direct = recording(&screen, &scratch.path("b.rah"), &["true"]);
    let arguments: Vec<_> = direct.get_args().map(ToOwned::to_owned).collect();
    let changed =
        arguments.iter().map(|argument| if argument == "spawn" { "direct".into() } else { argument.clone() });
    direct = Command::new(direct.get_program());
    let output = direct.args(changed).output().unwrap();
    assert_eq!(output.status.code(), Some(126));
    assert!(String::from_utf8_lossy(&output.stderr).contains("record on inproc or spawn"));
}
