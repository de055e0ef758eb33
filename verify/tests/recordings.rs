//! The recordings in the tree: they show the same on every topology, to the byte, and both sides agree on their state at
//! every verb.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
    process::{Command, Output},
    sync::OnceLock,
};

use runahead_linux::{capture::Capture, session::Topology};
use runahead_verify::{
    Scratch, built,
    recordings::{Digests, FRAMES, Recording, digests, expected, folder, renderer, text},
};

/// The command line.
fn runahead() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| built(&["runahead-cli", "runahead-server"]).join("runahead"))
}

fn replay(arguments: &[&str]) -> Output {
    let mut command = Command::new(runahead());
    for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("RUNAHEAD_")) {
        command.env_remove(name);
    }
    command.arg("replay").args(arguments).output().expect("it starts")
}

fn said(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Plays a recording; what its frames show, and how many verbs were compared, of how many.
fn played(recording: &Recording, topology: Topology) -> (Digests, u64, u64) {
    let scratch = Scratch::new(env!("CARGO_TARGET_TMPDIR"));
    let (file, images) = (recording.file(), scratch.path("images"));
    let [file, to] = [&file, &images].map(|path| path.to_str().expect("text"));
    let output = replay(&[file, "--topology", topology.name(), "--images", to, "--verify"]);
    let context = format!("{} on {}: {}", recording.name, topology.name(), said(&output.stderr));
    assert!(output.status.success(), "{context}");
    let counts = said(&output.stderr).lines().find_map(|line| {
        let counts = line.strip_prefix("runahead: compared ")?.strip_suffix(" verbs: no difference")?;
        let (compared, of) = counts.split_once(" of ")?;
        Some((compared.parse().ok()?, of.parse().ok()?))
    });
    let (compared, of) = counts.unwrap_or_else(|| panic!("nothing was compared: {context}"));
    (digests(recording.name, &images).expect("images"), compared, of)
}

#[test]
fn each_shows_the_same_on_every_topology_and_both_sides_agree() {
    let (theirs, digests) = expected().expect("digests");
    let here = renderer().expect("a driver");
    for recording in Recording::ALL {
        let of: Digests = digests
            .iter()
            .filter(|((name, _), _)| name == recording.name)
            .map(|(a, b)| (a.clone(), b.clone()))
            .collect();
        assert_eq!(of.len() as u64, FRAMES, "{} in digests.txt", recording.name);
        let all = Topology::ALL.iter().map(|topology| (topology.name(), played(recording, *topology)));
        let all: Vec<_> = all.collect();
        for (topology, (shown, compared, verbs)) in &all {
            let context = format!("{} on {topology}", recording.name);
            assert_eq!(shown, &all[0].1.0, "{context}");
            assert_eq!(shown.len() as u64, FRAMES, "{context}");
            let pictures: BTreeSet<&String> = shown.values().collect();
            assert!(pictures.len() > 1, "{context}: it stands still, so that a frame too late is not seen");
            // The readbacks of the images are not the program's.
            assert_eq!(*verbs, compared + FRAMES, "{context}");
            assert!(*compared >= 2 * FRAMES, "{context}: {compared} of {verbs}");
            if here == theirs {
                assert_eq!(shown, &of, "{context}");
            }
        }
    }
}

#[test]
fn the_list_is_what_is_there() {
    let files = fs::read_dir(folder()).expect("a folder").map(|entry| entry.expect("a file").path());
    let names: BTreeSet<String> = files
        .filter(|file| file.extension().is_some_and(|extension| extension == "rah"))
        .map(|file| file.file_stem().expect("a name").to_string_lossy().into_owned())
        .collect();
    assert_eq!(names, Recording::ALL.iter().map(|recording| recording.name.to_owned()).collect());
    let bytes = |recording: &Recording| fs::metadata(recording.file()).expect("a file").len();
    let sum: u64 = Recording::ALL.iter().map(bytes).sum();
    assert!(sum < 8 << 20, "{sum} bytes are too many for the tree");
    let (theirs, digests) = expected().expect("digests");
    assert_eq!(text(&theirs, &digests), fs::read_to_string(folder().join("digests.txt")).expect("a file"));
}

/// What is found is found: a byte of a program's stream that is another one shows, or is refused.
#[test]
fn a_frame_of_another_recording_is_found() {
    let [first, second, ..] = Recording::ALL else { panic!("two at least") };
    let (one, ..) = played(first, Topology::Direct);
    let (other, ..) = played(second, Topology::Direct);
    let digests = |digests: &Digests| digests.values().cloned().collect::<BTreeSet<_>>();
    assert!(digests(&one).is_disjoint(&digests(&other)), "negative control");
}

#[test]
fn each_frame_is_reached_alone_and_stands_alone_when_trimmed() {
    for recording in Recording::ALL {
        let file = recording.file();
        let file = file.to_str().expect("text");
        let (all, ..) = played(recording, Topology::Direct);
        for frame in [5, 11] {
            let scratch = Scratch::new(env!("CARGO_TARGET_TMPDIR"));
            let path = |name: &str| scratch.path(name).to_str().expect("text").to_owned();
            let (images, part, shown) = (path("seek"), path("part.rah"), path("part"));
            let number = frame.to_string();
            let one = |arguments: &[&str]| {
                let output = replay(arguments);
                assert!(output.status.success(), "{}: {}", recording.name, said(&output.stderr));
            };
            one(&[file, "--frames", &number, "--images", &images]);
            one(&[file, "--frames", &number, "--trim", &part]);
            one(&[&part, "--images", &shown]);
            let expected = &all[&(recording.name.to_owned(), frame)];
            let sought = digests(recording.name, Path::new(&images)).expect("images");
            assert_eq!(sought.values().collect::<Vec<_>>(), [expected], "{} {frame}", recording.name);
            let trimmed = digests(recording.name, Path::new(&shown)).expect("images");
            assert_eq!(trimmed.values().collect::<Vec<_>>(), [expected], "{} {frame}", recording.name);
            assert_eq!(Capture::open(Path::new(&part)).expect("a capture").frames(), 1);
        }
    }
}
