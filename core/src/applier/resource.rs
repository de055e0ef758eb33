//! Buffers, textures and renderbuffers: storage, contents, ends.

use runahead_wire::{
    Bulk, Handle, ReplySpace,
    format::Format,
    handle::Kind,
    payload::{
        ClearBuffer, CopyBuffer, FlushRange, HandleOnly, Invalidate, MapPersistentAnswer, ResourceDesc,
        SubData, SubRegion, TextureParams,
    },
    values::{InvalidateTarget, RefusedReason, ResourceTarget, StorageKind},
};

use super::{Apply, Named};
use crate::{
    backend::{Backend, BackendError, Outcome, Scope, Twin},
    extent,
    fault::Fault,
    objects::Define,
    outlet::Outlet,
    storage::Storage,
};

/// Kind of a resource of a target.
pub(super) const fn kind_of(target: ResourceTarget) -> Kind {
    match target {
        ResourceTarget::Buffer => Kind::Buffer,
        ResourceTarget::Renderbuffer => Kind::Renderbuffer,
        _ => Kind::Texture,
    }
}

/// Whether two descriptions define the same storage, so that one in place of the other is metadata alone.
/// A buffer's store is always defined anew: that is what orphans it.
fn same_storage(old: &ResourceDesc, new: &ResourceDesc) -> bool {
    let storage = |desc: &ResourceDesc| ResourceDesc {
        bind_mask: 0,
        image_bindable_hint: 0,
        gl_name: 0,
        has_respecified_level: 0,
        respecified_level: 0,
        respecified_upload_target: 0,
        ..*desc
    };
    old.target != ResourceTarget::Buffer.raw() as u8 && storage(old) == storage(new)
}

