//! A client that wants to know nothing.

use runahead_wire::{
    event::Events,
    payload::{
        BufferWriteback, ByteRange, CapsChanged, FenceSignaled, GlError, GpuWritten, RequestRefused,
        SurfaceChanged,
    },
};

use crate::fault::Fault;

/// Takes every event and does nothing with it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Silence;

impl Events for Silence {
    type Error = Fault;

    fn buffer_writeback(&mut self, _: &BufferWriteback, _: &[u8]) -> Result<(), Fault> {
        Ok(())
    }

    fn gpu_written(&mut self, _: &GpuWritten, _: &[ByteRange]) -> Result<(), Fault> {
        Ok(())
    }

    fn surface_changed(&mut self, _: &SurfaceChanged) -> Result<(), Fault> {
        Ok(())
    }

    fn gl_error(&mut self, _: &GlError, _: &[u8]) -> Result<(), Fault> {
        Ok(())
    }

    fn fence_signaled(&mut self, _: &FenceSignaled) -> Result<(), Fault> {
        Ok(())
    }

    fn refused(&mut self, _: &RequestRefused) -> Result<(), Fault> {
        Ok(())
    }

    fn caps_changed(&mut self, _: &CapsChanged) -> Result<(), Fault> {
        Ok(())
    }
}
