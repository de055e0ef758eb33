//! Parameters of textures, with no sampler view and no rebind between them.

use runahead_wire::{
    payload::SamplerParameters,
    values::{BorderColorForm, CompareMode, CompareOp, DepthStencilMode, Filter, Wrap},
};

use super::*;
use crate::scenes::{
    common::{BLACK, color},
    stage::nearest,
};

use ResourceTarget as T;
use ScalarType as S;

const FOUR: [[u8; 4]; 4] = [[51, 102, 153, 204], [255, 0, 0, 255], [0, 255, 0, 255], [0, 0, 255, 255]];
const SECOND: [u8; 4] = [204, 51, 0, 255];
const BORDER: [u8; 4] = [153, 0, 51, 102];

/// What is at the place of a number in a list of cells.
const CELLS_SHOWN: &[[u8; 4]] = &[
    // Swizzled: blue, green, red, one.
    [153, 102, 51, 255],
    // Swizzled otherwise, without another bind: zero, alpha, red, red.
    [0, 204, 51, 51],
    // The base level is the second; then again the first.
    SECOND,
    FOUR[0],
    // Borders: of floats, of signed and of unsigned integers.
    BORDER,
    [200, 100, 50, 25],
    [25, 50, 100, 200],
    // The stencil of a texture that has depth too, and the depth.
    [0x77, 0, 0, 1],
    [255, 0, 0, 255],
    // No storage; then some, without a word about the unit.
    BLACK,
    SECOND,
    // A comparison that holds, and one that does not.
    [255; 4],
    [0, 0, 0, 255],
    // Mirrored once, and repeated.
    FOUR[1],
    FOUR[3],
    // A sampler in place of the one that is built in.
    [127, 127, 127, 255],
];

