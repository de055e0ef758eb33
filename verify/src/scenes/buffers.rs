//! Buffers: how they are written between draws, what is mapped, what is dropped, what is refused.

use runahead_core::{Session, slots::Band};
use runahead_wire::{
    Handle,
    handle::Kind,
    payload::{ClearBuffer, CopyBuffer, DebugMark, DrawRange, Invalidate},
    pipe::Op,
    values::{
        AttachmentMask, BufferUsage, DebugMarkOp, ErrorKind, InvalidateTarget, RefusedReason, Topology,
    },
};

use super::{
    Indexed, SIDE, Stage, StageError,
    common::{BLACK, POSITION, UNIFORM_COLOR, bytes, color},
    grid, textured,
};

/// What is drawn.
const DRAWN: [u8; 4] = [0, 204, 102, 255];
/// Bytes of the corners of a cell.
const QUAD: u64 = 32;

fn corners(cell: u32) -> Vec<u8> {
    bytes(&grid::whole(cell).concat())
}

/// Nothing but a position, in one colour.
fn set<P: Session>(stage: &mut Stage<'_, P>) -> Result<(), StageError> {
    stage.clear(color(BLACK))?;
    stage.program(POSITION, UNIFORM_COLOR, &[("position", 0)], &bytes(&color(DRAWN)))?;
    Ok(())
}

fn quad<P: Session>(stage: &mut Stage<'_, P>, at: u64) -> Result<(), StageError> {
    stage.draw(Topology::TriangleStrip, 4 * at as u32, 4)
}

fn drawn_if(drawn: bool) -> [u8; 4] {
    if drawn { DRAWN } else { BLACK }
}

/// The ways to write that Mesa's notes on buffer mapping name, with draws between: append, orphan, discard of a range,
/// unsynchronised, explicit flushes, all by the rows that a front makes of them.
pub(super) mod updates {
    use super::*;

    pub(in super::super) fn draw<P: Session>(stage: &mut Stage<'_, P>) -> Result<(), StageError> {
        set(stage)?;
        // Append: each draw is of what was written just before, behind what is in use.
        let ring = stage.buffer_of(8 * QUAD, BufferUsage::StreamDraw)?;
        stage.vertices(ring, &[(0, 2)])?;
        for at in 0..8_u32 {
            stage.update(ring, u64::from(at) * QUAD, &corners(at))?;
            quad(stage, u64::from(at))?;
        }
        // Orphan: the whole again, with another store each time.
        for at in 8..16 {
            stage.resize(ring, 8 * QUAD)?;
            stage.update(ring, 0, &corners(at))?;
            quad(stage, 0)?;
        }
        // Overwritten in place, while the draw before may be under way.
        for at in 16..24 {
            stage.update(ring, 2 * QUAD, &corners(at))?;
            quad(stage, 2)?;
        }
        // Other sizes, of which the last one is smaller.
        for (at, size) in [(24, 16), (25, 2), (26, 64)] {
            stage.resize(ring, size * QUAD)?;
            // Up to its very end.
            stage.update(ring, (size - 1) * QUAD, &corners(at))?;
            quad(stage, size - 1)?;
        }
        // Written in pieces, and a map whose pieces are flushed: the bytes come as uploads.
        let [left, right] = [corners(27)[..16].to_vec(), corners(27)[16..].to_vec()];
        stage.update(ring, 16, &right)?;
        stage.update(ring, 0, &left)?;
        stage.flush(ring, 0, 16)?;
        stage.flush(ring, 16, 16)?;
        quad(stage, 0)?;
        // Contents that were dropped are there once they were written.
        stage.invalidate_buffer(ring, 0, 64 * QUAD)?;
        stage.update(ring, 0, &corners(28))?;
        stage.update(ring, QUAD, &corners(29))?;
        stage.invalidate_buffer(ring, 8 * QUAD, QUAD)?;
        quad(stage, 0)?;
        quad(stage, 1)?;
        // A copy between draws of both ends of it.
        let copy = CopyBuffer { src: ring, dst: ring, src_offset: 0, dst_offset: 4 * QUAD, size: QUAD };
        stage.update(ring, 0, &corners(30))?;
        stage.pipe().copy_buffer(&copy)?;
        stage.update(ring, 0, &corners(31))?;
        quad(stage, 0)?;
        quad(stage, 4)
    }

    pub(in super::super) fn pixel(x: u32, y: u32) -> [u8; 4] {
        drawn_if(grid::of(x, y).0 < 32)
    }
}

/// Fills of spans, of every size of a value, small and larger than a block.
pub(super) mod fills {
    use super::*;

