//! The first failure: made small, written down, and how to repeat it.

use std::{
    fs,
    path::{Path, PathBuf},
};

use drawbridge_explore::{Failure as Failed, Shrunk, Subject, Trial, generate, run, shrink};
use drawbridge_scenarios::fault::Fault;
use drawbridge_sim::Seed;

use super::args::ExploreArgs;
use crate::{failure::Failure, files::Loaded};

/// Where failures are kept unless the command line says otherwise.
const USUAL: &str = "scenarios/found";

/// How the files of generated scenarios would be called, before their seed.
pub(super) const GENERATED: &str = "generated_";

/// The seed that the grammar made this scenario of, if it did.
fn seed_of(path: &Path) -> Option<u64> {
    path.to_str()?.strip_prefix(GENERATED)?.strip_suffix(".yaml")?.parse().ok()
}

/// What is told about the first failure; with `--keep` it becomes a scenario.
pub(crate) fn first_failure(
    args: &ExploreArgs,
    loaded: &Loaded,
    subject: &Subject,
    failed: &Failed,
) -> Result<String, Failure> {
    let path = match seed_of(&loaded.path) {
        Some(seed) => format!("--generated {seed}"),
        None => loaded.path.display().to_string(),
    };
    let mut told = format!("first failure: {}\n", failed.scenario);
    told += &failed.findings.iter().map(|it| format!("  ✗ {it}\n")).collect::<String>();
    told += &format!("repeat with:\n  drawbridge explore {path} {}\n", failed.repeat);
    let faults: Vec<Fault> = failed.faults.iter().filter_map(|it| it.parse().ok()).collect();
    let outcome = run(subject, &Trial::listed(faults, failed.shared));
    let Some(small) = shrink(subject, failed.shared, &outcome, args.shrink) else {
        return Ok(told + "it could not be made smaller\n");
    };
    let flags: String = small.faults.iter().map(|it| format!(" --fault '{it}'")).collect();
    let flags = if failed.shared { format!(" --shared{flags}") } else { flags };
    told += &format!("made small in {} runs:\n  drawbridge explore {path}{flags}\n", small.tries);
    if !small.left_out.is_empty() {
        told += &format!("  the steps on lines {:?} don't matter\n", small.left_out);
    }
    let usual = Some(PathBuf::from(USUAL)).filter(|folder| folder.is_dir());
    if let Some(folder) = args.keep.clone().or(usual) {
        let kept = write(&folder, loaded, failed, &small)?;
        told += &format!("kept as {kept}\n");
    }
    Ok(told)
}

/// Writes the scenario with the faults as steps.
fn write(
    folder: &Path,
    loaded: &Loaded,
    failed: &Failed,
    small: &Shrunk,
) -> Result<String, Failure> {
    let from = &loaded.path;
    let text = match seed_of(from) {
        Some(seed) => generate(Seed(seed)),
        None => fs::read_to_string(from)
            .map_err(|error| Failure::path(from, error, "give a readable text file"))?,
    };
    let steps: Vec<usize> = loaded.scenario.steps.iter().map(|step| step.line).collect();
    let text = with_faults(&without_steps(&text, &steps, &small.left_out), small);
    let text = if failed.shared { with_replicas(&text) } else { text };
    let first = small.faults.first().map_or("nothing", |fault| fault.verdict.name());
    let path = folder.join(format!("{}_{}.yaml", failed.scenario, snake(first)));
    let failed = |error| Failure::path(folder, error, "give a folder that can be written");
    fs::create_dir_all(folder).map_err(failed)?;
    fs::write(&path, text).map_err(failed)?;
    Ok(path.display().to_string())
}

