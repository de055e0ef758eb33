//! The table of settings, the one in `README.md` and the names in the sources are the same.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

use runahead_linux::settings::{PREFIX, VARIABLES};

/// A name of the compiler's environment and of no program's.
const COMPILE_TIME: &str = "RUNAHEAD_BUILD_STAMP";

/// `platform-linux`.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

fn readme() -> String {
    fs::read_to_string(root().parent().unwrap().join("README.md")).unwrap()
}

/// The names in a text: the prefix at the beginning of a word, and capitals or underscores behind it.
fn names(text: &str) -> BTreeSet<String> {
    let is_name = |byte: char| byte.is_ascii_uppercase() || byte == '_';
    text.match_indices(PREFIX)
        .filter(|(at, _)| !text[..*at].ends_with(|before: char| before.is_alphanumeric() || before == '_'))
        .map(|(at, _)| text[at..].chars().take_while(|letter| is_name(*letter)).collect::<String>())
        .filter(|name| name != PREFIX && name != COMPILE_TIME)
        .collect()
}

/// Names of a text that are in no row of the table.
fn strangers(text: &str) -> Vec<String> {
    names(text).into_iter().filter(|name| VARIABLES.iter().all(|variable| name != variable.name)).collect()
}

/// The table as `README.md` has it.
fn table() -> String {
    let mut text = "| variable | allowed | default | what it does |\n|---|---|---|---|\n".to_owned();
    for variable in VARIABLES {
        text += &format!(
            "| `{}` | {} | {} | {} |\n",
            variable.name, variable.allowed, variable.default, variable.what
        );
    }
    text
}

/// Whether a page has the table under its heading, whole, and no other row about a variable.
fn holds_the_table(page: &str) -> Result<(), String> {
    let section = page.split("\n## ").find(|section| section.starts_with("Settings\n"));
    let rows = |text: &str, wanted: fn(&str) -> bool| -> String {
        text.lines().filter(|line| wanted(line)).flat_map(|line| [line, "\n"]).collect()
    };
    let found = rows(section.ok_or("there is no section Settings")?, |line| line.starts_with('|'));
    if found != table() {
        return Err(format!("the table is\n{found}\nand should be\n{}", table()));
    }
    let (everywhere, here) = (rows(page, is_row), rows(&found, is_row));
    if everywhere == here { Ok(()) } else { Err(format!("there are more rows: {everywhere}")) }
}

fn is_row(line: &str) -> bool {
    line.starts_with(&format!("| `{PREFIX}"))
}

/// Sources and packages' files under a folder; tests are none of them, and hold names that are wrong on purpose.
fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap_or_default();
        if path.is_dir() {
            if name != "tests" && name != "target" {
                sources(&path, found);
            }
        } else if path.extension().is_some_and(|ending| ending == "rs" || ending == "toml") {
            found.push(path);
        }
    }
}

#[test]
fn the_readme_holds_the_table() {
    let readme = readme();
    holds_the_table(&readme).unwrap();
    assert_eq!(strangers(&readme), [""; 0]);
}

#[test]
fn every_name_in_the_sources_is_in_the_table() {
    let mut found = Vec::new();
    sources(&root(), &mut found);
    let mut seen = BTreeSet::new();
    for file in &found {
        let text = fs::read_to_string(file).unwrap();
        assert_eq!(strangers(&text), [""; 0], "{}", file.display());
        seen.append(&mut names(&text));
    }
    // The search sees the table itself, and more than one package.
    let all: BTreeSet<String> = VARIABLES.iter().map(|variable| variable.name.to_owned()).collect();
    assert_eq!(seen, all);
    for package in ["src/settings.rs", "server/src/main.rs", "cli/src/main.rs", "egl/src/lib.rs", "build.rs"]
    {
        assert!(found.contains(&root().join(package)), "{package} was not looked at");
    }
}

#[test]
fn names_are_unique_and_have_the_prefix() {
    let unique: BTreeSet<&str> = VARIABLES.iter().map(|variable| variable.name).collect();
    assert_eq!(unique.len(), VARIABLES.len());
    assert!(unique.iter().all(|name| name.starts_with(PREFIX)), "{unique:?}");
    // A row of Markdown.
    assert!(!table().replace(" | ", "").contains("\n\n"), "an empty line");
    assert!(table().lines().all(|line| line.matches('|').count() == 5), "a bar in a cell");
}

#[test]
fn a_name_without_a_row_is_found() {
    let text = "env::var(\"RUNAHEAD_NOWHERE\"); MY_RUNAHEAD_NOTE; `RUNAHEAD_*`; RUNAHEAD_BUILD_STAMP; RUNAHEAD_CREDIT=1";
    assert_eq!(strangers(text), ["RUNAHEAD_NOWHERE"]);
}

#[test]
fn another_table_is_found() {
    let good = readme();
    let last = VARIABLES.last().unwrap();
    let row = table().lines().last().unwrap().to_owned() + "\n";
    assert!(good.contains(&row));
    for bad in [
        good.replace(&row, ""),
        good.replace(&row, &row.replace(last.default, "another default")),
        good.replace(&row, &row.replace(last.what, "does something else")),
        good.replace(&row, &format!("{row}{row}")),
        good.replace("\n## Measured", &format!("\n## Measured\n\n{row}")),
        good.replace("\n## Settings", "\n## Other"),
    ] {
        assert_ne!(bad, good);
        holds_the_table(&bad).expect_err("negative control");
    }
}
