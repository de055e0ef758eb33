//! Uploads cut to the stage put every byte where an uncut one would.
#![cfg(all(feature = "trace", not(runahead_loom)))]

mod common;

use common::{config, direct::applier};
use proptest::prelude::*;
use runahead_core::upload::{self, UploadError};
use runahead_wire::{
    BlobRef, Bulk, Format, Handle, Row, Sink,
    payload::{ResourceDesc, SubData, SubRegion},
    pipe::{Encoder, Pipe, Record},
    values::ResourceTarget,
    zerocopy::IntoBytes,
};

/// Keeps records, and the bytes of the last blob of each.
#[derive(Default)]
struct Kept {
    blob: Vec<u8>,
    uploads: Vec<(SubData, Vec<SubRegion>, Vec<u8>)>,
}

impl Sink for Kept {
    type Error = ();

    fn stage(&mut self, bulk: Bulk<'_>) -> Result<BlobRef, ()> {
        let Bulk::Bytes(bytes) = bulk else { unreachable!("uploads are bytes") };
        self.blob = bytes.to_vec();
        Ok(BlobRef::staged(0, bytes.len() as u64))
    }

    fn record<'r, R: Row<'r>>(&mut self, row: &R) -> Result<(), ()> {
        let mut words = vec![0u64; row.encoded_len().expect("a whole record") / 8];
        assert!(row.encode(words.as_mut_bytes()));
        let Ok(Record::ResourceSubData(row)) = Record::decode(words.as_bytes()) else {
            panic!("another row")
        };
        self.uploads.push((*row.payload, row.regions.to_vec(), std::mem::take(&mut self.blob)));
        Ok(())
    }
}

/// Writes uploads into an image of blocks, as a server would.
fn image(kept: &Kept, format: Format, columns: usize, rows: usize, slices: usize) -> Vec<Option<u8>> {
    let block = format.block();
    let (wide, high, size) = (u32::from(block.width), u32::from(block.height), usize::from(block.bytes));
    let mut image = vec![None; columns * rows * slices * size];
    for (data, regions, bytes) in &kept.uploads {
        assert_eq!(data.region_count as usize, regions.len());
        for region in regions {
            let (across, down) =
                (region.width.div_ceil(wide) as usize, region.height.div_ceil(high) as usize);
            let row_stride = match region.src_row_stride {
                0 => across * size,
                stride => stride as usize,
            };
            let slice_stride = match region.src_slice_stride {
                0 => row_stride * down,
                stride => stride as usize,
            };
            for slice in 0..region.depth as usize {
                for row in 0..down {
                    let from = region.src_offset as usize + slice * slice_stride + row * row_stride;
                    let (x, y) = ((region.x as u32 / wide) as usize, (region.y as u32 / high) as usize + row);
                    let to = (((region.z as usize + slice) * rows + y) * columns + x) * size;
                    for (to, from) in image[to..].iter_mut().zip(&bytes[from..from + across * size]) {
                        *to = Some(*from);
                    }
                }
            }
        }
    }
    image
}

