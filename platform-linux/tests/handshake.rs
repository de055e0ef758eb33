//! Each disagreement of two peers: which refusal, with both values, in one sentence.

use runahead_linux::control::{
    Corruption, Token,
    handshake::*,
    message::{Bye, ClientMessage, Doorbell, Hello, Sizes, Terms, Welcome},
    refuse::{Refuse, RefuseCode},
};
use runahead_wire::values::BackendKind;

const SECRET: &[u8] = b"0123456789abcdef";

fn identity() -> Identity {
    Identity { protocol: 1, fingerprint: 0xabc, build: "0.1.0+a".into(), same_build: true }
}

fn server() -> ServerTerms {
    ServerTerms {
        identity: identity(),
        pid: 100,
        backend: BackendKind::Gles as u32,
        usual: USUAL,
        ceiling: CEILING,
        page: 4096,
        caps_page: 8192,
        token: None,
    }
}

fn guarded() -> ServerTerms {
    ServerTerms { token: Some(Token::new(SECRET.to_vec())), ..server() }
}

fn hello() -> Hello {
    Hello {
        protocol: 1,
        fingerprint: 0xabc,
        build: "0.1.0+a".into(),
        pid: 99,
        wanted: Terms { run_ahead: true, ..Terms::default() },
        ..Hello::default()
    }
}

fn wishing(wanted: Terms) -> Hello {
    Hello { wanted, ..hello() }
}

fn with_token(token: &[u8]) -> Hello {
    Hello { token: Token::new(token.to_vec()), ..hello() }
}

/// The refusal's code, and its sentence.
fn refused<T: std::fmt::Debug>(result: Result<T, Refuse>) -> (RefuseCode, String) {
    let refuse = result.expect_err("a disagreement");
    (refuse.code, refuse.to_string())
}

const INSTALL: &str = "install the Runahead client library and runahead-server of one version";

#[test]
fn peers_of_one_make_agree() {
    let welcome = judge(&hello(), &server()).unwrap();
    let expected = Welcome {
        protocol: 1,
        fingerprint: 0xabc,
        build: "0.1.0+a".into(),
        pid: 100,
        backend: BackendKind::Gles as u32,
        terms: USUAL,
        segments: [4096, 16 << 20, 256 << 10, 8192],
    };
    assert_eq!(welcome, expected);
    assert_eq!(check_welcome(&welcome, &identity(), &hello().wanted), Ok(()));
    assert_eq!(judge_first(&Ok(ClientMessage::Hello(hello())), &server()), Ok(expected));
}

#[test]
fn this_code_agrees_with_itself() {
    let own = Identity::own(true);
    let hello =
        Hello { protocol: own.protocol, fingerprint: own.fingerprint, build: own.build.clone(), ..hello() };
    assert!(judge(&hello, &ServerTerms { identity: own, ..server() }).is_ok());
}

#[test]
fn the_server_refuses_by_name() {
    let sizes = Sizes::default();
    let large = Sizes { stage: 8 << 30, ..sizes };
    let cases = [
        (
            judge(&Hello { protocol: 2, ..hello() }, &server()),
            RefuseCode::PROTOCOL,
            format!("the server speaks revision 1 of the control protocol and the client revision 2; {INSTALL}"),
        ),
        (
            judge(&Hello { fingerprint: 0xabd, ..hello() }, &server()),
            RefuseCode::FINGERPRINT,
            format!(
                "server and client lay out their commands differently (wire fingerprint 0x0000000000000abc in the \
                 server, 0x0000000000000abd in the client); {INSTALL}"
            ),
        ),
        (
            judge(&Hello { build: "0.1.0+b".into(), ..hello() }, &server()),
            RefuseCode::BUILD,
            format!(
                "server and client were built from different sources (build 0.1.0+a in the server, 0.1.0+b in the \
                 client); {INSTALL}"
            ),
        ),
        (
            judge(&hello(), &guarded()),
            RefuseCode::AUTHENTICATION,
            "the server asks for a token of at least 16 bytes and the client gave none; give the client the token \
             that the server was started with"
                .into(),
        ),
        (
            judge(&with_token(&SECRET[..15]), &guarded()),
            RefuseCode::AUTHENTICATION,
            "the server asks for a token of at least 16 bytes and the client gave a shorter one; give the client the \
             token that the server was started with"
                .into(),
        ),
        (
            judge(&with_token(b"0123456789abcdeF"), &guarded()),
            RefuseCode::AUTHENTICATION,
            "the server asks for a token of at least 16 bytes and the client gave another one; give the client the \
             token that the server was started with"
                .into(),
        ),
        (
            judge(&wishing(Terms { sizes: Sizes { commands: 5000, ..sizes }, ..Terms::default() }), &server()),
            RefuseCode::TERMS,
            "client and server do not agree on the command ring (possible: a power of two from 4096 to 4294967296 \
             bytes; stated: 5000 bytes); change that setting"
                .into(),
        ),
        (
            judge(&wishing(Terms { sizes: large, ..Terms::default() }), &server()),
            RefuseCode::TERMS,
            "client and server do not agree on the stage ring (possible: a power of two from 4096 to 4294967296 \
             bytes; stated: 8589934592 bytes); change that setting"
                .into(),
        ),
        (
            judge(&wishing(Terms { credit: 9, ..Terms::default() }), &server()),
            RefuseCode::TERMS,
            "client and server do not agree on the present credit (possible: 1 to 8; stated: 9); change that setting"
                .into(),
        ),
        (
            judge_first(&Ok(ClientMessage::Bye(Bye { after: 0 })), &server()),
            RefuseCode::MALFORMED,
            "the server did not understand the client's first message (expected a Hello of protocol 1, got Bye); \
             check that a Runahead client of the server's version is calling"
                .into(),
        ),
        (
            judge_first(&Err(Corruption { owner: "Frame", field: "magic" }), &server()),
            RefuseCode::MALFORMED,
            "the server did not understand the client's first message (expected a Hello of protocol 1, got \
             ControlCorruption(\"Frame.Magic\")); check that a Runahead client of the server's version is calling"
                .into(),
        ),
    ];
    for (judged, code, sentence) in cases {
        assert_eq!(refused(judged), (code, sentence));
    }
}

