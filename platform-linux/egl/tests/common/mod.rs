//! The library, the server and `runahead`, built into the folder that the tests are in.

#![allow(dead_code, reason = "each test program uses a part of it")]

use std::{
    ffi::OsStr,
    path::{Path, PathBuf},
    process::{Command, Output},
    sync::OnceLock,
};

/// The folder. With one package's tests cargo builds neither another's program nor a library that nothing links to.
pub fn installation() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| {
        let own = std::env::current_exe().expect("a path");
        // `target/PROFILE/deps/TEST`.
        let folder = own.ancestors().nth(2).expect("the profile's folder");
        let profile = match folder.file_name().and_then(OsStr::to_str).expect("a name") {
            "debug" => "dev",
            other => other,
        };
        let built = Command::new(env!("CARGO"))
            .args(["build", "--quiet", "--profile", profile, "-p", "runahead-egl", "-p", "runahead-server"])
            .args(["-p", "runahead-cli", "--target-dir"])
            .arg(folder.parent().expect("the target folder"))
            .current_dir(env!("CARGO_MANIFEST_DIR"))
            .output()
            .expect("cargo starts");
        assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
        folder.to_owned()
    })
}

/// The vendor library.
pub fn library() -> PathBuf {
    installation().join("libEGL_runahead.so")
}

/// Runs a test of this test program, which is ignored when it is not asked for, under `runahead run`.
pub fn run(topology: &str, test: &str) -> Output {
    command(topology, test).output().expect("runahead starts")
}

/// What does so.
pub fn command(topology: &str, test: &str) -> Command {
    let mut command = Command::new(installation().join("runahead"));
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("RUNAHEAD_") {
            command.env_remove(name);
        }
    }
    command.args(["run", "--topology", topology, "--"]).arg(std::env::current_exe().expect("a path"));
    command.args([test, "--exact", "--ignored", "--nocapture"]);
    command
}

/// Whether exactly that one test ran and passed.
pub fn passed(output: &Output) -> Result<(), String> {
    let text = String::from_utf8_lossy(&output.stdout);
    if output.status.success() && text.contains("1 passed; 0 failed") {
        return Ok(());
    }
    Err(format!("{:?}\n{text}\n{}", output.status, String::from_utf8_lossy(&output.stderr)))
}
