//! A recorded run shows every moment as it was, from memory and from a file, and can be told anew.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::{io::Cursor, path::Path, sync::Arc};

use drawbridge_scenarios::{
    Frame, Scenario, World, format,
    recording::{
        Chunk, Film, Recorder, Still,
        tape::{Header, Reader, TapeError, Writer},
    },
    run,
};
use drawbridge_sim::Time;

fn text(name: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(folder.join(name).with_extension("yaml")).unwrap()
}

fn library(name: &str) -> Scenario {
    format::parse(name, &text(name), &format::NoFiles).unwrap()
}

/// Every piece of a run, of some 100 records each.
fn chunks(recorder: &mut Recorder) -> Vec<Chunk> {
    std::iter::from_fn(|| recorder.next(|chunk| 100 <= chunk.records.len())).collect()
}

fn film(chunks: Vec<Chunk>) -> Film {
    let mut film = Film::default();
    chunks.into_iter().for_each(|chunk| film.add(chunk));
    film
}

fn recorded(name: &str) -> Film {
    let scenario = library(name);
    let seed = scenario.seed;
    film(chunks(&mut Recorder::new(Arc::new(scenario), seed)))
}

/// A frame without what is only read now and then, nodes by name: a film has them as they came.
fn comparable(mut frame: Frame) -> Frame {
    frame.metrics.clear();
    frame.nodes.sort_by(|a, b| a.name.cmp(&b.name));
    frame
}

/// Plays the scenario beside its film and compares what there is to see after every event.
fn check(name: &str) {
    let film = recorded(name);
    let scenario = library(name);
    let mut world = World::new(&scenario, scenario.seed);
    loop {
        let (seen, is) = (film.frame(world.events()), world.frame());
        let is = Frame { now: seen.now, ..is };
        assert_eq!(comparable(seen), comparable(is), "{name} after {} records", world.events());
        if !world.step() {
            break;
        }
    }
    assert_eq!(film.len(), world.events());
    assert_eq!(film.ending().unwrap().hash, world.hash().to_string());
}

#[test]
fn every_moment_of_a_film_is_the_moment_itself() {
    // Gangs, MPI, crashes, nodes that come and go, nodes outside of Slurm, jobs that are queued again.
    for name in [
        "gang_deadlock",
        "bridge_crash_after_submit",
        "external_nodes",
        "node_down",
        "daemon_set_nodes",
    ] {
        check(name);
    }
}

#[test]
fn a_still_that_moves_is_like_one_that_is_taken_there() {
    let film = recorded("job_parallelism");
    let mut moving = Still::default();
    // Forwards, backwards, by little and by much.
    for event in [0, 1, 2, 50, 51, 49, 400, 399, 3, film.len(), film.len() - 1, 200, 0] {
        moving.seek(&film, event);
        let mut taken = Still::default();
        taken.seek(&film, event);
        assert!(moving.pods().eq(taken.pods()), "{event}");
        assert!(moving.jobs().eq(taken.jobs()), "{event}");
        assert!(moving.nodes().eq(taken.nodes()), "{event}");
    }
}

#[test]
fn a_time_finds_the_events_up_to_it() {
    let film = recorded("reservation_flow");
    let at = Time::from_ms(11_000);
    let event = usize::try_from(film.event_at(at)).unwrap();
    assert!(film.diary().from(0).take(event).all(|record| record.at <= at));
    assert!(film.diary().from(event).all(|record| at < record.at));
}

#[test]
fn a_run_is_judged_while_it_is_recorded() {
    let film = recorded("mpi_podgroup");
    let scenario = library("mpi_podgroup");
    let ending = film.ending().unwrap();
    assert_eq!(ending.expectations, run(&scenario, scenario.seed).report.expectations);
    assert!(ending.expectations.iter().all(|it| it.passed));
    assert!(2 < film.cycles().len());
}

fn taped(chunks: &[Chunk]) -> Vec<u8> {
    let header = Header { title: "a".into(), why: "b".into(), seed: 7 };
    let mut writer = Writer::begin(vec![], &header).unwrap();
    chunks.iter().for_each(|chunk| writer.add(chunk).unwrap());
    writer.finish().unwrap()
}

fn read(bytes: &[u8]) -> Result<Film, TapeError> {
    let mut reader = Reader::open(Cursor::new(bytes))?;
    let mut film = Film::default();
    while let Some(chunk) = reader.next_chunk()? {
        film.add(chunk);
    }
    Ok(film)
}

#[test]
fn a_file_gives_back_the_run() {
    let scenario = Arc::new(library("rolling_update"));
    let chunks = chunks(&mut Recorder::new(scenario.clone(), scenario.seed));
    let bytes = taped(&chunks);
    let reader = Reader::open(Cursor::new(&bytes)).unwrap();
    let (was, is) = (film(chunks), read(&bytes).unwrap());
    assert_eq!(reader.header().seed, 7);
    assert_eq!(reader.index().map(|it| (it.events, it.now)), Some((was.len(), was.now())));
    assert_eq!(is.ending(), was.ending());
    for event in (0..=was.len()).step_by(50) {
        assert_eq!(is.frame(event), was.frame(event));
        assert_eq!(is.record(event), was.record(event));
    }
}

