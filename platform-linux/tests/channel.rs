//! Messages with descriptors over a real socket: orderly, split, merged, hostile, and what is left open afterwards.

mod common;

use std::{
    io::{IoSlice, Read, Write},
    mem::MaybeUninit,
    os::{
        fd::{AsFd, BorrowedFd, OwnedFd},
        unix::{net::UnixStream, process::ExitStatusExt},
    },
    time::{Duration, Instant},
};

use common::{alone, descriptors, in_ms, this_program};
use runahead_linux::{
    control::{
        Bytes,
        channel::{ChannelError, ClientChannel, OUTBOX, Received, ServerChannel, Until, pair},
        frame,
        message::*,
        refuse::{Refuse, RefuseCode},
    },
    peer::Death,
};
use rustix::{
    event::{EventfdFlags, PollFlags, eventfd},
    fs::{MemfdFlags, fstat, memfd_create},
    io::{FdFlags, fcntl_getfd},
    net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg},
};

/// The most that a Unix socket takes in one call.
const SCM_MAX_FD: usize = 253;

fn channels() -> (ClientChannel, ServerChannel) {
    let (client, server) = pair().unwrap();
    (ClientChannel::new(client), ServerChannel::new(server))
}

/// A server's channel and the raw other end.
fn raw_client() -> (OwnedFd, ServerChannel) {
    let (client, server) = pair().unwrap();
    (client, ServerChannel::new(server))
}

fn memfds(count: usize) -> Vec<OwnedFd> {
    (0..count).map(|_| memfd_create(c"test", MemfdFlags::CLOEXEC).unwrap()).collect()
}

fn inode(descriptor: impl AsFd) -> u64 {
    fstat(descriptor).unwrap().st_ino
}

const fn bye(after: u64) -> ClientMessage {
    ClientMessage::Bye(Bye { after })
}

const fn attach() -> ClientMessage {
    ClientMessage::Attach(Attach { segments: [4096, 8192, 4096] })
}

fn log(text: &str) -> ServerMessage {
    ServerMessage::Log(LogLine::new(LogLevel::Info, text.into(), 0))
}

/// Sends bytes and descriptors as a hostile peer would.
fn send_raw(socket: &OwnedFd, bytes: &[u8], descriptors: &[BorrowedFd<'_>]) {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(SCM_MAX_FD))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    if !descriptors.is_empty() {
        assert!(control.push(SendAncillaryMessage::ScmRights(descriptors)));
    }
    let sent = sendmsg(socket, &[IoSlice::new(bytes)], &mut control, SendFlags::NOSIGNAL).unwrap();
    assert_eq!(sent, bytes.len());
}

fn frame_of(message: &ClientMessage, descriptors: usize) -> Vec<u8> {
    frame::encode(&message.encode().unwrap(), descriptors).unwrap()
}

fn message(received: Result<Option<Received<ClientMessage>>, ChannelError>) -> Option<ClientMessage> {
    received.unwrap().map(|received| received.message)
}

fn corruption<T: std::fmt::Debug>(result: Result<T, ChannelError>) -> String {
    match result {
        Err(ChannelError::Corrupt(corruption)) => corruption.to_string(),
        other => panic!("not corrupt: {other:?}"),
    }
}

const FOREVER: Until<'static> = Until { process: None, stop: None, deadline: None };

#[test]
fn messages_and_descriptors_arrive_together() {
    let _alone = alone();
    let (mut client, mut server) = channels();
    let sent = memfds(3);
    let inodes: Vec<u64> = sent.iter().map(inode).collect();
    client.send(&bye(1), vec![], &FOREVER).unwrap();
    client.send(&attach(), sent, &FOREVER).unwrap();
    client.send(&bye(2), vec![], &FOREVER).unwrap();
    assert_eq!(server.recv(&FOREVER).unwrap().message, bye(1));
    let received = server.recv(&FOREVER).unwrap();
    assert_eq!(received.message, attach());
    assert_eq!(received.descriptors.iter().map(inode).collect::<Vec<_>>(), inodes);
    for descriptor in &received.descriptors {
        assert_eq!(fcntl_getfd(descriptor), Ok(FdFlags::CLOEXEC));
    }
    assert_eq!(server.recv(&FOREVER).unwrap().message, bye(2));
    server.send(&log("to the client"), vec![], &FOREVER).unwrap();
    assert_eq!(client.recv(&FOREVER).unwrap().message, log("to the client"));
}

