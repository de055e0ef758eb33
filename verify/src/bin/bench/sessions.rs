//! `bench sessions`: the same frames in one call, two threads and two processes.

use std::{
    fs,
    path::PathBuf,
    time::{Duration, Instant},
};

use runahead_core::{Session, link::Patience, reply_space, trace::Trace};
use runahead_linux::{
    control::message::{Api, ContextAttributes, Doorbell, Priority, ResetStrategy, Sizes, SurfaceOp, Terms},
    session::{Busy, Client, Config, Topology, Wanted},
};
use runahead_rings::Watermark;
use runahead_verify::fuzz::Nowhere;
use runahead_wire::{
    Handle,
    payload::{BindContext, BoundView, CapsRequest, ContextValues, Present, SamplerStates, SamplerViews},
    pipe::Pipe,
    values::BackendKind,
};

use crate::{
    halves::Scene,
    instructions::draw,
    report::{Case, Goal, Report},
    work::median,
};

const FRAME: &str = "sessions: a frame of 7,500 records";
const BUSY: &str = "sessions: 3 us a draw on both sides";
const ANSWER: &str = "sessions: an answer";

type Opened = Client<Trace<Busy>, Nowhere>;

/// The server program beside this one.
fn server() -> Result<PathBuf, String> {
    let own = std::env::current_exe().map_err(|error| format!("own path: {error}"))?;
    let server = own.with_file_name("runahead-server");
    if server.exists() { Ok(server) } else { Err(format!("{} is not built", server.display())) }
}

fn open(topology: Topology, draw_ns: u64) -> Result<Opened, String> {
    let config = Config {
        topology,
        server: Some(server()?),
        arguments: vec!["--backend".into(), format!("busy={draw_ns}").into()],
        wanted: Wanted(Terms {
            sizes: Sizes::default(),
            credit: 0,
            run_ahead: true,
            doorbell: Doorbell::Futex,
        }),
        ..Config::default()
    };
    let make = move || Ok(Trace::new(Busy::new(draw_ns)));
    let mut client = Client::open(&config, BackendKind::Null, make, Nowhere::default())
        .map_err(|error| error.to_string())?;
    let attributes = ContextAttributes {
        api: Api::Gles,
        major: 3,
        minor: 2,
        config: 0,
        debug: false,
        forward_compatible: false,
        robust: false,
        no_error: false,
        reset: ResetStrategy::NoNotification,
        priority: Priority::Medium,
    };
    client.create_context(1, None, attributes).map_err(|error| error.to_string())?;
    let pbuffer = SurfaceOp::CreatePbuffer { config: 0, width: 64, height: 64 };
    client.surface(1, pbuffer).map_err(|error| error.to_string())?;
    Ok(client)
}

pub fn run(report: &mut Report, rounds: usize) -> Result<(), String> {
    if report.wants(FRAME) {
        frames(report, rounds)?;
    }
    if report.wants(BUSY) {
        busy(report, rounds)?;
    }
    if report.wants(ANSWER) {
        answers(report, rounds)?;
    }
    Ok(())
}

/// Times that a process's threads went to sleep of their own accord.
fn sleeps(pid: u32) -> f64 {
    let Ok(threads) = fs::read_dir(format!("/proc/{pid}/task")) else { return 0.0 };
    let of = |status: String| -> Option<f64> {
        status.lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:")?.trim().parse().ok())
    };
    threads.flatten().filter_map(|thread| of(fs::read_to_string(thread.path().join("status")).ok()?)).sum()
}

/// Milliseconds a frame, and sleeps a frame of each side.
fn frame_cost(topology: Topology, frames: u64) -> Result<(f64, f64, f64), String> {
    let mut client = open(topology, 0)?;
    let own = std::process::id();
    let server = client.process().map(runahead_linux::spawn::Process::number);
    let mut scene = Scene::new(client.pipe());
    let warm = 100;
    for serial in 1..=warm {
        scene.frame(client.pipe(), serial);
    }
    let before = (sleeps(own), server.map_or(0.0, sleeps));
    let start = Instant::now();
    for serial in warm + 1..=warm + frames {
        scene.frame(client.pipe(), serial);
    }
    let last = client.pipe().recorded();
    let waited = client.pipe().wait_for(Watermark::Applied, last, Patience::Sleep);
    waited.map_err(|error| error.to_string())?;
    let time = start.elapsed().as_secs_f64() * 1e3 / frames as f64;
    let slept = (sleeps(own) - before.0, server.map_or(0.0, sleeps) - before.1);
    client.close()?;
    Ok((time, slept.0 / frames as f64, slept.1 / frames as f64))
}