#[test]
fn a_file_whose_writer_died_is_read_as_far_as_it_goes() {
    let scenario = Arc::new(library("rolling_update"));
    let mut chunks = chunks(&mut Recorder::new(scenario.clone(), scenario.seed));
    let header = Header::default();
    let whole = film(chunks.clone()).len();
    let mut writer = Writer::begin(vec![], &header).unwrap();
    // Blocks are written when they are full, or at an end.
    for chunk in &mut chunks {
        chunk.ending.get_or_insert_default();
        writer.add(chunk).unwrap();
    }
    let bytes = writer.finish().unwrap();
    let torn = read(&bytes[..bytes.len() * 2 / 3]).unwrap();
    assert!(100 < torn.len() && torn.len() < whole, "{} of {whole}", torn.len());
}

#[test]
fn a_damaged_file_says_where() {
    let scenario = Arc::new(library("reservation_flow"));
    let bytes = taped(&chunks(&mut Recorder::new(scenario.clone(), scenario.seed)));
    let said = |bytes: &[u8]| read(bytes).map(|film| film.len()).map_err(|it| it.to_string());
    let with = |at: usize, byte: u8| {
        let mut bytes = bytes.clone();
        bytes[at] = byte;
        bytes
    };
    assert_eq!(said(b"why: a"), Err("this is no recorded run".into()));
    assert_eq!(said(&with(8, 99)), Err("this is version 99 of recorded runs".into()));
    assert_eq!(
        said(&with(9, 0)),
        Err("the file is damaged at byte 9: no block begins here".into())
    );
    let middle = bytes.len() / 2;
    let wrong = said(&with(middle, !bytes[middle])).unwrap_err();
    assert!(wrong.ends_with("the checksum is wrong"), "{wrong}");
}

/// The names of everything that is written of a row.
fn fields(row: &impl serde::Serialize) -> String {
    let json = serde_json::to_value(row).unwrap();
    let keys = json.as_object().into_iter().flatten().map(|(key, _)| key.as_str());
    keys.collect::<Vec<_>>().join(" ")
}

#[test]
fn rows_have_the_fields_that_the_version_says() {
    // If this fails, files hold something else than before: count VERSION in `tape.rs` up.
    let film = recorded("mpi_podgroup");
    let frame = film.frame(film.len());
    let told = [
        fields(&frame.pods[0]),
        fields(frame.pods[0].mpi.as_ref().unwrap()),
        fields(&frame.jobs[0]),
        fields(&frame.nodes[0]),
        fields(film.ending().unwrap()),
    ];
    insta::assert_snapshot!(told.join("\n"), @"
    boundMs conditions createdMs finishedMs gang jobId labels message mpi name namespace node owner phase rank reason scheduler slurmNode startedMs terminating uid
    barrier met program ranks
    account backfilled bridged cpus dependency endMs exitCode expectedStartMs factors jobId minNodes name nodes partition priority qos reason startMs state submitMs tasks timeLimitMs user
    conditions cordoned cpuHolders cpus cpusAlloc gpuHolders gres gresAlloc memoryAllocMb memoryMb name partitions pods reason slurmName state switch taints
    expectations hash refused violations
    ");
}

#[test]
fn a_story_that_is_told_anew_is_the_scenario_that_tells_it() {
    let text = text("mpi_podgroup");
    let before = Arc::new(library("mpi_podgroup"));
    let mut recorder = Recorder::new(before.clone(), before.seed);
    let mut told = film(chunks(&mut recorder));
    let whole = told.len();
    for (at, steps) in [
        (Time::from_ms(120_000), vec!["sbatch: {flags: -N2 -J more, runtime: 3m}".to_owned()]),
        (
            Time::from_ms(700_000),
            vec!["slurmNode: {name: n2, state: down, reason: fire}".to_owned()],
        ),
        // Where nothing happens any more.
        (told.now(), vec!["sbatch: {flags: -N1 -J late, runtime: 1m}".to_owned()]),
    ] {
        let next = at + drawbridge_sim::Span::ms(1);
        let (text, scenario) =
            format::retold("mpi_podgroup.yaml", &text, &format::NoFiles, next, &steps).unwrap();
        let (mut again, shared) = recorder.retold(Arc::new(scenario), at).unwrap();
        let mut film = told.clone();
        film.cut(shared, at);
        chunks(&mut again).into_iter().for_each(|chunk| film.add(chunk));
        let saved = format::parse("saved.yaml", &text, &format::NoFiles).unwrap();
        let fresh = run(&saved, saved.seed);
        assert_eq!(film.ending().unwrap().hash, fresh.report.event_hash.to_string(), "{steps:?}");
        assert_eq!(film.len(), fresh.report.events);
        assert_ne!(film.len(), whole);
        // The moments are those of the new story.
        let last = film.frame(film.len());
        assert_eq!(last.jobs, fresh.report.jobs);
        assert_eq!(last.pods, fresh.report.pods);
    }
    told.cut(0, Time::ZERO);
    assert_eq!((told.len(), told.frame(9).pods.len()), (0, 0));
}
