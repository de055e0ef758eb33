//! How long frames take.

use std::{
    fs,
    io::Write,
    time::{Duration, Instant},
};

use runahead_core::Silence;
use runahead_linux::{
    capture::{Capture, Player, replay::Nobody},
    session::{Client, Config, Native},
};
use serde_json::json;

use super::{Backend, Replay, open};

/// One run.
#[derive(Clone, Debug)]
struct Round {
    /// Milliseconds of each frame, in order.
    frames: Vec<f64>,
    /// Milliseconds of CPU: of the thread that plays, and of everything on the server's side.
    cpu: [Option<f64>; 2],
    /// Peak of resident KiB: of this process, and of the server's.
    peak: [Option<u64>; 2],
}

/// The value of rank `ceil(p / 100 * n)`, from 1: always one that was measured.
fn percentile(sorted: &[f64], p: f64) -> f64 {
    let rank = (p / 100.0 * sorted.len() as f64).ceil().max(1.0) as usize;
    sorted.get(rank.min(sorted.len()).saturating_sub(1)).copied().unwrap_or(f64::NAN)
}

fn sorted(values: &[f64]) -> Vec<f64> {
    let mut values = values.to_vec();
    values.sort_by(f64::total_cmp);
    values
}

/// Nanoseconds that a thread has run.
fn ran(task: &str) -> Option<u64> {
    fs::read_to_string(format!("{task}/schedstat")).ok()?.split(' ').next()?.parse().ok()
}

/// Nanoseconds that the threads of a process have run, less one thread.
fn ran_in(process: &str, less: Option<u32>) -> Option<u64> {
    let tasks = fs::read_dir(format!("/proc/{process}/task")).ok()?;
    let others = tasks.flatten().filter(|task| {
        less.is_none_or(|less| task.file_name().to_str().is_none_or(|name| name != less.to_string()))
    });
    others.map(|task| ran(task.path().to_str()?)).sum()
}

/// The peak of resident KiB.
fn peak(process: &str) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().strip_suffix(" kB")?.trim().parse().ok()
}

/// Nanoseconds that both roles have run: this thread, and the other threads of this process or the server's process.
fn cpu<B: Native + 'static>(client: &Client<B, Silence>) -> [Option<u64>; 2] {
    let own = rustix::thread::gettid().as_raw_nonzero().get() as u32;
    let server = match client.process() {
        Some(process) => ran_in(&process.number().to_string(), None),
        None => ran_in("self", Some(own)),
    };
    [ran(&format!("/proc/self/task/{own}")), server]
}

fn round<B: Native + Send + Sync + 'static>(
    replay: &Replay,
    config: &Config,
    backend: &Backend,
    make: impl FnOnce() -> Result<B, String> + Send + 'static,
) -> Result<Round, String> {
    let told = |error: &dyn std::fmt::Display| format!("{}: {error}", replay.file.display());
    let capture = Capture::open(&replay.file).map_err(|error| told(&error))?;
    let mut player = Player::new(capture);
    let all = player.capture().frames();
    if all == 0 {
        return Err(told(&"the capture has no whole frame to measure"));
    }
    let frames = replay.frames.clone().unwrap_or(0..=all - 1);
    let mut client = open(config, &player, backend.kind(), make)?;
    if let Some(before) = frames.start().checked_sub(1) {
        player.seek(&mut client, before, &mut Nobody).map_err(|error| told(&error))?;
    }
    player.read_ahead(*frames.end()).map_err(|error| told(&error))?;
    let before = cpu(&client);
    let mut times = Vec::new();
    for frame in frames {
        let start = Instant::now();
        player.frame(&mut client, frame, &mut Nobody).map_err(|error| told(&error))?;
        times.push(start.elapsed().as_secs_f64() * 1000.0);
    }
    let after = cpu(&client);
    let spent = |at: usize| {
        let (before, after) = (before.get(at).copied()??, after.get(at).copied()??);
        Some(Duration::from_nanos(after.saturating_sub(before)).as_secs_f64() * 1000.0)
    };
    let server = client.process().map(|process| process.number().to_string());
    let peak = [peak("self"), server.and_then(|server| peak(&server))];
    client.close().map_err(|error| told(&error))?;
    Ok(Round { frames: times, cpu: [spent(0), spent(1)], peak })
}

