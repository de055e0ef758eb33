//! What the caps promise is there, and what lies beyond is refused by name.

use runahead_core::{Session, compare::Check};
use runahead_linux::native::gles::WindowSystem;
use runahead_verify::scenes::{Complaint, Stage, StageError, shape};
use runahead_wire::{
    caps::CapsView,
    format::Format,
    handle::Kind,
    payload::{CapsLimits, ResourceDesc},
    values::{FormatFeatures, RefusedReason, ResourceTarget},
};

use crate::{
    TOPOLOGIES,
    run::{Arm, Draw, Run, draw_telling, open},
};

/// Makes what is as large as the limits, and then what is larger by one.
struct Largest {
    limits: CapsLimits,
    /// Formats with their uses.
    formats: Vec<(Format, FormatFeatures, u32)>,
}

impl Largest {
    fn new(caps: &CapsView<'_>) -> Self {
        let formats = caps.formats().iter().filter_map(|one| {
            Some((one.format()?, FormatFeatures::from_raw(one.features)?, one.attachment_samples))
        });
        Self { limits: *caps.limits(), formats: formats.collect() }
    }

    /// Storages that are as large as they may be, each with one that is larger.
    fn textures(&self) -> [[ResourceDesc; 2]; 4] {
        let of = |target, width, height| shape(target, Format::R8, width, height);
        let limits = &self.limits;
        let (flat, cube) = (limits.max_texture_size, limits.max_cube_map_texture_size);
        let (deep, layers) = (limits.max_3d_texture_size, limits.max_array_texture_layers);
        let array = |layers: u32| ResourceDesc {
            array_layers: layers as u16,
            ..of(ResourceTarget::Texture2DArray, 1, 1)
        };
        let faces = |side: u32| ResourceDesc { array_layers: 6, ..of(ResourceTarget::CubeMap, side, side) };
        let solid = |width: u32| ResourceDesc { depth: 1, ..of(ResourceTarget::Texture3D, width, 1) };
        [
            [flat, flat + 1].map(|width| of(ResourceTarget::Texture2D, width, 1)),
            [layers, layers + 1].map(array),
            // Six faces of the largest size are a gigabyte on some drivers: only the larger one is asked for there.
            [cube.min(4096), cube + 1].map(faces),
            [deep, deep + 1].map(solid),
        ]
    }
}

impl Draw for Largest {
    fn draw<P: Session>(&self, stage: &mut Stage<'_, P>) -> Result<(), StageError> {
        for [largest, larger] in self.textures() {
            stage.image(largest)?;
            stage.image(larger)?;
        }
        let side = self.limits.max_renderbuffer_size;
        stage.renderbuffer(Format::Rgba8, side, 1, 0)?;
        stage.renderbuffer(Format::Rgba8, side + 1, 1, 0)?;
        for (format, uses, samples) in &self.formats {
            if !uses.contains(FormatFeatures::RENDERABLE) {
                continue;
            }
            for count in (1..32).filter(|count| samples >> count & 1 != 0) {
                stage.renderbuffer(*format, 2, 2, count)?;
            }
        }
        Ok(())
    }
}

#[test]
fn limits_hold_and_what_lies_beyond_is_refused() {
    for (name, topology) in TOPOLOGIES {
        let (client, _) = open(Arm::on(*topology), &WindowSystem::Surfaceless);
        let largest = Largest::new(&client.caps());
        client.close().expect("an orderly end");
        let Run { drawn, reason, complaints, .. } = draw_telling(Arm::on(*topology), &largest, Check::Off);
        assert!(drawn.is_ok(), "{name}: {drawn:?} {reason:?}");
        let refused = complaints.iter().filter_map(|complaint| match complaint {
            Complaint::Refused(refused) if refused.reason() == Some(RefusedReason::TooLarge) => {
                refused.kind()
            }
            _ => None,
        });
        // One larger than the largest of each kind, and nothing else: every count of samples of every format is there.
        let [t, r] = [Kind::Texture, Kind::Renderbuffer];
        assert_eq!(refused.collect::<Vec<_>>(), [t, t, t, t, r], "{name}: {complaints:#?}");
        assert_eq!(complaints.len(), 5, "{name}: {complaints:#?}");
    }
}
