//! SPIR-V to the shading language of OpenGL ES, by SPIRV-Cross.
//!
//! Names of a module mean nothing: everything that another stage, or this backend, looks for is named by number.
//! Attributes are `a` and their location, what stages hand each other `v`, outputs `f`, loose uniforms `u`, and
//! members of their structs `m` and the index; blocks are `b` with descriptor set and binding.

use runahead_wire::binding::{
    ATOMIC_BUFFER_BINDING_BASE, SAMPLER_SET, STORAGE_BUFFER_SET, UNIFORM_BUFFER_SET,
};
use spirv_cross2::{
    Compiler, Module, SpirvCrossError,
    compile::{CompilableTarget, glsl::GlslVersion},
    handle::{Handle, VariableId},
    reflect::{DecorationValue, ResourceType},
    spirv::Decoration,
    targets::Glsl,
};

/// One stage in the shading language.
#[derive(Debug)]
pub(crate) struct Translated {
    pub(crate) source: String,
    /// Locations of loose uniforms that are samplers, with the unit that the shader declares for the first one.
    pub(crate) samplers: Vec<(u32, u32)>,
}

/// Translates a module. `first` and `last` say whether its inputs and outputs are the program's edges.
///
/// # Errors
/// What SPIRV-Cross says.
pub(crate) fn translate(words: &[u32], version: u32, first: bool, last: bool) -> Result<Translated, String> {
    let words = with_member_names(words).ok_or("an instruction of the module is longer than the module")?;
    compile(&words, version, first, last).map_err(|error| error.to_string())
}

fn compile(words: &[u32], version: u32, first: bool, last: bool) -> Result<Translated, SpirvCrossError> {
    let mut compiler = Compiler::<Glsl>::new(Module::from_words(words))?;
    let resources = compiler.shader_resources()?;
    let mut samplers = Vec::new();
    for (kind, letter) in [
        (ResourceType::StageInput, if first { 'a' } else { 'v' }),
        (ResourceType::StageOutput, if last { 'f' } else { 'v' }),
    ] {
        let variables: Vec<_> = resources.resources_for_type(kind)?.map(|resource| resource.id).collect();
        for variable in variables {
            if let Some(location) = number(&compiler, variable, Decoration::Location)? {
                compiler.set_name(variable, format!("{letter}{location}"))?;
                // A second source of blending has the location of the first.
                if let Some(index) = number(&compiler, variable, Decoration::Index)? {
                    compiler.set_name(variable, format!("{letter}{location}_{index}"))?;
                    compiler.require_extension("GL_EXT_blend_func_extended")?;
                }
            }
        }
    }
    for kind in [ResourceType::GlPlainUniform, ResourceType::SampledImage, ResourceType::StorageImage] {
        let variables: Vec<_> = resources.resources_for_type(kind)?.map(|resource| resource.id).collect();
        for variable in variables {
            let Some(location) = number(&compiler, variable, Decoration::Location)? else { continue };
            compiler.set_name(variable, format!("u{location}"))?;
            // The driver gives locations of its own, so that no limit of its stands in the way.
            unset(&mut compiler, variable, Decoration::Location)?;
            if kind == ResourceType::SampledImage {
                let unit = number(&compiler, variable, Decoration::Binding)?.unwrap_or(0);
                samplers.push((location, unit));
                unset(&mut compiler, variable, Decoration::Binding)?;
                unset(&mut compiler, variable, Decoration::DescriptorSet)?;
            }
        }
    }
    for (kind, set) in
        [(ResourceType::UniformBuffer, UNIFORM_BUFFER_SET), (ResourceType::StorageBuffer, STORAGE_BUFFER_SET)]
    {
        let blocks: Vec<_> = resources
            .resources_for_type(kind)?
            .map(|resource| (resource.id, resource.base_type_id))
            .collect();
        for (variable, base) in blocks {
            let binding = number(&compiler, variable, Decoration::Binding)?.unwrap_or(0);
            compiler.set_name(base, block_name(set, binding))?;
        }
    }
    let mut options = <Glsl as CompilableTarget>::options();
    options.version = match version {
        32.. => GlslVersion::Glsl320Es,
        31 => GlslVersion::Glsl310Es,
        _ => GlslVersion::Glsl300Es,
    };
    let source = compiler.compile(&options)?.to_string();
    Ok(Translated { source, samplers })
}

/// Name of a block of a descriptor set.
pub(crate) fn block_name(set: u32, binding: u32) -> String {
    debug_assert!(set != SAMPLER_SET && binding < 2 * ATOMIC_BUFFER_BINDING_BASE, "no block lies there");
    format!("b{set}_{binding}")
}

fn number(
    compiler: &Compiler<Glsl>,
    variable: Handle<VariableId>,
    decoration: Decoration,
) -> Result<Option<u32>, SpirvCrossError> {
    Ok(compiler.decoration(variable, decoration)?.and_then(|value| value.as_literal()))
}

fn unset(
    compiler: &mut Compiler<Glsl>,
    variable: Handle<VariableId>,
    decoration: Decoration,
) -> Result<(), SpirvCrossError> {
    compiler.set_decoration(variable, decoration, None::<DecorationValue<'_>>)
}

/// The module with the members of every struct named by index; nothing if its instructions have no sound lengths.
///
/// Written into the module: SPIRV-Cross's own reflection of a struct wants the layout of its members, which a struct
/// outside blocks does not have.
fn with_member_names(words: &[u32]) -> Option<Vec<u32>> {
    /// Words of a module before its instructions (SPIR-V 1.6, section 2.3).
    const HEADER: usize = 5;
    let (mut names, mut place, mut at) = (Vec::new(), words.len(), HEADER);
    while let Some(&first) = words.get(at) {
        let (code, len) = (first & 0xffff, (first >> 16) as usize);
        let instruction = words.get(at..at + len.max(1)).filter(|_| len > 0)?;
        let op = spirv::Op::from_u32(code);
        // Debug names lie before these (section 2.4).
        if place == words.len() && op.is_some_and(ends_names) {
            place = at;
        }
        if op == Some(spirv::Op::TypeStruct)
            && let [_, id, members @ ..] = instruction
        {
            for (index, _) in (0..).zip(members) {
                names.extend(member_name(*id, index));
            }
        }
        at += len;
    }
    let (before, behind) = words.split_at_checked(place)?;
    Some([before, &names, behind].concat())
}

/// Whether an instruction lies behind the names of a module.
const fn ends_names(op: spirv::Op) -> bool {
    use spirv::Op;
    matches!(
        op,
        Op::ModuleProcessed
            | Op::Decorate
            | Op::MemberDecorate
            | Op::DecorationGroup
            | Op::GroupDecorate
            | Op::GroupMemberDecorate
            | Op::DecorateId
            | Op::DecorateString
            | Op::MemberDecorateString
            | Op::TypeForwardPointer
            | Op::Function
    ) || is_type(op)
}

const fn is_type(op: spirv::Op) -> bool {
    matches!(op as u32, 19..=39)
}

/// `OpMemberName`, with the index behind an `m` for a name.
fn member_name(id: u32, index: u32) -> impl Iterator<Item = u32> {
    let mut text = format!("m{index}").into_bytes();
    // A NUL ends it, and it fills its words.
    text.resize((text.len() / 4 + 1) * 4, 0);
    let text: Vec<_> = text.as_chunks::<4>().0.iter().map(|word| u32::from_le_bytes(*word)).collect();
    let head = (3 + text.len() as u32) << 16 | spirv::Op::MemberName as u32;
    [head, id, index].into_iter().chain(text)
}
