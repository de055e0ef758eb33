//! Queries of each kind, verbs that depend on them, and fences.

use runahead_core::Session;
use runahead_wire::{
    payload::QueryDesc,
    values::{
        BarrierBits, BlockClass, ConditionalRenderMode as Mode, QueryKind, ShaderBufferClass, StageMask,
        Topology, ViewportMask,
    },
};

use super::{
    Reflection, Stage, StageError,
    common::{BLACK, POSITION, UNIFORM_COLOR, bytes, color},
    stage::CELL,
};

const DONE: [u8; 4] = [0, 204, 102, 255];
/// The whole of a viewport, and the same beside it.
const SHAPES: [f32; 16] =
    [-1.0, -1.0, 1.0, -1.0, -1.0, 1.0, 1.0, 1.0, 2.0, 2.0, 3.0, 2.0, 2.0, 3.0, 3.0, 3.0];

fn shapes<P: Session>(stage: &mut Stage<'_, P>) -> Result<(), StageError> {
    let corners = stage.buffer(&bytes(&SHAPES))?;
    stage.program(POSITION, UNIFORM_COLOR, &[("position", 0)], &bytes(&color(DONE)))?;
    stage.vertices(corners, &[(0, 2)])
}

/// Draws the shape that is seen, or the one that is not.
fn strip<P: Session>(stage: &mut Stage<'_, P>, seen: bool) -> Result<(), StageError> {
    stage.draw(Topology::TriangleStrip, if seen { 0 } else { 4 }, 4)
}

fn is<P: Session>(
    stage: &mut Stage<'_, P>,
    query: &QueryDesc,
    wanted: Option<u64>,
) -> Result<(), StageError> {
    let got = stage.result(query)?;
    if got == wanted {
        Ok(())
    } else {
        Err(StageError::Wrong(format!("{query:?} is {got:?}, not {wanted:?}")))
    }
}

pub(super) mod kinds {
    use super::*;

    pub(in super::super) fn draw<P: Session>(stage: &mut Stage<'_, P>) -> Result<(), StageError> {
        stage.clear(color(BLACK))?;
        shapes(stage)?;
        for kind in [QueryKind::AnySamplesPassed, QueryKind::AnySamplesPassedConservative] {
            let query = stage.query(kind)?;
            is(stage, &query, None)?;
            for seen in [false, true, false] {
                stage.begin_query(&query)?;
                strip(stage, seen)?;
                stage.end_query(&query)?;
                // A conservative one may say yes to anything, and no driver says so of what is clipped.
                is(stage, &query, Some(u64::from(seen)))?;
            }
        }
        let generated = stage.query(QueryKind::PrimitivesGenerated)?;
        stage.begin_query(&generated)?;
        strip(stage, true)?;
        strip(stage, false)?;
        stage.end_query(&generated)?;
        is(stage, &generated, Some(4))?;
        // Times: they do not run backwards.
        let (before, behind) = (stage.query(QueryKind::Timestamp)?, stage.query(QueryKind::Timestamp)?);
        let elapsed = stage.query(QueryKind::TimeElapsed)?;
        let start = stage.timestamp()?;
        stage.count(&before)?;
        stage.begin_query(&elapsed)?;
        strip(stage, true)?;
        stage.end_query(&elapsed)?;
        stage.count(&behind)?;
        let times = [&before, &behind, &elapsed].map(|query| stage.result(query));
        match times {
            [Ok(Some(before)), Ok(Some(behind)), Ok(Some(elapsed))]
                if start > 0 && start as u64 <= before && before < behind && elapsed <= behind - before => {}
            times => return Err(StageError::Wrong(format!("times behind {start} are {times:?}"))),
        }
        Ok(())
    }

    pub(in super::super) fn pixel(_: u32, _: u32) -> [u8; 4] {
        DONE
    }
}

pub(super) mod across_contexts {
    use super::*;

    pub(in super::super) fn draw<P: Session>(stage: &mut Stage<'_, P>) -> Result<(), StageError> {
        stage.clear(color(BLACK))?;
        stage.switch(2)?;
        shapes(stage)?;
        stage.switch(1)?;
        shapes(stage)?;
        // What the other context draws between is not counted.
        let any = stage.query(QueryKind::AnySamplesPassed)?;
        let generated = stage.query(QueryKind::PrimitivesGenerated)?;
        stage.begin_query(&any)?;
        stage.begin_query(&generated)?;
        strip(stage, false)?;
        stage.switch(2)?;
        strip(stage, true)?;
        // It has queries of its own.
        let other = stage.query(QueryKind::AnySamplesPassed)?;
        stage.begin_query(&other)?;
        stage.switch(1)?;
        strip(stage, false)?;
        stage.end_query(&any)?;
        stage.end_query(&generated)?;
        is(stage, &any, Some(0))?;
        is(stage, &generated, Some(4))?;
        stage.switch(2)?;
        strip(stage, true)?;
        stage.switch(1)?;
        stage.switch(2)?;
        stage.end_query(&other)?;
        is(stage, &other, Some(1))
    }

