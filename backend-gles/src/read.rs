//! Bytes on their way from the GPU: into a buffer of ours, with a fence behind it.

use runahead_core::{
    backend::{BackendError, Outcome, Read, Scope, Ticket},
    storage::Storage,
};
use runahead_wire::{
    payload::{CopyFromFramebuffer, ReadbackInfo, Surface},
    values::{RefusedReason, ResourceTarget, SurfaceKind},
};

use glow::HasContext;

use crate::{
    Gles, buffers,
    context::Native,
    formats,
    gl::{FAILED, Gl, UNSUPPORTED, gl},
    sync::Point,
    textures,
};

/// One read.
#[derive(Debug)]
struct Pending {
    ticket: Ticket,
    home: u32,
    buffer: glow::NativeBuffer,
    fence: Option<Point>,
    size: usize,
    bytes: Option<Vec<u8>>,
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
        let size = match read {
            Read::Pixels(info) | Read::Texture(info) => info.dst_size,
            Read::Buffer(span) => span.size,
        };
        let bytes = i32::try_from(size).map_err(|_| BackendError::Refused(RefusedReason::TooLarge))?;
        let buffer = gl!(gl, create_buffer()).map_err(|_| FAILED)?;
        gl!(gl, bind_buffer(glow::PIXEL_PACK_BUFFER, Some(buffer)));
        gl.clear_errors();
        gl!(gl, buffer_data_size(glow::PIXEL_PACK_BUFFER, bytes, glow::STREAM_READ));
        let begun = gl.outcome().and_then(|()| fill(gl, native, scope, read)).and_then(|()| gl.outcome());
        gl!(gl, bind_buffer(glow::PIXEL_PACK_BUFFER, None));
        if let Err(error) = begun {
            gl!(gl, delete_buffer(buffer));
            return Err(error);
        }
        self.last += 1;
        let ticket = Ticket(self.last);
        let fence = Point::new(gl)?;
        self.pending.push(Pending {
            ticket,
            home: native.home,
            buffer,
            fence: Some(fence),
            size: bytes as usize,
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
            read.bytes = Some(bytes);
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

/// Has the driver write the bytes into the pack buffer.
fn fill<S: Storage>(
    gl: &Gl,
    native: &mut Native,
    scope: &mut Scope<'_, Gles, S>,
    read: &Read<'_>,
) -> Outcome {
    let home = native.home;
    match read {
        Read::Pixels(info) => {
            native.framebuffers.sync_read(gl, home, scope)?;
            pixels(gl, info, info.region.z)
        }
        Read::Texture(info) => {
            let object = scope.objects.textures.get(info.resource).ok_or(FAILED)?;
            let desc = object.record.desc;
            let layered =
                matches!(desc.target(), Some(ResourceTarget::Texture3D | ResourceTarget::Texture2DArray));
            if info.region.depth > 1 {
                return Err(UNSUPPORTED);
            }
            let surface = Surface {
                resource: info.resource,
                internal_format: desc.internal_format,
                kind: SurfaceKind::Texture.raw() as u8,
                level: info.level,
                layer: if layered { u32::try_from(info.region.z).map_err(|_| FAILED)? } else { 0 },
                upload_target: u16::from(info.upload_target),
                texture_target: u16::from(info.target),
                ..Surface::default()
            };
            native.framebuffers.read_image(gl, home, scope.objects, &surface)?;
            pixels(gl, info, 0)
        }
        Read::Buffer(span) => {
            let offset =
                |bytes: u64| i32::try_from(bytes).map_err(|_| BackendError::Refused(RefusedReason::TooLarge));
            native.bound.settle(gl, home, &mut scope.objects.buffers)?;
            let name =
                buffers::resolve(gl, home, &mut scope.objects.buffers, span.resource)?.ok_or(FAILED)?;
            gl!(gl, bind_buffer(glow::COPY_READ_BUFFER, Some(name)));
            let (from, size) = (offset(span.offset)?, offset(span.size)?);
            gl!(gl, copy_buffer_sub_data(glow::COPY_READ_BUFFER, glow::PIXEL_PACK_BUFFER, from, 0, size));
            gl!(gl, bind_buffer(glow::COPY_READ_BUFFER, None));
            Ok(())
        }
    }
}

/// Reads pixels of the read framebuffer into the pack buffer.
fn pixels(gl: &Gl, info: &ReadbackInfo, layer: i32) -> Outcome {
    let format = info.format().ok_or(FAILED)?;
    let components = formats::pixel_format(format).ok_or(UNSUPPORTED)?;
    let (kind, unit, packed) = formats::pixel_type(info.pixel_type().ok_or(FAILED)?).ok_or(UNSUPPORTED)?;
    let pixel = if packed { unit } else { unit * formats::components(format) };
    let region = &info.region;
    let needed =
        u64::from(region.width).checked_mul(u64::from(region.height)).and_then(|all| all.checked_mul(pixel));
    // The driver checks it too; this names no memory of ours.
    if layer != 0 || needed.is_none_or(|needed| needed > info.dst_size) {
        return Err(UNSUPPORTED);
    }
    let (width, height) = (region.width as i32, region.height as i32);
    let into = glow::PixelPackData::BufferOffset(0);
    gl!(gl, read_pixels(region.x, region.y, width, height, components, kind, into));
    Ok(())
}

impl Native {
    /// Copies from the read framebuffer into a texture.
    pub(crate) fn copy_to_texture<S: Storage>(
        &mut self,
        gl: &Gl,
        scope: &mut Scope<'_, Gles, S>,
        copy: &CopyFromFramebuffer,
    ) -> Outcome {
        let home = self.home;
        self.framebuffers.sync_read(gl, home, scope)?;
        let object = scope.objects.textures.get_mut(copy.dst).ok_or(FAILED)?;
        let target = object.record.desc.target().and_then(textures::target).ok_or(UNSUPPORTED)?;
        let name = object.twin.name(gl, home)?;
        self.units.work(gl, target, name)?;
        let (level, width, height) = (copy.level as i32, copy.width as i32, copy.height as i32);
        gl.clear_errors();
        if matches!(target, glow::TEXTURE_3D | glow::TEXTURE_2D_ARRAY) {
            let z = i32::from(copy.z_offset);
            gl!(
                gl,
                copy_tex_sub_image_3d(
                    target,
                    level,
                    copy.x_offset,
                    copy.y_offset,
                    z,
                    copy.x,
                    copy.y,
                    width,
                    height
                )
            );
        } else {
            let image = textures::image(target, copy.upload_target().ok_or(FAILED)?);
            gl!(
                gl,
                copy_tex_sub_image_2d(
                    image,
                    level,
                    copy.x_offset,
                    copy.y_offset,
                    copy.x,
                    copy.y,
                    width,
                    height
                )
            );
        }
        gl.outcome()
    }
}
