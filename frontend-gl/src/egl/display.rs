//! Displays, and the contexts and surfaces that live in them (sections 3.2, 3.5 and 3.7).

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
};

use super::{
    attributes::{ContextRequest, PbufferRequest},
    config::Config,
    error::{Error, Outcome},
    lock, names as egl,
    platform::{Connection, Failure, Platform, SurfaceState},
};
use crate::gl::{self, DrawSurface, Mail};

/// The context of the client API on a platform.
pub type GlContext<P> = gl::Context<<<P as Platform>::Connection as Connection>::Session>;

/// A number that was never given out before, for a handle and its token.
fn mint() -> usize {
    // A handle is no pointer, but programs take small ones for errors.
    static NEXT: AtomicUsize = AtomicUsize::new(0x1_0000);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

fn token(handle: usize) -> u64 {
    handle as u64
}

/// A display (section 3.2).
#[derive(Debug)]
pub struct Display<P: Platform> {
    name: P::Name,
    live: Mutex<Option<Arc<Live<P>>>>,
}

impl<P: Platform> Display<P> {
    pub(super) const fn new(name: P::Name) -> Self {
        Self { name, live: Mutex::new(None) }
    }

    /// What names it.
    pub const fn name(&self) -> &P::Name {
        &self.name
    }

    /// Its handle: where it lies, so that displays of two vendors of one process never have the same.
    pub fn handle(self: &Arc<Self>) -> usize {
        Arc::as_ptr(self) as usize
    }

    /// Initialises it, if it is not.
    ///
    /// # Errors
    /// [`Error::NotInitialized`].
    pub fn initialize(&self) -> Outcome {
        let mut live = lock(&self.live);
        if live.is_none() {
            *live = Some(Arc::new(Live::connect(&self.name)?));
        }
        Ok(())
    }

    /// Ends everything of it that is not current (section 3.2).
    pub fn terminate(&self) {
        let Some(live) = lock(&self.live).take() else { return };
        let (contexts, surfaces) =
            (std::mem::take(&mut *lock(&live.contexts)), std::mem::take(&mut *lock(&live.surfaces)));
        // Without the locks: the server is asked for each.
        drop((contexts, surfaces));
    }

    /// What it is while it is initialised.
    ///
    /// # Errors
    /// [`Error::NotInitialized`].
    pub fn live(&self) -> Outcome<Arc<Live<P>>> {
        lock(&self.live).clone().ok_or(Error::NotInitialized)
    }
}

/// A connection, and how to hear from it.
#[derive(Debug)]
pub struct Link<P: Platform> {
    connection: P::Connection,
    mail: Arc<Mail>,
}

impl<P: Platform> Link<P> {
    fn connect(name: &P::Name) -> Outcome<Arc<Self>> {
        let mail = Arc::new(Mail::default());
        match P::connect(name, &mail) {
            Ok(connection) => Ok(Arc::new(Self { connection, mail })),
            Err(reason) => {
                P::complain(&reason);
                Err(Error::NotInitialized)
            }
        }
    }

    /// The connection.
    pub const fn connection(&self) -> &P::Connection {
        &self.connection
    }

    /// Whether it is lost.
    pub fn is_lost(&self) -> bool {
        self.connection.is_lost()
    }
}

/// An initialised display.
#[derive(Debug)]
pub struct Live<P: Platform> {
    name: std::marker::PhantomData<P>,
    link: Mutex<Arc<Link<P>>>,
    /// Of the first connection: what an application has chosen from stays as it was.
    configs: Vec<Config>,
    contexts: Mutex<HashMap<usize, Arc<Context<P>>>>,
    surfaces: Mutex<HashMap<usize, Arc<Surface<P>>>>,
}

impl<P: Platform> Live<P> {
    fn connect(name: &P::Name) -> Outcome<Self> {
        let link = Link::<P>::connect(name)?;
        Ok(Self {
            name: std::marker::PhantomData,
            configs: link.connection().configs().to_vec(),
            link: Mutex::new(link),
            contexts: Mutex::default(),
            surfaces: Mutex::default(),
        })
    }

    /// Its configs.
    pub fn configs(&self) -> &[Config] {
        &self.configs
    }

    /// The config of a number.
    ///
    /// # Errors
    /// [`Error::BadConfig`].
    pub fn config(&self, handle: usize) -> Outcome<&Config> {
        let id = i32::try_from(handle).map_err(|_| Error::BadConfig)?;
        self.configs.iter().find(|config| config.id == id).ok_or(Error::BadConfig)
    }

    /// The connection, a new one where the last is lost.
    ///
    /// # Errors
    /// [`Error::ContextLost`]: there is no other.
    fn link(&self, display: &Display<P>) -> Outcome<Arc<Link<P>>> {
        let mut link = lock(&self.link);
        if link.is_lost() {
            let new = Link::<P>::connect(&display.name).map_err(|_| Error::ContextLost)?;
            if new.connection().configs() != self.configs {
                // Handles of configs would mean something else.
                P::complain("the new server has other configs; initialise the display again");
                return Err(Error::ContextLost);
            }
            *link = new;
        }
        Ok(Arc::clone(&link))
    }

    /// The connection as it is.
    pub fn current_link(&self) -> Arc<Link<P>> {
        Arc::clone(&lock(&self.link))
    }

    /// A context of it.
    ///
    /// # Errors
    /// [`Error::BadContext`].
    pub fn context(&self, handle: usize) -> Outcome<Arc<Context<P>>> {
        lock(&self.contexts).get(&handle).cloned().ok_or(Error::BadContext)
    }

    /// A surface of it.
    ///
    /// # Errors
    /// [`Error::BadSurface`].
    pub fn surface(&self, handle: usize) -> Outcome<Arc<Surface<P>>> {
        lock(&self.surfaces).get(&handle).cloned().ok_or(Error::BadSurface)
    }

    /// Makes a context (section 3.7.1); `config` is 0 for none.
    ///
    /// # Errors
    /// As the section has it.
    pub fn create_context(
        &self,
        display: &Display<P>,
        config: usize,
        share: Option<usize>,
        list: &[(i32, i32)],
    ) -> Outcome<usize> {
        let config = if config == 0 { None } else { Some(self.config(config)?.clone()) };
        let share = share.map(|handle| self.context(handle)).transpose()?;
        let request = ContextRequest::new(list)?;
        if !request.is_supported() {
            // Which other versions a config can have is in its `EGL_RENDERABLE_TYPE`.
            return Err(if config.is_some() { Error::BadConfig } else { Error::BadMatch });
        }
        let link = match &share {
            Some(share) if share.link.is_lost() => return Err(Error::ContextLost),
            Some(share) => {
                // Robustness is a property of all that share (section 3.7.1.4).
                if share.request.lose_on_reset != request.lose_on_reset {
                    return Err(Error::BadMatch);
                }
                Arc::clone(&share.link)
            }
            None => self.link(display)?,
        };
        let handle = mint();
        let config_id = config.as_ref().map_or(0, |config| config.id);
        let share_token = share.as_ref().map(|share| token(share.handle));
        link.connection.create_context(token(handle), share_token, config_id, &request)?;
        let attributes = gl::Attributes {
            version: (2, 0),
            debug: request.debug,
            robust: request.robust,
            no_error: false,
            reset_notification: request.lose_on_reset,
        };
        let context = Context {
            handle,
            config,
            request,
            share: share.as_ref().map_or_else(gl::ShareGroup::default, |share| share.share.clone()),
            link,
            gl: Mutex::new(None),
        };
        // From here on dropping it ends it on the server.
        let made = context.link.connection.caps(|caps| {
            gl::Context::new(
                Arc::clone(context.link.connection.session()),
                token(handle),
                &context.share,
                &attributes,
                caps,
                Arc::clone(&context.link.mail),
            )
        })?;
        *lock(&context.gl) = Some(Box::new(made));
        lock(&self.contexts).insert(handle, Arc::new(context));
        Ok(handle)
    }

    /// Ends a context, once it is current nowhere (section 3.7.2).
    ///
    /// # Errors
    /// [`Error::BadContext`].
    pub fn destroy_context(&self, handle: usize) -> Outcome {
        let context = lock(&self.contexts).remove(&handle);
        context.map(drop).ok_or(Error::BadContext)
    }

    /// Makes a surface for a native window (section 3.5.1).
    ///
    /// # Errors
    /// As the section has it.
    pub fn create_window(
        &self,
        display: &Display<P>,
        config: usize,
        window: usize,
        list: &[(i32, i32)],
    ) -> Outcome<usize> {
        let config = self.config(config)?;
        super::attributes::window(list)?;
        if !config.window {
            return Err(Error::BadMatch);
        }
        if window == 0 {
            return Err(Error::BadNativeWindow);
        }
        // One surface for a window at most (section 3.5.1).
        if lock(&self.surfaces).values().any(|surface| surface.what == (Kind::Window { window })) {
            return Err(Error::BadAlloc);
        }
        self.create_surface(display, config, Kind::Window { window })
    }

    /// Makes a pbuffer (section 3.5.2).
    ///
    /// # Errors
    /// As the section has it.
    pub fn create_pbuffer(&self, display: &Display<P>, config: usize, list: &[(i32, i32)]) -> Outcome<usize> {
        let config = self.config(config)?;
        let mut request = PbufferRequest::new(list)?;
        if !config.pbuffer {
            return Err(Error::BadMatch);
        }
        let most = |pixels: i32| u32::try_from(pixels).unwrap_or(0);
        let (width, height) = (most(config.max_pbuffer_width), most(config.max_pbuffer_height));
        if request.width > width || request.height > height {
            if !request.largest {
                return Err(Error::BadAlloc);
            }
            (request.width, request.height) = (request.width.min(width), request.height.min(height));
        }
        self.create_surface(display, config, Kind::Pbuffer(request))
    }

    fn create_surface(&self, display: &Display<P>, config: &Config, what: Kind) -> Outcome<usize> {
        let handle = mint();
        let native = Native::create(&self.link(display)?, handle, config, what)?;
        let surface = Surface {
            handle,
            config: config.clone(),
            what,
            native: Mutex::new(native),
            user: AtomicU64::new(0),
            interval: Mutex::new(1),
        };
        lock(&self.surfaces).insert(handle, Arc::new(surface));
        Ok(handle)
    }

    /// Ends a surface, once it is current nowhere (section 3.5.5).
    ///
    /// # Errors
    /// [`Error::BadSurface`].
    pub fn destroy_surface(&self, handle: usize) -> Outcome {
        let surface = lock(&self.surfaces).remove(&handle);
        surface.map(drop).ok_or(Error::BadSurface)
    }
}

/// A context (section 3.7).
#[derive(Debug)]
pub struct Context<P: Platform> {
    pub(super) handle: usize,
    pub(super) config: Option<Config>,
    pub(super) request: ContextRequest,
    share: gl::ShareGroup,
    pub(super) link: Arc<Link<P>>,
    /// Taken by the thread that it is current on.
    pub(super) gl: Mutex<Option<Box<GlContext<P>>>>,
}

impl<P: Platform> Context<P> {
    /// What `eglQueryContext` answers; the draw surface is that of the calling thread, where this is current.
    ///
    /// # Errors
    /// [`Error::BadAttribute`].
    pub fn query(&self, attribute: i32, draw: Option<&Surface<P>>) -> Outcome<i32> {
        Ok(match attribute {
            egl::CONFIG_ID => self.config.as_ref().map_or(0, |config| config.id),
            egl::CONTEXT_CLIENT_TYPE => egl::OPENGL_ES_API,
            egl::CONTEXT_MAJOR_VERSION => self.request.major,
            egl::RENDER_BUFFER if draw.is_some() => egl::BACK_BUFFER,
            egl::RENDER_BUFFER => egl::NONE,
            _ => return Err(Error::BadAttribute),
        })
    }

    /// Whether surfaces of a config can be current with it (section 2.2).
    pub(super) fn fits(&self, surface: &Surface<P>) -> bool {
        self.config.as_ref().is_none_or(|config| config.is_compatible(&surface.config))
    }
}

impl<P: Platform> Drop for Context<P> {
    fn drop(&mut self) {
        // What it still has to say comes before its end.
        drop(lock(&self.gl).take());
        self.link.connection.destroy_context(token(self.handle));
    }
}

/// What a surface is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// It presents to a window.
    Window {
        /// The native window.
        window: usize,
    },
    /// It has no window.
    Pbuffer(PbufferRequest),
}

