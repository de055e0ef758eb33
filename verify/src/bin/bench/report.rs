//! What benches print.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a bench prints")]

use serde_json::json;

/// Whether a figure should be large or small.
#[derive(Clone, Copy, Debug)]
pub enum Goal {
    /// At least this.
    AtLeast(f64),
    /// At most this.
    AtMost(f64),
    /// For the record.
    None,
}

impl Goal {
    fn met(self, value: f64) -> bool {
        match self {
            Self::AtLeast(goal) => value >= goal,
            Self::AtMost(goal) => value <= goal,
            Self::None => true,
        }
    }

    fn text(self) -> String {
        match self {
            Self::AtLeast(goal) => format!(">= {goal:.2}"),
            Self::AtMost(goal) => format!("<= {goal:.2}"),
            Self::None => String::new(),
        }
    }
}

/// One figure.
pub struct Case<'a> {
    pub bench: &'a str,
    pub case: &'a str,
    pub value: f64,
    pub unit: &'a str,
    /// What the ratio is against; empty where the goal is for the value itself.
    pub against: &'a str,
    pub ratio: f64,
    pub goal: Goal,
}

/// Prints cases as they come and counts the goals.
pub struct Report {
    json: bool,
    only: String,
    goals: usize,
    missed: usize,
    bench: String,
}

impl Report {
    /// A report of the tables whose titles contain `only`.
    pub const fn new(json: bool, only: String) -> Self {
        Self { json, only, goals: 0, missed: 0, bench: String::new() }
    }

    /// Whether a table is asked for.
    pub fn wants(&self, bench: &str) -> bool {
        bench.contains(&self.only)
    }

    pub fn add(&mut self, case: &Case<'_>) {
        let judged = if case.against.is_empty() { case.value } else { case.ratio };
        let ok = case.goal.met(judged);
        if !matches!(case.goal, Goal::None) {
            self.goals += 1;
            self.missed += usize::from(!ok);
        }
        if self.json {
            let goal = case.goal.text();
            println!(
                "{}",
                json!({
                    "bench": case.bench, "case": case.case, "value": case.value, "unit": case.unit,
                    "against": (!case.against.is_empty()).then_some(case.against),
                    "ratio": (!case.against.is_empty()).then_some(case.ratio),
                    "goal": (!goal.is_empty()).then_some(goal), "ok": ok,
                })
            );
            return;
        }
        if self.bench != case.bench {
            self.bench = case.bench.to_owned();
            println!(
                "\n{}\n  {:<44} {:>10} {:<10} {:>7} {:<28} {:<9}",
                case.bench, "case", "value", "unit", "ratio", "against", "goal"
            );
        }
        let ratio = if case.against.is_empty() { String::new() } else { format!("{:.2}", case.ratio) };
        let verdict = match case.goal {
            Goal::None => "",
            _ if ok => "ok",
            _ => "MISSED",
        };
        println!(
            "  {:<44} {:>10.2} {:<10} {ratio:>7} {:<28} {:<9} {verdict}",
            case.case,
            case.value,
            case.unit,
            case.against,
            case.goal.text()
        );
    }

    /// The last line; whether all goals were met.
    pub fn finish(self) -> bool {
        if !self.json {
            println!("\n{} of {} goals met", self.goals - self.missed, self.goals);
        }
        self.missed == 0
    }
}

/// A line of a worker's.
pub fn say(text: &str) {
    println!("{text}");
}

pub fn complain(text: &str) {
    eprintln!("{text}");
}
