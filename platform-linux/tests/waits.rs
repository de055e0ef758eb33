//! `WAITS.md` is in step with the code: its causes, the tests that it names, and the calls that can block.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

use runahead_core::counters::Cause;

/// Where waits are.
const SOURCES: [&str; 7] = [
    "backend-gles/src",
    "core/src",
    "frontend-gl/src",
    "platform-linux/egl/src",
    "platform-linux/server/src",
    "platform-linux/src",
    "rings/src",
];

/// What can block, or is built on what can. Each is the beginning of a call.
const CALLS: [&str; 12] = [
    "Condvar",
    "futex::wait(",
    "poll(",
    "poll::wait(",
    "spin_loop(",
    "thread::sleep(",
    "waitid(",
    "waitpid(",
    "yield_now(",
    ".join()",
    ".lock()",
    ".recv(",
];

/// The folder of all packages.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

fn page() -> String {
    fs::read_to_string(root().join("platform-linux/WAITS.md")).unwrap()
}

/// Cells of a row, without the bars.
fn cells(row: &str) -> Vec<&str> {
    row.trim_matches('|').split('|').map(str::trim).collect()
}

/// Rows of the table under a heading, without its head.
fn rows<'a>(page: &'a str, heading: &str) -> Result<Vec<Vec<&'a str>>, String> {
    let section = page.split("\n## ").find(|section| section.starts_with(heading));
    let section = section.ok_or_else(|| format!("there is no section {heading}"))?;
    Ok(section.lines().filter(|line| line.starts_with('|')).skip(2).map(cells).collect())
}

/// Words of a cell that are code.
fn code(cell: &str) -> Vec<&str> {
    cell.split('`').skip(1).step_by(2).collect()
}

/// Sources in a folder, by their path from the root.
fn sources(folder: &Path, found: &mut BTreeMap<String, String>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.file_name().is_some_and(|name| name == "tests.rs") {
            // Unit tests.
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            let name = path.strip_prefix(root()).unwrap().to_str().unwrap().to_owned();
            found.insert(name, fs::read_to_string(&path).unwrap());
        }
    }
}

fn all_sources() -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    SOURCES.iter().for_each(|folder| sources(&root().join(folder), &mut found));
    found
}

/// Calls in a source that can block, by how often they are there. Comments and unit tests are none of it.
fn calls(source: &str) -> BTreeMap<&'static str, usize> {
    let mut found = BTreeMap::new();
    let code = source.split("#[cfg(test)]\nmod tests").next().unwrap_or_default();
    for line in code.lines().map(str::trim).filter(|line| !line.starts_with("//")) {
        for call in CALLS {
            for (at, _) in line.match_indices(call) {
                let before = &line[..at];
                let within = |letter: char| letter.is_alphanumeric() || matches!(letter, '_' | '.' | ':');
                let whole = call.starts_with('.') || !before.ends_with(within) || before.ends_with("libc::");
                let qualified = before.ends_with("hint::") || before.ends_with("std::");
                if (whole || qualified) && !before.ends_with("fn ") {
                    *found.entry(call).or_insert(0) += 1;
                }
            }
        }
    }
    found
}

/// The last table as the sources make it.
fn table(sources: &BTreeMap<String, String>) -> Vec<String> {
    let row = |(file, source): (&String, &String)| {
        let calls: Vec<String> =
            calls(source).iter().map(|(call, times)| format!("`{call}` {times}")).collect();
        (!calls.is_empty()).then(|| format!("| `{file}` | {} |", calls.join(", ")))
    };
    sources.iter().filter_map(row).collect()
}

