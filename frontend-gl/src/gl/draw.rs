//! Verbs: what goes before each, draws and clears.
//!
//! Source: OpenGL ES 2.0.25 sections 2.8 and 4.2.3.

use runahead_core::{Session, Shared, tracker::Verb};
use runahead_wire::{
    Handle,
    payload::{BoundView, Clear, DrawInfo, DrawRange, IndexBuffer},
    pipe::Pipe,
    values::{BufferMask, Topology},
};

use super::{
    arrays::{Indices, Streamed},
    client_memory::Source,
    context::{Objects, Own, State, TurnOf},
    enums,
    error::{Error, Outcome},
    limits::UNITS,
    program::program_in_use,
};

/// The topology of a number.
const fn topology(mode: u32) -> Outcome<Topology> {
    Ok(match mode {
        enums::POINTS => Topology::Points,
        enums::LINES => Topology::Lines,
        enums::LINE_LOOP => Topology::LineLoop,
        enums::LINE_STRIP => Topology::LineStrip,
        enums::TRIANGLES => Topology::Triangles,
        enums::TRIANGLE_STRIP => Topology::TriangleStrip,
        enums::TRIANGLE_FAN => Topology::TriangleFan,
        _ => return Err(Error::InvalidEnum),
    })
}

/// The bytes of an index of a type.
pub(crate) const fn index_bytes(kind: u32) -> Outcome<u8> {
    match kind {
        enums::UNSIGNED_BYTE => Ok(1),
        enums::UNSIGNED_SHORT => Ok(2),
        // `OES_element_index_uint`.
        enums::UNSIGNED_INT => Ok(4),
        _ => Err(Error::InvalidEnum),
    }
}

impl State {
    /// Tells the tracker what may have changed since the last verb, so that it names nothing that has ended.
    #[inline]
    pub(super) fn refresh<P: Shared>(&mut self, objects: &mut Objects, turn: &mut TurnOf<'_, P>) -> Outcome {
        if self.stale.framebuffer || self.seen.images != objects.images_moved {
            self.refresh_framebuffer(objects);
            self.stale.framebuffer = false;
            self.seen.images = objects.images_moved;
        }
        if self.stale.arrays || self.seen.buffers != objects.buffers_moved {
            self.refresh_arrays(objects);
            self.stale.arrays = false;
            self.seen.buffers = objects.buffers_moved;
        }
        let link = program_in_use(&mut objects.code, self.program).map_or(0, |program| program.link_serial);
        if self.stale.program || self.seen.link != link {
            let program = program_in_use(&mut objects.code, self.program);
            let handle = program.map_or(Handle::NULL, |program| program.handle);
            self.tracker.set_programs(handle, handle, Handle::NULL);
            self.stale.program = false;
            self.seen.link = link;
            self.stale.textures = true;
        }
        if self.stale.textures || self.seen.textures != objects.textures_moved {
            self.refresh_textures::<P>(objects, turn)?;
            self.stale.textures = false;
            self.seen.textures = objects.textures_moved;
        }
        Ok(())
    }

    /// Tells the tracker what the texture units show to the program: what is not complete shows nothing.
    #[inline(never)]
    fn refresh_textures<P: Shared>(&mut self, objects: &mut Objects, turn: &mut TurnOf<'_, P>) -> Outcome {
        let Objects { textures, samplers, code, .. } = objects;
        let Self { tracker, units, limits, touched_units, active_unit, .. } = self;
        let program = program_in_use(code, self.program);
        let reads = program.map_or(&[][..], |program| &program.reads);
        // A unit that only a program names shows the texture of name 0.
        let read = reads.iter().map(|(unit, _)| unit + 1).max().unwrap_or(0);
        *touched_units = read.min(UNITS).max(*touched_units);
        let touched = *touched_units as u32;
        let window = tracker.sampler_views();
        window.cover(touched);
        // The tracker fills in the numbers of the units.
        window.covered_mut().fill(BoundView::default());
        for (unit, target) in reads {
            let bound = units.get(*unit).and_then(|unit| unit.bound.get(*target as usize)).copied();
            let Some(texture) = bound.flatten().and_then(|id| textures.get_mut(id)) else { continue };
            if texture.is_complete(limits.npot) && !texture.handle.is_null() {
                texture.tell_parameters(samplers, turn)?;
                if let Some(view) = window.covered_mut().get_mut(*unit) {
                    view.texture = texture.handle;
                }
            }
        }
        let values = &tracker.wanted().values;
        let (active, highest) = (*active_unit as u32, touched - 1);
        if values.max_touched_texture_unit != highest || values.active_texture_unit != active {
            let values = tracker.values();
            (values.active_texture_unit, values.max_touched_texture_unit) = (active, highest);
        }
        tracker.sampler_states().cover(touched);
        Ok(())
    }
}

