//! Programs: translation at the verb, and what is set of a program between two draws.

mod bindings;
mod link;
mod values;

use std::sync::Arc;

use runahead_core::{
    backend::{Backend, Outcome, Scope},
    storage::Storage,
};
use runahead_wire::{Bulk, Handle, archive::ArchiveView};

use glow::HasContext;

use self::link::Linked;
pub(crate) use self::{
    bindings::Uses,
    link::{Inputs, Translated, takes},
};
use crate::{
    Gles,
    cache::Cache,
    gl::{FAILED, Gl, Named, UNSUPPORTED, copied, gl},
};

/// Twin of a program.
#[derive(Debug, Default)]
pub struct Shader {
    pub(crate) named: Named<glow::NativeProgram>,
    /// Modules and archive of the last link, until a verb needs them.
    waiting: Option<Box<Modules>>,
    /// The driver or the translation did not take it.
    failed: bool,
    linked: Linked,
    /// Loose uniforms as the driver has them.
    image: Vec<u8>,
    constants_seen: u64,
    /// Samples that were filled in, where the program asks for them.
    samples_seen: u32,
    bindings_seen: u64,
    /// Moves when `uses` does.
    uses_serial: u64,
    uses: Uses,
}

/// What a link brought.
#[derive(Debug)]
pub(crate) struct Modules {
    pub(crate) stages: [Vec<u32>; 6],
    archive: Archive,
}

/// An archive out of the client's reach, at an address that it can be read from.
#[derive(Debug, Default)]
struct Archive {
    words: Vec<u64>,
    len: usize,
}

impl Archive {
    fn copy(bulk: &Bulk<'_>) -> Outcome<Self> {
        let bytes = copied(bulk)?;
        let words = bytes
            .chunks(8)
            .map(|chunk| {
                let mut word = [0; 8];
                word.iter_mut().zip(chunk).for_each(|(to, from)| *to = *from);
                u64::from_ne_bytes(word)
            })
            .collect();
        Ok(Self { words, len: bytes.len() })
    }

    fn view(&self) -> Outcome<ArchiveView<'_>> {
        use runahead_wire::zerocopy::IntoBytes;
        let bytes = self.words.as_bytes().get(..self.len).ok_or(FAILED)?;
        ArchiveView::parse(bytes).map_err(|_| UNSUPPORTED)
    }
}

/// The program of a native context, and room for uniforms on their way.
#[derive(Debug, Default)]
pub(crate) struct Programs {
    current: Option<glow::NativeProgram>,
    scratch: Vec<u32>,
    /// Constants with what the server fills in.
    filled: Vec<u8>,
    /// Serials of uses given so far.
    serial: u64,
    /// An open capture that is not paused holds the program (OpenGL ES 3.2 section 12.1).
    pub(crate) held: bool,
    pub(crate) cache: Option<Arc<Cache>>,
}

/// What a verb needs to know of its program.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ready {
    pub(crate) inputs: Inputs,
    pub(crate) uses_serial: u64,
    /// Its colour goes to every draw buffer.
    pub(crate) broadcasts: bool,
    pub(crate) is_compute: bool,
    pub(crate) is_tessellated: bool,
    /// Buffers that transform feedback captures into.
    pub(crate) captured: usize,
}

impl Shader {
    /// What the program reads.
    pub(crate) const fn uses(&self) -> &Uses {
        &self.uses
    }

