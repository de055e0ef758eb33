//! What of the frames before one matters to it.
//!
//! Whoever wants one frame of many needs what the frames before have left behind, and not their pictures. Left out are
//! presents, flushes, marks, and what only asks for an answer; and what was drawn to a window. What a window shows after
//! a present is undefined (EGL 1.5, section 3.10.1.1), so nothing that keeps to the rules sees it, but within a frame
//! what was drawn can be copied: a frame that copies from a framebuffer keeps its draws. Where shaders write memory, or
//! draws are captured or conditional, everything is kept from there on: a draw then has effects elsewhere.

use std::collections::{HashMap, HashSet};

use runahead_wire::{
    Frame, Row,
    catalogue::RowFlags,
    payload::Clear,
    pipe::{Op, rows},
    values::{BufferMask, ClearKind, FramebufferTarget, ShaderBufferClass},
};

use super::{layout, part::Request};
use crate::control::message::SurfaceOp;

/// Follows a stream, and says what of it can be left out.
#[derive(Clone, Debug, Default)]
pub(super) struct Past {
    /// Surfaces whose contents are nobody's after a present.
    windows: HashSet<u64>,
    /// Whether a context draws to its surface.
    draws_to_surface: HashMap<u64, bool>,
    context: u64,
    surface: u64,
    /// A draw has effects elsewhere.
    elsewhere: bool,
    /// The frame at hand copies what was drawn.
    copies: bool,
}

/// Whether a record copies what was drawn to a framebuffer.
const fn copies(op: Op) -> bool {
    matches!(op, Op::CopyFramebufferToTexture | Op::Blit | Op::ReadPixelsToBuffer)
}

/// Whether any of these records does.
pub(super) fn any_copies<'a>(records: impl Iterator<Item = &'a [u8]>) -> bool {
    records.filter_map(layout::op).any(copies)
}

/// Whether a record draws into a framebuffer.
const fn draws(op: Op) -> bool {
    matches!(op, Op::DrawVbo | Op::Clear)
}

/// Whether a record leaves nothing behind, whatever it is drawn to.
fn leaves_nothing(op: Op) -> bool {
    // Those two make something; everything else that answers looks alone.
    let looks =
        op.info().flags.contains(RowFlags::REPLY) && !matches!(op, Op::MapPersistent | Op::SharedImage);
    looks || matches!(op, Op::Present | Op::Flush | Op::DebugMark)
}

impl Past {
    /// A frame begins, which copies what was drawn or does not.
    pub(super) const fn begin(&mut self, copies: bool) {
        self.copies = copies;
    }

    /// Takes note of a request.
    pub(super) fn request(&mut self, request: &Request) {
        if let Request::Surface { surface, op, .. } = request {
            match op {
                SurfaceOp::CreateWindow { .. } => _ = self.windows.insert(*surface),
                SurfaceOp::Destroy => _ = self.windows.remove(surface),
                _ => {}
            }
        }
    }

    /// Takes note of a valid record; whether a later frame needs it.
    pub(super) fn matters(&mut self, record: &[u8]) -> bool {
        let Some(op) = layout::op(record) else { return true };
        if let Ok(frame) = Frame::parse(record) {
            self.note(op, frame);
        }
        if draws(op) {
            let to_window = self.windows.contains(&self.surface)
                && self.draws_to_surface.get(&self.context).copied().unwrap_or(false);
            return !to_window || self.elsewhere || self.copies;
        }
        !leaves_nothing(op)
    }

    fn note(&mut self, op: Op, frame: Frame<'_>) {
        match op {
            Op::BindContext => {
                if let Ok(row) = rows::BindContext::decode(frame) {
                    (self.context, self.surface) = (row.payload.context, row.payload.draw_surface);
                }
            }
            Op::SetFramebufferState => {
                if let Ok(row) = rows::SetFramebufferState::decode(frame)
                    && matches!(row.payload.target(), Some(FramebufferTarget::Draw | FramebufferTarget::Both))
                {
                    self.draws_to_surface.insert(self.context, row.payload.is_default != 0);
                }
            }
            Op::SetShaderBuffers => {
                if let Ok(row) = rows::SetShaderBuffers::decode(frame) {
                    let uniform = row.payload.class() == Some(ShaderBufferClass::Uniform);
                    self.elsewhere |= !uniform && row.payload.count != 0;
                }
            }
            Op::SetShaderImages => {
                self.elsewhere |=
                    rows::SetShaderImages::decode(frame).is_ok_and(|row| row.payload.count != 0);
            }
            Op::SetConditionalRender => {
                self.elsewhere |=
                    rows::SetConditionalRender::decode(frame).is_ok_and(|row| !row.payload.query.is_null());
            }
            Op::BindShaderImage | Op::BeginStreamOutput => self.elsewhere = true,
            _ => {}
        }
    }
}

/// Whether a frame of these records begins anew: the first thing that it draws is a clear of colour.
pub(super) fn begins_anew<'a>(records: impl Iterator<Item = &'a [u8]>) -> Option<bool> {
    let mut drawing = records.filter(|record| layout::op(record).is_some_and(|op| draws(op) || copies(op)));
    let first = drawing.next()?;
    Some(
        layout::op(first) == Some(Op::Clear) && {
            let clear = Frame::parse(first).and_then(rows::Clear::decode);
            clear.is_ok_and(|row| clears_colour(row.payload))
        },
    )
}

fn clears_colour(clear: &Clear) -> bool {
    match clear.kind() {
        Some(ClearKind::Color) => true,
        Some(ClearKind::Whole) => clear.buffer_mask & BufferMask::COLOR.raw() != 0,
        _ => false,
    }
}
