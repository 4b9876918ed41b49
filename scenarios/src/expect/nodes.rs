//! Expectations about nodes.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::{
    expect::{Amount, Glob, rows},
    frame::{Frame, NodeRow},
};

/// Nodes as they are at one moment.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NodesExpect {
    /// Which: their Kubernetes or Slurm name, with `*`.
    pub name: Option<Glob>,
    /// As sinfo spells it: `idle`, `mix`, `alloc`, `drng`, `drain`, `down`.
    pub state: Option<String>,
    /// A part of the reason why they are drained or down; `""`: there is no reason.
    pub reason: Option<String>,
    /// Whether they are cordoned in Kubernetes.
    pub cordoned: Option<bool>,
    /// What the bridge says of them in a condition, with `*`: `SlurmSchedulable=False*bad DIMM`.
    pub condition: Option<Glob>,
    /// A taint of theirs, with `*`: `slinky.slurm.net/managed-node*`.
    pub taint: Option<Glob>,
    /// CPUs that Slurm jobs hold.
    pub cpus_alloc: Option<Amount>,
    /// Memory that Slurm jobs hold, in MiB.
    pub memory_alloc_mb: Option<Amount>,
    /// Generic resources that Slurm jobs hold, as Slurm writes them, with `*`: `gpu:1`.
    pub gres_alloc: Option<Glob>,
    /// Pods that are bound there and have not ended.
    pub pods: Option<Amount>,
    /// How many of them are so. Without it: all of them, and there is at least one.
    pub count: Option<Amount>,
}

impl NodesExpect {
    pub(crate) fn sentence(&self) -> String {
        let name = self.name.as_ref().map_or("", Glob::as_str);
        let subject = rows::subject("node", name, self.count);
        rows::sentence(&subject, &self.predicates())
    }

    pub(crate) fn judge(&self, frame: &Frame) -> Result<(), String> {
        let rows: Vec<&NodeRow> = frame.nodes.iter().filter(|it| self.selects(it)).collect();
        rows::judge("node", &rows, self.count, |node| node.name.clone(), |node| self.wrong(node))
    }

    fn selects(&self, node: &NodeRow) -> bool {
        self.name.as_ref().is_none_or(|glob| {
            glob.matches(&node.name) || node.slurm_name.as_ref().is_some_and(|it| glob.matches(it))
        })
    }

    fn predicates(&self) -> Vec<String> {
        // Destructured so that a new condition can't be forgotten here.
        let Self {
            name: _,
            state,
            reason,
            cordoned,
            condition,
            taint,
            cpus_alloc,
            memory_alloc_mb,
            gres_alloc,
            pods,
            count: _,
        } = self;
        [
            state.clone(),
            cordoned.map(|it| if it { "cordoned" } else { "not cordoned" }.into()),
            condition.as_ref().map(|it| format!("with the condition {}", it.as_str())),
            taint.as_ref().map(|it| format!("with the taint {}", it.as_str())),
            cpus_alloc.map(|it| format!("with {} CPUs held", it.short())),
            memory_alloc_mb.map(|it| format!("with {} MiB held", it.short())),
            gres_alloc.as_ref().map(|it| match it.as_str() {
                "" => "with no generic resource held".into(),
                gres => format!("with {gres} held"),
            }),
            pods.map(|it| format!("with {} pods", it.short())),
            reason.as_ref().map(|it| match it.as_str() {
                "" => "without a reason".into(),
                words => format!("with the reason \"{words}\""),
            }),
        ]
        .into_iter()
        .flatten()
        .collect()
    }

    fn wrong(&self, node: &NodeRow) -> Vec<String> {
        let reason = node.reason.as_deref().unwrap_or_default();
        let off = |want: Option<Amount>, seen: u64| want.is_some_and(|it| !it.contains(seen));
        let mut wrong = vec![];
        if self.state.as_ref().is_some_and(|it| *it != node.state) {
            wrong.push(format!("is {}", node.state));
        }
        if self.cordoned.is_some_and(|it| it != node.cordoned) {
            wrong.push(if node.cordoned { "is cordoned" } else { "is not cordoned" }.into());
        }
        wrong.extend(rows::none_fits("condition", self.condition.as_ref(), &node.conditions));
        wrong.extend(rows::none_fits("taint", self.taint.as_ref(), &node.taints));
        if off(self.cpus_alloc, node.cpus_alloc.into()) {
            wrong.push(format!("has {} CPUs held", node.cpus_alloc));
        }
        if off(self.memory_alloc_mb, node.memory_alloc_mb) {
            wrong.push(format!("has {} MiB held", node.memory_alloc_mb));
        }
        if self.gres_alloc.as_ref().is_some_and(|it| !it.matches(&node.gres_alloc)) {
            wrong.push(match node.gres_alloc.as_str() {
                "" => "has no generic resource held".into(),
                gres => format!("has {gres} held"),
            });
        }
        if off(self.pods, node.pods.len() as u64) {
            wrong.push(match node.pods.len() {
                0 => "has no pods".into(),
                n => format!("has {n} pods ({})", node.pods.join(", ")),
            });
        }
        if let Some(words) = &self.reason
            && (!reason.contains(words) || words.is_empty() != reason.is_empty())
        {
            wrong.push(match reason {
                "" => "gives no reason".into(),
                reason => format!("gives the reason \"{reason}\""),
            });
        }
        wrong
    }
}
