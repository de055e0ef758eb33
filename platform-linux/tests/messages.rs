//! Every message there and back, the numbers that are wire, and each bound.

use runahead_core::NativeConfig;
use runahead_linux::control::{Bytes, Corruption, Token, message::*, refuse::*};

fn hello() -> Hello {
    Hello {
        protocol: PROTOCOL,
        fingerprint: FINGERPRINT,
        build: BUILD.into(),
        pid: 4711,
        wanted: Terms {
            sizes: Sizes { commands: 1 << 20, stage: 0, replies: 1 << 40, events: 4096 },
            credit: 3,
            run_ahead: true,
            doorbell: Doorbell::EventFd,
        },
        token: Token::new(vec![7; 16]),
        statistics: true,
        log: Some(LogLevel::Info),
    }
}

fn welcome() -> Welcome {
    Welcome {
        protocol: PROTOCOL,
        fingerprint: FINGERPRINT,
        build: BUILD.into(),
        pid: 4712,
        backend: 2,
        terms: hello().wanted,
        segments: [4096, 1 << 24, 1 << 18, 1 << 16],
    }
}

fn attributes() -> ContextAttributes {
    ContextAttributes {
        api: Api::GlCore,
        major: 4,
        minor: 6,
        config: 12,
        debug: true,
        forward_compatible: false,
        robust: true,
        no_error: false,
        reset: ResetStrategy::LoseContextOnReset,
        priority: Priority::High,
    }
}

fn surface(op: SurfaceOp) -> ClientMessage {
    ClientMessage::Surface(SurfaceRequest { request: 9, after: u64::MAX, surface: 77, op })
}

fn create() -> CreateContext {
    CreateContext { request: 1, after: 0, context: 5, share: 4, attributes: attributes() }
}

fn window() -> SurfaceOp {
    SurfaceOp::CreateWindow { config: 3, display: ":0.0".into(), window: 0x0040_0001 }
}

fn failure() -> OperationFailure {
    OperationFailure::new(OperationError::BadWindow, "XID 0x1 is no window".into())
}

fn state() -> SurfaceState {
    SurfaceState { width: 640, height: 480, format: 1, samples: 4 }
}

fn config(id: u32) -> NativeConfig {
    NativeConfig {
        id,
        red: 8,
        samples: 4,
        native_visual_id: 0x21,
        native_visual_type: 4,
        window: true,
        min_swap_interval: i32::MIN,
        max_pbuffer_width: 16384,
        ..NativeConfig::default()
    }
}

fn client_samples() -> Vec<ClientMessage> {
    vec![
        ClientMessage::Hello(hello()),
        ClientMessage::Hello(Hello { protocol: PROTOCOL, ..Hello::default() }),
        ClientMessage::Attach(Attach { segments: [4096, SEGMENT_BYTES, 1] }),
        surface(SurfaceOp::CreatePbuffer { config: 0, width: 0, height: 1 << 16 }),
        surface(window()),
        surface(SurfaceOp::CreateSurfaceless),
        surface(SurfaceOp::Resize { width: 1, height: 2 }),
        surface(SurfaceOp::SetInterval { frames: 1 }),
        surface(SurfaceOp::ReleaseWindow),
        surface(SurfaceOp::Destroy),
        ClientMessage::CreateContext(create()),
        ClientMessage::DestroyContext(DestroyContext { request: 3, after: 9, context: 5 }),
        ClientMessage::Bye(Bye { after: 1 << 50 }),
    ]
}

fn server_samples() -> Vec<ServerMessage> {
    vec![
        ServerMessage::Welcome(welcome()),
        ServerMessage::Refuse(Refuse::new(RefuseCode::BUSY, 16, 16, "detail")),
        ServerMessage::Caps(CapsSnapshot { generation: 1, bytes: Bytes(vec![3; 5000]) }),
        ServerMessage::Surface(SurfaceAnswer { request: 9, events: 4096, result: Ok(state()) }),
        ServerMessage::Surface(SurfaceAnswer { request: 9, events: 0, result: Err(failure()) }),
        ServerMessage::Context(ContextAnswer { request: 1, events: 8, result: Ok(()) }),
        ServerMessage::Context(ContextAnswer { request: 1, events: 8, result: Err(failure()) }),
        ServerMessage::Fault(SessionFault::new(FaultCode::DeviceLost, "lost".into())),
        ServerMessage::Log(LogLine::new(LogLevel::Warning, "größer".into(), 3)),
        ServerMessage::Configs(Configs::new(vec![config(1), config(u32::MAX)])),
        ServerMessage::Configs(Configs::default()),
    ]
}

