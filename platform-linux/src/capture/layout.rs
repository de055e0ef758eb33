//! Where the blobs of a record lie, by what the catalogue says of its row.

use std::sync::OnceLock;

use runahead_wire::{
    BlobRef, ReplySpace,
    payload::{Present, Shape},
    pipe::{Op, ROWS},
    record::{FLAG_REPLY, HEADER_SIZE, Header},
};

/// Bytes of a [`BlobRef`] before its size and segment.
const SIZE: usize = 8;

/// Places of the blobs in a row's payload.
static BLOBS: OnceLock<Vec<Vec<usize>>> = OnceLock::new();

fn blobs_of(op: u16) -> &'static [usize] {
    let all = BLOBS.get_or_init(|| {
        let places = |row: &runahead_wire::catalogue::RowInfo| {
            let members = row.payload.map_or(&[][..], |payload| payload.members);
            members
                .iter()
                .flat_map(|member| {
                    let count = match member.shape {
                        Shape::Blob => 1,
                        Shape::Array { count, item: Shape::Blob, .. } => count,
                        _ => 0,
                    };
                    (0..count).map(|n| member.offset + n * size_of::<BlobRef>())
                })
                .collect()
        };
        ROWS.iter().map(places).collect()
    });
    all.get(usize::from(op).wrapping_sub(1)).map_or(&[], Vec::as_slice)
}

/// Whether records of this row name bulk bytes.
#[must_use]
pub fn has_blobs(op: u16) -> bool {
    !blobs_of(op).is_empty()
}

/// The header of a record.
#[must_use]
pub fn header(record: &[u8]) -> Option<Header> {
    record.first_chunk::<HEADER_SIZE>().map(|bytes| Header::from_bytes(*bytes))
}

/// The row of a record; `None` for a number that no row has.
#[must_use]
pub fn op(record: &[u8]) -> Option<Op> {
    Op::from_raw(header(record)?.op)
}

/// Whether a record ends its frame.
#[must_use]
pub const fn ends_frame(op: u16) -> bool {
    op == Op::Present.raw()
}

/// Bytes before a record's payload.
pub(super) const fn payload_at(flags: u16) -> usize {
    if flags & FLAG_REPLY == 0 { HEADER_SIZE } else { HEADER_SIZE + size_of::<ReplySpace>() }
}

/// Gives each place of bulk bytes that a record names to `change`, and puts its answer there instead. `None`, with
/// the record changed in part, where `change` has none.
pub fn replace_blobs(record: &mut [u8], mut change: impl FnMut(BlobRef) -> Option<u64>) -> Option<()> {
    replace_blobs_at(record, |_, blob| change(blob))
}

/// As [`replace_blobs`]; `change` also gets where in the record the place is.
pub fn replace_blobs_at(
    record: &mut [u8],
    mut change: impl FnMut(usize, BlobRef) -> Option<u64>,
) -> Option<()> {
    let Some(head) = header(record) else { return Some(()) };
    for place in blobs_of(head.op) {
        let at = payload_at(head.flags) + place;
        let Some(bytes) = record.get_mut(at..at + size_of::<BlobRef>()) else { return Some(()) };
        let word = |at: usize| super::format::word64(bytes, at);
        let blob = BlobRef {
            offset: word(0),
            size: word(SIZE),
            segment: super::format::word32(bytes, 2 * SIZE),
            ..BlobRef::NONE
        };
        if !blob.is_none() {
            let offset = change(at, blob)?;
            bytes[..SIZE].copy_from_slice(&offset.to_le_bytes());
        }
    }
    Some(())
}

/// Puts another number of a frame into a present.
pub fn replace_serial(record: &mut [u8], serial: u64) {
    let at = HEADER_SIZE + std::mem::offset_of!(Present, frame_serial);
    if let Some(place) = record.get_mut(at..at + size_of::<u64>()) {
        place.copy_from_slice(&serial.to_le_bytes());
    }
}

/// Puts another reply space into a record that carries one.
pub fn replace_reply(record: &mut [u8], space: ReplySpace) {
    use runahead_wire::zerocopy::IntoBytes;
    let bytes = space.as_bytes();
    if let Some(place) = record.get_mut(HEADER_SIZE..HEADER_SIZE + bytes.len()) {
        place.copy_from_slice(bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_with_the_flag_has_its_blobs_found() {
        for row in ROWS {
            let declared: usize = row.blobs.iter().map(|blob| blob.count).sum();
            assert_eq!(blobs_of(row.op).len(), declared, "{}", row.name);
        }
        assert!(has_blobs(Op::ResourceSubData.raw()) && !has_blobs(Op::DrawVbo.raw()));
        assert_eq!(blobs_of(Op::CreateShaderState.raw()).len(), 7);
        assert!(!has_blobs(0) && !has_blobs(u16::MAX), "negative control");
    }
}
