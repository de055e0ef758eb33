//! The application's own X connection, through the Xlib that it has loaded.
//!
//! Nothing is linked: a program without X has no Xlib. Where it has one, these are the functions that every version of
//! it exports.

use std::{
    ffi::{CStr, c_char, c_int, c_void},
    sync::OnceLock,
};

/// Functions of the application's Xlib.
#[derive(Clone, Copy, Debug)]
pub struct Xlib {
    display_string: unsafe extern "C" fn(*mut c_void) -> *const c_char,
    default_screen: unsafe extern "C" fn(*mut c_void) -> c_int,
    flush: unsafe extern "C" fn(*mut c_void) -> c_int,
    sync: unsafe extern "C" fn(*mut c_void, c_int) -> c_int,
}

impl Xlib {
    /// The Xlib of this process; none where it has none. Once found it stays loaded.
    pub fn loaded() -> Option<&'static Self> {
        static FOUND: OnceLock<Xlib> = OnceLock::new();
        if let Some(found) = FOUND.get() {
            return Some(found);
        }
        let found = Self::find()?;
        Some(FOUND.get_or_init(|| found))
    }

    fn find() -> Option<Self> {
        // Also where it was loaded for nobody but its user, as toolkits do: a handle of our own finds it.
        // SAFETY: a plain call; a library that is loaded already has run what it runs when it is.
        let library = unsafe { libc::dlopen(c"libX11.so.6".as_ptr(), libc::RTLD_LAZY | libc::RTLD_NOLOAD) };
        if library.is_null() {
            return None;
        }
        let symbol = |name: &CStr| {
            // SAFETY: a handle that `dlopen` gave.
            let found = unsafe { libc::dlsym(library, name.as_ptr()) };
            (!found.is_null()).then_some(found)
        };
        let display_string = symbol(c"XDisplayString")?;
        let default_screen = symbol(c"XDefaultScreen")?;
        let flush = symbol(c"XFlush")?;
        let sync = symbol(c"XSync")?;
        Some(Self {
            // SAFETY: Xlib's function of that name has this type.
            display_string: unsafe {
                std::mem::transmute::<*mut c_void, unsafe extern "C" fn(*mut c_void) -> *const c_char>(
                    display_string,
                )
            },
            // SAFETY: as above.
            default_screen: unsafe {
                std::mem::transmute::<*mut c_void, unsafe extern "C" fn(*mut c_void) -> c_int>(default_screen)
            },
            // SAFETY: as above.
            flush: unsafe {
                std::mem::transmute::<*mut c_void, unsafe extern "C" fn(*mut c_void) -> c_int>(flush)
            },
            // SAFETY: as above.
            sync: unsafe {
                std::mem::transmute::<*mut c_void, unsafe extern "C" fn(*mut c_void, c_int) -> c_int>(sync)
            },
        })
    }

    /// Name of the display of a connection.
    pub fn display_name(&self, connection: usize) -> Option<String> {
        // SAFETY: the application says that it is an open display.
        let name = unsafe { (self.display_string)(connection as *mut c_void) };
        if name.is_null() {
            return None;
        }
        // SAFETY: Xlib's text, which lives as long as the display.
        Some(unsafe { CStr::from_ptr(name) }.to_string_lossy().into_owned())
    }

    /// The screen that the name of the display names.
    pub fn default_screen(&self, connection: usize) -> isize {
        // SAFETY: the application says that it is an open display.
        (unsafe { (self.default_screen)(connection as *mut c_void) }) as isize
    }

    /// Sends what the application has asked for.
    pub fn flush(&self, connection: usize) {
        // SAFETY: the application says that it is an open display.
        unsafe { (self.flush)(connection as *mut c_void) };
    }

    /// Waits until what the application has asked for is done. Its events stay in its queue.
    pub fn sync(&self, connection: usize) {
        // SAFETY: the application says that it is an open display.
        unsafe { (self.sync)(connection as *mut c_void, 0) };
    }
}
