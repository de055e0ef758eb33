//! Refusals: why a record was not decoded, and the error of `dispatch`.

use core::fmt;

/// Why bytes are not a valid record. Every variant names what is wrong; none owns memory.
///
/// It prints as the fault's name with the offending field, `ProtocolCorruption("SetSamplerViews.Count")`:
/// names are kept as they stand in the source (`count`) and turned into the wire's spelling (`Count`) while
/// printing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Refusal {
    /// The catalogue has no row of this number. 0 is the ring's filler and never a record.
    UnknownOp(u16),
    /// The row of this name is retired: its number stays, its meaning is gone.
    RetiredOp {
        /// Name of the row.
        row: &'static str,
    },
    /// A member holds what it may not hold, or a length disagrees with the declared counts.
    Corrupt {
        /// The row, or the struct of a tail element, or `Record` for the frame itself.
        owner: &'static str,
        /// The member; `size` for the record's length.
        field: &'static str,
    },
    /// A blob that the row needs is absent, has the wrong segment, or lies outside what the peer has staged.
    BlobNotStaged {
        /// Name of the row.
        owner: &'static str,
        /// Name of the blob member.
        field: &'static str,
    },
}

/// A name in `snake_case` that prints as `CamelCase`: how faults spell members.
#[derive(Clone, Copy, Debug)]
pub struct CamelCase(pub &'static str);

impl fmt::Display for CamelCase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for word in self.0.split('_') {
            let mut letters = word.chars();
            if let Some(first) = letters.next() {
                write!(f, "{}{}", first.to_ascii_uppercase(), letters.as_str())?;
            }
        }
        Ok(())
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::UnknownOp(op) => write!(f, "UnknownOp({op})"),
            Self::RetiredOp { row } => write!(f, "RetiredOp(\"{row}\")"),
            Self::Corrupt { owner, field } => {
                write!(f, "ProtocolCorruption(\"{owner}.{}\")", CamelCase(field))
            }
            Self::BlobNotStaged { owner, field } => {
                write!(f, "BlobNotStaged(\"{owner}.{}\")", CamelCase(field))
            }
        }
    }
}

impl core::error::Error for Refusal {}

/// Error of a generated `dispatch`: the record was refused, or the callee failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DispatchError<E> {
    /// The bytes are not a valid record; the callee was not called.
    Refused(Refusal),
    /// The callee's own error, unchanged.
    Pipe(E),
}

impl<E> From<Refusal> for DispatchError<E> {
    #[inline]
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

impl<E: fmt::Display> fmt::Display for DispatchError<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused(refusal) => refusal.fmt(f),
            Self::Pipe(error) => error.fmt(f),
        }
    }
}

impl<E: fmt::Debug + fmt::Display> core::error::Error for DispatchError<E> {}