    /// Takes the modules and the archive of a link, out of the client's reach. They are looked at when a verb needs
    /// the program.
    pub(crate) fn link(&mut self, modules: &[Bulk<'_>; 6], archive: &Bulk<'_>) -> Outcome {
        let mut stages = <[Vec<u32>; 6]>::default();
        for (stage, module) in stages.iter_mut().zip(modules) {
            let bytes = copied(module)?;
            let (words, rest) = bytes.as_chunks::<4>();
            if !rest.is_empty() {
                return Err(FAILED);
            }
            *stage = words.iter().map(|word| u32::from_le_bytes(*word)).collect();
        }
        let archive = Archive::copy(archive)?;
        archive.view()?;
        self.waiting = Some(Box::new(Modules { stages, archive }));
        self.failed = false;
        Ok(())
    }
}

/// Samples of the framebuffer of draws; 1 for one that is not multisampled, as `gl_NumSamples` has it.
macro_rules! samples {
    ($scope:expr) => {{
        let state = &$scope.bind.state;
        let fbo = state.draw_framebuffer;
        let samples = match $scope.objects.framebuffers.get(fbo) {
            Some(object) => object.record.samples,
            None => state.default_framebuffer.samples,
        };
        u32::from(samples).max(1)
    }};
}

impl Programs {
    /// Makes the program of a verb current, translated and with its uniforms and units; nothing where there is none.
    #[inline]
    pub(crate) fn sync<S: Storage>(
        &mut self,
        gl: &Gl,
        home: u32,
        scope: &mut Scope<'_, Gles, S>,
        program: Handle,
    ) -> Outcome<Option<Ready>>
    where
        Gles: Backend,
    {
        let Some(object) = scope.objects.shaders.get_mut(program) else { return Ok(None) };
        if !object.record.executable {
            return Ok(None);
        }
        let (record, twin) = (&object.record, &mut object.twin);
        if twin.waiting.is_some() {
            self.build(gl, home, twin)?;
        }
        if twin.failed {
            return Err(UNSUPPORTED);
        }
        let Some(name) = twin.named.name else { return Ok(None) };
        if self.current != Some(name) {
            if self.held {
                return Err(UNSUPPORTED);
            }
            gl!(gl, use_program(Some(name)));
            self.current = Some(name);
        }
        let reserved = record.desc.reserved_num_samples_offset;
        let samples = if reserved == u32::MAX { 0 } else { samples!(scope) };
        if twin.constants_seen != record.constants_serial || twin.samples_seen != samples {
            self.set_values(twin, record.constants.as_ref(), (reserved, samples));
            twin.constants_seen = record.constants_serial;
            twin.samples_seen = samples;
        }
        if twin.bindings_seen != record.bindings_serial {
            bindings::apply(gl, name, &record.bindings, &mut twin.linked, &mut twin.uses);
            self.serial += 1;
            twin.uses_serial = self.serial;
            twin.bindings_seen = record.bindings_serial;
        }
        let linked = &twin.linked;
        Ok(Some(Ready {
            inputs: linked.inputs,
            uses_serial: twin.uses_serial,
            broadcasts: linked.broadcasts,
            is_compute: linked.is_compute,
            is_tessellated: linked.is_tessellated,
            captured: linked.captured,
        }))
    }

    /// Sets the uniforms that moved, with the number of samples at its place. The program is current.
    fn set_values(&mut self, twin: &mut Shader, constants: &[u8], (reserved, samples): (u32, u32)) {
        let Shader { linked, image, .. } = twin;
        if samples == 0 {
            values::set(&linked.values, image, constants, &mut self.scratch);
            return;
        }
        self.filled.clear();
        self.filled.extend_from_slice(constants);
        let place = self.filled.get_mut(reserved as usize..).and_then(|rest| rest.get_mut(..4));
        if let Some(place) = place {
            place.copy_from_slice(&samples.to_le_bytes());
        }
        values::set(&linked.values, image, &self.filled, &mut self.scratch);
    }

    /// Translates and links what waits.
    #[cold]
    #[inline(never)]
    fn build(&mut self, gl: &Gl, home: u32, twin: &mut Shader) -> Outcome {
        let Some(modules) = twin.waiting.take() else { return Ok(()) };
        if let Some(old) = twin.named.name.take() {
            gl!(gl, delete_program(old));
            self.forget(old);
        }
        twin.failed = true;
        let translated = self.translated(&modules.stages, gl.version)?;
        let name = translated.link(gl)?;
        twin.named = Named { name: Some(name), home };
        twin.linked = Linked::new(gl, name, &modules.archive.view()?, &translated)?;
        let size = twin.linked.values.iter().map(values::Value::end).max();
        twin.image.clear();
        // The driver's uniforms are 0 after a link.
        twin.image.resize(size.unwrap_or(0), 0);
        // Neither constants nor bindings have a serial of 0.
        twin.constants_seen = 0;
        twin.bindings_seen = 0;
        twin.failed = false;
        Ok(())
    }

    /// The translation of modules: the one that was kept, or a new one, which is kept.
    fn translated(&self, stages: &[Vec<u32>; 6], version: u32) -> Outcome<Translated> {
        if let Some(kept) = self.cache.as_ref().and_then(|cache| cache.find(stages, version)) {
            return Ok(kept);
        }
        let translated = Translated::new(stages, version).map_err(|_| UNSUPPORTED)?;
        if let Some(cache) = &self.cache {
            cache.keep(stages, version, &translated);
        }
        Ok(translated)
    }

    /// Forgets a name that the driver may give again.
    pub(crate) fn forget(&mut self, program: glow::NativeProgram) {
        if self.current == Some(program) {
            self.current = None;
        }
    }
}
