//! Draws, dispatches, clears, blits, capture, presents.

use runahead_wire::{
    Handle,
    handle::Kind,
    payload::{
        Blit, BufferRange, Clear, DamageRect, DebugMark, DrawIndirect, DrawInfo, DrawRange, GridInfo,
        MemoryBarrier, Present, StreamOutputBegin, StreamOutputBind, SurfaceChanged, SwapInterval,
        XfbAccounting,
    },
    values::DebugMarkOp,
};

use super::{Apply, Named};
use crate::{
    backend::{Backend, Twin},
    bind_state::{Capture, Trouble},
    fault::Fault,
    objects::StreamOutput,
    outlet::Outlet,
    storage::{Storage, Table},
};

/// Bytes of one indirect draw without indices, and with (OpenGL 4.6 section 10.3.11).
const INDIRECT_DRAW: u64 = 16;
const INDIRECT_INDEXED_DRAW: u64 = 20;
/// Bytes of the group counts of an indirect dispatch (OpenGL 4.6 section 19).
const INDIRECT_DISPATCH: u64 = 12;

/// Transform feedback objects that one share group may have.
const STREAM_OUTPUTS: u32 = 4096;

impl<B: Backend, S: Storage, O: Outlet> Apply<'_, B, S, O> {
    #[cold]
    #[inline(never)]
    pub(super) fn draw(
        &mut self,
        info: &DrawInfo,
        ranges: &[DrawRange],
        indirect: &[DrawIndirect],
    ) -> Result<(), Fault> {
        self.ready()?;
        self.covered()?;
        if self.bind.trouble.any(Trouble::DRAW) {
            return self.drop_draw();
        }
        if info.index_size != 0 {
            match self.objects.buffers.known(info.index_resource) {
                Some(indices) if indices.is_refused() => return self.drop_for_buffer(info.index_resource),
                Some(_) => self.bind.indices_seen = Some(info.index_resource),
                None => return Err(self.unnamed("index_resource")),
            }
        }
        let indirect = indirect.first();
        if let Some(indirect) = indirect
            && let Some(refused) = self.refused_indirect(info, indirect)?
        {
            return self.drop_for_buffer(refused);
        }
        self.call(|backend, scope| backend.draw(scope, info, ranges, indirect))
    }

    /// Whether the parameters of an indirect draw lie in their buffers; the buffer that was refused, if one
    /// was.
    fn refused_indirect(&self, info: &DrawInfo, draws: &DrawIndirect) -> Result<Option<Handle>, Fault> {
        let one = if info.index_size == 0 { INDIRECT_DRAW } else { INDIRECT_INDEXED_DRAW };
        let stride = if draws.stride == 0 { one } else { u64::from(draws.stride) };
        self.must(draws.offset.is_multiple_of(4), "indirect_offset")?;
        self.must(stride.is_multiple_of(4), "indirect_stride")?;
        let size = match u64::from(draws.draw_count).checked_sub(1) {
            Some(more) => stride * more + one,
            None => 0,
        };
        let parameters =
            self.buffer_span(draws.buffer, "indirect_buffer", draws.offset, size, "indirect_offset")?;
        if matches!(parameters, Named::Refused) {
            return Ok(Some(draws.buffer));
        }
        if draws.parameter_buffer.is_null() {
            return Ok(None);
        }
        self.must(draws.parameter_offset.is_multiple_of(4), "parameter_offset")?;
        let (buffer, offset) = (draws.parameter_buffer, draws.parameter_offset);
        let count = self.buffer_span(buffer, "parameter_buffer", offset, 4, "parameter_offset")?;
        Ok(matches!(count, Named::Refused).then_some(buffer))
    }

    pub(super) fn launch_grid(&mut self, grid: &GridInfo) -> Result<(), Fault> {
        self.ready()?;
        self.covered()?;
        if self.bind.trouble.any(Trouble::DISPATCH_REFUSED) {
            return self.drop_for_program(self.bind.state.dispatch_program);
        }
        if grid.is_indirect() == Some(true) {
            let (buffer, offset) = (grid.indirect_buffer, grid.indirect_offset);
            self.must(offset.is_multiple_of(4), "indirect_offset")?;
            let span =
                self.buffer_span(buffer, "indirect_buffer", offset, INDIRECT_DISPATCH, "indirect_offset")?;
            if matches!(span, Named::Refused) {
                return self.drop_for_buffer(buffer);
            }
        }
        self.call(|backend, scope| backend.dispatch(scope, grid))
    }

    pub(super) fn memory_barrier(&mut self, barrier: &MemoryBarrier) -> Result<(), Fault> {
        self.call(|backend, scope| backend.memory_barrier(scope, barrier))
    }

    pub(super) fn clear(&mut self, clear: &Clear) -> Result<(), Fault> {
        self.framebuffer(clear.fbo, "fbo")?;
        self.ready()?;
        let bound = clear.fbo.is_null();
        let refused = if bound {
            self.bind.trouble.any(Trouble::DRAW_FRAMEBUFFER_REFUSED)
        } else {
            self.named_framebuffer_refused(clear.fbo)?
        };
        if refused {
            let fbo = if bound { self.bind.state.draw_framebuffer } else { clear.fbo };
            return self.drop_for_framebuffer(fbo);
        }
        self.call(|backend, scope| backend.clear(scope, clear))
    }

    pub(super) fn blit(&mut self, blit: &Blit) -> Result<(), Fault> {
        self.framebuffer(blit.read_fbo, "read_fbo")?;
        self.framebuffer(blit.draw_fbo, "draw_fbo")?;
        self.ready()?;
        let state = &self.bind.state;
        let or_bound = |fbo: Handle, bound: Handle| if fbo.is_null() { bound } else { fbo };
        let ends = [
            or_bound(blit.read_fbo, state.read_framebuffer),
            or_bound(blit.draw_fbo, state.draw_framebuffer),
        ];
        for fbo in ends {
            if self.named_framebuffer_refused(fbo)? {
                return self.drop_for_framebuffer(fbo);
            }
        }
        self.call(|backend, scope| backend.blit(scope, blit))
    }

    pub(super) fn set_stream_output_targets(&mut self, targets: &[BufferRange]) -> Result<(), Fault> {
        for target in targets {
            self.null_or_known(Kind::Buffer, target.resource, "resource")?;
        }
        let set = self.bind.stream_output_targets.set(0, targets);
        self.must(set, "count")?;
        self.bind.serials.stream_output = self.next_serial();
        Ok(())
    }

    pub(super) fn bind_stream_output(&mut self, bind: &StreamOutputBind) -> Result<(), Fault> {
        let open = self.bind.capture.is_some_and(|capture| !capture.paused);
        self.must(!open, "lifetime_id")?;
        if bind.lifetime_id != 0 && self.stream_output_at(bind.lifetime_id).is_none() {
            let over = Fault::OverLimit { row: self.op, field: "lifetime_id" };
            let table = &mut self.objects.stream_outputs;
            let at = match (0..table.len()).find(|at| table.get(*at).is_some_and(|one| one.lifetime_id == 0))
            {
                Some(free) => free,
                None => {
                    let size = size_of::<StreamOutput<B::StreamOutput>>() as u64;
                    if table.len() >= STREAM_OUTPUTS || !self.records.take(size) {
                        return Err(over);
                    }
                    if !table.push() {
                        self.records.give_back(size);
                        return Err(over);
                    }
                    table.len() - 1
                }
            };
            table.get_mut(at).ok_or(over)?.lifetime_id = bind.lifetime_id;
        }
        self.bind.state.stream_output = bind.lifetime_id;
        self.bind.serials.stream_output = self.next_serial();
        Ok(())
    }

    fn stream_output_at(&self, lifetime_id: u64) -> Option<u32> {
        let table = &self.objects.stream_outputs;
        (0..table.len()).find(|at| table.get(*at).is_some_and(|one| one.lifetime_id == lifetime_id))
    }

    pub(super) fn delete_stream_output(&mut self, bind: &StreamOutputBind) -> Result<(), Fault> {
        let captures = self.bind.capture.is_some_and(|capture| capture.begin.lifetime_id == bind.lifetime_id);
        self.must(bind.lifetime_id != 0 && !captures, "lifetime_id")?;
        let at = self.stream_output_at(bind.lifetime_id).ok_or(self.unnamed("lifetime_id"))?;
        if let Some(object) = self.objects.stream_outputs.get_mut(at) {
            object.lifetime_id = 0;
            let twin = core::mem::take(&mut object.twin);
            self.release(Twin::StreamOutput(twin));
        }
        if self.bind.state.stream_output == bind.lifetime_id {
            self.bind.state.stream_output = 0;
            self.bind.serials.stream_output = self.next_serial();
        }
        Ok(())
    }

    pub(super) fn begin_stream_output(&mut self, begin: &StreamOutputBegin) -> Result<(), Fault> {
        self.must(self.bind.capture.is_none(), "capture")?;
        self.known(Kind::ShaderCso, begin.capture_program, "capture_program")?;
        if begin.lifetime_id != 0 && self.stream_output_at(begin.lifetime_id).is_none() {
            return Err(self.unnamed("lifetime_id"));
        }
        let mut refused = None;
        for target in &begin.targets {
            self.null_or_known(Kind::Buffer, target.resource, "targets")?;
            if self.objects.buffers.known(target.resource).is_some_and(|buffer| buffer.is_refused()) {
                refused = Some(target.resource);
            }
        }
        let capture = Capture { begin: *begin, paused: false };
        self.bind.capture = Some(capture);
        self.bind.serials.stream_output = self.next_serial();
        match refused {
            // The span is open, and captures nothing.
            Some(buffer) => self.drop_for_buffer(buffer),
            None => self.call(|backend, scope| backend.begin_stream_output(scope, &capture)),
        }
    }

    pub(super) fn end_stream_output(&mut self, counted: &XfbAccounting) -> Result<(), Fault> {
        self.must(self.bind.capture.is_some(), "capture")?;
        let outcome = self.call(|backend, scope| backend.end_stream_output(scope, counted));
        self.bind.capture = None;
        self.bind.serials.stream_output = self.next_serial();
        outcome
    }

    pub(super) fn pause_stream_output(&mut self, pause: bool) -> Result<(), Fault> {
        match &mut self.bind.capture {
            Some(capture) if capture.paused != pause => capture.paused = pause,
            _ => return Err(self.corrupt("capture")),
        }
        self.bind.serials.stream_output = self.next_serial();
        self.call(|backend, scope| backend.pause_stream_output(scope, pause))
    }

    pub(super) fn present(&mut self, present: &Present, damage: &[DamageRect]) -> Result<(), Fault> {
        self.must(self.current.draw_surface != 0, "surface")?;
        self.must(present.frame_serial == *self.frame + 1, "frame_serial")?;
        *self.frame = present.frame_serial;
        let (backend, mut scope) = self.scope();
        match backend.present(&mut scope, present, damage) {
            Ok(presented) => match presented.surface_changed {
                Some(changed) => {
                    let origin = self.origin();
                    self.outlet.surface_changed(&SurfaceChanged { origin, ..changed })
                }
                None => Ok(()),
            },
            Err(error) => self.verb(Err(error)),
        }
    }

    pub(super) fn set_swap_interval(&mut self, interval: &SwapInterval) -> Result<(), Fault> {
        self.call(|backend, scope| backend.set_swap_interval(scope, interval.interval))
    }

    pub(super) fn debug_mark(&mut self, mark: &DebugMark, text: &[u8]) -> Result<(), Fault> {
        let kind = mark.object_kind().ok_or(self.corrupt("object_kind"))?;
        if mark.op() == Some(DebugMarkOp::Label) && kind != Kind::None && kind != Kind::Context {
            self.null_or_known(kind, mark.object, "object")?;
        }
        self.call(|backend, scope| backend.debug_mark(scope, mark, text))
    }
}
