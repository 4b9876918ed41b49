//! Workloads that nobody recorded: seeded, of any size, busy.
//!
//! ```text
//!   arrivals: by the hour of the day       sizes: mostly small, now and then large
//!   limits: round, as people write them     run times: a part of the limit
//! ```
//!
//! No trace may be shipped without a licence; these need none.

use std::fmt::Write;

use drawbridge_sim::Seed;
use rand::RngExt as _;

use crate::trace::{Format, Trace, TraceJob};

/// What to make.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shape {
    /// Jobs.
    pub jobs: u32,
    /// Nodes of the machine; a job takes whole ones.
    pub nodes: u32,
    /// Over how many seconds jobs arrive.
    pub seconds: u64,
    /// The part of the machine that the jobs would fill if none had to wait.
    pub load: f64,
}

impl Shape {
    /// A month of a large site: a million jobs on ten thousand nodes, so busy that more
    /// than five hundred wait at the median.
    pub const MONTH: Self =
        Self { jobs: 1_000_000, nodes: 10_000, seconds: 30 * 86_400, load: 0.94 };
    /// A day of a small one.
    pub const DAY: Self = Self { jobs: 2_000, nodes: 100, seconds: 86_400, load: 0.9 };
}

/// Limits as people write them, in minutes, the frequent ones several times.
const LIMITS: [u64; 12] = [10, 30, 60, 60, 120, 120, 240, 240, 480, 720, 1440, 1440];

/// Makes a workload.
pub fn generate(shape: Shape, seed: Seed) -> Trace {
    let mut trace = Trace { format: Format::Synthetic, ..Trace::default() };
    trace.machine.name = Some("synthetic".to_owned());
    (trace.machine.nodes, trace.machine.cpus) = (Some(shape.nodes), Some(shape.nodes));
    let partition = trace.names.partitions.place("main");
    let qos = trace.names.qos.place("normal");
    let submits = submits(shape, seed);
    let (mut sizes, mut limits) = (seed.stream("sizes"), seed.stream("limits"));
    let (mut runs, mut users) = (seed.stream("runs"), seed.stream("users"));
    let largest = (shape.nodes / 8).max(1).ilog2();
    for (at, submit) in submits.into_iter().enumerate() {
        // Each size is half as frequent as the one before, and a few jobs are of any size.
        let power = sizes.random::<u64>().trailing_zeros().min(largest);
        let cpus = if sizes.random_range(0..10) == 0 {
            sizes.random_range(1..=1 << power)
        } else {
            1 << power
        };
        let limit = LIMITS[limits.random_range(0..LIMITS.len())] * 60;
        let user =
            format!("user{:03}", users.random_range(0..200_u32).min(users.random_range(0..200)));
        trace.jobs.push(TraceJob {
            id: (at + 1).to_string(),
            submit,
            run: limit * runs.random_range(5..=100) / 100,
            limit: Some(limit),
            cpus,
            user: trace.names.users.place(&user),
            partition,
            qos,
            ..TraceJob::default()
        });
    }
    fill(&mut trace, shape);
    trace
}

/// Arrival times: more by day than by night, in order.
fn submits(shape: Shape, seed: Seed) -> Vec<u64> {
    let mut rng = seed.stream("arrivals");
    let mut submits: Vec<u64> = (0..shape.jobs)
        .map(|_| {
            loop {
                let at = rng.random_range(0..shape.seconds.max(1));
                let day = (8..20).contains(&(at / 3600 % 24));
                if day || rng.random_range(0..10) < 7 {
                    return at;
                }
            }
        })
        .collect();
    submits.sort_unstable();
    submits
}

/// Stretches the run times so that the jobs fill as much of the machine as they are to.
fn fill(trace: &mut Trace, shape: Shape) {
    let held: f64 = trace.jobs.iter().map(|job| job.run as f64 * f64::from(job.cpus)).sum();
    let wanted = shape.seconds as f64 * f64::from(shape.nodes) * shape.load;
    let factor = if held == 0.0 { 1.0 } else { wanted / held };
    for job in &mut trace.jobs {
        job.run = (job.run as f64 * factor) as u64;
        let limit = (job.limit.unwrap_or(0) as f64 * factor) as u64;
        // Round again, as people write them.
        let step = if limit < 3600 { 300 } else { 1800 };
        job.limit = Some(limit.div_ceil(step).max(1) * step);
    }
}

/// The workload as a Standard Workload Format file.
pub fn to_swf(trace: &Trace) -> String {
    let mut text = String::from("; Version: 2.2\n; Computer: synthetic\n");
    // Writing to a String can't fail.
    let _ = writeln!(text, "; UnixStartTime: {}", trace.machine.epoch);
    for (key, value) in [("MaxNodes", trace.machine.nodes), ("MaxProcs", trace.machine.cpus)] {
        if let Some(value) = value {
            let _ = writeln!(text, "; {key}: {value}");
        }
    }
    for job in &trace.jobs {
        let TraceJob { id, submit, run, cpus, user, .. } = job;
        let limit = job.limit.map_or(-1, |limit| i64::try_from(limit).unwrap_or(-1));
        let wait = job.start.map_or(-1, |start| i64::try_from(start - submit).unwrap_or(-1));
        let _ = writeln!(
            text,
            "{id} {submit} {wait} {run} {cpus} -1 -1 {cpus} {limit} -1 1 {user} 1 -1 1 -1 -1 -1"
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::swf;

    #[test]
    fn one_seed_is_one_workload_and_its_file_reads_back() {
        let trace = generate(Shape::DAY, Seed(1));
        assert_eq!(trace, generate(Shape::DAY, Seed(1)));
        assert_ne!(trace.jobs, generate(Shape::DAY, Seed(2)).jobs);
        let again = swf::parse(to_swf(&trace).as_bytes()).unwrap();
        let plain = |trace: &Trace| -> Vec<_> {
            trace.jobs.iter().map(|it| (it.submit, it.run, it.cpus, it.limit)).collect()
        };
        assert_eq!(plain(&again), plain(&trace));
        assert_eq!(again.machine.nodes, Some(100));
    }

    #[test]
    fn it_fills_the_machine_as_much_as_it_is_to() {
        let Shape { nodes, seconds, load, .. } = Shape::DAY;
        let trace = generate(Shape::DAY, Seed(3));
        let held: u64 = trace.jobs.iter().map(|job| job.run * u64::from(job.cpus)).sum();
        let part = held as f64 / (seconds as f64 * f64::from(nodes));
        assert!((load - 0.02..=load).contains(&part), "{part}");
        assert!(trace.jobs.iter().all(|job| job.run <= job.limit.unwrap()));
    }
}
