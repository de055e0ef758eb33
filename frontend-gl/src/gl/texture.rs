//! Texture objects: images, parameters, completeness.
//!
//! Source: OpenGL ES 2.0.25 section 3.7, `OES_texture_npot`, `EXT_texture_filter_anisotropic`.
//!
//! # Images and storage
//! A texture of OpenGL ES 2.0 is a set of images that need not fit each other until it is sampled. A resource on the
//! wire is a chain of levels that halve. The chain follows level 0, or the first level that is defined before it; an
//! image of another level that does not fit is kept here until the chain fits it.

use runahead_core::{Session, Shared, Turn, slots::Band, storage::Storage, upload};
use runahead_wire::{
    Handle,
    format::Format,
    payload::{MipPlan, ResourceDesc, SamplerParameters, SubData, SubRegion, TextureParams},
    pipe::Pipe,
    values::{
        BindMask, CompareOp, Filter, MipFilter, ResourceTarget, StorageKind, Swizzle, UploadTarget, Wrap,
    },
};

use super::{
    client_memory::Source,
    context::{Dead, Objects, Own, State},
    enums,
    error::{Error, Outcome},
    limits::{LEVELS, Limits},
    pixels::{self, Rows},
    table::Id,
};

/// What a texture is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Target {
    Texture2D,
    CubeMap,
}

impl Target {
    pub(crate) const COUNT: usize = 2;
    pub(crate) const ALL: [Self; Self::COUNT] = [Self::Texture2D, Self::CubeMap];

    /// The target of a number, as `glBindTexture` takes it.
    pub(crate) const fn of(target: u32) -> Outcome<Self> {
        match target {
            enums::TEXTURE_2D => Ok(Self::Texture2D),
            enums::TEXTURE_CUBE_MAP => Ok(Self::CubeMap),
            _ => Err(Error::InvalidEnum),
        }
    }

    /// Target and face of a number, as `glTexImage2D` takes it.
    pub(crate) const fn of_image(target: u32) -> Outcome<(Self, usize)> {
        match target {
            enums::TEXTURE_2D => Ok((Self::Texture2D, 0)),
            enums::TEXTURE_CUBE_MAP_POSITIVE_X..=enums::TEXTURE_CUBE_MAP_NEGATIVE_Z => {
                Ok((Self::CubeMap, (target - enums::TEXTURE_CUBE_MAP_POSITIVE_X) as usize))
            }
            _ => Err(Error::InvalidEnum),
        }
    }

    pub(crate) const fn faces(self) -> usize {
        match self {
            Self::Texture2D => 1,
            Self::CubeMap => 6,
        }
    }

    pub(crate) const fn resource(self) -> ResourceTarget {
        match self {
            Self::Texture2D => ResourceTarget::Texture2D,
            Self::CubeMap => ResourceTarget::CubeMap,
        }
    }

    /// What an image of it is called in an upload.
    pub(crate) const fn upload(self, face: usize) -> UploadTarget {
        match (self, face) {
            (Self::Texture2D, _) => UploadTarget::Whole,
            (Self::CubeMap, 0) => UploadTarget::CubePositiveX,
            (Self::CubeMap, 1) => UploadTarget::CubeNegativeX,
            (Self::CubeMap, 2) => UploadTarget::CubePositiveY,
            (Self::CubeMap, 3) => UploadTarget::CubeNegativeY,
            (Self::CubeMap, 4) => UploadTarget::CubePositiveZ,
            (Self::CubeMap, _) => UploadTarget::CubeNegativeZ,
        }
    }

    const fn largest(self, limits: &Limits) -> u32 {
        match self {
            Self::Texture2D => limits.texture_size,
            Self::CubeMap => limits.cube_size,
        }
    }
}

/// One image of a texture.
#[derive(Clone, Debug)]
pub(crate) struct Image {
    pub(crate) width: u32,
    pub(crate) height: u32,
    /// `RGBA` and so on, as the application asked for it.
    pub(crate) base: u32,
    pub(crate) format: Format,
    /// Its texels, where it does not fit the chain.
    kept: Option<Vec<u8>>,
}

/// The storage that the server has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Chain {
    format: Format,
    width: u32,
    height: u32,
    levels: u16,
}

impl Chain {
    /// Texels of a level.
    fn level(&self, level: usize) -> (u32, u32) {
        let half = |size: u32| (size >> level).max(1);
        (half(self.width), half(self.height))
    }

    fn fits(&self, level: usize, image: &Image) -> bool {
        self.format == image.format && self.level(level) == (image.width, image.height)
    }

    const fn full(width: u32, height: u32) -> u16 {
        let largest = if width > height { width } else { height };
        match largest.checked_ilog2() {
            Some(log) => log as u16 + 1,
            None => 1,
        }
    }
}

/// Parameters of a texture (table 6.8).
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Parameters {
    min_filter: u32,
    mag_filter: u32,
    wrap_s: u32,
    wrap_t: u32,
    anisotropy: f32,
}

impl Default for Parameters {
    fn default() -> Self {
        Self {
            min_filter: enums::NEAREST_MIPMAP_LINEAR,
            mag_filter: enums::LINEAR,
            wrap_s: enums::REPEAT,
            wrap_t: enums::REPEAT,
            anisotropy: 1.0,
        }
    }
}

