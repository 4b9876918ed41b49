//! Whole sessions without a terminal: keys in, screens and files out.

use std::{fs, path::Path};

use drawbridge_scenarios::{
    format::{NoFiles, parse},
    recording::tape::Reader,
    run,
};

use crate::{
    Feed, Opening, Options, Play, Script, demo,
    press::{PressError, Session, save, screen},
    theme::ThemeName,
};

fn options() -> Options {
    Options { theme: ThemeName::Terminal, view: None, at: None, cast: None }
}

fn script(keys: &str) -> Script {
    Script { keys: keys.to_owned(), size: (100, 30) }
}

fn library(name: &str) -> Opening {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../scenarios");
    let text = fs::read_to_string(folder.join(name).with_extension("yaml")).unwrap();
    let scenario = parse(name, &text, &NoFiles).unwrap();
    let (seed, title) = (scenario.seed, name.to_owned());
    let (files, why) = (Box::new(NoFiles), scenario.why.clone());
    let play = Play { name: format!("{name}.yaml"), text, scenario, seed, files, record: None };
    Opening { title, why, feed: Feed::Scenario(Box::new(play)) }
}

fn shown(keys: &str) -> String {
    screen(vec![library("mpi_podgroup")], &options(), &script(keys)).unwrap()
}

#[test]
fn keys_change_the_screen() {
    let screen = shown("End 3 a");
    assert!(screen.contains("Jobs 2"), "{screen}");
    assert!(screen.contains("event 1"), "{screen}");
}

#[test]
fn letters_in_a_prompt_are_letters() {
    let screen = shown("3 / q Enter");
    assert!(screen.contains("· /q"), "{screen}");
}

#[test]
fn a_word_that_is_no_key_is_refused() {
    let error = screen(vec![library("mpi_podgroup")], &options(), &script("Ctrl-Alt"));
    assert!(matches!(error, Err(PressError::Key(word)) if word == "Ctrl-Alt"));
}

#[test]
fn nothing_to_show_is_an_error() {
    assert!(screen(vec![], &options(), &script("")).is_err());
}

#[test]
fn the_demo_ends_as_it_expects() {
    let mut session = Session::new(vec![demo(None)], &options(), &script("")).unwrap();
    session.play(&script("End"), |_, _| {}).unwrap();
    let ending = session.model.reel.film.ending().unwrap();
    let unmet: Vec<_> = ending.expectations.iter().filter(|it| !it.passed).collect();
    assert!(unmet.is_empty() && !ending.expectations.is_empty(), "{unmet:?}");
    assert_eq!((&ending.refused[..], &ending.violations[..]), (&[][..], &[][..]));
}

#[test]
fn what_is_changed_and_saved_repeats_exactly() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("changed.yaml");
    let keys = format!(
        "t 5m Enter :submit Space runtime=2m Space -N1 Space -J Space extra Enter \
         t 8m Enter 4 e Enter t 9m Enter :priority Space 2 Space 9000 Enter :save Space {} Enter",
        path.display()
    );
    let mut session =
        Session::new(vec![library("mpi_podgroup")], &options(), &script(&keys)).unwrap();
    session.play(&script(&keys), |_, _| {}).unwrap();
    let model = &session.model;
    assert_eq!(model.changes.len(), 3, "{:?}", model.said);
    let saved = parse("changed.yaml", &fs::read_to_string(&path).unwrap(), &NoFiles).unwrap();
    let fresh = run(&saved, saved.seed).report;
    assert_eq!(model.reel.film.ending().unwrap().hash, fresh.event_hash.to_string());
    assert_eq!(model.reel.film.len(), fresh.events);
    assert_eq!(fresh.refused, Vec::<String>::new());
    assert!(fresh.jobs.iter().any(|job| job.name == "extra"));
    // The first change left the run as it was beside it.
    assert!(model.other.as_ref().is_some_and(|it| it.title == "mpi_podgroup as it was"));
}

#[test]
fn a_change_that_is_taken_back_leaves_no_trace() {
    let before = Session::new(vec![library("mpi_podgroup")], &options(), &script("")).unwrap();
    let hash = |session: &Session| session.model.reel.film.ending().unwrap().hash.clone();
    let keys = script("t 5m Enter :cancel Space 1 Enter u");
    let mut session = Session::new(vec![library("mpi_podgroup")], &options(), &keys).unwrap();
    session.play(&script("t 5m Enter :cancel Space 1 Enter"), |_, _| {}).unwrap();
    assert_ne!(hash(&session), hash(&before));
    session.play(&script("u"), |_, _| {}).unwrap();
    assert_eq!(hash(&session), hash(&before));
}

#[test]
fn a_change_that_can_not_be_made_says_why() {
    let screen = shown("t 5m Enter :kill Space n99 Enter");
    let said = screen.lines().last().unwrap_or_default().to_owned();
    assert!(said.contains("n99"), "{said}");
}

#[test]
fn what_would_let_a_gang_start_is_tried_on_copies_of_the_world() {
    let mut session = Session::new(vec![library("mpi_podgroup")], &options(), &script("")).unwrap();
    session.play(&script("2 t 5m Enter !"), |_, _| {}).unwrap();
    let tried = session.model.tried.as_ref().unwrap();
    let told = tried.verdicts.as_ref().unwrap().iter().map(|it| match it.starts_after {
        Some(after) => format!("{}: after {} s", it.text, after.as_secs()),
        None => format!("{}: no", it.text),
    });
    insta::assert_snapshot!(told.collect::<Vec<_>>().join("\n"), @"
    nothing changes: no
    job 1 native ends: after 0 s
    it has the highest priority: no
    ");
}

#[test]
fn a_recorded_run_opens_as_it_was_played() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.film");
    let mut opening = library("mpi_podgroup");
    if let Feed::Scenario(play) = &mut opening.feed {
        play.record = Some(path.clone());
    }
    let keys = script("4 t 12m Enter w");
    let played = screen(vec![opening], &options(), &keys).unwrap();
    let reader = Reader::open(std::io::BufReader::new(fs::File::open(&path).unwrap())).unwrap();
    let title = reader.header().title.clone();
    let taped = Opening { title, why: reader.header().why.clone(), feed: Feed::Tape(reader) };
    assert_eq!(screen(vec![taped], &options(), &keys).unwrap(), played);
}

#[test]
fn a_screen_is_saved_as_text_picture_and_session() {
    let folder = tempfile::tempdir().unwrap();
    let keys = script("4 t 12m Enter");
    for name in ["a.txt", "a.svg", "a.cast"] {
        let path = folder.path().join(name);
        save(vec![library("mpi_podgroup")], &options(), &keys, &path).unwrap();
        let text = fs::read_to_string(&path).unwrap();
        match name {
            "a.svg" => {
                assert!(text.starts_with("<svg") && text.contains("BBBB"), "{text}");
                assert_eq!(text.matches("<text").count(), text.matches("</text>").count());
            }
            "a.cast" => {
                let lines: Vec<serde_json::Value> =
                    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
                assert_eq!((&lines[0]["version"], &lines[0]["width"]), (&2.into(), &100.into()));
                // One picture at the start, and one for each word of the script.
                assert_eq!(lines.len(), 2 + 4);
                assert!(lines[5][2].as_str().unwrap().contains("BBBB"));
            }
            _ => assert!(text.contains("Nodes 4"), "{text}"),
        }
    }
}
