//! What a session says and what it does while there is nothing to do: lines of the log, and sleep.

mod common;

use std::{
    fs,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use common::{PROGRAM, prepare, resident};
use runahead_core::{Session, Silence, link::Patience, null::Null};
use runahead_linux::{
    control::message::{ContextAttributes, Doorbell, LogLevel, Terms},
    session::{Client, Config, Counting, Diagnostics, Sink, Topology, Wanted},
};
use runahead_rings::Watermark;
use runahead_wire::{payload::*, pipe::Pipe, values::BackendKind};
use rustix::process::{Pid, Signal, kill_process};

type Opened = Client<Null, Silence>;

/// Lines that a client heard.
type Heard = Arc<Mutex<Vec<(LogLevel, String)>>>;

fn open(topology: Topology, doorbell: Doorbell, backend: &str, log: Option<LogLevel>) -> (Opened, Heard) {
    let heard = Heard::default();
    let keep = Arc::clone(&heard);
    let sink = Sink::new(move |level, text| keep.lock().expect("no panic").push((level, text.to_owned())));
    let config = Config {
        topology,
        server: Some(PROGRAM.into()),
        arguments: vec!["--backend".into(), backend.into()],
        wanted: Wanted(Terms { run_ahead: true, doorbell, ..Terms::default() }),
        diagnostics: Diagnostics { counting: Counting::On, log, sink, ..Diagnostics::default() },
        ..Config::default()
    };
    let mut client =
        Client::open(&config, BackendKind::Null, || Ok(Null::default()), Silence).expect("a session");
    prepare(&mut client);
    (client, heard)
}

fn draw(pipe: &mut impl Pipe) {
    let info = DrawInfo { mode: 4, instance_count: 1, num_draws: 1, ..DrawInfo::default() };
    let _ = pipe.draw_vbo(&info, &[DrawRange { start: 0, count: 3, index_bias: 0 }], &[]);
}

fn draws(client: &mut Opened, draws: u64) -> Duration {
    let start = Instant::now();
    (0..draws).for_each(|_| draw(client.pipe()));
    let recorded = client.pipe().recorded();
    client.pipe().wait_for(Watermark::Applied, recorded, Patience::Sleep).expect("applied");
    start.elapsed()
}

// ---- Lines -----------------------------------------------------------------------------------------------------

/// Lines of the server that were heard or are said to be dropped. Numbers only go up, and nothing is unaccounted for.
fn accounted(heard: &Heard) -> u64 {
    let (mut lines, mut last) = (0, 0);
    for (level, text) in heard.lock().expect("no panic").iter() {
        if let Some(number) = text.strip_prefix("server: line ") {
            let number: u64 = number.parse().expect("a number");
            assert!(number > last, "{number} after {last}");
            assert_eq!((number, *level), (lines + 1, LogLevel::Info), "a line is unaccounted for");
            (lines, last) = (lines + 1, number);
        } else if let Some(rest) = text.strip_prefix("server: ")
            && let Some(dropped) = rest.strip_suffix(" lines of its log were dropped")
        {
            lines += dropped.parse::<u64>().expect("a number");
        }
    }
    lines
}

#[test]
fn a_flood_of_lines_is_dropped_and_counted() {
    const DRAWS: u64 = 100;
    const LINES: u64 = 100_000;
    let (mut quiet, _) = open(Topology::Spawn, Doorbell::Futex, "chatty=1000", Some(LogLevel::Warning));
    let (mut client, heard) = open(Topology::Spawn, Doorbell::Futex, "chatty=1000", Some(LogLevel::Info));
    let server = client.process().expect("a server").number().to_string();
    let before = resident(&server);
    // The client reads nothing meanwhile: a server that waited for it would not come to the end.
    let unlogged = draws(&mut quiet, DRAWS);
    let logged = draws(&mut client, DRAWS);
    let after = resident(&server);
    assert!(before != 0 && after != 0, "the server does not live");
    let grown = after.saturating_sub(before);
    // A line that is dropped costs a look at the queue.
    let more = logged.saturating_sub(unlogged);
    assert!(more < Duration::from_millis(200), "{logged:?} with lines, {unlogged:?} without");
    assert!(grown < 4096 << 10, "{grown} bytes");
    client.close().expect("an orderly end");
    assert_eq!(accounted(&heard), LINES);
    let lines = heard.lock().expect("no panic").len() as u64;
    assert!((256..LINES / 2).contains(&lines), "{lines} lines came");
}

#[test]
fn lines_come_while_the_session_goes_on() {
    let (mut client, heard) = open(Topology::Spawn, Doorbell::Futex, "chatty=1", Some(LogLevel::Debug));
    draws(&mut client, 10);
    let deadline = Instant::now() + Duration::from_secs(5);
    while accounted(&heard) < 10 && Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(1));
        client.attend();
    }
    assert_eq!(accounted(&heard), 10);
    let all = heard.lock().expect("no panic").clone();
    let has = |level, part: &str| all.iter().any(|(of, text)| *of == level && text.contains(part));
    assert!(has(LogLevel::Info, "applies on null"), "{all:?}");
    assert!(has(LogLevel::Debug, "CreateContext"), "{all:?}");
}

