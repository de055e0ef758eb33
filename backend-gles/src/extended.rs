//! Functions and abilities that not every OpenGL ES 3 driver has. Each is there by a version or an extension; where
//! none gives it, what needs it is emulated or refused.

use std::ffi::{CStr, c_char, c_void};

use runahead_wire::limits::COLOR_ATTACHMENTS;

use crate::egl::Loader;

/// What gives a function.
enum Given {
    /// OpenGL ES of this version, ten times the major one plus the minor one.
    Since(u32),
    /// An extension.
    By(&'static str),
}
use Given::{By, Since};

/// The driver's words: source, type, id, severity, bytes, text, and what was given with the function.
pub(crate) type DebugCallback =
    unsafe extern "system" fn(u32, u32, u32, u32, i32, *const c_char, *const c_void);

macro_rules! extended {
    ($( $(#[$meta:meta])* $field:ident: fn($($argument:ty),*) = $( $given:expr => $symbol:literal ),+; )+) => {
        /// Functions that are there or not.
        #[derive(Clone, Copy, Default)]
        pub(crate) struct Extended {
            $( $(#[$meta])* pub(crate) $field: Option<unsafe extern "system" fn($($argument),*)>, )+
            /// What is there without a function.
            pub(crate) able: Able,
        }

        impl Extended {
            /// # Safety
            /// What `load` finds under a name of GL's is that function, and stays.
            pub(crate) unsafe fn load(
                load: &mut Loader<'_>,
                version: u32,
                has: &dyn Fn(&str) -> bool,
                able: Able,
            ) -> Self {
                Self {
                    $( $field: {
                        let found = find(load, version, has, &[$(($given, $symbol)),+]);
                        type Function = unsafe extern "system" fn($($argument),*);
                        (!found.is_null()).then(|| {
                            // SAFETY: not null, and the caller says that it is the function of that name.
                            unsafe { std::mem::transmute::<*const c_void, Function>(found) }
                        })
                    }, )+
                    able,
                }
            }
        }
    };
}

/// The function of the first name that the driver says it has.
fn find(
    load: &mut Loader<'_>,
    version: u32,
    has: &dyn Fn(&str) -> bool,
    ways: &[(Given, &CStr)],
) -> *const c_void {
    let there = |given: &Given| match given {
        Since(least) => version >= *least,
        By(extension) => has(extension),
    };
    ways.iter()
        .filter(|(given, _)| there(given))
        .map(|(_, name)| load(name))
        .find(|found| !found.is_null())
        .unwrap_or(std::ptr::null())
}

extended! {
    draw_elements_base_vertex: fn(u32, i32, u32, *const c_void, i32) =
        Since(32) => c"glDrawElementsBaseVertex",
        By("GL_OES_draw_elements_base_vertex") => c"glDrawElementsBaseVertexOES",
        By("GL_EXT_draw_elements_base_vertex") => c"glDrawElementsBaseVertexEXT";
    draw_elements_instanced_base_vertex: fn(u32, i32, u32, *const c_void, i32, i32) =
        Since(32) => c"glDrawElementsInstancedBaseVertex",
        By("GL_OES_draw_elements_base_vertex") => c"glDrawElementsInstancedBaseVertexOES",
        By("GL_EXT_draw_elements_base_vertex") => c"glDrawElementsInstancedBaseVertexEXT";
    draw_arrays_instanced_base_instance: fn(u32, i32, i32, i32, u32) =
        By("GL_EXT_base_instance") => c"glDrawArraysInstancedBaseInstanceEXT";
    draw_elements_instanced_base_vertex_base_instance: fn(u32, i32, u32, *const c_void, i32, i32, u32) =
        By("GL_EXT_base_instance") => c"glDrawElementsInstancedBaseVertexBaseInstanceEXT";
    multi_draw_arrays: fn(u32, *const i32, *const i32, i32) =
        By("GL_EXT_multi_draw_arrays") => c"glMultiDrawArraysEXT";
    multi_draw_elements: fn(u32, *const i32, u32, *const *const c_void, i32) =
        By("GL_EXT_multi_draw_arrays") => c"glMultiDrawElementsEXT";
    draw_arrays_indirect: fn(u32, *const c_void) = Since(31) => c"glDrawArraysIndirect";
    draw_elements_indirect: fn(u32, u32, *const c_void) = Since(31) => c"glDrawElementsIndirect";
    multi_draw_arrays_indirect: fn(u32, *const c_void, i32, i32) =
        By("GL_EXT_multi_draw_indirect") => c"glMultiDrawArraysIndirectEXT";
    multi_draw_elements_indirect: fn(u32, u32, *const c_void, i32, i32) =
        By("GL_EXT_multi_draw_indirect") => c"glMultiDrawElementsIndirectEXT";
    vertex_attrib_format: fn(u32, i32, u32, u8, u32) = Since(31) => c"glVertexAttribFormat";
    vertex_attrib_i_format: fn(u32, i32, u32, u32) = Since(31) => c"glVertexAttribIFormat";
    vertex_attrib_binding: fn(u32, u32) = Since(31) => c"glVertexAttribBinding";
    vertex_binding_divisor: fn(u32, u32) = Since(31) => c"glVertexBindingDivisor";
    bind_vertex_buffer: fn(u32, u32, isize, i32) = Since(31) => c"glBindVertexBuffer";
    buffer_storage: fn(u32, isize, *const c_void, u32) = By("GL_EXT_buffer_storage") => c"glBufferStorageEXT";
    sample_mask: fn(u32, u32) = Since(31) => c"glSampleMaski";
    min_sample_shading: fn(f32) =
        Since(32) => c"glMinSampleShading", By("GL_OES_sample_shading") => c"glMinSampleShadingOES";
    polygon_mode: fn(u32, u32) = By("GL_NV_polygon_mode") => c"glPolygonModeNV";
    polygon_offset_clamp: fn(f32, f32, f32) =
        By("GL_EXT_polygon_offset_clamp") => c"glPolygonOffsetClampEXT";
    clip_control: fn(u32, u32) = By("GL_EXT_clip_control") => c"glClipControlEXT";
    viewport_array: fn(u32, i32, *const f32) = By("GL_OES_viewport_array") => c"glViewportArrayvOES";
    scissor_array: fn(u32, i32, *const i32) = By("GL_OES_viewport_array") => c"glScissorArrayvOES";
    depth_range_array: fn(u32, i32, *const f32) = By("GL_OES_viewport_array") => c"glDepthRangeArrayfvOES";
    enable_viewport: fn(u32, u32) = By("GL_OES_viewport_array") => c"glEnableiOES";
    disable_viewport: fn(u32, u32) = By("GL_OES_viewport_array") => c"glDisableiOES";
    /// OpenGL ES 3.2 section 16.2.2.
    copy_image: fn(u32, u32, i32, i32, i32, i32, u32, u32, i32, i32, i32, i32, i32, i32, i32) =
        Since(32) => c"glCopyImageSubData",
        By("GL_EXT_copy_image") => c"glCopyImageSubDataEXT",
        By("GL_OES_copy_image") => c"glCopyImageSubDataOES";
    texture_view: fn(u32, u32, u32, u32, u32, u32, u32, u32) =
        By("GL_EXT_texture_view") => c"glTextureViewEXT", By("GL_OES_texture_view") => c"glTextureViewOES";
    clear_texture: fn(u32, i32, i32, i32, i32, i32, i32, i32, u32, u32, *const c_void) =
        By("GL_EXT_clear_texture") => c"glClearTexSubImageEXT";
    /// OpenGL ES 3.2 section 8.9.
    tex_buffer_range: fn(u32, u32, u32, isize, isize) =
        Since(32) => c"glTexBufferRange",
        By("GL_EXT_texture_buffer") => c"glTexBufferRangeEXT",
        By("GL_OES_texture_buffer") => c"glTexBufferRangeOES";
    /// OpenGL ES 3.2 section 8.9.
    tex_buffer: fn(u32, u32, u32) =
        Since(32) => c"glTexBuffer",
        By("GL_EXT_texture_buffer") => c"glTexBufferEXT",
        By("GL_OES_texture_buffer") => c"glTexBufferOES";
    /// OpenGL ES 3.2 section 8.2.
    sampler_parameter_i: fn(u32, u32, *const i32) =
        Since(32) => c"glSamplerParameterIiv",
        By("GL_EXT_texture_border_clamp") => c"glSamplerParameterIivEXT",
        By("GL_OES_texture_border_clamp") => c"glSamplerParameterIivOES";
    /// OpenGL ES 3.2 section 8.2.
    sampler_parameter_u: fn(u32, u32, *const u32) =
        Since(32) => c"glSamplerParameterIuiv",
        By("GL_EXT_texture_border_clamp") => c"glSamplerParameterIuivEXT",
        By("GL_OES_texture_border_clamp") => c"glSamplerParameterIuivOES";
    tex_storage_2d_multisample: fn(u32, i32, u32, i32, i32, u8) = Since(31) => c"glTexStorage2DMultisample";
    tex_storage_3d_multisample: fn(u32, i32, u32, i32, i32, i32, u8) =
        Since(32) => c"glTexStorage3DMultisample",
        By("GL_OES_texture_storage_multisample_2d_array") => c"glTexStorage3DMultisampleOES";
    framebuffer_parameter: fn(u32, u32, i32) = Since(31) => c"glFramebufferParameteri";
    /// OpenGL ES 3.2 section 9.2.8.
    framebuffer_texture: fn(u32, u32, u32, i32) =
        Since(32) => c"glFramebufferTexture",
        By("GL_EXT_geometry_shader") => c"glFramebufferTextureEXT",
        By("GL_OES_geometry_shader") => c"glFramebufferTextureOES";
    debug_message_callback: fn(Option<DebugCallback>, *const c_void) =
        Since(32) => c"glDebugMessageCallback", By("GL_KHR_debug") => c"glDebugMessageCallbackKHR";
}

/// What is there without a function of its own.
#[derive(Clone, Copy, Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is an ability")]
pub(crate) struct Able {
    /// Blend factors of a second source.
    pub(crate) dual_source: bool,
    /// Clip distances.
    pub(crate) clip_distances: bool,
    /// Depth that is clamped.
    pub(crate) depth_clamp: bool,
    /// Linear values stay as they are in sRGB formats.
    pub(crate) srgb_control: bool,
    /// Alpha that becomes one, and rasterisation without multisampling.
    pub(crate) multisample_control: bool,
    /// Marks.
    pub(crate) debug: bool,
    /// Patches.
    pub(crate) patches: bool,
    /// Primitives with adjacency.
    pub(crate) adjacency: bool,
    /// State of each draw buffer.
    pub(crate) indexed_draw_buffers: bool,
    /// Vertices of a patch, at most.
    pub(crate) patch_vertices: i32,
    /// An index that ends a patch.
    pub(crate) patch_restart: bool,
    /// How many draw buffers there are.
    pub(crate) draw_buffers: u32,
    /// How many colours a framebuffer has.
    pub(crate) color_attachments: u32,
}

/// `GL_PRIMITIVE_RESTART_FOR_PATCHES_SUPPORTED` (OpenGL ES 3.2 table 21.43).
const RESTART_FOR_PATCHES: u32 = 0x8221;

impl Able {
    /// What a driver has; `number` asks it for a number.
    pub(crate) fn new(version: u32, has: &dyn Fn(&str) -> bool, number: &dyn Fn(u32) -> i32) -> Self {
        let patches = version >= 32 || has("GL_EXT_tessellation_shader") || has("GL_OES_tessellation_shader");
        // Every driver has at least four of both (OpenGL ES 3.0 table 6.28).
        let count = |name| u32::try_from(number(name)).unwrap_or(0).max(4);
        Self {
            dual_source: has("GL_EXT_blend_func_extended"),
            clip_distances: has("GL_EXT_clip_cull_distance") || has("GL_APPLE_clip_distance"),
            depth_clamp: has("GL_EXT_depth_clamp"),
            srgb_control: has("GL_EXT_sRGB_write_control"),
            multisample_control: has("GL_EXT_multisample_compatibility"),
            debug: version >= 32 || has("GL_KHR_debug"),
            patches,
            adjacency: version >= 32 || has("GL_EXT_geometry_shader") || has("GL_OES_geometry_shader"),
            indexed_draw_buffers: version >= 32,
            patch_vertices: if patches { number(glow::MAX_PATCH_VERTICES) } else { 0 },
            patch_restart: patches && number(RESTART_FOR_PATCHES) != 0,
            draw_buffers: count(glow::MAX_DRAW_BUFFERS).min(COLOR_ATTACHMENTS as u32),
            color_attachments: count(glow::MAX_COLOR_ATTACHMENTS),
        }
    }
}

impl Extended {
    /// The same without what draws and vertex input can do without: as an OpenGL ES 3.0 driver is.
    pub(crate) fn least(self) -> Self {
        Self {
            draw_elements_base_vertex: None,
            draw_elements_instanced_base_vertex: None,
            draw_arrays_instanced_base_instance: None,
            draw_elements_instanced_base_vertex_base_instance: None,
            multi_draw_arrays: None,
            multi_draw_elements: None,
            draw_arrays_indirect: None,
            draw_elements_indirect: None,
            multi_draw_arrays_indirect: None,
            multi_draw_elements_indirect: None,
            vertex_attrib_format: None,
            vertex_attrib_i_format: None,
            vertex_attrib_binding: None,
            vertex_binding_divisor: None,
            bind_vertex_buffer: None,
            ..self
        }
    }

    /// Whether formats and buffers of attributes are set apart.
    pub(crate) const fn separates(&self) -> bool {
        self.bind_vertex_buffer.is_some()
            && self.vertex_attrib_format.is_some()
            && self.vertex_attrib_i_format.is_some()
            && self.vertex_attrib_binding.is_some()
            && self.vertex_binding_divisor.is_some()
    }
}

/// Calls a function of [`Extended`] that is there.
macro_rules! call {
    ($function:expr, $($argument:expr),* $(,)?) => {
        // SAFETY: a context of the backend is current, which is the invariant of `Gl`; addresses name as much as the
        // other arguments ask for, during the call, or are offsets into the bound buffer.
        unsafe { $function($($argument),*) }
    };
}
pub(crate) use call;

/// Calls a function of [`Extended`]; refuses where it is not there.
macro_rules! needed {
    ($gl:expr, $name:ident($($argument:expr),* $(,)?)) => {
        match $gl.extended.$name {
            Some(function) => {
                $crate::extended::call!(function, $($argument),*);
                Ok(())
            }
            None => Err($crate::gl::UNSUPPORTED),
        }
    };
}
pub(crate) use needed;
