//! What OpenGL ES has no way for: refused by name, each with the row and the object.

use runahead_core::{Session, compare::Check};
use runahead_verify::scenes::{Complaint, Reflection, Stage, StageError};
use runahead_wire::{
    format::Format,
    handle::Kind,
    pipe::Op,
    values::{
        BlockClass, ImageAccess, QueryKind, ResourceTarget, ScalarType, ShaderBufferClass, StageMask,
        Topology as Primitives,
    },
};

use crate::{
    TOPOLOGIES,
    run::{Arm, Draw, Run, draw_telling},
};

/// What OpenGL ES has no way for: one thing a time, each with the row that names it.
struct Lacking;

const PLAIN: &str = "#version 450
    void main() { gl_Position = vec4(0.0); }
";
/// A gap in what is captured.
const GAP: &str = "#version 450
    layout(location = 0, xfb_buffer = 0, xfb_stride = 32, xfb_offset = 0) out vec4 first;
    void main() { first = vec4(1.0); gl_Position = vec4(0.0); }
";
const EVALUATION: &str = "#version 450
    layout(triangles) in;
    void main() { gl_Position = gl_in[0].gl_Position; }
";
const COLOR: &str = "#version 450
    layout(location = 0) out vec4 color;
    void main() { color = vec4(1.0); }
";
const STORE: &str = "#version 450
    layout(local_size_x = 1) in;
    layout(location = 0, binding = 0, rgba8) writeonly uniform image2D target;
    void main() { imageStore(target, ivec2(0), vec4(1.0)); }
";
const UNIFORM: &str = "#version 450
    layout(std140, binding = 0) uniform Block { vec4 value; };
    layout(location = 0) out vec4 color;
    void main() { color = value; }
";

impl Draw for Lacking {
    fn draw<P: Session>(&self, stage: &mut Stage<'_, P>) -> Result<(), StageError> {
        use StageMask as On;
        let none = Reflection::default();
        // Counts of samples and of what stages did are no numbers in OpenGL ES: they read as never run.
        for kind in [QueryKind::SamplesPassed, QueryKind::FragmentShaderInvocations] {
            let query = stage.query(kind)?;
            stage.begin_query(&query)?;
            stage.end_query(&query)?;
            assert_eq!(stage.result(&query)?, None, "{kind:?}");
        }
        // No stage of colours, and levels of tessellation that no stage gives.
        stage.staged(&[(On::VERTEX, PLAIN)], &none, &[])?;
        let stages = [(On::VERTEX, PLAIN), (On::TESS_EVALUATION, EVALUATION), (On::FRAGMENT, COLOR)];
        stage.staged(&stages, &none, &[])?;
        // A texture that can be defined again is no image.
        let texture = stage.texture(8, 8, None)?;
        let reflection = none.clone().image(0, ResourceTarget::Texture2D, ScalarType::Float, 1);
        stage.staged(&[(On::COMPUTE, STORE)], &reflection, &[])?;
        stage.image_unit(0, texture, Format::Rgba8, ImageAccess::WriteOnly, Some(0))?;
        stage.dispatch([1, 1, 1])?;
        // Another layout of capture than that of one buffer without gaps or of one buffer each.
        let buffer = stage.buffer(&[0; 64])?;
        let program = stage.staged(&[(On::VERTEX, GAP), (On::FRAGMENT, COLOR)], &none, &[])?;
        stage.begin_capture(program, Primitives::Points, &[(buffer, None)])?;
        stage.end_capture(Primitives::Points)?;
        // An offset between the driver's steps.
        let reflection = none.block(BlockClass::Uniform, 0, 16);
        stage.staged(&[(On::VERTEX, PLAIN), (On::FRAGMENT, UNIFORM)], &reflection, &[])?;
        stage.point(ShaderBufferClass::Uniform, 0, buffer, Some((4, 16)))?;
        stage.draw(Primitives::Points, 0, 1)
    }
}

/// What the server names: an object and the row that it cannot have, or a verb.
#[derive(Debug, PartialEq)]
enum Named {
    Object(Option<Kind>, u32),
    Verb(String),
}

/// What cannot be done is refused by its name, and nothing is skipped in silence.
#[test]
fn what_opengl_es_lacks_is_refused_by_name() {
    let object = |kind: Kind, op: Op| Named::Object(Some(kind), u32::from(op.raw()));
    let verb = |name: &str| Named::Verb(name.to_owned());
    let wanted = [
        object(Kind::Query, Op::QueryBegin),
        object(Kind::Query, Op::QueryBegin),
        object(Kind::ShaderCso, Op::CreateShaderState),
        object(Kind::ShaderCso, Op::CreateShaderState),
        verb("LaunchGrid"),
        verb("BeginStreamOutput"),
        verb("DrawVbo"),
    ];
    for (name, topology) in TOPOLOGIES {
        let Run { drawn, reason, complaints, .. } = draw_telling(Arm::on(*topology), &Lacking, Check::Off);
        assert!(drawn.is_ok(), "{name}: {drawn:?} {reason:?}");
        let named = complaints.iter().map(|complaint| match complaint {
            Complaint::Refused(refused) => Named::Object(refused.kind(), refused.op),
            Complaint::Error(_, text) | Complaint::Driver(text) => {
                let verbs = ["LaunchGrid", "BeginStreamOutput", "DrawVbo"].into_iter();
                let verb = verbs.into_iter().find(|verb| text.contains(verb));
                Named::Verb(verb.unwrap_or(text).to_owned())
            }
        });
        assert_eq!(named.collect::<Vec<_>>(), wanted, "{name}");
    }
}
