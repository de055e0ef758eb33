//! Vertex layouts of every kind.

use runahead_core::Session;
use runahead_wire::{
    payload::{VertexAttrib, VertexBindingPoint, VertexBuffer},
    values::AttribType,
};

use super::{Stage, StageError};

/// An attribute with an array.
#[derive(Clone, Copy, Debug)]
pub struct Attribute {
    /// Where the program reads it.
    pub location: u8,
    /// How it lies.
    pub format: VertexAttrib,
}

impl Attribute {
    /// One of `size` components at `offset` of what binding point `point` feeds.
    #[must_use]
    pub fn new(location: u8, point: u8, kind: AttribType, size: u8, offset: u64) -> Self {
        let format = VertexAttrib {
            offset,
            size,
            component_type: kind.raw(),
            enabled: 1,
            binding_index: point,
            ..VertexAttrib::default()
        };
        Self { location, format }
    }

    /// Integers that stand for [0, 1] or [-1, 1].
    #[must_use]
    pub const fn normalized(mut self) -> Self {
        self.format.normalized = 1;
        self
    }

    /// Integers that stay integers.
    #[must_use]
    pub const fn integer(mut self) -> Self {
        self.format.is_integer = 1;
        self
    }
}

impl<P: Session> Stage<'_, P> {
    /// The layout from now on, and the buffers of the points from 0 on.
    ///
    /// # Errors
    /// [`StageError`].
    pub fn layout(&mut self, attributes: &[Attribute], buffers: &[VertexBuffer]) -> Result<(), StageError> {
        let count = attributes.iter().map(|attribute| usize::from(attribute.location) + 1).max().unwrap_or(0);
        let unused =
            VertexAttrib { size: 4, component_type: AttribType::Float.raw(), ..VertexAttrib::default() };
        let mut layout = vec![unused; count];
        for attribute in attributes {
            if let Some(place) = layout.get_mut(usize::from(attribute.location)) {
                *place = attribute.format;
            }
        }
        let points: Vec<_> = buffers
            .iter()
            .map(|buffer| VertexBindingPoint {
                offset: buffer.offset,
                stride: buffer.stride as i32,
                divisor: buffer.divisor,
            })
            .collect();
        let number = self.next();
        let set = self.tracker.set_vertex_elements(number, number, &layout, &points)
            && self.tracker.vertex_buffers().set(0, buffers);
        (self.known.attributes, self.known.points) = (layout, points);
        if set { Ok(()) } else { Err(StageError::Scene("there are not so many attributes")) }
    }
}
