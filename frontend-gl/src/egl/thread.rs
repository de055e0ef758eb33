//! What each thread has: its last error, and what is current (section 3.7.3).

use std::sync::{Arc, atomic::Ordering};

use runahead_core::Shared;
use runahead_wire::{payload::SwapInterval, pipe::Pipe};

use super::{
    Egl,
    display::{Context, GlContext, Surface},
    error::{Error, Outcome, SUCCESS},
    lock, names as egl,
    platform::{Connection, Platform},
};

/// State of a thread. Dropping it lets go of what is current.
#[derive(Debug)]
pub struct Thread<P: Platform> {
    error: i32,
    api: i32,
    current: Option<Current<P>>,
}

/// What is current.
#[derive(Debug)]
struct Current<P: Platform> {
    /// Out of the context's own place while it is current here.
    gl: Box<GlContext<P>>,
    context: Arc<Context<P>>,
    display: usize,
    draw: Option<Arc<Surface<P>>>,
    read: Option<Arc<Surface<P>>>,
}

impl<P: Platform> Current<P> {
    fn surfaces(&self) -> impl Iterator<Item = &Arc<Surface<P>>> {
        self.draw.iter().chain(&self.read)
    }

    /// Puts the context back to where another thread can take it.
    fn release(mut self) {
        self.gl.detach();
        // A session that is lost has nothing to let go of.
        let _ = self.context.link.connection().session().leave();
        for surface in self.surfaces() {
            surface.user.store(0, Ordering::Release);
        }
        *lock(&self.context.gl) = Some(self.gl);
    }
}

impl<P: Platform> Thread<P> {
    /// A thread that has done nothing yet.
    #[must_use]
    pub const fn new() -> Self {
        Self { error: SUCCESS, api: egl::OPENGL_ES_API, current: None }
    }

    /// The context of the client API that is current.
    pub fn gl(&mut self) -> Option<&mut GlContext<P>> {
        self.current.as_mut().map(|current| &mut *current.gl)
    }

    /// Takes the outcome of a call as the last error.
    pub fn note<T>(&mut self, outcome: Outcome<T>) -> Option<T> {
        match outcome {
            Ok(value) => {
                self.error = SUCCESS;
                Some(value)
            }
            Err(error) => {
                self.error = error as i32;
                None
            }
        }
    }

    /// The last error, which is none afterwards.
    pub const fn take_error(&mut self) -> i32 {
        std::mem::replace(&mut self.error, SUCCESS)
    }

    /// The client API of later contexts.
    #[must_use]
    pub const fn api(&self) -> i32 {
        self.api
    }

    /// Binds a client API (section 3.7).
    ///
    /// # Errors
    /// [`Error::BadParameter`].
    pub const fn bind_api(&mut self, api: i32) -> Outcome {
        match api {
            egl::OPENGL_ES_API => {
                self.api = api;
                Ok(())
            }
            _ => Err(Error::BadParameter),
        }
    }

    /// Handle of the context that is current; 0 for none.
    #[must_use]
    pub fn context(&self) -> usize {
        self.current.as_ref().map_or(0, |current| current.context.handle)
    }

    /// Handle of the display of that.
    #[must_use]
    pub fn display(&self) -> usize {
        self.current.as_ref().map_or(0, |current| current.display)
    }

    /// Handle of its surface for drawing or for reading.
    ///
    /// # Errors
    /// [`Error::BadParameter`].
    pub fn surface(&self, which: i32) -> Outcome<usize> {
        let surface = |which: fn(&Current<P>) -> Option<&Arc<Surface<P>>>| {
            self.current.as_ref().and_then(which).map_or(0, |surface| surface.handle)
        };
        match which {
            egl::DRAW => Ok(surface(|current| current.draw.as_ref())),
            egl::READ => Ok(surface(|current| current.read.as_ref())),
            _ => Err(Error::BadParameter),
        }
    }

    /// Its draw surface, where a context is the one that is current here.
    #[must_use]
    pub fn draw_of(&self, context: usize) -> Option<&Surface<P>> {
        let current = self.current.as_ref().filter(|current| current.context.handle == context)?;
        current.draw.as_deref()
    }

    /// Lets go of what is current.
    pub fn release(&mut self) {
        if let Some(current) = self.current.take() {
            current.release();
        }
    }

    /// Forgets all that it has (`eglReleaseThread`).
    pub fn reset(&mut self) {
        self.release();
        *self = Self::new();
    }

