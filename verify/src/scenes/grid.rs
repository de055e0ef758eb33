//! A surface cut into cells of eight by eight pixels, one case a cell.

use super::SIDE;

/// Pixels along each side of a cell.
pub(super) const CELL: u32 = 8;
/// Cells along each side of the surface.
pub(super) const CELLS: u32 = SIDE / CELL;

/// Clip coordinate of a window coordinate.
pub(super) fn clip(pixel: f32) -> f32 {
    pixel / (SIDE as f32 / 2.0) - 1.0
}

/// Position of a point of a cell, given in pixels from its lower left corner.
pub(super) fn at(cell: u32, [x, y]: [f32; 2]) -> [f32; 2] {
    let (column, row) = (cell % CELLS, cell / CELLS);
    [clip((column * CELL) as f32 + x), clip((row * CELL) as f32 + y)]
}

/// Corners of a rectangle of a cell as a strip: the sides are pixels from its lower left corner.
pub(super) fn strip(cell: u32, [left, bottom, right, top]: [f32; 4]) -> [[f32; 2]; 4] {
    [[left, bottom], [right, bottom], [left, top], [right, top]].map(|corner| at(cell, corner))
}

/// The whole of a cell, as a strip.
pub(super) fn whole(cell: u32) -> [[f32; 2]; 4] {
    strip(cell, [0.0, 0.0, CELL as f32, CELL as f32])
}

/// Cell of a pixel, and where in it.
pub(super) const fn of(x: u32, y: u32) -> (u32, u32, u32) {
    (y / CELL * CELLS + x / CELL, x % CELL, y % CELL)
}