/// A texture object.
#[derive(Debug)]
pub(crate) struct Texture {
    pub(crate) target: Target,
    /// Null until it has an image.
    pub(crate) handle: Handle,
    chain: Option<Chain>,
    /// By face, then level.
    images: Vec<Option<Image>>,
    /// What the server has of each image, in the same order.
    stored: Vec<Option<(u32, u32, Format)>>,
    parameters: Parameters,
    /// Null until the parameters were told.
    sampler: Handle,
    /// Whether the server has other parameters.
    untold: bool,
}

impl Texture {
    pub(crate) fn new(target: Target) -> Self {
        Self {
            target,
            handle: Handle::NULL,
            chain: None,
            images: vec![None; target.faces() * LEVELS],
            stored: vec![None; target.faces() * LEVELS],
            parameters: Parameters::default(),
            sampler: Handle::NULL,
            untold: true,
        }
    }

    /// An image.
    pub(crate) fn image(&self, face: usize, level: usize) -> Option<&Image> {
        self.images.get(face * LEVELS + level)?.as_ref()
    }

    fn image_mut(&mut self, face: usize, level: usize) -> Option<&mut Image> {
        self.images.get_mut(face * LEVELS + level)?.as_mut()
    }

    /// Whether all faces have the same level 0, and it is square (section 3.8.2, "cube complete").
    fn is_cube_complete(&self) -> bool {
        let Some(first) = self.image(0, 0) else { return false };
        let same = |face: usize| self.image(face, 0).is_some_and(|image| alike(image, first));
        first.width == first.height && first.width != 0 && (1..self.target.faces()).all(same)
    }

    /// Whether it can be sampled (section 3.8.2); otherwise it is black.
    pub(crate) fn is_complete(&self, npot: bool) -> bool {
        let Some(first) = self.image(0, 0).filter(|first| first.width != 0 && first.height != 0) else {
            return false;
        };
        if self.target == Target::CubeMap && !self.is_cube_complete() {
            return false;
        }
        let Parameters { min_filter, wrap_s, wrap_t, .. } = self.parameters;
        let mipmapped = !matches!(min_filter, enums::NEAREST | enums::LINEAR);
        let power_of_two = first.width.is_power_of_two() && first.height.is_power_of_two();
        let clamped = wrap_s == enums::CLAMP_TO_EDGE && wrap_t == enums::CLAMP_TO_EDGE;
        if !npot && !power_of_two && (mipmapped || !clamped) {
            return false;
        }
        !mipmapped || self.is_mipmap_complete(first)
    }

    fn is_mipmap_complete(&self, first: &Image) -> bool {
        let chain = Chain { format: first.format, width: first.width, height: first.height, levels: 0 };
        let levels = usize::from(Chain::full(first.width, first.height));
        (0..self.target.faces()).all(|face| {
            (1..levels).all(|level| {
                self.image(face, level)
                    .is_some_and(|image| chain.fits(level, image) && image.base == first.base)
            })
        })
    }

    fn desc(&self, resource: Handle, chain: Chain, one: Option<(usize, usize)>) -> ResourceDesc {
        let purposes = BindMask::SAMPLER.with(BindMask::RENDER_TARGET);
        let (face, level) = one.unwrap_or_default();
        ResourceDesc {
            resource,
            target: self.target.resource().raw8(),
            storage_kind: StorageKind::Mipmap.raw8(),
            bind_mask: purposes.raw16(),
            internal_format: chain.format.raw(),
            width: chain.width,
            height: chain.height,
            depth: 1,
            array_layers: self.target.faces() as u16,
            levels: chain.levels,
            has_respecified_level: u8::from(one.is_some()),
            respecified_upload_target: self.target.upload(face).raw16(),
            respecified_level: level as u16,
            ..ResourceDesc::default()
        }
    }

    /// Its parameters, with those of sampling in a sampler.
    fn params(&self, builtin_sampler: Handle) -> TextureParams {
        TextureParams {
            resource: self.handle,
            builtin_sampler,
            max_level: 1000,
            swizzle: [Swizzle::Red, Swizzle::Green, Swizzle::Blue, Swizzle::Alpha].map(Swizzle::raw8),
            min_lod: -1000.0,
            max_lod: 1000.0,
            ..TextureParams::default()
        }
    }

    /// How the server has it, if it has; parameters of zeros before the first set.
    pub(crate) fn described(&self) -> Option<(ResourceDesc, TextureParams)> {
        let desc = self.desc(self.handle, self.chain?, None);
        let told = !self.sampler.is_null();
        Some((desc, if told { self.params(self.sampler) } else { TextureParams::default() }))
    }

    /// The parameters in a sampler, if it is this texture's.
    pub(crate) fn sampler_of(&self, sampler: Handle) -> Option<SamplerParameters> {
        (self.sampler == sampler && !sampler.is_null()).then(|| self.parameters.sampler())
    }

    /// Makes the server's storage this chain, and what it has of one image a part of that. Other images stay as they
    /// are.
    fn store<P: Pipe, S: Storage>(
        &mut self,
        turn: &mut Turn<'_, P, S>,
        chain: Chain,
        face: usize,
        level: usize,
    ) -> Outcome
    where
        Error: From<P::Error>,
    {
        let has = |level: usize| {
            let (width, height) = chain.level(level);
            Some((width, height, chain.format))
        };
        let at = face * LEVELS + level;
        if self.chain == Some(chain) && self.stored.get(at).copied() == Some(has(level)) {
            return Ok(());
        }
        let Turn { pipe, slots } = turn;
        if self.handle.is_null() {
            let handle = slots.mint_with(Band::Texture, 0, |handle| {
                pipe.resource_create(&self.desc(handle, chain, None))
            })?;
            self.handle = handle;
            for (at, stored) in self.stored.iter_mut().enumerate() {
                *stored = if at % LEVELS < usize::from(chain.levels) { has(at % LEVELS) } else { None };
            }
        } else {
            pipe.resource_respecify(&self.desc(self.handle, chain, Some((face, level))))?;
            if let Some(stored) = self.stored.get_mut(at) {
                *stored = has(level);
            }
        }
        self.chain = Some(chain);
        Ok(())
    }

