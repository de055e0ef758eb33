//! Compute: buffers of each class, images of each access, and what comes after.

use runahead_core::Session;
use runahead_wire::{
    binding::ATOMIC_BUFFER_BINDING_BASE,
    format::Format,
    values::{
        BarrierBits, BlockClass, ImageAccess, ResourceTarget, ScalarType, ShaderBufferClass, StageMask,
        Topology,
    },
};

use super::{
    Reflection, SIDE, Stage, StageError,
    common::{BLACK, POSITION, QUAD, SAMPLED, TEXTURED, TEXTURED_ATTRIBUTES, UNIFORM_COLOR, bytes, color},
};

const DONE: [u8; 4] = [0, 204, 102, 255];

fn words(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

pub(super) mod buffer_points {
    use super::*;

    /// Three classes, from the first point to the last one.
    const SHADER: &str = "#version 450
        layout(local_size_x = 4) in;
        layout(std140, binding = 0) uniform First { uint a; };
        layout(std140, binding = 41) uniform Second { uint b; };
        layout(std140, binding = 83) uniform Third { uint c; };
        layout(std430, binding = 7) readonly buffer In { uint source[4]; };
        layout(std430, binding = 83) writeonly buffer Out { uint sum[4]; };
        layout(std430, binding = 84) buffer Counter { uint count; };
        layout(std430, binding = 167) buffer Counters { uint counts[2]; };
        void main() {
            uint at = gl_LocalInvocationIndex;
            sum[at] = source[at] * a + b + (c << 16);
            atomicAdd(count, 1u);
            atomicAdd(counts[1], 3u);
        }
    ";
    const LAST: u32 = 83;

    pub(in super::super) fn draw<P: Session>(stage: &mut Stage<'_, P>) -> Result<(), StageError> {
        use ShaderBufferClass::{Atomic, Storage, Uniform};
        let reflection = Reflection::default()
            .block(BlockClass::Uniform, 0, 16)
            .block(BlockClass::Uniform, 41, 16)
            .block(BlockClass::Uniform, LAST, 16)
            .block(BlockClass::Storage, 7, 16)
            .named("In")
            .block(BlockClass::Storage, LAST, 16)
            .named("Out")
            .block(BlockClass::Atomic, ATOMIC_BUFFER_BINDING_BASE, 4)
            .block(BlockClass::Atomic, ATOMIC_BUFFER_BINDING_BASE + LAST, 8);
        let program = stage.staged(&[(StageMask::COMPUTE, SHADER)], &reflection, &[])?;
        for (point, value) in [(0, 10), (41, 5), (LAST, 2)] {
            let buffer = stage.buffer(&words(&[value, 0, 0, 0]))?;
            stage.point(Uniform, point, buffer, None)?;
        }
        let source = stage.buffer(&words(&[1, 2, 3, 4]))?;
        let sum = stage.buffer(&words(&[9; 4]))?;
        let counter = stage.buffer(&words(&[100]))?;
        let counters = stage.buffer(&words(&[7, 8]))?;
        stage.point(Storage, 7, source, None)?;
        stage.point(Storage, LAST, sum, None)?;
        stage.point(Atomic, 0, counter, None)?;
        stage.point(Atomic, LAST, counters, None)?;
        stage.dispatch([1, 1, 1])?;
        stage.barrier(BarrierBits::BUFFER_UPDATE)?;
        let high = 2 << 16;
        stage.expect(sum, 0, &words(&[high + 15, high + 25, high + 35, high + 45]))?;
        stage.expect(counter, 0, &words(&[104]))?;
        stage.expect(counters, 0, &words(&[7, 20]))?;
        // Blocks at other points: the source at the last one, the sums at one that had nothing; uniform blocks too.
        let other = stage.buffer(&words(&[0; 4]))?;
        stage.point(Storage, 20, other, None)?;
        stage.bindings(program, &[41, 0, 0], &[], &[("Out", 20), ("In", 83)])?;
        stage.dispatch([1, 1, 1])?;
        stage.barrier(BarrierBits::BUFFER_UPDATE)?;
        let high = 10 << 16;
        let sums = [15, 25, 35, 45].map(|sum| ((2 << 16) + sum) * 5 + 10 + high);
        stage.expect(other, 0, &words(&sums))?;
        stage.expect(counter, 0, &words(&[108]))?;
        stage.clear(color(DONE))
    }

    pub(in super::super) fn pixel(_: u32, _: u32) -> [u8; 4] {
        DONE
    }
}

pub(super) mod storage_regrow {
    use super::*;

    const SHADER: &str = "#version 450
        layout(local_size_x = 1) in;
        layout(std430, binding = 2) buffer Grown { uint values[]; };
        layout(std430, binding = 3) writeonly buffer Size { uint size[2]; };
        void main() {
            size[0] = uint(values.length());
            size[1] = values[values.length() - 1];
            values[0] = 77u;
        }
    ";

    pub(in super::super) fn draw<P: Session>(stage: &mut Stage<'_, P>) -> Result<(), StageError> {
        use ShaderBufferClass::Storage;
        let reflection =
            Reflection::default().block(BlockClass::Storage, 2, 4).block(BlockClass::Storage, 3, 8);
        stage.staged(&[(StageMask::COMPUTE, SHADER)], &reflection, &[])?;
        let size = stage.buffer(&words(&[0, 0]))?;
        let grown = stage.buffer(&words(&[1, 2, 3, 4]))?;
        stage.point(Storage, 3, size, None)?;
        stage.point(Storage, 2, grown, None)?;
        let run = |stage: &mut Stage<'_, P>, wanted: [u32; 2]| {
            stage.dispatch([1, 1, 1])?;
            stage.barrier(BarrierBits::BUFFER_UPDATE)?;
            stage.expect(size, 0, &words(&wanted))
        };
        run(stage, [4, 4])?;
        stage.expect(grown, 0, &words(&[77, 2, 3, 4]))?;
        // The point stays, the store grows and shrinks.
        stage.redefine(grown, &words(&[5; 64]))?;
        run(stage, [64, 5])?;
        stage.expect(grown, 0, &words(&[77, 5, 5]))?;
        stage.redefine(grown, &words(&[6; 2]))?;
        run(stage, [2, 6])?;
        // A range that the store no longer has in full ends with it.
        stage.redefine(grown, &words(&[8; 128]))?;
        stage.point(Storage, 2, grown, Some((256, 64)))?;
        run(stage, [16, 8])?;
        stage.redefine(grown, &words(&[9; 72]))?;
        run(stage, [8, 9])?;
        stage.expect(grown, 252, &words(&[9, 77, 9]))?;
        // A store that ends before the range leaves the point empty, until there is one again that reaches it.
        stage.redefine(grown, &words(&[1; 2]))?;
        stage.dispatch([1, 1, 1])?;
        stage.redefine(grown, &words(&[8; 128]))?;
        run(stage, [16, 8])?;
        stage.clear(color(DONE))
    }

    pub(in super::super) fn pixel(_: u32, _: u32) -> [u8; 4] {
        DONE
    }
}

