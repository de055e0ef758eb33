//! Sessions as their clients see them: the same stream reaches the same calls wherever it is applied, and an end of
//! either side is noticed, explained and leaves nothing behind.

mod common;
mod streams;

use std::{
    cell::RefCell,
    fs,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use common::prepare;
use runahead_core::{
    Counters, Session,
    counters::Cause,
    link::Patience,
    null::Null,
    reply_space,
    trace::{Call, Listener, Method, Trace},
    upload,
};
use runahead_linux::{
    control::message::{ContextAttributes, Doorbell, Sizes, SurfaceOp, Terms},
    session::{Client, Counting, LiveError, RequestError, Topology},
};
use runahead_rings::Watermark;
use runahead_wire::{
    Handle,
    payload::*,
    pipe::Pipe,
    values::{BackendKind, DebugMarkOp, StorageKind},
};
use streams::*;

#[test]
fn the_same_stream_makes_the_same_calls_on_all_topologies() {
    let direct = calls(Topology::Direct, AHEAD, 10_000);
    assert!(direct.lines().count() > 50_000, "only {} calls", direct.lines().count());
    for topology in [Topology::Inproc, Topology::Spawn] {
        same(&direct, &calls(topology, AHEAD, 10_000));
    }
}

#[test]
fn small_rings_and_constant_back_pressure_change_nothing() {
    let sizes = Sizes { commands: 64 << 10, stage: 256 << 10, replies: 64 << 10, events: 16 << 10 };
    let direct = calls(Topology::Direct, AHEAD, 10_000);
    for topology in [Topology::Inproc, Topology::Spawn] {
        let small = calls(topology, Terms { sizes, ..AHEAD }, 10_000);
        // A client short of stage makes the server submit what it holds. The stream itself flushes nothing.
        let (flushes, rest): (Vec<_>, Vec<_>) = small.lines().partition(|line| line.starts_with("flush "));
        assert!(!flushes.is_empty(), "no pressure at all");
        same(&direct, &(rest.join("\n") + "\n"));
    }
}

#[test]
fn eventfds_wake_as_futexes_do() {
    let eventfd = Terms { doorbell: Doorbell::EventFd, ..AHEAD };
    let sizes = Sizes { commands: 64 << 10, stage: 256 << 10, replies: 64 << 10, events: 16 << 10 };
    let direct = calls(Topology::Direct, AHEAD, 2_000);
    for topology in [Topology::Inproc, Topology::Spawn] {
        same(&direct, &calls(topology, eventfd, 2_000));
        let small = calls(topology, Terms { sizes, ..eventfd }, 2_000);
        let rest: Vec<_> = small.lines().filter(|line| !line.starts_with("flush ")).collect();
        same(&direct, &(rest.join("\n") + "\n"));
    }
}

#[test]
fn both_roles_count_the_same_stream() {
    for topology in [Topology::Inproc, Topology::Spawn] {
        let mut config = config(topology, AHEAD, "null");
        config.diagnostics.counting = Counting::On;
        let make = || Ok(Null::default());
        let mut client = Client::open(&config, BackendKind::Null, make, Heard::default()).expect("a session");
        prepare(&mut client);
        stream(client.pipe(), 200, 16_000);
        // The answer comes behind everything else, and the server runs out of work.
        let recorded = client.pipe().recorded();
        client.pipe().wait_for(Watermark::Retired, recorded, Patience::Sleep).expect("applied");
        client.pipe().poll_events().expect("no fault");
        let deadline = Instant::now() + Duration::from_secs(5);
        let mut server = client.server_counters().expect("it counts");
        while server.records < recorded && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(1));
            server = client.server_counters().expect("it counts");
        }
        let own = client.counters();
        assert!(own.records > 1_500 && own.presents == 200, "{own:?}");
        for (what, of) in [
            ("records", (|counters| counters.records) as fn(&Counters) -> u64),
            ("command bytes", |counters| counters.command_bytes),
            ("stage bytes", |counters| counters.stage_bytes),
            ("events", |counters| counters.events),
            ("event bytes", |counters| counters.event_bytes),
            ("answers", |counters| counters.answers),
            ("reply bytes", |counters| counters.reply_bytes),
            ("presents", |counters| counters.presents),
        ] {
            assert_eq!(of(&own), of(&server), "{topology:?}: {what}");
        }
        assert!(own.credit_waits >= own.credit_parks && own.control_waits == 2, "{own:?}");
        let parks = |counters: &Counters| counters.slept.iter().sum::<u64>();
        let by_cause =
            |counters: &Counters| Cause::ALL.iter().map(|cause| counters.of(*cause).1).sum::<u64>();
        assert_eq!((parks(&own), parks(&server)), (by_cause(&own), by_cause(&server)));
        assert!(own.sleeps >= parks(&own) - own.control_parks && server.sleeps >= parks(&server));
        assert!(server.work_waits > 0 && own.round_trips() >= own.answer_waits);
        client.close().expect("an orderly end");
    }
}

