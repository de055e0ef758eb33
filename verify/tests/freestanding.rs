//! The core crates need neither std nor an allocator: a library that links them has no symbol of either.

use std::{path::PathBuf, process::Command};

use object::{Object, ObjectSymbol, read::archive::ArchiveFile};

/// Builds the library; `features` as cargo takes them.
fn build(features: &str) -> Vec<u8> {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("..");
    let target =
        root.join("target/freestanding-check").join(if features.is_empty() { "plain" } else { features });
    let status = Command::new(env!("CARGO"))
        .current_dir(&root)
        // Flags of the build that runs this test are not the library's.
        .env_remove("RUSTFLAGS")
        .args(["build", "--quiet", "--package", "runahead-freestanding", "--profile", "freestanding"])
        .args(["--features", features])
        .arg("--target-dir")
        .arg(&target)
        .status()
        .expect("cargo runs");
    assert!(status.success(), "the freestanding library does not build");
    let library = target.join("freestanding/librunahead_freestanding.a");
    std::fs::read(&library).unwrap_or_else(|error| panic!("{}: {error}", library.display()))
}

/// The demangled names of all symbols, defined and undefined.
fn symbols(library: &[u8]) -> Vec<String> {
    let archive = ArchiveFile::parse(library).expect("an archive");
    let mut names = Vec::new();
    for member in archive.members() {
        let data = member.expect("a member").data(library).expect("its bytes");
        let file = object::File::parse(data).expect("an object file");
        for symbol in file.symbols() {
            let name = symbol.name().expect("a name");
            names.push(format!("{:#}", rustc_demangle::demangle(name)));
        }
    }
    names
}

/// Whether a demangled name says that std, alloc or an allocator is there.
fn forbidden(name: &str) -> bool {
    let crates = ["std::", "alloc::"].into_iter().any(|prefix| {
        name.match_indices(prefix).any(|(at, _)| {
            // The start of a path, not a module such as `core::alloc`.
            !name[..at].ends_with(|before: char| before.is_alphanumeric() || before == '_' || before == ':')
        })
    });
    crates || ["__rust_alloc", "__rdl_alloc", "__rg_alloc", "malloc"].iter().any(|part| name.contains(part))
}

#[test]
fn nothing_of_std_and_no_allocator() {
    let names = symbols(&build(""));
    for expected in [
        "forward_commands",
        "forward_events",
        "move_bytes",
        "record_a_draw",
        "apply_records",
        "make_a_context",
    ] {
        assert!(names.iter().any(|name| name == expected), "{expected} is not in the library");
    }
    let found: Vec<_> = names.iter().filter(|name| forbidden(name)).collect();
    assert!(found.is_empty(), "the core crates pull in {found:?}");
}

#[test]
fn the_check_finds_std_where_it_is() {
    let names = symbols(&build("uses-std"));
    for evidence in ["std::", "alloc::", "__rust_alloc"] {
        let found = names.iter().any(|name| forbidden(name) && name.contains(evidence));
        assert!(found, "a library that uses std shows no `{evidence}`");
    }
    assert!(!forbidden("core::alloc::layout::Layout::new"));
    assert!(!forbidden("<core::fmt::Formatter>::pad"));
}
