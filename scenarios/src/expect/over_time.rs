//! Expectations about how things came about: counters, moments, order, the story.

use drawbridge_sim::{Span, Time};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::{
    expect::{Amount, Glob, PodGlob, rows},
    format::Lasting,
    frame::{Frame, PodRow},
    record::Record,
};

/// A counter of the run.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct MetricExpect {
    /// Its name: `bridge.slurm.submit`. With `*`, the sum of all that fit.
    pub name: Glob,
    /// What it must be.
    pub value: Amount,
}

impl MetricExpect {
    pub(crate) fn sentence(&self) -> String {
        format!("{} is {}", self.name, self.value)
    }

    pub(crate) fn judge(&self, frame: &Frame) -> Result<(), String> {
        let fitting = frame.metrics.iter().filter(|(name, _)| self.name.matches(name));
        let seen: u64 = fitting.map(|(_, value)| *value).sum();
        if self.value.contains(seen) { Ok(()) } else { Err(format!("{} is {seen}", self.name)) }
    }
}

/// Pods of a gang that got their nodes at one moment.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TogetherExpect {
    /// Which: `namespace/name`, each with `*`.
    pub pods: Vec<PodGlob>,
    /// How many there must be.
    pub count: Option<Amount>,
    /// How long may pass between the first and the last binding.
    #[serde(default = "one_second")]
    pub within: Lasting,
}

fn one_second() -> Lasting {
    Lasting(Span::secs(1))
}

impl TogetherExpect {
    pub(crate) fn sentence(&self) -> String {
        let which: Vec<String> = self.pods.iter().map(ToString::to_string).collect();
        let count = self.count.map_or("all".into(), |it| it.to_string());
        format!("{count} pods {} were bound within {}", which.join(", "), self.within)
    }

    pub(crate) fn judge(&self, frame: &Frame) -> Result<(), String> {
        let pods: Vec<&PodRow> = frame
            .pods
            .iter()
            .filter(|pod| self.pods.iter().any(|it| it.matches(&pod.namespace, &pod.name)))
            .collect();
        self.all_bound(&pods)?;
        let bound = || pods.iter().filter_map(|pod| pod.bound_ms);
        let (Some(first), Some(last)) = (bound().min(), bound().max()) else {
            return Err("there is no such pod".into());
        };
        if last.since(first) <= self.within.0 {
            Ok(())
        } else {
            let lasted = Lasting(last.since(first));
            Err(format!("from the first at {first} to the last at {last} it took {lasted}"))
        }
    }

    fn all_bound(&self, pods: &[&PodRow]) -> Result<(), String> {
        if let Some(count) = self.count
            && !count.contains(pods.len() as u64)
        {
            return Err(format!("there are {} such pods", pods.len()));
        }
        let unbound: Vec<String> = pods
            .iter()
            .filter(|pod| pod.bound_ms.is_none())
            .map(|pod| format!("{}/{} was never bound", pod.namespace, pod.name))
            .collect();
        if unbound.is_empty() { Ok(()) } else { Err(rows::shorten(&unbound)) }
    }
}

/// One stage of an order.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub enum OrderItem {
    /// Pods by `namespace/name`, each with `*`.
    Pods(PodGlob),
    /// Slurm jobs by name, with `*`.
    Jobs(Glob),
}

/// When one thing ran: its name, its begin, its end.
type Ran = (String, Option<Time>, Option<Time>);

impl OrderItem {
    fn sentence(&self) -> String {
        match self {
            Self::Pods(glob) => format!("pods {glob}"),
            Self::Jobs(glob) => format!("jobs {glob}"),
        }
    }

    fn ran(&self, frame: &Frame) -> Result<Vec<Ran>, String> {
        let ran: Vec<Ran> = match self {
            Self::Pods(glob) => frame
                .pods
                .iter()
                .filter(|pod| glob.matches(&pod.namespace, &pod.name))
                .map(|pod| {
                    let name = format!("{}/{}", pod.namespace, pod.name);
                    (name, pod.started_ms, pod.finished_ms)
                })
                .collect(),
            Self::Jobs(glob) => frame
                .jobs
                .iter()
                .filter(|job| glob.matches(&job.name))
                .map(|job| (format!("job {}", job.name), job.start_ms, job.end_ms))
                .collect(),
        };
        if ran.is_empty() { Err(format!("there are no {}", self.sentence())) } else { Ok(ran) }
    }
}

pub(crate) fn order_sentence(items: &[OrderItem]) -> String {
    let items: Vec<String> = items.iter().map(OrderItem::sentence).collect();
    format!("one after the other: {}", items.join(", then "))
}

pub(crate) fn judge_order(items: &[OrderItem], frame: &Frame) -> Result<(), String> {
    for pair in items.windows(2) {
        let [earlier, later] = pair else { continue };
        each_ended_before(&earlier.ran(frame)?, &later.ran(frame)?)?;
    }
    Ok(())
}

fn each_ended_before(earlier: &[Ran], later: &[Ran]) -> Result<(), String> {
    for (name, _, ended) in earlier {
        let Some(ended) = ended else {
            return Err(format!("{name} has not ended"));
        };
        for (next, began, _) in later {
            match began {
                None => return Err(format!("{next} has not begun")),
                Some(began) if began < ended => {
                    return Err(format!("{name} ended at {ended}, {next} began at {began}"));
                }
                Some(_) => {}
            }
        }
    }
    Ok(())
}

/// A sentence in the run's story.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct StoryExpect {
    /// Who did it: `user`, `kube`, `kubelet`, `bridge`, `slurm` or `twin`.
    pub by: Option<String>,
    /// The sentence or a part of it, with `*` for what lies between parts.
    pub text: String,
    /// How often. Without it: at least once.
    pub count: Option<Amount>,
}

impl StoryExpect {
    pub(crate) fn sentence(&self) -> String {
        let often = match self.count {
            Some(amount) if amount.is_one() => "exactly once".into(),
            Some(amount) => format!("{amount} times"),
            None => "at least once".into(),
        };
        format!("the story has {} {often}", self.phrase())
    }

    pub(crate) fn never_sentence(&self) -> String {
        format!("the story never has {}", self.phrase())
    }

    pub(crate) fn judge(&self, history: &[Record]) -> Result<(), String> {
        let seen = history.iter().filter(|record| self.fits(record)).count();
        match self.count {
            Some(amount) if amount.contains(seen as u64) => Ok(()),
            None if seen > 0 => Ok(()),
            Some(_) | None => Err(match seen {
                0 => "it doesn't have it".into(),
                1 => "it has it once".into(),
                n => format!("it has it {n} times"),
            }),
        }
    }

    pub(crate) fn judge_never(&self, history: &[Record]) -> Result<(), String> {
        match history.iter().find(|record| self.fits(record)) {
            None => Ok(()),
            Some(record) => Err(format!("at {}: {}", record.at, record.text)),
        }
    }

    fn phrase(&self) -> String {
        match &self.by {
            Some(by) => format!("\"{}\" by {by}", self.text),
            None => format!("\"{}\"", self.text),
        }
    }

    fn fits(&self, record: &Record) -> bool {
        let anywhere = Glob::from(format!("*{}*", self.text).as_str());
        let by = self.by.as_deref().is_none_or(|by| by == record.actor.name());
        by && anywhere.matches(&record.text)
    }
}