    /// The chain that an image of this level and content gives; none where the image has to wait for another one.
    fn chain_with(&self, limits: &Limits, level: usize, image: &Image) -> Option<Chain> {
        let fitting = |chain: Chain| {
            let fits = |(at, one): (usize, &Option<Image>)| {
                one.as_ref().is_some_and(|one| chain.fits(at % LEVELS, one)).then_some(at % LEVELS)
            };
            let highest = self.images.iter().enumerate().filter_map(fits).max().unwrap_or(0).max(level);
            Chain { levels: highest as u16 + 1, ..chain }
        };
        let Image { width, height, format, .. } = *image;
        if level == 0 {
            return Some(fitting(Chain { format, width, height, levels: 1 }));
        }
        let first_level = (0..self.target.faces())
            .any(|face| self.image(face, 0).is_some_and(|image| image.width != 0 && image.height != 0));
        if let Some(chain) = self.chain.filter(|_| first_level) {
            return chain.fits(level, image).then(|| fitting(chain));
        }
        if let Some(chain) = self.chain.filter(|chain| chain.fits(level, image)) {
            return Some(fitting(chain));
        }
        let whole = |size: u32| {
            let whole = size.checked_shl(level as u32).filter(|whole| whole >> level == size)?;
            (whole <= self.target.largest(limits)).then_some(whole)
        };
        Some(fitting(Chain { format, width: whole(width)?, height: whole(height)?, levels: 1 }))
    }

    /// Defines an image. Texels lie as `rows` say; without any, the contents are undefined.
    fn define<P: Session, S: Storage>(
        &mut self,
        limits: &Limits,
        turn: &mut Turn<'_, P, S>,
        (face, level): (usize, usize),
        mut image: Image,
        texels: Option<(&[u8], u64)>,
    ) -> Outcome {
        let empty = image.width == 0 || image.height == 0;
        let chain = if empty { None } else { self.chain_with(limits, level, &image) };
        if chain.is_none() && !empty {
            let size = image.format.level_bytes(image.width, image.height, 1).ok_or(Error::OutOfMemory)?;
            let size = usize::try_from(size).map_err(|_| Error::OutOfMemory)?;
            let mut kept = Vec::new();
            kept.try_reserve_exact(size).map_err(|_| Error::OutOfMemory)?;
            kept.resize(size, 0);
            image.kept = Some(kept);
        }
        let place = self.images.get_mut(face * LEVELS + level).ok_or(Error::InvalidValue)?;
        let (width, height) = (image.width, image.height);
        *place = Some(image);
        if let Some(chain) = chain {
            self.store(turn, chain, face, level)?;
        }
        if let Some((bytes, stride)) = texels.filter(|_| !empty) {
            self.write(turn, (face, level), (0, 0, width, height), bytes, stride)?;
        }
        if chain.is_some() { self.settle_kept(limits, turn) } else { Ok(()) }
    }

    /// Uploads what was kept and fits now.
    fn settle_kept<P: Session, S: Storage>(&mut self, limits: &Limits, turn: &mut Turn<'_, P, S>) -> Outcome {
        for at in 0..self.images.len() {
            let (face, level) = (at / LEVELS, at % LEVELS);
            let Some(image) = self.image(face, level).filter(|image| image.kept.is_some()) else { continue };
            let Some(chain) = self.chain_with(limits, level, image) else { continue };
            let (width, height, format) = (image.width, image.height, image.format);
            self.store(turn, chain, face, level)?;
            let kept = self.image_mut(face, level).and_then(|image| image.kept.take()).unwrap_or_default();
            let columns = width.div_ceil(u32::from(format.block().width));
            let stride = u64::from(columns) * u64::from(format.block().bytes);
            self.write(turn, (face, level), (0, 0, width, height), &kept, stride)?;
        }
        Ok(())
    }

    /// Writes texels into a part of an image: x, y, width and height, rows of `stride` bytes.
    fn write<P: Session, S: Storage>(
        &mut self,
        turn: &mut Turn<'_, P, S>,
        (face, level): (usize, usize),
        (x, y, width, height): (u32, u32, u32, u32),
        bytes: &[u8],
        stride: u64,
    ) -> Outcome {
        let (target, resource) = (self.target, self.handle);
        let image = self.image_mut(face, level).ok_or(Error::InvalidOperation)?;
        let format = image.format;
        let block = format.block();
        if let Some(kept) = &mut image.kept {
            let size = u64::from(block.bytes);
            let columns = |texels: u32| u64::from(texels.div_ceil(u32::from(block.width)));
            let (row, whole) = (columns(width) * size, columns(image.width) * size);
            let first = u64::from(y / u32::from(block.height));
            for at in 0..u64::from(height.div_ceil(u32::from(block.height))) {
                let from = bytes.get((at * stride) as usize..(at * stride + row) as usize);
                let start = ((first + at) * whole + u64::from(x / u32::from(block.width)) * size) as usize;
                if let (Some(from), Some(to)) = (from, kept.get_mut(start..start + row as usize)) {
                    to.copy_from_slice(from);
                }
            }
            return Ok(());
        }
        let data = SubData {
            resource,
            target: target.resource().raw8(),
            upload_target: target.upload(face).raw8(),
            level: level as u16,
            level_width: image.width,
            level_height: image.height,
            level_depth: 1,
            ..SubData::default()
        };
        let region = SubRegion {
            x: x as i32,
            y: y as i32,
            width,
            height,
            depth: 1,
            src_row_stride: u32::try_from(stride).map_err(|_| Error::OutOfMemory)?,
            ..SubRegion::default()
        };
        let piece = turn.pipe.max_piece();
        Ok(upload::texture(turn.pipe, &data, &[region], format, bytes, piece)?)
    }

