//! Expectations about pods.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::{
    expect::{Amount, Glob, rows},
    frame::{Frame, PodRow},
};

/// Pods as they are at one moment.
///
/// Pods that are gone count only where `phase: Deleted` is asked for.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PodsExpect {
    /// Which: their namespace, with `*`.
    pub namespace: Option<Glob>,
    /// Which: their name, with `*`.
    pub name: Option<Glob>,
    /// Which: the controller at the top of their owners, with `*`: `Deployment/web`.
    pub owner: Option<Glob>,
    /// `Pending`, `Running`, `Succeeded`, `Failed`, or `Deleted`.
    pub phase: Option<String>,
    /// The Kubernetes node they are bound to, with `*`.
    pub node: Option<Glob>,
    /// The Slurm node they were given, with `*`.
    pub slurm_node: Option<Glob>,
    /// Whether they are bound to a node.
    pub bound: Option<bool>,
    /// Whether a Slurm job stands for them.
    pub job: Option<bool>,
    /// Why they wait or ended, in one word, with `*`.
    pub reason: Option<Glob>,
    /// A part of the sentence beside the reason.
    pub message: Option<String>,
    /// The scheduler that they name, with `*`.
    pub scheduler: Option<Glob>,
    /// What the bridge says of them in a condition of its own, with `*`: `SlurmSuspended=True*`.
    pub condition: Option<Glob>,
    /// How many of them are so. Without it: all of them, and there is at least one.
    pub count: Option<Amount>,
}

/// Phases that an expectation may name.
pub(crate) const PHASES: [&str; 5] = ["Pending", "Running", "Succeeded", "Failed", "Deleted"];

impl PodsExpect {
    pub(crate) fn sentence(&self) -> String {
        let subject = rows::subject("pod", &self.which(), self.count);
        rows::sentence(&subject, &self.predicates())
    }

    pub(crate) fn judge(&self, frame: &Frame) -> Result<(), String> {
        let rows: Vec<&PodRow> = frame.pods.iter().filter(|pod| self.selects(pod)).collect();
        rows::judge(
            "pod",
            &rows,
            self.count,
            |pod| format!("{}/{}", pod.namespace, pod.name),
            |pod| self.wrong(pod),
        )
    }

    fn which(&self) -> String {
        let name = self.name.as_ref().map(Glob::as_str);
        let pods = match (&self.namespace, name) {
            (Some(namespace), name) => format!("{namespace}/{}", name.unwrap_or("*")),
            (None, Some(name)) => name.into(),
            (None, None) => String::new(),
        };
        match &self.owner {
            Some(owner) => format!("{pods} of {owner}").trim_start().into(),
            None => pods,
        }
    }

    fn selects(&self, pod: &PodRow) -> bool {
        let fits = |glob: &Option<Glob>, text: &str| glob.as_ref().is_none_or(|g| g.matches(text));
        let gone_wanted = self.phase.as_deref() == Some("Deleted");
        (gone_wanted || pod.phase != "Deleted")
            && fits(&self.namespace, &pod.namespace)
            && fits(&self.name, &pod.name)
            && fits(&self.owner, pod.owner.as_deref().unwrap_or_default())
    }

    fn predicates(&self) -> Vec<String> {
        // Destructured so that a new condition can't be forgotten here.
        let Self {
            namespace: _,
            name: _,
            owner: _,
            phase,
            node,
            slurm_node,
            bound,
            job,
            reason,
            message,
            scheduler,
            condition,
            count: _,
        } = self;
        [
            phase.clone(),
            node.as_ref().map(|it| format!("on {it}")),
            slurm_node.as_ref().map(|it| format!("on Slurm's {it}")),
            bound.map(|it| if it { "bound" } else { "not bound" }.into()),
            job.map(|it| if it { "with a job" } else { "without a job" }.into()),
            reason.as_ref().map(|it| format!("with the reason {it}")),
            message.as_ref().map(|it| format!("with the words \"{it}\"")),
            scheduler.as_ref().map(|it| format!("scheduled by {it}")),
            condition.as_ref().map(|it| format!("with the condition {it}")),
        ]
        .into_iter()
        .flatten()
        .collect()
    }

    fn wrong(&self, pod: &PodRow) -> Vec<String> {
        let why = || match (&pod.reason, &pod.message) {
            (Some(reason), Some(message)) => format!(" ({reason}: {message})"),
            (Some(reason), None) => format!(" ({reason})"),
            (None, Some(message)) => format!(" ({message})"),
            (None, None) => String::new(),
        };
        let off = |want: &Option<Glob>, seen: &Option<String>| {
            want.as_ref().is_some_and(|glob| !seen.as_ref().is_some_and(|seen| glob.matches(seen)))
        };
        let on = |node: &Option<String>| match node {
            Some(node) => format!("is on {node}"),
            None => "is on no node".into(),
        };
        let mut wrong = vec![];
        if self.phase.as_ref().is_some_and(|phase| *phase != pod.phase) {
            wrong.push(format!("is {}{}", pod.phase, why()));
        }
        if off(&self.node, &pod.node) {
            wrong.push(on(&pod.node));
        }
        if off(&self.slurm_node, &pod.slurm_node) {
            wrong.push(format!("{} of Slurm", on(&pod.slurm_node)));
        }
        if self.bound.is_some_and(|bound| bound != pod.node.is_some()) {
            wrong.push(on(&pod.node));
        }
        if self.job.is_some_and(|job| job != pod.job_id.is_some()) {
            wrong.push(match pod.job_id {
                Some(job) => format!("has job {job}"),
                None => "has no job".into(),
            });
        }
        if off(&self.reason, &pod.reason) {
            wrong.push(format!("gives the reason{}", or_none(why())));
        }
        if let Some(words) = &self.message
            && !pod.message.as_ref().is_some_and(|seen| seen.contains(words))
        {
            wrong.push(format!("says{}", or_none(why())));
        }
        if off(&self.scheduler, &Some(pod.scheduler.clone())) {
            wrong.push(format!("is scheduled by {}", pod.scheduler));
        }
        wrong.extend(rows::none_fits("condition", self.condition.as_ref(), &pod.conditions));
        wrong
    }
}

fn or_none(text: String) -> String {
    if text.is_empty() { " none".into() } else { text }
}