#[test]
fn every_ring_is_judged() {
    let wish = |sizes| judge(&wishing(Terms { sizes, ..Terms::default() }), &server());
    let none = Sizes::default();
    for (sizes, name) in [
        (Sizes { commands: 2048, ..none }, "command ring"),
        (Sizes { stage: 4097, ..none }, "stage ring"),
        (Sizes { replies: 1, ..none }, "reply space"),
        (Sizes { events: u64::MAX, ..none }, "event ring"),
    ] {
        let (code, sentence) = refused(wish(sizes));
        assert_eq!(code, RefuseCode::TERMS);
        assert!(sentence.contains(&format!("do not agree on the {name} (")), "{sentence}");
    }
}

#[test]
fn a_stranger_learns_nothing_about_the_build() {
    let stranger = Hello { fingerprint: 1, build: "other".into(), ..with_token(b"wrong wrong wrong wrong") };
    let sentence = refused(judge(&stranger, &guarded())).1;
    assert!(
        sentence.contains("token") && !sentence.contains("abc") && !sentence.contains("0.1.0"),
        "{sentence}"
    );
    // With the token it hears why it does not fit.
    let known = Hello { token: Token::new(SECRET.to_vec()), ..stranger };
    assert_eq!(refused(judge(&known, &guarded())).0, RefuseCode::FINGERPRINT);
    assert!(judge(&with_token(SECRET), &guarded()).is_ok());
}

#[test]
fn a_servers_own_short_token_admits_nobody() {
    let short = ServerTerms { token: Some(Token::new(b"short".to_vec())), ..server() };
    assert_eq!(refused(judge(&with_token(b"short"), &short)).0, RefuseCode::AUTHENTICATION);
    let empty = ServerTerms { token: Some(Token::default()), ..server() };
    assert_eq!(refused(judge(&hello(), &empty)).0, RefuseCode::AUTHENTICATION);
}

#[test]
fn tokens_match_in_all_bytes_and_in_length() {
    let token = |bytes: &[u8]| Token::new(bytes.to_vec());
    assert!(token(SECRET).matches(&token(SECRET)));
    assert!(!token(SECRET).matches(&token(&SECRET[..15])));
    assert!(!token(&SECRET[..15]).matches(&token(SECRET)));
    assert!(!token(SECRET).matches(&Token::default()));
    for at in 0..SECRET.len() {
        let mut other = SECRET.to_vec();
        other[at] ^= 0x80;
        assert!(!token(SECRET).matches(&token(&other)), "byte {at} does not count");
    }
}

#[test]
fn a_build_may_differ_where_nobody_asks_for_one() {
    let identity = Identity { same_build: false, ..identity() };
    let terms = ServerTerms { identity: identity.clone(), ..server() };
    let other = Hello { build: "0.1.0+b".into(), ..hello() };
    let welcome = judge(&other, &terms).unwrap();
    let theirs = Identity { build: "0.1.0+b".into(), ..identity };
    assert_eq!(check_welcome(&welcome, &theirs, &other.wanted), Ok(()));
}

#[test]
fn wishes_are_granted_up_to_the_ceiling() {
    let sizes = Sizes { commands: 1 << 30, stage: 1 << 20, replies: 0, events: 65536 };
    let wanted = Terms { sizes, credit: 8, run_ahead: false, doorbell: Doorbell::EventFd };
    let welcome = judge(&wishing(wanted), &server()).unwrap();
    let granted =
        Sizes { commands: CEILING.commands, stage: 1 << 20, replies: USUAL.sizes.replies, events: 65536 };
    assert_eq!(welcome.terms, Terms { sizes: granted, ..wanted });
    assert_eq!(check_welcome(&welcome, &identity(), &wanted), Ok(()));
    // A server that cannot run ahead says so, and the client takes it.
    let lockstep = ServerTerms { usual: Terms { run_ahead: false, ..USUAL }, ..server() };
    let welcome = judge(&hello(), &lockstep).unwrap();
    assert!(!welcome.terms.run_ahead);
    assert_eq!(check_welcome(&welcome, &identity(), &hello().wanted), Ok(()));
}

