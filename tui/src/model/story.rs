//! Changing the story: what is done becomes a step of the scenario, and the run goes on from there.
//!
//! ```text
//!   deed ──▶ Retell ──▶ (elsewhere: the scenario with one more step, played from now on)
//!                           │
//!                           ▼
//!                News::Retold: the film is cut here, and what comes is another story
//! ```
#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "the model's update says which messages come here"
)]

use drawbridge_sim::Time;

use super::{
    Model, Tried,
    deed::{Deed, Object},
    explain::remedies,
    list::Key,
    menu::{Choice, Menu},
    msg::{Effect, MenuKind, Msg},
    reel::Origin,
    scene::{is_usable, is_waiting},
};
use crate::theme::Tone;

/// A change that was made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Changed {
    /// When.
    pub(crate) at: Time,
    /// What was done.
    pub(crate) words: String,
    /// The scenario as it was before.
    pub(crate) before: String,
}

impl Model {
    pub(super) fn do_it(&mut self, deed: Deed) {
        match &self.reel.origin {
            Origin::Twin(_) if self.retelling => {
                self.say(Tone::Waiting, "The last change is still being worked out.");
            }
            Origin::Twin(text) => {
                let (text, at) = (text.clone(), self.playhead.now);
                self.playhead.playing = false;
                self.retelling = true;
                let words = deed.words();
                self.changes.push(Changed { at, words, before: text.clone() });
                self.effects.push(Effect::Retell { at, deed, text });
            }
            Origin::Tape => {
                let text = "What was recorded can't be changed: open the scenario itself.";
                self.say(Tone::Bad, text);
            }
            Origin::Live { write: false, .. } => {
                self.say(Tone::Bad, "This is a real cluster, and read only: start with --write.");
            }
            Origin::Live { write: true, .. } => {
                self.say(Tone::Waiting, format!("Asked for: {}.", deed.words()));
                self.effects.push(Effect::Act(deed));
            }
        }
    }

    pub(super) fn tell(&mut self, msg: &Msg) {
        match msg {
            Msg::Save(path) => match (&self.reel.origin, self.changes.is_empty()) {
                (Origin::Twin(text), false) => {
                    let text = text.clone();
                    self.effects.push(Effect::Write(path.clone(), text));
                }
                (Origin::Twin(_), true) => self.say(Tone::Waiting, "Nothing was changed yet."),
                (Origin::Tape | Origin::Live { .. }, _) => {
                    self.say(Tone::Bad, "Only a scenario that is being played can be saved.");
                }
            },
            Msg::Undo => self.undo(),
            Msg::Try => self.try_remedies(),
            _ => {}
        }
    }

    fn undo(&mut self) {
        if self.retelling {
            return self.say(Tone::Waiting, "The last change is still being worked out.");
        }
        let Some(changed) = self.changes.pop() else {
            return self.say(Tone::Waiting, "There is nothing to undo.");
        };
        self.retelling = true;
        self.say(Tone::Plain, format!("Undone: {}.", changed.words));
        self.effects.push(Effect::Restore { text: changed.before, at: changed.at });
    }

    /// Asks what would let the selected job start.
    fn try_remedies(&mut self) {
        let job = match self.selection() {
            Some(Key::Job(id)) => Some(id),
            Some(Key::Pod(uid)) => self.scene().pod(&uid).and_then(|pod| pod.job_id),
            Some(Key::Gang(namespace, name)) => {
                super::gang::gang(self.scene(), &namespace, &name).and_then(|gang| gang.job())
            }
            Some(Key::Node(_) | Key::Record(_) | Key::Pair(_)) | None => None,
        };
        let waiting = job.and_then(|id| self.scene().job(id)).filter(|(_, job)| is_waiting(job));
        let Some(job) = waiting.map(|(_, job)| job.job_id) else {
            return self.say(Tone::Waiting, "Select a job that waits, or a pod or gang of one.");
        };
        if !matches!(self.reel.origin, Origin::Twin(_)) {
            return self.say(Tone::Waiting, "Only in a twin can things be tried.");
        }
        let (at, event) = (self.playhead.now, self.playhead.event);
        let remedies = remedies(self.scene(), job);
        self.tried = Some(Tried { job, event, verdicts: None });
        self.detail = true;
        self.effects.push(Effect::Try { job, at, event, remedies });
    }

