//! Fences.

use runahead_core::backend::{BackendError, Outcome};

use glow::HasContext;

use crate::gl::{FAILED, Gl, Named, gl};

/// A point in the driver's stream.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Point(glow::NativeFence);

// SAFETY: a sync object is of its share group and may be used from any thread that has a context of it
// (OpenGL ES 3.2 section 4.1); its address is a name, and nothing is read through it here.
unsafe impl Send for Point {}
// SAFETY: as above.
unsafe impl Sync for Point {}

impl Point {
    /// The point behind everything so far.
    pub(crate) fn new(gl: &Gl) -> Outcome<Self> {
        gl!(gl, fence_sync(glow::SYNC_GPU_COMMANDS_COMPLETE, 0)).map(Self).map_err(|_| FAILED)
    }

    pub(crate) fn delete(self, gl: &Gl) {
        gl!(gl, delete_sync(self.0));
    }

    /// Makes the GPU wait for it.
    pub(crate) fn wait(self, gl: &Gl) {
        gl!(gl, wait_sync(self.0, 0, glow::TIMEOUT_IGNORED));
    }

    /// Whether the GPU has passed it; with `wait`, waits until it has. Submits what it stands behind.
    pub(crate) fn is_passed(self, gl: &Gl, wait: bool) -> Outcome<bool> {
        loop {
            let timeout = if wait { LOOK } else { 0 };
            match gl!(gl, client_wait_sync(self.0, glow::SYNC_FLUSH_COMMANDS_BIT, timeout)) {
                glow::ALREADY_SIGNALED | glow::CONDITION_SATISFIED => return Ok(true),
                glow::TIMEOUT_EXPIRED if wait => {}
                glow::TIMEOUT_EXPIRED => return Ok(false),
                _ => {
                    return Err(match gl.outcome() {
                        Err(BackendError::DeviceLost) => BackendError::DeviceLost,
                        _ => FAILED,
                    });
                }
            }
        }
    }
}

/// Twin of a fence.
#[derive(Debug, Default)]
pub struct Fence {
    pub(crate) named: Named<Point>,
    /// It was seen signalled, and is so for good.
    pub(crate) signaled: bool,
}

/// Nanoseconds of one look with waiting. The driver may be asked as often as it takes.
const LOOK: i32 = 1_000_000_000;

impl Fence {
    /// Puts a fence behind everything before.
    pub(crate) fn create(&mut self, gl: &Gl, home: u32) -> Outcome {
        self.named = Named { name: Some(Point::new(gl)?), home };
        self.signaled = false;
        Ok(())
    }
}
