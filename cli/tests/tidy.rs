//! Rules about the source itself, as ordinary tests.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::{
    fs,
    path::{Path, PathBuf},
};

const LINES_MAX: usize = 600;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

/// Every file under the crates with this extension, with its text.
fn sources(extension: &str) -> Vec<(PathBuf, String)> {
    let mut found = vec![];
    for part in ["sim", "bridge", "fakes", "scenarios", "replay", "tui", "cli"] {
        collect(&root().join(part), extension, &mut found);
    }
    assert!(!found.is_empty(), "no .{extension} file found");
    found.sort();
    found
}

fn collect(folder: &Path, extension: &str, found: &mut Vec<(PathBuf, String)>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            if path.file_name().is_some_and(|name| name != "target") {
                collect(&path, extension, found);
            }
        } else if path.extension().is_some_and(|it| it == extension) {
            let text = fs::read_to_string(&path).unwrap();
            found.push((path.strip_prefix(root()).unwrap().to_owned(), text));
        }
    }
}

/// The files for which `is_wrong` holds, as lines.
fn offenders(extension: &str, is_wrong: impl Fn(&Path, &str) -> bool) -> Vec<String> {
    let wrong = sources(extension).into_iter().filter(|(path, text)| is_wrong(path, text));
    wrong.map(|(path, _)| path.display().to_string()).collect()
}

#[test]
fn every_file_opens_with_its_picture() {
    let wrong = offenders("rs", |_, text| !text.starts_with("//!"));
    assert_eq!(wrong, Vec::<String>::new(), "start these files with a `//!` comment");
}

#[test]
fn no_file_is_longer_than_people_read() {
    let wrong = offenders("rs", |_, text| LINES_MAX < text.lines().count());
    assert_eq!(wrong, Vec::<String>::new(), "split these files: more than {LINES_MAX} lines");
}

#[test]
fn no_module_hides_behind_mod_rs() {
    let wrong = offenders("rs", |path, _| path.file_name().is_some_and(|name| name == "mod.rs"));
    assert_eq!(wrong, Vec::<String>::new(), "name these files after their modules");
}

#[test]
fn no_source_is_left_unfinished() {
    // Written in two halves so that this file doesn't find itself.
    let marks = [concat!("to", "do!("), concat!("unimple", "mented!("), concat!("db", "g!(")];
    let wrong = offenders("rs", |_, text| marks.iter().any(|mark| text.contains(mark)));
    assert_eq!(wrong, Vec::<String>::new(), "finish these files");
}

#[test]
fn every_package_inherits_the_workspace_lints() {
    let is_package = |path: &Path| path.file_name().is_some_and(|name| name == "Cargo.toml");
    let wrong = offenders("toml", |path, text| {
        is_package(path) && !text.contains("[lints]\nworkspace = true")
    });
    assert_eq!(wrong, Vec::<String>::new(), "add `[lints] workspace = true` to these packages");
}

#[test]
fn the_pure_crates_have_the_same_bans() {
    let read = |path: &str| fs::read_to_string(root().join(path)).unwrap();
    assert_eq!(read("sim/clippy.toml"), read("bridge/core/clippy.toml"));
}

#[test]
fn json_maps_are_sorted() {
    // A crate that turns on serde_json's `preserve_order` would change every snapshot and hash.
    let value: serde_json::Value = serde_json::from_str(r#"{"b":1,"a":1}"#).unwrap();
    assert_eq!(value.to_string(), r#"{"a":1,"b":1}"#);
}
