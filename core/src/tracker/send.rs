//! How families are sent: the plain ones are here, the others have modules of their own.

use runahead_wire::{
    Handle,
    handle::Kind,
    payload::{
        AttribValue, BoundView, BufferRange, ImageView, Member, SamplerStates, SamplerViews, ShaderBuffers,
        ShaderImages, StreamOutputBind, VertexAttribDefaults, VertexBuffer, VertexBuffers,
    },
    pipe::Pipe,
    values::ShaderBufferClass,
};

use super::{Dirty, Family, SyncError, Tracker, handle_only};
use crate::{
    slots::SlotSpace,
    state::{BufferWindow, VERTEX_ATTRIBS, Window},
    storage::Storage,
};

/// Sends a value if it differs from what was sent, or was never sent.
fn value<T: Member, E>(
    wanted: &T,
    sent: &mut T,
    untold: bool,
    send: impl FnOnce(&T) -> Result<(), E>,
) -> Result<(), E> {
    if untold || wanted.as_bytes() != sent.as_bytes() {
        send(wanted)?;
        *sent = *wanted;
    }
    Ok(())
}

/// An element of a window. Some say where they are; that is filled in here, so that callers need not, and so
/// that what compares equal is equal.
trait Point: Member + Default {
    /// Writes the element's own number into it.
    fn place(&mut self, point: u32);
}

impl Point for VertexBuffer {
    fn place(&mut self, point: u32) {
        self.binding_index = point;
    }
}

impl Point for BoundView {
    fn place(&mut self, point: u32) {
        self.unit = point;
    }
}

impl Point for ImageView {
    fn place(&mut self, point: u32) {
        self.unit = point;
    }
}

impl Point for Handle {
    fn place(&mut self, _: u32) {}
}

impl Point for BufferRange {
    fn place(&mut self, _: u32) {}
}

/// Sends a window if it differs from what was sent, or was never sent.
fn window<T: Point, const N: usize, E>(
    wanted: &mut Window<T, N>,
    sent: &mut Window<T, N>,
    untold: bool,
    send: impl FnOnce(u32, &[T]) -> Result<(), E>,
) -> Result<(), E> {
    let start = wanted.start();
    for (point, number) in wanted.covered_mut().iter_mut().zip(start..) {
        point.place(number);
    }
    if untold || !wanted.same(sent) {
        send(start, wanted.covered())?;
        let kept = sent.set(start, wanted.covered());
        debug_assert!(kept, "both windows have the same number of points");
    }
    Ok(())
}

/// Sends a window of indexed buffers if it differs from what was sent, or was never sent.
fn buffers<P: Pipe>(
    class: ShaderBufferClass,
    wanted: &mut BufferWindow,
    sent: &mut BufferWindow,
    untold: bool,
    pipe: &mut P,
) -> Result<(), P::Error> {
    let writable_mask = wanted.writable;
    let untold = untold || writable_mask != sent.writable;
    window(&mut wanted.buffers, &mut sent.buffers, untold, |start, buffers| {
        let count = buffers.len() as u32;
        pipe.set_shader_buffers(&ShaderBuffers { class: class.raw(), start, count, writable_mask }, buffers)
    })?;
    sent.writable = writable_mask;
    Ok(())
}

/// Sends the current values that differ from what was sent, or all if they were never sent.
fn attrib_defaults<P: Pipe>(
    wanted: &mut [AttribValue; VERTEX_ATTRIBS],
    sent: &mut [AttribValue; VERTEX_ATTRIBS],
    untold: bool,
    pipe: &mut P,
) -> Result<(), P::Error> {
    let mut changed = heapless::Vec::<AttribValue, VERTEX_ATTRIBS>::new();
    let mut mask = 0;
    for ((value, sent), location) in wanted.iter_mut().zip(sent.iter()).zip(0..) {
        value.location = location;
        if untold || value != sent {
            mask |= 1 << location;
            let pushed = changed.push(*value);
            debug_assert!(pushed.is_ok(), "there is room for every attribute");
        }
    }
    if mask != 0 {
        pipe.set_vertex_attrib_defaults(&VertexAttribDefaults { mask, count: mask.count_ones() }, &changed)?;
        *sent = *wanted;
    }
    Ok(())
}

impl Tracker {
    /// Widens the windows of views and samplers to every unit that was touched: a verb with narrower ones is a
    /// fault.
    fn cover_touched_units(&mut self) {
        let units = self.wanted.values.max_touched_texture_unit.saturating_add(1);
        let views = cover(&mut self.wanted.sampler_views, units);
        let states = cover(&mut self.wanted.sampler_states, units);
        self.mark(Dirty::when(Family::SamplerViews, views) | Dirty::when(Family::SamplerStates, states));
    }

