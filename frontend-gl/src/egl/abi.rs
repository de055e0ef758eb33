//! The C entry points.
//!
//! # Contract
//!
//! Pointers are the application's, and EGL says what they point at: lists end with `EGL_NONE`, arrays hold as many
//! elements as the count beside them says. A null pointer is an empty list, or an error where the specification has
//! one. Nothing of the application's is held on to.
#![allow(unsafe_code, reason = "the C interface: reads and writes where the application's pointers say")]

use std::{
    ffi::{CStr, c_char, c_void},
    ptr,
    sync::Arc,
};

use super::{
    config,
    display::{Display, Live},
    error::{Error, Outcome, SUCCESS},
    names as egl,
    platform::{Host, Platform},
    thread::Thread,
};

type Int = i32;
type Bool = u32;
type Handle = *mut c_void;

/// Version that `eglInitialize` answers. What 1.5 adds to the core is not all here: no syncs, no images.
const VERSION: (Int, Int) = (1, 4);

const VERSION_TEXT: &CStr = c"1.4 Runahead";
const VENDOR: &CStr = c"Runahead";
const CLIENT_APIS: &CStr = c"OpenGL_ES";

/// Extensions of a display. What is listed works.
const EXTENSIONS: &CStr =
    c"EGL_EXT_create_context_robustness EGL_KHR_create_context EGL_KHR_get_all_proc_addresses EGL_KHR_no_config_context EGL_KHR_surfaceless_context";

macro_rules! entries {
    ($($name:literal => $function:ident;)*) => {
        /// The C function of a name; none for what is not there.
        #[must_use]
        pub fn proc_address<H: Host>(name: &CStr) -> Option<*const c_void> {
            let name = name.to_str().ok()?;
            match name {
                $($name => Some($function::<H> as *const c_void),)*
                _ => H::client_function(name),
            }
        }

        /// The names of the entry points of EGL itself.
        pub const NAMES: &[&str] = &[$($name),*];
    };
}

entries! {
    "eglBindAPI" => bind_api;
    "eglBindTexImage" => bind_tex_image;
    "eglChooseConfig" => choose_config;
    "eglCopyBuffers" => copy_buffers;
    "eglCreateContext" => create_context;
    "eglCreatePbufferFromClientBuffer" => create_pbuffer_from_client_buffer;
    "eglCreatePbufferSurface" => create_pbuffer_surface;
    "eglCreatePixmapSurface" => create_pixmap_surface;
    "eglCreatePlatformPixmapSurface" => create_platform_pixmap_surface;
    "eglCreatePlatformPixmapSurfaceEXT" => create_platform_pixmap_surface_ext;
    "eglCreatePlatformWindowSurface" => create_platform_window_surface;
    "eglCreatePlatformWindowSurfaceEXT" => create_platform_window_surface_ext;
    "eglCreateWindowSurface" => create_window_surface;
    "eglDestroyContext" => destroy_context;
    "eglDestroySurface" => destroy_surface;
    "eglGetConfigAttrib" => get_config_attrib;
    "eglGetConfigs" => get_configs;
    "eglGetCurrentContext" => get_current_context;
    "eglGetCurrentDisplay" => get_current_display;
    "eglGetCurrentSurface" => get_current_surface;
    "eglGetDisplay" => get_display;
    "eglGetError" => get_error;
    "eglGetPlatformDisplay" => get_platform_display;
    "eglGetPlatformDisplayEXT" => get_platform_display_ext;
    "eglGetProcAddress" => get_proc_address;
    "eglInitialize" => initialize;
    "eglMakeCurrent" => make_current;
    "eglQueryAPI" => query_api;
    "eglQueryContext" => query_context;
    "eglQueryString" => query_string;
    "eglQuerySurface" => query_surface;
    "eglReleaseTexImage" => release_tex_image;
    "eglReleaseThread" => release_thread;
    "eglSurfaceAttrib" => surface_attrib;
    "eglSwapBuffers" => swap_buffers;
    "eglSwapInterval" => swap_interval;
    "eglTerminate" => terminate;
    "eglWaitClient" => wait_client;
    "eglWaitGL" => wait_gl;
    "eglWaitNative" => wait_native;
}

/// Runs a call, takes its outcome as the thread's error, and answers `failed` where it failed.
fn call<H: Host, T>(failed: T, body: impl FnOnce(&mut Thread<H::Platform>) -> Outcome<T>) -> T {
    let answer = H::thread(|thread| {
        let outcome = body(thread);
        thread.note(outcome)
    });
    answer.flatten().unwrap_or(failed)
}