    /// What can be done with the selection.
    pub(super) fn deeds_menu(&mut self) -> Option<Menu> {
        let (title, choices) = match self.selection() {
            Some(Key::Job(id)) => (format!("Job {id}"), self.job_deeds(id)),
            Some(Key::Node(name)) => (format!("Node {name}"), self.node_deeds(&name)),
            Some(Key::Pod(uid)) => self.pod_deeds(&uid)?,
            Some(Key::Gang(namespace, name)) => {
                let job = super::gang::gang(self.scene(), &namespace, &name)?.job();
                let choices = job.map(|job| self.job_deeds(job)).unwrap_or_default();
                (format!("Gang {namespace}/{name}"), choices)
            }
            Some(Key::Record(_) | Key::Pair(_)) | None => ("The run".to_owned(), vec![]),
        };
        let always = [
            Choice::typed("submit a Slurm job …", "submit runtime=10m -N1 -J new".to_owned()),
            Choice::typed("apply a manifest …", "apply ".to_owned()),
            Choice::deed(Deed::Crash(drawbridge_sim::Span::secs(10))),
        ];
        let choices = choices.into_iter().chain(always).collect();
        Some(Menu { kind: MenuKind::Deeds, title, choices, at: 0 })
    }

    fn job_deeds(&self, id: drawbridge_sim::JobId) -> Vec<Choice> {
        let Some((_, job)) = self.scene().job(id) else { return vec![] };
        if job.end_ms.is_some() {
            return vec![];
        }
        let mut deeds = vec![Choice::deed(Deed::Cancel(id))];
        if is_waiting(job) {
            let more = job.priority.saturating_mul(2).max(1000);
            deeds.push(Choice::typed("change its priority …", format!("priority {id} {more}")));
            let held = job.priority == 0;
            deeds.push(Choice::deed(if held { Deed::Release(id) } else { Deed::Hold(id) }));
            deeds.push(Choice {
                text: "what would let it start now?".to_owned(),
                does: super::menu::Does::Msg(Box::new(Msg::Try)),
            });
        }
        deeds
    }

    fn node_deeds(&self, name: &str) -> Vec<Choice> {
        let Some(node) = self.scene().node(name) else { return vec![] };
        let mut deeds = vec![];
        if let Some(slurm) = &node.slurm_name {
            deeds.push(Choice::deed(Deed::Kill(slurm.clone())));
            let off = !is_usable(node) && !node.cordoned;
            deeds.push(match off {
                true => Choice::deed(Deed::Resume(slurm.clone())),
                false => Choice::deed(Deed::Drain(slurm.clone(), "by hand".to_owned())),
            });
        }
        deeds.push(Choice::deed(Deed::Cordon(node.name.clone(), !node.cordoned)));
        deeds
    }

    fn pod_deeds(&self, uid: &str) -> Option<(String, Vec<Choice>)> {
        let pod = self.scene().pod(uid)?;
        let namespace = pod.namespace.clone();
        let object = Object { kind: "Pod".to_owned(), namespace, name: pod.name.clone() };
        let title = format!("Pod {}", object.key());
        let mut deeds = vec![Choice::deed(Deed::Delete(object))];
        if let Some((kind, name)) = pod.owner.as_deref().and_then(|owner| owner.split_once('/')) {
            let text = format!("scale {kind} {name} …");
            let command = format!("scale {kind}/{}/{name} ", pod.namespace);
            deeds.push(Choice::typed(&text, command));
        }
        deeds.extend(pod.job_id.map(|job| self.job_deeds(job)).unwrap_or_default());
        Some((title, deeds))
    }
}
