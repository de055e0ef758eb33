//! Programs made by hand: what is active agrees with the system's driver, and pixels are equal by way of SPIR-V.

use runahead_wire::{
    archive::ArchiveView,
    values::{InterfaceSide, ProgramFlags},
};

use crate::{
    common::{active, all_extensions, build, build_in, environment, uniform_type},
    driver, translate,
};
use runahead_frontend_gl::shader::{Environment, Linked, Stage, compile, link};

pub(crate) struct Case {
    pub(crate) name: &'static str,
    pub(crate) vertex: &'static str,
    pub(crate) fragment: &'static str,
}

macro_rules! cases {
    ($( $name:literal: $vertex:literal, $fragment:literal; )+) => {
        &[$( Case { name: $name, vertex: $vertex, fragment: $fragment }, )+]
    };
}

pub(crate) const PROGRAMS: &[Case] = cases! {
    "es2gears": "
        attribute vec3 position; attribute vec3 normal;
        uniform mat4 ModelViewProjectionMatrix; uniform mat4 NormalMatrix;
        uniform vec4 LightSourcePosition; uniform vec4 MaterialColor;
        varying vec4 Color;
        void main(void) {
            vec3 N = normalize(vec3(NormalMatrix * vec4(normal, 1.0)));
            vec3 L = normalize(LightSourcePosition.xyz);
            float diffuse = max(dot(N, L), 0.0);
            Color = diffuse * MaterialColor;
            gl_Position = ModelViewProjectionMatrix * vec4(position, 1.0);
        }",
        "precision mediump float; varying vec4 Color; void main(void) { gl_FragColor = Color; }";
    "structs and arrays": "
        struct Light { vec4 pos; vec3 color; mat3 turn; };
        attribute vec4 position;
        uniform Light lights[2]; uniform Light lone; uniform float weights[8]; uniform int which;
        varying vec3 v_color;
        void main() {
            float sum = weights[0] + weights[3];
            v_color = lights[1].color * sum + lights[0].turn * lone.pos.xyz + lone.turn[1] + lone.color;
            v_color += lights[which > 0 ? 1 : 0].pos.xyz + lights[0].color * lights[1].turn;
            gl_Position = position;
        }",
        "precision highp float; varying vec3 v_color;
        void main() { gl_FragColor = vec4(v_color, 1.0); }";
    "one struct in both stages": "
        struct Inner { vec2 a; float b[3]; }; struct Outer { Inner inner[2]; vec3 c; };
        attribute vec4 position; uniform Outer one; varying vec2 v;
        void main() { v = one.inner[1].a + one.inner[0].a; gl_Position = position + vec4(one.c, 0.0) * 0.1; }",
        "precision highp float;
        struct Inner { vec2 a; float b[3]; }; struct Outer { Inner inner[2]; vec3 c; };
        uniform Outer one; varying vec2 v;
        void main() { float s = 0.0; for (int i = 0; i < 3; i++) s += one.inner[0].b[i] + one.inner[1].b[i];
            gl_FragColor = vec4(v, s, one.c.z); }";
    "truth values and integers": "
        attribute vec4 position; uniform bool flag; uniform bvec3 flags; uniform ivec2 numbers; uniform int n;
        varying float v;
        void main() { v = flag && flags.y ? float(numbers.x) : float(n + numbers.y); if (any(flags)) v += 1.0;
            gl_Position = position; }",
        "precision mediump float; varying float v; void main() { gl_FragColor = vec4(v * 0.1); }";
    "samplers, two on one unit": "
        attribute vec4 position; varying vec3 v; void main() { v = position.xyz; gl_Position = position; }",
        "precision mediump float; varying vec3 v;
        uniform sampler2D one; uniform sampler2D other; uniform samplerCube cube; uniform sampler2D several[3];
        void main() { vec4 c = texture2D(one, v.xy) + texture2D(other, v.yx, 1.0) + textureCube(cube, v);
            for (int i = 0; i < 3; i++) c += texture2D(several[i], v.xy * float(i));
            gl_FragColor = c * 0.2 + texture2DProj(one, v.xyz) * 0.1; }";
    "samplers in a struct": "
        attribute vec4 position; varying vec2 v; void main() { v = position.xy; gl_Position = position; }",
        "precision mediump float; varying vec2 v;
        struct Material { sampler2D map; vec4 tint; }; uniform Material materials[2];
        void main() { gl_FragColor = texture2D(materials[0].map, v) * materials[0].tint
            + texture2D(materials[1].map, v.yx) * materials[1].tint; }";
    "sampler as an argument": "
        attribute vec4 position; uniform sampler2D height; varying vec2 v;
        void main() { v = position.xy; gl_Position = position + texture2DLod(height, v, 0.0) * 0.1; }",
        "precision mediump float; varying vec2 v; uniform sampler2D a, b;
        vec4 get(sampler2D from, vec2 at) { return texture2D(from, at); }
        void main() { gl_FragColor = get(a, v) + get(b, v); }";
    "invariant": "
        invariant gl_Position; invariant varying vec2 v; attribute vec4 position;
        void main() { v = position.xy; gl_Position = position; }",
        "precision mediump float; invariant varying vec2 v; void main() { gl_FragColor = vec4(v, 0.5, 1.0); }";
    "precision": "
        precision mediump float; attribute vec4 position; varying lowp vec4 low; varying highp vec4 high;
        uniform mediump vec4 both; uniform highp float fine;
        void main() { low = both * 0.5; high = position * fine; gl_Position = position; }",
        "precision lowp float; varying lowp vec4 low; varying highp vec4 high; uniform mediump vec4 both;
        uniform highp float fine;
        void main() { highp vec4 sum = high * 3.0 + low; gl_FragColor = fract(sum * 10.0 * fine) + both; }";
    "depth range": "
        attribute vec4 position; varying float v;
        void main() { v = gl_DepthRange.near + gl_DepthRange.far * 0.5; gl_Position = position; }",
        "precision highp float; varying float v;
        void main() { gl_FragColor = vec4(v, gl_DepthRange.diff, gl_DepthRange.far, 1.0); }";
    "discard and gl_FragData": "
        attribute vec4 position; varying vec2 v; void main() { v = position.xy; gl_Position = position; }",
        "precision mediump float; varying vec2 v;
        void main() { if (v.x < 0.0) discard; gl_FragData[0] = vec4(v, 0.0, 1.0); }";
    "derivatives": "
        attribute vec4 position; varying vec2 v; void main() { v = position.xy; gl_Position = position; }",
        "#extension GL_OES_standard_derivatives : enable
        precision highp float; varying vec2 v;
        void main() { gl_FragColor = vec4(dFdx(v.x) * 8.0, dFdy(v.y) * 8.0, fwidth(v.x + v.y) * 4.0, 1.0); }";
    "coordinates of the fragment": "
        attribute vec4 position; void main() { gl_PointSize = 3.0; gl_Position = position; }",
        "precision highp float;
        void main() { gl_FragColor = vec4(gl_FragCoord.xy / 32.0, gl_FrontFacing ? 1.0 : 0.0, gl_FragCoord.z); }";
    "names that later languages keep": "
        attribute vec4 position; attribute vec2 sample; varying vec2 smooth; uniform vec2 centroid;
        mat2 transpose(mat2 m) { return mat2(m[0][0], m[1][0], m[0][1], m[1][1]); }
        void main() { smooth = transpose(mat2(1.0, 2.0, 3.0, 4.0)) * sample + centroid; gl_Position = position; }",
        "precision mediump float; varying vec2 smooth; uniform sampler2D texture;
        vec2 inverse(vec2 v) { return -v; }
        void main() { vec2 in_ = inverse(smooth); float uint = in_.x; gl_FragColor = texture2D(texture, in_ * uint); }";
    "matrices as attributes and varyings": "
        attribute mat4 turn; attribute mat2 small; attribute vec4 position; varying mat3 m; varying float several[3];
        void main() { m = mat3(turn[0].xyz, turn[1].xyz, turn[2].xyz); several[0] = small[0].x; several[1] = small[1].y;
            several[2] = 0.25; gl_Position = position; }",
        "precision highp float; varying mat3 m; varying float several[3];
        void main() { gl_FragColor = vec4(m * vec3(several[0], several[1], several[2]), several[2]); }";
    "what is dead is not active": "
        attribute vec4 position; attribute vec4 unread; uniform vec4 in_dead_function; uniform vec4 for_nothing;
        uniform vec4 used; varying vec4 v; varying vec4 nobody_takes;
        vec4 dead() { return in_dead_function + unread; }
        void main() { vec4 nothing = for_nothing; nobody_takes = position; v = used; gl_Position = position; }",
        "precision highp float; varying vec4 v; varying vec4 declared_only; uniform float never;
        void main() { gl_FragColor = v; }";
    "loops, functions and outputs of functions": "
        attribute vec4 position; uniform float step_; varying vec3 v;
        void both(in vec3 a, out vec3 b, inout float c) { b = a * c; c += 0.5; }
        void main() { float c = step_; vec3 sum = vec3(0.0); vec3 part;
            for (int i = 0; i < 4; i++) { both(position.xyz + float(i), part, c); if (i == 2) continue; sum += part; }
            v = sum; gl_Position = position; }",
        "precision highp float; varying vec3 v; const int n = 3; uniform float table[n];
        float get(int i) { return table[i]; }
        void main() { float s = 0.0; for (int i = 0; i < n; ++i) { s += get(i); if (s > 100.0) break; }
            gl_FragColor = vec4(fract(v * s), 1.0); }";
    "constants of the implementation and macros": "
        #define SCALE(x) ((x) * 0.5)
        attribute vec4 position; varying float v;
        void main() { v = SCALE(position.x) + float(__VERSION__) * 0.001 + (gl_MaxVertexAttribs >= 8 ? 0.1 : 0.0);
            gl_Position = position; }",
        "#ifdef GL_ES
        precision mediump float;
        #endif
        #ifndef GL_FRAGMENT_PRECISION_HIGH
        #error no
        #endif
        varying float v; void main() { gl_FragColor = vec4(v); }";
};

