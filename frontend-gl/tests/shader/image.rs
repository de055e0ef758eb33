//! The image of the default block against the driver's own std140 layout of the same declarations.

use runahead_wire::{archive::ArchiveView, limits, values::UniformClass};

use crate::{
    common::{Numbers, build},
    driver,
};

const TYPES: [&str; 14] = [
    "float", "vec2", "vec3", "vec4", "int", "ivec2", "ivec3", "ivec4", "bool", "bvec2", "bvec4", "mat2",
    "mat3", "mat4",
];

/// Offset, stride of elements and stride of columns.
type Place = [i32; 3];

/// Structures, declarations of variables with names `u0`, `u1` …, and how many there are.
fn declarations(numbers: &mut Numbers) -> (String, Vec<String>) {
    let array = |numbers: &mut Numbers| match numbers.below(3) {
        0 => format!("[{}]", numbers.below(3) + 1),
        _ => String::new(),
    };
    let mut structs = String::new();
    let mut types: Vec<String> = TYPES.map(str::to_owned).into();
    for index in 0..3 {
        structs += &format!("struct S{index} {{");
        for member in 0..numbers.below(4) + 1 {
            let ty = numbers.of(&types).clone();
            structs += &format!(" {ty} m{member}{};", array(numbers));
        }
        structs += " };\n";
        types.push(format!("S{index}"));
    }
    let variables = (0..10)
        .map(|index| {
            let ty = if numbers.below(3) == 0 {
                &types[TYPES.len() + numbers.below(3)]
            } else {
                numbers.of(&types)
            };
            format!("{} u{index}{}", ty.clone(), array(numbers))
        })
        .collect();
    (structs, variables)
}

#[test]
fn values_lie_where_std140_puts_them() {
    let driver = driver::take();
    let mut numbers = Numbers(17);
    let mut seen = [0; 3];
    for _ in 0..100 {
        let (structs, variables) = declarations(&mut numbers);
        // Every variable is used as a whole, in order: a function that takes it keeps it.
        let mut functions = String::new();
        let mut uses = String::new();
        for (index, variable) in variables.iter().enumerate() {
            let (ty, rest) = variable.split_once(' ').expect("a type and a name");
            let size = rest.find('[').map_or("", |at| &rest[at..]);
            functions += &format!("float f{index}({ty} x{size}) {{ return gl_Position.x; }}\n");
            uses += &format!("gl_Position.x += f{index}(u{index});\n");
        }
        let loose: String = variables.iter().map(|one| format!("uniform {one};\n")).collect();
        let body = format!("{functions}void main() {{ gl_Position = vec4(0.0);\n{uses} }}");
        let fragment = "void main() { gl_FragColor = vec4(1.0); }";
        let linked = build(&format!("{structs}{loose}{body}"), fragment).expect("links");
        let block: String = variables.iter().map(|one| format!("{one};\n")).collect();
        let theirs = driver
            .program(
                &format!("#version 300 es\n{structs}layout(std140) uniform B {{\n{block} }};\n{body}"),
                "#version 300 es\nprecision mediump float; out vec4 c; void main() { c = vec4(1.0); }",
                &[],
            )
            .expect("links");
        let view = ArchiveView::parse(&linked.archive).expect("valid");
        let mut end = 0;
        for uniform in view.uniforms() {
            assert_eq!(uniform.class(), Some(UniformClass::Value));
            let name = view.text(uniform.name);
            let ours: Place =
                [uniform.offset, uniform.array_stride, uniform.matrix_stride].map(|one| one as i32);
            let Some(wanted) = theirs.place(name).or_else(|| theirs.place(&format!("{name}[0]"))) else {
                panic!("{name} is not in the driver's block: {structs}{block}");
            };
            assert_eq!(ours, wanted, "{name} of {structs}{block}");
            for (count, one) in seen.iter_mut().zip(ours) {
                *count += u32::from(one != 0);
            }
            end = end.max(uniform.image().expect("within the limit").end);
        }
        assert!(end as u32 <= linked.image_size && linked.image_size < limits::GLOBAL_CONSTANTS_BYTES);
    }
    assert!(seen.iter().all(|count| *count > 50), "offsets and strides were compared: {seen:?}");
}
