//! Stores: defined again, mapped, dropped.

use runahead_core::{Session, link::Patience, reply_space, slots::Band};
use runahead_rings::Status;
use runahead_wire::{
    Handle,
    handle::Kind,
    payload::{
        FlushRange, HandleOnly, Invalidate, MapPersistentAnswer, ReadbackInfo, ResourceDesc, TexelBox,
    },
    values::{
        BufferUsage, InvalidateTarget, PixelFormat, PixelType, ResourceTarget, StorageFlags, StorageKind,
    },
    zerocopy::FromBytes,
};

use super::{Stage, StageError};

/// Reaches stores that the server maps, where it lives in this process.
pub trait Maps {
    /// Writes. `false` where there is no such map here, or not so much of it.
    fn write(&self, token: u64, offset: u64, bytes: &[u8]) -> bool;

    /// Reads. `false` as for a write.
    fn read(&self, token: u64, offset: u64, bytes: &mut [u8]) -> bool;
}

/// A map of a store: the server's own memory, or nothing, and then what is written is pushed.
#[derive(Debug)]
pub struct Mapped {
    buffer: Handle,
    token: Option<u64>,
}

impl<P: Session> Stage<'_, P> {
    /// Defines the store of a buffer again, with another size.
    ///
    /// # Errors
    /// [`StageError`].
    pub fn resize(&mut self, buffer: Handle, size: u64) -> Result<(), StageError> {
        let known = self.known.buffers.iter().rev().find(|(of, _)| *of == buffer);
        let (_, desc) = known.ok_or(StageError::Scene("there is no such buffer"))?;
        self.regrow(ResourceDesc { buf_size: size, ..*desc })
    }

    /// An immutable store that may stay mapped.
    ///
    /// # Errors
    /// [`StageError`].
    pub fn persistent(&mut self, size: u64) -> Result<Handle, StageError> {
        let flags = StorageFlags::MAP_READ
            .with(StorageFlags::MAP_WRITE)
            .with(StorageFlags::MAP_PERSISTENT)
            .with(StorageFlags::MAP_COHERENT)
            .with(StorageFlags::DYNAMIC_STORAGE);
        let desc = ResourceDesc {
            target: ResourceTarget::Buffer.raw() as u8,
            storage_kind: StorageKind::Buffer.raw() as u8,
            buf_size: size,
            immutable: 1,
            usage: BufferUsage::Unspecified.raw(),
            storage_flags: flags.raw(),
            ..ResourceDesc::default()
        };
        let buffer = self.create(Band::Buffer, desc)?;
        self.known.buffers.push((buffer, ResourceDesc { resource: buffer, ..desc }));
        Ok(buffer)
    }

    /// Maps it. A server in this process gives its own memory; another one declines.
    ///
    /// # Errors
    /// [`StageError`].
    pub fn map(&mut self, buffer: Handle) -> Result<Mapped, StageError> {
        let pending = self.pipe.ask(size_of::<MapPersistentAnswer>() as u32)?;
        let object = HandleOnly { handle: buffer, kind: Kind::Buffer.raw(), ..HandleOnly::default() };
        self.pipe.map_persistent(&object, Some(reply_space(&pending)))?;
        let answer = self.pipe.wait_answer(&pending, Patience::Sleep)?;
        let mut bytes = [0; size_of::<MapPersistentAnswer>()];
        self.pipe.copy_answer(&pending, answer, &mut bytes);
        let released = self.pipe.release(pending);
        debug_assert!(released.is_ok(), "it was answered");
        let token = match answer.status {
            Status::Ok => MapPersistentAnswer::read_from_bytes(&bytes).ok().map(|answer| answer.token),
            Status::Declined => None,
            status => return Err(StageError::Read(status)),
        };
        if token.is_some() != self.maps.is_some() {
            return Err(StageError::Wrong(format!("a map of {token:?} is not what this topology has")));
        }
        Ok(Mapped { buffer, token })
    }

    /// Writes into a map. Nothing is recorded where the server gave its own memory.
    ///
    /// # Errors
    /// [`StageError`].
    pub fn poke(&mut self, map: &Mapped, offset: u64, bytes: &[u8]) -> Result<(), StageError> {
        match (map.token, self.maps) {
            (Some(token), Some(maps)) => {
                let written = maps.write(token, offset, bytes);
                if written { Ok(()) } else { Err(StageError::Wrong("the token is of no map".to_owned())) }
            }
            _ => self.update(map.buffer, offset, bytes),
        }
    }

    /// A map has these bytes; one that is pushed has them on the server.
    ///
    /// # Errors
    /// [`StageError`].
    pub fn peek(&mut self, map: &Mapped, offset: u64, wanted: &[u8]) -> Result<(), StageError> {
        let (Some(token), Some(maps)) = (map.token, self.maps) else {
            return self.expect(map.buffer, offset, wanted);
        };
        let mut bytes = vec![0; wanted.len()];
        if maps.read(token, offset, &mut bytes) && bytes == wanted {
            Ok(())
        } else {
            Err(StageError::Wrong(format!("the map has {bytes:?} at {offset}")))
        }
    }

    /// Gives a map up. Its token is of nothing afterwards.
    ///
    /// # Errors
    /// [`StageError`].
    pub fn unmap(&mut self, buffer: Handle, map: &Mapped) -> Result<(), StageError> {
        let object = HandleOnly { handle: buffer, kind: Kind::Buffer.raw(), ..HandleOnly::default() };
        self.pipe.unmap_persistent(&object)?;
        self.settle()?;
        match (map.token, self.maps) {
            (Some(token), Some(maps)) if maps.read(token, 0, &mut [0]) => {
                Err(StageError::Wrong("the token outlives its map".to_owned()))
            }
            _ => Ok(()),
        }
    }

    /// Everything so far was applied and done: a pixel was read behind it.
    ///
    /// # Errors
    /// [`StageError`].
    pub fn settle_all(&mut self) -> Result<(), StageError> {
        let pending = self.pipe.ask(4)?;
        let info = ReadbackInfo {
            region: TexelBox { width: 1, height: 1, depth: 1, ..TexelBox::default() },
            format: PixelFormat::Rgba.raw(),
            pixel_type: PixelType::UnsignedByte.raw(),
            target: ResourceTarget::Texture2D.raw() as u8,
            dst_size: 4,
            ..ReadbackInfo::default()
        };
        self.tracker.sync(runahead_core::tracker::Verb::ReadPixels, self.pipe, &mut self.slots)?;
        self.declare(runahead_core::tracker::Verb::ReadPixels)?;
        self.pipe.read_pixels(&info, Some(reply_space(&pending)))?;
        let answer = self.pipe.wait_answer(&pending, Patience::Sleep)?;
        let released = self.pipe.release(pending);
        debug_assert!(released.is_ok(), "it was answered");
        if answer.status == Status::Ok { Ok(()) } else { Err(StageError::Read(answer.status)) }
    }

    /// A span that was written in a map is flushed.
    ///
    /// # Errors
    /// [`StageError`].
    pub fn flush(&mut self, buffer: Handle, offset: u64, size: u64) -> Result<(), StageError> {
        Ok(self.pipe.resource_flush_range(&FlushRange {
            resource: buffer,
            offset,
            size,
            ..FlushRange::default()
        })?)
    }

    /// Contents of a span are not needed any more.
    ///
    /// # Errors
    /// [`StageError`].
    pub fn invalidate_buffer(&mut self, buffer: Handle, offset: u64, size: u64) -> Result<(), StageError> {
        let what = InvalidateTarget::Buffer.raw();
        Ok(self.pipe.invalidate(&Invalidate {
            resource: buffer,
            what,
            offset,
            size,
            ..Invalidate::default()
        })?)
    }
}
