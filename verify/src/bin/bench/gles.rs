//! `bench gles`: what applying costs on OpenGL ES, and what a renderer gains by it.
//!
//! All arms run with the same settings of the C library's allocator in every process, as those of `bench apps` do: the
//! bench starts itself again with them.

use std::{
    process::Command,
    time::{Duration, Instant},
};

use runahead_backend_gles::Gles;
use runahead_core::{RecordError, Session, link::Patience, upload};
use runahead_linux::{
    control::message::{ContextAttributes, SurfaceOp},
    native::gles::{self, Driver, WindowSystem},
    session::{Busy, Client, Config, Topology},
};
use runahead_rings::Watermark;
use runahead_verify::{
    fuzz::Nowhere,
    scenes::{Compiler, SIDE, Stage, StageError, Written},
};
use runahead_watch::skipping;
use runahead_wire::{
    Bulk, Handle,
    payload::{DrawInfo, DrawRange, GlobalConstants, Present},
    pipe::Pipe,
    values::{BackendKind, Topology as Primitives},
};

use crate::{
    apps::MALLOC,
    instructions::Counted,
    report::{Case, Goal, Report},
    work::{median, on_processor},
};

const APPLY: &str = "gles: a steady draw, over functions that return at once";
const FRAME: &str = "gles: 1,471 draws a frame with a uniform each";
const UPDATE: &str = "gles: 256 KiB of a buffer and a draw";

pub fn run(report: &mut Report, rounds: usize) -> Result<(), String> {
    if MALLOC.iter().any(|(name, value)| std::env::var(name).as_deref() != Ok(value)) {
        return again();
    }
    if report.wants(APPLY) {
        apply(report, rounds)?;
    }
    if report.wants(FRAME) {
        for triangle in [Triangle::Small, Triangle::Large] {
            frames(report, rounds.min(7), triangle)?;
        }
    }
    if report.wants(UPDATE) {
        updates(report, rounds.min(7))?;
    }
    Ok(())
}

fn text(error: StageError) -> String {
    error.to_string()
}

/// Starts this program once more, with the allocator set, in its place.
fn again() -> Result<(), String> {
    use std::os::unix::process::CommandExt;
    let own = std::env::current_exe().map_err(|error| format!("own path: {error}"))?;
    let error = Command::new(own).args(std::env::args_os().skip(1)).envs(MALLOC).exec();
    Err(format!("it does not start once more: {error}"))
}

type Opened = Client<Gles, Nowhere>;

/// Opens a session with a context and a pbuffer.
fn open(topology: Topology, watched: bool) -> Result<Opened, String> {
    let config =
        Config { topology, arguments: ["--backend", "gles"].map(Into::into).into(), ..Config::default() };
    let make = move || match watched {
        true => runahead_watch::open(&WindowSystem::Surfaceless, Driver::System),
        false => gles::open(&WindowSystem::Surfaceless, Driver::System),
    };
    let mut client = Client::open(&config, BackendKind::Gles, make, Nowhere::default())
        .map_err(|error| format!("no session was opened: {error}"))?;
    client.create_context(1, None, ContextAttributes::gles(3, 2)).map_err(|error| error.to_string())?;
    let config = client.configs().iter().find(|config| config.pbuffer && config.samples == 0);
    let config = config.ok_or("the driver has no pbuffer")?.id;
    let pbuffer = SurfaceOp::CreatePbuffer { config, width: SIDE, height: SIDE };
    client.surface(1, pbuffer).map_err(|error| error.to_string())?;
    Ok(client)
}

const VERTEX: &str = "
    attribute vec2 position;
    uniform vec4 place;
    void main() { gl_Position = vec4(position + place.xy, 0.0, 1.0); }
";
const FRAGMENT: &str = "
    precision highp float;
    void main() { gl_FragColor = vec4(1.0); }
";

/// A right triangle.
#[derive(Clone, Copy, Debug)]
enum Triangle {
    /// Of 4 by 4 pixels.
    Small,
    /// Of 32 by 32.
    Large,
}

impl Triangle {
    const fn pixels(self) -> u32 {
        match self {
            Self::Small => 4,
            Self::Large => 32,
        }
    }
}

/// A program, its uniform, and vertices.
struct Drawing {
    program: Handle,
    vertices: Handle,
    info: DrawInfo,
    ranges: [DrawRange; 1],
}

