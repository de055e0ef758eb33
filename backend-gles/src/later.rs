//! Functions of OpenGL ES 3.1, 3.2 and of extensions: each is there or not, by version and extension, whatever a loader
//! answers for its name.

use std::{ffi::c_void, fmt};

use crate::egl::Loader;

macro_rules! functions {
    ($( $(#[$doc:meta])* $field:ident = $since:literal [$($extension:literal),*] [$($symbol:literal),+]
        : fn($($argument:ty),*); )+) => {
        /// Functions that a driver may lack.
        pub(crate) struct Later {
            $( $(#[$doc])* pub(crate) $field: Option<unsafe extern "system" fn($($argument),*)>, )+
        }

        impl Later {
            /// Loads what a driver of this version and with these extensions has.
            ///
            /// # Safety
            /// What `load` finds under a name of GL's is that function, and stays.
            pub(crate) unsafe fn load(
                load: &mut Loader<'_>,
                version: u32,
                has: impl Fn(&str) -> bool,
            ) -> Self {
                Self {
                    $( $field: if version >= $since $( || has($extension) )* {
                        let mut find = || {
                            for symbol in [$($symbol),+] {
                                let found = load(symbol);
                                if !found.is_null() {
                                    return Some(found);
                                }
                            }
                            None
                        };
                        // SAFETY: not null, and the caller says that it is the function of that name.
                        find().map(|found| unsafe { std::mem::transmute::<*const c_void, unsafe extern "system" fn($($argument),*)>(found) })
                    } else {
                        None
                    }, )+
                }
            }
        }
    };
}

// 99 is no version: an extension alone gives such a function.
functions! {
    /// OpenGL ES 3.2 section 16.2.2.
    copy_image = 32 ["GL_EXT_copy_image", "GL_OES_copy_image"]
        [c"glCopyImageSubData", c"glCopyImageSubDataEXT", c"glCopyImageSubDataOES"]:
        fn(u32, u32, i32, i32, i32, i32, u32, u32, i32, i32, i32, i32, i32, i32, i32);
    /// `EXT_texture_view`, `OES_texture_view`.
    texture_view = 99 ["GL_EXT_texture_view", "GL_OES_texture_view"]
        [c"glTextureViewEXT", c"glTextureViewOES"]: fn(u32, u32, u32, u32, u32, u32, u32, u32);
    /// `EXT_clear_texture`.
    clear_texture = 99 ["GL_EXT_clear_texture"] [c"glClearTexSubImageEXT"]:
        fn(u32, i32, i32, i32, i32, i32, i32, i32, u32, u32, *const c_void);
    /// OpenGL ES 3.2 section 8.9.
    tex_buffer_range = 32 ["GL_EXT_texture_buffer", "GL_OES_texture_buffer"]
        [c"glTexBufferRange", c"glTexBufferRangeEXT", c"glTexBufferRangeOES"]: fn(u32, u32, u32, isize, isize);
    /// OpenGL ES 3.2 section 8.9.
    tex_buffer = 32 ["GL_EXT_texture_buffer", "GL_OES_texture_buffer"]
        [c"glTexBuffer", c"glTexBufferEXT", c"glTexBufferOES"]: fn(u32, u32, u32);
    /// OpenGL ES 3.2 section 8.2.
    sampler_parameter_i = 32 ["GL_EXT_texture_border_clamp", "GL_OES_texture_border_clamp"]
        [c"glSamplerParameterIiv", c"glSamplerParameterIivEXT", c"glSamplerParameterIivOES"]:
        fn(u32, u32, *const i32);
    /// OpenGL ES 3.2 section 8.2.
    sampler_parameter_u = 32 ["GL_EXT_texture_border_clamp", "GL_OES_texture_border_clamp"]
        [c"glSamplerParameterIuiv", c"glSamplerParameterIuivEXT", c"glSamplerParameterIuivOES"]:
        fn(u32, u32, *const u32);
    /// OpenGL ES 3.1 section 8.8.
    tex_storage_2d_multisample = 31 [] [c"glTexStorage2DMultisample"]: fn(u32, i32, u32, i32, i32, u8);
    /// OpenGL ES 3.2 section 8.8.
    tex_storage_3d_multisample = 32 ["GL_OES_texture_storage_multisample_2d_array"]
        [c"glTexStorage3DMultisample", c"glTexStorage3DMultisampleOES"]: fn(u32, i32, u32, i32, i32, i32, u8);
    /// OpenGL ES 3.1 section 9.2.1.
    framebuffer_parameter = 31 [] [c"glFramebufferParameteri"]: fn(u32, u32, i32);
    /// OpenGL ES 3.2 section 9.2.8.
    framebuffer_texture = 32 ["GL_EXT_geometry_shader", "GL_OES_geometry_shader"]
        [c"glFramebufferTexture", c"glFramebufferTextureEXT", c"glFramebufferTextureOES"]:
        fn(u32, u32, u32, i32);
}

impl fmt::Debug for Later {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Later").finish_non_exhaustive()
    }
}

/// Calls a function that a driver may lack; refuses where it does.
macro_rules! later {
    ($gl:expr, $name:ident($($argument:expr),* $(,)?)) => {
        match $gl.later.$name {
            Some(function) => {
                // SAFETY: a context of the backend is current; objects are of its share group, and addresses name as
                // many bytes as the other arguments ask for, which the driver copies.
                unsafe { function($($argument),*) };
                Ok(())
            }
            None => Err($crate::gl::UNSUPPORTED),
        }
    };
}
pub(crate) use later;
