//! Messages with descriptors over a Unix stream socket.
//!
//! A stream and not a packet socket: frames may be larger than a packet can be, and the same frames will cross
//! TCP. A stream does not tell where the sender's call began, so a frame's header says how many descriptors are
//! its own, and they leave with its first byte: once a frame is whole, they have arrived.
//!
//! # Contract
//!
//! - Nothing here blocks but [`Channel::send`] and [`Channel::recv`], and those end when the peer is gone, when
//!   the owner says stop, or at a deadline that the owner chose. Whatever the socket's own mode is, it stays.
//! - An I/O thread uses [`Channel::post`], [`Channel::flush`] and [`Channel::try_recv`], and polls
//!   [`Channel::as_fd`] for [`Channel::interest`]. A peer that does not read fills the outbox, and
//!   [`ChannelError::Full`] drops the message that finds it full.
//! - What the peer sent before it went is received before [`ChannelError::Gone`].
//! - Descriptors arrive with `CLOEXEC`. Those that no message owns are closed, and are a corruption. None
//!   outlives an error.

use std::{
    collections::VecDeque,
    fmt, io,
    io::{IoSlice, IoSliceMut},
    marker::PhantomData,
    mem::MaybeUninit,
    os::fd::{AsFd, BorrowedFd, OwnedFd},
    time::Instant,
};

use rustix::{
    event::{PollFd, PollFlags},
    io::Errno,
    net::{
        AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, ReturnFlags,
        SendAncillaryBuffer, SendAncillaryMessage, SendFlags, SocketFlags, SocketType, recvmsg, sendmsg,
        socketpair,
    },
};

use super::{
    Corruption, check,
    frame::{self, Decoder, MAX_DESCRIPTORS},
    message::{ClientMessage, Message, ServerMessage},
};
use crate::{peer::Death, poll};

/// Bytes that wait to be sent at most, beside the one message that may be larger than that.
pub const OUTBOX: usize = 1 << 20;

/// Bytes that one call reads.
const READ: usize = 16 << 10;

/// Room for the descriptors of a frame.
const SPACE: usize = rustix::cmsg_space!(ScmRights(MAX_DESCRIPTORS));

/// Why a channel did not do what was asked.
#[derive(Debug)]
pub enum ChannelError {
    /// The peer is gone, and everything that it sent was received.
    Gone(Death),
    /// The peer sent what it may not, or the message to send is one that it would refuse.
    Corrupt(Corruption),
    /// The peer does not read, and the outbox is full.
    Full,
    /// The owner said stop.
    Stopped,
    /// The owner's deadline passed.
    TimedOut,
    /// The kernel's, of no use to the peer: out of memory or of descriptors.
    Io(io::Error),
}

impl fmt::Display for ChannelError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Gone(death) => death.fmt(f),
            Self::Corrupt(corruption) => corruption.fmt(f),
            Self::Full => f.write_str("the peer does not read its control messages"),
            Self::Stopped => f.write_str("the wait for a control message was stopped"),
            Self::TimedOut => f.write_str("no control message came in time"),
            Self::Io(error) => write!(f, "the control socket failed: {error}"),
        }
    }
}

impl std::error::Error for ChannelError {}

impl From<Corruption> for ChannelError {
    fn from(corruption: Corruption) -> Self {
        Self::Corrupt(corruption)
    }
}

impl From<Errno> for ChannelError {
    fn from(errno: Errno) -> Self {
        match errno {
            Errno::PIPE | Errno::CONNRESET => Self::Gone(Death::HungUp),
            errno => Self::Io(errno.into()),
        }
    }
}

/// What ends a blocking call beside its success and the socket's hang-up.
#[derive(Clone, Copy, Debug, Default)]
pub struct Until<'a> {
    /// The peer's pidfd: a child that it forked can keep the socket open.
    pub process: Option<BorrowedFd<'a>>,
    /// An eventfd, or anything else that becomes readable when the owner wants its thread back.
    pub stop: Option<BorrowedFd<'a>>,
    /// An instant.
    pub deadline: Option<Instant>,
}

/// A message with its descriptors.
#[derive(Debug)]
pub struct Received<M> {
    /// The message; every bound holds.
    pub message: M,
    /// Exactly [`Message::descriptors`] of them. What they are is not checked.
    pub descriptors: Vec<OwnedFd>,
}

/// A frame on its way out.
#[derive(Debug)]
struct Parcel {
    bytes: Vec<u8>,
    sent: usize,
    /// They leave with the first byte.
    descriptors: Vec<OwnedFd>,
}

/// One end of a control socket, which sends `O` and receives `I`.
#[derive(Debug)]
pub struct Channel<O, I> {
    socket: OwnedFd,
    decoder: Decoder,
    /// Arrived, and not yet taken by their frame.
    descriptors: VecDeque<OwnedFd>,
    outbox: VecDeque<Parcel>,
    queued: usize,
    /// The peer will send no more.
    ended: bool,
    /// The peer sent what it may not; sticky.
    corrupt: Option<Corruption>,
    messages: PhantomData<fn(&O) -> I>,
}

