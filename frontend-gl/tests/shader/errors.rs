//! What does not compile or link, and what its log says; the verdict is the driver's too where it looks for the same.

use runahead_frontend_gl::shader::Environment;
use runahead_wire::{caps::CapsLimits, values::ShaderDialect};

use crate::{
    common::{build, build_in, environment},
    driver,
};

const PLAIN: &str = "precision mediump float; void main() { gl_FragColor = vec4(1.0); }";
const POSITION: &str = "attribute vec4 position; void main() { gl_Position = position; }";

/// Vertex shader, fragment shader, a part of the log.
const REFUSED: &[(&str, &str, &str)] = &[
    ("void main() { gl_Position = vec4(1.0) }", PLAIN, "1: error: "),
    (
        "void main() {\n\n gl_Position = undeclared; }",
        PLAIN,
        "3: error: 'undeclared' : undeclared identifier",
    ),
    ("void main() { gl_Position = vec3(1.0); }", PLAIN, "cannot convert"),
    (POSITION, "varying vec4 v; void main() { gl_FragColor = v; }", "default precision"),
    (POSITION, "void other() {}", "fragment shader: Missing entry point"),
    ("void other() {}", PLAIN, "vertex shader: Missing entry point"),
    (POSITION, "precision mediump float; float f(); void main() { gl_FragColor = vec4(f()); }", "f("),
    (
        POSITION,
        "precision mediump float; float f(float x) { return f(x); } void main() { gl_FragColor = vec4(f(1.0)); }",
        "ecursion",
    ),
    (
        POSITION,
        "precision mediump float; varying vec4 v; void main() { gl_FragColor = v; }",
        "varying v: the vertex shader does not",
    ),
    (
        "varying vec3 v; void main() { v = vec3(1.0); gl_Position = vec4(v, 1.0); }",
        "precision mediump float; varying vec4 v; void main() { gl_FragColor = v; }",
        "varying v: vec3 in the vertex shader, vec4 in the fragment shader",
    ),
    (
        "uniform vec3 u; void main() { gl_Position = vec4(u, 1.0); }",
        "precision mediump float; uniform vec4 u; void main() { gl_FragColor = u; }",
        "uniform u: vec3 in the vertex shader, vec4 in the fragment shader",
    ),
    (
        "uniform highp vec4 u; void main() { gl_Position = u; }",
        "precision mediump float; uniform vec4 u; void main() { gl_FragColor = u; }",
        "uniform u: the vertex shader and the fragment shader give it different precisions",
    ),
    (
        "struct S { vec4 a; }; uniform S u; void main() { gl_Position = u.a; }",
        "precision mediump float; struct S { vec3 a; }; uniform S u; void main() { gl_FragColor = vec4(u.a, 1.0); }",
        "struct S has other members",
    ),
    (
        POSITION,
        "#version 300 es\nprecision mediump float; out vec4 c; void main() { c = vec4(1.0); }",
        "version",
    ),
    (
        "varying vec4 v; void main() { v = gl_Position = vec4(1.0); }",
        "precision mediump float; invariant varying vec4 v; void main() { gl_FragColor = v; }",
        "varying v: invariant in the fragment shader alone",
    ),
];

#[test]
fn what_is_wrong_is_refused_with_a_reason_and_by_the_driver_too() {
    let driver = driver::take();
    for (vertex, fragment, why) in REFUSED {
        let log = build(vertex, fragment).expect_err(vertex);
        assert!(log.contains(why) && log.ends_with('\n'), "{why}: {log}\n{vertex}\n{fragment}");
        assert!(!log.contains("ERROR:") && !log.contains("No code generated"), "{log}");
        assert!(driver.program(vertex, fragment, &[]).is_err(), "{} takes {vertex} {fragment}", driver.name);
    }
    build(POSITION, PLAIN).expect("links");
    assert!(driver.program(POSITION, PLAIN, &[]).is_ok());
}

