//! What a server does beyond records: contexts and surfaces of the native API.

use std::time::{Duration, Instant};

use runahead_core::{
    NativeConfig,
    backend::Backend,
    trace::{Call, Listener, Method, Trace},
};
use runahead_wire::values::BackendKind;

use crate::control::message::{ContextAttributes, OperationError, OperationFailure, SurfaceOp, SurfaceState};

/// A backend that a session can be opened on. Its methods are called on the thread that applies, between two records.
pub trait Native: Backend {
    /// What it drives.
    fn kind(&self) -> BackendKind;

    /// What its surfaces can be like.
    fn configs(&self) -> Vec<NativeConfig>;

    /// Makes a native context.
    ///
    /// # Errors
    /// Why it cannot.
    fn create_context(
        &mut self,
        context: u64,
        share: Option<u64>,
        attributes: &ContextAttributes,
    ) -> Result<(), OperationFailure>;

    /// Ends a native context.
    fn destroy_context(&mut self, context: u64);

    /// Lets go of the native context that is current on the calling thread. Called where a client applies records
    /// itself and several of its threads use one share group, at the end of each turn: the next one may come from
    /// another thread, on which the backend then makes the context current.
    fn release_current(&mut self) {}

    /// Works on a native surface; the answer is how the surface is now.
    ///
    /// # Errors
    /// Why it cannot.
    fn surface(&mut self, surface: u64, op: &SurfaceOp) -> Result<SurfaceState, OperationFailure>;
}

/// The caps of a backend, as they travel.
pub fn caps_blob(backend: &impl Backend) -> Vec<u8> {
    let view = backend.caps();
    let mut blob = vec![0; view.encoded_len()];
    let encoded = view.encode(&mut blob);
    debug_assert!(encoded, "a buffer of the stated size");
    blob
}

/// A surface without images.
const NO_IMAGES: SurfaceState = SurfaceState { width: 0, height: 0, format: 0, samples: 0 };

/// It draws nothing, so any context and any surface will do; windows are not there to be drawn to.
impl<L: Listener> Native for Trace<L> {
    fn kind(&self) -> BackendKind {
        BackendKind::Null
    }

    fn configs(&self) -> Vec<NativeConfig> {
        Vec::new()
    }

    fn create_context(
        &mut self,
        _: u64,
        _: Option<u64>,
        _: &ContextAttributes,
    ) -> Result<(), OperationFailure> {
        Ok(())
    }

    fn destroy_context(&mut self, _: u64) {}

    fn surface(&mut self, _: u64, op: &SurfaceOp) -> Result<SurfaceState, OperationFailure> {
        match *op {
            SurfaceOp::CreatePbuffer { width, height, .. } | SurfaceOp::Resize { width, height } => {
                Ok(SurfaceState { width, height, ..NO_IMAGES })
            }
            SurfaceOp::CreateWindow { .. } => Err(OperationFailure::new(
                OperationError::Unsupported,
                "the null backend presents to no window".to_owned(),
            )),
            SurfaceOp::CreateSurfaceless
            | SurfaceOp::SetInterval { .. }
            | SurfaceOp::ReleaseWindow
            | SurfaceOp::Destroy => Ok(NO_IMAGES),
        }
    }
}

/// Takes so long for each draw, in the way of a driver that computes: for measurements of who waits for whom.
#[derive(Clone, Copy, Debug)]
pub struct Busy {
    draw: Duration,
}

impl Busy {
    /// So many nanoseconds a draw.
    #[must_use]
    pub const fn new(nanoseconds: u64) -> Self {
        Self { draw: Duration::from_nanos(nanoseconds) }
    }

    /// Takes as long as one draw.
    pub fn work(self) {
        let start = Instant::now();
        while start.elapsed() < self.draw {
            std::hint::spin_loop();
        }
    }
}

impl Listener for Busy {
    fn call(&mut self, call: &Call<'_>) {
        if call.method == Method::Draw {
            self.work();
        }
    }
}
