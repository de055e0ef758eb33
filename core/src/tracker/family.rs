//! The families of a context's state, in one table: what is sent together, by which accessor it is changed, and
//! which verbs need it.

use core::ops::{BitAnd, BitOr, BitOrAssign, Sub, SubAssign};

use runahead_wire::{
    Handle,
    payload::{
        AttribValue, BoundView, ConditionalRender, ContextValues, ImageView, IndexBuffer, IndirectBuffers,
        PatchState, PixelPackState, RenderState, VertexBuffer,
    },
    pipe::Op,
};

use super::Tracker;
use crate::state::{IMAGE_UNITS, TEXTURE_UNITS, VERTEX_ATTRIBS, VERTEX_BINDINGS, Window};

/// Verbs, by what they need of the state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Verb {
    /// `DrawVbo`.
    Draw,
    /// `LaunchGrid`.
    Dispatch,
    /// `Clear`.
    Clear,
    /// `Blit`.
    Blit,
    /// `ReadPixels` and `ReadPixelsToBuffer`.
    ReadPixels,
    /// `CopyFramebufferToTexture`.
    CopyFramebuffer,
    /// `GetTextureImage` and `GetTextureImageToBuffer`.
    ReadTexture,
    /// Begin, end, pause and resume of capture.
    StreamOutput,
}

impl Verb {
    /// Whether the server looks at every handle that the context names before it.
    const fn is_checked(self) -> bool {
        match self {
            Self::Draw
            | Self::Dispatch
            | Self::Clear
            | Self::Blit
            | Self::ReadPixels
            | Self::CopyFramebuffer => true,
            Self::ReadTexture | Self::StreamOutput => false,
        }
    }

    /// The class of a row; none for rows that need nothing of the context's state.
    #[must_use]
    pub const fn of(op: Op) -> Option<Self> {
        Some(match op {
            Op::DrawVbo => Self::Draw,
            Op::LaunchGrid => Self::Dispatch,
            Op::Clear => Self::Clear,
            Op::Blit => Self::Blit,
            Op::ReadPixels | Op::ReadPixelsToBuffer => Self::ReadPixels,
            Op::CopyFramebufferToTexture => Self::CopyFramebuffer,
            Op::GetTextureImage | Op::GetTextureImageToBuffer => Self::ReadTexture,
            Op::BeginStreamOutput | Op::EndStreamOutput | Op::PauseStreamOutput | Op::ResumeStreamOutput => {
                Self::StreamOutput
            }
            _ => return None,
        })
    }
}

/// A set of families.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Dirty(u32);

impl Dirty {
    /// No family.
    pub const NONE: Self = Self(0);
    /// Every family.
    pub const ALL: Self = Self((1 << Family::ALL.len()) - 1);

    /// One family.
    #[inline]
    #[must_use]
    pub const fn of(family: Family) -> Self {
        Self(1 << family as u32)
    }

    /// The family if the condition holds, otherwise none.
    #[inline]
    #[must_use]
    pub const fn when(family: Family, holds: bool) -> Self {
        if holds { Self::of(family) } else { Self::NONE }
    }

    /// Whether there is no family in it.
    #[inline]
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Whether a family is in it.
    #[inline]
    #[must_use]
    pub const fn contains(self, family: Family) -> bool {
        self.0 & 1 << family as u32 != 0
    }

    /// The families, in the order of the table.
    pub fn families(self) -> impl Iterator<Item = Family> {
        let mut left = self.0;
        core::iter::from_fn(move || {
            // Of no family is 32, which is no family's number.
            let family = Family::ALL.get(left.trailing_zeros() as usize)?;
            left &= left - 1;
            Some(*family)
        })
    }
}

impl BitOr for Dirty {
    type Output = Self;

    #[inline]
    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl BitOrAssign for Dirty {
    #[inline]
    fn bitor_assign(&mut self, other: Self) {
        self.0 |= other.0;
    }
}

impl BitAnd for Dirty {
    type Output = Self;

    #[inline]
    fn bitand(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }
}

impl Sub for Dirty {
    type Output = Self;

