//! What an administrator does to jobs and nodes with scontrol.

use drawbridge_sim::{JobId, JobUpdate, Requeue, SlurmError, SlurmNode, Slurmctld, Time, UserName};

use super::World;
use crate::{
    log::Line,
    record::{Actor, Subject},
    scenario::{JobVerb, Scontrol},
};

impl World {
    pub(super) fn scontrol(&mut self, command: &Scontrol) {
        match command {
            Scontrol::Job(verb, which) => self.scontrol_jobs(*verb, which),
            Scontrol::CreateNodes(words) => {
                let done = self.as_root(|ctld, now, root| {
                    ctld.create_nodes(now, words, root).map_err(|error| error.to_string())
                });
                self.told(Subject::Twin, &format!("create {words}"), done);
            }
            Scontrol::DeleteNode(name) => {
                let node = SlurmNode::from(name.as_str());
                let done = self.as_root(|ctld, now, root| {
                    ctld.delete_node(now, &node, root).map_err(|error| error.to_string())
                });
                self.told(
                    Subject::SlurmNode(name.clone()),
                    &format!("delete nodename={name}"),
                    done,
                );
            }
        }
    }

    /// Does it to the job of this number, or to all live ones of this name.
    fn scontrol_jobs(&mut self, verb: JobVerb, which: &str) {
        let jobs = self.live_jobs(which);
        if jobs.is_empty() {
            let text = format!("ran scontrol {}, but Slurm has no such live job", verb.line(which));
            return self.refuse(Subject::Twin, text);
        }
        for job in jobs {
            let done = self.as_root(|ctld, now, root| {
                verb.run(ctld, now, job, root).map_err(|error| error.to_string())
            });
            self.told(Subject::Job(job), &verb.line(&job.to_string()), done);
        }
    }

    fn as_root<T>(&mut self, act: impl FnOnce(&mut Slurmctld, Time, &UserName) -> T) -> T {
        let (now, root) = (self.now, UserName::from("root"));
        self.slurm.with_ctld(now, |ctld| act(ctld, now, &root))
    }

    fn told(&mut self, subject: Subject, line: &str, done: Result<(), String>) {
        self.note(Line::story(Actor::User, subject.clone(), format!("ran scontrol {line}")));
        if let Err(error) = done {
            self.refuse(subject, format!("scontrol {line} failed: {error}"));
        }
    }
}

impl JobVerb {
    /// As it is typed, for this job.
    fn line(self, job: &str) -> String {
        let word = match self {
            Self::Suspend => "suspend",
            Self::Resume => "resume",
            Self::Hold => "hold",
            Self::Release => "release",
            Self::Requeue => "requeue",
            Self::RequeueHold => "requeuehold",
            Self::Priority(to) => return format!("update JobId={job} Priority={to}"),
        };
        format!("{word} {job}")
    }

    fn run(
        self,
        ctld: &mut Slurmctld,
        now: Time,
        job: JobId,
        by: &UserName,
    ) -> Result<(), SlurmError> {
        match self {
            Self::Suspend => ctld.suspend_job(now, job, by),
            Self::Resume => ctld.resume_job(now, job, by),
            Self::Hold => ctld.hold(now, job, by),
            Self::Release => ctld.release(now, job, by),
            Self::Requeue => ctld.requeue(now, job, Requeue::Plain, by),
            Self::RequeueHold => ctld.requeue(now, job, Requeue::Hold, by),
            Self::Priority(to) => {
                let update = JobUpdate { priority: Some(to), ..JobUpdate::default() };
                ctld.update_job(now, job, &update, by)
            }
        }
    }
}