/// The same text without the steps that begin on these lines; `steps` has the lines of all.
fn without_steps(text: &str, steps: &[usize], left_out: &[usize]) -> String {
    let next_key = |from: usize| {
        let lines = text.lines().enumerate().skip(from);
        let mut keys =
            lines.filter(|(_, line)| line.starts_with(|it: char| it.is_ascii_alphabetic()));
        keys.next().map_or(usize::MAX, |(index, _)| index + 1)
    };
    let end_of = |line: usize| {
        let next = steps.iter().copied().filter(|other| line < *other).min();
        next.unwrap_or(usize::MAX).min(next_key(line))
    };
    let is_out = |line: usize| left_out.iter().any(|it| (*it..end_of(*it)).contains(&line));
    let kept = text.lines().enumerate().filter(|(index, _)| !is_out(index + 1));
    kept.map(|(_, line)| format!("{line}\n")).collect()
}

/// The same text with two replicas of the bridge.
fn with_replicas(text: &str) -> String {
    let features = "  features: {enableLeaderElection: true}\n";
    let text = match text.split_once("\nbridge:\n") {
        Some((before, after)) => format!("{before}\nbridge:\n{features}{after}"),
        None => text.replacen("\nsteps:\n", &format!("\nbridge:\n{features}\nsteps:\n"), 1),
    };
    text.replacen("\nsteps:\n", "\nbridgeReplicas: 2\n\nsteps:\n", 1)
}

/// The same text with a step for each fault before the others, and without what is expected when.
fn with_faults(text: &str, small: &Shrunk) -> String {
    let step = |fault: &Fault| {
        let Fault { request, nth, verdict } = fault;
        format!("- at: 0s\n  fault: {{request: {request}, nth: {nth}, verdict: {verdict}}}\n")
    };
    let steps: String = small.faults.iter().map(step).collect();
    let mut lines = String::new();
    for finding in &small.findings {
        lines += &format!("# found: {finding}\n");
    }
    let kept = text.split("\nexpect:").next().unwrap_or(text);
    match kept.split_once("\nsteps:\n") {
        // Some files indent their steps.
        Some((before, after)) => {
            let indent = if after.starts_with(' ') { "  " } else { "" };
            let steps: String = steps.lines().map(|line| format!("{indent}{line}\n")).collect();
            format!("{before}\nsteps:\n{lines}{steps}{after}\n")
        }
        None => format!("{kept}\nsteps:\n{lines}{steps}"),
    }
}

fn snake(text: &str) -> String {
    let letters = text.chars().flat_map(|letter| {
        let split = letter.is_uppercase().then_some('_');
        split.into_iter().chain(letter.to_lowercase())
    });
    letters.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_becomes_a_scenario_with_its_faults_first() {
        let small = Shrunk {
            faults: vec!["slurm.submit #1: loseReply".parse().unwrap()],
            left_out: vec![],
            findings: vec!["I4b: job 1 is left".to_owned()],
            tries: 1,
        };
        let text = "why: a\nsteps:\n- at: 1s\n  cordon: n1\nexpect:\n- pods: {}\n";
        assert_eq!(
            with_faults(text, &small),
            "why: a\nsteps:\n# found: I4b: job 1 is left\n- at: 0s\n  fault: {request: slurm.submit, \
             nth: 1, verdict: loseReply}\n- at: 1s\n  cordon: n1\n"
        );
        assert_eq!(snake("crashAfter"), "crash_after");
    }

    #[test]
    fn steps_that_do_not_matter_are_left_out_whole() {
        let text =
            "why: a\nsteps:\n- at: 1s\n  cordon: n1\n- at: 2s\n  apply:\n    a: b\nuntil: 3h\n";
        assert_eq!(
            without_steps(text, &[3, 5], &[5]),
            "why: a\nsteps:\n- at: 1s\n  cordon: n1\nuntil: 3h\n"
        );
        assert_eq!(
            without_steps(text, &[3, 5], &[3]),
            "why: a\nsteps:\n- at: 2s\n  apply:\n    a: b\nuntil: 3h\n"
        );
    }

    #[test]
    fn a_failure_of_two_replicas_is_kept_with_both() {
        let text = with_replicas("why: a\n\nsteps:\n- at: 1s\n");
        assert_eq!(
            text,
            "why: a\n\nbridge:\n  features: {enableLeaderElection: true}\n\nbridgeReplicas: 2\n\nsteps:\n- at: 1s\n"
        );
    }
}
