//! The pods that wait for a node, by demand.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use drawbridge_sim::Time;

use super::super::{demand::Demand, object::Key, pod::Pod};

/// Where a pod stands: the most important first, then the oldest.
type Place = (std::cmp::Reverse<i64>, u64, Key);

/// The pods that wait. Nothing in here is tried unless there's a reason to.
#[derive(Clone, Debug, Default)]
pub(crate) struct Queue {
    classes: BTreeMap<Arc<Demand>, Class>,
}

#[derive(Clone, Debug, Default)]
struct Class {
    pods: BTreeSet<Place>,
    /// Didn't fit when last tried, and nothing has changed since.
    parked: bool,
    /// Pods that didn't fit while others of the class may.
    apart: BTreeSet<Place>,
    /// Pods that don't say yet why they wait.
    silent: BTreeSet<Place>,
    why: String,
    /// When the reason was last written on all of them.
    told: Time,
    /// Whether the reason is another by now.
    stale: bool,
}

fn place(pod: &Pod) -> Place {
    (std::cmp::Reverse(pod.priority), pod.created, pod.key.clone())
}

/// Whether the default scheduler should find a node for the pod.
pub(crate) fn waits(pod: &Pod) -> bool {
    pod.schedulable && pod.node.is_none() && pod.active()
}

impl Queue {
    /// A pod joins, or is already in.
    pub(crate) fn join(&mut self, pod: &Pod) {
        let class = self.classes.entry(pod.demand.clone()).or_default();
        if class.pods.insert(place(pod)) {
            class.silent.insert(place(pod));
            // It's told the reason of its class even if nobody else is tried.
            class.parked = false;
        }
    }

    /// A pod leaves, if it was in.
    pub(crate) fn leave(&mut self, pod: &Pod) {
        if let Some(class) = self.classes.get_mut(&pod.demand) {
            class.pods.remove(&place(pod));
            class.silent.remove(&place(pod));
            class.apart.remove(&place(pod));
            if class.pods.is_empty() {
                self.classes.remove(&pod.demand);
            }
        }
    }

    /// Something changed that may give room: all may be tried again. Says whether any waits.
    pub(crate) fn stir(&mut self) -> bool {
        for class in self.classes.values_mut() {
            class.parked = false;
            class.apart.clear();
        }
        !self.classes.is_empty()
    }

    /// Whether any that waits minds what pods are where.
    pub(crate) fn minds_pods(&self) -> bool {
        self.classes.keys().any(|demand| demand.peers.is_some())
    }

    /// Whether any that waits has volumes.
    pub(crate) fn minds_volumes(&self) -> bool {
        self.classes.keys().any(|demand| !demand.claims.is_empty())
    }

    /// A pod didn't fit, but others of its class may.
    pub(crate) fn set_apart(&mut self, pod: &Pod) {
        if let Some(class) = self.classes.get_mut(&pod.demand) {
            class.apart.insert(place(pod));
            class.silent.remove(&place(pod));
        }
    }

    /// Classes whose reason is out of date, and may be written again, are tried again.
    pub(crate) fn refresh(&mut self, now: Time) {
        for class in self.classes.values_mut() {
            if class.stale && class.told + super::REFRESH <= now {
                class.parked = false;
            }
        }
    }

    /// The pod to try next.
    pub(crate) fn next(&self) -> Option<Key> {
        self.classes
            .values()
            .filter(|class| !class.parked)
            .filter_map(|class| class.pods.iter().find(|it| !class.apart.contains(*it)))
            .min()
            .map(|(_, _, key)| key.clone())
    }

