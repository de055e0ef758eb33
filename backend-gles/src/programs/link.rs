//! From modules to a program of the driver, and what is known of it then.

use runahead_core::backend::Outcome;
use runahead_wire::{
    archive::{ArchiveBlock, ArchiveInterface, ArchiveUniform, ArchiveView},
    binding::{ATOMIC_BUFFER_BINDING_BASE, UNIFORM_BUFFER_SET},
    values::{
        BlockClass, InterfaceSide, ProgramFlags, ScalarType, ShaderBufferClass, StageMask, UniformClass,
    },
};

use glow::HasContext;

use super::values::Value;
use crate::{
    essl::{self, Slots},
    gl::{FAILED, Gl, UNSUPPORTED, gl},
    module::{Capture, Reader},
    textures,
};

/// Stages of a program, with the driver's name of each.
const STAGES: [u32; 6] = [
    glow::VERTEX_SHADER,
    glow::TESS_CONTROL_SHADER,
    glow::TESS_EVALUATION_SHADER,
    glow::GEOMETRY_SHADER,
    glow::FRAGMENT_SHADER,
    glow::COMPUTE_SHADER,
];

/// Places of stages in [`STAGES`].
const TESS_CONTROL: usize = 1;
const TESS_EVALUATION: usize = 2;
const FRAGMENT: usize = 4;
const COMPUTE: usize = 5;

/// Points of one class that a program may have. No driver has as many, so that nothing is lost, and no list grows longer
/// than that by what a module says.
const MOST: u32 = 1024;

/// Stages that this backend takes on a driver of some version, together.
pub(crate) fn takes(version: u32, stages: Option<StageMask>) -> bool {
    let Some(stages) = stages else { return false };
    if stages == StageMask::COMPUTE {
        return version >= 31;
    }
    let has = |stage: StageMask| stages.contains(stage);
    let more = [StageMask::TESS_CONTROL, StageMask::TESS_EVALUATION, StageMask::GEOMETRY];
    has(StageMask::VERTEX)
        && !has(StageMask::COMPUTE)
        // OpenGL ES draws nothing without a fragment stage, and takes neither tessellation stage alone (OpenGL ES 3.2
        // section 11.1.3.11).
        && has(StageMask::FRAGMENT)
        && has(StageMask::TESS_CONTROL) == has(StageMask::TESS_EVALUATION)
        && (version >= 32 || !more.into_iter().any(has))
}

/// A program in the shading language.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Translated {
    /// Source of each stage; nothing for one that the program lacks.
    pub(crate) sources: [String; 6],
    pub(crate) slots: Slots,
    pub(crate) capture: Capture,
}

impl Translated {
    /// Translates the modules of a program.
    ///
    /// # Errors
    /// Why it cannot be, for a log.
    pub(crate) fn new(stages: &[Vec<u32>; 6], version: u32) -> Result<Self, String> {
        let there = |stage: &usize| !stages[*stage].is_empty();
        let first = (0..stages.len()).find(there).ok_or("no stage")?;
        let last = (0..stages.len()).rfind(there).ok_or("no stage")?;
        // Capture looks at the last stage before the fragment stage.
        let captured = (0..FRAGMENT).rfind(there);
        let mut translated = Self::default();
        for (stage, words) in stages.iter().enumerate().filter(|(_, words)| !words.is_empty()) {
            let reader =
                Reader::new(words).ok_or("an instruction of the module is longer than the module")?;
            let edges = (stage == first, stage == last);
            let source = essl::translate(&reader, version, edges, &mut translated.slots)?;
            if let Some(place) = translated.sources.get_mut(stage) {
                *place = source;
            }
            if captured == Some(stage) {
                translated.capture = reader.capture(if stage == last { 'f' } else { 'v' })?;
            }
        }
        let Slots { uniform_blocks, storage_blocks, images, .. } = &translated.slots;
        if [uniform_blocks, storage_blocks, images].iter().any(|runs| runs.points() > MOST) {
            return Err("more points than any driver has".to_owned());
        }
        Ok(translated)
    }

