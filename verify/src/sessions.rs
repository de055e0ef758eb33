//! What sessions cost: the same frames, draws and questions on any topology. For the benches, and for `runahead bench`.
//!
//! Each function opens a session of its own as the configuration says, on a backend that draws nothing, and ends it.

use std::{
    fs,
    time::{Duration, Instant},
};

use runahead_core::{
    Counters, RecordError, Session, counters::Cause, link::Patience, reply_space, trace::Trace,
};
use runahead_linux::{
    control::message::{ContextAttributes, SurfaceOp},
    session::{Busy, Client, Config, Counting},
    spawn::Process,
};
use runahead_rings::{Status, Watermark};
use runahead_wire::{
    Handle,
    payload::{
        BindContext, BoundView, ContextValues, Present, ReadbackInfo, SamplerStates, SamplerViews, TexelBox,
    },
    pipe::Pipe,
    values::{BackendKind, PixelFormat, PixelType},
};

use crate::{
    fuzz::Nowhere,
    steady::{Scene, draw},
};

/// Frames before anything is measured: the first ones touch fresh memory, until both rings went round.
const WARM: u64 = 100;

/// A session on a backend that takes some time a draw.
pub type Opened = Client<Trace<Busy>, Nowhere>;

/// The middle one, or the mean of the two in the middle; the values are sorted by it.
///
/// # Panics
/// There is no value.
#[must_use]
pub fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    if values.len().is_multiple_of(2) {
        f64::midpoint(values[middle - 1], values[middle])
    } else {
        values[middle]
    }
}

/// Opens a session with a context and a surface, whose draws take so many nanoseconds.
///
/// # Errors
/// The sentence for the user.
pub fn open(config: &Config, draw_ns: u64) -> Result<Opened, String> {
    let arguments = vec!["--backend".into(), format!("busy={draw_ns}").into()];
    let config = Config { arguments, ..config.clone() };
    let make = move || Ok(Trace::new(Busy::new(draw_ns)));
    let mut client = Client::open(&config, BackendKind::Null, make, Nowhere::default())
        .map_err(|error| format!("no session was opened: {error}"))?;
    client.create_context(1, None, ContextAttributes::gles(3, 2)).map_err(|error| error.to_string())?;
    let pbuffer = SurfaceOp::CreatePbuffer { config: 0, width: 64, height: 64 };
    client.surface(1, pbuffer).map_err(|error| error.to_string())?;
    Ok(client)
}

fn text(error: RecordError) -> String {
    error.to_string()
}

/// Waits until everything is applied.
fn settle(client: &mut Opened) -> Result<(), String> {
    let last = client.pipe().recorded();
    client.pipe().wait_for(Watermark::Applied, last, Patience::Sleep).map_err(text)
}

/// Threads of a process, by their numbers.
#[must_use]
pub fn threads(process: u32) -> Vec<u32> {
    let Ok(threads) = fs::read_dir(format!("/proc/{process}/task")) else { return Vec::new() };
    threads.flatten().filter_map(|thread| thread.file_name().to_str()?.parse().ok()).collect()
}

/// Times that a process's threads went to sleep of their own accord, as the kernel counts them.
fn sleeps(process: u32) -> f64 {
    let of = |thread: u32| -> Option<f64> {
        let status = fs::read_to_string(format!("/proc/{process}/task/{thread}/status")).ok()?;
        status.lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:")?.trim().parse().ok())
    };
    threads(process).into_iter().filter_map(of).sum()
}

/// What steady frames cost.
#[derive(Clone, Copy, Debug)]
pub struct Steady {
    /// Milliseconds a frame, of both sides together.
    pub frame_ms: f64,
    /// Waits a frame for the present credit.
    pub credit_waits: f64,
    /// Waits of the client for anything else, in all.
    pub other_waits: u64,
    /// Sleeps a frame of the client's process, and so wake-ups.
    pub client_sleeps: f64,
    /// Of the server's process, where there is one.
    pub server_sleeps: f64,
    /// Threads of both processes.
    pub threads: (u32, u32),
}

/// Frames of 7,500 records, 1,471 draws and 816 KB.
///
/// # Errors
/// The sentence for the user.
pub fn steady(config: &Config, frames: u64) -> Result<Steady, String> {
    steady_then(config, frames, |_| {}).map(|(steady, ())| steady)
}

/// As [`steady`], with a look at the session before it ends.
///
/// # Errors
/// As [`steady`].
pub fn steady_then<T>(
    config: &Config,
    frames: u64,
    look: impl FnOnce(&Opened) -> T,
) -> Result<(Steady, T), String> {
    let mut client = open(config, 0)?;
    let own = std::process::id();
    let server = client.process().map(Process::number);
    let mut scene = Scene::new(client.pipe());
    for serial in 1..=WARM {
        scene.frame(client.pipe(), serial);
    }
    settle(&mut client)?;
    let (before, counted) = ((sleeps(own), server.map_or(0.0, sleeps)), client.counters());
    let start = Instant::now();
    for serial in WARM + 1..=WARM + frames {
        scene.frame(client.pipe(), serial);
    }
    // The wait for the end is not a frame's.
    let counted = client.counters().since(&counted);
    settle(&mut client)?;
    let time = start.elapsed().as_secs_f64() * 1e3;
    let slept = (sleeps(own) - before.0, server.map_or(0.0, sleeps) - before.1);
    let looked = look(&client);
    client.close()?;
    let a_frame = |all: f64| all / frames as f64;
    let steady = Steady {
        frame_ms: a_frame(time),
        credit_waits: a_frame(counted.credit_waits as f64),
        other_waits: others(&counted),
        client_sleeps: a_frame(slept.0),
        server_sleeps: a_frame(slept.1),
        threads: (own, server.unwrap_or(own)),
    };
    Ok((steady, looked))
}

