//! One case on both sides, operation by operation.

use crate::{
    case::{Case, Cluster, Record, Step},
    compare::{Difference, differences},
    lab::{LabError, LabOptions},
    mutants::Fault,
    operation::{NotModelled, Operation},
    real::Real,
    twin::Twin,
    view::View,
};

/// What came of a case.
#[derive(Clone, Debug, Default)]
pub struct CaseResult {
    /// The case with what the real Slurm showed, up to the first difference.
    pub case: Case,
    /// Operations that both sides did.
    pub operations: usize,
    /// Those after which nothing differed.
    pub equal: usize,
    /// Those that began while a job was waiting for others to make room.
    pub contended: usize,
    /// Why operations were left out.
    pub not_modelled: Vec<NotModelled>,
    /// What differed after the last operation; empty if nothing did.
    pub differences: Vec<Difference>,
    /// The operation after which the real Slurm did not come to rest while it differed: the machine
    /// was too slow to say anything, and the case ends before it.
    pub unsettled: Option<String>,
}

/// Operations known in advance.
#[derive(Clone, Debug)]
pub struct Kept(pub std::collections::VecDeque<String>);

/// Where the next operation comes from; sees what Slurm shows.
pub(crate) trait Source {
    fn next(&mut self, seen: &View) -> Option<String>;
}

impl Source for Kept {
    fn next(&mut self, _seen: &View) -> Option<String> {
        self.0.pop_front()
    }
}

/// Runs operations on both sides until one differs or there are no more.
pub(crate) fn run_case(
    options: &LabOptions,
    cluster: &Cluster,
    source: &mut dyn Source,
) -> Result<CaseResult, LabError> {
    let mut result = CaseResult::default();
    result.case.cluster = cluster.clone();
    if let Err(why) = Twin::new(cluster, 0) {
        result.not_modelled.push(why);
        return Ok(result);
    }
    // On a busy machine a daemon may come too late, once.
    let mut real = Real::start(options, cluster).or_else(|_| Real::start(options, cluster))?;
    let mut seen = real.look()?;
    result.case.epoch = real.epoch;
    let Ok(mut twin) = Twin::new(cluster, real.epoch) else { return Ok(result) };
    while let Some(text) = source.next(&seen) {
        let operation = match Operation::parse(&text) {
            Ok(operation) => operation,
            Err(why) => {
                result.not_modelled.push(why);
                continue;
            }
        };
        let contended = seen.is_contended();
        let (record, settled) = real.perform(&text)?;
        seen = record.view.clone();
        let found = step(&mut twin, operation, &record);
        if !settled && found.as_ref().is_ok_and(|found| !found.is_empty()) {
            result.unsettled = Some(text);
            break;
        }
        result.case.steps.push(Step { operation: text, record: Some(record) });
        let found = match found {
            Ok(found) => found,
            Err(why) => {
                // What follows rests on it.
                result.not_modelled.push(why);
                break;
            }
        };
        result.operations += 1;
        result.contended += usize::from(contended);
        if !found.is_empty() {
            result.differences = found;
            break;
        }
        result.equal += 1;
    }
    Ok(result)
}

/// Runs operations on the real Slurm alone and records what it shows.
pub(crate) fn record_case(
    options: &LabOptions,
    cluster: &Cluster,
    source: &mut dyn Source,
) -> Result<CaseResult, LabError> {
    let mut result = CaseResult::default();
    result.case.cluster = cluster.clone();
    let mut real = Real::start(options, cluster).or_else(|_| Real::start(options, cluster))?;
    let mut seen = real.look()?;
    result.case.epoch = real.epoch;
    while let Some(operation) = source.next(&seen) {
        let (record, settled) = real.perform(&operation)?;
        if !settled {
            result.unsettled = Some(operation);
            break;
        }
        seen = record.view.clone();
        result.case.steps.push(Step { operation, record: Some(record) });
    }
    Ok(result)
}

/// A recording against the model: as if it had been done now.
pub(crate) fn replay_case(case: &Case) -> CaseResult {
    let mut result = CaseResult { case: case.clone(), ..CaseResult::default() };
    let mut twin = match Twin::new(&case.cluster, case.epoch) {
        Ok(twin) => twin,
        Err(why) => {
            result.not_modelled.push(why);
            return result;
        }
    };
    let mut contended = false;
    for each in &case.steps {
        let Some(record) = &each.record else { continue };
        let found = Operation::parse(&each.operation)
            .and_then(|operation| step(&mut twin, operation, record));
        let found = match found {
            Ok(found) => found,
            Err(why) => {
                // What follows rests on it.
                result.not_modelled.push(why);
                return result;
            }
        };
        result.operations += 1;
        result.contended += usize::from(contended);
        contended = record.view.is_contended();
        if !found.is_empty() {
            result.differences = found;
            let n = result.operations;
            result.case.steps.truncate(n);
            return result;
        }
        result.equal += 1;
    }
    result
}

fn step(
    twin: &mut Twin,
    operation: Operation,
    record: &Record,
) -> Result<Vec<Difference>, NotModelled> {
    let answer = twin.perform(record.asked_ms, operation)?;
    let view = twin.view(record.seen_ms);
    twin.correct_starts(record);
    Ok(differences((&record.answer, &record.view), (&answer, &view)))
}

/// The model against what the real Slurm showed when the case was recorded: the first operation
/// after which they differ, if any.
pub fn replay(case: &Case) -> Result<Option<(usize, Vec<Difference>)>, NotModelled> {
    replay_with(case, None)
}

pub(crate) fn replay_with(
    case: &Case,
    fault: Option<&Fault>,
) -> Result<Option<(usize, Vec<Difference>)>, NotModelled> {
    let mut twin = match fault {
        Some(fault) => Twin::faulty(&fault.cluster(&case.cluster), case.epoch, fault.inside())?,
        None => Twin::new(&case.cluster, case.epoch)?,
    };
    for (index, each) in case.steps.iter().enumerate() {
        let Some(record) = &each.record else { continue };
        let text = fault.map_or(each.operation.clone(), |fault| fault.operation(&each.operation));
        let found = step(&mut twin, Operation::parse(&text)?, record)?;
        if !found.is_empty() {
            return Ok(Some((index, found)));
        }
    }
    Ok(None)
}
