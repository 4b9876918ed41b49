//! Pods that are placed together: what they demand of each other, as far as Slurm can be told.
//!
//! ```text
//!  each away from the others        ──▶ one task on a node
//!  all beside each other            ──▶ one node
//!  spread evenly                    ──▶ so many tasks on a node, at most
//!  room beside pods of other hands  ──▶ so many tasks on a node, at most
//!  the same by zones and the like   ──▶ Slurm has no words for it
//! ```

use std::collections::BTreeMap;

use super::{
    company::Company,
    demands::{Demands, ports_clash, room_for, share_a_claim},
    peers::{is_readable, means_pod, spreads_itself},
};
use crate::{
    slurm::NodeInfo,
    view::{NodeView, PodTerm, SpreadConstraint},
};

/// How pods go together on nodes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Layout {
    /// At most so many on one.
    pub(crate) per_node: Option<u32>,
    /// All on one.
    pub(crate) one_node: bool,
}

/// A demand that Slurm can't be told.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what} can't be kept: {why}")]
pub(crate) struct Unkept {
    pub(crate) what: String,
    pub(crate) why: String,
}

/// Pods that are placed together, and the nodes that they may come to.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Crew<'a> {
    pub(crate) pods: &'a [Demands<'a>],
    pub(crate) nodes: &'a [(&'a NodeInfo, &'a NodeView)],
    pub(crate) company: Company<'a>,
    pub(crate) cpus_per_task: u32,
}

/// How far the nodes that share a label's value reach.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reach {
    /// Each node has its own.
    OneNodeEach,
    /// All have the same.
    AllTheSame,
    Several,
}

impl Crew<'_> {
    /// How they go together, and what of it can't be promised.
    pub(crate) fn layout(self) -> (Layout, Vec<Unkept>) {
        let mut layout = Layout::default();
        let mut unkept: Vec<_> = self.pods.iter().flat_map(unreadable).collect();
        if self.pods.len() > 1 {
            if self.any_pair(ports_clash) {
                layout.at_most(1);
            }
            layout.one_node = self.any_pair(share_a_claim);
            self.keep_apart(&mut layout, &mut unkept);
            self.keep_together(&mut layout, &mut unkept);
            self.spread(&mut layout, &mut unkept);
            layout.cap(self.room());
            if layout.one_node
                && layout.per_node.is_some_and(|most| (most as usize) < self.pods.len())
            {
                let what = "the demands of the pods on each other".to_owned();
                let why = "they have to share one node, and can't".to_owned();
                unkept.push(Unkept { what, why });
            }
        }
        unkept.dedup();
        (layout, unkept)
    }

    fn any_pair(self, holds: impl Fn(&Demands<'_>, &Demands<'_>) -> bool) -> bool {
        let mut rest = self.pods.iter();
        while let Some(one) = rest.next() {
            if rest.clone().any(|other| holds(one, other)) {
                return true;
            }
        }
        false
    }

    /// Whether a term of one of the pods is about another of them.
    fn is_inward(self, of: &Demands<'_>, term: &PodTerm) -> bool {
        // Some are known by name alone: they are yet to come.
        let mut others = self.pods.iter().filter(|other| other.pod.key() != of.pod.key());
        others.any(|other| means_pod(term, of.pod, other.pod))
    }

    fn keep_apart(self, layout: &mut Layout, unkept: &mut Vec<Unkept>) {
        for pod in self.pods {
            for term in &pod.pod.spec.affinity.pod_anti_affinity.required {
                if !self.is_inward(pod, term) {
                    continue;
                }
                match self.reach(&term.topology_key) {
                    Reach::OneNodeEach => layout.at_most(1),
                    Reach::AllTheSame => unkept.push(all_the_same("podAntiAffinity", term)),
                    Reach::Several => unkept.push(beyond_slurm("podAntiAffinity", term)),
                }
            }
        }
    }

    fn keep_together(self, layout: &mut Layout, unkept: &mut Vec<Unkept>) {
        for pod in self.pods {
            let terms = pod.pod.spec.affinity.pod_affinity.required.iter();
            for (index, term) in terms.filter(|term| is_readable(term)).enumerate() {
                if !self.is_inward(pod, term) || pod.peers.is_settled(index) {
                    continue;
                }
                match self.reach(&term.topology_key) {
                    Reach::OneNodeEach => layout.one_node = true,
                    Reach::AllTheSame => {}
                    Reach::Several => unkept.push(beyond_slurm("podAffinity", term)),
                }
            }
        }
    }

    fn spread(self, layout: &mut Layout, unkept: &mut Vec<Unkept>) {
        for pod in self.pods {
            let constraints = pod.pod.spec.topology_spread_constraints.iter();
            for it in constraints.filter(|it| it.is_required() && spreads_itself(it, pod.pod)) {
                let most = it.max_skew;
                let alike = self.pods.iter().filter(|other| spreads_itself(it, other.pod)).count();
                let enough = (alike as u64) <= most.saturating_mul(self.nodes.len() as u64);
                match self.reach(&it.topology_key) {
                    _ if alike as u64 <= most => {}
                    Reach::AllTheSame => {}
                    Reach::OneNodeEach if enough => {
                        layout.at_most(u32::try_from(most).unwrap_or(u32::MAX));
                    }
                    Reach::OneNodeEach | Reach::Several => unkept.push(uneven(it)),
                }
            }
        }
    }

    /// The most tasks on a node, if some node has room for fewer than Slurm believes.
    fn room(self) -> Option<u32> {
        let cpus = self.cpus_per_task.max(1);
        let fewest = |info: &NodeInfo, node: &NodeView| {
            let room = self.pods.iter().map(|pod| room_for(pod, node, self.company)).min()?;
            let believed = u64::from(info.cpus / cpus).min(self.pods.len() as u64);
            (0 < room && room < believed).then(|| u32::try_from(room).unwrap_or(u32::MAX))
        };
        self.nodes.iter().filter_map(|(info, node)| fewest(info, node)).min()
    }

    fn reach(self, key: &str) -> Reach {
        let mut sizes: BTreeMap<&str, usize> = BTreeMap::new();
        for (_, node) in self.nodes {
            if let Some(value) = node.metadata.labels.get(key) {
                *sizes.entry(value).or_default() += 1;
            }
        }
        match sizes.values().max() {
            None | Some(1) => Reach::OneNodeEach,
            Some(_) if sizes.len() == 1 => Reach::AllTheSame,
            Some(_) => Reach::Several,
        }
    }
}

