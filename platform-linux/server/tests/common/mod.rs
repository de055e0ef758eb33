//! A client made by hand, which can do everything that its descriptors allow, and what its tests share.

#![allow(dead_code, reason = "each test uses its part")]

use std::{
    collections::BTreeSet,
    fmt::Debug,
    fs::{self, File},
    io::Write,
    os::{
        fd::{AsFd, OwnedFd},
        linux::fs::MetadataExt,
    },
    sync::atomic::{AtomicU32, AtomicU64, Ordering},
    time::{Duration, Instant},
};

use runahead_core::Fault;
use runahead_linux::{
    control::{
        channel::{ChannelError, ClientChannel, Until},
        handshake::Identity,
        message::{
            Attach, ClientMessage, ContextAttributes, CreateContext, Doorbell, Hello, ServerMessage, Sizes,
            SurfaceOp, Terms, Welcome,
        },
    },
    segment::{Mapping, OwnedSegment, map_peer},
    session::{Client, Native},
};
use runahead_rings::{ClientPage, Start, create};
use runahead_wire::{
    BlobRef, Bulk, Handle, Row, Sink, event::Events, payload::*, pipe::Pipe, zerocopy::IntoBytes,
};
use rustix::thread::futex;

pub const PROGRAM: &str = env!("CARGO_BIN_EXE_runahead-server");

/// How long a server may take to answer.
pub const DEADLINE: Duration = Duration::from_secs(2);

pub fn within(duration: Duration) -> Until<'static> {
    Until { deadline: Some(Instant::now() + duration), ..Until::default() }
}

/// A number from the environment, for longer runs.
pub fn number(name: &str, usual: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(usual)
}

/// SplitMix64.
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    pub fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }

    pub fn of<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len() as u64) as usize]
    }
}

/// Rings small enough that every lap comes soon.
pub const SMALL: Sizes = Sizes { commands: 16 << 10, stage: 16 << 10, replies: 16 << 10, events: 4 << 10 };

pub fn hello(sizes: Sizes) -> Hello {
    let own = Identity::own(true);
    Hello {
        protocol: own.protocol,
        fingerprint: own.fingerprint,
        build: own.build,
        pid: std::process::id(),
        wanted: Terms { sizes, credit: 0, run_ahead: true, doorbell: Doorbell::Futex },
        ..Hello::default()
    }
}

/// An 8-byte word of a mapping of ours.
pub fn word(mapping: &Mapping, at: usize) -> &AtomicU64 {
    assert!(at.is_multiple_of(8) && at + 8 <= mapping.len());
    let word = mapping.base().as_ptr().wrapping_add(at).cast();
    // SAFETY: mapped while the borrow lasts, aligned, and shared with nobody but through atomics or another process.
    unsafe { AtomicU64::from_ptr(word) }
}

/// Places in the client's control page, as the head of `rings/src/page.rs` lists them.
pub mod at {
    pub const MAGIC: usize = 0;
    pub const VERSION: usize = 8;
    pub const HEAD: usize = 128;
    pub const RECORDS: usize = 136;
    pub const STAGE: usize = 144;
    pub const EVENT_TAIL: usize = 256;
    pub const PARK: usize = 384;
    pub const BELL: usize = 512;
    /// In the server's page.
    pub const COMMAND_TAIL: usize = 128;
    pub const EVENT_HEAD: usize = 256;
    pub const APPLIED: usize = 640;
}

/// What the client writes: page, commands, stage.
pub fn segments(sizes: &Sizes) -> [OwnedSegment; 3] {
    let segment = |name, bytes: u64| OwnedSegment::create(name, bytes as usize).expect("memory");
    let page = segment(c"runahead-client", 4096);
    // SAFETY: a fresh segment that nobody uses yet.
    unsafe { create::<ClientPage>(page.mapping().base(), 4096, Start::default()) }.expect("a page");
    [page, segment(c"runahead-commands", sizes.commands), segment(c"runahead-stage", sizes.stage)]
}

