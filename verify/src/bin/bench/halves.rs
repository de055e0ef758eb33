//! `bench core`: what the two halves of the pipe cost, the tracker on one side and the applier on the other.

use std::{
    hint::black_box,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    thread,
};

use runahead_core::{
    Applier, Fault, Mode, Quota, Recorder, Server,
    link::{Bells, Link, Look, Patience, Rest},
    null::Null,
    trace::Method,
    tracker::Verb,
    wait::WaitState,
};
use runahead_linux::{doorbell::FutexDoorbell, storage::Heap};
use runahead_rings::{Memory, Pages, ReplyClient, Start, Watermark, client, server, session};
use runahead_verify::{
    fuzz::Nowhere,
    steady::{DRAWS, Scene},
};
use runahead_wire::{
    Handle,
    payload::BufferRange,
    pipe::{Encoder, Pipe},
    values::{CapsBits, ShaderBufferClass},
};

use crate::{
    instructions::Counted,
    report::{Case, Goal, Report},
    work::{median, on_processor, pin},
};

const INSTRUCTIONS: &str = "core: instructions";
const FRAME: &str = "core: a frame of 7,500 records";

pub fn run(report: &mut Report, rounds: usize) -> Result<(), String> {
    if report.wants(INSTRUCTIONS) {
        instructions(report)?;
    }
    if report.wants(FRAME) {
        frames(report, rounds);
    }
    Ok(())
}

/// A doorbell link that counts its waits.
#[derive(Debug)]
pub struct Counting {
    bells: Bells<'static, FutexDoorbell>,
    waits: Arc<AtomicU64>,
}

impl Link for Counting {
    #[inline]
    fn published(&mut self, rest: Rest) {
        self.bells.published(rest);
    }

    fn wait<T>(
        &mut self,
        patience: Patience,
        ready: impl FnMut() -> Result<Look<T>, Fault>,
    ) -> Result<T, Fault> {
        self.waits.fetch_add(1, Ordering::Relaxed);
        self.bells.wait(patience, ready)
    }
}

type Client = Encoder<Recorder<'static, Counting, Nowhere>>;
type Served = Server<'static, Counting, Null, Heap>;

/// Bytes of the command ring.
const COMMANDS: usize = 8 << 20;
/// Bytes of the stage.
const STAGE: usize = 32 << 20;

fn words(bytes: usize) -> &'static mut [u64] {
    Box::leak(vec![0; bytes / 8].into_boxed_slice())
}

fn counting(ends: (runahead_rings::Waiter<'static>, runahead_rings::Ringer<'static>)) -> Counting {
    Counting { bells: Bells::new(ends.1, ends.0, FutexDoorbell, 200), waits: Arc::default() }
}

/// Both roles of a session, which lasts as long as the program.
fn halves() -> (Client, Served) {
    let memory = Memory {
        commands: words(COMMANDS),
        stage: words(STAGE),
        replies: words(1 << 20),
        events: words(1 << 18),
        record: words(COMMANDS / 2),
        event: words(1 << 16),
        bookkeeping: Box::leak(vec![0; ReplyClient::bookkeeping(1 << 20)].into_boxed_slice()),
    };
    let pages = Box::leak(Box::new(Pages::new(Start::default())));
    let (client, server): ((client::Rings<'_>, _), (server::Rings<'_>, _)) =
        session(memory, pages).expect("powers of two");
    let caps = CapsBits::RUN_AHEAD_APPLY | CapsBits::BACKEND_OWNS_XFB_CAPTURE;
    let mode = Mode { waits: WaitState::new(caps, true), credit: 1 };
    let recorder = Recorder::new(client.0, counting(client.1), Nowhere::default(), mode);
    let server = Server::new(server.0, counting(server.1), |outlet| {
        let mut applier = Applier::new(Null::default(), outlet, Quota::default(), 0);
        applier.create_context(1, None).expect("a context");
        applier.create_surface(1).expect("a surface");
        applier
    });
    (Encoder(recorder), server)
}

/// A draw with nothing changed.
#[inline(never)]
pub fn tracked_draw(scene: &mut Scene, pipe: &mut Client) {
    if scene.tracker.sync(Verb::Draw, pipe, &mut scene.slots).is_err()
        || pipe.draw_vbo(black_box(&scene.info), black_box(&scene.ranges), &[]).is_err()
    {
        panic!("a draw was not recorded");
    }
}

/// A draw with one uniform buffer rebound.
#[inline(never)]
pub fn rebound_draw(scene: &mut Scene, pipe: &mut Client, offset: u64) {
    let range = BufferRange { resource: Handle::new(1, 1), offset: offset * 256, size: 256 };
    let window = scene.tracker.shader_buffers(ShaderBufferClass::Uniform);
    if !window.buffers.set(0, &[range]) {
        panic!("a window of one");
    }
    tracked_draw(scene, pipe);
}

/// A draw with 64 bytes of the default uniform block changed.
#[inline(never)]
pub fn uniform_draw(scene: &mut Scene, pipe: &mut Client, value: u64) {
    if !scene.constants.set(128, &[value as u8 | 1; 64]) || scene.constants.emit(pipe, scene.program).is_err()
    {
        panic!("constants were not recorded");
    }
    tracked_draw(scene, pipe);
}

/// A server's loop over everything that is published.
#[inline(never)]
pub fn apply_all(server: &mut Served) -> u32 {
    match server.run(u32::MAX, || 0) {
        Ok(applied) => applied,
        Err(fault) => panic!("{fault}"),
    }
}

