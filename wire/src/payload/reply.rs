//! Reply space.

use super::payload;

payload! {
    /// Where the answer to a record is to be written: room in the reply segment, which belongs to the client
    /// to hand out and to the server to write.
    ///
    /// Only the holder of the reply segment knows its size, so the decoder does not judge these numbers.
    pub struct ReplySpace: 16 {
        /// First byte of the room in the reply segment.
        offset: u32,
        /// Bytes of the room, the answer's own status word included.
        capacity: u32,
        /// Number that the stale word at `offset` does not carry. The client cannot clear a word that only
        /// the server may write, so it names a new tag instead, and an old answer never reads as the new one.
        tag: u32,
        #[doc(hidden)]
        _pad: u32,
    }
}
