//! How a running client's records get to the process that writes them.
//!
//! The tap is a second reader of the client's own rings, on the thread that publishes: whatever a publication made
//! visible to the server is copied there and then into the rings of a session of its own, whose server is a [`scribe`]. So
//! a client that does not record pays one branch a publication, one that does pays a copy of its bytes, and the recorder
//! knows nothing of it. What was copied is not the program's any more: however it ends, the scribe has it.
//!
//! When the scribe falls behind, the client waits: nothing is left out. It is woken seldom, for it need not keep up with
//! each frame.
//!
//! [`scribe`]: super::scribe

use std::{
    fs,
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, Instant},
};

use runahead_core::{
    Fault,
    link::{Bells, Link, Look, Patience, Rest, Tally},
};
use runahead_rings::{
    Doorbell, InPlace, ReserveError, Ringer, StageError, StageReader, Waiter, Watermark, client,
};
use runahead_wire::BlobRef;

use super::{
    CaptureError, Writer, damaged, layout,
    note::{self, REQUEST},
    part::Request,
    staged,
    writer::{Origin, create_new},
};
use crate::{
    control::{
        channel::{ChannelError, Until},
        handshake::MIN_RING,
        message::{Hello, ServerMessage, Sizes, Terms},
    },
    peer::Watch,
    session::{Door, dial::Line},
    spawn::{self, Process},
};

/// How long the scribe may lie behind before it is woken, if it sleeps.
const BEHIND: Duration = Duration::from_millis(20);

/// How long the end of a recording waits for the scribe. It goes on by itself after that.
const FAREWELL: Duration = Duration::from_secs(60);

/// What a recording became.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// Whole frames in the file.
    pub frames: u64,
    /// Records in the file.
    pub records: u64,
    /// Bytes of the file.
    pub bytes: u64,
}

/// The rings of a client, read by itself.
#[derive(Debug)]
pub(crate) struct Reading {
    /// What was published.
    pub commands: InPlace<'static>,
    /// What it names.
    pub stage: StageReader<'static>,
    /// What both work on, kept for them.
    pub _memory: Arc<dyn Send + Sync + std::fmt::Debug>,
}

/// Reads what its client publishes.
#[derive(Debug)]
pub(crate) struct Tap {
    reading: Reading,
    scribe: Scribe,
    /// Of the record at hand, whose bulk bytes lie elsewhere in the scribe's stage.
    copy: Vec<u8>,
    begun: Instant,
    summary: Summary,
    /// Nothing is recorded any more.
    over: bool,
}

/// Why nothing more can be recorded.
enum Stop {
    /// The scribe is gone.
    Gone,
    Damaged(CaptureError),
}

impl Tap {
    /// Begins a recording of rings on which nothing was published yet. `server` is the program of the scribe; nothing for
    /// the one beside this library.
    ///
    /// # Errors
    /// The file cannot be written, or there is no scribe.
    pub fn new(
        path: &Path,
        server: Option<&Path>,
        origin: &Origin,
        reading: Reading,
    ) -> Result<Self, CaptureError> {
        let (file, path) = create_new(path)?;
        let written = Writer::new(file, origin)?.bytes();
        let scribe = Scribe::start(&path, written, server, origin.terms).inspect_err(|_| {
            // It holds nothing yet. What is no file of ours stays.
            if path.is_file() {
                let _ = fs::remove_file(&path);
            }
        })?;
        let begun = Instant::now();
        Ok(Self { reading, scribe, copy: Vec::new(), begun, summary: Summary::default(), over: false })
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.scribe.path
    }

    /// Takes what was published since the last call.
    pub fn take(&mut self) {
        if !self.over
            && let Err(stop) = self.try_take()
        {
            self.stop(stop);
        }
    }

