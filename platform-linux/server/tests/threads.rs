//! A session that several threads of a program use: each draws what it would draw alone, nobody waits for another's
//! wait, and one that panics ends the session for all.

use std::{
    fs,
    path::PathBuf,
    sync::{
        Arc, Barrier, Mutex,
        atomic::{AtomicU64, Ordering},
        mpsc,
    },
    thread,
    time::{Duration, Instant},
};

use runahead_core::{
    Fault, RecordError, Session, Shared, Silence,
    link::Patience,
    pace::Distance,
    reply_space,
    slots::Band,
    trace::{Call, Listener, Trace},
    tracker::{SyncError, Tracker, Verb},
    upload,
};
use runahead_linux::{
    control::message::{ContextAttributes, Doorbell, Sizes, SurfaceOp, Terms},
    session::{Client, Config, Counting, SharedClient, Topology, Wanted},
};
use runahead_rings::{Status, Watermark};
use runahead_wire::{
    Handle,
    payload::*,
    pipe::Pipe,
    values::{BackendKind, StorageKind},
};

mod common;

const PROGRAM: &str = env!("CARGO_BIN_EXE_runahead-server");

/// Longer than anything here takes unless it hangs.
const DEADLINE: Duration = Duration::from_secs(20);

fn config(topology: Topology, backend: &str) -> Config {
    let sizes = Sizes { commands: 64 << 10, stage: 256 << 10, replies: 64 << 10, events: 16 << 10 };
    Config {
        topology,
        server: Some(PROGRAM.into()),
        arguments: vec!["--backend".into(), backend.into()],
        wanted: Wanted(Terms { sizes, credit: 2, run_ahead: true, doorbell: Doorbell::Futex }),
        ..Config::default()
    }
}

/// Keeps calls as lines.
#[derive(Clone, Debug, Default)]
struct Lines(Arc<Mutex<String>>);

impl Listener for Lines {
    fn call(&mut self, call: &Call<'_>) {
        use std::fmt::Write;
        let _ = writeln!(self.0.lock().expect("no panic"), "{call}");
    }
}

type Traced = SharedClient<Trace<Lines>, Silence>;

fn open(config: &Config, lines: &Lines) -> Traced {
    let lines = lines.clone();
    let make = move || Ok(Trace::new(lines));
    SharedClient::new(Client::open(config, BackendKind::Null, make, Silence).expect("a session"))
}

/// A context with a surface, both of this number, in a share group of its own.
fn context(session: &Traced, number: u64) -> BindContext {
    session.create_context(number, None, ContextAttributes::gles(3, 2)).expect("a context");
    session
        .surface(number, SurfaceOp::CreatePbuffer { config: 0, width: 64, height: 64 })
        .expect("a surface");
    BindContext { context: number, draw_surface: number, read_surface: number }
}

const RANGE: [DrawRange; 1] = [DrawRange { start: 0, count: 3, index_bias: 0 }];

fn draw(number: u64) -> DrawInfo {
    DrawInfo { mode: 4, instance_count: number as u32, num_draws: 1, ..DrawInfo::default() }
}

/// What a draw needs.
fn prepare(pipe: &mut impl Pipe<Error = RecordError>) -> Result<(), RecordError> {
    pipe.set_context_values(&ContextValues::default())?;
    pipe.set_sampler_views(&SamplerViews { start: 0, count: 1 }, &[BoundView::default()])?;
    pipe.bind_sampler_states(&SamplerStates { start: 0, count: 1 }, &[Handle::NULL])
}

