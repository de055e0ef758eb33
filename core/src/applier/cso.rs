//! Constant state objects: render states, vertex layouts, samplers, views, programs.

use runahead_wire::{
    Bulk, Handle,
    handle::Kind,
    limits,
    payload::{
        BindRenderState, GlobalConstants, HandleOnly, ProgramBindings, ProgramDesc, ProgramSamplerUnit,
        ProgramStorageOverride, RenderStateDesc, SamplerDesc, SamplerParameters, SamplerView,
        StorageBlockBinding, VertexAttrib, VertexElements,
    },
};

use super::{Apply, bytes};
use crate::{
    backend::{Backend, Twin},
    bind_state::Trouble,
    chunks::{Half, PIPELINE_BYTES},
    fault::Fault,
    objects::{Bindings, Define, Shader, append, refill},
    outlet::Outlet,
    state::{State, initial_render_state},
    storage::Storage,
};

impl<B: Backend, S: Storage, O: Outlet> Apply<'_, B, S, O> {
    pub(super) fn create_render_state(
        &mut self,
        desc: &RenderStateDesc,
        blob: Bulk<'_>,
    ) -> Result<(), Fault> {
        let mut state = initial_render_state();
        if desc.base_cso.is_null() {
            self.must(desc.chunk_mask == Half::Pipeline.all(), "chunk_mask")?;
        } else {
            let base = self.objects.render_states.known(desc.base_cso).ok_or(self.unnamed("base_cso"))?;
            bytes::scatter(&base.record.0, &mut state);
        }
        if !bytes::apply_chunks(Half::Pipeline, desc.chunk_mask, &blob, &mut state)? {
            return Err(self.corrupt("blob"));
        }
        let mut half = [0; PIPELINE_BYTES];
        bytes::gather(&state, &mut half);
        let serial = self.next_serial();
        let old = match self.objects.render_states.define(desc.cso, Define::New, self.records) {
            Ok((object, old)) => {
                object.serial = serial;
                object.record.0 = half;
                old
            }
            Err(error) => return Err(self.undefined(error)),
        };
        self.release_old(old.map(Twin::RenderState));
        Ok(())
    }

    pub(super) fn bind_render_state(&mut self, bind: &BindRenderState) -> Result<(), Fault> {
        let cso = self.objects.render_states.known(bind.cso).ok_or(self.unnamed("cso"))?;
        bytes::scatter(&cso.record.0, &mut self.bind.state.render);
        self.bind.render_state = bind.cso;
        self.bind.serials.pipeline_state = self.next_serial();
        Ok(())
    }

    pub(super) fn create_vertex_elements(
        &mut self,
        elements: &VertexElements,
        blob: Bulk<'_>,
    ) -> Result<(), Fault> {
        self.must(elements.attribute_count <= limits::VERTEX_ATTRIBS, "attribute_count")?;
        self.must(elements.binding_point_count <= limits::VERTEX_BINDINGS, "binding_point_count")?;
        self.must(blob.len() == elements.blob_size(), "blob")?;
        let serial = self.next_serial();
        let old = match self.objects.vertex_elements.define(elements.cso, Define::Again, self.records) {
            Ok((object, old)) => {
                object.serial = serial;
                let (attributes, points) = (elements.attribute_count as usize, elements.binding_point_count);
                let record = &mut object.record;
                *record = Default::default();
                record.head = VertexElements { blob: Default::default(), ..*elements };
                let behind = attributes * size_of::<VertexAttrib>();
                let read =
                    match (record.attributes.get_mut(..attributes), record.points.get_mut(..points as usize))
                    {
                        (Some(attributes), Some(points)) => {
                            bytes::elements(&blob, 0, attributes)? && bytes::elements(&blob, behind, points)?
                        }
                        _ => false,
                    };
                let fed = record.attributes.iter().take(attributes);
                let points = points.max(1);
                if !read || fed.clone().any(|attribute| u32::from(attribute.binding_index) >= points) {
                    let field = if read { "binding_index" } else { "blob" };
                    return Err(self.corrupt(field));
                }
                old
            }
            Err(error) => return Err(self.undefined(error)),
        };
        self.release_old(old.map(Twin::VertexElements));
        Ok(())
    }

    pub(super) fn bind_vertex_elements(&mut self, object: &HandleOnly) -> Result<(), Fault> {
        self.null_or_known(Kind::VertexElementsCso, object.handle, "handle")?;
        self.bind.state.vertex_elements = object.handle;
        self.bind.serials.vertex_elements = self.next_serial();
        Ok(())
    }

    pub(super) fn create_sampler_state(
        &mut self,
        desc: &SamplerDesc,
        parameters: Bulk<'_>,
    ) -> Result<(), Fault> {
        let mut read = [SamplerParameters::default()];
        let whole = parameters.len() == size_of::<SamplerParameters>() as u64;
        if !whole || !bytes::elements(&parameters, 0, &mut read)? {
            return Err(self.corrupt("parameters"));
        }
        let serial = self.next_serial();
        let old = match self.objects.samplers.define(desc.cso, Define::New, self.records) {
            Ok((object, old)) => {
                object.serial = serial;
                [object.record] = read;
                old
            }
            Err(error) => return Err(self.undefined(error)),
        };
        self.release_old(old.map(Twin::Sampler));
        Ok(())
    }

    pub(super) fn create_sampler_view(&mut self, view: &SamplerView) -> Result<(), Fault> {
        self.known(Kind::Texture, view.texture, "texture")?;
        let serial = self.next_serial();
        let old = match self.objects.sampler_views.define(view.cso, Define::Again, self.records) {
            Ok((object, old)) => {
                object.serial = serial;
                object.record = *view;
                old
            }
            Err(error) => return Err(self.undefined(error)),
        };
        self.release_old(old.map(Twin::SamplerView));
        Ok(())
    }

    /// Releases the twin of an object whose end the client skipped by using its slot again.
    fn release_old(&mut self, old: Option<Twin<B>>) {
        if let Some(old) = old {
            self.objects.epoch += 1;
            self.release(old);
        }
    }

    pub(super) fn create_shader_state(
        &mut self,
        desc: &ProgramDesc,
        modules: [Bulk<'_>; limits::SHADER_STAGES],
        reflection: Bulk<'_>,
    ) -> Result<(), Fault> {
        let linked = desc.link_status() == Some(true);
        for (stage, module) in modules.iter().enumerate() {
            let has = desc.stage_mask & 1 << stage != 0;
            self.must(!linked || has != module.is_empty(), "stage_mask")?;
            self.must(module.len().is_multiple_of(4), "spirv")?;
        }
        self.must(desc.global_ubo_size <= limits::GLOBAL_CONSTANTS_BYTES, "global_ubo_size")?;
        let kept = ProgramDesc { spirv: Default::default(), reflection: Default::default(), ..*desc };
        let serial = self.next_serial();
        let same = self.objects.shaders.known(desc.cso).is_some();
        let old = match self.objects.shaders.define(desc.cso, self.records) {
            Ok((object, old)) => {
                object.serial = serial;
                let record = &mut object.record;
                if !same {
                    self.records.give_back(record.bytes());
                    *record = Shader::default();
                }
                record.desc = kept;
                old
            }
            Err(error) => return Err(self.undefined(error)),
        };
        self.release_old(old.map(Twin::Shader));
        if !linked {
            // The executable before stays in use until the program is bound again, with its bindings and
            // constants.
            return Ok(());
        }
        let mut cleared = true;
        if let Some(object) = self.objects.shaders.known_mut(desc.cso) {
            let record = &mut object.record;
            self.records.give_back(record.bindings.names.as_ref().len() as u64);
            record.bindings = Bindings::default();
            record.bindings_serial = serial;
            cleared = refill(&mut record.constants, desc.global_ubo_size as usize, self.records);
            record.constants_serial = serial;
            record.executable_serial = serial;
            record.executable = cleared;
        }
        if !cleared {
            return Err(Fault::OverLimit { row: self.op, field: "global_ubo_size" });
        }
        let (backend, mut scope) = self.scope();
        match backend.create_shader(&mut scope, desc.cso, modules, reflection) {
            Ok(()) => Ok(()),
            Err(error) => {
                self.objects.shaders.refuse(desc.cso);
                self.refused(Kind::ShaderCso, desc.cso, error)
            }
        }
    }

    pub(super) fn bind_shader_state(&mut self, object: &HandleOnly) -> Result<(), Fault> {
        self.null_or_known(Kind::ShaderCso, object.handle, "handle")?;
        let serial = self.next_serial();
        if let Some(shader) = self.objects.shaders.known_mut(object.handle) {
            let record = &mut shader.record;
            if record.desc.link_status() != Some(true) && record.executable {
                record.executable = false;
                record.executable_serial = serial;
            }
        }
        self.bind.state.shader = object.handle;
        self.programs_moved();
        Ok(())
    }

    pub(super) fn set_program(
        &mut self,
        object: &HandleOnly,
        place: impl FnOnce(&mut State) -> &mut Handle,
    ) -> Result<(), Fault> {
        self.null_or_known(Kind::ShaderCso, object.handle, "handle")?;
        *place(&mut self.bind.state) = object.handle;
        self.programs_moved();
        Ok(())
    }

    fn programs_moved(&mut self) {
        self.bind.serials.programs = self.next_serial();
        self.bind.trouble.set(Trouble::UNCHECKED, true);
    }

    pub(super) fn set_global_constants(
        &mut self,
        constants: &GlobalConstants,
        blob: Bulk<'_>,
    ) -> Result<(), Fault> {
        let (too_far, unnamed) = (self.corrupt("offset"), self.unnamed("shader_cso"));
        let serial = self.next_serial();
        let shader = self.objects.shaders.known_mut(constants.shader_cso).ok_or(unnamed)?;
        let at = constants.offset as usize;
        let end = usize::try_from(blob.len()).ok().and_then(|len| at.checked_add(len)).ok_or(too_far)?;
        let place = shader.record.constants.as_mut().get_mut(at..end).ok_or(too_far)?;
        if !bytes::copy(&blob, 0, place) {
            return Err(self.corrupt("blob"));
        }
        shader.record.constants_serial = serial;
        Ok(())
    }

    pub(super) fn set_program_bindings(
        &mut self,
        head: &ProgramBindings,
        blocks: &[i32],
        sampler_units: &[ProgramSamplerUnit],
        storage: &[ProgramStorageOverride],
        names: Bulk<'_>,
    ) -> Result<(), Fault> {
        let named = |one: &ProgramStorageOverride| {
            one.name_size != 0 && u64::from(one.name_offset) + u64::from(one.name_size) <= names.len()
        };
        self.must(storage.iter().all(named), "names")?;
        let most = u64::from(limits::PROGRAM_STORAGE_OVERRIDES) * u64::from(limits::MESSAGE_BYTES);
        self.must(names.len() <= most, "names")?;
        let (unnamed, corrupt) = (self.unnamed("cso"), self.corrupt("block_binding_count"));
        let serial = self.next_serial();
        let shader = self.objects.shaders.known_mut(head.cso).ok_or(unnamed)?;
        let bindings = &mut shader.record.bindings;
        bindings.blocks.clear();
        bindings.sampler_units.clear();
        bindings.storage.clear();
        bindings.blocks.extend_from_slice(blocks).map_err(|_| corrupt)?;
        bindings.sampler_units.extend_from_slice(sampler_units).map_err(|_| corrupt)?;
        bindings.storage.extend_from_slice(storage).map_err(|_| corrupt)?;
        if !refill(&mut bindings.names, names.len() as usize, self.records) {
            return Err(Fault::OverLimit { row: self.op, field: "names" });
        }
        if !bytes::copy(&names, 0, bindings.names.as_mut()) {
            return Err(self.corrupt("names"));
        }
        shader.record.bindings_serial = serial;
        Ok(())
    }

    pub(super) fn set_storage_block_binding(
        &mut self,
        binding: &StorageBlockBinding,
        name: Bulk<'_>,
    ) -> Result<(), Fault> {
        let mut text = [0; limits::MESSAGE_BYTES as usize];
        let len = usize::try_from(name.len()).unwrap_or(usize::MAX);
        let text = text.get_mut(..len).ok_or(self.corrupt("name"))?;
        let copied = bytes::copy(&name, 0, text);
        let Some((0, text)) = text.split_last().filter(|_| copied) else { return Err(self.corrupt("name")) };
        self.must(!text.is_empty(), "name")?;
        let number = i32::try_from(binding.binding).map_err(|_| self.corrupt("binding"))?;
        let (unnamed, full) =
            (self.unnamed("shader_cso"), Fault::OverLimit { row: self.op, field: "storage_overrides" });
        let serial = self.next_serial();
        let shader = self.objects.shaders.known_mut(binding.shader_cso).ok_or(unnamed)?;
        let bindings = &mut shader.record.bindings;
        let names = bindings.names.as_ref();
        let known = bindings.storage.iter_mut().find(|one| {
            let at = one.name_offset as usize;
            names.get(at..at + one.name_size as usize) == Some(text)
        });
        match known {
            Some(known) => known.binding = number,
            None => {
                let at = bindings.names.as_ref().len();
                let one = ProgramStorageOverride {
                    name_offset: at as u32,
                    name_size: text.len() as u32,
                    binding: number,
                    ..ProgramStorageOverride::default()
                };
                bindings.storage.push(one).map_err(|_| full)?;
                if !append(&mut bindings.names, text, self.records) {
                    return Err(full);
                }
            }
        }
        shader.record.bindings_serial = serial;
        Ok(())
    }

    /// Ends an object of any kind.
    pub(super) fn end(&mut self, kind: Kind, handle: Handle) -> Result<(), Fault> {
        let objects = &mut self.objects;
        let twin = match kind {
            Kind::Buffer | Kind::Texture | Kind::Renderbuffer => self.end_resource(kind, handle),
            Kind::Framebuffer => objects.framebuffers.end(handle).map(Twin::Framebuffer),
            Kind::RenderStateCso => objects.render_states.end(handle).map(Twin::RenderState),
            Kind::VertexElementsCso => objects.vertex_elements.end(handle).map(Twin::VertexElements),
            Kind::SamplerCso => objects.samplers.end(handle).map(Twin::Sampler),
            Kind::SamplerViewCso => objects.sampler_views.end(handle).map(Twin::SamplerView),
            Kind::ShaderCso => {
                if let Some(shader) = objects.shaders.known(handle) {
                    self.records.give_back(shader.record.bytes());
                }
                objects.shaders.end(handle).map(Twin::Shader)
            }
            Kind::Fence => {
                self.debts.forget_fence(self.current.group, handle, self.outlet)?;
                objects.fences.end(handle).map(Twin::Fence)
            }
            Kind::Query => {
                self.debts.forget_query(self.current.group, handle, self.outlet)?;
                objects.queries.end(handle).map(Twin::Query)
            }
            Kind::None | Kind::TransformFeedback | Kind::Context => return Err(self.corrupt("kind")),
        };
        let twin = twin.ok_or(self.unnamed("handle"))?;
        self.objects.epoch += 1;
        self.release(twin);
        Ok(())
    }

    /// Ends an object of one kind, which the record must state.
    pub(super) fn end_as(&mut self, kind: Kind, object: &HandleOnly) -> Result<(), Fault> {
        self.must(object.kind() == Some(kind), "kind")?;
        self.end(kind, object.handle)
    }
}
