//! A dependency on pods and groups by name, as one on their Slurm jobs.
//!
//! ```text
//!                       ┌─ has a job ─────▶ its number, for Slurm to watch
//!   pod or group ── is ─┼─ over ──────────▶ met, or never to be met
//!                       └─ not so far yet ▶ the workload waits here
//! ```
//!
//! What is over is judged by the pods' phases: Slurm forgets jobs, and Kubernetes knows how they ended.

use std::collections::BTreeSet;

use crate::{
    annotations::{After, Dependency, On, Term},
    names::ObjectKey,
    store::Store,
    view::PodView,
};

/// Where a dependency stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Resolved {
    /// Slurm is told this; nothing if all is met.
    Tell(Option<String>),
    /// Something has no job yet.
    NotYet(String),
    /// Can't be met any more.
    Never(String),
}

/// One term's part in it.
enum Part {
    Tell(String),
    Met,
    NotYet(String),
    Never(String),
}

/// Looks up what a workload with these pods waits for.
pub(crate) fn resolve(wanted: &Dependency, store: &Store, pods: &[&PodView]) -> Resolved {
    let parts: Vec<_> = wanted.terms.iter().map(|term| part(term, store, pods)).collect();
    if wanted.any && parts.iter().any(|part| matches!(part, Part::Met)) {
        return Resolved::Tell(None);
    }
    let mut told = Vec::new();
    let mut never = None;
    for part in parts {
        match part {
            Part::Tell(text) => told.push(text),
            Part::Met => {}
            Part::NotYet(why) => return Resolved::NotYet(why),
            Part::Never(why) if wanted.any => never = Some(why),
            Part::Never(why) => return Resolved::Never(why),
        }
    }
    match never {
        Some(why) if told.is_empty() => Resolved::Never(why),
        Some(_) | None if told.is_empty() => Resolved::Tell(None),
        Some(_) | None => Resolved::Tell(Some(told.join(if wanted.any { "?" } else { "," }))),
    }
}

fn part(term: &Term, store: &Store, pods: &[&PodView]) -> Part {
    let Term::After(after, on) = term else {
        return Part::Tell("singleton".into());
    };
    let mut jobs = BTreeSet::new();
    let mut numbers = Vec::new();
    for one in on {
        let outcome = match one {
            On::Job(number) => {
                numbers.push(number.clone());
                continue;
            }
            On::Pod(name) => {
                named(*after, store, pods, &format!("pod {name}"), |pod| pod.metadata.name == *name)
            }
            On::Group(name) => {
                let key = |pod: &PodView| ObjectKey::new(&pod.metadata.namespace, name);
                let what = format!("PodGroup {name}");
                named(*after, store, pods, &what, |pod| pod.group() == Some(key(pod)))
            }
        };
        match outcome {
            Ok(found) => jobs.extend(found),
            Err(part) => return part,
        }
    }
    numbers.extend(jobs);
    if numbers.is_empty() {
        return Part::Met;
    }
    Part::Tell(format!("{}:{}", after.name(), numbers.join(":")))
}

/// The jobs of the pods that are meant and not over.
fn named(
    after: After,
    store: &Store,
    pods: &[&PodView],
    what: &str,
    is_meant: impl Fn(&PodView) -> bool,
) -> Result<BTreeSet<String>, Part> {
    let namespace = pods.first().map_or("", |pod| pod.metadata.namespace.as_str());
    let here = store.pods().filter(|pod| pod.metadata.namespace == namespace);
    let meant: Vec<_> = here.filter(|pod| is_meant(pod)).collect();
    if meant.is_empty() {
        return Err(Part::NotYet(format!("waiting for {what}, which doesn't exist")));
    }
    let mut jobs = BTreeSet::new();
    for pod in meant {
        if pods.iter().any(|own| own.uid() == pod.uid()) {
            return Err(Part::Never(format!("depends on {what}, which is itself")));
        }
        if pod.is_terminal() {
            judge(after, pod, what)?;
        } else if let Some(job) = pod.job_label() {
            jobs.insert(job.to_owned());
        } else {
            return Err(Part::NotYet(format!("waiting for {what}, which has no Slurm job yet")));
        }
    }
    Ok(jobs)
}

