//! `runahead bench`: what it prints, not how fast.

mod common;

use common::{runahead, said, server};
use serde_json::{Value, json};

/// What `help bench` documents.
const KEYS: [&str; 8] = ["bench", "case", "value", "unit", "against", "ratio", "goal", "ok"];
/// Every bench with its cases.
const CASES: [(&str, &str, &str); 10] = [
    ("frame", "direct", "ms"),
    ("frame", "inproc", "ms"),
    ("frame", "spawn", "ms"),
    ("overlap", "direct", "fps"),
    ("overlap", "inproc", "fps"),
    ("overlap", "spawn", "fps"),
    ("answer", "inproc", "us"),
    ("answer", "spawn", "us"),
    ("answer", "inproc, asleep", "us"),
    ("answer", "spawn, asleep", "us"),
];

#[test]
fn every_case_is_measured_and_compared_as_documented() {
    server();
    let text = said(&runahead(&["bench", "--json", "--rounds", "1"], &[]), 0).unwrap();
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.len(), CASES.len(), "{text}");
    for (line, (bench, case, unit)) in lines.iter().zip(CASES) {
        let mut keys: Vec<&String> = line.as_object().unwrap().keys().collect();
        let mut expected = KEYS.to_vec();
        keys.sort_unstable();
        expected.sort_unstable();
        assert_eq!(keys, expected);
        assert_eq!(
            (&line["bench"], &line["case"], &line["unit"]),
            (&json!(bench), &json!(case), &json!(unit))
        );
        let value = line["value"].as_f64().unwrap();
        assert!(value > 0.0 && value.is_finite(), "{line}");
        let compared = unit != "us" && case != "direct";
        assert_eq!(line["against"], if compared { json!("direct") } else { Value::Null }, "{line}");
        if compared {
            let direct =
                lines.iter().find(|other| other["bench"] == bench && other["case"] == "direct").unwrap();
            let ratio = value / direct["value"].as_f64().unwrap();
            assert!((line["ratio"].as_f64().unwrap() - ratio).abs() < 1e-9, "{line}");
        }
    }
    let help = said(&runahead(&["help", "bench"], &[]), 0).unwrap();
    for word in KEYS.iter().copied().chain(CASES.iter().map(|case| case.0)) {
        assert!(help.contains(word), "{word} is not in {help}");
    }
}

#[test]
fn settings_apply_and_a_session_that_cannot_be_is_said() {
    let sentence = said(&runahead(&["bench"], &[("RUNAHEAD_SERVER", "/nowhere/server")]), 1).unwrap();
    assert!(
        sentence.contains("no session was opened: ") && sentence.contains("/nowhere/server"),
        "{sentence}"
    );
    let sentence = said(&runahead(&["bench"], &[("RUNAHEAD_CREDIT", "9")]), 1).unwrap();
    assert_eq!(sentence, "RUNAHEAD_CREDIT is set to \"9\"; allowed: 1 to 8");
}
