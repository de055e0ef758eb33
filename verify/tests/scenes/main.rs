//! The scenes on OpenGL ES, by every topology: exact pixels, and where they were really drawn.
//!
//! A run says which process, topology and driver it used, and fails when that is not what its name says. The set of
//! scenes is the same for every topology.

mod run;
mod shaders;
mod windows;

use std::{collections::BTreeSet, process::Command};

use run::{Arm, Draw, draw, draw_checking, draw_hearing, open};
use runahead_core::{Session, compare::Check, slots::Band};
use runahead_linux::{
    native::gles::{Driver, WindowSystem},
    session::Topology,
};
use runahead_verify::scenes::{Reflection, Scene, Stage, StageError};
use runahead_wire::{
    format::Format,
    handle::Kind,
    pipe::Op,
    values::{
        BlockClass, ImageAccess, QueryKind, ResourceTarget, ScalarType, ShaderBufferClass, StageMask,
        Topology as Primitives,
    },
};

/// A test of each scene on the arm of the module that it is called in.
macro_rules! tests {
    ($( $name:ident $scene:ident; )+) => {
        $(
            #[test]
            fn $name() {
                run::check(ARM, Scene::$scene);
            }
        )+
    };
}
macro_rules! topologies {
    ($( $name:ident = $topology:ident; )+) => {
        $( mod $name {
            use super::*;
            const ARM: Arm = Arm { topology: Topology::$topology, driver: Driver::System };
            runahead_verify::each_scene! { tests }
        } )+

        /// Names of the modules above.
        const TOPOLOGIES: &[(&str, Topology)] = &[ $( (stringify!($name), Topology::$topology), )+ ];
    };
}

topologies! {
    direct = Direct;
    inproc = Inproc;
    spawn = Spawn;
}

/// Every topology has every scene, by the same names.
#[test]
fn every_topology_runs_every_scene() {
    let program = std::env::current_exe().expect("this program");
    let listed = Command::new(program).args(["--list", "--format", "terse"]).output().expect("it starts");
    let listed = String::from_utf8(listed.stdout).expect("names");
    let tests: BTreeSet<&str> = listed.lines().filter_map(|line| line.strip_suffix(": test")).collect();
    assert_eq!(
        TOPOLOGIES.iter().map(|(_, topology)| topology.name()).collect::<Vec<_>>(),
        Topology::ALL.iter().map(|topology| topology.name()).collect::<Vec<_>>()
    );
    for (topology, _) in TOPOLOGIES {
        for scene in Scene::ALL {
            let name = format!("{topology}::{}", scene.name());
            assert!(tests.contains(name.as_str()), "{name} is not run");
        }
    }
}

/// Names of the tests that there were, of which none may go: `main --list` prints those that there are.
const BASELINE: &str = include_str!("baseline.txt");

/// What is wrong with the tests that there are.
fn judge(tests: &BTreeSet<&str>, baseline: &BTreeSet<&str>) -> Result<(), String> {
    if let Some(gone) = baseline.difference(tests).next() {
        return Err(format!("{gone} is gone"));
    }
    match tests.difference(baseline).next() {
        Some(new) => Err(format!("{new} is new: it goes into baseline.txt")),
        None => Ok(()),
    }
}

#[test]
fn no_test_is_gone() {
    let program = std::env::current_exe().expect("this program");
    let listed = Command::new(program).args(["--list", "--format", "terse"]).output().expect("it starts");
    let listed = String::from_utf8(listed.stdout).expect("names");
    let tests: BTreeSet<&str> = listed.lines().filter_map(|line| line.strip_suffix(": test")).collect();
    let baseline: BTreeSet<&str> = BASELINE.lines().collect();
    judge(&tests, &baseline).unwrap();
    let mut less = tests.clone();
    assert!(less.remove("spawn::triangle"));
    assert_eq!(judge(&less, &baseline), Err("spawn::triangle is gone".to_owned()), "negative control");
    let mut more = tests;
    more.insert("spawn::square");
    judge(&more, &baseline).expect_err("negative control");
}

/// The state that a scene means is the one that its server was told, at every verb; the scenes' own tests on direct
/// and inproc compare too.
#[test]
fn both_sides_agree_on_their_state_at_every_verb_on_every_topology() {
    for (name, topology) in TOPOLOGIES {
        let arm = Arm { topology: *topology, driver: Driver::System };
        for scene in [Scene::Triangle, Scene::RenderToTexture] {
            let (drawn, (compared, verbs), reason) = draw_checking(arm, &scene, Check::On);
            let context = format!("{} on {name}: {reason:?}", scene.name());
            assert_eq!(drawn.expect(&context).difference(&scene.image()), None, "{context}");
            assert!(compared == verbs && compared >= 2, "{compared} of {verbs}: {context}");
            let (_, (none, _), _) = draw_checking(arm, &scene, Check::Off);
            assert_eq!(none, 0, "negative control: {context}");
        }
    }
}

/// A state that is another one is named: field, verb, both values, record.
#[test]
fn a_scene_that_means_something_else_is_named() {
    for (name, topology) in TOPOLOGIES {
        let arm = Arm { topology: *topology, driver: Driver::System };
        let (drawn, _, reason) = draw_checking(arm, &Scene::Triangle, Check::Corrupt);
        assert!(drawn.is_err(), "{name}");
        let reason = reason.expect("a reason");
        let named = reason.contains("the states differ: values.active_texture_unit@Clear (record ");
        assert!(named && reason.contains(": client 1, server 0"), "{name}: {reason}");
    }
}