fn frames(report: &mut Report, rounds: usize) -> Result<(), String> {
    const FRAMES: u64 = 200;
    let mut times = [(); 3].map(|()| Vec::new());
    let (mut client_sleeps, mut server_sleeps) = (Vec::new(), Vec::new());
    for _ in 0..rounds {
        for (topology, times) in Topology::ALL.iter().zip(&mut times) {
            let (time, client, server) = frame_cost(*topology, FRAMES)?;
            times.push(time);
            if *topology == Topology::Spawn {
                client_sleeps.push(client);
                server_sleeps.push(server);
            }
        }
    }
    let [direct, inproc, spawn] = times.each_mut().map(|times| median(times));
    let case =
        Case { bench: FRAME, case: "", value: 0.0, unit: "ms", against: "", ratio: 0.0, goal: Goal::None };
    report.add(&Case { case: "direct", value: direct, ..case });
    report.add(&Case { case: "inproc", value: inproc, against: "direct", ratio: inproc / direct, ..case });
    let tie = Goal::AtMost(1.05);
    report.add(&Case {
        case: "spawn",
        value: spawn,
        against: "inproc",
        ratio: spawn / inproc,
        goal: tie,
        ..case
    });
    let few = Goal::AtMost(2.0);
    for (name, sleeps) in
        [("client goes to sleep", &mut client_sleeps), ("server goes to sleep", &mut server_sleeps)]
    {
        report.add(&Case { case: name, value: median(sleeps), unit: "a frame", goal: few, ..case });
    }
    Ok(())
}

/// Frames a second with 3,550 draws that cost both sides the same.
fn busy_rate(topology: Topology, frames: u64) -> Result<f64, String> {
    const DRAW: u64 = 3_000;
    const DRAWS: u32 = 3_550;
    let mut client = open(topology, DRAW)?;
    let pipe = client.pipe();
    let failed = |error: runahead_core::RecordError| error.to_string();
    pipe.bind_context(&BindContext { context: 1, draw_surface: 1, read_surface: 1 }).map_err(failed)?;
    pipe.set_context_values(&ContextValues::default()).map_err(failed)?;
    let one = SamplerViews { start: 0, count: 1 };
    pipe.set_sampler_views(&one, &[BoundView::default()]).map_err(failed)?;
    pipe.bind_sampler_states(&SamplerStates { start: 0, count: 1 }, &[Handle::NULL]).map_err(failed)?;
    let (mut info, ranges) = draw();
    info.index_size = 0;
    let cost = Busy::new(DRAW);
    let start = Instant::now();
    for serial in 1..=frames {
        for _ in 0..DRAWS {
            cost.work();
            pipe.draw_vbo(&info, &ranges, &[]).map_err(failed)?;
        }
        let present = Present { frame_serial: serial, ..Present::default() };
        pipe.present(&present, &[]).map_err(failed)?;
    }
    let last = pipe.recorded();
    pipe.wait_for(Watermark::Applied, last, Patience::Sleep).map_err(failed)?;
    let rate = frames as f64 / start.elapsed().as_secs_f64();
    client.close()?;
    Ok(rate)
}

fn busy(report: &mut Report, rounds: usize) -> Result<(), String> {
    const FRAMES: u64 = 30;
    let mut rates = [(); 3].map(|()| Vec::new());
    for _ in 0..rounds.min(5) {
        for (topology, rates) in Topology::ALL.iter().zip(&mut rates) {
            rates.push(busy_rate(*topology, FRAMES)?);
        }
    }
    let [direct, inproc, spawn] = rates.each_mut().map(|rates| median(rates));
    let case =
        Case { bench: BUSY, case: "", value: 0.0, unit: "fps", against: "", ratio: 0.0, goal: Goal::None };
    report.add(&Case { case: "direct", value: direct, ..case });
    let goal = Goal::AtLeast(1.8);
    for (name, rate) in [("inproc", inproc), ("spawn", spawn)] {
        report.add(&Case { case: name, value: rate, against: "direct", ratio: rate / direct, goal, ..case });
    }
    Ok(())
}

/// Microseconds from a question to its answer, with the server given so long to fall asleep before each.
fn answer_time(topology: Topology, rest: Duration, questions: usize) -> Result<f64, String> {
    let mut client = open(topology, 0)?;
    let pipe = client.pipe();
    let failed = |error: runahead_core::RecordError| error.to_string();
    let mut times = Vec::new();
    for _ in 0..questions {
        if !rest.is_zero() {
            std::thread::sleep(rest);
        }
        let asked = pipe.ask(64).map_err(failed)?;
        let start = Instant::now();
        // Nothing changed: the shortest answer that there is.
        pipe.get_caps(&CapsRequest { generation: 1 }, Some(reply_space(&asked))).map_err(failed)?;
        pipe.wait_answer(&asked, Patience::Spin).map_err(failed)?;
        times.push(start.elapsed().as_secs_f64() * 1e6);
        pipe.release(asked).map_err(|_| "an answer that came and did not".to_owned())?;
    }
    client.close()?;
    Ok(median(&mut times))
}

fn answers(report: &mut Report, rounds: usize) -> Result<(), String> {
    let (mut awake, mut asleep) = (Vec::new(), Vec::new());
    for _ in 0..rounds.min(5) {
        awake.push(answer_time(Topology::Spawn, Duration::ZERO, 5_000)?);
        asleep.push(answer_time(Topology::Spawn, Duration::from_micros(500), 500)?);
    }
    let case =
        Case { bench: ANSWER, case: "", value: 0.0, unit: "us", against: "", ratio: 0.0, goal: Goal::None };
    let (back_to_back, parked) = (Goal::AtMost(3.0), Goal::AtMost(16.0));
    report.add(&Case { case: "back to back, spawn", value: median(&mut awake), goal: back_to_back, ..case });
    report.add(&Case { case: "server asleep, spawn", value: median(&mut asleep), goal: parked, ..case });
    Ok(())
}
