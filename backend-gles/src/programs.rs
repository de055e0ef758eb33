//! Programs: translation at the verb, and what is set of a program between two draws.

use runahead_core::{
    backend::{Backend, Outcome, Scope},
    objects::Shader as Record,
    storage::Storage,
};
use runahead_wire::{
    Bulk, Handle,
    archive::ArchiveView,
    binding::UNIFORM_BUFFER_SET,
    values::{BlockClass, InterfaceSide, ProgramFlags, ResourceTarget, ScalarType, StageMask, UniformClass},
};

use glow::HasContext;

use crate::{
    Gles, essl,
    gl::{FAILED, Gl, Named, SetMatrix, SetUniform, UNSUPPORTED, copied, gl},
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

/// Attributes that a program reads as integers, by location.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Inputs {
    pub(crate) signed: u32,
    pub(crate) unsigned: u32,
}

/// Twin of a program.
#[derive(Debug, Default)]
pub struct Shader {
    pub(crate) named: Named<glow::NativeProgram>,
    /// Modules and archive of the last link, until a verb needs them.
    waiting: Option<Box<Modules>>,
    /// The driver or the translation did not take it.
    failed: bool,
    linked: Linked,
    /// Loose uniforms as the driver has them.
    image: Vec<u8>,
    constants_seen: u64,
    bindings_seen: u64,
    /// Moves when `units` do.
    units_serial: u64,
    /// Units that it reads, with the driver's target.
    units: Vec<(u32, u32)>,
}

/// What a link brought.
#[derive(Debug)]
struct Modules {
    stages: [Vec<u32>; 6],
    archive: Archive,
}

/// An archive out of the client's reach, at an address that it can be read from.
#[derive(Debug, Default)]
struct Archive {
    words: Vec<u64>,
    len: usize,
}

impl Archive {
    fn copy(bulk: &Bulk<'_>) -> Outcome<Self> {
        let bytes = copied(bulk)?;
        let words = bytes
            .chunks(8)
            .map(|chunk| {
                let mut word = [0; 8];
                word.iter_mut().zip(chunk).for_each(|(to, from)| *to = *from);
                u64::from_ne_bytes(word)
            })
            .collect();
        Ok(Self { words, len: bytes.len() })
    }

    fn view(&self) -> Outcome<ArchiveView<'_>> {
        use runahead_wire::zerocopy::IntoBytes;
        let bytes = self.words.as_bytes().get(..self.len).ok_or(FAILED)?;
        ArchiveView::parse(bytes).map_err(|_| UNSUPPORTED)
    }
}

/// What is known of an executable.
#[derive(Debug, Default)]
struct Linked {
    values: Vec<Value>,
    samplers: Vec<Sampler>,
    /// Uniform blocks in the order of their block index: binding in the module, and the driver's index.
    blocks: Vec<Option<u32>>,
    inputs: Inputs,
    broadcasts: bool,
}

/// A loose uniform that the driver has.
#[derive(Debug)]
struct Value {
    location: i32,
    setter: Setter,
    offset: usize,
    /// Bytes of the image that it takes.
    size: usize,
    count: usize,
    array_stride: usize,
    columns: usize,
    column_stride: usize,
    /// 32-bit words of a column.
    rows: usize,
}

#[derive(Clone, Copy)]
enum Setter {
    Vector(SetUniform),
    Matrix(SetMatrix),
}

impl std::fmt::Debug for Setter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Vector(_) => "Vector",
            Self::Matrix(_) => "Matrix",
        })
    }
}

/// A sampler uniform that the driver has, or an array of them.
#[derive(Debug)]
struct Sampler {
    /// As the archive has it.
    location: u32,
    native: i32,
    target: u32,
    /// Units as the driver has them.
    units: Vec<i32>,
    /// Units as the shader declares them.
    declared: Vec<i32>,
}

/// The program of a native context, and room for uniforms on their way.
#[derive(Debug, Default)]
pub(crate) struct Programs {
    current: Option<glow::NativeProgram>,
    scratch: Vec<u32>,
    /// Serials of units given so far.
    serial: u64,
}