/// Runs and prints. Runs of one call alone are compared.
pub fn bench<B: Native + Send + Sync + 'static>(
    replay: &Replay,
    config: &Config,
    rounds: u32,
    backend: &Backend,
    make: &(impl FnOnce() -> Result<B, String> + Clone + Send + 'static),
    out: &mut impl Write,
) -> Result<(), String> {
    let write =
        |done: std::io::Result<()>| done.map_err(|error| format!("the output could not be written: {error}"));
    let mut medians = Vec::new();
    for number in 1..=rounds {
        let round = round(replay, config, backend, make.clone())?;
        let (first, steady) =
            (round.frames.first().copied().unwrap_or(f64::NAN), round.frames.get(1..).unwrap_or_default());
        // Without a second frame the first one is all there is.
        let steady = sorted(if steady.is_empty() { &round.frames } else { steady });
        let tail = sorted(round.frames.get(round.frames.len() / 2..).unwrap_or_default());
        let [p50, p90, p99, worst] = [50.0, 90.0, 99.0, 100.0].map(|p| percentile(&steady, p));
        let tail50 = percentile(&tail, 50.0);
        medians.push(p50);
        let ([client, server], [client_kb, server_kb]) = (round.cpu, round.peak);
        let both = client.zip(server).map(|(client, server)| client + server);
        write(if replay.json {
            let object = json!({
                "bench": "replay", "round": number, "topology": config.topology.name(),
                "backend": backend.name(), "unit": "ms",
                "frames": round.frames, "first": first, "p50": p50, "p90": p90, "p99": p99, "max": worst,
                "second_half_p50": tail50,
                "cpu": { "client": client, "server": server, "all": both },
                "peak_kb": { "client": client_kb, "server": server_kb },
            });
            writeln!(out, "{object}")
        } else {
            let text = |value: Option<f64>| value.map_or("unknown".to_owned(), |value| format!("{value:.1}"));
            let kb = |value: Option<u64>| value.map_or("the same".to_owned(), |value| format!("{value} KiB"));
            writeln!(
                out,
                "round {number}: first {first:.3} ms; then p50 {p50:.3}, p90 {p90:.3}, p99 {p99:.3}, max {worst:.3}; \
                 second half p50 {tail50:.3}; CPU ms client {}, server {}; peak client {}, server {}",
                text(client),
                text(server),
                kb(client_kb),
                kb(server_kb)
            )
        })?;
    }
    let medians = sorted(&medians);
    let (least, most) = (percentile(&medians, 0.0), percentile(&medians, 100.0));
    let median = percentile(&medians, 50.0);
    let scatter = if least > 0.0 { most / least } else { f64::NAN };
    write(if replay.json {
        let object = json!({
            "bench": "replay", "case": "median of the rounds", "value": median, "unit": "ms", "rounds": rounds,
            "least": least, "most": most, "scatter": scatter,
        });
        writeln!(out, "{object}")
    } else {
        writeln!(
            out,
            "{rounds} rounds: median {median:.3} ms a frame, from {least:.3} to {most:.3} (scatter {scatter:.2})"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The worked example of nearest rank: 15, 20, 35, 40, 50.
    #[test]
    fn percentiles_are_measured_values() {
        let values = sorted(&[50.0, 15.0, 40.0, 20.0, 35.0]);
        for (p, value) in
            [(5.0, 15.0), (30.0, 20.0), (40.0, 20.0), (50.0, 35.0), (99.0, 50.0), (100.0, 50.0), (0.0, 15.0)]
        {
            assert_eq!(percentile(&values, p), value, "{p}");
        }
        assert!(percentile(&[], 50.0).is_nan());
        assert_ne!(percentile(&values, 50.0), 32.0, "negative control: the mean is none of them");
    }
}
