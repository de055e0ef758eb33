//! SPIR-V to the shading language of OpenGL ES, by SPIRV-Cross.
//!
//! Names of a module mean nothing: everything that another stage, or this backend, looks for is named by number.
//! Attributes are `a` and their location, what stages hand each other `v`, outputs `f`, loose uniforms `u`, and
//! members of their structs `m` and the index; blocks are `b` with descriptor set and binding, and those that stages
//! hand each other `s` with their location.
//!
//! OpenGL ES fixes the points of storage blocks and the units of images in the source. So both get points of the
//! driver's here, from 0 on in the order in which stages name them ([`Slots`]), and what is bound there is what the
//! program's bindings say at a verb.

use runahead_wire::binding::{
    ATOMIC_BUFFER_BINDING_BASE, SAMPLER_SET, STORAGE_BUFFER_SET, UNIFORM_BUFFER_SET,
};
use spirv_cross2::{
    Compiler, Module, SpirvCrossError,
    compile::{CompilableTarget, glsl::GlslVersion},
    handle::{Handle, Id, VariableId},
    reflect::{DecorationValue, ResourceType},
    spirv::Decoration,
    targets::Glsl,
};

use crate::module::{Reader, stage_block_name};

/// Points of the driver that a declaration of a program has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Run {
    /// Binding of a block in the module, or location of an image.
    pub(crate) first: u32,
    /// Points, one an element.
    pub(crate) count: u32,
    /// First point of the driver.
    pub(crate) point: u32,
    /// Whether it is declared as an array.
    pub(crate) array: bool,
    /// Unit that the shader declares for an image.
    pub(crate) unit: u32,
}

/// Declarations of one class, in the order in which stages name them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Runs(pub(crate) Vec<Run>);

impl Runs {
    /// The first point of a declaration, as another stage had it or behind all others.
    fn place(&mut self, first: u32, elements: Option<u32>, unit: u32) -> u32 {
        let (count, array) = (elements.unwrap_or(1), elements.is_some());
        if let Some(run) =
            self.0.iter().find(|run| (run.first, run.count, run.array) == (first, count, array))
        {
            return run.point;
        }
        let point = self.points();
        self.0.push(Run { first, count, point, array, unit });
        point
    }

    /// Points of all of them.
    pub(crate) fn points(&self) -> u32 {
        self.0.last().map_or(0, |run| run.point.saturating_add(run.count))
    }

    /// The declaration with an element of this binding or location, and which element it is.
    pub(crate) fn find(&self, number: u32) -> Option<(&Run, u32)> {
        self.0.iter().find_map(|run| {
            let at = number.checked_sub(run.first)?;
            (at < run.count).then_some((run, at))
        })
    }
}

/// What the stages of one program declare together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Slots {
    pub(crate) uniform_blocks: Runs,
    pub(crate) storage_blocks: Runs,
    pub(crate) images: Runs,
    /// Locations of loose uniforms that are samplers, with the unit that the shader declares for the first one.
    pub(crate) samplers: Vec<(u32, u32)>,
}

/// Translates a module. `first` and `last` say whether its inputs and outputs are the program's edges.
///
/// # Errors
/// What SPIRV-Cross says.
pub(crate) fn translate(
    reader: &Reader<'_>,
    version: u32,
    (first, last): (bool, bool),
    slots: &mut Slots,
) -> Result<String, String> {
    compile(reader, version, (first, last), slots).map_err(|error| error.to_string())
}

fn compile(
    reader: &Reader<'_>,
    version: u32,
    (first, last): (bool, bool),
    slots: &mut Slots,
) -> Result<String, SpirvCrossError> {
    let words = reader.rewritten();
    let mut compiler = Compiler::<Glsl>::new(Module::from_words(&words))?;
    let resources = compiler.shader_resources()?;
    if reader.needs(spirv::Capability::MultiViewport) {
        // SPIRV-Cross writes the built-in and not what it takes.
        compiler.require_extension("GL_OES_viewport_array")?;
    }
    for (kind, letter) in [
        (ResourceType::StageInput, if first { 'a' } else { 'v' }),
        (ResourceType::StageOutput, if last { 'f' } else { 'v' }),
    ] {
        let variables: Vec<_> = resources
            .resources_for_type(kind)?
            .map(|resource| (resource.id, resource.base_type_id))
            .collect();
        for (variable, base) in variables {
            if let Some(location) = reader.block_location(variable.id()) {
                compiler.set_name(base, stage_block_name(location))?;
            } else if let Some(location) = number(&compiler, variable, Decoration::Location)? {
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
            if kind == ResourceType::GlPlainUniform {
                continue;
            }
            let unit = number(&compiler, variable, Decoration::Binding)?.unwrap_or(0);
            unset(&mut compiler, variable, Decoration::DescriptorSet)?;
            if kind == ResourceType::SampledImage {
                slots.samplers.push((location, unit));
                unset(&mut compiler, variable, Decoration::Binding)?;
            } else {
                let point = slots.images.place(location, reader.elements(variable.id()), unit);
                set_binding(&mut compiler, variable, point)?;
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
            let elements = reader.elements(variable.id());
            unset(&mut compiler, variable, Decoration::DescriptorSet)?;
            if kind == ResourceType::UniformBuffer {
                // Its point can be set after the link, where the driver's numbers may end earlier.
                slots.uniform_blocks.place(binding, elements, 0);
                unset(&mut compiler, variable, Decoration::Binding)?;
            } else {
                let point = slots.storage_blocks.place(binding, elements, 0);
                set_binding(&mut compiler, variable, point)?;
            }
        }
    }
    let mut options = <Glsl as CompilableTarget>::options();
    options.version = match version {
        32.. => GlslVersion::Glsl320Es,
        31 => GlslVersion::Glsl310Es,
        _ => GlslVersion::Glsl300Es,
    };
    Ok(compiler.compile(&options)?.to_string())
}

/// Name of a block of a descriptor set.
pub(crate) fn block_name(set: u32, binding: u32) -> String {
    debug_assert!(set != SAMPLER_SET && binding < 2 * ATOMIC_BUFFER_BINDING_BASE, "no block lies there");
    format!("b{set}_{binding}")
}

fn number<I: Id>(
    compiler: &Compiler<Glsl>,
    variable: Handle<I>,
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

fn set_binding(
    compiler: &mut Compiler<Glsl>,
    variable: Handle<VariableId>,
    point: u32,
) -> Result<(), SpirvCrossError> {
    compiler.set_decoration(variable, Decoration::Binding, Some(DecorationValue::Literal(point)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn declarations_get_points_in_a_row() {
        let mut runs = Runs::default();
        assert_eq!(runs.place(70, None, 0), 0);
        assert_eq!(runs.place(3, Some(4), 0), 1);
        assert_eq!(runs.place(70, None, 0), 0, "another stage names it too");
        assert_eq!(runs.place(9, None, 0), 5);
        assert_eq!(runs.find(5).map(|(run, at)| (run.point, at)), Some((1, 2)));
        assert_eq!(runs.find(7), None);
    }
}