/// Draws a program as written and by way of SPIR-V; the pixels.
pub(crate) fn draw_both(
    driver: &driver::Driver,
    name: &str,
    vertex: &str,
    fragment: &str,
    linked: &Linked,
) -> [Vec<u8>; 2] {
    let view = ArchiveView::parse(&linked.archive).expect("valid");
    let mut slots = 0;
    let attributes: Vec<(String, u32)> = view
        .interfaces()
        .iter()
        .filter(|one| one.side() == Some(InterfaceSide::Input))
        .map(|one| {
            slots = slots.max(one.location + u32::from(one.columns) * one.array_size);
            (view.text(one.name).to_owned(), one.location)
        })
        .collect();
    let numbered: Vec<_> = attributes.iter().map(|(_, at)| (format!("a{at}"), *at)).collect();
    let ours = view.uniforms().iter().map(|one| {
        let called = view.text(one.name).to_owned();
        let name = format!("u{}{}", one.variable, view.text(one.path));
        (name, called, one.array_size as i32, uniform_type(one))
    });
    let ours: Vec<_> = ours.collect();
    let own: Vec<_> =
        ours.iter().map(|(_, called, size, ty)| (called.clone(), called.clone(), *size, *ty)).collect();
    let translated = [0, 4].map(|stage| translate::to_essl(&linked.modules[stage], stage == 0));
    let original =
        driver.program(vertex, fragment, &attributes).unwrap_or_else(|log| panic!("{name}: {log}"));
    let through = driver
        .program(&translated[0], &translated[1], &numbered)
        .unwrap_or_else(|log| panic!("{name}: {log}\n{}\n{}", translated[0], translated[1]));
    [original.draw(&own, slots), through.draw(&ours, slots)]
}

