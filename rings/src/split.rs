//! Rings within one process, without unsafe code of the caller.
//!
//! Exclusive borrows make it safe: nothing else reaches the memory or the pages while the halves live.

use crate::{
    ClientPage, Fault, InPlace, Liveness, Producer, Region, ReplyClient, ReplyServer, Ringer, ServerPage,
    Start, Waiter, client, server,
};

/// A command ring over memory of the caller: a power of two of bytes.
///
/// # Errors
/// [`Fault::Mismatch`] if the length is no power of two of at least [`Region::MIN`] bytes.
pub fn split<'a>(
    memory: &'a mut [u64],
    client_page: &'a mut ClientPage,
    server_page: &'a mut ServerPage,
) -> Result<(Producer<'a>, InPlace<'a>), Fault> {
    let region = Region::from_words(memory)?;
    let (client_page, server_page) = (&*client_page, &*server_page);
    // SAFETY: the only producer, and the one reading half below has the same pages.
    let producer = unsafe { client::commands(client_page, server_page, region) };
    // SAFETY: the only consumer, and `Producer` keeps the protocol.
    let consumer = unsafe { server::commands_in_place(server_page, client_page, region) };
    Ok((producer, consumer))
}

/// Both halves of a reply space over memory of the caller: a power of two of bytes, and
/// [`ReplyClient::bookkeeping`] words.
///
/// # Errors
/// [`Fault::Mismatch`] if the length is no power of two of at least [`Region::MIN`] bytes.
pub fn split_replies<'a>(
    memory: &'a mut [u64],
    bookkeeping: &'a mut [u64],
) -> Result<(ReplyClient<'a>, ReplyServer<'a>), Fault> {
    let region = Region::from_words(memory)?;
    // SAFETY: the only writer of memory that is exclusively borrowed for `'a`.
    let server = unsafe { server::replies(region) };
    Ok((client::replies(region, bookkeeping), server))
}

/// Memory of a session, in words of 8 bytes. The four segments are powers of two of bytes.
#[derive(Debug)]
pub struct Memory<'a> {
    /// Records.
    pub commands: &'a mut [u64],
    /// Bulk bytes.
    pub stage: &'a mut [u64],
    /// Answers.
    pub replies: &'a mut [u64],
    /// Events.
    pub events: &'a mut [u64],
    /// The server's copy of one record: half of `commands`, or less, and then larger records are refused.
    pub record: &'a mut [u64],
    /// The client's copy of one event: a quarter of `events`, or less.
    pub event: &'a mut [u64],
    /// The client's bookkeeping of reply space: [`ReplyClient::bookkeeping`](crate::ReplyClient::bookkeeping)
    /// words.
    pub bookkeeping: &'a mut [u64],
}

/// The control pages of a session, and whether its roles live.
#[derive(Debug)]
pub struct Pages {
    start: Start,
    client: ClientPage,
    server: ServerPage,
    client_alive: Liveness,
    server_alive: Liveness,
}

impl Pages {
    /// Pages whose counters begin at `start`.
    #[must_use]
    pub fn new(start: Start) -> Self {
        use crate::Page;
        Self {
            start,
            client: ClientPage::new(start),
            server: ServerPage::new(start),
            client_alive: Liveness::new(),
            server_alive: Liveness::new(),
        }
    }
}

/// One role's doorbell: what it waits with, and what it rings.
pub type Ends<'a> = (Waiter<'a>, Ringer<'a>);

/// The halves of both roles of a session within one process.
///
/// # Errors
/// [`Fault::Mismatch`] if a segment's length is no power of two of at least [`Region::MIN`] bytes.
#[allow(clippy::type_complexity, reason = "two roles with two parts each")]
pub fn session<'a>(
    memory: Memory<'a>,
    pages: &'a mut Pages,
) -> Result<((client::Rings<'a>, Ends<'a>), (server::Rings<'a>, Ends<'a>)), Fault> {
    let Pages { start, client: client_page, server: server_page, client_alive, server_alive } = &*pages;
    let commands = Region::from_words(memory.commands)?;
    let stage = Region::from_words(memory.stage)?;
    let replies = Region::from_words(memory.replies)?;
    let events = Region::from_words(memory.events)?;
    let client = client::Rings {
        // SAFETY: the only producer, and the reading half below has the same pages.
        commands: unsafe { client::commands(client_page, server_page, commands) },
        // SAFETY: the only writer, and the reading half below has the same pages.
        stage: unsafe { client::stage(client_page, stage) },
        replies: client::replies(replies, memory.bookkeeping),
        events: client::events_copied(client_page, server_page, events, memory.event),
        marks: client::watermarks(server_page, *start),
    };
    let server = server::Rings {
        commands: server::commands_copied(server_page, client_page, commands, memory.record),
        stage: server::stage(client_page, stage, *start),
        // SAFETY: the only writer of the segment.
        replies: unsafe { server::replies(replies) },
        // SAFETY: the only producer, and the reading half above has the same pages.
        events: unsafe { server::events(server_page, client_page, events) },
        // SAFETY: the only writer of the page's watermarks.
        marks: unsafe { server::watermarks(server_page) },
    };
    let client_ends =
        (client::waiter(client_page, server_page, server_alive), client::ringer(client_page, server_page));
    let server_ends =
        (server::waiter(server_page, client_page, client_alive), server::ringer(server_page, client_page));
    Ok(((client, client_ends), (server, server_ends)))
}