/// The client's end.
pub type ClientChannel = Channel<ClientMessage, ServerMessage>;

/// The server's end.
pub type ServerChannel = Channel<ServerMessage, ClientMessage>;

/// Both ends of a new control socket, neither inherited by programs.
///
/// # Errors
/// The kernel's: no descriptor, no memory.
pub fn pair() -> io::Result<(OwnedFd, OwnedFd)> {
    Ok(socketpair(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None)?)
}

impl<O: Message, I: Message> Channel<O, I> {
    /// A channel over a connected Unix stream socket, before the handshake.
    #[must_use]
    pub const fn new(socket: OwnedFd) -> Self {
        Self {
            socket,
            decoder: Decoder::new(),
            descriptors: VecDeque::new(),
            outbox: VecDeque::new(),
            queued: 0,
            ended: false,
            corrupt: None,
            messages: PhantomData,
        }
    }

    /// The handshake is done: larger frames may come.
    pub const fn established(&mut self) {
        self.decoder.established();
    }

    /// What to poll for: always for reading, and for writing while the outbox holds something.
    #[must_use]
    pub fn interest(&self) -> PollFlags {
        if self.outbox.is_empty() { PollFlags::IN } else { PollFlags::IN | PollFlags::OUT }
    }

    /// Bytes in the outbox.
    #[must_use]
    pub const fn queued(&self) -> usize {
        self.queued
    }

    /// Puts a message into the outbox. It owns its descriptors from here on.
    ///
    /// # Errors
    /// [`ChannelError::Corrupt`] if the peer would refuse it, [`ChannelError::Full`]. Either way the message and its
    /// descriptors are dropped.
    pub fn post(&mut self, message: &O, descriptors: Vec<OwnedFd>) -> Result<(), ChannelError> {
        check(descriptors.len() == message.descriptors(), message.name(), "descriptors")?;
        let bytes = frame::encode(&message.encode()?, descriptors.len())?;
        if self.queued > 0 && self.queued + bytes.len() > OUTBOX {
            return Err(ChannelError::Full);
        }
        self.queued += bytes.len();
        self.outbox.push_back(Parcel { bytes, sent: 0, descriptors });
        Ok(())
    }

    /// Sends what the socket takes; `true` when nothing is left.
    ///
    /// # Errors
    /// [`ChannelError::Gone`] (what the peer sent before can still be received), [`ChannelError::Io`].
    pub fn flush(&mut self) -> Result<bool, ChannelError> {
        while let Some(parcel) = self.outbox.front_mut() {
            let owned: Vec<BorrowedFd<'_>> = parcel.descriptors.iter().map(AsFd::as_fd).collect();
            let mut space = [MaybeUninit::uninit(); SPACE];
            let mut control = SendAncillaryBuffer::new(&mut space);
            if !owned.is_empty() {
                let room = control.push(SendAncillaryMessage::ScmRights(&owned));
                debug_assert!(room, "a frame has {MAX_DESCRIPTORS} descriptors at most");
            }
            let flags = SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
            match sendmsg(&self.socket, &[IoSlice::new(&parcel.bytes[parcel.sent..])], &mut control, flags) {
                Ok(sent) => {
                    parcel.sent += sent;
                    parcel.descriptors.clear();
                    self.queued -= sent;
                    if parcel.sent == parcel.bytes.len() {
                        self.outbox.pop_front();
                    }
                }
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => return Ok(false),
                Err(errno) => return Err(errno.into()),
            }
        }
        Ok(true)
    }

    /// Sends what waits in the outbox, blocking until the socket took all of it.
    ///
    /// # Errors
    /// As [`Channel::flush`]; [`ChannelError::Stopped`], [`ChannelError::TimedOut`].
    pub fn finish(&mut self, until: &Until<'_>) -> Result<(), ChannelError> {
        while !self.flush()? {
            if let Some(death) = self.wait(PollFlags::OUT, until)? {
                return Err(ChannelError::Gone(death));
            }
        }
        Ok(())
    }

    /// Sends a message, blocking until the socket took all of it.
    ///
    /// # Errors
    /// As [`Channel::post`] and [`Channel::flush`]; [`ChannelError::Stopped`] and [`ChannelError::TimedOut`]
    /// leave the message in the outbox.
    pub fn send(
        &mut self,
        message: &O,
        descriptors: Vec<OwnedFd>,
        until: &Until<'_>,
    ) -> Result<(), ChannelError> {
        self.post(message, descriptors)?;
        self.finish(until)
    }

