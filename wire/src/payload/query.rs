//! Queries.
//!
//! Source: OpenGL 4.6 sections 4.2 and 4.3 (queries) and 10.9 (conditional rendering).

use super::payload;
use crate::handle::Handle;
use crate::values::{ConditionalRenderMode, QueryKind};

payload! {
    /// A query and what it measures.
    pub struct QueryDesc: 16 {
        /// The query.
        query: Handle,
        /// What it measures.
        kind: u32 as QueryKind,
        /// Vertex stream, for the kinds that count one.
        stream: u32,
    }

    /// A request for a query's result.
    pub struct QueryResultRequest: 16 {
        /// The query.
        query: Handle,
        /// Whether the answer may wait for the result. Without, a result that is not there is declined.
        wait: u8 as bool,
        #[doc(hidden)]
        _pad: [u8; 7],
    }

    /// A request for the GPU's time.
    pub struct TimestampRequest: 8 {
        #[doc(hidden)]
        _reserved: [u32; 2],
    }

    /// Makes verbs depend on a query's result until the next such record.
    pub struct ConditionalRender: 16 {
        /// The query; null ends the dependence.
        query: Handle,
        /// What to do while the result is not there.
        mode: u32 as ConditionalRenderMode,
        #[doc(hidden)]
        _pad: u32,
    }
}