pub(super) mod indirect {
    use super::*;

    const SHADER: &str = "#version 450
        layout(local_size_x = 2) in;
        layout(std430, binding = 0) buffer Counter { uint count; uint groups; };
        void main() {
            atomicAdd(count, 1u);
            groups = gl_NumWorkGroups.x * 100u + gl_NumWorkGroups.y * 10u + gl_NumWorkGroups.z;
        }
    ";
    /// Writes the counts that come next.
    const WRITER: &str = "#version 450
        layout(local_size_x = 1) in;
        layout(std430, binding = 1) writeonly buffer Groups { uint next[3]; };
        void main() { next[0] = 1u; next[1] = 1u; next[2] = 5u; }
    ";

    pub(in super::super) fn draw<P: Session>(stage: &mut Stage<'_, P>) -> Result<(), StageError> {
        use ShaderBufferClass::Storage;
        let reflection = Reflection::default().block(BlockClass::Storage, 0, 8);
        let counting = stage.staged(&[(StageMask::COMPUTE, SHADER)], &reflection, &[])?;
        let counter = stage.buffer(&words(&[0, 0]))?;
        let groups = stage.buffer(&words(&[99, 3, 2, 1]))?;
        stage.point(Storage, 0, counter, None)?;
        stage.dispatch_indirect(groups, 4)?;
        stage.barrier(BarrierBits::BUFFER_UPDATE)?;
        stage.expect(counter, 0, &words(&[12, 321]))?;
        // Counts that a shader wrote.
        let reflection = Reflection::default().block(BlockClass::Storage, 1, 12);
        stage.staged(&[(StageMask::COMPUTE, WRITER)], &reflection, &[])?;
        stage.point(Storage, 1, groups, None)?;
        stage.dispatch([1, 1, 1])?;
        stage.barrier(BarrierBits::COMMAND.with(BarrierBits::SHADER_STORAGE))?;
        stage.use_program(counting);
        stage.dispatch_indirect(groups, 0)?;
        stage.barrier(BarrierBits::BUFFER_UPDATE)?;
        stage.expect(counter, 0, &words(&[22, 115]))?;
        stage.clear(color(DONE))
    }