impl Layout {
    fn at_most(&mut self, most: u32) {
        self.per_node = Some(self.per_node.map_or(most, |known| known.min(most)));
    }

    fn cap(&mut self, most: Option<u32>) {
        most.into_iter().for_each(|most| self.at_most(most));
    }

    /// How few nodes so many pods can do with.
    pub(crate) fn needed(self, pods: usize) -> usize {
        match self.per_node {
            Some(most) if !self.one_node => pods.div_ceil(most.max(1) as usize),
            Some(_) | None => 1,
        }
    }
}

/// Demands that can't be understood without the labels of namespaces.
fn unreadable(demands: &Demands<'_>) -> Vec<Unkept> {
    let affinity = &demands.pod.spec.affinity;
    let sides = [
        ("podAffinity", &affinity.pod_affinity.required),
        ("podAntiAffinity", &affinity.pod_anti_affinity.required),
    ];
    let by_labels = |term: &&PodTerm| !is_readable(term);
    let unkept = |(side, terms): (&str, &Vec<PodTerm>)| {
        terms.iter().find(by_labels).map(|_| Unkept {
            what: format!("spec.affinity.{side} (required)"),
            why: "its namespaceSelector asks for labels of namespaces, which the bridge doesn't \
                  read; name the namespaces"
                .into(),
        })
    };
    sides.into_iter().filter_map(unkept).collect()
}

fn beyond_slurm(side: &str, term: &PodTerm) -> Unkept {
    let what = format!("spec.affinity.{side} (required)");
    let key = &term.topology_key;
    let why = format!(
        "the pods are placed together, and Slurm can't be told to choose nodes by {key}; use \
         kubernetes.io/hostname, or the annotation constraints with a feature of the nodes"
    );
    Unkept { what, why }
}

fn all_the_same(side: &str, term: &PodTerm) -> Unkept {
    let what = format!("spec.affinity.{side} (required)");
    let why = format!("all nodes that the pods may use have the same {}", term.topology_key);
    Unkept { what, why }
}

fn uneven(constraint: &SpreadConstraint) -> Unkept {
    let SpreadConstraint { topology_key: key, max_skew, .. } = constraint;
    let what = "spec.topologySpreadConstraints (DoNotSchedule)".into();
    let why = format!(
        "the pods are placed together, and Slurm can't be told to spread them over {key} by at \
         most {max_skew}; use ScheduleAnyway, or kubernetes.io/hostname with enough nodes"
    );
    Unkept { what, why }
}