pub(in super::super) fn draw<P: Session>(stage: &mut Stage<'_, P>) -> Result<(), StageError> {
    stage.clear(color(BLACK))?;
    quad(stage)?;
    let desc = ResourceDesc { levels: 2, ..shape(T::Texture2D, Format::Rgba8, 4, 1) };
    let texture = stage.image(desc)?;
    stage.fill(texture, 0, extent(4, 1, 1), &FOUR.concat())?;
    stage.fill(texture, 1, extent(2, 1, 1), &SECOND.repeat(2))?;
    let first = "texture(image, vec2(0.125, 0.5))";
    program(stage, "sampler2D", (T::Texture2D, S::Float), first)?;
    stage.sample(texture)?;
    stage.sampled(texture, nearest(), |params| params.swizzle = [2, 1, 0, 5])?;
    show(stage, 0)?;
    stage.sampled(texture, nearest(), |params| params.swizzle = [4, 3, 0, 0])?;
    show(stage, 1)?;
    stage.sampled(texture, nearest(), |params| params.base_level = 1)?;
    show(stage, 2)?;
    stage.sampled(texture, nearest(), |params| params.max_level = 0)?;
    show(stage, 3)?;

    let clamped = SamplerParameters {
        wrap_s: Wrap::ClampToBorder.raw(),
        wrap_t: Wrap::ClampToBorder.raw(),
        border_color_float: color(BORDER),
        border_color_int: [200, 100, 50, 25],
        border_color_uint: [25, 50, 100, 200],
        ..nearest()
    };
    program(stage, "sampler2D", (T::Texture2D, S::Float), "texture(image, vec2(1.5, 0.5))")?;
    stage.sampled(texture, clamped, |_| {})?;
    show(stage, 4)?;
    for (number, sampler, format, scalar, form) in [
        (5, "isampler2D", Format::Rgba32I, S::Int, BorderColorForm::Int),
        (6, "usampler2D", Format::Rgba32Ui, S::UnsignedInt, BorderColorForm::Uint),
    ] {
        let numbers = stage.storage(shape(T::Texture2D, format, 2, 2))?;
        stage.fill(numbers, 0, extent(2, 2, 1), &[9; 64])?;
        stage.sampled(numbers, SamplerParameters { border_color_form: form.raw8(), ..clamped }, |_| {})?;
        program(stage, sampler, (T::Texture2D, scalar), "vec4(texture(image, vec2(-0.5, 0.5))) / 255.0")?;
        stage.sample(numbers)?;
        show(stage, number)?;
    }

    let packed = stage.storage(shape(T::Texture2D, Format::Depth24Stencil8, 2, 2))?;
    stage.fill(packed, 0, extent(2, 2, 1), &0xFFFF_FF77_u32.to_le_bytes().repeat(4))?;
    stage.sampled(packed, nearest(), |params| {
        params.depth_stencil_mode = DepthStencilMode::Stencil.raw8();
    })?;
    stage.sample(packed)?;
    program(stage, "usampler2D", (T::Texture2D, S::UnsignedInt), "vec4(texture(image, at)) / 255.0")?;
    show(stage, 7)?;
    stage.sampled(packed, nearest(), |_| {})?;
    program(stage, "sampler2D", (T::Texture2D, S::Float), "vec4(texture(image, at).r, 0.0, 0.0, 1.0)")?;
    show(stage, 8)?;

    let later =
        ResourceDesc { internal_format: 0, width: 0, height: 0, ..shape(T::Texture2D, Format::Rgba8, 0, 0) };
    let texture = stage.image(later)?;
    program(stage, "sampler2D", (T::Texture2D, S::Float), "texture(image, at)")?;
    stage.sample(texture)?;
    show(stage, 9)?;
    stage.respecify(ResourceDesc { resource: texture, ..shape(T::Texture2D, Format::Rgba8, 1, 1) })?;
    stage.fill(texture, 0, extent(1, 1, 1), &SECOND)?;
    show(stage, 10)?;

    let depth = stage.storage(shape(T::Texture2D, Format::DepthComponent16, 1, 1))?;
    stage.fill(depth, 0, extent(1, 1, 1), &0x8000_u16.to_le_bytes())?;
    stage.sampled(depth, nearest(), |_| {})?;
    let compared = |func: CompareOp| SamplerParameters {
        compare_mode: CompareMode::RefToTexture.raw(),
        compare_func: func.raw(),
        ..nearest()
    };
    program(
        stage,
        "sampler2DShadow",
        (T::Texture2D, S::Float),
        "vec4(vec3(texture(image, vec3(0.5, 0.5, 0.25))), 1.0)",
    )?;
    stage.sample(depth)?;
    stage.sampled(depth, compared(CompareOp::LessEqual), |_| {})?;
    show(stage, 11)?;
    stage.sampled(depth, compared(CompareOp::Greater), |_| {})?;
    show(stage, 12)?;

    let texture = stage.storage(shape(T::Texture2D, Format::Rgba8, 4, 1))?;
    stage.fill(texture, 0, extent(4, 1, 1), &FOUR.concat())?;
    program(stage, "sampler2D", (T::Texture2D, S::Float), "texture(image, vec2(-0.375, 0.5))")?;
    stage.sample(texture)?;
    let mirrored = SamplerParameters { wrap_s: Wrap::MirrorClampToEdge.raw(), ..nearest() };
    stage.sampled(texture, mirrored, |_| {})?;
    show(stage, 13)?;
    let repeated = SamplerParameters { wrap_s: Wrap::Repeat.raw(), ..nearest() };
    stage.sampled(texture, repeated, |_| {})?;
    program(stage, "sampler2D", (T::Texture2D, S::Float), "texture(image, vec2(1.875, 0.5))")?;
    show(stage, 14)?;

    let two = stage.image(shape(T::Texture2D, Format::Rgba8, 2, 1))?;
    stage.fill(two, 0, extent(2, 1, 1), &[0, 0, 0, 255, 254, 254, 254, 255])?;
    let (min_filter, mag_filter) = (Filter::Linear.raw(), Filter::Linear.raw());
    let linear = stage.sampler(SamplerParameters { min_filter, mag_filter, ..nearest() })?;
    program(stage, "sampler2D", (T::Texture2D, S::Float), "texture(image, vec2(0.5, 0.5))")?;
    stage.sample_all(&[(two, Handle::NULL, linear)])?;
    show(stage, 15)
}

pub(in super::super) fn pixel(x: u32, y: u32) -> [u8; 4] {
    CELLS_SHOWN.get(cell_of(x, y) as usize).copied().unwrap_or(BLACK)
}
