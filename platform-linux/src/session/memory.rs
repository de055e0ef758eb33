//! Segments of a session, and the halves that work on them.
//!
//! Each role creates what it writes and maps what the other writes. The halves borrow the mappings for ever and
//! are kept beside them: a role's struct drops its halves first and its memory last.

use std::{
    io,
    os::fd::OwnedFd,
    sync::{Arc, OnceLock},
};

use runahead_rings::{
    ClientPage, Liveness, Page, Region, ReplyClient, Ringer, ServerPage, Start, Waiter, client, create, open,
    record::{max_event, max_record},
    server,
};

use super::{
    fork::Enrolled,
    live::{LiveReader, LiveWriter},
};
use crate::{
    capture::tap::Reading,
    control::message::Sizes,
    segment::{Mapping, OwnedSegment, map_peer},
};

/// Bytes of a control page's segment.
pub const PAGE: usize = 4096;

/// What went wrong with a peer's memory, or with ours.
#[derive(Debug)]
pub enum MemoryError {
    /// The kernel's, or a segment that is not sealed or not as large as announced.
    Io(io::Error),
    /// A page or ring that is not what it must be.
    Fault(runahead_rings::Fault),
}

impl From<io::Error> for MemoryError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl From<runahead_rings::Fault> for MemoryError {
    fn from(fault: runahead_rings::Fault) -> Self {
        Self::Fault(fault)
    }
}

impl std::fmt::Display for MemoryError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Io(error) => write!(f, "shared memory: {error}"),
            Self::Fault(fault) => fault.fmt(f),
        }
    }
}

impl std::error::Error for MemoryError {}

/// A length that a segment can have on this machine.
fn length(bytes: u64) -> io::Result<usize> {
    usize::try_from(bytes).map_err(|_| io::Error::from(io::ErrorKind::OutOfMemory))
}

/// What the client writes.
#[derive(Debug)]
pub struct ClientSegments {
    page: OwnedSegment,
    commands: OwnedSegment,
    stage: OwnedSegment,
}

impl ClientSegments {
    pub fn create(sizes: &Sizes) -> Result<Self, MemoryError> {
        let page = OwnedSegment::create(c"runahead-client", PAGE)?;
        // SAFETY: a fresh segment that nobody uses yet.
        unsafe { create::<ClientPage>(page.mapping().base(), PAGE, Start::default()) }?;
        Ok(Self {
            page,
            commands: OwnedSegment::create(c"runahead-commands", length(sizes.commands)?)?,
            stage: OwnedSegment::create(c"runahead-stage", length(sizes.stage)?)?,
        })
    }

    const fn all(&self) -> [&OwnedSegment; 3] {
        [&self.page, &self.commands, &self.stage]
    }

    /// Their sizes, and descriptors to hand out.
    pub fn hand_out(&self) -> io::Result<([u64; 3], Vec<OwnedFd>)> {
        let sizes = self.all().map(|segment| segment.mapping().len() as u64);
        let descriptors = self.all().into_iter().map(|segment| segment.descriptor().try_clone_to_owned());
        Ok((sizes, descriptors.collect::<io::Result<_>>()?))
    }
}

/// What the server writes.
#[derive(Debug)]
pub struct ServerSegments {
    page: OwnedSegment,
    replies: OwnedSegment,
    events: OwnedSegment,
    caps: OwnedSegment,
}

impl ServerSegments {
    pub fn create(sizes: &Sizes, caps: u64) -> Result<Self, MemoryError> {
        let page = OwnedSegment::create(c"runahead-server", PAGE)?;
        // SAFETY: a fresh segment that nobody uses yet.
        unsafe { create::<ServerPage>(page.mapping().base(), PAGE, Start::default()) }?;
        Ok(Self {
            page,
            replies: OwnedSegment::create(c"runahead-replies", length(sizes.replies)?)?,
            events: OwnedSegment::create(c"runahead-events", length(sizes.events)?)?,
            caps: OwnedSegment::create(c"runahead-caps", length(caps)?)?,
        })
    }

