//! Why the selected thing is as it is, in plain sentences, from what the frame shows.

use std::collections::BTreeMap;

use drawbridge_scenarios::{Frame, JobRow, NodeRow, PodRow, Record, Subject};
use drawbridge_sim::{JobId, Time};

use super::{moment, rows::Key};
use waiting::{holders, job_why, some_of, unusable};

pub(crate) mod waiting;

/// What the detail pane says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Explanation {
    /// What it is about.
    pub(crate) title: String,
    /// Why it is as it is, in sentences; the first is the answer.
    pub(crate) why: Vec<String>,
    /// Name and value, one per line.
    pub(crate) facts: Vec<(&'static str, String)>,
    /// Everything whose records belong to its chain.
    pub(crate) subjects: Vec<Subject>,
    /// Its chain of events so far, as indexes into the records.
    pub(crate) chain: Vec<usize>,
}

/// Explains the row that is this, as it stands at this time. `None` if there is none now.
pub(crate) fn explain(
    frame: &Frame,
    records: &[Record],
    now: Time,
    key: &Key,
) -> Option<Explanation> {
    match key {
        Key::Pod(uid) => frame
            .pods
            .iter()
            .find(|p| p.uid == *uid)
            .map(|p| pod(frame, now, p)),
        Key::Gang(namespace, name) => gang(frame, now, namespace, name),
        Key::Job(id) => find_job(frame, *id).map(|job| self::job(frame, now, job)),
        Key::Node(name) => frame
            .nodes
            .iter()
            .find(|n| n.name == *name)
            .map(|n| node(frame, n)),
        Key::Record(seq) => {
            let record = records.get(usize::try_from(*seq).ok()?)?;
            Some(match subject_key(frame, &record.subject) {
                Some(key) => explain(frame, records, now, &key)?,
                None => self::record(record),
            })
        }
    }
}

/// The row that a record's subject has now.
fn subject_key(frame: &Frame, subject: &Subject) -> Option<Key> {
    match subject {
        Subject::Pod { namespace, name } => {
            let is = |pod: &&PodRow| pod.namespace == *namespace && pod.name == *name;
            frame
                .pods
                .iter()
                .rfind(is)
                .map(|pod| Key::Pod(pod.uid.clone()))
        }
        Subject::Job(id) => find_job(frame, *id).map(|job| Key::Job(job.job_id)),
        Subject::KubeNode(name) => frame
            .nodes
            .iter()
            .find(|n| n.name == *name)
            .map(|n| Key::Node(n.name.clone())),
        Subject::SlurmNode(name) => frame
            .nodes
            .iter()
            .find(|n| n.slurm_name.as_ref() == Some(name))
            .map(|n| Key::Node(n.name.clone())),
        Subject::Object(_) | Subject::Bridge | Subject::Twin => None,
    }
}

fn find_job(frame: &Frame, id: JobId) -> Option<&JobRow> {
    frame.jobs.iter().find(|job| job.job_id == id)
}

fn record(record: &Record) -> Explanation {
    Explanation {
        title: subject_name(&record.subject),
        why: vec![record.text.clone()],
        facts: vec![
            ("at", record.at.to_string()),
            ("by", record.actor.name().to_owned()),
            ("record", record.seq.to_string()),
        ],
        subjects: vec![record.subject.clone()],
        chain: Vec::new(),
    }
}

/// What a record is about, in words.
pub(crate) fn subject_name(subject: &Subject) -> String {
    match subject {
        Subject::Pod { namespace, name } => format!("pod {namespace}/{name}"),
        Subject::Job(id) => format!("job {id}"),
        Subject::KubeNode(name) => format!("node {name}"),
        Subject::SlurmNode(name) => format!("Slurm node {name}"),
        Subject::Object(name) => name.clone(),
        Subject::Bridge => "the bridge".to_owned(),
        Subject::Twin => "the twin".to_owned(),
    }
}

fn pod(frame: &Frame, now: Time, pod: &PodRow) -> Explanation {
    let job = pod.job_id.and_then(|id| find_job(frame, id));
    let mut facts = vec![("phase", phase(pod).to_owned())];
    facts.extend(pod.reason.clone().map(|reason| ("reason", reason)));
    facts.extend(pod.message.clone().map(|message| ("message", message)));
    facts.extend(
        pod.node
            .as_ref()
            .map(|node| ("node", both_names(node, pod.slurm_node.as_ref()))),
    );
    facts.extend(pod.gang.clone().map(|gang| ("gang", gang)));
    facts.extend(pod.owner.clone().map(|owner| ("owner", owner)));
    facts.push(("scheduler", pod.scheduler.clone()));
    facts.extend(job.map(|job| ("job", job_line(now, job))));
    facts.push(("age", moment::kubectl(now - pod.created_ms)));
    Explanation {
        title: format!("pod {}/{}", pod.namespace, pod.name),
        why: pod_why(frame, pod, job),
        facts,
        subjects: pod_subjects(&[pod]),
        chain: Vec::new(),
    }
}

