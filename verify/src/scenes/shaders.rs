//! Programs of the scenes: by the front's own compiler, or stage by stage by glslang for OpenGL.

use super::Linked;
use glslang::{
    CompilerOptions, OpenGlVersion, Program, ShaderInput, ShaderSource, ShaderStage, SourceLanguage,
    SpirvVersion, Target,
};
use runahead_frontend_gl::shader::{self, Environment, Stage};
use runahead_wire::{caps::CapsView, values::StageMask};

/// Compiles for one server.
#[derive(Debug)]
pub struct Compiler(Environment);

impl Compiler {
    /// For a server with these caps.
    ///
    /// # Panics
    /// They name no dialect: no server's caps do.
    #[must_use]
    pub fn new(caps: &CapsView<'_>) -> Self {
        let dialect = caps.head().shader_dialect().expect("a server says how it takes uniforms");
        Self(Environment::new(dialect, caps.limits(), &[]))
    }

    /// Compiles and links a program in GLSL ES 1.00 whose attributes are at these locations.
    ///
    /// # Errors
    /// The compiler's words.
    pub fn link(&self, vertex: &str, fragment: &str, attributes: &[(&str, u32)]) -> Result<Linked, String> {
        let vertex = shader::compile(Stage::Vertex, vertex, &self.0)?;
        let fragment = shader::compile(Stage::Fragment, fragment, &self.0)?;
        let attributes: Vec<_> =
            attributes.iter().map(|(name, location)| ((*name).to_owned(), *location)).collect();
        let linked = shader::link(&[&vertex, &fragment], &attributes, &self.0)?;
        Ok(Linked { modules: linked.modules, archive: linked.archive, image_size: linked.image_size })
    }

    /// SPIR-V of one stage, in GLSL for OpenGL, that gives every location and binding itself.
    ///
    /// # Errors
    /// The compiler's words.
    pub fn compile(&self, stage: StageMask, source: &str) -> Result<Vec<u32>, String> {
        let stage = match stage {
            StageMask::VERTEX => ShaderStage::Vertex,
            StageMask::TESS_CONTROL => ShaderStage::TesselationControl,
            StageMask::TESS_EVALUATION => ShaderStage::TesselationEvaluation,
            StageMask::GEOMETRY => ShaderStage::Geometry,
            StageMask::FRAGMENT => ShaderStage::Fragment,
            _ => ShaderStage::Compute,
        };
        let target =
            Target::OpenGL { version: OpenGlVersion::OpenGL4_5, spirv_version: Some(SpirvVersion::SPIRV1_0) };
        let options =
            CompilerOptions { source_language: SourceLanguage::GLSL, target, ..CompilerOptions::default() };
        let compiler = glslang::Compiler::acquire().ok_or("glslang does not start")?;
        let source = ShaderSource::from(source);
        let none: Option<&[(&str, Option<&str>)]> = None;
        let input =
            ShaderInput::new(&source, stage, &options, none, None).map_err(|error| error.to_string())?;
        let shader = compiler.create_shader(input).map_err(|error| error.to_string())?;
        let mut program = Program::new(compiler);
        program.add_shader(&shader);
        program.compile(stage).map_err(|error| error.to_string())
    }
}
