//! Shader and program objects, uniforms.
//!
//! Source: OpenGL ES 2.0.25 section 2.10.

use std::fmt;

use runahead_core::{
    Shared, Turn,
    compare::ProgramContents,
    slots::Band,
    storage::{Bytes, Storage, Table as CoreTable},
    tracker::{Constants, ProgramBindings},
};
use runahead_wire::{
    Bulk, Handle,
    archive::ArchiveView,
    payload::{DepthRange, ProgramDesc, ProgramSamplerUnit},
    pipe::Pipe,
    values::{InterfaceSide, ResourceTarget, ScalarType, SpirvStatus, StageMask, UniformClass},
    zerocopy::IntoBytes,
};

use super::{
    client_memory::Source,
    context::{Dead, Objects, Own, State},
    enums,
    error::{Error, Outcome},
    table::{Id, Table},
    texture::Target,
};
use crate::shader::{self, Compiled, Linked, Stage};

/// Memory of what a program keeps beside the server.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Heap;

impl Storage for Heap {
    type Table<T: Default + fmt::Debug> = Rows<T>;
    type Bytes = Words;
}

/// A table on the heap.
#[derive(Debug)]
pub(crate) struct Rows<T>(Vec<T>);

impl<T> Default for Rows<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T: Default + fmt::Debug> CoreTable<T> for Rows<T> {
    fn len(&self) -> u32 {
        self.0.len() as u32
    }

    fn get(&self, at: u32) -> Option<&T> {
        self.0.get(at as usize)
    }

    fn get_mut(&mut self, at: u32) -> Option<&mut T> {
        self.0.get_mut(at as usize)
    }

    fn push(&mut self) -> bool {
        let room = self.0.try_reserve(1).is_ok() && self.0.len() < u32::MAX as usize;
        if room {
            self.0.push(T::default());
        }
        room
    }
}

/// Bytes on the heap that begin at a multiple of 8.
#[derive(Debug, Default)]
pub(crate) struct Words {
    words: Vec<u64>,
    len: usize,
}

impl AsRef<[u8]> for Words {
    fn as_ref(&self) -> &[u8] {
        self.words.as_bytes().get(..self.len).unwrap_or_default()
    }
}

impl AsMut<[u8]> for Words {
    fn as_mut(&mut self) -> &mut [u8] {
        self.words.as_mut_bytes().get_mut(..self.len).unwrap_or_default()
    }
}

impl Bytes for Words {
    fn reset(&mut self, len: usize) -> bool {
        let mut words = Vec::new();
        let count = len.div_ceil(8);
        if words.try_reserve_exact(count).is_err() {
            return false;
        }
        words.resize(count, 0);
        *self = Self { words, len };
        true
    }
}

/// A shader or a program: they share one name space.
#[derive(Debug)]
pub(crate) enum Code {
    Shader(Shader),
    Program(Box<Program>),
}

/// A shader object.
#[derive(Debug)]
pub(crate) struct Shader {
    stage: Stage,
    source: Vec<u8>,
    compiled: Option<Compiled>,
    log: String,
    deleted: bool,
}

/// A uniform variable, or a leaf of one.
#[derive(Debug)]
pub(crate) struct Uniform {
    /// Without a last `[0]`.
    name: String,
    location: u32,
    offset: usize,
    count: u32,
    stride: usize,
    column_stride: usize,
    class: UniformClass,
    scalar: ScalarType,
    columns: u8,
    rows: u8,
    target: Option<Target>,
    is_array: bool,
}

/// An active attribute.
#[derive(Debug)]
struct Input {
    name: String,
    location: u32,
    count: u32,
    columns: u8,
    rows: u8,
}

/// What a program was linked to.
#[derive(Debug, Default)]
struct Executable {
    /// In the order of their locations; indices are those of `glGetActiveUniform`.
    uniforms: Vec<Uniform>,
    inputs: Vec<Input>,
    /// Where the image has the depth range: near, far, difference.
    depth_range: [Option<usize>; 3],
    /// Attributes that are read, bit `n` for location `n`.
    attributes: u32,
}

