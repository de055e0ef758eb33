//! Vertex input: attributes, the buffers that feed them, and current values.
//!
//! There is one vertex array a share group, and what it holds is kept beside it. Attributes are set by
//! `glVertexAttribPointer`, which every OpenGL ES 3 driver has.

use std::ffi::c_void;

use runahead_core::{
    backend::{Backend, Outcome, Scope},
    state::VERTEX_ATTRIBS,
    storage::Storage,
};
use runahead_wire::{
    Handle,
    payload::{AttribValue, VertexAttrib, VertexBuffer},
    values::AttribType,
};

use glow::HasContext;

use crate::{
    Gles, buffers,
    gl::{FAILED, Gl, UNSUPPORTED, gl, raw},
    programs::Inputs,
};

/// An attribute's array, as the vertex array has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Array {
    buffer: glow::NativeBuffer,
    offset: u64,
    stride: u32,
    kind: u32,
    size: i32,
    normalized: bool,
    integer: bool,
}

/// One attribute, as the vertex array has it.
#[derive(Clone, Copy, Debug, Default)]
struct Attribute {
    enabled: bool,
    array: Option<Array>,
    divisor: u32,
}

/// What the current vertex array holds, and what was last set from where.
#[derive(Debug)]
pub(crate) struct Vertices {
    attributes: [Attribute; VERTEX_ATTRIBS],
    /// Attributes that the driver has.
    most: usize,
    /// `ARRAY_BUFFER`.
    array_buffer: Option<glow::NativeBuffer>,
    /// `ELEMENT_ARRAY_BUFFER`, which is of the vertex array.
    indices: Option<glow::NativeBuffer>,
    /// The index buffer that `indices` came from.
    indices_from: Handle,
    /// Serials of the layout's binding and content, and of the buffers.
    seen: Option<(u64, u64, u64)>,
    /// Serial of the current values, and the kinds of inputs that they were set for.
    values_seen: Option<(u64, Inputs)>,
    values: [Option<(u8, [u32; 4])>; VERTEX_ATTRIBS],
}

impl Vertices {
    /// Of a vertex array that is new; `most` attributes are there.
    pub(crate) fn new(most: usize) -> Self {
        Self {
            attributes: [Attribute::default(); VERTEX_ATTRIBS],
            most: most.min(VERTEX_ATTRIBS),
            array_buffer: None,
            indices: None,
            indices_from: Handle::NULL,
            seen: None,
            values_seen: None,
            values: [None; VERTEX_ATTRIBS],
        }
    }

    /// Forgets a name that the driver may give again.
    pub(crate) fn forget(&mut self, buffer: glow::NativeBuffer) {
        for attribute in &mut self.attributes {
            if attribute.array.is_some_and(|array| array.buffer == buffer) {
                attribute.array = None;
            }
        }
        if self.array_buffer == Some(buffer) {
            self.array_buffer = None;
        }
        if self.indices == Some(buffer) {
            self.indices = None;
            self.indices_from = Handle::NULL;
        }
        self.seen = None;
    }