/// Buffers, state, draws, waits and presents of one context; what is drawn names the context.
fn stream(session: &Traced, context: &BindContext, frames: u64) -> Result<(), RecordError> {
    let number = context.context;
    let mut tracker = Tracker::default();
    session.with(context, |turn| prepare(turn.pipe))??;
    for frame in 0..frames {
        let buffer = session.with(context, |turn| {
            let buffer = turn.slots.mint_with(Band::Buffer, 0, |resource| {
                turn.pipe.resource_create(&ResourceDesc {
                    resource,
                    storage_kind: StorageKind::Buffer.raw() as u8,
                    buf_size: 4096 * number,
                    ..ResourceDesc::default()
                })
            });
            let buffer = buffer.map_err(|_| RecordError::OutOfMemory)?;
            upload::buffer(turn.pipe, buffer, 0, &vec![number as u8; 3000], 1000)?;
            Ok::<_, RecordError>(buffer)
        })??;
        for draws in 0..5 {
            tracker.render_state().viewports[0].width = (frame * 7 + draws) as f32;
            session.with(context, |turn| {
                tracker.sync(Verb::Draw, turn.pipe, turn.slots).map_err(|error| match error {
                    SyncError::Mint(_) => RecordError::OutOfMemory,
                    SyncError::Pipe(error) => error,
                })?;
                turn.pipe.draw_vbo(&draw(number), &RANGE, &[])
            })??;
        }
        if frame % 16 == number {
            let pending = session.with(context, |turn| {
                let pending = turn.pipe.ask(0)?;
                let read = Readback { resource: buffer, offset: 0, size: 100 };
                turn.pipe.resource_readback(&read, Some(reply_space(&pending)))?;
                Ok::<_, RecordError>(pending)
            })??;
            assert_eq!(session.wait_answer(&pending, Patience::Spin)?.status, Status::Ok);
            session.with(context, |turn| turn.pipe.release(pending).expect("it came"))?;
        }
        if frame % 64 == number {
            session.finish(context)?;
        }
        // So that others come in between wherever there are few processors.
        thread::yield_now();
        session.with(context, |turn| {
            let object = HandleOnly {
                handle: buffer,
                kind: runahead_wire::handle::Kind::Buffer.raw(),
                ..HandleOnly::default()
            };
            turn.pipe.resource_destroy(&object)?;
            turn.slots.free(Band::Buffer, buffer).expect("a live slot");
            Ok::<_, RecordError>(())
        })??;
    }
    session.leave()
}

/// The lines of each of `contexts` contexts, without those that switch between them: whoever is bound is drawn to.
/// Objects are released whenever, those that are left with the session.
fn by_context(calls: &str, contexts: u64) -> Vec<String> {
    let mut each = vec![String::new(); contexts as usize + 1];
    let mut current = 0;
    for line in calls.lines() {
        if let Some(rest) = line.strip_prefix("bind_context ") {
            let number = rest.split(|c: char| !c.is_ascii_digit()).find(|text| !text.is_empty());
            current = number.and_then(|text| text.parse().ok()).expect("a context");
        } else if !line.starts_with("flush ") && !line.starts_with("release ") {
            each[current].push_str(line);
            each[current].push('\n');
        }
    }
    each
}

