//! A client that is killed, wherever it is: its server notices, ends, and leaves nothing behind. `KILLS=N` asks for more
//! instants.
//!
//! The clients are this file's ignored tests, each in a process of its own, which the test kills.

mod common;

use std::{
    fs,
    io::{BufRead, BufReader, Write},
    os::{
        fd::{AsFd, AsRawFd, OwnedFd},
        unix::process::CommandExt,
    },
    process::{Child, Command, Stdio},
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

use common::{
    PROGRAM, Random, Raw, SMALL, hello, holders, is_gone, number, prepare, segments_of, timed, welcome,
};
use runahead_core::{Session, Silence, link::Patience, null::Null, reply_space};
use runahead_linux::{
    control::{
        channel::{self, ClientChannel},
        message::{ClientMessage, Doorbell, Message, Sizes, Terms},
    },
    session::{Client, Config, Topology, Wanted},
    spawn::{Server, Spawned},
};
use runahead_rings::Watermark;
use runahead_wire::{
    Handle,
    payload::*,
    pipe::Pipe,
    values::{BackendKind, StorageKind},
};
use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal},
};

/// How long a server may take to be gone.
const NOTICE: Duration = Duration::from_millis(100);

/// Names the phase to a client.
const PHASE: &str = "DYING_CLIENT_PHASE";

/// What a client's own choices come from.
const SEED: &str = "DYING_CLIENT_SEED";

/// Where a client is when it is killed.
const PHASES: &[&str] = &["load", "credit", "reply", "never", "events", "idle", "handshake"];

// ---- The client ------------------------------------------------------------------------------------------------

/// Tells the test that this client is where it is to die.
fn ready(server: u32) {
    let mut out = std::io::stdout();
    writeln!(out, "\nserver {server}").expect("the test reads");
    out.flush().expect("the test reads");
}

fn asleep() -> ! {
    loop {
        std::thread::sleep(Duration::from_secs(1));
    }
}

fn open() -> (Client<Null, Silence>, u32) {
    let sizes = Sizes { commands: 0, stage: 0, replies: 1 << 20, events: 4 << 10 };
    let doorbell = if number(SEED, 0).is_multiple_of(2) { Doorbell::Futex } else { Doorbell::EventFd };
    let config = Config {
        topology: Topology::Spawn,
        server: Some(PROGRAM.into()),
        arguments: vec![],
        wanted: Wanted(Terms { sizes, credit: 0, run_ahead: true, doorbell }),
        ..Config::default()
    };
    let mut client =
        Client::open(&config, BackendKind::Null, || Ok(Null::default()), Silence).expect("a session");
    prepare(&mut client);
    let server = client.process().expect("a server").number();
    (client, server)
}

fn draw(pipe: &mut impl Pipe) {
    let info = DrawInfo { mode: 4, instance_count: 1, num_draws: 1, ..DrawInfo::default() };
    let _ = pipe.draw_vbo(&info, &[DrawRange { start: 0, count: 3, index_bias: 0 }], &[]);
}

/// Hand-made, to stop anywhere in it.
fn handshake(seed: u64) -> ! {
    let mut random = Random(seed);
    let Spawned { socket, process } = Server::new().program(PROGRAM).start().expect("a server");
    let mut channel = ClientChannel::new(socket.try_clone().expect("a descriptor"));
    ready(process.number());
    match random.below(4) {
        0 => {}
        1 => {
            let message = ClientMessage::Hello(hello(SMALL)).encode().expect("a message");
            let frame = runahead_linux::control::frame::encode(&message, 0).expect("a frame");
            let part = random.below(frame.len() as u64) as usize;
            fs::File::from(socket).write_all(&frame[..part]).expect("it reads");
        }
        2 => _ = welcome(&mut channel, hello(SMALL)),
        _ => {
            let _raw = Raw::open(socket, SMALL);
            asleep();
        }
    }
    // The channel stays open until the end.
    asleep()
}

