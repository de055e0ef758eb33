//! Framebuffer and renderbuffer objects.
//!
//! Source: OpenGL ES 2.0.25 section 4.4.

use runahead_core::{Shared, Turn, slots::Band};
use runahead_wire::{
    Handle,
    format::Format,
    payload::{FramebufferState, ResourceDesc, Surface},
    pipe::Pipe,
    values::{BindMask, FormatFeatures, FramebufferTarget, ResourceTarget, StorageKind, SurfaceKind},
};

use super::{
    context::{Dead, Objects, Own, State, lifetime},
    enums,
    error::{Error, Outcome},
    limits::Limits,
    table::Id,
    texture::{Part, Target, size},
};

/// A renderbuffer object.
#[derive(Debug)]
pub(crate) struct Renderbuffer {
    /// Null until it has storage.
    pub(crate) handle: Handle,
    width: u32,
    height: u32,
    internal: u32,
    format: Format,
}

impl Default for Renderbuffer {
    /// Table 6.23.
    fn default() -> Self {
        Self { handle: Handle::NULL, width: 0, height: 0, internal: enums::RGBA4, format: Format::Undefined }
    }
}

/// What is attached to one point.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Attachment {
    #[default]
    None,
    Renderbuffer(Id),
    /// A texture, and its face.
    Texture(Id, usize),
}

/// An attached image.
#[derive(Clone, Copy, Debug)]
struct Attached {
    surface: Surface,
    width: u32,
    height: u32,
    format: Format,
}

/// Points of a framebuffer, by position in [`Framebuffer::points`].
const COLOR: usize = 0;
const DEPTH: usize = 1;
const STENCIL: usize = 2;

/// A framebuffer object.
#[derive(Debug)]
pub(crate) struct Framebuffer {
    points: [Attachment; 3],
    lifetime: u64,
    version: u64,
    /// What was worked out last, and when.
    worked_out: Option<(u64, u32, FramebufferState)>,
}

impl Framebuffer {
    fn new() -> Self {
        Self { points: [Attachment::None; 3], lifetime: lifetime(), version: 0, worked_out: None }
    }
}

impl Attachment {
    /// The image, if there is one that has storage.
    fn image(self, objects: &Objects) -> Option<Attached> {
        match self {
            Self::None => None,
            Self::Renderbuffer(id) => {
                let object = objects.renderbuffers.get(id)?;
                let surface = Surface {
                    resource: object.handle,
                    internal_format: object.format.raw(),
                    kind: SurfaceKind::Renderbuffer.raw8(),
                    texture_target: ResourceTarget::Renderbuffer.raw16(),
                    ..Surface::default()
                };
                Some(Attached { surface, width: object.width, height: object.height, format: object.format })
            }
            Self::Texture(id, face) => {
                let object = objects.textures.get(id)?;
                let image = object.image(face, 0)?;
                let surface = Surface {
                    resource: object.handle,
                    internal_format: image.format.raw(),
                    kind: SurfaceKind::Texture.raw8(),
                    upload_target: object.target.upload(face).raw16(),
                    texture_target: object.target.resource().raw16(),
                    ..Surface::default()
                };
                Some(Attached { surface, width: image.width, height: image.height, format: image.format })
            }
        }
    }
}

/// Whether images of a format may stand at a point (section 4.4.5).
fn suits(limits: &Limits, format: Format, point: usize) -> bool {
    use runahead_wire::format::FormatClass;
    let class = match point {
        COLOR => matches!(format.class(), FormatClass::Unorm | FormatClass::Float | FormatClass::Srgb),
        DEPTH => matches!(format.class(), FormatClass::Depth | FormatClass::DepthStencil),
        _ => matches!(format.class(), FormatClass::Stencil | FormatClass::DepthStencil),
    };
    class && limits.features(format).contains(FormatFeatures::RENDERABLE)
}

