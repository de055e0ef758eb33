//! `demo`: programs off the shelf drawing through Runahead, beside the system's driver.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a demo prints")]

use std::{
    fs,
    path::{Path, PathBuf},
    process::ExitCode,
    thread,
    time::Duration,
};

use runahead_verify::apps::{Arm, Glmark2, Running, Scene, Screen, es2gears_fps, installation};

/// Seconds of each scene.
const SECONDS: f64 = 2.0;

/// How long a program draws before it is looked at.
const LOOK: Duration = Duration::from_millis(1200);

/// Pixels of the windows: glmark2's own, and es2gears's.
const GLMARK2: (usize, usize) = (800, 600);
const GEARS: (usize, usize) = (300, 300);

fn main() -> ExitCode {
    let folder = std::env::args_os().nth(1).map_or_else(|| PathBuf::from("target/demo"), PathBuf::from);
    match demo(&folder) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("demo: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Runs everything; whether all of it worked.
fn demo(folder: &Path) -> Result<bool, String> {
    let (installation, screen) = (installation()?, Screen::start()?);
    fs::create_dir_all(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let arms = Arm::all();
    println!(
        "Frames a second, 64 by 64 pixels (es2gears_x11: 300 by 300); `system` is the driver without Runahead.\n"
    );
    print!("{:<26}", "");
    for arm in &arms {
        print!("{:>12}", arm.name());
    }
    println!();
    let mut failures = Vec::new();
    let mut row = |name: &str, fps: &dyn Fn(Arm) -> Result<f64, String>| {
        print!("{name:<26}");
        for arm in &arms {
            match fps(*arm) {
                Ok(fps) => print!("{fps:>12.0}"),
                Err(error) => {
                    print!("{:>12}", "FAILED");
                    failures.push(format!("{name} on {}: {error}", arm.name()));
                }
            }
        }
        println!();
    };
    row("es2gears_x11", &|arm| es2gears_fps(arm, &installation, &screen, &[]));
    for scene in Scene::ALL {
        row(scene.name, &|arm| {
            let glmark2 = Glmark2 { scene, side: Some(64), seconds: SECONDS };
            glmark2.fps(glmark2.command(arm, &installation, &screen))
        });
    }
    println!("\nScreenshots, and what the programs say of their renderer:\n");
    for arm in &arms {
        match screenshots(*arm, &installation, &screen, folder) {
            Ok(renderer) => println!("{:<10} {renderer}", arm.name()),
            Err(error) => failures.push(format!("screenshots on {}: {error}", arm.name())),
        }
    }
    let shown = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
    println!("\nThe screenshots are in {}.", shown.display());
    for failure in &failures {
        println!("\nFAILED: {failure}");
    }
    Ok(failures.is_empty())
}

/// Saves a picture of each program; what glmark2 says of the renderer.
fn screenshots(arm: Arm, installation: &Path, screen: &Screen, folder: &Path) -> Result<String, String> {
    let file = |name: &str| folder.join(format!("{}-{}.png", name.replace([' ', ','], ""), arm.name()));
    let save = |name: &str, (width, height): (usize, usize)| {
        let image = screen.image()?.corner(width, height);
        image.save(&file(name))?;
        if image.colors() < 8 {
            return Err(format!("{name} shows nothing; see {}", file(name).display()));
        }
        Ok(())
    };
    {
        let mut command = arm.command(installation, screen, "es2gears_x11");
        let _running = Running::start(&mut command).map_err(|error| error.to_string())?;
        thread::sleep(LOOK);
        save("es2gears_x11", GEARS)?;
    }
    let mut renderer = String::new();
    for scene in Scene::ALL {
        let glmark2 = Glmark2 { scene, side: None, seconds: SECONDS };
        let mut command = glmark2.command(arm, installation, screen);
        let running = Running::start(&mut command).map_err(|error| error.to_string())?;
        thread::sleep(LOOK);
        save(scene.name, GLMARK2)?;
        let output = running.finish(Duration::from_secs(60)).map_err(|error| error.to_string())?;
        let text = String::from_utf8_lossy(&output.stdout);
        let said = text.lines().find_map(|line| line.trim().strip_prefix("GL_RENDERER:"));
        said.unwrap_or("(said nothing)").trim().clone_into(&mut renderer);
    }
    Ok(renderer)
}
