//! Playing a capture into a session.
//!
//! A [`Player`] is a client like any other: it reads parts and hands their records to the session's pipe by the
//! dispatcher that a server uses, so that what a damaged or hostile file holds is refused before it is recorded. What
//! belongs to the recorded session alone is made anew: reply space is asked for, and a window becomes a surface of the
//! window's size without one.

use std::{
    collections::{HashMap, HashSet, VecDeque},
    fmt,
    io::{Read, Seek},
    mem,
    ops::Range,
};

use runahead_core::{NativeConfig, RecordError, Session, link::Patience, reply_space};
use runahead_rings::Pending;
use runahead_wire::{
    DispatchError, Frame,
    payload::BindContext,
    pipe::{self, Op, rows},
    record::FLAG_REPLY,
};

use super::{
    Capture, CaptureError, Part, handles, layout,
    part::{Item, Request},
    past::{self, Past},
    renumber::Groups,
};
use crate::{
    control::message::{ContextAttributes, SurfaceOp, Terms},
    session::{Client, Hears, Native, RequestError},
};

/// Why a capture was not played to the end.
#[derive(Debug)]
pub enum ReplayError {
    /// The file's.
    Capture(CaptureError),
    /// A record could not be recorded again.
    Session {
        /// Its ordinal in the capture.
        ordinal: u64,
        /// Why.
        error: RecordError,
        /// What the server said of it.
        reason: Option<String>,
    },
    /// A context or surface could not be made again.
    Request {
        /// The record that it follows.
        after: u64,
        /// Why.
        error: RequestError,
    },
    /// Frames cannot be repeated: a record makes an object or ends one, or there is a request behind it.
    Changes {
        /// Its ordinal.
        ordinal: u64,
    },
    /// Frames are played forwards.
    Backwards {
        /// The frame asked for.
        frame: u64,
        /// The next frame that can be played.
        next: u64,
    },
}

impl fmt::Display for ReplayError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Capture(error) => error.fmt(f),
            Self::Session { ordinal, error, reason: None } => write!(f, "record {ordinal}: {error}"),
            Self::Session { ordinal, reason: Some(reason), .. } => write!(f, "record {ordinal}: {reason}"),
            Self::Request { after, error } => write!(f, "behind record {after}: {error}"),
            Self::Changes { ordinal } => write!(
                f,
                "the frames cannot be repeated: record {ordinal} makes or ends an object, which is there or gone by then"
            ),
            Self::Backwards { frame, next } => {
                write!(f, "frame {frame} was played already, and frame {next} is next")
            }
        }
    }
}

impl std::error::Error for ReplayError {}

impl From<CaptureError> for ReplayError {
    fn from(error: CaptureError) -> Self {
        Self::Capture(error)
    }
}

/// The surface that is drawn to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Target {
    /// The context that is current; 0 for none.
    pub context: u64,
    /// Its draw surface; 0 for none.
    pub surface: u64,
    /// Pixels along x.
    pub width: u32,
    /// Pixels along y.
    pub height: u32,
}

/// Frames that are looked at for one that begins anew.
const LOOK_BACK: usize = 64;

/// What a caller wants to see of a replay. Nothing, by default.
pub trait Watcher<S: ?Sized> {
    /// A record is about to be played.
    fn record(&mut self, ordinal: u64, record: &[u8], part: &Part) {
        let _ = (ordinal, record, part);
    }

    /// A frame's last record, its present, is about to be played.
    ///
    /// # Errors
    /// What to end the replay with.
    fn presenting(&mut self, frame: u64, target: Target, pipe: &mut S) -> Result<(), RecordError> {
        let _ = (frame, target, pipe);
        Ok(())
    }
}

/// Watches nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Nobody;

impl<S: ?Sized> Watcher<S> for Nobody {}

/// Plays a capture, forwards.
#[derive(Debug)]
pub struct Player<R> {
    capture: Capture<R>,
    part: Part,
    next_part: usize,
    next_frame: u64,
    /// Parts that were read ahead, from `next_part` on.
    ahead: VecDeque<Part>,
    /// Answers that nobody took yet, oldest first.
    asked: VecDeque<Pending>,
    /// Sizes of the surfaces.
    surfaces: HashMap<u64, (u32, u32)>,
    target: Target,
    /// A record that is changed before it is played.
    copy: Vec<u64>,
    /// Presents that were played, which count anew: some may have been left out, or come again.
    presents: u64,
    past: Past,
    /// Whether only that is played which matters later.
    skips: bool,
    /// Parts that can be played again and again.
    repeatable: Option<Range<usize>>,
}

