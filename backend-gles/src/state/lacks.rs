//! What a state asks for and the driver does not have. It is looked at where it would change an image, and there a draw
//! is refused.

use runahead_core::backend::Outcome;
use runahead_wire::{
    format::FormatClass,
    payload::{FramebufferState, RenderState},
    values::{
        BlendOp, ClipDepthMode, ClipOrigin, LogicOp, PointSpriteOrigin, PolygonMode, SurfaceKind, Topology,
    },
};

use super::blend;
use crate::gl::{Gl, UNSUPPORTED};

/// What a state asks for in vain, by what it would change.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is a class of images")]
pub(crate) struct Lacks {
    /// Every draw.
    draws: bool,
    /// Points.
    points: bool,
    /// Lines.
    lines: bool,
    /// Polygons.
    polygons: bool,
    /// Whatever is multisampled.
    multisampled: bool,
    /// Whatever is written to an sRGB format.
    srgb: bool,
}

impl Lacks {
    pub(super) fn new(gl: &Gl, state: &RenderState) -> Self {
        let (extended, able) = (&gl.extended, &gl.extended.able);
        let buffers = able.draw_buffers as usize;
        let blends = blend::effective(state).iter().take(buffers).any(|blend| {
            blend.enabled != 0
                && (blend::is_dual(blend) && !able.dual_source
                    || blend.op_rgb > BlendOp::Max as u32
                    || blend.op_alpha > BlendOp::Max as u32)
        });
        let uneven = blend::is_uneven(&blend::effective(state), buffers)
            || blend::is_uneven(&state.color_masks, buffers);
        let turned = state.clip_origin != ClipOrigin::LowerLeft as u32
            || state.clip_depth_mode != ClipDepthMode::NegativeOneToOne as u32;
        let viewport = &state.viewports[0];
        let whole =
            [viewport.x, viewport.y, viewport.width, viewport.height].iter().all(|side| side.fract() == 0.0);
        let modes = [state.polygon_mode_front, state.polygon_mode_back];
        let filled = modes == [PolygonMode::Fill as u32; 2];
        Self {
            draws: state.color_logic_op != 0 && state.logic_op != LogicOp::Copy as u32
                || blends
                || uneven && !able.indexed_draw_buffers
                || turned && extended.clip_control.is_none()
                || state.depth_clamp != 0 && !able.depth_clamp
                || state.clip_distance_mask != 0 && !able.clip_distances
                || !whole && extended.viewport_array.is_none(),
            points: state.program_point_size == 0 && state.point_size != 1.0
                || state.point_sprite_origin != PointSpriteOrigin::UpperLeft as u32,
            lines: state.line_smooth != 0,
            polygons: !filled && (extended.polygon_mode.is_none() || modes[0] != modes[1])
                || state.polygon_smooth != 0
                || state.polygon_offset_fill != 0
                    && state.polygon_offset_clamp != 0.0
                    && extended.polygon_offset_clamp.is_none(),
            multisampled: state.sample_mask != 0 && extended.sample_mask.is_none()
                || state.sample_shading != 0 && extended.min_sample_shading.is_none()
                || (state.sample_alpha_to_one != 0 || state.multisample == 0) && !able.multisample_control,
            srgb: state.framebuffer_srgb == 0 && !able.srgb_control,
        }
    }

    /// Whether nothing is lacking.
    #[inline]
    pub(super) fn nothing(self) -> bool {
        self == Self::default()
    }

    /// Whether primitives of a kind can be drawn to a framebuffer.
    #[cold]
    pub(super) fn allow_draw(self, topology: Topology, target: &FramebufferState) -> Outcome {
        let lacks = match topology {
            Topology::Points => self.points,
            Topology::Lines
            | Topology::LineLoop
            | Topology::LineStrip
            | Topology::LinesAdjacency
            | Topology::LineStripAdjacency => self.lines,
            Topology::Triangles
            | Topology::TriangleStrip
            | Topology::TriangleFan
            | Topology::TrianglesAdjacency
            | Topology::TriangleStripAdjacency => self.polygons,
            // Stages behind decide what comes out.
            Topology::Patches => self.points || self.lines || self.polygons,
        };
        if self.draws || lacks || self.multisampled && target.samples > 1 {
            return Err(UNSUPPORTED);
        }
        self.allow_write(target)
    }

    /// Whether a framebuffer can be cleared, or written to by a blit.
    #[cold]
    pub(super) fn allow_write(self, target: &FramebufferState) -> Outcome {
        let is_srgb = |surface: &runahead_wire::payload::Surface| {
            surface.kind() != Some(SurfaceKind::None)
                && surface.internal_format().is_some_and(|format| format.class() == FormatClass::Srgb)
        };
        if self.srgb && target.color.iter().any(is_srgb) { Err(UNSUPPORTED) } else { Ok(()) }
    }
}
