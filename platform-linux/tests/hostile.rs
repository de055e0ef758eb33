//! Arbitrary bytes into the frame and message decoders: a typed error or a valid message, never a panic, and never
//! more memory than what arrived pays for.

use std::{
    alloc::{GlobalAlloc, Layout, System},
    cell::Cell,
};

use proptest::{collection::vec, prelude::*, sample::Index};
use runahead_core::NativeConfig;
use runahead_linux::control::{
    Bytes, Corruption, Token,
    frame::{self, Decoder, Frame, HEADER},
    message::*,
    refuse::{Refuse, RefuseCode},
};

/// Counts what the calling thread holds.
struct Counting;

thread_local! {
    static HELD: Cell<isize> = const { Cell::new(0) };
    static PEAK: Cell<isize> = const { Cell::new(0) };
}

fn count(bytes: isize) {
    // A thread that ends has no cells any more, and is not measured.
    let _ = HELD.try_with(|held| {
        held.set(held.get() + bytes);
        let _ = PEAK.try_with(|peak| peak.set(peak.get().max(held.get())));
    });
}

// SAFETY: forwards to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size() as isize);
        // SAFETY: the caller's contract.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        count(-(layout.size() as isize));
        // SAFETY: the caller's contract.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count(size as isize - layout.size() as isize);
        // SAFETY: the caller's contract.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// What `work` holds at most beyond what was held before, in bytes.
fn peak<T>(work: impl FnOnce() -> T) -> (T, usize) {
    let before = HELD.get();
    PEAK.set(before);
    let result = work();
    (result, (PEAK.get() - before).max(0) as usize)
}

#[test]
fn memory_is_counted() {
    let (kept, bytes) = peak(|| {
        drop(vec![0_u8; 5000]);
        vec![0_u8; 3000]
    });
    assert_eq!((kept.len(), bytes), (3000, 5000));
}

/// Decodes, and checks what must hold of any bytes.
fn decode<M: Message + PartialEq + std::fmt::Debug>(payload: &[u8]) -> Result<M, Corruption> {
    let (decoded, bytes) = peak(|| M::decode(payload));
    assert!(bytes <= payload.len(), "{bytes} bytes of memory for {} that arrived", payload.len());
    match &decoded {
        Ok(message) => {
            assert_eq!(message.check(), Ok(()));
            let encoded = message.encode().expect("what was taken can be sent");
            assert_eq!(&M::decode(&encoded).expect("what can be sent is taken"), message);
        }
        Err(corruption) => {
            let owners = M::NAMES.iter().chain(&["Message"]);
            assert!(owners.clone().any(|owner| *owner == corruption.owner), "{corruption}");
            assert!(!corruption.field.is_empty());
        }
    }
    decoded
}

fn client_payloads() -> impl Strategy<Value = Vec<u8>> {
    let attributes = ContextAttributes { config: 1, robust: true, ..ContextAttributes::gles(3, 2) };
    let hello = |build: String, token: Vec<u8>, fingerprint| {
        let token = Token::new(token);
        ClientMessage::Hello(Hello { protocol: PROTOCOL, fingerprint, build, token, ..Hello::default() })
    };
    let surface = |request, display, window| {
        let op = SurfaceOp::CreateWindow { config: 1, display, window };
        ClientMessage::Surface(SurfaceRequest { request, after: 1, surface: 2, op })
    };
    prop_oneof![
        (".{0,16}", vec(any::<u8>(), 0..64), any::<u64>()).prop_map(move |(b, t, f)| hello(b, t, f)),
        any::<[u32; 3]>().prop_map(|segments| ClientMessage::Attach(Attach {
            segments: segments.map(|bytes| u64::from(bytes) + 1)
        })),
        (1..u32::MAX, "[a-z:.0-9]{0,40}", 1..u32::MAX).prop_map(move |(r, d, w)| surface(r, d, w)),
        (1..u32::MAX, any::<u64>(), 1_u64..99).prop_map(move |(request, after, context)| {
            ClientMessage::CreateContext(CreateContext { request, after, context, share: 0, attributes })
        }),
        any::<u64>().prop_map(|after| ClientMessage::Bye(Bye { after })),
    ]
    .prop_map(|message| message.encode().expect("a valid message"))
}