/// A program object.
#[derive(Debug)]
pub(crate) struct Program {
    attached: [Option<Id>; 2],
    /// `glBindAttribLocation`, for the next link.
    bound: Vec<(String, u32)>,
    log: String,
    linked: bool,
    validated: bool,
    deleted: bool,
    /// Null until it was linked for the first time.
    pub(crate) handle: Handle,
    executable: Option<Executable>,
    constants: Constants<Heap>,
    bindings: ProgramBindings<Heap>,
    /// Unit of each element of each sampler uniform.
    units: Vec<ProgramSamplerUnit>,
    /// Target that the program reads from a unit.
    pub(crate) reads: Vec<(usize, Target)>,
    /// Two targets are read from one unit.
    conflict: bool,
    units_untold: bool,
    depth_range_told: Option<DepthRange>,
    /// Moves with each successful link.
    pub(crate) link_serial: u64,
    /// Moves when `reads` do.
    pub(crate) units_serial: u64,
}

impl Program {
    fn new() -> Self {
        Self {
            attached: [None; 2],
            bound: Vec::new(),
            log: String::new(),
            linked: false,
            validated: false,
            deleted: false,
            handle: Handle::NULL,
            executable: None,
            constants: Constants::default(),
            bindings: ProgramBindings::default(),
            units: Vec::new(),
            reads: Vec::new(),
            conflict: false,
            units_untold: false,
            depth_range_told: None,
            link_serial: 0,
            units_serial: 0,
        }
    }

    /// Attributes that it reads; none where it cannot be run.
    pub(crate) fn attributes(&self) -> Option<u32> {
        self.executable.as_ref().map(|executable| executable.attributes)
    }

    /// Whether two samplers of different types read one unit (section 2.10.4).
    pub(crate) const fn has_conflict(&self) -> bool {
        self.conflict
    }

    /// Tells the server of values and units that have changed.
    pub(crate) fn emit<P: Pipe>(&mut self, pipe: &mut P, depth_range: DepthRange) -> Result<(), P::Error> {
        if let Some(executable) = &self.executable
            && self.depth_range_told != Some(depth_range)
        {
            let DepthRange { near, far } = depth_range;
            for (offset, value) in executable.depth_range.iter().zip([near, far, far - near]) {
                if let Some(offset) = offset {
                    let set = self.constants.set(*offset, &value.to_ne_bytes());
                    debug_assert!(set, "the archive's offsets lie in its image");
                }
            }
            self.depth_range_told = Some(depth_range);
        }
        if self.units_untold {
            self.bindings.emit(pipe, self.handle, &[], &self.units, &[], &[])?;
            self.units_untold = false;
        }
        self.constants.emit(pipe, self.handle)
    }

    /// Works out which target is read from which unit.
    fn units_moved(&mut self, serial: u64) {
        let Some(executable) = &self.executable else { return };
        self.reads.clear();
        self.conflict = false;
        for uniform in executable.uniforms.iter().filter(|uniform| uniform.class == UniformClass::Sampler) {
            let Some(target) = uniform.target else { continue };
            let of =
                |unit: &&ProgramSamplerUnit| unit.location.wrapping_sub(uniform.location) < uniform.count;
            for unit in self.units.iter().filter(of) {
                let at = unit.unit.max(0) as usize;
                match self.reads.iter().find(|(unit, _)| *unit == at) {
                    Some((_, other)) => self.conflict |= *other != target,
                    None => self.reads.push((at, target)),
                }
            }
        }
        self.units_untold = true;
        self.units_serial = serial;
    }
}

/// The description of a linked program.
fn desc(cso: Handle, image_size: u32) -> ProgramDesc {
    ProgramDesc {
        cso,
        stage_mask: StageMask::VERTEX.with(StageMask::FRAGMENT).raw(),
        global_ubo_size: image_size,
        reserved_num_samples_offset: u32::MAX,
        spirv_status: SpirvStatus::Ready.raw8(),
        link_status: 1,
        ..ProgramDesc::default()
    }
}

impl Program {
    /// How the server has it.
    pub(crate) fn described(&self) -> ProgramContents<'_> {
        let constants = self.constants.image();
        ProgramContents {
            desc: desc(self.handle, constants.len() as u32),
            constants,
            blocks: &[],
            sampler_units: &self.units,
            storage: &[],
            names: &[],
        }
    }
}