#[test]
fn a_session_that_does_not_count_says_so() {
    let client = open(Topology::Spawn, AHEAD);
    assert_eq!(client.server_counters(), Err(LiveError::Nothing));
    assert!(client.statistics().table().contains("the server was not asked for it"));
    let client = open(Topology::Direct, AHEAD);
    assert_eq!(client.server_counters(), Err(LiveError::NoServer));
}

#[test]
fn statistics_are_appended_when_a_session_ends() {
    let file = scratch("statistics");
    for sessions in 1..=2 {
        let mut config = config(Topology::Spawn, AHEAD, "null");
        config.diagnostics.counting = Counting::File(file.clone());
        let make = || Ok(Null::default());
        let mut client = Client::open(&config, BackendKind::Null, make, Heard::default()).expect("a session");
        prepare(&mut client);
        stream(client.pipe(), 10, 16_000);
        let recorded = client.pipe().recorded();
        client.close().expect("an orderly end");
        let text = fs::read_to_string(&file).expect("it was written");
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 2 * sessions);
        for (line, role) in lines[2 * (sessions - 1)..].iter().zip(["client", "server"]) {
            let begin = format!("{{\"role\":\"{role}\",\"topology\":\"spawn\",\"records\":{recorded},");
            assert!(line.starts_with(&begin) && line.ends_with("]}"), "{line}");
        }
    }
    fs::remove_file(file).expect("it is there");
}

/// Forbids to run ahead from the first debug mark on.
#[derive(Debug, Default)]
struct Demoting(bool);

impl Listener for Demoting {
    fn call(&mut self, call: &Call<'_>) {
        self.0 |= call.method == Method::DebugMark;
    }

    fn forbids_run_ahead(&self) -> bool {
        self.0
    }
}

#[test]
fn caps_that_change_take_run_ahead_away() {
    for marked in [true, false] {
        let config = config(Topology::Inproc, AHEAD, "null");
        let make = || Ok(Trace::new(Demoting::default()));
        let mut client = Client::open(&config, BackendKind::Null, make, Heard::default()).expect("a session");
        prepare(&mut client);
        assert!(client.runs_ahead() && client.caps().head().generation == 1);
        if marked {
            let op = DebugMarkOp::Insert.raw();
            let mark = DebugMark { op, text_size: 4, ..DebugMark::default() };
            client.pipe().debug_mark(&mark, b"mark").expect("recorded");
        }
        // Work on surfaces is what initialises a native API anew, so the server looks behind it.
        client.surface(1, SurfaceOp::Resize { width: 32, height: 32 }).expect("a surface");
        client.pipe();
        assert_eq!(client.runs_ahead(), !marked);
        assert_eq!(client.caps().head().generation, if marked { 2 } else { 1 });
        let pipe = client.pipe();
        pipe.draw_vbo(&draw(), &RANGE, &[]).expect("recorded");
        let behind = pipe.recorded() - pipe.watermark(Watermark::Applied).expect("alive");
        assert_eq!(behind != 0, !marked, "{behind} records behind");
        client.close().expect("an orderly end");
    }
}

