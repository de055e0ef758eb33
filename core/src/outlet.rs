//! Where answers and events of a server go.

use core::fmt::Debug;

use runahead_rings::Status;
use runahead_wire::{ReplySpace, event::Events};

use crate::fault::Fault;

/// The server's way back to its client: answers into reply space, and events.
///
/// Events are lossless and ordered, and those of a record come before the applied watermark reaches it. An
/// outlet without room waits for its client, which drains at every wait of its own; it fails only when the
/// client is gone.
pub trait Outlet: Events<Error = Fault> + Debug {
    /// Whether an answer could be written there. Asked while the record is applied, so that an answer that
    /// comes later cannot fail.
    ///
    /// # Errors
    /// The client's fault.
    fn check(&self, space: ReplySpace) -> Result<(), Fault>;

    /// Writes an answer of `size` bytes, which `fill` writes; `false` from it leaves an answer of status
    /// `Error`. A size over the space's capacity is the client's fault.
    ///
    /// # Errors
    /// The client's fault.
    fn answer_with(
        &mut self,
        space: ReplySpace,
        size: usize,
        fill: impl FnOnce(&mut [u8]) -> bool,
    ) -> Result<(), Fault>;

    /// Writes an answer.
    ///
    /// # Errors
    /// The client's fault.
    fn answer(&mut self, space: ReplySpace, status: Status, bytes: &[u8]) -> Result<(), Fault>;

    /// Bytes that one event may write back.
    fn writeback_bytes(&self) -> usize;
}
