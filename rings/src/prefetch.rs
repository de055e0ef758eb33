//! Pulling the next lines of a ring close before they are needed.
//!
//! Measured on two cores of one package at 80-byte records: 86 M/s without, 108 M/s with both sides asking
//! 2 KiB ahead. A prefetch is a hint: the address need not be mapped and nothing depends on it, so the last
//! records of a lap ask past the end of the ring. Each call asks for two lines of 64 bytes: as much as a
//! record of the common sizes takes; the processor's own prefetcher sees to long ones.

/// How far ahead of the record at hand, in bytes.
const AHEAD: usize = 2048;
const NEXT_LINE: usize = AHEAD + 64;

/// This core will soon write what lies [`AHEAD`] of `record`.
#[inline(always)]
pub(crate) fn for_write(record: *const u8) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    // SAFETY: a prefetch has no architectural effect; processors without it execute it as a no-operation.
    unsafe {
        core::arch::asm!(
            "prefetchw [{record} + {first}]",
            "prefetchw [{record} + {second}]",
            record = in(reg) record, first = const AHEAD, second = const NEXT_LINE,
            options(nostack, preserves_flags, readonly)
        );
    }
    #[cfg(all(target_arch = "aarch64", not(miri)))]
    // SAFETY: a prefetch has no architectural effect.
    unsafe {
        core::arch::asm!(
            "prfm pstl1keep, [{record}, #{first}]",
            "prfm pstl1keep, [{record}, #{second}]",
            record = in(reg) record, first = const AHEAD, second = const NEXT_LINE,
            options(nostack, preserves_flags, readonly)
        );
    }
    let _ = (record, NEXT_LINE);
}

/// This core will soon read what lies [`AHEAD`] of `record`.
#[inline(always)]
pub(crate) fn for_read(record: *const u8) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    // SAFETY: a prefetch has no architectural effect.
    unsafe {
        core::arch::asm!(
            "prefetcht0 [{record} + {first}]",
            "prefetcht0 [{record} + {second}]",
            record = in(reg) record, first = const AHEAD, second = const NEXT_LINE,
            options(nostack, preserves_flags, readonly)
        );
    }
    #[cfg(all(target_arch = "aarch64", not(miri)))]
    // SAFETY: a prefetch has no architectural effect.
    unsafe {
        core::arch::asm!(
            "prfm pldl1keep, [{record}, #{first}]",
            "prfm pldl1keep, [{record}, #{second}]",
            record = in(reg) record, first = const AHEAD, second = const NEXT_LINE,
            options(nostack, preserves_flags, readonly)
        );
    }
    let _ = record;
}