#[test]
fn every_message_survives_the_way() {
    for message in client_samples() {
        assert_eq!(ClientMessage::decode(&message.encode().unwrap()), Ok(message.clone()));
        assert!(ClientMessage::NAMES.contains(&message.name()));
    }
    for message in server_samples() {
        assert_eq!(ServerMessage::decode(&message.encode().unwrap()), Ok(message.clone()));
        assert!(ServerMessage::NAMES.contains(&message.name()));
    }
}

/// The number in front of an encoded message, and the name that errors would give it.
fn numbered<M: Message>(samples: &[M]) -> Vec<(u8, &'static str)> {
    let mut numbers: Vec<_> = samples.iter().map(|one| (one.encode().unwrap()[0], one.name())).collect();
    for (number, name) in &numbers {
        assert_eq!(M::NAMES[usize::from(*number)], *name);
    }
    numbers.dedup();
    numbers
}

/// If this fails, a number that is wire has changed: append instead, and raise `PROTOCOL`.
#[test]
fn numbers_are_append_only() {
    assert_eq!(
        numbered(&client_samples()),
        [
            (0, "Hello"),
            (1, "Attach"),
            (2, "Surface"),
            (3, "CreateContext"),
            (4, "DestroyContext"),
            (5, "Bye")
        ]
    );
    assert_eq!(
        numbered(&server_samples()),
        [
            (0, "Welcome"),
            (1, "Refuse"),
            (2, "Caps"),
            (3, "Surface"),
            (4, "Context"),
            (5, "Fault"),
            (6, "Log"),
            (7, "Configs")
        ]
    );
    // Enums and members inside of messages: a byte that moves is a number that changed.
    let pinned: [(&[u8], Vec<u8>); 8] = [
        (
            &[
                2, 9, 255, 255, 255, 255, 255, 255, 255, 255, 255, 1, 77, 1, 3, 4, 58, 48, 46, 48, 129, 128,
                128, 2,
            ],
            surface(window()).encode().unwrap(),
        ),
        (
            &[2, 9, 255, 255, 255, 255, 255, 255, 255, 255, 255, 1, 77, 6],
            surface(SurfaceOp::Destroy).encode().unwrap(),
        ),
        (
            &[3, 1, 0, 5, 4, 1, 4, 6, 12, 1, 0, 1, 0, 1, 2],
            ClientMessage::CreateContext(create()).encode().unwrap(),
        ),
        (&[4, 1, 8, 0], server_samples()[5].encode().unwrap()),
        (&[5, 2, 4, 108, 111, 115, 116], server_samples()[7].encode().unwrap()),
        (&[6, 1, 8, 103, 114, 195, 182, 195, 159, 101, 114, 3], server_samples()[8].encode().unwrap()),
        (
            &[1, 6, 2, 49, 54, 2, 49, 54, 6, 100, 101, 116, 97, 105, 108],
            server_samples()[1].encode().unwrap(),
        ),
        (&[3, 9, 128, 32, 0, 128, 5, 224, 3, 1, 4], server_samples()[3].encode().unwrap()),
    ];
    for (expected, actual) in pinned {
        assert_eq!(actual, expected);
    }
}

fn refused<M: Message + std::fmt::Debug + PartialEq>(message: M, expected: &str) {
    // Past the sender's own check, as a peer without one would send it.
    let bytes = postcard::to_allocvec(&message).unwrap();
    assert_eq!(message.encode().map_err(|refused| refused.to_string()), Err(expected.to_owned()));
    assert_eq!(M::decode(&bytes).map_err(|refused| refused.to_string()), Err(expected.to_owned()));
}

