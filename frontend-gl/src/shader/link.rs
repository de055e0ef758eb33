//! Linking: stages matched, limits counted, locations given.
//!
//! Source: OpenGL ES 2.0 section 2.10.4 (attributes), OpenGL ES Shading Language 1.00 sections 4.3.4 to 4.3.6.

use std::collections::{HashMap, HashSet};

use runahead_wire::{
    archive::{ArchiveHead, ArchiveInterface, ArchiveUniform, ArchiveView, TextSpan},
    binding::SAMPLER_SET,
    limits as wire,
    values::{InterfaceSide, ProgramFlags, ShaderDialect, UniformClass},
};

use super::{
    Compiled, Environment, Stage,
    interface::{Place, Unit, Variable},
    layout::{self, Cursor},
    pack,
    spirv::Decoration,
    types::Type,
};

/// A linked program.
#[derive(Clone, Debug, PartialEq)]
pub struct Linked {
    /// SPIR-V by stage, in the order of [`StageMask`](runahead_wire::values::StageMask); empty for a stage that the program lacks.
    pub modules: [Vec<u32>; wire::SHADER_STAGES],
    /// An encoded [`ArchiveView`].
    pub archive: Vec<u8>,
    /// Bytes of the default block's image.
    pub image_size: u32,
    /// The info log: warnings.
    pub log: String,
}

/// A loose uniform of the program, as its stages declare it.
struct Uniform<'a> {
    /// The declaration by which it is known: that of the first stage.
    variable: &'a Variable,
    /// Stages in which it is active.
    stages: u32,
    /// Elements used in any stage, as [`Variable::used`].
    used: u32,
    location: u32,
}

/// Links shaders. `attributes` are the locations that the application asked for, by name.
///
/// # Errors
/// The info log: a line `error: …` for each thing wrong.
pub fn link(
    shaders: &[&Compiled],
    attributes: &[(String, u32)],
    environment: &Environment,
) -> Result<Linked, String> {
    if environment.dialect != ShaderDialect::GlUniforms {
        return Err(
            "error: the server takes uniforms in a block, which this version of the driver cannot make\n"
                .into(),
        );
    }
    let (vertex, fragment) = stages(shaders)?;
    let mut linker = Linker { environment, errors: Vec::new() };
    linker.check_version(vertex, fragment);
    let varyings = linker.varyings(vertex, fragment);
    // What only serves a varying that nobody takes is not active.
    let narrowed = (!varyings.wasted.is_empty()).then(|| vertex.narrowed(&varyings.wasted));
    let variables = narrowed.as_deref().unwrap_or(&vertex.variables);
    let uniforms = linker.uniforms([(Stage::Vertex, variables), (Stage::Fragment, &fragment.variables)]);
    let inputs = linker.attributes(variables, attributes);
    let outputs = linker.outputs(fragment);
    if !linker.errors.is_empty() {
        return Err(linker.log());
    }
    let archive = Archive::new(&uniforms, &inputs, &outputs);
    let (archive, image_size) =
        archive.and_then(Archive::encode).map_err(|what| format!("error: {what}\n"))?;
    let mut modules: [Vec<u32>; wire::SHADER_STAGES] = Default::default();
    for (unit, edges) in [(vertex, [&inputs, &varyings.given]), (fragment, [&varyings.taken, &outputs])] {
        let mut names = Vec::new();
        let mut decorations = Vec::new();
        for variable in unit.variables.iter().filter(|variable| variable.named) {
            let location = match variable.place {
                Place::Uniform => {
                    names.extend(variable.structures.iter().cloned());
                    uniforms.iter().find(|one| one.variable.name == variable.name).map(|one| one.location)
                }
                Place::Input => edges[0].get(&variable.id).map(|at| at.location),
                Place::Output => edges[1].get(&variable.id).map(|at| at.location),
            };
            let Some(location) = location else { continue };
            decorations.push((variable.id, Decoration::Location, location));
            if variable.place == Place::Uniform && is_sampler(&variable.ty) {
                decorations.push((variable.id, Decoration::DescriptorSet, SAMPLER_SET));
                decorations.push((variable.id, Decoration::Binding, variable.binding.unwrap_or(0)));
            }
        }
        modules[unit.stage.index()] = unit.module(&names, &decorations);
    }
    let log = shaders.iter().map(|shader| shader.log()).collect();
    Ok(Linked { modules, archive, image_size, log })
}

