//! Which workload a pod belongs to.
//!
//! ```text
//!  a job of ours lists it ─────────▶ that job's workload
//!  it names a PodGroup ────────────▶ the gang, known by the group's uid · no such group: parked
//!  neither ────────────────────────▶ a workload of its own, known by its uid …
//!                                     … until its owners are read and make it part of a gang
//! ```
//!
//! While an earlier generation of a gang ends, its pods are parked. A pod that comes when the gang's job has
//! its nodes and no place is free gets a job of its own.

use std::sync::Arc;

use drawbridge_sim::JobId;

use super::Bridge;
use crate::{
    ending::Farewell,
    gang::{self, Gang, Roster},
    jobs::OurJob,
    names::Uid,
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
        self.seat_lanes();
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

    /// Jobs that were there before us take up room among their controllers' jobs.
    fn seat_lanes(&mut self) {
        for (_, job) in self.jobs.iter().filter(|(_, job)| job.is_live()) {
            let Some(workload) = self.workloads.get(&job.workload) else { continue };
            let first = workload.members.first().and_then(|pod| self.store.pod(pod));
            if let Some(owner) = first.and_then(|pod| pod.metadata.controller()) {
                self.lanes.place(&job.workload, owner);
                self.lanes.settle(&job.workload, true);
            }
        }
    }

    /// Ends a job of ours that stands for nobody, as its pods ended: a bridge before us may have
    /// let go of them and died before it could tell the job.
    pub(super) fn end_orphan(&mut self, job: JobId, workload: Uid) {
        let (farewell, why) = match self.farewell_of(job) {
            Farewell::Cancel | Farewell::GiveBack => (Farewell::Cancel, "no workload needs it"),
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
        if self.has_own_job(&pod) {
            return self.house_alone(uid);
        }
        match Gang::named_by(&pod) {
            Some(group) => self.house_in_group(&pod, group),
            None => match self.gang_by_job(&pod) {
                Some((id, gang)) => self.house_in_gang(&pod, id, gang),
                None => self.house_alone(uid),
            },
        }
    }

    /// Whether it has a job of its own, or had one that ended while no bridge ran.
    fn has_own_job(&self, pod: &PodView) -> bool {
        let label = pod.job_label().and_then(|label| label.parse().ok()).map(JobId);
        let labelled = label.and_then(|job| self.jobs.get(job));
        labelled.is_some_and(|job| job.workload == *pod.uid() && job.gang().is_none())
            || self.jobs.live_of(pod.uid()).any(|(_, job)| job.gang().is_none())
    }

    /// The gang whose job lists the pod, as far as that can be told without its owners.
    fn gang_by_job(&self, pod: &PodView) -> Option<(Uid, Gang)> {
        let mut claims = gang::claims(pod, &self.store);
        claims.push(pod.uid().clone());
        claims.into_iter().find_map(|id| {
            let ours = |(_, job): (_, &OurJob)| job.gang().filter(|_| job.lists(pod)).cloned();
            let gang = self.jobs.live_of(&id).find_map(ours)?;
            Some((id, gang))
        })
    }

    fn house_in_group(&mut self, pod: &PodView, group: Gang) {
        let found = plants::namesake(&self.config, &self.store, &group);
        match self.store.group(&found) {
            None => self.park(group, pod.uid()),
            // Nothing binds its pods but a name.
            Some(found) if found.is_basic() => self.house_alone(pod.uid()),
            Some(found) => {
                let id = found.metadata.uid.clone();
                self.house_in_gang(pod, id, group);
            }
        }
    }

    fn house_in_gang(&mut self, pod: &PodView, id: Uid, gang: Gang) {
        let known = self.workloads.get(&id);
        let taking = known.map_or(Taking::Yes, |gang| gang.takes(&self.store, &self.jobs, pod));
        match taking {
            Taking::Yes => self.move_in(id, Some(gang), pod.uid()),
            Taking::No => self.part(pod.uid()),
            Taking::Later => self.park(gang, pod.uid()),
        }
    }

    /// Makes the pod a workload of its own.
    pub(super) fn house_alone(&mut self, pod: &Uid) {
        self.move_in(pod.clone(), None, pod);
    }

    /// Makes a pod that came too late for its gang a workload of its own.
    pub(super) fn part(&mut self, pod: &Uid) {
        self.house_alone(pod);
        if let Some(workload) = self.workloads.get_mut(pod) {
            workload.stands_alone = true;
        }
    }

    /// Lets the pod wait until its gang can take it.
    fn park(&mut self, gang: Gang, pod: &Uid) {
        let id = parked(&gang);
        self.move_in(id.clone(), Some(gang), pod);
        if let Some(workload) = self.workloads.get_mut(&id) {
            workload.is_parked = true;
        }
    }

    fn move_in(&mut self, id: Uid, gang: Option<Gang>, pod: &Uid) {
        let now = self.out.now();
        let new = || Workload::new(id.clone(), gang);
        let workload = self.workloads.entry(id.clone()).or_insert_with(new);
        workload.join(now, pod.clone());
        self.homes.insert(pod.clone(), id.clone());
        self.touched.insert(id);
    }

    /// The pod's owners turned out to make it part of a gang.
    pub(super) fn move_to_gang(&mut self, pods: impl IntoIterator<Item = Uid>, roster: &Roster) {
        for uid in pods {
            self.homes.remove(&uid);
            if let Some(pod) = self.store.pod(&uid).cloned() {
                self.house_in_gang(&pod, roster.id.clone(), roster.gang.clone());
            }
        }
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
        if let Some(gang) = &workload.gang {
            self.rehouse(gang);
        }
    }

    /// The group appeared, or an earlier generation of the gang is closed: its parked pods move.
    pub(super) fn rehouse(&mut self, gang: &Gang) {
        if gang.needs_a_group() && self.store.group(gang).is_none() {
            return;
        }
        let Some(parked) = self.workloads.remove(&parked(gang)) else {
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

/// Where pods wait for their gang.
fn parked(gang: &Gang) -> Uid {
    format!("parked:{gang}").into()
}
