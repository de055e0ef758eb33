//! What this front promises of the server: limits, extensions and texts.

use std::ffi::{CStr, CString};

use runahead_wire::{
    caps::{CapsLimits, CapsView},
    format::Format,
    limits,
    values::{FormatFeatures, ShaderDialect},
};

use crate::shader::Environment;

/// Texture units that a context keeps bindings for.
pub(crate) const UNITS: usize = limits::TEXTURE_UNITS as usize;
/// Attributes that a context keeps arrays for.
pub(crate) const ATTRIBUTES: usize = 16;
/// Levels of the largest texture.
pub(crate) const LEVELS: usize = 16;

/// Positions of the stages in the limits by stage.
const VERTEX: usize = 0;
const FRAGMENT: usize = 4;

/// What a context may do, worked out once from the server's caps.
#[derive(Debug)]
pub(crate) struct Limits {
    /// As the server has them.
    pub(crate) caps: CapsLimits,
    /// What shaders are compiled for.
    pub(crate) environment: Environment,
    features: Vec<(Format, FormatFeatures)>,
    pub(crate) attributes: u32,
    pub(crate) units: u32,
    pub(crate) vertex_units: u32,
    pub(crate) fragment_units: u32,
    pub(crate) vertex_uniform_vectors: u32,
    pub(crate) fragment_uniform_vectors: u32,
    pub(crate) varying_vectors: u32,
    pub(crate) texture_size: u32,
    pub(crate) cube_size: u32,
    pub(crate) renderbuffer_size: u32,
    /// Largest data store of a buffer, bytes.
    pub(crate) buffer_size: u64,
    /// Names of the extensions.
    pub(crate) extensions: Vec<&'static str>,
    /// Whether textures whose sides are no powers of two are as complete as others (`OES_texture_npot`).
    pub(crate) npot: bool,
    pub(crate) vendor: &'static CStr,
    pub(crate) renderer: CString,
    pub(crate) version: CString,
    pub(crate) shading_language: &'static CStr,
    pub(crate) extension_text: CString,
}

