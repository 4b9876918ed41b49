//! Operations as one types them, and what they mean to the model.

use std::collections::BTreeMap;

use drawbridge_sim::{
    JobBehaviour, JobId, JobTarget, JobUpdate, NodeUpdate, PartitionName, Requeue, Signal,
    SlurmNode, Submission, TimeLimit, Trap, expand_hostlist, parse_sbatch, parse_time_limit,
};

/// What the model can't be asked. Counted apart, never as equal.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct NotModelled(pub String);

/// An operation that the model knows.
#[derive(Clone, Debug)]
pub(crate) enum Operation {
    Submit(Box<Submission>),
    /// sbatch itself refuses it.
    BadCommand,
    Cancel(JobTarget),
    Requeue(Vec<JobId>, Requeue),
    /// The script ends.
    Finish(JobId, Signal),
    Hold(Vec<JobId>),
    Release(Vec<JobId>),
    UpdateJob(JobId, Box<JobUpdate>),
    UpdateNodes(Vec<SlurmNode>, NodeUpdate),
    /// Nothing but time passes.
    Wait,
}

/// Signals by which a script is told to end, and the codes that it ends with.
const ENDINGS: [(u8, Signal); 3] = [(0, Signal::Usr1), (1, Signal::Usr2), (3, Signal::Hup)];

impl Operation {
    /// Reads an operation.
    pub(crate) fn parse(text: &str) -> Result<Self, NotModelled> {
        let mut words = text.split_whitespace();
        let (first, second) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
        let rest: Vec<_> = words.collect();
        match first {
            "sbatch" => submit(text),
            "scancel" if rest.is_empty() => {
                JobTarget::parse(second).map(Self::Cancel).ok_or_else(|| unknown(text))
            }
            "finish" => {
                let code: u8 =
                    rest.first().map_or(Some(0), |code| code.parse().ok()).unwrap_or(255);
                let ending = ENDINGS.iter().find(|(known, _)| *known == code);
                let signal = ending.map(|(_, signal)| *signal).ok_or_else(|| unknown(text))?;
                Ok(Self::Finish(job(second)?, signal))
            }
            "wait" => Ok(Self::Wait),
            "scontrol" => control(second, &rest, text),
            _ => Err(unknown(text)),
        }
    }
}

fn unknown(text: &str) -> NotModelled {
    NotModelled(format!("`{text}`"))
}

fn job(text: &str) -> Result<JobId, NotModelled> {
    text.parse().map(JobId).map_err(|_| unknown(text))
}

fn jobs(text: &str) -> Result<Vec<JobId>, NotModelled> {
    text.split(',').map(job).collect()
}

fn submit(text: &str) -> Result<Operation, NotModelled> {
    let mut submission = match parse_sbatch(text) {
        Ok(submission) => submission,
        Err(error)
            if error.what.contains("does not honour") || error.what.contains("not modelled") =>
        {
            return Err(NotModelled(error.what));
        }
        Err(_) => return Ok(Operation::BadCommand),
    };
    if !text.contains("--uid") {
        submission.user = "root".into();
    }
    if submission.name == "wrap" {
        submission.name = "job".into();
    }
    let traps: BTreeMap<_, _> =
        ENDINGS.iter().map(|(code, signal)| (*signal, Trap::Exit(*code))).collect();
    submission.behaviour = Some(JobBehaviour { traps, ..JobBehaviour::forever() });
    Ok(Operation::Submit(Box::new(submission)))
}

fn control(verb: &str, rest: &[&str], text: &str) -> Result<Operation, NotModelled> {
    match verb {
        "hold" => Ok(Operation::Hold(jobs(&rest.concat())?)),
        "release" => Ok(Operation::Release(jobs(&rest.concat())?)),
        "requeue" => Ok(Operation::Requeue(jobs(&rest.concat())?, Requeue::Plain)),
        "requeuehold" => Ok(Operation::Requeue(jobs(&rest.concat())?, Requeue::Hold)),
        "update" => update(rest, text),
        _ => Err(unknown(text)),
    }
}

fn update(words: &[&str], text: &str) -> Result<Operation, NotModelled> {
    let pairs: Option<Vec<_>> = words.iter().map(|word| word.split_once('=')).collect();
    let pairs = pairs.ok_or_else(|| unknown(text))?;
    let ((first, value), rest) = pairs.split_first().ok_or_else(|| unknown(text))?;
    match first.to_ascii_lowercase().as_str() {
        "nodename" => {
            let names = expand_hostlist(value).map_err(|_| unknown(text))?;
            let names = names.iter().map(|name| SlurmNode::from(name.as_str())).collect();
            Ok(Operation::UpdateNodes(names, node_update(rest, text)?))
        }
        "jobid" => Ok(Operation::UpdateJob(job(value)?, Box::new(job_update(rest, text)?))),
        _ => Err(unknown(text)),
    }
}

fn node_update(pairs: &[(&str, &str)], text: &str) -> Result<NodeUpdate, NotModelled> {
    let get = |key: &str| {
        pairs.iter().find(|(known, _)| known.eq_ignore_ascii_case(key)).map(|(_, value)| *value)
    };
    let reason = get("reason").unwrap_or_default().trim_matches(['\'', '"']).to_owned();
    match get("state").unwrap_or_default().to_ascii_lowercase().as_str() {
        "drain" => Ok(NodeUpdate::Drain { reason }),
        "down" => Ok(NodeUpdate::Down { reason }),
        "resume" => Ok(NodeUpdate::Resume),
        "undrain" => Ok(NodeUpdate::Undrain),
        _ => Err(unknown(text)),
    }
}

fn job_update(pairs: &[(&str, &str)], text: &str) -> Result<JobUpdate, NotModelled> {
    let mut update = JobUpdate::default();
    let bad = || unknown(text);
    for (key, value) in pairs {
        match key.to_ascii_lowercase().as_str() {
            "priority" => update.priority = Some(value.parse().map_err(|_| bad())?),
            "timelimit" => {
                let limit = parse_time_limit(value).ok_or_else(bad)?;
                update.time_limit = Some(match limit {
                    TimeLimit::Of(span) => TimeLimit::Of(span),
                    TimeLimit::Unlimited => TimeLimit::Unlimited,
                });
            }
            "partition" => {
                update.partitions = Some(value.split(',').map(PartitionName::from).collect());
            }
            "numnodes" => update.nodes = Some(node_counts(value).ok_or_else(bad)?),
            "nice" => update.nice = Some(value.parse().map_err(|_| bad())?),
            "numtasks" => update.tasks = Some(value.parse().map_err(|_| bad())?),
            "dependency" => update.dependency = Some((*value).to_owned()),
            "licenses" => update.licenses = Some((*value).to_owned()),
            "features" => update.constraints = Some((*value).to_owned()),
            "arraytaskthrottle" => update.throttle = Some(value.parse().map_err(|_| bad())?),
            "comment" => update.comment = Some((*value).to_owned()),
            _ => return Err(bad()),
        }
    }
    Ok(update)
}

fn node_counts(text: &str) -> Option<(u32, Option<u32>)> {
    match text.split_once('-') {
        Some((min, max)) => Some((min.parse().ok()?, Some(max.parse().ok()?))),
        None => text.parse().ok().map(|count| (count, None)),
    }
}
