//! A command set of somebody else's, defined outside the crate and used end to end.

mod common;

use common::{Aligned, PatternStage, Recording};
use runahead_wire::catalogue::{Class, Row as _, Wait};
use runahead_wire::{BlobRef, Bulk, DispatchError, Refusal, ReplySpace};

/// Values and payloads of the command set.
mod lamp_types {
    runahead_wire::values! {
        /// Colour of a lamp.
        pub enum Color {
            /// White.
            White = 0,
            /// Red.
            Red = 7,
        }
    }
    runahead_wire::masks! {
        /// Rooms of a house.
        pub struct Rooms {
            /// Kitchen.
            KITCHEN = 0,
            /// Cellar.
            CELLAR = 3,
        }
    }
    runahead_wire::payload! {
        /// Lamps that are switched.
        pub struct Switch: 12 {
            /// Where.
            rooms: u16 as Rooms,
            /// Their colour.
            color: u16 as Color,
            /// Steps of the tail.
            steps: u32,
            /// Name blob comes beside; this is its language.
            language: [u8; 4],
        }

        /// One step of a fade.
        pub struct Step: 8 {
            /// Brightness, 0 to 100.
            brightness: u32,
            /// Milliseconds.
            duration: u32,
        }
        check |step| { (step.brightness > 100).then_some("brightness") }

        /// A question about a lamp.
        pub struct Ask: 4 {
            /// Which one.
            lamp: u32,
        }

        /// The answer.
        pub struct Burning: 4 {
            /// Whether it burns.
            burning: u32 as bool,
        }

        /// A picture to project.
        pub struct Picture: 24 {
            /// The pixels.
            pixels: runahead_wire::BlobRef,
        }
    }
}

mod lamps {
    use super::lamp_types::{self, Burning, Step};

    runahead_wire::catalogue! {
        /// Lamps, switched from afar.
        pub trait Lamps, "lamps", revision 3;

        retired { 3 Ring Verb "lamps do not ring"; }

        /// Switches lamps through steps.
        1 Switch = switch(lamp_types::Switch) Verb None [VAR_TAIL] tails { fade: Step = steps <= 5 };
        /// Asks whether a lamp burns.
        2 Ask = ask(lamp_types::Ask) Query Reply [REPLY] -> Burning;
        /// Projects a picture.
        4 Project = project(lamp_types::Picture) Verb None [BLOB] blobs { pixels: BlobRef };
    }
}

use lamp_types::{Ask, Color, Picture, Rooms, Step, Switch};
use lamps::{Encoder, Lamps, Op, Record};

/// The far side: remembers what it was told.
#[derive(Default)]
struct House {
    log: Vec<String>,
}

impl Lamps for House {
    type Error = &'static str;

    fn switch(&mut self, payload: &Switch, fade: &[Step]) -> Result<(), Self::Error> {
        self.log.push(format!("{:?} {:?} {}", payload.rooms(), payload.color(), fade.len()));
        Ok(())
    }

    fn ask(&mut self, payload: &Ask, reply: Option<ReplySpace>) -> Result<(), Self::Error> {
        self.log.push(format!("lamp {} at {:?}", payload.lamp, reply.map(|space| space.offset)));
        if payload.lamp == 13 { Err("no such lamp") } else { Ok(()) }
    }

    fn project(&mut self, _: &Picture, pixels: Bulk<'_>) -> Result<(), Self::Error> {
        self.log.push(format!("{} bytes", pixels.len()));
        Ok(())
    }
}

#[test]
fn records_reach_the_far_side() {
    let mut near = Encoder(Recording::default());
    near.0.places.push_back(BlobRef::staged(8, 3));
    let switch = Switch {
        rooms: (Rooms::KITCHEN | Rooms::CELLAR).raw16(),
        color: Color::Red.raw16(),
        steps: 2,
        ..Default::default()
    };
    near.switch(&switch, &[Step { brightness: 100, duration: 5 }, Step::default()]).expect("recorded");
    near.ask(&Ask { lamp: 4 }, None).expect("recorded");
    near.ask(&Ask { lamp: 13 }, Some(ReplySpace { offset: 64, capacity: 16, tag: 1, ..Default::default() }))
        .expect("recorded");
    near.project(&Picture::default(), Bulk::Bytes(&[1, 2, 3])).expect("recorded");
    assert_eq!(near.0.bulks, [[1, 2, 3]]);

    let sizes: Vec<usize> = near.0.records.iter().map(|record| record.as_ref().len()).collect();
    assert_eq!(sizes, [8 + 12 + 16 + 4, 16, 32, 32]);

    let mut house = House::default();
    let results: Vec<_> = near
        .0
        .records
        .iter()
        .map(|record| lamps::dispatch(record.as_ref(), &PatternStage::new(), &mut house))
        .collect();
    assert_eq!(
        results,
        [Ok(Op::Switch), Ok(Op::Ask), Err(DispatchError::Pipe("no such lamp")), Ok(Op::Project)]
    );
    assert_eq!(house.log, ["Some(Rooms(9)) Some(Red) 2", "lamp 4 at None", "lamp 13 at Some(64)", "3 bytes"],);
}

#[test]
fn mistakes_of_the_caller_are_not_encoded() {
    let mut near = Encoder(Recording::default());
    assert!(near.switch(&Switch { steps: 1, ..Default::default() }, &[]).is_err());
    assert!(near.switch(&Switch { steps: 6, ..Default::default() }, &[Step::default(); 6]).is_err());
    assert!(near.0.records.is_empty());
    let wrong = lamps::rows::Switch {
        payload: &Switch { steps: 1, ..Default::default() },
        fade: &[Step { brightness: 101, duration: 0 }],
    };
    assert_eq!(
        wrong.check().map_err(|refusal| refusal.to_string()),
        Err("ProtocolCorruption(\"Step.Brightness\")".into())
    );
}

#[test]
fn refusals_name_row_and_member() {
    let refused =
        |bytes: &[u8]| Record::decode(Aligned::new(bytes).as_ref()).expect_err("refused").to_string();
    let mut near = Encoder(Recording::default());
    near.switch(&Switch::default(), &[]).expect("recorded");
    let mut bytes = near.0.records[0].as_ref().to_vec();
    bytes[10] = 1;
    assert_eq!(refused(&bytes), "ProtocolCorruption(\"Switch.Color\")");
    bytes[..2].copy_from_slice(&3_u16.to_ne_bytes());
    assert_eq!(refused(&bytes), "RetiredOp(\"Ring\")");
    bytes[..2].copy_from_slice(&5_u16.to_ne_bytes());
    assert_eq!(refused(&bytes), "UnknownOp(5)");
    assert_eq!(
        Record::decode(Aligned::new(&bytes[..8]).as_ref()),
        Err(Refusal::Corrupt { owner: "Record", field: "size" }),
    );
}

#[test]
fn the_constants_of_a_row_are_its_columns() {
    type Project<'a> = lamps::rows::Project<'a>;
    assert_eq!(
        (Project::OP, Project::NAME, Project::CLASS, Project::WAIT),
        (4, "Project", Class::Verb, Wait::None)
    );
    assert_eq!(Project::INFO.blobs[0].name, "pixels");
    assert_eq!(Op::from_raw(3), None);
    assert_eq!((lamps::NAME, lamps::REVISION), ("lamps", 3));
}