impl Drawing {
    /// Sets up what is drawn, and draws it once.
    fn new<P: Session>(stage: &mut Stage<'_, P>, pixels: u32, bytes: usize) -> Result<Self, String> {
        let side = pixels as f32 / SIDE as f32 * 2.0;
        let corners = [-1.0, -1.0, side - 1.0, -1.0, -1.0, side - 1.0_f32];
        let mut content = corners.iter().flat_map(|corner| corner.to_le_bytes()).collect::<Vec<u8>>();
        content.resize(content.len().max(bytes), 0);
        let vertices = stage.buffer(&content).map_err(text)?;
        let program = stage.program(VERTEX, FRAGMENT, &[("position", 0)], &[]).map_err(text)?;
        stage.vertices(vertices, &[(0, 2)]).map_err(text)?;
        stage.clear([0.0; 4]).map_err(text)?;
        stage.draw(Primitives::Triangles, 0, 3).map_err(text)?;
        let info = DrawInfo {
            mode: Primitives::Triangles.raw(),
            instance_count: 1,
            num_draws: 1,
            ..DrawInfo::default()
        };
        let ranges = [DrawRange { start: 0, count: 3, index_bias: 0 }];
        Ok(Self { program, vertices, info, ranges })
    }

    fn draw(&self, pipe: &mut impl Pipe<Error = RecordError>) -> Result<(), String> {
        pipe.draw_vbo(&self.info, &self.ranges, &[]).map_err(|error| error.to_string())
    }

    /// Puts the triangle at another place.
    fn move_to(&self, pipe: &mut impl Pipe<Error = RecordError>, place: u32) -> Result<(), String> {
        let constants = GlobalConstants { shader_cso: self.program, ..GlobalConstants::default() };
        let step = place as f32 / 4096.0;
        let bytes = [step, step, 0.0, 0.0].map(f32::to_le_bytes);
        pipe.set_global_constants(&constants, Bulk::Bytes(bytes.as_flattened()))
            .map_err(|error| error.to_string())
    }
}

fn settle(pipe: &mut impl Session) -> Result<(), String> {
    let last = pipe.recorded();
    pipe.wait_for(Watermark::Applied, last, Patience::Sleep).map_err(|error| error.to_string())
}

fn present(pipe: &mut impl Pipe<Error = RecordError>, serial: u64) -> Result<(), String> {
    let present = Present { frame_serial: serial, ..Present::default() };
    pipe.present(&present, &[]).map_err(|error| error.to_string())
}

/// What is counted: everything between a decoded draw and the driver.
#[inline(never)]
pub fn steady_draw(pipe: &mut impl Pipe<Error = RecordError>, info: &DrawInfo, ranges: &[DrawRange]) {
    if pipe.draw_vbo(info, ranges, &[]).is_err() {
        panic!("a draw was not applied");
    }
}

/// Opens a session whose applier is a call away, and draws in it without a driver. `clock` is not read where valgrind
/// runs, which has no vDSO to read it from.
///
/// # Errors
/// The sentence for the user.
pub fn apply_draws(draws: u64, clock: fn() -> Duration) -> Result<Duration, String> {
    let mut client = open(Topology::Direct, true)?;
    let compiler = Compiler::new(&client.caps());
    let pipe = client.pipe();
    let mut stage = Stage::new(pipe, &compiler, Written::default(), (1, 1)).map_err(text)?;
    let drawing = Drawing::new(&mut stage, Triangle::Small.pixels(), 0)?;
    let pipe = stage.pipe();
    for _ in 0..8 {
        drawing.draw(pipe)?;
    }
    let before = clock();
    skipping(|| {
        for _ in 0..draws {
            steady_draw(pipe, &drawing.info, &drawing.ranges);
        }
    });
    let time = clock() - before;
    client.close().map_err(|error| error.to_string())?;
    Ok(time)
}

const fn case(bench: &'static str, unit: &'static str) -> Case<'static> {
    Case { bench, case: "", value: 0.0, unit, against: "", ratio: 0.0, goal: Goal::None }
}

fn apply(report: &mut Report, rounds: usize) -> Result<(), String> {
    const DRAWS: u64 = 200_000;
    let mut times = Vec::new();
    for _ in 0..rounds {
        times.push(apply_draws(DRAWS, on_processor)?.as_secs_f64() * 1e9 / DRAWS as f64);
    }
    let (value, goal) = (median(&mut times), Goal::AtMost(150.0));
    report.add(&Case { case: "nothing changed", value, goal, ..case(APPLY, "ns") });
    let (value, goal) = (Counted::ApplyToGles.count()?, Goal::AtMost(500.0));
    report.add(&Case { case: "nothing changed", value, goal, ..case(APPLY, "instr") });
    Ok(())
}

