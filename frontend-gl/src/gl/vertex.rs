//! Vertex arrays and current values.
//!
//! Source: OpenGL ES 2.0.25 sections 2.7 and 2.8, `OES_vertex_array_object`.

use runahead_wire::{
    Handle,
    payload::{IndexBuffer, VertexAttrib, VertexBindingPoint, VertexBuffer},
    values::{AttribType, ValueClass},
};

use super::{
    buffer::Buffer,
    client_memory::Address,
    context::{Objects, State},
    enums,
    error::{Error, Outcome},
    limits::ATTRIBUTES,
    table::Id,
};

/// The array of one attribute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Attribute {
    pub(crate) enabled: bool,
    /// Components, 1 to 4.
    pub(crate) size: u8,
    kind: AttribType,
    normalized: bool,
    /// As it was given; 0 for no gap.
    stride: u32,
    /// An offset into the buffer, or an address of the application's.
    pub(crate) pointer: Address,
    pub(crate) buffer: Option<Id>,
    /// The buffer was deleted under it, so the pointer is no address.
    orphaned: bool,
}

impl Default for Attribute {
    /// Table 6.3.
    fn default() -> Self {
        Self {
            enabled: false,
            size: 4,
            kind: AttribType::Float,
            normalized: false,
            stride: 0,
            pointer: Address::default(),
            buffer: None,
            orphaned: false,
        }
    }
}

impl Attribute {
    /// Bytes of one element.
    pub(crate) fn bytes(&self) -> u32 {
        let component = match self.kind {
            AttribType::Byte | AttribType::UnsignedByte => 1,
            AttribType::Short | AttribType::UnsignedShort => 2,
            _ => 4,
        };
        component * u32::from(self.size)
    }

    /// Bytes from element to element.
    pub(crate) fn step(&self) -> u32 {
        if self.stride == 0 { self.bytes() } else { self.stride }
    }

    /// Where the elements lie in the application's memory; none where they do not.
    pub(crate) fn client_pointer(&self) -> Option<Address> {
        let there = self.enabled && self.buffer.is_none() && !self.orphaned && self.pointer.number() != 0;
        there.then_some(self.pointer)
    }
}

/// A vertex array object.
#[derive(Debug)]
pub(crate) struct VertexArray {
    pub(crate) attributes: [Attribute; ATTRIBUTES],
    pub(crate) element_buffer: Option<Id>,
    /// What the tracker knows its layout by; 0 since the layout has moved.
    layout_id: u64,
}

impl VertexArray {
    pub(crate) fn new() -> Self {
        Self { attributes: [Attribute::default(); ATTRIBUTES], element_buffer: None, layout_id: 0 }
    }

    /// The layout as the server knows it.
    pub(crate) fn layout(&self) -> ([VertexAttrib; ATTRIBUTES], [VertexBindingPoint; ATTRIBUTES]) {
        let mut attributes = [VertexAttrib::default(); ATTRIBUTES];
        let mut points = [VertexBindingPoint::default(); ATTRIBUTES];
        let each = attributes.iter_mut().zip(&mut points).zip(&self.attributes);
        for (((attribute, point), array), index) in each.zip(0..) {
            *attribute = VertexAttrib {
                stride: array.stride.min(i32::MAX as u32) as i32,
                component_type: array.kind.raw(),
                size: array.size,
                enabled: u8::from(array.enabled),
                normalized: u8::from(array.normalized),
                binding_index: index,
                ..VertexAttrib::default()
            };
            point.stride = array.step().min(i32::MAX as u32) as i32;
        }
        (attributes, points)
    }
}

/// The type of an array's components (table 2.4).
const fn component(kind: u32) -> Outcome<AttribType> {
    match kind {
        enums::BYTE => Ok(AttribType::Byte),
        enums::UNSIGNED_BYTE => Ok(AttribType::UnsignedByte),
        enums::SHORT => Ok(AttribType::Short),
        enums::UNSIGNED_SHORT => Ok(AttribType::UnsignedShort),
        enums::FIXED => Ok(AttribType::Fixed),
        enums::FLOAT => Ok(AttribType::Float),
        _ => Err(Error::InvalidEnum),
    }
}

