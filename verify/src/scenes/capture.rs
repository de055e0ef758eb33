//! Transform feedback: into one buffer and into several, with pauses, drawn back.

use runahead_core::Session;
use runahead_wire::values::{QueryKind, StageMask, Topology};

use super::{
    Reflection, Stage, StageError,
    common::{BLACK, bytes, color},
};

const FRAGMENT: &str = "#version 450
    layout(location = 1) in vec4 tint;
    layout(location = 0) out vec4 color;
    void main() { color = tint; }
";
const DONE: [u8; 4] = [0, 204, 102, 255];

pub(super) mod pause_and_draw_back {
    use super::*;

    /// Moves corners to one side. What is captured is not seen.
    const MOVED: &str = "#version 450
        layout(location = 0) in vec2 position;
        layout(location = 0, xfb_buffer = 0, xfb_stride = 24, xfb_offset = 0) out vec2 moved;
        layout(location = 1, xfb_buffer = 0, xfb_offset = 8) out vec4 tint;
        void main() {
            moved = position * 0.5 - vec2(0.5, 0.0);
            tint = vec4(position * 0.2 + 0.4, 0.2, 1.0);
            gl_Position = vec4(2.0, 2.0, 0.0, 1.0);
        }
    ";
    const BACK: &str = "#version 450
        layout(location = 0) in vec2 position;
        layout(location = 1) in vec4 color;
        layout(location = 1) out vec4 tint;
        void main() { tint = vec4(0.0, color.z, color.z * 2.0, color.w); gl_Position = vec4(position, 0.0, 1.0); }
    ";
    const CORNERS: [[f32; 2]; 4] = [[-1.0, -1.0], [1.0, -1.0], [-1.0, 1.0], [1.0, 1.0]];
    const SHOWN: [u8; 4] = [0, 51, 102, 255];

    pub(in super::super) fn draw<P: Session>(stage: &mut Stage<'_, P>) -> Result<(), StageError> {
        stage.clear(color(BLACK))?;
        let corners = stage.buffer(&bytes(&CORNERS.concat()))?;
        let captured = stage.buffer(&[0xEE; 5 * 24])?;
        let stages = |vertex| [(StageMask::VERTEX, vertex), (StageMask::FRAGMENT, FRAGMENT)];
        let back = stage.staged(&stages(BACK), &Reflection::default(), &[])?;
        let program = stage.staged(&stages(MOVED), &Reflection::default(), &[])?;
        stage.vertices(corners, &[(0, 2)])?;
        stage.stream_output(41);
        let written = stage.query(QueryKind::TransformFeedbackPrimitivesWritten)?;
        stage.begin_query(&written)?;
        stage.begin_capture(program, Topology::Points, &[(captured, None)])?;
        stage.draw(Topology::Points, 0, 1)?;
        // Neither a draw while it is paused, nor one of another context, is captured; nor is one with another program.
        stage.pause_capture(true)?;
        stage.draw(Topology::Points, 0, 4)?;
        stage.use_program(back);
        stage.draw(Topology::Triangles, 0, 3)?;
        stage.clear(color(BLACK))?;
        stage.use_program(program);
        stage.pause_capture(false)?;
        stage.switch(2)?;
        stage.use_program(program);
        stage.vertices(corners, &[(0, 2)])?;
        stage.draw(Topology::Points, 0, 4)?;
        stage.switch(1)?;
        stage.draw(Topology::Points, 1, 2)?;
        stage.draw(Topology::Points, 3, 1)?;
        stage.end_capture(Topology::Points)?;
        stage.end_query(&written)?;
        if stage.result(&written)? != Some(4) {
            return Err(StageError::Scene("not four primitives were written"));
        }
        let vertices = CORNERS.map(|[x, y]| {
            let tint = [x * 0.2 + 0.4, y * 0.2 + 0.4, 0.2, 1.0];
            [x * 0.5 - 0.5, y * 0.5, tint[0], tint[1], tint[2], tint[3]]
        });
        // The products are exact in no order but one; the positions are in any.
        for (at, vertex) in vertices.iter().enumerate() {
            stage.expect(captured, at as u64 * 24, &bytes(&vertex[..2]))?;
            stage.expect(captured, at as u64 * 24 + 16, &bytes(&vertex[4..]))?;
        }
        stage.expect(captured, 4 * 24, &[0xEE; 24])?;
        stage.use_program(back);
        stage.vertices(captured, &[(0, 2), (1, 4)])?;
        stage.draw(Topology::TriangleStrip, 0, 4)
    }

