//! Source that means harm ends in an info log: no crash, no output, in bounded time.

use std::{
    fmt::Write as _,
    process::{Command, Stdio},
};

use runahead_frontend_gl::shader::{Stage, compile};

use crate::common::{Numbers, all_extensions, build, environment};
use crate::table::PROGRAMS;

/// Set in the process whose output is looked at.
const INNER: &str = "SHADER_TEST_INNER";

fn repeated(before: &str, one: &str, count: usize, behind: &str) -> String {
    before.to_owned() + &one.repeat(count) + behind
}

fn sources() -> Vec<(&'static str, String)> {
    let main = |body: &str| {
        format!("precision mediump float; void main() {{ float x = 1.0; {body}; gl_FragColor = vec4(x); }}")
    };
    let mut doubling = String::from("#define M0 x + x\n");
    for level in 1..64 {
        writeln!(doubling, "#define M{level} M{} + M{0}", level - 1).expect("a text");
    }
    let mut functions = String::from("#define F0(a) a + a\n");
    for level in 1..40 {
        writeln!(functions, "#define F{level}(a) F{}(a) + F{0}(a)", level - 1).expect("a text");
    }
    let mut structs = String::from("precision mediump float; struct S0 { float a; float b; };\n");
    for level in 1..40 {
        writeln!(structs, "struct S{level} {{ S{} a; S{0} b; }};", level - 1).expect("a text");
    }
    let mut arrays = String::from("precision mediump float; struct S0 { float a[100]; };\n");
    for level in 1..10 {
        writeln!(arrays, "struct S{level} {{ S{} a[100]; }};", level - 1).expect("a text");
    }
    let mut noise = Numbers(1);
    vec![
        ("nothing", String::new()),
        ("a NUL", "void main() {\0}".into()),
        ("parentheses", main(&format!("x = {}1.0{}", "(".repeat(100_000), ")".repeat(100_000)))),
        ("brackets", main(&repeated("x = a", "[a", 100_000, ""))),
        ("braces", main(&repeated("", "{", 100_000, ""))),
        ("a long sum", main(&repeated("x = 1.0", " + x", 200_000, ""))),
        ("a sum within bounds", main(&repeated("x = 1.0", " + x", 30_000, ""))),
        ("minus", main(&repeated("x = ", "- ", 300_000, "x"))),
        ("not", main(&repeated("bool b = ", "!", 60_000, "true"))),
        ("conditions", main(&repeated("x = ", "x > 0.0 ? x : ", 10_000, "x"))),
        ("else", main(&repeated("if (x > 1.0) x = 0.0;", " else if (x > 2.0) x = 1.0;", 30_000, ""))),
        ("nested ifs", main(&repeated("", "if (x > 1.0) ", 60_000, "x = 0.0"))),
        ("macros that double", doubling + &main("x = M63")),
        ("function macros that double", functions + &main("x = F39(x)")),
        ("a macro of itself", format!("#define A B\n#define B A\n{}", main("x = A"))),
        ("a tangled macro", format!("#define G(x) x x\n#define F(g) g(g(g(1)))\n{}", main("x = F(G)"))),
        ("nested macro calls", format!("#define F(x) x + x\n{}", main(&format!("x = {}x{}", "F(".repeat(60), ")".repeat(60))))),
        ("structs that double", structs + "uniform S39 s; void main() { gl_FragColor = vec4(0.0); }"),
        ("arrays of structs", arrays + "uniform S9 s; void main() { gl_FragColor = vec4(0.0); }"),
        ("a huge array", "precision mediump float; uniform float a[2000000000]; void main() { gl_FragColor = vec4(a[1]); }".into()),
        ("a huge local array", main("float a[2000000000]; a[3] = x; x = a[3]")),
        ("a conditional directive", format!("#if {}1\n#endif\n{}", "(".repeat(100_000), main(""))),
        ("a conditional directive within bounds", format!("#if {}1{}\n#endif\n{}", "(".repeat(8000), ")".repeat(8000), main(""))),
        ("nested conditional directives", "#if 1\n".repeat(100_000)),
        ("an include", format!("#extension GL_GOOGLE_include_directive : enable\n#include \"/etc/hostname\"\n{}", main(""))),
        ("another include", format!("#include </etc/hostname>\n{}", main(""))),
        ("any extension", format!("#extension GL_EXT_spirv_intrinsics : enable\n#undef GL_ES\n{}", main(""))),
        ("a version that is none", "#version 4294967296\nvoid main() {}".into()),
        ("a version of tomorrow", "#version 990\nvoid main() {}".into()),
        ("ES 3.00", "#version 300 es\nprecision highp float; uniform B { vec4 a; }; out vec4 c; void main() { c = a; }".into()),
        ("compatibility", "#version 120\nvoid main() { gl_FragColor = gl_Color + gl_FragCoord; }".into()),
        ("compute in a fragment", "#version 310 es\nlayout(local_size_x = 1) in; void main() {}".into()),
        ("initial values", "#version 120\nuniform float x = 1.0; void main() { gl_FragColor = vec4(x); }".into()),
        ("an endless comment", repeated("/*", "*", 900_000, "")),
        ("an endless word", repeated("void main() { ", "a", 500_000, "; }")),
        ("an endless number", main(&repeated("x = ", "9", 100_000, ".0"))),
        ("more than a source may be", " ".repeat(2 << 20)),
        ("characters of every kind", (0..20_000).filter_map(|_| char::from_u32(noise.next() as u32 & 0x1_ffff)).collect()),
        ("many functions", {
            let mut text = String::from("precision mediump float; float f0(float x) { return x; }\n");
            for n in 1..2000 {
                writeln!(text, "float f{n}(float x) {{ return f{}(x); }}", n - 1).expect("a text");
            }
            text + "void main() { gl_FragColor = vec4(f1999(1.0)); }"
        }),
    ]
}