impl Executable {
    /// Reads an archive.
    fn new(archive: &ArchiveView<'_>) -> Self {
        let mut executable = Self::default();
        for uniform in archive.uniforms() {
            let name = archive.text(uniform.name);
            match name {
                "gl_DepthRange.near" => executable.depth_range[0] = Some(uniform.offset as usize),
                "gl_DepthRange.far" => executable.depth_range[1] = Some(uniform.offset as usize),
                "gl_DepthRange.diff" => executable.depth_range[2] = Some(uniform.offset as usize),
                _ => {}
            }
            // Built-in values are the front's to set.
            if name.starts_with("gl_") {
                continue;
            }
            let target = match uniform.target() {
                Some(ResourceTarget::CubeMap) => Some(Target::CubeMap),
                Some(ResourceTarget::Texture2D) => Some(Target::Texture2D),
                _ => None,
            };
            let class = uniform.class().unwrap_or(UniformClass::Value);
            executable.uniforms.push(Uniform {
                name: name.to_owned(),
                location: uniform.location,
                offset: uniform.offset as usize,
                count: uniform.array_size,
                stride: uniform.array_stride as usize,
                column_stride: uniform.matrix_stride as usize,
                class,
                scalar: uniform.scalar().unwrap_or(ScalarType::Float),
                columns: uniform.columns,
                rows: uniform.rows,
                target: target.filter(|_| class == UniformClass::Sampler),
                is_array: uniform.array_size > 1 || uniform.array_stride != 0,
            });
        }
        executable.uniforms.sort_by_key(|uniform| uniform.location);
        for interface in archive.interfaces() {
            let name = archive.text(interface.name);
            if interface.side() != Some(InterfaceSide::Input) || name.starts_with("gl_") {
                continue;
            }
            let locations = interface.array_size.saturating_mul(u32::from(interface.columns));
            for location in (interface.location..interface.location.saturating_add(locations)).take(32) {
                executable.attributes |= 1_u32.checked_shl(location).unwrap_or(0);
            }
            executable.inputs.push(Input {
                name: name.to_owned(),
                location: interface.location,
                count: interface.array_size,
                columns: interface.columns,
                rows: interface.rows,
            });
        }
        executable
    }

    /// The uniform of a location, and which of its elements.
    fn at(&self, location: i32) -> Option<(&Uniform, u32)> {
        let location = u32::try_from(location).ok()?;
        let behind = self.uniforms.partition_point(|uniform| uniform.location <= location);
        let uniform = self.uniforms.get(behind.checked_sub(1)?)?;
        let element = location - uniform.location;
        (element < uniform.count).then_some((uniform, element))
    }
}

impl Uniform {
    /// The number of its type (section 2.10.4).
    fn kind(&self) -> u32 {
        use enums::{
            BOOL, BOOL_VEC2, FLOAT, FLOAT_MAT2, FLOAT_VEC2, INT, INT_VEC2, SAMPLER_2D, SAMPLER_CUBE,
        };
        let vector = |scalar: u32, vector: u32| match self.rows {
            1 => scalar,
            rows => vector + u32::from(rows) - 2,
        };
        match (self.class, self.scalar) {
            (UniformClass::Sampler, _) if self.target == Some(Target::CubeMap) => SAMPLER_CUBE,
            (UniformClass::Sampler | UniformClass::Image, _) => SAMPLER_2D,
            (_, ScalarType::Int | ScalarType::UnsignedInt) => vector(INT, INT_VEC2),
            (_, ScalarType::Bool) => vector(BOOL, BOOL_VEC2),
            _ if self.columns > 1 => FLOAT_MAT2 + u32::from(self.columns) - 2,
            _ => vector(FLOAT, FLOAT_VEC2),
        }
    }

    /// The name as `glGetActiveUniform` gives it.
    fn listed(&self) -> String {
        if self.is_array { format!("{}[0]", self.name) } else { self.name.clone() }
    }
}

/// What `glUniform*` gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Given {
    /// Vectors of so many floats.
    Floats(u8),
    /// Vectors of so many integers.
    Integers(u8),
    /// Square matrices of so many columns.
    Matrices(u8),
}

impl Code {
    const fn is_deleted(&self) -> bool {
        match self {
            Self::Shader(shader) => shader.deleted,
            Self::Program(program) => program.deleted,
        }
    }
}

/// The shader of a name: one that no object has is an invalid value, and a program an invalid operation (section
/// 2.10.1).
fn shader_of(code: &Table<Code>, name: u32) -> Outcome<(Id, &Shader)> {
    let id = code.find(name).ok_or(Error::InvalidValue)?;
    match code.get(id) {
        Some(Code::Shader(shader)) => Ok((id, shader)),
        _ => Err(Error::InvalidOperation),
    }
}

fn shader_mut(code: &mut Table<Code>, name: u32) -> Outcome<&mut Shader> {
    let (id, _) = shader_of(code, name)?;
    match code.get_mut(id) {
        Some(Code::Shader(shader)) => Ok(shader),
        _ => Err(Error::InvalidOperation),
    }
}

