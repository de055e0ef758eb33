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
pub(super) fn define<P: Pipe, S: Storage>(
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

/// Buffers of the front's own that take what draws read from the application's memory, one copy behind the other, and
/// one buffer after the other. When all were used the first one is written again: in the order of the stream that is
/// behind the draws that read it, and most likely they are done. A store is only defined anew to be larger, or smaller
/// again.
#[derive(Debug, Default)]
pub(crate) struct Stream {
    stores: [Store; STORES],
    /// The one that is written.
    current: usize,
    at: u64,
}

/// One of the buffers.
#[derive(Clone, Copy, Debug, Default)]
struct Store {
    handle: Handle,
    size: u64,
}

/// Buffers of a stream.
const STORES: usize = 3;

/// Bytes of a stream to begin with.
const STREAM: u64 = 1 << 20;
/// Bytes that one draw may take of a stream.
pub(crate) const MOST_STREAMED: u64 = 256 << 20;
/// What begins in a stream begins at a multiple of this.
const ALIGNMENT: u64 = 16;

impl Stream {
    fn store(&self) -> Store {
        self.stores.get(self.current).copied().unwrap_or_default()
    }

    /// The buffer that is written; null before the first use.
    pub(crate) fn handle(&self) -> Handle {
        self.store().handle
    }

    /// All buffers that there are, with their sizes.
    pub(crate) fn buffers(&self) -> impl Iterator<Item = (Handle, u64)> + use<> {
        self.stores
            .into_iter()
            .map(|store| (store.handle, store.size))
            .filter(|(handle, _)| !handle.is_null())
    }

    /// Bytes that a copy takes up.
    pub(crate) const fn taken(size: u64) -> u64 {
        size.next_multiple_of(ALIGNMENT)
    }

    /// Makes room for the copies of a draw, all in one buffer: so many bytes, each copy's as it [takes](Self::taken) them
    /// up.
    pub(crate) fn make_room<P: Pipe, S: Storage>(&mut self, turn: &mut Turn<'_, P, S>, size: u64) -> Outcome
    where
        Error: From<P::Error>,
    {
        if size > MOST_STREAMED {
            return Err(Error::OutOfMemory);
        }
        if self.at.checked_add(size).is_some_and(|end| end <= self.store().size) {
            return Ok(());
        }
        let next = (self.current + 1) % STORES;
        let Some(store) = self.stores.get_mut(next) else { return Err(Error::OutOfMemory) };
        let wanted = size.max(STREAM).next_power_of_two();
        // A single huge draw does not leave a huge store behind.
        if store.size < wanted || store.size > wanted.saturating_mul(4) {
            define(turn, &mut store.handle, wanted, BufferUsage::StreamDraw)?;
            store.size = wanted;
        }
        (self.current, self.at) = (next, 0);
        Ok(())
    }

    /// Writes a copy into the room that was made, and answers where it begins: `lead` bytes before it are left out.
    pub(crate) fn write<P: Session, S: Storage>(
        &mut self,
        turn: &mut Turn<'_, P, S>,
        lead: u64,
        bytes: &[u8],
    ) -> Outcome<u64> {
        let start = self.at;
        let size = lead + bytes.len() as u64;
        debug_assert!(start + size <= self.store().size, "room was made");
        let piece = turn.pipe.max_piece();
        upload::buffer(turn.pipe, self.handle(), start + lead, bytes, piece)?;
        self.at = start + Self::taken(size);
        Ok(start)
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
