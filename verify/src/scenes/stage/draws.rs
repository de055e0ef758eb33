//! Draws of every kind.

use runahead_core::{Session, tracker::Verb};
use runahead_wire::{
    Handle,
    payload::{DrawIndirect, DrawInfo, DrawRange},
    values::{DrawFlags, Topology},
};

use super::{Stage, StageError};

/// How a draw is indexed.
#[derive(Clone, Copy, Debug, Default)]
pub struct Indexed {
    /// The buffer.
    pub buffer: Handle,
    /// Bytes of an index.
    pub size: u8,
    /// The index that ends a primitive.
    pub restart: Option<u32>,
}

impl Indexed {
    /// What a draw with these indices says.
    #[must_use]
    pub fn info(self, mode: Topology) -> DrawInfo {
        DrawInfo {
            mode: mode.raw(),
            index_size: self.size,
            index_resource: self.buffer,
            instance_count: 1,
            flags: if self.restart.is_some() { DrawFlags::PRIMITIVE_RESTART.raw8() } else { 0 },
            restart_index: self.restart.unwrap_or(0),
            ..DrawInfo::default()
        }
    }
}

impl<P: Session> Stage<'_, P> {
    fn ready(&mut self, info: &DrawInfo) -> Result<(), StageError> {
        if info.index_size != 0 {
            let index = self.tracker.index_buffer();
            index.resource = info.index_resource;
            index.index_size = u32::from(info.index_size);
        }
        self.tracker.sync(Verb::Draw, self.pipe, &mut self.slots)?;
        self.declare(Verb::Draw)
    }

    /// A draw of ranges.
    ///
    /// # Errors
    /// [`StageError`].
    pub fn draw_ranges(&mut self, info: &DrawInfo, ranges: &[DrawRange]) -> Result<(), StageError> {
        self.ready(info)?;
        let info = DrawInfo { num_draws: ranges.len() as u32, ..*info };
        Ok(self.pipe.draw_vbo(&info, ranges, &[])?)
    }

    /// A draw whose parameters lie in a buffer.
    ///
    /// # Errors
    /// [`StageError`].
    pub fn draw_indirect(&mut self, info: &DrawInfo, draws: &DrawIndirect) -> Result<(), StageError> {
        let indirect = self.tracker.indirect_buffers();
        (indirect.draw_indirect, indirect.parameter) = (draws.buffer, draws.parameter_buffer);
        self.ready(info)?;
        let info = DrawInfo { flags: info.flags | DrawFlags::IS_INDIRECT.raw8(), num_draws: 0, ..*info };
        Ok(self.pipe.draw_vbo(&info, &[], &[*draws])?)
    }
}