    /// Compiles and links.
    pub(crate) fn link(&self, gl: &Gl) -> Outcome<glow::NativeProgram> {
        let program = gl!(gl, create_program()).map_err(|_| FAILED)?;
        let mut shaders = Vec::new();
        let mut build = || {
            for (source, kind) in self.sources.iter().zip(STAGES).filter(|(source, _)| !source.is_empty()) {
                let shader = gl!(gl, create_shader(kind)).map_err(|_| UNSUPPORTED)?;
                shaders.push(shader);
                gl!(gl, shader_source(shader, source));
                gl!(gl, compile_shader(shader));
                gl!(gl, attach_shader(program, shader));
            }
            if !self.capture.names.is_empty() {
                let names: Vec<&str> = self.capture.names.iter().map(String::as_str).collect();
                let mode =
                    if self.capture.separate { glow::SEPARATE_ATTRIBS } else { glow::INTERLEAVED_ATTRIBS };
                gl!(gl, transform_feedback_varyings(program, &names, mode));
            }
            gl!(gl, link_program(program));
            // A shader that did not compile is one of the reasons why a program does not link.
            if gl!(gl, get_program_link_status(program)) { Ok(()) } else { Err(UNSUPPORTED) }
        };
        let built = build();
        for shader in shaders {
            gl!(gl, delete_shader(shader));
        }
        built.map(|()| program).inspect_err(|_| gl!(gl, delete_program(program)))
    }
}

/// Attributes that a program reads as integers, by location.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Inputs {
    pub(crate) signed: u32,
    pub(crate) unsigned: u32,
}

/// What is known of an executable.
#[derive(Debug, Default)]
pub(super) struct Linked {
    pub(super) values: Vec<Value>,
    pub(super) samplers: Vec<Sampler>,
    pub(super) images: Vec<Image>,
    /// In the order of their block index.
    pub(super) uniform_blocks: Vec<UniformBlock>,
    pub(super) storage_blocks: Vec<StorageBlock>,
    pub(super) inputs: Inputs,
    pub(super) broadcasts: bool,
    pub(super) is_compute: bool,
    pub(super) is_tessellated: bool,
    /// Buffers that transform feedback captures into.
    pub(super) captured: usize,
}

/// A sampler uniform that the driver has, or an array of them.
#[derive(Debug)]
pub(super) struct Sampler {
    /// As the archive has it.
    pub(super) location: u32,
    pub(super) native: i32,
    pub(super) target: u32,
    /// Units as the driver has them.
    pub(super) units: Vec<i32>,
    /// Units as the shader declares them.
    pub(super) declared: Vec<i32>,
}

/// An image uniform, or an array of them.
#[derive(Debug)]
pub(super) struct Image {
    /// As the archive has it.
    pub(super) location: u32,
    /// First unit of the driver.
    pub(super) point: u32,
    /// Units as the shader declares them.
    pub(super) declared: Vec<i32>,
}

/// A uniform block.
#[derive(Debug)]
pub(super) struct UniformBlock {
    /// The driver's index; nothing for a block that it found no use for.
    pub(super) index: Option<u32>,
    /// Point that the module names.
    pub(super) declared: u32,
}

/// A storage block, or the counters of an atomic counter buffer.
#[derive(Debug)]
pub(super) struct StorageBlock {
    pub(super) name: String,
    /// Point of the driver; nothing for a block that no stage uses.
    pub(super) point: Option<u32>,
    pub(super) class: ShaderBufferClass,
    /// Point of its class that the module names.
    pub(super) declared: u32,
}

impl Linked {
    pub(super) fn new(
        gl: &Gl,
        program: glow::NativeProgram,
        archive: &ArchiveView<'_>,
        translated: &Translated,
    ) -> Outcome<Self> {
        let has = |stage: usize| translated.sources.get(stage).is_some_and(|source| !source.is_empty());
        let mut linked = Self {
            captured: translated.capture.buffers,
            is_compute: has(COMPUTE),
            is_tessellated: has(TESS_CONTROL) || has(TESS_EVALUATION),
            ..Self::default()
        };
        let flags = archive.head().flags().unwrap_or(ProgramFlags::EMPTY);
        linked.broadcasts = flags.contains(ProgramFlags::BROADCASTS_COLOR);
        for uniform in archive.uniforms() {
            linked.add_uniform(gl, program, archive, uniform, &translated.slots)?;
        }
        for interface in archive.interfaces() {
            linked.add_interface(interface);
        }
        for block in archive.blocks() {
            linked.add_block(gl, program, archive, block, &translated.slots)?;
        }
        Ok(linked)
    }

