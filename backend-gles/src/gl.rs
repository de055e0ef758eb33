//! OpenGL ES, as the loader found it: `glow`, and beside it the functions whose pointers `glow` does not let
//! through.
//!
//! Bulk bytes may lie in memory that the client can write at any time. No Rust reference may name such memory, so
//! the functions that copy it take addresses.

use std::{
    ffi::{CStr, c_void},
    fmt,
};

use glow::HasContext;
use runahead_core::backend::{BackendError, Outcome};
use runahead_wire::{Bulk, values::RefusedReason};

use crate::{
    egl::Loader,
    extended::{Able, Extended},
};

/// What this server does not do. The client hears of it by name.
pub(crate) const UNSUPPORTED: BackendError = BackendError::Refused(RefusedReason::Unsupported);
/// The driver failed.
pub(crate) const FAILED: BackendError = BackendError::Refused(RefusedReason::NativeFailure);

macro_rules! address_functions {
    ($( $field:ident = $symbol:literal: fn($($argument:ty),*); )+) => {
        /// Functions that take addresses.
        pub(crate) struct Raw {
            $( pub(crate) $field: unsafe extern "system" fn($($argument),*), )+
        }

        impl Raw {
            /// # Safety
            /// What `load` finds under a name of GL's is that function, and stays.
            unsafe fn load(load: &mut Loader<'_>) -> Result<Self, String> {
                Ok(Self {
                    $( $field: {
                        let found = load($symbol);
                        if found.is_null() {
                            return Err(format!("the OpenGL ES driver has no {}", $symbol.to_string_lossy()));
                        }
                        // SAFETY: not null, and the caller says that it is the function of that name.
                        unsafe { std::mem::transmute::<*const c_void, unsafe extern "system" fn($($argument),*)>(found) }
                    }, )+
                })
            }
        }
    };
}

address_functions! {
    buffer_data = c"glBufferData": fn(u32, isize, *const c_void, u32);
    copy_buffer_sub_data = c"glCopyBufferSubData": fn(u32, u32, isize, isize, isize);
    buffer_sub_data = c"glBufferSubData": fn(u32, isize, isize, *const c_void);
    tex_sub_image_2d = c"glTexSubImage2D": fn(u32, i32, i32, i32, i32, i32, u32, u32, *const c_void);
    tex_sub_image_3d = c"glTexSubImage3D":
        fn(u32, i32, i32, i32, i32, i32, i32, i32, u32, u32, *const c_void);
    compressed_tex_sub_image_2d = c"glCompressedTexSubImage2D":
        fn(u32, i32, i32, i32, i32, i32, u32, i32, *const c_void);
    compressed_tex_sub_image_3d = c"glCompressedTexSubImage3D":
        fn(u32, i32, i32, i32, i32, i32, i32, i32, u32, i32, *const c_void);
    compressed_tex_image_2d = c"glCompressedTexImage2D": fn(u32, i32, u32, i32, i32, i32, i32, *const c_void);
    compressed_tex_image_3d = c"glCompressedTexImage3D":
        fn(u32, i32, u32, i32, i32, i32, i32, i32, *const c_void);
    draw_elements = c"glDrawElements": fn(u32, i32, u32, *const c_void);
    draw_elements_instanced = c"glDrawElementsInstanced": fn(u32, i32, u32, *const c_void, i32);
    vertex_attrib_pointer = c"glVertexAttribPointer": fn(u32, i32, u32, u8, i32, *const c_void);
    vertex_attrib_i_pointer = c"glVertexAttribIPointer": fn(u32, i32, u32, i32, *const c_void);
    get_queryiv = c"glGetQueryiv": fn(u32, u32, *mut c_void);
}

/// A setter of an array of uniforms: location, elements, values.
pub(crate) type SetUniform = unsafe extern "system" fn(i32, i32, *const c_void);
/// A setter of an array of matrices: location, elements, whether they are transposed, values.
pub(crate) type SetMatrix = unsafe extern "system" fn(i32, i32, u8, *const c_void);

