//! Copies between images, readbacks, shared images.

use runahead_wire::{
    Handle, ReplySpace,
    format::Format,
    handle::Kind,
    payload::{
        ClearTexture, CopyFromFramebuffer, CopyRegion, DamageRect, MipPlan, Readback, ReadbackInfo,
        ReadbackToBuffer, ResourceDesc, SharedImage, TexelBox,
    },
    values::{ResourceTarget, SharedImageOp},
};

use super::{Apply, Named, resource::kind_of};
use crate::{
    backend::{Backend, Read},
    bind_state::Trouble,
    extent,
    fault::Fault,
    outlet::Outlet,
    storage::Storage,
};

impl<B: Backend, S: Storage, O: Outlet> Apply<'_, B, S, O> {
    /// A texture that a record is about.
    fn texture(&self, handle: Handle, field: &'static str) -> Result<Named<ResourceDesc>, Fault> {
        let texture = self.objects.textures.known(handle).ok_or(self.unnamed(field))?;
        Ok(if texture.is_refused() { Named::Refused } else { Named::Live(texture.record.desc) })
    }

    /// A texture or renderbuffer that a record is about, which must be what the record says.
    fn image(
        &self,
        handle: Handle,
        field: &'static str,
        target: Option<ResourceTarget>,
        target_field: &'static str,
    ) -> Result<Named<ResourceDesc>, Fault> {
        let target = target.ok_or(self.corrupt(target_field))?;
        let named = match kind_of(target) {
            Kind::Texture => self.texture(handle, field)?,
            Kind::Renderbuffer => {
                let object = self.objects.renderbuffers.known(handle).ok_or(self.unnamed(field))?;
                if object.is_refused() { Named::Refused } else { Named::Live(object.record.desc) }
            }
            _ => return Err(self.corrupt(target_field)),
        };
        if let Named::Live(desc) = &named {
            self.must(desc.target() == Some(target), target_field)?;
        }
        Ok(named)
    }

    fn drop_for_image(&mut self, handle: Handle, target: Option<ResourceTarget>) -> Result<(), Fault> {
        if target == Some(ResourceTarget::Renderbuffer) {
            self.drop_verb(|objects| objects.renderbuffers.known_mut(handle).map(|object| &mut object.told))
        } else {
            self.drop_for_texture(handle)
        }
    }

    /// Whether a region lies in a level.
    fn in_level(
        &self,
        desc: &ResourceDesc,
        level: u32,
        level_field: &'static str,
        region: &TexelBox,
        region_field: &'static str,
    ) -> Result<(), Fault> {
        let extent = extent::level(desc, level).ok_or(self.corrupt(level_field))?;
        self.must(extent::holds(extent, region), region_field)
    }

    pub(super) fn copy_region(&mut self, copy: &CopyRegion) -> Result<(), Fault> {
        let src = match self.image(copy.src, "src", copy.src_target(), "src_target")? {
            Named::Live(desc) => desc,
            Named::Refused => return self.drop_for_image(copy.src, copy.src_target()),
        };
        let dst = match self.image(copy.dst, "dst", copy.dst_target(), "dst_target")? {
            Named::Live(desc) => desc,
            Named::Refused => return self.drop_for_image(copy.dst, copy.dst_target()),
        };
        self.in_level(&src, u32::from(copy.src_level), "src_level", &copy.src_box, "src_box")?;
        let block = |desc: &ResourceDesc| desc.internal_format().unwrap_or(Format::Undefined).block();
        let (from, to) = (block(&src), block(&dst));
        // A block stands for a texel where one side alone is compressed (OpenGL 4.6 section 18.3.2).
        self.must(from.bytes == to.bytes && from.bytes != 0, "dst")?;
        let scaled =
            |texels: u32, from: u8, to: u8| texels.div_ceil(u32::from(from)).checked_mul(u32::from(to));
        let dst_extent = extent::level(&dst, u32::from(copy.dst_level)).ok_or(self.corrupt("dst_level"))?;
        // The last block of a level may be cut off by its edge.
        let fit = |at: i32, size: Option<u32>, block: u8, of: u32| {
            let size = size?;
            let end = u32::try_from(at).ok()?.checked_add(size)?;
            if end <= of {
                Some(size)
            } else {
                size.checked_sub(end - of).filter(|_| end - of < u32::from(block))
            }
        };
        let width = scaled(copy.src_box.width, from.width, to.width);
        let height = scaled(copy.src_box.height, from.height, to.height);
        let dst_box = TexelBox {
            x: copy.dst_x,
            y: copy.dst_y,
            z: copy.dst_z,
            width: fit(copy.dst_x, width, to.width, dst_extent.width).ok_or(self.corrupt("dst_x"))?,
            height: fit(copy.dst_y, height, to.height, dst_extent.height).ok_or(self.corrupt("dst_y"))?,
            depth: copy.src_box.depth,
        };
        self.must(extent::holds(dst_extent, &dst_box), "dst_z")?;
        self.contents_moved(kind_of(copy.dst_target().unwrap_or(ResourceTarget::Texture2D)), copy.dst);
        self.call(|backend, scope| backend.copy_region(scope, copy))
    }

    /// Moves the serial of an image whose contents a verb changes.
    fn contents_moved(&mut self, kind: Kind, handle: Handle) {
        let serial = self.next_serial();
        if kind == Kind::Renderbuffer {
            if let Some(object) = self.objects.renderbuffers.get_mut(handle) {
                object.serial = serial;
            }
        } else if let Some(object) = self.objects.textures.get_mut(handle) {
            object.serial = serial;
        }
    }

    pub(super) fn copy_framebuffer_to_texture(&mut self, copy: &CopyFromFramebuffer) -> Result<(), Fault> {
        let desc = match self.texture(copy.dst, "dst")? {
            Named::Live(desc) => desc,
            Named::Refused => return self.drop_for_texture(copy.dst),
        };
        self.must(desc.target() == copy.target(), "target")?;
        let region = TexelBox {
            x: copy.x_offset,
            y: copy.y_offset,
            z: i32::from(copy.z_offset),
            width: copy.width,
            height: copy.height,
            depth: 1,
        };
        self.in_level(&desc, copy.level, "level", &region, "x_offset")?;
        self.ready()?;
        if self.bind.trouble.any(Trouble::READ_FRAMEBUFFER_REFUSED) {
            return self.drop_for_framebuffer(self.bind.state.read_framebuffer);
        }
        self.contents_moved(Kind::Texture, copy.dst);
        self.call(|backend, scope| backend.copy_framebuffer_to_texture(scope, copy))
    }

    pub(super) fn generate_mipmap(&mut self, plan: &MipPlan) -> Result<(), Fault> {
        let desc = match self.texture(plan.resource, "resource")? {
            Named::Live(desc) => desc,
            Named::Refused => return self.drop_for_texture(plan.resource),
        };
        self.must(desc.target() == plan.target(), "target")?;
        let last = u32::from(plan.base_level) + u32::from(plan.level_count);
        self.must(last < u32::from(desc.levels.max(1)), "level_count")?;
        self.contents_moved(Kind::Texture, plan.resource);
        self.call(|backend, scope| backend.generate_mipmap(scope, plan))
    }

    pub(super) fn clear_texture(&mut self, clear: &ClearTexture) -> Result<(), Fault> {
        let desc = match self.texture(clear.resource, "resource")? {
            Named::Live(desc) => desc,
            Named::Refused => return self.drop_for_texture(clear.resource),
        };
        self.in_level(&desc, clear.level, "level", &clear.region, "region")?;
        self.contents_moved(Kind::Texture, clear.resource);
        self.call(|backend, scope| backend.clear_texture(scope, clear))
    }

    pub(super) fn resource_readback(
        &mut self,
        read: &Readback,
        reply: Option<ReplySpace>,
    ) -> Result<(), Fault> {
        let span = self.buffer_span(read.resource, "resource", read.offset, read.size, "size")?;
        let Some(space) = self.wants(reply)? else { return Ok(()) };
        match span {
            Named::Refused => self.decline(space),
            Named::Live(()) => self.begin_read(space, Read::Buffer(read)),
        }
    }

    pub(super) fn get_texture_image(
        &mut self,
        read: &ReadbackInfo,
        reply: Option<ReplySpace>,
    ) -> Result<(), Fault> {
        let named = self.readable(read)?;
        let Some(space) = self.wants_bytes(reply, read)? else { return Ok(()) };
        match named {
            Named::Refused => self.decline(space),
            Named::Live(()) => self.begin_read(space, Read::Texture(read)),
        }
    }

    pub(super) fn read_pixels(
        &mut self,
        read: &ReadbackInfo,
        reply: Option<ReplySpace>,
    ) -> Result<(), Fault> {
        self.must(read.resource.is_null(), "resource")?;
        self.ready()?;
        let Some(space) = self.wants_bytes(reply, read)? else { return Ok(()) };
        if self.bind.trouble.any(Trouble::READ_FRAMEBUFFER_REFUSED) {
            self.drop_for_framebuffer(self.bind.state.read_framebuffer)?;
            return self.decline(space);
        }
        self.begin_read(space, Read::Pixels(read))
    }

    /// Whether the texture that a readback names has the region.
    fn readable(&self, read: &ReadbackInfo) -> Result<Named<()>, Fault> {
        let desc = match self.texture(read.resource, "resource")? {
            Named::Live(desc) => desc,
            Named::Refused => return Ok(Named::Refused),
        };
        self.must(desc.target() == read.target(), "target")?;
        self.in_level(&desc, u32::from(read.level), "level", &read.region, "region")?;
        let upload = read.upload_target().ok_or(self.corrupt("upload_target"))?;
        let target = read.target().ok_or(self.corrupt("target"))?;
        self.must(extent::is_image(target, upload, &read.region), "upload_target")?;
        Ok(Named::Live(()))
    }

    /// Reply space of a readback, which must hold all of it.
    fn wants_bytes(
        &self,
        reply: Option<ReplySpace>,
        read: &ReadbackInfo,
    ) -> Result<Option<ReplySpace>, Fault> {
        let wanted = self.wants(reply)?;
        let fits = wanted.is_none_or(|space| u64::from(space.capacity) >= read.dst_size);
        if fits { Ok(wanted) } else { Err(Fault::ReplyToNoSlot { row: self.op }) }
    }

    pub(super) fn read_to_buffer(&mut self, read: &ReadbackToBuffer, of_texture: bool) -> Result<(), Fault> {
        let region = &read.src.region;
        let rows = u64::from(region.height) * u64::from(region.depth);
        // Tight bytes of a row, of which the last is the last that is written.
        let row = read.src.dst_size.checked_div(rows).unwrap_or(0);
        let behind = |count: u32, stride: u64| stride.checked_mul(u64::from(count.saturating_sub(1)));
        let size = match (behind(region.depth, read.image_stride), behind(region.height, read.row_stride)) {
            (Some(images), Some(rows)) => images.checked_add(rows).and_then(|size| size.checked_add(row)),
            _ => None,
        };
        let size = size.ok_or(self.corrupt("image_stride"))?;
        let dst = self.buffer_span(read.dst, "dst", read.dst_base, size, "dst_base")?;
        if of_texture {
            if matches!(self.readable(&read.src)?, Named::Refused) {
                return self.drop_for_texture(read.src.resource);
            }
        } else {
            self.must(read.src.resource.is_null(), "resource")?;
            self.ready()?;
            if self.bind.trouble.any(Trouble::READ_FRAMEBUFFER_REFUSED) {
                return self.drop_for_framebuffer(self.bind.state.read_framebuffer);
            }
        }
        match dst {
            Named::Refused => self.drop_for_buffer(read.dst),
            Named::Live(()) => self.call(|backend, scope| backend.read_to_buffer(scope, read)),
        }
    }

    pub(super) fn shared_image(
        &mut self,
        image: &SharedImage,
        damage: &[DamageRect],
        reply: Option<ReplySpace>,
    ) -> Result<(), Fault> {
        if image.op() == Some(SharedImageOp::Attach) {
            self.known(Kind::Texture, image.texture, "texture")?;
        }
        let wanted = self.wants(reply)?;
        let (backend, mut scope) = self.scope();
        let outcome = backend.shared_image(&mut scope, image, damage);
        let answer = self.answerable(outcome)?.flatten();
        match (wanted, answer) {
            (None, _) => Ok(()),
            (Some(space), Some(answer)) => self.answer(space, &answer),
            (Some(space), None) => self.decline(space),
        }
    }
}