/// Works out whether a framebuffer is complete, and what the server is told of it.
fn work_out(points: [Attachment; 3], limits: &Limits, objects: &Objects) -> (u32, FramebufferState) {
    let mut state = FramebufferState { layers: 1, draw_buffers: [-1; 8], ..FramebufferState::default() };
    let mut sizes = Vec::with_capacity(points.len());
    let mut status = enums::FRAMEBUFFER_COMPLETE;
    for (point, attachment) in points.into_iter().enumerate() {
        if attachment == Attachment::None {
            continue;
        }
        match attachment.image(objects).filter(|image| image.width != 0 && image.height != 0) {
            Some(image) if suits(limits, image.format, point) => {
                sizes.push((image.width, image.height));
                match point {
                    COLOR => {
                        state.color[0] = image.surface;
                        state.read_surface = image.surface;
                        state.draw_buffers[0] = 0;
                    }
                    DEPTH => state.depth = image.surface,
                    _ => state.stencil = image.surface,
                }
            }
            _ => status = enums::FRAMEBUFFER_INCOMPLETE_ATTACHMENT,
        }
    }
    let [depth, stencil] = [points[DEPTH], points[STENCIL]];
    if status == enums::FRAMEBUFFER_COMPLETE {
        status = match sizes.first() {
            None => enums::FRAMEBUFFER_INCOMPLETE_MISSING_ATTACHMENT,
            Some(first) if sizes.iter().any(|size| size != first) => enums::FRAMEBUFFER_INCOMPLETE_DIMENSIONS,
            // Drivers have depth and stencil in one image, so two of them do not work together.
            Some(_) if depth != stencil && depth != Attachment::None && stencil != Attachment::None => {
                enums::FRAMEBUFFER_UNSUPPORTED
            }
            Some(_) => enums::FRAMEBUFFER_COMPLETE,
        };
    }
    if let Some((width, height)) = sizes.first() {
        let short = |size: &u32| (*size).min(u32::from(u16::MAX)) as u16;
        (state.width, state.height) = (short(width), short(height));
    }
    state.fixed_sample_locations = 1;
    state.complete = u8::from(status == enums::FRAMEBUFFER_COMPLETE);
    (status, state)
}

/// What pixels are read from.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Readable {
    pub(crate) format: Format,
    pub(crate) width: u32,
    pub(crate) height: u32,
}

impl Readable {
    /// The part of a rectangle that lies inside; none where nothing does.
    pub(crate) fn clip(&self, part: Part) -> Option<Part> {
        let span = |at: i32, size: i32, of: u32| {
            let end = (i64::from(at) + i64::from(size)).min(i64::from(of));
            let start = i64::from(at).max(0);
            (start < end).then(|| (start as i32, (end - start) as i32))
        };
        let (x, width) = span(part.x, part.width, self.width)?;
        let (y, height) = span(part.y, part.height, self.height)?;
        Some(Part { x, y, width, height })
    }
}

/// The point of a number.
const fn point(attachment: u32) -> Outcome<usize> {
    match attachment {
        enums::COLOR_ATTACHMENT0 => Ok(COLOR),
        enums::DEPTH_ATTACHMENT => Ok(DEPTH),
        enums::STENCIL_ATTACHMENT => Ok(STENCIL),
        _ => Err(Error::InvalidEnum),
    }
}

/// The description of a renderbuffer's storage.
fn desc(resource: Handle, format: Format, width: u32, height: u32) -> ResourceDesc {
    ResourceDesc {
        resource,
        target: ResourceTarget::Renderbuffer.raw8(),
        storage_kind: StorageKind::Mipmap.raw8(),
        bind_mask: BindMask::RENDER_TARGET.raw16(),
        internal_format: format.raw(),
        width,
        height,
        depth: 1,
        array_layers: 1,
        levels: 1,
        ..ResourceDesc::default()
    }
}

impl Renderbuffer {
    /// How the server has it, if it has.
    pub(crate) fn described(&self) -> Option<ResourceDesc> {
        (!self.handle.is_null()).then(|| desc(self.handle, self.format, self.width, self.height))
    }
}

impl Framebuffer {
    /// How the server has it, worked out anew.
    pub(crate) fn described(&self, limits: &Limits, objects: &Objects) -> FramebufferState {
        work_out(self.points, limits, objects).1
    }
}

impl State {
    /// The status of the bound framebuffer (section 4.4.5), and what it is of.
    pub(crate) fn framebuffer_status(&mut self, objects: &Objects) -> (u32, FramebufferState) {
        let Self { framebuffers, framebuffer, limits, default_framebuffer, draw_surface, .. } = self;
        let Some(bound) = framebuffer.and_then(|id| framebuffers.get_mut(id)) else {
            let status = match draw_surface {
                Some(_) => enums::FRAMEBUFFER_COMPLETE,
                // `OES_surfaceless_context`.
                None => FRAMEBUFFER_UNDEFINED_OES,
            };
            return (status, default_framebuffer.1);
        };
        match &bound.worked_out {
            Some((moved, status, state)) if *moved == objects.images_moved => (*status, *state),
            _ => {
                let (status, state) = work_out(bound.points, limits, objects);
                if bound.worked_out.as_ref().is_none_or(|(_, _, old)| *old != state) {
                    bound.version += 1;
                }
                bound.worked_out = Some((objects.images_moved, status, state));
                (status, state)
            }
        }
    }

