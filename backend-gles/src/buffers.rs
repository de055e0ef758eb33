//! Buffers: storage, contents, and what is bound for work on them.

use runahead_core::{
    backend::{BackendError, Outcome},
    objects::Records,
    storage::Storage,
};
use runahead_wire::{
    Bulk, Handle,
    payload::{ByteRange, ClearBuffer, CopyBuffer, ResourceDesc},
    values::{BufferUsage, RefusedReason, StorageFlags},
};

use glow::HasContext;

use crate::{
    extended::call,
    gl::{FAILED, Gl, Named, UNSUPPORTED, address, gl, raw},
    maps,
};

/// `GL_MAP_COHERENT_BIT` (EXT_buffer_storage).
const MAP_COHERENT: u32 = 0x0080;
/// How a store is mapped for the client.
const PERSISTENT: u32 = glow::MAP_READ_BIT | glow::MAP_WRITE_BIT | glow::MAP_PERSISTENT_BIT | MAP_COHERENT;

/// Twin of a buffer.
#[derive(Debug, Default)]
pub struct Buffer {
    pub(crate) named: Named<glow::NativeBuffer>,
    /// The store was defined and the driver not told yet: an upload of the whole does both at once.
    pending: bool,
    /// Whether it is in the list of those that are.
    listed: bool,
    /// The map that the client has. It goes before the name does.
    pub(crate) mapped: Option<maps::Entry>,
}

/// Binding points of buffers that are not of the vertex array.
#[derive(Debug, Default)]
pub(crate) struct Bound {
    /// What `COPY_WRITE_BUFFER` is, which all work on one buffer uses.
    write: Option<glow::NativeBuffer>,
    /// `DRAW_INDIRECT_BUFFER`.
    indirect: Option<glow::NativeBuffer>,
    /// Buffers whose store the driver has not been told of.
    pending: Vec<Handle>,
    /// A buffer of our own, for what is drawn from a copy.
    scratch: Option<glow::NativeBuffer>,
}

/// Records of buffers.
pub(crate) type Buffers<S> = Records<runahead_core::objects::Buffer, Buffer, S>;

const fn usage(usage: Option<BufferUsage>) -> u32 {
    match usage {
        Some(BufferUsage::StreamDraw) => glow::STREAM_DRAW,
        Some(BufferUsage::StreamRead) => glow::STREAM_READ,
        Some(BufferUsage::StreamCopy) => glow::STREAM_COPY,
        Some(BufferUsage::StaticRead) => glow::STATIC_READ,
        Some(BufferUsage::StaticCopy) => glow::STATIC_COPY,
        Some(BufferUsage::DynamicDraw) => glow::DYNAMIC_DRAW,
        Some(BufferUsage::DynamicRead) => glow::DYNAMIC_READ,
        Some(BufferUsage::DynamicCopy) => glow::DYNAMIC_COPY,
        Some(BufferUsage::StaticDraw | BufferUsage::Unspecified) | None => glow::STATIC_DRAW,
    }
}

/// Bytes of the block that a fill begins with: a multiple of every size of a value.
const FILL: u64 = 48 << 10;

/// A size or an offset, as the driver takes it.
fn size(bytes: u64) -> Outcome<isize> {
    isize::try_from(bytes).map_err(|_| BackendError::Refused(RefusedReason::TooLarge))
}

/// Whether the store of a buffer may be mapped while the GPU uses it.
fn is_persistent(gl: &Gl, desc: &ResourceDesc) -> bool {
    desc.immutable != 0
        && gl.extended.buffer_storage.is_some()
        && desc.storage_flags().is_some_and(|flags| flags.contains(StorageFlags::MAP_PERSISTENT))
}

/// Defines the store of the buffer that work is done on. What an immutable one does not allow its client to do is the
/// client's to check; one that may stay mapped is immutable here too.
fn define(gl: &Gl, desc: &ResourceDesc, bytes: isize, from: *const std::ffi::c_void) -> Outcome {
    gl.clear_errors();
    match gl.extended.buffer_storage.filter(|_| is_persistent(gl, desc)) {
        Some(store) => {
            call!(store, glow::COPY_WRITE_BUFFER, bytes, from, PERSISTENT | glow::DYNAMIC_STORAGE_BIT)
        }
        None => raw!(gl, buffer_data(glow::COPY_WRITE_BUFFER, bytes, from, usage(desc.usage()))),
    }
    gl.outcome()
}