impl<R: Read + Seek> Player<R> {
    /// A player at the beginning of a capture.
    pub fn new(capture: Capture<R>) -> Self {
        Self {
            capture,
            part: Part::default(),
            next_part: 0,
            next_frame: 0,
            ahead: VecDeque::new(),
            asked: VecDeque::new(),
            surfaces: HashMap::new(),
            target: Target::default(),
            copy: Vec::new(),
            presents: 0,
            past: Past::default(),
            skips: false,
            repeatable: None,
        }
    }

    /// The capture.
    pub const fn capture(&mut self) -> &mut Capture<R> {
        &mut self.capture
    }

    /// What to ask of a session so that every record fits: the sizes and the credit of the recorded one.
    #[must_use]
    pub fn terms(&self, wanted: Terms) -> Terms {
        let recorded = self.capture.origin().terms;
        let mut terms = wanted;
        terms.sizes.commands = terms.sizes.commands.max(recorded.sizes.commands);
        terms.sizes.stage = terms.sizes.stage.max(recorded.sizes.stage);
        terms.sizes.replies = terms.sizes.replies.max(recorded.sizes.replies);
        if terms.credit == 0 {
            terms.credit = recorded.credit;
        }
        terms
    }

    /// Reads the parts up to the end of a frame into memory, so that playing them costs no reading; the answer is the
    /// number of bytes that they take.
    ///
    /// # Errors
    /// [`CaptureError`].
    pub fn read_ahead(&mut self, frame: u64) -> Result<u64, CaptureError> {
        let end = self.capture.parts_of(frame)?.end;
        let mut bytes = 0;
        for number in self.next_part + self.ahead.len()..end {
            let mut part = Part::default();
            self.capture.read(number, &mut part)?;
            bytes += part.bytes();
            self.ahead.push_back(part);
        }
        Ok(bytes)
    }

    /// The next frame to be played.
    #[must_use]
    pub const fn next_frame(&self) -> u64 {
        self.next_frame
    }

    /// The surface that is drawn to.
    #[must_use]
    pub const fn target(&self) -> Target {
        self.target
    }

