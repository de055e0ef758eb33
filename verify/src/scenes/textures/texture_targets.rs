//! Every target, sampled or fetched.

use runahead_wire::{
    payload::WHOLE_SIZE,
    values::{BufferUsage, FramebufferTarget},
};

use super::*;
use crate::scenes::{
    common::{BLACK, color},
    stage::empty_framebuffer,
};

use ResourceTarget as T;
use ScalarType as S;

/// Colour of a cell.
const fn shade(number: u32) -> [u8; 4] {
    [(number * 15 + 15) as u8, (255 - number * 10) as u8, (number * 5) as u8, 255]
}

/// A texture whose slices are black, but for one.
fn one_slice<P: Session>(
    stage: &mut Stage<'_, P>,
    desc: ResourceDesc,
    slices: u32,
    shown: u32,
    color: [u8; 4],
) -> Result<Handle, StageError> {
    let texture = stage.image(desc)?;
    let rows = matches!(desc.target(), Some(T::Texture1D | T::Texture1DArray));
    let slice = |at: u32| if at == shown { color } else { BLACK };
    let of_one = if rows { 4 } else { 16 };
    let all: Vec<u8> = (0..slices).flat_map(|at| slice(at).repeat(of_one)).collect();
    let whole = if rows { extent(4, 1, slices) } else { extent(4, 4, slices) };
    stage.fill(texture, 0, whole, &all)?;
    Ok(texture)
}

