//! The boundary's bytes: catalogues of commands and events, their layouts, and the codec.
//!
//! A client records what it asks of the GPU as records of fixed layout; a server applies them. This crate
//! says what a record may be and turns records into calls and calls into records. It moves nothing: rings and
//! links do. It holds no state, allocates nothing, needs no `std` and contains no `unsafe`.
//!
//! # What is where
//!
//! - [`pipe`]: the commands. [`event`]: what the server tells the client unasked. Each is one table that
//!   [`catalogue!`] turns into numbers, encoders, a checked decoder, a trait and a dispatcher. An embedder
//!   defines tables of their own with the same macros.
//! - [`payload`](mod@payload), [`values`](mod@values), [`format`](mod@format), [`handle`]: what records are made of. [`limits`]: the
//!   largest counts.
//! - [`record`]: the frame of a record. [`bulk`]: bytes beside a record. [`caps`]: what a server can do.
//! - [`binding`]: how shaders find their resources. [`fingerprint`]: what two peers compare before they talk.
//!
//! # Who calls what
//!
//! A **sender** calls the methods of the catalogue's trait on a generated `Encoder` around its [`Sink`]. The
//! encoder stages bulk bytes, then hands over one [`Row`]; the sink asks for [`Row::encoded_len`], finds
//! room, and calls [`Row::encode`]. Encoding is for trusted callers: it makes sure that tails are as long as
//! the payload declares, because the layout depends on it, and checks no other content. [`Row::check`]
//! applies the receiver's checks.
//!
//! A **receiver** copies a record into memory of its own that begins at a multiple of 8, and calls the
//! generated `dispatch` with its [`Stage`] and its implementation of the trait. The copy comes first because
//! a peer may change shared memory between a check and a use. All borrowed arguments of a call end with the
//! call.
//!
//! Every function here may be called from any thread; nothing is shared.
//!
//! # What the decoder has checked when a method is called
//!
//! The record's length against the declared counts; counts against their limits; every value type of the
//! payload and of the tails' elements; the rules between members that stand with the payload; the form of
//! every blob reference, and that the stage holds its bytes. What depends on state is the applier's to check:
//! whether a handle is alive and of the right kind, whether a range lies in its buffer, whether a window is
//! wide enough for a verb, whether the contents of a blob make sense. Padding is never looked at.
//!
//! # What each error means
//!
//! [`Refusal`] is a malformed record. Its sender is broken or hostile: the receiver ends that session, with
//! the refusal as the reason. [`DispatchError::Pipe`] is the callee's own error. What is well formed and
//! cannot be done is no error here: it is answered as declined, or told by the event `Refused`.
//!
//! # Bytes
//!
//! Members are native-endian integers at their natural alignment, with explicit padding. Peers of different
//! byte order refuse each other by their fingerprints. No layout depends on the width of pointers.
//!
//! ```
//! use runahead_wire::payload::{DrawInfo, DrawRange};
//! use runahead_wire::pipe::{Record, rows};
//! use runahead_wire::values::Topology;
//! use runahead_wire::{Row, zerocopy::IntoBytes};
//!
//! let payload =
//!     DrawInfo { mode: Topology::Triangles.raw(), num_draws: 1, instance_count: 1, ..Default::default() };
//! let ranges = [DrawRange { start: 0, count: 36, index_bias: 0 }];
//! let row = rows::DrawVbo { payload: &payload, ranges: &ranges, indirect: &[] };
//! let mut words = [0_u64; 10];
//! assert_eq!(row.encoded_len(), Some(80));
//! assert!(row.encode(words.as_mut_bytes()));
//! assert_eq!(Record::decode(words.as_bytes()), Ok(Record::DrawVbo(row)));
//! ```

#![no_std]
#![forbid(unsafe_code)]

// The derives that `payload!` writes name this crate by its absolute path, also in its own modules.
extern crate self as runahead_wire;

pub use zerocopy;

pub mod archive;
pub mod binding;
pub mod bulk;
pub mod caps;
pub mod catalogue;
pub mod error;
pub mod event;
pub mod fingerprint;
pub mod format;
pub mod handle;
pub mod limits;
pub mod payload;
pub mod pipe;
pub mod record;
pub mod values;

pub use bulk::{BlobRef, Bulk, NoStage, SharedBytes, Stage};
pub use catalogue::{Row, Sink};
pub use error::{CamelCase, DispatchError, Refusal};
pub use format::Format;
pub use handle::{Handle, Kind};
pub use payload::{Member, Payload};
pub use record::{Frame, Header, ReplySpace};