/// Setters of uniforms, by type.
pub(crate) struct Setters {
    /// By scalar type (float, int, unsigned) and components less 1.
    pub(crate) vectors: [[SetUniform; 4]; 3],
    /// By columns less 2 and rows less 2.
    pub(crate) matrices: [[SetMatrix; 3]; 3],
}

impl Setters {
    /// # Safety
    /// As [`Raw::load`].
    unsafe fn load(load: &mut Loader<'_>) -> Result<Self, String> {
        const VECTORS: [[&CStr; 4]; 3] = [
            [c"glUniform1fv", c"glUniform2fv", c"glUniform3fv", c"glUniform4fv"],
            [c"glUniform1iv", c"glUniform2iv", c"glUniform3iv", c"glUniform4iv"],
            [c"glUniform1uiv", c"glUniform2uiv", c"glUniform3uiv", c"glUniform4uiv"],
        ];
        const MATRICES: [[&CStr; 3]; 3] = [
            [c"glUniformMatrix2fv", c"glUniformMatrix2x3fv", c"glUniformMatrix2x4fv"],
            [c"glUniformMatrix3x2fv", c"glUniformMatrix3fv", c"glUniformMatrix3x4fv"],
            [c"glUniformMatrix4x2fv", c"glUniformMatrix4x3fv", c"glUniformMatrix4fv"],
        ];
        let mut find = |name: &'static CStr| match load(name) {
            found if found.is_null() => {
                Err(format!("the OpenGL ES driver has no {}", name.to_string_lossy()))
            }
            found => Ok(found),
        };
        let mut vectors = [[std::ptr::null(); 4]; 3];
        for (place, name) in vectors.iter_mut().flatten().zip(VECTORS.iter().flatten()) {
            *place = find(name)?;
        }
        let mut matrices = [[std::ptr::null(); 3]; 3];
        for (place, name) in matrices.iter_mut().flatten().zip(MATRICES.iter().flatten()) {
            *place = find(name)?;
        }
        // SAFETY: none is null, and the caller says that each is the function of its name.
        let vectors =
            vectors.map(|row| row.map(|at| unsafe { std::mem::transmute::<*const c_void, SetUniform>(at) }));
        // SAFETY: as above.
        let matrices =
            matrices.map(|row| row.map(|at| unsafe { std::mem::transmute::<*const c_void, SetMatrix>(at) }));
        Ok(Self { vectors, matrices })
    }
}

/// The functions of one driver. Every use is on a thread where a context of the backend is current.
pub(crate) struct Gl {
    pub(crate) api: glow::Context,
    pub(crate) raw: Raw,
    pub(crate) setters: Setters,
    /// Functions and abilities that it may lack.
    pub(crate) extended: Extended,
    /// Major version times 10 plus minor.
    pub(crate) version: u32,
}

impl fmt::Debug for Gl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Gl").field("version", &self.version).finish_non_exhaustive()
    }
}

/// Calls a function of `glow`.
macro_rules! gl {
    ($gl:expr, $name:ident($($argument:expr),* $(,)?)) => {
        // SAFETY: a context of the backend is current, which is the invariant of `Gl`; objects are of its share
        // group, and slices live during the call.
        unsafe { $gl.api.$name($($argument),*) }
    };
}
pub(crate) use gl;

/// Calls a function that takes an address.
macro_rules! raw {
    ($gl:expr, $name:ident($($argument:expr),* $(,)?)) => {
        // SAFETY: a context of the backend is current; the address names as many bytes as the other arguments ask
        // for, which the driver copies, or is an offset into the bound buffer.
        unsafe { ($gl.raw.$name)($($argument),*) }
    };
}
pub(crate) use raw;

