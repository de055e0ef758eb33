//! `runahead info`: real sessions, and why there is none.

mod common;

use std::{
    fs,
    path::{Path, PathBuf},
};

use common::{PROGRAM, command, runahead, said, server};
use runahead_linux::{
    control::message::{BUILD, FINGERPRINT, PROTOCOL},
    settings::VARIABLES,
};
use serde_json::{Value, json};

/// What `help info` documents, with those of the objects.
const KEYS: [&str; 12] = [
    "topology",
    "server",
    "backend",
    "vendor",
    "renderer",
    "gl_version",
    "gles_version",
    "mode",
    "asked",
    "protocol",
    "fingerprint",
    "build",
];
const ASKED: [&str; 4] = ["run_ahead", "credit", "command_ring_kb", "stage_ring_kb"];
const SERVER: [&str; 3] = ["role", "pid", "tid"];

/// Whether an object has exactly these keys.
fn holds(object: &Value, keys: &[&str]) -> Result<(), String> {
    let object = object.as_object().ok_or(format!("{object} is no object"))?;
    let mut expected = keys.to_vec();
    let mut actual: Vec<&str> = object.keys().map(String::as_str).collect();
    expected.sort_unstable();
    actual.sort_unstable();
    if actual == expected { Ok(()) } else { Err(format!("keys {actual:?} instead of {expected:?}")) }
}

/// The one object of one line, with all keys.
fn json(settings: &[(&str, &str)]) -> Value {
    let text = said(&runahead(&["info", "--json"], settings), 0).unwrap();
    assert_eq!(text.lines().count(), 1, "{text}");
    let value: Value = serde_json::from_str(&text).unwrap();
    holds(&value, &KEYS).unwrap();
    holds(&value["asked"], &ASKED).unwrap();
    holds(&value["server"], &SERVER).unwrap();
    for (key, expected) in [
        ("backend", json!("null")),
        ("vendor", json!("Runahead")),
        ("renderer", json!("null")),
        ("gl_version", json!("4.6")),
        ("gles_version", json!("3.2")),
        ("protocol", json!(PROTOCOL)),
        ("fingerprint", json!(format!("{FINGERPRINT:#018x}"))),
        ("build", json!(BUILD)),
    ] {
        assert_eq!(value[key], expected, "{key}");
    }
    value
}

#[test]
fn every_documented_key_is_there_and_the_reverse() {
    let help = said(&runahead(&["help", "info"], &[]), 0).unwrap();
    for key in KEYS.iter().chain(&ASKED).chain(&SERVER) {
        assert!(help.contains(key), "{key} is not in {help}");
    }
    let mut value = json(&[("RUNAHEAD_TOPOLOGY", "inproc")]);
    value.as_object_mut().unwrap().insert("more".to_owned(), json!(1));
    holds(&value, &KEYS).expect_err("negative control");
    value.as_object_mut().unwrap().remove("more");
    value.as_object_mut().unwrap().remove("build");
    holds(&value, &KEYS).expect_err("negative control");
}

#[test]
fn direct_has_no_server() {
    let value = json(&[("RUNAHEAD_TOPOLOGY", "direct")]);
    assert_eq!((&value["topology"], &value["mode"]), (&json!("direct"), &json!("direct")));
    assert_eq!((&value["server"]["role"], &value["server"]["tid"]), (&json!("caller"), &Value::Null));
}

#[test]
fn inproc_applies_on_another_thread_of_its_own_process() {
    let value = json(&[("RUNAHEAD_TOPOLOGY", "inproc")]);
    assert_eq!((&value["topology"], &value["mode"]), (&json!("inproc"), &json!("run-ahead")));
    let server = &value["server"];
    assert_eq!(server["role"], json!("thread"));
    // The first thread has the number of the process.
    assert!(server["tid"].as_u64().unwrap() != server["pid"].as_u64().unwrap(), "{server}");
}

#[test]
fn spawn_finds_the_server_next_to_the_program() {
    server();
    let child = command(PROGRAM.as_ref(), &["info", "--json"], &[])
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let program = child.id();
    let text = said(&child.wait_with_output().unwrap(), 0).unwrap();
    let value: Value = serde_json::from_str(&text).unwrap();
    holds(&value, &KEYS).unwrap();
    assert_eq!((&value["topology"], &value["mode"]), (&json!("spawn"), &json!("run-ahead")));
    assert_eq!((&value["server"]["role"], &value["server"]["tid"]), (&json!("process"), &Value::Null));
    let pid = value["server"]["pid"].as_u64().unwrap();
    assert!(pid != 0 && pid != u64::from(program), "{value}");
    // It was waited for: gone, or nobody's running server by now.
    let name = fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    assert!(!name.starts_with("runahead-server"), "process {pid} was left behind");
}

