//! The smallest sequence of operations, on the smallest cluster, that still shows a difference.

mod cluster;

use std::collections::VecDeque;

use crate::{
    case::{Case, Step},
    compare::Difference,
    lab::{LabError, LabOptions},
    lockstep::{CaseResult, Kept, run_case},
    twin::Twin,
};

/// Leaves out operations, and then what the cluster can do without, as long as a difference stays. At
/// most `budget` tries for each.
pub(crate) fn shrink(
    options: &LabOptions,
    found: &CaseResult,
    budget: usize,
) -> Result<CaseResult, LabError> {
    let best = fewer_operations(options, found, budget)?;
    Ok(smaller_cluster(options, best, budget))
}

/// A cluster that neither side can start with is none: whatever goes wrong, the larger one stays.
fn smaller_cluster(options: &LabOptions, mut best: CaseResult, budget: usize) -> CaseResult {
    let kind = best.differences.first().map(kind);
    let (mut at, mut left) = (0, budget);
    while 0 < left {
        let Some(less) = cluster::smaller(&best.case.cluster).into_iter().nth(at) else { break };
        at += 1;
        if Twin::new(&less, 0).is_err() {
            continue;
        }
        left -= 1;
        let steps = best.case.steps.iter().map(|step| step.operation.clone()).collect();
        match run_case(options, &less, &mut Kept(steps)) {
            Ok(again)
                if is_same(&again, &kind) && again.case.steps.len() <= best.case.steps.len() =>
            {
                best = CaseResult { case: named(again.case, &best.case), ..again };
                // What came next has taken its place.
                at -= 1;
            }
            Ok(_) | Err(_) => {}
        }
    }
    best
}

fn fewer_operations(
    options: &LabOptions,
    found: &CaseResult,
    budget: usize,
) -> Result<CaseResult, LabError> {
    let mut best = found.clone();
    let kind = best.differences.first().map(kind);
    let mut left = budget;
    let mut chunk = best.case.steps.len().div_ceil(2).max(1);
    while 0 < chunk && 0 < left {
        let mut at = 0;
        // The last operation shows it: it stays.
        while at + 1 < best.case.steps.len() && 0 < left {
            left -= 1;
            let end = (at + chunk).min(best.case.steps.len() - 1);
            let steps = without(&best.case.steps, at, end);
            let again = again(options, &best.case, steps)?;
            if !is_same(&again, &kind) || best.case.steps.len() <= again.case.steps.len() {
                at = end;
            } else {
                best = CaseResult { case: named(again.case, &best.case), ..again };
            }
        }
        chunk = if chunk == 1 { 0 } else { chunk.div_ceil(2) };
    }
    Ok(best)
}

/// What kind of difference it is: the property and the words, whatever the numbers.
fn kind(found: &Difference) -> (String, String, String) {
    let words = |text: &str| text.chars().filter(|c| !c.is_ascii_digit()).collect::<String>();
    (words(&found.what), words(&found.slurm), words(&found.model))
}

fn is_same(result: &CaseResult, wanted: &Option<(String, String, String)>) -> bool {
    result.differences.iter().map(kind).any(|found| wanted.as_ref() == Some(&found))
}

/// The same operations once more: what does not show again was chance.
pub(crate) fn confirm(options: &LabOptions, found: &CaseResult) -> Result<CaseResult, LabError> {
    let steps = found.case.steps.iter().map(|step| step.operation.clone()).collect();
    let result = again(options, &found.case, steps)?;
    Ok(CaseResult { case: named(result.case, &found.case), ..result })
}

fn again(options: &LabOptions, case: &Case, steps: Vec<String>) -> Result<CaseResult, LabError> {
    let once = |steps| run_case(options, &case.cluster, &mut Kept(VecDeque::from(steps)));
    // A lab that dies on a busy machine may live the next time.
    once(steps.clone()).or_else(|_| once(steps))
}

fn named(case: Case, like: &Case) -> Case {
    Case { why: like.why.clone(), family: like.family.clone(), seed: like.seed, ..case }
}

/// The operations but those from `at` to `end`, with jobs called by the numbers that they then get.
fn without(steps: &[Step], at: usize, end: usize) -> Vec<String> {
    let mut gone = vec![];
    let mut known = 0;
    for (index, step) in steps.iter().enumerate() {
        let newest = step.record.as_ref().and_then(|record| record.view.newest_job()).unwrap_or(0);
        if (at..end).contains(&index) {
            gone.extend(known + 1..=newest);
        }
        known = newest.max(known);
    }
    let kept = steps.iter().enumerate().filter(|(index, _)| !(at..end).contains(index));
    kept.filter_map(|(_, step)| renumbered(&step.operation, &gone)).collect()
}

/// The operation after jobs are gone; `None` if it speaks of one of them.
fn renumbered(operation: &str, gone: &[u32]) -> Option<String> {
    let words: Vec<_> = operation.split(' ').collect();
    let is_list = |index: usize| match words[0] {
        "finish" | "scancel" => index == 1,
        "scontrol" => {
            index == 2 && matches!(words[1], "hold" | "release" | "requeue" | "requeuehold")
        }
        _ => false,
    };
    let mut result = vec![];
    for (index, word) in words.iter().enumerate() {
        let names_jobs = is_list(index)
            || word.to_ascii_lowercase().starts_with("jobid=")
            || (0 < index && matches!(words[index - 1], "-d" | "--dependency"));
        result.push(if names_jobs { renumbered_word(word, gone)? } else { (*word).to_owned() });
    }
    Some(result.join(" "))
}

fn renumbered_word(word: &str, gone: &[u32]) -> Option<String> {
    let mut text = String::new();
    let mut digits = String::new();
    for c in word.chars().chain([' ']) {
        if c.is_ascii_digit() {
            digits.push(c);
            continue;
        }
        if let Ok(number) = digits.parse::<u32>() {
            if gone.contains(&number) {
                return None;
            }
            let less = gone.iter().filter(|other| **other < number).count();
            text += &(number - u32::try_from(less).unwrap_or(0)).to_string();
        }
        digits.clear();
        text.push(c);
    }
    Some(text.trim_end().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jobs_are_called_by_the_numbers_that_they_then_get() {
        #[rustfmt::skip]
        let rows = [
            ("finish 5 3",                         Some("finish 4 3")),
            ("finish 2",                           None),
            ("scontrol hold 1,3",                  Some("scontrol hold 1,2")),
            ("scontrol update JobId=3 Priority=3", Some("scontrol update JobId=2 Priority=3")),
            ("sbatch -n3 -d afterok:3",            Some("sbatch -n3 -d afterok:2")),
            ("sbatch -n2",                         Some("sbatch -n2")),
        ];
        for (operation, expected) in rows {
            assert_eq!(renumbered(operation, &[2]).as_deref(), expected, "{operation}");
        }
    }
}
