//! Vertex input.
//!
//! Source: OpenGL 4.6 sections 10.2 to 10.4 (current values, vertex arrays, indirect buffers).

use super::payload;
use crate::bulk::BlobRef;
use crate::handle::Handle;
use crate::limits;
use crate::values::{AttribType, ValueClass};

payload! {
    /// Layout of vertex attributes. The blob holds as many [`VertexAttrib`]s as counted, then the
    /// [`VertexBindingPoint`]s; there is none when both counts are 0.
    pub struct VertexElements: 40 {
        /// The vertex-elements CSO.
        cso: Handle,
        /// Attributes.
        attribute_count: u32,
        /// Binding points.
        binding_point_count: u32,
        /// Both arrays.
        blob: BlobRef,
    }
    check |elements| {
        if elements.attribute_count > limits::VERTEX_ATTRIBS {
            Some("attribute_count")
        } else if elements.binding_point_count > limits::VERTEX_BINDINGS {
            Some("binding_point_count")
        } else {
            None
        }
    }

    /// One vertex attribute; in a blob.
    pub struct VertexAttrib: 24 {
        /// Bytes from the start of a vertex.
        offset: u64,
        /// Bytes from vertex to vertex as the application gave them; 0 for no gap.
        stride: i32,
        /// Type of the components.
        component_type: u32 as AttribType,
        /// Components, 1 to 4.
        size: u8,
        /// Whether the array is enabled; otherwise the current value counts.
        enabled: u8 as bool,
        /// Whether integers are mapped to [0, 1] or [-1, 1].
        normalized: u8 as bool,
        /// Whether the shader sees integers.
        is_integer: u8 as bool,
        /// Whether the shader sees 64-bit floats.
        is_long: u8 as bool,
        /// Whether the components lie in the order blue, green, red, alpha.
        is_bgra: u8 as bool,
        /// Binding point that feeds the attribute.
        binding_index: u8,
        #[doc(hidden)]
        _pad: u8,
    }
    check |attrib| {
        if attrib.size == 0 || attrib.size > 4 {
            Some("size")
        } else if u32::from(attrib.binding_index) >= limits::VERTEX_BINDINGS {
            Some("binding_index")
        } else {
            None
        }
    }

    /// One vertex buffer binding point; in a blob.
    pub struct VertexBindingPoint: 16 {
        /// Bytes from the start of the buffer.
        offset: u64,
        /// Bytes from vertex to vertex; 16 initially.
        stride: i32,
        /// Instances that share a value; 0 for one value a vertex.
        divisor: u32,
    }

    /// Head of a window of vertex buffers.
    pub struct VertexBuffers: 16 {
        /// First binding point.
        start: u32,
        /// Elements of the tail.
        count: u32,
        /// Base instance that the offsets already contain.
        base_instance: u32,
        #[doc(hidden)]
        _pad: u32,
    }
    check |window| {
        let end = window.start.checked_add(window.count);
        end.is_none_or(|end| end > limits::VERTEX_BINDINGS).then_some("count")
    }

    /// A buffer at a vertex binding point.
    pub struct VertexBuffer: 32 {
        /// The buffer; null unbinds the point.
        resource: Handle,
        /// First byte.
        offset: u64,
        /// Bytes from vertex to vertex.
        stride: u32,
        /// Instances that share a value; 0 for one value a vertex.
        divisor: u32,
        /// Binding point.
        binding_index: u32,
        #[doc(hidden)]
        _pad: u32,
    }
    check |buffer| { (buffer.binding_index >= limits::VERTEX_BINDINGS).then_some("binding_index") }

    /// The index buffer of later draws.
    pub struct IndexBuffer: 24 {
        /// The buffer; null unbinds it.
        resource: Handle,
        /// First byte.
        offset: u64,
        /// Bytes of an index: 1, 2 or 4, or 0 for not known yet.
        index_size: u32,
        #[doc(hidden)]
        _pad: u32,
    }
    check |index| { (!matches!(index.index_size, 0 | 1 | 2 | 4)).then_some("index_size") }

    /// The buffers of later indirect commands.
    pub struct IndirectBuffers: 16 {
        /// Parameters of draws.
        draw_indirect: Handle,
        /// Number of draws.
        parameter: Handle,
    }

    /// Head of the current values of attributes without an array.
    pub struct VertexAttribDefaults: 8 {
        /// Attributes that follow, bit `n` for attribute `n`.
        mask: u32,
        /// Elements of the tail: as many as `mask` has bits.
        count: u32,
    }
    check |defaults| { (defaults.count != defaults.mask.count_ones()).then_some("count") }

    /// The current value of one attribute. The three views hold the value as it was converted for each kind
    /// of shader input, because a conversion of one from another would lose bits.
    pub struct AttribValue: 56 {
        /// Attribute.
        location: u32,
        /// How the application gave the value.
        value_class: u8 as ValueClass,
        #[doc(hidden)]
        _pad: [u8; 3],
        /// For floating-point inputs; the bits of four `f32`.
        float_view: [u32; 4],
        /// For signed inputs; the bits of four `i32`.
        int_view: [u32; 4],
        /// For unsigned inputs.
        uint_view: [u32; 4],
    }
    check |value| { (value.location >= limits::VERTEX_ATTRIBS).then_some("location") }
}

impl VertexElements {
    /// Bytes that the blob must have for the counts of this payload.
    #[must_use]
    pub const fn blob_size(&self) -> u64 {
        self.attribute_count as u64 * size_of::<VertexAttrib>() as u64
            + self.binding_point_count as u64 * size_of::<VertexBindingPoint>() as u64
    }
}
