//! What the applier asks for, row by row.

use runahead_core::{
    backend::{Backend, Outcome, Presented, Progress, Read, Scope, Ticket, Twin},
    bind_state::Capture,
    storage::Storage,
};
use runahead_wire::{
    Bulk, Handle,
    caps::CapsView,
    handle::Kind,
    payload::{
        BindContext, Blit, Clear, ClearBuffer, ClearTexture, CopyBuffer, CopyFromFramebuffer, CopyRegion,
        DamageRect, DebugMark, DrawIndirect, DrawInfo, DrawRange, FlushRange, GridInfo, Invalidate,
        MemoryBarrier, MipPlan, Present, QueryDesc, QueryResultAnswer, ReadbackToBuffer, SharedImage,
        SharedImageAnswer, SubData, SubRegion, XfbAccounting,
    },
};

use glow::HasContext;

use crate::{
    Buffer, Fence, Framebuffer, Gles, Query, Renderbuffer, Sampler, Shader, StreamOutput, Texture, View,
    gl::{FAILED, Named, UNSUPPORTED, gl},
    programs, queries, renderbuffers, shading,
    sync::Point,
};

impl Gles {
    /// Enters the native context that a twin is of; its name, if it has one and that context is there.
    fn leaving<T>(&mut self, named: Named<T>) -> Option<T> {
        let name = named.name?;
        self.enter_home(named.home).ok().map(|()| name)
    }
}

impl Backend for Gles {
    type Buffer = Buffer;
    type Texture = Texture;
    type Renderbuffer = Renderbuffer;
    type Framebuffer = Framebuffer;
    type RenderState = ();
    type VertexElements = ();
    type Sampler = Sampler;
    type SamplerView = View;
    type Shader = Shader;
    type Fence = Fence;
    type Query = Query;
    type StreamOutput = StreamOutput;