/// What a draw needs to know of its program.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ready {
    pub(crate) inputs: Inputs,
    pub(crate) units_serial: u64,
    /// Its colour goes to every draw buffer.
    pub(crate) broadcasts: bool,
}

impl Shader {
    /// Units that the program reads, with the driver's target.
    pub(crate) fn units(&self) -> &[(u32, u32)] {
        &self.units
    }

    /// Takes the modules and the archive of a link, out of the client's reach. They are looked at when a verb needs
    /// the program.
    pub(crate) fn link(&mut self, modules: &[Bulk<'_>; 6], archive: &Bulk<'_>) -> Outcome {
        let mut stages = <[Vec<u32>; 6]>::default();
        for (stage, module) in stages.iter_mut().zip(modules) {
            let bytes = copied(module)?;
            let (words, rest) = bytes.as_chunks::<4>();
            if !rest.is_empty() {
                return Err(FAILED);
            }
            *stage = words.iter().map(|word| u32::from_le_bytes(*word)).collect();
        }
        let archive = Archive::copy(archive)?;
        archive.view()?;
        self.waiting = Some(Box::new(Modules { stages, archive }));
        self.failed = false;
        Ok(())
    }
}

impl Programs {
    /// Makes the program of a draw current, translated and with its uniforms and units; nothing where there is none.
    #[inline]
    pub(crate) fn sync<S: Storage>(
        &mut self,
        gl: &Gl,
        home: u32,
        scope: &mut Scope<'_, Gles, S>,
        program: Handle,
    ) -> Outcome<Option<Ready>>
    where
        Gles: Backend,
    {
        let Some(object) = scope.objects.shaders.get_mut(program) else { return Ok(None) };
        if !object.record.executable {
            return Ok(None);
        }
        let (record, twin) = (&object.record, &mut object.twin);
        if twin.waiting.is_some() {
            self.build(gl, home, twin)?;
        }
        if twin.failed {
            return Err(UNSUPPORTED);
        }
        let Some(name) = twin.named.name else { return Ok(None) };
        if self.current != Some(name) {
            gl!(gl, use_program(Some(name)));
            self.current = Some(name);
        }
        if twin.constants_seen != record.constants_serial {
            twin.set_values(record.constants.as_ref(), &mut self.scratch);
            twin.constants_seen = record.constants_serial;
        }
        if twin.bindings_seen != record.bindings_serial {
            self.bind(gl, record, twin);
            twin.bindings_seen = record.bindings_serial;
        }
        Ok(Some(Ready {
            inputs: twin.linked.inputs,
            units_serial: twin.units_serial,
            broadcasts: twin.linked.broadcasts,
        }))
    }

    /// Translates and links what waits.
    #[cold]
    #[inline(never)]
    fn build(&mut self, gl: &Gl, home: u32, twin: &mut Shader) -> Outcome {
        let Some(modules) = twin.waiting.take() else { return Ok(()) };
        if let Some(old) = twin.named.name.take() {
            gl!(gl, delete_program(old));
            self.forget(old);
        }
        twin.failed = true;
        let (name, samplers) = link(gl, &modules.stages)?;
        twin.named = Named { name: Some(name), home };
        twin.linked = Linked::new(gl, name, &modules.archive.view()?, &samplers)?;
        let size = twin.linked.values.iter().map(|value| value.offset + value.size).max();
        twin.image.clear();
        // The driver's uniforms are 0 after a link.
        twin.image.resize(size.unwrap_or(0), 0);
        // Neither constants nor bindings have a serial of 0.
        twin.constants_seen = 0;
        twin.bindings_seen = 0;
        twin.failed = false;
        Ok(())
    }