impl<B: Backend, S: Storage, O: Outlet> Apply<'_, B, S, O> {
    /// What a description must be in itself and beside other objects.
    fn check_desc(&self, desc: &ResourceDesc) -> Result<Kind, Fault> {
        let target = desc.target().ok_or(self.corrupt("target"))?;
        let kind = kind_of(target);
        let storage = if kind == Kind::Buffer { StorageKind::Buffer } else { StorageKind::Mipmap };
        self.must(desc.storage_kind() == Some(storage), "storage_kind")?;
        self.must(desc.samples <= 32, "samples")?;
        self.must(desc.levels <= 32, "levels")?;
        self.null_or_known(Kind::Texture, desc.view_of, "view_of")?;
        self.must(desc.view_of.is_null() || desc.view_of != desc.resource, "view_of")?;
        self.must(desc.view_of.is_null() || kind == Kind::Texture, "view_of")?;
        self.null_or_known(Kind::Buffer, desc.buffer_for_tex_buffer, "buffer_for_tex_buffer")?;
        Ok(kind)
    }

    pub(super) fn resource_create(&mut self, desc: &ResourceDesc) -> Result<(), Fault> {
        let kind = self.check_desc(desc)?;
        let handle = desc.resource;
        let serial = self.next_serial();
        macro_rules! define {
            ($table:ident, $twin:ident) => {{
                let (object, old) = match self.objects.$table.define(handle, Define::New, self.records) {
                    Ok(defined) => defined,
                    Err(error) => return Err(self.undefined(error)),
                };
                // The memory of an object whose end was skipped comes back with its twin.
                self.storage.give_back(object.record.footprint);
                object.serial = serial;
                object.record = Default::default();
                object.record.desc = *desc;
                old.map(Twin::$twin)
            }};
        }
        let old = match kind {
            Kind::Buffer => define!(buffers, Buffer),
            Kind::Renderbuffer => define!(renderbuffers, Renderbuffer),
            _ => define!(textures, Texture),
        };
        if let Some(old) = old {
            self.objects.epoch += 1;
            self.release(old);
        }
        self.define_storage(kind, handle)
    }

    /// Counts the storage of a resource against the quota and tells the backend; refuses the resource when
    /// either says no.
    fn define_storage(&mut self, kind: Kind, handle: Handle) -> Result<(), Fault> {
        let serial = self.next_serial();
        macro_rules! account {
            ($table:ident) => {{
                let Some(object) = self.objects.$table.known_mut(handle) else {
                    return Err(self.unnamed("resource"));
                };
                self.storage.give_back(object.record.footprint);
                let footprint = extent::footprint(&object.record.desc);
                object.record.footprint = if self.storage.take(footprint) { footprint } else { 0 };
                object.record.footprint == footprint
            }};
        }
        let affordable = match kind {
            Kind::Buffer => account!(buffers),
            Kind::Renderbuffer => account!(renderbuffers),
            _ => account!(textures),
        };
        match kind {
            Kind::Buffer => {
                if let Some(object) = self.objects.buffers.known_mut(handle) {
                    object.record.storage_serial = serial;
                }
            }
            Kind::Texture => {
                if let Some(object) = self.objects.textures.known_mut(handle) {
                    object.record.storage_serial = serial;
                }
            }
            _ => {}
        }
        let outcome = if affordable {
            let (backend, mut scope) = self.scope();
            backend.define_storage(&mut scope, kind, handle)
        } else {
            Err(BackendError::Refused(RefusedReason::OutOfMemory))
        };
        match outcome {
            Ok(()) => Ok(()),
            Err(error) => {
                match kind {
                    Kind::Buffer => self.objects.buffers.refuse(handle),
                    Kind::Renderbuffer => self.objects.renderbuffers.refuse(handle),
                    _ => self.objects.textures.refuse(handle),
                }
                self.refused(kind, handle, error)
            }
        }
    }

    pub(super) fn resource_respecify(&mut self, desc: &ResourceDesc) -> Result<(), Fault> {
        let kind = self.check_desc(desc)?;
        let handle = desc.resource;
        self.known(kind, handle, "resource")?;
        let serial = self.next_serial();
        macro_rules! respecify {
            ($table:ident) => {{
                let Some(object) = self.objects.$table.known_mut(handle) else {
                    return Err(self.unnamed("resource"));
                };
                let old = object.record.desc;
                // Purposes are only ever added.
                let bind_mask = old.bind_mask | desc.bind_mask;
                // A record that names a level defines it again, whatever it was.
                let one_level = desc.has_respecified_level != 0;
                let same = !object.is_refused() && !one_level && same_storage(&old, desc);
                if old.target == desc.target && (same || old.immutable == 0) {
                    object.record.desc = ResourceDesc { bind_mask, ..*desc };
                    object.serial = serial;
                }
                (old, same, object.revive())
            }};
        }
        let (old, same, revived) = match kind {
            Kind::Buffer => respecify!(buffers),
            Kind::Renderbuffer => respecify!(renderbuffers),
            _ => respecify!(textures),
        };
        self.must(old.target == desc.target, "target")?;
        self.must(same || old.immutable == 0, "immutable")?;
        if revived {
            // Windows that name it are to be looked at again: what was dropped for its sake is drawn now.
            self.objects.epoch += 1;
        }
        if same { Ok(()) } else { self.define_storage(kind, handle) }
    }

    pub(super) fn resource_destroy(&mut self, object: &HandleOnly) -> Result<(), Fault> {
        match object.kind() {
            Some(kind @ (Kind::Buffer | Kind::Texture | Kind::Renderbuffer)) => self.end(kind, object.handle),
            _ => Err(self.corrupt("kind")),
        }
    }

    /// Ends a resource; its memory comes back to the quota.
    pub(super) fn end_resource(&mut self, kind: Kind, handle: Handle) -> Option<Twin<B>> {
        let objects = &mut self.objects;
        let footprint = match kind {
            Kind::Buffer => objects.buffers.known(handle)?.record.footprint,
            Kind::Renderbuffer => objects.renderbuffers.known(handle)?.record.footprint,
            _ => objects.textures.known(handle)?.record.footprint,
        };
        self.storage.give_back(footprint);
        match kind {
            Kind::Buffer => objects.buffers.end(handle).map(Twin::Buffer),
            Kind::Renderbuffer => objects.renderbuffers.end(handle).map(Twin::Renderbuffer),
            _ => objects.textures.end(handle).map(Twin::Texture),
        }
    }

    /// A buffer that a record is about, and whether a span lies within its store.
    pub(super) fn buffer_span(
        &self,
        handle: Handle,
        field: &'static str,
        offset: u64,
        size: u64,
        span: &'static str,
    ) -> Result<Named<()>, Fault> {
        let buffer = self.objects.buffers.known(handle).ok_or(self.unnamed(field))?;
        if buffer.is_refused() {
            return Ok(Named::Refused);
        }
        self.must(extent::in_bytes(offset, size, buffer.record.desc.buf_size), span)?;
        Ok(Named::Live(()))
    }

    /// Drops a verb for the sake of a refused buffer.
    pub(super) fn drop_for_buffer(&mut self, handle: Handle) -> Result<(), Fault> {
        self.drop_verb(|objects| objects.buffers.known_mut(handle).map(|object| &mut object.told))
    }

    /// Drops a verb for the sake of a refused texture.
    pub(super) fn drop_for_texture(&mut self, handle: Handle) -> Result<(), Fault> {
        self.drop_verb(|objects| objects.textures.known_mut(handle).map(|object| &mut object.told))
    }

    pub(super) fn resource_sub_data(
        &mut self,
        data: &SubData,
        regions: &[SubRegion],
        bytes: Bulk<'_>,
    ) -> Result<(), Fault> {
        if data.target() == Some(ResourceTarget::Buffer) {
            return self.upload_buffer(data, regions.len(), bytes, false);
        }
        let texture = self.objects.textures.known(data.resource).ok_or(self.unnamed("resource"))?;
        if texture.is_refused() {
            return self.drop_for_texture(data.resource);
        }
        let desc = texture.record.desc;
        self.must(data.target == desc.target, "target")?;
        let (Some(target), Some(upload)) = (data.target(), data.upload_target()) else {
            return Err(self.corrupt("target"));
        };
        let format = desc.internal_format().unwrap_or(Format::Undefined);
        let extent = extent::level(&desc, u32::from(data.level)).ok_or(self.corrupt("level"))?;
        self.must(data.level_width == extent.width, "level_width")?;
        self.must(data.level_height == extent.height, "level_height")?;
        self.must(extent::holds(extent, &data.union_box), "union_box")?;
        self.must(!regions.is_empty(), "region_count")?;
        for region in regions {
            let texels = extent::of_region(region);
            self.must(extent::is_image(target, upload, &texels), "upload_target")?;
            self.must(extent::encloses(&data.union_box, &texels), "regions")?;
            let end = extent::source_end(region, format);
            self.must(end.is_some_and(|end| end <= bytes.len()), "blob")?;
        }
        let serial = self.next_serial();
        if let Some(texture) = self.objects.textures.get_mut(data.resource) {
            texture.serial = serial;
        }
        let (backend, mut scope) = self.scope();
        let outcome = backend.upload_texture(&mut scope, data, regions, bytes);
        self.object_verb(Kind::Texture, data.resource, outcome)
    }

    pub(super) fn upload_buffer(
        &mut self,
        data: &SubData,
        regions: usize,
        bytes: Bulk<'_>,
        resident: bool,
    ) -> Result<(), Fault> {
        self.must(regions == 0 && data.region_count == 0, "region_count")?;
        self.must(data.upload_target == 0, "upload_target")?;
        self.must(data.level == 0, "level")?;
        let range = data.buffer_range().ok_or(self.corrupt("target"))?;
        self.must(bytes.len() == range.size, "blob")?;
        match self.buffer_span(data.resource, "resource", range.offset, range.size, "union_box")? {
            Named::Refused => return self.drop_for_buffer(data.resource),
            Named::Live(()) => {}
        }
        let serial = self.next_serial();
        if let Some(buffer) = self.objects.buffers.get_mut(data.resource) {
            buffer.serial = serial;
        }
        let (backend, mut scope) = self.scope();
        let outcome = backend.upload_buffer(&mut scope, data, bytes, resident);
        self.object_verb(Kind::Buffer, data.resource, outcome)
    }

    /// What became of work on one object: lack of memory refuses the object itself.
    fn object_verb(&mut self, kind: Kind, handle: Handle, outcome: Outcome) -> Result<(), Fault> {
        match outcome {
            Ok(()) => Ok(()),
            Err(error) => self.refused(kind, handle, error),
        }
    }

    pub(super) fn flush_range(&mut self, range: &FlushRange) -> Result<(), Fault> {
        match self.buffer_span(range.resource, "resource", range.offset, range.size, "size")? {
            Named::Refused => self.drop_for_buffer(range.resource),
            Named::Live(()) => self.call(|backend, scope| backend.flush_range(scope, range)),
        }
    }

    pub(super) fn map_persistent(
        &mut self,
        object: &HandleOnly,
        reply: Option<ReplySpace>,
    ) -> Result<(), Fault> {
        self.must(object.kind() == Some(Kind::Buffer), "kind")?;
        self.known(Kind::Buffer, object.handle, "handle")?;
        let Some(space) = self.wants(reply)? else { return Ok(()) };
        let live = self.objects.buffers.get(object.handle).is_some();
        let token = if live {
            let (backend, mut scope) = self.scope();
            let outcome = backend.map_persistent(&mut scope, object.handle);
            self.answerable(outcome)?
        } else {
            None
        };
        match token.flatten() {
            Some(token) => self.answer(space, &MapPersistentAnswer { token }),
            None => self.decline(space),
        }
    }

    pub(super) fn unmap_persistent(&mut self, object: &HandleOnly) -> Result<(), Fault> {
        self.must(object.kind() == Some(Kind::Buffer), "kind")?;
        self.known(Kind::Buffer, object.handle, "handle")?;
        if self.objects.buffers.get(object.handle).is_none() {
            return Ok(());
        }
        self.call(|backend, scope| backend.unmap_persistent(scope, object.handle))
    }

    pub(super) fn copy_buffer(&mut self, copy: &CopyBuffer) -> Result<(), Fault> {
        let src = self.buffer_span(copy.src, "src", copy.src_offset, copy.size, "src_offset")?;
        let dst = self.buffer_span(copy.dst, "dst", copy.dst_offset, copy.size, "dst_offset")?;
        let apart = copy.src_offset.abs_diff(copy.dst_offset) >= copy.size;
        self.must(copy.src != copy.dst || apart, "size")?;
        match (src, dst) {
            (Named::Refused, _) => self.drop_for_buffer(copy.src),
            (_, Named::Refused) => self.drop_for_buffer(copy.dst),
            (Named::Live(()), Named::Live(())) => {
                self.call(|backend, scope| backend.copy_buffer(scope, copy))
            }
        }
    }

    pub(super) fn clear_buffer(&mut self, clear: &ClearBuffer) -> Result<(), Fault> {
        let span = self.buffer_span(clear.resource, "resource", clear.offset, clear.size, "size")?;
        let unit = u64::from(clear.value_size.max(1));
        self.must(clear.offset.is_multiple_of(unit), "offset")?;
        self.must(clear.size.is_multiple_of(unit), "size")?;
        match span {
            Named::Refused => self.drop_for_buffer(clear.resource),
            Named::Live(()) => self.call(|backend, scope| backend.clear_buffer(scope, clear)),
        }
    }

    pub(super) fn invalidate(&mut self, what: &Invalidate) -> Result<(), Fault> {
        let live = match what.what() {
            Some(InvalidateTarget::Buffer) => {
                let span = self.buffer_span(what.resource, "resource", what.offset, what.size, "size")?;
                matches!(span, Named::Live(()))
            }
            Some(InvalidateTarget::Texture) => {
                let texture = self.objects.textures.known(what.resource).ok_or(self.unnamed("resource"))?;
                let extent = extent::level(&texture.record.desc, what.level).ok_or(self.corrupt("level"))?;
                self.must(extent::holds(extent, &what.region), "region")?;
                !texture.is_refused()
            }
            Some(InvalidateTarget::Framebuffer) => {
                self.framebuffer(what.resource, "resource")?;
                true
            }
            None => return Err(self.corrupt("what")),
        };
        // Contents that never were need no dropping.
        if live { self.call(|backend, scope| backend.invalidate(scope, what)) } else { Ok(()) }
    }

    pub(super) fn set_texture_params(&mut self, params: &TextureParams) -> Result<(), Fault> {
        self.known(Kind::Texture, params.resource, "resource")?;
        self.known(Kind::SamplerCso, params.builtin_sampler, "builtin_sampler")?;
        let serial = self.next_serial();
        if let Some(texture) = self.objects.textures.known_mut(params.resource) {
            texture.record.params = *params;
            texture.record.params_serial = serial;
            texture.serial = serial;
        }
        Ok(())
    }

    /// A call of the backend for a verb.
    #[inline]
    pub(super) fn call(
        &mut self,
        call: impl FnOnce(&mut B, &mut Scope<'_, B, S>) -> Outcome,
    ) -> Result<(), Fault> {
        let (backend, mut scope) = self.scope();
        let outcome = call(backend, &mut scope);
        self.verb(outcome)
    }

    /// What a call answered, or nothing when it refused: a question that cannot be answered is declined.
    pub(super) fn answerable<T>(&self, outcome: Outcome<T>) -> Result<Option<T>, Fault> {
        match outcome {
            Ok(answer) => Ok(Some(answer)),
            Err(BackendError::Refused(_)) => Ok(None),
            Err(BackendError::DeviceLost) => Err(Fault::DeviceLost),
        }
    }
}
