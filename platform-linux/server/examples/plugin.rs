//! A library that opens a session and draws on a thread of its own, for a program that unloads it meanwhile.

use std::{
    ffi::{CStr, OsStr, c_char},
    os::unix::ffi::OsStrExt,
    sync::atomic::{AtomicU64, Ordering},
    thread,
};

use runahead_core::{Silence, null::Null};
use runahead_linux::{
    control::message::{ContextAttributes, SurfaceOp},
    session::{Client, Config, Topology},
};
use runahead_wire::{Handle, payload::*, pipe::Pipe, values::BackendKind};

static FRAMES: AtomicU64 = AtomicU64::new(0);

fn start(server: &CStr) -> Result<u32, String> {
    let config = Config {
        topology: Topology::Spawn,
        server: Some(OsStr::from_bytes(server.to_bytes()).into()),
        ..Config::default()
    };
    let opened = Client::<Null, Silence>::open(&config, BackendKind::Null, || Ok(Null::default()), Silence);
    let mut client = opened.map_err(|error| error.to_string())?;
    client.create_context(1, None, ContextAttributes::gles(3, 2)).map_err(|error| error.to_string())?;
    let pbuffer = SurfaceOp::CreatePbuffer { config: 0, width: 64, height: 64 };
    client.surface(1, pbuffer).map_err(|error| error.to_string())?;
    let number = client.process().map_or(0, runahead_linux::spawn::Process::number);
    thread::spawn(move || {
        let pipe = client.pipe();
        let _ = pipe.bind_context(&BindContext { context: 1, draw_surface: 1, read_surface: 1 });
        let _ = pipe.set_context_values(&ContextValues::default());
        let _ = pipe.set_sampler_views(&SamplerViews { start: 0, count: 1 }, &[BoundView::default()]);
        let _ = pipe.bind_sampler_states(&SamplerStates { start: 0, count: 1 }, &[Handle::NULL]);
        for frame in 1.. {
            if pipe.present(&Present { frame_serial: frame, ..Present::default() }, &[]).is_err() {
                return;
            }
            FRAMES.store(frame, Ordering::Relaxed);
        }
    });
    Ok(number)
}

/// Opens a session with a server of this file and draws on; the server's process, or 0.
///
/// # Safety
/// `server` is a NUL-terminated text.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn plugin_start(server: *const c_char) -> u32 {
    // SAFETY: this function's contract.
    let server = unsafe { CStr::from_ptr(server) };
    start(server).unwrap_or(0)
}

/// Frames presented so far.
#[unsafe(no_mangle)]
pub extern "C" fn plugin_frames() -> u64 {
    FRAMES.load(Ordering::Relaxed)
}
