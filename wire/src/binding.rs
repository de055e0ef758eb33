//! The shader binding model: how the SPIR-V that crosses finds its resources.
//!
//! A module uses one descriptor set a class, and the binding within the set is the GL binding point or unit:
//!
//! | set | class | binding |
//! |--:|---|---|
//! | 0 | uniform buffers | uniform buffer binding point |
//! | 1 | combined image samplers | texture unit |
//! | 2 | storage buffers, and atomic counters as storage buffers | storage buffer binding point |
//! | 3 | storage images, and texel buffers for load and store | image unit |
//!
//! Units and points are those of the shader's declaration; what an application changes after linking crosses
//! as [`ProgramBindings`](crate::payload::ProgramBindings), and the server maps one to the other at the verb.
//!
//! Loose uniforms (outside any block) have two dialects, of which the server's [caps](crate::caps) name one:
//! [`ShaderDialect::GlUniforms`](crate::values::ShaderDialect) keeps them loose; the reflection archive lists
//! name, byte offset and type, and the server sets those whose bytes in the image changed.
//! `ShaderDialect::DefaultBlock` puts them into one std140 block at [`DEFAULT_BLOCK_BINDING`] of
//! [`UNIFORM_BUFFER_SET`]. In both, [`GlobalConstants`](crate::payload::GlobalConstants) carries spans of the
//! same image, laid out as std140.
//!
//! Every variable that crosses a stage or the program's edge has a `Location`: attributes, what stages hand each
//! other, outputs, and loose uniforms, where it is the same in every stage. Names mean nothing to a server.
//!
//! Conventions are GL's: clip z in [-1, 1], window origin at the bottom left.

use crate::limits::BUFFER_BINDINGS;

/// Descriptor set of uniform buffers.
pub const UNIFORM_BUFFER_SET: u32 = 0;

/// Descriptor set of combined image samplers.
pub const SAMPLER_SET: u32 = 1;

/// Descriptor set of storage buffers.
pub const STORAGE_BUFFER_SET: u32 = 2;

/// Descriptor set of storage images.
pub const IMAGE_SET: u32 = 3;

/// Binding of the default uniform block: the first that no application can name.
pub const DEFAULT_BLOCK_BINDING: u32 = BUFFER_BINDINGS;

/// First binding of atomic counter buffers in [`STORAGE_BUFFER_SET`]: counter buffer `n` is at this plus `n`.
pub const ATOMIC_BUFFER_BINDING_BASE: u32 = BUFFER_BINDINGS;
