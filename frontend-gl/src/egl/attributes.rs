//! Attribute lists of contexts and surfaces.

use super::{
    error::{Error, Outcome},
    names as egl,
};

/// What a context is to be (section 3.7.1.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ContextRequest {
    /// Version, major number.
    pub major: i32,
    /// Version, minor number.
    pub minor: i32,
    /// A debug context.
    pub debug: bool,
    /// Robust buffer access.
    pub robust: bool,
    /// The context is lost on a reset, and says so.
    pub lose_on_reset: bool,
}

/// `EGL_CONTEXT_OPENGL_DEBUG_BIT_KHR` and `EGL_CONTEXT_OPENGL_ROBUST_ACCESS_BIT_KHR` of the flags.
const DEBUG_BIT: i32 = 1;
const ROBUST_BIT: i32 = 4;

impl ContextRequest {
    /// Reads a list, for OpenGL ES.
    ///
    /// # Errors
    /// [`Error::BadAttribute`].
    pub fn new(list: &[(i32, i32)]) -> Outcome<Self> {
        let mut request = Self { major: 1, minor: 0, debug: false, robust: false, lose_on_reset: false };
        for &(attribute, value) in list {
            match attribute {
                egl::CONTEXT_MAJOR_VERSION => request.major = value,
                egl::CONTEXT_MINOR_VERSION => request.minor = value,
                egl::CONTEXT_OPENGL_DEBUG => request.debug = switch(value)?,
                egl::CONTEXT_OPENGL_ROBUST_ACCESS | egl::CONTEXT_OPENGL_ROBUST_ACCESS_EXT => {
                    request.robust = switch(value)?;
                }
                egl::CONTEXT_OPENGL_RESET_NOTIFICATION_STRATEGY
                | egl::CONTEXT_OPENGL_RESET_NOTIFICATION_STRATEGY_EXT => {
                    request.lose_on_reset = match value {
                        egl::NO_RESET_NOTIFICATION => false,
                        egl::LOSE_CONTEXT_ON_RESET => true,
                        _ => return Err(Error::BadAttribute),
                    };
                }
                egl::CONTEXT_FLAGS_KHR if value & !(DEBUG_BIT | ROBUST_BIT) == 0 => {
                    request.debug = value & DEBUG_BIT != 0;
                    request.robust = value & ROBUST_BIT != 0;
                }
                // Profiles and forward compatibility are OpenGL's.
                _ => return Err(Error::BadAttribute),
            }
        }
        Ok(request)
    }

    /// Whether there is such a context.
    #[must_use]
    pub const fn is_supported(&self) -> bool {
        self.major == 2 && self.minor == 0
    }
}

fn switch(value: i32) -> Outcome<bool> {
    match value {
        egl::TRUE => Ok(true),
        egl::FALSE => Ok(false),
        _ => Err(Error::BadAttribute),
    }
}

/// Checks the attributes of a window surface (section 3.5.1): it is double-buffered, linear and of no other kind.
///
/// # Errors
/// [`Error::BadAttribute`], [`Error::BadMatch`].
pub fn window(list: &[(i32, i32)]) -> Outcome {
    for &(attribute, value) in list {
        match (attribute, value) {
            // What is drawn where is a hint (section 3.5.1): a surface may be double-buffered all the same.
            (egl::RENDER_BUFFER, egl::BACK_BUFFER | egl::SINGLE_BUFFER) => {}
            (egl::VG_COLORSPACE, egl::VG_COLORSPACE_SRGB | egl::VG_COLORSPACE_LINEAR)
            | (egl::VG_ALPHA_FORMAT, egl::VG_ALPHA_FORMAT_NONPRE) => {}
            (egl::VG_ALPHA_FORMAT, egl::VG_ALPHA_FORMAT_PRE) => return Err(Error::BadMatch),
            _ => return Err(Error::BadAttribute),
        }
    }
    Ok(())
}

/// What a pbuffer is to be (section 3.5.2).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PbufferRequest {
    /// Pixels along x.
    pub width: u32,
    /// Pixels along y.
    pub height: u32,
    /// A smaller one will do.
    pub largest: bool,
}

