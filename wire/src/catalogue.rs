//! The catalogue macro, and what every catalogue shares.
//!
//! One table generates everything about a command set: numbers, encoders, the checked decoder, the trait that
//! both sides implement, the dispatcher, the fingerprint and the documentation. See
//! [`catalogue!`](crate::catalogue!).

use crate::bulk::{BlobRef, Bulk};
use crate::error::Refusal;
use crate::payload::{Payload, Shape, StructInfo};
use crate::record::{Fault, Frame, ReplySpace, explain};

mod documentation;
mod macros;
mod table;

pub use documentation::write_documentation;
pub(crate) use macros::catalogue;
#[doc(hidden)]
pub use table::{declared, numbers_are_positions, table};

/// What a row is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Class {
    /// Resources, fences, contexts, caps: what a share group owns.
    Screen,
    /// Queries.
    Query,
    /// Creation, binding and deletion of constant state objects.
    Cso,
    /// State that a later verb uses.
    State,
    /// Contents and properties of one object.
    Object,
    /// Commands that make the server do work.
    Verb,
    /// News from the server; rows of the event catalogue.
    Event,
}

/// What the sender waits for once the record is published.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Wait {
    /// Nothing.
    None,
    /// The record was applied.
    Applied,
    /// The answer, and only when the record carries reply space and the caller asks for the answer now.
    Reply,
    /// A present credit, taken before the record is encoded.
    Present,
}

/// Flags of a row. They never travel: the number of the row recovers them.
///
/// Bits 0 (acknowledgement wanted) and 3 (host span) of the reference are burned: a record that wants an
/// answer says so by its reply space, and no pointer or client memory crosses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RowFlags(u8);

impl RowFlags {
    /// The payload owns a [`BlobRef`].
    pub const BLOB: Self = Self(2);
    /// The record has tails.
    pub const VAR_TAIL: Self = Self(4);
    /// The record may carry reply space.
    pub const REPLY: Self = Self(16);
    /// A server may lack the row; its caps say so before a client sends it.
    pub const OPTIONAL: Self = Self(32);
    /// No flag.
    pub const EMPTY: Self = Self(0);

    /// The number of the mask.
    #[must_use]
    pub const fn raw(self) -> u8 {
        self.0
    }

    /// Whether every flag of `other` is set.
    #[must_use]
    pub const fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// The flags of both.
    #[must_use]
    pub const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

/// Whether a row is still sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// Sent and applied.
    Live,
    /// Decoded and applied, but a client of ours sends the named row instead.
    Superseded {
        /// Name of the row that replaces it.
        by: &'static str,
    },
    /// Refused. The number is kept so that no later row can take it.
    Retired {
        /// Why.
        reason: &'static str,
    },
}

/// A tail column.
#[derive(Clone, Copy, Debug)]
pub struct TailInfo {
    /// Name of the tail.
    pub name: &'static str,
    /// Name of the element type.
    pub element_name: &'static str,
    /// What an element is made of.
    pub element: Shape,
    /// Bytes of an element.
    pub size: usize,
    /// Alignment of an element, at most 8.
    pub align: usize,
    /// Payload member that declares the number of elements.
    pub count: &'static str,
    /// Largest number of elements.
    pub max: u32,
    /// Number of elements that a payload's byte image declares; nothing when the image has the wrong size.
    pub declared: fn(&[u8]) -> Option<u32>,
}

/// A blob column.
#[derive(Clone, Copy, Debug)]
pub struct BlobInfo {
    /// Payload member that names the bytes.
    pub name: &'static str,
    /// Number of blobs in the member.
    pub count: usize,
    /// Whether a blob may be absent.
    pub optional: bool,
}

/// What the answer to a row holds.
#[derive(Clone, Copy, Debug)]
pub struct AnswerInfo {
    /// Name of the answer.
    pub name: &'static str,
    /// Layout of a fixed answer; nothing when the size is not fixed, or 0.
    pub layout: Option<&'static StructInfo>,
}

/// Type that describes an answer: a payload, or a marker for bytes whose number the request decides.
pub trait Answer {
    /// Its description.
    const ANSWER: AnswerInfo;
}

impl<P: Payload> Answer for P {
    const ANSWER: AnswerInfo = AnswerInfo { name: P::NAME, layout: Some(P::INFO) };
}