const fn component_number(kind: AttribType) -> u32 {
    match kind {
        AttribType::Byte => enums::BYTE,
        AttribType::UnsignedByte => enums::UNSIGNED_BYTE,
        AttribType::Short => enums::SHORT,
        AttribType::UnsignedShort => enums::UNSIGNED_SHORT,
        AttribType::Fixed => enums::FIXED,
        _ => enums::FLOAT,
    }
}

/// What is asked of an attribute.
pub(crate) enum AttributeValue {
    /// The current value.
    Current([f32; 4]),
    /// A number.
    Number(u32),
}

impl State {
    /// The vertex array that is bound.
    pub(crate) fn current_arrays(&self) -> &VertexArray {
        let bound = self.vertex_array.and_then(|id| self.vertex_arrays.get(id));
        match bound {
            Some(arrays) => arrays,
            None => unreachable!("a context holds the vertex array that it has bound"),
        }
    }

    pub(crate) fn current_arrays_mut(&mut self) -> &mut VertexArray {
        let bound = self.vertex_array.and_then(|id| self.vertex_arrays.get_mut(id));
        match bound {
            Some(arrays) => arrays,
            None => unreachable!("a context holds the vertex array that it has bound"),
        }
    }

    /// Attribute `index` of the bound vertex array.
    fn attribute(&self, index: u32) -> Outcome<&Attribute> {
        let there = index < self.limits.attributes;
        self.current_arrays().attributes.get(index as usize).filter(|_| there).ok_or(Error::InvalidValue)
    }

    fn attribute_mut(&mut self, index: u32) -> Outcome<&mut Attribute> {
        let there = index < self.limits.attributes;
        let attributes = &mut self.current_arrays_mut().attributes;
        attributes.get_mut(index as usize).filter(|_| there).ok_or(Error::InvalidValue)
    }

    /// Replaces an array, and finds the layout anew where it has moved with it.
    fn set_attribute(&mut self, index: u32, new: Attribute) -> Outcome {
        let attribute = self.attribute_mut(index)?;
        let old = std::mem::replace(attribute, new);
        if old == new {
            return Ok(());
        }
        let layout =
            |of: Attribute| Attribute { pointer: Address::default(), buffer: None, orphaned: false, ..of };
        if layout(old) != layout(new) {
            self.current_arrays_mut().layout_id = 0;
        }
        self.stale.arrays = true;
        Ok(())
    }

    /// `glEnableVertexAttribArray` and `glDisableVertexAttribArray`.
    pub(crate) fn enable_attribute(&mut self, index: u32, enabled: bool) -> Outcome {
        let attribute = Attribute { enabled, ..*self.attribute(index)? };
        self.set_attribute(index, attribute)
    }

    /// `glVertexAttribPointer`.
    #[allow(clippy::too_many_arguments, reason = "they are the command's")]
    pub(crate) fn attribute_pointer(
        &mut self,
        objects: &mut Objects,
        index: u32,
        size: i32,
        kind: u32,
        normalized: bool,
        stride: i32,
        pointer: Address,
    ) -> Outcome {
        let old = *self.attribute(index)?;
        let size =
            u8::try_from(size).ok().filter(|size| (1..=4).contains(size)).ok_or(Error::InvalidValue)?;
        let kind = component(kind)?;
        let stride = u32::try_from(stride).map_err(|_| Error::InvalidValue)?;
        let buffer = self.array_buffer;
        // `OES_vertex_array_object`: an array object other than the default one holds no address.
        if buffer.is_none() && pointer.number() != 0 && self.vertex_array != self.default_vertex_array {
            return Err(Error::InvalidOperation);
        }
        let new = Attribute {
            enabled: old.enabled,
            size,
            kind,
            normalized,
            stride,
            pointer,
            buffer,
            orphaned: false,
        };
        if old.buffer != buffer {
            if let Some(id) = buffer {
                objects.buffers.retain(id);
            }
            if let Some(id) = old.buffer {
                let ended = objects.buffers.release(id);
                self.buffer_ended(ended);
            }
        }
        self.set_attribute(index, new)
    }

