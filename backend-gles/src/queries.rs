//! Queries, and verbs that depend on their results.
//!
//! A query of the client is a row of the driver's: another client context of the share group that takes the native
//! context over ends the piece at hand, and the way back begins the next one. The result is that of all pieces.
//!
//! OpenGL ES has no conditional rendering. It is done here: a verb looks at the result and is left out. With a mode
//! that waits, the thread that applies waits for the GPU, once a result; with one that does not, what is not there yet
//! counts as if the condition held.

use runahead_core::{
    backend::{Outcome, Scope},
    objects::Records,
    storage::Storage,
};
use runahead_wire::{
    Handle,
    payload::{QueryDesc, QueryResultAnswer},
    values::{ConditionalRenderMode, QueryKind},
};

use glow::HasContext;

use crate::{
    Gles,
    gl::{FAILED, Gl, UNSUPPORTED, gl},
};

/// `PRIMITIVES_GENERATED` (OpenGL ES 3.2 section 12.1).
const PRIMITIVES_GENERATED: u32 = 0x8C87;
/// `TIME_ELAPSED_EXT` and `TIMESTAMP_EXT` (EXT_disjoint_timer_query).
pub(crate) const TIME_ELAPSED: u32 = 0x88BF;
pub(crate) const TIMESTAMP: u32 = 0x8E28;

/// Twin of a query.
#[derive(Debug, Default)]
pub struct Query {
    /// Number of the native context.
    pub(crate) home: u32,
    /// The driver's, one a piece.
    pub(crate) pieces: Vec<glow::NativeQuery>,
    /// Whether the driver was asked to get on with it.
    flushed: bool,
    result: Option<u64>,
}

/// Records of queries.
pub(crate) type Queries<S> = Records<runahead_core::objects::Query, Query, S>;

/// A query between begin and end.
#[derive(Clone, Copy, Debug)]
struct Active {
    context: u64,
    query: Handle,
    target: u32,
    /// The piece that runs.
    running: Option<glow::NativeQuery>,
}

/// The active queries of a native context.
#[derive(Debug, Default)]
pub(crate) struct ActiveQueries(Vec<Active>);

/// Whether the driver has timer queries.
pub(crate) fn has_timer(gl: &Gl) -> bool {
    gl.has("GL_EXT_disjoint_timer_query")
}

/// The driver's target of a kind of query.
fn target(gl: &Gl, desc: &QueryDesc) -> Outcome<u32> {
    let target = match desc.kind().ok_or(UNSUPPORTED)? {
        QueryKind::AnySamplesPassed => Some(glow::ANY_SAMPLES_PASSED),
        QueryKind::AnySamplesPassedConservative => Some(glow::ANY_SAMPLES_PASSED_CONSERVATIVE),
        QueryKind::PrimitivesGenerated => (gl.version >= 32).then_some(PRIMITIVES_GENERATED),
        QueryKind::TransformFeedbackPrimitivesWritten => Some(glow::TRANSFORM_FEEDBACK_PRIMITIVES_WRITTEN),
        QueryKind::TimeElapsed => has_timer(gl).then_some(TIME_ELAPSED),
        QueryKind::Timestamp => has_timer(gl).then_some(TIMESTAMP),
        // Counts of samples, overflows and what stages did: OpenGL ES counts none of them.
        _ => None,
    };
    target.filter(|_| desc.stream == 0).ok_or(UNSUPPORTED)
}

const fn is_any(target: u32) -> bool {
    matches!(target, glow::ANY_SAMPLES_PASSED | glow::ANY_SAMPLES_PASSED_CONSERVATIVE)
}

impl Query {
    /// Begins a piece.
    fn begin(&mut self, gl: &Gl, target: u32) -> Outcome<glow::NativeQuery> {
        let piece = gl!(gl, create_query()).map_err(|_| FAILED)?;
        gl.clear_errors();
        gl!(gl, begin_query(target, piece));
        gl.outcome().inspect_err(|_| gl!(gl, delete_query(piece)))?;
        self.pieces.push(piece);
        Ok(piece)
    }

    /// Starts over.
    fn clear(&mut self, gl: &Gl, home: u32) {
        for piece in self.pieces.drain(..) {
            gl!(gl, delete_query(piece));
        }
        (self.home, self.flushed, self.result) = (home, false, None);
    }

    /// The result, once it is there; with `wait`, waits for it. The native context is current.
    pub(crate) fn poll(
        &mut self,
        gl: &Gl,
        desc: &QueryDesc,
        wait: bool,
    ) -> Outcome<Option<QueryResultAnswer>> {
        let result = match self.result {
            Some(result) => result,
            None => match self.read(gl, target(gl, desc)?, wait) {
                Some(result) => result,
                None => return Ok(None),
            },
        };
        self.result = Some(result);
        Ok(Some(QueryResultAnswer { value: result, produced: 1, ..QueryResultAnswer::default() }))
    }

    fn read(&mut self, gl: &Gl, target: u32, wait: bool) -> Option<u64> {
        let there = |piece: &glow::NativeQuery| {
            gl!(gl, get_query_parameter_u32(*piece, glow::QUERY_RESULT_AVAILABLE)) != 0
        };
        if !wait && !self.pieces.iter().all(there) {
            if !self.flushed {
                gl!(gl, flush());
                self.flushed = true;
            }
            return None;
        }
        let one = |piece: &glow::NativeQuery| match target {
            TIME_ELAPSED | TIMESTAMP => gl!(gl, get_query_parameter_u64(*piece, glow::QUERY_RESULT)),
            _ => u64::from(gl!(gl, get_query_parameter_u32(*piece, glow::QUERY_RESULT))),
        };
        let all = self.pieces.iter().map(one).fold(0, u64::saturating_add);
        Some(if is_any(target) { u64::from(all != 0) } else { all })
    }
}

