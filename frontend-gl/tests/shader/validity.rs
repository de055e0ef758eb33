//! `spirv-val` (Debian package spirv-tools) on what linking makes.

use std::{
    io::Write as _,
    process::{Command, Stdio},
    sync::LazyLock,
};

use crate::{common::build, table};

/// Whether the validator is there.
static VALIDATOR: LazyLock<bool> =
    LazyLock::new(|| Command::new("spirv-val").arg("--version").stdout(Stdio::null()).status().is_ok());

/// What the validator says against a module; none where it is content.
fn complaint(words: &[u32]) -> Option<String> {
    let mut child = Command::new("spirv-val")
        .args(["--target-env", "spv1.0", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("spirv-val starts");
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    // A validator that stops reading early says why on its error output.
    let _ = child.stdin.take().expect("piped").write_all(&bytes);
    let output = child.wait_with_output().expect("spirv-val ends");
    (!output.status.success()).then(|| String::from_utf8_lossy(&output.stderr).into_owned())
}

/// Asserts that the modules of a program are valid. One rule is not theirs: a loose uniform of truth values, which the
/// shading languages have, has no valid form in SPIR-V.
pub(crate) fn assert_valid(modules: &[Vec<u32>], what: &str) {
    if !*VALIDATOR {
        return;
    }
    for words in modules.iter().filter(|words| !words.is_empty()) {
        if let Some(complaint) = complaint(words) {
            assert!(
                complaint.contains("If OpTypeBool is stored in conjunction with OpVariable"),
                "{what}: {complaint}"
            );
        }
    }
}

#[test]
#[allow(clippy::print_stderr, reason = "a lane that did not run says so")]
fn modules_are_valid_and_a_broken_one_is_not() {
    if !*VALIDATOR {
        eprintln!("NOT RUN: spirv-val is not installed (Debian package spirv-tools)");
        return;
    }
    for case in table::PROGRAMS {
        let linked = build(case.vertex, case.fragment).unwrap_or_else(|log| panic!("{}: {log}", case.name));
        assert_valid(&linked.modules, case.name);
    }
    let mut broken =
        build(table::PROGRAMS[0].vertex, table::PROGRAMS[0].fragment).expect("links").modules[0].clone();
    broken.truncate(broken.len() - 1);
    assert!(complaint(&broken).is_some(), "a module without its end is refused");
}