fn flag<H: Host>(body: impl FnOnce(&mut Thread<H::Platform>) -> Outcome) -> Bool {
    call::<H, _>(0, |thread| body(thread).map(|()| 1))
}

type Of<H> = <H as Host>::Platform;

fn display<H: Host>(handle: Handle) -> Outcome<Arc<Display<Of<H>>>> {
    H::egl().display(handle as usize)
}

fn live<H: Host>(handle: Handle) -> Outcome<Arc<Live<Of<H>>>> {
    display::<H>(handle)?.live()
}

/// Reads a list of attributes and values.
///
/// # Safety
/// It is null, or readable up to an `EGL_NONE` in the place of an attribute.
unsafe fn list<T: Copy + Into<i64>>(list: *const T) -> Vec<(T, T)> {
    let mut pairs = Vec::new();
    if list.is_null() {
        return pairs;
    }
    let mut next = list;
    loop {
        // SAFETY: no `EGL_NONE` came yet, so the list goes on.
        let attribute = unsafe { next.read() };
        if attribute.into() == i64::from(egl::NONE) {
            break;
        }
        // SAFETY: an attribute that is not `EGL_NONE` is followed by its value.
        let place = unsafe { next.add(1) };
        // SAFETY: as above.
        let value = unsafe { place.read() };
        pairs.push((attribute, value));
        // SAFETY: after a value there is another attribute, or `EGL_NONE`.
        next = unsafe { place.add(1) };
    }
    pairs
}

/// The same for lists of `EGLAttrib`, whose values must fit those of EGL 1.4.
///
/// # Safety
/// As [`list`].
unsafe fn attrib_list(pairs: *const isize) -> Outcome<Vec<(Int, Int)>> {
    // SAFETY: as the caller says; a pointer-sized integer has 64 bits at most.
    let pairs = unsafe { list(pairs.cast::<AttribWord>()) };
    let narrow = |word: AttribWord| Int::try_from(word.0).map_err(|_| Error::BadAttribute);
    pairs.into_iter().map(|(attribute, value)| Ok((narrow(attribute)?, narrow(value)?))).collect()
}

/// An `EGLAttrib`.
#[derive(Clone, Copy)]
#[repr(transparent)]
struct AttribWord(isize);

impl From<AttribWord> for i64 {
    fn from(word: AttribWord) -> Self {
        word.0 as Self
    }
}

/// Writes a value where the application wants it.
///
/// # Safety
/// It is null or writable.
unsafe fn give<T>(place: *mut T, value: T) {
    if !place.is_null() {
        // SAFETY: as the caller says.
        unsafe { place.write(value) };
    }
}

extern "C" fn get_error<H: Host>() -> Int {
    H::thread(Thread::take_error).unwrap_or(SUCCESS)
}

extern "C" fn get_display<H: Host>(native: *mut c_void) -> Handle {
    named::<H>(egl::NONE, native as usize, &[])
}

/// `eglGetPlatformDisplay`.
///
/// # Safety
/// `pairs` is null, or readable up to an `EGL_NONE` in the place of an attribute.
pub unsafe extern "C" fn get_platform_display<H: Host>(
    platform: u32,
    native: *mut c_void,
    pairs: *const isize,
) -> Handle {
    // SAFETY: the application's list.
    let pairs = unsafe { list(pairs.cast::<AttribWord>()) };
    let pairs: Vec<(isize, isize)> =
        pairs.into_iter().map(|(attribute, value)| (attribute.0, value.0)).collect();
    named::<H>(platform.cast_signed(), native as usize, &pairs)
}

unsafe extern "C" fn get_platform_display_ext<H: Host>(
    platform: u32,
    native: *mut c_void,
    pairs: *const Int,
) -> Handle {
    // SAFETY: the application's list.
    let pairs = unsafe { list(pairs) };
    let pairs: Vec<(isize, isize)> =
        pairs.into_iter().map(|(attribute, value)| (attribute as isize, value as isize)).collect();
    named::<H>(platform.cast_signed(), native as usize, &pairs)
}

/// The display of a native one; null where the platform is another's.
fn named<H: Host>(platform: Int, native: usize, pairs: &[(isize, isize)]) -> Handle {
    call::<H, _>(ptr::null_mut(), |_| {
        Ok(match <Of<H> as Platform>::name(platform, native, pairs)? {
            Some(name) => H::egl().named(name).handle() as Handle,
            None => ptr::null_mut(),
        })
    })
}

