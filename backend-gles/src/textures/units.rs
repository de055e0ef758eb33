//! Texture units: what each of them sees.

use runahead_core::{
    backend::{Outcome, Scope},
    objects::Texture as Record,
    storage::Storage,
};
use runahead_wire::{
    Handle,
    payload::BoundView,
    values::{ResourceTarget, Wrap},
};

use glow::HasContext;

use super::{Settled, is_multisample, storage, target, views};
use crate::{
    Gles,
    gl::{FAILED, Gl, UNSUPPORTED, gl},
    samplers,
};

/// What one texture unit sees.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Unit {
    /// Target and texture that are bound; 0 for none yet.
    target: u32,
    texture: Option<glow::NativeTexture>,
    sampler: Option<glow::NativeSampler>,
}

/// The texture units of a native context.
#[derive(Debug)]
pub(crate) struct Units {
    units: Vec<Unit>,
    active: u32,
    /// Serials of views, samplers and program, with that of the program's units.
    seen: Option<(u64, u64, Handle, u64)>,
}

impl Units {
    pub(crate) fn new(units: usize) -> Self {
        Self { units: vec![Unit::default(); units], active: 0, seen: None }
    }

    fn activate(&mut self, gl: &Gl, unit: u32) {
        if self.active != unit {
            gl!(gl, active_texture(glow::TEXTURE0 + unit));
            self.active = unit;
        }
    }

    /// Binds a texture to a unit for draws, or for work on it.
    fn bind(&mut self, gl: &Gl, unit: u32, target: u32, texture: Option<glow::NativeTexture>) -> Outcome {
        let at = self.units.get(unit as usize).copied().ok_or(UNSUPPORTED)?;
        if at.target == target && at.texture == texture {
            return Ok(());
        }
        self.activate(gl, unit);
        if at.target != target && at.target != 0 && at.texture.is_some() {
            // A program that reads the other target finds nothing there.
            gl!(gl, bind_texture(at.target, None));
        }
        gl!(gl, bind_texture(target, texture));
        if let Some(place) = self.units.get_mut(unit as usize) {
            *place = Unit { target, texture, ..at };
        }
        Ok(())
    }

    /// Binds a texture for work on it: to the active unit, which the next draw looks at again.
    pub(crate) fn work(&mut self, gl: &Gl, target: u32, texture: glow::NativeTexture) -> Outcome {
        let unit = self.active;
        let at = self.units.get(unit as usize).copied().unwrap_or_default();
        if at.target != target || at.texture != Some(texture) {
            self.seen = None;
        }
        self.bind(gl, unit, target, Some(texture))
    }

    fn sampler(&mut self, gl: &Gl, unit: u32, sampler: Option<glow::NativeSampler>) {
        if let Some(place) = self.units.get_mut(unit as usize)
            && place.sampler != sampler
        {
            gl!(gl, bind_sampler(unit, sampler));
            place.sampler = sampler;
        }
    }

    /// Forgets a name that the driver may give again. The driver has unbound it.
    pub(crate) fn forget(&mut self, texture: glow::NativeTexture) {
        for unit in &mut self.units {
            if unit.texture == Some(texture) {
                unit.texture = None;
            }
        }
        self.seen = None;
    }

    /// As [`Units::forget`].
    pub(crate) fn forget_sampler(&mut self, sampler: glow::NativeSampler) {
        for unit in &mut self.units {
            if unit.sampler == Some(sampler) {
                unit.sampler = None;
            }
        }
        self.seen = None;
    }

    /// Makes what the units of a program see that of the context. `units` are the program's, with the target that
    /// it reads there; `serial` moves when they do.
    #[inline]
    pub(crate) fn sync<S: Storage>(
        &mut self,
        gl: &Gl,
        home: u32,
        scope: &mut Scope<'_, Gles, S>,
        program: Handle,
        serial: u64,
        units: &[(u32, u32)],
    ) -> Outcome {
        let serials = &scope.bind.serials;
        let seen = Some((serials.sampler_views, serials.sampler_states, program, serial));
        // Parameters and storage of what is bound may have moved without a rebind.
        if self.seen == seen && units.iter().all(|(unit, _)| is_settled(scope, *unit)) {
            return Ok(());
        }
        for (unit, target) in units {
            self.sync_unit(gl, home, scope, *unit, *target)?;
        }
        self.seen = seen;
        Ok(())
    }

    fn sync_unit<S: Storage>(
        &mut self,
        gl: &Gl,
        home: u32,
        scope: &mut Scope<'_, Gles, S>,
        unit: u32,
        wanted: u32,
    ) -> Outcome {
        let bound = scope.bind.state.sampler_views.get(unit);
        if !bound.view.is_null() {
            return self.sync_view(gl, home, scope, unit, wanted, bound);
        }
        let Some(object) = scope.objects.textures.get_mut(bound.texture) else {
            // Nothing is bound there: black, as an incomplete texture is.
            return self.bind(gl, unit, wanted, None);
        };
        let desc = object.record.desc;
        let target = desc.target().and_then(target).ok_or(UNSUPPORTED)?;
        if target != wanted {
            return self.bind(gl, unit, wanted, None);
        }
        if target == glow::TEXTURE_BUFFER {
            let serial = scope.objects.buffers.get(desc.buffer_for_tex_buffer);
            let serial = serial.map(|buffer| buffer.record.storage_serial);
            let object = scope.objects.textures.get(bound.texture).ok_or(FAILED)?;
            if serial.is_some_and(|serial| !object.twin.shows(serial)) {
                self.activate(gl, unit);
                storage::sync_texture_buffer(gl, home, self, scope, bound.texture)?;
            }
        }
        let objects = &mut *scope.objects;
        let object = objects.textures.get_mut(bound.texture).ok_or(FAILED)?;
        let builtin = object.record.params.builtin_sampler;
        let name = object.twin.name(gl, home)?;
        let levels = object.record.desc.levels;
        self.show(gl, unit, (target, name), &mut object.twin.settled, &object.record, levels)?;
        self.sync_sampler(gl, home, scope, unit, (desc.target(), target), builtin)
    }

