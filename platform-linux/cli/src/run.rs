//! Starting a GL program that draws through Runahead, and recording what it draws.
//!
//! The program gets an environment in which libglvnd finds our vendor library, and nothing else of ours: its arguments,
//! streams, working directory and signal mask are as they would be without. It is waited for.
//!
//! What libglvnd reads, and what the library notes, are memory files of this process, named by `/proc`: they are there
//! for the program and whatever it starts, and leave nothing behind however this ends.

use std::{
    ffi::{OsStr, OsString},
    fs::File,
    io::{self, Read, Seek, SeekFrom, Write},
    mem::MaybeUninit,
    os::{
        fd::AsRawFd,
        unix::{
            ffi::OsStrExt,
            process::{CommandExt, ExitStatusExt},
        },
    },
    path::{Path, PathBuf},
    process::{Child, Command, ExitStatus},
    ptr,
};

use runahead_linux::{
    capture::Capture,
    session::{Choice, OpenError, Topology},
    settings::{self, NOTE, RECORDING},
};
use rustix::fs::{MemfdFlags, memfd_create};

/// What is to be started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Run {
    /// Where its commands are applied; as the environment says where it is not stated.
    pub topology: Option<Topology>,
    /// What they are applied on, likewise.
    pub backend: Option<Choice>,
    /// Whether to print what was counted.
    pub stats: bool,
    /// The file that it is recorded to, if it is.
    pub record: Option<PathBuf>,
    /// The program.
    pub program: OsString,
    /// Its arguments.
    pub arguments: Vec<OsString>,
}

/// Variable by which libglvnd is told which vendors there are, and the one that it would look at otherwise.
const VENDORS: &str = "__EGL_VENDOR_LIBRARY_FILENAMES";
const VENDOR_FOLDERS: &str = "__EGL_VENDOR_LIBRARY_DIRS";

/// Names of the vendor library's file: as it is installed, and as it is built.
const LIBRARIES: [&str; 2] = ["libEGL_runahead.so.0", "libEGL_runahead.so"];

/// Folders that it can be in, from that of this program.
const FOLDERS: [&str; 3] = ["", "../lib", "../lib/runahead"];

/// Signals that are handed on to the program.
const HANDED_ON: [i32; 6] =
    [libc::SIGHUP, libc::SIGINT, libc::SIGQUIT, libc::SIGTERM, libc::SIGUSR1, libc::SIGUSR2];

/// Exit statuses of shells and of env(1) for a program that was not started.
const NOT_FOUND: u8 = 127;
const NOT_STARTED: u8 = 126;

/// Starts it and waits, also for its recording; its exit status, and what there is to say afterwards.
///
/// # Errors
/// Why it was not started: a status, and the sentence for the user.
pub fn run(run: &Run) -> Result<(u8, Vec<String>), (u8, String)> {
    let refuse = |text: String| (NOT_STARTED, text);
    let library = library().map_err(refuse)?;
    let variables = variables(run).map_err(refuse)?;
    let manifest = memory_file("runahead-vendor").map_err(refuse)?;
    let mut note = memory_file("runahead-note").map_err(refuse)?;
    let json = serde_json::json!({
        "file_format_version": "1.0.0",
        "ICD": { "library_path": library.to_string_lossy() },
    });
    (&manifest).write_all(json.to_string().as_bytes()).map_err(|error| refuse(error.to_string()))?;

    let mut command = Command::new(&run.program);
    command.args(&run.arguments).env_remove(VENDOR_FOLDERS).env(VENDORS, named(&manifest));
    command.envs(variables).env(NOTE, named(&note));
    let signals =
        Signals::block().map_err(|error| refuse(format!("no signals could be blocked: {error}")))?;
    let before = signals.before;
    let restore = move || set_mask(&before).map(drop);
    // SAFETY: it sets the signal mask, which may be done between fork and exec.
    unsafe { command.pre_exec(restore) };
    let mut child = command.spawn().map_err(|error| {
        let status = if error.kind() == io::ErrorKind::NotFound { NOT_FOUND } else { NOT_STARTED };
        (status, format!("{} could not be started: {error}", run.program.display()))
    })?;
    let ended = signals.wait(&mut child).map_err(|error| refuse(format!("no wait: {error}")))?;
    drop(signals);
    let mut said = String::new();
    let read = note.seek(SeekFrom::Start(0)).and_then(|_| note.read_to_string(&mut said));
    let mut sentences: Vec<String> =
        read.ok().and_then(|_| advice(&run.program, &said)).into_iter().collect();
    let mut status = status(ended);
    if run.record.is_some() {
        let files: Vec<&str> = said.lines().filter_map(|line| line.strip_prefix(RECORDING)).collect();
        let recorded: Vec<_> = files.iter().map(|file| recorded(Path::new(file))).collect();
        // Whoever asks for a recording and has none has not got what they asked for.
        if status == 0 && !recorded.iter().any(Result::is_ok) {
            status = 1;
        }
        sentences.extend(recorded.into_iter().map(|recorded| recorded.unwrap_or_else(|error| error)));
    }
    Ok((status, sentences))
}

