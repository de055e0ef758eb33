//! What a peer can do wrong, by name.

use core::fmt;

/// The peer broke a rule of this layer. The first fault ends the session; nothing after it is used.
///
/// A fault prints as `Family("Place.Field")`, the form that logs and tests use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Fault {
    /// A cursor left the span that it may move in: past the capacity, past what was published, backwards,
    /// or off the 8-byte grid.
    Overrun {
        /// `"Cmd"`, `"Event"` or `"Stage"`.
        ring: &'static str,
        /// `"Head"` or `"Tail"`.
        cursor: &'static str,
    },
    /// A record header, stage reference, reply space or answer contradicts the ring that carries it.
    Corrupt {
        /// The ring or space.
        place: &'static str,
        /// The field.
        field: &'static str,
    },
    /// A watermark moved backwards, or passed what was submitted.
    Watermark {
        /// The watermark.
        name: &'static str,
    },
    /// A control page or segment is not what the handshake said: wrong magic, version, size or alignment.
    Mismatch {
        /// The page or segment.
        place: &'static str,
        /// The field.
        field: &'static str,
    },
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (family, place, field) = match *self {
            Self::Overrun { ring, cursor } => ("RingOverrun", ring, cursor),
            Self::Corrupt { place, field } => ("ProtocolCorruption", place, field),
            Self::Watermark { name } => ("ProtocolCorruption", "Watermark", name),
            Self::Mismatch { place, field } => ("SegmentMismatch", place, field),
        };
        write!(f, "{family}(\"{place}.{field}\")")
    }
}

impl core::error::Error for Fault {}
