//! Values of caps, events and debugging.

use super::{masks, values};

values! {
    /// What the server drives.
    pub enum BackendKind {
        /// Nothing is known yet: a placeholder answers.
        Unknown = 0,
        /// A server that applies records and draws nothing.
        Null = 1,
        /// OpenGL ES.
        Gles = 2,
        /// Vulkan.
        Vulkan = 3,
    }

    /// How a server takes loose uniforms; see [`binding`](crate::binding).
    pub enum ShaderDialect {
        /// Loose uniforms stay loose and are set by name, offset and type.
        GlUniforms = 0,
        /// Loose uniforms lie in one std140 block.
        DefaultBlock = 1,
    }

    /// Error that only the server can know.
    pub enum ErrorKind {
        /// A value outside an enumeration.
        InvalidEnum = 0,
        /// A value out of range.
        InvalidValue = 1,
        /// A command that the state does not allow.
        InvalidOperation = 2,
        /// An incomplete framebuffer.
        InvalidFramebufferOperation = 3,
        /// No memory left.
        OutOfMemory = 4,
        /// A stack overflowed.
        StackOverflow = 5,
        /// A stack underflowed.
        StackUnderflow = 6,
        /// The context was lost.
        ContextLost = 7,
    }

    /// Why a server refused what a valid record asked for.
    pub enum RefusedReason {
        /// No memory left, or more than a session may have.
        OutOfMemory = 0,
        /// The native API cannot do it.
        Unsupported = 1,
        /// A size or count is over the server's limits.
        TooLarge = 2,
        /// The native API failed.
        NativeFailure = 3,
    }

    /// What a debug mark does.
    pub enum DebugMarkOp {
        /// Opens a group.
        Push = 0,
        /// Closes the innermost group.
        Pop = 1,
        /// Inserts a message.
        Insert = 2,
        /// Names an object.
        Label = 3,
        /// A piece of the state that the client means to have at the next verb, for a server that compares it with what
        /// it was told; `id` is the size of the whole.
        State = 4,
    }
}

masks! {
    /// What a server can do. Positions are the reference's; bits 7 and 8 (host index and uniform bytes
    /// wanted) are burned, because an apply never reads client memory.
    pub struct CapsBits {
        /// More than one viewport.
        VIEWPORT_ARRAY = 0,
        /// 64-bit float vertex attributes.
        FLOAT64_VERTEX_ATTRIB = 1,
        /// The row `BufferSubDataResident`.
        RESIDENT_SUB_DATA = 2,
        /// The client counts the primitives of transform feedback.
        CPU_XFB_PRIMITIVE_ACCOUNTING = 3,
        /// Timer queries.
        TIMER_QUERY = 4,
        /// Occlusion queries.
        OCCLUSION_QUERY = 5,
        /// Queries of transform feedback primitives.
        XFB_PRIMITIVES_QUERY = 6,
        /// The server owns capture: an open transform feedback span does not barrier.
        BACKEND_OWNS_XFB_CAPTURE = 9,
        /// The server applies while the client runs ahead.
        RUN_AHEAD_APPLY = 10,
        /// The rows `MapPersistent` and `UnmapPersistent`.
        PERSISTENT_MAP = 11,
        /// The row `SharedImage`.
        SHARED_IMAGE = 12,
        /// The row `SetSwapInterval`.
        SWAP_INTERVAL = 13,
    }

    /// What a format can be used for.
    pub struct FormatFeatures {
        /// Sampled.
        SAMPLED = 0,
        /// Sampled with linear filtering.
        FILTERED = 1,
        /// Attached and drawn to.
        RENDERABLE = 2,
        /// Attached and blended.
        BLENDABLE = 3,
        /// Image loads and stores.
        STORAGE_IMAGE = 4,
        /// Texels of a texture buffer.
        TEXTURE_BUFFER = 5,
        /// Vertex attributes.
        VERTEX = 6,
        /// Source of a blit.
        BLIT_SRC = 7,
        /// Destination of a blit.
        BLIT_DST = 8,
        /// Mipmaps can be generated.
        GENERATE_MIPMAP = 9,
        /// Read back without conversion.
        READ_PIXELS = 10,
        /// Sampled with depth comparison.
        SHADOW = 11,
        /// Atomic operations on images.
        IMAGE_ATOMIC = 12,
    }
}
