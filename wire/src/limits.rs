//! Limits of the wire: the largest counts that the decoder takes. What a server can really do is in its
//! [caps](crate::caps), and is never more.

/// Bytes of the largest record that a row of any catalogue can have: half of a command ring of the default
/// size, which is the longest that such a ring takes. Checked for every row at compile time.
pub const RECORD_BYTES: usize = 4 << 20;

/// Vertex attributes.
pub const VERTEX_ATTRIBS: u32 = 32;

/// Vertex buffer binding points.
pub const VERTEX_BINDINGS: u32 = 32;

/// Texture units of all stages together.
pub const TEXTURE_UNITS: u32 = 192;

/// Image units of all stages together.
pub const IMAGE_UNITS: u32 = 192;

/// Indexed buffer binding points of each class.
pub const BUFFER_BINDINGS: u32 = 84;

/// 32-bit words of a mask over [`BUFFER_BINDINGS`].
pub const BUFFER_BINDING_WORDS: usize = BUFFER_BINDINGS.div_ceil(32) as usize;

/// Colour attachments of a framebuffer, and draw buffers.
pub const COLOR_ATTACHMENTS: usize = 8;

/// Viewports, scissor boxes and depth ranges.
pub const VIEWPORTS: usize = 16;

/// Stages of a program.
pub const SHADER_STAGES: usize = 6;

/// Block bindings of a program.
pub const PROGRAM_BLOCK_BINDINGS: u32 = 64;

/// Sampler units of a program.
pub const PROGRAM_SAMPLER_UNITS: u32 = 256;

/// Storage block overrides of a program.
pub const PROGRAM_STORAGE_OVERRIDES: u32 = 64;

/// Uniform variables of a program outside blocks, leaf by leaf.
pub const PROGRAM_UNIFORMS: u32 = 16_384;

/// Inputs and outputs of a program.
pub const PROGRAM_INTERFACES: u32 = 1024;

/// Interface blocks of a program.
pub const PROGRAM_BLOCKS: u32 = 1024;

/// Bytes of the texts of a program's reflection archive.
pub const PROGRAM_TEXT_BYTES: u32 = 1 << 20;

/// Bytes of an error's text, with its terminating NUL, and of a debug mark's, which has none.
pub const MESSAGE_BYTES: u32 = 1024;

/// Buffers of transform feedback.
pub const STREAM_OUTPUT_TARGETS: usize = 4;

/// Regions of one upload.
pub const UPLOAD_REGIONS: u32 = 4096;

/// Rectangles of damage of one present; a client with more sends none, which means everything.
pub const DAMAGE_RECTS: u32 = 64;

/// Ranges of one draw; a client with more sends several draws.
pub const DRAW_RANGES: u32 = 65_536;

/// Chunks of the render state's pipeline half.
pub const PIPELINE_CHUNKS: u32 = 7;

/// Chunks of the render state's dynamic half.
pub const DYNAMIC_CHUNKS: u32 = 8;

/// Bytes of a loose-uniform image.
pub const GLOBAL_CONSTANTS_BYTES: u32 = 16 << 20;

/// Bytes of one slice of a buffer that an event writes back.
pub const WRITEBACK_BYTES: u32 = 1 << 20;

/// Ranges of one GPU-written event.
pub const GPU_WRITTEN_RANGES: u32 = 1024;

/// Entries of the caps' format table.
pub const CAPS_FORMATS: u32 = 1024;

/// Bytes of each text of the caps.
pub const CAPS_TEXT_BYTES: u32 = 1 << 16;
