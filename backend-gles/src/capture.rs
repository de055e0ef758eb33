//! Transform feedback: a driver's object for each of the client's, and for the default one of each context.
//!
//! One native context serves several client contexts, and no more than one span can run in it. A span whose context
//! gives the native one up is paused there, and goes on at its next draw.

use runahead_core::{
    backend::{Outcome, Scope},
    bind_state::Capture,
    storage::{Storage, Table},
};
use runahead_wire::{
    payload::{BufferRange, WHOLE_SIZE},
    values::Topology,
};

use glow::HasContext;

use crate::{
    Gles, buffers,
    gl::{FAILED, Gl, Named, UNSUPPORTED, gl},
};

/// Twin of a transform feedback object.
#[derive(Debug, Default)]
pub struct StreamOutput {
    pub(crate) named: Named<glow::NativeTransformFeedback>,
}

/// An open span.
#[derive(Clone, Copy, Debug)]
struct Open {
    context: u64,
    object: glow::NativeTransformFeedback,
    /// Whether the client has paused it.
    paused: bool,
}

/// Transform feedback of a native context.
#[derive(Debug, Default)]
pub(crate) struct Captures {
    open: Vec<Open>,
    /// The object whose span captures now.
    running: Option<glow::NativeTransformFeedback>,
    bound: Option<glow::NativeTransformFeedback>,
    /// Default objects, by context.
    defaults: Vec<(u64, glow::NativeTransformFeedback)>,
}

impl Captures {
    /// Whether a span captures now, which holds its program.
    pub(crate) const fn is_running(&self) -> bool {
        self.running.is_some()
    }

    fn bind(&mut self, gl: &Gl, object: glow::NativeTransformFeedback) {
        if self.bound != Some(object) {
            self.suspend(gl);
            gl!(gl, bind_transform_feedback(glow::TRANSFORM_FEEDBACK, Some(object)));
            self.bound = Some(object);
        }
    }

    /// Pauses what captures: something else than a draw of its context comes.
    pub(crate) fn suspend(&mut self, gl: &Gl) {
        if self.running.take().is_some() {
            gl!(gl, pause_transform_feedback());
        }
    }

    /// Another context takes the native one.
    #[inline]
    pub(crate) fn switch(&mut self, gl: &Gl, context: u64) {
        if let Some(running) = self.running
            && !self.open.iter().any(|open| open.context == context && open.object == running)
        {
            self.suspend(gl);
        }
    }

    /// Makes the span of the context capture the draw that comes, if it has one that is not paused. The program of the
    /// draw is current.
    #[inline]
    pub(crate) fn sync(&mut self, gl: &Gl, context: u64) {
        if !self.open.is_empty() {
            self.resume(gl, context);
        }
    }

    #[cold]
    fn resume(&mut self, gl: &Gl, context: u64) {
        match self.open.iter().find(|open| open.context == context && !open.paused).copied() {
            Some(open) if self.running != Some(open.object) => {
                self.bind(gl, open.object);
                gl!(gl, resume_transform_feedback());
                self.running = Some(open.object);
            }
            Some(_) => {}
            None => self.suspend(gl),
        }
    }

    /// The driver's object of a span that begins.
    fn object<S: Storage>(
        &mut self,
        gl: &Gl,
        home: u32,
        scope: &mut Scope<'_, Gles, S>,
        lifetime_id: u64,
    ) -> Outcome<glow::NativeTransformFeedback> {
        let create = || gl!(gl, create_transform_feedback()).map_err(|_| FAILED);
        if lifetime_id == 0 {
            let context = scope.context;
            if let Some((_, object)) = self.defaults.iter().find(|(of, _)| *of == context) {
                return Ok(*object);
            }
            let object = create()?;
            self.defaults.push((context, object));
            return Ok(object);
        }
        let table = &mut scope.objects.stream_outputs;
        let is_meant = |at: &u32| table.get(*at).is_some_and(|one| one.lifetime_id == lifetime_id);
        let at = (0..table.len()).find(is_meant).ok_or(FAILED)?;
        let twin = &mut table.get_mut(at).ok_or(FAILED)?.twin;
        match twin.named.name {
            // One of another native context is none here.
            Some(object) if twin.named.home == home => Ok(object),
            _ => {
                let object = create()?;
                twin.named = Named { name: Some(object), home };
                Ok(object)
            }
        }
    }

