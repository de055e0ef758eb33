//! Programs and libraries that tests start: with one package's tests cargo builds no other package's program, and no
//! library that nothing links to.

use std::{ffi::OsStr, path::PathBuf, process::Command};

/// Builds packages as the running test program was built, and answers the folder that they are in.
///
/// # Panics
/// They do not build; what cargo said.
#[must_use]
pub fn built(packages: &[&str]) -> PathBuf {
    let own = std::env::current_exe().expect("the path of this program");
    // `target/PROFILE/deps/TEST`.
    let folder = own.ancestors().nth(2).expect("the profile's folder");
    let profile = match folder.file_name().and_then(OsStr::to_str).expect("a name") {
        "debug" => "dev",
        other => other,
    };
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["build", "--quiet", "--profile", profile, "--target-dir"]);
    cargo.arg(folder.parent().expect("the target folder")).current_dir(env!("CARGO_MANIFEST_DIR"));
    for package in packages {
        cargo.args(["-p", package]);
    }
    let output = cargo.output().expect("cargo starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    folder.to_owned()
}
