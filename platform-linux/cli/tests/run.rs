//! `runahead run` with programs that do not draw: arguments, exit statuses, signals, and what it says of them.

mod common;

use std::{
    os::unix::process::ExitStatusExt,
    process::{Command, Output, Stdio},
    thread,
    time::{Duration, Instant},
};

use common::{PROGRAM, command, runahead};

fn error(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

#[test]
fn arguments_and_streams_are_the_programs_own() {
    common::library();
    let output = runahead(&["run", "--", "printf", "%s|", "a", "b c", "--help", "", "--", "\u{1b}"], &[]);
    assert_eq!(output.stdout, "a|b c|--help||--|\u{1b}|".as_bytes());
    assert!(error(&output).starts_with("runahead: printf never used EGL: "), "{}", error(&output));
    assert_eq!(output.status.code(), Some(0));
}

#[test]
fn the_exit_status_is_the_programs() {
    common::library();
    for status in [0, 1, 7, 255] {
        let output = runahead(&["run", "sh", "-c", &format!("exit {status}")], &[]);
        assert_eq!(output.status.code(), Some(status));
    }
    let killed = runahead(&["run", "sh", "-c", "kill -SEGV $$"], &[]);
    assert_eq!(killed.status.code(), Some(128 + 11));
    let missing = runahead(&["run", "/nowhere/program"], &[]);
    assert_eq!(missing.status.code(), Some(127));
    assert!(error(&missing).contains("/nowhere/program could not be started"), "{}", error(&missing));
    let no_program = runahead(&["run", "/etc/passwd"], &[]);
    assert_eq!(no_program.status.code(), Some(126));
}

#[test]
fn the_environment_is_what_selects_the_library_and_no_more() {
    common::library();
    let with = |arguments: &[&str]| {
        let output = runahead(&[&["run"], arguments, &["env"]].concat(), &[("MARK", "x")]);
        String::from_utf8(output.stdout).unwrap()
    };
    let text = with(&["--topology", "direct", "--backend", "gles", "--"]);
    let value =
        |name: &str| text.lines().find_map(|line| line.strip_prefix(&format!("{name}="))).map(str::to_owned);
    assert_eq!(value("RUNAHEAD_TOPOLOGY").as_deref(), Some("direct"));
    assert_eq!(value("RUNAHEAD_BACKEND").as_deref(), Some("gles"));
    assert_eq!(value("MARK").as_deref(), Some("x"));
    assert!(value("__EGL_VENDOR_LIBRARY_FILENAMES").is_some_and(|file| file.starts_with("/proc/")));
    assert!(!with(&[]).contains("RUNAHEAD_TOPOLOGY"), "what is not stated is left alone");
    // The description of the library is there for the program to read.
    let output = runahead(&["run", "--", "sh", "-c", "cat \"$__EGL_VENDOR_LIBRARY_FILENAMES\""], &[]);
    let described: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(described["ICD"]["library_path"].as_str(), common::library().to_str());
}

#[test]
fn wrong_settings_are_told_of_before_the_program_starts() {
    common::library();
    let output = runahead(&["run", "--", "echo", "started"], &[("RUNAHEAD_CREDIT", "99")]);
    assert_eq!((output.status.code(), &*output.stdout), (Some(126), &b""[..]));
    assert!(error(&output).contains("RUNAHEAD_CREDIT"), "{}", error(&output));
}

#[test]
fn signals_reach_the_program() {
    common::library();
    let script = "trap 'exit 42' TERM; trap 'exit 43' USR1; echo ready; while :; do sleep 0.05; done";
    for (signal, status) in [("TERM", 42), ("USR1", 43)] {
        let mut command = command(PROGRAM.as_ref(), &["run", "sh", "-c", script], &[]);
        let mut running = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let mut line = String::new();
        let mut output = std::io::BufReader::new(running.stdout.take().unwrap());
        std::io::BufRead::read_line(&mut output, &mut line).unwrap();
        assert_eq!(line, "ready\n");
        let sent = Command::new("kill").args([&format!("-{signal}"), &running.id().to_string()]).status();
        assert!(sent.unwrap().success());
        let start = Instant::now();
        let ended = loop {
            if let Some(ended) = running.try_wait().unwrap() {
                break ended;
            }
            assert!(start.elapsed() < Duration::from_secs(20), "{signal} did not end it");
            thread::sleep(Duration::from_millis(10));
        };
        assert_eq!((ended.code(), ended.signal()), (Some(status), None), "{signal}");
    }
}

/// A program finds the signals as its caller has them: this one blocks some for itself.
#[test]
fn the_programs_signal_mask_is_the_callers() {
    common::library();
    let mask = |output: &Output| {
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        text.lines().find(|line| line.starts_with("SigBlk")).expect("a mask").to_owned()
    };
    let without = Command::new("cat").arg("/proc/self/status").output().unwrap();
    let with = runahead(&["run", "cat", "/proc/self/status"], &[]);
    assert_eq!(mask(&with), mask(&without));
}
