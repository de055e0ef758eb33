//! What the generated code needs to make its table.

use super::RowInfo;
use crate::payload::Payload;

/// Merges the live and the retired rows of a catalogue into its table, by their numbers.
#[must_use]
pub const fn table<const N: usize>(live: &[RowInfo], retired: &[RowInfo]) -> [RowInfo; N] {
    let mut rows = [live[0]; N];
    let (mut from_live, mut from_retired) = (0, 0);
    while from_live + from_retired < N {
        let at = from_live + from_retired;
        let take_live = from_retired == retired.len()
            || (from_live < live.len() && live[from_live].op < retired[from_retired].op);
        if take_live {
            rows[at] = live[from_live];
            from_live += 1;
        } else {
            rows[at] = retired[from_retired];
            from_retired += 1;
        }
    }
    rows
}

/// Whether every row's number is its position, from 1.
#[must_use]
pub const fn numbers_are_positions(rows: &[RowInfo]) -> bool {
    let mut at = 0;
    while at < rows.len() {
        if rows[at].op as usize != at + 1 {
            return false;
        }
        at += 1;
    }
    true
}

/// Number of elements of a tail that a payload's byte image declares.
#[must_use]
pub fn declared<P: Payload>(image: &[u8], count: fn(&P) -> u32) -> Option<u32> {
    P::read_from_bytes(image).ok().map(|payload| count(&payload))
}