    /// Sets units and block bindings as they are after the link.
    #[cold]
    fn bind<S: Storage>(&mut self, gl: &Gl, record: &Record<S>, twin: &mut Shader) {
        let Shader { linked, units, units_serial, named, .. } = twin;
        units.clear();
        for sampler in &mut linked.samplers {
            let mut wanted = sampler.declared.clone();
            for one in &record.bindings.sampler_units {
                let at = one.location.wrapping_sub(sampler.location) as usize;
                if let Some(place) = wanted.get_mut(at) {
                    *place = one.unit;
                }
            }
            for unit in &wanted {
                let unit = (u32::try_from(*unit).unwrap_or(u32::MAX), sampler.target);
                if !units.contains(&unit) {
                    units.push(unit);
                }
            }
            if wanted != sampler.units {
                let location = glow::NativeUniformLocation(sampler.native as u32);
                gl!(gl, uniform_1_i32_slice(Some(&location), &wanted));
                sampler.units = wanted;
            }
        }
        self.serial += 1;
        *units_serial = self.serial;
        if let Some(name) = named.name {
            for (index, binding) in linked.blocks.iter().zip(&record.bindings.blocks) {
                if let (Some(index), Ok(binding)) = (index, u32::try_from(*binding)) {
                    gl!(gl, uniform_block_binding(name, *index, binding));
                }
            }
        }
    }

