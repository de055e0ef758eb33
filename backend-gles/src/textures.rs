//! Textures and renderbuffers: storage, contents, parameters, units.

use runahead_core::{
    backend::{BackendError, Outcome, Scope},
    objects::Records,
    storage::Storage,
};
use runahead_wire::{
    Bulk, Handle,
    format::Format,
    payload::{MipPlan, ResourceDesc, SubData, SubRegion, TextureParams},
    values::{DepthStencilMode, FormatFeatures, RefusedReason, ResourceTarget, Swizzle, UploadTarget},
};

use glow::HasContext;

use crate::{
    Gles,
    formats::{self, Spelling},
    gl::{FAILED, Gl, Named, UNSUPPORTED, address, gl, raw},
    images, samplers,
};

/// Twin of a texture.
#[derive(Debug, Default)]
pub struct Texture {
    pub(crate) named: Named<glow::NativeTexture>,
    /// Parameters as the driver has them.
    parameters: Parameters,
    /// Serial of the record's parameters that these are, and the levels that they were cut to.
    seen: Option<(u64, u16)>,
}

/// Parameters of a texture, as the driver has them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Parameters {
    base_level: u16,
    max_level: u16,
    swizzle: [u8; 4],
    stencil: bool,
}

impl Default for Parameters {
    /// Those of a new texture (OpenGL ES 3.2 table 21.10).
    fn default() -> Self {
        Self { base_level: 0, max_level: 1000, swizzle: [0, 1, 2, 3], stencil: false }
    }
}

/// Twin of a renderbuffer.
#[derive(Debug, Default)]
pub struct Renderbuffer {
    pub(crate) named: Named<glow::NativeRenderbuffer>,
}

/// Records of textures.
pub(crate) type Textures<S> = Records<runahead_core::objects::Texture, Texture, S>;
/// Records of renderbuffers.
pub(crate) type Renderbuffers<S> = Records<runahead_core::objects::Renderbuffer, Renderbuffer, S>;

/// What one texture unit sees.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Unit {
    /// Target and texture that are bound; 0 for none yet.
    target: u32,
    texture: Option<glow::NativeTexture>,
    sampler: Option<glow::NativeSampler>,
}

/// The texture units of a native context.
#[derive(Debug)]
pub(crate) struct Units {
    units: Vec<Unit>,
    active: u32,
    /// Serials of views, samplers and program, with that of the program's units.
    seen: Option<(u64, u64, Handle, u64)>,
}

/// The driver's target of a texture; nothing for those that this backend does not have yet.
pub(crate) const fn target(target: ResourceTarget) -> Option<u32> {
    match target {
        ResourceTarget::Texture2D => Some(glow::TEXTURE_2D),
        ResourceTarget::CubeMap => Some(glow::TEXTURE_CUBE_MAP),
        ResourceTarget::Texture3D => Some(glow::TEXTURE_3D),
        ResourceTarget::Texture2DArray => Some(glow::TEXTURE_2D_ARRAY),
        _ => None,
    }
}

/// The driver's target of one image.
pub(crate) const fn image(of: u32, upload: UploadTarget) -> u32 {
    match upload {
        UploadTarget::Whole => of,
        face => glow::TEXTURE_CUBE_MAP_POSITIVE_X + face as u32 - 1,
    }
}

const FACES: [UploadTarget; 6] = [
    UploadTarget::CubePositiveX,
    UploadTarget::CubeNegativeX,
    UploadTarget::CubePositiveY,
    UploadTarget::CubeNegativeY,
    UploadTarget::CubePositiveZ,
    UploadTarget::CubeNegativeZ,
];

/// What a description asks the driver for.
fn spelled(gl: &Gl, desc: &ResourceDesc) -> Outcome<(Format, Spelling)> {
    let format = desc.internal_format().ok_or(FAILED)?;
    let spelling = formats::spelling(format).ok_or(UNSUPPORTED)?;
    if formats::features(gl, format).is_empty() {
        return Err(UNSUPPORTED);
    }
    Ok((format, spelling))
}

/// A size in texels, as the driver takes it.
fn texels(size: u32) -> i32 {
    i32::try_from(size).unwrap_or(i32::MAX)
}

impl Units {
    pub(crate) fn new(units: usize) -> Self {
        Self { units: vec![Unit::default(); units], active: 0, seen: None }
    }