    pub(in super::super) fn draw<P: Session>(stage: &mut Stage<'_, P>) -> Result<(), StageError> {
        const SIZE: usize = 300_000;
        stage.clear(color(DRAWN))?;
        let buffer = stage.buffer_of(SIZE as u64, BufferUsage::StaticDraw)?;
        let mut wanted = vec![7; SIZE];
        stage.update(buffer, 0, &wanted)?;
        let value: [u8; 16] = std::array::from_fn(|at| at as u8 + 1);
        for (value_size, offset, count) in [
            (1, 3, 5),
            (2, 16, 9),
            (4, 64, 1),
            (8, 128, 3),
            (12, 240, 7),
            (16, 512, 2),
            (12, 1200, 20_000),
            (16, 245_760, 0),
        ] {
            let size = value_size * count;
            let fill = ClearBuffer {
                resource: buffer,
                offset,
                size,
                value,
                value_size: value_size as u32,
                ..ClearBuffer::default()
            };
            stage.pipe().clear_buffer(&fill)?;
            let span = offset as usize..(offset + size) as usize;
            for (at, byte) in wanted[span].iter_mut().enumerate() {
                *byte = value[at % value_size as usize];
            }
        }
        stage.expect(buffer, 0, &wanted)
    }

    pub(in super::super) const fn pixel(_: u32, _: u32) -> [u8; 4] {
        DRAWN
    }
}

/// A store that stays mapped: where both roles share a process it is written with no call before the draw.
pub(super) mod persistent {
    use super::*;

    pub(in super::super) fn draw<P: Session>(stage: &mut Stage<'_, P>) -> Result<(), StageError> {
        set(stage)?;
        let buffer = stage.persistent(16 * QUAD)?;
        stage.vertices(buffer, &[(0, 2)])?;
        let mut map = stage.map(buffer)?;
        for at in 0..16 {
            stage.poke(&map, u64::from(at) * QUAD, &corners(at))?;
            quad(stage, u64::from(at))?;
        }
        // What the server wrote is there after everything so far was done.
        let other = stage.buffer(&corners(16))?;
        let copy = CopyBuffer { src: other, dst: buffer, src_offset: 0, dst_offset: QUAD, size: QUAD };
        stage.pipe().copy_buffer(&copy)?;
        stage.settle_all()?;
        stage.peek(&map, QUAD, &corners(16))?;
        quad(stage, 1)?;
        // Mapped once more it is the same store; given up, it keeps what it has and can be written by rows.
        map = stage.map(buffer)?;
        stage.poke(&map, 0, &corners(17))?;
        quad(stage, 0)?;
        stage.settle_all()?;
        stage.unmap(buffer, &map)?;
        stage.expect(buffer, 0, &corners(17))?;
        stage.update(buffer, 2 * QUAD, &corners(18))?;
        quad(stage, 2)
    }

    pub(in super::super) fn pixel(x: u32, y: u32) -> [u8; 4] {
        drawn_if(grid::of(x, y).0 < 19)
    }
}

/// Many small things in one large store: written, drawn, moved and drawn again.
pub(super) mod arena {
    use super::*;

    const SIZE: u64 = 24 << 20;

    pub(in super::super) fn draw<P: Session>(stage: &mut Stage<'_, P>) -> Result<(), StageError> {
        set(stage)?;
        let arena = stage.buffer_of(SIZE, BufferUsage::DynamicDraw)?;
        stage.vertices(arena, &[(0, 2)])?;
        // Cells far apart, the last at the very end; vertices and indices share the store.
        let place = |cell: u32| (u64::from(cell) * 2_654_435_761 % (SIZE / QUAD)).min(SIZE / QUAD - 1);
        for cell in 0..32 {
            stage.update(arena, place(cell) * QUAD, &corners(cell))?;
        }
        for cell in 0..32 {
            quad(stage, place(cell))?;
        }
        let last = SIZE / QUAD - 1;
        stage.update(arena, last * QUAD, &corners(32))?;
        quad(stage, last)?;
        stage.update(arena, 0, &[3, 2, 1, 0])?;
        let indices = Indexed { buffer: arena, size: 1, restart: None };
        stage.update(arena, 5 * QUAD, &corners(33))?;
        let range = DrawRange { start: 0, count: 4, index_bias: 20 };
        stage.draw_ranges(&indices.info(Topology::TriangleStrip), &[range])
    }

    pub(in super::super) fn pixel(x: u32, y: u32) -> [u8; 4] {
        drawn_if(grid::of(x, y).0 < 34)
    }
}

/// Buffers that end while they are bound, and others in their place.
pub(super) mod ends {
    use super::*;

