//! The vertex layout: content-versioned, addressed by the identity of its vertex array object.

use core::fmt;

use runahead_wire::{
    Bulk, Handle,
    handle::Kind,
    limits,
    payload::{VertexAttrib, VertexBindingPoint, VertexElements},
    pipe::Pipe,
    zerocopy::IntoBytes,
};

use super::{Dirty, Family, SyncError, Tracker, handle_only};
use crate::{
    slots::{Band, SlotSpace},
    storage::Storage,
};

/// Bytes of the largest layout.
const MOST: usize = limits::VERTEX_ATTRIBS as usize * size_of::<VertexAttrib>()
    + limits::VERTEX_BINDINGS as usize * size_of::<VertexBindingPoint>();

/// The layout that draws are to have.
pub(super) struct Layout {
    /// 0 for none.
    id: u64,
    version: u64,
    attributes: u32,
    points: u32,
    /// Attributes, then points, as the record's blob has them.
    blob: [u8; MOST],
}

impl fmt::Debug for Layout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { id, version, .. } = self;
        f.debug_struct("Layout").field("id", id).field("version", version).finish_non_exhaustive()
    }
}

impl Default for Layout {
    fn default() -> Self {
        Self { id: 0, version: 0, attributes: 0, points: 0, blob: [0; MOST] }
    }
}

impl Layout {
    /// Creates the CSO, or creates it again.
    fn create<P: Pipe>(&self, cso: Handle, pipe: &mut P) -> Result<(), P::Error> {
        let elements = VertexElements {
            cso,
            attribute_count: self.attributes,
            binding_point_count: self.points,
            ..VertexElements::default()
        };
        let blob = self.blob.get(..elements.blob_size() as usize).unwrap_or_default();
        pipe.create_vertex_elements(&elements, Bulk::Bytes(blob))
    }

    /// The handle of the layout, once the server has its content.
    fn resolve<P: Pipe, S: Storage>(
        &self,
        untold: bool,
        pipe: &mut P,
        slots: &mut SlotSpace<S>,
    ) -> Result<Handle, SyncError<P::Error>> {
        if self.id == 0 {
            return Ok(Handle::NULL);
        }
        let cso = match slots.find(Band::VertexElements, self.id) {
            Some(cso) if !untold && slots.stamp(Band::VertexElements, cso) == Some(self.version) => {
                return Ok(cso);
            }
            Some(cso) => {
                self.create(cso, pipe)?;
                cso
            }
            None => slots.mint_with(Band::VertexElements, self.id, |cso| self.create(cso, pipe))?,
        };
        slots.set_stamp(Band::VertexElements, cso, self.version);
        Ok(cso)
    }
}

impl Tracker {
    /// Sets the vertex layout: the vertex array object of lifetime `id`, whose content has this version. Two
    /// calls with the same id and version have the same content, so the second one does nothing. Id 0 is no
    /// layout.
    ///
    /// `false`, and nothing changed, when there are more attributes or points than a layout can have.
    #[must_use]
    pub fn set_vertex_elements(
        &mut self,
        id: u64,
        version: u64,
        attributes: &[VertexAttrib],
        points: &[VertexBindingPoint],
    ) -> bool {
        if attributes.len() > limits::VERTEX_ATTRIBS as usize
            || points.len() > limits::VERTEX_BINDINGS as usize
        {
            return false;
        }
        let layout = &mut self.layout;
        if (layout.id, layout.version) != (id, version) {
            (layout.id, layout.version) = (id, version);
            (layout.attributes, layout.points) = (attributes.len() as u32, points.len() as u32);
            let (attributes, points) = (attributes.as_bytes(), points.as_bytes());
            let both = layout.blob.get_mut(..attributes.len() + points.len());
            if let Some((head, tail)) = both.map(|both| both.split_at_mut(attributes.len())) {
                head.copy_from_slice(attributes);
                tail.copy_from_slice(points);
            }
            self.mark(Dirty::of(Family::VertexElements));
        }
        true
    }

    pub(super) fn send_vertex_elements<P: Pipe, S: Storage>(
        &mut self,
        untold: bool,
        pipe: &mut P,
        slots: &mut SlotSpace<S>,
    ) -> Result<(), SyncError<P::Error>> {
        let cso = self.layout.resolve(untold, pipe, slots)?;
        self.wanted.vertex_elements = cso;
        if untold || self.sent.vertex_elements != cso {
            pipe.bind_vertex_elements(&handle_only(Kind::VertexElementsCso, cso))?;
            self.sent.vertex_elements = cso;
        }
        Ok(())
    }

    /// Sets no layout if this is the wanted one.
    pub(super) fn forget_layout<S: Storage>(&mut self, cso: Handle, slots: &SlotSpace<S>) {
        if slots.find(Band::VertexElements, self.layout.id) == Some(cso) {
            self.layout.id = 0;
            self.mark(Dirty::of(Family::VertexElements));
        }
    }
}
