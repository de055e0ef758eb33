//! The rules of the crate graph, read from `cargo metadata`.
//!
//! An apply never reads client memory because no server crate can reach the GL front: a property of this graph,
//! not of any code.

use std::{
    collections::{BTreeMap, BTreeSet},
    process::Command,
};

use serde_json::Value;

/// Workspace package to the packages that it depends on, development dependencies aside.
type Graph = BTreeMap<String, BTreeSet<String>>;

fn graph() -> Graph {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1", "--no-deps", "--offline"])
        .output()
        .expect("cargo runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: Value = serde_json::from_slice(&output.stdout).expect("cargo prints JSON");
    let packages = metadata["packages"].as_array().expect("packages");
    packages
        .iter()
        .map(|package| {
            let dependencies = package["dependencies"].as_array().expect("dependencies");
            let names = dependencies
                .iter()
                .filter(|dependency| dependency["kind"] != "dev")
                .map(|dependency| dependency["name"].as_str().expect("a name").to_owned())
                .collect();
            (package["name"].as_str().expect("a name").to_owned(), names)
        })
        .collect()
}

fn reaches(graph: &Graph, from: &str, to: &str) -> bool {
    let mut seen = BTreeSet::new();
    let mut next = vec![from];
    while let Some(package) = next.pop() {
        for dependency in graph.get(package).into_iter().flatten() {
            if dependency == to {
                return true;
            }
            if seen.insert(dependency) {
                next.push(dependency);
            }
        }
    }
    false
}

/// What is wrong with the graph.
fn breaches(graph: &Graph) -> Vec<String> {
    let mut breaches = Vec::new();
    for server in ["runahead-backend-gles", "runahead-backend-vk", "runahead-linux", "runahead-server"] {
        assert!(graph.contains_key(server), "{server} is no package of the workspace");
        if reaches(graph, server, "runahead-frontend-gl") {
            breaches.push(format!("{server} reaches the GL front"));
        }
    }
    for package in graph.keys() {
        if reaches(graph, package, "runahead-verify") && package != "runahead-cli" {
            breaches.push(format!("{package} reaches runahead-verify"));
        }
    }
    // The names that the no_std crates may use.
    let allowed: [(&str, &[&str]); 3] = [
        ("runahead-wire", &["zerocopy", "bytemuck", "static_assertions"]),
        ("runahead-rings", &["loom"]),
        ("runahead-core", &["runahead-wire", "runahead-rings", "heapless", "spin", "defmt"]),
    ];
    for (package, allowed) in allowed {
        for dependency in &graph[package] {
            if !allowed.contains(&dependency.as_str()) {
                breaches.push(format!("{package} depends on {dependency}"));
            }
        }
    }
    breaches
}

#[test]
fn the_graph_keeps_its_rules() {
    assert_eq!(breaches(&graph()), Vec::<String>::new());
}

#[test]
fn a_breach_is_found() {
    let add = |from: &str, to: &str| {
        let mut graph = graph();
        graph.get_mut(from).expect("a package").insert(to.to_owned());
        breaches(&graph)
    };
    assert_eq!(
        add("runahead-core", "runahead-frontend-gl").last().map(String::as_str),
        Some("runahead-core depends on runahead-frontend-gl")
    );
    assert!(
        add("runahead-linux", "runahead-frontend-gl").contains(&"runahead-linux reaches the GL front".into())
    );
    assert!(
        add("runahead-wire", "runahead-verify").contains(&"runahead-wire reaches runahead-verify".into())
    );
    assert!(add("runahead-rings", "libc").contains(&"runahead-rings depends on libc".into()));
}
