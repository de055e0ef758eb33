//! `bench apps`: frames a second of programs off the shelf, on the system's driver and on Runahead.
//!
//! All arms run with the same settings of the C library's allocator, in every process: with the usual ones llvmpipe
//! gives memory back and asks for it again on every draw with a changed uniform, which costs several times the draw.

use std::{
    fs,
    path::Path,
    process::Command,
    time::{Duration, Instant},
};

use runahead_verify::apps::{Arm, Glmark2, Running, Scene, Screen, es2gears_fps, installation};

use crate::{
    report::{Case, Goal, Report},
    work::median,
};

const FPS: &str = "apps: 64 by 64 pixels";
const THREAD: &str = "apps: the program's own thread";

/// What the allocator of glibc is told in every process of every arm.
pub const MALLOC: [(&str, &str); 2] =
    [("MALLOC_MMAP_THRESHOLD_", "33554432"), ("MALLOC_TRIM_THRESHOLD_", "268435456")];

/// Seconds of one run.
const SECONDS: f64 = 2.0;

/// Of the system's frames a second.
const LEAST: f64 = 0.9;

pub fn run(report: &mut Report, rounds: usize) -> Result<(), String> {
    let (installation, screen) = (installation()?, Screen::start()?);
    if report.wants(FPS) {
        for scene in Scene::ALL {
            let once = |arm: Arm| {
                let glmark2 = Glmark2 { scene, side: Some(64), seconds: SECONDS };
                let mut command = glmark2.command(arm, &installation, &screen);
                command.envs(MALLOC);
                glmark2.fps(command)
            };
            compare(report, scene.name, rounds, once)?;
        }
        compare(report, "es2gears_x11, 300 by 300", rounds, |arm| {
            es2gears_fps(arm, &installation, &screen, &MALLOC)
        })?;
    }
    if report.wants(THREAD) {
        for scene in Scene::ALL {
            thread_time(report, scene, rounds, &installation, &screen)?;
        }
    }
    Ok(())
}

/// One program on every arm, in interleaved rounds.
fn compare(
    report: &mut Report,
    name: &str,
    rounds: usize,
    once: impl Fn(Arm) -> Result<f64, String>,
) -> Result<(), String> {
    let arms = Arm::all();
    let mut figures = vec![Vec::new(); arms.len()];
    for _ in 0..rounds {
        for (arm, figures) in arms.iter().zip(&mut figures) {
            figures.push(once(*arm)?);
        }
    }
    let medians: Vec<f64> = figures.iter_mut().map(|figures| median(figures)).collect();
    for (arm, fps) in arms.iter().zip(&medians) {
        let system = *arm == Arm::System;
        report.add(&Case {
            bench: FPS,
            case: &format!("{name}, {}", arm.name()),
            value: *fps,
            unit: "fps",
            against: if system { "" } else { "system" },
            ratio: fps / medians[0],
            goal: if system { Goal::None } else { Goal::AtLeast(LEAST) },
        });
    }
    Ok(())
}

/// Processor time that the program's first thread, which draws, takes for a frame: one draw in these scenes, two in
/// `texture` of some versions.
fn thread_time(
    report: &mut Report,
    scene: &Scene,
    rounds: usize,
    installation: &Path,
    screen: &Screen,
) -> Result<(), String> {
    let arms = Arm::all();
    let mut figures = vec![Vec::new(); arms.len()];
    for _ in 0..rounds.min(5) {
        for (arm, figures) in arms.iter().zip(&mut figures) {
            let glmark2 = Glmark2 { scene, side: Some(64), seconds: SECONDS };
            let mut command = glmark2.command(*arm, installation, screen);
            command.envs(MALLOC);
            let share = thread_share(&mut command)?;
            let mut again = glmark2.command(*arm, installation, screen);
            again.envs(MALLOC);
            figures.push(share / glmark2.fps(again)? * 1e6);
        }
    }
    for (arm, figures) in arms.iter().zip(&mut figures) {
        report.add(&Case {
            bench: THREAD,
            case: &format!("{}, {}", scene.name, arm.name()),
            value: median(figures),
            unit: "us a frame",
            against: "",
            ratio: 0.0,
            goal: Goal::None,
        });
    }
    Ok(())
}

/// Which share of a processor the first thread of glmark2 takes in the middle of its run.
fn thread_share(command: &mut Command) -> Result<f64, String> {
    let running = Running::start(command).map_err(|error| error.to_string())?;
    std::thread::sleep(Duration::from_secs_f64(SECONDS * 0.35));
    let process = find(running.process()).ok_or("glmark2-es2 does not run")?;
    let (start, before) = (Instant::now(), thread_seconds(process)?);
    std::thread::sleep(Duration::from_secs_f64(SECONDS * 0.4));
    let (took, after) = (start.elapsed(), thread_seconds(process)?);
    Ok((after - before) / took.as_secs_f64())
}

/// Processor time of a process's first thread, in seconds.
fn thread_seconds(process: u32) -> Result<f64, String> {
    let file = format!("/proc/{process}/task/{process}/schedstat");
    let text = fs::read_to_string(&file).map_err(|error| format!("{file}: {error}"))?;
    let nanoseconds = text.split_whitespace().next().and_then(|number| number.parse::<u64>().ok());
    nanoseconds.map(|nanoseconds| nanoseconds as f64 / 1e9).ok_or_else(|| format!("{file}: {text}"))
}

/// The process itself or, below `runahead run`, its child.
fn find(process: u32) -> Option<u32> {
    let name = fs::read_to_string(format!("/proc/{process}/comm")).ok()?;
    if name.trim_end() == "glmark2-es2" {
        return Some(process);
    }
    let children = fs::read_to_string(format!("/proc/{process}/task/{process}/children")).ok()?;
    children.split_whitespace().filter_map(|child| child.parse().ok()).find_map(find)
}
