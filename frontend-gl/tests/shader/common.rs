//! What the tests share: an environment, and what an archive says in the terms of `glGetActive*`.

use runahead_frontend_gl::shader::{EXTENSIONS, Environment, Limits, Linked, Stage, compile, link};
use runahead_wire::{
    archive::{ArchiveUniform, ArchiveView},
    values::{InterfaceSide, ResourceTarget, ScalarType, ShaderDialect, UniformClass},
};

pub(crate) fn environment() -> Environment {
    Environment {
        dialect: ShaderDialect::GlUniforms,
        essl: 100,
        glsl: 0,
        limits: Limits {
            vertex_attribs: 16,
            vertex_uniform_vectors: 1024,
            fragment_uniform_vectors: 1024,
            varying_vectors: 31,
            vertex_texture_units: 16,
            fragment_texture_units: 16,
            combined_texture_units: 32,
            draw_buffers: 1,
            min_texel_offset: -8,
            max_texel_offset: 7,
        },
        extensions: vec!["GL_OES_standard_derivatives", "GL_EXT_frag_depth", "GL_EXT_shader_texture_lod"],
    }
}

/// An environment with every extension and version.
pub(crate) fn all_extensions() -> Environment {
    let mut environment = environment();
    environment.extensions = EXTENSIONS.to_vec();
    environment.essl = 320;
    environment.glsl = 460;
    environment.limits.draw_buffers = 8;
    environment
}

/// Compiles and links two sources.
pub(crate) fn build(vertex: &str, fragment: &str) -> Result<Linked, String> {
    build_in(vertex, fragment, &environment())
}

pub(crate) fn build_in(vertex: &str, fragment: &str, environment: &Environment) -> Result<Linked, String> {
    let vertex = compile(Stage::Vertex, vertex, environment)?;
    let fragment = compile(Stage::Fragment, fragment, environment)?;
    link(&[&vertex, &fragment], &[], environment)
}

/// A variable as `glGetActiveUniform` and `glGetActiveAttrib` tell of it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Active {
    pub(crate) name: String,
    pub(crate) size: i32,
    pub(crate) ty: u32,
}

fn value_type(scalar: Option<ScalarType>, columns: u8, rows: u8) -> u32 {
    match (scalar, columns, rows) {
        (Some(ScalarType::Float), 1, 1) => glow::FLOAT,
        (Some(ScalarType::Float), 1, rows) => glow::FLOAT_VEC2 + u32::from(rows) - 2,
        (Some(ScalarType::Float), 2, 2) => glow::FLOAT_MAT2,
        (Some(ScalarType::Float), 3, 3) => glow::FLOAT_MAT3,
        (Some(ScalarType::Float), 4, 4) => glow::FLOAT_MAT4,
        (Some(ScalarType::Int), 1, 1) => glow::INT,
        (Some(ScalarType::Int), 1, rows) => glow::INT_VEC2 + u32::from(rows) - 2,
        (Some(ScalarType::Bool), 1, 1) => glow::BOOL,
        (Some(ScalarType::Bool), 1, rows) => glow::BOOL_VEC2 + u32::from(rows) - 2,
        other => panic!("no type of OpenGL ES 2.0: {other:?}"),
    }
}

pub(crate) fn uniform_type(uniform: &ArchiveUniform) -> u32 {
    match (uniform.class(), uniform.target()) {
        (Some(UniformClass::Value), _) => value_type(uniform.scalar(), uniform.columns, uniform.rows),
        (_, Some(ResourceTarget::CubeMap)) => glow::SAMPLER_CUBE,
        (_, Some(ResourceTarget::Texture2D)) => glow::SAMPLER_2D,
        other => panic!("no type of OpenGL ES 2.0: {other:?}"),
    }
}

/// Active uniforms and attributes, sorted, built-in ones left out.
pub(crate) fn active(linked: &Linked) -> (Vec<Active>, Vec<Active>) {
    let view = ArchiveView::parse(&linked.archive).expect("valid");
    let mut uniforms: Vec<_> = view
        .uniforms()
        .iter()
        .map(|uniform| Active {
            name: view.text(uniform.name).into(),
            size: uniform.array_size as i32,
            ty: uniform_type(uniform),
        })
        .filter(|one| !one.name.starts_with("gl_"))
        .collect();
    let mut attributes: Vec<_> = view
        .interfaces()
        .iter()
        .filter(|interface| interface.side() == Some(InterfaceSide::Input))
        .map(|interface| Active {
            name: view.text(interface.name).into(),
            size: interface.array_size as i32,
            ty: value_type(interface.scalar(), interface.columns, interface.rows),
        })
        .collect();
    uniforms.sort();
    attributes.sort();
    (uniforms, attributes)
}

/// A generator of numbers that a seed repeats (SplitMix64).
#[derive(Clone, Debug)]
pub(crate) struct Numbers(pub(crate) u64);

impl Numbers {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Below a limit.
    pub(crate) fn below(&mut self, limit: usize) -> usize {
        (self.next() >> 33) as usize % limit
    }

    /// One of several.
    pub(crate) fn of<'a, T>(&mut self, several: &'a [T]) -> &'a T {
        &several[self.below(several.len())]
    }
}