    fn add_uniform(
        &mut self,
        gl: &Gl,
        program: glow::NativeProgram,
        archive: &ArchiveView<'_>,
        uniform: &ArchiveUniform,
        slots: &Slots,
    ) -> Outcome {
        let count = uniform.array_size as i32;
        if uniform.class() == Some(UniformClass::Image) {
            // One that no stage uses has no place.
            if let Some((run, 0)) = slots.images.find(uniform.variable) {
                if uniform.path.size != 0 || run.count != uniform.array_size {
                    return Err(UNSUPPORTED);
                }
                self.images.push(Image {
                    location: uniform.location,
                    point: run.point,
                    declared: (0..count).map(|at| run.unit as i32 + at).collect(),
                });
            }
            return Ok(());
        }
        let name = format!("u{}{}", uniform.variable, archive.text(uniform.path));
        // One that the driver found no use for has none.
        let Some(location) = gl!(gl, get_uniform_location(program, &name)) else { return Ok(()) };
        let native = location.0 as i32;
        if uniform.class() == Some(UniformClass::Value) {
            self.values.push(Value::new(gl, uniform, native)?);
            return Ok(());
        }
        let first = slots.samplers.iter().find(|(location, _)| *location == uniform.variable);
        let first = first.map_or(0, |(_, unit)| *unit as i32);
        // Elements of an array of structs share their variable's declaration; each begins at 0 then.
        let first = if uniform.path.size == 0 { first } else { 0 };
        let step = i32::from(first != 0);
        self.samplers.push(Sampler {
            location: uniform.location,
            native,
            target: uniform.target().and_then(textures::target).ok_or(UNSUPPORTED)?,
            units: vec![0; uniform.array_size as usize],
            declared: (0..count).map(|at| first + step * at).collect(),
        });
        Ok(())
    }

    fn add_interface(&mut self, interface: &ArchiveInterface) {
        if interface.side() == Some(InterfaceSide::Input) && interface.location < 32 {
            let count = interface.array_size.saturating_mul(u32::from(interface.columns)).min(32);
            let mask = (((1_u64 << count) - 1) << interface.location) as u32;
            match interface.scalar() {
                Some(ScalarType::Int) => self.inputs.signed |= mask,
                Some(ScalarType::UnsignedInt) => self.inputs.unsigned |= mask,
                _ => {}
            }
        }
    }

    fn add_block(
        &mut self,
        gl: &Gl,
        program: glow::NativeProgram,
        archive: &ArchiveView<'_>,
        block: &ArchiveBlock,
        slots: &Slots,
    ) -> Outcome {
        let binding = block.binding;
        let class = match block.class().ok_or(UNSUPPORTED)? {
            BlockClass::Uniform => {
                let index = slots.uniform_blocks.find(binding).and_then(|(run, at)| {
                    let mut name = essl::block_name(UNIFORM_BUFFER_SET, run.first);
                    if run.array {
                        name = format!("{name}[{at}]");
                    }
                    gl!(gl, get_uniform_block_index(program, &name))
                });
                self.uniform_blocks.push(UniformBlock { index, declared: binding });
                return Ok(());
            }
            BlockClass::Storage => ShaderBufferClass::Storage,
            BlockClass::Atomic => ShaderBufferClass::Atomic,
        };
        let base = if class == ShaderBufferClass::Atomic { ATOMIC_BUFFER_BINDING_BASE } else { 0 };
        self.storage_blocks.push(StorageBlock {
            name: archive.text(block.name).to_owned(),
            point: slots.storage_blocks.find(binding).map(|(run, at)| run.point + at),
            class,
            declared: binding.checked_sub(base).ok_or(UNSUPPORTED)?,
        });
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stages_that_a_driver_takes_together() {
        const V: StageMask = StageMask::VERTEX;
        const F: StageMask = StageMask::FRAGMENT;
        const TC: StageMask = StageMask::TESS_CONTROL;
        const TE: StageMask = StageMask::TESS_EVALUATION;
        const G: StageMask = StageMask::GEOMETRY;
        const C: StageMask = StageMask::COMPUTE;
        for (stages, since) in [
            (V.with(F), Some(30)),
            (C, Some(31)),
            (V.with(G).with(F), Some(32)),
            (V.with(TC).with(TE).with(F), Some(32)),
            (V, None),
            (F, None),
            (V.with(TE).with(F), None),
            (V.with(TC).with(F), None),
            (V.with(F).with(C), None),
        ] {
            for version in [30, 31, 32] {
                let taken = since.is_some_and(|since| version >= since);
                assert_eq!(takes(version, Some(stages)), taken, "{stages:?} of {version}");
            }
        }
    }
}