    fn activate(&mut self, gl: &Gl, unit: u32) {
        if self.active != unit {
            gl!(gl, active_texture(glow::TEXTURE0 + unit));
            self.active = unit;
        }
    }

    /// Binds a texture to a unit for draws, or for work on it.
    fn bind(&mut self, gl: &Gl, unit: u32, target: u32, texture: Option<glow::NativeTexture>) -> Outcome {
        let at = self.units.get(unit as usize).copied().ok_or(UNSUPPORTED)?;
        if at.target == target && at.texture == texture {
            return Ok(());
        }
        self.activate(gl, unit);
        if at.target != target && at.target != 0 && at.texture.is_some() {
            // A program that reads the other target finds nothing there.
            gl!(gl, bind_texture(at.target, None));
        }
        gl!(gl, bind_texture(target, texture));
        if let Some(place) = self.units.get_mut(unit as usize) {
            *place = Unit { target, texture, ..at };
        }
        Ok(())
    }

    /// Binds a texture for work on it: to the active unit, which the next draw looks at again.
    pub(crate) fn work(&mut self, gl: &Gl, target: u32, texture: glow::NativeTexture) -> Outcome {
        let unit = self.active;
        let at = self.units.get(unit as usize).copied().unwrap_or_default();
        if at.target != target || at.texture != Some(texture) {
            self.seen = None;
        }
        self.bind(gl, unit, target, Some(texture))
    }

    fn sampler(&mut self, gl: &Gl, unit: u32, sampler: Option<glow::NativeSampler>) {
        if let Some(place) = self.units.get_mut(unit as usize)
            && place.sampler != sampler
        {
            gl!(gl, bind_sampler(unit, sampler));
            place.sampler = sampler;
        }
    }

    /// Forgets a name that the driver may give again. The driver has unbound it.
    pub(crate) fn forget(&mut self, texture: glow::NativeTexture) {
        for unit in &mut self.units {
            if unit.texture == Some(texture) {
                unit.texture = None;
            }
        }
        self.seen = None;
    }

    /// As [`Units::forget`].
    pub(crate) fn forget_sampler(&mut self, sampler: glow::NativeSampler) {
        for unit in &mut self.units {
            if unit.sampler == Some(sampler) {
                unit.sampler = None;
            }
        }
        self.seen = None;
    }

    /// Makes what the units of a program see that of the context. `units` are the program's, with the target that
    /// it reads there; `serial` moves when they do.
    #[inline]
    pub(crate) fn sync<S: Storage>(
        &mut self,
        gl: &Gl,
        home: u32,
        scope: &mut Scope<'_, Gles, S>,
        program: Handle,
        serial: u64,
        units: &[(u32, u32)],
    ) -> Outcome {
        let serials = &scope.bind.serials;
        let seen = Some((serials.sampler_views, serials.sampler_states, program, serial));
        if self.seen == seen {
            // Parameters and storage of what is bound may have moved without a rebind.
            let settled = units.iter().all(|(unit, _)| {
                let texture = scope.bind.state.sampler_views.get(*unit).texture;
                scope
                    .objects
                    .textures
                    .get(texture)
                    .is_none_or(|object| object.twin.is_settled(&object.record))
            });
            if settled {
                return Ok(());
            }
        }
        for (unit, target) in units {
            self.sync_unit(gl, home, scope, *unit, *target)?;
        }
        self.seen = seen;
        Ok(())
    }

    fn sync_unit<S: Storage>(
        &mut self,
        gl: &Gl,
        home: u32,
        scope: &mut Scope<'_, Gles, S>,
        unit: u32,
        wanted: u32,
    ) -> Outcome {
        let bound = scope.bind.state.sampler_views.get(unit);
        let sampler = scope.bind.state.sampler_states.get(unit);
        if !bound.view.is_null() {
            return Err(UNSUPPORTED);
        }
        let objects = &mut *scope.objects;
        let Some(object) = objects.textures.get_mut(bound.texture) else {
            // Nothing is bound there: black, as an incomplete texture is.
            return self.bind(gl, unit, wanted, None);
        };
        let desc = &object.record.desc;
        let target = desc.target().and_then(target).ok_or(UNSUPPORTED)?;
        if target != wanted {
            return self.bind(gl, unit, wanted, None);
        }
        let builtin = object.record.params.builtin_sampler;
        let name = object.twin.name(gl, home)?;
        self.bind(gl, unit, target, Some(name))?;
        if !object.twin.is_settled(&object.record) {
            self.activate(gl, unit);
            object.twin.settle(gl, target, &object.record);
        }
        let sampler = if sampler.is_null() { builtin } else { sampler };
        let sampler = samplers::resolve(gl, home, &mut objects.samplers, sampler)?;
        self.sampler(gl, unit, sampler);
        Ok(())
    }
}

