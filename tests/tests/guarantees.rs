//! Every test that docs/guarantees.md names exists, and every line of its tables names one.
#![allow(clippy::unwrap_used, clippy::panic)]

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// The sources of all crates.
fn sources(folder: &Path, found: &mut Vec<String>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        if path.is_dir() && !["target", "node_modules"].contains(&name.as_str()) && !name.starts_with('.') {
            sources(&path, found);
        } else if name.ends_with(".rs") {
            found.push(std::fs::read_to_string(&path).unwrap());
        }
    }
}

/// The name in a line that begins a function.
fn function(line: &str) -> Option<&str> {
    let (_, rest) = line.trim_start().split_once("fn ").filter(|(before, _)| !before.contains("//"))?;
    rest.split(['(', '<']).next()
}

/// The functions that an attribute, a few lines above, makes a test; and the cases of the contract, which a list names.
fn tests_of(source: &str, found: &mut BTreeSet<String>) {
    let mut marked = false;
    for line in source.lines() {
        let line = line.trim_start();
        if line.starts_with("#[test]") || line.starts_with("#[tokio::test") {
            marked = true;
        } else if let Some(name) = function(line) {
            if std::mem::take(&mut marked) {
                found.insert(name.to_owned());
            }
        } else if line.starts_with("#[ignore") {
            marked = false;
        }
    }
}

/// Cases of the contract are plain functions that `cases()` lists by their path.
fn contract(found: &mut BTreeSet<String>) {
    let main = std::fs::read_to_string(root().join("tests/tests/contract/main.rs")).unwrap();
    let (_, list) = main.split_once("fn cases()").unwrap();
    let list = list.split("\n}").next().unwrap();
    let words = list.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').filter(|word| word.contains('_'));
    found.extend(words.map(str::to_owned));
}

/// The rows of tables: what a line says, and the names in its last column.
fn rows(text: &str) -> Vec<(String, Vec<String>)> {
    let lines = text
        .lines()
        .filter(|line| line.starts_with("| ") && !line.ends_with(" proved by |") && !line.ends_with(" shown by |"));
    lines
        .map(|line| {
            let cells: Vec<&str> = line.trim_matches('|').split(" | ").map(str::trim).collect();
            let names = cells.last().unwrap().split('`').skip(1).step_by(2).map(str::to_owned).collect();
            (cells[0].to_owned(), names)
        })
        .collect()
}

#[test]
fn every_line_of_the_guarantees_names_tests_that_exist() {
    let (mut all, mut tests) = (Vec::new(), BTreeSet::new());
    sources(&root(), &mut all);
    all.iter().for_each(|source| tests_of(source, &mut tests));
    contract(&mut tests);
    assert!(tests.len() > 400, "only {} tests were found", tests.len());
    let rows = rows(&std::fs::read_to_string(root().join("docs/guarantees.md")).unwrap());
    assert!(rows.len() >= 50, "only {} lines", rows.len());
    for (promise, names) in rows {
        assert!(!names.is_empty(), "no test for: {promise}");
        for name in names {
            assert!(tests.contains(&name), "there is no test {name}, which should prove: {promise}");
        }
    }
}