    pub(in super::super) fn pixel(x: u32, y: u32) -> [u8; 4] {
        if x < 32 && (16..48).contains(&y) { SHOWN } else { BLACK }
    }
}

pub(super) mod separate_buffers {
    use super::*;

    const SPLIT: &str = "#version 450
        layout(location = 0) in vec2 position;
        layout(location = 0, xfb_buffer = 0, xfb_stride = 8, xfb_offset = 0) out vec2 plain;
        layout(location = 1, xfb_buffer = 1, xfb_stride = 16, xfb_offset = 0) out vec4 tint;
        layout(xfb_buffer = 2, xfb_stride = 16) out gl_PerVertex { layout(xfb_offset = 0) vec4 gl_Position; };
        void main() {
            plain = position;
            tint = position.xyxy * 2.0;
            gl_Position = vec4(position * 4.0, 0.0, 1.0);
        }
    ";
    /// Six lines' ends, none on the surface.
    const ENDS: [[f32; 2]; 6] = [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0], [7.0, 8.0], [9.0, 10.0], [11.0, 12.0]];

    pub(in super::super) fn draw<P: Session>(stage: &mut Stage<'_, P>) -> Result<(), StageError> {
        let ends = stage.buffer(&bytes(&ENDS.concat()))?;
        let plain = stage.buffer(&[0; 64])?;
        let tints = stage.buffer(&[0; 128])?;
        let positions = stage.buffer(&[0; 128])?;
        let stages = [(StageMask::VERTEX, SPLIT), (StageMask::FRAGMENT, FRAGMENT)];
        let program = stage.staged(&stages, &Reflection::default(), &[])?;
        stage.vertices(ends, &[(0, 2)])?;
        let [written, generated] =
            [QueryKind::TransformFeedbackPrimitivesWritten, QueryKind::PrimitivesGenerated];
        let (written, generated) = (stage.query(written)?, stage.query(generated)?);
        stage.begin_query(&written)?;
        stage.begin_query(&generated)?;
        // The second window has room for two lines and one end of a third: a primitive is written whole or not at all.
        let targets = [(plain, Some((8, 48))), (tints, Some((16, 80))), (positions, None)];
        stage.begin_capture(program, Topology::Lines, &targets)?;
        stage.draw(Topology::Lines, 0, 6)?;
        stage.end_capture(Topology::Lines)?;
        stage.end_query(&generated)?;
        stage.end_query(&written)?;
        let counts = (stage.result(&written)?, stage.result(&generated)?);
        if counts != (Some(2), Some(3)) {
            return Err(StageError::Wrong(format!("written and generated are {counts:?}")));
        }
        let first: Vec<f32> = ENDS[..4].concat();
        stage.expect(plain, 0, &[[0; 8].to_vec(), bytes(&first), [0; 24].to_vec()].concat())?;
        let twice: Vec<f32> =
            ENDS[..4].iter().flat_map(|[x, y]| [x * 2.0, y * 2.0, x * 2.0, y * 2.0]).collect();
        stage.expect(tints, 0, &[[0; 16].to_vec(), bytes(&twice), [0; 48].to_vec()].concat())?;
        let four: Vec<f32> = ENDS[..4].iter().flat_map(|[x, y]| [x * 4.0, y * 4.0, 0.0, 1.0]).collect();
        stage.expect(positions, 0, &[bytes(&four), [0; 64].to_vec()].concat())?;
        stage.clear(color(DONE))
    }

    pub(in super::super) fn pixel(_: u32, _: u32) -> [u8; 4] {
        DONE
    }
}