    /// The next message, if all of it arrived.
    ///
    /// # Errors
    /// [`ChannelError::Corrupt`], for good; [`ChannelError::Gone`]; [`ChannelError::Io`].
    pub fn try_recv(&mut self) -> Result<Option<Received<I>>, ChannelError> {
        if let Some(corruption) = self.corrupt {
            return Err(corruption.into());
        }
        let result = self.next();
        match result {
            Ok(_) | Err(ChannelError::Gone(_)) => {}
            Err(ChannelError::Corrupt(corruption)) => self.give_up(corruption),
            // What was lost with it cannot be had again.
            Err(_) => self.give_up(Corruption { owner: "Frame", field: "descriptors" }),
        }
        result
    }

    /// The next message, blocking until it is there. Sends what waits in the outbox meanwhile.
    ///
    /// # Errors
    /// As [`Channel::try_recv`]; [`ChannelError::Stopped`], [`ChannelError::TimedOut`].
    pub fn recv(&mut self, until: &Until<'_>) -> Result<Received<I>, ChannelError> {
        let mut died = None;
        loop {
            if let Some(received) = self.try_recv()? {
                return Ok(received);
            }
            // It died before the look above, so nothing more can come but from a child that it left the socket to.
            if let Some(death) = died {
                return Err(ChannelError::Gone(death));
            }
            // A peer that does not read any more may still have something to say.
            match self.flush() {
                Ok(_) => {}
                Err(ChannelError::Gone(_)) => {
                    self.outbox.clear();
                    self.queued = 0;
                }
                Err(error) => return Err(error),
            }
            died = self.wait(self.interest(), until)?;
        }
    }

    fn give_up(&mut self, corruption: Corruption) {
        self.corrupt = Some(corruption);
        self.descriptors.clear();
    }

    fn next(&mut self) -> Result<Option<Received<I>>, ChannelError> {
        loop {
            if let Some(frame) = self.decoder.next()? {
                return self.take(&frame).map(Some);
            }
            if self.ended {
                return Err(ChannelError::Gone(Death::HungUp));
            }
            if !self.read()? {
                return Ok(None);
            }
        }
    }

    fn take(&mut self, frame: &frame::Frame) -> Result<Received<I>, ChannelError> {
        check(frame.descriptors <= self.descriptors.len(), "Frame", "descriptors")?;
        let descriptors: Vec<OwnedFd> = self.descriptors.drain(..frame.descriptors).collect();
        // Those of a frame that has not begun yet cannot be there.
        check(self.descriptors.is_empty() || self.decoder.held() > 0, "Frame", "descriptors")?;
        let message = I::decode(&frame.payload)?;
        check(descriptors.len() == message.descriptors(), message.name(), "descriptors")?;
        Ok(Received { message, descriptors })
    }

    /// Reads what is there; `false` when nothing is.
    fn read(&mut self) -> Result<bool, ChannelError> {
        let mut bytes = [0; READ];
        let mut space = [MaybeUninit::uninit(); SPACE];
        let mut control = RecvAncillaryBuffer::new(&mut space);
        let flags = RecvFlags::DONTWAIT | RecvFlags::CMSG_CLOEXEC;
        let received = loop {
            match recvmsg(&self.socket, &mut [IoSliceMut::new(&mut bytes)], &mut control, flags) {
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => return Ok(false),
                received => break received?,
            }
        };
        if received.bytes == 0 {
            self.ended = true;
            return Ok(true);
        }
        let before = self.descriptors.len();
        for message in control.drain() {
            if let RecvAncillaryMessage::ScmRights(descriptors) = message {
                self.descriptors.extend(descriptors);
            }
        }
        if received.flags.contains(ReturnFlags::CTRUNC) {
            // The kernel closed the rest: it is more than a frame can have, or than this process has room for.
            check(self.descriptors.len() - before < MAX_DESCRIPTORS, "Frame", "descriptors")?;
            return Err(Errno::MFILE.into());
        }
        check(self.descriptors.len() <= MAX_DESCRIPTORS, "Frame", "descriptors")?;
        self.decoder.push(&bytes[..received.bytes]);
        Ok(true)
    }

    /// Waits for the socket; says whether the peer's process died meanwhile.
    fn wait(&self, interest: PollFlags, until: &Until<'_>) -> Result<Option<Death>, ChannelError> {
        let mut descriptors = vec![PollFd::new(&self.socket, interest)];
        descriptors.extend(until.stop.as_ref().map(|stop| PollFd::new(stop, PollFlags::IN)));
        descriptors.extend(until.process.as_ref().map(|process| PollFd::new(process, PollFlags::IN)));
        if !poll::wait(&mut descriptors, until.deadline).map_err(ChannelError::Io)? {
            return Err(ChannelError::TimedOut);
        }
        let has_news = |index: usize| descriptors.get(index).is_some_and(|one| !one.revents().is_empty());
        if until.stop.is_some() && has_news(1) {
            return Err(ChannelError::Stopped);
        }
        let process = 1 + usize::from(until.stop.is_some());
        Ok((until.process.is_some() && has_news(process)).then_some(Death::Exited))
    }
}

impl<O, I> AsFd for Channel<O, I> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}
