//! What a shader is compiled against: the server's dialect, its limits, and the extensions that the context offers.

use runahead_wire::{caps::CapsLimits, values::ShaderDialect};

/// Extensions of the shading language, by the names that `#extension` takes.
///
/// All that an OpenGL ES 2.0 context may offer are here; a context names those that it does.
pub const EXTENSIONS: [&str; 5] = [
    "GL_OES_standard_derivatives",
    "GL_EXT_frag_depth",
    "GL_EXT_shader_texture_lod",
    "GL_EXT_draw_buffers",
    "GL_OES_texture_3D",
];

/// Most vectors of uniforms that are promised: linking makes a map of them.
const VECTORS: u32 = 1 << 16;

/// Limits that compiling and linking check, by GL's names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// `MAX_VERTEX_ATTRIBS`, at most 32.
    pub vertex_attribs: u32,
    /// `MAX_VERTEX_UNIFORM_VECTORS`.
    pub vertex_uniform_vectors: u32,
    /// `MAX_FRAGMENT_UNIFORM_VECTORS`.
    pub fragment_uniform_vectors: u32,
    /// `MAX_VARYING_VECTORS`.
    pub varying_vectors: u32,
    /// `MAX_VERTEX_TEXTURE_IMAGE_UNITS`.
    pub vertex_texture_units: u32,
    /// `MAX_TEXTURE_IMAGE_UNITS`.
    pub fragment_texture_units: u32,
    /// `MAX_COMBINED_TEXTURE_IMAGE_UNITS`.
    pub combined_texture_units: u32,
    /// `MAX_DRAW_BUFFERS` where the context has several: with ES 1.00, only where `GL_EXT_draw_buffers` is offered.
    pub draw_buffers: u32,
    /// `MIN_PROGRAM_TEXEL_OFFSET`.
    pub min_texel_offset: i32,
    /// `MAX_PROGRAM_TEXEL_OFFSET`.
    pub max_texel_offset: i32,
}

/// What a context compiles against. Values made from another one are worth nothing with this one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Environment {
    /// How the server takes loose uniforms.
    pub dialect: ShaderDialect,
    /// Newest version of the ES language that the context takes, as `#version` says it; 0 for none.
    pub essl: u32,
    /// The same for the desktop's. Where it is not 0, source without a version is desktop GLSL 1.10.
    pub glsl: u32,
    /// Limits.
    pub limits: Limits,
    /// Extensions that the context offers, of [`EXTENSIONS`].
    pub extensions: Vec<&'static str>,
}

impl Environment {
    /// The environment of an OpenGL ES 2.0 context on a server of this dialect and these limits. Of the context's
    /// extensions those of the shading language count. Limits are the server's, within what the wire carries.
    #[must_use]
    pub fn new(dialect: ShaderDialect, limits: &CapsLimits, extensions: &[&'static str]) -> Self {
        use runahead_wire::limits as wire;
        const VERTEX: usize = 0;
        const FRAGMENT: usize = 4;
        let vectors = |components: u32| (components / 4).min(VECTORS);
        let units = |units: u32| units.min(wire::TEXTURE_UNITS);
        let several = extensions.contains(&"GL_EXT_draw_buffers");
        Self {
            dialect,
            essl: 100,
            glsl: 0,
            limits: Limits {
                vertex_attribs: limits.max_vertex_attribs.min(wire::VERTEX_ATTRIBS),
                vertex_uniform_vectors: vectors(limits.max_uniform_components[VERTEX]),
                fragment_uniform_vectors: vectors(limits.max_uniform_components[FRAGMENT]),
                varying_vectors: vectors(limits.max_varying_components),
                vertex_texture_units: units(limits.max_texture_image_units[VERTEX]),
                fragment_texture_units: units(limits.max_texture_image_units[FRAGMENT]),
                combined_texture_units: units(limits.max_combined_texture_image_units),
                draw_buffers: if several {
                    limits.max_draw_buffers.clamp(1, wire::COLOR_ATTACHMENTS as u32)
                } else {
                    1
                },
                min_texel_offset: limits.min_program_texel_offset,
                max_texel_offset: limits.max_program_texel_offset,
            },
            extensions: EXTENSIONS.into_iter().filter(|name| extensions.contains(name)).collect(),
        }
    }

    /// Whether the context offers an extension.
    #[must_use]
    pub(super) fn offers(&self, name: &str) -> bool {
        self.extensions.contains(&name)
    }
}