/// Frames a second.
fn rate(topology: Topology, triangle: Triangle) -> Result<f64, String> {
    const DRAWS: u32 = 1_471;
    const WARM: u64 = 10;
    const FRAMES: u64 = 60;
    let mut client = open(topology, false)?;
    let compiler = Compiler::new(&client.caps());
    let mut stage = Stage::new(client.pipe(), &compiler, Written::default(), (1, 1)).map_err(text)?;
    let drawing = Drawing::new(&mut stage, triangle.pixels(), 0)?;
    let pipe = stage.pipe();
    let work = Busy::new(2_000);
    let mut start = Instant::now();
    for serial in 1..=WARM + FRAMES {
        if serial == WARM + 1 {
            settle(pipe)?;
            start = Instant::now();
        }
        for draw in 0..DRAWS {
            work.work();
            drawing.move_to(pipe, draw + serial as u32 % 2)?;
            drawing.draw(pipe)?;
        }
        present(pipe, serial)?;
    }
    settle(pipe)?;
    let rate = FRAMES as f64 / start.elapsed().as_secs_f64();
    client.close().map_err(|error| error.to_string())?;
    Ok(rate)
}

fn frames(report: &mut Report, rounds: usize, triangle: Triangle) -> Result<(), String> {
    let mut rates = [(); 3].map(|()| Vec::new());
    for _ in 0..rounds {
        for (topology, rates) in Topology::ALL.iter().zip(&mut rates) {
            rates.push(rate(*topology, triangle)?);
        }
    }
    let [direct, inproc, spawn] = rates.each_mut().map(|rates| median(rates));
    let (side, least) = match triangle {
        Triangle::Small => (triangle.pixels(), 1.3),
        Triangle::Large => (triangle.pixels(), 0.9),
    };
    let row = case(FRAME, "fps");
    let name = |topology: &str| format!("{side} by {side} pixels, {topology}");
    report.add(&Case { case: &name("direct"), value: direct, ..row });
    let (ratio, goal) = (inproc / direct, Goal::AtLeast(least));
    report.add(&Case { case: &name("inproc"), value: inproc, against: "direct", ratio, goal, ..row });
    let (ratio, goal) = (spawn / inproc, Goal::AtLeast(0.97));
    report.add(&Case { case: &name("spawn"), value: spawn, against: "inproc", ratio, goal, ..row });
    Ok(())
}

/// Bytes of an update.
const BYTES: usize = 256 << 10;

/// Microseconds of the client's thread for an update and a draw.
fn update(topology: Topology) -> Result<f64, String> {
    // Once round the stage, whose pages are fresh before.
    const WARM: u64 = 200;
    const UPDATES: u64 = 400;
    let mut client = open(topology, false)?;
    let compiler = Compiler::new(&client.caps());
    let mut stage = Stage::new(client.pipe(), &compiler, Written::default(), (1, 1)).map_err(text)?;
    let drawing = Drawing::new(&mut stage, Triangle::Small.pixels(), BYTES)?;
    let pipe = stage.pipe();
    let piece = pipe.max_piece();
    let mut content = vec![0; BYTES];
    let mut spent = Duration::ZERO;
    for serial in 1..=WARM + UPDATES {
        content[BYTES - 1] = serial as u8;
        let before = on_processor();
        upload::buffer(pipe, drawing.vertices, 0, &content, piece).map_err(|error| error.to_string())?;
        drawing.draw(pipe)?;
        present(pipe, serial)?;
        if serial > WARM {
            spent += on_processor() - before;
        }
    }
    settle(pipe)?;
    client.close().map_err(|error| error.to_string())?;
    Ok(spent.as_secs_f64() * 1e6 / UPDATES as f64)
}

/// Microseconds of a copy into the next place of 32 MiB that were touched before.
fn copy() -> f64 {
    const ROOM: usize = 32 << 20;
    const COPIES: usize = 400;
    let content = vec![1_u8; BYTES];
    let mut room = vec![1_u8; ROOM];
    let before = on_processor();
    for at in 0..COPIES {
        let place = at * BYTES % ROOM;
        room[place..place + BYTES].copy_from_slice(std::hint::black_box(&content));
        std::hint::black_box(&mut room);
    }
    (on_processor() - before).as_secs_f64() * 1e6 / COPIES as f64
}

fn updates(report: &mut Report, rounds: usize) -> Result<(), String> {
    let mut copies = Vec::new();
    let mut figures = [(); 3].map(|()| Vec::new());
    for _ in 0..rounds {
        copies.push(copy());
        for (topology, figures) in Topology::ALL.iter().zip(&mut figures) {
            figures.push(update(*topology)?);
        }
    }
    let row = case(UPDATE, "us");
    let copied = median(&mut copies);
    report.add(&Case { case: "the copy alone, into a rotating 32 MiB", value: copied, ..row });
    for (topology, figures) in Topology::ALL.iter().zip(&mut figures) {
        let value = median(figures);
        // A call away, the driver's own work is in it.
        let goal = if *topology == Topology::Direct { Goal::None } else { Goal::AtMost(1.5) };
        let name = format!("the client's thread, {}", topology.name());
        report.add(&Case { case: &name, value, against: "the copy", ratio: value / copied, goal, ..row });
    }
    Ok(())
}
