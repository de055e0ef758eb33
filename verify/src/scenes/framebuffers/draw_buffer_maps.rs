//! Outputs that go to attachments of other numbers, or nowhere; and what is read is another one.

use runahead_wire::values::ValueClass;

use super::*;

const RED: [u8; 4] = [255, 0, 0, 255];
const GREEN: [u8; 4] = [0, 255, 0, 255];
const BLUE: [u8; 4] = [0, 0, 255, 255];
const BEFORE: [u8; 4] = [51, 51, 51, 51];

pub(in super::super) fn draw<P: Session>(stage: &mut Stage<'_, P>) -> Result<(), StageError> {
    let mut textures = [Handle::NULL; 4];
    let mut surfaces = [Surface::default(); 4];
    for (texture, surface) in textures.iter_mut().zip(&mut surfaces) {
        *texture = stage.image(flat(4))?;
        *surface = stage.attachment(*texture, 0, 0)?;
    }
    outputs(stage, &[RED, GREEN, BLUE])?;
    // Attachments of each output, and what each attachment then has.
    let cases = [
        ([0, 1, 2], [RED, GREEN, BLUE, BEFORE]),
        ([2, -1, 0], [BLUE, BEFORE, RED, BEFORE]),
        ([3, 0, 1], [GREEN, BLUE, BEFORE, RED]),
        ([-1, -1, 3], [BEFORE, BEFORE, BEFORE, BLUE]),
        ([-1, -1, -1], [BEFORE; 4]),
    ];
    for (map, wanted) in cases {
        for texture in textures {
            stage.fill(texture, 0, extent(4, 4, 1), &BEFORE.repeat(16))?;
        }
        let mut state = to(&surfaces, 4);
        state.draw_buffers = [-1; 8];
        state.draw_buffers[..3].copy_from_slice(&map);
        state.read_surface = surfaces[1];
        stage.bind(FramebufferTarget::Both, &state);
        draw_all(stage, 4)?;
        for (number, (texture, wanted)) in textures.iter().zip(wanted).enumerate() {
            let name = format!("attachment {number} of {map:?}");
            stage.shows(&name, &Sight::rgba(*texture, 0, extent(4, 4, 1)), &wanted.repeat(16))?;
        }
        stage.shows(
            "the read buffer",
            &Sight::rgba(Handle::NULL, 0, extent(4, 4, 1)),
            &wanted[1].repeat(16),
        )?;
        // A clear of a draw buffer goes where the output goes.
        stage.clear_color(2, ValueClass::Float, [0_f32, 0.0, 0.0, 0.0].map(f32::to_bits))?;
        if let Ok(attachment) = usize::try_from(map[2]) {
            let seen = Sight::rgba(textures[attachment], 0, extent(4, 4, 1));
            stage.shows("a cleared draw buffer", &seen, &[0; 64])?;
        }
    }
    done(stage)
}

pub(in super::super) use super::all_done as pixel;
