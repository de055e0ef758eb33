//! Textures, samplers and image units.
//!
//! Source: OpenGL 4.6 chapter 8 (8.2 samplers, 8.18 views, 8.21 clears, 8.26 images).

use super::payload;
use super::resource::TexelBox;
use crate::bulk::BlobRef;
use crate::format::Format;
use crate::handle::Handle;
use crate::limits;
use crate::values::{
    BorderColorForm, CompareMode, CompareOp, DepthStencilMode, Filter, ImageAccess, MipFilter,
    ResourceTarget, Swizzle, Wrap,
};

payload! {
    /// A sampler; the blob is one [`SamplerParameters`].
    pub struct SamplerDesc: 32 {
        /// The sampler CSO.
        cso: Handle,
        /// The parameters.
        parameters: BlobRef,
    }

    /// Parameters of a sampler; in a blob. Content-addressed: padding is zero.
    pub struct SamplerParameters: 100 {
        /// Wrapping of s.
        wrap_s: u32 as Wrap,
        /// Wrapping of t.
        wrap_t: u32 as Wrap,
        /// Wrapping of r.
        wrap_r: u32 as Wrap,
        /// Filter when texels are smaller than pixels.
        min_filter: u32 as Filter,
        /// Filter when texels are larger than pixels.
        mag_filter: u32 as Filter,
        /// Filter between levels.
        mip_filter: u32 as MipFilter,
        /// Smallest level of detail.
        min_lod: f32,
        /// Largest level of detail.
        max_lod: f32,
        /// Added to the level of detail.
        lod_bias: f32,
        /// Largest anisotropy; 1 for none.
        max_anisotropy: f32,
        /// Comparison.
        compare_func: u32 as CompareOp,
        /// Whether it compares.
        compare_mode: u32 as CompareMode,
        /// Border colour as floats.
        border_color_float: [f32; 4],
        /// Border colour as signed integers.
        border_color_int: [i32; 4],
        /// Border colour as unsigned integers.
        border_color_uint: [u32; 4],
        /// Which view of the border colour counts.
        border_color_form: u8 as BorderColorForm,
        #[doc(hidden)]
        _pad: [u8; 3],
    }

    /// How a texture is sampled: its target, a format of its class, and a window of levels and layers.
    pub struct SamplerView: 36 {
        /// The sampler-view CSO.
        cso: Handle,
        /// The texture.
        texture: Handle,
        /// Format that the shader sees.
        internal_format: u32 as Format,
        /// Target that the shader sees.
        target: u8 as ResourceTarget,
        #[doc(hidden)]
        _pad0: [u8; 3],
        /// First level.
        min_level: u16,
        /// Levels.
        num_levels: u16,
        /// First layer.
        min_layer: u16,
        /// Layers.
        num_layers: u16,
        /// Samples.
        samples: u16,
        /// Whether sample positions are the same for every texel.
        fixed_sample_locations: u8 as bool,
        #[doc(hidden)]
        _pad1: u8,
    }

    /// Parameters of a texture object.
    pub struct TextureParams: 40 {
        /// The texture.
        resource: Handle,
        /// The sampler that counts where no sampler object is bound; never null.
        builtin_sampler: Handle,
        /// Smallest level that is sampled.
        base_level: u16,
        /// Largest level that is sampled.
        max_level: u16,
        /// Source of red, green, blue and alpha.
        swizzle: [u8; 4] as [Swizzle; 4],
        /// Which half of a depth-stencil texture is sampled.
        depth_stencil_mode: u8 as DepthStencilMode,
        /// Whether the server must set all of it again.
        force_resync: u8 as bool,
        /// Whether the server must set the sampler again.
        sampler_resync: u8 as bool,
        #[doc(hidden)]
        _pad: u8,
        /// Smallest level of detail.
        min_lod: f32,
        /// Largest level of detail.
        max_lod: f32,
        /// Added to the level of detail.
        lod_bias: f32,
    }
    check |params| { params.builtin_sampler.is_null().then_some("builtin_sampler") }

    /// Head of the window of sampler views. It starts at 0 and covers the highest unit ever touched.
    pub struct SamplerViews: 8 {
        /// First unit; 0.
        start: u32,
        /// Elements of the tail.
        count: u32,
    }
    check |window| { (window.start != 0).then_some("start") }

    /// What is bound to one texture unit.
    pub struct BoundView: 24 {
        /// The view; null where the texture is seen as it is.
        view: Handle,
        /// The texture; null for an empty unit.
        texture: Handle,
        /// Unit.
        unit: u32,
        #[doc(hidden)]
        _pad: u32,
    }
    check |bound| { (bound.unit >= limits::TEXTURE_UNITS).then_some("unit") }

    /// Head of the window of samplers. It starts at 0 and covers the highest unit ever touched.
    pub struct SamplerStates: 8 {
        /// First unit; 0.
        start: u32,
        /// Elements of the tail.
        count: u32,
    }
    check |window| { (window.start != 0).then_some("start") }

    /// Head of a window of image units.
    pub struct ShaderImages: 8 {
        /// First unit.
        start: u32,
        /// Elements of the tail.
        count: u32,
    }
    check |window| {
        let end = window.start.checked_add(window.count);
        end.is_none_or(|end| end > limits::IMAGE_UNITS).then_some("count")
    }

    /// What is bound to one image unit.
    pub struct ImageView: 24 {
        /// The texture; null for an empty unit.
        resource: Handle,
        /// Unit.
        unit: u32,
        /// Format that the shader sees.
        internal_format: u32 as Format,
        /// Layer, where one alone is bound.
        layer: u32,
        /// Level.
        level: u16,
        /// Whether every layer is bound.
        layered: u8 as bool,
        /// How shaders may use it.
        access: u8 as ImageAccess,
    }
    check |view| { (view.unit >= limits::IMAGE_UNITS).then_some("unit") }

    /// One image unit, as an application's call names it; superseded by [`ShaderImages`].
    pub struct ImageBind: 40 {
        /// The texture; null empties the unit.
        resource: Handle,
        /// Unit.
        unit: u32,
        /// GL name of the texture, for diagnostics alone.
        gl_name: u32,
        /// Level.
        level: i32,
        /// Layer, where one alone is bound.
        layer: i32,
        /// How shaders may use it.
        access: u32 as ImageAccess,
        /// Format that the shader sees.
        format: u32 as Format,
        /// Whether every layer is bound.
        layered: u8 as bool,
        #[doc(hidden)]
        _pad: [u8; 7],
    }
    check |bind| { (bind.unit >= limits::IMAGE_UNITS).then_some("unit") }

    /// Generation of mipmaps.
    pub struct MipPlan: 16 {
        /// The texture.
        resource: Handle,
        /// What it is.
        target: u16 as ResourceTarget,
        /// Level that the others are made from.
        base_level: u16,
        /// Levels that are made.
        level_count: u16,
        #[doc(hidden)]
        _pad: u16,
    }

    /// A region of one level of a texture that is filled with one texel.
    pub struct ClearTexture: 56 {
        /// The texture.
        resource: Handle,
        /// The region.
        region: TexelBox,
        /// Level.
        level: u32,
        /// Bytes of the texel, at most 16; 0 fills with zeros.
        value_size: u32,
        /// The texel, in the texture's own representation, in the first `value_size` bytes.
        value: [u8; 16],
    }
    check |clear| { (clear.value_size as usize > clear.value.len()).then_some("value_size") }
}