    /// Tells the server of parameters that have changed.
    pub(crate) fn tell_parameters<P: Pipe, S: Storage, const N: usize>(
        &mut self,
        samplers: &mut runahead_core::tracker::SamplerCache<N>,
        turn: &mut Turn<'_, P, S>,
    ) -> Outcome
    where
        Error: From<P::Error>,
    {
        if !self.untold || self.handle.is_null() {
            return Ok(());
        }
        let Turn { pipe, slots } = turn;
        let sampler = samplers.acquire(&self.parameters.sampler(), *pipe, slots)?;
        pipe.set_texture_params(&self.params(sampler))?;
        let old = std::mem::replace(&mut self.sampler, sampler);
        self.untold = false;
        if !old.is_null() {
            samplers.release(old, *pipe, slots)?;
        }
        Ok(())
    }
}

/// Whether two images are of the same size and format.
fn alike(one: &Image, other: &Image) -> bool {
    (one.width, one.height, one.format, one.base) == (other.width, other.height, other.format, other.base)
}

const fn wrap(wrap: u32) -> Option<Wrap> {
    match wrap {
        enums::REPEAT => Some(Wrap::Repeat),
        enums::MIRRORED_REPEAT => Some(Wrap::MirroredRepeat),
        enums::CLAMP_TO_EDGE => Some(Wrap::ClampToEdge),
        _ => None,
    }
}

const fn min_filter(filter: u32) -> Option<(Filter, MipFilter)> {
    match filter {
        enums::NEAREST => Some((Filter::Nearest, MipFilter::None)),
        enums::LINEAR => Some((Filter::Linear, MipFilter::None)),
        enums::NEAREST_MIPMAP_NEAREST => Some((Filter::Nearest, MipFilter::Nearest)),
        enums::LINEAR_MIPMAP_NEAREST => Some((Filter::Linear, MipFilter::Nearest)),
        enums::NEAREST_MIPMAP_LINEAR => Some((Filter::Nearest, MipFilter::Linear)),
        enums::LINEAR_MIPMAP_LINEAR => Some((Filter::Linear, MipFilter::Linear)),
        _ => None,
    }
}

const fn mag_filter(filter: u32) -> Option<Filter> {
    match filter {
        enums::NEAREST => Some(Filter::Nearest),
        enums::LINEAR => Some(Filter::Linear),
        _ => None,
    }
}

impl Parameters {
    /// The sampler of these parameters.
    fn sampler(&self) -> SamplerParameters {
        let wrap = |number| wrap(number).unwrap_or(Wrap::Repeat).raw();
        let (min, mip) = min_filter(self.min_filter).unwrap_or((Filter::Nearest, MipFilter::Linear));
        SamplerParameters {
            wrap_s: wrap(self.wrap_s),
            wrap_t: wrap(self.wrap_t),
            wrap_r: Wrap::Repeat.raw(),
            min_filter: min.raw(),
            mag_filter: mag_filter(self.mag_filter).unwrap_or(Filter::Linear).raw(),
            mip_filter: mip.raw(),
            min_lod: -1000.0,
            max_lod: 1000.0,
            max_anisotropy: self.anisotropy,
            compare_func: CompareOp::LessEqual.raw(),
            ..SamplerParameters::default()
        }
    }
}

/// A value of a parameter, as an application gives it.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Value {
    Integer(i32),
    Float(f32),
}

impl Value {
    /// As a number of the specification's; a float is rounded (section 2.3).
    pub(crate) const fn number(self) -> u32 {
        match self {
            Self::Integer(value) => value as u32,
            Self::Float(value) => value.round() as i32 as u32,
        }
    }

    pub(crate) const fn float(self) -> f32 {
        match self {
            Self::Integer(value) => value as f32,
            Self::Float(value) => value,
        }
    }
}

/// A size that an application gives.
pub(crate) fn size(value: i32) -> Outcome<u32> {
    u32::try_from(value).map_err(|_| Error::InvalidValue)
}

impl State {
    /// The texture of the active unit.
    pub(crate) fn bound_texture(&self, target: Target) -> Outcome<Id> {
        let unit = self.units.get(self.active_unit).ok_or(Error::InvalidOperation)?;
        unit.bound.get(target as usize).copied().flatten().ok_or(Error::InvalidOperation)
    }

    pub(crate) fn texture_ended(&mut self, ended: Option<Texture>) {
        if let Some(texture) = ended {
            self.dead.push(Dead::Texture(texture.handle, texture.sampler));
        }
    }