#[test]
fn every_bound_is_named() {
    let client =
        |message, field: &str| refused::<ClientMessage>(message, &format!("ControlCorruption(\"{field}\")"));
    let server =
        |message, field: &str| refused::<ServerMessage>(message, &format!("ControlCorruption(\"{field}\")"));
    let request =
        |request, surface, op| ClientMessage::Surface(SurfaceRequest { request, after: 0, surface, op });
    client(ClientMessage::Hello(Hello { build: "x".repeat(65), ..hello() }), "Hello.Build");
    client(ClientMessage::Hello(Hello { token: Token::new(vec![0; 257]), ..hello() }), "Hello.Token");
    client(ClientMessage::Attach(Attach { segments: [4096, 0, 1] }), "Attach.Segments");
    client(ClientMessage::Attach(Attach { segments: [4096, 1, SEGMENT_BYTES + 1] }), "Attach.Segments");
    client(request(0, 1, SurfaceOp::Destroy), "Surface.Request");
    client(request(1, 0, SurfaceOp::Destroy), "Surface.Surface");
    client(request(1, 1, SurfaceOp::Resize { width: (1 << 16) + 1, height: 1 }), "Surface.Width");
    client(
        request(1, 1, SurfaceOp::CreatePbuffer { config: 0, width: 1, height: u32::MAX }),
        "Surface.Height",
    );
    let display =
        |display: String, window| request(1, 1, SurfaceOp::CreateWindow { config: 0, display, window });
    client(display("d".repeat(257), 1), "Surface.Display");
    client(display(":0\0".into(), 1), "Surface.Display");
    client(display(":0".into(), 0), "Surface.Window");
    client(ClientMessage::CreateContext(CreateContext { request: 0, ..create() }), "CreateContext.Request");
    client(ClientMessage::CreateContext(CreateContext { context: 0, ..create() }), "CreateContext.Context");
    client(ClientMessage::CreateContext(CreateContext { share: 5, ..create() }), "CreateContext.Share");
    let destroy =
        |request, context| ClientMessage::DestroyContext(DestroyContext { request, after: 0, context });
    client(destroy(0, 1), "DestroyContext.Request");
    client(destroy(1, 0), "DestroyContext.Context");

    server(ServerMessage::Welcome(Welcome { build: "x".repeat(65), ..welcome() }), "Welcome.Build");
    server(ServerMessage::Welcome(Welcome { backend: 99, ..welcome() }), "Welcome.Backend");
    server(
        ServerMessage::Welcome(Welcome { segments: [1, 1, 1, u64::MAX], ..welcome() }),
        "Welcome.Segments",
    );
    let refuse = |expected: usize, actual: usize, detail: usize| {
        ServerMessage::Refuse(Refuse {
            code: RefuseCode::TERMS,
            expected: "e".repeat(expected),
            actual: "a".repeat(actual),
            detail: "d".repeat(detail),
        })
    };
    server(refuse(257, 256, 1024), "Refuse.Expected");
    server(refuse(256, 257, 1024), "Refuse.Actual");
    server(refuse(256, 256, 1025), "Refuse.Detail");
    let caps =
        |generation, bytes| ServerMessage::Caps(CapsSnapshot { generation, bytes: Bytes(vec![0; bytes]) });
    server(caps(0, 1), "Caps.Generation");
    server(caps(1, CAPS_BYTES + 1), "Caps.Bytes");
    let configs = |bytes| ServerMessage::Configs(Configs { bytes: Bytes(bytes) });
    let one = Configs::new(vec![config(1)]).bytes.0;
    server(configs(one[1..].to_vec()), "Configs.Bytes");
    server(configs(vec![0; 36 * (CONFIGS + 1)]), "Configs.Bytes");
    server(configs(vec![0; 36]), "Configs.Id");
    server(configs([one.clone(), one.clone()].concat()), "Configs.Id");
    let mut flagged = one;
    flagged[11] |= 8;
    server(configs(flagged), "Configs.Flags");
    let long = || OperationFailure { error: OperationError::Unsupported, text: "t".repeat(1025) };
    let surface = |request, result| ServerMessage::Surface(SurfaceAnswer { request, events: 0, result });
    server(surface(0, Ok(state())), "Surface.Request");
    server(surface(1, Ok(SurfaceState { width: 1 << 17, ..state() })), "Surface.Width");
    server(surface(1, Ok(SurfaceState { height: 1 << 17, ..state() })), "Surface.Height");
    server(surface(1, Err(long())), "Surface.Text");
    let context = |request, result| ServerMessage::Context(ContextAnswer { request, events: 0, result });
    server(context(0, Ok(())), "Context.Request");
    server(context(1, Err(long())), "Context.Text");
    let fault = SessionFault { code: FaultCode::Internal, text: "t".repeat(1025) };
    server(ServerMessage::Fault(fault), "Fault.Text");
    let line = LogLine { level: LogLevel::Info, text: "t".repeat(4097), dropped: 0 };
    server(ServerMessage::Log(line), "Log.Text");
}

