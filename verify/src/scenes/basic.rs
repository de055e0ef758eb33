//! The first path through the whole: clear, draw, sample, read.

use runahead_core::{Session, slots::Band};
use runahead_wire::{
    Handle,
    handle::Kind,
    payload::{Clear, CopyBuffer, TexelBox},
    values::{
        ClearKind, PixelFormat, PixelType, ResourceTarget, ScalarType, StageMask, Topology, ValueClass,
        ViewportMask,
    },
};

use super::{
    Image, Reflection, SIDE, Stage, StageError,
    common::{BLACK, POSITION, QUAD, SAMPLED, TEXTURED, TEXTURED_ATTRIBUTES, UNIFORM_COLOR, bytes, color},
    stage::Sight,
};

pub(super) mod triangle {
    use super::*;

    pub(super) const COLOR: [u8; 4] = [255, 51, 0, 255];
    /// Window coordinate 64.5: the long edge keeps clear of the centres of pixels.
    pub(super) const FAR: f32 = 64.5 / 32.0 - 1.0;

    pub(in super::super) fn draw<P: Session>(stage: &mut Stage<'_, P>) -> Result<(), StageError> {
        stage.clear(color(BLACK))?;
        let corners = stage.buffer(&bytes(&[-1.0, -1.0, FAR, -1.0, -1.0, FAR]))?;
        stage.program(POSITION, UNIFORM_COLOR, &[("position", 0)], &bytes(&color(COLOR)))?;
        stage.vertices(corners, &[(0, 2)])?;
        stage.draw(Topology::Triangles, 0, 3)
    }

    pub(in super::super) fn pixel(x: u32, y: u32) -> [u8; 4] {
        // Twice the distances of the centre, in halves: 2x + 1 + 2y + 1 against 129.
        if 2 * x + 2 * y + 2 < 129 { COLOR } else { BLACK }
    }
}

pub(super) mod uniform_struct {
    use super::*;

    /// The same as a triangle, with the colour in a struct within a struct.
    const STRUCT: &str = "
        precision highp float;
        struct Inner { vec4 color; float unused; };
        struct Outer { Inner parts[2]; };
        uniform Outer outer;
        void main() { gl_FragColor = outer.parts[1].color; }
    ";

    pub(in super::super) fn draw<P: Session>(stage: &mut Stage<'_, P>) -> Result<(), StageError> {
        stage.clear(color(BLACK))?;
        let corners = stage.buffer(&bytes(&[-1.0, -1.0, triangle::FAR, -1.0, -1.0, triangle::FAR]))?;
        // The image is laid out as std140: an element is a colour and a float, and ends at a whole vector.
        let element = [color(BLACK), [0.0; 4]].concat();
        let image = bytes(&[&element[..], &color(triangle::COLOR)].concat());
        stage.program(POSITION, STRUCT, &[("position", 0)], &image)?;
        stage.vertices(corners, &[(0, 2)])?;
        stage.draw(Topology::Triangles, 0, 3)
    }

    pub(in super::super) use super::triangle::pixel;
}

pub(super) mod clear_then_read {
    use super::*;

    const FIRST: [u8; 4] = [51, 102, 153, 204];
    const SECOND: [u8; 4] = [204, 0, 255, 0];
    /// x, y, width, height.
    const BOX: [u32; 4] = [5, 20, 30, 11];

    pub(in super::super) fn draw<P: Session>(stage: &mut Stage<'_, P>) -> Result<(), StageError> {
        stage.clear(color(FIRST))?;
        let render = stage.tracker().render_state();
        let [x, y, width, height] = BOX.map(|side| side as i32);
        let scissor = &mut render.scissor_boxes[0];
        (scissor.x, scissor.y, scissor.width, scissor.height) = (x, y, width, height);
        render.scissor_enable_mask = ViewportMask::V0.raw();
        stage.clear(color(SECOND))
    }

    pub(in super::super) fn pixel(x: u32, y: u32) -> [u8; 4] {
        let [left, bottom, width, height] = BOX;
        if (left..left + width).contains(&x) && (bottom..bottom + height).contains(&y) {
            SECOND
        } else {
            FIRST
        }
    }
}

