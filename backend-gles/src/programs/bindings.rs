//! What the points and units of a program show, once its bindings are applied.

use runahead_core::{objects::Bindings, storage::Storage};
use runahead_wire::values::ShaderBufferClass;

use glow::HasContext;

use super::link::Linked;
use crate::gl::{Gl, gl};

/// What a program reads, by the driver's points and units.
#[derive(Clone, Debug, Default)]
pub(crate) struct Uses {
    /// Texture units, with the driver's target.
    pub(crate) textures: Vec<(u32, u32)>,
    /// Image unit of the client at each one of the driver.
    pub(crate) images: Vec<Option<u32>>,
    /// Uniform buffer point of the client at each one of the driver.
    pub(crate) uniform: Vec<u32>,
    /// Class and point of the client at each storage buffer point of the driver.
    pub(crate) storage: Vec<Option<(ShaderBufferClass, u32)>>,
}

impl Uses {
    /// Empties it and keeps its memory.
    pub(crate) fn clear(&mut self) {
        self.textures.clear();
        self.images.clear();
        self.uniform.clear();
        self.storage.clear();
    }

    /// Becomes another one and keeps its memory.
    pub(crate) fn copy(&mut self, from: &Self) {
        self.clear();
        self.textures.extend_from_slice(&from.textures);
        self.images.extend_from_slice(&from.images);
        self.uniform.extend_from_slice(&from.uniform);
        self.storage.extend_from_slice(&from.storage);
    }
}

/// Puts something at a place of a list that grows.
fn put<T: Clone>(list: &mut Vec<Option<T>>, at: u32, what: T) {
    let at = at as usize;
    if list.len() <= at {
        list.resize(at + 1, None);
    }
    if let Some(place) = list.get_mut(at) {
        *place = Some(what);
    }
}

/// Units of an array of opaque uniforms: those that were set, and otherwise those that are declared.
fn units<S: Storage>(bindings: &Bindings<S>, location: u32, declared: &[i32]) -> Vec<i32> {
    let mut wanted = declared.to_vec();
    for one in &bindings.sampler_units {
        let at = one.location.wrapping_sub(location) as usize;
        if let Some(place) = wanted.get_mut(at) {
            *place = one.unit;
        }
    }
    wanted
}

/// Sets units and block bindings of the current program as they are after the link, and says what it reads then.
pub(super) fn apply<S: Storage>(
    gl: &Gl,
    program: glow::NativeProgram,
    bindings: &Bindings<S>,
    linked: &mut Linked,
    uses: &mut Uses,
) {
    let number = |unit: i32| u32::try_from(unit).unwrap_or(u32::MAX);
    uses.clear();
    for sampler in &mut linked.samplers {
        let wanted = units(bindings, sampler.location, &sampler.declared);
        for unit in &wanted {
            let unit = (number(*unit), sampler.target);
            if !uses.textures.contains(&unit) {
                uses.textures.push(unit);
            }
        }
        if wanted != sampler.units {
            let location = glow::NativeUniformLocation(sampler.native as u32);
            gl!(gl, uniform_1_i32_slice(Some(&location), &wanted));
            sampler.units = wanted;
        }
    }
    for image in &linked.images {
        let wanted = units(bindings, image.location, &image.declared);
        for (at, unit) in (0..).zip(wanted) {
            put(&mut uses.images, image.point + at, number(unit));
        }
    }
    for (at, block) in linked.uniform_blocks.iter().enumerate() {
        let Some(index) = block.index else { continue };
        let point = bindings.blocks.get(at).and_then(|point| u32::try_from(*point).ok());
        let point = point.unwrap_or(block.declared);
        // Blocks at one point of the client's share one of the driver's.
        let native = uses.uniform.iter().position(|there| *there == point).unwrap_or_else(|| {
            uses.uniform.push(point);
            uses.uniform.len() - 1
        });
        gl!(gl, uniform_block_binding(program, index, native as u32));
    }
    for block in &linked.storage_blocks {
        let Some(native) = block.point else { continue };
        let names = bindings.names.as_ref();
        let moved = bindings.storage.iter().find(|one| {
            let start = one.name_offset as usize;
            names.get(start..start + one.name_size as usize) == Some(block.name.as_bytes())
        });
        let moved = moved.filter(|_| block.class == ShaderBufferClass::Storage);
        let point = moved.map_or(block.declared, |one| number(one.binding));
        put(&mut uses.storage, native, (block.class, point));
    }
}