    /// No node can take pods like this one. Returns those that should say so now.
    pub(crate) fn park(&mut self, now: Time, demand: &Demand, why: &str) -> Parked {
        let Some(class) = self.classes.get_mut(demand) else {
            return Parked::default();
        };
        class.parked = true;
        let silent = std::mem::take(&mut class.silent);
        let due = class.told + super::REFRESH;
        let many = super::FEW < class.pods.len();
        class.stale = many && class.why != why && now < due && !class.why.is_empty();
        if class.stale || class.why == why {
            return Parked { tell: keys(&silent), again: class.stale.then_some(due) };
        }
        class.why = why.into();
        class.told = now;
        Parked { tell: keys(&class.pods), again: None }
    }
}

/// What follows from a class being parked.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Parked {
    /// Pods that should say why they wait.
    pub(crate) tell: Vec<Key>,
    /// When to bring what the others say up to date.
    pub(crate) again: Option<Time>,
}

fn keys(places: &BTreeSet<Place>) -> Vec<Key> {
    places.iter().map(|(_, _, key)| key.clone()).collect()
}

#[cfg(test)]
mod tests {
    use drawbridge_sim::Epoch;
    use serde_json::json;

    use super::*;

    fn pod(name: &str, created: u64, priority: i64, cpu: &str) -> Pod {
        let object = json!({
            "metadata": {"name": name, "namespace": "d", "uid": name},
            "spec": {
                "priority": priority,
                "containers": [{"resources": {"requests": {"cpu": cpu}}}],
            },
        });
        Pod::read(Epoch::DEFAULT, &Arc::new(object), created, None)
    }

    fn names(keys: &[Key]) -> String {
        let names: Vec<&str> = keys.iter().map(|key| &*key.name).collect();
        names.join(" ")
    }

    #[test]
    fn the_important_and_then_the_old_come_first_and_a_parked_class_waits() {
        let mut queue = Queue::default();
        let old = pod("old", 1, 0, "1");
        for it in [&pod("urgent", 3, 9, "2"), &pod("young", 2, 0, "1"), &old] {
            assert!(waits(it));
            queue.join(it);
        }
        let urgent = pod("urgent", 3, 9, "2");
        assert_eq!(queue.next(), Some(urgent.key.clone()));
        let now = Time::ZERO;
        assert_eq!(names(&queue.park(now, &urgent.demand, "no").tell), "urgent");
        assert_eq!(queue.next(), Some(old.key.clone()));
        assert_eq!(names(&queue.park(now, &old.demand, "no").tell), "old young");
        assert_eq!(queue.next(), None);
        assert!(queue.stir());
        queue.leave(&urgent);
        assert_eq!(queue.next(), Some(old.key.clone()));
    }

    #[test]
    fn a_reason_that_flickers_is_written_on_many_pods_once_a_minute() {
        let mut queue = Queue::default();
        let pods: Vec<Pod> = (0..200).map(|n| pod(&format!("p{n}"), n, 0, "1")).collect();
        pods.iter().for_each(|pod| queue.join(pod));
        let start = Time::from_ms(5);
        let demand = &pods[0].demand;
        assert_eq!(queue.park(start, demand, "a").tell.len(), 200);
        assert_eq!(queue.park(start, demand, "a"), Parked::default());
        queue.join(&pod("late", 200, 0, "1"));
        let parked = queue.park(start, demand, "b");
        assert_eq!(names(&parked.tell), "late");
        assert_eq!(parked.again, Some(start + super::super::REFRESH));
        queue.refresh(start);
        assert_eq!(queue.next(), None);
        queue.refresh(start + super::super::REFRESH);
        assert_eq!(queue.next(), Some(pods[0].key.clone()));
        let later = queue.park(start + super::super::REFRESH, demand, "b");
        assert_eq!(later.tell.len(), 201);
    }

    #[test]
    fn a_new_reason_is_written_on_few_pods_at_once() {
        let mut queue = Queue::default();
        let one = pod("one", 1, 0, "1");
        queue.join(&one);
        for why in ["a", "b", "a"] {
            assert_eq!(names(&queue.park(Time::ZERO, &one.demand, why).tell), "one");
        }
    }
}
