//! Textures of every shape, renderbuffers, framebuffers, and what is in them.

use runahead_core::{Session, link::Patience, reply_space, slots::Band, tracker::Verb, upload};
use runahead_rings::Status;
use runahead_wire::{
    Handle,
    format::Format,
    payload::{
        BoundView, Clear, CopyRegion, FramebufferState, HandleOnly, ReadbackInfo, ReadbackToBuffer,
        ResourceDesc, SamplerParameters, SamplerView, SubData, SubRegion, Surface, TexelBox, TextureParams,
    },
    values::{
        BufferMask, ClearKind, Filter, FramebufferTarget, MipFilter, PixelFormat, PixelType, ResourceTarget,
        StorageKind, SurfaceKind, UploadTarget, ValueClass, Wrap,
    },
};

use super::{Minted, Stage, StageError};

/// An image of a texture that is read: level, image, and the pair of its pixels.
#[derive(Clone, Copy, Debug)]
pub struct Sight {
    /// Texture.
    pub texture: Handle,
    /// Level.
    pub level: u16,
    /// Region.
    pub region: TexelBox,
    /// Components.
    pub format: PixelFormat,
    /// Their type.
    pub kind: PixelType,
}

impl Sight {
    /// Pixels of four components of eight bits.
    pub const fn rgba(texture: Handle, level: u16, region: TexelBox) -> Self {
        Self { texture, level, region, format: PixelFormat::Rgba, kind: PixelType::UnsignedByte }
    }
}

/// A box that begins at 0.
pub const fn extent(width: u32, height: u32, depth: u32) -> TexelBox {
    TexelBox { x: 0, y: 0, z: 0, width, height, depth }
}

/// A framebuffer of 64x64 without attachments, that draws to the first and reads it.
pub fn empty_framebuffer() -> FramebufferState {
    FramebufferState {
        draw_buffers: [0, -1, -1, -1, -1, -1, -1, -1],
        width: crate::scenes::SIDE as u16,
        height: crate::scenes::SIDE as u16,
        layers: 1,
        fixed_sample_locations: 1,
        complete: 1,
        ..FramebufferState::default()
    }
}

/// A description of a texture with one level and one layer.
pub fn shape(target: ResourceTarget, format: Format, width: u32, height: u32) -> ResourceDesc {
    ResourceDesc {
        target: target.raw8(),
        storage_kind: StorageKind::Mipmap.raw8(),
        internal_format: format.raw(),
        width,
        height,
        depth: 1,
        levels: 1,
        array_layers: if target == ResourceTarget::CubeMap { 6 } else { 1 },
        ..ResourceDesc::default()
    }
}

/// A sampler that takes the nearest texel of the base level, at the edges the last one.
pub fn nearest() -> SamplerParameters {
    SamplerParameters {
        wrap_s: Wrap::ClampToEdge.raw(),
        wrap_t: Wrap::ClampToEdge.raw(),
        wrap_r: Wrap::ClampToEdge.raw(),
        min_filter: Filter::Nearest.raw(),
        mag_filter: Filter::Nearest.raw(),
        mip_filter: MipFilter::None.raw(),
        min_lod: -1000.0,
        max_lod: 1000.0,
        max_anisotropy: 1.0,
        ..SamplerParameters::default()
    }
}