unsafe extern "C" fn initialize<H: Host>(handle: Handle, major: *mut Int, minor: *mut Int) -> Bool {
    flag::<H>(|_| {
        display::<H>(handle)?.initialize()?;
        // SAFETY: the application's places.
        unsafe { give(major, VERSION.0) };
        // SAFETY: as above.
        unsafe { give(minor, VERSION.1) };
        Ok(())
    })
}

extern "C" fn terminate<H: Host>(handle: Handle) -> Bool {
    flag::<H>(|_| {
        display::<H>(handle)?.terminate();
        Ok(())
    })
}

extern "C" fn query_string<H: Host>(handle: Handle, name: Int) -> *const c_char {
    call::<H, _>(ptr::null(), |_| {
        let text = match name {
            egl::EXTENSIONS if handle.is_null() => <Of<H> as Platform>::CLIENT_EXTENSIONS,
            egl::VERSION if handle.is_null() => VERSION_TEXT,
            egl::CLIENT_APIS | egl::EXTENSIONS | egl::VENDOR | egl::VERSION => {
                live::<H>(handle)?;
                match name {
                    egl::CLIENT_APIS => CLIENT_APIS,
                    egl::EXTENSIONS => EXTENSIONS,
                    egl::VENDOR => VENDOR,
                    _ => VERSION_TEXT,
                }
            }
            _ => return Err(Error::BadParameter),
        };
        Ok(text.as_ptr())
    })
}

/// Hands out the numbers of configs, as many as `capacity` takes.
///
/// # Safety
/// `out` is null or has room for `capacity` handles, `count` is null or writable.
unsafe fn give_configs<'a>(
    ids: impl ExactSizeIterator<Item = &'a super::Config>,
    out: *mut Handle,
    capacity: Int,
    count: *mut Int,
) -> Outcome {
    if count.is_null() {
        return Err(Error::BadParameter);
    }
    let mut given = ids.len();
    if !out.is_null() {
        given = given.min(usize::try_from(capacity).unwrap_or(0));
        for (at, config) in ids.take(given).enumerate() {
            // SAFETY: fewer than the caller has room for.
            let place = unsafe { out.add(at) };
            // SAFETY: as above.
            unsafe { place.write(config.id as usize as Handle) };
        }
    }
    // SAFETY: it is not null.
    unsafe { count.write(Int::try_from(given).unwrap_or(Int::MAX)) };
    Ok(())
}

unsafe extern "C" fn get_configs<H: Host>(
    handle: Handle,
    out: *mut Handle,
    capacity: Int,
    count: *mut Int,
) -> Bool {
    flag::<H>(|_| {
        let live = live::<H>(handle)?;
        // SAFETY: the application's array.
        unsafe { give_configs(live.configs().iter(), out, capacity, count) }
    })
}

unsafe extern "C" fn choose_config<H: Host>(
    handle: Handle,
    pairs: *const Int,
    out: *mut Handle,
    capacity: Int,
    count: *mut Int,
) -> Bool {
    flag::<H>(|_| {
        let live = live::<H>(handle)?;
        // SAFETY: the application's list.
        let pairs = unsafe { list(pairs) };
        let chosen = config::choose(live.configs(), &pairs)?;
        // SAFETY: the application's array.
        unsafe { give_configs(chosen.into_iter(), out, capacity, count) }
    })
}

unsafe extern "C" fn get_config_attrib<H: Host>(
    handle: Handle,
    config: Handle,
    attribute: Int,
    value: *mut Int,
) -> Bool {
    flag::<H>(|_| {
        let answer = live::<H>(handle)?.config(config as usize)?.get(attribute)?;
        if value.is_null() {
            return Err(Error::BadParameter);
        }
        // SAFETY: the application's place.
        unsafe { give(value, answer) };
        Ok(())
    })
}

unsafe extern "C" fn create_context<H: Host>(
    handle: Handle,
    config: Handle,
    share: Handle,
    pairs: *const Int,
) -> Handle {
    call::<H, _>(ptr::null_mut(), |_| {
        let display = display::<H>(handle)?;
        let live = display.live()?;
        // SAFETY: the application's list.
        let pairs = unsafe { list(pairs) };
        let share = (!share.is_null()).then_some(share as usize);
        Ok(live.create_context(&display, config as usize, share, &pairs)? as Handle)
    })
}

extern "C" fn destroy_context<H: Host>(handle: Handle, context: Handle) -> Bool {
    flag::<H>(|_| live::<H>(handle)?.destroy_context(context as usize))
}