    /// `glVertexAttrib*`: what components are not given are 0, 0, 0 and 1.
    pub(crate) fn attribute_value(&mut self, index: u32, value: [f32; 4]) -> Outcome {
        if index >= self.limits.attributes {
            return Err(Error::InvalidValue);
        }
        let bits = value.map(f32::to_bits);
        let current = self.tracker.wanted().attrib_defaults.get(index as usize);
        if current.is_some_and(|current| current.float_view == bits && current.value_class == 0) {
            return Ok(());
        }
        if let Some(current) = self.tracker.attrib_defaults().get_mut(index as usize) {
            current.value_class = ValueClass::Float.raw8();
            current.float_view = bits;
            current.int_view = value.map(|component| component as i32 as u32);
            current.uint_view = value.map(|component| component as u32);
        }
        Ok(())
    }

    /// `glGetVertexAttrib*`.
    pub(crate) fn attribute_parameter(
        &self,
        objects: &Objects,
        index: u32,
        name: u32,
    ) -> Outcome<AttributeValue> {
        let attribute = self.attribute(index)?;
        Ok(AttributeValue::Number(match name {
            enums::VERTEX_ATTRIB_ARRAY_ENABLED => u32::from(attribute.enabled),
            enums::VERTEX_ATTRIB_ARRAY_SIZE => u32::from(attribute.size),
            enums::VERTEX_ATTRIB_ARRAY_STRIDE => attribute.stride,
            enums::VERTEX_ATTRIB_ARRAY_TYPE => component_number(attribute.kind),
            enums::VERTEX_ATTRIB_ARRAY_NORMALIZED => u32::from(attribute.normalized),
            enums::VERTEX_ATTRIB_ARRAY_BUFFER_BINDING => {
                attribute.buffer.map_or(0, |id| objects.buffers.name(id))
            }
            enums::CURRENT_VERTEX_ATTRIB => {
                let values = &self.tracker.wanted().attrib_defaults;
                let value = values.get(index as usize).map_or([0; 4], |value| value.float_view);
                return Ok(AttributeValue::Current(value.map(f32::from_bits)));
            }
            _ => return Err(Error::InvalidEnum),
        }))
    }

    /// `glGetVertexAttribPointerv`.
    pub(crate) fn attribute_address(&self, index: u32, name: u32) -> Outcome<usize> {
        if name != enums::VERTEX_ATTRIB_ARRAY_POINTER {
            return Err(Error::InvalidEnum);
        }
        Ok(self.attribute(index)?.pointer.number())
    }

    /// `ELEMENT_ARRAY_BUFFER` of the bound vertex array is this one.
    pub(crate) fn set_element_buffer(&mut self, objects: &mut Objects, buffer: Option<Id>) {
        if let Some(id) = buffer {
            objects.buffers.retain(id);
        }
        self.stale.arrays = true;
        if let Some(old) = std::mem::replace(&mut self.current_arrays_mut().element_buffer, buffer) {
            let ended = objects.buffers.release(old);
            self.buffer_ended(ended);
        }
    }

    /// A buffer's name was deleted: the bound vertex array lets go of it (section 2.9).
    pub(crate) fn unbind_buffer_from_arrays(&mut self, objects: &mut Objects, buffer: Id) {
        if self.current_arrays().element_buffer == Some(buffer) {
            self.set_element_buffer(objects, None);
        }
        for at in 0..ATTRIBUTES {
            let attribute = self.current_arrays_mut().attributes.get_mut(at);
            if let Some(attribute) = attribute.filter(|attribute| attribute.buffer == Some(buffer)) {
                attribute.buffer = None;
                attribute.orphaned = true;
                self.stale.arrays = true;
                let ended = objects.buffers.release(buffer);
                self.buffer_ended(ended);
            }
        }
    }

