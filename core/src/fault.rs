//! What a client can do wrong beyond the form of a record, by name.

use core::fmt;

use runahead_wire::{CamelCase, Refusal, pipe::Op};

/// A client broke a rule, or its server cannot go on. The first fault ends the session; nothing of the record
/// that caused it takes effect, and nothing after it is applied.
///
/// A fault prints as `Family("Row.Field")`, the form that logs and tests use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum Fault {
    /// The bytes are no valid record.
    Record(#[cfg_attr(feature = "defmt", defmt(Display2Format))] Refusal),
    /// A ring, the stage or a reply space was misused.
    Ring(#[cfg_attr(feature = "defmt", defmt(Display2Format))] runahead_rings::Fault),
    /// A member contradicts what the session's earlier records said: a kind, a slot, a generation, a range, a
    /// window that is too narrow.
    Corrupt {
        /// The row.
        #[cfg_attr(feature = "defmt", defmt(Debug2Format))]
        row: Op,
        /// The member, or what should have come before the record.
        field: &'static str,
    },
    /// A handle names no live object: it was never created, has ended, or is of an older generation.
    UnnamedIdentity {
        /// The row.
        #[cfg_attr(feature = "defmt", defmt(Debug2Format))]
        row: Op,
        /// The member.
        field: &'static str,
    },
    /// A record asks for more than one session may have.
    OverLimit {
        /// The row.
        #[cfg_attr(feature = "defmt", defmt(Debug2Format))]
        row: Op,
        /// What there would be too much of.
        field: &'static str,
    },
    /// An answer was wanted that this record or this server cannot give: no room for it, or no reply space
    /// where a row must have one.
    ReplyToNoSlot {
        /// The row.
        #[cfg_attr(feature = "defmt", defmt(Debug2Format))]
        row: Op,
    },
    /// What the client says its state is, is not what it told: one of the two sides has a defect.
    StateDiffers {
        /// The verb that the state is for.
        #[cfg_attr(feature = "defmt", defmt(Debug2Format))]
        row: Op,
    },
    /// The peer closed its end or died.
    PeerGone,
    /// The native device is lost.
    DeviceLost,
    /// A thread of the client panicked while it recorded: nobody knows what its half of a record says. The client's
    /// own, it never travels.
    Panicked,
}

impl Fault {
    /// Number of the fault's class on the control plane.
    #[must_use]
    pub const fn code(&self) -> FaultCode {
        match self {
            Self::Ring(runahead_rings::Fault::Overrun { .. }) => FaultCode::RingOverrun,
            Self::Ring(runahead_rings::Fault::Mismatch { .. }) => FaultCode::SegmentMismatch,
            Self::DeviceLost => FaultCode::DeviceLost,
            Self::PeerGone => FaultCode::PeerGone,
            _ => FaultCode::ProtocolCorruption,
        }
    }
}

/// Classes of faults, as the control plane numbers them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum FaultCode {
    /// The client's records contradict the protocol.
    ProtocolCorruption = 1,
    /// A cursor left the span that it may move in.
    RingOverrun = 2,
    /// A segment or page is not what the handshake said.
    SegmentMismatch = 3,
    /// The native device is lost.
    DeviceLost = 4,
    /// The peer is gone.
    PeerGone = 5,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (family, row, field) = match *self {
            Self::Record(refusal) => return refusal.fmt(f),
            Self::Ring(fault) => return fault.fmt(f),
            Self::Corrupt { row, field } => ("ProtocolCorruption", row, field),
            Self::UnnamedIdentity { row, field } => ("UnnamedIdentity", row, field),
            Self::OverLimit { row, field } => ("OverLimit", row, field),
            Self::ReplyToNoSlot { row } => ("ReplyToNoSlot", row, "reply"),
            Self::StateDiffers { row } => ("StateDiffers", row, "state"),
            Self::Panicked => return f.write_str("Panicked(\"Session.Turn\")"),
            Self::PeerGone => return f.write_str("PeerGone(\"Session.Peer\")"),
            Self::DeviceLost => return f.write_str("BackendDeviceLost(\"Session.Device\")"),
        };
        write!(f, "{family}(\"{}.{}\")", row.name(), CamelCase(field))
    }
}

impl core::error::Error for Fault {}

impl From<Refusal> for Fault {
    fn from(refusal: Refusal) -> Self {
        Self::Record(refusal)
    }
}

impl From<runahead_rings::Fault> for Fault {
    fn from(fault: runahead_rings::Fault) -> Self {
        Self::Ring(fault)
    }
}