/// The two stages of a program.
fn stages<'a>(shaders: &[&'a Compiled]) -> Result<(&'a Unit, &'a Unit), String> {
    let mut log = String::new();
    let mut found: [Option<&Unit>; 2] = [None; 2];
    for (place, stage) in found.iter_mut().zip(Stage::ALL) {
        let mut of_stage = shaders.iter().filter(|shader| shader.stage == stage);
        let first = of_stage.next();
        if of_stage.next().is_some() {
            log.push_str(&format!("error: more than one {} shader\n", stage.name()));
        }
        match first.map(|shader| shader.unit.as_ref()) {
            Some(Ok(unit)) => *place = Some(unit),
            Some(Err(what)) => log.push_str(what),
            None => log.push_str(&format!("error: no {} shader\n", stage.name())),
        }
    }
    match found {
        [Some(vertex), Some(fragment)] if log.is_empty() => Ok((vertex, fragment)),
        _ => Err(log),
    }
}

/// Where a variable of a stage's edge lies.
struct At<'a> {
    variable: &'a Variable,
    location: u32,
}

/// Variables at an edge, by id.
type Edge<'a> = HashMap<u32, At<'a>>;

/// What the vertex stage hands to the fragment stage.
struct Varyings<'a> {
    given: Edge<'a>,
    taken: Edge<'a>,
    /// Outputs of the vertex stage whose value reaches nothing.
    wasted: HashSet<u32>,
}

struct Linker<'e> {
    environment: &'e Environment,
    errors: Vec<String>,
}