/// A surface (section 3.5).
#[derive(Debug)]
pub struct Surface<P: Platform> {
    pub(super) handle: usize,
    pub(super) config: Config,
    pub(super) what: Kind,
    native: Mutex<Native<P>>,
    /// Token of the context that it is current with; 0 for none.
    pub(super) user: AtomicU64,
    /// Swap interval that the server was told.
    pub(super) interval: Mutex<i32>,
}

/// A surface of a server.
#[derive(Debug)]
struct Native<P: Platform> {
    link: Arc<Link<P>>,
    token: u64,
    state: SurfaceState,
}

impl<P: Platform> Native<P> {
    fn create(link: &Arc<Link<P>>, handle: usize, config: &Config, what: Kind) -> Result<Self, Failure> {
        let (connection, token) = (&link.connection, token(handle));
        let state = match what {
            Kind::Window { window } => connection.create_window(token, config.id, window)?,
            Kind::Pbuffer(PbufferRequest { width, height, .. }) => {
                connection.create_pbuffer(token, config.id, width, height)?
            }
        };
        Ok(Self { link: Arc::clone(link), token, state })
    }
}

impl<P: Platform> Drop for Native<P> {
    fn drop(&mut self) {
        self.link.connection.destroy_surface(self.token);
    }
}

impl<P: Platform> Surface<P> {
    /// Its size, in pixels along x and y.
    pub fn size(&self) -> (u32, u32) {
        let native = lock(&self.native);
        (native.state.width, native.state.height)
    }