    pub(in super::super) fn pixel(_: u32, _: u32) -> [u8; 4] {
        DONE
    }
}

pub(super) mod vertices_written {
    use super::*;

    /// The corners of the left half, as a strip.
    const SHADER: &str = "#version 450
        layout(local_size_x = 4) in;
        layout(std430, binding = 0) writeonly buffer Corners { vec2 corners[4]; };
        void main() {
            uint at = gl_LocalInvocationIndex;
            corners[at] = vec2(float(at & 1u) - 1.0, float(at >> 1) * 2.0 - 1.0);
        }
    ";

    pub(in super::super) fn draw<P: Session>(stage: &mut Stage<'_, P>) -> Result<(), StageError> {
        stage.clear(color(BLACK))?;
        let corners = stage.buffer(&[0; 32])?;
        let reflection = Reflection::default().block(BlockClass::Storage, 0, 32);
        stage.staged(&[(StageMask::COMPUTE, SHADER)], &reflection, &[])?;
        stage.point(ShaderBufferClass::Storage, 0, corners, None)?;
        stage.dispatch([1, 1, 1])?;
        stage.barrier(BarrierBits::VERTEX_ATTRIB_ARRAY)?;
        stage.program(POSITION, UNIFORM_COLOR, &[("position", 0)], &bytes(&color(DONE)))?;
        stage.vertices(corners, &[(0, 2)])?;
        stage.draw(Topology::TriangleStrip, 0, 4)
    }

    pub(in super::super) fn pixel(x: u32, _: u32) -> [u8; 4] {
        if x < SIDE / 2 { DONE } else { BLACK }
    }
}

pub(super) mod images {
    use super::*;

    /// Stores into one layer of an array.
    const WRITE: &str = "#version 450
        layout(local_size_x = 8, local_size_y = 8) in;
        layout(location = 0, binding = 2, rgba8) writeonly uniform image2D target;
        void main() {
            ivec2 at = ivec2(gl_GlobalInvocationID.xy);
            imageStore(target, at, vec4(float(at.x * 4), float(at.y * 4), 51.0, 255.0) / 255.0);
        }
    ";
    /// Loads from all layers, stores swapped, and counts by loads and stores of both kinds.
    const MOVE: &str = "#version 450
        layout(local_size_x = 8, local_size_y = 8) in;
        layout(location = 0, binding = 0, rgba8) readonly uniform image2DArray source;
        layout(location = 1, binding = 1, rgba8) writeonly uniform image2D target;
        layout(location = 2, binding = 2, r32ui) uniform uimage2D counts;
        layout(location = 3, binding = 3, r32f) uniform image2D halves;
        void main() {
            ivec2 at = ivec2(gl_GlobalInvocationID.xy);
            imageStore(target, at.yx, imageLoad(source, ivec3(at, 1)));
            imageAtomicAdd(counts, ivec2(0), 1u);
            imageStore(halves, at, imageLoad(halves, at) + 0.5);
        }
    ";
    const COUNTED: &str = "#version 450
        layout(local_size_x = 1) in;
        layout(location = 0, binding = 5, r32ui) readonly uniform uimage2D counts;
        layout(location = 1, binding = 6, r32f) readonly uniform image2D halves;
        layout(std430, binding = 0) writeonly buffer Result { uint count; float half_; };
        void main() {
            count = imageLoad(counts, ivec2(0)).x;
            half_ = imageLoad(halves, ivec2(63)).x;
        }
    ";

