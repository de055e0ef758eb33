//! What the library exports, and how it is linked.

mod common;

use std::{collections::BTreeSet, fs};

use object::{Object, ObjectSymbol, elf, read::elf::Dyn, read::elf::ElfFile64};

fn exported(bytes: &[u8]) -> BTreeSet<String> {
    let file = object::File::parse(bytes).expect("an ELF file");
    let named = file.dynamic_symbols().filter(|symbol| symbol.is_definition());
    named.map(|symbol| symbol.name().expect("text").to_owned()).collect()
}

#[test]
fn it_exports_what_libglvnd_calls_and_nothing_else() {
    let bytes = fs::read(common::library()).unwrap();
    assert_eq!(exported(&bytes), BTreeSet::from(["__egl_Main".to_owned()]));
}

#[test]
fn it_is_never_unloaded_and_has_its_name() {
    let bytes = fs::read(common::library()).unwrap();
    let file: ElfFile64<'_, object::Endianness> = ElfFile64::parse(&*bytes).unwrap();
    let endian = file.endian();
    let dynamic = file.elf_section_table().dynamic(endian, &*bytes).unwrap().expect("a dynamic section").0;
    let flags = dynamic.iter().find(|entry| entry.d_tag(endian) == u64::from(elf::DT_FLAGS_1));
    let flags = flags.expect("flags").d_val(endian);
    assert_ne!(flags & u64::from(elf::DF_1_NODELETE), 0);
    assert!(bytes.windows(21).any(|name| name == b"libEGL_runahead.so.0\0"));
}

/// The list is not content with anything.
#[test]
fn another_export_is_found() {
    let libc = std::fs::read_to_string("/proc/self/maps").unwrap();
    let path =
        libc.lines().filter_map(|line| line.split_whitespace().nth(5)).find(|path| path.contains("libc.so"));
    let bytes = fs::read(path.expect("a C library")).unwrap();
    assert_ne!(exported(&bytes), BTreeSet::from(["__egl_Main".to_owned()]), "negative control");
}
