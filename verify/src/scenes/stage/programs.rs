//! Programs.

use runahead_core::{RecordError, Session, slots::Band, tracker::Constants};
use runahead_linux::storage::Heap;
use runahead_wire::{
    Bulk, Handle,
    payload::ProgramDesc,
    values::{SpirvStatus, StageMask},
};

use super::{Minted, Stage, StageError};
use crate::scenes::Reflection;

/// A linked program, as it crosses.
#[derive(Clone, Debug, Default)]
pub struct Linked {
    /// SPIR-V of each stage.
    pub modules: [Vec<u32>; 6],
    /// The encoded archive.
    pub archive: Vec<u8>,
    /// Bytes of the image of loose uniforms.
    pub image_size: u32,
}

impl<P: Session> Stage<'_, P> {
    /// A program of these sources, with its uniforms at these values, and the one that draws from now on.
    ///
    /// # Errors
    /// [`StageError`].
    pub fn program(
        &mut self,
        vertex: &str,
        fragment: &str,
        attributes: &[(&str, u32)],
        constants: &[u8],
    ) -> Result<Handle, StageError> {
        let linked = self.shaders.link(vertex, fragment, attributes).map_err(StageError::Program)?;
        let program = self.program_of(linked, constants)?;
        self.tracker.set_programs(program, program, Handle::NULL);
        Ok(program)
    }

    /// A program of stages that give every location and binding themselves, each in a version of its own; the one that
    /// draws from now on, and with a compute stage the one of dispatches.
    ///
    /// # Errors
    /// [`StageError`].
    pub fn staged(
        &mut self,
        stages: &[(StageMask, &str)],
        reflection: &Reflection,
        constants: &[u8],
    ) -> Result<Handle, StageError> {
        self.staged_counting(stages, reflection, constants, u32::MAX)
    }

    /// The same, with the number of samples of the framebuffer at a byte of the uniforms' image.
    ///
    /// # Errors
    /// [`StageError`].
    pub fn staged_counting(
        &mut self,
        stages: &[(StageMask, &str)],
        reflection: &Reflection,
        constants: &[u8],
        samples: u32,
    ) -> Result<Handle, StageError> {
        let linked = self.compiled(stages, reflection)?;
        let program = self.program_counting(linked, constants, samples)?;
        self.tracker.set_programs(program, program, program);
        Ok(program)
    }

    /// Links a program again, of other stages.
    ///
    /// # Errors
    /// [`StageError`].
    pub fn relink(
        &mut self,
        program: Handle,
        stages: &[(StageMask, &str)],
        reflection: &Reflection,
    ) -> Result<(), StageError> {
        let linked = self.compiled(stages, reflection)?;
        let desc = ProgramDesc { cso: program, ..described(&linked, u32::MAX) };
        create(self.pipe, &desc, &linked)?;
        self.known.programs.push((program, desc, vec![0; linked.image_size as usize]));
        self.known.bindings.retain(|(of, _)| *of != program);
        Ok(())
    }

    fn compiled(&self, stages: &[(StageMask, &str)], reflection: &Reflection) -> Result<Linked, StageError> {
        let mut linked = Linked {
            archive: reflection.encode().map_err(StageError::Program)?,
            image_size: reflection.image_size(),
            ..Linked::default()
        };
        for (stage, source) in stages {
            let place = linked.modules.get_mut(stage.raw().trailing_zeros() as usize);
            let place = place.ok_or(StageError::Scene("there is no such stage"))?;
            *place = self.shaders.compile(*stage, source).map_err(StageError::Program)?;
        }
        Ok(linked)
    }

    fn program_of(&mut self, linked: Linked, constants: &[u8]) -> Result<Handle, StageError> {
        self.program_counting(linked, constants, u32::MAX)
    }

    fn program_counting(
        &mut self,
        linked: Linked,
        constants: &[u8],
        samples: u32,
    ) -> Result<Handle, StageError> {
        let lifetime = self.next();
        let (pipe, slots) = (&mut *self.pipe, &mut self.slots);
        let mut desc = described(&linked, samples);
        let program = slots
            .mint_with(Band::Shader, lifetime, |cso| {
                desc.cso = cso;
                create(pipe, &desc, &linked)
            })
            .map_err(|error| StageError::from(Minted(error)))?;
        if !constants.is_empty() {
            let mut image = Constants::<Heap>::default();
            let fits = image.relinked(linked.image_size as usize) && image.set(0, constants);
            if !fits {
                return Err(StageError::Scene("the program has fewer uniforms than that"));
            }
            image.emit(self.pipe, program)?;
        }
        let mut image = vec![0; linked.image_size as usize];
        if let Some(set) = image.get_mut(..constants.len()) {
            set.copy_from_slice(constants);
        }
        self.known.programs.push((program, desc, image));
        Ok(program)
    }
}

/// What a link made.
fn described(linked: &Linked, samples: u32) -> ProgramDesc {
    let there = (0..).zip(&linked.modules).filter(|(_, module)| !module.is_empty());
    ProgramDesc {
        stage_mask: there.fold(0, |mask, (stage, _)| mask | 1 << stage),
        global_ubo_size: linked.image_size,
        reserved_num_samples_offset: samples,
        spirv_status: SpirvStatus::Ready.raw() as u8,
        link_status: 1,
        ..ProgramDesc::default()
    }
}

fn create<P: Session>(pipe: &mut P, desc: &ProgramDesc, linked: &Linked) -> Result<(), RecordError> {
    let words = linked
        .modules
        .each_ref()
        .map(|module| module.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<u8>>());
    let modules = words.each_ref().map(|bytes| Bulk::Bytes(bytes));
    pipe.create_shader_state(desc, modules, Bulk::Bytes(&linked.archive))
}
