//! Monotone 64-bit positions.
//!
//! Cursors count bytes, ordinals count records. Both only grow and are compared by their distance, so that a
//! wrap past 2^64 (which tests start next to) is nothing special.

/// Whether `have` is at or past `want`: every wait of this crate is "at least".
#[inline(always)]
#[must_use]
pub const fn reached(have: u64, want: u64) -> bool {
    have.wrapping_sub(want) as i64 >= 0
}

/// `size` rounded up to a multiple of `step`, a power of two; `None` on overflow.
#[inline(always)]
pub(crate) const fn round_up(size: usize, step: usize) -> Option<usize> {
    match size.checked_add(step - 1) {
        Some(sum) => Some(sum & !(step - 1)),
        None => None,
    }
}

/// Keeps the last value of a peer's cursor and checks each newer one against it.
///
/// A valid cursor moves forward from the last value seen and never past `limit`, and stays on the 8-byte grid.
#[inline(always)]
pub(crate) const fn advanced(last: u64, new: u64, limit: u64) -> bool {
    new.wrapping_sub(last) <= limit.wrapping_sub(last) && new.is_multiple_of(8)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comparisons_survive_the_wrap() {
        for start in [0, u64::from(u32::MAX) - 1, u64::MAX - 1] {
            assert!(reached(start, start));
            assert!(reached(start.wrapping_add(3), start));
            assert!(!reached(start, start.wrapping_add(3)));
            let grid = start & !7;
            assert!(advanced(grid, grid, grid));
            assert!(advanced(grid, grid.wrapping_add(16), grid.wrapping_add(16)));
            assert!(!advanced(grid, grid.wrapping_add(24), grid.wrapping_add(16)), "past the limit");
            assert!(!advanced(grid, grid.wrapping_sub(8), grid.wrapping_add(16)), "backwards");
            assert!(!advanced(grid, grid.wrapping_add(4), grid.wrapping_add(16)), "off the grid");
        }
    }
}