fn server_payloads() -> impl Strategy<Value = Vec<u8>> {
    let failure = |text| OperationFailure::new(OperationError::Mismatch, text);
    prop_oneof![
        (any::<u32>(), ".{0,40}", ".{0,40}", ".{0,80}").prop_map(|(code, expected, actual, detail)| {
            ServerMessage::Refuse(Refuse::new(RefuseCode(code), expected, actual, &detail))
        }),
        (1..u64::MAX, vec(any::<u8>(), 0..3000)).prop_map(|(generation, bytes)| {
            ServerMessage::Caps(CapsSnapshot { generation, bytes: Bytes(bytes) })
        }),
        vec((any::<u32>(), any::<[u8; 3]>(), any::<i32>()), 0..40).prop_map(|configs| {
            let config = |(id, [red, depth, samples], min_swap_interval): (u32, [u8; 3], i32)| NativeConfig {
                id: if id == 0 { 1 } else { id },
                red,
                depth,
                samples,
                min_swap_interval,
                window: true,
                ..NativeConfig::default()
            };
            ServerMessage::Configs(Configs::new(configs.into_iter().map(config).collect()))
        }),
        (1..u32::MAX, any::<u64>(), ".{0,80}").prop_map(move |(request, events, text)| {
            ServerMessage::Context(ContextAnswer { request, events, result: Err(failure(text)) })
        }),
        (any::<u64>(), ".{0,200}")
            .prop_map(|(dropped, text)| { ServerMessage::Log(LogLine::new(LogLevel::Error, text, dropped)) }),
    ]
    .prop_map(|message| message.encode().expect("a valid message"))
}

/// A way to damage bytes.
#[derive(Clone, Debug)]
enum Damage {
    Set(Index, u8),
    Flip(Index, u8),
    Insert(Index, Vec<u8>),
    Remove(Index, Index),
    Cut(Index),
}

fn damages() -> impl Strategy<Value = Vec<Damage>> {
    let byte = prop_oneof![any::<u8>(), Just(0), Just(0x7f), Just(0x80), Just(0xff)];
    let damage = prop_oneof![
        (any::<Index>(), byte.clone()).prop_map(|(at, byte)| Damage::Set(at, byte)),
        (any::<Index>(), 0..8_u8).prop_map(|(at, bit)| Damage::Flip(at, 1 << bit)),
        (any::<Index>(), vec(byte, 1..12)).prop_map(|(at, bytes)| Damage::Insert(at, bytes)),
        (any::<Index>(), any::<Index>()).prop_map(|(from, to)| Damage::Remove(from, to)),
        any::<Index>().prop_map(Damage::Cut),
    ];
    vec(damage, 1..4)
}

fn damaged(mut bytes: Vec<u8>, damages: &[Damage]) -> Vec<u8> {
    for damage in damages {
        let len = bytes.len() + 1;
        match damage {
            Damage::Set(at, byte) => bytes.get_mut(at.index(len)).into_iter().for_each(|one| *one = *byte),
            Damage::Flip(at, bit) => bytes.get_mut(at.index(len)).into_iter().for_each(|one| *one ^= bit),
            Damage::Insert(at, more) => {
                drop(bytes.splice(at.index(len)..at.index(len), more.iter().copied()))
            }
            Damage::Remove(from, to) => {
                let (from, to) = (from.index(len), to.index(len));
                bytes.drain(from.min(to)..from.max(to));
            }
            Damage::Cut(at) => bytes.truncate(at.index(len)),
        }
    }
    bytes
}