#[test]
fn nothing_is_said_that_is_not_wanted() {
    for log in [None, Some(LogLevel::Error)] {
        let (mut client, heard) = open(Topology::Spawn, Doorbell::Futex, "chatty=10", log);
        draws(&mut client, 10);
        client.close().expect("an orderly end");
        assert_eq!(*heard.lock().expect("no panic"), []);
    }
}

#[test]
fn a_loss_is_one_line() {
    let (mut client, heard) = open(Topology::Spawn, Doorbell::Futex, "null", Some(LogLevel::Warning));
    let server = Pid::from_raw(client.process().expect("a server").number() as i32).expect("a number");
    kill_process(server, Signal::KILL).expect("a process of ours");
    let never = client.pipe().ask(8).expect("space");
    assert!(client.pipe().wait_answer(&never, Patience::Sleep).is_err());
    for _ in 0..3 {
        assert!(client.reason().is_some());
        assert!(client.create_context(2, None, ContextAttributes::gles(3, 2)).is_err());
        draw(client.pipe());
    }
    drop(client);
    let heard = heard.lock().expect("no panic");
    assert_eq!(heard.len(), 1, "{heard:?}");
    assert!(heard[0].0 == LogLevel::Error && heard[0].1.contains("the server is gone"), "{heard:?}");
}

// ---- Sleep -----------------------------------------------------------------------------------------------------

/// How often the threads of a process whose names begin so went to sleep of their own accord, each woken before.
fn sleeps(process: u32, name: &str) -> Vec<(String, u64)> {
    let threads = fs::read_dir(format!("/proc/{process}/task")).expect("it lives");
    let mut found = Vec::new();
    for thread in threads.flatten() {
        let Ok(status) = fs::read_to_string(thread.path().join("status")) else { continue };
        let field = |field: &str| status.lines().find_map(|line| line.strip_prefix(field)).map(str::trim);
        let called = field("Name:").unwrap_or_default();
        if called.starts_with(name) {
            let switches = field("voluntary_ctxt_switches:").and_then(|text| text.parse().ok());
            let label = format!("{called} {}", thread.file_name().display());
            found.push((label, switches.expect("a number")));
        }
    }
    found.sort();
    assert!(!found.is_empty(), "process {process} has no thread {name}");
    found
}

/// Alone in its process, so that no other test's threads are taken for this one's.
#[test]
#[ignore = "run by an_idle_session_sleeps in a process of its own"]
fn alone_idle() {
    let own = std::process::id();
    let mut sessions = Vec::new();
    for doorbell in [Doorbell::Futex, Doorbell::EventFd] {
        for topology in [Topology::Inproc, Topology::Spawn] {
            let (mut client, _) = open(topology, doorbell, "null", Some(LogLevel::Warning));
            draws(&mut client, 100);
            sessions.push(client);
        }
    }
    // What was under way comes to rest: the last look, the last spin.
    std::thread::sleep(Duration::from_millis(300));
    let stop = Arc::new(AtomicBool::new(false));
    let ticking = std::env::var_os("IDLE_TICK").map(|_| {
        let stop = Arc::clone(&stop);
        let tick = move || {
            while !stop.load(Ordering::Relaxed) {
                std::thread::sleep(Duration::from_millis(1));
            }
        };
        std::thread::Builder::new().name("runahead-tick".into()).spawn(tick).expect("a thread")
    });
    // This thread, which is the client's own, sleeps in the measurement itself; a client has no other to wake.
    let look = || {
        let mut all = sleeps(own, "runahead");
        for client in &sessions {
            if let Some(process) = client.process() {
                all.extend(sleeps(process.number(), "runahead"));
            }
        }
        all
    };
    let counters = || sessions.iter().map(|client| (client.counters(), client.server_counters())).collect();
    let (before, counted): (_, Vec<_>) = (look(), counters());
    std::thread::sleep(Duration::from_secs(5));
    let after = look();
    assert_eq!(after, before, "threads woke");
    assert_eq!(counters(), counted, "something was counted");
    stop.store(true, Ordering::Relaxed);
    if let Some(thread) = ticking {
        thread.join().expect("it ends");
    }
}

fn idle(tick: bool) -> std::process::Output {
    let mut test = std::process::Command::new(std::env::current_exe().expect("this program"));
    test.args(["--exact", "alone_idle", "--ignored", "--test-threads=1"]);
    if tick {
        test.env("IDLE_TICK", "1");
    }
    test.output().expect("it runs")
}

#[test]
fn an_idle_session_sleeps() {
    let test = idle(false);
    let text = String::from_utf8_lossy(&test.stdout);
    assert!(test.status.success() && text.contains("1 passed"), "{text}");
}

#[test]
fn a_tick_of_a_millisecond_is_found() {
    let test = idle(true);
    let text = String::from_utf8_lossy(&test.stdout);
    assert!(!test.status.success() && text.contains("threads woke"), "{text}");
}