/// Changes some bytes of a good source.
fn mangled(numbers: &mut Numbers, source: &str) -> String {
    let mut words: Vec<&str> = source.split_inclusive(|c: char| !c.is_ascii_alphanumeric()).collect();
    for _ in 0..=numbers.below(3) {
        let (one, other) = (numbers.below(words.len()), numbers.below(words.len()));
        match numbers.below(3) {
            0 => words.swap(one, other),
            1 => words[one] = words[other],
            _ => {
                words.remove(one);
            }
        }
    }
    words.concat()
}

/// Runs in a process of its own, whose output the test below looks at.
#[test]
#[ignore = "run by hostile_source_ends_in_a_log"]
fn inner() {
    if std::env::var_os(INNER).is_none() {
        return;
    }
    for (name, source) in sources() {
        let start = std::time::Instant::now();
        for environment in [environment(), all_extensions()] {
            if let Err(log) = compile(Stage::Fragment, &source, &environment) {
                assert!(!log.is_empty() && log.len() < 20_000, "{name}: {} bytes of log", log.len());
            }
            // A vertex shader of the same text: whatever it is, an answer.
            let _ = compile(Stage::Vertex, &source, &environment);
        }
        assert!(start.elapsed().as_secs() < 60, "{name}: {:?}", start.elapsed());
    }
    let mut numbers = Numbers(3);
    for round in 0..400 {
        let case = &PROGRAMS[round % PROGRAMS.len()];
        let (vertex, fragment) = (mangled(&mut numbers, case.vertex), mangled(&mut numbers, case.fragment));
        let _ = build(&vertex, case.fragment);
        let _ = build(case.vertex, &fragment);
    }
}

#[test]
fn hostile_source_ends_in_a_log() {
    let program = std::env::current_exe().expect("this test");
    let output = Command::new(program)
        .args(["hostile::inner", "--exact", "--ignored", "--nocapture", "--test-threads=1", "--format=terse"])
        .env(INNER, "1")
        .stdin(Stdio::null())
        .output()
        .expect("starts");
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success(),
        "{:?}\n{said}\n{}",
        output.status,
        String::from_utf8_lossy(&output.stderr)
    );
    assert!(said.contains("1 passed"), "it ran: {said}");
    let rest: Vec<&str> = said
        .lines()
        .filter(|line| {
            !line.is_empty()
                && *line != "."
                && !line.starts_with("running 1 test")
                && !line.starts_with("test result")
        })
        .collect();
    assert!(rest.is_empty(), "printed: {rest:?}");
    assert!(output.stderr.is_empty(), "printed: {}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn bounds_are_named() {
    for (name, part) in [
        ("a NUL", "NUL"),
        ("parentheses", "nested deeper than 256"),
        ("a long sum", "a statement of more than"),
        ("macros that double", "macros that may expand"),
        ("function macros that double", "macros that may expand"),
        ("a tangled macro", "cannot be bounded"),
        ("nested macro calls", "macros that may expand"),
        ("structs that double", "a structure of more than"),
        ("arrays of structs", "a structure of more than"),
        ("a conditional directive", "a directive longer than"),
        ("more than a source may be", "a source of 2097152 bytes"),
    ] {
        let (_, source) = sources().into_iter().find(|(found, _)| *found == name).expect("in the list");
        let log = compile(Stage::Fragment, &source, &environment()).expect_err(name);
        assert!(log.contains(part), "{name}: {log}");
    }
}
