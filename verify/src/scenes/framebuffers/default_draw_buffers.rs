//! Draw buffers of the surface: none, and back.

use super::*;

const FIRST: [u8; 4] = [51, 102, 153, 255];
const SECOND: [u8; 4] = [255, 204, 0, 255];
const NEVER: [u8; 4] = [255, 0, 0, 255];

pub(in super::super) fn draw<P: Session>(stage: &mut Stage<'_, P>) -> Result<(), StageError> {
    stage.clear(color(FIRST))?;
    outputs(stage, &[NEVER])?;
    let nothing = FramebufferState { draw_buffers: [-1; 8], ..empty_framebuffer() };
    stage.bind_surface(&nothing);
    draw_all(stage, SIDE)?;
    stage.clear(color(NEVER))?;
    // Another framebuffer in between, and the same again.
    let texture = stage.image(flat(4))?;
    let state = to(&[stage.attachment(texture, 0, 0)?], 4);
    stage.bind(FramebufferTarget::Both, &state);
    stage.clear(color(SECOND))?;
    stage.bind_surface(&nothing);
    draw_all(stage, SIDE)?;
    // Half of it, with the buffer back.
    stage.bind_surface(&empty_framebuffer());
    outputs(stage, &[SECOND])?;
    let viewport = &mut stage.tracker().render_state().viewports[0];
    (viewport.width, viewport.height) = ((SIDE / 2) as f32, SIDE as f32);
    stage.draw(Topology::TriangleStrip, 0, 4)
}

pub(in super::super) fn pixel(x: u32, _: u32) -> [u8; 4] {
    if x < SIDE / 2 { SECOND } else { FIRST }
}
