//! The system's EGL driver without the dispatcher: in a process whose `libEGL` dispatches to Runahead, asking that
//! for a display would lead back to ourselves.
//!
//! A vendor library of libglvnd hands its functions out by an entry point of its own. Source: `glvnd/libeglabi.h`, ABI
//! 0.1 and later of libglvnd 1.

use std::{
    ffi::{CStr, c_char, c_int, c_void},
    fs,
    path::{Path, PathBuf},
    ptr,
    sync::OnceLock,
};

use serde::Deserialize;

use super::library::Library;

/// The ABI that we are: major 0, minor 2.
const ABI: u32 = 2;

/// Where distributions put the descriptions of vendor libraries, in libglvnd's order.
const DIRECTORIES: [&str; 2] = ["/etc/glvnd/egl_vendor.d", "/usr/share/glvnd/egl_vendor.d"];

/// The functions of the dispatcher that a vendor library calls (`__EGLapiExports`).
#[repr(C)]
struct Exports {
    thread_init: extern "C" fn(),
    current_api: extern "C" fn() -> u32,
    current_vendor: extern "C" fn() -> *mut c_void,
    current_context: extern "C" fn() -> *mut c_void,
    current_display: extern "C" fn() -> *mut c_void,
    current_surface: extern "C" fn(c_int) -> *mut c_void,
    fetch_dispatch_entry: extern "C" fn(*mut c_void, c_int) -> *mut c_void,
    set_egl_error: extern "C" fn(c_int),
    set_last_vendor: extern "C" fn(*mut c_void) -> u32,
    vendor_from_display: extern "C" fn(*mut c_void) -> *mut c_void,
    vendor_from_device: extern "C" fn(*mut c_void) -> *mut c_void,
    set_vendor_for_device: extern "C" fn(*mut c_void, *mut c_void) -> u32,
}

/// `EGL_OPENGL_ES_API`.
const OPENGL_ES: u32 = 0x30A0;

extern "C" fn nothing() {}
extern "C" fn gles() -> u32 {
    OPENGL_ES
}
extern "C" fn cookie() -> *mut c_void {
    (&raw const COOKIE).cast_mut().cast()
}
extern "C" fn none() -> *mut c_void {
    ptr::null_mut()
}
extern "C" fn no_surface(_: c_int) -> *mut c_void {
    ptr::null_mut()
}
extern "C" fn no_entry(_: *mut c_void, _: c_int) -> *mut c_void {
    ptr::null_mut()
}
extern "C" fn drop_error(_: c_int) {}
extern "C" fn taken(_: *mut c_void) -> u32 {
    1
}
extern "C" fn cookie_of(_: *mut c_void) -> *mut c_void {
    cookie()
}
extern "C" fn taken_for(_: *mut c_void, _: *mut c_void) -> u32 {
    1
}

/// Something for a vendor library to know itself by.
static COOKIE: u8 = 0;

/// There is no dispatcher: its dispatch stubs, which these are for, are never called.
static EXPORTS: Exports = Exports {
    thread_init: nothing,
    current_api: gles,
    current_vendor: cookie,
    current_context: none,
    current_display: none,
    current_surface: no_surface,
    fetch_dispatch_entry: no_entry,
    set_egl_error: drop_error,
    set_last_vendor: taken,
    vendor_from_display: cookie_of,
    vendor_from_device: cookie_of,
    set_vendor_for_device: taken_for,
};

type GetPlatformDisplay = unsafe extern "C" fn(u32, *mut c_void, *const isize) -> *mut c_void;
type GetProcAddress = unsafe extern "C" fn(*const c_char) -> *mut c_void;

/// What a vendor library fills in (`__EGLapiImports`). The members that are not called are plain addresses.
#[repr(C)]
#[derive(Clone, Copy)]
struct Imports {
    get_platform_display: Option<GetPlatformDisplay>,
    get_supports_api: usize,
    get_vendor_string: usize,
    get_proc_address: Option<GetProcAddress>,
    get_dispatch_address: usize,
    set_dispatch_index: usize,
    patching: [usize; 4],
    find_native_display_platform: usize,
    /// For later revisions of the ABI, which add members at the end.
    later: [usize; 16],
}

type Main = unsafe extern "C" fn(u32, *const Exports, *mut c_void, *mut Imports) -> u32;

/// A description of a vendor library.
#[derive(Deserialize)]
struct Description {
    #[serde(rename = "ICD")]
    icd: Icd,
}

#[derive(Deserialize)]
struct Icd {
    library_path: PathBuf,
}

