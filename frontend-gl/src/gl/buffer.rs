//! Buffer objects, and the streams that memory of the application crosses by.
//!
//! Source: OpenGL ES 2.0.25 section 2.9.

use runahead_core::{Session, Shared, Turn, slots::Band, storage::Storage, upload};
use runahead_wire::{
    Handle,
    payload::ResourceDesc,
    pipe::Pipe,
    values::{BindMask, BufferUsage, ResourceTarget, StorageKind},
};

use super::{
    context::{Dead, Objects, Own, State},
    enums,
    error::{Error, Outcome},
    table::Id,
};

/// A buffer object.
#[derive(Debug)]
pub(crate) struct Buffer {
    /// Null until it has a data store.
    pub(crate) handle: Handle,
    /// Bytes.
    pub(crate) size: u64,
    usage: u32,
    /// What the server has, kept from the first time on that it was needed here.
    pub(crate) shadow: Option<Vec<u8>>,
}

impl Default for Buffer {
    /// Table 6.5.
    fn default() -> Self {
        Self { handle: Handle::NULL, size: 0, usage: enums::STATIC_DRAW, shadow: None }
    }
}

impl Buffer {
    /// How the server has it, if it has.
    pub(crate) fn described(&self) -> Option<ResourceDesc> {
        Some(desc(self.handle, self.size, usage(self.usage).ok()?))
    }
}

/// The description of a buffer's data store.
pub(crate) fn desc(resource: Handle, size: u64, usage: BufferUsage) -> ResourceDesc {
    let purposes = BindMask::VERTEX.with(BindMask::INDEX).with(BindMask::ELEMENT_ARRAY);
    ResourceDesc {
        resource,
        target: ResourceTarget::Buffer.raw8(),
        storage_kind: StorageKind::Buffer.raw8(),
        bind_mask: purposes.raw16(),
        usage: usage.raw(),
        buf_size: size,
        ..ResourceDesc::default()
    }
}

/// Gives a buffer a new data store, whose contents are undefined.
fn define<P: Pipe, S: Storage>(
    turn: &mut Turn<'_, P, S>,
    handle: &mut Handle,
    size: u64,
    usage: BufferUsage,
) -> Outcome
where
    Error: From<P::Error>,
{
    let Turn { pipe, slots } = turn;
    if handle.is_null() {
        *handle =
            slots.mint_with(Band::Buffer, 0, |handle| pipe.resource_create(&desc(handle, size, usage)))?;
    } else {
        pipe.resource_respecify(&desc(*handle, size, usage))?;
    }
    Ok(())
}

/// A buffer of the front's own that takes what draws read from the application's memory, one behind the other. When
/// it is full it gets a new store, so that nothing waits for draws that still read the old one.
#[derive(Debug, Default)]
pub(crate) struct Stream {
    handle: Handle,
    size: u64,
    at: u64,
}

/// Bytes of a stream to begin with.
const STREAM: u64 = 1 << 20;
/// Bytes that one draw may take of a stream.
pub(crate) const MOST_STREAMED: u64 = 256 << 20;
/// What begins in a stream begins at a multiple of this.
const ALIGNMENT: u64 = 16;

impl Stream {
    /// The buffer; null before the first use.
    pub(crate) const fn handle(&self) -> Handle {
        self.handle
    }

    /// Bytes of the buffer.
    pub(crate) const fn size(&self) -> u64 {
        self.size
    }

    /// Makes room for so many bytes and answers where they begin.
    pub(crate) fn reserve<P: Pipe, S: Storage>(
        &mut self,
        turn: &mut Turn<'_, P, S>,
        size: u64,
    ) -> Outcome<u64>
    where
        Error: From<P::Error>,
    {
        if size > MOST_STREAMED {
            return Err(Error::OutOfMemory);
        }
        let fits = self.at.checked_add(size).is_some_and(|end| end <= self.size);
        if !fits {
            let wanted = size.max(STREAM).next_power_of_two().max(self.size);
            // A single huge draw does not leave a huge store behind.
            let wanted = if wanted > STREAM && size <= STREAM { STREAM } else { wanted };
            define(turn, &mut self.handle, wanted, BufferUsage::StreamDraw)?;
            self.size = wanted;
            self.at = 0;
        }
        let start = self.at;
        self.at = (start + size).next_multiple_of(ALIGNMENT);
        Ok(start)
    }

    /// Writes bytes into what was reserved.
    pub(crate) fn write<P: Session, S: Storage>(
        &self,
        turn: &mut Turn<'_, P, S>,
        offset: u64,
        bytes: &[u8],
    ) -> Outcome {
        let piece = turn.pipe.max_piece();
        Ok(upload::buffer(turn.pipe, self.handle, offset, bytes, piece)?)
    }
}

/// The buffers that a context has bound (section 2.9).
#[derive(Clone, Copy)]
enum Binding {
    Array,
    ElementArray,
}

const fn binding(target: u32) -> Outcome<Binding> {
    match target {
        enums::ARRAY_BUFFER => Ok(Binding::Array),
        enums::ELEMENT_ARRAY_BUFFER => Ok(Binding::ElementArray),
        _ => Err(Error::InvalidEnum),
    }
}

