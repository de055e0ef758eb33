//! `bench sessions`: the same frames in one call, two threads and two processes.

use std::{
    fs,
    path::PathBuf,
    process::{Command, ExitCode},
    time::{Duration, Instant},
};

use runahead_linux::session::{Busy, Config, Topology};
use runahead_verify::{
    sessions::{Before, answers, busy_rate, median, open, steady, steady_then, threads},
    steady::Scene,
};
use serde_json::{Value, json};

use crate::report::{Case, Goal, Report};

const FRAME: &str = "sessions: a frame of 7,500 records";
const CALLS: &str = "sessions: system calls of such a frame";
const RECORD: &str = "sessions: recording to a file";
const BUSY: &str = "sessions: 3 us a draw on both sides";
const ANSWER: &str = "sessions: an answer";

/// First argument of a worker, whose system calls are counted.
pub const WORKER: &str = "session-worker";

fn config(topology: Topology) -> Config {
    Config { topology, ..Config::default() }
}

pub fn run(report: &mut Report, rounds: usize) -> Result<(), String> {
    if report.wants(FRAME) {
        frames(report, rounds)?;
    }
    if report.wants(CALLS) {
        system_calls(report, rounds)?;
    }
    if report.wants(BUSY) {
        busy(report, rounds)?;
    }
    if report.wants(RECORD) {
        recording(report, rounds)?;
    }
    if report.wants(ANSWER) {
        answer(report, rounds)?;
    }
    Ok(())
}

const fn case(bench: &'static str, unit: &'static str) -> Case<'static> {
    Case { bench, case: "", value: 0.0, unit, against: "", ratio: 0.0, goal: Goal::None }
}

fn frames(report: &mut Report, rounds: usize) -> Result<(), String> {
    const FRAMES: u64 = 200;
    let mut times = [(); 3].map(|()| Vec::new());
    let mut spawned = Vec::new();
    let mut others = [0; 2];
    for _ in 0..rounds {
        for (topology, times) in Topology::ALL.iter().zip(&mut times) {
            let cost = steady(&config(*topology), FRAMES)?;
            times.push(cost.frame_ms);
            match topology {
                Topology::Direct => {}
                Topology::Inproc => others[0] += cost.other_waits,
                Topology::Spawn => {
                    others[1] += cost.other_waits;
                    spawned.push(cost);
                }
            }
        }
    }
    // A slow spell of the machine covers the arms of one round alike, so the ratio is taken within it.
    let mut ratios: Vec<f64> = times[2].iter().zip(&times[1]).map(|(spawn, inproc)| spawn / inproc).collect();
    let [direct, inproc, spawn] = times.each_mut().map(|times| median(times));
    let row = case(FRAME, "ms");
    report.add(&Case { case: "direct", value: direct, ..row });
    report.add(&Case { case: "inproc", value: inproc, against: "direct", ratio: inproc / direct, ..row });
    report.add(&Case {
        case: "spawn",
        value: spawn,
        against: "inproc, a round",
        ratio: median(&mut ratios),
        goal: Goal::AtMost(1.05),
        ..row
    });
    let row = case(FRAME, "a frame");
    let of = |pick: fn(&runahead_verify::sessions::Steady) -> f64| {
        median(&mut spawned.iter().map(pick).collect::<Vec<f64>>())
    };
    let few = Goal::AtMost(2.0);
    let cases = [
        ("client wakes, spawn", of(|cost| cost.client_sleeps), few),
        ("server wakes, spawn", of(|cost| cost.server_sleeps), few),
        ("waits for the credit, spawn", of(|cost| cost.credit_waits), Goal::AtMost(1.0)),
    ];
    for (name, value, goal) in cases {
        report.add(&Case { case: name, value, goal, ..row });
    }
    for (name, waits) in [("other waits, inproc", others[0]), ("other waits, spawn", others[1])] {
        report.add(&Case { case: name, value: waits as f64, unit: "in all", goal: Goal::AtMost(0.0), ..row });
    }
    Ok(())
}