    /// A unit has this texture bound from now on.
    pub(crate) fn set_texture(
        &mut self,
        objects: &mut Objects,
        unit: usize,
        target: Target,
        texture: Option<Id>,
    ) {
        // The default textures are held once, by the context.
        let counts = |id: &Id, own: &Self| own.default_textures.get(target as usize) != Some(&Some(*id));
        if let Some(id) = texture.filter(|id| counts(id, self)) {
            objects.textures.retain(id);
        }
        let place = self.units.get_mut(unit).and_then(|unit| unit.bound.get_mut(target as usize));
        let old = place.and_then(|place| std::mem::replace(place, texture));
        if let Some(id) = old.filter(|id| counts(id, self)) {
            let ended = objects.textures.release(id);
            self.texture_ended(ended);
        }
        self.stale.textures = true;
    }

    /// `glActiveTexture`.
    pub(crate) fn active_texture(&mut self, unit: u32) -> Outcome {
        let unit = unit.checked_sub(enums::TEXTURE0).filter(|unit| *unit < self.limits.units);
        self.active_unit = unit.ok_or(Error::InvalidEnum)? as usize;
        Ok(())
    }

    /// `glBindTexture`.
    pub(crate) fn bind_texture(&mut self, objects: &mut Objects, target: u32, name: u32) -> Outcome {
        let target = Target::of(target)?;
        let id = match name {
            0 => self.default_textures.get(target as usize).copied().flatten(),
            name => objects.textures.find_or_insert(name, || Texture::new(target)),
        };
        let id = id.ok_or(Error::OutOfMemory)?;
        if objects.textures.get(id).is_none_or(|texture| texture.target != target) {
            return Err(Error::InvalidOperation);
        }
        if self.bound_texture(target) != Ok(id) {
            self.touched_units = self.touched_units.max(self.active_unit + 1);
            self.set_texture(objects, self.active_unit, target, Some(id));
        }
        Ok(())
    }

    /// `glDeleteTextures`, for one name.
    pub(crate) fn delete_texture(&mut self, objects: &mut Objects, name: u32) {
        if let Some(id) = objects.textures.find(name) {
            for unit in 0..self.touched_units {
                for target in Target::ALL {
                    let bound =
                        self.units.get(unit).and_then(|unit| unit.bound.get(target as usize)).copied();
                    if bound.flatten() == Some(id) {
                        let default = self.default_textures.get(target as usize).copied().flatten();
                        self.set_texture(objects, unit, target, default);
                    }
                }
            }
            self.detach_texture(objects, id);
        }
        let ended = objects.textures.delete(name);
        self.texture_ended(ended);
    }

    /// `glTexParameter*`.
    pub(crate) fn texture_parameter(
        &mut self,
        objects: &mut Objects,
        target: u32,
        name: u32,
        value: Value,
    ) -> Outcome {
        let id = self.bound_texture(Target::of(target)?)?;
        let anisotropic = self.limits.has("GL_EXT_texture_filter_anisotropic");
        let most = self.limits.caps.max_texture_max_anisotropy;
        let texture = objects.textures.get_mut(id).ok_or(Error::InvalidOperation)?;
        let mut new = texture.parameters;
        let number = value.number();
        let valid = match name {
            enums::TEXTURE_MIN_FILTER => {
                new.min_filter = number;
                min_filter(number).is_some()
            }
            enums::TEXTURE_MAG_FILTER => {
                new.mag_filter = number;
                mag_filter(number).is_some()
            }
            enums::TEXTURE_WRAP_S => {
                new.wrap_s = number;
                wrap(number).is_some()
            }
            enums::TEXTURE_WRAP_T => {
                new.wrap_t = number;
                wrap(number).is_some()
            }
            enums::TEXTURE_MAX_ANISOTROPY_EXT if anisotropic => {
                let wanted = value.float();
                if wanted.is_nan() || wanted < 1.0 {
                    return Err(Error::InvalidValue);
                }
                new.anisotropy = wanted.min(most);
                true
            }
            _ => false,
        };
        if !valid {
            return Err(Error::InvalidEnum);
        }
        if new != texture.parameters {
            texture.parameters = new;
            texture.untold = true;
            objects.textures_moved += 1;
        }
        Ok(())
    }

    /// `glGetTexParameter*`.
    pub(crate) fn texture_parameter_value(
        &self,
        objects: &Objects,
        target: u32,
        name: u32,
    ) -> Outcome<Value> {
        let id = self.bound_texture(Target::of(target)?)?;
        let texture = objects.textures.get(id).ok_or(Error::InvalidOperation)?;
        let Parameters { min_filter, mag_filter, wrap_s, wrap_t, anisotropy } = texture.parameters;
        Ok(Value::Integer(match name {
            enums::TEXTURE_MIN_FILTER => min_filter,
            enums::TEXTURE_MAG_FILTER => mag_filter,
            enums::TEXTURE_WRAP_S => wrap_s,
            enums::TEXTURE_WRAP_T => wrap_t,
            enums::TEXTURE_MAX_ANISOTROPY_EXT if self.limits.has("GL_EXT_texture_filter_anisotropic") => {
                return Ok(Value::Float(anisotropy));
            }
            _ => return Err(Error::InvalidEnum),
        } as i32))
    }

