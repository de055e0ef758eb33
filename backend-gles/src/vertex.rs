//! Vertex input: attributes, the buffers that feed them, and current values.
//!
//! There is one vertex array a share group, and what it holds is kept beside it. Where the driver sets formats and
//! buffers apart (OpenGL ES 3.1), attributes that one binding point of the client feeds share one of the driver's, and
//! moving the buffers costs a call each. Elsewhere each attribute has a pointer of its own.
//!
//! What a draw adds to every index, or to every instance, is emulated where the driver has no such draw: the buffers
//! are moved by as many elements ([`Shift`]) and moved back for the next draw that does not want it. `gl_VertexID` does
//! not see an index bias then.

use std::ffi::c_void;

use runahead_core::{
    backend::{Backend, Outcome, Scope},
    state::VERTEX_ATTRIBS,
    storage::Storage,
};
use runahead_wire::{
    Handle,
    payload::{AttribValue, VertexAttrib},
    values::AttribType,
};

use glow::HasContext;

use crate::{
    Gles, buffers,
    extended::call,
    gl::{FAILED, Gl, UNSUPPORTED, gl, raw},
    programs::Inputs,
};

/// Largest offset of an attribute from the start of a vertex that every driver with separate formats takes
/// (OpenGL ES 3.2 table 21.46).
const MOST_RELATIVE: u64 = 2047;
/// Bytes from vertex to vertex that every driver takes, and those of OpenGL ES 3.1 may take no more.
const MOST_STRIDE: u32 = 2048;

/// Format of an attribute, and the point that feeds it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Format {
    kind: u32,
    size: i32,
    normalized: bool,
    integer: bool,
    /// Bytes from the start of a vertex.
    relative: u32,
    point: u32,
}

/// A buffer that feeds attributes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Point {
    buffer: glow::NativeBuffer,
    /// Without a shift.
    offset: u64,
    stride: u32,
    divisor: u32,
}

/// What of a point the driver has: buffer, offset, stride.
type Bound = (glow::NativeBuffer, u64, u32);

/// One attribute, as the vertex array has it.
#[derive(Clone, Copy, Debug, Default)]
struct Attribute {
    enabled: bool,
    format: Option<Format>,
}

/// Elements that the buffers are moved by: those of vertices, and those of instances.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Shift {
    pub(crate) vertices: i32,
    pub(crate) instances: u32,
}

impl Shift {
    const NONE: Self = Self { vertices: 0, instances: 0 };
}

/// What the current vertex array holds, and what was last set from where.
#[derive(Debug)]
pub(crate) struct Vertices {
    attributes: [Attribute; VERTEX_ATTRIBS],
    /// Points as they are meant, and as the driver has them.
    points: [Option<Point>; VERTEX_ATTRIBS],
    bound: [Option<Bound>; VERTEX_ATTRIBS],
    divisors: [u32; VERTEX_ATTRIBS],
    /// What the buffers are moved by.
    shift: Shift,
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
            points: [None; VERTEX_ATTRIBS],
            bound: [None; VERTEX_ATTRIBS],
            divisors: [0; VERTEX_ATTRIBS],
            shift: Shift::NONE,
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
        for bound in &mut self.bound {
            if bound.is_some_and(|(of, ..)| of == buffer) {
                *bound = None;
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
            return self.move_by(gl, Shift::NONE);
        }
        self.seen = None;
        self.arrays(gl, home, scope)?;
        self.seen = seen;
        Ok(())
    }

    /// Whether an array moves from instance to instance.
    pub(crate) fn is_instanced(&self) -> bool {
        self.points.iter().flatten().any(|point| point.divisor != 0)
    }

