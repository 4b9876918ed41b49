//! Where a workload can be: before its job is submitted, and again once Slurm has chosen.
//!
//! ```text
//!  draft ──▶ choose ──▶ submit without the nodes that some pod can't use
//!
//!  allocated ──▶ verify ─┬─ fits ───────────────────▶ placed
//!                        ├─ somebody is leaving ────▶ a little patience
//!                        └─ doesn't ──▶ given back, tried again elsewhere: soon at first, after a few
//!                                       times seldom, and with all nodes again
//! ```

use std::{collections::BTreeSet, sync::Arc};

use drawbridge_sim::{JobId, SlurmNode, Span, Time};

use super::{Seats, Stage, Workload};
use crate::{
    backoff::Backoff,
    candidates::{Around, Choice, Company, Demands, Mate, Obstacle, Party, When, choose, fits},
    config::OnUnsupported,
    context::Context,
    ending::Farewell,
    explain,
    jobs::OurJob,
    names::Uid,
    outbox::Alarm,
    plants::{self, Plant},
    tenants::Tenant,
    translate::{Draft, Refusal, Shape, Warning},
    view::PodView,
};

/// How long those may take to leave who have to, once the nodes are ours.
const PATIENCE: Span = Span::mins(1);
/// After so long it is looked whether they have left.
const GLANCE: Span = Span::secs(1);
/// So many allocations in a row may come to nothing before it is tried only now and then.
const TRIES: u32 = 5;

/// What is remembered of allocations that came to nothing, until one doesn't.
#[derive(Clone, Debug, Default)]
pub(crate) struct Trials {
    /// Nodes that were allocated in vain, and why in vain.
    pub(super) nodes: std::collections::BTreeMap<SlurmNode, String>,
    count: u32,
    /// Since when the nodes are ours and somebody still has to leave, and who.
    pub(crate) held_up: Option<(Time, String)>,
    /// Since when the nodes are ours and a volume is missing, and which.
    pub(crate) lacks: Option<(Time, String)>,
}

/// Why an allocation is of no use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Objection {
    /// The node that is to blame, and what it is blamed for.
    pub(super) node: Option<(SlurmNode, String)>,
    pub(super) why: String,
}

impl Objection {
    pub(super) fn to(job: JobId, node: SlurmNode, fault: String) -> Self {
        let why = explain::unusable(job, &node, &fault);
        Self { node: Some((node, fault)), why }
    }
}

/// Whether the pods can be where Slurm wants them.
enum Verdict {
    Fits,
    /// They will, when those have left who have to.
    Soon(Objection),
    Never(Objection),
}

impl Workload {
    /// Which nodes are left for a draft; or why there is no use in asking Slurm.
    pub(super) fn choose(
        &self,
        context: &Context<'_>,
        draft: Draft<'_>,
        shape: &Shape,
    ) -> Result<(Choice, Vec<Warning>), Refusal> {
        let party = Party {
            pods: draft.pods,
            partition: shape.partition(context.config),
            cpus_per_task: shape.cpus_per_task(),
            tried: &self.trials.nodes,
        };
        let mut choice = choose(context.field(), party);
        plants::wait_for_room(context.config, context.field(), draft.pods, &mut choice);
        if context.config.unsupported == OnUnsupported::Refuse
            && let Some(unkept) = choice.unkept.first()
        {
            return Err(unkept.clone().into());
        }
        let unkept = choice.unkept.iter().map(|unkept| Warning {
            reason: "DemandNotKept",
            message: unkept.to_string(),
            is_wish: false,
        });
        let warnings = unkept.chain(draft.pods.first().and_then(|pod| unheard(pod))).collect();
        Ok((choice, warnings))
    }

    /// Looks again whether the pods can be where Slurm wants them, and takes their seats.
    pub(super) fn take_up(
        &mut self,
        context: &mut Context<'_>,
        job: JobId,
        seats: Seats,
    ) -> Option<Stage> {
        match self.verify(context, job, &seats) {
            Verdict::Fits => Some(Stage::Placing { job, seats }),
            Verdict::Never(objection) => Some(self.give_back(context, job, objection)),
            Verdict::Soon(objection) => {
                let now = context.now();
                let since = self.trials.held_up.as_ref().map_or(now, |(since, _)| *since);
                if since + PATIENCE <= now {
                    return Some(self.give_back(context, job, objection));
                }
                self.trials.held_up = Some((since, objection.why));
                context.out.wake_in(GLANCE, Alarm::Workload(self.id.clone()));
                None
            }
        }
    }

    /// Whether nothing has come between since the seats were taken.
    pub(super) fn still_fits(&self, context: &Context<'_>, job: JobId, seats: &Seats) -> bool {
        matches!(self.verify(context, job, seats), Verdict::Fits)
    }

    /// Tells Slurm that the job is of no use, and remembers why.
    pub(super) fn give_back(
        &mut self,
        context: &mut Context<'_>,
        job: JobId,
        objection: Objection,
    ) -> Stage {
        let Objection { node, why } = objection;
        if context.job(&self.id, job).is_some_and(OurJob::is_live) {
            context.end_job(job, &self.id, Farewell::GiveBack, &why);
        }
        // What we know of Slurm's nodes may be old.
        context.poller.want_nodes(context.now());
        self.trials.nodes.extend(node);
        self.trials.count += 1;
        self.trials.held_up = None;
        self.setback = Some(why);
        Stage::Ending { job, since: context.now() }
    }