impl ActiveQueries {
    /// Begins a query.
    pub(crate) fn begin<S: Storage>(
        &mut self,
        gl: &Gl,
        home: u32,
        scope: &mut Scope<'_, Gles, S>,
        desc: &QueryDesc,
    ) -> Outcome {
        let target = target(gl, desc)?;
        let taken = |one: &Active| {
            one.context == scope.context && (one.target == target || is_any(one.target) && is_any(target))
        };
        if self.0.iter().any(taken) {
            return Err(UNSUPPORTED);
        }
        let twin = &mut scope.objects.queries.get_mut(desc.query).ok_or(FAILED)?.twin;
        twin.clear(gl, home);
        let running = Some(twin.begin(gl, target)?);
        self.0.push(Active { context: scope.context, query: desc.query, target, running });
        Ok(())
    }

    /// Ends a query.
    pub(crate) fn end(&mut self, gl: &Gl, query: Handle) -> Outcome {
        let at = self.0.iter().position(|one| one.query == query).ok_or(FAILED)?;
        let active = self.0.swap_remove(at);
        if active.running.is_some() {
            gl!(gl, end_query(active.target));
        }
        Ok(())
    }

    /// Another context of the share group takes the native one: pieces of the others end, and its own go on.
    #[inline]
    pub(crate) fn switch<S: Storage>(&mut self, gl: &Gl, context: u64, queries: &mut Queries<S>) -> Outcome {
        if self.0.is_empty() { Ok(()) } else { self.switch_all(gl, context, queries) }
    }

    #[cold]
    fn switch_all<S: Storage>(&mut self, gl: &Gl, context: u64, queries: &mut Queries<S>) -> Outcome {
        for active in self.0.iter_mut().filter(|active| active.context != context) {
            if active.running.take().is_some() {
                gl!(gl, end_query(active.target));
            }
        }
        // One that ended while another context was current.
        self.0.retain(|active| active.context != context || queries.get(active.query).is_some());
        for active in &mut self.0 {
            if active.running.is_none()
                && active.context == context
                && let Some(object) = queries.get_mut(active.query)
            {
                active.running = Some(object.twin.begin(gl, active.target)?);
            }
        }
        Ok(())
    }

    /// Deletes the pieces of a query that ended, perhaps while it was active.
    pub(crate) fn release(&mut self, gl: &Gl, twin: &Query) {
        self.0.retain(|active| {
            let gone = active.running.is_some_and(|running| twin.pieces.contains(&running));
            if gone {
                gl!(gl, end_query(active.target));
            }
            !gone
        });
        for piece in &twin.pieces {
            gl!(gl, delete_query(*piece));
        }
    }

    /// Ends what a context of the share group leaves behind.
    pub(crate) fn forget_context(&mut self, gl: &Gl, context: u64) {
        self.0.retain(|active| {
            let gone = active.context == context;
            if gone && active.running.is_some() {
                gl!(gl, end_query(active.target));
            }
            !gone
        });
    }
}

/// Writes the GPU's time into a query.
pub(crate) fn counter<S: Storage>(
    gl: &Gl,
    home: u32,
    scope: &mut Scope<'_, Gles, S>,
    desc: &QueryDesc,
) -> Outcome {
    let target = target(gl, desc)?;
    let twin = &mut scope.objects.queries.get_mut(desc.query).ok_or(FAILED)?.twin;
    twin.clear(gl, home);
    let piece = gl!(gl, create_query()).map_err(|_| FAILED)?;
    gl!(gl, query_counter(piece, target));
    twin.pieces.push(piece);
    Ok(())
}

/// The GPU's time in nanoseconds; nothing when it has no clock.
pub(crate) fn timestamp(gl: &Gl) -> Option<i64> {
    has_timer(gl).then(|| gl!(gl, get_parameter_i64(TIMESTAMP)))
}

/// Whether the verb at hand is to be done: nothing that it depends on says otherwise.
#[inline]
pub(crate) fn condition<S: Storage>(gl: &Gl, scope: &mut Scope<'_, Gles, S>) -> Outcome<bool> {
    if scope.bind.state.conditional_render.query.is_null() { Ok(true) } else { holds(gl, scope) }
}

#[cold]
fn holds<S: Storage>(gl: &Gl, scope: &mut Scope<'_, Gles, S>) -> Outcome<bool> {
    use ConditionalRenderMode as Mode;
    let condition = scope.bind.state.conditional_render;
    let (wait, inverted) = match condition.mode().ok_or(UNSUPPORTED)? {
        Mode::Wait | Mode::ByRegionWait => (true, false),
        Mode::NoWait | Mode::ByRegionNoWait => (false, false),
        Mode::WaitInverted | Mode::ByRegionWaitInverted => (true, true),
        Mode::NoWaitInverted | Mode::ByRegionNoWaitInverted => (false, true),
    };
    // One that was refused, or never ran, keeps nothing from being done.
    let Some(object) = scope.objects.queries.get_mut(condition.query) else { return Ok(true) };
    if object.record.active || !object.record.produced {
        return Ok(true);
    }
    let desc = object.record.desc;
    let result = object.twin.poll(gl, &desc, wait)?;
    Ok(result.is_none_or(|answer| (answer.value != 0) != inverted))
}