    pub(in super::super) fn draw<P: Session>(stage: &mut Stage<'_, P>) -> Result<(), StageError> {
        use ImageAccess::{ReadOnly, ReadWrite, WriteOnly};
        use ResourceTarget::{Texture2D, Texture2DArray};
        let source = stage.storage_texture(Texture2DArray, Format::Rgba8, [SIDE, SIDE, 2])?;
        let target = stage.storage_texture(Texture2D, Format::Rgba8, [SIDE, SIDE, 1])?;
        let counts = stage.storage_texture(Texture2D, Format::R32Ui, [1, 1, 1])?;
        let halves = stage.storage_texture(Texture2D, Format::R32F, [SIDE, SIDE, 1])?;
        let groups = [SIDE / 8, SIDE / 8, 1];
        let float = |reflection: Reflection, location, target| {
            reflection.image(location, target, ScalarType::Float, 1)
        };
        // One layer, at another unit than the shader declares.
        let reflection = float(Reflection::default(), 0, Texture2D);
        let program = stage.staged(&[(StageMask::COMPUTE, WRITE)], &reflection, &[])?;
        stage.bindings(program, &[], &[(0, 7)], &[])?;
        stage.image_unit(7, source, Format::Rgba8, WriteOnly, Some(1))?;
        stage.dispatch(groups)?;
        stage.barrier(BarrierBits::SHADER_IMAGE_ACCESS)?;
        // What the images of both kinds begin with: zero.
        let zero = "#version 450
            layout(local_size_x = 8, local_size_y = 8) in;
            layout(location = 0, binding = 0, r32ui) writeonly uniform uimage2D counts;
            layout(location = 1, binding = 1, r32f) writeonly uniform image2D halves;
            void main() {
                ivec2 at = ivec2(gl_GlobalInvocationID.xy);
                if (at == ivec2(0)) imageStore(counts, at, uvec4(0u));
                imageStore(halves, at, vec4(0.25));
            }
        ";
        let both = |reflection: Reflection, first| {
            reflection.image(first, Texture2D, ScalarType::UnsignedInt, 1).image(
                first + 1,
                Texture2D,
                ScalarType::Float,
                1,
            )
        };
        stage.staged(&[(StageMask::COMPUTE, zero)], &both(Reflection::default(), 0), &[])?;
        stage.image_unit(0, counts, Format::R32Ui, WriteOnly, Some(0))?;
        stage.image_unit(1, halves, Format::R32F, WriteOnly, Some(0))?;
        stage.dispatch(groups)?;
        stage.barrier(BarrierBits::SHADER_IMAGE_ACCESS)?;
        let reflection = float(float(Reflection::default(), 0, Texture2DArray), 1, Texture2D);
        stage.staged(&[(StageMask::COMPUTE, MOVE)], &both(reflection, 2), &[])?;
        stage.image_unit(0, source, Format::Rgba8, ReadOnly, None)?;
        stage.image_unit(1, target, Format::Rgba8, WriteOnly, Some(0))?;
        stage.image_unit(2, counts, Format::R32Ui, ReadWrite, Some(0))?;
        stage.image_unit(3, halves, Format::R32F, ReadWrite, Some(0))?;
        stage.dispatch(groups)?;
        stage.barrier(BarrierBits::SHADER_IMAGE_ACCESS.with(BarrierBits::TEXTURE_FETCH))?;
        let reflection = both(Reflection::default(), 0).block(BlockClass::Storage, 0, 8);
        stage.staged(&[(StageMask::COMPUTE, COUNTED)], &reflection, &[])?;
        stage.image_unit(5, counts, Format::R32Ui, ReadOnly, Some(0))?;
        stage.image_unit(6, halves, Format::R32F, ReadOnly, Some(0))?;
        let result = stage.buffer(&[0; 8])?;
        stage.point(ShaderBufferClass::Storage, 0, result, None)?;
        stage.dispatch([1, 1, 1])?;
        stage.barrier(BarrierBits::BUFFER_UPDATE)?;
        let counted = [words(&[SIDE * SIDE]), bytes(&[0.75])].concat();
        stage.expect(result, 0, &counted)?;
        // What was stored is sampled.
        let quad = stage.buffer(&bytes(&QUAD))?;
        stage.program(TEXTURED, SAMPLED, TEXTURED_ATTRIBUTES, &[])?;
        stage.vertices(quad, &[(0, 2), (1, 2)])?;
        stage.sample(target)?;
        stage.draw(Topology::TriangleStrip, 0, 4)
    }

    pub(in super::super) fn pixel(x: u32, y: u32) -> [u8; 4] {
        [(y * 4) as u8, (x * 4) as u8, 51, 255]
    }
}
