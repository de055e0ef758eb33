//! The session of an initialised display.

use std::sync::Arc;

use runahead_backend_gles::Gles;
use runahead_core::NativeConfig;
use runahead_frontend_gl::{
    egl::{Config, Connection, Failure, SurfaceState, attributes::ContextRequest},
    gl::{Inbox, Mail},
};
use runahead_linux::{
    control::message::{
        Api, ContextAttributes, OperationError, Priority, ResetStrategy, SurfaceOp, SurfaceState as Stated,
    },
    native::gles::{Driver, WindowSystem, open, program_folder},
    session::{self, Choice, RequestError, SharedClient},
    settings,
};
use runahead_wire::{Format, caps::CapsView, values::BackendKind};

use crate::{platform::Name, report, x11::Xlib};

/// What is drawn through.
pub type Client = SharedClient<Gles, Inbox>;

/// A display that is initialised.
#[derive(Debug)]
pub struct Connected {
    client: Arc<Client>,
    configs: Vec<Config>,
    name: Name,
}

/// The driver that is reached from this process: its `libEGL` dispatches to us.
const DRIVER: Driver = Driver::Vendor;

impl Connected {
    /// Opens a session, as the environment says.
    ///
    /// # Errors
    /// The sentence for the user.
    pub fn open(name: &Name, mail: &Arc<Mail>) -> Result<Self, String> {
        let mut config = settings::from_environment().map_err(|error| error.to_string())?;
        let window_system = match name {
            Name::Surfaceless => WindowSystem::Surfaceless,
            Name::X11 { display, .. } => WindowSystem::X11 { display: display.clone() },
        };
        let Choice::Gles = config.backend;
        config.arguments = [
            "--backend".to_owned(),
            config.backend.name().to_owned(),
            "--window-system".to_owned(),
            window_system.to_string(),
        ]
        .map(Into::into)
        .into();
        let programs = program_folder(&config.programs);
        if let Some(folder) = &programs {
            config.arguments.extend(["--program-cache".into(), folder.into()]);
        }
        let make = move || {
            let mut gles = open(&window_system, DRIVER)?;
            programs.into_iter().for_each(|folder| gles.keep_programs(folder));
            Ok(gles)
        };
        let mut client = session::Client::open(&config, BackendKind::Gles, make, Inbox(Arc::clone(mail)))
            .map_err(|error| format!("no session was opened: {error}"))?;
        let (topology, backend) = (config.topology.name(), config.backend.name());
        report::opened(config.note.as_deref(), topology, backend, client.recording());
        let configs = client.configs().iter().map(frontend).collect();
        let client = Arc::new(SharedClient::new(client));
        Ok(Self { client, configs, name: name.clone() })
    }

    /// The application's own connection, where it has one.
    fn native(&self) -> Option<(&'static Xlib, usize)> {
        match self.name {
            Name::X11 { connection, .. } if connection != 0 => Some((Xlib::loaded()?, connection)),
            _ => None,
        }
    }

    fn surface(&self, surface: u64, op: SurfaceOp) -> Result<SurfaceState, Failure> {
        let stated = self.client.surface(surface, op).map_err(failed)?;
        state(stated).ok_or(Failure::Match)
    }
}

fn frontend(config: &NativeConfig) -> Config {
    let small = |number: u32| i32::try_from(number).unwrap_or(i32::MAX);
    Config {
        id: small(config.id),
        red: config.red.into(),
        green: config.green.into(),
        blue: config.blue.into(),
        alpha: config.alpha.into(),
        depth: config.depth.into(),
        stencil: config.stencil.into(),
        samples: config.samples.into(),
        slow: config.slow,
        native_visual_id: config.native_visual_id.cast_signed(),
        native_visual_type: config.native_visual_type.cast_signed(),
        // The server presents; nothing native is rendered into its images.
        native_renderable: false,
        window: config.window,
        pbuffer: config.pbuffer,
        max_pbuffer_width: small(config.max_pbuffer_width),
        max_pbuffer_height: small(config.max_pbuffer_height),
        min_swap_interval: config.min_swap_interval,
        max_swap_interval: config.max_swap_interval,
    }
}

fn state(stated: Stated) -> Option<SurfaceState> {
    Some(SurfaceState {
        width: stated.width,
        height: stated.height,
        format: Format::from_raw(stated.format)?,
        samples: u8::try_from(stated.samples).ok()?,
    })
}

fn failed(error: RequestError) -> Failure {
    match error {
        RequestError::Lost(_) => Failure::Lost,
        RequestError::Failed(failure) => match failure.error {
            OperationError::OutOfMemory | OperationError::DriverFailed => Failure::Memory,
            OperationError::BadConfig => Failure::Config,
            OperationError::BadWindow | OperationError::NoSuchObject => Failure::Window,
            OperationError::Mismatch | OperationError::Unsupported => Failure::Match,
        },
    }
}

impl Connection for Connected {
    type Session = Client;

    fn session(&self) -> &Arc<Client> {
        &self.client
    }

    fn is_lost(&self) -> bool {
        self.client.reason().is_some()
    }

    fn configs(&self) -> &[Config] {
        &self.configs
    }

    fn caps<R>(&self, look: impl FnOnce(&CapsView<'_>) -> R) -> Result<R, Failure> {
        self.client.caps(look).ok_or(Failure::Lost)
    }

    fn create_context(
        &self,
        context: u64,
        share: Option<u64>,
        config: i32,
        request: &ContextRequest,
    ) -> Result<(), Failure> {
        let number = |number: i32| u32::try_from(number).unwrap_or(0);
        let attributes = ContextAttributes {
            api: Api::Gles,
            major: number(request.major),
            minor: number(request.minor),
            config: number(config),
            debug: request.debug,
            forward_compatible: false,
            robust: request.robust,
            no_error: false,
            reset: if request.lose_on_reset {
                ResetStrategy::LoseContextOnReset
            } else {
                ResetStrategy::NoNotification
            },
            priority: Priority::Medium,
        };
        self.client.create_context(context, share, attributes).map_err(failed)
    }

    fn destroy_context(&self, context: u64) {
        // It is gone either way.
        let _ = self.client.destroy_context(context);
    }

    fn create_pbuffer(
        &self,
        surface: u64,
        config: i32,
        width: u32,
        height: u32,
    ) -> Result<SurfaceState, Failure> {
        let config = u32::try_from(config).map_err(|_| Failure::Config)?;
        self.surface(surface, SurfaceOp::CreatePbuffer { config, width, height })
    }

    fn create_window(&self, surface: u64, config: i32, window: usize) -> Result<SurfaceState, Failure> {
        let Name::X11 { display, .. } = &self.name else { return Err(Failure::Window) };
        // XIDs have 29 bits; a native window is as wide as a pointer.
        let window = u32::try_from(window).map_err(|_| Failure::Window)?;
        let config = u32::try_from(config).map_err(|_| Failure::Config)?;
        // The server asks the X server for a window that the application may not have sent yet.
        self.wait_native();
        self.surface(surface, SurfaceOp::CreateWindow { config, display: display.clone(), window })
    }

    fn destroy_surface(&self, surface: u64) {
        // It is gone either way.
        let _ = self.client.surface(surface, SurfaceOp::Destroy);
    }

    fn flush_native(&self) {
        if let Some((xlib, connection)) = self.native() {
            xlib.flush(connection);
        }
    }

    fn wait_native(&self) {
        if let Some((xlib, connection)) = self.native() {
            xlib.sync(connection);
        }
    }
}