    pub(in super::super) fn pixel(_: u32, _: u32) -> [u8; 4] {
        DONE
    }
}

pub(super) mod conditional {
    use super::*;

    const MODES: [(Mode, bool); 8] = [
        (Mode::Wait, false),
        (Mode::NoWait, false),
        (Mode::ByRegionWait, false),
        (Mode::ByRegionNoWait, false),
        (Mode::WaitInverted, true),
        (Mode::NoWaitInverted, true),
        (Mode::ByRegionWaitInverted, true),
        (Mode::ByRegionNoWaitInverted, true),
    ];
    const COUNT: &str = "#version 450
        layout(local_size_x = 1) in;
        layout(std430, binding = 0) buffer Counter { uint count; };
        void main() { count += 1u; }
    ";
    const CLEARED: [u8; 4] = [102, 0, 153, 204];

    /// Whether a verb of row `y` of cells is done in mode `x`: rows 0 and 2 depend on samples that passed, 1 and 3 on
    /// none.
    fn is_done(x: u32, y: u32) -> bool {
        let (_, inverted) = MODES[x as usize];
        y.is_multiple_of(2) != inverted
    }

    pub(in super::super) fn draw<P: Session>(stage: &mut Stage<'_, P>) -> Result<(), StageError> {
        stage.clear(color(BLACK))?;
        let reflection = Reflection::default().block(BlockClass::Storage, 0, 4);
        let count = stage.staged(&[(StageMask::COMPUTE, COUNT)], &reflection, &[])?;
        let counter = stage.buffer(&[0; 4])?;
        stage.point(ShaderBufferClass::Storage, 0, counter, None)?;
        let corners = stage.buffer(&bytes(&SHAPES))?;
        let program = stage.program(POSITION, UNIFORM_COLOR, &[("position", 0)], &bytes(&color(DONE)))?;
        stage.vertices(corners, &[(0, 2)])?;
        let mut dispatched = 0_u32;
        for y in 0..2 {
            let query = stage.query(QueryKind::AnySamplesPassed)?;
            stage.use_program(program);
            stage.cell(63);
            stage.begin_query(&query)?;
            strip(stage, y == 0)?;
            stage.end_query(&query)?;
            // The result is there from here on, so that modes without a wait have it too.
            is(stage, &query, Some(u64::from(y == 0)))?;
            for (x, (mode, _)) in (0..).zip(MODES) {
                stage.use_program(program);
                stage.condition(Some(&query), mode);
                stage.cell(y * CELL + x);
                strip(stage, true)?;
                let scissor = &mut stage.tracker().render_state().scissor_boxes[0];
                (scissor.x, scissor.y) = ((x * CELL) as i32, ((y + 2) * CELL) as i32);
                (scissor.width, scissor.height) = (CELL as i32, CELL as i32);
                stage.tracker().render_state().scissor_enable_mask = ViewportMask::V0.raw();
                stage.clear(color(CLEARED))?;
                stage.tracker().render_state().scissor_enable_mask = 0;
                stage.use_program(count);
                stage.dispatch([1, 1, 1])?;
                dispatched += u32::from(is_done(x, y));
            }
            stage.condition(None, Mode::Wait);
        }
        stage.barrier(BarrierBits::BUFFER_UPDATE)?;
        stage.expect(counter, 0, &dispatched.to_le_bytes())?;
        // A dependence that has ended keeps nothing from being done.
        stage.use_program(program);
        stage.cell(4 * CELL);
        strip(stage, true)
    }

    pub(in super::super) fn pixel(x: u32, y: u32) -> [u8; 4] {
        let (x, y) = (x / CELL, y / CELL);
        match y {
            0 | 1 if is_done(x, y) => DONE,
            2 | 3 if is_done(x, y) => CLEARED,
            4 if x == 0 => DONE,
            7 if x == 7 => DONE,
            _ => BLACK,
        }
    }
}

pub(super) mod fence_order {
    use super::*;

    pub(in super::super) fn draw<P: Session>(stage: &mut Stage<'_, P>) -> Result<(), StageError> {
        stage.clear(color(BLACK))?;
        shapes(stage)?;
        let mut fences = Vec::new();
        for _ in 0..8 {
            strip(stage, true)?;
            fences.push(stage.fence()?);
        }
        // Those before a fence that was passed were passed, without a wait; whatever the order of asking.
        let last = fences.pop().ok_or(StageError::Scene("there are eight"))?;
        if !stage.wait_fence(last, u64::MAX)? {
            return Err(StageError::Scene("the last fence was not passed"));
        }
        for fence in fences.into_iter().rev() {
            if !stage.wait_fence(fence, 0)? {
                return Err(StageError::Scene("a fence before one that was passed was not"));
            }
        }
        Ok(())
    }

    pub(in super::super) fn pixel(_: u32, _: u32) -> [u8; 4] {
        DONE
    }
}
