//! One context: what it has of its own, and its share group.

use std::{
    fmt,
    ops::{Deref, DerefMut},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use runahead_core::{
    Shared, Turn,
    slots::Band,
    tracker::{Knobs, SamplerCache, Tracker},
};
use runahead_wire::{
    Handle,
    caps::CapsView,
    format::Format,
    payload::{BindContext, Flush, FramebufferState, HandleOnly, Viewport},
    pipe::Pipe,
};

use super::{
    buffer::{Buffer, Stream},
    compare::Checking,
    error::{Error, Flags, Outcome},
    framebuffer::{Framebuffer, Renderbuffer},
    layouts::Layouts,
    limits::{Limits, UNITS},
    mail::Mail,
    program::Code,
    resident::Resident,
    table::{Id, Table},
    texture::{Target, Texture},
    vertex::VertexArray,
};

/// Samplers that a share group keeps by content.
const SAMPLERS: usize = 64;

/// Identities of objects that slots are found by; one count for all contexts of the process.
static LIFETIMES: AtomicU64 = AtomicU64::new(1);

/// An identity that no object had before.
pub(crate) fn lifetime() -> u64 {
    LIFETIMES.fetch_add(1, Ordering::Relaxed)
}

/// How a context was asked for (EGL 1.5 section 3.7.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Attributes {
    /// Major and minor version.
    pub version: (u8, u8),
    /// Whether it was asked for with debugging.
    pub debug: bool,
    /// Whether accesses beyond buffers must be harmless.
    pub robust: bool,
    /// Whether errors need not be found.
    pub no_error: bool,
    /// Whether the loss of the device is told.
    pub reset_notification: bool,
}

/// A surface that a context draws to or reads from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DrawSurface {
    /// Token that the session knows it by; 0 for none.
    pub token: u64,
    /// Pixels along x.
    pub width: u32,
    /// Pixels along y.
    pub height: u32,
    /// Bits of red.
    pub red: u8,
    /// Bits of green.
    pub green: u8,
    /// Bits of blue.
    pub blue: u8,
    /// Bits of alpha.
    pub alpha: u8,
    /// Bits of depth.
    pub depth: u8,
    /// Bits of stencil.
    pub stencil: u8,
    /// Samples; 0 or 1 for none.
    pub samples: u8,
    /// Format of the colours.
    pub format: Format,
}

/// The objects that contexts share (OpenGL ES 2.0.25 appendix C).
#[derive(Debug, Default)]
pub(crate) struct Objects {
    pub(crate) buffers: Table<Buffer>,
    pub(crate) textures: Table<Texture>,
    pub(crate) renderbuffers: Table<Renderbuffer>,
    /// Shaders and programs: one name space (section 2.10.1).
    pub(crate) code: Table<Code>,
    pub(crate) samplers: SamplerCache<SAMPLERS>,
    /// Moves when what a texture unit shows may have changed without a rebind.
    pub(crate) textures_moved: u64,
    /// Moves when what is attached somewhere may have changed.
    pub(crate) images_moved: u64,
    /// Moves when a buffer has another handle.
    pub(crate) buffers_moved: u64,
}

/// Contexts that share objects. A new one is a group without contexts; clones are the same group.
#[derive(Clone, Debug, Default)]
pub struct ShareGroup(Arc<Mutex<Objects>>);

impl ShareGroup {
    pub(crate) fn lock(&self) -> MutexGuard<'_, Objects> {
        // After a panic within, the context that had it is lost; what the tables hold is memory-safe and checked
        // again by the server.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What one texture unit has bound, by [`Target`].
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Unit {
    pub(crate) bound: [Option<Id>; Target::COUNT],
}

/// How rows lie in an application's memory (section 3.6.1).
#[derive(Clone, Copy, Debug)]
pub(crate) struct PixelStore {
    pub(crate) pack_alignment: u32,
    pub(crate) unpack_alignment: u32,
}

/// What has to be worked out again before the next verb.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Stale {
    pub(crate) textures: bool,
    pub(crate) arrays: bool,
    pub(crate) program: bool,
    pub(crate) framebuffer: bool,
}

