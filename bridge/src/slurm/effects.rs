//! The core's requests as calls, and the answers in the core's terms.

use drawbridge_core::{
    NodeTarget, SlurmFault, SlurmReply, SlurmRequest,
    slurm::{ApiVersion, ObservedJob, ObservedState, Submission},
};
use drawbridge_sim::{JobId, SlurmNode};

use super::{
    calls::{
        Call, Cancel, CreateNode, DeleteNode, JobById, JobDescription, JobSketches, JobState,
        JobStates, Licenses, NodeChange, Nodes, Pings, Reservations, Submit, Unserved, UpdateJob,
        UpdateNode,
    },
    http::HttpRequest,
    reply::{Garbled, Reply, Sieve},
    types::observed::{JobSketch, observed},
};

/// The request as slurmrestd understands it in this version.
pub fn encode(request: &SlurmRequest, version: ApiVersion) -> Result<HttpRequest, Unserved> {
    match request {
        SlurmRequest::Ping => Pings.request(version),
        SlurmRequest::TestToken => Licenses.request(version),
        SlurmRequest::Submit(job) => Submit(job.as_ref().into()).request(version),
        SlurmRequest::JobStates => JobStates::default().request(version),
        SlurmRequest::Job(job) => JobById(job.to_string()).request(version),
        SlurmRequest::Jobs => JobSketches.request(version),
        SlurmRequest::Cancel { job, signal } => cancel(*job, signal.as_deref()).request(version),
        SlurmRequest::Nodes => Nodes.request(version),
        SlurmRequest::Remark { job, admin_comment } => remark(*job, admin_comment).request(version),
        SlurmRequest::Revise { job, from, to } => {
            revise(*job, from.as_deref(), to).request(version)
        }
        SlurmRequest::UpdateNode { node, state, reason } => {
            let change = node_change(*state, reason);
            UpdateNode { node: node.to_string(), change }.request(version)
        }
        SlurmRequest::CreateNode { words, .. } => CreateNode(words.clone()).request(version),
        SlurmRequest::DescribeNode { node, features, topology } => {
            describe(node, features.as_ref(), topology.as_ref()).request(version)
        }
        SlurmRequest::DeleteNode(node) => DeleteNode(node.to_string()).request(version),
        SlurmRequest::Reservations => Reservations.request(version),
    }
}

/// The name of this request in metrics.
pub(crate) fn name(request: &SlurmRequest) -> &'static str {
    match request {
        SlurmRequest::Ping => Pings::NAME,
        SlurmRequest::TestToken => Licenses::NAME,
        SlurmRequest::Submit(_) => Submit::NAME,
        SlurmRequest::JobStates => JobStates::NAME,
        SlurmRequest::Job(_) => JobById::NAME,
        SlurmRequest::Jobs => JobSketches::NAME,
        SlurmRequest::Cancel { .. } => Cancel::NAME,
        SlurmRequest::Nodes => Nodes::NAME,
        SlurmRequest::Remark { .. } | SlurmRequest::Revise { .. } => UpdateJob::NAME,
        SlurmRequest::UpdateNode { .. } | SlurmRequest::DescribeNode { .. } => UpdateNode::NAME,
        SlurmRequest::CreateNode { .. } => CreateNode::NAME,
        SlurmRequest::DeleteNode(_) => DeleteNode::NAME,
        SlurmRequest::Reservations => Reservations::NAME,
    }
}

/// What is to be kept of a reply that may be too long to be kept whole.
pub(crate) fn sieve(request: &SlurmRequest) -> Option<Sieve> {
    matches!(request, SlurmRequest::Jobs).then(JobSketches::sieve)
}

