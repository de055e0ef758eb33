//! Buffers: storage, contents, and what is bound for work on them.

use runahead_core::{
    backend::{BackendError, Outcome},
    objects::Records,
    storage::Storage,
};
use runahead_wire::{
    Bulk, Handle,
    payload::{ByteRange, CopyBuffer},
    values::{BufferUsage, RefusedReason},
};

use glow::HasContext;

use crate::gl::{FAILED, Gl, Named, address, gl, raw};

/// Twin of a buffer.
#[derive(Debug, Default)]
pub struct Buffer {
    pub(crate) named: Named<glow::NativeBuffer>,
    /// The store was defined and the driver not told yet: an upload of the whole does both at once.
    pending: bool,
}

/// Binding points of buffers that are not of the vertex array.
#[derive(Debug, Default)]
pub(crate) struct Bound {
    /// What `COPY_WRITE_BUFFER` is, which all work on one buffer uses.
    write: Option<glow::NativeBuffer>,
    /// Buffers whose store the driver has not been told of.
    pending: Vec<Handle>,
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

/// A size or an offset, as the driver takes it.
fn size(bytes: u64) -> Outcome<isize> {
    isize::try_from(bytes).map_err(|_| BackendError::Refused(RefusedReason::TooLarge))
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
        let Some(object) = buffers.get_mut(buffer) else { return Err(FAILED) };
        if object.record.desc.buf_size > largest {
            return Err(BackendError::Refused(RefusedReason::TooLarge));
        }
        if !object.twin.pending {
            object.twin.pending = true;
            if self.pending.len() == self.pending.capacity() {
                self.forget_settled(buffers);
            }
            self.pending.push(buffer);
        }
        Ok(())
    }

    /// Forgets the buffers that were told with their contents, or have ended: without a draw nobody else does.
    #[cold]
    fn forget_settled<S: Storage>(&mut self, buffers: &Buffers<S>) {
        self.pending.retain(|buffer| buffers.get(*buffer).is_some_and(|object| object.twin.pending));
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
            let Some(object) = buffers.get_mut(buffer).filter(|object| object.twin.pending) else { continue };
            let desc = object.record.desc;
            let name = object.twin.name(gl, home)?;
            object.twin.pending = false;
            self.write(gl, name);
            gl.clear_errors();
            let bytes = size(desc.buf_size)?;
            raw!(gl, buffer_data(glow::COPY_WRITE_BUFFER, bytes, std::ptr::null(), usage(desc.usage())));
            settled = settled.and(gl.outcome());
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
            gl.clear_errors();
            raw!(gl, buffer_data(glow::COPY_WRITE_BUFFER, count, from, usage(desc.usage())));
            return gl.outcome();
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
        let offset =
            |bytes: u64| i32::try_from(bytes).map_err(|_| BackendError::Refused(RefusedReason::TooLarge));
        self.settle(gl, home, buffers)?;
        let src = resolve(gl, home, buffers, copy.src)?.ok_or(FAILED)?;
        let dst = resolve(gl, home, buffers, copy.dst)?.ok_or(FAILED)?;
        self.write(gl, dst);
        gl!(gl, bind_buffer(glow::COPY_READ_BUFFER, Some(src)));
        let (from, to, count) = (offset(copy.src_offset)?, offset(copy.dst_offset)?, offset(copy.size)?);
        gl!(gl, copy_buffer_sub_data(glow::COPY_READ_BUFFER, glow::COPY_WRITE_BUFFER, from, to, count));
        gl!(gl, bind_buffer(glow::COPY_READ_BUFFER, None));
        Ok(())
    }

    /// Forgets a name that the driver may give again.
    pub(crate) fn forget(&mut self, buffer: glow::NativeBuffer) {
        if self.write == Some(buffer) {
            self.write = None;
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
