//! The interface between libglvnd and a vendor.
//!
//! Source: `glvnd/libeglabi.h`, version 0.2. Members are in its order; those that are not used here are untyped
//! pointers.

use std::{
    ffi::{CStr, c_char, c_int, c_void},
    ptr,
};

use runahead_frontend_gl::egl::{abi, names as egl};

use crate::{host::Vendor, platform, report};

/// Major number of the interface that this library is written to; minor numbers only add.
const ABI_MAJOR: u32 = 0;

/// `__EGL_VENDOR_STRING_PLATFORM_EXTENSIONS`.
const PLATFORM_EXTENSIONS: c_int = 0;

/// `__EGLapiImports`: what libglvnd calls.
#[derive(Debug)]
#[repr(C)]
pub struct Imports {
    get_platform_display: Option<unsafe extern "C" fn(u32, *mut c_void, *const isize) -> *mut c_void>,
    get_supports_api: Option<extern "C" fn(u32) -> u32>,
    get_vendor_string: Option<extern "C" fn(c_int) -> *const c_char>,
    get_proc_address: Option<unsafe extern "C" fn(*const c_char) -> *const c_void>,
    get_dispatch_address: Option<extern "C" fn(*const c_char) -> *const c_void>,
    set_dispatch_index: Option<extern "C" fn(*const c_char, c_int)>,
    // All optional: patching of libglvnd's own entry points, and recognising native displays.
    is_patch_supported: *const c_void,
    initiate_patch: *const c_void,
    release_patch: *const c_void,
    patch_thread_attach: *const c_void,
    find_native_display_platform: *const c_void,
}

/// What libglvnd calls first. `exports` is its own table, which nothing here needs: no extension function of a display
/// is there that would have to be dispatched.
///
/// # Safety
/// `imports` points at a table that can be written.
#[unsafe(export_name = "__egl_Main")]
pub unsafe extern "C" fn main(
    version: u32,
    _exports: *const c_void,
    _vendor: *mut c_void,
    imports: *mut Imports,
) -> u32 {
    if version >> 16 != ABI_MAJOR || imports.is_null() {
        return 0;
    }
    let table = Imports {
        get_platform_display: Some(get_platform_display),
        get_supports_api: Some(get_supports_api),
        get_vendor_string: Some(get_vendor_string),
        get_proc_address: Some(get_proc_address),
        get_dispatch_address: Some(get_dispatch_address),
        set_dispatch_index: Some(set_dispatch_index),
        is_patch_supported: ptr::null(),
        initiate_patch: ptr::null(),
        release_patch: ptr::null(),
        patch_thread_attach: ptr::null(),
        find_native_display_platform: ptr::null(),
    };
    // SAFETY: as the caller says.
    unsafe { imports.write(table) };
    report::loaded();
    1
}

unsafe extern "C" fn get_platform_display(
    platform: u32,
    native: *mut c_void,
    list: *const isize,
) -> *mut c_void {
    // SAFETY: the application's list.
    unsafe { abi::get_platform_display::<Vendor>(platform, native, list) }
}

extern "C" fn get_supports_api(api: u32) -> u32 {
    (api.cast_signed() == egl::OPENGL_ES_API).into()
}

extern "C" fn get_vendor_string(name: c_int) -> *const c_char {
    match name {
        PLATFORM_EXTENSIONS => platform::EXTENSIONS.as_ptr(),
        _ => ptr::null(),
    }
}

unsafe extern "C" fn get_proc_address(name: *const c_char) -> *const c_void {
    if name.is_null() {
        return ptr::null();
    }
    // SAFETY: a text of libglvnd's.
    let name = unsafe { CStr::from_ptr(name) };
    abi::proc_address::<Vendor>(name).unwrap_or(ptr::null())
}

extern "C" fn get_dispatch_address(_: *const c_char) -> *const c_void {
    ptr::null()
}

extern "C" fn set_dispatch_index(_: *const c_char, _: c_int) {}