    fn try_take(&mut self) -> Result<(), Stop> {
        let Self { reading: Reading { commands, stage, .. }, scribe, copy, .. } = self;
        let mut now = None;
        while let Some(record) = commands.next().map_err(|_| Stop::Damaged(damaged("Recording.ring", 0)))? {
            let op = layout::header(record).map_or(0, |head| head.op);
            if layout::ends_frame(op) {
                let time = self.begun.elapsed();
                scribe.record(&note::frame(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)))?;
                now = Some(time);
                self.summary.frames += 1;
            }
            self.summary.records += 1;
            if layout::has_blobs(op) {
                copy.clear();
                copy.extend_from_slice(record);
                let mut stop = None;
                let placed = layout::replace_blobs(copy, |blob| match scribe.bulk(stage, blob) {
                    Ok(place) => Some(place),
                    Err(why) => {
                        stop = Some(why);
                        None
                    }
                });
                if let (None, Some(stop)) = (placed, stop) {
                    return Err(stop);
                }
                scribe.record(copy)?;
            } else {
                scribe.record(record)?;
            }
        }
        scribe.publish(now);
        Ok(())
    }

    /// Takes a request that follows what was published.
    pub fn request(&mut self, request: &Request) {
        self.take();
        // There is nothing in a request that cannot be written down.
        let text = postcard::to_allocvec(request).unwrap_or_default();
        let record = note::encode(REQUEST, &text);
        if !self.over
            && let Err(stop) = self.scribe.record(&record)
        {
            self.stop(stop);
        }
        self.scribe.publish(None);
    }

    /// The program goes on, and the scribe has said why, unless this side found it.
    fn stop(&mut self, stop: Stop) {
        self.over = true;
        match stop {
            Stop::Gone => self.scribe.gone = true,
            Stop::Damaged(error) => _ = self.scribe.failed.get_or_insert(error),
        }
        self.scribe.ringer.close(&self.scribe.door);
    }

    /// Ends the recording: what was published is in the file then. In a child of the recorded process there is none.
    ///
    /// # Errors
    /// Why it is not all there.
    pub fn finish(mut self) -> Result<Summary, CaptureError> {
        if self.scribe.line.halves.keep.is_in_child() {
            return Ok(Summary::default());
        }
        self.take();
        let Self { scribe, summary, .. } = self;
        let bytes = scribe.finish()?;
        Ok(Summary { bytes, ..summary })
    }
}

/// The way to the process that writes.
#[derive(Debug)]
struct Scribe {
    // The halves before the line, which keeps their memory.
    rings: client::Rings<'static>,
    ringer: Ringer<'static>,
    waiter: Waiter<'static>,
    door: Door,
    line: Line,
    watch: Watch,
    process: Process,
    path: PathBuf,
    /// What it was rung for last: the position of the rings, and the time since the recording began.
    rung: (u64, Duration),
    failed: Option<CaptureError>,
    /// It was gone before the end.
    gone: bool,
}

impl Scribe {
    fn start(path: &Path, written: u64, server: Option<&Path>, terms: Terms) -> Result<Self, CaptureError> {
        let refused = |error: &dyn std::fmt::Display| CaptureError::Scribe(error.to_string());
        let path = fs::canonicalize(path)?;
        let mut program = spawn::Server::new();
        if let Some(server) = server {
            program = program.program(server);
        }
        let offset = written.to_string();
        let program = program.argument("--record").argument(&path).argument("--offset").argument(offset);
        let spawned = program.start().map_err(|error| refused(&error))?;
        // What fits into the recorded rings fits into these. Nothing comes back.
        let sizes = Sizes { replies: MIN_RING, events: MIN_RING, ..terms.sizes };
        let hello = Hello { wanted: Terms { sizes, ..Terms::default() }, ..Hello::default() };
        let mut line =
            Line::open(spawned.socket, Some(&spawned.process), hello).map_err(|error| refused(&error))?;
        let watch = line.watch(Some(&spawned.process)).map_err(|error| refused(&error))?;
        let (Some(rings), Some(ringer)) = (line.halves.rings.take(), line.halves.ringer.take()) else {
            return Err(refused(&"its memory was used before"));
        };
        Ok(Self {
            rings,
            ringer,
            waiter: line.halves.waiter,
            door: line.door.clone(),
            line,
            watch,
            process: spawned.process,
            path,
            rung: (0, Duration::ZERO),
            failed: None,
            gone: false,
        })
    }

    /// Copies bulk bytes out of the client's stage; their place in the scribe's.
    fn bulk(&mut self, stage: &mut StageReader<'_>, blob: BlobRef) -> Result<u64, Stop> {
        let lost = || Stop::Damaged(damaged("Recording.stage", blob.offset));
        let bytes = staged(stage, blob).ok_or_else(lost)?;
        loop {
            match self.rings.stage.reserve(bytes.len()) {
                Ok(mut grant) => {
                    bytes.copy_to(&mut grant);
                    return Ok(grant.commit().position);
                }
                Err(StageError::Full) => self.wait_for_stage()?,
                Err(StageError::TooLarge { .. }) => return Err(lost()),
            }
        }
    }

    #[cold]
    fn wait_for_stage(&mut self) -> Result<(), Stop> {
        self.wake();
        let Self { rings: client::Rings { commands, stage, marks, .. }, waiter, door, .. } = self;
        let Some(oldest) = stage.oldest_user() else {
            // Only bytes of the record at hand are in it, which are no more than fit into the recorded stage.
            return Err(Stop::Damaged(damaged("Recording.stage", stage.position())));
        };
        let retired = waiter.wait(&*door, 0, || {
            let retired = marks.read(Watermark::Retired, commands.records())?;
            Ok::<_, runahead_rings::Fault>(runahead_rings::reached(retired, oldest).then_some(retired))
        });
        stage.reclaim(retired.map_err(|_| Stop::Gone)?);
        Ok(())
    }