#[test]
#[ignore = "a program of its own, which is killed"]
fn client_process() {
    let phase = std::env::var(PHASE).expect("a phase");
    if phase == "handshake" {
        handshake(number(SEED, 0));
    }
    if phase == "hidden" {
        // The control socket is the standard input, so that the test can have a copy.
        let socket = std::io::stdin().as_fd().try_clone_to_owned().expect("a socket");
        let _raw = Raw::open(socket, SMALL);
        ready(0);
        asleep();
    }
    let (mut client, server) = open();
    match &*phase {
        // As much published as the rings hold, which the server need not go through for a client that is dead.
        "load" => {
            ready(server);
            loop {
                draw(client.pipe());
            }
        }
        "credit" => {
            ready(server);
            for frame in 1.. {
                draw(client.pipe());
                let present = Present { frame_serial: frame, ..Present::default() };
                let _ = client.pipe().present(&present, &[]);
            }
        }
        "reply" => {
            ready(server);
            loop {
                let pipe = client.pipe();
                let asked = pipe.ask(4096).expect("space");
                let _ = pipe.get_caps(&CapsRequest::default(), Some(reply_space(&asked)));
                let _ = pipe.wait_answer(&asked, Patience::Sleep);
                let _ = pipe.release(asked);
            }
        }
        "never" => {
            ready(server);
            let never = client.pipe().ask(8).expect("space");
            let _ = client.pipe().wait_answer(&never, Patience::Sleep);
        }
        "events" => {
            let pipe = client.pipe();
            let buffer = Handle::new(1, 1);
            let desc = ResourceDesc {
                resource: buffer,
                storage_kind: StorageKind::Buffer.raw() as u8,
                buf_size: 1 << 12,
                ..ResourceDesc::default()
            };
            pipe.resource_create(&desc).expect("recorded");
            for _ in 0..20 {
                let asked = pipe.ask(0).expect("space");
                let read = Readback { resource: buffer, offset: 0, size: 1000 };
                pipe.resource_readback(&read, Some(reply_space(&asked))).expect("recorded");
            }
            pipe.publish();
            // Nobody takes the events, so the server stands before the end of the records.
            std::thread::sleep(Duration::from_millis(50));
            let (applied, recorded) =
                (pipe.watermark(Watermark::Applied).expect("no fault"), pipe.recorded());
            assert!(applied < recorded, "the event ring is not full: {applied} of {recorded}");
            ready(server);
        }
        _ => {
            client.pipe().publish();
            ready(server);
        }
    }
    asleep()
}

// ---- The test --------------------------------------------------------------------------------------------------

/// A process that this test started; it is ended and reaped when dropped.
struct Owned(Child);

impl Drop for Owned {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A server that is no child of this process; it is ended when dropped.
struct Watched {
    pidfd: OwnedFd,
    number: u32,
}

impl Watched {
    fn new(number: u32) -> Self {
        let pid = Pid::from_raw(number as i32).expect("a number");
        Self { pidfd: pidfd_open(pid, PidfdFlags::empty()).expect("it lives"), number }
    }