/// As many events a frame as their ring holds several times over, which the client takes nowhere but in its waits.
fn flood(topology: Topology, doorbell: Doorbell) {
    let sizes = Sizes { commands: 0, stage: 0, replies: 1 << 20, events: 4 << 10 };
    let mut client = open(topology, Terms { sizes, doorbell, ..AHEAD });
    prepare(&mut client);
    let pipe = client.pipe();
    let buffer = Handle::new(1, 1);
    let desc = ResourceDesc {
        resource: buffer,
        storage_kind: StorageKind::Buffer.raw() as u8,
        buf_size: 1 << 12,
        ..ResourceDesc::default()
    };
    pipe.resource_create(&desc).expect("recorded");
    for frame in 1..=50 {
        let mut asked = Vec::new();
        for _ in 0..20 {
            let done = pipe.ask(0).expect("space");
            let read = Readback { resource: buffer, offset: 0, size: 900 };
            pipe.resource_readback(&read, Some(reply_space(&done))).expect("recorded");
            asked.push(done);
        }
        pipe.present(&Present { frame_serial: frame, ..Present::default() }, &[]).expect("recorded");
        for done in asked {
            pipe.wait_answer(&done, Patience::Spin).expect("answered");
            pipe.release(done).expect("it came");
        }
    }
    client.close().expect("an orderly end");
}

#[test]
fn a_full_event_ring_does_not_stop_a_credit_wait() {
    for topology in [Topology::Inproc, Topology::Spawn] {
        for doorbell in [Doorbell::Futex, Doorbell::EventFd] {
            let (ended, end) = std::sync::mpsc::channel();
            std::thread::spawn(move || {
                flood(topology, doorbell);
                let _ = ended.send(());
            });
            end.recv_timeout(Duration::from_secs(20)).expect("it neither hangs nor fails");
        }
    }
}

#[test]
fn a_client_in_lockstep_makes_the_same_calls() {
    let direct = calls(Topology::Direct, AHEAD, 500);
    for topology in [Topology::Inproc, Topology::Spawn] {
        same(&direct, &calls(topology, Terms { run_ahead: false, ..AHEAD }, 500));
    }
}

#[test]
fn a_difference_is_found() {
    let one = calls(Topology::Direct, AHEAD, 20);
    let other = one.replacen("draw context 1", "draw context 2", 1);
    assert_ne!(one, other);
    let found = std::panic::catch_unwind(|| same(&one, &other)).expect_err("negative control");
    let text = found.downcast_ref::<String>().expect("a message");
    assert!(text.contains("draw context 2"), "{text}");
}

#[test]
fn requests_are_carried_out_behind_their_record() {
    for topology in Topology::ALL {
        let mut client = open(*topology, AHEAD);
        prepare(&mut client);
        for _ in 0..1000 {
            client.pipe().draw_vbo(&draw(), &RANGE, &[]).expect("recorded");
        }
        // Another context shares with the first, whose last record is far behind.
        client.create_context(2, Some(1), ContextAttributes::gles(3, 2)).expect("a context");
        let recorded = client.pipe().recorded();
        assert_eq!(client.pipe().watermark(Watermark::Applied).expect("no fault"), recorded, "{topology:?}");
        let taken = client.create_context(2, None, ContextAttributes::gles(3, 2));
        assert!(matches!(taken, Err(RequestError::Failed(_))), "{topology:?}: {taken:?}");
        let state = client.surface(1, SurfaceOp::Resize { width: 10, height: 20 }).expect("resized");
        assert_eq!((state.width, state.height), (10, 20));
        assert!(matches!(client.surface(9, SurfaceOp::Destroy), Err(RequestError::Failed(_))));
        client.destroy_context(2).expect("its end");
        assert!(matches!(client.destroy_context(2), Err(RequestError::Failed(_))));
        assert_eq!(client.caps().texts().renderer, "null");
        client.close().expect("an orderly end");
    }
}

#[test]
fn the_first_fault_is_explained_to_the_client() {
    for topology in [Topology::Inproc, Topology::Spawn] {
        let mut client = open(topology, AHEAD);
        client.create_context(1, None, ContextAttributes::gles(3, 2)).expect("a context");
        let pipe = client.pipe();
        pipe.bind_context(&BindContext { context: 1, ..BindContext::default() }).expect("recorded");
        pipe.draw_vbo(&draw(), &RANGE, &[]).expect("recorded");
        let recorded = pipe.recorded();
        assert!(pipe.wait_for(Watermark::Applied, recorded, Patience::Spin).is_err());
        let reason = client.reason().expect("a reason");
        assert!(reason.contains("ProtocolCorruption(\"DrawVbo.ContextValues\")"), "{topology:?}: {reason}");
        let request = client.create_context(2, None, ContextAttributes::gles(3, 2));
        assert!(matches!(request, Err(RequestError::Lost(_))), "{request:?}");
        assert_eq!(client.close().expect_err("it had ended"), reason);
    }
}