#[test]
fn spawn_takes_the_server_that_the_setting_names() {
    let (one, other) = (Scratch::new("elsewhere"), Scratch::new("alone"));
    let elsewhere = one.0.join("another-name");
    // Links: a copy is busy for as long as another test's child holds the descriptor that it was written through.
    fs::hard_link(server(), &elsewhere).unwrap();
    let alone = other.0.join("runahead");
    fs::hard_link(PROGRAM, &alone).unwrap();
    let settings = [("RUNAHEAD_SERVER", elsewhere.to_str().unwrap())];
    said(&command(&alone, &["info"], &settings).output().unwrap(), 0).unwrap();
    // Without the setting that program has no server next to it.
    let sentence = said(&command(&alone, &["info"], &[]).output().unwrap(), 1).unwrap();
    let looked = alone.with_file_name("runahead-server");
    assert_eq!(
        sentence,
        format!(
            "no session was opened: runahead-server was not found; install it next to the Runahead library or state \
             its path (looked for {})",
            looked.display()
        )
    );
}

#[test]
fn a_server_that_is_none_is_said_in_one_sentence() {
    for (file, words) in
        [("/nowhere/server", "/nowhere/server"), ("/etc/passwd", "/etc/passwd"), ("/bin/true", "")]
    {
        let sentence = said(&runahead(&["info"], &[("RUNAHEAD_SERVER", file)]), 1).unwrap();
        assert!(sentence.starts_with("no session was opened: ") && sentence.contains(words), "{sentence}");
    }
}

#[test]
fn settings_take_effect() {
    let inproc = ("RUNAHEAD_TOPOLOGY", "inproc");
    let usual = json(&[inproc]);
    let nothing =
        json!({ "run_ahead": true, "credit": null, "command_ring_kb": null, "stage_ring_kb": null });
    assert_eq!(usual["asked"], nothing);
    let value = json(&[
        inproc,
        ("RUNAHEAD_RUN_AHEAD", "0"),
        ("RUNAHEAD_CREDIT", "8"),
        ("RUNAHEAD_RING_KB", "64"),
        ("RUNAHEAD_STAGE_KB", "256"),
    ]);
    assert_eq!(value["mode"], json!("lockstep"));
    let asked = json!({ "run_ahead": false, "credit": 8, "command_ring_kb": 64, "stage_ring_kb": 256 });
    assert_eq!(value["asked"], asked);
}

#[test]
fn the_smallest_and_largest_settings_open_a_session() {
    for (ring, stage) in [("4", "4"), ("65536", "1048576")] {
        json(&[("RUNAHEAD_TOPOLOGY", "inproc"), ("RUNAHEAD_RING_KB", ring), ("RUNAHEAD_STAGE_KB", stage)]);
    }
}

#[test]
fn statistics_come_with_the_rest_if_they_are_asked_for() {
    for topology in ["direct", "inproc"] {
        let settings = [("RUNAHEAD_TOPOLOGY", topology)];
        let text = said(&runahead(&["info", "--json", "--stats"], &settings), 0).unwrap();
        let value: Value = serde_json::from_str(&text).unwrap();
        holds(&value, &[&KEYS[..], &["statistics"]].concat()).unwrap();
        let (client, server) = (&value["statistics"]["client"], &value["statistics"]["server"]);
        let served = topology != "direct";
        assert_eq!(client["control_waits"], json!(u64::from(served)), "{value}");
        assert_eq!(server.is_null(), !served, "{value}");
        if served {
            holds(server, &client.as_object().unwrap().keys().map(String::as_str).collect::<Vec<_>>())
                .unwrap();
            assert!(
                server["work_waits"].is_u64() && client["slept"].as_array().unwrap().len() > 8,
                "{value}"
            );
        }
    }
    let inproc = [("RUNAHEAD_TOPOLOGY", "inproc")];
    let text = said(&runahead(&["info", "--stats"], &inproc), 0).unwrap();
    assert!(text.contains("statistics of a session") && text.contains("control_waits"), "{text}");
    let without = said(&runahead(&["info"], &inproc), 0).unwrap();
    assert!(!without.contains("control_waits"), "{without}");
}