    /// Descriptors to hand out, in the order of `Welcome`.
    pub fn hand_out(&self) -> io::Result<Vec<OwnedFd>> {
        let all = [&self.page, &self.replies, &self.events, &self.caps];
        all.into_iter().map(|segment| segment.descriptor().try_clone_to_owned()).collect()
    }
}

/// Maps what a peer announced; descriptors and sizes in the same order.
fn map_all<const N: usize>(sizes: &[u64; N], descriptors: &[OwnedFd]) -> Result<[Mapping; N], MemoryError> {
    use std::os::fd::AsFd;
    let mut mappings = Vec::with_capacity(N);
    for (size, descriptor) in sizes.iter().zip(descriptors) {
        mappings.push(map_peer(descriptor.as_fd(), length(*size)?)?);
    }
    mappings.try_into().map_err(|_| MemoryError::Io(io::ErrorKind::InvalidData.into()))
}

/// Memory of our own that a half writes, given back when dropped.
#[derive(Debug)]
struct Scratch(Mapping);

impl Scratch {
    /// So many words, zero, of which the kernel gives those that are written. It is large, so the kernel has it back: an
    /// allocator that keeps it would write zeros into all of it the next time. A peer's terms say how many, so no memory
    /// is an error.
    fn new(words: usize) -> io::Result<Self> {
        let len = words.max(1).checked_mul(size_of::<u64>()).ok_or(io::ErrorKind::OutOfMemory)?;
        Mapping::private(len).map(Self)
    }

    /// The memory, for ever.
    ///
    /// # Safety
    /// Called once, and what it gave is not used after this is dropped.
    unsafe fn lend(&mut self) -> &'static mut [u64] {
        let (base, words) = (self.0.base().cast(), self.0.len() / size_of::<u64>());
        // SAFETY: mapped, page-aligned and nobody else's until the drop, zero at first, and lent once.
        unsafe { std::slice::from_raw_parts_mut(base.as_ptr(), words) }
    }
}

/// A region over a whole mapping, for as long as the caller keeps it.
///
/// # Safety
/// The mapping outlives every use of the region, and its bytes are reached through regions alone.
unsafe fn region(mapping: &Mapping) -> Result<Region<'static>, MemoryError> {
    // SAFETY: this function's contract.
    Ok(unsafe { Region::from_raw(mapping.base(), mapping.len()) }?)
}

/// What the client's halves and its waiters work on.
#[derive(Debug)]
pub struct ClientMemory {
    /// Before the mappings, which it names.
    enrolled: OnceLock<Enrolled>,
    own: ClientSegments,
    peer: [Mapping; 4],
    /// Whether the server lives.
    alive: Liveness,
}

/// The client's halves, beside what they work on. Fields are dropped in this order.
#[derive(Debug)]
pub struct ClientHalves {
    /// The rings; taken once.
    pub rings: Option<client::Rings<'static>>,
    /// Waits for the server.
    pub waiter: Waiter<'static>,
    /// Looks past the rings.
    pub peek: client::Peek<'static>,
    /// Rings the server; taken once.
    pub ringer: Option<Ringer<'static>>,
    /// Reads what the server keeps for it.
    pub live: LiveReader,
    /// What all of them work on.
    pub keep: ClientKeep,
}

/// What must outlive a client's halves.
#[derive(Debug)]
pub struct ClientKeep {
    _event: Scratch,
    _bookkeeping: Scratch,
    memory: Arc<ClientMemory>,
}

