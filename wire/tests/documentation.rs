//! Keeps the pages that are made from the tables in step. `BLESS=1` writes them again.

use runahead_wire::{event, pipe};
use std::path::Path;

fn in_step(name: &str, page: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(name);
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&path, page).expect("written");
    }
    let stored = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(stored == page, "{name} is not what the table says; run this test with BLESS=1");
}

#[test]
fn the_page_of_both_catalogues_is_in_step() {
    let mut page = String::new();
    pipe::documentation(&mut page).expect("text");
    page.push('\n');
    event::documentation(&mut page).expect("text");
    in_step("CATALOGUE.md", &page);
}

#[test]
fn the_page_names_every_row() {
    let mut page = String::new();
    pipe::documentation(&mut page).expect("text");
    for row in pipe::ROWS {
        assert!(page.contains(row.name), "{}", row.name);
    }
    assert!(page.contains("~~SetResidualValueState~~") && page.contains("a client sends SetShaderImages"));
}
