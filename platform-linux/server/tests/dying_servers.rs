//! Servers that are killed, anywhere: each client notices in time, says why, and gives back everything that the session
//! had: descriptors, mappings, threads, segments, processes. `KILLS=N` asks for more instants. Clients that are killed
//! are in `dying_clients.rs`.
//!
//! What a process has is counted, so the clients run alone in theirs: in this file's ignored tests.

mod common;

use std::{
    collections::BTreeMap,
    fs,
    io::Write,
    os::fd::{AsFd, AsRawFd, OwnedFd},
    os::unix::process::CommandExt,
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use common::{PROGRAM, Random, number, timed, waits};
use runahead_core::{Fault, RecordError, Session, Silence, link::Patience, null::Null, reply_space};
use runahead_linux::{
    control::{
        channel,
        message::{ContextAttributes, Doorbell, Sizes, SurfaceOp, Terms},
    },
    session::{Client, Config, OpenError, RequestError, Topology, Wanted},
};
use runahead_rings::Watermark;
use runahead_wire::{Handle, payload::*, pipe::Pipe, values::StorageKind};
use rustix::process::{Pid, Signal, kill_process};

/// How long a client may take to notice.
const NOTICE: Duration = Duration::from_millis(100);

type Program = Client<Null, Silence>;

/// Where a client is when its server is killed.
const PHASES: &[&str] =
    &["load", "stage", "credit", "reply", "never", "applied", "request", "events", "handshake"];

const BUFFER: Handle = Handle::new(1, 1);

fn config() -> Config {
    // Small, so that a client that goes on is soon out of room.
    let sizes = Sizes { commands: 256 << 10, stage: 256 << 10, replies: 64 << 10, events: 4 << 10 };
    Config {
        topology: Topology::Spawn,
        server: None,
        arguments: vec![],
        wanted: Wanted(Terms { sizes, credit: 0, run_ahead: true, doorbell: Doorbell::Futex }),
        ..Config::default()
    }
}

/// A server that is a child of this process, so that its death is known for certain: over a socket whose both ends are
/// made here. What keeps a copy of the server's end hides its hang-up.
fn start() -> (Child, OwnedFd, OwnedFd) {
    let (ours, theirs) = channel::pair().expect("a socket");
    // Above 3, so that `dup2` gives the server one that it inherits.
    let theirs = rustix::io::fcntl_dupfd_cloexec(theirs, 10).expect("a descriptor");
    let socket = theirs.as_raw_fd();
    let mut program = Command::new(PROGRAM);
    let put_in_place = move || {
        // SAFETY: both are numbers of this process alone, which is about to become the server.
        match unsafe { libc::dup2(socket, 3) } {
            3 => Ok(()),
            _ => Err(std::io::Error::last_os_error()),
        }
    };
    // SAFETY: `dup2` may be called after `fork`.
    unsafe { program.pre_exec(put_in_place) };
    let child = program.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
    (child.expect("a server"), ours, theirs)
}

/// Whether a session goes on.
fn goes_on<T>(result: Result<T, RecordError>) -> bool {
    match result {
        Ok(_) => true,
        Err(RecordError::Lost(Fault::PeerGone)) => false,
        Err(error) => panic!("{error}"),
    }
}

fn answered<T>(result: Result<T, RequestError>) -> bool {
    match result {
        Ok(_) => true,
        Err(RequestError::Lost(reason)) => {
            assert!(!reason.is_empty());
            false
        }
        Err(error) => panic!("{error}"),
    }
}

fn draw(pipe: &mut impl Pipe<Error = RecordError>) -> bool {
    let info = DrawInfo { mode: 4, instance_count: 1, num_draws: 1, ..DrawInfo::default() };
    goes_on(pipe.draw_vbo(&info, &[DrawRange { start: 0, count: 3, index_bias: 0 }], &[]))
}

fn prepare(client: &mut Program) -> bool {
    let pbuffer = SurfaceOp::CreatePbuffer { config: 0, width: 64, height: 64 };
    if !answered(client.create_context(1, None, ContextAttributes::gles(3, 2)))
        || !answered(client.surface(1, pbuffer))
    {
        return false;
    }
    let pipe = client.pipe();
    let desc = ResourceDesc {
        resource: BUFFER,
        storage_kind: StorageKind::Buffer.raw() as u8,
        buf_size: 1 << 12,
        ..ResourceDesc::default()
    };
    goes_on(pipe.bind_context(&BindContext { context: 1, draw_surface: 1, read_surface: 1 }))
        && goes_on(pipe.set_context_values(&ContextValues::default()))
        && goes_on(pipe.set_sampler_views(&SamplerViews { start: 0, count: 1 }, &[BoundView::default()]))
        && goes_on(pipe.bind_sampler_states(&SamplerStates { start: 0, count: 1 }, &[Handle::NULL]))
        && goes_on(pipe.resource_create(&desc))
}

fn readback(pipe: &mut impl Session) -> bool {
    let asked = match pipe.ask(0) {
        Ok(asked) => asked,
        Err(error) => return goes_on::<()>(Err(error)),
    };
    let read = Readback { resource: BUFFER, offset: 0, size: 1000 };
    goes_on(pipe.resource_readback(&read, Some(reply_space(&asked))))
        && goes_on(pipe.wait_answer(&asked, Patience::Sleep)) & pipe.release(asked).is_ok()
}

/// Works in its way until the session is lost.
fn work(client: &mut Program, phase: &str) {
    if !prepare(client) {
        return;
    }
    for frame in 1.. {
        let pipe = client.pipe();
        let alive = match phase {
            "load" => (0..100).all(|_| draw(pipe)),
            "stage" => {
                goes_on(runahead_core::upload::buffer(pipe, BUFFER, 0, &[7; 4096], 4096)) && draw(pipe)
            }
            "credit" => {
                draw(pipe)
                    && goes_on(pipe.present(&Present { frame_serial: frame, ..Present::default() }, &[]))
            }
            "reply" => match pipe.ask(4096) {
                Ok(asked) => {
                    goes_on(pipe.get_caps(&CapsRequest::default(), Some(reply_space(&asked))))
                        && goes_on(pipe.wait_answer(&asked, Patience::Sleep)) & pipe.release(asked).is_ok()
                }
                Err(error) => goes_on::<()>(Err(error)),
            },
            // Nothing was recorded that the server could answer: only an end ends this.
            "never" => {
                let asked = pipe.ask(8).expect("space");
                let never = goes_on(pipe.wait_answer(&asked, Patience::Sleep));
                assert!(!never, "an answer to nothing");
                false
            }
            "applied" => {
                let recorded = pipe.recorded();
                draw(pipe) && goes_on(pipe.wait_for(Watermark::Applied, recorded + 1, Patience::Sleep))
            }
            // Several events a batch in a ring that holds four of them.
            "events" => (0..8).all(|_| readback(pipe)),
            _ => {
                answered(client.create_context(2, None, ContextAttributes::gles(3, 2)))
                    && answered(client.destroy_context(2))
            }
        };
        if !alive {
            return;
        }
    }
}

/// Kills a server after a time, at work in a phase; how long its client took to notice.
fn killed(phase: &str, after: Duration) -> Duration {
    let (mut server, ours, theirs) = start();
    drop(theirs);
    let pid = Pid::from_child(&server);
    let (go, gone) = std::sync::mpsc::channel();
    let killer = thread::spawn(move || {
        // From the start for a handshake, else from where the session is open.
        let _ = gone.recv();
        thread::sleep(after);
        let killed = Instant::now();
        kill_process(pid, Signal::KILL).expect("a process of ours");
        killed
    });
    if phase == "handshake" {
        go.send(()).expect("it listens");
    }
    let opened = Program::over(&config(), ours, None, Silence);
    let _ = go.send(());
    let reason = match opened {
        Ok(mut client) => {
            work(&mut client, if phase == "handshake" { "reply" } else { phase });
            let noticed = Instant::now();
            let reason = client.reason().expect("a reason");
            assert!(client.reason().as_ref() == Some(&reason), "it is sticky");
            drop(client);
            (noticed, reason)
        }
        Err(error @ OpenError::Channel(_)) => (Instant::now(), error.to_string()),
        Err(error) => panic!("{phase}: {error}"),
    };
    let killed = killer.join().expect("it killed");
    server.wait().expect("it was killed");
    assert!(!reason.1.is_empty());
    reason.0.saturating_duration_since(killed)
}

/// What this process has, by kind.
fn belongings() -> BTreeMap<&'static str, usize> {
    let count = |folder: &str| fs::read_dir(folder).map_or(0, Iterator::count);
    let maps = fs::read_to_string("/proc/self/maps").expect("procfs");
    let children = fs::read_to_string("/proc/thread-self/children").expect("procfs");
    BTreeMap::from([
        ("descriptors", count("/proc/self/fd")),
        ("threads", count("/proc/self/task")),
        ("segments", maps.lines().filter(|line| line.contains("memfd:runahead-")).count()),
        ("children", children.split_whitespace().count()),
    ])
}