/// Runs one of the counted functions `records` times a lap.
pub fn work(function: Counted, laps: usize, draws: u64) {
    let (mut pipe, mut server) = halves();
    let mut scene = Scene::new(&mut pipe);
    pipe.0.publish();
    while apply_the_rest(&mut server) != 0 {}
    for lap in 0..laps as u64 {
        let before = pipe.0.recorded();
        for at in 0..draws {
            match function {
                Counted::RebindAndDraw => rebound_draw(&mut scene, &mut pipe, lap * draws + at),
                Counted::SetUniformsAndDraw => uniform_draw(&mut scene, &mut pipe, at * 2),
                _ => tracked_draw(&mut scene, &mut pipe),
            }
        }
        let recorded = pipe.0.recorded() - before;
        let a_draw =
            if matches!(function, Counted::RebindAndDraw | Counted::SetUniformsAndDraw) { 2 } else { 1 };
        // The same bytes twice are no change, so one uniform draw of two may be alone.
        let exact = recorded == draws * a_draw;
        assert!(
            exact || matches!(function, Counted::SetUniformsAndDraw),
            "{recorded} records of {draws} draws"
        );
        pipe.0.publish();
        let applied = match function {
            Counted::ApplyDraws => apply_all(&mut server),
            _ => apply_the_rest(&mut server),
        };
        assert!(u64::from(applied) == recorded, "{applied} of {recorded} records were applied");
    }
}

/// As [`apply_all`], and not counted.
#[inline(never)]
fn apply_the_rest(server: &mut Served) -> u32 {
    server.run(u32::MAX, || 0).expect("no fault")
}

fn instructions(report: &mut Report) -> Result<(), String> {
    let case = Case {
        bench: INSTRUCTIONS,
        case: "",
        value: 0.0,
        unit: "instr",
        against: "",
        ratio: 0.0,
        goal: Goal::None,
    };
    for (name, function, goal) in [
        ("draw, nothing changed: one record", Counted::TrackAndDraw, Goal::AtMost(100.0)),
        ("draw, a uniform buffer rebound: two records", Counted::RebindAndDraw, Goal::None),
        ("draw, 64 bytes of uniforms set: two records", Counted::SetUniformsAndDraw, Goal::None),
        ("steady draw, decode and apply to null", Counted::ApplyDraws, Goal::AtMost(220.0)),
    ] {
        report.add(&Case { case: name, value: function.count()?, goal, ..case });
    }
    Ok(())
}

/// What some frames cost.
struct Cost {
    client: f64,
    server: f64,
    client_waits: f64,
    records: u64,
    draws: u64,
}

fn run_frames(frames: u64) -> Cost {
    let (mut pipe, mut server) = halves();
    let waits = Arc::clone(&pipe.0.link().waits);
    let serving = thread::spawn(move || {
        pin(1);
        loop {
            match server.run(u32::MAX, || 0) {
                Ok(0) => {
                    if server.wait(Patience::Sleep, || false).is_err() {
                        break;
                    }
                }
                Ok(_) => {}
                Err(fault) => panic!("{fault}"),
            }
        }
        let spent = on_processor().as_secs_f64();
        (spent, server.finish().expect("nothing owed").listener.of(Method::Draw))
    });
    pin(0);
    let mut scene = Scene::new(&mut pipe);
    // The first frames touch fresh memory, until both rings went round.
    let warm = 100;
    for serial in 1..=warm {
        scene.frame(&mut pipe, serial);
    }
    let (before, waited, start) = (pipe.0.recorded(), waits.load(Ordering::Relaxed), on_processor());
    for serial in warm + 1..=warm + frames {
        scene.frame(&mut pipe, serial);
    }
    let client = (on_processor() - start).as_secs_f64();
    let records = pipe.0.recorded() - before;
    let client_waits = (waits.load(Ordering::Relaxed) - waited) as f64 / frames as f64;
    let last = pipe.0.recorded();
    pipe.0.wait_for(Watermark::Applied, last, Patience::Sleep).expect("applied");
    pipe.0.link().bells.close();
    let (server, draws) = serving.join().expect("the server ends well");
    // The server's share has the first frames in it.
    let (client, server) = (client * 1e3 / frames as f64, server * 1e3 / (warm + frames) as f64);
    Cost { client, server, client_waits, records: records / frames, draws }
}

fn frames(report: &mut Report, rounds: usize) {
    const FRAMES: u64 = 100;
    let (mut client, mut server, mut waits) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..rounds {
        let cost = run_frames(FRAMES);
        assert!(cost.records == 7_500, "{} records a frame", cost.records);
        assert!(cost.draws > FRAMES * u64::from(DRAWS), "{} draws arrived", cost.draws);
        client.push(cost.client);
        server.push(cost.server);
        waits.push(cost.client_waits);
    }
    let case =
        Case { bench: FRAME, case: "", value: 0.0, unit: "ms", against: "", ratio: 0.0, goal: Goal::None };
    let guide = Goal::AtMost(0.5);
    report.add(&Case { case: "client thread", value: median(&mut client), goal: guide, ..case });
    report.add(&Case {
        case: "server thread, null backend",
        value: median(&mut server),
        goal: guide,
        ..case
    });
    let one = Goal::AtMost(1.0);
    report.add(&Case {
        case: "waits, the credit's",
        value: median(&mut waits),
        unit: "a frame",
        goal: one,
        ..case
    });
}