/// A worker's own main: so many frames, and which threads were whose.
pub fn worker(mut arguments: impl Iterator<Item = String>) -> ExitCode {
    let Some(frames) = arguments.next().and_then(|frames| frames.parse().ok()) else {
        return ExitCode::from(2);
    };
    let look = |client: &runahead_verify::sessions::Opened| {
        let server = client.process().map(runahead_linux::spawn::Process::number);
        json!({ "client": threads(std::process::id()), "server": server.map(threads) })
    };
    match steady_then(&config(Topology::Spawn), frames, look) {
        Ok((_, sides)) => {
            crate::report::say(&sides.to_string());
            ExitCode::SUCCESS
        }
        Err(error) => {
            crate::report::complain(&error);
            ExitCode::FAILURE
        }
    }
}

/// System calls of client and server in a session of so many frames, as strace counts them.
fn traced(frames: u64) -> Result<[f64; 2], String> {
    let own = std::env::current_exe().map_err(|error| format!("own path: {error}"))?;
    let folder = std::env::temp_dir().join(format!("runahead-calls-{}", std::process::id()));
    fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let trace = folder.join("trace");
    let output = Command::new("strace")
        .args(["-ff", "-qq", "-e", "signal=none", "-o"])
        .arg(&trace)
        .arg(own)
        .args([WORKER, &frames.to_string()])
        .output()
        .map_err(|error| format!("strace counts the system calls and cannot be started: {error}"))?;
    let sides: Value = serde_json::from_slice(&output.stdout)
        .map_err(|_| format!("the worker failed: {}", String::from_utf8_lossy(&output.stderr)))?;
    let calls = |side: &str| -> Result<f64, String> {
        let threads = sides[side].as_array().ok_or(format!("the worker has no {side}"))?;
        let mut calls = 0;
        for thread in threads {
            let file = trace.with_extension(thread.to_string());
            let lines = fs::read_to_string(&file).map_err(|error| format!("{}: {error}", file.display()))?;
            calls += lines.lines().count();
        }
        Ok(calls as f64)
    };
    let both = [calls("client")?, calls("server")?];
    // What is left behind in a folder for such things does no harm.
    let _ = fs::remove_dir_all(&folder);
    Ok(both)
}

fn system_calls(report: &mut Report, rounds: usize) -> Result<(), String> {
    const FEW: u64 = 50;
    const MANY: u64 = 250;
    let mut calls = [Vec::new(), Vec::new()];
    for _ in 0..rounds.min(3) {
        // Both open and end a session, so that the difference is the frames'.
        let (few, many) = (traced(FEW)?, traced(MANY)?);
        for ((calls, few), many) in calls.iter_mut().zip(few).zip(many) {
            calls.push((many - few) / (MANY - FEW) as f64);
        }
    }
    for (name, calls) in ["client, spawn", "server, spawn"].into_iter().zip(&mut calls) {
        let value = median(calls);
        report.add(&Case { case: name, value, goal: Goal::AtMost(4.0), ..case(CALLS, "a frame") });
    }
    Ok(())
}

fn busy(report: &mut Report, rounds: usize) -> Result<(), String> {
    const FRAMES: u64 = 30;
    let mut rates = [(); 3].map(|()| Vec::new());
    for _ in 0..rounds.min(5) {
        for (topology, rates) in Topology::ALL.iter().zip(&mut rates) {
            rates.push(busy_rate(&config(*topology), FRAMES)?);
        }
    }
    let [direct, inproc, spawn] = rates.each_mut().map(|rates| median(rates));
    let row = case(BUSY, "fps");
    report.add(&Case { case: "direct", value: direct, ..row });
    let goal = Goal::AtLeast(1.8);
    for (name, rate) in [("inproc", inproc), ("spawn", spawn)] {
        report.add(&Case { case: name, value: rate, against: "direct", ratio: rate / direct, goal, ..row });
    }
    Ok(())
}