    /// Makes the arrays those of the context.
    #[inline]
    pub(crate) fn sync<S: Storage>(&mut self, gl: &Gl, home: u32, scope: &mut Scope<'_, Gles, S>) -> Outcome
    where
        Gles: Backend,
    {
        let (state, serials) = (&scope.bind.state, &scope.bind.serials);
        let content =
            scope.objects.vertex_elements.get(state.vertex_elements).map_or(0, |object| object.serial);
        let seen = Some((serials.vertex_elements, content, serials.vertex_buffers));
        if self.seen == seen {
            return Ok(());
        }
        self.arrays(gl, home, scope)?;
        self.seen = seen;
        Ok(())
    }

    #[inline(never)]
    fn arrays<S: Storage>(&mut self, gl: &Gl, home: u32, scope: &mut Scope<'_, Gles, S>) -> Outcome {
        let state = &scope.bind.state;
        let objects = &mut *scope.objects;
        let (buffers, elements) = (&mut objects.buffers, &objects.vertex_elements);
        let layout = elements.get(state.vertex_elements);
        let count = layout.map_or(0, |layout| layout.record.head.attribute_count as usize);
        for index in 0..self.most {
            let attribute =
                layout.filter(|_| index < count).and_then(|layout| layout.record.attributes.get(index));
            let fed = attribute
                .filter(|attribute| attribute.enabled != 0)
                .map(|attribute| (attribute, state.vertex_buffers.get(u32::from(attribute.binding_index))));
            let array = match fed {
                Some((attribute, buffer)) => match buffers::resolve(gl, home, buffers, buffer.resource)? {
                    Some(name) => Some((array(attribute, &buffer, name)?, buffer.divisor)),
                    None => None,
                },
                None => None,
            };
            self.set(gl, index, array);
        }
        if layout.is_some_and(|layout| {
            layout
                .record
                .attributes
                .iter()
                .take(count)
                .skip(self.most)
                .any(|attribute| attribute.enabled != 0)
        }) {
            return Err(UNSUPPORTED);
        }
        Ok(())
    }

    fn set(&mut self, gl: &Gl, index: usize, array: Option<(Array, u32)>) {
        let location = index as u32;
        let Some(attribute) = self.attributes.get_mut(index) else { return };
        let Some((array, divisor)) = array else {
            if attribute.enabled {
                gl!(gl, disable_vertex_attrib_array(location));
                attribute.enabled = false;
            }
            return;
        };
        if attribute.array != Some(array) {
            if self.array_buffer != Some(array.buffer) {
                gl!(gl, bind_buffer(glow::ARRAY_BUFFER, Some(array.buffer)));
                self.array_buffer = Some(array.buffer);
            }
            let at = std::ptr::without_provenance::<c_void>(array.offset as usize);
            let stride = array.stride as i32;
            if array.integer {
                raw!(gl, vertex_attrib_i_pointer(location, array.size, array.kind, stride, at));
            } else {
                let normalized = u8::from(array.normalized);
                raw!(gl, vertex_attrib_pointer(location, array.size, array.kind, normalized, stride, at));
            }
            attribute.array = Some(array);
        }
        if attribute.divisor != divisor {
            gl!(gl, vertex_attrib_divisor(location, divisor));
            attribute.divisor = divisor;
        }
        if !attribute.enabled {
            gl!(gl, enable_vertex_attrib_array(location));
            attribute.enabled = true;
        }
    }

    /// Sets the current values of attributes, each as the program's input of that location reads it.
    #[inline]
    pub(crate) fn sync_values<S: Storage>(&mut self, gl: &Gl, scope: &Scope<'_, Gles, S>, inputs: Inputs) {
        let seen = Some((scope.bind.serials.attrib_defaults, inputs));
        if self.values_seen == seen {
            return;
        }
        for (index, value) in scope.bind.state.attrib_defaults.iter().enumerate().take(self.most) {
            let wanted = wanted(value, inputs, index as u32);
            let Some(place) = self.values.get_mut(index) else { continue };
            if *place == Some(wanted) {
                continue;
            }
            *place = Some(wanted);
            let (class, bits) = wanted;
            let [x, y, z, w] = bits;
            let location = index as u32;
            match class {
                1 => gl!(gl, vertex_attrib_4_i32(location, x as i32, y as i32, z as i32, w as i32)),
                2 => gl!(gl, vertex_attrib_4_u32(location, x, y, z, w)),
                _ => {
                    let [x, y, z, w] = bits.map(f32::from_bits);
                    gl!(gl, vertex_attrib_4_f32(location, x, y, z, w));
                }
            }
        }
        self.values_seen = seen;
    }

    /// Binds the index buffer of a draw.
    #[inline]
    pub(crate) fn sync_indices<S: Storage>(
        &mut self,
        gl: &Gl,
        home: u32,
        scope: &mut Scope<'_, Gles, S>,
        indices: Handle,
    ) -> Outcome {
        if self.indices.is_some() && self.indices_from == indices {
            return Ok(());
        }
        let name = buffers::resolve(gl, home, &mut scope.objects.buffers, indices)?.ok_or(FAILED)?;
        if self.indices != Some(name) {
            gl!(gl, bind_buffer(glow::ELEMENT_ARRAY_BUFFER, Some(name)));
        }
        self.indices = Some(name);
        self.indices_from = indices;
        Ok(())
    }
}

/// The value of an attribute in the view that the program's input reads, with the kind of that view.
const fn wanted(value: &AttribValue, inputs: Inputs, location: u32) -> (u8, [u32; 4]) {
    if inputs.signed >> location & 1 != 0 {
        (1, value.int_view)
    } else if inputs.unsigned >> location & 1 != 0 {
        (2, value.uint_view)
    } else {
        (0, value.float_view)
    }
}

/// The array of an attribute (OpenGL ES 3.2 table 10.2).
fn array(attribute: &VertexAttrib, buffer: &VertexBuffer, name: glow::NativeBuffer) -> Outcome<Array> {
    let kind = match attribute.component_type().ok_or(FAILED)? {
        AttribType::Byte => glow::BYTE,
        AttribType::UnsignedByte => glow::UNSIGNED_BYTE,
        AttribType::Short => glow::SHORT,
        AttribType::UnsignedShort => glow::UNSIGNED_SHORT,
        AttribType::Int => glow::INT,
        AttribType::UnsignedInt => glow::UNSIGNED_INT,
        AttribType::HalfFloat => glow::HALF_FLOAT,
        AttribType::Float => glow::FLOAT,
        AttribType::Fixed => glow::FIXED,
        AttribType::Int2101010Rev => glow::INT_2_10_10_10_REV,
        AttribType::UnsignedInt2101010Rev => glow::UNSIGNED_INT_2_10_10_10_REV,
        // OpenGL ES has neither.
        AttribType::Double | AttribType::UnsignedInt10F11F11FRev => return Err(UNSUPPORTED),
    };
    // A pointer of stride 0 is a tight array, and a binding of stride 0 one value for all.
    if attribute.is_bgra != 0 || attribute.is_long != 0 || buffer.stride == 0 {
        return Err(UNSUPPORTED);
    }
    let offset = attribute.offset.checked_add(buffer.offset).filter(|at| *at <= isize::MAX as u64);
    Ok(Array {
        buffer: name,
        offset: offset.ok_or(UNSUPPORTED)?,
        stride: i32::try_from(buffer.stride).map_err(|_| UNSUPPORTED)?.unsigned_abs(),
        kind,
        size: i32::from(attribute.size),
        normalized: attribute.normalized != 0,
        integer: attribute.is_integer != 0,
    })
}