    /// Checks what every command that names an image checks: its target and level.
    pub(crate) fn image_place(&self, target: u32, level: i32) -> Outcome<(Target, usize, usize)> {
        let (target, face) = Target::of_image(target)?;
        let largest = target.largest(&self.limits);
        let levels = usize::from(Chain::full(largest, largest)).min(LEVELS);
        let level = usize::try_from(level).ok().filter(|level| *level < levels).ok_or(Error::InvalidValue)?;
        Ok((target, face, level))
    }

    /// Checks the size of an image that is to be defined.
    fn image_size(
        &self,
        target: Target,
        level: usize,
        width: i32,
        height: i32,
        border: i32,
    ) -> Outcome<(u32, u32)> {
        let (width, height) = (size(width)?, size(height)?);
        let largest = target.largest(&self.limits) >> level;
        let odd = |size: u32| size != 0 && !size.is_power_of_two();
        if border != 0
            || width > largest
            || height > largest
            || (target == Target::CubeMap && width != height)
            || (!self.limits.npot && level > 0 && (odd(width) || odd(height)))
        {
            return Err(Error::InvalidValue);
        }
        Ok((width, height))
    }
}

/// A part of an image, as commands give it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Part {
    pub(crate) x: i32,
    pub(crate) y: i32,
    pub(crate) width: i32,
    pub(crate) height: i32,
}

impl Part {
    /// The part within an image.
    fn within(self, image: &Image) -> Outcome<(u32, u32, u32, u32)> {
        let (x, y) = (size(self.x)?, size(self.y)?);
        let (width, height) = (size(self.width)?, size(self.height)?);
        let inside = |at: u32, size: u32, of: u32| at.checked_add(size).is_some_and(|end| end <= of);
        if inside(x, width, image.width) && inside(y, height, image.height) {
            Ok((x, y, width, height))
        } else {
            Err(Error::InvalidValue)
        }
    }
}

impl<P: Shared> Own<P> {
    /// `glTexImage2D`.
    #[allow(clippy::too_many_arguments, reason = "they are the command's")]
    pub(crate) fn tex_image(
        &mut self,
        objects: &mut Objects,
        target: u32,
        level: i32,
        internal: i32,
        (width, height): (i32, i32),
        border: i32,
        format: u32,
        kind: u32,
        pixels: Source<'_>,
    ) -> Outcome {
        let (target, face, level) = self.image_place(target, level)?;
        let texel = pixels::texel(&self.limits, format, kind);
        if texel == Err(Error::InvalidEnum) {
            return Err(Error::InvalidEnum);
        }
        if !pixels::is_color(&self.limits, internal as u32) {
            return Err(Error::InvalidValue);
        }
        let (width, height) = self.image_size(target, level, width, height, border)?;
        if internal as u32 != format {
            return Err(Error::InvalidOperation);
        }
        let texel = texel?;
        let rows = Rows::new(width, height, u32::from(texel.block().bytes), self.pixels.unpack_alignment);
        let bytes = match pixels.is_null() {
            true => None,
            false => Some(pixels.bytes(rows.all).ok_or(Error::OutOfMemory)?),
        };
        let image = Image { width, height, base: format, format: texel, kept: None };
        self.define_image(objects, target, (face, level), image, bytes.map(|bytes| (bytes, rows.stride)))
    }

    fn define_image(
        &mut self,
        objects: &mut Objects,
        target: Target,
        place: (usize, usize),
        image: Image,
        texels: Option<(&[u8], u64)>,
    ) -> Outcome {
        let id = self.bound_texture(target)?;
        let texture = objects.textures.get_mut(id).ok_or(Error::InvalidOperation)?;
        objects.textures_moved += 1;
        objects.images_moved += 1;
        self.turn(|state, turn| texture.define(&state.limits, turn, place, image, texels))
    }

    /// `glTexSubImage2D`.
    #[allow(clippy::too_many_arguments, reason = "they are the command's")]
    pub(crate) fn tex_sub_image(
        &mut self,
        objects: &mut Objects,
        target: u32,
        level: i32,
        part: Part,
        format: u32,
        kind: u32,
        pixels: Source<'_>,
    ) -> Outcome {
        let (target, face, level) = self.image_place(target, level)?;
        let texel = pixels::texel(&self.limits, format, kind);
        if texel == Err(Error::InvalidEnum) {
            return Err(Error::InvalidEnum);
        }
        let id = self.bound_texture(target)?;
        let texture = objects.textures.get_mut(id).ok_or(Error::InvalidOperation)?;
        let image = texture.image(face, level).ok_or(Error::InvalidOperation)?;
        let (x, y, width, height) = part.within(image)?;
        let texel = texel?;
        if image.base != format || image.format.is_compressed() {
            return Err(Error::InvalidOperation);
        }
        let rows = Rows::new(width, height, u32::from(texel.block().bytes), self.pixels.unpack_alignment);
        if rows.all == 0 || pixels.is_null() {
            return Ok(());
        }
        let bytes = pixels.bytes(rows.all).ok_or(Error::OutOfMemory)?;
        let mut converted = Vec::new();
        let (bytes, stride) = if texel == image.format {
            (bytes, rows.stride)
        } else {
            // Section 3.7.2 lets the types differ: texels are what the image has.
            converted
                .try_reserve_exact(width as usize * height as usize * 4)
                .map_err(|_| Error::OutOfMemory)?;
            pixels::convert(bytes, rows, (texel, image.format), (width, height), &mut converted);
            (converted.as_slice(), u64::from(width) * u64::from(image.format.block().bytes))
        };
        self.turn(|_, turn| texture.write(turn, (face, level), (x, y, width, height), bytes, stride))
    }