    /// Whether it ends in time.
    fn ends(&self, within: Duration) -> bool {
        let limit = Timespec::try_from(within).expect("a short time");
        let mut descriptors = [PollFd::new(&self.pidfd, PollFlags::IN)];
        poll(&mut descriptors, Some(&limit)).expect("a poll") != 0
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        let _ = pidfd_send_signal(&self.pidfd, Signal::KILL);
    }
}

fn client(phase: &str, seed: u64, input: Stdio) -> (Owned, u32) {
    let mut program = Command::new(std::env::current_exe().expect("this program"));
    program.args(["--exact", "client_process", "--ignored", "--test-threads=1", "--nocapture"]);
    program.env(PHASE, phase).env(SEED, seed.to_string());
    program.stdin(input).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = program.spawn().expect("a client");
    let out = child.stdout.take().expect("a pipe");
    let owned = Owned(child);
    let server = BufReader::new(out)
        .lines()
        .map_while(Result::ok)
        .find_map(|line| line.strip_prefix("server ").and_then(|number| number.parse().ok()));
    (owned, server.unwrap_or_else(|| panic!("no client in phase {phase}")))
}

/// Processes are timed here: one test at a time.
fn alone() -> std::sync::MutexGuard<'static, ()> {
    static ONE: Mutex<()> = Mutex::new(());
    ONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Kills a client in a phase after a time; how long its server took to end.
fn killed(phase: &str, seed: u64, after: Duration) -> Duration {
    let (mut client, number) = client(phase, seed, Stdio::null());
    let server = Watched::new(number);
    std::thread::sleep(after);
    let mut shared = segments_of(&number.to_string());
    shared.extend(segments_of(&client.0.id().to_string()));
    assert!(phase == "handshake" || shared.len() >= 7, "{phase}: only {} segments", shared.len());
    let begin = Instant::now();
    client.0.kill().expect("it lives");
    let ended = server.ends(Duration::from_secs(5));
    let took = begin.elapsed();
    client.0.wait().expect("it was killed");
    assert!(ended, "{phase}, seed {seed}, killed after {after:?}: the server goes on");
    assert!(is_gone(server.number), "{phase}: its process is there");
    assert_eq!(holders(&shared), Vec::<String>::new(), "{phase}: segments are left");
    took
}

#[test]
fn a_server_ends_with_a_client_that_is_killed() {
    let _alone = alone();
    let mut random = Random(0x51d);
    let mut slowest = (Duration::ZERO, "");
    for case in 0..number("KILLS", 50) {
        let phase = PHASES[case as usize % PHASES.len()];
        let span = if phase == "handshake" { 2_000 } else { 30_000 };
        let after = Duration::from_micros(random.below(span));
        let seed = random.next();
        let what = format!("case {case}, {phase}, killed after {after:?}: the server");
        let took = timed(NOTICE, &what, || killed(phase, seed, after));
        slowest = slowest.max((took, phase));
    }
    let _ = writeln!(std::io::stdout(), "slowest: {slowest:?}");
}

/// Segments are found while they are there.
#[test]
fn what_is_left_would_be_found() {
    let (client, number) = client("idle", 0, Stdio::null());
    let _server = Watched::new(number);
    let shared = segments_of(&number.to_string());
    let holders = holders(&shared);
    for process in [client.0.id(), number] {
        assert!(holders.contains(&process.to_string()), "{process} is not among {holders:?}");
    }
    assert!(!is_gone(number));
}

/// The negative control: with the hang-up and the pidfd taken away, the server does not notice.
#[test]
fn without_its_two_watches_a_server_stays() {
    let _alone = alone();
    // Whoever makes the socket is whose pidfd the server watches: this test, which lives.
    let (ours, theirs) = channel::pair().expect("a socket");
    let mut program = Command::new(PROGRAM);
    // Above 3, so that `dup2` gives the server one that it inherits.
    let theirs = rustix::io::fcntl_dupfd_cloexec(theirs, 10).expect("a descriptor");
    let socket = theirs.as_raw_fd();
    let put_in_place = move || {
        // SAFETY: both are numbers of this process alone, which is about to become the server.
        match unsafe { libc::dup2(socket, 3) } {
            3 => Ok(()),
            _ => Err(std::io::Error::last_os_error()),
        }
    };
    // SAFETY: `dup2` may be called after `fork`.
    unsafe { program.pre_exec(put_in_place) };
    let server = program.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
    let server = Owned(server.expect("a server"));
    drop(theirs);
    // A copy of the client's end stays here, so that its death is no hang-up.
    let input = Stdio::from(ours.try_clone().expect("a descriptor"));
    let (client, _) = client("hidden", 0, input);
    let watched = Watched::new(server.0.id());
    drop(client);
    assert!(!watched.ends(Duration::from_millis(300)), "it knew from somewhere else");
    drop(ours);
    assert!(watched.ends(NOTICE), "a hang-up is not seen either");
}