impl Texture {
    /// The driver's name of it, made at first use.
    pub(crate) fn name(&mut self, gl: &Gl, home: u32) -> Outcome<glow::NativeTexture> {
        if let Some(name) = self.named.name {
            return Ok(name);
        }
        let name = gl!(gl, create_texture()).map_err(|_| FAILED)?;
        self.named = Named { name: Some(name), home };
        Ok(name)
    }

    /// Whether the driver has the parameters of the record.
    fn is_settled(&self, record: &runahead_core::objects::Texture) -> bool {
        self.seen == Some((record.params_serial, record.desc.levels))
    }

    /// Sets the parameters that moved. The texture is bound to the active unit.
    fn settle(&mut self, gl: &Gl, target: u32, record: &runahead_core::objects::Texture) {
        let last = record.desc.levels.max(1) - 1;
        let params: &TextureParams = &record.params;
        // No parameters were set yet: those of a new texture.
        let wanted = if params.builtin_sampler.is_null() {
            Parameters { max_level: last, ..Parameters::default() }
        } else {
            Parameters {
                base_level: params.base_level.min(last),
                max_level: params.max_level.min(last),
                swizzle: params.swizzle,
                stencil: params.depth_stencil_mode() == Some(DepthStencilMode::Stencil),
            }
        };
        self.set(gl, target, wanted);
        self.seen = Some((record.params_serial, record.desc.levels));
    }

    fn set(&mut self, gl: &Gl, target: u32, wanted: Parameters) {
        let integer =
            |parameter: u32, value: u32| gl!(gl, tex_parameter_i32(target, parameter, value as i32));
        let old = std::mem::replace(&mut self.parameters, wanted);
        if old.base_level != wanted.base_level {
            integer(glow::TEXTURE_BASE_LEVEL, u32::from(wanted.base_level));
        }
        if old.max_level != wanted.max_level {
            integer(glow::TEXTURE_MAX_LEVEL, u32::from(wanted.max_level));
        }
        for (at, (old, new)) in (0..).zip(old.swizzle.iter().zip(wanted.swizzle)) {
            if *old != new {
                integer(glow::TEXTURE_SWIZZLE_R + at, swizzle(Swizzle::from_raw(u32::from(new))));
            }
        }
        if old.stencil != wanted.stencil && gl.version >= 31 {
            let half = if wanted.stencil { glow::STENCIL_INDEX } else { glow::DEPTH_COMPONENT };
            integer(glow::DEPTH_STENCIL_TEXTURE_MODE, half);
        }
    }
}

const fn swizzle(swizzle: Option<Swizzle>) -> u32 {
    match swizzle {
        Some(Swizzle::Red) | None => glow::RED,
        Some(Swizzle::Green) => glow::GREEN,
        Some(Swizzle::Blue) => glow::BLUE,
        Some(Swizzle::Alpha) => glow::ALPHA,
        Some(Swizzle::Zero) => glow::ZERO,
        Some(Swizzle::One) => glow::ONE,
    }
}

