//! What shaders alone see: indexed buffers, image units, bindings of programs, dispatches, capture.

use runahead_core::{
    Session,
    slots::{Band, SlotSpace},
    tracker::{Tracker, Verb},
};
use runahead_wire::{
    Bulk, Handle,
    format::Format,
    payload::{
        BindContext, BufferRange, FramebufferState, GridInfo, ImageView, MemoryBarrier, ProgramBindings,
        ProgramDesc, ProgramSamplerUnit, ProgramStorageOverride, ResourceDesc, StreamOutputBegin,
        StreamOutputControl, Surface, WHOLE_SIZE, XfbAccounting,
    },
    values::{
        BarrierBits, FramebufferTarget, ImageAccess, ResourceTarget, ShaderBufferClass, SpirvStatus,
        StageMask, StorageKind, SurfaceKind, Topology,
    },
};

use super::{Stage, StageError};
use crate::scenes::{Reflection, SIDE, known::Bindings};

/// Pixels along each side of a cell; the surface has eight by eight.
pub(in crate::scenes) const CELL: u32 = 8;

impl<P: Session> Stage<'_, P> {
    /// Draws go to one cell from now on, as if it were the surface.
    pub fn cell(&mut self, at: u32) {
        let viewport = &mut self.tracker.render_state().viewports[0];
        let row = SIDE / CELL;
        (viewport.x, viewport.y) = ((at % row * CELL) as f32, (at / row * CELL) as f32);
        (viewport.width, viewport.height) = (CELL as f32, CELL as f32);
    }

    /// Binds a span of a buffer to an indexed point; with no size, the whole of it.
    ///
    /// # Errors
    /// [`StageError`].
    pub fn point(
        &mut self,
        class: ShaderBufferClass,
        point: u32,
        resource: Handle,
        span: Option<(u64, u64)>,
    ) -> Result<(), StageError> {
        let (offset, size) = span.unwrap_or((0, WHOLE_SIZE));
        let window = self.tracker.shader_buffers(class);
        if class != ShaderBufferClass::Uniform {
            window.writable = [u32::MAX; 3];
        }
        if window.buffers.set_one(point, BufferRange { resource, offset, size }) {
            Ok(())
        } else {
            Err(StageError::Scene("there is no such point"))
        }
    }

    /// Binds level 0 of a texture to an image unit: one layer, or every one.
    ///
    /// # Errors
    /// [`StageError`].
    pub fn image_unit(
        &mut self,
        unit: u32,
        texture: Handle,
        format: Format,
        access: ImageAccess,
        layer: Option<u32>,
    ) -> Result<(), StageError> {
        let view = ImageView {
            resource: texture,
            unit,
            internal_format: format.raw(),
            layer: layer.unwrap_or(0),
            layered: u8::from(layer.is_none()),
            access: access.raw() as u8,
            ..ImageView::default()
        };
        if self.tracker.shader_images().set_one(unit, view) {
            Ok(())
        } else {
            Err(StageError::Scene("there is no such unit"))
        }
    }

    /// A texture of one level whose storage stays as it is, which images need.
    ///
    /// # Errors
    /// [`StageError`].
    pub fn storage_texture(
        &mut self,
        target: ResourceTarget,
        format: Format,
        [width, height, layers]: [u32; 3],
    ) -> Result<Handle, StageError> {
        let desc = ResourceDesc {
            target: target.raw() as u8,
            storage_kind: StorageKind::Mipmap.raw() as u8,
            internal_format: format.raw(),
            width,
            height,
            depth: 1,
            levels: 1,
            array_layers: layers as u16,
            immutable: 1,
            image_bindable_hint: 1,
            ..ResourceDesc::default()
        };
        self.texture_of(desc)
    }

    /// Draws go to a new renderbuffer of eight bits a component and so many samples, as wide as the surface.
    ///
    /// # Errors
    /// [`StageError`].
    pub fn target_samples(&mut self, samples: u16) -> Result<(), StageError> {
        let renderbuffer = self.renderbuffer(Format::Rgba8, SIDE, SIDE, samples)?;
        let surface = Surface {
            resource: renderbuffer,
            internal_format: Format::Rgba8.raw(),
            kind: SurfaceKind::Renderbuffer.raw() as u8,
            ..Surface::default()
        };
        let mut state = FramebufferState {
            draw_buffers: [0, -1, -1, -1, -1, -1, -1, -1],
            width: SIDE as u16,
            height: SIDE as u16,
            samples,
            complete: 1,
            ..FramebufferState::default()
        };
        state.color[0] = surface;
        state.read_surface = surface;
        let number = self.next();
        self.known.framebuffer = state;
        self.tracker.set_framebuffer(FramebufferTarget::Both, number, number, &state);
        Ok(())
    }

    /// Changes the bindings of a program: its uniform blocks by index, its samplers and images by location, its storage
    /// blocks by name.
    ///
    /// # Errors
    /// [`StageError`].
    pub fn bindings(
        &mut self,
        program: Handle,
        blocks: &[i32],
        units: &[(u32, i32)],
        storage: &[(&str, i32)],
    ) -> Result<(), StageError> {
        let mut set = Bindings { blocks: blocks.to_vec(), ..Bindings::default() };
        for (location, unit) in units {
            set.units.push(ProgramSamplerUnit { location: *location, unit: *unit });
        }
        for (name, binding) in storage {
            set.storage.push(ProgramStorageOverride {
                name_offset: set.names.len() as u32,
                name_size: name.len() as u32,
                binding: *binding,
                ..ProgramStorageOverride::default()
            });
            set.names.extend_from_slice(name.as_bytes());
        }
        let head = ProgramBindings {
            cso: program,
            block_binding_count: set.blocks.len() as u32,
            sampler_unit_count: set.units.len() as u32,
            storage_override_count: set.storage.len() as u32,
            ..ProgramBindings::default()
        };
        let names = Bulk::Bytes(&set.names);
        self.pipe.set_program_bindings(&head, &set.blocks, &set.units, &set.storage, names)?;
        self.known.bindings.push((program, set));
        Ok(())
    }

    /// A link of a program that failed.
    ///
    /// # Errors
    /// [`StageError`].
    pub fn failed_link(&mut self, program: Handle) -> Result<(), StageError> {
        let known = self.known.programs.iter_mut().rev().find(|one| one.0 == program);
        let known = known.ok_or(StageError::Scene("there is no such program"))?;
        known.1 = ProgramDesc {
            cso: program,
            stage_mask: StageMask::VERTEX.with(StageMask::FRAGMENT).raw(),
            reserved_num_samples_offset: u32::MAX,
            spirv_status: SpirvStatus::Failed.raw() as u8,
            link_status: 0,
            ..ProgramDesc::default()
        };
        let desc = known.1;
        let archive = Reflection::default().encode().map_err(StageError::Program)?;
        Ok(self.pipe.create_shader_state(&desc, [Bulk::Bytes(&[]); 6], Bulk::Bytes(&archive))?)
    }

    /// The program of draws, and of dispatches.
    pub fn use_program(&mut self, program: Handle) {
        self.tracker.set_programs(program, program, program);
    }

    /// Binds the current program once more, as an application does that takes up what became of a link.
    ///
    /// # Errors
    /// [`StageError`].
    pub fn bind_again(&mut self, program: Handle) -> Result<(), StageError> {
        use runahead_wire::{handle::Kind, payload::HandleOnly};
        let named = HandleOnly { handle: program, kind: Kind::ShaderCso.raw(), ..HandleOnly::default() };
        Ok(self.pipe.bind_shader_state(&named)?)
    }

    /// Defines the store of a buffer anew, with these bytes.
    ///
    /// # Errors
    /// [`StageError`].
    pub fn redefine(&mut self, buffer: Handle, bytes: &[u8]) -> Result<(), StageError> {
        let known = self.known.buffers.iter_mut().rev().find(|one| one.0 == buffer);
        let known = known.ok_or(StageError::Scene("there is no such buffer"))?;
        known.1.buf_size = bytes.len() as u64;
        let desc = known.1;
        self.pipe.resource_respecify(&desc)?;
        self.write(buffer, 0, bytes)
    }

    /// Dispatches.
    ///
    /// # Errors
    /// [`StageError`].
    pub fn dispatch(&mut self, [grid_x, grid_y, grid_z]: [u32; 3]) -> Result<(), StageError> {
        self.launch(&GridInfo { grid_x, grid_y, grid_z, ..GridInfo::default() })
    }

    /// Dispatches as many groups as a buffer says.
    ///
    /// # Errors
    /// [`StageError`].
    pub fn dispatch_indirect(&mut self, buffer: Handle, offset: u64) -> Result<(), StageError> {
        self.launch(&GridInfo {
            indirect_buffer: buffer,
            indirect_offset: offset,
            is_indirect: 1,
            ..GridInfo::default()
        })
    }

    fn launch(&mut self, grid: &GridInfo) -> Result<(), StageError> {
        self.tracker.sync(Verb::Dispatch, self.pipe, &mut self.slots)?;
        self.declare(Verb::Dispatch)?;
        Ok(self.pipe.launch_grid(grid)?)
    }

    /// Orders accesses after what shaders wrote.
    ///
    /// # Errors
    /// [`StageError`].
    pub fn barrier(&mut self, bits: BarrierBits) -> Result<(), StageError> {
        Ok(self.pipe.memory_barrier(&MemoryBarrier { bits: bits.raw(), ..MemoryBarrier::default() })?)
    }

    /// Chooses a transform feedback object by its identity, which is made then; 0 for the default one.
    pub fn stream_output(&mut self, lifetime_id: u64) {
        self.tracker.set_stream_output(lifetime_id);
        self.tracker.values().bound_xfb_lifetime_id = lifetime_id;
    }

    /// Begins a span of capture into these buffers.
    ///
    /// # Errors
    /// [`StageError`].
    pub fn begin_capture(
        &mut self,
        program: Handle,
        mode: Topology,
        targets: &[(Handle, Option<(u64, u64)>)],
    ) -> Result<(), StageError> {
        let lifetime_id = self.tracker.wanted().stream_output;
        let mut begin = StreamOutputBegin {
            primitive_mode: mode.raw(),
            capture_program: program,
            lifetime_id,
            ..StreamOutputBegin::default()
        };
        for (place, (resource, span)) in begin.targets.iter_mut().zip(targets) {
            let (offset, size) = span.unwrap_or((0, WHOLE_SIZE));
            *place = BufferRange { resource: *resource, offset, size };
        }
        self.stream_verb()?;
        self.pipe.begin_stream_output(&begin)?;
        let values = self.tracker.values();
        values.xfb_active = 1;
        values.xfb_generation += 1;
        Ok(())
    }

    /// Pauses capture, or lets it go on.
    ///
    /// # Errors
    /// [`StageError`].
    pub fn pause_capture(&mut self, pause: bool) -> Result<(), StageError> {
        self.stream_verb()?;
        let control = StreamOutputControl::default();
        if pause {
            self.pipe.pause_stream_output(&control)?;
        } else {
            self.pipe.resume_stream_output(&control)?;
        }
        self.tracker.values().xfb_paused = u8::from(pause);
        Ok(())
    }

    /// Ends a span of capture.
    ///
    /// # Errors
    /// [`StageError`].
    pub fn end_capture(&mut self, mode: Topology) -> Result<(), StageError> {
        self.stream_verb()?;
        self.pipe
            .end_stream_output(&XfbAccounting { primitive_mode: mode.raw(), ..XfbAccounting::default() })?;
        let values = self.tracker.values();
        (values.xfb_active, values.xfb_paused) = (0, 0);
        Ok(())
    }

    fn stream_verb(&mut self) -> Result<(), StageError> {
        self.tracker.sync(Verb::StreamOutput, self.pipe, &mut self.slots)?;
        self.declare(Verb::StreamOutput)
    }

    /// Makes the other context of the share group current, on the same surface. Each has a state of its own; objects are
    /// shared.
    ///
    /// # Errors
    /// [`StageError`].
    pub fn switch(&mut self, context: u64) -> Result<(), StageError> {
        self.pipe.bind_context(&BindContext { context, draw_surface: 1, read_surface: 1 })?;
        let at = self.others.iter().position(|(of, _)| *of == context);
        let next = match at {
            Some(at) => self.others.swap_remove(at).1,
            None => Box::<Tracker>::default(),
        };
        let old = std::mem::replace(&mut self.tracker, next);
        let of = std::mem::replace(&mut self.context, context);
        self.others.push((of, old));
        if at.is_none() { self.begin() } else { Ok(()) }
    }

    /// Handles of everything that is made.
    pub(super) const fn slots(&mut self) -> &mut SlotSpace<runahead_linux::storage::Heap> {
        &mut self.slots
    }

    /// A band's next handle, with nothing said of it yet.
    pub(super) fn mint(&mut self, band: Band) -> Result<Handle, StageError> {
        let lifetime = self.next();
        self.slots().mint(band, lifetime).map_err(|error| StageError::Handle(error.to_string()))
    }
}
