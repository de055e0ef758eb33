//! Whether two peers may talk: pure functions over [`Hello`] and [`Welcome`].
//!
//! # Contract
//!
//! The server's word is the terms; the client's are wishes, lowered where the server gives less, and what the
//! server states is checked by the client in turn. Every disagreement is a [`Refuse`] with both values. Nothing
//! falls back to something else in silence.
//!
//! The token is judged before anything else but the protocol's revision, so that a stranger learns nothing
//! about the server's build.

use super::{
    Corruption, Token,
    message::{
        BUILD, ClientMessage, Doorbell, FINGERPRINT, Hello, PROTOCOL, SEGMENT_BYTES, Sizes, Terms, Welcome,
    },
    refuse::{Refuse, RefuseCode},
};

/// Bytes of a ring at least.
pub const MIN_RING: u64 = 4096;

/// Presents that a client can be ahead at most.
pub const MAX_CREDIT: u32 = 8;

/// What a server gives where the client wishes nothing.
pub const USUAL: Terms = Terms {
    sizes: Sizes { commands: 8 << 20, stage: 32 << 20, replies: 16 << 20, events: 256 << 10 },
    credit: 1,
    run_ahead: true,
    doorbell: Doorbell::Futex,
};

/// What a server gives at most.
pub const CEILING: Sizes = Sizes { commands: 64 << 20, stage: 1 << 30, replies: 256 << 20, events: 16 << 20 };

/// Bytes of a control page or of the caps page at most, as a client takes it.
const MAX_PAGE: u64 = 1 << 20;

/// What makes two peers of one make.
#[derive(Clone, Debug)]
pub struct Identity {
    /// Revision of the messages.
    pub protocol: u32,
    /// The wire fingerprint.
    pub fingerprint: u64,
    /// The build stamp.
    pub build: String,
    /// Whether the other must be of the same build: where the client spawned the server.
    pub same_build: bool,
}

impl Identity {
    /// This code's own.
    #[must_use]
    pub fn own(same_build: bool) -> Self {
        Self { protocol: PROTOCOL, fingerprint: FINGERPRINT, build: BUILD.to_owned(), same_build }
    }
}

/// What a server gives.
#[derive(Clone, Debug)]
pub struct ServerTerms {
    /// What it is.
    pub identity: Identity,
    /// Its process.
    pub pid: u32,
    /// What it drives, a [`BackendKind`](runahead_wire::values::BackendKind).
    pub backend: u32,
    /// What holds where the client wishes nothing.
    pub usual: Terms,
    /// What it gives at most.
    pub ceiling: Sizes,
    /// Bytes of its control page.
    pub page: u64,
    /// Bytes of its page of caps and statistics.
    pub caps_page: u64,
    /// What a client must show; `None` asks for nothing. A token shorter than [`Token::MIN`] admits nobody.
    pub token: Option<Token>,
}

/// The server's answer to a client's first message.
///
/// # Errors
/// The refusal to send.
pub fn judge_first(
    first: &Result<ClientMessage, Corruption>,
    terms: &ServerTerms,
) -> Result<Welcome, Refuse> {
    let malformed = |what: &dyn core::fmt::Display| {
        let expected = format_args!("a Hello of protocol {}", terms.identity.protocol);
        Refuse::new(RefuseCode::MALFORMED, expected, what, "")
    };
    match first {
        Ok(ClientMessage::Hello(hello)) => judge(hello, terms),
        Ok(other) => Err(malformed(&super::message::Message::name(other))),
        Err(corruption) => Err(malformed(corruption)),
    }
}

/// The server's answer to a `Hello`.
///
/// # Errors
/// The refusal to send.
pub fn judge(hello: &Hello, terms: &ServerTerms) -> Result<Welcome, Refuse> {
    let ours = &terms.identity;
    agree(RefuseCode::PROTOCOL, ours.protocol, hello.protocol)?;
    if let Some(token) = &terms.token {
        authenticate(token, &hello.token)?;
    }
    same_make(ours, (ours.fingerprint, &ours.build), (hello.fingerprint, &hello.build))?;
    let terms_given = given(&hello.wanted, terms)?;
    let segments = [terms.page, terms_given.sizes.replies, terms_given.sizes.events, terms.caps_page];
    Ok(Welcome {
        protocol: ours.protocol,
        fingerprint: ours.fingerprint,
        build: ours.build.clone(),
        pid: terms.pid,
        backend: terms.backend,
        terms: terms_given,
        segments,
    })
}

