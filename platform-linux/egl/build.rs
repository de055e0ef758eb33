//! How the vendor library is linked.

use std::{env, fs, path::PathBuf};

/// The one name that libglvnd looks for.
const SCRIPT: &str = "{ global: __egl_Main; local: *; };\n";

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let folder = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it"));
    let script = folder.join("exports");
    fs::write(&script, SCRIPT).expect("the folder is ours to write to");
    let argument = |text: &str| println!("cargo::rustc-cdylib-link-arg=-Wl,{text}");
    argument("-soname,libEGL_runahead.so.0");
    // Threads of it, thread-locals of it and handlers that drivers register must never lose their code.
    argument("-z,nodelete");
    argument("-z,defs");
    argument(&format!("--version-script={}", script.display()));
}