/// Defines the storage of a texture: every level, or the one that the description names.
pub(crate) fn define<S: Storage>(
    gl: &Gl,
    home: u32,
    units: &mut Units,
    textures: &mut Textures<S>,
    texture: Handle,
) -> Outcome {
    let Some(object) = textures.get_mut(texture) else { return Err(FAILED) };
    let desc = object.record.desc;
    if !desc.view_of.is_null() || desc.samples > 1 {
        return Err(UNSUPPORTED);
    }
    let target = desc.target().and_then(target).ok_or(UNSUPPORTED)?;
    if desc.internal_format() == Some(Format::Undefined) {
        // No storage yet: the texture is incomplete, as its images are empty.
        let name = object.twin.name(gl, home)?;
        return units.work(gl, target, name);
    }
    let (format, spelling) = spelled(gl, &desc)?;
    if !formats::features(gl, format).contains(FormatFeatures::SAMPLED) {
        return Err(UNSUPPORTED);
    }
    let name = object.twin.name(gl, home)?;
    units.work(gl, target, name)?;
    gl.clear_errors();
    if desc.immutable != 0 && images::format(format).is_some() {
        // Only such a storage can be an image of shaders.
        define_for_good(gl, target, &desc, spelling.internal);
        return gl.outcome();
    }
    let one = (desc.has_respecified_level != 0).then_some(desc.respecified_level);
    for level in 0..desc.levels.max(1) {
        if one.is_some_and(|one| one != level) {
            continue;
        }
        let face =
            desc.respecified_upload_target().filter(|face| *face != UploadTarget::Whole && one.is_some());
        define_level(gl, target, &desc, (format, spelling), level, face)?;
    }
    gl.outcome()
}

/// Defines a storage that stays as it is.
fn define_for_good(gl: &Gl, target: u32, desc: &ResourceDesc, internal: u32) {
    let (levels, width, height) = (i32::from(desc.levels.max(1)), texels(desc.width), texels(desc.height));
    let depth = match target {
        glow::TEXTURE_3D => texels(desc.depth),
        _ => i32::from(desc.array_layers),
    };
    if matches!(target, glow::TEXTURE_3D | glow::TEXTURE_2D_ARRAY) {
        gl!(gl, tex_storage_3d(target, levels, internal, width, height, depth));
    } else {
        gl!(gl, tex_storage_2d(target, levels, internal, width, height));
    }
}

fn define_level(
    gl: &Gl,
    target: u32,
    desc: &ResourceDesc,
    (format, spelling): (Format, Spelling),
    level: u16,
    face: Option<UploadTarget>,
) -> Outcome {
    let half = |size: u32| (size >> level).max(size.min(1));
    let (width, height) = (half(desc.width), half(desc.height));
    let depth = match desc.target() {
        Some(ResourceTarget::Texture3D) => half(desc.depth),
        Some(ResourceTarget::Texture2DArray) => u32::from(desc.array_layers),
        _ => 1,
    };
    let bytes = format.level_bytes(width, height, depth).and_then(|bytes| i32::try_from(bytes).ok());
    let too_large = BackendError::Refused(RefusedReason::TooLarge);
    let (width, height, depth, level) = (texels(width), texels(height), texels(depth), i32::from(level));
    let Spelling { internal, format: components, kind, .. } = spelling;
    let compressed = format.is_compressed();
    if matches!(target, glow::TEXTURE_3D | glow::TEXTURE_2D_ARRAY) {
        if compressed {
            let zeros = zeros(bytes.ok_or(too_large)?)?;
            let (size, at) = (zeros.len() as i32, zeros.as_ptr().cast());
            raw!(gl, compressed_tex_image_3d(target, level, internal, width, height, depth, 0, size, at));
        } else {
            let none = glow::PixelUnpackData::Slice(None);
            gl!(
                gl,
                tex_image_3d(target, level, internal as i32, width, height, depth, 0, components, kind, none)
            );
        }
        return Ok(());
    }
    let one = [face.unwrap_or(UploadTarget::Whole)];
    let images: &[UploadTarget] =
        if target == glow::TEXTURE_CUBE_MAP && face.is_none() { &FACES } else { &one };
    for face in images {
        let image = image(target, *face);
        if compressed {
            let zeros = zeros(bytes.ok_or(too_large)?)?;
            let (size, at) = (zeros.len() as i32, zeros.as_ptr().cast());
            raw!(gl, compressed_tex_image_2d(image, level, internal, width, height, 0, size, at));
        } else {
            let none = glow::PixelUnpackData::Slice(None);
            gl!(gl, tex_image_2d(image, level, internal as i32, width, height, 0, components, kind, none));
        }
    }
    Ok(())
}

/// Bytes of a compressed level without contents: OpenGL ES lets none of them be defined without any.
fn zeros(bytes: i32) -> Outcome<Vec<u8>> {
    let mut zeros = Vec::new();
    let count = usize::try_from(bytes).map_err(|_| FAILED)?;
    zeros.try_reserve_exact(count).map_err(|_| BackendError::Refused(RefusedReason::OutOfMemory))?;
    zeros.resize(count, 0);
    Ok(zeros)
}

