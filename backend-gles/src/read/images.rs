//! Pixels of the read framebuffer and images of textures.
//!
//! An image that can be attached is read through a framebuffer. Of another one the bits are copied to a format that can be
//! (OpenGL ES 3.2 section 16.2.2), where there is one of as many bytes; what cannot be read in either way is refused.

use runahead_core::{
    backend::{Outcome, Scope},
    storage::Storage,
};
use runahead_wire::{
    Handle,
    format::{Format, FormatClass},
    payload::{ReadbackInfo, ReadbackToBuffer, ResourceDesc, TexelBox},
    values::{FormatFeatures, PixelFormat, ResourceTarget},
};

use glow::HasContext;

use super::{Begun, Finish, make_room};
use crate::{
    Gles, buffers,
    context::Native,
    extended::needed,
    formats::{
        self,
        pixels::{self, Pair, Plan, Source},
    },
    framebuffers,
    gl::{FAILED, Gl, UNSUPPORTED, gl},
    textures,
};

/// What of an image is read, in the order of the answer.
#[derive(Clone, Copy, Debug)]
struct Shape {
    /// Blocks of a row, or pixels; rows; slices.
    columns: u64,
    rows: u64,
    slices: u64,
}

impl Shape {
    fn of(region: &TexelBox, format: Format, pair: Pair) -> Self {
        let block = match pair.0 {
            PixelFormat::Compressed => format.block(),
            _ => Format::Rgba8.block(),
        };
        Self {
            columns: u64::from(region.width.div_ceil(u32::from(block.width))),
            rows: u64::from(region.height.div_ceil(u32::from(block.height))),
            slices: u64::from(region.depth),
        }
    }

    /// All rows of all slices, counted on.
    const fn all_rows(&self) -> u64 {
        self.rows * self.slices
    }
}

/// Where the driver writes rows in the pack buffer.
#[derive(Clone, Copy, Debug)]
struct Room {
    base: u64,
    row: u64,
    slice: u64,
    /// Rows that are written, counted on through the slices.
    first: u64,
    last: u64,
}

impl Room {
    /// Where a row goes.
    const fn at(&self, row: u64, rows: u64) -> u64 {
        let (slice, within) = (row / rows, row % rows);
        let (first_slice, first_row) = (self.first / rows, self.first % rows);
        // Of rows without gaps the first that is written comes first.
        if self.slice == self.row.saturating_mul(rows) {
            self.base + (row - self.first) * self.row
        } else {
            self.base + slice * self.slice + within * self.row
                - first_slice * self.slice
                - first_row * self.row
        }
    }
}

/// The pixels that a read asks for.
fn pair(info: &ReadbackInfo) -> Outcome<Pair> {
    Ok((info.format().ok_or(FAILED)?, info.pixel_type().ok_or(FAILED)?))
}

/// The pair that the driver chose for what is bound for reads.
fn chosen(gl: &Gl, format: Format) -> (u32, u32) {
    if matches!(format.class(), FormatClass::Depth | FormatClass::Stencil | FormatClass::DepthStencil) {
        return (0, 0);
    }
    let number = |name| u32::try_from(gl!(gl, get_parameter_i32(name))).unwrap_or(0);
    (number(glow::IMPLEMENTATION_COLOR_READ_FORMAT), number(glow::IMPLEMENTATION_COLOR_READ_TYPE))
}

/// Attachment point of an image of a format, for reads as a pair.
const fn point(format: Format) -> u32 {
    match format.class() {
        FormatClass::Depth => glow::DEPTH_ATTACHMENT,
        FormatClass::Stencil => glow::STENCIL_ATTACHMENT,
        FormatClass::DepthStencil => glow::DEPTH_STENCIL_ATTACHMENT,
        _ => glow::COLOR_ATTACHMENT0,
    }
}