/// What of the share group was last looked at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Seen {
    pub(crate) textures: u64,
    pub(crate) images: u64,
    pub(crate) buffers: u64,
    pub(crate) link: u64,
    pub(crate) units: u64,
}

/// An object that has ended, and of which the server is to be told.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Dead {
    Buffer(Handle),
    /// With the sampler that it had.
    Texture(Handle, Handle),
    Renderbuffer(Handle),
    Program(Handle),
    /// By identity, as the tracker has them.
    Framebuffer(u64),
    Layout(u64),
}

/// A context without its session and share group: what one thread has to itself.
///
/// The render state has no copy here: it is what the tracker is to make the server's.
pub(crate) struct State {
    /// What the session calls it.
    token: u64,
    mail: Arc<Mail>,
    mail_seen: u64,
    resizes: Vec<(u64, u32, u32)>,
    /// Contents of the buffer that was asked for last.
    pub(crate) written_back: Vec<(u64, Vec<u8>)>,
    pub(crate) limits: Limits,
    pub(crate) attributes: Attributes,
    pub(crate) errors: Flags,
    pub(crate) lost: bool,
    pub(crate) tracker: Box<Tracker>,
    /// Where the server compares states.
    pub(crate) checking: Option<Box<Checking>>,
    pub(crate) draw_surface: Option<DrawSurface>,
    pub(crate) read_surface: Option<DrawSurface>,
    /// The framebuffer of the surfaces, with the version of its content.
    pub(crate) default_framebuffer: (u64, FramebufferState),
    was_current: bool,
    pub(crate) stale: Stale,
    pub(crate) seen: Seen,
    pub(crate) active_unit: usize,
    /// Units that anything was ever bound to.
    pub(crate) touched_units: usize,
    pub(crate) units: Box<[Unit; UNITS]>,
    /// The textures of name 0.
    pub(crate) default_textures: [Option<Id>; Target::COUNT],
    pub(crate) array_buffer: Option<Id>,
    pub(crate) vertex_arrays: Table<VertexArray>,
    /// The vertex array of name 0.
    pub(crate) default_vertex_array: Option<Id>,
    pub(crate) vertex_array: Option<Id>,
    pub(crate) layouts: Layouts,
    pub(crate) vertex_stream: Stream,
    pub(crate) index_stream: Stream,
    pub(crate) resident: Resident,
    pub(crate) framebuffers: Table<Framebuffer>,
    pub(crate) framebuffer: Option<Id>,
    pub(crate) renderbuffer: Option<Id>,
    pub(crate) program: Option<Id>,
    pub(crate) pixels: PixelStore,
    pub(crate) generate_mipmap_hint: u32,
    pub(crate) derivative_hint: u32,
    /// Room for what is worked out per draw, kept for its memory.
    pub(crate) scratch: Vec<u8>,
    /// What has ended within a command; the server hears of it when the command is done.
    pub(crate) dead: Vec<Dead>,
}

/// A context without its share group.
pub(crate) struct Own<P: Shared> {
    session: Arc<P>,
    bind: BindContext,
    pub(crate) state: State,
}

impl<P: Shared> Deref for Own<P> {
    type Target = State;

    fn deref(&self) -> &State {
        &self.state
    }
}

impl<P: Shared> DerefMut for Own<P> {
    fn deref_mut(&mut self) -> &mut State {
        &mut self.state
    }
}

/// An OpenGL ES 2.0 context. One thread at a time uses it. Dropping it tells the server of the objects that end with it,
/// so the server's context ends after that.
pub struct Context<P: Shared> {
    group: ShareGroup,
    pub(crate) own: Own<P>,
}

impl<P: Shared> fmt::Debug for Context<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Context")
            .field("bind", &self.own.bind)
            .field("lost", &self.own.lost)
            .finish_non_exhaustive()
    }
}

/// What a thread that has the turn records with.
pub(crate) type TurnOf<'a, P> = Turn<'a, <P as Shared>::Session, <P as Shared>::Storage>;

