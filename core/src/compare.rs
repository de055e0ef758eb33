//! The comparator: what the client says its state is, against what the server was told, field by field.
//!
//! At a verb the client writes down its state as it derives it afresh ([`Snapshot::take`]), the server walks
//! what it holds and compares ([`compare`]). Both walk the same fields in the same order ([`visit`]): those of
//! the families that the verb needs, and the contents of every object that they name. What one of them leaves
//! out is a difference as much as another value.
//!
//! Padding and places in the stage are nobody's state and are not looked at. A verb that the server drops,
//! because it refused an object that the verb needs, is not to be compared: the client does not know yet.

use core::fmt;

use runahead_wire::pipe::Op;

use crate::{state::State, tracker::Verb};

mod contents;
mod difference;
mod snapshot;
#[cfg(test)]
mod tests;
mod visit;

pub use contents::{Contents, LayoutContents, ProgramContents};
pub use difference::Difference;
use difference::{At, members};
pub use snapshot::{Snapshot, TooSmall};
pub use visit::{Field, Name, visit};

/// Compares a client's snapshot with what the server holds at a verb, and answers how many members it compared:
/// none for a row that needs nothing of the state.
///
/// # Errors
/// The first [`Difference`].
pub fn compare<C: Contents>(
    mut snapshot: Snapshot<'_>,
    state: &State,
    contents: &C,
    op: Op,
    record: u64,
) -> Result<usize, Difference> {
    let Some(verb) = Verb::of(op) else { return Ok(0) };
    let at = At { verb: op, record };
    let mut compared = 0;
    // Where the two are not at the same field, the fields that are left tell who has one too many.
    let mut out_of_step: Option<OutOfStep> = None;
    visit(state, contents, verb, &mut |server| {
        if let Some(found) = &mut out_of_step {
            found.left += 1;
            return Ok(());
        }
        let rest = snapshot;
        match snapshot.next() {
            Some(client) if client.is(server) => {
                compared += members(server.item, server.bytes.len());
                Difference::between(client.bytes, server, at).map_or(Ok(()), Err)
            }
            client => {
                let extra = client.map(|client| Difference::extra(&client, at));
                out_of_step = Some(OutOfStep { missing: Difference::missing(server, at), extra, left: 1 });
                snapshot = rest;
                Ok(())
            }
        }
    })?;
    let left = snapshot.count();
    match out_of_step {
        Some(OutOfStep { extra: Some(extra), left: of_server, .. }) if left > of_server => Err(extra),
        Some(OutOfStep { missing, .. }) => Err(missing),
        None => snapshot.next().map_or(Ok(compared), |extra| Err(Difference::extra(&extra, at))),
    }
}

/// Where the roles are at different fields.
struct OutOfStep {
    /// If the client lacks the server's field.
    missing: Difference,
    /// If the client has one too many.
    extra: Option<Difference>,
    /// Fields that the server has left.
    left: usize,
}

/// Whether a client has its state compared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Check {
    /// It does not.
    #[default]
    Off,
    /// It does.
    On,
    /// It does, and tells a wrong value once. The comparator has to say no.
    Corrupt,
    /// It does, and leaves out a record once. The comparator has to say no.
    Drop,
}

/// How many verbs were compared, of how many.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Coverage {
    /// Verbs that were compared.
    pub compared: u64,
    /// Verbs that were seen.
    pub seen: u64,
    /// Members that were compared.
    pub members: u64,
}

/// A run compared nothing, which proves nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NothingCompared {
    /// Verbs that were seen.
    pub seen: u64,
}

impl Coverage {
    /// Counts a verb with so many members compared; none for one that was not compared.
    pub const fn count(&mut self, members: usize) {
        self.seen += 1;
        self.compared += (members != 0) as u64;
        self.members += members as u64;
    }

    /// The counts, if they count anything.
    ///
    /// # Errors
    /// [`NothingCompared`].
    pub const fn verdict(self) -> Result<Self, NothingCompared> {
        if self.compared == 0 { Err(NothingCompared { seen: self.seen }) } else { Ok(self) }
    }
}

impl fmt::Display for Coverage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "compared {} of {} verbs, {} members", self.compared, self.seen, self.members)
    }
}

impl fmt::Display for NothingCompared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "compared none of {} verbs", self.seen)
    }
}

impl core::error::Error for NothingCompared {}