pub(super) mod texture {
    use super::*;

    /// Texels along each side.
    const TEXELS: u32 = 4;

    fn texel(x: u32, y: u32) -> [u8; 4] {
        [(x * 60) as u8, (y * 60) as u8, (x * y * 20) as u8, 255 - (x * 10) as u8]
    }

    pub(in super::super) fn draw<P: Session>(stage: &mut Stage<'_, P>) -> Result<(), StageError> {
        stage.clear(color(BLACK))?;
        let image = Image::of(TEXELS, TEXELS, texel);
        let texture = stage.texture(TEXELS, TEXELS, Some(image.bytes()))?;
        let quad = stage.buffer(&bytes(&QUAD))?;
        stage.program(TEXTURED, SAMPLED, TEXTURED_ATTRIBUTES, &[])?;
        stage.vertices(quad, &[(0, 2), (1, 2)])?;
        stage.sample(texture)?;
        stage.draw(Topology::TriangleStrip, 0, 4)
    }

    pub(in super::super) fn pixel(x: u32, y: u32) -> [u8; 4] {
        let side = SIDE / TEXELS;
        texel(x / side, y / side)
    }
}

pub(super) mod attribute_defaults {
    use super::*;

    const VERTEX: &str = "
        attribute vec2 position;
        attribute vec4 tint;
        varying vec4 shade;
        void main() { shade = tint; gl_Position = vec4(position, 0.0, 1.0); }
    ";
    const FRAGMENT: &str = "
        precision highp float;
        varying vec4 shade;
        void main() { gl_FragColor = shade; }
    ";
    const CLEARED: [u8; 4] = [255, 255, 255, 255];
    /// The initial current value (OpenGL ES 3.2 section 10.2).
    const INITIAL: [u8; 4] = BLACK;
    const SET: [u8; 4] = [102, 51, 255, 153];

    pub(in super::super) fn draw<P: Session>(stage: &mut Stage<'_, P>) -> Result<(), StageError> {
        stage.clear(color(CLEARED))?;
        // Two strips, each a quarter of the width: the left one and the third.
        let strip = |left: f32| [left, -1.0, left + 0.5, -1.0, left, 1.0, left + 0.5, 1.0];
        let corners = stage.buffer(&bytes(&[strip(-1.0), strip(0.0)].concat()))?;
        stage.program(VERTEX, FRAGMENT, &[("position", 0), ("tint", 3)], &[])?;
        stage.vertices(corners, &[(0, 2)])?;
        stage.draw(Topology::TriangleStrip, 0, 4)?;
        let value = &mut stage.tracker().attrib_defaults()[3];
        value.value_class = ValueClass::Float.raw() as u8;
        value.float_view = color(SET).map(f32::to_bits);
        stage.draw(Topology::TriangleStrip, 4, 4)
    }

    pub(in super::super) fn pixel(x: u32, _: u32) -> [u8; 4] {
        match x / (SIDE / 4) {
            0 => INITIAL,
            2 => SET,
            _ => CLEARED,
        }
    }
}

pub(super) mod handle_recycle {
    use super::*;

    const FIRST: [u8; 4] = [255, 0, 0, 255];
    const SECOND: [u8; 4] = [0, 255, 0, 255];

    /// Half of the surface: the left one, or the right one.
    fn half(right: bool) -> Vec<u8> {
        let left = if right { 0.0 } else { -1.0 };
        let corner = |x: f32, y: f32| [x, y, x, y];
        bytes(
            &[corner(left, -1.0), corner(left + 1.0, -1.0), corner(left, 1.0), corner(left + 1.0, 1.0)]
                .concat(),
        )
    }

