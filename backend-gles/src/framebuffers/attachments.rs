//! What is attached to a framebuffer, and which output goes where.
//!
//! OpenGL ES sends output `n` to attachment point `n` or nowhere (OpenGL ES 3.2 section 15.2.1); the wire sends it to any
//! attachment. So images are attached in the order of the outputs that they take, and the other ones where there is room:
//! the driver's points are not the client's.

use runahead_core::{backend::Outcome, objects::Objects, storage::Storage};
use runahead_wire::{
    Handle,
    limits::COLOR_ATTACHMENTS,
    payload::{FramebufferState, ResourceDesc, Surface},
    values::{ResourceTarget, SurfaceKind, UploadTarget},
};

use glow::HasContext;

use crate::{
    Gles,
    extended::needed,
    gl::{FAILED, Gl, UNSUPPORTED, gl},
    textures::{self, Units},
};

/// Parameters of a framebuffer without attachments (OpenGL ES 3.1 section 9.2.1).
const DEFAULT_WIDTH: u32 = 0x9310;
const DEFAULT_HEIGHT: u32 = 0x9311;
const DEFAULT_LAYERS: u32 = 0x9312;
const DEFAULT_SAMPLES: u32 = 0x9313;
const DEFAULT_FIXED_SAMPLE_LOCATIONS: u32 = 0x9314;

/// The client's attachment at each point of the driver's.
type Points = [Option<usize>; COLOR_ATTACHMENTS];

const fn is_none(surface: &Surface) -> bool {
    surface.kind as u32 == SurfaceKind::None.raw()
}

/// Where the attachments go; nothing when two outputs go to one of them, which no driver does.
fn points(state: &FramebufferState) -> Option<Points> {
    let mut points: Points = [None; COLOR_ATTACHMENTS];
    for (at, buffer) in state.draw_buffers.iter().enumerate() {
        let Ok(attachment) = usize::try_from(*buffer) else { continue };
        if points.contains(&Some(attachment)) {
            return None;
        }
        points[at] = Some(attachment);
    }
    for (attachment, _) in state.color.iter().enumerate().filter(|(_, surface)| !is_none(surface)) {
        if points.contains(&Some(attachment)) {
            continue;
        }
        // At its own point, if nobody took it.
        let room = std::iter::once(attachment).chain(0..points.len()).find(|at| points[*at].is_none());
        points[room?] = Some(attachment);
    }
    Some(points)
}

/// Attaches what the state names to the framebuffer that is bound for draws, and sets its draw buffers. Answers the
/// driver's point that reads see.
pub(super) fn attach<S: Storage>(
    gl: &Gl,
    (home, units): (u32, &mut Units),
    objects: &mut Objects<Gles, S>,
    state: &FramebufferState,
) -> Outcome<u32> {
    let points = points(state).ok_or(UNSUPPORTED)?;
    let target = glow::DRAW_FRAMEBUFFER;
    for (at, attachment) in (0..).zip(points) {
        let none = Surface::default();
        let surface = attachment.map_or(&none, |attachment| &state.color[attachment]);
        // Beyond what the driver has, nothing can be attached, and nothing was.
        if at >= gl.extended.able.color_attachments {
            if is_none(surface) {
                continue;
            }
            return Err(UNSUPPORTED);
        }
        attach_one(gl, (home, units), objects, target, glow::COLOR_ATTACHMENT0 + at, surface)?;
    }
    attach_one(gl, (home, units), objects, target, glow::DEPTH_ATTACHMENT, &state.depth)?;
    attach_one(gl, (home, units), objects, target, glow::STENCIL_ATTACHMENT, &state.stencil)?;
    let empty = state.color.iter().chain([&state.depth, &state.stencil]).all(is_none);
    if empty {
        set_size(gl, state)?;
    }
    set_buffers(gl, state);
    let seen = &state.read_surface;
    if is_none(seen) {
        return Ok(glow::NONE);
    }
    let at = points.iter().position(|at| at.is_some_and(|at| state.color[at] == *seen));
    Ok(at.map_or(glow::NONE, |at| glow::COLOR_ATTACHMENT0 + at as u32))
}

/// The size of a framebuffer without attachments.
fn set_size(gl: &Gl, state: &FramebufferState) -> Outcome {
    let target = glow::DRAW_FRAMEBUFFER;
    if gl.extended.framebuffer_parameter.is_none() {
        return Ok(());
    }
    let number = |value: u16| i32::from(value);
    needed!(gl, framebuffer_parameter(target, DEFAULT_WIDTH, number(state.width)))?;
    needed!(gl, framebuffer_parameter(target, DEFAULT_HEIGHT, number(state.height)))?;
    needed!(gl, framebuffer_parameter(target, DEFAULT_SAMPLES, number(state.samples)))?;
    let fixed = i32::from(state.fixed_sample_locations);
    needed!(gl, framebuffer_parameter(target, DEFAULT_FIXED_SAMPLE_LOCATIONS, fixed))?;
    if gl.extended.framebuffer_texture.is_some() {
        // One layer is what a framebuffer without layers has.
        let layers = if state.layers > 1 { number(state.layers) } else { 0 };
        needed!(gl, framebuffer_parameter(target, DEFAULT_LAYERS, layers))?;
    }
    Ok(())
}

