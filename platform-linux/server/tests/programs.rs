//! What programs do to a library that has sessions: they fork, exit, panic, unload it, wait for any child, are stopped.
//! Each is an ignored test of this file in a process of its own. `STOPPED_SECONDS=N` stops for longer.

mod common;

use std::{
    collections::BTreeSet,
    ffi::{CStr, CString, c_void},
    fs,
    io::{BufRead, BufReader, Write},
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
    process::{Child, ChildStdout, Command, ExitStatus, Stdio},
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU32, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use common::{PROGRAM, holders, is_gone, number, prepare, segments_of, waits};
use runahead_core::{
    Fault, RecordError, Session, Silence,
    link::Patience,
    null::Null,
    trace::{Call, Listener, Trace},
};
use runahead_linux::{
    capture::{Capture, Part},
    control::message::{ContextAttributes, Doorbell, Sizes, Terms},
    session::{Client, Config, Native, RequestError, Topology, Wanted},
};
use runahead_rings::Watermark;
use runahead_wire::{
    Handle,
    payload::*,
    pipe::{Op, Pipe},
    values::BackendKind,
};
use rustix::process::{Pid, Signal, kill_process};

/// How long a program may take to end, and what it started.
const END: Duration = Duration::from_secs(3);

// ---- In the programs -------------------------------------------------------------------------------------------

fn config(topology: Topology) -> Config {
    let sizes = Sizes { commands: 256 << 10, stage: 256 << 10, replies: 64 << 10, events: 4 << 10 };
    Config {
        topology,
        server: Some(PROGRAM.into()),
        arguments: vec![],
        wanted: Wanted(Terms { sizes, credit: 0, run_ahead: true, doorbell: Doorbell::Futex }),
        record: std::env::var_os("RECORDING").map(Into::into),
        ..Config::default()
    }
}

type NullClient = Client<Null, Silence>;

fn open(topology: Topology) -> NullClient {
    let opened = Client::open(&config(topology), BackendKind::Null, || Ok(Null::default()), Silence);
    let mut client = opened.expect("a session");
    prepare(&mut client);
    client
}

fn draw(pipe: &mut impl Pipe<Error = RecordError>) -> Result<(), RecordError> {
    let info = DrawInfo { mode: 4, instance_count: 1, num_draws: 1, ..DrawInfo::default() };
    pipe.draw_vbo(&info, &[DrawRange { start: 0, count: 3, index_bias: 0 }], &[])
}

fn frame(pipe: &mut impl Pipe<Error = RecordError>, serial: u64) -> Result<(), RecordError> {
    draw(pipe)?;
    pipe.present(&Present { frame_serial: serial, ..Present::default() }, &[])
}

/// Everything so far is applied.
fn settle<B: Native>(client: &mut Client<B, Silence>) -> Result<(), RecordError> {
    let recorded = client.pipe().recorded();
    client.pipe().wait_for(Watermark::Applied, recorded, Patience::Sleep)
}

/// Tells the test which server this program has, and waits until the test has looked around.
fn ready(server: u32) {
    let mut out = std::io::stdout();
    writeln!(out, "\nserver {server}").expect("the test reads");
    out.flush().expect("the test reads");
    let mut line = String::new();
    std::io::stdin().read_line(&mut line).expect("the test writes");
}

fn server(client: &NullClient) -> u32 {
    client.process().map_or(0, runahead_linux::spawn::Process::number)
}

/// What a forked child does ends by this, and not by the test harness.
fn leave(so: bool) -> ! {
    // SAFETY: ends the process at once.
    unsafe { libc::_exit(i32::from(!so)) }
}

fn status_of(child: i32) -> i32 {
    let mut status = -1;
    // SAFETY: waits for a child of ours and writes into a number of this frame.
    assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
    status
}

// ---- In the tests ----------------------------------------------------------------------------------------------

/// A program, ended and reaped when dropped.
struct Program {
    child: Child,
    out: BufReader<ChildStdout>,
    /// Its server; 0 for none.
    server: u32,
    /// The segments of its session.
    shared: BTreeSet<(u64, u64)>,
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Program {
    /// Starts one; it has a session and goes on.
    fn start(role: &str, topology: Topology) -> Self {
        Self::recorded(role, topology, None)
    }

    /// The same, with its sessions recorded.
    fn recorded(role: &str, topology: Topology, file: Option<&Path>) -> Self {
        let mut program = Command::new(std::env::current_exe().expect("this program"));
        program.args(["--exact", role, "--ignored", "--test-threads=1", "--nocapture"]);
        program.env("TOPOLOGY", topology.name()).envs(file.map(|file| ("RECORDING", file)));
        program.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::inherit());
        let mut child = program.spawn().expect("a program");
        let mut out = BufReader::new(child.stdout.take().expect("a pipe"));
        let mut line = String::new();
        let server: u32 = loop {
            line.clear();
            assert_ne!(out.read_line(&mut line).expect("text"), 0, "{role} has no session");
            if let Some(number) = line.trim().strip_prefix("server ").and_then(|text| text.parse().ok()) {
                break number;
            }
        };
        let mut shared = segments_of(&child.id().to_string());
        if server != 0 {
            shared.extend(segments_of(&server.to_string()));
        }
        assert!(shared.len() >= 7, "{role}: only {} segments", shared.len());
        child.stdin.take().expect("a pipe").write_all(b"\n").expect("it reads");
        Self { child, out, server, shared }
    }

    /// Its end, which comes in time and leaves nothing behind.
    fn ends(mut self, what: &str) -> (ExitStatus, String) {
        let mut status = None;
        let pid = self.child.id();
        waits(END, || {
            status = self.child.try_wait().expect("a child");
            status.is_some()
        });
        let status = status.unwrap_or_else(|| panic!("{what}: process {pid} does not end"));
        let mut text = String::new();
        std::io::Read::read_to_string(&mut self.out, &mut text).expect("text");
        assert!(self.server == 0 || waits(END, || is_gone(self.server)), "{what}: the server goes on");
        assert!(waits(END, || holders(&self.shared).is_empty()), "{what}: segments are left: {text}");
        (status, text)
    }
}

fn topology() -> Topology {
    let name = std::env::var("TOPOLOGY").expect("a topology");
    *Topology::ALL.iter().find(|topology| topology.name() == name).expect("a known one")
}

const FAR: [Topology; 2] = [Topology::Inproc, Topology::Spawn];

/// A program that says itself whether all is well.
fn passes(role: &str) {
    for topology in FAR {
        let (status, text) = Program::start(role, topology).ends(role);
        assert!(status.success() && text.contains("1 passed"), "{role}, {topology:?}: {status} {text}");
    }
}

// ---- fork ------------------------------------------------------------------------------------------------------

#[test]
fn a_forked_child_has_no_session_and_its_parent_keeps_it() {
    passes("program_that_forks");
}

#[test]
#[ignore = "a program of its own"]
fn program_that_forks() {
    let mut client = open(topology());
    ready(server(&client));
    for serial in 1..20 {
        frame(client.pipe(), serial).expect("recorded");
        draw(client.pipe()).expect("recorded");
        // SAFETY: the child keeps to its copy of this thread, and ends by `_exit`.
        let child = unsafe { libc::fork() };
        if child == 0 {
            leave(in_child(client, serial));
        }
        // While the child works.
        for _ in 0..100 {
            draw(client.pipe()).expect("recorded");
        }
        assert_eq!(status_of(child), 0, "the child");
        settle(&mut client).expect("applied");
    }
    client.create_context(2, None, ContextAttributes::gles(3, 2)).expect("a context");
    client.close().expect("an orderly end");
}

/// Whether the child's copy is a lost one, and another session can be opened.
fn in_child(mut client: NullClient, serial: u64) -> bool {
    // As many as are sure to need an answer.
    let ended = (serial + 1..serial + 10_000).any(|serial| frame(client.pipe(), serial).is_err());
    let lost = settle(&mut client).is_err() && client.pipe().ask(8).is_err();
    let refused = match client.create_context(3, None, ContextAttributes::gles(3, 2)) {
        Err(RequestError::Lost(reason)) => reason.contains("forked"),
        _ => false,
    };
    let named = client.reason().is_some_and(|reason| reason.contains("forked"));
    drop(client);
    let mut own = open(topology());
    let fresh = frame(own.pipe(), 1).is_ok() && settle(&mut own).is_ok();
    fresh && own.close().is_ok() && ended && lost && refused && named
}

/// The negative control: a child of which `fork`'s handlers do not know draws into the parent's session, and so ends it.
#[test]
fn a_child_behind_the_back_of_fork_ends_the_session() {
    passes("program_that_clones");
}

#[test]
#[ignore = "a program of its own"]
fn program_that_clones() {
    let mut client = open(topology());
    ready(server(&client));
    settle(&mut client).expect("applied");
    // SAFETY: a fork without handlers; the child keeps to its copy of this thread, and ends by `_exit`.
    let child = unsafe { libc::syscall(libc::SYS_clone, libc::SIGCHLD, 0, 0, 0, 0) } as i32;
    if child == 0 {
        let drawn = (0..100).all(|_| draw(client.pipe()).is_ok());
        leave(drawn && settle(&mut client).is_ok());
    }
    assert_eq!(status_of(child), 0, "the child");
    let _ = draw(client.pipe());
    assert!(settle(&mut client).is_err(), "the session goes on");
}

// ---- exit ------------------------------------------------------------------------------------------------------

/// Whether the driver has taken itself down.
static DOWN: AtomicBool = AtomicBool::new(false);
static CALLS: AtomicU32 = AtomicU32::new(0);

/// What a driver does at exit; it takes its time.
extern "C" fn take_down() {
    DOWN.store(true, Ordering::SeqCst);
    thread::sleep(Duration::from_millis(50));
}

/// A driver that ends the process when it is called after that.
#[derive(Debug)]
struct Fragile {
    /// Whether its handler is registered by its first call, and not when it is loaded.
    late: bool,
}

fn register() {
    // SAFETY: a function of this program.
    assert_eq!(unsafe { libc::atexit(take_down) }, 0);
}

impl Listener for Fragile {
    fn call(&mut self, _: &Call<'_>) {
        if CALLS.fetch_add(1, Ordering::Relaxed) == 0 && self.late {
            register();
        }
        if DOWN.load(Ordering::SeqCst) {
            // SAFETY: ends the process at once.
            unsafe { libc::_exit(66) };
        }
    }
}

type FragileClient = Client<Trace<Fragile>, Silence>;

static AT_EXIT: Mutex<Option<FragileClient>> = Mutex::new(None);

/// Draws and waits when the driver is not to be called any more.
extern "C" fn draw_at_exit() {
    let client = AT_EXIT.lock().unwrap_or_else(PoisonError::into_inner).take();
    if let Some(mut client) = client {
        let _ = draw(client.pipe());
        let settled = settle(&mut client);
        let mut out = std::io::stdout();
        let _ = writeln!(out, "at exit: {settled:?}, {:?}", client.reason());
    }
}

/// Draws on a thread until the end of the process, while this one calls `exit`.
fn exits(late: bool) -> ! {
    // Before the driver's, so it is called behind it.
    // SAFETY: a function of this program.
    assert_eq!(unsafe { libc::atexit(draw_at_exit) }, 0);
    let make = move || {
        if !late {
            register();
        }
        Ok(Trace::new(Fragile { late }))
    };
    let opened = FragileClient::open(&config(Topology::Inproc), BackendKind::Null, make, Silence);
    let mut client = opened.expect("a session");
    prepare(&mut client);
    ready(0);
    *AT_EXIT.lock().expect("no panic") = Some(client);
    thread::spawn(|| {
        loop {
            if let Some(client) = AT_EXIT.lock().expect("no panic").as_mut() {
                for _ in 0..1000 {
                    let _ = draw(client.pipe());
                }
                client.pipe().publish();
            }
            thread::yield_now();
        }
    });
    assert!(waits(END, || CALLS.load(Ordering::Relaxed) > 5000), "nothing is drawn");
    std::process::exit(0)
}

#[test]
#[ignore = "a program of its own"]
fn program_that_exits() {
    exits(false)
}

#[test]
#[ignore = "a program of its own"]
fn program_that_exits_under_a_late_driver() {
    exits(true)
}

#[test]
fn a_driver_is_not_called_once_it_is_down() {
    for _ in 0..5 {
        let (status, text) = Program::start("program_that_exits", Topology::Inproc).ends("exit");
        assert!(status.success(), "{status}: {text}");
        assert!(text.contains("at exit: Err("), "{text}");
    }
}

/// The negative control: a driver whose handler is called before ours is called when it is down.
#[test]
fn a_driver_that_is_called_when_down_is_noticed() {
    let program = Program::start("program_that_exits_under_a_late_driver", Topology::Inproc);
    let (status, text) = program.ends("exit");
    assert_eq!(status.code(), Some(66), "{status}: {text}");
}

/// One that draws and one that waits for ever, while a third calls `exit`.
#[test]
#[ignore = "a program of its own"]
fn program_with_threads_at_exit() {
    let (mut draws, mut waits) = (open(topology()), open(topology()));
    ready(server(&draws));
    thread::spawn(move || (1..).all(|serial| frame(draws.pipe(), serial).is_ok()));
    thread::spawn(move || {
        let never = waits.pipe().ask(8).expect("space");
        let _ = waits.pipe().wait_answer(&never, Patience::Sleep);
    });
    thread::sleep(Duration::from_millis(30));
    std::process::exit(7)
}

#[test]
fn threads_that_draw_and_wait_hold_no_exit_up() {
    for topology in FAR {
        let begin = Instant::now();
        let (status, text) = Program::start("program_with_threads_at_exit", topology).ends("exit");
        assert_eq!(status.code(), Some(7), "{topology:?}: {status}: {text}");
        assert!(begin.elapsed() < END, "{topology:?}: {:?}", begin.elapsed());
    }
}

// ---- A panic ---------------------------------------------------------------------------------------------------

#[test]
#[ignore = "a program of its own, which fails"]
fn program_that_panics() {
    let mut client = open(topology());
    ready(server(&client));
    for serial in 1..100 {
        frame(client.pipe(), serial).expect("recorded");
    }
    panic!("on purpose");
}

#[test]
fn a_panic_ends_the_session() {
    for topology in FAR {
        let (status, text) = Program::start("program_that_panics", topology).ends("a panic");
        assert_eq!(status.code(), Some(101), "{topology:?}: {status}: {text}");
    }
}

// ---- waitpid ---------------------------------------------------------------------------------------------------

static SIGCHLDS: AtomicU32 = AtomicU32::new(0);

extern "C" fn count(_: i32) {
    SIGCHLDS.fetch_add(1, Ordering::Relaxed);
}

fn meets_a_child() -> bool {
    // SAFETY: asks for any child and writes nothing.
    let met = unsafe { libc::waitpid(-1, std::ptr::null_mut(), libc::WNOHANG) };
    met != -1 || SIGCHLDS.load(Ordering::Relaxed) != 0
}

#[test]
#[ignore = "a program of its own"]
fn program_that_waits_for_any_child() {
    let handler = count as extern "C" fn(i32);
    // SAFETY: a handler that does one atomic addition.
    unsafe { libc::signal(libc::SIGCHLD, handler as libc::sighandler_t) };
    let mut first = open(topology());
    ready(server(&first));
    assert!(!meets_a_child());
    frame(first.pipe(), 1).expect("recorded");
    first.close().expect("an orderly end");
    assert!(!meets_a_child());
    // And one whose server dies under it.
    let mut second = open(topology());
    if let Some(process) = second.process() {
        process.kill().expect("it lives");
        assert!(settle(&mut second).is_err() || settle(&mut second).is_err());
    }
    drop(second);
    thread::sleep(Duration::from_millis(20));
    assert!(!meets_a_child());
    // The control: an ordinary child is met.
    let mut child = Command::new("/bin/true").spawn().expect("a child");
    assert!(waits(END, meets_a_child));
    let _ = child.wait();
}

#[test]
fn a_program_that_waits_for_any_child_meets_no_server() {
    passes("program_that_waits_for_any_child");
}

// ---- dlclose ---------------------------------------------------------------------------------------------------

fn plugin() -> PathBuf {
    let mut folder = std::env::current_exe().expect("this program");
    folder.pop();
    folder.with_file_name("examples").join("libplugin.so")
}

fn is_loaded() -> bool {
    fs::read_to_string("/proc/self/maps").expect("procfs").contains("libplugin.so")
}

fn load() -> *mut c_void {
    let path = CString::new(plugin().as_os_str().as_bytes()).expect("a path");
    // SAFETY: a library of this workspace, whose initialisers do nothing.
    let library = unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
    assert!(!library.is_null(), "{} does not load; tests of the whole package build it", plugin().display());
    library
}

fn find(library: *mut c_void, name: &CStr) -> *mut c_void {
    // SAFETY: a loaded library and a text.
    let found = unsafe { libc::dlsym(library, name.as_ptr()) };
    assert!(!found.is_null());
    found
}

#[test]
#[ignore = "a program of its own"]
fn program_that_unloads() {
    // The negative control: what has no session is unloaded.
    let library = load();
    assert!(is_loaded());
    // SAFETY: nothing of it is used any more.
    assert_eq!(unsafe { libc::dlclose(library) }, 0);
    assert!(!is_loaded(), "it stays loaded whatever it does");
    let library = load();
    // SAFETY: the signature that the plugin gives it.
    let start: unsafe extern "C" fn(*const i8) -> u32 =
        unsafe { std::mem::transmute(find(library, c"plugin_start")) };
    // SAFETY: as above.
    let frames: extern "C" fn() -> u64 = unsafe { std::mem::transmute(find(library, c"plugin_frames")) };
    let program = CString::new(PROGRAM).expect("a path");
    // SAFETY: a NUL-terminated text.
    let server = unsafe { start(program.as_ptr()) };
    assert_ne!(server, 0, "no session");
    ready(server);
    // SAFETY: its session keeps it loaded, which is what is tested.
    assert_eq!(unsafe { libc::dlclose(library) }, 0);
    assert!(is_loaded(), "its code was unloaded under its thread");
    let before = frames();
    assert!(waits(END, || frames() > before + 100), "its thread stands");
    std::process::exit(9)
}

#[test]
fn a_library_with_a_session_stays_loaded() {
    let (status, text) = Program::start("program_that_unloads", Topology::Spawn).ends("dlclose");
    assert_eq!(status.code(), Some(9), "{status}: {text}");
}

// ---- Stopped ---------------------------------------------------------------------------------------------------

fn stopped() -> Duration {
    Duration::from_secs(number("STOPPED_SECONDS", 2))
}

fn signal(number: u32, signal: Signal) {
    let pid = Pid::from_raw(number as i32).expect("a number");
    kill_process(pid, signal).expect("a process of ours");
}

fn is_stopped(number: u32) -> bool {
    fs::read_to_string(format!("/proc/{number}/stat")).is_ok_and(|stat| stat.contains(") T "))
}

/// Frames until it is told to end.
#[test]
#[ignore = "a program of its own"]
fn program_that_draws() {
    let mut client = open(topology());
    ready(server(&client));
    let begin = Instant::now();
    let mut serial = 0;
    while begin.elapsed() < stopped() + Duration::from_millis(700) {
        serial += 1;
        frame(client.pipe(), serial).expect("recorded");
    }
    settle(&mut client).expect("applied");
    assert_eq!(client.pipe().watermark(Watermark::PresentAck).expect("no fault"), serial);
    client.close().expect("an orderly end");
}

#[test]
fn a_stopped_peer_is_slow_and_not_dead() {
    let both = [true, false].map(|stop_client| {
        thread::spawn(move || {
            let program = Program::start("program_that_draws", Topology::Spawn);
            thread::sleep(Duration::from_millis(100));
            let one = if stop_client { program.child.id() } else { program.server };
            signal(one, Signal::STOP);
            assert!(waits(END, || is_stopped(one)));
            thread::sleep(stopped());
            assert!(is_stopped(one) && !is_gone(program.server) && !is_gone(program.child.id()));
            signal(one, Signal::CONT);
            let (status, text) = program.ends("stopped");
            assert!(status.success() && text.contains("1 passed"), "{status} {text}");
        })
    });
    for one in both {
        one.join().expect("it goes on");
    }
}

// ---- After a loss ----------------------------------------------------------------------------------------------

/// What a client may still do with a session that is lost: everything, at once, and nothing comes of it.
#[test]
fn a_lost_session_does_nothing_and_waits_for_nothing() {
    let mut client = open(Topology::Spawn);
    settle(&mut client).expect("applied");
    let process = client.process().expect("a server");
    process.signal(Signal::STOP).expect("it lives");
    // A stopped server answers nothing: what is untouched below is so for no luck.
    let asked = client.pipe().ask(4096).expect("space");
    let reply = runahead_core::reply_space(&asked);
    client.pipe().get_caps(&CapsRequest::default(), Some(reply)).expect("recorded");
    assert_eq!(client.pipe().answer(&asked), Ok(None), "it is answered already");
    client.process().expect("a server").kill().expect("it lives");
    let mut memory = [0xa5_u8; 4096];
    let waited = client.pipe().wait_answer(&asked, Patience::Sleep);
    assert_eq!(waited, Err(RecordError::Lost(Fault::PeerGone)));
    if let Ok(answer) = waited {
        client.pipe().copy_answer(&asked, answer, &mut memory);
    }
    assert_eq!(memory, [0xa5; 4096], "the memory of a readback was touched");
    let reason = client.reason().expect("a reason");
    let begin = Instant::now();
    for serial in 1..20_000 {
        let lost = Err(RecordError::Lost(Fault::PeerGone));
        let pipe = client.pipe();
        // A draw may be one that nobody reads; what waits or polls says so, and so no loop on it goes on for ever.
        let _ = draw(pipe);
        assert_eq!(pipe.present(&Present { frame_serial: serial, ..Present::default() }, &[]), lost);
        assert_eq!(pipe.poll_events(), lost);
        assert!(pipe.answer(&asked).is_err() && pipe.watermark(Watermark::Retired).is_err());
        assert!(pipe.wait_for(Watermark::Applied, u64::MAX >> 1, Patience::Sleep).is_err());
        assert!(pipe.ask(8).is_err());
    }
    assert!(begin.elapsed() < Duration::from_secs(1), "{:?}", begin.elapsed());
    assert!(matches!(
        client.create_context(2, None, ContextAttributes::gles(3, 2)),
        Err(RequestError::Lost(_))
    ));
    assert_eq!(client.close().expect_err("it is lost"), reason, "the first reason is sticky");
    // Another one for another context.
    open(Topology::Spawn).close().expect("a session");
}

/// Counts draws.
#[derive(Debug)]
struct Draws(std::sync::Arc<AtomicU32>);

impl Listener for Draws {
    fn call(&mut self, call: &Call<'_>) {
        if call.to_string().starts_with("draw ") {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// Draws five times before a record and five times behind it; draws applied, and why the session is lost.
fn applied_around(fault: bool) -> (u32, Option<String>) {
    let draws = std::sync::Arc::new(AtomicU32::new(0));
    let theirs = Draws(std::sync::Arc::clone(&draws));
    let make = || Ok(Trace::new(theirs));
    let opened = Client::open(&config(Topology::Inproc), BackendKind::Null, make, Silence);
    let mut client = opened.expect("a session");
    prepare(&mut client);
    let pipe = client.pipe();
    for _ in 0..5 {
        draw(pipe).expect("recorded");
    }
    if fault {
        // What was never made.
        let kind = runahead_wire::handle::Kind::Buffer.raw();
        let object = HandleOnly { handle: Handle::new(77, 1), kind, ..HandleOnly::default() };
        pipe.resource_destroy(&object).expect("recorded");
        // A second one, of another name, is never looked at.
        pipe.bind_context(&BindContext { context: 99, ..BindContext::default() }).expect("recorded");
    }
    for _ in 0..5 {
        draw(pipe).expect("recorded");
    }
    let settled = settle(&mut client);
    assert_eq!(settled.is_err(), fault, "{settled:?}");
    let reason = client.reason();
    let ended = client.close();
    assert_eq!(ended.err(), reason, "the first reason is sticky");
    (draws.load(Ordering::Relaxed), reason)
}

#[test]
fn nothing_is_applied_behind_the_first_fault() {
    let (draws, reason) = applied_around(true);
    let reason = reason.expect("a reason");
    assert!(draws == 5 && reason.contains("ResourceDestroy"), "{draws} draws, {reason}");
    // The negative control.
    assert_eq!(applied_around(false), (10, None));
}

// ---- recordings ------------------------------------------------------------------------------------------------

/// A file that is gone with its test, and what programs called theirs because it was there.
struct Recording(PathBuf);

impl Recording {
    fn new(name: &str) -> Self {
        let folder =
            PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("{}-{name}", std::process::id()));
        fs::create_dir(&folder).expect("room");
        Self(folder.join("a.rah"))
    }

    /// The whole recording.
    fn capture(&self) -> Capture {
        Capture::open_whole(&self.0).expect("a capture")
    }
}

impl Drop for Recording {
    fn drop(&mut self) {
        let _ = self.0.parent().map(fs::remove_dir_all);
    }
}

/// A child has none of it, and its end is not the recording's.
#[test]
fn a_forked_child_leaves_the_recording_alone() {
    for topology in FAR {
        let file = Recording::new(&format!("forks-{}", topology.name()));
        let program = Program::recorded("program_that_forks", topology, Some(&file.0));
        let (status, text) = program.ends("a program that is recorded and forks");
        assert!(status.success(), "{topology:?}: {status} {text}");
        let mut capture = file.capture();
        assert!(capture.torn().is_none());
        assert_eq!(capture.frames(), 19, "{topology:?}");
        let (mut part, mut draws) = (Part::default(), 0);
        for number in 0..capture.parts() {
            capture.read(number, &mut part).expect("a part");
            let ops = part.records().map(|record| record.expect("a record")[..2].to_vec());
            draws += ops.filter(|op| *op == Op::DrawVbo.raw().to_le_bytes()).count();
        }
        // Of each of 19 frames: its own, one behind it, and a hundred beside the child.
        assert_eq!(draws, 19 * 102, "{topology:?}");
    }
}

#[test]
#[ignore = "a program of its own"]
fn program_that_ends_in_the_middle() {
    let mut client = open(topology());
    ready(server(&client));
    for serial in 1..=50 {
        frame(client.pipe(), serial).expect("recorded");
    }
    draw(client.pipe()).expect("recorded");
    client.pipe().publish();
    leave(true);
}

/// An exit that runs nothing of ours leaves all that was published.
#[test]
fn a_program_that_ends_in_the_middle_is_recorded_whole() {
    for topology in FAR {
        let file = Recording::new(&format!("ends-{}", topology.name()));
        let program = Program::recorded("program_that_ends_in_the_middle", topology, Some(&file.0));
        let (status, text) = program.ends("a program that is recorded and ends");
        assert!(status.success(), "{topology:?}: {status} {text}");
        let mut capture = file.capture();
        assert!(capture.torn().is_none(), "{:?}", capture.torn());
        assert_eq!(capture.frames(), 50, "{topology:?}");
        let (rest, mut part) = (capture.rest(), Part::default());
        assert_eq!(rest.len(), 1, "what followed the last frame");
        capture.read(rest.start, &mut part).expect("a part");
        assert_eq!(part.head().records, 1);
    }
}