    /// Begins a span. Its program is current, and captures into so many buffers.
    pub(crate) fn begin<S: Storage>(
        &mut self,
        gl: &Gl,
        home: u32,
        scope: &mut Scope<'_, Gles, S>,
        capture: &Capture,
        captured: usize,
    ) -> Outcome {
        let mode = match capture.begin.primitive_mode() {
            Some(Topology::Points) => glow::POINTS,
            Some(Topology::Lines) => glow::LINES,
            Some(Topology::Triangles) => glow::TRIANGLES,
            _ => return Err(UNSUPPORTED),
        };
        let targets = capture.begin.targets.get(..captured).filter(|targets| !targets.is_empty());
        let targets = targets.ok_or(UNSUPPORTED)?;
        let object = self.object(gl, home, scope, capture.begin.lifetime_id)?;
        if self.open.iter().any(|open| open.object == object) {
            return Err(UNSUPPORTED);
        }
        self.suspend(gl);
        self.bind(gl, object);
        gl.clear_errors();
        for (at, target) in (0..).zip(targets) {
            let size = scope.objects.buffers.get(target.resource).map_or(0, |it| it.record.desc.buf_size);
            let (offset, size) = span(target, size).ok_or(UNSUPPORTED)?;
            let buffer = buffers::resolve(gl, home, &mut scope.objects.buffers, target.resource)?;
            gl!(gl, bind_buffer_range(glow::TRANSFORM_FEEDBACK_BUFFER, at, buffer, offset, size));
        }
        gl!(gl, begin_transform_feedback(mode));
        gl.outcome()?;
        self.open.push(Open { context: scope.context, object, paused: false });
        self.running = Some(object);
        Ok(())
    }

    /// Pauses the span of a context, or lets it go on at its next draw.
    pub(crate) fn pause(&mut self, gl: &Gl, context: u64, paused: bool) {
        // One that could not begin captures nothing, paused or not.
        let Some(open) = self.open.iter_mut().find(|open| open.context == context) else { return };
        open.paused = paused;
        if paused && self.running == Some(open.object) {
            self.suspend(gl);
        }
    }

    /// Ends the span of a context.
    pub(crate) fn end(&mut self, gl: &Gl, context: u64) {
        if let Some(at) = self.open.iter().position(|open| open.context == context) {
            let open = self.open.swap_remove(at);
            self.bind(gl, open.object);
            gl!(gl, end_transform_feedback());
            self.running = None;
        }
    }

    /// Deletes an object, with what it captures.
    pub(crate) fn delete(&mut self, gl: &Gl, object: glow::NativeTransformFeedback) {
        if let Some(context) = self.open.iter().find(|open| open.object == object).map(|open| open.context) {
            self.end(gl, context);
        }
        gl!(gl, delete_transform_feedback(object));
        if self.bound == Some(object) {
            // The driver's own default object is bound then.
            self.bound = None;
        }
    }

    /// Ends what a context of the share group leaves behind.
    pub(crate) fn forget_context(&mut self, gl: &Gl, context: u64) {
        self.end(gl, context);
        if let Some(at) = self.defaults.iter().position(|(of, _)| *of == context) {
            let (_, object) = self.defaults.swap_remove(at);
            self.delete(gl, object);
        }
    }
}

/// Offset and bytes of what a span writes of a store of `size` bytes, whole words of it.
fn span(range: &BufferRange, size: u64) -> Option<(i32, i32)> {
    let left = size.checked_sub(range.offset)?;
    let bytes = if range.size == WHOLE_SIZE { left } else { range.size.min(left) } & !3;
    let whole = range.offset.is_multiple_of(4) && bytes > 0;
    Some((i32::try_from(range.offset).ok()?, i32::try_from(bytes).ok()?)).filter(|_| whole)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_are_whole_words_inside_the_store() {
        let range = |offset, size| BufferRange { offset, size, ..BufferRange::default() };
        assert_eq!(span(&range(0, WHOLE_SIZE), 64), Some((0, 64)));
        assert_eq!(span(&range(8, 22), 64), Some((8, 20)));
        assert_eq!(span(&range(60, 16), 64), Some((60, 4)), "the store ends early");
        assert_eq!(span(&range(2, 16), 64), None);
        assert_eq!(span(&range(64, 16), 64), None);
        assert_eq!(span(&range(72, 16), 64), None);
    }
}