    /// `glCompressedTexImage2D`.
    #[allow(clippy::too_many_arguments, reason = "they are the command's")]
    pub(crate) fn compressed_tex_image(
        &mut self,
        objects: &mut Objects,
        target: u32,
        level: i32,
        internal: u32,
        (width, height): (i32, i32),
        border: i32,
        image_size: i32,
        data: Source<'_>,
    ) -> Outcome {
        let (target, face, level) = self.image_place(target, level)?;
        let format = self.limits.compressed().find(|(number, _)| *number == internal);
        let (_, format) = format.ok_or(Error::InvalidEnum)?;
        let (width, height) = self.image_size(target, level, width, height, border)?;
        let bytes = format.level_bytes(width, height, 1).ok_or(Error::InvalidValue)?;
        if i64::from(image_size) != bytes as i64 {
            return Err(Error::InvalidValue);
        }
        let texels = match data.is_null() {
            true => None,
            false => Some(data.bytes(bytes).ok_or(Error::OutOfMemory)?),
        };
        let stride =
            u64::from(width.div_ceil(u32::from(format.block().width))) * u64::from(format.block().bytes);
        let image = Image { width, height, base: internal, format, kept: None };
        self.define_image(objects, target, (face, level), image, texels.map(|texels| (texels, stride)))
    }

    /// `glCompressedTexSubImage2D`.
    #[allow(clippy::too_many_arguments, reason = "they are the command's")]
    pub(crate) fn compressed_tex_sub_image(
        &mut self,
        objects: &mut Objects,
        target: u32,
        level: i32,
        part: Part,
        format: u32,
        image_size: i32,
        data: Source<'_>,
    ) -> Outcome {
        let (target, face, level) = self.image_place(target, level)?;
        if !self.limits.compressed().any(|(number, _)| number == format) {
            return Err(Error::InvalidEnum);
        }
        // Blocks of ETC1 are replaced together or not at all (`OES_compressed_ETC1_RGB8_texture`).
        if format == enums::ETC1_RGB8_OES {
            return Err(Error::InvalidOperation);
        }
        let id = self.bound_texture(target)?;
        let texture = objects.textures.get_mut(id).ok_or(Error::InvalidOperation)?;
        let image = texture.image(face, level).ok_or(Error::InvalidOperation)?;
        if image.base != format {
            return Err(Error::InvalidOperation);
        }
        let (x, y, width, height) = part.within(image)?;
        let block = image.format.block();
        let whole = |at: u32, size: u32, of: u32, block: u8| {
            at.is_multiple_of(u32::from(block)) && (size.is_multiple_of(u32::from(block)) || at + size == of)
        };
        let blocks =
            whole(x, width, image.width, block.width) && whole(y, height, image.height, block.height);
        let bytes = image.format.level_bytes(width, height, 1).ok_or(Error::InvalidValue)?;
        if i64::from(image_size) != bytes as i64 {
            return Err(Error::InvalidValue);
        }
        if !blocks {
            return Err(Error::InvalidOperation);
        }
        if bytes == 0 || data.is_null() {
            return Ok(());
        }
        let texels = data.bytes(bytes).ok_or(Error::OutOfMemory)?;
        let stride = u64::from(width.div_ceil(u32::from(block.width))) * u64::from(block.bytes);
        self.turn(|_, turn| texture.write(turn, (face, level), (x, y, width, height), texels, stride))
    }

    /// `glGenerateMipmap` (section 3.7.11).
    pub(crate) fn generate_mipmap(&mut self, objects: &mut Objects, target: u32) -> Outcome {
        let id = self.bound_texture(Target::of(target)?)?;
        let npot = self.limits.npot;
        let texture = objects.textures.get_mut(id).ok_or(Error::InvalidOperation)?;
        if texture.target == Target::CubeMap && !texture.is_cube_complete() {
            return Err(Error::InvalidOperation);
        }
        let first = texture.image(0, 0).filter(|image| image.width != 0 && image.height != 0);
        let first = first.ok_or(Error::InvalidOperation)?.clone();
        let odd = !first.width.is_power_of_two() || !first.height.is_power_of_two();
        if first.format.is_compressed() || (odd && !npot) {
            return Err(Error::InvalidOperation);
        }
        let levels = Chain::full(first.width, first.height);
        let chain = Chain { format: first.format, width: first.width, height: first.height, levels };
        for face in 0..texture.target.faces() {
            for level in 1..usize::from(levels) {
                let (width, height) = chain.level(level);
                if let Some(place) = texture.images.get_mut(face * LEVELS + level) {
                    *place = Some(Image { width, height, kept: None, ..first.clone() });
                }
            }
        }
        objects.textures_moved += 1;
        objects.images_moved += 1;
        self.turn(|_, turn| {
            if levels > 1 {
                texture.store(turn, chain, 0, 1)?;
                let plan = MipPlan {
                    resource: texture.handle,
                    target: texture.target.resource().raw16(),
                    level_count: levels - 1,
                    ..MipPlan::default()
                };
                turn.pipe.generate_mipmap(&plan)?;
                for (at, stored) in texture.stored.iter_mut().enumerate() {
                    let level = at % LEVELS;
                    if (1..usize::from(levels)).contains(&level) {
                        let (width, height) = chain.level(level);
                        *stored = Some((width, height, chain.format));
                    }
                }
            }
            Ok(())
        })
    }
}

