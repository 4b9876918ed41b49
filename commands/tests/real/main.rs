//! Our commands beside Slurm's own, on the same cluster at the same time: the same text on both
//! streams, and the same exit code, character by character.
//!
//! Needs a lab: Linux, root and Debian's packages. Where none can be started they fail, unless
//! `DRAWBRIDGE_WITHOUT_SLURM=1` says that there is none to be had. `.ci/commands` runs them. What is compared is in `*.txt` beside this file; a line that
//! begins with a release is for that one alone. `rows:` is for lines whose rows may change places: Slurm's
//! sinfo goes through each partition in a thread of its own, so which of two rows comes first that its
//! order doesn't tell apart is chance. `numbers:` leaves numbers out, and the order of lines: sdiag counts itself.
#![allow(clippy::unwrap_used, reason = "tests")]
#![allow(clippy::panic, reason = "tests")]
#![allow(clippy::print_stdout, reason = "a test that takes minutes says how far it is")]

mod deeds;
mod site;

use drawbridge_sim::Release;

use self::site::{Said, Site};

const LISTS: [(&str, &str); 8] = [
    ("squeue", include_str!("squeue.txt")),
    ("sinfo", include_str!("sinfo.txt")),
    ("scontrol", include_str!("scontrol.txt")),
    ("scancel", include_str!("scancel.txt")),
    ("sbatch", include_str!("sbatch.txt")),
    ("sacct", include_str!("sacct.txt")),
    ("sprio", include_str!("sprio.txt")),
    ("sdiag", include_str!("sdiag.txt")),
];

fn says_the_same(release: Release) {
    let Some(mut site) = Site::start(release) else { return };
    let mut wrong = vec![];
    for (name, list) in LISTS {
        let lines: Vec<&str> = list.lines().filter_map(|line| of_release(line, release)).collect();
        let differences: Vec<String> =
            lines.iter().filter_map(|line| difference(&mut site, line)).collect();
        let same = lines.len() - differences.len();
        println!(
            "{} {name}: {same} of {} command lines say the same",
            release.as_str(),
            lines.len()
        );
        wrong.extend(differences);
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    deeds::jobs_are_as_the_originals_would_make_them(&mut site);
    deeds::changes_are_as_the_originals_would_make_them(&mut site, release);
}

/// A command line, without what says for which release it is; `None` if it isn't for this one.
fn of_release(line: &str, release: Release) -> Option<&str> {
    let line = line.trim();
    let mine = match line.split_once(": ") {
        Some((word, rest)) if ["24.11", "26.05"].contains(&word) => {
            return (word == release.as_str()).then_some(rest);
        }
        _ => line,
    };
    (!mine.is_empty() && !mine.starts_with('#')).then_some(mine)
}

/// How ours differs from Slurm's. Time goes on between the two, so what differs is asked again.
fn difference(site: &mut Site, line: &str) -> Option<String> {
    const TRIES: usize = 6;
    let (any_order, line) = line.strip_prefix("rows: ").map_or((false, line), |line| (true, line));
    let (any_number, line) =
        line.strip_prefix("numbers: ").map_or((false, line), |line| (true, line));
    let mut last = None;
    for _ in 0..TRIES {
        let [real, ours] = [site.real(line), site.ours(line)]
            .map(|said| if any_number { numberless(said) } else { said });
        if real == ours || (any_order && sorted(&real) == sorted(&ours)) {
            return None;
        }
        last = Some(describe(line, &real, &ours));
    }
    last
}

/// Without what is counted between two calls: numbers, the blanks beside them, and the order that comes of them.
fn numberless(mut said: Said) -> Said {
    let mut lines: Vec<String> = said.out.lines().map(numberless_line).collect();
    lines.sort_unstable();
    lines.dedup();
    said.out = lines.join("\n");
    said
}

fn numberless_line(line: &str) -> String {
    let words = line.split_whitespace().map(|word| {
        let kept = word.split(|c: char| c.is_ascii_digit()).filter(|part| !part.is_empty());
        kept.collect::<Vec<_>>().join("#")
    });
    words.collect::<Vec<_>>().join(" ")
}

fn sorted(said: &Said) -> (Vec<&str>, &str, i32) {
    let mut rows: Vec<&str> = said.out.lines().collect();
    rows.sort_unstable();
    (rows, &said.err, said.code)
}

fn describe(line: &str, real: &Said, ours: &Said) -> String {
    let mut text = format!("=== {line}: exit codes {} and {}\n", real.code, ours.code);
    for (real, ours) in [(&real.out, &ours.out), (&real.err, &ours.err)] {
        let (mut a, mut b) = (real.lines(), ours.lines());
        let mut shown = 0;
        loop {
            let pair = (a.next(), b.next());
            if pair == (None, None) || 4 <= shown {
                break;
            }
            if pair.0 != pair.1 {
                text += &format!("real {:?}\nours {:?}\n", pair.0, pair.1);
                shown += 1;
            }
        }
    }
    text
}

#[test]
fn the_commands_say_what_those_of_24_11_say() {
    says_the_same(Release::V24_11);
}

#[test]
fn the_commands_say_what_those_of_26_05_say() {
    says_the_same(Release::V26_05);
}
