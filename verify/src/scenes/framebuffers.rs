//! Framebuffers: what is attached, what goes where, copies from one to another.

use runahead_core::{Session, tracker::Verb};
use runahead_wire::{
    Handle,
    format::Format,
    payload::{FramebufferState, ResourceDesc, Surface, TexelBox},
    values::{
        FramebufferTarget, PixelFormat, PixelType, ResourceTarget, ScalarType, StageMask, SurfaceKind,
        Topology,
    },
};

use super::{
    Reflection, SIDE, Stage, StageError,
    common::{QUAD, bytes, color},
    stage::{Sight, empty_framebuffer, extent, shape},
};

pub(super) mod attachment_kinds;
pub(super) mod default_draw_buffers;
pub(super) mod draw_buffer_maps;
pub(super) mod ended_attachments;
pub(super) mod framebuffer_blits;

/// What a scene leaves that is about other images, which it has checked.
const DONE: [u8; 4] = [0, 255, 0, 255];

fn done<P: Session>(stage: &mut Stage<'_, P>) -> Result<(), StageError> {
    stage.target(Handle::NULL);
    stage.clear(color(DONE))
}

pub(super) const fn all_done(_: u32, _: u32) -> [u8; 4] {
    DONE
}

/// A renderbuffer of eight bits a component, as an attachment.
fn renderbuffer(resource: Handle, format: Format) -> Surface {
    Surface {
        resource,
        internal_format: format.raw(),
        kind: SurfaceKind::Renderbuffer.raw8(),
        texture_target: ResourceTarget::Renderbuffer.raw16(),
        ..Surface::default()
    }
}

/// A texture of eight bits a component.
fn flat(side: u32) -> ResourceDesc {
    shape(ResourceTarget::Texture2D, Format::Rgba8, side, side)
}

/// The viewport of draws, from 0.
fn viewport<P: Session>(stage: &mut Stage<'_, P>, side: u32) {
    let viewport = &mut stage.tracker().render_state().viewports[0];
    (viewport.width, viewport.height) = (side as f32, side as f32);
}

const VERTEX: &str = "#version 450
    layout(location = 0) in vec2 position;
    void main() { gl_Position = vec4(position, 0.0, 1.0); }
";

/// A program whose outputs have these colours; and a quad.
fn outputs<P: Session>(stage: &mut Stage<'_, P>, colors: &[[u8; 4]]) -> Result<(), StageError> {
    use std::fmt::Write as _;
    let (mut declared, mut written) = (String::new(), String::new());
    for (at, [red, green, blue, alpha]) in colors.iter().enumerate() {
        let fine = writeln!(declared, "layout(location = {at}) out vec4 color{at};").is_ok()
            && writeln!(written, "color{at} = vec4({red}.0, {green}.0, {blue}.0, {alpha}.0) / 255.0;")
                .is_ok();
        debug_assert!(fine, "a string takes it");
    }
    let fragment = format!("#version 450\n{declared}void main() {{ {written} }}");
    let mut reflection = Reflection::default();
    for at in 0..colors.len() as u32 {
        reflection = reflection.output(at, ScalarType::Float, 0);
    }
    let stages = [(StageMask::VERTEX, VERTEX), (StageMask::FRAGMENT, fragment.as_str())];
    stage.staged(&stages, &reflection, &[])?;
    let corners: Vec<f32> = QUAD.chunks(4).flat_map(|corner| [corner[0], corner[1]]).collect();
    let quad = stage.buffer(&bytes(&corners))?;
    stage.vertices(quad, &[(0, 2)])
}

/// The whole of what is bound in the colours of the program.
fn draw_all<P: Session>(stage: &mut Stage<'_, P>, side: u32) -> Result<(), StageError> {
    viewport(stage, side);
    stage.draw(Topology::TriangleStrip, 0, 4)?;
    viewport(stage, SIDE);
    Ok(())
}

/// A state that draws to these, and reads the first.
fn to(colors: &[Surface], side: u32) -> FramebufferState {
    let mut state = empty_framebuffer();
    for (at, surface) in colors.iter().enumerate() {
        state.color[at] = *surface;
        state.draw_buffers[at] = at as i8;
    }
    state.read_surface = state.color[0];
    (state.width, state.height) = (side as u16, side as u16);
    state
}