pub(in super::super) fn draw<P: Session>(stage: &mut Stage<'_, P>) -> Result<(), StageError> {
    stage.clear(color(BLACK))?;
    quad(stage)?;
    let flat = |target| shape(target, Format::Rgba8, 4, 4);
    let layered = |target, layers| ResourceDesc { array_layers: layers, ..flat(target) };
    let line = |target, layers| ResourceDesc { height: 1, ..layered(target, layers) };
    let sampled = [
        ("sampler2D", T::Texture2D, flat(T::Texture2D), 1, 0, "texture(image, at)"),
        (
            "sampler2DArray",
            T::Texture2DArray,
            layered(T::Texture2DArray, 3),
            3,
            2,
            "texture(image, vec3(at, 2.0))",
        ),
        (
            "sampler3D",
            T::Texture3D,
            ResourceDesc { depth: 4, ..flat(T::Texture3D) },
            4,
            1,
            "texture(image, vec3(at, 0.375))",
        ),
        ("samplerCube", T::CubeMap, flat(T::CubeMap), 6, 3, "texture(image, vec3(0.0, -1.0, 0.0))"),
        (
            "samplerCubeArray",
            T::CubeMapArray,
            layered(T::CubeMapArray, 12),
            12,
            10,
            "texture(image, vec4(0.0, 0.0, 1.0, 1.0))",
        ),
        ("sampler1D", T::Texture1D, line(T::Texture1D, 1), 1, 0, "texture(image, at.x)"),
        (
            "sampler1DArray",
            T::Texture1DArray,
            line(T::Texture1DArray, 4),
            4,
            3,
            "texture(image, vec2(at.x, 3.0))",
        ),
        // A texel that is fetched.
        (
            "sampler1DArray",
            T::Texture1DArray,
            line(T::Texture1DArray, 4),
            4,
            2,
            "texelFetch(image, ivec2(1, 2), 0)",
        ),
    ];
    for (number, (sampler, target, desc, slices, shown, read)) in (0..).zip(sampled) {
        let texture = one_slice(stage, desc, slices, shown, shade(number))?;
        program(stage, sampler, (target, S::Float), read)?;
        stage.sample(texture)?;
        show(stage, number)?;
    }

    // Texels of a buffer: of all of it, and of a part.
    let texels: Vec<u8> = (0..512)
        .flat_map(|at| {
            if at == 3 {
                shade(8)
            } else if at == 259 {
                shade(9)
            } else {
                BLACK
            }
        })
        .collect();
    let buffer = stage.buffer(&texels)?;
    for (number, offset, size) in [(8, 0, WHOLE_SIZE), (9, 1024, 512)] {
        let texture = stage.image(ResourceDesc {
            buffer_for_tex_buffer: buffer,
            buf_offset: offset,
            buf_size: size,
            ..shape(T::TextureBuffer, Format::Rgba8, 0, 0)
        })?;
        let count = if size == WHOLE_SIZE { 512 } else { 128 };
        let read = format!("textureSize(image) == {count} ? texelFetch(image, 3) : vec4(1.0)");
        program(stage, "samplerBuffer", (T::TextureBuffer, S::Float), &read)?;
        stage.sample(texture)?;
        show(stage, number)?;
        if size == WHOLE_SIZE {
            // A range that ends behind the buffer, as far as there is one.
            let beyond = stage.image(ResourceDesc {
                buffer_for_tex_buffer: buffer,
                buf_offset: 1024,
                buf_size: 3072,
                ..shape(T::TextureBuffer, Format::Rgba8, 0, 0)
            })?;
            let read = "textureSize(image) == 256 ? texelFetch(image, 3) : vec4(1.0)";
            program(stage, "samplerBuffer", (T::TextureBuffer, S::Float), read)?;
            stage.sample(beyond)?;
            show(stage, 13)?;
            stage.sample(texture)?;
            // They follow their buffer, without a word about the textures.
            let desc = runahead_wire::payload::ResourceDesc {
                resource: buffer,
                target: T::Buffer.raw8(),
                storage_kind: runahead_wire::values::StorageKind::Buffer.raw8(),
                buf_size: 4096,
                usage: BufferUsage::StaticDraw.raw(),
                ..ResourceDesc::default()
            };
            stage.regrow(desc)?;
            let mut grown = texels.repeat(2);
            grown[1023 * 4..].copy_from_slice(&shade(10));
            stage.write(buffer, 0, &grown)?;
            let read = "textureSize(image) == 1024 ? texelFetch(image, 1023) : vec4(1.0)";
            program(stage, "samplerBuffer", (T::TextureBuffer, S::Float), read)?;
            show(stage, 10)?;
            let read = "textureSize(image) == 768 ? texelFetch(image, 767) : vec4(1.0)";
            program(stage, "samplerBuffer", (T::TextureBuffer, S::Float), read)?;
            stage.sample(beyond)?;
            show(stage, 14)?;
        }
    }

    // Samples: each is what was drawn to all of them.
    let samples = |target, layers| ResourceDesc {
        samples: 4,
        fixed_sample_locations: 1,
        array_layers: layers,
        ..flat(target)
    };
    let multisampled = [
        (11, "sampler2DMS", samples(T::Texture2DMultisample, 1), 0, "texelFetch(image, ivec2(1, 2), 3)"),
        (
            12,
            "sampler2DMSArray",
            samples(T::Texture2DMultisampleArray, 3),
            1,
            "texelFetch(image, ivec3(1, 2, 1), 2)",
        ),
    ];
    for (number, sampler, desc, layer, read) in multisampled {
        let texture = stage.image(desc)?;
        let mut state = empty_framebuffer();
        state.color[0] = stage.attachment(texture, 0, layer)?;
        (state.width, state.height, state.samples) = (4, 4, 4);
        stage.bind(FramebufferTarget::Draw, &state);
        stage.clear(color(shade(number)))?;
        stage.target(Handle::NULL);
        program(stage, sampler, (desc.target().unwrap_or(T::Texture2D), S::Float), read)?;
        stage.sample(texture)?;
        show(stage, number)?;
    }
    Ok(())
}

pub(in super::super) fn pixel(x: u32, y: u32) -> [u8; 4] {
    match cell_of(x, y) {
        number @ 0..=12 => shade(number),
        13 => shade(9),
        14 => shade(10),
        _ => BLACK,
    }
}
