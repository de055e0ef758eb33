//! `recordings`: records again what the tree keeps, and writes down what it shows on this machine's driver.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "it says what it makes")]

use std::{fs, path::Path, process::ExitCode, time::Duration};

use runahead_verify::{
    apps::{Running, Screen, installation},
    recordings::{Digests, Recording, digests, folder, renderer, take, text},
};
use rustix::process::Signal;

/// How long a program that does not end by itself draws, and how long one may take to end.
const LOOK: Duration = Duration::from_millis(1500);
const PATIENCE: Duration = Duration::from_secs(60);

fn main() -> ExitCode {
    match make() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("recordings: {error}");
            ExitCode::FAILURE
        }
    }
}

fn make() -> Result<(), String> {
    let (installation, screen) = (installation()?, Screen::start()?);
    let scratch = std::env::temp_dir().join(format!("runahead-recordings-{}", std::process::id()));
    let made = fs::create_dir_all(&scratch).and_then(|()| fs::create_dir_all(folder()));
    made.map_err(|error| format!("{}: {error}", scratch.display()))?;
    let done = all(&installation, &screen, &scratch);
    let _ = fs::remove_dir_all(&scratch);
    done
}

fn all(installation: &Path, screen: &Screen, scratch: &Path) -> Result<(), String> {
    let mut shown = Digests::new();
    for recording in Recording::ALL {
        let whole = scratch.join(recording.name).with_extension("rah");
        let told = |error: std::io::Error| format!("{}: {error}", recording.name);
        let running = Running::start(&mut recording.command(installation, screen, &whole)).map_err(told)?;
        std::thread::sleep(LOOK);
        // glmark2 has come to its end by then; es2gears draws for ever.
        running.signal(Signal::TERM);
        let output = running.finish(PATIENCE).map_err(told)?;
        take(&whole, &recording.file())
            .map_err(|error| format!("{error}: {}", String::from_utf8_lossy(&output.stderr)))?;
        let images = scratch.join(recording.name);
        let mut replay = std::process::Command::new(installation.join("runahead"));
        replay.arg("replay").arg(recording.file()).args(["--topology", "direct", "--images"]).arg(&images);
        let output = replay.output().map_err(told)?;
        if !output.status.success() {
            return Err(format!("{}: {}", recording.name, String::from_utf8_lossy(&output.stderr)));
        }
        shown.extend(digests(recording.name, &images)?);
        let size = fs::metadata(recording.file()).map_err(told)?.len().div_ceil(1024);
        println!("{}: {size} KiB", recording.file().display());
    }
    let file = folder().join("digests.txt");
    fs::write(&file, text(&renderer()?, &shown)).map_err(|error| format!("{}: {error}", file.display()))
}
