//! Operations as one types them, and what they mean to the model.

use std::collections::BTreeMap;

use drawbridge_sim::{
    JobBehaviour, JobId, JobTarget, JobUpdate, NodeUpdate, PartitionName, Requeue, Signal,
    SlurmNode, SlurmdStop, Submission, TimeLimit, Trap, expand_hostlist, parse_sbatch,
    parse_time_limit,
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
    /// Suspend, or resume.
    Suspend(Vec<JobId>, bool),
    Hold(Vec<JobId>),
    Release(Vec<JobId>),
    UpdateJob(JobId, Box<JobUpdate>),
    UpdateNodes(Vec<SlurmNode>, Vec<NodeUpdate>),
    /// `scontrol update partition`, with what to change.
    UpdatePartition(PartitionName, String),
    CreatePartition(PartitionName, String),
    DeletePartition(PartitionName),
    /// `scontrol create`, with all that is said of them.
    CreateNodes(String),
    DeleteNodes(Vec<SlurmNode>),
    /// `slurmd -Z --conf`, with all that is said of the node.
    DynamicNode(String),
    /// slurm.conf changes, and slurmctld reads it: `scontrol reconfigure`, or a restart.
    Reconfigure(String),
    /// slurmds of nodes stop without a word.
    StopSlurmds(Vec<SlurmNode>, SlurmdStop),
    StartSlurmds(Vec<SlurmNode>),
    /// Nothing but time passes.
    Wait,
}

/// What a job is called whose script doesn't listen to TERM.
pub(crate) const STUBBORN: &str = "-J stubborn";

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
            "kill_slurmd" => Ok(Self::StopSlurmds(named(second, &rest), SlurmdStop::Alone)),
            "kill_node" => Ok(Self::StopSlurmds(named(second, &rest), SlurmdStop::WithProcesses)),
            "dynamic_slurmd" => {
                let words = text.split_once(' ').map_or("", |(_, words)| words);
                Ok(Self::DynamicNode(format!("NodeName={words}")))
            }
            "start_slurmd" => Ok(Self::StartSlurmds(named(second, &rest))),
            "reconfigure" | "restart" => {
                let edits = text.split_once(' ').map_or("", |(_, edits)| edits);
                Ok(Self::Reconfigure(edits.to_owned()))
            }
            "scontrol" => control(second, &rest, text),
            _ => Err(unknown(text)),
        }
    }
}

fn named(first: &str, rest: &[&str]) -> Vec<SlurmNode> {
    std::iter::once(&first).chain(rest).map(|name| SlurmNode::from(*name)).collect()
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
    submission.submitter = Some("root".into());
    if submission.name == "wrap" {
        submission.name = "job".into();
    }
    let mut traps: BTreeMap<_, _> =
        ENDINGS.iter().map(|(code, signal)| (*signal, Trap::Exit(*code))).collect();
    if text.contains(STUBBORN) {
        traps.insert(Signal::Term, Trap::Ignore);
    }
    submission.behaviour = Some(JobBehaviour { traps, ..JobBehaviour::forever() });
    Ok(Operation::Submit(Box::new(submission)))
}

fn control(verb: &str, rest: &[&str], text: &str) -> Result<Operation, NotModelled> {
    match verb {
        "suspend" => Ok(Operation::Suspend(jobs(&rest.concat())?, true)),
        "resume" => Ok(Operation::Suspend(jobs(&rest.concat())?, false)),
        "hold" => Ok(Operation::Hold(jobs(&rest.concat())?)),
        "release" => Ok(Operation::Release(jobs(&rest.concat())?)),
        "requeue" => Ok(Operation::Requeue(jobs(&rest.concat())?, Requeue::Plain)),
        "requeuehold" => Ok(Operation::Requeue(jobs(&rest.concat())?, Requeue::Hold)),
        "update" => update(rest, text),
        "reconfigure" if rest.is_empty() => Ok(Operation::Reconfigure(String::new())),
        "create" | "delete" => create(verb == "create", rest, text),
        _ => Err(unknown(text)),
    }
}

