//! Programs off the shelf: what they show on Runahead is what they show on the system's driver, to the byte but where
//! a shader's arithmetic may round otherwise; and what happens when one side of a session is killed under them.
//!
//! Needs what `./x demo` needs. What is missing fails the tests: a picture that was not compared is not a picture that
//! is right.

mod recorded;

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::{
        OnceLock,
        atomic::{AtomicU32, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use runahead_linux::session::Topology;
use runahead_verify::{
    Scratch,
    apps::{Arm, Glmark2, Image, Running, Scene, Screen, installation},
};
use rustix::process::{Pid, Signal, kill_process};
use x11rb::{
    connection::Connection as _,
    protocol::{
        xproto::{ConnectionExt as _, KEY_PRESS_EVENT, KEY_RELEASE_EVENT},
        xtest::ConnectionExt as _,
    },
};

/// How long a program has until it shows its picture at rest.
const PATIENCE: Duration = Duration::from_secs(30);

/// How long it must be at rest.
const REST: Duration = Duration::from_millis(400);

fn install() -> &'static Path {
    static INSTALLED: OnceLock<PathBuf> = OnceLock::new();
    INSTALLED.get_or_init(|| installation().expect("`./x test` builds it"))
}

/// The clock that stands, as a library to preload.
fn clock() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| {
        let library = Path::new(env!("CARGO_TARGET_TMPDIR")).join("clock.so");
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs/clock.c");
        let built =
            Command::new("cc").args(["-O1", "-shared", "-fPIC", "-o"]).arg(&library).arg(source).status();
        assert!(built.expect("a C compiler").success());
        library
    })
}

/// Where pictures that differ are left.
fn kept() -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("programs");
    fs::create_dir_all(&folder).unwrap();
    folder
}

/// Pixels of a picture of 800 by 600 that may be off by one, where arithmetic may round otherwise.
const ROUNDED: usize = 100;

/// Starts a program on a driver and a screen.
type Start = dyn Fn(Arm, &Screen) -> Command;

/// A program that draws in the top left corner of the screen.
struct Shown {
    name: &'static str,
    size: (usize, usize),
    /// How many pixels may differ from the system's by one step of a component.
    rounded: usize,
    command: Box<Start>,
}

fn shown() -> Vec<Shown> {
    let gears = Shown {
        name: "es2gears_x11",
        size: (300, 300),
        rounded: 0,
        command: Box::new(|arm, screen| arm.command(install(), screen, "es2gears_x11")),
    };
    let scenes = Scene::ALL.iter().map(|scene| Shown {
        name: scene.name,
        size: (800, 600),
        // Its fragment shader multiplies constants of medium precision: the front's compiler at 32 bits (0.1 * 0.2 is
        // 0.020004 as half a float), this driver at 16 (0.019989), both as GLSL ES 3.00 section 4.5.2 allows. 42
        // pixels were seen to differ.
        rounded: if scene.name == "shading, phong" { ROUNDED } else { 0 },
        command: Box::new(move |arm, screen| {
            Glmark2 { scene, side: None, seconds: 1000.0 }.command(arm, install(), screen)
        }),
    });
    std::iter::once(gears).chain(scenes).collect()
}

/// The picture that a program comes to rest with, which with a standing clock is that of its time.
fn picture(shown: &Shown, arm: Arm, still: bool) -> Result<Image, String> {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let screen = Screen::start()?;
    let mut command = (shown.command)(arm, &screen);
    let stands = kept().join(format!("stands-{}", NEXT.fetch_add(1, Ordering::Relaxed)));
    let _ = fs::remove_file(&stands);
    if still {
        command.env("LD_PRELOAD", clock()).env("CLOCK_STANDS", &stands);
    }
    let mut running = Running::start(&mut command).map_err(|error| error.to_string())?;
    let until = Instant::now() + PATIENCE;
    let mut last = (Instant::now(), screen.image()?);
    while Instant::now() < until {
        thread::sleep(Duration::from_millis(50));
        let image = screen.image()?.corner(shown.size.0, shown.size.1);
        if running.has_ended().map_err(|error| error.to_string())? {
            let output = running.finish(PATIENCE).map_err(|error| error.to_string())?;
            return Err(format!(
                "it ended: {:?} {}{}",
                output.status,
                String::from_utf8_lossy(&output.stdout),
                String::from_utf8_lossy(&output.stderr)
            ));
        }
        // On a busy machine a picture can stand for long though the clock does not.
        if image != last.1 || still && !stands.is_file() {
            last = (Instant::now(), image);
        } else if last.0.elapsed() > REST && image.colors() >= 8 {
            let _ = fs::remove_file(&stands);
            return Ok(image);
        }
    }
    Err("it does not come to rest, or shows nothing".to_owned())
}