#[test]
fn what_is_no_message_is_named() {
    let client = |bytes: &[u8]| ClientMessage::decode(bytes).unwrap_err().to_string();
    assert_eq!(client(&[]), r#"ControlCorruption("Message.Number")"#);
    assert_eq!(client(&[6]), r#"ControlCorruption("Message.Number")"#);
    assert_eq!(client(&[255; 20]), r#"ControlCorruption("Message.Number")"#);
    assert_eq!(client(&[1]), r#"ControlCorruption("Attach.Encoding")"#);
    // An operation of a number that there is none of.
    assert_eq!(client(&[2, 1, 0, 1, 7]), r#"ControlCorruption("Surface.Encoding")"#);
    assert_eq!(client(&[5, 0, 0]), r#"ControlCorruption("Bye.Trailing")"#);
    // Not UTF-8.
    assert_eq!(
        ServerMessage::decode(&[5, 0, 1, 0xff]),
        Err(Corruption { owner: "Fault", field: "encoding" })
    );
}

#[test]
fn a_hello_of_another_revision_is_read_up_to_its_number() {
    // Whatever that revision holds behind it.
    for rest in [&[][..], &[0; 3], &[255; 100]] {
        let bytes = [&[0, 99], rest].concat();
        let expected = Hello { protocol: 99, ..Hello::default() };
        assert_eq!(ClientMessage::decode(&bytes), Ok(ClientMessage::Hello(expected)));
    }
    let ours = [&[0, PROTOCOL as u8][..], &[255; 100]].concat();
    assert_eq!(
        ClientMessage::decode(&ours).unwrap_err().to_string(),
        r#"ControlCorruption("Hello.Encoding")"#
    );
}

#[test]
fn request_numbers_are_dense() {
    let (mut client, mut server) = (RequestNumbers::new(), RequestNumbers::new());
    for expected in 1..=3 {
        let number = client.mint();
        assert_eq!(number, expected);
        assert_eq!(server.accept(number), Ok(()));
    }
    for wrong in [0, 1, 3, 5, u32::MAX] {
        assert!(server.accept(wrong).is_err(), "{wrong} was taken after 3");
    }
    assert_eq!(server.accept(4), Ok(()), "a refused number changes nothing");
}

#[test]
fn texts_for_people_are_cut_between_characters() {
    assert_eq!(cut("größe".into(), 3), "gr");
    assert_eq!(cut("größe".into(), 4), "grö");
    assert_eq!(cut("größe".into(), 100), "größe");
    let line = LogLine::new(LogLevel::Debug, "ß".repeat(4096), 0);
    assert_eq!(line.text.len(), 4096);
    assert!(ServerMessage::Log(line).encode().is_ok());
    let refuse = Refuse::new(RefuseCode::TERMS, "x".repeat(999), "y".repeat(999), &"z".repeat(9999));
    assert!(ServerMessage::Refuse(refuse).encode().is_ok());
}

#[test]
fn a_token_never_shows() {
    let token = Token::new(b"a secret that matters".to_vec());
    let hello = Hello { token, ..hello() };
    let shown = format!("{hello:?}");
    assert!(shown.contains("21 bytes"), "{shown}");
    assert!(!shown.contains("secret") && !shown.contains("115"), "{shown}");
}

#[test]
fn the_build_stamp_fits() {
    assert!(BUILD.len() <= 64 && BUILD.contains('+'), "{BUILD}");
}

#[test]
fn configs_survive_the_way_in_order() {
    let first = NativeConfig { pbuffer: true, slow: true, stencil: 8, ..config(2) };
    let configs = Configs::new(vec![config(7), first, NativeConfig { red: 5, ..config(7) }]);
    assert_eq!(configs.configs(), [first, config(7)]);
    assert_eq!(Configs::new((1..=9999).map(config).collect()).configs().len(), CONFIGS);
}
