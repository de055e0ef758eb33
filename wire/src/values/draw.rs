//! Values of draws and dispatches.

use super::{masks, values};

values! {
    /// How vertices form primitives.
    pub enum Topology {
        /// Points.
        Points = 0,
        /// Separate lines.
        Lines = 1,
        /// Closed line.
        LineLoop = 2,
        /// Connected lines.
        LineStrip = 3,
        /// Separate triangles.
        Triangles = 4,
        /// Connected triangles.
        TriangleStrip = 5,
        /// Triangles around a vertex.
        TriangleFan = 6,
        /// Separate lines with adjacency.
        LinesAdjacency = 7,
        /// Connected lines with adjacency.
        LineStripAdjacency = 8,
        /// Separate triangles with adjacency.
        TrianglesAdjacency = 9,
        /// Connected triangles with adjacency.
        TriangleStripAdjacency = 10,
        /// Patches.
        Patches = 11,
    }
}

masks! {
    /// Properties of a draw. Bits 0, 2 and 6 (client memory as indices or arrays, in the reference) are
    /// burned: no draw carries client memory.
    pub struct DrawFlags {
        /// The restart index of the record ends a primitive.
        PRIMITIVE_RESTART = 1,
        /// `min_index` and `max_index` are known.
        HAS_INDEX_RANGE = 3,
        /// `xfb_cpu_captured_vertices` is known.
        HAS_XFB_COUNT = 4,
        /// The parameters lie in a buffer.
        IS_INDIRECT = 5,
    }

    /// Which later accesses a memory barrier orders after earlier shader writes.
    pub struct BarrierBits {
        /// Vertex attributes.
        VERTEX_ATTRIB_ARRAY = 0,
        /// Indices.
        ELEMENT_ARRAY = 1,
        /// Uniform blocks.
        UNIFORM = 2,
        /// Texture fetches.
        TEXTURE_FETCH = 3,
        /// Image loads and stores.
        SHADER_IMAGE_ACCESS = 4,
        /// Parameters of indirect commands.
        COMMAND = 5,
        /// Pixel buffers.
        PIXEL_BUFFER = 6,
        /// Texture uploads and downloads.
        TEXTURE_UPDATE = 7,
        /// Buffer uploads, downloads and copies.
        BUFFER_UPDATE = 8,
        /// Framebuffer attachments.
        FRAMEBUFFER = 9,
        /// Transform feedback.
        TRANSFORM_FEEDBACK = 10,
        /// Atomic counters.
        ATOMIC_COUNTER = 11,
        /// Shader storage blocks.
        SHADER_STORAGE = 12,
        /// Persistently mapped buffers.
        CLIENT_MAPPED_BUFFER = 13,
        /// Query buffers.
        QUERY_BUFFER = 14,
    }

    /// Stages of a program; bit `n` is blob `n` of the program's SPIR-V.
    pub struct StageMask {
        /// Vertex stage.
        VERTEX = 0,
        /// Tessellation control stage.
        TESS_CONTROL = 1,
        /// Tessellation evaluation stage.
        TESS_EVALUATION = 2,
        /// Geometry stage.
        GEOMETRY = 3,
        /// Fragment stage.
        FRAGMENT = 4,
        /// Compute stage.
        COMPUTE = 5,
    }
}

values! {
    /// What became of a program's translation to SPIR-V.
    pub enum SpirvStatus {
        /// There is none.
        Absent = 0,
        /// Every stage of the mask has its module.
        Ready = 1,
        /// The translation failed; the program cannot draw.
        Failed = 2,
    }

    /// Type of a vertex attribute's components in memory.
    pub enum AttribType {
        /// `i8`.
        Byte = 0,
        /// `u8`.
        UnsignedByte = 1,
        /// `i16`.
        Short = 2,
        /// `u16`.
        UnsignedShort = 3,
        /// `i32`.
        Int = 4,
        /// `u32`.
        UnsignedInt = 5,
        /// IEEE binary16.
        HalfFloat = 6,
        /// `f32`.
        Float = 7,
        /// `f64`.
        Double = 8,
        /// Signed 16.16 fixed point.
        Fixed = 9,
        /// Signed 2-10-10-10, most significant first.
        Int2101010Rev = 10,
        /// Unsigned 2-10-10-10, most significant first.
        UnsignedInt2101010Rev = 11,
        /// Unsigned floats of 10, 11 and 11 bits, most significant first.
        UnsignedInt10F11F11FRev = 12,
    }
}