/// Waits for anything but the credit.
fn others(counters: &Counters) -> u64 {
    let but_credit = Cause::ALL.iter().filter(|cause| **cause != Cause::Credit);
    but_credit.map(|cause| counters.of(*cause).0).sum()
}

/// Frames a second with 3,550 draws that cost both sides 3 microseconds each.
///
/// # Errors
/// The sentence for the user.
pub fn busy_rate(config: &Config, frames: u64) -> Result<f64, String> {
    const DRAW: u64 = 3_000;
    const DRAWS: u32 = 3_550;
    let mut client = open(config, DRAW)?;
    let pipe = client.pipe();
    pipe.bind_context(&BindContext { context: 1, draw_surface: 1, read_surface: 1 }).map_err(text)?;
    pipe.set_context_values(&ContextValues::default()).map_err(text)?;
    let one = SamplerViews { start: 0, count: 1 };
    pipe.set_sampler_views(&one, &[BoundView::default()]).map_err(text)?;
    pipe.bind_sampler_states(&SamplerStates { start: 0, count: 1 }, &[Handle::NULL]).map_err(text)?;
    let (mut info, ranges) = draw();
    info.index_size = 0;
    let cost = Busy::new(DRAW);
    let start = Instant::now();
    for serial in 1..=frames {
        for _ in 0..DRAWS {
            cost.work();
            pipe.draw_vbo(&info, &ranges, &[]).map_err(text)?;
        }
        pipe.present(&Present { frame_serial: serial, ..Present::default() }, &[]).map_err(text)?;
    }
    settle(&mut client)?;
    let rate = frames as f64 / start.elapsed().as_secs_f64();
    client.close()?;
    Ok(rate)
}

/// What the client does before each question.
#[derive(Clone, Copy, Debug)]
pub enum Before {
    /// Nothing: the server still looks for work.
    Nothing,
    /// It works for so long, and the server falls asleep.
    Work(Duration),
    /// The same, and it sleeps at once until the answer comes.
    Park(Duration),
    /// It sleeps for so long, and so does the server.
    Sleep(Duration),
}

/// How questions were answered.
#[derive(Clone, Copy, Debug)]
pub struct Answers {
    /// Microseconds from a question to its answer of one byte, the median.
    pub microseconds: f64,
    /// The share of questions that found the server asleep.
    pub asleep: f64,
    /// The share of its sleeps that lasted less than 256 microseconds.
    pub short: f64,
}

/// Asks for one byte, again and again.
///
/// # Errors
/// The sentence for the user.
pub fn answers(config: &Config, before: Before, questions: usize) -> Result<Answers, String> {
    let mut config = config.clone();
    config.diagnostics.counting = Counting::On;
    let mut client = open(&config, 0)?;
    let bind = BindContext { context: 1, draw_surface: 1, read_surface: 1 };
    client.pipe().bind_context(&bind).map_err(text)?;
    let read = ReadbackInfo {
        region: TexelBox { width: 1, height: 1, depth: 1, ..TexelBox::default() },
        format: PixelFormat::Red.raw(),
        pixel_type: PixelType::UnsignedByte.raw(),
        dst_size: 1,
        ..ReadbackInfo::default()
    };
    settle(&mut client)?;
    let counted = client.server_counters().unwrap_or_default();
    let mut times = Vec::new();
    for _ in 0..questions {
        match before {
            Before::Nothing => {}
            Before::Work(time) | Before::Park(time) => Busy::new(time.as_nanos() as u64).work(),
            Before::Sleep(time) => std::thread::sleep(time),
        }
        let pipe = client.pipe();
        let asked = pipe.ask(1).map_err(text)?;
        let start = Instant::now();
        pipe.read_pixels(&read, Some(reply_space(&asked))).map_err(text)?;
        let patience = if matches!(before, Before::Park(_)) { Patience::Sleep } else { Patience::Spin };
        let answer = pipe.wait_answer(&asked, patience).map_err(text)?;
        times.push(start.elapsed().as_secs_f64() * 1e6);
        if (answer.status, answer.size) != (Status::Ok, 1) {
            return Err(format!("no byte but {answer:?}"));
        }
        pipe.release(asked).map_err(|_| "an answer that came and did not".to_owned())?;
    }
    let counted = client.server_counters().unwrap_or_default().since(&counted);
    client.close()?;
    let (short, all): (u64, u64) = (counted.slept[..=8].iter().sum(), counted.slept.iter().sum());
    Ok(Answers {
        microseconds: median(&mut times),
        asleep: counted.of(Cause::Work).1 as f64 / questions as f64,
        short: short as f64 / all.max(1) as f64,
    })
}