    /// Makes a context current (section 3.7.3); 0 is none of each.
    ///
    /// # Errors
    /// As the section has it.
    pub fn make_current(
        &mut self,
        egl: &Egl<P>,
        handle: usize,
        draw: usize,
        read: usize,
        context: usize,
    ) -> Outcome {
        let display = egl.display(handle)?;
        if context == 0 {
            if draw != 0 || read != 0 {
                return Err(Error::BadMatch);
            }
            // Also for a display that is not initialised any more.
            self.release();
            return Ok(());
        }
        // Both or none (EGL_KHR_surfaceless_context).
        if (draw == 0) != (read == 0) {
            return Err(Error::BadMatch);
        }
        let live = display.live()?;
        let context = live.context(context)?;
        let surface = |handle: usize| (handle != 0).then(|| live.surface(handle)).transpose();
        let (draw, read) = (surface(draw)?, surface(read)?);
        let mine = self.current.as_ref().is_some_and(|current| Arc::ptr_eq(&current.context, &context));
        // A surface may be current with one context at a time; the one that is current here lets go of its own.
        let own = self.current.as_ref().map_or(0, |current| current.context.handle as u64);
        for surface in draw.iter().chain(&read) {
            if !context.fits(surface) {
                return Err(Error::BadMatch);
            }
            let user = surface.user.load(Ordering::Acquire);
            if user != 0 && user != own {
                return Err(Error::BadAccess);
            }
        }
        if context.link.is_lost() {
            return Err(Error::ContextLost);
        }
        let native = |surface: &Option<Arc<Surface<P>>>| {
            surface.as_ref().map(|surface| surface.of(&context.link)).transpose()
        };
        let (native_draw, native_read) = (native(&draw)?, native(&read)?);
        let gl = if mine {
            None
        } else {
            // Not there while it is current on another thread.
            Some(lock(&context.gl).take().ok_or(Error::BadAccess)?)
        };
        let mut current = match (gl, self.current.take()) {
            (None, Some(current)) => {
                for surface in current.surfaces() {
                    surface.user.store(0, Ordering::Release);
                }
                Current { draw, read, ..current }
            }
            (gl, before) => {
                if let Some(before) = before {
                    before.release();
                }
                let Some(gl) = gl else { return Err(Error::BadAccess) };
                Current { gl, context, display: handle, draw, read }
            }
        };
        let token = current.context.handle as u64;
        for surface in current.surfaces() {
            surface.user.store(token, Ordering::Release);
        }
        current.gl.attach(native_draw.as_ref(), native_read.as_ref());
        self.current = Some(current);
        Ok(())
    }

    /// Presents a surface (section 3.10.1).
    ///
    /// # Errors
    /// As the section has it.
    pub fn swap(&mut self, egl: &Egl<P>, display: usize, surface: usize) -> Outcome {
        let live = egl.display(display)?.live()?;
        let surface = live.surface(surface)?;
        let drawn = self
            .current
            .as_mut()
            .filter(|current| current.draw.as_ref().is_some_and(|draw| Arc::ptr_eq(draw, &surface)));
        // It must be the draw surface of the calling thread's context.
        let current = drawn.ok_or(Error::BadSurface)?;
        // Nothing to present, and no error.
        if !surface.is_window() {
            return if current.context.link.is_lost() { Err(Error::ContextLost) } else { Ok(()) };
        }
        let connection = current.context.link.connection();
        connection.flush_native();
        let presented = connection.session().present(&current.gl.bind(), &[]);
        if presented.is_err() && current.context.link.is_lost() {
            return Err(Error::ContextLost);
        }
        presented.map_err(|_| Error::BadAlloc)?;
        for (token, width, height) in current.gl.take_resizes() {
            let resized = current.draw.iter().chain(&current.read).filter(|one| one.token() == token);
            resized.for_each(|surface| surface.resized(width, height));
            current.gl.resized(token, width, height);
        }
        Ok(())
    }

    /// Sets the swap interval of the current draw surface (section 3.10.3).
    ///
    /// # Errors
    /// As the section has it.
    pub fn swap_interval(&mut self, interval: i32) -> Outcome {
        let current = self.current.as_ref().ok_or(Error::BadContext)?;
        let surface = current.draw.as_ref().ok_or(Error::BadSurface)?;
        let config = &surface.config;
        let clamped = interval.max(config.min_swap_interval).min(config.max_swap_interval);
        let mut told = lock(&surface.interval);
        if *told == clamped {
            return Ok(());
        }
        let set = current.context.link.connection().session().with(&current.gl.bind(), |turn| {
            turn.pipe.set_swap_interval(&SwapInterval { interval: clamped, ..SwapInterval::default() })
        });
        match set {
            Ok(Ok(())) => {
                *told = clamped;
                Ok(())
            }
            Ok(Err(_)) | Err(_) => Err(Error::ContextLost),
        }
    }

    /// Waits until what was drawn is done (section 3.8).
    ///
    /// # Errors
    /// [`Error::BadCurrentSurface`] is never raised: a surface that was destroyed lives while it is current.
    pub fn wait_client(&mut self) -> Outcome {
        if let Some(current) = &mut self.current {
            current.gl.finish();
        }
        Ok(())
    }

    /// Waits until the window system has done what it was asked for (section 3.8).
    ///
    /// # Errors
    /// [`Error::BadParameter`]: there is no such engine.
    pub fn wait_native(&mut self, engine: i32) -> Outcome {
        if engine != egl::CORE_NATIVE_ENGINE {
            return Err(Error::BadParameter);
        }
        if let Some(current) = &self.current {
            current.context.link.connection().wait_native();
        }
        Ok(())
    }
}

impl<P: Platform> Default for Thread<P> {
    fn default() -> Self {
        Self::new()
    }
}

impl<P: Platform> Drop for Thread<P> {
    fn drop(&mut self) {
        self.release();
    }
}
