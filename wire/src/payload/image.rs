//! Images that other processes may hold.

use super::payload;
use crate::format::Format;
use crate::handle::Handle;
use crate::values::SharedImageOp;

payload! {
    /// An operation on a shared image; the damage of a present is the tail.
    pub struct SharedImage: 40 {
        /// What to do.
        op: u32 as SharedImageOp,
        /// Format.
        format: u32 as Format,
        /// Pixels along x.
        width: u32,
        /// Pixels along y.
        height: u32,
        /// The image; 0 where it is to be allocated.
        image_id: u64,
        /// The texture, with `Attach`.
        texture: Handle,
        /// Rectangles of the tail.
        damage_count: u32,
        #[doc(hidden)]
        _pad: u32,
    }
}
