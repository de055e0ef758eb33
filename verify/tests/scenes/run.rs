//! One run of a scene: the session, the proof of where it was drawn, the image.

use std::{
    path::{Path, PathBuf},
    sync::{Arc, Mutex, OnceLock, PoisonError},
};

use runahead_backend_gles::{Gles, maps};
use runahead_core::{Counters, Fault, Session, compare::Check};
use runahead_linux::{
    control::message::{ContextAttributes, SurfaceOp},
    native::gles::{self, Driver, WindowSystem},
    session::{Client, Config, Diagnostics, Sink, Topology, Wanted},
};
use runahead_verify::{
    built,
    scenes::{Compiler, Complaint, Image, Maps, SIDE, Scene, Stage, StageError, Written},
};
use runahead_wire::{
    event::Events,
    payload::{
        BufferWriteback, ByteRange, CapsChanged, FenceSignaled, GlError, GpuWritten, RequestRefused,
        SurfaceChanged,
    },
    values::BackendKind,
};

/// Where a scene is drawn.
#[derive(Clone, Copy, Debug)]
pub struct Arm {
    pub topology: Topology,
    pub driver: Driver,
    /// What is wished of the server.
    pub wanted: Wanted,
    /// Without what draws and vertex input can do without. In this process alone.
    pub least: bool,
}

impl Arm {
    /// On the system's driver, as it is without wishes, with all that it has.
    pub fn on(topology: Topology) -> Self {
        Self { topology, driver: Driver::System, wanted: Wanted::default(), least: false }
    }
}

/// What the server has told.
#[derive(Clone, Debug, Default)]
pub struct Told {
    /// Sizes of surfaces that changed.
    sizes: Arc<Mutex<Vec<(u32, u32)>>>,
    written: Written,
}

impl Told {
    fn add(&self, complaint: Complaint) {
        self.written.complaints().add(complaint);
    }

    /// Complaints since the last call.
    pub fn complaints(&self) -> Vec<Complaint> {
        self.written.complaints().take()
    }

    /// Where the bytes of buffers go.
    pub fn written(&self) -> Written {
        self.written.clone()
    }

    /// Sizes since the last call.
    pub fn sizes(&self) -> Vec<(u32, u32)> {
        std::mem::take(&mut self.sizes.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Events for Told {
    type Error = Fault;

    fn buffer_writeback(&mut self, slice: &BufferWriteback, bytes: &[u8]) -> Result<(), Fault> {
        self.written.add(slice.resource, slice.offset, bytes);
        Ok(())
    }

    fn gpu_written(&mut self, _: &GpuWritten, _: &[ByteRange]) -> Result<(), Fault> {
        Ok(())
    }

    fn surface_changed(&mut self, changed: &SurfaceChanged) -> Result<(), Fault> {
        self.sizes.lock().unwrap_or_else(PoisonError::into_inner).push((changed.width, changed.height));
        Ok(())
    }

    fn gl_error(&mut self, error: &GlError, text: &[u8]) -> Result<(), Fault> {
        self.add(Complaint::Error(*error, String::from_utf8_lossy(text).into_owned()));
        Ok(())
    }

    fn fence_signaled(&mut self, _: &FenceSignaled) -> Result<(), Fault> {
        Ok(())
    }

    fn refused(&mut self, refused: &RequestRefused) -> Result<(), Fault> {
        self.add(Complaint::Refused(*refused));
        Ok(())
    }

    fn caps_changed(&mut self, _: &CapsChanged) -> Result<(), Fault> {
        Ok(())
    }
}

/// The server program.
fn server() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| built(&["runahead-server"]).join("runahead-server"))
}

/// What the driver of another process says comes as lines of the log.
fn hear(told: &Told) -> Sink {
    let told = told.clone();
    Sink::new(move |_, line| {
        if let Some(text) = line.strip_prefix("server: ").filter(|text| text.starts_with("the driver: ")) {
            told.add(Complaint::Driver(text.to_owned()));
        }
    })
}

/// A session, and what its server complains about. What it really is must be what the arm says.
pub fn open(arm: Arm, window_system: &WindowSystem) -> (Client<Gles, Told>, Told) {
    open_checking(arm, window_system, Check::Off)
}

/// The same, with the client's state compared before each verb.
#[expect(clippy::print_stdout, reason = "each run says where it draws")]
fn open_checking(arm: Arm, window_system: &WindowSystem, check: Check) -> (Client<Gles, Told>, Told) {
    let told = Told::default();
    let config = Config {
        topology: arm.topology,
        wanted: arm.wanted,
        server: Some(server().to_owned()),
        arguments: ["--backend", "gles", "--window-system", &window_system.to_string(), "--driver-log"]
            .map(Into::into)
            .into(),
        diagnostics: Diagnostics { check, sink: hear(&told), ..Diagnostics::default() },
        ..Config::default()
    };
    let (driver, system) = (arm.driver, window_system.clone());
    let (least, driver_told) = (arm.least, told.clone());
    let make = move || {
        let mut backend = gles::open(&system, driver)?;
        backend.share_process();
        backend.hear_driver(move |text| driver_told.add(Complaint::Driver(text.to_owned())));
        if least {
            backend.use_least();
        }
        Ok(backend)
    };
    let client = Client::open(&config, BackendKind::Gles, make, told.clone()).expect("a session");
    let (head, report) = (*client.caps().head(), client.caps().texts().native_version.to_owned());
    println!("{}, {driver:?}: {report}", arm.topology.name());
    assert_eq!(head.backend, BackendKind::Gles.raw());
    assert_eq!(client.topology(), arm.topology);
    let process: u32 = report.rsplit(' ').next().and_then(|number| number.parse().ok()).expect("a process");
    match client.process() {
        Some(server) => {
            assert_eq!(arm.topology, Topology::Spawn);
            assert_eq!(process, server.number(), "the driver is not in the server's process");
        }
        None => assert_eq!(process, std::process::id(), "the driver is not in this process"),
    }
    (client, told)
}

/// Something to draw: a scene, or what a test makes of one.
pub trait Draw {
    fn draw<P: Session>(&self, stage: &mut Stage<'_, P>) -> Result<(), StageError>;
}

impl Draw for Scene {
    fn draw<P: Session>(&self, stage: &mut Stage<'_, P>) -> Result<(), StageError> {
        Scene::draw(*self, stage)
    }
}

/// What the backend maps in this process.
struct Here;

impl Maps for Here {
    fn write(&self, token: u64, offset: u64, bytes: &[u8]) -> bool {
        maps::write(token, offset as usize, bytes)
    }