    /// Forgets a name that the driver may give again.
    pub(crate) fn forget(&mut self, program: glow::NativeProgram) {
        if self.current == Some(program) {
            self.current = None;
        }
    }
}

/// Translates, compiles and links. The locations of samplers come with the units that the shaders declare.
fn link(gl: &Gl, stages: &[Vec<u32>; 6]) -> Outcome<(glow::NativeProgram, Vec<(u32, u32)>)> {
    let there = |stage: &usize| !stages[*stage].is_empty();
    let first = (0..stages.len()).find(there).ok_or(UNSUPPORTED)?;
    let last = (0..stages.len()).rfind(there).ok_or(UNSUPPORTED)?;
    let program = gl!(gl, create_program()).map_err(|_| FAILED)?;
    let mut samplers = Vec::new();
    let mut shaders = Vec::new();
    let mut build = || {
        for (stage, words) in stages.iter().enumerate().filter(|(_, words)| !words.is_empty()) {
            let translated =
                essl::translate(words, gl.version, stage == first, stage == last).map_err(|_| UNSUPPORTED)?;
            samplers.extend(translated.samplers);
            let kind = STAGES.get(stage).copied().ok_or(UNSUPPORTED)?;
            let shader = gl!(gl, create_shader(kind)).map_err(|_| UNSUPPORTED)?;
            shaders.push(shader);
            gl!(gl, shader_source(shader, &translated.source));
            gl!(gl, compile_shader(shader));
            if !gl!(gl, get_shader_compile_status(shader)) {
                return Err(UNSUPPORTED);
            }
            gl!(gl, attach_shader(program, shader));
        }
        gl!(gl, link_program(program));
        if gl!(gl, get_program_link_status(program)) { Ok(()) } else { Err(UNSUPPORTED) }
    };
    let built = build();
    for shader in shaders {
        gl!(gl, delete_shader(shader));
    }
    match built {
        Ok(()) => Ok((program, samplers)),
        Err(error) => {
            gl!(gl, delete_program(program));
            Err(error)
        }
    }
}

/// What a sampler uniform of the archive reads, as the driver has it.
fn sampled(target: Option<ResourceTarget>) -> Option<u32> {
    target.and_then(textures::target)
}

impl Linked {
    fn new(
        gl: &Gl,
        program: glow::NativeProgram,
        archive: &ArchiveView<'_>,
        declared: &[(u32, u32)],
    ) -> Outcome<Self> {
        let mut linked = Self::default();
        let flags = archive.head().flags().unwrap_or(ProgramFlags::EMPTY);
        linked.broadcasts = flags.contains(ProgramFlags::BROADCASTS_COLOR);
        for uniform in archive.uniforms() {
            let name = format!("u{}{}", uniform.variable, archive.text(uniform.path));
            // One that the driver found no use for has none.
            let Some(location) = gl!(gl, get_uniform_location(program, &name)) else { continue };
            let native = location.0 as i32;
            let count = uniform.array_size as usize;
            match uniform.class().ok_or(UNSUPPORTED)? {
                UniformClass::Value => {
                    let range = uniform.image().ok_or(UNSUPPORTED)?;
                    let (columns, rows) = (usize::from(uniform.columns), usize::from(uniform.rows));
                    let scalar = match uniform.scalar().ok_or(UNSUPPORTED)? {
                        ScalarType::Float => 0,
                        // A truth value is set as the integer that it is.
                        ScalarType::Int | ScalarType::Bool => 1,
                        ScalarType::UnsignedInt => 2,
                        ScalarType::Double => return Err(UNSUPPORTED),
                    };
                    let setters = &gl.setters;
                    let setter = match columns {
                        1 => Setter::Vector(
                            setters
                                .vectors
                                .get(scalar)
                                .and_then(|row| row.get(rows - 1))
                                .copied()
                                .ok_or(UNSUPPORTED)?,
                        ),
                        _ => {
                            let row = setters.matrices.get(columns - 2);
                            let matrix = row.and_then(|row| row.get(rows.checked_sub(2)?)).copied();
                            Setter::Matrix(matrix.filter(|_| scalar == 0).ok_or(UNSUPPORTED)?)
                        }
                    };
                    linked.values.push(Value {
                        location: native,
                        setter,
                        offset: range.start,
                        size: range.len(),
                        count,
                        array_stride: uniform.array_stride as usize,
                        columns,
                        column_stride: uniform.matrix_stride as usize,
                        rows,
                    });
                }
                UniformClass::Sampler => {
                    let first = declared.iter().find(|(location, _)| *location == uniform.variable);
                    let first = first.map_or(0, |(_, unit)| *unit as i32);
                    // Elements of an array of structs share their variable's declaration; each begins at 0 then.
                    let first = if uniform.path.size == 0 { first } else { 0 };
                    let step = i32::from(first != 0);
                    linked.samplers.push(Sampler {
                        location: uniform.location,
                        native,
                        target: sampled(uniform.target()).ok_or(UNSUPPORTED)?,
                        units: vec![0; count],
                        declared: (0..count as i32).map(|at| first + step * at).collect(),
                    });
                }
                UniformClass::Image => return Err(UNSUPPORTED),
            }
        }
        for interface in archive.interfaces() {
            if interface.side() == Some(InterfaceSide::Input) && interface.location < 32 {
                let count = interface.array_size.saturating_mul(u32::from(interface.columns)).min(32);
                let mask = (((1_u64 << count) - 1) << interface.location) as u32;
                match interface.scalar() {
                    Some(ScalarType::Int) => linked.inputs.signed |= mask,
                    Some(ScalarType::UnsignedInt) => linked.inputs.unsigned |= mask,
                    _ => {}
                }
            }
        }
        for block in archive.blocks() {
            match block.class() {
                Some(BlockClass::Uniform) => {
                    let name = essl::block_name(UNIFORM_BUFFER_SET, block.binding);
                    linked.blocks.push(gl!(gl, get_uniform_block_index(program, &name)));
                }
                // Buffers that shaders write are not there yet.
                _ => return Err(UNSUPPORTED),
            }
        }
        Ok(linked)
    }
}

impl Shader {
    /// Sets the uniforms whose bytes moved. The program is current.
    fn set_values(&mut self, constants: &[u8], scratch: &mut Vec<u32>) {
        for value in &self.linked.values {
            let range = value.offset..value.offset + value.size;
            let (Some(new), Some(old)) = (constants.get(range.clone()), self.image.get_mut(range)) else {
                continue;
            };
            if new == &*old {
                continue;
            }
            old.copy_from_slice(new);
            scratch.clear();
            for element in 0..value.count {
                for column in 0..value.columns {
                    let at = element * value.array_stride + column * value.column_stride;
                    let words = new.get(at..).unwrap_or_default().as_chunks::<4>().0;
                    scratch.extend(words.iter().take(value.rows).map(|word| u32::from_le_bytes(*word)));
                }
            }
            let (count, from) = (value.count as i32, scratch.as_ptr().cast());
            match value.setter {
                // SAFETY: a context of the backend is current with this program; the address names the elements.
                Setter::Vector(set) => unsafe { set(value.location, count, from) },
                // SAFETY: as above.
                Setter::Matrix(set) => unsafe { set(value.location, count, 0, from) },
            }
        }
    }
}

/// Stages that this backend does not take yet.
pub(crate) fn takes(stages: Option<StageMask>) -> bool {
    stages.is_some_and(|stages| stages == StageMask::VERTEX.with(StageMask::FRAGMENT))
}
