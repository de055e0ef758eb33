//! Whether variables fit in so many vectors: the packing of the OpenGL ES Shading Language 1.00, appendix A section 7.
//!
//! An implementation may do better than this; it must not refuse what fits so.

use super::types::Type;

/// Most leaves that are looked at: more than any server has room for.
const LEAVES: usize = 1 << 16;

/// Columns and rows of a leaf; a matrix takes a row a column, and one of two columns whole rows.
#[derive(Clone, Copy, Debug)]
struct Shape {
    /// Order of the packing: what comes first is packed first.
    order: u8,
    width: u8,
    rows: u32,
}

/// Whether the variables of these types fit. Samplers take nothing.
pub(super) fn fits<'a>(types: impl Iterator<Item = &'a Type>, vectors: u32) -> bool {
    let mut shapes = Vec::new();
    for ty in types {
        if !collect(ty, 1, &mut shapes) {
            return false;
        }
    }
    shapes.sort_by_key(|shape| (shape.order, std::cmp::Reverse(shape.rows)));
    let mut grid = vec![0_u8; vectors as usize];
    shapes.into_iter().all(|shape| place(&mut grid, shape))
}

/// Adds the leaves of a type; `false` when they are more than any server has room for.
fn collect(ty: &Type, times: u32, shapes: &mut Vec<Shape>) -> bool {
    match ty {
        Type::Value { columns, rows, .. } => {
            let (order, width) = match (*columns, *rows) {
                (4, _) => (0, 4),
                (2, _) => (1, 4),
                (1, 4) => (2, 4),
                (3, rows) => (3, rows.max(3)),
                (_, 3) => (4, 3),
                (_, 2) => (5, 2),
                _ => (6, 1),
            };
            shapes.push(Shape { order, width, rows: times.saturating_mul(u32::from(*columns)) });
            shapes.len() <= LEAVES
        }
        Type::Array { of, count } => collect(of, times.saturating_mul(*count), shapes),
        Type::Struct { members, .. } => members.iter().all(|member| collect(&member.ty, times, shapes)),
        Type::Sampler { .. } | Type::Other(_) => true,
    }
}

/// Finds room for one, in columns that the order of packing leaves contiguous.
fn place(grid: &mut [u8], shape: Shape) -> bool {
    let rows = shape.rows as usize;
    if rows == 0 {
        return true;
    }
    if rows > grid.len() {
        return false;
    }
    let mut best: Option<(usize, usize, u8)> = None;
    for shift in 0..=4 - shape.width {
        let mask = ((1_u8 << shape.width) - 1) << shift;
        let Some(start) = run(grid, mask, rows) else { continue };
        // A single column goes where the least is free; wider ones to the left.
        let free = grid.iter().filter(|row| **row & mask == 0).count();
        if best.is_none_or(|(_, least, _)| shape.width == 1 && free < least) {
            best = Some((start, free, mask));
        }
    }
    let Some((start, _, mask)) = best else { return false };
    for row in &mut grid[start..start + rows] {
        *row |= mask;
    }
    true
}

/// The first run of rows in which the columns of a mask are free.
fn run(grid: &[u8], mask: u8, rows: usize) -> Option<usize> {
    let mut free = 0;
    for (at, row) in grid.iter().enumerate() {
        free = if row & mask == 0 { free + 1 } else { 0 };
        if free == rows {
            return Some(at + 1 - rows);
        }
    }
    None
}