#[test]
fn descriptors_find_their_frame_when_several_are_read_at_once() {
    let _alone = alone();
    let (mut client, mut server) = channels();
    let (first, second) = (memfds(3), memfds(3));
    let inodes = [&first, &second].map(|sent| sent.iter().map(inode).collect::<Vec<_>>());
    for (message, owned) in [(bye(1), vec![]), (attach(), first), (bye(2), vec![]), (attach(), second)] {
        client.post(&message, owned).unwrap();
    }
    assert!(client.flush().unwrap());
    let received: Vec<_> = (0..4).map(|_| server.try_recv().unwrap().unwrap()).collect();
    assert_eq!(received.iter().map(|one| one.descriptors.len()).collect::<Vec<_>>(), [0, 3, 0, 3]);
    for (one, inodes) in [&received[1], &received[3]].into_iter().zip(inodes) {
        assert_eq!(one.descriptors.iter().map(inode).collect::<Vec<_>>(), inodes);
    }
    assert!(server.try_recv().unwrap().is_none());
}

#[test]
fn a_frame_may_come_byte_by_byte() {
    let _alone = alone();
    let (socket, mut server) = raw_client();
    let bytes = frame_of(&attach(), 3);
    let owned = memfds(3);
    let owned: Vec<BorrowedFd<'_>> = owned.iter().map(AsFd::as_fd).collect();
    for (index, byte) in bytes.iter().enumerate() {
        send_raw(&socket, &[*byte], if index == 0 { &owned } else { &[] });
        let received = server.try_recv().unwrap();
        assert_eq!(
            received.map(|received| received.descriptors.len()),
            (index + 1 == bytes.len()).then_some(3)
        );
    }
}

#[test]
fn a_message_larger_than_the_socket_takes_arrives() {
    let _alone = alone();
    let (mut client, mut server) = channels();
    let caps = || ServerMessage::Caps(CapsSnapshot { generation: 1, bytes: Bytes(vec![42; CAPS_BYTES]) });
    server.post(&caps(), vec![]).unwrap();
    assert!(!server.flush().unwrap(), "this test wants a message that the socket does not take at once");
    assert_eq!(server.interest(), PollFlags::IN | PollFlags::OUT);
    std::thread::scope(|scope| {
        scope.spawn(|| server.send(&log("behind"), vec![], &FOREVER).unwrap());
        assert_eq!(client.recv(&FOREVER).unwrap().message, caps());
        assert_eq!(client.recv(&FOREVER).unwrap().message, log("behind"));
    });
    assert_eq!(server.interest(), PollFlags::IN);
}

#[test]
fn what_was_posted_is_sent_while_waiting() {
    let _alone = alone();
    let (mut client, mut server) = channels();
    let line = log(&"x".repeat(4000));
    while server.flush().unwrap() {
        server.post(&line, vec![]).unwrap();
    }
    server.post(&log("last"), vec![]).unwrap();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while client.recv(&FOREVER).unwrap().message != log("last") {}
            client.send(&bye(7), vec![], &FOREVER).unwrap();
        });
        let until = Until { deadline: in_ms(5000), ..FOREVER };
        assert_eq!(server.recv(&until).unwrap().message, bye(7));
    });
}

