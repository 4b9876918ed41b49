//! What pods with a place mean for those without: who takes up what, and what kubelets refused.

use std::collections::BTreeSet;

use drawbridge_sim::{Epoch, Time};

use super::Bridge;
use crate::{
    facts::FactSubject, names::Uid, plants::Plant, refusals::refused, view::PodView,
    workload::Stage,
};

impl Bridge {
    /// A pod of ours was seen.
    pub(super) fn lodge(&mut self, pod: &PodView) {
        self.tenants.put_ours(pod);
        self.storage.note_user(pod);
        let (Some(node), Some(reason)) = (pod.node(), refused(pod)) else {
            return;
        };
        if self.config.has(Plant::ForgetsRefusals) {
            return;
        }
        let now = self.out.now();
        let at = self.bound_at(pod).unwrap_or(now).min(now);
        if self.refusals.note(pod, at, now).is_some() {
            let key = pod.key();
            let text = format!("keeps pods like {key} off {node} for a while: {reason}");
            self.out.tell(FactSubject::KubeNode(node), text);
        }
    }

    /// A pod of ours is gone.
    pub(super) fn move_out(&mut self, uid: &Uid, last: Option<&PodView>) {
        self.tenants.drop_pod(uid);
        if let Some(last) = last {
            self.storage.drop_user(last);
        }
    }

    /// These pods of other schedulers have a place, and no others.
    pub(super) fn replace_others(&mut self, listed: &BTreeSet<Uid>) {
        for uid in self.tenants.others().difference(listed) {
            self.tenants.drop_pod(uid);
        }
    }

    /// The nodes are other nodes now: who can't run on those of before may be able to.
    pub(super) fn nodes_changed(&mut self) {
        let refused = |stage: &Stage| matches!(stage, Stage::Refused { .. });
        let hopeless = self.workloads.values().filter(|one| refused(&one.stage));
        self.touched.extend(hopeless.map(|one| one.id.clone()));
    }

    /// When the pod was bound, as it says itself.
    fn bound_at(&self, pod: &PodView) -> Option<Time> {
        let condition = pod.condition("PodScheduled")?;
        let at = Epoch::parse(condition.last_transition_time.as_deref()?).ok()?;
        Some(self.author.epoch.time_of_unix(at.unix(Time::ZERO)))
    }
}
