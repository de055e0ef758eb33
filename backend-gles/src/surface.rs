//! Surfaces: pbuffers, windows, and none; presents.

use std::{collections::HashMap, ffi::c_void, fmt, ptr};

use khronos_egl as egl;
use runahead_core::NativeConfig;
use runahead_wire::{format::Format, payload::SurfaceChanged};

use crate::{
    bringup::{Display, Pointer},
    egl::{EglError, ask},
};

/// How a surface is now.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct State {
    /// Pixels along x.
    pub width: u32,
    /// Pixels along y.
    pub height: u32,
    /// Colour format; undefined for a surface without images.
    pub format: Format,
    /// Samples of a pixel.
    pub samples: u32,
}

/// Why nothing became of a surface operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SurfaceError {
    /// The config is none, or does not do for such a surface.
    Config(String),
    /// The window is none, or not one that can be drawn to.
    Window(String),
    /// There is no such surface.
    Unknown,
    /// EGL's word.
    Egl(EglError),
}

/// Tells whether a window may have another size than when it was asked last. It is asked after each present; without
/// one EGL is, which waits for the window system.
pub struct Resized(Box<dyn FnMut() -> bool + Send + Sync>);

impl Resized {
    /// Asks a function.
    pub fn new(resized: impl FnMut() -> bool + Send + Sync + 'static) -> Self {
        Self(Box::new(resized))
    }
}

impl fmt::Debug for Resized {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Resized")
    }
}

/// What a surface presents to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Surfaceless,
    Pbuffer,
    Window,
}

#[derive(Debug)]
struct Surface {
    kind: Kind,
    handle: Pointer,
    config: Option<NativeConfig>,
    state: State,
    /// Interval that was asked for, and the one that EGL was told.
    interval: i32,
    told_interval: Option<i32>,
    /// Of a window.
    resized: Option<Resized>,
}

/// The surfaces of a session.
#[derive(Debug, Default)]
pub(crate) struct Surfaces {
    by_token: HashMap<u64, Surface>,
    /// Destroyed while current.
    condemned: Vec<Pointer>,
}

/// Colour format of a config, as attachments and copies see it.
fn format_of(config: &NativeConfig) -> Format {
    match (config.red, config.green, config.blue, config.alpha) {
        (8, 8, 8, 0) => Format::Rgb8,
        (5, 6, 5, 0) => Format::Rgb565,
        (5, 5, 5, 1) => Format::Rgb5A1,
        (4, 4, 4, 4) => Format::Rgba4,
        (10, 10, 10, _) => Format::Rgb10A2,
        (16, 16, 16, _) => Format::Rgba16F,
        _ => Format::Rgba8,
    }
}

impl Surfaces {
    fn size(display: &Display, handle: Pointer) -> Result<(u32, u32), EglError> {
        let egl = &display.egl;
        let get = |name| {
            let mut value = 0;
            egl.check(
                "eglQuerySurface",
                ask!(egl, query_surface(display.handle.0, handle.0, name, &raw mut value)),
            )?;
            Ok(u32::try_from(value).unwrap_or(0))
        };
        Ok((get(egl::WIDTH)?, get(egl::HEIGHT)?))
    }

    fn insert(
        &mut self,
        display: &Display,
        token: u64,
        kind: Kind,
        handle: Pointer,
        config: NativeConfig,
        resized: Option<Resized>,
    ) -> Result<State, SurfaceError> {
        let (width, height) = match Self::size(display, handle) {
            Ok(size) => size,
            Err(error) => {
                display.destroy_surface(handle);
                return Err(SurfaceError::Egl(error));
            }
        };
        let state = State { width, height, format: format_of(&config), samples: u32::from(config.samples) };
        let surface =
            Surface { kind, handle, config: Some(config), state, interval: 1, told_interval: None, resized };
        self.by_token.insert(token, surface);
        Ok(state)
    }

    fn pbuffer(
        display: &Display,
        config: &NativeConfig,
        handle: Pointer,
        width: u32,
        height: u32,
    ) -> Result<Pointer, SurfaceError> {
        let fits = |size: u32, max: u32| max == 0 || size <= max;
        if !config.pbuffer
            || !fits(width, config.max_pbuffer_width)
            || !fits(height, config.max_pbuffer_height)
        {
            return Err(SurfaceError::Config(format!(
                "config {} has no pbuffers of {width} x {height} pixels",
                config.id
            )));
        }
        let side = |pixels: u32| egl::Int::try_from(pixels).unwrap_or(egl::Int::MAX);
        let attributes = [egl::WIDTH, side(width), egl::HEIGHT, side(height), egl::NONE];
        let surface =
            ask!(display.egl, create_pbuffer_surface(display.handle.0, handle.0, attributes.as_ptr()));
        if surface.is_null() {
            return Err(SurfaceError::Egl(display.egl.error("eglCreatePbufferSurface")));
        }
        Ok(Pointer(surface))
    }

    fn config(display: &Display, id: u32) -> Result<(NativeConfig, Pointer), SurfaceError> {
        display.config(id).copied().ok_or_else(|| SurfaceError::Config(format!("there is no config {id}")))
    }

    pub(crate) fn create_pbuffer(
        &mut self,
        display: &Display,
        token: u64,
        config: u32,
        width: u32,
        height: u32,
    ) -> Result<State, SurfaceError> {
        let (config, handle) = Self::config(display, config)?;
        let surface = Self::pbuffer(display, &config, handle, width, height)?;
        self.insert(display, token, Kind::Pbuffer, surface, config, None)
    }