#[test]
fn what_is_active_agrees_with_the_driver() {
    let driver = driver::take();
    for case in PROGRAMS {
        let linked = build(case.vertex, case.fragment).unwrap_or_else(|log| panic!("{}: {log}", case.name));
        let theirs = driver
            .program(case.vertex, case.fragment, &[])
            .unwrap_or_else(|log| panic!("{}: {log}", case.name));
        assert_eq!(active(&linked), theirs.active(), "{} on {}", case.name, driver.name);
    }
    // The comparison can tell: a uniform more on one side.
    let case = &PROGRAMS[0];
    let more =
        case.fragment.replace("= Color;", "= Color + more;").replace("varying", "uniform vec4 more; varying");
    let linked = build(case.vertex, &more).expect("links");
    let theirs = driver.program(case.vertex, case.fragment, &[]).expect("links");
    assert_ne!(active(&linked), theirs.active());
}

#[test]
fn pixels_are_equal_by_way_of_spirv() {
    let driver = driver::take();
    for case in PROGRAMS {
        let linked = build(case.vertex, case.fragment).unwrap_or_else(|log| panic!("{}: {log}", case.name));
        let [original, through] = draw_both(&driver, case.name, case.vertex, case.fragment, &linked);
        assert!(original == through, "{} on {}", case.name, driver.name);
    }
    // The comparison can tell: another constant.
    let case = PROGRAMS.iter().find(|case| case.name == "invariant").expect("in the table");
    let linked = build(case.vertex, &case.fragment.replace("0.5", "0.75")).expect("links");
    let [original, through] = draw_both(&driver, case.name, case.vertex, case.fragment, &linked);
    assert!(original != through);
}

