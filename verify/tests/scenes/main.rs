//! The scenes on OpenGL ES, by every topology: exact pixels, and where they were really drawn.
//!
//! A run says which process, topology and driver it used, and fails when that is not what its name says. The set of
//! scenes is the same for every topology.

mod gates;
mod limits;
mod loads;
mod order;
mod refused;
mod run;
mod windows;

use std::{collections::BTreeSet, process::Command};

use run::{Arm, Draw, draw, draw_checking, draw_telling, open};
use runahead_core::{Session, compare::Check, counters::Cause, slots::Band};
use runahead_linux::{
    control::message::{Sizes, Terms},
    native::gles::{Driver, WindowSystem},
    session::{Topology, Wanted},
};
use runahead_verify::scenes::{Complaint, Scene, Stage, StageError};
use runahead_wire::{
    format::Format,
    handle::Kind,
    payload::{Blit, ResourceDesc},
    values::{BufferMask, Filter, ResourceTarget, StorageKind, Topology as Primitives},
};

/// A test of each scene on the topology of the module that it is called in.
macro_rules! tests {
    ($( $name:ident $scene:ident; )+) => {
        $(
            #[test]
            fn $name() {
                run::check(Arm::on(TOPOLOGY), Scene::$scene);
            }
        )+
    };
}
macro_rules! topologies {
    ($( $name:ident = $topology:ident; )+) => {
        $( mod $name {
            use super::*;
            const TOPOLOGY: Topology = Topology::$topology;
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
        let arm = Arm::on(*topology);
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
        let arm = Arm::on(*topology);
        let (drawn, _, reason) = draw_checking(arm, &Scene::Triangle, Check::Corrupt);
        assert!(drawn.is_err(), "{name}");
        let reason = reason.expect("a reason");
        let named = reason.contains("the states differ: values.active_texture_unit@Clear (record ");
        assert!(named && reason.contains(": client 1, server 0"), "{name}: {reason}");
    }
}

/// Scenes that do the same many times over, and read nothing but their image.
const LOOPS: [Scene; 7] = [
    Scene::ParameterUpdates,
    Scene::BlendFactors,
    Scene::BlendEquations,
    Scene::DepthStencil,
    Scene::Updates,
    Scene::Arena,
    Scene::RestartFixed,
];

/// Nothing waits in a loop: the one wait there may be is the one for the image.
#[test]
fn scenes_that_loop_wait_for_nothing() {
    for topology in [Topology::Inproc, Topology::Spawn] {
        for scene in LOOPS {
            let run = draw_telling(Arm::on(topology), &scene, Check::Off);
            let context = format!("{}, {topology:?}: {:?}", scene.name(), run.counted);
            assert!(run.drawn.is_ok() && run.complaints.is_empty(), "{context}");
            let all = Cause::ALL.iter().filter(|cause| **cause != Cause::Answer);
            assert_eq!(all.map(|cause| run.counted.of(*cause).0).sum::<u64>(), 0, "{context}");
            assert!(run.counted.of(Cause::Answer).0 <= 1, "{context}");
            assert!(run.counted.records > 60, "negative control: {context}");
        }
    }
}

/// The smallest rings that the scenes' largest records fit: every one of them wraps and fills, and nothing changes.
#[test]
fn small_rings_change_no_scene() {
    let sizes = Sizes { commands: 64 << 10, stage: 1 << 20, replies: 64 << 10, events: 16 << 10 };
    let wanted = Wanted(Terms { sizes, ..Wanted::default().0 });
    for scene in Scene::ALL {
        run::check(Arm { wanted, ..Arm::on(Topology::Inproc) }, *scene);
    }
}

/// The driver past `libEGL`, as a program that runs on Runahead reaches it.
#[test]
fn the_vendor_library_draws_the_same() {
    for scene in [Scene::Triangle, Scene::Texture] {
        for topology in [Topology::Direct, Topology::Inproc] {
            run::check(Arm { driver: Driver::Vendor, ..Arm::on(topology) }, scene);
        }
    }
}

/// Drivers that have less draw the same: what they lack of draws and vertex input is emulated.
#[test]
fn the_least_driver_draws_the_same() {
    for scene in Scene::ALL.iter().filter(|scene| matches!(scene.family(), "draws" | "vertex" | "buffers")) {
        run::check(Arm { least: true, ..Arm::on(Topology::Direct) }, *scene);
    }
}

/// A blit that no driver takes.
struct Mistaken;

impl Draw for Mistaken {
    fn draw<P: Session>(&self, stage: &mut Stage<'_, P>) -> Result<(), StageError> {
        let depth = BufferMask::DEPTH.raw();
        let blit =
            Blit { mask: depth, filter: Filter::Linear.raw(), src_x1: 1, src_y1: 1, ..Blit::default() };
        Ok(stage.pipe().blit(&blit)?)
    }
}

/// What a driver calls an error is heard of every topology, and fails a scene.
#[test]
fn the_drivers_errors_are_heard() {
    for (name, topology) in TOPOLOGIES {
        let complaints = draw_telling(Arm::on(*topology), &Mistaken, Check::Off).complaints;
        let of_driver = |complaint: &Complaint| matches!(complaint, Complaint::Driver(_));
        assert!(complaints.iter().any(of_driver), "{name}: {complaints:?}");
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
        let arm = Arm::on(*topology);
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
        let arm = Arm::on(*topology);
        let error = draw(arm, &Stale).expect_err("the old generation was taken").to_string();
        assert!(error.contains("UnnamedIdentity") || error.contains("lost"), "{name}: {error}");
    }
}

/// Defines the slot of a texture that has ended again, as if there were no generations.
struct Forgetful;

impl Draw for Forgetful {
    fn draw<P: Session>(&self, stage: &mut Stage<'_, P>) -> Result<(), StageError> {
        let texture = stage.texture(1, 1, Some(&[255; 4]))?;
        stage.destroy(Kind::Texture, Band::Texture, texture)?;
        let desc = ResourceDesc {
            resource: texture,
            target: ResourceTarget::Texture2D.raw() as u8,
            storage_kind: StorageKind::Mipmap.raw() as u8,
            internal_format: Format::Rgba8.raw(),
            width: 1,
            height: 1,
            depth: 1,
            levels: 1,
            array_layers: 1,
            ..ResourceDesc::default()
        };
        stage.pipe().resource_create(&desc)?;
        stage.sample(texture)?;
        stage.draw(Primitives::Points, 0, 1)
    }
}

/// The arm of the recycled handle that ignores generations.
#[test]
fn a_slot_without_a_new_generation_ends_the_session() {
    for (name, topology) in TOPOLOGIES {
        let (drawn, _, reason) = draw_checking(Arm::on(*topology), &Forgetful, Check::Off);
        let told = format!("{:?} {reason:?}", drawn.map(|_| ()));
        assert!(told.contains("eneration"), "{name}: {told}");
    }
}

/// A server without a window system says so, and goes on.
#[test]
fn a_window_without_a_window_system_is_refused() {
    use runahead_linux::control::message::{OperationError, SurfaceOp};
    use runahead_linux::session::RequestError;
    for (_, topology) in TOPOLOGIES {
        let arm = Arm::on(*topology);
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