impl Bound {
    /// Binds a buffer for work on it.
    fn write(&mut self, gl: &Gl, buffer: glow::NativeBuffer) {
        if self.write != Some(buffer) {
            gl!(gl, bind_buffer(glow::COPY_WRITE_BUFFER, Some(buffer)));
            self.write = Some(buffer);
        }
    }

    /// A store is defined; the driver hears of it with its contents, or at the latest when it is used.
    pub(crate) fn define<S: Storage>(
        &mut self,
        buffers: &mut Buffers<S>,
        buffer: Handle,
        largest: u64,
    ) -> Outcome {
        let object = buffers.get(buffer).ok_or(FAILED)?;
        if object.record.desc.buf_size > largest {
            return Err(BackendError::Refused(RefusedReason::TooLarge));
        }
        self.expect(buffers, buffer);
        Ok(())
    }

    /// Drops the contents of a whole buffer: the store is another one from now on. Anything less stays as it is.
    pub(crate) fn drop_contents<S: Storage>(
        &mut self,
        buffers: &mut Buffers<S>,
        buffer: Handle,
        whole: bool,
    ) {
        let Some(object) = buffers.get(buffer) else { return };
        // One that the driver never heard of has no contents.
        if whole && object.record.desc.immutable == 0 && object.twin.named.name.is_some() {
            self.expect(buffers, buffer);
        }
    }

    /// The driver is to be told of a store.
    fn expect<S: Storage>(&mut self, buffers: &mut Buffers<S>, buffer: Handle) {
        let Some(object) = buffers.get_mut(buffer) else { return };
        object.twin.pending = true;
        if std::mem::replace(&mut object.twin.listed, true) {
            return;
        }
        if self.pending.len() == self.pending.capacity() {
            self.forget_settled(buffers);
        }
        self.pending.push(buffer);
    }

    /// Forgets the buffers that were told with their contents, or have ended: without a draw nobody else does.
    #[cold]
    fn forget_settled<S: Storage>(&mut self, buffers: &mut Buffers<S>) {
        self.pending.retain(|buffer| {
            let Some(object) = buffers.get_mut(*buffer) else { return false };
            object.twin.listed = object.twin.pending;
            object.twin.pending
        });
        self.pending.reserve(self.pending.len() + 1);
    }

    /// Tells the driver of every store that it has not been told of.
    #[inline]
    pub(crate) fn settle<S: Storage>(&mut self, gl: &Gl, home: u32, buffers: &mut Buffers<S>) -> Outcome {
        if self.pending.is_empty() { Ok(()) } else { self.settle_all(gl, home, buffers) }
    }

    #[cold]
    #[inline(never)]
    fn settle_all<S: Storage>(&mut self, gl: &Gl, home: u32, buffers: &mut Buffers<S>) -> Outcome {
        let mut settled = Ok(());
        while let Some(buffer) = self.pending.pop() {
            let Some(object) = buffers.get_mut(buffer) else { continue };
            object.twin.listed = false;
            if !object.twin.pending {
                continue;
            }
            let desc = object.record.desc;
            let name = object.twin.name(gl, home)?;
            object.twin.pending = false;
            self.write(gl, name);
            let bytes = size(desc.buf_size)?;
            settled = settled.and(define(gl, &desc, bytes, std::ptr::null()));
        }
        settled
    }

    /// Writes a span.
    pub(crate) fn upload<S: Storage>(
        &mut self,
        gl: &Gl,
        home: u32,
        buffers: &mut Buffers<S>,
        buffer: Handle,
        range: ByteRange,
        bytes: &Bulk<'_>,
    ) -> Outcome {
        let from = address(bytes)?;
        let Some(object) = buffers.get_mut(buffer) else { return Err(FAILED) };
        let desc = object.record.desc;
        let whole = range.offset == 0 && range.size == desc.buf_size;
        let name = object.twin.name(gl, home)?;
        let (offset, count) = (size(range.offset)?, size(range.size)?);
        if object.twin.pending && whole {
            object.twin.pending = false;
            self.write(gl, name);
            return define(gl, &desc, count, from);
        }
        self.settle(gl, home, buffers)?;
        self.write(gl, name);
        raw!(gl, buffer_sub_data(glow::COPY_WRITE_BUFFER, offset, count, from));
        Ok(())
    }