pub fn duplicates(segments: &[OwnedSegment; 3]) -> Vec<OwnedFd> {
    segments.iter().map(|one| one.descriptor().try_clone_to_owned().expect("a descriptor")).collect()
}

/// Where a session is after something was done to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It goes on.
    Alive,
    /// It ended, and the client was told why.
    Named(String),
    /// It ended in silence.
    Silent,
    /// Nothing came in time.
    Hung,
}

/// A client without any of the library's care.
#[derive(Debug)]
pub struct Raw {
    pub channel: ClientChannel,
    /// Page, commands, stage.
    pub own: [OwnedSegment; 3],
    pub server_page: Mapping,
    /// Records encoded and not put into the ring.
    pub made: Vec<Vec<u64>>,
    /// What the next blobs claim instead of where they are.
    pub lie: Option<BlobRef>,
    pub request: u32,
    pub head: u64,
    pub records: u64,
    pub staged: u64,
}

/// Says `Hello` and reads the `Welcome`.
pub fn welcome(channel: &mut ClientChannel, hello: Hello) -> (Welcome, Vec<OwnedFd>) {
    channel.send(&ClientMessage::Hello(hello), vec![], &within(DEADLINE)).expect("it reads");
    let received = channel.recv(&within(DEADLINE)).expect("an answer");
    channel.established();
    match received.message {
        ServerMessage::Welcome(welcome) => (welcome, received.descriptors),
        other => panic!("{other:?}"),
    }
}

impl Raw {
    /// A session, opened as it should be.
    pub fn open(socket: OwnedFd, sizes: Sizes) -> Self {
        let mut channel = ClientChannel::new(socket);
        let (welcome, descriptors) = welcome(&mut channel, hello(sizes));
        let own = segments(&welcome.terms.sizes);
        let attach = Attach { segments: [0, 1, 2].map(|one| own[one].mapping().len() as u64) };
        channel.send(&ClientMessage::Attach(attach), duplicates(&own), &within(DEADLINE)).expect("it reads");
        let server_page = map_peer(descriptors[0].as_fd(), welcome.segments[0] as usize).expect("a page");
        let mut raw = Self {
            channel,
            own,
            server_page,
            made: Vec::new(),
            lie: None,
            request: 0,
            head: 0,
            records: 0,
            staged: 0,
        };
        match raw.channel.recv(&within(DEADLINE)).expect("configs").message {
            ServerMessage::Configs(_) => {}
            other => panic!("{other:?}"),
        }
        match raw.channel.recv(&within(DEADLINE)).expect("caps").message {
            ServerMessage::Caps(_) => {}
            other => panic!("{other:?}"),
        }
        raw
    }

    pub fn page(&self) -> &Mapping {
        self.own[0].mapping()
    }

    /// Sends bytes beside the channel's own.
    pub fn bytes(&self, bytes: &[u8]) {
        let socket = self.channel.as_fd().try_clone_to_owned().expect("a descriptor");
        // A server that has ended already does not take them.
        let _ = File::from(socket).write_all(bytes);
    }

    /// Puts a record, or what claims to be one, into the ring, whatever its own header says; `false` when there is no
    /// room in time.
    pub fn put(&mut self, record: &[u64]) -> bool {
        let (capacity, size) = (self.own[1].mapping().len() as u64, 8 * record.len() as u64);
        if size > capacity / 2 {
            return true;
        }
        let to_end = capacity - self.head % capacity;
        let pad = if size > to_end { to_end } else { 0 };
        let deadline = Instant::now() + DEADLINE;
        let tail = word(&self.server_page, at::COMMAND_TAIL);
        while (self.head + pad + size).wrapping_sub(tail.load(Ordering::Acquire)) > capacity {
            self.publish();
            self.drain();
            if Instant::now() > deadline {
                return false;
            }
            std::thread::sleep(Duration::from_micros(100));
        }
        let commands = self.own[1].mapping();
        if pad != 0 {
            word(commands, (self.head % capacity) as usize).store(pad << 32, Ordering::Relaxed);
            self.head += pad;
        }
        for (index, value) in record.iter().enumerate() {
            let at = (self.head % capacity) as usize + 8 * index;
            word(commands, at).store(*value, Ordering::Relaxed);
        }
        self.head += size;
        self.records += 1;
        true
    }