#[test]
fn limits_are_counted() {
    let mut few = environment();
    few.limits.vertex_uniform_vectors = 4;
    few.limits.fragment_uniform_vectors = 4;
    few.limits.varying_vectors = 2;
    few.limits.fragment_texture_units = 2;
    few.limits.vertex_attribs = 8;
    let cases: &[(&str, &str, Option<&str>)] = &[
        ("uniform mat4 m; attribute vec4 p; void main() { gl_Position = m * p; }", PLAIN, None),
        // Four vectors of two halves each.
        (
            "uniform vec2 a, b, c, d, e, f, g, h; void main() { gl_Position = vec4(a + b + c + d, e + f + g + h); }",
            PLAIN,
            None,
        ),
        (
            "uniform mat4 m; uniform float x; attribute vec4 p; void main() { gl_Position = m * p * x; }",
            PLAIN,
            Some("the uniforms of the vertex shader take more than 4 vectors"),
        ),
        (
            "varying vec3 a; varying vec3 b; varying float c, d; void main() { a = b = vec3(1.0); c = d = 1.0; gl_Position = vec4(1.0); }",
            "precision mediump float; varying vec3 a; varying vec3 b; varying float c, d; void main() { gl_FragColor = vec4(a + b, c + d); }",
            None,
        ),
        (
            "varying vec3 a; varying vec3 b; varying vec2 c; void main() { a = b = vec3(1.0); c = vec2(1.0); gl_Position = vec4(1.0); }",
            "precision mediump float; varying vec3 a; varying vec3 b; varying vec2 c; void main() { gl_FragColor = vec4(a + b, c.x + c.y); }",
            Some("the varyings take more than 2 vectors"),
        ),
        (
            POSITION,
            "precision mediump float; uniform sampler2D s[3]; void main() { gl_FragColor = texture2D(s[0], vec2(0.0)) + texture2D(s[2], vec2(0.0)); }",
            Some("3 samplers in the fragment shader; 2 are the most"),
        ),
        (
            "attribute mat4 a, b; attribute vec4 c; void main() { gl_Position = a * c + b[0]; }",
            PLAIN,
            Some("no free location; 8 are the most"),
        ),
    ];
    for (vertex, fragment, why) in cases {
        match (build_in(vertex, fragment, &few), why) {
            (Ok(_), None) => {}
            (Err(log), Some(why)) => assert!(log.contains(why), "{why}: {log}"),
            (Ok(_), Some(why)) => panic!("links: {why}"),
            (Err(log), None) => panic!("{vertex}: {log}"),
        }
    }
}

#[test]
fn an_environment_follows_the_caps() {
    let mut caps = CapsLimits { max_vertex_attribs: 99, max_varying_components: 60, ..CapsLimits::default() };
    caps.max_uniform_components[0] = 1024;
    caps.max_draw_buffers = 8;
    let offered = ["GL_OES_texture_npot", "GL_OES_standard_derivatives"];
    let environment = Environment::new(ShaderDialect::GlUniforms, &caps, &offered);
    assert_eq!(environment.extensions, ["GL_OES_standard_derivatives"]);
    let limits = environment.limits;
    assert_eq!((limits.vertex_attribs, limits.varying_vectors, limits.vertex_uniform_vectors), (32, 15, 256));
    assert_eq!((environment.essl, environment.glsl, limits.draw_buffers), (100, 0, 1));
    build_in(POSITION, PLAIN, &environment).expect("links");
    let several = Environment::new(ShaderDialect::GlUniforms, &caps, &["GL_EXT_draw_buffers"]);
    assert_eq!(several.limits.draw_buffers, 8);
    let block = Environment::new(ShaderDialect::DefaultBlock, &caps, &[]);
    assert!(build_in(POSITION, PLAIN, &block).expect_err("not there").contains("in a block"));
    // Limits that no server has: an answer all the same.
    let none = Environment::new(ShaderDialect::GlUniforms, &CapsLimits::default(), &[]);
    assert!(build_in(POSITION, PLAIN, &none).is_err());
}