impl<P: Shared> Own<P> {
    /// Records a verb, and before it whatever it needs.
    pub(crate) fn verb<R>(
        &mut self,
        objects: &mut Objects,
        verb: Verb,
        record: impl FnOnce(&mut State, &mut TurnOf<'_, P>) -> Outcome<R>,
    ) -> Outcome<R> {
        self.turn(|state, turn| {
            state.refresh::<P>(objects, turn)?;
            state.tracker.sync(verb, turn.pipe, turn.slots)?;
            if state.checking.is_some() {
                state.declare::<P>(objects, turn, verb)?;
            }
            record(state, turn)
        })
    }

    /// What draws check: the mode, the framebuffer, the program (sections 2.8 and 2.10.4). Answers the attributes that
    /// the program reads; none where there is nothing to draw with.
    fn drawable(
        &mut self,
        objects: &mut Objects,
        mode: u32,
        count: i32,
    ) -> Outcome<(Topology, u32, Option<u32>)> {
        let mode = topology(mode)?;
        let count = u32::try_from(count).map_err(|_| Error::InvalidValue)?;
        self.need_complete(objects)?;
        let Some(program) = program_in_use(&mut objects.code, self.program) else {
            return Ok((mode, count, None));
        };
        if program.has_conflict() {
            return Err(Error::InvalidOperation);
        }
        Ok((mode, count, program.attributes()))
    }

    /// `glDrawArrays`.
    pub(crate) fn draw_arrays(
        &mut self,
        objects: &mut Objects,
        mode: u32,
        first: i32,
        count: i32,
    ) -> Outcome {
        topology(mode)?;
        let first = u32::try_from(first).map_err(|_| Error::InvalidValue)?;
        let (mode, count, Some(reads)) = self.drawable(objects, mode, count)? else { return Ok(()) };
        if count == 0 {
            return Ok(());
        }
        // What the application keeps for the time of the call is there for the call: attributes without a buffer.
        self.turn(|state, turn| {
            state.refresh::<P>(objects, turn)?;
            let streamed = state.stream_arrays::<P>(turn, reads, Streamed::Range { first, count })?;
            let range = DrawRange { start: streamed.first, count, index_bias: 0 };
            state.draw::<P>(objects, turn, mode, 0, Handle::NULL, range)
        })
    }

    /// `glDrawElements`.
    pub(crate) fn draw_elements(
        &mut self,
        objects: &mut Objects,
        mode: u32,
        count: i32,
        kind: u32,
        indices: Source<'_>,
        offset: u64,
    ) -> Outcome {
        topology(mode)?;
        if count < 0 {
            return Err(Error::InvalidValue);
        }
        let size = index_bytes(kind)?;
        let (mode, count, Some(reads)) = self.drawable(objects, mode, count)? else { return Ok(()) };
        if count == 0 {
            return Ok(());
        }
        let bytes = u64::from(count) * u64::from(size);
        let buffer = self.current_arrays().element_buffer;
        let client_arrays = self.has_client_arrays(reads);
        let indices = match buffer {
            None => match indices.bytes(bytes) {
                Some(indices) => Indices::Client(indices),
                None => return Ok(()),
            },
            Some(id) => {
                let known = client_arrays && offset.checked_add(bytes).is_some();
                if known {
                    self.shadow_buffer(objects, id)?;
                }
                let buffer = objects.buffers.get(id).filter(|buffer| !buffer.handle.is_null());
                let buffer = buffer.ok_or(Error::InvalidOperation)?;
                // Beyond the buffer nothing is read.
                let end = offset.checked_add(bytes).filter(|end| *end <= buffer.size);
                if end.is_none() {
                    return Ok(());
                }
                Indices::Buffer { handle: buffer.handle, offset }
            }
        };
        self.turn(|state, turn| {
            state.refresh::<P>(objects, turn)?;
            let scanned = match (&indices, buffer) {
                _ if !client_arrays => None,
                (Indices::Client(bytes), _) => Some(*bytes),
                (Indices::Buffer { .. }, id) => {
                    let shadow = id.and_then(|id| objects.buffers.get(id)?.shadow.as_deref());
                    shadow.and_then(|shadow| shadow.get(offset as usize..(offset + bytes) as usize))
                }
            };
            if let Some(scanned) = scanned {
                let streamed =
                    state.stream_arrays::<P>(turn, reads, Streamed::Indices { bytes: scanned, size })?;
                if streamed.unrolled {
                    let range = DrawRange { start: 0, count, index_bias: 0 };
                    return state.draw::<P>(objects, turn, mode, 0, Handle::NULL, range);
                }
            }
            let (handle, offset) = match indices {
                Indices::Buffer { handle, offset } => (handle, offset),
                Indices::Client(bytes) => 'copied: {
                    if let Some(buffer) = state.resident.find(turn, 0, bytes, &mut state.dead)? {
                        break 'copied (buffer, 0);
                    }
                    state.index_stream.make_room(turn, bytes.len() as u64)?;
                    let at = state.index_stream.write(turn, 0, bytes)?;
                    (state.index_stream.handle(), at)
                }
            };
            // An index begins where it is counted from: what is left of the offset is the binding's.
            let left = offset % u64::from(size);
            let start = u32::try_from(offset / u64::from(size)).map_err(|_| Error::OutOfMemory)?;
            let wanted = IndexBuffer { resource: handle, offset: left, ..IndexBuffer::default() };
            if state.tracker.wanted().index_buffer != wanted {
                *state.tracker.index_buffer() = wanted;
            }
            let range = DrawRange { start, count, index_bias: 0 };
            state.draw::<P>(objects, turn, mode, size, handle, range)
        })
    }