    /// Copies a span from one buffer to another.
    pub(crate) fn copy<S: Storage>(
        &mut self,
        gl: &Gl,
        home: u32,
        buffers: &mut Buffers<S>,
        copy: &CopyBuffer,
    ) -> Outcome {
        self.settle(gl, home, buffers)?;
        let src = resolve(gl, home, buffers, copy.src)?.ok_or(FAILED)?;
        let dst = resolve(gl, home, buffers, copy.dst)?.ok_or(FAILED)?;
        self.write(gl, dst);
        gl!(gl, bind_buffer(glow::COPY_READ_BUFFER, Some(src)));
        let (from, to, count) = (size(copy.src_offset)?, size(copy.dst_offset)?, size(copy.size)?);
        raw!(gl, copy_buffer_sub_data(glow::COPY_READ_BUFFER, glow::COPY_WRITE_BUFFER, from, to, count));
        gl!(gl, bind_buffer(glow::COPY_READ_BUFFER, None));
        Ok(())
    }

    /// Fills a span with a value. OpenGL ES has no such call: a block of values is written, and copied as often as it
    /// takes, each time twice as many.
    pub(crate) fn fill<S: Storage>(
        &mut self,
        gl: &Gl,
        home: u32,
        buffers: &mut Buffers<S>,
        clear: &ClearBuffer,
    ) -> Outcome {
        self.settle(gl, home, buffers)?;
        let name = resolve(gl, home, buffers, clear.resource)?.ok_or(FAILED)?;
        let value = clear.value.get(..clear.value_size as usize).filter(|value| !value.is_empty());
        let value = value.ok_or(FAILED)?;
        // A whole number of values of any size.
        let block = clear.size.min(FILL);
        let bytes: Vec<u8> = value.iter().copied().cycle().take(block as usize).collect();
        self.write(gl, name);
        let (start, first) = (size(clear.offset)?, size(block)?);
        raw!(gl, buffer_sub_data(glow::COPY_WRITE_BUFFER, start, first, bytes.as_ptr().cast()));
        let mut done = block;
        if done < clear.size {
            gl!(gl, bind_buffer(glow::COPY_READ_BUFFER, Some(name)));
            while done < clear.size {
                let count = done.min(clear.size - done);
                let (to, count_now) = (size(clear.offset + done)?, size(count)?);
                let (read, write) = (glow::COPY_READ_BUFFER, glow::COPY_WRITE_BUFFER);
                raw!(gl, copy_buffer_sub_data(read, write, start, to, count_now));
                done += count;
            }
            gl!(gl, bind_buffer(glow::COPY_READ_BUFFER, None));
        }
        Ok(())
    }

    /// Maps a store for a client in this process, for as long as the store is.
    pub(crate) fn map<S: Storage>(
        &mut self,
        gl: &Gl,
        home: u32,
        buffers: &mut Buffers<S>,
        buffer: Handle,
    ) -> Outcome<Option<u64>> {
        self.settle(gl, home, buffers)?;
        let Some(object) = buffers.get_mut(buffer) else { return Err(FAILED) };
        let desc = object.record.desc;
        if object.twin.mapped.is_some() || !is_persistent(gl, &desc) || desc.buf_size == 0 {
            return Ok(object.twin.mapped.as_ref().map(maps::Entry::token));
        }
        let bytes = i32::try_from(desc.buf_size).map_err(|_| UNSUPPORTED)?;
        let name = object.twin.name(gl, home)?;
        self.write(gl, name);
        let at = gl!(gl, map_buffer_range(glow::COPY_WRITE_BUFFER, 0, bytes, PERSISTENT));
        object.twin.mapped = std::ptr::NonNull::new(at).map(|at| maps::Entry::new(at, bytes as usize));
        Ok(object.twin.mapped.as_ref().map(maps::Entry::token))
    }

    /// Gives such a map up.
    pub(crate) fn unmap<S: Storage>(&mut self, gl: &Gl, buffers: &mut Buffers<S>, buffer: Handle) {
        if let Some(object) = buffers.get_mut(buffer)
            && let Some(entry) = object.twin.mapped.take()
        {
            drop(entry);
            if let Some(name) = object.twin.named.name {
                self.write(gl, name);
                gl!(gl, unmap_buffer(glow::COPY_WRITE_BUFFER));
            }
        }
    }