impl<P: Session> Stage<'_, P> {
    /// A texture without parameters of its own.
    ///
    /// # Errors
    /// [`StageError`].
    pub fn storage(&mut self, desc: ResourceDesc) -> Result<Handle, StageError> {
        let texture = self.create(Band::Texture, desc)?;
        let resource = texture;
        self.known.textures.push((texture, ResourceDesc { resource, ..desc }, TextureParams::default()));
        Ok(texture)
    }

    /// A texture that is sampled without filtering.
    ///
    /// # Errors
    /// [`StageError`].
    pub fn image(&mut self, desc: ResourceDesc) -> Result<Handle, StageError> {
        let texture = self.storage(desc)?;
        self.sampled(texture, nearest(), |_| {})?;
        Ok(texture)
    }

    /// The sampler that is built into a texture, and its parameters.
    ///
    /// # Errors
    /// [`StageError`].
    pub fn sampled(
        &mut self,
        texture: Handle,
        sampler: SamplerParameters,
        change: impl FnOnce(&mut TextureParams),
    ) -> Result<(), StageError> {
        let sampler = self.sampler(sampler)?;
        let mut params = TextureParams {
            resource: texture,
            builtin_sampler: sampler,
            max_level: 1000,
            swizzle: [0, 1, 2, 3],
            min_lod: -1000.0,
            max_lod: 1000.0,
            ..TextureParams::default()
        };
        change(&mut params);
        self.pipe.set_texture_params(&params)?;
        if let Some(known) = self.known.textures.iter_mut().rev().find(|known| known.0 == texture) {
            known.2 = params;
        }
        Ok(())
    }

    /// A sampler.
    ///
    /// # Errors
    /// [`StageError`].
    pub fn sampler(&mut self, parameters: SamplerParameters) -> Result<Handle, StageError> {
        let sampler = self.samplers.acquire(&parameters, self.pipe, &mut self.slots)?;
        self.known.samplers.push((sampler, parameters));
        Ok(sampler)
    }

    /// A sampler view; its handle is filled in.
    ///
    /// # Errors
    /// [`StageError`].
    pub fn view(&mut self, view: SamplerView) -> Result<Handle, StageError> {
        let lifetime = self.next();
        let (pipe, slots) = (&mut *self.pipe, &mut self.slots);
        let cso = slots
            .mint_with(Band::SamplerView, lifetime, |cso| {
                pipe.create_sampler_view(&SamplerView { cso, ..view })
            })
            .map_err(|error| StageError::from(Minted(error)))?;
        self.known.views.push((cso, SamplerView { cso, ..view }));
        Ok(cso)
    }

    /// Defines the storage of a texture again, or one level of it.
    ///
    /// # Errors
    /// [`StageError`].
    pub fn respecify(&mut self, desc: ResourceDesc) -> Result<(), StageError> {
        self.pipe.resource_respecify(&desc)?;
        if let Some(known) = self.known.textures.iter_mut().rev().find(|known| known.0 == desc.resource) {
            known.1 = desc;
        }
        Ok(())
    }

    /// What is known of a texture.
    ///
    /// # Errors
    /// [`StageError`].
    pub fn described(&self, texture: Handle) -> Result<ResourceDesc, StageError> {
        let known = self.known.textures.iter().rev().find(|known| known.0 == texture);
        known.map(|known| known.1).ok_or(StageError::Scene("there is no such texture"))
    }

    /// Writes regions of one level.
    ///
    /// # Errors
    /// [`StageError`].
    pub fn upload(
        &mut self,
        texture: Handle,
        level: u16,
        face: UploadTarget,
        regions: &[SubRegion],
        bytes: &[u8],
    ) -> Result<(), StageError> {
        let desc = self.described(texture)?;
        let half = |size: u32| (size >> level).max(size.min(1));
        let data = SubData {
            resource: texture,
            target: desc.target,
            upload_target: face.raw8(),
            level,
            level_width: half(desc.width),
            level_height: match desc.target() {
                Some(ResourceTarget::Texture1D | ResourceTarget::Texture1DArray) => 1,
                _ => half(desc.height),
            },
            level_depth: 1,
            ..SubData::default()
        };
        let format = desc.internal_format().unwrap_or_default();
        let piece = self.pipe.max_piece();
        upload::texture(self.pipe, &data, regions, format, bytes, piece).map_err(|error| match error {
            upload::UploadError::Pipe(error) => StageError::Record(error),
            upload::UploadError::Region => StageError::Scene("there are fewer texels than that"),
        })
    }

    /// Writes a box of a level from bytes without gaps.
    ///
    /// # Errors
    /// [`StageError`].
    pub fn fill(
        &mut self,
        texture: Handle,
        level: u16,
        texels: TexelBox,
        bytes: &[u8],
    ) -> Result<(), StageError> {
        let TexelBox { x, y, z, width, height, depth } = texels;
        let region = SubRegion { x, y, z, width, height, depth, ..SubRegion::default() };
        self.upload(texture, level, UploadTarget::Whole, &[region], bytes)
    }

    /// A renderbuffer.
    ///
    /// # Errors
    /// [`StageError`].
    pub fn renderbuffer(
        &mut self,
        format: Format,
        width: u32,
        height: u32,
        samples: u16,
    ) -> Result<Handle, StageError> {
        let desc = ResourceDesc { samples, ..shape(ResourceTarget::Renderbuffer, format, width, height) };
        let renderbuffer = self.create(Band::Renderbuffer, desc)?;
        let resource = renderbuffer;
        self.known.renderbuffers.push((renderbuffer, ResourceDesc { resource, ..desc }));
        Ok(renderbuffer)
    }

    /// One layer, slice or face of a level of a texture, as an attachment.
    ///
    /// # Errors
    /// [`StageError`].
    pub fn attachment(&self, texture: Handle, level: u16, layer: u32) -> Result<Surface, StageError> {
        let desc = self.described(texture)?;
        let cube = desc.target() == Some(ResourceTarget::CubeMap);
        Ok(Surface {
            resource: texture,
            internal_format: desc.internal_format,
            kind: SurfaceKind::Texture.raw8(),
            level,
            layer: if cube { 0 } else { layer },
            upload_target: if cube { layer as u16 + 1 } else { 0 },
            texture_target: u16::from(desc.target),
            ..Surface::default()
        })
    }

    /// Binds a framebuffer with these attachments, for draws, reads or both. Answers its identity.
    pub fn bind(&mut self, target: FramebufferTarget, state: &FramebufferState) -> u64 {
        let number = self.next();
        if target != FramebufferTarget::Read {
            self.known.framebuffer = *state;
        }
        if target != FramebufferTarget::Draw {
            self.known.read_framebuffer = *state;
        }
        self.tracker.set_framebuffer(target, number, number, state);
        number
    }

    /// Binds the framebuffer of the surface, with these draw buffers.
    pub fn bind_surface(&mut self, state: &FramebufferState) {
        let number = self.next();
        let state = FramebufferState { layers: 0, fixed_sample_locations: 0, ..*state };
        (self.known.framebuffer, self.known.read_framebuffer) = (state, state);
        self.tracker.set_framebuffer(FramebufferTarget::Both, 0, number, &state);
    }

    /// An image has ended, and is attached to what is bound no more.
    pub fn detached(&mut self, image: Handle) {
        for state in [&mut self.known.framebuffer, &mut self.known.read_framebuffer] {
            let others = [&mut state.depth, &mut state.stencil, &mut state.read_surface];
            for surface in state.color.iter_mut().chain(others).filter(|surface| surface.resource == image) {
                *surface = Surface::default();
            }
        }
    }

    /// The handle of a framebuffer that is not bound.
    ///
    /// # Errors
    /// [`StageError`].
    pub fn named(&mut self, state: &FramebufferState) -> Result<Handle, StageError> {
        let number = self.next();
        Ok(self.tracker.named_framebuffer(number, number, state, self.pipe, &mut self.slots)?)
    }

    /// Clears one colour buffer of what is bound for draws.
    ///
    /// # Errors
    /// [`StageError`].
    pub fn clear_color(&mut self, buffer: i32, class: ValueClass, value: [u32; 4]) -> Result<(), StageError> {
        self.clear_by(&Clear {
            kind: ClearKind::Color.raw(),
            draw_buffer_index: buffer,
            buffer_mask: BufferMask::COLOR.raw(),
            value_class: class.raw(),
            color_value: value,
            ..Clear::default()
        })
    }

    /// Brings the server's state up to date for a verb that is recorded by hand.
    ///
    /// # Errors
    /// [`StageError`].
    pub fn synced(&mut self, verb: Verb) -> Result<(), StageError> {
        self.tracker.sync(verb, self.pipe, &mut self.slots)?;
        self.declare(verb)
    }

    /// Copies a region between two textures or renderbuffers, from and to a level and a place.
    ///
    /// # Errors
    /// [`StageError`].
    pub fn copy_images(
        &mut self,
        (src, src_target, src_level): (Handle, ResourceTarget, u16),
        (dst, dst_target, dst_level): (Handle, ResourceTarget, u16),
        src_box: TexelBox,
        [dst_x, dst_y, dst_z]: [i32; 3],
    ) -> Result<(), StageError> {
        Ok(self.pipe.resource_copy_region(&CopyRegion {
            src,
            dst,
            src_box,
            dst_x,
            dst_y,
            dst_z,
            src_target: src_target.raw16(),
            dst_target: dst_target.raw16(),
            src_level,
            dst_level,
            ..CopyRegion::default()
        })?)
    }

    /// What a read asks for; `size` are the bytes of the whole.
    fn readback(&self, sight: &Sight, size: u64) -> Result<ReadbackInfo, StageError> {
        let target = if sight.texture.is_null() { 0 } else { self.described(sight.texture)?.target };
        Ok(ReadbackInfo {
            resource: sight.texture,
            region: sight.region,
            format: sight.format.raw(),
            pixel_type: sight.kind.raw(),
            target,
            level: sight.level,
            dst_size: size,
            ..ReadbackInfo::default()
        })
    }

    /// Bytes `offset..offset + size` of an image of a texture, or with a null handle of the framebuffer that is read.
    ///
    /// # Errors
    /// [`StageError`].
    pub fn bytes_of(&mut self, sight: &Sight, offset: u64, size: usize) -> Result<Vec<u8>, StageError> {
        let info = ReadbackInfo { dst_offset: offset, ..self.readback(sight, size as u64)? };
        let verb = if sight.texture.is_null() { Verb::ReadPixels } else { Verb::ReadTexture };
        self.synced(verb)?;
        let capacity = u32::try_from(size).map_err(|_| StageError::Scene("so much is no answer"))?;
        let pending = self.pipe.ask(capacity)?;
        let space = Some(reply_space(&pending));
        if sight.texture.is_null() {
            self.pipe.read_pixels(&info, space)?;
        } else {
            self.pipe.get_texture_image(&info, space)?;
        }
        self.answer(pending, size)
    }

    fn answer(&mut self, pending: runahead_rings::Pending, size: usize) -> Result<Vec<u8>, StageError> {
        let answer = self.pipe.wait_answer(&pending, Patience::Sleep)?;
        let mut bytes = vec![0; size];
        self.pipe.copy_answer(&pending, answer, &mut bytes);
        let released = self.pipe.release(pending);
        debug_assert!(released.is_ok(), "it was answered");
        if answer.status == Status::Ok { Ok(bytes) } else { Err(StageError::Read(answer.status)) }
    }

    /// An image has these bytes.
    ///
    /// # Errors
    /// [`StageError::Wrong`] with the first byte that is another one; `what` says of which image.
    pub fn shows(&mut self, what: &str, sight: &Sight, wanted: &[u8]) -> Result<(), StageError> {
        let got = self
            .bytes_of(sight, 0, wanted.len())
            .map_err(|error| StageError::Wrong(format!("{what}: {error}")))?;
        differ(what, &got, wanted)
    }

    /// The read that writes an image into a buffer from `base` on, its rows and slices so many bytes apart; `tight` are
    /// the bytes of the whole without gaps.
    ///
    /// # Errors
    /// [`StageError`].
    pub fn pack(
        &mut self,
        sight: &Sight,
        dst: Handle,
        [base, row, image]: [u64; 3],
        tight: u64,
    ) -> Result<(), StageError> {
        let src = self.readback(sight, tight)?;
        let read = ReadbackToBuffer {
            src,
            dst,
            dst_base: base,
            row_stride: row,
            image_stride: image,
            ..ReadbackToBuffer::default()
        };
        if sight.texture.is_null() {
            self.synced(Verb::ReadPixels)?;
            Ok(self.pipe.read_pixels_to_buffer(&read)?)
        } else {
            self.synced(Verb::ReadTexture)?;
            Ok(self.pipe.get_texture_image_to_buffer(&read)?)
        }
    }

    /// Textures and views of the first units, and the samplers where they are not null.
    ///
    /// # Errors
    /// [`StageError`].
    pub fn sample_all(&mut self, units: &[(Handle, Handle, Handle)]) -> Result<(), StageError> {
        self.units(units.len() as u32)?;
        for (unit, (texture, view, sampler)) in (0..).zip(units) {
            let bound = BoundView { texture: *texture, view: *view, unit, ..BoundView::default() };
            let set = self.tracker.sampler_views().set_one(unit, bound)
                && self.tracker.sampler_states().set_one(unit, *sampler);
            if !set {
                return Err(StageError::Scene("there are not so many units"));
            }
        }
        Ok(())
    }

    /// Ends a sampler view.
    ///
    /// # Errors
    /// [`StageError`].
    pub fn end_view(&mut self, view: Handle) -> Result<(), StageError> {
        use runahead_wire::handle::Kind;
        let kind = Kind::SamplerViewCso;
        self.tracker.forget(kind, view, self.pipe, &mut self.slots)?;
        self.pipe.delete_sampler_view(&HandleOnly {
            handle: view,
            kind: kind.raw(),
            ..HandleOnly::default()
        })?;
        self.slots.free(Band::SamplerView, view).map_err(|_| StageError::Scene("it has ended before"))
    }
}

/// Two runs of bytes are the same.
fn differ(what: &str, got: &[u8], wanted: &[u8]) -> Result<(), StageError> {
    match got.iter().zip(wanted).position(|(got, wanted)| got != wanted) {
        None => Ok(()),
        Some(at) => {
            let near = |bytes: &[u8]| bytes[at..(at + 16).min(bytes.len())].to_vec();
            let (got, wanted) = (near(got), near(wanted));
            Err(StageError::Wrong(format!("{what}: byte {at} is wrong: {got:?} instead of {wanted:?}")))
        }
    }
}
