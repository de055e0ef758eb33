//! Indexed buffer points: what the driver has bound there, and what the current program reads.
//!
//! The driver's points are the program's own, from 0 on; each shows the point of the context that the program's
//! bindings say. So the driver needs as many points as one program has blocks, and never as many as the wire has.

use runahead_core::{
    backend::{Outcome, Scope},
    state::BUFFER_CLASSES,
    storage::Storage,
};
use runahead_wire::{
    payload::{BufferRange, WHOLE_SIZE},
    values::ShaderBufferClass,
};

use glow::HasContext;

use crate::{
    Gles, buffers,
    gl::{Gl, UNSUPPORTED, gl},
    programs::Uses,
};

/// What one point of the driver has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Point {
    buffer: Option<glow::NativeBuffer>,
    offset: i32,
    /// Bytes; nothing for the whole of the buffer, whatever that is when it is used.
    size: Option<i32>,
}

/// The points of one target of the driver's.
#[derive(Debug, Default)]
struct Target {
    points: Vec<Point>,
    /// Points that the driver has, and what their offsets are multiples of; 0 before the first use.
    most: usize,
    alignment: u64,
}

/// The indexed points of a native context.
#[derive(Debug, Default)]
pub(crate) struct Points {
    uniform: Target,
    storage: Target,
    /// Serials of the program's uses and of the three windows that all this came from.
    seen: Option<(u64, [u64; BUFFER_CLASSES])>,
}

impl Points {
    /// Looks at everything anew at the next verb: some buffer has another store.
    pub(crate) const fn stale(&mut self) {
        self.seen = None;
    }

    /// Forgets a name that the driver may give again. The driver has unbound it.
    pub(crate) fn forget(&mut self, buffer: glow::NativeBuffer) {
        for point in self.uniform.points.iter_mut().chain(&mut self.storage.points) {
            if point.buffer == Some(buffer) {
                *point = Point::default();
            }
        }
        self.seen = None;
    }

    /// Makes the points of the program that of the context. `serial` moves when `uses` does.
    #[inline]
    pub(crate) fn sync<S: Storage>(
        &mut self,
        gl: &Gl,
        home: u32,
        scope: &mut Scope<'_, Gles, S>,
        serial: u64,
        uses: &Uses,
    ) -> Outcome {
        let seen = Some((serial, scope.bind.serials.shader_buffers));
        if self.seen == seen { Ok(()) } else { self.sync_all(gl, home, scope, uses, seen) }
    }

    #[inline(never)]
    fn sync_all<S: Storage>(
        &mut self,
        gl: &Gl,
        home: u32,
        scope: &mut Scope<'_, Gles, S>,
        uses: &Uses,
        seen: Option<(u64, [u64; BUFFER_CLASSES])>,
    ) -> Outcome {
        self.seen = None;
        for (at, point) in uses.uniform.iter().enumerate() {
            let range = scope.bind.state.buffers(ShaderBufferClass::Uniform).buffers.get(*point);
            self.uniform.show(gl, home, scope, glow::UNIFORM_BUFFER, at, &range)?;
        }
        for (at, used) in uses.storage.iter().enumerate() {
            let Some((class, point)) = *used else { continue };
            let range = scope.bind.state.buffers(class).buffers.get(point);
            self.storage.show(gl, home, scope, glow::SHADER_STORAGE_BUFFER, at, &range)?;
        }
        self.seen = seen;
        Ok(())
    }
}

impl Target {
    fn limits(&mut self, gl: &Gl, target: u32) {
        let (points, alignment) = if target == glow::UNIFORM_BUFFER {
            (glow::MAX_UNIFORM_BUFFER_BINDINGS, glow::UNIFORM_BUFFER_OFFSET_ALIGNMENT)
        } else {
            (glow::MAX_SHADER_STORAGE_BUFFER_BINDINGS, glow::SHADER_STORAGE_BUFFER_OFFSET_ALIGNMENT)
        };
        let get = |name| gl!(gl, get_parameter_i32(name));
        self.most = usize::try_from(get(points)).unwrap_or(0);
        self.alignment = u64::try_from(get(alignment)).unwrap_or(1).max(1);
    }

    /// Shows what a point of the context has at a point of the driver.
    fn show<S: Storage>(
        &mut self,
        gl: &Gl,
        home: u32,
        scope: &mut Scope<'_, Gles, S>,
        target: u32,
        at: usize,
        range: &BufferRange,
    ) -> Outcome {
        if self.alignment == 0 {
            self.limits(gl, target);
        }
        if at >= self.most {
            return Err(UNSUPPORTED);
        }
        let buffers = &mut scope.objects.buffers;
        let size = buffers.get(range.resource).map_or(0, |object| object.record.desc.buf_size);
        let mut wanted = Point::default();
        if let Some((offset, size)) = span(range, size) {
            if !offset.is_multiple_of(self.alignment) {
                return Err(UNSUPPORTED);
            }
            let driver = |bytes: u64| i32::try_from(bytes).map_err(|_| UNSUPPORTED);
            wanted = Point {
                buffer: buffers::resolve(gl, home, buffers, range.resource)?,
                offset: driver(offset)?,
                size: size.map(driver).transpose()?,
            };
        }
        if self.points.len() <= at {
            self.points.resize(at + 1, Point::default());
        }
        let Some(place) = self.points.get_mut(at) else { return Err(UNSUPPORTED) };
        if *place == wanted {
            return Ok(());
        }
        let Point { buffer, offset, size } = wanted;
        match size {
            None => gl!(gl, bind_buffer_base(target, at as u32, buffer)),
            Some(size) => gl!(gl, bind_buffer_range(target, at as u32, buffer, offset, size)),
        }
        *place = wanted;
        Ok(())
    }
}

/// Offset and bytes of a range within a store of `size` bytes: no bytes for the whole of it, nothing for a range that
/// has none there.
fn span(range: &BufferRange, size: u64) -> Option<(u64, Option<u64>)> {
    let left = size.checked_sub(range.offset).filter(|left| *left > 0)?;
    match range.size {
        WHOLE_SIZE if range.offset == 0 => Some((0, None)),
        wanted => Some((range.offset, Some(wanted.min(left)))).filter(|_| wanted > 0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_follow_the_store() {
        let range = |offset, size| BufferRange { offset, size, ..BufferRange::default() };
        assert_eq!(span(&range(0, WHOLE_SIZE), 64), Some((0, None)));
        assert_eq!(span(&range(16, WHOLE_SIZE), 64), Some((16, Some(48))));
        assert_eq!(span(&range(16, 8), 64), Some((16, Some(8))));
        assert_eq!(span(&range(16, 64), 64), Some((16, Some(48))), "the store became smaller");
        assert_eq!(span(&range(64, 8), 64), None, "the store ends before it");
        assert_eq!(span(&range(0, WHOLE_SIZE), 0), None);
        assert_eq!(span(&range(0, 0), 64), None);
    }
}