impl ClientKeep {
    /// The client's own rings, read by itself from their beginning. On the thread that publishes alone, and nothing that
    /// a publication made visible may be written over before it was read.
    pub fn reading(&self) -> Result<Reading, MemoryError> {
        // SAFETY: kept in the result behind what borrows it, and an `Arc` does not move.
        let borrowed: &'static ClientMemory = unsafe { &*Arc::as_ptr(&self.memory) };
        let own_page = borrowed.own.page.mapping();
        // SAFETY: our own page, which `create` made.
        let client_page = unsafe { open::<ClientPage>(own_page.base(), own_page.len()) }?;
        // SAFETY: as in `ClientHalves::new`.
        let commands = unsafe { region(borrowed.own.commands.mapping()) }?;
        // SAFETY: as above.
        let stage = unsafe { region(borrowed.own.stage.mapping()) }?;
        // It takes the place of the server's page: how far this reader is concerns nobody else.
        let page = Arc::new(ServerPage::new(Start::default()));
        // SAFETY: kept in the result likewise.
        let server_page: &'static ServerPage = unsafe { &*Arc::as_ptr(&page) };
        Ok(Reading {
            // SAFETY: the only consumer with that page; the caller reads before the client writes on.
            commands: unsafe { server::commands_in_place(server_page, client_page, commands) },
            stage: server::stage(client_page, stage, Start::default()),
            _memory: Arc::new((self.memory(), page)),
        })
    }

    /// The memory, for a waiter that may outlive the session.
    pub fn memory(&self) -> Arc<ClientMemory> {
        Arc::clone(&self.memory)
    }

    /// Whether this process was forked from the one that opened the session.
    pub fn is_in_child(&self) -> bool {
        self.memory.enrolled.get().is_some_and(Enrolled::is_in_child)
    }
}

impl ClientHalves {
    /// Maps the server's segments and makes the halves.
    pub fn new(own: ClientSegments, sizes: &[u64; 4], descriptors: &[OwnedFd]) -> Result<Self, MemoryError> {
        let peer = map_all(sizes, descriptors)?;
        let memory = Arc::new(ClientMemory { enrolled: OnceLock::new(), own, peer, alive: Liveness::new() });
        // SAFETY: the memory is kept in the result behind everything that borrows it, and an `Arc` does not move.
        let borrowed: &'static ClientMemory = unsafe { &*Arc::as_ptr(&memory) };
        let [page, replies, events, live] = &borrowed.peer;
        // SAFETY: mapped while the memory lives, which is kept in the result.
        let live = unsafe { LiveReader::new(live) }?;
        // SAFETY: sealed, as long as the kernel says, and mapped while the memory lives.
        let server_page = unsafe { open::<ServerPage>(page.base(), page.len()) }?;
        let own_page = borrowed.own.page.mapping();
        // SAFETY: our own page, which `create` made.
        let client_page = unsafe { open::<ClientPage>(own_page.base(), own_page.len()) }?;
        // SAFETY: as above; nothing but halves touches these bytes.
        let commands = unsafe { region(borrowed.own.commands.mapping()) }?;
        // SAFETY: as above.
        let stage = unsafe { region(borrowed.own.stage.mapping()) }?;
        // SAFETY: as above.
        let replies = unsafe { region(replies) }?;
        // SAFETY: as above.
        let events = unsafe { region(events) }?;
        let mut event = Scratch::new(max_event(events.len()) / 8)?;
        let mut bookkeeping = Scratch::new(ReplyClient::bookkeeping(replies.len()))?;
        // SAFETY: lent once, and kept behind the halves.
        let event_words = unsafe { event.lend() };
        // SAFETY: lent once, and kept behind the halves.
        let bookkeeping_words = unsafe { bookkeeping.lend() };
        let rings = client::Rings {
            // SAFETY: the only producer of this session's commands; the server reads with the same pages.
            commands: unsafe { client::commands(client_page, server_page, commands) },
            // SAFETY: the only writer of this session's stage.
            stage: unsafe { client::stage(client_page, stage) },
            replies: client::replies(replies, bookkeeping_words),
            events: client::events_copied(client_page, server_page, events, event_words),
            marks: client::watermarks(server_page, Start::default()),
        };
        let waiter = client::waiter(client_page, server_page, &borrowed.alive);
        let own = borrowed.own.all().map(OwnedSegment::mapping);
        // SAFETY: `ClientMemory` drops the place before the mappings and what else the waiter lies in.
        let enrolled = unsafe { Enrolled::new(own, &borrowed.peer, waiter) }?;
        let _ = memory.enrolled.set(enrolled);
        Ok(Self {
            rings: Some(rings),
            waiter,
            peek: client::peek(client_page, server_page, replies),
            ringer: Some(client::ringer(client_page, server_page)),
            live,
            keep: ClientKeep { _event: event, _bookkeeping: bookkeeping, memory },
        })
    }
}