/// Rows of a read that an answer is of, and how it is read.
fn answer(shape: &Shape, info: &ReadbackInfo, plan: &Plan) -> Outcome<(Room, Finish)> {
    let pixel = plan.convert.as_ref().map_or(plan.pixel, |convert| convert.size) as u64;
    let row = shape.columns.checked_mul(pixel).filter(|row| *row > 0).ok_or(FAILED)?;
    let end = info.dst_offset.checked_add(info.dst_size).ok_or(FAILED)?;
    let (first, last) = (info.dst_offset / row, end.div_ceil(row));
    if last > shape.all_rows() || last <= first {
        return Err(UNSUPPORTED);
    }
    let step = shape.columns * plan.pixel as u64;
    // A region of the framebuffer can be larger than any answer.
    let slice = step.saturating_mul(shape.rows);
    let room = Room { base: 0, row: step, slice, first, last };
    let number = |bytes: u64| usize::try_from(bytes).map_err(|_| FAILED);
    let skip = number(info.dst_offset - first * row)?;
    Ok((room, Finish { convert: plan.convert, skip, size: number(info.dst_size)? }))
}

impl Native {
    /// Starts to read pixels of the read framebuffer into the pack buffer that is bound.
    pub(super) fn read_pixels<S: Storage>(
        &mut self,
        gl: &Gl,
        scope: &mut Scope<'_, Gles, S>,
        info: &ReadbackInfo,
    ) -> Outcome<Begun> {
        let pair = pair(info)?;
        let format = self.sync_source(gl, scope, pair)?;
        let source = Source { read: format, meant: format, chosen: chosen(gl, format) };
        let plan = pixels::plan(gl, &source, pair).ok_or(UNSUPPORTED)?;
        let shape = Shape::of(&info.region, format, pair);
        let (room, finish) = answer(&shape, info, &plan)?;
        let bytes = make_room(gl, (room.last - room.first) * room.row)?;
        rows(gl, &plan, &shape, &room, 0, (info.region.x, info.region.y))?;
        Ok((bytes, finish))
    }

    /// Makes the framebuffer of reads that of the context; the format of what a read of the pair sees.
    fn sync_source<S: Storage>(
        &mut self,
        gl: &Gl,
        scope: &mut Scope<'_, Gles, S>,
        pair: Pair,
    ) -> Outcome<Format> {
        self.framebuffers.sync_read(gl, (self.home, &mut self.units), scope)?;
        let depth = match pair.0 {
            PixelFormat::DepthComponent | PixelFormat::DepthStencil => Some(true),
            PixelFormat::StencilIndex => Some(false),
            _ => None,
        };
        let fbo = scope.bind.state.read_framebuffer;
        let Some(object) = scope.objects.framebuffers.get(fbo) else {
            // Of a surface: colour is eight bits, and depth and stencil lie together.
            return Ok(if depth.is_some() { Format::Depth24Stencil8 } else { Format::Rgba8 });
        };
        let surface = match depth {
            None => &object.record.read_surface,
            Some(true) => &object.record.depth,
            Some(false) => &object.record.stencil,
        };
        let desc = framebuffers::image(scope.objects, surface);
        desc.and_then(|desc| desc.internal_format()).ok_or(UNSUPPORTED)
    }

    /// Starts to read an image of a texture into the pack buffer that is bound.
    pub(super) fn read_texture<S: Storage>(
        &mut self,
        gl: &Gl,
        scope: &mut Scope<'_, Gles, S>,
        info: &ReadbackInfo,
    ) -> Outcome<Begun> {
        let pair = pair(info)?;
        let mut reader = Reader::new(self, gl, scope, info)?;
        let shape = Shape::of(&reader.region, reader.meant, pair);
        let mut begun = None;
        let read = reader.each_slice(self, gl, scope, |gl, source, slice| {
            let plan = pixels::plan(gl, source, pair).ok_or(UNSUPPORTED)?;
            let (room, finish) = answer(&shape, info, &plan)?;
            if begun.is_none() {
                begun = Some((make_room(gl, (room.last - room.first) * room.row)?, finish));
            }
            rows(gl, &plan, &shape, &room, slice.index, slice.at)
        });
        reader.end(gl, self);
        read?;
        begun.ok_or(FAILED)
    }

