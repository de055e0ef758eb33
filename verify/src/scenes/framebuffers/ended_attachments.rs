//! Images that end while they are attached: a texture and a renderbuffer, of what is bound and of what is not.

use runahead_core::slots::Band;
use runahead_wire::handle::Kind;

use super::*;

const ONE: [u8; 4] = [255, 102, 0, 255];
const OTHER: [u8; 4] = [0, 102, 255, 255];

pub(in super::super) fn draw<P: Session>(stage: &mut Stage<'_, P>) -> Result<(), StageError> {
    outputs(stage, &[ONE, OTHER])?;
    for texture in [true, false] {
        let stays = stage.image(flat(4))?;
        let (kind, band, ends, surface) = if texture {
            let ends = stage.image(flat(4))?;
            (Kind::Texture, Band::Texture, ends, stage.attachment(ends, 0, 0)?)
        } else {
            let ends = stage.renderbuffer(Format::Rgba8, 4, 4, 0)?;
            (Kind::Renderbuffer, Band::Renderbuffer, ends, renderbuffer(ends, Format::Rgba8))
        };
        let kept = stage.attachment(stays, 0, 0)?;
        let state = to(&[surface, kept], 4);
        stage.bind(FramebufferTarget::Both, &FramebufferState { read_surface: kept, ..state });
        draw_all(stage, 4)?;
        stage.shows("before", &Sight::rgba(stays, 0, extent(4, 4, 1)), &OTHER.repeat(16))?;
        // It leaves the framebuffer that is bound; the other image is drawn to as before.
        stage.destroy(kind, band, ends)?;
        stage.detached(ends);
        stage.fill(stays, 0, extent(4, 4, 1), &[9; 64])?;
        draw_all(stage, 4)?;
        stage.shows("behind", &Sight::rgba(stays, 0, extent(4, 4, 1)), &OTHER.repeat(16))?;
        stage.shows("read", &Sight::rgba(Handle::NULL, 0, extent(4, 4, 1)), &OTHER.repeat(16))?;
        // One in its slot is attached in its place, to a framebuffer of its own.
        let again = stage.image(flat(4))?;
        let state = to(&[stage.attachment(again, 0, 0)?, kept], 4);
        stage.bind(FramebufferTarget::Both, &state);
        draw_all(stage, 4)?;
        stage.shows("again", &Sight::rgba(again, 0, extent(4, 4, 1)), &ONE.repeat(16))?;
        // Storage that stays is another one under the same handle: what is attached is that one.
        let fixed = stage.image(ResourceDesc {
            samples: 4,
            fixed_sample_locations: 1,
            ..shape(ResourceTarget::Texture2DMultisample, Format::Rgba8, 4, 4)
        })?;
        let state = FramebufferState { samples: 4, ..to(&[stage.attachment(fixed, 0, 0)?], 4) };
        stage.bind(FramebufferTarget::Both, &state);
        stage.clear(color(OTHER))?;
        let desc = stage.described(fixed)?;
        stage.respecify(ResourceDesc { width: 2, height: 2, ..desc })?;
        stage.clear(color(ONE))?;
        let resolved = stage.image(flat(4))?;
        stage.fill(resolved, 0, extent(4, 4, 1), &[9; 64])?;
        let target = to(&[stage.attachment(resolved, 0, 0)?], 4);
        let target = stage.named(&target)?;
        super::framebuffer_blits::blit(stage, (Handle::NULL, target), [0, 0, 2, 2], [0, 0, 2, 2], 1)?;
        let mut wanted = vec![9; 64];
        for at in [0, 4, 16, 20] {
            wanted[at..at + 4].copy_from_slice(&ONE);
        }
        stage.shows("other storage", &Sight::rgba(resolved, 0, extent(4, 4, 1)), &wanted)?;
    }
    done(stage)
}

pub(in super::super) use super::all_done as pixel;
