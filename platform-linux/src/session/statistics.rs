//! What both roles counted, as a table for people and as JSON.

use std::{
    fmt::Write as _,
    fs::File,
    io::{self, Write as _},
    path::PathBuf,
};

use runahead_core::{Counters, counters::BUCKETS};

use super::{Topology, live::LiveError};

/// Whether a session counts what only counting tells, and what becomes of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Counting {
    /// It does not.
    #[default]
    Off,
    /// It does, for who asks the client.
    On,
    /// When the session ends, a table goes to standard error.
    Print,
    /// When the session ends, a JSON object a role is appended to a file, each on a line.
    File(PathBuf),
}

/// What both roles counted.
#[derive(Clone, Copy, Debug)]
pub struct Statistics {
    /// Where records were applied.
    pub topology: Topology,
    /// The client's counters.
    pub client: Counters,
    /// The server's, where there are any.
    pub server: Result<Counters, LiveError>,
}

/// The times of a bucket, in words.
fn bucket(at: usize) -> String {
    match at {
        0 => "below 1 us".to_owned(),
        at if at == BUCKETS - 1 => format!("{} us or more", 1_u64 << (at - 1)),
        at => format!("{} to {} us", 1_u64 << (at - 1), 1_u64 << at),
    }
}

impl Statistics {
    /// Verbs that were compared, and all: the server's, or the caller's own where it applies itself.
    #[must_use]
    pub fn verbs(&self) -> (u64, u64) {
        let Counters { verbs, verbs_compared, .. } = *self.server.as_ref().unwrap_or(&self.client);
        (verbs_compared, verbs)
    }

    /// A table, of the rows that are not 0 on both sides.
    #[must_use]
    pub fn table(&self) -> String {
        let server = self.server.unwrap_or_default();
        let mut out = format!("runahead: statistics of a session ({})\n", self.topology.name());
        if let Err(error) = self.server {
            // A string takes what is written to it, here and below.
            let _ = writeln!(out, "  (no counters of the server: {error})");
        }
        let _ = writeln!(out, "  {:<20} {:>16} {:>16}", "", "client", "server");
        let mut line = |name: &str, client: u64, server: u64, what: &str| {
            if client != 0 || server != 0 {
                let _ = writeln!(out, "  {name:<20} {client:>16} {server:>16}  {what}");
            }
        };
        for ((row, client), server) in Counters::ROWS.iter().zip(self.client.values()).zip(server.values()) {
            line(row.name, client, server, row.what);
        }
        for at in 0..BUCKETS {
            let what = format!("waits that slept {}", bucket(at));
            line("slept", self.client.slept[at], server.slept[at], &what);
        }
        if self.client.presents != 0 {
            let trips = self.client.round_trips() as f64 / self.client.presents as f64;
            let _ = writeln!(out, "  {:<20} {trips:>16.3} {:>16}  a frame", "round trips", "");
        }
        out
    }

    /// An object for each role, each on a line.
    #[must_use]
    pub fn json(&self) -> String {
        let mut out = String::new();
        for (role, counters) in [("client", Ok(self.client)), ("server", self.server)] {
            // Names of roles, topologies and fields are words, and the rest are numbers: nothing needs escaping.
            let _ = write!(out, "{{\"role\":\"{role}\",\"topology\":\"{}\"", self.topology.name());
            if let Ok(counters) = counters {
                for (row, value) in Counters::ROWS.iter().zip(counters.values()) {
                    let _ = write!(out, ",\"{}\":{value}", row.name);
                }
                let _ =
                    write!(out, ",\"round_trips\":{},\"slept\":{:?}", counters.round_trips(), counters.slept);
            }
            out.push_str("}\n");
        }
        out
    }

    /// Does with them what is asked.
    ///
    /// # Errors
    /// The file could not be written.
    pub(super) fn deliver(&self, counting: &Counting) -> io::Result<()> {
        match counting {
            Counting::Off | Counting::On => Ok(()),
            Counting::Print => io::stderr().write_all(self.table().as_bytes()),
            // In one call, so that lines of several processes stay whole.
            Counting::File(path) => {
                File::options().append(true).create(true).open(path)?.write_all(self.json().as_bytes())
            }
        }
    }
}