    /// A unit that sees a texture through a view.
    fn sync_view<S: Storage>(
        &mut self,
        gl: &Gl,
        home: u32,
        scope: &mut Scope<'_, Gles, S>,
        unit: u32,
        wanted: u32,
        bound: BoundView,
    ) -> Outcome {
        let storage = scope.objects.storage_of(bound.texture).map(|root| root.record.storage_serial);
        let objects = &mut *scope.objects;
        let (Some(view), Some(object), Some(storage)) =
            (objects.sampler_views.get_mut(bound.view), objects.textures.get_mut(bound.texture), storage)
        else {
            return self.bind(gl, unit, wanted, None);
        };
        let record = &object.record;
        let seen = view.record.target();
        let target = seen.and_then(target).ok_or(UNSUPPORTED)?;
        if target != wanted {
            return self.bind(gl, unit, wanted, None);
        }
        let (name, levels, settled) = if views::is_whole(&view.record, record) {
            let levels = record.desc.levels;
            (object.twin.name(gl, home)?, levels, &mut object.twin.settled)
        } else {
            let (name, old) = view.twin.resolve(gl, home, &view.record, (record, &object.twin), storage)?;
            if let Some(old) = old {
                self.forget(old);
                gl!(gl, delete_texture(old));
            }
            (name, views::levels(&view.record, record), &mut view.twin.settled)
        };
        let builtin = record.params.builtin_sampler;
        self.show(gl, unit, (target, name), settled, record, levels)?;
        self.sync_sampler(gl, home, scope, unit, (seen, target), builtin)
    }

    /// Binds what a unit sees, with the parameters of its record.
    fn show(
        &mut self,
        gl: &Gl,
        unit: u32,
        (target, name): (u32, glow::NativeTexture),
        settled: &mut Settled,
        record: &Record,
        levels: u16,
    ) -> Outcome {
        self.bind(gl, unit, target, Some(name))?;
        if !settled.is(record, levels) {
            self.activate(gl, unit);
            settled.settle(gl, target, record, levels);
        }
        Ok(())
    }

    /// The sampler of a unit: its own, or the one that is built into its texture. `seen` is the target, and `target` the
    /// driver's.
    fn sync_sampler<S: Storage>(
        &mut self,
        gl: &Gl,
        home: u32,
        scope: &mut Scope<'_, Gles, S>,
        unit: u32,
        (seen, target): (Option<ResourceTarget>, u32),
        builtin: Handle,
    ) -> Outcome {
        // Their texels are fetched, without one.
        if is_multisample(target) || target == glow::TEXTURE_BUFFER {
            return Ok(());
        }
        let own = scope.bind.state.sampler_states.get(unit);
        let sampler = if own.is_null() { builtin } else { own };
        let samplers = &mut scope.objects.samplers;
        // A texture of one dimension, which is flat here, has no other row for a border to come from.
        let flat = matches!(seen, Some(ResourceTarget::Texture1D | ResourceTarget::Texture1DArray));
        if flat && samplers.get(sampler).is_some_and(|one| one.record.wrap_t() == Some(Wrap::ClampToBorder)) {
            return Err(UNSUPPORTED);
        }
        let sampler = samplers::resolve(gl, home, samplers, sampler)?;
        self.sampler(gl, unit, sampler);
        Ok(())
    }
}

/// Whether the driver has what a unit sees as its records now say.
#[inline]
fn is_settled<S: Storage>(scope: &Scope<'_, Gles, S>, unit: u32) -> bool {
    let bound = scope.bind.state.sampler_views.get(unit);
    let objects = &*scope.objects;
    let Some(object) = objects.textures.get(bound.texture) else { return true };
    let desc = &object.record.desc;
    if !bound.view.is_null() {
        return is_view_settled(scope, bound);
    }
    if desc.target() == Some(ResourceTarget::TextureBuffer) {
        let buffer = objects.buffers.get(desc.buffer_for_tex_buffer);
        return buffer.is_none_or(|buffer| object.twin.shows(buffer.record.storage_serial));
    }
    object.twin.settled.is(&object.record, desc.levels)
}

fn is_view_settled<S: Storage>(scope: &Scope<'_, Gles, S>, bound: BoundView) -> bool {
    let objects = &*scope.objects;
    let (Some(view), Some(object), Some(root)) = (
        objects.sampler_views.get(bound.view),
        objects.textures.get(bound.texture),
        objects.storage_of(bound.texture),
    ) else {
        return true;
    };
    if views::is_whole(&view.record, &object.record) {
        return object.twin.settled.is(&object.record, object.record.desc.levels);
    }
    view.twin.shows(root.record.storage_serial)
        && view.twin.settled.is(&object.record, views::levels(&view.record, &object.record))
}