    pub(in super::super) fn draw<P: Session>(stage: &mut Stage<'_, P>) -> Result<(), StageError> {
        set(stage)?;
        for at in 0..8 {
            // Vertices, and indices of each parity in other slots.
            let vertices = stage.buffer(&corners(at))?;
            let indices = stage.buffer(&[0, 1, 2, 3])?;
            stage.vertices(vertices, &[(0, 2)])?;
            let info = Indexed { buffer: indices, size: 1, restart: None }.info(Topology::TriangleStrip);
            stage.draw_ranges(&info, &[DrawRange { start: 0, count: 4, index_bias: 0 }])?;
            stage.destroy(Kind::Buffer, Band::Buffer, vertices)?;
            if at % 2 == 0 {
                stage.destroy(Kind::Buffer, Band::Buffer, indices)?;
            }
        }
        // A draw without its vertices has current values: a quad of one point, which is none.
        quad(stage, 0)?;
        // An attachment's contents and marks, which show in no image.
        let name = b"a group";
        let mark = |op: DebugMarkOp| DebugMark { op: op.raw(), ..DebugMark::default() };
        for _ in 0..80 {
            let push = DebugMark { text_size: name.len() as u32, ..mark(DebugMarkOp::Push) };
            stage.pipe().debug_mark(&push, name)?;
        }
        let insert = DebugMark { text_size: name.len() as u32, id: 3, ..mark(DebugMarkOp::Insert) };
        stage.pipe().debug_mark(&insert, name)?;
        let vertices = stage.buffer(&corners(8))?;
        let label = DebugMark {
            object: vertices,
            object_kind: Kind::Buffer.raw(),
            text_size: name.len() as u32,
            ..mark(DebugMarkOp::Label)
        };
        stage.pipe().debug_mark(&label, name)?;
        stage.vertices(vertices, &[(0, 2)])?;
        quad(stage, 0)?;
        // One more than were opened.
        for _ in 0..81 {
            stage.pipe().debug_mark(&mark(DebugMarkOp::Pop), &[])?;
        }
        let image = stage.texture(SIDE, SIDE, None)?;
        stage.target_images(&[textured(image, runahead_wire::format::Format::Rgba8)], None, 0);
        stage.clear(color(BLACK))?;
        let resource = stage.tracker().wanted().draw_framebuffer;
        let drop = Invalidate {
            resource,
            what: InvalidateTarget::Framebuffer.raw(),
            attachments: AttachmentMask::COLOR0.raw()
                | AttachmentMask::DEPTH.raw()
                | AttachmentMask::STENCIL.raw(),
            ..Invalidate::default()
        };
        stage.pipe().invalidate(&drop)?;
        stage.target(Handle::NULL);
        // Of the surface, what is not its colour.
        let attachments = AttachmentMask::DEPTH.raw() | AttachmentMask::STENCIL.raw();
        stage.pipe().invalidate(&Invalidate {
            resource: Handle::DEFAULT_FRAMEBUFFER,
            attachments,
            ..drop
        })?;
        let vertices = stage.buffer(&corners(9))?;
        stage.vertices(vertices, &[(0, 2)])?;
        quad(stage, 0)
    }

    pub(in super::super) fn pixel(x: u32, y: u32) -> [u8; 4] {
        drawn_if(grid::of(x, y).0 < 10)
    }
}

/// A store that cannot be had is refused by its name; sets take it as nothing, a draw that needs it fails once, and
/// another definition makes it one like others.
pub(super) mod buffer_refused {
    use super::*;

    pub(in super::super) fn draw<P: Session>(stage: &mut Stage<'_, P>) -> Result<(), StageError> {
        set(stage)?;
        // More than a buffer can have, and less than a session may.
        let large = stage.buffer_of(12 << 30, BufferUsage::StaticDraw)?;
        stage.refused(Kind::Buffer, large, Op::ResourceCreate, RefusedReason::TooLarge)?;
        stage.vertices(large, &[(0, 2)])?;
        quad(stage, 0)?;
        stage.failed(Op::DrawVbo, ErrorKind::OutOfMemory)?;
        // Told once.
        quad(stage, 0)?;
        stage.settle()?;
        stage.dropped(2);
        stage.resize(large, 2 * QUAD)?;
        stage.update(large, QUAD, &corners(0))?;
        quad(stage, 1)?;
        // And refused again, with the draws of before as they were.
        stage.resize(large, 12 << 30)?;
        stage.refused(Kind::Buffer, large, Op::ResourceRespecify, RefusedReason::TooLarge)?;
        let other = stage.buffer(&corners(1))?;
        stage.vertices(other, &[(0, 2)])?;
        quad(stage, 0)
    }

    pub(in super::super) fn pixel(x: u32, y: u32) -> [u8; 4] {
        drawn_if(grid::of(x, y).0 < 2)
    }
}
