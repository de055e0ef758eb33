//! Playing a capture again, or looking into it.

use std::{
    fs::File,
    io::{self, BufReader, BufWriter, IsTerminal, Write},
    ops::RangeInclusive,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use runahead_core::{Silence, compare::Check, null::Null, trace::Trace};
use runahead_linux::{
    capture::{Capture, Player, replay::Nobody, trim},
    listing::Listing,
    native::gles::{self, Driver, WindowSystem},
    session::{Client, Config, Native, Sink, Topology},
};
use runahead_wire::{caps::CapsView, values::BackendKind};

mod bench;
mod dump;
mod image;
pub mod list;

/// What is wanted of a replay.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Replay {
    /// The capture.
    pub file: PathBuf,
    /// What to apply on; without, what it was recorded on, and nothing for a state.
    pub backend: Option<Backend>,
    /// Where, if not as the settings say.
    pub topology: Option<Topology>,
    /// Which frames are wanted; all without.
    pub frames: Option<RangeInclusive<u64>>,
    /// What of them.
    pub wanted: Wanted,
    /// How often the frames are played.
    pub loops: u32,
    /// Whether the states that the recorded client sent along are compared, which must then be there.
    pub verify: bool,
    /// As JSON.
    pub json: bool,
}

/// What of the frames is wanted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// That they are played, and how long that took.
    Played,
    /// Their records, without playing them.
    List,
    /// The state at the end of one.
    Dump(u64),
    /// Measurements, of so many runs.
    Bench(u32),
    /// Their images, as files in a folder.
    Images(PathBuf),
}

/// What to apply on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Backend {
    /// OpenGL ES, on the system's driver, without a window system.
    Gles,
    /// Nothing is drawn.
    Null,
    /// Nothing is drawn, and every call is written to a file, a line each.
    Trace(PathBuf),
}

impl Backend {
    /// The backend of a name.
    ///
    /// # Errors
    /// The sentence for the user.
    pub fn parse(name: &str) -> Result<Self, String> {
        match name.split_once('=') {
            None if name == "null" => Ok(Self::Null),
            Some(("trace", file)) if !file.is_empty() => Ok(Self::Trace(file.into())),
            None if name == "gles" => Ok(Self::Gles),
            _ => Err(format!("there is no backend {name:?}; allowed: gles, null or trace=FILE")),
        }
    }

    /// What a capture was made on, as its caps say.
    fn of(capture: &Capture) -> Self {
        let caps = CapsView::parse(&capture.origin().caps);
        match caps.ok().and_then(|caps| caps.head().backend()) {
            Some(BackendKind::Gles) => Self::Gles,
            _ => Self::Null,
        }
    }

    const fn kind(&self) -> BackendKind {
        match self {
            Self::Gles => BackendKind::Gles,
            Self::Null | Self::Trace(_) => BackendKind::Null,
        }
    }

    const fn name(&self) -> &'static str {
        match self {
            Self::Gles => "gles",
            Self::Null => "null",
            Self::Trace(_) => "trace",
        }
    }
}