    /// Plays up to the end of a frame, and all frames before it that were not played yet.
    ///
    /// # Errors
    /// [`ReplayError`]; the session is of no use then.
    pub fn frame<B: Native + 'static, E: Hears, W: Watcher<dyn Session>>(
        &mut self,
        client: &mut Client<B, E>,
        frame: u64,
        watch: &mut W,
    ) -> Result<(), ReplayError> {
        let parts = self.capture.parts_of(frame)?;
        if frame < self.next_frame {
            return Err(ReplayError::Backwards { frame, next: self.next_frame });
        }
        self.parts(client, parts.end, watch)?;
        self.next_frame = frame + 1;
        Ok(())
    }

    /// Plays up to the end of a frame, and of the frames before it what matters to this one: what they drew to windows
    /// is left out, from the last one on that begins with a clear. A watcher sees what is played whole.
    ///
    /// # Errors
    /// As [`Player::frame`].
    pub fn seek<B: Native + 'static, E: Hears, W: Watcher<dyn Session>>(
        &mut self,
        client: &mut Client<B, E>,
        frame: u64,
        watch: &mut W,
    ) -> Result<(), ReplayError> {
        // Of a wrong frame nothing is played.
        self.capture.parts_of(frame)?;
        let whole = if frame > self.next_frame { self.whole_from(frame)? } else { frame };
        while self.next_frame < whole {
            self.read_ahead(self.next_frame)?;
            self.past.begin(past::any_copies(self.ahead.iter().flat_map(Part::records).flatten()));
            self.skips = true;
            let played = self.frame(client, self.next_frame, &mut Nobody);
            self.skips = false;
            played?;
        }
        self.frame(client, frame, watch)
    }

    /// The frame from which on all is to be played so that `frame` is as it was.
    fn whole_from(&mut self, frame: u64) -> Result<u64, CaptureError> {
        let mut part = Part::default();
        for earlier in (self.next_frame..=frame).rev().take(LOOK_BACK) {
            for number in self.capture.parts_of(earlier)? {
                self.capture.read(number, &mut part)?;
                match past::begins_anew(part.records().flatten()) {
                    Some(true) => return Ok(earlier),
                    Some(false) => break,
                    None => {}
                }
            }
        }
        Ok(self.next_frame)
    }

    /// Goes back, so that frames are played again: those from `first` to the next one that would be played. The objects
    /// that there are must be the same at both ends.
    ///
    /// # Errors
    /// [`ReplayError::Changes`], [`ReplayError::Capture`].
    pub fn rewind(&mut self, first: u64) -> Result<(), ReplayError> {
        let begin = self.capture.parts_of(first)?.start;
        let range = begin..self.next_part;
        if self.repeatable.as_ref() != Some(&range) {
            self.can_repeat(&range)?;
            self.repeatable = Some(range);
        }
        self.ahead.clear();
        (self.next_part, self.next_frame) = (begin, first);
        Ok(())
    }

    /// Checks that parts make no object that was not there before them, and end none.
    fn can_repeat(&mut self, range: &Range<usize>) -> Result<(), ReplayError> {
        let (mut groups, mut alive, mut part) = (Groups::default(), HashSet::new(), Part::default());
        for number in 0..range.end {
            self.capture.read(number, &mut part)?;
            let repeats = number >= range.start;
            if let Some(placed) = part.requests().first().filter(|_| repeats) {
                return Err(ReplayError::Changes { ordinal: placed.after });
            }
            for item in part.items() {
                let (ordinal, record) = match item? {
                    Item::Record(ordinal, record) => (ordinal, record),
                    Item::Request(placed) => {
                        groups.request(&placed.request);
                        continue;
                    }
                };
                groups.record(record);
                let Some(op) = layout::op(record) else { continue };
                let (makes, ends) = (handles::makes(op), handles::ends(op));
                let Some(object) = groups.subject(record).filter(|_| makes || ends) else { continue };
                // One that is there can be made again, as something else.
                if repeats && (ends || !alive.contains(&object)) {
                    return Err(ReplayError::Changes { ordinal });
                }
                if makes {
                    alive.insert(object);
                } else {
                    alive.remove(&object);
                }
            }
        }
        Ok(())
    }

    /// Plays everything that was not played yet, also what follows the last whole frame, and waits for all answers.
    ///
    /// # Errors
    /// As [`Player::frame`].
    pub fn rest<B: Native + 'static, E: Hears, W: Watcher<dyn Session>>(
        &mut self,
        client: &mut Client<B, E>,
        watch: &mut W,
    ) -> Result<(), ReplayError> {
        self.next_frame = self.capture.frames();
        self.parts(client, self.capture.parts(), watch)?;
        let recorded = client.pipe().recorded();
        while !self.asked.is_empty() {
            if let Err(error) = self.answered(client.pipe(), Some(Patience::Sleep)) {
                return Err(lost(client, recorded, error));
            }
        }
        Ok(())
    }

    fn parts<B: Native + 'static, E: Hears, W: Watcher<dyn Session>>(
        &mut self,
        client: &mut Client<B, E>,
        end: usize,
        watch: &mut W,
    ) -> Result<(), ReplayError> {
        while self.next_part < end {
            if let Some(part) = self.ahead.pop_front() {
                self.play(client, &part, watch)?;
            } else {
                let mut part = mem::take(&mut self.part);
                let played = match self.capture.read(self.next_part, &mut part) {
                    Ok(()) => self.play(client, &part, watch),
                    Err(error) => Err(error.into()),
                };
                self.part = part;
                played?;
            }
            self.next_part += 1;
        }
        Ok(())
    }

    fn play<B: Native + 'static, E: Hears, W: Watcher<dyn Session>>(
        &mut self,
        client: &mut Client<B, E>,
        part: &Part,
        watch: &mut W,
    ) -> Result<(), ReplayError> {
        for item in part.items() {
            let (ordinal, record) = match item? {
                Item::Record(ordinal, record) => (ordinal, record),
                Item::Request(placed) => {
                    self.request(client, placed.after, &placed.request)?;
                    continue;
                }
            };
            if !self.past.matters(record) && self.skips {
                continue;
            }
            watch.record(ordinal, record, part);
            let op = layout::op(record);
            if op == Some(Op::Present)
                && let Err(error) = watch.presenting(part.head().frame, self.target, client.pipe())
            {
                return Err(lost(client, ordinal, error));
            }
            match self.record(client.pipe(), record, part) {
                Ok(()) => {}
                Err(DispatchError::Refused(refusal)) => {
                    return Err(CaptureError::Record { ordinal, refusal }.into());
                }
                Err(DispatchError::Pipe(error)) => return Err(lost(client, ordinal, error)),
            }
            if op == Some(Op::BindContext) {
                self.bound(record);
            }
        }
        Ok(())
    }

    /// Plays one record.
    fn record<S: Session>(
        &mut self,
        pipe: &mut S,
        record: &[u8],
        part: &Part,
    ) -> Result<(), DispatchError<RecordError>> {
        let frame = Frame::parse(record)?;
        let Some(space) = frame.reply() else {
            if layout::op(record) != Some(Op::Present) {
                return pipe::dispatch(record, part, pipe).map(drop);
            }
            self.presents += 1;
            let serial = self.presents;
            return self.changed(record, part, pipe, |bytes| layout::replace_serial(bytes, serial));
        };
        debug_assert!(layout::header(record).is_some_and(|head| head.flags == FLAG_REPLY));
        while let Some(true) = self.answered(pipe, None).map_err(DispatchError::Pipe)? {}
        let pending = loop {
            match pipe.ask(space.capacity) {
                Ok(pending) => break pending,
                Err(RecordError::ReplyFull) if !self.asked.is_empty() => {
                    self.answered(pipe, Some(Patience::Spin)).map_err(DispatchError::Pipe)?;
                }
                Err(error) => return Err(DispatchError::Pipe(error)),
            }
        };
        let played =
            self.changed(record, part, pipe, |bytes| layout::replace_reply(bytes, reply_space(&pending)));
        self.asked.push_back(pending);
        played
    }

    /// Plays a copy of a record that is changed before.
    fn changed<S: Session>(
        &mut self,
        record: &[u8],
        part: &Part,
        pipe: &mut S,
        change: impl FnOnce(&mut [u8]),
    ) -> Result<(), DispatchError<RecordError>> {
        self.copy.clear();
        self.copy.resize(record.len().div_ceil(8), 0);
        let bytes = runahead_wire::zerocopy::IntoBytes::as_mut_bytes(self.copy.as_mut_slice());
        bytes.copy_from_slice(record);
        change(bytes);
        pipe::dispatch(bytes, part, pipe).map(drop)
    }

    /// Gives the space of the oldest answer back, if it has come; with patience, waits for it. Says whether there was
    /// one.
    fn answered<S: Session>(
        &mut self,
        pipe: &mut S,
        patience: Option<Patience>,
    ) -> Result<Option<bool>, RecordError> {
        let Some(oldest) = self.asked.pop_front() else { return Ok(None) };
        let came = match patience {
            Some(patience) => pipe.wait_answer(&oldest, patience).map(Some),
            None => pipe.answer(&oldest),
        };
        match came {
            Ok(Some(_)) => {
                if let Err(oldest) = pipe.release(oldest) {
                    self.asked.push_front(oldest);
                }
                Ok(Some(true))
            }
            Ok(None) => {
                self.asked.push_front(oldest);
                Ok(Some(false))
            }
            Err(error) => {
                self.asked.push_front(oldest);
                Err(error)
            }
        }
    }

    fn bound(&mut self, record: &[u8]) {
        let row = Frame::parse(record).and_then(<rows::BindContext<'_> as runahead_wire::Row<'_>>::decode);
        if let Ok(rows::BindContext { payload: &BindContext { context, draw_surface, .. } }) = row {
            let (width, height) = self.surfaces.get(&draw_surface).copied().unwrap_or_default();
            self.target = Target { context, surface: draw_surface, width, height };
        }
    }

    /// A config of the session at hand for one of the recorded session, whose window system may have been another: one
    /// with the same colours, depth, stencil and samples that pbuffers can have, or the same number where there is none.
    fn config(&self, recorded: u32, ours: &[NativeConfig]) -> u32 {
        let bits = |config: &NativeConfig| {
            let NativeConfig { red, green, blue, alpha, depth, stencil, samples, .. } = *config;
            [red, green, blue, alpha, depth, stencil, samples]
        };
        let wanted = self.capture.origin().configs.iter().find(|config| config.id == recorded);
        let like = |wanted| ours.iter().find(|config| config.pbuffer && bits(config) == bits(wanted));
        wanted.and_then(like).map_or(recorded, |config| config.id)
    }

    fn request<B: Native + 'static, E: Hears>(
        &mut self,
        client: &mut Client<B, E>,
        after: u64,
        request: &Request,
    ) -> Result<(), ReplayError> {
        self.past.request(request);
        let done = match request {
            Request::CreateContext { context, share, attributes } => {
                let config = self.config(attributes.config, client.configs());
                let attributes = ContextAttributes { config, ..*attributes };
                client.create_context(*context, (*share != 0).then_some(*share), attributes)
            }
            Request::DestroyContext { context } => client.destroy_context(*context),
            Request::Surface { surface, op, state } => {
                let size = (state.width, state.height);
                self.surfaces.insert(*surface, size);
                if self.target.surface == *surface {
                    (self.target.width, self.target.height) = size;
                }
                match op {
                    SurfaceOp::CreateWindow { config, .. } | SurfaceOp::CreatePbuffer { config, .. } => {
                        let (width, height) = size;
                        let config = self.config(*config, client.configs());
                        let op = SurfaceOp::CreatePbuffer { config, width, height };
                        client.surface(*surface, op).map(drop)
                    }
                    // It has none.
                    SurfaceOp::ReleaseWindow => Ok(()),
                    other => client.surface(*surface, other.clone()).map(drop),
                }
            }
        };
        done.map_err(|error| ReplayError::Request { after, error })
    }
}

/// A record that was not taken, with what the server said of it.
fn lost<B: Native + 'static, E: Hears>(
    client: &mut Client<B, E>,
    ordinal: u64,
    error: RecordError,
) -> ReplayError {
    ReplayError::Session { ordinal, error, reason: client.reason() }
}
