//! What the server says unasked, on its way to the context that it is for.

use std::{
    collections::{BTreeMap, HashMap},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use runahead_core::Fault;
use runahead_wire::{
    event::Events,
    payload::{
        BufferWriteback, ByteRange, CapsChanged, FenceSignaled, GlError, GpuWritten, RequestRefused,
        SurfaceChanged,
    },
    values::ErrorKind,
};

use super::error::Flags;

/// Surfaces whose news wait for one context. A context that never looks keeps no more.
const SURFACES: usize = 64;

/// Bytes of buffers that wait for one context.
const WRITTEN_BACK: usize = 64 << 20;

/// What waits for one context.
#[derive(Debug, Default)]
pub(crate) struct Letters {
    /// Errors that only the server could know.
    pub(crate) errors: Flags,
    /// Surfaces with another size, by token.
    pub(crate) resizes: BTreeMap<u64, (u32, u32)>,
    /// Contents of buffers that were asked for: offset and bytes, in the order in which they came.
    pub(crate) written_back: Vec<(u64, Vec<u8>)>,
    written: usize,
}

/// The letters of a session, by context. What one context leaves lying is bounded: flags and sizes replace each
/// other, and contents come only where they were asked for.
#[derive(Debug, Default)]
pub struct Mail {
    boxes: Mutex<HashMap<u64, Letters>>,
    /// Letters that ever came: where it has not moved there is nothing to look for.
    delivered: AtomicU64,
}

impl Mail {
    fn boxes(&self) -> MutexGuard<'_, HashMap<u64, Letters>> {
        // A map is whole after every step.
        self.boxes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn put(&self, context: u64, put: impl FnOnce(&mut Letters)) {
        if context != 0 {
            put(self.boxes().entry(context).or_default());
            self.delivered.fetch_add(1, Ordering::Release);
        }
    }

    /// Letters that ever came to the session.
    pub(crate) fn delivered(&self) -> u64 {
        self.delivered.load(Ordering::Acquire)
    }

    /// Takes what has come for a context.
    pub(crate) fn take(&self, context: u64) -> Letters {
        self.boxes().remove(&context).unwrap_or_default()
    }
}

/// Where a session hands its events.
#[derive(Clone, Debug, Default)]
pub struct Inbox(pub Arc<Mail>);

impl Events for Inbox {
    type Error = Fault;

    fn buffer_writeback(&mut self, event: &BufferWriteback, bytes: &[u8]) -> Result<(), Fault> {
        self.0.put(event.origin.context, |letters| {
            letters.written += bytes.len();
            if letters.written <= WRITTEN_BACK {
                letters.written_back.push((event.offset, bytes.to_vec()));
            }
        });
        Ok(())
    }

    /// No buffer of this front is written by the GPU yet.
    fn gpu_written(&mut self, _: &GpuWritten, _: &[ByteRange]) -> Result<(), Fault> {
        Ok(())
    }

    fn surface_changed(&mut self, event: &SurfaceChanged) -> Result<(), Fault> {
        if event.width != 0 || event.height != 0 {
            self.0.put(event.origin.context, |letters| {
                if letters.resizes.len() < SURFACES || letters.resizes.contains_key(&event.surface) {
                    letters.resizes.insert(event.surface, (event.width, event.height));
                }
            });
        }
        Ok(())
    }

    fn gl_error(&mut self, event: &GlError, _: &[u8]) -> Result<(), Fault> {
        if let Some(kind) = event.kind() {
            self.0.put(event.origin.context, |letters| letters.errors.raise_kind(kind));
        }
        Ok(())
    }

    /// Fences of this front are waited for by an answer.
    fn fence_signaled(&mut self, _: &FenceSignaled) -> Result<(), Fault> {
        Ok(())
    }

    /// What cannot be made is out of memory, as OpenGL ES has no other word for it (section 2.5).
    fn refused(&mut self, event: &RequestRefused) -> Result<(), Fault> {
        self.0.put(event.origin.context, |letters| letters.errors.raise_kind(ErrorKind::OutOfMemory));
        Ok(())
    }

    /// The generation stands on the page of caps, where whoever makes a context looks.
    fn caps_changed(&mut self, _: &CapsChanged) -> Result<(), Fault> {
        Ok(())
    }
}