#[test]
fn programs_show_on_every_topology_what_they_show_on_the_systems_driver() {
    let mut wrong = Vec::new();
    for shown in shown() {
        let file = |arm: &str| kept().join(format!("{}-{arm}.png", shown.name.replace([' ', ','], "")));
        let expected =
            picture(&shown, Arm::System, true).unwrap_or_else(|error| panic!("{}: {error}", shown.name));
        expected.save(&file("system")).unwrap();
        for topology in Topology::ALL {
            let arm = Arm::Runahead(*topology);
            match picture(&shown, arm, true) {
                Ok(image) => {
                    image.save(&file(arm.name())).unwrap();
                    let (differing, largest) =
                        (image.differing(&expected), image.largest_difference(&expected));
                    if differing > shown.rounded || largest > shown.rounded.min(1) as u8 {
                        let (name, arm) = (shown.name, arm.name());
                        wrong.push(format!(
                            "{name} on {arm}: {differing} pixels differ, by {largest} at most"
                        ));
                    }
                }
                Err(error) => wrong.push(format!("{} on {}: {error}", shown.name, arm.name())),
            }
        }
    }
    assert!(wrong.is_empty(), "see {}:\n{}", kept().display(), wrong.join("\n"));
}

/// The comparison can go red, and the clock is what brings the programs to rest.
#[test]
fn another_picture_is_found() {
    let all = shown();
    let [first, second, ..] = &*all else { panic!("two programs at least") };
    let one = picture(first, Arm::System, true).unwrap().corner(300, 300);
    let other = picture(second, Arm::System, true).unwrap().corner(300, 300);
    assert_ne!(one.differing(&other), 0, "negative control");
    picture(first, Arm::System, false).expect_err("negative control: without the clock it goes on turning");
}

#[test]
fn glmark2_validates_its_scenes_on_every_topology() {
    let screen = Screen::start().unwrap();
    for topology in Topology::ALL {
        let mut command = Arm::Runahead(*topology).command(install(), &screen, "glmark2-es2");
        command.arg("--validate");
        for scene in Scene::ALL {
            command.args(["-b", &format!("{}:duration=1", scene.option)]);
        }
        let output = Running::start(&mut command).unwrap().finish(Duration::from_secs(60)).unwrap();
        let text = String::from_utf8_lossy(&output.stdout);
        let verdicts = |verdict: &str| text.matches(verdict).count();
        assert!(output.status.success(), "{}: {text}", topology.name());
        assert_eq!(verdicts("Validation:"), Scene::ALL.len(), "{}: {text}", topology.name());
        // Scenes that glmark2 has no expectation for say so.
        let known = verdicts("Validation: Success") + verdicts("Validation: Unknown");
        assert_eq!(known, Scene::ALL.len(), "{}: {text}", topology.name());
        assert!(verdicts("Validation: Success") >= 3, "{}: {text}", topology.name());
        assert!(text.contains("Runahead"), "{}: it draws on something else: {text}", topology.name());
    }
}

/// A row of the statistics: the client's count and the server's; zeros where neither has any.
fn counted(said: &str, row: &str) -> (u64, u64) {
    let cells = |line: &str| {
        let mut cells = line.split_whitespace();
        (cells.next()? == row).then(|| Some((cells.next()?.parse().ok()?, cells.next()?.parse().ok()?)))?
    };
    said.lines().find_map(cells).unwrap_or_default()
}

/// A program waits for the server at the beginning, and then for the credit alone.
#[test]
fn a_steady_program_waits_for_the_credit_alone() {
    let screen = Screen::start().unwrap();
    for topology in [Topology::Inproc, Topology::Spawn] {
        for scene in Scene::ALL {
            let mut command = Command::new(install().join("runahead"));
            command.args([
                "run",
                "--stats",
                "--topology",
                topology.name(),
                "--",
                "glmark2-es2",
                "-s",
                "64x64",
            ]);
            command.args(["-b", &format!("{}:duration=1", scene.option)]).env("DISPLAY", screen.display());
            let output = Running::start(&mut command).unwrap().finish(PATIENCE).unwrap();
            let said = String::from_utf8_lossy(&output.stderr);
            let context = format!("{} on {}: {said}", scene.name, topology.name());
            let (presents, shown) = counted(&said, "presents");
            assert!(presents >= 20 && presents == shown, "{context}");
            for row in ["ring_room_waits", "stage_room_waits", "answer_waits", "watermark_waits"] {
                assert_eq!(counted(&said, row), (0, 0), "{row}: {context}");
            }
            // A context, a surface, their ends, and what is asked between.
            let (requests, _) = counted(&said, "control_waits");
            assert!((1..=10).contains(&requests), "{context}");
            let (waits, _) = counted(&said, "credit_waits");
            assert!(waits != 0 && waits <= presents, "the control: it does wait for the credit: {context}");
        }
    }
}

