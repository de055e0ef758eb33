//! The shaders of glmark2 (Debian package glmark2-data), against the driver.

use std::{collections::BTreeMap, fs, path::Path};

use crate::{
    common::{Active, active, build},
    driver,
    table::draw_both,
    validity,
};

const FOLDER: &str = "/usr/share/glmark2/shaders";

/// What the benchmark puts in front: precision, and constants that its scenes give.
const HEAD: &str = "#ifdef GL_ES\nprecision mediump float;\n#endif\n
    const vec4 MaterialDiffuse = vec4(0.3, 0.5, 0.7, 1.0); const vec4 MaterialAmbient = vec4(0.1);
    const vec4 LightColor = vec4(0.9); const vec4 MaterialColor = vec4(0.5, 0.4, 0.3, 1.0);
    const vec4 LightSourcePosition = vec4(20.0, 20.0, 10.0, 1.0); const float NormalStep = 0.01;
    const vec3 LightSourceHalfVector = vec3(0.2, 0.3, 0.9); const float TextureStepX = 0.002;
    const float TextureStepY = 0.002; const int Kernel = 3;\n";

fn sources(extension: &str) -> BTreeMap<String, String> {
    let mut sources = BTreeMap::new();
    for entry in fs::read_dir(Path::new(FOLDER)).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.extension().is_some_and(|found| found == extension) {
            let name = path.file_stem().expect("a name").to_string_lossy().into_owned();
            let text = fs::read_to_string(&path).expect("readable");
            // Places that a scene fills: a statement for statements, an expression where one is asked for.
            let text =
                text.replace("$DO_LIGHTS$", "gl_FragColor = compute_color(LightSourcePosition, vec4(0.8));");
            let highp = if extension == "vert" { "" } else { HEAD };
            let head =
                if extension == "vert" { HEAD.replace("precision mediump float;", "") } else { highp.into() };
            sources.insert(name, head + &text);
        }
    }
    sources
}

#[test]
#[allow(clippy::print_stderr, reason = "a lane that did not run says so")]
fn shaders_of_glmark2_do_what_they_do_on_the_driver() {
    let (vertex, fragment) = (sources("vert"), sources("frag"));
    if vertex.is_empty() {
        eprintln!("NOT RUN: {FOLDER} is not there (Debian package glmark2-data)");
        return;
    }
    let driver = driver::take();
    let (mut linked_pairs, mut same_lists, mut refused) = (0, 0, Vec::new());
    for (name, vertex) in &vertex {
        for (other, fragment) in
            fragment.iter().filter(|(other, _)| other.split('-').next() == name.split('-').next())
        {
            let what = format!("{name}.vert with {other}.frag");
            let ours = build(vertex, fragment);
            let theirs = driver.program(vertex, fragment, &[]);
            match (ours, theirs) {
                (Ok(ours), Ok(theirs)) => {
                    let (listed, wanted) = (active(&ours), theirs.active());
                    // The driver may know more of a value that it computes for nothing; it never knows more variables.
                    let holds = |all: &[Active], some: &[Active]| some.iter().all(|one| all.contains(one));
                    assert!(
                        holds(&listed.0, &wanted.0) && holds(&listed.1, &wanted.1),
                        "{what}: {listed:?} {wanted:?}"
                    );
                    same_lists += usize::from(listed == wanted);
                    validity::assert_valid(&ours.modules, &what);
                    let [original, through] = draw_both(&driver, &what, vertex, fragment, &ours);
                    assert!(original == through, "{what}");
                    linked_pairs += 1;
                }
                (Err(ours), Err(_)) => refused.push(format!("{what}: {ours}")),
                (Ok(_), Err(log)) => panic!("{what}: the driver refuses: {log}"),
                (Err(log), Ok(_)) => panic!("{what}: refused: {log}"),
            }
        }
    }
    eprintln!("{same_lists} of {linked_pairs} pairs have the driver's very list of active variables");
    assert!(same_lists * 10 >= linked_pairs * 8, "{same_lists} of {linked_pairs}");
    assert!(linked_pairs >= 30, "{linked_pairs} pairs link; both refuse\n{}", refused.join(""));
}