#[test]
fn flags_precision_and_outputs() {
    let find = |name| PROGRAMS.iter().find(|case| case.name == name).expect("in the table");
    let flags = |case: &Case| {
        let linked = build(case.vertex, case.fragment).expect("links");
        ArchiveView::parse(&linked.archive).expect("valid").head().flags()
    };
    assert_eq!(flags(find("es2gears")), Some(ProgramFlags::BROADCASTS_COLOR));
    assert_eq!(flags(find("discard and gl_FragData")), Some(ProgramFlags::EMPTY));
    let essl = translate::to_essl(
        &build(find("precision").vertex, find("precision").fragment).expect("links").modules[4],
        false,
    );
    assert!(essl.contains("precision mediump float;\n"), "{essl}");
    assert!(essl.contains("in highp vec4 v") && essl.contains("in vec4 v"), "{essl}");
}

#[test]
fn locations_of_attributes_follow_the_application() {
    let environment = environment();
    let vertex = "attribute vec4 a, b, c; attribute mat3 m; void main() { gl_Position = a + b + c + vec4(m[0], m[1].x); }";
    let vertex = compile(Stage::Vertex, vertex, &environment).expect("compiles");
    let fragment = compile(Stage::Fragment, "void main() { gl_FragColor = vec4(0); }", &environment);
    let fragment = fragment
        .or_else(|_| compile(Stage::Fragment, "void main() { gl_FragColor = vec4(0.0); }", &environment));
    let shaders = [&vertex, &fragment.expect("compiles")];
    let wanted =
        |all: &[(&str, u32)]| all.iter().map(|(name, at)| ((*name).to_owned(), *at)).collect::<Vec<_>>();
    let linked =
        link(&shaders, &wanted(&[("b", 0), ("a", 9), ("a", 5), ("absent", 1)]), &environment).expect("links");
    let view = ArchiveView::parse(&linked.archive).expect("valid");
    let at = |name: &str| {
        view.interfaces()
            .iter()
            .find(|one| view.text(one.name) == name)
            .map(|one| one.location)
            .expect("active")
    };
    assert_eq!([at("a"), at("b"), at("m"), at("c")], [5, 0, 1, 4]);
    for (bad, why) in [
        (&[("a", 3), ("b", 3)][..], "both bound to location 3"),
        (&[("m", 14)], "does not fit"),
        (&[("m", 1), ("c", 3)], "both bound to location 3"),
        (&[("a", 2), ("b", 5), ("c", 8), ("m", 15)], "does not fit"),
    ] {
        let log = link(&shaders, &wanted(bad), &environment).expect_err("refused");
        assert!(log.contains(why), "{log}");
    }
}

