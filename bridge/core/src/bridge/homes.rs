//! Which workload a pod belongs to.
//!
//! A pod without a group is a workload of its own, known by its uid. A pod whose label names a
//! PodGroup of its namespace belongs to the gang, known by the group's uid. While the group doesn't
//! exist, or an earlier generation of it is ending, its pods are parked. A pod that comes after the
//! gang's job was submitted gets a job of its own.

use drawbridge_sim::JobId;

use super::Bridge;
use crate::{
    ending::Farewell,
    names::{ObjectKey, Uid},
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

    /// Ends a job of ours that stands for nobody.
    pub(super) fn end_orphan(&mut self, job: JobId, workload: Uid) {
        let why = "no workload needs it";
        self.endings.begin(&mut self.out, job, workload, Farewell::Cancel, why);
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
        if pod.is_terminal() && !pod.has_finalizer() {
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
        let Some(id) = self.store.group(group).map(|group| group.metadata.uid.clone()) else {
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