/// What is wrong with a page.
fn check(page: &str, sources: &BTreeMap<String, String>) -> Result<(), String> {
    let counted = rows(page, "Between client and server, counted")?;
    let beside = rows(page, "Beside the rings")?;
    let causes: Vec<String> = Cause::ALL.iter().map(|cause| format!("{cause:?}")).collect();
    let listed: Vec<&str> = counted.iter().flat_map(|row| code(row[0])).collect();
    if listed != causes {
        return Err(format!("the causes are {causes:?}, and the page has {listed:?}"));
    }
    let waited: BTreeSet<&String> = causes
        .iter()
        .filter(|cause| {
            let used = format!("Cause::{cause},");
            sources.iter().any(|(file, source)| file != "core/src/counters.rs" && source.contains(&used))
        })
        .collect();
    if waited.len() != causes.len() {
        return Err(format!("nothing waits for a cause but those: {waited:?}"));
    }
    for row in counted.iter().chain(&beside) {
        let [_, who, ends, test] = row[..] else { return Err(format!("not four cells: {row:?}")) };
        let tests = code(test);
        if who.is_empty() || ends.is_empty() || tests.is_empty() || !tests.len().is_multiple_of(2) {
            return Err(format!("something is missing in {row:?}"));
        }
        for pair in tests.chunks(2) {
            exists(pair[0], pair[1])?;
        }
    }
    let (stated, real): (Vec<String>, _) = (
        page.lines()
            .filter(|line| line.starts_with("| `") && line.contains(".rs` | `"))
            .map(str::to_owned)
            .collect(),
        table(sources),
    );
    if stated == real {
        Ok(())
    } else {
        Err(format!("the calls are\n{}\nand the page has\n{}", real.join("\n"), stated.join("\n")))
    }
}

/// Whether a file has a test of that name: a test of cargo's, or a model in a list of them.
fn exists(file: &str, name: &str) -> Result<(), String> {
    let source = fs::read_to_string(root().join(file)).map_err(|error| format!("{file}: {error}"))?;
    let Some((before, _)) = source.split_once(&format!("fn {name}(")) else {
        return Err(format!("{file} has no {name}"));
    };
    let attributes = before.rsplit("\n\n").next().unwrap_or_default();
    let ignored = attributes.contains("#[ignore");
    let model = file.contains("/loom/");
    if (attributes.contains("#[test]") && !ignored) || model {
        Ok(())
    } else {
        Err(format!("{name} of {file} is no test that runs"))
    }
}

#[test]
fn the_page_is_in_step_with_the_code() {
    check(&page(), &all_sources()).unwrap_or_else(|error| panic!("WAITS.md: {error}"));
}

#[test]
fn a_page_out_of_step_is_found() {
    let (page, sources) = (page(), all_sources());
    let without = |part: &str| {
        let rows: Vec<&str> = page.lines().filter(|line| !line.contains(part)).collect();
        assert!(rows.len() < page.lines().count(), "{part}");
        rows.join("\n")
    };
    for (what, bad) in [
        ("a cause is missing", without("| `EventRoom` |")),
        ("a cause too many", page.replace("| `Credit` |", "| `Patience` |")),
        ("a test that is none", page.replace("`an_idle_session_sleeps`", "`an_idle_session_wakes`")),
        ("a test that does not run", page.replace("`an_idle_session_sleeps`", "`alone_idle`")),
        ("a helper", page.replace("`an_idle_session_sleeps`", "`accounted`")),
        ("a file that is none", page.replace("tests/spawn.rs", "tests/nowhere.rs")),
        ("no test", page.replace("`platform-linux/tests/peer.rs` `a_sleeping_waiter_is_woken`", "none")),
        ("a call is missing", without("| `platform-linux/src/poll.rs` |")),
        ("no table", page.replace("## Beside", "## Besides")),
    ] {
        assert_ne!(bad, page, "{what}");
        check(&bad, &sources).expect_err(what);
    }
    for (file, call) in [
        ("core/src/recorder.rs", "std::thread::sleep(time);"),
        ("platform-linux/src/session/log.rs", "queue.lock();"),
        ("rings/src/stage.rs", "core::hint::spin_loop();"),
        ("platform-linux/src/segment.rs", "if poll(&mut descriptors, None) {"),
    ] {
        let mut more = sources.clone();
        more.get_mut(file).unwrap().insert_str(0, &format!("{call}\n"));
        check(&page, &more).expect_err(call);
        let mut comment = sources.clone();
        comment.get_mut(file).unwrap().insert_str(0, &format!("// {call}\n"));
        check(&page, &comment).unwrap();
    }
    let mut unused = sources;
    for file in ["core/src/recorder.rs", "platform-linux/src/session/shared.rs"] {
        check(&page, &unused).unwrap();
        let waits = unused.get_mut(file).unwrap();
        *waits = waits.replace("Cause::Credit,", "Cause::Watermark,");
    }
    check(&page, &unused).expect_err("a cause that nothing waits for");
}
