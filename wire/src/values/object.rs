//! Values of resources and framebuffers.

use super::{masks, values};

values! {
    /// What a resource is.
    pub enum ResourceTarget {
        /// Buffer object.
        Buffer = 0,
        /// One-dimensional texture.
        Texture1D = 1,
        /// Two-dimensional texture.
        Texture2D = 2,
        /// Three-dimensional texture.
        Texture3D = 3,
        /// Array of one-dimensional images.
        Texture1DArray = 4,
        /// Array of two-dimensional images.
        Texture2DArray = 5,
        /// Cube map.
        CubeMap = 6,
        /// Array of cube maps.
        CubeMapArray = 7,
        /// Multisample texture.
        Texture2DMultisample = 8,
        /// Array of multisample images.
        Texture2DMultisampleArray = 9,
        /// Renderbuffer.
        Renderbuffer = 10,
        /// Texture whose texels are a buffer's bytes.
        TextureBuffer = 11,
        /// Rectangle texture, with unnormalised coordinates.
        TextureRectangle = 12,
    }

    /// How a resource is stored.
    pub enum StorageKind {
        /// Levels of images.
        Mipmap = 0,
        /// Bytes.
        Buffer = 1,
    }

    /// Which image of a resource an upload, an attachment or a copy means.
    pub enum UploadTarget {
        /// The resource's own target: not a single cube face.
        Whole = 0,
        /// Cube face +X.
        CubePositiveX = 1,
        /// Cube face -X.
        CubeNegativeX = 2,
        /// Cube face +Y.
        CubePositiveY = 3,
        /// Cube face -Y.
        CubeNegativeY = 4,
        /// Cube face +Z.
        CubePositiveZ = 5,
        /// Cube face -Z.
        CubeNegativeZ = 6,
    }

    /// What is attached to a framebuffer. 1 is unassigned: buffers cannot be attached.
    pub enum SurfaceKind {
        /// Nothing.
        None = 0,
        /// Image of a texture.
        Texture = 2,
        /// Renderbuffer.
        Renderbuffer = 3,
    }

    /// Which framebuffer binding a framebuffer's state is for.
    pub enum FramebufferTarget {
        /// The draw framebuffer.
        Draw = 0,
        /// The read framebuffer.
        Read = 1,
        /// Both.
        Both = 2,
        /// None: the object is named directly.
        Named = 3,
    }

    /// Which part of a framebuffer is cleared, and how.
    pub enum ClearKind {
        /// Every buffer of the mask, with the clear values of the render state.
        Whole = 0,
        /// One colour buffer, with the record's value.
        Color = 1,
        /// The depth buffer, with the record's value.
        Depth = 2,
        /// The stencil buffer, with the record's value.
        Stencil = 3,
        /// Depth and stencil together, with the record's values.
        DepthStencil = 4,
    }

    /// How four 32-bit words of a value are to be read.
    pub enum ValueClass {
        /// `f32`.
        Float = 0,
        /// `i32`.
        Int = 1,
        /// `u32`.
        Uint = 2,
    }

    /// What loses its content.
    pub enum InvalidateTarget {
        /// A range of a buffer.
        Buffer = 0,
        /// A region of one level of a texture.
        Texture = 1,
        /// Attachments of a framebuffer.
        Framebuffer = 2,
    }

    /// Operation on an image that other processes may hold.
    pub enum SharedImageOp {
        /// Creates an image.
        Allocate = 0,
        /// Takes an image that another session created.
        Import = 1,
        /// Gives the session's hold on an image up.
        Release = 2,
        /// Hands the image's content to its consumer.
        Present = 3,
        /// Makes the image the storage of a texture.
        Attach = 4,
    }
}

masks! {
    /// Every purpose a resource was ever bound for. Bits are only ever added.
    pub struct BindMask {
        /// Vertex attributes.
        VERTEX = 0,
        /// Indices of draws.
        INDEX = 1,
        /// Uniform blocks.
        CONSTANT = 2,
        /// Shader storage blocks.
        SHADER_BUFFER = 3,
        /// Parameters of indirect commands.
        INDIRECT = 4,
        /// Sampled by shaders.
        SAMPLER = 5,
        /// Image load and store.
        SHADER_IMAGE = 6,
        /// Colour attachment.
        RENDER_TARGET = 7,
        /// Depth or stencil attachment.
        DEPTH_STENCIL = 8,
        /// Transform feedback.
        STREAM_OUTPUT = 9,
        /// Atomic counters.
        ATOMIC = 10,
        /// Element array of a vertex array object.
        ELEMENT_ARRAY = 11,
    }

    /// Buffers of a framebuffer, for clears and blits.
    pub struct BufferMask {
        /// The colour buffers.
        COLOR = 0,
        /// The depth buffer.
        DEPTH = 1,
        /// The stencil buffer.
        STENCIL = 2,
    }

    /// Attachments of a framebuffer.
    pub struct AttachmentMask {
        /// Colour attachment 0.
        COLOR0 = 0,
        /// Colour attachment 1.
        COLOR1 = 1,
        /// Colour attachment 2.
        COLOR2 = 2,
        /// Colour attachment 3.
        COLOR3 = 3,
        /// Colour attachment 4.
        COLOR4 = 4,
        /// Colour attachment 5.
        COLOR5 = 5,
        /// Colour attachment 6.
        COLOR6 = 6,
        /// Colour attachment 7.
        COLOR7 = 7,
        /// The depth attachment.
        DEPTH = 8,
        /// The stencil attachment.
        STENCIL = 9,
    }
}