/// As [`shader_of`], for programs.
fn program_of(code: &Table<Code>, name: u32) -> Outcome<(Id, &Program)> {
    let id = code.find(name).ok_or(Error::InvalidValue)?;
    match code.get(id) {
        Some(Code::Program(program)) => Ok((id, program)),
        _ => Err(Error::InvalidOperation),
    }
}

fn program_mut(code: &mut Table<Code>, name: u32) -> Outcome<&mut Program> {
    let (id, _) = program_of(code, name)?;
    program_at(code, id)
}

fn program_at(code: &mut Table<Code>, id: Id) -> Outcome<&mut Program> {
    match code.get_mut(id) {
        Some(Code::Program(program)) => Ok(program),
        _ => Err(Error::InvalidOperation),
    }
}

/// The program that is in use.
pub(crate) fn program_in_use(code: &mut Table<Code>, program: Option<Id>) -> Option<&mut Program> {
    program_at(code, program?).ok()
}

impl State {
    /// Deletes a name whose object is marked and no longer referred to.
    fn settle_code(&mut self, objects: &mut Objects, id: Id) {
        let done = objects.code.references(id) == 0 && objects.code.get(id).is_some_and(Code::is_deleted);
        if !done {
            return;
        }
        let name = objects.code.name(id);
        if let Some(Code::Program(program)) = objects.code.delete(name) {
            if !program.handle.is_null() {
                self.dead.push(Dead::Program(program.handle));
            }
            for shader in program.attached.into_iter().flatten() {
                self.release_code(objects, shader);
            }
        }
    }

    fn release_code(&mut self, objects: &mut Objects, id: Id) {
        // It keeps its name until it is settled.
        let ended = objects.code.release(id);
        debug_assert!(ended.is_none(), "shaders and programs keep their names while they live");
        self.settle_code(objects, id);
    }

    /// This program is in use from now on.
    pub(crate) fn set_program(&mut self, objects: &mut Objects, program: Option<Id>) {
        if let Some(id) = program {
            objects.code.retain(id);
        }
        if let Some(old) = std::mem::replace(&mut self.program, program) {
            self.release_code(objects, old);
        }
        self.stale.program = true;
    }

    /// `glCreateShader`.
    pub(crate) fn create_shader(&mut self, objects: &mut Objects, kind: u32) -> Outcome<u32> {
        let stage = match kind {
            enums::VERTEX_SHADER => Stage::Vertex,
            enums::FRAGMENT_SHADER => Stage::Fragment,
            _ => return Err(Error::InvalidEnum),
        };
        let shader = Shader { stage, source: Vec::new(), compiled: None, log: String::new(), deleted: false };
        let name = objects.code.generate().ok_or(Error::OutOfMemory)?;
        objects.code.insert(name, Code::Shader(shader)).ok_or(Error::OutOfMemory)?;
        Ok(name)
    }

    /// `glCreateProgram`.
    pub(crate) fn create_program(&mut self, objects: &mut Objects) -> Outcome<u32> {
        let name = objects.code.generate().ok_or(Error::OutOfMemory)?;
        objects.code.insert(name, Code::Program(Box::new(Program::new()))).ok_or(Error::OutOfMemory)?;
        Ok(name)
    }

    /// `glDeleteShader`.
    pub(crate) fn delete_shader(&mut self, objects: &mut Objects, name: u32) -> Outcome {
        if name == 0 {
            return Ok(());
        }
        let (id, _) = shader_of(&objects.code, name)?;
        shader_mut(&mut objects.code, name)?.deleted = true;
        self.settle_code(objects, id);
        Ok(())
    }

    /// `glDeleteProgram`.
    pub(crate) fn delete_program(&mut self, objects: &mut Objects, name: u32) -> Outcome {
        if name == 0 {
            return Ok(());
        }
        let (id, _) = program_of(&objects.code, name)?;
        program_at(&mut objects.code, id)?.deleted = true;
        self.settle_code(objects, id);
        Ok(())
    }

    /// `glShaderSource`.
    pub(crate) fn shader_source(&mut self, objects: &mut Objects, name: u32, source: Vec<u8>) -> Outcome {
        shader_mut(&mut objects.code, name)?.source = source;
        Ok(())
    }