/// The client's look at a `Welcome`.
///
/// # Errors
/// Why it cannot go on; it hangs up.
pub fn check_welcome(welcome: &Welcome, ours: &Identity, wanted: &Terms) -> Result<(), Refuse> {
    agree(RefuseCode::PROTOCOL, welcome.protocol, ours.protocol)?;
    same_make(ours, (welcome.fingerprint, &welcome.build), (ours.fingerprint, &ours.build))?;
    let stated = &welcome.terms;
    for (name, size) in stated.sizes.named() {
        possible_ring(name, size)?;
    }
    if !(1..=MAX_CREDIT).contains(&stated.credit) {
        return Err(terms_refused("present credit", format_args!("1 to {MAX_CREDIT}"), stated.credit));
    }
    if stated.run_ahead && !wanted.run_ahead {
        return Err(terms_refused("run-ahead", "off", "on"));
    }
    if stated.doorbell != wanted.doorbell {
        let (wanted, stated) = (doorbell_name(wanted.doorbell), doorbell_name(stated.doorbell));
        return Err(terms_refused("doorbell", wanted, stated));
    }
    let [page, replies, events, caps_page] = welcome.segments;
    let pages = 1..=MAX_PAGE;
    for (name, size) in [("control page", page), ("caps page", caps_page)] {
        if !pages.contains(&size) {
            return Err(terms_refused(
                name,
                format_args!("1 to {MAX_PAGE} bytes"),
                format_args!("{size} bytes"),
            ));
        }
    }
    for (name, stated, segment) in
        [("reply space", stated.sizes.replies, replies), ("event ring", stated.sizes.events, events)]
    {
        if stated != segment {
            let (stated, segment) =
                (format_args!("{stated} bytes"), format_args!("a segment of {segment} bytes"));
            return Err(terms_refused(name, stated, segment));
        }
    }
    Ok(())
}

fn agree<T: PartialEq + core::fmt::Display>(code: RefuseCode, server: T, client: T) -> Result<(), Refuse> {
    if server == client { Ok(()) } else { Err(Refuse::new(code, server, client, "")) }
}

fn same_make(ours: &Identity, server: (u64, &String), client: (u64, &String)) -> Result<(), Refuse> {
    agree(RefuseCode::FINGERPRINT, format!("{:#018x}", server.0), format!("{:#018x}", client.0))?;
    if ours.same_build { agree(RefuseCode::BUILD, server.1, client.1) } else { Ok(()) }
}

fn authenticate(ours: &Token, theirs: &Token) -> Result<(), Refuse> {
    let refuse = |actual: &str| {
        let expected = format_args!("a token of at least {} bytes", Token::MIN);
        Err(Refuse::new(RefuseCode::AUTHENTICATION, expected, actual, ""))
    };
    // A short token of the server's own admits nobody, rather than anybody who guesses it.
    if ours.len() >= Token::MIN && ours.matches(theirs) {
        return Ok(());
    }
    match theirs.len() {
        0 => refuse("none"),
        1..Token::MIN => refuse("a shorter one"),
        _ => refuse("another one"),
    }
}

fn terms_refused(name: &str, possible: impl core::fmt::Display, stated: impl core::fmt::Display) -> Refuse {
    Refuse::new(RefuseCode::TERMS, possible, stated, name)
}

fn possible_ring(name: &str, size: u64) -> Result<(), Refuse> {
    if size.is_power_of_two() && (MIN_RING..=SEGMENT_BYTES).contains(&size) {
        return Ok(());
    }
    let possible = format_args!("a power of two from {MIN_RING} to {SEGMENT_BYTES} bytes");
    Err(terms_refused(name, possible, format_args!("{size} bytes")))
}

const fn doorbell_name(doorbell: Doorbell) -> &'static str {
    match doorbell {
        Doorbell::Futex => "futex",
        Doorbell::EventFd => "eventfd",
    }
}

/// What a client gets that wishes `wanted`.
fn given(wanted: &Terms, terms: &ServerTerms) -> Result<Terms, Refuse> {
    let usual = &terms.usual;
    let size = |(name, wanted): (&str, u64), usual: u64, ceiling: u64| {
        if wanted == 0 {
            return Ok(usual);
        }
        possible_ring(name, wanted)?;
        Ok(wanted.min(ceiling))
    };
    let [commands, stage, replies, events] = wanted.sizes.named();
    let (usual_sizes, ceiling) = (&usual.sizes, &terms.ceiling);
    let sizes = Sizes {
        commands: size(commands, usual_sizes.commands, ceiling.commands)?,
        stage: size(stage, usual_sizes.stage, ceiling.stage)?,
        replies: size(replies, usual_sizes.replies, ceiling.replies)?,
        events: size(events, usual_sizes.events, ceiling.events)?,
    };
    let credit = match wanted.credit {
        0 => usual.credit,
        1..=MAX_CREDIT => wanted.credit,
        credit => {
            return Err(terms_refused("present credit", format_args!("1 to {MAX_CREDIT}"), credit));
        }
    };
    Ok(Terms { sizes, credit, run_ahead: wanted.run_ahead && usual.run_ahead, doorbell: wanted.doorbell })
}
