//! Nothing above `Link` names a kind of link or a topology: what is written once holds on all of them.

use std::{
    fs,
    path::{Path, PathBuf},
};

/// What lies above: whole crates, by their folders.
const ABOVE: &[&str] = &["wire/src", "core/src", "frontend-gl/src", "backend-gles/src", "backend-vk/src"];

/// The trait and the adapter that makes any doorbell a link.
const LINK: &str = "core/src/link.rs";

/// Topologies, links, and what the platform makes them of, in lower case.
const NAMES: &[&str] = &[
    "inproc",
    "spawn",
    "unix",
    "tcp",
    "shm",
    "memfd",
    "futex",
    "eventfd",
    "bells",
    "shmlink",
    "socketlink",
    "runahead_linux",
    "runahead_android",
];

/// Calls of the standard library that start a thread.
const THREADS: &[&str] = &["thread::spawn(", ".spawn(", ".spawn_scoped("];

/// The words of code that name one: identifiers, also by the parts of `snake_case` and `CamelCase`. Comments may.
fn named(code: &str) -> Vec<String> {
    let code = code.lines().map(|line| line.split("//").next().unwrap_or_default());
    let code = code.map(|line| THREADS.iter().fold(line.to_owned(), |line, call| line.replace(call, "(")));
    let code = code.collect::<Vec<_>>().join("\n");
    let words = code.split(|one: char| !one.is_alphanumeric() && one != '_');
    let names = |word: &&str| {
        let mut parts = vec![word.to_lowercase()];
        parts.extend(word.split('_').map(str::to_lowercase));
        let mut part = String::new();
        for one in word.chars() {
            if one.is_uppercase() {
                parts.push(std::mem::take(&mut part));
            }
            part.extend(one.to_lowercase());
        }
        parts.push(part);
        parts.iter().any(|part| NAMES.contains(&&**part))
    };
    words.filter(names).map(str::to_owned).collect()
}

fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            files(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

#[test]
fn nothing_above_link_names_a_link_or_a_topology() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut breaches = Vec::new();
    for crate_of in ABOVE {
        let mut found = Vec::new();
        files(&root.join(crate_of), &mut found);
        assert!(!found.is_empty(), "{crate_of} has no code");
        for file in found.iter().filter(|file| **file != root.join(LINK)) {
            let code = fs::read_to_string(file).expect("text");
            breaches.extend(named(&code).into_iter().map(|word| format!("{}: {word}", file.display())));
        }
    }
    assert_eq!(breaches, Vec::<String>::new());
}

/// The negative controls.
#[test]
fn a_name_is_found() {
    for code in [
        "if topology == Topology::Inproc {",
        "use runahead_linux::session::Client;",
        "let bell = FutexDoorbell;",
        "fn is_spawn(&self) -> bool {",
        "if name == \"spawn\" {",
        "link: Bells<'a, D>,",
        "match address { Address::Tcp(host) => 1, }",
    ] {
        assert_eq!(named(code).len(), 1, "{code}");
    }
    assert_eq!(
        named("thread::spawn(spawned); // inproc\nlet topology = Topology::Triangles;"),
        Vec::<String>::new()
    );
    // What lies below has them, so the search works on files too.
    let below =
        fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(LINK)).expect("text");
    assert!(named(&below).contains(&"Bells".to_owned()));
}
