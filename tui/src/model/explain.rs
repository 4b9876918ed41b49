//! Why the selected thing is as it is, in plain sentences, from what there is to see.

use drawbridge_scenarios::{Subject, recording::RecordRef};

use super::{
    list::Key,
    scene::Scene,
    stages::{self, Stage},
};

mod gang;
mod job;
mod node;
mod pod;
mod remedy;
pub(crate) mod waiting;

pub(crate) use pod::phases;
pub(crate) use remedy::{Remedy, Verdict, remedies};

/// What the detail pane says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Explanation {
    /// What it is about.
    pub(crate) title: String,
    /// Why it is as it is, in sentences; the first is the answer.
    pub(crate) why: Vec<String>,
    /// What would let it start, as far as that can be read off.
    pub(crate) needs: Vec<String>,
    /// The way that it goes, as far as it has come.
    pub(crate) stages: Vec<Stage>,
    /// Name and value, one per line.
    pub(crate) facts: Vec<(&'static str, String)>,
    /// Everything whose records belong to its chain.
    pub(crate) subjects: Vec<Subject>,
    /// Its chain of events so far, as numbers of records.
    pub(crate) chain: Vec<u32>,
}

impl Explanation {
    /// About how many lines it takes at most: scrolling needn't go further.
    pub(crate) fn n_lines(&self) -> u16 {
        let lines = self.why.len() + self.needs.len() + self.facts.len() + self.chain.len() + 20;
        u16::try_from(lines).unwrap_or(u16::MAX)
    }
}

/// Explains the row that is this, as it stands at this time. `None` if there is none now.
pub(crate) fn explain(scene: Scene<'_>, key: &Key) -> Option<Explanation> {
    let mut explanation = match key {
        Key::Pod(uid) => scene.pod(uid).map(|pod| pod::pod(scene, pod)),
        Key::Gang(namespace, name) => gang::gang(scene, namespace, name),
        Key::Job(id) => scene.job(*id).map(|(_, job)| job::job(scene, job)),
        Key::Node(name) => scene.node(name).map(|row| node::node(scene, row)),
        Key::Record(seq) => {
            let record = scene.film.record(*seq)?;
            match subject_key(scene, record.subject) {
                Some(key) => return explain(scene, &key),
                None => Some(record_alone(record)),
            }
        }
        Key::Pair(_) => None,
    }?;
    explanation.stages = stages::stages(scene, key);
    Some(explanation)
}

/// The row that a record's subject has now.
pub(crate) fn subject_key(scene: Scene<'_>, subject: &Subject) -> Option<Key> {
    match subject {
        Subject::Pod { namespace, name } => {
            scene.pod_named(namespace, name).map(|pod| Key::Pod(pod.uid.clone()))
        }
        Subject::Job(id) => scene.job(*id).map(|(_, job)| Key::Job(job.job_id)),
        Subject::KubeNode(name) => scene.node(name).map(|node| Key::Node(node.name.clone())),
        Subject::SlurmNode(name) => scene.slurm_node(name).map(|node| Key::Node(node.name.clone())),
        Subject::Object(_) | Subject::Bridge | Subject::Twin => None,
    }
}

fn record_alone(record: RecordRef<'_>) -> Explanation {
    Explanation {
        title: subject_name(record.subject),
        why: vec![record.text.to_owned()],
        facts: vec![
            ("at", record.at.to_string()),
            ("by", record.actor.name().to_owned()),
            ("record", record.seq.to_string()),
        ],
        subjects: vec![record.subject.clone()],
        ..Explanation::default()
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

/// A node by both of its names.
pub(crate) fn both_names(name: &str, slurm_name: Option<&String>) -> String {
    match slurm_name {
        Some(slurm) if slurm != name => format!("{name} ({slurm} in Slurm)"),
        Some(_) | None => name.to_owned(),
    }
}