unsafe extern "C" fn query_context<H: Host>(
    handle: Handle,
    context: Handle,
    attribute: Int,
    value: *mut Int,
) -> Bool {
    flag::<H>(|thread| {
        let context = live::<H>(handle)?.context(context as usize)?;
        let answer = context.query(attribute, thread.draw_of(context.handle))?;
        if value.is_null() {
            return Err(Error::BadParameter);
        }
        // SAFETY: the application's place.
        unsafe { give(value, answer) };
        Ok(())
    })
}

extern "C" fn make_current<H: Host>(handle: Handle, draw: Handle, read: Handle, context: Handle) -> Bool {
    flag::<H>(|thread| {
        thread.make_current(H::egl(), handle as usize, draw as usize, read as usize, context as usize)
    })
}

extern "C" fn get_current_context<H: Host>() -> Handle {
    call::<H, _>(ptr::null_mut(), |thread| Ok(thread.context() as Handle))
}

extern "C" fn get_current_display<H: Host>() -> Handle {
    call::<H, _>(ptr::null_mut(), |thread| Ok(thread.display() as Handle))
}

extern "C" fn get_current_surface<H: Host>(which: Int) -> Handle {
    call::<H, _>(ptr::null_mut(), |thread| Ok(thread.surface(which)? as Handle))
}

extern "C" fn bind_api<H: Host>(api: u32) -> Bool {
    flag::<H>(|thread| thread.bind_api(api.cast_signed()))
}

extern "C" fn query_api<H: Host>() -> u32 {
    call::<H, _>(0, |thread| Ok(thread.api().cast_unsigned()))
}

extern "C" fn release_thread<H: Host>() -> Bool {
    flag::<H>(|thread| {
        thread.reset();
        Ok(())
    })
}

/// A window surface for a native window.
fn window_surface<H: Host>(
    handle: Handle,
    config: Handle,
    window: usize,
    pairs: &[(Int, Int)],
) -> Outcome<Handle> {
    let display = display::<H>(handle)?;
    Ok(display.live()?.create_window(&display, config as usize, window, pairs)? as Handle)
}

unsafe extern "C" fn create_window_surface<H: Host>(
    handle: Handle,
    config: Handle,
    window: usize,
    pairs: *const Int,
) -> Handle {
    call::<H, _>(ptr::null_mut(), |_| {
        // SAFETY: the application's list.
        let pairs = unsafe { list(pairs) };
        window_surface::<H>(handle, config, window, &pairs)
    })
}

/// The window that a platform's argument points at: on X11, an XID (EGL_EXT_platform_x11).
///
/// # Safety
/// It is null or points at a native window.
unsafe fn pointed_window(window: *const usize) -> usize {
    // SAFETY: as the caller says.
    if window.is_null() { 0 } else { unsafe { *window } }
}

unsafe extern "C" fn create_platform_window_surface<H: Host>(
    handle: Handle,
    config: Handle,
    window: *const usize,
    pairs: *const isize,
) -> Handle {
    call::<H, _>(ptr::null_mut(), |_| {
        // SAFETY: the application's list.
        let pairs = unsafe { attrib_list(pairs) }?;
        // SAFETY: the application's window.
        window_surface::<H>(handle, config, unsafe { pointed_window(window) }, &pairs)
    })
}

unsafe extern "C" fn create_platform_window_surface_ext<H: Host>(
    handle: Handle,
    config: Handle,
    window: *const usize,
    pairs: *const Int,
) -> Handle {
    call::<H, _>(ptr::null_mut(), |_| {
        // SAFETY: the application's list.
        let pairs = unsafe { list(pairs) };
        // SAFETY: the application's window.
        window_surface::<H>(handle, config, unsafe { pointed_window(window) }, &pairs)
    })
}

unsafe extern "C" fn create_pbuffer_surface<H: Host>(
    handle: Handle,
    config: Handle,
    pairs: *const Int,
) -> Handle {
    call::<H, _>(ptr::null_mut(), |_| {
        let display = display::<H>(handle)?;
        let live = display.live()?;
        // SAFETY: the application's list.
        let pairs = unsafe { list(pairs) };
        Ok(live.create_pbuffer(&display, config as usize, &pairs)? as Handle)
    })
}

/// No config has `EGL_PIXMAP_BIT` (section 3.5.4).
fn no_pixmaps<H: Host>(handle: Handle, config: Handle) -> Handle {
    call::<H, _>(ptr::null_mut(), |_| {
        live::<H>(handle)?.config(config as usize)?;
        Err(Error::BadMatch)
    })
}

