//! Random programs of ES 1.00, drawn as written and by way of SPIR-V.
//!
//! `gl_FragCoord` is not among their variables: it has medium precision in ES 1.00 and high precision in the versions
//! that a server's SPIR-V becomes, and this driver computes with half floats where precision is medium.

use std::fmt::Write as _;

use crate::{
    common::{Numbers, active, build},
    driver,
    table::draw_both,
    validity,
};

const FLOATS: [&str; 4] = ["float", "vec2", "vec3", "vec4"];

/// Writes one program.
struct Writer {
    numbers: Numbers,
    text: String,
    /// Variables in scope, by components.
    scope: Vec<(String, usize)>,
    names: usize,
}

impl Writer {
    fn expression(&mut self, components: usize, depth: usize) -> String {
        let ty = FLOATS[components - 1];
        if depth == 0 || self.numbers.below(6) == 0 {
            let fitting: Vec<_> =
                self.scope.iter().filter(|(_, found)| *found == components).cloned().collect();
            if !fitting.is_empty() && self.numbers.below(5) > 0 {
                return self.numbers.of(&fitting).0.clone();
            }
            let wide: Vec<_> = self.scope.iter().filter(|(_, found)| *found > components).cloned().collect();
            if !wide.is_empty() && self.numbers.below(4) > 0 {
                let (name, width) = self.numbers.of(&wide).clone();
                let letters: String =
                    (0..components).map(|_| *self.numbers.of(&["x", "y", "z", "w"][..width])).collect();
                return format!("{name}.{letters}");
            }
            return format!("{ty}({}.{})", self.numbers.below(3), self.numbers.below(100));
        }
        let (one, other) = (depth - 1, depth.saturating_sub(2));
        match self.numbers.below(14) {
            0..=3 => {
                let op = *self.numbers.of(&["+", "-", "*"]);
                format!("({} {op} {})", self.expression(components, one), self.expression(components, other))
            }
            4 => {
                let function = *self.numbers.of(&["sin", "abs", "fract", "floor", "sign", "cos"]);
                format!("{function}({})", self.expression(components, one))
            }
            5 => {
                let function = *self.numbers.of(&["min", "max", "mod"]);
                let (a, b) = (self.expression(components, one), self.expression(components, other));
                if function == "mod" {
                    format!("mod({a}, {ty}(1.5))")
                } else {
                    format!("{function}({a}, {b})")
                }
            }
            6 => {
                let (a, b) = (self.expression(components, other), self.expression(components, other));
                format!("mix({a}, {b}, {})", self.expression(1, other))
            }
            7 => format!("clamp({}, 0.0, 1.0)", self.expression(components, one)),
            8 => {
                let condition = self.condition(other);
                format!(
                    "({condition} ? {} : {})",
                    self.expression(components, one),
                    self.expression(components, other)
                )
            }
            9 if components == 1 => {
                format!("dot({}, {})", self.expression(3, other), self.expression(3, other))
            }
            9 if components == 3 => {
                format!("cross({}, {})", self.expression(3, other), self.expression(3, other))
            }
            10 if components == 1 => format!("length({})", self.expression(2, one)),
            10 if components > 1 => {
                let m = format!("m{components}");
                format!("({m} * {})", self.expression(components, one))
            }
            11 => format!("f{components}({})", self.expression(components, one)),
            12 => format!("-({})", self.expression(components, one)),
            _ if components > 1 => {
                format!("{ty}({}, {})", self.expression(components - 1, one), self.expression(1, other))
            }
            _ => format!("step({}, {})", self.expression(1, other), self.expression(1, other)),
        }
    }

    fn condition(&mut self, depth: usize) -> String {
        let op = *self.numbers.of(&["<", ">", "<="]);
        let first = format!("{} {op} {}", self.expression(1, depth), self.expression(1, depth));
        match self.numbers.below(4) {
            0 => format!("({first}) && flag"),
            1 => format!("!({first})"),
            _ => first,
        }
    }

    fn statements(&mut self, count: usize, depth: usize) {
        let scope = self.scope.len();
        for _ in 0..count {
            let components = self.numbers.below(4) + 1;
            let ty = FLOATS[components - 1];
            match self.numbers.below(8) {
                0..=3 => {
                    let value = self.expression(components, 3);
                    let name = format!("t{}", self.names);
                    self.names += 1;
                    writeln!(self.text, "{ty} {name} = {value};").expect("a text");
                    self.scope.push((name, components));
                }
                4 | 5 if depth > 0 => {
                    let condition = self.condition(1);
                    writeln!(self.text, "if ({condition}) {{").expect("a text");
                    self.statements(2, depth - 1);
                    self.text.push_str("} else {\n");
                    self.statements(1, depth - 1);
                    self.text.push_str("}\n");
                }
                6 if depth > 0 => {
                    let i = format!("i{}", self.names);
                    self.names += 1;
                    writeln!(self.text, "for (int {i} = 0; {i} < 3; {i}++) {{").expect("a text");
                    writeln!(self.text, "acc.x += table[{i}] * 0.1;").expect("a text");
                    self.statements(2, depth - 1);
                    self.text.push_str("}\n");
                }
                _ => {
                    let value = self.expression(4, 3);
                    let op = *self.numbers.of(&["+=", "-=", "="]);
                    writeln!(self.text, "acc {op} {value};").expect("a text");
                }
            }
        }
        self.scope.truncate(scope);
    }

