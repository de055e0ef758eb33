//! The caps blob.

mod common;

use common::Aligned;
use runahead_wire::caps::{CapsHead, CapsLimits, CapsTexts, CapsView, FormatCaps};
use runahead_wire::values::{BackendKind, CapsBits, FormatFeatures};
use runahead_wire::{Format, limits};

fn blob() -> Aligned {
    let limits = CapsLimits { max_texture_size: 4096, max_texture_lod_bias: 15.0, ..Default::default() };
    let formats = [
        FormatCaps {
            format: Format::Rgba8.raw(),
            features: (FormatFeatures::SAMPLED | FormatFeatures::RENDERABLE).raw(),
            attachment_samples: 1 << 4,
            texture_samples: 0,
        },
        FormatCaps { format: Format::RgbaAstc4x4.raw(), ..Default::default() },
    ];
    let texts = CapsTexts {
        vendor: "v",
        renderer: "llvmpipe",
        version: "",
        shading_language_version: "3.20",
        extensions: "A B",
        native_version: "µ",
    };
    let head = CapsHead {
        generation: 3,
        backend: BackendKind::Gles.raw(),
        bits: CapsBits::TIMER_QUERY.raw(),
        ..Default::default()
    };
    let view = CapsView::new(head, &limits, &formats, &texts).expect("within the limits");
    let mut bytes = Aligned::dirty(view.encoded_len());
    assert!(view.encode(bytes.as_mut()));
    assert!(!view.encode(Aligned::dirty(view.encoded_len() + 1).as_mut()));

    let read = CapsView::parse(bytes.as_ref()).expect("valid");
    assert_eq!(read, view);
    assert_eq!(read.texts(), texts);
    assert_eq!(read.formats()[1].format(), Some(Format::RgbaAstc4x4));
    assert_eq!(read.head().backend(), Some(BackendKind::Gles));
    assert_eq!(read.limits().max_texture_size, 4096);
    bytes
}

#[test]
fn a_blob_reads_back_as_it_was_written() {
    blob();
}

#[test]
fn a_bad_blob_is_refused_by_name() {
    let good = blob();
    let refused = |change: &dyn Fn(&mut Vec<u8>)| {
        let mut bytes = good.as_ref().to_vec();
        change(&mut bytes);
        CapsView::parse(Aligned::new(&bytes).as_ref()).expect_err("refused").to_string()
    };
    let table = size_of::<CapsHead>() + size_of::<CapsLimits>();
    let number = |bytes: &mut Vec<u8>, at: usize, number: u32| {
        bytes[at..at + 4].copy_from_slice(&number.to_ne_bytes())
    };
    for (expected, change) in [
        ("CapsHead.Size", &(|bytes: &mut Vec<u8>| bytes.truncate(8)) as &dyn Fn(&mut Vec<u8>)),
        ("CapsHead.Size", &|bytes| bytes.truncate(100)),
        ("CapsHead.Size", &|bytes| bytes.push(0)),
        ("CapsHead.Size", &|bytes| bytes.truncate(bytes.len() - 1)),
        ("CapsHead.Backend", &|bytes| number(bytes, 8, 99)),
        ("CapsHead.ShaderDialect", &|bytes| number(bytes, 12, 2)),
        ("CapsHead.Bits", &|bytes| number(bytes, 16, 1 << 7)),
        ("CapsHead.FormatCount", &|bytes| number(bytes, 20, limits::CAPS_FORMATS + 1)),
        ("CapsHead.FormatCount", &|bytes| number(bytes, 20, limits::CAPS_FORMATS)),
        ("CapsHead.TextSizes", &|bytes| number(bytes, 24, u32::MAX)),
        ("CapsHead.TextSizes", &|bytes| bytes[table + 32] = 0xFF),
        ("FormatCaps.Format", &|bytes| number(bytes, table, 9999)),
        ("FormatCaps.Features", &|bytes| number(bytes, table + 4, 1 << 31)),
    ] {
        assert_eq!(refused(change), format!("ProtocolCorruption(\"{expected}\")"));
    }
}

#[test]
fn every_cut_of_a_blob_is_refused() {
    let good = blob();
    for len in 0..good.as_ref().len() {
        assert!(CapsView::parse(Aligned::new(&good.as_ref()[..len]).as_ref()).is_err(), "cut to {len}");
    }
}

#[test]
fn parts_over_their_limits_make_no_blob() {
    let text = "x".repeat(limits::CAPS_TEXT_BYTES as usize + 1);
    let limits = CapsLimits::default();
    let new = |formats: &[FormatCaps], vendor: &str| {
        CapsView::new(CapsHead::default(), &limits, formats, &CapsTexts { vendor, ..Default::default() })
            .is_some()
    };
    assert!(new(&[], &text[1..]));
    assert!(!new(&[], &text));
    assert!(!new(&[FormatCaps::default(); 1025], ""));
}
