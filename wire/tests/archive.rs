//! The reflection archive.

mod common;

use common::Aligned;
use runahead_wire::{
    archive::{ArchiveBlock, ArchiveHead, ArchiveInterface, ArchiveUniform, ArchiveView, TextSpan},
    limits,
    values::{BlockClass, InterfaceSide, ProgramFlags, ResourceTarget, ScalarType, StageMask, UniformClass},
};

const TEXTS: &str = "lights[0].color.m0[12]u_texa_position";

fn span(text: &str) -> TextSpan {
    let offset = TEXTS.find(text).expect("one of the texts") as u32;
    TextSpan { offset, size: text.len() as u32 }
}

fn color() -> ArchiveUniform {
    ArchiveUniform {
        name: span("lights[0].color"),
        path: span(".m0[12]"),
        variable: 3,
        location: 4,
        offset: 32,
        array_size: 2,
        array_stride: 64,
        matrix_stride: 16,
        stages: StageMask::FRAGMENT.raw(),
        scalar: ScalarType::Float.raw() as u8,
        columns: 3,
        rows: 3,
        ..ArchiveUniform::default()
    }
}

fn parts() -> ([ArchiveUniform; 2], [ArchiveInterface; 1], [ArchiveBlock; 1]) {
    let sampler = ArchiveUniform {
        name: span("u_tex"),
        variable: 1,
        location: 1,
        array_size: 1,
        columns: 1,
        rows: 4,
        class: UniformClass::Sampler.raw() as u8,
        target: ResourceTarget::CubeMap.raw() as u16,
        ..ArchiveUniform::default()
    };
    let input = ArchiveInterface {
        name: span("a_position"),
        location: 5,
        array_size: 1,
        side: InterfaceSide::Input.raw() as u8,
        columns: 4,
        rows: 4,
        ..ArchiveInterface::default()
    };
    let block = ArchiveBlock { binding: 2, size: 64, class: BlockClass::Storage.raw(), ..Default::default() };
    ([color(), sampler], [input], [block])
}

fn blob() -> Aligned {
    let (uniforms, interfaces, blocks) = parts();
    let head = ArchiveHead { flags: ProgramFlags::BROADCASTS_COLOR.raw(), ..ArchiveHead::default() };
    let view = ArchiveView::new(head, &uniforms, &interfaces, &blocks, TEXTS).expect("valid");
    let mut bytes = Aligned::dirty(view.encoded_len());
    assert!(view.encode(bytes.as_mut()));
    assert!(!view.encode(Aligned::dirty(view.encoded_len() + 1).as_mut()));
    let read = ArchiveView::parse(bytes.as_ref()).expect("valid");
    assert_eq!(read, view);
    assert_eq!(read.text(read.uniforms()[0].name), "lights[0].color");
    assert_eq!(read.head().flags(), Some(ProgramFlags::BROADCASTS_COLOR));
    bytes
}

#[test]
fn an_archive_reads_back_as_it_was_written() {
    blob();
    let empty = ArchiveView::new(ArchiveHead::default(), &[], &[], &[], "").expect("valid");
    assert_eq!(empty.encoded_len(), size_of::<ArchiveHead>());
}

#[test]
fn the_image_of_a_value_is_what_its_strides_say() {
    // Two elements of three columns of three floats.
    assert_eq!(color().image(), Some(32..32 + 64 + 2 * 16 + 12));
    assert_eq!(ArchiveUniform { array_stride: 43, ..color() }.image(), None);
    assert_eq!(ArchiveUniform { matrix_stride: 11, ..color() }.image(), None);
    assert_eq!(ArchiveUniform { offset: limits::GLOBAL_CONSTANTS_BYTES, ..color() }.image(), None);
    assert_eq!(ArchiveUniform { array_size: u32::MAX, ..color() }.image(), None);
    let sampler = ArchiveUniform { class: UniformClass::Sampler.raw() as u8, offset: u32::MAX, ..color() };
    assert_eq!(sampler.image(), Some(0..0));
}

#[test]
fn a_bad_archive_is_refused_by_name() {
    let refused = |change: &dyn Fn(&mut ArchiveUniform)| {
        let (mut uniforms, interfaces, blocks) = parts();
        change(&mut uniforms[0]);
        ArchiveView::new(ArchiveHead::default(), &uniforms, &interfaces, &blocks, TEXTS)
            .expect_err("refused")
            .to_string()
    };
    for (change, field) in [
        (&|uniform: &mut ArchiveUniform| uniform.name.size = 99) as &dyn Fn(&mut ArchiveUniform),
        &|uniform| uniform.path = span("lights"),
        &|uniform| uniform.offset = u32::MAX,
        &|uniform| uniform.location = u32::MAX,
        &|uniform| uniform.columns = 0,
        &|uniform| uniform.rows = 5,
        &|uniform| uniform.array_size = 0,
        &|uniform| uniform.class = 9,
    ]
    .into_iter()
    .zip(["Name", "Path", "Offset", "Location", "Columns", "Rows", "ArraySize", "Class"])
    {
        assert_eq!(refused(change), format!("ProtocolCorruption(\"ArchiveUniform.{field}\")"));
    }
    let good = blob();
    for len in 0..good.as_ref().len() {
        ArchiveView::parse(Aligned::new(&good.as_ref()[..len]).as_ref()).expect_err("a part is missing");
    }
    let mut text = good.as_ref().to_vec();
    *text.last_mut().expect("not empty") = 0xff;
    let error = ArchiveView::parse(Aligned::new(&text).as_ref()).expect_err("no UTF-8").to_string();
    assert_eq!(error, "ProtocolCorruption(\"ArchiveHead.TextSize\")");
}

#[test]
fn a_path_is_members_and_elements() {
    let path = |text: &str| {
        let uniform = ArchiveUniform {
            path: TextSpan { offset: 0, size: text.len() as u32 },
            array_size: 1,
            columns: 1,
            rows: 1,
            ..ArchiveUniform::default()
        };
        ArchiveView::new(ArchiveHead::default(), &[uniform], &[], &[], text).is_ok()
    };
    for good in ["", ".m0", "[0]", "[10].m3.m12[7]"] {
        assert!(path(good), "{good}");
    }
    for bad in [".", ".m", ".m00", "[01]", "[", "[1", "[]", ".x", "m0", ".m0;", "[1]]", "[100000]", ".m-1"] {
        assert!(!path(bad), "{bad}");
    }
}
