//! What slurmrestd says.

use std::sync::Arc;

use drawbridge_sim::{JobId, SlurmNode};

use super::Bridge;
use crate::{
    context::Context,
    ending::Progress,
    input::{CallId, SlurmFault, SlurmReply},
    jobs::OurJob,
    mark::Mark,
    names::{SLURM_NODE_LABEL, Uid},
    outbox::Purpose,
    plants::{self, Plant},
    slurm::{NodeInfo, ObservedJob, ObservedState},
    view::NodeView,
    workload::{Stage, Workload},
};

type Outcome = Result<SlurmReply, SlurmFault>;

impl Bridge {
    /// Takes a reply, or the lack of one. Late ones are nobody's.
    pub(super) fn slurm_replied(&mut self, call: CallId, outcome: Outcome) {
        let Some((purpose, via)) = self.out.answered(call) else {
            return;
        };
        self.learn_of_the_way(&purpose, via, outcome.as_ref().map(drop));
        self.slurm_told(call, purpose, outcome);
    }

    /// Takes what came of a request, sent or not.
    pub(super) fn slurm_told(&mut self, call: CallId, purpose: Purpose, outcome: Outcome) {
        if outcome.is_err() {
            self.out.count("slurm.faults");
        }
        let outcome = plants::heard(&self.config, &self.slurm_nodes, outcome);
        match purpose {
            Purpose::Submit(workload) => self.submit_replied(&workload, outcome),
            Purpose::Revise(workload) => self.revise_replied(&workload, outcome),
            Purpose::States => self.states_replied(outcome),
            Purpose::AllJobs => self.all_jobs_replied(call, outcome),
            Purpose::Job(job) => self.job_replied(call, job, outcome),
            Purpose::SlurmNodes => self.nodes_replied(outcome),
            Purpose::Reservations => self.reservations_replied(outcome),
            Purpose::Ending(job) => {
                let cluster = plants::cluster_asked_for(&self.config, &outcome);
                let progress = self.endings.replied(&mut self.out, &cluster, job, &outcome);
                if let Progress::Moved(workload) = progress {
                    self.touched.insert(workload);
                }
                self.clear_ending(job);
            }
            Purpose::UpdateNode(node) => {
                let done = self.keeper.synced(&mut self.out, &node, outcome.as_ref().map(drop));
                if done {
                    self.poller.want_nodes(self.out.now());
                }
                self.touch_nodes_called(&node);
            }
            Purpose::Probe
            | Purpose::Lease
            | Purpose::List(_)
            | Purpose::Owner(_)
            | Purpose::Pod(_)
            | Purpose::Note
            | Purpose::Claim(_)
            | Purpose::Node(_) => {}
        }
    }

    fn submit_replied(&mut self, id: &Uid, outcome: Outcome) {
        self.told(id, |workload, context| workload.submitted(context, outcome));
    }

    fn revise_replied(&mut self, id: &Uid, outcome: Outcome) {
        self.told(id, |workload, context| workload.revised(context, outcome));
    }