    /// Puts all records that were made.
    pub fn put_made(&mut self) -> bool {
        std::mem::take(&mut self.made).iter().all(|record| self.put(record))
    }

    /// Publishes what was put, and rings.
    pub fn publish(&self) {
        let page = self.page();
        word(page, at::STAGE).store(self.staged, Ordering::Relaxed);
        word(page, at::RECORDS).store(self.records, Ordering::Relaxed);
        word(page, at::HEAD).store(self.head, Ordering::Release);
        self.ring();
    }

    pub fn ring(&self) {
        let bell = self.page().base().as_ptr().wrapping_add(at::BELL).cast();
        // SAFETY: as in `word`.
        let bell = unsafe { AtomicU32::from_ptr(bell) };
        bell.fetch_add(1, Ordering::SeqCst);
        let _ = futex::wake(bell, futex::Flags::empty(), u32::MAX >> 1);
    }

    /// Gives the room of all events back.
    pub fn drain(&self) {
        let head = word(&self.server_page, at::EVENT_HEAD).load(Ordering::Acquire);
        word(self.page(), at::EVENT_TAIL).store(head, Ordering::Release);
        self.ring();
    }

    pub fn create_context(&mut self, context: u64, after: u64) -> ClientMessage {
        self.request = self.request.wrapping_add(1);
        let attributes = ContextAttributes::gles(3, 2);
        let request = self.request;
        ClientMessage::CreateContext(CreateContext { request, after, context, share: 0, attributes })
    }

    /// Asks for something that is refused, and so learns whether the session goes on.
    pub fn settle(&mut self) -> Outcome {
        // Context 1 is there already.
        let probe = self.create_context(1, 0);
        // A server that has ended may have said why.
        let _ = self.channel.send(&probe, vec![], &within(DEADLINE));
        self.listen(true)
    }

    /// What the server says next; events are taken meanwhile.
    pub fn listen(&mut self, drain: bool) -> Outcome {
        let deadline = Instant::now() + DEADLINE;
        loop {
            match self.channel.recv(&within(Duration::from_millis(5))) {
                Ok(received) => match received.message {
                    ServerMessage::Fault(fault) => return Outcome::Named(fault.text),
                    ServerMessage::Refuse(refuse) => return Outcome::Named(refuse.to_string()),
                    ServerMessage::Context(answer) if answer.request < self.request => {}
                    ServerMessage::Log(_) => {}
                    _ => return Outcome::Alive,
                },
                Err(ChannelError::TimedOut) if Instant::now() > deadline => return Outcome::Hung,
                Err(ChannelError::TimedOut) => {
                    if drain {
                        self.drain();
                    }
                }
                Err(_) => return Outcome::Silent,
            }
        }
    }
}

/// Records are kept in `made`, bulk bytes are staged at once.
impl Sink for Raw {
    type Error = ();

    fn stage(&mut self, bulk: Bulk<'_>) -> Result<BlobRef, ()> {
        let Bulk::Bytes(bytes) = bulk else { return Err(()) };
        if let Some(lie) = self.lie {
            return Ok(lie);
        }
        let capacity = self.own[2].mapping().len() as u64;
        let room = (bytes.len() as u64).next_multiple_of(16);
        let to_end = capacity - self.staged % capacity;
        if room > to_end {
            self.staged += to_end;
        }
        let position = self.staged;
        for (index, chunk) in bytes.chunks(8).enumerate() {
            let mut value = [0; 8];
            value[..chunk.len()].copy_from_slice(chunk);
            let at = (position % capacity) as usize + 8 * index;
            word(self.own[2].mapping(), at).store(u64::from_le_bytes(value), Ordering::Relaxed);
        }
        self.staged += room;
        Ok(BlobRef::staged(position, bytes.len() as u64))
    }