    /// Fails where the bound framebuffer cannot be drawn to or read from.
    pub(crate) fn need_complete(&mut self, objects: &Objects) -> Outcome<FramebufferState> {
        match self.framebuffer_status(objects) {
            (enums::FRAMEBUFFER_COMPLETE, state) => Ok(state),
            _ => Err(Error::InvalidFramebufferOperation),
        }
    }

    /// What pixels are read from.
    pub(crate) fn readable(&mut self, objects: &Objects) -> Outcome<Readable> {
        let state = self.need_complete(objects)?;
        if self.framebuffer.is_none() {
            let surface = self.read_surface.as_ref().ok_or(Error::InvalidFramebufferOperation)?;
            return Ok(Readable { format: surface.format, width: surface.width, height: surface.height });
        }
        let format = state.read_surface.internal_format().unwrap_or(Format::Undefined);
        // Without a colour image there is nothing to read (section 4.3.1).
        if state.read_surface.kind() == Some(SurfaceKind::None) {
            return Err(Error::InvalidOperation);
        }
        Ok(Readable { format, width: u32::from(state.width), height: u32::from(state.height) })
    }

    /// Tells the tracker of the bound framebuffer.
    pub(crate) fn refresh_framebuffer(&mut self, objects: &Objects) {
        let (_, state) = self.framebuffer_status(objects);
        let bound = self.framebuffer.and_then(|id| self.framebuffers.get(id));
        let (id, version) = bound.map_or((0, self.default_framebuffer.0), |one| (one.lifetime, one.version));
        self.tracker.set_framebuffer(FramebufferTarget::Both, id, version, &state);
    }

    /// `glCheckFramebufferStatus`.
    pub(crate) fn check_framebuffer_status(&mut self, objects: &Objects, target: u32) -> Outcome<u32> {
        if target != enums::FRAMEBUFFER {
            return Err(Error::InvalidEnum);
        }
        Ok(self.framebuffer_status(objects).0)
    }

    fn set_framebuffer(&mut self, objects: &mut Objects, framebuffer: Option<Id>) {
        if self.framebuffer == framebuffer {
            return;
        }
        if let Some(id) = framebuffer {
            self.framebuffers.retain(id);
        }
        if let Some(old) = std::mem::replace(&mut self.framebuffer, framebuffer)
            && let Some(ended) = self.framebuffers.release(old)
        {
            self.framebuffer_ended(objects, &ended);
        }
        self.stale.framebuffer = true;
    }

    /// `glBindFramebuffer`.
    pub(crate) fn bind_framebuffer(&mut self, objects: &mut Objects, target: u32, name: u32) -> Outcome {
        if target != enums::FRAMEBUFFER {
            return Err(Error::InvalidEnum);
        }
        let framebuffer = match name {
            0 => None,
            name => Some(self.framebuffers.find_or_insert(name, Framebuffer::new).ok_or(Error::OutOfMemory)?),
        };
        self.set_framebuffer(objects, framebuffer);
        Ok(())
    }

    /// A framebuffer has ended: what is attached is referred to no more.
    pub(crate) fn framebuffer_ended(&mut self, objects: &mut Objects, framebuffer: &Framebuffer) {
        for point in framebuffer.points {
            self.release_attachment(objects, point);
        }
        self.dead.push(Dead::Framebuffer(framebuffer.lifetime));
    }

    fn release_attachment(&mut self, objects: &mut Objects, attachment: Attachment) {
        match attachment {
            Attachment::None => {}
            Attachment::Renderbuffer(id) => {
                let ended = objects.renderbuffers.release(id);
                self.renderbuffer_ended(ended);
            }
            Attachment::Texture(id, _) => {
                let ended = objects.textures.release(id);
                self.texture_ended(ended);
            }
        }
    }

    pub(crate) fn renderbuffer_ended(&mut self, ended: Option<Renderbuffer>) {
        if let Some(renderbuffer) = ended {
            self.dead.push(Dead::Renderbuffer(renderbuffer.handle));
        }
    }

    /// `glDeleteFramebuffers`, for one name.
    pub(crate) fn delete_framebuffer(&mut self, objects: &mut Objects, name: u32) {
        let found = self.framebuffers.find(name);
        if found.is_some() && found == self.framebuffer {
            self.set_framebuffer(objects, None);
        }
        if let Some(ended) = self.framebuffers.delete(name) {
            self.framebuffer_ended(objects, &ended);
        }
    }