    fn record(&mut self, record: &[u8]) -> Result<(), Stop> {
        loop {
            match self.rings.commands.reserve(record.len()) {
                Ok(mut grant) => {
                    grant.copy_from_slice(record);
                    grant.commit();
                    // As a recorder does: what is waited for is used by records that are published.
                    self.rings.stage.used_by(self.rings.commands.records());
                    return Ok(());
                }
                Err(ReserveError::Full) => {}
                Err(ReserveError::TooLarge { .. }) => {
                    return Err(Stop::Damaged(damaged("Recording.size", record.len() as u64)));
                }
                Err(ReserveError::Fault(_)) => return Err(Stop::Gone),
            }
            self.wake();
            let Self { rings: client::Rings { commands, .. }, waiter, door, .. } = self;
            let room =
                waiter.wait(&*door, 0, || commands.has_room(record.len()).map(|has| has.then_some(())));
            room.map_err(|_| Stop::Gone)?;
        }
    }

    /// Makes what was copied visible; `now` is the time at the end of a frame.
    fn publish(&mut self, now: Option<Duration>) {
        let client::Rings { commands, stage, .. } = &mut self.rings;
        stage.publish();
        commands.publish();
        let (rung, at) = self.rung;
        let position = commands.position() + stage.position();
        let room = (commands.capacity().min(stage.capacity()) / 8) as u64;
        let late = now.is_some_and(|now| now.saturating_sub(at) >= BEHIND);
        if late || position.wrapping_sub(rung) >= room {
            self.rung = (position, now.unwrap_or(at));
            self.ringer.ring(&self.door);
        }
    }

    /// Makes it visible, and says so.
    fn wake(&mut self) {
        self.rings.stage.publish();
        self.rings.commands.publish();
        self.ringer.ring(&self.door);
    }

    /// Ends it and waits until the file is whole; its size.
    fn finish(mut self) -> Result<u64, CaptureError> {
        self.rings.stage.publish();
        self.rings.commands.publish();
        self.watch.stop();
        self.ringer.close(&self.door);
        let until = Until {
            process: Some(std::os::fd::AsFd::as_fd(&self.process)),
            deadline: Some(Instant::now() + FAREWELL),
            ..Until::default()
        };
        let said = loop {
            match self.line.channel.recv(&until) {
                Ok(received) => {
                    if let ServerMessage::Fault(fault) = received.message {
                        break Some(CaptureError::Scribe(fault.text));
                    }
                }
                Err(ChannelError::Gone(_)) if self.gone => {
                    break Some(CaptureError::Scribe(
                        "the process that writes the recording is gone".to_owned(),
                    ));
                }
                Err(ChannelError::Gone(_)) => break None,
                Err(error) => break Some(CaptureError::Scribe(error.to_string())),
            }
        };
        match self.failed.or(said) {
            Some(error) => Err(error),
            // The scribe's descriptors close one after the other, and its lock goes last.
            None => {
                let _ = self.process.wait(until.deadline);
                Ok(fs::metadata(&self.path)?.len())
            }
        }
    }
}

/// A link that shows a tap what is published.
#[derive(Debug)]
pub struct Tapped<D: Doorbell + std::fmt::Debug + 'static> {
    bells: Bells<'static, D>,
    /// Where it is shown, if anywhere.
    pub(crate) tap: Option<Box<Tap>>,
}

impl<D: Doorbell + std::fmt::Debug + 'static> Tapped<D> {
    /// A link without a tap.
    pub const fn new(bells: Bells<'static, D>) -> Self {
        Self { bells, tap: None }
    }

    /// Closes this end, see [`Bells::close`].
    pub fn close(&mut self) {
        self.bells.close();
    }
}

impl<D: Doorbell + std::fmt::Debug + 'static> Link for Tapped<D> {
    #[inline]
    fn published(&mut self, rest: Rest) {
        if let Some(tap) = &mut self.tap {
            tap.take();
        }
        self.bells.published(rest);
    }

    #[inline]
    fn wait<T>(
        &mut self,
        patience: Patience,
        ready: impl FnMut() -> Result<Look<T>, Fault>,
    ) -> Result<T, Fault> {
        self.bells.wait(patience, ready)
    }

    fn tally(&self) -> Tally {
        self.bells.tally()
    }
}