/// Pushes `bytes` in pieces cut at `cuts` and takes every frame, minding the memory.
fn decode_frames(bytes: &[u8], cuts: &[Index]) -> (Vec<Frame>, Option<Corruption>) {
    let mut places: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
    places.extend([0, bytes.len()]);
    places.sort_unstable();
    let mut decoder = Decoder::new();
    let mut frames = Vec::new();
    for piece in places.windows(2).map(|ends| &bytes[ends[0]..ends[1]]) {
        let ((), memory) = peak(|| decoder.push(piece));
        assert!(memory <= 2 * decoder.held() + 16, "{memory} bytes of memory to hold {}", decoder.held());
        loop {
            assert!(decoder.capacity() <= 2 * decoder.held() + 16);
            let held = decoder.held();
            let (next, memory) = peak(|| decoder.next());
            assert!(memory <= held, "{memory} bytes of memory for a frame among {held}");
            match next {
                Ok(Some(frame)) => frames.push(frame),
                Ok(None) => break,
                Err(corruption) => {
                    assert_eq!(corruption.owner, "Frame");
                    assert!(["magic", "version", "descriptors", "length"].contains(&corruption.field));
                    assert_eq!(decoder.next(), Err(corruption), "a corrupt stream stays so");
                    return (frames, Some(corruption));
                }
            }
        }
    }
    (frames, None)
}

proptest! {
    #[test]
    fn arbitrary_bytes_are_no_message_or_a_valid_one(payload in vec(any::<u8>(), 0..300)) {
        let _ = decode::<ClientMessage>(&payload);
        let _ = decode::<ServerMessage>(&payload);
    }

    #[test]
    fn damaged_messages_of_a_client(payload in client_payloads(), damages in damages()) {
        prop_assert!(decode::<ClientMessage>(&payload).is_ok());
        let _ = decode::<ClientMessage>(&damaged(payload, &damages));
    }

    #[test]
    fn damaged_messages_of_a_server(payload in server_payloads(), damages in damages()) {
        prop_assert!(decode::<ServerMessage>(&payload).is_ok());
        let _ = decode::<ServerMessage>(&damaged(payload, &damages));
    }

    #[test]
    fn arbitrary_bytes_are_no_frame(bytes in vec(any::<u8>(), 0..300), cuts in vec(any::<Index>(), 0..9)) {
        decode_frames(&bytes, &cuts);
    }

    #[test]
    fn damaged_frames(
        payloads in vec(client_payloads(), 1..5),
        damages in damages(),
        cuts in vec(any::<Index>(), 0..9),
    ) {
        let stream: Vec<u8> = payloads.iter().flat_map(|payload| frame::encode(payload, 2).unwrap()).collect();
        let (frames, _) = decode_frames(&damaged(stream, &damages), &cuts);
        for frame in frames {
            let _ = decode::<ClientMessage>(&frame.payload);
        }
    }

    #[test]
    fn pieces_do_not_matter(
        payloads in vec((client_payloads(), 0..=16_usize), 1..9),
        cuts in vec(any::<Index>(), 0..40),
    ) {
        let stream: Vec<u8> =
            payloads.iter().flat_map(|(payload, descriptors)| frame::encode(payload, *descriptors).unwrap()).collect();
        let expected: Vec<Frame> =
            payloads.into_iter().map(|(payload, descriptors)| Frame { descriptors, payload }).collect();
        prop_assert_eq!(decode_frames(&stream, &cuts), (expected, None));
    }
}

/// A header of these members; payload behind it as given.
fn raw(magic: [u8; 4], version: u16, descriptors: u16, length: u32) -> Vec<u8> {
    let mut bytes = magic.to_vec();
    bytes.extend(version.to_le_bytes());
    bytes.extend(descriptors.to_le_bytes());
    bytes.extend(length.to_le_bytes());
    bytes
}

fn first_error(bytes: &[u8]) -> (usize, String) {
    // Byte by byte: an error comes as soon as its bytes are there.
    let mut decoder = Decoder::new();
    for (index, byte) in bytes.iter().enumerate() {
        decoder.push(&[*byte]);
        if let Err(corruption) = decoder.next() {
            return (index + 1, corruption.to_string());
        }
    }
    panic!("no error in {bytes:?}");
}