/// Output `n` goes to point `n`, where its attachment lies.
fn set_buffers(gl: &Gl, state: &FramebufferState) {
    let last = state.draw_buffers.iter().rposition(|buffer| *buffer >= 0).map_or(1, |at| at + 1);
    let mut buffers = [glow::NONE; COLOR_ATTACHMENTS];
    for (place, (at, buffer)) in buffers.iter_mut().zip((0..).zip(state.draw_buffers)) {
        if buffer >= 0 {
            *place = glow::COLOR_ATTACHMENT0 + at;
        }
    }
    gl!(gl, draw_buffers(buffers.get(..last).unwrap_or_default()));
}

/// Whether the framebuffer that is bound can be used.
pub(super) fn is_complete(gl: &Gl, target: u32) -> Outcome {
    if gl!(gl, check_framebuffer_status(target)) == glow::FRAMEBUFFER_COMPLETE {
        Ok(())
    } else {
        Err(UNSUPPORTED)
    }
}

/// Attaches one image, or nothing.
pub(super) fn attach_one<S: Storage>(
    gl: &Gl,
    (home, units): (u32, &mut Units),
    objects: &mut Objects<Gles, S>,
    target: u32,
    attachment: u32,
    surface: &Surface,
) -> Outcome {
    match surface.kind().ok_or(FAILED)? {
        SurfaceKind::None => {
            gl!(gl, framebuffer_renderbuffer(target, attachment, glow::RENDERBUFFER, None));
        }
        SurfaceKind::Renderbuffer => {
            let Some(object) = objects.renderbuffers.get_mut(surface.resource) else { return Err(FAILED) };
            let name = object.twin.name(gl, home)?;
            gl!(gl, framebuffer_renderbuffer(target, attachment, glow::RENDERBUFFER, Some(name)));
        }
        SurfaceKind::Texture => {
            let Some(object) = objects.textures.get_mut(surface.resource) else { return Err(FAILED) };
            let name = object.twin.name(gl, home)?;
            object.twin.attached = true;
            let level = i32::from(surface.level);
            let kind = object.record.desc.target().ok_or(FAILED)?;
            let levels = object.record.desc.levels;
            if !object.twin.settled.is(&object.record, levels) {
                // A level can be attached where it is one of those that the parameters leave (OpenGL ES 3.2 section 9.4.1).
                let bound = textures::target(kind).ok_or(UNSUPPORTED)?;
                units.work(gl, bound, name)?;
                object.twin.settled.settle(gl, bound, &object.record, levels);
            }
            if surface.layered != 0 {
                return needed!(gl, framebuffer_texture(target, attachment, name.0.get(), level));
            }
            match kind {
                ResourceTarget::Texture1D
                | ResourceTarget::Texture2D
                | ResourceTarget::TextureRectangle
                | ResourceTarget::Texture2DMultisample
                | ResourceTarget::CubeMap => {
                    let kind = textures::target(kind).ok_or(UNSUPPORTED)?;
                    let image = match surface.upload_target().ok_or(FAILED)? {
                        // A face that is named as a layer.
                        UploadTarget::Whole if kind == glow::TEXTURE_CUBE_MAP => {
                            glow::TEXTURE_CUBE_MAP_POSITIVE_X + surface.layer.min(5)
                        }
                        upload => textures::image(kind, upload),
                    };
                    gl!(gl, framebuffer_texture_2d(target, attachment, image, Some(name), level));
                }
                ResourceTarget::Texture3D
                | ResourceTarget::Texture1DArray
                | ResourceTarget::Texture2DArray
                | ResourceTarget::CubeMapArray
                | ResourceTarget::Texture2DMultisampleArray => {
                    let layer = i32::try_from(surface.layer).map_err(|_| UNSUPPORTED)?;
                    gl!(gl, framebuffer_texture_layer(target, attachment, Some(name), level, layer));
                }
                ResourceTarget::Buffer | ResourceTarget::Renderbuffer | ResourceTarget::TextureBuffer => {
                    return Err(UNSUPPORTED);
                }
            }
        }
    }
    Ok(())
}

/// What is known of the image that is attached.
pub(crate) fn image<S: Storage>(objects: &Objects<Gles, S>, surface: &Surface) -> Option<ResourceDesc> {
    match surface.kind()? {
        SurfaceKind::Texture => objects.textures.get(surface.resource).map(|object| object.record.desc),
        SurfaceKind::Renderbuffer => {
            objects.renderbuffers.get(surface.resource).map(|object| object.record.desc)
        }
        SurfaceKind::None => None,
    }
}

/// One image of a texture, as an attachment: slice, layer or face `z`.
pub(crate) fn surface(desc: &ResourceDesc, resource: Handle, level: u16, z: u32) -> Surface {
    Surface {
        resource,
        internal_format: desc.internal_format,
        kind: SurfaceKind::Texture.raw8(),
        level,
        layer: z,
        texture_target: u16::from(desc.target),
        ..Surface::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn images_lie_where_their_outputs_go() {
        let image = Surface { kind: SurfaceKind::Renderbuffer.raw8(), ..Surface::default() };
        let mut state =
            FramebufferState { draw_buffers: [2, -1, 0, -1, -1, -1, -1, -1], ..FramebufferState::default() };
        state.color[..3].fill(image);
        let found = points(&state).expect("all of them");
        // The second has kept its own place.
        assert_eq!(found[..4], [Some(2), Some(1), Some(0), None]);
        state.draw_buffers = [1, -1, -1, -1, -1, -1, -1, -1];
        // Its own place is taken, so the first goes to the next free one.
        assert_eq!(points(&state).expect("all of them")[..3], [Some(1), Some(0), Some(2)]);
        state.draw_buffers = [0, 0, -1, -1, -1, -1, -1, -1];
        assert_eq!(points(&state), None, "one image for two outputs");
    }
}
