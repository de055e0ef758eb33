//! A connection to an X server of our own.
//!
//! By libxcb, loaded when it is needed: Xlib ends the process when a server goes or a request fails, and it is not
//! ours to end. What is drawn to the windows goes the same way, by `EGL_PLATFORM_XCB_EXT`.

use std::{
    collections::HashSet,
    ffi::{CStr, CString, c_int, c_uint, c_void},
    path::Path,
    ptr::NonNull,
    sync::{Arc, Mutex, PoisonError},
};

use super::library::Library;

type Connect = unsafe extern "C" fn(*const std::ffi::c_char, *mut c_int) -> *mut c_void;
type HasError = unsafe extern "C" fn(*mut c_void) -> c_int;
type Disconnect = unsafe extern "C" fn(*mut c_void);
/// The cookie of a request is a structure of one number, which is returned as the number itself.
type GetGeometry = unsafe extern "C" fn(*mut c_void, u32) -> c_uint;
type GeometryReply = unsafe extern "C" fn(*mut c_void, c_uint, *mut *mut c_void) -> *mut c_void;
type ChangeAttributes = unsafe extern "C" fn(*mut c_void, u32, u32, *const u32) -> c_uint;
type PollForEvent = unsafe extern "C" fn(*mut c_void) -> *mut Event;

/// The head of an event that tells of a window (X11 protocol, appendix B, "Events").
#[derive(Clone, Copy)]
#[repr(C)]
struct Event {
    kind: u8,
    _detail: u8,
    _sequence: u16,
    _event: u32,
    window: u32,
}

/// `XCB_CW_EVENT_MASK`, `XCB_EVENT_MASK_STRUCTURE_NOTIFY` and `XCB_CONFIGURE_NOTIFY`.
const EVENT_MASK: u32 = 1 << 11;
const STRUCTURE_NOTIFY: u32 = 1 << 17;
const CONFIGURE_NOTIFY: u8 = 22;
/// In an event that another client sent.
const SENT: u8 = 0x80;

/// A connection.
#[derive(Debug)]
pub(crate) struct Connection {
    handle: NonNull<c_void>,
    library: Library,
    name: String,
    /// Windows that moved or were resized since their watch was asked last.
    moved: Mutex<HashSet<u32>>,
}

// SAFETY: libxcb's connections may be used from any thread (xcb.h: "thread-safe by default").
unsafe impl Send for Connection {}
// SAFETY: as above.
unsafe impl Sync for Connection {}

/// A function of libxcb.
///
/// # Safety
/// `F` is its type.
unsafe fn function<F: Copy>(library: &Library, name: &CStr) -> Result<F, String> {
    let symbol = library.symbol(name);
    if symbol.is_null() {
        return Err(format!("libxcb has no {}", name.to_string_lossy()));
    }
    // SAFETY: not null, a pointer for a function pointer, and the caller knows its type.
    Ok(unsafe { std::mem::transmute_copy::<*const c_void, F>(&symbol) })
}

impl Connection {
    /// Connects to a display, which is named as in `DISPLAY`.
    ///
    /// # Errors
    /// Why it cannot, for the user.
    pub(crate) fn open(display: &str) -> Result<Self, String> {
        let name = CString::new(display).map_err(|_| format!("{display:?} is no X display"))?;
        // SAFETY: libxcb does nothing when it is loaded.
        let library = unsafe { Library::open(Path::new("libxcb.so.1")) }?;
        // SAFETY: the type is xcb.h's.
        let connect: Connect = unsafe { function(&library, c"xcb_connect") }?;
        // SAFETY: as above.
        let has_error: HasError = unsafe { function(&library, c"xcb_connection_has_error") }?;
        // SAFETY: the name is NUL-terminated; no screen is asked for.
        let handle = unsafe { connect(name.as_ptr(), std::ptr::null_mut()) };
        let Some(handle) = NonNull::new(handle) else { return Err("libxcb is out of memory".to_owned()) };
        let connection = Self { handle, library, name: display.to_owned(), moved: Mutex::default() };
        // SAFETY: a connection, broken as it may be.
        match unsafe { has_error(handle.as_ptr()) } {
            0 => Ok(connection),
            _ => Err(format!(
                "no X server answers at {display:?}; is DISPLAY right, and may this user connect?"
            )),
        }
    }

    /// The connection, as EGL takes it.
    pub(crate) const fn pointer(&self) -> *mut c_void {
        self.handle.as_ptr()
    }

    /// The display's name.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Whether there is such a window. It may be gone a moment later.
    ///
    /// # Errors
    /// libxcb lacks a function.
    pub(crate) fn has_window(&self, window: u32) -> Result<bool, String> {
        // SAFETY: the types are xproto.h's.
        let get: GetGeometry = unsafe { function(&self.library, c"xcb_get_geometry") }?;
        // SAFETY: as above.
        let reply: GeometryReply = unsafe { function(&self.library, c"xcb_get_geometry_reply") }?;
        // SAFETY: the connection is open; any number may be asked for.
        let cookie = unsafe { get(self.pointer(), window) };
        let mut error = std::ptr::null_mut();
        // SAFETY: the cookie is that of the request before.
        let answer = unsafe { reply(self.pointer(), cookie, &raw mut error) };
        for memory in [answer, error] {
            // SAFETY: libxcb allocates both by `malloc` and leaves them to the caller; null is fine.
            unsafe { libc::free(memory) };
        }
        Ok(!answer.is_null())
    }
}

impl Connection {
    /// Watches a window: what comes back says whether it may have another size than when it was asked last, without
    /// waiting for the X server.
    ///
    /// # Errors
    /// libxcb lacks a function.
    pub(crate) fn watch(
        self: &Arc<Self>,
        window: u32,
    ) -> Result<impl FnMut() -> bool + Send + Sync + use<>, String> {
        // SAFETY: the types are xproto.h's and xcb.h's.
        let change: ChangeAttributes = unsafe { function(&self.library, c"xcb_change_window_attributes") }?;
        // SAFETY: as above.
        let next: PollForEvent = unsafe { function(&self.library, c"xcb_poll_for_event") }?;
        let values = [STRUCTURE_NOTIFY];
        // What this client is told of is its own affair: the application's selection is another one. That there is no
        // such window shows elsewhere.
        // SAFETY: the connection is open, and the mask has one bit and so one value.
        unsafe { change(self.pointer(), window, EVENT_MASK, values.as_ptr()) };
        let connection = Arc::clone(self);
        Ok(move || connection.has_moved(next, window))
    }

    fn has_moved(&self, next: PollForEvent, window: u32) -> bool {
        let mut moved = self.moved.lock().unwrap_or_else(PoisonError::into_inner);
        // SAFETY: the connection is open.
        while let Some(event) = NonNull::new(unsafe { next(self.pointer()) }) {
            // SAFETY: an event of 32 bytes or more, which is the caller's.
            let head = unsafe { event.read() };
            // SAFETY: allocated by `malloc`, and read.
            unsafe { libc::free(event.as_ptr().cast()) };
            if head.kind & !SENT == CONFIGURE_NOTIFY {
                moved.insert(head.window);
            }
        }
        moved.remove(&window)
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        // SAFETY: the type is xcb.h's.
        if let Ok(disconnect) = unsafe { function::<Disconnect>(&self.library, c"xcb_disconnect") } {
            // SAFETY: nobody uses the connection any more; a broken one is freed as well.
            unsafe { disconnect(self.pointer()) };
        }
    }
}