/// What a session of so many threads asked for.
fn calls(topology: Topology, threads: u64, frames: u64) -> String {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let name = format!("threads-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
    let file = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    let lines = Lines::default();
    let session = open(&config(topology, &format!("trace={}", file.display())), &lines);
    assert_eq!(session.process().is_some(), topology == Topology::Spawn, "another topology than asked for");
    let contexts: Vec<_> = (1..=threads).map(|number| context(&session, number)).collect();
    let start = Barrier::new(contexts.len());
    thread::scope(|scope| {
        for context in &contexts {
            scope.spawn(|| {
                start.wait();
                stream(&session, context, frames).expect("recorded");
            });
        }
    });
    session.close().expect("an orderly end");
    if topology == Topology::Spawn {
        let listing = fs::read_to_string(&file).expect("the server's listing");
        fs::remove_file(&file).expect("it is there");
        listing
    } else {
        std::mem::take(&mut *lines.0.lock().expect("no panic"))
    }
}

#[test]
fn each_thread_draws_what_it_would_draw_alone() {
    for topology in [Topology::Direct, Topology::Inproc, Topology::Spawn] {
        let alone = by_context(&calls(topology, 1, 200), 3);
        assert!(alone[1].lines().count() > 1500, "{} calls", alone[1].lines().count());
        let together = calls(topology, 3, 200);
        let switches = together.lines().filter(|line| line.starts_with("bind_context ")).count();
        assert!(switches > 6, "the threads did not meet: {switches} switches");
        let together = by_context(&together, 3);
        assert!(together[0].is_empty(), "calls of nobody: {}", together[0]);
        let lines = together[1].lines().zip(alone[1].lines());
        let differ = lines.enumerate().find(|(_, (together, alone))| together != alone);
        assert_eq!(differ, None, "{topology:?}: context 1 is drawn to in another way");
        assert_eq!(together[1].len(), alone[1].len(), "{topology:?}");
        for number in [2, 3] {
            // The same stream, which names its context where it draws and by how large its buffers are.
            assert_eq!(together[number].lines().count(), alone[1].lines().count(), "{topology:?}");
            assert!(together[number] != alone[1], "{topology:?}: drawn in the name of another");
        }
    }
}

/// Whether a thread records a thousand draws, and takes and gives back answers, while another one waits for what comes
/// only then; in the turn itself, or outside of it.
fn goes_on_beside_a_wait(topology: Topology, inside: bool) -> bool {
    let session = open(&config(topology, "null"), &Lines::default());
    let (one, other) = (context(&session, 1), context(&session, 2));
    let (waits, waiting) = mpsc::channel();
    let (drew, drawn) = mpsc::channel();
    let process = session.process();
    thread::scope(|scope| {
        let session = &session;
        scope.spawn(move || {
            let target = session.with(&one, |turn| turn.pipe.recorded() + 500).expect("recorded");
            waits.send(()).expect("somebody listens");
            let waited = if inside {
                let wait = |turn: &mut runahead_core::Turn<'_, _, _>| wait_inside(turn.pipe, target);
                session.with(&one, wait).and_then(|waited| waited)
            } else {
                session.wait_for(Watermark::Applied, target, Patience::Sleep)
            };
            assert_eq!(waited.is_err(), inside, "{waited:?}");
        });
        scope.spawn(move || {
            waiting.recv().expect("it says so");
            // It is asleep by now.
            thread::sleep(Duration::from_millis(100));
            for at in 0..1000 {
                let drawn = session.with(&other, |turn| {
                    if at == 0 {
                        prepare(turn.pipe)?;
                    }
                    turn.pipe.draw_vbo(&draw(1), &RANGE, &[])
                });
                if drawn.is_err() {
                    return;
                }
            }
            session.finish(&other).expect("done");
            drew.send(()).expect("somebody listens");
        });
        let in_time = drawn.recv_timeout(if inside { Duration::from_secs(1) } else { DEADLINE }).is_ok();
        if inside {
            // Nothing else ends that wait.
            let server = process.and_then(|number| rustix::process::Pid::from_raw(number as i32));
            rustix::process::kill_process(server.expect("a server"), rustix::process::Signal::KILL)
                .expect("ours");
        }
        in_time
    })
}

fn wait_inside(pipe: &mut impl Session, target: u64) -> Result<(), RecordError> {
    pipe.wait_for(Watermark::Applied, target, Patience::Sleep)
}

#[test]
fn a_wait_on_one_thread_delays_no_other() {
    for topology in [Topology::Inproc, Topology::Spawn] {
        assert!(goes_on_beside_a_wait(topology, false), "{topology:?}");
    }
}

#[test]
fn the_control_that_waits_in_its_turn_delays_the_other() {
    assert!(!goes_on_beside_a_wait(Topology::Spawn, true));
}

#[test]
fn requests_of_several_threads_take_turns() {
    for topology in [Topology::Direct, Topology::Inproc, Topology::Spawn] {
        let session = open(&config(topology, "null"), &Lines::default());
        thread::scope(|scope| {
            for first in [1, 1000, 2000] {
                let session = &session;
                scope.spawn(move || {
                    for number in first..first + 50 {
                        let context = context(session, number);
                        session.with(&context, |turn| prepare(turn.pipe)).expect("alive").expect("recorded");
                        session.leave().expect("alive");
                        session.surface(number, SurfaceOp::Destroy).expect("it was there");
                        session.destroy_context(number).expect("it was there");
                        // The negative control: an answer is this request's own.
                        assert!(session.destroy_context(number).is_err());
                    }
                });
            }
        });
        session.close().expect("an orderly end");
    }
}

#[test]
fn a_panic_in_a_turn_ends_the_session_for_all() {
    for topology in [Topology::Direct, Topology::Inproc, Topology::Spawn] {
        let session = open(&config(topology, "null"), &Lines::default());
        let (one, other) = (context(&session, 1), context(&session, 2));
        thread::scope(|scope| {
            let waits = scope.spawn(|| {
                let target = session.with(&other, |turn| turn.pipe.recorded() + 500).expect("recorded");
                session.wait_for(Watermark::Applied, target, Patience::Sleep)
            });
            thread::sleep(Duration::from_millis(50));
            let panics = scope.spawn(|| session.with(&one, |_| panic!("on purpose")));
            assert!(panics.join().is_err(), "no panic came through");
            let start = Instant::now();
            let waited = waits.join().expect("it did not panic");
            assert_eq!(waited, Err(RecordError::Lost(Fault::Panicked)), "{topology:?}");
            assert!(start.elapsed() < Duration::from_secs(5), "{topology:?}");
        });
        for context in [&one, &other] {
            assert_eq!(session.with(context, |_| ()), Err(RecordError::Lost(Fault::Panicked)));
            assert_eq!(session.present(context, &[]), Err(RecordError::Lost(Fault::Panicked)));
        }
        assert!(session.reason().expect("it is over").contains("Panicked"), "{:?}", session.reason());
    }
}

#[test]
fn threads_of_a_lost_session_hear_of_it_at_once() {
    let session = open(&config(Topology::Spawn, "null"), &Lines::default());
    let contexts: Vec<_> = (1..=3).map(|number| context(&session, number)).collect();
    let server = session.process().expect("a server");
    thread::scope(|scope| {
        let threads: Vec<_> = contexts
            .iter()
            .map(|context| {
                let session = &session;
                scope.spawn(move || {
                    loop {
                        if let Err(error) = stream(session, context, 50) {
                            return (error, Instant::now());
                        }
                    }
                })
            })
            .collect();
        thread::sleep(Duration::from_millis(100));
        let killed = Instant::now();
        let pid = rustix::process::Pid::from_raw(server as i32).expect("a number");
        rustix::process::kill_process(pid, rustix::process::Signal::KILL).expect("ours");
        for thread in threads {
            let (error, when) = thread.join().expect("no panic");
            assert_eq!(error, RecordError::Lost(Fault::PeerGone));
            let late = when.duration_since(killed);
            assert!(late < Duration::from_millis(500), "noticed after {late:?}");
        }
    });
    assert!(session.close().is_err());
}

/// The most that a client which never presents was ahead of what a slow server had retired.
fn furthest(distance: Distance) -> u64 {
    let mut config = config(Topology::Spawn, "busy=100000");
    config.distance = distance;
    let session = open(&config, &Lines::default());
    let bound = context(&session, 1);
    session.with(&bound, |turn| prepare(turn.pipe)).expect("alive").expect("recorded");
    let mut most = 0;
    for _ in 0..500 {
        let ahead = session.with(&bound, |turn| {
            turn.pipe.draw_vbo(&draw(1), &RANGE, &[])?;
            turn.pipe.flush(&Flush::default())?;
            Ok::<_, RecordError>(turn.pipe.recorded() - turn.pipe.watermark(Watermark::Retired)?)
        });
        most = most.max(ahead.expect("alive").expect("recorded"));
    }
    session.close().expect("an orderly end");
    most
}

#[test]
fn a_client_that_never_presents_keeps_its_distance() {
    let flushes = 64;
    let near = furthest(Distance { records: 1 << 17, flushes });
    assert!(near <= 2 * flushes + 16, "{near} records ahead");
    // The control: nothing to keep it.
    let far = furthest(Distance { records: u64::MAX, flushes: u64::MAX });
    assert!(far > 4 * flushes, "{far} records ahead, without any distance");
}

#[test]
fn waits_of_threads_are_counted() {
    let mut config = config(Topology::Spawn, "busy=5000000");
    config.diagnostics.counting = Counting::On;
    let session = open(&config, &Lines::default());
    let bound = context(&session, 1);
    session.with(&bound, |turn| prepare(turn.pipe)).expect("alive").expect("recorded");
    for _ in 0..20 {
        session
            .with(&bound, |turn| turn.pipe.draw_vbo(&draw(1), &RANGE, &[]))
            .expect("alive")
            .expect("recorded");
        session.present(&bound, &[]).expect("presented");
    }
    let client = session.statistics().client;
    assert!(client.credit_waits >= 5 && client.credit_parks >= 5, "{client:?}");
    assert!(client.sleeps >= 5 && client.asleep_us > 500, "{client:?}");
    assert_eq!((client.presents, client.answer_waits, client.watermark_waits), (20, 0, 0), "{client:?}");
}