#[test]
fn the_client_checks_what_the_server_states() {
    let wanted = hello().wanted;
    let welcome = || judge(&hello(), &server()).unwrap();
    let stating = |terms: Terms| Welcome { terms, ..welcome() };
    let sizes = |sizes: Sizes| stating(Terms { sizes, ..USUAL });
    let usual = USUAL.sizes;
    let cases: [(Welcome, RefuseCode, &str); 12] = [
        (
            Welcome { protocol: 7, ..welcome() },
            RefuseCode::PROTOCOL,
            "revision 7 of the control protocol and the client revision 1",
        ),
        (
            Welcome { fingerprint: 5, ..welcome() },
            RefuseCode::FINGERPRINT,
            "0x0000000000000005 in the server, 0x0000000000000abc in the client",
        ),
        (
            Welcome { build: "x".into(), ..welcome() },
            RefuseCode::BUILD,
            "build x in the server, 0.1.0+a in the client",
        ),
        (
            sizes(Sizes { commands: 100, ..usual }),
            RefuseCode::TERMS,
            "command ring (possible: a power of two from 4096 to 4294967296 bytes; stated: 100 bytes)",
        ),
        (
            sizes(Sizes { stage: 0, ..usual }),
            RefuseCode::TERMS,
            "stage ring (possible: a power of two from 4096 to 4294967296 bytes; stated: 0 bytes)",
        ),
        (
            stating(Terms { credit: 0, ..USUAL }),
            RefuseCode::TERMS,
            "present credit (possible: 1 to 8; stated: 0)",
        ),
        (
            stating(Terms { credit: 9, ..USUAL }),
            RefuseCode::TERMS,
            "present credit (possible: 1 to 8; stated: 9)",
        ),
        (
            stating(Terms { doorbell: Doorbell::EventFd, ..USUAL }),
            RefuseCode::TERMS,
            "doorbell (possible: futex; stated: eventfd)",
        ),
        (
            Welcome { segments: [0, 16 << 20, 256 << 10, 8192], ..welcome() },
            RefuseCode::TERMS,
            "control page (possible: 1 to 1048576 bytes; stated: 0 bytes)",
        ),
        (
            Welcome { segments: [4096, 16 << 20, 256 << 10, 2 << 20], ..welcome() },
            RefuseCode::TERMS,
            "caps page (possible: 1 to 1048576 bytes; stated: 2097152 bytes)",
        ),
        (
            Welcome { segments: [4096, 1, 256 << 10, 8192], ..welcome() },
            RefuseCode::TERMS,
            "reply space (possible: 16777216 bytes; stated: a segment of 1 bytes)",
        ),
        (
            Welcome { segments: [4096, 16 << 20, 1, 8192], ..welcome() },
            RefuseCode::TERMS,
            "event ring (possible: 262144 bytes; stated: a segment of 1 bytes)",
        ),
    ];
    for (welcome, code, words) in cases {
        let (refused, sentence) = refused(check_welcome(&welcome, &identity(), &wanted));
        assert_eq!(refused, code);
        assert!(sentence.contains(words), "{sentence:?} does not say {words:?}");
    }
    let lockstep = Terms { run_ahead: false, ..wanted };
    let sentence = refused(check_welcome(&welcome(), &identity(), &lockstep)).1;
    assert!(sentence.contains("run-ahead (possible: off; stated: on)"), "{sentence}");
}

#[test]
fn the_remaining_refusals_have_their_sentences() {
    let busy = Refuse::new(RefuseCode::BUSY, 16, 16, "");
    assert_eq!(
        busy.to_string(),
        "the server already serves 16 of 16 sessions; end one of them or start another server"
    );
    let unavailable = Refuse::new(RefuseCode::UNAVAILABLE, "", "", "no GPU driver was found");
    assert_eq!(unavailable.to_string(), "the server cannot serve this session: no GPU driver was found");
    let later = Refuse::new(RefuseCode(99), "a", "b", "c");
    assert_eq!(
        later.to_string(),
        format!(
            "the server refused the session for reason 99, which this client does not know (expected a, got b: c); \
             {INSTALL}"
        )
    );
}

#[test]
fn a_peers_text_stays_on_its_line() {
    let hostile = Refuse::new(RefuseCode::BUILD, "a\n\x1b[2Jb", "c\u{9b}d", "");
    let sentence = hostile.to_string();
    assert!(!sentence.contains(|letter: char| letter.is_control()), "{sentence:?}");
    assert!(sentence.contains("a??[2Jb") && sentence.contains("c?d"), "{sentence:?}");
}
