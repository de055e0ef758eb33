//! Every verb but `info` and `bench`: what it says, where, and with which exit status.

mod common;

use std::fs::File;

use common::{PROGRAM, command, runahead, said};
use runahead_linux::{control::message::BUILD, settings::VARIABLES};

#[track_caller]
fn refused(arguments: &[&str], status: i32, sentence: &str) {
    assert_eq!(said(&runahead(arguments, &[]), status).as_deref(), Ok(sentence), "{arguments:?}");
}

#[test]
fn help_says_what_there_is() {
    let text = said(&runahead(&["help"], &[]), 0).unwrap();
    for part in [
        "usage: runahead VERB",
        "run PROGRAM",
        "record PROGRAM",
        "replay FILE",
        "diff A B",
        "info [--json]",
        "bench [--json]",
        "not there yet:",
        "Exit status:",
        "example:",
    ] {
        assert!(text.contains(part), "{part:?} is not in {text}");
    }
    let at = text.find("\n  serve ").unwrap_or_else(|| panic!("no serve in {text}"));
    assert!(at > text.find("not there yet:").unwrap(), "serve is listed as if it were there");
    for variable in VARIABLES {
        let stated = format!(
            "  {}\n      {}\n      allowed: {}; default: {}\n",
            variable.name, variable.what, variable.allowed, variable.default
        );
        assert!(text.contains(&stated), "{stated:?} is not in {text}");
    }
    for same in [&["--help"][..], &["-h"], &["help", "help"]] {
        assert_eq!(said(&runahead(same, &[]), 0).as_deref(), Ok(text.as_str()), "{same:?}");
    }
}

#[test]
fn help_fits_a_terminal() {
    for arguments in [
        &["help"][..],
        &["help", "info"],
        &["help", "bench"],
        &["help", "run"],
        &["help", "record"],
        &["help", "replay"],
        &["help", "diff"],
    ] {
        let text = said(&runahead(arguments, &[]), 0).unwrap();
        let widest = text.lines().max_by_key(|line| line.chars().count()).unwrap();
        assert!(widest.chars().count() <= 120, "{widest}");
    }
}

#[test]
fn help_needs_no_valid_settings() {
    said(&runahead(&["help"], &[("RUNAHEAD_CREDIT", "x"), ("RUNAHEAD_TYPO", "x")]), 0).unwrap();
}

#[test]
fn verbs_have_help_of_their_own() {
    for (verb, usage) in [("info", "info [--json] [--stats]"), ("bench", "bench [--json] [--rounds N]")] {
        let text = said(&runahead(&["help", verb], &[]), 0).unwrap();
        assert!(text.starts_with(&format!("usage: runahead {usage}\n")), "{text}");
        for same in [&[verb, "--help"][..], &[verb, "-h"], &[verb, "--json", "--help"]] {
            assert_eq!(said(&runahead(same, &[]), 0).as_deref(), Ok(text.as_str()), "{same:?}");
        }
    }
}

#[test]
fn the_version_is_the_build() {
    for arguments in [["--version"], ["-V"]] {
        assert_eq!(said(&runahead(&arguments, &[]), 0), Ok(format!("runahead {BUILD}\n")));
    }
}

#[test]
fn verbs_that_are_not_there_yet_say_what_works_instead() {
    for arguments in [&["serve"][..], &["serve", "--", "glxgears", "--json"], &["help", "serve"]] {
        let sentence = said(&runahead(arguments, &[]), 2).unwrap();
        assert!(sentence.starts_with("`serve`, which will serve clients"), "{sentence}");
        let instead = "RUNAHEAD_TOPOLOGY=spawn";
        assert!(sentence.contains("is not there yet; ") && sentence.contains(instead), "{sentence}");
    }
}

#[test]
fn what_makes_no_sense_points_to_help() {
    refused(&[], 2, "no verb was given; `runahead help` lists them");
    refused(&["inof"], 2, "there is no verb \"inof\"; `runahead help` lists them");
    refused(&["help", "inof"], 2, "there is no verb \"inof\"; `runahead help` lists them");
    refused(&[""], 2, "there is no verb \"\"; `runahead help` lists them");
    refused(&["\n\u{1b}[2J"], 2, "there is no verb \"\\n\\u{1b}[2J\"; `runahead help` lists them");
    refused(&["info", "--jsn"], 2, "info does not take \"--jsn\"; `runahead help info` says what it takes");
    refused(
        &["bench", "rings"],
        2,
        "bench does not take \"rings\"; `runahead help bench` says what it takes",
    );
    for (rounds, shown) in [(&["0"][..], "0"), (&["1001"], "1001"), (&["x"], "x"), (&[], "")] {
        let sentence = format!("--rounds takes a number from 1 to 1000 and not {shown:?}");
        refused(&[&["bench", "--rounds"], rounds].concat(), 2, &sentence);
    }
    refused(&["--version", "x"], 2, "nothing may follow --version but \"x\" does; try `runahead help`");
    refused(&["help", "info", "x"], 2, "nothing may follow help but \"x\" does; try `runahead help`");
}

#[test]
fn output_that_cannot_be_written_is_an_error() {
    let full = File::options().write(true).open("/dev/full").unwrap();
    let mut command = command(PROGRAM.as_ref(), &["help"], &[]);
    let output = command.stdout(full).output().unwrap();
    let sentence = said(&output, 1).unwrap();
    assert!(sentence.starts_with("the output could not be written: "), "{sentence}");
}

/// The look at an output is not content with anything.
#[test]
fn another_status_or_stream_is_found() {
    let (good, bad) = (runahead(&["help"], &[]), runahead(&["inof"], &[]));
    for (output, status) in [(&good, 2), (&good, 1), (&bad, 0), (&bad, 1)] {
        said(output, status).expect_err("negative control");
    }
    let mut both = good.clone();
    both.stderr.extend(b"noise\n");
    said(&both, 0).expect_err("negative control");
    let mut two_lines = bad.clone();
    two_lines.stderr.extend(b"more\n");
    said(&two_lines, 2).expect_err("negative control");
    let mut open = good;
    open.stdout.pop();
    said(&open, 0).expect_err("negative control");
}