/// Does it; data goes to `out`.
///
/// # Errors
/// The sentence for the user.
pub fn run(replay: &Replay, mut config: Config, out: &mut impl Write) -> Result<(), String> {
    let name = replay.file.display();
    let capture = Capture::open(&replay.file).map_err(|error| format!("{name}: {error}"))?;
    if let Some(torn) = capture.torn() {
        let (frames, records) = (capture.frames(), capture.records());
        note(&format!(
            "{name} has no end ({torn}); the {frames} frames and {records} records before it are whole"
        ));
    }
    if let Some(frames) = &replay.frames
        && *frames.end() >= capture.frames()
    {
        // The reader's own sentence.
        capture.parts_of(*frames.end()).map_err(|error| format!("{name}: {error}"))?;
    }
    if replay.wanted == Wanted::List {
        return list::list(capture, replay.frames.clone(), replay.json, out)
            .map_err(|error| format!("{name}: {error}"));
    }
    let backend = match &replay.backend {
        Some(backend) => backend.clone(),
        None if matches!(replay.wanted, Wanted::Dump(_)) => Backend::Null,
        None => Backend::of(&capture),
    };
    if matches!(replay.wanted, Wanted::Images(_)) && backend != Backend::Gles {
        note("this backend draws nothing: the images are blank, and show only which frames have one");
    }
    config.record = None;
    if replay.verify {
        config.diagnostics.check = Check::On;
        // What the session's end says of it is said here.
        config.diagnostics.sink = Sink::new(|_, _| {});
    }
    config.topology = match (&replay.wanted, replay.topology) {
        // Whose state is printed holds it in this process.
        (Wanted::Dump(_), Some(topology)) if topology != Topology::Direct => {
            return Err("the state is printed from a direct session; leave --topology away".to_owned());
        }
        (Wanted::Dump(_), _) => Topology::Direct,
        (_, topology) => topology.unwrap_or(config.topology),
    };
    match &backend {
        Backend::Gles => {
            config.arguments = ["--backend", "gles"].map(Into::into).into();
            let make = || gles::open(&WindowSystem::Surfaceless, Driver::System);
            on(replay, &config, &backend, capture, make, drop, out)
        }
        Backend::Null => {
            config.arguments = ["--backend", "null"].map(Into::into).into();
            on(replay, &config, &backend, capture, || Ok(Null::default()), drop, out)
        }
        Backend::Trace(file) => {
            let mut argument = std::ffi::OsString::from("trace=");
            argument.push(file);
            config.arguments = vec!["--backend".into(), argument];
            let make = {
                let file = file.clone();
                move || Listing::create(&file).map(Trace::new)
            };
            on(
                replay,
                &config,
                &backend,
                capture,
                make,
                |trace| trace.listener.finish().unwrap_or_else(|error| note(&error)),
                out,
            )
        }
    }
}

/// A sentence beside the data.
fn note(sentence: &str) {
    // With standard error closed there is nobody left to tell.
    let _ = writeln!(io::stderr(), "runahead: {sentence}");
}

/// Opens a session for a replay, sized as the recorded one was.
fn open<B: Native + Send + Sync + 'static>(
    config: &Config,
    player: &Player<BufReader<File>>,
    kind: BackendKind,
    make: impl FnOnce() -> Result<B, String> + Send + 'static,
) -> Result<Client<B, Silence>, String> {
    let mut config = config.clone();
    config.wanted.0 = player.terms(config.wanted.0);
    Client::open(&config, kind, make, Silence).map_err(|error| format!("no session was opened: {error}"))
}

