//! Recordings of programs that are kept in the tree: what they are of, where they are, and what they show.

use std::{
    collections::BTreeMap,
    fs::{self, File},
    path::{Path, PathBuf},
    process::Command,
};

use runahead_core::Silence;
use runahead_linux::{
    capture::{Capture, trim},
    native::gles::{self, Driver, WindowSystem},
    session::{Client, Config, Topology},
};
use runahead_wire::values::BackendKind;

use crate::apps::{Image, Screen};

/// Frames that each has.
pub const FRAMES: u64 = 12;

/// A recording.
#[derive(Clone, Copy, Debug)]
pub struct Recording {
    /// What its file is called.
    pub name: &'static str,
    /// The program and its arguments.
    pub program: &'static [&'static str],
}

impl Recording {
    /// Those that are in the tree.
    pub const ALL: &[Self] = &[
        Self { name: "gears", program: &["es2gears_x11"] },
        Self {
            name: "build",
            program: &["glmark2-es2", "-s", "128x128", "-b", "build:use-vbo=true:duration=0.5"],
        },
        Self {
            name: "arrays",
            program: &["glmark2-es2", "-s", "128x128", "-b", "build:use-vbo=false:duration=0.5"],
        },
        Self { name: "texture", program: &["glmark2-es2", "-s", "128x128", "-b", "texture:duration=0.5"] },
        Self { name: "shading", program: &["glmark2-es2", "-s", "128x128", "-b", "shading:duration=0.5"] },
    ];

    /// Its file.
    #[must_use]
    pub fn file(&self) -> PathBuf {
        folder().join(self.name).with_extension("rah")
    }

    /// The command that records its program, with the states that the program means.
    #[must_use]
    pub fn command(&self, installation: &Path, screen: &Screen, to: &Path) -> Command {
        let mut command = Command::new(installation.join("runahead"));
        command
            .args(["record", "--topology", Topology::Spawn.name(), "-o"])
            .arg(to)
            .arg("--")
            .args(self.program);
        command.env("DISPLAY", screen.display()).env_remove("WAYLAND_DISPLAY").env("RUNAHEAD_VERIFY", "1");
        command
    }
}

/// Where they are.
#[must_use]
pub fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("recordings")
}

/// Takes the first frames of a recording.
///
/// # Errors
/// It has fewer, or one of the files is none.
pub fn take(from: &Path, to: &Path) -> Result<(), String> {
    let told = |file: &Path, error: &dyn std::fmt::Display| format!("{}: {error}", file.display());
    let mut capture = Capture::open_whole(from).map_err(|error| told(from, &error))?;
    let out = File::create(to).map_err(|error| told(to, &error))?;
    trim::trim(&mut capture, 0, FRAMES - 1, out).map_err(|error| told(from, &error))?;
    Ok(())
}

/// What the driver of this machine calls itself: pictures of another one may differ.
///
/// # Errors
/// There is none.
pub fn renderer() -> Result<String, String> {
    let config = Config { topology: Topology::Direct, ..Config::default() };
    let make = || gles::open(&WindowSystem::Surfaceless, Driver::System);
    let client =
        Client::open(&config, BackendKind::Gles, make, Silence).map_err(|error| error.to_string())?;
    Ok(client.caps().texts().renderer.to_owned())
}

/// What recordings show: a digest of each frame, by the recording's name and the frame's number.
pub type Digests = BTreeMap<(String, u64), String>;

/// The digests in the tree, and the renderer that they are of.
///
/// # Errors
/// The file is missing, or is none.
pub fn expected() -> Result<(String, Digests), String> {
    let file = folder().join("digests.txt");
    let text = fs::read_to_string(&file).map_err(|error| format!("{}: {error}", file.display()))?;
    let mut lines = text.lines();
    let renderer = lines.next().and_then(|line| line.strip_prefix("renderer ")).ok_or("no renderer")?;
    let parse = |line: &str| {
        let mut words = line.split(' ');
        Some(((words.next()?.to_owned(), words.next()?.parse().ok()?), words.next()?.to_owned()))
    };
    let digests: Option<Digests> = lines.map(parse).collect();
    Ok((renderer.to_owned(), digests.ok_or_else(|| format!("{}: a line that is none", file.display()))?))
}

/// Digests and their renderer, as the file has them.
#[must_use]
pub fn text(renderer: &str, digests: &Digests) -> String {
    let lines = digests.iter().map(|((name, frame), digest)| format!("{name} {frame} {digest}\n"));
    format!("renderer {renderer}\n{}", lines.collect::<String>())
}

/// The digests of a folder of images that `runahead replay --images` wrote.
///
/// # Errors
/// An image is none.
pub fn digests(name: &str, folder: &Path) -> Result<Digests, String> {
    let mut digests = Digests::new();
    for entry in fs::read_dir(folder).map_err(|error| format!("{}: {error}", folder.display()))? {
        let file = entry.map_err(|error| error.to_string())?.path();
        let number = file.file_stem().and_then(|stem| stem.to_str()?.parse().ok());
        let number = number.ok_or_else(|| format!("{}: no frame's image", file.display()))?;
        let image = Image::load(&file)?;
        let digest = format!("{}x{}-{:08x}", image.width, image.height, crc32fast::hash(&image.rgb));
        digests.insert((name.to_owned(), number), digest);
    }
    Ok(digests)
}
