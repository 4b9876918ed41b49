//! How a DaemonSet moves to another template.

use std::sync::Arc;

use serde_json::Value;

use super::{
    super::{deployment::share, pod::Pod, replica_set::available, revision},
    Round,
};

/// How many nodes may have an old and a new pod at a time, of so many.
pub(super) fn surge(set: &Value, nodes: u64) -> u64 {
    let strategy = &set["spec"]["updateStrategy"];
    let surge = &strategy["rollingUpdate"]["maxSurge"];
    match strategy["type"] == "OnDelete" || surge.is_null() {
        true => 0,
        false => share(surge, nodes, true),
    }
}

/// How many nodes may be without an available pod at a time, of so many.
fn unavailable(set: &Value, nodes: u64) -> u64 {
    let value = &set["spec"]["updateStrategy"]["rollingUpdate"]["maxUnavailable"];
    if value.is_null() { 1 } else { share(value, nodes, true) }
}

/// The new and the old pod of a node, unless there are more of either.
type Pair = (Option<Arc<Pod>>, Option<Arc<Pod>>);

impl Round<'_> {
    /// Takes the next step towards today's template.
    pub(super) fn roll(&mut self) {
        let nodes = self.sight.index.nodes();
        let desired = nodes.filter(|(node, _)| self.wanted.fits(node).0).count() as u64;
        let most = surge(self.set, desired);
        let may_miss = unavailable(self.set, desired);
        if most == 0 {
            // Without any leeway nothing could ever move.
            self.replace(may_miss.max(1));
        } else {
            self.add(most, desired);
        }
    }

    fn is_available(&self, pod: &Pod) -> bool {
        available(self.sight.at.now, self.set, pod)
    }

    fn pair(&self, pods: &[Arc<Pod>]) -> Option<Pair> {
        let live = pods.iter().filter(|pod| pod.deleting.is_none());
        let (new, old): (Vec<&Arc<Pod>>, Vec<&Arc<Pod>>) =
            live.partition(|pod| revision::label(&pod.object) == self.hash);
        let single = new.len() <= 1 && old.len() <= 1;
        single.then(|| (new.first().map(|it| Arc::clone(it)), old.first().map(|it| Arc::clone(it))))
    }

    /// Old pods go, as many as may be missing; `manage` brings the new ones.
    fn replace(&mut self, most: u64) {
        let (mut missing, mut broken, mut candidates) = (0, vec![], vec![]);
        for pods in self.by_node.values() {
            match self.pair(pods) {
                Some((Some(new), None)) => missing += u64::from(!self.is_available(&new)),
                Some((None, Some(old))) if self.is_available(&old) => candidates.push(old),
                Some((None, Some(old))) => {
                    missing += 1;
                    broken.push(old);
                }
                Some((None, None) | (Some(_), Some(_))) | None => missing += 1,
            }
        }
        let room = usize::try_from(most.saturating_sub(missing)).unwrap_or(usize::MAX);
        self.remove.extend(broken);
        self.remove.extend(candidates.into_iter().take(room));
    }

    /// New pods come beside the old ones, which go once the new ones are available.
    fn add(&mut self, most: u64, desired: u64) {
        let (mut surging, mut usable) = (0, 0);
        let (mut allowed, mut candidates, mut unwanted) = (vec![], vec![], vec![]);
        for (name, pods) in self.by_node {
            let Some((new, old)) = self.pair(pods) else {
                surging += 1;
                continue;
            };
            let counted = old.as_ref().or(new.as_ref());
            usable += u64::from(counted.is_some_and(|pod| self.is_available(pod)));
            let runs = self.sight.index.node(name).is_some_and(|it| self.wanted.fits(it).0);
            match (new, old) {
                (_, None) => {}
                (None, Some(old)) => match (self.is_available(&old), runs) {
                    (false, false) => self.remove.push(old),
                    (false, true) => allowed.push(name.clone()),
                    (true, false) => unwanted.push(old),
                    (true, true) => candidates.push(name.clone()),
                },
                (Some(new), Some(_)) if !self.is_available(&new) => surging += 1,
                (Some(_), Some(old)) => self.remove.push(old),
            }
        }
        let spare = usize::try_from(u64::saturating_sub(usable, desired)).unwrap_or(usize::MAX);
        self.remove.extend(unwanted.into_iter().take(spare));
        let room = usize::try_from(most.saturating_sub(surging)).unwrap_or(usize::MAX);
        self.create.extend(allowed);
        self.create.extend(candidates.into_iter().take(room));
    }
}