impl<P: Shared> Own<P> {
    /// `glCopyTexImage2D`: defines an image and fills it from the framebuffer.
    #[allow(clippy::too_many_arguments, reason = "they are the command's")]
    pub(crate) fn copy_tex_image(
        &mut self,
        objects: &mut Objects,
        target: u32,
        level: i32,
        internal: u32,
        part: Part,
        border: i32,
    ) -> Outcome {
        let (target, face, level) = self.image_place(target, level)?;
        if !pixels::is_color(&self.limits, internal) || internal == enums::BGRA_EXT {
            return Err(Error::InvalidEnum);
        }
        let (width, height) = self.image_size(target, level, part.width, part.height, border)?;
        let read = self.readable(objects)?;
        if !pixels::has_components(read.format, internal) {
            return Err(Error::InvalidOperation);
        }
        let texel = match internal {
            enums::ALPHA => Format::Alpha8,
            enums::LUMINANCE => Format::Luminance8,
            enums::LUMINANCE_ALPHA => Format::Luminance8Alpha8,
            enums::RGB => Format::Rgb8,
            _ => Format::Rgba8,
        };
        let image = Image { width, height, base: internal, format: texel, kept: None };
        self.define_image(objects, target, (face, level), image, None)?;
        self.copy_into(objects, target, (face, level), (0, 0), part)
    }

    /// `glCopyTexSubImage2D`.
    pub(crate) fn copy_tex_sub_image(
        &mut self,
        objects: &mut Objects,
        target: u32,
        level: i32,
        (x, y): (i32, i32),
        part: Part,
    ) -> Outcome {
        let (target, face, level) = self.image_place(target, level)?;
        let id = self.bound_texture(target)?;
        let texture = objects.textures.get(id).ok_or(Error::InvalidOperation)?;
        let image = texture.image(face, level).ok_or(Error::InvalidOperation)?;
        let at = Part { x, y, ..part };
        let (to_x, to_y, ..) = at.within(image)?;
        if image.format.is_compressed() {
            return Err(Error::InvalidOperation);
        }
        let base = image.base;
        let read = self.readable(objects)?;
        if !pixels::has_components(read.format, base) {
            return Err(Error::InvalidOperation);
        }
        self.copy_into(objects, target, (face, level), (to_x, to_y), part)
    }

    /// Fills a part of an image from the framebuffer. What lies outside of the framebuffer stays as it is: its values
    /// are undefined (section 3.7.2).
    fn copy_into(
        &mut self,
        objects: &mut Objects,
        target: Target,
        (face, level): (usize, usize),
        (to_x, to_y): (u32, u32),
        part: Part,
    ) -> Outcome {
        let read = self.readable(objects)?;
        let Some(clipped) = read.clip(part) else { return Ok(()) };
        let id = self.bound_texture(target)?;
        let texture = objects.textures.get(id).ok_or(Error::InvalidOperation)?;
        let image = texture.image(face, level).ok_or(Error::InvalidOperation)?;
        if image.kept.is_some() {
            return self.copy_kept(objects, id, (face, level), (to_x, to_y), (part, clipped));
        }
        let copy = runahead_wire::payload::CopyFromFramebuffer {
            dst: texture.handle,
            target: target.resource().raw16(),
            upload_target: target.upload(face).raw16(),
            level: level as u32,
            internal_format: image.format.raw(),
            x: clipped.x,
            y: clipped.y,
            width: clipped.width as u32,
            height: clipped.height as u32,
            x_offset: to_x as i32 + (clipped.x - part.x),
            y_offset: to_y as i32 + (clipped.y - part.y),
            sub_image: 1,
            z_offset: match target {
                Target::Texture2D => 0,
                Target::CubeMap => face as u16,
            },
            ..Default::default()
        };
        self.verb(objects, runahead_core::tracker::Verb::CopyFramebuffer, |_, turn| {
            Ok(turn.pipe.copy_framebuffer_to_texture(&copy)?)
        })
    }

    /// As [`Own::copy_into`], for an image that the server does not have: its texels are read.
    #[cold]
    fn copy_kept(
        &mut self,
        objects: &mut Objects,
        id: Id,
        (face, level): (usize, usize),
        (to_x, to_y): (u32, u32),
        (part, clipped): (Part, Part),
    ) -> Outcome {
        let (width, height) = (clipped.width as u32, clipped.height as u32);
        let rows = Rows::new(width, height, 4, 1);
        let mut read = Vec::new();
        read.try_reserve_exact(rows.all as usize).map_err(|_| Error::OutOfMemory)?;
        read.resize(rows.all as usize, 0);
        self.read_rgba(objects, clipped, |at, bytes| {
            if let Some(place) = read.get_mut(at..at + bytes.len()) {
                place.copy_from_slice(bytes);
            }
        })?;
        let texture = objects.textures.get_mut(id).ok_or(Error::InvalidOperation)?;
        let format = texture.image(face, level).map_or(Format::Undefined, |image| image.format);
        let mut texels = Vec::new();
        pixels::convert(&read, rows, (Format::Rgba8, format), (width, height), &mut texels);
        let at = (to_x + (clipped.x - part.x) as u32, to_y + (clipped.y - part.y) as u32, width, height);
        let stride = u64::from(width) * u64::from(format.block().bytes);
        self.turn(|_, turn| texture.write(turn, (face, level), at, &texels, stride))
    }
}