    /// Attaches to a point of the bound framebuffer. What is attached was retained.
    fn attach(&mut self, objects: &mut Objects, point: usize, attachment: Attachment) {
        let bound = self.framebuffer.and_then(|id| self.framebuffers.get_mut(id));
        let Some(bound) = bound else { return };
        bound.worked_out = None;
        bound.version += 1;
        let old = bound.points.get_mut(point).map(|place| std::mem::replace(place, attachment));
        self.release_attachment(objects, old.unwrap_or_default());
        self.stale.framebuffer = true;
    }

    /// Takes off the bound framebuffer whatever a test picks.
    fn detach(&mut self, objects: &mut Objects, picks: impl Fn(Attachment) -> bool) {
        for point in [COLOR, DEPTH, STENCIL] {
            let bound = self.framebuffer.and_then(|id| self.framebuffers.get(id));
            if bound.and_then(|bound| bound.points.get(point)).is_some_and(|one| picks(*one)) {
                self.attach(objects, point, Attachment::None);
            }
        }
    }

    /// A texture's name was deleted: the bound framebuffer lets go of it (section 4.4.2).
    pub(crate) fn detach_texture(&mut self, objects: &mut Objects, texture: Id) {
        self.detach(objects, |one| matches!(one, Attachment::Texture(id, _) if id == texture));
    }

    /// `glFramebufferRenderbuffer`.
    pub(crate) fn framebuffer_renderbuffer(
        &mut self,
        objects: &mut Objects,
        target: u32,
        attachment: u32,
        renderbuffer_target: u32,
        name: u32,
    ) -> Outcome {
        if target != enums::FRAMEBUFFER || (name != 0 && renderbuffer_target != enums::RENDERBUFFER) {
            return Err(Error::InvalidEnum);
        }
        let point = point(attachment)?;
        if self.framebuffer.is_none() {
            return Err(Error::InvalidOperation);
        }
        let attachment = match name {
            0 => Attachment::None,
            name => {
                let id = objects.renderbuffers.find(name).ok_or(Error::InvalidOperation)?;
                objects.renderbuffers.retain(id);
                Attachment::Renderbuffer(id)
            }
        };
        self.attach(objects, point, attachment);
        Ok(())
    }

    /// `glFramebufferTexture2D`.
    pub(crate) fn framebuffer_texture(
        &mut self,
        objects: &mut Objects,
        target: u32,
        attachment: u32,
        image_target: u32,
        name: u32,
        level: i32,
    ) -> Outcome {
        if target != enums::FRAMEBUFFER {
            return Err(Error::InvalidEnum);
        }
        let point = point(attachment)?;
        if self.framebuffer.is_none() {
            return Err(Error::InvalidOperation);
        }
        let attachment = match name {
            0 => Attachment::None,
            name => {
                let (target, face) = Target::of_image(image_target)?;
                let id = objects.textures.find(name).ok_or(Error::InvalidOperation)?;
                if objects.textures.get(id).is_none_or(|texture| texture.target != target) {
                    return Err(Error::InvalidOperation);
                }
                if level != 0 {
                    return Err(Error::InvalidValue);
                }
                objects.textures.retain(id);
                Attachment::Texture(id, face)
            }
        };
        self.attach(objects, point, attachment);
        Ok(())
    }