    /// A vertex array has ended.
    pub(crate) fn vertex_array_ended(&mut self, objects: &mut Objects, arrays: &VertexArray) {
        let fed = arrays.attributes.iter().filter_map(|attribute| attribute.buffer);
        for buffer in fed.chain(arrays.element_buffer) {
            let ended = objects.buffers.release(buffer);
            self.buffer_ended(ended);
        }
    }

    fn set_vertex_array(&mut self, objects: &mut Objects, array: Id) {
        if self.vertex_array == Some(array) {
            return;
        }
        self.vertex_arrays.retain(array);
        if let Some(old) = self.vertex_array.replace(array)
            && let Some(ended) = self.vertex_arrays.release(old)
        {
            self.vertex_array_ended(objects, &ended);
        }
        self.stale.arrays = true;
    }

    /// `glBindVertexArrayOES`.
    pub(crate) fn bind_vertex_array(&mut self, objects: &mut Objects, name: u32) -> Outcome {
        let array = match name {
            0 => self.default_vertex_array,
            name if !self.vertex_arrays.is_given(name) => return Err(Error::InvalidOperation),
            name => self.vertex_arrays.find_or_insert(name, VertexArray::new),
        };
        self.set_vertex_array(objects, array.ok_or(Error::OutOfMemory)?);
        Ok(())
    }

    /// `glDeleteVertexArraysOES`, for one name.
    pub(crate) fn delete_vertex_array(&mut self, objects: &mut Objects, name: u32) {
        let found = self.vertex_arrays.find(name);
        if found.is_some()
            && found == self.vertex_array
            && let Some(default) = self.default_vertex_array
        {
            self.set_vertex_array(objects, default);
        }
        if let Some(ended) = self.vertex_arrays.delete(name) {
            self.vertex_array_ended(objects, &ended);
        }
    }

    /// Tells the tracker what the arrays are; those in the application's memory are empty until a draw copies them.
    pub(crate) fn refresh_arrays(&mut self, objects: &Objects) {
        let count = self.limits.attributes as usize;
        let Self { tracker, vertex_arrays, vertex_array, layouts, index_stream, resident, dead, .. } = self;
        let Some(arrays) = vertex_array.and_then(|id| vertex_arrays.get_mut(id)) else { return };
        // Indices of a draw before may lie in a buffer that another context ends once this one has let go of it.
        let named = tracker.wanted().index_buffer.resource;
        let bound = arrays.element_buffer.and_then(|id| objects.buffers.get(id));
        if !named.is_null()
            && index_stream.buffers().chain(resident.buffers()).all(|(buffer, _)| buffer != named)
            && bound.is_none_or(|bound| bound.handle != named)
        {
            *tracker.index_buffer() = IndexBuffer::default();
        }
        let (attributes, points) = arrays.layout();
        let attributes = attributes.get(..count).unwrap_or_default();
        let points = points.get(..count).unwrap_or_default();
        if !layouts.uses(arrays.layout_id) {
            arrays.layout_id = layouts.find(attributes, points, dead);
        }
        let set = tracker.set_vertex_elements(arrays.layout_id, 0, attributes, points);
        debug_assert!(set, "a layout has room for every attribute");
        // The window ends with the last array that is enabled.
        let used =
            arrays.attributes.iter().take(count).rposition(|array| array.enabled).map_or(0, |at| at + 1);
        let mut buffers = [VertexBuffer::default(); ATTRIBUTES];
        for (buffer, array) in buffers.iter_mut().zip(&arrays.attributes).take(used) {
            buffer.stride = array.step();
            if array.enabled {
                let bound = array.buffer.and_then(|id| objects.buffers.get(id));
                buffer.resource = bound.map_or(Handle::NULL, |bound: &Buffer| bound.handle);
                // An address of the application's stays here.
                buffer.offset = if buffer.resource.is_null() { 0 } else { array.pointer.number() as u64 };
            }
        }
        let set = tracker.vertex_buffers().set(0, buffers.get(..used).unwrap_or_default());
        debug_assert!(set, "a window has room for every attribute");
    }
}