/// Waits until this process has no more than `before`: a thread that has said its last word may take a moment to end.
fn settled(before: &BTreeMap<&'static str, usize>) -> Result<(), BTreeMap<&'static str, usize>> {
    let mut now = belongings();
    let same = waits(Duration::from_secs(5), || {
        now = belongings();
        now == *before
    });
    if same { Ok(()) } else { Err(now) }
}

#[test]
#[ignore = "run by a_client_notices_a_server_that_is_killed, in a process of its own"]
fn alone_matrix() {
    let mut random = Random(0xdead);
    // Threads of the allocator and such are there afterwards.
    killed("load", Duration::from_millis(1));
    assert!(waits(Duration::from_secs(5), || belongings()["segments"] == 0), "{:?}", belongings());
    thread::sleep(Duration::from_millis(50));
    let before = belongings();
    let mut slowest = BTreeMap::new();
    for case in 0..number("KILLS", 50) {
        let phase = PHASES[case as usize % PHASES.len()];
        let after = Duration::from_micros(random.below(if phase == "handshake" { 3_000 } else { 20_000 }));
        let what = format!("case {case}, {phase}, killed after {after:?}: to notice");
        let took = timed(NOTICE, &what, || killed(phase, after));
        let most = slowest.entry(phase).or_insert(Duration::ZERO);
        *most = took.max(*most);
        if let Err(now) = settled(&before) {
            panic!("case {case}, {phase}, killed after {after:?}: {now:?} are left, {before:?} at first");
        }
    }
    let _ = writeln!(std::io::stdout(), "slowest by phase: {slowest:?}");
}

/// Runs a test of this file that needs a process of its own; what it printed.
fn alone(test: &str) -> String {
    let ran = Command::new(std::env::current_exe().expect("this program"))
        .args(["--exact", test, "--ignored", "--test-threads=1", "--nocapture"])
        .output()
        .expect("it runs");
    let text = String::from_utf8_lossy(&ran.stdout).into_owned() + &String::from_utf8_lossy(&ran.stderr);
    assert!(ran.status.success() && text.contains("1 passed"), "{text}");
    text
}

#[test]
fn a_client_notices_a_server_that_is_killed() {
    let text = alone("alone_matrix");
    let slowest = text.lines().find(|line| line.starts_with("slowest")).unwrap_or_default();
    let _ = writeln!(std::io::stdout(), "{slowest}");
}

/// The negative control of the counts: each kind of thing that is left is seen.
#[test]
fn what_is_left_would_be_counted() {
    alone("alone_leaks");
}

#[test]
#[ignore = "run by what_is_left_would_be_counted, in a process of its own"]
fn alone_leaks() {
    let before = belongings();
    let (mut server, ours, theirs) = start();
    drop(theirs);
    let client = Program::over(&config(), ours, None, Silence).expect("a session");
    let now = belongings();
    for (kind, count) in &before {
        assert!(now[kind] > *count, "{kind}: {now:?}, {before:?}");
    }
    client.close().expect("an orderly end");
    server.wait().expect("it ends");
    settled(&before).expect("nothing is left");
}

/// The negative control of the matrix: with the hang-up and the pidfd taken away, no client notices.
#[test]
fn without_its_two_watches_a_client_waits_on() {
    let (mut server, ours, theirs) = start();
    // A copy of the server's end stays here, so that its death is no hang-up; and nobody gives the client its process.
    let client = Program::over(&config(), ours, None, Silence).expect("a session");
    let working = thread::spawn(move || {
        let mut client = client;
        work(&mut client, "reply");
        client.reason()
    });
    thread::sleep(Duration::from_millis(10));
    server.kill().expect("it lives");
    server.wait().expect("it was killed");
    assert!(!waits(3 * NOTICE, || working.is_finished()), "it knew from somewhere else");
    drop(theirs);
    assert!(waits(NOTICE, || working.is_finished()), "a hang-up is not seen either");
    assert!(working.join().expect("no panic").is_some());
}

/// Whoever opens a session by the library has the server's process watched, too: a copy of the socket that somebody else
/// has hides nothing.
#[test]
fn a_copy_of_the_socket_hides_no_death() {
    let config = Config { server: Some(PROGRAM.into()), ..config() };
    let spawned = runahead_linux::spawn::Server::new().program(PROGRAM).start().expect("a server");
    // The server's end, as a child of the server could have it, is reached by its number.
    let number = spawned.process.number();
    let pid = Pid::from_raw(number as i32).expect("a number");
    let pidfd = rustix::process::pidfd_open(pid, rustix::process::PidfdFlags::empty()).expect("it lives");
    let copied = rustix::process::pidfd_getfd(pidfd.as_fd(), 3, rustix::process::PidfdGetfdFlags::empty());
    let hidden = match copied {
        Ok(copy) => copy,
        // Not allowed here, as in some containers: then the matrix above is what there is.
        Err(error) => panic!("pidfd_getfd: {error}"),
    };
    let mut client =
        Program::over(&config, spawned.socket, Some(spawned.process), Silence).expect("a session");
    let killer = thread::spawn(move || {
        thread::sleep(Duration::from_millis(10));
        let killed = Instant::now();
        kill_process(pid, Signal::KILL).expect("a process of ours");
        killed
    });
    work(&mut client, "never");
    let took = Instant::now().saturating_duration_since(killer.join().expect("it killed"));
    assert!(took < NOTICE, "noticed after {took:?}");
    drop(hidden);
}

/// The negative control of the time limit.
#[test]
fn what_is_always_late_is_noticed() {
    let late = || std::panic::catch_unwind(|| timed(NOTICE, "a control", || NOTICE));
    let text = late().expect_err("unnoticed");
    assert!(text.downcast_ref::<String>().expect("a message").contains("a control"));
    let mut times = [NOTICE, Duration::ZERO].into_iter();
    assert_eq!(timed(NOTICE, "once", || times.next().expect("two")), Duration::ZERO);
}