    fn read(&self, token: u64, offset: u64, bytes: &mut [u8]) -> bool {
        maps::read(token, offset as usize, bytes)
    }
}

fn on<P: Session>(
    pipe: &mut P,
    compiler: &Compiler,
    written: Written,
    what: &impl Draw,
    (check, topology): (Check, Topology),
) -> Result<Image, StageError> {
    let mut stage = Stage::new(pipe, compiler, written, (1, 1))?;
    stage.compare(check);
    if topology != Topology::Spawn {
        stage.reach(&Here);
    }
    what.draw(&mut stage)?;
    stage.read()
}

/// A scene is drawn where its arm says, and leaves its image; where no process comes between, with the state compared at
/// every verb.
pub fn check(arm: Arm, scene: Scene) {
    let check = if arm.topology == Topology::Spawn { Check::Off } else { Check::On };
    let Run { drawn, verbs: (compared, verbs), reason, complaints, dropped, .. } =
        draw_telling(arm, &scene, check);
    let drawn = drawn.unwrap_or_else(|error| panic!("{}: {error} ({reason:?})", scene.name()));
    assert_eq!(scene.image().difference(&drawn), None, "{}: {complaints:?}", scene.name());
    assert_eq!(complaints, Vec::new(), "{}: the server refused something", scene.name());
    assert_eq!(compared, if check == Check::On { verbs - dropped } else { 0 }, "{}", scene.name());
}

/// What is left on the surface.
pub fn draw(arm: Arm, what: &impl Draw) -> Result<Image, StageError> {
    draw_checking(arm, what, Check::Off).0
}

/// The same, with the state compared before each verb: also how many were, of how many, and why the session ended
/// before its time.
pub fn draw_checking(
    arm: Arm,
    what: &impl Draw,
    check: Check,
) -> (Result<Image, StageError>, (u64, u64), Option<String>) {
    let Run { drawn, verbs, reason, complaints, .. } = draw_telling(arm, what, check);
    if drawn.is_ok() {
        assert_eq!(complaints, Vec::new(), "the server refused something");
    }
    (drawn, verbs, reason)
}

/// What became of a run.
pub struct Run {
    pub drawn: Result<Image, StageError>,
    /// Verbs whose state was compared, and all of them.
    pub verbs: (u64, u64),
    /// Why the session ended before its time.
    pub reason: Option<String>,
    /// What nobody had expected.
    pub complaints: Vec<Complaint>,
    /// Verbs that were dropped, of which none was compared.
    pub dropped: u64,
    /// What the client counted from its first record to the answer with the image.
    pub counted: Counters,
}

/// The same, with what the server complained about.
pub fn draw_telling(arm: Arm, what: &impl Draw, check: Check) -> Run {
    let (mut client, told) = open_checking(arm, &WindowSystem::Surfaceless, check);
    client.create_context(1, None, ContextAttributes::gles(2, 0)).expect("a context");
    client.create_context(2, Some(1), ContextAttributes::gles(2, 0)).expect("another one of its group");
    let suits = |config: &&runahead_core::NativeConfig| {
        config.pbuffer
            && [config.red, config.green, config.blue, config.alpha] == [8; 4]
            && config.samples == 0
    };
    let config = client.configs().iter().find(suits).expect("a config of eight bits a component").id;
    let op = SurfaceOp::CreatePbuffer { config, width: SIDE, height: SIDE };
    let state = client.surface(1, op).expect("a surface");
    assert_eq!((state.width, state.height, state.samples), (SIDE, SIDE, 0));
    let compiler = Compiler::new(&client.caps());
    let before = client.counters();
    let drawn = on(client.pipe(), &compiler, told.written.clone(), what, (check, arm.topology));
    let counted = client.counters().since(&before);
    let (ended, told_by_server) = client.close_counting();
    let verbs = told_by_server.expect("counts").verbs();
    let reason = match ended {
        // The session ended by what the scene did wrong, which its own error tells.
        Err(reason) if drawn.is_err() => Some(reason),
        ended => {
            ended.expect("an orderly end");
            None
        }
    };
    let dropped = told.written.complaints().dropped();
    Run { drawn, verbs, reason, complaints: told.complaints(), dropped, counted }
}