/// The driver past `libEGL`, as a program that runs on Runahead reaches it.
#[test]
fn the_vendor_library_draws_the_same() {
    for scene in [Scene::Triangle, Scene::Texture] {
        for topology in [Topology::Direct, Topology::Inproc] {
            run::check(Arm { topology, driver: Driver::Vendor }, scene);
        }
    }
}

/// A scene, and then one pixel of another colour.
struct Spoilt(Scene);

impl Draw for Spoilt {
    fn draw<P: Session>(&self, stage: &mut Stage<'_, P>) -> Result<(), StageError> {
        self.0.draw(stage)?;
        let render = stage.tracker().render_state();
        let scissor = &mut render.scissor_boxes[0];
        (scissor.x, scissor.y, scissor.width, scissor.height) = (63, 63, 1, 1);
        render.scissor_enable_mask = 1;
        stage.clear([1.0, 0.0, 1.0, 0.0])
    }
}

/// The control: one wrong pixel is found, by every topology.
#[test]
fn a_wrong_pixel_is_red() {
    for (name, topology) in TOPOLOGIES {
        let arm = Arm { topology: *topology, driver: Driver::System };
        for scene in [Scene::Triangle, Scene::Texture] {
            let drawn = draw(arm, &Spoilt(scene)).expect("an image");
            let difference = scene.image().difference(&drawn).unwrap_or_default();
            assert!(difference.starts_with("1 wrong pixel"), "{name}, {}: {difference:?}", scene.name());
        }
    }
}

/// Samples a texture that has ended, whose slot is another one's.
struct Stale;

impl Draw for Stale {
    fn draw<P: Session>(&self, stage: &mut Stage<'_, P>) -> Result<(), StageError> {
        let texel = [255; 4];
        let old = stage.texture(1, 1, Some(&texel))?;
        stage.destroy(Kind::Texture, Band::Texture, old)?;
        let new = stage.texture(1, 1, Some(&texel))?;
        assert_eq!(old.slot, new.slot);
        stage.sample(old)?;
        stage.draw(Primitives::Points, 0, 1)
    }
}

/// A handle of the generation before is nobody's, although its slot is in use again.
#[test]
fn a_stale_handle_ends_the_session() {
    for (name, topology) in TOPOLOGIES {
        let arm = Arm { topology: *topology, driver: Driver::System };
        let error = draw(arm, &Stale).expect_err("the old generation was taken").to_string();
        assert!(error.contains("UnnamedIdentity") || error.contains("lost"), "{name}: {error}");
    }
}

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
        stage.image(0, texture, Format::Rgba8, ImageAccess::WriteOnly, Some(0))?;
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

/// What cannot be done is refused by its name, and nothing is skipped in silence.
#[test]
fn what_opengl_es_lacks_is_refused_by_name() {
    let object = |kind: Kind, op: Op| (format!("kind: {},", kind.raw()), format!("op: {},", op.raw()));
    let wanted = [
        object(Kind::Query, Op::QueryBegin),
        object(Kind::Query, Op::QueryBegin),
        object(Kind::ShaderCso, Op::CreateShaderState),
        object(Kind::ShaderCso, Op::CreateShaderState),
        (String::new(), "LaunchGrid".to_owned()),
        (String::new(), "BeginStreamOutput".to_owned()),
        (String::new(), "DrawVbo".to_owned()),
    ];
    for (name, topology) in TOPOLOGIES {
        let arm = Arm { topology: *topology, driver: Driver::System };
        let ((drawn, _, reason), complaints) = draw_hearing(arm, &Lacking, Check::Off);
        assert!(drawn.is_ok(), "{name}: {drawn:?} {reason:?}");
        assert_eq!(complaints.len(), wanted.len(), "{name}: {complaints:#?}");
        for (complaint, (kind, what)) in complaints.iter().zip(&wanted) {
            assert!(complaint.contains(kind) && complaint.contains(what), "{name}: {complaint}");
        }
    }
}

/// A server without a window system says so, and goes on.
#[test]
fn a_window_without_a_window_system_is_refused() {
    use runahead_linux::control::message::{OperationError, SurfaceOp};
    use runahead_linux::session::RequestError;
    for (_, topology) in TOPOLOGIES {
        let arm = Arm { topology: *topology, driver: Driver::System };
        let (mut client, _) = open(arm, &WindowSystem::Surfaceless);
        let config = client.configs().iter().find(|config| config.pbuffer).expect("a config").id;
        let op = SurfaceOp::CreateWindow { config, display: ":0".to_owned(), window: 1 };
        match client.surface(9, op) {
            Err(RequestError::Failed(failure)) => assert_eq!(failure.error, OperationError::Unsupported),
            other => panic!("{other:?}"),
        }
        let op = SurfaceOp::CreatePbuffer { config, width: 8, height: 9 };
        let state = client.surface(9, op).expect("it goes on");
        assert_eq!((state.width, state.height), (8, 9));
        client.close().expect("an orderly end");
    }
}
