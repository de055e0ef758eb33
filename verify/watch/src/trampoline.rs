//! Functions that go on to another function with whatever arguments they got.

use std::ffi::c_void;

/// A function of any signature.
type Function = unsafe extern "C" fn();

#[cfg(target_arch = "x86_64")]
mod machine {
    use std::arch::naked_asm;

    /// Trampoline number `N`. System V ABI: arguments are in six integer and eight vector registers, and on the stack,
    /// which is as it was when the target begins.
    #[unsafe(naked)]
    pub(super) unsafe extern "C" fn trampoline<const N: usize>() {
        naked_asm!(
            "cmp byte ptr [rip + {mode}], {skip}",
            "je 2f",
            "mov eax, {number}",
            "jmp {pass}",
            "2:",
            "xor eax, eax",
            "ret",
            mode = sym crate::MODE,
            skip = const crate::SKIP,
            number = const N,
            pass = sym pass,
        );
    }

    /// Goes on to the target of the number in `eax`.
    #[unsafe(naked)]
    unsafe extern "C" fn pass() {
        naked_asm!(
            "push rbp",
            "mov rbp, rsp",
            "sub rsp, 176",
            "mov [rsp], rdi",
            "mov [rsp + 8], rsi",
            "mov [rsp + 16], rdx",
            "mov [rsp + 24], rcx",
            "mov [rsp + 32], r8",
            "mov [rsp + 40], r9",
            "movups [rsp + 48], xmm0",
            "movups [rsp + 64], xmm1",
            "movups [rsp + 80], xmm2",
            "movups [rsp + 96], xmm3",
            "movups [rsp + 112], xmm4",
            "movups [rsp + 128], xmm5",
            "movups [rsp + 144], xmm6",
            "movups [rsp + 160], xmm7",
            "mov edi, eax",
            "call {target}",
            "mov rdi, [rsp]",
            "mov rsi, [rsp + 8]",
            "mov rdx, [rsp + 16]",
            "mov rcx, [rsp + 24]",
            "mov r8, [rsp + 32]",
            "mov r9, [rsp + 40]",
            "movups xmm0, [rsp + 48]",
            "movups xmm1, [rsp + 64]",
            "movups xmm2, [rsp + 80]",
            "movups xmm3, [rsp + 96]",
            "movups xmm4, [rsp + 112]",
            "movups xmm5, [rsp + 128]",
            "movups xmm6, [rsp + 144]",
            "movups xmm7, [rsp + 160]",
            "leave",
            "jmp rax",
            target = sym crate::target,
        );
    }
}

#[cfg(target_arch = "aarch64")]
mod machine {
    use std::arch::naked_asm;

    /// Trampoline number `N`. AAPCS64: arguments are in eight integer and eight vector registers, and on the stack, which
    /// is as it was when the target begins.
    #[unsafe(naked)]
    pub(super) unsafe extern "C" fn trampoline<const N: usize>() {
        naked_asm!(
            "adrp x16, {mode}",
            "ldrb w16, [x16, :lo12:{mode}]",
            "cmp w16, #{skip}",
            "b.eq 2f",
            "mov w16, #{number}",
            "b {pass}",
            "2:",
            "mov x0, xzr",
            "ret",
            mode = sym crate::MODE,
            skip = const crate::SKIP,
            number = const N,
            pass = sym pass,
        );
    }

    /// Goes on to the target of the number in `w16`.
    #[unsafe(naked)]
    unsafe extern "C" fn pass() {
        naked_asm!(
            "stp x29, x30, [sp, #-208]!",
            "mov x29, sp",
            "stp x0, x1, [sp, #16]",
            "stp x2, x3, [sp, #32]",
            "stp x4, x5, [sp, #48]",
            "stp x6, x7, [sp, #64]",
            "stp q0, q1, [sp, #80]",
            "stp q2, q3, [sp, #112]",
            "stp q4, q5, [sp, #144]",
            "stp q6, q7, [sp, #176]",
            "mov w0, w16",
            "bl {target}",
            "mov x16, x0",
            "ldp x0, x1, [sp, #16]",
            "ldp x2, x3, [sp, #32]",
            "ldp x4, x5, [sp, #48]",
            "ldp x6, x7, [sp, #64]",
            "ldp q0, q1, [sp, #80]",
            "ldp q2, q3, [sp, #112]",
            "ldp q4, q5, [sp, #144]",
            "ldp q6, q7, [sp, #176]",
            "ldp x29, x30, [sp], #208",
            "br x16",
            target = sym crate::target,
        );
    }
}

#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
mod table {
    use super::{Function, machine::trampoline};

    macro_rules! ten {
        ($base:expr) => {
            [
                trampoline::<{ $base }>,
                trampoline::<{ $base + 1 }>,
                trampoline::<{ $base + 2 }>,
                trampoline::<{ $base + 3 }>,
                trampoline::<{ $base + 4 }>,
                trampoline::<{ $base + 5 }>,
                trampoline::<{ $base + 6 }>,
                trampoline::<{ $base + 7 }>,
                trampoline::<{ $base + 8 }>,
                trampoline::<{ $base + 9 }>,
            ]
        };
    }
    macro_rules! hundred {
        ($base:expr) => {
            [
                ten!($base),
                ten!($base + 10),
                ten!($base + 20),
                ten!($base + 30),
                ten!($base + 40),
                ten!($base + 50),
                ten!($base + 60),
                ten!($base + 70),
                ten!($base + 80),
                ten!($base + 90),
            ]
        };
    }
    macro_rules! thousand {
        ($base:expr) => {
            [
                hundred!($base),
                hundred!($base + 100),
                hundred!($base + 200),
                hundred!($base + 300),
                hundred!($base + 400),
                hundred!($base + 500),
                hundred!($base + 600),
                hundred!($base + 700),
                hundred!($base + 800),
                hundred!($base + 900),
            ]
        };
    }

    /// Trampolines by thousands, hundreds, tens and ones of their number.
    pub(super) static TABLE: [[[[Function; 10]; 10]; 10]; 4] =
        [thousand!(0), thousand!(1000), thousand!(2000), thousand!(3000)];
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
mod table {
    use super::Function;

    pub(super) static TABLE: [[[[Function; 10]; 10]; 10]; 0] = [];
}

/// Whether there are trampolines for this processor.
pub(crate) const fn there() -> bool {
    !table::TABLE.is_empty()
}

/// The trampoline of a number.
pub(crate) fn at(number: usize) -> Option<*const c_void> {
    let all = table::TABLE.as_flattened().as_flattened().as_flattened();
    all.get(number).map(|function| *function as *const c_void)
}
