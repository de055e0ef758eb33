//! The trackers against a client that sends everything always.
//!
//! Any program of state changes, verbs, objects that come and go, links and context switches runs twice: once
//! through trackers, once with all state sent at every verb. What both servers hold is the same at every verb,
//! and the comparator says the same of the first server and the client. With one shutter blinded it says which.
#![cfg(all(feature = "null", feature = "compare", not(runahead_loom)))]

#[path = "tracker_common/arm.rs"]
mod arm;
mod common;
#[path = "tracker_common/world.rs"]
mod world;

use common::{config, direct, heap};
use proptest::{
    prelude::*,
    strategy::ValueTree,
    test_runner::{Config, TestRunner},
};
use runahead_core::{compare::Coverage, tracker::Family};

use world::{Defect, End, Step, World, program};

/// Programs, if nobody asks for another number. The optimised tests run the whole of it.
const CASES: u32 = if cfg!(debug_assertions) { 500 } else { 10_000 };

/// Programs in which a blinded shutter must be noticed.
const PATIENCE: u32 = 400;

fn run(steps: &[Step], coverage: &mut Coverage) -> Result<(), TestCaseError> {
    let mut world = World::new(Defect::None);
    world.run(steps).map_err(|end| match end {
        End::Client(difference) => {
            TestCaseError::fail(format!("the client has something else: {difference}"))
        }
        End::Servers(difference) => {
            TestCaseError::fail(format!("told everything, a server has something else: {difference}"))
        }
        End::Fault(what, fault) => TestCaseError::fail(format!("{what:?}: {fault}")),
    })?;
    coverage.compared += world.coverage.compared;
    coverage.seen += world.coverage.seen;
    coverage.members += world.coverage.members;
    Ok(())
}

fn holds(config: Config, steps: std::ops::Range<usize>) -> Coverage {
    let coverage = std::cell::Cell::new(Coverage::default());
    let outcome = TestRunner::new(config).run(&program(steps), |steps| {
        let mut sum = coverage.get();
        run(&steps, &mut sum)?;
        coverage.set(sum);
        Ok(())
    });
    if let Err(error) = outcome {
        panic!("{error}");
    }
    coverage.get().verdict().expect("some verb was compared")
}

#[test]
fn what_the_trackers_send_is_what_everything_sent_always_makes() {
    let coverage = holds(config(CASES), 1..80);
    assert_eq!(coverage.compared, coverage.seen, "{coverage}");
}

#[test]
fn it_is_so_in_long_programs_too() {
    // Long enough for caches to be full and slots to be used again; so fewer of them.
    let config = config(CASES);
    holds(Config { cases: config.cases.div_ceil(150), ..config }, 1_500..2_000);
}

/// What is found first with a defect, and in which program.
fn found(defect: Defect) -> End {
    let mut runner = TestRunner::deterministic();
    let programs = program(40..200);
    for _ in 0..PATIENCE {
        let steps = programs.new_tree(&mut runner).expect("any program will do").current();
        if let Err(end) = World::new(defect).run(&steps) {
            return end;
        }
    }
    panic!("{defect:?}: not noticed in {PATIENCE} programs");
}

#[test]
fn each_blinded_shutter_is_named_by_the_comparator() {
    for family in Family::ALL {
        match found(Defect::Blind(*family)) {
            End::Client(difference) => {
                assert_eq!(difference.family, *family, "{difference}")
            }
            other => panic!("{family:?}: {other:?}"),
        }
    }
}

#[test]
fn constants_and_bindings_that_are_not_sent_are_named_by_the_comparator() {
    for (defect, name) in [(Defect::Constants, "program.constants["), (Defect::Bindings, "program.bindings.")]
    {
        match found(defect) {
            End::Client(difference) => assert!(difference.to_string().starts_with(name), "{difference}"),
            other => panic!("{defect:?}: {other:?}"),
        }
    }
}