    fn stage(numbers: Numbers, fragment: bool, varyings: &[(String, usize)]) -> String {
        let mut writer = Self { numbers, text: String::new(), scope: Vec::new(), names: 0 };
        let text = &mut writer.text;
        let precision = *writer.numbers.of(&["mediump", "highp", "lowp"]);
        if fragment {
            writeln!(text, "precision {precision} float;").expect("a text");
        }
        let side = if fragment { "f" } else { "v" };
        text.push_str("struct Part { vec3 a; float b; vec2 c[2]; };\n");
        for (name, components) in varyings {
            writeln!(text, "varying {} {name};", FLOATS[components - 1]).expect("a text");
        }
        writeln!(
            text,
            "uniform {side}Part_ {side}part; uniform float {side}table[5]; uniform bool {side}flag;
            uniform mat2 {side}m2; uniform mat3 {side}m3; uniform mat4 {side}m4; uniform vec4 {side}u;
            #define table {side}table\n#define flag {side}flag\n#define m2 {side}m2\n#define m3 {side}m3
            #define m4 {side}m4
            uniform highp vec3 shared_;"
        )
        .expect("a text");
        *text = text.replace(&format!("{side}Part_"), "Part");
        for (components, ty) in (1..).zip(FLOATS) {
            let body = *writer.numbers.of(&["x * 0.5", "x + 0.25", "abs(x)", "x * x"]);
            writeln!(text, "{ty} f{components}({ty} x) {{ return {body}; }}").expect("a text");
        }
        for (name, components) in [("u", 4), ("part.a", 3), ("part.b", 1), ("part.c[1]", 2)] {
            writer.scope.push((format!("{side}{name}"), components));
        }
        writer.scope.push(("shared_".into(), 3));
        if fragment {
            writer.scope.extend(varyings.iter().cloned());
            writer.text.push_str(
                "uniform sampler2D tex; uniform samplerCube cube;\nvoid main() { vec4 acc = vec4(0.1);\n",
            );
        } else {
            writer.text.push_str(
                "attribute vec4 position; attribute vec3 a3; attribute vec2 a2; attribute float a1;\n",
            );
            writer.text.push_str("void main() { vec4 acc = position;\n");
            writer
                .scope
                .extend([("position", 4), ("a3", 3), ("a2", 2), ("a1", 1)].map(|(n, c)| (n.to_owned(), c)));
        }
        let count = writer.numbers.below(6) + 3;
        writer.statements(count, 2);
        if fragment {
            let (at, direction) = (writer.expression(2, 2), writer.expression(3, 2));
            if writer.numbers.below(4) == 0 {
                let condition = writer.condition(1);
                writeln!(writer.text, "if ({condition}) discard;").expect("a text");
            }
            writeln!(writer.text, "acc += texture2D(tex, {at}) + textureCube(cube, {direction}) * 0.5;")
                .expect("a text");
            writer.text.push_str("gl_FragColor = fract(acc); }\n");
        } else {
            for (name, components) in varyings {
                let value = writer.expression(*components, 3);
                writeln!(writer.text, "{name} = {value};").expect("a text");
            }
            writer.text.push_str("gl_Position = vec4(position.xyz + fract(acc.xyz) * 0.1, 1.0); }\n");
        }
        writer.text
    }
}

fn program(seed: u64) -> [String; 2] {
    let mut numbers = Numbers(seed);
    let varyings: Vec<_> =
        (0..numbers.below(4) + 1).map(|index| (format!("v_{index}"), numbers.below(4) + 1)).collect();
    [false, true].map(|fragment| {
        let numbers = Numbers(numbers.next());
        Writer::stage(numbers, fragment, &varyings)
    })
}

#[test]
#[allow(clippy::print_stderr, reason = "figures for whoever looks")]
fn random_programs_draw_the_same() {
    let driver = driver::take();
    let (mut same_lists, mut different_pixels) = (0, 0);
    let mut last = Vec::new();
    const PROGRAMS: u64 = 60;
    for seed in 0..PROGRAMS {
        let [vertex, fragment] = program(seed);
        let what = format!("program {seed}\n{vertex}\n{fragment}");
        let linked = build(&vertex, &fragment).unwrap_or_else(|log| panic!("{what}{log}"));
        let theirs = driver.program(&vertex, &fragment, &[]).unwrap_or_else(|log| panic!("{what}{log}"));
        validity::assert_valid(&linked.modules, &what);
        let (ours, theirs) = (active(&linked), theirs.active());
        // The driver knows more: what is multiplied by nothing, or stands behind a condition that never holds. It never
        // knows of a variable that we do not.
        for (ours, theirs) in [(&ours.0, &theirs.0), (&ours.1, &theirs.1)] {
            for their in theirs {
                let found = ours.iter().find(|one| one.name == their.name);
                assert!(
                    found.is_some_and(|one| one.ty == their.ty && one.size >= their.size),
                    "{their:?} against {found:?} in {what}"
                );
            }
        }
        same_lists += u32::from(ours == theirs);
        let [original, through] = draw_both(&driver, &what, &vertex, &fragment, &linked);
        assert!(original == through, "pixels of {what}");
        different_pixels += u32::from(original != last);
        last = original;
    }
    eprintln!("{same_lists} of {PROGRAMS} programs have the driver's very list of active variables");
    assert!(different_pixels > 50, "the programs draw something of their own: {different_pixels}");
}