/// What the pod shows as its phase: as kubectl, a pod that is going says so.
pub(crate) fn phase(pod: &PodRow) -> &str {
    match pod.terminating && pod.phase != "Deleted" {
        true => "Terminating",
        false => &pod.phase,
    }
}

fn pod_why(frame: &Frame, pod: &PodRow, job: Option<&JobRow>) -> Vec<String> {
    if pod.phase != "Pending" {
        return vec![pod_is(pod)];
    }
    match (&pod.node, job) {
        (Some(node), _) => vec![format!(
            "It is bound to {node}; its containers have yet to start."
        )],
        (None, Some(job)) => job_why(frame, job),
        (None, None) => without_job(frame, pod),
    }
}

fn pod_is(pod: &PodRow) -> String {
    match (phase(pod), &pod.node) {
        ("Terminating", _) => "It is being deleted and may still hold its node.".to_owned(),
        ("Running", Some(node)) => format!("It runs on {node}."),
        ("Succeeded", _) => "It ended well.".to_owned(),
        ("Failed", _) => "It failed.".to_owned(),
        ("Deleted", _) => "It is gone; this is the last that was seen of it.".to_owned(),
        (phase, _) => format!("It is {phase}."),
    }
}

fn without_job(frame: &Frame, pod: &PodRow) -> Vec<String> {
    let mut why = vec![match pod.gang {
        Some(_) => "It waits: Slurm has no job for its gang yet.".to_owned(),
        None => format!(
            "It waits for the scheduler `{}`; no Slurm job stands for it.",
            pod.scheduler
        ),
    }];
    if frame.bridge_up == Some(false) {
        why.push("The bridge is down: nothing is submitted or bound until it is back.".to_owned());
    }
    why
}

fn gang(frame: &Frame, now: Time, namespace: &str, name: &str) -> Option<Explanation> {
    let is = |pod: &&PodRow| pod.namespace == namespace && pod.gang.as_deref() == Some(name);
    let members: Vec<&PodRow> = frame.pods.iter().filter(is).collect();
    let first = members.first()?;
    let job = members
        .iter()
        .find_map(|pod| pod.job_id)
        .and_then(|id| find_job(frame, id));
    let waits = members
        .iter()
        .find(|pod| pod.phase == "Pending" && pod.node.is_none());
    let why = match waits {
        Some(pod) => pod_why(frame, pod, job),
        None => members
            .iter()
            .map(|pod| format!("{}: {}", pod.name, pod_is(pod)))
            .collect(),
    };
    let mut facts = vec![("pods", phases(&members))];
    facts.extend(
        waits
            .unwrap_or(first)
            .message
            .clone()
            .map(|message| ("message", message)),
    );
    facts.extend(job.map(|job| ("job", job_line(now, job))));
    Some(Explanation {
        title: format!("gang {namespace}/{name}"),
        why,
        facts,
        subjects: pod_subjects(&members),
        chain: Vec::new(),
    })
}

/// `3 Pending, 1 Running`.
pub(crate) fn phases(pods: &[&PodRow]) -> String {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for pod in pods {
        *counts.entry(phase(pod)).or_default() += 1;
    }
    let counts: Vec<String> = counts
        .iter()
        .map(|(phase, n)| format!("{n} {phase}"))
        .collect();
    counts.join(", ")
}

fn pod_subjects(pods: &[&PodRow]) -> Vec<Subject> {
    let mut subjects: Vec<Subject> = pods
        .iter()
        .filter_map(|p| p.job_id)
        .map(Subject::Job)
        .collect();
    subjects.extend(pods.iter().map(|pod| Subject::Pod {
        namespace: pod.namespace.clone(),
        name: pod.name.clone(),
    }));
    subjects.sort();
    subjects.dedup();
    subjects
}

