//! Render state, buffer windows and the state that rides beside them.
//!
//! Source: OpenGL 4.6 chapters 13 (viewports, clipping), 14 (rasterisation) and 17 (per-fragment operations),
//! sections 7.6 to 7.8 (indexed buffers), 11.2 (patches) and 18.2 (pack state).

use super::payload;
use crate::bulk::BlobRef;
use crate::handle::Handle;
use crate::limits;
use crate::values::{
    BlendFactor, BlendOp, ClampReadColor, ClipDepthMode, ClipDistances, ClipOrigin, CompareOp, CullFace,
    FrontFace, HintMode, LogicOp, PointSpriteOrigin, PolygonMode, ProvokingVertex, ShaderBufferClass,
    StencilOp, ViewportMask,
};

payload! {
    /// A render-state CSO: the pipeline half, whole or as the difference from another CSO.
    pub struct RenderStateDesc: 48 {
        /// The render-state CSO.
        cso: Handle,
        /// CSO that the chunks which are not in the blob come from; null when all are.
        base_cso: Handle,
        /// Pipeline chunks in the blob, bit `n` for chunk `n` of the half.
        chunk_mask: u32,
        #[doc(hidden)]
        _pad: u32,
        /// The chunks, in ascending order without gaps.
        blob: BlobRef,
    }
    check |desc| { bad_chunks(desc.chunk_mask, limits::PIPELINE_CHUNKS) }

    /// The render-state CSO of later verbs. The versions are the client's own counts and diagnostics alone:
    /// the comparator prints them, nothing is gated on them.
    pub struct BindRenderState: 16 {
        /// The render-state CSO.
        cso: Handle,
        /// Version of the whole state.
        version: u32,
        /// Version of the pipeline half.
        pipeline_version: u32,
    }

    /// Changed chunks of the dynamic half.
    pub struct DynamicState: 32 {
        /// Dynamic chunks in the blob, bit `n` for chunk `n` of the half.
        chunk_mask: u32,
        /// Version of the whole state; a diagnostic alone.
        version: u32,
        /// The chunks, in ascending order without gaps.
        blob: BlobRef,
    }
    check |state| { bad_chunks(state.chunk_mask, limits::DYNAMIC_CHUNKS) }

    /// Head of a window of indexed buffers of one class.
    pub struct ShaderBuffers: 24 {
        /// The class.
        class: u32 as ShaderBufferClass,
        /// First point.
        start: u32,
        /// Elements of the tail.
        count: u32,
        /// Points that shaders may write, bit `n` of the window for point `start + n`.
        writable_mask: [u32; limits::BUFFER_BINDING_WORDS],
    }
    check |window| {
        let end = window.start.checked_add(window.count);
        end.is_none_or(|end| end > limits::BUFFER_BINDINGS).then_some("count")
    }

    /// How later readbacks into a pack buffer lie. Unpacking is the client's and never crosses.
    pub struct PixelPackState: 28 {
        /// Whether the bytes of each component are reversed.
        swap_bytes: u8 as bool,
        /// Whether the first bit is the least significant one.
        lsb_first: u8 as bool,
        #[doc(hidden)]
        _pad: [u8; 2],
        /// Pixels of a row; 0 for the region's.
        row_length: i32,
        /// Rows of an image; 0 for the region's.
        image_height: i32,
        /// Pixels skipped.
        skip_pixels: i32,
        /// Rows skipped.
        skip_rows: i32,
        /// Images skipped.
        skip_images: i32,
        /// Alignment of a row in bytes: 1, 2, 4 or 8.
        alignment: i32,
    }
    check |pack| { (!matches!(pack.alignment, 1 | 2 | 4 | 8)).then_some("alignment") }

    /// Patches and the tessellation levels of programs without a control stage.
    pub struct PatchState: 40 {
        /// Vertices of a patch.
        vertices: u32,
        #[doc(hidden)]
        _pad0: u32,
        /// Outer levels.
        outer: [f32; 4],
        /// Inner levels.
        inner: [f32; 2],
        #[doc(hidden)]
        _pad1: [u32; 2],
    }

    /// Vertices of a patch alone; superseded by [`PatchState`].
    pub struct PatchParameter: 8 {
        /// Vertices of a patch.
        vertices: u32,
        #[doc(hidden)]
        _pad: u32,
    }
}

/// The rule of every chunk mask: some chunk, and none that the half does not have.
const fn bad_chunks(mask: u32, chunks: u32) -> Option<&'static str> {
    if mask == 0 || mask >> chunks != 0 { Some("chunk_mask") } else { None }
}