    /// Binds the parameters of draws.
    pub(crate) fn indirect(&mut self, gl: &Gl, buffer: glow::NativeBuffer) {
        if self.indirect != Some(buffer) {
            gl!(gl, bind_buffer(glow::DRAW_INDIRECT_BUFFER, Some(buffer)));
            self.indirect = Some(buffer);
        }
    }

    /// A buffer of our own with these bytes. It is drawn from before the next call.
    pub(crate) fn scratch(&mut self, gl: &Gl, bytes: &[u8]) -> Outcome<glow::NativeBuffer> {
        let name = match self.scratch {
            Some(name) => name,
            None => {
                let name = gl!(gl, create_buffer()).map_err(|_| FAILED)?;
                self.scratch = Some(name);
                name
            }
        };
        self.write(gl, name);
        gl.clear_errors();
        gl!(gl, buffer_data_u8_slice(glow::COPY_WRITE_BUFFER, bytes, glow::STREAM_DRAW));
        gl.outcome().map(|()| name)
    }

    /// The bytes of a span, once the GPU is done with it. They are copied by the driver first: a store may not be
    /// mapped, or be mapped already.
    pub(crate) fn fetch(
        &mut self,
        gl: &Gl,
        buffer: glow::NativeBuffer,
        offset: u64,
        count: u64,
    ) -> Outcome<Vec<u8>> {
        let bytes = i32::try_from(count).map_err(|_| BackendError::Refused(RefusedReason::TooLarge))?;
        let from = size(offset)?;
        let copy = gl!(gl, create_buffer()).map_err(|_| FAILED)?;
        self.write(gl, copy);
        gl.clear_errors();
        gl!(gl, buffer_data_size(glow::COPY_WRITE_BUFFER, bytes, glow::STREAM_READ));
        gl!(gl, bind_buffer(glow::COPY_READ_BUFFER, Some(buffer)));
        let (read, write) = (glow::COPY_READ_BUFFER, glow::COPY_WRITE_BUFFER);
        raw!(gl, copy_buffer_sub_data(read, write, from, 0, bytes as isize));
        gl!(gl, bind_buffer(glow::COPY_READ_BUFFER, None));
        let mut fetched = vec![0; bytes as usize];
        let outcome = gl.outcome().and_then(|()| {
            let at = gl!(gl, map_buffer_range(glow::COPY_WRITE_BUFFER, 0, bytes, glow::MAP_READ_BIT));
            if at.is_null() {
                return Err(FAILED);
            }
            // SAFETY: the driver mapped as many bytes for reading, until they are unmapped below.
            unsafe { std::ptr::copy_nonoverlapping(at, fetched.as_mut_ptr(), fetched.len()) };
            gl!(gl, unmap_buffer(glow::COPY_WRITE_BUFFER));
            Ok(())
        });
        self.forget(copy);
        gl!(gl, delete_buffer(copy));
        outcome.map(|()| fetched)
    }

    /// Forgets a name that the driver may give again.
    pub(crate) fn forget(&mut self, buffer: glow::NativeBuffer) {
        if self.write == Some(buffer) {
            self.write = None;
        }
        if self.indirect == Some(buffer) {
            self.indirect = None;
        }
    }
}

impl Buffer {
    /// The driver's name of it, made at first use.
    fn name(&mut self, gl: &Gl, home: u32) -> Outcome<glow::NativeBuffer> {
        if let Some(name) = self.named.name {
            return Ok(name);
        }
        let name = gl!(gl, create_buffer()).map_err(|_| FAILED)?;
        self.named = Named { name: Some(name), home };
        Ok(name)
    }
}

/// The driver's name of a buffer; none for a null handle, and for one that was refused.
pub(crate) fn resolve<S: Storage>(
    gl: &Gl,
    home: u32,
    buffers: &mut Buffers<S>,
    buffer: Handle,
) -> Outcome<Option<glow::NativeBuffer>> {
    match buffers.get_mut(buffer) {
        Some(object) => object.twin.name(gl, home).map(Some),
        None => Ok(None),
    }
}