fn job(frame: &Frame, now: Time, job: &JobRow) -> Explanation {
    let pods: Vec<&PodRow> = frame
        .pods
        .iter()
        .filter(|p| p.job_id == Some(job.job_id))
        .collect();
    let mut facts = vec![("state", job.state.clone())];
    facts.extend(job.reason.clone().map(|reason| ("reason", reason)));
    facts.push(("name", job.name.clone()));
    facts.push(("user", job.user.clone()));
    facts.extend(job.account.clone().map(|account| ("account", account)));
    facts.push(("partition", job.partition.clone()));
    facts.push((
        "asks",
        format!("{} CPUs, priority {}", job.cpus, job.priority),
    ));
    facts.extend((!job.nodes.is_empty()).then(|| ("nodes", job.nodes.clone())));
    facts.push(("submitted", job.submit_ms.to_string()));
    facts.extend(job.start_ms.map(|at| ("started", at.to_string())));
    facts.extend(job.end_ms.map(|at| ("ended", at.to_string())));
    facts.extend(job.exit_code.clone().map(|code| ("exit code", code)));
    facts.push(("stands for", stands_for(job, &pods)));
    let mut subjects = pod_subjects(&pods);
    subjects.push(Subject::Job(job.job_id));
    subjects.dedup();
    Explanation {
        title: format!("job {} {}", job.job_id, job.name),
        why: match (job.start_ms, job.end_ms) {
            (None, None) => job_why(frame, job),
            (_, Some(at)) => vec![format!(
                "It ended {} ago as {}.",
                moment::kubectl(now - at),
                job.state
            )],
            (Some(at), None) => vec![format!(
                "It has held {} for {}.",
                job.nodes,
                moment::kubectl(now - at)
            )],
        },
        facts,
        subjects,
        chain: Vec::new(),
    }
}

fn stands_for(job: &JobRow, pods: &[&PodRow]) -> String {
    match (job.bridged, pods.len()) {
        (false, _) => "no pod: submitted to Slurm directly".to_owned(),
        (true, 1..=4) => {
            let names: Vec<String> = pods
                .iter()
                .map(|p| format!("{}/{}", p.namespace, p.name))
                .collect();
            names.join(", ")
        }
        (true, n) => format!("{n} pods: {}", phases(pods)),
    }
}

fn job_line(now: Time, job: &JobRow) -> String {
    let since = match job.start_ms {
        Some(start) => format!("for {}", moment::squeue(job.end_ms.unwrap_or(now) - start)),
        None => format!("submitted {} ago", moment::kubectl(now - job.submit_ms)),
    };
    let reason = job
        .reason
        .as_ref()
        .map(|reason| format!(" ({reason})"))
        .unwrap_or_default();
    format!("{} {}{reason}, {since}", job.job_id, job.state)
}

fn node(frame: &Frame, node: &NodeRow) -> Explanation {
    let mut facts = vec![("state", node.state.clone())];
    facts.extend(node.reason.clone().map(|reason| ("reason", reason)));
    facts.extend(
        node.cordoned
            .then(|| ("cordoned", "yes, in Kubernetes".to_owned())),
    );
    facts.push(("CPUs", format!("{} of {}", node.cpus_alloc, node.cpus)));
    facts.push((
        "memory",
        format!("{} of {} MiB", node.memory_alloc_mb, node.memory_mb),
    ));
    if !node.gres.is_empty() {
        let held = if node.gres_alloc.is_empty() {
            "none"
        } else {
            &node.gres_alloc
        };
        facts.push(("gres", format!("{held} of {}", node.gres)));
    }
    facts.push(("pods", some_of(node.pods.clone()).join(", ")));
    let slurm = node.slurm_name.clone();
    Explanation {
        title: format!("node {}", both_names(&node.name, slurm.as_ref())),
        why: node_why(frame, node),
        facts,
        subjects: [Subject::KubeNode(node.name.clone())]
            .into_iter()
            .chain(slurm.map(Subject::SlurmNode))
            .collect(),
        chain: Vec::new(),
    }
}

fn node_why(frame: &Frame, node: &NodeRow) -> Vec<String> {
    let here = std::slice::from_ref(node);
    let mut why = match node.slurm_name {
        Some(_) => unusable(here),
        None => vec!["Slurm doesn't know it; only the default scheduler uses it.".to_owned()],
    };
    why.extend(holders(frame, here));
    if why.is_empty() {
        why.push("It is free.".to_owned());
    }
    why
}

fn both_names(name: &str, slurm_name: Option<&String>) -> String {
    match slurm_name {
        Some(slurm) if slurm != name => format!("{name} ({slurm} in Slurm)"),
        Some(_) | None => name.to_owned(),
    }
}