    /// `glCompileShader`.
    pub(crate) fn compile_shader(&mut self, objects: &mut Objects, name: u32) -> Outcome {
        let shader = shader_mut(&mut objects.code, name)?;
        shader.compiled = None;
        shader.log.clear();
        let source = String::from_utf8_lossy(&shader.source);
        match shader::compile(shader.stage, &source, &self.limits.environment) {
            Ok(compiled) => {
                shader.log = compiled.log().to_owned();
                shader.compiled = Some(compiled);
            }
            Err(log) => shader.log = log,
        }
        Ok(())
    }

    /// `glAttachShader`.
    pub(crate) fn attach_shader(&mut self, objects: &mut Objects, program: u32, shader: u32) -> Outcome {
        let code = &mut objects.code;
        let (program, _) = program_of(code, program)?;
        let (id, shader) = shader_of(code, shader)?;
        let stage = shader.stage as usize;
        let place = program_at(code, program)?.attached.get_mut(stage).ok_or(Error::InvalidOperation)?;
        // A program has one shader of a stage (section 2.10.3).
        if place.is_some() {
            return Err(Error::InvalidOperation);
        }
        *place = Some(id);
        code.retain(id);
        Ok(())
    }

    /// `glDetachShader`.
    pub(crate) fn detach_shader(&mut self, objects: &mut Objects, program: u32, shader: u32) -> Outcome {
        let code = &mut objects.code;
        let (program, _) = program_of(code, program)?;
        let (id, _) = shader_of(code, shader)?;
        let attached = &mut program_at(code, program)?.attached;
        let place = attached.iter_mut().find(|place| **place == Some(id)).ok_or(Error::InvalidOperation)?;
        *place = None;
        self.release_code(objects, id);
        Ok(())
    }

    /// `glBindAttribLocation`.
    pub(crate) fn bind_attrib_location(
        &mut self,
        objects: &mut Objects,
        program: u32,
        index: u32,
        name: &[u8],
    ) -> Outcome {
        if index >= self.limits.attributes {
            return Err(Error::InvalidValue);
        }
        let program = program_mut(&mut objects.code, program)?;
        if name.starts_with(b"gl_") {
            return Err(Error::InvalidOperation);
        }
        let name = String::from_utf8_lossy(name);
        match program.bound.iter_mut().find(|(bound, _)| *bound == name) {
            Some((_, location)) => *location = index,
            None => program.bound.push((name.into_owned(), index)),
        }
        Ok(())
    }

    /// `glUseProgram`.
    pub(crate) fn use_program(&mut self, objects: &mut Objects, name: u32) -> Outcome {
        let program = match name {
            0 => None,
            name => {
                let (id, program) = program_of(&objects.code, name)?;
                if !program.linked {
                    return Err(Error::InvalidOperation);
                }
                Some(id)
            }
        };
        if self.program != program || program.is_none() {
            self.set_program(objects, program);
        }
        Ok(())
    }

    /// `glValidateProgram`.
    pub(crate) fn validate_program(&mut self, objects: &mut Objects, name: u32) -> Outcome {
        let program = program_mut(&mut objects.code, name)?;
        program.validated = program.linked && !program.conflict;
        program.log = match (program.linked, program.conflict) {
            (false, _) => "The program is not linked.".to_owned(),
            (true, true) => "Samplers of different types read one texture unit.".to_owned(),
            (true, false) => String::new(),
        };
        Ok(())
    }

    /// `glGetShaderiv`.
    pub(crate) fn shader_parameter(&self, objects: &Objects, name: u32, parameter: u32) -> Outcome<i32> {
        let (_, shader) = shader_of(&objects.code, name)?;
        Ok(match parameter {
            enums::SHADER_TYPE => match shader.stage {
                Stage::Vertex => enums::VERTEX_SHADER as i32,
                Stage::Fragment => enums::FRAGMENT_SHADER as i32,
            },
            enums::DELETE_STATUS => i32::from(shader.deleted),
            enums::COMPILE_STATUS => i32::from(shader.compiled.is_some()),
            enums::INFO_LOG_LENGTH => text_length(shader.log.as_bytes()),
            enums::SHADER_SOURCE_LENGTH => text_length(&shader.source),
            _ => return Err(Error::InvalidEnum),
        })
    }

