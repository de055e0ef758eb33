//! Answers of fixed layout. An answer's status (OK, declined, error) and size precede it in the reply space
//! and are the reply space's own.

use super::payload;
use crate::values::FenceWaitResult;

payload! {
    /// State of a fence. Declined: take it as signalled.
    pub struct FenceStatusAnswer: 8 {
        /// Whether it is signalled.
        signaled: u32 as bool,
        #[doc(hidden)]
        _pad: u32,
    }

    /// Outcome of a wait for a fence. Declined: take it as signalled already.
    pub struct FenceWaitAnswer: 8 {
        /// The outcome.
        result: u32 as FenceWaitResult,
        #[doc(hidden)]
        _pad: u32,
    }

    /// Whether a query's result is there. Declined: not yet.
    pub struct QueryAvailableAnswer: 8 {
        /// Whether it is.
        available: u32 as bool,
        #[doc(hidden)]
        _pad: u32,
    }

    /// A query's result. Declined: not yet.
    pub struct QueryResultAnswer: 16 {
        /// The result.
        value: u64,
        /// Whether the query ever ran; without, the value means nothing.
        produced: u32 as bool,
        #[doc(hidden)]
        _pad: u32,
    }

    /// The GPU's time. Declined: 0.
    pub struct TimestampAnswer: 8 {
        /// Nanoseconds.
        nanoseconds: i64,
    }

    /// A mapping of a buffer's real storage. Declined: push what the application writes.
    pub struct MapPersistentAnswer: 8 {
        /// Token by which the link hands the mapping over.
        token: u64,
    }

    /// A shared image. Declined: there is none.
    pub struct SharedImageAnswer: 32 {
        /// The image.
        image_id: u64,
        /// Layout modifier of its memory.
        modifier: u64,
        /// First byte of its memory.
        offset: u64,
        /// Bytes from row to row.
        row_stride: u32,
        #[doc(hidden)]
        _pad: u32,
    }
}