payload! {
    /// Blending of one draw buffer.
    pub struct BlendState: 28 {
        /// Whether it blends.
        enabled: u32 as bool,
        /// Factor of the source's colour.
        src_rgb: u32 as BlendFactor,
        /// Factor of the destination's colour.
        dst_rgb: u32 as BlendFactor,
        /// Factor of the source's alpha.
        src_alpha: u32 as BlendFactor,
        /// Factor of the destination's alpha.
        dst_alpha: u32 as BlendFactor,
        /// Equation of the colour.
        op_rgb: u32 as BlendOp,
        /// Equation of alpha.
        op_alpha: u32 as BlendOp,
    }

    /// Which components of one draw buffer are written.
    pub struct ColorMask: 4 {
        /// Red.
        red: u8 as bool,
        /// Green.
        green: u8 as bool,
        /// Blue.
        blue: u8 as bool,
        /// Alpha.
        alpha: u8 as bool,
    }

    /// A viewport, in pixels with the origin at the bottom left.
    pub struct Viewport: 16 {
        /// Smallest x.
        x: f32,
        /// Smallest y.
        y: f32,
        /// Width.
        width: f32,
        /// Height.
        height: f32,
    }

    /// A scissor box, in pixels with the origin at the bottom left.
    pub struct ScissorBox: 16 {
        /// Smallest x.
        x: i32,
        /// Smallest y.
        y: i32,
        /// Width.
        width: i32,
        /// Height.
        height: i32,
    }

    /// Where near and far lie in window depth.
    pub struct DepthRange: 8 {
        /// Depth of the near plane.
        near: f32,
        /// Depth of the far plane.
        far: f32,
    }

    /// The whole render state; in blobs, as chunks.
    ///
    /// The members lie in the order of fifteen alternating chunks, dynamic (D) and pipeline (P) ones, so that
    /// each half travels as a list of spans. A byte is of the pipeline half exactly if a change of it asks
    /// for another render-state CSO. Chunks begin at 0 (D0), 264 (P0), 292 (D1), 312 (P1), 584 (D2), 752
    /// (P2), 772 (D3), 784 (P3), 800 (D4), 812 (P4), 840 (D5), 868 (P5), 876 (D6), 880 (P6) and 904 (D7); the
    /// stencil faces are cut by them and must not be moved together.
    pub struct RenderState: 1168 {
        /// Viewports.
        viewports: [Viewport; limits::VIEWPORTS],
        /// Width of lines in pixels.
        line_width: f32,
        /// Size of points in pixels.
        point_size: f32,

        /// Vertices of a patch.
        patch_vertices: u32,
        /// Outer tessellation levels.
        patch_outer: [f32; 4],
        /// Inner tessellation levels.
        patch_inner: [f32; 2],

        /// Depth offset by slope.
        polygon_offset_factor: f32,
        /// Constant depth offset.
        polygon_offset_units: f32,
        /// Limit of the depth offset; 0 for none.
        polygon_offset_clamp: f32,
        /// Where window y 0 is in clip space.
        clip_origin: u32 as ClipOrigin,
        /// Range of depth in clip space.
        clip_depth_mode: u32 as ClipDepthMode,

        /// Blending of each draw buffer.
        blend: [BlendState; limits::COLOR_ATTACHMENTS],
        /// Logical operation, with `color_logic_op`.
        logic_op: u32 as LogicOp,
        /// Whether depth is tested.
        depth_test: u8 as bool,
        #[doc(hidden)]
        _pad0: [u8; 3],
        /// Depth comparison.
        depth_func: u32 as CompareOp,
        /// Whether depth is written.
        depth_mask: u8 as bool,
        /// Components written, of each draw buffer.
        color_masks: [ColorMask; limits::COLOR_ATTACHMENTS],
        /// Whether linear values are converted when written to sRGB formats.
        framebuffer_srgb: u8 as bool,
        /// Whether depth is clamped instead of clipped.
        depth_clamp: u8 as bool,
        /// Whether cube maps filter across faces.
        cube_map_seamless: u8 as bool,

        /// Clear colour.
        clear_color: [f32; 4],
        /// Clear depth.
        clear_depth: f32,
        /// Clear stencil.
        clear_stencil: i32,
        /// Constant blend colour.
        blend_color: [f32; 4],
        /// Depth range of each viewport.
        depth_ranges: [DepthRange; limits::VIEWPORTS],

        /// Coverage, with `sample_coverage`.
        sample_coverage_value: f32,
        /// Whether the coverage is inverted.
        sample_coverage_invert: u8 as bool,
        #[doc(hidden)]
        _pad1: [u8; 3],
        /// Samples that are written, with `sample_mask`.
        sample_mask_value: u32,
        /// Smallest share of samples that are shaded on their own.
        min_sample_shading: f32,
        /// Stencil comparison of front faces.
        stencil_front_func: u32 as CompareOp,

        /// Stencil reference of front faces.
        stencil_front_ref: i32,
        /// Bits of front faces that are compared.
        stencil_front_value_mask: u32,
        /// Bits of front faces that are written.
        stencil_front_write_mask: u32,

        /// Front faces that fail the stencil test.
        stencil_front_fail: u32 as StencilOp,
        /// Front faces that fail the depth test.
        stencil_front_depth_fail: u32 as StencilOp,
        /// Front faces that pass.
        stencil_front_pass: u32 as StencilOp,
        /// Stencil comparison of back faces.
        stencil_back_func: u32 as CompareOp,

        /// Stencil reference of back faces.
        stencil_back_ref: i32,
        /// Bits of back faces that are compared.
        stencil_back_value_mask: u32,
        /// Bits of back faces that are written.
        stencil_back_write_mask: u32,

        /// Back faces that fail the stencil test.
        stencil_back_fail: u32 as StencilOp,
        /// Back faces that fail the depth test.
        stencil_back_depth_fail: u32 as StencilOp,
        /// Back faces that pass.
        stencil_back_pass: u32 as StencilOp,
        /// Whether faces are culled.
        cull_face: u32 as bool,
        /// Which faces are culled.
        cull_mode: u32 as CullFace,
        /// Winding of front faces.
        front_face: u32 as FrontFace,
        /// Which vertex gives flat attributes their value.
        provoking_vertex: u32 as ProvokingVertex,

        /// Quality of smooth lines.
        hint_line_smooth: u32 as HintMode,
        /// Quality of smooth polygons.
        hint_polygon_smooth: u32 as HintMode,
        /// Quality of texture compression.
        hint_texture_compression: u32 as HintMode,
        /// Quality of derivatives in fragment shaders.
        hint_fragment_shader_derivative: u32 as HintMode,
        /// Size below which points fade.
        point_fade_threshold_size: f32,
        /// Where the point coordinate is 0.
        point_sprite_origin: u32 as PointSpriteOrigin,
        /// Whether colours are clamped when they are read.
        clamp_read_color: u32 as ClampReadColor,

        /// How front faces are rasterised.
        polygon_mode_front: u32 as PolygonMode,
        /// How back faces are rasterised.
        polygon_mode_back: u32 as PolygonMode,

        /// Index that ends a primitive, with `primitive_restart`.
        primitive_restart_index: u32,

        /// Whether colours are dithered.
        dither: u8 as bool,
        /// Whether the logical operation is on.
        color_logic_op: u8 as bool,
        /// Whether filled polygons are offset.
        polygon_offset_fill: u8 as bool,
        /// Whether polygons drawn as lines are offset.
        polygon_offset_line: u8 as bool,
        /// Whether polygons drawn as points are offset.
        polygon_offset_point: u8 as bool,
        /// Whether alpha gives coverage.
        sample_alpha_to_coverage: u8 as bool,
        /// Whether alpha becomes 1 once it gave coverage.
        sample_alpha_to_one: u8 as bool,
        /// Whether the coverage value counts.
        sample_coverage: u8 as bool,
        /// Whether the sample mask counts.
        sample_mask: u8 as bool,
        /// Whether the smallest share of shaded samples counts.
        sample_shading: u8 as bool,
        /// Whether stencil is tested.
        stencil_test: u8 as bool,
        /// Whether rasterisation is multisampled.
        multisample: u8 as bool,
        /// Whether lines are smooth.
        line_smooth: u8 as bool,
        /// Whether polygons are smooth.
        polygon_smooth: u8 as bool,
        /// Whether shaders give the size of points.
        program_point_size: u8 as bool,
        /// Whether the restart index ends primitives.
        primitive_restart: u8 as bool,
        /// Whether the largest index ends primitives.
        primitive_restart_fixed_index: u8 as bool,
        /// Whether primitives are dropped before rasterisation.
        rasterizer_discard: u8 as bool,
        /// Whether advanced blend equations are ordered without barriers.
        blend_advanced_coherent: u8 as bool,
        #[doc(hidden)]
        _pad2: u8,
        /// Viewports whose scissor test is on.
        scissor_enable_mask: u32 as ViewportMask,

        /// Scissor box of each viewport.
        scissor_boxes: [ScissorBox; limits::VIEWPORTS],
        /// Viewports whose scissor box was ever set.
        scissor_written_mask: u32 as ViewportMask,
        /// Clip distances that are on.
        clip_distance_mask: u32 as ClipDistances,
    }
}
