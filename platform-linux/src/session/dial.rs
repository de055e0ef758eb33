//! The client's half of the handshake, and the watch over who is at the other end.

use std::{
    io,
    os::fd::{AsFd, OwnedFd},
};

use runahead_rings::Waiter;

use crate::{
    control::{
        channel::{ChannelError, ClientChannel, Until},
        handshake::{Identity, check_welcome},
        message::{Attach, ClientMessage, Hello, ServerMessage, Welcome},
    },
    peer::{self, Sources, Watch},
    spawn::Process,
};

use super::{
    Door, OpenError,
    client::unexpected,
    memory::{ClientHalves, ClientSegments, MemoryError},
};

/// A session's shared memory, and the control socket beside it.
#[derive(Debug)]
pub(crate) struct Line {
    // Before what they work on: the halves keep their own memory, and fields are dropped in order.
    pub(crate) halves: ClientHalves,
    pub(crate) channel: ClientChannel,
    pub(crate) welcome: Welcome,
    pub(crate) door: Door,
}

impl Line {
    /// Agrees with the server at the other end of a socket. Of `wishes` its identity is this build's whatever it says.
    ///
    /// # Errors
    /// [`OpenError`]; the socket is closed then.
    pub(crate) fn open(socket: OwnedFd, process: Option<&Process>, wishes: Hello) -> Result<Self, OpenError> {
        let identity = Identity::own(true);
        let mut channel = ClientChannel::new(socket);
        let until = Until { process: process.map(AsFd::as_fd), ..Until::default() };
        let wanted = wishes.wanted;
        let hello = Hello {
            protocol: identity.protocol,
            fingerprint: identity.fingerprint,
            build: identity.build.clone(),
            pid: std::process::id(),
            ..wishes
        };
        channel.send(&ClientMessage::Hello(hello), Vec::new(), &until)?;
        let answer = channel.recv(&until)?;
        let welcome = match answer.message {
            ServerMessage::Welcome(welcome) => welcome,
            ServerMessage::Refuse(refuse) => return Err(OpenError::Refused(refuse)),
            ServerMessage::Fault(fault) => return Err(OpenError::Server(fault.text)),
            other => return Err(unexpected(&other).into()),
        };
        check_welcome(&welcome, &identity, &wanted).map_err(OpenError::Refused)?;
        channel.established();
        let segments = ClientSegments::create(&welcome.terms.sizes)?;
        let (sizes, descriptors) = segments.hand_out().map_err(MemoryError::Io)?;
        channel.send(&ClientMessage::Attach(Attach { segments: sizes }), descriptors, &until)?;
        let halves = ClientHalves::new(segments, &welcome.segments, &answer.descriptors)?;
        let bells = answer.descriptors.get(welcome.segments.len()..).unwrap_or_default();
        let door = Door::of_client(bells).map_err(MemoryError::Io)?;
        Ok(Self { halves, channel, welcome, door })
    }

    /// Ends every wait for the server as soon as the kernel says that it is gone.
    ///
    /// # Errors
    /// The kernel's: no thread, no descriptor.
    pub(crate) fn watch(&self, process: Option<&Process>) -> Result<Watch, ChannelError> {
        let Self { halves, channel, door, .. } = self;
        watch(channel, process, halves.waiter, door, halves.keep.memory()).map_err(ChannelError::Io)
    }
}

/// Ends every wait for the peer at the other end of a socket, whose process it is, as soon as the kernel says that it is
/// gone. The waiter lies in `memory`.
pub(crate) fn watch(
    socket: &impl AsFd,
    process: Option<&impl AsFd>,
    waiter: Waiter<'static>,
    door: &Door,
    memory: impl Send + 'static,
) -> io::Result<Watch> {
    let sources = Sources {
        socket: Some(socket.as_fd().try_clone_to_owned()?),
        process: process.map(|process| process.as_fd().try_clone_to_owned()).transpose()?,
    };
    let door = door.clone();
    Watch::spawn(sources, move |_: peer::Death| {
        waiter.announce_death(&door);
        drop(memory);
    })
}