impl<P: Shared> Context<P> {
    /// A new context of a share group. The session knows it as `token`; the server has made it already.
    #[must_use]
    pub fn new(
        session: Arc<P>,
        token: u64,
        share: &ShareGroup,
        attributes: &Attributes,
        caps: &CapsView<'_>,
        mail: Arc<Mail>,
    ) -> Self {
        let group = share.clone();
        let default_textures = {
            let mut objects = group.lock();
            Target::ALL.map(|target| {
                let id = objects.textures.insert(0, Texture::new(target))?;
                objects.textures.retain(id);
                Some(id)
            })
        };
        let limits = Limits::new(caps);
        let mut vertex_arrays = Table::default();
        let default_vertex_array = vertex_arrays.insert(0, VertexArray::new());
        if let Some(id) = default_vertex_array {
            vertex_arrays.retain(id);
        }
        let mut tracker = Box::new(Tracker::new(Knobs::default()));
        let render = tracker.render_state();
        // Shaders of OpenGL ES give the size of points, and sampled cubes have no seams that the filter would show
        // only in OpenGL (OpenGL ES 2.0.25 section 3.3).
        render.program_point_size = 1;
        // Unlike OpenGL, multisampling has no switch, and neither has the conversion to sRGB.
        render.multisample = 1;
        render.framebuffer_srgb = 1;
        let state = State {
            token,
            checking: Checking::new(session.check()),
            mail_seen: 0,
            mail,
            resizes: Vec::new(),
            written_back: Vec::new(),
            limits,
            attributes: *attributes,
            errors: Flags::default(),
            lost: false,
            tracker,
            draw_surface: None,
            read_surface: None,
            default_framebuffer: (0, FramebufferState::default()),
            was_current: false,
            stale: Stale { textures: true, arrays: true, program: true, framebuffer: true },
            seen: Seen::default(),
            active_unit: 0,
            touched_units: 1,
            units: Box::new([Unit { bound: default_textures }; UNITS]),
            default_textures,
            array_buffer: None,
            vertex_array: default_vertex_array,
            layouts: Layouts::default(),
            default_vertex_array,
            vertex_arrays,
            vertex_stream: Stream::default(),
            index_stream: Stream::default(),
            resident: Resident::default(),
            framebuffers: Table::default(),
            framebuffer: None,
            renderbuffer: None,
            program: None,
            pixels: PixelStore { pack_alignment: 4, unpack_alignment: 4 },
            generate_mipmap_hint: super::enums::DONT_CARE,
            derivative_hint: super::enums::DONT_CARE,
            scratch: Vec::new(),
            dead: Vec::new(),
        };
        let bind = BindContext { context: token, ..BindContext::default() };
        let mut context = Self { group, own: Own { session, bind, state } };
        context.own.state.surface_moved();
        context
    }

    /// The group whose objects it shares.
    #[must_use]
    pub const fn share_group(&self) -> &ShareGroup {
        &self.group
    }

    /// What a turn of this context names.
    #[must_use]
    pub const fn bind(&self) -> BindContext {
        self.own.bind
    }

    /// Whether its session is over.
    #[must_use]
    pub fn is_lost(&self) -> bool {
        self.own.lost
    }

    /// It was made current with these surfaces. The first time, viewport and scissor box take the size of the draw
    /// surface (section 2.12.1).
    pub fn attach(&mut self, draw: Option<&DrawSurface>, read: Option<&DrawSurface>) {
        let token = |surface: Option<&DrawSurface>| surface.map_or(0, |surface| surface.token);
        self.own.bind.draw_surface = token(draw);
        self.own.bind.read_surface = token(read);
        let own = &mut self.own.state;
        own.draw_surface = draw.copied();
        own.read_surface = read.copied();
        if let Some(surface) = draw.filter(|_| !own.was_current) {
            own.was_current = true;
            let render = own.tracker.render_state();
            let (width, height) = (surface.width, surface.height);
            for viewport in &mut render.viewports {
                *viewport = Viewport { width: width as f32, height: height as f32, ..Viewport::default() };
            }
            for scissor in &mut render.scissor_boxes {
                scissor.width = width.min(i32::MAX as u32) as i32;
                scissor.height = height.min(i32::MAX as u32) as i32;
            }
        }
        own.surface_moved();
    }