    /// `glGetFramebufferAttachmentParameteriv` (section 6.1.3).
    pub(crate) fn attachment_parameter(
        &self,
        objects: &Objects,
        target: u32,
        attachment: u32,
        name: u32,
    ) -> Outcome<i32> {
        use enums::{
            FRAMEBUFFER_ATTACHMENT_OBJECT_NAME, FRAMEBUFFER_ATTACHMENT_OBJECT_TYPE,
            FRAMEBUFFER_ATTACHMENT_TEXTURE_CUBE_MAP_FACE, FRAMEBUFFER_ATTACHMENT_TEXTURE_LEVEL,
        };
        if target != enums::FRAMEBUFFER {
            return Err(Error::InvalidEnum);
        }
        let bound =
            self.framebuffer.and_then(|id| self.framebuffers.get(id)).ok_or(Error::InvalidOperation)?;
        let attached = bound.points.get(point(attachment)?).copied().unwrap_or_default();
        let known = matches!(
            name,
            FRAMEBUFFER_ATTACHMENT_OBJECT_NAME
                | FRAMEBUFFER_ATTACHMENT_OBJECT_TYPE
                | FRAMEBUFFER_ATTACHMENT_TEXTURE_CUBE_MAP_FACE
                | FRAMEBUFFER_ATTACHMENT_TEXTURE_LEVEL
        );
        if !known {
            return Err(Error::InvalidEnum);
        }
        let value = match (attached, name) {
            (Attachment::None, FRAMEBUFFER_ATTACHMENT_OBJECT_TYPE) => enums::NONE,
            (Attachment::Renderbuffer(_), FRAMEBUFFER_ATTACHMENT_OBJECT_TYPE) => enums::RENDERBUFFER,
            (Attachment::Texture(..), FRAMEBUFFER_ATTACHMENT_OBJECT_TYPE) => enums::TEXTURE,
            (Attachment::Renderbuffer(id), FRAMEBUFFER_ATTACHMENT_OBJECT_NAME) => {
                objects.renderbuffers.name(id)
            }
            (Attachment::Texture(id, _), FRAMEBUFFER_ATTACHMENT_OBJECT_NAME) => objects.textures.name(id),
            (Attachment::Texture(..), FRAMEBUFFER_ATTACHMENT_TEXTURE_LEVEL) => 0,
            (Attachment::Texture(id, face), FRAMEBUFFER_ATTACHMENT_TEXTURE_CUBE_MAP_FACE) => {
                match objects.textures.get(id).map(|texture| texture.target) {
                    Some(Target::CubeMap) => enums::TEXTURE_CUBE_MAP_POSITIVE_X + face as u32,
                    _ => 0,
                }
            }
            _ => return Err(Error::InvalidEnum),
        };
        Ok(value as i32)
    }

    /// `RENDERBUFFER` is this one.
    pub(crate) fn set_renderbuffer(&mut self, objects: &mut Objects, renderbuffer: Option<Id>) {
        if let Some(id) = renderbuffer {
            objects.renderbuffers.retain(id);
        }
        if let Some(old) = std::mem::replace(&mut self.renderbuffer, renderbuffer) {
            let ended = objects.renderbuffers.release(old);
            self.renderbuffer_ended(ended);
        }
    }

    /// `glBindRenderbuffer`.
    pub(crate) fn bind_renderbuffer(&mut self, objects: &mut Objects, target: u32, name: u32) -> Outcome {
        if target != enums::RENDERBUFFER {
            return Err(Error::InvalidEnum);
        }
        let renderbuffer = match name {
            0 => None,
            name => {
                let found = objects.renderbuffers.find_or_insert(name, Renderbuffer::default);
                Some(found.ok_or(Error::OutOfMemory)?)
            }
        };
        self.set_renderbuffer(objects, renderbuffer);
        Ok(())
    }

    /// `glDeleteRenderbuffers`, for one name.
    pub(crate) fn delete_renderbuffer(&mut self, objects: &mut Objects, name: u32) {
        if let Some(id) = objects.renderbuffers.find(name) {
            if self.renderbuffer == Some(id) {
                self.set_renderbuffer(objects, None);
            }
            self.detach(objects, |one| one == Attachment::Renderbuffer(id));
        }
        let ended = objects.renderbuffers.delete(name);
        self.renderbuffer_ended(ended);
    }

    /// `glGetRenderbufferParameteriv`.
    pub(crate) fn renderbuffer_parameter(&self, objects: &Objects, target: u32, name: u32) -> Outcome<i32> {
        if target != enums::RENDERBUFFER {
            return Err(Error::InvalidEnum);
        }
        let object = self.renderbuffer.and_then(|id| objects.renderbuffers.get(id));
        let object = object.ok_or(Error::InvalidOperation)?;
        let [red, green, blue, alpha, depth, stencil] = bits(object.format);
        Ok(match name {
            enums::RENDERBUFFER_WIDTH => object.width as i32,
            enums::RENDERBUFFER_HEIGHT => object.height as i32,
            enums::RENDERBUFFER_INTERNAL_FORMAT => object.internal as i32,
            enums::RENDERBUFFER_RED_SIZE => red,
            enums::RENDERBUFFER_GREEN_SIZE => green,
            enums::RENDERBUFFER_BLUE_SIZE => blue,
            enums::RENDERBUFFER_ALPHA_SIZE => alpha,
            enums::RENDERBUFFER_DEPTH_SIZE => depth,
            enums::RENDERBUFFER_STENCIL_SIZE => stencil,
            _ => return Err(Error::InvalidEnum),
        })
    }