    pub(in super::super) fn draw<P: Session>(stage: &mut Stage<'_, P>) -> Result<(), StageError> {
        stage.clear(color(BLACK))?;
        stage.program(TEXTURED, SAMPLED, TEXTURED_ATTRIBUTES, &[])?;
        let mut before = None;
        for (right, texel) in [(false, FIRST), (true, SECOND)] {
            let texture = stage.texture(1, 1, Some(&texel))?;
            let corners = stage.buffer(&half(right))?;
            if let Some((old_texture, old_corners)) = before {
                let taken_again =
                    |old: Handle, new: Handle| old.slot == new.slot && old.generation != new.generation;
                if !taken_again(old_texture, texture) || !taken_again(old_corners, corners) {
                    return Err(StageError::Scene("the slots were not taken again"));
                }
            }
            before = Some((texture, corners));
            stage.vertices(corners, &[(0, 2), (1, 2)])?;
            stage.sample(texture)?;
            stage.draw(Topology::TriangleStrip, 0, 4)?;
            if !right {
                stage.destroy(Kind::Texture, Band::Texture, texture)?;
                stage.destroy(Kind::Buffer, Band::Buffer, corners)?;
            }
        }
        Ok(())
    }

    pub(in super::super) fn pixel(x: u32, _: u32) -> [u8; 4] {
        if x < SIDE / 2 { FIRST } else { SECOND }
    }
}

pub(super) mod render_to_texture {
    use super::*;

    const INSIDE: [u8; 4] = [0, 102, 204, 255];
    const OUTSIDE: [u8; 4] = [255, 204, 51, 255];
    /// The square in the texture, window coordinates from and to on both axes.
    const SQUARE: std::ops::Range<u32> = 16..40;

    pub(in super::super) fn draw<P: Session>(stage: &mut Stage<'_, P>) -> Result<(), StageError> {
        let texture = stage.texture(SIDE, SIDE, None)?;
        stage.target(texture);
        stage.clear(color(OUTSIDE))?;
        let at = |pixel: u32| pixel as f32 / (SIDE / 2) as f32 - 1.0;
        let (low, high) = (at(SQUARE.start), at(SQUARE.end));
        let corners = stage.buffer(&bytes(&[low, low, high, low, high, high, low, high]))?;
        let order = [0_u16, 1, 2, 2, 3, 0];
        let indices = stage.buffer(&order.map(u16::to_le_bytes).concat())?;
        stage.program(POSITION, UNIFORM_COLOR, &[("position", 0)], &bytes(&color(INSIDE)))?;
        stage.vertices(corners, &[(0, 2)])?;
        stage.draw_indexed(Topology::Triangles, indices, 6)?;
        // Onto the surface, which is another image.
        stage.target(Handle::NULL);
        stage.clear(color(BLACK))?;
        let quad = stage.buffer(&bytes(&QUAD))?;
        stage.program(TEXTURED, SAMPLED, TEXTURED_ATTRIBUTES, &[])?;
        stage.vertices(quad, &[(0, 2), (1, 2)])?;
        stage.sample(texture)?;
        stage.draw(Topology::TriangleStrip, 0, 4)
    }

    pub(in super::super) fn pixel(x: u32, y: u32) -> [u8; 4] {
        if SQUARE.contains(&x) && SQUARE.contains(&y) { INSIDE } else { OUTSIDE }
    }
}

pub(super) mod staged_program {
    use super::*;

    /// Halves of the surface by a sampler, tinted by a uniform and checked against a buffer that was copied.
    const VERTEX: &str = "#version 450
        layout(location = 0) in vec2 position;
        layout(location = 1) in vec2 coordinate;
        layout(location = 0) out vec2 at;
        void main() { at = coordinate; gl_Position = vec4(position, 0.0, 1.0); }
    ";
    const FRAGMENT: &str = "#version 450
        layout(location = 0) in vec2 at;
        layout(location = 4) uniform vec4 tint;
        layout(location = 5, binding = 0) uniform sampler2D image;
        layout(location = 0) out vec4 color;
        void main() { color = texture(image, at) * tint; }
    ";
    const TEXELS: [[u8; 4]; 2] = [[255, 0, 255, 255], [0, 255, 255, 255]];
    const TINT: [u8; 4] = [51, 102, 255, 255];