const fn usage(usage: u32) -> Outcome<BufferUsage> {
    match usage {
        enums::STREAM_DRAW => Ok(BufferUsage::StreamDraw),
        enums::STATIC_DRAW => Ok(BufferUsage::StaticDraw),
        enums::DYNAMIC_DRAW => Ok(BufferUsage::DynamicDraw),
        _ => Err(Error::InvalidEnum),
    }
}

impl State {
    /// The buffer that is bound to a target.
    fn bound_buffer(&self, target: u32) -> Outcome<Id> {
        let bound = match binding(target)? {
            Binding::Array => self.array_buffer,
            Binding::ElementArray => self.current_arrays().element_buffer,
        };
        bound.ok_or(Error::InvalidOperation)
    }

    /// The server is told of a buffer that has ended.
    pub(crate) fn buffer_ended(&mut self, ended: Option<Buffer>) {
        if let Some(buffer) = ended {
            self.dead.push(Dead::Buffer(buffer.handle));
        }
    }

    /// `ARRAY_BUFFER` is this one.
    pub(crate) fn set_array_buffer(&mut self, objects: &mut Objects, buffer: Option<Id>) {
        if let Some(id) = buffer {
            objects.buffers.retain(id);
        }
        if let Some(old) = std::mem::replace(&mut self.array_buffer, buffer) {
            let ended = objects.buffers.release(old);
            self.buffer_ended(ended);
        }
    }

    /// `glBindBuffer`.
    pub(crate) fn bind_buffer(&mut self, objects: &mut Objects, target: u32, name: u32) -> Outcome {
        let binding = binding(target)?;
        let buffer = match name {
            0 => None,
            name => Some(objects.buffers.find_or_insert(name, Buffer::default).ok_or(Error::OutOfMemory)?),
        };
        match binding {
            Binding::Array if self.array_buffer == buffer => {}
            Binding::Array => self.set_array_buffer(objects, buffer),
            Binding::ElementArray => self.set_element_buffer(objects, buffer),
        }
        Ok(())
    }

    /// `glDeleteBuffers`, for one name.
    pub(crate) fn delete_buffer(&mut self, objects: &mut Objects, name: u32) {
        if let Some(id) = objects.buffers.find(name) {
            if self.array_buffer == Some(id) {
                self.set_array_buffer(objects, None);
            }
            self.unbind_buffer_from_arrays(objects, id);
        }
        let ended = objects.buffers.delete(name);
        self.buffer_ended(ended);
    }

    /// `glGetBufferParameteriv`.
    pub(crate) fn buffer_parameter(&self, objects: &Objects, target: u32, name: u32) -> Outcome<i32> {
        binding(target)?;
        if !matches!(name, enums::BUFFER_SIZE | enums::BUFFER_USAGE) {
            return Err(Error::InvalidEnum);
        }
        let buffer = objects.buffers.get(self.bound_buffer(target)?).ok_or(Error::InvalidOperation)?;
        Ok(match name {
            enums::BUFFER_SIZE => i32::try_from(buffer.size).unwrap_or(i32::MAX),
            _ => buffer.usage as i32,
        })
    }
}

impl<P: Shared> Own<P> {
    /// `glBufferData`. Without bytes, the contents are undefined.
    pub(crate) fn buffer_data(
        &mut self,
        objects: &mut Objects,
        target: u32,
        size: u64,
        bytes: Option<&[u8]>,
        usage_number: u32,
    ) -> Outcome {
        binding(target)?;
        let wire_usage = usage(usage_number)?;
        let id = self.bound_buffer(target)?;
        if size > self.limits.buffer_size {
            return Err(Error::OutOfMemory);
        }
        let Objects { buffers, buffers_moved, .. } = objects;
        let buffer = buffers.get_mut(id).ok_or(Error::InvalidOperation)?;
        let fresh = buffer.handle.is_null();
        self.turn(|_, turn| {
            define(turn, &mut buffer.handle, size, wire_usage)?;
            (buffer.size, buffer.usage) = (size, usage_number);
            // Without bytes there is nothing to keep until they are written.
            buffer.shadow = buffer.shadow.take().and(bytes).map(<[u8]>::to_vec);
            match bytes {
                Some(bytes) => {
                    let piece = turn.pipe.max_piece();
                    Ok(upload::buffer(turn.pipe, buffer.handle, 0, bytes, piece)?)
                }
                None => Ok(()),
            }
        })?;
        if fresh {
            *buffers_moved += 1;
        }
        Ok(())
    }

    /// `glBufferSubData`.
    pub(crate) fn buffer_sub_data(
        &mut self,
        objects: &mut Objects,
        target: u32,
        offset: u64,
        bytes: &[u8],
    ) -> Outcome {
        binding(target)?;
        let id = self.bound_buffer(target)?;
        let buffer = objects.buffers.get_mut(id).ok_or(Error::InvalidOperation)?;
        let end = offset.checked_add(bytes.len() as u64).filter(|end| *end <= buffer.size);
        let end = end.ok_or(Error::InvalidValue)?;
        if bytes.is_empty() {
            return Ok(());
        }
        if let Some(shadow) = &mut buffer.shadow
            && let Some(place) = shadow.get_mut(offset as usize..end as usize)
        {
            place.copy_from_slice(bytes);
        }
        let handle = buffer.handle;
        self.turn(|_, turn| {
            let piece = turn.pipe.max_piece();
            Ok(upload::buffer(turn.pipe, handle, offset, bytes, piece)?)
        })
    }
}