/// What became of a recording.
fn recorded(file: &Path) -> Result<String, String> {
    let told = |error: &dyn std::fmt::Display| format!("{}: {error}", file.display());
    let capture = Capture::open_whole(file).map_err(|error| told(&error))?;
    let bytes = file.metadata().map_err(|error| told(&error))?.len();
    let (frames, records) = (capture.frames(), capture.records());
    let kib = bytes.div_ceil(1024);
    let recorded = format!("recorded {frames} frames, {records} records, {kib} KiB: {}", file.display());
    match capture.torn() {
        None => Ok(recorded),
        Some(torn) => Err(format!("{recorded}, which has no end: {torn}")),
    }
}

/// What to tell of a program, from what the library noted.
fn advice(program: &OsStr, note: &str) -> Option<String> {
    let program = program.display();
    if note.lines().any(|line| line.starts_with("session")) {
        return None;
    }
    if note.lines().any(|line| line == "loaded") {
        return Some(format!("{program} loaded EGL and opened no display: nothing went through Runahead"));
    }
    Some(format!(
        "{program} never used EGL: nothing went through Runahead (it may use GLX, Vulkan or no GPU at all; SDL programs \
         use EGL with SDL_VIDEO_X11_FORCE_EGL=1, Qt programs with QT_XCB_GL_INTEGRATION=xcb_egl)"
    ))
}

/// A program's exit status; for a signal, as shells have it.
fn status(ended: ExitStatus) -> u8 {
    let code = ended.code().or_else(|| ended.signal().map(|signal| 128 + signal));
    code.and_then(|code| u8::try_from(code).ok()).unwrap_or(NOT_STARTED)
}

/// The variables that the command line adds. All that the program will have are looked at now: in the program, whoever
/// wrote a wrong one may not see the complaint.
fn variables(run: &Run) -> Result<Vec<(OsString, OsString)>, String> {
    let mut variables: Vec<(OsString, OsString)> = Vec::new();
    if let Some(topology) = run.topology {
        variables.push(("RUNAHEAD_TOPOLOGY".into(), topology.name().into()));
    }
    if let Some(backend) = run.backend {
        variables.push(("RUNAHEAD_BACKEND".into(), backend.name().into()));
    }
    if run.stats {
        variables.push(("RUNAHEAD_STATS".into(), "1".into()));
    }
    if let Some(file) = &run.record {
        variables.push(("RUNAHEAD_RECORD".into(), file.into()));
    }
    let all = std::env::vars_os().filter(|(name, _)| variables.iter().all(|(ours, _)| ours != name));
    let config = settings::from_variables(all.chain(variables.clone())).map_err(|error| error.to_string())?;
    if run.record.is_some() && config.topology == Topology::Direct {
        return Err(OpenError::RecordDirect.to_string());
    }
    Ok(variables)
}

/// The vendor library of this installation.
fn library() -> Result<PathBuf, String> {
    let own = std::env::current_exe().map_err(|error| format!("the path of this program: {error}"))?;
    let home = own.parent().unwrap_or(Path::new("/"));
    let looked: Vec<PathBuf> = FOLDERS
        .iter()
        .flat_map(|folder| LIBRARIES.iter().map(move |name| home.join(folder).join(name)))
        .collect();
    let found = looked.iter().find(|path| path.is_file());
    found.cloned().ok_or_else(|| {
        let places: Vec<String> = looked.iter().map(|path| path.display().to_string()).collect();
        format!("the EGL library of Runahead was not found (looked for {})", places.join(", "))
    })
}

