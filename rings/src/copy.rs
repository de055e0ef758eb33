//! Copying memory that the peer may be writing.
//!
//! The memory model gives no meaning to a plain copy that races with a write. Two copies have one: relaxed atomic
//! loads, and instructions that the compiler does not look into, which do what the processor does. Each byte is
//! read once either way. The latter are used where they are known, since they move 16 bytes at a time: that is
//! quicker, and a reader of the copy that loads 16 bytes finds them in one store, where two stores of 8 bytes
//! would stall it.

use core::sync::atomic::{AtomicU64 as WordInMemory, Ordering};

/// Copies as many bytes as `to` has, at most those of `from`.
pub(crate) fn bytes(from: &[WordInMemory], to: &mut [u8]) {
    let (whole, rest) = to.as_chunks_mut::<8>();
    let len = from.len().min(whole.len());
    // SAFETY: both are `len` words long, and no other reference to `whole` exists.
    unsafe { words(from.as_ptr(), whole.as_mut_ptr(), len) };
    if let Some(last) = from.get(len) {
        rest.copy_from_slice(&last.load(Ordering::Relaxed).to_ne_bytes()[..rest.len()]);
    }
}

/// Copies `len` words.
///
/// # Safety
/// `from` points to `len` words and `to` to as many times 8 bytes, which the caller owns.
#[inline(always)]
pub(crate) unsafe fn words(from: *const WordInMemory, to: *mut [u8; 8], len: usize) {
    let fours = len & !3;
    let mut at = 0;
    while at < fours {
        // SAFETY: four words are left on both sides.
        unsafe { four(from, to, at) };
        at += 4;
    }
    // Spelled out: as a loop it would be unrolled for more words than can be left.
    if len & 2 != 0 {
        // SAFETY: two words are left on both sides.
        unsafe { one(from, to, at) };
        // SAFETY: as above.
        unsafe { one(from, to, at + 1) };
    }
    if len & 1 != 0 {
        // SAFETY: the last word is left on both sides.
        unsafe { one(from, to, len - 1) };
    }
}

/// Copies the word numbered `at`.
///
/// # Safety
/// As [`words`], with a length of `at + 1`.
#[inline(always)]
unsafe fn one(from: *const WordInMemory, to: *mut [u8; 8], at: usize) {
    // SAFETY: a word, which may be looked at whoever writes it.
    let word = unsafe { &*from.wrapping_add(at) };
    // SAFETY: 8 bytes that the caller owns.
    unsafe { to.wrapping_add(at).write(word.load(Ordering::Relaxed).to_ne_bytes()) };
}

/// Copies four words from the one numbered `at` on.
///
/// # Safety
/// As [`words`], with a length of `at + 4`.
#[cfg(all(target_arch = "x86_64", target_feature = "sse2", not(miri)))]
#[inline(always)]
unsafe fn four(from: *const WordInMemory, to: *mut [u8; 8], at: usize) {
    // SAFETY: reads 32 bytes once and writes 32 bytes.
    unsafe {
        core::arch::asm!(
            "movups {low}, [{from} + 8 * {at}]",
            "movups {high}, [{from} + 8 * {at} + 16]",
            "movups [{to} + 8 * {at}], {low}",
            "movups [{to} + 8 * {at} + 16], {high}",
            from = in(reg) from, to = in(reg) to, at = in(reg) at,
            low = out(xmm_reg) _, high = out(xmm_reg) _,
            options(nostack, preserves_flags)
        );
    }
}

/// Copies four words from the one numbered `at` on.
///
/// # Safety
/// As [`words`], with a length of `at + 4`.
#[cfg(all(target_arch = "aarch64", target_feature = "neon", not(miri)))]
#[inline(always)]
unsafe fn four(from: *const WordInMemory, to: *mut [u8; 8], at: usize) {
    // SAFETY: reads 32 bytes once and writes 32 bytes.
    unsafe {
        core::arch::asm!(
            "ldp {low:q}, {high:q}, [{from}]",
            "stp {low:q}, {high:q}, [{to}]",
            from = in(reg) from.wrapping_add(at), to = in(reg) to.wrapping_add(at),
            low = out(vreg) _, high = out(vreg) _,
            options(nostack, preserves_flags)
        );
    }
}

/// Copies four words from the one numbered `at` on.
///
/// # Safety
/// As [`words`], with a length of `at + 4`.
#[cfg(not(any(
    all(target_arch = "x86_64", target_feature = "sse2", not(miri)),
    all(target_arch = "aarch64", target_feature = "neon", not(miri)),
)))]
#[inline(always)]
unsafe fn four(from: *const WordInMemory, to: *mut [u8; 8], at: usize) {
    // SAFETY: four words from there on.
    let words = unsafe { &*from.wrapping_add(at).cast::<[WordInMemory; 4]>() };
    let bytes = [0, 1, 2, 3].map(|word: usize| words[word].load(Ordering::Relaxed).to_ne_bytes());
    // SAFETY: four times 8 bytes from here on, of any alignment.
    unsafe { to.wrapping_add(at).cast::<[[u8; 8]; 4]>().write(bytes) };
}