    /// `glGetProgramiv`.
    pub(crate) fn program_parameter(&self, objects: &Objects, name: u32, parameter: u32) -> Outcome<i32> {
        let (_, program) = program_of(&objects.code, name)?;
        let executable = program.executable.as_ref().filter(|_| program.linked);
        let uniforms = executable.map_or(&[][..], |executable| &executable.uniforms);
        let inputs = executable.map_or(&[][..], |executable| &executable.inputs);
        Ok(match parameter {
            enums::DELETE_STATUS => i32::from(program.deleted),
            enums::LINK_STATUS => i32::from(program.linked),
            enums::VALIDATE_STATUS => i32::from(program.validated),
            enums::INFO_LOG_LENGTH => text_length(program.log.as_bytes()),
            enums::ATTACHED_SHADERS => program.attached.iter().flatten().count() as i32,
            enums::ACTIVE_ATTRIBUTES => inputs.len() as i32,
            enums::ACTIVE_ATTRIBUTE_MAX_LENGTH => {
                inputs.iter().map(|input| input.name.len() as i32 + 1).max().unwrap_or(0)
            }
            enums::ACTIVE_UNIFORMS => uniforms.len() as i32,
            enums::ACTIVE_UNIFORM_MAX_LENGTH => {
                uniforms.iter().map(|uniform| uniform.listed().len() as i32 + 1).max().unwrap_or(0)
            }
            _ => return Err(Error::InvalidEnum),
        })
    }