/// The variable does the same for any session, and puts it where data does not go.
#[test]
fn a_session_ends_with_its_statistics_where_the_variable_says_so() {
    let settings = [("RUNAHEAD_TOPOLOGY", "inproc"), ("RUNAHEAD_STATS", "1")];
    let output = runahead(&["info"], &settings);
    let errors = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success() && errors.starts_with("runahead: statistics of a session"), "{errors}");
    let scratch = Scratch::new("statistics");
    let file = scratch.0.join("counted");
    let settings = [("RUNAHEAD_TOPOLOGY", "inproc"), ("RUNAHEAD_STATS", file.to_str().unwrap())];
    said(&runahead(&["info"], &settings), 0).unwrap();
    let text = fs::read_to_string(&file).unwrap();
    let roles: Vec<Value> =
        text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()["role"].clone()).collect();
    assert_eq!(roles, ["client", "server"]);
    // What cannot be written is said, and the session was a session all the same.
    let settings = [("RUNAHEAD_TOPOLOGY", "inproc"), ("RUNAHEAD_STATS", "/nowhere/counted")];
    let output = runahead(&["info"], &settings);
    let errors = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success() && errors.contains("the statistics are not written: "), "{errors}");
}

#[test]
fn lines_of_the_log_come_as_grave_as_asked_for() {
    for (level, part) in [("info", "runahead: info: server: applies on null"), ("warning", ""), ("off", "")] {
        let output = runahead(&["info"], &[("RUNAHEAD_TOPOLOGY", "inproc"), ("RUNAHEAD_LOG", level)]);
        let errors = String::from_utf8(output.stderr).unwrap();
        assert!(
            output.status.success() && errors.contains(part) && errors.is_empty() == part.is_empty(),
            "{errors}"
        );
    }
}

#[test]
fn a_session_in_which_nothing_was_compared_says_so() {
    for topology in ["direct", "inproc", "spawn"] {
        let output = runahead(&["info"], &[("RUNAHEAD_TOPOLOGY", topology), ("RUNAHEAD_VERIFY", "1")]);
        let errors = String::from_utf8(output.stderr).unwrap();
        assert!(errors.contains("error: verify: compared none of 0 verbs"), "{topology}: {errors}");
    }
}

#[test]
fn either_doorbell_opens_a_session() {
    for doorbell in ["futex", "eventfd"] {
        json(&[("RUNAHEAD_TOPOLOGY", "inproc"), ("RUNAHEAD_DOORBELL", doorbell)]);
    }
}

#[test]
fn the_text_says_the_same_as_the_object() {
    let settings = [("RUNAHEAD_TOPOLOGY", "inproc"), ("RUNAHEAD_RING_KB", "64")];
    let text = said(&runahead(&["info"], &settings), 0).unwrap();
    let line = |name: &str| {
        let found = text.lines().find(|line| line.starts_with(&format!("{name:<13} ")));
        found.unwrap_or_else(|| panic!("no {name} in {text}"))[14..].to_owned()
    };
    assert_eq!(line("topology"), "inproc");
    assert!(line("server").starts_with("thread "), "{text}");
    assert_eq!(line("backend"), "null");
    assert_eq!(line("renderer"), "null (Runahead)");
    assert_eq!((line("OpenGL"), line("OpenGL ES")), ("4.6".to_owned(), "3.2".to_owned()));
    assert!(line("mode").starts_with("run-ahead: "), "{text}");
    assert_eq!(line("credit"), "left to the server, usually 1");
    assert_eq!(line("command ring"), "64 KiB asked for");
    assert_eq!(line("stage ring"), "left to the server, usually 32768 KiB");
    assert_eq!(line("protocol"), PROTOCOL.to_string());
    assert_eq!(line("fingerprint"), format!("{FINGERPRINT:#018x}"));
    assert_eq!(line("build"), BUILD);
    let direct = said(&runahead(&["info"], &[("RUNAHEAD_TOPOLOGY", "direct")]), 0).unwrap();
    assert!(!direct.contains("ring ") && direct.contains("calling thread"), "{direct}");
}

#[test]
fn each_invalid_setting_is_said_with_what_is_allowed() {
    for variable in VARIABLES {
        let is_file = variable.allowed.starts_with("the path of a file");
        let bad = if is_file { "" } else { "many" };
        for arguments in [&["info"][..], &["info", "--json"]] {
            let sentence = said(&runahead(arguments, &[(variable.name, bad)]), 1);
            let expected = format!("{} is set to {bad:?}; allowed: {}", variable.name, variable.allowed);
            assert_eq!(sentence, Ok(expected));
        }
    }
}

#[test]
fn an_unknown_setting_is_said_with_those_that_there_are() {
    let sentence = said(&runahead(&["info"], &[("RUNAHEAD_TOPLOGY", "inproc")]), 1).unwrap();
    let names: Vec<&str> = VARIABLES.iter().map(|variable| variable.name).collect();
    assert_eq!(
        sentence,
        format!(
            "the environment holds \"RUNAHEAD_TOPLOGY\", which Runahead does not know; unset it (known: {})",
            names.join(", ")
        )
    );
}

/// A folder of this test alone, which goes with it.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Self {
        let folder = format!("cli-{name}-{}", std::process::id());
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(folder);
        // Of a process of the same number that was killed.
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).unwrap();
        Self(folder)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}
