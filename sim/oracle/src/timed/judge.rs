//! Two sequences of looks: who started when, in which order, and what was foretold.

use std::collections::BTreeMap;

use drawbridge_sim::Time;

use crate::{
    case::{Case, Record},
    operation::{NotModelled, Operation},
    twin::Twin,
    view::View,
};

/// What a recording says of the model.
#[derive(Clone, Debug, Default)]
pub struct Judgement {
    /// Starts, ends and expected starts that were compared.
    pub times: usize,
    /// How many seconds the model was off at the most.
    pub worst: u64,
    /// Priorities with all their parts that were compared.
    pub priorities: usize,
    /// What is not as it should be, a sentence each.
    pub wrong: Vec<String>,
}

/// Plays a recording's operations on the model and compares.
pub fn judge(case: &Case) -> Result<Judgement, NotModelled> {
    let mut twin = Twin::new(&case.cluster, case.epoch)?;
    let mut judgement = Judgement::default();
    let mut last = (View::default(), View::default());
    for step in &case.steps {
        let Some(record) = &step.record else { continue };
        let answer = twin.perform(record.asked_ms, Operation::parse(&step.operation)?)?;
        if answer != record.answer {
            let text =
                format!("`{}`: Slurm said {}, the model {answer}", step.operation, record.answer);
            judgement.wrong.push(text);
        }
        let model = super::twin::look(twin.at(record.seen_ms), Time::from_ms(record.seen_ms));
        // Between a change and the schedulers' next look, neither side knows what will come of it.
        if step.operation.starts_with("wait") {
            judgement.compare_waiting(case.within, record, &model);
            judgement.compare_nodes(case.within, record, &model);
        }
        last = (record.view.clone(), model);
    }
    judgement.compare_end(case.within, &last.0, &last.1);
    Ok(judgement)
}

impl Judgement {
    /// What waits on both sides: expected starts and priorities.
    fn compare_waiting(&mut self, within: u64, record: &Record, model: &View) {
        for (job, slurm) in record.view.things.iter().filter(|(name, _)| name.starts_with("job ")) {
            let at = format!("at {} s {job}", record.seen_ms / 1000);
            let (one, other) = (record.view.get(job, "state"), model.get(job, "state"));
            if one != other {
                self.wrong.push(format!("{at} is {one}, in the model {other}"));
            }
            let both_wait = |key| model.get(job, "state") == "PENDING" && slurm.contains_key(key);
            if both_wait("expected") {
                self.compare_time(
                    within,
                    &format!("{at} expects its start"),
                    (&record.view, model),
                    job,
                    "expected",
                );
            }
            if both_wait("sprio") {
                self.priorities += 1;
                let (one, other) = (record.view.get(job, "sprio"), model.get(job, "sprio"));
                if one != other {
                    self.wrong.push(format!("{at} has priority {one}, in the model {other}"));
                }
            }
        }
    }

    /// Which state nodes are in, and since when they are given up.
    fn compare_nodes(&mut self, within: u64, record: &Record, model: &View) {
        for node in record.view.things.keys().filter(|name| name.starts_with("node ")) {
            let at = format!("at {} s {node}", record.seen_ms / 1000);
            let (one, other) = (record.view.get(node, "state"), model.get(node, "state"));
            if one != other {
                self.wrong.push(format!("{at} is {one}, in the model {other}"));
            }
            self.compare_time(
                within,
                &format!("{at} is given up"),
                (&record.view, model),
                node,
                "lost",
            );
        }
    }

    fn compare_end(&mut self, within: u64, slurm: &View, model: &View) {
        let is_job = |name: &&String| name.starts_with("job ");
        for job in slurm.things.keys().filter(is_job) {
            let (one, other) = (slurm.get(job, "state"), model.get(job, "state"));
            if one != other {
                self.wrong.push(format!("{job} is {one} in the end, in the model {other}"));
            }
            for key in ["start", "end"] {
                self.compare_time(
                    within,
                    &format!("{job} has its {key}"),
                    (slurm, model),
                    job,
                    key,
                );
            }
        }
        let forgotten = |job: &&String| !slurm.things.contains_key(*job);
        for job in model.things.keys().filter(is_job).filter(forgotten) {
            self.wrong.push(format!("{job} is forgotten in the end, in the model it isn't"));
        }
        self.compare_order(slurm, model);
    }

    fn compare_time(
        &mut self,
        within: u64,
        what: &str,
        views: (&View, &View),
        job: &str,
        key: &str,
    ) {
        let second = |view: &View| view.get(job, key).parse::<u64>().ok();
        match (second(views.0), second(views.1)) {
            (Some(slurm), Some(model)) => {
                self.times += 1;
                let off = slurm.abs_diff(model);
                self.worst = self.worst.max(off);
                if within < off {
                    self.wrong.push(format!("{what} at {slurm} s, in the model at {model} s"));
                }
            }
            (Some(slurm), None) => {
                self.wrong.push(format!("{what} at {slurm} s, in the model never"));
            }
            (None, Some(model)) => {
                self.wrong.push(format!("{what} never, in the model at {model} s"));
            }
            (None, None) => {}
        }
    }

    /// Who started in an earlier second than another did so in the model, or in the same second.
    fn compare_order(&mut self, slurm: &View, model: &View) {
        let starts = |view: &View| -> BTreeMap<String, u64> {
            let jobs = view.things.keys();
            jobs.filter_map(|job| Some((job.clone(), view.get(job, "start").parse().ok()?)))
                .collect()
        };
        let (slurm, model) = (starts(slurm), starts(model));
        for (first, at) in &slurm {
            let later = slurm.iter().filter(|(_, other)| at < *other).map(|(job, _)| job);
            for second in later {
                if let (Some(one), Some(other)) = (model.get(first), model.get(second))
                    && other < one
                {
                    self.wrong.push(format!("{first} started before {second}, in the model after"));
                }
            }
        }
    }
}