impl Linker<'_> {
    fn log(&self) -> String {
        self.errors.iter().map(|what| format!("error: {what}\n")).collect()
    }

    fn check_version(&mut self, vertex: &Unit, fragment: &Unit) {
        // All desktop versions link with each other; ES ones only with themselves.
        const ESSL: u32 = ::spirv::SourceLanguage::ESSL as u32;
        if vertex.version != fragment.version && (vertex.version.0 == ESSL || fragment.version.0 == ESSL) {
            self.errors.push(format!(
                "the vertex shader is of version {} and the fragment shader of version {}",
                vertex.version.1, fragment.version.1
            ));
        }
    }

    fn refuse(&mut self, variable: &Variable) -> bool {
        if let Some(why) = variable.ty.refusal() {
            self.errors.push(format!("{}: {why}, which a program cannot have", variable.name));
            return true;
        }
        false
    }

    /// The loose uniforms that are active, with their locations.
    fn uniforms<'a>(&mut self, stages: [(Stage, &'a [Variable]); 2]) -> Vec<Uniform<'a>> {
        let mut uniforms: Vec<Uniform<'_>> = Vec::new();
        let mut by_name: HashMap<&str, usize> = HashMap::new();
        let mut combined = 0_u64;
        for (stage, variables) in stages {
            let mut types = Vec::new();
            for variable in variables.iter().filter(|one| one.place == Place::Uniform && one.named) {
                if self.refuse(variable) {
                    continue;
                }
                types.push(&variable.ty);
                let at = *by_name.entry(&variable.name).or_insert_with(|| {
                    uniforms.push(Uniform { variable, stages: 0, used: 0, location: 0 });
                    uniforms.len() - 1
                });
                let uniform = &mut uniforms[at];
                let known = uniform.variable;
                let name = &variable.name;
                if known.ty != variable.ty {
                    let (one, other) = (known.ty.spell(), variable.ty.spell());
                    self.errors.push(if one == other {
                        format!(
                            "uniform {name}: {one} has other members or precisions in the fragment shader"
                        )
                    } else {
                        format!("uniform {name}: {one} in the vertex shader, {other} in the fragment shader")
                    });
                } else if known.relaxed != variable.relaxed {
                    self.errors.push(format!(
                        "uniform {name}: the vertex shader and the fragment shader give it different precisions"
                    ));
                }
                if variable.is_active() {
                    uniform.stages |= 1 << stage.index();
                    uniform.used = uniform.used.max(variable.used);
                }
            }
            combined += u64::from(self.count_uniforms(stage, &types));
        }
        let most = self.environment.limits.combined_texture_units;
        if combined > u64::from(most) {
            self.errors.push(format!("{combined} samplers in all stages; {most} are the most"));
        }
        let mut location = 0_u32;
        for uniform in &mut uniforms {
            uniform.location = location;
            location = location.saturating_add(uniform.variable.ty.leaves());
        }
        if location > wire::PROGRAM_UNIFORMS {
            let most = wire::PROGRAM_UNIFORMS;
            self.errors
                .push(format!("the uniforms have {location} elements and members; {most} are the most"));
        }
        uniforms
    }

    /// Counts what the uniforms of a stage take; the answer is the number of samplers.
    fn count_uniforms(&mut self, stage: Stage, types: &[&Type]) -> u32 {
        let limits = &self.environment.limits;
        let (vectors, units) = match stage {
            Stage::Vertex => (limits.vertex_uniform_vectors, limits.vertex_texture_units),
            Stage::Fragment => (limits.fragment_uniform_vectors, limits.fragment_texture_units),
        };
        if !pack::fits(types.iter().copied(), vectors) {
            self.errors.push(format!(
                "the uniforms of the {} shader take more than {vectors} vectors",
                stage.name()
            ));
        }
        let count = types.iter().fold(0, |sum: u32, ty| sum.saturating_add(sampler_count(ty)));
        if count > units {
            self.errors
                .push(format!("{count} samplers in the {} shader; {units} are the most", stage.name()));
        }
        count
    }

    /// Matches what the vertex stage gives with what the fragment stage takes.
    fn varyings<'a>(&mut self, vertex: &'a Unit, fragment: &'a Unit) -> Varyings<'a> {
        let mut varyings = Varyings { given: HashMap::new(), taken: HashMap::new(), wasted: HashSet::new() };
        let given: HashMap<&str, &Variable> = vertex
            .variables
            .iter()
            .filter(|one| one.place == Place::Output)
            .map(|one| (one.name.as_str(), one))
            .collect();
        let mut location = 0_u32;
        let mut types = Vec::new();
        for taken in fragment.variables.iter().filter(|one| one.place == Place::Input) {
            let name = &taken.name;
            let Some(give) = given.get(name.as_str()).copied() else {
                if taken.named {
                    self.errors.push(format!("varying {name}: the vertex shader does not declare it"));
                }
                continue;
            };
            if give.ty != taken.ty {
                let (one, other) = (give.ty.spell(), taken.ty.spell());
                self.errors.push(format!(
                    "varying {name}: {one} in the vertex shader, {other} in the fragment shader"
                ));
                continue;
            }
            if give.flat != taken.flat {
                self.errors.push(format!("varying {name}: flat in one stage and not in the other"));
            }
            // The other way round cannot be told from `#pragma STDGL invariant(all)`, which is no error.
            if taken.invariant && !give.invariant && vertex.version.1 < 300 {
                self.errors.push(format!("varying {name}: invariant in the fragment shader alone"));
            }
            if !taken.named || self.refuse(taken) {
                continue;
            }
            types.push(&taken.ty);
            varyings.taken.insert(taken.id, At { variable: taken, location });
            if give.named {
                varyings.given.insert(give.id, At { variable: give, location });
                if !taken.is_active() {
                    varyings.wasted.insert(give.id);
                }
            }
            location = location.saturating_add(taken.ty.slots());
        }
        let most = self.environment.limits.varying_vectors;
        if !pack::fits(types.into_iter(), most) {
            self.errors.push(format!("the varyings take more than {most} vectors"));
        }
        // What nobody takes still has a place of its own.
        for give in vertex.variables.iter().filter(|one| one.place == Place::Output && one.named) {
            if !varyings.given.contains_key(&give.id) && !self.refuse(give) {
                varyings.given.insert(give.id, At { variable: give, location });
                varyings.wasted.insert(give.id);
                location = location.saturating_add(give.ty.slots());
            }
        }
        varyings
    }

    /// Gives attributes their locations: those asked for, and then the lowest that are free.
    fn attributes<'a>(&mut self, variables: &'a [Variable], wanted: &[(String, u32)]) -> Edge<'a> {
        let most = self.environment.limits.vertex_attribs.min(wire::VERTEX_ATTRIBS);
        let mut taken: Vec<Option<&str>> = vec![None; most as usize];
        let mut edge = Edge::new();
        let mut rest = Vec::new();
        for variable in variables.iter().filter(|one| one.place == Place::Input && one.named) {
            if self.refuse(variable) {
                continue;
            }
            // The last request for a name counts; a location of the source's own counts before it.
            let asked =
                wanted.iter().rev().find(|(name, _)| *name == variable.name).map(|(_, location)| *location);
            // One that is not active gets what is left.
            let asked = variable.location.or(asked).filter(|_| variable.is_active());
            let Some(location) = asked else {
                rest.push(variable);
                continue;
            };
            let slots = variable.ty.slots();
            for slot in location..location.saturating_add(slots) {
                match taken.get_mut(slot as usize) {
                    Some(Some(other)) => {
                        let name = &variable.name;
                        self.errors
                            .push(format!("attributes {other} and {name} are both bound to location {slot}"));
                        break;
                    }
                    Some(free) => *free = Some(&variable.name),
                    None => {
                        let name = &variable.name;
                        self.errors.push(format!("attribute {name} does not fit: locations end at {most}"));
                        break;
                    }
                }
            }
            edge.insert(variable.id, At { variable, location });
        }
        // Matrices first: they need neighbours.
        rest.sort_by_key(|variable| (!variable.is_active(), std::cmp::Reverse(variable.ty.slots())));
        for variable in rest {
            let slots = variable.ty.slots() as usize;
            let free = taken.windows(slots.max(1)).position(|run| run.iter().all(Option::is_none));
            let Some(start) = free else {
                let name = &variable.name;
                self.errors.push(format!("attribute {name}: no free location; {most} are the most"));
                continue;
            };
            taken[start..start + slots].fill(Some(&variable.name));
            edge.insert(variable.id, At { variable, location: start as u32 });
        }
        edge
    }

    fn outputs<'a>(&mut self, fragment: &'a Unit) -> Edge<'a> {
        let most = self.environment.limits.draw_buffers.max(1);
        let mut edge = Edge::new();
        let mut next = 0_u32;
        for variable in fragment.variables.iter().filter(|one| one.place == Place::Output && one.named) {
            if self.refuse(variable) {
                continue;
            }
            let location = variable.location.unwrap_or(next);
            next = location.saturating_add(variable.ty.slots());
            if next > most {
                self.errors.push(format!("output {}: more than {most} colours", variable.name));
            }
            if edge.values().any(|other: &At<'_>| {
                let end = other.location + other.variable.ty.slots();
                other.location < next && location < end
            }) {
                self.errors.push(format!("output {}: shares a location with another", variable.name));
            }
            edge.insert(variable.id, At { variable, location });
        }
        edge
    }
}