/// How the driver was told that rows lie in memory.
#[derive(Debug, Default)]
pub(crate) struct Unpack {
    row_length: i32,
    image_height: i32,
    /// Alignment is 1 from the first upload on.
    aligned: bool,
}

impl Unpack {
    fn set(&mut self, gl: &Gl, row_length: i32, image_height: i32) {
        if !self.aligned {
            gl!(gl, pixel_store_i32(glow::UNPACK_ALIGNMENT, 1));
            self.aligned = true;
        }
        if self.row_length != row_length {
            gl!(gl, pixel_store_i32(glow::UNPACK_ROW_LENGTH, row_length));
            self.row_length = row_length;
        }
        if self.image_height != image_height {
            gl!(gl, pixel_store_i32(glow::UNPACK_IMAGE_HEIGHT, image_height));
            self.image_height = image_height;
        }
    }
}

/// Writes regions of an image.
pub(crate) fn upload<S: Storage>(
    gl: &Gl,
    home: u32,
    (units, unpack): (&mut Units, &mut Unpack),
    textures: &mut Textures<S>,
    data: &SubData,
    regions: &[SubRegion],
    bytes: &Bulk<'_>,
) -> Outcome {
    let from = address(bytes)?;
    let Some(object) = textures.get_mut(data.resource) else { return Err(FAILED) };
    let desc = object.record.desc;
    let target = desc.target().and_then(target).ok_or(UNSUPPORTED)?;
    let format = desc.internal_format().ok_or(FAILED)?;
    let spelling = formats::spelling(format).ok_or(UNSUPPORTED)?;
    let name = object.twin.name(gl, home)?;
    units.work(gl, target, name)?;
    let upload = data.upload_target().ok_or(FAILED)?;
    for region in regions {
        let block = format.block();
        let row = u64::from(region.width.div_ceil(u32::from(block.width))) * u64::from(block.bytes);
        let rows = u64::from(region.height.div_ceil(u32::from(block.height)));
        let row_stride = if region.src_row_stride == 0 { row } else { u64::from(region.src_row_stride) };
        let slice_stride =
            if region.src_slice_stride == 0 { row_stride * rows } else { u64::from(region.src_slice_stride) };
        let start = from.wrapping_byte_add(region.src_offset as usize);
        let pixel = u64::from(block.bytes);
        let regular = !format.is_compressed()
            && row_stride.is_multiple_of(pixel)
            && slice_stride.is_multiple_of(row_stride)
            && row_stride / pixel <= i32::MAX as u64
            && slice_stride / row_stride.max(1) <= i32::MAX as u64;
        let layered = matches!(target, glow::TEXTURE_3D | glow::TEXTURE_2D_ARRAY);
        let faces = target == glow::TEXTURE_CUBE_MAP && upload == UploadTarget::Whole;
        if regular && !faces {
            let tight = row_stride == row && (region.depth <= 1 || slice_stride == row * rows);
            let lengths = match tight {
                true => (0, 0),
                false => ((row_stride / pixel) as i32, (slice_stride / row_stride.max(1)) as i32),
            };
            unpack.set(gl, lengths.0, if layered { lengths.1 } else { 0 });
            let all = Part {
                x: region.x,
                y: region.y,
                z: region.z,
                width: region.width,
                height: region.height,
                depth: region.depth,
                bytes: 0,
            };
            write(gl, image(target, upload), layered, data.level, spelling, &all, start);
            continue;
        }
        // Row by row, or slice by slice where rows have no gaps.
        unpack.set(gl, 0, 0);
        for slice in 0..region.depth {
            let z = region.z + slice as i32;
            let image = match faces {
                true => glow::TEXTURE_CUBE_MAP_POSITIVE_X + z as u32,
                false => image(target, upload),
            };
            let at = start.wrapping_byte_add((u64::from(slice) * slice_stride) as usize);
            let (step, count) = if row_stride == row { (rows, 1) } else { (1, rows) };
            for part in 0..count {
                let above = (part * step) as u32 * u32::from(block.height);
                let height = ((step as u32) * u32::from(block.height)).min(region.height - above);
                let part_of_it = Part {
                    x: region.x,
                    y: region.y + above as i32,
                    z,
                    width: region.width,
                    height,
                    depth: 1,
                    bytes: i32::try_from(row * step).map_err(|_| FAILED)?,
                };
                let at = at.wrapping_byte_add((part * row_stride) as usize);
                write(gl, image, layered, data.level, spelling, &part_of_it, at);
            }
        }
    }
    Ok(())
}