/// A file in memory that programs of this user can open while this one runs.
fn memory_file(name: &str) -> Result<File, String> {
    memfd_create(name, MemfdFlags::CLOEXEC)
        .map(File::from)
        .map_err(|error| format!("no memory for the program's settings: {error}"))
}

fn named(file: &File) -> String {
    format!("/proc/{}/fd/{}", std::process::id(), file.as_raw_fd())
}

/// Signals that this process takes by asking for them: the end of the program, and what is handed on to it.
struct Signals {
    blocked: libc::sigset_t,
    before: libc::sigset_t,
}

impl Signals {
    fn block() -> io::Result<Self> {
        let mut blocked = MaybeUninit::uninit();
        // SAFETY: it initialises the set.
        unsafe { libc::sigemptyset(blocked.as_mut_ptr()) };
        for signal in HANDED_ON.into_iter().chain([libc::SIGCHLD]) {
            // SAFETY: the set is initialised, the signal exists.
            unsafe { libc::sigaddset(blocked.as_mut_ptr(), signal) };
        }
        // SAFETY: initialised above.
        let blocked = unsafe { blocked.assume_init() };
        let mut before = MaybeUninit::uninit();
        // SAFETY: both are sets; the second is written.
        let set = unsafe { libc::sigprocmask(libc::SIG_BLOCK, &blocked, before.as_mut_ptr()) };
        if set != 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: written by the call, which succeeded.
        Ok(Self { blocked, before: unsafe { before.assume_init() } })
    }

    /// Waits for the end of a process, and hands on to it what is sent to this one. What the terminal sends goes to both
    /// by itself.
    fn wait(&self, child: &mut Child) -> io::Result<ExitStatus> {
        loop {
            if let Some(status) = child.try_wait()? {
                return Ok(status);
            }
            let mut info = MaybeUninit::<libc::siginfo_t>::uninit();
            // SAFETY: the set is initialised, and the information is written.
            let signal = unsafe { libc::sigwaitinfo(&self.blocked, info.as_mut_ptr()) };
            if signal <= 0 || signal == libc::SIGCHLD {
                continue;
            }
            // SAFETY: written by the call, which took a signal.
            let sender = unsafe { info.assume_init() }.si_code;
            // Positive numbers are the kernel's: a key, or a terminal that went.
            if sender <= 0 {
                // SAFETY: a plain call; the process was not waited for, so that its number is still its own.
                unsafe { libc::kill(child.id().cast_signed(), signal) };
            }
        }
    }
}

impl Drop for Signals {
    fn drop(&mut self) {
        // One that cannot be set stays as it is: the process is about to end.
        let _ = set_mask(&self.before);
    }
}

