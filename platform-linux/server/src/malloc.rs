//! The C allocator's thresholds, for a renderer that runs long.
//!
//! With glibc's defaults llvmpipe gives memory back to the kernel and asks for it again on every draw with a changed
//! uniform: measured, 12.5 µs a draw instead of 2.8. This process has nobody to leave that memory to.

/// Lets the allocator keep what the driver frees.
#[cfg(target_env = "gnu")]
pub fn keep_memory() {
    /// The most that glibc takes on 64 bits.
    const MMAP: i32 = 32 << 20;
    const TRIM: i32 = 256 << 20;
    for (parameter, bytes) in [(libc::M_MMAP_THRESHOLD, MMAP), (libc::M_TRIM_THRESHOLD, TRIM)] {
        // SAFETY: a plain call; no other thread allocates yet.
        let taken = unsafe { libc::mallopt(parameter, bytes) };
        debug_assert!(taken == 1 || usize::BITS < 64, "mallopt({parameter}, {bytes}) was not taken");
    }
}

/// Other allocators have no such thresholds.
#[cfg(not(target_env = "gnu"))]
pub const fn keep_memory() {}

#[cfg(all(test, target_env = "gnu", target_pointer_width = "64"))]
mod tests {
    use std::hint::black_box;

    use super::*;

    /// Allocations that have a mapping of their own.
    fn mapped() -> usize {
        // SAFETY: a plain call.
        unsafe { libc::mallinfo2() }.hblks
    }

    /// This package's one unit test, so that no other thread allocates that much meanwhile.
    #[test]
    fn large_allocations_stay_in_the_heap() {
        const LARGE: usize = 16 << 20;
        let before = mapped();
        let by_default = black_box(vec![1_u8; LARGE]);
        assert_eq!(mapped(), before + 1, "by default it is mapped, and unmapped when freed");
        keep_memory();
        let kept = black_box(vec![1_u8; LARGE]);
        assert_eq!(mapped(), before + 1, "now it comes from the heap");
        drop((by_default, kept));
    }
}
