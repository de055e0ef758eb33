//! Shared memory that its creator alone can write.
//!
//! A segment is a memfd. Its creator maps it for writing and then seals it: no shrinking, no growing, and no
//! *further* writable mapping (`F_SEAL_FUTURE_WRITE`, Linux 5.1). Whoever receives the descriptor can map it
//! read-only and nothing else, so no peer writes what another owns, and no peer can make the other fault by
//! truncating the file.

use std::{
    ffi::CStr,
    io,
    os::fd::{AsFd, BorrowedFd, OwnedFd},
    ptr::NonNull,
};

use rustix::{
    fs::{MemfdFlags, SealFlags, fcntl_add_seals, fcntl_get_seals, fstat, ftruncate, memfd_create},
    mm::{MapFlags, ProtFlags, mmap, mmap_anonymous, munmap},
};

const SEALS: SealFlags =
    SealFlags::SEAL.union(SealFlags::SHRINK).union(SealFlags::GROW).union(SealFlags::FUTURE_WRITE);

/// A mapping of a segment, or of memory that is nobody else's; unmapped when dropped.
#[derive(Debug)]
pub struct Mapping {
    base: NonNull<u8>,
    len: usize,
}

// SAFETY: an address range of this process, valid on every thread until dropped.
unsafe impl Send for Mapping {}
// SAFETY: as above; a shared mapping gives out nothing but its address.
unsafe impl Sync for Mapping {}

impl Mapping {
    fn new(descriptor: BorrowedFd<'_>, len: usize, protection: ProtFlags) -> io::Result<Self> {
        // SAFETY: a fresh mapping at an address of the kernel's choice overlaps nothing.
        let base = unsafe { mmap(std::ptr::null_mut(), len, protection, MapFlags::SHARED, descriptor, 0) }?;
        let base = NonNull::new(base.cast()).ok_or(io::ErrorKind::OutOfMemory)?;
        Ok(Self { base, len })
    }

    /// Memory of this process alone, zero.
    ///
    /// # Errors
    /// The kernel's.
    pub fn private(len: usize) -> io::Result<Self> {
        let rights = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a fresh mapping at an address of the kernel's choice overlaps nothing.
        let base = unsafe { mmap_anonymous(std::ptr::null_mut(), len, rights, MapFlags::PRIVATE) }?;
        let base = NonNull::new(base.cast()).ok_or(io::ErrorKind::OutOfMemory)?;
        Ok(Self { base, len })
    }

    /// The first byte. Page-aligned.
    #[must_use]
    pub const fn base(&self) -> NonNull<u8> {
        self.base
    }

    /// Length in bytes, as the kernel knows it.
    #[must_use]
    #[allow(clippy::len_without_is_empty, reason = "a mapping is never empty")]
    pub const fn len(&self) -> usize {
        self.len
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: the range was mapped by `new` and is given up here, once.
        let unmapped = unsafe { munmap(self.base.as_ptr().cast(), self.len) };
        debug_assert!(unmapped.is_ok(), "munmap: {unmapped:?}");
    }
}

/// A segment that this process created and writes.
#[derive(Debug)]
pub struct OwnedSegment {
    descriptor: OwnedFd,
    mapping: Mapping,
}

impl OwnedSegment {
    /// Creates a segment of `len` zero bytes and seals it. `name` shows in `/proc/PID/maps`.
    ///
    /// # Errors
    /// The kernel's: no memory, no descriptor, or a kernel before 5.1, which does not know the seal.
    pub fn create(name: &CStr, len: usize) -> io::Result<Self> {
        let descriptor = memfd_create(name, MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING)?;
        ftruncate(&descriptor, len as u64)?;
        let mapping = Mapping::new(descriptor.as_fd(), len, ProtFlags::READ | ProtFlags::WRITE)?;
        fcntl_add_seals(&descriptor, SEALS)?;
        Ok(Self { descriptor, mapping })
    }

    /// Our mapping, readable and writable.
    #[must_use]
    pub const fn mapping(&self) -> &Mapping {
        &self.mapping
    }

    /// The descriptor to hand out.
    #[must_use]
    pub fn descriptor(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }
}

/// Maps a peer's segment read-only.
///
/// # Errors
/// [`io::ErrorKind::InvalidData`] if the descriptor is not sealed as [`OwnedSegment::create`] seals it, or its
/// size is not `len`; else the kernel's.
pub fn map_peer(descriptor: BorrowedFd<'_>, len: usize) -> io::Result<Mapping> {
    let invalid = |what: String| Err(io::Error::new(io::ErrorKind::InvalidData, what));
    let seals = fcntl_get_seals(descriptor)?;
    if !seals.contains(SEALS) {
        return invalid(format!("the peer's segment has the seals {seals:?}, needed are {SEALS:?}"));
    }
    let size = fstat(descriptor)?.st_size;
    if u64::try_from(size) != Ok(len as u64) {
        return invalid(format!("the peer's segment has {size} bytes, announced were {len}"));
    }
    Mapping::new(descriptor, len, ProtFlags::READ)
}
