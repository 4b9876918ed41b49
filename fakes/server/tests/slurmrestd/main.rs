//! One suite, two arms: what slurmrestd does, of the fake over real HTTP, and of the real one.
//!
//! The laws are in `laws/*.txt` and in `http.rs`. The real arm needs a lab; where none can be started it
//! says so. A law that the real one breaks is a wrong law.

#![allow(
    clippy::panic,
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "tests may fail loudly, and say what they skip"
)]

mod client;
#[path = "../../../tests/slurmrestd/document.rs"]
mod document;
mod fit;
mod http;
mod law;
mod load;
mod run;
mod site;

use std::{thread, time::Instant};

use drawbridge_sim::Release;

use crate::{document::HOLDS_NOTHING, fit::Fit, law::Law, site::Site};

const RELEASES: [Release; 2] = [Release::V24_11, Release::V26_05];

fn laws() -> Vec<Law> {
    let texts = [
        include_str!("laws/accounting.txt"),
        include_str!("laws/external.txt"),
        include_str!("laws/life.txt"),
        include_str!("laws/nodes.txt"),
        include_str!("laws/read.txt"),
        include_str!("laws/submit.txt"),
        include_str!("laws/tokens.txt"),
        include_str!("laws/update.txt"),
        include_str!("laws/wire.txt"),
    ];
    let wanted = std::env::var("LAW").unwrap_or_default();
    let laws = texts.iter().flat_map(|text| law::read(text));
    laws.filter(|law| law.name.contains(&wanted)).collect()
}

/// Keeps every law, says how many, and names those that were broken.
fn keep(arm: &str, site: &mut Site) -> Vec<String> {
    let (laws, release) = (laws(), site.release);
    let began = Instant::now();
    let (kept, mut broken) = run::keep_all(site, &laws);
    let kept = kept + http::keep_all(site, &mut broken);
    let (text, code) = (laws.len(), http::LAWS.len());
    println!(
        "{arm} {release}: {text} laws as text and {code} in code, in every version: {kept} kept in {} s, {} broken",
        began.elapsed().as_secs(),
        broken.len()
    );
    broken
}

/// Does it for both releases at once, and fails with everything that went wrong.
fn for_both(work: fn(Release) -> Vec<String>) {
    let wrong: Vec<String> = thread::scope(|scope| {
        let threads = RELEASES.map(|release| scope.spawn(move || work(release)));
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

#[test]
fn the_fake_keeps_the_laws() {
    for_both(|release| keep("fake", &mut Site::fake(release, 4.0)));
}

#[test]
#[ignore = "starts real Slurms, which takes minutes: .ci/slurmrestd"]
fn the_real_one_keeps_the_laws_and_ours_fits_its_document() {
    for_both(|release| match Site::real(release) {
        Ok(real) => beside(real),
        Err(why) => {
            println!("only the fake was held to the laws: {why}");
            vec![]
        }
    });
}

/// The laws on the real one, then on ours. All answers are held to the document that the real one serves:
/// ours may break it only where the real one's own do.
fn beside(mut real: Site) -> Vec<String> {
    let document = real.call("alice", "GET", "/openapi/v3", None).value();
    real.fit = Some(Fit::new(document.clone()));
    let mut wrong = keep("real", &mut real);
    let mut fake = Site::fake(real.release, 4.0);
    fake.fit = Some(Fit::new(document));
    wrong.extend(keep("fake", &mut fake));
    let [(theirs, known), (ours, found)] =
        [&real, &fake].map(|site| site.fit.as_ref().unwrap().found());
    // Whether a job that runs, or one that holds nothing, is there when a call asks is chance: what the real
    // one's jobs break in one call they may break in every other.
    let elsewhere = |held: &str| known.keys().any(|it| it.ends_with(held));
    let expected = |what: &str| {
        let held = what.find("/jobs/job_resources").map(|at| &what[at..]);
        known.contains_key(what)
            || held.is_some_and(|held| held == HOLDS_NOTHING || elsewhere(held))
    };
    let new = found.iter().filter(|(objection, _)| !expected(objection));
    let new: Vec<String> = new
        .map(|(what, target)| {
            format!("the document of {} objects: {what}\n    {target}", real.release)
        })
        .collect();
    println!(
        "document {}: {ours} answers of ours and {theirs} of the real one held to it; it objects to {} kinds of things in the real one's, and to {} others in ours",
        real.release,
        known.len(),
        new.len()
    );
    wrong.extend(new);
    wrong
}