/// What slurmrestd's reply to this request means.
pub fn decode(request: &SlurmRequest, reply: &Reply<'_>) -> Result<SlurmReply, SlurmFault> {
    Ok(match request {
        SlurmRequest::Ping => Pings.answer(reply).map(|_| SlurmReply::Done)?,
        SlurmRequest::TestToken => Licenses.answer(reply).map(|_| SlurmReply::Done)?,
        SlurmRequest::Submit(job) => {
            let submitted = Submit(job.as_ref().into()).answer(reply)?.value;
            SlurmReply::Submitted { job: JobId(submitted.job_id) }
        }
        SlurmRequest::JobStates => {
            let states = JobStates::default().answer(reply)?.value;
            SlurmReply::States(
                whole("jobs", states, |job| state(&job))?.into_iter().flatten().collect(),
            )
        }
        SlurmRequest::Job(id) => {
            let jobs = JobById(id.to_string()).answer(reply)?.value;
            // An array's number also brings its tasks; a purged job may bring an empty list.
            let jobs = whole("jobs", jobs, |job| JobSketch::from(job).try_into())?;
            let jobs: Vec<ObservedJob> = jobs;
            SlurmReply::Job(jobs.into_iter().find(|job| job.id == *id).map(Box::new))
        }
        SlurmRequest::Jobs => SlurmReply::Jobs(whole(
            "jobs",
            JobSketches.answer(reply)?.value.items,
            TryInto::try_into,
        )?),
        SlurmRequest::Cancel { job, signal } => {
            cancel(*job, signal.as_deref()).answer(reply)?;
            SlurmReply::Done
        }
        SlurmRequest::Nodes => {
            SlurmReply::Nodes(whole("nodes", Nodes.answer(reply)?.value.items, TryInto::try_into)?)
        }
        SlurmRequest::Remark { job, admin_comment } => {
            remark(*job, admin_comment).answer(reply)?;
            SlurmReply::Done
        }
        SlurmRequest::Revise { job, from, to } => {
            revise(*job, from.as_deref(), to).answer(reply)?;
            SlurmReply::Done
        }
        SlurmRequest::UpdateNode { node, state, reason } => {
            let change = node_change(*state, reason);
            UpdateNode { node: node.to_string(), change }.answer(reply)?;
            SlurmReply::Done
        }
        SlurmRequest::CreateNode { words, .. } => {
            CreateNode(words.clone()).answer(reply)?;
            SlurmReply::Done
        }
        SlurmRequest::DescribeNode { node, features, topology } => {
            describe(node, features.as_ref(), topology.as_ref()).answer(reply)?;
            SlurmReply::Done
        }
        SlurmRequest::DeleteNode(node) => {
            DeleteNode(node.to_string()).answer(reply)?;
            SlurmReply::Done
        }
        SlurmRequest::Reservations => SlurmReply::Reservations(whole(
            "reservations",
            Reservations.answer(reply)?.value.items,
            TryInto::try_into,
        )?),
    })
}

/// All of them, or none: whoever fell out of a list would be taken for gone.
fn whole<T, U>(
    name: &str,
    items: Vec<T>,
    read: impl Fn(T) -> Result<U, Garbled>,
) -> Result<Vec<U>, Garbled> {
    let items = items.into_iter().enumerate();
    items
        .map(|(i, item)| read(item).map_err(|error| error.within(format!("{name}[{i}]"))))
        .collect()
}

/// Array tasks (`17_0`) and parts of het jobs (`17+1`) are left out: the bridge submits neither, and
/// they have no number of their own here.
fn state(job: &JobState) -> Result<Option<(JobId, ObservedState)>, Garbled> {
    let Some(number) = job.number()? else { return Ok(None) };
    Ok(Some((JobId(number), observed(&job.state)?)))
}

fn cancel(job: JobId, signal: Option<&str>) -> Cancel {
    let signal = signal.map(str::to_owned);
    Cancel { job: job.to_string(), signal, ..Cancel::default() }
}

fn remark(job: JobId, admin_comment: &str) -> UpdateJob {
    let admin_comment = Some(admin_comment.to_owned());
    UpdateJob {
        job: job.to_string(),
        change: JobDescription { admin_comment, ..JobDescription::default() },
    }
}

fn revise(job: JobId, from: Option<&Submission>, to: &Submission) -> UpdateJob {
    UpdateJob { job: job.to_string(), change: JobDescription::revision(from, to) }
}

/// Features that are available on an external node are active as well: nothing has to be rebooted.
fn describe(
    node: &SlurmNode,
    features: Option<&Vec<String>>,
    topology: Option<&String>,
) -> UpdateNode {
    let change = NodeChange {
        features: features.cloned(),
        features_act: features.cloned(),
        topology_str: topology.cloned(),
        ..NodeChange::default()
    };
    UpdateNode { node: node.to_string(), change }
}

/// Undrained and not resumed: that would bring back what somebody else has taken down.
fn node_change(state: NodeTarget, reason: &str) -> NodeChange {
    let (state, reason) = match state {
        NodeTarget::Drain => ("DRAIN", Some(reason.to_owned())),
        NodeTarget::Undrain => ("UNDRAIN", None),
    };
    NodeChange { state: vec![state.to_owned()], reason, ..NodeChange::default() }
}