    /// Lets a workload hear what came of its request.
    fn told(&mut self, id: &Uid, hear: impl FnOnce(&mut Workload, &mut Context<'_>)) {
        if !self.config.has(Plant::BlocksTheLine) {
            self.gate.leave(id);
        }
        if let Some(mut workload) = self.workloads.remove(id) {
            self.count(workload.need(), false);
            hear(&mut workload, &mut self.context());
            self.count(workload.need(), true);
            self.workloads.insert(id.clone(), workload);
            self.touched.insert(id.clone());
        }
    }

    fn states_replied(&mut self, outcome: Outcome) {
        let now = self.out.now();
        let Ok(SlurmReply::States(mut states)) = outcome else {
            return self.poller.states_failed(now);
        };
        plants::overlook(&self.config, &self.jobs, &mut states);
        for (job, state) in self.poller.states_answered(now, &self.jobs, &states) {
            self.ended_by_states(job, state);
        }
    }

    /// What we are ending is settled by its state alone; any other end is read in full.
    fn ended_by_states(&mut self, job: JobId, state: ObservedState) {
        let Some(workload) = self.jobs.get(job).map(|job| job.workload.clone()) else { return };
        if self.endings.contains(&workload, job) {
            self.jobs.set_state(job, state);
            self.after_observing(job);
        } else {
            self.poller.want_job(job);
        }
    }

    fn job_replied(&mut self, call: CallId, id: JobId, outcome: Outcome) {
        let Ok(SlurmReply::Job(found)) = outcome else {
            return self.poller.job_answered(id, true);
        };
        self.poller.job_answered(id, false);
        let mark = found.as_ref().and_then(|found| self.mark_of(found));
        match mark.zip(found) {
            Some((mark, found)) => self.observe(mark, *found, call),
            None => self.job_is_not_ours(id, call),
        }
    }

    /// The number is somebody else's, or nobody's.
    fn job_is_not_ours(&mut self, id: JobId, call: CallId) {
        let was_live = self.jobs.get(id).is_some_and(OurJob::is_live);
        self.jobs.lose(id, call);
        self.after_observing(id);
        if was_live {
            // Slurm lost its state, perhaps, and other jobs with it.
            self.poller.want_all_jobs(self.out.now());
        }
    }

    fn all_jobs_replied(&mut self, call: CallId, outcome: Outcome) {
        let now = self.out.now();
        let Ok(SlurmReply::Jobs(found)) = outcome else {
            return self.poller.all_jobs_failed(now);
        };
        self.poller.all_jobs_answered(now);
        for job in found {
            match self.mark_of(&job) {
                Some(mark) => self.observe(mark, job, call),
                None => self.job_is_not_ours(job.id, call),
            }
        }
        self.jobs.tidy(call);
        self.owners.tidy(now);
        let doubtful = |stage: &Stage| matches!(stage, Stage::Doubtful { .. });
        let waiting = self.workloads.values().filter(|one| doubtful(&one.stage));
        self.touched.extend(waiting.map(|one| one.id.clone()));
    }

    fn observe(&mut self, mark: Mark, job: ObservedJob, call: CallId) {
        let (id, workload) = (job.id, mark.workload.clone());
        let before = self.jobs.get(id).map(|job| job.workload.clone());
        self.jobs.observe(mark, job, call);
        if !self.synced {
            return;
        }
        // Where the number was another workload's, that one has to look for its job.
        let is_news = before.as_ref() != Some(&workload);
        self.touched.extend(before.filter(|_| is_news));
        let live = self.jobs.of(&workload, id).map(OurJob::is_live);
        match (is_news, live, self.workloads.contains_key(&workload)) {
            // Old news: it is settled.
            (_, None, _) => {}
            (true, Some(true), false) => self.end_orphan(id, workload),
            (true, Some(false), _) => self.jobs.forget(id, call),
            (true, Some(true), true) | (false, Some(_), _) => self.after_observing(id),
        }
    }

    fn after_observing(&mut self, id: JobId) {
        if let Some(job) = self.jobs.get(id)
            && !job.is_live()
        {
            self.endings.observed_end(&mut self.out, &job.workload, id);
        }
        self.touch_workload_of(id);
        self.clear_ending(id);
    }

    fn touch_workload_of(&mut self, id: JobId) {
        if let Some(job) = self.jobs.get(id) {
            self.touched.insert(job.workload.clone());
        }
    }

    /// Forgets the end of a job that no workload waits for: surplus and orphans.
    fn clear_ending(&mut self, id: JobId) {
        let Some(workload) = self.jobs.get(id).map(|job| job.workload.clone()) else { return };
        if !self.endings.is_over(&workload, id) {
            return;
        }
        let current = self.workloads.get(&workload).and_then(|workload| workload.job());
        if current != Some(id) {
            self.endings.forget(&mut self.out, &workload, id);
            self.jobs.forget(id, self.out.last_call());
        }
    }

    fn mark_of(&self, job: &ObservedJob) -> Option<Mark> {
        let cluster = plants::cluster_of(&self.config, &job.admin_comment);
        Mark::read(&job.admin_comment, &cluster)
    }

    fn nodes_replied(&mut self, outcome: Outcome) {
        let now = self.out.now();
        let Ok(SlurmReply::Nodes(nodes)) = outcome else {
            return self.poller.nodes_failed(now);
        };
        self.poller.nodes_answered(now);
        let names = |nodes: &[NodeInfo]| -> Vec<_> {
            nodes.iter().map(|node| (node.name.clone(), node.comment.clone())).collect()
        };
        let known: Vec<_> = self.slurm_nodes.values().cloned().collect();
        let nodes = nodes.into_iter().map(|node| (node.name.clone(), node)).collect();
        self.slurm_nodes = nodes;
        let found: Vec<_> = self.slurm_nodes.values().cloned().collect();
        if names(&known) != names(&found) {
            self.mapping_is_stale = true;
            self.nodes_changed();
        }
        if known != found {
            self.touched_nodes.extend(self.store.nodes().map(|node| node.name()));
        }
        if self.synced {
            self.remap();
            self.sync_nodes();
        }
    }

    fn sync_nodes(&mut self) {
        if self.duties.nodes {
            let (keeper, out, around) = self.keeper();
            keeper.sync(out, around);
        }
    }

    /// What shows on Kubernetes nodes may change with what became of a Slurm node.
    fn touch_nodes_called(&mut self, slurm: &SlurmNode) {
        let called = |node: &Arc<NodeView>| {
            let label = node.metadata.labels.get(SLURM_NODE_LABEL);
            label.unwrap_or(&node.metadata.name) == slurm.as_str()
        };
        let found = self.store.nodes().filter(|node| called(node)).map(|node| node.name());
        self.touched_nodes.extend(found.collect::<Vec<_>>());
    }

    fn reservations_replied(&mut self, outcome: Outcome) {
        let now = self.out.now();
        let Ok(SlurmReply::Reservations(found)) = outcome else {
            return self.poller.reservations_failed(now);
        };
        self.poller.reservations_answered(now);
        // What is over needs a look too, though Slurm says the same as before.
        if found != self.reservations || !found.is_empty() {
            self.touched_nodes.extend(self.store.nodes().map(|node| node.name()));
        }
        self.reservations = found;
    }
}