proptest! {
    #![proptest_config(config(500))]

    #[test]
    fn a_cut_upload_is_the_uncut_one(
        compressed in any::<bool>(),
        (columns, rows, slices) in (1u32..20, 1u32..20, 1u32..4),
        (row_gap, slice_gap) in (0u32..3, 0u32..3),
        piece in 1usize..2000,
        seed in any::<u8>(),
    ) {
        let format = if compressed { Format::Etc1Rgb8 } else { Format::Rgba8 };
        let block = format.block();
        let row_stride = (columns + row_gap) * u32::from(block.bytes);
        let slice_stride = row_stride * (rows + slice_gap);
        let region = SubRegion {
            width: columns * u32::from(block.width),
            // A last row of blocks that is cut off by the edge.
            height: rows * u32::from(block.height) - u32::from(block.height - 1),
            depth: slices,
            src_offset: 8,
            src_row_stride: row_stride,
            src_slice_stride: slice_stride,
            ..SubRegion::default()
        };
        let len = 8 + (slice_stride * slices) as usize;
        let bytes: Vec<u8> = (0..len).map(|at| (at as u8).wrapping_mul(31).wrapping_add(seed)).collect();
        let upload = |piece| {
            let mut pipe = Encoder(Kept::default());
            upload::texture(&mut pipe, &SubData::default(), &[region], format, &bytes, piece).expect("recorded");
            pipe.0
        };
        let (whole, cut) = (upload(usize::MAX), upload(piece));
        prop_assert_eq!(whole.uploads.len(), 1);
        let row = (columns * u32::from(block.bytes)) as usize;
        for (_, _, part) in &cut.uploads {
            prop_assert!(part.len() <= piece.max(row), "a piece of {} bytes", part.len());
        }
        let seen = |kept| image(kept, format, columns as usize, rows as usize, slices as usize);
        let whole = seen(&whole);
        prop_assert!(whole.iter().all(Option::is_some));
        prop_assert_eq!(whole, seen(&cut));
    }

    #[test]
    fn a_cut_buffer_is_the_uncut_one(len in 0usize..5000, piece in 1usize..700, offset in 0u64..1 << 40) {
        let bytes: Vec<u8> = (0..len).map(|at| at as u8).collect();
        let mut pipe = Encoder(Kept::default());
        upload::buffer(&mut pipe, Handle::new(1, 1), offset, &bytes, piece).expect("recorded");
        let mut at = offset;
        let mut joined: Vec<u8> = Vec::new();
        for (data, regions, part) in &pipe.0.uploads {
            let range = data.buffer_range().expect("a buffer's");
            prop_assert!(regions.is_empty() && part.len() <= piece);
            prop_assert_eq!((range.offset, range.size), (at, part.len() as u64));
            at += range.size;
            joined.extend(part);
        }
        prop_assert_eq!(joined, bytes);
    }
}

#[test]
fn capacity_rows_behind_the_first_piece_are_not_row_0_again() {
    // The reference checked the source offset of each piece against the whole, so that rows from 819 on read row 0.
    let region = [SubRegion { width: 1, height: 2000, depth: 1, ..SubRegion::default() }];
    let bytes: Vec<u8> = (0..2000u32).flat_map(u32::to_le_bytes).collect();
    let mut pipe = Encoder(Kept::default());
    upload::texture(&mut pipe, &SubData::default(), &region, Format::Rgba8, &bytes, 1024).expect("recorded");
    let seen: Vec<u8> = image(&pipe.0, Format::Rgba8, 1, 2000, 1).into_iter().map(Option::unwrap).collect();
    assert_eq!(seen, bytes);
}

#[test]
fn the_applier_takes_what_the_cutter_makes() {
    let mut applier = applier();
    let desc = ResourceDesc {
        resource: Handle::new(1, 1),
        target: ResourceTarget::Texture3D.raw() as u8,
        internal_format: Format::Rgba8.raw(),
        width: 32,
        height: 32,
        depth: 4,
        array_layers: 1,
        levels: 1,
        ..ResourceDesc::default()
    };
    applier.resource_create(&desc).expect("a texture");
    let data = SubData {
        resource: Handle::new(1, 1),
        target: ResourceTarget::Texture3D.raw() as u8,
        level_width: 32,
        level_height: 32,
        level_depth: 4,
        ..SubData::default()
    };
    let region = [SubRegion { x: 3, y: 5, width: 20, height: 20, depth: 4, ..SubRegion::default() }];
    let bytes = [7; 20 * 20 * 4 * 4];
    upload::texture(&mut applier, &data, &region, Format::Rgba8, &bytes, 500).expect("applied");
    let short = upload::texture(&mut applier, &data, &region, Format::Rgba8, &bytes[1..], 500);
    assert_eq!(short, Err(UploadError::Region));
}
