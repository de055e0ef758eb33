//! Views: windows of levels and layers, other targets and formats, written through either end.

use runahead_wire::payload::SamplerView;

use super::*;
use crate::scenes::common::{BLACK, color};

use ResourceTarget as T;
use ScalarType as S;

const fn shade(level: u32, layer: u32) -> [u8; 4] {
    [(51 * level + 51) as u8, (layer * 30 + 15) as u8, 102, 255]
}

const NEW: [u8; 4] = [255, 255, 0, 255];
const OTHER: [u8; 4] = [0, 255, 255, 255];

const SHOWN: &[[u8; 4]] = &[
    // A layer; a level and a layer; another format.
    shade(0, 2),
    shade(1, 3),
    shade(1, 1),
    // Two views of one texture in one draw: half of one, half of the other.
    [38, 27, 102, 255],
    // A texture that is a view.
    shade(0, 0),
    // What was written through the owner; through the view.
    NEW,
    OTHER,
    // Layers as faces.
    shade(0, 4),
    // All of a texture that can be defined again.
    shade(0, 0),
    NEW,
    // A view in the slot of one that ended.
    shade(1, 0),
];

pub(in super::super) fn draw<P: Session>(stage: &mut Stage<'_, P>) -> Result<(), StageError> {
    stage.clear(color(BLACK))?;
    quad(stage)?;
    let root = stage.image(ResourceDesc {
        array_layers: 6,
        levels: 2,
        immutable: 1,
        ..shape(T::Texture2DArray, Format::Rgba8, 4, 4)
    })?;
    for (level, side) in [(0, 4_usize), (1, 2)] {
        let all: Vec<u8> = (0..6).flat_map(|layer| shade(level, layer).repeat(side * side)).collect();
        stage.fill(root, level as u16, extent(side as u32, side as u32, 6), &all)?;
    }
    let window = |target: T, levels: (u16, u16), layers: (u16, u16)| SamplerView {
        texture: root,
        internal_format: Format::Rgba8.raw(),
        target: target.raw8(),
        min_level: levels.0,
        num_levels: levels.1,
        min_layer: layers.0,
        num_layers: layers.1,
        ..SamplerView::default()
    };
    let none = Handle::NULL;
    let flat = (T::Texture2D, S::Float);
    program(stage, "sampler2D", flat, "texture(image, at)")?;
    let third = stage.view(window(T::Texture2D, (0, 1), (2, 1)))?;
    stage.sample_all(&[(root, third, none)])?;
    show(stage, 0)?;
    let small = stage.view(window(T::Texture2D, (1, 1), (3, 1)))?;
    stage.sample_all(&[(root, small, none)])?;
    show(stage, 1)?;
    let raw =
        SamplerView { internal_format: Format::Rgba8Ui.raw(), ..window(T::Texture2DArray, (1, 1), (0, 6)) };
    let raw = stage.view(raw)?;
    program(
        stage,
        "usampler2DArray",
        (T::Texture2DArray, S::UnsignedInt),
        "vec4(texture(image, vec3(at, 1.0))) / 255.0",
    )?;
    stage.sample_all(&[(root, raw, none)])?;
    show(stage, 2)?;

    // Two at once.
    let two = "#version 450
        layout(location = 0) in vec2 at;
        layout(location = 4, binding = 0) uniform sampler2D one;
        layout(location = 5, binding = 1) uniform sampler2D other;
        layout(location = 0) out vec4 color;
        void main() {
            color = vec4(texture(one, at).r * 0.25 + texture(other, at).r * 0.25,
                texture(other, at).g * 0.25 + texture(one, at).g * 0.0625, texture(one, at).ba);
        }
    ";
    let reflection =
        Reflection::default().sampler(4, T::Texture2D, S::Float, 1).sampler(5, T::Texture2D, S::Float, 1);
    let first = stage.view(window(T::Texture2D, (0, 1), (0, 1)))?;
    let stages = [(StageMask::VERTEX, VERTEX), (StageMask::FRAGMENT, two)];
    stage.staged(&stages, &reflection, &[])?;
    stage.sample_all(&[(root, first, none), (root, small, none)])?;
    show(stage, 3)?;

    let owned = stage.image(ResourceDesc {
        view_of: root,
        immutable: 1,
        ..shape(T::Texture2D, Format::Rgba8, 4, 4)
    })?;
    program(stage, "sampler2D", flat, "texture(image, at)")?;
    stage.sample_all(&[(owned, none, none)])?;
    show(stage, 4)?;
    stage.fill(root, 0, extent(4, 4, 1), &NEW.repeat(16))?;
    show(stage, 5)?;
    stage.fill(owned, 0, extent(4, 4, 1), &OTHER.repeat(16))?;
    stage.sample_all(&[(root, first, none)])?;
    show(stage, 6)?;

    let faces = stage.view(window(T::CubeMap, (0, 2), (0, 6)))?;
    program(stage, "samplerCube", (T::CubeMap, S::Float), "texture(image, vec3(0.0, 0.0, 1.0))")?;
    stage.sample_all(&[(root, faces, none)])?;
    show(stage, 7)?;

    let plain = stage.image(shape(T::Texture2D, Format::Rgba8, 1, 1))?;
    stage.fill(plain, 0, extent(1, 1, 1), &shade(0, 0))?;
    let all = stage.view(SamplerView {
        texture: plain,
        internal_format: Format::Rgba8.raw(),
        target: T::Texture2D.raw8(),
        num_levels: 1,
        num_layers: 1,
        ..SamplerView::default()
    })?;
    program(stage, "sampler2D", flat, "texture(image, at)")?;
    stage.sample_all(&[(plain, all, none)])?;
    show(stage, 8)?;
    stage.respecify(ResourceDesc { resource: plain, ..shape(T::Texture2D, Format::Rgba8, 2, 2) })?;
    stage.fill(plain, 0, extent(2, 2, 1), &NEW.repeat(4))?;
    show(stage, 9)?;

    stage.end_view(third)?;
    let again = stage.view(window(T::Texture2D, (1, 1), (0, 1)))?;
    if again.slot != third.slot {
        return Err(StageError::Scene("the slot was not taken again"));
    }
    stage.sample_all(&[(root, again, none)])?;
    show(stage, 10)
}

pub(in super::super) fn pixel(x: u32, y: u32) -> [u8; 4] {
    SHOWN.get(cell_of(x, y) as usize).copied().unwrap_or(BLACK)
}