#[test]
fn extensions_are_those_of_the_context() {
    let vertex = "void main() { gl_Position = vec4(0.0); }";
    let buffers = "#extension GL_EXT_draw_buffers : require
        #ifndef GL_EXT_draw_buffers
        #error no macro
        #endif
        precision mediump float;
        void main() { gl_FragData[0] = vec4(0.1); gl_FragData[1] = vec4(0.2); }";
    let offering = Environment { glsl: 0, ..all_extensions() };
    let linked = build_in(vertex, buffers, &offering).expect("offered");
    let view = ArchiveView::parse(&linked.archive).expect("valid");
    assert_eq!(view.interfaces()[0].array_size, 8);
    let log = build(vertex, buffers).expect_err("not offered");
    assert!(log.contains("1: error: '#extension' : extension not supported: GL_EXT_draw_buffers"), "{log}");
    let without = "#ifdef GL_EXT_draw_buffers
        #error a macro
        #endif
        #ifdef GL_EXT_shadow_samplers
        #error another macro
        #endif
        #extension GL_EXT_shadow_samplers : enable
        #ifndef GL_OES_standard_derivatives
        #error no macro
        #endif
        void main() { gl_FragColor = vec4(0.0); }";
    let fragment = compile(Stage::Fragment, without, &environment()).expect("a warning");
    assert!(fragment.log().contains("7: warning: 'GL_EXT_shadow_samplers'"), "{}", fragment.log());
    let derivative =
        "precision mediump float; varying float v; void main() { gl_FragColor = vec4(dFdx(v)); }";
    compile(Stage::Fragment, derivative, &environment()).expect_err("not enabled");
}

#[test]
fn other_versions_compile_as_what_they_are() {
    let driver = driver::take();
    let environment = all_extensions();
    let vertex = "in vec4 position; out vec3 v; uniform mat4 m; void main() { v = position.xyz; gl_Position = m * position; }";
    let fragment = "in vec3 v; out vec4 color; uniform sampler2D map; uniform float texture2D;
        void main() { color = texture(map, v.xy) * texture2D + vec4(transpose(mat3(1.0)) * v, float(__VERSION__)); }";
    for version in ["300 es", "310 es", "320 es", "130", "140", "150", "330", "400", "450 core"] {
        let precision = if version.ends_with("es") { "precision highp float;" } else { "" };
        let source = |text: &str| format!("#version {version}\n{precision}{text}");
        let linked = build_in(&source(vertex), &source(fragment), &environment);
        let linked = linked.unwrap_or_else(|log| panic!("{version}: {log}"));
        let essl = [0, 4].map(|stage| translate::to_essl(&linked.modules[stage], stage == 0));
        if let Err(log) = driver.program(&essl[0], &essl[1], &[]) {
            panic!("{version}: {log}{}{}", essl[0], essl[1]);
        }
        let log = build(&source(vertex), &source(fragment)).expect_err("too new");
        assert!(log.contains("is not supported; the newest is 100 es"), "{log}");
    }
    let [old, new] =
        [PROGRAMS[0].vertex.to_owned(), format!("#version 300 es\nprecision highp float;{fragment}")];
    let log = build_in(&format!("#version 100\n{old}"), &new, &environment).expect_err("mixed");
    assert!(
        log.contains("the vertex shader is of version 100 and the fragment shader of version 300"),
        "{log}"
    );
    for (text, why) in [
        (
            "#version 300 es\nprecision highp float; uniform B { vec4 a; }; out vec4 c; void main() { c = a; }",
            "block",
        ),
        ("#version 120\nuniform float x = 1.0; void main() { gl_FragColor = vec4(x); }", "initial value"),
    ] {
        let log = build_in("#version 120\nvoid main() { gl_Position = vec4(0.0); }", text, &environment);
        let log = log.expect_err("cannot be carried");
        assert!(log.contains(why), "{log}");
    }
}
