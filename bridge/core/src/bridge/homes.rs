//! Which workload a pod belongs to.
//!
//! A pod without a group is a workload of its own, known by its uid. A pod whose label names a
//! PodGroup of its namespace belongs to the gang, known by the group's uid. While the group doesn't
//! exist, or an earlier generation of it is ending, its pods are parked. A pod that comes after the
//! gang's job was submitted gets a job of its own.

use std::sync::Arc;

use drawbridge_sim::JobId;

use super::Bridge;
use crate::{
    ending::Farewell,
    names::{ObjectKey, Uid},
    plants::{self, Plant},
    view::PodView,
    workload::{Taking, Workload},
};

impl Bridge {
    /// Both sides have spoken: every pod gets its workload, every job without one is ended.
    pub(super) fn take_stock(&mut self) {
        let pods: Vec<Uid> = self.store.pods().map(|pod| pod.uid().clone()).collect();
        for pod in pods {
            self.house(&pod);
        }
        let jobs: Vec<_> = self.jobs.iter().map(|(id, job)| (id, job.clone())).collect();
        for (id, job) in jobs {
            if !self.workloads.contains_key(&job.workload) {
                if job.is_live() {
                    self.end_orphan(id, job.workload);
                } else {
                    self.jobs.forget(id, self.out.last_call());
                }
            }
        }
    }

    /// Ends a job of ours that stands for nobody, as its pods ended: a bridge before us may have
    /// let go of them and died before it could tell the job.
    pub(super) fn end_orphan(&mut self, job: JobId, workload: Uid) {
        let (farewell, why) = match self.farewell_of(job) {
            Farewell::Cancel => (Farewell::Cancel, "no workload needs it"),
            told @ (Farewell::Succeeded | Farewell::Failed) => (told, "its pods are over"),
        };
        self.endings.begin(&mut self.out, job, workload, farewell, why);
    }

    /// How the pods of a job without a workload ended. One that is gone didn't say.
    fn farewell_of(&self, job: JobId) -> Farewell {
        let label = job.to_string();
        let ran = |pod: &&Arc<PodView>| pod.is_bound() && pod.job_label() == Some(&label);
        let pods: Vec<_> = self.store.pods().filter(ran).collect();
        let expected = self.jobs.get(job).map_or(0, |job| job.pods().len());
        match pods.iter().filter(|pod| pod.succeeded()).count() {
            _ if pods.is_empty() => Farewell::Cancel,
            succeeded if succeeded < expected => Farewell::Failed,
            _ => Farewell::Succeeded,
        }
    }

    /// Finds the pod's workload, or makes one.
    pub(super) fn house(&mut self, uid: &Uid) {
        if self.homes.contains_key(uid) {
            self.touch_home_of(uid);
            return;
        }
        let Some(pod) = self.store.pod(uid).cloned() else {
            return;
        };
        let is_forgotten = self.config.has(Plant::ForgetsFinalizers);
        if pod.is_terminal() && (is_forgotten || !pod.has_finalizer()) {
            return;
        }
        let group = pod.group().filter(|_| !self.has_own_job(&pod));
        match group {
            None => self.house_alone(uid),
            Some(group) => self.house_in_gang(&pod, &group),
        }
    }

    /// Whether it has a job of its own, or had one that ended while no bridge ran.
    fn has_own_job(&self, pod: &PodView) -> bool {
        let label = pod.job_label().and_then(|label| label.parse().ok()).map(JobId);
        let labelled = label.and_then(|job| self.jobs.get(job));
        labelled.is_some_and(|job| job.workload == *pod.uid())
            || self.jobs.live_of(pod.uid()).next().is_some()
    }

    fn house_in_gang(&mut self, pod: &PodView, group: &ObjectKey) {
        let found = plants::namesake(&self.config, &self.store, group);
        let Some(id) = self.store.group(&found).map(|group| group.metadata.uid.clone()) else {
            return self.move_in(parked(group), Some(group), pod.uid());
        };
        let taking =
            self.workloads.get(&id).map_or(Taking::Yes, |gang| gang.takes(&self.jobs, pod));
        match taking {
            Taking::Yes => self.move_in(id, Some(group), pod.uid()),
            Taking::No => self.house_alone(pod.uid()),
            Taking::Later => self.move_in(parked(group), Some(group), pod.uid()),
        }
    }

    /// Makes the pod a workload of its own.
    pub(super) fn house_alone(&mut self, pod: &Uid) {
        self.move_in(pod.clone(), None, pod);
    }

    fn move_in(&mut self, id: Uid, group: Option<&ObjectKey>, pod: &Uid) {
        let now = self.out.now();
        let new = || Workload::new(id.clone(), group.cloned());
        let workload = self.workloads.entry(id.clone()).or_insert_with(new);
        workload.join(now, pod.clone());
        self.homes.insert(pod.clone(), id.clone());
        self.touched.insert(id);
    }

    pub(super) fn touch_home_of(&mut self, pod: &Uid) {
        if let Some(home) = self.homes.get(pod) {
            self.touched.insert(home.clone());
        }
    }

    /// The pod is gone; this was its last state.
    pub(super) fn bury(&mut self, last: &PodView) {
        self.desks.clear(&mut self.out, last.uid());
        if let Some(home) = self.homes.remove(last.uid()) {
            if let Some(workload) = self.workloads.get_mut(&home) {
                workload.lose(last);
            }
            self.touched.insert(home);
        }
    }

    /// Nothing is left to do for a workload.
    pub(super) fn close(&mut self, workload: &Workload) {
        self.jobs.forget_ended_of(&workload.id);
        for pod in &workload.members {
            self.homes.remove(pod);
        }
        if let Some(group) = &workload.group {
            self.rehouse(group);
        }
    }

    /// The group appeared, or an earlier generation of it is closed: its parked pods move.
    pub(super) fn rehouse(&mut self, group: &ObjectKey) {
        if self.store.group(group).is_none() {
            return;
        }
        let Some(parked) = self.workloads.remove(&parked(group)) else {
            return;
        };
        self.count(parked.need(), false);
        for pod in &parked.members {
            self.homes.remove(pod);
        }
        for pod in parked.members {
            self.house(&pod);
        }
    }
}

/// Where pods wait for their group.
fn parked(group: &ObjectKey) -> Uid {
    format!("group:{group}").into()
}
