//! Shared libraries that are loaded at run time and stay.

use std::{
    ffi::{CStr, CString, c_void},
    path::Path,
    ptr::NonNull,
};

/// A library that stays loaded until the process ends: a driver keeps threads and exit handlers of its own.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Library(NonNull<c_void>);

// SAFETY: a handle of `dlopen` is the process's, and `dlsym` may be called from any thread.
unsafe impl Send for Library {}
// SAFETY: as above.
unsafe impl Sync for Library {}

impl Library {
    /// Loads a library by name or path.
    ///
    /// # Safety
    /// What the library does when it is loaded is sound.
    ///
    /// # Errors
    /// The dynamic linker's words.
    pub(crate) unsafe fn open(name: &Path) -> Result<Self, String> {
        use std::os::unix::ffi::OsStrExt;
        let path = CString::new(name.as_os_str().as_bytes())
            .map_err(|_| format!("{} is no file name", name.display()))?;
        // SAFETY: the path is NUL-terminated; the caller answers for the library.
        let handle = unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
        NonNull::new(handle).map(Self).ok_or_else(|| {
            // SAFETY: a plain call; the text is this thread's until the next one.
            let text = unsafe { libc::dlerror() };
            if text.is_null() {
                return format!("{} cannot be loaded", name.display());
            }
            // SAFETY: not null, and NUL-terminated.
            let text = unsafe { CStr::from_ptr(text) };
            text.to_string_lossy().into_owned()
        })
    }

    /// Address of a symbol; null when there is none.
    pub(crate) fn symbol(&self, name: &CStr) -> *const c_void {
        // SAFETY: the handle is open for good and the name NUL-terminated.
        unsafe { libc::dlsym(self.0.as_ptr(), name.as_ptr()) }
    }
}