#[test]
fn a_peer_that_does_not_read_fills_a_bounded_outbox() {
    let _alone = alone();
    let (mut client, mut server) = channels();
    let line = log(&"x".repeat(4000));
    let mut posted = 0;
    let full = loop {
        if let Err(error) = server.post(&line, vec![]) {
            break error;
        }
        posted += 1;
        server.flush().unwrap();
        assert!(posted < 2 * OUTBOX / 4000, "the outbox has no bound");
    };
    assert!(matches!(full, ChannelError::Full), "{full}");
    // Refused lines are gone, the others arrive in order once the peer reads.
    for _ in 0..posted {
        assert_eq!(client.recv(&FOREVER).unwrap().message, line);
        server.flush().unwrap();
    }
    assert!(client.try_recv().unwrap().is_none());
    server.post(&line, vec![]).unwrap();
    assert!(server.flush().unwrap());
    assert_eq!(client.recv(&FOREVER).unwrap().message, line);
}

#[test]
fn what_was_said_before_the_end_is_heard() {
    let _alone = alone();
    let (mut client, mut server) = channels();
    server.send(&ServerMessage::Refuse(Refuse::new(RefuseCode::BUSY, 1, 1, "")), vec![], &FOREVER).unwrap();
    // Unread bytes at the server's end turn its hang-up into a reset.
    client.send(&bye(1), vec![], &FOREVER).unwrap();
    drop(server);
    assert!(matches!(client.send(&bye(2), vec![], &FOREVER), Err(ChannelError::Gone(Death::HungUp))));
    assert!(matches!(client.recv(&FOREVER).unwrap().message, ServerMessage::Refuse(_)));
    for _ in 0..2 {
        assert!(matches!(client.recv(&FOREVER), Err(ChannelError::Gone(Death::HungUp))));
        assert!(matches!(client.try_recv(), Err(ChannelError::Gone(Death::HungUp))));
    }
}

#[test]
fn an_end_within_a_frame_is_an_end() {
    let _alone = alone();
    let (socket, mut server) = raw_client();
    let bytes = frame_of(&bye(1), 0);
    send_raw(&socket, &bytes[..bytes.len() - 1], &[]);
    assert!(server.try_recv().unwrap().is_none());
    drop(socket);
    assert!(matches!(server.recv(&FOREVER), Err(ChannelError::Gone(Death::HungUp))));
}

#[test]
fn a_wait_ends_at_the_owners_word() {
    let _alone = alone();
    let (mut client, _server) = channels();
    let begin = Instant::now();
    let until = Until { deadline: in_ms(20), ..FOREVER };
    assert!(matches!(client.recv(&until), Err(ChannelError::TimedOut)));
    assert!(begin.elapsed() >= Duration::from_millis(20));

    let stop = eventfd(0, EventfdFlags::CLOEXEC).unwrap();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(Duration::from_millis(20));
            rustix::io::write(&stop, &1_u64.to_ne_bytes()).unwrap();
        });
        let until = Until { stop: Some(stop.as_fd()), ..FOREVER };
        assert!(matches!(client.recv(&until), Err(ChannelError::Stopped)));
    });

    // The same while sending to a peer that does not read.
    let (mut client, mut server) = channels();
    let line = log(&"x".repeat(4000));
    let until = Until { deadline: in_ms(20), ..FOREVER };
    let error = loop {
        if let Err(error) = server.send(&line, vec![], &until) {
            break error;
        }
    };
    assert!(matches!(error, ChannelError::TimedOut), "{error}");
    assert_eq!(client.recv(&FOREVER).unwrap().message, line);
}

