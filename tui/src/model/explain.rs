//! Why the selected thing is as it is, in plain sentences, from what the frame shows.

use drawbridge_scenarios::{Frame, JobRow, PodRow, Record, Subject};
use drawbridge_sim::{JobId, Time};

use super::rows::Key;

mod job;
mod node;
mod pod;
pub(crate) mod waiting;

pub(crate) use pod::{phase, phases};

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

impl Explanation {
    /// About how many lines it takes: scrolling needn't go further.
    pub(crate) fn n_lines(&self) -> u16 {
        let lines = self.why.len() + self.facts.len() + self.chain.len();
        u16::try_from(lines).unwrap_or(u16::MAX)
    }
}

/// Explains the row that is this, as it stands at this time. `None` if there is none now.
pub(crate) fn explain(
    frame: &Frame,
    records: &[Record],
    now: Time,
    key: &Key,
) -> Option<Explanation> {
    match key {
        Key::Pod(uid) => {
            let found = frame.pods.iter().find(|pod| pod.uid == *uid);
            found.map(|pod| pod::pod(frame, now, pod))
        }
        Key::Gang(namespace, name) => pod::gang(frame, now, namespace, name),
        Key::Job(id) => find_job(frame, *id).map(|job| job::job(frame, now, job)),
        Key::Node(name) => {
            let found = frame.nodes.iter().find(|node| node.name == *name);
            found.map(|node| node::node(frame, node))
        }
        Key::Record(seq) => {
            let record = records.get(usize::try_from(*seq).ok()?)?;
            Some(match subject_key(frame, &record.subject) {
                Some(key) => explain(frame, records, now, &key)?,
                None => record_alone(record),
            })
        }
    }
}

/// The row that a record's subject has now.
fn subject_key(frame: &Frame, subject: &Subject) -> Option<Key> {
    match subject {
        Subject::Pod { namespace, name } => {
            let is = |pod: &&PodRow| pod.namespace == *namespace && pod.name == *name;
            frame.pods.iter().rfind(is).map(|pod| Key::Pod(pod.uid.clone()))
        }
        Subject::Job(id) => find_job(frame, *id).map(|job| Key::Job(job.job_id)),
        Subject::KubeNode(name) => {
            frame.nodes.iter().find(|n| n.name == *name).map(|n| Key::Node(n.name.clone()))
        }
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

fn record_alone(record: &Record) -> Explanation {
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

fn both_names(name: &str, slurm_name: Option<&String>) -> String {
    match slurm_name {
        Some(slurm) if slurm != name => format!("{name} ({slurm} in Slurm)"),
        Some(_) | None => name.to_owned(),
    }
}