    pub(in super::super) fn draw<P: Session>(stage: &mut Stage<'_, P>) -> Result<(), StageError> {
        stage.clear(color(BLACK))?;
        let quad = bytes(&QUAD);
        let (from, to) = (stage.buffer(&quad)?, stage.buffer(&vec![0; quad.len()])?);
        let size = quad.len() as u64;
        stage.pipe().copy_buffer(&CopyBuffer { src: from, dst: to, size, ..CopyBuffer::default() })?;
        stage.expect(to, 0, &quad)?;
        let texture = stage.texture(2, 1, Some(&TEXELS.concat()))?;
        let reflection = Reflection::default().value(4, ScalarType::Float, 4).sampler(
            5,
            ResourceTarget::Texture2D,
            ScalarType::Float,
            1,
        );
        let stages = [(StageMask::VERTEX, VERTEX), (StageMask::FRAGMENT, FRAGMENT)];
        stage.staged(&stages, &reflection, &bytes(&color(TINT)))?;
        stage.vertices(to, &[(0, 2), (1, 2)])?;
        stage.sample(texture)?;
        stage.draw(Topology::TriangleStrip, 0, 4)
    }

    pub(in super::super) fn pixel(x: u32, _: u32) -> [u8; 4] {
        let [red, green, blue, alpha] = TINT;
        if x < SIDE / 2 { [red, 0, blue, alpha] } else { [0, green, blue, alpha] }
    }
}

pub(super) mod work_between_draws {
    use super::*;

    const DRAWN: [u8; 4] = [255, 51, 0, 255];
    const OTHER: [u8; 4] = [0, 255, 51, 255];

    /// A quarter of the width: four vertices.
    fn strip(at: u32) -> Vec<u8> {
        let left = at as f32 / 2.0 - 1.0;
        bytes(
            &[(left, -1.0), (left + 0.5, -1.0), (left, 1.0), (left + 0.5, 1.0)]
                .map(|(x, y)| [x, y, 0.0, 0.0])
                .concat(),
        )
    }

    pub(in super::super) fn draw<P: Session>(stage: &mut Stage<'_, P>) -> Result<(), StageError> {
        let corners = stage.buffer(&(0..4).flat_map(strip).collect::<Vec<_>>())?;
        let (drawn, other) = (stage.texture(1, 1, Some(&DRAWN))?, stage.texture(SIDE, SIDE, None)?);
        stage.target(other);
        stage.clear(color(BLACK))?;
        let fbo = stage.tracker().wanted().draw_framebuffer;
        stage.target(Handle::NULL);
        stage.clear(color(BLACK))?;
        stage.program(TEXTURED, SAMPLED, TEXTURED_ATTRIBUTES, &[])?;
        stage.vertices(corners, &[(0, 2), (1, 2)])?;
        stage.sample(drawn)?;
        stage.draw(Topology::TriangleStrip, 0, 4)?;
        // Each kind of work binds something of its own, and no state of the context moves.
        stage.clear_by(&Clear {
            fbo,
            kind: ClearKind::Color.raw(),
            value_class: ValueClass::Float.raw(),
            color_value: color(OTHER).map(f32::to_bits),
            ..Clear::default()
        })?;
        stage.draw(Topology::TriangleStrip, 4, 4)?;
        let region = TexelBox { width: SIDE, height: SIDE, depth: 1, ..TexelBox::default() };
        let (format, kind) = (PixelFormat::Rgba, PixelType::UnsignedByte);
        let sight = Sight { texture: other, level: 0, region, format, kind };
        let seen = stage.bytes_of(&sight, 0, (SIDE * SIDE * 4) as usize)?;
        if seen.chunks(4).any(|pixel| pixel != OTHER) {
            return Err(StageError::Wrong("the other target was not cleared".to_owned()));
        }
        stage.draw(Topology::TriangleStrip, 8, 4)?;
        stage.contents(corners, 0, 16)?;
        stage.draw(Topology::TriangleStrip, 12, 4)
    }

    pub(in super::super) fn pixel(_: u32, _: u32) -> [u8; 4] {
        DRAWN
    }
}
