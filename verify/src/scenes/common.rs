//! What scenes of several families are made of: colours, shaders, shapes.

/// One of the eight-bit steps, as a float that becomes exactly that.
pub(super) fn step(of_255: u8) -> f32 {
    f32::from(of_255) / 255.0
}

pub(super) fn color(steps: [u8; 4]) -> [f32; 4] {
    steps.map(step)
}

pub(super) fn bytes(floats: &[f32]) -> Vec<u8> {
    floats.iter().flat_map(|float| float.to_le_bytes()).collect()
}

pub(super) const BLACK: [u8; 4] = [0, 0, 0, 255];

/// A position alone.
pub(super) const POSITION: &str = "
    attribute vec2 position;
    void main() { gl_Position = vec4(position, 0.0, 1.0); }
";

/// A colour that is the same everywhere.
pub(super) const UNIFORM_COLOR: &str = "
    precision highp float;
    uniform vec4 color;
    void main() { gl_FragColor = color; }
";

/// The whole of the surface, as a strip: positions and texture coordinates.
pub(super) const QUAD: [f32; 16] =
    [-1.0, -1.0, 0.0, 0.0, 1.0, -1.0, 1.0, 0.0, -1.0, 1.0, 0.0, 1.0, 1.0, 1.0, 1.0, 1.0];

/// Position and texture coordinate, handed on.
pub(super) const TEXTURED: &str = "
    attribute vec2 position;
    attribute vec2 coordinate;
    varying vec2 at;
    void main() { at = coordinate; gl_Position = vec4(position, 0.0, 1.0); }
";

/// What a texture has there.
pub(super) const SAMPLED: &str = "
    precision highp float;
    uniform sampler2D image;
    varying vec2 at;
    void main() { gl_FragColor = texture2D(image, at); }
";

pub(super) const TEXTURED_ATTRIBUTES: &[(&str, u32)] = &[("position", 0), ("coordinate", 1)];
