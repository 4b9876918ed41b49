//! Which of the bridge's machines a piece of news is for, and in which state it finds it.
//!
//! For those who count what was tried: nothing here changes anything.

use drawbridge_sim::Time;

use crate::{
    bridge::Bridge,
    input::{CallId, Input},
    outbox::{Alarm, Purpose},
};

/// Nobody waits for this reply any more.
const LATE: &str = "late";

impl Bridge {
    /// The state of every machine that a piece of news is for, and the stage of every workload.
    pub fn meets(&self, now: Time, input: &Input) -> Vec<&'static str> {
        let mut met: Vec<&'static str> = self.stages().collect();
        met.sort_unstable();
        met.dedup();
        match input {
            Input::Started | Input::Stopping => {}
            Input::Woke => met.extend(self.out.ringing(now).filter_map(|alarm| self.rung(alarm))),
            Input::KubeReplied { call, .. } => met.extend(self.addressee(*call)),
            Input::Watched { stream, .. } => {
                let listener = self.informers.values().find(|one| one.listens_to(*stream));
                met.push(listener.map_or(LATE, |informer| informer.state_name()));
            }
            Input::SlurmReplied { call, .. } => {
                met.extend(self.addressee(*call));
                met.push(self.link.state_name());
            }
        }
        met
    }

    fn addressee(&self, call: CallId) -> Option<&'static str> {
        let Some(purpose) = self.out.purpose_of(call) else { return Some(LATE) };
        Some(match purpose {
            Purpose::List(resource) => self.informers.get(resource)?.state_name(),
            Purpose::Owner(_) => "owner asked",
            Purpose::Pod(pod) => self.desks.state_name(pod),
            Purpose::Claim(_) => "claim written",
            Purpose::Note => "note sent",
            Purpose::Node(_) => "node patched",
            Purpose::Submit(_) => "job submitted",
            Purpose::Revise(_) => "job revised",
            Purpose::Reservations => "poll reservations",
            Purpose::States => "poll states",
            Purpose::AllJobs => "poll jobs",
            Purpose::Job(_) => "poll job",
            Purpose::SlurmNodes => "poll nodes",
            Purpose::Ending(job) => self.endings.state_name(*job)?,
            Purpose::UpdateNode(_) => "node updated",
            Purpose::Probe => "probe sent",
            Purpose::Lease => self.election.as_ref()?.state_name(),
        })
    }

    fn rung(&self, alarm: &Alarm) -> Option<&'static str> {
        match alarm {
            Alarm::Informer(resource) => Some(self.informers.get(resource)?.state_name()),
            Alarm::Pod(pod) => Some(self.desks.state_name(pod)),
            Alarm::Ending(job) => self.endings.state_name(*job),
            Alarm::Lease => Some(self.election.as_ref()?.state_name()),
            Alarm::Link => Some(self.link.state_name()),
            Alarm::Deadline => Some("reply overdue"),
            Alarm::Claim(_) => Some("claim resting"),
            Alarm::Node(_) => Some("node resting"),
            Alarm::NotReady(_) => Some("node not ready"),
            Alarm::Poll | Alarm::Workload(_) => None,
        }
    }
}