fn is_sampler(ty: &Type) -> bool {
    match ty {
        Type::Sampler { .. } => true,
        Type::Array { of, .. } => is_sampler(of),
        _ => false,
    }
}

fn sampler_count(ty: &Type) -> u32 {
    match ty {
        Type::Sampler { .. } => 1,
        Type::Array { of, count } => sampler_count(of).saturating_mul(*count),
        Type::Struct { members, .. } => {
            members.iter().fold(0, |sum: u32, member| sum.saturating_add(sampler_count(&member.ty)))
        }
        _ => 0,
    }
}

/// The archive being made.
#[derive(Default)]
struct Archive {
    head: ArchiveHead,
    uniforms: Vec<ArchiveUniform>,
    interfaces: Vec<ArchiveInterface>,
    texts: String,
    image: Cursor,
}

/// What is known of a leaf on the way to it.
#[derive(Clone)]
struct Way<'a> {
    name: String,
    path: String,
    offset: u64,
    uniform: &'a Uniform<'a>,
}

impl Archive {
    fn new(uniforms: &[Uniform<'_>], inputs: &Edge<'_>, outputs: &Edge<'_>) -> Result<Self, String> {
        let mut archive = Self::default();
        for uniform in uniforms {
            let offset = archive.image.take(layout::layout(&uniform.variable.ty));
            if archive.image.end > u64::from(wire::GLOBAL_CONSTANTS_BYTES) {
                let most = wire::GLOBAL_CONSTANTS_BYTES;
                return Err(format!("the uniforms take more than {most} bytes"));
            }
            if uniform.stages == 0 {
                continue;
            }
            let mut location = uniform.location;
            let way = Way { name: uniform.variable.name.clone(), path: String::new(), offset, uniform };
            archive.leaves(&uniform.variable.ty, way, &mut location);
        }
        archive.edge(inputs, InterfaceSide::Input);
        archive.edge(outputs, InterfaceSide::Output);
        let broadcasts = outputs.values().any(|at| at.variable.name == "gl_FragColor");
        archive.head.flags =
            if broadcasts { ProgramFlags::BROADCASTS_COLOR } else { ProgramFlags::EMPTY }.raw();
        Ok(archive)
    }

    fn text(&mut self, text: &str) -> TextSpan {
        let offset = self.texts.len() as u32;
        self.texts.push_str(text);
        TextSpan { offset, size: text.len() as u32 }
    }

    /// Adds the leaves of a type, of the variable's own elements those up to the last one used, and counts the locations
    /// of all.
    fn leaves(&mut self, ty: &Type, way: Way<'_>, location: &mut u32) {
        let used = if way.path.is_empty() { way.uniform.used } else { u32::MAX };
        match ty {
            Type::Struct { members, .. } => {
                let mut place = Cursor::default();
                for (index, member) in (0_u32..).zip(members) {
                    let mut inner = way.clone();
                    inner.name = format!("{}.{}", way.name, member.name);
                    inner.path = format!("{}.m{index}", way.path);
                    let layout = layout::layout(&member.ty);
                    if layout.size > 0 {
                        inner.offset += place.take(layout);
                    }
                    self.leaves(&member.ty, inner, location);
                }
            }
            Type::Array { of, count } if !matches!(**of, Type::Value { .. } | Type::Sampler { .. }) => {
                let stride = layout::stride(of);
                for index in 0..used.min(*count) {
                    let mut inner = way.clone();
                    inner.name = format!("{}[{index}]", way.name);
                    inner.path = format!("{}[{index}]", way.path);
                    inner.offset += u64::from(index) * stride;
                    self.leaves(of, inner, location);
                }
            }
            Type::Array { of, count } => {
                self.leaf(of, Some((used.min(*count), layout::stride(of))), &way, *location);
                *location += count;
            }
            _ => {
                self.leaf(ty, None, &way, *location);
                *location += 1;
            }
        }
    }

    fn leaf(&mut self, ty: &Type, array: Option<(u32, u64)>, way: &Way<'_>, location: u32) {
        let (array_size, array_stride) = array.unwrap_or((1, 0));
        let mut leaf = ArchiveUniform {
            name: self.text(&way.name),
            path: self.text(&way.path),
            variable: way.uniform.location,
            location,
            array_size,
            stages: way.uniform.stages,
            columns: 1,
            rows: 1,
            ..ArchiveUniform::default()
        };
        match ty {
            Type::Value { scalar, columns, rows } => {
                leaf.class = UniformClass::Value.raw() as u8;
                leaf.scalar = scalar.raw() as u8;
                leaf.columns = *columns;
                leaf.rows = *rows;
                // The image's end was checked before.
                leaf.offset = way.offset as u32;
                leaf.array_stride = array_stride as u32;
                leaf.matrix_stride =
                    if *columns > 1 { layout::matrix_stride(*scalar, *rows) as u32 } else { 0 };
            }
            Type::Sampler { scalar, target, shadow } => {
                leaf.class = UniformClass::Sampler.raw() as u8;
                leaf.scalar = scalar.raw() as u8;
                leaf.target = target.raw() as u16;
                leaf.shadow = u8::from(*shadow);
            }
            Type::Array { .. } | Type::Struct { .. } | Type::Other(_) => return,
        }
        self.uniforms.push(leaf);
    }

    fn edge(&mut self, edge: &Edge<'_>, side: InterfaceSide) {
        let mut all: Vec<_> = edge.values().filter(|at| at.variable.is_active()).collect();
        all.sort_by_key(|at| at.variable.id);
        for at in all {
            let (ty, array_size) = match &at.variable.ty {
                Type::Array { of, count } => (&**of, *count),
                ty => (ty, 1),
            };
            let Type::Value { scalar, columns, rows } = ty else { continue };
            let name = self.text(&at.variable.name);
            self.interfaces.push(ArchiveInterface {
                name,
                location: at.location,
                array_size,
                side: side.raw() as u8,
                scalar: scalar.raw() as u8,
                columns: *columns,
                rows: *rows,
                index: 0,
            });
        }
    }

    fn encode(self) -> Result<(Vec<u8>, u32), String> {
        let view = ArchiveView::new(self.head, &self.uniforms, &self.interfaces, &[], &self.texts)
            .map_err(|refusal| format!("the program is too large to be carried ({refusal})"))?;
        let mut bytes = vec![0; view.encoded_len()];
        let written = view.encode(&mut bytes);
        debug_assert!(written, "as long as it says");
        Ok((bytes, self.image.end.next_multiple_of(16) as u32))
    }
}