/// One extension: its name, and what the server must have for it.
struct Extension {
    name: &'static str,
    needs: fn(&CapsView<'_>, &dyn Fn(Format) -> FormatFeatures) -> bool,
}

fn always(_: &CapsView<'_>, _: &dyn Fn(Format) -> FormatFeatures) -> bool {
    true
}

/// The extensions that are there when the server has what they need.
const EXTENSIONS: &[Extension] = &[
    Extension { name: "GL_EXT_blend_minmax", needs: always },
    Extension {
        name: "GL_EXT_texture_filter_anisotropic",
        needs: |caps, _| caps.limits().max_texture_max_anisotropy >= 2.0,
    },
    Extension {
        name: "GL_EXT_texture_format_BGRA8888",
        needs: |_, has| has(Format::Bgra8).contains(FormatFeatures::SAMPLED),
    },
    Extension { name: "GL_OES_compressed_ETC1_RGB8_texture", needs: |_, has| etc1(has).is_some() },
    Extension {
        name: "GL_OES_depth24",
        needs: |_, has| has(Format::DepthComponent24).contains(FormatFeatures::RENDERABLE),
    },
    Extension { name: "GL_OES_element_index_uint", needs: always },
    Extension {
        name: "GL_OES_packed_depth_stencil",
        needs: |_, has| has(Format::Depth24Stencil8).contains(FormatFeatures::RENDERABLE),
    },
    Extension {
        name: "GL_OES_rgb8_rgba8",
        needs: |_, has| {
            [Format::Rgb8, Format::Rgba8]
                .iter()
                .all(|format| has(*format).contains(FormatFeatures::RENDERABLE))
        },
    },
    Extension { name: "GL_OES_standard_derivatives", needs: always },
    Extension { name: "GL_OES_surfaceless_context", needs: always },
    Extension { name: "GL_OES_texture_npot", needs: always },
    Extension { name: "GL_OES_vertex_array_object", needs: always },
    Extension {
        name: "GL_EXT_texture_compression_dxt1",
        needs: |_, has| has(Format::RgbaS3tcDxt1).contains(FormatFeatures::SAMPLED),
    },
];

/// The format that textures in `ETC1_RGB8_OES` have: ETC2 reads the same blocks (OpenGL ES 3.2 appendix C.1).
fn etc1(has: &dyn Fn(Format) -> FormatFeatures) -> Option<Format> {
    [Format::Etc1Rgb8, Format::Rgb8Etc2]
        .into_iter()
        .find(|format| has(*format).contains(FormatFeatures::SAMPLED))
}

/// A text for C: up to the first NUL.
fn text(text: &str) -> CString {
    let end = text.find('\0').unwrap_or(text.len());
    CString::new(text.get(..end).unwrap_or_default()).unwrap_or_default()
}

impl Limits {
    pub(crate) fn new(caps: &CapsView<'_>) -> Self {
        let limits = caps.limits();
        let mut features: Vec<_> =
            caps.formats().iter().filter_map(|entry| Some((entry.format()?, entry.features()?))).collect();
        features.sort_unstable_by_key(|(format, _)| *format);
        let has = |format: Format| uses(&features, format);
        let extensions: Vec<_> =
            EXTENSIONS.iter().filter(|one| (one.needs)(caps, &has)).map(|one| one.name).collect();
        let texts = caps.texts();
        let dialect = caps.head().shader_dialect().unwrap_or(ShaderDialect::GlUniforms);
        let vectors = |stage: usize| limits.max_uniform_components.get(stage).map_or(0, |count| count / 4);
        let images = |stage: usize| limits.max_texture_image_units.get(stage).copied().unwrap_or(0);
        let largest = 1 << (LEVELS - 1);
        Self {
            caps: *limits,
            environment: Environment::new(dialect, limits, &extensions),
            attributes: limits.max_vertex_attribs.min(ATTRIBUTES as u32),
            units: limits.max_combined_texture_image_units.min(UNITS as u32),
            vertex_units: images(VERTEX),
            fragment_units: images(FRAGMENT),
            vertex_uniform_vectors: vectors(VERTEX),
            fragment_uniform_vectors: vectors(FRAGMENT),
            varying_vectors: limits.max_varying_components / 4,
            texture_size: limits.max_texture_size.min(largest),
            cube_size: limits.max_cube_map_texture_size.min(largest),
            renderbuffer_size: limits.max_renderbuffer_size.min(u32::from(u16::MAX)),
            buffer_size: if limits.max_buffer_size == 0 { i32::MAX as u64 } else { limits.max_buffer_size },
            npot: extensions.contains(&"GL_OES_texture_npot"),
            vendor: c"Runahead",
            renderer: text(&format!("Runahead ({})", texts.renderer)),
            version: text(concat!("OpenGL ES 2.0 Runahead ", env!("CARGO_PKG_VERSION"))),
            shading_language: c"OpenGL ES GLSL ES 1.00",
            extension_text: text(&extensions.join(" ")),
            extensions,
            features,
        }
    }

    /// What the server can do with a format.
    pub(crate) fn features(&self, format: Format) -> FormatFeatures {
        uses(&self.features, format)
    }

    /// Whether an extension is there.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.extensions.contains(&name)
    }

    /// The compressed formats, by number, with what the server has for each.
    pub(crate) fn compressed(&self) -> impl Iterator<Item = (u32, Format)> {
        use super::enums::{COMPRESSED_RGB_S3TC_DXT1_EXT, COMPRESSED_RGBA_S3TC_DXT1_EXT, ETC1_RGB8_OES};
        let etc1 = etc1(&|format| self.features(format)).map(|format| (ETC1_RGB8_OES, format));
        let dxt1 = self.has("GL_EXT_texture_compression_dxt1").then_some([
            (COMPRESSED_RGB_S3TC_DXT1_EXT, Format::RgbS3tcDxt1),
            (COMPRESSED_RGBA_S3TC_DXT1_EXT, Format::RgbaS3tcDxt1),
        ]);
        etc1.into_iter().chain(dxt1.into_iter().flatten())
    }
}

fn uses(features: &[(Format, FormatFeatures)], format: Format) -> FormatFeatures {
    match features.binary_search_by_key(&format, |(format, _)| *format) {
        Ok(at) => features.get(at).map_or(FormatFeatures::EMPTY, |(_, features)| *features),
        Err(_) => FormatFeatures::EMPTY,
    }
}