/// What the server's halves and its waiters work on.
#[derive(Debug)]
pub struct ServerMemory {
    own: ServerSegments,
    peer: [Mapping; 3],
    /// Whether the client lives.
    alive: Liveness,
}

/// The server's halves, beside what they work on. Fields are dropped in this order.
#[derive(Debug)]
pub struct ServerHalves {
    /// The rings; taken once.
    pub rings: Option<server::Rings<'static>>,
    /// Waits for the client.
    pub waiter: Waiter<'static>,
    /// Rings the client; taken once.
    pub ringer: Option<Ringer<'static>>,
    /// Writes what it keeps for the client; taken once.
    pub live: Option<LiveWriter>,
    _record: Scratch,
    memory: Arc<ServerMemory>,
}

impl ServerHalves {
    /// Maps the client's segments and makes the halves.
    pub fn new(own: ServerSegments, sizes: &[u64; 3], descriptors: &[OwnedFd]) -> Result<Self, MemoryError> {
        let peer = map_all(sizes, descriptors)?;
        let memory = Arc::new(ServerMemory { own, peer, alive: Liveness::new() });
        // SAFETY: the memory is kept in the result behind everything that borrows it, and an `Arc` does not move.
        let borrowed: &'static ServerMemory = unsafe { &*Arc::as_ptr(&memory) };
        let [page, commands, stage] = &borrowed.peer;
        // SAFETY: sealed, as long as the kernel says, and mapped while the memory lives.
        let client_page = unsafe { open::<ClientPage>(page.base(), page.len()) }?;
        let own_page = borrowed.own.page.mapping();
        // SAFETY: our own page, which `create` made.
        let server_page = unsafe { open::<ServerPage>(own_page.base(), own_page.len()) }?;
        // SAFETY: as above; nothing but halves touches these bytes.
        let commands = unsafe { region(commands) }?;
        // SAFETY: as above.
        let stage = unsafe { region(stage) }?;
        // SAFETY: as above.
        let replies = unsafe { region(borrowed.own.replies.mapping()) }?;
        // SAFETY: as above.
        let events = unsafe { region(borrowed.own.events.mapping()) }?;
        // SAFETY: our own segment, mapped while the memory lives.
        let live = unsafe { LiveWriter::new(borrowed.own.caps.mapping()) }?;
        let mut record = Scratch::new(max_record(commands.len()) / 8)?;
        // SAFETY: lent once, and kept behind the halves.
        let record_words = unsafe { record.lend() };
        let rings = server::Rings {
            commands: server::commands_copied(server_page, client_page, commands, record_words),
            stage: server::stage(client_page, stage, Start::default()),
            // SAFETY: the only writer of the segment.
            replies: unsafe { server::replies(replies) },
            // SAFETY: the only producer of this session's events; the client reads with the same pages.
            events: unsafe { server::events(server_page, client_page, events) },
            // SAFETY: the only writer of this session's watermarks.
            marks: unsafe { server::watermarks(server_page) },
        };
        Ok(Self {
            rings: Some(rings),
            waiter: server::waiter(server_page, client_page, &borrowed.alive),
            ringer: Some(server::ringer(server_page, client_page)),
            live: Some(live),
            _record: record,
            memory,
        })
    }

    /// The memory, for a waiter that may outlive the session.
    pub fn memory(&self) -> Arc<ServerMemory> {
        Arc::clone(&self.memory)
    }
}