    fn record<'r, R: Row<'r>>(&mut self, row: &R) -> Result<(), ()> {
        let mut words = vec![0_u64; row.encoded_len().ok_or(())? / 8];
        assert!(row.encode(words.as_mut_slice().as_mut_bytes()));
        self.made.push(words);
        Ok(())
    }
}

/// Context 1 on surface 1, and what a draw needs.
pub fn prepare<B, E>(client: &mut Client<B, E>)
where
    B: Native,
    E: Events<Error = Fault> + Debug + 'static,
{
    client.create_context(1, None, ContextAttributes::gles(3, 2)).expect("a context");
    client.surface(1, SurfaceOp::CreatePbuffer { config: 0, width: 64, height: 64 }).expect("a surface");
    let pipe = client.pipe();
    pipe.bind_context(&BindContext { context: 1, draw_surface: 1, read_surface: 1 }).expect("recorded");
    pipe.set_context_values(&ContextValues::default()).expect("recorded");
    pipe.set_sampler_views(&SamplerViews { start: 0, count: 1 }, &[BoundView::default()]).expect("recorded");
    pipe.bind_sampler_states(&SamplerStates { start: 0, count: 1 }, &[Handle::NULL]).expect("recorded");
}

/// Resident bytes of a process.
pub fn resident(process: &str) -> u64 {
    let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap_or_default();
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap_or(0) << 10
}

/// How long something took that is to take less than `most`. A machine that is busy with something else is late now and
/// then; what is late three times running is so by itself.
pub fn timed(most: Duration, what: &str, mut case: impl FnMut() -> Duration) -> Duration {
    let mut late = Vec::new();
    loop {
        match case() {
            took if took < most => return took,
            took => late.push(took),
        }
        assert!(late.len() < 3, "{what}: took {late:?}");
    }
}

/// Whether it becomes so in time.
pub fn waits(most: Duration, mut so: impl FnMut() -> bool) -> bool {
    let deadline = Instant::now() + most;
    while !so() {
        if Instant::now() > deadline {
            return false;
        }
        std::thread::sleep(Duration::from_micros(200));
    }
    true
}

/// Device and file number of the segments that a process has mapped or open.
pub fn segments_of(process: &str) -> BTreeSet<(u64, u64)> {
    let files = [format!("/proc/{process}/fd"), format!("/proc/{process}/map_files")];
    let entries = files.iter().filter_map(|folder| fs::read_dir(folder).ok()).flatten().flatten();
    let is_ours = |path: &std::path::Path| {
        fs::read_link(path).is_ok_and(|link| link.to_string_lossy().starts_with("/memfd:runahead-"))
    };
    let mut found: BTreeSet<_> = entries
        .filter(|entry| is_ours(&entry.path()))
        .filter_map(|entry| fs::metadata(entry.path()).ok())
        .map(|file| (file.st_dev(), file.st_ino()))
        .collect();
    // `map_files` needs a privilege; the listing does not.
    let maps = fs::read_to_string(format!("/proc/{process}/maps")).unwrap_or_default();
    for line in maps.lines().filter(|line| line.contains("/memfd:runahead-")) {
        let mut words = line.split_whitespace().skip(3);
        let (device, file) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
        let (major, minor) = device.split_once(':').unwrap_or_default();
        let part = |text| u32::from_str_radix(text, 16).unwrap_or(0);
        let device = rustix::fs::makedev(part(major), part(minor));
        found.extend(file.parse().ok().map(|file| (device, file)));
    }
    found
}

/// Whoever still has one of these segments.
pub fn holders(these: &BTreeSet<(u64, u64)>) -> Vec<String> {
    let processes = fs::read_dir("/proc").expect("procfs").flatten();
    let names = processes.filter_map(|entry| entry.file_name().into_string().ok());
    names
        .filter(|name| name.bytes().all(|byte| byte.is_ascii_digit()))
        .filter(|name| !segments_of(name).is_disjoint(these))
        .collect()
}

/// No process, or one that whoever adopted it has yet to reap.
pub fn is_gone(number: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{number}/stat"));
    stat.map_or(true, |stat| stat.contains(") Z ") || stat.contains(") X "))
}