    /// Bits of red, green, blue, alpha, depth and stencil of the bound framebuffer.
    pub(crate) fn framebuffer_bits(&mut self, objects: &Objects) -> [i32; 6] {
        if self.framebuffer.is_none() {
            return self.draw_surface.as_ref().map_or([0; 6], |surface| {
                [surface.red, surface.green, surface.blue, surface.alpha, surface.depth, surface.stencil]
                    .map(i32::from)
            });
        }
        let (_, state) = self.framebuffer_status(objects);
        let of = |surface: &Surface| match surface.kind() {
            Some(SurfaceKind::Texture | SurfaceKind::Renderbuffer) => {
                bits(surface.internal_format().unwrap_or(Format::Undefined))
            }
            _ => [0; 6],
        };
        let [red, green, blue, alpha, ..] = of(&state.color[0]);
        [red, green, blue, alpha, of(&state.depth)[4], of(&state.stencil)[5]]
    }
}

/// `FRAMEBUFFER_UNDEFINED_OES`.
const FRAMEBUFFER_UNDEFINED_OES: u32 = 0x8219;

/// Bits of red, green, blue, alpha, depth and stencil of a format.
const fn bits(format: Format) -> [i32; 6] {
    match format {
        Format::Rgba8 | Format::Bgra8 | Format::Srgb8Alpha8 => [8, 8, 8, 8, 0, 0],
        Format::Rgb8 | Format::Srgb8 => [8, 8, 8, 0, 0, 0],
        Format::Rgb565 => [5, 6, 5, 0, 0, 0],
        Format::Rgba4 => [4, 4, 4, 4, 0, 0],
        Format::Rgb5A1 => [5, 5, 5, 1, 0, 0],
        Format::DepthComponent16 => [0, 0, 0, 0, 16, 0],
        Format::DepthComponent24 => [0, 0, 0, 0, 24, 0],
        Format::Depth24Stencil8 => [0, 0, 0, 0, 24, 8],
        Format::StencilIndex8 => [0, 0, 0, 0, 0, 8],
        _ => [0; 6],
    }
}

impl<P: Shared> Own<P> {
    /// `glRenderbufferStorage`.
    pub(crate) fn renderbuffer_storage(
        &mut self,
        objects: &mut Objects,
        target: u32,
        internal: u32,
        width: i32,
        height: i32,
    ) -> Outcome {
        if target != enums::RENDERBUFFER {
            return Err(Error::InvalidEnum);
        }
        let limits = &self.limits;
        let format = match internal {
            enums::RGBA4 => Format::Rgba4,
            enums::RGB5_A1 => Format::Rgb5A1,
            enums::RGB565 => Format::Rgb565,
            enums::DEPTH_COMPONENT16 => Format::DepthComponent16,
            enums::STENCIL_INDEX8 => Format::StencilIndex8,
            enums::RGB8_OES if limits.has("GL_OES_rgb8_rgba8") => Format::Rgb8,
            enums::RGBA8_OES if limits.has("GL_OES_rgb8_rgba8") => Format::Rgba8,
            enums::DEPTH_COMPONENT24_OES if limits.has("GL_OES_depth24") => Format::DepthComponent24,
            enums::DEPTH24_STENCIL8_OES if limits.has("GL_OES_packed_depth_stencil") => {
                Format::Depth24Stencil8
            }
            _ => return Err(Error::InvalidEnum),
        };
        let (width, height) = (size(width)?, size(height)?);
        if width > limits.renderbuffer_size || height > limits.renderbuffer_size {
            return Err(Error::InvalidValue);
        }
        let id = self.renderbuffer.ok_or(Error::InvalidOperation)?;
        let Objects { renderbuffers, images_moved, .. } = objects;
        let object = renderbuffers.get_mut(id).ok_or(Error::InvalidOperation)?;
        *images_moved += 1;
        (object.width, object.height, object.internal, object.format) = (width, height, internal, format);
        if width == 0 || height == 0 {
            return Ok(());
        }
        let handle = &mut object.handle;
        self.turn(|_, turn| {
            let Turn { pipe, slots } = turn;
            let desc = |resource| desc(resource, format, width, height);
            if handle.is_null() {
                *handle =
                    slots.mint_with(Band::Renderbuffer, 0, |handle| pipe.resource_create(&desc(handle)))?;
            } else {
                pipe.resource_respecify(&desc(*handle))?;
            }
            Ok(())
        })
    }
}
