//! Images of frames, read back at their presents.

use std::{
    fs::{self, File},
    io::{BufWriter, Write},
    ops::RangeInclusive,
    path::{Path, PathBuf},
};

use runahead_core::{RecordError, Session, link::Patience, reply_space};
use runahead_linux::capture::{
    Part,
    replay::{Target, Watcher},
};
use runahead_rings::Status;
use runahead_wire::{
    Frame, Row,
    payload::{FramebufferState, ReadbackInfo, TexelBox},
    pipe::{Op, rows},
    values::{FramebufferTarget, PixelFormat, PixelType},
};

/// Bytes of a pixel: four components of 8 bits.
const PIXEL: usize = 4;

/// Writes an image a frame.
pub struct Images {
    folder: PathBuf,
    frames: Option<RangeInclusive<u64>>,
    /// What the context's reads are bound to, if a record said so.
    read: Option<FramebufferState>,
    /// The framebuffer of the surfaces, as the last record that had it said.
    surface: Option<FramebufferState>,
    written: u64,
    declined: u64,
    failed: Option<String>,
}

impl Images {
    /// Images of some frames, or of all, in a folder that is made where there is none.
    pub fn new(folder: &Path, frames: Option<RangeInclusive<u64>>) -> Result<Self, String> {
        fs::create_dir_all(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        let folder = folder.to_owned();
        Ok(Self { folder, frames, read: None, surface: None, written: 0, declined: 0, failed: None })
    }

    /// Says what became of it.
    pub fn finish(self, json: bool, out: &mut impl Write) -> Result<(), String> {
        if let Some(failed) = self.failed {
            return Err(failed);
        }
        if self.written == 0 {
            return Err(format!("no image was written: the backend had none for {} frames", self.declined));
        }
        let written = if json {
            writeln!(out, "{}", serde_json::json!({ "images": self.written, "declined": self.declined }))
        } else {
            writeln!(out, "{} images in {}, {} declined", self.written, self.folder.display(), self.declined)
        };
        written.map_err(|error| format!("the output could not be written: {error}"))
    }

    /// The pixels of the draw surface, top row first; nothing where the server has none.
    fn pixels(&self, target: Target, pipe: &mut dyn Session) -> Result<Option<Vec<u8>>, RecordError> {
        let (width, height) = (target.width as usize, target.height as usize);
        let row = width * PIXEL;
        let mut pixels = vec![0; row * height];
        let rows = (pipe.max_answer() as usize / row.max(1)).clamp(1, height);
        let elsewhere = self.read.filter(|state| state.is_default == 0);
        if elsewhere.is_some() {
            let surface = self.surface.unwrap_or_default();
            let target = FramebufferTarget::Read.raw() as u8;
            pipe.set_framebuffer_state(&FramebufferState { target, is_default: 1, ..surface })?;
        }
        let mut whole = true;
        // A read larger than an answer is split by rows.
        for y in (0..height).step_by(rows) {
            let count = rows.min(height - y);
            let size = count * row;
            let pending = pipe.ask(size as u32)?;
            let region =
                TexelBox { x: 0, y: y as i32, z: 0, width: width as u32, height: count as u32, depth: 1 };
            let info = ReadbackInfo {
                region,
                format: PixelFormat::Rgba.raw(),
                pixel_type: PixelType::UnsignedByte.raw(),
                dst_offset: (y * row) as u64,
                dst_size: size as u64,
                ..ReadbackInfo::default()
            };
            pipe.read_pixels(&info, Some(reply_space(&pending)))?;
            let answer = pipe.wait_answer(&pending, Patience::Sleep)?;
            whole &= answer.status == Status::Ok && answer.size as usize == size;
            if whole {
                // Row 0 of GL is the lowest, row 0 of a file the highest.
                let mut bytes = vec![0; size];
                pipe.copy_answer(&pending, answer, &mut bytes);
                for (line, bytes) in bytes.chunks(row).enumerate() {
                    let at = (height - 1 - y - line) * row;
                    pixels[at..at + row].copy_from_slice(bytes);
                }
            }
            // It came.
            let _ = pipe.release(pending);
        }
        if let Some(state) = elsewhere {
            pipe.set_framebuffer_state(&FramebufferState {
                target: FramebufferTarget::Read.raw() as u8,
                ..state
            })?;
        }
        Ok(whole.then_some(pixels))
    }
}

/// Writes a file of 8-bit RGBA.
fn write(file: &Path, width: u32, height: u32, pixels: &[u8]) -> Result<(), String> {
    let told = |error: &dyn std::fmt::Display| format!("{}: {error}", file.display());
    let out = BufWriter::new(File::create(file).map_err(|error| told(&error))?);
    let mut encoder = png::Encoder::new(out, width, height);
    encoder.set_color(png::ColorType::Rgba);
    encoder.set_depth(png::BitDepth::Eight);
    let mut writer = encoder.write_header().map_err(|error| told(&error))?;
    writer.write_image_data(pixels).map_err(|error| told(&error))?;
    writer.finish().map_err(|error| told(&error))
}

impl Watcher<dyn Session> for Images {
    fn record(&mut self, _: u64, record: &[u8], _: &Part) {
        let op = record.first_chunk().map_or(0, |op| u16::from_le_bytes(*op));
        if op == Op::BindContext.raw() {
            // Another context's bindings are its own; what they are is said before it reads, or is the initial state.
            (self.read, self.surface) = (None, None);
        }
        if op != Op::SetFramebufferState.raw() {
            return;
        }
        if let Ok(row) = Frame::parse(record).and_then(rows::SetFramebufferState::decode) {
            if row.payload.is_default != 0 {
                self.surface = Some(*row.payload);
            }
            if matches!(row.payload.target(), Some(FramebufferTarget::Read | FramebufferTarget::Both)) {
                self.read = Some(*row.payload);
            }
        }
    }

    fn presenting(
        &mut self,
        frame: u64,
        target: Target,
        pipe: &mut (dyn Session + 'static),
    ) -> Result<(), RecordError> {
        let wanted = self.frames.as_ref().is_none_or(|frames| frames.contains(&frame));
        if !wanted || self.failed.is_some() {
            return Ok(());
        }
        if target.width == 0 || target.height == 0 {
            self.declined += 1;
            return Ok(());
        }
        match self.pixels(target, pipe)? {
            Some(pixels) => {
                let file = self.folder.join(format!("{frame:06}.png"));
                match write(&file, target.width, target.height, &pixels) {
                    Ok(()) => self.written += 1,
                    Err(error) => self.failed = Some(error),
                }
            }
            None => self.declined += 1,
        }
        Ok(())
    }
}
