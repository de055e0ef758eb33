//! Reading pixels.
//!
//! Source: OpenGL ES 2.0.25 section 4.3.1. The answer has no gaps; rows go where the application's pack state says.

use runahead_core::{Pending, Session, Shared, Status, link::Patience, reply_space, tracker::Verb};
use runahead_wire::{
    payload::{ReadbackInfo, TexelBox},
    pipe::Pipe,
    values::{PixelFormat, PixelType},
};

use super::{
    client_memory::Target,
    context::{Context, Objects, Own},
    enums,
    error::{Error, Outcome},
    pixels::{self, Rows},
    texture::{Part, size},
};

/// Bytes of a pixel that is read.
const PIXEL: usize = 4;

/// What `glReadPixels` found to do.
struct Plan {
    /// What of the rectangle lies in the framebuffer.
    part: Part,
    /// How the application wants its rows.
    rows: Rows,
    /// Where the first pixel goes.
    offset: usize,
}

impl<P: Shared> Context<P> {
    /// `glReadPixels`. Other contexts of the share group go on while it waits.
    pub(crate) fn read_pixels(&mut self, part: Part, format: u32, kind: u32, pixels: Target<'_>) {
        let Some(Some(plan)) = self.run_shared(|own, objects| own.plan_read(objects, part, format, kind))
        else {
            return;
        };
        let rows = match self.run(|own| own.rows_at_once(plan.part)) {
            Some(rows) => rows,
            None => return,
        };
        for first in (0..plan.part.height).step_by(rows as usize) {
            let height = rows.min(plan.part.height - first);
            let piece = Part { y: plan.part.y + first, height, ..plan.part };
            let begun = self.run_shared(|own, objects| own.begin_read(objects, piece));
            let Some(pending) = begun else { return };
            let done = self.run(|own| {
                own.end_read(pending, |at, bytes| {
                    // Within a row, as pieces end with rows.
                    let width = plan.part.width as usize * PIXEL;
                    for (row, bytes) in (first as usize + at / width..).zip(bytes.chunks(width)) {
                        pixels.write(plan.offset + row * plan.rows.stride as usize, bytes);
                    }
                })
            });
            if done.is_none() {
                return;
            }
        }
    }
}

impl<P: Shared> Own<P> {
    /// Checks the arguments of `glReadPixels`.
    fn plan_read(
        &mut self,
        objects: &mut Objects,
        part: Part,
        format: u32,
        kind: u32,
    ) -> Outcome<Option<Plan>> {
        // What the implementation reads besides is the same pair, so no other one is legal.
        let texel = pixels::texel(&self.limits, format, kind);
        if texel == Err(Error::InvalidEnum) {
            return Err(Error::InvalidEnum);
        }
        let (width, height) = (size(part.width)?, size(part.height)?);
        let readable = self.readable(objects)?;
        if (format, kind) != (enums::RGBA, enums::UNSIGNED_BYTE) {
            return Err(Error::InvalidOperation);
        }
        let rows = Rows::new(width, height, PIXEL as u32, self.pixels.pack_alignment);
        if isize::try_from(rows.all).is_err() {
            return Err(Error::OutOfMemory);
        }
        // Pixels outside of the framebuffer are undefined: the memory stays as it is.
        Ok(readable.clip(part).map(|clipped| {
            let (x, y) = (i64::from(clipped.x) - i64::from(part.x), i64::from(clipped.y) - i64::from(part.y));
            Plan { part: clipped, rows, offset: y as usize * rows.stride as usize + x as usize * PIXEL }
        }))
    }

    /// Rows of a read that one answer takes.
    fn rows_at_once(&mut self, part: Part) -> Outcome<i32> {
        let most = self.turn(|_, turn| Ok(turn.pipe.max_answer()))?;
        let rows = u64::from(most) / (part.width.max(1) as u64 * PIXEL as u64);
        if rows == 0 { Err(Error::OutOfMemory) } else { Ok(rows.min(i32::MAX as u64) as i32) }
    }

    fn begin_read(&mut self, objects: &mut Objects, part: Part) -> Outcome<Pending> {
        let (width, height) = (part.width as u32, part.height as u32);
        let bytes = u64::from(width) * u64::from(height) * PIXEL as u64;
        let info = ReadbackInfo {
            region: TexelBox { x: part.x, y: part.y, z: 0, width, height, depth: 1 },
            format: PixelFormat::Rgba.raw(),
            pixel_type: PixelType::UnsignedByte.raw(),
            dst_size: bytes,
            ..ReadbackInfo::default()
        };
        let capacity = u32::try_from(bytes).map_err(|_| Error::OutOfMemory)?;
        self.verb(objects, Verb::ReadPixels, |_, turn| {
            let pending = turn.pipe.ask(capacity)?;
            match turn.pipe.read_pixels(&info, Some(reply_space(&pending))) {
                Ok(()) => Ok(pending),
                Err(error) => {
                    // A record that was not recorded has no answer; the session is over then, or the space is lost.
                    let _ = turn.pipe.release(pending);
                    Err(error.into())
                }
            }
        })
    }

    /// Waits for the bytes and hands them out.
    fn end_read(&mut self, pending: Pending, mut take: impl FnMut(usize, &[u8])) -> Outcome {
        let answer = self.session().wait_answer(&pending, Patience::Spin)?;
        let mut scratch = std::mem::take(&mut self.scratch);
        scratch.clear();
        let size = if answer.status == Status::Ok { answer.size as usize } else { 0 };
        let room = scratch.try_reserve(size).is_ok();
        scratch.resize(if room { size } else { 0 }, 0);
        let taken = self.turn(|_, turn| {
            turn.pipe.copy_answer(&pending, answer, &mut scratch);
            let _ = turn.pipe.release(pending);
            Ok(())
        });
        if !scratch.is_empty() {
            take(0, &scratch);
        }
        self.scratch = scratch;
        taken?;
        if room { Ok(()) } else { Err(Error::OutOfMemory) }
    }

    /// Reads a part of the framebuffer, which lies within it.
    pub(crate) fn read_rgba(
        &mut self,
        objects: &mut Objects,
        part: Part,
        mut take: impl FnMut(usize, &[u8]),
    ) -> Outcome {
        let rows = self.rows_at_once(part)?;
        for first in (0..part.height).step_by(rows as usize) {
            let height = rows.min(part.height - first);
            let pending = self.begin_read(objects, Part { y: part.y + first, height, ..part })?;
            let start = first as usize * part.width as usize * PIXEL;
            self.end_read(pending, |at, bytes| take(start + at, bytes))?;
        }
        Ok(())
    }
}