/// Answer: as many bytes as the request's reply space asks for, without gaps.
#[derive(Clone, Copy, Debug)]
pub struct Bytes;

impl Answer for Bytes {
    const ANSWER: AnswerInfo = AnswerInfo { name: "bytes", layout: None };
}

/// Answer: the status alone, which says that the work is done.
#[derive(Clone, Copy, Debug)]
pub struct Completion;

impl Answer for Completion {
    const ANSWER: AnswerInfo = AnswerInfo { name: "completion", layout: None };
}

/// One row of a catalogue.
#[derive(Clone, Copy, Debug)]
pub struct RowInfo {
    /// Number: the row's position, from 1.
    pub op: u16,
    /// Name.
    pub name: &'static str,
    /// Payload; nothing for a retired row.
    pub payload: Option<&'static StructInfo>,
    /// What the row is about.
    pub class: Class,
    /// What its sender waits for.
    pub wait: Wait,
    /// Flags.
    pub flags: RowFlags,
    /// Tails, in order.
    pub tails: &'static [TailInfo],
    /// Blobs, in order.
    pub blobs: &'static [BlobInfo],
    /// Answer of a reply row.
    pub answer: Option<AnswerInfo>,
    /// Whether it is still sent.
    pub standing: Standing,
    /// Meaning, in one paragraph.
    pub docs: &'static str,
}

/// One live row with its parts: what a record says, borrowed.
pub trait Row<'a>: Copy {
    /// Type of the payload.
    type Payload: Payload;
    /// Number.
    const OP: u16;
    /// Name.
    const NAME: &'static str;
    /// What the row is about.
    const CLASS: Class;
    /// What its sender waits for.
    const WAIT: Wait;
    /// The whole line of the table.
    const INFO: &'static RowInfo;

    /// The payload.
    fn payload(&self) -> &'a Self::Payload;

    /// The reply space that the record carries.
    fn reply(&self) -> Option<ReplySpace>;

    /// Bytes of the record. Nothing when a tail is longer than its row allows or not as long as the payload
    /// declares.
    fn encoded_len(&self) -> Option<usize>;

    /// Whether no tail has more than one element. Such a record is encoded without a call; a sender that asks
    /// first, and takes another way for the others, saves no registers for a call that it does not make.
    fn is_short(&self) -> bool;

    /// Writes the record. `out` is [`Row::encoded_len`] bytes long; otherwise the answer is `false` and what
    /// was written is not a record. Contents are not checked, see [`Row::check`].
    #[must_use]
    fn encode(&self, out: &mut [u8]) -> bool;

    /// Decodes the record of this row. The parts borrow from the frame.
    ///
    /// # Errors
    /// The refusal that names the first bad member.
    #[inline]
    fn decode(frame: Frame<'a>) -> Result<Self, Refusal> {
        Self::decode_as::<()>(frame).map_err(|()| explain::<Self>(frame.bytes()))
    }

    #[doc(hidden)]
    fn decode_as<F: Fault>(frame: Frame<'a>) -> Result<Self, F>;

    /// The checks of [`Row::decode`] over parts that were never encoded: for a sender that wants to know its
    /// own mistake before its peer does.
    ///
    /// # Errors
    /// As for [`Row::decode`].
    fn check(&self) -> Result<(), Refusal>;
}

/// Where a generated encoder puts records: the client's recorder, or a server's event writer.
pub trait Sink {
    /// Why a record could not be taken.
    type Error;

    /// Puts bulk bytes where the peer can read them and says where that is. `bulk` is not empty. Everything
    /// that one record needs is staged, in order of its columns, before [`Sink::record`] is called with it.
    ///
    /// # Errors
    /// The sink's own, such as a stage that cannot hold the bytes.
    fn stage(&mut self, bulk: Bulk<'_>) -> Result<BlobRef, Self::Error>;

    /// Takes one record. `R::OP`, `R::WAIT` and the other constants are known at compile time, so a sink that
    /// treats rows differently pays for no branch.
    ///
    /// # Errors
    /// The sink's own. A sink that finds [`Row::encoded_len`] empty reports its caller's mistake here.
    fn record<'a, R: Row<'a>>(&mut self, row: &R) -> Result<(), Self::Error>;
}
