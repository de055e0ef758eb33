//! What the driver says of itself: its debug messages, for whoever asked for them.

use std::{
    ffi::{c_char, c_void},
    fmt, slice,
};

use glow::HasContext;

use crate::{
    extended::call,
    gl::{Gl, gl},
};

/// `GL_DEBUG_TYPE_UNDEFINED_BEHAVIOR` (OpenGL ES 3.2 table 20.2).
const UNDEFINED_BEHAVIOR: u32 = 0x824E;

type Hear = dyn Fn(&str) + Send + Sync;

/// Who hears of the driver's errors. Contexts hold its address, so it stays until they are destroyed.
pub(crate) struct DriverLog(Box<Box<Hear>>);

impl fmt::Debug for DriverLog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("DriverLog")
    }
}

impl DriverLog {
    pub(crate) fn new(hear: impl Fn(&str) + Send + Sync + 'static) -> Self {
        Self(Box::new(Box::new(hear)))
    }

    /// Has the current context call, from inside the call that is at fault.
    pub(crate) fn listen(&self, gl: &Gl) {
        if let Some(set) = gl.extended.debug_message_callback {
            let to: *const Box<Hear> = &raw const *self.0;
            call!(set, Some(heard), to.cast());
            gl!(gl, enable(glow::DEBUG_OUTPUT));
            gl!(gl, enable(glow::DEBUG_OUTPUT_SYNCHRONOUS));
        }
    }
}

unsafe extern "system" fn heard(
    _source: u32,
    kind: u32,
    id: u32,
    _severity: u32,
    length: i32,
    text: *const c_char,
    hear: *const c_void,
) {
    if !matches!(kind, glow::DEBUG_TYPE_ERROR | UNDEFINED_BEHAVIOR) {
        return;
    }
    let length = usize::try_from(length).unwrap_or(0);
    // SAFETY: the driver gives as many bytes as it says (OpenGL ES 3.2 section 20.2).
    let text = unsafe { slice::from_raw_parts(text.cast::<u8>(), length) };
    // SAFETY: what `listen` gave, which outlives the context.
    let hear = unsafe { &*hear.cast::<Box<Hear>>() };
    let text = String::from_utf8_lossy(text);
    hear(&format!("the driver: {} ({id})", text.trim_end()));
}
