//! Programs, and what they say of their speed.

use std::{path::Path, process::Command, time::Duration};

use super::{Arm, Running, Screen};

/// A scene of glmark2.
#[derive(Clone, Copy, Debug)]
pub struct Scene {
    /// What it is called here.
    pub name: &'static str,
    /// What glmark2 takes.
    pub option: &'static str,
}

impl Scene {
    /// The scenes that run so far.
    pub const ALL: &[Self] = &[
        Self { name: "build, buffers", option: "build:use-vbo=true" },
        Self { name: "build, client arrays", option: "build:use-vbo=false" },
        Self { name: "texture", option: "texture:texture-filter=nearest" },
        Self { name: "shading", option: "shading" },
        Self { name: "shading, phong", option: "shading:shading=phong" },
    ];
}

/// A run of glmark2.
#[derive(Clone, Copy, Debug)]
pub struct Glmark2<'a> {
    /// The scene.
    pub scene: &'a Scene,
    /// Pixels of the window along each side; nothing for its own size, 800 by 600.
    pub side: Option<u32>,
    /// Seconds.
    pub seconds: f64,
}

impl Glmark2<'_> {
    /// The command, without anything that changes its speed.
    #[must_use]
    pub fn command(&self, arm: Arm, installation: &Path, screen: &Screen) -> Command {
        let mut command = arm.command(installation, screen, "glmark2-es2");
        if let Some(side) = self.side {
            command.args(["-s", &format!("{side}x{side}")]);
        }
        command.args(["-b", &format!("{}:duration={}", self.scene.option, self.seconds)]);
        command
    }

    /// Frames a second.
    ///
    /// # Errors
    /// It failed; what it said.
    pub fn fps(&self, mut command: Command) -> Result<f64, String> {
        let limit = Duration::from_secs_f64(self.seconds + 60.0);
        let running = Running::start(&mut command).map_err(|error| format!("glmark2-es2: {error}"))?;
        let output = running.finish(limit).map_err(|error| format!("glmark2-es2: {error}"))?;
        let text = String::from_utf8_lossy(&output.stdout);
        let fps = text.lines().find_map(|line| {
            let (_, rest) = line.split_once("FPS: ")?;
            rest.split_whitespace().next()?.parse::<f64>().ok()
        });
        fps.filter(|fps| output.status.success() && *fps > 0.0)
            .ok_or_else(|| format!("{}: {text}{}", self.scene.name, String::from_utf8_lossy(&output.stderr)))
    }
}

/// Frames a second of es2gears, from its first full report of five seconds; `settings` are variables of its own.
///
/// # Errors
/// It failed; what it said.
pub fn es2gears_fps(
    arm: Arm,
    installation: &Path,
    screen: &Screen,
    settings: &[(&str, &str)],
) -> Result<f64, String> {
    // Its output is held back where it is no terminal.
    let mut command = arm.command(installation, screen, "stdbuf");
    command.args(["-oL", "timeout", "6", "es2gears_x11"]).envs(settings.iter().copied());
    let running = Running::start(&mut command).map_err(|error| format!("es2gears_x11: {error}"))?;
    let output = running.finish(Duration::from_secs(30)).map_err(|error| format!("es2gears_x11: {error}"))?;
    let text = String::from_utf8_lossy(&output.stdout);
    let fps = text.lines().find_map(|line| {
        let (_, rest) = line.split_once("seconds = ")?;
        rest.split_whitespace().next()?.parse::<f64>().ok()
    });
    fps.ok_or_else(|| format!("es2gears_x11: {text}{}", String::from_utf8_lossy(&output.stderr)))
}
