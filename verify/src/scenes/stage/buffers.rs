//! Buffers, and what is in them.

use std::sync::{Arc, Mutex, PoisonError};

use runahead_core::{Session, link::Patience, reply_space, slots::Band, upload};
use runahead_rings::Status;
use runahead_wire::{
    Handle,
    payload::{Readback, ResourceDesc},
    values::{BufferUsage, ResourceTarget, StorageKind},
};

use super::{Complaints, Stage, StageError};

/// Bytes of a buffer that came as an event, with the buffer and the place of the first one.
pub type Slice = (Handle, u64, Vec<u8>);

/// What came as events.
#[derive(Clone, Debug, Default)]
pub struct Written {
    slices: Arc<Mutex<Vec<Slice>>>,
    complaints: Complaints,
}

impl Written {
    /// Adds what an event brought.
    pub fn add(&self, buffer: Handle, offset: u64, bytes: &[u8]) {
        let mut all = self.slices.lock().unwrap_or_else(PoisonError::into_inner);
        all.push((buffer, offset, bytes.to_vec()));
    }

    /// What the server complained about.
    #[must_use]
    pub const fn complaints(&self) -> &Complaints {
        &self.complaints
    }

    /// What came since the last call.
    #[must_use]
    pub fn take(&self) -> Vec<Slice> {
        std::mem::take(&mut self.slices.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl<P: Session> Stage<'_, P> {
    /// A buffer with these bytes.
    ///
    /// # Errors
    /// [`StageError`].
    pub fn buffer(&mut self, bytes: &[u8]) -> Result<Handle, StageError> {
        let buffer = self.buffer_of(bytes.len() as u64, BufferUsage::StaticDraw)?;
        let piece = self.pipe.max_piece();
        upload::buffer(self.pipe, buffer, 0, bytes, piece)?;
        Ok(buffer)
    }

    /// A buffer of that size, without contents.
    ///
    /// # Errors
    /// [`StageError`].
    pub fn buffer_of(&mut self, size: u64, usage: BufferUsage) -> Result<Handle, StageError> {
        let desc = ResourceDesc {
            target: ResourceTarget::Buffer.raw() as u8,
            storage_kind: StorageKind::Buffer.raw() as u8,
            buf_size: size,
            usage: usage.raw(),
            ..ResourceDesc::default()
        };
        let buffer = self.create(Band::Buffer, desc)?;
        self.known.buffers.push((buffer, ResourceDesc { resource: buffer, ..desc }));
        Ok(buffer)
    }

    /// Writes a span of a buffer.
    ///
    /// # Errors
    /// [`StageError`].
    pub fn update(&mut self, buffer: Handle, offset: u64, bytes: &[u8]) -> Result<(), StageError> {
        let piece = self.pipe.max_piece();
        Ok(upload::buffer(self.pipe, buffer, offset, bytes, piece)?)
    }

    /// The bytes of a span of a buffer, by way of the server.
    ///
    /// # Errors
    /// [`StageError`].
    pub fn contents(&mut self, buffer: Handle, offset: u64, size: usize) -> Result<Vec<u8>, StageError> {
        drop(self.written.take());
        let pending = self.pipe.ask(0)?;
        let read = Readback { resource: buffer, offset, size: size as u64 };
        self.pipe.resource_readback(&read, Some(reply_space(&pending)))?;
        let answer = self.pipe.wait_answer(&pending, Patience::Sleep)?;
        let released = self.pipe.release(pending);
        debug_assert!(released.is_ok(), "it was answered");
        if answer.status != Status::Ok {
            return Err(StageError::Read(answer.status));
        }
        // Events come before the answer that they belong to.
        self.pipe.poll_events()?;
        let mut bytes = vec![0; size];
        let mut missing = size;
        for (of, at, slice) in self.written.take() {
            let place = at.checked_sub(offset).map_or(size, |at| at as usize);
            match bytes.get_mut(place..).and_then(|rest| rest.get_mut(..slice.len())) {
                Some(place) if of == buffer => place.copy_from_slice(&slice),
                _ => return Err(StageError::Scene("bytes came that were not asked for")),
            }
            missing = missing.saturating_sub(slice.len());
        }
        if missing == 0 { Ok(bytes) } else { Err(StageError::Scene("not all of the bytes came")) }
    }

    /// A span of a buffer has these bytes.
    ///
    /// # Errors
    /// [`StageError::Wrong`] with the first byte that is another one.
    pub fn expect(&mut self, buffer: Handle, offset: u64, wanted: &[u8]) -> Result<(), StageError> {
        let got = self.contents(buffer, offset, wanted.len())?;
        match got.iter().zip(wanted).position(|(got, wanted)| got != wanted) {
            None => Ok(()),
            Some(at) => Err(StageError::Wrong(format!(
                "byte {at} of the span at {offset} is {} instead of {}: {:?} instead of {:?}",
                got[at],
                wanted[at],
                &got[at..(at + 16).min(got.len())],
                &wanted[at..(at + 16).min(wanted.len())]
            ))),
        }
    }

    /// Writes a span of a buffer.
    ///
    /// # Errors
    /// [`StageError`].
    pub fn write(&mut self, buffer: Handle, offset: u64, bytes: &[u8]) -> Result<(), StageError> {
        let piece = self.pipe.max_piece();
        Ok(upload::buffer(self.pipe, buffer, offset, bytes, piece)?)
    }

    /// Defines the store of a buffer again.
    ///
    /// # Errors
    /// [`StageError`].
    pub fn regrow(&mut self, desc: ResourceDesc) -> Result<(), StageError> {
        self.pipe.resource_respecify(&desc)?;
        self.known.buffers.push((desc.resource, desc));
        Ok(())
    }
}
