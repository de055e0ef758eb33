//! The real program, started as a client starts it and by hand.

use std::{
    fs::File,
    io::Write,
    os::fd::AsFd,
    process::{Command, Output},
    time::{Duration, Instant},
};

use runahead_linux::{
    control::{
        channel::{ChannelError, ClientChannel, Until},
        handshake::{Identity, check_welcome},
        message::{Bye, ClientMessage, Hello, ServerMessage, Terms},
        refuse::{Refuse, RefuseCode},
    },
    peer::Death,
    spawn::{Server, Spawned},
};

const PROGRAM: &str = env!("CARGO_BIN_EXE_runahead-server");

fn in_s(seconds: u64) -> Option<Instant> {
    Some(Instant::now() + Duration::from_secs(seconds))
}

fn hello() -> Hello {
    let own = Identity::own(true);
    Hello {
        protocol: own.protocol,
        fingerprint: own.fingerprint,
        build: own.build,
        pid: std::process::id(),
        wanted: Terms { run_ahead: true, ..Terms::default() },
        ..Hello::default()
    }
}

/// What a server answers to a first message; then it ends by itself.
fn answer(first: &ClientMessage) -> Refuse {
    let Spawned { socket, process } = Server::new().program(PROGRAM).start().unwrap();
    let mut channel = ClientChannel::new(socket);
    let until = Until { process: Some(process.as_fd()), deadline: in_s(5), ..Until::default() };
    channel.send(first, vec![], &until).unwrap();
    let refuse = match channel.recv(&until).unwrap().message {
        ServerMessage::Refuse(refuse) => refuse,
        other => panic!("{other:?}"),
    };
    assert!(matches!(channel.recv(&until), Err(ChannelError::Gone(Death::HungUp | Death::Exited))));
    assert!(process.wait(in_s(5)).unwrap(), "it goes on");
    refuse
}

#[test]
fn a_client_of_the_same_make_is_welcome() {
    let Spawned { socket, process } = Server::new().program(PROGRAM).start().unwrap();
    let mut channel = ClientChannel::new(socket);
    let until = Until { process: Some(process.as_fd()), deadline: in_s(5), ..Until::default() };
    channel.send(&ClientMessage::Hello(hello()), vec![], &until).unwrap();
    let received = channel.recv(&until).unwrap();
    match received.message {
        ServerMessage::Welcome(welcome) => {
            assert_eq!(check_welcome(&welcome, &Identity::own(true), &hello().wanted), Ok(()));
            assert_eq!(welcome.pid, process.number());
        }
        other => panic!("{other:?}"),
    }
    drop(channel);
    assert!(process.wait(in_s(5)).unwrap(), "it goes on");
}

#[test]
fn every_disagreement_is_answered() {
    let cases = [
        (Hello { protocol: 7, ..hello() }, RefuseCode::PROTOCOL, "7"),
        (Hello { fingerprint: 7, ..hello() }, RefuseCode::FINGERPRINT, "0x0000000000000007"),
        (Hello { build: "0.0.7".into(), ..hello() }, RefuseCode::BUILD, "0.0.7"),
        (Hello { wanted: Terms { credit: 77, ..Terms::default() }, ..hello() }, RefuseCode::TERMS, "77"),
    ];
    for (hello, code, actual) in cases {
        let refuse = answer(&ClientMessage::Hello(hello));
        assert_eq!((refuse.code, &*refuse.actual), (code, actual));
        assert_ne!(refuse.expected, refuse.actual);
    }
    assert_eq!(answer(&ClientMessage::Bye(Bye { after: 0 })).code, RefuseCode::MALFORMED);
}

#[test]
fn garbage_is_answered_too() {
    let Spawned { socket, process } = Server::new().program(PROGRAM).start().unwrap();
    File::from(socket.try_clone().unwrap()).write_all(b"GET / HTTP/1.1\r\n\r\n").unwrap();
    let mut channel = ClientChannel::new(socket);
    let until = Until { deadline: in_s(5), ..Until::default() };
    match channel.recv(&until).unwrap().message {
        ServerMessage::Refuse(refuse) => {
            assert_eq!(refuse.code, RefuseCode::MALFORMED);
            assert_eq!(refuse.actual, r#"ControlCorruption("Frame.Magic")"#);
        }
        other => panic!("{other:?}"),
    }
    assert!(process.wait(in_s(5)).unwrap());
}

#[test]
fn it_ends_with_its_client() {
    for bytes in [&b""[..], b"RACP", b"RACP\x01\x00\x00\x00\xff\x00\x00\x00"] {
        let Spawned { socket, process } = Server::new().program(PROGRAM).start().unwrap();
        File::from(socket.try_clone().unwrap()).write_all(bytes).unwrap();
        assert!(
            !process.wait(Some(Instant::now() + Duration::from_millis(100))).unwrap(),
            "it does not wait"
        );
        drop(socket);
        let begin = Instant::now();
        assert!(process.wait(in_s(5)).unwrap(), "it goes on");
        assert!(begin.elapsed() < Duration::from_millis(500), "{:?}", begin.elapsed());
    }
}

/// Starts it by a shell, with these redirections.
fn by_hand(redirections: &str, arguments: &[&str]) -> Output {
    let script = format!("exec \"$0\" \"$@\" {redirections}");
    Command::new("/bin/sh").args(["-c", &script, PROGRAM]).args(arguments).output().unwrap()
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

#[test]
fn started_by_hand_it_says_what_it_is_for() {
    let output = by_hand("3<&-", &[]);
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(
        text(&output.stderr),
        "runahead-server: file descriptor 3 is no control socket; runahead-server is started by the Runahead client \
         library, not by hand (--help says more)\n"
    );
    assert!(output.stdout.is_empty());
    let help = by_hand("", &["--help"]);
    assert!(help.status.success() && text(&help.stdout).starts_with("usage: runahead-server"), "{help:?}");
    let version = by_hand("", &["--version"]);
    assert_eq!(text(&version.stdout), format!("runahead-server {}\n", Identity::own(true).build));
    for arguments in [&["--serve"][..], &["stray", "--help"]] {
        let wrong = by_hand("", arguments);
        assert_eq!(wrong.status.code(), Some(2));
        assert!(
            text(&wrong.stderr).contains(arguments[0]) && text(&wrong.stderr).contains("--help"),
            "{wrong:?}"
        );
    }
}

/// As `make` starts programs: descriptor 3 is a pipe of somebody else's.
#[test]
fn another_descriptor_3_is_no_control_socket() {
    let output = by_hand("3>&1 1>/dev/null", &[]);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    assert!(text(&output.stderr).contains("no control socket"), "{output:?}");
    assert_eq!(text(&output.stdout), "", "it wrote into somebody else's pipe");
}