#[test]
fn each_member_of_a_header_is_named() {
    let error = |magic: &[u8; 4], version, descriptors, length| {
        first_error(&raw(*magic, version, descriptors, length))
    };
    assert_eq!(error(b"RACQ", 1, 0, 1), (4, r#"ControlCorruption("Frame.Magic")"#.into()));
    assert_eq!(error(b"RACP", 2, 0, 1), (6, r#"ControlCorruption("Frame.Version")"#.into()));
    assert_eq!(error(b"RACP", 1, 17, 1), (8, r#"ControlCorruption("Frame.Descriptors")"#.into()));
    assert_eq!(error(b"RACP", 1, 0, 0), (12, r#"ControlCorruption("Frame.Length")"#.into()));
    let long = frame::FIRST_PAYLOAD as u32 + 1;
    assert_eq!(error(b"RACP", 1, 0, long), (12, r#"ControlCorruption("Frame.Length")"#.into()));
}

#[test]
fn the_bound_moves_with_the_handshake() {
    let header = |length: usize| raw(*b"RACP", 1, 0, length as u32);
    let taken = |length: usize, established: bool| {
        let mut decoder = Decoder::new();
        if established {
            decoder.established();
        }
        decoder.push(&header(length));
        decoder.next()
    };
    assert_eq!(taken(frame::FIRST_PAYLOAD, false), Ok(None));
    assert!(taken(frame::FIRST_PAYLOAD + 1, false).is_err());
    assert_eq!(taken(frame::FIRST_PAYLOAD + 1, true), Ok(None));
    assert_eq!(taken(frame::MAX_PAYLOAD, true), Ok(None));
    assert!(taken(frame::MAX_PAYLOAD + 1, true).is_err());
    assert!(frame::encode(&[], 0).is_err());
    assert!(frame::encode(&[0], frame::MAX_DESCRIPTORS + 1).is_err());
}

#[test]
fn a_stated_length_reserves_nothing() {
    let mut decoder = Decoder::new();
    decoder.established();
    let header = raw(*b"RACP", 1, 0, frame::MAX_PAYLOAD as u32);
    let ((), memory) = peak(|| {
        decoder.push(&header);
        assert_eq!(decoder.next(), Ok(None));
        for _ in 0..1000 {
            decoder.push(&[0]);
            assert_eq!(decoder.next(), Ok(None));
        }
    });
    // Doubling holds the old and the new place for a moment.
    assert!(memory <= 3 * (HEADER + 1000), "{memory} bytes of memory for {} that arrived", HEADER + 1000);
}

#[test]
fn a_large_frame_leaves_no_memory_behind() {
    let mut decoder = Decoder::new();
    decoder.push(&frame::encode(&vec![1; 1 << 20], 0).unwrap());
    assert_eq!(decoder.next().unwrap().map(|frame| frame.payload.len()), Some(1 << 20));
    assert_eq!((decoder.held(), decoder.capacity()), (0, 0));
}

/// Lengths inside of messages that no frame could hold, in every place where there is one.
#[test]
fn hostile_lengths_allocate_nothing() {
    // A varint of 2^63 - 1, and one of 2^31 - 1.
    for length in [&[255, 255, 255, 255, 255, 255, 255, 255, 127][..], &[255, 255, 255, 255, 7]] {
        let client: [&[u8]; 3] = [
            // Hello: protocol, fingerprint, then the build; a whole Hello up to the token.
            &[0, PROTOCOL as u8, 1],
            &[0, PROTOCOL as u8, 1, 0, 1, 1, 1, 1, 1, 1, 0, 0],
            // The display's name.
            &[2, 1, 0, 1, 1, 1],
        ];
        for (prefix, owner) in client.into_iter().zip(["Hello", "Hello", "Surface"]) {
            let payload = [prefix, length, b"some bytes"].concat();
            assert_eq!(decode::<ClientMessage>(&payload), Err(Corruption { owner, field: "encoding" }));
        }
        let server: [(&[u8], &str); 5] = [
            (&[1, 1], "Refuse"),
            (&[2, 1], "Caps"),
            (&[4, 1, 1, 1, 0], "Context"),
            (&[6, 0], "Log"),
            (&[7], "Configs"),
        ];
        for (prefix, owner) in server {
            let payload = [prefix, length, b"some bytes"].concat();
            assert_eq!(decode::<ServerMessage>(&payload), Err(Corruption { owner, field: "encoding" }));
        }
    }
}
