//! The client's half of the handshake, and the watch over who is at the other end.

use std::{
    io,
    os::fd::{AsFd, OwnedFd},
};

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
        let own = |descriptor: &dyn AsFd| descriptor.as_fd().try_clone_to_owned().map_err(ChannelError::Io);
        let sources = Sources {
            socket: Some(own(&self.channel)?),
            process: process.map(|process| own(process)).transpose()?,
        };
        let (waiter, memory, door) = (self.halves.waiter, self.halves.keep.memory(), self.door.clone());
        let watch: io::Result<Watch> = Watch::spawn(sources, move |_: peer::Death| {
            waiter.announce_death(&door);
            // What the waiter lies in.
            drop(memory);
        });
        watch.map_err(ChannelError::Io)
    }
}