    /// Reads pixels or an image of a texture into a buffer, where the driver reads them as they are asked for: nothing
    /// is made of them on the way, since nobody waits for them.
    pub(crate) fn read_to_buffer<S: Storage>(
        &mut self,
        gl: &Gl,
        scope: &mut Scope<'_, Gles, S>,
        read: &ReadbackToBuffer,
    ) -> Outcome {
        let (info, home) = (&read.src, self.home);
        if read.swap_group != 0 {
            return Err(UNSUPPORTED);
        }
        let pair = pair(info)?;
        self.bound.settle(gl, home, &mut scope.objects.buffers)?;
        let buffer = buffers::resolve(gl, home, &mut scope.objects.buffers, read.dst)?.ok_or(FAILED)?;
        let of_texture = !info.resource.is_null();
        gl.clear_errors();
        let into = |gl: &Gl, source: &Source, shape: &Shape, slice: u64, at: (i32, i32)| {
            let plan = pixels::plan(gl, source, pair).filter(|plan| plan.convert.is_none());
            let plan = plan.ok_or(UNSUPPORTED)?;
            let tight = shape.columns * plan.pixel as u64;
            // The record's size is what its strides were checked with.
            if tight.checked_mul(shape.all_rows()) != Some(info.dst_size) {
                return Err(UNSUPPORTED);
            }
            let row = if read.row_stride == 0 { tight } else { read.row_stride };
            let image = if read.image_stride == 0 { row * shape.rows } else { read.image_stride };
            let last = shape.all_rows();
            let room = Room { base: read.dst_base, row, slice: image, first: 0, last };
            gl!(gl, bind_buffer(glow::PIXEL_PACK_BUFFER, Some(buffer)));
            let written = rows(gl, &plan, shape, &room, slice, at);
            gl!(gl, bind_buffer(glow::PIXEL_PACK_BUFFER, None));
            written
        };
        if of_texture {
            let mut reader = Reader::new(self, gl, scope, info)?;
            let shape = Shape::of(&reader.region, reader.meant, pair);
            let done = reader.each_slice(self, gl, scope, |gl, source, slice| {
                into(gl, source, &shape, slice.index, slice.at)
            });
            reader.end(gl, self);
            done?;
        } else {
            let format = self.sync_source(gl, scope, pair)?;
            let source = Source { read: format, meant: format, chosen: chosen(gl, format) };
            let shape = Shape::of(&info.region, format, pair);
            into(gl, &source, &shape, 0, (info.region.x, info.region.y))?;
        }
        gl.outcome()
    }
}

/// A slice of a read: which one, and where its pixels begin in what is bound for reads.
#[derive(Clone, Copy, Debug)]
struct Slice {
    index: u64,
    at: (i32, i32),
}

/// Images of a texture, one after the other.
#[derive(Debug)]
struct Reader {
    texture: Handle,
    desc: ResourceDesc,
    level: u16,
    /// What is read; a face is a slice.
    region: TexelBox,
    meant: Format,
    /// Where bits are copied to, and its format.
    copy: Option<(glow::NativeTexture, Format)>,
}

impl Reader {
    fn new<S: Storage>(
        native: &mut Native,
        gl: &Gl,
        scope: &mut Scope<'_, Gles, S>,
        info: &ReadbackInfo,
    ) -> Outcome<Self> {
        let object = scope.objects.textures.get(info.resource).ok_or(FAILED)?;
        let desc = object.record.desc;
        let target = desc.target().and_then(textures::target).ok_or(UNSUPPORTED)?;
        if textures::is_multisample(target) || target == glow::TEXTURE_BUFFER {
            return Err(UNSUPPORTED);
        }
        let mut region = info.region;
        region.z += textures::face(info.upload_target().ok_or(FAILED)?);
        let meant = desc.internal_format().ok_or(FAILED)?;
        let mut reader = Self { texture: info.resource, desc, level: info.level, region, meant, copy: None };
        // Signed pixels of a framebuffer lose what is below 0 (OpenGL 4.6 section 18.2.7), and those of a texture do not.
        let drawn = formats::features(gl, meant).contains(FormatFeatures::RENDERABLE);
        // Mesa attaches no level of a two-dimensional array of height 1 but the first, unless its storage stays.
        let flat =
            desc.target() == Some(ResourceTarget::Texture1DArray) && info.level > 0 && !object.twin.sealed;
        if !drawn || meant.class() == FormatClass::Snorm || flat {
            let format =
                pixels::bits(meant).filter(|_| gl.extended.copy_image.is_some()).ok_or(UNSUPPORTED)?;
            let spelling = formats::spelling(format).filter(|_| is_copied(meant)).ok_or(UNSUPPORTED)?;
            let block = meant.block();
            let width = textures::texels(region.width.div_ceil(u32::from(block.width)));
            let height = textures::texels(region.height.div_ceil(u32::from(block.height)));
            let name = gl!(gl, create_texture()).map_err(|_| FAILED)?;
            reader.copy = Some((name, format));
            native.units.work(gl, glow::TEXTURE_2D, name)?;
            gl!(gl, tex_storage_2d(glow::TEXTURE_2D, 1, spelling.internal, width, height));
        }
        Ok(reader)
    }