    /// It is current no more. What it recorded is on its way.
    pub fn detach(&mut self) {
        self.flush();
        // Its surfaces may end before it does.
        self.attach(None, None);
    }

    /// A surface that it may have current has another size.
    pub fn resized(&mut self, surface: u64, width: u32, height: u32) {
        let own = &mut self.own.state;
        let surfaces = [&mut own.draw_surface, &mut own.read_surface];
        for current in surfaces.into_iter().flatten().filter(|current| current.token == surface) {
            (current.width, current.height) = (width, height);
        }
        own.surface_moved();
    }

    /// Surfaces with another size that the server told of since the last call: token, width, height.
    pub fn take_resizes(&mut self) -> Vec<(u64, u32, u32)> {
        self.own.look_for_mail();
        std::mem::take(&mut self.own.resizes)
    }

    /// Has the server begin with everything so far (section 5.1).
    pub fn flush(&mut self) {
        let flushed = self.own.turn(|_, turn| Ok(turn.pipe.flush(&Flush::default())?));
        self.own.note(flushed);
    }

    /// Waits until everything so far is done (section 5.1).
    pub fn finish(&mut self) {
        let finished = self.own.session.finish(&self.own.bind).map_err(Error::from);
        self.own.note(finished);
    }

    /// Runs one command that needs the context's own state alone.
    #[inline]
    pub(crate) fn run<R>(&mut self, command: impl FnOnce(&mut Own<P>) -> Outcome<R>) -> Option<R> {
        if self.own.lost {
            return None;
        }
        let outcome = command(&mut self.own);
        self.own.note(outcome)
    }

    /// Runs one command that needs the objects of the share group.
    #[inline]
    pub(crate) fn run_shared<R>(
        &mut self,
        command: impl FnOnce(&mut Own<P>, &mut Objects) -> Outcome<R>,
    ) -> Option<R> {
        if self.own.lost {
            return None;
        }
        let mut objects = self.group.lock();
        let outcome = command(&mut self.own, &mut objects);
        if !self.own.dead.is_empty() {
            let buried = self.own.bury(&mut objects);
            self.own.note(buried);
        }
        drop(objects);
        self.own.note(outcome)
    }

    /// A command broke within itself: nothing of this context is done any more.
    #[cold]
    pub(crate) fn lose(&mut self) {
        self.own.lost = true;
    }
}

impl<P: Shared> Drop for Context<P> {
    fn drop(&mut self) {
        let mut objects = self.group.lock();
        // What cannot be told to a session that is over needs no telling.
        let _ = self.own.end(&mut objects);
    }
}

