//! Fences, barriers and the retire points of the stream.
//!
//! Source: OpenGL 4.6 sections 2.3.2 (flush), 4.1 (sync objects) and 7.13.2 (memory barriers).

use super::payload;
use crate::handle::Handle;
use crate::values::{BarrierBits, FenceWaitFlags};

payload! {
    /// A wait for a fence.
    pub struct FenceWait: 24 {
        /// The fence.
        fence: Handle,
        /// Longest wait in nanoseconds; 0 polls, `u64::MAX` waits for ever. A wait on the server's side
        /// ignores it.
        timeout_ns: u64,
        /// How to wait.
        flags: u32 as FenceWaitFlags,
        #[doc(hidden)]
        _pad: u32,
    }

    /// Which later accesses see earlier shader writes.
    pub struct MemoryBarrier: 8 {
        /// The accesses.
        bits: u32 as BarrierBits,
        /// Whether order within the same framebuffer region is enough.
        by_region: u8 as bool,
        #[doc(hidden)]
        _pad: [u8; 3],
    }

    /// A point where the server submits what it holds to the GPU.
    pub struct Flush: 8 {
        #[doc(hidden)]
        _reserved: [u32; 2],
    }
}