/// What the comparator says at the end: how many verbs were compared, of how many.
fn verdict(said: &str) -> Option<(u64, u64)> {
    let (_, rest) = said.split_once("verify: compared ")?;
    let (counts, rest) = rest.split_once(" verbs: ")?;
    let (compared, of) = counts.split_once(" of ")?;
    rest.starts_with("no difference").then_some((compared.parse().ok()?, of.parse().ok()?))
}

/// The standard error of a scene while states are compared.
fn checked(topology: Topology, scene: &Scene, screen: &Screen, check: &str) -> String {
    let glmark2 = Glmark2 { scene, side: Some(64), seconds: 0.3 };
    let mut command = glmark2.command(Arm::Runahead(topology), install(), screen);
    let running = Running::start(command.env("RUNAHEAD_VERIFY", check)).unwrap();
    String::from_utf8_lossy(&running.finish(PATIENCE).unwrap().stderr).into_owned()
}

/// Presses and releases a key of a screen's keyboard, over the window in its corner.
fn press(screen: &Screen, keysym: u32) {
    let (x11, _) = x11rb::connect(Some(screen.display())).unwrap();
    let (least, most) = (x11.setup().min_keycode, x11.setup().max_keycode);
    let map = x11.get_keyboard_mapping(least, most - least + 1).unwrap().reply().unwrap();
    let at =
        map.keysyms.iter().position(|one| *one == keysym).unwrap() / usize::from(map.keysyms_per_keycode);
    let root = x11.setup().roots[0].root;
    x11.warp_pointer(x11rb::NONE, root, 0, 0, 0, 0, 100, 100).unwrap().check().unwrap();
    for kind in [KEY_PRESS_EVENT, KEY_RELEASE_EVENT] {
        x11.xtest_fake_input(kind, least + at as u8, 0, x11rb::NONE, 0, 0, 0).unwrap().check().unwrap();
    }
}

#[test]
fn both_sides_agree_on_their_state_at_every_verb() {
    /// `XK_Escape`, at which es2gears ends itself.
    const ESCAPE: u32 = 0xff1b;
    let screen = Screen::start().unwrap();
    for topology in Topology::ALL {
        for scene in Scene::ALL {
            let said = checked(*topology, scene, &screen, "1");
            let agreed = verdict(&said).is_some_and(|(compared, of)| compared == of && compared > 20);
            assert!(agreed, "{} on {}: {said}", scene.name, topology.name());
        }
        let mut command = Arm::Runahead(*topology).command(install(), &screen, "es2gears_x11");
        let running = Running::start(command.env("RUNAHEAD_VERIFY", "1")).unwrap();
        until("it draws", || screen.image().unwrap().colors() >= 8);
        press(&screen, ESCAPE);
        let said = String::from_utf8_lossy(&running.finish(PATIENCE).unwrap().stderr).into_owned();
        let agreed = verdict(&said).is_some_and(|(compared, of)| compared == of && compared > 5);
        assert!(agreed, "es2gears_x11 on {}: {said}", topology.name());
    }
}

/// The comparator can say no, and says where.
#[test]
fn a_wrong_value_and_a_record_that_is_left_out_are_named() {
    let screen = Screen::start().unwrap();
    for topology in Topology::ALL {
        for (check, field) in
            [("corrupt", "values.active_texture_unit@Clear (record "), ("drop", "program.constants")]
        {
            let said = checked(*topology, &Scene::ALL[0], &screen, check);
            let named = said.lines().find(|line| line.contains("the states differ: ")).unwrap_or_default();
            assert!(named.contains(field), "{check} on {}: {said}", topology.name());
            let values = named.contains(": client ") && named.contains(", server ");
            assert!(values && named.contains(" (record "), "{check} on {}: {said}", topology.name());
            assert_eq!(verdict(&said), None, "{check} on {}: {said}", topology.name());
        }
        let none = checked(*topology, &Scene::ALL[0], &screen, "0");
        assert_eq!(verdict(&none), None, "nothing was to be compared: {none}");
    }
}