    /// Binds each slice for reads.
    fn each_slice<S: Storage>(
        &mut self,
        native: &mut Native,
        gl: &Gl,
        scope: &mut Scope<'_, Gles, S>,
        mut read: impl FnMut(&Gl, &Source, &Slice) -> Outcome,
    ) -> Outcome {
        let (region, meant) = (self.region, self.meant);
        for slice in 0..region.depth {
            let z = u32::try_from(region.z).map_err(|_| FAILED)? + slice;
            let (source, at) = match self.copy {
                None => {
                    let surface = framebuffers::surface(&self.desc, self.texture, self.level, z);
                    let point = point(meant);
                    let (state, target) = ((native.home, &mut native.units), glow::READ_FRAMEBUFFER);
                    native.framebuffers.bind_image(gl, state, scope.objects, target, &surface, point)?;
                    let source = Source { read: meant, meant, chosen: chosen(gl, meant) };
                    (source, (region.x, region.y))
                }
                Some((copy, format)) => {
                    let (name, target) = native.copy_end(gl, scope, self.texture, self.desc.target())?;
                    let size = [region.width, region.height].map(textures::texels);
                    let (level, z) = (i32::from(self.level), z as i32);
                    let (to, flat) = (copy.0.get(), glow::TEXTURE_2D);
                    let [width, height] = size;
                    needed!(
                        gl,
                        copy_image(
                            name, target, level, region.x, region.y, z, to, flat, 0, 0, 0, 0, width, height,
                            1
                        )
                    )?;
                    gl.outcome()?;
                    native.framebuffers.bind_texture(gl, glow::READ_FRAMEBUFFER, copy)?;
                    (Source { read: format, meant, chosen: chosen(gl, format) }, (0, 0))
                }
            };
            read(gl, &source, &Slice { index: u64::from(slice), at })?;
        }
        Ok(())
    }

    /// Lets go of what was bound.
    fn end(&self, gl: &Gl, native: &mut Native) {
        native.framebuffers.let_go(gl);
        if let Some((name, _)) = self.copy {
            native.units.forget(name);
            gl!(gl, delete_texture(name));
        }
    }
}

/// Whether the driver copies bits of a format: of those that it knows by their size.
fn is_copied(format: Format) -> bool {
    formats::spelling(format).is_some_and(|spelling| spelling.is_sized())
}

/// Has the driver write the rows of one slice into the pack buffer that is bound.
fn rows(gl: &Gl, plan: &Plan, shape: &Shape, room: &Room, slice: u64, at: (i32, i32)) -> Outcome {
    let of_slice = slice * shape.rows..(slice + 1) * shape.rows;
    let (first, last) = (room.first.max(of_slice.start), room.last.min(of_slice.end));
    if first >= last {
        return Ok(());
    }
    let pixel = plan.pixel as u64;
    let width = i32::try_from(shape.columns).map_err(|_| FAILED)?;
    let (components, kind) = plan.names;
    let read = |row: u64, count: u64| {
        let offset = u32::try_from(room.at(row, shape.rows)).map_err(|_| UNSUPPORTED)?;
        let into = glow::PixelPackData::BufferOffset(offset);
        let y = at.1 + (row - of_slice.start) as i32;
        gl!(gl, read_pixels(at.0, y, width, count as i32, components, kind, into));
        Ok(())
    };
    if room.row == shape.columns * pixel {
        return read(first, last - first);
    }
    if room.row.is_multiple_of(pixel)
        && let Ok(length) = i32::try_from(room.row / pixel)
    {
        gl!(gl, pixel_store_i32(glow::PACK_ROW_LENGTH, length));
        let done = read(first, last - first);
        gl!(gl, pixel_store_i32(glow::PACK_ROW_LENGTH, 0));
        return done;
    }
    (first..last).try_for_each(|row| read(row, 1))
}