fn on<B: Native + Send + Sync + 'static>(
    replay: &Replay,
    config: &Config,
    backend: &Backend,
    capture: Capture,
    make: impl FnOnce() -> Result<B, String> + Clone + Send + 'static,
    done: impl Fn(B),
    out: &mut impl Write,
) -> Result<(), String> {
    let name = replay.file.display().to_string();
    let told = |error: &dyn std::fmt::Display| format!("{name}: {error}");
    if let Wanted::Bench(rounds) = replay.wanted {
        return bench::bench(replay, config, rounds, backend, &make, out);
    }
    let mut player = Player::new(capture);
    let frames = player.capture().frames();
    let mut client = open(config, &player, backend.kind(), make)?;
    let begun = Instant::now();
    let mut progress = Progress::new(frames);
    let mut images = match &replay.wanted {
        Wanted::Images(folder) => Some(image::Images::new(folder, replay.frames.clone())?),
        _ => None,
    };
    let last = match (&replay.wanted, &replay.frames) {
        (Wanted::Dump(frame), _) => Some(*frame),
        (_, Some(frames)) => Some(*frames.end()),
        _ => frames.checked_sub(1),
    };
    let first = match (&replay.wanted, &replay.frames) {
        (Wanted::Dump(frame), _) => *frame,
        (_, Some(frames)) => *frames.start(),
        _ => 0,
    };
    let mut played = 0;
    if let Some(last) = last {
        // Before anything is played.
        player.capture().parts_of(last).map_err(|error| told(&error))?;
        for round in 0..replay.loops {
            if round != 0 {
                player.rewind(first).map_err(|error| told(&error))?;
            }
            for frame in first..=last {
                match &mut images {
                    Some(images) => player.seek(&mut client, frame, images),
                    None => player.seek(&mut client, frame, &mut Nobody),
                }
                .map_err(|error| told(&error))?;
                played += 1;
                progress.at(frame);
            }
        }
    }
    if replay.frames.is_none() && !matches!(replay.wanted, Wanted::Dump(_)) {
        player.rest(&mut client, &mut Nobody).map_err(|error| told(&error))?;
    }
    progress.end();
    let topology = client.topology();
    if let Wanted::Dump(frame) = replay.wanted {
        dump::dump(&client, frame, replay.json, out)
            .map_err(|error| format!("the output could not be written: {error}"))?;
    }
    let (closed, statistics) = client.close_counting();
    if let Some(backend) = closed.map_err(|error| told(&error))? {
        done(backend);
    }
    if config.diagnostics.check != Check::Off {
        let (compared, verbs) = statistics.map_or((0, 0), |counts| counts.verbs());
        if compared == 0 {
            return Err(told(&format_args!(
                "compared none of {verbs} verbs: only a program that was recorded with RUNAHEAD_VERIFY=1 says what it means"
            )));
        }
        note(&format!("compared {compared} of {verbs} verbs: no difference"));
    }
    if let Some(images) = images {
        images.finish(replay.json, out)?;
    } else if replay.wanted == Wanted::Played {
        let milliseconds = begun.elapsed().as_secs_f64() * 1000.0;
        let backend = backend.name();
        let written = if replay.json {
            let object = serde_json::json!({
                "frames": played, "milliseconds": milliseconds, "backend": backend, "topology": topology.name(),
            });
            writeln!(out, "{object}")
        } else {
            writeln!(out, "{played} frames in {milliseconds:.1} ms on {backend}, {}", topology.name())
        };
        written.map_err(|error| format!("the output could not be written: {error}"))?;
    }
    Ok(())
}

/// Writes frames of a capture to a file of their own; the sentence that says so.
///
/// # Errors
/// The sentence for the user.
pub fn trim(file: &Path, frames: RangeInclusive<u64>, to: &Path) -> Result<String, String> {
    let told = |error: &dyn std::fmt::Display| format!("{}: {error}", file.display());
    let mut capture = Capture::open(file).map_err(|error| told(&error))?;
    // Before the new file is made, so that a wrong range leaves nothing behind.
    capture.parts_of(*frames.end()).map_err(|error| told(&error))?;
    let out = File::create_new(to).map_err(|error| format!("{}: {error}", to.display()))?;
    let records = trim::trim(&mut capture, *frames.start(), *frames.end(), BufWriter::new(out));
    match records {
        Ok(records) => {
            let count = frames.end() - frames.start() + 1;
            Ok(format!("{count} frames, {records} records in {}\n", to.display()))
        }
        Err(error) => {
            let _ = std::fs::remove_file(to);
            Err(told(&error))
        }
    }
}

/// Shows on a terminal how far it is.
struct Progress {
    frames: u64,
    next: Instant,
    shown: bool,
}

impl Progress {
    fn new(frames: u64) -> Self {
        Self { frames, next: Instant::now() + Duration::from_millis(300), shown: false }
    }

    fn at(&mut self, frame: u64) {
        if Instant::now() < self.next {
            return;
        }
        self.next = Instant::now() + Duration::from_millis(100);
        let mut err = io::stderr();
        if err.is_terminal() {
            self.shown = true;
            let _ = write!(err, "\rframe {} of {}", frame + 1, self.frames);
        }
    }

    fn end(self) {
        if self.shown {
            let _ = write!(io::stderr(), "\r\x1b[K");
        }
    }
}