    pub(crate) fn create_window(
        &mut self,
        display: &Display,
        token: u64,
        config: u32,
        window: *mut c_void,
        resized: Option<Resized>,
    ) -> Result<State, SurfaceError> {
        let (config, handle) = Self::config(display, config)?;
        if !config.window {
            return Err(SurfaceError::Config(format!("config {} has no windows", config.id)));
        }
        let surface = ask!(
            display.egl,
            create_platform_window_surface(display.handle.0, handle.0, window, ptr::null())
        );
        if surface.is_null() {
            return Err(match display.egl.error("eglCreatePlatformWindowSurface") {
                error @ EglError::Failed { error: egl::BAD_NATIVE_WINDOW, .. } => {
                    SurfaceError::Window(error.to_string())
                }
                error @ EglError::Failed { error: egl::BAD_MATCH | egl::BAD_CONFIG, .. } => {
                    SurfaceError::Config(error.to_string())
                }
                error => SurfaceError::Egl(error),
            });
        }
        self.insert(display, token, Kind::Window, Pointer(surface), config, resized)
    }

    pub(crate) fn create_surfaceless(&mut self, token: u64) -> State {
        let surface = Surface {
            kind: Kind::Surfaceless,
            handle: Pointer::NONE,
            config: None,
            state: State::default(),
            interval: 1,
            told_interval: None,
            resized: None,
        };
        self.by_token.insert(token, surface);
        State::default()
    }

    /// A pbuffer gets other images; a window has the size that its window system says.
    pub(crate) fn resize(
        &mut self,
        display: &Display,
        token: u64,
        width: u32,
        height: u32,
        current: bool,
    ) -> Result<State, SurfaceError> {
        let surface = self.by_token.get_mut(&token).ok_or(SurfaceError::Unknown)?;
        match (surface.kind, surface.config) {
            (Kind::Pbuffer, Some(config)) => {
                let (_, handle) = Self::config(display, config.id)?;
                let new = Self::pbuffer(display, &config, handle, width, height)?;
                let old = std::mem::replace(&mut surface.handle, new);
                let (width, height) = Self::size(display, new).map_err(SurfaceError::Egl)?;
                surface.state = State { width, height, ..surface.state };
                if current {
                    self.condemned.push(old);
                } else {
                    display.destroy_surface(old);
                }
            }
            (Kind::Window, _) if !surface.handle.0.is_null() => {
                let (width, height) = Self::size(display, surface.handle).map_err(SurfaceError::Egl)?;
                surface.state = State { width, height, ..surface.state };
            }
            _ => {}
        }
        Ok(surface.state)
    }

    pub(crate) fn set_interval(&mut self, token: u64, frames: i32) -> Result<State, SurfaceError> {
        let surface = self.by_token.get_mut(&token).ok_or(SurfaceError::Unknown)?;
        surface.interval = frames;
        Ok(surface.state)
    }

    /// Lets go of a window, or of the whole surface.
    pub(crate) fn release(
        &mut self,
        display: &Display,
        token: u64,
        current: bool,
        whole: bool,
    ) -> Result<State, SurfaceError> {
        let surface = self.by_token.get_mut(&token).ok_or(SurfaceError::Unknown)?;
        let handle = std::mem::replace(&mut surface.handle, Pointer::NONE);
        surface.state =
            State { width: surface.state.width, height: surface.state.height, ..State::default() };
        let state = surface.state;
        if whole {
            self.by_token.remove(&token);
        }
        if !handle.0.is_null() {
            if current {
                self.condemned.push(handle);
            } else {
                display.destroy_surface(handle);
            }
        }
        Ok(state)
    }

    /// The native surface of a token; none for a surface without images.
    pub(crate) fn handle(&self, token: u64) -> Pointer {
        self.by_token.get(&token).map_or(Pointer::NONE, |surface| surface.handle)
    }

    /// Destroys what was destroyed while it was current. Nothing is current any more but what was made so just now.
    pub(crate) fn bury(&mut self, display: &Display) {
        for surface in self.condemned.drain(..) {
            display.destroy_surface(surface);
        }
    }

    /// Presents a surface, which is current. The answer is how it is now, if that is another size than before.
    pub(crate) fn present(
        &mut self,
        display: &Display,
        token: u64,
    ) -> Result<Option<SurfaceChanged>, EglError> {
        let Some(surface) = self.by_token.get_mut(&token) else { return Ok(None) };
        if surface.kind != Kind::Window || surface.handle.0.is_null() {
            return Ok(None);
        }
        let egl = &display.egl;
        if surface.told_interval != Some(surface.interval) {
            egl.check("eglSwapInterval", ask!(egl, swap_interval(display.handle.0, surface.interval)))?;
            surface.told_interval = Some(surface.interval);
        }
        egl.check("eglSwapBuffers", ask!(egl, swap_buffers(display.handle.0, surface.handle.0)))?;
        if surface.resized.as_mut().is_some_and(|resized| !resized.0()) {
            return Ok(None);
        }
        let (width, height) = Self::size(display, surface.handle)?;
        if (width, height) == (surface.state.width, surface.state.height) {
            return Ok(None);
        }
        surface.state = State { width, height, ..surface.state };
        Ok(Some(SurfaceChanged {
            surface: token,
            width,
            height,
            internal_format: surface.state.format.raw(),
            samples: surface.state.samples as u16,
            layers: 1,
            is_default: 1,
            ..SurfaceChanged::default()
        }))
    }

    /// Whether the surface presents to something.
    pub(crate) fn presents(&self, token: u64) -> bool {
        self.by_token
            .get(&token)
            .is_some_and(|surface| surface.kind == Kind::Window && !surface.handle.0.is_null())
    }

    /// Destroys every surface.
    pub(crate) fn end(&mut self, display: &Display) {
        self.bury(display);
        for (_, surface) in self.by_token.drain() {
            if !surface.handle.0.is_null() {
                display.destroy_surface(surface.handle);
            }
        }
    }
}
