//! Makes a failure small: fewer faults, fewer steps, still the same kind of finding.
//!
//! ```text
//!   faults that struck ──▶ halves, quarters, … single ones left out while it still fails
//!   steps ──▶ one after the other left out while it still fails
//! ```

use drawbridge_scenarios::fault::Fault;

use crate::{
    subject::Subject,
    trial::{Outcome, Trial, run},
};

/// A failure, made small.
#[derive(Clone, Debug)]
pub struct Shrunk {
    /// The faults that are left.
    pub faults: Vec<Fault>,
    /// The lines of the scenario's file whose steps aren't needed.
    pub left_out: Vec<usize>,
    /// What is wrong with it.
    pub findings: Vec<String>,
    /// How many runs it took.
    pub tries: u64,
}

/// Makes a failure small within so many tries. `None` if it can't be had from a list of its faults.
pub fn shrink(
    subject: &Subject,
    shared: bool,
    outcome: &Outcome,
    tries_max: u64,
) -> Option<Shrunk> {
    let mut search = Search { kinds: kinds(&outcome.findings), shared, tries: 0, tries_max };
    let mut faults = outcome.fired.clone();
    let mut findings = search.fails(subject, &faults)?;
    search.fewer_faults(subject, &mut faults, &mut findings);
    let mut subject = subject.clone();
    let left_out = search.fewer_steps(&mut subject, &mut faults, &mut findings);
    Some(Shrunk { faults, left_out, findings, tries: search.tries })
}

struct Search {
    kinds: Vec<String>,
    shared: bool,
    tries: u64,
    tries_max: u64,
}

impl Search {
    /// The findings, if it still fails in the same way.
    fn fails(&mut self, subject: &Subject, faults: &[Fault]) -> Option<Vec<String>> {
        if self.tries_max <= self.tries {
            return None;
        }
        self.tries += 1;
        let outcome = run(subject, &Trial::listed(faults.to_vec(), self.shared));
        let same = kinds(&outcome.findings).iter().any(|kind| self.kinds.contains(kind));
        same.then_some(outcome.findings)
    }

    fn fewer_faults(
        &mut self,
        subject: &Subject,
        faults: &mut Vec<Fault>,
        findings: &mut Vec<String>,
    ) {
        let mut size = faults.len().div_ceil(2);
        while size > 0 && !faults.is_empty() {
            let mut from = 0;
            while from < faults.len() {
                let mut fewer = faults.clone();
                fewer.drain(from..(from + size).min(faults.len()));
                match self.fails(subject, &fewer) {
                    Some(found) => (*faults, *findings) = (fewer, found),
                    None => from += size,
                }
            }
            size /= 2;
        }
    }

    fn fewer_steps(
        &mut self,
        subject: &mut Subject,
        faults: &mut [Fault],
        findings: &mut Vec<String>,
    ) -> Vec<usize> {
        let mut lines: Vec<usize> = subject.scenario.steps.iter().map(|step| step.line).collect();
        lines.dedup();
        let mut left_out = vec![];
        for line in lines.into_iter().rev() {
            let mut scenario = subject.scenario.clone();
            scenario.steps.retain(|step| step.line != line);
            let smaller = Subject::new(scenario);
            if let Some(found) = self.fails(&smaller, faults) {
                (*subject, *findings) = (smaller, found);
                left_out.push(line);
            }
        }
        left_out
    }
}

/// What kinds of findings these are: `I4b`, `end`, and of those the words without names.
fn kinds(findings: &[String]) -> Vec<String> {
    let kind = |finding: &String| finding.split(':').next().unwrap_or_default().to_owned();
    findings.iter().map(kind).collect()
}
