//! An X server without a screen.

use std::{
    fs,
    io::{BufRead, BufReader},
    path::PathBuf,
    process::{Child, Command, Stdio},
    sync::atomic::{AtomicU32, Ordering},
};

use super::Image;

/// Xvfb on a display number of its own. It ends with this.
#[derive(Debug)]
pub struct Screen {
    server: Child,
    display: String,
    folder: PathBuf,
}

impl Screen {
    /// Pixels along x and y.
    pub const SIZE: (usize, usize) = (1280, 800);

    /// Starts it.
    ///
    /// # Errors
    /// Why not, for people.
    pub fn start() -> Result<Self, String> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let folder = std::env::temp_dir().join(format!("runahead-screen-{}-{number}", std::process::id()));
        fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        let size = format!("{}x{}x24", Self::SIZE.0, Self::SIZE.1);
        let started = Command::new("Xvfb")
            .args([
                "-displayfd",
                "1",
                "-screen",
                "0",
                &size,
                "-nolisten",
                "tcp",
                "-nocursor",
                "-noreset",
                "-fbdir",
            ])
            .arg(&folder)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn();
        let server = started.map_err(|error| format!("Xvfb (Debian package xvfb): {error}"))?;
        let mut screen = Self { server, display: String::new(), folder };
        // It says its number once it takes connections.
        let mut line = String::new();
        let output = screen.server.stdout.take().ok_or("Xvfb has no output")?;
        BufReader::new(output).read_line(&mut line).map_err(|error| format!("Xvfb: {error}"))?;
        let number = line.trim();
        if number.is_empty() {
            return Err("Xvfb ended before it took connections".to_owned());
        }
        screen.display = format!(":{number}");
        Ok(screen)
    }

    /// Its name, for `DISPLAY`.
    #[must_use]
    pub fn display(&self) -> &str {
        &self.display
    }

    /// What it shows.
    ///
    /// # Errors
    /// It has ended.
    pub fn image(&self) -> Result<Image, String> {
        let file = self.folder.join("Xvfb_screen0");
        let bytes = fs::read(&file).map_err(|error| format!("{}: {error}", file.display()))?;
        Image::from_xwd(&bytes).ok_or_else(|| format!("{} is no dump of 32 bits a pixel", file.display()))
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.server.kill();
        let _ = self.server.wait();
        let _ = fs::remove_dir_all(&self.folder);
    }
}