impl Gl {
    /// Loads the functions. The context that they are for is current.
    ///
    /// # Safety
    /// What `load` finds under a name of GL's is that function, and stays.
    pub(crate) unsafe fn load(load: &mut Loader<'_>) -> Result<Self, String> {
        // SAFETY: the caller's promise.
        let raw = unsafe { Raw::load(load) }?;
        // SAFETY: the caller's promise.
        let setters = unsafe { Setters::load(load) }?;
        // SAFETY: the caller's promise; `glow` asks the current context for its version.
        let api = unsafe { glow::Context::from_loader_function_cstr(|name| load(name)) };
        let version = api.version();
        if !version.is_embedded {
            return Err(format!("the driver gave an OpenGL {}.{} context", version.major, version.minor));
        }
        let version = version.major * 10 + version.minor;
        if version < 30 {
            return Err(format!(
                "the driver has OpenGL ES {}.{}; Runahead needs 3.0 or later",
                version / 10,
                version % 10
            ));
        }
        let extensions = api.supported_extensions();
        let has = |extension: &str| extensions.contains(extension);
        // SAFETY: the context is current.
        let number = |name| unsafe { api.get_parameter_i32(name) };
        let able = Able::new(version, &has, &number);
        // SAFETY: the caller's promise.
        let extended = unsafe { Extended::load(load, version, &has, able) };
        Ok(Self { api, raw, setters, extended, version })
    }

    /// Whether the driver has an extension.
    pub(crate) fn has(&self, extension: &str) -> bool {
        self.api.supported_extensions().contains(extension)
    }

    /// Forgets errors of before.
    pub(crate) fn clear_errors(&self) {
        // A lost context may report errors without end.
        for _ in 0..16 {
            if gl!(self, get_error()) == glow::NO_ERROR {
                return;
            }
        }
    }

    /// What the calls since [`Gl::clear_errors`] came to.
    pub(crate) fn outcome(&self) -> Outcome {
        match gl!(self, get_error()) {
            glow::NO_ERROR => Ok(()),
            glow::OUT_OF_MEMORY => Err(BackendError::Refused(RefusedReason::OutOfMemory)),
            glow::CONTEXT_LOST => Err(BackendError::DeviceLost),
            glow::INVALID_ENUM | glow::INVALID_OPERATION => Err(UNSUPPORTED),
            _ => Err(FAILED),
        }
    }

    /// Blits between rectangles, each as its two corners.
    pub(crate) fn blit(&self, src: [i32; 4], dst: [i32; 4], mask: u32, filter: u32) {
        let ([x0, y0, x1, y1], [to_x0, to_y0, to_x1, to_y1]) = (src, dst);
        gl!(self, blit_framebuffer(x0, y0, x1, y1, to_x0, to_y0, to_x1, to_y1, mask, filter));
    }

    /// Turns a capability on or off.
    pub(crate) fn switch(&self, capability: u32, on: bool) {
        if on {
            gl!(self, enable(capability));
        } else {
            gl!(self, disable(capability));
        }
    }
}

/// Where bulk bytes begin, for a driver that copies them. Never for what is parsed.
pub(crate) fn address(bulk: &Bulk<'_>) -> Outcome<*const c_void> {
    match bulk {
        Bulk::Bytes(bytes) => Ok(bytes.as_ptr().cast()),
        Bulk::Shared(shared) => Ok(shared.as_ptr().cast()),
        // The link resolves what is staged before it comes here.
        Bulk::Staged(_) => Err(FAILED),
    }
}

/// Bulk bytes out of the client's reach, for what is parsed.
pub(crate) fn copied(bulk: &Bulk<'_>) -> Outcome<Vec<u8>> {
    match bulk {
        Bulk::Bytes(bytes) => Ok(bytes.to_vec()),
        Bulk::Shared(shared) => {
            let mut bytes = vec![0; shared.len()];
            if shared.copy_to(0, &mut bytes) { Ok(bytes) } else { Err(FAILED) }
        }
        Bulk::Staged(_) => Err(FAILED),
    }
}

/// A driver object of one share group, or none yet.
#[derive(Debug)]
pub(crate) struct Named<T> {
    pub(crate) name: Option<T>,
    /// Number of the share group's native context.
    pub(crate) home: u32,
}

impl<T> Default for Named<T> {
    fn default() -> Self {
        Self { name: None, home: 0 }
    }
}
