//! Images on the nodes: pulled one after the other, and kept.

use std::{collections::BTreeMap, sync::Arc};

use drawbridge_sim::{Span, Time};

/// What each node has, and what is on its way.
#[derive(Clone, Debug, Default)]
pub(crate) struct Images {
    /// When an image is there, by node and name.
    there: BTreeMap<(Arc<str>, Arc<str>), Time>,
    /// When the last pull of a node ends: a kubelet pulls one image at a time.
    busy: BTreeMap<Arc<str>, Time>,
}

impl Images {
    /// Whether a node has an image.
    pub(crate) fn has(&self, now: Time, node: &Arc<str>, image: &Arc<str>) -> bool {
        self.there.get(&(node.clone(), image.clone())).is_some_and(|at| *at <= now)
    }

    /// Has an image pulled that takes so long, unless it's on its way already; says when it's there.
    pub(crate) fn pull(
        &mut self,
        now: Time,
        node: &Arc<str>,
        image: &Arc<str>,
        takes: Span,
    ) -> Time {
        let key = (node.clone(), image.clone());
        if let Some(at) = self.there.get(&key) {
            return now.max(*at);
        }
        let busy = self.busy.entry(node.clone()).or_default();
        let at = now.max(*busy) + takes;
        *busy = at;
        self.there.insert(key, at);
        at
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_pulls_one_image_after_the_other_and_each_once() {
        let mut images = Images::default();
        let (n1, n2): (Arc<str>, Arc<str>) = ("n1".into(), "n2".into());
        let (a, b): (Arc<str>, Arc<str>) = ("a".into(), "b".into());
        let at = |secs: u64| Time::ZERO + Span::secs(secs);
        assert_eq!(images.pull(at(0), &n1, &a, Span::secs(30)), at(30));
        assert_eq!(images.pull(at(5), &n1, &a, Span::secs(30)), at(30));
        assert_eq!(images.pull(at(5), &n1, &b, Span::secs(10)), at(40));
        assert_eq!(images.pull(at(5), &n2, &a, Span::secs(30)), at(35));
        assert!(!images.has(at(29), &n1, &a));
        assert!(images.has(at(30), &n1, &a));
        assert_eq!(images.pull(at(60), &n1, &a, Span::secs(30)), at(60));
    }
}