    #[inline]
    fn sub(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }
}

impl SubAssign for Dirty {
    #[inline]
    fn sub_assign(&mut self, other: Self) {
        self.0 &= !other.0;
    }
}

/// The table. A line reads: family, name, accessor and member of [`State`](crate::state::State) where one
/// member is the whole of it, verbs that use it, and whether it names objects. Its order is the order in which
/// families are sent.
macro_rules! families {
    ($(
        $(#[doc = $doc:literal])+
        $family:ident $name:literal $( ($accessor:ident = $member:ident: $ty:ty) )?
            [ $($verb:ident)+ ] $( names $objects:ident )?;
    )+) => {
        /// State that is sent, compared and suppressed together.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[repr(u8)]
        pub enum Family {
            $( $(#[doc = $doc])+ $family, )+
        }

        impl Family {
            /// Every family, in the order in which they are sent.
            pub const ALL: &'static [Self] = &[ $( Self::$family, )+ ];

            /// Name, as the comparator writes it.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $( Self::$family => $name, )+ }
            }
        }

        impl Verb {
            /// The families that are sent before a verb of this class: those that it uses, and, where the
            /// server looks at every handle of the context, those that name objects. What one of these still
            /// names there may have died while another context was current.
            // Folded to a constant wherever the class is known.
            #[inline(always)]
            #[must_use]
            pub const fn needs(self) -> Dirty {
                let mut needs = 0;
                $(
                    let named = false $( || { stringify!($objects); self.is_checked() } )?;
                    if named || matches!(self, $( Self::$verb )|+) {
                        needs |= Dirty::of(Family::$family).0;
                    }
                )+
                Dirty(needs)
            }
        }

        impl Tracker {
            $( $(
                #[doc = concat!("See [`Family::", stringify!($family), "`]. To be changed: it")]
                /// is compared with what was sent last at the next verb that needs it.
                #[inline]
                pub fn $accessor(&mut self) -> &mut $ty {
                    self.mark(Dirty::of(Family::$family));
                    &mut self.wanted.$member
                }
            )? )+
        }
    };
}

families! {
    /// Values without a row of their own. They come first: no verb goes without them, and the width of two
    /// windows follows from them.
    Values "values" (values = values: ContextValues)
        [Draw Dispatch Clear Blit ReadPixels CopyFramebuffer ReadTexture StreamOutput];
    /// Render state, both halves.
    Render "render" (render_state = render: RenderState) [Draw Clear Blit ReadPixels CopyFramebuffer];
    /// How readbacks into a pack buffer lie.
    PixelPack "pixel_pack" (pixel_pack = pixel_pack: PixelPackState) [Draw ReadPixels ReadTexture];
    /// Patches.
    Patch "patch" (patch = patch: PatchState) [Draw];
    /// Current values of attributes.
    AttribDefaults "attrib_defaults"
        (attrib_defaults = attrib_defaults: [AttribValue; VERTEX_ATTRIBS]) [Draw];
    /// The vertex layout.
    VertexElements "vertex_elements" [Draw] names objects;
    /// Vertex buffers. A point's own number is filled in when the window is sent.
    VertexBuffers "vertex_buffers"
        (vertex_buffers = vertex_buffers: Window<VertexBuffer, VERTEX_BINDINGS>) [Draw] names objects;
    /// The index buffer.
    IndexBuffer "index_buffer" (index_buffer = index_buffer: IndexBuffer) [Draw] names objects;
    /// Buffers of indirect commands.
    IndirectBuffers "indirect_buffers"
        (indirect_buffers = indirect_buffers: IndirectBuffers) [Draw Dispatch] names objects;
    /// What the texture units see. The window is widened to every unit that was touched, and a unit's own
    /// number filled in, when it is sent.
    SamplerViews "sampler_views"
        (sampler_views = sampler_views: Window<BoundView, TEXTURE_UNITS>) [Draw Dispatch] names objects;
    /// Samplers of the texture units. The window is widened to every unit that was touched when it is sent.
    SamplerStates "sampler_states"
        (sampler_states = sampler_states: Window<Handle, TEXTURE_UNITS>) [Draw Dispatch] names objects;
    /// Image units. A unit's own number is filled in when the window is sent.
    ShaderImages "shader_images"
        (shader_images = shader_images: Window<ImageView, IMAGE_UNITS>) [Draw Dispatch] names objects;
    /// Uniform buffers.
    UniformBuffers "uniform_buffers" [Draw Dispatch] names objects;
    /// Shader storage buffers.
    StorageBuffers "storage_buffers" [Draw Dispatch] names objects;
    /// Atomic counter buffers.
    AtomicBuffers "atomic_buffers" [Draw Dispatch] names objects;
    /// The programs.
    Programs "programs" [Draw Dispatch] names objects;
    /// The framebuffers of draws and reads.
    Framebuffers "framebuffers" [Draw Clear Blit ReadPixels CopyFramebuffer] names objects;
    /// The query that verbs depend on.
    ConditionalRender "conditional_render"
        (conditional_render = conditional_render: ConditionalRender) [Draw Dispatch Clear Blit] names objects;
    /// The transform feedback object.
    StreamOutput "stream_output" [Draw StreamOutput];
}