    #[inline(never)]
    fn arrays<S: Storage>(&mut self, gl: &Gl, home: u32, scope: &mut Scope<'_, Gles, S>) -> Outcome {
        let separates = gl.extended.separates();
        let state = &scope.bind.state;
        let objects = &mut *scope.objects;
        let (buffers, elements) = (&mut objects.buffers, &objects.vertex_elements);
        let layout = elements.get(state.vertex_elements);
        let count = layout.map_or(0, |layout| layout.record.head.attribute_count as usize);
        let attributes = layout.map(|layout| &layout.record.attributes);
        let enabled = |index: usize| {
            attributes
                .filter(|_| index < count)
                .and_then(|attributes| attributes.get(index))
                .filter(|attribute| attribute.enabled != 0)
        };
        if (self.most..count).any(|index| enabled(index).is_some()) {
            return Err(UNSUPPORTED);
        }
        let mut formats = [None; VERTEX_ATTRIBS];
        let mut points = [None; VERTEX_ATTRIBS];
        // Binding point of the client and offset that the points so far are of.
        let mut origins = [(0, 0); VERTEX_ATTRIBS];
        let mut taken = 0;
        for (index, place) in formats.iter_mut().enumerate().take(self.most) {
            let Some(attribute) = enabled(index) else { continue };
            let buffer = state.vertex_buffers.get(u32::from(attribute.binding_index));
            let Some(name) = buffers::resolve(gl, home, buffers, buffer.resource)? else { continue };
            if buffer.stride > MOST_STRIDE && gl.version >= 31 {
                return Err(UNSUPPORTED);
            }
            let fixed = attribute.component_type() == Some(AttribType::Fixed);
            let apart = separates && attribute.offset <= MOST_RELATIVE && !fixed;
            let (relative, base) = if apart { (attribute.offset as u32, 0) } else { (0, attribute.offset) };
            let origin = (attribute.binding_index, base);
            let known = origins.iter().take(taken).position(|known| *known == origin);
            let at = match known {
                Some(at) if separates => at,
                _ if separates => {
                    if let Some(place) = origins.get_mut(taken) {
                        *place = origin;
                    }
                    taken += 1;
                    taken - 1
                }
                _ => index,
            };
            let offset = buffer.offset.checked_add(base).filter(|at| *at <= isize::MAX as u64);
            let (stride, divisor) = (buffer.stride, buffer.divisor);
            if let Some(point) = points.get_mut(at) {
                *point = Some(Point { buffer: name, offset: offset.ok_or(UNSUPPORTED)?, stride, divisor });
            }
            *place = Some(format(attribute, relative, at as u32)?);
        }
        self.points = points;
        self.set_formats(gl, separates, &formats)?;
        self.place(gl, separates, Shift::NONE)
    }

    fn set_formats(&mut self, gl: &Gl, separates: bool, formats: &[Option<Format>]) -> Outcome {
        for ((location, attribute), format) in (0..).zip(&mut self.attributes).zip(formats).take(self.most) {
            if attribute.enabled != format.is_some() {
                if format.is_some() {
                    gl!(gl, enable_vertex_attrib_array(location));
                } else {
                    gl!(gl, disable_vertex_attrib_array(location));
                }
                attribute.enabled = format.is_some();
            }
            let Some(new) = format.filter(|_| attribute.format != *format) else { continue };
            if separates {
                let extended = &gl.extended;
                let set = extended.vertex_attrib_format.ok_or(FAILED)?;
                let set_integer = extended.vertex_attrib_i_format.ok_or(FAILED)?;
                let bind = extended.vertex_attrib_binding.ok_or(FAILED)?;
                let mut point = attribute.format.map_or(location, |old| old.point);
                if new.kind == glow::FIXED {
                    // Mesa (seen in 22.3) takes fixed-point numbers with a pointer alone, which begins at 0 in a point
                    // of the attribute's own number.
                    let normalized = u8::from(new.normalized);
                    raw!(
                        gl,
                        vertex_attrib_pointer(location, new.size, new.kind, normalized, 0, std::ptr::null())
                    );
                    point = location;
                    if let Some(bound) = self.bound.get_mut(location as usize) {
                        *bound = None;
                    }
                } else if new.integer {
                    call!(set_integer, location, new.size, new.kind, new.relative);
                } else {
                    call!(set, location, new.size, new.kind, u8::from(new.normalized), new.relative);
                }
                if point != new.point {
                    call!(bind, location, new.point);
                }
            } else if let Some(bound) = self.bound.get_mut(location as usize) {
                // The pointer, which is set with the buffer, has the format.
                *bound = None;
            }
            attribute.format = *format;
        }
        Ok(())
    }

    /// Whether the last draw moved the buffers, so that the next one must look.
    #[inline]
    pub(crate) fn are_moved(&self) -> bool {
        self.shift != Shift::NONE
    }

