//! Bytes on their way from the GPU: into a buffer of ours, with a fence behind it.
//!
//! The driver writes pixels as a pair that it reads (see [`pixels`](crate::formats::pixels)); what was asked for is made
//! of them once they are there. So a read never waits, and none is refused for its pair alone.

use runahead_core::{
    backend::{BackendError, Outcome, Read, Scope, Ticket},
    storage::Storage,
};
use runahead_wire::{payload::Readback, values::RefusedReason};

use glow::HasContext;

use crate::{
    Gles, buffers,
    context::Native,
    formats::pixels::Convert,
    gl::{FAILED, Gl, gl},
    sync::Point,
};

mod images;

/// One read.
#[derive(Debug)]
struct Pending {
    ticket: Ticket,
    home: u32,
    buffer: glow::NativeBuffer,
    fence: Option<Point>,
    /// Bytes that the driver writes.
    size: usize,
    /// What is made of them.
    finish: Finish,
    bytes: Option<Vec<u8>>,
}

/// What is made of bytes that the driver wrote.
#[derive(Clone, Copy, Debug, Default)]
struct Finish {
    convert: Option<Convert>,
    /// Bytes of whole rows that come before the ones that were asked for.
    skip: usize,
    /// Bytes that were asked for.
    size: usize,
}

/// The reads of a session.
#[derive(Debug, Default)]
pub(crate) struct Reads {
    pending: Vec<Pending>,
    last: u64,
}

impl Reads {
    /// Starts a read.
    pub(crate) fn begin<S: Storage>(
        &mut self,
        gl: &Gl,
        native: &mut Native,
        scope: &mut Scope<'_, Gles, S>,
        read: &Read<'_>,
    ) -> Outcome<Ticket> {
        let buffer = gl!(gl, create_buffer()).map_err(|_| FAILED)?;
        gl!(gl, bind_buffer(glow::PIXEL_PACK_BUFFER, Some(buffer)));
        gl.clear_errors();
        let begun = match read {
            Read::Pixels(info) => native.read_pixels(gl, scope, info),
            Read::Texture(info) => native.read_texture(gl, scope, info),
            Read::Buffer(span) => native.read_buffer(gl, scope, span),
        };
        let begun = begun.and_then(|begun| gl.outcome().map(|()| begun));
        gl!(gl, bind_buffer(glow::PIXEL_PACK_BUFFER, None));
        let (bytes, finish) = match begun {
            Ok(begun) => begun,
            Err(error) => {
                gl!(gl, delete_buffer(buffer));
                return Err(error);
            }
        };
        self.last += 1;
        let ticket = Ticket(self.last);
        let fence = Point::new(gl)?;
        self.pending.push(Pending {
            ticket,
            home: native.home,
            buffer,
            fence: Some(fence),
            size: bytes as usize,
            finish,
            bytes: None,
        });
        Ok(ticket)
    }

    /// The native context that a read is of.
    pub(crate) fn home(&self, ticket: Ticket) -> Option<u32> {
        self.pending.iter().find(|read| read.ticket == ticket).map(|read| read.home)
    }

    /// The bytes, once they are there.
    pub(crate) fn poll(&mut self, gl: &Gl, ticket: Ticket, wait: bool) -> Outcome<Option<&[u8]>> {
        let read = self.pending.iter_mut().find(|read| read.ticket == ticket).ok_or(FAILED)?;
        if read.bytes.is_none() {
            if let Some(fence) = read.fence {
                if !fence.is_passed(gl, wait)? {
                    return Ok(None);
                }
                fence.delete(gl);
                read.fence = None;
            }
            gl!(gl, bind_buffer(glow::PIXEL_PACK_BUFFER, Some(read.buffer)));
            let mut bytes = vec![0; read.size];
            let at =
                gl!(gl, map_buffer_range(glow::PIXEL_PACK_BUFFER, 0, read.size as i32, glow::MAP_READ_BIT));
            let mapped = !at.is_null();
            if mapped {
                // SAFETY: the driver mapped `size` bytes for reading, until they are unmapped below.
                unsafe { std::ptr::copy_nonoverlapping(at, bytes.as_mut_ptr(), bytes.len()) };
                gl!(gl, unmap_buffer(glow::PIXEL_PACK_BUFFER));
            }
            gl!(gl, bind_buffer(glow::PIXEL_PACK_BUFFER, None));
            if !mapped && read.size != 0 {
                return Err(FAILED);
            }
            read.bytes = Some(read.finish.of(bytes)?);
        }
        Ok(read.bytes.as_deref())
    }

    /// Forgets a read.
    pub(crate) fn end(&mut self, gl: &Gl, ticket: Ticket) {
        if let Some(at) = self.pending.iter().position(|read| read.ticket == ticket) {
            let read = self.pending.swap_remove(at);
            if let Some(fence) = read.fence {
                fence.delete(gl);
            }
            gl!(gl, delete_buffer(read.buffer));
        }
    }

    /// Forgets the reads of a native context that ends; they end with it.
    pub(crate) fn forget_home(&mut self, home: u32) {
        self.pending.retain(|read| read.home != home);
    }
}

/// Bytes that the driver writes, and what is made of them.
type Begun = (i32, Finish);

/// A size in bytes, as the driver takes it.
fn count(bytes: u64) -> Outcome<i32> {
    i32::try_from(bytes).map_err(|_| BackendError::Refused(RefusedReason::TooLarge))
}

/// Gives the pack buffer that is bound so many bytes.
fn make_room(gl: &Gl, bytes: u64) -> Outcome<i32> {
    let bytes = count(bytes)?;
    gl!(gl, buffer_data_size(glow::PIXEL_PACK_BUFFER, bytes, glow::STREAM_READ));
    gl.outcome()?;
    Ok(bytes)
}

impl Finish {
    /// Bytes that stay as they are.
    const fn none(size: usize) -> Self {
        Self { convert: None, skip: 0, size }
    }

    fn of(&self, bytes: Vec<u8>) -> Outcome<Vec<u8>> {
        let mut bytes = match &self.convert {
            Some(convert) => convert.apply(&bytes),
            None => bytes,
        };
        if (self.skip, self.size) == (0, bytes.len()) {
            return Ok(bytes);
        }
        let part = bytes.get(self.skip..).and_then(|rest| rest.get(..self.size)).ok_or(FAILED)?.len();
        bytes.copy_within(self.skip..self.skip + part, 0);
        bytes.truncate(part);
        Ok(bytes)
    }
}

impl Native {
    fn read_buffer<S: Storage>(
        &mut self,
        gl: &Gl,
        scope: &mut Scope<'_, Gles, S>,
        span: &Readback,
    ) -> Outcome<Begun> {
        let home = self.home;
        self.bound.settle(gl, home, &mut scope.objects.buffers)?;
        let bytes = make_room(gl, span.size)?;
        let name = buffers::resolve(gl, home, &mut scope.objects.buffers, span.resource)?.ok_or(FAILED)?;
        gl!(gl, bind_buffer(glow::COPY_READ_BUFFER, Some(name)));
        let from = count(span.offset)?;
        gl!(gl, copy_buffer_sub_data(glow::COPY_READ_BUFFER, glow::PIXEL_PACK_BUFFER, from, 0, bytes));
        gl!(gl, bind_buffer(glow::COPY_READ_BUFFER, None));
        Ok((bytes, Finish::none(bytes as usize)))
    }
}