    fn caps(&self) -> CapsView<'_> {
        self.caps.view()
    }

    fn release(&mut self, twin: Twin<Self>) {
        macro_rules! delete {
            ($twin:expr, |$name:ident, $gl:ident, $native:ident| $delete:expr) => {
                if let Some($name) = self.leaving($twin.named)
                    && let Some($native) = self.current.and_then(|current| self.natives.get_mut(current.at))
                {
                    let $gl = &self.gl;
                    $delete
                }
            };
        }
        match twin {
            Twin::Buffer(mut twin) => {
                twin.mapped = None;
                delete!(twin, |name, gl, native| {
                    native.bound.forget(name);
                    native.vertices.forget(name);
                    native.points.forget(name);
                    gl!(gl, delete_buffer(name));
                });
            }
            Twin::Texture(twin) => {
                delete!(twin, |name, gl, native| native.forget_texture(gl, name, twin.attached))
            }
            Twin::SamplerView(twin) => delete!(twin, |name, gl, native| {
                native.units.forget(name);
                gl!(gl, delete_texture(name));
            }),
            Twin::Renderbuffer(twin) => {
                delete!(twin, |name, gl, _native| gl!(gl, delete_renderbuffer(name)));
            }
            Twin::Framebuffer(twin) => delete!(twin, |name, gl, native| {
                native.framebuffers.forget(name);
                gl!(gl, delete_framebuffer(name));
            }),
            Twin::Sampler(twin) => delete!(twin, |name, gl, native| {
                native.units.forget_sampler(name);
                gl!(gl, delete_sampler(name));
            }),
            Twin::Shader(twin) => delete!(twin, |name, gl, native| {
                native.programs.forget(name);
                gl!(gl, delete_program(name));
            }),
            Twin::Fence(twin) => delete!(twin, |name, gl, _native| name.delete(gl)),
            Twin::Query(twin) => {
                if !twin.pieces.is_empty()
                    && self.enter_home(twin.home).is_ok()
                    && let Some(native) = self.current.and_then(|current| self.natives.get_mut(current.at))
                {
                    native.queries.release(&self.gl, &twin);
                }
            }
            Twin::StreamOutput(twin) => {
                delete!(twin, |name, gl, native| native.captures.delete(gl, name));
            }
            Twin::RenderState(()) | Twin::VertexElements(()) => {}
        }
    }

    fn define_storage<S: Storage>(
        &mut self,
        scope: &mut Scope<'_, Self, S>,
        kind: Kind,
        resource: Handle,
    ) -> Outcome {
        let largest = self.caps.limits().max_buffer_size;
        let image = match kind {
            Kind::Buffer => None,
            Kind::Renderbuffer => scope.objects.renderbuffers.get(resource).map(|object| &object.record.desc),
            _ => scope.objects.textures.get(resource).map(|object| &object.record.desc),
        };
        image.map_or(Ok(()), |desc| self.caps.hold(desc))?;
        let (gl, native) = self.enter(scope.group)?;
        let home = native.home;
        native.points.stale();
        native.images.stale();
        match kind {
            Kind::Buffer => native.bound.define(&mut scope.objects.buffers, resource, largest),
            Kind::Renderbuffer => renderbuffers::define(gl, home, &mut scope.objects.renderbuffers, resource),
            _ => native.define_texture(gl, scope, resource),
        }
    }

    fn create_shader<S: Storage>(
        &mut self,
        scope: &mut Scope<'_, Self, S>,
        shader: Handle,
        modules: [Bulk<'_>; 6],
        reflection: Bulk<'_>,
    ) -> Outcome {
        let Some(object) = scope.objects.shaders.get_mut(shader) else { return Err(FAILED) };
        if !programs::takes(self.gl.version, object.record.desc.stage_mask()) {
            return Err(UNSUPPORTED);
        }
        object.twin.link(&modules, &reflection)
    }

    fn bind_context<S: Storage>(&mut self, scope: &mut Scope<'_, Self, S>, bind: &BindContext) -> Outcome {
        let at = self.natives.iter().position(|native| native.group == scope.group).ok_or(FAILED)?;
        let there = self.current.is_some_and(|current| {
            current.number == crate::CURRENT.get()
                && (current.at, current.draw, current.read) == (at, bind.draw_surface, bind.read_surface)
        });
        if !there {
            self.bind(at, bind.draw_surface, bind.read_surface)?;
        }
        let Some(native) = self.natives.get_mut(at) else { return Err(FAILED) };
        native.steady = None;
        native.captures.switch(&self.gl, scope.context);
        native.programs.held = native.captures.is_running();
        native.queries.switch(&self.gl, scope.context, &mut scope.objects.queries)
    }

    fn upload_buffer<S: Storage>(
        &mut self,
        scope: &mut Scope<'_, Self, S>,
        data: &SubData,
        bytes: Bulk<'_>,
        resident: bool,
    ) -> Outcome {
        // GL orders every write with the GPU's work.
        let _ = resident;
        let range = data.buffer_range().ok_or(FAILED)?;
        let (gl, native) = self.enter(scope.group)?;
        native.bound.upload(gl, native.home, &mut scope.objects.buffers, data.resource, range, &bytes)
    }

    fn upload_texture<S: Storage>(
        &mut self,
        scope: &mut Scope<'_, Self, S>,
        data: &SubData,
        regions: &[SubRegion],
        bytes: Bulk<'_>,
    ) -> Outcome {
        let (gl, native) = self.enter(scope.group)?;
        native.upload_texture(gl, scope, data, regions, &bytes)
    }

    fn flush_range<S: Storage>(&mut self, _: &mut Scope<'_, Self, S>, _: &FlushRange) -> Outcome {
        // The bytes came before, as an upload, which GL has ordered.
        Ok(())
    }

    fn map_persistent<S: Storage>(
        &mut self,
        scope: &mut Scope<'_, Self, S>,
        buffer: Handle,
    ) -> Outcome<Option<u64>> {
        if !self.shares_process {
            return Ok(None);
        }
        let (gl, native) = self.enter(scope.group)?;
        native.bound.map(gl, native.home, &mut scope.objects.buffers, buffer)
    }

    fn unmap_persistent<S: Storage>(&mut self, scope: &mut Scope<'_, Self, S>, buffer: Handle) -> Outcome {
        let (gl, native) = self.enter(scope.group)?;
        native.bound.unmap(gl, &mut scope.objects.buffers, buffer);
        Ok(())
    }

    fn copy_buffer<S: Storage>(&mut self, scope: &mut Scope<'_, Self, S>, copy: &CopyBuffer) -> Outcome {
        let (gl, native) = self.enter(scope.group)?;
        native.bound.copy(gl, native.home, &mut scope.objects.buffers, copy)
    }

    fn copy_region<S: Storage>(&mut self, scope: &mut Scope<'_, Self, S>, copy: &CopyRegion) -> Outcome {
        let (gl, native) = self.enter(scope.group)?;
        native.copy_region(gl, scope, copy)
    }

    fn copy_framebuffer_to_texture<S: Storage>(
        &mut self,
        scope: &mut Scope<'_, Self, S>,
        copy: &CopyFromFramebuffer,
    ) -> Outcome {
        let (gl, native) = self.enter(scope.group)?;
        native.copy_to_texture(gl, scope, copy)
    }

    fn generate_mipmap<S: Storage>(&mut self, scope: &mut Scope<'_, Self, S>, plan: &MipPlan) -> Outcome {
        let (gl, native) = self.enter(scope.group)?;
        native.generate_mipmap(gl, scope, plan)
    }

    fn clear_texture<S: Storage>(&mut self, scope: &mut Scope<'_, Self, S>, clear: &ClearTexture) -> Outcome {
        let (gl, native) = self.enter(scope.group)?;
        native.clear_texture(gl, scope, clear)
    }

    fn clear_buffer<S: Storage>(&mut self, scope: &mut Scope<'_, Self, S>, clear: &ClearBuffer) -> Outcome {
        let (gl, native) = self.enter(scope.group)?;
        native.bound.fill(gl, native.home, &mut scope.objects.buffers, clear)
    }

    fn invalidate<S: Storage>(&mut self, scope: &mut Scope<'_, Self, S>, what: &Invalidate) -> Outcome {
        let (gl, native) = self.enter(scope.group)?;
        native.invalidate(gl, scope, what)
    }

    fn blit<S: Storage>(&mut self, scope: &mut Scope<'_, Self, S>, blit: &Blit) -> Outcome {
        let (gl, native) = self.enter(scope.group)?;
        native.blit(gl, scope, blit)
    }

    fn clear<S: Storage>(&mut self, scope: &mut Scope<'_, Self, S>, clear: &Clear) -> Outcome {
        let (gl, native) = self.enter(scope.group)?;
        native.clear(gl, scope, clear)
    }

    #[inline]
    fn draw<S: Storage>(
        &mut self,
        scope: &mut Scope<'_, Self, S>,
        draw: &DrawInfo,
        ranges: &[DrawRange],
        indirect: Option<&DrawIndirect>,
    ) -> Outcome {
        let (gl, native) = self.enter_to_draw(scope.group)?;
        native.draw(gl, scope, draw, ranges, indirect)
    }

    fn dispatch<S: Storage>(&mut self, scope: &mut Scope<'_, Self, S>, grid: &GridInfo) -> Outcome {
        let most = self.caps.limits().max_compute_work_group_count;
        let (gl, native) = self.enter(scope.group)?;
        native.dispatch(gl, scope, grid, most)
    }

    fn memory_barrier<S: Storage>(
        &mut self,
        scope: &mut Scope<'_, Self, S>,
        barrier: &MemoryBarrier,
    ) -> Outcome {
        let (gl, _) = self.enter(scope.group)?;
        shading::memory_barrier(gl, barrier)
    }

    fn begin_stream_output<S: Storage>(
        &mut self,
        scope: &mut Scope<'_, Self, S>,
        capture: &Capture,
    ) -> Outcome {
        let (gl, native) = self.enter(scope.group)?;
        native.begin_capture(gl, scope, capture)
    }

    fn end_stream_output<S: Storage>(
        &mut self,
        scope: &mut Scope<'_, Self, S>,
        counted: &XfbAccounting,
    ) -> Outcome {
        // The driver counts for itself.
        let _ = counted;
        let (gl, native) = self.enter(scope.group)?;
        native.captures.end(gl, scope.context);
        native.programs.held = false;
        Ok(())
    }

    fn pause_stream_output<S: Storage>(&mut self, scope: &mut Scope<'_, Self, S>, paused: bool) -> Outcome {
        let (gl, native) = self.enter(scope.group)?;
        native.captures.pause(gl, scope.context, paused);
        native.programs.held = native.captures.is_running();
        Ok(())
    }

    fn begin_read<S: Storage>(&mut self, scope: &mut Scope<'_, Self, S>, read: Read<'_>) -> Outcome<Ticket> {
        self.enter(scope.group)?;
        let at = self.current.map_or(usize::MAX, |current| current.at);
        let native = self.natives.get_mut(at).ok_or(FAILED)?;
        self.reads.begin(&self.gl, native, scope, &read)
    }

    fn poll_read(&mut self, ticket: Ticket, wait: bool) -> Outcome<Option<&[u8]>> {
        let home = self.reads.home(ticket).ok_or(FAILED)?;
        self.enter_home(home)?;
        self.reads.poll(&self.gl, ticket, wait)
    }

    fn end_read(&mut self, ticket: Ticket) {
        if let Some(home) = self.reads.home(ticket)
            && self.enter_home(home).is_ok()
        {
            self.reads.end(&self.gl, ticket);
        }
    }

    fn read_to_buffer<S: Storage>(
        &mut self,
        scope: &mut Scope<'_, Self, S>,
        read: &ReadbackToBuffer,
    ) -> Outcome {
        let (gl, native) = self.enter(scope.group)?;
        native.read_to_buffer(gl, scope, read)
    }

    fn create_fence<S: Storage>(&mut self, scope: &mut Scope<'_, Self, S>, fence: Handle) -> Outcome {
        let (gl, native) = self.enter(scope.group)?;
        let home = native.home;
        scope.objects.fences.get_mut(fence).ok_or(FAILED)?.twin.create(gl, home)
    }

    fn poll_fence(&mut self, fence: &mut Self::Fence, wait: bool) -> Outcome<bool> {
        let (Some(name), false) = (fence.named.name, fence.signaled) else { return Ok(true) };
        self.enter_home(fence.named.home)?;
        fence.signaled = name.is_passed(&self.gl, wait)?;
        Ok(fence.signaled)
    }

    fn wait_fence<S: Storage>(&mut self, scope: &mut Scope<'_, Self, S>, fence: Handle) -> Outcome {
        let (gl, _) = self.enter(scope.group)?;
        if let Some(name) = scope.objects.fences.get(fence).and_then(|object| object.twin.named.name) {
            name.wait(gl);
        }
        Ok(())
    }

    fn begin_query<S: Storage>(&mut self, scope: &mut Scope<'_, Self, S>, query: &QueryDesc) -> Outcome {
        let (gl, native) = self.enter(scope.group)?;
        native.queries.begin(gl, native.home, scope, query)
    }

    fn end_query<S: Storage>(&mut self, scope: &mut Scope<'_, Self, S>, query: &QueryDesc) -> Outcome {
        let (gl, native) = self.enter(scope.group)?;
        native.queries.end(gl, query.query)
    }

    fn query_counter<S: Storage>(&mut self, scope: &mut Scope<'_, Self, S>, query: &QueryDesc) -> Outcome {
        let (gl, native) = self.enter(scope.group)?;
        queries::counter(gl, native.home, scope, query)
    }

    fn poll_query(
        &mut self,
        desc: &QueryDesc,
        query: &mut Self::Query,
        wait: bool,
    ) -> Outcome<Option<QueryResultAnswer>> {
        self.enter_home(query.home)?;
        query.poll(&self.gl, desc, wait)
    }

    fn timestamp(&mut self) -> Outcome<Option<i64>> {
        let at = self.current.map_or(usize::MAX, |current| current.at);
        let home = self.natives.get(at).ok_or(FAILED)?.home;
        self.enter_home(home)?;
        Ok(queries::timestamp(&self.gl))
    }

    fn flush(&mut self) -> Outcome {
        if self.current.is_some_and(|current| current.number == crate::CURRENT.get()) {
            gl!(self.gl, flush());
        }
        Ok(())
    }

    fn present<S: Storage>(
        &mut self,
        scope: &mut Scope<'_, Self, S>,
        present: &Present,
        damage: &[DamageRect],
    ) -> Outcome<Presented> {
        // Damage is a hint.
        let _ = damage;
        let home = self.enter(scope.group)?.1.home;
        self.frames.presented = present.frame_serial;
        let token = scope.draw_surface;
        let surface_changed = if self.surfaces.presents(token) {
            let presented = self.surfaces.present(&self.display, token);
            presented.map_err(|_| self.lost(FAILED))?
        } else {
            gl!(self.gl, flush());
            None
        };
        self.mark_frame(present.frame_serial, home);
        Ok(Presented { surface_changed })
    }

    fn set_swap_interval<S: Storage>(&mut self, scope: &mut Scope<'_, Self, S>, interval: i32) -> Outcome {
        self.surfaces.set_interval(scope.draw_surface, interval).map(|_| ()).map_err(|_| FAILED)
    }

    fn shared_image<S: Storage>(
        &mut self,
        _: &mut Scope<'_, Self, S>,
        _: &SharedImage,
        _: &[DamageRect],
    ) -> Outcome<Option<SharedImageAnswer>> {
        Ok(None)
    }

    fn debug_mark<S: Storage>(
        &mut self,
        scope: &mut Scope<'_, Self, S>,
        mark: &DebugMark,
        text: &[u8],
    ) -> Outcome {
        let (gl, native) = self.enter(scope.group)?;
        native.marks.mark(gl, scope, mark, text);
        Ok(())
    }

    fn progress(&mut self, applied: u64) -> Outcome<Progress> {
        // The driver has copied what lay in the stage by the time that a call returns.
        if let Some((frame, home, fence)) = self.frames.pending
            && let Some(current) = self.current
            && current.number == crate::CURRENT.get()
            && self.natives.get(current.at).is_some_and(|native| native.home == home)
            && fence.is_passed(&self.gl, false)?
        {
            fence.delete(&self.gl);
            self.frames.completed = frame;
            self.frames.pending = None;
        }
        Ok(Progress {
            retired: applied,
            completed_frame: self.frames.completed,
            presented: self.frames.presented,
        })
    }
}

impl Gles {
    /// Puts a fence behind a frame, unless one is out already: the next frame's then stands for both.
    fn mark_frame(&mut self, frame: u64, home: u32) {
        if self.frames.pending.is_none()
            && let Ok(fence) = Point::new(&self.gl)
        {
            self.frames.pending = Some((frame, home, fence));
        }
    }
}
