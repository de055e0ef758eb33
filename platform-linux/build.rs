//! The build stamp: the version and a digest of every source that ends up in a server.
//!
//! A client and the server that it spawns are built from one tree. Their layouts' fingerprints agree even when
//! their behaviour does not, and a stale server next to a fresh client is the commonest mistake of all; the
//! stamp catches it at the handshake.

use std::{
    fs,
    path::{Path, PathBuf},
};

/// Relative to this package: what a server is made of.
const TREES: [&str; 8] = [
    "../wire/src",
    "../rings/src",
    "../core/src",
    "../backend-gles/src",
    "../backend-vk/src",
    "src",
    "server/src",
    "../Cargo.lock",
];

fn files(path: &Path, found: &mut Vec<PathBuf>) {
    match fs::read_dir(path) {
        Ok(entries) => entries.flatten().for_each(|entry| files(&entry.path(), found)),
        Err(_) => found.push(path.to_owned()),
    }
}

fn main() {
    let mut found = Vec::new();
    for tree in TREES {
        println!("cargo::rerun-if-changed={tree}");
        files(Path::new(tree), &mut found);
    }
    found.sort();
    // FNV-1a: it tells builds apart, it protects nothing.
    let mut digest = 0xcbf2_9ce4_8422_2325_u64;
    for file in found {
        let bytes = fs::read(&file).unwrap_or_default();
        for byte in file.to_string_lossy().bytes().chain(bytes) {
            digest = (digest ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }
    let version = std::env::var("CARGO_PKG_VERSION").expect("cargo sets it");
    println!("cargo::rustc-env=RUNAHEAD_BUILD_STAMP={version}+{digest:016x}");
}