fn create(create: bool, words: &[&str], text: &str) -> Result<Operation, NotModelled> {
    let (first, rest) = words.split_first().ok_or_else(|| unknown(text))?;
    let (key, name) = first.split_once('=').ok_or_else(|| unknown(text))?;
    if key.eq_ignore_ascii_case("nodename") {
        return match create {
            true => Ok(Operation::CreateNodes(words.join(" "))),
            false => Ok(Operation::DeleteNodes(nodes(name, text)?)),
        };
    }
    if !key.eq_ignore_ascii_case("partitionname") {
        return Err(unknown(text));
    }
    let name = PartitionName::from(name);
    Ok(match create {
        true => Operation::CreatePartition(name, rest.join(" ")),
        false => Operation::DeletePartition(name),
    })
}

fn update(words: &[&str], text: &str) -> Result<Operation, NotModelled> {
    let pairs: Option<Vec<_>> = words.iter().map(|word| word.split_once('=')).collect();
    let pairs = pairs.ok_or_else(|| unknown(text))?;
    let ((first, value), rest) = pairs.split_first().ok_or_else(|| unknown(text))?;
    match first.to_ascii_lowercase().as_str() {
        "nodename" => Ok(Operation::UpdateNodes(nodes(value, text)?, node_update(rest, text)?)),
        "partitionname" => {
            Ok(Operation::UpdatePartition(PartitionName::from(*value), words[1..].join(" ")))
        }
        "jobid" => Ok(Operation::UpdateJob(job(value)?, Box::new(job_update(rest, text)?))),
        _ => Err(unknown(text)),
    }
}

fn nodes(list: &str, text: &str) -> Result<Vec<SlurmNode>, NotModelled> {
    let names = expand_hostlist(list).map_err(|_| unknown(text))?;
    Ok(names.into_iter().map(SlurmNode::from).collect())
}

/// What is changed, the state last: a node's make is there before its state.
fn node_update(pairs: &[(&str, &str)], text: &str) -> Result<Vec<NodeUpdate>, NotModelled> {
    let get = |key: &str| {
        let found = pairs.iter().find(|(known, _)| known.eq_ignore_ascii_case(key));
        found.map(|(_, value)| value.trim_matches(['\'', '"']).to_owned())
    };
    let known = ["state", "reason", "weight", "features", "activefeatures", "gres", "comment"];
    if !pairs.iter().all(|(key, _)| known.contains(&key.to_ascii_lowercase().as_str())) {
        return Err(unknown(text));
    }
    let mut updates = vec![];
    if let Some(weight) = get("weight") {
        updates.push(NodeUpdate::Weight(weight.parse().map_err(|_| unknown(text))?));
    }
    let (available, active) = (get("features"), get("activefeatures"));
    if available.is_some() || active.is_some() {
        updates.push(NodeUpdate::Features { available, active });
    }
    updates.extend(get("gres").map(NodeUpdate::Gres));
    updates.extend(get("comment").map(NodeUpdate::Comment));
    let reason = get("reason");
    let Some(state) = get("state") else {
        updates.extend(reason.map(NodeUpdate::Reason));
        return Ok(updates);
    };
    let reason = reason.unwrap_or_default();
    updates.push(match state.to_ascii_lowercase().as_str() {
        "drain" => NodeUpdate::Drain { reason },
        "fail" => NodeUpdate::Fail { reason },
        "down" => NodeUpdate::Down { reason },
        "resume" => NodeUpdate::Resume,
        "undrain" => NodeUpdate::Undrain,
        "idle" => NodeUpdate::Idle,
        _ => return Err(unknown(text)),
    });
    Ok(updates)
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
        None => text.parse().ok().map(|count| (count, Some(count))),
    }
}