    /// The text that `glGetShaderInfoLog` answers.
    pub(crate) fn shader_log<'a>(&self, objects: &'a Objects, name: u32) -> Outcome<&'a [u8]> {
        Ok(shader_of(&objects.code, name)?.1.log.as_bytes())
    }

    /// The text that `glGetShaderSource` answers.
    pub(crate) fn source_of<'a>(&self, objects: &'a Objects, name: u32) -> Outcome<&'a [u8]> {
        Ok(&shader_of(&objects.code, name)?.1.source)
    }

    /// The text that `glGetProgramInfoLog` answers.
    pub(crate) fn program_log<'a>(&self, objects: &'a Objects, name: u32) -> Outcome<&'a [u8]> {
        Ok(program_of(&objects.code, name)?.1.log.as_bytes())
    }

    /// `glGetAttachedShaders`.
    pub(crate) fn attached_shaders(&self, objects: &Objects, name: u32) -> Outcome<[Option<u32>; 2]> {
        let (_, program) = program_of(&objects.code, name)?;
        Ok(program.attached.map(|shader| Some(objects.code.name(shader?))))
    }

    /// `glGetActiveAttrib`: name, elements and type.
    pub(crate) fn active_attribute(
        &self,
        objects: &Objects,
        name: u32,
        index: u32,
    ) -> Outcome<(String, i32, u32)> {
        let (_, program) = program_of(&objects.code, name)?;
        let executable = program.executable.as_ref().filter(|_| program.linked).ok_or(Error::InvalidValue)?;
        let input = executable.inputs.get(index as usize).ok_or(Error::InvalidValue)?;
        let kind = match (input.columns, input.rows) {
            (1, 1) => enums::FLOAT,
            (1, rows) => enums::FLOAT_VEC2 + u32::from(rows) - 2,
            (columns, _) => enums::FLOAT_MAT2 + u32::from(columns) - 2,
        };
        Ok((input.name.clone(), input.count as i32, kind))
    }

    /// `glGetActiveUniform`: name, elements and type.
    pub(crate) fn active_uniform(
        &self,
        objects: &Objects,
        name: u32,
        index: u32,
    ) -> Outcome<(String, i32, u32)> {
        let (_, program) = program_of(&objects.code, name)?;
        let executable = program.executable.as_ref().filter(|_| program.linked).ok_or(Error::InvalidValue)?;
        let uniform = executable.uniforms.get(index as usize).ok_or(Error::InvalidValue)?;
        Ok((uniform.listed(), uniform.count as i32, uniform.kind()))
    }

    /// `glGetAttribLocation`.
    pub(crate) fn attrib_location(&self, objects: &Objects, program: u32, name: &[u8]) -> Outcome<i32> {
        let (_, program) = program_of(&objects.code, program)?;
        if !program.linked {
            return Err(Error::InvalidOperation);
        }
        let inputs = program.executable.as_ref().map_or(&[][..], |executable| &executable.inputs);
        let input = inputs.iter().find(|input| input.name.as_bytes() == name);
        Ok(input.map_or(-1, |input| input.location as i32))
    }

    /// `glGetUniformLocation`.
    pub(crate) fn uniform_location(&self, objects: &Objects, program: u32, name: &[u8]) -> Outcome<i32> {
        let (_, program) = program_of(&objects.code, program)?;
        if !program.linked {
            return Err(Error::InvalidOperation);
        }
        let Some(executable) = &program.executable else { return Ok(-1) };
        let Ok(name) = std::str::from_utf8(name) else { return Ok(-1) };
        if let Some(uniform) = executable.uniforms.iter().find(|uniform| uniform.name == name) {
            return Ok(uniform.location as i32);
        }
        let element = name.strip_suffix(']').and_then(|name| name.rsplit_once('['));
        let found = element.and_then(|(name, index)| {
            let plain = index.bytes().all(|byte| byte.is_ascii_digit())
                && (index.len() == 1 || !index.starts_with('0'));
            let index = index.parse::<u32>().ok().filter(|_| plain)?;
            let uniform = executable.uniforms.iter().find(|uniform| uniform.name == name)?;
            (uniform.is_array && index < uniform.count).then(|| (uniform.location + index) as i32)
        });
        Ok(found.unwrap_or(-1))
    }

    /// `glUniform*`.
    pub(crate) fn uniform(
        &mut self,
        objects: &mut Objects,
        location: i32,
        count: i32,
        given: Given,
        values: Source<'_>,
    ) -> Outcome {
        let units = self.limits.units;
        let Some(program) = program_in_use(&mut objects.code, self.program) else {
            return Err(Error::InvalidOperation);
        };
        let count = u32::try_from(count).map_err(|_| Error::InvalidValue)?;
        if location == -1 {
            return Ok(());
        }
        let Program { executable, constants, units: sampler_units, .. } = program;
        let executable = executable.as_ref().ok_or(Error::InvalidOperation)?;
        let (uniform, element) = executable.at(location).ok_or(Error::InvalidOperation)?;
        let sampler = uniform.class != UniformClass::Value;
        let whole = matches!(uniform.scalar, ScalarType::Int | ScalarType::UnsignedInt);
        let truth = uniform.scalar == ScalarType::Bool;
        let fits = match given {
            Given::Integers(1) if sampler => true,
            _ if sampler => false,
            Given::Matrices(columns) => uniform.columns == columns && uniform.rows == columns,
            Given::Floats(rows) => uniform.columns == 1 && uniform.rows == rows && !whole,
            Given::Integers(rows) => uniform.columns == 1 && uniform.rows == rows && (whole || truth),
        };
        if !fits || (count > 1 && !uniform.is_array) {
            return Err(Error::InvalidOperation);
        }
        let count = count.min(uniform.count - element) as usize;
        if sampler {
            let numbers = || values.words(count).ok_or(Error::InvalidValue);
            if numbers()?.any(|unit| unit >= units) {
                return Err(Error::InvalidValue);
            }
            let first = uniform.location + element;
            for (number, location) in numbers()?.zip(first..) {
                if let Some(unit) = sampler_units.iter_mut().find(|unit| unit.location == location) {
                    unit.unit = number as i32;
                }
            }
            objects.textures_moved += 1;
            let serial = objects.textures_moved;
            if let Some(program) = program_in_use(&mut objects.code, self.program) {
                program.units_moved(serial);
            }
            return Ok(());
        }
        let (columns, rows) = (usize::from(uniform.columns), usize::from(uniform.rows));
        let (column, size) = (rows * 4, columns * rows * 4);
        let bytes = values.bytes((count * size) as u64).ok_or(Error::InvalidValue)?;
        let start = uniform.offset + element as usize * uniform.stride;
        let mut set = true;
        if truth {
            let float = matches!(given, Given::Floats(_));
            for (at, word) in bytes.as_chunks::<4>().0.iter().enumerate() {
                let is =
                    if float { f32::from_ne_bytes(*word) != 0.0 } else { u32::from_ne_bytes(*word) != 0 };
                let offset = start + at / rows * uniform.stride + at % rows * 4;
                set &= constants.set(offset, &u32::from(is).to_ne_bytes());
            }
        } else if (columns == 1 || uniform.column_stride == column) && (count == 1 || uniform.stride == size)
        {
            set = constants.set(start, bytes);
        } else {
            for (at, bytes) in bytes.chunks_exact(column).enumerate() {
                let offset = start + at / columns * uniform.stride + at % columns * uniform.column_stride;
                set &= constants.set(offset, bytes);
            }
        }
        debug_assert!(set, "the archive's offsets lie in its image");
        Ok(())
    }

    /// `glGetUniform*`: the components, each as the bits of what it is, and whether they are floats.
    pub(crate) fn uniform_value(
        &self,
        objects: &Objects,
        program: u32,
        location: i32,
    ) -> Outcome<(Vec<u32>, bool)> {
        let (_, program) = program_of(&objects.code, program)?;
        let executable = program.executable.as_ref().filter(|_| program.linked);
        let executable = executable.ok_or(Error::InvalidOperation)?;
        let (uniform, element) = executable.at(location).ok_or(Error::InvalidOperation)?;
        if uniform.class != UniformClass::Value {
            let location = uniform.location + element;
            let unit = program.units.iter().find(|unit| unit.location == location);
            return Ok((vec![unit.map_or(0, |unit| unit.unit as u32)], false));
        }
        let start = uniform.offset + element as usize * uniform.stride;
        let mut words = Vec::with_capacity(16);
        for column in 0..usize::from(uniform.columns) {
            for row in 0..usize::from(uniform.rows) {
                let at = start + column * uniform.column_stride + row * 4;
                let bytes = program.constants.image().get(at..at + 4).and_then(|bytes| bytes.try_into().ok());
                words.push(u32::from_ne_bytes(bytes.unwrap_or_default()));
            }
        }
        Ok((words, uniform.scalar == ScalarType::Float))
    }
}