impl<P: Shared> Own<P> {
    /// Takes a turn.
    pub(crate) fn turn<R>(
        &mut self,
        work: impl FnOnce(&mut State, &mut TurnOf<'_, P>) -> Outcome<R>,
    ) -> Outcome<R> {
        let Self { session, bind, state } = self;
        session.with(bind, |turn| work(state, turn))?
    }

    /// The session, to wait on.
    pub(crate) fn session(&self) -> &P {
        &self.session
    }

    /// The session, to keep.
    #[cfg(test)]
    pub(crate) fn shared_session(&self) -> Arc<P> {
        Arc::clone(&self.session)
    }

    /// Tells the server of what has ended: each after this context has let go of it.
    #[cold]
    pub(crate) fn bury(&mut self, objects: &mut Objects) -> Outcome {
        self.turn(|state, turn| {
            while let Some(dead) = state.dead.pop() {
                let Turn { pipe, slots } = turn;
                let (band, handle) = match dead {
                    Dead::Buffer(handle) => (Band::Buffer, handle),
                    Dead::Texture(handle, _) => (Band::Texture, handle),
                    Dead::Renderbuffer(handle) => (Band::Renderbuffer, handle),
                    Dead::Program(handle) => (Band::Shader, handle),
                    Dead::Framebuffer(id) => {
                        (Band::Framebuffer, slots.find(Band::Framebuffer, id).unwrap_or_default())
                    }
                    Dead::Layout(id) => {
                        (Band::VertexElements, slots.find(Band::VertexElements, id).unwrap_or_default())
                    }
                };
                if !handle.is_null() {
                    let kind = band.kind();
                    state.tracker.forget(kind, handle, *pipe, slots)?;
                    let only = HandleOnly { handle, kind: kind.raw(), ..HandleOnly::default() };
                    match dead {
                        Dead::Program(_) => pipe.delete_shader_state(&only)?,
                        Dead::Layout(_) => pipe.delete_vertex_elements(&only)?,
                        Dead::Framebuffer(_) => pipe.object_death(&only)?,
                        Dead::Buffer(_) | Dead::Texture(..) | Dead::Renderbuffer(_) => {
                            pipe.resource_destroy(&only)?;
                        }
                    }
                    let freed = slots.free(band, handle);
                    debug_assert_eq!(freed, Ok(()), "an object dies once");
                }
                if let Dead::Texture(_, sampler) = dead
                    && !sampler.is_null()
                {
                    objects.samplers.release(sampler, *pipe, slots)?;
                }
            }
            Ok(())
        })
    }

    /// Lets go of everything: the context is about to end.
    fn end(&mut self, objects: &mut Objects) -> Outcome {
        self.state.let_go(objects);
        self.bury(objects)?;
        self.turn(|state, turn| Ok(state.tracker.end(turn.pipe, turn.slots)?))
    }
}

impl State {
    /// Remembers what went wrong.
    #[inline]
    pub(crate) fn note<R>(&mut self, outcome: Outcome<R>) -> Option<R> {
        match outcome {
            Ok(answer) => Some(answer),
            Err(Error::Lost) => {
                self.lost = true;
                None
            }
            Err(error) => {
                self.errors.raise(error);
                None
            }
        }
    }

    /// The framebuffer of the surfaces is another one, or of another size.
    fn surface_moved(&mut self) {
        self.stale.framebuffer = true;
        let short = |size: u32| size.min(u32::from(u16::MAX)) as u16;
        let mut state = FramebufferState { layers: 1, draw_buffers: [-1; 8], ..FramebufferState::default() };
        if let Some(surface) = &self.draw_surface {
            state.draw_buffers[0] = 0;
            state.width = short(surface.width);
            state.height = short(surface.height);
            state.samples = u16::from(surface.samples);
            state.fixed_sample_locations = 1;
            state.complete = 1;
        }
        self.default_framebuffer = (self.default_framebuffer.0 + 1, state);
    }

    /// Takes what the server said since the last look.
    pub(crate) fn look_for_mail(&mut self) {
        let delivered = self.mail.delivered();
        if delivered != self.mail_seen {
            self.mail_seen = delivered;
            let letters = self.mail.take(self.token);
            self.errors.merge(letters.errors);
            let resizes = letters.resizes.into_iter();
            self.resizes.extend(resizes.map(|(surface, (width, height))| (surface, width, height)));
            self.written_back.extend(letters.written_back);
        }
    }

    /// Lets go of every object of the share group, and of the context's own.
    fn let_go(&mut self, objects: &mut Objects) {
        self.set_program(objects, None);
        self.set_renderbuffer(objects, None);
        self.set_array_buffer(objects, None);
        for unit in 0..self.touched_units {
            for target in Target::ALL {
                self.set_texture(objects, unit, target, None);
            }
        }
        for id in self.default_textures.into_iter().flatten() {
            let ended = objects.textures.release(id);
            self.texture_ended(ended);
        }
        for array in self.vertex_arrays.drain() {
            self.vertex_array_ended(objects, &array);
        }
        for framebuffer in self.framebuffers.drain() {
            self.framebuffer_ended(objects, &framebuffer);
        }
        let Self { vertex_stream, index_stream, resident, layouts, dead, .. } = self;
        dead.extend(layouts.drain());
        let buffers = vertex_stream.buffers().chain(index_stream.buffers()).chain(resident.buffers());
        dead.extend(buffers.map(|(buffer, _)| Dead::Buffer(buffer)));
    }
}