#[test]
fn a_message_with_the_wrong_descriptors_is_not_sent() {
    let _alone = alone();
    let (mut client, mut server) = channels();
    let before = descriptors();
    assert_eq!(corruption(client.post(&attach(), memfds(2))), r#"ControlCorruption("Attach.Descriptors")"#);
    assert_eq!(corruption(client.post(&bye(1), memfds(1))), r#"ControlCorruption("Bye.Descriptors")"#);
    let invalid = ClientMessage::Attach(Attach { segments: [0; 3] });
    assert_eq!(corruption(client.post(&invalid, memfds(3))), r#"ControlCorruption("Attach.Segments")"#);
    assert_eq!(descriptors(), before);
    assert!(client.flush().unwrap());
    assert!(server.try_recv().unwrap().is_none());
}

/// Sends frames as `attack` does and says how the receiver refuses them, for good.
fn attacked(attack: impl FnOnce(&OwnedFd)) -> String {
    let (socket, mut server) = raw_client();
    attack(&socket);
    let refused = loop {
        match server.try_recv() {
            Ok(Some(_)) => {}
            Ok(None) => panic!("nothing was refused"),
            refused => break corruption(refused),
        }
    };
    // The stream stays corrupt, whatever valid frame follows.
    let _ = rustix::net::send(&socket, &frame_of(&bye(1), 0), SendFlags::NOSIGNAL | SendFlags::DONTWAIT);
    assert_eq!(corruption(server.try_recv()), refused);
    refused
}

#[test]
fn hostile_descriptors_are_refused_and_closed() {
    let _alone = alone();
    let one = memfds(1);
    let many = vec![one[0].as_fd(); SCM_MAX_FD];
    let before = descriptors();
    let frame_descriptors = r#"ControlCorruption("Frame.Descriptors")"#;
    // More than a frame can have, with whatever the header claims.
    for count in [17, 18, 20, 64, SCM_MAX_FD] {
        for claimed in [0, 3, 16] {
            let frame = frame_of(&attach(), claimed);
            assert_eq!(
                attacked(|socket| send_raw(socket, &frame, &many[..count])),
                frame_descriptors,
                "{count}"
            );
            assert_eq!(descriptors(), before, "{count} sent, {claimed} claimed");
        }
    }
    // One with each byte of a long frame: they are not kept for its end.
    let (socket, mut server) = raw_client();
    let long = frame::encode(&[1; 500], 16).unwrap();
    for (index, byte) in long[..40].iter().enumerate() {
        send_raw(&socket, &[*byte], &many[..1]);
        match index {
            0..16 => assert!(server.try_recv().unwrap().is_none()),
            _ => assert_eq!(corruption(server.try_recv()), frame_descriptors),
        }
    }
    drop((socket, server));
    assert_eq!(descriptors(), before);
    // Fewer than claimed, more than claimed, and not the message's number.
    let claim = |claimed, sent: usize| {
        let many = &many;
        move |socket: &OwnedFd| send_raw(socket, &frame_of(&attach(), claimed), &many[..sent])
    };
    assert_eq!(attacked(claim(3, 2)), frame_descriptors);
    assert_eq!(attacked(claim(3, 4)), frame_descriptors);
    assert_eq!(attacked(claim(4, 4)), r#"ControlCorruption("Attach.Descriptors")"#);
    assert_eq!(attacked(claim(0, 0)), r#"ControlCorruption("Attach.Descriptors")"#);
    let unasked = |socket: &OwnedFd| send_raw(socket, &frame_of(&bye(1), 1), &many[..1]);
    assert_eq!(attacked(unasked), r#"ControlCorruption("Bye.Descriptors")"#);
    assert_eq!(descriptors(), before);
}

#[test]
fn two_hundred_rounds_leave_nothing_open() {
    let _alone = alone();
    let one = memfds(1);
    let many = vec![one[0].as_fd(); 16];
    let before = descriptors();
    for round in 0..200_usize {
        let (mut client, mut server) = channels();
        client.send(&attach(), memfds(3), &FOREVER).unwrap();
        assert_eq!(server.recv(&FOREVER).unwrap().descriptors.len(), 3);
        match round % 8 {
            // Sent and never received; posted and never sent.
            0 => client.send(&attach(), memfds(3), &FOREVER).unwrap(),
            1 => client.post(&attach(), memfds(3)).unwrap(),
            // The peer is gone before, and between.
            2 => {
                drop(server);
                assert!(client.send(&attach(), memfds(3), &FOREVER).is_err());
            }
            // Received in part.
            3 => {
                let (socket, mut server) = raw_client();
                send_raw(&socket, &frame_of(&attach(), 3)[..5], &many[..3]);
                assert!(server.try_recv().unwrap().is_none());
            }
            // Corrupt behind descriptors, and with them.
            4 => drop(attacked(|socket| send_raw(socket, &frame_of(&attach(), 16), &many))),
            5 => drop(attacked(|socket| send_raw(socket, b"garbage from here", &many))),
            6 => {
                let invalid = frame::encode(&[1, 0, 0, 0], 3).unwrap();
                drop(attacked(|socket| send_raw(socket, &invalid, &many[..3])));
            }
            // Stopped in a send: the message stays in the outbox.
            _ => {
                let line = log(&"x".repeat(4000));
                let until = Until { deadline: Some(Instant::now()), ..FOREVER };
                while server.send(&line, vec![], &until).is_ok() {}
            }
        }
    }
    assert_eq!(descriptors(), before);
}

#[test]
fn a_full_descriptor_table_is_an_error_and_no_leak() {
    // Starting a program opens pipes here, which other tests would count.
    let _alone = alone();
    let output = this_program("program_with_a_full_table").output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
#[ignore = "a program of its own, with its own limit"]
fn program_with_a_full_table() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let maximum = getrlimit(Resource::Nofile).maximum;
    for room in 0..3 {
        let (mut client, mut server) = channels();
        client.send(&attach(), memfds(3), &FOREVER).unwrap();
        let highest = *descriptors().last().unwrap() as u64;
        setrlimit(Resource::Nofile, Rlimit { current: Some(highest + 3), maximum }).unwrap();
        let open = || std::iter::from_fn(|| rustix::io::dup(&client).ok()).collect::<Vec<_>>();
        let mut others = open();
        others.truncate(others.len() - room);
        // Ours, not the peer's: and it is said so.
        match server.try_recv() {
            Err(ChannelError::Io(error)) => assert_eq!(error.raw_os_error(), Some(libc::EMFILE)),
            other => panic!("{other:?}"),
        }
        assert!(server.try_recv().is_err(), "what was lost cannot be had again");
        assert_eq!(open().len(), room, "descriptors leaked");
        setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum }).unwrap();
    }
}

#[test]
fn a_peer_that_is_gone_raises_no_signal() {
    let _alone = alone();
    let output = this_program("program_whose_peer_is_gone").output().unwrap();
    assert!(output.status.success(), "{output:?}");
    // The control: a plain write to the same socket kills it.
    let output = this_program("program_that_writes_plainly").output().unwrap();
    assert_eq!(output.status.signal(), Some(libc::SIGPIPE), "{output:?}");
}

/// Rust's own start ignores the signal; foreign programs do not.
fn default_sigpipe() {
    // SAFETY: sets a disposition that has no handler.
    unsafe { libc::signal(libc::SIGPIPE, libc::SIG_DFL) };
}

#[test]
#[ignore = "a program of its own, which could die"]
fn program_whose_peer_is_gone() {
    default_sigpipe();
    let (mut client, server) = channels();
    drop(server);
    assert!(matches!(client.send(&bye(1), vec![], &FOREVER), Err(ChannelError::Gone(_))));
}

#[test]
#[ignore = "a program of its own, which dies"]
fn program_that_writes_plainly() {
    default_sigpipe();
    let (ours, theirs) = pair().unwrap();
    drop(theirs);
    let _ = rustix::io::write(&ours, b"dies here");
}

#[test]
fn the_sockets_own_mode_stays() {
    let _alone = alone();
    let (ours, theirs) = UnixStream::pair().unwrap();
    let mut raw = theirs.try_clone().unwrap();
    let mut server = ServerChannel::new(theirs.into());
    assert!(server.try_recv().unwrap().is_none());
    // A blocking read of the same open file still blocks until there is something.
    (&ours).write_all(&frame_of(&bye(1), 0)).unwrap();
    assert_eq!(message(server.try_recv()), Some(bye(1)));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(Duration::from_millis(20));
            (&ours).write_all(b"x").unwrap();
        });
        assert_eq!(raw.read(&mut [0; 1]).unwrap(), 1);
    });
}