extern "C" fn create_pixmap_surface<H: Host>(
    handle: Handle,
    config: Handle,
    _: usize,
    _: *const Int,
) -> Handle {
    no_pixmaps::<H>(handle, config)
}

extern "C" fn create_platform_pixmap_surface<H: Host>(
    handle: Handle,
    config: Handle,
    _: *const c_void,
    _: *const isize,
) -> Handle {
    no_pixmaps::<H>(handle, config)
}

extern "C" fn create_platform_pixmap_surface_ext<H: Host>(
    handle: Handle,
    config: Handle,
    _: *const c_void,
    _: *const Int,
) -> Handle {
    no_pixmaps::<H>(handle, config)
}

/// Client buffers are OpenVG's (section 3.5.3), which there is none of.
extern "C" fn create_pbuffer_from_client_buffer<H: Host>(
    handle: Handle,
    _: u32,
    _: *mut c_void,
    config: Handle,
    _: *const Int,
) -> Handle {
    call::<H, _>(ptr::null_mut(), |_| {
        live::<H>(handle)?.config(config as usize)?;
        Err(Error::BadParameter)
    })
}

extern "C" fn destroy_surface<H: Host>(handle: Handle, surface: Handle) -> Bool {
    flag::<H>(|_| live::<H>(handle)?.destroy_surface(surface as usize))
}

unsafe extern "C" fn query_surface<H: Host>(
    handle: Handle,
    surface: Handle,
    attribute: Int,
    value: *mut Int,
) -> Bool {
    flag::<H>(|_| {
        let answer = live::<H>(handle)?.surface(surface as usize)?.query(attribute)?;
        if let Some(answer) = answer {
            // SAFETY: the application's place.
            unsafe { give(value, answer) };
        }
        Ok(())
    })
}

extern "C" fn surface_attrib<H: Host>(handle: Handle, surface: Handle, attribute: Int, value: Int) -> Bool {
    flag::<H>(|_| live::<H>(handle)?.surface(surface as usize)?.set(attribute, value))
}

/// Only a pbuffer whose config can be bound to a texture has images for one (section 3.6), and no config can.
fn no_texture<H: Host>(handle: Handle, surface: Handle, buffer: Int) -> Bool {
    flag::<H>(|_| {
        let surface = live::<H>(handle)?.surface(surface as usize)?;
        if buffer != egl::BACK_BUFFER {
            return Err(Error::BadParameter);
        }
        Err(if surface.is_window() { Error::BadSurface } else { Error::BadMatch })
    })
}

extern "C" fn bind_tex_image<H: Host>(handle: Handle, surface: Handle, buffer: Int) -> Bool {
    no_texture::<H>(handle, surface, buffer)
}

extern "C" fn release_tex_image<H: Host>(handle: Handle, surface: Handle, buffer: Int) -> Bool {
    no_texture::<H>(handle, surface, buffer)
}

extern "C" fn swap_buffers<H: Host>(handle: Handle, surface: Handle) -> Bool {
    flag::<H>(|thread| thread.swap(H::egl(), handle as usize, surface as usize))
}

/// Native pixmaps are nothing that a server of another process can copy to (section 3.10.2).
extern "C" fn copy_buffers<H: Host>(handle: Handle, surface: Handle, _: usize) -> Bool {
    flag::<H>(|_| {
        live::<H>(handle)?.surface(surface as usize)?;
        Err(Error::BadNativePixmap)
    })
}

extern "C" fn swap_interval<H: Host>(handle: Handle, interval: Int) -> Bool {
    flag::<H>(|thread| {
        live::<H>(handle)?;
        thread.swap_interval(interval)
    })
}

extern "C" fn wait_client<H: Host>() -> Bool {
    flag::<H>(Thread::wait_client)
}

extern "C" fn wait_gl<H: Host>() -> Bool {
    flag::<H>(Thread::wait_client)
}

extern "C" fn wait_native<H: Host>(engine: Int) -> Bool {
    flag::<H>(|thread| thread.wait_native(engine))
}

unsafe extern "C" fn get_proc_address<H: Host>(name: *const c_char) -> *const c_void {
    if name.is_null() {
        return ptr::null();
    }
    // SAFETY: a text of the application's.
    let name = unsafe { CStr::from_ptr(name) };
    proc_address::<H>(name).unwrap_or(ptr::null())
}
