//! The server's side of the binding model: a module back to the shading language, every name by its number.

use spirv_cross2::{
    Compiler, Module,
    compile::{CompilableTarget, glsl::GlslVersion},
    reflect::{DecorationValue, ResourceType},
    spirv::Decoration,
    targets::Glsl,
};

/// ES 3.20 source of a stage.
pub(crate) fn to_essl(words: &[u32], first: bool) -> String {
    let words = with_members(words);
    let mut compiler = Compiler::<Glsl>::new(Module::from_words(&words)).expect("a module");
    let resources = compiler.shader_resources().expect("resources");
    for (kind, letter) in [
        (ResourceType::StageInput, if first { 'a' } else { 'v' }),
        (ResourceType::StageOutput, if first { 'v' } else { 'f' }),
        (ResourceType::GlPlainUniform, 'u'),
        (ResourceType::SampledImage, 'u'),
    ] {
        let all: Vec<_> =
            resources.resources_for_type(kind).expect("resources").map(|resource| resource.id).collect();
        for variable in all {
            let location = compiler.decoration(variable, Decoration::Location).expect("a variable");
            let location =
                location.and_then(|value| value.as_literal()).expect("every variable has a location");
            compiler.set_name(variable, format!("{letter}{location}")).expect("a name");
            if letter == 'u' {
                for decoration in [Decoration::Location, Decoration::Binding, Decoration::DescriptorSet] {
                    compiler
                        .set_decoration(variable, decoration, None::<DecorationValue<'_>>)
                        .expect("unset");
                }
            }
        }
    }
    let mut options = <Glsl as CompilableTarget>::options();
    options.version = GlslVersion::Glsl320Es;
    compiler.compile(&options).expect("translates").to_string()
}

/// The module with its structures' members named by index. Reflection of a structure's type is no way there: SPIRV-Cross
/// wants its layout, which a structure outside any block has not.
fn with_members(words: &[u32]) -> Vec<u32> {
    const TYPE_STRUCT: u32 = 30;
    const MEMBER_NAME: u32 = 6;
    // Names stand before decorations (71 to 75, 332) and types (19 to 39).
    let (mut names, mut place, mut at) = (Vec::new(), None, 5);
    while let Some(first) = words.get(at) {
        let (op, len) = (first & 0xffff, (first >> 16) as usize);
        if place.is_none() && matches!(op, 19..=39 | 71..=75 | 332) {
            place = Some(at);
        }
        if op == TYPE_STRUCT {
            for index in 0..len as u32 - 2 {
                let mut name = format!("m{index}").into_bytes();
                name.resize((name.len() / 4 + 1) * 4, 0);
                let (name, _) = name.as_chunks::<4>();
                names.extend([((name.len() as u32 + 3) << 16) | MEMBER_NAME, words[at + 1], index]);
                names.extend(name.iter().map(|word| u32::from_le_bytes(*word)));
            }
        }
        at += len.max(1);
    }
    let (before, behind) = words.split_at(place.unwrap_or(words.len()));
    [before, &names, behind].concat()
}
