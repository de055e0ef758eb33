//! What `info` found, as text and as JSON.

use std::fmt::{self, Write};

use runahead_core::Counters;
use runahead_linux::{
    control::{
        handshake::{Identity, USUAL},
        message::Terms,
    },
    session::{Statistics, Topology},
};
use runahead_wire::values::BackendKind;
use serde_json::{Map, Value, json};

/// Who applies the commands.
#[derive(Clone, Copy, Debug)]
pub enum Role {
    /// The calling thread.
    Caller { pid: u32 },
    /// Another thread of this process.
    Thread { pid: u32, tid: Option<u32> },
    /// Another process.
    Process { pid: u32 },
}

/// Whether the client waits for the server.
#[derive(Clone, Copy, Debug)]
pub enum Mode {
    /// Not at draws.
    RunAhead,
    /// At each draw.
    Lockstep,
    /// There is no server.
    Direct,
}

/// What a session is like.
#[derive(Clone, Debug)]
pub struct Report {
    /// Where records are applied.
    pub topology: Topology,
    /// Who applies them.
    pub role: Role,
    /// What the server drives.
    pub backend: BackendKind,
    /// Vendor of that.
    pub vendor: String,
    /// Name of that.
    pub renderer: String,
    /// OpenGL that it can back: major times 10 plus minor.
    pub gl: u32,
    /// OpenGL ES that it can back.
    pub gles: u32,
    /// Whether the client runs ahead.
    pub mode: Mode,
    /// What the settings ask of the server.
    pub asked: Terms,
    /// What client and server had to agree on.
    pub identity: Identity,
    /// What both sides counted, if it is wanted.
    pub statistics: Option<Statistics>,
}

impl Role {
    const fn name(self) -> &'static str {
        match self {
            Self::Caller { .. } => "caller",
            Self::Thread { .. } => "thread",
            Self::Process { .. } => "process",
        }
    }

    const fn pid(self) -> u32 {
        match self {
            Self::Caller { pid } | Self::Thread { pid, .. } | Self::Process { pid } => pid,
        }
    }

    const fn tid(self) -> Option<u32> {
        match self {
            Self::Thread { tid, .. } => tid,
            Self::Caller { .. } | Self::Process { .. } => None,
        }
    }

    fn text(self) -> String {
        match self {
            Self::Caller { .. } => "none: the calling thread applies its own commands".to_owned(),
            Self::Thread { pid, tid: Some(tid) } => format!("thread {tid} of this process ({pid})"),
            Self::Thread { pid, tid: None } => format!("a thread of this process ({pid})"),
            Self::Process { pid } => format!("process {pid}"),
        }
    }
}

impl Mode {
    const fn name(self) -> &'static str {
        match self {
            Self::RunAhead => "run-ahead",
            Self::Lockstep => "lockstep",
            Self::Direct => "direct",
        }
    }

    const fn text(self) -> &'static str {
        match self {
            Self::RunAhead => "run-ahead: the client goes on while the server works",
            Self::Lockstep => "lockstep: the client waits for the server at each draw",
            Self::Direct => "direct: there is nobody to run ahead of",
        }
    }
}

/// The counters of a role, each by its name.
fn counters(of: &Counters) -> Value {
    let named =
        Counters::ROWS.iter().zip(of.values()).map(|(row, value)| (row.name.to_owned(), value.into()));
    let mut object: Map<String, Value> = named.collect();
    object.insert("slept".to_owned(), json!(of.slept));
    Value::Object(object)
}

const fn backend_name(backend: BackendKind) -> &'static str {
    match backend {
        BackendKind::Unknown => "unknown",
        BackendKind::Null => "null",
        BackendKind::Gles => "gles",
        BackendKind::Vulkan => "vulkan",
    }
}

/// A version, from major times 10 plus minor.
fn version(number: u32) -> String {
    format!("{}.{}", number / 10, number % 10)
}

/// What was asked for, if anything was.
fn wish(value: u64) -> Option<u64> {
    (value != 0).then_some(value)
}

/// A wish in words; without one, what a server usually gives.
fn wish_text(value: u64, usual: u64, unit: &str) -> String {
    match wish(value) {
        Some(value) => format!("{value}{unit} asked for"),
        None => format!("left to the server, usually {usual}{unit}"),
    }
}

impl Report {
    /// One object on one line.
    pub fn json(&self) -> String {
        let asked = &self.asked;
        let mut object = json!({
            "topology": self.topology.name(),
            "server": { "role": self.role.name(), "pid": self.role.pid(), "tid": self.role.tid() },
            "backend": backend_name(self.backend),
            "vendor": self.vendor,
            "renderer": self.renderer,
            "gl_version": version(self.gl),
            "gles_version": version(self.gles),
            "mode": self.mode.name(),
            "asked": {
                "run_ahead": asked.run_ahead,
                "credit": wish(asked.credit.into()),
                "command_ring_kb": wish(asked.sizes.commands / 1024),
                "stage_ring_kb": wish(asked.sizes.stage / 1024),
            },
            "protocol": self.identity.protocol,
            "fingerprint": format!("{:#018x}", self.identity.fingerprint),
            "build": self.identity.build,
        });
        if let Some(statistics) = &self.statistics {
            object["statistics"] = json!({
                "client": counters(&statistics.client),
                "server": statistics.server.as_ref().ok().map(counters),
            });
        }
        format!("{object}\n")
    }

    /// A line for each fact.
    pub fn text(&self) -> String {
        // A server's texts: nothing in them may break the line or steer a terminal.
        let clean = |text: &str| text.replace(char::is_control, "?");
        let mut out = String::new();
        // A string takes what is written to it.
        let mut line = |name: &str, value: &dyn fmt::Display| _ = writeln!(out, "{name:<13} {value}");
        line("topology", &self.topology.name());
        line("server", &self.role.text());
        line("backend", &backend_name(self.backend));
        line("renderer", &format_args!("{} ({})", clean(&self.renderer), clean(&self.vendor)));
        line("OpenGL", &version(self.gl));
        line("OpenGL ES", &version(self.gles));
        line("mode", &self.mode.text());
        if !matches!(self.mode, Mode::Direct) {
            let (asked, usual) = (&self.asked, &USUAL);
            let kb = |asked: u64, usual: u64| wish_text(asked / 1024, usual / 1024, " KiB");
            line("credit", &wish_text(asked.credit.into(), usual.credit.into(), ""));
            line("command ring", &kb(asked.sizes.commands, usual.sizes.commands));
            line("stage ring", &kb(asked.sizes.stage, usual.sizes.stage));
        }
        line("protocol", &self.identity.protocol);
        line("fingerprint", &format_args!("{:#018x}", self.identity.fingerprint));
        line("build", &self.identity.build);
        if let Some(statistics) = &self.statistics {
            out += &statistics.table();
        }
        out
    }
}
