//! Programs of the scenes, by the front's own compiler.

use runahead_frontend_gl::shader::{self, Environment, Stage};
use runahead_verify::scenes::{Linked, Shaders};
use runahead_wire::caps::CapsView;

/// Compiles for one server.
#[derive(Debug)]
pub struct Compiler(Environment);

impl Compiler {
    /// For a server with these caps.
    pub fn new(caps: &CapsView<'_>) -> Self {
        let dialect = caps.head().shader_dialect().expect("a server says how it takes uniforms");
        Self(Environment::new(dialect, caps.limits(), &[]))
    }
}

impl Shaders for Compiler {
    fn link(&self, vertex: &str, fragment: &str, attributes: &[(&str, u32)]) -> Result<Linked, String> {
        let vertex = shader::compile(Stage::Vertex, vertex, &self.0)?;
        let fragment = shader::compile(Stage::Fragment, fragment, &self.0)?;
        let attributes: Vec<_> =
            attributes.iter().map(|(name, location)| ((*name).to_owned(), *location)).collect();
        let linked = shader::link(&[&vertex, &fragment], &attributes, &self.0)?;
        Ok(Linked { modules: linked.modules, archive: linked.archive, image_size: linked.image_size })
    }
}
