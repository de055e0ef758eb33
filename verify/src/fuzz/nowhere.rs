//! An outlet whose client never looks.

use runahead_core::{Fault, Outlet};
use runahead_rings::Status;
use runahead_wire::{
    ReplySpace,
    event::Events,
    payload::{
        BufferWriteback, ByteRange, CapsChanged, FenceSignaled, GlError, GpuWritten, RequestRefused,
        SurfaceChanged,
    },
};

/// Counts what a server sends and keeps none of it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Nowhere {
    /// Answers.
    pub answers: u64,
    /// Events.
    pub events: u64,
}

/// Bytes of reply space that this outlet pretends to have.
const REPLIES: u64 = 1 << 20;

impl Nowhere {
    const fn count(&mut self) -> Result<(), Fault> {
        self.events += 1;
        Ok(())
    }
}

impl Events for Nowhere {
    type Error = Fault;

    fn buffer_writeback(&mut self, _: &BufferWriteback, _: &[u8]) -> Result<(), Fault> {
        self.count()
    }

    fn gpu_written(&mut self, _: &GpuWritten, _: &[ByteRange]) -> Result<(), Fault> {
        self.count()
    }

    fn surface_changed(&mut self, _: &SurfaceChanged) -> Result<(), Fault> {
        self.count()
    }

    fn gl_error(&mut self, _: &GlError, _: &[u8]) -> Result<(), Fault> {
        self.count()
    }

    fn fence_signaled(&mut self, _: &FenceSignaled) -> Result<(), Fault> {
        self.count()
    }

    fn refused(&mut self, _: &RequestRefused) -> Result<(), Fault> {
        self.count()
    }

    fn caps_changed(&mut self, _: &CapsChanged) -> Result<(), Fault> {
        self.count()
    }
}

impl Outlet for Nowhere {
    fn check(&self, space: ReplySpace) -> Result<(), Fault> {
        let end = u64::from(space.offset) + 8 + u64::from(space.capacity);
        let corrupt = runahead_rings::Fault::Corrupt { place: "Reply", field: "Capacity" };
        if end <= REPLIES { Ok(()) } else { Err(Fault::Ring(corrupt)) }
    }

    fn answer_with(
        &mut self,
        space: ReplySpace,
        size: usize,
        fill: impl FnOnce(&mut [u8]) -> bool,
    ) -> Result<(), Fault> {
        self.check(space)?;
        if size > space.capacity as usize {
            let corrupt = runahead_rings::Fault::Corrupt { place: "Reply", field: "Capacity" };
            return Err(Fault::Ring(corrupt));
        }
        let _ = fill(&mut vec![0; size]);
        self.answers += 1;
        Ok(())
    }

    fn answer(&mut self, space: ReplySpace, _: Status, bytes: &[u8]) -> Result<(), Fault> {
        self.check(space)?;
        if bytes.len() > space.capacity as usize {
            let corrupt = runahead_rings::Fault::Corrupt { place: "Reply", field: "Capacity" };
            return Err(Fault::Ring(corrupt));
        }
        self.answers += 1;
        Ok(())
    }

    fn writeback_bytes(&self) -> usize {
        4096
    }
}