/// Runs until the server is killed; how long the client took to notice.
fn killed(after: Duration, wanted: Terms, work: impl FnOnce(&mut NullClient)) -> Duration {
    let mut client = open(Topology::Spawn, wanted);
    prepare(&mut client);
    let process = client.process().expect("a server process");
    let pid = rustix::process::Pid::from_raw(process.number() as i32).expect("a number");
    let killer = std::thread::spawn(move || {
        std::thread::sleep(after);
        let killed = Instant::now();
        rustix::process::kill_process(pid, rustix::process::Signal::KILL).expect("a process of ours");
        killed
    });
    work(&mut client);
    let noticed = Instant::now();
    let killed = killer.join().expect("it killed");
    assert!(client.pipe().lost().is_some() && client.reason().is_some());
    assert!(client.pipe().draw_vbo(&draw(), &RANGE, &[]).is_ok() || client.pipe().lost().is_some());
    drop(client);
    // Dead, and reaped by whoever adopted it, which is not us and may take its time.
    let state = fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero()));
    assert!(state.is_err() || state.is_ok_and(|state| state.contains(") Z ")), "the server's process lives");
    noticed.saturating_duration_since(killed)
}

#[test]
fn a_killed_server_is_noticed_wherever_the_client_waits() {
    let mut random = Random(0xdead);
    for case in 0..24 {
        let after = Duration::from_micros(random.below(20_000));
        let doorbell = if case % 2 == 0 { Doorbell::Futex } else { Doorbell::EventFd };
        let wanted = Terms { doorbell, ..AHEAD };
        let took = match case % 3 {
            // Under load and in credit waits.
            0 => killed(after, wanted, |client| {
                for frame in 1.. {
                    for _ in 0..100 {
                        if client.pipe().draw_vbo(&draw(), &RANGE, &[]).is_err() {
                            return;
                        }
                    }
                    let present = Present { frame_serial: frame, ..Present::default() };
                    if client.pipe().present(&present, &[]).is_err() {
                        return;
                    }
                }
            }),
            // In reply waits.
            1 => killed(after, wanted, |client| {
                loop {
                    let pipe = client.pipe();
                    let asked = match pipe.ask(4096) {
                        Ok(asked) => asked,
                        Err(_) => return,
                    };
                    let request = CapsRequest::default();
                    if pipe.get_caps(&request, Some(reply_space(&asked))).is_err()
                        || pipe.wait_answer(&asked, Patience::Sleep).is_err()
                    {
                        return;
                    }
                    pipe.release(asked).expect("it came");
                }
            }),
            // In waits that only an end ends: nothing was recorded that the server could answer.
            _ => killed(after, wanted, |client| {
                let pipe = client.pipe();
                let never = pipe.ask(8).expect("space");
                assert!(pipe.wait_answer(&never, Patience::Sleep).is_err());
            }),
        };
        assert!(took < Duration::from_millis(100), "case {case}: noticed after {took:?}");
    }
}

/// A goodbye waits for what was published, and not for ever: the one wait that time ends.
#[test]
fn a_server_that_does_not_finish_is_ended() {
    let mut client = open(Topology::Spawn, AHEAD);
    prepare(&mut client);
    let process = client.process().expect("a server process");
    let number = process.number();
    process.signal(rustix::process::Signal::STOP).expect("a process of ours");
    client.pipe().draw_vbo(&draw(), &RANGE, &[]).expect("recorded");
    let start = Instant::now();
    let error = client.close().expect_err("it did not finish");
    assert!(error.starts_with("the server did not finish"), "{error}");
    assert!(start.elapsed() < Duration::from_secs(8), "{:?}", start.elapsed());
    // Killed is not stopped: it goes.
    let deadline = Instant::now() + Duration::from_secs(2);
    let alive = || {
        let stat = fs::read_to_string(format!("/proc/{number}/stat")).unwrap_or_default();
        stat.rsplit(") ").next().is_some_and(|rest| !rest.is_empty() && !rest.starts_with('Z'))
    };
    while alive() && Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(10));
    }
    assert!(!alive(), "process {number} was left behind");
}

fn descriptors_and_threads() -> (usize, usize) {
    let count = |folder: &str| fs::read_dir(folder).expect("procfs").count();
    (count("/proc/self/fd"), count("/proc/self/task"))
}