/// Bytes of a text with its NUL; 0 for none.
fn text_length(text: &[u8]) -> i32 {
    if text.is_empty() { 0 } else { text.len().min(i32::MAX as usize - 1) as i32 + 1 }
}

impl<P: Shared> Own<P> {
    /// `glLinkProgram`. A link that fails leaves the executable in use until another program is used.
    pub(crate) fn link_program(&mut self, objects: &mut Objects, name: u32) -> Outcome {
        let (id, program) = program_of(&objects.code, name)?;
        let mut compiled = Vec::new();
        let mut missing = None;
        for (attached, stage) in program.attached.iter().zip(["vertex", "fragment"]) {
            match attached.and_then(|id| objects.code.get(id)) {
                Some(Code::Shader(Shader { compiled: Some(one), .. })) => compiled.push(one),
                Some(_) => missing = Some(format!("The {stage} shader is not compiled.")),
                None => missing = Some(format!("There is no {stage} shader.")),
            }
        }
        let linked = match missing {
            Some(log) => Err(log),
            None => shader::link(&compiled, &program.bound, &self.limits.environment),
        };
        let in_use = self.program == Some(id);
        objects.textures_moved += 1;
        let serial = objects.textures_moved;
        let program = program_at(&mut objects.code, id)?;
        program.validated = false;
        let linked = match linked {
            Ok(linked) => linked,
            Err(log) => {
                program.log = log;
                program.linked = false;
                return Ok(());
            }
        };
        self.turn(|_, turn| program.install(turn, linked, serial))?;
        if in_use {
            self.stale.program = true;
        }
        Ok(())
    }
}

impl Program {
    /// Takes the outcome of a link, and tells the server.
    fn install<P: Pipe, S: Storage>(
        &mut self,
        turn: &mut Turn<'_, P, S>,
        linked: Linked,
        serial: u64,
    ) -> Outcome
    where
        Error: From<P::Error>,
    {
        let mut aligned = Words::default();
        if !aligned.reset(linked.archive.len()) {
            return Err(Error::OutOfMemory);
        }
        aligned.as_mut().copy_from_slice(&linked.archive);
        let archive = ArchiveView::parse(aligned.as_ref()).map_err(|_| Error::InvalidOperation)?;
        let executable = Executable::new(&archive);
        let Turn { pipe, slots } = turn;
        let desc = |cso| desc(cso, linked.image_size);
        let modules = || linked.modules.each_ref().map(|words| Bulk::Bytes(words.as_bytes()));
        let reflection = || Bulk::Bytes(&linked.archive);
        if self.handle.is_null() {
            self.handle = slots.mint_with(Band::Shader, 0, |cso| {
                pipe.create_shader_state(&desc(cso), modules(), reflection())
            })?;
        } else {
            pipe.create_shader_state(&desc(self.handle), modules(), reflection())?;
        }
        self.linked = true;
        self.log = linked.log;
        let samplers = executable.uniforms.iter().filter(|uniform| uniform.class != UniformClass::Value);
        self.units = samplers
            .flat_map(|uniform| uniform.location..uniform.location + uniform.count)
            .map(|location| ProgramSamplerUnit { location, unit: 0 })
            .collect();
        self.executable = Some(executable);
        self.bindings.relinked();
        let room = self.constants.relinked(linked.image_size as usize);
        self.depth_range_told = None;
        self.link_serial = serial;
        self.units_moved(serial);
        if room { Ok(()) } else { Err(Error::OutOfMemory) }
    }
}