    /// Moves the buffers by so many elements, from where they are meant to be.
    #[inline]
    pub(crate) fn move_by(&mut self, gl: &Gl, shift: Shift) -> Outcome {
        if self.shift == shift { Ok(()) } else { self.place(gl, gl.extended.separates(), shift) }
    }

    #[inline(never)]
    fn place(&mut self, gl: &Gl, separates: bool, shift: Shift) -> Outcome {
        let placed = self.place_all(gl, separates, shift);
        self.shift = shift;
        if placed.is_err() {
            // Some were moved.
            self.seen = None;
        }
        placed
    }

    fn place_all(&mut self, gl: &Gl, separates: bool, shift: Shift) -> Outcome {
        let points = self.points.iter().zip(&mut self.bound).zip(&mut self.divisors);
        for (at, ((point, bound), divisor)) in (0..).zip(points) {
            let Some(point) = point else { continue };
            let elements =
                if point.divisor == 0 { i64::from(shift.vertices) } else { i64::from(shift.instances) };
            let moved = (point.offset as i64).checked_add(elements * i64::from(point.stride));
            let offset = moved.and_then(|offset| u64::try_from(offset).ok()).ok_or(UNSUPPORTED)?;
            let wanted = Some((point.buffer, offset, point.stride));
            if separates {
                if *bound != wanted {
                    let bind = gl.extended.bind_vertex_buffer.ok_or(FAILED)?;
                    call!(bind, at, point.buffer.0.get(), offset as isize, point.stride as i32);
                    *bound = wanted;
                }
                if *divisor != point.divisor {
                    let set = gl.extended.vertex_binding_divisor.ok_or(FAILED)?;
                    call!(set, at, point.divisor);
                    *divisor = point.divisor;
                }
                continue;
            }
            // Each attribute has the point of its own number.
            if *bound != wanted {
                let format = self.attributes.get(at as usize).and_then(|attribute| attribute.format);
                let format = format.ok_or(FAILED)?;
                if self.array_buffer != Some(point.buffer) {
                    gl!(gl, bind_buffer(glow::ARRAY_BUFFER, Some(point.buffer)));
                    self.array_buffer = Some(point.buffer);
                }
                let address = std::ptr::without_provenance::<c_void>(offset as usize);
                let (size, kind, stride) = (format.size, format.kind, point.stride as i32);
                if format.integer {
                    raw!(gl, vertex_attrib_i_pointer(at, size, kind, stride, address));
                } else {
                    let normalized = u8::from(format.normalized);
                    raw!(gl, vertex_attrib_pointer(at, size, kind, normalized, stride, address));
                }
                *bound = wanted;
            }
            // A pointer without a stride is a tight array. One value for all is the first of an array that no
            // number of instances gets beyond.
            let wanted = if point.stride == 0 { u32::MAX } else { point.divisor };
            if *divisor != wanted {
                gl!(gl, vertex_attrib_divisor(at, wanted));
                *divisor = wanted;
            }
        }
        Ok(())
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
        self.bind_indices(gl, name);
        self.indices_from = indices;
        Ok(())
    }

    /// Binds indices that are no buffer of the client's.
    pub(crate) fn bind_indices(&mut self, gl: &Gl, name: glow::NativeBuffer) {
        if self.indices != Some(name) {
            gl!(gl, bind_buffer(glow::ELEMENT_ARRAY_BUFFER, Some(name)));
        }
        self.indices = Some(name);
        self.indices_from = Handle::NULL;
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

/// The format of an attribute (OpenGL ES 3.2 table 10.2).
fn format(attribute: &VertexAttrib, relative: u32, point: u32) -> Outcome<Format> {
    let component = attribute.component_type().ok_or(FAILED)?;
    let kind = match component {
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
    let packed = matches!(component, AttribType::Int2101010Rev | AttribType::UnsignedInt2101010Rev);
    let whole = component.raw() <= AttribType::UnsignedInt.raw();
    // Nor components in another order, and the rest is an error of GL too.
    let odd = packed && attribute.size != 4 || attribute.is_integer != 0 && !whole;
    if attribute.is_bgra != 0 || attribute.is_long != 0 || odd {
        return Err(UNSUPPORTED);
    }
    Ok(Format {
        kind,
        size: i32::from(attribute.size),
        normalized: attribute.normalized != 0,
        integer: attribute.is_integer != 0,
        relative,
        point,
    })
}