/// Alone in its process, so that no other test opens and closes meanwhile: run by name below.
#[test]
#[ignore = "run by sessions_leave_nothing_behind in a process of its own"]
fn alone_many_sessions() {
    let round = |topology| {
        for _ in 0..20 {
            let mut client = open(topology, AHEAD);
            prepare(&mut client);
            client.pipe().draw_vbo(&draw(), &RANGE, &[]).expect("recorded");
            client.close().expect("an orderly end");
        }
    };
    // The allocator reaches its level in the first of them.
    for topology in Topology::ALL.iter().chain(Topology::ALL) {
        round(*topology);
    }
    // A thread that has said its last word may take a moment to end.
    let settled = |least: (usize, usize)| {
        let deadline = Instant::now() + Duration::from_secs(5);
        let mut now = descriptors_and_threads();
        while now != least && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(10));
            now = now.min(descriptors_and_threads());
        }
        now
    };
    let before = settled((0, 0));
    let memory = common::resident("self");
    for _ in 0..4 {
        for topology in Topology::ALL {
            round(*topology);
        }
    }
    assert_eq!(settled(before), before);
    let grown = common::resident("self").saturating_sub(memory);
    assert!(grown < FLAT, "{grown} bytes more after 240 sessions, {memory} at first");
    // The negative control: a session that stays is seen by each of the three.
    let mut stays = open(Topology::Inproc, AHEAD);
    prepare(&mut stays);
    upload_much(&mut stays);
    let (descriptors, threads) = descriptors_and_threads();
    assert!(descriptors > before.0 && threads > before.1 && common::resident("self") > memory + FLAT);
}

/// Resident bytes that 240 sessions may add: less than 10 KiB each.
const FLAT: u64 = 2 << 20;

/// Touches as much of the stage as `FLAT` twice.
fn upload_much(client: &mut NullClient) {
    let pipe = client.pipe();
    let buffer = Handle::new(1, 1);
    let desc = ResourceDesc {
        resource: buffer,
        storage_kind: StorageKind::Buffer.raw() as u8,
        buf_size: 2 * FLAT,
        ..ResourceDesc::default()
    };
    pipe.resource_create(&desc).expect("recorded");
    let piece = pipe.max_piece();
    upload::buffer(pipe, buffer, 0, &vec![7; 2 * FLAT as usize], piece).expect("recorded");
}

#[test]
fn sessions_leave_nothing_behind() {
    let test = std::process::Command::new(std::env::current_exe().expect("this program"))
        .args(["--exact", "alone_many_sessions", "--ignored", "--test-threads=1"])
        .output()
        .expect("it runs");
    let text = String::from_utf8_lossy(&test.stdout);
    assert!(test.status.success() && text.contains("1 passed"), "{text}");
}

/// What a driver leaves to be done at the end of a thread, which takes its time.
struct Destructor(Arc<AtomicBool>);

impl Drop for Destructor {
    fn drop(&mut self) {
        std::thread::sleep(Duration::from_millis(200));
        self.0.store(true, Ordering::Release);
    }
}

thread_local! {
    static DESTRUCTOR: RefCell<Option<Destructor>> = const { RefCell::new(None) };
}

/// A program may exit as soon as its session is closed, and what a driver does then is not for two threads at once.
#[test]
fn a_session_that_is_lost_ends_behind_its_driver() {
    for hears in [false, true] {
        let gone = Arc::new(AtomicBool::new(false));
        let driver = Arc::clone(&gone);
        let make = move || {
            DESTRUCTOR.set(Some(Destructor(driver)));
            Ok(Null::default())
        };
        let config = config(Topology::Inproc, AHEAD, "null");
        let mut client = Client::open(&config, BackendKind::Null, make, Heard::default()).expect("a session");
        let info = DrawInfo { mode: 4, instance_count: 1, ..DrawInfo::default() };
        // There is no context.
        client.pipe().draw_vbo(&info, &[], &[]).expect("recorded");
        client.pipe().publish();
        let until = Instant::now() + Duration::from_secs(2);
        while hears && client.reason().is_none() && Instant::now() < until {
            let recorded = client.pipe().recorded();
            let _ = client.pipe().wait_for(Watermark::Applied, recorded, Patience::Sleep);
        }
        client.close().expect_err("the session is lost");
        assert!(gone.load(Ordering::Acquire), "known before: {hears}");
    }
}