    /// Takes note of another size.
    pub(super) fn resized(&self, width: u32, height: u32) {
        let mut native = lock(&self.native);
        (native.state.width, native.state.height) = (width, height);
    }

    /// Its token.
    pub fn token(&self) -> u64 {
        token(self.handle)
    }

    /// What a context of a connection draws to. A surface whose server is gone is made again by the context's.
    ///
    /// # Errors
    /// Why it could not be made.
    pub(super) fn of(&self, link: &Arc<Link<P>>) -> Outcome<DrawSurface> {
        let mut native = lock(&self.native);
        if !Arc::ptr_eq(&native.link, link) {
            *native = Native::create(link, self.handle, &self.config, self.what)?;
            *lock(&self.interval) = 1;
        }
        let (config, state) = (&self.config, native.state);
        // A config's sizes are numbers of bits.
        let bits = |size: i32| u8::try_from(size).unwrap_or(u8::MAX);
        Ok(DrawSurface {
            token: native.token,
            width: state.width,
            height: state.height,
            red: bits(config.red),
            green: bits(config.green),
            blue: bits(config.blue),
            alpha: bits(config.alpha),
            depth: bits(config.depth),
            stencil: bits(config.stencil),
            samples: state.samples,
            format: state.format,
        })
    }

    /// Whether it presents.
    pub(super) const fn is_window(&self) -> bool {
        matches!(self.what, Kind::Window { .. })
    }