/// Whether a pod that is over meets the dependency.
fn judge(after: After, pod: &PodView, what: &str) -> Result<(), Part> {
    let wanted = match after {
        After::Start | After::Any | After::BurstBuffer => None,
        After::Ok | After::Corr => Some(true),
        After::NotOk => Some(false),
    };
    if wanted.is_none_or(|wanted| wanted == pod.succeeded()) {
        return Ok(());
    }
    let how = if pod.succeeded() { "succeeded" } else { "failed" };
    let (kind, key) = (after.name(), pod.key());
    Err(Part::Never(format!("{kind} {what} can't be met: pod {key} {how}")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};
    use std::collections::BTreeMap;

    use crate::annotations::Annotations;

    fn pod(name: &str, labels: &Value, phase: &str) -> PodView {
        let metadata =
            json!({ "name": name, "namespace": "a", "uid": format!("u-{name}"), "labels": labels });
        serde_json::from_value(json!({ "metadata": metadata, "status": { "phase": phase } }))
            .unwrap()
    }

    fn resolved(text: &str) -> String {
        let job = |id: &str| json!({ "scheduler.slinky.slurm.net/slurm-jobid": id });
        let member = json!({
            "scheduler.slinky.slurm.net/slurm-jobid": "9", "scheduling.x-k8s.io/pod-group": "g",
        });
        let mut store = Store::default();
        for pod in [
            pod("runs", &job("7"), "Running"),
            pod("fresh", &json!({}), "Pending"),
            pod("good", &job("5"), "Succeeded"),
            pod("bad", &job("6"), "Failed"),
            pod("g-0", &member, "Running"),
            pod("g-1", &member, "Running"),
            pod("me", &json!({}), "Pending"),
        ] {
            store.put_pod(pod);
        }
        let me = pod("me", &json!({}), "Pending");
        let key = "slurmjob.slinky.slurm.net/dependency".to_owned();
        let read = Annotations::read(&[&BTreeMap::from([(key, text.to_owned())])]).unwrap();
        match resolve(&read.dependency.unwrap(), &store, &[&me]) {
            Resolved::Tell(text) => text.unwrap_or_else(|| "met".into()),
            Resolved::NotYet(why) => format!("not yet: {why}"),
            Resolved::Never(why) => format!("never: {why}"),
        }
    }

    #[test]
    fn names_become_numbers_and_what_is_over_is_judged_here() {
        #[rustfmt::skip]
        let rows = [
            ("afterok:12",                          "afterok:12"),
            ("afterok:12:pod/runs,singleton",       "afterok:12:7,singleton"),
            ("afterany:podgroup/g",                 "afterany:9"),
            ("afterok:pod/good",                    "met"),
            ("afterok:pod/good:pod/runs",           "afterok:7"),
            ("afternotok:pod/bad,afterok:3",        "afterok:3"),
            ("afterok:pod/bad",                     "never: afterok pod bad can't be met: pod a/bad failed"),
            ("afternotok:pod/good",                 "never: afternotok pod good can't be met: pod a/good succeeded"),
            ("afterok:pod/bad?afterok:pod/runs",    "afterok:7"),
            ("afterok:pod/bad?afternotok:pod/good", "never: afternotok pod good can't be met: pod a/good succeeded"),
            ("afterany:pod/bad?afterok:3",          "met"),
            ("afterok:pod/fresh",                   "not yet: waiting for pod fresh, which has no Slurm job yet"),
            ("afterok:pod/none",                    "not yet: waiting for pod none, which doesn't exist"),
            ("afterok:podgroup/h",                  "not yet: waiting for PodGroup h, which doesn't exist"),
            ("afterok:pod/me",                      "never: depends on pod me, which is itself"),
        ];
        for (text, expected) in rows {
            assert_eq!(resolved(text), expected, "{text}");
        }
    }
}