impl PbufferRequest {
    /// Reads a list.
    ///
    /// # Errors
    /// [`Error::BadAttribute`], [`Error::BadParameter`], [`Error::BadMatch`].
    pub fn new(list: &[(i32, i32)]) -> Outcome<Self> {
        let mut request = Self::default();
        let size = |value| u32::try_from(value).map_err(|_| Error::BadParameter);
        for &(attribute, value) in list {
            match (attribute, value) {
                (egl::WIDTH, _) => request.width = size(value)?,
                (egl::HEIGHT, _) => request.height = size(value)?,
                (egl::LARGEST_PBUFFER, _) => request.largest = switch(value)?,
                (egl::TEXTURE_FORMAT | egl::TEXTURE_TARGET, egl::NO_TEXTURE)
                | (egl::MIPMAP_TEXTURE, egl::TRUE | egl::FALSE)
                | (egl::VG_COLORSPACE, egl::VG_COLORSPACE_SRGB | egl::VG_COLORSPACE_LINEAR)
                | (egl::VG_ALPHA_FORMAT, egl::VG_ALPHA_FORMAT_NONPRE | egl::VG_ALPHA_FORMAT_PRE) => {}
                // No config can be bound to a texture.
                (egl::TEXTURE_FORMAT, egl::TEXTURE_RGB | egl::TEXTURE_RGBA)
                | (egl::TEXTURE_TARGET, egl::TEXTURE_2D) => return Err(Error::BadMatch),
                _ => return Err(Error::BadAttribute),
            }
        }
        Ok(request)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_context_is_of_version_1_unless_it_says_so() {
        let plain = ContextRequest::new(&[]).unwrap();
        assert_eq!((plain.major, plain.minor), (1, 0));
        assert!(!plain.is_supported());
        assert!(ContextRequest::new(&[(egl::CONTEXT_MAJOR_VERSION, 2)]).unwrap().is_supported());
        let three = [(egl::CONTEXT_MAJOR_VERSION, 3), (egl::CONTEXT_MINOR_VERSION, 2)];
        assert!(!ContextRequest::new(&three).unwrap().is_supported());
    }

    #[test]
    fn flags_and_their_attributes_say_the_same() {
        let flags = ContextRequest::new(&[(egl::CONTEXT_FLAGS_KHR, DEBUG_BIT | ROBUST_BIT)]).unwrap();
        let attributes =
            [(egl::CONTEXT_OPENGL_DEBUG, egl::TRUE), (egl::CONTEXT_OPENGL_ROBUST_ACCESS, egl::TRUE)];
        assert_eq!(ContextRequest::new(&attributes), Ok(flags));
    }

    #[test]
    fn what_is_no_attribute_is_refused() {
        for bad in [
            (egl::CONTEXT_OPENGL_PROFILE_MASK, 1),
            (egl::CONTEXT_FLAGS_KHR, 2),
            (egl::CONTEXT_OPENGL_DEBUG, 2),
            (egl::CONTEXT_OPENGL_RESET_NOTIFICATION_STRATEGY, egl::NONE),
            (egl::WIDTH, 1),
        ] {
            assert_eq!(ContextRequest::new(&[bad]), Err(Error::BadAttribute), "{bad:?}");
        }
        assert_eq!(window(&[(egl::WIDTH, 1)]), Err(Error::BadAttribute));
        assert_eq!(window(&[(egl::VG_ALPHA_FORMAT, egl::VG_ALPHA_FORMAT_PRE)]), Err(Error::BadMatch));
        assert_eq!(window(&[(egl::RENDER_BUFFER, egl::SINGLE_BUFFER)]), Ok(()));
        assert_eq!(PbufferRequest::new(&[(egl::WIDTH, -1)]), Err(Error::BadParameter));
        assert_eq!(PbufferRequest::new(&[(egl::RENDER_BUFFER, egl::BACK_BUFFER)]), Err(Error::BadAttribute));
        assert_eq!(PbufferRequest::new(&[(egl::TEXTURE_FORMAT, egl::TEXTURE_RGBA)]), Err(Error::BadMatch));
        let largest = [(egl::WIDTH, 4), (egl::HEIGHT, 2), (egl::LARGEST_PBUFFER, egl::TRUE)];
        let request = PbufferRequest { width: 4, height: 2, largest: true };
        assert_eq!(PbufferRequest::new(&largest), Ok(request));
    }
}