    /// What `eglQuerySurface` answers; nothing for an attribute that this kind does not have (section 3.5.6).
    ///
    /// # Errors
    /// [`Error::BadAttribute`].
    pub fn query(&self, attribute: i32) -> Outcome<Option<i32>> {
        let size = |pixels: u32| i32::try_from(pixels).unwrap_or(i32::MAX);
        let pbuffer = |value| match self.what {
            Kind::Pbuffer(_) => Ok(Some(value)),
            Kind::Window { .. } => Ok(None),
        };
        Ok(Some(match attribute {
            egl::CONFIG_ID => self.config.id,
            egl::WIDTH => size(self.size().0),
            egl::HEIGHT => size(self.size().1),
            egl::RENDER_BUFFER => egl::BACK_BUFFER,
            egl::SWAP_BEHAVIOR => egl::BUFFER_DESTROYED,
            egl::MULTISAMPLE_RESOLVE => egl::MULTISAMPLE_RESOLVE_DEFAULT,
            egl::HORIZONTAL_RESOLUTION | egl::VERTICAL_RESOLUTION | egl::PIXEL_ASPECT_RATIO => egl::UNKNOWN,
            egl::VG_COLORSPACE => egl::VG_COLORSPACE_LINEAR,
            egl::VG_ALPHA_FORMAT => egl::VG_ALPHA_FORMAT_NONPRE,
            egl::MIPMAP_LEVEL => 0,
            egl::LARGEST_PBUFFER => {
                return pbuffer(matches!(self.what, Kind::Pbuffer(request) if request.largest).into());
            }
            egl::TEXTURE_FORMAT | egl::TEXTURE_TARGET => return pbuffer(egl::NO_TEXTURE),
            egl::MIPMAP_TEXTURE => return pbuffer(egl::FALSE),
            _ => return Err(Error::BadAttribute),
        }))
    }

    /// What `eglSurfaceAttrib` does (section 3.5.6).
    ///
    /// # Errors
    /// [`Error::BadAttribute`], [`Error::BadParameter`], [`Error::BadMatch`].
    pub fn set(&self, attribute: i32, value: i32) -> Outcome {
        match (attribute, value) {
            // What it is already, or means nothing without a texture.
            (egl::MIPMAP_LEVEL, _)
            | (egl::SWAP_BEHAVIOR, egl::BUFFER_DESTROYED)
            | (egl::MULTISAMPLE_RESOLVE, egl::MULTISAMPLE_RESOLVE_DEFAULT) => Ok(()),
            // No config's surface type has the bit.
            (egl::SWAP_BEHAVIOR, egl::BUFFER_PRESERVED)
            | (egl::MULTISAMPLE_RESOLVE, egl::MULTISAMPLE_RESOLVE_BOX) => Err(Error::BadMatch),
            (egl::SWAP_BEHAVIOR | egl::MULTISAMPLE_RESOLVE, _) => Err(Error::BadParameter),
            _ => Err(Error::BadAttribute),
        }
    }
}