/// Milliseconds a frame of a program that thinks for 3 us before each of 1,471 draws and stages 816 KB, those of its
/// thread's own time, and KiB of its recording.
fn recorded_frame(record: Option<PathBuf>) -> Result<[f64; 3], String> {
    const FRAMES: u64 = 60;
    // Once round the stages, whose pages are fresh before.
    const WARM: u64 = 60;
    let thinks = Busy::new(3_000 * 1_471);
    let mut client = open(&Config { record, ..config(Topology::Spawn) }, 0)?;
    let mut scene = Scene::new(client.pipe());
    let own_time = || {
        let now = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
        now.tv_sec as f64 * 1e3 + now.tv_nsec as f64 / 1e6
    };
    let (mut start, mut own) = (Instant::now(), own_time());
    for serial in 1..=WARM + FRAMES {
        if serial == WARM + 1 {
            (start, own) = (Instant::now(), own_time());
        }
        thinks.work();
        scene.frame(client.pipe(), serial);
    }
    let time = start.elapsed().as_secs_f64() * 1e3 / FRAMES as f64;
    let own = (own_time() - own) / FRAMES as f64;
    let summary = client.finish_recording().map_err(|error| error.to_string())?;
    client.close()?;
    Ok([time, own, summary.map_or(0.0, |summary| summary.bytes as f64 / 1024.0 / (WARM + FRAMES) as f64)])
}

fn recording(report: &mut Report, rounds: usize) -> Result<(), String> {
    let own = std::env::current_exe().map_err(|error| format!("own path: {error}"))?;
    let file = own.with_file_name(format!("bench-{}.rah", std::process::id()));
    let mut without = [(); 3].map(|()| Vec::new());
    let mut with = without.clone();
    for _ in 0..rounds.min(7) {
        for (record, figures) in [(None, &mut without), (Some(file.clone()), &mut with)] {
            for (figure, figures) in recorded_frame(record)?.into_iter().zip(figures) {
                figures.push(figure);
            }
        }
        fs::remove_file(&file).map_err(|error| format!("{}: {error}", file.display()))?;
    }
    let [time, own, _] = without.map(|mut figures| median(&mut figures));
    let [time_with, own_with, bytes] = with.map(|mut figures| median(&mut figures));
    let row = case(RECORD, "ms");
    let against = Case { against: "not recorded", ..row };
    report.add(&Case { case: "a frame, not recorded, spawn", value: time, ..row });
    let goal = Goal::AtMost(1.10);
    report.add(&Case {
        case: "a frame, recorded, spawn",
        value: time_with,
        ratio: time_with / time,
        goal,
        ..against
    });
    // The writer is a third thread: with the server it shares what cores there are.
    report.add(&Case { case: "its thread's own time, not recorded", value: own, ..row });
    report.add(&Case {
        case: "its thread's own time, recorded",
        value: own_with,
        ratio: own_with / own,
        ..against
    });
    report.add(&Case { case: "the file", value: bytes, ..case(RECORD, "KiB a frame") });
    Ok(())
}

fn answer(report: &mut Report, rounds: usize) -> Result<(), String> {
    let spawn = config(Topology::Spawn);
    let work = |microseconds| Before::Work(Duration::from_micros(microseconds));
    let kinds = [
        ("back to back, spawn", Before::Nothing, 5_000, Goal::AtMost(3.0)),
        // It looks for work for a while before it sleeps.
        ("server asleep for under 200 us, spawn", work(150), 500, Goal::AtMost(15.0)),
        (
            "the same, and the client sleeps, spawn",
            Before::Park(Duration::from_micros(150)),
            500,
            Goal::AtMost(16.0),
        ),
        // Past 200 us a virtual CPU is given back, and its wake costs two to four times as much.
        ("server asleep for 1 ms, spawn", work(1000), 500, Goal::None),
    ];
    let mut all = kinds.map(|_| (Vec::new(), Vec::new(), Vec::new()));
    for _ in 0..rounds.min(5) {
        for ((_, before, questions, _), (times, asleep, short)) in kinds.iter().zip(&mut all) {
            let found = answers(&spawn, *before, *questions)?;
            times.push(found.microseconds);
            asleep.push(found.asleep);
            short.push(found.short);
        }
    }
    for ((name, _, _, goal), (times, ..)) in kinds.iter().zip(&mut all) {
        report.add(&Case { case: name, value: median(times), goal: *goal, ..case(ANSWER, "us") });
    }
    // What makes the second row mean what it says.
    let [_, (_, under, short), ..] = &mut all;
    for (name, share) in [("found asleep for under 200 us", under), ("of these sleeps, below 256 us", short)]
    {
        report.add(&Case {
            case: name,
            value: median(share),
            goal: Goal::AtLeast(0.9),
            ..case(ANSWER, "share")
        });
    }
    Ok(())
}
