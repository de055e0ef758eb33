//! Handles: the identity of every object on the wire.
//!
//! The client mints handles and the server never returns one, so creating an object waits for nothing. A slot
//! is dense per [`Kind`] (and per band, for shaders); its generation moves only when the slot is used again.
//! No GL name and no token of a native API is ever identity here.

use crate::payload::{Member, MemberInfo, Shape, StructInfo};
use crate::values::values;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

/// Identity of one object of one [`Kind`]; 8 bytes, alignment 4.
///
/// The decoder takes any pair of numbers: whether a handle names a live object is the applier's knowledge.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    Hash,
    PartialOrd,
    Ord,
    FromBytes,
    IntoBytes,
    Immutable,
    KnownLayout,
)]
#[repr(C)]
pub struct Handle {
    /// Index into the table of the object's kind. Slot 0 is never an object of the client's.
    pub slot: u32,
    /// How often the slot was handed out, from 1. An older generation of a slot is refused, a newer one
    /// resets it.
    pub generation: u32,
}

impl Handle {
    /// No object.
    pub const NULL: Self = Self { slot: 0, generation: 0 };

    /// The framebuffer that belongs to the current draw or read surface.
    pub const DEFAULT_FRAMEBUFFER: Self = Self { slot: 0, generation: 1 };

    /// A handle of the given slot and generation.
    #[must_use]
    pub const fn new(slot: u32, generation: u32) -> Self {
        Self { slot, generation }
    }

    /// Whether this is [`Handle::NULL`].
    #[inline]
    #[must_use]
    pub const fn is_null(self) -> bool {
        self.slot == 0 && self.generation == 0
    }
}

impl Member for Handle {
    const NAME: &'static str = "Handle";
    const SHAPE: Shape = Shape::Handle;
}

/// Layout of [`Handle`], for the fingerprint.
pub(crate) const HANDLE: &StructInfo = &StructInfo {
    name: "Handle",
    size: size_of::<Handle>(),
    align: align_of::<Handle>(),
    members: &[
        MemberInfo {
            name: "slot",
            offset: core::mem::offset_of!(Handle, slot),
            size: 4,
            shape: <u32 as Member>::SHAPE,
        },
        MemberInfo {
            name: "generation",
            offset: core::mem::offset_of!(Handle, generation),
            size: 4,
            shape: <u32 as Member>::SHAPE,
        },
    ],
    check: |_| Ok(()),
};

values! {
    /// What a handle names. Slots of different kinds are independent.
    pub enum Kind {
        /// No object.
        None = 0,
        /// Buffer object.
        Buffer = 1,
        /// Texture object.
        Texture = 2,
        /// Renderbuffer object.
        Renderbuffer = 3,
        /// Framebuffer object.
        Framebuffer = 4,
        /// Transform feedback object.
        TransformFeedback = 5,
        /// Render-state CSO.
        RenderStateCso = 6,
        /// Vertex-elements CSO.
        VertexElementsCso = 7,
        /// Sampler CSO.
        SamplerCso = 8,
        /// Sampler-view CSO.
        SamplerViewCso = 9,
        /// Shader CSO: a linked program, or a composite of separable ones.
        ShaderCso = 10,
        /// Fence.
        Fence = 11,
        /// Query.
        Query = 12,
        /// Client context.
        Context = 13,
    }
}

/// Slots of kind [`Kind::ShaderCso`] lie below this number (2^20).
pub const SHADER_CSO_SLOTS: u32 = 1 << 20;

/// First slot of the band of composite shader CSOs (programs combined from separable ones by the client); the
/// band is the last sixteenth of the shader slots.
pub const SHADER_CSO_COMPOSITE_BASE: u32 = SHADER_CSO_SLOTS - SHADER_CSO_SLOTS / 16;

const _: () = assert!(SHADER_CSO_COMPOSITE_BASE == 983_040);
