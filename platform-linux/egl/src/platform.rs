//! The platforms, and what names a display on them.

use std::{
    ffi::CStr,
    io::{self, Write},
    sync::Arc,
};

use runahead_frontend_gl::{
    egl::{Error, Outcome, Platform, names as egl},
    gl::Mail,
};

use crate::{connection::Connected, x11::Xlib};

/// Platforms, as libglvnd asks for them.
pub const EXTENSIONS: &CStr = c"EGL_EXT_platform_x11 EGL_KHR_platform_x11 EGL_MESA_platform_surfaceless";

/// Linux, with X11 or without a window system.
#[derive(Debug)]
pub struct Linux;

/// What names a display.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Name {
    /// There is no window system.
    Surfaceless,
    /// An X display.
    X11 {
        /// The application's own connection, an Xlib `Display`; 0 where it named none.
        connection: usize,
        /// Name of the X display, as in `DISPLAY`.
        display: String,
    },
}

impl Platform for Linux {
    type Name = Name;
    type Connection = Connected;

    const CLIENT_EXTENSIONS: &'static CStr =
        c"EGL_EXT_client_extensions EGL_EXT_platform_base EGL_EXT_platform_x11 EGL_KHR_platform_x11 EGL_MESA_platform_surfaceless";

    fn name(platform: i32, native: usize, list: &[(isize, isize)]) -> Outcome<Option<Name>> {
        match platform {
            egl::NONE if native == 0 => Ok(Some(default())),
            egl::PLATFORM_SURFACELESS => {
                // Nothing names one of several (EGL_MESA_platform_surfaceless).
                if native != 0 {
                    return Err(Error::BadParameter);
                }
                if !list.is_empty() {
                    return Err(Error::BadAttribute);
                }
                Ok(Some(Name::Surfaceless))
            }
            egl::PLATFORM_X11 => x11(native, list).map(Some),
            _ => Ok(None),
        }
    }

    fn connect(name: &Name, mail: &Arc<Mail>) -> Result<Connected, String> {
        Connected::open(name, mail)
    }

    fn complain(text: &str) {
        // With standard error closed there is nobody left to tell.
        let _ = writeln!(io::stderr(), "runahead: {text}");
    }
}

/// The default display: what `EGL_PLATFORM` says, as with other drivers; else an X display where there is one.
fn default() -> Name {
    let display = std::env::var("DISPLAY").ok().filter(|display| !display.is_empty());
    let wanted = std::env::var("EGL_PLATFORM").unwrap_or_default();
    match (display, wanted.as_str()) {
        (Some(display), "x11" | "") => Name::X11 { connection: 0, display },
        _ => Name::Surfaceless,
    }
}

fn x11(native: usize, list: &[(isize, isize)]) -> Outcome<Name> {
    let screen = list.iter().try_fold(None, |_, &(attribute, value)| {
        if attribute == egl::PLATFORM_X11_SCREEN as isize {
            Ok(Some(value))
        } else {
            Err(Error::BadAttribute)
        }
    })?;
    if native == 0 {
        // Of its own connection the application's screen is not known.
        return match (default(), screen) {
            (name @ Name::X11 { .. }, None | Some(0)) => Ok(name),
            (Name::X11 { .. }, Some(_)) => Err(Error::BadAttribute),
            (Name::Surfaceless, _) => {
                let display = std::env::var("DISPLAY").map_err(|_| Error::BadParameter)?;
                Ok(Name::X11 { connection: 0, display })
            }
        };
    }
    let xlib = Xlib::loaded().ok_or(Error::BadParameter)?;
    // The server's configs are those of the screen that the display's name names.
    if screen.is_some_and(|screen| screen != xlib.default_screen(native)) {
        return Err(Error::BadAttribute);
    }
    let display = xlib.display_name(native).ok_or(Error::BadParameter)?;
    Ok(Name::X11 { connection: native, display })
}