    /// Sends what is dirty of some families, in the order of the table.
    #[inline(never)]
    pub(super) fn send<P: Pipe, S: Storage>(
        &mut self,
        families: Dirty,
        pipe: &mut P,
        slots: &mut SlotSpace<S>,
    ) -> Result<(), SyncError<P::Error>> {
        self.cover_touched_units();
        for family in (self.dirty & families).families() {
            let untold = self.untold.contains(family);
            let Self { wanted, sent, .. } = self;
            match family {
                Family::Values => {
                    value(&wanted.values, &mut sent.values, untold, |values| {
                        pipe.set_context_values(values)
                    })?;
                }
                Family::Render => self.send_render(untold, pipe, slots)?,
                Family::PixelPack => value(&wanted.pixel_pack, &mut sent.pixel_pack, untold, |pack| {
                    pipe.set_pixel_pack_state(pack)
                })?,
                Family::Patch => {
                    value(&wanted.patch, &mut sent.patch, untold, |patch| pipe.set_patch_state(patch))?;
                }
                Family::AttribDefaults => {
                    attrib_defaults(&mut wanted.attrib_defaults, &mut sent.attrib_defaults, untold, pipe)?;
                }
                Family::VertexElements => self.send_vertex_elements(untold, pipe, slots)?,
                Family::VertexBuffers => {
                    window(
                        &mut wanted.vertex_buffers,
                        &mut sent.vertex_buffers,
                        untold,
                        |start, buffers| {
                            let count = buffers.len() as u32;
                            let head = VertexBuffers { start, count, ..VertexBuffers::default() };
                            pipe.set_vertex_buffers(&head, buffers)
                        },
                    )?;
                }
                Family::IndexBuffer => {
                    value(&wanted.index_buffer, &mut sent.index_buffer, untold, |index| {
                        pipe.set_index_buffer(index)
                    })?
                }
                Family::IndirectBuffers => {
                    value(&wanted.indirect_buffers, &mut sent.indirect_buffers, untold, |buffers| {
                        pipe.set_indirect_buffers(buffers)
                    })?;
                }
                Family::SamplerViews => {
                    window(&mut wanted.sampler_views, &mut sent.sampler_views, untold, |start, views| {
                        pipe.set_sampler_views(&SamplerViews { start, count: views.len() as u32 }, views)
                    })?;
                }
                Family::SamplerStates => {
                    window(
                        &mut wanted.sampler_states,
                        &mut sent.sampler_states,
                        untold,
                        |start, samplers| {
                            let head = SamplerStates { start, count: samplers.len() as u32 };
                            pipe.bind_sampler_states(&head, samplers)
                        },
                    )?;
                }
                Family::ShaderImages => {
                    window(&mut wanted.shader_images, &mut sent.shader_images, untold, |start, images| {
                        pipe.set_shader_images(&ShaderImages { start, count: images.len() as u32 }, images)
                    })?;
                }
                Family::UniformBuffers | Family::StorageBuffers | Family::AtomicBuffers => {
                    let class = match family {
                        Family::StorageBuffers => ShaderBufferClass::Storage,
                        Family::AtomicBuffers => ShaderBufferClass::Atomic,
                        _ => ShaderBufferClass::Uniform,
                    };
                    buffers(class, wanted.buffers_mut(class), sent.buffers_mut(class), untold, pipe)?;
                }
                Family::Programs => {
                    let named = |program: &Handle| handle_only(Kind::ShaderCso, *program);
                    value(&wanted.shader, &mut sent.shader, untold, |bound| {
                        pipe.bind_shader_state(&named(bound))
                    })?;
                    value(&wanted.draw_program, &mut sent.draw_program, untold, |draw| {
                        pipe.set_draw_program(&named(draw))
                    })?;
                    value(&wanted.dispatch_program, &mut sent.dispatch_program, untold, |dispatch| {
                        pipe.set_dispatch_program(&named(dispatch))
                    })?;
                }
                Family::Framebuffers => self.send_framebuffers(untold, pipe, slots)?,
                Family::ConditionalRender => {
                    value(&wanted.conditional_render, &mut sent.conditional_render, untold, |condition| {
                        pipe.set_conditional_render(condition)
                    })?;
                }
                Family::StreamOutput => {
                    // A span of capture that is open forbids it, even for the object that is bound.
                    let open = wanted.values.xfb_active != 0 && wanted.values.xfb_paused == 0;
                    value(&wanted.stream_output, &mut sent.stream_output, untold && !open, |&lifetime_id| {
                        pipe.bind_stream_output(&StreamOutputBind {
                            lifetime_id,
                            ..StreamOutputBind::default()
                        })
                    })?;
                }
            }
            if self.knobs.suppressors {
                self.untold -= Dirty::of(family);
                self.dirty -= Dirty::of(family);
            }
        }
        Ok(())
    }
}

/// Widens a window to begin at 0 and have at least so many points. Whether it had to be.
fn cover<T: Point, const N: usize>(window: &mut Window<T, N>, count: u32) -> bool {
    let narrow = window.start() != 0 || window.count() < count;
    if narrow {
        window.cover(count);
    }
    narrow
}
