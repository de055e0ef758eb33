//! A renderer with a command set of its own: three rows, defined here, through the real ring.

use runahead_rings::{ClientPage, Page, Producer, ServerPage, Start, split};
use runahead_wire::{BlobRef, Bulk, DispatchError, NoStage, ReplySpace, Row, Sink};

mod board {
    runahead_wire::payload! {
        /// Moves a sprite.
        pub struct Move: 16 {
            /// Which.
            sprite: u32,
            /// Steps that follow.
            step_count: u32,
            /// Milliseconds for all of them; not 0.
            duration: u32,
            #[doc(hidden)]
            _pad: u32,
        }
        check |of| { (of.duration == 0).then_some("duration") }

        /// One step.
        pub struct Step: 8 {
            /// To the right.
            x: i32,
            /// Upwards.
            y: i32,
        }

        /// Asks for a colour.
        pub struct Probe: 8 {
            /// Column.
            x: u32,
            /// Row.
            y: u32,
        }

        /// The colour.
        pub struct Colour: 4 {
            /// Red, green, blue, alpha.
            rgba: [u8; 4],
        }
    }

    runahead_wire::catalogue! {
        /// What a board game asks of its renderer.
        pub trait Board, "board", revision 1;

        /// Moves a sprite along steps.
        1 MoveSprite = move_sprite(Move) Verb None [VAR_TAIL] tails { steps: Step = step_count <= 16 };
        /// Asks what is seen at a point. Declined: outside the board.
        2 ProbeColour = probe_colour(Probe) Query Reply [REPLY] -> Colour;
        /// Ends the turn.
        3 EndTurn = end_turn(Probe) Verb None [];
    }
}

use board::Board;

/// The renderer's recorder.
struct Recorder<'a>(Producer<'a>);

impl Sink for Recorder<'_> {
    type Error = &'static str;

    fn stage(&mut self, _: Bulk<'_>) -> Result<BlobRef, Self::Error> {
        Err("no row of a board has bulk bytes")
    }

    fn record<'a, R: Row<'a>>(&mut self, row: &R) -> Result<(), Self::Error> {
        let len = row.encoded_len().ok_or("a tail is not as long as its payload says")?;
        let mut room = self.0.reserve(len).map_err(|_| "the ring is full")?;
        if !row.encode(&mut room) {
            return Err("the record does not fit");
        }
        room.commit();
        self.0.publish();
        Ok(())
    }
}

/// The renderer's other half: says what it was asked.
#[derive(Default)]
struct Log(Vec<String>);

impl Board for Log {
    type Error = ();

    fn move_sprite(&mut self, of: &board::Move, steps: &[board::Step]) -> Result<(), ()> {
        let path: Vec<_> = steps.iter().map(|step| (step.x, step.y)).collect();
        self.0.push(format!("move {} along {path:?} in {} ms", of.sprite, of.duration));
        Ok(())
    }

    fn probe_colour(&mut self, at: &board::Probe, reply: Option<ReplySpace>) -> Result<(), ()> {
        self.0.push(format!("probe {} {}, answer to {:?}", at.x, at.y, reply.map(|space| space.offset)));
        Ok(())
    }

    fn end_turn(&mut self, _: &board::Probe) -> Result<(), ()> {
        self.0.push("end".into());
        Ok(())
    }
}

#[test]
fn a_command_set_of_ones_own() {
    let mut memory = vec![0; 1 << 10];
    let (mut client, mut server) = (ClientPage::new(Start::default()), ServerPage::new(Start::default()));
    let (producer, mut consumer) = split(&mut memory, &mut client, &mut server).unwrap();
    let mut recorder = board::Encoder(Recorder(producer));
    let steps = [board::Step { x: 1, y: 0 }, board::Step { x: 0, y: -2 }];
    let of = board::Move { sprite: 7, step_count: 2, duration: 40, ..board::Move::default() };
    recorder.move_sprite(&of, &steps).unwrap();
    let space = ReplySpace { offset: 64, capacity: 4, tag: 1, ..ReplySpace::default() };
    recorder.probe_colour(&board::Probe { x: 3, y: 4 }, Some(space)).unwrap();
    recorder.end_turn(&board::Probe::default()).unwrap();
    assert!(
        recorder.move_sprite(&of, &steps[..1]).is_err(),
        "control: a tail of another length is not recorded"
    );
    recorder.move_sprite(&board::Move { duration: 0, ..of }, &steps).unwrap();

    let mut log = Log::default();
    let mut refused = None;
    while let Some(record) = consumer.next().unwrap() {
        if let Err(error) = board::dispatch(record, &NoStage, &mut log) {
            let DispatchError::Refused(refusal) = error else { panic!("the log refuses nothing") };
            refused = Some(refusal.to_string());
        }
    }
    assert_eq!(log.0, ["move 7 along [(1, 0), (0, -2)] in 40 ms", "probe 3 4, answer to Some(64)", "end"]);
    let name = "ProtocolCorruption(\"MoveSprite.Duration\")";
    assert_eq!(refused.as_deref(), Some(name), "control: what is checked is refused by name");
}