/// The servers of programs on a screen.
fn servers(screen: &Screen) -> Vec<u32> {
    let display = format!("DISPLAY={}", screen.display());
    let processes = fs::read_dir("/proc").unwrap().flatten();
    let numbers = processes.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    numbers
        .filter(|number| {
            let read = |file: &str| fs::read(format!("/proc/{number}/{file}")).unwrap_or_default();
            read("cmdline").starts_with(b"runahead-server\0")
                && read("environ").split(|byte| *byte == 0).any(|one| one == display.as_bytes())
        })
        .collect()
}

fn until(what: &str, done: impl Fn() -> bool) {
    let start = Instant::now();
    while !done() {
        assert!(start.elapsed() < PATIENCE, "{what}");
        thread::sleep(Duration::from_millis(10));
    }
}

fn kill(process: u32) {
    let process = Pid::from_raw(process.cast_signed()).unwrap();
    kill_process(process, Signal::KILL).unwrap();
}

/// es2gears on a server of its own, drawing.
fn gears(screen: &Screen) -> (Running, u32) {
    let mut command = Arm::Runahead(Topology::Spawn).command(install(), screen, "es2gears_x11");
    let running = Running::start(&mut command).unwrap();
    until("it draws", || screen.image().unwrap().colors() >= 8);
    let servers = servers(screen);
    assert_eq!(servers.len(), 1, "one program, one server");
    (running, servers[0])
}

#[test]
fn a_program_outlives_its_server() {
    let screen = Screen::start().unwrap();
    let (mut running, server) = gears(&screen);
    kill(server);
    thread::sleep(Duration::from_secs(1));
    // It does not ask what a swap answers, so it goes on without drawing; had it crashed it would be gone.
    assert!(!running.has_ended().unwrap(), "it ended with its server");
    running.signal(Signal::TERM);
    let output = running.finish(PATIENCE).unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(said.matches("the session is lost").count(), 1, "one line for the user: {said}");
    assert_eq!(output.status.code(), Some(128 + 15), "{:?}", output.status);
}

#[test]
fn a_killed_program_leaves_nothing_behind() {
    let screen = Screen::start().unwrap();
    let (running, _) = gears(&screen);
    let shared = || fs::read_dir("/dev/shm").map_or(0, Iterator::count);
    let before = shared();
    let program = {
        let run = running.process();
        let children = fs::read_to_string(format!("/proc/{run}/task/{run}/children")).unwrap();
        children.split_whitespace().next().expect("a program").parse().unwrap()
    };
    kill(program);
    until("the server ends", || servers(&screen).is_empty());
    assert!(shared() <= before, "files in shared memory");
    let output = running.finish(PATIENCE).unwrap();
    assert_eq!(output.status.code(), Some(128 + 9), "{:?}", output.status);
    // Its window is gone as well: the screen is as it was.
    until("the window goes", || screen.image().unwrap().colors() < 8);
}

/// Whether a program that runs is seen: what the two above rest on.
#[test]
fn a_program_on_the_systems_driver_has_no_server() {
    let screen = Screen::start().unwrap();
    let mut command = Arm::System.command(install(), &screen, "es2gears_x11");
    command.stdout(Stdio::null());
    let _running = Running::start(&mut command).unwrap();
    until("it draws", || screen.image().unwrap().colors() >= 8);
    assert_eq!(servers(&screen), [0; 0], "negative control");
}

/// What a program's server translated is there for the next run; what is damaged there is translated again.
#[test]
fn translated_programs_are_kept_from_run_to_run() {
    let screen = Screen::start().expect("a screen");
    let scratch = Scratch::new(env!("CARGO_TARGET_TMPDIR"));
    for topology in [Topology::Inproc, Topology::Spawn] {
        let folder = scratch.path(topology.name());
        fs::create_dir(&folder).expect("room for a folder");
        let run = |keep: &str| {
            let glmark2 = Glmark2 { scene: &Scene::ALL[0], side: Some(64), seconds: 0.1 };
            let mut command = glmark2.command(Arm::Runahead(topology), install(), &screen);
            command.env("RUNAHEAD_CACHE", keep);
            glmark2.fps(command).expect("it draws");
            let files = fs::read_dir(&folder).expect("a folder").map(|file| file.expect("an entry").path());
            let mut files: Vec<_> = files.map(|file| (fs::read(&file).expect("a file"), file)).collect();
            files.sort();
            files
        };
        assert_eq!(run("0"), [], "negative control");
        let first = run(folder.to_str().expect("text"));
        assert!(!first.is_empty(), "{}: nothing is kept", topology.name());
        assert_eq!(run(folder.to_str().expect("text")), first, "{}", topology.name());
        for (bytes, file) in &first {
            fs::write(file, &bytes[..bytes.len() / 2]).expect("it can be damaged");
        }
        assert_eq!(run(folder.to_str().expect("text")), first, "{}: mended", topology.name());
    }
}