    /// `glClear`.
    pub(crate) fn clear(&mut self, objects: &mut Objects, mask: u32) -> Outcome {
        let bits = [
            (enums::COLOR_BUFFER_BIT, BufferMask::COLOR),
            (enums::DEPTH_BUFFER_BIT, BufferMask::DEPTH),
            (enums::STENCIL_BUFFER_BIT, BufferMask::STENCIL),
        ];
        if bits.iter().fold(mask, |mask, (bit, _)| mask & !bit) != 0 {
            return Err(Error::InvalidValue);
        }
        self.need_complete(objects)?;
        let buffers = bits
            .iter()
            .filter(|(bit, _)| mask & bit != 0)
            .fold(BufferMask::EMPTY, |buffers, (_, buffer)| buffers.with(*buffer));
        if buffers.is_empty() {
            return Ok(());
        }
        self.verb(objects, Verb::Clear, |_, turn| {
            Ok(turn.pipe.clear(&Clear { buffer_mask: buffers.raw(), ..Clear::default() })?)
        })
    }
}

impl State {
    /// Records a draw, with what is of the program and of the context before it.
    #[inline]
    fn draw<P: Shared>(
        &mut self,
        objects: &mut Objects,
        turn: &mut TurnOf<'_, P>,
        mode: Topology,
        index_size: u8,
        index_resource: Handle,
        range: DrawRange,
    ) -> Outcome {
        let depth_range = self.render().depth_ranges[0];
        let drops = self.drops();
        if let Some(program) = program_in_use(&mut objects.code, self.program).filter(|_| !drops) {
            program.emit(turn.pipe, depth_range)?;
        }
        self.tracker.sync(Verb::Draw, turn.pipe, turn.slots)?;
        if self.checking.is_some() {
            self.declare::<P>(objects, turn, Verb::Draw)?;
        }
        let info = DrawInfo {
            mode: mode.raw(),
            index_size,
            instance_count: 1,
            index_resource,
            max_index: u32::MAX,
            num_draws: 1,
            ..DrawInfo::default()
        };
        Ok(turn.pipe.draw_vbo(&info, &[range], &[])?)
    }
}

impl<P: Shared> Own<P> {
    /// Sees to it that the contents of a buffer are here. It waits for them the first time.
    #[cold]
    fn shadow_buffer(&mut self, objects: &mut Objects, id: super::table::Id) -> Outcome {
        use runahead_core::{link::Patience, reply_space};
        use runahead_wire::payload::Readback;
        let buffer = objects.buffers.get_mut(id).ok_or(Error::InvalidOperation)?;
        if buffer.shadow.is_some() || buffer.handle.is_null() || buffer.size == 0 {
            return Ok(());
        }
        let size = usize::try_from(buffer.size).map_err(|_| Error::OutOfMemory)?;
        let mut shadow = Vec::new();
        shadow.try_reserve_exact(size).map_err(|_| Error::OutOfMemory)?;
        shadow.resize(size, 0);
        self.look_for_mail();
        self.written_back.clear();
        let read = Readback { resource: buffer.handle, offset: 0, size: buffer.size };
        let pending = self.turn(|_, turn| {
            let pending = turn.pipe.ask(0)?;
            turn.pipe.resource_readback(&read, Some(reply_space(&pending)))?;
            Ok(pending)
        })?;
        let waited = self.session().wait_answer(&pending, Patience::Spin);
        self.turn(|_, turn| {
            turn.pipe.poll_events()?;
            let _ = turn.pipe.release(pending);
            Ok(())
        })?;
        waited?;
        self.look_for_mail();
        for (offset, bytes) in std::mem::take(&mut self.written_back) {
            let start = usize::try_from(offset).map_err(|_| Error::OutOfMemory)?;
            if let Some(place) = shadow.get_mut(start..start + bytes.len()) {
                place.copy_from_slice(&bytes);
            }
        }
        buffer.shadow = Some(shadow);
        Ok(())
    }
}