fn set_mask(mask: &libc::sigset_t) -> io::Result<()> {
    // SAFETY: the set is initialised.
    let set = unsafe { libc::sigprocmask(libc::SIG_SETMASK, mask, ptr::null_mut()) };
    if set == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Reads the arguments behind `record`: those of `run`, and where to.
///
/// # Errors
/// The sentence for the user.
pub fn parse_record(arguments: impl Iterator<Item = OsString>) -> Result<Option<Run>, String> {
    let Some((mut run, file)) = options("record", arguments)? else { return Ok(None) };
    let file = file.map_or_else(|| default_file(&run.program), PathBuf::from);
    let whole = std::path::absolute(&file).map_err(|error| format!("{}: {error}", file.display()))?;
    if whole.exists() {
        return Err(format!("{} is there already; remove it, or name another file with -o", file.display()));
    }
    run.record = Some(whole);
    Ok(Some(run))
}

/// What a recording is called where nobody says.
fn default_file(program: &OsStr) -> PathBuf {
    let mut name = Path::new(program).file_name().unwrap_or(OsStr::new("recording")).to_owned();
    name.push(".rah");
    name.into()
}

/// Reads the arguments behind `run`.
///
/// # Errors
/// The sentence for the user.
pub fn parse(arguments: impl Iterator<Item = OsString>) -> Result<Option<Run>, String> {
    match options("run", arguments)? {
        Some((_, Some(_))) => Err("run records nothing; `runahead record -o FILE` does".to_owned()),
        Some((run, None)) => Ok(Some(run)),
        None => Ok(None),
    }
}

/// What to start, and the file that was named.
fn options(
    verb: &str,
    mut arguments: impl Iterator<Item = OsString>,
) -> Result<Option<(Run, Option<OsString>)>, String> {
    let (mut topology, mut backend, mut stats, mut file) = (None, None, false, None);
    let program = loop {
        let Some(argument) = arguments.next() else {
            return Err(format!("{verb} needs a program; `runahead help {verb}` says what it takes"));
        };
        let mut value = |what: &str| {
            arguments.next().ok_or_else(|| format!("{what} needs a name; `runahead help {verb}` lists them"))
        };
        match argument.to_str() {
            Some("--topology") => {
                let name = value("--topology")?;
                let found = Topology::ALL.iter().find(|topology| name == topology.name());
                topology = Some(*found.ok_or_else(|| format!("there is no topology {name:?}"))?);
            }
            Some("--backend") => {
                let name = value("--backend")?;
                let found = Choice::ALL.iter().find(|backend| name == backend.name());
                backend = Some(*found.ok_or_else(|| format!("there is no backend {name:?}"))?);
            }
            Some("--stats") => stats = true,
            Some("-o" | "--output") => file = Some(value("-o")?),
            Some("--help" | "-h") => return Ok(None),
            Some("--") => {
                break arguments.next().ok_or_else(|| format!("{verb} needs a program behind --"))?;
            }
            _ if argument.as_bytes().starts_with(b"-") => {
                return Err(format!(
                    "{verb} does not take {argument:?}; `runahead help {verb}` says what it takes"
                ));
            }
            _ => break argument,
        }
    };
    let run = Run { topology, backend, stats, record: None, program, arguments: arguments.collect() };
    Ok(Some((run, file)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(arguments: &[&str]) -> Result<Option<Run>, String> {
        parse(arguments.iter().map(OsString::from))
    }

    #[test]
    fn options_end_where_the_program_begins() {
        let run = parsed(&["--topology", "inproc", "--stats", "glmark2-es2", "--help", "--", "-b"]);
        let run = run.unwrap().unwrap();
        assert_eq!((run.topology, run.backend, run.stats), (Some(Topology::Inproc), None, true));
        assert_eq!(run.program, "glmark2-es2");
        assert_eq!(run.arguments, ["--help", "--", "-b"]);
        let behind = parsed(&["--backend", "gles", "--", "--strange", "x"]).unwrap().unwrap();
        assert_eq!((behind.backend, behind.program), (Some(Choice::Gles), "--strange".into()));
        assert_eq!(parsed(&["--help", "x"]), Ok(None));
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        for (arguments, part) in [
            (&[][..], "needs a program"),
            (&["--"], "needs a program"),
            (&["--topology"], "needs a name"),
            (&["--topology", "unix", "x"], "no topology \"unix\""),
            (&["--backend", "vulkan", "x"], "no backend \"vulkan\""),
            (&["--stat", "x"], "does not take \"--stat\""),
            (&["-o", "x.rah", "x"], "run records nothing"),
        ] {
            let error = parsed(arguments).unwrap_err();
            assert!(error.contains(part), "{error}");
        }
    }

    #[test]
    fn a_recording_is_called_as_asked_or_as_its_program() {
        let parsed = |arguments: &[&str]| parse_record(arguments.iter().map(OsString::from));
        let name = |arguments: &[&str]| parsed(arguments).unwrap().unwrap().record.unwrap();
        assert_eq!(name(&["-o", "/x/y.rah", "--", "prog", "-o", "z"]), Path::new("/x/y.rah"));
        let own = name(&["/usr/bin/prog"]);
        assert!(own.is_absolute() && own.ends_with("prog.rah"), "{own:?}");
        assert_eq!(parsed(&["--help"]), Ok(None));
        let there = std::env::current_exe().unwrap();
        let error = parsed(&["-o", there.to_str().unwrap(), "prog"]).unwrap_err();
        assert!(error.contains("is there already"), "{error}");
        assert!(parsed(&["-o"]).unwrap_err().contains("-o needs a name"));
        assert!(parsed(&["-o", "x"]).unwrap_err().contains("record needs a program"));
    }

    #[test]
    fn a_program_without_egl_is_told_of() {
        let of = |note| advice("prog".as_ref(), note);
        assert_eq!(of("loaded\nsession spawn gles\n"), None);
        assert!(of("loaded\n").unwrap().contains("opened no display"));
        assert!(of("").unwrap().contains("prog never used EGL"));
    }
}
