//! Makes a record likely to take effect: handles of objects that are there, sizes that fit. Records are made from
//! the tables without knowledge of meaning; left at that, nearly all would end at their first handle.

use runahead_core::{backend::Backend, objects::Objects, storage::Storage};
use runahead_wire::{
    BlobRef, Handle,
    handle::{Kind, SHADER_CSO_COMPOSITE_BASE},
    payload::*,
    values::{ResourceTarget, StorageKind},
};

/// What an input's records have to do with.
pub struct Likely<'a, B: Backend, S: Storage> {
    /// The objects of the current share group.
    pub objects: &'a Objects<B, S>,
    /// The next frame.
    pub frame: u64,
    /// A choice that the input made.
    pub choice: u8,
}

fn edit<P: Payload>(bytes: &mut [u8], edit: impl FnOnce(&mut P)) {
    if let Ok(mut payload) = P::read_from_bytes(bytes) {
        edit(&mut payload);
        bytes.copy_from_slice(payload.as_bytes());
    }
}

impl<B: Backend, S: Storage> Likely<'_, B, S> {
    /// Some object of a kind, if there is one.
    fn some(&self, kind: Kind) -> Handle {
        let first = u32::from(self.choice);
        let slots = (0..8).map(|at| (first + at) % 8 + 1).chain([SHADER_CSO_COMPOSITE_BASE]);
        let handles = slots.flat_map(|slot| (1..=3).map(move |generation| Handle::new(slot, generation)));
        handles.into_iter().find(|handle| self.objects.knows(kind, *handle)).unwrap_or(Handle::new(1, 1))
    }

    /// A handle that may be defined next.
    fn next(&self, kind: Kind) -> Handle {
        let objects = self.objects;
        let used = match kind {
            Kind::Buffer => objects.buffers.len(),
            Kind::Texture => objects.textures.len(),
            Kind::Renderbuffer => objects.renderbuffers.len(),
            Kind::Framebuffer => objects.framebuffers.len(),
            Kind::RenderStateCso => objects.render_states.len(),
            Kind::VertexElementsCso => objects.vertex_elements.len(),
            Kind::SamplerCso => objects.samplers.len(),
            Kind::SamplerViewCso => objects.sampler_views.len(),
            Kind::Fence => objects.fences.len(),
            Kind::Query => objects.queries.len(),
            _ => 0,
        };
        Handle::new(used % 6 + 1, u32::from(self.choice & 1) + 1)
    }

    fn texture(&self) -> (Handle, ResourceDesc) {
        let handle = self.some(Kind::Texture);
        (handle, self.objects.textures.known(handle).map(|object| object.record.desc).unwrap_or_default())
    }

    fn kinded(&self, bytes: &mut [u8], kind: Kind) {
        edit(bytes, |object: &mut HandleOnly| {
            object.kind = kind.raw();
            object.handle = self.some(kind);
        });
    }

    fn query(&self) -> QueryDesc {
        let query = self.some(Kind::Query);
        self.objects.queries.known(query).map(|object| object.record.desc).unwrap_or_default()
    }

    fn desc(&self, desc: &mut ResourceDesc) {
        desc.view_of = Handle::NULL;
        desc.buffer_for_tex_buffer = Handle::NULL;
        (desc.samples, desc.levels, desc.immutable) = (0, 2, 0);
        let buffer = desc.target == ResourceTarget::Buffer.raw() as u8;
        desc.storage_kind = if buffer { StorageKind::Buffer } else { StorageKind::Mipmap }.raw() as u8;
        (desc.width, desc.height, desc.depth, desc.array_layers) = (8, 8, 1, 6);
        desc.buf_size = 256;
    }

    /// Changes the payload of a row.
    pub fn settle(&self, op: u16, payload: &mut [u8]) {
        match op {
            2 => edit(payload, |desc: &mut ResourceDesc| {
                self.desc(desc);
                let kind = match desc.target() {
                    Some(ResourceTarget::Buffer) => Kind::Buffer,
                    Some(ResourceTarget::Renderbuffer) => Kind::Renderbuffer,
                    _ => Kind::Texture,
                };
                desc.resource = self.next(kind);
            }),
            3 => edit(payload, |desc: &mut ResourceDesc| {
                let (handle, old) = if self.choice & 2 == 0 {
                    self.texture()
                } else {
                    let buffer = self.some(Kind::Buffer);
                    let old = self.objects.buffers.known(buffer).map(|object| object.record.desc);
                    (buffer, old.unwrap_or_default())
                };
                desc.target = old.target;
                self.desc(desc);
                desc.resource = handle;
            }),
            4 => {
                let kinds = [Kind::Buffer, Kind::Texture, Kind::Renderbuffer];
                self.kinded(payload, kinds[usize::from(self.choice) % 3]);
            }
            5 | 6 => self.kinded(payload, Kind::Buffer),
            7 => edit(payload, |object: &mut HandleOnly| {
                object.kind = Kind::Fence.raw();
                object.handle = self.next(Kind::Fence);
            }),
            8 | 10 => self.kinded(payload, Kind::Fence),
            9 | 71 => edit(payload, |wait: &mut FenceWait| wait.fence = self.some(Kind::Fence)),
            11 => edit(payload, |query: &mut QueryDesc| query.query = self.next(Kind::Query)),
            12 | 13 | 70 => edit(payload, |query: &mut QueryDesc| *query = self.query()),
            14 | 16 => self.kinded(payload, Kind::Query),
            15 => edit(payload, |request: &mut QueryResultRequest| request.query = self.some(Kind::Query)),
            17 => edit(payload, |desc: &mut RenderStateDesc| {
                desc.cso = self.next(Kind::RenderStateCso);
                if self.choice & 4 == 0 || self.objects.render_states.is_empty() {
                    (desc.base_cso, desc.chunk_mask, desc.blob) =
                        (Handle::NULL, 127, BlobRef::staged(0, 396));
                } else {
                    desc.base_cso = self.some(Kind::RenderStateCso);
                    (desc.chunk_mask, desc.blob) = (1, BlobRef::staged(0, 28));
                }
            }),
            18 => edit(payload, |bind: &mut BindRenderState| bind.cso = self.some(Kind::RenderStateCso)),
            19 => self.kinded(payload, Kind::RenderStateCso),
            20 => edit(payload, |elements: &mut VertexElements| {
                elements.cso = self.next(Kind::VertexElementsCso);
                (elements.attribute_count, elements.binding_point_count) = (0, 1);
                elements.blob = BlobRef::staged(0, 16);
            }),
            21 | 22 => self.kinded(payload, Kind::VertexElementsCso),
            23 => edit(payload, |desc: &mut SamplerDesc| {
                desc.cso = self.next(Kind::SamplerCso);
                desc.parameters = BlobRef::staged(0, 100);
            }),
            24 => self.kinded(payload, Kind::SamplerCso),
            25 => edit(payload, |view: &mut SamplerView| {
                view.cso = self.next(Kind::SamplerViewCso);
                view.texture = self.some(Kind::Texture);
            }),
            26 => self.kinded(payload, Kind::SamplerViewCso),
            27 => edit(payload, |desc: &mut ProgramDesc| {
                let composite = self.choice & 8 != 0;
                let slot = if composite { SHADER_CSO_COMPOSITE_BASE } else { 1 };
                desc.cso = Handle::new(slot, u32::from(self.choice & 1) + 1);
                desc.global_ubo_size = 64;
                desc.stage_mask = 3;
                desc.spirv = [BlobRef::NONE; 6];
                (desc.spirv[0], desc.spirv[1]) = (BlobRef::staged(0, 8), BlobRef::staged(8, 8));
                desc.reflection = BlobRef::staged(0, 4);
            }),
            28 | 29 | 44 | 45 => self.kinded(payload, Kind::ShaderCso),
            30 => edit(payload, |head: &mut DynamicState| {
                (head.chunk_mask, head.blob) = (1 << 3, BlobRef::staged(0, 12));
            }),
            31 => edit(payload, |state: &mut FramebufferState| {
                let target = state.target;
                *state = FramebufferState { target: target & 3, ..FramebufferState::default() };
                state.fbo = if self.choice & 1 == 0 {
                    state.is_default = 1;
                    Handle::DEFAULT_FRAMEBUFFER
                } else {
                    self.next(Kind::Framebuffer)
                };
                if self.choice & 4 != 0 {
                    state.color[0] =
                        Surface { kind: 2, resource: self.some(Kind::Texture), ..Surface::default() };
                }
            }),
            40 => edit(payload, |constants: &mut GlobalConstants| {
                constants.shader_cso = self.some(Kind::ShaderCso);
                (constants.offset, constants.blob) = (u32::from(self.choice & 3), BlobRef::staged(0, 8));
            }),
            47 => edit(payload, |params: &mut TextureParams| {
                params.resource = self.some(Kind::Texture);
                params.builtin_sampler = self.some(Kind::SamplerCso);
            }),
            48 if self.choice & 1 == 0 => edit(payload, |data: &mut SubData| {
                *data = SubData::for_buffer(self.some(Kind::Buffer), 4, 20);
                data.blob = BlobRef::staged(0, 20);
            }),
            48 => edit(payload, |data: &mut SubData| {
                let (handle, desc) = self.texture();
                *data = SubData {
                    resource: handle,
                    target: desc.target,
                    region_count: data.region_count.min(1),
                    blob: BlobRef::staged(0, 4000),
                    level_width: 8,
                    level_height: 8,
                    union_box: TexelBox { width: 8, height: 8, depth: 1, ..TexelBox::default() },
                    ..SubData::default()
                };
            }),
            49 => edit(payload, |data: &mut SubData| {
                *data = SubData::for_buffer(self.some(Kind::Buffer), 0, 16);
                data.blob = BlobRef::staged(0, 16);
            }),
            51 => edit(payload, |range: &mut FlushRange| {
                (range.resource, range.offset, range.size) = (self.some(Kind::Buffer), 0, 8);
            }),
            52 => edit(payload, |read: &mut Readback| {
                (read.resource, read.offset, read.size) = (self.some(Kind::Buffer), 0, 8);
            }),
            53 => edit(payload, |copy: &mut CopyRegion| {
                let (handle, desc) = self.texture();
                (copy.src, copy.dst) = (handle, handle);
                (copy.src_target, copy.dst_target) = (u16::from(desc.target), u16::from(desc.target));
            }),
            54 => edit(payload, |plan: &mut MipPlan| {
                let (handle, desc) = self.texture();
                (plan.resource, plan.target) = (handle, u16::from(desc.target));
                (plan.base_level, plan.level_count) = (0, 1);
            }),
            55 | 58 => edit(payload, |read: &mut ReadbackInfo| self.read(read, op == 55)),
            82 | 83 => edit(payload, |read: &mut ReadbackToBuffer| {
                self.read(&mut read.src, op == 83);
                (read.dst, read.dst_base) = (self.some(Kind::Buffer), 0);
                (read.row_stride, read.image_stride) = (16, 64);
            }),
            56 => {
                edit(payload, |blit: &mut Blit| (blit.read_fbo, blit.draw_fbo) = (Handle::NULL, Handle::NULL))
            }
            57 => edit(payload, |clear: &mut Clear| clear.fbo = Handle::NULL),
            59 => edit(payload, |draw: &mut DrawInfo| {
                draw.index_size = draw.index_size.min(1) * 2;
                draw.index_resource = self.some(Kind::Buffer);
            }),
            60 => edit(payload, |grid: &mut GridInfo| {
                (grid.indirect_buffer, grid.indirect_offset) = (self.some(Kind::Buffer), 4);
            }),
            62 => edit(payload, |begin: &mut StreamOutputBegin| {
                begin.capture_program = self.some(Kind::ShaderCso);
                begin.lifetime_id = 0;
                begin.targets = Default::default();
            }),
            67 => edit(payload, |present: &mut Present| present.frame_serial = self.frame),
            74 => edit(payload, |bind: &mut StreamOutputBind| bind.lifetime_id = u64::from(self.choice & 3)),
            75 => edit(payload, |binding: &mut StorageBlockBinding| {
                binding.shader_cso = self.some(Kind::ShaderCso);
                // Ends in a zero: every byte of the stage but the first of four is one.
                binding.name = BlobRef::staged(0, 4);
            }),
            76 => edit(payload, |copy: &mut CopyFromFramebuffer| {
                let (handle, desc) = self.texture();
                (copy.dst, copy.target, copy.level) = (handle, u16::from(desc.target), 0);
                (copy.width, copy.height, copy.x_offset, copy.y_offset) = (1, 1, 0, 0);
            }),
            78 => edit(payload, |object: &mut HandleOnly| {
                object.handle = self.some(object.kind().unwrap_or(Kind::Framebuffer));
            }),
            79 => edit(payload, |values: &mut ContextValues| {
                values.max_touched_texture_unit &= 1;
                values.touched_buffer_binding_point_count = Default::default();
            }),
            80 => edit(payload, |bindings: &mut ProgramBindings| {
                bindings.cso = self.some(Kind::ShaderCso);
                bindings.names = BlobRef::staged(0, 64);
            }),
            81 => edit(payload, |bind: &mut StreamOutputBind| bind.lifetime_id = u64::from(self.choice & 3)),
            84 => edit(payload, |bind: &mut BindContext| {
                bind.context = u64::from(self.choice & 1) + 1;
                (bind.draw_surface, bind.read_surface) = (1, 1);
            }),
            86 => edit(payload, |copy: &mut CopyBuffer| {
                (copy.src, copy.dst) = (self.some(Kind::Buffer), self.some(Kind::Buffer));
                (copy.src_offset, copy.dst_offset, copy.size) = (0, 64, 32);
            }),
            88 => edit(payload, |clear: &mut ClearTexture| {
                (clear.resource, _) = self.texture();
                clear.level = 0;
                clear.region = TexelBox { width: 1, height: 1, depth: 1, ..TexelBox::default() };
            }),
            89 => edit(payload, |clear: &mut ClearBuffer| {
                clear.resource = self.some(Kind::Buffer);
                (clear.offset, clear.size, clear.value_size) = (0, 16, 4);
            }),
            _ => {}
        }
    }

    fn read(&self, read: &mut ReadbackInfo, of_texture: bool) {
        let (handle, desc) = self.texture();
        read.resource = if of_texture { handle } else { Handle::NULL };
        (read.target, read.upload_target, read.level) = (desc.target, 0, 0);
        read.region = TexelBox { width: 4, height: 1, depth: 1, ..TexelBox::default() };
        read.dst_size = 16;
    }
}
