//! The image of the default block: std140 (OpenGL 4.6 section 7.6.2.2).

use runahead_wire::values::ScalarType;

use super::types::Type;

/// Place of a type in a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Layout {
    /// Alignment, bytes.
    pub(super) align: u64,
    /// Bytes; 0 for samplers.
    pub(super) size: u64,
}

/// Alignment of arrays, structures and matrix columns.
const VEC4: u64 = 16;

/// The layout of a type.
pub(super) fn layout(ty: &Type) -> Layout {
    match ty {
        Type::Value { scalar, columns, rows } => {
            let (align, size) = vector(*scalar, *rows);
            match columns {
                1 => Layout { align, size },
                columns => {
                    let align = align.max(VEC4);
                    Layout { align, size: align * u64::from(*columns) }
                }
            }
        }
        Type::Array { of, count } => {
            let stride = stride(of);
            Layout { align: layout(of).align.max(VEC4), size: stride.saturating_mul(u64::from(*count)) }
        }
        Type::Struct { members, .. } => {
            let mut place = Cursor::default();
            let mut align = VEC4;
            for member in members {
                let layout = layout(&member.ty);
                if layout.size > 0 {
                    place.take(layout);
                    align = align.max(layout.align);
                }
            }
            let size = place.end.next_multiple_of(align);
            Layout { align, size }
        }
        Type::Sampler { .. } | Type::Other(_) => Layout { align: 1, size: 0 },
    }
}

/// Alignment and bytes of a column.
fn vector(scalar: ScalarType, rows: u8) -> (u64, u64) {
    let scalar = if scalar == ScalarType::Double { 8 } else { 4 };
    let align = match rows {
        1 => scalar,
        2 => 2 * scalar,
        _ => 4 * scalar,
    };
    (align, scalar * u64::from(rows))
}

/// Bytes from element to element of an array of a type; 0 for samplers.
pub(super) fn stride(of: &Type) -> u64 {
    let Layout { align, size } = layout(of);
    size.next_multiple_of(align.max(VEC4))
}

/// Bytes from column to column of a matrix.
pub(super) fn matrix_stride(scalar: ScalarType, rows: u8) -> u64 {
    vector(scalar, rows).0.max(VEC4)
}

/// Lays one thing behind the other.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Cursor {
    /// Bytes so far.
    pub(super) end: u64,
}

impl Cursor {
    /// The offset of the next one.
    pub(super) fn take(&mut self, layout: Layout) -> u64 {
        let start = self.end.next_multiple_of(layout.align);
        self.end = start.saturating_add(layout.size);
        start
    }
}