/// A part of an image whose rows lie as the driver was told.
struct Part {
    x: i32,
    y: i32,
    z: i32,
    width: u32,
    height: u32,
    depth: u32,
    /// Bytes of it, where it is compressed.
    bytes: i32,
}

fn write(
    gl: &Gl,
    image: u32,
    layered: bool,
    level: u16,
    spelling: Spelling,
    part: &Part,
    from: *const std::ffi::c_void,
) {
    let Spelling { internal, format, kind, .. } = spelling;
    let (level, width, height, depth) =
        (i32::from(level), texels(part.width), texels(part.height), texels(part.depth));
    let Part { x, y, z, bytes, .. } = *part;
    match (format == 0, layered) {
        (false, false) => raw!(gl, tex_sub_image_2d(image, level, x, y, width, height, format, kind, from)),
        (false, true) => {
            raw!(gl, tex_sub_image_3d(image, level, x, y, z, width, height, depth, format, kind, from));
        }
        (true, false) => {
            raw!(gl, compressed_tex_sub_image_2d(image, level, x, y, width, height, internal, bytes, from));
        }
        (true, true) => {
            raw!(
                gl,
                compressed_tex_sub_image_3d(
                    image, level, x, y, z, width, height, depth, internal, bytes, from
                )
            );
        }
    }
}

/// Generates mipmaps.
pub(crate) fn generate<S: Storage>(
    gl: &Gl,
    home: u32,
    units: &mut Units,
    textures: &mut Textures<S>,
    plan: &MipPlan,
) -> Outcome {
    let Some(object) = textures.get_mut(plan.resource) else { return Err(FAILED) };
    let target = object.record.desc.target().and_then(target).ok_or(UNSUPPORTED)?;
    let name = object.twin.name(gl, home)?;
    units.work(gl, target, name)?;
    let wanted = Parameters {
        base_level: plan.base_level,
        max_level: plan.base_level.saturating_add(plan.level_count),
        ..object.twin.parameters
    };
    object.twin.set(gl, target, wanted);
    object.twin.seen = None;
    gl.clear_errors();
    gl!(gl, generate_mipmap(target));
    gl.outcome()
}

impl Renderbuffer {
    /// The driver's name of it, made at first use.
    pub(crate) fn name(&mut self, gl: &Gl, home: u32) -> Outcome<glow::NativeRenderbuffer> {
        if let Some(name) = self.named.name {
            return Ok(name);
        }
        let name = gl!(gl, create_renderbuffer()).map_err(|_| FAILED)?;
        self.named = Named { name: Some(name), home };
        Ok(name)
    }
}

/// Defines the storage of a renderbuffer.
pub(crate) fn define_renderbuffer<S: Storage>(
    gl: &Gl,
    home: u32,
    renderbuffers: &mut Renderbuffers<S>,
    renderbuffer: Handle,
) -> Outcome {
    let Some(object) = renderbuffers.get_mut(renderbuffer) else { return Err(FAILED) };
    let desc = object.record.desc;
    let name = object.twin.name(gl, home)?;
    gl!(gl, bind_renderbuffer(glow::RENDERBUFFER, Some(name)));
    if desc.internal_format() == Some(Format::Undefined) {
        return Ok(());
    }
    let (format, spelling) = spelled(gl, &desc)?;
    if spelling.renderbuffer == 0 || !formats::features(gl, format).contains(FormatFeatures::RENDERABLE) {
        return Err(UNSUPPORTED);
    }
    let (width, height) = (texels(desc.width), texels(desc.height));
    gl.clear_errors();
    if desc.samples > 1 {
        let samples = i32::from(desc.samples);
        gl!(
            gl,
            renderbuffer_storage_multisample(
                glow::RENDERBUFFER,
                samples,
                spelling.renderbuffer,
                width,
                height
            )
        );
    } else {
        gl!(gl, renderbuffer_storage(glow::RENDERBUFFER, spelling.renderbuffer, width, height));
    }
    gl.outcome()
}