    /// How long to rest after an allocation that came to nothing. After a few of them the nodes that
    /// were tried may be tried again.
    pub(super) fn rest_after_setback(&mut self, context: &Context<'_>, words: String) -> Stage {
        let Trials { nodes, count, .. } = &mut self.trials;
        let pause = match count.checked_sub(TRIES) {
            None | Some(0) => Backoff::REQUEST.after(*count),
            Some(more) => {
                nodes.clear();
                Backoff::REFUSAL.after(more)
            }
        };
        Stage::BackingOff { until: context.now() + pause, words: Some(words) }
    }

    /// Counts its pods where they are to be, or no longer.
    pub(super) fn keep_seats(&mut self, context: &mut Context<'_>, next: &Stage) {
        match next {
            Stage::Running { .. } => self.trials = Trials::default(),
            Stage::Placing { seats, .. } => {
                self.trials.held_up = None;
                self.trials.lacks = None;
                for pod in self.views(context) {
                    if let Some(seat) = seats.get(pod.uid()) {
                        context.tenants.seat(pod, &seat.node);
                    }
                }
            }
            Stage::Binding { .. } => {}
            Stage::Gathering
            | Stage::Submitting { .. }
            | Stage::Doubtful { .. }
            | Stage::BackingOff { .. }
            | Stage::Refused { .. }
            | Stage::Blocked { .. }
            | Stage::Marking { .. }
            | Stage::Waiting { .. }
            | Stage::Revising { .. }
            | Stage::Evicting { .. }
            | Stage::Ending { .. }
            | Stage::Closed => {
                for uid in &self.members {
                    context.tenants.unseat(uid, context.store.pod(uid).map(AsRef::as_ref));
                }
            }
        }
    }

    fn verify(&self, context: &Context<'_>, job: JobId, seats: &Seats) -> Verdict {
        if context.config.has(Plant::TrustsAllocations) {
            return Verdict::Fits;
        }
        // Whose mates are bound has to follow: the kubelet has the last word.
        if self.views(context).any(|pod| pod.is_bound() && !pod.is_terminal()) {
            return Verdict::Fits;
        }
        let pods: BTreeSet<Uid> = seats.keys().cloned().collect();
        let Some((node, obstacle)) = self.obstacle(context, seats, &pods, false) else {
            return Verdict::Fits;
        };
        let objection = Objection::to(job, node, obstacle.to_string());
        let without: BTreeSet<Uid> = pods.into_iter().chain(doomed(context)).collect();
        match self.obstacle(context, seats, &without, true) {
            None => Verdict::Soon(objection),
            Some(_) => Verdict::Never(objection),
        }
    }

    /// The first seat that is none, and why.
    fn obstacle(
        &self,
        context: &Context<'_>,
        seats: &Seats,
        without: &BTreeSet<Uid>,
        without_leaving: bool,
    ) -> Option<(SlurmNode, Obstacle)> {
        let seated = self.views(context).filter(|pod| pod.wants_a_place());
        let seated = seated.filter_map(|pod| Some((pod, seats.get(pod.uid())?)));
        let seated: Vec<_> = seated.collect();
        let mates: Vec<_> = seated.iter().map(|(pod, seat)| mate(pod, &seat.node)).collect();
        let crew: Vec<_> = seated.iter().map(|(pod, _)| *pod).collect();
        let field = context.field();
        let company = Company {
            tenants: field.tenants,
            when: When::Allocated,
            without,
            mates: &mates,
            minds_mates: context.config.unsupported == OnUnsupported::Refuse,
            crew: &crew,
            without_leaving,
        };
        let around = Around { field, company };
        seated.into_iter().find_map(|(pod, seat)| {
            let judged = field.node(&seat.slurm);
            let judged = judged.and_then(|node| fits(&Demands::of(around, pod), node, around));
            Some((seat.slurm.clone(), judged.err()?))
        })
    }
}

fn mate(pod: &PodView, node: &crate::names::KubeNode) -> Mate {
    let tenant = Arc::new(Tenant::of(pod, true));
    Mate { uid: pod.uid().clone(), node: node.clone(), tenant }
}

/// Pods of ours that Slurm no longer holds anything for: they have to leave, and may not know yet.
fn doomed(context: &Context<'_>) -> impl Iterator<Item = Uid> {
    let ours = context.tenants.iter().filter(|(_, _, tenant)| tenant.is_ours);
    let pods = ours.filter_map(|(_, uid, _)| context.store.pod(uid));
    let over = |pod: &&Arc<PodView>| {
        let job = pod.job_label().and_then(|label| label.parse().ok()).map(JobId);
        !job.and_then(|job| context.jobs.get(job)).is_some_and(OurJob::is_live)
    };
    pods.filter(over).map(|pod| pod.uid().clone()).collect::<Vec<_>>().into_iter()
}

/// What the pod would like and Slurm isn't told.
fn unheard(pod: &PodView) -> Option<Warning> {
    let affinity = &pod.spec.affinity;
    let mut spreads = pod.spec.topology_spread_constraints.iter();
    let wishes = [
        (affinity.node_affinity.is_wished(), "nodeAffinity (preferred)"),
        (affinity.pod_affinity.is_wished(), "podAffinity (preferred)"),
        (affinity.pod_anti_affinity.is_wished(), "podAntiAffinity (preferred)"),
        (spreads.any(|it| !it.is_required()), "topologySpreadConstraints (ScheduleAnyway)"),
    ];
    let wishes = wishes.into_iter().filter(|(is_there, _)| *is_there).map(|(_, name)| name);
    let wishes = wishes.collect::<Vec<_>>().join(", ");
    let message = explain::wishes_unheard(&wishes);
    (!wishes.is_empty()).then_some(Warning { reason: "WishNotHeard", message, is_wish: true })
}
