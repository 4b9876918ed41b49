//! Two views, two answers: what differs.

use std::fmt;

use crate::view::{ALSO, Answer, START, View};

/// One property in which the model is not as Slurm is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// `job 3 reason`, `node n1 state`, `answer`.
    pub what: String,
    /// What Slurm shows; empty if nothing.
    pub slurm: String,
    /// What the model shows; empty if nothing.
    pub model: String,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: Slurm `{}`, model `{}`", self.what, self.slurm, self.model)
    }
}

/// Everything in which two outcomes differ.
pub(crate) fn differences(slurm: (&Answer, &View), model: (&Answer, &View)) -> Vec<Difference> {
    let mut found = vec![];
    if slurm.0 != model.0 {
        found.push(Difference {
            what: "answer".into(),
            slurm: slurm.0.to_string(),
            model: model.0.to_string(),
        });
    }
    let mut names: Vec<_> = slurm.1.things.keys().chain(model.1.things.keys()).collect();
    names.sort();
    names.dedup();
    for name in names {
        thing_differences(name, slurm.1, model.1, &mut found);
    }
    found
}

fn thing_differences(name: &str, slurm: &View, model: &View, found: &mut Vec<Difference>) {
    let empty = Default::default();
    let (one, other) =
        (slurm.things.get(name).unwrap_or(&empty), model.things.get(name).unwrap_or(&empty));
    let mut keys: Vec<_> = one.keys().chain(other.keys()).collect();
    keys.sort();
    keys.dedup();
    for key in keys {
        let (one, other) = (slurm.get(name, key), model.get(name, key));
        if key == ALSO || key == START || (key == "reason" && one == model.get(name, ALSO)) {
            continue;
        }
        if one != other && (key != "gres" || without_indices(one) != without_indices(other)) {
            let what = format!("{name} {key}");
            found.push(Difference { what, slurm: one.into(), model: other.into() });
        }
    }
}

/// `gpu:a100:2(IDX:0-1)` without the indices, which Slurm shows for some nodes and not for others;
/// the jobs' shares have them all.
fn without_indices(gres: &str) -> String {
    let parts = gres.split("(IDX:").enumerate();
    let kept = parts.map(|(at, part)| match part.split_once(')') {
        Some((_, rest)) if 0 < at => rest,
        Some(_) | None => part,
    });
    kept.collect()
}

impl fmt::Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Done(None) => f.write_str("done"),
            Self::Done(Some(job)) => write!(f, "job {job}"),
            Self::Refused(words) => write!(f, "refused: {words}"),
        }
    }
}