/// A vendor library that was brought up.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Vendor {
    get_platform_display: GetPlatformDisplay,
    get_proc_address: GetProcAddress,
}

impl Vendor {
    /// The first vendor library of the system that is not ours. Brought up once a process.
    ///
    /// # Errors
    /// Why none can be used, for the user.
    pub(crate) fn system() -> Result<Self, String> {
        static SYSTEM: OnceLock<Result<Vendor, String>> = OnceLock::new();
        SYSTEM.get_or_init(Self::find).clone()
    }

    fn find() -> Result<Self, String> {
        let mut tried = Vec::new();
        for path in libraries(&DIRECTORIES.map(Path::new)) {
            match Self::open(&path) {
                Ok(vendor) => return Ok(vendor),
                Err(error) => tried.push(error),
            }
        }
        if tried.is_empty() {
            let places = DIRECTORIES.join(" or ");
            return Err(format!("no EGL driver is installed: nothing in {places} names one"));
        }
        Err(tried.join("; "))
    }

    fn open(path: &Path) -> Result<Self, String> {
        // SAFETY: the system's own driver, which every EGL program of this system loads.
        let library = unsafe { Library::open(path) }?;
        let main = library.symbol(c"__egl_Main");
        if main.is_null() {
            return Err(format!("{} is no vendor library of libglvnd", path.display()));
        }
        // SAFETY: not null; the name is that of the entry point of this type.
        let main = unsafe { std::mem::transmute::<*const c_void, Main>(main) };
        // SAFETY: integers of 0, and pointers to functions that may be none.
        let mut imports: Imports = unsafe { std::mem::zeroed() };
        // SAFETY: the exports live for good, the cookie is not null, and the imports have room for what it fills in.
        let taken = unsafe { main(ABI, &raw const EXPORTS, cookie(), &raw mut imports) };
        match (taken, imports.get_platform_display, imports.get_proc_address) {
            (1, Some(get_platform_display), Some(get_proc_address)) => {
                Ok(Self { get_platform_display, get_proc_address })
            }
            _ => {
                Err(format!("{} does not take libglvnd's ABI {}.{}", path.display(), ABI >> 16, ABI & 0xFFFF))
            }
        }
    }

    /// Address of a function; null when there is none.
    pub(crate) fn function(&self, name: &CStr) -> *const c_void {
        if name == c"eglGetPlatformDisplay" {
            // Of the same type, and asked by the dispatcher in the same way.
            return self.get_platform_display as *const c_void;
        }
        // SAFETY: the name is NUL-terminated.
        unsafe { (self.get_proc_address)(name.as_ptr()) }
    }
}

/// Libraries that the descriptions in these directories name, in libglvnd's order, but for our own.
fn libraries(directories: &[&Path]) -> Vec<PathBuf> {
    let mut libraries = Vec::new();
    for directory in directories {
        let Ok(entries) = fs::read_dir(directory) else { continue };
        let mut files: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
        files.retain(|file| file.extension().is_some_and(|extension| extension == "json"));
        files.sort();
        for file in files {
            let Ok(text) = fs::read(&file) else { continue };
            let Ok(Description { icd }) = serde_json::from_slice(&text) else { continue };
            let ours = icd.library_path.file_name().is_some_and(crate::environment::is_our_library);
            if !ours && !libraries.contains(&icd.library_path) {
                libraries.push(icd.library_path);
            }
        }
    }
    libraries
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn our_own_library_is_left_out() {
        let directory = std::env::temp_dir().join(format!("runahead-vendor-{}", std::process::id()));
        fs::create_dir_all(&directory).unwrap();
        let describe = |file: &str, library: &str| {
            let text = format!(r#"{{"file_format_version":"1.0.0","ICD":{{"library_path":"{library}"}}}}"#);
            fs::write(directory.join(file), text).unwrap();
        };
        describe("60_other.json", "libEGL_other.so.0");
        describe("50_mesa.json", "libEGL_mesa.so.0");
        describe("40_runahead.json", "/somewhere/libEGL_runahead.so.0");
        describe("70_again.json", "libEGL_mesa.so.0");
        fs::write(directory.join("10_broken.json"), "{").unwrap();
        fs::write(directory.join("20_notes.txt"), "no description").unwrap();
        let found = libraries(&[Path::new("/does/not/exist"), &directory]);
        fs::remove_dir_all(&directory).unwrap();
        assert_eq!(found, [PathBuf::from("libEGL_mesa.so.0"), PathBuf::from("libEGL_other.so.0")]);
    }
}
