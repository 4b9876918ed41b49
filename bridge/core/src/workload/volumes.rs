//! Between allocation and binding: every claim must get its volume where its pod is to be.

use std::collections::BTreeSet;

use drawbridge_sim::{JobId, SlurmNode};

use super::{Seats, Workload, fit::Objection};
use crate::{
    candidates::{Rule, hand_out},
    config::secs,
    context::Context,
    explain,
    names::ObjectKey,
    outbox::Alarm,
    placement::Placement,
    plants::Plant,
    ranks::rank,
    view::PodView,
};

/// A claim without its volume, and the place that it has to come to.
struct Lack {
    claim: ObjectKey,
    slurm: SlurmNode,
    /// Nobody can make it there.
    turned_down: bool,
}

impl Workload {
    /// Whether all volumes are where they have to be. What is missing is asked for; what nobody can
    /// provide there, or doesn't in time, makes the nodes useless.
    pub(super) fn has_volumes(
        &mut self,
        context: &mut Context<'_>,
        job: JobId,
        seats: &Seats,
    ) -> Result<bool, Objection> {
        let lack = self.lack(context, seats);
        let Some(Lack { claim, slurm, turned_down }) =
            lack.filter(|_| !context.config.has(Plant::BindsBeforeVolumes))
        else {
            self.trials.lacks = None;
            return Ok(true);
        };
        let now = context.now();
        let since = self.trials.lacks.as_ref().map_or(now, |(since, _)| *since);
        let deadline = since + secs(context.config.volume_wait_seconds);
        if turned_down || deadline <= now {
            let fault = match turned_down {
                true => format!("claim {claim} can't get a volume there"),
                false => format!("claim {claim} got no volume there in time"),
            };
            return Err(Objection::to(job, slurm, fault));
        }
        context.out.wake_at(deadline, Alarm::Workload(self.id.clone()));
        self.trials.lacks = Some((since, explain::waits_for_volume(&claim, &slurm)));
        Ok(false)
    }

    /// Asks for every volume that is missing. Returns the first.
    fn lack(&self, context: &mut Context<'_>, seats: &Seats) -> Option<Lack> {
        let seated = self.views(context).filter(|pod| pod.wants_a_place());
        let seated = seated.filter_map(|pod| Some((pod, seats.get(pod.uid())?)));
        let mut seated: Vec<(&PodView, &Placement)> = seated.collect();
        seated.sort_by_cached_key(|(pod, _)| rank(pod));
        let (mut taken, mut first) = (BTreeSet::new(), None);
        for (pod, seat) in seated {
            let lack = furnish(context, pod, seat, &mut taken);
            first = first.or(lack);
        }
        first
    }
}

/// Sends for the pod's volumes. Returns the first that is missing.
fn furnish(
    context: &mut Context<'_>,
    pod: &PodView,
    seat: &Placement,
    taken: &mut BTreeSet<String>,
) -> Option<Lack> {
    let mut lacks = Vec::new();
    let rules = context.claim_rules(pod);
    let lack = |claim: &ObjectKey, turned_down| Lack {
        claim: claim.clone(),
        slurm: seat.slurm.clone(),
        turned_down,
    };
    for rule in &rules {
        match rule {
            Rule::Bound { .. } | Rule::ByHand { .. } | Rule::Held { .. } => {}
            Rule::Selected { claim, .. } => lacks.push(lack(claim, false)),
            Rule::Provided { claim, .. } => {
                let Some(view) = context.storage.claim(claim) else { continue };
                let turned_down = context.porter.was_turned_down(view);
                if !turned_down {
                    context.porter.select(context.out, view, &seat.node);
                }
                lacks.push(lack(claim, turned_down));
            }
        }
    }
    let given = context.store.node(&seat.node).map(|node| hand_out(&rules, node, taken));
    match given {
        Some(Err(claim)) => lacks.push(lack(&claim, true)),
        Some(Ok(given)) => {
            for (claim, volume) in given {
                if !volume.is_given_to(&claim) {
                    context.porter.give(context.out, &claim, &volume);
                }
                lacks.push(lack(&claim.metadata.key(), false));
            }
        }
        None => {}
    }
    lacks.into_iter().max_by_key(|lack| lack.turned_down)
}
