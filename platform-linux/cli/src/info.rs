//! Opening a session to look at it.

use std::{fs, process};

use runahead_core::{Silence, null::Null};
use runahead_linux::{
    control::{
        handshake::Identity,
        message::{SurfaceOp, Terms},
    },
    session::{Client, Config, Counting, Statistics, Topology},
};
use runahead_wire::values::{BackendKind, CapsBits};

use crate::report::{Mode, Report, Role};

/// Name of the thread that applies, in a process that has one.
const APPLY: &str = "runahead-apply";

/// Opens a session, looks at it and ends it.
///
/// # Errors
/// The sentence for the user.
pub fn look(mut config: Config, stats: bool) -> Result<Report, String> {
    // The only one there is so far.
    config.arguments = ["--backend", "null"].map(Into::into).into();
    if stats && config.diagnostics.counting == Counting::Off {
        config.diagnostics.counting = Counting::On;
    }
    // Nothing is drawn that anybody would play again.
    config.record = None;
    let make = || Ok(Null::default());
    let mut client = Client::open(&config, BackendKind::Null, make, Silence)
        .map_err(|error| format!("no session was opened: {error}"))?;
    let mut report = of(&client, config.wanted.0);
    if stats {
        report.statistics = Some(statistics(&mut client)?);
    }
    client.close().map_err(|error| format!("the session did not end well: {error}"))?;
    Ok(report)
}

/// What both sides have counted once the server has answered a request.
fn statistics(client: &mut Client<Null, Silence>) -> Result<Statistics, String> {
    client.surface(1, SurfaceOp::CreateSurfaceless).map_err(|error| error.to_string())?;
    Ok(client.statistics())
}

fn of(client: &Client<Null, Silence>, asked: Terms) -> Report {
    let (caps, topology) = (client.caps(), client.topology());
    let (head, texts) = (caps.head(), caps.texts());
    // As the client latches it; the server has agreed to what was asked, or there were no session.
    let offered = head.bits().is_some_and(|bits| bits.contains(CapsBits::RUN_AHEAD_APPLY));
    let mode = match topology {
        Topology::Direct => Mode::Direct,
        Topology::Inproc | Topology::Spawn if asked.run_ahead && offered => Mode::RunAhead,
        Topology::Inproc | Topology::Spawn => Mode::Lockstep,
    };
    let role = match (client.process(), topology) {
        (Some(process), _) => Role::Process { pid: process.number() },
        (None, Topology::Direct) => Role::Caller { pid: process::id() },
        (None, _) => Role::Thread { pid: process::id(), tid: apply_thread() },
    };
    Report {
        topology,
        role,
        backend: head.backend().unwrap_or(BackendKind::Unknown),
        vendor: texts.vendor.to_owned(),
        renderer: texts.renderer.to_owned(),
        gl: head.gl_version,
        gles: head.gles_version,
        mode,
        asked,
        identity: Identity::own(true),
        statistics: None,
    }
}

/// The number of the thread of this process that applies.
fn apply_thread() -> Option<u32> {
    fs::read_dir("/proc/self/task").ok()?.flatten().find_map(|task| {
        let name = fs::read_to_string(task.path().join("comm")).ok()?;
        (name.trim_end() == APPLY).then(|| task.file_name().to_str()?.parse().ok())?
    })
}
